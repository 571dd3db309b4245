// The block of a column that stands for it where kernels are measured: copies of it, so that the GPU's caches hold none, whose
// rows are compared with what the kernels make by default; and the bytes that a kernel reads and writes of it.
#include <string.h>

#include "compiler/decoder/decoder.h"
#include "measure/measure_codes.h"
#include "measure/measure_compare.h"
#include "runtime/base/error_codes.h"
#include "tuner/tuner.h"

/// Each has a descriptor of its own: of a block of few rows they would be more than its data, and fill the host's memory.
enum { COPIES_MOST = 4096 };
/// Factor of warm-up runs after the GPU was idle: of the first measurement, and of those behind code that was compiled ahead.
enum { WAITED_WARM = 8 };

static const uint8_t POISON[2] = {ZF_POISON_REFERENCE, ZF_POISON_RESULT}; // of the default and of others

// ---- Finding it -----------------------------------------------------------------------------------------------

/// The first block of a shape, whose checksum is right, since what is measured would otherwise be of a block that nothing
/// decodes; whether there is one.
static zf_status find_view(zf_tune_block *b, const zf_shape *shape, bool *found, zf_error *error) {
    uint64_t block;
    *found = zf_container_first_block(b->container, b->column, shape, &block);
    return *found ? zf_container_block(b->container, b->column, block, true, &b->view, error) : ZF_OK;
}

/// Plans the block. The context is not asked: its modules may have other plans, and have them in another form.
static zf_status find_plan(zf_tune_block *b, const zf_shape *shape, zf_error *error) {
    zf_accelerator *accelerator = b->options->accelerator;
    const zf_abi_plan *abi = NULL;
    ZF_TRY(zf_tune_block_open(b, &(zf_choices){0}, &b->by_default, error));
    zf_abi_provider provider = zf_provider_abi(b->by_default);
    ZF_TRY(provider.plan(provider.self, b->container, b->column, shape->branches, shape->branch_count,
                         zf_accelerator_device(accelerator), &abi, error));
    b->plan = ((const zf_decoder *)abi->provider_data)->plan;
    return ZF_OK;
}

/// Which rows are measured, and how often.
static zf_status arrange(zf_tune_block *b, zf_error *error) {
    const zf_tune_options *o = b->options;
    uint64_t rows = b->view.rows < o->rows ? b->view.rows : o->rows;
    b->rows = (zf_decode_options){.some_rows = true, .row_begin = b->view.first_row, .row_count = rows, .skip_checksums = true};
    b->units = (zf_units_options){.unit_bytes = UINT64_C(1) << 60, .resident = true, .copies = 1};
    zf_abi_provider provider = zf_provider_abi(b->by_default);
    zf_units_options options = b->units;
    options.provider = &provider;
    zf_units_column *column = NULL;
    ZF_TRY(zf_units_column_make(b->container, b->column, &b->rows, &options, o->accelerator, &column, error));
    zf_units_sizes sizes = zf_units_column_sizes(column);
    zf_units_column_free(column);
    uint64_t most = sizes.values > sizes.offsets ? sizes.values : sizes.offsets;
    if (sizes.validity > most) most = sizes.validity;
    b->units.copy_stride = (most + 255) / 256 * 256;
    uint64_t wanted = o->bytes / (most + 1) + 1;
    b->units.copies = (uint32_t)(wanted < COPIES_MOST ? wanted : COPIES_MOST);
    zf_decoded *buffers[] = {&b->expected, &b->made};
    for (int k = 0; k < 2; k++) {
        ZF_TRY(zf_decoded_describe(b->container, b->column, &b->rows, buffers[k], error));
        ZF_TRY(zf_decoded_allocate(buffers[k], error));
    }
    return ZF_OK;
}

zf_status zf_tune_block_find(zf_tune_block *b, const zf_shape *shape, bool *found, zf_error *error) {
    ZF_TRY(find_view(b, shape, found, error));
    if (!*found) return ZF_OK;
    b->waited = true;
    ZF_TRY(find_plan(b, shape, error));
    return arrange(b, error);
}

static void give_memory_back(zf_tune_block *b) {
    zf_units_release(b->options->accelerator, &b->memory);
    memset(b->memory_sizes, 0xff, sizeof b->memory_sizes); // nothing is as large
}

void zf_tune_block_free(zf_tune_block *b) {
    if (b->plan != NULL) give_memory_back(b);
    b->plan = NULL;
    zf_tune_block_get_ahead(b, NULL, 0);
    zf_provider_free(b->by_default);
    b->by_default = NULL;
    zf_block_view_free(&b->view);
    zf_decoded_free(&b->expected);
    zf_decoded_free(&b->made);
    b->has_expected = false;
}

// ---- Measuring ------------------------------------------------------------------------------------------------

static zf_status compare_bytes(const zf_tune_block *b, uint32_t copy, const char *what, const void *made, const void *expected,
                               uint64_t bytes, zf_error *error) {
    uint64_t at = zf_measure_difference(made, expected, bytes);
    if (at == bytes) return ZF_OK;
    return zf_fail(error, ZF_ERR_INTERNAL, ZFM_DIFFERS,
                   "the timed kernels write other bytes than by default: byte %llu of the %s of copy %u of %u is %02x, not %02x",
                   (unsigned long long)at, what, copy + 1, b->units.copies, ((const uint8_t *)made)[at],
                   ((const uint8_t *)expected)[at]);
}

static zf_status compare_copy(zf_tune_block *b, uint32_t copy, zf_error *error) {
    const zf_decode_sizes *sizes = &b->made.sizes;
    const zf_decode_buffers *made = &b->made.buffers, *expected = &b->expected.buffers;
    ZF_TRY(compare_bytes(b, copy, "offsets", made->offsets, expected->offsets, sizes->offsets, error));
    uint64_t values = sizes->offsets > 0 ? (uint64_t)expected->offsets[b->expected.rows] : sizes->values;
    ZF_TRY(compare_bytes(b, copy, "values", made->values, expected->values, values, error));
    return compare_bytes(b, copy, "validity", made->validity, expected->validity, sizes->validity, error);
}

/// Compares a copy with the first one by default, each time another one, since all of them take longer than the kernels; or all,
/// of what is to be kept.
static zf_status compare(zf_tune_block *b, zf_units *units, const zf_units_memory *memory, zf_error *error) {
    uint32_t copies = b->units.copies, one = b->compared++ % copies;
    bool first = !b->has_expected;
    if (first) ZF_TRY(zf_units_fetch_copy(units, 0, b->options->stream, memory, &b->expected.buffers, error));
    b->has_expected = true;
    for (uint32_t c = 0; c < copies; c++) {
        if ((!b->whole && c != one) || (first && c == 0)) continue;
        ZF_TRY(zf_units_fetch_copy(units, c, b->options->stream, memory, &b->made.buffers, error));
        ZF_TRY(compare_copy(b, c, error));
    }
    return ZF_OK;
}

/// The device's memory, of the measurement before where it is as large: to get gigabytes takes longer than to use them.
static zf_status get_memory(zf_tune_block *b, const zf_units *units, zf_error *error) {
    zf_units_sizes sizes = zf_units_sizes_of(units);
    const uint64_t wanted[] = {sizes.values, sizes.offsets, sizes.validity, sizes.workspace};
    if (memcmp(wanted, b->memory_sizes, sizeof wanted) == 0) return ZF_OK;
    give_memory_back(b);
    ZF_TRY(zf_units_allocate(units, &b->memory, error));
    memcpy(b->memory_sizes, wanted, sizeof wanted);
    return ZF_OK;
}

static zf_status run(zf_tune_block *b, const zf_abi_provider *provider, zf_kernel_time *times, zf_error *error) {
    const zf_tune_options *o = b->options;
    zf_units *units = NULL;
    zf_units_memory *memory = &b->memory;
    zf_units_options options = b->units;
    options.provider = provider;
    ZF_TRY(zf_units_make(b->container, b->column, &b->rows, &options, o->accelerator, &units, error));
    zf_status status = get_memory(b, units, error);
    if (status == ZF_OK) status = zf_units_upload(units, o->stream, memory, error);
    unsigned warm = b->waited ? WAITED_WARM * o->warm : o->warm;
    if (status == ZF_OK)
        status = zf_units_time_kernels(units, o->stream, memory, POISON[b->has_expected], warm, o->runs, times,
                                       b->plan->kernel_count, error);
    b->waited = false;
    if (status == ZF_OK) status = compare(b, units, memory, error);
    o->accelerator->ops->wait(o->accelerator, o->stream, NULL); // what failed may have left something under way
    zf_units_unload(units);                                     // of a combination that is hardly measured again, of thousands
    zf_units_free(units);
    return status;
}

/// Says which combination it was: of thousands nobody finds it again.
static zf_status name_choices(const zf_tune_block *b, const zf_choices *choices, zf_status status, zf_error *error) {
    zf_text text = {0};
    for (uint32_t k = 0; k < choices->count; k++) {
        zf_text_printf(&text, "%s%u:", k > 0 ? "," : "", choices->kernels[k]);
        zf_choice_text(&choices->of[k], &text);
    }
    const char *chosen = text.data != NULL ? text.data : "nothing";
    zf_fail_place(error, status, "%s: column %s, by `--choose %.400s`", zf_container_path(b->container), b->name, chosen);
    zf_text_free(&text);
    return status;
}

zf_status zf_tune_block_time(zf_tune_block *b, const zf_choices *choices, zf_kernel_time *times, zf_error *error) {
    zf_provider *provider = zf_tune_block_take_ahead(b, choices);
    if (provider == NULL) ZF_TRY(zf_tune_block_open(b, choices, &provider, error));
    const zf_abi_provider abi = zf_provider_abi(provider);
    zf_status status = run(b, &abi, times, error);
    zf_provider_free(provider);
    return status == ZF_ERR_INTERNAL ? name_choices(b, choices, status, error) : status;
}

bool zf_tune_block_may_go_on(const zf_tune_block *b, const zf_error *error) {
    bool of_choices = zf_error_is(error, ZF_E_DEVICE_CALL) || zf_error_is(error, ZF_E_CODE_REJECTED) ||
                      error->status == ZF_ERR_UNSUPPORTED || error->status == ZF_ERR_USAGE;
    return b->has_expected && of_choices;
}

// ---- Its bytes ------------------------------------------------------------------------------------------------

enum { HANDLE_BYTES = 16 }; // zf_abi_work.element of strings

// Bytes of an edge in a work buffer.
static double bytes_of_edge(const zf_tune_block *b, uint32_t edge) {
    zf_type type = b->plan->graph->edges[edge].type;
    double each = type.kind == ZF_K_STRING ? 8 * HANDLE_BYTES : zf_kind_bits(type.kind);
    return (double)b->view.counts[edge] * (each + (type.nullable ? 8 : 0)) / 8;
}

static double bytes_of_prefix(const zf_tune_block *b, const zf_work *work) {
    return ((double)b->view.counts[work->edge] + 1) * zf_kind_size(work->type.kind);
}

static double bytes_written(const zf_tune_block *b, const zf_kernel *kernel) {
    if (kernel->sink >= 0 && b->plan->works[kernel->sink].prefix != NULL)
        return bytes_of_prefix(b, &b->plan->works[kernel->sink]);
    if (kernel->sink >= 0) return bytes_of_edge(b, kernel->edge);
    double bytes = (double)b->view.plain_bytes;
    if (b->plan->graph->edges[0].type.kind != ZF_K_STRING) return bytes;
    double offsets = 8 * ((double)b->view.rows + 1);
    return zf_plan_characters(b->plan) != NULL ? offsets : bytes + offsets; // an earlier kernel stores the characters
}

static double bytes_of_one(const zf_tune_block *b, const zf_kernel *kernel) {
    const zf_graph *graph = b->plan->graph;
    double bytes = bytes_written(b, kernel);
    for (uint32_t w = 0; w < b->plan->work_count && kernel->prefix == NULL; w++) {
        const zf_work *work = &b->plan->works[w];
        if (work->prefix != NULL && b->plan->kernels[work->kernel].root == kernel->root) bytes += bytes_of_prefix(b, work);
    }
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[kernel->nodes[n]];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            const zf_graph_edge *edge = &graph->edges[node->inputs[s]];
            if (edge->access == ZF_ACCESS_NONE) continue;
            if (edge->stored >= 0) bytes += (double)b->view.streams[edge->stored].bytes;
            int32_t work = b->plan->edge_work[edge->index];
            if (work >= 0 && !zf_plan_may_go_to_column(b->plan, work)) bytes += bytes_of_edge(b, edge->index);
        }
    }
    if (kernel->tree < 0) return bytes;
    for (uint32_t f = 0; f < b->view.shape->trees[kernel->tree].field_count; f++)
        bytes += (double)b->view.seeks[kernel->tree].entries * b->view.seeks[kernel->tree].widths[f];
    return bytes;
}

double zf_tune_block_bytes(const zf_tune_block *b, const zf_kernel *kernel) { return bytes_of_one(b, kernel) * b->units.copies; }

// Tuning a column: its kernels are searched side by side. In a round each search says what it wants measured, one compilation
// makes all of that, and every kernel is timed alone. What is timed are copies of one block of the column, so that the GPU's
// caches hold none of it, and its rows are compared with what the kernels make by default.
#include <stdlib.h>
#include <string.h>

#include "codegen/decoder.h"
#include "codegen/kernel_shape.h"
#include "frontend/driver/decoded.h"
#include "frontend/driver/driver_codes.h"
#include "frontend/driver/tuning.h"
#include "runtime/base/clock.h"
#include "runtime/error_codes.h"
#include "runtime/kernel_clock.h"

enum { COPIES_MOST = 4096, REGISTERS_AXIS = ZF_CHOICE_REGISTERS };

static const char no_more_time[] = "no more time";
static const uint8_t POISON[2] = {0x5a, 0xa5}; // of the default and of others, so that what both leave out differs

/// One kernel's turn.
typedef struct kernel_turn {
    size_t kernel; ///< of the tuning
    bool searched; ///< false: it stays as `best` has it
    zf_tune_search search;
    uint32_t number, pass; ///< exhaustive: the next combination, first those with the default's registers
    bool asks;             ///< in this round
    bool late;             ///< it would, but the time is over
    zf_tune_point point;   ///< what it asks for
    zf_choice best;
    zf_choice_space choices;
} kernel_turn;

typedef struct tuner {
    const zf_tuning_options *options;
    zf_tuning *tuning;
    const char *path;
    size_t column;
    const char *name;
    zf_container *container; ///< whose plan has no choices
    zf_block_view block;
    const zf_plan *plan;
    kernel_turn *turns; ///< a kernel of the plan each
    zf_decode_options rows;
    zf_units_options units;
    zf_decoded expected, made;
    bool has_expected;
    double begun; ///< of the column
} tuner;

static zf_status no_memory(zf_error *error) { return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory"); }

// ---- One measurement ------------------------------------------------------------------------------------------

static zf_status compare(tuner *t, zf_units *units, const zf_units_memory *memory, zf_error *error) {
    zf_decoded *to = t->has_expected ? &t->made : &t->expected;
    ZF_TRY(zf_units_fetch(units, t->options->stream, memory, &to->buffers, error));
    if (!t->has_expected) {
        t->has_expected = true;
        return ZF_OK;
    }
    const zf_decode_sizes *sizes = &to->sizes;
    const zf_decode_buffers *a = &t->made.buffers, *b = &t->expected.buffers;
    uint64_t values = sizes->offsets > 0 ? (uint64_t)b->offsets[to->rows] : sizes->values;
    bool same = sizes->offsets == 0 || memcmp(a->offsets, b->offsets, sizes->offsets) == 0;
    same = same && memcmp(a->values, b->values, values) == 0;
    same = same && (sizes->validity == 0 || memcmp(a->validity, b->validity, sizes->validity) == 0);
    if (same) return ZF_OK;
    return zf_fail(error, ZF_ERR_INTERNAL, ZFC_BENCH_DIFFERS, "column %s: what was timed makes other bytes than the default",
                   t->name);
}

static zf_status run(tuner *t, zf_container *container, zf_kernel_time *times, zf_error *error) {
    const zf_tuning_options *o = t->options;
    zf_units *units = NULL;
    zf_units_memory memory = {0};
    ZF_TRY(zf_units_make(container, t->column, &t->rows, &t->units, o->accelerator, &units, error));
    zf_status status = zf_units_allocate(units, &memory, error);
    if (status == ZF_OK) status = zf_units_upload(units, o->stream, &memory, error);
    if (status == ZF_OK)
        status = zf_units_time_kernels(units, o->stream, &memory, POISON[t->has_expected], o->warm, o->runs, times,
                                       t->plan->kernel_count, error);
    if (status == ZF_OK) status = compare(t, units, &memory, error);
    o->accelerator->ops->wait(o->accelerator, o->stream, NULL); // what failed may have left something under way
    zf_units_release(units, &memory);
    zf_units_free(units);
    return status;
}

/// Times the kernels of the column as they are chosen, by a container of their own, whose plans are made for that.
static zf_status measure(tuner *t, const zf_choices *choices, zf_kernel_time *times, zf_error *error) {
    zf_container *container = NULL;
    ZF_TRY(zf_container_open(t->options->context, t->path, &container, error));
    zf_compiler_set_choices(t->options->compiler, choices->count > 0 ? choices : NULL);
    zf_status status = run(t, container, times, error);
    zf_compiler_set_choices(t->options->compiler, NULL);
    zf_container_close(container);
    return status;
}

/// Whether a failure says that choices cannot run, and not that something else is wrong.
static bool is_of_choices(const zf_error *error) {
    return zf_error_is(error, ZF_E_DEVICE_CALL) || zf_error_is(error, ZF_E_CODE_REJECTED) ||
           error->status == ZF_ERR_UNSUPPORTED || error->status == ZF_ERR_USAGE;
}

// ---- Rounds ---------------------------------------------------------------------------------------------------

static zf_tuning_kernel *kernel_of(const tuner *t, const kernel_turn *turn) { return &t->tuning->kernels[turn->kernel]; }

static bool is_legal(const void *user, const zf_tune_point *point) {
    const kernel_turn *turn = user;
    zf_choice choice = zf_tuning_choice(&turn->search.space, point);
    return zf_choice_is_legal(&turn->choices, &choice, NULL);
}

/// Of all combinations those that can differ: bounds on registers only below what the same kernel takes without another one.
static bool next_of_all(tuner *t, kernel_turn *turn, zf_tune_point *out) {
    const zf_tune_space *space = &turn->search.space;
    const zf_tune_axis *axis = &space->axes[REGISTERS_AXIS];
    zf_tune_point by_default = zf_tune_default(space);
    if (kernel_of(t, turn)->count == 0) { // first, since all else is compared with it, however little time there is
        *out = by_default;
        return true;
    }
    for (; turn->pass < 2; turn->pass++, turn->number = 0) {
        while (zf_tune_combination(space, turn->number, out)) {
            turn->number++;
            bool first = out->at[REGISTERS_AXIS] == axis->otherwise;
            if (first != (turn->pass == 0) || zf_tune_same(out, &by_default) || !is_legal(turn, out)) continue;
            zf_tune_point same = *out;
            same.at[REGISTERS_AXIS] = (uint8_t)axis->otherwise;
            const zf_tune_try *seen = zf_tuning_find(kernel_of(t, turn), &same);
            uint32_t value = axis->values[out->at[REGISTERS_AXIS]], bound = axis->values[axis->otherwise];
            if (first || (seen != NULL && seen->reading.registers > 0 &&
                          (value == 0 || (bound > 0 && value > bound) ? bound > 0 : value < seen->reading.registers)))
                return true;
        }
    }
    return false;
}

static bool is_late(const tuner *t) { return t->options->seconds > 0 && zf_clock_seconds() - t->begun >= t->options->seconds; }

static bool ask(tuner *t, kernel_turn *turn) {
    if (!turn->searched) return false;
    bool more = t->options->exhaustive ? next_of_all(t, turn, &turn->point) : zf_tune_next(&turn->search, &turn->point);
    turn->late = more && kernel_of(t, turn)->count > 0 && is_late(t);
    return more && !turn->late;
}

/// What all kernels are to be: those that ask as they ask, or only the one of number `only`, and the others as is best so far.
static void choose(const tuner *t, uint32_t only, zf_choices *out) {
    *out = (zf_choices){0};
    for (uint32_t k = 0; k < t->plan->kernel_count && out->count < ZF_CHOICES_KERNELS; k++) {
        const kernel_turn *turn = &t->turns[k];
        bool asks = turn->asks && (only == UINT32_MAX || only == k);
        zf_choice choice = asks ? zf_tuning_choice(&turn->search.space, &turn->point) : turn->best;
        if (choice.chosen == 0) continue;
        out->kernels[out->count] = k;
        out->of[out->count++] = choice;
    }
}

static void say(const tuner *t, const kernel_turn *turn, const zf_tune_reading *reading) {
    if (t->options->told == NULL) return;
    zf_text text = {0};
    zf_tuning_point_text(&turn->search.space, &turn->point, &text);
    fprintf(t->options->told, "%s kernel %u: %-32s ", t->name, kernel_of(t, turn)->number, text.data != NULL ? text.data : "");
    if (reading->ran)
        fprintf(t->options->told, "%10.2f us", reading->seconds * 1e6);
    else
        fprintf(t->options->told, "cannot run");
    if (reading->registers > 0)
        fprintf(t->options->told, "  %u registers, %u blocks at once", reading->registers, reading->blocks);
    fprintf(t->options->told, "  (%s)\n", t->options->exhaustive ? "each" : zf_tune_reason(&turn->search));
    zf_text_free(&text);
}

static zf_status tell(tuner *t, kernel_turn *turn, const zf_kernel_time *time, zf_error *error) {
    zf_tune_reading reading = {0};
    if (time != NULL) {
        const zf_kernel_facts *facts = &time->facts;
        reading = (zf_tune_reading){.ran = time->seconds > 0,
                                    .seconds = time->seconds,
                                    .registers = facts->registers,
                                    .shared = facts->shared,
                                    .local = facts->local,
                                    .blocks = facts->blocks};
    }
    say(t, turn, &reading);
    const char *why = t->options->exhaustive ? "each" : zf_tune_reason(&turn->search);
    ZF_TRY(zf_tuning_note(kernel_of(t, turn), &turn->point, &reading, why, error));
    if (t->options->exhaustive) return ZF_OK;
    zf_tune_tell(&turn->search, &reading, zf_clock_seconds() - t->begun);
    zf_tune_result result = zf_tune_result_of(&turn->search);
    turn->best = zf_tuning_choice(&turn->search.space, &result.best);
    return ZF_OK;
}

/// Measures what all ask for; where that cannot run, what each asks for by itself.
static zf_status round_of(tuner *t, uint32_t asking, zf_kernel_time *times, zf_error *error) {
    zf_choices choices;
    zf_error failure = {0};
    choose(t, UINT32_MAX, &choices);
    zf_status status = measure(t, &choices, times, &failure);
    bool can = status == ZF_OK;
    if (!can && (!t->has_expected || !is_of_choices(&failure))) { // the default itself, or no fault of choices
        *error = failure;
        return status;
    }
    for (uint32_t k = 0; k < t->plan->kernel_count; k++) {
        kernel_turn *turn = &t->turns[k];
        if (!turn->asks) continue;
        bool alone = can;
        if (!can && asking > 1) {
            choose(t, k, &choices);
            status = measure(t, &choices, times, &failure);
            alone = status == ZF_OK;
            if (!alone && !is_of_choices(&failure)) {
                *error = failure;
                return status;
            }
        }
        ZF_TRY(tell(t, turn, alone ? &times[k] : NULL, error));
    }
    return ZF_OK;
}

static zf_status rounds(tuner *t, zf_error *error) {
    zf_kernel_time *times = calloc(t->plan->kernel_count + 1u, sizeof *times);
    zf_status status = times != NULL ? ZF_OK : no_memory(error);
    while (status == ZF_OK) {
        uint32_t asking = 0;
        for (uint32_t k = 0; k < t->plan->kernel_count; k++) asking += t->turns[k].asks = ask(t, &t->turns[k]);
        if (asking == 0) break;
        status = round_of(t, asking, times, error);
    }
    free(times);
    return status;
}

// ---- A vector of alternatives ---------------------------------------------------------------------------------

static double bytes_of_edge(const tuner *t, uint32_t edge) {
    zf_type type = t->plan->graph->edges[edge].type;
    return (double)t->block.counts[edge] * (zf_kind_bits(type.kind) + (type.nullable ? 1 : 0)) / 8;
}

/// Bytes of a block that a kernel reads and writes, each once.
static double bytes_of(const tuner *t, const zf_kernel *kernel) {
    const zf_graph *graph = t->plan->graph;
    bool column = kernel->sink < 0 || zf_plan_goes_to_column(t->plan, kernel->sink);
    double bytes = column ? (double)t->block.plain_bytes : bytes_of_edge(t, kernel->edge);
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[kernel->nodes[n]];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            const zf_graph_edge *edge = &graph->edges[node->inputs[s]];
            if (edge->access == ZF_ACCESS_NONE) continue;
            if (edge->stored >= 0) bytes += (double)t->block.streams[edge->stored].bytes;
            int32_t work = t->plan->edge_work[edge->index];
            if (work >= 0 && !zf_plan_goes_to_column(t->plan, work)) bytes += bytes_of_edge(t, edge->index);
        }
    }
    if (kernel->tree < 0) return bytes;
    for (uint32_t f = 0; f < t->block.shape->trees[kernel->tree].field_count; f++)
        bytes += (double)t->block.seeks[kernel->tree].entries * t->block.seeks[kernel->tree].widths[f];
    return bytes;
}

/// Whether a kernel of that shape was tuned already.
static const zf_tuning_kernel *tuned_before(const tuner *t, const char *shape) {
    for (size_t k = 0; k < t->tuning->count; k++) {
        const zf_tuning_kernel *kernel = &t->tuning->kernels[k];
        if (strcmp(kernel->shape, shape) == 0 && kernel->result.found) return kernel;
    }
    return NULL;
}

static zf_status begin_turn(tuner *t, uint32_t k, char *shape, zf_error *error) {
    const zf_tuning_options *o = t->options;
    kernel_turn *turn = &t->turns[k];
    zf_choice_space_of(t->plan, &t->plan->kernels[k], &turn->choices);
    const zf_tuning_kernel *before = tuned_before(t, shape);
    if (before != NULL) {
        zf_choice choice = zf_tuning_choice(&before->space, &before->result.best);
        if (zf_choice_is_legal(&turn->choices, &choice, NULL)) turn->best = choice;
        free(shape);
        return ZF_OK;
    }
    zf_tuning_kernel *kernel = zf_tuning_add(t->tuning, error);
    if (kernel == NULL) {
        free(shape);
        return ZF_ERR_MEMORY;
    }
    kernel->shape = shape;
    kernel->column = strdup(t->name);
    if (kernel->column == NULL) return no_memory(error);
    kernel->number = k;
    zf_tune_space space = {.legal = is_legal, .user = turn};
    zf_tuning_axes(&turn->choices, &space);
    const zf_multiprocessor_facts *p = &o->processor;
    space.machine = (zf_tune_machine){p->registers, p->threads, p->blocks, p->shared, p->warp};
    if (t->tuning->copy_rate > 0)
        space.least_seconds = bytes_of(t, &t->plan->kernels[k]) * t->units.copies / t->tuning->copy_rate;
    const zf_tuned_kernel *near = zf_tuned_nearest(zf_tuned_find(o->known, o->info.description), shape);
    space.has_known = near != NULL && near->choice.chosen != 0 && zf_tuning_point(&space, &near->choice, &space.known);
    double spent = zf_clock_seconds() - t->begun;
    zf_tune_begin(&turn->search, &space, &(zf_tune_options){.probes = o->probes, .seconds = o->seconds, .spent = spent});
    turn->kernel = t->tuning->count - 1;
    turn->searched = true;
    kernel->space = space;
    return ZF_OK;
}

static zf_status begin_turns(tuner *t, zf_error *error) {
    t->turns = calloc(t->plan->kernel_count + 1u, sizeof *t->turns);
    if (t->turns == NULL) return no_memory(error);
    for (uint32_t k = 0; k < t->plan->kernel_count; k++) {
        zf_text shape = {0};
        zf_kernel_shape_print(t->plan, &t->plan->kernels[k], t->block.params, &shape);
        if (shape.failed) {
            zf_text_free(&shape);
            return no_memory(error);
        }
        ZF_TRY(begin_turn(t, k, shape.data, error));
    }
    return ZF_OK;
}

/// What comes out of all measurements: the search's result, or the fastest of all.
static void finish_turn(tuner *t, kernel_turn *turn, bool good) {
    if (!turn->searched) return;
    zf_tuning_kernel *kernel = kernel_of(t, turn);
    kernel->space.legal = NULL;
    kernel->space.user = NULL;
    if (!good) { // of a column that failed nothing is found
        kernel->result = (zf_tune_result){.best = zf_tune_default(&kernel->space), .ended = "it failed"};
        return;
    }
    kernel->result = zf_tune_result_of(&turn->search);
    if (turn->late && turn->search.ended == NULL) kernel->result.ended = no_more_time;
    if (!t->options->exhaustive) return;
    kernel->result =
        (zf_tune_result){.best = zf_tune_default(&kernel->space), .probes = kernel->count, .readings = kernel->count};
    kernel->result.ended = turn->late ? no_more_time : "all were measured";
    for (uint32_t k = 0; k < kernel->count; k++) {
        const zf_tune_try *seen = &kernel->tries[k];
        if (!seen->reading.ran) continue;
        if (zf_tune_same(&seen->point, &kernel->result.best) && kernel->result.default_seconds == 0)
            kernel->result.default_seconds = seen->reading.seconds;
        if (kernel->result.found && seen->reading.seconds >= kernel->result.seconds) continue;
        kernel->result.found = true;
        kernel->result.seconds = seen->reading.seconds;
        kernel->result.best = seen->point;
    }
}

/// Which rows are measured, and how often.
static zf_status arrange(tuner *t, zf_error *error) {
    const zf_tuning_options *o = t->options;
    uint64_t rows = t->block.rows < o->rows ? t->block.rows : o->rows;
    t->rows = (zf_decode_options){.some_rows = true, .row_begin = t->block.first_row, .row_count = rows, .skip_checksums = true};
    t->units = (zf_units_options){.unit_bytes = UINT64_C(1) << 60, .resident = true, .copies = 1};
    zf_units_column *column = NULL;
    ZF_TRY(zf_units_column_make(t->container, t->column, &t->rows, &t->units, o->accelerator, &column, error));
    zf_units_sizes sizes = zf_units_column_sizes(column);
    zf_units_column_free(column);
    uint64_t most = sizes.values > sizes.offsets ? sizes.values : sizes.offsets;
    if (sizes.validity > most) most = sizes.validity;
    t->units.copy_stride = (most + 255) / 256 * 256;
    uint64_t wanted = o->bytes / (most + 1) + 1;
    t->units.copies = (uint32_t)(wanted < COPIES_MOST ? wanted : COPIES_MOST);
    zf_decoded *buffers[] = {&t->expected, &t->made};
    for (int k = 0; k < 2; k++) {
        ZF_TRY(zf_decoded_describe(t->container, t->column, &t->rows, buffers[k], error));
        ZF_TRY(zf_decoded_allocate(buffers[k], error));
    }
    return ZF_OK;
}

/// The first block of a shape, whose checksum is right, since what is measured would otherwise be of a block that nothing
/// decodes; whether there is one. The caller frees the view.
static zf_status find_block(tuner *t, const zf_shape *shape, uint64_t blocks, bool *found, zf_error *error) {
    *found = false;
    for (uint64_t b = 0; b < blocks && !*found; b++) {
        ZF_TRY(zf_container_block(t->container, t->column, b, false, &t->block, error));
        *found = t->block.shape == shape && t->block.rows > 0;
        zf_block_view_free(&t->block);
        if (*found) ZF_TRY(zf_container_block(t->container, t->column, b, true, &t->block, error));
    }
    return ZF_OK;
}

static zf_status tune_shape(tuner *t, const zf_shape *shape, uint64_t blocks, zf_error *error) {
    bool found;
    ZF_TRY(find_block(t, shape, blocks, &found, error));
    if (!found) return ZF_OK;
    zf_abi_provider provider;
    const zf_abi_plan *abi = NULL;
    zf_abi_target target = t->options->accelerator->ops->target(t->options->accelerator);
    zf_status status = zf_context_plan(t->options->context, t->container, t->column, shape->branches, shape->branch_count, target,
                                       &provider, &abi, error);
    if (status == ZF_OK) {
        t->plan = ((const zf_decoder *)abi->provider_data)->plan;
        status = arrange(t, error);
    }
    if (status == ZF_OK) status = begin_turns(t, error);
    if (status == ZF_OK) status = rounds(t, error);
    for (uint32_t k = 0; t->turns != NULL && k < t->plan->kernel_count; k++) finish_turn(t, &t->turns[k], status == ZF_OK);
    free(t->turns);
    t->turns = NULL;
    zf_block_view_free(&t->block);
    zf_decoded_free(&t->expected);
    zf_decoded_free(&t->made);
    t->has_expected = false;
    return status;
}

zf_status zf_tune_column(const zf_tuning_options *options, const char *path, size_t column, zf_tuning *tuning, zf_error *error) {
    tuner t = {.options = options, .tuning = tuning, .path = path, .column = column, .begun = zf_clock_seconds()};
    zf_column_info info;
    ZF_TRY(zf_container_open(options->context, path, &t.container, error));
    zf_status status = zf_container_column(t.container, column, &info, error);
    if (status == ZF_OK) t.name = info.name;
    for (size_t s = 0; status == ZF_OK && s < zf_container_shapes(t.container, column) && (s == 0 || !is_late(&t)); s++)
        status = tune_shape(&t, zf_container_shape(t.container, column, s), info.blocks, error);
    zf_container_close(t.container);
    return status;
}

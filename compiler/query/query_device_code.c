// Kernels of a query for the codes of its columns, and what lies in their shared memory.
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "compiler/query/query_device_inside.h"
#include "runtime/base/error_codes.h"

enum { VECTORS = 8, GROUPS_UNKNOWN = 4 };

// ---- Shared memory --------------------------------------------------------------------------------------------

// Facts of a run that code depends on: shapes of results, inputs in shared memory of a thread block, and its warps.
typedef struct form {
    zf_query_shape *shapes;
    uint32_t *inputs;
    uint32_t warps;
} form;

// Bytes of `most` that a thread block of so many warps has left for sums and inputs.
static uint64_t room_of(const zf_query_device *d, uint32_t warps, uint64_t most) {
    uint64_t used = warps * ZF_QUERY_SHARED_WARP + zf_codegen_query_queues(d->running->query, warps);
    return used < most ? most - used : 0;
}

// Small sums go to shared memory, as far as there is room in a thread block of the small form. Returns their bytes.
static uint64_t choose_shapes(const zf_query_device *d, zf_query_shape *shapes) {
    const zf_query_answers *answers = d->running->holding.answers;
    uint64_t all = room_of(d, ZF_QUERY_WARPS, ZF_QUERY_SHARED), left = all;
    for (size_t k = 0; k < answers->count; k++) {
        const zf_query_answer *answer = &answers->items[k];
        memcpy(shapes[k].lengths, answer->lengths, sizeof answer->lengths);
        bool sum = answer->kind == ZF_Q_SUM && answer->type.element != ZF_F64 && answer->dimensions > 0;
        uint64_t bytes = answer->count * sizeof(uint64_t) + ZF_QUERY_SHARED_EACH;
        shapes[k].shared = sum && bytes <= left;
        if (shapes[k].shared) left -= bytes;
    }
    return all - left;
}

static uint64_t bytes_of(const zf_query *query, const uint32_t *shared) {
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < query->input_count; k++) bytes += shared[k];
    return bytes;
}

static bool is_bits(const zf_query *query, uint32_t input) { return query->inst->streams[input]->type.kind == ZF_K_BOOL; }

// Inputs that rows read go to shared memory in their order, as far as there is room beside those that are there. Lengths that
// differ by a few bytes have the same code.
static void choose_inputs(const zf_query_device *d, uint64_t left, bool bits_alone, uint32_t *shared) {
    enum { PIECE = ZF_QUERY_SHARED_PIECE };
    const zf_query_running *r = d->running;
    for (uint32_t k = 0; k < r->query->input_count; k++)
        if (shared[k] != 0) left -= shared[k] + ZF_QUERY_SHARED_EACH;
    for (uint32_t k = 0; k < r->query->input_count; k++) {
        uint64_t bytes = (zf_query_input_bytes(r, k) + PIECE - 1) / PIECE * PIECE;
        if (shared[k] != 0 || bytes + ZF_QUERY_SHARED_EACH > left || (bits_alone && !is_bits(r->query, k))) continue;
        if (!zf_codegen_query_reads(r->query, k, d->pairs.squares)) continue;
        shared[k] = (uint32_t)bytes;
        left -= bytes + ZF_QUERY_SHARED_EACH;
    }
}

// Whether `bytes` are few beside the rows, if each thread block of each launch copies them. All launches are counted, also those
// of parts that this run leaves out, so that runs with the same lengths have the same code.
static bool copies_little(const zf_query_device *d, uint64_t bytes) {
    uint64_t blocks = d->processor.count, most = d->running->request->thread_blocks, rows = 0;
    if (most != 0 && blocks > most) blocks = most;
    for (size_t s = 0; s < d->segment_count; s++) rows += d->segments[s].end - d->segments[s].begin;
    return blocks > 0 && blocks * bytes * d->segment_count <= rows / 2;
}

// `large`: room for the inputs of the large form. It has those of the small one, and more: lookups of bits, which shared memory
// makes faster, and then what else there is room for, if copies stay few.
static void choose_form(const zf_query_device *d, uint64_t sums, form *out, uint32_t *large) {
    const zf_query *query = d->running->query;
    uint64_t most = d->processor.block_shared > ZF_QUERY_SHARED ? d->processor.block_shared : ZF_QUERY_SHARED;
    uint64_t room = room_of(d, ZF_QUERY_WARPS, ZF_QUERY_SHARED), more = room_of(d, ZF_QUERY_LARGE_WARPS, most);
    size_t bytes = query->input_count * sizeof *large;
    out->warps = ZF_QUERY_WARPS;
    choose_inputs(d, room - sums, false, out->inputs);
    if (!zf_codegen_query_has_large(query) || more < room) return;
    memcpy(large, out->inputs, bytes);
    choose_inputs(d, more - sums, true, large);
    bool forced = d->running->request->warps == ZF_QUERY_LARGE_WARPS;
    bool more_bits = bytes_of(query, large) > bytes_of(query, out->inputs);
    if (!forced && (!more_bits || !copies_little(d, bytes_of(query, large)))) return;
    out->warps = ZF_QUERY_LARGE_WARPS;
    memcpy(out->inputs, large, bytes);
    choose_inputs(d, more - sums, false, large);
    if (copies_little(d, bytes_of(query, large))) memcpy(out->inputs, large, bytes);
}

uint64_t zf_query_code_shared(const zf_query_device *d) { return bytes_of(d->running->query, d->shared_inputs); }

// ---- Code -----------------------------------------------------------------------------------------------------

void zf_query_code_drop(zf_query_device *d) {
    for (size_t k = 0; k < d->built_count; k++) {
        if (d->built[k].loaded != NULL && d->ops->unload != NULL) d->ops->unload(d->accelerator, d->built[k].loaded);
        zf_codegen_free(zf_compiler_jit(d->running->program->compiler), &d->built[k].kernels.code);
        free(d->built[k].sources);
        d->built[k] = (zf_query_built){0};
    }
    d->built_count = 0;
}

static bool same_form(const zf_query_device *d, const form *now) {
    const zf_query *query = d->running->query;
    bool same = d->shapes != NULL && d->warps == now->warps &&
                memcmp(d->shared_inputs, now->inputs, query->input_count * sizeof *now->inputs) == 0;
    for (uint32_t k = 0; same && k < query->result_count; k++)
        same = d->shapes[k].shared == now->shapes[k].shared &&
               memcmp(d->shapes[k].lengths, now->shapes[k].lengths, sizeof now->shapes[k].lengths) == 0;
    return same;
}

zf_status zf_query_code_lengths(zf_query_device *d, zf_error *error) {
    const zf_query *query = d->running->query;
    uint32_t *large = calloc(query->input_count + 1, sizeof *large);
    form now = {.shapes = calloc(query->result_count + 1, sizeof *now.shapes),
                .inputs = calloc(query->input_count + 1, sizeof *now.inputs)};
    bool room = now.shapes != NULL && now.inputs != NULL && large != NULL;
    if (room) choose_form(d, choose_shapes(d, now.shapes), &now, large);
    free(large);
    bool same_kernels = d->built_count == 0 || d->built[0].squares == d->pairs.squares;
    if (!room || (same_kernels && same_form(d, &now))) {
        free(now.shapes);
        free(now.inputs);
        return room ? ZF_OK : zf_query_device_no_memory(error);
    }
    zf_query_code_drop(d);
    free(d->shapes);
    free(d->shared_inputs);
    d->shapes = now.shapes;
    d->shared_inputs = now.inputs;
    d->warps = now.warps;
    return ZF_OK;
}

static bool same_sources(const zf_query_device *d, const zf_query_source *a, const zf_query_source *b) {
    for (uint32_t c = 0; c < d->running->query->column_count; c++)
        if (a[c].plan != b[c].plan || a[c].shaping != b[c].shaping) return false;
    return true;
}

static uint32_t groups_of(const zf_query_device *d, const zf_query_built *code, uint32_t kernel) {
    zf_kernel_facts facts = {0};
    zf_error ignored;
    bool known = d->ops->kernel_facts != NULL && d->processor.count > 0 &&
                 d->ops->kernel_facts(d->accelerator, code->loaded, zf_query_kernel_number(d->running->query, kernel), &facts,
                                      &ignored) == ZF_OK;
    return known && facts.blocks > 0 ? facts.blocks * d->processor.count : GROUPS_UNKNOWN;
}

static bool grow_built(zf_query_device *d) {
    if (d->built_count < d->built_room) return true;
    size_t room = d->built_room + VECTORS;
    zf_query_built *grown = realloc(d->built, room * sizeof *grown);
    if (grown == NULL) return false;
    memset(grown + d->built_room, 0, VECTORS * sizeof *grown);
    d->built = grown;
    d->built_room = room;
    return true;
}

static zf_status build_code(zf_query_device *d, zf_query_source *sources, zf_error *error) {
    zf_query_running *r = d->running;
    if (!grow_built(d)) {
        free(sources);
        return zf_query_device_no_memory(error);
    }
    zf_query_built *code = &d->built[d->built_count++];
    code->sources = sources;
    code->squares = d->pairs.squares;
    zf_query_kernels_request request = {.query = r->query,
                                        .target = d->ops->target(d->accelerator),
                                        .sources = sources,
                                        .shapes = d->shapes,
                                        .shared_inputs = d->shared_inputs,
                                        .warps = d->warps,
                                        .squares = code->squares};
    pthread_mutex_lock(&r->program->lock);
    zf_status status = zf_codegen_query_kernels(zf_compiler_jit(r->program->compiler), &request, &code->kernels, error);
    pthread_mutex_unlock(&r->program->lock);
    if (status != ZF_OK) return status;
    ZF_TRY(d->ops->load(d->accelerator, &code->kernels.plan, &code->kernels.code.abi, &code->loaded, error));
    code->groups[ZF_QUERY_KERNEL_GIVE] = code->groups[ZF_QUERY_KERNEL_COUNT] = groups_of(d, code, ZF_QUERY_KERNEL_GIVE);
    if (code->squares) code->groups[ZF_QUERY_KERNEL_SQUARES] = groups_of(d, code, ZF_QUERY_KERNEL_SQUARES);
    return ZF_OK;
}

// The code for the sources of a launch; `sources` is kept, or freed. General forms differ where plans do, as with alternatives of
// a codec.
static zf_status find_code(zf_query_device *d, zf_query_source *sources, uint32_t *out, zf_error *error) {
    uint32_t count = d->running->query->column_count;
    for (unsigned general = 0; general < 2; general++) {
        for (size_t k = 0; k < d->built_count; k++) {
            if (!same_sources(d, d->built[k].sources, sources)) continue;
            free(sources);
            *out = (uint32_t)k;
            return ZF_OK;
        }
        if (d->built_count < VECTORS) break;
        for (uint32_t c = 0; c < count; c++) sources[c].shaping = NULL;
    }
    *out = (uint32_t)d->built_count;
    return build_code(d, sources, error);
}

zf_status zf_query_code_choose(zf_query_device *d, const zf_query_part *part, size_t number, zf_error *error) {
    zf_query_running *r = d->running;
    zf_query_source *sources = calloc(r->query->column_count + 1, sizeof *sources);
    if (sources == NULL) return zf_query_device_no_memory(error);
    for (uint32_t c = 0; c < r->query->column_count; c++) sources[c] = zf_query_column_source(&part->columns[c]);
    return find_code(d, sources, &d->codes[number], error);
}

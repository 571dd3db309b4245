// Columns of a query in an accelerator's memory.
#include <stdlib.h>

#include "compiler/decoder/decoder.h"
#include "compiler/query/query_device.h"
#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/element.h"

enum { ALIGNMENT = 256, BEHIND = 256 };

zf_status zf_query_place(uint64_t *next, uint64_t bytes, uint64_t *at, zf_error *error) {
    uint64_t end;
    *at = (*next + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; // no place is near the end of all numbers
    if (!__builtin_add_overflow(*at, bytes, &end) && end < UINT64_MAX / 2) {
        *next = (end + BEHIND + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return ZF_OK;
    }
    return zf_raise(error, ZF_E_TOO_LARGE, "the columns of a query are larger than can be addressed");
}

// ---- Fused columns --------------------------------------------------------------------------------------------

static const zf_decoder *decoder_of(const zf_unit_view *view) { return view->plan->provider_data; }

static bool units_fuse(zf_query_device_state *state) {
    for (uint32_t u = 0; u < zf_units_count(state->units); u++) {
        zf_unit_view view = zf_units_view(state->units, u);
        const uint64_t *shaping = zf_decoder_shaping(view.plan->provider_data, view.code);
        if (!zf_codegen_query_fuses(decoder_of(&view)->plan, shaping)) return false;
        state->block_count += view.block_count;
    }
    return state->block_count > 0;
}

bool zf_query_fuses(const zf_plan *plan) { return zf_codegen_query_fuses(plan, NULL); }

bool zf_query_by_entries(const zf_query *query, uint32_t column, const zf_plan *plan) {
    return zf_query_fuses(plan) && zf_codegen_query_by_entries(query, column, plan);
}

uint32_t zf_query_tile(const zf_query *query) { return zf_codegen_query_tile(query); }

bool zf_query_keeps_order(const zf_query *query) { return zf_codegen_query_tile(query) == ZF_QUERY_TILE; }

static int by_row(const void *a, const void *b) {
    uint64_t row_a = ((const zf_query_block *)a)->first_row, row_b = ((const zf_query_block *)b)->first_row;
    return row_a < row_b ? -1 : row_a > row_b;
}

static bool list_blocks(zf_query_device_state *state) {
    state->blocks = calloc(state->block_count, sizeof *state->blocks);
    if (state->blocks == NULL) return false;
    size_t count = 0;
    for (uint32_t u = 0; u < zf_units_count(state->units); u++) {
        zf_unit_view view = zf_units_view(state->units, u);
        for (uint32_t b = 0; b < view.block_count; b++) {
            zf_unit_rows rows = zf_units_rows(state->units, u, b);
            state->blocks[count++] = (zf_query_block){rows.first_row, rows.rows, u, b};
        }
    }
    qsort(state->blocks, count, sizeof *state->blocks, by_row);
    return true;
}

// Tiles lie in one block: blocks begin at whole tiles. Those between the first and the last may be short, where launches are cut.
static bool tiles_fit(const zf_query_device_state *state) {
    for (size_t b = 0; b < state->block_count; b++)
        if (state->blocks[b].first_row % state->tile != 0) return false;
    return true;
}

static zf_status choose(zf_query_device_state *state, zf_error *error) {
    if (!units_fuse(state)) return ZF_OK;
    if (!list_blocks(state)) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of a query's column");
    state->fused = tiles_fit(state);
    return ZF_OK;
}

zf_status zf_query_column_make(const zf_query_running *running, uint32_t column, zf_query_range rows,
                               const zf_abi_provider *provider, zf_accelerator *accelerator, zf_query_device_state *out,
                               zf_error *error) {
    zf_decode_options wanted = {ZF_INIT(zf_decode_options),
                                .some_rows = true,
                                .row_begin = rows.begin,
                                .row_count = rows.end - rows.begin,
                                .threads = running->request->threads,
                                .skip_zones = true}; // rows of fused columns are never in memory to be compared with them
    zf_units_options options = {.resident = true, .unit_bytes = UINT64_C(1) << 60, .provider = provider};
    ZF_TRY(zf_units_column_make(running->container, running->columns[column].index, &wanted, &options, accelerator, &out->column,
                                error));
    ZF_TRY(zf_units_part_make(out->column, 0, zf_units_column_blocks(out->column), wanted.threads, &out->units, error));
    out->sizes = zf_units_sizes_of(out->units);
    out->tile = zf_codegen_query_tile(running->query);
    return running->request->decode_first ? ZF_OK : choose(out, error);
}

zf_status zf_query_column_place(zf_query_device_state *state, uint64_t *next, uint64_t *head, zf_error *error) {
    ZF_TRY(zf_query_place(head, state->sizes.head, &state->places.head, error));
    ZF_TRY(zf_query_place(next, state->sizes.workspace - state->sizes.head, &state->places.workspace, error));
    if (state->fused) return ZF_OK;
    ZF_TRY(zf_query_place(next, state->sizes.values, &state->places.values, error));
    ZF_TRY(zf_query_place(next, state->sizes.offsets, &state->places.offsets, error));
    return zf_query_place(next, state->sizes.validity, &state->places.validity, error);
}

void zf_query_column_move(zf_query_device_state *state, uint64_t part, uint64_t heads) {
    const zf_units_memory *places = &state->places;
    state->memory = (zf_units_memory){.values = part + places->values,
                                      .offsets = part + places->offsets,
                                      .validity = part + places->validity,
                                      .head = heads + places->head,
                                      .workspace = part + places->workspace - state->sizes.head}; // what is left of it
}

// ---- Work -----------------------------------------------------------------------------------------------------

zf_status zf_query_column_copy(const zf_query_device_state *state, void *stream, zf_error *error) {
    return zf_units_upload_blocks(state->units, stream, &state->memory, error);
}

zf_status zf_query_column_launch(zf_query_device_state *state, void *stream, zf_error *error) {
    if (state->fused) return zf_units_launch_work(state->units, stream, &state->memory, error);
    ZF_TRY(zf_units_column_clear(state->column, stream, &state->memory, error));
    return zf_units_launch(state->units, stream, &state->memory, error);
}

bool zf_query_column_launches(const zf_query_device_state *state) {
    bool any = !state->fused;
    for (uint32_t u = 0; !any && u < zf_units_count(state->units); u++)
        any = zf_units_view(state->units, u).plan->kernel_count > 1;
    return any;
}

zf_status zf_query_column_status(const zf_query_device_state *state, const uint64_t *words, zf_error *error) {
    return zf_units_status(state->units, words, error);
}

void zf_query_column_free(zf_query_device_state *state) {
    if (state->units != NULL) zf_units_ended(state->units);
    zf_units_free(state->units);
    zf_units_column_free(state->column);
    free(state->blocks);
}

// ---- Launches -------------------------------------------------------------------------------------------------

static uint64_t run_of(zf_query_device_state *state, uint64_t begin) {
    const zf_query_block *blocks = state->blocks;
    while (state->at + 1 < state->block_count && blocks[state->at + 1].first_row <= begin) state->at++;
    size_t last = state->at;
    while (last + 1 < state->block_count) {
        const zf_query_block *now = &blocks[last], *next = now + 1;
        if (next->unit != now->unit || next->number != now->number + 1 || now->rows != blocks[state->at].rows) break;
        if (next->rows > now->rows || now->rows % state->tile != 0) break;
        last++;
    }
    return blocks[last].first_row + blocks[last].rows;
}

uint64_t zf_query_launch_end(const zf_query_parts *parts, const zf_query_part *part, uint64_t begin) {
    uint64_t end = part->rows.end;
    for (uint32_t c = 0; c < parts->columns; c++) {
        uint64_t run = part->columns[c].fused ? run_of(&part->columns[c], begin) : end;
        if (run < end) end = run;
    }
    return end;
}

zf_query_device_column zf_query_column_frame(const zf_query_device_state *state, zf_element element, uint64_t base) {
    const zf_units_memory *memory = &state->memory;
    zf_query_device_column frame = {.values = memory->values - base,
                                    .validity = memory->validity - base,
                                    .offsets = memory->offsets - base,
                                    .skip = state->sizes.skip,
                                    .block_tiles = state->sizes.validity_skip};
    if (!state->fused) {
        unsigned bits = zf_element_bits(element);
        if (bits >= 8) frame.skip /= bits / 8;
        return frame;
    }
    const zf_query_block *block = &state->blocks[state->at];
    zf_unit_view view = zf_units_view(state->units, block->unit);
    uint64_t tiles = (block->rows + state->tile - 1) / state->tile;
    return (zf_query_device_column){.values = memory->workspace + view.stored - base,
                                    .validity = memory->head + view.tables + block->number * view.row_bytes - base,
                                    .offsets = memory->workspace + view.work - base,
                                    .skip = block->first_row / state->tile,
                                    .block_tiles = tiles};
}

zf_query_source zf_query_column_source(const zf_query_device_state *state) {
    if (!state->fused) return (zf_query_source){0};
    zf_unit_view view = zf_units_view(state->units, state->blocks[state->at].unit);
    return (zf_query_source){decoder_of(&view)->plan, zf_decoder_shaping(view.plan->provider_data, view.code)};
}

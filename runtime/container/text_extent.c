#include "runtime/container/text_extent.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/decode/block_run.h"

typedef unsigned long long ull;

static uint64_t characters(const zf_selection *s, uint64_t block) {
    const zf_index_block *entry = &s->column->blocks[block];
    return zf_characters(s->column->type.nullable, entry->rows, entry->plain_bytes);
}

/// The kernel that makes the column; NULL: the plan has none.
static const zf_abi_kernel *maker_of(const zf_abi_plan *plan) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (plan->kernels[k].sink < 0) return &plan->kernels[k];
    }
    return NULL;
}

/// Where the bytes of tile `tile`, not the first, begin.
static zf_status byte_state(const zf_failure *block, const zf_block_view *view, uint64_t tile, uint64_t *out, zf_error *error) {
    const zf_abi_kernel *kernel = maker_of(block->plan);
    const zf_abi_tree *tree = kernel != NULL && kernel->tree >= 0 ? &block->plan->trees[kernel->tree] : NULL;
    for (uint32_t f = 0; tree != NULL && f < tree->field_count; f++) {
        const zf_seek_view *seek = &view->seeks[kernel->tree];
        if (tree->fields[f].kind != ZF_FIELD_BYTES || tile > seek->entries) continue;
        unsigned width = seek->widths[f];
        *out = 0;
        memcpy(out, view->base + seek->offsets[f] + (tile - 1) * width, width); // little-endian, the rest is 0
        return ZF_OK;
    }
    zf_status status = zf_raise(error, ZF_E_INTERNAL, "the code's plan keeps no state of the strings' bytes");
    return zf_fail_place(error, status, "%s", block->where);
}

/// Rows that a tile of the column makes.
static uint32_t tile_of(const zf_abi_plan *plan) {
    const zf_abi_kernel *kernel = maker_of(plan);
    return kernel != NULL ? kernel->tile : 1;
}

/// The tile that begins there.
static uint64_t tile_at(const zf_abi_plan *plan, uint64_t row, bool behind) {
    uint64_t tile = tile_of(plan);
    return behind ? (row + tile - 1) / tile : row / tile;
}

/// The place of a violation of the tile, as its kernel would tell it.
static zf_status place_tile(const zf_failure *block, const zf_block_view *view, uint64_t tile, zf_status status,
                            zf_error *error) {
    zf_failure what = *block;
    what.kernel = maker_of(block->plan); // byte_state has found it, and its tree
    what.shape = view->shape;
    what.first_row = view->first_row;
    return zf_place_state(&what, (uint32_t)what.kernel->tree, tile, status, error);
}

zf_status zf_text_state(const zf_failure *block, const zf_block_view *view, uint64_t row, bool behind, uint64_t *out,
                        zf_error *error) {
    uint64_t tile = tile_at(block->plan, row, behind),
             all = zf_characters(view->shape->edges[0].nullable, view->rows, view->plain_bytes);
    *out = tile == 0 ? 0 : all;
    if (tile == 0 || tile * tile_of(block->plan) >= view->rows) return ZF_OK;
    ZF_TRY(byte_state(block, view, tile, out, error));
    if (*out <= all) return ZF_OK;
    zf_status status =
        zf_raise(error, ZF_E_V09, "V09: the file's state of tile %llu is at byte %llu of %llu", (ull)tile, (ull)*out, (ull)all);
    return place_tile(block, view, behind ? tile - 1 : tile, status, error);
}

/// A range of rows of one block, from tile to tile: they follow each other.
static zf_status check_order(const zf_failure *block, const zf_block_view *view, uint64_t begin, const zf_text_extent *extent,
                             zf_error *error) {
    if (extent->first_byte <= extent->last_byte) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_V09, "V09: the file's states go back from byte %llu to %llu", (ull)extent->first_byte,
                                (ull)extent->last_byte);
    return place_tile(block, view, tile_at(block->plan, begin, false), status, error);
}

/// Where the bytes of rows begin..end of a block begin and end; `out` keeps all else.
static zf_status look_at(const zf_failure *block, const zf_block_view *view, uint64_t begin, uint64_t end, zf_text_extent *out,
                         zf_error *error) {
    ZF_TRY(zf_seeks_fit(block->plan, view, true, block->where, error));
    ZF_TRY(zf_text_state(block, view, begin, false, &out->first_byte, error));
    ZF_TRY(zf_text_state(block, view, end, true, &out->last_byte, error));
    return check_order(block, view, begin, out, error);
}

/// Whether a state is wanted to know where the bytes of the tile at that row begin, or of the one before end.
static bool has_state(const zf_abi_plan *plan, uint64_t rows, uint64_t row, bool behind) {
    uint64_t tile = tile_at(plan, row, behind);
    return tile > 0 && tile * tile_of(plan) < rows;
}

/// The same for a block of the column, which is read only where it must be.
static zf_status look(const zf_selection *s, uint64_t block, zf_text_extent *out, zf_error *error) {
    const zf_index_block *entry = &s->column->blocks[block];
    const zf_abi_plan *plan = s->plans[entry->shape];
    uint64_t begin, end;
    zf_selection_rows(s, block, &begin, &end);
    *out = (zf_text_extent){.last_byte = characters(s, block)};
    if (plan == NULL) return ZF_OK; // any tiles of the rows lie within the block
    if (!has_state(plan, entry->rows, begin, false) && !has_state(plan, entry->rows, end, true)) return ZF_OK;
    char where[ZF_WHERE_BYTES];
    zf_block_view view;
    zf_selection_where(s, block, where);
    ZF_TRY(zf_selection_block(s, block, NULL, &view, error));
    zf_failure what = {.plan = plan, .where = where, .file = zf_selection_file(s)};
    zf_status status = look_at(&what, &view, begin, end, out, error);
    zf_block_view_free(&view);
    return status;
}

zf_status zf_text_extent_make(const zf_selection *s, zf_text_extent *out, zf_error *error) {
    *out = (zf_text_extent){0};
    if (s->begin == s->end) return ZF_OK;
    uint64_t last = s->last_block - 1;
    out->bases = calloc(s->last_block - s->first_block, sizeof *out->bases);
    if (out->bases == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the offsets of blocks");
    zf_text_extent first_block, last_block;
    ZF_TRY(look(s, s->first_block, &first_block, error));
    last_block = first_block;
    if (last != s->first_block) ZF_TRY(look(s, last, &last_block, error));
    out->first_byte = first_block.first_byte;
    out->last_byte = last_block.last_byte;
    uint64_t at = 0 - out->first_byte; // sums are below 2^64: the index says so of all plain bytes
    for (uint64_t b = s->first_block; b < s->last_block; b++) {
        out->bases[b - s->first_block] = at;
        at += b == last ? out->last_byte : characters(s, b);
    }
    out->total = at;
    return ZF_OK;
}

zf_status zf_text_extent_block_make(const zf_abi_plan *plan, const zf_block_view *view, uint64_t begin, uint64_t end,
                                    zf_text_extent *out, zf_error *error) {
    *out = (zf_text_extent){0};
    if (begin == end) return ZF_OK;
    out->bases = calloc(1, sizeof *out->bases);
    if (out->bases == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the offsets of blocks");
    zf_failure what = {.plan = plan, .where = "block"};
    ZF_TRY(look_at(&what, view, begin, end, out, error));
    out->bases[0] = 0 - out->first_byte;
    out->total = out->last_byte - out->first_byte;
    return ZF_OK;
}

void zf_text_extent_free(zf_text_extent *extent) {
    free(extent->bases);
    *extent = (zf_text_extent){0};
}

void zf_text_extent_block(const zf_selection *s, const zf_text_extent *extent, uint64_t block, uint64_t *begin, uint64_t *end) {
    *begin = block == s->first_block ? extent->first_byte : 0;
    *end = block + 1 == s->last_block ? extent->last_byte : characters(s, block);
}

void zf_text_cut(uint8_t *values, int64_t *offsets, uint64_t rows) {
    int64_t before = offsets[0];
    if (before == 0) return;
    memmove(values, values + before, (size_t)(offsets[rows] - before));
    for (uint64_t k = 0; k <= rows; k++) offsets[k] -= before;
}

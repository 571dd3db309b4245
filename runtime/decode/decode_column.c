// A column's rows to decode on an accelerator, as far as its index tells: which blocks, their plans, where their rows go.
#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_unit_internal.h"

typedef unsigned long long ull;

enum { ALIGNMENT = 256 };
#define UNIT_BYTES (UINT64_C(1) << 30)

// ---- The output -----------------------------------------------------------------------------------------------

/// Rows of the wanted blocks, from the origin on: bitmaps have a place for all of them.
static uint64_t whole_rows(const zf_units_column *column) {
    const zf_selection *s = &column->selection;
    return s->first_block == s->last_block ? 0 : zf_index_first_row(s->column, s->last_block) - zf_units_origin(column);
}

static uint64_t rows_before(const zf_units_column *column) {
    const zf_selection *s = &column->selection;
    return s->first_block == s->last_block ? 0 : s->begin - zf_units_origin(column);
}

static zf_status too_large(const zf_units_column *column, zf_error *error) {
    return zf_raise(error, ZF_E_TOO_LARGE, "column %s is larger than can be addressed", column->selection.column->shown);
}

/// `bytes` so often as there are copies.
static bool repeat(const zf_units_column *column, uint64_t *bytes) {
    uint64_t copied;
    return !__builtin_mul_overflow(column->options.copies - 1, column->options.copy_stride, &copied) &&
           !__builtin_add_overflow(*bytes, copied, bytes);
}

/// Bytes of what comes out.
static zf_status size_outputs(zf_units_column *column, zf_error *error) {
    const zf_selection *s = &column->selection;
    zf_units_sizes *sizes = &column->sizes;
    uint64_t rows = s->end - s->begin;
    bool fits = true;
    if (column->is_text) {
        column->out_bytes = column->text.total;
        fits = zf_elements_bytes(rows + 1, 64, &sizes->offsets);
    } else if (s->bits == 1) {
        sizes->skip = rows_before(column);
        fits = zf_elements_bytes(whole_rows(column), 1, &column->out_bytes);
    } else if (column->whole) {
        sizes->skip = rows_before(column) * (s->bits / 8); // fits where the whole rows do
        fits = zf_elements_bytes(whole_rows(column), s->bits, &column->out_bytes);
    } else {
        sizes->skip = s->begin * (s->bits / 8) % ALIGNMENT;
        fits = zf_elements_bytes(rows, s->bits, &column->out_bytes);
    }
    if (column->nullable) {
        sizes->validity_skip = rows_before(column);
        fits = fits && zf_elements_bytes(whole_rows(column), 1, &sizes->validity);
    }
    fits = fits && repeat(column, &column->out_bytes);
    fits =
        fits && (!column->is_text || repeat(column, &sizes->offsets)) && (!column->nullable || repeat(column, &sizes->validity));
    uint64_t before = column->whole ? 0 : sizes->skip;
    fits = fits && !__builtin_add_overflow(column->out_bytes, before, &sizes->values);
    // Moves write whole words.
    if (column->moves && !column->is_text) fits = fits && zf_align_up(sizes->values, sizeof(uint32_t), &sizes->values);
    if (column->moves && column->nullable) fits = fits && zf_align_up(sizes->validity, sizeof(uint32_t), &sizes->validity);
    return fits ? ZF_OK : too_large(column, error);
}

// ---- All ------------------------------------------------------------------------------------------------------

static bool rereads(const zf_abi_plan *plan) {
    for (uint32_t k = 0; plan != NULL && k < plan->kernel_count; k++) {
        if (plan->kernels[k].sink < 0 && plan->kernels[k].rereads) return true;
    }
    return false;
}

static zf_units_column *new_column(zf_accelerator *accelerator, const zf_units_options *options) {
    zf_units_column *column = calloc(1, sizeof *column);
    if (column == NULL) return NULL;
    column->accelerator = accelerator;
    if (options != NULL) column->options = *options;
    if (column->options.unit_bytes == 0) column->options.unit_bytes = UNIT_BYTES;
    if (column->options.unit_blocks == 0 || column->options.unit_blocks > ZF_SIMT_MOST_BLOCKS)
        column->options.unit_blocks = ZF_SIMT_MOST_BLOCKS;
    if (column->options.copies == 0) column->options.copies = 1;
    zf_code_book_init(&column->book);
    column->book.general = column->options.general;
    return column;
}

/// Hands the column over, or frees it.
static zf_status finish(zf_units_column *column, zf_status status, zf_units_column **out, zf_error *error) {
    if (status == ZF_OK) status = size_outputs(column, error);
    if (status == ZF_OK)
        *out = column;
    else
        zf_units_column_free(column);
    return status;
}

zf_status zf_units_column_make(zf_container *container, size_t number, const zf_decode_options *options,
                               const zf_units_options *unit_options, zf_accelerator *accelerator, zf_units_column **out,
                               zf_error *error) {
    *out = NULL;
    zf_units_column *column = new_column(accelerator, unit_options);
    if (column == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decode");
    zf_selection *s = &column->selection;
    const zf_abi_provider *provider = unit_options != NULL ? unit_options->provider : NULL;
    zf_status status = zf_selection_make(container, number, options, zf_accelerator_device(accelerator), provider, s, error);
    if (status == ZF_OK) {
        column->is_text = s->column->type.element == ZF_STRING;
        column->nullable = s->column->type.nullable;
        column->whole = s->bits == 1;
        for (uint32_t i = 0; i < s->column->shape_count; i++) column->whole = column->whole || rereads(s->plans[i]);
    }
    for (uint64_t b = s->first_block; status == ZF_OK && !column->moves && b < s->last_block; b++)
        column->moves = zf_block_is_aside(column, b);
    if (status == ZF_OK && column->is_text) status = zf_text_extent_make(s, &column->text, error);
    return finish(column, status, out, error);
}

zf_status zf_units_column_of_block(const zf_block_view *view, const zf_abi_plan *plan, uint64_t begin, uint64_t end,
                                   zf_accelerator *accelerator, zf_units_column **out, zf_error *error) {
    *out = NULL;
    zf_units_column *column = new_column(accelerator, NULL);
    if (column == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decode");
    bool none = begin == end && view->rows != 0;
    column->own_shape.shape = *view->shape;
    column->own_block = (zf_index_block){.rows = view->rows};
    column->own_column = (zf_index_column){
        .name = "", .shapes = &column->own_shape, .blocks = &column->own_block, .shape_count = 1, .block_count = 1};
    column->selection = (zf_selection){.column = &column->own_column,
                                       .rows = view->rows,
                                       .bits = zf_element_bits(view->shape->edges[0].type),
                                       .begin = begin,
                                       .end = end,
                                       .last_block = none ? 0 : 1};
    column->is_text = view->shape->edges[0].type == ZF_STRING;
    column->nullable = view->shape->edges[0].nullable;
    column->whole = column->selection.bits == 1 || rereads(plan);
    zf_status status = zf_plan_fits(plan, view->shape, error);
    if (status == ZF_OK && view->first_row != 0)
        status = zf_raise(error, ZF_E_INTERNAL, "a block in memory begins at row %llu of its column", (ull)view->first_row);
    if (status == ZF_OK && (begin > end || end > view->rows))
        status = zf_raise(error, ZF_E_INTERNAL, "rows %llu..%llu of a block of %llu", (ull)begin, (ull)end, (ull)view->rows);
    if (status == ZF_OK && !none && column->is_text)
        status = zf_text_extent_block_make(plan, view, begin, end, &column->text, error);
    return finish(column, status, out, error);
}

void zf_units_column_free(zf_units_column *column) {
    if (column == NULL) return;
    zf_code_book_free(&column->book);
    zf_selection_free(&column->selection);
    zf_text_extent_free(&column->text);
    free(column);
}

zf_units_sizes zf_units_column_sizes(const zf_units_column *column) { return column->sizes; }

uint64_t zf_units_column_blocks(const zf_units_column *column) {
    return column->selection.last_block - column->selection.first_block;
}

// Blocks that are decoded aside and moved: their places, their runs of bits, and the moves behind a unit's kernels.
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"
#include "runtime/container/element.h"
#include "runtime/decode/decode_unit_internal.h"

enum { ALIGNMENT = 256, WORD_BITS = 32, WORD_BYTES = 4 };

/// Words with fewer bytes between them are cleared by one fill: to start another one takes about as long as to fill these.
#define FILL_GAP (UINT64_C(4) << 20)

bool zf_block_is_aside(const zf_units_column *column, uint64_t number) {
    const zf_index_column *of = column->selection.column;
    if (column->is_text && !column->nullable) return false;
    bool last = number + 1 == of->block_count; // nothing follows it
    uint64_t begin = zf_index_first_row(of, number), end = zf_index_first_row(of, number + 1);
    return begin % ZF_ROWS_MULTIPLE != 0 || (!last && end % ZF_ROWS_MULTIPLE != 0);
}

uint64_t zf_units_origin(const zf_units_column *column) {
    const zf_selection *s = &column->selection;
    return zf_index_first_row(s->column, s->first_block) / ZF_ROWS_MULTIPLE * ZF_ROWS_MULTIPLE;
}

bool zf_aside_bytes(const zf_units_column *column, uint64_t rows, uint64_t *values, uint64_t *validity) {
    *values = *validity = 0;
    bool fits =
        column->is_text || (zf_elements_bytes(rows, column->selection.bits, values) && zf_align_up(*values, ALIGNMENT, values));
    if (column->nullable) fits = fits && zf_elements_bytes(rows, 1, validity) && zf_align_up(*validity, ALIGNMENT, validity);
    return fits;
}

/// The runs of a block of the container's column: the rows that are wanted. Others may not be decoded.
static void runs_of(const zf_units_column *column, uint64_t number, zf_bit_run *values, zf_bit_run *validity) {
    const zf_selection *s = &column->selection;
    uint64_t first_row = zf_index_first_row(s->column, number), begin, end;
    zf_selection_rows(s, number, &begin, &end);
    uint64_t bits = column->is_text ? 0 : s->bits, place = first_row + begin - zf_units_origin(column), rows = end - begin;
    *validity = (zf_bit_run){.from = begin, .to = place, .bits = column->nullable ? rows : 0};
    *values = (zf_bit_run){.from = begin * bits, .bits = rows * bits};
    values->to = column->whole ? place * bits : column->sizes.skip * 8 + (first_row + begin - s->begin) * bits;
    // Bits behind the output's last row become 0 up to the end of their word.
    bool last = number + 1 == s->last_block;
    uint64_t behind = (0 - (place + rows)) % WORD_BITS;
    if (last && column->nullable) validity->cleared = behind;
    if (last && bits == 1) values->cleared = behind;
}

zf_status zf_aside_describe(const zf_units_column *column, zf_unit_block *block, uint64_t number, zf_error *error) {
    uint64_t rows = column->selection.column->blocks[number].rows;
    if (!zf_aside_bytes(column, rows, &block->aside_values, &block->aside_validity))
        return zf_raise(error, ZF_E_TOO_LARGE, "a block is larger than can be addressed");
    runs_of(column, number, &block->move_values, &block->move_validity);
    return ZF_OK;
}

/// A range of bytes that is not cleared yet.
typedef struct unclear {
    zf_accelerator *accelerator;
    void *stream;
    uint64_t at, begin, end; ///< bytes `begin` to `end` from address `at`; none where they are equal
} unclear;

static zf_status clear(unclear *range, zf_error *error) {
    uint64_t bytes = range->end - range->begin, to = range->at + range->begin;
    range->begin = range->end;
    return bytes > 0 ? range->accelerator->ops->fill(range->accelerator, range->stream, to, 0, bytes, error) : ZF_OK;
}

/// Adds the words that a run shares with others. Runs come in the order of their words.
static zf_status clear_ends(unclear *range, const zf_bit_run *run, zf_error *error) {
    const uint64_t places[] = {run->to, run->to + run->bits + run->cleared};
    if (places[0] == places[1]) return ZF_OK;
    for (unsigned k = 0; k < 2; k++) {
        if (places[k] % WORD_BITS == 0) continue;
        uint64_t begin = places[k] / WORD_BITS * WORD_BYTES;
        if (range->begin == range->end || begin > range->end + FILL_GAP) {
            ZF_TRY(clear(range, error));
            range->begin = begin;
        }
        range->end = begin + WORD_BYTES;
    }
    return ZF_OK;
}

bool zf_units_column_moves(const zf_units_column *column) { return column->moves; }

zf_status zf_units_column_clear(const zf_units_column *column, void *stream, const zf_units_memory *memory, zf_error *error) {
    const zf_selection *s = &column->selection;
    for (uint32_t copy = 0; column->moves && copy < column->options.copies; copy++) {
        uint64_t away = copy * column->options.copy_stride;
        unclear values = {column->accelerator, stream, memory->values + away, 0, 0},
                validity = {column->accelerator, stream, memory->validity + away, 0, 0};
        for (uint64_t b = s->first_block; b < s->last_block; b++) {
            if (!zf_block_is_aside(column, b)) continue;
            zf_bit_run of_values, of_validity;
            runs_of(column, b, &of_values, &of_validity);
            ZF_TRY(clear_ends(&values, &of_values, error));
            ZF_TRY(clear_ends(&validity, &of_validity, error));
        }
        ZF_TRY(clear(&values, error));
        ZF_TRY(clear(&validity, error));
    }
    return ZF_OK;
}

uint64_t zf_aside_table_bytes(const zf_units_column *column, uint64_t blocks) {
    uint64_t tables = (column->is_text ? 0u : 1u) + (column->nullable ? 1u : 0u);
    return tables * blocks * sizeof(zf_bit_run);
}

/// Enters a run into a table of the unit's, and notes its length.
static void enter(zf_unit *unit, uint64_t table, uint32_t index, zf_bit_run run, uint64_t place, uint64_t *longest) {
    run.from += place * 8;
    memcpy(unit->tables + table + index * sizeof run, &run, sizeof run);
    if (run.bits + run.cleared > *longest) *longest = run.bits + run.cleared;
}

void zf_aside_enter(const zf_units *units, zf_unit *unit, uint32_t index, uint64_t values, uint64_t validity) {
    const zf_unit_block *block = &units->blocks[unit->blocks[index]];
    if (!units->column->is_text) enter(unit, unit->move_values, index, block->move_values, values, &unit->longest_values);
    if (units->column->nullable) enter(unit, unit->move_validity, index, block->move_validity, validity, &unit->longest_validity);
}

/// Enqueues the moves of values, or of validity.
static zf_status move(const zf_units *units, const zf_unit *unit, void *stream, zf_move_args *args, uint64_t table,
                      const zf_units_memory *memory, zf_error *error) {
    args->count = unit->block_count;
    args->failures = zf_units_head(memory) + unit->first_word * UINT64_C(8);
    args->failures_bytes = unit->plan->kernel_count * UINT64_C(8);
    for (uint32_t b = 0; b < unit->block_count; b++)
        args->tiles_missing = args->tiles_missing || units->blocks[unit->blocks[b]].backwards != ZF_ABI_NO_FAILURE;
    args->runs = zf_units_head(memory) + unit->at_tables + table;
    return units->accelerator->ops->move_bits(units->accelerator, stream, args, error);
}

zf_status zf_aside_move(const zf_units *units, const zf_unit *unit, void *stream, const zf_units_memory *memory,
                        zf_error *error) {
    if (unit->longest_values != 0) {
        zf_move_args args = {.from = memory->workspace + unit->at_values,
                             .to = memory->values,
                             .longest = unit->longest_values,
                             .from_bytes = unit->aside_values,
                             .to_bytes = units->sizes.values};
        ZF_TRY(move(units, unit, stream, &args, unit->move_values, memory, error));
    }
    if (unit->longest_validity == 0) return ZF_OK;
    zf_move_args args = {.from = memory->workspace + unit->at_validity,
                         .to = memory->validity,
                         .longest = unit->longest_validity,
                         .from_bytes = unit->aside_validity,
                         .to_bytes = units->sizes.validity};
    return move(units, unit, stream, &args, unit->move_validity, memory, error);
}

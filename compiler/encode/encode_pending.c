#include "compiler/encode/encode_pending.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/encode/encode_cut.h"
#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"

static zf_status no_memory(const zf_encode_pending *pending, zf_error *error) {
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory for rows of column `%s` that wait for their block",
                    pending->job->column->name);
}

static bool is_text(const zf_encode_pending *pending) { return pending->job->column->type.kind == ZF_K_STRING; }

static bool is_bool(const zf_encode_pending *pending) { return pending->job->column->type.kind == ZF_K_BOOL; }

/// Appends validity from bit `from_bit` on; NULL: ones.
static void append_validity(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count) {
    if (from != NULL) {
        zf_place_bits(to, to_bit, from, from_bit, count);
        return;
    }
    if (to_bit % 8 != 0) to[to_bit / 8] |= (uint8_t)(0xffu << to_bit % 8);
    memset(to + (to_bit + 7) / 8, 0xff, (to_bit + count + 7) / 8 - (to_bit + 7) / 8);
    zf_clear_behind(to, to_bit + count);
}

/// Appends booleans of a byte each.
static void append_booleans(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t count) {
    for (uint64_t k = 0; k < count;) {
        uint64_t bit = (to_bit + k) % 8, now = count - k < 8 - bit ? count - k : 8 - bit;
        unsigned byte = bit == 0 ? 0 : to[(to_bit + k) / 8];
        for (uint64_t b = 0; b < now; b++) byte |= (unsigned)(from[k + b] != 0) << (bit + b);
        to[(to_bit + k) / 8] = (uint8_t)byte;
        k += now;
    }
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// The next size of memory that grows: twice as much, so that a small table takes little, and then as much as a block has: of new
/// memory, what is not written to takes none. Memory that other rows had before takes all that it has, at most
/// ZF_ENCODE_IDLE. Larger ones have long strings.
static size_t grown(size_t room, size_t bytes) {
    enum { SMALL = 1 << 20, BLOCK = ZF_ENCODE_BLOCK_BYTES + ZF_ENCODE_BLOCK_BYTES / 64 };
    if (bytes <= SMALL) return larger(larger(2 * room, bytes), 4096);
    if (bytes <= BLOCK / 4) return BLOCK / 4;
    return bytes <= BLOCK ? BLOCK : larger(room + BLOCK / 4, bytes);
}

/// Gives an array of which `used` bytes count room for `bytes`; false: there is no memory.
static bool make_larger(const zf_encode_pending *p, void **array, size_t used, size_t bytes) {
    void *more = zf_encode_rows_grow(p->job->table, *array, used, bytes);
    if (more != NULL) *array = more;
    return more != NULL;
}

/// Room for `rows` more, and for `bytes` of values in all.
static bool make_room(zf_encode_pending *p, uint64_t rows, size_t bytes) {
    zf_type type = p->job->column->type;
    if (p->values == NULL || bytes > p->room) {
        size_t room = grown(p->room, bytes);
        if (!make_larger(p, (void **)&p->values, p->used, room)) return false;
        p->room = room;
    }
    if (p->row_room != 0 && p->rows + rows <= p->row_room) return true;
    uint64_t row_room = grown(8 * p->row_room, 8 * (p->rows + rows)) / 8;
    if (type.kind == ZF_K_STRING) {
        size_t used = p->offsets != NULL ? (p->rows + 1) * sizeof *p->offsets : 0;
        if (!make_larger(p, (void **)&p->offsets, used, (row_room + 1) * sizeof *p->offsets)) return false;
        p->offsets[0] = 0;
    }
    if (type.nullable) {
        uint8_t *validity = realloc(p->validity, row_room / 8 + 1);
        if (validity == NULL) return false;
        p->validity = validity;
    }
    p->row_room = row_room;
    return true;
}

/// `packed`: booleans are bits.
static zf_status add(zf_encode_pending *pending, const zf_encode_column *data, uint64_t at, uint64_t rows, bool packed,
                     zf_error *error) {
    zf_type type = pending->job->column->type;
    bool text = is_text(pending);
    size_t element = text ? 1 : zf_kind_size(type.kind);
    size_t begin = text ? (size_t)data->offsets[at] : at * element;
    size_t bytes = text ? (size_t)data->offsets[at + rows] - begin : rows * element, used = pending->used;
    size_t all = is_bool(pending) ? (pending->rows + rows + 7) / 8 : used + bytes;
    if (!make_room(pending, rows, all)) return no_memory(pending, error);
    if (is_bool(pending) && packed)
        zf_place_bits(pending->values, pending->rows, data->values, at, rows);
    else if (is_bool(pending))
        append_booleans(pending->values, pending->rows, (const uint8_t *)data->values + at, rows);
    else if (bytes > 0)
        memcpy(pending->values + used, (const uint8_t *)data->values + begin, bytes);
    for (uint64_t k = 1; text && k <= rows; k++)
        pending->offsets[pending->rows + k] = data->offsets[at + k] - data->offsets[at] + (int64_t)used;
    if (type.nullable) append_validity(pending->validity, pending->rows, data->validity, at, rows);
    pending->used = all;
    pending->rows += rows;
    return ZF_OK;
}

zf_status zf_encode_pending_add(zf_encode_pending *pending, const zf_encode_column *data, uint64_t at, uint64_t rows,
                                zf_error *error) {
    return add(pending, data, at, rows, false, error);
}

zf_status zf_encode_pending_take(zf_encode_pending *pending, uint64_t rows, zf_encode_waiting *out, zf_error *error) {
    zf_encode_pending rest = {.job = pending->job, .first = pending->first + rows, .blocks = pending->blocks + 1};
    zf_encode_column data = {.name = pending->job->column->name,
                             .values = pending->values,
                             .offsets = pending->offsets,
                             .validity = pending->validity};
    if (rows < pending->rows) {
        zf_status status = add(&rest, &data, rows, pending->rows - rows, true, error);
        if (status != ZF_OK) {
            zf_encode_pending_free(&rest);
            return status;
        }
        if (is_text(pending)) zf_encode_pool_shrink(pending->values, (size_t)data.offsets[rows]);
    }
    *out = (zf_encode_waiting){.job = pending->job,
                               .rows = {.block = pending->blocks, .first = pending->first, .rows = rows, .data = data},
                               .owned = true,
                               .packed = is_bool(pending)};
    *pending = rest;
    return ZF_OK;
}

void zf_encode_pending_free(zf_encode_pending *pending) {
    if (pending->job != NULL) {
        zf_encode_rows_give(pending->job->table, pending->values);
        zf_encode_rows_give(pending->job->table, pending->offsets);
    }
    free(pending->validity);
    *pending = (zf_encode_pending){0};
}

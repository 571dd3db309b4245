#include "compiler/encode/encode_pending.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/element.h"

static zf_status no_memory(const zf_encode_pending *pending, zf_error *error) {
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory for rows of column `%s` that wait for their block",
                    pending->job->column->name);
}

static bool is_text(const zf_encode_pending *pending) { return pending->job->column->type.kind == ZF_K_STRING; }

/// Appends bits `from_bit` on; NULL: ones. Bits of `to` behind `to_bit` are not kept.
static void append_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count) {
    uint64_t k = 0;
    for (; k < count && (to_bit + k) % 8 != 0; k++) {
        uint8_t bit = (uint8_t)(1u << (to_bit + k) % 8), *byte = &to[(to_bit + k) / 8];
        *byte = (uint8_t)(from == NULL || zf_bit_at(from, from_bit + k) ? *byte | bit : *byte & ~bit);
    }
    for (; count - k >= 8; k += 8) {
        uint64_t at = from_bit + k;
        unsigned shift = at % 8, byte = 0xff;
        if (from != NULL)
            byte = shift == 0 ? from[at / 8] : (unsigned)from[at / 8] >> shift | (unsigned)from[at / 8 + 1] << (8 - shift);
        to[(to_bit + k) / 8] = (uint8_t)byte;
    }
    if (k < count) to[(to_bit + k) / 8] = 0;
    for (; k < count; k++) {
        if (from == NULL || zf_bit_at(from, from_bit + k)) to[(to_bit + k) / 8] |= (uint8_t)(1u << (to_bit + k) % 8);
    }
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// Room for `rows` and `bytes` more. It doubles, so that a small table takes little.
static bool make_room(zf_encode_pending *p, uint64_t rows, size_t bytes) {
    zf_type type = p->job->column->type;
    if (p->values == NULL || p->used + bytes > p->room) {
        size_t room = larger(larger(2 * p->room, p->used + bytes), 4096);
        uint8_t *values = realloc(p->values, room);
        if (values == NULL) return false;
        p->values = values;
        p->room = room;
    }
    if (p->row_room != 0 && p->rows + rows <= p->row_room) return true;
    uint64_t row_room = larger(larger(2 * p->row_room, p->rows + rows), 64);
    if (type.kind == ZF_K_STRING) {
        int64_t *offsets = realloc(p->offsets, (row_room + 1) * sizeof *offsets);
        if (offsets == NULL) return false;
        p->offsets = offsets;
        if (p->rows == 0) offsets[0] = 0;
    }
    if (type.nullable) {
        uint8_t *validity = realloc(p->validity, row_room / 8 + 1);
        if (validity == NULL) return false;
        p->validity = validity;
    }
    p->row_room = row_room;
    return true;
}

zf_status zf_encode_pending_add(zf_encode_pending *pending, const zf_encode_column *data, uint64_t at, uint64_t rows,
                                zf_error *error) {
    zf_type type = pending->job->column->type;
    bool text = is_text(pending);
    size_t element = text ? 1 : zf_kind_size(type.kind);
    size_t begin = text ? (size_t)data->offsets[at] : at * element;
    size_t bytes = text ? (size_t)data->offsets[at + rows] - begin : rows * element;
    if (!make_room(pending, rows, bytes)) return no_memory(pending, error);
    if (bytes > 0) memcpy(pending->values + pending->used, (const uint8_t *)data->values + begin, bytes);
    for (uint64_t k = 1; text && k <= rows; k++)
        pending->offsets[pending->rows + k] = data->offsets[at + k] - data->offsets[at] + (int64_t)pending->used;
    if (type.nullable) append_bits(pending->validity, pending->rows, data->validity, at, rows);
    pending->used += bytes;
    pending->rows += rows;
    return ZF_OK;
}

zf_status zf_encode_pending_take(zf_encode_pending *pending, uint64_t rows, zf_encode_waiting *out, zf_error *error) {
    zf_encode_pending rest = {.job = pending->job, .first = pending->first + rows, .blocks = pending->blocks + 1};
    const zf_encode_column data = {.name = pending->job->column->name,
                                   .values = pending->values,
                                   .offsets = pending->offsets,
                                   .validity = pending->validity};
    if (rows < pending->rows) {
        zf_status status = zf_encode_pending_add(&rest, &data, rows, pending->rows - rows, error);
        if (status != ZF_OK) {
            zf_encode_pending_free(&rest);
            return status;
        }
    }
    *out = (zf_encode_waiting){.job = pending->job,
                               .rows = {.block = pending->blocks, .first = pending->first, .rows = rows, .data = data},
                               .owned = true};
    *pending = rest;
    return ZF_OK;
}

void zf_encode_pending_free(zf_encode_pending *pending) {
    free(pending->values);
    free(pending->offsets);
    free(pending->validity);
    *pending = (zf_encode_pending){0};
}

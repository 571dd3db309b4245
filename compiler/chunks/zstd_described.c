#include "compiler/chunks/zstd_described.h"

#include <string.h>

const uint8_t *zf_zstd_pass_code(zf_zstd_reader *r, uint64_t *bytes) {
    const uint8_t *from = r->at;
    unsigned head = (unsigned)zf_zstd_take_number(r, 1);
    zf_zstd_take(r, head < 128 ? head : (head - 126) / 2);
    *bytes = (uint64_t)(r->at - from);
    return from;
}

// ---- Tables ---------------------------------------------------------------------------------------------------

/// Bits of a table, lowest first.
typedef struct bits {
    const uint8_t *bytes;
    uint64_t at, end;
} bits;

/// Zeros stand behind the end.
static unsigned peek(const bits *b, unsigned count) {
    unsigned value = 0;
    for (unsigned k = 0; k < count; k++) {
        uint64_t at = b->at + k;
        if (at < b->end) value |= (unsigned)(b->bytes[at / 8] >> at % 8 & 1) << k;
    }
    return value;
}

static unsigned width_of(unsigned value) {
    unsigned width = 0;
    for (; value > 0; value >>= 1) width++;
    return width;
}

/// Passes the description of a table: how many rows each symbol has. False: it is none.
static bool pass_counts(zf_zstd_reader *r, unsigned kind, zf_zstd_counts *out) {
    bits b = {.bytes = r->at, .end = 8 * (uint64_t)(r->end - r->at)};
    *out = (zf_zstd_counts){.log = (uint8_t)(peek(&b, 4) + 5)};
    b.at = 4;
    if (out->log > zf_zstd_log_most(kind)) return false;
    unsigned left = (1u << out->log) + 1, symbol = 0;
    while (left > 1) {
        unsigned width = width_of(left), half = 1u << (width - 1), shorter = 2 * half - 1 - left, value = peek(&b, width);
        if (symbol > zf_zstd_symbol_most(kind) || b.at > b.end) return false;
        bool is_short = (value & (half - 1)) < shorter;
        if (is_short)
            value &= half - 1;
        else if (value >= half)
            value -= shorter;
        b.at += is_short ? width - 1 : width;
        unsigned rows = value == 0 ? 1 : value - 1;
        if (rows >= left) return false;
        out->of[symbol++] = (int16_t)(value == 0 ? -1 : (int)rows);
        left -= rows;
        for (unsigned more = value == 1 ? 3 : 0; more == 3 && b.at <= b.end;) {
            more = peek(&b, 2);
            b.at += 2;
            symbol += more;
        }
    }
    zf_zstd_take(r, (b.at + 7) / 8);
    return !r->bad;
}

zf_status zf_zstd_take_table(zf_zstd_described *to, zf_zstd_reader *r, unsigned kind, zf_zstd_how how, zf_error *error) {
    const uint8_t *from = r->at;
    zf_zstd_counts counts;
    if (how == ZF_ZSTD_OWN) {
        zf_zstd_table_own(kind, &to->rows[kind]);
    } else if (how == ZF_ZSTD_ONE) {
        unsigned symbol = (unsigned)zf_zstd_take_number(r, 1);
        if (symbol > zf_zstd_symbol_most(kind)) return zf_zstd_refuse(r, "a table has a symbol that there is not", error);
        zf_zstd_table_one(symbol, &to->rows[kind]);
    } else {
        if (!pass_counts(r, kind, &counts)) return zf_zstd_refuse(r, "the description of a table is wrong", error);
        zf_zstd_table_make(&counts, &to->rows[kind]);
    }
    if (r->bad) return zf_zstd_cut(r, error);
    uint64_t bytes = (uint64_t)(r->at - from);
    if (bytes + 1 > ZF_ZSTD_TABLE_MOST) return zf_zstd_refuse(r, "a table is longer than any can be", error);
    to->text[kind][0] = (uint8_t)how;
    memcpy(to->text[kind] + 1, from, bytes);
    to->bytes[kind] = (unsigned)bytes + 1;
    return ZF_OK;
}

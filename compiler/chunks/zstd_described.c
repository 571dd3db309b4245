#include "compiler/chunks/zstd_described.h"

#include <string.h>

// ---- Tables ---------------------------------------------------------------------------------------------------

/// Passes the description of a table of symbols up to `most`: how many rows each of them has. False: it is none.
static bool pass_counts(zf_zstd_reader *r, unsigned most, unsigned log_most, zf_zstd_counts *out) {
    zf_zstd_bits bits = {r->at, (uint64_t)(r->end - r->at)};
    *out = (zf_zstd_counts){.log = (uint8_t)(zf_zstd_bits_at(bits, 0, 4) + 5)};
    uint64_t at = 4, end = 8 * bits.size;
    if (out->log > log_most) return false;
    unsigned left = (1u << out->log) + 1, symbol = 0;
    while (left > 1) {
        unsigned width = zf_zstd_width(left), half = 1u << (width - 1), shorter = 2 * half - 1 - left;
        unsigned value = (unsigned)zf_zstd_bits_at(bits, at, width);
        if (symbol > most || at > end) return false;
        bool is_short = (value & (half - 1)) < shorter;
        if (is_short)
            value &= half - 1;
        else if (value >= half)
            value -= shorter;
        at += is_short ? width - 1 : width;
        unsigned rows = value == 0 ? 1 : value - 1; // fewer than `left`, which no value is above
        out->of[symbol++] = (int16_t)(value == 0 ? -1 : (int)rows);
        left -= rows;
        for (unsigned more = value == 1 ? 3 : 0; more == 3 && at <= end;) {
            more = (unsigned)zf_zstd_bits_at(bits, at, 2);
            at += 2;
            symbol += more;
        }
    }
    zf_zstd_take(r, (at + 7) / 8);
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
        if (!pass_counts(r, zf_zstd_symbol_most(kind), zf_zstd_log_most(kind), &counts))
            return zf_zstd_refuse(r, "the description of a table is wrong", error);
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

// ---- Codes of literals ----------------------------------------------------------------------------------------

enum { WEIGHT_MOST = 11, WEIGHTS_LOG_MOST = 6, WEIGHTS_MOST = 255 };

const uint8_t *zf_zstd_pass_code(zf_zstd_reader *r, uint64_t *bytes) {
    const uint8_t *from = r->at;
    unsigned head = (unsigned)zf_zstd_take_number(r, 1);
    zf_zstd_take(r, head < 128 ? head : (head - 126) / 2);
    *bytes = (uint64_t)(r->at - from);
    return from;
}

/// Reads weights that a table codes, by two states in turn. Returns how many; 0: they are none.
static unsigned read_coded(const uint8_t *bytes, uint64_t size, uint8_t weights[WEIGHTS_MOST]) {
    zf_zstd_reader r = {.begin = bytes, .at = bytes, .end = bytes + size};
    zf_zstd_counts counts;
    zf_zstd_table table;
    if (!pass_counts(&r, WEIGHT_MOST, WEIGHTS_LOG_MOST, &counts) || r.at == r.end || r.end[-1] == 0) return 0;
    zf_zstd_table_make(&counts, &table);
    zf_zstd_back b = zf_zstd_back_of((zf_zstd_bits){r.at, (uint64_t)(r.end - r.at)});
    unsigned row = zf_zstd_take_back(&b, table.log), other = zf_zstd_take_back(&b, table.log), count = 0;
    if (b.bad) return 0;
    for (;; count++) {
        if (count + 1 >= WEIGHTS_MOST) return 0;
        weights[count] = table.symbol[row];
        unsigned next = table.base[row] + zf_zstd_take_back(&b, table.bits[row]);
        if (b.bad) break;
        row = other;
        other = next;
    }
    weights[++count] = table.symbol[other];
    return count + 1;
}

bool zf_zstd_code_holds(const uint8_t *bytes, uint64_t size) {
    uint8_t weights[WEIGHTS_MOST];
    unsigned count = 0, total = 0, least = 0;
    if (bytes[0] >= 128) {
        count = bytes[0] - 127u;
        for (unsigned k = 0; k < count; k++) weights[k] = bytes[1 + k / 2] >> (k % 2 == 0 ? 4 : 0) & 15;
    } else {
        count = read_coded(bytes + 1, size - 1, weights);
    }
    for (unsigned k = 0; k < count; k++) {
        if (weights[k] > WEIGHT_MOST) return false;
        total += 1u << weights[k] >> 1;
        least += weights[k] == 1;
    }
    if (total == 0 || zf_zstd_width(total) > WEIGHT_MOST) return false;
    unsigned rest = (1u << zf_zstd_width(total)) - total; // of the symbol that is not listed
    return (rest & (rest - 1)) == 0 && least + (rest == 1) >= 2;
}

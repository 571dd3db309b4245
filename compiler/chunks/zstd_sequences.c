#include "compiler/chunks/zstd_sequences.h"

#include <string.h>

enum { MADE_MOST = 1 << 28 }; ///< bytes of a frame: those of a chunk

// Lengths by symbols: the shortest, and how many bits follow.
static const uint32_t literals_least[36] = {0,  1,  2,   3,   4,   5,    6,    7,    8,    9,     10,    11,
                                            12, 13, 14,  15,  16,  18,   20,   22,   24,   28,    32,    40,
                                            48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
static const uint8_t literals_bits[36] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  1,  1,
                                          1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint32_t copies_least[ZF_ZSTD_SYMBOLS] = {
    3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19,  20,  21,  22,   23,   24,   25,   26,    27,    28,   29,
    30, 31, 32, 33, 34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539};
static const uint8_t copies_bits[ZF_ZSTD_SYMBOLS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
                                                     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  1,  1,  1, 1,
                                                     2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static const zf_zstd_counts own[ZF_ZSTD_KINDS] = {
    {{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}, 6},
    {{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}, 5},
    {{1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1},
     6},
};

unsigned zf_zstd_symbol_most(unsigned kind) {
    static const uint8_t most[ZF_ZSTD_KINDS] = {35, 31, 52};
    return most[kind];
}

unsigned zf_zstd_log_most(unsigned kind) {
    static const uint8_t most[ZF_ZSTD_KINDS] = {9, 8, 9};
    return most[kind];
}

// ---- Tables ---------------------------------------------------------------------------------------------------

void zf_zstd_table_make(const zf_zstd_counts *counts, zf_zstd_table *out) {
    unsigned size = 1u << counts->log, high = size, place = 0;
    uint16_t next[ZF_ZSTD_SYMBOLS];
    out->log = counts->log;
    for (unsigned s = 0; s < ZF_ZSTD_SYMBOLS; s++) {
        next[s] = (uint16_t)(counts->of[s] < 0 ? 1 : counts->of[s]);
        if (counts->of[s] < 0) out->symbol[--high] = (uint8_t)s;
    }
    for (unsigned s = 0; s < ZF_ZSTD_SYMBOLS; s++) {
        for (int k = 0; k < counts->of[s]; k++) {
            out->symbol[place] = (uint8_t)s;
            do place = (place + (size >> 1) + (size >> 3) + 3) & (size - 1);
            while (place >= high);
        }
    }
    for (unsigned row = 0; row < size; row++) {
        unsigned y = next[out->symbol[row]]++;
        out->bits[row] = (uint8_t)(counts->log + 1u - zf_zstd_width(y));
        out->base[row] = (uint16_t)((y << out->bits[row]) - size);
    }
}

void zf_zstd_table_own(unsigned kind, zf_zstd_table *out) { zf_zstd_table_make(&own[kind], out); }

void zf_zstd_table_one(unsigned symbol, zf_zstd_table *out) {
    out->log = out->bits[0] = 0;
    out->base[0] = 0;
    out->symbol[0] = (uint8_t)symbol;
}

// ---- Sequences ------------------------------------------------------------------------------------------------

static uint16_t follow(zf_zstd_back *r, const zf_zstd_table *table, unsigned row) {
    return (uint16_t)(table->base[row] + zf_zstd_take_back(r, table->bits[row]));
}

/// The distance of a coded one, which becomes the most recent. 0: there is none.
static uint64_t distance_of(uint64_t coded, bool no_literals, uint32_t recent[3]) {
    uint64_t distance = coded - 3, place = 3;
    if (coded <= 3) {
        place = coded - (no_literals ? 0 : 1);
        distance = place < 3 ? recent[place] : recent[0] - (uint64_t)1;
    }
    if (distance > UINT32_MAX) return 0;
    if (place > 1) recent[2] = recent[1];
    if (place > 0) recent[1] = recent[0];
    recent[0] = (uint32_t)distance;
    return distance;
}

bool zf_zstd_sequences(const zf_zstd_table tables[ZF_ZSTD_KINDS], zf_zstd_coded *block, zf_zstd_state *state,
                       zf_zstd_piece *pieces) {
    enum { LITERALS, DISTANCES, COPIES };
    zf_zstd_bits bits = block->bits;
    if (bits.size == 0 || bits.bytes[bits.size - 1] == 0) return false;
    zf_zstd_back r = zf_zstd_back_of(bits);
    uint16_t row[ZF_ZSTD_KINDS];
    for (unsigned k = 0; k < ZF_ZSTD_KINDS; k++) row[k] = (uint16_t)zf_zstd_take_back(&r, tables[k].log);
    for (uint64_t number = 0; number < block->sequences; number++) {
        zf_zstd_piece *piece = &pieces[number / ZF_ZSTD_PIECE];
        if (number % ZF_ZSTD_PIECE == 0) {
            *piece = (zf_zstd_piece){.high = r.left};
            memcpy(piece->recent, state->recent, sizeof piece->recent);
            memcpy(piece->row, row, sizeof piece->row);
        }
        unsigned of_literals = tables[LITERALS].symbol[row[LITERALS]], of_copy = tables[COPIES].symbol[row[COPIES]];
        unsigned of_distance = tables[DISTANCES].symbol[row[DISTANCES]];
        uint64_t coded = (UINT64_C(1) << of_distance) + zf_zstd_take_back(&r, of_distance);
        uint64_t copied = copies_least[of_copy] + zf_zstd_take_back(&r, copies_bits[of_copy]);
        uint64_t before = literals_least[of_literals] + zf_zstd_take_back(&r, literals_bits[of_literals]);
        uint64_t distance = distance_of(coded, before == 0, state->recent);
        if (before > block->literals) return false;
        block->literals -= before;
        state->made += before;
        if (r.bad || distance == 0 || distance > state->made + block->before || state->made > MADE_MOST) return false;
        if (distance >> ZF_ZSTD_DISTANCE_BITS != 0) return false;
        state->made += copied;
        piece->low = r.left; // the last one of a piece has no next rows: those are known
        piece->sequences++;
        if (number + 1 == block->sequences) break;
        row[LITERALS] = follow(&r, &tables[LITERALS], row[LITERALS]);
        row[COPIES] = follow(&r, &tables[COPIES], row[COPIES]);
        row[DISTANCES] = follow(&r, &tables[DISTANCES], row[DISTANCES]);
    }
    state->made += block->literals;
    return !r.bad && r.left == 0;
}

#include "tests/gpu/gpu_columns.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/pool.h"

uint64_t gpu_mix(uint64_t x) { // splitmix64
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// ---- Values ---------------------------------------------------------------------------------------------------

/// Runs of these lengths, over and over: the run of a row, and its place in there.
static const uint8_t lengths[] = {1, 2, 5, 16, 24};
enum { RUNS = sizeof lengths, ROUND = 48 };

static uint64_t run_of(uint64_t row, uint64_t *place) {
    uint64_t run = row / ROUND * RUNS, at = row % ROUND;
    for (unsigned k = 0; at >= lengths[k]; k++) {
        at -= lengths[k];
        run++;
    }
    *place = at;
    return run;
}

static uint64_t narrow(uint64_t row) { return gpu_mix(row) % 100; }
static uint64_t two_bits(uint64_t row) { return gpu_mix(row) % 4; }
static uint64_t four_bits(uint64_t row) { return gpu_mix(row) % 16 + 1000; }
static uint64_t medium(uint64_t row) { return gpu_mix(row) % 100000; }
static uint64_t wide(uint64_t row) { return gpu_mix(row) % (1 << 25) - 77; }
/// As wide as its place asks for: blocks have other widths, and so other code.
static uint64_t growing(uint64_t row) {
    unsigned bits = 4;
    for (uint64_t k = row / 4096; k > 0 && bits < 31; k /= 2) bits++;
    return gpu_mix(row) & ((UINT64_C(1) << bits) - 1);
}
static uint64_t both_signs(uint64_t row) { return gpu_mix(row) % 2000 - 1000; }
static uint64_t small(uint64_t row) { return gpu_mix(row) % 3000; }
static uint64_t price(uint64_t row) {
    double value = (double)(gpu_mix(row) % 1000000) / 100;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}
static uint64_t amounts(uint64_t row) { return (900 + gpu_mix(row) % 50 * 7) * (1 + gpu_mix(row + 1) % 20); }
static uint64_t tracks(uint64_t row) { return row % 5 * 100000 + row / 5 * (row % 5 + 1); }
static uint64_t price_or_not(uint64_t row) { // one in a hundred is no decimal fraction
    double value = (double)(gpu_mix(row) >> 11) * 0x1p-53;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return gpu_mix(row + 1) % 100 == 0 ? bits : price(row);
}
static uint64_t narrow_or_not(uint64_t row) { return gpu_mix(row + 1) % 100 == 0 ? gpu_mix(row) % (1 << 30) : narrow(row); }
/// Climbs by more than a word of bits has, now and then.
static uint64_t set(uint64_t row) { return row * 4 + gpu_mix(row) % 4 + row / 40 * 70; }
static uint64_t date(uint64_t row) { return 8000 + gpu_mix(row) % 2526; }
static uint64_t flag(uint64_t row) { return (uint8_t)"ANR"[gpu_mix(row) % 3]; }
static uint64_t fraction(uint64_t row) {
    float value = (float)(gpu_mix(row) % 65536) * 0.37f;
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static uint64_t rare(uint64_t row) { return gpu_mix(row) % 3 == 0; }
static uint64_t climbing(uint64_t row) { return row * 5 + gpu_mix(row) % 5; }
static uint64_t walking(uint64_t row) { return gpu_mix(row) % 1000 - 500; }
static uint64_t turning(uint64_t row) { return row * 7 + gpu_mix(row) % 3; }
/// Differences of a base and, of 1000, 999 times as many bits as the sums of a row of a warp have room for in 32 bits; with a bit
/// more they have not.
static uint64_t full(uint64_t row) { return ((UINT64_C(1) << 26) - 1) * (row - row / 1000) - row * 1000003; }
static uint64_t over(uint64_t row) { return row * 77 + ((UINT64_C(1) << 27) - 1) * (row - row / 1000); }
static uint64_t in_runs(uint64_t row) {
    uint64_t place;
    return gpu_mix(run_of(row, &place)) % 1000;
}
static uint64_t bits_in_runs(uint64_t row) {
    uint64_t place;
    return gpu_mix(run_of(row, &place)) & 1;
}
static uint64_t strides(uint64_t row) {
    uint64_t place, run = run_of(row, &place);
    return gpu_mix(run) % 100000 + place * (gpu_mix(run + 1) % 7);
}
static uint64_t keys(uint64_t row) { // as l_orderkey
    uint64_t place, run = run_of(row, &place);
    return run / 8 * 32 + run % 8;
}
/// By turns another key each row, so that a window has no room for the groups of many rows, and one for eight rows.
static uint64_t short_runs(uint64_t row) { return (row / 700 % 2 == 0 ? row : row / 8 * 8) * 3; }
static uint64_t highest(uint64_t row) { // of what came before: climbs, and stays for a while
    uint64_t place;
    return run_of(row, &place) * 11;
}
/// Another alternative in each block of 4096 rows.
static uint64_t chosen(uint64_t row) {
    switch (row / 4096 % 4) {
    case 0: return 42;
    case 1: return in_runs(row);
    case 2: return climbing(row);
    default: return medium(row);
    }
}

static uint64_t bytes_in_runs(uint64_t row) { return in_runs(row) % 100; }
static uint64_t uneven(uint64_t row) { // half of them one value
    uint64_t value = gpu_mix(row);
    return value & 1 ? 7 : value >> 1 & (value >> 9 & 63);
}
/// Pieces of a text, and now and then a byte that is in none.
static uint64_t prose(uint64_t row) {
    static const char text[] = "the quick requests sleep furiously above the carefully ironic deposits; pending accounts "
                               "haggle blithely along the final packages. regular, express theodolites cajole quickly";
    enum { PIECE = 24 };
    if (gpu_mix(row) % 64 == 0) return gpu_mix(row + 1) & 255;
    return (uint8_t)text[gpu_mix(row / PIECE) % (sizeof text - PIECE) + row % PIECE];
}
/// Texts that each end in one of six bytes, of all lengths at which they are treated otherwise; every round begins with another
/// one.
static uint64_t texts(uint64_t row) {
    static const uint16_t sizes[] = {1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 254, 255, 256, 300};
    enum { TEXTS = sizeof sizes / sizeof *sizes, ALL = 1596 };
    uint64_t round = row / ALL, at = row % ALL, k = gpu_mix(round) % TEXTS;
    for (; at >= sizes[k]; k = (k + 1) % TEXTS) at -= sizes[k];
    static const uint8_t ends[] = {0, 15, 16, 200, 254, 255};
    if (at + 1 == sizes[k]) return ends[round % 6];
    return 17 + gpu_mix(at + 1000 * k + 100000 * (round % 3)) % 183;
}
/// In each block of 4096 rows every fourth row of 32 has numbers, and the next three count on from them.
static uint64_t steps_of_lanes(uint64_t row) {
    uint64_t in = row % 4096, k = in / 32 % 4;
    return gpu_mix(row - k * 32) % 60000 + k;
}

static const gpu_column columns[] = {
    {"map_u8", 8, narrow, false, false},
    {"map_u32", 32, medium, false, false},
    {"map_growing", 32, growing, false, false},
    {"map_i64", 64, wide, false, false},
    {"map_i16", 16, both_signs, false, false},
    {"map_u16", 16, small, false, false},
    {"map_f64", 64, price, false, false},
    {"map_date", 32, date, false, false},
    {"map_flag", 8, flag, false, false},
    {"map_f32", 32, fraction, false, false},
    {"map_bool", 1, rare, false, false},
    {"map_multiples", 64, amounts, false, true},
    {"map_interleave", 32, tracks, false, false},
    {"map_split", 64, price, false, false},
    {"scan_split", 64, medium, true, false},
    {"scan_i32", 32, climbing, false, false},
    {"scan_i64", 64, walking, false, false},
    {"scan_u8", 8, turning, false, false},
    {"scan_full", 64, full, false, false},
    {"scan_over", 64, over, false, false},
    {"groups_i32", 32, in_runs, true, false},
    {"groups_i64", 64, in_runs, true, false},
    {"groups_bool", 1, bits_in_runs, true, false},
    {"groups_stride", 64, strides, true, false},
    {"nested", 64, keys, true, false},
    {"nested_short", 64, short_runs, true, false},
    {"chosen", 32, chosen, true, false},
    {"scan_max", 64, highest, false, false},
    {"scan_groups", 64, strides, false, false},
    {"segments_rows", 32, climbing, false, false},
    {"segments_lanes", 32, walking, false, false},
    {"segments_pairs", 32, walking, false, false},
    {"sequential_i32", 32, walking, false, false},
    {"prefix_eight", 32, growing, true, false},
    {"prefix_windows", 32, medium, false, false},
    {"patches_f64", 64, price_or_not, true, false},
    {"patches_i32", 32, narrow_or_not, true, false},
    {"patches_tails", 64, wide, true, false},
    {"map_blocks", 32, narrow_or_not, false, false},
    {"map_planes", 8, narrow, false, false},
    {"groups_empty", 32, set, true, false},
    {"groups_fsst", 8, prose, true, false},
    {"groups_words", 8, prose, true, false},
    {"groups_texts", 8, texts, true, false},
    {"groups_heads", 8, texts, true, false},
    {"lanes_tans", 8, uneven, false, false},
    {"lanes_rans", 8, uneven, false, false},
    {"lanes_huffman", 8, uneven, true, false},
    {"lanes_packed", 8, two_bits, false, false},
    {"lanes_packed_i32", 32, four_bits, false, false},
    {"lanes_looked_up", 8, flag, true, true},
    {"lanes_steps", 16, steps_of_lanes, false, false},
    {"lanes_bits", 64, two_bits, false, false},
    {"lanes_pairs", 32, walking, false, false},
    {"chunks_u8", 8, bytes_in_runs, false, false},
    {"chunks_matches", 8, bytes_in_runs, false, false},
    {"chunks_runs", 32, in_runs, false, false},
    {"chunks_varints", 64, walking, false, false},
    {"chunks_ranges", 32, in_runs, false, false},
    {"chunks_rows", 16, walking, false, false},
    {"chunks_fsst", 8, prose, false, false},
    // Not in `forms`: small in the file, however large in memory.
    {"thin_u8", 8, two_bits, false, false},
    {"thin_i64", 64, four_bits, false, false},
};

enum { COLUMNS = sizeof columns / sizeof columns[0], FORMS = COLUMNS - 2 };

const gpu_column *gpu_columns(size_t *count) {
    *count = FORMS;
    return columns;
}

const gpu_column *gpu_column_find(const char *name) {
    for (size_t c = 0; c < COLUMNS; c++) {
        if (strcmp(columns[c].name, name) == 0) return &columns[c];
    }
    return NULL;
}

uint64_t gpu_column_bytes(const gpu_column *column, uint64_t count) { return (count * column->bits + 7) / 8; }

// ---- Many of them ---------------------------------------------------------------------------------------------

enum { PART = 1 << 20 };

typedef struct job {
    const gpu_column *column;
    uint64_t begin, count, period, skip;
    uint8_t *made;          ///< what is made, or
    const uint8_t *decoded; ///< what is checked
    uint64_t wrong;         ///< atomic
} job;

static uint64_t value_at(const job *j, uint64_t row) { return j->column->value(j->period != 0 ? row % j->period : row); }

static void run_part(void *user, uint64_t part, unsigned worker) {
    job *j = user;
    (void)worker;
    unsigned bits = j->column->bits, size = bits < 8 ? 1 : bits / 8;
    uint64_t end = (part + 1) * PART < j->count ? (part + 1) * PART : j->count, wrong = 0;
    for (uint64_t i = part * PART; i < end; i++) {
        uint64_t value = value_at(j, j->begin + i), found = 0, at = j->skip + i;
        if (j->made != NULL) {
            memcpy(j->made + i * size, &value, size);
        } else if (bits == 1) {
            wrong += (j->decoded[at / 8] >> (at % 8) & 1) != value;
        } else {
            memcpy(&found, j->decoded + at * size, size);
            wrong += found != (bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1));
        }
    }
    __atomic_fetch_add(&j->wrong, wrong, __ATOMIC_RELAXED);
}

void *gpu_column_make(const gpu_column *column, uint64_t begin, uint64_t count, uint64_t period, unsigned threads) {
    unsigned size = column->bits < 8 ? 1 : column->bits / 8;
    job j = {.column = column, .begin = begin, .count = count, .period = period, .made = malloc(count * size + 1)};
    if (j.made == NULL) abort();
    zf_parallel_for(threads, (count + PART - 1) / PART, run_part, &j);
    return j.made;
}

uint64_t gpu_column_wrong(const gpu_column *column, uint64_t begin, uint64_t count, uint64_t period, const void *decoded,
                          uint64_t skip, unsigned threads) {
    job j = {.column = column, .begin = begin, .count = count, .period = period, .skip = skip, .decoded = decoded};
    zf_parallel_for(threads, (count + PART - 1) / PART, run_part, &j);
    return j.wrong;
}

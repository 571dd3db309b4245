// The registry, and the encoder of sets.
#include "tests/interp/externs.h"

const interp_extern interp_test_externs[] = {
    {"lz4", externs_lz4},
    {"snappy", externs_snappy},
    {"deflate", externs_deflate},
    {"fsst_tiles", externs_fsst_tiles},
    {"orc_rle1", externs_orc_rle1},
    {"orc_rle2", externs_orc_rle2},
    {"parquet_hybrid", externs_parquet_hybrid},
    {"delta_binary_packed", externs_delta_binary_packed},
    {"batmap", externs_batmap},
};
const size_t interp_test_extern_count = sizeof interp_test_externs / sizeof interp_test_externs[0];

// ---- batmap: each member once, in one of three tables, by cuckoo moves ----------------------------------------

enum { SLOTS, INVERSE };
enum { R0, LOW, LOG };

typedef struct tables {
    unsigned low, log;
    uint64_t rows; // of a table: 1 << low
    uint64_t r0;
    uint32_t *member; // [3 * rows], member + 1; 0: free
} tables;

static const uint32_t multipliers[3] = {0x9e3779b1, 0x85ebca77, 0xc2b2ae3d};

static uint32_t inverse_of(uint32_t odd) {
    uint32_t inverse = odd; // Newton's iteration doubles the bits that are right
    for (int k = 0; k < 5; k++) inverse *= 2 - odd * inverse;
    return inverse;
}

// Where a member stands in table t: row, and the code that tells the rest.
static uint64_t place(const tables *s, uint32_t member, unsigned t, uint32_t *code) {
    uint64_t mask = (UINT64_C(1) << s->log) - 1, u = (uint64_t)member * multipliers[t] & mask;
    unsigned half = s->log / 2;
    uint64_t v = (u >> half | u << (s->log - half)) & mask;
    *code = (uint32_t)(v >> s->low) + 1;
    return v & (s->rows - 1);
}

static bool insert(tables *s, uint32_t member) {
    unsigned t = 0;
    for (uint64_t moves = 0; moves < 3 * s->rows + 100; moves++, t = (t + 1) % 3) {
        uint32_t code, *slot = &s->member[t * s->rows + place(s, member, t, &code)], moved = *slot;
        *slot = member + 1;
        if (moved == 0) return true;
        member = moved - 1;
    }
    return false;
}

static bool fill(interp_extern_call *call, tables *s) {
    s->member = zf_arena_alloc(interp_arena(call->in), 3 * (size_t)s->rows * sizeof *s->member);
    for (uint64_t k = 0; k < interp_stream_count(call->x); k++)
        if (!insert(s, (uint32_t)interp_stream_bits(call->x, k, NULL))) return false;
    return true;
}

void externs_batmap(interp_extern_call *call) {
    uint64_t n = interp_stream_count(call->x), most = 0;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t v = interp_stream_bits(call->x, k, NULL);
        if (v > most) most = v;
    }
    if (most >> 31) {
        call->refused = "members beyond 31 bits";
        return;
    }
    tables s = {.log = 1, .r0 = 1};
    while (most >> s.log) s.log++;
    s.low = s.log > 6 ? s.log - 6 : 0; // codes are 7 bits, 0 is empty, 128 and above is the flag
    for (;; s.low++) {
        s.rows = UINT64_C(1) << s.low;
        s.r0 = s.rows > 4 ? 4 : 1;
        if (s.rows * 3 >= n && fill(call, &s)) break;
        if (s.low == s.log || s.low == 24 || s.rows > 64 * (n + 1)) { // the same member too often
            call->refused = "the members do not fit";
            return;
        }
    }
    call->params[R0] = s.r0;
    call->params[LOW] = s.low;
    call->params[LOG] = s.log;
    for (unsigned t = 0; t < 3; t++) interp_stream_push(call->streams[INVERSE], inverse_of(multipliers[t]));
    for (uint64_t g = 0; g < 3 * s.rows; g++) {
        uint64_t row = g / (3 * s.r0) * s.r0 + g % s.r0;
        unsigned t = (unsigned)(g % (3 * s.r0) / s.r0);
        uint32_t entry = s.member[t * s.rows + row], code = 0;
        if (entry) place(&s, entry - 1, t, &code);
        interp_stream_push(call->streams[SLOTS], entry ? 128 | code : 0);
        if (entry) interp_stream_push(call->permuted, entry - 1);
    }
}

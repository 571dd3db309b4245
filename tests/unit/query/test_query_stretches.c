// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Queries of which a warp makes several tiles at a time: stretches that blocks end, or the launch's rows, or the warp's chunk;
// rows that wait across tiles, many of them and hardly any. Sums are compared with the test's own.
// ZF_TEST_DEVICE names another device in place of the emulated GPU.
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen_query.h"
#include "compiler/program.h"
#include "compiler/query/query_prepared.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum {
    TILE = 2048,
    WARPS = 8,                           // of a thread block
    ROUND = 32 * WARPS,                  // tiles: each warp has as many as it can
    ROWS = (ROUND + 3) * TILE + 7,       // a round, and a rest
    SOME = (9 * WARPS + 3) * TILE + 777, // less than one, which is divided
    VALUES = 1000,
    FEW = 32,
    GROUPS = 8,
};

// Columns of 10 or 8 bits, 5, 1, 2 and 32, more words of a lane than are loaded one step ahead; `c` is loaded as it is, and `d`
// is decoded first. Rows of a queue read `b`, `p`, `q` and `s`.
static const char *const text =
    "table t { a: u32 = bitpack; b: u16 = bitpack; c: i64 = plain; d: i64 = delta(bitpack); e: u8 = bitpack; f: u8 = bitpack;\n"
    "    g: u32 = bitpack; p: u16 = plain; q: i64 = plain; s: i64 = plain; }\n"
    "query waits(t) { input wanted: bool[]; input bytes: u8[]; result n: i64 = sum; result by: i64[8] = sum;\n"
    "    result hit: bool = mask;\n"
    "    each { if wanted[a] && bytes[b] < 30 && p > 2000 && q % 11 != 3 && s > 99 && wanted[b] { n += row * 3 + c; by[d & 7] += "
    "a; hit = true; } } }\n"
    "query scans(t) { input wanted: bool[]; input bytes: u8[]; result n: i64 = sum; result by: i64[8] = sum;\n"
    "    result hit: bool = mask;\n"
    "    each { if a < 250 && b > 3 && e == 1 && f != 2 && g > 99 {\n"
    "        if wanted[a] && bytes[b] < 30 && p > 2000 && q % 11 != 3 && s > 99 && wanted[b] { n += row * 3 + c; by[d & 7] += a; "
    "hit = true; } } } }\n";

static uint32_t a[ROWS], g[ROWS];
static uint16_t b[ROWS], p[ROWS];
static uint8_t e[ROWS], f[ROWS];
static int64_t c[ROWS], d[ROWS], q[ROWS], s[ROWS];
static uint8_t wanted[(VALUES + 7) / 8], bytes[FEW];

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static const char *device_name = "emu";

static bool is_wanted(uint32_t value) { return wanted[value / 8] >> value % 8 & 1; }

static void make_rows(unsigned values) {
    uint32_t state = 1;
    for (unsigned r = 0; r < ROWS; r++) {
        state = state * 1664525u + 1013904223u;
        a[r] = (state >> 8) % values;
        b[r] = (uint16_t)((state >> 3) % FEW);
        c[r] = (int64_t)(state >> 4) - 70000000;
        e[r] = (uint8_t)(state >> 21 & 1);
        f[r] = (uint8_t)(state >> 12 & 3);
        g[r] = state;
        p[r] = (uint16_t)(state >> 15);
        q[r] = (int64_t)(state >> 7) - 1000;
        s[r] = (int64_t)(state >> 18);
        d[r] = (r > 0 ? d[r - 1] : 0) + (int64_t)(state >> 30);
    }
}

static void make_inputs(unsigned one_in) {
    memset(wanted, 0, sizeof wanted);
    for (unsigned v = 0; v < VALUES; v++)
        if (v % one_in == 0) wanted[v / 8] |= (uint8_t)(1 << v % 8);
    for (unsigned v = 0; v < FEW; v++) bytes[v] = (uint8_t)(v * 7 % 40);
}

static bool counts(bool scans, uint64_t row) {
    if (scans && (a[row] >= 250 || b[row] <= 3 || e[row] != 1 || f[row] == 2 || g[row] <= 99)) return false;
    return is_wanted(a[row]) && bytes[b[row]] < 30 && p[row] > 2000 && q[row] % 11 != 3 && s[row] > 99 && is_wanted(b[row]);
}

static void check(bool scans, uint64_t begin, uint64_t end, const zf_query_answers *answers, const char *where) {
    int64_t n = 0, by[GROUPS] = {0};
    uint64_t wrong = UINT64_MAX;
    for (uint64_t row = begin; row < end; row++) {
        bool hit = counts(scans, row);
        if (wrong == UINT64_MAX && answers->items[2].words[row - begin] != hit) wrong = row;
        if (!hit) continue;
        n += (int64_t)row * 3 + c[row];
        by[d[row] & 7] += a[row];
    }
    CHECK((int64_t)answers->items[0].words[0] == n, "%s: n is %lld, not %lld", where, (long long)answers->items[0].words[0],
          (long long)n);
    for (unsigned k = 0; k < GROUPS; k++)
        CHECK((int64_t)answers->items[1].words[k] == by[k], "%s: group %u has %lld, not %lld", where, k,
              (long long)answers->items[1].words[k], (long long)by[k]);
    CHECK(wrong == UINT64_MAX, "%s: the bit of row %llu", where, (ull)wrong);
}

static void run(zf_container *container, const char *name, uint64_t begin, uint64_t end, uint64_t blocks, const char *what) {
    zf_query_array arrays[] = {{.name = "wanted", .values = wanted, .bytes = sizeof wanted},
                               {.name = "bytes", .values = bytes, .bytes = sizeof bytes}};
    zf_query_request request = {.arrays = arrays,
                                .array_count = 2,
                                .some_rows = true,
                                .row_begin = begin,
                                .row_count = end - begin,
                                .threads = 1,
                                .device = device_name,
                                .thread_blocks = blocks};
    zf_query_answers answers;
    zf_error error = {0};
    char where[160];
    snprintf(where, sizeof where, "%s, %s, rows %llu to %llu, %llu thread blocks", what, name, (ull)begin, (ull)end, (ull)blocks);
    demand(zf_query_run_once(program, name, container, &request, &answers, &error), &error);
    CHECK(answers.device.fused == (name[0] == 's' ? 9 : 6), "%s: %u fused columns", where, answers.device.fused);
    check(name[0] == 's', begin, end, &answers, where);
    zf_query_answers_free(&answers);
}

static void try_blocks(unsigned values, uint64_t rows_per_block, const char *what) {
    zf_error error = {0};
    zf_container *container = NULL;
    make_rows(values);
    zf_encode_column columns[] = {{.name = "a", .values = a}, {.name = "b", .values = b}, {.name = "c", .values = c},
                                  {.name = "d", .values = d}, {.name = "e", .values = e}, {.name = "f", .values = f},
                                  {.name = "g", .values = g}, {.name = "p", .values = p}, {.name = "q", .values = q},
                                  {.name = "s", .values = s}};
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = rows_per_block, .overwrite = true};
    demand(zf_encode(program, "t", columns, 10, ROWS, &options, place("t.zfd"), NULL, &error), &error);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    static const unsigned one_in[] = {2, 31};
    for (unsigned k = 0; k < 2; k++) {
        make_inputs(one_in[k]);
        run(container, "waits", 0, SOME, 1, what);
        run(container, "scans", 0, SOME, 1, what);
    }
    run(container, "waits", 0, ROWS, 1, what);
    run(container, "waits", 1000, SOME - 5000, 2, what);
    run(container, "waits", 3 * TILE, 5 * TILE, 0, what);
    static const unsigned tiles[] = {1, WARPS - 1, WARPS, WARPS + 1, 2 * WARPS - 1, 2 * WARPS + 1};
    for (unsigned k = 0; k < sizeof tiles / sizeof *tiles; k++) run(container, "waits", 0, (uint64_t)tiles[k] * TILE, 1, what);
    if (rows_per_block > ROUND * TILE / 2) // none is left for a last round, or a warp's only
        for (unsigned more = 0; more < 2; more++) run(container, "waits", 0, (uint64_t)(ROUND + more) * TILE, 1, what);
    zf_container_close(container);
}

// The first queue of a condition has room for 256 rows that come at once, others for 64, and each for 64 that wait: 8 warps, two
// bytes a row. A query has three at most, and none where rows must keep their order.
static void count_queues(void) {
    enum { FIRST = 8 * (256 + 64) * 2, OTHER = 8 * (64 + 64) * 2 };
    static const struct {
        const char *each;
        uint32_t bytes;
        const char *result; // one more
    } cases[] = {{"n += a;", 0, ""},
                 {"if a > 3 { n += a; }", FIRST, ""},
                 {"if a > 3 && b > 3 { n += a; }", FIRST, ""},
                 {"if bits[a] { n += a; }", FIRST, ""},
                 {"if a > 3 && bits[b] { n += a; }", FIRST + OTHER, ""},
                 {"if bits[a] && b > 3 && bits[b] { n += a; }", FIRST + OTHER, ""},
                 {"if bits[a] && bits[b] && bits[a + 1] && bits[b + 1] { n += a; }", FIRST + 2 * OTHER, ""},
                 {"if bits[a] { n += a; } if bits[b] && a > 1 { n += b; }", 2 * FIRST, ""},
                 {"if bits[a] { n += a; } else { n += b; }", 0, ""},
                 {"if bits[a] { hit = true; } if bits[b] { hit = false; }", 0, ""},
                 {"if bits[a] { x += 1.0; }", 0, "result x: f64 = sum;"},
                 {"if bits[a] { select id = a; }", 0, "result id: i64 = select;"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *whole = NULL;
        zf_program *one = NULL;
        zf_error error = {0};
        if (asprintf(&whole,
                     "table t { a: u32 = bitpack; b: u16 = bitpack; } query q(t) { input bits: bool[]; result n: i64 = sum; "
                     "result hit: bool = mask; %s each { %s } }",
                     cases[k].result, cases[k].each) < 0)
            exit(2);
        demand(zf_program_load_text(compiler, "q.zf", whole, strlen(whole), &one, &error), &error);
        const zf_query *query = zf_spec_find_query(zf_program_spec(one), "q");
        uint32_t have = zf_codegen_query_queues(query, WARPS), large = zf_codegen_query_queues(query, ZF_QUERY_LARGE_WARPS);
        CHECK(have == cases[k].bytes && large * WARPS == have * ZF_QUERY_LARGE_WARPS, "%s: %u and %u bytes of queues",
              cases[k].each, have, large);
        zf_program_free(one);
        free(whole);
    }
}

int main(void) {
    zf_error error = {0};
    if (getenv("ZF_TEST_DEVICE") != NULL) device_name = getenv("ZF_TEST_DEVICE");
    if (!scratch_begin("query-stretches")) return 1;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    demand(zf_program_load_text(compiler, "t.zf", text, strlen(text), &program, &error), &error);
    count_queues();
    try_blocks(VALUES, TILE, "blocks of a tile");
    try_blocks(VALUES, 3 * TILE, "blocks of three tiles");
    try_blocks(256, 50 * TILE, "blocks of fifty tiles, whole words");
    try_blocks(VALUES, ROWS / TILE * TILE + TILE, "one block");
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

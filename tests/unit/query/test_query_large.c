// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Queries whose inputs lie in the shared memory of large thread blocks: which form of the kernel runs, by the lengths of inputs,
// the rows and the thread blocks, and that results and errors are those of the CPU.
// ZF_TEST_DEVICE names another device in place of the emulated GPU.
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen_query.h"
#include "compiler/program.h"
#include "compiler/query/query_prepared.h"
#include "emulator/emu.h"
#include "runtime/device/accelerator.h"
#include "tests/support/demand.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum {
    LARGE = ZF_QUERY_LARGE_WARPS,
    ROWS = 500000,
    GROUPS = 40,
    BYTES_MOST = ZF_EMU_SHARED_MOST,
    TINY = 16,
    FEW = 112,
    MANY = 60000
};

static const char *const text =
    "table t { a: u32 = bitpack; b: u32 = bitpack; g: u8 = bitpack; v: i64 = bitpack; }\n"
    "query looks(t) { param keys: u32; param others: u32; input first: bool[]; input second: bool[];\n"
    "    result n: i64 = sum; result by: i64[40] = sum; result least: i64 = min; result most: i64 = max; result mixed: u64 = "
    "xor;\n"
    "    result some: bool = any; result every: bool = all; result low: i64[40] = min; result hit: bool = mask;\n"
    "    each { every = every && v >= 0; if first[a % keys] && v > 3 && second[b % others] {\n"
    "        n += v * row; by[g] += v - 400; least = min(least, v + a); most = max(most, v + b); mixed ^= row as u64 * 7919;\n"
    "        some = some || a == b; low[g] = min(low[g], a); hit = true; } } }\n"
    "query bytes(t) { param keys: u32; param others: u32; input first: u8[]; input second: bool[]; result n: i64 = sum;\n"
    "    each { if first[a % keys] < 100 && second[b % others] { n += v; } } }\n"
    "query chosen(t) { param keys: u32; param others: u32; input first: bool[]; input second: bool[]; result id: i64 = select;\n"
    "    each { if first[a % keys] && second[b % others] && v == 9 { select id = row; } } }\n"
    "query scans(t) { param keys: u32; param others: u32; input first: bool[]; input second: bool[]; result n: i64 = sum;\n"
    "    result by: i64[40] = sum; each { n += v; by[g] += keys + others; } }\n"
    "query unread(t) { param keys: u32; param others: u32; input first: bool[]; input second: bool[]; result n: i64 = sum;\n"
    "    each { if a < keys && second[b % others] { n += v; } } }\n";

static uint32_t a[ROWS], b[ROWS];
static uint8_t g[ROWS], inputs[2][BYTES_MOST + 64];
static int64_t v[ROWS];

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static zf_container *container;
static const char *device_name = "emu";
static zf_multiprocessor_facts facts;

static void make(void) {
    uint32_t state = 1;
    for (unsigned r = 0; r < ROWS; r++) {
        state = state * 1664525u + 1013904223u;
        a[r] = state >> 11;
        b[r] = (state ^ state << 13) >> 10;
        g[r] = (uint8_t)((state >> 9) % GROUPS);
        v[r] = (int64_t)(state >> 22);
    }
    for (size_t k = 0; k < sizeof inputs; k++) {
        state = state * 1664525u + 1013904223u;
        ((uint8_t *)inputs)[k] = (uint8_t)(state >> 24);
    }
}

static void begin(void) {
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    demand(zf_program_load_text(compiler, "t.zf", text, strlen(text), &program, &error), &error);
    zf_encode_column columns[] = {
        {.name = "a", .values = a}, {.name = "b", .values = b}, {.name = "g", .values = g}, {.name = "v", .values = v}};
    zf_encode_options encode = {ZF_INIT(zf_encode_options), .rows_per_block = 102400, .overwrite = true};
    demand(zf_encode(program, "t", columns, 4, ROWS, &encode, place("t.zfd"), NULL, &error), &error);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
    zf_device found;
    zf_accelerator *device = NULL;
    demand(zf_device_find(context, device_name, &found, &error), &error);
    demand(zf_device_accelerator(context, &found, &device, &error), &error);
    demand(device->ops->multiprocessor_facts(device, &facts, &error), &error);
}

// Bytes of both inputs, FEW those of the second, that all thread blocks may copy, a thread block each multiprocessor.
static uint32_t most_copied(void) { return ROWS / 2 / facts.count / 16 * 16; }
static bool is_some(uint32_t bytes) { return bytes > 48 << 10; } // a GPU with many multiprocessors wants more rows

// ---- One run on the CPU and on the emulated GPU ---------------------------------------------------------------

typedef struct trial {
    const char *what, *query;
    uint32_t bytes[2]; ///< of the inputs
    uint32_t warps;    ///< expected, of a thread block
    uint32_t shared;   ///< expected, bytes of inputs in its shared memory
    uint64_t begin, end, blocks;
    uint64_t unit;   ///< not 0: columns come in units of so many bytes
    uint32_t forced; ///< warps that the request says
    bool decoded;
} trial;

typedef struct given {
    zf_query_param params[2];
    zf_query_array arrays[2];
} given;

static given given_of(const char *query, const uint32_t *bytes) {
    uint64_t each = strcmp(query, "bytes") == 0 ? 1 : 8;
    return (given){.params = {{.name = "keys", .bits = bytes[0] * each}, {.name = "others", .bits = (uint64_t)bytes[1] * 8}},
                   .arrays = {{.name = "first", .values = inputs[0], .bytes = bytes[0]},
                              {.name = "second", .values = inputs[1], .bytes = bytes[1]}}};
}

static zf_status run(const trial *t, const char *device, const given *with, zf_query_answers *out, zf_error *error) {
    zf_query_request request = {.params = with->params,
                                .param_count = 2,
                                .arrays = with->arrays,
                                .array_count = 2,
                                .some_rows = t->end != 0,
                                .row_begin = t->begin,
                                .row_count = t->end - t->begin,
                                .threads = 1,
                                .device = device,
                                .decode_first = t->decoded,
                                .from_host = t->unit != 0,
                                .unit_bytes = t->unit,
                                .thread_blocks = t->blocks,
                                .warps = t->forced};
    return zf_query_run_once(program, t->query, container, &request, out, error);
}

static void compare(const char *what, const zf_query_answers *cpu, const zf_query_answers *gpu) {
    for (size_t k = 0; k < cpu->count; k++) {
        const zf_query_answer *is = &gpu->items[k], *wanted = &cpu->items[k];
        bool same = is->count == wanted->count && memcmp(is->words, wanted->words, is->count * sizeof *is->words) == 0;
        bool extreme = is->kind == ZF_Q_MIN || is->kind == ZF_Q_MAX;
        same = same && (!extreme || memcmp(is->touched, wanted->touched, is->count) == 0);
        CHECK(same, "%s: `%s` is not that of the CPU", what, is->name);
    }
}

static void try_one(const trial *t) {
    zf_query_answers cpu = {0}, gpu = {0};
    zf_error error = {0};
    given with = given_of(t->query, t->bytes);
    demand(run(t, NULL, &with, &cpu, &error), &error);
    demand(run(t, device_name, &with, &gpu, &error), &error);
    CHECK(gpu.device.warps == t->warps && gpu.device.shared_bytes == t->shared, "%s: %u warps and %llu bytes, not %u and %u",
          t->what, gpu.device.warps, (ull)gpu.device.shared_bytes, t->warps, t->shared);
    CHECK(t->unit == 1 || gpu.device.launches == 1, "%s: %llu launches", t->what, (ull)gpu.device.launches);
    compare(t->what, &cpu, &gpu);
    zf_query_answers_free(&cpu);
    zf_query_answers_free(&gpu);
}

// The longest first input of `looks` that lies in a thread block beside a second one of TINY bytes: a multiple of 16 bytes. Each
// has up to 16 bytes more, and so has the sum of 40 groups; each warp has a number.
static uint32_t longest(uint32_t most, uint32_t warps) {
    const zf_query *query = zf_spec_find_query(zf_program_spec(program), "looks");
    return (most - 8 * warps - zf_codegen_query_queues(query, warps) - (GROUPS * 8 + 16) - (TINY + 16) - 16) / 16 * 16;
}

static void try_lengths(void) {
    uint32_t s = longest(48 << 10, ZF_QUERY_WARPS), l = longest(facts.block_shared, LARGE), none = l + TINY + 16 + 1,
             stays = FEW - TINY;
    const trial trials[] = {
        {"both fit", "looks", {s, TINY}, 8, s + TINY, .blocks = 1},
        {"the second does not", "looks", {s + 1, TINY}, LARGE, s + 16 + TINY, .blocks = 1},
        {"both fit a large block", "looks", {l, TINY}, LARGE, l + TINY, .blocks = 1},
        {"the first alone", "looks", {l, MANY}, LARGE, l, .blocks = 1},
        {"the first does not", "looks", {l + 1, TINY}, 8, TINY, .blocks = 1},
        {"the second alone", "looks", {none, MANY}, LARGE, MANY, .blocks = 1},
        {"beside a small one", "looks", {l - stays, FEW}, LARGE, l - stays + FEW, .blocks = 1},
        {"a small one stays", "looks", {l - stays + 1, FEW}, 8, FEW, .blocks = 1},
        {"bytes, not bits", "bytes", {MANY, TINY}, 8, TINY, .blocks = 1},
        {"bytes and bits", "bytes", {MANY, MANY}, LARGE, 2 * MANY, .blocks = 1},
        {"bits before bytes", "bytes", {l, MANY}, LARGE, MANY, .blocks = 1},
        {"bits alone that no statement reads", "unread", {MANY, TINY}, 8, TINY, .blocks = 1},
        {"bits beside some that no statement reads", "unread", {MANY, MANY}, LARGE, MANY, .blocks = 1},
        {"rows that are selected", "chosen", {MANY, FEW}, 8, FEW, .blocks = 1},
    };
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) try_one(&trials[k]);
}

// Half as many bytes as the launch has rows may be copied, by all thread blocks together.
static void try_rows(void) {
    enum { BOTH = MANY + FEW };
    uint32_t all = most_copied();
    const trial trials[] = {
        {"as many rows as must be", "looks", {MANY, FEW}, LARGE, BOTH, .begin = 12345, .end = 12345 + 2 * BOTH, .blocks = 1},
        {"a row less", "looks", {MANY, FEW}, 8, FEW, .begin = 12345, .end = 12345 + 2 * BOTH - 1, .blocks = 1},
        {"two blocks", "looks", {MANY, FEW}, LARGE, BOTH, .begin = 7, .end = ROWS - 4001, .blocks = 2},
        {"one block, blocks decoded", "looks", {MANY, FEW}, LARGE, BOTH, .blocks = 1, .decoded = true},
        {"as many blocks as there are", "looks", {all - FEW, FEW}, LARGE, all, .blocks = 0},
        {"a byte more", "looks", {all - FEW + 1, FEW}, 8, FEW, .blocks = 0},
        {"one unit", "looks", {MANY, FEW}, LARGE, BOTH, .blocks = 1, .unit = 64 << 20},
        {"many units", "looks", {MANY, FEW}, 8, FEW, .blocks = 1, .unit = 1},
        {"few rows", "looks", {FEW, TINY}, LARGE, FEW + TINY, .begin = 2000, .end = 70000, .forced = LARGE},
        {"bytes that would be many", "bytes", {MANY, MANY}, LARGE, MANY, .begin = 3, .end = 3 + 4 * MANY - 1, .blocks = 1},
        {"no lookup", "scans", {FEW, TINY}, LARGE, 0, .begin = 100, .end = 300000, .forced = LARGE},
    };
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++)
        if (trials[k].blocks != 0 || trials[k].forced != 0 || is_some(all)) try_one(&trials[k]);
}

// A lookup behind an input's end is the CPU's error.
static void fail(void) {
    static const uint32_t bytes[2] = {MANY, FEW};
    const trial t = {.what = "an input that is too short", .query = "looks", .blocks = 1};
    zf_query_answers cpu = {0}, gpu = {0};
    zf_error wanted = {0}, error = {0};
    given with = given_of(t.query, bytes);
    with.params[0].bits += 3;
    CHECK(run(&t, NULL, &with, &cpu, &wanted) != ZF_OK, "no error");
    CHECK(run(&t, device_name, &with, &gpu, &error) != ZF_OK && strcmp(error.message, wanted.message) == 0, "%s, not %s",
          error.message, wanted.message);
    zf_query_answers_free(&cpu);
    zf_query_answers_free(&gpu);
}

// ---- Runs of a prepared query ---------------------------------------------------------------------------------

static void take(zf_prepared_query *query, size_t result, void *values, void *validity) {
    zf_error error = {0};
    zf_query_sizes sizes = {ZF_INIT(zf_query_sizes)};
    demand(zf_query_result_size(query, result, &sizes, &error), &error);
    zf_query_buffers buffers = {ZF_INIT(zf_query_buffers), .values = values, .validity = validity, .values_bytes = sizes.values,
                                .validity_bytes = sizes.validity};
    demand(zf_query_take(query, result, &buffers, NULL, &error), &error);
}

// Inputs grow and shrink, and with them the form changes, and goes back.
static void prepare(void) {
    const uint32_t all = most_copied() - FEW, lengths[] = {FEW, all, MANY, all + 1, FEW, all},
                   warps[] = {8, LARGE, LARGE, 8, 8, LARGE};
    static _Alignas(8) uint8_t values[2][ROWS], validity[2][64];
    zf_prepared_query *queries[2];
    zf_error error = {0};
    for (unsigned k = 0; k < 2; k++) {
        zf_query_options options = {ZF_INIT(zf_query_options), .device = k == 0 ? NULL : device_name, .threads = 1};
        demand(zf_query_prepare(program, "looks", container, &options, &queries[k], &error), &error);
    }
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        given with = given_of("looks", (const uint32_t[]){lengths[i], FEW});
        for (unsigned k = 0; k < 2; k++) demand(zf_query_run(queries[k], with.params, 2, with.arrays, 2, NULL, &error), &error);
        uint32_t is = queries[1]->answers.device.warps;
        CHECK(is == (is_some(all) ? warps[i] : 8), "run %u: %u warps", i, is);
        for (size_t result = 0; result < zf_query_members(queries[0], ZF_QUERY_RESULT); result++) {
            memset(values, 0, sizeof values);
            memset(validity, 0, sizeof validity);
            for (unsigned k = 0; k < 2; k++) take(queries[k], result, values[k], validity[k]);
            bool same = memcmp(values[0], values[1], ROWS) == 0 && memcmp(validity[0], validity[1], sizeof validity[0]) == 0;
            CHECK(same, "run %u: result %zu", i, result);
        }
    }
    for (unsigned k = 0; k < 2; k++) zf_query_free(queries[k]);
}

int main(void) {
    if (!scratch_begin("query-large")) return 1;
    if (getenv("ZF_TEST_DEVICE") != NULL) device_name = getenv("ZF_TEST_DEVICE");
    make();
    begin();
    CHECK(facts.block_shared <= BYTES_MOST, "%u bytes", facts.block_shared);
    if (facts.block_shared < 160 << 10) { // such as an L40: MANY bytes and more do not fit
        scratch_remove(scratch);
        puts("skipped: thread blocks of this device have too little shared memory");
        return 77;
    }
    try_lengths();
    try_rows();
    fail();
    prepare();
    zf_program_free(program);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Queries on several threads of a CPU, which give what one thread does, bit for bit: all kinds of results over several batches,
// ranges of rows, the first row that fails, and second values of a `set` that different threads give.
#include <stdlib.h>
#include <string.h>

#include "compiler/query/query.h"
#include "tests/support/demand.h"
#include "tests/support/scratch_directory.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { ROWS = 300001 }; // three batches

static const char *const text =
    "table t { v: i64 = bitpack; x: f64 = plain; }\n"
    "query kinds(t) { result n: i64[16] = sum; result f: f64[3] = sum; result low: i64[5] = min; result high: u64 = max;\n"
    "    result least: f64[2] = min; result most: f64 = max; result mixed: u64 = xor; result some: bool[64] = any;\n"
    "    result every: bool[64] = all; result code: i32[64] = set; result hit: bool = mask; result id: u64 = select;\n"
    "    each { n[v & 15] += v; f[row % 3] += x; low[row % 5] = min(low[row % 5], v); high = max(high, v as u64);\n"
    "        least[row & 1] = min(least[row & 1], x); most = max(most, x * 2.0); mixed ^= (v * row) as u64;\n"
    "        some[row >> 13] = some[row >> 13] || v == 77; every[row >> 13] = every[row >> 13] && (v != 33 || row > 200000);\n"
    "        if row % 4999 == 7 { code[row / 4999] = v as i32; } hit = v > 500; if v % 97 == 3 { select id = row as u64; } } }\n"
    "query twice(t) { param first: i64; param second: i64; result code: u8[4] = set;\n"
    "    each { if row == first || row == second { code[2] = 9; } } }\n"
    "query both(t) { result code: u8[4] = set; result n: i64 = sum;\n"
    "    each { if row == 40 || row == 250000 { code[1] = 1; } n += 5 / (row - 260000); } }\n"
    "query fails(t) { param at: i64; result n: i64 = sum; each { n += 7 / (row - at); if row > at { n += 1 / (v - v); } } }\n";

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;
static zf_container *container;

static void begin(void) {
    static int64_t v[ROWS];
    static double x[ROWS];
    zf_error error = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error), &error);
    demand(zf_compiler_create(context, &options, &compiler, &error), &error);
    demand(zf_program_load_text(compiler, "t.zf", text, strlen(text), &program, &error), &error);
    for (unsigned r = 0; r < ROWS; r++) {
        v[r] = (int64_t)(r * 2654435761u >> 22);
        x[r] = r % 4001 == 9 ? -0.0 : (double)(int)(r * 40503u) / 3e7;
    }
    zf_encode_column columns[] = {{.name = "v", .values = v}, {.name = "x", .values = x}};
    zf_encode_options encode = {ZF_INIT(zf_encode_options), .rows_per_block = 10000, .overwrite = true};
    demand(zf_encode(program, "t", columns, 2, ROWS, &encode, place("t.zfd"), NULL, &error), &error);
    demand(zf_container_open(context, place("t.zfd"), &container, &error), &error);
}

static void end(void) {
    zf_container_close(container);
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

typedef struct ran {
    zf_status status;
    zf_query_answers answers;
    zf_error error;
} ran;

static ran run(const char *name, zf_query_request request, unsigned threads) {
    ran result = {0};
    request.threads = threads;
    result.status = zf_query_run_once(program, name, container, &request, &result.answers, &result.error);
    return result;
}

static void same(const ran *a, const ran *b, const char *where) {
    CHECK(a->answers.count == b->answers.count && a->answers.rows == b->answers.rows, "%s: results", where);
    for (size_t k = 0; k < a->answers.count && k < b->answers.count; k++) {
        const zf_query_answer *one = &a->answers.items[k], *other = &b->answers.items[k];
        bool equal = one->count == other->count && memcmp(one->words, other->words, one->count * sizeof *one->words) == 0;
        bool given = one->kind == ZF_Q_MIN || one->kind == ZF_Q_MAX || one->kind == ZF_Q_SET;
        for (uint64_t e = 0; equal && given && e < one->count; e++) equal = !one->touched[e] == !other->touched[e];
        CHECK(equal, "%s: %s", where, one->name);
    }
}

static const unsigned numbers[] = {2, 3, 7, 64};

static void give_the_same(void) {
    static const uint64_t ranges[][2] = {{0, ROWS}, {0, 1}, {777, 1000}, {131000, 100}, {131072, 131072}, {5, 0}, {999, 200001}};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        zf_query_request request = {.some_rows = true, .row_begin = ranges[k][0], .row_count = ranges[k][1]};
        ran alone = run("kinds", request, 1);
        CHECK(alone.status == ZF_OK, "%s", alone.error.message);
        for (size_t t = 0; t < sizeof numbers / sizeof *numbers; t++) {
            char where[80];
            ran several = run("kinds", request, numbers[t]);
            snprintf(where, sizeof where, "rows from %llu, %u threads", (ull)ranges[k][0], numbers[t]);
            CHECK(several.status == ZF_OK, "%s: %s", where, several.error.message);
            if (several.status == ZF_OK) same(&several, &alone, where);
            zf_query_answers_free(&several.answers);
        }
        zf_query_answers_free(&alone.answers);
    }
}

static void fails_at(const char *name, const zf_query_param *params, size_t count, const char *code, ull row) {
    zf_query_request request = {.params = params, .param_count = count};
    for (size_t t = 0; t <= sizeof numbers / sizeof *numbers; t++) {
        char begins[40];
        ran result = run(name, request, t == 0 ? 1 : numbers[t - 1]);
        snprintf(begins, sizeof begins, "row %llu,", row);
        CHECK(result.status == ZF_ERR_INPUT && strstr(result.error.message, code) != NULL &&
                  strncmp(result.error.place, begins, strlen(begins)) == 0,
              "%s, wanted %s at row %llu: status %d, %s, %s", name, code, row, result.status, result.error.message,
              result.error.place);
        zf_query_answers_free(&result.answers);
    }
}

static void fail(void) {
    static const ull pairs[][2] = {{3, 5}, {3, 60000}, {60000, 120000}, {10, 300000}, {131071, 131072}, {0, 262144}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        zf_query_param params[] = {{.name = "first", .bits = pairs[k][0]}, {.name = "second", .bits = pairs[k][1]}};
        fails_at("twice", params, 2, "V28", pairs[k][1]);
    }
    fails_at("both", NULL, 0, "V28", 250000);
    static const ull rows[] = {0, 1023, 60000, 131072, 262143, 300000};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        fails_at("fails", &(zf_query_param){.name = "at", .bits = rows[k]}, 1, "V07", rows[k]);
    zf_query_param once[] = {{.name = "first", .bits = 9}, {.name = "second", .bits = 9}};
    ran good = run("twice", (zf_query_request){.params = once, .param_count = 2}, 3);
    CHECK(good.status == ZF_OK && good.answers.items[0].words[2] == 9, "a set by one row: %s", good.error.message);
    zf_query_answers_free(&good.answers);
}

int main(void) {
    if (!scratch_begin("query-threads")) return 1;
    begin();
    give_the_same();
    fail();
    end();
    scratch_remove(scratch);
    return check_result();
}

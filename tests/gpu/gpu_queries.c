// Random queries over random tables, whose columns have random codecs, and over pairs: a device gives the results of a CPU bit
// for bit, or the same error. Whole tables, ranges of rows, no rows; blocks of several lengths.
//   gpu_queries [--device NAME] [--seed N] [--count N] [--pairs-alone 1] [--briefly 1]
// `--briefly` runs each program of a table in one of four ways, and few pairs: for many programs on a GPU, where code for a run
// takes most of the time.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen_query.h"
#include "compiler/program.h"
#include "compiler/query/query.h"
#include "tests/differential/diff_queries.h"
#include "tests/gpu/gpu_machine.h"
#include "tests/gpu/square_queries.h"
#include "tests/unit/check.h"
#include "zipflow/emulator.h"

typedef unsigned long long ull;

typedef struct machine {
    zf_context *context;
    zf_compiler *compiler;
    const char *device;
    char path[64]; ///< of the container
    bool briefly;  ///< a table is queried once, and few pairs are
} machine;

typedef struct totals {
    unsigned run, failed, loaded, refused, fused, launches, units, large; ///< loaded: random programs, refused ones too
    unsigned pairs_run, pairs_failed, squares_run, squares_failed;        ///< of them
    unsigned terms[4]; ///< of those that gave results, the runs of each condition of try_terms
    unsigned long long pairs, squares;
} totals;

static diff_query_stream rows[DIFF_QUERY_COLUMNS], inputs[2];

static const zf_column *column_of(const zf_spec *spec, uint32_t number) {
    const zf_column *column = zf_spec_tables(spec)->columns;
    while (number-- > 0) column = column->next;
    return column;
}

static zf_status encode(const machine *m, zf_program *program, uint64_t count, zf_error *error) {
    static const uint64_t lengths[] = {1024, 2048, 4096, 3000, 0};
    zf_encode_column columns[DIFF_QUERY_COLUMNS];
    const zf_spec *spec = zf_program_spec(program);
    for (uint32_t c = 0; c < DIFF_QUERY_COLUMNS; c++) {
        zf_type type = column_of(spec, c)->type;
        const void *values = type.kind == ZF_K_STRING ? (const void *)rows[c].text
                             : type.kind == ZF_K_BOOL ? (const void *)rows[c].bytes
                                                      : rows[c].values;
        columns[c] = (zf_encode_column){.name = column_of(spec, c)->name, .values = values};
        if (type.kind == ZF_K_STRING) columns[c].offsets = rows[c].offsets;
        if (type.nullable) columns[c].validity = rows[c].valid;
    }
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = lengths[diff_query_below(5)], .overwrite = true,
                                 .threads = 1, .zones = diff_query_below(2) == 0};
    return zf_encode(program, "t", columns, DIFF_QUERY_COLUMNS, count, &options, m->path, NULL, error);
}

static bool same_answer(const zf_query_answer *a, const zf_query_answer *b, const char *where) {
    bool same = a->count == b->count && (a->touched == NULL) == (b->touched == NULL);
    CHECK(same, "%s: %s has %llu elements, %llu on a CPU", where, a->name, (ull)a->count, (ull)b->count);
    bool given = a->kind == ZF_Q_MIN || a->kind == ZF_Q_MAX || a->kind == ZF_Q_SET;
    for (uint64_t k = 0; same && k < a->count; k++) {
        same = a->words[k] == b->words[k] && (!given || !a->touched[k] == !b->touched[k]);
        CHECK(same, "%s: %s, element %llu: %llx, %llx on a CPU", where, a->name, (ull)k, (ull)a->words[k], (ull)b->words[k]);
    }
    return same;
}

// A run of the query.
typedef struct ran {
    zf_status status;
    zf_query_answers answers;
    zf_error error;
} ran;

static void run(zf_program *program, zf_container *container, const zf_query_request *request, ran *out) {
    out->status = zf_query_run_once(program, "random", container, request, &out->answers, &out->error);
}

static bool same(const ran *one, const ran *cpu, const char *where) {
    CHECK(one->status == cpu->status, "%s: status %d, %d on a CPU: %s", where, one->status, cpu->status,
          one->status != ZF_OK ? one->error.message : cpu->error.message);
    if (one->status != cpu->status) return false;
    if (cpu->status != ZF_OK)
        CHECK(strcmp(one->error.message, cpu->error.message) == 0 && strcmp(one->error.place, cpu->error.place) == 0,
              "%s: \"%s\" at %s, on a CPU \"%s\" at %s", where, one->error.message, one->error.place, cpu->error.message,
              cpu->error.place);
    if (cpu->status != ZF_OK) return false;
    const zf_query_answers *a = &one->answers, *b = &cpu->answers;
    CHECK(a->count == b->count && a->rows == b->rows, "%s: other results", where);
    for (size_t k = 0; k < a->count && k < b->count; k++)
        if (!same_answer(&a->items[k], &b->items[k], where)) break;
    return true;
}

// One thread of a CPU, several, and the device.
static void compare(machine *m, zf_program *program, zf_container *container, zf_query_request *request, const char *where,
                    totals *t) {
    static ran cpu, threads, device;
    request->device = NULL;
    request->no_skip = true;
    request->threads = 1;
    run(program, container, request, &cpu);
    request->threads = 2 + diff_query_below(6);
    run(program, container, request, &threads);
    request->device = m->device;
    request->no_skip = false;
    request->threads = 1;
    run(program, container, request, &device);
    t->run++;
    t->failed += cpu.status != ZF_OK;
    char more[128];
    snprintf(more, sizeof more, "%s, several threads", where);
    same(&threads, &cpu, more);
    if (same(&device, &cpu, where)) {
        t->fused += device.answers.device.fused;
        t->large += device.answers.device.warps == ZF_QUERY_LARGE_WARPS;
        t->launches += (unsigned)device.answers.device.launches;
        t->units += (unsigned)(request->from_host ? device.answers.device.units : 0);
        if (container == NULL) t->pairs += device.answers.rows;
        t->squares += device.answers.device.squares;
        t->squares_run += device.answers.device.squares > 0;
    }
    zf_query_answers_free(&cpu.answers);
    zf_query_answers_free(&threads.answers);
    zf_query_answers_free(&device.answers);
}

// Params and inputs of a random query.
typedef struct given {
    char p[24], q[24];
    zf_query_param params[2];
    zf_query_array arrays[2];
} given;

static zf_query_request request_of(given *g) {
    snprintf(g->p, sizeof g->p, "%u", diff_query_below(7));
    snprintf(g->q, sizeof g->q, "%u", diff_query_below(256));
    g->params[0] = (zf_query_param){.name = "p", .text = g->p};
    g->params[1] = (zf_query_param){.name = "q", .text = g->q};
    g->arrays[0] = (zf_query_array){.name = "bytes", .values = inputs[0].values, .bytes = DIFF_QUERY_INPUT};
    g->arrays[1] = (zf_query_array){.name = "bits", .values = inputs[1].bits, .bytes = DIFF_QUERY_INPUT / 8};
    return (zf_query_request){.params = g->params, .param_count = 2, .arrays = g->arrays, .array_count = 2, .threads = 1};
}

static void make_inputs(void) {
    diff_query_make(&inputs[0], zf_type_of(ZF_K_U8), DIFF_QUERY_INPUT);
    diff_query_make(&inputs[1], zf_type_of(ZF_K_BOOL), DIFF_QUERY_INPUT);
}

// All ways of running it, or the one of number `turn`.
static void try_table(machine *m, zf_program *program, uint64_t count, unsigned number, unsigned turn, totals *t) {
    const zf_spec *spec = zf_program_spec(program);
    for (uint32_t c = 0; c < DIFF_QUERY_COLUMNS; c++) diff_query_make(&rows[c], column_of(spec, c)->type, count);
    make_inputs();
    zf_error error;
    zf_container *container = NULL;
    zf_status status = encode(m, program, count, &error);
    if (status == ZF_OK) status = zf_container_open_file(m->context, m->path, NULL, &container, &error);
    CHECK(status == ZF_OK, "query %u: %s", number, error.message);
    if (status != ZF_OK) return;
    given g;
    zf_query_request request = request_of(&g);
    for (unsigned range = 0; range < 4; range++) {
        if (m->briefly && range != turn) continue;
        request.some_rows = range > 0;
        request.row_begin = range > 0 ? diff_query_next() % (count + 1) : 0;
        request.row_count = range > 0 ? diff_query_next() % (count - request.row_begin + 1) : 0;
        request.decode_first = range == 2;
        request.thread_blocks = diff_query_below(2); // of one, a warp has several tiles of a long table
        request.from_host = range == 3 || diff_query_below(3) == 0;
        request.unit_bytes = diff_query_below(2) == 0 ? 1 : diff_query_below(20000); // often a block of each column
        request.warps = (number + range) % 3 == 0 ? ZF_QUERY_LARGE_WARPS : 0;
        char where[96];
        snprintf(where, sizeof where, "query %u, %llu rows, range %u", number, (ull)count, range);
        compare(m, program, container, &request, where, t);
    }
    zf_container_close(container);
}

// Loads a random program, which the compiler may refuse for reasons that are known.
static zf_status load_random(const machine *m, const char *what, const char *text, unsigned number, zf_program **out, totals *t) {
    zf_error error;
    zf_status status = zf_program_load_text(m->compiler, "random.zf", text, strlen(text), out, &error);
    t->loaded++;
    t->refused += status != ZF_OK;
    if (status == ZF_OK) return ZF_OK;
    const char *diagnostics = zf_program_diagnostics(*out, ZF_DIAGNOSTICS_LINE);
    CHECK(diff_query_may_refuse(diagnostics), "%s %u: %s", what, number, diagnostics);
    return status;
}

static void try_query(machine *m, unsigned number, totals *t) {
    static const uint64_t counts[] = {0, 1, 1023, 1025, 2047, 2048, 4097, DIFF_QUERY_ROWS, DIFF_QUERY_LONG};
    diff_query_seed(number);
    char *text = diff_query_program(true, diff_query_below(2) == 0, false);
    int before = check_failures;
    zf_program *program = NULL;
    zf_status status = load_random(m, "query", text, number, &program, t);
    if (status == ZF_OK) try_table(m, program, counts[diff_query_below(9)], number, number % 4, t);
    if (check_failures != before) printf("%s\n", text);
    zf_program_free(program);
    free(text);
}

static void compare_pairs(machine *m, zf_program *program, const char *where, totals *t) {
    given g;
    zf_query_request request = request_of(&g);
    unsigned failed = t->failed;
    compare(m, program, NULL, &request, where, t);
    t->pairs_run++;
    t->pairs_failed += t->failed - failed;
}

// Another program: its first ranges are these. It frees `text`.
static char *with_bounds(char *text, const char *bounds) {
    char *begin = strstr(text, " each a "), *body = begin != NULL ? strchr(begin, '{') : NULL, *whole = NULL;
    CHECK(body != NULL, "a program without pairs");
    if (body == NULL) return text;
    *begin = 0;
    if (asprintf(&whole, "%s each %s %s", text, bounds, body) < 0) exit(2);
    free(text);
    return whole;
}

static void try_pairs(machine *m, unsigned number, totals *t) {
    // Triangles, rectangles, first numbers without pairs, and few pairs each.
    static const char *const many[] = {"a in 0..p * 20, b in a..p * 20", "a in max(p - 3, 0)..40, b in 0..q / 2",
                                       "a in 0..300, b in a..10 * p", "a in 5..=20 * p, b in a / 2..=a / 2 + a % 3"};
    diff_query_seed(number);
    char *text = diff_query_program(false, diff_query_below(3) > 0, true);
    if (diff_query_below(2) == 0) text = with_bounds(text, many[diff_query_below(4)]);
    int before = check_failures;
    zf_program *program = NULL;
    zf_status status = load_random(m, "pairs", text, number, &program, t);
    for (unsigned run = 0; status == ZF_OK && run < 3; run++) {
        char where[64];
        snprintf(where, sizeof where, "pairs %u, run %u", number, run);
        make_inputs();
        compare_pairs(m, program, where, t);
    }
    if (check_failures != before) printf("%s\n", text);
    zf_program_free(program);
    free(text);
}

// Sums that squares of pairs make, also over several launches.
static void try_squares(machine *m, unsigned number, totals *t) {
    static const unsigned at_once[] = {0, 0, 1, 5000};
    diff_query_seed(number);
    char *text = square_query_program();
    zf_program *program = NULL;
    zf_error error;
    zf_status status = zf_program_load_text(m->compiler, "squares.zf", text, strlen(text), &program, &error);
    CHECK(status == ZF_OK, "squares %u: %s", number, zf_program_diagnostics(program, ZF_DIAGNOSTICS_LINE));
    int before = check_failures;
    for (unsigned run = 0; status == ZF_OK && run < 3; run++) {
        square_given g;
        char where[64];
        snprintf(where, sizeof where, "squares %u, run %u", number, run);
        square_query_give(text, &g);
        zf_query_request request = {.params = g.params, .param_count = 2, .arrays = g.arrays, .array_count = 3, .threads = 1};
        request.pairs_at_once = at_once[diff_query_below(4)];
        unsigned failed = t->failed;
        compare(m, program, NULL, &request, where, t);
        t->squares_failed += t->failed - failed;
    }
    if (check_failures != before) printf("%s\n", text);
    zf_program_free(program);
    free(text);
}

// Conditions of several terms that leave many rows, or none of most: what waits for others at one term while none come from
// those before.
static void try_terms(machine *m, unsigned number, totals *t) {
    static const char *const conditions[] = {
        "row % 2048 < 32 && bits[b & 7] && bytes[b & 15] < 30", "a < 9 && bits[b & 7] && bytes[b & 15] < 30 && bits[(b + 3) & 7]",
        "row % 3 < 2 && bytes[b & 15] > 2", "s != \"ab\" && bits[b & 7] && !contains(s, \"ba\")"};
    static const char *const bodies[] = {
        "{ n += row; odd[b & 3] ^= w; low[b & 3] = min(low[b & 3], row - a); hit = true; } }\n}\n",
        "{ n += row; hit = true; } if row % 5 == 0 { hit = false; } }\n}\n"}; // of two bits the last one counts
    diff_query_seed(number);
    uint64_t rows_of_table = diff_query_below(3) == 0 ? 4500 : DIFF_QUERY_LONG, range = diff_query_below(4);
    const char *body = bodies[diff_query_below(2)];
    char *text = diff_query_program(true, false, false), *end = strstr(text, " each {"), *whole = NULL;
    CHECK(end != NULL, "a program without rows");
    *end = 0;
    char *codec = strstr(text, " s: string = "),
         *behind = codec != NULL ? strchr(codec, ';') : NULL; // one whose entries are known
    CHECK(behind != NULL, "a program without strings");
    *codec = 0;
    if (asprintf(&whole, "%s s: string = dictionary(bitpack, strings)%s each { if %s %s", text, behind, conditions[number % 4],
                 body) < 0)
        exit(2);
    zf_program *program = NULL;
    zf_error error;
    zf_status status = zf_program_load_text(m->compiler, "terms.zf", whole, strlen(whole), &program, &error);
    CHECK(status == ZF_OK, "%s", zf_program_diagnostics(program, ZF_DIAGNOSTICS_LINE));
    int before = check_failures;
    unsigned good = t->run - t->failed;
    if (status == ZF_OK) try_table(m, program, rows_of_table, number, (unsigned)range, t);
    t->terms[number % 4] += t->run - t->failed - good;
    if (check_failures != before) printf("%s\n", whole);
    zf_program_free(program);
    free(whole);
    free(text);
}

static bool open_machine(machine *m) {
    zf_error error;
    zf_context_options options = {ZF_INIT(zf_context_options), .threads = 2, .cache_dir = ""};
    zf_status status = zf_context_create(&options, &m->context, &error);
    if (status == ZF_OK) status = zf_emulator_register(m->context, &error);
    zf_compiler_options compiling = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    if (status == ZF_OK) status = zf_compiler_create(m->context, &compiling, &m->compiler, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    snprintf(m->path, sizeof m->path, "/tmp/gpu_queries.%d.zfd", (int)getpid());
    return status == ZF_OK;
}

int main(int argc, char **argv) {
    machine m = {.device = "emu"};
    uint64_t first = 1, count = 50, pairs_alone = 0, briefly = 0;
    const gpu_option options[] = {{"device", NULL, &m.device},         {"seed", &first, NULL},      {"count", &count, NULL},
                                  {"pairs-alone", &pairs_alone, NULL}, {"briefly", &briefly, NULL}, {NULL, NULL, NULL}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    totals t = {0};
    m.briefly = briefly != 0;
    bool opened = open_machine(&m);
    for (unsigned k = 0; opened && pairs_alone == 0 && k < 8; k++) try_terms(&m, (unsigned)first + k, &t);
    if (opened)
        for (uint64_t k = 0; k < count && check_failures < 5; k++) {
            if (pairs_alone == 0) try_query(&m, (unsigned)(first + k), &t);
            if (!m.briefly || k % 10 == 0) try_pairs(&m, (unsigned)(first + k), &t);
            if (pairs_alone != 0 || k % (m.briefly ? 30 : 3) == 0) try_squares(&m, (unsigned)(first + k), &t);
        }
    printf("{\"runs\": %u, \"failed_as_on_a_cpu\": %u, \"fused_columns\": %u, \"launches\": %u, \"units_from_host\": %u, "
           "\"large_runs\": %u, "
           "\"programs_refused\": %u, "
           "\"pair_runs\": %u, \"pair_runs_failed\": %u, \"pairs\": %llu, \"squares\": %llu, \"square_runs\": %u, "
           "\"square_runs_failed\": %u}\n",
           t.run, t.failed, t.fused, t.launches, t.units, t.large, t.refused, t.pairs_run, t.pairs_failed, t.pairs, t.squares,
           t.squares_run, t.squares_failed);
    for (unsigned k = 0; opened && pairs_alone == 0 && k < 4; k++) CHECK(t.terms[k] > 0, "condition %u gave no results", k);
    CHECK(t.loaded < 20 || t.refused < 3 * t.loaded / 8, "%u of %u programs were refused", t.refused, t.loaded);
    // Brief runs of other numbers each stand beside others like them: script/gpu-test looks at all of these together.
    uint64_t pairs = m.briefly ? 0 : count, tables = m.briefly || pairs_alone != 0 ? 0 : count;
    CHECK(pairs < 10 || (t.pairs_failed > 0 && t.pairs_failed < t.pairs_run && t.pairs > pairs), "%u of %u runs of pairs failed",
          t.pairs_failed, t.pairs_run);
    CHECK(pairs < 10 || (t.squares_run > pairs / 8 && (pairs < 40 || t.squares_failed > 0)), "squares in %u runs, and %u failed",
          t.squares_run, t.squares_failed);
    CHECK(tables < 10 || t.fused > 0, "no column was fused");
    CHECK(tables < 10 || t.large > 0, "no thread block was large");
    CHECK(tables < 10 || t.units > tables / 6, "columns from the host came in %u units", t.units);
    unlink(m.path);
    zf_compiler_free(m.compiler);
    zf_context_free(m.context);
    return check_result();
}

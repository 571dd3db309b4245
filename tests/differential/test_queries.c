// Random queries over random rows, and over pairs: the interpreter and the code for the CPU, at -O0 and -O3, give the same
// results bit for bit, or stop at the same row for the same violation. Rows that zones exclude change nothing.
//   test_queries [FIRST COUNT]
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen_query.h"
#include "compiler/compiler.h"
#include "compiler/program.h"
#include "compiler/query/query_effect.h"
#include "runtime/container/zone.h"
#include "tests/differential/diff_machine.h"
#include "tests/differential/diff_queries.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { MOST_ROWS = 3000, COLUMNS = DIFF_QUERY_COLUMNS, INPUT = DIFF_QUERY_INPUT, RESULTS = DIFF_QUERY_RESULTS };

// ---- Rows -----------------------------------------------------------------------------------------------------

// A stream for both: the interpreter's, and memory.
typedef struct rows {
    interp_stream *stream;
    diff_query_stream memory;
} rows;

static bool is_valid(const rows *r, uint64_t k) { return r->memory.valid[k / 8] >> k % 8 & 1; }

static void push(rows *r, zf_type type, uint64_t k) {
    const diff_query_stream *m = &r->memory;
    if (!is_valid(r, k)) {
        interp_stream_push_null(r->stream);
    } else if (type.kind == ZF_K_STRING) {
        interp_stream_push_string(r->stream, m->text + m->offsets[k], (uint64_t)(m->offsets[k + 1] - m->offsets[k]));
    } else {
        uint64_t value = 0;
        size_t size = zf_kind_size(type.kind);
        memcpy(&value, (const uint8_t *)m->values + k * size, size);
        interp_stream_push(r->stream, value);
    }
}

static void make_rows(interp *in, rows *r, zf_type type, uint64_t count, zf_query_stream *out) {
    diff_query_make(&r->memory, type, count);
    r->stream = interp_stream_new(in, type);
    for (uint64_t k = 0; k < count; k++) push(r, type, k);
    *out = (zf_query_stream){.values = diff_query_values(&r->memory, type),
                             .validity = r->memory.valid,
                             .offsets = r->memory.offsets,
                             .length = count};
}

// ---- A run of the code ----------------------------------------------------------------------------------------

typedef struct run {
    zf_query_frame frame;
    zf_query_held held[RESULTS];
    zf_query_selected selected;
    uint64_t words[RESULTS][64];
    uint8_t touched[RESULTS][MOST_ROWS];
    double lanes[RESULTS][64 * ZF_QUERY_LANES];
} run;

static double float_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t counted(const zf_query_result *result) {
    uint64_t count = 1;
    for (uint32_t d = 0; d < result->dimensions; d++) count *= result->kind == ZF_Q_SET ? 8 : d == 0 ? 4 : 2;
    return count;
}

static void end_tile(run *r, const zf_query *query) {
    for (uint32_t k = 0; k < query->result_count; k++) {
        if (query->results[k].kind != ZF_Q_SUM || query->results[k].type.kind != ZF_K_F64) continue;
        for (uint64_t at = 0; at < counted(&query->results[k]); at++) {
            double *lanes = &r->lanes[k][at * ZF_QUERY_LANES];
            for (unsigned d = ZF_QUERY_LANES / 2; d > 0; d /= 2)
                for (unsigned l = 0; l < d; l++) lanes[l] += lanes[l + d];
            double sum = float_of(r->words[k][at]) + lanes[0];
            memcpy(&r->words[k][at], &sum, sizeof sum);
            memset(lanes, 0, ZF_QUERY_LANES * sizeof *lanes);
        }
    }
}

static void run_code(run *r, const zf_query *query, zf_query_fn function, const zf_query_stream *streams, const uint64_t *params,
                     uint64_t count, uint64_t first_row) {
    memset(r, 0, sizeof *r);
    if (query->pairs != NULL) count = 1; // all of them
    for (uint32_t k = 0; k < query->result_count; k++) {
        r->held[k] = (zf_query_held){.words = r->words[k], .touched = r->touched[k], .lanes = r->lanes[k], .lengths = {4, 2}};
        if (query->results[k].kind == ZF_Q_SET) r->held[k].lengths[0] = 8;
        for (unsigned w = 0; query->results[k].kind == ZF_Q_ALL && w < 64; w++) r->words[k][w] = 1;
    }
    r->selected.columns = query->selected_count;
    r->frame =
        (zf_query_frame){.streams = streams, .params = params, .held = r->held, .selected = &r->selected, .first_row = first_row};
    for (uint64_t begin = 0; begin < count && r->frame.violation == 0;) {
        uint64_t end = ((first_row + begin) / ZF_QUERY_TILE + 1) * ZF_QUERY_TILE - first_row;
        r->frame.begin = begin;
        r->frame.end = begin = end < count ? end : count;
        function(&r->frame);
        end_tile(r, query);
    }
}

// ---- Comparing ------------------------------------------------------------------------------------------------

// NaNs count as one: which of them an operation gives is the machine's.
static bool same(zf_kind kind, uint64_t a, uint64_t b) {
    if (kind == ZF_K_F64 && float_of(a) != float_of(a) && float_of(b) != float_of(b)) return true;
    if (kind == ZF_K_F32) {
        float x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        if (x != x && y != y) return true;
    }
    return a == b;
}

static void compare(const run *r, const zf_query *query, const interp_answer *answers, uint64_t count, const char *where) {
    for (uint32_t k = 0; k < query->result_count; k++) {
        const zf_query_result *result = &query->results[k];
        const interp_answer *answer = &answers[k];
        bool mask = result->kind == ZF_Q_MASK, select = result->kind == ZF_Q_SELECT;
        uint64_t wanted = mask ? count : select ? r->selected.rows : counted(result);
        CHECK(answer->count == wanted, "%s: %s has %llu elements, %llu", where, result->name, (ull)wanted, (ull)answer->count);
        for (uint64_t at = 0; at < wanted && at < answer->count; at++) {
            uint64_t mine = mask     ? r->touched[k][at]
                            : select ? r->selected.words[at * r->selected.columns + result->column]
                                     : r->words[k][at];
            uint64_t theirs = answer->rows != NULL ? interp_stream_bits(answer->rows, at, NULL) : answer->bits[at];
            bool good = same(result->type.kind, mine, theirs);
            if (answer->touched != NULL) good = good && !r->touched[k][at] == !answer->touched[at];
            CHECK(good, "%s: %s, element %llu: %llx, %llx in the interpreter", where, result->name, (ull)at, (ull)mine,
                  (ull)theirs);
            if (!good) return;
        }
    }
}

// ---- Rows that zones exclude ----------------------------------------------------------------------------------

typedef struct totals {
    unsigned run, violated, refused, ranges, excluded;
} totals;

static zf_zone zone_of(const zf_query_stream *stream, zf_type type, uint64_t begin, uint64_t end) {
    const zf_zone_rows in = {.element = (zf_element)type.kind,
                             .values = stream->values,
                             .offsets = stream->offsets,
                             .validity = type.nullable ? stream->validity : NULL};
    zf_zone_found found;
    zf_zone zone;
    zf_zone_find(&in, begin, end, &found);
    zf_zone_of(in.element, end - begin, &found, &zone);
    return zone;
}

// Runs rows that may not change anything, and compares the results with those of no row.
static void run_excluded(const zf_query *query, zf_query_fn function, const zf_query_stream *streams, const uint64_t *params,
                         uint64_t begin, uint64_t end, uint64_t first_row, const char *where) {
    static run r, none;
    run_code(&none, query, function, streams, params, 0, first_row);
    run_code(&r, query, function, streams, params, 0, first_row);
    r.frame.begin = begin;
    r.frame.end = end;
    function(&r.frame);
    CHECK(r.frame.violation == 0, "%s, rows %llu to %llu: V%02u", where, (ull)begin, (ull)end, (unsigned)r.frame.violation);
    CHECK(r.selected.rows == 0, "%s, rows %llu to %llu select", where, (ull)begin, (ull)end);
    for (uint32_t k = 0; k < query->result_count; k++) {
        const zf_query_result *result = &query->results[k];
        bool same = memcmp(r.words[k], none.words[k], sizeof r.words[k]) == 0 &&
                    memcmp(r.lanes[k], none.lanes[k], sizeof r.lanes[k]) == 0;
        bool logic = result->dimensions == 0 && (result->kind == ZF_Q_ANY || result->kind == ZF_Q_ALL);
        if (!logic) same = same && memcmp(r.touched[k], none.touched[k], sizeof r.touched[k]) == 0;
        CHECK(same, "%s, rows %llu to %llu, which zones exclude, change %s", where, (ull)begin, (ull)end, result->name);
    }
    free(r.selected.words);
}

static void try_zones(const zf_query *query, zf_query_fn function, const zf_query_stream *streams, const uint64_t *params,
                      uint64_t count, uint64_t first_row, const char *where, totals *t) {
    zf_query_effect effect;
    bool opened = zf_query_effect_open(query, params, streams, &effect);
    CHECK(opened, "no memory");
    for (uint64_t begin = 0, end; opened && begin < count && begin < 300; begin = end) {
        zf_zone zones[COLUMNS];
        const zf_zone *of[COLUMNS];
        end = begin + 1 + diff_query_below(6);
        if (end > count) end = count;
        for (uint32_t c = 0; c < query->column_count; c++) {
            uint32_t s = query->input_count + c;
            zones[c] = zone_of(&streams[s], query->inst->streams[s]->type, begin, end);
            of[c] = diff_query_below(20) == 0 ? NULL : &zones[c];
        }
        t->ranges++;
        if (zf_query_may_matter(&effect, first_row + begin, first_row + end, of)) continue;
        t->excluded++;
        run_excluded(query, function, streams, params, begin, end, first_row, where);
    }
    zf_query_effect_close(&effect);
}

static void try_rows(const diff_machine *m, const zf_query *query, uint64_t count, uint64_t first_row, unsigned number,
                     totals *t) {
    static rows data[COLUMNS + 2];
    static run r;
    interp *in = interp_create(NULL);
    const zf_inst *inst = query->inst;
    zf_query_stream streams[COLUMNS + 2];
    const interp_stream *of_interp[COLUMNS + 2];
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        make_rows(in, &data[s], inst->streams[s]->type, s < query->input_count ? INPUT : count, &streams[s]);
        of_interp[s] = data[s].stream;
    }
    uint64_t params[] = {diff_query_next() % 7, diff_query_next() & 255, 2};
    interp_answer answers[RESULTS];
    interp_report report;
    interp_query_call call = {.query = query, .streams = of_interp, .params = params, .first_row = first_row, .rows = count};
    interp_status status = interp_query(in, &call, answers, &report);
    CHECK(status == INTERP_OK || status == INTERP_VIOLATION, "query %u: the interpreter gave %s: %s", number,
          interp_status_name(status), report.message);
    const interp_claims *claims = interp_claims_of(in);
    CHECK(claims->range == NULL && claims->proved == NULL, "query %u: a claim is false: %s", number, claims->where);
    for (unsigned level = 0; level < DIFF_LEVELS; level++) {
        char where[64];
        snprintf(where, sizeof where, "query %u, %llu rows, %s", number, (ull)count, diff_level_name(level));
        zf_query_fn function;
        zf_jit_code *code;
        zf_error error;
        zf_jit *jit = zf_compiler_jit(m->compilers[level]);
        zf_status built = zf_codegen_query_build(jit, query, &function, &code, &error);
        CHECK(built == ZF_OK, "%s: %s", where, error.message);
        if (built != ZF_OK) continue;
        run_code(&r, query, function, streams, params, count, first_row);
        if (status == INTERP_VIOLATION)
            CHECK(r.frame.violation == report.violation.number && r.frame.row == first_row + report.violation.position,
                  "%s: V%02u at %llu, the interpreter V%02u at %llu", where, (unsigned)r.frame.violation, (ull)r.frame.row,
                  report.violation.number, (ull)(first_row + report.violation.position));
        else if (r.frame.violation != 0)
            CHECK(false, "%s: V%02u at %llu, none in the interpreter", where, (unsigned)r.frame.violation, (ull)r.frame.row);
        else
            compare(&r, query, answers, count, where);
        free(r.selected.words);
        if (level == 0 && query->pairs == NULL) try_zones(query, function, streams, params, count, first_row, where, t);
        zf_jit_unload(jit, code);
    }
    t->run++;
    t->violated += status == INTERP_VIOLATION;
    interp_destroy(in);
}

static void try_query(const diff_machine *m, unsigned number, bool of_pairs, totals *t) {
    static const uint64_t counts[] = {0, 1, 31, 33, 1023, 1024, 1025, 2048, MOST_ROWS};
    diff_query_seed(number);
    char *text = diff_query_program(false, of_pairs || number % 3 > 0, of_pairs);
    zf_program *program = NULL;
    zf_error error;
    zf_status status = zf_program_load_text(m->compilers[0], "random.zf", text, strlen(text), &program, &error);
    bool loaded = status == ZF_OK;
    if (!loaded) {
        const char *diagnostics = zf_program_diagnostics(program, ZF_DIAGNOSTICS_LINE);
        t->refused++;
        CHECK(diff_query_may_refuse(diagnostics), "query %u: %s\n%s", number, diagnostics, text);
    } else {
        const zf_query *query = zf_spec_find_query(zf_program_spec(program), "random");
        int before = check_failures;
        try_rows(m, query, counts[diff_query_below(9)], 0, number, t);
        try_rows(m, query, counts[diff_query_below(9)], of_pairs ? 0 : 5 * ZF_QUERY_TILE, number, t);
        if (check_failures != before) printf("%s\n", text);
    }
    zf_program_free(program);
    free(text);
}

int main(int argc, char **argv) {
    unsigned first = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 1,
             count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;
    diff_machine machine;
    zf_text message = {0};
    bool opened = diff_machine_open(&machine, NULL, &message);
    CHECK(opened, "%s", message.data);
    totals t = {0};
    for (unsigned k = 0; opened && k < count && check_failures < 5; k++) {
        try_query(&machine, first + k, false, &t);
        if (k % 2 == 0) try_query(&machine, first + k, true, &t);
    }
    printf("%u runs, %u of them violated a check; %u programs were refused\n", t.run, t.violated, t.refused);
    printf("%u of %u ranges of rows were excluded by zones\n", t.excluded, t.ranges);
    unsigned all = count + (count + 1) / 2;
    CHECK(t.refused < all / 5 + 1, "%u of %u programs were refused", t.refused, all);
    CHECK(t.excluded > t.ranges / 50, "too few ranges were excluded");
    if (opened) diff_machine_close(&machine);
    zf_text_free(&message);
    return check_result();
}

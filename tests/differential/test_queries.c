// Random queries over random rows: the interpreter and the code for the CPU, at -O0 and -O3, give the same results bit for bit,
// or stop at the same row for the same violation.
//   test_queries [FIRST COUNT]
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen_query.h"
#include "compiler/compiler.h"
#include "compiler/program.h"
#include "tests/differential/diff_machine.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { MOST_ROWS = 3000, INPUT = 16, COLUMNS = 12, TEXT_ROOM = 16 };

static uint64_t state;

static uint64_t next(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static unsigned below(unsigned count) { return (unsigned)(next() % count); }
static bool chance(unsigned of) { return below(of) == 0; }

// ---- Programs -------------------------------------------------------------------------------------------------

static const struct {
    const char *name, *declared, *codec;
} columns[COLUMNS] = {{"a", "i32", "plain"},      {"b", "u8", "plain"},       {"c", "i64?", "nullable"},
                      {"d", "f64", "plain"},      {"e", "f64?", "nullable"},  {"f", "bool", "plain"},
                      {"g", "bool?", "nullable"}, {"s", "string", "strings"}, {"u", "string?", "nullable(values: strings)"},
                      {"w", "u64", "plain"},      {"x", "i16?", "nullable"},  {"h", "f32", "plain"}};

typedef struct writer {
    zf_text text;
    unsigned lets; ///< numbers named by `let` so far, in the innermost block and those around it
} writer;

static void put(writer *w, const char *text) { zf_text_puts(&w->text, text); }

static void put_bool(writer *w, unsigned depth);

// An integer; `nulls`: it may be null.
static void put_int(writer *w, unsigned depth, bool nulls) {
    static const char *const leaves[] = {"a", "b", "row", "p", "q", "c", "x"};
    static const char *const operators[] = {" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ "};
    unsigned kind = depth == 0 ? below(2) : below(9);
    switch (kind) {
    case 0: zf_text_printf(&w->text, chance(3) ? "(-%u)" : "%u", below(20)); return;
    case 1:
        if (w->lets > 0 && !nulls && chance(3))
            zf_text_printf(&w->text, "v%u", below(w->lets));
        else
            put(w, leaves[below(nulls ? 7 : 5)]);
        return;
    case 2:
        put(w, "(");
        put_bool(w, depth - 1);
        put(w, " ? ");
        put_int(w, depth - 1, false);
        put(w, " : ");
        put_int(w, depth - 1, false);
        put(w, ")");
        return;
    case 3:
        put(w, chance(2) ? "min(" : "max(");
        put_int(w, depth - 1, false);
        put(w, ", ");
        put_int(w, depth - 1, false);
        put(w, ")");
        return;
    case 4:
        put(w, "bytes[");
        put_int(w, depth - 1, nulls);
        put(w, chance(8) ? "]" : " & 15]");
        return;
    default:
        put(w, "(");
        put_int(w, depth - 1, nulls);
        put(w, operators[below(depth > 2 ? 8 : 3)]);
        put_int(w, depth - 1, nulls);
        put(w, ")");
    }
}

static void put_float(writer *w, unsigned depth, bool nulls) {
    static const char *const leaves[] = {"d", "h", "0.5", "1.25e3", "e", "(-0.0)"};
    static const char *const operators[] = {" + ", " - ", " * ", " / "};
    unsigned kind = depth == 0 ? 0 : below(4);
    if (kind == 0) {
        unsigned leaf = below(6);
        put(w, leaves[leaf == 4 && !nulls ? 0 : leaf]);
    } else if (kind == 1) {
        put(w, "(");
        put_int(w, depth - 1, false);
        put(w, ") as f64");
    } else {
        put(w, "(");
        put_float(w, depth - 1, nulls);
        put(w, operators[below(4)]);
        if (chance(4))
            put(w, "b");
        else
            put_float(w, depth - 1, nulls);
        put(w, ")");
    }
}

static void put_bool(writer *w, unsigned depth) {
    static const char *const leaves[] = {"f",      "g",           "c == null", "u != null", "s == \"ab\"",
                                         "u == s", "bits[b & 7]", "true",      "w > 5"};
    static const char *const comparisons[] = {" < ", " <= ", " == ", " != ", " > ", " >= "};
    put(w, "(");
    switch (depth == 0 ? 0 : below(5)) {
    case 0: put(w, leaves[below(9)]); break;
    case 1:
        put_int(w, depth - 1, true);
        put(w, comparisons[below(6)]);
        put_int(w, depth - 1, true);
        break;
    case 2:
        put_float(w, depth - 1, true);
        put(w, comparisons[below(6)]);
        put_float(w, depth - 1, true);
        break;
    case 3:
        put(w, "!");
        put_bool(w, depth - 1);
        break;
    default:
        put_bool(w, depth - 1);
        put(w, chance(2) ? " && " : " || ");
        put_bool(w, depth - 1);
    }
    put(w, ")");
}

static void put_indices(writer *w, unsigned dimensions) {
    for (unsigned k = 0; k < dimensions; k++) {
        put(w, k == 0 ? "[" : ", ");
        put(w, "(");
        put_int(w, 1, true);
        put(w, chance(12) ? " + 0 * a)" : k == 0 ? " + 0 * a & 3)" : " + 0 * a & 1)"); // no constant, which may never be inside
    }
    if (dimensions > 0) put(w, "]");
}

static const struct {
    const char *name, *declared;
    unsigned dimensions;
} results[] = {{"n", "i64 = sum", 0},           {"total", "f64 = sum", 0},    {"low", "i64[4] = min", 1},
               {"high", "f64[4, n2] = max", 2}, {"odd", "u64[4] = xor", 1},   {"some", "bool = any", 0},
               {"every", "bool[4] = all", 1},   {"first", "i32[8] = set", 1}, {"hit", "bool = mask", 0},
               {"id", "i64 = select", 0},       {"v", "f32 = select", 0},     {"by", "f64[4] = sum", 1},
               {"least", "f64 = min", 0},       {"most", "u64 = max", 0}};
enum { RESULTS = sizeof results / sizeof results[0] };

static void put_stmts(writer *w, unsigned depth);

// A statement that changes a result. A place that stands twice in it is written twice alike.
static void put_result(writer *w) {
    unsigned k = below(RESULTS);
    const char *kind = strrchr(results[k].declared, ' ') + 1, *declared = results[k].declared;
    bool is_float = declared[0] == 'f', is_set = strcmp(kind, "set") == 0;
    if (is_set && !chance(6)) return; // seldom good twice
    if (strcmp(kind, "select") == 0) {
        put(w, "select id = ");
        put_int(w, 2, false);
        put(w, ", v = (");
        put_float(w, 2, false);
        put(w, ") as f32;\n");
        return;
    }
    writer place = {.lets = w->lets};
    put(&place, results[k].name);
    put_indices(&place, results[k].dimensions);
    put(w, place.text.data);
    bool extreme = strcmp(kind, "min") == 0 || strcmp(kind, "max") == 0;
    bool logic = strcmp(kind, "any") == 0 || strcmp(kind, "all") == 0;
    if (extreme)
        zf_text_printf(&w->text, " = %s(%s, ", kind, place.text.data);
    else if (logic)
        zf_text_printf(&w->text, " = %s %s ", place.text.data, kind[1] == 'n' ? "||" : "&&");
    else
        put(w, strcmp(kind, "sum") == 0 ? (chance(4) ? " -= " : " += ") : strcmp(kind, "xor") == 0 ? " ^= " : " = ");
    if (is_float)
        put_float(w, 3, true);
    else if (logic || strcmp(kind, "mask") == 0)
        put_bool(w, 3);
    else if (declared[0] == 'u' || is_set) {
        put(w, "(");
        put_int(w, 3, true);
        put(w, is_set ? ") as i32" : ") as u64");
    } else {
        put_int(w, 3, true);
    }
    put(w, extreme ? ");\n" : ";\n");
    zf_text_free(&place.text);
}

static void put_stmt(writer *w, unsigned depth) {
    unsigned lets = w->lets;
    switch (depth == 0 ? 9 : below(10)) {
    case 0:
    case 1:
    case 2:
        put(w, "if ");
        put_bool(w, 3);
        put(w, " {\n");
        put_stmts(w, depth - 1);
        put(w, "}");
        w->lets = lets;
        if (chance(2)) {
            put(w, " else {\n");
            put_stmts(w, depth - 1);
            put(w, "}");
        }
        put(w, "\n");
        w->lets = lets;
        return;
    case 3:
        zf_text_printf(&w->text, "for k in 0..%u {\n if k != a { n += k; }\n", 1 + below(3));
        put_stmts(w, depth - 1);
        put(w, "}\n");
        w->lets = lets;
        return;
    case 4:
        zf_text_printf(&w->text, "let v%u = ", lets);
        put_int(w, 3, false);
        put(w, " + 0 * a;\n"); // i64, whatever the literals are
        w->lets++;
        return;
    default: put_result(w);
    }
}

static void put_stmts(writer *w, unsigned depth) {
    for (unsigned count = 1 + below(3); count > 0; count--) put_stmt(w, depth);
}

static char *make_program(void) {
    writer w = {0};
    put(&w, "table t {\n");
    for (unsigned c = 0; c < COLUMNS; c++)
        zf_text_printf(&w.text, "    %s: %s = %s;\n", columns[c].name, columns[c].declared, columns[c].codec);
    put(&w, "}\nquery random(t) {\n param p: i64 = 3;\n param q: u8 = 200;\n param n2: u32 = 2;\n input bytes: u8[];\n input "
            "bits: bool[];\n");
    for (unsigned k = 0; k < RESULTS; k++) {
        zf_text_printf(&w.text, " result %s: %s;\n", results[k].name, results[k].declared);
    }
    put(&w, " each {\n");
    put_stmts(&w, 3);
    put_stmts(&w, 2);
    put(&w, " }\n}\n");
    return w.text.data;
}

// ---- Rows -----------------------------------------------------------------------------------------------------

// A stream for both: the interpreter's, and memory.
typedef struct rows {
    interp_stream *stream;
    uint64_t values[MOST_ROWS + 1]; ///< elements side by side
    uint8_t bits[MOST_ROWS / 8 + 1], valid[MOST_ROWS / 8 + 1], text[MOST_ROWS * TEXT_ROOM + 1];
    int64_t offsets[MOST_ROWS + 1];
} rows;

static uint64_t float_bits(void) {
    static const double odd[] = {0.0, -0.0, 1e300, -1e300, 0.1, 3};
    double value = chance(5) ? odd[below(6)] : (double)(int64_t)below(2000) / 8 - 100;
    if (chance(60)) value = chance(2) ? 1 / odd[0] : odd[0] / odd[0];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t number(zf_kind kind) {
    if (kind == ZF_K_F64) return float_bits();
    if (kind == ZF_K_F32) {
        float value = (float)below(1000) / 4 - 50;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    if (kind == ZF_K_BOOL) return below(2);
    uint64_t value = chance(20) ? next() : (uint64_t)((int64_t)below(40) - (zf_kind_is_signed(kind) ? 10 : 0));
    return zf_kind_bits(kind) == 64 ? value : value & ((UINT64_C(1) << zf_kind_bits(kind)) - 1);
}

static void make_rows(interp *in, rows *r, zf_type type, uint64_t count, zf_query_stream *out) {
    memset(r, 0, sizeof *r);
    r->stream = interp_stream_new(in, type);
    uint64_t bytes = 0;
    size_t size = zf_kind_size(type.kind);
    for (uint64_t k = 0; k < count; k++) {
        bool null = type.nullable && chance(4);
        r->valid[k / 8] |= (uint8_t)(!null << k % 8);
        if (type.kind == ZF_K_STRING) {
            uint64_t length = null ? 0 : below(4);
            for (uint64_t b = 0; b < length; b++) r->text[bytes + b] = (uint8_t)('a' + below(2));
            if (null)
                interp_stream_push_null(r->stream);
            else
                interp_stream_push_string(r->stream, r->text + bytes, length);
            r->offsets[k + 1] = (int64_t)(bytes += length);
            continue;
        }
        uint64_t value = null ? 0 : number(type.kind);
        if (null)
            interp_stream_push_null(r->stream);
        else
            interp_stream_push(r->stream, value);
        r->bits[k / 8] |= (uint8_t)((value & 1) << k % 8);
        memcpy((uint8_t *)r->values + k * size, &value, size);
    }
    const void *values = type.kind == ZF_K_STRING ? (const void *)r->text : type.kind == ZF_K_BOOL ? r->bits : (void *)r->values;
    *out = (zf_query_stream){.values = values, .validity = r->valid, .offsets = r->offsets, .length = count};
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

typedef struct totals {
    unsigned run, violated, refused;
} totals;

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
    uint64_t params[] = {next() % 7, next() & 255, 2};
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
        zf_status built = zf_codegen_query_build(jit, query, NULL, &function, &code, &error);
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
        zf_jit_unload(jit, code);
    }
    t->run++;
    t->violated += status == INTERP_VIOLATION;
    interp_destroy(in);
}

static void try_query(const diff_machine *m, unsigned number, totals *t) {
    static const uint64_t counts[] = {0, 1, 31, 33, 1023, 1024, 1025, 2048, MOST_ROWS};
    state = number * UINT64_C(0x632be59bd9b4e019) + 1;
    char *text = make_program();
    zf_program *program = NULL;
    zf_error error;
    zf_status status = zf_program_load_text(m->compilers[0], "random.zf", text, strlen(text), &program, &error);
    bool loaded = status == ZF_OK;
    if (!loaded) t->refused++;
    if (!loaded && getenv("ZF_TEST_VERBOSE") != NULL)
        printf("%s\n%s\n", text, zf_program_diagnostics(program, ZF_DIAGNOSTICS_LINE));
    if (loaded) {
        const zf_query *query = zf_spec_find_query(zf_program_spec(program), "random");
        int before = check_failures;
        try_rows(m, query, counts[below(9)], 0, number, t);
        try_rows(m, query, counts[below(9)], 5 * ZF_QUERY_TILE, number, t);
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
    for (unsigned k = 0; opened && k < count && check_failures < 5; k++) try_query(&machine, first + k, &t);
    printf("%u runs, %u of them violated a check; %u programs were refused\n", t.run, t.violated, t.refused);
    CHECK(t.refused < count / 5 + 1, "%u of %u programs were refused", t.refused, count);
    if (opened) diff_machine_close(&machine);
    zf_text_free(&message);
    return check_result();
}

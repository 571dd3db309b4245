#include "tests/differential/diff_queries.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"

static uint64_t state;

void diff_query_seed(uint64_t seed) { state = seed * UINT64_C(0x632be59bd9b4e019) + 1; }

uint64_t diff_query_next(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

unsigned diff_query_below(unsigned count) { return (unsigned)(diff_query_next() % count); }

static uint64_t next(void) { return diff_query_next(); }
static unsigned below(unsigned count) { return diff_query_below(count); }
static bool chance(unsigned of) { return below(of) == 0; }

// ---- Programs -------------------------------------------------------------------------------------------------

enum { CODECS = 5, STYLE_ROWS = 1500, LONGEST = 40 };

static const struct {
    const char *name, *declared, *codecs[CODECS]; // the first is the plainest, the last has alternatives
} columns[DIFF_QUERY_COLUMNS] = {
    {"a", "i32", {"plain", "bitpack", "delta(bitpack)", "dictionary(bitpack)", "bitpack | dictionary(bitpack, delta(bitpack))"}},
    {"b",
     "u8",
     {"plain", "bitpack", "rle(bitpack, bitpack)", "dictionary", "rle(bitpack, bitpack) | dictionary(bitpack, bitpack) | plain"}},
    {"c",
     "i64?",
     {"nullable", "nullable(values: bitpack)", "nullable(values: dictionary(bitpack))", "nullable(validity: rle)",
      "nullable(values: bitpack | dictionary(bitpack, delta(bitpack)))"}},
    {"d", "f64", {"plain", "byte_stream_split", "dictionary", "rle", "rle(plain, bitpack) | dictionary(bitpack, plain) | plain"}},
    {"e",
     "f64?",
     {"nullable", "nullable(values: dictionary)", "nullable(values: rle)", "nullable", "nullable(values: rle | plain)"}},
    {"f", "bool", {"plain", "rle", "plain", "rle(plain, bitpack)", "rle | plain"}},
    {"g", "bool?", {"nullable", "nullable(values: rle)", "nullable", "nullable", "nullable(values: rle | plain)"}},
    {"s",
     "string",
     {"strings", "dictionary(bitpack, strings)", "strings(bitpack)", "dictionary(codes: rle, entries: strings)",
      "dictionary(rle | bitpack, strings) | plain(strings)"}},
    {"u",
     "string?",
     {"nullable(values: strings)", "nullable(values: dictionary(bitpack, strings))", "nullable(values: strings)",
      "nullable(values: strings(bitpack))", "nullable(values: dictionary(bitpack, strings) | strings)"}},
    {"w", "u64", {"plain", "bitpack", "pfor", "split", "bitpack | dictionary(bitpack, delta(bitpack)) | plain"}},
    {"x",
     "i16?",
     {"nullable", "nullable(values: bitpack)", "nullable(values: rle)", "nullable",
      "nullable(values: rle(bitpack, bitpack) | bitpack)"}},
    {"h",
     "f32",
     {"plain", "dictionary(bitpack)", "byte_stream_split", "plain", "rle(plain, bitpack) | dictionary(bitpack, plain) | plain"}}};

typedef struct writer {
    zf_text text;
    bool ordered;  ///< results that depend on the order of rows are among those that change: `select`, sums of floats
    bool of_pairs; ///< `a` and `b` are binders, and nothing is null
    bool no_sums;  ///< of a place that stands twice, which none may
    unsigned lets; ///< numbers named by `let` so far, in the innermost block and those around it
} writer;

static void put(writer *w, const char *text) { zf_text_puts(&w->text, text); }

static void put_bool(writer *w, unsigned depth);

static void put_int(writer *w, unsigned depth, bool nulls);

// A sum of elements that follow each other, of which some may lie outside.
static void put_reads(writer *w, unsigned depth) {
    static const char *const firsts[] = {"p", "p - 3", "q - 190", "p * 2 + 1", "p + p - p"};
    put(w, chance(2) ? "sum(j in 0..(" : "sum(j in max(p - 2, 0)..=(");
    put_int(w, depth - 1, false);
    put(w, " + 0 * a) % 17: bytes[");
    const char *first = firsts[below(5)];
    if (w->lets > 0 && chance(2))
        zf_text_printf(&w->text, "v%u + j", below(w->lets));
    else
        zf_text_printf(&w->text, chance(2) ? "j + (%s)" : "%s + j", first);
    put(w, chance(2) ? "] + j)" : "] * bits.len as i64)");
}

// A sum over a range whose bounds may be negative.
static void put_sum(writer *w, unsigned depth) {
    put(w, chance(2) ? "sum(j in 0..(" : "sum(j in max(p - 4, 0)..=(");
    put_int(w, depth - 1, false);
    put(w, " + 0 * a) % 7: j * "); // no constant, whose remainder has no type
    put_int(w, depth - 1, false);
    put(w, ")");
}

// An integer; `nulls`: it may be null.
static void put_int(writer *w, unsigned depth, bool nulls) {
    static const char *const of_rows[] = {"a", "b", "row", "p", "q", "c", "x"};
    static const char *const of_pairs[] = {"a", "b", "(b - a)", "p", "q", "(a * b)", "a"};
    const char *const *leaves = w->of_pairs ? of_pairs : of_rows;
    static const char *const operators[] = {" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ "};
    unsigned kind = depth == 0 ? below(2) : below(w->no_sums ? 9 : 10);
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
    case 9:
        if (chance(2))
            put_reads(w, depth);
        else
            put_sum(w, depth);
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
    static const char *const of_rows[] = {"d", "h", "0.5", "1.25e3", "e", "(-0.0)"};
    static const char *const of_pairs[] = {"(a as f64)", "(b as f64)", "0.5", "1.25e3", "0.1", "(-0.0)"};
    const char *const *leaves = w->of_pairs ? of_pairs : of_rows;
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
            put(w, "q"); // an integer of few bits
        else
            put_float(w, depth - 1, nulls);
        put(w, ")");
    }
}

static void put_bool(writer *w, unsigned depth) {
    static const char *const of_rows[] = {"f",      "g",           "c == null", "u != null", "s == \"ab\"",
                                          "u == s", "bits[b & 7]", "true",      "w > 5"};
    static const char *const of_pairs[] = {
        "bits[a & 7]", "a == b", "a < p", "b > 3", "q == 200", "bits[b & 7]", "true", "any(k in a..b: bits[k & 7])", "bits[b]"};
    static const char *const parts[] = {"starts(s, \"a\")",
                                        "ends(u, \"ab\")",
                                        "contains(s, \"ba\")",
                                        "starts(s, u)",
                                        "ends(u, s)",
                                        "contains(u, s)",
                                        "contains(a > 3 ? s : u.value, \"b\")"};
    const char *const *leaves = w->of_pairs ? of_pairs : of_rows;
    static const char *const comparisons[] = {" < ", " <= ", " == ", " != ", " > ", " >= "};
    put(w, "(");
    switch (depth == 0 ? 0 : below(5)) {
    case 0: put(w, !w->of_pairs && chance(3) ? parts[below(7)] : leaves[below(9)]); break;
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
_Static_assert(sizeof results / sizeof results[0] == DIFF_QUERY_RESULTS, "results");

static bool is_ordered(unsigned k) {
    return strstr(results[k].declared, "select") != NULL || (results[k].declared[0] == 'f' && strstr(results[k].declared, "sum"));
}

static void put_stmts(writer *w, unsigned depth);

// Pairs have no sums of floats, and no masks.
static bool is_of_pairs(const char *declared) {
    return strstr(declared, "mask") == NULL && !(declared[0] == 'f' && strstr(declared, "sum") != NULL);
}

// A statement that changes a result. A place that stands twice in it is written twice alike.
static void put_result(writer *w) {
    unsigned k = below(DIFF_QUERY_RESULTS);
    while (!w->ordered && is_ordered(k)) k = below(DIFF_QUERY_RESULTS);
    const char *kind = strrchr(results[k].declared, ' ') + 1, *declared = results[k].declared;
    bool is_float = declared[0] == 'f', is_set = strcmp(kind, "set") == 0;
    if (is_set && !chance(6)) return; // seldom good twice
    if (w->of_pairs && !is_of_pairs(declared)) return;
    if (strcmp(kind, "select") == 0) {
        put(w, "select id = ");
        put_int(w, 2, false);
        put(w, ", v = (");
        put_float(w, 2, false);
        put(w, ") as f32;\n");
        return;
    }
    writer place = {.lets = w->lets, .of_pairs = w->of_pairs, .no_sums = true};
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

// A condition of several terms, some of which read inputs, and which few rows or none of many fulfil.
static void put_terms(writer *w) {
    static const char *const terms[] = {
        "row % 700 == 3", "bits[b & 7]",       "bytes[a & 15] < 9", "bits[(b + 3) & 7]", "a != 5",
        "row % 7 < 5",    "bytes[b & 15] > 2", "w < 9000000000",    "s != \"a\"",        "(starts(s, \"b\") || s == \"\")"};
    for (unsigned count = 2 + below(4), k = 0; k < count; k++) {
        if (k > 0) put(w, " && ");
        put(w, terms[below(10)]);
    }
}

static void put_stmt(writer *w, unsigned depth) {
    unsigned lets = w->lets;
    switch (depth == 0 ? 9 : below(w->of_pairs ? 10 : 11)) {
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
    case 10:
        put(w, "if ");
        put_terms(w);
        put(w, " {\n");
        put_stmts(w, depth - 1);
        put(w, "}\n");
        w->lets = lets;
        return;
    default: put_result(w);
    }
}

static void put_stmts(writer *w, unsigned depth) {
    for (unsigned count = 1 + below(3); count > 0; count--) put_stmt(w, depth);
}

// One that seldom holds.
static void put_condition(writer *w) {
    static const char *const rare[] = {"a > 25", "b == 3", "c < -8", "d > 140.0", "e <= -99.0", "x > 20", "h > 190.0", "w < 2"};
    bool first = chance(2);
    if (!first) put_bool(w, 3);
    zf_text_printf(&w->text, first ? "%s && " : " && %s", rare[below(8)]);
    if (first) put_bool(w, 3);
}

char *diff_query_program(bool codecs, bool ordered, bool of_pairs) {
    static const char *const bounds[] = {" each a in 0..p, b in 0..=a {\n", " each a in 0..p * p, b in a..20 {\n",
                                         " each a in 2..=n2, b in a..=p - 3 {\n", " each a in 0..5, b in a..20 / (a - p) {\n"};
    writer w = {.ordered = ordered, .of_pairs = of_pairs};
    put(&w, "table t {\n");
    for (unsigned c = 0; c < DIFF_QUERY_COLUMNS; c++)
        zf_text_printf(&w.text, "    %s: %s = %s;\n", columns[c].name, columns[c].declared,
                       columns[c].codecs[codecs ? below(CODECS) : 0]);
    zf_text_printf(&w.text, "}\nquery random(%s) {\n", of_pairs ? "pairs" : "t");
    put(&w, " param p: i64 = 3;\n param q: u8 = 200;\n param n2: u32 = 2;\n input bytes: u8[];\n input "
            "bits: bool[];\n");
    for (unsigned k = 0; k < DIFF_QUERY_RESULTS; k++) {
        if (of_pairs ? !is_of_pairs(results[k].declared) : !ordered && is_ordered(k)) continue;
        zf_text_printf(&w.text, " result %s: %s;\n", results[k].name, results[k].declared);
    }
    put(&w, of_pairs ? bounds[below(4)] : " each {\n");
    bool under = !of_pairs && chance(2); // all of it under conditions, which zones may exclude
    for (unsigned k = 0; k < 2; k++) {
        if (under) put(&w, "if ");
        if (under) put_condition(&w);
        put(&w, under ? " {\n" : "");
        put_stmts(&w, 3 - k);
        put(&w, under ? "}\n" : "");
        if (under) w.lets = 0;
    }
    put(&w, " }\n}\n");
    return w.text.data;
}

bool diff_query_may_refuse(const char *diagnostics) {
    static const char *const codes[] = {"ZF0304", "ZF0401", "ZF0403", "ZF0532"};
    for (unsigned k = 0; diagnostics != NULL && k < 4; k++)
        if (strstr(diagnostics, codes[k]) != NULL) return true;
    return false;
}

// ---- Rows -----------------------------------------------------------------------------------------------------

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

// Rows that follow each other are alike, so that blocks keep different alternatives: any numbers, runs, or few numbers.
typedef struct style {
    unsigned kind;
    uint64_t few[3], last;
} style;

static uint64_t styled(style *s, zf_kind kind, uint64_t k) {
    if (k % STYLE_ROWS == 0) {
        s->kind = below(3);
        for (unsigned f = 0; f < 3; f++) s->few[f] = number(kind);
    }
    if (s->kind == 2) return s->few[below(3)];
    if (s->kind == 1 && k % STYLE_ROWS > 0 && below(40) > 0) return s->last;
    return s->last = number(kind);
}

void diff_query_make(diff_query_stream *stream, zf_type type, uint64_t count) {
    memset(stream, 0, sizeof *stream);
    uint64_t bytes = 0;
    style s = {0};
    size_t size = zf_kind_size(type.kind);
    for (uint64_t k = 0; k < count; k++) {
        bool null = type.nullable && chance(4);
        stream->valid[k / 8] |= (uint8_t)(!null << k % 8);
        if (type.kind == ZF_K_STRING) { // a few do not fit into a handle, and some of these are equal
            bool is_long = !null && bytes + LONGEST <= 4 * k && chance(3); // `text` has four bytes a row
            uint64_t length = null ? 0 : is_long ? LONGEST - below(30) : below(4);
            for (uint64_t b = 0; b < length; b++) stream->text[bytes + b] = (uint8_t)('a' + (is_long ? b / 2 % 2 : below(2)));
            stream->offsets[k + 1] = (int64_t)(bytes += length);
            continue;
        }
        uint64_t value = null ? 0 : styled(&s, type.kind, k);
        stream->bits[k / 8] |= (uint8_t)((value & 1) << k % 8);
        stream->bytes[k] = (uint8_t)(value & 1);
        memcpy((uint8_t *)stream->values + k * size, &value, size);
    }
}

const void *diff_query_values(const diff_query_stream *stream, zf_type type) {
    if (type.kind == ZF_K_STRING) return stream->text;
    return type.kind == ZF_K_BOOL ? (const void *)stream->bits : stream->values;
}

// Links: zipflow-compiler
// Zones and queries: which conditions exclude rows, which may fail, and where it is not known.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiler.h"
#include "compiler/program.h"
#include "compiler/query/query_effect.h"
#include "tests/support/demand.h"
#include "tests/unit/check.h"

enum { FIRST_ROW = 65536, ROWS = 65536, INPUT = 64 };

static zf_compiler *compiler;

static const char head[] = "table t {\n"
                           "    a: i32 = plain;\n"
                           "    b: u8 = plain;\n"
                           "    o: i16? = nullable;\n"
                           "    none: i32? = nullable;\n"
                           "    full: i32? = nullable;\n"
                           "    d: f64 = plain;\n"
                           "    e: f32 = plain;\n"
                           "    x: f64 = plain;\n"
                           "    on: bool = plain;\n"
                           "    maybe: bool? = nullable;\n"
                           "    s: string = strings;\n"
                           "    one: string? = nullable(values: strings);\n"
                           "    long: string = strings;\n"
                           "    wide: u64 = plain;\n"
                           "    open: i32 = plain;\n"
                           "}\n"
                           "query q(t) {\n"
                           "    param p: i64 = 7;\n"
                           "    param r: f64 = 0.5;\n"
                           "    input tab: u8[];\n"
                           "    input bits: bool[];\n"
                           "    result n: i64 = sum;\n"
                           "    result hit: bool = mask;\n"
                           "    result some: bool = any;\n"
                           "    result every: bool = all;\n"
                           "    result each_of: bool[4] = all;\n"
                           "    result id: i64 = select;\n"
                           "    fn twice(v) { if v > 50 { return 2 * v; } return v + v; }\n"
                           "    each { ";

// ---- Zones ----------------------------------------------------------------------------------------------------

static uint64_t word(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t prefix(const char *text) {
    uint64_t bytes = 0;
    for (size_t k = 0, length = strlen(text); k < 8; k++) bytes = bytes << 8 | (k < length ? (unsigned char)text[k] : 0);
    return bytes;
}

#define VALUES .rows = ROWS, .has_values = true, .minimum_exact = true, .maximum_exact = true

static const struct {
    const char *name;
    zf_zone zone;
} fixed[] = {{"a", {VALUES, .minimum = (uint64_t)-20, .maximum = 200}},
             {"b", {VALUES, .minimum = 10, .maximum = 63}},
             {"o", {VALUES, .nulls = 5, .minimum = 100, .maximum = 120}},
             {"none", {.rows = ROWS, .nulls = ROWS}},
             {"full", {VALUES, .minimum = 4, .maximum = 4}},
             {"on", {VALUES, .minimum = 1, .maximum = 1}},
             {"maybe", {VALUES, .nulls = 1, .minimum = 0, .maximum = 0}},
             {"wide", {VALUES, .minimum = UINT64_C(1) << 63, .maximum = UINT64_MAX}}};

static void set_bounds(zf_zone *zone, uint64_t minimum, uint64_t maximum) {
    *zone = (zf_zone){VALUES};
    zone->minimum = minimum;
    zone->maximum = maximum;
}

// The zone of a column; `open` has none.
static const zf_zone *zone_of(const char *name, zf_zone *room) {
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
        if (strcmp(fixed[k].name, name) == 0) return &fixed[k].zone;
    if (strcmp(name, "d") == 0) set_bounds(room, word(-1.5), word(2.5));
    if (strcmp(name, "e") == 0) set_bounds(room, word(0.25), word(1));
    if (strcmp(name, "s") == 0) set_bounds(room, prefix("bc"), prefix("dzzzzzzz"));
    if (strcmp(name, "one") == 0) set_bounds(room, prefix("toy"), prefix("toy"));
    if (strcmp(name, "long") == 0) set_bounds(room, prefix("abcdefgh"), prefix("abcdefgh"));
    if (strcmp(name, "long") == 0) room->minimum_exact = room->maximum_exact = false;
    if (strcmp(name, "e") == 0) room->has_nan = true;
    if (strcmp(name, "x") == 0) *room = (zf_zone){.rows = ROWS, .has_nan = true};
    return strcmp(name, "open") == 0 ? NULL : room;
}

// ---- Statements -----------------------------------------------------------------------------------------------

// Whether rows with the zones above matter to a query of these statements.
static bool matters(const char *stmts) {
    zf_text text = {0};
    zf_text_printf(&text, "%s%s }\n}\n", head, stmts);
    zf_program *program = NULL;
    zf_error error = {0};
    zf_status status = zf_program_load_text(compiler, "q.zf", text.data, text.length, &program, &error);
    CHECK(status == ZF_OK, "%s: %s", stmts, program != NULL ? zf_program_diagnostics(program, ZF_DIAGNOSTICS_LINE) : "?");
    bool found = true;
    if (status == ZF_OK) {
        const zf_query *query = zf_spec_find_query(zf_program_spec(program), "q");
        const zf_zone *zones[16];
        zf_zone rooms[16];
        for (uint32_t k = 0; k < query->column_count; k++) zones[k] = zone_of(query->columns[k]->name, &rooms[k]);
        const uint64_t params[] = {7, word(0.5)};
        uint8_t elements[INPUT], bits[INPUT / 8] = {0xff};
        for (unsigned k = 0; k < INPUT; k++) elements[k] = (uint8_t)(k / 8);
        const zf_query_stream inputs[] = {{.values = elements, .length = INPUT}, {.values = bits, .length = INPUT}};
        zf_query_effect effect;
        bool opened = zf_query_effect_open(query, params, inputs, &effect);
        CHECK(opened, "no memory");
        found = zf_query_may_matter(&effect, FIRST_ROW, FIRST_ROW + ROWS, zones);
        CHECK(found == zf_query_may_matter(&effect, FIRST_ROW, FIRST_ROW + ROWS, zones), "%s: another answer again", stmts);
        zf_query_effect_close(&effect);
    }
    zf_program_free(program);
    zf_text_free(&text);
    return found;
}

static void check_condition(const char *condition, bool expected) {
    zf_text stmts = {0};
    zf_text_printf(&stmts, "if %s { n += 1; }", condition);
    bool found = matters(stmts.data);
    CHECK(found == expected, "`%s` %s rows", condition, found ? "keeps" : "excludes");
    zf_text_free(&stmts);
}

// Conditions that hold for no row, and cannot fail: their rows are skipped.
static const char *const excluded[] = {
    "a < -20", "a > 200", "a == 201", "a >= 100 && a < 100 + p && b > 63", "p * 100 < a", "a + 1000 < p", "a * 2 > 400",
    "a - 1 >= 200", "-a > 20", "(a & 1) == 2", "a / 10 > 20", "a % 8 == 9", "b >> 6 != 0", "min(a, 5) > 5", "max(a, 300) < 300",
    "!(a <= 200)", "a > 200 || b < 10", "(a > 0 ? b : 5) > 63", "twice(b) > 126", "p != 7", "row < 65536", "row >= 131072",
    "wide < 9223372036854775808", "a as f64 > 200.5", "a as f64 * 0.5 > 100.0", "b as f64 / 10.0 > 6.5",
    // Nulls
    "none == 0", "none != null", "none + 1 > 0", "o < 100", "o + 1 > 121", "o * a > 24000", "full == null", "full > 4",
    "o.value > 120", "o > 120 || none > 0", "maybe", "maybe == true", "!on", "o != null && o.value < 100",
    // Floats
    "d < -1.5", "d > 2.5", "d * 2.0 > 5.0", "d + e > 3.5", "e < 0.25", "e * r > 0.5", "x < 1.0", "x == x", "x >= 0.0", "d == 3.0",
    "-d > 1.5", "d as i64 > 2",
    // Strings
    "s == \"a\"", "s == \"bb\"", "s == \"e\"", "s == \"dzzzzzzzz\"", "one != \"toy\"", "one == \"toys\"", "long == \"abcdefg\"",
    "long == one", "s == \"\"", "starts(s, \"a\")", "starts(s, \"bb\")", "starts(s, \"dzzzzzzzza\") && b > 63",
    "starts(s, \"e\")", "starts(one, \"tox\")", "starts(long, \"abcdefgi\")", "starts(s, \"dzzzzzz{\")",
    "ends(s, \"x\") && a > 200", "contains(one, \"x\") && a > 200",
    // Inputs within their length, and what follows from tables
    "tab[b] > 255", "tab[b] < 0", "tab.len != 64", "tab[b] > 7", "tab[b] == 0", "bits[b]", "tab[b / 8] > 0",
    "tab[full] == 1 || !bits[full]", "bits[b] && a > 200",
    // Loops and reductions
    "any(k in 0..3: a > 200 + k)", "!all(k in 0..3: a <= 200 + k)"};

// Conditions that may hold for a row, or fail in one.
static const char *const kept[] = {
    "a < -19", "a > 199", "a == 200", "a * 2 > 399", "a / b > 4", "!(a < 200)", "row == 65536", "row == 131071",
    "wide == 9223372036854775808", "none == null", "o == null", "!(o < 100)", "o >= 120", "full == 4", "!(maybe == true)", "on",
    "d >= 2.5", "d == -1.5", "!(d < 3.0 && e >= 0.0)", "e != e", "x != x", "!(x < 1.0)", "!(e < 2.0)", "!(e <= 2.0)",
    "!(e * 2.0 < 9.0)", "(e + 1.0) as i64 == 0", "e * e < 0.07", "s == \"bc\"", "s == \"dzzzzzzz\"", "s != \"bc\"",
    "one == \"toy\"", "long == \"abcdefghi\"", "long == \"abcdefgh\"", "one == s || on", "starts(s, \"bc\")", "starts(s, \"c\")",
    "starts(s, \"d\")", "starts(s, \"\")", "!starts(one, \"t\")", "starts(long, \"abcdefghi\")", "starts(long, \"abcdefgh\")",
    "ends(one, \"y\")", "contains(one, \"toy\")", "starts(one, s)", "open == 5", "tab[b] == 7", "tab[b] == 1", "bits[b - 3]",
    "tab[row - 65536] > 7", "open > 2147483647 || a > 199",
    // They may fail: an index of an input, a division, a byte of a string
    "tab[a] > 255", "tab[b + 1] > 255", "bits[a] && a > 200", "a > 200 || tab[a + 100] > 255", "1 / a > 1", "5 % a > 5",
    "s[0] == 'x' && a > 200", "tab[open] > 255",
    // It wraps, or nothing is known of it
    "wide * 2 < 5", "wide + 9 < 100", "(wide as i64) < 0", "open + 1 > 5", "(b as u8) * 10 < 50",
    "(a > 0 ? long : \"abc\") == \"abcdefghi\""};

static void check_conditions(void) {
    for (size_t k = 0; k < sizeof excluded / sizeof *excluded; k++) check_condition(excluded[k], false);
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) check_condition(kept[k], true);
}

static const struct {
    const char *stmts;
    bool matters;
} statements[] = {
    {"n += 0;", true},
    {"n += 1; if a > 200 { n += 1; }", true},
    {"if a > 200 { n += 1; } else { n += 1; }", true},
    {"if a <= 200 { let k = a; } else { n += 1; }", false},
    {"if a > 0 { if b > 63 { n += 1; } }", false},
    {"if a > 0 { if b > 60 { n += 1; } }", true},
    {"let k = a + 1; if k > 201 { n += 1; }", false},
    {"let k = a > 200; let l = !k; if !l { select id = row; }", false},
    {"if a > 100 { select id = row; }", true},
    {"for k in 0..3 { if a > 200 + k { n += k; } }", false},
    {"for k in 0..3 { if a + k > 201 { n += k; } }", true},
    {"var k = 0 + 0 * a; if k > 5 { n += 1; }", true}, // it may have changed
    {"var k = 0 + 0 * a; k += 1; k /= 2; if b > 63 { n += k; }", false},
    {"var k = 5 + a; k /= a; if b > 63 { n += k; }", true}, // a division that may fail
    {"require a <= 200; if b > 63 { n += 1; }", false},
    {"require a < 200; if b > 63 { n += 1; }", true},
    {"if b > 63 { require false; n += 1; }", false},
    {"hit = a > 200;", false},
    {"hit = a > 199;", true},
    {"some = some || a > 200; every = every && a <= 200;", false},
    {"some = some || a > 0;", true},
    {"every = every && a < 200;", true},
    {"each_of[1] = each_of[1] && a <= 200;", true}, // the element is one that a row gave a value
    {"let k = tab[a + 100]; if b > 63 { n += k; }", true},
    {"if b > 63 { n += tab[a]; }", false},
    {"if a > 200 { return; } if b > 63 { n += 1; }", false},
    {"if b < 0 || a > 200 { n += 1; } hit = none == 1;", false},
};

static void check_statements(void) {
    for (size_t k = 0; k < sizeof statements / sizeof *statements; k++) {
        bool found = matters(statements[k].stmts);
        CHECK(found == statements[k].matters, "`%s`: its rows are %s", statements[k].stmts, found ? "kept" : "skipped");
    }
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    const zf_context_options options = {.cache_dir = "", .threads = 1};
    const zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    demand(zf_context_create(&options, &context, &error), &error);
    demand(zf_compiler_create(context, &compile, &compiler, &error), &error);
    check_conditions();
    check_statements();
    zf_compiler_free(compiler);
    zf_context_free(context);
    return check_result();
}

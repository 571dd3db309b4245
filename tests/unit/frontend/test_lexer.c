// Links: zipflow-frontend
// Tokens: values of literals, comments, places, and what is no token.
#include <locale.h>

#include "tests/unit/parse_text.h"

static int locales_made;
static bool no_locale;

// In place of the C library's, also for the scanner that is linked into this program.
locale_t newlocale(int mask, const char *name, locale_t base) {
    (void)mask, (void)name, (void)base;
    locales_made++;
    return no_locale ? (locale_t)0 : duplocale(LC_GLOBAL_LOCALE); // this program sets none: it is "C"
}

// One locale serves all numbers of a compilation; without memory for it the source is refused.
static void test_locale(void) {
    locales_made = 0;
    parsed p = parse_text("const A: f64 = 1.5; const B: f64 = 2.5; const C: f64 = 3.5;");
    CHECK(p.errors == 0 && locales_made == 1, "%d locales", locales_made);
    parsed_free(&p);
    no_locale = true;
    p = parse_text("const A: f64 = 1.5;");
    zf_text text = diagnostics_of(&p, ZF_DIAG_LINE);
    CHECK(p.errors == 1 && strstr(text.data, "no memory") != NULL, "%s", text.data);
    zf_text_free(&text);
    parsed_free(&p);
    p = parse_text("const A: u64 = 1;");
    CHECK(p.errors == 0, "a source without such numbers wants no locale");
    parsed_free(&p);
    no_locale = false;
}

static void test_integers(void) {
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0},         {"7", 7},        {"1_000", 1000},  {"0x1f", 31},
        {"0XFF", 255},    {"0b1_01", 5},   {"007", 7},       {"18446744073709551615", UINT64_MAX},
        {"'a'", 'a'},     {"'\\n'", '\n'}, {"'\\xff'", 255}, {"'\\''", '\''},
        {"'\\\\'", '\\'}, {"'\"'", '"'},   {"'\\0'", 0},     {"0xffff_ffff_ffff_ffff", UINT64_MAX},
        {"' '", ' '},     {"'\\\"'", '"'}, {"'\\t'", '\t'},  {"'\\r'", '\r'},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        snprintf(text, sizeof text, "const A: u64 = %s;", rows[i].text);
        parsed p = parse_text(text);
        CHECK(p.errors == 0 && p.unit->decls, "%s", text);
        if (p.errors == 0) CHECK(p.unit->decls->value->integer == rows[i].value, "%s", text);
        parsed_free(&p);
    }
}

static void test_floats(void) {
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"1.5", 1.5},          {"1e9", 1e9},  {"1E-3", 1e-3}, {"0.1", 0.1},
                {"1_0.2_5e+1", 102.5}, {"1e-400", 0}, {"0.0", 0},     {"1.7976931348623157e308", 1.7976931348623157e308}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        snprintf(text, sizeof text, "const A: f64 = %s;", rows[i].text);
        parsed p = parse_text(text);
        CHECK(p.errors == 0 && p.unit->decls->value->kind == ZF_AE_FLOAT, "%s", text);
        if (p.errors == 0) CHECK(memcmp(&p.unit->decls->value->real, &rows[i].value, sizeof(double)) == 0, "%s", text);
        parsed_free(&p);
    }
}

static void test_strings(void) {
    parsed p = parse_text("import \"a\\\\b\\\"c\\n\\t\\x41\xc3\xa9\";");
    CHECK(p.errors == 0 && strcmp(p.unit->decls->text, "a\\b\"c\n\tA\xc3\xa9") == 0, "%s", p.unit->decls->text);
    parsed_free(&p);
}

// A range needs no space, and a number before a dot is no float.
static void test_ranges(void) {
    parsed p = parse_text("fn f(a) { for i in 0..5 { } for i in 0..=5 { } a[1..].b(a[..=2]); }");
    CHECK(p.errors == 0, "%u errors", p.errors);
    if (p.errors == 0) {
        const zf_ast_stmt *stmt = p.unit->decls->func->body->stmts;
        CHECK(stmt->range && !stmt->range->inclusive && stmt->range->hi->integer == 5, "0..5");
        CHECK(stmt->next->range && stmt->next->range->inclusive, "0..=5");
    }
    parsed_free(&p);
    p = parse_text("fn f(a) { a[1..].b(..=2); }");
    CHECK(p.errors == 1, "an open range is no argument");
    parsed_free(&p);
}

static void test_assignments(void) {
    static const struct {
        const char *text;
        zf_op op;
    } rows[] = {{"+=", ZF_OP_ADD}, {"-=", ZF_OP_SUB}, {"*=", ZF_OP_MUL}, {"/=", ZF_OP_DIV},  {"%=", ZF_OP_REM},
                {"&=", ZF_OP_AND}, {"|=", ZF_OP_OR},  {"^=", ZF_OP_XOR}, {"<<=", ZF_OP_SHL}, {">>=", ZF_OP_SHR}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        snprintf(text, sizeof text, "fn f(a) { a %s-1; }", rows[i].text);
        parsed p = parse_text(text);
        CHECK(p.errors == 0, "%s", text);
        if (p.errors == 0) {
            const zf_ast_stmt *stmt = p.unit->decls->func->body->stmts;
            CHECK(stmt->kind == ZF_AS_ASSIGN && stmt->has_op && stmt->op == rows[i].op, "%s", text);
        }
        parsed_free(&p);
    }
}

static void test_comments(void) {
    static const char text[] = "// one\r\n"
                               "const A: u8 = 1; // two  \n"
                               "  \t// three\n"
                               "//";
    static const struct {
        const char *text;
        bool own_line;
    } rows[] = {{"// one", true}, {"// two", false}, {"// three", true}, {"//", true}};
    parsed p = parse_text(text);
    const zf_ast_comment *comment = p.unit->comments;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++, comment = comment->next) {
        CHECK(comment, "comment %zu", i);
        if (!comment) break;
        size_t length = comment->span.end - comment->span.begin;
        CHECK(length == strlen(rows[i].text) && memcmp(text + comment->span.begin, rows[i].text, length) == 0, "comment %zu", i);
        CHECK(comment->own_line == rows[i].own_line, "comment %zu", i);
    }
    CHECK(!comment, "no more");
    parsed_free(&p);
}

static void test_places(void) {
    static const char text[] = "fn f(a) = a.len\n + g ( 1 ) ;";
    parsed p = parse_text(text);
    const zf_ast_decl *decl = p.unit->decls;
    const zf_ast_expr *sum = decl->func->value;
    CHECK(p.errors == 0 && decl->span.begin == 0 && decl->span.end == sizeof text - 1, "the declaration");
    CHECK(decl->name_span.begin == 3 && decl->name_span.end == 4, "its name");
    CHECK(sum->span.begin == 10 && sum->span.end == 26, "%u..%u", sum->span.begin, sum->span.end);
    CHECK(sum->a->name_span.begin == 12 && sum->a->name_span.end == 15, "a member's name");
    CHECK(sum->b->span.begin == 19 && sum->span.source == p.source, "the call");
    parsed_free(&p);
}

static void check_one(const char *text, size_t length, zf_diag_code code) {
    parsed p = parse_bytes(text, length);
    const zf_diag *diag = zf_spec_diags(p.spec)->first;
    CHECK(p.errors == 1 && diag && diag->code == code, "%.40s: %u errors, first %u", text, p.errors, diag ? diag->code : 0);
    parsed_free(&p);
}

static void test_bad(void) {
    static const struct {
        const char *text;
        zf_diag_code code;
    } rows[] = {
        {"fn f() = 1 $ 2;", ZF_D_BAD_CHARACTER},
        {"\xef\xbb\xbf fn f() = 1;", ZF_D_BAD_CHARACTER},
        {"/* never closed", ZF_D_BAD_CHARACTER},
        {"fn f() = 1; \\", ZF_D_BAD_CHARACTER},
        {"import \"abc", ZF_D_UNTERMINATED_STRING},
        {"import \"abc\\", ZF_D_UNTERMINATED_STRING},
        {"const A: u8 = 'a", ZF_D_UNTERMINATED_STRING},
        {"// \xc3", ZF_D_BAD_UTF8},
        {"\x80", ZF_D_BAD_UTF8},
        {"const A: u8 = '\x01';", ZF_D_UNTERMINATED_STRING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parsed p = parse_text(rows[i].text);
        const zf_diag *diag = zf_spec_diags(p.spec)->first;
        CHECK(p.errors >= 1 && diag->code == rows[i].code, "%s: %u errors, first %u", rows[i].text, p.errors,
              diag ? diag->code : 0);
        parsed_free(&p);
    }
    check_one("fn f\0() = 1;", 12, ZF_D_BAD_CHARACTER);
    char *large = calloc(1, ZF_SOURCE_LIMIT + 2);
    if (large) {
        memset(large, ' ', ZF_SOURCE_LIMIT + 1);
        check_one(large, ZF_SOURCE_LIMIT + 1, ZF_D_SOURCE_SIZE);
        parsed p = parse_bytes(large + 1, ZF_SOURCE_LIMIT);
        CHECK(p.errors == 0, "as large as allowed");
        parsed_free(&p);
    }
    free(large);
}

int main(void) {
    test_integers();
    test_locale();
    test_floats();
    test_strings();
    test_ranges();
    test_assignments();
    test_comments();
    test_places();
    test_bad();
    return check_result();
}

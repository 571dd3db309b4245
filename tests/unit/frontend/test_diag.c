// Links: zipflow-frontend
// Places, the list of diagnostics, its three renderings, and the nearest name.
#include <string.h>

#include "frontend/diag/diag.h"
#include "tests/unit/check.h"

static zf_source make_source(const char *text) { return (zf_source){.path = "a.zf", .text = text, .length = strlen(text)}; }

static void check_text(const zf_diags *diags, zf_diag_form form, bool colour, const char *wanted) {
    zf_text text = {0};
    zf_diags_render(diags, form, colour, &text);
    CHECK(!text.failed, "no memory");
    CHECK(text.data && strcmp(text.data, wanted) == 0, "got\n%s\nwanted\n%s", text.data ? text.data : "(nothing)", wanted);
    zf_text_free(&text);
}

static void test_positions(void) {
    zf_source source = make_source("ab\n\nc");
    static const struct {
        uint32_t offset, line, column;
    } rows[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {5, 3, 2}, {99, 3, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        zf_position position = zf_source_position(&source, rows[i].offset);
        CHECK(position.line == rows[i].line && position.column == rows[i].column, "offset %u: %u:%u", rows[i].offset,
              position.line, position.column);
    }
}

static void test_utf8(void) {
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"a", 1},        {"\xc3\xa9", 2},         {"\xe2\x82\xac", 3}, {"\xf0\x9f\x98\x80", 4}, {"\x80", 0},
        {"\xc0\x80", 0}, {"\xe0\x80\x80", 0},     {"\xed\xa0\x80", 0}, {"\xf4\x90\x80\x80", 0}, {"\xe2\x82", 0},
        {"\xff", 0},     {"\xf0\x80\x80\x80", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK(zf_utf8_length(rows[i].text, strlen(rows[i].text)) == rows[i].length, "row %zu", i);
    }
    CHECK(zf_utf8_length("", 0) == 0, "empty");
}

static void test_list(zf_arena *arena) {
    zf_source source = make_source("x y z");
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_span x = {&source, 0, 1}, y = {&source, 2, 3}, nowhere = {0};
    zf_diag_error(&diags, ZF_D_UNKNOWN_NAME, x, "first");
    zf_diag *again = zf_diag_error(&diags, ZF_D_UNKNOWN_NAME, x, "again");
    zf_diag_remark(&diags, again, y, "goes nowhere");
    zf_diag_error(&diags, ZF_D_DECLARED_TWICE, x, "another code");
    zf_diag_error(&diags, ZF_D_UNKNOWN_NAME, y, "another place");
    zf_diag_error(&diags, ZF_D_IMPORT_FAILED, nowhere, "no place");
    zf_diag_error(&diags, ZF_D_IMPORT_FAILED, nowhere, "no place either");
    diags.muted = true;
    zf_diag *quiet = zf_diag_error(&diags, ZF_D_BAD_TYPE, y, "muted");
    zf_diag_hint(&diags, quiet, "muted");
    diags.muted = false;
    zf_diag_add(&diags, ZF_WARNING, ZF_D_BAD_TYPE, y, "warned");
    zf_diag_add(&diags, ZF_NOTE, ZF_D_CHECK_STAYS, y, "noted");
    CHECK(diags.errors == 5 && diags.warnings == 1 && diags.notes == 1, "%u %u %u", diags.errors, diags.warnings, diags.notes);
    check_text(&diags, ZF_DIAG_LINE, true,
               "a.zf:1:1: error[ZF0201]: first\n"
               "a.zf:1:1: error[ZF0202]: another code\n"
               "a.zf:1:3: error[ZF0201]: another place\n"
               "error[ZF0204]: no place\n"
               "error[ZF0204]: no place either\n"
               "a.zf:1:3: warning[ZF0309]: warned\n"
               "a.zf:1:3: note[ZF0490]: noted\n");

    zf_diags_init(&diags, arena);
    diags.limit = 2;
    for (uint32_t i = 0; i < 5; i++) zf_diag_error(&diags, ZF_D_UNKNOWN_NAME, ((zf_span){&source, i, i + 1}), "n%u", i);
    CHECK(diags.errors == 5, "%u", diags.errors);
    check_text(&diags, ZF_DIAG_LINE, false, "a.zf:1:1: error[ZF0201]: n0\na.zf:1:2: error[ZF0201]: n1\n");
}

static void test_human(zf_arena *arena) {
    zf_source source = make_source("let a = 1;\n\tlet \xc3\xa9\xff = b\x1b[31m;\nlast");
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_diag *diag = zf_diag_error(&diags, ZF_D_UNKNOWN_NAME, ((zf_span){&source, 16, 19}), "no `%s`", "\xc3\xa9\x07");
    zf_diag_remark(&diags, diag, (zf_span){&source, 4, 5}, "declared here");
    zf_diag_remark(&diags, diag, (zf_span){0}, "width is in 0..=64");
    zf_diag_hint(&diags, diag, "did you mean `a`?");
    zf_diag_error(&diags, ZF_D_UNEXPECTED_TOKEN, ((zf_span){&source, 34, 34}), "the end");
    check_text(&diags, ZF_DIAG_HUMAN, false,
               "a.zf:2:6: error[ZF0201]: no `\xc3\xa9\xef\xbf\xbd`\n"
               "     2 |     let \xc3\xa9\xef\xbf\xbd = b\xef\xbf\xbd[31m;\n"
               "       |         ^^\n"
               "  a.zf:1:5: remark: declared here\n"
               "     1 | let a = 1;\n"
               "       |     ^\n"
               "       = remark: width is in 0..=64\n"
               "       = hint: did you mean `a`?\n"
               "\n"
               "a.zf:3:5: error[ZF0110]: the end\n"
               "     3 | last\n"
               "       |     ^\n");
    zf_source turned = make_source("a \xe2\x80\xae\xe2\x81\xa6 b"); // a mark is one column
    zf_diags marks;
    zf_diags_init(&marks, arena);
    zf_diag_error(&marks, ZF_D_UNKNOWN_NAME, ((zf_span){&turned, 9, 10}), "no `%s`", "\xef\xbb\xbf");
    check_text(&marks, ZF_DIAG_HUMAN, false,
               "a.zf:1:10: error[ZF0201]: no `\xef\xbf\xbd`\n"
               "     1 | a \xef\xbf\xbd\xef\xbf\xbd b\n"
               "       |      ^\n");
    zf_text coloured = {0};
    zf_diags_render(&diags, ZF_DIAG_HUMAN, true, &coloured);
    CHECK(coloured.data && strstr(coloured.data, "\x1b[1;31merror[ZF0201]\x1b[0m"), "%s", coloured.data);
    zf_text_free(&coloured);
    check_text(&diags, ZF_DIAG_JSON, false,
               "[\n{\"severity\":\"error\",\"code\":\"ZF0201\",\"path\":\"a.zf\",\"line\":2,\"column\":6,\"end_line\":2,"
               "\"end_column\":9,\"message\":\"no `\xc3\xa9\xef\xbf\xbd`\",\"remarks\":[{\"message\":\"declared here\","
               "\"path\":\"a.zf\",\"line\":1,\"column\":5,\"end_line\":1,\"end_column\":6},{\"message\":\"width is in "
               "0..=64\"}],\"hint\":\"did you mean `a`?\"},\n{\"severity\":\"error\",\"code\":\"ZF0110\",\"path\":\"a.zf\","
               "\"line\":3,\"column\":5,\"end_line\":3,\"end_column\":5,\"message\":\"the end\",\"remarks\":[],\"hint\":null}\n"
               "]\n");
}

// A line of any length is shown as a window around the span; a span beyond its line ends with it.
static void test_long_lines(zf_arena *arena) {
    char text[2001];
    memset(text, 'x', 2000);
    text[2000] = 0;
    zf_source source = make_source(text);
    for (uint32_t begin = 0; begin <= 2000; begin += 250) {
        zf_diags diags;
        zf_diags_init(&diags, arena);
        zf_diag_error(&diags, ZF_D_BAD_CHARACTER, ((zf_span){&source, begin, begin + 5}), "here");
        zf_text out = {0};
        zf_diags_render(&diags, ZF_DIAG_HUMAN, false, &out);
        CHECK(out.length < 500, "%zu bytes", out.length);
        const char *excerpt = out.data ? strstr(out.data, " | ") : NULL, *carets = excerpt ? strchr(excerpt, '\n') : NULL;
        const char *caret = carets ? strchr(carets, '^') : NULL, *bar = carets ? strchr(carets, '|') : NULL;
        CHECK(caret && bar, "%s", out.data ? out.data : "");
        if (caret && bar) {
            size_t at = (size_t)(caret - bar - 2);
            CHECK(at < 160 && (begin == 2000 || excerpt[3 + at] == 'x'), "caret at %zu", at);
        }
        zf_text_free(&out);
    }
    zf_source lines = make_source("ab\ncd");
    zf_diags diags;
    zf_diags_init(&diags, arena);
    zf_diag_error(&diags, ZF_D_BAD_CHARACTER, ((zf_span){&lines, 1, 5}), "two lines");
    check_text(&diags, ZF_DIAG_HUMAN, false, "a.zf:1:2: error[ZF0101]: two lines\n     1 | ab\n       |  ^\n");
    zf_diags_init(&diags, arena);
    check_text(&diags, ZF_DIAG_JSON, false, "[]\n");
}

static void test_edit_distance(void) {
    static const struct {
        const char *a, *b;
        size_t limit, distance;
    } rows[] = {
        {"", "", 5, 0},        {"abc", "abc", 0, 0}, {"abc", "acb", 5, 1},       {"abc", "abd", 5, 1}, {"abc", "ab", 5, 1},
        {"abc", "xabc", 5, 1}, {"", "abc", 5, 3},    {"abc", "xyz", 5, 3},       {"abc", "xyz", 1, 2}, {"abcd", "badc", 5, 2},
        {"abcdef", "a", 2, 3}, {"ca", "abc", 5, 3},  {"kitten", "sitting", 9, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t there = zf_edit_distance(rows[i].a, rows[i].b, rows[i].limit),
               back = zf_edit_distance(rows[i].b, rows[i].a, rows[i].limit);
        CHECK(there == rows[i].distance && back == there, "%s, %s: %zu, %zu", rows[i].a, rows[i].b, there, back);
    }
    char longest[ZF_EDIT_LENGTH + 1], longer[ZF_EDIT_LENGTH + 2];
    memset(longest, 'x', sizeof longest - 1);
    memset(longer, 'x', sizeof longer - 1);
    longest[ZF_EDIT_LENGTH] = longer[ZF_EDIT_LENGTH + 1] = 0;
    CHECK(zf_edit_distance(longest, longest, 5) == 0 && zf_edit_distance(longest + 1, longest, 5) == 1, "the longest names");
    CHECK(zf_edit_distance(longest, longer, 5) == 6 && zf_edit_distance(longer, longer, 5) == 6, "longer ones are not compared");
}

static void test_nearest(void) {
    static const char *const names[] = {"bitpack", "plain", "dictionary", "rle", "delta"};
    static const struct {
        const char *name, *nearest;
    } rows[] = {{"bitpak", "bitpack"},
                {"plian", "plain"},
                {"dictionnary", "dictionary"},
                {"rl", NULL},
                {"rlf", "rle"},
                {"zzz", NULL},
                {"", NULL},
                {"dleta", "delta"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *nearest = zf_nearest_name(rows[i].name, names, sizeof names / sizeof *names);
        bool right = rows[i].nearest ? nearest && strcmp(nearest, rows[i].nearest) == 0 : nearest == NULL;
        CHECK(right, "%s: %s", rows[i].name, nearest ? nearest : "(none)");
    }
}

int main(void) {
    zf_arena *arena = zf_arena_create();
    if (!arena) return 1;
    test_positions();
    test_utf8();
    test_list(arena);
    test_human(arena);
    test_long_lines(arena);
    test_edit_distance();
    test_nearest();
    zf_arena_destroy(arena);
    return check_result();
}

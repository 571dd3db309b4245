// Links: zipflow-frontend
// Trees, recovery from errors, limits on depth, and files cut anywhere.
#include "tests/support/ast_equal.h"
#include "tests/unit/parse_text.h"

// ---- Trees ----------------------------------------------------------------------------------------------------

static void check_tree(const char *text, const char *wanted) {
    parsed p = parse_text(text);
    zf_text tree = {0};
    if (p.unit) zf_ast_print(p.unit, &tree);
    CHECK(p.errors == 0 && tree.data && strcmp(tree.data, wanted) == 0, "%s\ngot\n%s\nwanted\n%s", text,
          tree.data ? tree.data : "", wanted);
    zf_text_free(&tree);
    parsed_free(&p);
}

static void test_trees(void) {
    // Layers: each operator binds tighter than the one before it, and all are left associative.
    check_tree("fn f() = a || b && c == d | e ^ g & h << i + j * k as u8;", "unit, version 1\n"
                                                                            "  fn f\n"
                                                                            "    value: binary ||\n"
                                                                            "      a: name a\n"
                                                                            "      b: binary &&\n"
                                                                            "        a: name b\n"
                                                                            "        b: binary ==\n"
                                                                            "          a: name c\n"
                                                                            "          b: binary |\n"
                                                                            "            a: name d\n"
                                                                            "            b: binary ^\n"
                                                                            "              a: name e\n"
                                                                            "              b: binary &\n"
                                                                            "                a: name g\n"
                                                                            "                b: binary <<\n"
                                                                            "                  a: name h\n"
                                                                            "                  b: binary +\n"
                                                                            "                    a: name i\n"
                                                                            "                    b: binary *\n"
                                                                            "                      a: name j\n"
                                                                            "                      b: cast\n"
                                                                            "                        a: name k\n"
                                                                            "                        type u8\n");
    check_tree("fn f() = -a.b[1..](x, y) - sum(k in 0..=n, j in 0..k: z) - ~1;", "unit, version 1\n"
                                                                                 "  fn f\n"
                                                                                 "    value: binary -\n"
                                                                                 "      a: binary -\n"
                                                                                 "        a: unary -\n"
                                                                                 "          a: call\n"
                                                                                 "            a: slice\n"
                                                                                 "              a: member b\n"
                                                                                 "                a: name a\n"
                                                                                 "              range ..\n"
                                                                                 "                from: int 1\n"
                                                                                 "            argument: name x\n"
                                                                                 "            argument: name y\n"
                                                                                 "        b: reduce\n"
                                                                                 "          a: name sum\n"
                                                                                 "          binder k\n"
                                                                                 "            range ..=\n"
                                                                                 "              from: int 0\n"
                                                                                 "              to: name n\n"
                                                                                 "          binder j\n"
                                                                                 "            range ..\n"
                                                                                 "              from: int 0\n"
                                                                                 "              to: name k\n"
                                                                                 "          b: name z\n"
                                                                                 "      b: unary ~\n"
                                                                                 "        a: int 1\n");
    check_tree("fn f() = a ? b : c ? d : e;", "unit, version 1\n"
                                              "  fn f\n"
                                              "    value: choice\n"
                                              "      a: name a\n"
                                              "      b: name b\n"
                                              "      c: choice\n"
                                              "        a: name c\n"
                                              "        b: name d\n"
                                              "        c: name e\n");
    check_tree("zf 1; import \"x.zf\"; const A: decimal(15, 2)?[n] = [1, 'a', 1.0];", "unit, version 1\n"
                                                                                      "  import \"x.zf\"\n"
                                                                                      "  const A\n"
                                                                                      "    type decimal(15, 2)?[..]\n"
                                                                                      "      length: name n\n"
                                                                                      "    element: int 1\n"
                                                                                      "    element: byte 97\n"
                                                                                      "    element: float 0x1p+0\n");
    check_tree(
        "algorithm a<T: integer, W = u8>(s: T[] per chunk in 1.., param p: u8 in ..=3 = 2) -> T?[] non_parallel(chunk = 2) {"
        "  groups = 1; size(g) = 2; state x: u8 = 3; encode extern \"c\"; fn h(var a: u8[], b) -> u8 = 4; decode { } }",
        "unit, version 1\n"
        "  algorithm a\n"
        "    generic T integer\n"
        "    generic W\n"
        "      default u8\n"
        "    stream s per chunk\n"
        "      type T[]\n"
        "      within ..\n"
        "        from: int 1\n"
        "    param p\n"
        "      type u8\n"
        "      within ..=\n"
        "        to: int 3\n"
        "      default: int 2\n"
        "    result T?[]\n"
        "    pattern non_parallel\n"
        "      chunk: int 2\n"
        "    member groups\n"
        "      value: int 1\n"
        "    member size\n"
        "      formal g\n"
        "      value: int 2\n"
        "    state x\n"
        "      type u8\n"
        "      value: int 3\n"
        "    extern encode \"c\"\n"
        "    fn h\n"
        "      formal var a\n"
        "        type u8[]\n"
        "      formal b\n"
        "      result u8\n"
        "      value: int 4\n"
        "    member decode\n");
}

static void test_statements(void) {
    check_tree("fn f() { let a = 1; var b: u8[3]; b[1] = 2; b += 3; g(); if a { } else if b { break; } else { continue; }"
               "  while a { } loop { } for i in 0..2 { } for v in a { } return; return 1; emit 2; emit k in 0..2: 3;"
               "  require a; refuse \"no\"; }",
               "unit, version 1\n"
               "  fn f\n"
               "    let a\n"
               "      value: int 1\n"
               "    var b\n"
               "      type u8[..]\n"
               "        length: int 3\n"
               "    assign\n"
               "      place: index\n"
               "        a: name b\n"
               "        b: int 1\n"
               "      value: int 2\n"
               "    assign +=\n"
               "      place: name b\n"
               "      value: int 3\n"
               "    do\n"
               "      value: call\n"
               "        a: name g\n"
               "    if\n"
               "      value: name a\n"
               "      else\n"
               "        if\n"
               "          value: name b\n"
               "          break\n"
               "          else\n"
               "            block\n"
               "              continue\n"
               "    while\n"
               "      value: name a\n"
               "    loop\n"
               "    for i\n"
               "      range ..\n"
               "        from: int 0\n"
               "        to: int 2\n"
               "    for v\n"
               "      value: name a\n"
               "    return\n"
               "    return\n"
               "      value: int 1\n"
               "    emit\n"
               "      value: int 2\n"
               "    emit\n"
               "      binder k\n"
               "        range ..\n"
               "          from: int 0\n"
               "          to: int 2\n"
               "      value: int 3\n"
               "    require\n"
               "      value: name a\n"
               "    refuse \"no\"\n");
}

static void test_queries(void) {
    check_tree("query q(t) { param p: u8 = 3; param x: f64; input i: bool[]; result r: i64[p, 25] = sum; result s: u8 = select;"
               "  fn f(a) = a; each { r[a, b[c]] += f(1); if a == \"x\\n\" { select s = a, each = row; } } }",
               "unit, version 1\n"
               "  query q\n"
               "    of t\n"
               "    param p\n"
               "      type u8\n"
               "      value: int 3\n"
               "    param x\n"
               "      type f64\n"
               "    input i\n"
               "      type bool[]\n"
               "    result r sum\n"
               "      type i64[..]\n"
               "        length: name p\n"
               "        length: int 25\n"
               "    result s select\n"
               "      type u8\n"
               "    fn f\n"
               "      formal a\n"
               "      value: name a\n"
               "    each\n"
               "      assign +=\n"
               "        place: index\n"
               "          a: name r\n"
               "          b: name a\n"
               "          b: index\n"
               "            a: name b\n"
               "            b: name c\n"
               "        value: call\n"
               "          a: name f\n"
               "          argument: int 1\n"
               "      if\n"
               "        value: binary ==\n"
               "          a: name a\n"
               "          b: text \"x\\n\"\n"
               "        select\n"
               "          s: name a\n"
               "          each: name row\n");
    check_tree("query q(pairs) { each a in 0..n, b in a..=3 { r += b; } }", "unit, version 1\n"
                                                                            "  query q\n"
                                                                            "    of pairs\n"
                                                                            "    each\n"
                                                                            "      binder a\n"
                                                                            "        range ..\n"
                                                                            "          from: int 0\n"
                                                                            "          to: name n\n"
                                                                            "      binder b\n"
                                                                            "        range ..=\n"
                                                                            "          from: name a\n"
                                                                            "          to: int 3\n"
                                                                            "      assign +=\n"
                                                                            "        place: name r\n"
                                                                            "        value: name b\n");
    // A word of queries is one at the start of a declaration, a member or a statement only.
    check_tree("table result { query: u8 = a; each: u8 = b; } fn select(input) { input(); }"
               "query query(result) { param each: u8; each { result = input; each += select; } }",
               "unit, version 1\n"
               "  table result\n"
               "    column query\n"
               "      type u8\n"
               "      codec: codec a\n"
               "    column each\n"
               "      type u8\n"
               "      codec: codec b\n"
               "  fn select\n"
               "    formal input\n"
               "    do\n"
               "      value: call\n"
               "        a: name input\n"
               "  query query\n"
               "    of result\n"
               "    param each\n"
               "      type u8\n"
               "    each\n"
               "      assign\n"
               "        place: name result\n"
               "        value: name input\n"
               "      assign +=\n"
               "        place: name each\n"
               "        value: name select\n");
}

static void test_codecs(void) {
    check_tree("codec c: i64 = a | b(c, d: 5, e: u16?[] = g | h, i: -3, j: true) | k(); table t { x: date32 = a; }",
               "unit, version 1\n"
               "  codec c\n"
               "    type i64\n"
               "    codec: alternatives\n"
               "      alternative: codec a\n"
               "      alternative: codec b()\n"
               "        argument: codec c\n"
               "        d: int 5\n"
               "        e: alternatives\n"
               "          alternative: codec g\n"
               "          alternative: codec h\n"
               "          type u16?[]\n"
               "        i: unary -\n"
               "          a: int 3\n"
               "        j: true\n"
               "      alternative: codec k()\n"
               "  table t\n"
               "    column x\n"
               "      type date32\n"
               "      codec: codec a\n");
}

// ---- Errors ---------------------------------------------------------------------------------------------------

static void check_diagnostics(const char *text, const char *wanted) {
    parsed p = parse_text(text);
    zf_text lines = diagnostics_of(&p, ZF_DIAG_HUMAN);
    CHECK(lines.data && strcmp(lines.data, wanted) == 0, "%s\ngot\n%s\nwanted\n%s", text, lines.data, wanted);
    zf_text_free(&lines);
    parsed_free(&p);
}

// A missing token is shown where it is missing; an open bracket is pointed at; slips are recognised.
static void test_messages(void) {
    check_diagnostics("fn f() {\n    let a = 1\n    let b = 2;\n}\n",
                      "t.zf:2:14: error[ZF0110]: expected `;` after the expression, found the reserved word `let`\n"
                      "     2 |     let a = 1\n"
                      "       |              ^\n"
                      "       = hint: a `;` is missing at the end of this line\n");
    check_diagnostics("fn f() = g(1,\n  2;\n", "t.zf:2:4: error[ZF0110]: expected `)` or `,` after the expression, found `;`\n"
                                               "     2 |   2;\n"
                                               "       |    ^\n"
                                               "  t.zf:1:11: remark: this `(` is not closed\n"
                                               "     1 | fn f() = g(1,\n"
                                               "       |           ^\n");
    check_diagnostics("table t {\n    a: u8 = b;\n",
                      "t.zf:2:15: error[ZF0110]: expected a name or `}`, found the end of the file\n"
                      "     2 |     a: u8 = b;\n"
                      "       |               ^\n"
                      "  t.zf:1:9: remark: this `{` is not closed\n"
                      "     1 | table t {\n"
                      "       |         ^\n");
    check_diagnostics("fn f() { if a = b { c(); } }",
                      "t.zf:1:15: error[ZF0110]: expected `{` after the expression, found `=`\n"
                      "     1 | fn f() { if a = b { c(); } }\n"
                      "       |               ^\n"
                      "       = hint: `==` compares; `=` assigns, and only as a statement of its own\n");
    check_diagnostics("fn f() = a < b < c;", "t.zf:1:16: error[ZF0110]: expected `;` after the expression, found `<`\n"
                                             "     1 | fn f() = a < b < c;\n"
                                             "       |                ^\n"
                                             "       = hint: comparisons do not chain: write `a < b && b < c`\n");
    check_diagnostics("const a: u8 = 1\nquery q(t) { each { } }",
                      "t.zf:1:16: error[ZF0110]: expected `;` after the expression, found `query`\n"
                      "     1 | const a: u8 = 1\n"
                      "       |                ^\n"
                      "       = hint: a `;` is missing at the end of this line\n");
    check_diagnostics("query q(t) { reslt r: i64 = sum; each { } }",
                      "t.zf:1:14: error[ZF0110]: expected `}` or a member of the query, found `reslt`\n"
                      "     1 | query q(t) { reslt r: i64 = sum; each { } }\n"
                      "       |              ^^^^^\n"
                      "       = hint: did you mean `result`?\n");
    check_diagnostics("fn f() { retrun a; }", "t.zf:1:17: error[ZF0110]: expected `;` or `=`, found `a`\n"
                                              "     1 | fn f() { retrun a; }\n"
                                              "       |                 ^\n"
                                              "       = hint: did you mean `return`?\n");
}

static size_t count_decls(const parsed *p) {
    size_t count = 0;
    for (const zf_ast_decl *decl = p->unit ? p->unit->decls : NULL; decl; decl = decl->next) count++;
    return count;
}

// One slip, one error; what follows is read.
static void test_recovery(void) {
    static const struct {
        const char *text;
        uint32_t errors;
        size_t decls;
    } rows[] = {
        {"", 0, 0},
        {"zf 1;", 0, 0},
        {"fn a() = ; fn b() = 1;", 1, 1},
        {"fn a() { x y { z } w; } fn b() = 1;", 1, 2},
        {"fn a() { if x = y { z(); } else { w(); } v(; } fn b() = 1;", 2, 2},
        {"fn a( { x(); } fn b() = 1;", 1, 1},
        {"} fn a() = 1; ; fn b() = 1;", 2, 2},
        {"algorithm a(\nalgorithm b() -> u8[] fully_parallel { }", 1, 1},
        {"fn a() { loop { loop {\nalgorithm b() -> u8[] fully_parallel { }", 1, 2},
        {"codec a: = b; codec b: u8 = c;", 1, 1},
        {"table t { a: u8 = ; b: u8 = c; d u8; }", 2, 1},
        {"fn a() = 1", 1, 0},
        {"fn a() = x[; fn b() = y(; fn c() = 1;", 2, 1},
        {"zf 1; zf 1; fn a() = 1;", 1, 1},
        {"zf; fn a() = 1;", 1, 1},
        {"query a(t) { param b u8; result c: = sum; each { } } fn b() = 1;", 2, 2},
        {"query a(t) { reslt b: i64 = sum; each { c d; e(); } }", 2, 1},
        {"query a(t { each { } } query b(t) { each { } }", 1, 1},
        {"query a(t) { each { select; select b = ; } fn b() = 1; }", 2, 1},
        {"query a(t) {\nquery b(t) { each { } }", 1, 1},
        {"query a(t) { each {\nquery b(t) { each { } }", 1, 2},
        {"const a: u8 = 1\nquery b(t) { each { } }", 1, 1},
        {"fn a() { query\nb(t); }", 1, 1},
        {"{ { } fn a() = 1;", 1, 0},
        {"{ } fn a() = 1;", 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parsed p = parse_text(rows[i].text);
        zf_text lines = diagnostics_of(&p, ZF_DIAG_LINE);
        CHECK(p.errors == rows[i].errors && count_decls(&p) == rows[i].decls, "%s\n%u errors, %zu declarations\n%s", rows[i].text,
              p.errors, count_decls(&p), lines.data);
        zf_text_free(&lines);
        parsed_free(&p);
    }
}

// ---- Limits ---------------------------------------------------------------------------------------------------

// before, middle repeated, inside, after repeated, end
typedef struct nested {
    const char *before, *open, *inside, *close, *after;
    unsigned deepest; // repetitions that are allowed
} nested;

static char *repeat(const nested *shape, unsigned count) {
    zf_text text = {0};
    zf_text_puts(&text, shape->before);
    for (unsigned i = 0; i < count; i++) zf_text_puts(&text, shape->open);
    zf_text_puts(&text, shape->inside);
    for (unsigned i = 0; i < count; i++) zf_text_puts(&text, shape->close);
    zf_text_puts(&text, shape->after);
    return text.data;
}

static void check_depth(const nested *shape, unsigned count, bool too_deep) {
    char *text = repeat(shape, count);
    parsed p = parse_text(text);
    const zf_diag *diag = zf_spec_diags(p.spec)->first;
    bool reported = diag && diag->code == ZF_D_TOO_DEEP;
    CHECK(reported == too_deep && (too_deep || p.errors == 0), "%s%s.. x %u: %u errors", shape->before, shape->open, count,
          p.errors);
    if (p.unit) { // whatever came out can be walked
        zf_text out = {0};
        zf_ast_print(p.unit, &out);
        if (p.errors == 0) zf_format_unit(p.unit, &out);
        CHECK(equal_trees(p.unit, p.unit), "equal to itself");
        zf_text_free(&out);
    }
    parsed_free(&p);
    free(text);
}

static void test_depth(void) {
    enum { L = ZF_AST_DEPTH_LIMIT };
    static const nested shapes[] = {
        {"fn f() = ", "(", "1", ")", ";", L - 1},
        {"fn f() = ", "-", "1", "", ";", L - 1},
        {"fn f() = ", "1+", "1", "", ";", L - 1},
        {"fn f() = ", "a||", "1", "", ";", L - 1},
        {"fn f() = ", "a?b:", "1", "", ";", L - 1},
        {"fn f() = a", ".b", "", "", ";", L - 1},
        {"fn f() = a", "", "", "[0]", ";", L - 1},
        {"fn f() = ", "a(", "1", ")", ";", L - 1},
        {"fn f() = ", "a[", "1", "]", ";", L - 1},
        {"fn f() = ", "a[", "1", "..]", ";", L - 1},
        {"fn f() = ", "a(k in 0..1:", "1", ")", ";", L - 1},
        {"fn f() = 1", " as u8", "", "", ";", (L - 1)},
        {"fn f() = a[0, ", "(", "1", ")", "];", L - 2},
        {"query q(t) { result r: u8[1, ", "(", "1", ")", "] = sum; }", L - 2},
        {"query q(t) { each { select a = 1, b = ", "(", "1", ")", "; } }", L - 2},
        {"fn f() {", "loop {", "", "}", "}", L},
        {"fn f() {", "if a {} else ", "{}", "", "}", 0},
        {"const a: u8", "?", "", "", " = 1;", L - 1},
        {"const a: ", "unsigned(", "u8", ")", " = 1;", L - 1},
        {"codec a: u8 = ", "b(", "c", ")", ";", L - 1},
        {"codec a: u8 = ", "b(c: u8[] = ", "c", ")", ";", L - 2},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].deepest > 0) {
            check_depth(&shapes[i], shapes[i].deepest, false);
            check_depth(&shapes[i], shapes[i].deepest + 1, true);
        }
        check_depth(&shapes[i], 5000, true);
        check_depth(&shapes[i], 100000, true);
    }
    // Every layer of the grammar at each of many levels: within the parser's own stack.
    static const nested layers = {"fn f() = ", "a?b:a||a&&a==a|a^a&a<<a+a*-a[(", "1", ")]", ";", 0};
    check_depth(&layers, 15, false);
    check_depth(&layers, 200, true);
    // Long is not deep.
    static const nested list = {"const A: u8[1] = [", "1,", "1", "", "];", 0};
    check_depth(&list, 100000, false);
    static const nested stmts = {"fn f() {", "a();", "", "", "}", 0};
    check_depth(&stmts, 100000, false);
    static const nested indices = {"fn f() = a[", "1,", "1", "", "];", 0};
    check_depth(&indices, 100000, false);
    static const nested selects = {"query q(t) { each { select ", "a=1,", "a=1", "", "; } }", 0};
    check_depth(&selects, 100000, false);
    static const nested members = {"query q(t) {", "param a: u8;", "", "", "}", 0};
    check_depth(&members, 100000, false);
    static const nested alts = {"codec a: u8 = ", "b|", "b", "", ";", 0};
    check_depth(&alts, 100000, false);
}

static void test_many_errors(void) {
    static const nested errors = {"", "fn f() { a b; }\n", "", "", "", 0};
    char *text = repeat(&errors, 5000);
    parsed p = parse_text(text);
    zf_text lines = diagnostics_of(&p, ZF_DIAG_HUMAN);
    CHECK(p.errors == 5000 && strstr(lines.data, "4900 more errors"), "%u errors", p.errors);
    zf_text_free(&lines);
    parsed_free(&p);
    free(text);
}

// ---- Files cut anywhere ---------------------------------------------------------------------------------------

static unsigned cut_count;

// A declaration without its end is an error, wherever it ends.
static void cut_declaration(const char *path, const char *text, size_t length) {
    char *copy = malloc(length + 1);
    if (!copy) return;
    for (size_t cut = 1; cut < length; cut++) {
        memcpy(copy, text, cut);
        copy[cut] = 0;
        parsed p = parse_bytes(copy, cut);
        CHECK(p.errors > 0, "%s: cut to %zu bytes: %s", path, cut, copy);
        if (cut % 16 == 0) {
            zf_text lines = diagnostics_of(&p, ZF_DIAG_HUMAN);
            CHECK(lines.length > 0 && !lines.failed, "%s", path);
            zf_text_free(&lines);
        }
        parsed_free(&p);
        cut_count++;
    }
    free(copy);
}

static void cut_file(const char *path, const char *text, size_t length) {
    parsed p = parse_bytes(text, length);
    CHECK(p.errors == 0, "%s", path);
    for (const zf_ast_decl *decl = p.unit ? p.unit->decls : NULL; decl; decl = decl->next) {
        cut_declaration(path, text + decl->span.begin, decl->span.end - decl->span.begin);
    }
    parsed_free(&p);
}

// Bytes exchanged for others that open, close or separate: anything may come out, but nothing may go wrong.
static void damage_file(const char *path, const char *text, size_t length) {
    static const char bytes[] = ";{}()[]\"'=.,:x0 \n\\/\xff";
    char *copy = malloc(length + 1);
    if (!copy) return;
    memcpy(copy, text, length + 1);
    uint32_t seed = (uint32_t)length;
    for (size_t step = 0; step < 200; step++) {
        seed = seed * 1664525u + 1013904223u;
        size_t at = (seed >> 8) % length;
        copy[at] = bytes[(seed >> 4) % (sizeof bytes - 1)];
        parsed p = parse_bytes(copy, length);
        zf_text lines = diagnostics_of(&p, ZF_DIAG_JSON);
        CHECK(lines.length > 0 && !lines.failed, "%s", path);
        zf_text_free(&lines);
        parsed_free(&p);
        if (step % 4 == 3) memcpy(copy, text, length + 1);
    }
    free(copy);
}

int main(void) {
    test_trees();
    test_statements();
    test_codecs();
    test_queries();
    test_messages();
    test_recovery();
    test_depth();
    test_many_errors();
    CHECK(for_each_library_file(cut_file) >= 5, "the library was not found");
    CHECK(cut_count > 10000, "%u cuts", cut_count);
    for_each_library_file(damage_file);
    return check_result();
}

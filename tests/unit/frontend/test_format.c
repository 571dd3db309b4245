// Links: zipflow-frontend
// The canonical layout: what it looks like, that it changes no meaning, loses no comment, and is its own layout.
#include "tests/support/ast_equal.h"
#include "tests/unit/parse_text.h"

static zf_text format_of(const parsed *p) {
    zf_text out = {0};
    zf_text_puts(&out, "");
    if (p->unit) zf_format_unit(p->unit, &out);
    return out;
}

static void check_layout(const char *text, const char *wanted) {
    parsed p = parse_text(text);
    zf_text out = format_of(&p);
    CHECK(p.errors == 0 && strcmp(out.data, wanted) == 0, "%s\ngot\n%s\nwanted\n%s", text, out.data, wanted);
    zf_text_free(&out);
    parsed_free(&p);
}

// ---- Identity -------------------------------------------------------------------------------------------------

static bool same_comments(const parsed *a, const parsed *b) {
    const zf_ast_comment *ca = a->unit->comments, *cb = b->unit->comments;
    for (; ca && cb; ca = ca->next, cb = cb->next) {
        size_t length = ca->span.end - ca->span.begin;
        if (length != cb->span.end - cb->span.begin) return false;
        if (memcmp(a->source->text + ca->span.begin, b->source->text + cb->span.begin, length) != 0) return false;
    }
    return !ca && !cb;
}

static unsigned formatted;

// False when the text does not parse; else checks everything that a layout must keep.
static bool check_identity(const char *what, const char *text, size_t length) {
    parsed first = parse_bytes(text, length);
    if (first.errors > 0) {
        parsed_free(&first);
        return false;
    }
    formatted++;
    zf_text once = format_of(&first);
    parsed second = parse_bytes(once.data, once.length);
    CHECK(second.errors == 0, "%s: the layout does not parse:\n%s", what, once.data);
    if (second.errors == 0) {
        CHECK(equal_trees(first.unit, second.unit), "%s: another tree:\n%s", what, once.data);
        CHECK(same_comments(&first, &second), "%s: other comments:\n%s", what, once.data);
        zf_text twice = format_of(&second);
        CHECK(strcmp(once.data, twice.data) == 0, "%s: the layout of\n%s\nis\n%s", what, once.data, twice.data);
        zf_text_free(&twice);
    }
    CHECK(once.length == 0 || once.data[once.length - 1] == '\n', "%s: the last line ends", what);
    CHECK(!strstr(once.data, " \n") && !strstr(once.data, "\n\n\n"), "%s: spaces or lines too many:\n%s", what, once.data);
    zf_text_free(&once);
    parsed_free(&second);
    parsed_free(&first);
    return true;
}

static void check_file(const char *path, const char *text, size_t length) {
    CHECK(check_identity(path, text, length), "%s does not parse", path);
}

// A comment put at any place stays, and so does everything else.
static void insert_comments(const char *path, const char *text, size_t length) {
    static const char *const comments[] = {" // c\n", "\n// c\n", "\n\n// c\n\n"};
    parsed p = parse_bytes(text, length);
    char *copy = malloc(length + 16);
    for (const zf_ast_decl *decl = p.unit ? p.unit->decls : NULL; copy && decl; decl = decl->next) {
        if (decl->kind == ZF_AD_TABLE) continue; // a comment before a column's `;` moves behind it, and ends a section there
        const char *from = text + decl->span.begin;
        size_t size = decl->span.end - decl->span.begin;
        // Every place of small declarations, some of large ones.
        for (size_t at = 0; at <= size; at += size < 700 ? 1 : 7) {
            const char *comment = comments[at % 3];
            size_t added = strlen(comment);
            memcpy(copy, from, at);
            memcpy(copy + at, comment, added);
            memcpy(copy + at + added, from + at, size - at);
            copy[size + added] = 0;
            check_identity(path, copy, size + added);
        }
    }
    free(copy);
    parsed_free(&p);
}

// A comment behind every sign at once, so that several meet between two words.
static void comment_every_sign(const char *path, const char *text, size_t length) {
    zf_text full = {0};
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '/' && i + 1 < length && text[i + 1] == '/') {
            while (i < length && text[i] != '\n') i++;
        }
        if (text[i] == '"' || text[i] == '\'') {
            char quote = text[i];
            do zf_text_add(&full, text + i++, 1);
            while (i < length && text[i] != quote);
        }
        zf_text_add(&full, text + i, 1);
        bool is_sign = strchr("(){}[]:;,?~", text[i]) != NULL;
        if (is_sign) zf_text_puts(&full, i % 3 == 0 ? "\n// c\n" : " // c\n");
    }
    CHECK(check_identity(path, full.data, full.length), "%s, comments at every sign", path);
    zf_text_free(&full);
}

// Names made longer make every line too long somewhere.
static void stretch(const char *path, const char *text, size_t length) {
    for (unsigned factor = 2; factor <= 16; factor *= 2) {
        zf_text longer = {0};
        for (size_t i = 0; i < length; i++) {
            bool in_comment = text[i] == '/' && i + 1 < length && text[i + 1] == '/';
            if (in_comment) {
                while (i < length && text[i] != '\n') i++;
            }
            if (text[i] == '"') { // strings are paths and reasons
                do zf_text_add(&longer, text + i++, 1);
                while (i < length && text[i] != '"');
            }
            bool ends_name = text[i] == 'x' || text[i] == 'k' || text[i] == 'd' || text[i] == 'g';
            char next = i + 1 < length ? text[i + 1] : 0, before = i > 0 ? text[i - 1] : 0;
            zf_text_add(&longer, text + i, 1);
            bool word_before = (before >= 'a' && before <= 'z') || (before >= '0' && before <= '9') || before == '_';
            bool word_after = (next >= 'a' && next <= 'z') || (next >= '0' && next <= '9') || next == '_';
            for (unsigned n = 1; ends_name && !word_before && !word_after && n < factor; n++) zf_text_add(&longer, text + i, 1);
        }
        CHECK(check_identity(path, longer.data, longer.length), "%s, names x %u", path, factor);
        zf_text_free(&longer);
    }
}

// ---- Looks ----------------------------------------------------------------------------------------------------

static void test_looks(void) {
    check_layout("", "");
    check_layout("\n\n// only a comment\n\n\n", "// only a comment\n");
    check_layout("zf 1 ;\n\n\n\nimport   \"a.zf\"  ;import \"b\\\\c\";", "zf 1;\n\nimport \"a.zf\";\nimport \"b\\\\c\";\n");
    check_layout("fn f(a,var b:u8[],c:unsigned( T ))->u8[ 3 ]=a+b [ 0 ]as u8*-c;",
                 "fn f(a, var b: u8[], c: unsigned(T)) -> u8[3] = a + b[0] as u8 * -c;\n");
    check_layout("const A:u8[2]=[0x1F,'\\n' , 1_000];", "const A: u8[2] = [0x1F, '\\n', 1_000];\n");
    // Ranges have spaces only behind an operand with spaces.
    check_layout("fn f(a) { for i in 0 .. a.len { } for i in a+1..=a { } a[ 1 .. ].b(a[..= 2], a[a - 1 ..]); }",
                 "fn f(a) {\n"
                 "    for i in 0..a.len {}\n"
                 "    for i in a + 1 ..= a {}\n"
                 "    a[1..].b(a[..=2], a[a - 1 ..]);\n"
                 "}\n");
    check_layout("fn f() { var a: u8[32*256]; a[1+2]+=b[c*d]; }", "fn f() {\n"
                                                                  "    var a: u8[32 * 256];\n"
                                                                  "    a[1 + 2] += b[c * d];\n"
                                                                  "}\n");
    // A block of one statement stands on its line, two blocks deep at most; choices only over simple statements.
    check_layout(
        "fn f(a) { g(); }\nfn f(a) { g(); h(); }\nfn f() { if a { b(); } else { c(); } if a { b(); } else if c { d(); } }"
        "fn f() { for i in a { if i { for j in i { g(); } } } }",
        "fn f(a) { g(); }\n"
        "fn f(a) {\n"
        "    g();\n"
        "    h();\n"
        "}\n"
        "fn f() {\n"
        "    if a { b(); } else { c(); }\n"
        "    if a {\n"
        "        b();\n"
        "    } else if c {\n"
        "        d();\n"
        "    }\n"
        "}\n"
        "fn f() {\n"
        "    for i in a {\n"
        "        if i { for j in i { g(); } }\n"
        "    }\n"
        "}\n");
    check_layout("table t { a: u8 = b; long_name: decimal(15,2)?=c(d,e:u8[]=f|g,h:-1);\n\n c:u8=d|e; } table u { }",
                 "table t {\n"
                 "    a:         u8              = b;\n"
                 "    long_name: decimal(15, 2)? = c(d, e: u8[] = f | g, h: -1);\n"
                 "\n"
                 "    c: u8 = d | e;\n"
                 "}\n"
                 "table u {}\n");
    check_layout(
        "algorithm a<T:integer,W=u8>(s:T[]per chunk in 1..,param p:u8 in..=3=2)->T?[]non_parallel(chunk=2){groups=1;"
        "size(g)=2;state x:u8=3;encode extern \"c\";decode{}}",
        "algorithm a<T: integer, W = u8>(s: T[] per chunk in 1.., param p: u8 in ..=3 = 2) -> T?[] non_parallel(chunk = 2) {\n"
        "    groups = 1;\n"
        "    size(g) = 2;\n"
        "    state x: u8 = 3;\n"
        "    encode extern \"c\";\n"
        "    decode {}\n"
        "}\n");
}

static void test_wrapping(void) {
    check_layout(
        "algorithm bitpack<T: integer, W: unsigned = u32>(packed: W[], param width: u8 in 0..=8 * sizeof(T), param base: T) -> "
        "T[]"
        " fully_parallel { decode(i) = 1; }",
        "algorithm bitpack<T: integer, W: unsigned = u32>(packed: W[], param width: u8 in 0..=8 * sizeof(T), param base: T)\n"
        "    -> T[] fully_parallel\n"
        "{\n"
        "    decode(i) = 1;\n"
        "}\n");
    check_layout("algorithm a(first_stream_with_a_name: u32[] per chunk, second_stream_with_a_name: u32[] per chunk, "
                 "third_stream_with_a_name: u8[])"
                 " -> u8[] fully_parallel { decode(i) = 1; }",
                 "algorithm a(\n"
                 "    first_stream_with_a_name: u32[] per chunk,\n"
                 "    second_stream_with_a_name: u32[] per chunk,\n"
                 "    third_stream_with_a_name: u8[]\n"
                 ") -> u8[] fully_parallel {\n"
                 "    decode(i) = 1;\n"
                 "}\n");
    check_layout(
        "fn f() = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb * cccccccccccccccccccccc + "
        "d;",
        "fn f() =\n"
        "    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb * cccccccccccccccccccccc + d;\n");
    check_layout("fn f() = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb ? "
                 "ccccccccccccccccccccccccccccccc"
                 " : ddddddddddddddddd;",
                 "fn f() =\n"
                 "    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
                 "        ? ccccccccccccccccccccccccccccccc\n"
                 "        : ddddddddddddddddd;\n");
    check_layout("fn f() = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa && (bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb + "
                 "ccccccccccccccccccccccc"
                 " + dddddddddddddddddddddddddddddddddddd) && aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + "
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                 " + dddddddddddddddddddddddddddddddddddd;",
                 "fn f() =\n"
                 "    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
                 "    && (\n"
                 "        bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb + ccccccccccccccccccccccc + "
                 "dddddddddddddddddddddddddddddddddddd\n"
                 "    )\n"
                 "    && aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
                 "        + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
                 "        + dddddddddddddddddddddddddddddddddddd;\n");
    check_layout("fn f() { require aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa && bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb && "
                 "ccccccccccccccccccccccccccccc;"
                 " emit k in 0..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: "
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;"
                 " while aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa && bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb && "
                 "ccccccccccccccccccccccccccccc { d(); }"
                 " d(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb); }",
                 "fn f() {\n"
                 "    require aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
                 "        && bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
                 "        && ccccccccccccccccccccccccccccc;\n"
                 "    emit k in 0..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:\n"
                 "        bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;\n"
                 "    while aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
                 "            && bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
                 "            && ccccccccccccccccccccccccccccc {\n"
                 "        d();\n"
                 "    }\n"
                 "    d(\n"
                 "        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,\n"
                 "        bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
                 "    );\n"
                 "}\n");
}

static void test_queries(void) {
    check_layout("query  q ( t ){param p:u8;param x:f64=1.5 ; input i:u8[ ];result r:i64[p+1,25 , 2]=sum;result s:u8=select;"
                 "fn f(a)=2*a;each{r[ a-1,b,0 ]+=f( c );select s=d as u8;}}",
                 "query q(t) {\n"
                 "    param p: u8;\n"
                 "    param x: f64 = 1.5;\n"
                 "    input i: u8[];\n"
                 "    result r: i64[p + 1, 25, 2] = sum;\n"
                 "    result s: u8 = select;\n"
                 "    fn f(a) = 2 * a;\n"
                 "    each {\n"
                 "        r[a - 1, b, 0] += f(c);\n"
                 "        select s = d as u8;\n"
                 "    }\n"
                 "}\n");
    check_layout("query q(t){}query r(t){each{}}query s(t){each{if a==\"x\\\"\\n\"{select b=1,c=d;}}}",
                 "query q(t) {}\n"
                 "query r(t) {\n"
                 "    each {}\n"
                 "}\n"
                 "query s(t) {\n"
                 "    each { if a == \"x\\\"\\n\" { select b = 1, c = d; } }\n"
                 "}\n");
    check_layout(
        "query q(pairs){each  a in 0 ..n,b in a+1..=n{r[a,b]+=1;}}query r(pairs){each a in "
        "0..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,b in a..bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb{}}",
        "query q(pairs) {\n"
        "    each a in 0..n, b in a + 1 ..= n { r[a, b] += 1; }\n"
        "}\n"
        "query r(pairs) {\n"
        "    each a in 0..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,\n"
        "        b in a..bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb {}\n"
        "}\n");
    // Words of queries are names of columns, params and functions.
    check_layout("table select{query:u8=a;input:u8=a;result:u8=a;each:u8=a;}fn query(input,result)=input+result;"
                 "query each(select){param select:u8;each{let query=input+result;}}",
                 "table select {\n"
                 "    query:  u8 = a;\n"
                 "    input:  u8 = a;\n"
                 "    result: u8 = a;\n"
                 "    each:   u8 = a;\n"
                 "}\n"
                 "fn query(input, result) = input + result;\n"
                 "query each(select) {\n"
                 "    param select: u8;\n"
                 "    each { let query = input + result; }\n"
                 "}\n");
    check_layout(
        "query q(t) { result r: i64[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + 1, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb + 1, "
        "ccccccccccccccccccccc] = sum; each {"
        " select aaaaaaaaaaaaaaaaaaaaaaaaaaa = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, b = bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;"
        " r[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, "
        "cccccccccccccccccccccccc] += 1; } }",
        "query q(t) {\n"
        "    result r: i64[\n"
        "        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + 1, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb + 1, ccccccccccccccccccccc\n"
        "    ] = sum;\n"
        "    each {\n"
        "        select aaaaaaaaaaaaaaaaaaaaaaaaaaa = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,\n"
        "            b = bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;\n"
        "        r[\n"
        "            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,\n"
        "            bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,\n"
        "            cccccccccccccccccccccccc\n"
        "        ] += 1;\n"
        "    }\n"
        "}\n");
    check_layout("query q(t) { // opens\n\n\n  // a param\n param p: u8; // of p\n  // last\n each { // rows\n select a = 1, "
                 "// one\n // two\n b = 2; // both\n r[a, // index\n b] += 1; } // end\n } // of q",
                 "query q(t) { // opens\n"
                 "    // a param\n"
                 "    param p: u8; // of p\n"
                 "    // last\n"
                 "    each { // rows\n"
                 "        select a = 1, // one\n"
                 "            // two\n"
                 "            b = 2; // both\n"
                 "        r[\n"
                 "            a, // index\n"
                 "            b\n"
                 "        ] += 1;\n"
                 "    } // end\n"
                 "}     // of q\n");
}

// Every part of a tree counts for equality: the property above is worth no more than that.
static void test_equality(void) {
    static const char *const texts[] = {
        "zf 1;",
        "fn f() = 1;",
        "fn g() = 1;",
        "fn f() = 2;",
        "fn f() = 1.0;",
        "fn f() = 2.0;",
        "fn f() = '\\x01';",
        "fn f() = true;",
        "fn f() = false;",
        "fn f() = null;",
        "fn f() = (1);",
        "fn f() = a;",
        "fn f() = b;",
        "fn f() = a.b;",
        "fn f() = a.c;",
        "fn f() = a[b];",
        "fn f() = a[b..];",
        "fn f() = a[..b];",
        "fn f() = a[..=b];",
        "fn f() = a();",
        "fn f() = a(b);",
        "fn f() = a(b, b);",
        "fn f() = a(k in b..c: d);",
        "fn f() = a(k in b..=c: d);",
        "fn f() = a(j in b..c: d);",
        "fn f() = a(k in b..c, j in b..c: d);",
        "fn f() = -a;",
        "fn f() = ~a;",
        "fn f() = a + b;",
        "fn f() = a - b;",
        "fn f() = b + a;",
        "fn f() = a ? b : c;",
        "fn f() = a as u8;",
        "fn f() = a as u16;",
        "fn f() = a as unsigned(T);",
        "fn f() -> u8 = 1;",
        "fn f() -> u8? = 1;",
        "fn f() -> u8[] = 1;",
        "fn f() -> u8[1] = 1;",
        "fn f(a) = 1;",
        "fn f(b) = 1;",
        "fn f(a: u8) = 1;",
        "fn f(var a: u8) = 1;",
        "fn f() { }",
        "fn f() { return; }",
        "fn f() { return 1; }",
        "fn f() { break; }",
        "fn f() { continue; }",
        "fn f() { let a = 1; }",
        "fn f() { let b = 1; }",
        "fn f() { let a: u8 = 1; }",
        "fn f() { var a = 1; }",
        "fn f() { var a: u8; }",
        "fn f() { a = 1; }",
        "fn f() { a += 1; }",
        "fn f() { a -= 1; }",
        "fn f() { b = 1; }",
        "fn f() { a(); }",
        "fn f() { if a { } }",
        "fn f() { if a { b(); } }",
        "fn f() { if a { } else { } }",
        "fn f() { if a { } else { b(); } }",
        "fn f() { if a { } else if b { } }",
        "fn f() { while a { } }",
        "fn f() { loop { } }",
        "fn f() { for i in a { } }",
        "fn f() { for j in a { } }",
        "fn f() { for i in a..b { } }",
        "fn f() { for i in a..=b { } }",
        "fn f() { emit a; }",
        "fn f() { emit k in 0..1: a; }",
        "fn f() { require a; }",
        "fn f() { refuse \"a\"; }",
        "fn f() { refuse \"b\"; }",
        "import \"a\";",
        "import \"b\";",
        "const f: u8 = 1;",
        "const f: u16 = 1;",
        "const f: u8 = [1];",
        "const f: u8 = [1, 1];",
        "const f: decimal(1, 2) = 1;",
        "const f: decimal(1, 3) = 1;",
        "codec f: u8 = a;",
        "codec f: u8 = b;",
        "codec f: u8 = a();",
        "codec f: u8 = a(b);",
        "codec f: u8 = a(b, b);",
        "codec f: u8 = a(c: b);",
        "codec f: u8 = a(c: u8[] = b);",
        "codec f: u8 = a(c: u8?[] = b);",
        "codec f: u8 = a(1);",
        "codec f: u8 = a(-1);",
        "codec f: u8 = a | b;",
        "codec f: u8 = b | a;",
        "table f { }",
        "table g { }",
        "table f { a: u8 = b; }",
        "table f { c: u8 = b; }",
        "table f { a: u8? = b; }",
        "table f { a: u8 = c; }",
        "table f { a: list<u8> = b; }",
        "table f { a: list<u8>? = b; }",
        "table f { a: list<u8?> = b; }",
        "table f { a: set<u8> = b; }",
        "table f { a: list<u8> = b, c: d; }",
        "table f { a: list<u8> = b, d: d; }",
        "table f { a: list<u8> = b, c: e; }",
        "table f { a: list<u8> = b, c: d, c: d; }",
        "algorithm f() -> u8[] fully_parallel { }",
        "algorithm f() -> u16[] fully_parallel { }",
        "algorithm f() -> u8[] group_parallel { }",
        "algorithm f() -> u8[] non_parallel { }",
        "algorithm f() -> u8[] non_parallel(a = 1) { }",
        "algorithm f() -> u8[] non_parallel(b = 1) { }",
        "algorithm f() -> u8[] non_parallel(a = 2) { }",
        "algorithm f<T>() -> u8[] fully_parallel { }",
        "algorithm f<T: a>() -> u8[] fully_parallel { }",
        "algorithm f<T = u8>() -> u8[] fully_parallel { }",
        "algorithm f(a: u8) -> u8[] fully_parallel { }",
        "algorithm f(param a: u8) -> u8[] fully_parallel { }",
        "algorithm f(a: u8 per chunk) -> u8[] fully_parallel { }",
        "algorithm f(a: u8 per column) -> u8[] fully_parallel { }",
        "algorithm f(a: u8 in 1..) -> u8[] fully_parallel { }",
        "algorithm f(param a: u8 = 1) -> u8[] fully_parallel { }",
        "algorithm f() -> u8[] fully_parallel { a = 1; }",
        "algorithm f() -> u8[] fully_parallel { b = 1; }",
        "algorithm f() -> u8[] fully_parallel { a() = 1; }",
        "algorithm f() -> u8[] fully_parallel { a(b) = 1; }",
        "algorithm f() -> u8[] fully_parallel { a { } }",
        "algorithm f() -> u8[] fully_parallel { a() { } }",
        "algorithm f() -> u8[] fully_parallel { a extern \"b\"; }",
        "algorithm f() -> u8[] fully_parallel { a extern \"c\"; }",
        "algorithm f() -> u8[] fully_parallel { state a: u8 = 1; }",
        "algorithm f() -> u8[] fully_parallel { fn a() = 1; }",
        "algorithm f() -> u8[] fully_parallel { fn a() = 2; }",
        "fn f() = \"a\";",
        "fn f() = \"b\";",
        "fn f() = a[b, b];",
        "fn f() = a[b, c];",
        "query f(t) { }",
        "query g(t) { }",
        "query f(u) { }",
        "query f(t) { param a: u8; }",
        "query f(t) { param b: u8; }",
        "query f(t) { param a: u16; }",
        "query f(t) { param a: u8 = 1; }",
        "query f(t) { param a: u8 = 2; }",
        "query f(t) { input a: u8; }",
        "query f(t) { input a: u8[]; }",
        "query f(t) { result a: u8 = b; }",
        "query f(t) { result a: u8 = c; }",
        "query f(t) { result a: u8[1] = b; }",
        "query f(t) { result a: u8[1, 1] = b; }",
        "query f(t) { result a: u8[1, 2] = b; }",
        "query f(t) { result a: u8[1, 1, 1] = b; }",
        "query f(t) { fn a() = 1; }",
        "query f(t) { fn a() = 2; }",
        "query f(t) { each { } }",
        "query f(t) { each { a(); } }",
        "query f(t) { each { } each { } }",
        "query f(t) { each { select a = 1; } }",
        "query f(t) { each { select b = 1; } }",
        "query f(t) { each { select a = 2; } }",
        "query f(t) { each { select a = 1, b = 1; } }",
        "fn f() = 1; fn f() = 1;",
    };
    enum { COUNT = sizeof texts / sizeof *texts };
    static parsed trees[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        trees[i] = parse_text(texts[i]);
        CHECK(trees[i].errors == 0, "%s", texts[i]);
        check_identity("a small text", texts[i], strlen(texts[i]));
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            CHECK(equal_trees(trees[i].unit, trees[k].unit) == (i == k), "%s and %s", texts[i], texts[k]);
        }
    }
    for (size_t i = 0; i < COUNT; i++) parsed_free(&trees[i]);
}

static void test_comments(void) {
    check_layout("// head\n\n\n// of f\nfn f() { // opens\n\n  // first\n  g(); // of g\n\n\n  // second\n\n  h();\n  // "
                 "last\n\n} // of f\n// end",
                 "// head\n"
                 "\n"
                 "// of f\n"
                 "fn f() { // opens\n"
                 "    // first\n"
                 "    g(); // of g\n"
                 "\n"
                 "    // second\n"
                 "\n"
                 "    h();\n"
                 "    // last\n"
                 "} // of f\n"
                 "// end\n");
    // Comments at the ends of neighbouring lines are aligned.
    check_layout("fn f() {\n a(); // one\n bbbb(); // two\n c();\n d(); // three\n}", "fn f() {\n"
                                                                                      "    a();    // one\n"
                                                                                      "    bbbb(); // two\n"
                                                                                      "    c();\n"
                                                                                      "    d(); // three\n"
                                                                                      "}\n");
    check_layout("fn f() = g(a, // one\n b // two\n);", "fn f() = g(\n"
                                                        "    a, // one\n"
                                                        "    b  // two\n"
                                                        ");\n");
    check_layout("table t { a: list< u8 ? > ?=b|c,v:d(e,f:1),w : g; b:u8=c; l: list<list<u8>> =x,y:z|z; }",
                 "table t {\n"
                 "    a: list<u8?>?     = b | c, v: d(e, f: 1), w: g;\n"
                 "    b: u8             = c;\n"
                 "    l: list<list<u8>> = x, y: z | z;\n"
                 "}\n");
    check_layout("table t { a: list<u8> = b, // ends\n v: c, // one\n // two\n w: d; // last\n }",
                 "table t {\n"
                 "    a: list<u8> = b, // ends\n"
                 "        v: c,        // one\n"
                 "        // two\n"
                 "        w: d; // last\n"
                 "}\n");
    check_layout("table t { // what\n a: u8 = b; // one\n // two\n c: u16 = d; }", "table t { // what\n"
                                                                                   "    a: u8 = b; // one\n"
                                                                                   "    // two\n"
                                                                                   "    c: u16 = d;\n"
                                                                                   "}\n");
    check_layout("fn f() { emit k in 0..a // one\n: // two\n b; }", "fn f() {\n"
                                                                    "    emit k in 0..a: // one\n"
                                                                    "        // two\n"
                                                                    "        b;\n"
                                                                    "}\n");
    check_layout("fn f() { if a { b(); } // not a\n else { c(); } }", "fn f() {\n"
                                                                      "    if a {\n"
                                                                      "        b();\n"
                                                                      "    } // not a\n"
                                                                      "    else {\n"
                                                                      "        c();\n"
                                                                      "    }\n"
                                                                      "}\n");
}

int main(void) {
    test_looks();
    test_wrapping();
    test_queries();
    test_equality();
    test_comments();
    CHECK(for_each_library_file(check_file) >= 5, "the library was not found");
    for_each_library_file(stretch);
    for_each_library_file(comment_every_sign);
    formatted = 0;
    for_each_library_file(insert_comments);
    CHECK(formatted > 3000, "%u texts with comments", formatted);
    return check_result();
}

// Links: zipflow-frontend
// Canonical text: a unit that stands alone, is its own canonical text, and means the same.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/spec/spec_internal.h"
#include "tests/unit/check.h"

static zf_spec *spec_of(const char *const *texts, size_t count) {
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.no_std = true});
    bool ok = true;
    for (size_t k = 0; k < count; k++) ok = zf_spec_add_text(spec, "text", texts[k], strlen(texts[k])) && ok;
    ok = ok && zf_spec_check(spec);
    zf_text found = {0};
    if (!ok) zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &found);
    CHECK(ok, "%s\n%s", texts[count - 1], found.data);
    zf_text_free(&found);
    return spec;
}

/// All instances of a choice, as their typed trees.
static void print_instances(const zf_codec_choice *choice, zf_text *out) {
    for (uint32_t k = 0; k < choice->count; k++) {
        const zf_codec_node *node = choice->alternatives[k];
        zf_inst_print(node->inst, out);
        for (uint32_t p = 0; p < node->inst->param_count; p++)
            zf_text_printf(out, "%d %llu\n", node->param_given[p], (unsigned long long)node->param_bits[p]);
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            if (node->streams[s] != NULL) print_instances(node->streams[s], out);
        }
    }
}

/// The canonical text of the only table, which is checked to be its own. `renamed`: names clash, so trees are not
/// compared.
static zf_text canonical(zf_spec *spec, bool renamed) {
    zf_text first = {0}, second = {0};
    const zf_table *from = zf_spec_find_table(spec, NULL);
    CHECK(from != NULL && zf_canonical_table(spec, from, &first), "canonical text");
    if (first.data == NULL) return first;
    const char *texts[] = {first.data};
    zf_spec *again = spec_of(texts, 1);
    const zf_table *to = zf_spec_find_table(again, NULL);
    CHECK(to != NULL && zf_canonical_table(again, to, &second) && strcmp(first.data, second.data) == 0,
          "canonical of canonical:\n%s\n%s", first.data, second.data == NULL ? "nothing" : second.data);
    const zf_column *a = from == NULL ? NULL : from->columns, *b = to == NULL ? NULL : to->columns;
    for (; a != NULL && b != NULL; a = a->next, b = b->next) {
        CHECK(zf_type_equal(a->type, b->type) && a->choice_count == b->choice_count, "column %s", a->name);
        zf_text trees_a = {0}, trees_b = {0};
        print_instances(a->codec, &trees_a);
        print_instances(b->codec, &trees_b);
        CHECK(renamed ? trees_b.length > 0 : trees_a.length > 0 && strcmp(trees_a.data, trees_b.data) == 0, "column %s:\n%s\n%s",
              a->name, trees_a.data, trees_b.data);
        zf_text_free(&trees_a);
        zf_text_free(&trees_b);
    }
    CHECK(a == NULL && b == NULL, "as many columns");
    zf_text_free(&second);
    zf_spec_destroy(again);
    return first;
}

#define ENCODE "encode(x) { for v in x { s.push(v); } }"

static void test_text(void) {
    const char *texts[] = {"// A comment.\n"
                           "const UNUSED: u8 = 1;\n"
                           "const BASE : u32 = 0x1_0; // in the table below\n"
                           "const TABLE: u32[2]=[BASE,2];\n"
                           "fn unused(x: u32) = x;\n"
                           "fn twice(x: u32)->u32 = 2*x + TABLE [ 1 ];\n"
                           "codec inner: u32 = id(s: id);\n"
                           "algorithm id<T>(s:T[])->T[] fully_parallel{decode(i)=s[i]; " ENCODE "}\n"
                           "algorithm   plus( s: u32[] ,param  p:u8 in 0 ..= 4 = 1, param q: u8 in 1 .. = 2)\n"
                           "  -> u32[] fully_parallel // why\n"
                           "{ decode(i) { let TABLE = s[ i ]; // a local of that name\n"
                           "    return twice(TABLE) - - TABLE + 'a' as u32 + (TABLE == 3 ? 1 : 0); }\n" ENCODE " }\n"
                           "table t { first: date32 = id; b: u32? = id | id; c: u32 = plus(inner, p: 3);\n"
                           "    l: list<decimal(4,2)?> ?=id,values:id|id,validity: id; m: list<u32> =id, values: inner; }\n"};
    zf_spec *spec = spec_of(texts, 1);
    zf_text text = canonical(spec, false);
    static const char want[] = "zf 1;\n"
                               "algorithm id<T>(s: T[]) -> T[] fully_parallel { decode(i) = s[i]; encode(x) { for "
                               "v in x { s.push(v); } } }\n"
                               "const BASE: u32 = 0x1_0;\n"
                               "const TABLE: u32[2] = [BASE, 2];\n"
                               "fn twice(x: u32) -> u32 = 2 * x + TABLE[1];\n"
                               "algorithm plus(s: u32[], param p: u8 in 0..=4 = 1, param q: u8 in 1.. = 2) -> u32[] "
                               "fully_parallel { decode(i) { let TABLE = s[i]; return twice(TABLE) - - "
                               "TABLE + 'a' as u32 + (TABLE == 3 ? 1 : 0); } encode(x) { for v in x { s.push(v); } } }\n"
                               "table t {\n"
                               "    first: date32 = id;\n"
                               "    b: u32? = id | id;\n"
                               "    c: u32 = plus(s: id(s: id), p: 3);\n"
                               "    l: list<decimal(4, 2)?>? = id, validity: id, values: id | id;\n"
                               "    m: list<u32> = id, values: id(s: id);\n"
                               "}\n";
    CHECK(text.data != NULL && strcmp(text.data, want) == 0, "have\n%swant\n%s", text.data, want);
    zf_text_free(&text);
    zf_spec_destroy(spec);
}

/// Declarations of one name from different files live in one unit.
/// The canonical text of the table declares what the table's list says, with the same identities, whatever names it takes.
static void check_lists(zf_spec *spec, const char *text, uint32_t count) {
    const char *texts[] = {text};
    zf_spec *again = spec_of(texts, 1);
    zf_declarations of_table = {0}, of_text = {0};
    CHECK(zf_table_declarations(spec, zf_spec_find_table(spec, NULL), &of_table), "no memory");
    CHECK(zf_text_declarations(again, false, &of_text), "no memory");
    CHECK(of_table.count == count && of_text.count == count, "%u and %u of %u", of_table.count, of_text.count, count);
    for (uint32_t k = 0; k < of_table.count && k < of_text.count; k++) {
        const zf_declaration *x = &of_table.items[k], *y = &of_text.items[k];
        CHECK(strcmp(x->name, y->name) == 0 && strcmp(x->kind, y->kind) == 0, "%s %s, %s %s", x->kind, x->name, y->kind, y->name);
        CHECK(memcmp(x->identity, y->identity, sizeof x->identity) == 0, "%s", x->name);
    }
    zf_spec_destroy(again);
}

static void test_clashes(void) {
    char directory[] = "/tmp/zf_test_canonical_XXXXXX", path[64], command[80];
    CHECK(mkdtemp(directory) != NULL, "no directory");
    static const struct {
        const char *name, *text;
    } files[] = {
        {"a.zf", "const K: u32 = 1; fn f(x: u32) = x + K; algorithm one(s: u32[]) -> u32[] fully_parallel { decode(i) "
                 "= f(s[i]); " ENCODE " }"},
        {"b.zf", "const K: u32 = 2; fn f(x: u32) = x + K; algorithm two(s: u32[]) -> u32[] fully_parallel { decode(i) "
                 "= f(s[i]) + K; " ENCODE " }"},
        {"c.zf", "import \"a.zf\"; algorithm via_a(s: u32[]) -> u32[] fully_parallel { decode(i) = f(s[i]); " ENCODE
                 " } codec a: u32 = one(via_a);"},
        {"d.zf", "import \"b.zf\"; algorithm via_b(s: u32[]) -> u32[] fully_parallel { decode(i) = f(s[i]); " ENCODE
                 " } codec b: u32 = two(via_b);"},
        {"std.zf", ""},
        {"main.zf", "import \"c.zf\"; import \"d.zf\"; const f: u32 = 3; algorithm K(s: u32[]) -> u32[] fully_parallel "
                    "{ decode(i) = s[i] * f; " ENCODE " } table one { x: u32 = a; y: u32 = b; z: u32 = K; }"},
    };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[k].name);
        FILE *file = fopen(path, "w");
        CHECK(file != NULL, "%s", path);
        if (file == NULL) return;
        fputs(files[k].text, file);
        fclose(file);
    }
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = directory});
    snprintf(path, sizeof path, "%s/main.zf", directory);
    bool ok = zf_spec_add_file(spec, path) && zf_spec_check(spec);
    zf_text found = {0};
    zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &found);
    CHECK(ok, "%s", found.data);
    zf_text_free(&found);
    zf_text text = canonical(spec, true);
    zf_text once_more = {0};
    CHECK(zf_canonical_table(spec, zf_spec_find_table(spec, NULL), &once_more) && text.data != NULL &&
              strcmp(text.data, once_more.data) == 0,
          "the names made up are the same each time");
    // K and f thrice, each as itself and twice renamed.
    CHECK(text.data != NULL && strstr(text.data, "const K: u32 = 1;") != NULL && strstr(text.data, "const K_") != NULL &&
              strstr(text.data, "algorithm K_") != NULL && strstr(text.data, "algorithm one_") != NULL &&
              strstr(text.data, "fn f_") != NULL,
          "%s", text.data);
    if (text.data != NULL) check_lists(spec, text.data, 10);
    zf_text_free(&text);
    zf_text_free(&once_more);
    zf_spec_destroy(spec);
    snprintf(command, sizeof command, "rm -r %s", directory);
    CHECK(system(command) == 0, "%s", directory);
}

/// Which names are global, by the rules of scope.
static void test_scope(void) {
    static const struct {
        const char *about, *algorithm;
        bool uses; ///< the constant K
    } cases[] = {
        {"a use", "decode(i) = s[i] + K; ", true},
        {"a local", "decode(i) { let K = s[i]; return K; } ", false},
        {"a local's own value", "decode(i) { let K = s[i] + K; return K; } ", true},
        {"behind the local's block", "decode(i) { if s[i] > 3 { let K = s[i]; return K; } return K; } ", true},
        {"a variable", "decode(i) { var K: u32 = 1; K += 1; return K; } ", false},
        {"a formal", "fn f(K: u32) = K; decode(i) = f(s[i]); ", false},
        {"a formal of another function", "fn f(K: u32) = K; decode(i) = f(s[i]) + K; ", true},
        {"a binder", "decode(i) = sum(K in 0..3: K as u32); ", false},
        {"a binder's range", "decode(i) = sum(K in 0..K as u64: 1) as u32; ", true},
        {"a loop's index", "decode(i) { var n: u32 = 0; for K in 0..3 { n += K as u32; } return n; } ", false},
        {"behind the loop", "decode(i) { var n: u32 = 0; for K in 0..3 { n += K as u32; } return n + K; } ", true},
        {"behind the reduction", "decode(i) = sum(K in 0..3: K as u32) + K; ", true},
        {"through a function", "decode(i) = global(s[i]); ", true},
        {"a function of that name within", "fn global(x: u32) = x; decode(i) = global(s[i]); ", false},
        {"a local of the function's name", "decode(i) { let global = s[i]; return global; } ", false},
        {"a domain index", "decode(K) = s[K]; ", false},
        {"a stream's length", "decode(i) { var a: u32[K]; return a[0]; } ", true},
        {"an index", "decode(i) = s[K]; ", true},
        {"a slice of encode", "decode(i) = s[i]; fn g(x: u32[]) -> u32 { return x[K..K + 1][0]; } ", true},
        {"a member", "decode(i) = s[i] + s.len as u32; ", false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        zf_text text = {0};
        zf_text_printf(&text,
                       "const K: u32 = 2; fn global(x: u32) = x + K; algorithm a(s: u32[]) -> u32[] fully_parallel { %s" ENCODE
                       " } table t { c: u32 = a; }",
                       cases[k].algorithm);
        const char *texts[] = {text.data};
        zf_spec *spec = spec_of(texts, 1);
        zf_text out = canonical(spec, false);
        CHECK(out.data != NULL && (strstr(out.data, "const K") != NULL) == cases[k].uses, "%s:\n%s", cases[k].about, out.data);
        zf_text_free(&out);
        zf_text_free(&text);
        zf_spec_destroy(spec);
    }
}

/// Copies the identity of what a text declares under a name; false: it declares nothing of that name.
static bool identity_of(const char *text, const char *name, uint8_t out[ZF_IDENTITY_BYTES]) {
    const char *texts[] = {text};
    zf_spec *spec = spec_of(texts, 1);
    zf_declarations all = {0};
    bool found = false;
    CHECK(zf_text_declarations(spec, false, &all), "no memory");
    for (uint32_t k = 0; k < all.count; k++) {
        if (strcmp(all.items[k].name, name) != 0) continue;
        memcpy(out, all.items[k].identity, ZF_IDENTITY_BYTES);
        found = true;
    }
    zf_spec_destroy(spec);
    return found;
}

static void test_identity(void) {
    static const struct {
        const char *about, *text;
        bool same;
        const char *name; ///< NULL: a
    } cases[] = {
        {"spaces and comments",
         "const K:u32=2;// a comment\nfn f(x:u32)=x+K;\nalgorithm "
         "a(s:u32[])->u32[]\nfully_parallel{decode(i)=f(s[i]);" ENCODE "}",
         true, NULL},
        {"what it does not use",
         "const K: u32 = 2; const L: u8 = 1; fn f(x: u32) = x + K; algorithm a(s: u32[]) -> u32[] fully_parallel { "
         "decode(i) = f(s[i]); " ENCODE " }",
         true, NULL},
        {"the order of declarations",
         "algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) = f(s[i]); " ENCODE
         " } fn f(x: u32) = x + K; const K: u32 = 2;",
         true, NULL},
        {"names of declarations",
         "const L: u32 = 2; fn h(x: u32) = x + L; algorithm b(s: u32[]) -> u32[] fully_parallel { decode(i) = "
         "h(s[i]); " ENCODE " }",
         true, "b"},
        {"a constant that it uses",
         "const K: u32 = 3; fn f(x: u32) = x + K; algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) = "
         "f(s[i]); " ENCODE " }",
         false, NULL},
        {"another function of the name",
         "const K: u32 = 2; fn f(x: u32) = K + x; algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) = "
         "f(s[i]); " ENCODE " }",
         false, NULL},
        {"a local's name",
         "const K: u32 = 2; fn f(y: u32) = y + K; algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) = "
         "f(s[i]); " ENCODE " }",
         false, NULL},
        {"a local in place of the function",
         "const K: u32 = 2; fn f(x: u32) = x + K; algorithm a(s: u32[]) -> u32[] fully_parallel { fn f(x: u32) = x; decode(i) = "
         "f(s[i]); " ENCODE " }",
         false, NULL},
    };
    static const char base[] = "const K: u32 = 2; fn f(x: u32) = x + K; algorithm a(s: u32[]) -> u32[] fully_parallel { "
                               "decode(i) = f(s[i]); " ENCODE " }";
    // SHA-256 of "const $: u32 = 2;" and a line feed, as sha256sum makes it: the identity depends on nothing else.
    static const uint8_t of_k[ZF_IDENTITY_BYTES] = {0xa4, 0x7f, 0x2d, 0xa6, 0x06, 0xfe, 0x26, 0x7f, 0x7d, 0x4f, 0x4c,
                                                    0x1c, 0x1f, 0xd8, 0x64, 0x26, 0xb8, 0x7c, 0xc9, 0xdd, 0x41, 0xbd,
                                                    0x88, 0x5e, 0x2f, 0x59, 0xfe, 0x85, 0x98, 0x0b, 0xbd, 0x37};
    uint8_t first[ZF_IDENTITY_BYTES] = {0}, digest[ZF_IDENTITY_BYTES];
    CHECK(identity_of(base, "K", first) && memcmp(first, of_k, sizeof of_k) == 0, "the identity of K");
    CHECK(identity_of(base, "a", first), "no identity");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        memset(digest, 0xa5, sizeof digest);
        CHECK(identity_of(cases[k].text, cases[k].name != NULL ? cases[k].name : "a", digest), "%s", cases[k].about);
        CHECK((memcmp(first, digest, sizeof first) == 0) == cases[k].same, "%s", cases[k].about);
    }
}

/// A chain of uses as long as the input likes needs no stack.
static void test_long_chain(void) {
    zf_text text = {0};
    zf_text_puts(&text, "const K0: u32 = 1;\n");
    enum { LENGTH = 200 };
    for (int k = 1; k < LENGTH; k++) zf_text_printf(&text, "const K%d: u32 = K%d;\n", k, k - 1);
    zf_text_printf(&text,
                   "algorithm a(s: u32[]) -> u32[] fully_parallel { decode(i) = s[i] + K%d; " ENCODE " } table t { c: u32 = a; }",
                   LENGTH - 1);
    const char *texts[] = {text.data};
    zf_spec *spec = spec_of(texts, 1);
    zf_text out = canonical(spec, false);
    CHECK(out.data != NULL && strstr(out.data, "const K0: u32 = 1;\nconst K1: u32 = K0;") != NULL, "in order of use");
    zf_text_free(&out);
    zf_text_free(&text);
    zf_spec_destroy(spec);
}

/// Every algorithm of the standard library.
static void test_std(void) {
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_SOURCE_DIR "/dsl/std"});
    static const char table[] = "table t { a: i64 = rle(values: delta(bitpack), counts: bitpack) | plain; b: f64 = "
                                "float2int(bitpack(packed: u8[] = plain)) | plain;"
                                " c: date32 = zigzag(dictionary(bitpack, plain)); d: decimal(15, 2) = "
                                "delta_stride(start: bitpack); e: f32 = byte_stream_split; }";
    CHECK(zf_spec_add_text(spec, "table", table, sizeof table - 1) && zf_spec_check(spec), "a table of std's");
    zf_text out = canonical(spec, false);
    CHECK(out.data != NULL && strstr(out.data, "const POW10") != NULL, "with its constants");
    uint32_t lines = 0; // a declaration a line, behind the version, before the table
    for (const char *at = out.data; at != NULL && strncmp(at, "table ", 6) != 0; at = strchr(at, '\n') + 1) lines++;
    if (out.data != NULL) check_lists(spec, out.data, lines - 1);
    zf_text_free(&out);
    zf_spec_destroy(spec);
}

int main(void) {
    test_text();
    test_scope();
    test_identity();
    test_clashes();
    test_long_chain();
    test_std();
    return check_result();
}

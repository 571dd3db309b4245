// Links: zipflow-frontend
// Codecs and tables: generics, arguments, params, chunks, alternatives, named codecs, canonical text.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/spec/spec_internal.h"
#include "tests/unit/check.h"

static const char library[] =
    "algorithm plain<T>(values: T[]) -> T[] fully_parallel { decode(i) = values[i]; encode(x) { values.append(x); } }\n"
    "algorithm bitpack<T: integer, W: unsigned = u32>(packed: W[], param width: u8 in 0..=8 * sizeof(T), param base: "
    "T) -> T[]\n"
    "    fully_parallel { decode(i) = base + packed.bits(i * width, width) as T;\n"
    "    encode(x) { base = min(x); width = bit_width((max(x) - base) as unsigned(T));\n"
    "        for v in x { packed.push_bits((v - base) as unsigned(T), width); } } }\n"
    "algorithm rle<T>(values: T[], counts: u32[] in 1..) -> T[] group_parallel { groups = counts.len; size(g) = "
    "counts[g];\n"
    "    decode(g, j) = values[g]; encode(x) { for v in x { values.push(v); counts.push(1); } } }\n"
    "algorithm zigzag<T: signed>(codes: unsigned(T)[]) -> T[] fully_parallel {\n"
    "    decode(i) = (codes[i] >> 1) as T ^ -((codes[i] & 1) as T);\n"
    "    encode(x) { for v in x { codes.push(((v << 1) ^ (v >> (8 * sizeof(T) - 1))) as unsigned(T)); } } }\n"
    "algorithm unzig<T: signed>(codes: T[]) -> unsigned(T)[] fully_parallel { decode(i) = codes[i] as unsigned(T);\n"
    "    encode(x) { for v in x { codes.push(v as T); } } }\n"
    "algorithm wide<T: integer>(codes: T[]) -> unsigned(T)[] fully_parallel { decode(i) = codes[i] as unsigned(T);\n"
    "    encode(x) { for v in x { codes.push(v as T); } } }\n"
    "algorithm nullable<T>(validity: bool[], values: T[]) -> T?[] fully_parallel {\n"
    "    decode(i) = validity[i] ? values[sum(k in 0..i: validity[k] as u64)] : null;\n"
    "    encode(x) { for v in x { validity.push(v != null); if v != null { values.push(v.value); } } } }\n"
    "algorithm scaled<T: float>(ints: i64[], param digits: u8 in 0..=18 = 2, param offset: f64 = 0.0) -> T[] "
    "fully_parallel {\n"
    "    decode(i) = (ints[i] as f64 / (digits as f64) + offset) as T; encode(x) { for v in x { ints.push(v as i64); } "
    "} }\n"
    "algorithm chunky<T: integer>(bytes: T[] per chunk, param bits: u8 in 8..=12 = 11, param low: i16 in -5..=5 = 0)\n"
    "    -> T[] non_parallel(chunk = 16384)\n"
    "    { decode { while out.pos < out.len { emit bytes.next(); } } encode(x) { for c in chunks(x) { for v in c { "
    "bytes.push(v); } } } }\n"
    "algorithm hash<T: integer, X: unsigned>(codes: X[]) -> T[] fully_parallel { decode(i) = codes[i] as T;\n"
    "    encode(x) { for v in x { codes.push(v as X); } } }\n"
    "algorithm between<T: integer>(v: T[], param lo: u8 = 3, param hi: u8 in lo..=20 = 9) -> T[] fully_parallel {\n"
    "    decode(i) = v[i] + lo as T + hi as T; encode(x) { for e in x { v.push(e); } } }\n"
    "const NINE: u8 = 9; const LARGE: u32 = 300; const MANY: u8[2] = [1, 2]; const NEGATIVE: f64 = -1.5;\n"
    "codec keys: i64 = rle(bitpack, bitpack);\n"
    "codec either: i64 = bitpack | plain;\n"
    "codec days: date32 = bitpack;\n"
    "fn function(x: u32) = x;\n";

static const char *const types[] = {"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "string"};

static zf_type type_named(const char *name) {
    zf_type type = zf_type_of(ZF_K_ERROR);
    static const zf_kind kinds[] = {ZF_K_U8,  ZF_K_U16, ZF_K_U32, ZF_K_U64, ZF_K_I8,   ZF_K_I16,
                                    ZF_K_I32, ZF_K_I64, ZF_K_F32, ZF_K_F64, ZF_K_BOOL, ZF_K_STRING};
    size_t length = strlen(name);
    bool nullable = length > 0 && name[length - 1] == '?';
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        if (strlen(types[k]) == length - nullable && strncmp(types[k], name, length - nullable) == 0) type = zf_type_of(kinds[k]);
    }
    type.nullable = nullable;
    return type;
}

/// `want`: the canonical text, or "ZF0703: part of what is said".
static const struct {
    const char *about, *type, *codec, *want;
} cases[] = {
    {"a name alone", "i64", "bitpack", "bitpack"},
    {"streams by order, labels in the text", "i64", "rle(bitpack, bitpack)", "rle(values: bitpack, counts: bitpack)"},
    {"streams by label, in the order of declaration", "i64", "rle(counts: bitpack, values: plain)",
     "rle(values: plain, counts: bitpack)"},
    {"a label, then by order", "i64", "rle(values: plain, bitpack)", "ZF0702: twice"},
    {"empty parentheses are not in the grammar, spaces are nothing", "i64", "  rle ( bitpack )  ", "rle(values: bitpack)"},
    {"omitted streams are stored", "i64", "rle(counts: bitpack)", "rle(counts: bitpack)"},
    {"nesting", "i32", "rle(rle(zigzag(bitpack), plain), rle)",
     "rle(values: rle(values: zigzag(codes: bitpack), counts: plain), counts: rle)"},

    // generics
    {"the result fixes T", "f64", "bitpack", "ZF0311: integer"},
    {"unsigned(T) below", "i16", "zigzag(bitpack)", "zigzag(codes: bitpack)"},
    {"unsigned(T) above", "u16", "unzig(zigzag)", "unzig(codes: zigzag)"},
    {"unsigned(T) above, the wrong sign", "i16", "unzig", "ZF0703: i16"},
    {"unsigned(T) above, T by its edge", "u16", "wide(codes: i16[] = plain)", "wide(codes: i16[] = plain)"},
    {"unsigned(T) above, another T by its edge", "u16", "wide(codes: i32[] = plain)", "ZF0703: u16"},
    {"unsigned(T) above tells no T", "u16", "wide", "ZF0310: `T`"},
    {"a default", "i64", "bitpack(packed: plain)", "bitpack(packed: plain)"},
    {"the edge's type", "i64", "bitpack(packed: u8[] = plain)", "bitpack(packed: u8[] = plain)"},
    {"the edge's type is the default's", "i64", "bitpack(packed: u32[] = plain)", "bitpack(packed: plain)"},
    {"the edge's type breaks a bound", "i64", "bitpack(packed: i8[] = plain)", "ZF0311: i8"},
    {"the edge's type against the declared", "i64", "rle(counts: u8[] = plain)", "ZF0703: u8"},
    {"the edge's type against T", "i64", "rle(values: i32[] = plain)", "ZF0703: i32"},
    {"an unknown type on an edge", "i64", "bitpack(packed: u128[] = plain)", "ZF0113: u128"},
    {"nothing determines X", "i64", "hash", "ZF0310: `X`"},
    {"nothing determines X, although a child would", "i64", "hash(bitpack)", "ZF0310: `X`"},
    {"X by its edge", "i64", "hash(codes: u8[] = bitpack)", "hash(codes: u8[] = bitpack)"},
    {"a child of another type", "i64", "rle(counts: scaled)", "ZF0311: float"},
    {"nullable binds T? to T", "i64?", "nullable(values: bitpack)", "nullable(values: bitpack)"},
    {"nullable of what is not", "i64", "nullable", "ZF0703: i64"},
    {"T may be E?", "i64?", "rle(nullable(plain, bitpack))", "rle(values: nullable(validity: plain, values: bitpack))"},
    {"T may be a string", "string", "rle(plain, bitpack)", "rle(values: plain, counts: bitpack)"},

    // arguments
    {"no such stream", "i64", "rle(valeus: plain)", "ZF0701: `valeus`"},
    {"given twice", "i64", "rle(values: plain, values: plain)", "ZF0702: `values`"},
    {"too many", "i64", "rle(plain, plain, plain)", "ZF0707: more codecs"},
    {"params are not positional", "i64", "bitpack(plain, plain)", "ZF0707: more codecs"},
    {"a constant without a label", "f64", "scaled(plain, 3)", "ZF0709: label"},
    {"a constant for a stream", "i64", "rle(values: 3)", "ZF0709: `values`"},
    {"a codec for a param", "f64", "scaled(digits: plain(plain))", "ZF0709: constant"},
    {"an edge for a param", "f64", "scaled(digits: u8[] = plain)", "ZF0709: `digits`"},
    {"an unknown name for a param", "f64", "scaled(digits: NIEN)", "ZF0201: NIEN"},
    {"an unknown codec", "i64", "rle(values: bitpck)", "ZF0201: bitpck"},
    {"a constant as a codec", "i64", "NINE", "ZF0205: NINE"},
    {"a function as a codec", "i64", "function", "ZF0205: function"},

    // params
    {"a param", "f64", "scaled(digits: 3)", "scaled(digits: 3)"},
    {"its default is left out", "f64", "scaled(digits: 2, offset: 1.5)", "scaled(offset: 1.5)"},
    {"a float", "f64", "scaled(offset: 1e300)", "scaled(offset: 1e+300)"},
    {"a float without a fraction", "f64", "scaled(offset: 3.0)", "scaled(offset: 3.0)"},
    {"beyond its range", "f64", "scaled(digits: 19)", "ZF0704: 19"},
    {"beyond its type", "f64", "scaled(digits: 256)", "ZF0304: 256"},
    {"a negative one", "i8", "chunky(low: -5)", "chunky(low: -5)"},
    {"a negative one beyond its range", "i8", "chunky(low: -6)", "ZF0704: -6"},
    {"a negative one for an unsigned", "f64", "scaled(digits: -1)", "ZF0304: -1"},
    {"a constant by name", "f64", "scaled(digits: NINE)", "scaled(digits: 9)"},
    {"a constant too large", "f64", "scaled(digits: LARGE)", "ZF0305: LARGE"},
    {"a constant of a wider type that fits", "i8", "chunky(chunk: LARGE)", "chunky(chunk: 300)"},
    {"an array", "f64", "scaled(digits: MANY)", "ZF0305: MANY"},
    {"a constant that no literal says", "f64", "scaled(offset: NEGATIVE)", "ZF0305: NEGATIVE"},
    {"chosen by the encoder", "i64", "bitpack(width: 3)", "ZF0706: `width`"},
    {"a range that names another param", "i8", "between(lo: 8, hi: 8)", "between(lo: 8, hi: 8)"},
    {"outside the range that another param gives", "i8", "between(lo: 10, hi: 9)", "ZF0704: 9"},
    {"outside the range that another param's default gives", "i8", "between(hi: 2)", "ZF0704: 2"},

    // chunks
    {"a chunk", "u8", "chunky(chunk: 4096)", "chunky(chunk: 4096)"},
    {"the chunk of the algorithm is left out", "u8", "chunky(chunk: 16384)", "chunky"},
    {"a chunk of nothing", "u8", "chunky(chunk: 0)", "ZF0705: 0"},
    {"the largest chunk", "u8", "chunky(chunk: 268435456)", "chunky(chunk: 268435456)"},
    {"too large a chunk", "u8", "chunky(chunk: 268435457)", "ZF0705: 268435457"},
    {"a chunk where there are none", "i64", "rle(chunk: 4096)", "ZF0705: no chunks"},
    {"a chunk twice", "u8", "chunky(chunk: 1, chunk: 2)", "ZF0702: chunk"},

    // alternatives, named codecs
    {"alternatives", "i64", "bitpack | rle(plain | bitpack) | plain", "bitpack | rle(values: plain | bitpack) | plain"},
    {"a named codec", "i64", "keys", "rle(values: bitpack, counts: bitpack)"},
    {"a named codec below", "i64", "rle(keys, bitpack)", "rle(values: rle(values: bitpack, counts: bitpack), counts: bitpack)"},
    {"named alternatives join", "i64", "keys | either", "rle(values: bitpack, counts: bitpack) | bitpack | plain"},
    {"a named codec of another type", "i32", "keys", "ZF0703: keys"},
    {"a named codec for a type with a name", "i32", "days", "bitpack"},
    {"a named codec takes nothing", "i64", "keys(plain)", "ZF0707: no arguments"},
    {"one wrong alternative", "i64", "bitpack | scaled", "ZF0311: float"},

    // not codecs at all
    {"nothing", "i64", "", "ZF0110: "},
    {"more than a codec", "i64", "plain; codec other: u8 = plain", "ZF0110: more than one"},
    {"a table", "i64", "plain; table t { a: u8 = plain; } codec x: u8 = plain", "ZF0110: more than one"},
    {"an unclosed parenthesis", "i64", "rle(plain", "ZF0110: "},
};

static bool said(zf_spec *spec, const char *want) {
    int code = atoi(want + 2);
    for (const zf_diag *diag = zf_spec_diags(spec)->first; diag != NULL; diag = diag->next) {
        if ((int)diag->code != code) continue;
        if (strstr(diag->message, want + 8) != NULL || (diag->hint != NULL && strstr(diag->hint, want + 8) != NULL)) return true;
        for (const zf_remark *r = diag->remarks; r != NULL; r = r->next) {
            if (strstr(r->text, want + 8) != NULL) return true;
        }
    }
    return false;
}

static zf_spec *with_library(void) {
    zf_spec *spec = zf_spec_create(&(zf_spec_options){.no_std = true});
    bool ok = zf_spec_add_text(spec, "library", library, sizeof library - 1);
    zf_text found = {0};
    if (!ok) zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &found);
    CHECK(ok, "%s", found.data);
    zf_text_free(&found);
    return spec;
}

static void run_case(const char *about, const char *type, const char *codec, const char *want) {
    zf_spec *spec = with_library();
    zf_column *column = zf_spec_resolve_codec(spec, "c", type_named(type), codec);
    zf_text found = {0};
    zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &found);
    bool bad = strncmp(want, "ZF", 2) == 0;
    CHECK(bad ? column == NULL && said(spec, want) : column != NULL && strcmp(column->codec_text, want) == 0,
          "%s: %s\n    want %s\n    have %s", about, codec, want, column != NULL ? column->codec_text : found.data);
    if (column != NULL && !bad) {
        // The text says the same codec again.
        zf_column *again = zf_spec_resolve_codec(spec, "d", type_named(type), column->codec_text);
        CHECK(again != NULL && strcmp(again->codec_text, column->codec_text) == 0, "%s, read back", column->codec_text);
        for (uint32_t k = 0; again != NULL && k < column->codec->count; k++) {
            CHECK(again->codec->alternatives[k]->inst == column->codec->alternatives[k]->inst, "%s: the same instances",
                  column->codec_text);
        }
    }
    zf_text_free(&found);
    zf_spec_destroy(spec);
}

static void test_numbers(void) {
    zf_spec *spec = with_library();
    zf_column *column = zf_spec_resolve_codec(spec, "c", type_named("i64"),
                                              "rle(plain | bitpack, plain | rle(counts: plain | bitpack)) | either");
    CHECK(column != NULL, "resolves");
    if (column == NULL) return;
    const zf_codec_choice *root = column->codec;
    CHECK(column->choice_count == 4 && root->count == 3 && root->index == 0, "%u choices", column->choice_count);
    const zf_codec_node *rle = root->alternatives[0];
    CHECK(rle->streams[0]->index == 1 && rle->streams[1]->index == 2, "streams follow in order");
    CHECK(rle->streams[1]->alternatives[1]->streams[1]->index == 3, "and what is below them before what is beside");
    CHECK(rle->streams[1]->alternatives[1]->streams[0] == NULL, "omitted");
    CHECK(root->alternatives[1]->inst->stream_count == 1 && root->alternatives[1]->param_given[0] == false,
          "params of the encoder");
    zf_spec_destroy(spec);

    spec = with_library();
    column = zf_spec_resolve_codec(spec, "c", type_named("i64"), "rle(values: plain)");
    CHECK(column != NULL && column->choice_count == 0 && column->codec->index == UINT32_MAX, "no choice, no number");
    zf_spec_destroy(spec);
}

/// Adds a text to the library and checks everything.
static void check_text(const char *text, const char *want) {
    zf_spec *spec = with_library();
    bool ok = zf_spec_add_text(spec, "text", text, strlen(text)) && zf_spec_check(spec);
    zf_text found = {0};
    zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &found);
    CHECK(want == NULL ? ok : !ok && said(spec, want), "%s\n    want %s\n    have %s", text, want == NULL ? "no error" : want,
          found.data);
    zf_text_free(&found);
    zf_spec_destroy(spec);
}

static const char other_library[] =
    "algorithm id<T>(v: T[]) -> T[] fully_parallel { decode(i) = v[i]; encode(x) { v.append(x); } }\n";

static void test_tables(void) {
    char text[2048];
#define WITH(rest) (snprintf(text, sizeof text, "%s%s", other_library, rest), text)
    check_text(WITH("table t { a: u8 = id; b: date32 = id; c: decimal(15, 2) = id; d: string? = id; }"), NULL);
    check_text(WITH("table t { a: u8 = id; a: u8 = id; }"), "ZF0202: `a`");
    check_text(WITH("table t { }"), "ZF0710: t");
    check_text(WITH("table t { a: u9 = id; }"), "ZF0201: u9");
    check_text(WITH("table t { a: u8[] = id; }"), "ZF0309: ");
    check_text(WITH("codec a: u8 = a;"), "ZF0708: `a`");
    check_text(WITH("codec a: u8 = id(b); codec b: u8 = id(a);"), "ZF0708: contains itself");
    check_text(WITH("codec a: u8 = id(b); codec b: u8 = id;"), NULL);
    check_text(WITH("codec a: u8 = id(1);"), "ZF0709: label");
    check_text(WITH("table t { a: u8 = missing; b: u8 = id; c: u8 = gone; }"), "ZF0201: gone"); // each is reported
#undef WITH

    zf_spec *spec = with_library();
    const char *table =
        "algorithm id<T>(v: T[]) -> T[] fully_parallel { decode(i) = v[i]; encode(x) { v.append(x); } }\n"
        "codec named: u8 = id; table one { a: date32 = id; b: decimal(15, 2)? = id; } table two { c: u8 = named; }";
    CHECK(zf_spec_add_text(spec, "text", table, strlen(table)) && zf_spec_check(spec), "two tables");
    const zf_table *one = zf_spec_find_table(spec, "one");
    CHECK(zf_spec_find_table(spec, NULL) == NULL && zf_spec_find_table(spec, "three") == NULL, "no only table");
    CHECK(one != NULL && one == zf_spec_tables(spec) && one->column_count == 2 && one->next == zf_spec_find_table(spec, "two"),
          "in order");
    CHECK(one != NULL && one->columns->type.logical == ZF_LOGICAL_DATE32 &&
              one->columns->codec->alternatives[0]->inst->result.logical == ZF_LOGICAL_NONE,
          "columns keep the name of their type, instances do not");
    CHECK(one != NULL && one->columns->next->type.nullable && one->columns->next->type.precision == 15, "decimal(15, 2)?");
    CHECK(zf_spec_find_codec(spec, "named") != NULL && zf_spec_find_codec(spec, "keys") != NULL, "codecs by name");
    zf_spec_destroy(spec);
}

/// Limits on the size of input: expansion of named codecs, depth, alternatives.
static void test_limits(void) {
    zf_text text = {0};
    zf_text_puts(&text, "algorithm pair<T>(v: T[], w: T[]) -> T[] fully_parallel { decode(i) = v[i]; encode(x) { "
                        "v.append(x); w.append(x); } }\n");
    zf_text_puts(&text, "codec c0: u8 = pair;\n");
    for (int k = 1; k < 40; k++) zf_text_printf(&text, "codec c%d: u8 = pair(c%d, c%d);\n", k, k - 1, k - 1);
    check_text(text.data, "ZF0805: more than 4096");
    zf_text_free(&text);

    zf_text_puts(&text, "algorithm id<T>(v: T[]) -> T[] fully_parallel { decode(i) = v[i]; encode(x) { v.append(x); } "
                        "}\ncodec c0: u8 = id;\n");
    for (int k = 1; k < 100; k++) zf_text_printf(&text, "codec c%d: u8 = id(c%d);\n", k, k - 1);
    check_text(text.data, "ZF0112: deeper");
    zf_text_free(&text);

    zf_text_puts(&text, "algorithm id<T>(v: T[]) -> T[] fully_parallel { decode(i) = v[i]; encode(x) { v.append(x); } "
                        "}\ncodec c: u8 = id");
    for (int k = 1; k < 255; k++) zf_text_puts(&text, " | id");
    zf_text most = {0};
    zf_text_printf(&most, "%s;", text.data);
    check_text(most.data, NULL);
    zf_text_puts(&text, " | id;");
    check_text(text.data, "ZF0805: alternatives");
    zf_text_free(&text);
    zf_text_free(&most);
}

int main(int argc, char **argv) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (argc < 2 || strstr(cases[k].about, argv[1]) != NULL) {
            run_case(cases[k].about, cases[k].type, cases[k].codec, cases[k].want);
        }
    }
    test_numbers();
    test_tables();
    test_limits();
    return check_result();
}

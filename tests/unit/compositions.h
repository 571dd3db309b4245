// Codecs that the tests of graph and plan share, and the making of a spec to resolve them in.
#ifndef ZF_TESTS_COMPOSITIONS_H
#define ZF_TESTS_COMPOSITIONS_H

#include <stdlib.h>

#include "frontend/spec/spec.h"
#include "tests/unit/golden.h"

#define ZF_STD ZF_SOURCE_DIR "/dsl/std"

/// Algorithms that the standard library does not have, for forms that it does not use.
static const char extra_algorithms[] =
    "algorithm picks(at: u32[], from: i64[]) -> i64[] fully_parallel { decode(i) = from[at[i]];\n"
    "  encode(x) { for v in x { at.push(from.intern(v)); } } }\n"
    "algorithm some_terms(ends: u32[], terms: i64[]) -> i64[] fully_parallel {\n"
    "    decode(i) = sum(k in 0..ends[i] as u64: k < terms.len ? terms[k] : 7);\n"
    "    encode(x) { for v in x { ends.push(1); terms.push(v); } }\n"
    "}\n"
    "algorithm windows(ends: u32[], terms: i64[]) -> i64[] fully_parallel {\n"
    "  decode(i) = sum(k in 0..ends[i] as u64: terms[k]);\n"
    "  encode(x) { for i in 0..x.len { terms.push(i == 0 ? x[0] : x[i] - x[i - 1]); ends.push((i + 1) as u32); } } }\n"
    "algorithm segments(steps: i32[]) -> i32[] fully_parallel {\n"
    "  decode(i) = sum(k in i / 128 * 128 ..= i: steps[k]);\n"
    "  encode(x) { for i in 0..x.len { steps.push(i % 128 == 0 ? x[i] : x[i] - x[i - 1]); } } }\n"
    "algorithm segments_after(first: i32[], steps: i32[]) -> i32[] fully_parallel {\n"
    "  decode(i) = first[i / 128] + sum(k in i / 128 * 128 + 1 ..= i: steps[k]);\n"
    "  encode(x) { for i in 0..x.len { if i % 128 == 0 { first.push(x[i]); } steps.push(i % 128 == 0 ? 0 : x[i] - x[i - 1]); } } "
    "}\n"
    "algorithm odd_segments(steps: i32[]) -> i32[] fully_parallel {\n"
    "  decode(i) = sum(k in i / 100 * 100 ..= i: steps[k]);\n"
    "  encode(x) { for i in 0..x.len { steps.push(i % 100 == 0 ? x[i] : x[i] - x[i - 1]); } } }\n"
    "algorithm limited(small: u32[] in 0..=9) -> u32[] fully_parallel { decode(i) = small[i];\n"
    "  encode(x) { for v in x { if v > 9 { refuse \"too large\"; } small.push(v); } } }\n"
    "algorithm remainder(v: u32[], param m: u32) -> u32[] fully_parallel { decode(i) = v[i] % 10 + v[i] / m;\n"
    "  encode(x) { m = 4294967295; for e in x { if e > 9 { refuse \"too large\"; } v.push(e); } } }\n"
    "algorithm maybe(flags: u8[], rare: i32[]) -> i32[] fully_parallel { decode(i) = flags[i] == 1 ? rare[i] : 0;\n"
    "  encode(x) { for v in x { flags.push(1); rare.push(v); } } }\n"
    "algorithm demands(v: u32[]) -> u32[] fully_parallel {\n"
    "  decode(i) { let e = v[i]; require e < 100; return e; }\n"
    "  encode(x) { for e in x { v.push(e); } } }\n"
    "algorithm loose(values: i64[], counts: u32[]) -> i64[] group_parallel {\n"
    "  groups = counts.len; size(g) = counts[g]; decode(g, j) = values[g];\n"
    "  encode(x) { for v in x { values.push(v); counts.push(1); } } }\n"
    "algorithm fixed(packed: u32[], param width: u8 in 0..=32 = 7) -> u32[] fully_parallel {\n"
    "  decode(i) = packed.bits(i * width, width) as u32;\n"
    "  encode(x) { for v in x { packed.push_bits(v, width); } } }\n"
    "algorithm twice(v: u32[]) -> u32[] fully_parallel { fn at(k) -> u32 = v[k]; decode(i) = at(i) + at(i / 2);\n"
    "  encode(x) { for e in x { if e != 0 { refuse \"not 0\"; } v.push(0); } } }\n"
    "algorithm sometimes(v: u32[], w: u32[]) -> u32[] fully_parallel { fn at(k) -> u32 = v[k];\n"
    "  decode(i) = at(i) + (w[i] > 3 ? at(i + 1) : 0);\n"
    "  encode(x) { for e in x { v.push(e); w.push(0); } } }\n"
    "algorithm guarded(v: u32[]) -> u32[] fully_parallel { fn at(k) -> u32 = v[k];\n"
    "  decode(i) = at(i) + (i + 1 < v.len ? at(i + 1) : 0);\n"
    "  encode(x) { for e in x { if e != 0 { refuse \"not 0\"; } v.push(0); } } }\n"
    "algorithm cut_index(v: u32[]) -> u32[] fully_parallel { decode(i) = v[i as u8];\n"
    "  encode(x) { for e in x { if e != 0 { refuse \"not 0\"; } v.push(0); } } }\n"
    "algorithm kept_index(v: u32[]) -> u32[] fully_parallel { decode(i) = v[i as i64 as u64];\n"
    "  encode(x) { for e in x { v.push(e); } } }\n"
    "algorithm bytewise(src: u8[] per chunk) -> u8[] non_parallel(chunk = 4096) {\n"
    "  decode { while !src.at_end() { emit src.u8(); } }\n"
    "  encode(x) { for c in chunks(x) { for v in c { src.push(v); } } } }\n";

#define OPEN_FOUR "rle(rle(rle(rle("
#define CLOSE_FOUR "))))"

typedef struct composition {
    const char *name, *type, *codec;
    uint32_t kernels;
} composition;

/// The first seven are the ones whose number of kernels is promised.
static const composition compositions[] = {
    {"bitpack", "i32", "bitpack", 1},
    {"dictionary_bitpack", "i32", "dictionary(bitpack)", 1},
    {"float2int_bitpack", "f64", "float2int(bitpack)", 1},
    {"rle_bitpack", "i64", "rle(bitpack, bitpack)", 1},
    {"delta_bitpack", "i64", "delta(bitpack)", 1},
    {"delta_stride_bitpack", "i64", "delta_stride(bitpack, bitpack, bitpack)", 1},
    {"dictionary_both", "date32", "dictionary(codes: bitpack, entries: bitpack)", 1},
    {"plain", "f32", "plain", 1},
    {"constant", "u8", "constant", 1},
    {"zigzag_bitpack", "i16", "zigzag(bitpack)", 1},
    {"byte_stream_split", "f64", "byte_stream_split", 1},
    {"given", "u32", "fixed", 1},
    {"given_other", "u32", "fixed(packed: bitpack, width: 20)", 2},
    {"bitpack_of_dictionary", "i32", "bitpack(packed: u16[] = dictionary(bitpack))", 2},
    {"rle_rle", "i32", "rle(values: bitpack, counts: rle(bitpack, bitpack))", 1},
    {"dictionary_delta", "i32", "dictionary(codes: delta(bitpack))", 1},
    {"delta_dictionary_delta", "i32", "delta(dictionary(codes: delta(bitpack)))", 1},
    {"split_delta", "u8", "byte_stream_split(bytes: plain(values: delta))", 1},
    {"four_stages", "i64", "delta(zigzag(rle(delta_stride(bitpack, bitpack, bitpack), bitpack)))", 1},
    {"deep", "i64", OPEN_FOUR OPEN_FOUR OPEN_FOUR OPEN_FOUR "rle(rle(rle(rle" CLOSE_FOUR CLOSE_FOUR CLOSE_FOUR CLOSE_FOUR ")))",
     2},
    {"cut_index", "u32", "cut_index", 1},
    {"kept_index", "u32", "kept_index", 1},
    {"picks_delta", "i64", "picks(at: bitpack, from: delta(bitpack))", 2},
    {"windows", "i64", "windows(bitpack, bitpack)", 2},
    {"delta_windows", "i64", "delta(windows(bitpack, bitpack))", 2},
    {"map_of_chunks", "u8", "plain(bytewise)", 2},
    {"segments", "i32", "segments(bitpack)", 1},
    {"segments_after", "i32", "segments_after(bitpack, bitpack)", 1},
    {"odd_segments", "i32", "odd_segments(bitpack)", 1},
    {"limited", "u32", "limited(bitpack)", 1},
    {"remainder", "u32", "remainder(plain)", 1},
    {"maybe", "i32", "maybe(plain, bitpack)", 1},
    {"twice", "u32", "twice(bitpack)", 1},
    {"sometimes", "u32", "sometimes(bitpack, bitpack)", 1},
    {"guarded", "u32", "guarded(bitpack)", 1},
    {"demands", "u32", "demands(bitpack)", 1},
    {"loose", "i64", "loose(bitpack, bitpack)", 1},
    {"decimal", "decimal(15, 2)", "delta(bitpack)", 1},
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions };

/// The diagnostics of a spec on standard output, when there are errors.
static inline void show_diagnostics(zf_spec *spec) {
    if (zf_spec_diags(spec)->errors == 0) return;
    zf_text text = {0};
    zf_diags_render(zf_spec_diags(spec), ZF_DIAG_HUMAN, false, &text);
    if (text.data != NULL) fputs(text.data, stdout);
    zf_text_free(&text);
}

/// A checked spec of one file, or of a text when `path` is NULL; with every composition as a column of a table `tests`.
static inline zf_spec *make_spec(const char *path, const char *std_dir) {
    zf_spec_options options = {.std_dir = std_dir};
    zf_spec *spec = zf_spec_create(&options);
    if (spec == NULL) return NULL;
    bool good;
    if (path != NULL) {
        good = zf_spec_add_file(spec, path);
    } else {
        zf_text text = {0};
        zf_text_puts(&text, extra_algorithms);
        zf_text_puts(&text, "table tests {\n");
        for (int k = 0; k < COMPOSITIONS; k++) {
            zf_text_printf(&text, "  %s: %s = %s;\n", compositions[k].name, compositions[k].type, compositions[k].codec);
        }
        zf_text_puts(
            &text, "  chunked: u8 = bytewise;\n  words: string = plain;\n  gaps: i32? = plain;\n  some_terms: i64 = some_terms;\n"
                   "  choice: i32 = dictionary(bitpack | plain) | bitpack;\n}\n");
        good = zf_spec_add_text(spec, "tests.zf", text.data, text.length);
        zf_text_free(&text);
    }
    good = good && zf_spec_check(spec);
    CHECK(good, "the spec of %s has errors", path != NULL ? path : "the tests");
    show_diagnostics(spec);
    if (!good) {
        zf_spec_destroy(spec);
        return NULL;
    }
    return spec;
}

static inline const zf_column *find_column(const zf_spec *spec, const char *table, const char *name) {
    const zf_table *found = zf_spec_find_table(spec, table);
    for (const zf_column *c = found != NULL ? found->columns : NULL; c != NULL; c = c->next) {
        if (strcmp(c->name, name) == 0) return c;
    }
    CHECK(false, "no column %s.%s", table, name);
    return NULL;
}

#endif

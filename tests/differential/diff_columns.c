#include "tests/differential/diff_columns.h"

#include <stdio.h>
#include <string.h>

#include "tests/differential/generator/gen_program.h"

typedef unsigned long long ull;

// ---- Columns --------------------------------------------------------------------------------------------------

#define INTEGERS "u8 u16 u32 u64 i8 i16 i32 i64"
#define FLOATS "f32 f64"
#define ALL INTEGERS " " FLOATS " bool"

// A column for each type.
static const struct {
    const char *types, *codec;
} families[] = {
    {ALL, "plain"},
    {INTEGERS " " FLOATS, "constant"},
    {INTEGERS, "bitpack"},
    {"u8 i32 u64", "bitpack(packed: u8[] = plain)"},
    {"i16 u32 i64", "bitpack(packed: u16[] = plain)"},
    {"u16 i64", "bitpack(packed: u64[] = plain)"},
    {"i8 i16 i32 i64", "zigzag"},
    {"i8 i64", "zigzag(bitpack)"},
    {ALL, "dictionary"},
    {"u8 i32 f64 bool", "dictionary(codes: bitpack)"},
    {FLOATS, "float2int"},
    {FLOATS, "float2int(bitpack)"},
    {INTEGERS " " FLOATS, "byte_stream_split"},
    {INTEGERS, "delta"},
    {"u8 i64", "delta(bitpack)"},
    {ALL, "rle"},
    {"u8 i64 f32 bool", "rle(values: dictionary(bitpack), counts: bitpack)"},
    {INTEGERS, "delta_stride"},
    {"i16 u64", "delta_stride(bitpack, bitpack, bitpack)"},
    {"date32", "dictionary(codes: bitpack, entries: delta(bitpack))"},
    {"timestamp", "delta(delta(bitpack))"},
    {"decimal(15, 2)", "rle(values: delta(zigzag(bitpack)), counts: rle(bitpack, bitpack))"},
    {"i32", "constant | rle(bitpack, bitpack) | delta(zigzag(bitpack)) | bitpack"},
    {"f64", "float2int(bitpack) | byte_stream_split(rle(plain, bitpack)) | plain"},
    {"u16", "delta(rle(delta_stride, bitpack))"},
    {"u32", "rle(rle(rle(bitpack, bitpack), bitpack), bitpack)"},
    {"i64", "dictionary(codes: rle(values: delta, counts: bitpack), entries: delta_stride)"},
    {"u64", "byte_stream_split(dictionary(rle))"},
    {"u8? i32? f64? bool?", "nullable"},
    {"i64?", "nullable(validity: rle(plain, bitpack), values: plain)"},
    {"u16?", "nullable(values: bitpack)"},
    {"i32?", "nullable(validity: rle, values: delta(bitpack))"},
    {"date32? bool?", "rle(values: nullable, counts: bitpack)"},
    {"f32?", "dictionary(codes: bitpack, entries: nullable)"},
    {"bool?", "plain(values: rle(values: rle(values: nullable, counts: bitpack), counts: bitpack))"},
    {"f32", "alp"},
    {"f64", "alp(ints: bitpack, gaps: bitpack)"},
    {"u8 i16 u32", "pfor"},
    {"i64", "pfor(bitpack, bitpack, delta)"},
    {"bool", "set_gaps(rle(bitpack, bitpack))"},
    {"u32", "members(words: u8[] = plain)"},
    {"u32", "members(words: u64[] = bitpack)"},
    {"i32", "gpu_for"},
    {"date32", "gpu_dfor(block_starts: delta(bitpack))"},
    {"i32", "rle(values: gpu_dfor, counts: bitpack)"},
    {"string", "strings"},
    {"string", "strings(lengths: bitpack, bytes: rle(values: bitpack, counts: bitpack))"},
    {"string", "dictionary(codes: bitpack, entries: strings)"},
    {"string", "rle(values: strings(lengths: bitpack), counts: bitpack)"},
    {"string",
     "strings(lengths: delta(bitpack), bytes: words(tokens: bitpack, entries: strings(bitpack, dictionary), sample: 4096))"},
    {"string", "strings(bitpack, dictionary) | plain(values: dictionary(bitpack, strings))"},
    {"string?", "nullable(values: strings(lengths: bitpack))"},
    {"string?", "rle(values: nullable(values: dictionary(entries: strings)), counts: bitpack)"},
    {"i32?", "nullable(validity: set_gaps(bitpack), values: bitpack)"},
    {"u32", "delta(members(rle(bitpack, bitpack)))"},
    {"i16", "pfor(rle(bitpack, bitpack), bitpack, delta(rle))"},
    {"f64", "alp(ints: delta(zigzag(bitpack)), gaps: bitpack)"},
    {"u32", "pfor(values: delta(rle(bitpack, bitpack)), gaps: rle(bitpack, bitpack))"},
    {"u8", "fsst_groups(codes: bitpack, sample: 1024)"},
    {"u8", "rle(values: fsst_groups(symbols: fsst_symbols, sample: 512), counts: bitpack)"},
    {"u64", "fsst_symbols(sizes: rle(bitpack, bitpack))"},
    {"i64", "bitpack(packed: u64[] = fsst_symbols)"},
    {"string", "strings(lengths: bitpack, bytes: fsst_groups(sample: 1024))"},
    {"string", "strings(lengths: bitpack, bytes: fsst(sample: 1024, chunk: 300))"},
    {"string", "dictionary(codes: bitpack, entries: strings(bytes: fsst(sample: 512)))"},
    {"string?", "nullable(values: strings(bytes: fsst(sample: 512, chunk: 50)))"},
    {INTEGERS, "split"},
    {"u32 i64", "split(high: u16[] = bitpack, low: bitpack)"},
    {"i32", "delta(split(high: tans(slots: tans_slots(tans_symbols), chunk: 700), low: bitpack))"},
    {"i16 u64", "split(by: 3, high: u64[] = split(plain, bitpack), low: bitpack)"},
    {"i8 u16 i32 u64", "multiples"},
    {"i64", "multiples(times: bitpack, codes: bitpack, entries: delta(rle(bitpack, bitpack)), most: 9)"},
    {"u8 i32 f64 bool", "interleave"},
    {"i64", "interleave(n: 5, values: delta_stride(bitpack, bitpack, bitpack))"},
    {"string", "strings(lengths: bitpack, bytes: numerals(numbers: bitpack))"},
    {"string", "strings(bytes: numerals(numbers: delta_stride))"},
    {"u8", "numerals"},
    {"string?", "interleave(n: 3, values: nullable(values: strings(bitpack, bitpack)))"},
};

enum { FAMILIES = sizeof families / sizeof families[0] };

/// The length of the first type of a list: they are separated by blanks, but for the one in "decimal(15, 2)".
static size_t type_length(const char *types) { return strncmp(types, "decimal", 7) == 0 ? strlen(types) : strcspn(types, " "); }

static const char *next_type(const char *types) {
    types += type_length(types);
    return types + (*types == ' ');
}

void diff_columns_families(zf_text *out) {
    unsigned number = 0;
    for (size_t f = 0; f < FAMILIES; f++) {
        for (const char *at = families[f].types; *at != 0; at = next_type(at))
            zf_text_printf(out, "table c%u { c: %.*s = %s; }\n", number++, (int)type_length(at), at, families[f].codec);
    }
}

bool diff_columns_sampled(unsigned number, sample wanted) {
    for (unsigned f = 0; f < FAMILIES; f++) {
        unsigned types = 0;
        for (const char *at = families[f].types; *at != 0; at = next_type(at)) types++;
        unsigned each = types < wanted.every ? types : wanted.every; // so that the family has the first
        if (number < types) return number % wanted.every == (f + wanted.turn) % each;
        number -= types;
    }
    return sample_has(wanted, number);
}

/// A codec, or columns: words look for entries in a smaller sample, which is what takes the interpreter long.
static void put_sampled(zf_text *out, const char *text) {
    for (const char *at; (at = strstr(text, "words(")) != NULL; text = at + strlen("words("))
        zf_text_printf(out, "%.*swords(sample: 4096, ", (int)(at - text), text);
    zf_text_puts(out, text);
}

unsigned diff_columns_tpch(zf_text *out) {
    FILE *file = fopen(ZF_SOURCE_DIR "/examples/tpch/tpch.zf", "rb");
    char line[400], name[64], type[32], codec[256], text[320];
    zf_text seen = {0};
    unsigned columns = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "codec ", 6) == 0) put_sampled(out, line);
        if (sscanf(line, " %63[a-z_]: %31s = %255[^;];", name, type, codec) != 3 || line[0] != ' ') continue;
        columns++;
        // The first column with a type and codec stands for all of them.
        snprintf(text, sizeof text, "c: %s = %s;", type, codec);
        if (seen.data != NULL && strstr(seen.data, text) != NULL) continue;
        zf_text_puts(&seen, text);
        zf_text_printf(out, "table %s { ", name);
        put_sampled(out, text);
        zf_text_puts(out, " }\n");
    }
    if (file != NULL) fclose(file);
    zf_text_free(&seen);
    return columns;
}

void diff_columns_nests(unsigned count, zf_text *out) {
    gen_options options = {.features = GEN_ALL, .std_only = true, .nest = 4};
    for (uint64_t k = 0, seed = 1; k < count; seed++) {
        zf_text program = {0};
        gen_program(seed * 977, &options, &program);
        const char *column = strstr(program.data, "c: "), *end = column != NULL ? strchr(column, ';') : NULL;
        if (end != NULL && memchr(column, '(', (size_t)(end - column)) != NULL)
            zf_text_printf(out, "table n%llu { %.*s; }\n", (ull)k++, (int)(end - column), column);
        zf_text_free(&program);
    }
}

void diff_columns_reading(zf_text *out) {
    zf_text_puts(out, "algorithm echo(src: u8[] per chunk) -> u8[] non_parallel(chunk = 300) {\n"
                      "    decode { while out.pos < out.len {\n"
                      "        let d = src.u8();\n"
                      "        if out.pos == 0 { emit d; } else { emit out[out.pos - 1] ^ out[out.pos / 2] ^ d; }\n"
                      "    } }\n"
                      "    encode(x) { for c in chunks(x) { for i in 0..c.len {\n"
                      "        src.push(i == 0 ? c[0] : c[i] ^ c[i - 1] ^ c[i / 2]);\n"
                      "    } } }\n"
                      "}\n"
                      "table echoes { c: string = strings(lengths: bitpack, bytes: echo); }\n");
}

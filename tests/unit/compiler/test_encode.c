// Links: zf_llvm_headers zipflow-compiler zf-interp
// Encoding through generated code: every algorithm of the standard library and every column of the examples round trips at sizes
// around tiles and blocks, and what is stored is what the interpreter's encoder would store, bit for bit.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/encode/cg_encode.h"
#include "codegen/encode/encode_support.h"
#include "compiler/emit.h"
#include "compiler/program.h"
#include "runtime/container/container.h"
#include "tests/interp/interp.h"
#include "tests/unit/check.h"

static char root[] = "/tmp/zf_test_encode_XXXXXX";
static zf_context *context;
static zf_compiler *compiler;

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

// ---- Data -----------------------------------------------------------------------------------------------------

static uint64_t random_state = 1;

static uint64_t random_word(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = random_state ^ random_state >> 33;
    x *= 0xff51afd7ed558ccdu;
    return x ^ x >> 29;
}

typedef enum data_shape { CONSTANT, SORTED, STEPS, RUNS, SMALL, WIDE, SHAPES } data_shape;

static uint64_t word_at(data_shape shape, uint64_t k, uint64_t *run_value, uint64_t *run_left) {
    switch (shape) {
    case CONSTANT: return 42;
    case SORTED: return *run_value += random_word() % 5;
    case STEPS: return k * 3 + k / 1000 * 17;
    case RUNS:
        if (*run_left == 0) {
            *run_left = random_word() % 40 + 1;
            *run_value = random_word() % 9;
        }
        --*run_left;
        return *run_value;
    case SMALL: return random_word() % 100;
    default: return random_word();
    }
}

/// Fills `rows` elements of a kind.
static void fill(zf_kind kind, data_shape shape, uint64_t rows, uint8_t *out) {
    uint64_t run_value = 0, run_left = 0;
    unsigned size = zf_kind_size(kind);
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t word = word_at(shape, k, &run_value, &run_left);
        if (kind == ZF_K_BOOL) word &= 1;
        if (zf_kind_is_float(kind) && shape != WIDE) { // decimal fractions
            double value = (double)(int64_t)(word % 100000) / 100.0;
            float narrow = (float)value;
            if (kind == ZF_K_F64)
                memcpy(&word, &value, 8);
            else
                memcpy(&word, &narrow, 4);
        }
        memcpy(out + k * size, &word, size);
    }
}

// ---- A column through everything ------------------------------------------------------------------------------

/// Compares the stored bytes with those of the interpreter.
static void compare_with_interpreter(zf_program *program, zf_container *container, zf_kind kind, const uint8_t *plain,
                                     uint64_t rows, uint64_t rows_per_block, const char *what) {
    const zf_table *table = zf_spec_find_table(program->spec, NULL);
    const zf_column *column = table->columns;
    unsigned size = zf_kind_size(kind);
    for (uint64_t block = 0; block * rows_per_block < rows; block++) {
        interp_options options = {.no_verify = true, .no_claims = true};
        interp *in = interp_create(&options);
        interp_stream *stream = interp_stream_new(in, zf_type_strip(column->type));
        uint64_t first = block * rows_per_block, count = rows - first < rows_per_block ? rows - first : rows_per_block;
        for (uint64_t k = 0; k < count; k++) {
            uint64_t word = 0;
            memcpy(&word, plain + (first + k) * size, size);
            interp_stream_push(stream, word);
        }
        interp_tree *tree = NULL;
        interp_report report;
        interp_block expected;
        zf_block_view view;
        zf_error error = {0};
        interp_status status = interp_encode(in, column, stream, &tree, &report);
        bool flat = status == INTERP_OK && interp_flatten(in, column, tree, &expected) == INTERP_OK;
        CHECK(flat, "%s: the interpreter says %s: %s", what, interp_status_name(status), report.message);
        bool open = zf_container_block(container, 0, block, true, &view, &error) == ZF_OK;
        CHECK(open, "%s: %s", what, error.message);
        if (flat && open) {
            const zf_shape *s = view.shape;
            bool same_shape = s->param_count == expected.param_count && s->edge_count == expected.edge_count &&
                              s->stored_count == expected.stream_count && s->branch_count == expected.branch_count;
            CHECK(same_shape, "%s: another shape", what);
            for (uint32_t b = 0; same_shape && b < s->branch_count; b++) {
                CHECK(s->branches[b] == expected.branches[b], "%s: branch %u", what, b);
            }
            for (uint32_t p = 0; same_shape && p < s->param_count; p++) {
                CHECK(view.params[p] == expected.params[p], "%s: param %s is %" PRIx64 ", not %" PRIx64, what, s->params[p].path,
                      view.params[p], expected.params[p]);
            }
            for (uint32_t e = 0; same_shape && e < s->edge_count; e++) {
                CHECK(view.counts[e] == expected.counts[e], "%s: edge %s has %" PRIu64 " elements, not %" PRIu64, what,
                      s->edges[e].path, view.counts[e], expected.counts[e]);
            }
            for (uint32_t k = 0; same_shape && k < s->stored_count; k++) {
                const zf_stream_view *got = &view.streams[k];
                const interp_stored *want = &expected.streams[k];
                bool same = got->bytes == want->size && got->elements == want->elements &&
                            (want->size == 0 || memcmp(view.base + got->offset, want->bytes, want->size) == 0);
                CHECK(same, "%s: stored stream %u differs", what, k);
            }
        }
        if (open) zf_block_view_free(&view);
        interp_destroy(in);
    }
}

static void decode_and_compare(zf_container *container, zf_kind kind, const uint8_t *plain, uint64_t rows, const char *what) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    zf_status status = zf_decode_size(container, 0, NULL, &sizes, &error);
    CHECK(status == ZF_OK, "%s: %s (%s)", what, error.message, error.place);
    if (status != ZF_OK) return;
    void *values = aligned_alloc(64, (sizes.values + 127) / 64 * 64);
    void *work = aligned_alloc(64, (sizes.workspace + 127) / 64 * 64);
    zf_decode_buffers buffers = {.values = values, .workspace = work, ZF_DECODE_BYTES(sizes)};
    status = zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s, %s", what, error.message, error.place);
    if (status == ZF_OK && kind != ZF_K_BOOL) {
        CHECK(memcmp(values, plain, rows * zf_kind_size(kind)) == 0, "%s: decoded to something else", what);
    }
    for (uint64_t k = 0; status == ZF_OK && kind == ZF_K_BOOL && k < rows; k++) {
        bool bit = ((const uint8_t *)values)[k / 8] >> (k % 8) & 1;
        if (bit != (plain[k] != 0)) CHECK(false, "%s: bit %" PRIu64 " differs", what, k);
    }
    free(values);
    free(work);
}

static zf_program *load(const char *text, zf_error *error) {
    zf_program *program = NULL;
    FILE *file = fopen(path_of("t.zf"), "w");
    if (file == NULL) return NULL;
    fputs(text, file);
    fclose(file);
    zf_status status = zf_program_load(compiler, path_of("t.zf"), &program, error);
    CHECK(status == ZF_OK, "%s", program != NULL ? zf_program_diagnostics(program, ZF_DIAGNOSTICS_HUMAN) : error->message);
    if (status == ZF_OK) return program;
    zf_program_free(program);
    return NULL;
}

/// A block behind the first may have the tuple of an earlier one, which the interpreter does not do: then all rows are encoded
/// again, as one block, to be compared with it.
static void round_trip(zf_program *program, zf_kind kind, const uint8_t *plain, uint64_t rows, uint64_t rows_per_block,
                       bool with_interpreter, const char *what) {
    zf_error error = {0};
    zf_encode_column column = {.name = "c", .values = plain};
    zf_encode_options options = {.rows_per_block = rows_per_block, .overwrite = true};
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("t.zfd"));
    if (getenv("ZF_TEST_TRACE") != NULL) fprintf(stderr, "%s\n", what); // which one a sanitizer stopped
    zf_status status = zf_encode(program, NULL, &column, 1, rows, &options, path, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s: %s (%s)", what, error.code, error.message, error.place);
    if (status != ZF_OK) return;
    zf_container *container = NULL;
    status = zf_container_open(context, path, &container, &error);
    CHECK(status == ZF_OK, "%s: %s", what, error.message);
    if (status != ZF_OK) return;
    decode_and_compare(container, kind, plain, rows, what);
    bool compares = with_interpreter && rows <= rows_per_block;
    if (compares) compare_with_interpreter(program, container, kind, plain, rows, rows_per_block, what);
    zf_container_close(container);
    if (with_interpreter && !compares) round_trip(program, kind, plain, rows, (rows + 4095) / 4096 * 4096, true, what);
}

// ---- The codecs -----------------------------------------------------------------------------------------------

typedef struct codec_case {
    const char *type, *text;
    zf_kind kind;
    unsigned shapes; ///< bits: which data it takes
} codec_case;

enum { ANY = (1 << SHAPES) - 1, NOT_WIDE = ANY & ~(1 << WIDE) };

static const codec_case codecs[] = {
    {"i64", "plain", ZF_K_I64, ANY},
    {"f32", "plain", ZF_K_F32, ANY},
    {"bool", "plain", ZF_K_BOOL, ANY},
    {"u8", "bitpack", ZF_K_U8, ANY},
    {"i16", "bitpack", ZF_K_I16, ANY},
    {"u32", "bitpack", ZF_K_U32, ANY},
    {"i64", "bitpack", ZF_K_I64, ANY},
    {"u64", "bitpack(packed: u8[] = plain)", ZF_K_U64, ANY},
    {"i32", "bitpack(packed: u64[] = plain)", ZF_K_I32, ANY},
    {"i32", "zigzag(bitpack)", ZF_K_I32, ANY},
    {"i8", "zigzag", ZF_K_I8, ANY},
    {"i32", "dictionary(bitpack)", ZF_K_I32, NOT_WIDE},
    {"f64", "dictionary(codes: bitpack)", ZF_K_F64, ANY},
    {"u8", "dictionary(bitpack, bitpack)", ZF_K_U8, ANY},
    {"f64", "float2int(bitpack)", ZF_K_F64, NOT_WIDE},
    {"f32", "float2int(bitpack)", ZF_K_F32, 1 << CONSTANT | 1 << SMALL},
    {"u32", "byte_stream_split", ZF_K_U32, ANY},
    {"f64", "byte_stream_split", ZF_K_F64, ANY},
    {"i64", "delta(bitpack)", ZF_K_I64, ANY},
    {"u8", "delta", ZF_K_U8, ANY},
    {"i32", "rle(bitpack, bitpack)", ZF_K_I32, ANY},
    {"bool", "rle(plain, bitpack)", ZF_K_BOOL, ANY},
    {"f32", "rle", ZF_K_F32, ANY},
    {"i64", "delta_stride(bitpack, bitpack, bitpack)", ZF_K_I64, ANY},
    {"u16", "delta_stride", ZF_K_U16, ANY},
};

static const uint64_t sizes[] = {0, 1, 2, 63, 4095, 4096, 4097, 8192, 12289};

static void test_codecs(void) {
    static uint8_t plain[16384 * 8];
    for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++) {
        const codec_case *codec = &codecs[c];
        char text[512], what[600];
        zf_error error = {0};
        snprintf(text, sizeof text, "table t { c: %s = %s; }\n", codec->type, codec->text);
        zf_program *program = load(text, &error);
        if (program == NULL) continue;
        for (unsigned s = 0; s < SHAPES; s++) {
            if (!(codec->shapes >> s & 1)) continue;
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                fill(codec->kind, (data_shape)s, sizes[n], plain);
                snprintf(what, sizeof what, "%s = %s, data %u, %" PRIu64 " rows", codec->type, codec->text, s, sizes[n]);
                round_trip(program, codec->kind, plain, sizes[n], n % 2 == 0 ? 4096 : 8192, true, what);
            }
        }
        zf_program_free(program);
    }
}

// ---- Encoders of one's own ------------------------------------------------------------------------------------

/// Forms that the library's encoders do not use. decode is as simple as can be.
static const char FORMS[] =
    "algorithm forms(packed: u16[], extra: u8[], sorted: i32[], param total: u64, param mean: f64, param flag: bool) -> i32[] "
    "fully_parallel {\n"
    "    fn clamp(v: i32) -> i32 { if v < -1000 { return -1000; } if v > 1000 { return 1000; } return v; }\n"
    "    fn collect(x: i32[], var into: i32[]) { for v in x { if v % 2 == 0 { into.push(v); } } }\n"
    "    decode(i) = packed.bits(i * 32, 32) as u32 as i32;\n"
    "    encode(x) {\n"
    "        var even: i32[]; var histogram: u32[16]; var hits: u64 = 0; var i: u64 = 0;\n"
    "        collect(x, even);\n"
    "        for v in x { histogram[bits_of(v) & 15] += 1; hits += (clamp(v) == v) as u64; }\n"
    "        loop { if i >= x.len { break; } i += 1; if i % 3 == 0 { continue; } total += i; }\n"
    "        for k in 0..16 { if histogram[k] > 0 { extra.push(k as u8); extra.push_varint(histogram[k] as u64); } }\n"
    "        extra.push_bits(5, 3); extra.push_bits(hits, 13); extra.push(255); extra.reverse();\n"
    "        sort(even); if even.len > 0 { even[0] += 1; sorted.append(even[0..even.len]); }\n"
    "        if even.len > 2 { sorted.append(even[1..=2]); sorted.push(even[even.len - 1] / (even[1] | 1)); }\n"
    "        mean = x.len == 0 ? 0.0 : x[x.len / 2] as f64 / x.len as f64;\n"
    "        flag = any(k in 0..x.len: x[k] == 7) && !all(k in 0..x.len: x[k] == 7);\n"
    "        total += max(k in 0..x.len: x[k] as u8) as u64 + packed.bit_len + extra.len;\n"
    "        for v in x { packed.push_bits(bits_of(v), 11); packed.push_bits(bits_of(v) >> 11, 21); }\n"
    "        if packed.len > 1 { total += packed[packed.len - 1] as u64 + packed.bits(5, 20) << 1; }\n"
    "    }\n"
    "}\n"
    "table t { c: i32 = forms; }\n";

static void test_forms(void) {
    static uint8_t plain[16384 * 4];
    zf_error error = {0};
    zf_program *program = load(FORMS, &error);
    if (program == NULL) return;
    for (unsigned s = 0; s < SHAPES; s++) {
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
            char what[64];
            fill(ZF_K_I32, (data_shape)s, sizes[n], plain);
            snprintf(what, sizeof what, "forms, data %u, %" PRIu64 " rows", s, sizes[n]);
            round_trip(program, ZF_K_I32, plain, sizes[n], 8192, true, what);
        }
    }
    zf_program_free(program);
}

// ---- Failures -------------------------------------------------------------------------------------------------

typedef struct bad {
    const char *what, *text;
    const char *code, *message; ///< message: a part of it
} bad;

static const bad bads[] = {
    {"refused", "table t { c: f64 = float2int(bitpack); }", "ZF0602", "row 4100, value"},
    {"refused, no alternative", "table t { c: f64 = float2int(bitpack) | float2int(plain); }", "ZF0602",
     "not a decimal fraction"},
    {"wrong",
     "algorithm a(s: f64[]) -> f64[] fully_parallel { decode(i) = s[i] + 1.0; encode(x) { s.append(x); } }\n"
     "table t { c: f64 = a; }",
     "ZF0601", "row 0 is"},
    {"wrong at a row",
     "algorithm a(s: f64[]) -> f64[] fully_parallel { decode(i) = i == 904 ? 1.0 : s[i]; encode(x) { s.append(x); } }\n"
     "table t { c: f64 = a; }",
     "ZF0601", "row 904 is"},
    {"out of bounds",
     "algorithm a(s: f64[]) -> f64[] fully_parallel { decode(i) = s[i];\n"
     "encode(x) { for k in 0..=x.len { s.push(x[k]); } } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "leaves its bounds"},
    {"endless",
     "algorithm a(s: f64[]) -> f64[] fully_parallel { decode(i) = s[i]; encode(x) { s.append(x); loop { } } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "does not end"},
    {"cubic",
     "algorithm a(s: f64[], param p: u64) -> f64[] fully_parallel { decode(i) = s[i]; encode(x) { var t: u64 = 0;\n"
     "for i in 0..x.len { for j in 0..x.len { for v in x { t += i ^ j ^ bits_of(v); } } } p = t; s.append(x); } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "takes too long: its loops may run"},
    {"cubic by reductions",
     "algorithm a(s: f64[], param p: u64) -> f64[] fully_parallel { decode(i) = s[i]; encode(x) { var t: u64 = 0;\n"
     "for i in 0..x.len { for j in 0..x.len { t += sum(k in 0..x.len: bits_of(x[k]) ^ i ^ j); } } p = t; s.append(x); } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "takes too long: its loops may run"},
    {"cubic by a search",
     "algorithm a(s: f64[], param p: u64) -> f64[] fully_parallel { decode(i) = s[i]; encode(x) { var t: u64 = 0;\n"
     "for i in 0..x.len { for j in 0..x.len { for k in 0..x.len { if bits_of(x[k]) == i * j + 77 { break; } t += 1; } } }\n"
     "p = t; s.append(x); } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "takes too long: its loops may run"},
    {"steps of all elements",
     "algorithm a(s: f64[]) -> f64[] fully_parallel { decode(i) { var t: f64 = s[i]; for k in 0..50000 { t = t + s[i] * 0.0; }\n"
     "return t; } encode(x) { s.append(x); } }\n"
     "table t { c: f64 = a(a); }",
     "ZF1310", "V10: more work"},
    {"endless output",
     "algorithm a(s: f64[]) -> f64[] fully_parallel { decode(i) = s[i]; encode(x) { loop { s.push(1.0); } } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "writes far more"},
    {"division",
     "algorithm a(s: f64[], param p: u64) -> f64[] fully_parallel { decode(i) = s[i]; encode(x) { p = x.len / (x.len - 4096); "
     "s.append(x); } }\n"
     "table t { c: f64 = a; }",
     "ZF0602", "division by zero"},
};

static void test_failures(void) {
    enum { ROWS = 6000 };
    static double values[ROWS];
    for (unsigned k = 0; k < ROWS; k++) values[k] = k * 0.25;
    values[4100] = 0.0 / (values[0] + values[0]); // NaN
    for (size_t b = 0; b < sizeof bads / sizeof bads[0]; b++) {
        zf_error error = {0};
        zf_program *program = load(bads[b].text, &error);
        if (program == NULL) continue;
        zf_encode_column column = {.name = "c", .values = values};
        zf_encode_options options = {.rows_per_block = 4096, .overwrite = true};
        char path[256];
        snprintf(path, sizeof path, "%s", path_of("bad.zfd"));
        zf_status status = zf_encode(program, NULL, &column, 1, ROWS, &options, path, NULL, &error);
        CHECK(status == ZF_ERR_INPUT, "%s: %s", bads[b].what, zf_status_name(status));
        CHECK(strcmp(error.code, bads[b].code) == 0, "%s: %s: %s", bads[b].what, error.code, error.message);
        CHECK(strstr(error.message, bads[b].message) != NULL, "%s: %s", bads[b].what, error.message);
        CHECK(strstr(error.place, "column c, block") != NULL, "%s: %s", bads[b].what, error.place);
        CHECK(access(path, F_OK) != 0, "%s: a file was left", bads[b].what);
        zf_program_free(program);
    }
}

static void test_alternatives(void) {
    static double values[10000];
    for (unsigned k = 0; k < 10000; k++) values[k] = k % 100 * 0.25;
    zf_error error = {0};
    zf_program *program = load("table t { c: f64 = plain | float2int(bitpack) | byte_stream_split; }", &error);
    if (program != NULL) {
        round_trip(program, ZF_K_F64, (const uint8_t *)values, 10000, 4096, true, "alternatives");
        values[5000] = 1.0 / 3.0; // the second block alone falls back
        round_trip(program, ZF_K_F64, (const uint8_t *)values, 10000, 4096, true, "alternatives, one refuses");
        zf_program_free(program);
    }
    // An alternative that does not decode to its source counts as refused.
    program = load("algorithm bad(s: u8[]) -> f64[] fully_parallel { decode(i) = 0.0; encode(x) { s.push(1); } }\n"
                   "table t { c: f64 = bad | plain; }",
                   &error);
    if (program != NULL) {
        round_trip(program, ZF_K_F64, (const uint8_t *)values, 10000, 4096, false, "an alternative that does not verify");
        zf_program_free(program);
    }
}

/// Strings that decode to other characters, or to the same ones cut elsewhere, are noticed.
static void test_other_texts(void) {
    static const char decode[] = "(lengths: u32[], bytes: u8[]) -> string[] fully_parallel {\n"
                                 "  fn start(i) = sum(k in 0..i: lengths[k] as u64);\n"
                                 "  decode(i) = bytes[start(i) .. start(i) + lengths[i]];\n";
    static const char *const bodies[][2] = {
        {"for s in x { bytes.append(s); } for k in 0..x.len { lengths.push(x[x.len - 1 - k].len as u32); }",
         "row 0 is \"a\", decoded \"abb\""},
        {"for s in x { lengths.push(s.len as u32); for k in 0..s.len { bytes.push(k == 2 ? 'x' : s[k]); } }",
         "row 2 is \"ccc\", decoded \"ccx\""},
        {"for s in x { lengths.push(s.len as u32); bytes.append(s); }", NULL}};
    static const int64_t offsets[] = {2, 3, 5, 8};
    const zf_encode_column column = {.name = "c", .values = "--abbccc", .offsets = offsets};
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        char text[1024];
        snprintf(text, sizeof text, "algorithm a%s  encode(x) { %s } }\ntable t { c: string = a; }", decode, bodies[k][0]);
        zf_error error = {0};
        zf_program *program = load(text, &error);
        if (program == NULL) return;
        const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
        zf_status status = zf_encode(program, NULL, &column, 1, 3, &options, path_of("texts.zfd"), NULL, &error);
        bool right = bodies[k][1] == NULL ? status == ZF_OK : status != ZF_OK && strstr(error.message, bodies[k][1]) != NULL;
        CHECK(right, "%s: %s", bodies[k][0], error.message);
        zf_program_free(program);
    }
}

static void test_usage(void) {
    zf_error error = {0};
    int32_t values[4] = {1, 2, 3, 4};
    zf_program *program = load("table t { c: i32 = bitpack; d: i32 = plain; }", &error);
    if (program == NULL) return;
    zf_encode_column columns[3] = {
        {.name = "c", .values = values}, {.name = "d", .values = values}, {.name = "e", .values = values}};
    const char *path = "/nonexistent/directory/file.zfd";
    CHECK(zf_encode(program, NULL, columns, 1, 4, NULL, path, NULL, &error) == ZF_ERR_USAGE, "missing");
    CHECK(strstr(error.message, "column `d` is missing") != NULL, "%s", error.message);
    CHECK(zf_encode(program, NULL, columns, 3, 4, NULL, path, NULL, &error) == ZF_ERR_USAGE, "unknown");
    columns[1].name = "c";
    CHECK(zf_encode(program, NULL, columns, 2, 4, NULL, path, NULL, &error) == ZF_ERR_USAGE, "twice");
    columns[1].name = "d";
    CHECK(zf_encode(program, "u", columns, 2, 4, NULL, path, NULL, &error) == ZF_ERR_USAGE, "no such table");
    const uint64_t many[] = {UINT64_MAX, UINT64_MAX - 4096, PTRDIFF_MAX / sizeof values[0] + 1};
    for (size_t k = 0; k < sizeof many / sizeof many[0]; k++) {
        zf_status status = zf_encode(program, NULL, columns, 2, many[k], NULL, path, NULL, &error);
        CHECK(status == ZF_ERR_USAGE && strstr(error.message, "column `c` cannot have") != NULL, "%s: %s", error.code,
              error.message);
    }
    const zf_encode_options wrong[] = {{.rows_per_block = 1000, .format = 1}, {.rows_per_block = (UINT64_C(1) << 31) + 1}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        CHECK(zf_encode(program, NULL, columns, 2, 4, &wrong[k], path, NULL, &error) == ZF_ERR_USAGE, "rows per block %zu", k);
    CHECK(zf_encode(program, NULL, columns, 2, 4, NULL, path, NULL, &error) == ZF_ERR_IO, "%s", error.message);
    zf_program_free(program);
}

/// Encodes three rows of one column and says which word of the error's message is wrong; NULL: none.
static const char *refused_otherwise(const char *type, const zf_encode_column *column, const char *says[2]) {
    static char other[sizeof(zf_error)];
    char text[100];
    zf_error error = {0};
    snprintf(text, sizeof text, "table t { c: %s; }", type);
    zf_program *program = load(text, &error);
    zf_status status = zf_encode(program, NULL, column, 1, 3, NULL, "/nonexistent/directory/file.zfd", NULL, &error);
    zf_program_free(program);
    snprintf(other, sizeof other, "%s: %s", error.code, error.message);
    if (says[0] == NULL) return status == ZF_ERR_IO ? NULL : other; // the file cannot be written, so the column was taken
    bool good = status == ZF_ERR_USAGE && strstr(error.message, says[0]) != NULL && strstr(error.message, says[1]) != NULL;
    return good ? NULL : other;
}

/// Bytes that are no booleans, offsets where there are no strings, strings without characters.
static void test_wrong_values(void) {
    static const uint8_t none = 0, first_two = 3, last = 4, good[3] = {1, 0, 1};
    static const int64_t ends[4] = {0, 1, 2, 3}, empty[4] = {0};
    const struct {
        const char *type;
        uint8_t values[3];
        const int64_t *offsets;
        const uint8_t *validity;
        const char *says[2];
    } rows[] = {
        {"bool = plain", {1, 0, 2}, NULL, NULL, {"column `c`", "row 2 is 2"}},
        {"bool = plain", {255, 0, 1}, NULL, NULL, {"column `c`", "row 0 is 255"}},
        {"bool? = nullable", {0, 2, 1}, NULL, NULL, {"column `c`", "row 1 is 2"}},
        {"bool? = nullable", {0, 2, 9}, NULL, &first_two, {"column `c`", "row 1 is 2"}},
        {"bool? = nullable", {7, 2, 9}, NULL, &last, {"column `c`", "row 2 is 9"}},
        {"bool? = nullable", {7, 2, 9}, NULL, &none, {NULL, NULL}},
        {"bool? = nullable", {7, 2, 1}, NULL, &last, {NULL, NULL}},
        {"bool = plain", {1, 0, 1}, NULL, NULL, {NULL, NULL}},
        {"u8 = plain", {1, 0, 1}, ends, NULL, {"column `c` is not of strings", "offsets are given"}},
        {"u8? = nullable", {1, 0, 1}, ends, NULL, {"column `c` is not of strings", "offsets are given"}},
        {"bool = plain", {1, 0, 1}, ends, NULL, {"column `c` is not of strings", "offsets are given"}},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const zf_encode_column column = {
            .name = "c", .values = rows[k].values, .offsets = rows[k].offsets, .validity = rows[k].validity};
        const char *says[2] = {rows[k].says[0], rows[k].says[1]}, *other = refused_otherwise(rows[k].type, &column, says);
        CHECK(other == NULL, "case %zu: %s", k, other);
    }
    const char *missing[2] = {"column `c`", "no values"}, *taken[2] = {NULL, NULL}, *other;
    other = refused_otherwise("string = strings", &(zf_encode_column){.name = "c", .offsets = ends}, missing);
    CHECK(other == NULL, "strings without characters: %s", other);
    other = refused_otherwise("string = strings", &(zf_encode_column){.name = "c", .offsets = empty}, taken);
    CHECK(other == NULL, "empty strings: %s", other);
    other = refused_otherwise("string = strings", &(zf_encode_column){.name = "c", .values = good, .offsets = ends}, taken);
    CHECK(other == NULL, "strings: %s", other);
}

/// Statistics are zero after a wrong argument, and no entry beyond the given columns is written.
static void test_no_statistics(void) {
    zf_error error = {0};
    int32_t values[4] = {1, 2, 3, 4};
    zf_program *program = load("table t { c: i32 = bitpack; d: i32 = plain; }", &error);
    if (program == NULL) return;
    const zf_encode_column columns[2] = {{.name = "c", .values = values}, {.name = "e", .values = values}};
    const zf_encode_options wrong = {.rows_per_block = 1000};
    for (int k = 0; k < 4; k++) {
        zf_encode_stats stats[3];
        memset(stats, 0xa5, sizeof stats);
        stats[0].size = sizeof stats[0];
        size_t count = k == 0 ? 1 : 2; // a column is missing, or unknown
        zf_status status = zf_encode(k == 3 ? NULL : program, NULL, columns, count, 4, k == 2 ? &wrong : NULL,
                                     "/nonexistent/directory/file.zfd", stats, &error);
        CHECK(status == ZF_ERR_USAGE, "%d: %s", k, error.message);
        for (size_t c = 0; c < count; c++)
            CHECK(stats[c].size == sizeof stats[c] && stats[c].blocks == 0 && stats[c].plain_bytes == 0, "%d: entry %zu", k, c);
        CHECK(stats[count].blocks == UINT64_C(0xa5a5a5a5a5a5a5a5), "%d: an entry too many was written", k);
    }
    zf_module_stats module = {.columns = 7, .bytes = 7};
    CHECK(zf_module_compile(program, "u", NULL, "/nonexistent/directory/file.zfm", &module, &error) == ZF_ERR_USAGE &&
              module.columns == 0 && module.bytes == 0,
          "%s", error.message);
    zf_program_free(program);
}

/// One program writes files with states at different distances, one after the other: each has its own.
static void test_seek_intervals(void) {
    enum { ROWS = 40000 };
    static int32_t values[ROWS];
    for (int32_t k = 0; k < ROWS; k++) values[k] = k / 7 * 3;
    zf_error error = {0};
    zf_program *program = load("table t { c: i32 = delta(bitpack); }", &error);
    if (program == NULL) return;
    zf_encode_column column = {.name = "c", .values = values};
    zf_encode_options options = {.overwrite = true};
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("apart.zfd"));
    static const struct {
        unsigned asked;
        uint32_t expected; ///< 0: refused
    } rows[] = {{0, 1024},  {256, 256}, {65536, 65536}, {0, 1024}, {1024, 1024},
                {512, 512}, {128, 0},   {131072, 0},    {1000, 0}, {1, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        options.seek_interval = rows[k].asked;
        zf_status status = zf_encode(program, NULL, &column, 1, ROWS, &options, path, NULL, &error);
        CHECK(status == (rows[k].expected == 0 ? ZF_ERR_USAGE : ZF_OK), "%u: %s", rows[k].asked, error.message);
        if (status != ZF_OK) continue;
        zf_container *container = NULL;
        zf_block_view view;
        status = zf_container_open(context, path, &container, &error);
        if (status == ZF_OK) status = zf_container_block(container, 0, 0, true, &view, &error);
        CHECK(status == ZF_OK, "%u: %s", rows[k].asked, error.message);
        if (status == ZF_OK) {
            CHECK(view.seeks[0].interval == rows[k].expected && view.seeks[0].entries == (ROWS - 1) / rows[k].expected,
                  "%u: %llu states every %u", rows[k].asked, (unsigned long long)view.seeks[0].entries, view.seeks[0].interval);
            zf_block_view_free(&view);
        }
        zf_container_close(container);
    }
    zf_program_free(program);
}

static bool stop_after_one(void *user, uint64_t done, uint64_t blocks) {
    CHECK(blocks == 3, "%" PRIu64 " blocks", blocks);
    *(uint64_t *)user = done;
    return done < 1;
}

static void test_stopping(void) {
    static int32_t values[12288];
    zf_error error = {0};
    zf_program *program = load("table t { c: i32 = plain; }", &error);
    if (program == NULL) return;
    uint64_t done = 0;
    zf_encode_column column = {.name = "c", .values = values};
    zf_encode_options options = {.rows_per_block = 4096, .overwrite = true, .progress = stop_after_one, .progress_user = &done};
    char path[256];
    snprintf(path, sizeof path, "%s", path_of("stopped.zfd"));
    CHECK(zf_encode(program, NULL, &column, 1, 12288, &options, path, NULL, &error) == ZF_ERR_CANCELLED, "stopped");
    CHECK(strcmp(error.code, "ZF1115") == 0 && strstr(error.message, "after 1 of 3 blocks") != NULL, "%s", error.message);
    CHECK(done == 1 && access(path, F_OK) != 0, "a file was left");
    zf_program_free(program);
}

/// A codec that this build cannot encode or decode yet fails before anything is written.
static void test_unsupported(void) {
    static const struct {
        const char *text, *code;
    } rows[] = {
        {"table t { c: u8 = a; }\nalgorithm a(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i]; encode extern \"nobody\"; }",
         "ZF0605"},
        {"table t { c: u8 = a; }\nalgorithm a(s: u8[]) -> u8[] fully_parallel { decode(i) = s[i]; }", "ZF0606"},
        {"table t { c: u8 = a(a(a)); }\nalgorithm a(s: u8[]) -> u8[] fully_parallel {\n"
         "decode(i) { var t: u8 = 0; for k in 0..50000 { t = t * 3 + s[i]; } return t; } encode(x) { s.append(x); } }",
         "ZF0804"}, // one element alone would take 2^46 steps
    };
    uint8_t values[100] = {0};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        zf_error error = {0};
        zf_program *program = load(rows[k].text, &error);
        if (program == NULL) continue;
        zf_encode_column column = {.name = "c", .values = values};
        char path[256];
        snprintf(path, sizeof path, "%s", path_of("never.zfd"));
        zf_status status = zf_encode(program, NULL, &column, 1, 100, NULL, path, NULL, &error);
        CHECK(status != ZF_OK && strcmp(error.code, rows[k].code) == 0, "%s: %s", error.code, error.message);
        CHECK(access(path, F_OK) != 0, "a file was left");
        zf_program_free(program);
    }
}

static void test_offsets(void) {
    zf_error error = {0};
    zf_program *program = load("table t { c: string = a; }\nalgorithm a(s: string[]) -> string[] fully_parallel {\n"
                               "decode(i) = s[i]; encode(x) { for v in x { s.push(v); } } }",
                               &error);
    if (program == NULL) return;
    int64_t offsets[] = {0, 3, 1};
    zf_encode_column column = {.name = "c", .values = "abc", .offsets = offsets};
    zf_status status = zf_encode(program, NULL, &column, 1, 2, NULL, path_of("never.zfd"), NULL, &error);
    CHECK(status == ZF_ERR_USAGE && strcmp(error.code, "ZF1101") == 0, "%s: %s", error.code, error.message);
    CHECK(strstr(error.message, "decrease at row 1: 3, then 1") != NULL, "%s", error.message);
    const int64_t below[] = {-1, 0, 3};
    column.offsets = below;
    status = zf_encode(program, NULL, &column, 1, 2, NULL, path_of("never.zfd"), NULL, &error);
    CHECK(status == ZF_ERR_USAGE && strstr(error.message, "the first offset of column `c` is -1") != NULL, "%s", error.message);
    status = zf_encode(program, NULL, &column, 1, UINT64_MAX, NULL, path_of("never.zfd"), NULL, &error);
    CHECK(status == ZF_ERR_USAGE && strstr(error.message, "cannot have") != NULL, "%s: %s", error.code, error.message);
    zf_program_free(program);
}

/// The printed code has the kernels and, once each, the encode bodies.
static void test_print(void) {
    zf_error error = {0};
    zf_text text = {0};
    zf_program *program = load("table t { c: i32 = plain; }", &error);
    if (program == NULL) return;
    const zf_column *column = zf_spec_find_table(program->spec, NULL)->columns;
    CHECK(zf_emit_code(program, column, &(zf_emit_options){0}, &text, &error) == ZF_OK, "%s", error.message);
    CHECK(text.data != NULL && strstr(text.data, "@" ZF_CG_ENCODE_NAME "(") != NULL, "no encode body is printed");
    zf_text_free(&text);
    zf_program_free(program);
}

/// A word of `size` bytes as a number of a kind; floats are those of whole numbers.
static double number_of(const uint8_t *at, uint64_t kind) {
    uint64_t size = kind & 15, word = 0;
    double wide;
    float narrow;
    memcpy(&word, at, size);
    if (kind & ZF_SORT_FLOAT) {
        memcpy(&wide, at, size == 8 ? 8 : 0);
        memcpy(&narrow, at, size == 4 ? 4 : 0);
        return size == 8 ? wide : (double)narrow;
    }
    return kind & ZF_SORT_SIGNED ? (double)((int64_t)(word << (64 - 8 * size)) >> (64 - 8 * size)) : (double)word;
}

/// Elements of every size and kind are sorted, and none is lost.
static void test_sort(void) {
    enum { COUNT = 3000 };
    static const uint64_t kinds[] = {1,
                                     2,
                                     4,
                                     8,
                                     1 | ZF_SORT_SIGNED,
                                     2 | ZF_SORT_SIGNED,
                                     4 | ZF_SORT_SIGNED,
                                     8 | ZF_SORT_SIGNED,
                                     4 | ZF_SORT_FLOAT,
                                     8 | ZF_SORT_FLOAT};
    static uint8_t data[COUNT * 8];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (unsigned few = 0; few < 2; few++) { // few: only two bits differ
            zf_encode_frame frame = {.bytes_left = 1 << 20, .work = UINT64_MAX};
            uint64_t size = kinds[k] & 15, sums[2] = {0, 0}, word;
            for (uint64_t e = 0; e < COUNT; e++) {
                word = few ? random_word() % 4 << 6 : random_word();
                double wide = (double)(int64_t)(word >> 40) - 10;
                float narrow = (float)wide;
                if (kinds[k] & ZF_SORT_FLOAT) memcpy(&word, size == 8 ? (const void *)&wide : (const void *)&narrow, size);
                memcpy(data + e * size, &word, size);
            }
            unsigned wrong = 0;
            for (unsigned after = 0; after < 2; after++) {
                for (uint64_t e = 0; e < COUNT; e++) {
                    word = 0;
                    memcpy(&word, data + e * size, size);
                    sums[after] += word * UINT64_C(0x9e3779b97f4a7c15) ^ word >> 7;
                    wrong += after && e > 0 && number_of(data + e * size, kinds[k]) < number_of(data + (e - 1) * size, kinds[k]);
                }
                if (!after) CHECK(zf_cg_sort(&frame, data, COUNT, kinds[k]) == 1, "kind %llu", (unsigned long long)kinds[k]);
            }
            CHECK(wrong == 0 && sums[0] == sums[1], "kind %llu: %u out of order", (unsigned long long)kinds[k], wrong);
        }
    }
}

/// Pieces of bytes of all short lengths, and where they end.
static void test_pieces(void) {
    enum { PIECES = 4000 };
    static uint8_t from[40], wanted[PIECES * 21];
    for (unsigned k = 0; k < sizeof from; k++) from[k] = (uint8_t)(random_word() | 1);
    zf_encode_frame frame = {.rows = PIECES, .bytes_left = 1 << 24, .work = UINT64_MAX};
    zf_encode_buffer buffer;
    zf_encode_buffer_init(&buffer, zf_type_of(ZF_K_U8));
    uint64_t length = 0, wrong = 0;
    for (uint64_t k = 0; k < PIECES; k++) {
        uint64_t count = k % 21;
        memcpy(wanted + length, from + k % 19, count);
        length += count;
        CHECK(zf_cg_append(&frame, &buffer, from + k % 19, NULL, count) == 1, "piece %llu", (unsigned long long)k);
        wrong += buffer.length != length || buffer.part_count != k + 1 || buffer.parts[k] != length;
    }
    CHECK(wrong == 0 && memcmp(buffer.data, wanted, length) == 0, "%llu pieces are wrong", (unsigned long long)wrong);
    zf_encode_clear(&frame);
}

/// Functions that a body calls report why they failed.
static void test_support(void) {
    zf_encode_frame frame = {.rows = 1, .bytes_left = 1 << 20, .work = UINT64_MAX};
    zf_encode_buffer buffer = {.element = 8, .is_text = 1, .text_length = 1};
    CHECK(zf_cg_push_text(&frame, &buffer, NULL, UINT64_MAX, 1) == 0 && frame.outcome == ZF_ENCODE_LIMIT,
          "a text of all lengths");
    zf_encode_clear(&frame);
    uint8_t words[] = {3, 1, 2};
    frame = (zf_encode_frame){.bytes_left = UINT64_MAX, .work = UINT64_MAX};
    CHECK(zf_cg_sort(&frame, words, 3, 1) == 1 && memcmp(words, "\1\2\3", 3) == 0, "sorted");
    CHECK(zf_cg_sort(&frame, words, UINT64_C(1) << 57, 1) == 0 && frame.outcome == ZF_ENCODE_MEMORY, "sorted without memory");
}

int main(void) {
    zf_error error = {0};
    if (mkdtemp(root) == NULL) return 1;
    char cache[64];
    snprintf(cache, sizeof cache, "%s/cache", root); // cold: every run compiles, but each kernel once
    zf_context_options options = {.cache_dir = cache, .threads = 2};
    zf_compiler_options compile = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
#ifdef ZF_SANITIZE
    compile.optimise = 1; // LLVM at -O3 takes most of the time; the differential tests have both levels
#endif
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &compile, &compiler, &error) == ZF_OK, "%s", error.message);
    if (check_failures == 0) {
        test_sort();
        test_other_texts();
        test_pieces();
        test_codecs();
        test_forms();
        test_failures();
        test_alternatives();
        test_usage();
        test_wrong_values();
        test_no_statistics();
        test_seek_intervals();
        test_stopping();
        test_unsupported();
        test_offsets();
        test_print();
        test_support();
    }
    zf_compiler_free(compiler);
    zf_context_free(context);
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    if (system(command) != 0) printf("%s remains\n", root);
    return check_result();
}

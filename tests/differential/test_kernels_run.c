// How many kernels run: one for each nest that is promised to fuse, one launch for a block, one variant for each tuple of shaping
// values, and the general form for tuples beyond the eighth.
#include <string.h>

#include "tests/differential/diff_file.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

enum { LEVEL = 1, BLOCK = 4096, TUPLES = 8 };

static const struct {
    const char *name, *type, *codec;
} nests[] = {
    {"of_bitpack", "u32", "bitpack"},
    {"of_dictionary", "i32", "dictionary(bitpack)"},
    {"of_float2int", "f64", "float2int(bitpack)"},
    {"of_rle", "i64", "rle(bitpack, bitpack)"},
    {"of_delta", "i64", "delta(bitpack)"},
    {"of_delta_stride", "i64", "delta_stride(bitpack, bitpack, bitpack)"},
};
enum { NESTS = sizeof nests / sizeof nests[0] };

typedef struct bench {
    diff_machine machine;
    diff_program program;
} bench;

static const zf_table *table_of(const bench *b, const char *name) {
    return zf_spec_find_table(zf_program_spec(b->program.programs[LEVEL]), name);
}

// Encodes and decodes; all that is stored must come back.
static zf_decode_stats stats_of(const bench *b, const char *table, const interp_stream *plain) {
    diff_file file;
    zf_text message = {0};
    bool good = diff_file_run(&b->program, &b->machine, LEVEL, table, "c", plain, BLOCK, &file, &message);
    CHECK(good, "%s: %s", table, message.data);
    CHECK(!good || memcmp(file.bytes, interp_stream_bytes(plain), interp_stream_size(plain)) == 0, "%s: other bytes", table);
    zf_decode_stats stats = file.stats;
    diff_file_free(&file);
    zf_text_free(&message);
    return stats;
}

static void push_number(interp_stream *plain, int64_t value) {
    uint64_t bits = (uint64_t)value;
    double fraction = (double)value / 100;
    if (interp_stream_type(plain).kind == ZF_K_F64) memcpy(&bits, &fraction, 8);
    interp_stream_push(plain, bits);
}

// ---- Kernels and launches -------------------------------------------------------------------------------------

// The same numbers in every block, so that all have the same shaping values.
static void test_nest(const bench *b, unsigned nest, uint64_t blocks) {
    interp *in = interp_create(NULL);
    interp_stream *plain = interp_stream_new(in, table_of(b, nests[nest].name)->columns->type);
    for (uint64_t k = 0; k < blocks * BLOCK; k++) push_number(plain, (int64_t)(k % BLOCK / 5 * 7 % 1000 + 1));
    zf_decode_stats stats = stats_of(b, nests[nest].name, plain);
    CHECK(stats.kernels == 1, "%s: %llu kernels", nests[nest].codec, (ull)stats.kernels);
    CHECK(stats.launches == blocks, "%s: %llu launches for %llu blocks", nests[nest].codec, (ull)stats.launches, (ull)blocks);
    CHECK(stats.kernel_variants == 1, "%s: %llu variants of one tuple", nests[nest].codec, (ull)stats.kernel_variants);
    CHECK(stats.blocks_read == blocks, "%s: %llu blocks read", nests[nest].codec, (ull)stats.blocks_read);
    interp_destroy(in);
}

// ---- Variants -------------------------------------------------------------------------------------------------

// Block k has numbers of 3 + k % tuples bits.
static void test_widths(const bench *b, uint64_t blocks, uint64_t tuples, uint64_t wanted) {
    interp *in = interp_create(NULL);
    interp_stream *plain = interp_stream_new(in, table_of(b, "of_bitpack")->columns->type);
    for (uint64_t k = 0; k < blocks * BLOCK; k++) {
        uint64_t width = 3 + k / BLOCK % tuples;
        push_number(plain, k % BLOCK == 9 ? (1 << width) - 1 : k % BLOCK == 8 ? 0 : (int64_t)(k * 2654435761u % (1u << width)));
    }
    zf_decode_stats stats = stats_of(b, "of_bitpack", plain);
    CHECK(stats.kernel_variants == wanted, "%llu widths: %llu variants, should be %llu", (ull)tuples, (ull)stats.kernel_variants,
          (ull)wanted);
    CHECK(stats.kernels == 1 && stats.launches == blocks, "%llu widths: %llu kernels, %llu launches", (ull)tuples,
          (ull)stats.kernels, (ull)stats.launches);
    interp_destroy(in);
}

// Runs whose lengths and values have widths of their own: each pair is a tuple.
static void test_pairs(const bench *b) {
    interp *in = interp_create(NULL);
    interp_stream *plain = interp_stream_new(in, table_of(b, "of_rle")->columns->type);
    for (unsigned block = 0; block < 4; block++) {
        // Lengths 1 and 3, or 2 and 62: 2 or 6 bits. Values 0..9, or as many as there are runs: 4 bits, or 10 and 7.
        uint64_t range = block / 2 ? 1000 : 10, odd = block % 2 ? 62 : 3, even = block % 2 ? 2 : 1;
        for (uint64_t at = 0, g = 0; at < BLOCK; g++) {
            for (uint64_t j = g % 2 ? odd : even; j > 0; j--, at++) push_number(plain, (int64_t)(g % range));
        }
    }
    zf_decode_stats stats = stats_of(b, "of_rle", plain);
    CHECK(stats.kernel_variants == 4, "pairs: %llu variants", (ull)stats.kernel_variants);
    CHECK(stats.kernels == 1 && stats.launches == 4, "pairs: %llu kernels, %llu launches", (ull)stats.kernels,
          (ull)stats.launches);
    interp_destroy(in);
}

int main(void) {
    bench b = {0};
    zf_text text = {0}, message = {0};
    for (unsigned k = 0; k < NESTS; k++)
        zf_text_printf(&text, "table %s { c: %s = %s; }\n", nests[k].name, nests[k].type, nests[k].codec);
    bool good = diff_machine_open(&b.machine, NULL, &message) && diff_program_open(&b.machine, text.data, &b.program, &message);
    CHECK(good, "%s", message.data != NULL ? message.data : "the program has errors");
    if (good) {
        for (unsigned k = 0; k < NESTS; k++) {
            test_nest(&b, k, 1);
            test_nest(&b, k, 3);
        }
        test_widths(&b, 4, 1, 1);
        test_widths(&b, 4, 4, 4);
        test_widths(&b, 16, TUPLES, TUPLES);
        test_widths(&b, 12, TUPLES + 1, TUPLES + 1); // the ninth by the general form
        test_widths(&b, 20, 20, TUPLES + 1);         // and so are all further ones
        test_pairs(&b);
    }
    diff_program_close(&b.program);
    diff_machine_close(&b.machine);
    zf_text_free(&text);
    return check_result();
}

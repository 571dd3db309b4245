// Arithmetic of the interpreter against values worked out by hand from language.md section 4.
#include <string.h>

#include "tests/interp/interp_internal.h"
#include "tests/unit/check.h"

static uint64_t f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static uint64_t f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

#define MIN64 (UINT64_C(1) << 63)
#define NAN64 0x7ff8000000000000
#define INF64 0x7ff0000000000000

// clang-format off
static const struct { zf_op op; zf_kind kind; uint64_t a, b; bool ok; uint64_t want; } binaries[] = {
    {ZF_OP_ADD, ZF_K_U8, 255, 1, true, 0},
    {ZF_OP_SUB, ZF_K_U16, 0, 1, true, 0xffff},
    {ZF_OP_MUL, ZF_K_I32, 0x80000000, 0xffffffff, true, 0x80000000},
    {ZF_OP_MUL, ZF_K_U64, MIN64, 2, true, 0},
    {ZF_OP_DIV, ZF_K_I64, MIN64, UINT64_MAX, true, MIN64},
    {ZF_OP_REM, ZF_K_I64, MIN64, UINT64_MAX, true, 0},
    {ZF_OP_DIV, ZF_K_I8, 0x80, 0xff, true, 0x80},
    {ZF_OP_DIV, ZF_K_I8, 0xf9, 2, true, 0xfd},       // -7 / 2 = -3
    {ZF_OP_REM, ZF_K_I8, 0xf9, 2, true, 0xff},       // -7 % 2 = -1
    {ZF_OP_DIV, ZF_K_U8, 1, 0, false, 0},
    {ZF_OP_REM, ZF_K_I32, 1, 0, false, 0},
    {ZF_OP_SHL, ZF_K_U32, 1, 32, true, 0},
    {ZF_OP_SHL, ZF_K_U32, 1, 31, true, 0x80000000},
    {ZF_OP_SHL, ZF_K_U64, 1, UINT64_MAX, true, 0},
    {ZF_OP_SHR, ZF_K_I8, 0x80, 1, true, 0xc0},
    {ZF_OP_SHR, ZF_K_I8, 0x80, 0, true, 0x80},
    {ZF_OP_SHR, ZF_K_I8, 0x80, 8, true, 0xff},
    {ZF_OP_SHR, ZF_K_I64, MIN64, 63, true, UINT64_MAX},
    {ZF_OP_SHR, ZF_K_I64, MIN64 - 1, 64, true, 0},
    {ZF_OP_SHR, ZF_K_U64, MIN64, 64, true, 0},
    {ZF_OP_LT, ZF_K_I8, 0xff, 0, true, 1},
    {ZF_OP_LT, ZF_K_U8, 0xff, 0, true, 0},
    {ZF_OP_GE, ZF_K_I64, MIN64, 0, true, 0},
    {ZF_OP_EQ, ZF_K_F64, NAN64, NAN64, true, 0},
    {ZF_OP_NE, ZF_K_F64, NAN64, NAN64, true, 1},
    {ZF_OP_LE, ZF_K_F64, NAN64, 0, true, 0},
    {ZF_OP_EQ, ZF_K_F64, MIN64, 0, true, 1},         // -0.0 == 0.0
    {ZF_OP_DIV, ZF_K_F64, 0x3ff0000000000000, 0, true, INF64},
};

static const struct { zf_kind from, to; uint64_t a, want; } casts[] = {
    {ZF_K_I8, ZF_K_U64, 0xff, UINT64_MAX},
    {ZF_K_U8, ZF_K_I64, 0xff, 255},
    {ZF_K_I64, ZF_K_U8, UINT64_MAX, 255},
    {ZF_K_F64, ZF_K_I32, NAN64, 0},
    {ZF_K_F64, ZF_K_I64, INF64, MIN64 - 1},
    {ZF_K_F64, ZF_K_I64, INF64 | MIN64, MIN64},
    {ZF_K_F64, ZF_K_U64, INF64 | MIN64, 0},
    {ZF_K_F64, ZF_K_U64, INF64, UINT64_MAX},
    {ZF_K_F64, ZF_K_U8, 0x4070000000000000, 255},    // 256.0
    {ZF_K_F64, ZF_K_I8, 0xc060000000000000, 0x80},   // -128.0
    {ZF_K_F64, ZF_K_I8, 0xc06ff33333333333, 0x80},   // -255.6
    {ZF_K_F64, ZF_K_I32, 0xc00799999999999a, 0xfffffffe}, // -2.95
    {ZF_K_U64, ZF_K_F64, UINT64_MAX, 0x43f0000000000000},
    {ZF_K_I64, ZF_K_F32, 0x7fffffbfffffffff, 0x5effffff}, // one rounding, not two
    {ZF_K_BOOL, ZF_K_I32, 1, 1},
};

static const struct { zf_prim prim; zf_kind kind; uint64_t a, b; bool ok; uint64_t want; } prims[] = {
    {ZF_P_BIT_WIDTH, ZF_K_U32, 0, 0, true, 0},
    {ZF_P_BIT_WIDTH, ZF_K_U64, UINT64_MAX, 0, true, 64},
    {ZF_P_POPCOUNT, ZF_K_U16, 0xf0f0, 0, true, 8},
    {ZF_P_CLZ, ZF_K_U8, 0, 0, true, 8},
    {ZF_P_CLZ, ZF_K_U16, 1, 0, true, 15},
    {ZF_P_CTZ, ZF_K_U32, 0, 0, true, 32},
    {ZF_P_CTZ, ZF_K_U32, 0x80, 0, true, 7},
    {ZF_P_NTH_BIT, ZF_K_U8, 0xa2, 0, true, 1},
    {ZF_P_NTH_BIT, ZF_K_U8, 0xa2, 2, true, 7},
    {ZF_P_NTH_BIT, ZF_K_U8, 0xa2, 3, false, 0},
    {ZF_P_MIN, ZF_K_I16, 0x8000, 1, true, 0x8000},
    {ZF_P_MAX, ZF_K_U16, 0x8000, 1, true, 0x8000},
    {ZF_P_BITS_OF, ZF_K_F64, INF64 | MIN64, 0, true, INF64 | MIN64},
    {ZF_P_VALUE_OF, ZF_K_F64, INF64 | 1, 0, true, INF64 | 1}, // a NaN keeps its bits
};
// clang-format on

static void test_strings(void) {
    interp *in = interp_create(NULL);
    interp_stream *s = interp_stream_new(in, zf_type_of(ZF_K_STRING));
    interp_stream_push_string(s, "ab", 2);
    interp_stream_push_string(s, "", 0);
    interp_stream_push_string(s, "ab", 2);
    uint64_t length;
    const uint8_t *bytes = interp_stream_string(s, 2, &length, NULL);
    CHECK(length == 2 && memcmp(bytes, "ab", 2) == 0, "a string is kept");
    CHECK(interp_stream_intern(s, interp_stream_get(s, 2)) == 0, "equal strings are one");
    interp_stream_sort(s);
    interp_stream_string(s, 0, &length, NULL);
    CHECK(length == 0, "the empty string sorts first");
    interp_destroy(in);
}

static void test_sort(void) {
    interp *in = interp_create(NULL);
    interp_stream *s = interp_stream_new(in, zf_type_of(ZF_K_I16));
    for (uint64_t n = 0; n < 40; n++) {
        interp_stream_push(s, n * 7919 % 101 - 50);
        interp_stream_sort(s);
        for (uint64_t k = 1; k <= n; k++) {
            int64_t a = interp_value_signed(ZF_K_I16, interp_stream_bits(s, k - 1, NULL));
            CHECK(a <= interp_value_signed(ZF_K_I16, interp_stream_bits(s, k, NULL)), "%llu elements are sorted",
                  (unsigned long long)n);
        }
    }
    interp_destroy(in);
}

static void test_bits(void) {
    interp *in = interp_create(NULL);
    interp_stream *s = interp_stream_new(in, zf_type_of(ZF_K_U32));
    interp_push_bits(s, 5, 3);
    interp_push_bits(s, UINT64_C(0x123456789), 37);
    CHECK(s->count == 2 && s->bit_length == 40, "40 bits are two words: %llu", (unsigned long long)s->count);
    CHECK(interp_stream_bit_read(s, 3, 37) == UINT64_C(0x123456789), "bits come back");
    interp_stream_push(s, 7);
    CHECK(s->count == 3 && interp_stream_bits(s, 2, NULL) == 7, "an ordinary push aligns first");
    CHECK(interp_stream_bit_read_msb(s, 64, 8) == 7 && interp_stream_bit_read_msb(s, 64, 9) == 14, "most significant first");
    interp_stream_reverse(s, 1);
    CHECK(interp_stream_bits(s, 1, NULL) == 7, "reversed from 1");
    interp_stream *flags = interp_stream_new(in, zf_type_of(ZF_K_BOOL));
    for (int k = 0; k < 11; k++) interp_stream_push(flags, k % 3 == 0);
    CHECK(interp_stream_size(flags) == 2 && interp_stream_bytes(flags)[0] == 0x49, "bools are bits");
    interp_destroy(in);
}

static void test_lengths(void) {
    interp *in = interp_create(NULL);
    const uint64_t counts[] = {1, 1, 2, 3, 5, 8, 13, 0};
    uint8_t lengths[8];
    interp_package_merge(in, counts, 8, 15, lengths);
    const uint8_t free_choice[] = {6, 6, 5, 4, 3, 2, 1, 0};
    CHECK(memcmp(lengths, free_choice, 8) == 0, "Huffman's lengths where the limit allows");
    interp_package_merge(in, counts, 8, 3, lengths);
    unsigned kraft = 0, cost = 0;
    for (int k = 0; k < 7; k++) {
        kraft += 8u >> lengths[k];
        cost += lengths[k] * (unsigned)counts[k];
    }
    CHECK(kraft == 8, "a full code: %u", kraft);
    CHECK(cost == 86, "the cheapest code of at most 3 bits: %u", cost);
    interp_destroy(in);
}

int main(void) {
    for (size_t k = 0; k < sizeof binaries / sizeof binaries[0]; k++) {
        uint64_t out = 0;
        bool ok = interp_value_binary(binaries[k].op, binaries[k].kind, binaries[k].a, binaries[k].b, &out);
        CHECK(ok == binaries[k].ok && (!ok || out == binaries[k].want), "binary %zu gives %llx", k, (unsigned long long)out);
    }
    for (size_t k = 0; k < sizeof casts / sizeof casts[0]; k++) {
        uint64_t out = interp_value_cast(casts[k].from, casts[k].to, casts[k].a);
        CHECK(out == casts[k].want, "cast %zu gives %llx", k, (unsigned long long)out);
    }
    for (size_t k = 0; k < sizeof prims / sizeof prims[0]; k++) {
        uint64_t out = 0;
        bool ok = interp_value_prim(prims[k].prim, prims[k].kind, prims[k].a, prims[k].b, &out);
        CHECK(ok == prims[k].ok && (!ok || out == prims[k].want), "primitive %zu gives %llx", k, (unsigned long long)out);
    }
    uint64_t out = 0;
    interp_value_binary(ZF_OP_ADD, ZF_K_F32, f32(16777216.0f), f32(1.0f), &out);
    CHECK(out == f32(16777216.0f), "f32 stays f32");
    interp_value_prim(ZF_P_ROUND, ZF_K_F64, f64(-2.5), 0, &out);
    CHECK(out == f64(-3.0), "half goes away from zero");
    interp_value_prim(ZF_P_ROUND, ZF_K_F64, f64(0.49999999999999994), 0, &out);
    CHECK(out == f64(0.0), "below a half goes to zero");
    CHECK(interp_value_unary(ZF_OP_NEG, ZF_K_I64, MIN64) == MIN64, "-MIN is MIN");
    CHECK(interp_value_unary(ZF_OP_NEG, ZF_K_F64, 0) == MIN64, "-0.0 has its sign");
    CHECK(interp_value_unary(ZF_OP_BITNOT, ZF_K_U8, 0) == 255, "~0 of u8");
    test_strings();
    test_bits();
    test_sort();
    test_lengths();
    return check_result();
}

// Links: zipflow-frontend
// Types and intervals: names, widths, values held in 64 bits; and the intervals of operations against all values they
// stand for.
#include <string.h>

#include "frontend/check/checker.h"
#include "tests/unit/check.h"

static void check_kinds(zf_arena *arena) {
    static const struct {
        zf_kind kind;
        const char *name;
        unsigned size;
        bool integer, is_unsigned, is_signed, is_float;
    } rows[] = {
        {ZF_K_U8, "u8", 1, true, true, false, false},       {ZF_K_U64, "u64", 8, true, true, false, false},
        {ZF_K_I16, "i16", 2, true, false, true, false},     {ZF_K_F32, "f32", 4, false, false, false, true},
        {ZF_K_BOOL, "bool", 1, false, false, false, false}, {ZF_K_STRING, "string", 0, false, false, false, false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        zf_kind kind = rows[k].kind;
        CHECK(strcmp(zf_kind_name(kind), rows[k].name) == 0, "%s", zf_kind_name(kind));
        CHECK(zf_kind_size(kind) == rows[k].size, "%s", rows[k].name);
        CHECK(zf_kind_is_integer(kind) == rows[k].integer && zf_kind_is_unsigned(kind) == rows[k].is_unsigned, "%s",
              rows[k].name);
        CHECK(zf_kind_is_signed(kind) == rows[k].is_signed && zf_kind_is_float(kind) == rows[k].is_float, "%s", rows[k].name);
    }
    CHECK(zf_kind_unsigned(ZF_K_F32) == ZF_K_U32 && zf_kind_signed(ZF_K_U16) == ZF_K_I16, "as wide");
    zf_type decimal = {.kind = ZF_K_I64, .logical = ZF_LOGICAL_DECIMAL, .precision = 15, .scale = 2, .nullable = true};
    CHECK(strcmp(zf_type_name(arena, decimal), "decimal(15, 2)?") == 0, "%s", zf_type_name(arena, decimal));
    CHECK(zf_type_strip(decimal).logical == ZF_LOGICAL_NONE && zf_type_strip(decimal).nullable, "stripped");
    CHECK(!zf_type_equal(decimal, zf_type_strip(decimal)) && !zf_type_value(decimal).nullable, "equality counts names");
}

static void check_values(void) {
    static const struct {
        zf_kind kind;
        uint64_t bits;
        int64_t value;
    } rows[] = {{ZF_K_I8, 0xff, -1},
                {ZF_K_I8, 0x7f, 127},
                {ZF_K_U8, 0xff, 255},
                {ZF_K_I64, UINT64_MAX, -1},
                {ZF_K_I32, 0x80000000, INT32_MIN}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        CHECK(zf_value_of_bits(rows[k].kind, rows[k].bits) == rows[k].value, "row %zu", k);
        CHECK(zf_bits_of_value(rows[k].kind, rows[k].value) == rows[k].bits, "row %zu", k);
    }
    CHECK(zf_value_of_bits(ZF_K_U64, UINT64_MAX) == (zf_int128)UINT64_MAX, "u64 is not signed");
    CHECK(zf_bits_of_value(ZF_K_U8, 256 + 7) == 7, "modulo the width");
}

static void check_conversions(void) {
    static const struct {
        zf_kind from, to;
        bool converts;
    } rows[] = {
        {ZF_K_U8, ZF_K_U32, true},   {ZF_K_U32, ZF_K_I64, true},    {ZF_K_U32, ZF_K_I32, false},      {ZF_K_I32, ZF_K_U64, false},
        {ZF_K_U64, ZF_K_I64, false}, {ZF_K_U16, ZF_K_F32, true},    {ZF_K_U32, ZF_K_F32, false},      {ZF_K_I32, ZF_K_F64, true},
        {ZF_K_I64, ZF_K_F64, false}, {ZF_K_F32, ZF_K_F64, true},    {ZF_K_F64, ZF_K_F32, false},      {ZF_K_BOOL, ZF_K_U8, false},
        {ZF_K_U8, ZF_K_BOOL, false}, {ZF_K_U8, ZF_K_STRING, false}, {ZF_K_STRING, ZF_K_STRING, true},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        bool got = zf_converts(zf_type_of(rows[k].from), zf_type_of(rows[k].to));
        CHECK(got == rows[k].converts, "%s to %s", zf_kind_name(rows[k].from), zf_kind_name(rows[k].to));
    }
    zf_type nullable = zf_type_of(ZF_K_U32);
    nullable.nullable = true;
    CHECK(zf_converts(zf_type_of(ZF_K_U8), nullable) && !zf_converts(nullable, zf_type_of(ZF_K_U32)),
          "a value is a nullable value, not the reverse");
}

static void check_bounds(void) {
    static const struct {
        const char *bound;
        zf_kind kind;
        bool met;
    } rows[] = {
        {NULL, ZF_K_STRING, true},      {"scalar", ZF_K_F64, true},     {"scalar", ZF_K_BOOL, true},
        {"scalar", ZF_K_STRING, false}, {"integer", ZF_K_I8, true},     {"integer", ZF_K_F32, false},
        {"unsigned", ZF_K_U64, true},   {"unsigned", ZF_K_I64, false},  {"signed", ZF_K_I64, true},
        {"signed", ZF_K_U8, false},     {"float", ZF_K_F32, true},      {"float", ZF_K_I32, false},
        {"integer", ZF_K_BOOL, false},  {"scalar", ZF_K_OPAQUE, false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        CHECK(zf_bound_met(rows[k].bound, zf_type_of(rows[k].kind)) == rows[k].met, "row %zu", k);
    }
}

// ---- Intervals against every value ----------------------------------------------------------------------------

/// The language's meaning of an operation: on integers as they are written, and on 8 bits. False where it does not return.
static bool operate_wide(zf_op op, int a, int b, int *result) {
    int value;
    switch (op) {
    case ZF_OP_ADD: value = a + b; break;
    case ZF_OP_SUB: value = a - b; break;
    case ZF_OP_MUL: value = a * b; break;
    case ZF_OP_DIV:
    case ZF_OP_REM:
        if (b == 0) return false;
        value = op == ZF_OP_DIV ? a / b : a % b;
        break;
    case ZF_OP_AND: value = a & b; break;
    case ZF_OP_OR: value = a | b; break;
    case ZF_OP_XOR: value = a ^ b; break;
    case ZF_OP_SHL: value = b >= 8 ? 0 : a * (1 << b); break;
    case ZF_OP_SHR: value = b >= 8 ? (a < 0 ? -1 : 0) : a >> b; break;
    case ZF_OP_NEG: value = -a; break;
    case ZF_OP_BITNOT: value = ~a; break;
    case ZF_OP_LT: value = a < b; break;
    case ZF_OP_LE: value = a <= b; break;
    case ZF_OP_EQ: value = a == b; break;
    default: value = a != b; break;
    }
    *result = value;
    return true;
}

static bool operate(zf_op op, bool is_signed, int a, int b, int *result) {
    if (!operate_wide(op, a, b, result)) return false;
    *result = is_signed ? (int8_t)*result : (uint8_t)*result;
    return true;
}

static const zf_op operations[] = {
    ZF_OP_ADD, ZF_OP_SUB, ZF_OP_MUL, ZF_OP_DIV,    ZF_OP_REM, ZF_OP_AND, ZF_OP_OR, ZF_OP_XOR,
    ZF_OP_SHL, ZF_OP_SHR, ZF_OP_NEG, ZF_OP_BITNOT, ZF_OP_LT,  ZF_OP_LE,  ZF_OP_EQ, ZF_OP_NE,
};

static uint32_t random_state = 1;

static int below(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)(random_state >> 8) % n;
}

static zf_interval some_interval(bool is_signed, bool count) {
    int least = count || !is_signed ? 0 : -128, most = count ? 12 : is_signed ? 127 : 255;
    int width = below(4) == 0 ? below(most - least + 1) : below(10), lo = least + below(most - least + 1);
    if (below(6) == 0) lo = least;
    int hi = lo + width > most ? most : lo + width;
    return (zf_interval){lo, hi};
}

static void check_operations(void) {
    for (int round = 0; round < 3000; round++) {
        bool is_signed = round & 1;
        zf_kind kind = is_signed ? ZF_K_I8 : ZF_K_U8;
        for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
            zf_op op = operations[k];
            bool shift = op == ZF_OP_SHL || op == ZF_OP_SHR, comparison = op >= ZF_OP_EQ && op <= ZF_OP_GE;
            zf_interval a = some_interval(is_signed, false), b = some_interval(is_signed, shift);
            zf_interval exact = zf_range_exact(op, a, b, 8), range = comparison ? exact : zf_range_wrap(exact, kind);
            bool ok = true;
            for (int x = (int)a.lo; ok && x <= (int)a.hi; x++) {
                for (int y = (int)b.lo; ok && y <= (int)b.hi; y++) {
                    int result;
                    if (!operate(op, is_signed, x, y, &result)) continue;
                    ok = result >= range.lo && result <= range.hi;
                    CHECK(ok, "op %d, %s: %d and %d give %d, outside %d..=%d", (int)op, zf_kind_name(kind), x, y, result,
                          (int)range.lo, (int)range.hi);
                }
            }
        }
    }
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) { // of two numbers there is one result
        bool shift = operations[k] == ZF_OP_SHL || operations[k] == ZF_OP_SHR;
        for (int x = -9; x <= 9; x++) {
            for (int y = shift ? 0 : -9; y < (shift ? 8 : 10); y++) {
                int result;
                if (!operate_wide(operations[k], x, y, &result)) continue;
                zf_interval got = zf_range_exact(operations[k], zf_interval_const(x), zf_interval_const(y), 128);
                CHECK(got.lo == result && got.hi == result, "op %d: %d and %d give %d, not %d..=%d", (int)operations[k], x, y,
                      result, (int)got.lo, (int)got.hi);
            }
        }
    }
    // The bounds are not just safe: these are exact.
    zf_interval byte = {0, 255}, three = {3, 3};
    CHECK(zf_range_exact(ZF_OP_AND, byte, (zf_interval){15, 15}, 64).hi == 15, "masks");
    CHECK(zf_range_exact(ZF_OP_REM, byte, (zf_interval){10, 10}, 64).hi == 9, "remainders");
    CHECK(zf_range_exact(ZF_OP_SHR, byte, three, 64).hi == 31 && zf_range_exact(ZF_OP_SHL, byte, three, 64).hi == 255 * 8,
          "shifts");
    CHECK(zf_range_bits((zf_interval){0, 12}).hi == 4095 && zf_range_bits((zf_interval){0, 64}).hi == (zf_int128)UINT64_MAX,
          "bits");
}

static unsigned bits_in(unsigned value) {
    unsigned count = 0;
    for (; value != 0; value >>= 1) count += value & 1;
    return count;
}

static unsigned width_of(unsigned value) {
    unsigned width = 0;
    for (; value != 0; value >>= 1) width++;
    return width;
}

static void check_primitives(void) {
    for (int round = 0; round < 2000; round++) {
        zf_interval a = some_interval(false, false), b = some_interval(false, false);
        for (int x = (int)a.lo; x <= (int)a.hi; x++) {
            unsigned v = (unsigned)x, trailing = 0;
            while (trailing < 8 && !(v >> trailing & 1)) trailing++;
            const struct {
                zf_prim prim;
                unsigned value;
            } rows[] = {
                {ZF_P_BIT_WIDTH, width_of(v)}, {ZF_P_POPCOUNT, bits_in(v)}, {ZF_P_CLZ, 8 - width_of(v)}, {ZF_P_CTZ, trailing}};
            for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
                zf_interval range = zf_range_prim(rows[k].prim, ZF_K_U8, a, a);
                CHECK(rows[k].value >= range.lo && rows[k].value <= range.hi, "primitive %d of %d", (int)rows[k].prim, x);
            }
            int y = (int)b.lo + below((int)(b.hi - b.lo) + 1);
            zf_interval least = zf_range_prim(ZF_P_MIN, ZF_K_U8, a, b), most = zf_range_prim(ZF_P_MAX, ZF_K_U8, a, b);
            int lesser = x < y ? x : y, greater = x < y ? y : x;
            CHECK(lesser >= least.lo && lesser <= least.hi && greater >= most.lo && greater <= most.hi, "min, max of %d, %d", x,
                  y);
        }
    }
}

static void check_intervals(zf_arena *arena) {
    zf_interval a = {1, 5}, b = {4, 9};
    CHECK(zf_interval_hull(a, b).hi == 9 && zf_interval_meet(a, b).lo == 4 && zf_interval_meet(a, b).hi == 5, "hull and meet");
    CHECK(zf_interval_within(zf_interval_meet(a, b), a) && !zf_interval_within(a, b), "within");
    CHECK(zf_interval_within((zf_interval){3, 2}, a), "the empty interval is within any");
    CHECK(strcmp(zf_interval_text(arena, zf_interval_of_kind(ZF_K_I64)), "-9223372036854775808..=9223372036854775807") == 0, "%s",
          zf_interval_text(arena, zf_interval_of_kind(ZF_K_I64)));
    CHECK(zf_interval_of_kind(ZF_K_U64).hi == (zf_int128)UINT64_MAX && zf_interval_of_kind(ZF_K_I8).lo == -128, "kinds");
}

int main(void) {
    zf_arena *arena = zf_arena_create();
    check_kinds(arena);
    check_values();
    check_conversions();
    check_bounds();
    check_intervals(arena);
    check_operations();
    check_primitives();
    zf_arena_destroy(arena);
    return check_result();
}

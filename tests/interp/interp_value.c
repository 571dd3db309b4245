// Arithmetic: language.md section 4, written out.
#include <math.h>
#include <string.h>

#include "tests/interp/interp_internal.h"

uint64_t interp_value_mask(zf_kind kind, uint64_t bits) {
    unsigned width = zf_kind_bits(kind);
    return width >= 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

int64_t interp_value_signed(zf_kind kind, uint64_t bits) {
    unsigned width = zf_kind_bits(kind);
    if (width >= 64) return (int64_t)bits;
    uint64_t sign = UINT64_C(1) << (width - 1);
    return (int64_t)((bits ^ sign) - sign);
}

static double f64_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static float f32_of(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, 4);
    return value;
}

static uint64_t of_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

static uint64_t of_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

// ---- Comparing and binary operations --------------------------------------------------------------------------

bool interp_value_less(zf_kind kind, uint64_t a, uint64_t b) {
    if (kind == ZF_K_F64) return f64_of(a) < f64_of(b);
    if (kind == ZF_K_F32) return f32_of(a) < f32_of(b);
    if (zf_kind_is_signed(kind)) return interp_value_signed(kind, a) < interp_value_signed(kind, b);
    return a < b;
}

static bool same(zf_kind kind, uint64_t a, uint64_t b) {
    if (kind == ZF_K_F64) return f64_of(a) == f64_of(b);
    if (kind == ZF_K_F32) return f32_of(a) == f32_of(b);
    return a == b;
}

static uint64_t f64_binary(zf_op op, double a, double b) {
    switch (op) {
    case ZF_OP_ADD: return of_f64(a + b);
    case ZF_OP_SUB: return of_f64(a - b);
    case ZF_OP_MUL: return of_f64(a * b);
    case ZF_OP_DIV: return of_f64(a / b);
    default: return of_f64(fmod(a, b));
    }
}

static uint64_t f32_binary(zf_op op, float a, float b) {
    switch (op) {
    case ZF_OP_ADD: return of_f32(a + b);
    case ZF_OP_SUB: return of_f32(a - b);
    case ZF_OP_MUL: return of_f32(a * b);
    case ZF_OP_DIV: return of_f32(a / b);
    default: return of_f32(fmodf(a, b));
    }
}

static bool divide(zf_op op, zf_kind kind, uint64_t a, uint64_t b, uint64_t *out) {
    if (b == 0) return false;
    if (!zf_kind_is_signed(kind)) {
        *out = op == ZF_OP_DIV ? a / b : a % b;
        return true;
    }
    int64_t x = interp_value_signed(kind, a), y = interp_value_signed(kind, b);
    if (y == -1)
        *out = op == ZF_OP_DIV ? interp_value_mask(kind, 0 - a) : 0; // MIN / -1 is MIN, MIN % -1 is 0
    else
        *out = interp_value_mask(kind, (uint64_t)(op == ZF_OP_DIV ? x / y : x % y));
    return true;
}

static uint64_t shift(zf_op op, zf_kind kind, uint64_t a, uint64_t by) {
    unsigned width = zf_kind_bits(kind);
    if (op == ZF_OP_SHL) return by >= width ? 0 : interp_value_mask(kind, a << by);
    if (!zf_kind_is_signed(kind)) return by >= width ? 0 : a >> by;
    int64_t value = interp_value_signed(kind, a);
    if (by >= width) return interp_value_mask(kind, value < 0 ? UINT64_MAX : 0);
    uint64_t moved = (uint64_t)value >> by;
    if (value < 0 && by > 0) moved |= UINT64_MAX << (64 - by);
    return interp_value_mask(kind, moved);
}

bool interp_value_binary(zf_op op, zf_kind kind, uint64_t a, uint64_t b, uint64_t *out) {
    switch (op) {
    case ZF_OP_EQ: *out = same(kind, a, b); return true;
    case ZF_OP_NE: *out = !same(kind, a, b); return true;
    case ZF_OP_LT: *out = interp_value_less(kind, a, b); return true;
    case ZF_OP_GT: *out = interp_value_less(kind, b, a); return true;
    case ZF_OP_LE: *out = interp_value_less(kind, a, b) || same(kind, a, b); return true;
    case ZF_OP_GE: *out = interp_value_less(kind, b, a) || same(kind, a, b); return true;
    case ZF_OP_OROR: *out = a || b; return true;
    case ZF_OP_ANDAND: *out = a && b; return true;
    case ZF_OP_SHL:
    case ZF_OP_SHR: *out = shift(op, kind, a, b); return true;
    case ZF_OP_OR: *out = a | b; return true;
    case ZF_OP_XOR: *out = a ^ b; return true;
    case ZF_OP_AND: *out = a & b; return true;
    default: break;
    }
    if (kind == ZF_K_F64)
        *out = f64_binary(op, f64_of(a), f64_of(b));
    else if (kind == ZF_K_F32)
        *out = f32_binary(op, f32_of(a), f32_of(b));
    else if (op == ZF_OP_ADD)
        *out = interp_value_mask(kind, a + b);
    else if (op == ZF_OP_SUB)
        *out = interp_value_mask(kind, a - b);
    else if (op == ZF_OP_MUL)
        *out = interp_value_mask(kind, a * b);
    else
        return divide(op, kind, a, b, out);
    return true;
}

uint64_t interp_value_unary(zf_op op, zf_kind kind, uint64_t a) {
    if (op == ZF_OP_NOT) return !a;
    if (op == ZF_OP_BITNOT) return interp_value_mask(kind, ~a);
    if (kind == ZF_K_F64) return a ^ UINT64_C(1) << 63; // the sign alone: NaNs keep their payload
    if (kind == ZF_K_F32) return a ^ UINT64_C(1) << 31;
    return interp_value_mask(kind, 0 - a);
}

// ---- Casts ----------------------------------------------------------------------------------------------------

// Truncates and saturates; NaN gives 0. The bounds are powers of two, so they are exact.
static uint64_t integer_of_double(zf_kind to, double value) {
    unsigned width = zf_kind_bits(to);
    if (value != value) return 0;
    if (zf_kind_is_signed(to)) {
        double limit = ldexp(1.0, (int)width - 1);
        if (value >= limit) return (UINT64_C(1) << (width - 1)) - 1;
        if (value <= -limit) return UINT64_C(1) << (width - 1);
        return interp_value_mask(to, (uint64_t)(int64_t)value);
    }
    if (value <= 0) return 0;
    if (value >= ldexp(1.0, (int)width)) return interp_value_mask(to, UINT64_MAX);
    return (uint64_t)value;
}

uint64_t interp_value_cast(zf_kind from, zf_kind to, uint64_t a) {
    if (from == to) return a;
    if (zf_kind_is_float(from)) {
        double value = from == ZF_K_F64 ? f64_of(a) : (double)f32_of(a);
        if (to == ZF_K_F64) return of_f64(value);
        if (to == ZF_K_F32) return of_f32((float)value);
        if (to == ZF_K_BOOL) return value != 0;
        return integer_of_double(to, value);
    }
    bool negative = zf_kind_is_signed(from);
    if (to == ZF_K_F64) return of_f64(negative ? (double)interp_value_signed(from, a) : (double)a);
    if (to == ZF_K_F32) return of_f32(negative ? (float)interp_value_signed(from, a) : (float)a);
    if (to == ZF_K_BOOL) return a != 0;
    return interp_value_mask(to, negative ? (uint64_t)interp_value_signed(from, a) : a);
}

// ---- Primitives -----------------------------------------------------------------------------------------------

static unsigned bit_width(uint64_t a) {
    unsigned width = 0;
    for (; a; a >>= 1) width++;
    return width;
}

static unsigned popcount(uint64_t a) {
    unsigned count = 0;
    for (; a; a &= a - 1) count++;
    return count;
}

bool interp_value_prim(zf_prim prim, zf_kind kind, uint64_t a, uint64_t b, uint64_t *out) {
    unsigned width = zf_kind_bits(kind);
    switch (prim) {
    case ZF_P_MIN: *out = interp_value_less(kind, b, a) ? b : a; return true;
    case ZF_P_MAX: *out = interp_value_less(kind, a, b) ? b : a; return true;
    case ZF_P_BIT_WIDTH: *out = bit_width(a); return true;
    case ZF_P_POPCOUNT: *out = popcount(a); return true;
    case ZF_P_CLZ: *out = width - bit_width(a); return true;
    case ZF_P_CTZ: *out = a == 0 ? width : popcount((a & (0 - a)) - 1); return true;
    case ZF_P_NTH_BIT:
        if (b >= popcount(a)) return false;
        for (; b > 0; b--) a &= a - 1;
        *out = popcount((a & (0 - a)) - 1);
        return true;
    case ZF_P_ROUND:
        if (kind == ZF_K_F64)
            *out = of_f64(round(f64_of(a)));
        else if (kind == ZF_K_F32)
            *out = of_f32(roundf(f32_of(a)));
        else
            *out = a;
        return true;
    case ZF_P_BITS_OF:
    case ZF_P_VALUE_OF: *out = a; return true;
    case ZF_P_COUNT: break;
    }
    return false;
}

// ---- Code lengths ---------------------------------------------------------------------------------------------

typedef struct item {
    uint64_t weight;
    int64_t symbol; // -1: a package of two items of the round before
} item;

// Optimal lengths of at most `limit` by package-merge: in `limit` rounds, the packages of the round before (pairs,
// cheapest first) are merged with the symbols; a symbol's length is how often it is among the first 2n - 2 of the last
// round.
void interp_package_merge(interp *in, const uint64_t *counts, uint64_t n, unsigned limit, uint8_t *lengths) {
    uint64_t *order = ZF_NEW_ARRAY(in->arena, uint64_t, (size_t)n + 1);
    uint64_t used = 0;
    memset(lengths, 0, (size_t)n);
    for (uint64_t s = 0; s < n; s++) {
        if (counts[s] == 0) continue;
        uint64_t at = used++;
        for (; at > 0 && counts[order[at - 1]] > counts[s]; at--) order[at] = order[at - 1];
        order[at] = s;
    }
    if (used == 1) lengths[order[0]] = 1;
    if (used <= 1) return;
    if (limit == 0 || limit > 63 || used > UINT64_C(1) << limit) interp_refuse(in, "more symbols than codes of that length");
    item **rounds = ZF_NEW_ARRAY(in->arena, item *, limit);
    uint64_t *sizes = ZF_NEW_ARRAY(in->arena, uint64_t, limit);
    for (unsigned r = 0; r < limit; r++) {
        uint64_t packages = r == 0 ? 0 : sizes[r - 1] / 2, p = 0, s = 0;
        rounds[r] = ZF_NEW_ARRAY(in->arena, item, (size_t)(used + packages));
        while (p < packages || s < used) {
            uint64_t pair = p < packages ? rounds[r - 1][2 * p].weight + rounds[r - 1][2 * p + 1].weight : 0;
            bool symbol = s < used && (p == packages || counts[order[s]] <= pair);
            rounds[r][sizes[r]++] = symbol ? (item){counts[order[s]], (int64_t)order[s]} : (item){pair, -1};
            if (symbol)
                s++;
            else
                p++;
        }
    }
    // Walk back: of each round, the first `take` items; its packages take twice as many of the round before.
    uint64_t take = 2 * used - 2;
    for (unsigned r = limit; r-- > 0;) {
        uint64_t packages = 0;
        for (uint64_t k = 0; k < take && k < sizes[r]; k++) {
            if (rounds[r][k].symbol < 0)
                packages++;
            else
                lengths[rounds[r][k].symbol]++;
        }
        take = 2 * packages;
    }
}

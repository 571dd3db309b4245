// Intervals of operations: what a result can be, given what its operands can be. Bounds saturate far outside every
// type, so "does not fit" is all that is ever concluded from a saturated one.
#include "frontend/check/checker.h"

#define FAR ((zf_int128)1 << 100)

static zf_int128 clamp(zf_int128 value) { return value > FAR ? FAR : value < -FAR ? -FAR : value; }

/// Without a builtin that finds overflows: clang makes a call of it for 128 bits, which gcc's library lacks on AArch64.
static zf_int128 times(zf_int128 a, zf_int128 b) {
    if (a == 0 || b == 0) return 0;
    bool negative = (a < 0) != (b < 0);
    zf_int128 m = clamp(a < 0 ? -clamp(a) : a), n = clamp(b < 0 ? -clamp(b) : b);
    zf_int128 product = m > FAR / n ? FAR : m * n;
    return negative ? -product : product;
}

/// a << n with n any count: 2^100 and more are one.
static zf_int128 shifted(zf_int128 a, zf_int128 n) {
    if (a == 0) return 0;
    if (n > 99) return a < 0 ? -FAR : FAR;
    return times(a, (zf_int128)1 << n);
}

/// Arithmetic: towards minus infinity.
static zf_int128 shifted_right(zf_int128 a, zf_int128 n) { return n > 126 ? (a < 0 ? -1 : 0) : a >> n; }

static zf_interval between(zf_int128 a, zf_int128 b) { return a <= b ? (zf_interval){a, b} : (zf_interval){b, a}; }

/// All ones up to the highest bit of `value`, which is not negative.
static zf_int128 ones_over(zf_int128 value) {
    zf_int128 ones = 0;
    while (ones < value) ones = ones << 1 | 1;
    return ones;
}

zf_interval zf_range_all(zf_type type) {
    if (type.nullable) return (zf_interval){0, 0};
    if (zf_kind_is_integer(type.kind) || type.kind == ZF_K_BOOL) return zf_interval_of_kind(type.kind);
    if (zf_untyped_of(type) != ZF_UNTYPED_NOT) return (zf_interval){-FAR, FAR};
    return (zf_interval){0, 0};
}

zf_interval zf_range_wrap(zf_interval exact, zf_kind kind) {
    zf_interval all = zf_interval_of_kind(kind);
    return zf_interval_within(exact, all) ? exact : all;
}

static zf_interval divided(zf_interval a, zf_interval b) {
    // Division by 0 does not return, so 0 is cut off; a divisor around 0 gives at most the dividend itself.
    if (b.lo == 0) b.lo = 1;
    if (b.hi == 0) b.hi = -1;
    if (b.lo > b.hi) return (zf_interval){0, 0};
    if (b.lo < 0 && b.hi > 0) {
        zf_int128 most = -a.lo > a.hi ? -a.lo : a.hi;
        if (most < 0) most = -most;
        return (zf_interval){-most, most};
    }
    zf_interval low = between(a.lo / b.lo, a.lo / b.hi), high = between(a.hi / b.lo, a.hi / b.hi);
    zf_interval all = zf_interval_hull(low, high);
    if (a.lo <= 0 && a.hi >= 0) all = zf_interval_hull(all, zf_interval_const(0));
    return all;
}

static zf_interval remainder_of(zf_interval a, zf_interval b) {
    zf_int128 most = -b.lo > b.hi ? -b.lo : b.hi; // |r| < |b|, and r has the sign of a
    if (most <= 0) return (zf_interval){0, 0};
    if (zf_interval_is_const(a) && zf_interval_is_const(b)) return zf_interval_const(a.lo % b.lo);
    if (a.lo >= 0 && b.lo > 0 && a.hi < b.lo) return a;
    zf_interval r = {a.lo < 0 ? 1 - most : 0, a.hi > 0 ? most - 1 : 0};
    if (r.lo < a.lo && a.lo < 0) r.lo = a.lo;
    if (r.hi > a.hi && a.hi > 0) r.hi = a.hi;
    return r;
}

static zf_interval bitwise(zf_op op, zf_interval a, zf_interval b, unsigned bits) {
    zf_interval unknown =
        bits >= 100 ? (zf_interval){-FAR, FAR} : (zf_interval){-((zf_int128)1 << (bits - 1)), ((zf_int128)1 << (bits - 1)) - 1};
    if (zf_interval_is_const(a) && zf_interval_is_const(b)) {
        zf_int128 value = op == ZF_OP_AND ? (a.lo & b.lo) : op == ZF_OP_OR ? (a.lo | b.lo) : (a.lo ^ b.lo);
        return zf_interval_const(value);
    }
    if (op == ZF_OP_AND) {
        if (a.lo >= 0 && b.lo >= 0) return (zf_interval){0, a.hi < b.hi ? a.hi : b.hi};
        if (a.lo >= 0) return (zf_interval){0, a.hi};
        if (b.lo >= 0) return (zf_interval){0, b.hi};
        return unknown;
    }
    if (a.lo < 0 || b.lo < 0) return unknown;
    zf_int128 hi = ones_over(a.hi > b.hi ? a.hi : b.hi);
    zf_int128 sum = a.hi + b.hi; // also holds: a | b and a ^ b are at most a + b
    zf_int128 lo = op == ZF_OP_OR ? (a.lo > b.lo ? a.lo : b.lo) : 0;
    return (zf_interval){lo, hi < sum ? hi : sum};
}

static zf_interval shift_left(zf_interval a, zf_interval n, unsigned bits) {
    if (n.lo < 0) n.lo = 0;
    zf_int128 past = bits; // by `bits` or more: 0
    bool may_vanish = n.hi >= past;
    if (n.lo >= past) return (zf_interval){0, 0};
    if (may_vanish) n.hi = past - 1;
    zf_interval r =
        zf_interval_hull(between(shifted(a.lo, n.lo), shifted(a.lo, n.hi)), between(shifted(a.hi, n.lo), shifted(a.hi, n.hi)));
    return may_vanish ? zf_interval_hull(r, zf_interval_const(0)) : r;
}

static zf_interval shift_right(zf_interval a, zf_interval n) {
    if (n.lo < 0) n.lo = 0;
    return zf_interval_hull(between(shifted_right(a.lo, n.lo), shifted_right(a.lo, n.hi)),
                            between(shifted_right(a.hi, n.lo), shifted_right(a.hi, n.hi)));
}

zf_interval zf_range_exact(zf_op op, zf_interval a, zf_interval b, unsigned bits) {
    switch (op) {
    case ZF_OP_ADD: return (zf_interval){clamp(a.lo + b.lo), clamp(a.hi + b.hi)};
    case ZF_OP_SUB: return (zf_interval){clamp(a.lo - b.hi), clamp(a.hi - b.lo)};
    case ZF_OP_MUL: {
        zf_interval low = between(times(a.lo, b.lo), times(a.lo, b.hi)), high = between(times(a.hi, b.lo), times(a.hi, b.hi));
        return zf_interval_hull(low, high);
    }
    case ZF_OP_DIV: return divided(a, b);
    case ZF_OP_REM: return remainder_of(a, b);
    case ZF_OP_AND:
    case ZF_OP_OR:
    case ZF_OP_XOR: return bitwise(op, a, b, bits);
    case ZF_OP_SHL: return shift_left(a, b, bits);
    case ZF_OP_SHR: return shift_right(a, b);
    case ZF_OP_NEG: return (zf_interval){-a.hi, -a.lo};
    case ZF_OP_BITNOT: return (zf_interval){-1 - a.hi, -1 - a.lo};
    default: {
        int known = zf_range_compare(op, a, b);
        return known < 0 ? (zf_interval){0, 1} : zf_interval_const(known);
    }
    }
}

int zf_range_compare(zf_op op, zf_interval a, zf_interval b) {
    switch (op) {
    case ZF_OP_LT: return a.hi < b.lo ? 1 : a.lo >= b.hi ? 0 : -1;
    case ZF_OP_LE: return a.hi <= b.lo ? 1 : a.lo > b.hi ? 0 : -1;
    case ZF_OP_GT: return zf_range_compare(ZF_OP_LT, b, a);
    case ZF_OP_GE: return zf_range_compare(ZF_OP_LE, b, a);
    case ZF_OP_EQ:
        if (a.hi < b.lo || b.hi < a.lo) return 0;
        return zf_interval_is_const(a) && zf_interval_is_const(b) ? 1 : -1;
    case ZF_OP_NE: {
        int equal = zf_range_compare(ZF_OP_EQ, a, b);
        return equal < 0 ? -1 : !equal;
    }
    case ZF_OP_NOT: return a.lo == a.hi ? a.lo == 0 : -1;
    case ZF_OP_ANDAND: return a.hi == 0 || b.hi == 0 ? 0 : a.lo == 1 && b.lo == 1 ? 1 : -1;
    case ZF_OP_OROR: return a.lo == 1 || b.lo == 1 ? 1 : a.hi == 0 && b.hi == 0 ? 0 : -1;
    default: return -1;
    }
}

zf_interval zf_range_bits(zf_interval count) {
    zf_int128 hi = count.hi >= 64 ? zf_interval_of_kind(ZF_K_U64).hi : count.hi <= 0 ? 0 : ((zf_int128)1 << count.hi) - 1;
    return (zf_interval){0, hi};
}

static zf_int128 width_of(zf_int128 value) {
    zf_int128 width = 0;
    for (; value > 0; value >>= 1) width++;
    return width;
}

zf_interval zf_range_prim(zf_prim prim, zf_kind kind, zf_interval a, zf_interval b) {
    zf_int128 bits = zf_kind_bits(kind);
    switch (prim) {
    case ZF_P_MIN: return (zf_interval){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case ZF_P_MAX: return (zf_interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case ZF_P_BIT_WIDTH: return (zf_interval){width_of(a.lo), width_of(a.hi)};
    case ZF_P_POPCOUNT: return (zf_interval){a.lo > 0, width_of(a.hi)};
    case ZF_P_CLZ: return (zf_interval){bits - width_of(a.hi), bits - width_of(a.lo)};
    case ZF_P_CTZ: return (zf_interval){0, a.lo > 0 ? width_of(a.hi) - 1 : bits};
    case ZF_P_NTH_BIT: return (zf_interval){0, a.hi > 0 ? width_of(a.hi) - 1 : 0};
    case ZF_P_ROUND:
    case ZF_P_BITS_OF:
    case ZF_P_VALUE_OF:
    case ZF_P_COUNT: break;
    }
    return zf_interval_of_kind(kind);
}

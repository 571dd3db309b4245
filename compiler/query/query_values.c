#include "compiler/query/query_values.h"

#include <math.h>
#include <string.h>

#include "frontend/check/checker.h"

static bool is_counted(zf_type type) { return zf_kind_is_integer(type.kind) || type.kind == ZF_K_BOOL; }
static bool is_float(zf_type type) { return zf_kind_is_float(type.kind); }

// ---- Making ---------------------------------------------------------------------------------------------------

zf_values zf_values_all(zf_type type) {
    zf_values all = {.type = type, .null = type.nullable, .some = true, .numbers = true, .nan = true, .last = UINT64_MAX};
    all.range = zf_range_all(zf_type_value(type));
    all.least = -(double)INFINITY;
    all.most = (double)INFINITY;
    return all;
}

static zf_values of_float(zf_type type, double value) {
    zf_values one = {.type = type, .some = true, .numbers = !isnan(value), .nan = isnan(value)};
    if (one.numbers) one.least = one.most = value;
    return one;
}

zf_values zf_values_of_bits(zf_type type, uint64_t bits) {
    if (type.kind == ZF_K_F32) {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return of_float(type, (double)value);
    }
    if (type.kind == ZF_K_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return of_float(type, value);
    }
    if (!is_counted(type)) return zf_values_all(type);
    zf_int128 value = type.kind == ZF_K_BOOL ? (zf_int128)(bits & 1) : zf_value_of_bits(type.kind, bits);
    return (zf_values){.type = type, .some = true, .range = zf_interval_const(value)};
}

zf_values zf_values_of_text(const uint64_t *bytes, uint64_t length) {
    zf_values text = {.type = zf_type_of(ZF_K_STRING), .some = true};
    for (uint64_t k = 0; k < 8; k++) text.first = text.first << 8 | (k < length ? bytes[k] : 0);
    text.last = text.first;
    text.all_long = length > 8 || (length > 0 && bytes[length - 1] == 0);
    text.last_short = !text.all_long;
    return text;
}

zf_values zf_values_of_zone(zf_type type, const zf_zone *zone) {
    zf_values values = {.type = type, .null = zone->nulls > 0, .some = zone->nulls < zone->rows, .nan = zone->has_nan};
    values.numbers = zone->has_values;
    if (!zone->has_values) return values;
    values.first = zone->minimum;
    values.last = zone->maximum;
    values.last_short = zone->maximum_exact;
    memcpy(&values.least, &zone->minimum, sizeof values.least);
    memcpy(&values.most, &zone->maximum, sizeof values.most);
    if (!is_counted(type)) return values;
    zf_kind wide = zf_kind_is_signed(type.kind) ? ZF_K_I64 : ZF_K_U64;
    values.range = (zf_interval){zf_value_of_bits(wide, zone->minimum), zf_value_of_bits(wide, zone->maximum)};
    return values;
}

zf_values zf_values_of_range(zf_type type, zf_interval range) {
    zf_values values = zf_values_all(type);
    zf_interval met = zf_interval_meet(values.range, range);
    if (met.lo <= met.hi) values.range = met;
    return values;
}

zf_values zf_values_truth(bool may_fail, bool may_hold) {
    return (zf_values){.type = zf_type_of(ZF_K_BOOL), .some = true, .range = {!may_fail, may_hold || !may_fail}};
}

// ---- Joining --------------------------------------------------------------------------------------------------

static void join_floats(zf_values *a, const zf_values *b) {
    a->nan = a->nan || b->nan;
    if (!b->numbers) return;
    a->least = a->numbers ? fmin(a->least, b->least) : b->least;
    a->most = a->numbers ? fmax(a->most, b->most) : b->most;
    a->numbers = true;
}

zf_values zf_values_join(zf_values a, zf_values b) {
    bool null = a.null || b.null;
    zf_values *from = a.some ? &a : &b;
    zf_values joined = *from;
    joined.type.nullable = a.type.nullable || b.type.nullable;
    joined.null = null;
    if (!a.some || !b.some) return joined;
    joined.range = zf_interval_hull(a.range, b.range);
    joined.last_short = (a.last < b.last || a.last_short) && (b.last < a.last || b.last_short);
    joined.all_long = a.all_long && b.all_long;
    joined.first = a.first < b.first ? a.first : b.first;
    joined.last = a.last > b.last ? a.last : b.last;
    join_floats(&joined, &b);
    return joined;
}

zf_values zf_values_value(zf_values a) {
    zf_values value = a;
    if (a.null) {
        zf_values zero = {.type = a.type, .some = true, .numbers = true, .last_short = true};
        value = zf_values_join(a, zero);
    }
    value.null = false;
    value.type = zf_type_value(a.type);
    return value;
}

zf_values zf_values_beginning(zf_values strings, uint64_t length) {
    uint64_t behind = length == 0 ? UINT64_MAX : length < 8 ? UINT64_MAX >> 8 * length : 0;
    strings.first &= ~behind;
    strings.last &= ~behind;
    strings.last_short = strings.all_long = false;
    return strings;
}

// ---- Comparing ------------------------------------------------------------------------------------------------

static zf_values compare_floats(zf_op op, const zf_values *a, const zf_values *b) {
    if (op == ZF_OP_GT || op == ZF_OP_GE) return compare_floats(op == ZF_OP_GT ? ZF_OP_LT : ZF_OP_LE, b, a);
    if (op == ZF_OP_NE) {
        zf_values equal = compare_floats(ZF_OP_EQ, a, b);
        return zf_values_truth(zf_values_may_hold(&equal), zf_values_may_fail(&equal));
    }
    bool numbers = a->numbers && b->numbers, nan = a->nan || b->nan;
    if (!numbers) return zf_values_truth(true, false);
    bool single = a->least == a->most && b->least == b->most && a->least == b->least;
    switch (op) {
    case ZF_OP_LT: return zf_values_truth(nan || a->most >= b->least, a->least < b->most);
    case ZF_OP_LE: return zf_values_truth(nan || a->most > b->least, a->least <= b->most);
    default: return zf_values_truth(nan || !single, a->least <= b->most && b->least <= a->most);
    }
}

// Whether no string of one is a string of the other.
static bool are_apart(const zf_values *a, const zf_values *b) {
    if (a->last < b->first || b->last < a->first) return true;
    if (a->last == b->first && a->last_short && b->all_long) return true;
    return b->last == a->first && b->last_short && a->all_long;
}

static zf_values compare_strings(zf_op op, const zf_values *a, const zf_values *b) {
    bool single = a->first == a->last && b->first == b->last && a->last_short && b->last_short;
    bool same = single && a->first == b->first, apart = are_apart(a, b);
    if (op == ZF_OP_EQ) return zf_values_truth(!same, !apart);
    if (op == ZF_OP_NE) return zf_values_truth(!apart, !same);
    return zf_values_truth(true, true);
}

// ---- Operators ------------------------------------------------------------------------------------------------

static double rounded(zf_type type, double value) { return type.kind == ZF_K_F32 ? (double)(float)value : value; }

static double operate(zf_op op, double a, double b) {
    switch (op) {
    case ZF_OP_ADD: return a + b;
    case ZF_OP_SUB: return a - b;
    case ZF_OP_MUL: return a * b;
    default: return a / b;
    }
}

// Rounding keeps the order of numbers, so the bounds are among the results of bounds. Infinite ones may give NaN between.
static zf_values binary_floats(zf_op op, const zf_values *a, const zf_values *b) {
    zf_values all = zf_values_all(a->type);
    if (!a->numbers || !b->numbers) return of_float(a->type, (double)NAN);
    bool finite = isfinite(a->least) && isfinite(a->most) && isfinite(b->least) && isfinite(b->most);
    bool divides = op == ZF_OP_DIV, by_zero = b->least <= 0 && b->most >= 0;
    if (!finite || (divides && by_zero) || op < ZF_OP_ADD || op > ZF_OP_DIV) return all;
    zf_values result = {.type = a->type, .some = true, .numbers = true, .nan = a->nan || b->nan};
    result.least = (double)INFINITY;
    result.most = -(double)INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        double value = operate(op, corner & 1 ? a->most : a->least, corner & 2 ? b->most : b->least);
        result.least = fmin(result.least, rounded(a->type, value));
        result.most = fmax(result.most, rounded(a->type, value));
    }
    return result;
}

static zf_values binary_integers(zf_op op, const zf_values *a, const zf_values *b) {
    zf_kind kind = a->type.kind;
    unsigned bits = kind == ZF_K_BOOL ? 8 : zf_kind_bits(kind);
    if (op == ZF_OP_DIV || op == ZF_OP_REM) {
        if (b->range.lo == 0 && b->range.hi == 0) return zf_values_all(a->type);
    }
    zf_interval exact = zf_range_exact(op, a->range, b->range, bits);
    return (zf_values){.type = a->type, .some = true, .range = zf_range_wrap(exact, kind)};
}

zf_values zf_values_binary(zf_op op, zf_values a, zf_values b) {
    bool compares = op >= ZF_OP_EQ && op <= ZF_OP_GE;
    if (a.type.nullable || b.type.nullable) return zf_values_all(compares ? zf_type_of(ZF_K_BOOL) : a.type);
    if (a.type.kind == ZF_K_STRING) return compare_strings(op, &a, &b);
    if (is_float(a.type)) return compares ? compare_floats(op, &a, &b) : binary_floats(op, &a, &b);
    if (!is_counted(a.type)) return zf_values_all(compares ? zf_type_of(ZF_K_BOOL) : a.type);
    if (!compares) return binary_integers(op, &a, &b);
    int known = zf_range_compare(op, a.range, b.range);
    return zf_values_truth(known != 1, known != 0);
}

zf_values zf_values_unary(zf_op op, zf_values a) {
    if (a.type.nullable) return zf_values_all(a.type);
    if (op == ZF_OP_NOT) return zf_values_truth(zf_values_may_hold(&a), zf_values_may_fail(&a));
    if (is_counted(a.type)) return binary_integers(op, &a, &a);
    if (!is_float(a.type) || op != ZF_OP_NEG) return zf_values_all(a.type);
    zf_values result = a;
    result.least = -a.most;
    result.most = -a.least;
    return result;
}

// ---- Conversion -----------------------------------------------------------------------------------------------

// A number truncated, to the integer of a type that is nearest.
static zf_int128 saturated(double value, zf_interval all) {
    if (value <= (double)all.lo) return all.lo;
    return value >= (double)all.hi ? all.hi : (zf_int128)trunc(value);
}

static zf_values to_integer(zf_type type, const zf_values *a) {
    zf_interval all = zf_interval_of_kind(type.kind), range = {0, 0}; // NaN becomes 0
    if (a->numbers) range = (zf_interval){saturated(a->least, all), saturated(a->most, all)};
    if (a->nan) range = zf_interval_hull(range, zf_interval_const(0));
    return (zf_values){.type = type, .some = true, .range = range};
}

static zf_values to_float(zf_type type, const zf_values *a) {
    zf_values result = {.type = type, .some = true, .numbers = true};
    bool narrow = type.kind == ZF_K_F32;
    result.least = narrow ? (double)(float)a->range.lo : (double)a->range.lo;
    result.most = narrow ? (double)(float)a->range.hi : (double)a->range.hi;
    return result;
}

zf_values zf_values_cast(zf_type type, zf_values a) {
    if (a.type.nullable || type.nullable) return zf_values_all(type);
    bool from_float = is_float(a.type);
    if (from_float && zf_kind_is_integer(type.kind)) return to_integer(type, &a);
    if (is_counted(a.type) && is_float(type)) return to_float(type, &a);
    if (is_counted(a.type) && zf_kind_is_integer(type.kind))
        return (zf_values){.type = type, .some = true, .range = zf_range_wrap(a.range, type.kind)};
    if (from_float && is_float(type)) {
        zf_values result = a;
        result.type = type;
        result.least = rounded(type, a.least);
        result.most = rounded(type, a.most);
        return result;
    }
    return a.type.kind == type.kind ? a : zf_values_all(type);
}

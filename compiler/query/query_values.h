// The values that an expression of a query can have in some rows, by the zones of its columns: intervals.
#ifndef ZF_COMPILER_QUERY_VALUES_H
#define ZF_COMPILER_QUERY_VALUES_H

#include "frontend/spec/spec.h"
#include "runtime/base/private.h"

/// The values that an expression can have, or more. One of `null` and `some` is true.
typedef struct zf_values {
    zf_type type;
    bool null;         ///< it may be null
    bool some;         ///< it may have a value. Then one of those below
    zf_interval range; ///< integers and bools
    // Floats.
    bool numbers; ///< it may be a number, least to most
    bool nan;     ///< it may be NaN
    double least, most;
    // Strings, by their prefixes: the first eight bytes as zones have them.
    uint64_t first, last;
    bool last_short; ///< none with the prefix `last` is longer than it, or ends in a zero byte
    bool all_long;   ///< all are longer than their prefix, or end in a zero byte
} zf_values;

/// All values of a type.
zf_values zf_values_all(zf_type type);
/// One value, as a constant or a param has it.
zf_values zf_values_of_bits(zf_type type, uint64_t bits);
/// A text of single bytes, one a word.
zf_values zf_values_of_text(const uint64_t *bytes, uint64_t length);
/// Those of a column in the rows of a zone.
ZF_PRIVATE_API zf_values zf_values_of_zone(zf_type type, const zf_zone *zone);
/// Integers or bools of a type, as far as it holds them.
zf_values zf_values_of_range(zf_type type, zf_interval range);
/// A bool: whether it may be false, and whether it may be true.
zf_values zf_values_truth(bool may_fail, bool may_hold);

/// Those of either. Both have one type, but for nullable.
zf_values zf_values_join(zf_values a, zf_values b);
/// The value of a nullable one, which is 0 for a null, or empty.
zf_values zf_values_value(zf_values a);
/// The first `length` bytes of strings that are no shorter.
zf_values zf_values_beginning(zf_values strings, uint64_t length);
/// Results of an operator on values of one type (shifts: of two), without those of `&&` and `||`. Divisors of 0 do not return.
ZF_PRIVATE_API zf_values zf_values_binary(zf_op op, zf_values a, zf_values b);
zf_values zf_values_unary(zf_op op, zf_values a);
ZF_PRIVATE_API zf_values zf_values_cast(zf_type type, zf_values a);

static inline bool zf_values_may_hold(const zf_values *truth) { return truth->range.hi != 0; }
static inline bool zf_values_may_fail(const zf_values *truth) { return truth->range.lo == 0; }

#endif

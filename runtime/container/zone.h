// Zones: what 65,536 rows of a block hold, for readers that skip.
#ifndef ZF_RUNTIME_ZONE_H
#define ZF_RUNTIME_ZONE_H

#include "runtime/base/private.h"
#include "zipflow/zipflow.h"

enum { ZF_ZONE_ROWS = 65536 };

/// Rows in memory, as a decode delivers them.
typedef struct zf_zone_rows {
    zf_element element;
    const void *values;      ///< booleans: bits; strings: characters
    const int64_t *offsets;  ///< strings: one more than rows, but for the first one
    int64_t first_offset;    ///< strings: where row 0 begins
    const uint8_t *validity; ///< NULL: no row is null
    uint64_t validity_bit;   ///< of the first row
} zf_zone_rows;

/// The contents of a zone's rows, by keys (zf_zone_key), as accelerators find them.
typedef struct zf_zone_found {
    uint64_t least, most; ///< UINT64_MAX and 0 where there are no values
    uint32_t nulls, nans;
    uint32_t least_short, most_long; ///< strings: one with the least prefix is no longer than that; one with the largest is
} zf_zone_found;

/// Returns the zones of a block of `rows` rows.
static inline uint64_t zf_zones_of(uint64_t rows) { return rows / ZF_ZONE_ROWS + (rows % ZF_ZONE_ROWS != 0); }

/// Finds what rows begin..end hold, at most ZF_ZONE_ROWS of them.
ZF_PRIVATE_API void zf_zone_find(const zf_zone_rows *rows, uint64_t begin, uint64_t end, zf_zone_found *out);
/// Makes the zone of `rows` rows, at least one; its first row is 0. All bounds of numbers are exact.
void zf_zone_of(zf_element element, uint64_t rows, const zf_zone_found *found, zf_zone *out);
/// Makes the zones of a block of `count` rows, by zf_zone_of. Free them with free(); NULL: no memory.
ZF_PRIVATE_API zf_zone *zf_zones_make(const zf_zone_rows *rows, uint64_t count);

/// Returns the fault of a zone that a file states, or NULL: what no rows of the type could have.
const char *zf_zone_fault(const zf_zone *zone, zf_column_type type);

/// Returns what a stated zone says wrongly of rows whose true zone is `found`, or NULL.
ZF_PRIVATE_API const char *zf_zone_lie(const zf_zone *stated, const zf_zone *found, zf_element element);

/// Returns a number that orders the values of an element as zones do.
uint64_t zf_zone_key(zf_element element, uint64_t value);

#endif

// Bytes that a kernel moves per element, as far as they are known without data.
#ifndef ZF_PATTERNS_TRAFFIC_H
#define ZF_PATTERNS_TRAFFIC_H

#include "patterns/plan/plan_internal.h"

/// The unit of an amount.
typedef enum zf_per {
    ZF_PER_ELEMENT, ///< of the kernel's output
    ZF_PER_GROUP,   ///< how many elements a group has, the data says
    ZF_PER_DATA,    ///< gathered: how often, the data says
} zf_per;

/// One buffer that a kernel reads.
typedef struct zf_traffic {
    uint32_t edge;
    bool is_work; ///< a work buffer of an earlier kernel, else a stored stream
    bool is_sums; ///< that work buffer holds prefix sums along the edge
    zf_per per;
    double bits;       ///< read for each, when `param` is NULL
    const char *param; ///< path of the param that is the number of bits, "counts.width"; times `bits`
} zf_traffic;

/// Fills at most `limit` entries; returns how many there are.
uint32_t zf_kernel_reads(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, zf_traffic *out, uint32_t limit);

#endif

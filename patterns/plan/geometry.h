// Default geometries: a table with a row per target, domain and loop.
#ifndef ZF_PATTERNS_GEOMETRY_H
#define ZF_PATTERNS_GEOMETRY_H

#include "patterns/plan/plan.h"

/// The loop over a kernel's elements or groups, by what it reads.
typedef enum zf_loop {
    ZF_LOOP_MAP,    ///< elements at its own index only
    ZF_LOOP_GATHER, ///< also elements at indices that depend on the data
    ZF_LOOP_SCAN,   ///< the accumulators of scans
    ZF_LOOP_PLAIN,  ///< groups: stored elements, for outputs of at most 4 bytes
} zf_loop;

/// Returns the default of a target and domain; elements and groups have one per loop. `s` is 0 for one warp.
const zf_geometry *zf_geometry_default(const zf_target *target, zf_domain domain, zf_loop loop);

#endif

// Default geometry: a table, so that a target, a domain or a measured value is a row.
#ifndef ZF_SCHEDULER_GEOMETRY_H
#define ZF_SCHEDULER_GEOMETRY_H

#include "patterns/plan/plan.h"

/// What the elements of a kernel ask of others, or its groups of memory.
typedef enum zf_loop {
    ZF_LOOP_MAP,    ///< nothing: each is made of what lies at its own index
    ZF_LOOP_GATHER, ///< likewise, and of elements at indices that data say
    ZF_LOOP_SCAN,   ///< what scans along them have
    ZF_LOOP_PLAIN,  ///< of groups: elements that lie in memory as they are, for outputs of 4 bytes or fewer
} zf_loop;

/// Returns the default for a target and domain, of elements and groups by their loop. `s` is 0 for one warp.
const zf_geometry *zf_geometry_default(const zf_target *target, zf_domain domain, zf_loop loop);

#endif

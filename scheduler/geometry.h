// Default geometry: a table, so that a target, a domain or a measured value is a row.
#ifndef ZF_SCHEDULER_GEOMETRY_H
#define ZF_SCHEDULER_GEOMETRY_H

#include "scheduler/plan.h"

/// The default for a target and domain, where `scan` of elements that a scan runs along; NULL when the target does not exist.
const zf_geometry *zf_geometry_default(const char *target, zf_domain domain, bool scan);

/// True for a name that some row has.
bool zf_target_known(const char *target);

#endif

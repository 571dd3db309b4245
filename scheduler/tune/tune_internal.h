// What the parts of the search share.
#ifndef ZF_SCHEDULER_TUNE_TUNE_INTERNAL_H
#define ZF_SCHEDULER_TUNE_TUNE_INTERNAL_H

#include "scheduler/tune/tune.h"

#define ZF_TUNE_UNKNOWN UINT32_MAX

/// Warps that a multiprocessor should hold at once of a combination, by what was seen of another one: as many registers, unless
/// they are bounded lower, and as much shared memory a block. 0: the model says that it cannot run.
uint32_t zf_tune_warps(const zf_tune_search *search, const zf_tune_try *seen, const zf_tune_point *point);

/// What to probe next around the centre; false: nothing there is worth it. `why` is static.
bool zf_tune_neighbour(const zf_tune_search *search, zf_tune_point *out, uint32_t *axis, const char **why);

/// The probe of a combination, or NULL.
const zf_tune_try *zf_tune_find(const zf_tune_search *search, const zf_tune_point *point);
/// Whether two times may be the same.
bool zf_tune_near(const zf_tune_search *search, double a, double b);

#endif

// Declarations that the files of the search share.
#ifndef ZF_SCHEDULER_SEARCH_INTERNAL_H
#define ZF_SCHEDULER_SEARCH_INTERNAL_H

#include "scheduler/search/search.h"

#define ZF_SEARCH_UNKNOWN UINT32_MAX

/// Predicts the resident warps of a combination from the reading of another: as many registers, unless limited lower, and as much
/// shared memory a block. 0: it cannot run.
uint32_t zf_search_warps(const zf_search *search, const zf_search_try *seen, const zf_search_point *point);
/// Returns whether all thread blocks of the launch of `seen` are resident at once with so many registers a thread. Register
/// limits then gain nothing.
bool zf_search_all_at_once(const zf_search *search, const zf_search_try *seen, uint32_t registers);

/// Returns the next neighbour of the centre that is worth a probe; false: none is. `why` is static.
bool zf_search_neighbour(const zf_search *search, zf_search_point *out, uint32_t *axis, const char **why);

/// Returns the try of a combination, or NULL.
const zf_search_try *zf_search_find(const zf_search *search, const zf_search_point *point);
/// Returns whether two times are equal within noise.
bool zf_search_near(const zf_search *search, double a, double b);

#endif

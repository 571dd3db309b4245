// What the parts of the search share.
#ifndef ZF_SCHEDULER_SEARCH_SEARCH_INTERNAL_H
#define ZF_SCHEDULER_SEARCH_SEARCH_INTERNAL_H

#include "scheduler/search/search.h"

#define ZF_SEARCH_UNKNOWN UINT32_MAX

/// Warps that a multiprocessor should hold at once of a combination, by what was seen of another one: as many registers, unless
/// they are bounded lower, and as much shared memory a block. 0: the model says that it cannot run.
uint32_t zf_search_warps(const zf_search *search, const zf_search_try *seen, const zf_search_point *point);
/// Whether all thread blocks of a launch run at once with so many registers a thread, by what was launched at `seen`: then bounds
/// on registers bring nothing.
bool zf_search_all_at_once(const zf_search *search, const zf_search_try *seen, uint32_t registers);

/// What to probe next around the centre; false: nothing there is worth it. `why` is static.
bool zf_search_neighbour(const zf_search *search, zf_search_point *out, uint32_t *axis, const char **why);

/// The probe of a combination, or NULL.
const zf_search_try *zf_search_find(const zf_search *search, const zf_search_point *point);
/// Whether two times may be the same.
bool zf_search_near(const zf_search *search, double a, double b);

#endif

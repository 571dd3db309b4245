// Declarations that the files share: scratch memory, keys of the sort, the simulation.
#ifndef ZF_SCHEDULER_ORDER_INTERNAL_H
#define ZF_SCHEDULER_ORDER_INTERNAL_H

#include "scheduler/order/order.h"

/// The caller's scratch memory, divided. Each array has `count` entries.
typedef struct zf_order_room {
    double *before, *behind;  ///< keys: the time on the first and on the second of two machines
    double *copied, *decoded; ///< by position: when it, and all before it, were copied and decoded
    uint64_t *staging, *ring; ///< `taken` of the rings
    uint32_t *order, *sorted; ///< orders
    uint32_t *merge;          ///< the other half of a sort
} zf_order_room;

/// Checks the problem and divides the scratch memory; every public function calls it first.
zf_order_status zf_order_enter(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, zf_order_room *room,
                               uint32_t *bad);

/// Returns whether a job belongs to the first half of Johnson's order by the keys `before` and `behind`.
static inline bool zf_order_grows(const zf_order_room *room, uint32_t job) { return room->before[job] < room->behind[job]; }

/// Sorts by Johnson's rule on the keys `before` and `behind` into `order`, which is not `merge`. Returns the comparisons.
uint64_t zf_order_sort(const zf_order_job *jobs, uint32_t count, const zf_order_room *room, uint32_t *order);

/// Sorts jobs by Johnson's rule on their copies and decodes: zf_order_johnson of a checked problem. Uses the keys and `merge`,
/// which is not `order`. Returns the comparisons.
uint64_t zf_order_by_jobs(const zf_order_problem *problem, const zf_order_room *room, uint32_t *order);

/// Sorts whole columns by Johnson's rule. Uses the keys, `sorted` and `merge`; `order` is neither. Returns the comparisons.
uint64_t zf_order_by_columns(const zf_order_problem *problem, const zf_order_room *room, uint32_t *order);

/// Computes the bounds of a checked problem. Uses the keys, `order` and `merge`. Adds to `comparisons`.
zf_order_bounds zf_order_bounds_of(const zf_order_problem *problem, const zf_order_room *room, uint64_t *comparisons);

/// Simulates a permutation of a checked problem. `times` may be NULL.
void zf_order_follow(const zf_order_problem *problem, const uint32_t *order, const zf_order_room *room, zf_order_times *times,
                     zf_order_summary *summary);

#endif

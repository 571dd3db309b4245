// Checks a problem, and measures the caller's memory.
#include <float.h>

#include "scheduler/order/order_internal.h"

/// Not of what is no number. Half of the largest: a schedule's sums, rounded elsewhere than those here, must not overflow either.
static bool is_time(double seconds) { return seconds >= 0 && seconds <= DBL_MAX / 2; }

static zf_order_status check(const zf_order_problem *problem, uint32_t *bad) {
    uint32_t nowhere;
    if (bad == NULL) bad = &nowhere;
    *bad = problem->count;
    if (problem->readers == 0 || problem->readers > ZF_ORDER_MOST_MACHINES) return ZF_ORDER_MACHINES;
    if (problem->streams == 0 || problem->streams > ZF_ORDER_MOST_MACHINES) return ZF_ORDER_MACHINES;
    double all = 0;
    for (uint32_t i = 0; i < problem->count; i++) {
        const zf_order_job *job = &problem->jobs[i];
        zf_order_status status = ZF_ORDER_OK;
        if (!is_time(job->read) || !is_time(job->copy) || !is_time(job->decode)) {
            status = ZF_ORDER_TIME;
        } else if (job->group >= problem->groups) {
            status = ZF_ORDER_GROUP;
        } else if (job->staging > problem->staging) {
            status = ZF_ORDER_STAGING;
        } else if (job->ring > problem->ring) {
            status = ZF_ORDER_RING;
        }
        if (status != ZF_ORDER_OK) {
            *bad = i;
            return status;
        }
        all += job->read + job->copy + job->decode;
    }
    // No time of a schedule and no bound is above this sum.
    return is_time(all) ? ZF_ORDER_OK : ZF_ORDER_TIME;
}

/// Bytes a job: the entries of `zf_order_room`.
enum { WIDE = 6 * 8, NARROW = 3 * 4 };

size_t zf_order_scratch_bytes(uint32_t count) {
    uint64_t bytes = (uint64_t)count * (WIDE + NARROW);
    return bytes <= SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

zf_order_status zf_order_enter(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, zf_order_room *room,
                               uint32_t *bad) {
    uint32_t count = problem->count;
    zf_order_status status = check(problem, bad);
    if (status != ZF_ORDER_OK) return status;
    size_t wanted = zf_order_scratch_bytes(count);
    if (wanted == SIZE_MAX || scratch_bytes < wanted || (uintptr_t)scratch % 8 != 0) {
        if (bad != NULL) *bad = count;
        return ZF_ORDER_SCRATCH;
    }
    *room = (zf_order_room){.before = scratch};
    if (count == 0) return ZF_ORDER_OK;
    room->behind = room->before + count;
    room->copied = room->behind + count;
    room->decoded = room->copied + count;
    room->staging = (uint64_t *)(room->decoded + count);
    room->ring = room->staging + count;
    room->order = (uint32_t *)(room->ring + count);
    room->sorted = room->order + count;
    room->merge = room->sorted + count;
    return ZF_ORDER_OK;
}

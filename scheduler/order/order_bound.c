// Times before which no order can end.
#include <float.h>

#include "scheduler/order/order_internal.h"

/// A machine's work, and the least that stands before and behind any of it.
typedef struct load {
    double busy, head, tail;
} load;

static const load nothing = {.head = DBL_MAX, .tail = DBL_MAX};

static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

static void put(load *on, double time, double head, double tail) {
    if (time == 0) return;
    on->busy += time;
    on->head = smaller(on->head, head);
    on->tail = smaller(on->tail, tail);
}

static double least(const load *of, uint32_t machines) { return of->busy > 0 ? of->head + of->busy / machines + of->tail : 0; }

/// Johnson's optimum of the two machines whose keys are in `room`.
static double optimum(const zf_order_problem *problem, const zf_order_room *room, uint64_t *comparisons) {
    *comparisons += zf_order_sort(problem->jobs, problem->count, room, room->order);
    double first = 0, second = 0;
    for (uint32_t k = 0; k < problem->count; k++) {
        first += room->before[room->order[k]];
        second = larger(first, second) + room->behind[room->order[k]];
    }
    return second;
}

zf_order_bounds zf_order_bounds_of(const zf_order_problem *problem, const zf_order_room *room, uint64_t *comparisons) {
    load read = nothing, copy = nothing, decode = nothing, staging = nothing, ring = nothing, pair = nothing;
    zf_order_bounds found = {0};
    for (uint32_t i = 0; i < problem->count; i++) {
        const zf_order_job *job = &problem->jobs[i];
        put(&read, job->read, 0, job->copy + job->decode);
        put(&copy, job->copy, job->read, job->decode);
        put(&decode, job->decode, job->read + job->copy, 0);
        // Bytes over the size first: that is at most 1.
        if (job->staging > 0)
            put(&staging, (double)job->staging / (double)problem->staging * (job->copy + job->decode), job->read, 0);
        if (job->ring > 0) put(&ring, (double)job->ring / (double)problem->ring * (job->read + job->copy), 0, job->decode);
        pair.head = smaller(pair.head, job->read);
        pair.tail = smaller(pair.tail, job->decode);
        found.job = larger(found.job, job->read + job->copy + job->decode);
    }
    found.read = least(&read, problem->readers);
    found.copy = least(&copy, 1);
    found.decode = least(&decode, problem->streams);
    found.staging = least(&staging, 1);
    found.ring = least(&ring, 1);
    if (problem->count > 0 && problem->streams == 1) {
        for (uint32_t i = 0; i < problem->count; i++) {
            room->before[i] = problem->jobs[i].copy;
            room->behind[i] = problem->jobs[i].decode;
        }
        found.pair = pair.head + optimum(problem, room, comparisons);
    }
    if (problem->count > 0 && problem->readers == 1) {
        for (uint32_t i = 0; i < problem->count; i++) {
            room->before[i] = problem->jobs[i].read;
            room->behind[i] = problem->jobs[i].copy;
        }
        found.pair = larger(found.pair, optimum(problem, room, comparisons) + pair.tail);
    }
    double most = larger(larger(found.read, found.copy), larger(found.decode, found.job));
    found.makespan = larger(larger(most, found.pair), larger(found.staging, found.ring));
    return found;
}

zf_order_status zf_order_bound(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, zf_order_bounds *bounds,
                               uint32_t *bad) {
    zf_order_room room;
    uint64_t comparisons = 0;
    zf_order_status status = zf_order_enter(problem, scratch, scratch_bytes, &room, bad);
    if (status == ZF_ORDER_OK) *bounds = zf_order_bounds_of(problem, &room, &comparisons);
    return status;
}

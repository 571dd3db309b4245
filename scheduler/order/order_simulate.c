// When each job is read, copied and decoded, if they pass in a given order.
#include <string.h>

#include "scheduler/order/order_internal.h"

/// A ring that pieces pass first in, first out. `taken` has an entry a position: its bytes, and those behind it that were left
/// free because the next one did not fit before the end.
typedef struct lap {
    uint64_t size, head, used; ///< used: bytes of the positions from `tail` on, with what they leave free
    uint32_t tail, last;       ///< last: the position that holds bytes and came last
    uint64_t *taken;
} lap;

static void release(lap *of) { of->used -= of->taken[of->tail++]; }

/// Gives the next position, which is `now`, its bytes, at most `size`. Returns how many positions must have been released
/// before it is written.
static uint32_t take(lap *of, uint32_t now, uint64_t bytes) {
    of->taken[now] = 0;
    if (bytes == 0) return 0;
    if (bytes > of->size - of->head) {
        // The rest at the end goes to the piece before it, which is not yet released, and is released with that. Pieces of the
        // lap before may still lie there. They must be released first, because this piece overwrites the first of this lap,
        // which came later.
        uint64_t gap = of->size - of->head;
        while (of->tail < now && gap > of->size - of->used) release(of);
        of->taken[of->last] += gap;
        of->used += gap;
        of->head = 0;
    }
    while (of->tail < now && bytes > of->size - of->used) release(of);
    of->taken[now] = bytes;
    of->used += bytes;
    of->head += bytes;
    of->last = now;
    return of->tail;
}

/// The machine that is free first, the lowest of equals.
static uint32_t first_free(const double *free_at, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t m = 1; m < count; m++) {
        if (free_at[m] < free_at[best]) best = m;
    }
    return best;
}

static double later(double a, double b) { return a > b ? a : b; }

void zf_order_follow(const zf_order_problem *problem, const uint32_t *order, const zf_order_room *room, zf_order_times *times,
                     zf_order_summary *summary) {
    double reader_free[ZF_ORDER_MOST_MACHINES] = {0}, stream_free[ZF_ORDER_MOST_MACHINES] = {0};
    lap staging = {.size = problem->staging, .taken = room->staging}, ring = {.size = problem->ring, .taken = room->ring};
    zf_order_summary sum = {0};
    double read_begin = 0, link_free = 0, decoded = 0;
    for (uint32_t k = 0; k < problem->count; k++) {
        const zf_order_job *job = &problem->jobs[order[k]];
        uint32_t after_copy = take(&ring, k, job->ring), after_decode = take(&staging, k, job->staging);

        uint32_t reader = 0;
        if (after_copy > 0) read_begin = later(read_begin, room->copied[after_copy - 1]);
        if (job->read > 0) {
            reader = first_free(reader_free, problem->readers);
            read_begin = later(read_begin, reader_free[reader]);
        }
        double read_end = read_begin + job->read;
        if (job->read > 0) reader_free[reader] = read_end;

        double there = later(read_end, link_free);
        double copy_begin = after_decode > 0 ? later(there, room->decoded[after_decode - 1]) : there;
        double copy_end = copy_begin + job->copy;
        sum.copy_starved += there - link_free;
        sum.copy_blocked += copy_begin - there;
        link_free = copy_end;
        room->copied[k] = copy_end;

        uint32_t stream = first_free(stream_free, problem->streams);
        double decode_begin = later(copy_end, stream_free[stream]), decode_end = decode_begin + job->decode;
        stream_free[stream] = decode_end;
        decoded = later(decoded, decode_end);
        room->decoded[k] = decoded;

        sum.mean_end += decode_end / problem->count;
        if (times != NULL)
            times[order[k]] = (zf_order_times){read_begin, read_end, copy_begin, copy_end, decode_begin, decode_end};
    }
    sum.makespan = decoded;
    *summary = sum;
}

zf_order_status zf_order_simulate(const zf_order_problem *problem, const uint32_t *order, void *scratch, size_t scratch_bytes,
                                  zf_order_times *times, zf_order_summary *summary, uint32_t *bad) {
    zf_order_room room;
    zf_order_status status = zf_order_enter(problem, scratch, scratch_bytes, &room, bad);
    if (status != ZF_ORDER_OK) return status;
    uint32_t count = problem->count, *seen = room.merge;
    if (count > 0) memset(seen, 0, count * sizeof *seen);
    for (uint32_t k = 0; k < count; k++) {
        if (order[k] >= count || seen[order[k]]++ != 0) {
            if (bad != NULL) *bad = k;
            return ZF_ORDER_NOT_ONE;
        }
    }
    zf_order_follow(problem, order, &room, times, summary);
    return ZF_ORDER_OK;
}

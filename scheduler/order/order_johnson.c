// Orders made by sorting.
#include "scheduler/order/order_internal.h"

void zf_order_fifo(uint32_t count, uint32_t *order) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
}

/// Whether job `a` must come before job `b`, by Johnson's rule and then by group and index: a total order, so that the sort
/// need not be stable for its result to be the only one.
static bool precedes(const zf_order_job *jobs, const zf_order_room *room, uint32_t a, uint32_t b) {
    bool a_grows = zf_order_grows(room, a), b_grows = zf_order_grows(room, b);
    if (a_grows != b_grows) return a_grows;
    double a_key = a_grows ? room->before[a] : room->behind[b], b_key = a_grows ? room->before[b] : room->behind[a];
    if (a_key < b_key) return true;
    if (a_key > b_key) return false;
    return jobs[a].group != jobs[b].group ? jobs[a].group < jobs[b].group : a < b;
}

uint64_t zf_order_sort(const zf_order_job *jobs, uint32_t count, const zf_order_room *room, uint32_t *order) {
    uint32_t *from = order, *to = room->merge;
    uint64_t comparisons = 0;
    zf_order_fifo(count, from);
    for (uint64_t width = 1; width < count; width *= 2) {
        for (uint64_t begin = 0; begin < count; begin += 2 * width) {
            uint64_t middle = begin + width < count ? begin + width : count;
            uint64_t end = middle + width < count ? middle + width : count;
            uint64_t a = begin, b = middle;
            for (uint64_t k = begin; k < end; k++) {
                bool left = b == end;
                if (a < middle && b < end) {
                    left = !precedes(jobs, room, from[b], from[a]);
                    comparisons++;
                }
                to[k] = left ? from[a++] : from[b++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) {
        for (uint32_t k = 0; k < count; k++) order[k] = from[k];
    }
    return comparisons;
}

uint64_t zf_order_by_jobs(const zf_order_problem *problem, const zf_order_room *room, uint32_t *order) {
    for (uint32_t i = 0; i < problem->count; i++) {
        room->before[i] = problem->jobs[i].copy;
        room->behind[i] = problem->jobs[i].decode;
    }
    return zf_order_sort(problem->jobs, problem->count, room, order);
}

zf_order_status zf_order_johnson(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, uint32_t *order,
                                 uint32_t *bad) {
    zf_order_room room;
    zf_order_status status = zf_order_enter(problem, scratch, scratch_bytes, &room, bad);
    if (status == ZF_ORDER_OK) zf_order_by_jobs(problem, &room, order);
    return status;
}

uint64_t zf_order_by_columns(const zf_order_problem *problem, const zf_order_room *room, uint32_t *order) {
    uint32_t count = problem->count, *sorted = room->sorted;
    for (uint32_t i = 0; i < count; i++) room->before[i] = room->behind[i] = 0;
    uint64_t comparisons = zf_order_sort(problem->jobs, count, room, sorted); // among equals: by group, then as given
    for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
        double copied = 0, decoded = 0, lead = 0;
        for (; end < count && problem->jobs[sorted[end]].group == problem->jobs[sorted[begin]].group; end++) {
            copied += problem->jobs[sorted[end]].copy;
            if (copied - decoded > lead) lead = copied - decoded;
            decoded += problem->jobs[sorted[end]].decode;
        }
        for (uint32_t k = begin; k < end; k++) {
            room->before[sorted[k]] = lead;
            room->behind[sorted[k]] = lead - copied + decoded;
        }
    }
    return comparisons + zf_order_sort(problem->jobs, count, room, order);
}

zf_order_status zf_order_columns(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, uint32_t *order,
                                 uint32_t *bad) {
    zf_order_room room;
    zf_order_status status = zf_order_enter(problem, scratch, scratch_bytes, &room, bad);
    if (status == ZF_ORDER_OK) zf_order_by_columns(problem, &room, order);
    return status;
}

// An order for three machines and little memory: candidates, then a search among their neighbours.
#include <string.h>

#include "scheduler/order/order_internal.h"

/// The least gain of an order that replaces another. A smaller gain is not worth splitting columns.
static const double worth = 1e-3;

/// How many measures of what may wait to be decoded are tried for each pair: halves of the whole down to a 256th, and nothing.
enum { MEASURES = 9 };

/// The best order so far is in `order`.
typedef struct finding {
    const zf_order_problem *problem;
    const zf_order_room *room;
    uint64_t steps; ///< that may be made
    uint32_t *order;
    double mean_end; ///< of that order
    zf_order_found found;
} finding;

static bool gains(const finding *in, double makespan) { return makespan < in->found.makespan * (1 - worth); }

/// Whether an order that gains is possible, and can be afforded.
static bool goes_on(const finding *in) {
    return gains(in, in->found.bound) && in->found.steps <= in->steps && in->steps - in->found.steps >= in->problem->count;
}

static zf_order_summary follow(finding *in, const uint32_t *order) {
    zf_order_summary summary;
    zf_order_follow(in->problem, order, in->room, NULL, &summary);
    in->found.steps += in->problem->count;
    return summary;
}

static void keep(finding *in, const zf_order_summary *summary, zf_order_rule rule) {
    in->found.makespan = summary->makespan;
    in->found.rule = rule;
    in->mean_end = summary->mean_end;
}

static void try_order(finding *in, const uint32_t *order, zf_order_rule rule) {
    zf_order_summary summary = follow(in, order);
    if (!gains(in, summary.makespan)) return;
    keep(in, &summary, rule);
    memcpy(in->order, order, in->problem->count * sizeof *order);
}

/// Keys of Johnson's rule: the three machines as two. The first pair neglects reads, the last decodes.
static void make_pair(const zf_order_problem *problem, int pair, const zf_order_room *room) {
    for (uint32_t i = 0; i < problem->count; i++) {
        const zf_order_job *job = &problem->jobs[i];
        double read = job->read / problem->readers, decode = job->decode / problem->streams;
        room->before[i] = pair == 0 ? job->copy : pair == 1 ? read + job->copy : read;
        room->behind[i] = pair == 1 ? job->copy + decode : pair == 3 ? job->copy : decode;
    }
}

/// Takes from the first half of `from`, whose jobs let work behind the first machine pile up, while that is less than `most`
/// seconds; else from the second, which works it off. Nothing left in one half: from the other.
static void mix(const zf_order_room *room, const uint32_t *from, uint32_t count, uint32_t half, double most, uint32_t *order) {
    double before = 0, behind = 0;
    uint32_t a = 0, b = half;
    for (uint32_t k = 0; k < count; k++) {
        double pile = behind - before;
        uint32_t job = a < half && (b == count || pile < most || pile <= 0) ? from[a++] : from[b++];
        before += room->before[job];
        behind = (before > behind ? before : behind) + room->behind[job];
        order[k] = job;
    }
}

/// The halves of the pair's order, mixed by several measures.
static void try_mixtures(finding *in) {
    const zf_order_room *room = in->room;
    uint32_t count = in->problem->count, half = 0;
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        half += zf_order_grows(room, i);
        most += room->behind[i];
    }
    for (int m = 0; m < MEASURES && goes_on(in); m++) {
        most = m + 1 < MEASURES ? most / 2 : 0;
        mix(room, room->sorted, count, half, most, room->order);
        try_order(in, room->order, ZF_ORDER_BY_MIXING);
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/// Moves the job of position `from` to position `to`; those between make room.
static void move(uint32_t *order, uint32_t from, uint32_t to) {
    uint32_t job = order[from];
    if (from < to) memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    if (to < from) memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = job;
}

static void swap(uint32_t *order, uint32_t a, uint32_t b) {
    uint32_t job = order[a];
    order[a] = order[b];
    order[b] = job;
}

/// Swaps of two jobs, and when none gains, moves of one, until none gains either. Pairs of positions come in a fixed sequence
/// that is spread over all of them, so that a search which ends early has looked everywhere.
static void search(finding *in) {
    uint32_t count = in->problem->count;
    uint64_t pairs = (uint64_t)count * count, stride = pairs / 987 * 610 + pairs % 987 * 610 / 987 + 1, at = 0, failed = 0;
    while (common_divisor(stride, pairs) != 1) stride++;
    while (failed < 2 * pairs && goes_on(in)) {
        uint32_t a = (uint32_t)(at / count), b = (uint32_t)(at % count);
        bool swaps = failed < pairs;
        at = (at + stride) % pairs;
        failed++;
        if (a == b || (swaps && a > b)) continue;
        if (swaps)
            swap(in->order, a, b);
        else
            move(in->order, a, b);
        zf_order_summary summary = follow(in, in->order);
        // Many orders end alike. An order whose units are decoded earlier on average leads from one of them to others.
        bool sooner = summary.makespan <= in->found.makespan && summary.mean_end < in->mean_end * (1 - worth);
        if (gains(in, summary.makespan) || sooner) {
            keep(in, &summary, ZF_ORDER_BY_SEARCHING);
            failed = 0;
        } else if (swaps) {
            swap(in->order, a, b);
        } else {
            move(in->order, b, a);
        }
    }
}

zf_order_status zf_order_find(const zf_order_problem *problem, uint64_t steps, void *scratch, size_t scratch_bytes,
                              uint32_t *order, zf_order_found *found, uint32_t *bad) {
    zf_order_room room;
    zf_order_status status = zf_order_enter(problem, scratch, scratch_bytes, &room, bad);
    if (status != ZF_ORDER_OK) return status;
    uint32_t count = problem->count;
    if (count == 0) {
        *found = (zf_order_found){0};
        return ZF_ORDER_OK;
    }
    finding in = {.problem = problem, .room = &room, .steps = steps, .order = order};
    in.found.bound = zf_order_bounds_of(problem, &room, &in.found.comparisons).makespan;
    bool reads = false;
    for (uint32_t i = 0; i < count; i++) reads = reads || problem->jobs[i].read > 0;
    in.found.comparisons += zf_order_by_jobs(problem, &room, order);
    zf_order_summary summary = follow(&in, order);
    keep(&in, &summary, ZF_ORDER_BY_JOHNSON);
    in.found.comparisons += zf_order_by_columns(problem, &room, room.order);
    zf_order_summary whole = follow(&in, room.order);
    if (whole.makespan * (1 - worth) <= summary.makespan && memcmp(order, room.order, count * sizeof *order) != 0) {
        keep(&in, &whole, ZF_ORDER_BY_COLUMNS);
        memcpy(order, room.order, count * sizeof *order);
    }
    zf_order_fifo(count, room.order);
    try_order(&in, room.order, ZF_ORDER_BY_FIFO);
    // Without reads the first pair alone says something.
    for (int pair = 0; pair < (reads ? 4 : 1) && goes_on(&in); pair++) {
        make_pair(problem, pair, &room);
        in.found.comparisons += zf_order_sort(problem->jobs, count, &room, room.sorted);
        try_order(&in, room.sorted, ZF_ORDER_BY_PAIR);
        try_mixtures(&in);
    }
    if (count <= ZF_ORDER_MOST_SEARCHED) search(&in);
    *found = in.found;
    return ZF_ORDER_OK;
}

// Links: zipflow-order
// When jobs are where: the simulation against one that goes from event to event and places pieces by what they would overwrite,
// and schedules worked out by hand.
#include <float.h>

#include "tests/unit/check.h"
#include "tests/unit/scheduler/order_cases.h"

/// Where pieces lie, told by their bytes alone, and for which earlier ones each must wait: for those that it would overwrite, and
/// at least for those that the ones before it have waited for.
typedef struct layout {
    uint64_t at[ORDER_MOST];
    uint32_t after[ORDER_MOST];
} layout;

static void lay_out(const uint64_t *bytes, uint32_t count, uint64_t size, layout *out) {
    uint64_t end = 0;
    uint32_t waited = 0;
    for (uint32_t k = 0; k < count; k++) {
        out->at[k] = 0;
        out->after[k] = 0;
        if (bytes[k] == 0) continue;
        if (bytes[k] > size - end) end = 0;
        out->at[k] = end;
        end += bytes[k];
        for (uint32_t j = 0; j < k; j++) {
            if (bytes[j] > 0 && out->at[j] < end && out->at[k] < out->at[j] + bytes[j] && j >= waited) waited = j + 1;
        }
        out->after[k] = waited;
    }
}

/// The progress of a position: each is 0 for not begun, 1 for begun, 2 for ended.
typedef struct progress {
    int read, copy, decode;
    double until; ///< the end of what has begun
    zf_order_times times;
    uint64_t staging_at, ring_at; ///< where its bytes lie
} progress;

static bool all_copied(const progress *p, uint32_t first) {
    for (uint32_t j = 0; j < first; j++) {
        if (p[j].copy != 2) return false;
    }
    return true;
}

static bool all_decoded(const progress *p, uint32_t first) {
    for (uint32_t j = 0; j < first; j++) {
        if (p[j].decode != 2) return false;
    }
    return true;
}

/// Ends what ends at `now`, begins what may begin, and says whether anything changed.
static bool step(const zf_order_problem *problem, const uint32_t *order, const layout *staging, const layout *ring, double now,
                 progress *p) {
    bool changed = false;
    uint32_t reading = 0, copying = 0, decoding = 0, count = problem->count;
    for (uint32_t k = 0; k < count; k++) {
        int *state = p[k].read == 1 ? &p[k].read : p[k].copy == 1 ? &p[k].copy : p[k].decode == 1 ? &p[k].decode : NULL;
        if (state != NULL && p[k].until <= now) {
            *state = 2;
            changed = true;
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        reading += p[k].read == 1 && problem->jobs[order[k]].read > 0;
        copying += p[k].copy == 1;
        decoding += p[k].decode == 1;
    }
    for (uint32_t k = 0; k < count; k++) {
        const zf_order_job *job = &problem->jobs[order[k]];
        bool first = k == 0;
        if (p[k].read == 0 && (first || p[k - 1].read > 0) && (job->read == 0 || reading < problem->readers) &&
            all_copied(p, ring->after[k])) {
            p[k].read = 1;
            p[k].times.read_begin = now;
            p[k].until = p[k].times.read_end = now + job->read;
            return true;
        }
        if (p[k].read == 2 && p[k].copy == 0 && (first || p[k - 1].copy == 2) && copying == 0 &&
            all_decoded(p, staging->after[k])) {
            p[k].copy = 1;
            p[k].times.copy_begin = now;
            p[k].until = p[k].times.copy_end = now + job->copy;
            return true;
        }
        if (p[k].copy == 2 && p[k].decode == 0 && (first || p[k - 1].decode > 0) && decoding < problem->streams) {
            p[k].decode = 1;
            p[k].times.decode_begin = now;
            p[k].until = p[k].times.decode_end = now + job->decode;
            return true;
        }
    }
    return changed;
}

/// From event to event until all is decoded. False when nothing goes on before.
static bool by_events(const zf_order_problem *problem, const uint32_t *order, progress *p) {
    uint64_t staging_bytes[ORDER_MOST], ring_bytes[ORDER_MOST];
    layout staging, ring;
    for (uint32_t k = 0; k < problem->count; k++) {
        staging_bytes[k] = problem->jobs[order[k]].staging;
        ring_bytes[k] = problem->jobs[order[k]].ring;
        p[k] = (progress){0};
    }
    lay_out(staging_bytes, problem->count, problem->staging, &staging);
    lay_out(ring_bytes, problem->count, problem->ring, &ring);
    for (double now = 0;;) {
        while (step(problem, order, &staging, &ring, now, p)) {
        }
        double next = DBL_MAX;
        for (uint32_t k = 0; k < problem->count; k++) {
            bool busy = p[k].read == 1 || p[k].copy == 1 || p[k].decode == 1;
            if (busy && p[k].until < next) next = p[k].until;
        }
        if (next == DBL_MAX) break;
        now = next;
    }
    for (uint32_t k = 0; k < problem->count; k++) {
        p[k].staging_at = staging.at[k];
        p[k].ring_at = ring.at[k];
        if (p[k].decode != 2) return false;
    }
    return true;
}

/// Whether two spans of time or of bytes have anything in common.
static bool meet(double a, double a_end, double b, double b_end) { return a < b_end && b < a_end; }
static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

/// How many of `count` spans of time have begun and not ended at `now`; those without length never have.
static uint32_t at_once(double (*spans)[2], uint32_t count, double now) {
    uint32_t busy = 0;
    for (uint32_t i = 0; i < count; i++) busy += spans[i][0] <= now && now < spans[i][1];
    return busy;
}

/// Checks that a schedule is possible, whatever its rules: no machine does two things at once, and no two pieces lie on the
/// same bytes. Places are those that were laid out here, `p` by position.
static void is_possible(const zf_order_problem *problem, const uint32_t *order, const zf_order_times *times, const progress *p,
                        uint32_t round) {
    double reads[ORDER_MOST][2], decodes[ORDER_MOST][2];
    for (uint32_t i = 0; i < problem->count; i++) {
        reads[i][0] = times[i].read_begin, reads[i][1] = times[i].read_end;
        decodes[i][0] = times[i].decode_begin, decodes[i][1] = times[i].decode_end;
    }
    for (uint32_t i = 0; i < problem->count; i++) {
        const zf_order_job *a = &problem->jobs[order[i]];
        const zf_order_times *t = &times[order[i]];
        CHECK(at_once(reads, problem->count, t->read_begin) <= problem->readers, "round %u: readers", round);
        CHECK(at_once(decodes, problem->count, t->decode_begin) <= problem->streams, "round %u: streams", round);
        CHECK(p[i].staging_at <= problem->staging - a->staging && p[i].ring_at <= problem->ring - a->ring, "round %u", round);
        for (uint32_t j = 0; j < i; j++) {
            const zf_order_job *b = &problem->jobs[order[j]];
            const zf_order_times *u = &times[order[j]];
            CHECK(!meet(t->copy_begin, t->copy_end, u->copy_begin, u->copy_end), "round %u: one link", round);
            CHECK(!overlap(p[i].staging_at, a->staging, p[j].staging_at, b->staging) ||
                      !meet(t->copy_begin, t->decode_end, u->copy_begin, u->decode_end),
                  "round %u: %u and %u on the same bytes of the device", round, i, j);
            CHECK(!overlap(p[i].ring_at, a->ring, p[j].ring_at, b->ring) ||
                      !meet(t->read_begin, t->copy_end, u->read_begin, u->copy_end),
                  "round %u: %u and %u on the same bytes of the host", round, i, j);
        }
    }
}

static void compare(const zf_order_problem *problem, const uint32_t *order, uint32_t round) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    progress wanted[ORDER_MOST];
    zf_order_times times[ORDER_MOST];
    zf_order_summary summary;
    double makespan = 0, waits = 0, ends = 0;
    uint32_t bad = 0;
    memset(times, 0xA5, sizeof times);
    memset(&summary, 0xA5, sizeof summary);
    zf_order_status status = zf_order_simulate(problem, order, scratch, bytes, times, &summary, &bad);
    CHECK(status == ZF_ORDER_OK, "round %u: status %d at %u", round, status, bad);
    CHECK(by_events(problem, order, wanted), "round %u: the events stop", round);
    for (uint32_t k = 0; k < problem->count; k++) {
        const zf_order_times *w = &wanted[k].times, *t = &times[order[k]];
        CHECK(memcmp(w, t, sizeof *w) == 0,
              "round %u, position %u: read %g %g copy %g %g decode %g %g, wanted %g %g, %g %g, %g %g", round, k, t->read_begin,
              t->read_end, t->copy_begin, t->copy_end, t->decode_begin, t->decode_end, w->read_begin, w->read_end, w->copy_begin,
              w->copy_end, w->decode_begin, w->decode_end);
        if (w->decode_end > makespan) makespan = w->decode_end;
        ends += w->decode_end;
        waits += w->copy_begin - (k > 0 ? wanted[k - 1].times.copy_end : 0);
    }
    CHECK(summary.makespan == makespan, "round %u: %g, not %g", round, summary.makespan, makespan);
    ends = ends / problem->count - summary.mean_end;
    CHECK(ends < 1e-9 && -ends < 1e-9, "round %u: the mean is %g off", round, ends);
    double both = summary.copy_starved + summary.copy_blocked;
    CHECK(summary.copy_starved >= 0 && summary.copy_blocked >= 0 && both - waits < 1e-9 && waits - both < 1e-9,
          "round %u: waits %g, not %g", round, both, waits);
    is_possible(problem, order, times, wanted, round);
    free(scratch);
}

static void against_events(void) {
    zf_order_job jobs[ORDER_MOST];
    uint32_t order[ORDER_MOST];
    order_seed = 3;
    for (uint32_t round = 0; round < 20000 / ORDER_PART; round++) {
        uint32_t count = 1 + order_below(ORDER_MOST);
        order_jobs((order_kind)(round % ORDER_KINDS), round % 3 > 0, jobs, count);
        zf_order_problem problem = order_problem(jobs, count);
        if (round % 5 > 0) problem.staging = 9 + order_below(30);
        if (round % 7 > 0) problem.ring = 9 + order_below(30);
        problem.readers = 1 + order_below(4);
        problem.streams = 1 + order_below(4);
        zf_order_fifo(count, order);
        for (uint32_t k = count; k > 1; k--) {
            uint32_t other = order_below(k), swap = order[k - 1];
            order[k - 1] = order[other];
            order[other] = swap;
        }
        compare(&problem, order, round);
    }
}

static zf_order_summary run(const zf_order_problem *problem, zf_order_times *times) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    uint32_t order[ORDER_MOST];
    zf_order_summary summary = {.makespan = -7};
    zf_order_fifo(problem->count, order);
    CHECK(zf_order_simulate(problem, order, scratch, bytes, times, &summary, NULL) == ZF_ORDER_OK, "a schedule by hand");
    free(scratch);
    return summary;
}

/// Schedules by hand: each shows one rule.
static void by_hand(void) {
    // Three jobs of 4 bytes in a ring of 10: the third wraps to 0 and waits for the first, not for the second.
    zf_order_job three[3] = {{0, 1, 10, 4, 0, 0}, {0, 1, 10, 4, 0, 0}, {0, 1, 10, 4, 0, 0}};
    zf_order_problem problem = order_problem(three, 3);
    zf_order_times t[4];
    problem.staging = 10;
    zf_order_summary sum = run(&problem, t);
    CHECK(t[2].copy_begin == 11 && sum.makespan == 31, "%g %g", t[2].copy_begin, sum.makespan);
    CHECK(sum.copy_blocked == 9 && sum.copy_starved == 0, "blocked %g", sum.copy_blocked);

    // One byte less in the ring: one job at a time. With 12 all three are there at once.
    problem.staging = 7;
    sum = run(&problem, t);
    CHECK(t[1].copy_begin == 11 && t[2].copy_begin == 22 && sum.makespan == 33, "%g", sum.makespan);
    problem.staging = 12;
    sum = run(&problem, t);
    CHECK(t[2].copy_begin == 2, "%g", t[2].copy_begin);

    // A job as large as the ring waits for all, even for what lies behind where it wraps.
    zf_order_job full[3] = {{0, 1, 3, 4, 0, 0}, {0, 1, 3, 10, 0, 0}, {0, 1, 3, 1, 0, 0}};
    problem = order_problem(full, 3);
    problem.staging = 10;
    run(&problem, t);
    CHECK(t[1].copy_begin == 4 && t[2].copy_begin == 8, "%g %g", t[1].copy_begin, t[2].copy_begin);

    // Two streams: memory is released first in, first out, though the second job is decoded before the first.
    zf_order_job streams[3] = {{0, 1, 20, 5, 0, 0}, {0, 1, 2, 5, 0, 0}, {0, 1, 1, 5, 0, 0}};
    problem = order_problem(streams, 3);
    problem.staging = 10;
    problem.streams = 2;
    run(&problem, t);
    CHECK(t[1].decode_begin == 2 && t[1].decode_end == 4, "%g", t[1].decode_end);
    CHECK(t[2].copy_begin == 21 && t[2].decode_begin == 22, "%g", t[2].copy_begin);

    // Two readers, and a ring for two pieces: the third read waits for the first copy. A pinned piece takes no reader.
    zf_order_job reads[4] = {{4, 3, 0, 0, 5, 0}, {6, 3, 0, 0, 5, 0}, {1, 3, 0, 0, 5, 0}, {0, 3, 0, 0, 0, 0}};
    problem = order_problem(reads, 4);
    problem.ring = 10;
    problem.readers = 2;
    sum = run(&problem, t);
    CHECK(t[1].read_begin == 0 && t[2].read_begin == 7, "%g", t[2].read_begin);
    CHECK(t[2].read_end == 8 && t[2].copy_begin == 10 && t[3].copy_begin == 13 && t[3].read_end == 7 && sum.makespan == 16, "%g",
          sum.makespan);
    CHECK(sum.copy_starved == 4 && sum.copy_blocked == 0, "%g", sum.copy_starved);

    // Sizes near the end of 64 bits.
    zf_order_job huge[3] = {
        {0, 1, 5, UINT64_MAX - 1, 0, 0}, {0, 1, 5, UINT64_C(1) << 63, 0, 0}, {0, 1, 5, UINT64_C(1) << 63, 0, 0}};
    problem = order_problem(huge, 3);
    run(&problem, t);
    CHECK(t[1].copy_begin == 6 && t[2].copy_begin == 12, "%g %g", t[1].copy_begin, t[2].copy_begin);
}

int main(void) {
    against_events();
    by_hand();
    return check_result();
}

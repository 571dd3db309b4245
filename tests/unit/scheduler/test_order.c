// Links: zipflow-order
// Johnson's rule against all permutations; what is refused; ties, zeros, huge values, many jobs; bounds.
#include <float.h>
#include <math.h>

#include "tests/unit/check.h"
#include "tests/unit/scheduler/order_cases.h"

static double later(double a, double b) { return a > b ? a : b; }

/// The least makespan of two machines over all orders of the jobs that `left` names, by its own recursion.
static double best_of(const zf_order_job *jobs, uint32_t count, unsigned left, double copied, double decoded) {
    if (left == 0) return decoded;
    double best = DBL_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if ((left >> i & 1) == 0) continue;
        double copy = copied + jobs[i].copy,
               found = best_of(jobs, count, left & ~(1U << i), copy, later(copy, decoded) + jobs[i].decode);
        if (found < best) best = found;
    }
    return best;
}

static double makespan_of(const zf_order_problem *problem, const uint32_t *order) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    zf_order_summary summary = {.makespan = -1};
    uint32_t bad = 0;
    zf_order_status status = zf_order_simulate(problem, order, scratch, bytes, NULL, &summary, &bad);
    CHECK(status == ZF_ORDER_OK, "status %d at %u", status, bad);
    free(scratch);
    return summary.makespan;
}

static zf_order_status johnson(const zf_order_problem *problem, uint32_t *order, uint32_t *bad) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    zf_order_status status = zf_order_johnson(problem, scratch, bytes, order, bad);
    free(scratch);
    return status;
}

static zf_order_bounds bounds_of(const zf_order_problem *problem) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    zf_order_bounds bounds = {0};
    uint32_t bad;
    zf_order_status status = zf_order_bound(problem, scratch, bytes, &bounds, &bad);
    CHECK(status == ZF_ORDER_OK, "status %d", status);
    free(scratch);
    return bounds;
}

/// No order of two machines ends earlier than Johnson's, which is what the bound says, too.
static void is_optimal(void) {
    zf_order_job jobs[ORDER_MOST];
    uint32_t order[ORDER_MOST], bad;
    order_seed = 1;
    for (uint32_t round = 0; round < 4000 / ORDER_PART; round++) {
        uint32_t count = order_below(8);
        order_kind kind = (order_kind)(round % ORDER_KINDS);
        order_jobs(kind, false, jobs, count);
        zf_order_problem problem = order_problem(jobs, count);
        memset(order, 0xA5, sizeof order);
        CHECK(johnson(&problem, order, &bad) == ZF_ORDER_OK && order_is_one(order, count), "round %u", round);
        double best = best_of(jobs, count, (1U << count) - 1, 0, 0), found = makespan_of(&problem, order);
        CHECK(fabs(found - best) <= 1e-14 * best, "round %u, %u jobs: %.17g, the best is %.17g", round, count, found, best);
        double bound = bounds_of(&problem).makespan;
        CHECK(fabs(found - bound) <= 1e-14 * best, "round %u: bound %.17g, found %.17g", round, bound, found);
    }
}

/// Whether jobs of a group stand together, in the order in which they are given.
static bool is_whole(const zf_order_job *jobs, const uint32_t *order, uint32_t count) {
    for (uint32_t k = 1; k < count; k++) {
        if (jobs[order[k]].group == jobs[order[k - 1]].group) {
            if (order[k] < order[k - 1]) return false;
            continue;
        }
        for (uint32_t before = 0; before < k; before++) {
            if (jobs[order[before]].group == jobs[order[k]].group) return false;
        }
    }
    return true;
}

/// No order in which columns stay whole ends earlier than that of the rule for them.
static void columns_are_optimal(void) {
    zf_order_job jobs[ORDER_MOST];
    order_seed = 4;
    for (uint32_t round = 0; round < 2000 / ORDER_PART; round++) {
        uint32_t count = order_below(ORDER_MOST), order[ORDER_MOST], columns[5], groups = 1 + order_below(5);
        order_jobs((order_kind)(round % ORDER_KINDS), false, jobs, count);
        for (uint32_t i = 0; i < count; i++) jobs[i].group = 1000000 * order_below(groups);
        zf_order_problem problem = order_problem(jobs, count);
        problem.groups = UINT32_MAX;
        size_t bytes;
        void *scratch = order_scratch(count, &bytes);
        zf_order_status status = zf_order_columns(&problem, scratch, bytes, order, NULL);
        free(scratch);
        CHECK(status == ZF_ORDER_OK && order_is_one(order, count), "round %u: status %d", round, status);
        CHECK(is_whole(jobs, order, count), "round %u: not whole", round);
        double found = makespan_of(&problem, order), best = DBL_MAX;
        zf_order_fifo(groups, columns);
        do {
            uint32_t next = 0;
            for (uint32_t c = 0; c < groups; c++) {
                for (uint32_t i = 0; i < count; i++) {
                    if (jobs[i].group == 1000000 * columns[c]) order[next++] = i;
                }
            }
            double makespan = makespan_of(&problem, order);
            if (makespan < best) best = makespan;
        } while (order_next(columns, groups));
        CHECK(fabs(found - best) <= 1e-14 * best, "round %u, %u jobs: %.17g, the best is %.17g", round, count, found, best);
    }
}

/// No bound is above the best order, on three machines and with small rings; without rings each is reached by some problem.
static void bounds_hold(void) {
    zf_order_job jobs[ORDER_MOST];
    uint32_t reached = 0;
    order_seed = 2;
    for (uint32_t round = 0; round < 1000 / ORDER_PART; round++) {
        uint32_t count = 1 + order_below(5), order[ORDER_MOST];
        order_jobs((order_kind)(round % ORDER_KINDS), round % 8 >= 4, jobs, count);
        zf_order_problem problem = order_problem(jobs, count);
        problem.staging = 9 + order_below(20);
        problem.ring = 9 + order_below(20);
        problem.readers = 1 + order_below(3);
        problem.streams = 1 + order_below(3);
        zf_order_bounds bounds = bounds_of(&problem);
        double best = DBL_MAX,
               parts[] = {bounds.read, bounds.copy, bounds.decode, bounds.job, bounds.staging, bounds.ring, bounds.pair};
        double largest = 0;
        for (int b = 0; b < 7; b++) largest = later(largest, parts[b]);
        CHECK(bounds.makespan == largest, "round %u: %g is not %g", round, bounds.makespan, largest);
        zf_order_fifo(count, order);
        do {
            double found = makespan_of(&problem, order);
            if (found < best) best = found;
        } while (order_next(order, count));
        CHECK(bounds.makespan <= best * (1 + 1e-14), "round %u: bound %.17g, best %.17g", round, bounds.makespan, best);
        reached += bounds.makespan >= best * (1 - 1e-14);
    }
    CHECK(reached > 500 / ORDER_PART, "the bound was reached %u times", reached);

    // Each bound is the one that counts somewhere. Columns: read, copy, decode, bytes of the device, bytes of the host.
    struct {
        const char *what;
        zf_order_job jobs[2];
        uint32_t machines;
        size_t bound;
        double value;
    } cases[] = {
        {"read", {{6, 1, 2, 0, 0, 0}, {8, 2, 2, 0, 0, 0}}, 1, offsetof(zf_order_bounds, read), 17},
        {"read by two", {{6, 1, 2, 0, 0, 0}, {8, 2, 2, 0, 0, 0}}, 2, offsetof(zf_order_bounds, read), 10},
        {"copy", {{1, 6, 2, 0, 0, 0}, {2, 8, 3, 0, 0, 0}}, 1, offsetof(zf_order_bounds, copy), 17},
        {"decode", {{1, 2, 6, 0, 0, 0}, {2, 3, 8, 0, 0, 0}}, 1, offsetof(zf_order_bounds, decode), 17},
        {"decode by two", {{1, 2, 6, 0, 0, 0}, {2, 3, 8, 0, 0, 0}}, 2, offsetof(zf_order_bounds, decode), 10},
        {"job", {{1, 2, 3, 0, 0, 0}, {5, 6, 7, 0, 0, 0}}, 1, offsetof(zf_order_bounds, job), 18},
        {"staging", {{1, 2, 3, 100, 0, 0}, {2, 4, 2, 50, 0, 0}}, 1, offsetof(zf_order_bounds, staging), 9},
        {"ring", {{1, 2, 3, 0, 100, 0}, {2, 4, 2, 0, 50, 0}}, 1, offsetof(zf_order_bounds, ring), 8},
        {"pair of copy and decode", {{1, 2, 3, 0, 0, 0}, {2, 4, 2, 0, 0, 0}}, 1, offsetof(zf_order_bounds, pair), 9},
        {"pair of read and copy", {{2, 3, 1, 0, 0, 0}, {4, 2, 2, 0, 0, 0}}, 1, offsetof(zf_order_bounds, pair), 9},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        zf_order_problem problem = order_problem(cases[c].jobs, 2);
        problem.staging = problem.ring = 100;
        problem.readers = problem.streams = cases[c].machines;
        zf_order_bounds bounds = bounds_of(&problem);
        double value;
        memcpy(&value, (const char *)&bounds + cases[c].bound, sizeof value);
        CHECK(value == cases[c].value, "%s: %g, not %g", cases[c].what, value, cases[c].value);
    }
}

static void check_order(const char *what, const zf_order_job *jobs, uint32_t count, const uint32_t *wanted) {
    zf_order_problem problem = order_problem(jobs, count);
    uint32_t order[ORDER_MOST] = {0}, bad;
    problem.groups = UINT32_MAX;
    CHECK(johnson(&problem, order, &bad) == ZF_ORDER_OK, "%s", what);
    for (uint32_t k = 0; k < count; k++) CHECK(order[k] == wanted[k], "%s: position %u has %u", what, k, order[k]);
}

/// Known orders: ties stay with their group, groups by number, jobs of a group as given.
static void known_orders(void) {
    check_order("both halves", (zf_order_job[]){{0, 5, 2, 0, 0, 0}, {0, 1, 6, 0, 0, 0}, {0, 9, 7, 0, 0, 0}, {0, 3, 8, 0, 0, 0}},
                4, (uint32_t[]){1, 3, 2, 0});
    check_order(
        "equals in three groups, shuffled",
        (zf_order_job[]){{0, 1, 2, 0, 0, 2}, {0, 1, 2, 0, 0, 0}, {0, 1, 2, 0, 0, 1}, {0, 1, 2, 0, 0, 0}, {0, 1, 2, 0, 0, 2}}, 5,
        (uint32_t[]){1, 3, 2, 0, 4});
    check_order("equals in the second half",
                (zf_order_job[]){{0, 3, 2, 0, 0, 1}, {0, 4, 2, 0, 0, 0}, {0, 5, 2, 0, 0, 1}, {0, 2, 2, 0, 0, 0}}, 4,
                (uint32_t[]){1, 3, 0, 2});
    check_order("equal copies, other decodes: the group still decides",
                (zf_order_job[]){{0, 1, 9, 0, 0, 1}, {0, 1, 2, 0, 0, 0}, {0, 1, 5, 0, 0, 1}}, 3, (uint32_t[]){1, 0, 2});
    check_order("zeros", (zf_order_job[]){{0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}}, 3, (uint32_t[]){2, 0, 1});
    check_order("a negative zero is 0", (zf_order_job[]){{0, 0.0, 0, 0, 0, 0}, {0, -0.0, -0.0, 0, 0, 0}, {-0.0, 0, 1, 0, 0, 0}},
                3, (uint32_t[]){2, 0, 1});
    check_order("huge and tiny",
                (zf_order_job[]){{0, 1e307, 1e300, 0, 0, 0}, {0, 5e-324, 1e307, 0, 0, 0}, {0, 1, 1e307, 0, 0, 0}}, 3,
                (uint32_t[]){1, 2, 0});
    check_order("one", (zf_order_job[]){{0, 1, 2, 0, 0, 7}}, 1, (uint32_t[]){0});
}

/// A problem that must be refused by every function, with the same words and nothing written.
static void refused(const char *what, const zf_order_problem *problem, zf_order_status wanted, uint32_t at) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    uint32_t order[ORDER_MOST], untouched[ORDER_MOST], bad[4] = {99, 99, 99, 99};
    memset(untouched, 0xA5, sizeof untouched);
    memcpy(order, untouched, sizeof order);
    zf_order_summary summary = {.makespan = -7};
    zf_order_bounds bounds = {.makespan = -7};
    uint32_t fifo[ORDER_MOST];
    zf_order_fifo(problem->count, fifo);
    zf_order_status got[] = {zf_order_johnson(problem, scratch, bytes, order, &bad[0]),
                             zf_order_simulate(problem, fifo, scratch, bytes, NULL, &summary, &bad[1]),
                             zf_order_bound(problem, scratch, bytes, &bounds, &bad[2]),
                             zf_order_columns(problem, scratch, bytes, order, &bad[3])};
    for (int f = 0; f < 4; f++) {
        CHECK(got[f] == wanted, "%s: function %d says %d", what, f, got[f]);
        CHECK(bad[f] == at, "%s: function %d names %u", what, f, bad[f]);
    }
    CHECK(zf_order_johnson(problem, scratch, bytes, order, NULL) == wanted, "%s without a place", what);
    CHECK(memcmp(order, untouched, sizeof order) == 0 && summary.makespan == -7 && bounds.makespan == -7, "%s wrote", what);
    free(scratch);
}

/// The status of a problem that may be good.
static zf_order_status said_of(const zf_order_problem *problem) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    zf_order_bounds bounds;
    zf_order_status status = zf_order_bound(problem, scratch, bytes, &bounds, NULL);
    free(scratch);
    return status;
}

static void refusals(void) {
    const double wrong[] = {-1, -5e-324, INFINITY, -INFINITY, NAN, -NAN, DBL_MAX};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        for (int which = 0; which < 3; which++) {
            zf_order_job jobs[3] = {{1, 1, 1, 1, 1, 0}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 2}};
            *(which == 0 ? &jobs[1].read : which == 1 ? &jobs[1].copy : &jobs[1].decode) = wrong[w];
            zf_order_problem problem = order_problem(jobs, 3);
            refused("a time", &problem, ZF_ORDER_TIME, 1);
        }
    }
    zf_order_job good[3] = {{1, 1, 1, 10, 4, 0}, {1, 1, 1, 11, 5, 1}, {1, 1, 1, 12, 6, 2}};
    zf_order_problem problem = order_problem(good, 3), changed;
    CHECK(said_of(&problem) == ZF_ORDER_OK, "the good one");
    changed = problem, changed.groups = 2;
    refused("a group", &changed, ZF_ORDER_GROUP, 2);
    changed = problem, changed.staging = 10;
    refused("a job of one byte too many for the device", &changed, ZF_ORDER_STAGING, 1);
    changed = problem, changed.ring = 5;
    refused("a job of one byte too many for the host", &changed, ZF_ORDER_RING, 2);
    changed = problem, changed.staging = 0;
    refused("no device memory", &changed, ZF_ORDER_STAGING, 0);
    changed = problem, changed.staging = 12, changed.ring = 6;
    CHECK(said_of(&changed) == ZF_ORDER_OK, "jobs exactly as large as the rings");
    const uint32_t machines[] = {0, ZF_ORDER_MOST_MACHINES + 1, UINT32_MAX};
    for (int m = 0; m < 3; m++) {
        changed = problem, changed.readers = machines[m];
        refused("readers", &changed, ZF_ORDER_MACHINES, 3);
        changed = problem, changed.streams = machines[m];
        refused("streams", &changed, ZF_ORDER_MACHINES, 3);
    }
    changed = problem, changed.readers = changed.streams = ZF_ORDER_MOST_MACHINES;
    CHECK(said_of(&changed) == ZF_ORDER_OK, "as many machines as may be");
    zf_order_job huge[3] = {{0, DBL_MAX / 4, 0, 0, 0, 0}, {0, 0, DBL_MAX / 4, 0, 0, 0}, {DBL_MAX / 4, 0, 0, 0, 0, 0}};
    problem = order_problem(huge, 3);
    refused("times that overflow together", &problem, ZF_ORDER_TIME, 3);
    problem.count = 2;
    CHECK(isfinite(bounds_of(&problem).makespan), "two of them");

    size_t bytes;
    uint32_t order[3] = {77, 77, 77}, bad = 99;
    problem = order_problem(good, 3);
    char *scratch = order_scratch(4, &bytes);
    bytes = zf_order_scratch_bytes(3);
    CHECK(zf_order_johnson(&problem, scratch, bytes - 1, order, &bad) == ZF_ORDER_SCRATCH && bad == 3, "a byte short");
    CHECK(zf_order_johnson(&problem, scratch + 4, bytes, order, NULL) == ZF_ORDER_SCRATCH && order[0] == 77, "not aligned");
    CHECK(zf_order_johnson(&problem, scratch, bytes, order, NULL) == ZF_ORDER_OK, "as large as wanted");
    zf_order_summary summary = {.makespan = -7};
    const uint32_t not_one[][3] = {{0, 1, 3}, {0, 1, 1}, {UINT32_MAX, 0, 1}};
    for (int c = 0; c < 3; c++) {
        CHECK(zf_order_simulate(&problem, not_one[c], scratch, bytes, NULL, &summary, &bad) == ZF_ORDER_NOT_ONE &&
                  bad == (c == 2 ? 0 : 2) && summary.makespan == -7,
              "case %d names %u", c, bad);
    }
    free(scratch);
}

/// No jobs at all: nothing to do, at once, and without memory.
static void nothing(void) {
    zf_order_problem problem = order_problem(NULL, 0);
    zf_order_summary summary = {.makespan = -7};
    zf_order_bounds bounds = {.makespan = -7};
    CHECK(zf_order_scratch_bytes(0) == 0, "scratch for nothing");
    CHECK(zf_order_johnson(&problem, NULL, 0, NULL, NULL) == ZF_ORDER_OK, "order");
    CHECK(zf_order_columns(&problem, NULL, 0, NULL, NULL) == ZF_ORDER_OK, "columns");
    CHECK(zf_order_simulate(&problem, NULL, NULL, 0, NULL, &summary, NULL) == ZF_ORDER_OK && summary.makespan == 0, "times");
    CHECK(zf_order_bound(&problem, NULL, 0, &bounds, NULL) == ZF_ORDER_OK && bounds.makespan == 0, "bounds");
}

int main(void) {
    is_optimal();
    columns_are_optimal();
    known_orders();
    bounds_hold();
    refusals();
    nothing();
    return check_result();
}

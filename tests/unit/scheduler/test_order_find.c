// Links: zipflow-order
// Orders for three machines and little memory: how far they are from the best of all permutations and, with more jobs, from the
// lower bound; what they promise; how much work they are.
#include "tests/unit/check.h"
#include "tests/unit/scheduler/order_cases.h"

enum { STEPS = 100000, MANY = 200 };

/// The limits of a random problem.
typedef enum limits_kind {
    PINNED,  ///< the device's ring alone: two machines, little memory
    READING, ///< reads, with rings of any size: three machines
    BOTH,    ///< reads, both rings, several readers and streams
    LIMITS,
} limits_kind;

static const char *const limits_names[LIMITS] = {"pinned, little memory", "reads, much memory", "reads, little memory"};

/// The mean and the worst of ratios. Means are compared with what was measured over all problems, not over the part of them that
/// runs under sanitizers.
typedef struct ratios {
    double sum, worst;
    uint32_t count;
} ratios;

static void note(ratios *of, double ratio) {
    of->sum += ratio;
    of->count++;
    if (ratio > of->worst) of->worst = ratio;
}

static double mean(const ratios *of) { return of->count > 0 ? of->sum / of->count : 0; }

/// Few jobs whose bytes are some share of the rings: any, or by their copies, as compressed pieces have them.
static zf_order_problem few_jobs(order_kind kind, limits_kind limits, zf_order_job *jobs, uint32_t count) {
    order_jobs(kind, limits != PINNED, jobs, count);
    double longest = 0;
    for (uint32_t i = 0; i < count; i++) longest = jobs[i].copy > longest ? jobs[i].copy : longest;
    bool by_copy = order_below(2) == 1 && longest > 0;
    for (uint32_t i = 0; by_copy && i < count; i++) {
        jobs[i].staging = 1 + (uint64_t)(jobs[i].copy / longest * 9);
        if (limits != PINNED) jobs[i].ring = jobs[i].staging;
    }
    zf_order_problem problem = order_problem(jobs, count);
    if (limits != READING) problem.staging = 10 + order_below(15);
    if (limits == BOTH) {
        problem.ring = 10 + order_below(15);
        problem.readers = 1 + order_below(3);
        problem.streams = 1 + order_below(2);
    }
    return problem;
}

/// The columns of a query: up to 16 of them, each of pieces of one size but its last, which decode at a rate of the column's own,
/// from a 32nd to four times as long as they are copied. Rings have room for two to seven pieces.
static zf_order_problem columns(limits_kind limits, zf_order_job *jobs, uint32_t count) {
    uint32_t of_all = 3 + order_below(14), each = (count + of_all - 1) / of_all;
    double disk = 0.3 + 2 * order_real(), rate = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i % each == 0) rate = (1 + order_real()) * 2 / (1U << order_below(7));
        double size = i % each == each - 1 ? 0.1 + 0.9 * order_real() : 0.97 + 0.03 * order_real();
        uint64_t bytes = (uint64_t)(size * 1000);
        jobs[i] = (zf_order_job){.copy = size, .decode = size * rate, .staging = bytes, .group = i / each};
        if (limits == PINNED) continue;
        jobs[i].read = size * disk * (0.9 + 0.2 * order_real());
        jobs[i].ring = bytes;
    }
    zf_order_problem problem = order_problem(jobs, count);
    problem.groups = of_all + 1;
    if (limits != READING) problem.staging = 1000 * (2 + order_below(6));
    if (limits == BOTH) problem.ring = 1000 * (2 + order_below(6));
    if (limits != PINNED) problem.readers = 1 + order_below(3);
    return problem;
}

static double makespan_of(const zf_order_problem *problem, const uint32_t *order) {
    size_t bytes;
    void *scratch = order_scratch(problem->count, &bytes);
    zf_order_summary summary = {.makespan = -1};
    zf_order_status status = zf_order_simulate(problem, order, scratch, bytes, NULL, &summary, NULL);
    CHECK(status == ZF_ORDER_OK, "status %d", status);
    free(scratch);
    return summary.makespan;
}

/// Finds an order, twice, and checks what every call promises.
static zf_order_found find(const zf_order_problem *problem, uint64_t steps, uint32_t *order) {
    size_t bytes;
    uint32_t count = problem->count, *again = malloc((count > 0 ? count : 1) * sizeof *again), bad = 0;
    if (again == NULL) abort();
    void *scratch = order_scratch(count, &bytes);
    zf_order_found found = {.makespan = -1}, second = {.makespan = -2};
    zf_order_status status = zf_order_find(problem, steps, scratch, bytes, order, &found, &bad);
    CHECK(status == ZF_ORDER_OK, "status %d at %u", status, bad);
    memset(scratch, 0x5A, bytes);
    status = zf_order_find(problem, steps, scratch, bytes, again, &second, NULL);
    CHECK(status == ZF_ORDER_OK && found.makespan == second.makespan && found.steps == second.steps &&
              found.rule == second.rule && (count == 0 || memcmp(order, again, count * sizeof *again) == 0),
          "the second time %g by %d, the first %g by %d", second.makespan, second.rule, found.makespan, found.rule);
    uint64_t most = steps > 3 * (uint64_t)count ? steps : 3 * (uint64_t)count;
    CHECK(found.steps <= most, "%llu steps of %llu", (unsigned long long)found.steps, (unsigned long long)most);
    CHECK(makespan_of(problem, order) == found.makespan, "the order takes another time than %g", found.makespan);
    CHECK(found.bound <= found.makespan * (1 + 1e-12), "bound %.17g, found %.17g", found.bound, found.makespan);
    zf_order_fifo(count, again);
    CHECK(found.makespan <= makespan_of(problem, again) / (1 - 1e-3), "slower than FIFO");
    status = zf_order_johnson(problem, scratch, bytes, again, NULL);
    CHECK(status == ZF_ORDER_OK && found.makespan <= makespan_of(problem, again) / (1 - 1e-3), "slower than Johnson's order");
    status = zf_order_columns(problem, scratch, bytes, again, NULL);
    CHECK(status == ZF_ORDER_OK && found.makespan <= makespan_of(problem, again) / (1 - 1e-3), "slower than whole columns");
    free(scratch);
    free(again);
    return found;
}

/// Against all permutations. The bounds are what was measured and a little more; the figures are in the library's README.
static void against_all(void) {
    const struct {
        double mean, worst;
    } wanted[LIMITS] = {{1.004, 1.3}, {1.002, 1.15}, {1.006, 1.2}};
    for (int limits = 0; limits < LIMITS; limits++) {
        ratios found_is = {0}, johnson_is = {0}, fifo_is = {0};
        order_seed = 10 + (uint64_t)limits;
        for (uint32_t round = 0; round < 2000 / ORDER_PART; round++) {
            zf_order_job jobs[ORDER_MOST];
            uint32_t order[ORDER_MOST], count = 2 + order_below(6);
            zf_order_problem problem = few_jobs((order_kind)(round % ORDER_KINDS), (limits_kind)limits, jobs, count);
            size_t bytes;
            void *scratch = order_scratch(count, &bytes);
            double best = 0, fifo = 0;
            zf_order_fifo(count, order);
            do {
                zf_order_summary summary;
                if (zf_order_simulate(&problem, order, scratch, bytes, NULL, &summary, NULL) != ZF_ORDER_OK) abort();
                if (fifo == 0) fifo = best = summary.makespan;
                if (summary.makespan < best) best = summary.makespan;
            } while (order_next(order, count));
            CHECK(zf_order_johnson(&problem, scratch, bytes, order, NULL) == ZF_ORDER_OK, "round %u", round);
            double johnson = makespan_of(&problem, order);
            free(scratch);
            zf_order_found found = find(&problem, STEPS, order);
            CHECK(order_is_one(order, count) && found.makespan >= best, "round %u: %g, best %g", round, found.makespan, best);
            if (best == 0) continue;
            note(&found_is, found.makespan / best);
            note(&johnson_is, johnson / best);
            note(&fifo_is, fifo / best);
        }
        printf("up to 7 jobs, %s, over the best of all: FIFO %.4f (worst %.3f), Johnson %.4f (%.3f), found %.4f (%.3f)\n",
               limits_names[limits], mean(&fifo_is), fifo_is.worst, mean(&johnson_is), johnson_is.worst, mean(&found_is),
               found_is.worst);
        CHECK(ORDER_PART > 1 || mean(&found_is) <= wanted[limits].mean, "%s: mean %g", limits_names[limits], mean(&found_is));
        CHECK(found_is.worst <= wanted[limits].worst, "%s: worst %g", limits_names[limits], found_is.worst);
    }
}

/// Queries' columns against the lower bound, which no order may reach.
static void against_bound(void) {
    const uint32_t counts[] = {24, 64, MANY};
    const double wanted[LIMITS][3] = {{1.035, 1.02, 1.08}, {1.01, 1.005, 1.003}, {1.08, 1.045, 1.06}};
    uint32_t by[6] = {0};
    for (int limits = 0; limits < LIMITS; limits++) {
        for (int c = 0; c < 3; c++) {
            ratios found_is = {0}, johnson_is = {0}, fifo_is = {0};
            order_seed = 20 + (uint64_t)limits;
            for (uint32_t round = 0; round < 100 / ORDER_PART; round++) {
                zf_order_job jobs[MANY];
                uint32_t order[MANY];
                zf_order_problem problem = columns((limits_kind)limits, jobs, counts[c]);
                zf_order_fifo(counts[c], order);
                double fifo = makespan_of(&problem, order);
                size_t bytes;
                void *scratch = order_scratch(counts[c], &bytes);
                CHECK(zf_order_johnson(&problem, scratch, bytes, order, NULL) == ZF_ORDER_OK, "round %u", round);
                free(scratch);
                double johnson = makespan_of(&problem, order);
                zf_order_found found = find(&problem, STEPS, order);
                by[found.rule]++;
                note(&found_is, found.makespan / found.bound);
                note(&johnson_is, johnson / found.bound);
                note(&fifo_is, fifo / found.bound);
            }
            printf("%u pieces, %s, over the bound: FIFO %.4f (worst %.3f), Johnson %.4f (%.3f), found %.4f (%.3f)\n", counts[c],
                   limits_names[limits], mean(&fifo_is), fifo_is.worst, mean(&johnson_is), johnson_is.worst, mean(&found_is),
                   found_is.worst);
            CHECK(ORDER_PART > 1 || mean(&found_is) <= wanted[limits][c], "%u pieces, %s: mean %g", counts[c],
                  limits_names[limits], mean(&found_is));
        }
    }
    printf("by Johnson %u, columns %u, FIFO %u, pairs %u, mixing %u, searching %u\n", by[0], by[1], by[2], by[3], by[4], by[5]);
}

/// Two machines and memory for all: Johnson's order or, where it ends hardly later, that of whole columns; no more work than
/// that.
static void is_johnson(void) {
    uint32_t whole = 0;
    order_seed = 30;
    for (uint32_t round = 0; round < 1000 / ORDER_PART; round++) {
        zf_order_job jobs[ORDER_MOST];
        uint32_t order[ORDER_MOST], wanted[ORDER_MOST], count = order_below(ORDER_MOST);
        order_jobs((order_kind)(round % ORDER_KINDS), false, jobs, count);
        zf_order_problem problem = order_problem(jobs, count);
        size_t bytes;
        void *scratch = order_scratch(count, &bytes);
        zf_order_found found = find(&problem, STEPS, order);
        CHECK(zf_order_johnson(&problem, scratch, bytes, wanted, NULL) == ZF_ORDER_OK, "round %u", round);
        if (found.rule == ZF_ORDER_BY_COLUMNS) {
            CHECK(memcmp(order, wanted, count * sizeof *order) != 0, "round %u: it is Johnson's", round);
            CHECK(zf_order_columns(&problem, scratch, bytes, wanted, NULL) == ZF_ORDER_OK, "round %u", round);
            whole++;
        }
        free(scratch);
        CHECK(memcmp(order, wanted, count * sizeof *order) == 0, "round %u: another order", round);
        CHECK(found.rule <= ZF_ORDER_BY_COLUMNS && found.steps <= 3 * count, "round %u: by %d", round, found.rule);
    }
    CHECK(whole > 100 / ORDER_PART && whole < 900 / ORDER_PART, "whole columns %u times", whole);
}

/// Each way is the one that finds the order somewhere, as far as the steps allow it.
static void every_way(void) {
    uint32_t order[ORDER_MOST];
    // Jobs that should take turns when memory is for two, each a column of its own.
    zf_order_job turns[4] = {{0, 1, 4, 10, 0, 0}, {0, 4, 1, 10, 0, 1}, {0, 1, 4, 10, 0, 2}, {0, 4, 1, 10, 0, 3}};
    zf_order_problem problem = order_problem(turns, 4);
    problem.groups = 4;
    zf_order_found found = find(&problem, STEPS, order);
    CHECK(found.rule == ZF_ORDER_BY_JOHNSON && found.makespan == 11, "memory for all: %g by %d", found.makespan, found.rule);
    problem.staging = 20;
    found = find(&problem, 0, order);
    CHECK(found.rule == ZF_ORDER_BY_FIFO && found.steps == 12 && found.makespan == 11, "FIFO: %g by %d", found.makespan,
          found.rule);
    zf_order_job halves[4] = {turns[0], turns[2], turns[1], turns[3]}; // the same, given otherwise
    problem.jobs = halves;
    found = find(&problem, 0, order);
    CHECK(found.rule == ZF_ORDER_BY_JOHNSON && found.makespan == 14, "no steps: %g by %d", found.makespan, found.rule);
    found = find(&problem, STEPS, order);
    CHECK(found.rule == ZF_ORDER_BY_MIXING && found.makespan == 11, "mixing: %g by %d", found.makespan, found.rule);
    halves[1].group = halves[3].group = 1;
    halves[2].group = 0; // two columns, each of a quick and a slow piece, which are not given together
    found = find(&problem, STEPS, order);
    CHECK(found.rule == ZF_ORDER_BY_COLUMNS && found.makespan == 11, "columns: %g by %d", found.makespan, found.rule);
    zf_order_job alike[4] = {{0, 1.0003, 2, 0, 0, 0}, {0, 1, 2, 0, 0, 0}, {0, 1.0001, 2, 0, 0, 1}, {0, 1.0002, 2, 0, 0, 1}};
    problem = order_problem(alike, 4); // mixed they would end a hundred thousandth earlier
    found = find(&problem, STEPS, order);
    CHECK(found.rule == ZF_ORDER_BY_COLUMNS && order[0] == 2 && order[1] == 3, "columns of alike pieces: by %d", found.rule);
    zf_order_job disk[3] = {{3, 1, 9, 0, 0, 0}, {1, 2, 8, 0, 0, 0}, {9, 3, 4, 0, 0, 0}};
    problem = order_problem(disk, 3);
    found = find(&problem, STEPS, order);
    CHECK(found.rule == ZF_ORDER_BY_PAIR && order[0] == 1 && found.makespan == 24, "pairs: %g by %d", found.makespan, found.rule);
}

/// The use of whole columns: with memory for all they are ready sooner than by Johnson's rule, and all of them little later.
static void sooner_ready(void) {
    const uint32_t counts[] = {24, 64, MANY};
    for (int c = 0; c < 3; c++) {
        double sums[2][2] = {{0}}; // by Johnson's rule, as whole columns: makespans, the mean column's
        order_seed = 50;
        for (uint32_t round = 0; round < 200 / ORDER_PART; round++) {
            zf_order_job jobs[MANY];
            uint32_t order[MANY];
            zf_order_times times[MANY];
            zf_order_problem problem = columns(PINNED, jobs, counts[c]);
            problem.staging = ZF_ORDER_UNBOUNDED;
            size_t bytes;
            void *scratch = order_scratch(counts[c], &bytes);
            double best = 0;
            for (int whole = 0; whole < 2; whole++) {
                zf_order_status status = whole ? zf_order_columns(&problem, scratch, bytes, order, NULL)
                                               : zf_order_johnson(&problem, scratch, bytes, order, NULL);
                zf_order_summary summary = {0};
                if (status == ZF_ORDER_OK) status = zf_order_simulate(&problem, order, scratch, bytes, times, &summary, NULL);
                CHECK(status == ZF_ORDER_OK, "round %u: %d", round, status);
                double sum = 0, filled = 0, ready[20] = {0}; // of each column, when its last piece is decoded
                for (uint32_t j = 0; j < counts[c]; j++) {
                    if (times[j].decode_end > ready[jobs[j].group]) ready[jobs[j].group] = times[j].decode_end;
                }
                for (uint32_t g = 0; g < problem.groups; g++) {
                    sum += ready[g];
                    filled += ready[g] > 0;
                }
                if (!whole) best = summary.makespan;
                sums[whole][0] += summary.makespan / best;
                sums[whole][1] += sum / filled / best;
            }
            free(scratch);
        }
        double n = (double)(200 / ORDER_PART);
        printf("%u pieces: a column is ready after %.3f of the optimum by Johnson's rule, %.3f whole, which ends after %.4f\n",
               counts[c], sums[0][1] / n, sums[1][1] / n, sums[1][0] / n);
        CHECK(sums[1][1] < 0.95 * sums[0][1], "%u pieces are not ready sooner", counts[c]);
        CHECK(sums[1][0] < 1.015 * n, "%u pieces end later", counts[c]);
    }
}

/// Many jobs: sorts and a fixed number of simulations, no search. Counted, since time says little.
static void many(void) {
    const uint32_t counts[] = {ZF_ORDER_MOST_SEARCHED, ZF_ORDER_MOST_SEARCHED + 1, 100000};
    for (int c = 0; c < 3; c++) {
        uint32_t count = counts[c], *order = malloc(count * sizeof *order), levels = 0;
        zf_order_job *jobs = malloc(count * sizeof *jobs);
        if (order == NULL || jobs == NULL) abort();
        while ((UINT64_C(1) << levels) < count) levels++;
        order_seed = 40;
        zf_order_problem problem = columns(BOTH, jobs, count);
        problem.staging = problem.ring = 2000; // so that the bound stays out of reach
        zf_order_found found = find(&problem, 200 * (uint64_t)count, order);
        bool searched = found.steps > 43 * (uint64_t)count;
        CHECK(searched == (count <= ZF_ORDER_MOST_SEARCHED), "%u jobs: %llu steps", count, (unsigned long long)found.steps);
        CHECK(found.comparisons <= (uint64_t)9 * count * levels && found.comparisons > count, "%u jobs: %llu comparisons", count,
              (unsigned long long)found.comparisons);
        find(&problem, 3 * (uint64_t)count, order);
        printf("%u pieces: %llu comparisons, %llu steps, %.4f of the bound\n", count, (unsigned long long)found.comparisons,
               (unsigned long long)found.steps, found.makespan / found.bound);
        free(order);
        free(jobs);
    }
    uint32_t order = 7;
    zf_order_problem none = order_problem(NULL, 0);
    zf_order_found found = find(&none, STEPS, &order);
    CHECK(found.makespan == 0 && found.steps == 0 && order == 7, "no jobs: %g", found.makespan);
    none.streams = 0;
    found.makespan = -7;
    CHECK(zf_order_find(&none, STEPS, NULL, 0, &order, &found, NULL) == ZF_ORDER_MACHINES && found.makespan == -7, "refused");
}

int main(void) {
    is_johnson();
    every_way();
    against_all();
    against_bound();
    sooner_ready();
    many();
    return check_result();
}

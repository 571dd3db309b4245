// The times of an order of transfer units: columns as they are given (first in, first out) and in the order in which a pipeline
// would send them, by the library that orders pipelines' batches (scheduler/order). links.py calls it, for links that are not
// here.
//
//   tpch_links [--steps N] < PROBLEMS
//
// A problem is a line `problem NAME COLUMNS EXPECTED_STAGING STAGING` and a line for each of its units, as given:
//
//   unit COLUMN EXPECTED_BYTES EXPECTED_READ EXPECTED_COPY EXPECTED_DECODE BYTES READ COPY DECODE
//
// Bytes of staging on the device, and seconds. Expected times decide the order, as in a pipeline; the others are the real ones:
// the time of bringing the unit before the link, of its copy and of its decode. JSON goes to standard output. The exit status
// is 2 where a problem cannot be read.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/order/order.h"

enum { LINE = 512, NAME = 128 };
enum { STEPS = 20000 }; // as a batch has them (runtime/pipeline/batch_order.c)

static const char *const rules[] = {"johnson", "columns", "given", "pair", "mixed", "searched"};

/// Units as they were expected, and as they are; and what is made of them. Freed by problem_free.
typedef struct problem {
    char name[NAME];
    zf_order_problem expected, real;
    zf_order_job *jobs[2]; ///< of the two
    uint32_t room;
} problem;

static void problem_free(problem *p) {
    free(p->jobs[0]);
    free(p->jobs[1]);
}

static bool problem_begin(problem *p, const char *line) {
    uint64_t expected, real;
    uint32_t groups;
    if (sscanf(line, "problem %127s %" SCNu32 " %" SCNu64 " %" SCNu64, p->name, &groups, &expected, &real) != 4) return false;
    // Streams decode side by side, which takes as long as one after another: they share the device (batch_order.c).
    p->expected =
        (zf_order_problem){.groups = groups, .staging = expected, .ring = ZF_ORDER_UNBOUNDED, .readers = 1, .streams = 1};
    p->real = p->expected;
    p->real.staging = real;
    return true;
}

static bool problem_add(problem *p, const char *line) {
    uint32_t count = p->expected.count, more = p->room > 0 ? 2 * p->room : 64;
    zf_order_job expected = {0}, real = {0};
    if (sscanf(line, "unit %" SCNu32 " %" SCNu64 " %lf %lf %lf %" SCNu64 " %lf %lf %lf", &expected.group, &expected.staging,
               &expected.read, &expected.copy, &expected.decode, &real.staging, &real.read, &real.copy, &real.decode) != 9)
        return false;
    for (unsigned k = 0; k < 2 && count == p->room; k++) {
        zf_order_job *grown = realloc(p->jobs[k], more * sizeof *grown);
        if (grown == NULL) return false;
        p->jobs[k] = grown;
    }
    if (count == p->room) p->room = more;
    p->jobs[0][count] = expected;
    real.group = expected.group;
    p->jobs[1][count] = real;
    p->expected.jobs = p->jobs[0];
    p->real.jobs = p->jobs[1];
    p->expected.count = p->real.count = count + 1;
    return true;
}

static void print_summary(const char *name, const zf_order_summary *summary) {
    printf("\"%s\": {\"seconds\": %.12f, \"copy_starved\": %.12f, \"copy_blocked\": %.12f}, ", name, summary->makespan,
           summary->copy_starved, summary->copy_blocked);
}

static zf_order_status solve(const problem *p, uint64_t steps, bool first) {
    uint32_t count = p->expected.count, bad = 0;
    size_t bytes = zf_order_scratch_bytes(count);
    void *scratch = malloc(bytes + 8);
    uint32_t *given = calloc(count + 1, sizeof *given), *found = calloc(count + 1, sizeof *found);
    zf_order_summary of_given = {0}, of_found = {0};
    zf_order_bounds bounds = {0};
    zf_order_found how = {0};
    zf_order_status status = ZF_ORDER_SCRATCH;
    if (scratch != NULL && given != NULL && found != NULL) {
        zf_order_fifo(count, given);
        status = zf_order_find(&p->expected, steps, scratch, bytes, found, &how, &bad);
    }
    if (status == ZF_ORDER_OK) status = zf_order_simulate(&p->real, given, scratch, bytes, NULL, &of_given, &bad);
    if (status == ZF_ORDER_OK) status = zf_order_simulate(&p->real, found, scratch, bytes, NULL, &of_found, &bad);
    if (status == ZF_ORDER_OK) status = zf_order_bound(&p->real, scratch, bytes, &bounds, &bad);
    if (status == ZF_ORDER_OK) {
        printf("%s\n  {\"problem\": \"%s\", ", first ? "" : ",", p->name);
        print_summary("given", &of_given);
        print_summary("johnson", &of_found);
        printf("\"bound\": %.12f, \"rule\": \"%s\", \"order\": [", bounds.makespan, rules[how.rule]);
        for (uint32_t k = 0; k < count; k++) printf("%s%" PRIu32, k > 0 ? ", " : "", found[k]);
        printf("]}");
    } else {
        fprintf(stderr, "tpch_links: %s cannot be ordered (status %d, unit %" PRIu32 ")\n", p->name, (int)status, bad);
    }
    free(scratch);
    free(given);
    free(found);
    return status;
}

int main(int argc, char **argv) {
    problem p = {0};
    char line[LINE];
    uint64_t steps = STEPS;
    bool good = true, open = false, first = true;
    if (argc == 3 && strcmp(argv[1], "--steps") == 0)
        steps = strtoull(argv[2], NULL, 10);
    else if (argc != 1)
        return fprintf(stderr, "usage: tpch_links [--steps N] < PROBLEMS\n"), 2;
    printf("{\"steps\": %" PRIu64 ", \"problems\": [", steps);
    for (unsigned at = 1; good && fgets(line, sizeof line, stdin) != NULL; at++) {
        bool begins = strncmp(line, "problem ", 8) == 0;
        if (begins && open) good = solve(&p, steps, first) == ZF_ORDER_OK, first = false;
        if (!good) break;
        good = begins ? problem_begin(&p, line) : open && problem_add(&p, line);
        open = true;
        if (!good) fprintf(stderr, "tpch_links: line %u cannot be read: %s", at, line);
    }
    if (good && open) good = solve(&p, steps, first) == ZF_ORDER_OK;
    printf("\n ]}\n");
    problem_free(&p);
    return good ? 0 : 2;
}

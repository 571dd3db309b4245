// Links: zipflow-base
// Where time is said to have gone: names, passes within passes, jumps out of them, threads, and that nothing adds up to more than
// there was.
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/passes.h"
#include "tests/unit/check.h"

enum { LINES = 64 };

/// In the order in which they are shown. Reports are kept, and compared by these names.
static const char *const names[] = {
    "program",    "program.read",  "program.parse", "program.check",     "plan",
    "plan.graph", "plan.plan",     "code",          "code.llvm",         "code.lower",
    "code.find",  "code.optimise", "code.emit",     "code.keep",         "code.link",
    "device",     "device.start",  "device.load",   "device.first_copy", "device.first_launch",
    "blocks",     "blocks.decode", "blocks.encode",
};
enum { NAMES = sizeof names / sizeof *names };

typedef struct result {
    zf_pass_time lines[LINES];
    size_t count;
    double whole, other;
} result;

static result read_all(zf_passes *passes) {
    result r;
    r.count = zf_passes_read(passes, r.lines, LINES, &r.whole, &r.other);
    return r;
}

static const zf_pass_time *line_of(const result *r, const char *name) {
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->lines[i].name, name) == 0) return &r->lines[i];
    }
    abort();
}

/// Keeps this thread busy.
static void spend(double seconds) {
    for (double end = zf_clock_seconds() + seconds; zf_clock_seconds() < end;) continue;
}

/// Checks every result: no pass takes longer than its group, no group than the whole, nor than its passes' sum.
static void check_sums(const result *r, unsigned threads) {
    const double hair = 1e-9;
    const zf_pass_time *group = NULL;
    double sum = 0, wall = 0, groups = 0;
    for (size_t i = 0; i <= r->count; i++) {
        const zf_pass_time *line = i < r->count ? &r->lines[i] : NULL;
        if (group != NULL && (line == NULL || line->is_group)) {
            CHECK(sum <= group->sum + hair && sum >= group->sum - hair, "%s: %g of %g", group->name, sum, group->sum);
            CHECK(group->wall <= wall + hair, "%s: %g of %g", group->name, group->wall, wall);
            groups += group->wall;
        }
        if (line == NULL) break;
        CHECK(line->wall <= r->whole + hair && line->wall >= 0, "%s: %g of %g", line->name, line->wall, r->whole);
        CHECK(line->wall <= line->sum + hair && line->sum <= threads * r->whole + hair, "%s: %g, %g", line->name, line->wall,
              line->sum);
        CHECK(line->busy <= line->sum + 0.01, "%s: %g of %g", line->name, line->busy, line->sum); // two clocks
        if (line->is_group) {
            group = line;
            sum = wall = 0;
        } else {
            sum += line->sum;
            wall += line->wall;
            CHECK(line->wall <= group->wall + hair, "%s: %g of %g", line->name, line->wall, group->wall);
        }
    }
    CHECK(r->other >= -hair && r->other <= r->whole, "%g of %g", r->other, r->whole);
    CHECK(groups + r->other >= r->whole - hair, "%g and %g of %g", groups, r->other, r->whole);
    if (threads == 1) CHECK(groups + r->other <= r->whole + hair, "%g and %g of %g", groups, r->other, r->whole);
}

static void test_names(void) {
    zf_passes *passes = zf_passes_create();
    result r = read_all(passes);
    CHECK(r.count == NAMES, "%zu", r.count);
    for (size_t i = 0; i < NAMES && i < r.count; i++) {
        CHECK(strcmp(r.lines[i].name, names[i]) == 0, "%zu: %s", i, r.lines[i].name);
        CHECK(r.lines[i].is_group == (strchr(names[i], '.') == NULL), "%s", names[i]);
        CHECK(r.lines[i].text[0] != 0 && r.lines[i].count == 0 && r.lines[i].sum == 0 && r.lines[i].wall == 0, "%s", names[i]);
    }
    CHECK(zf_passes_read(passes, r.lines, 3, &r.whole, &r.other) == NAMES, "with room for fewer");
    zf_passes_free(passes);
    zf_passes_free(NULL);
    unsigned none = zf_pass_begin(NULL, ZF_PASS_PLAN); // nobody measures
    zf_pass_end(NULL, none);
}

static void test_within(void) {
    zf_passes *passes = zf_passes_create();
    unsigned outer = zf_pass_begin(passes, ZF_PASS_PLAN);
    spend(0.004);
    unsigned inner = zf_pass_begin(passes, ZF_PASS_GRAPH);
    spend(0.008);
    zf_pass_end(passes, inner);
    spend(0.004);
    result during = read_all(passes);
    zf_pass_end(passes, outer);
    result r = read_all(passes);
    const zf_pass_time *plan = line_of(&r, "plan.plan"), *graph = line_of(&r, "plan.graph"), *group = line_of(&r, "plan");
    CHECK(plan->count == 1 && graph->count == 1 && group->count == 2, "%d", (int)group->count);
    CHECK(plan->sum >= 0.008 && graph->sum >= 0.008, "%g %g", plan->sum, graph->sum);
    CHECK(plan->sum == plan->wall && graph->sum == graph->wall, "one thread");
    CHECK(group->busy > 0, "%g", group->busy);
    // The time of an inner pass is not counted to the pass that it interrupts.
    CHECK(plan->sum + graph->sum <= r.whole, "%g", plan->sum + graph->sum);
    CHECK(line_of(&during, "plan.plan")->wall >= 0.008 && line_of(&during, "plan.plan")->wall <= plan->wall,
          "what goes on counts");
    check_sums(&during, 1);
    check_sums(&r, 1);
    spend(0.004);
    result later = read_all(passes);
    CHECK(line_of(&later, "plan")->wall == group->wall && later.other >= r.other + 0.004, "it has ended");
    zf_passes_free(passes);
}

static jmp_buf escape;

static void jump_out(zf_passes *passes) {
    zf_pass_begin(passes, ZF_PASS_LOWER);
    zf_pass_begin(passes, ZF_PASS_OPTIMISE);
    longjmp(escape, 1);
}

static void test_jump(void) {
    zf_passes *passes = zf_passes_create();
    unsigned outer = zf_pass_begin(passes, ZF_PASS_LLVM);
    if (setjmp(escape) == 0) jump_out(passes);
    zf_pass_end(passes, outer);
    spend(0.004);
    result r = read_all(passes);
    CHECK(r.other >= 0.004, "nothing goes on: %g of %g", r.other, r.whole);
    CHECK(line_of(&r, "code")->count == 3, "%d", (int)line_of(&r, "code")->count);
    zf_pass_end(passes, outer); // once more does nothing
    unsigned next = zf_pass_begin(passes, ZF_PASS_LINK);
    zf_pass_end(passes, next + 1); // one that never began
    spend(0.002);
    zf_pass_end(passes, next);
    r = read_all(passes);
    CHECK(line_of(&r, "code.link")->wall >= 0.002, "%g", line_of(&r, "code.link")->wall);
    check_sums(&r, 1);
    zf_passes_free(passes);
}

// Deeper than there is room for: the innermost that had room takes the time, and all ends where it should.
static void test_deep(void) {
    zf_passes *passes = zf_passes_create();
    unsigned began[100];
    for (unsigned i = 0; i < 100; i++) began[i] = zf_pass_begin(passes, i % 2 == 0 ? ZF_PASS_READ : ZF_PASS_PARSE);
    for (unsigned i = 100; i-- > 1;) {
        CHECK(began[i] == i, "%u", began[i]);
        zf_pass_end(passes, began[i]);
    }
    spend(0.002);
    zf_pass_end(passes, began[0]);
    result r = read_all(passes);
    CHECK(line_of(&r, "program.read")->wall >= 0.002, "%g", line_of(&r, "program.read")->wall);
    check_sums(&r, 1);
    double wall = line_of(&r, "program")->wall;
    spend(0.001);
    r = read_all(passes);
    CHECK(line_of(&r, "program")->wall == wall, "it goes on");
    zf_passes_free(passes);
}

enum { THREADS = 8, TURNS = 500 };

static void *work(void *user) {
    zf_passes *passes = user;
    for (int i = 0; i < TURNS; i++) {
        unsigned outer = zf_pass_begin(passes, ZF_PASS_DECODE);
        unsigned inner = zf_pass_begin(passes, i % 2 == 0 ? ZF_PASS_LOWER : ZF_PASS_EMIT);
        spend(1e-5);
        zf_pass_end(passes, i % 3 == 0 ? outer : inner);
        zf_pass_end(passes, outer);
    }
    return NULL;
}

static void test_threads(void) {
    zf_passes *passes = zf_passes_create();
    for (int round = 0; round < 2; round++) {
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++) CHECK(pthread_create(&threads[t], NULL, work, passes) == 0, "no thread");
        result r = read_all(passes);
        CHECK(r.count == NAMES, "while they run");
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        r = read_all(passes);
        uint64_t turns = (uint64_t)(round + 1) * THREADS * TURNS;
        CHECK(line_of(&r, "blocks.decode")->count == turns, "%d", (int)line_of(&r, "blocks.decode")->count);
        CHECK(line_of(&r, "code.lower")->count == turns / 2 && line_of(&r, "code.emit")->count == turns / 2, "each second");
        CHECK(line_of(&r, "code")->sum >= (double)turns * 1e-5 * 0.99, "%g", line_of(&r, "code")->sum);
        check_sums(&r, THREADS);
    }
    zf_passes_free(passes);
}

int main(void) {
    test_names();
    test_within();
    test_jump();
    test_deep();
    test_threads();
    return check_result();
}

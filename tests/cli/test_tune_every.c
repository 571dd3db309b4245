// Every combination that can differ, of kernels that are made up: which, in what order, what is measured again, and that it ends.
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "tuner/tuner.h"

enum { CALLS_MOST = 2000 };

/// A kernel whose code would take `wants` registers where a bound lets it, and `free` without one.
typedef struct made {
    zf_tune_kernel kernel;
    uint32_t wants, free;
} made;

static void add_axis(zf_search_space *space, zf_choice_kind kind, const uint32_t *values, uint32_t count,
                     uint32_t default_index) {
    zf_search_axis *axis = &space->axes[kind];
    axis->count = count;
    axis->default_index = default_index;
    memcpy(axis->values, values, count * sizeof *values);
}

static made make(uint32_t bound) {
    static const uint32_t vectors[] = {1, 2, 4, 8, 16}, threads[] = {32, 64, 128, 256, 512, 1024},
                          bounds[] = {0, 32, 40, 48, 56, 64};
    made m = {.wants = 44, .free = 40};
    zf_search_space *space = &m.kernel.space;
    space->axis_count = ZF_CHOICE_KINDS;
    add_axis(space, ZF_CHOICE_L, vectors, 5, 1);
    add_axis(space, ZF_CHOICE_THREADS, threads, 6, 2);
    add_axis(space, ZF_CHOICE_REGISTERS, bounds, 6, bound);
    return m;
}

static uint32_t value(const made *m, const zf_search_point *point, zf_choice_kind kind) {
    return m->kernel.space.axes[kind].values[point->at[kind]];
}

static void note(made *m, const zf_search_point *point, double seconds) {
    uint32_t bound = value(m, point, ZF_CHOICE_REGISTERS), has = bound == 0 ? m->free : bound < m->wants ? bound : m->wants;
    zf_search_reading reading = {.ran = seconds > 0, .seconds = seconds, .registers = seconds > 0 ? has : 0};
    CHECK(zf_tune_note(&m->kernel, point, &reading, "", NULL) == ZF_OK, "it is noted");
}

static double seconds_of(const made *m, const zf_search_point *point) {
    return 1e-3 * (1 + point->at[ZF_CHOICE_L] + point->at[ZF_CHOICE_THREADS]) + 1e-6 * value(m, point, ZF_CHOICE_REGISTERS);
}

static void forget(made *m) {
    free(m->kernel.tries);
    m->kernel.tries = NULL;
}

static void test_which(uint32_t by_default) {
    made m = make(by_default);
    zf_tune_every every = {0};
    zf_search_point point, first = zf_search_default(&m.kernel.space);
    uint32_t calls = 0, with_default = 0;
    bool left_default = false, seen_l[5] = {false}, seen_threads[6] = {false};
    for (; calls < CALLS_MOST && zf_tune_every_next(&every, &m.kernel, &point); calls++) {
        bool is_new = zf_tune_find(&m.kernel, &point) == NULL, in_pass = point.at[ZF_CHOICE_REGISTERS] == by_default;
        if (calls == 0) CHECK(zf_search_same(&point, &first), "the first is no default");
        CHECK(!is_new || !in_pass || !left_default, "call %u: one with the default's registers comes late", calls);
        left_default |= is_new && !in_pass;
        with_default += is_new && in_pass;
        if (m.kernel.count < 15) seen_l[point.at[ZF_CHOICE_L]] = seen_threads[point.at[ZF_CHOICE_THREADS]] = true;
        note(&m, &point, seconds_of(&m, &point));
    }
    CHECK(calls < CALLS_MOST, "it does not end");
    CHECK(with_default == 30, "%u with the default's registers", with_default);
    for (int v = 0; v < 6; v++)
        CHECK((v == 5 || seen_l[v]) && seen_threads[v], "of the first half none has value %d of an axis", v);
    // 56 registers are a bound that 44 do not come to, and 64 the same code (but by default they come first); without a bound
    // there are fewer than with 48.
    CHECK(m.kernel.count == 30 * (by_default == 5 ? 6 : 5), "%u combinations", m.kernel.count);
    uint32_t best = 0, thrice = 0;
    for (uint32_t t = 0; t < m.kernel.count; t++) {
        const zf_search_try *seen = &m.kernel.tries[t];
        CHECK(value(&m, &seen->point, ZF_CHOICE_REGISTERS) != 64 || by_default == 5, "try %u is one that was measured", t);
        if (seen->reading.seconds < m.kernel.tries[best].reading.seconds) best = t;
        thrice += seen->count == 3;
    }
    CHECK(m.kernel.tries[0].count == 3 && m.kernel.tries[best].count == 3, "the default and the best were not measured again");
    CHECK(thrice < m.kernel.count / 2, "%u were measured again", thrice);
    forget(&m);
}

/// Where nothing is said of registers, as the emulator does, no bound differs.
static void test_without_registers(void) {
    made m = make(2);
    m.wants = m.free = 0;
    zf_tune_every every = {0};
    zf_search_point point;
    while (m.kernel.count < CALLS_MOST && zf_tune_every_next(&every, &m.kernel, &point)) note(&m, &point, seconds_of(&m, &point));
    CHECK(m.kernel.count == 30, "%u combinations", m.kernel.count);
    forget(&m);
}

static void test_known(void) {
    made m = make(0);
    m.kernel.space.has_known = true;
    m.kernel.space.known = zf_search_default(&m.kernel.space);
    m.kernel.space.known.at[ZF_CHOICE_THREADS] = 5;
    zf_tune_every every = {0};
    zf_search_point point;
    for (int call = 0; call < 40 && zf_tune_every_next(&every, &m.kernel, &point); call++) {
        if (call == 1) CHECK(zf_search_same(&point, &m.kernel.space.known), "what is known is not the second");
        note(&m, &point, seconds_of(&m, &point));
    }
    const zf_search_try *known = zf_tune_find(&m.kernel, &m.kernel.space.known);
    CHECK(known != NULL && known->count == 3, "what is known was not measured three times");
    forget(&m);
}

/// From some call on nothing runs, as after an error of a device that stays.
static void test_failing(uint32_t from) {
    made m = make(0);
    zf_tune_every every = {0};
    zf_search_point point;
    uint32_t calls = 0;
    for (; calls < CALLS_MOST && zf_tune_every_next(&every, &m.kernel, &point); calls++)
        note(&m, &point, calls < from ? seconds_of(&m, &point) / (1 + calls) : 0); // each faster than those before it
    CHECK(calls < CALLS_MOST, "from %u on nothing runs, and it does not end", from);
    forget(&m);
}

/// A default that cannot run says nothing of registers: other bounds are asked for all the same.
static void test_default_that_cannot_run(void) {
    made m = make(2);
    zf_tune_every every = {0};
    zf_search_point point;
    for (uint32_t calls = 0; calls < CALLS_MOST && zf_tune_every_next(&every, &m.kernel, &point); calls++)
        note(&m, &point, calls == 0 ? 0 : seconds_of(&m, &point));
    CHECK(m.kernel.count == 30 * 5, "%u combinations", m.kernel.count);
    forget(&m);
}

/// The result was measured three times, and is faster by more than noise.
static void test_best(void) {
    made m = make(0);
    zf_tune_every every = {0};
    zf_search_point point;
    CHECK(zf_tune_every_best(&m.kernel) == NULL, "of nothing there is a best");
    for (int call = 0; call < 20 && zf_tune_every_next(&every, &m.kernel, &point); call++)
        note(&m, &point, seconds_of(&m, &point));
    const zf_search_try *first = &m.kernel.tries[0], *again = zf_tune_every_best(&m.kernel);
    CHECK(first->count == 3 && again != NULL && again != first && again->count == 3 && again == zf_tune_fastest(&m.kernel),
          "what was measured again is not the best");
    uint32_t once = 0;
    while (once + 1 < m.kernel.count && m.kernel.tries[once].count != 1) once++;
    m.kernel.tries[once].reading.seconds = 1e-4; // by chance
    CHECK(zf_tune_fastest(&m.kernel) == &m.kernel.tries[once], "it is not the fastest");
    CHECK(zf_tune_every_best(&m.kernel) == again, "a single reading is the best");
    double kept = again->reading.seconds;
    m.kernel.tries[again - m.kernel.tries].reading.seconds = first->reading.seconds * 0.995;
    CHECK(zf_tune_every_best(&m.kernel) == first, "what is as fast as the default is the best");
    m.kernel.tries[again - m.kernel.tries].reading.seconds = kept;
    m.kernel.tries[0].reading.ran = false;
    CHECK(zf_tune_every_best(&m.kernel) == again, "the default, which cannot run, stays");
    forget(&m);
}

/// Announced choices are measured in that order, and the announcement changes nothing.
static void test_coming(void) {
    made m = make(2);
    zf_tune_every every = {0};
    zf_search_point coming[CALLS_MOST], point;
    CHECK(zf_tune_every_coming(&every, &m.kernel, coming, 8) == 0, "before the default something comes");
    uint32_t seen = 0, counted = 0, at = 0;
    for (uint32_t call = 0; call < CALLS_MOST && zf_tune_every_next(&every, &m.kernel, &point); call++) {
        bool is_new = zf_tune_find(&m.kernel, &point) == NULL;
        if (is_new && m.kernel.count > 0) {
            while (seen > 0 && at < counted && !zf_search_same(&coming[at], &point))
                at++; // some turn out to be code that was measured
            CHECK(seen == 0 || at < counted, "try %u was not said to come", m.kernel.count);
            seen++;
        }
        note(&m, &point, seconds_of(&m, &point));
        if (seen == 1 && counted == 0) counted = zf_tune_every_coming(&every, &m.kernel, coming, CALLS_MOST);
    }
    CHECK(counted > 30 * 4 && seen > 30 * 3, "%u came, of %u", seen, counted);
    CHECK(zf_tune_every_coming(&every, &m.kernel, coming, 8) == 0, "behind the end something comes");
    forget(&m);
}

int main(void) {
    test_best();
    test_coming();
    for (uint32_t by_default = 0; by_default < 6; by_default++) test_which(by_default);
    test_default_that_cannot_run();
    test_without_registers();
    test_known();
    for (uint32_t from = 0; from < 12; from++) test_failing(from);
    return check_result();
}

// Links: zipflow-search m
// The search against tables of times that are made up: what memory and occupancy make of kernels, with noise, with cliffs, with
// plateaus, with a model that is wrong. The best of each table is known, since all of its combinations are looked at.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/search/search.h"
#include "tests/unit/check.h"

static const uint32_t TABLES = 400;

static const zf_search_machine MACHINE = {.registers = 65536, .threads = 2048, .blocks = 32, .shared_bytes = 233472, .warp = 32};

static uint64_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/// From `least` to below `most`.
static double between(uint64_t *state, double least, double most) {
    return least + (most - least) * (double)next_random(state) / 2147483648.0;
}

typedef enum table_kind { SMOOTH, CLIFF, PLATEAU, FLAT, WRONG_MODEL, WRONG_BOUND, FAILING, BOUNDED, KINDS } table_kind;
static const char *const kind_names[] = {"smooth",      "cliff",       "plateau", "flat",
                                         "wrong model", "wrong bound", "failing", "bounded"};

/// A kernel that is made up.
typedef struct made {
    table_kind kind;
    zf_search_space space;
    double base;           ///< seconds that memory allows
    double best_s, best_l; ///< powers of two
    double curve_s, curve_l, tilt;
    uint32_t registers, shared;
    double want;     ///< warps from which on more do not help
    double per_warp; ///< how much it loses with none
    double spill;    ///< of each part of its registers that it lacks
    double noise;
    uint64_t state; ///< of the noise
    uint32_t measured;
} made;

static double log_of(uint32_t value) { return log2(value > 0 ? value : 1); }

/// The true time; 0: it cannot run.
static double time_of(const made *m, const zf_search_point *point) {
    uint32_t threads = zf_search_value(&m->space, point, ZF_SEARCH_THREADS, 32),
             l = zf_search_value(&m->space, point, ZF_SEARCH_VECTORS, 1);
    uint32_t bound = zf_search_value(&m->space, point, ZF_SEARCH_REGISTERS, 0),
             way = zf_search_value(&m->space, point, ZF_SEARCH_WAY, 1);
    uint32_t registers = m->registers + (l > 4 ? 2 * l : 0), has = bound > 0 && bound < registers ? bound : registers;
    double ds = log_of(threads) - m->best_s, dl = log_of(l) - m->best_l;
    double shape = 1 + m->curve_s * ds * ds + m->curve_l * dl * dl + m->tilt * fabs(ds + dl) / 10;
    if (m->kind == PLATEAU) { // all the same up to some value, and faster from there on
        shape = 1 + (log_of(threads) < m->best_s ? 4 * m->curve_s : 0) + (log_of(l) < m->best_l ? 4 * m->curve_l : 0);
    }
    if (m->kind == FLAT) shape = 1;
    uint32_t blocks = zf_search_blocks(&MACHINE, threads, has, m->shared), warps = blocks * (threads / 32);
    if (blocks == 0) return 0;
    if (m->kind == FAILING && threads > 512 && l > 2) return 0;
    double lack = warps < m->want ? (m->want - warps) / m->want : 0;
    if (m->kind == WRONG_MODEL) lack = warps > m->want ? (warps - m->want) / 64 : 0; // more warps are slower
    double spilled = has < registers ? (double)(registers - has) / registers : 0;
    return m->base * shape * (1 + m->per_warp * lack) * (1 + m->spill * spilled) * (way == 32 ? 1.3 : 1);
}

static bool is_legal(const void *user, const zf_search_point *point) {
    const made *m = user;
    uint32_t threads = zf_search_value(&m->space, point, ZF_SEARCH_THREADS, 32);
    return threads * zf_search_value(&m->space, point, ZF_SEARCH_REGISTERS, 0) <= 65536;
}

static void add_axis(zf_search_space *space, zf_search_role role, const uint32_t *values, uint32_t count,
                     uint32_t default_index) {
    zf_search_axis *axis = &space->axes[space->axis_count++];
    *axis = (zf_search_axis){.role = role, .count = count, .default_index = default_index};
    memcpy(axis->values, values, count * sizeof *values);
}

static void make(made *m, table_kind kind, uint64_t seed) {
    static const uint32_t l[] = {1, 2, 4, 8, 16}, threads[] = {32, 64, 128, 256, 512, 1024},
                          registers[] = {0, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 255}, ways[] = {1, 32};
    bool cliffs = kind == CLIFF || kind == BOUNDED;
    uint64_t state = seed * 77 + (uint64_t)kind;
    for (int k = 0; k < 3; k++) next_random(&state);
    *m = (made){.kind = kind, .state = seed};
    uint64_t r = next_random(&state);
    if (r % 3 != 0) add_axis(&m->space, ZF_SEARCH_VECTORS, l, 5, 2);
    add_axis(&m->space, ZF_SEARCH_THREADS, threads, 6, 1 + (uint32_t)(r / 3 % 3));
    add_axis(&m->space, ZF_SEARCH_REGISTERS, registers, 15, kind == BOUNDED ? 2 + (uint32_t)(r / 144 % 6) : 0);
    if (r / 9 % 4 == 0) add_axis(&m->space, ZF_SEARCH_WAY, ways, 2, (uint32_t)(r / 36 % 2));
    m->base = between(&state, 1e-4, 1e-3);
    m->best_s = floor(
        between(&state, 5, kind == SMOOTH || kind == PLATEAU ? 11 : 9)); // where nothing else counts, small blocks are better
    m->best_l = floor(between(&state, 0, 5));
    m->curve_s = between(&state, 0.005, 0.08);
    m->curve_l = between(&state, 0.002, 0.05);
    m->tilt = between(&state, 0, 0.3);
    m->registers = (uint32_t)between(&state, 20, cliffs ? 130 : 48);
    m->shared = (uint32_t)between(&state, 0, cliffs ? 24000 : 4000);
    m->want = between(&state, 16, 56);
    m->per_warp = cliffs || kind == WRONG_MODEL ? between(&state, 0.5, 2) : between(&state, 0, 0.5);
    m->spill = between(&state, 0.1, 2);
    m->noise = between(&state, 0, 0.006); // both ways
    m->space.legal = is_legal;
    m->space.user = m;
    m->space.machine = MACHINE;
    m->space.least_seconds = m->base * between(&state, 0.9, 1);
    if (kind == WRONG_BOUND)
        m->space.least_seconds = m->base * (seed % 2 == 0 ? between(&state, 0.3, 0.7) : between(&state, 2, 4));
    m->space.has_known = seed % 3 == 0;
    for (uint32_t a = 0; a < m->space.axis_count; a++)
        m->space.known.at[a] = (uint8_t)(next_random(&state) % m->space.axes[a].count);
}

static bool measure(void *user, const zf_search_point *point, zf_search_reading *out, double *spent) {
    made *m = user;
    double seconds = time_of(m, point);
    m->measured++;
    *spent += 0.2;
    uint32_t bound = zf_search_value(&m->space, point, ZF_SEARCH_REGISTERS, 0),
             l = zf_search_value(&m->space, point, ZF_SEARCH_VECTORS, 1);
    uint32_t registers = m->registers + (l > 4 ? 2 * l : 0);
    *out = (zf_search_reading){.ran = seconds > 0, .seconds = seconds * (1 + between(&m->state, -m->noise, m->noise))};
    out->registers = bound > 0 && bound < registers ? bound : registers;
    out->local = out->registers < registers ? 16 : 0;
    out->shared = m->shared;
    out->blocks = zf_search_blocks(&MACHINE, zf_search_value(&m->space, point, ZF_SEARCH_THREADS, 32), out->registers, m->shared);
    return true;
}

static double best_of(const made *m) {
    double best = HUGE_VAL;
    zf_search_point point;
    for (uint32_t k = 0; zf_search_combination(&m->space, k, &point); k++) {
        double seconds = is_legal(m, &point) ? time_of(m, &point) : 0;
        if (seconds > 0 && seconds < best) best = seconds;
    }
    return best;
}

static zf_search search; // large

/// One table; returns how much of the best was reached.
static double search_table(made *m, const zf_search_options *options, uint32_t *probes) {
    zf_search_begin(&search, &m->space, options);
    zf_search_result result = zf_search_run(&search, measure, m);
    zf_search_point first = zf_search_default(&m->space);
    double by_default = time_of(m, &first), found = time_of(m, &result.best);
    CHECK(result.readings == m->measured, "%u readings, %u told", m->measured, result.readings);
    CHECK(by_default == 0 || (result.found && found <= by_default), "%s: %g, by default %g", kind_names[m->kind], found,
          by_default);
    CHECK(!result.found || is_legal(m, &result.best), "what was found is not legal");
    for (uint32_t t = 0; t < search.count; t++) {
        CHECK(is_legal(m, &search.tries[t].point), "a probe is not legal");
        CHECK(search.tries[t].why != NULL, "a probe without a reason");
        for (uint32_t k = 0; k < t; k++) CHECK(!zf_search_same(&search.tries[t].point, &search.tries[k].point), "probed twice");
    }
    for (uint32_t t = 1; t < search.count; t++) { // but for what is known of others, and more vectors, which take more registers
        if (search.tries[t].reading.ran || m->kind == FAILING) continue;
        bool threads = strcmp(search.tries[t].why, "more threads a block") == 0;
        CHECK(!threads, "a probe of which the model knew that it has no room");
    }
    *probes = result.probes;
    return found > 0 ? best_of(m) / found : 0;
}

/// How much of a kind's tables must be searched to 97% of their best. Memory, occupancy and a bad bound are what the search is
/// made for; of the others more than one valley, or a model that misleads, may keep it from the best.
static const double shares[] = {[SMOOTH] = 0.95,  [CLIFF] = 0.8,       [PLATEAU] = 0.8,      [FLAT] = 1,
                                [FAILING] = 0.95, [WRONG_MODEL] = 0.8, [WRONG_BOUND] = 0.95, [BOUNDED] = 0.88};

static void test_kinds(void) {
    double all_probes = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        double least = 1, sum = 0, probes = 0, readings = 0;
        uint32_t most = 0, good = 0;
        for (uint64_t seed = 1; seed <= TABLES; seed++) {
            made m;
            uint32_t count;
            make(&m, (table_kind)kind, seed);
            double part = search_table(&m, NULL, &count);
            if (part < least) least = part;
            good += part >= 0.97;
            sum += part;
            probes += count;
            readings += m.measured;
            if (count > most) most = count;
        }
        printf("%-12s %.3f of the best on the mean, %.2f at least, %.0f%% of tables to 0.97; %.1f probes, %u at most, %.1f "
               "readings\n",
               kind_names[kind], sum / TABLES, least, 100.0 * good / TABLES, probes / TABLES, most, readings / TABLES);
        CHECK(sum / TABLES >= 0.97, "%s", kind_names[kind]);
        CHECK(good >= shares[kind] * TABLES, "%s: %u good", kind_names[kind], good);
        CHECK(probes / TABLES < (kind == BOUNDED ? 11 : 10) && most <= 16, "%s: %g probes, %u", kind_names[kind], probes / TABLES,
              most);
        all_probes += probes;
    }
    printf("%.2f probes on the mean\n", all_probes / TABLES / (double)KINDS);
    CHECK(all_probes / TABLES / (double)KINDS < 10, "%g probes", all_probes / TABLES / (double)KINDS);
}

// ---- Bounds ---------------------------------------------------------------------------------------------------

static void test_budget(void) {
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        made m;
        uint32_t probes;
        make(&m, (table_kind)(seed % KINDS), seed);
        zf_search_options options = {.probes = 1 + (uint32_t)(seed % 9)};
        search_table(&m, &options, &probes);
        CHECK(probes <= options.probes, "%u probes of %u", probes, options.probes);
        make(&m, (table_kind)(seed % KINDS), seed);
        options = (zf_search_options){.seconds = 0.2 * (double)(1 + seed % 9) + 0.01}; // a measurement is 0.2
        search_table(&m, &options, &probes);
        CHECK(search.spent <= options.seconds, "%g seconds of %g", search.spent, options.seconds);
        make(&m, (table_kind)(seed % KINDS), seed);
        options.spent = 7; // what went before is not what a measurement takes
        options.seconds += options.spent;
        uint32_t later;
        search_table(&m, &options, &later);
        CHECK(later == probes && search.spent <= options.seconds, "%u probes, %u without what went before", later, probes);
    }
}

/// The same answers, the same questions.
static void test_determined(void) {
    static zf_search before;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        made m;
        uint32_t probes;
        make(&m, CLIFF, seed);
        search_table(&m, NULL, &probes);
        memcpy(&before, &search, sizeof search);
        make(&m, CLIFF, seed);
        search_table(&m, NULL, &probes);
        CHECK(before.count == search.count && before.readings == search.readings, "another search");
        for (uint32_t t = 0; t < search.count; t++)
            CHECK(zf_search_same(&before.tries[t].point, &search.tries[t].point), "probe %u is another", t);
    }
}

static void test_asking(void) {
    made m;
    zf_search_point first, again;
    make(&m, SMOOTH, 1);
    zf_search_begin(&search, &m.space, NULL);
    CHECK(zf_search_next(&search, &first) && zf_search_next(&search, &again), "nothing to measure");
    zf_search_point wanted = zf_search_default(&m.space);
    CHECK(zf_search_same(&first, &wanted) && zf_search_same(&first, &again), "the default comes first, until it is told");
    CHECK(strcmp(zf_search_reason(&search), "as it is by default") == 0, "%s", zf_search_reason(&search));
    zf_search_report(&search, &(zf_search_reading){.ran = false}, 0);
    zf_search_report(&search, &(zf_search_reading){.ran = true, .seconds = 1}, 0); // nobody asked
    CHECK(search.count == 1 && search.readings == 1, "%u", search.count);
    if (m.space.has_known) zf_search_next(&search, &again), zf_search_report(&search, &(zf_search_reading){.ran = false}, 0);
    CHECK(!zf_search_next(&search, &again), "what does not run has no neighbours");
    zf_search_result result = zf_search_result_of(&search);
    CHECK(!result.found && zf_search_same(&result.best, &wanted), "something was found");
    CHECK(strcmp(result.ended, "nothing runs") == 0, "%s", result.ended);
}

/// A kernel with nothing to choose, and one whose own number of vectors is one of those to choose.
static void test_small_spaces(void) {
    made m = {.base = 1, .best_s = 5, .registers = 20, .curve_l = 0.1, .best_l = 1};
    uint32_t probes;
    CHECK(search_table(&m, NULL, &probes) == 1 && probes == 1, "%u probes", probes);
    static const uint32_t own[] = {0, 1, 2, 4};
    add_axis(&m.space, ZF_SEARCH_VECTORS, own, 4, 0); // 0 is as fast as 1
    m.measured = 0;
    CHECK(search_table(&m, NULL, &probes) == 1 && probes == 4, "%u probes", probes);
    CHECK(zf_search_value(&m.space, &(zf_search_point){{2}}, ZF_SEARCH_VECTORS, 9) == 2, "value");
    CHECK(zf_search_value(&m.space, &(zf_search_point){{2}}, ZF_SEARCH_WAY, 9) == 9, "no axis");
}

static void test_blocks(void) {
    CHECK(zf_search_blocks(&MACHINE, 128, 32, 0) == 16, "2048 threads are 16 blocks of 128");
    CHECK(zf_search_blocks(&MACHINE, 32, 16, 0) == 32, "no more than 32");
    CHECK(zf_search_blocks(&MACHINE, 256, 64, 0) == 4, "registers: %u", zf_search_blocks(&MACHINE, 256, 64, 0));
    zf_search_machine many = MACHINE;
    many.blocks = 64;
    CHECK(zf_search_blocks(&many, 32, 61, 0) == 32 && zf_search_blocks(&many, 32, 56, 0) == 36,
          "they are given to a warp by 256");
    CHECK(zf_search_blocks(&MACHINE, 1024, 65, 0) == 0, "too many");
    CHECK(zf_search_blocks(&MACHINE, 128, 32, 48 * 1024 - 1024) == 4, "shared memory, of which a block costs 1 KiB more");
    CHECK(zf_search_blocks(&(zf_search_machine){0}, 128, 32, 0) == 0, "nothing is known");
    zf_search_machine wide = MACHINE; // none of these is a machine's, but a record may say them
    wide.warp = UINT32_MAX;
    CHECK(zf_search_blocks(&wide, 128, 32, 0) == 0, "a warp of all threads");
    CHECK(zf_search_blocks(&MACHINE, 128, 1u << 27, 0) == 0 && zf_search_blocks(&MACHINE, 128, UINT32_MAX, 0) == 0, "registers");
    CHECK(zf_search_blocks(&MACHINE, UINT32_MAX, 32, 0) == 0 && zf_search_blocks(&MACHINE, 128, 32, UINT32_MAX) == 0,
          "of all else");
}

// ---- One rule each, on tables that are written down ---------------------------------------------------------------

/// The `time`-th reading of a combination.
typedef double (*table)(const zf_search_point *point, uint32_t time);

static zf_search_result search_written(const zf_search_space *space, table seconds, uint32_t registers, uint32_t shared) {
    zf_search_point point;
    uint32_t times[8][8] = {{0}};
    zf_search_begin(&search, space, NULL);
    while (zf_search_next(&search, &point)) {
        zf_search_reading reading = {.ran = true, .registers = registers, .shared = shared, .blocks = 1};
        reading.seconds = seconds(&point, times[point.at[0]][point.at[1]]++);
        zf_search_report(&search, &reading, 0);
    }
    return zf_search_result_of(&search);
}

static zf_search_space written_space(uint32_t threads, uint32_t vectors) {
    static const uint32_t of_threads[] = {32, 64, 128, 256, 512, 1024}, of_vectors[] = {1, 2, 4};
    zf_search_space space = {.machine = MACHINE};
    add_axis(&space, ZF_SEARCH_THREADS, of_threads, 6, threads);
    add_axis(&space, ZF_SEARCH_VECTORS, of_vectors, 3, vectors);
    return space;
}

/// Fewer threads gain 0.8%, and more vectors 0.8% again, but only with fewer threads.
static double in_two_steps(const zf_search_point *point, uint32_t time) {
    (void)time;
    bool fewer = point->at[0] == 2, more = point->at[1] == 1;
    if (fewer) return more ? 0.984 : point->at[1] == 0 ? 0.992 : 1.1;
    return point->at[0] == 3 && point->at[1] == 0 ? 1 : 1.1;
}

static void test_steps_within_noise(void) {
    zf_search_space space = written_space(3, 0);
    zf_search_result result = search_written(&space, in_two_steps, 32, 0);
    CHECK(result.best.at[0] == 2 && result.best.at[1] == 1, "a step of less than the noise leads nowhere: %u %u",
          result.best.at[0], result.best.at[1]);
}

/// All are alike, but for one reading of one.
static double too_short_once(const zf_search_point *point, uint32_t time) { return point->at[0] == 2 && time == 0 ? 0.975 : 1; }

static void test_settling(void) {
    zf_search_space space = written_space(3, 0);
    zf_search_result result = search_written(&space, too_short_once, 32, 0);
    zf_search_point by_default = zf_search_default(&space);
    CHECK(zf_search_same(&result.best, &by_default), "one reading decides");
    CHECK(result.readings > result.probes, "nothing was read again");
}

static double below_the_bound(const zf_search_point *point, uint32_t time) {
    (void)time;
    return point->at[0] == 2 ? 0.8 : 0.96;
}

static double at_the_bound(const zf_search_point *point, uint32_t time) {
    (void)time;
    return point->at[0] == 2 ? 0.8 : 1.01;
}

static void test_bound_of_memory(void) {
    zf_search_space space = written_space(3, 0);
    space.least_seconds = 1;
    zf_search_result result = search_written(&space, below_the_bound, 32, 0);
    CHECK(result.best.at[0] == 2, "a bound that was passed by 4%% holds");
    result = search_written(&space, at_the_bound, 32, 0);
    CHECK(result.best.at[0] == 3 && result.probes == 1, "%u probes of what is at the bound", result.probes);
}

static double alike(const zf_search_point *point, uint32_t time) {
    (void)point;
    (void)time;
    return 1;
}

/// Which number of threads is tried first: where more warps run at once.
static void test_direction(void) {
    zf_search_space space = written_space(3, 0);
    space.axes[1].count = 0;
    search_written(&space, alike, 72, 0);
    CHECK(search.tries[1].point.at[0] == 2, "256 threads of 72 registers: 28 warps of 128, 16 of 512");
    space = written_space(1, 0);
    space.axes[1].count = 0;
    search_written(&space, alike, 24, 8192);
    CHECK(search.tries[1].point.at[0] == 2, "64 threads with 8 KiB: 64 warps of 128, 25 of 32");
}

static bool has_registers(const void *user, const zf_search_point *point) {
    const zf_search_space *space = user;
    return space->axes[0].values[point->at[0]] * space->axes[1].values[point->at[1]] <= 65536;
}

static double more_threads(const zf_search_point *point, uint32_t time) {
    (void)time;
    return point->at[0] == 1 ? 0.5 : 1;
}

/// A bound that code does not come to forbids what is legal without.
static void test_dropping_a_bound(void) {
    static const uint32_t threads[] = {256, 1024}, bounds[] = {0, 128};
    zf_search_space space = {.machine = MACHINE, .legal = has_registers};
    add_axis(&space, ZF_SEARCH_THREADS, threads, 2, 0);
    add_axis(&space, ZF_SEARCH_REGISTERS, bounds, 2, 1);
    space.user = &space;
    zf_search_result result = search_written(&space, more_threads, 40, 0);
    CHECK(result.best.at[0] == 1 && result.best.at[1] == 0, "%u threads", threads[result.best.at[0]]);
    space.legal = NULL; // nothing forbids it: it stays
    result = search_written(&space, more_threads, 40, 0);
    CHECK(result.best.at[0] == 1 && result.best.at[1] == 1, "a bound was dropped");
}

/// Ways are told of by what their axis is said to be.
static void test_reasons(void) {
    static const uint32_t ways[] = {0, 1, 2};
    static const char *const reasons[] = {"another way to walk", "prefetching or not", NULL};
    uint32_t told[3] = {0};
    zf_search_space space = {.machine = MACHINE};
    for (int a = 0; a < 3; a++) {
        add_axis(&space, ZF_SEARCH_WAY, ways, 3, 0);
        space.axes[a].why = reasons[a];
    }
    search_written(&space, alike, 32, 0);
    for (uint32_t t = 1; t < search.count; t++) {
        for (int a = 0; a < 3; a++) {
            if (search.tries[t].point.at[a] == 0) continue;
            const char *wanted = reasons[a] != NULL ? reasons[a] : "another way";
            CHECK(strcmp(search.tries[t].why, wanted) == 0, "axis %d: %s", a, search.tries[t].why);
            told[a]++;
        }
    }
    CHECK(told[0] == 2 && told[1] == 2 && told[2] == 2, "%u, %u, %u ways were tried", told[0], told[1], told[2]);
}

/// A kernel of few thread blocks: more registers are faster and let all of them run at once up to 128, whatever is lower than
/// 64 has no room for some. `groups`: thread blocks of the launch.
static zf_search_result search_small(zf_search_space *space, uint64_t groups) {
    static const uint32_t threads[] = {128, 512}, bounds[] = {0, 40, 64, 128, 255};
    *space = (zf_search_space){.machine = MACHINE};
    space->machine.count = 132;
    add_axis(space, ZF_SEARCH_THREADS, threads, 2, 0);
    add_axis(space, ZF_SEARCH_REGISTERS, bounds, 5, 1);
    zf_search_begin(&search, space, NULL);
    zf_search_point point;
    while (zf_search_next(&search, &point)) {
        static const double seconds[] = {0.95, 1, 0.97, 0.9, 0.92};
        uint32_t bound = bounds[point.at[1]], takes = bound == 0 ? 64 : bound < 100 ? bound : 100;
        zf_search_reading reading = {.ran = true, .registers = takes, .blocks = 1, .groups = groups};
        reading.seconds = seconds[point.at[1]] * (point.at[0] == 0 ? 1 : 1.5);
        zf_search_report(&search, &reading, 0);
    }
    return zf_search_result_of(&search);
}

/// Where all thread blocks run at once registers cost nothing: the highest bound with which they do is tried first, and no lower
/// one. Where they do not, it is not.
static void test_all_at_once(void) {
    zf_search_space space;
    zf_search_result result = search_small(&space, 132 * 2); // of 255 registers a multiprocessor holds two thread blocks of 128
    CHECK(search.tries[1].point.at[1] == 4 && result.best.at[1] == 4, "bound %u first, bound %u found",
          search.tries[1].point.at[1], result.best.at[1]);
    for (uint32_t t = 0; t < search.count; t++)
        CHECK(search.tries[t].point.at[1] == 1 || search.tries[t].point.at[1] == 4, "bound %u is tried",
              search.tries[t].point.at[1]);
    search_small(&space, 132 * 2 + 1);
    CHECK(search.tries[1].point.at[1] == 3, "one thread block more has room for 128 registers, and not %u",
          search.tries[1].point.at[1]);
    search_small(&space, 132 * 100);
    for (uint32_t t = 0; t < search.count; t++)
        CHECK(search.tries[t].point.at[1] < 4, "of many thread blocks bound %u is tried", search.tries[t].point.at[1]);
    space.machine.threads = 0; // a record may say so: nothing is known, and nothing left out for it
    zf_search_begin(&search, &space, NULL);
    zf_search_point point;
    uint32_t threads = 0;
    while (zf_search_next(&search, &point)) {
        threads |= 1u << point.at[0];
        zf_search_report(&search, &(zf_search_reading){.ran = true, .seconds = 1, .registers = 40, .blocks = 1}, 0);
    }
    CHECK(threads == 3, "of a machine of which nothing is known threads are left out");
}

int main(void) {
    test_all_at_once();
    test_reasons();
    test_steps_within_noise();
    test_settling();
    test_bound_of_memory();
    test_direction();
    test_dropping_a_bound();
    test_kinds();
    test_budget();
    test_determined();
    test_asking();
    test_small_spaces();
    test_blocks();
    return check_result();
}

// Chooses the next measurement, and records the results.
#include "scheduler/search/search_internal.h"

#include <string.h>

enum { PROBES = 16 }; // by default

const double zf_search_noise = 0.01;

static const double // How much of the noise a step must gain to become the centre: one may be the first of two that gain more
                    // than the noise together, and what comes out is measured again anyway.
    MOVES = 0.5,
    // How near to what memory allows is near enough; and how far below it shows that it was wrong.
    NEAR_LEAST = 0.015, BELOW_LEAST = 0.03;

void zf_search_begin(zf_search *search, const zf_search_space *space, const zf_search_options *options) {
    memset(search, 0, sizeof *search);
    search->space = *space;
    if (options != NULL) search->options = *options;
    if (search->options.probes == 0) search->options.probes = PROBES;
    if (search->options.probes > ZF_SEARCH_PROBES_MOST) search->options.probes = ZF_SEARCH_PROBES_MOST;
    if (!(search->options.noise > 0)) search->options.noise = zf_search_noise;
    search->spent = search->options.spent;
    search->moved = search->asked_axis = ZF_SEARCH_AXES;
}

const zf_search_try *zf_search_find(const zf_search *search, const zf_search_point *point) {
    return zf_search_find_try(search->tries, search->count, point);
}

const zf_search_try *zf_search_find_try(const zf_search_try *tries, uint32_t count, const zf_search_point *point) {
    for (uint32_t t = 0; t < count; t++) {
        if (zf_search_same(&tries[t].point, point)) return &tries[t];
    }
    return NULL;
}

bool zf_search_near(const zf_search *search, double a, double b) {
    double least = a < b ? a : b, most = a < b ? b : a;
    return most <= least * (1 + search->options.noise);
}

const zf_search_try *zf_search_fastest_try(const zf_search_try *tries, uint32_t count) {
    const zf_search_try *best = NULL;
    for (uint32_t t = 0; t < count; t++) {
        const zf_search_reading *seen = &tries[t].reading;
        if (seen->ran && (best == NULL || seen->seconds < best->reading.seconds)) best = &tries[t];
    }
    return best;
}

/// The try with the least time, or `count` where none ran.
static uint32_t fastest(const zf_search *search) {
    const zf_search_try *best = zf_search_fastest_try(search->tries, search->count);
    return best != NULL ? (uint32_t)(best - search->tries) : search->count;
}

// ---- The next measurement -------------------------------------------------------------------------------------

static void ask_new(zf_search *search, const zf_search_point *point, const char *why) {
    search->asked = search->count;
    search->next = *point;
    search->why = why;
    search->pending = true;
}

static void ask_again(zf_search *search, uint32_t number) {
    search->asked = number;
    search->next = search->tries[number].point;
    search->why = "again: it may be no faster than others";
    search->pending = true;
}

/// Whether the fastest choice is close to the memory's bound. A choice that is much faster than the bound shows that the bound
/// is wrong.
static bool at_the_least(const zf_search *search) {
    double least = search->space.least_seconds;
    uint32_t best = fastest(search);
    if (!(least > 0) || best == search->count) return false;
    double seconds = search->tries[best].reading.seconds;
    return seconds <= least * (1 + NEAR_LEAST) && seconds >= least * (1 - BELOW_LEAST);
}

static bool ask_known(zf_search *search) {
    bool again = search->space.has_known && zf_search_find(search, &search->space.known) == NULL;
    bool legal = search->space.legal == NULL || search->space.legal(search->space.user, &search->space.known);
    if (again && legal && !at_the_least(search)) {
        ask_new(search, &search->space.known, "best for the nearest kernel that is known");
        return true;
    }
    return false;
}

/// The default and what was fastest, and what is hardly slower than that, once more each where it matters: where the default is
/// as fast it is taken, and nothing else need be told apart.
static bool settle(zf_search *search) {
    uint32_t best = fastest(search);
    if (best == search->count || search->readings >= search->options.probes + ZF_SEARCH_PROBES_MOST / 4) return false;
    const zf_search_try *first = &search->tries[0];
    double least = search->tries[best].reading.seconds, noise = search->options.noise;
    if (best == 0 || (first->reading.ran && zf_search_near(search, first->reading.seconds, least))) return false;
    bool close = first->reading.ran && first->reading.seconds <= least * (1 + 3 * noise);
    uint32_t again = search->count;
    for (uint32_t t = 0; t < search->count; t++) {
        const zf_search_try *seen = &search->tries[t];
        bool rival = seen->reading.ran && zf_search_near(search, seen->reading.seconds, least);
        if (t == best || (t == 0 && close)) rival = true;
        if (!rival || seen->count >= ZF_SEARCH_SETTLED) continue;
        if (again == search->count || seen->count < search->tries[again].count) again = t;
    }
    // The best alone, far from the default, needs no second reading.
    uint32_t rivals = 0;
    for (uint32_t t = 0; t < search->count; t++)
        rivals += t != best && search->tries[t].reading.ran && zf_search_near(search, search->tries[t].reading.seconds, least);
    if (again == search->count || (rivals == 0 && !close)) return false;
    ask_again(search, again);
    return true;
}

static bool decide(zf_search *search) {
    uint32_t best = fastest(search);
    zf_search_point next;
    if (search->count == 0) {
        next = zf_search_default(&search->space);
        ask_new(search, &next, "as it is by default");
        return true;
    }
    if (search->ended == NULL) {
        if (search->options.seconds > 0 && search->spent + search->longest > search->options.seconds) {
            search->ended = "no more time";
            return false;
        }
        if (search->count < search->options.probes && ask_known(search)) return true;
        if (best == search->count) {
            search->ended = "nothing runs";
        } else if (at_the_least(search)) {
            search->ended = "memory allows no more";
        } else if (search->count >= search->options.probes) {
            search->ended = "no more probes";
        } else if (zf_search_neighbour(search, &next, &search->asked_axis, &search->why)) {
            ask_new(search, &next, search->why);
            return true;
        } else {
            search->ended = "nothing near is faster";
        }
    }
    bool time = !(search->options.seconds > 0) || search->spent + search->longest <= search->options.seconds;
    return time && settle(search);
}

bool zf_search_next(zf_search *search, zf_search_point *out) {
    if (!search->pending && !search->over && !decide(search)) search->over = true;
    if (search->over) return false;
    *out = search->next;
    return true;
}

const char *zf_search_reason(const zf_search *search) { return search->why != NULL ? search->why : ""; }

// ---- Results --------------------------------------------------------------------------------------------------

void zf_search_add(zf_search_try *seen, double seconds) {
    if (seen->count == ZF_SEARCH_READINGS) return;
    double sorted[ZF_SEARCH_READINGS];
    seen->seconds[seen->count++] = seconds;
    for (uint32_t k = 0; k < seen->count; k++) {
        uint32_t at = k;
        for (; at > 0 && sorted[at - 1] > seen->seconds[k]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = seen->seconds[k];
    }
    seen->reading.seconds = (sorted[(seen->count - 1) / 2] + sorted[seen->count / 2]) / 2;
}

void zf_search_report(zf_search *search, const zf_search_reading *reading, double spent) {
    if (!search->pending) return;
    search->pending = false;
    double took = spent - search->spent;
    if (took > search->longest) search->longest = took;
    search->spent = spent;
    search->readings++;
    zf_search_try *seen = &search->tries[search->asked];
    bool is_new = search->asked == search->count;
    if (is_new) {
        *seen = (zf_search_try){.point = search->next, .reading = *reading, .why = search->why};
        search->count++;
    }
    if (!(reading->seconds > 0)) seen->reading.ran = false;
    if (!seen->reading.ran) return;
    zf_search_add(seen, reading->seconds);
    if (!is_new) return;
    const zf_search_try *centre = &search->tries[search->centre];
    bool better = !centre->reading.ran || seen->reading.seconds * (1 + MOVES * search->options.noise) < centre->reading.seconds;
    if (!better) return;
    search->centre = search->asked;
    search->moved = search->asked_axis;
}

zf_search_result zf_search_result_of(const zf_search *search) {
    zf_search_result result = {.best = zf_search_default(&search->space), .probes = search->count, .readings = search->readings};
    result.ended = search->ended != NULL ? search->ended : "it was stopped";
    uint32_t best = fastest(search);
    if (best == search->count) return result;
    const zf_search_try *first = &search->tries[0];
    if (first->reading.ran) result.default_seconds = first->reading.seconds;
    if (first->reading.ran && zf_search_near(search, first->reading.seconds, search->tries[best].reading.seconds)) best = 0;
    result.found = true;
    result.best = search->tries[best].point;
    result.seconds = search->tries[best].reading.seconds;
    return result;
}

zf_search_result zf_search_run(zf_search *search, zf_search_measure measure, void *user) {
    zf_search_point point;
    while (zf_search_next(search, &point)) {
        zf_search_reading reading = {0};
        double spent = search->spent;
        if (!measure(user, &point, &reading, &spent)) break;
        zf_search_report(search, &reading, spent);
    }
    return zf_search_result_of(search);
}

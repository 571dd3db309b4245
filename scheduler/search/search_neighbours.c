// Where to go from the best so far: one axis at a time, first along the one that led there.
#include "scheduler/search/search_internal.h"

enum {
    PLATEAU = 2, // steps over what is as fast as the centre
    OWN_MOST = 2 // values of an axis that are tried from the kernel's own, which is one of them
};

typedef struct around {
    const zf_search *search;
    const zf_search_try *centre;
    uint32_t axis;
    zf_search_point out;
} around;

static bool is_legal(const around *n, const zf_search_point *point) {
    const zf_search_space *space = &n->search->space;
    return space->legal == NULL || space->legal(space->user, point);
}

/// The centre with another value on the axis. A bound on registers that code does not come to is dropped where it forbids what is
/// legal without.
static zf_search_point moved(const around *n, uint32_t to) {
    const zf_search_space *space = &n->search->space;
    zf_search_point point = n->centre->point, kept = point;
    kept.at[n->axis] = (uint8_t)to;
    if (is_legal(n, &kept)) return kept;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        const zf_search_axis *axis = &space->axes[a];
        if (axis->role != ZF_SEARCH_REGISTERS || axis->count == 0 || axis->values[0] != 0) continue;
        uint32_t seen = n->centre->reading.registers;
        if (seen > 0 && seen < axis->values[point.at[a]]) point.at[a] = 0;
    }
    point.at[n->axis] = (uint8_t)to;
    return point;
}

static bool is_slow(const around *n, const zf_search_try *seen) {
    return !seen->reading.ran || !zf_search_near(n->search, seen->reading.seconds, n->centre->reading.seconds);
}

/// Whether not even one thread block has room, by what code of the centre takes.
static bool has_no_room(const around *n, const zf_search_point *point) {
    return zf_search_warps(n->search, n->centre, point) == 0;
}

/// The next combination that is worth a probe in one direction along the axis.
static bool step(around *n, int direction) {
    const zf_search_axis *axis = &n->search->space.axes[n->axis];
    bool has_own = axis->role == ZF_SEARCH_VECTORS || axis->role == ZF_SEARCH_ELEMENTS;
    int first = has_own && axis->values[0] == 0 ? 1 : 0; // the kernel's own has no place in the order
    uint32_t passed = 0;
    for (int at = n->centre->point.at[n->axis] + direction; at >= first && at < (int)axis->count; at += direction) {
        zf_search_point point = moved(n, (uint32_t)at);
        if (!is_legal(n, &point) || has_no_room(n, &point)) continue;
        const zf_search_try *seen = zf_search_find(n->search, &point);
        n->out = point;
        if (seen == NULL) return true;
        if (is_slow(n, seen) || ++passed > PLATEAU) return false;
    }
    return false;
}

/// Tries an ordered axis: first the direction in which more warps run; if they are equal, the one that is better more often.
static bool along(around *n, const char **why) {
    const zf_search_axis *axis = &n->search->space.axes[n->axis];
    bool threads = axis->role == ZF_SEARCH_THREADS;
    around up = *n, down = *n;
    bool may_up = step(&up, 1), may_down = step(&down, -1);
    if (!may_up && !may_down) return false;
    bool first_up = !threads;
    if (may_up && may_down && threads) {
        uint32_t more = zf_search_warps(n->search, n->centre, &up.out), fewer = zf_search_warps(n->search, n->centre, &down.out);
        first_up = more != ZF_SEARCH_UNKNOWN && fewer != ZF_SEARCH_UNKNOWN && more > fewer;
    }
    bool goes_up = may_up && (first_up || !may_down);
    n->out = goes_up ? up.out : down.out;
    static const char *const reasons[][2] = {
        [ZF_SEARCH_VECTORS] = {"fewer vectors a thread", "more vectors a thread"},
        [ZF_SEARCH_ELEMENTS] = {"fewer elements stored together", "more elements stored together"},
        [ZF_SEARCH_THREADS] = {"fewer threads a block", "more threads a block"},
    };
    *why = reasons[axis->role][goes_up];
    return true;
}

/// From the kernel's own number of vectors, which is one of those in order: the largest ones.
static bool from_own(around *n, const char **why) {
    const zf_search_axis *axis = &n->search->space.axes[n->axis];
    uint32_t tried = 0;
    for (uint32_t at = axis->count; at-- > 1 && tried < OWN_MOST;) {
        zf_search_point point = moved(n, at);
        if (!is_legal(n, &point)) continue;
        if (zf_search_find(n->search, &point) != NULL) {
            tried++;
            continue;
        }
        n->out = point;
        *why = axis->role == ZF_SEARCH_ELEMENTS ? "other elements stored together than the kernel's own"
                                                : "another number of vectors than the kernel's own";
        return true;
    }
    return false;
}

/// Whether two probes differed in this axis alone, and one of them had that value.
static bool is_compared(const around *n, uint32_t value) {
    const zf_search *search = n->search;
    for (uint32_t t = 0; t < search->count; t++) {
        zf_search_point point = search->tries[t].point;
        if (point.at[n->axis] != value) continue;
        for (uint32_t at = 0; at < search->space.axes[n->axis].count; at++) {
            point.at[n->axis] = (uint8_t)at;
            if (at != value && zf_search_find(search, &point) != NULL) return true;
        }
    }
    return false;
}

/// Whether code would take more registers than the bound leaves it, which the driver does not say.
static bool is_bound(const zf_search_reading *seen, uint32_t bound) {
    return bound > 0 && (seen->local > 0 || zf_search_comes_to(seen, bound));
}

/// The highest bound with which all thread blocks of the launch run at once, if there is one: code then has what it may want, and
/// what it takes costs nothing. 0: there is none.
static uint32_t free_bound(const around *n) {
    const zf_search_axis *axis = &n->search->space.axes[n->axis];
    for (uint32_t at = axis->count; at-- > 0;) {
        if (axis->values[at] > 0 && zf_search_all_at_once(n->search, n->centre, axis->values[at])) return at;
    }
    return 0;
}

/// The next bound on registers that lets more thread blocks run at once; none below half of what code takes, which would live
/// in memory. Where a bound holds already: none at all, if some have no room, and the next higher one.
static bool bound(around *n, const char **why) {
    const zf_search *search = n->search;
    const zf_search_axis *axis = &search->space.axes[n->axis];
    const zf_search_reading *seen = &n->centre->reading;
    uint32_t is = n->centre->point.at[n->axis], now = axis->values[is];
    uint32_t warps = zf_search_warps(search, n->centre, &n->centre->point);
    if (warps == ZF_SEARCH_UNKNOWN) return false;
    uint32_t free = free_bound(n);
    if (free > 0) {
        n->out = moved(n, free);
        *why = "the largest register limit, since all thread blocks are resident at once";
        return free != is && zf_search_find(search, &n->out) == NULL && is_legal(n, &n->out);
    }
    uint32_t looser[] = {seen->local > 0 && axis->values[0] == 0 ? 0 : is, is + 1};
    for (unsigned k = 0; is_bound(seen, now) && k < 2; k++) {
        if (looser[k] == is || looser[k] == axis->count || is_compared(n, looser[k])) continue;
        n->out = moved(n, looser[k]);
        *why = k == 0 ? "registers without a bound, since some have no room" : "more registers";
        if (zf_search_find(search, &n->out) == NULL && is_legal(n, &n->out)) return true;
    }
    for (uint32_t at = axis->count; at-- > 0;) {
        uint32_t value = axis->values[at];
        if (value == 0 || value >= seen->registers || 2 * value < seen->registers) continue;
        zf_search_point point = moved(n, at);
        if (zf_search_warps(search, n->centre, &point) <= warps || !is_legal(n, &point)) continue;
        if (zf_search_find(search, &point) != NULL) return false; // it was not faster, so fewer are not either
        n->out = point;
        *why = "fewer registers, so that more thread blocks run at once";
        return true;
    }
    return false;
}

/// Each other way is compared once, wherever that is.
static bool other_way(around *n, const char **why) {
    const zf_search_axis *axis = &n->search->space.axes[n->axis];
    *why = axis->why != NULL ? axis->why : "another way";
    for (uint32_t at = 0; at < axis->count; at++) {
        n->out = moved(n, at);
        bool is_new = zf_search_find(n->search, &n->out) == NULL && !is_compared(n, at);
        if (is_new && is_legal(n, &n->out)) return true;
    }
    return false;
}

static bool on_axis(around *n, const char **why) {
    const zf_search_axis *axis = &n->search->space.axes[n->axis];
    if (axis->count < 2) return false;
    switch (axis->role) {
    case ZF_SEARCH_WAY: return other_way(n, why);
    case ZF_SEARCH_REGISTERS: return bound(n, why);
    case ZF_SEARCH_VECTORS:
    case ZF_SEARCH_ELEMENTS:
        if (axis->values[0] == 0 && n->centre->point.at[n->axis] == 0) return from_own(n, why);
        return along(n, why);
    case ZF_SEARCH_THREADS: break;
    }
    return along(n, why);
}

/// Axes in the order in which they are gone along: other ways first, since all else depends on them, and registers where they
/// cost nothing; then what led here.
static uint32_t rank_of(const around *n) {
    zf_search_role role = n->search->space.axes[n->axis].role;
    if (role == ZF_SEARCH_WAY || (role == ZF_SEARCH_REGISTERS && free_bound(n) > 0)) return 0;
    return n->axis == n->search->moved ? 1 : 2;
}

bool zf_search_neighbour(const zf_search *search, zf_search_point *out, uint32_t *axis, const char **why) {
    around n = {.search = search, .centre = &search->tries[search->centre]};
    for (uint32_t rank = 0; rank <= 2; rank++) {
        for (n.axis = 0; n.axis < search->space.axis_count; n.axis++) {
            if (rank_of(&n) != rank || !on_axis(&n, why)) continue;
            *out = n.out;
            *axis = n.axis;
            return true;
        }
    }
    return false;
}

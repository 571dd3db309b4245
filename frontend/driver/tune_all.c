// Every combination of a kernel that can differ, in an order of which any beginning is a fair sample, since there may be more of
// them than there is time.
#include "frontend/driver/tune.h"

enum {
    REGISTERS = ZF_CHOICE_REGISTERS,
    SETTLED = 3, // readings that count as one
};

/// First those with the default's registers, then those without a bound, which says what bounds can differ, then these.
enum { BY_DEFAULT, WITHOUT_BOUND, BOUNDS, PASSES };

/// What was fastest of all, and the default, once more until both have been measured SETTLED times: of hundreds of readings the
/// least is too short by chance, and the first may be of a GPU that had waited.
static bool next_again(const zf_tune_kernel *kernel, zf_search_point *out) {
    uint32_t best = 0;
    for (uint32_t t = 1; t < kernel->count; t++) {
        const zf_search_reading *seen = &kernel->tries[t].reading, *least = &kernel->tries[best].reading;
        if (seen->ran && (!least->ran || seen->seconds < least->seconds)) best = t;
    }
    const uint32_t doubted[] = {best, 0};
    for (int d = 0; d < 2; d++) {
        const zf_search_try *seen = &kernel->tries[doubted[d]];
        if (!seen->reading.ran || seen->count >= SETTLED) continue;
        *out = seen->point;
        return true;
    }
    return false;
}

static uint32_t greatest_common(uint32_t a, uint32_t b) {
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t size_of(const zf_search_space *space) {
    uint32_t size = 1;
    for (uint32_t a = 0; a < space->axis_count; a++) size *= space->axes[a].count > 0 ? space->axes[a].count : 1;
    return size;
}

/// Combination `number` in the order of steps by the golden ratio of their number, which come to each once.
static void shuffled(const zf_search_space *space, uint32_t size, uint32_t number, zf_search_point *out) {
    uint32_t step = (uint32_t)(size * 0.618) + 1;
    while (greatest_common(size, step) != 1) step++;
    zf_search_combination(space, (uint32_t)((uint64_t)number * step % size), out);
}

/// Whether code under that bound is other code than without one.
static bool can_differ(const zf_tune_kernel *kernel, const zf_search_point *point) {
    const zf_search_axis *axis = &kernel->space.axes[REGISTERS];
    zf_search_point free = *point;
    free.at[REGISTERS] = 0;
    const zf_search_try *seen = zf_tune_find(kernel, &free);
    return seen != NULL && axis->values[point->at[REGISTERS]] < seen->reading.registers;
}

static unsigned pass_of(const zf_search_axis *axis, uint32_t at) {
    if (axis->count == 0 || at == axis->otherwise) return BY_DEFAULT;
    return axis->values[at] == 0 ? WITHOUT_BOUND : BOUNDS;
}

bool zf_tune_next_of_all(zf_tune_all *all, const zf_tune_kernel *kernel, zf_search_point *out) {
    const zf_search_space *space = &kernel->space;
    zf_search_point by_default = zf_search_default(space);
    *out = by_default;
    if (kernel->count == 0) return true; // first, since all else is compared with it, however little time there is
    if (next_again(kernel, out)) return true;
    uint32_t size = size_of(space);
    for (; all->pass < PASSES; all->pass++, all->number = 0) {
        while (all->number < size) {
            shuffled(space, size, all->number++, out);
            if (pass_of(&space->axes[REGISTERS], out->at[REGISTERS]) != all->pass || zf_search_same(out, &by_default)) continue;
            if (space->legal != NULL && !space->legal(space->user, out)) continue;
            if (all->pass != BOUNDS || can_differ(kernel, out)) return true;
        }
    }
    return false;
}

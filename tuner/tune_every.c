// Every combination of a kernel that can differ. There may be more of them than there is time: of one bound on registers after
// the other, that of the default first, they come in an order of which any beginning is a fair sample.
#include "tuner/tuner.h"

enum { REGISTERS = ZF_CHOICE_REGISTERS };

/// Repeats three combinations until each has ZF_SEARCH_SETTLED readings: the fastest, since the least of hundreds of readings is
/// too short by chance; the default, since the GPU may have been idle before its first reading; and the known one.
static bool next_again(const zf_tune_kernel *kernel, zf_search_point *out) {
    const zf_search_space *space = &kernel->space;
    const zf_search_try *doubted[] = {zf_tune_fastest(kernel), &kernel->tries[0],
                                      space->has_known ? zf_tune_find(kernel, &space->known) : NULL};
    for (int d = 0; d < 3; d++) {
        if (doubted[d] == NULL || !doubted[d]->reading.ran || doubted[d]->count >= ZF_SEARCH_SETTLED) continue;
        *out = doubted[d]->point;
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

/// Steps by the golden ratio of how many there are come to each once, and to all parts of them early.
static uint32_t step_of(uint32_t size) {
    uint32_t step = (uint32_t)(size * 0.618) + 1;
    while (greatest_common(size, step) != 1) step++;
    return step;
}

/// The place of a bound among those that passes are made of: that of the default, then the others by size.
static uint32_t bound_of_pass(const zf_search_axis *axis, uint32_t pass) {
    if (pass == 0) return axis->default_index;
    return pass <= axis->default_index ? pass - 1 : pass;
}

/// The next that was not measured, nor is the same code as what was.
static bool next_new(zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out) {
    const zf_search_space *space = &kernel->space;
    const zf_search_axis *bounds = &space->axes[REGISTERS];
    const zf_search_reading *first =
        &kernel->tries[0].reading; // of the emulator it has no registers; where it did not run nobody knows
    bool has_bounds = bounds->count > 0 && !(first->ran && first->registers == 0);
    zf_search_space others = *space; // all axes but that of bounds, of which each pass has one
    others.axes[REGISTERS].count = 0;
    uint32_t size = size_of(&others), step = step_of(size), passes = has_bounds ? bounds->count : 1;
    for (; every->pass < passes; every->pass++, every->number = 0) {
        while (every->number < size) {
            zf_search_combination(&others, (uint32_t)((uint64_t)every->number++ * step % size), out);
            if (bounds->count > 0) out->at[REGISTERS] = (uint8_t)bound_of_pass(bounds, every->pass);
            if (zf_tune_find(kernel, out) != NULL || zf_tune_same_code(kernel, out) != NULL) continue;
            if (space->legal == NULL || space->legal(space->user, out)) return true;
        }
    }
    return false;
}

bool zf_tune_every_next(zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out) {
    const zf_search_space *space = &kernel->space;
    *out = zf_search_default(space);
    if (kernel->count == 0) return true; // first, since all else is compared with it, however little time there is
    if (space->has_known && zf_tune_find(kernel, &space->known) == NULL) {
        *out = space->known;
        if (space->legal == NULL || space->legal(space->user, out)) return true;
    }
    return next_again(kernel, out) || next_new(every, kernel, out);
}

uint32_t zf_tune_every_coming(const zf_tune_every *every, const zf_tune_kernel *kernel, zf_search_point *out, uint32_t most) {
    zf_tune_every coming = *every;
    uint32_t count = 0;
    while (kernel->count > 0 && count < most && next_new(&coming, kernel, &out[count])) count++;
    return count;
}

const zf_search_try *zf_tune_every_best(const zf_tune_kernel *kernel) {
    const zf_search_try *best = NULL, *first = kernel->count > 0 ? &kernel->tries[0] : NULL;
    for (uint32_t t = 0; t < kernel->count; t++) {
        const zf_search_try *seen = &kernel->tries[t];
        if (!seen->reading.ran || seen->count < ZF_SEARCH_SETTLED) continue;
        if (best == NULL || seen->reading.seconds < best->reading.seconds) best = seen;
    }
    if (first == NULL || !first->reading.ran) return best != NULL ? best : zf_tune_fastest(kernel);
    bool faster = best != NULL && best->reading.seconds * (1 + zf_search_noise) < first->reading.seconds;
    return faster ? best : first;
}

// Kernels as the search sees them: choices as axes, points as choices; what was measured.
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "tuner/tuner.h"

/// The role of a choice in the search, and the reason for another value where values have no order.
static const struct {
    zf_search_role role;
    const char *why;
} kinds[ZF_CHOICE_KINDS] = {
    [ZF_CHOICE_L] = {ZF_SEARCH_VECTORS, NULL},
    [ZF_CHOICE_C] = {ZF_SEARCH_ELEMENTS, NULL},
    [ZF_CHOICE_THREADS] = {ZF_SEARCH_THREADS, NULL},
    [ZF_CHOICE_REGISTERS] = {ZF_SEARCH_REGISTERS, NULL},
    [ZF_CHOICE_WALK] = {ZF_SEARCH_WAY, "another way to walk"},
    [ZF_CHOICE_STAGE] = {ZF_SEARCH_WAY, "another way to stage words"},
    [ZF_CHOICE_PREFETCH] = {ZF_SEARCH_WAY, "prefetching or not"},
    [ZF_CHOICE_TABLE] = {ZF_SEARCH_WAY, "another size of tables in shared memory"},
    [ZF_CHOICE_RECORDS] = {ZF_SEARCH_WAY, "another way to emit"},
    [ZF_CHOICE_WARPS] = {ZF_SEARCH_WAY, "other warps for a chunk"},
};
_Static_assert((int)ZF_CHOICE_KINDS <= (int)ZF_SEARCH_AXES && (int)ZF_CHOICE_VALUES + 1 <= (int)ZF_SEARCH_VALUES,
               "an axis a choice");

void zf_tune_record_free(zf_tune_record *record) {
    for (size_t k = 0; k < record->count; k++) {
        free(record->kernels[k].column);
        free(record->kernels[k].shape);
        free(record->kernels[k].tries);
    }
    free(record->kernels);
    *record = (zf_tune_record){0};
}

zf_tune_kernel *zf_tune_record_add(zf_tune_record *record, zf_error *error) {
    zf_tune_kernel *more = realloc(record->kernels, (record->count + 1) * sizeof *more);
    if (more == NULL) {
        zf_raise_no_memory(error);
        return NULL;
    }
    record->kernels = more;
    more[record->count] = (zf_tune_kernel){0};
    return &more[record->count++];
}

const zf_search_try *zf_tune_find(const zf_tune_kernel *kernel, const zf_search_point *point) {
    return zf_search_find_try(kernel->tries, kernel->count, point);
}

const zf_search_try *zf_tune_fastest(const zf_tune_kernel *kernel) { return zf_search_fastest_try(kernel->tries, kernel->count); }

const zf_search_try *zf_tune_same_code(const zf_tune_kernel *kernel, const zf_search_point *point) {
    const zf_search_axis *axis = &kernel->space.axes[ZF_CHOICE_REGISTERS];
    zf_search_point lower = *point;
    for (uint32_t at = point->at[ZF_CHOICE_REGISTERS]; axis->count > 0 && at-- > 0;) {
        lower.at[ZF_CHOICE_REGISTERS] = (uint8_t)at;
        const zf_search_try *seen = axis->values[at] > 0 ? zf_tune_find(kernel, &lower) : NULL;
        if (seen == NULL || !seen->reading.ran || seen->reading.registers == 0) continue;
        if (!zf_search_comes_to(&seen->reading, axis->values[at])) return seen;
    }
    return NULL;
}

zf_status zf_tune_note(zf_tune_kernel *kernel, const zf_search_point *point, const zf_search_reading *reading, const char *why,
                       zf_error *error) {
    const zf_search_try *known = zf_tune_find(kernel, point);
    uint32_t at = known != NULL ? (uint32_t)(known - kernel->tries) : kernel->count;
    if (known == NULL) {
        zf_search_try *more = realloc(kernel->tries, (kernel->count + 1) * sizeof *more);
        if (more == NULL) return zf_raise_no_memory(error);
        kernel->tries = more;
        more[kernel->count++] = (zf_search_try){.point = *point, .reading = *reading, .why = why};
    }
    zf_search_try *seen = &kernel->tries[at];
    seen->reading.ran = seen->reading.ran && reading->ran;
    if (reading->ran) zf_search_add(seen, reading->seconds);
    return ZF_OK;
}

void zf_tune_axes(const zf_choice_space *choices, zf_search_space *out) {
    out->axis_count = ZF_CHOICE_KINDS;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        zf_search_axis *axis = &out->axes[k];
        *axis = (zf_search_axis){.role = kinds[k].role, .why = kinds[k].why};
        if (choices->counts[k] == 0) continue;
        bool known = zf_is_chosen(&choices->defaults, (zf_choice_kind)k);
        uint32_t by_default = known ? choices->defaults.values[k] : 0;
        bool there = false; // among the values; what is not comes in between
        for (uint32_t v = 0; v < choices->counts[k]; v++) there |= choices->values[k][v] == by_default;
        for (uint32_t v = 0; v < choices->counts[k]; v++) {
            if (!there && choices->values[k][v] > by_default) {
                axis->values[axis->count++] = by_default;
                there = true;
            }
            axis->values[axis->count++] = choices->values[k][v];
        }
        if (!there) axis->values[axis->count++] = by_default;
        while (axis->values[axis->default_index] != by_default) axis->default_index++;
    }
}

static bool is_value(const zf_search_space *space, const zf_search_point *point, zf_choice_kind kind, uint32_t value) {
    const zf_search_axis *axis = &space->axes[kind];
    return axis->count > 0 && axis->values[point->at[kind]] == value;
}

// A default that the kernel has not, beside others, is not chosen. How many chunks one thread walks: one, whatever is usual where
// a warp does; how many warps a chunk has that one thread walks, or one warp without records; how many threads a thread block
// has that is the warps of a chunk.
static bool is_no_choice(const zf_search_space *space, const zf_search_point *point, unsigned kind) {
    bool alone = is_value(space, point, ZF_CHOICE_WALK, 1), usual = point->at[kind] == space->axes[kind].default_index;
    bool several = space->axes[ZF_CHOICE_WARPS].count > 0 && !is_value(space, point, ZF_CHOICE_WARPS, 1);
    bool without = alone || is_value(space, point, ZF_CHOICE_RECORDS, 0);
    if (!usual) return false;
    return kind == ZF_CHOICE_L ? alone : kind == ZF_CHOICE_WARPS ? without : kind == ZF_CHOICE_THREADS && several && !without;
}

// `all`: also what is so by default.
static zf_choice choice_of(const zf_search_space *space, const zf_search_point *point, bool all) {
    zf_choice choice = {0};
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_search_axis *axis = &space->axes[k];
        if (axis->count == 0 || (!all && point->at[k] == axis->default_index) || is_no_choice(space, point, k)) continue;
        uint32_t value = axis->values[point->at[k]];
        bool own = k == ZF_CHOICE_L && value == 0; // of a scan, which has no number
        if (!own) zf_choose(&choice, (zf_choice_kind)k, value);
    }
    return choice;
}

// Where threads are chosen a chunk has one warp, so that several must be said.
zf_choice zf_tune_choice(const zf_search_space *space, const zf_search_point *point) {
    const zf_search_axis *walk = &space->axes[ZF_CHOICE_WALK], *warps = &space->axes[ZF_CHOICE_WARPS];
    bool walks = walk->count > 0 && point->at[ZF_CHOICE_WALK] != walk->default_index;
    return choice_of(space, point, walks || (warps->count > 0 && warps->values[warps->default_index] > 1));
}

zf_choice zf_tune_choice_kept(const zf_search_space *space, const zf_search_point *point) {
    zf_search_point by_default = zf_search_default(space);
    return zf_search_same(point, &by_default) ? (zf_choice){0} : choice_of(space, point, true);
}

bool zf_tune_point(const zf_search_space *space, const zf_choice *choice, zf_search_point *out) {
    *out = zf_search_default(space);
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_search_axis *axis = &space->axes[k];
        if (!zf_is_chosen(choice, (zf_choice_kind)k)) continue;
        uint32_t v = 0;
        while (v < axis->count && axis->values[v] != choice->values[k]) v++;
        if (v == axis->count) return false;
        out->at[k] = (uint8_t)v;
    }
    return true;
}

void zf_tune_point_text(const zf_search_space *space, const zf_search_point *point, zf_text *out) {
    zf_choice choice = zf_tune_choice(space, point);
    zf_choice_text(&choice, out);
}

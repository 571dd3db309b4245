// Kernels as the search sees them: choices as axes, points as choices; what was measured.
#include <stdlib.h>
#include <string.h>

#include "frontend/driver/driver_codes.h"
#include "frontend/driver/tuning.h"

static const zf_tune_role roles[ZF_CHOICE_KINDS] = {
    [ZF_CHOICE_L] = ZF_TUNE_VECTORS,           [ZF_CHOICE_C] = ZF_TUNE_VECTORS, [ZF_CHOICE_THREADS] = ZF_TUNE_THREADS,
    [ZF_CHOICE_REGISTERS] = ZF_TUNE_REGISTERS, [ZF_CHOICE_WALK] = ZF_TUNE_WAY,  [ZF_CHOICE_STAGE] = ZF_TUNE_WAY};
_Static_assert((int)ZF_CHOICE_KINDS <= (int)ZF_TUNE_AXES && (int)ZF_CHOICE_VALUES + 1 <= (int)ZF_TUNE_VALUES, "an axis a choice");

static zf_status no_memory(zf_error *error) { return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory"); }

void zf_tuning_free(zf_tuning *tuning) {
    for (size_t k = 0; k < tuning->count; k++) {
        free(tuning->kernels[k].column);
        free(tuning->kernels[k].shape);
        free(tuning->kernels[k].tries);
    }
    free(tuning->kernels);
    *tuning = (zf_tuning){0};
}

zf_tuning_kernel *zf_tuning_add(zf_tuning *tuning, zf_error *error) {
    zf_tuning_kernel *more = realloc(tuning->kernels, (tuning->count + 1) * sizeof *more);
    if (more == NULL) {
        no_memory(error);
        return NULL;
    }
    tuning->kernels = more;
    more[tuning->count] = (zf_tuning_kernel){0};
    return &more[tuning->count++];
}

const zf_tune_try *zf_tuning_find(const zf_tuning_kernel *kernel, const zf_tune_point *point) {
    for (uint32_t t = 0; t < kernel->count; t++) {
        if (zf_tune_same(&kernel->tries[t].point, point)) return &kernel->tries[t];
    }
    return NULL;
}

zf_status zf_tuning_note(zf_tuning_kernel *kernel, const zf_tune_point *point, const zf_tune_reading *reading, const char *why,
                         zf_error *error) {
    uint32_t at = 0;
    while (at < kernel->count && !zf_tune_same(&kernel->tries[at].point, point)) at++;
    if (at == kernel->count) {
        zf_tune_try *more = realloc(kernel->tries, (kernel->count + 1) * sizeof *more);
        if (more == NULL) return no_memory(error);
        kernel->tries = more;
        more[kernel->count++] = (zf_tune_try){.point = *point, .reading = *reading, .why = why};
    }
    zf_tune_try *seen = &kernel->tries[at];
    if (reading->ran && seen->count < ZF_TUNE_READINGS) seen->seconds[seen->count++] = reading->seconds;
    return ZF_OK;
}

void zf_tuning_axes(const zf_choice_space *choices, zf_tune_space *out) {
    out->axis_count = ZF_CHOICE_KINDS;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        zf_tune_axis *axis = &out->axes[k];
        *axis = (zf_tune_axis){.role = roles[k]};
        if (choices->counts[k] == 0) continue;
        bool known = zf_is_chosen(&choices->otherwise, (zf_choice_kind)k);
        uint32_t by_default = known ? choices->otherwise.values[k] : 0;
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
        while (axis->values[axis->otherwise] != by_default) axis->otherwise++;
    }
}

zf_choice zf_tuning_choice(const zf_tune_space *space, const zf_tune_point *point) {
    zf_choice choice = {0};
    const zf_tune_axis *walk = &space->axes[ZF_CHOICE_WALK];
    bool all = walk->count > 0 && point->at[ZF_CHOICE_WALK] != walk->otherwise;
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_tune_axis *axis = &space->axes[k];
        if (axis->count == 0 || (!all && point->at[k] == axis->otherwise)) continue;
        uint32_t value = axis->values[point->at[k]];
        if (value > 0 || k == ZF_CHOICE_REGISTERS) zf_choose(&choice, (zf_choice_kind)k, value);
    }
    return choice;
}

bool zf_tuning_point(const zf_tune_space *space, const zf_choice *choice, zf_tune_point *out) {
    *out = zf_tune_default(space);
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        const zf_tune_axis *axis = &space->axes[k];
        if (!zf_is_chosen(choice, (zf_choice_kind)k)) continue;
        uint32_t v = 0;
        while (v < axis->count && axis->values[v] != choice->values[k]) v++;
        if (v == axis->count) return false;
        out->at[k] = (uint8_t)v;
    }
    return true;
}

void zf_tuning_point_text(const zf_tune_space *space, const zf_tune_point *point, zf_text *out) {
    zf_choice choice = zf_tuning_choice(space, point);
    const char *between = "";
    if (choice.chosen == 0) zf_text_puts(out, "default");
    for (unsigned k = 0; k < ZF_CHOICE_KINDS; k++) {
        if (!zf_is_chosen(&choice, (zf_choice_kind)k)) continue;
        zf_text_printf(out, "%s%s=%u", between, zf_choice_names[k], choice.values[k]);
        between = ",";
    }
}

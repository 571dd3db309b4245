#include "codegen/simt/forms/forms.h"

#include "codegen/codegen.h"
#include "codegen/simt/simt.h"
#include "codegen/simt/simt_text.h"
#include "frontend/check/checker.h"

static const zf_form forms[] = {
#define ZF_FORM(ID, name, slow, parallel, use, tile, codecs)                                                                     \
    {#name, use, tile, parallel, zf_form_##name##_fits, zf_form_##name##_shape, zf_form_##name##_choices, zf_form_##name##_emit, \
     slow},
#include "codegen/simt/forms/forms.def"
#undef ZF_FORM
};

const zf_form *zf_form_of(zf_simt_form form) { return &forms[form]; }

static zf_simt_form form_of(const zf_plan *plan, const zf_kernel *kernel) {
    unsigned form = 0;
    while (form < ZF_SIMT_SEQUENTIAL && !forms[form].fits(plan, kernel)) form++;
    return (zf_simt_form)form;
}

zf_simt_shape zf_simt_shape_of(const zf_plan *plan, const zf_kernel *kernel) {
    zf_simt_form form = form_of(plan, kernel);
    zf_simt_shape shape = forms[form].shape(plan, kernel);
    shape.form = form;
    shape.warp = form == ZF_SIMT_LANES ? ZF_LANES_LIMIT : plan->target->wave; // no program has more lanes
    uint32_t usual = zf_codegen_registers_within(shape.registers, shape.threads);
    shape.registers = zf_choice_value(&kernel->choice, ZF_CHOICE_REGISTERS, usual);
    shape.prefetch = zf_choice_value(&kernel->choice, ZF_CHOICE_PREFETCH, shape.prefetch) != 0;
    return shape;
}

// ---- Facts that decide about forms ----------------------------------------------------------------------------

zf_form_steps zf_form_steps_of(const zf_plan *plan, const zf_kernel *kernel) {
    zf_form_steps of = {.warp = true};
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind == ZF_STEP_EXPAND) of.expansions++;
        if (kernel->steps[s].kind != ZF_STEP_SCAN) continue;
        of.scans = true;
        of.segmented = of.segmented || kernel->steps[s].reduce->form == ZF_R_SEGMENTED;
        of.warp = of.warp && zf_simt_scans(plan, kernel, kernel->steps[s].reduce);
    }
    return of;
}

uint32_t zf_form_row(const zf_plan *plan, const zf_kernel *kernel) {
    return plan->target->wave * zf_simt_lane_count(zf_simt_type_of(plan, kernel));
}

bool zf_form_makes_elements(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->domain == ZF_DOMAIN_ELEMENTS && kernel->prefix == NULL && zf_form_steps_of(plan, kernel).expansions == 0;
}

bool zf_form_makes_groups(const zf_plan *plan, const zf_kernel *kernel) {
    zf_form_steps steps = zf_form_steps_of(plan, kernel);
    return kernel->domain == ZF_DOMAIN_GROUPS && steps.expansions == 1 && !steps.scans;
}

uint32_t zf_form_text_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    bool is_text = zf_simt_delivers_text(zf_simt_type_of(plan, kernel), kernel);
    return is_text && zf_plan_characters(plan) == NULL ? zf_simt_text_bytes(plan->target->wave) : 0;
}

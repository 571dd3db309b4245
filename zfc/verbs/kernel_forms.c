// Asks codegen for the forms of a plan's kernels. patterns/plan/explain_form.c prints them.
#include "zfc/verbs/kernel_forms.h"

#include "codegen/codegen.h"

const zf_explain_form *zf_kernel_forms(const zf_plan *plan) {
    if (plan->target->wave == 0) return NULL;
    zf_explain_form *forms = ZF_NEW_ARRAY(plan->arena, zf_explain_form, plan->kernel_count);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        zf_codegen_form_info info;
        if (!zf_codegen_form(plan, &plan->kernels[k], &info)) return NULL;
        forms[k] = (zf_explain_form){info.name, info.tile, info.parallel, info.node,  info.why,
                                     info.hint, info.walk, info.walk_why, info.warps, info.warps_why};
    }
    return forms;
}

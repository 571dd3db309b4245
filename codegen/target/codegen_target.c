// The table of targets: how code is made for each row of patterns/plan/targets.def.
#include "codegen/target/codegen_target.h"

#include "codegen/body/cg_emit.h"

const zf_cg_target *zf_cg_target_of(const zf_target *target) {
    static const zf_cg_target *const table[] = {
#define TARGET(identifier, ...) &zf_cg_target_##identifier,
#include "patterns/plan/targets.def"
#undef TARGET
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (table[k]->is == target) return table[k];
    }
    return NULL;
}

void zf_cg_aim(zf_cg *cg, const zf_target *target) {
    cg->target = zf_cg_target_of(target);
    cg->wave = target->wave;
    cg->aligned_loads = cg->target->aligned_loads;
}

void zf_cg_tie(zf_cg *cg, LLVMValueRef v_zero, LLVMValueRef *v_values, unsigned count) {
    LLVMValueRef v_all = NULL;
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef v_some = zf_cg_resize(cg, LLVMBuildFreeze(cg->builder, v_values[k], ""), cg->ty_i32, false);
        v_all = v_all == NULL ? v_some : zf_cg_or(cg, v_all, v_some);
    }
    LLVMValueRef v_none = zf_cg_and(cg, v_all, v_zero), v_never = zf_cg_icmp(cg, LLVMIntNE, v_none, zf_cg_i32(cg, 0));
    for (unsigned k = 0; k < count; k++) {
        LLVMTypeRef ty = LLVMTypeOf(v_values[k]);
        v_values[k] = zf_cg_or(cg, v_values[k], ty == cg->ty_i1 ? v_never : zf_cg_resize(cg, v_none, ty, false));
    }
}

// Checks that are put off (cg_put_off.h).
#include "codegen/body/cg_put_off.h"

#include "codegen/body/cg_emit.h"

// a, and b where that holds: nothing that b is made of counts where a does not hold.
static LLVMValueRef and_then(zf_cg *cg, LLVMValueRef v_a, LLVMValueRef v_b) {
    return zf_cg_select(cg, v_a, v_b, zf_cg_i1(cg, false));
}

void zf_cg_put_off_begin(zf_cg *cg, zf_cg_put_off *checks, const LLVMBasicBlockRef *bb_stop) {
    *checks = (zf_cg_put_off){.v_turns = zf_cg_alloca(cg, cg->ty_i1, "turns_left"), .bb_stop = bb_stop};
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), checks->v_turns);
}

void zf_cg_put_off_check(zf_cg *cg, LLVMValueRef v_ok) {
    zf_cg_put_off *checks = cg->put_off;
    checks->v_ok = checks->v_ok == NULL ? v_ok : and_then(cg, checks->v_ok, v_ok);
}

void zf_cg_put_off_turns(zf_cg *cg, LLVMValueRef v_left) {
    LLVMValueRef v_turns = cg->put_off->v_turns, v_before = LLVMBuildLoad2(cg->builder, cg->ty_i1, v_turns, "");
    LLVMBuildStore(cg->builder, and_then(cg, v_before, v_left), v_turns);
}

LLVMValueRef zf_cg_put_off_take(zf_cg *cg) {
    zf_cg_put_off *checks = cg->put_off;
    if (checks == NULL || checks->v_ok == NULL) return NULL;
    LLVMValueRef v_ok = and_then(cg, checks->v_ok, LLVMBuildLoad2(cg->builder, cg->ty_i1, checks->v_turns, ""));
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), checks->v_turns);
    checks->v_ok = NULL;
    return v_ok;
}

void zf_cg_settle_all(zf_cg *cg) {
    LLVMValueRef v_ok = zf_cg_put_off_take(cg);
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "settled");
    LLVMMoveBasicBlockAfter(bb_on, zf_cg_here(cg));
    zf_cg_cond_br(cg, v_ok, bb_on, *cg->put_off->bb_stop);
    zf_cg_enter(cg, bb_on);
}

void zf_cg_settle_turns(zf_cg *cg) {
    if (cg->put_off == NULL) return;
    if (cg->put_off->v_ok == NULL) cg->put_off->v_ok = zf_cg_i1(cg, true);
    zf_cg_settle_all(cg);
}

// Scans of a strip along the outputs, in three loops: the terms (which vectorises), the running combination over them, and
// whatever uses its values (which vectorises again).
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_scan.h"

static void strip_terms(zf_kernel_build *lower, zf_strip *strip, zf_running *r) {
    zf_cg *cg = lower->cg;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, ZF_STRIP), "term");
    zf_kernel_env env = zf_lower_env_make(lower, r->node);
    env.strip = strip;
    strip->v_k = loop.v_i;
    env.v_i = zf_cg_add(cg, strip->v_start, loop.v_i);
    LLVMValueRef v_term = zf_lower_scan_minded_term(&env, r->reduce, env.v_i);
    LLVMTypeRef ty = zf_cg_memory_type(cg, r->type);
    zf_lower_scan_store(cg, r->type, v_term, zf_cg_at(cg, ty, r->v_values, loop.v_i));
    zf_cg_loop_end(cg, &loop);
}

// The running combination of the terms, in place, an element at a time.
static void strip_combine(zf_kernel_build *lower, zf_strip *strip, zf_running *r) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, r->type), ty_register = zf_cg_type(cg, r->type);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, ZF_STRIP), "scan");
    LLVMValueRef v_place = zf_cg_at(cg, ty, r->v_values, loop.v_i);
    LLVMValueRef v_term = LLVMBuildLoad2(cg->builder, ty, v_place, "");
    if (r->type.kind == ZF_K_BOOL) v_term = zf_cg_resize(cg, v_term, cg->ty_i1, false);
    LLVMValueRef v_index = zf_cg_add(cg, strip->v_start, loop.v_i);
    LLVMValueRef v_at = zf_lower_scan_at(cg, r, LLVMBuildLoad2(cg->builder, ty_register, r->v_acc, ""), v_index);
    LLVMValueRef v_behind = zf_lower_scan_behind(cg, r, v_at, v_term, v_index);
    LLVMBuildStore(cg->builder, v_behind, r->v_acc);
    zf_lower_scan_store(cg, r->type, r->reduce->inclusive ? v_behind : v_at, v_place);
    zf_cg_loop_end(cg, &loop);
}

// Sums and xors of integers, by vectors: log2(lanes) shifts and additions give the sums within a vector, then the sum so far is
// added to all of it.
static bool vectorises(const zf_running *r) {
    bool additive = r->reduce->op == ZF_RED_SUM || r->reduce->op == ZF_RED_XOR;
    return additive && r->reduce->form == ZF_R_SCAN && zf_kind_is_integer(r->type.kind);
}

static void strip_combine_vectors(zf_kernel_build *lower, zf_running *r) {
    zf_cg *cg = lower->cg;
    unsigned lanes = 512 / zf_kind_bits(r->type.kind), size = zf_kind_size(r->type.kind);
    if (lanes > ZF_STRIP / 2) lanes = ZF_STRIP / 2;
    LLVMTypeRef ty = zf_cg_type(cg, r->type), ty_vector = LLVMVectorType(ty, lanes);
    LLVMValueRef v_zero = LLVMConstNull(ty_vector), v_mask[64];
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, ty, r->v_acc, "");
    for (unsigned from = 0; from < ZF_STRIP; from += lanes) {
        LLVMValueRef v_place = zf_cg_byte_at(cg, r->v_values, (uint64_t)from * size);
        LLVMValueRef v = zf_cg_load(cg, ty_vector, v_place, lanes * size);
        for (unsigned step = 1; step < lanes; step *= 2) {
            // Lane k gets lane k - step, or 0.
            for (unsigned k = 0; k < lanes; k++) v_mask[k] = zf_cg_i32(cg, k < step ? lanes + k : k - step);
            LLVMValueRef v_moved = LLVMBuildShuffleVector(cg->builder, v, v_zero, LLVMConstVector(v_mask, lanes), "");
            v = zf_cg_reduce_combine(cg, r->reduce->op, r->type, v, v_moved);
        }
        LLVMValueRef v_total = LLVMBuildExtractElement(cg->builder, v, zf_cg_i32(cg, lanes - 1), "");
        if (!r->reduce->inclusive) {
            for (unsigned k = 0; k < lanes; k++) v_mask[k] = zf_cg_i32(cg, k == 0 ? lanes : k - 1);
            v = LLVMBuildShuffleVector(cg->builder, v, v_zero, LLVMConstVector(v_mask, lanes), "");
        }
        LLVMValueRef v_all = LLVMBuildInsertElement(cg->builder, LLVMGetPoison(ty_vector), v_acc, zf_cg_i32(cg, 0), "");
        for (unsigned k = 0; k < lanes; k++) v_mask[k] = zf_cg_i32(cg, 0);
        v_all = LLVMBuildShuffleVector(cg->builder, v_all, v_zero, LLVMConstVector(v_mask, lanes), "");
        zf_cg_store(cg, zf_cg_reduce_combine(cg, r->reduce->op, r->type, v, v_all), v_place, lanes * size);
        v_acc = zf_cg_reduce_combine(cg, r->reduce->op, r->type, v_acc, v_total);
    }
    LLVMBuildStore(cg->builder, v_acc, r->v_acc);
}

void zf_lower_scans_strip(zf_kernel_build *lower, zf_strip *strip) {
    for (uint32_t k = 0; k < lower->running_count; k++) {
        zf_running *r = &lower->runnings[k];
        strip_terms(lower, strip, r);
        if (vectorises(r))
            strip_combine_vectors(lower, r);
        else
            strip_combine(lower, strip, r);
    }
}

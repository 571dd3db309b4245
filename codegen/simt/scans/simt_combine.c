// Combines the partial scans of a warp's lanes by shuffles: for scans along the elements (form_scan.c), along groups
// (form_groups.c) and of segments (simt_segments.c).
#include "codegen/body/cg_frame.h"
#include "codegen/simt/groups/simt_tree.h"

#include "codegen/kernel/kernel_scan.h"

LLVMValueRef zf_simt_combine(zf_cg *cg, const zf_running *running, LLVMValueRef v_a, LLVMValueRef v_b) {
    return zf_cg_reduce_combine(cg, running->reduce->op, running->type, v_a, v_b);
}

LLVMValueRef zf_simt_scan_identity(zf_cg *cg, const zf_running *running) {
    zf_reduce_op op = running->reduce->op;
    if (op != ZF_RED_MIN && op != ZF_RED_MAX) return zf_cg_reduce_empty(cg, op, running->type);
    zf_interval all = zf_interval_of_kind(running->type.kind);
    return zf_cg_const(cg, running->type, zf_bits_of_value(running->type.kind, op == ZF_RED_MAX ? all.lo : all.hi));
}

// Whether the sums of a row's terms fit into 31 bits, though the scan's type is wider: each shuffle moves 32.
static bool is_narrow(const zf_cg *cg, const zf_running *running) {
    const zf_interval terms = running->reduce->term->range;
    zf_int128 most = INT32_MAX / (zf_int128)(cg->wave * ZF_NEIGHBOURS);
    if (running->reduce->op != ZF_RED_SUM || !zf_kind_is_integer(running->type.kind)) return false;
    return zf_kind_size(running->type.kind) > 4 && terms.lo >= 0 && terms.hi <= most;
}

static void combine_narrow_rows(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_lane, unsigned count,
                                const LLVMValueRef *v_own, LLVMValueRef *v_before) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_type(cg, running->type);
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, ty, running->v_acc, "");
    for (unsigned r = 0; r < count; r++) {
        LLVMValueRef v = zf_cg_resize(cg, v_own[r], cg->ty_i32, false), v_up = zf_simt_scan_warp(lower, v, v_lane);
        LLVMValueRef v_all = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
        v_before[r] = zf_cg_add(cg, v_acc, zf_cg_resize(cg, zf_cg_sub(cg, v_up, v), ty, false));
        v_acc = zf_cg_add(cg, v_acc, zf_cg_resize(cg, v_all, ty, false));
    }
    LLVMBuildStore(cg->builder, v_acc, running->v_acc);
}

void zf_simt_combine_rows(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_lane, unsigned count,
                          const LLVMValueRef *v_anew, const LLVMValueRef *v_own, LLVMValueRef *v_before) {
    zf_cg *cg = lower->cg;
    if (v_anew == NULL && is_narrow(cg, running)) {
        combine_narrow_rows(lower, running, v_lane, count, v_own, v_before);
        return;
    }
    LLVMValueRef v_up[ZF_SIMT_BATCH], v_all[ZF_SIMT_BATCH];
    bool adds_up = running->reduce->op == ZF_RED_SUM && zf_simt_adds_up(lower, zf_cg_type(cg, running->type));
    for (unsigned r = 0; r < count; r++) v_up[r] = v_own[r];
    for (uint32_t step = 1; step < cg->wave; step *= 2) {
        if (adds_up) {
            for (unsigned r = 0; r < count; r++) v_up[r] = cg->target->simt->add_up(cg, v_up[r], step);
            continue;
        }
        LLVMValueRef v_from = zf_simt_lane_before(lower, v_lane, step);
        LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntUGE, v_lane, zf_cg_i32(cg, step)), v_other[ZF_SIMT_BATCH];
        v_has = zf_cg_holds(cg, ZF_SITE_MASK, v_has, "lanes that have one before them");
        for (unsigned r = 0; r < count; r++) v_other[r] = zf_simt_shuffle(lower, v_up[r], v_from);
        for (unsigned r = 0; r < count; r++) {
            v_up[r] = zf_cg_select(cg, v_has, zf_simt_combine(cg, running, v_other[r], v_up[r]), v_up[r]);
        }
    }
    LLVMValueRef v_lower = zf_simt_lane_before(lower, v_lane, 1), v_identity = zf_simt_scan_identity(cg, running);
    LLVMValueRef v_first_lane = zf_cg_icmp(cg, LLVMIntEQ, v_lane, zf_cg_i32(cg, 0));
    v_first_lane = zf_cg_apart(cg, ZF_SITE_MASK, v_first_lane, "the first lane");
    for (unsigned r = 0; r < count; r++) v_before[r] = zf_simt_shuffle(lower, v_up[r], v_lower);
    for (unsigned r = 0; r < count; r++) v_all[r] = zf_simt_shuffle(lower, v_up[r], zf_cg_i32(cg, cg->wave - 1));
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, running->type), running->v_acc, "");
    for (unsigned r = 0; r < count; r++) {
        if (v_anew != NULL) v_acc = zf_cg_select(cg, v_anew[r], v_identity, v_acc);
        v_before[r] = zf_simt_combine(cg, running, v_acc, zf_cg_select(cg, v_first_lane, v_identity, v_before[r]));
        v_acc = zf_simt_combine(cg, running, v_acc, v_all[r]);
    }
    LLVMBuildStore(cg->builder, v_acc, running->v_acc);
}

LLVMValueRef zf_simt_terms(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    if (running->reduce->inclusive) return v_count;
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_count, zf_cg_i64(cg, 0));
    v_some = zf_cg_edge(cg, v_some, "the last term, which is no element's");
    return zf_cg_sub(cg, v_count, zf_cg_resize(cg, v_some, cg->ty_i64, false));
}

LLVMValueRef zf_simt_scan_value(zf_cg *cg, const zf_running *running, LLVMValueRef v_index, LLVMValueRef v) {
    const zf_reduce *reduce = running->reduce;
    bool empty_is_zero = reduce->op == ZF_RED_MIN || reduce->op == ZF_RED_MAX;
    if (empty_is_zero && reduce->form == ZF_R_SEGMENTED) {
        v = zf_cg_select(cg, zf_simt_segment_empty(cg, reduce, v_index), LLVMConstNull(LLVMTypeOf(v)), v);
    } else if (empty_is_zero && !reduce->inclusive) {
        LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_index, zf_cg_i64(cg, 0));
        v = zf_cg_select(cg, v_none, LLVMConstNull(LLVMTypeOf(v)), v);
    }
    return running->type.kind == ZF_K_BOOL ? zf_cg_resize(cg, v, cg->ty_i8, false) : v;
}

LLVMValueRef zf_simt_scan_start(zf_kernel_build *lower, const zf_running *running, LLVMValueRef *v_next) {
    zf_cg *cg = lower->cg;
    // Before the block's first element there is nothing, which of minima is no value.
    LLVMValueRef v_acc = zf_simt_scan_identity(cg, running);
    *v_next = NULL;
    if (running->field >= 0) {
        v_acc = zf_simt_seek(lower, (uint32_t)running->field, zf_cg_to_word(cg, running->type, v_acc));
        v_acc = zf_cg_from_word(cg, running->type, v_acc);
        *v_next = zf_simt_seek_next(lower, (uint32_t)running->field, zf_cg_i64(cg, 0), "state of a scan behind the last tile");
    }
    LLVMBuildStore(cg->builder, v_acc, running->v_acc);
    return v_acc;
}

void zf_simt_scan_end(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_end, LLVMValueRef v_next) {
    zf_cg *cg = lower->cg;
    if (v_next == NULL) return;
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, 1)), lower->v_tiles);
    v_more = zf_cg_within(cg, v_more, "tiles that another follows");
    LLVMValueRef v_word = zf_lower_scan_state(lower, running, v_end);
    LLVMValueRef v_differs = zf_cg_icmp(cg, LLVMIntNE, v_word, v_next);
    zf_lower_check_end(lower, zf_cg_and(cg, v_differs, v_more), "seek state of the next tile");
}

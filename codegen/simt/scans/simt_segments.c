// Segmented scans along the elements: those that begin anew at every multiple of a constant number of elements.
//
// Rows and segments divide each other (zf_simt_segments_fit), so there are three ways: a row lies in one segment, and what was
// before it counts or not; a segment is several lanes, which shuffle among themselves; or it is part of a lane.
#include "codegen/kernel/kernel_scan.h"
#include "codegen/simt/simt.h"

bool zf_simt_segments_fit(uint32_t wave, const zf_kernel *kernel, const zf_reduce *reduce, unsigned lanes) {
    uint64_t segment = reduce->segment, row = (uint64_t)wave * lanes;
    bool empty_is_zero = reduce->op == ZF_RED_MIN || reduce->op == ZF_RED_MAX;
    if (segment >= row) // of minima a state in the file does not say whether there were any
        return segment % row == 0 && (kernel->tile % segment == 0 || !empty_is_zero);
    return segment <= lanes ? lanes % segment == 0 : segment % lanes == 0 && row % segment == 0;
}

bool zf_simt_segment_begins(const zf_reduce *reduce, unsigned k) {
    return reduce->form == ZF_R_SEGMENTED && k % reduce->segment == 0;
}

LLVMValueRef zf_simt_segment_term(zf_cg *cg, const zf_running *running, LLVMValueRef v_index, LLVMValueRef v_term) {
    const zf_reduce *reduce = running->reduce;
    if (reduce->form != ZF_R_SEGMENTED || reduce->skip == 0) return v_term;
    LLVMValueRef v_skipped = zf_cg_icmp(cg, LLVMIntULT, zf_lower_in_segment(cg, reduce, v_index), zf_cg_i64(cg, reduce->skip));
    return zf_cg_select(cg, v_skipped, zf_simt_scan_identity(cg, running), v_term);
}

LLVMValueRef zf_simt_segment_empty(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index) {
    LLVMIntPredicate none = reduce->inclusive ? LLVMIntULT : LLVMIntULE;
    return zf_cg_icmp(cg, none, zf_lower_in_segment(cg, reduce, v_index), zf_cg_i64(cg, reduce->skip));
}

void zf_simt_combine_segments(zf_kernel_build *lower, const zf_running *running, unsigned lanes, LLVMValueRef v_lane,
                              unsigned count, const LLVMValueRef *v_begins, const LLVMValueRef *v_own, LLVMValueRef *v_before) {
    zf_cg *cg = lower->cg;
    uint64_t segment = running->reduce->segment;
    LLVMValueRef v_identity = zf_simt_scan_identity(cg, running), v_anew[ZF_SIMT_BATCH], v_up[ZF_SIMT_BATCH];
    if (segment >= (uint64_t)cg->wave * lanes) {
        for (unsigned r = 0; r < count; r++) {
            v_anew[r] = zf_cg_icmp(cg, LLVMIntEQ, zf_lower_in_segment(cg, running->reduce, v_begins[r]), zf_cg_i64(cg, 0));
        }
        zf_simt_combine_rows(lower, running, v_lane, count, v_anew, v_own, v_before);
        return;
    }
    for (unsigned r = 0; r < count; r++) v_before[r] = v_identity;
    if (segment <= lanes) return;
    uint32_t width = (uint32_t)(segment / lanes);
    LLVMValueRef v_place = zf_cg_and(cg, v_lane, zf_cg_i32(cg, width - 1)); // of the lane in its segment
    for (unsigned r = 0; r < count; r++) v_up[r] = v_own[r];
    for (uint32_t step = 1; step < width; step *= 2) {
        LLVMValueRef v_from = zf_simt_lane_before(lower, v_lane, step), v_other[ZF_SIMT_BATCH];
        LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntUGE, v_place, zf_cg_i32(cg, step));
        v_has = zf_cg_holds(cg, ZF_SITE_MASK, v_has, "lanes of a segment that have one before them");
        for (unsigned r = 0; r < count; r++) v_other[r] = zf_simt_shuffle(lower, v_up[r], v_from);
        for (unsigned r = 0; r < count; r++) {
            v_up[r] = zf_cg_select(cg, v_has, zf_simt_combine(cg, running, v_other[r], v_up[r]), v_up[r]);
        }
    }
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_place, zf_cg_i32(cg, 0));
    v_first = zf_cg_apart(cg, ZF_SITE_MASK, v_first, "the first lane of a segment");
    LLVMValueRef v_lower = zf_simt_lane_before(lower, v_lane, 1);
    for (unsigned r = 0; r < count; r++) v_before[r] = zf_simt_shuffle(lower, v_up[r], v_lower);
    for (unsigned r = 0; r < count; r++) v_before[r] = zf_cg_select(cg, v_first, v_identity, v_before[r]);
}

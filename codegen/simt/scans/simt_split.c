// Differences over packed bits are `base + bits`: the base is the block's, so a sum of k of them is k times the base and a sum of
// few bits. The latter is what lanes have to tell each other, by one shuffle a step and one addition, where 64 bits take two
// of the former and four instructions.
#include "codegen/simt/scans/simt_split.h"

// Whether a value is the block's: one of its descriptor's words, or a constant.
static bool is_of_block(const zf_kernel_build *lower, LLVMValueRef v) {
    if (LLVMIsAConstantInt(v)) return true;
    for (uint32_t slot = 0; slot < lower->plan->slot_count; slot++) {
        if (lower->v_words[slot] == v) return true;
    }
    return false;
}

// The largest value of an unsigned value, by the instructions that made it.
static uint64_t most_of(LLVMValueRef v) {
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    uint64_t all = width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    if (LLVMIsAConstantInt(v)) return LLVMConstIntGetZExtValue(v);
    if (LLVMIsAZExtInst(v)) return most_of(LLVMGetOperand(v, 0));
    if (!LLVMIsAInstruction(v)) return all;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(v);
    if (opcode != LLVMAnd && opcode != LLVMLShr) return all;
    LLVMValueRef v_by = LLVMGetOperand(v, 1);
    if (!LLVMIsAConstantInt(v_by)) return all;
    uint64_t by = LLVMConstIntGetZExtValue(v_by);
    return opcode == LLVMAnd ? by : by < width ? all >> by : all;
}

bool zf_simt_split_term(zf_kernel_build *lower, const zf_running *running, unsigned lanes, LLVMValueRef v_term,
                        zf_simt_split *out) {
    zf_cg *cg = lower->cg;
    const uint64_t most = UINT32_MAX / ((uint64_t)cg->wave * lanes);
    const zf_reduce *reduce = running->reduce;
    if (reduce->op != ZF_RED_SUM || reduce->form != ZF_R_SCAN || LLVMTypeOf(v_term) != cg->ty_i64) return false;
    *out = (zf_simt_split){0};
    LLVMValueRef v_own = v_term;
    if (LLVMIsAInstruction(v_term) && LLVMGetInstructionOpcode(v_term) == LLVMAdd) {
        unsigned which = is_of_block(lower, LLVMGetOperand(v_term, 0)) ? 0 : 1;
        out->v_same = LLVMGetOperand(v_term, which);
        v_own = LLVMGetOperand(v_term, 1 - which);
        if (!is_of_block(lower, out->v_same)) return false;
    }
    if (most_of(v_own) > most) return false;
    out->v_own = zf_cg_resize(cg, v_own, cg->ty_i32, false);
    return true;
}

// v_same that many times; NULL: nothing.
static LLVMValueRef times(zf_cg *cg, LLVMValueRef v_same, LLVMValueRef v_count) {
    return v_same == NULL ? NULL : zf_cg_mul(cg, v_same, v_count);
}

static LLVMValueRef plus(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_more) { return v_more == NULL ? v : zf_cg_add(cg, v, v_more); }

void zf_simt_split_combine(zf_kernel_build *lower, const zf_running *running, unsigned lanes, LLVMValueRef v_lane, unsigned count,
                           zf_simt_split (*terms)[ZF_NEIGHBOURS], LLVMValueRef (*v_values)[ZF_NEIGHBOURS]) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_same = terms[0][0].v_same, v_sums[ZF_SIMT_BATCH][ZF_NEIGHBOURS], v_up[ZF_SIMT_BATCH];
    for (unsigned r = 0; r < count; r++) {
        for (unsigned k = 0; k < lanes; k++)
            v_sums[r][k] = k == 0 ? terms[r][0].v_own : zf_cg_add(cg, v_sums[r][k - 1], terms[r][k].v_own);
        v_up[r] = v_sums[r][lanes - 1];
    }
    zf_simt_scan_rows(lower, v_lane, count, v_up);
    LLVMValueRef v_first = zf_cg_resize(cg, zf_cg_mul(cg, v_lane, zf_cg_i32(cg, lanes)), cg->ty_i64, false);
    LLVMValueRef v_mine = times(cg, v_same, v_first), v_row = times(cg, v_same, zf_cg_i64(cg, (uint64_t)cg->wave * lanes));
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, cg->ty_i64, running->v_acc, "");
    for (unsigned r = 0; r < count; r++) {
        LLVMValueRef v_all = zf_simt_shuffle(lower, v_up[r], zf_cg_i32(cg, cg->wave - 1));
        LLVMValueRef v_before = zf_cg_sub(cg, v_up[r], v_sums[r][lanes - 1]), v_from = plus(cg, v_acc, v_mine);
        for (unsigned k = 0; k < lanes; k++) {
            unsigned terms_before = running->reduce->inclusive ? k + 1 : k;
            LLVMValueRef v = terms_before == 0 ? v_before : zf_cg_add(cg, v_before, v_sums[r][terms_before - 1]);
            LLVMValueRef v_base = plus(cg, v_from, times(cg, v_same, zf_cg_i64(cg, terms_before)));
            v_values[r][k] = zf_cg_add(cg, v_base, zf_cg_resize(cg, v, cg->ty_i64, false));
        }
        v_acc = plus(cg, zf_cg_add(cg, v_acc, zf_cg_resize(cg, v_all, cg->ty_i64, false)), v_row);
    }
    LLVMBuildStore(cg->builder, v_acc, running->v_acc);
}

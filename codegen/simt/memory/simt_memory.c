#include "codegen/simt/memory/simt_memory.h"

bool zf_simt_prefetches(const zf_cg *cg) { return cg->target->simt->prefetch != NULL; }

void zf_simt_prefetch(zf_cg *cg, LLVMValueRef v_from) {
    if (zf_simt_prefetches(cg)) cg->target->simt->prefetch(cg, v_from);
}

void zf_simt_prefetch_within(zf_cg *cg, LLVMValueRef v_from) { cg->target->simt->prefetch_within(cg, v_from); }

static LLVMTypeRef piece_type(zf_cg *cg) { return LLVMVectorType(cg->ty_i32, ZF_SIMT_PIECE / 4); }

LLVMValueRef zf_simt_piece_at(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_piece) {
    return zf_cg_at(cg, piece_type(cg), v_from, v_piece);
}

void zf_simt_copy(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from) {
    const zf_simt_ops *ops = cg->target->simt;
    if (ops->copy_ahead != NULL)
        ops->copy_ahead(cg, v_to, v_from);
    else
        zf_cg_store(cg, zf_cg_load(cg, piece_type(cg), v_from, ZF_SIMT_PIECE), v_to, ZF_SIMT_PIECE);
}

void zf_simt_copy_wait(zf_cg *cg, uint32_t pending) {
    if (cg->target->simt->await_copies != NULL) cg->target->simt->await_copies(cg, pending);
}

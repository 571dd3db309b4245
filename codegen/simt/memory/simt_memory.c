#include "codegen/simt/memory/simt_memory.h"

bool zf_simt_prefetches(const zf_cg *cg) { return cg->target->simt->prefetch != NULL; }

void zf_simt_prefetch(zf_cg *cg, LLVMValueRef v_from) {
    if (zf_simt_prefetches(cg)) cg->target->simt->prefetch(cg, v_from);
}

void zf_simt_prefetch_within(zf_cg *cg, LLVMValueRef v_from) { cg->target->simt->prefetch_within(cg, v_from); }

void zf_simt_prefetch_pieces(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_mine, LLVMValueRef v_bytes, uint64_t most,
                             uint32_t threads, void (*prefetch)(zf_cg *cg, LLVMValueRef v_from)) {
    uint64_t step = (uint64_t)ZF_SIMT_PREFETCH_PIECE * threads, rounds = (most + step - 1) / step;
    for (uint64_t r = 0; r < rounds && r < ZF_SIMT_PREFETCH_ROUNDS; r++) {
        LLVMBasicBlockRef bb_piece = zf_cg_block(cg, "piece"), bb_next = zf_cg_block(cg, "piece_next");
        LLVMValueRef v_at = zf_cg_add(cg, v_mine, zf_cg_i64(cg, r * step));
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_at, v_bytes), bb_piece, bb_next);
        zf_cg_enter(cg, bb_piece);
        prefetch(cg, zf_cg_byte_at(cg, v_from, r * step));
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

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

// Rows that wait in shared memory until a warp has enough of them for all of its lanes: what conditions leave of many.
#include "codegen/query/query_kernel.h"

enum { ENTRY = sizeof(uint16_t) }; // a row, counted from the first of the stretch

// A warp has room for what waits, fewer rows than its lanes take, and for what they add.
static uint32_t bytes_of_warp(unsigned rows) { return ZF_QUERY_LANES * (ZF_QUERY_TAKEN + rows) * ENTRY; }

uint32_t zf_query_queue_bytes(uint32_t warps, unsigned rows) { return warps * bytes_of_warp(rows); }

bool zf_query_queue_open(zf_query_build *b, zf_query_queue *queue) {
    zf_cg *cg = b->cg;
    uint32_t offset = b->queues_at, bytes = zf_query_queue_bytes(b->warps, b->count);
    if (b->queues_end - offset < bytes) return false;
    b->queues_at += bytes;
    queue->v_length = zf_cg_alloca(cg, cg->ty_i32, "queued");
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, b->bb_entry);
    LLVMValueRef v_all = cg->target->simt->shared(cg, offset, bytes);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), queue->v_length);
    zf_cg_enter(cg, bb_before);
    LLVMValueRef v_mine = zf_cg_mul(cg, zf_cg_wide(cg, b->v_warp), zf_cg_i64(cg, bytes_of_warp(b->count)));
    queue->v_rows = zf_cg_at(cg, cg->ty_i8, v_all, v_mine);
    return true;
}

// The k-th rows of all lanes go behind those before them, in the lanes' order. Ballots wait for each other less than a scan does.
void zf_query_queue_push(zf_query_build *b, const zf_query_queue *queue, const LLVMValueRef *v_masks) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_before = zf_simt_lanes_below(cg, b->v_lane), v_entry = zf_cg_i32(cg, 1);
    LLVMValueRef v_begin = zf_cg_get(cg, queue->v_length), v_end = LLVMBuildShl(cg->builder, v_begin, v_entry, ""); // bytes
    for (unsigned k = 0; k < b->count; k++) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "push"), bb_next = zf_cg_block(cg, "pushed");
        LLVMValueRef v_row = zf_cg_resize(cg, b->rows[k].v_near, cg->ty_i16, false),
                     v_set = zf_simt_ballot(&b->lower, v_masks[k]);
        LLVMValueRef v_mine = LLVMBuildShl(cg->builder, zf_simt_count_lanes(cg, zf_cg_and(cg, v_set, v_before)), v_entry, "");
        LLVMValueRef v_at = zf_cg_add(cg, v_end, v_mine);
        zf_cg_cond_br(cg, v_masks[k], bb_store, bb_next);
        zf_cg_enter(cg, bb_store);
        zf_cg_store(cg, v_row, zf_cg_at(cg, cg->ty_i8, queue->v_rows, zf_cg_wide(cg, v_at)), ENTRY);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
        v_end = zf_cg_add(cg, v_end, LLVMBuildShl(cg->builder, zf_simt_count_lanes(cg, v_set), v_entry, ""));
    }
    LLVMBuildStore(cg->builder, LLVMBuildLShr(cg->builder, v_end, v_entry, ""), queue->v_length);
    zf_simt_barrier_warp(&b->lower, "rows that wait");
}

// Takes rows for all lanes, the last ones first, while there are as many. Where v_last (i1) holds it takes all, and ends with a
// turn behind which none are left, also if there were none: queues that this one's rows go to end with it.
void zf_query_queue_begin(zf_query_build *b, zf_query_queue *queue, LLVMValueRef v_last) {
    zf_cg *cg = b->cg;
    queue->bb_head = zf_cg_block(cg, "queue_head");
    queue->bb_end = zf_cg_block(cg, "queue_end");
    LLVMBasicBlockRef bb_take = zf_cg_block(cg, "queue_take");
    LLVMValueRef v_ends = zf_cg_alloca(cg, cg->ty_i1, "ends"), v_none = zf_cg_i32(cg, 0);
    LLVMBuildStore(cg->builder, v_last, v_ends);
    zf_cg_br(cg, queue->bb_head);
    zf_cg_enter(cg, queue->bb_head);
    LLVMValueRef v_length = zf_cg_get(cg, queue->v_length), v_all = zf_cg_i32(cg, ZF_QUERY_LANES * ZF_QUERY_TAKEN);
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntUGE, v_length, v_all);
    zf_cg_cond_br(cg, zf_cg_or(cg, v_full, zf_cg_get(cg, v_ends)), bb_take, queue->bb_end);
    zf_cg_enter(cg, bb_take);
    LLVMValueRef v_count = zf_cg_umin(cg, v_length, v_all), v_rest = zf_cg_sub(cg, v_length, v_count);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_rest, v_none);
    LLVMBuildStore(cg->builder, v_rest, queue->v_length);
    LLVMBuildStore(cg->builder, zf_cg_and(cg, v_last, v_some), v_ends);
    queue->v_last = zf_cg_and(cg, v_last, zf_cg_not(cg, v_some));
    for (unsigned k = 0; k < ZF_QUERY_TAKEN; k++) {
        LLVMValueRef v_number = zf_cg_add(cg, b->v_lane, zf_cg_i32(cg, k * ZF_QUERY_LANES));
        LLVMValueRef v_mask = queue->v_masks[k] = zf_cg_icmp(cg, LLVMIntULT, v_number, v_count);
        LLVMValueRef v_at = zf_cg_select(cg, v_mask, zf_cg_add(cg, v_rest, v_number), v_none);
        LLVMValueRef v_row = zf_cg_load(cg, cg->ty_i16, zf_cg_at(cg, cg->ty_i16, queue->v_rows, zf_cg_wide(cg, v_at)), ENTRY);
        queue->v_nears[k] = zf_cg_wide(cg, zf_cg_select(cg, v_mask, v_row, LLVMConstNull(cg->ty_i16)));
    }
    zf_simt_barrier_warp(&b->lower, "rows that were taken");
}

void zf_query_queue_end(zf_query_build *b, const zf_query_queue *queue) {
    zf_cg *cg = b->cg;
    zf_cg_br(cg, queue->bb_head);
    LLVMMoveBasicBlockAfter(queue->bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, queue->bb_end);
}

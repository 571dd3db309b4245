// Pairs in a query's kernel: their numbers follow from the launch's list of first numbers, each with the pairs before its own.
#include <stddef.h>

#include "codegen/query/query_kernel.h"

LLVMValueRef zf_query_list_word(zf_query_build *b, LLVMValueRef v_list, LLVMValueRef v_place, size_t offset) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_at = zf_cg_mul(cg, v_place, zf_cg_i64(cg, sizeof(zf_query_pair_row)));
    return zf_cg_load(cg, cg->ty_i64, zf_cg_at(cg, cg->ty_i8, v_list, zf_cg_add(cg, v_at, zf_cg_i64(cg, offset))), 8);
}

LLVMValueRef zf_query_list_search(zf_query_build *b, LLVMValueRef v_list, LLVMValueRef v_number, LLVMValueRef v_low,
                                  LLVMValueRef v_high) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_one = zf_cg_i64(cg, 1);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_head = zf_cg_block(cg, "search"), bb_step = zf_cg_block(cg, "half"),
                      bb_end = zf_cg_block(cg, "found");
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    LLVMValueRef v_from = LLVMBuildPhi(cg->builder, cg->ty_i64, "from"), v_to = LLVMBuildPhi(cg->builder, cg->ty_i64, "to");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_from, v_to), bb_step, bb_end);
    zf_cg_enter(cg, bb_step);
    LLVMValueRef v_sum = zf_cg_add(cg, zf_cg_add(cg, v_from, v_to), v_one);
    LLVMValueRef v_middle = LLVMBuildLShr(cg->builder, v_sum, v_one, "");
    LLVMValueRef v_behind =
        zf_cg_icmp(cg, LLVMIntULE, zf_query_list_word(b, v_list, v_middle, offsetof(zf_query_pair_row, before)), v_number);
    LLVMValueRef v_next[2] = {zf_cg_select(cg, v_behind, v_middle, v_from),
                              zf_cg_select(cg, v_behind, v_to, zf_cg_sub(cg, v_middle, v_one))};
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_cg_br(cg, bb_head);
    LLVMAddIncoming(v_from, &v_low, &bb_before, 1);
    LLVMAddIncoming(v_to, &v_high, &bb_before, 1);
    LLVMAddIncoming(v_from, &v_next[0], &bb_last, 1);
    LLVMAddIncoming(v_to, &v_next[1], &bb_last, 1);
    LLVMMoveBasicBlockAfter(bb_end, bb_last);
    zf_cg_enter(cg, bb_end);
    return v_from;
}

static LLVMValueRef search(zf_query_build *b, LLVMValueRef v_row, LLVMValueRef v_low, LLVMValueRef v_high) {
    return zf_query_list_search(b, b->v_firsts, v_row, v_low, v_high);
}

static LLVMValueRef load(zf_query_build *b, LLVMValueRef v_place, size_t offset) {
    return zf_query_list_word(b, b->v_firsts, v_place, offset);
}

void zf_query_pairs_tile(zf_query_build *b) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_one = zf_cg_i64(cg, 1), v_all = zf_cg_sub(cg, b->v_first_count, v_one);
    LLVMValueRef v_end = zf_cg_add(cg, b->v_row0, zf_cg_i64(cg, ZF_QUERY_PAIR_TILE));
    LLVMValueRef v_last = zf_cg_sub(cg, zf_cg_umin(cg, v_end, b->v_row_end), v_one);
    b->v_near_first = search(b, b->v_row0, zf_cg_i64(cg, 0), v_all);
    b->v_far_first = search(b, v_last, b->v_near_first, v_all);
}

void zf_query_pair_bind(zf_query_build *b, zf_cg_frame *frame, LLVMValueRef v_row) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_place = search(b, v_row, b->v_near_first, b->v_far_first), v_numbers[2];
    LLVMValueRef v_nth = zf_cg_sub(cg, v_row, load(b, v_place, offsetof(zf_query_pair_row, before)));
    v_numbers[0] = zf_cg_add(cg, b->v_first_number, v_place);
    v_numbers[1] = zf_cg_add(cg, load(b, v_place, offsetof(zf_query_pair_row, lo)), v_nth);
    for (unsigned k = 0; k < 2; k++) {
        zf_cg_value value = zf_cg_scalar(zf_type_of(ZF_K_U64), v_numbers[k]);
        zf_cg_bind(cg, frame, b->query->pairs[k].local, &value);
    }
}

LLVMValueRef zf_query_pair_sum(zf_query_build *b, LLVMValueRef v_row) {
    return zf_cg_at(b->cg, b->cg->ty_i64, b->v_pair_sums, zf_cg_sub(b->cg, v_row, b->v_row_begin));
}

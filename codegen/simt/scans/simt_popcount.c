// Sums of stored bits along the outputs, as a nullable column's validity is summed up: a warp reads the bits of 32
// outputs a lane at once, and counts them by one scan. The rows that these outputs make then wait for nothing but two shuffles,
// which bring their lanes the word that holds their bits and the count before it.
#include "codegen/simt/scans/simt_popcount.h"
#include "codegen/body/cg_fault_sites.h"

// The stream whose element at the scan's own index, a stored bit, is its term; NULL: the term is something else.
static const zf_graph_edge *bits_of(const zf_kernel_build *lower, const zf_running *running) {
    const zf_reduce *reduce = running->reduce;
    const zf_expr *term = zf_expr_uncast(reduce->term);
    if (term->kind != ZF_X_INDEX || term->a->kind != ZF_X_STREAM || term->type.kind != ZF_K_BOOL) return NULL;
    if (term->b->kind != ZF_X_LOCAL || term->b->local != reduce->binders[0].local) return NULL;
    if (!term->proved && !zf_plan_is_hoisted(lower->plan, running->node, term)) return NULL;
    const zf_graph_edge *edge = zf_lower_edge(lower, running->node, term->a->port);
    return edge->type.nullable || !zf_lower_in_memory(lower, edge->index) ? NULL : edge;
}

bool zf_simt_popcount_of(zf_kernel_build *lower, const zf_running *running, unsigned lanes, zf_simt_popcount *popcount) {
    const zf_reduce *reduce = running->reduce;
    bool is_sum = reduce->op == ZF_RED_SUM && reduce->form == ZF_R_SCAN && reduce->binder_count == 1;
    if (!is_sum || !zf_kind_is_integer(running->type.kind) ||
        lower->kernel->tile % zf_simt_popcount_outputs(lower->cg->wave) != 0)
        return false;
    const zf_graph_edge *edge = bits_of(lower, running);
    if (edge == NULL) return false;
    *popcount = (zf_simt_popcount){.running = running, .edge = edge->index, .lanes = lanes};
    return true;
}

static LLVMValueRef ones(zf_cg *cg, LLVMValueRef v) {
    LLVMTypeRef ty = cg->ty_i32;
    return zf_cg_intrinsic(cg, "llvm.ctpop", &ty, 1, &v, 1);
}

void zf_simt_popcount_begin(zf_kernel_build *lower, zf_simt_popcount *popcount, LLVMValueRef v_lane, LLVMValueRef v_begin) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_word = LLVMBuildLShr(cg->builder, v_begin, zf_cg_i64(cg, 5), "");
    v_word = zf_cg_add(cg, v_word, zf_cg_resize(cg, v_lane, cg->ty_i64, false));
    popcount->v_word = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, zf_lower_pointer(lower, popcount->edge), v_word), 4);
    LLVMValueRef v_own = ones(cg, popcount->v_word), v_up = zf_simt_scan_warp(lower, v_own, v_lane);
    popcount->v_below = zf_cg_sub(cg, v_up, v_own);
    popcount->v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
}

LLVMValueRef zf_simt_popcount_row(zf_kernel_build *lower, const zf_simt_popcount *popcount, LLVMValueRef v_lane,
                                  LLVMValueRef v_row, LLVMValueRef *v_before) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef builder = cg->builder;
    LLVMValueRef v_bit = zf_cg_mul(cg, v_lane, zf_cg_i32(cg, popcount->lanes)), v_shift = zf_cg_and(cg, v_bit, zf_cg_i32(cg, 31));
    LLVMValueRef v_holder = zf_cg_mul(cg, v_row, zf_cg_i32(cg, cg->wave * popcount->lanes / 32)); // words that a row's bits fill
    v_holder = zf_cg_add(cg, v_holder, LLVMBuildLShr(builder, v_bit, zf_cg_i32(cg, 5), ""));
    LLVMValueRef v_word = zf_simt_shuffle(lower, popcount->v_word, v_holder);
    LLVMValueRef v_none = zf_cg_i32(cg, 0), v_above = LLVMBuildShl(builder, zf_cg_i32(cg, UINT32_MAX), v_shift, "");
    LLVMValueRef v_lower = zf_cg_and(cg, v_word, LLVMBuildXor(builder, v_above, zf_cg_i32(cg, UINT32_MAX), ""));
    if (zf_cg_site(cg, ZF_SITE_MASK, "bits before a lane's")) v_lower = v_none;
    *v_before = zf_cg_add(cg, zf_simt_shuffle(lower, popcount->v_below, v_holder), ones(cg, v_lower));
    return LLVMBuildLShr(builder, v_word, v_shift, "");
}

void zf_simt_popcount_values(zf_kernel_build *lower, const zf_simt_popcount *popcount, zf_simt_lanes *lanes,
                             LLVMValueRef v_before, LLVMValueRef *v_values) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_type(cg, popcount->running->type);
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, ty, popcount->running->v_acc, "");
    for (unsigned k = 0; k < lanes->count; k++) {
        LLVMValueRef v_bit = zf_simt_lane_bits(lower, lanes, k, popcount->edge, 1, 0, 1);
        LLVMValueRef v_next = zf_cg_add(cg, v_before, zf_cg_resize(cg, v_bit, cg->ty_i32, false));
        LLVMValueRef v = popcount->running->reduce->inclusive ? v_next : v_before;
        v_values[k] = zf_cg_add(cg, v_acc, zf_cg_resize(cg, v, ty, false));
        v_before = v_next;
    }
}

void zf_simt_popcount_end(zf_kernel_build *lower, const zf_simt_popcount *popcount) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_type(cg, popcount->running->type);
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, ty, popcount->running->v_acc, "");
    v_acc = zf_cg_add(cg, v_acc, zf_cg_resize(cg, popcount->v_total, ty, false));
    LLVMBuildStore(cg->builder, v_acc, popcount->running->v_acc);
}

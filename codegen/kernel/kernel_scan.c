// Scans along a level of a kernel, one element at a time. The accumulator is the reduction over all indices below the position,
// so a tile starts from the state that the file holds and must end in the next one.
#include "codegen/kernel/kernel_scan.h"

static zf_cg_value eval_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index) {
    zf_cg_binding binding = {.local = reduce->binders[0].local, .value = zf_cg_scalar(zf_type_of(ZF_K_U64), v_index)};
    env->binder = binding.local;
    zf_cg_value value = zf_cg_eval_expr(env->lower->cg, &env->env, &env->env.inst->decode, reduce->term, &binding, 1);
    env->binder = NULL;
    env->lower->cg->v_guard = NULL;
    return value;
}

zf_running *zf_lower_scan_find(zf_kernel_build *lower, uint32_t node, const zf_reduce *reduce) {
    for (uint32_t k = 0; k < lower->running_count; k++) {
        if (lower->runnings[k].node == node && lower->runnings[k].reduce->index == reduce->index) return &lower->runnings[k];
    }
    return NULL;
}

// ---- One element ----------------------------------------------------------------------------------------------

// A segment begins at multiples of `segment`; its first `skip` indices do not take part.
LLVMValueRef zf_lower_in_segment(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index) {
    return zf_cg_remainder(cg, v_index, zf_cg_i64(cg, reduce->segment));
}

static bool has_first(const zf_reduce *reduce) { return reduce->op == ZF_RED_MIN || reduce->op == ZF_RED_MAX; }

// The accumulator at `v_index`, before its term: nothing where a segment begins.
LLVMValueRef zf_lower_scan_at(zf_cg *cg, const zf_running *r, LLVMValueRef v_acc, LLVMValueRef v_index) {
    if (r->reduce->form != ZF_R_SEGMENTED) return v_acc;
    LLVMValueRef v_begins = zf_cg_icmp(cg, LLVMIntEQ, zf_lower_in_segment(cg, r->reduce, v_index), zf_cg_i64(cg, 0));
    return zf_cg_select(cg, v_begins, zf_cg_reduce_empty(cg, r->reduce->op, r->type), v_acc);
}

// The accumulator behind `v_index`.
LLVMValueRef zf_lower_scan_behind(zf_cg *cg, const zf_running *r, LLVMValueRef v_acc, LLVMValueRef v_term, LLVMValueRef v_index) {
    const zf_reduce *reduce = r->reduce;
    LLVMValueRef v = zf_cg_reduce_combine(cg, reduce->op, r->type, v_acc, v_term);
    bool segmented = reduce->form == ZF_R_SEGMENTED;
    if (has_first(reduce)) { // the empty minimum is 0, which is none: the first term stands alone
        LLVMValueRef v_place = segmented ? zf_lower_in_segment(cg, reduce, v_index) : v_index;
        LLVMValueRef v_first = zf_cg_i64(cg, segmented ? reduce->skip : 0);
        v = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_place, v_first), v_term, v);
    }
    if (segmented && reduce->skip > 0) {
        LLVMValueRef v_skipped =
            zf_cg_icmp(cg, LLVMIntULT, zf_lower_in_segment(cg, reduce, v_index), zf_cg_i64(cg, reduce->skip));
        v = zf_cg_select(cg, v_skipped, v_acc, v);
    }
    return v;
}

// Some terms of a segment belong to no value: those below `skip`, and the last one unless `inclusive`. They may be computed, but
// their failures do not count.
static void mind_segment(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index) {
    if (reduce->form != ZF_R_SEGMENTED) return;
    LLVMValueRef v_place = zf_lower_in_segment(cg, reduce, v_index);
    cg->v_guard = zf_cg_icmp(cg, LLVMIntUGE, v_place, zf_cg_i64(cg, reduce->skip));
    if (reduce->inclusive) return;
    LLVMValueRef v_used = zf_cg_icmp(cg, LLVMIntNE, v_place, zf_cg_i64(cg, reduce->segment - 1));
    cg->v_guard = zf_cg_and(cg, cg->v_guard, v_used);
}

void zf_lower_scan_store(zf_cg *cg, zf_type type, LLVMValueRef v, LLVMValueRef v_to) {
    if (type.kind == ZF_K_BOOL) v = zf_cg_resize(cg, v, cg->ty_i8, false);
    LLVMBuildStore(cg->builder, v, v_to);
}

// Prefix sums run along all of a stream, but the places that use differences may be known to lie in a part of it. Proofs about
// a term hold only in that part: beyond it a term must not fail, nor divide or read by these proofs. NULL: the part is all.
static LLVMValueRef in_range(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index) {
    zf_interval range = reduce->binders[0].local->range;
    LLVMValueRef v_inside = NULL;
    if (range.lo > 0) v_inside = zf_cg_icmp(cg, LLVMIntUGE, v_index, zf_cg_i64(cg, (uint64_t)range.lo));
    if (range.hi < ZF_EDGE_ELEMENTS_MOST) {
        LLVMValueRef v_below = zf_cg_icmp(cg, LLVMIntULE, v_index, zf_cg_i64(cg, (uint64_t)range.hi));
        v_inside = v_inside != NULL ? zf_cg_and(cg, v_inside, v_below) : v_below;
    }
    return v_inside;
}

// The term at an index, which may be nobody's. No difference of prefix sums has the terms beyond its range, but seek states do:
// each counts nothing there, whatever code makes it.
LLVMValueRef zf_lower_scan_minded_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index) {
    zf_cg *cg = env->lower->cg;
    mind_segment(cg, reduce, v_index);
    LLVMValueRef v_inside = env->lower->kernel->prefix != NULL ? in_range(cg, reduce, v_index) : NULL;
    if (v_inside != NULL) cg->v_guard = v_inside;
    LLVMValueRef v_term = eval_term(env, reduce, v_index).v;
    return v_inside != NULL ? zf_cg_select(cg, v_inside, v_term, LLVMConstNull(LLVMTypeOf(v_term))) : v_term;
}

LLVMValueRef zf_lower_scan_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index) {
    mind_segment(env->lower->cg, reduce, v_index);
    return eval_term(env, reduce, v_index).v;
}

LLVMValueRef zf_lower_scan_own_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index) {
    return eval_term(env, reduce, v_index).v;
}

LLVMValueRef zf_lower_prefix_term(zf_kernel_build *lower, const zf_running *r, LLVMValueRef v_index) {
    zf_kernel_env env = zf_lower_env_make(lower, r->node);
    if (r->along_groups)
        env.v_g = v_index;
    else
        env.v_i = v_index;
    return zf_lower_scan_minded_term(&env, r->reduce, v_index);
}

// The accumulator behind `v_index`: evaluates its term.
static LLVMValueRef behind(zf_kernel_build *lower, const zf_running *r, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_term = zf_lower_prefix_term(lower, r, v_index);
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, r->type), r->v_acc, "");
    return zf_lower_scan_behind(cg, r, zf_lower_scan_at(cg, r, v_acc, v_index), v_term, v_index);
}

void zf_lower_scan_value(zf_kernel_build *lower, zf_running *r, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, r->type), r->v_acc, "");
    LLVMValueRef v = r->reduce->inclusive ? behind(lower, r, v_index) : zf_lower_scan_at(cg, r, v_acc, v_index);
    zf_lower_scan_store(cg, r->type, v, r->v_now);
}

void zf_lower_scan_next(zf_kernel_build *lower, zf_running *r, LLVMValueRef v_index, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    if (r->reduce->inclusive) {
        LLVMValueRef v_now = LLVMBuildLoad2(cg->builder, zf_cg_memory_type(cg, r->type), r->v_now, "");
        if (r->type.kind == ZF_K_BOOL) v_now = zf_cg_resize(cg, v_now, cg->ty_i1, false);
        LLVMBuildStore(cg->builder, v_now, r->v_acc);
        return;
    }
    // The term of the last element is not part of anything, and may not exist.
    LLVMValueRef v_next = zf_cg_add(cg, v_index, zf_cg_i64(cg, 1));
    LLVMBasicBlockRef bb_term = zf_cg_block(cg, "term"), bb_done = zf_cg_block(cg, "term_done");
    LLVMValueRef v_wanted = zf_cg_icmp(cg, LLVMIntULT, v_next, v_count);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_wanted, "the last term, which is no element's"), bb_term, bb_done);
    zf_cg_enter(cg, bb_term);
    LLVMBuildStore(cg->builder, behind(lower, r, v_index), r->v_acc);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

LLVMValueRef zf_lower_scan_state(zf_kernel_build *lower, const zf_running *r, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, r->type), r->v_acc, "");
    return zf_cg_to_word(cg, r->type, zf_lower_scan_at(cg, r, v_acc, v_index)); // where a segment ends the state is nothing
}

// ---- Prefix sums ----------------------------------------------------------------------------------------------

zf_running *zf_lower_prefix_make(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    zf_reduce *scan = ZF_NEW(cg->arena, zf_reduce);
    *scan = *lower->kernel->prefix;
    scan->form = ZF_R_SCAN;
    scan->inclusive = true;
    zf_step *step = ZF_NEW(cg->arena, zf_step);
    *step = (zf_step){.kind = ZF_STEP_SCAN, .node = lower->kernel->root, .reduce = scan};
    const zf_kernel *given = lower->kernel;
    zf_kernel kernel = *given;
    kernel.steps = step;
    kernel.step_count = 1;
    lower->kernel = &kernel;
    zf_lower_levels_make(lower);
    lower->kernel = given;
    return &lower->runnings[0];
}

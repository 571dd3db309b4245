// Reductions that are plain loops or unrolled. Scans and prefix sums are the environment's: it knows where it stands.
#include "codegen/body/cg_emit.h"
#include "codegen/body/cg_frame.h"

LLVMValueRef zf_cg_reduce_combine(zf_cg *cg, zf_reduce_op op, zf_type type, LLVMValueRef v_a, LLVMValueRef v_b) {
    bool real = zf_kind_is_float(type.kind), is_signed = zf_kind_is_signed(type.kind);
    switch (op) {
    case ZF_RED_SUM: return real ? LLVMBuildFAdd(cg->builder, v_a, v_b, "") : LLVMBuildAdd(cg->builder, v_a, v_b, "");
    case ZF_RED_XOR: return LLVMBuildXor(cg->builder, v_a, v_b, "");
    case ZF_RED_ANY: return LLVMBuildOr(cg->builder, v_a, v_b, "");
    case ZF_RED_ALL: return LLVMBuildAnd(cg->builder, v_a, v_b, "");
    default: break;
    }
    // a, unless b is truly smaller (larger): with floats that settles what a NaN does.
    LLVMValueRef v_b_wins;
    if (real)
        v_b_wins = LLVMBuildFCmp(cg->builder, op == ZF_RED_MIN ? LLVMRealOLT : LLVMRealOGT, v_b, v_a, "");
    else if (op == ZF_RED_MIN)
        v_b_wins = zf_cg_icmp(cg, is_signed ? LLVMIntSLT : LLVMIntULT, v_b, v_a);
    else
        v_b_wins = zf_cg_icmp(cg, is_signed ? LLVMIntSGT : LLVMIntUGT, v_b, v_a);
    return zf_cg_select(cg, v_b_wins, v_b, v_a);
}

LLVMValueRef zf_cg_reduce_empty(zf_cg *cg, zf_reduce_op op, zf_type type) {
    return op == ZF_RED_ALL ? zf_cg_i1(cg, true) : zf_cg_zero(cg, type);
}

/// The neutral element: it combines with any first element to that element. Floats have none (a NaN first must stay), so their
/// first element is treated apart.
static LLVMValueRef identity(zf_cg *cg, zf_reduce_op op, zf_type type) {
    if ((op != ZF_RED_MIN && op != ZF_RED_MAX) || !zf_kind_is_integer(type.kind)) return zf_cg_reduce_empty(cg, op, type);
    zf_interval all = zf_interval_of_kind(type.kind);
    return zf_cg_const(cg, type, zf_bits_of_value(type.kind, op == ZF_RED_MAX ? all.lo : all.hi));
}

// Terms emitted one by one, over all reductions around: beyond it, loops. A module that grew too large that way has a smaller
// limit, cg->compact.
enum { UNROLL_LIMIT = 1024 };

/// Enters code that is emitted `count` times; false when that is too much. Leave with *saved.
static bool unroll(zf_cg *cg, uint64_t count, uint64_t *saved) {
    uint64_t times = cg->unrolled == 0 ? 1 : cg->unrolled;
    *saved = cg->unrolled;
    if (count > 1 && count > (cg->compact > 0 ? cg->compact : UNROLL_LIMIT) / times) return false;
    cg->unrolled = times * (count == 0 ? 1 : count);
    return true;
}

typedef struct reduction {
    const zf_reduce *reduce;
    zf_type type;
    zf_span span;
    LLVMValueRef v_acc_slot, v_seen_slot; ///< seen: whether there was any element (min and max)
} reduction;

static void reduce_level(zf_cg *cg, zf_cg_frame *frame, reduction *r, uint32_t level);

static void at_binder(zf_cg *cg, zf_cg_frame *frame, reduction *r, uint32_t level, LLVMValueRef v_k) {
    const zf_cg_env *env = frame->env;
    if (env->work != NULL && env->counts_as_written && r->reduce->form == ZF_R_LOOP) {
        env->work(cg, frame->env, zf_cg_i64(cg, 1), r->span);
    }
    zf_cg_value k = zf_cg_scalar(zf_type_of(ZF_K_U64), v_k);
    zf_cg_bind(cg, frame, r->reduce->binders[level].local, &k);
    reduce_level(cg, frame, r, level + 1);
}

/// Adds a term, if `v_in` (NULL: always).
static void accumulate(zf_cg *cg, reduction *r, LLVMValueRef v_term, LLVMValueRef v_in) {
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, r->type), r->v_acc_slot, "");
    LLVMValueRef v = zf_cg_reduce_combine(cg, r->reduce->op, r->type, v_acc, v_term);
    if (r->v_seen_slot != NULL && zf_kind_is_float(r->type.kind)) {
        v = zf_cg_select(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, r->v_seen_slot, ""), v, v_term);
    }
    if (v_in != NULL) v = zf_cg_select(cg, v_in, v, v_acc);
    LLVMBuildStore(cg->builder, v, r->v_acc_slot);
    if (r->v_seen_slot == NULL) return;
    LLVMValueRef v_seen = zf_cg_i1(cg, true);
    if (v_in != NULL) v_seen = zf_cg_or(cg, v_in, LLVMBuildLoad2(cg->builder, cg->ty_i1, r->v_seen_slot, ""));
    LLVMBuildStore(cg->builder, v_seen, r->v_seen_slot);
}

static void reduce_level(zf_cg *cg, zf_cg_frame *frame, reduction *r, uint32_t level) {
    const zf_reduce *reduce = r->reduce;
    if (level == reduce->binder_count) {
        accumulate(cg, r, zf_cg_expr(cg, frame, reduce->term).v, NULL);
        return;
    }
    zf_cg_range range = zf_cg_range_make(cg, frame, &reduce->binders[level]);
    LLVMValueRef v_lo = range.v_lo, v_hi = range.v_hi;
    bool few = false; // terms that only a compact module does not write out: encoders do not count them as work
    // Known bounds: every term by itself.
    if (LLVMIsAConstantInt(v_lo) && LLVMIsAConstantInt(v_hi)) {
        uint64_t lo = LLVMConstIntGetZExtValue(v_lo), hi = LLVMConstIntGetZExtValue(v_hi);
        if (range.inclusive ? (lo <= hi && hi - lo < 64) : (hi <= lo || hi - lo <= 64)) {
            uint64_t count = range.inclusive ? hi - lo + 1 : hi <= lo ? 0 : hi - lo;
            uint64_t saved;
            few = cg->compact > 0;
            if (unroll(cg, count, &saved)) {
                for (uint64_t k = 0; k < count; k++) at_binder(cg, frame, r, level, zf_cg_i64(cg, lo + k));
                cg->unrolled = saved;
                return;
            }
        }
    }
    uint64_t saved_times;
    // A bounded number: each term counts if it is within. Straight code, for tiles.
    if (frame->env->straight && reduce->form == ZF_R_UNROLLED && reduce->binder_count == 1 && reduce->trip <= 16 &&
        zf_cg_arm_of(frame, reduce->term) != ZF_CG_ARM_BRANCH && unroll(cg, reduce->trip, &saved_times)) {
        LLVMValueRef v_saved = cg->v_guard;
        LLVMValueRef v_count = zf_cg_sub(cg, v_hi, v_lo);
        LLVMValueRef v_some = zf_cg_icmp(cg, range.inclusive ? LLVMIntULE : LLVMIntULT, v_lo, v_hi);
        for (uint32_t k = 0; k < reduce->trip; k++) {
            LLVMIntPredicate within = range.inclusive ? LLVMIntULE : LLVMIntULT;
            LLVMValueRef v_in = zf_cg_and(cg, v_some, zf_cg_icmp(cg, within, zf_cg_i64(cg, k), v_count));
            cg->v_guard = v_saved == NULL ? v_in : zf_cg_select(cg, v_saved, v_in, zf_cg_i1(cg, false));
            zf_cg_value binder = zf_cg_scalar(zf_type_of(ZF_K_U64), zf_cg_add(cg, v_lo, zf_cg_i64(cg, k)));
            zf_cg_bind(cg, frame, reduce->binders[0].local, &binder);
            accumulate(cg, r, zf_cg_expr(cg, frame, reduce->term).v, v_in);
            cg->v_guard = v_saved;
        }
        cg->unrolled = saved_times;
        return;
    }
    zf_cg_range_loop loop;
    if (!few) zf_cg_range_work(cg, frame, &range, r->span);
    zf_cg_range_begin(cg, &loop, &range, "reduce");
    at_binder(cg, frame, r, level, loop.v_i);
    if (frame->env->failed != NULL) {
        LLVMBasicBlockRef bb_on = zf_cg_block(cg, "reduce_on");
        zf_cg_cond_br(cg, frame->env->failed(cg, frame->env), loop.bb_end, bb_on);
        zf_cg_enter(cg, bb_on);
    }
    zf_cg_range_end(cg, &loop);
}

zf_cg_value zf_cg_reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    const zf_reduce *reduce = expr->reduce;
    zf_cg_value value;
    if (frame->env->reduced != NULL && frame->env->reduced(cg, frame, expr, &value)) return value;
    bool matched = reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED || reduce->form == ZF_R_PREFIX;
    if (matched && frame->env->reduce != NULL && frame->env->reduce(cg, frame, expr, &value)) return value;
    bool may_be_empty = reduce->op == ZF_RED_MIN || reduce->op == ZF_RED_MAX;
    reduction r = {.reduce = reduce, .type = expr->type, .span = expr->span};
    r.v_acc_slot = zf_cg_alloca(cg, zf_cg_type(cg, expr->type), "acc");
    LLVMBuildStore(cg->builder, identity(cg, reduce->op, expr->type), r.v_acc_slot);
    if (may_be_empty) {
        r.v_seen_slot = zf_cg_alloca(cg, cg->ty_i1, "seen");
        LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), r.v_seen_slot);
    }
    zf_cg_env *env = frame->env;
    LLVMValueRef v_before = env->failed != NULL ? env->failed_begin(cg, env) : NULL;
    reduce_level(cg, frame, &r, 0);
    if (v_before != NULL) env->failed_end(cg, env, v_before);
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, expr->type), r.v_acc_slot, "");
    if (may_be_empty) {
        LLVMValueRef v_seen = LLVMBuildLoad2(cg->builder, cg->ty_i1, r.v_seen_slot, "");
        v = zf_cg_select(cg, v_seen, v, zf_cg_reduce_empty(cg, reduce->op, expr->type));
    }
    return zf_cg_scalar(expr->type, v);
}

/// min(seq), max(seq): a loop that vectorises where the elements lie in memory.
zf_cg_value zf_cg_minmax(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value a = zf_cg_expr(cg, frame, expr->a);
    zf_type type = expr->type;
    if (a.seq.type.nullable || (!zf_kind_is_integer(type.kind) && !zf_kind_is_float(type.kind))) {
        zf_cg_unsupported(cg, expr->span, "min and max of this sequence are not lowered");
        return zf_cg_zero_value(cg, type);
    }
    zf_reduce_op op = expr->prim == ZF_P_MIN ? ZF_RED_MIN : ZF_RED_MAX;
    LLVMValueRef v_length = zf_cg_seq_length(cg, frame->env, &a.seq), v_zero = zf_cg_i64(cg, 0);
    if (cg->v_guard != NULL) v_length = zf_cg_select(cg, cg->v_guard, v_length, v_zero);
    LLVMValueRef v_slot = zf_cg_alloca(cg, zf_cg_type(cg, type), "acc");
    LLVMBuildStore(cg->builder, identity(cg, op, type), v_slot);
    zf_cg_range_work(cg, frame, &(zf_cg_range){.v_lo = v_zero, .v_hi = v_length}, expr->span);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_zero, v_length, "minmax");
    LLVMValueRef v_element = zf_cg_seq_element(cg, frame->env, &a.seq, loop.v_i, NULL).v;
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, type), v_slot, "");
    LLVMValueRef v_next = zf_cg_reduce_combine(cg, op, type, v_acc, v_element);
    if (zf_kind_is_float(type.kind)) {
        v_next = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, loop.v_i, v_zero), v_element, v_next);
    }
    LLVMBuildStore(cg->builder, v_next, v_slot);
    zf_cg_loop_end(cg, &loop);
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, type), v_slot, "");
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_length, v_zero);
    return zf_cg_scalar(type, zf_cg_select(cg, v_none, zf_cg_zero(cg, type), v));
}

// Value expressions of a body: locals, conditionals, calls, and the way to what the other files lower.
#include <string.h>

#include "codegen/body/cg_emit.h"
#include "codegen/body/cg_frame.h"
#include "codegen/body/cg_lines.h"

enum {
    DEPTH_LIMIT = 1500,  // nested expressions and inlined bodies, on the C stack
    EMIT_LIMIT = 100000, // expressions of one module
    ARM_COST_LIMIT = 40, // operations that are evaluated for nothing rather than branched around
};

zf_cg_frame zf_cg_frame_make(zf_cg *cg, zf_cg_env *env, const zf_body *body) {
    zf_cg_frame frame = {.env = env, .body = body};
    frame.slot_count = body == NULL ? 0 : body->local_count;
    // Locals of a body that is evaluated on demand may have any number: those shared between bodies are never slots.
    frame.slots = ZF_NEW_ARRAY(cg->arena, zf_cg_slot, frame.slot_count + 1);
    return frame;
}

zf_cg_env *zf_cg_frame_env(zf_cg_frame *frame) { return frame->env; }

zf_cg_slot *zf_cg_slot_of(zf_cg *cg, zf_cg_frame *frame, const zf_local *local) {
    if (local->id < frame->slot_count) return &frame->slots[local->id];
    zf_cg_unsupported(cg, local->span, "`%s` is not of this body", local->name == NULL ? "?" : local->name);
    return &frame->slots[frame->slot_count];
}

void zf_cg_bind(zf_cg *cg, zf_cg_frame *frame, const zf_local *local, const zf_cg_value *value) {
    zf_cg_slot *slot = zf_cg_slot_of(cg, frame, local);
    memset(slot, 0, sizeof *slot);
    slot->kind = ZF_CG_VALUE;
    slot->value = *value;
}

// ---- Speculative evaluation -----------------------------------------------------------------------------------

static zf_cg_arm worse(zf_cg_arm a, zf_cg_arm b) { return a > b ? a : b; }

/// Is the divisor a constant that cannot trap?
static bool harmless_divisor(const zf_expr *expr) { return expr->b->kind == ZF_X_CONST && expr->b->range.lo > 0; }

static zf_cg_arm arm_of(const zf_cg_frame *frame, const zf_expr *expr, unsigned *cost) {
    if (expr == NULL) return ZF_CG_ARM_PLAIN;
    if (expr->effect || ++*cost > ARM_COST_LIMIT) return ZF_CG_ARM_BRANCH;
    zf_cg_arm arm = ZF_CG_ARM_PLAIN;
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_NULL:
    case ZF_X_PARAM:
    case ZF_X_STATE:
    case ZF_X_LEN:
    case ZF_X_OUT_POS:
    case ZF_X_STREAM:
    case ZF_X_OUT:
    case ZF_X_INPUT:
    case ZF_X_TABLE: return ZF_CG_ARM_PLAIN;
    case ZF_X_LOCAL: {
        const zf_local *local = expr->local;
        bool immutable = local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL;
        if (!immutable || local->init == NULL) return ZF_CG_ARM_PLAIN;
        if (local->id < frame->slot_count && frame->slots[local->id].kind != ZF_CG_UNBOUND) return ZF_CG_ARM_PLAIN;
        return arm_of(frame, local->init, cost);
    }
    case ZF_X_UNARY:
    case ZF_X_CAST:
    case ZF_X_SOME:
    case ZF_X_IS_NULL:
    case ZF_X_VALUE: break;
    case ZF_X_BINARY:
        if ((expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM) && !zf_kind_is_float(expr->type.kind) && !harmless_divisor(expr)) {
            arm = ZF_CG_ARM_GUARDED;
        }
        break;
    case ZF_X_COND: break;
    case ZF_X_PRIM:
        if (expr->prim == ZF_P_NTH_BIT) arm = ZF_CG_ARM_GUARDED;
        break;
    case ZF_X_INDEX:
    case ZF_X_SLICE:
    case ZF_X_BITS: arm = ZF_CG_ARM_GUARDED; break;
    case ZF_X_REDUCE:
        // A scan's value is at hand whether it is used or not; branches skip other loops.
        return expr->reduce->form == ZF_R_SCAN || expr->reduce->form == ZF_R_SEGMENTED ? ZF_CG_ARM_GUARDED : ZF_CG_ARM_BRANCH;
    case ZF_X_CALL:
        if (expr->call->body != NULL) return ZF_CG_ARM_BRANCH;
        for (uint32_t k = 0; k < expr->call->formal_count; k++) {
            arm = worse(arm, arm_of(frame, expr->call->formals[k]->init, cost));
        }
        return worse(arm, arm_of(frame, expr->call->value, cost));
    default: return ZF_CG_ARM_BRANCH;
    }
    arm = worse(arm, arm_of(frame, expr->a, cost));
    arm = worse(arm, arm_of(frame, expr->b, cost));
    return worse(arm, arm_of(frame, expr->c, cost));
}

zf_cg_arm zf_cg_arm_of(const zf_cg_frame *frame, const zf_expr *expr) {
    unsigned cost = 0;
    return arm_of(frame, expr, &cost);
}

// ---- Conditionals ---------------------------------------------------------------------------------------------

static LLVMValueRef guard_and(zf_cg *cg, LLVMValueRef v_guard, LLVMValueRef v) {
    return v_guard == NULL ? v : zf_cg_select(cg, v_guard, v, zf_cg_i1(cg, false));
}

/// Evaluates an arm under `v_if`; *v_after is the guard it ended with (a failed `require` makes it stricter).
static zf_cg_value guarded(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, LLVMValueRef v_if, LLVMValueRef *v_after,
                           bool *stricter) {
    LLVMValueRef v_saved = cg->v_guard;
    cg->v_guard = guard_and(cg, v_saved, v_if);
    LLVMValueRef v_entry = cg->v_guard;
    zf_cg_value value = zf_cg_expr(cg, frame, expr);
    *v_after = cg->v_guard;
    *stricter = cg->v_guard != v_entry;
    cg->v_guard = v_saved;
    return value;
}

static zf_cg_value conditional(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    if (expr == frame->env->decided) return zf_cg_expr(cg, frame, frame->env->decided_so ? expr->b : expr->c);
    zf_cg_arm arm = worse(zf_cg_arm_of(frame, expr->b), zf_cg_arm_of(frame, expr->c));
    LLVMValueRef v_if = zf_cg_expr(cg, frame, expr->a).v;
    if (LLVMIsAConstantInt(v_if)) return zf_cg_expr(cg, frame, LLVMConstIntGetZExtValue(v_if) ? expr->b : expr->c);
    if (arm == ZF_CG_ARM_PLAIN) {
        // Nothing in the arms is checked or read, but a shift proved in range by the condition may be poison in the other
        // case: a select does not pass that on.
        zf_cg_value b = zf_cg_expr(cg, frame, expr->b), c = zf_cg_expr(cg, frame, expr->c);
        return zf_cg_select_value(cg, v_if, &b, &c);
    }
    if (arm == ZF_CG_ARM_GUARDED && frame->env->straight) {
        LLVMValueRef v_b, v_c;
        bool strict_b, strict_c;
        zf_cg_value b = guarded(cg, frame, expr->b, v_if, &v_b, &strict_b);
        zf_cg_value c = guarded(cg, frame, expr->c, zf_cg_not(cg, v_if), &v_c, &strict_c);
        if (strict_b || strict_c) cg->v_guard = zf_cg_or(cg, v_b, v_c);
        return zf_cg_select_value(cg, v_if, &b, &c);
    }
    LLVMBasicBlockRef bb_then = zf_cg_block(cg, "then"), bb_else = zf_cg_block(cg, "else"), bb_join = zf_cg_block(cg, "join");
    LLVMValueRef v_saved = cg->v_guard;
    zf_cg_variable result = zf_cg_variable_make(cg, expr->type, "either");
    LLVMBasicBlockRef bb_from[2];
    LLVMValueRef v_guards[2];
    zf_cg_cond_br(cg, v_if, bb_then, bb_else);
    for (unsigned side = 0; side < 2; side++) {
        zf_cg_enter(cg, side == 0 ? bb_then : bb_else);
        zf_cg_value value = zf_cg_expr(cg, frame, side == 0 ? expr->b : expr->c);
        zf_cg_variable_store(cg, &result, &value);
        v_guards[side] = cg->v_guard == NULL ? zf_cg_i1(cg, true) : cg->v_guard;
        bb_from[side] = zf_cg_here(cg);
        cg->v_guard = v_saved;
        zf_cg_br(cg, bb_join);
    }
    zf_cg_enter(cg, bb_join);
    if (v_saved != NULL || !LLVMIsAConstantInt(v_guards[0]) || !LLVMIsAConstantInt(v_guards[1])) {
        cg->v_guard = zf_cg_phi2(cg, cg->ty_i1, v_guards[0], bb_from[0], v_guards[1], bb_from[1]);
    }
    return zf_cg_variable_load(cg, &result);
}

/// `a && b`, `a || b`: b is evaluated where a does not decide.
static zf_cg_value lazy(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    bool is_and = expr->op == ZF_OP_ANDAND;
    zf_cg_arm arm = zf_cg_arm_of(frame, expr->b);
    zf_type type = zf_type_of(ZF_K_BOOL);
    LLVMValueRef v_a = zf_cg_expr(cg, frame, expr->a).v, v_b;
    LLVMValueRef v_short = zf_cg_i1(cg, !is_and);
    if (LLVMIsAConstantInt(v_a)) {
        bool a = LLVMConstIntGetZExtValue(v_a) != 0;
        return a == is_and ? zf_cg_expr(cg, frame, expr->b) : zf_cg_scalar(type, v_a);
    }
    if (arm == ZF_CG_ARM_PLAIN || (arm == ZF_CG_ARM_GUARDED && frame->env->straight)) {
        LLVMValueRef v_after = NULL, v_if = is_and ? v_a : zf_cg_not(cg, v_a);
        bool stricter = false;
        v_b =
            arm == ZF_CG_ARM_PLAIN ? zf_cg_expr(cg, frame, expr->b).v : guarded(cg, frame, expr->b, v_if, &v_after, &stricter).v;
        if (stricter) cg->v_guard = guard_and(cg, cg->v_guard, zf_cg_select(cg, v_if, v_after, zf_cg_i1(cg, true)));
        return zf_cg_scalar(type, is_and ? zf_cg_select(cg, v_a, v_b, v_short) : zf_cg_select(cg, v_a, v_short, v_b));
    }
    LLVMBasicBlockRef bb_first = zf_cg_here(cg), bb_rest = zf_cg_block(cg, "rest"), bb_join = zf_cg_block(cg, "join");
    LLVMValueRef v_saved = cg->v_guard;
    zf_cg_cond_br(cg, v_a, is_and ? bb_rest : bb_join, is_and ? bb_join : bb_rest);
    zf_cg_enter(cg, bb_rest);
    v_b = zf_cg_expr(cg, frame, expr->b).v;
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    LLVMValueRef v_guard = cg->v_guard;
    zf_cg_br(cg, bb_join);
    zf_cg_enter(cg, bb_join);
    LLVMValueRef v = zf_cg_phi2(cg, cg->ty_i1, v_short, bb_first, v_b, bb_last);
    cg->v_guard = v_saved;
    if (v_guard != v_saved) {
        LLVMValueRef v_before = v_saved == NULL ? zf_cg_i1(cg, true) : v_saved;
        cg->v_guard = zf_cg_phi2(cg, cg->ty_i1, v_before, bb_first, v_guard, bb_last);
    }
    return zf_cg_scalar(type, v);
}

// ---- Locals and calls -----------------------------------------------------------------------------------------

static zf_cg_value sequence_value(zf_type type, zf_cg_seq seq) { return (zf_cg_value){.type = type, .is_seq = true, .seq = seq}; }

/// The value of an immutable local that was not reached by statements: its initialiser's, which is pure. Kept for further uses
/// in the same block under the same guard; elsewhere it may not dominate.
static zf_cg_value look_through(zf_cg *cg, zf_cg_frame *frame, const zf_local *local, zf_cg_slot *slot) {
    if (slot->looked_through && slot->bb == zf_cg_here(cg) && slot->v_guard == cg->v_guard) return slot->value;
    zf_cg_value value = zf_cg_expr(cg, frame, local->init);
    slot->looked_through = true;
    slot->bb = zf_cg_here(cg);
    slot->v_guard = cg->v_guard;
    slot->value = value;
    return value;
}

static zf_cg_value local_value(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    const zf_local *local = expr->local;
    switch (local->kind) {
    case ZF_L_DOMAIN_I:
    case ZF_L_DOMAIN_G:
    case ZF_L_DOMAIN_J:
    case ZF_L_LANE:
    case ZF_L_CHUNK:
    case ZF_L_ROW:
        if (frame->slot_count > local->id && frame->slots[local->id].kind == ZF_CG_VALUE) return frame->slots[local->id].value;
        if (frame->env->domain == NULL) break;
        return zf_cg_scalar(expr->type, frame->env->domain(cg, frame->env, local));
    default: {
        zf_cg_slot *slot = zf_cg_slot_of(cg, frame, local);
        switch (slot->kind) {
        case ZF_CG_VALUE: return slot->value;
        case ZF_CG_SCALAR: return zf_cg_variable_load(cg, &slot->variable);
        case ZF_CG_ARRAY:
            return sequence_value(local->type, (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY,
                                                           .type = local->type,
                                                           .padded = true,
                                                           .together = slot->together,
                                                           .v_data = slot->variable.v_slot,
                                                           .v_validity = slot->variable.v_valid_slot,
                                                           .v_length = zf_cg_i64(cg, local->length)});
        case ZF_CG_GROWING: {
            zf_cg_value value;
            if (frame->env->expr != NULL && frame->env->expr(cg, frame, expr, &value)) return value;
            break;
        }
        case ZF_CG_UNBOUND:
            if ((local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->init != NULL) {
                return look_through(cg, frame, local, slot);
            }
            break;
        }
    }
    }
    zf_cg_unsupported(cg, expr->span, "`%s` has no value here", local->name == NULL ? "?" : local->name);
    return zf_cg_zero_value(cg, expr->type);
}

static zf_cg_value call(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    const zf_call *call = expr->call;
    for (uint32_t k = 0; k < call->formal_count; k++) {
        zf_cg_value value = zf_cg_expr(cg, frame, call->formals[k]->init);
        zf_cg_bind(cg, frame, call->formals[k], &value);
    }
    return zf_cg_run(cg, frame, call->body, call->value, call->returns_inside, expr->type);
}

// ---- All of them ----------------------------------------------------------------------------------------------

static zf_cg_value stream_value(const zf_port *port) {
    return sequence_value(port->type, (zf_cg_seq){.kind = ZF_CG_SEQ_PORT, .type = port->type, .port = port});
}

static bool is_shift(const zf_expr *expr, zf_op op, uint64_t count) {
    return expr->kind == ZF_X_BINARY && expr->op == op && expr->type.kind == ZF_K_U64 && expr->b->kind == ZF_X_CONST &&
           expr->b->bits == count;
}

static bool is_word(const zf_expr *expr) {
    return expr->kind == ZF_X_CAST && expr->type.kind == ZF_K_U64 && expr->a->type.kind == ZF_K_U32;
}

/// `((high as u64 << 32 | low as u64) << n >> 32) as u32` of words, n below 32: the bits of `low` that follow those of `high`.
/// LLVM's optimiser pulls the outer shift into what comes after it, and then the back end needs both halves.
static bool funnel(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    if (!zf_cg_has_funnel(cg) || expr->type.kind != ZF_K_U32 || !is_shift(expr->a, ZF_OP_SHR, 32)) return false;
    const zf_expr *moved = expr->a->a;
    if (moved->kind != ZF_X_BINARY || moved->op != ZF_OP_SHL || moved->b->range.lo < 0 || moved->b->range.hi > 31) return false;
    const zf_expr *both = moved->a;
    if (both->kind != ZF_X_BINARY || both->op != ZF_OP_OR || !is_shift(both->a, ZF_OP_SHL, 32)) return false;
    if (!is_word(both->a->a) || !is_word(both->b)) return false;
    LLVMValueRef v_high = zf_cg_expr(cg, frame, both->a->a->a).v, v_low = zf_cg_expr(cg, frame, both->b->a).v;
    LLVMValueRef v_count = zf_cg_resize(cg, zf_cg_expr(cg, frame, moved->b).v, cg->ty_i32, false);
    *out = zf_cg_scalar(expr->type, zf_cg_funnel(cg, true, v_high, v_low, v_count));
    return true;
}

static zf_cg_value evaluate(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value a, b;
    switch (expr->kind) {
    case ZF_X_CONST: return zf_cg_scalar(expr->type, zf_cg_const(cg, expr->type, expr->bits));
    case ZF_X_NULL: return zf_cg_zero_value(cg, expr->type);
    case ZF_X_LOCAL: return local_value(cg, frame, expr);
    case ZF_X_PARAM:
        if (frame->env->param == NULL) break;
        return frame->env->param(cg, frame->env, expr->port);
    case ZF_X_UNARY: return zf_cg_unary(cg, expr, zf_cg_expr(cg, frame, expr->a));
    case ZF_X_BINARY:
        if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) return lazy(cg, frame, expr);
        a = zf_cg_expr(cg, frame, expr->a);
        b = zf_cg_expr(cg, frame, expr->b);
        return zf_cg_binary(cg, frame,
                            &(zf_cg_operation){expr->op, expr->span, expr, expr->b->range, expr->proved, expr->nonzero_overflow},
                            a, b);
    case ZF_X_COND: return conditional(cg, frame, expr);
    case ZF_X_CAST:
        if (funnel(cg, frame, expr, &a)) return a;
        return zf_cg_cast(cg, expr->span, zf_cg_expr(cg, frame, expr->a), expr->type);
    case ZF_X_SOME:
        a = zf_cg_expr(cg, frame, expr->a);
        a.type = expr->type;
        a.v_valid = zf_cg_i1(cg, true);
        return a;
    case ZF_X_IS_NULL:
        a = zf_cg_expr(cg, frame, expr->a);
        return zf_cg_scalar(expr->type, zf_cg_not(cg, a.v_valid == NULL ? zf_cg_i1(cg, true) : a.v_valid));
    case ZF_X_VALUE:
        a = zf_cg_expr(cg, frame, expr->a);
        a.type = expr->type;
        a.v_valid = NULL;
        return a;
    case ZF_X_PRIM: return zf_cg_prim(cg, frame, expr);
    case ZF_X_CALL: return call(cg, frame, expr);
    case ZF_X_REDUCE: return zf_cg_reduce(cg, frame, expr);
    case ZF_X_INDEX: return zf_cg_index(cg, frame, expr);
    case ZF_X_LEN: a = zf_cg_expr(cg, frame, expr->a); return zf_cg_scalar(expr->type, zf_cg_seq_length(cg, frame->env, &a.seq));
    case ZF_X_BITS: return zf_cg_bits(cg, frame, expr);
    case ZF_X_MINMAX: return zf_cg_minmax(cg, frame, expr);
    case ZF_X_STREAM: return stream_value(expr->port);
    case ZF_X_OUT: return sequence_value(expr->type, (zf_cg_seq){.kind = ZF_CG_SEQ_OUT, .type = expr->type});
    case ZF_X_TABLE:
        return sequence_value(expr->type, (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY,
                                                      .type = expr->type,
                                                      .constant = true,
                                                      .padded = true,
                                                      .v_data = zf_cg_table(cg, expr->table),
                                                      .v_length = zf_cg_i64(cg, expr->table->length)});
    case ZF_X_SLICE: return zf_cg_slice(cg, frame, expr);
    default: break;
    }
    zf_cg_unsupported(cg, expr->span, "this expression is not lowered here");
    return zf_cg_zero_value(cg, expr->type);
}

zf_cg_value zf_cg_expr(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    if (cg->depth >= DEPTH_LIMIT || ++cg->emitted > EMIT_LIMIT) {
        if (!cg->failed && cg->diags != NULL) {
            zf_diag_error(cg->diags, ZF_D_TOO_LARGE, expr->span, "the code of this body grows beyond the limit");
        }
        cg->failed = true;
        return zf_cg_zero_value(cg, expr->type);
    }
    cg->depth++;
    LLVMMetadataRef before = zf_cg_lines_enter(cg, expr->span);
    zf_cg_value value;
    // The environment comes first: an encoder's streams are buffers, not ports.
    if (frame->env->expr == NULL || !frame->env->expr(cg, frame, expr, &value)) value = evaluate(cg, frame, expr);
    zf_cg_lines_leave(cg, before);
    cg->depth--;
    return value;
}

zf_cg_value zf_cg_eval_expr(zf_cg *cg, zf_cg_env *env, const zf_body *body, const zf_expr *expr, const zf_cg_binding *bindings,
                            size_t binding_count) {
    zf_cg_frame frame = zf_cg_frame_make(cg, env, body);
    for (size_t k = 0; k < binding_count; k++) zf_cg_bind(cg, &frame, bindings[k].local, &bindings[k].value);
    zf_cg_arrays_begin(cg);
    zf_cg_value value = zf_cg_expr(cg, &frame, expr);
    zf_cg_arrays_end(cg);
    return value;
}

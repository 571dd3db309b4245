// Statements of a body. Those that only an encoder or a chunk has (pushes, emits, growing arrays) go to the environment.
#include <string.h>

#include "codegen/body/cg_emit.h"
#include "codegen/body/cg_frame.h"
#include "codegen/body/cg_lines.h"
#include "codegen/body/cg_together.h"
#include "codegen/target/codegen_target.h"

enum {
    STACK_LIMIT = 1 << 20, ///< bytes of local arrays in one function
    /// The same of a SIMT kernel: a GPU sets as much aside for every thread that it can hold, whether it runs or not; the
    /// emulator's threads have small stacks.
    STACK_LIMIT_SIMT = 16 << 10,
    FEW = 16, ///< iterations, constant and fewer: such loops are unrolled, and cost what their text does
};

// ---- Ranges ---------------------------------------------------------------------------------------------------

zf_cg_range zf_cg_range_make(zf_cg *cg, zf_cg_frame *frame, const zf_binder *binder) {
    zf_cg_range range = {.inclusive = binder->inclusive};
    range.v_lo = zf_cg_resize(cg, zf_cg_expr(cg, frame, binder->lo).v, cg->ty_i64, false);
    range.v_hi = zf_cg_resize(cg, zf_cg_expr(cg, frame, binder->hi).v, cg->ty_i64, false);
    if (cg->v_guard == NULL || (LLVMIsAConstantInt(range.v_lo) && LLVMIsAConstantInt(range.v_hi))) return range;
    if (range.inclusive) range.v_lo = zf_cg_select(cg, cg->v_guard, range.v_lo, zf_cg_i64(cg, 1));
    range.v_hi = zf_cg_select(cg, cg->v_guard, range.v_hi, range.inclusive ? zf_cg_i64(cg, 0) : range.v_lo);
    return range;
}

void zf_cg_range_begin(zf_cg *cg, zf_cg_range_loop *loop, const zf_cg_range *range, const char *name) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_body = zf_cg_block(cg, name);
    LLVMValueRef v_lo = range->v_lo, v_one = zf_cg_i64(cg, 1);
    loop->v_guard = cg->v_guard;
    loop->bb_next = zf_cg_block(cg, "next");
    loop->bb_end = zf_cg_block(cg, "end");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, range->inclusive ? LLVMIntULE : LLVMIntULT, v_lo, range->v_hi), bb_body, loop->bb_end);
    zf_cg_enter(cg, bb_body);
    loop->v_i = LLVMBuildPhi(cg->builder, cg->ty_i64, "k");
    LLVMAddIncoming(loop->v_i, &v_lo, &bb_before, 1);
    zf_cg_enter(cg, loop->bb_next);
    // Up to and including hi without ever passing it, so that hi may be the largest value there is.
    LLVMValueRef v_next = LLVMBuildAdd(cg->builder, loop->v_i, v_one, "");
    LLVMValueRef v_more =
        range->inclusive ? zf_cg_icmp(cg, LLVMIntNE, loop->v_i, range->v_hi) : zf_cg_icmp(cg, LLVMIntULT, v_next, range->v_hi);
    LLVMAddIncoming(loop->v_i, &v_next, &loop->bb_next, 1);
    zf_cg_cond_br(cg, v_more, bb_body, loop->bb_end);
    zf_cg_enter(cg, bb_body);
}

void zf_cg_range_end(zf_cg *cg, zf_cg_range_loop *loop) {
    zf_cg_br(cg, loop->bb_next);
    LLVMMoveBasicBlockAfter(loop->bb_next, zf_cg_here(cg));
    LLVMMoveBasicBlockAfter(loop->bb_end, loop->bb_next);
    zf_cg_enter(cg, loop->bb_end);
    cg->v_guard = loop->v_guard;
}

// ---- Leaving --------------------------------------------------------------------------------------------------

void zf_cg_leave(zf_cg *cg, const zf_cg_return *to) {
    if (to->v_guard != NULL) {
        LLVMBuildStore(cg->builder, cg->v_guard == NULL ? zf_cg_i1(cg, true) : cg->v_guard, to->v_guard);
    }
    zf_cg_br(cg, to->bb);
}

zf_cg_value zf_cg_run(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmts, const zf_expr *value, bool returns_inside,
                      zf_type type) {
    if (!returns_inside) {
        zf_cg_stmts(cg, frame, stmts);
        return value != NULL ? zf_cg_expr(cg, frame, value) : zf_cg_zero_value(cg, type);
    }
    LLVMValueRef v_guard_slot = frame->env->straight ? zf_cg_alloca(cg, cg->ty_i1, "guard") : NULL, v_saved = cg->v_guard;
    zf_cg_return to = {
        .bb = zf_cg_block(cg, "returned"), .result = zf_cg_variable_make(cg, type, "result"), .v_guard = v_guard_slot};
    zf_cg_return *outer = frame->to;
    LLVMBasicBlockRef bb_break = frame->bb_break, bb_continue = frame->bb_continue;
    frame->to = &to;
    frame->bb_break = frame->bb_continue = NULL;
    zf_cg_stmts(cg, frame, stmts);
    zf_cg_value result = value != NULL ? zf_cg_expr(cg, frame, value) : zf_cg_zero_value(cg, type);
    zf_cg_variable_store(cg, &to.result, &result);
    zf_cg_leave(cg, &to);
    frame->to = outer;
    frame->bb_break = bb_break;
    frame->bb_continue = bb_continue;
    LLVMMoveBasicBlockAfter(to.bb, zf_cg_here(cg));
    zf_cg_enter(cg, to.bb);
    cg->v_guard = v_guard_slot != NULL ? LLVMBuildLoad2(cg->builder, cg->ty_i1, v_guard_slot, "") : v_saved;
    return zf_cg_variable_load(cg, &to.result);
}

/// The type of a body's result, also if no statement returns it.
static zf_type result_of(const zf_inst *inst, const zf_body *body) {
    if (body == &inst->decode && inst->pattern != ZF_NON_PARALLEL) return inst->result;
    if (body == &inst->groups || body == &inst->size) return zf_type_of(ZF_K_U64);
    if (body == &inst->decode && inst->lanes > 0) return inst->result;
    return zf_type_of(ZF_K_NONE);
}

zf_cg_value zf_cg_eval_body(zf_cg *cg, zf_cg_env *env, const zf_body *body) {
    zf_cg_frame frame = zf_cg_frame_make(cg, env, body);
    zf_cg_arrays_begin(cg);
    zf_cg_value value = zf_cg_run(cg, &frame, body->stmts, body->value, body->returns_inside, result_of(env->inst, body));
    zf_cg_arrays_end(cg);
    return value;
}

// ---- Variables ------------------------------------------------------------------------------------------------

// SIMT forms evaluate a body for several elements in one thread, and no element's arrays are needed any more when its body is at
// its end: the next one's take their memory.
struct zf_cg_array {
    LLVMValueRef v_slot;
    uint64_t bytes;
    uint32_t owner; // of the nested bodies the one that uses it; 0: none
    bool together;  // of a warp's lanes
    struct zf_cg_array *next;
};

static bool is_simt(const zf_cg *cg) { return cg->target != NULL && cg->target->simt != NULL; }

void zf_cg_arrays_begin(zf_cg *cg) { cg->nested++; }

void zf_cg_arrays_end(zf_cg *cg) {
    for (struct zf_cg_array *a = cg->arrays; a != NULL; a = a->next) {
        if (a->owner == cg->nested) a->owner = 0;
    }
    cg->nested--;
}

static struct zf_cg_array *find_array(zf_cg *cg, uint64_t bytes, bool together) {
    for (struct zf_cg_array *a = cg->arrays; a != NULL; a = a->next) {
        if (a->owner != 0 || a->bytes != bytes || a->together != together) continue;
        a->owner = cg->nested;
        return a;
    }
    return NULL;
}

static struct zf_cg_array *add_array(zf_cg *cg, LLVMValueRef v_slot, uint64_t bytes, bool together) {
    struct zf_cg_array *a = ZF_NEW(cg->arena, struct zf_cg_array);
    *a = (struct zf_cg_array){v_slot, bytes, cg->nested, together, cg->arrays};
    cg->arrays = a;
    return a;
}

// An array that the lanes have together, or NULL.
static struct zf_cg_array *array_together(zf_cg *cg, uint64_t bytes) {
    if (cg->together == NULL) return NULL;
    struct zf_cg_array *found = find_array(cg, bytes, true);
    if (found != NULL) return found;
    LLVMValueRef v_slot = cg->together->memory(cg, cg->together, bytes + 16);
    return v_slot != NULL ? add_array(cg, v_slot, bytes, true) : NULL;
}

// Memory for a local array and 16 bytes behind it, or NULL: reported.
static LLVMValueRef array_memory(zf_cg *cg, const zf_stmt *stmt, uint64_t bytes) {
    struct zf_cg_array *found = find_array(cg, bytes, false);
    if (found != NULL) return found->v_slot;
    int limit = is_simt(cg) ? STACK_LIMIT_SIMT : STACK_LIMIT;
    cg->stack += bytes;
    if (cg->stack > (uint64_t)limit) {
        zf_cg_unsupported(cg, stmt->span, "the local arrays of this body take more than %d bytes%s", limit,
                          is_simt(cg) ? ", which is what a thread of a GPU may have" : "");
        return NULL;
    }
    LLVMValueRef v_slot =
        zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i8, bytes + 16), stmt->local->name); // bits may be read 16 bytes on
    LLVMSetAlignment(v_slot, 16);
    if (is_simt(cg)) add_array(cg, v_slot, bytes, false);
    return v_slot;
}

static void declare_array(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_local *local = stmt->local;
    zf_cg_slot *slot = zf_cg_slot_of(cg, frame, local);
    uint64_t size = zf_kind_size(local->type.kind), bytes = local->length * size;
    if (size == 0 || local->type.nullable || local->length > STACK_LIMIT) {
        zf_cg_unsupported(cg, stmt->span, "an array of this type or size is not lowered");
        return;
    }
    if (slot->kind != ZF_CG_ARRAY || (slot->together && cg->together == NULL)) { // else one met again, in a body that is unrolled
        const struct zf_cg_array *found = array_together(cg, bytes);
        LLVMValueRef v_slot = found != NULL ? found->v_slot : array_memory(cg, stmt, bytes);
        if (v_slot == NULL) return;
        memset(slot, 0, sizeof *slot);
        slot->kind = ZF_CG_ARRAY;
        slot->together = found != NULL;
        slot->variable.v_slot = v_slot;
    }
    zf_cg_bytes_work(cg, frame, zf_cg_i64(cg, bytes), stmt->span);
    if (slot->together) {
        cg->together->clear(cg, cg->together, slot->variable.v_slot, bytes + 16);
        return;
    }
    LLVMBuildMemSet(cg->builder, slot->variable.v_slot, LLVMConstNull(cg->ty_i8), zf_cg_i64(cg, bytes + 16), 16);
}

static void declare(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_local *local = stmt->local;
    if (local->kind == ZF_L_ARRAY) {
        declare_array(cg, frame, stmt);
        return;
    }
    if (local->kind != ZF_L_VAR) {
        zf_cg_unsupported(cg, stmt->span, "this declaration is not lowered here");
        return;
    }
    zf_cg_value init = local->init != NULL ? zf_cg_expr(cg, frame, local->init) : zf_cg_zero_value(cg, local->type);
    zf_cg_slot *slot = zf_cg_slot_of(cg, frame, local);
    if (slot->kind != ZF_CG_SCALAR) {
        memset(slot, 0, sizeof *slot);
        slot->kind = ZF_CG_SCALAR;
        slot->variable = zf_cg_variable_make(cg, local->type, local->name == NULL ? "var" : local->name);
    }
    zf_cg_variable_store(cg, &slot->variable, &init);
}

// ---- Assignment -----------------------------------------------------------------------------------------------

static zf_cg_value combined(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt, zf_cg_value old, zf_cg_value value) {
    if (!stmt->has_op) return value;
    const zf_expr *right = stmt->value;
    bool nonzero = right->range.lo > 0 || right->range.hi<0, no_minus = right->range.lo> - 1 || right->range.hi < -1;
    if (stmt->op == ZF_OP_ANDAND || stmt->op == ZF_OP_OROR) {
        LLVMValueRef v = stmt->op == ZF_OP_ANDAND ? zf_cg_and(cg, old.v, value.v) : zf_cg_or(cg, old.v, value.v);
        return zf_cg_scalar(old.type, v);
    }
    return zf_cg_binary(cg, frame, &(zf_cg_operation){stmt->op, stmt->span, NULL, right->range, nonzero, no_minus}, old, value);
}

static void assign_element(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_expr *place = stmt->place;
    // The index first, then the value, then the place: what the value's evaluation changes is seen.
    LLVMValueRef v_index = zf_cg_resize(cg, zf_cg_expr(cg, frame, place->b).v, cg->ty_i64, false);
    zf_cg_value value = zf_cg_expr(cg, frame, stmt->value);
    zf_cg_value base = zf_cg_expr(cg, frame, place->a);
    bool apart = base.seq.together && cg->together == NULL;
    if (base.seq.kind != ZF_CG_SEQ_MEMORY || base.seq.constant || base.seq.type.nullable || value.v == NULL || apart) {
        zf_cg_unsupported(cg, stmt->span, "an assignment to this sequence is not lowered");
        return;
    }
    LLVMValueRef v_held = cg->v_guard;
    if (!place->proved) {
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULT, v_index, zf_cg_seq_length(cg, frame->env, &base.seq));
        v_held = zf_cg_check(cg, frame->env, v_ok, 1, place->span, place);
    }
    if (base.seq.v_start != NULL) v_index = zf_cg_add(cg, base.seq.v_start, v_index);
    if (v_held != NULL) v_index = zf_cg_select(cg, v_held, v_index, zf_cg_i64(cg, 0));
    LLVMTypeRef ty = zf_cg_memory_type(cg, base.seq.type);
    unsigned size = zf_kind_size(base.seq.type.kind);
    LLVMValueRef v_at = zf_cg_at(cg, ty, base.seq.v_data, v_index);
    LLVMValueRef v_old = zf_cg_load(cg, ty, v_at, size);
    if (stmt->has_op) {
        zf_cg_value old = zf_cg_scalar(
            base.seq.type, base.seq.type.kind == ZF_K_BOOL ? zf_cg_icmp(cg, LLVMIntNE, v_old, LLVMConstNull(ty)) : v_old);
        value = combined(cg, frame, stmt, old, value);
    }
    LLVMValueRef v = base.seq.type.kind == ZF_K_BOOL ? zf_cg_resize(cg, value.v, ty, false) : value.v;
    if (v_held != NULL) v = zf_cg_select(cg, v_held, v, v_old); // element 0 stands in for a place that is not there
    if (base.seq.together)
        cg->together->store(cg, cg->together, v, v_at, size);
    else
        zf_cg_store(cg, v, v_at, size);
}

void zf_cg_assign(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_expr *place = stmt->place;
    if (place->kind == ZF_X_INDEX) {
        assign_element(cg, frame, stmt);
        return;
    }
    zf_cg_value value = zf_cg_expr(cg, frame, stmt->value);
    if (stmt->has_op) value = combined(cg, frame, stmt, zf_cg_expr(cg, frame, place), value);
    if (place->kind == ZF_X_LOCAL) {
        zf_cg_slot *slot = zf_cg_slot_of(cg, frame, place->local);
        if (slot->kind == ZF_CG_SCALAR) {
            zf_cg_variable_store(cg, &slot->variable, &value);
            return;
        }
    } else if (frame->env->assign != NULL && frame->env->assign(cg, frame, place, &value)) {
        return;
    }
    zf_cg_unsupported(cg, stmt->span, "this assignment is not lowered here");
}

// ---- Control --------------------------------------------------------------------------------------------------

static void branch(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    LLVMValueRef v_if = zf_cg_expr(cg, frame, stmt->value).v;
    if (LLVMIsAConstantInt(v_if)) {
        zf_cg_stmts(cg, frame, LLVMConstIntGetZExtValue(v_if) ? stmt->body : stmt->else_part);
        return;
    }
    LLVMBasicBlockRef bb_then = zf_cg_block(cg, "then"), bb_else = zf_cg_block(cg, "else"), bb_join = zf_cg_block(cg, "join");
    LLVMBasicBlockRef bb_from[2];
    LLVMValueRef v_saved = cg->v_guard, v_guards[2];
    zf_cg_cond_br(cg, v_if, bb_then, bb_else);
    for (unsigned side = 0; side < 2; side++) {
        zf_cg_enter(cg, side == 0 ? bb_then : bb_else);
        zf_cg_stmts(cg, frame, side == 0 ? stmt->body : stmt->else_part);
        v_guards[side] = cg->v_guard;
        bb_from[side] = zf_cg_here(cg);
        cg->v_guard = v_saved;
        zf_cg_br(cg, bb_join);
        LLVMMoveBasicBlockAfter(side == 0 ? bb_else : bb_join, bb_from[side]);
    }
    zf_cg_enter(cg, bb_join);
    if (v_guards[0] == v_guards[1]) { // NULL both, or as before: nothing was required inside
        cg->v_guard = v_guards[0];
        return;
    }
    for (unsigned side = 0; side < 2; side++) {
        if (v_guards[side] == NULL) v_guards[side] = zf_cg_i1(cg, true);
    }
    cg->v_guard = zf_cg_phi2(cg, cg->ty_i1, v_guards[0], bb_from[0], v_guards[1], bb_from[1]);
}

/// True when a loop may end before its last iteration: those that it makes are counted then, one by one. Others are counted at
/// once, before they begin, which keeps them free to be vectorised.
static bool may_leave(const zf_stmt *stmts) {
    for (const zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        if (stmt->kind == ZF_S_BREAK || stmt->kind == ZF_S_RETURN || may_leave(stmt->body) || may_leave(stmt->else_part))
            return true;
    }
    return false;
}

void zf_cg_range_work(zf_cg *cg, const zf_cg_frame *frame, const zf_cg_range *range, zf_span span) {
    if (frame->env->work == NULL || frame->env->counts_as_written) return;
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntULT, range->v_lo, range->v_hi);
    LLVMValueRef v_count = zf_cg_select(cg, v_some, zf_cg_sub(cg, range->v_hi, range->v_lo), zf_cg_i64(cg, 0));
    if (LLVMIsAConstantInt(v_count) && LLVMConstIntGetZExtValue(v_count) <= FEW) return;
    frame->env->work(cg, frame->env, v_count, span);
}

void zf_cg_bytes_work(zf_cg *cg, const zf_cg_frame *frame, LLVMValueRef v_bytes, zf_span span) {
    if (frame->env->work == NULL || frame->env->counts_as_written) return;
    LLVMValueRef v_count = LLVMBuildLShr(cg->builder, v_bytes, zf_cg_i64(cg, 6), "");
    if (LLVMIsAConstantInt(v_count) && LLVMConstIntGetZExtValue(v_count) <= FEW) return;
    frame->env->work(cg, frame->env, v_count, span);
}

/// Emits a loop's body: break and continue go to its own blocks.
void zf_cg_loop_body(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt, LLVMBasicBlockRef bb_break,
                     LLVMBasicBlockRef bb_continue) {
    LLVMBasicBlockRef bb_outer_break = frame->bb_break, bb_outer_continue = frame->bb_continue;
    LLVMBasicBlockRef bb_turn = frame->env->end_turn == NULL ? NULL : zf_cg_block(cg, "turn_ends");
    frame->bb_break = bb_break;
    frame->bb_continue = bb_turn == NULL ? bb_continue : bb_turn;
    bool counted = !stmt->bounded || frame->env->counts_all || (!frame->env->counts_as_written && may_leave(stmt->body));
    if (counted && frame->env->work != NULL) {
        if (cg->put_off != NULL) cg->put_off->of_loop = true;
        frame->env->work(cg, frame->env, zf_cg_i64(cg, 1), stmt->span);
        if (cg->put_off != NULL) cg->put_off->of_loop = false;
    }
    zf_cg_stmts(cg, frame, stmt->body);
    if (bb_turn != NULL) {
        zf_cg_br(cg, bb_turn);
        LLVMMoveBasicBlockAfter(bb_turn, zf_cg_here(cg));
        zf_cg_enter(cg, bb_turn);
        frame->env->end_turn(cg, frame, stmt);
    }
    if (counted) zf_cg_settle_turns(cg);
    frame->bb_break = bb_outer_break;
    frame->bb_continue = bb_outer_continue;
}

static void while_or_loop(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "head"), bb_body = zf_cg_block(cg, "body"), bb_end = zf_cg_block(cg, "end");
    LLVMValueRef v_saved = cg->v_guard;
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    LLVMValueRef v_go = stmt->kind == ZF_S_WHILE ? zf_cg_expr(cg, frame, stmt->value).v : zf_cg_i1(cg, true);
    if (cg->v_guard != NULL) v_go = zf_cg_select(cg, cg->v_guard, v_go, zf_cg_i1(cg, false));
    zf_cg_cond_br(cg, v_go, bb_body, bb_end);
    LLVMMoveBasicBlockAfter(bb_body, zf_cg_here(cg));
    zf_cg_enter(cg, bb_body);
    zf_cg_loop_body(cg, frame, stmt, bb_end, bb_head);
    zf_cg_br(cg, bb_head);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    cg->v_guard = v_saved;
}

/// Row that a loop's index stands for, when it counts over the rows of the block: what a refusal names.
static LLVMValueRef row_of_range(const zf_stmt *stmt, LLVMValueRef v_i) {
    const zf_expr *hi = stmt->binder.hi;
    return hi->kind == ZF_X_LEN && hi->a->kind == ZF_X_INPUT ? v_i : NULL;
}

static void for_range(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_range range = zf_cg_range_make(cg, frame, &stmt->binder);
    zf_cg_range_loop loop;
    LLVMValueRef v_outer = frame->v_row;
    if (!may_leave(stmt->body)) zf_cg_range_work(cg, frame, &range, stmt->span);
    zf_cg_range_begin(cg, &loop, &range, "for");
    zf_cg_value k = zf_cg_scalar(zf_type_of(ZF_K_U64), loop.v_i);
    zf_cg_bind(cg, frame, stmt->binder.local, &k);
    LLVMValueRef v_row = row_of_range(stmt, loop.v_i);
    if (v_row != NULL) frame->v_row = v_row;
    zf_cg_loop_body(cg, frame, stmt, loop.bb_end, loop.bb_next);
    frame->v_row = v_outer;
    zf_cg_range_end(cg, &loop);
}

static void for_each(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_value sequence = zf_cg_expr(cg, frame, stmt->value);
    // A buffer may move while its loop pushes to it, so where it lies is asked again for every element.
    const zf_expr *value = stmt->value;
    bool moves = value->kind == ZF_X_STREAM || (value->kind == ZF_X_LOCAL && value->local->kind == ZF_L_GROWING);
    zf_cg_range range = {.v_lo = zf_cg_i64(cg, 0), .v_hi = zf_cg_seq_length(cg, frame->env, &sequence.seq)};
    if (cg->v_guard != NULL) range.v_hi = zf_cg_select(cg, cg->v_guard, range.v_hi, range.v_lo);
    zf_cg_range_loop loop;
    LLVMValueRef v_outer = frame->v_row;
    if (!may_leave(stmt->body)) zf_cg_range_work(cg, frame, &range, stmt->span);
    zf_cg_range_begin(cg, &loop, &range, "each");
    if (moves) sequence = zf_cg_expr(cg, frame, value);
    zf_cg_value element = zf_cg_seq_element(cg, frame->env, &sequence.seq, loop.v_i, NULL);
    zf_cg_bind(cg, frame, stmt->local, &element);
    if (sequence.seq.column_rows) {
        frame->v_row = sequence.seq.v_start == NULL ? loop.v_i : zf_cg_add(cg, sequence.seq.v_start, loop.v_i);
    }
    zf_cg_each outer = frame->each;
    frame->each = (zf_cg_each){.local = moves ? NULL : stmt->local, sequence.seq, loop.v_i, range.v_hi};
    zf_cg_loop_body(cg, frame, stmt, loop.bb_end, loop.bb_next);
    frame->each = outer;
    frame->v_row = v_outer;
    zf_cg_range_end(cg, &loop);
}

void zf_cg_loop_over(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (stmt->kind == ZF_S_FOR_RANGE)
        for_range(cg, frame, stmt);
    else
        for_each(cg, frame, stmt);
}

void zf_cg_loop_as_written(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (stmt->kind == ZF_S_WHILE || stmt->kind == ZF_S_LOOP)
        while_or_loop(cg, frame, stmt);
    else
        zf_cg_loop_over(cg, frame, stmt);
}

static void jump(zf_cg *cg, const zf_stmt *stmt, LLVMBasicBlockRef bb) {
    if (bb == NULL) {
        zf_cg_unsupported(cg, stmt->span, "nothing to leave here");
        return;
    }
    zf_cg_br(cg, bb);
    zf_cg_unreachable_block(cg);
}

static void leave(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_value value = {.type = zf_type_of(ZF_K_NONE)};
    if (stmt->value != NULL) value = zf_cg_expr(cg, frame, stmt->value);
    if (frame->to == NULL) {
        zf_cg_unsupported(cg, stmt->span, "nothing to return from here");
        return;
    }
    if (stmt->value != NULL) zf_cg_variable_store(cg, &frame->to->result, &value);
    zf_cg_leave(cg, frame->to);
    zf_cg_unreachable_block(cg);
}

static void require(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    LLVMValueRef v_held = zf_cg_expr(cg, frame, stmt->value).v;
    if (stmt->value->range.lo >= 1) return; // proved by ranges: there is no check to fail
    bool alone = cg->v_guard == NULL;
    v_held = zf_cg_check(cg, frame->env, v_held, 6, stmt->span, NULL);
    // Later code was proved with the required condition. If a failure was only noted, those proofs do not hold.
    if (v_held != NULL) cg->v_guard = v_held;
    cg->v_required = alone ? v_held : NULL;
}

static void statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg_value value;
    switch (stmt->kind) {
    case ZF_S_LET:
        value = zf_cg_expr(cg, frame, stmt->local->init);
        zf_cg_bind(cg, frame, stmt->local, &value);
        break;
    case ZF_S_VAR: declare(cg, frame, stmt); break;
    case ZF_S_ASSIGN: zf_cg_assign(cg, frame, stmt); break;
    case ZF_S_EXPR: zf_cg_expr(cg, frame, stmt->value); break;
    case ZF_S_IF: branch(cg, frame, stmt); break;
    case ZF_S_WHILE:
    case ZF_S_LOOP:
    case ZF_S_FOR_RANGE:
    case ZF_S_FOR_EACH: zf_cg_loop_as_written(cg, frame, stmt); break;
    case ZF_S_BREAK: jump(cg, stmt, frame->bb_break); break;
    case ZF_S_CONTINUE:
        if (frame->env->end_turn == NULL) zf_cg_settle_turns(cg);
        jump(cg, stmt, frame->bb_continue);
        break;
    case ZF_S_RETURN: leave(cg, frame, stmt); break;
    case ZF_S_REQUIRE: require(cg, frame, stmt); break;
    default: zf_cg_unsupported(cg, stmt->span, "this statement is not lowered here"); break;
    }
}

void zf_cg_stmts(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmts) {
    for (const zf_stmt *stmt = stmts; stmt != NULL && !cg->failed; stmt = stmt->next) {
        LLVMMetadataRef before = zf_cg_lines_enter(cg, stmt->span);
        zf_span sites_at = cg->sites_at;
        cg->sites_at = stmt->span;
        if (frame->env->stmt == NULL || !frame->env->stmt(cg, frame, stmt)) statement(cg, frame, stmt);
        cg->sites_at = sites_at;
        zf_cg_lines_leave(cg, before);
    }
}

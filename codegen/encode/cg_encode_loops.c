// Loops of an encode body over rows: room for all that they push is made before they begin, and what a call does better for all
// rows is one.
#include <stddef.h>

#include "codegen/body/cg_emit.h"
#include "codegen/encode/cg_encode.h"
#include "frontend/check/walk.h"
#include "frontend/match/match.h"

// ---- Room -----------------------------------------------------------------------------------------------------

/// How a loop's body writes to one buffer.
typedef struct writes {
    const zf_expr *target;
    const zf_port *param; ///< or assigns to one param
    unsigned count;
    bool leaves; ///< some iteration may end before its last statement
} writes;

static bool same_target(const zf_expr *a, const zf_expr *b) {
    if (a->kind != b->kind) return false;
    return a->kind == ZF_X_STREAM ? a->port == b->port : a->local == b->local;
}

static bool is_write(const zf_stmt *stmt) {
    switch (stmt->kind) {
    case ZF_S_PUSH:
    case ZF_S_PUSH_BITS:
    case ZF_S_PUSH_VARINT:
    case ZF_S_APPEND:
    case ZF_S_REVERSE: return true;
    default: return false;
    }
}

static bool note_write(zf_visitor *visitor, zf_stmt *stmt) {
    writes *w = visitor->user;
    w->leaves = w->leaves || stmt->kind == ZF_S_BREAK || stmt->kind == ZF_S_CONTINUE || stmt->kind == ZF_S_RETURN;
    w->count += is_write(stmt) && same_target(stmt->target, w->target);
    w->count += stmt->kind == ZF_S_VAR && w->target->kind == ZF_X_LOCAL && stmt->local == w->target->local; // empties it
    return true;
}

static bool note_intern(zf_visitor *visitor, zf_expr *expr) {
    writes *w = visitor->user;
    w->count += expr->kind == ZF_X_INTERN && w->target->kind == ZF_X_STREAM && expr->port == w->target->port;
    return true;
}

/// Pushes of `first`'s kind to its buffer in each iteration: it and those behind it, if nothing else writes there; else 0.
static unsigned pushes(const zf_stmt *loop, const zf_stmt *first) {
    writes all = {.target = first->target};
    zf_visitor visitor = {.user = &all, .stmt = note_write, .expr = note_intern};
    zf_visit_stmts(&visitor, loop->body);
    unsigned count = 0;
    for (const zf_stmt *stmt = loop->body; stmt != NULL; stmt = stmt->next)
        count += stmt->kind == first->kind && same_target(stmt->target, first->target);
    return all.leaves || count != all.count ? 0 : count;
}

static bool note_assigned(zf_visitor *visitor, zf_stmt *stmt) {
    writes *w = visitor->user;
    w->count += stmt->kind == ZF_S_ASSIGN && stmt->place->kind == ZF_X_PARAM && stmt->place->port == w->param;
    return true;
}

/// The param that an integer is, converted or not; NULL: none.
static const zf_port *param_of(const zf_expr *expr) {
    while (expr->kind == ZF_X_CAST) expr = expr->a;
    return expr->kind == ZF_X_PARAM ? expr->port : NULL;
}

/// Whether the bits of a push are as many in every iteration.
static bool has_one_width(const zf_stmt *loop, const zf_stmt *push) {
    writes found = {.param = param_of(push->count)};
    zf_visitor visitor = {.user = &found, .stmt = note_assigned};
    if (found.param == NULL) return false;
    zf_visit_stmts(&visitor, loop->body);
    return found.count == 0;
}

/// Makes room for what a loop pushes at a statement; false: its buffer has none for all.
///
/// The room is computed modulo 2^64, so for some loops it is too small, and their pushes look for none. These never run:
/// zf_cg_range_work counts all iterations before the first one, and ends the body where they are more than 1,024 for each row
/// and 2^27 (work_limit of compiler/encode/encode_tree.c). Memory has fewer than 2^40 rows, so iterations are fewer than 2^51,
/// and 2^64 is more than their product with 64 bits, or with the pushes of a body. A loop that may leave early is counted one by
/// one; `pushes` is 0 for it.
static bool reserve(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *loop, const zf_stmt *stmt, const zf_cg_buffer *buffer,
                    LLVMValueRef v_count) {
    bool text = buffer->type.kind == ZF_K_STRING, bits = stmt->kind == ZF_S_PUSH_BITS;
    if (buffer->reserved || text || buffer->type.nullable || buffer->bitwise != bits) return false;
    unsigned count = pushes(loop, stmt);
    if (count == 0 || (bits && (count > 1 || !has_one_width(loop, stmt)))) return false;
    LLVMValueRef v_more = zf_cg_mul(cg, v_count, zf_cg_i64(cg, count));
    if (bits) {
        LLVMValueRef v_width = zf_cg_resize(cg, zf_cg_expr(cg, frame, stmt->count).v, cg->ty_i64, false);
        v_more = zf_cg_buffer_bits_room(cg, buffer, v_more, zf_cg_umin(cg, v_width, zf_cg_i64(cg, 64)));
    }
    zf_cg_buffer_reserve(cg, frame, buffer, v_more, stmt->span);
    return true;
}

static LLVMValueRef iterations(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (stmt->kind == ZF_S_FOR_EACH) {
        zf_cg_value sequence = zf_cg_expr(cg, frame, stmt->value);
        return zf_cg_seq_length(cg, zf_cg_frame_env(frame), &sequence.seq);
    }
    zf_cg_range range = zf_cg_range_make(cg, frame, &stmt->binder);
    LLVMValueRef v_count = zf_cg_sub(cg, range.v_hi, range.v_lo), v_0 = zf_cg_i64(cg, 0);
    LLVMValueRef v_some = zf_cg_icmp(cg, range.inclusive ? LLVMIntULE : LLVMIntULT, range.v_lo, range.v_hi);
    if (range.inclusive) v_count = zf_cg_add(cg, v_count, zf_cg_i64(cg, 1));
    return zf_cg_select(cg, v_some, v_count, v_0);
}

// ---- Pushes under a condition -----------------------------------------------------------------------------------

/// Whether an expression can be evaluated where the condition does not hold: it is arithmetic that cannot fail, on locals and on
/// what the condition has evaluated.
static bool is_safe(const zf_expr *expr, const zf_expr *condition) {
    zf_expr *e = (zf_expr *)(uintptr_t)expr; // only looks
    if (expr->is_seq || expr->type.nullable || expr->type.kind == ZF_K_STRING) return false;
    if (zf_match_same(e, condition->a) || zf_match_same(e, condition->b)) return true;
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM: return true;
    case ZF_X_LOCAL: return expr->local->kind == ZF_L_VAR || expr->local->kind == ZF_L_BINDER;
    case ZF_X_CAST: return zf_kind_is_integer(expr->type.kind) && is_safe(expr->a, condition);
    case ZF_X_BINARY:
        return (expr->op == ZF_OP_ADD || expr->op == ZF_OP_SUB) && is_safe(expr->a, condition) && is_safe(expr->b, condition);
    default: return false;
    }
}

/// A branch whose pushes and assignments can be made in any case, and then count or not.
typedef struct counted {
    const zf_stmt *pushes[4]; ///< each to a buffer of its own
    unsigned count;
} counted;

static bool is_counted(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt, counted *out) {
    const zf_expr *condition = stmt->value;
    bool compares = condition->kind == ZF_X_BINARY && (condition->op == ZF_OP_NE || condition->op == ZF_OP_EQ);
    *out = (counted){0};
    if (!compares || stmt->else_part != NULL || zf_cg_frame_env(frame)->work == NULL) return false;
    for (const zf_stmt *s = stmt->body; s != NULL; s = s->next) {
        if (s->kind == ZF_S_ASSIGN) {
            bool scalar = s->place->kind == ZF_X_LOCAL && s->place->local->kind == ZF_L_VAR && !s->has_op;
            if (!scalar || !is_safe(s->value, condition)) return false;
            continue;
        }
        const zf_cg_buffer *buffer = s->kind == ZF_S_PUSH ? zf_cg_encode_buffer_of(cg, frame, s->target) : NULL;
        bool plain =
            buffer != NULL && !buffer->bitwise && !buffer->reserved && !buffer->type.nullable && buffer->type.kind != ZF_K_STRING;
        if (!plain || out->count == 4 || !is_safe(s->value, condition)) return false;
        for (unsigned k = 0; k < out->count; k++) {
            if (same_target(out->pushes[k]->target, s->target)) return false;
        }
        out->pushes[out->count++] = s;
    }
    return out->count > 0;
}

/// Lowers a branch that is often predicted wrongly, such as the end of a run, without a jump, as long as buffers have room.
static bool push_if(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    counted all;
    if (!is_counted(cg, frame, stmt, &all)) return false;
    LLVMValueRef v_if = zf_cg_expr(cg, frame, stmt->value).v, v_room = zf_cg_i1(cg, true);
    for (unsigned k = 0; k < all.count; k++) {
        const zf_cg_buffer *buffer = zf_cg_encode_buffer_of(cg, frame, all.pushes[k]->target);
        v_room = zf_cg_and(cg, v_room, zf_cg_buffer_has_room(cg, buffer));
    }
    LLVMBasicBlockRef bb_both = zf_cg_block(cg, "both"), bb_full = zf_cg_block(cg, "full"), bb_then = zf_cg_block(cg, "then");
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "counted");
    LLVMValueRef v_expect[2] = {v_room, zf_cg_i1(cg, true)};
    v_room = zf_cg_intrinsic(cg, "llvm.expect", &cg->ty_i1, 1, v_expect, 2);
    zf_cg_cond_br(cg, v_room, bb_both, bb_full);
    zf_cg_enter(cg, bb_both);
    for (const zf_stmt *s = stmt->body; s != NULL; s = s->next) {
        zf_cg_value value = zf_cg_expr(cg, frame, s->value);
        if (s->kind == ZF_S_PUSH) {
            zf_cg_buffer_push_if(cg, zf_cg_encode_buffer_of(cg, frame, s->target), v_if, &value);
            continue;
        }
        zf_cg_value old = zf_cg_expr(cg, frame, s->place);
        value.v = zf_cg_select(cg, v_if, value.v, old.v);
        zf_cg_variable_store(cg, &zf_cg_slot_of(cg, frame, s->place->local)->variable, &value);
    }
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_full);
    zf_cg_cond_br(cg, v_if, bb_then, bb_on);
    zf_cg_enter(cg, bb_then);
    zf_cg_stmts(cg, frame, stmt->body);
    zf_cg_br(cg, bb_on);
    LLVMMoveBasicBlockAfter(bb_on, zf_cg_here(cg));
    zf_cg_enter(cg, bb_on);
    return true;
}

bool zf_cg_encode_if(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    return cg->v_guard == NULL && push_if(cg, frame, stmt);
}

// ---- Texts ----------------------------------------------------------------------------------------------------

/// `for v in x { numbers.push(stream.intern(v)); }` over texts as one call.
static bool intern_texts(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *loop) {
    const zf_stmt *only = loop->body;
    if (loop->kind != ZF_S_FOR_EACH || only == NULL || only->next != NULL || only->kind != ZF_S_PUSH) return false;
    const zf_expr *value = only->value;
    if (value->kind != ZF_X_INTERN || value->port == NULL || value->a->kind != ZF_X_LOCAL || value->a->local != loop->local ||
        loop->value->kind != ZF_X_INPUT || loop->value->type.kind != ZF_K_STRING)
        return false;
    zf_cg_encode_env *e = (zf_cg_encode_env *)zf_cg_frame_env(frame);
    const zf_cg_buffer *numbers = zf_cg_encode_buffer_of(cg, frame, only->target), *texts = &e->streams[value->port->slot];
    if (numbers == NULL || numbers->type.kind != ZF_K_U32 || numbers->type.nullable || numbers->bitwise || numbers == texts)
        return false;
    zf_cg_value sequence = zf_cg_expr(cg, frame, loop->value);
    if (sequence.seq.kind != ZF_CG_SEQ_TEXTS || sequence.seq.v_start != NULL) return false;
    LLVMValueRef v_null = LLVMConstNull(cg->ty_ptr), v_length = zf_cg_seq_length(cg, zf_cg_frame_env(frame), &sequence.seq);
    zf_cg_range range = {.v_lo = zf_cg_i64(cg, 0), .v_hi = v_length};
    zf_cg_range_work(cg, frame, &range, loop->span);
    LLVMValueRef v_validity = sequence.seq.v_validity != NULL ? sequence.seq.v_validity : v_null;
    LLVMValueRef v_args[7] = {e->v_frame, numbers->v_struct, texts->v_struct, sequence.seq.v_data, sequence.seq.v_offsets,
                              v_validity, v_length};
    zf_cg_buffer_out(cg, numbers);
    zf_cg_buffer_out(cg, texts);
    LLVMValueRef v = zf_cg_call(cg, "zf_cg_intern_texts", cg->ty_i64, v_args, 7);
    LLVMValueRef v_row = zf_cg_load(cg, cg->ty_i64, zf_cg_frame_field(cg, e, offsetof(zf_encode_frame, row)), 8);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntNE, v, zf_cg_i64(cg, 0));
    zf_cg_encode_stop_unless(cg, e, v_ok, ZF_ENCODE_DONE, 0, only->span, v_row);
    zf_cg_buffer_in(cg, numbers);
    zf_cg_buffer_in(cg, texts);
    return true;
}

bool zf_cg_encode_loop(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    enum { MOST = 8 }; ///< buffers that a loop makes room in
    if (intern_texts(cg, frame, stmt)) return true;
    zf_cg_buffer *reserved[MOST];
    unsigned count = 0;
    LLVMValueRef v_count = NULL;
    for (const zf_stmt *push = stmt->body; push != NULL && count < MOST; push = push->next) {
        if (push->kind != ZF_S_PUSH && push->kind != ZF_S_PUSH_BITS) continue;
        zf_cg_buffer *buffer = (zf_cg_buffer *)(uintptr_t)zf_cg_encode_buffer_of(cg, frame, push->target);
        if (buffer == NULL || pushes(stmt, push) == 0) continue;
        if (v_count == NULL) v_count = iterations(cg, frame, stmt);
        if (!reserve(cg, frame, stmt, push, buffer, v_count)) continue;
        buffer->reserved = true;
        reserved[count++] = buffer;
    }
    zf_cg_loop_over(cg, frame, stmt);
    while (count > 0) reserved[--count]->reserved = false;
    return true;
}

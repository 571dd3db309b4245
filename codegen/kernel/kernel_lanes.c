// Lanes on the host: one after the other, their states in arrays, but for rows that the target makes by vectors. Whether a lane
// refills is a coin's toss that no branch predictor learns, while the next lane waits for nothing of it: so a light `if` becomes
// selects, and its read moves the cursor by 0 or 1.
#include "codegen/kernel/kernel_chunks.h"

// ---- Light ifs ------------------------------------------------------------------------------------------------

enum { LIGHT_STATEMENTS = 3 };

/// Whether an element can be read at any position up to the end, and is a plain value: then reading one too many costs nothing.
static bool is_readable(const zf_chunk *chunk, const zf_port *port) {
    const zf_chunk_stream *s = &chunk->streams[port->slot];
    return s->v_bytes != NULL && !s->by_bits && !port->has_range && !port->type.nullable && port->type.kind != ZF_K_STRING;
}

static bool is_light(const zf_cg_frame *frame, const zf_chunk *chunk, const zf_expr *e, unsigned *moves) {
    if (e == NULL) return true;
    if (!e->effect) return zf_cg_arm_of(frame, e) == ZF_CG_ARM_PLAIN;
    bool lazy = e->op == ZF_OP_ANDAND || e->op == ZF_OP_OROR, divides = e->op == ZF_OP_DIV || e->op == ZF_OP_REM;
    switch (e->kind) {
    case ZF_X_CURSOR: return e->cursor == ZF_C_NEXT && is_readable(chunk, e->port) && ++*moves == 1;
    case ZF_X_UNARY:
    case ZF_X_CAST: return is_light(frame, chunk, e->a, moves);
    case ZF_X_BINARY: return !lazy && !divides && is_light(frame, chunk, e->a, moves) && is_light(frame, chunk, e->b, moves);
    default: return false;
    }
}

/// Assignments of light values to states and variables.
static bool is_light_body(zf_cg *cg, zf_cg_frame *frame, const zf_chunk *chunk, const zf_stmt *stmts) {
    unsigned count = 0, moves = 0;
    for (const zf_stmt *s = stmts; s != NULL; s = s->next) {
        if (s->kind != ZF_S_ASSIGN || ++count > LIGHT_STATEMENTS || !is_light(frame, chunk, s->value, &moves)) return false;
        bool variable = s->place->kind == ZF_X_LOCAL && zf_cg_slot_of(cg, frame, s->place->local)->kind == ZF_CG_SCALAR;
        if (s->place->kind != ZF_X_STATE && !variable) return false;
        if (s->has_op && (s->op == ZF_OP_DIV || s->op == ZF_OP_REM)) return false;
    }
    return moves > 0; // without a read the optimiser sees to it
}

void zf_chunk_assign_where(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmts, LLVMValueRef v_if) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    for (const zf_stmt *s = stmts; s != NULL; s = s->next) {
        zf_cg_value old = zf_cg_expr(cg, frame, s->place);
        chunk->v_when = v_if;
        zf_cg_assign(cg, frame, s);
        chunk->v_when = NULL;
        zf_cg_value made = zf_cg_expr(cg, frame, s->place), kept = zf_cg_select_value(cg, v_if, &made, &old);
        if (s->place->kind == ZF_X_STATE)
            zf_chunk_state_store(cg, chunk, s->place->state, kept.v);
        else
            zf_cg_variable_store(cg, &zf_cg_slot_of(cg, frame, s->place->local)->variable, &kept);
    }
}

bool zf_chunk_row_reads(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    const zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    if (!chunk->in_row || stmt != chunk->inst->decode.stmts) return false;
    if (!chunk->row_reads) return true;
    LLVMValueRef v_reads = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, chunk->v_reads, chunk->v_lane), 1);
    zf_chunk_assign_where(cg, frame, stmt->body, zf_cg_resize(cg, v_reads, cg->ty_i1, false));
    return true;
}

bool zf_chunk_light_if(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    const zf_expr *condition = stmt->value;
    if (chunk->inst->lanes == 0 || stmt->else_part != NULL || condition->effect) return false;
    if (!is_light_body(cg, frame, chunk, stmt->body)) return false;
    LLVMBasicBlockRef bb_join = NULL;
    if (condition->kind == ZF_X_BINARY && condition->op == ZF_OP_ANDAND) { // `now && needed`: rows agree about the first
        if (zf_cg_arm_of(frame, condition->b) != ZF_CG_ARM_PLAIN) return false;
        LLVMBasicBlockRef bb_then = zf_cg_block(cg, "then");
        bb_join = zf_cg_block(cg, "join");
        zf_cg_cond_br(cg, zf_cg_expr(cg, frame, condition->a).v, bb_then, bb_join);
        zf_cg_enter(cg, bb_then);
        condition = condition->b;
    }
    LLVMValueRef v_if = zf_cg_expr(cg, frame, condition).v;
    zf_chunk_assign_where(cg, frame, stmt->body, v_if);
    if (bb_join == NULL) return true;
    zf_cg_br(cg, bb_join);
    LLVMMoveBasicBlockAfter(bb_join, zf_cg_here(cg));
    zf_cg_enter(cg, bb_join);
    return true;
}

// ---- Elements -------------------------------------------------------------------------------------------------

void zf_chunk_run_lanes(zf_chunk *chunk) {
    zf_cg *cg = chunk->env.lower->cg;
    const zf_inst *inst = chunk->inst;
    zf_cg_env *env = &chunk->env.env;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_lanes = zf_cg_i64(cg, inst->lanes);
    zf_cg_loop rows, lanes;
    zf_cg_loop_begin(cg, &lanes, v_zero, v_lanes, "lane");
    chunk->v_lane = lanes.v_i;
    for (uint32_t s = 0; s < inst->state_count; s++) {
        zf_chunk_state_store(cg, chunk, &inst->states[s],
                             zf_cg_eval_expr(cg, env, &inst->decode, inst->states[s].init, NULL, 0).v);
    }
    zf_cg_loop_end(cg, &lanes);
    LLVMValueRef v_last = zf_cg_add(cg, chunk->v_count, zf_cg_i64(cg, inst->lanes - 1));
    zf_cg_loop_begin(cg, &rows, v_zero, LLVMBuildUDiv(cg->builder, v_last, v_lanes, ""), "row");
    LLVMValueRef v_from = zf_cg_mul(cg, rows.v_i, v_lanes);
    const zf_kernel_ops *ops = chunk->env.lower->ops;
    if (ops->row != NULL) {
        LLVMBasicBlockRef bb_singly = zf_cg_block(cg, "singly");
        if (ops->row(chunk, v_from, bb_singly)) zf_cg_br(cg, rows.bb_next);
        LLVMMoveBasicBlockAfter(bb_singly, zf_cg_here(cg));
        if (LLVMGetBasicBlockTerminator(zf_cg_here(cg)) == NULL) zf_cg_br(cg, bb_singly);
        zf_cg_enter(cg, bb_singly);
    }
    zf_cg_loop_begin(cg, &lanes, v_zero, zf_cg_umin(cg, v_lanes, zf_cg_sub(cg, chunk->v_count, v_from)), "element");
    chunk->v_lane = lanes.v_i;
    LLVMValueRef v_within = lanes.v_i;
    if ((inst->lanes & (inst->lanes - 1)) == 0)
        v_within = zf_cg_and(cg, v_within, zf_cg_i64(cg, inst->lanes - 1)); // says its range
    chunk->env.v_i = zf_cg_add(cg, v_from, v_within);
    LLVMBuildStore(cg->builder, chunk->env.v_i, chunk->v_pos);
    zf_chunk_store(chunk, zf_cg_eval_body(cg, env, &inst->decode), chunk->env.v_i);
    zf_cg_loop_end(cg, &lanes);
    zf_cg_loop_end(cg, &rows);
}

// Chunks whose elements are made by lanes: a warp walks a chunk row by row, each of its threads one lane with the lane's states
// in registers. A cursor that lanes share has one position for all of them. A ballot tells which lanes read (a scan, if amounts
// differ), so that each lane reads behind those before it, as the language demands.
//
// All lanes must therefore come to every read together: bodies are straight code here, and an `if` around a read becomes a
// condition of the read and of the assignments. One thread a chunk walks bodies of another shape (zf_form_lanes_fits). A failed
// check is noted only; then one thread walks the chunk again, from its begin, and reports the failure.
//
// Where a wave has 64 lanes, a warp is half of one: a wave walks two chunks, and each half takes its half of a ballot.
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/memory/simt_readahead.h"
#include "codegen/simt/memory/simt_tables.h"
#include "codegen/simt/simt_choices.h"
#include "frontend/check/checker.h"
#include "frontend/check/walk.h"

enum {
    WARPS = 8,  ///< chunks that a thread block makes together, each by so many threads as a program has lanes at most
    BATCH = 16, ///< rows that are made without asking whether they exist: a refill every so many rows is known then
};

// ---- Which chunks ---------------------------------------------------------------------------------------------

typedef struct search {
    const char *refusal; // NULL: nothing was found that lanes of a warp cannot do
    uint32_t reads[64];  // by stream slot
} search;

static bool refuse(search *found, const char *why) {
    if (found->refusal == NULL) found->refusal = why;
    return false;
}

static bool reads_in_order(zf_cursor cursor) {
    switch (cursor) {
    case ZF_C_VARINT:
    case ZF_C_PEEK:
    case ZF_C_SKIP:
    case ZF_C_ALIGN:
    case ZF_C_AT_END:
    case ZF_C_POS:
    case ZF_C_BIT_POS:
    case ZF_C_COUNT: return false;
    default: return true;
    }
}

static bool see_expr(zf_visitor *visitor, zf_expr *expr) {
    search *found = visitor->user;
    switch (expr->kind) {
    case ZF_X_REDUCE:
    case ZF_X_MINMAX: return refuse(found, "has lanes that loop in a reduction");
    case ZF_X_OUT:
    case ZF_X_OUT_POS: return refuse(found, "has lanes that read `out`");
    case ZF_X_SLICE: return refuse(found, "has lanes that take slices");
    case ZF_X_LEN: return expr->a->kind != ZF_X_OUT; // of the chunk
    case ZF_X_COND:
        if (expr->b->effect || expr->c->effect) refuse(found, "has lanes that read in an arm of `?:`");
        break;
    case ZF_X_BINARY:
        if ((expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) && expr->b->effect)
            refuse(found, "has lanes that read behind `&&` or `||`");
        break;
    case ZF_X_CALL:
        if (expr->effect || expr->call->body != NULL)
            refuse(found, "has lanes that call a function that reads or has statements");
        break;
    case ZF_X_CURSOR:
        if (!reads_in_order(expr->cursor))
            refuse(found, "has lanes that move a cursor by other than next, read and whole numbers");
        // A second read of a stream would begin behind the first of all lanes.
        else if (expr->port->slot >= 64 || found->reads[expr->port->slot]++ > 0)
            refuse(found, "has lanes that read a stream in two places");
        break;
    default: break;
    }
    return found->refusal == NULL;
}

static bool see_nothing_else(zf_visitor *visitor, zf_stmt *stmt) {
    (void)stmt;
    return refuse(visitor->user, "has lanes with statements inside expressions");
}

static bool has_effect(const zf_stmt *stmts) {
    for (const zf_stmt *s = stmts; s != NULL; s = s->next) {
        const zf_expr *own = s->kind == ZF_S_LET || s->kind == ZF_S_VAR ? s->local->init : s->value;
        if ((own != NULL && own->effect) || has_effect(s->body) || has_effect(s->else_part)) return true;
    }
    return false;
}

/// Whether the body of an `if` around reads consists of assignments of values to states and variables.
static bool can_be_predicated(const zf_stmt *stmt) {
    if (stmt->value->effect || stmt->else_part != NULL) return false;
    for (const zf_stmt *s = stmt->body; s != NULL; s = s->next) {
        bool plain = s->kind == ZF_S_ASSIGN && zf_type_storable(s->place->type) && s->place->type.kind != ZF_K_BOOL;
        if (!plain || (s->place->kind != ZF_X_STATE && s->place->kind != ZF_X_LOCAL)) return false;
    }
    return true;
}

static void see_statements(search *found, const zf_stmt *stmts, bool outermost) {
    zf_visitor visitor = {.user = found, .expr = see_expr, .stmt = see_nothing_else};
    for (const zf_stmt *s = stmts; s != NULL && found->refusal == NULL; s = s->next) {
        switch (s->kind) {
        case ZF_S_LET:
        case ZF_S_VAR:
            if (s->local->kind != ZF_L_LET && s->local->kind != ZF_L_VAR) refuse(found, "has lanes with local arrays");
            zf_visit_expr(&visitor, s->local->init);
            break;
        case ZF_S_ASSIGN:
            zf_visit_expr(&visitor, s->place);
            zf_visit_expr(&visitor, s->value);
            break;
        case ZF_S_EXPR:
        case ZF_S_REQUIRE: zf_visit_expr(&visitor, s->value); break;
        case ZF_S_IF:
            zf_visit_expr(&visitor, s->value);
            if ((has_effect(s->body) || has_effect(s->else_part)) && (!outermost || !can_be_predicated(s)))
                refuse(found, "has lanes that read in an `if` with other statements than assignments, or with `else`");
            see_statements(found, s->body, false);
            see_statements(found, s->else_part, false);
            break;
        default: refuse(found, "has lanes with loops, or with `return` inside"); break;
        }
    }
}

const char *zf_form_lanes_refusal(const zf_inst *inst) {
    if (inst->lanes == 0) return NULL;
    if (inst->reads_out) return "has lanes that read `out`";
    if (!zf_type_storable(inst->result) || inst->result.kind == ZF_K_BOOL)
        return "has lanes that make booleans, strings or nullable values";
    if (inst->decode.returns_inside || inst->decode.value == NULL) return "has lanes with loops, or with `return` inside";
    search states = {0}, body = {0};
    zf_visitor visitor = {.user = &states, .expr = see_expr, .stmt = see_nothing_else};
    for (uint32_t s = 0; s < inst->state_count; s++) {
        if (inst->states[s].type.kind == ZF_K_BOOL) return "has lanes with boolean states";
        zf_visit_expr(&visitor, inst->states[s].init);
    }
    visitor.user = &body;
    see_statements(&body, inst->decode.stmts, true);
    zf_visit_expr(&visitor, inst->decode.value);
    return states.refusal != NULL ? states.refusal : body.refusal;
}

bool zf_form_lanes_fits(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_inst *inst = plan->graph->nodes[kernel->root].inst;
    return kernel->domain == ZF_DOMAIN_CHUNKS && inst->lanes > 0 && zf_form_lanes_refusal(inst) == NULL;
}

// ---- Reads ----------------------------------------------------------------------------------------------------

typedef struct walk {
    zf_chunk chunk;       ///< first
    LLVMValueRef v_lane;  ///< i32
    LLVMValueRef v_below; ///< i32: bits of the lanes below this one
    LLVMValueRef
        *v_parts;        ///< by slot: where the chunk's part of a stream begins in memory; NULL: elements are asked of the block
    LLVMValueRef v_ring; ///< shared memory of this warp's readahead
    zf_simt_readahead readahead; ///< of stream `readahead_slot`, which is read element by element
    uint32_t readahead_slot;     ///< UINT32_MAX: none is
    bool in_batch, in_branch;    ///< of rows that are known at the time; in an `if` that some of them do not take
    unsigned row;                ///< of the batch
} walk;

static walk *walk_of(zf_cg_frame *frame) { return (walk *)zf_chunk_of(zf_cg_frame_env(frame)); }

static LLVMValueRef count_bits(zf_cg *cg, LLVMValueRef v) {
    LLVMTypeRef ty = cg->ty_i32;
    return zf_cg_intrinsic(cg, "llvm.ctpop", &ty, 1, &v, 1);
}

static LLVMValueRef and_both(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) {
    return a == NULL ? b : b == NULL ? a : zf_cg_and(cg, a, b);
}

/// The amounts read by the lanes below this one, and by all (i32): each lane reads v_amount (i64, at most 64), where v_reads
/// (i1; NULL: always).
static void amounts(walk *w, LLVMValueRef v_amount, LLVMValueRef v_reads, LLVMValueRef *v_before, LLVMValueRef *v_all) {
    zf_kernel_build *lower = w->chunk.env.lower;
    zf_cg *cg = lower->cg;
    v_amount = zf_cg_resize(cg, v_amount, cg->ty_i32, false);
    if (!LLVMIsConstant(v_amount)) {
        if (v_reads != NULL) v_amount = zf_cg_select(cg, v_reads, v_amount, zf_cg_i32(cg, 0));
        LLVMValueRef v_through = zf_simt_scan_warp(lower, v_amount, w->v_lane);
        *v_before = zf_cg_sub(cg, v_through, v_amount);
        *v_all = zf_simt_shuffle(lower, v_through, zf_cg_i32(cg, cg->wave - 1));
        return;
    }
    if (v_reads == NULL) {
        *v_before = zf_cg_mul(cg, w->v_lane, v_amount);
        *v_all = zf_cg_mul(cg, zf_cg_i32(cg, cg->wave), v_amount);
        return;
    }
    LLVMValueRef v_who = zf_simt_ballot(lower, v_reads);
    *v_before = zf_cg_mul(cg, count_bits(cg, zf_cg_mask(cg, v_who, w->v_below, "lanes that read before")), v_amount);
    *v_all = zf_cg_mul(cg, count_bits(cg, v_who), v_amount);
}

static LLVMValueRef claim(zf_cg *cg, zf_cg_frame *frame, const zf_chunk_stream *s, LLVMValueRef v_amount, const zf_expr *expr) {
    walk *w = walk_of(frame);
    zf_chunk *chunk = &w->chunk;
    LLVMTypeRef ty = LLVMGetAllocatedType(s->v_at);
    LLVMValueRef v_reads = and_both(cg, chunk->v_when, chunk->v_exists), v_before, v_all;
    amounts(w, v_amount, v_reads, &v_before, &v_all);
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, ty, s->v_at, "");
    LLVMValueRef v_from = zf_cg_add(cg, v_at, zf_cg_resize(cg, v_before, ty, false));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, zf_cg_resize(cg, v_all, ty, false)), s->v_at);
    if (cg->unchecked)
        return zf_cg_resize(cg, v_from, cg->ty_i64, false); // lanes that do not read stand before the end, or at it
    // Positions only grow, and stop at the end's row: neither sum can wrap before a check has failed.
    LLVMValueRef v_total = zf_cg_resize(cg, s->v_total, ty, false);
    LLVMValueRef v_end = zf_cg_add(cg, v_from, zf_cg_resize(cg, v_amount, ty, false));
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, v_end, v_total);
    LLVMValueRef v_wrong = zf_cg_not(cg, v_ok);
    if (v_reads != NULL) v_wrong = zf_cg_and(cg, v_wrong, v_reads);
    // A read in each row: the last of a batch begins behind all others, and fails where one of them does.
    bool later = w->in_batch && v_reads == NULL && !w->in_branch && ty == cg->ty_i64 && w->row + 1 < BATCH;
    if (!later) zf_cg_check(cg, zf_cg_frame_env(frame), zf_cg_not(cg, v_wrong), 2, expr->span, expr);
    return zf_cg_resize(cg, zf_cg_select(cg, v_ok, v_from, LLVMConstNull(ty)), cg->ty_i64, false);
}

/// `i / lanes % k == c`: the same for all lanes of a row. *out: whether it holds in this one, where the code of a batch knows
/// that.
typedef enum row_condition { ROW_NONE, ROW_UNKNOWN, ROW_KNOWN } row_condition;

static bool constant_value(const walk *w, const zf_expr *expr, uint64_t *out) {
    const zf_chunk *chunk = &w->chunk;
    expr = zf_expr_kept(expr);
    if (expr->kind == ZF_X_PARAM) return zf_lower_param_known(chunk->env.lower, chunk->env.node, expr->port, out);
    *out = expr->bits;
    return expr->kind == ZF_X_CONST;
}

static bool is_row_number(const walk *w, const zf_expr *expr) {
    uint64_t lanes;
    return expr->kind == ZF_X_BINARY && expr->op == ZF_OP_DIV && expr->a->kind == ZF_X_LOCAL &&
           expr->a->local->kind == ZF_L_DOMAIN_I && constant_value(w, expr->b, &lanes) && lanes == w->chunk.inst->lanes;
}

static row_condition condition_of_row(const walk *w, const zf_expr *expr, bool *out) {
    uint64_t every, rest;
    if (expr->kind != ZF_X_BINARY || expr->op != ZF_OP_EQ || !constant_value(w, expr->b, &rest)) return ROW_NONE;
    const zf_expr *rem = zf_expr_kept(expr->a);
    if (rem->kind != ZF_X_BINARY || rem->op != ZF_OP_REM || !is_row_number(w, rem->a)) return ROW_NONE;
    const zf_expr *divisor = zf_expr_kept(rem->b);
    if (divisor->kind != ZF_X_CONST && divisor->kind != ZF_X_PARAM) return ROW_NONE;
    if (!w->in_batch || !constant_value(w, divisor, &every) || every == 0 || BATCH % every != 0) return ROW_UNKNOWN;
    *out = w->row % every == rest;
    return ROW_KNOWN;
}

/// An `if` that depends on the row alone: no test is emitted if the code of a batch knows its result.
static bool statement_of_row(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    bool holds;
    if (condition_of_row(walk_of(frame), stmt->value, &holds) != ROW_KNOWN) return false;
    zf_cg_stmts(cg, frame, holds ? stmt->body : stmt->else_part);
    return true;
}

/// An `if` around reads: they, and the assignments, are done where the condition holds.
static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (stmt->kind != ZF_S_IF) return false;
    if (!has_effect(stmt->body)) return !has_effect(stmt->else_part) && statement_of_row(cg, frame, stmt);
    walk *w = walk_of(frame);
    const zf_expr *condition = stmt->value;
    LLVMBasicBlockRef bb_join = NULL;
    bool lazy = condition->kind == ZF_X_BINARY && condition->op == ZF_OP_ANDAND, holds = false;
    row_condition of_row = condition_of_row(w, lazy ? condition->a : condition, &holds);
    if (of_row == ROW_KNOWN && !holds) return true;
    if (of_row == ROW_UNKNOWN) { // all lanes go the same way
        LLVMBasicBlockRef bb_then = zf_cg_block(cg, "row_then");
        bb_join = zf_cg_block(cg, "row_join");
        zf_cg_cond_br(cg, zf_cg_expr(cg, frame, lazy ? condition->a : condition).v, bb_then, bb_join);
        zf_cg_enter(cg, bb_then);
        w->in_branch = true;
    }
    LLVMValueRef v_if = zf_cg_i1(cg, true), v_guard = cg->v_guard;
    if (of_row == ROW_NONE)
        v_if = zf_cg_expr(cg, frame, condition).v;
    else if (lazy)
        v_if = zf_cg_expr(cg, frame, condition->b).v;
    cg->v_guard = v_guard == NULL ? v_if : zf_cg_select(cg, v_guard, v_if, zf_cg_i1(cg, false));
    zf_chunk_assign_where(cg, frame, stmt->body, v_if);
    cg->v_guard = v_guard;
    if (bb_join == NULL) return true;
    w->in_branch = false;
    zf_cg_br(cg, bb_join);
    LLVMMoveBasicBlockAfter(bb_join, zf_cg_here(cg));
    zf_cg_enter(cg, bb_join);
    return true;
}

// ---- Streams ------------------------------------------------------------------------------------------------

typedef struct reading {
    const zf_port *port;
    bool next, other;
} reading;

static bool see_next(zf_visitor *visitor, zf_expr *expr) {
    reading *found = visitor->user;
    if (expr->kind != ZF_X_CURSOR || expr->port != found->port) return true;
    if (expr->cursor == ZF_C_NEXT)
        found->next = true;
    else
        found->other = true;
    return true;
}

/// Whether a stream is read element by element, and no other way: that would move the same cursor.
static bool has_next(const zf_inst *inst, const zf_port *port) {
    reading found = {.port = port};
    zf_visitor visitor = {.user = &found, .expr = see_next};
    for (uint32_t s = 0; s < inst->state_count; s++) zf_visit_expr(&visitor, inst->states[s].init);
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->decode); // only looks
    return found.next && !found.other;
}

static bool is_plain(const zf_port *port) {
    return zf_type_storable(port->type) && port->type.kind != ZF_K_BOOL && !port->has_range;
}

/// The stream that is read ahead: the first that is read element by element, from memory.
static uint32_t readahead_of(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_graph_node *node = &plan->graph->nodes[kernel->root];
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_port *port = node->inst->streams[s];
        const zf_graph_edge *edge = &plan->graph->edges[node->inputs[s]];
        bool in_memory = edge->stored >= 0 || plan->edge_work[edge->index] >= 0;
        if (port->per_chunk && in_memory && is_plain(port) && has_next(node->inst, port)) return s;
    }
    return UINT32_MAX;
}

uint32_t zf_simt_lanes_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t rings = readahead_of(plan, kernel) != UINT32_MAX ? WARPS * zf_simt_readahead_bytes(ZF_LANES_LIMIT) : 0;
    return rings + zf_simt_nibbles_bytes(plan, kernel);
}

zf_simt_shape zf_form_lanes_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t bytes = zf_simt_tables_bytes(plan, kernel) + zf_simt_lanes_bytes(plan, kernel);
    return (zf_simt_shape){
        .threads = WARPS * ZF_LANES_LIMIT, .tiles = 1, .span = WARPS, .shared_bytes = bytes, .registers = 64, .slow = true};
}

void zf_form_lanes_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    (void)plan, (void)kernel;
    zf_choice_allow(space, ZF_CHOICE_THREADS, shape->threads); // the layout of shared memory is for so many
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    walk *w = (walk *)zf_chunk_of(env);
    LLVMValueRef v_from = port->per_chunk ? w->v_parts[port->slot] : NULL;
    if (v_from == NULL) {
        if (port->per_chunk) v_index = zf_cg_add(cg, w->chunk.streams[port->slot].v_first, v_index);
        return w->chunk.block_element(cg, env, port, v_index, access);
    }
    LLVMTypeRef ty = zf_cg_type(cg, port->type);
    return zf_cg_scalar(port->type, zf_cg_load(cg, ty, zf_cg_at(cg, ty, v_from, v_index), zf_kind_size(port->type.kind)));
}

/// Where the chunk's parts of its streams begin.
static void find_parts(walk *w) {
    zf_kernel_build *lower = w->chunk.env.lower;
    zf_cg *cg = lower->cg;
    for (uint32_t s = 0; s < w->chunk.inst->stream_count; s++) {
        const zf_chunk_stream *stream = &w->chunk.streams[s];
        if (stream->port == NULL || !zf_lower_in_memory(lower, stream->edge) || !is_plain(stream->port)) continue;
        LLVMTypeRef ty = zf_cg_type(cg, stream->port->type);
        w->v_parts[s] = zf_cg_at(cg, ty, zf_lower_pointer(lower, stream->edge), stream->v_first);
        if (s == w->readahead_slot)
            zf_simt_readahead_begin(&w->readahead, lower, stream->edge, w->v_ring, stream->v_first, stream->v_length);
    }
}

static bool next(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    walk *w = walk_of(frame);
    if (w->readahead_slot != expr->port->slot) return false;
    LLVMValueRef v_reads = and_both(cg, w->chunk.v_when, w->chunk.v_exists), v_before, v_all;
    amounts(w, zf_cg_i64(cg, 1), v_reads, &v_before, &v_all);
    *out = zf_cg_scalar(expr->port->type, zf_simt_readahead_read(&w->readahead, v_before));
    zf_simt_readahead_move(&w->readahead, v_all, w->in_batch && !w->in_branch);
    return true;
}

static const zf_chunk_ops ops = {.claim = claim, .next = next};

// ---- Rows -----------------------------------------------------------------------------------------------------

/// The element of this lane in row v_row.
static zf_cg_value make(walk *w, LLVMValueRef v_row) {
    zf_chunk *chunk = &w->chunk;
    zf_cg *cg = chunk->env.lower->cg;
    LLVMValueRef v_guard = cg->v_guard, v_first = zf_cg_mul(cg, v_row, zf_cg_i64(cg, chunk->inst->lanes));
    LLVMValueRef v_i = zf_cg_add(cg, v_first, chunk->v_lane);
    // An element of the same row, of which there is one: all lanes agree about what depends on the row.
    if (chunk->v_exists != NULL) v_i = zf_cg_umin(cg, v_i, zf_cg_sub(cg, chunk->v_count, zf_cg_i64(cg, 1)));
    chunk->env.v_i = v_i;
    chunk->env.v_counts = chunk->v_exists;
    zf_cg_value value = zf_cg_eval_body(cg, &chunk->env.env, &chunk->inst->decode);
    chunk->env.v_counts = NULL;
    cg->v_guard = v_guard;
    return value;
}

/// Rows of a chunk that all exist, BATCH at a time; returns how many were made.
static LLVMValueRef make_batches(walk *w, LLVMValueRef v_rows) {
    zf_kernel_build *lower = w->chunk.env.lower;
    zf_cg *cg = lower->cg;
    unsigned together = zf_simt_rows_together(lower);
    LLVMValueRef v_batch = zf_cg_i64(cg, BATCH), v_batches = LLVMBuildUDiv(cg->builder, v_rows, v_batch, "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_batches, "rows");
    LLVMValueRef v_first = zf_cg_mul(cg, loop.v_i, v_batch);
    zf_cg_value values[4];
    w->in_batch = true;
    cg->sites_in = "a batch of rows";
    for (w->row = 0; w->row < BATCH; w->row++) {
        LLVMValueRef v_row = zf_cg_add(cg, v_first, zf_cg_i64(cg, w->row));
        values[w->row % together] = make(w, v_row);
        if ((w->row + 1) % together > 0) continue;
        LLVMValueRef v_from = zf_cg_mul(cg, zf_cg_sub(cg, v_row, zf_cg_i64(cg, together - 1)), zf_cg_i64(cg, cg->wave));
        zf_simt_store_rows(lower, w->v_lane, zf_cg_add(cg, w->chunk.v_start, v_from), values);
    }
    w->in_batch = false;
    cg->sites_in = NULL;
    if (w->readahead_slot != UINT32_MAX) zf_simt_readahead_settle(&w->readahead);
    zf_cg_loop_end(cg, &loop);
    return zf_cg_mul(cg, v_batches, v_batch);
}

static void make_rows(walk *w, LLVMValueRef v_from) {
    zf_chunk *chunk = &w->chunk;
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_lanes = zf_cg_i64(cg, chunk->inst->lanes),
                 v_last = zf_cg_add(cg, chunk->v_count, zf_cg_i64(cg, chunk->inst->lanes - 1));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, LLVMBuildUDiv(cg->builder, v_last, v_lanes, ""), "row");
    LLVMValueRef v_i = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_lanes), zf_cg_resize(cg, w->v_lane, cg->ty_i64, false));
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_i, chunk->v_count);
    if (chunk->inst->lanes < cg->wave)
        v_exists = zf_cg_and(cg, v_exists, zf_cg_icmp(cg, LLVMIntULT, w->v_lane, zf_cg_i32(cg, chunk->inst->lanes)));
    chunk->v_exists = zf_cg_within(cg, v_exists, "lanes that have an element");
    zf_cg_value value = make(w, loop.v_i);
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "store"), bb_stored = zf_cg_block(cg, "row_stored");
    zf_cg_cond_br(cg, chunk->v_exists, bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    if (lower->unpacks > 0)
        zf_lower_unpack(lower, value, zf_cg_add(cg, chunk->v_start, v_i));
    else
        zf_lower_store_element(lower, value, lower->v_sink, zf_cg_add(cg, chunk->v_start, v_i));
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    chunk->v_exists = NULL;
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

static void make_states(walk *w) {
    zf_chunk *chunk = &w->chunk;
    zf_cg *cg = chunk->env.lower->cg;
    if (chunk->inst->lanes < cg->wave) chunk->v_exists = zf_cg_icmp(cg, LLVMIntULT, w->v_lane, zf_cg_i32(cg, chunk->inst->lanes));
    chunk->env.v_counts = chunk->v_exists;
    for (uint32_t s = 0; s < chunk->inst->state_count; s++) {
        zf_cg_value value = zf_cg_eval_expr(cg, &chunk->env.env, &chunk->inst->decode, chunk->inst->states[s].init, NULL, 0);
        zf_chunk_state_store(cg, chunk, &chunk->inst->states[s], value.v);
    }
    chunk->v_exists = chunk->env.v_counts = NULL;
}

// ---- A chunk --------------------------------------------------------------------------------------------------

void zf_form_lanes_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    const zf_graph_node *node = &lower->graph->nodes[lower->kernel->root];
    walk w = {.chunk = {.ops = &ops, .together = true}, .v_lane = zf_simt_lane(lower)};
    w.v_parts = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, node->inst->stream_count + 1);
    w.readahead_slot = readahead_of(lower->plan, lower->kernel);
    zf_chunk *chunk = &w.chunk;
    zf_chunk_open(lower, chunk);
    chunk->env.env.stmt = statement;
    chunk->env.env.element = element;
    chunk->env.env.work = NULL;
    w.v_below = zf_cg_sub(cg, LLVMBuildShl(cg->builder, zf_cg_i32(cg, 1), w.v_lane, ""), zf_cg_i32(cg, 1));
    zf_simt_tables_make(lower, shape->threads);
    if (w.readahead_slot != UINT32_MAX) {
        uint32_t tables = zf_simt_tables_bytes(lower->plan, lower->kernel), each = zf_simt_readahead_bytes(cg->wave);
        LLVMValueRef v_rings = cg->target->simt->shared(cg, tables, WARPS * each);
        w.v_ring = zf_cg_at(cg, cg->ty_i8, v_rings, zf_cg_mul(cg, zf_simt_warp(lower), zf_cg_i64(cg, each)));
    }
    zf_simt_nibbles_make(lower, shape->shared_bytes - zf_simt_nibbles_bytes(lower->plan, lower->kernel));
    lower->simt->v_tile = zf_cg_add(cg, lower->simt->v_tile, zf_simt_warp(lower));
    LLVMValueRef v_chunks = zf_lower_chunk_count(lower, node->index);
    LLVMBasicBlockRef bb_chunk = zf_cg_block(cg, "chunk");
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, lower->simt->v_tile, v_chunks);
    if (lower->v_row_end != NULL && lower->unpacks == 0) { // what holds elements is made whether they are wanted or not
        LLVMValueRef v_begin = zf_kernel_is_uneven(lower->plan, lower->kernel)
                                   ? zf_lower_chunk_start(lower, lower->simt->v_tile)
                                   : zf_cg_mul(cg, lower->simt->v_tile, zf_cg_i64(cg, lower->kernel->tile));
        v_is = zf_cg_and(cg, v_is, zf_cg_icmp(cg, LLVMIntULT, v_begin, lower->v_row_end));
    }
    zf_cg_cond_br(cg, zf_cg_within(cg, v_is, "chunks of the block that are wanted"), bb_chunk, lower->simt->bb_leave);
    zf_cg_enter(cg, bb_chunk);
    zf_simt_tile tile = zf_simt_tile_of(lower);
    lower->v_any = zf_cg_alloca(cg, cg->ty_i1, "any");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), lower->v_any);
    chunk->v_number = lower->simt->v_tile;
    zf_chunk_begin(chunk, tile.v_count, v_chunks);
    find_parts(&w);
    LLVMValueRef v_lane = w.v_lane;
    if (node->inst->lanes < cg->wave) v_lane = zf_cg_umin(cg, v_lane, zf_cg_i32(cg, node->inst->lanes - 1));
    chunk->v_lane = zf_cg_resize(cg, v_lane, cg->ty_i64, false);
    make_states(&w);
    LLVMValueRef v_made = zf_cg_i64(cg, 0);
    if (node->inst->lanes == cg->wave && zf_simt_rows_fit(lower)) {
        LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "whole"), bb_rest = zf_cg_block(cg, "rest"), bb_before = zf_cg_here(cg);
        zf_cg_cond_br(cg, tile.v_whole, bb_whole, bb_rest);
        zf_cg_enter(cg, bb_whole);
        LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, chunk->v_count, zf_cg_i64(cg, cg->wave), "");
        LLVMValueRef v_all = make_batches(&w, v_rows);
        LLVMBasicBlockRef bb_made = zf_cg_here(cg);
        zf_cg_br(cg, bb_rest);
        zf_cg_enter(cg, bb_rest);
        v_made = zf_cg_phi2(cg, cg->ty_i64, v_made, bb_before, v_all, bb_made);
    }
    make_rows(&w, v_made);
    LLVMValueRef v_failed = LLVMBuildLoad2(cg->builder, cg->ty_i1, lower->v_any, "");
    if (w.readahead_slot != UINT32_MAX) {
        LLVMValueRef v_behind = zf_simt_readahead_end(&w.readahead);
        if (!zf_cg_site(cg, ZF_SITE_CHECK, "V02, of all that was read ahead")) v_failed = zf_cg_or(cg, v_failed, v_behind);
    }
    LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "chunk_failed");
    zf_cg_cond_br(cg, zf_simt_any(lower, v_failed), bb_failed, lower->simt->bb_leave);
    zf_cg_enter(cg, bb_failed);
    zf_simt_call_slow(lower);
}

void zf_form_lanes_slow(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    (void)shape;
    zf_simt_one_thread(lower, zf_simt_lane(lower)); // each warp has its chunk
    lower->v_begin = zf_cg_add(cg, lower->simt->v_tile, zf_simt_warp(lower));
    lower->v_end = zf_cg_add(cg, lower->v_begin, zf_cg_i64(cg, 1));
    cg->target->lower[lower->kernel->domain](lower);
}

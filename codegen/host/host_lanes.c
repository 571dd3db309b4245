// Lanes by vectors: a row of lanes is a few loops over the lanes, which LLVM vectorises, instead of one lane after the other.
//
// Lanes take the next elements of a stream in their order, so only the cursor joins them. A body whose first statement is an `if`
// around one read, and which has no other effect and no check, is therefore three steps: which lanes read; their elements, by a
// permutation of those that lie side by side from the cursor on; then the body of every lane. Rows that are not whole, and those
// where the stream may end, are made one lane after the other (kernel_lanes.c), with its failures.
#include "codegen/body/cg_frame.h"
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_chunks.h"
#include "frontend/check/walk.h"

enum {
    GROUP = 8,    ///< lanes whose elements are permuted together
    AT_ONCE = 4,  ///< groups of a loop without iterations, at most
    DEPTH = 32,   ///< of locals that stand for expressions
    ELEMENT = 32, ///< bits of an element that is read, at most
};

typedef struct row {
    zf_cg *cg;
    zf_chunk *chunk;
    const zf_expr *now;    ///< of all lanes alike: false, no lane reads; NULL: it depends on the lane
    const zf_expr *needed; ///< of a lane: whether it reads
    const zf_chunk_stream *stream;
    LLVMValueRef v_from; ///< the row's first element
} row;

// ---- Which bodies ---------------------------------------------------------------------------------------------

typedef struct search {
    const zf_kernel_build *lower;
    const zf_port *port; // that is read
    unsigned reads;
    bool fits;
} search;

static bool is_plain(const search *found, const zf_port *port) {
    uint32_t edge = found->lower->graph->nodes[found->lower->kernel->root].inputs[port->slot];
    return zf_lower_in_memory(found->lower, edge) && !port->has_range && !port->type.nullable && port->type.kind != ZF_K_BOOL &&
           port->type.kind != ZF_K_STRING;
}

// No checks, no loops, no branches but `if`.
static bool see_expr(zf_visitor *visitor, zf_expr *expr) {
    search *found = visitor->user;
    bool fits = false;
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_LOCAL:
    case ZF_X_PARAM:
    case ZF_X_STATE:
    case ZF_X_UNARY:
    case ZF_X_CAST:
    case ZF_X_COND:
    case ZF_X_STREAM:
    case ZF_X_TABLE: fits = true; break;
    case ZF_X_BINARY: fits = (expr->op != ZF_OP_DIV && expr->op != ZF_OP_REM) || expr->proved; break;
    case ZF_X_PRIM: fits = expr->prim != ZF_P_NTH_BIT || expr->proved; break;
    case ZF_X_INDEX: fits = expr->proved && (expr->a->kind != ZF_X_STREAM || is_plain(found, expr->a->port)); break;
    case ZF_X_CURSOR:
        fits = expr->cursor == ZF_C_NEXT && is_plain(found, expr->port) && ++found->reads == 1;
        found->port = expr->port;
        break;
    default: break;
    }
    if (expr->type.nullable || expr->type.kind == ZF_K_STRING) fits = false;
    found->fits = found->fits && fits;
    return found->fits;
}

static bool see_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    search *found = visitor->user;
    bool declares = stmt->kind == ZF_S_LET || (stmt->kind == ZF_S_VAR && stmt->local->kind == ZF_L_VAR);
    bool assigns = stmt->kind == ZF_S_ASSIGN && stmt->place->kind != ZF_X_INDEX &&
                   !(stmt->has_op && (stmt->op == ZF_OP_DIV || stmt->op == ZF_OP_REM));
    found->fits = found->fits && (declares || assigns || stmt->kind == ZF_S_IF);
    return found->fits;
}

// The same for all lanes of a row: of params, constants, and the row's number.
static bool is_alike(const row *r, const zf_expr *e, unsigned depth) {
    if (depth > DEPTH) return false;
    uint64_t lanes = r->chunk->inst->lanes;
    const zf_expr *of;
    switch (e->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM: return true;
    case ZF_X_CAST:
    case ZF_X_UNARY: return is_alike(r, e->a, depth + 1);
    case ZF_X_BINARY:
        of = zf_expr_kept(e->a);
        if (e->op == ZF_OP_DIV && of->kind == ZF_X_LOCAL && of->local->kind == ZF_L_DOMAIN_I)
            return e->b->kind == ZF_X_CONST && e->b->bits > 0 && e->b->bits % lanes == 0;
        return is_alike(r, e->a, depth + 1) && is_alike(r, e->b, depth + 1);
    default: return false;
    }
}

static bool applies(row *r) {
    const zf_chunk *chunk = r->chunk;
    const zf_inst *inst = chunk->inst;
    const zf_kernel_build *lower = chunk->env.lower;
    const zf_stmt *first = inst->decode.stmts;
    if (inst->lanes % GROUP != 0 || inst->lanes == 0 || inst->reads_out || r->cg->v_guard != NULL) return false;
    if (lower->type.nullable || lower->type.kind == ZF_K_BOOL || lower->type.kind == ZF_K_STRING || lower->unpacks > 0)
        return false;
    if (first == NULL || first->kind != ZF_S_IF || first->else_part != NULL || first->value->effect) return false;
    if (inst->decode.returns_inside || inst->decode.value == NULL) return false;
    for (const zf_stmt *s = first->body; s != NULL; s = s->next) {
        if (s->kind != ZF_S_ASSIGN || s->place->kind != ZF_X_STATE) return false;
    }
    search inside = {.lower = lower, .fits = true}, all = inside;
    zf_visitor visitor = {.user = &inside, .expr = see_expr, .stmt = see_stmt};
    zf_visit_stmts(&visitor, first->body);
    visitor.user = &all;
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->decode); // only looks
    if (!inside.fits || !all.fits || inside.reads != 1 || all.reads != 1) return false;
    r->stream = &chunk->streams[inside.port->slot];
    if (r->stream->v_bytes == NULL || r->stream->v_bit != NULL || r->stream->by_bits) return false;
    if (zf_kind_bits(inside.port->type.kind) > ELEMENT || !zf_kind_is_integer(inside.port->type.kind)) return false;
    r->needed = first->value;
    if (r->needed->kind == ZF_X_BINARY && r->needed->op == ZF_OP_ANDAND && is_alike(r, r->needed->a, 0)) {
        r->now = r->needed->a;
        r->needed = r->needed->b;
    }
    return true;
}

// ---- Loops over the lanes -------------------------------------------------------------------------------------

// Ends a loop over the lanes whose iterations do not depend on each other.
static void end_by_vectors(const row *r, zf_cg_loop *loop) {
    zf_cg_loop_end(r->cg, loop);
    unsigned groups = r->chunk->inst->lanes / GROUP;
    zf_host_loop_by_vectors(r->cg, loop, GROUP, groups <= AT_ONCE ? groups : 1);
}

static void enter_lane(const row *r, LLVMValueRef v_lane) {
    uint64_t lanes = r->chunk->inst->lanes;
    r->chunk->v_lane = v_lane;
    if ((lanes & (lanes - 1)) == 0) v_lane = zf_cg_and(r->cg, v_lane, zf_cg_i64(r->cg, lanes - 1)); // says its range
    r->chunk->env.v_i = zf_cg_add(r->cg, r->v_from, v_lane);
}

static LLVMValueRef evaluate(const row *r, const zf_expr *expr) {
    return zf_cg_eval_expr(r->cg, &r->chunk->env.env, &r->chunk->inst->decode, expr, NULL, 0).v;
}

// ---- Reading --------------------------------------------------------------------------------------------------

// How many of the lanes before lane k of a group are in a set of them: the element that it reads, if it does.
static uint32_t before(unsigned set, unsigned k) {
    uint32_t count = 0;
    for (unsigned other = 0; other < k; other++) count += set >> other & 1;
    return count;
}

// Which lanes read, as bytes.
static void find_readers(const row *r) {
    zf_cg *cg = r->cg;
    zf_cg_loop lanes;
    zf_cg_loop_begin(cg, &lanes, zf_cg_i64(cg, 0), zf_cg_i64(cg, r->chunk->inst->lanes), "reads");
    enter_lane(r, lanes.v_i);
    LLVMValueRef v_reads = zf_cg_resize(cg, evaluate(r, r->needed), cg->ty_i8, false);
    zf_cg_store(cg, v_reads, zf_cg_at(cg, cg->ty_i8, r->chunk->v_reads, lanes.v_i), 1);
    end_by_vectors(r, &lanes);
}

// The same in bytes, of elements of two: any processor permutes 16 bytes.
static uint32_t bytes_before(unsigned set, unsigned k) { return 2 * before(set, k / 2) + k % 2; }

// The elements that the lanes of a group read, where they are those of a set (i64), from the one at v_from on.
static LLVMValueRef elements_of_set(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_from, LLVMValueRef v_set) {
    static const zf_host_table_shape words = {.name = "zf_lanes_before", 32, GROUP, 1 << GROUP, before};
    static const zf_host_table_shape pairs = {.name = "zf_bytes_before", 8, 2 * GROUP, 1 << GROUP, bytes_before};
    LLVMTypeRef ty_group = LLVMVectorType(ty, GROUP), ty_wide = LLVMVectorType(cg->ty_i32, GROUP);
    if (LLVMGetIntTypeWidth(ty) == 16) {
        LLVMValueRef v = zf_cg_load(cg, LLVMVectorType(cg->ty_i8, 2 * GROUP), v_from, 1);
        return LLVMBuildBitCast(cg->builder, zf_host_permute(cg, v, zf_host_table_row(cg, &pairs, v_set)), ty_group, "");
    }
    LLVMValueRef v = LLVMBuildZExt(cg->builder, zf_cg_load(cg, ty_group, v_from, 1), ty_wide, "");
    return LLVMBuildTrunc(cg->builder, zf_host_permute(cg, v, zf_host_table_row(cg, &words, v_set)), ty_group, "");
}

// The elements that lanes read, group by group; moves the cursor. The stream has an element for each lane at least.
static void read_elements(const row *r) {
    zf_cg *cg = r->cg;
    unsigned size = zf_kind_size(r->stream->port->type.kind);
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, 8 * size), ty_count = cg->ty_i64;
    LLVMTypeRef ty_set = LLVMIntTypeInContext(cg->context, GROUP), ty_bytes = LLVMVectorType(cg->ty_i8, GROUP);
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, cg->ty_i64, r->stream->v_at, "");
    for (unsigned k = 0; k < r->chunk->inst->lanes; k += GROUP) {
        LLVMValueRef v_reads = zf_cg_load(cg, ty_bytes, zf_cg_byte_at(cg, r->chunk->v_reads, k), 1);
        LLVMValueRef v_set = zf_cg_icmp(cg, LLVMIntNE, v_reads, LLVMConstNull(ty_bytes));
        v_set = zf_cg_resize(cg, LLVMBuildBitCast(cg->builder, v_set, ty_set, ""), cg->ty_i64, false);
        LLVMValueRef v = elements_of_set(cg, ty, zf_cg_at(cg, ty, r->stream->v_bytes, v_at), v_set);
        zf_cg_store(cg, v, zf_cg_byte_at(cg, r->chunk->v_taken, (uint64_t)k * size), 1);
        v_at = zf_cg_add(cg, v_at, zf_cg_intrinsic(cg, "llvm.ctpop", &ty_count, 1, &v_set, 1));
    }
    LLVMBuildStore(cg->builder, v_at, r->stream->v_at);
}

// ---- Elements -------------------------------------------------------------------------------------------------

static void copy_states(const row *r, bool from_lane) {
    zf_cg *cg = r->cg;
    const zf_chunk *chunk = r->chunk;
    for (uint32_t s = 0; s < chunk->inst->state_count; s++) {
        LLVMTypeRef ty = zf_cg_memory_type(cg, chunk->inst->states[s].type);
        LLVMValueRef v_lane = zf_cg_at(cg, ty, chunk->v_states[s], chunk->v_lane), v_own = chunk->v_own[s];
        unsigned size = zf_kind_size(chunk->inst->states[s].type.kind);
        zf_cg_store(cg, zf_cg_load(cg, ty, from_lane ? v_lane : v_own, size), from_lane ? v_own : v_lane, size);
    }
}

// The body of every lane, whose first statement takes what was read, where `reads`, or does nothing. While it is built the states
// are variables.
static void make(const row *r, bool reads) {
    zf_cg *cg = r->cg;
    zf_chunk *chunk = r->chunk;
    zf_cg_loop lanes;
    zf_cg_loop_begin(cg, &lanes, zf_cg_i64(cg, 0), zf_cg_i64(cg, chunk->inst->lanes), "lanes");
    enter_lane(r, lanes.v_i);
    copy_states(r, true);
    chunk->in_row = true;
    chunk->row_reads = reads;
    zf_cg_value value = zf_cg_eval_body(cg, &chunk->env.env, &chunk->inst->decode);
    chunk->in_row = false;
    copy_states(r, false);
    zf_chunk_store(chunk, value, chunk->env.v_i);
    end_by_vectors(r, &lanes);
}

static void make_slots(const row *r) {
    zf_cg *cg = r->cg;
    zf_chunk *chunk = r->chunk;
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, zf_kind_bits(r->stream->port->type.kind));
    if (chunk->v_own != NULL) return;
    chunk->v_own = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, chunk->inst->state_count + 1);
    for (uint32_t s = 0; s < chunk->inst->state_count; s++)
        chunk->v_own[s] = zf_cg_alloca(cg, zf_cg_memory_type(cg, chunk->inst->states[s].type), chunk->inst->states[s].name);
    chunk->v_reads = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i8, chunk->inst->lanes), "reads");
    chunk->v_taken = zf_cg_alloca(cg, LLVMArrayType2(ty, chunk->inst->lanes), "taken");
    LLVMSetAlignment(chunk->v_taken, 32);
}

bool zf_host_lanes_row(zf_chunk *chunk, LLVMValueRef v_from, LLVMBasicBlockRef bb_singly) {
    zf_cg *cg = chunk->env.lower->cg;
    row r = {.cg = cg, .chunk = chunk, .v_from = v_from};
    if (!applies(&r)) return false;
    make_slots(&r);
    LLVMValueRef v_lanes = zf_cg_i64(cg, chunk->inst->lanes);
    LLVMValueRef v_left = zf_cg_sub(cg, r.stream->v_total, LLVMBuildLoad2(cg->builder, cg->ty_i64, r.stream->v_at, ""));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntUGE, zf_cg_sub(cg, chunk->v_count, v_from), v_lanes);
    LLVMValueRef v_enough = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntUGE, v_left, v_lanes), "elements for all lanes of a row");
    v_whole = zf_cg_and(cg, zf_cg_within(cg, v_whole, "whole rows of lanes"), v_enough);
    LLVMBasicBlockRef bb_row = zf_cg_block(cg, "whole_row"), bb_done = NULL;
    zf_cg_cond_br(cg, v_whole, bb_row, bb_singly);
    zf_cg_enter(cg, bb_row);
    if (r.now != NULL) {
        LLVMBasicBlockRef bb_reads = zf_cg_block(cg, "row_reads"), bb_plain = zf_cg_block(cg, "row_plain");
        bb_done = zf_cg_block(cg, "row_done");
        enter_lane(&r, zf_cg_i64(cg, 0));
        zf_cg_cond_br(cg, evaluate(&r, r.now), bb_reads, bb_plain);
        zf_cg_enter(cg, bb_plain);
        make(&r, false);
        zf_cg_br(cg, bb_done);
        zf_cg_enter(cg, bb_reads);
    }
    find_readers(&r);
    read_elements(&r);
    make(&r, true);
    if (bb_done != NULL) {
        zf_cg_br(cg, bb_done);
        zf_cg_enter(cg, bb_done);
    }
    return true;
}

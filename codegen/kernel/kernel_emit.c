// Stores the elements that chunks emit: one at a time, and regions. The room of a region is checked once, before; all its terms
// see the chunk as it was when the statement began, so `out.pos` moves only at its end.
#include "codegen/kernel/kernel_chunks.h"

#include "frontend/check/walk.h"

static void check_room(zf_cg *cg, zf_chunk *chunk, LLVMValueRef v_pos, LLVMValueRef v_more, const zf_stmt *stmt) {
    LLVMValueRef v_left = zf_cg_sub(cg, chunk->v_count, v_pos);
    zf_cg_check(cg, &chunk->env.env, zf_cg_icmp(cg, LLVMIntULE, v_more, v_left), 3, stmt->span, NULL);
}

void zf_chunk_emit(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    zf_cg_value value = zf_cg_expr(cg, frame, stmt->value);
    LLVMValueRef v_pos = zf_chunk_emitted(chunk), v_one = zf_cg_i64(cg, 1);
    check_room(cg, chunk, v_pos, v_one, stmt);
    zf_chunk_store(chunk, value, v_pos);
    if (chunk->ops != NULL) chunk->ops->meet(chunk);
    zf_chunk_set_emitted(chunk, zf_cg_add(cg, v_pos, v_one));
}

// ---- Scans inside regions -------------------------------------------------------------------------------------

static bool note_scan(zf_visitor *visitor, zf_expr *expr) {
    zf_chunk *chunk = visitor->user;
    if (expr->kind != ZF_X_REDUCE || expr->reduce->form != ZF_R_SCAN) return true;
    for (zf_chunk_scan *s = chunk->scans; s != NULL; s = s->next) {
        if (s->reduce->index == expr->reduce->index) return true;
    }
    zf_cg *cg = chunk->env.lower->cg;
    zf_chunk_scan *scan = ZF_NEW(cg->arena, zf_chunk_scan);
    LLVMTypeRef ty = zf_cg_type(cg, expr->type);
    *scan = (zf_chunk_scan){.reduce = expr->reduce, .next = chunk->scans};
    scan->v_acc = zf_cg_alloca(cg, ty, "acc");
    scan->v_done = zf_cg_alloca(cg, cg->ty_i64, "done");
    LLVMBuildStore(cg->builder, zf_cg_reduce_empty(cg, expr->reduce->op, expr->type), scan->v_acc);
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), scan->v_done);
    chunk->scans = scan;
    return true;
}

// The region's index grows, so the missing terms come behind those that were combined. A scan that some elements do not use is
// completed by the next element that uses it.
bool zf_chunk_reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    const zf_reduce *reduce = expr->reduce;
    zf_chunk_scan *scan = chunk->scans;
    while (scan != NULL && scan->reduce->index != reduce->index) scan = scan->next;
    if (scan == NULL || reduce->form != ZF_R_SCAN) return false;
    LLVMTypeRef ty = zf_cg_type(cg, expr->type);
    zf_cg_value domain =
        zf_cg_expr(cg, frame, &(zf_expr){.kind = ZF_X_LOCAL, .type = reduce->domain->type, .local = reduce->domain});
    LLVMValueRef v_end = zf_cg_add(cg, domain.v, zf_cg_i64(cg, reduce->inclusive ? 1 : 0));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, LLVMBuildLoad2(cg->builder, cg->ty_i64, scan->v_done, ""), v_end, "scan");
    zf_cg_value binder = zf_cg_scalar(zf_type_of(ZF_K_U64), loop.v_i);
    zf_cg_bind(cg, frame, reduce->binders[0].local, &binder);
    LLVMValueRef v_term = zf_cg_expr(cg, frame, reduce->term).v;
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, ty, scan->v_acc, "");
    LLVMValueRef v = zf_cg_reduce_combine(cg, reduce->op, expr->type, v_acc, v_term);
    if (reduce->op == ZF_RED_MIN || reduce->op == ZF_RED_MAX) { // nothing stands before the first term
        v = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, loop.v_i, zf_cg_i64(cg, 0)), v_term, v);
    }
    LLVMBuildStore(cg->builder, v, scan->v_acc);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, loop.v_i, zf_cg_i64(cg, 1)), scan->v_done);
    zf_cg_loop_end(cg, &loop);
    *out = zf_cg_scalar(expr->type, LLVMBuildLoad2(cg->builder, ty, scan->v_acc, ""));
    return true;
}

// ---- Regions --------------------------------------------------------------------------------------------------

LLVMValueRef zf_chunk_region_size(zf_cg *cg, const zf_cg_range *range) {
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_one = zf_cg_i64(cg, 1), v = zf_cg_sub(cg, range->v_hi, range->v_lo);
    LLVMValueRef v_some = zf_cg_icmp(cg, range->inclusive ? LLVMIntULE : LLVMIntULT, range->v_lo, range->v_hi);
    if (range->inclusive) {
        LLVMValueRef v_all = zf_cg_icmp(cg, LLVMIntEQ, v, zf_cg_i64(cg, UINT64_MAX));
        v = zf_cg_select(cg, v_all, v, zf_cg_add(cg, v, v_one));
    }
    return zf_cg_select(cg, v_some, v, v_zero);
}

void zf_chunk_region_bind(const zf_chunk_region *region, const zf_binder *binder, LLVMValueRef v) {
    zf_cg_value value = zf_cg_scalar(zf_type_of(ZF_K_U64), v);
    zf_cg_bind(region->cg, region->frame, binder->local, &value);
}

static zf_chunk *chunk_of(const zf_chunk_region *r) { return zf_chunk_of(zf_cg_frame_env(r->frame)); }

void zf_chunk_region_room(const zf_chunk_region *region, LLVMValueRef v_pos, LLVMValueRef v_more) {
    check_room(region->cg, chunk_of(region), v_pos, v_more, region->stmt);
}

/// Over one binder: checks the room, and returns how many elements there are.
static LLVMValueRef measure(zf_chunk_region *r) {
    zf_cg_range range = zf_cg_range_make(r->cg, r->frame, &r->stmt->reduce->binders[0]);
    r->v_lo = range.v_lo;
    r->v_count = zf_chunk_region_size(r->cg, &range);
    zf_chunk_region_room(r, r->v_pos, r->v_count);
    return r->v_count;
}

/// Over two: the values of the first.
static void measure_rows(zf_chunk_region *r) {
    zf_cg_range range = zf_cg_range_make(r->cg, r->frame, &r->stmt->reduce->binders[0]);
    r->v_lo = range.v_lo;
    r->v_count = zf_chunk_region_size(r->cg, &range);
}

/// All sizes first.
static void measure_nested(zf_chunk_region *r) {
    zf_cg *cg = r->cg;
    const zf_binder *outer = &r->stmt->reduce->binders[0], *inner = &r->stmt->reduce->binders[1];
    zf_cg_loop rows;
    LLVMBuildStore(cg->builder, r->v_pos, r->v_at);
    zf_cg_loop_begin(cg, &rows, zf_cg_i64(cg, 0), r->v_count, "room");
    zf_chunk_work(cg, &chunk_of(r)->env.env, zf_cg_i64(cg, 1), r->stmt->span); // inner ranges may all be empty
    zf_chunk_region_bind(r, outer, zf_cg_add(cg, r->v_lo, rows.v_i));
    zf_cg_range ends = zf_cg_range_make(cg, r->frame, inner);
    LLVMValueRef v_to = LLVMBuildLoad2(cg->builder, cg->ty_i64, r->v_at, ""), v_more = zf_chunk_region_size(cg, &ends);
    zf_chunk_region_room(r, v_to, v_more);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_to, v_more), r->v_at);
    zf_cg_loop_end(cg, &rows);
}

/// The elements of v_count values of a binder from v_lo on, at v_to.
static void make_range(zf_chunk_region *r, const zf_binder *binder, LLVMValueRef v_lo, LLVMValueRef v_count, LLVMValueRef v_to) {
    zf_cg *cg = r->cg;
    zf_chunk *chunk = chunk_of(r);
    bool shared = chunk->v_share != NULL;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), shared ? chunk->ops->share_turns(chunk, v_count) : v_count, "emit");
    LLVMValueRef v_k = shared ? chunk->ops->share_index(chunk, loop.v_i) : loop.v_i;
    zf_chunk_region_bind(r, binder, zf_cg_add(cg, v_lo, v_k));
    zf_chunk_store(chunk, zf_cg_expr(cg, r->frame, r->stmt->reduce->term), zf_cg_add(cg, v_to, v_k));
    zf_cg_loop_end(cg, &loop);
    if (shared && chunk->ops->unroll != NULL) chunk->ops->unroll(cg, &loop);
}

static bool makes_region(zf_chunk_region *r) {
    const zf_kernel_ops *ops = chunk_of(r)->env.lower->ops;
    return ops->region != NULL && ops->region(r);
}

static void make_elements(void *user) {
    zf_chunk_region *r = user;
    zf_chunk *chunk = chunk_of(r);
    zf_visitor visitor = {.user = chunk, .expr = note_scan};
    chunk->scans = NULL;
    zf_visit_expr(&visitor, r->stmt->reduce->term);
    if (chunk->ops != NULL || !makes_region(r)) make_range(r, &r->stmt->reduce->binders[0], r->v_lo, r->v_count, r->v_pos);
    chunk->scans = NULL;
}

static void make_nested_elements(zf_chunk_region *r) {
    zf_cg *cg = r->cg;
    const zf_binder *outer = &r->stmt->reduce->binders[0], *inner = &r->stmt->reduce->binders[1];
    zf_cg_loop rows;
    LLVMBuildStore(cg->builder, r->v_pos, r->v_at);
    zf_cg_loop_begin(cg, &rows, zf_cg_i64(cg, 0), r->v_count, "emit");
    zf_chunk_region_bind(r, outer, zf_cg_add(cg, r->v_lo, rows.v_i));
    zf_cg_range ends = zf_cg_range_make(cg, r->frame, inner);
    LLVMValueRef v_to = LLVMBuildLoad2(cg->builder, cg->ty_i64, r->v_at, ""), v_more = zf_chunk_region_size(cg, &ends);
    make_range(r, inner, ends.v_lo, v_more, v_to);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_to, v_more), r->v_at);
    zf_cg_loop_end(cg, &rows);
}

static void walk_nested(void *user) {
    measure_nested(user);
    make_nested_elements(user);
}

void zf_chunk_emit_region(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(frame));
    zf_chunk_region r = {.cg = cg, .frame = frame, .stmt = stmt, .v_pos = zf_chunk_emitted(chunk)};
    bool shared = chunk->ops != NULL;
    if (stmt->reduce->binder_count > 1) {
        r.v_at = zf_cg_alloca(cg, cg->ty_i64, "at");
        measure_rows(&r);
        if (shared)
            chunk->ops->share(chunk, r.v_count, chunk->ops->share_rows, walk_nested, &r);
        else
            walk_nested(&r);
        zf_chunk_set_emitted(chunk, LLVMBuildLoad2(cg->builder, cg->ty_i64, r.v_at, ""));
        return;
    }
    LLVMValueRef v_count = measure(&r);
    if (shared)
        chunk->ops->share(chunk, NULL, make_elements, make_elements, &r);
    else
        make_elements(&r);
    zf_chunk_set_emitted(chunk, zf_cg_add(cg, r.v_pos, v_count));
}

// The statements of `each` for several rows at once: what a statement reads is loaded for all of them before the next one is
// built. Rows that the first terms of an `if` leave wait in a queue of the warp until there are ZF_QUERY_TAKEN for each lane, and
// go on so many a lane. Where there is an `else`, the body counts under each row's condition.
#include <string.h>

#include "codegen/query/query_square.h"
#include "frontend/check/checker.h"
#include "frontend/check/walk.h"

static zf_query_row_build *row_of(zf_cg_env *env) { return (zf_query_row_build *)env; }

// ---- The surroundings of a row --------------------------------------------------------------------------------

static zf_cg_value param(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    (void)cg;
    return zf_cg_scalar(port->type, row_of(env)->build->v_params[port->slot]);
}

static LLVMValueRef domain(zf_cg *cg, zf_cg_env *env, const zf_local *local) {
    (void)cg, (void)local;
    return row_of(env)->v_row;
}

static LLVMValueRef length(zf_cg *cg, zf_cg_env *env, const zf_port *port) {
    const zf_query_build *b = row_of(env)->build;
    bool input = port != NULL && port->slot < b->query->input_count;
    return input ? b->inputs[port->slot].v_length : zf_cg_i64(cg, UINT64_MAX); // rows have all columns
}

// An index of 32 bits, where v (i64) extends one; else NULL.
static LLVMValueRef narrow_index(zf_cg *cg, LLVMValueRef v) {
    bool is_signed = LLVMIsASExtInst(v) != NULL;
    if (!is_signed && LLVMIsAZExtInst(v) == NULL) return NULL;
    LLVMValueRef v_small = LLVMGetOperand(v, 0);
    return LLVMGetIntTypeWidth(LLVMTypeOf(v_small)) <= 32 ? zf_cg_resize(cg, v_small, cg->ty_i32, is_signed) : NULL;
}

// An element of an input, which has at most 2^31. Rows that do not count read element 0, which is one place for all of them.
static bool look_up(zf_cg *cg, zf_cg_frame *frame, const zf_expr *access, zf_cg_value *out) {
    zf_cg_env *env = frame->env;
    zf_query_build *b = row_of(env)->build;
    if (access->a->kind != ZF_X_STREAM || access->a->port->slot >= b->query->input_count) return false;
    if (b->staged != NULL && zf_query_staged_element(b, access, out)) return true;
    const zf_port *port = access->a->port;
    LLVMValueRef v_index = zf_cg_expr(cg, frame, access->b).v, v_length = b->inputs[port->slot].v_length;
    LLVMValueRef v_small = narrow_index(cg, v_index), v_ok;
    if (v_small != NULL) {
        v_ok = zf_cg_icmp(cg, LLVMIntULT, v_small, zf_cg_low_half(cg, v_length));
    } else {
        v_ok = zf_cg_icmp(cg, LLVMIntULT, v_index, v_length);
        v_small = zf_cg_low_half(cg, v_index);
    }
    LLVMValueRef v_counts = cg->v_guard;
    zf_cg_check(cg, env, v_ok, 1, access->span, access);
    if (v_counts != NULL) v_small = zf_cg_select(cg, v_counts, v_small, zf_cg_i32(cg, 0));
    v_small = zf_cg_umin(cg, v_small, b->inputs[port->slot].v_most); // a row that failed reads some element
    *out = zf_query_element(b, row_of(env)->k, port, zf_cg_wide(cg, v_small));
    return true;
}

// Reductions end by their own checks alone, so that both passes of a query with `select` make the same of them.
static LLVMValueRef failed(zf_cg *cg, zf_cg_env *env) { return zf_cg_get(cg, row_of(env)->build->v_any); }

static LLVMValueRef failed_begin(zf_cg *cg, zf_cg_env *env) {
    LLVMValueRef v_slot = row_of(env)->build->v_any, v_before = zf_cg_get(cg, v_slot);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_slot);
    return v_before;
}

static void failed_end(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_before) {
    LLVMValueRef v_slot = row_of(env)->build->v_any;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, zf_cg_get(cg, v_slot), v_before), v_slot);
}

// The sum that squares made.
static bool reduced(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    const zf_query_row_build *row = row_of(frame->env);
    if (expr != row->build->sum) return false;
    LLVMValueRef v_word = zf_cg_load(cg, cg->ty_i64, zf_query_pair_sum(row->build, row->v_row), sizeof(uint64_t));
    *out = zf_cg_scalar(expr->type, v_word);
    return true;
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    (void)cg, (void)access;
    return zf_query_element(row_of(env)->build, row_of(env)->k, port, v_index);
}

static LLVMValueRef check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    (void)cg, (void)violation, (void)span, (void)at;
    zf_query_note(row_of(env)->build, v_ok);
    return v_ok;
}

static bool gives(const zf_stmt *stmt) { return stmt->kind == ZF_S_RESULT || stmt->kind == ZF_S_SELECT; }

static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    (void)cg;
    if (!gives(stmt)) return false;
    zf_query_give_row(row_of(frame->env)->build, row_of(frame->env), frame, stmt);
    return true;
}

// ---- Conditions -----------------------------------------------------------------------------------------------

enum { MOST_TERMS = 32 };

// The terms of `a && b && c`, in their order.
static uint32_t split(zf_expr *expr, zf_expr **terms) {
    uint32_t count = 1;
    for (const zf_expr *at = expr; count < MOST_TERMS && at->kind == ZF_X_BINARY && at->op == ZF_OP_ANDAND; at = at->a) count++;
    for (uint32_t t = count; --t > 0; expr = expr->a) terms[t] = expr->b;
    terms[0] = expr;
    return count;
}

struct dear {
    const zf_query *query;
    bool found;
};

static bool is_dear(zf_visitor *visitor, zf_expr *expr) {
    struct dear *dear = visitor->user;
    bool input = expr->kind == ZF_X_STREAM && expr->port->slot < dear->query->input_count;
    if (input || expr->kind == ZF_X_REDUCE || expr->type.kind == ZF_K_STRING) dear->found = true;
    return true;
}

// Whether a term reads more than columns of numbers: rows that a term before it excludes had better not evaluate it.
static bool wants_branch(const zf_query *query, zf_expr *term) {
    struct dear dear = {.query = query};
    zf_visitor visitor = {.user = &dear, .expr = is_dear};
    zf_visit_expr(&visitor, term);
    return dear.found;
}

// The end of the terms that are evaluated together: one, and those behind it that are not dear.
static uint32_t group_end(const zf_query *query, zf_expr **terms, uint32_t from, uint32_t count) {
    do from++;
    while (from < count && !wants_branch(query, terms[from]));
    return from;
}

static LLVMValueRef both(zf_cg *cg, LLVMValueRef v_mask, LLVMValueRef v) {
    return v_mask == NULL ? v : zf_cg_select(cg, v_mask, v, zf_cg_i1(cg, false));
}

// Goes on where a row has its condition, and to bb_none else.
static void some_rows_begin(zf_query_build *b, LLVMValueRef *v_masks, LLVMBasicBlockRef bb_none) {
    LLVMValueRef v_any = zf_cg_i1(b->cg, false);
    for (unsigned k = 0; k < b->count; k++)
        v_any = zf_cg_or(b->cg, v_any, v_masks[k] != NULL ? v_masks[k] : zf_cg_i1(b->cg, true));
    zf_query_scope_begin(b);
    b->apart++;
    LLVMBasicBlockRef bb_some = zf_cg_block(b->cg, "some_rows");
    zf_cg_cond_br(b->cg, v_any, bb_some, bb_none);
    zf_cg_enter(b->cg, bb_some);
}

static void some_rows_end(zf_query_build *b) {
    zf_query_scope_end(b);
    b->apart--;
}

static void evaluate_term(zf_query_build *b, zf_expr *term, LLVMValueRef *v_masks) {
    LLVMValueRef v_terms[ZF_QUERY_TOGETHER];
    if (zf_query_entries_term(b, term, v_masks, v_terms)) {
        for (unsigned k = 0; k < b->count; k++) v_masks[k] = both(b->cg, v_masks[k], v_terms[k]);
        return;
    }
    zf_query_pull_expr(b, term);
    for (unsigned k = 0; k < b->count; k++) {
        b->cg->v_guard = v_masks[k];
        v_terms[k] = zf_cg_expr(b->cg, &b->frames[k], term).v;
    }
    b->cg->v_guard = NULL;
    for (unsigned k = 0; k < b->count; k++) v_masks[k] = both(b->cg, v_masks[k], v_terms[k]);
    if (wants_branch(b->query, term)) zf_query_tie(b, v_masks);
}

bool zf_query_is_fixed(const zf_expr *expr) {
    expr = zf_expr_uncast(expr);
    return expr->kind == ZF_X_CONST || expr->kind == ZF_X_PARAM;
}

// Whether an expression is an element of a column, whose evaluation cannot fail under a row's condition.
static bool is_element(const zf_query *query, const zf_expr *expr) {
    return zf_query_column_of(query, zf_expr_uncast(expr)) != UINT32_MAX;
}

// Whether two terms are `x >= low`, and `x <= high` or `x < high`, of an integer of a column, where bounds are the same for all
// rows.
static bool is_within(const zf_query *query, const zf_expr *low, const zf_expr *high) {
    bool compares = low->kind == ZF_X_BINARY && low->op == ZF_OP_GE && high->kind == ZF_X_BINARY;
    compares = compares && (high->op == ZF_OP_LE || high->op == ZF_OP_LT);
    if (!compares || !zf_kind_is_integer(low->a->type.kind) || low->a->type.nullable) return false;
    return is_element(query, low->a) && zf_expr_same(low->a, high->a) && zf_query_is_fixed(low->b) && zf_query_is_fixed(high->b);
}

// Takes away what extends all three numbers in the same way, if there is such a thing.
static void narrow(LLVMValueRef *v) {
    LLVMOpcode op = LLVMIsAInstruction(v[0]) != NULL ? LLVMGetInstructionOpcode(v[0]) : LLVMPHI;
    if (op != LLVMSExt && op != LLVMZExt) return;
    LLVMTypeRef ty = LLVMTypeOf(LLVMGetOperand(v[0], 0));
    for (unsigned k = 1; k < 3; k++) {
        if (LLVMIsAInstruction(v[k]) == NULL || LLVMGetInstructionOpcode(v[k]) != op) return;
        if (LLVMTypeOf(LLVMGetOperand(v[k], 0)) != ty) return;
    }
    for (unsigned k = 0; k < 3; k++) v[k] = LLVMGetOperand(v[k], 0);
}

// Both at once: x - low is at most high - low, or below it, as numbers without a sign, if low is not above high.
static void evaluate_within(zf_query_build *b, zf_expr *low, zf_expr *high, LLVMValueRef *v_masks) {
    zf_cg *cg = b->cg;
    zf_query_pull_expr(b, low);
    for (unsigned k = 0; k < b->count; k++) {
        cg->v_guard = v_masks[k];
        zf_cg_frame *frame = &b->frames[k];
        LLVMValueRef v[3] = {zf_cg_expr(cg, frame, low->a).v, zf_cg_expr(cg, frame, low->b).v, zf_cg_expr(cg, frame, high->b).v};
        narrow(v);
        LLVMIntPredicate in = high->op == ZF_OP_LT ? LLVMIntULT : LLVMIntULE;
        LLVMValueRef v_in = zf_cg_icmp(cg, in, zf_cg_sub(cg, v[0], v[1]), zf_cg_sub(cg, v[2], v[1]));
        v_masks[k] = both(cg, v_masks[k], v_in);
    }
    cg->v_guard = NULL;
}

// Ranges that follow each other. Those with bounds the wrong way round exclude all rows before the first, since none of them
// fails. Returns the number of the term behind them.
static uint32_t evaluate_ranges(zf_query_build *b, zf_expr **terms, uint32_t from, uint32_t end, LLVMValueRef *v_masks) {
    LLVMValueRef v_are = NULL;
    uint32_t begin = from;
    for (; from + 1 < end && is_within(b->query, terms[from], terms[from + 1]); from += 2) {
        const zf_expr *low = terms[from], *high = terms[from + 1];
        LLVMIntPredicate at_most = zf_kind_is_signed(low->a->type.kind) ? LLVMIntSLE : LLVMIntULE;
        LLVMValueRef v_low = zf_cg_expr(b->cg, &b->frames[0], low->b).v, v_high = zf_cg_expr(b->cg, &b->frames[0], high->b).v;
        v_are = both(b->cg, v_are, zf_cg_icmp(b->cg, at_most, v_low, v_high));
    }
    for (unsigned k = 0; k < b->count && v_are != NULL; k++) v_masks[k] = both(b->cg, v_masks[k], v_are);
    for (; begin < from; begin += 2) evaluate_within(b, terms[begin], terms[begin + 1], v_masks);
    return from;
}

// Returns the number of the term behind those that were evaluated.
static uint32_t evaluate_group(zf_query_build *b, zf_expr **terms, uint32_t from, uint32_t count, LLVMValueRef *v_masks) {
    uint32_t end = group_end(b->query, terms, from, count);
    while (from < end) {
        uint32_t behind = evaluate_ranges(b, terms, from, end, v_masks);
        if (behind == from) evaluate_term(b, terms[behind++], v_masks);
        from = behind;
    }
    return end;
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void statements(zf_query_build *b, zf_stmt *stmts);

static void under(zf_query_build *b, LLVMValueRef *v_masks, zf_stmt *stmts) {
    LLVMValueRef v_saved[ZF_QUERY_TOGETHER];
    for (unsigned k = 0; k < b->count; k++) {
        v_saved[k] = b->rows[k].v_mask;
        b->rows[k].v_mask = v_masks[k];
    }
    statements(b, stmts);
    for (unsigned k = 0; k < b->count; k++) b->rows[k].v_mask = v_saved[k];
}

static void masked(zf_query_build *b, LLVMValueRef *v_masks, zf_stmt *stmts) {
    if (stmts == NULL) return;
    LLVMBasicBlockRef bb_end = zf_cg_block(b->cg, "rows_end");
    some_rows_begin(b, v_masks, bb_end);
    under(b, v_masks, stmts);
    some_rows_end(b);
    zf_cg_br(b->cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(b->cg));
    zf_cg_enter(b->cg, bb_end);
}

// The terms from number `from` on, and the body. Terms that are dear are evaluated only where those before left a row.
static void rest_together(zf_query_build *b, zf_stmt *stmt, zf_expr **terms, uint32_t from, uint32_t count,
                          LLVMValueRef *v_masks) {
    uint32_t scopes = 0;
    LLVMBasicBlockRef bb_end = zf_cg_block(b->cg, "if_end");
    for (uint32_t t = from; t < count; t++) {
        if (wants_branch(b->query, terms[t])) {
            some_rows_begin(b, v_masks, bb_end);
            scopes++;
        }
        evaluate_term(b, terms[t], v_masks);
    }
    masked(b, v_masks, stmt->body);
    while (scopes-- > 0) some_rows_end(b);
    zf_cg_br(b->cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(b->cg));
    zf_cg_enter(b->cg, bb_end);
}

static void rows_begin(zf_query_build *b, const LLVMValueRef *v_rows, unsigned count, const LLVMValueRef *v_nears);

void zf_query_others_begin(zf_query_build *b, zf_query_others *o, const LLVMValueRef *v_nears, unsigned count) {
    LLVMValueRef v_rows[ZF_QUERY_TOGETHER];
    for (unsigned k = 0; k < count; k++) v_rows[k] = zf_cg_add(b->cg, b->v_row0, v_nears[k]);
    o->build = *b;
    zf_query_columns_save(b, &o->columns);
    rows_begin(b, v_rows, count, v_nears);
    b->from_queue = count > 1;
    zf_query_scope_begin(b);
}

void zf_query_others_end(zf_query_build *b, const zf_query_others *o) {
    zf_query_scope_end(b);
    zf_query_columns_restore(b, &o->columns);
    memcpy(b->rows, o->build.rows, sizeof b->rows);
    memcpy(b->frames, o->build.frames, sizeof b->frames);
    b->count = o->build.count;
    b->v_near = o->build.v_near;
    b->ahead = o->build.ahead;
    b->queues = o->build.queues;
    b->from_queue = o->build.from_queue;
}

// The terms from number `from` on, and the body, for the rows whose mask holds: they wait until all lanes have some. They make
// again what `let` named before, where they use it. All lanes of the warp are here.
static void rest_of_queue(zf_query_build *b, zf_stmt *stmt, zf_expr **terms, uint32_t from, uint32_t count, LLVMValueRef *v_masks,
                          LLVMValueRef v_last) {
    zf_query_queue queue;
    if (!zf_query_queue_open(b, &queue)) {
        rest_together(b, stmt, terms, from, count, v_masks);
        return;
    }
    zf_query_others saved;
    zf_query_queue_push(b, &queue, v_masks);
    zf_query_queue_begin(b, &queue, v_last);
    zf_query_others_begin(b, &saved, queue.v_nears, ZF_QUERY_TAKEN);
    bool ends = from == count;
    if (!ends) {
        from = evaluate_group(b, terms, from, count, queue.v_masks);
        rest_of_queue(b, stmt, terms, from, count, queue.v_masks, queue.v_last);
    } else {
        masked(b, queue.v_masks, stmt->body);
    }
    zf_query_others_end(b, &saved);
    zf_query_queue_end(b, &queue);
}

// Terms are evaluated for all rows up to the first that is dear and has others before it.
static void if_all(zf_query_build *b, zf_stmt *stmt, LLVMValueRef *v_masks) {
    zf_expr *terms[MOST_TERMS];
    uint32_t count = split(stmt->value, terms), from = evaluate_group(b, terms, 0, count, v_masks);
    if (b->queues && b->count > 1 && b->depth == 1)
        rest_of_queue(b, stmt, terms, from, count, v_masks, b->v_last);
    else
        rest_together(b, stmt, terms, from, count, v_masks);
}

static void if_else(zf_query_build *b, zf_stmt *stmt, LLVMValueRef *v_masks) {
    LLVMValueRef v_others[ZF_QUERY_TOGETHER];
    for (unsigned k = 0; k < b->count; k++) v_others[k] = v_masks[k];
    evaluate_term(b, stmt->value, v_masks);
    for (unsigned k = 0; k < b->count; k++) v_others[k] = both(b->cg, v_others[k], zf_cg_not(b->cg, v_masks[k]));
    masked(b, v_masks, stmt->body);
    masked(b, v_others, stmt->else_part);
}

static bool sees_assignment(zf_visitor *visitor, zf_stmt *stmt) {
    if (stmt->kind == ZF_S_ASSIGN) *(bool *)visitor->user = true;
    return true;
}

static bool leave_out(zf_visitor *visitor, zf_expr *expr) {
    (void)visitor, (void)expr;
    return false;
}

// Whether statements assign to variables, which may be those of rows that do not come here. Functions assign to their own alone.
static bool assigns(zf_stmt *stmts) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = leave_out, .stmt = sees_assignment};
    zf_visit_stmts(&visitor, stmts);
    return found;
}

static void each_alone(zf_query_build *b, zf_stmt *stmt) {
    zf_stmt alone = *stmt;
    alone.next = NULL;
    zf_query_pull_stmt(b, stmt);
    for (unsigned k = 0; k < b->count; k++) {
        b->cg->v_guard = b->rows[k].v_mask;
        zf_cg_stmts(b->cg, &b->frames[k], &alone);
        b->rows[k].v_mask = b->cg->v_guard; // a requirement that did not hold stops the row
    }
    b->cg->v_guard = NULL;
}

// None is given before all are there.
static void tie_gifts(zf_query_build *b, zf_query_gift *gifts) {
    LLVMValueRef v_places[ZF_QUERY_TOGETHER], v_values[ZF_QUERY_TOGETHER];
    for (unsigned k = 0; k < b->count; k++) {
        v_places[k] = gifts[k].v_at;
        v_values[k] = gifts[k].v;
    }
    zf_query_tie(b, v_places);
    zf_query_tie(b, v_values);
    for (unsigned k = 0; k < b->count; k++) {
        gifts[k].v_at = v_places[k];
        gifts[k].v = v_values[k];
    }
}

static void give_all(zf_query_build *b, zf_stmt *stmt) {
    zf_query_gift gifts[ZF_QUERY_TOGETHER];
    zf_query_pull_stmt(b, stmt);
    for (unsigned k = 0; k < b->count; k++) {
        b->cg->v_guard = b->rows[k].v_mask;
        gifts[k] = zf_query_gift_of(b, &b->frames[k], stmt);
    }
    b->cg->v_guard = NULL;
    tie_gifts(b, gifts);
    for (unsigned k = 0; k < b->count; k++) zf_query_give(b, &b->rows[k], stmt->result, &gifts[k]);
}

static void statements(zf_query_build *b, zf_stmt *stmts) {
    for (zf_stmt *stmt = stmts; stmt != NULL && !b->cg->failed; stmt = stmt->next) {
        if (stmt->kind == ZF_S_RESULT) {
            if (b->pass == ZF_QUERY_GIVE) give_all(b, stmt);
            continue;
        }
        if (stmt->kind != ZF_S_IF || assigns(stmt->body) || assigns(stmt->else_part)) {
            each_alone(b, stmt);
            continue;
        }
        LLVMValueRef v_masks[ZF_QUERY_TOGETHER];
        for (unsigned k = 0; k < b->count; k++) v_masks[k] = b->rows[k].v_mask;
        if (stmt->else_part == NULL)
            if_all(b, stmt, v_masks);
        else
            if_else(b, stmt, v_masks);
    }
}

// `v_nears`: the rows, counted from the stretch's first; NULL: some may not exist.
static void rows_begin(zf_query_build *b, const LLVMValueRef *v_rows, unsigned count, const LLVMValueRef *v_nears) {
    zf_inst *inst = b->query->inst;
    b->count = count;
    b->v_near = NULL;
    b->ahead = NULL;
    b->queues = false;
    b->from_queue = false;
    for (unsigned k = 0; k < count; k++) {
        b->rows[k] = (zf_query_row_build){.env = {.inst = inst,
                                                  .straight = true,
                                                  .precedes = k + 1 < count,
                                                  .param = param,
                                                  .domain = domain,
                                                  .element = element,
                                                  .length = length,
                                                  .check = check,
                                                  .look_up = look_up,
                                                  .failed = failed,
                                                  .failed_begin = failed_begin,
                                                  .failed_end = failed_end,
                                                  .reduced = reduced,
                                                  .stmt = statement},
                                          .build = b,
                                          .k = k,
                                          .v_row = v_rows[k],
                                          .v_near = v_nears != NULL ? v_nears[k] : NULL};
        b->frames[k] = zf_cg_frame_make(b->cg, &b->rows[k].env, &inst->decode);
    }
}

void zf_query_row_begin(zf_query_build *b) {
    LLVMValueRef v_row = zf_cg_i64(b->cg, 0);
    rows_begin(b, &v_row, 1, NULL);
}

// Whether a row has variables, or a `let` with effects: it cannot be left and begun anew.
static bool keeps(zf_visitor *visitor, zf_stmt *stmt) {
    bool effect = stmt->kind == ZF_S_LET && stmt->local->init != NULL && stmt->local->init->effect;
    if (stmt->kind == ZF_S_VAR || stmt->kind == ZF_S_REQUIRE || effect) *(bool *)visitor->user = true;
    return true;
}

static bool keeps_something(const zf_query *query) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .expr = leave_out, .stmt = keeps};
    zf_visit_body(&visitor, &query->inst->decode);
    return found;
}

typedef struct masks {
    const zf_query_result *mask;
    uint32_t given; // statements
    bool effect;    // a function may give it, whose statements are not looked at
} masks;

static bool sees_mask(zf_visitor *visitor, zf_stmt *stmt) {
    masks *m = visitor->user;
    if (stmt->kind == ZF_S_RESULT && stmt->result == m->mask) m->given++;
    return true;
}

static bool sees_effect(zf_visitor *visitor, zf_expr *expr) {
    if (expr->effect) ((masks *)visitor->user)->effect = true;
    return true;
}

// Whether a row may give a bit of a mask more than once: the last statement's counts, so none may wait.
static bool masks_again(const zf_query *query) {
    bool again = false;
    for (uint32_t k = 0; k < query->result_count; k++) {
        if (query->results[k].kind != ZF_Q_MASK) continue;
        masks m = {.mask = &query->results[k]};
        zf_visitor visitor = {.user = &m, .expr = sees_effect, .stmt = sees_mask};
        zf_visit_body(&visitor, &query->inst->decode);
        again = again || m.effect || m.given > 1;
    }
    return again;
}

static bool may_wait(const zf_query *query) {
    return zf_query_rows_together(query) && !keeps_something(query) && !masks_again(query);
}

static bool opens_queues(const zf_stmt *stmt) { return stmt->kind == ZF_S_IF && stmt->else_part == NULL && !assigns(stmt->body); }

// One queue behind an `if`'s first group of terms, and one behind each that follows.
uint32_t zf_codegen_query_queues(const zf_query *query, uint32_t warps) {
    enum { MOST = 3 };
    uint32_t bytes = 0, queues = 0;
    if (!may_wait(query)) return 0;
    for (const zf_stmt *stmt = query->inst->decode.stmts; stmt != NULL; stmt = stmt->next) {
        if (!opens_queues(stmt)) continue;
        zf_expr *terms[MOST_TERMS];
        uint32_t count = split(stmt->value, terms);
        unsigned rows = ZF_QUERY_TOGETHER;
        for (uint32_t from = 0; from < count && queues < MOST; from = group_end(query, terms, from, count), queues++) {
            bytes += zf_query_queue_bytes(warps, rows);
            rows = ZF_QUERY_TAKEN;
        }
    }
    return bytes;
}

void zf_query_rows(zf_query_build *b, const LLVMValueRef *v_rows, unsigned count, LLVMValueRef v_near, LLVMValueRef v_last,
                   zf_simt_ahead *ahead) {
    LLVMValueRef v_nears[ZF_QUERY_TOGETHER];
    zf_cg_arrays_begin(b->cg);
    for (unsigned k = 0; v_near != NULL && k < count; k++) v_nears[k] = zf_cg_add(b->cg, v_near, zf_cg_i64(b->cg, k));
    rows_begin(b, v_rows, count, v_near != NULL ? v_nears : NULL);
    b->v_near = v_near;
    b->ahead = b->steps = ahead;
    b->v_last = v_last;
    b->queues = v_near != NULL && may_wait(b->query);
    if (b->query->pairs != NULL) zf_query_pair_bind(b, &b->frames[0], v_rows[0]);
    zf_query_scope_begin(b);
    statements(b, b->query->inst->decode.stmts);
    zf_query_scope_end(b);
    b->ahead = b->steps = NULL;
    zf_cg_arrays_end(b->cg);
    b->cg->v_guard = NULL;
}

bool zf_query_has_term(const zf_query *query, bool (*is)(const zf_query *query, const zf_expr *term, uint32_t column),
                       uint32_t column) {
    for (const zf_stmt *stmt = query->inst->decode.stmts; stmt != NULL; stmt = stmt->next) {
        if (stmt->kind != ZF_S_IF || assigns(stmt->body) || assigns(stmt->else_part)) continue;
        zf_expr *terms[MOST_TERMS] = {stmt->value};
        uint32_t count = stmt->else_part != NULL ? 1 : split(stmt->value, terms); // with `else` it is one term
        if (!may_wait(query)) count = group_end(query, terms, 0, count);
        for (uint32_t t = 0; t < count; t++)
            if (is(query, terms[t], column)) return true;
    }
    return false;
}

bool zf_codegen_query_has_large(const zf_query *query) { return zf_query_rows_together(query); }

uint32_t zf_codegen_query_tile(const zf_query *query) {
    if (query->pairs != NULL) return ZF_QUERY_PAIR_TILE;
    return zf_query_rows_together(query) ? 2 * ZF_QUERY_TILE : ZF_QUERY_TILE;
}

bool zf_query_rows_together(const zf_query *query) {
    for (uint32_t k = 0; k < query->result_count; k++)
        if (query->results[k].kind == ZF_Q_SELECT || zf_query_sums_floats(&query->results[k])) return false;
    return query->pairs == NULL;
}

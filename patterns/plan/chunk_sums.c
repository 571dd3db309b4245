#include "patterns/plan/chunk_sums.h"

#include "frontend/check/walk.h"

/// A search of an expression of the loop for what it may not hold.
typedef struct look {
    zf_chunk_sum *sum;
    bool fits;
    bool alone; ///< the sum may not occur
} look;

static bool is_number(zf_type type) { return !type.nullable && zf_kind_is_integer(type.kind); }

// Whether the turns of the loop give a local its value.
static bool is_of_turn(const zf_chunk_sum *sum, const zf_local *local) {
    if (local == sum->sum || local == sum->binder) return true;
    for (const zf_stmt *let = sum->lets; let != NULL && let->kind == ZF_S_LET; let = let->next) {
        if (let->local == local) return true;
    }
    return false;
}

static bool is_invariant(const zf_chunk_sum *sum, const zf_expr *expr) {
    expr = zf_expr_uncast(expr);
    if (expr->kind == ZF_X_CONST || expr->kind == ZF_X_PARAM || (expr->kind == ZF_X_LEN && expr->a->kind == ZF_X_OUT))
        return true;
    bool named = expr->kind == ZF_X_LOCAL && (expr->local->kind == ZF_L_LET || expr->local->kind == ZF_L_VAR);
    return named && !expr->local->is_seq && !is_of_turn(sum, expr->local);
}

// Whether an effect depends on a condition within the expression.
static bool may_skip(const zf_expr *expr) {
    bool lazy = expr->kind == ZF_X_COND || (expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR));
    return lazy && ((expr->b != NULL && expr->b->effect) || (expr->c != NULL && expr->c->effect));
}

static bool see(zf_visitor *visitor, zf_expr *expr) {
    look *l = visitor->user;
    if (expr->kind == ZF_X_OUT || expr->kind == ZF_X_REDUCE || may_skip(expr)) l->fits = false;
    if (expr->kind == ZF_X_CALL && expr->call->body != NULL) l->fits = false;
    if (expr->kind == ZF_X_LOCAL && l->alone && expr->local == l->sum->sum) l->fits = false;
    if (expr->kind != ZF_X_CURSOR) return l->fits;
    bool reads = expr->cursor == ZF_C_READ || expr->cursor == ZF_C_READ_MSB;
    if (!reads || l->sum->read != NULL || !is_invariant(l->sum, expr->a)) l->fits = false;
    l->sum->read = expr;
    return l->fits;
}

static bool allows(zf_chunk_sum *sum, const zf_expr *expr, bool alone) {
    look l = {.sum = sum, .fits = true, .alone = alone};
    zf_visitor visitor = {.user = &l, .expr = see};
    zf_visit_expr(&visitor, (zf_expr *)(uintptr_t)expr); // only looks
    return l.fits;
}

// The expression below what only narrows it: conversions of integers, calls without statements, conditions that are decided.
static const zf_expr *below_narrowing(const zf_expr *expr) {
    for (;;) {
        if (!is_number(expr->type)) return expr;
        if (expr->kind == ZF_X_CAST && is_number(expr->a->type))
            expr = expr->a;
        else if (expr->kind == ZF_X_CALL && expr->call->body == NULL && expr->call->value != NULL)
            expr = expr->call->value;
        else if (expr->kind == ZF_X_LOCAL && expr->local->kind == ZF_L_FORMAL && expr->local->init != NULL)
            expr = expr->local->init;
        else if (expr->kind == ZF_X_COND && expr->a->range.lo == expr->a->range.hi)
            expr = expr->a->range.lo != 0 ? expr->b : expr->c;
        else
            return expr;
    }
}

// A sum of the variable and other terms, all of its type.
static bool is_chain(zf_chunk_sum *sum, const zf_expr *expr) {
    if (expr->kind == ZF_X_LOCAL) return expr->local == sum->sum;
    if (expr->kind != ZF_X_BINARY || (expr->op != ZF_OP_ADD && expr->op != ZF_OP_SUB) || expr->type.kind != sum->sum->type.kind)
        return false;
    if (allows(&(zf_chunk_sum){.sum = sum->sum}, expr->b, true)) return is_chain(sum, expr->a);
    return expr->op == ZF_OP_ADD && allows(&(zf_chunk_sum){.sum = sum->sum}, expr->a, true) && is_chain(sum, expr->b);
}

static bool is_assigned(zf_chunk_sum *sum, const zf_stmt *assign) {
    if (assign->place->kind != ZF_X_LOCAL || assign->place->local->kind != ZF_L_VAR || !is_number(assign->place->type))
        return false;
    sum->sum = assign->place->local;
    if (assign->has_op) return assign->op == ZF_OP_ADD && allows(sum, assign->value, true);
    return is_chain(sum, below_narrowing(assign->value)) && allows(sum, assign->value, false);
}

bool zf_chunk_sum_of(const zf_stmt *loop, zf_chunk_sum *out) {
    *out = (zf_chunk_sum){.lets = loop->body};
    if (loop->kind == ZF_S_FOR_RANGE) {
        out->binder = loop->binder.local;
        if (loop->binder.lo->effect || loop->binder.hi->effect) return false;
    }
    if (loop->kind == ZF_S_WHILE) {
        const zf_expr *go = loop->value;
        if (go->kind != ZF_X_BINARY || go->op != ZF_OP_LT || go->a->kind != ZF_X_OUT_POS) return false;
        out->end = go->b;
    } else if (loop->kind != ZF_S_FOR_RANGE) {
        return false;
    }
    const zf_stmt *stmt = loop->body;
    while (stmt != NULL && stmt->kind == ZF_S_LET) stmt = stmt->next;
    if (stmt == NULL || stmt->kind != ZF_S_ASSIGN || stmt->next == NULL || stmt->next->kind != ZF_S_EMIT ||
        stmt->next->next != NULL)
        return false;
    out->assign = stmt;
    out->emit = stmt->next;
    if (!is_assigned(out, stmt) || (out->end != NULL && !is_invariant(out, out->end))) return false;
    for (const zf_stmt *let = loop->body; let != stmt; let = let->next) {
        if (!allows(out, let->local->init, true)) return false;
    }
    const zf_expr *read = out->read;
    return allows(out, out->emit->value, false) && out->read == read;
}

#include "frontend/check/walk.h"

void zf_visit_children(zf_visitor *visitor, zf_expr *expr) {
    zf_visit_expr(visitor, expr->a);
    zf_visit_expr(visitor, expr->b);
    zf_visit_expr(visitor, expr->c);
    if (expr->call != NULL) {
        for (uint32_t k = 0; k < expr->call->formal_count; k++) zf_visit_expr(visitor, expr->call->formals[k]->init);
        zf_visit_stmts(visitor, expr->call->body);
        zf_visit_expr(visitor, expr->call->value);
    }
    if (expr->reduce != NULL) {
        for (uint32_t k = 0; k < expr->reduce->binder_count; k++) {
            zf_visit_expr(visitor, expr->reduce->binders[k].lo);
            zf_visit_expr(visitor, expr->reduce->binders[k].hi);
        }
        zf_visit_expr(visitor, expr->reduce->term);
    }
}

void zf_visit_expr(zf_visitor *visitor, zf_expr *expr) {
    if (expr == NULL) return;
    if (visitor->expr != NULL && !visitor->expr(visitor, expr)) return;
    zf_visit_children(visitor, expr);
}

void zf_visit_stmt_children(zf_visitor *visitor, zf_stmt *stmt) {
    if ((stmt->kind == ZF_S_LET || stmt->kind == ZF_S_VAR) && stmt->local != NULL) zf_visit_expr(visitor, stmt->local->init);
    zf_visit_expr(visitor, stmt->place);
    for (uint32_t k = 0; k < stmt->value_count; k++) zf_visit_expr(visitor, stmt->values[k]);
    zf_visit_expr(visitor, stmt->value);
    zf_visit_expr(visitor, stmt->count);
    zf_visit_expr(visitor, stmt->target);
    zf_visit_expr(visitor, stmt->binder.lo);
    zf_visit_expr(visitor, stmt->binder.hi);
    if (stmt->reduce != NULL) {
        for (uint32_t k = 0; k < stmt->reduce->binder_count; k++) {
            zf_visit_expr(visitor, stmt->reduce->binders[k].lo);
            zf_visit_expr(visitor, stmt->reduce->binders[k].hi);
        }
        zf_visit_expr(visitor, stmt->reduce->term);
    }
    zf_visit_stmts(visitor, stmt->body);
    zf_visit_stmts(visitor, stmt->else_part);
}

void zf_visit_stmts(zf_visitor *visitor, zf_stmt *stmts) {
    for (zf_stmt *stmt = stmts; stmt != NULL; stmt = stmt->next) {
        if (visitor->stmt != NULL && !visitor->stmt(visitor, stmt)) continue;
        zf_visit_stmt_children(visitor, stmt);
    }
}

void zf_visit_body(zf_visitor *visitor, zf_body *body) {
    zf_visit_stmts(visitor, body->stmts);
    zf_visit_expr(visitor, body->value);
}

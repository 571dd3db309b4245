// Visiting every expression and statement of a typed tree, in order of evaluation.
#ifndef ZF_FRONTEND_WALK_H
#define ZF_FRONTEND_WALK_H

#include "frontend/spec/spec.h"

typedef struct zf_visitor zf_visitor;
struct zf_visitor {
    void *user;
    /// Called before the children; false: the children are not visited (the callback may visit them itself). May be
    /// NULL.
    bool (*expr)(zf_visitor *visitor, zf_expr *expr);
    bool (*stmt)(zf_visitor *visitor, zf_stmt *stmt);
};

// All take NULL for nothing. A LOCAL does not lead to its `init`: that is visited where the local is declared.
void zf_visit_expr(zf_visitor *visitor, zf_expr *expr);
void zf_visit_children(zf_visitor *visitor, zf_expr *expr);
void zf_visit_stmts(zf_visitor *visitor, zf_stmt *stmts);
void zf_visit_stmt_children(zf_visitor *visitor, zf_stmt *stmt);
void zf_visit_body(zf_visitor *visitor, zf_body *body);

#endif

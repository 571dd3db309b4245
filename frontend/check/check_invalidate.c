// Finds the variables that a loop's body may change, in its text, before it is checked. Facts about them are forgotten, since
// the second iteration sees the values that the first one left.
#include "frontend/check/checker.h"

/// Walks every expression and statement of a text, those of called functions too where `follow` is set.
typedef struct visitor {
    zf_checker *ck;
    bool follow;
    int steps; ///< that are left; when they run out, the answer is "anything"
    bool found;
    void (*on_argument)(struct visitor *v, const zf_ast_expr *argument);
    void (*on_stmt)(struct visitor *v, const zf_ast_stmt *stmt);
} visitor;

static void visit_stmts(visitor *v, const zf_ast_stmt *stmt);
static void visit_expr(visitor *v, const zf_ast_expr *ast);

static bool spend(visitor *v) {
    if (v->steps-- > 0) return true;
    v->found = true;
    return false;
}

static void visit_range(visitor *v, const zf_ast_range *range) {
    if (range == NULL) return;
    visit_expr(v, range->lo);
    visit_expr(v, range->hi);
}

static void visit_binders(visitor *v, const zf_ast_binder *binder) {
    for (; binder != NULL; binder = binder->next) visit_range(v, &binder->range);
}

static void visit_expr(visitor *v, const zf_ast_expr *ast) {
    if (ast == NULL || v->found || !spend(v)) return;
    if (ast->kind == ZF_AE_CALL) {
        for (const zf_ast_expr *argument = ast->args; argument != NULL; argument = argument->next) {
            if (v->on_argument != NULL) v->on_argument(v, argument);
            visit_expr(v, argument);
        }
        const zf_ast_func *func = v->follow && ast->a->kind == ZF_AE_NAME ? zf_ck_find_function(v->ck, ast->a->name) : NULL;
        if (func != NULL && func->body != NULL) visit_stmts(v, func->body->stmts);
        if (func != NULL) visit_expr(v, func->value);
    }
    visit_expr(v, ast->a);
    visit_expr(v, ast->b);
    visit_expr(v, ast->c);
    visit_range(v, ast->range);
    visit_binders(v, ast->binders);
}

static void visit_stmts(visitor *v, const zf_ast_stmt *stmt) {
    for (; stmt != NULL && !v->found && spend(v); stmt = stmt->next) {
        v->on_stmt(v, stmt);
        visit_expr(v, stmt->place);
        visit_expr(v, stmt->value);
        visit_range(v, stmt->range);
        visit_binders(v, stmt->binders);
        if (stmt->body != NULL) visit_stmts(v, stmt->body->stmts);
        visit_stmts(v, stmt->else_part);
    }
}

// ---- Variables ------------------------------------------------------------------------------------------------

/// A name that is assigned, or given to a function, which may assign it.
static void invalidate_name(visitor *v, const zf_ast_expr *ast) {
    while (ast->kind == ZF_AE_PAREN) ast = ast->a;
    if (ast->kind != ZF_AE_NAME) return;
    const zf_bound *bound = zf_ck_lookup(v->ck, ast->name);
    if (bound == NULL) return; // states and params are forgotten together
    const zf_local *local = bound->local;
    if (bound->alias != NULL && bound->alias->kind == ZF_X_LOCAL) local = bound->alias->local;
    if (local != NULL && local->kind == ZF_L_VAR) zf_facts_kill(v->ck, local, NULL, NULL, false);
}

static void invalidate_place(visitor *v, const zf_ast_stmt *stmt) {
    if (stmt->kind == ZF_AS_ASSIGN) invalidate_name(v, stmt->place);
}

static visitor invalidator(zf_checker *ck) {
    return (visitor){.ck = ck, .steps = INT32_MAX, .on_argument = invalidate_name, .on_stmt = invalidate_place};
}

void zf_ck_invalidate_in_condition(zf_checker *ck, const zf_ast_expr *condition) {
    if (ck->env.facts == NULL) return;
    visitor v = invalidator(ck);
    visit_expr(&v, condition);
}

// ---- out.pos --------------------------------------------------------------------------------------------------

enum { EMIT_SEARCH_STEPS = 4000 };

static void find_emit(visitor *v, const zf_ast_stmt *stmt) {
    if (stmt->kind == ZF_AS_EMIT) v->found = true;
}

static bool emits(zf_checker *ck, const zf_ast_block *body) {
    visitor v = {.ck = ck, .follow = true, .steps = EMIT_SEARCH_STEPS, .on_stmt = find_emit};
    visit_stmts(&v, body->stmts);
    return v.found;
}

void zf_ck_invalidate_assigned(zf_checker *ck, const zf_ast_block *body) {
    if (ck->env.facts == NULL) return;
    visitor v = invalidator(ck);
    visit_stmts(&v, body->stmts);
    // Functions of the algorithm may assign states and params.
    zf_inst *inst = ck->inst;
    if (inst == NULL) return;
    for (uint32_t k = 0; k < inst->state_count; k++) zf_facts_kill(ck, NULL, NULL, &inst->states[k], false);
    for (uint32_t k = 0; k < inst->port_count && ck->body == ZF_IN_ENCODE; k++) {
        if (inst->ports[k].is_param) zf_facts_kill(ck, NULL, &inst->ports[k], NULL, false);
    }
    if (ck->body == ZF_IN_CHUNK && emits(ck, body)) zf_facts_kill(ck, NULL, NULL, NULL, true);
}

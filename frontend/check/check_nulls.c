// Null in queries: a nullable value is a condition under which it is null, and its value where it is not.
//
// An operation on nullable values is COND(condition, NULL, SOME(value)). The next operation takes it apart again, so that a tree
// grows by one condition and one value a node. A value that has no parts and is more than a name, and any value with an effect,
// is first kept in a formal, as an argument of a call is: it is evaluated once, and stands in the tree once.
#include "frontend/check/checker.h"

typedef struct parts {
    zf_expr *null; ///< bool; NULL: never
    zf_expr *value;
} parts;

static bool is_put_together(const zf_expr *expr) {
    return expr->kind == ZF_X_COND && expr->b->kind == ZF_X_NULL && expr->c->kind == ZF_X_SOME;
}

// It may stand in the tree twice: a name, a column in its row.
static bool is_name(const zf_expr *expr) {
    bool column = expr->kind == ZF_X_INDEX && expr->a->kind == ZF_X_STREAM && expr->b->kind == ZF_X_LOCAL;
    return expr->kind == ZF_X_LOCAL || column;
}

static parts take_apart(zf_checker *ck, zf_expr *expr) {
    if (!expr->type.nullable) return (parts){.value = expr};
    if (expr->kind == ZF_X_SOME) return (parts){.value = expr->a};
    if (is_put_together(expr)) return (parts){.null = expr->a, .value = expr->c->a};
    zf_type type = zf_type_value(expr->type);
    zf_expr *null = zf_ck_node(ck, ZF_X_IS_NULL, zf_type_of(ZF_K_BOOL), expr->span);
    zf_expr *value = zf_ck_node(ck, ZF_X_VALUE, type, expr->span);
    null->a = value->a = expr;
    null->range = (zf_interval){0, 1};
    return (parts){.null = null, .value = value};
}

static zf_expr *logical(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    if (a == NULL || b == NULL) return a == NULL ? b : a;
    zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, zf_type_of(ZF_K_BOOL), span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->range = (zf_interval){0, 1};
    return expr;
}

static zf_expr *negated(zf_checker *ck, zf_expr *a, zf_span span) {
    zf_expr *expr = zf_ck_node(ck, ZF_X_UNARY, zf_type_of(ZF_K_BOOL), span);
    expr->op = ZF_OP_NOT;
    expr->a = a;
    expr->range = (zf_interval){0, 1};
    return expr;
}

static zf_expr *put_together(zf_checker *ck, zf_expr *null, zf_expr *value, zf_span span) {
    if (zf_is_poison(value) || null == NULL) return value;
    zf_type type = value->type;
    type.nullable = true;
    zf_expr *expr = zf_ck_node(ck, ZF_X_COND, type, span);
    expr->a = null;
    expr->b = zf_ck_node(ck, ZF_X_NULL, type, span);
    expr->c = zf_ck_node(ck, ZF_X_SOME, type, span);
    expr->c->a = value;
    return expr;
}

static bool is_typed(const zf_expr *expr) { return zf_untyped_of(expr->type) == ZF_UNTYPED_NOT; }

// ---- Values that are kept -------------------------------------------------------------------------------------

static bool must_keep(const zf_expr *expr) {
    if (expr->is_seq || zf_is_poison(expr) || !is_typed(expr)) return false;
    bool twice = expr->type.nullable && expr->kind != ZF_X_SOME && !is_put_together(expr);
    return expr->effect || (twice && !is_name(expr));
}

static zf_expr *kept_as(zf_checker *ck, zf_local_kind kind, zf_expr *expr, zf_local **out) {
    zf_local *local = zf_ck_local(ck, kind, "value", expr->span, expr->type);
    local->init = expr;
    local->range = expr->range;
    *out = local;
    zf_expr *name = zf_ck_node(ck, ZF_X_LOCAL, local->type, expr->span);
    name->local = local;
    name->range = local->range;
    return name;
}

static zf_expr *keep_one(zf_checker *ck, zf_kept *kept, zf_expr *expr) {
    kept->effect = kept->effect || expr->effect;
    return kept_as(ck, ZF_L_FORMAL, expr, &kept->formals[kept->count++]);
}

zf_expr *zf_ck_keep(zf_checker *ck, zf_kept *kept, zf_expr *expr) { return must_keep(expr) ? keep_one(ck, kept, expr) : expr; }

zf_expr *zf_ck_keep_unnamed(zf_checker *ck, zf_kept *kept, zf_expr *expr) {
    return is_name(expr) || zf_is_poison(expr) ? expr : keep_one(ck, kept, expr);
}

// Both in their order: an effect of b must not change what is read of a.
static void keep_both(zf_checker *ck, zf_kept *kept, zf_expr **a, zf_expr **b) {
    bool before = (*b)->effect && is_typed(*a) && !zf_is_poison(*a);
    *a = before ? keep_one(ck, kept, *a) : zf_ck_keep(ck, kept, *a);
    *b = zf_ck_keep(ck, kept, *b);
}

zf_expr *zf_ck_with_kept(zf_checker *ck, const zf_kept *kept, zf_expr *value, zf_span span) {
    if (kept->count == 0 || zf_is_poison(value)) return value;
    zf_call *call = ZF_NEW(ck->arena, zf_call);
    call->name = "value";
    call->formals = ZF_NEW_ARRAY(ck->arena, zf_local *, kept->count);
    for (uint32_t k = 0; k < kept->count; k++) call->formals[k] = kept->formals[k];
    call->formal_count = kept->count;
    call->value = value;
    zf_expr *expr = zf_ck_node(ck, ZF_X_CALL, value->type, span);
    expr->call = call;
    expr->effect = kept->effect || value->effect;
    expr->range = value->range;
    return expr;
}

zf_expr *zf_ck_keep_before(zf_checker *ck, zf_expr *expr) {
    if (!must_keep(expr)) return expr;
    zf_local *local = NULL;
    zf_expr *name = kept_as(ck, ZF_L_LET, expr, &local);
    zf_ck_stmt(ck, ZF_S_LET, expr->span)->local = local;
    return name;
}

// ---- Operations -----------------------------------------------------------------------------------------------

zf_expr *zf_ck_lift_binary(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    bool nulls = (is_typed(a) && a->type.nullable) || (is_typed(b) && b->type.nullable);
    if (ck->query == NULL || !nulls || a->is_seq || b->is_seq) return NULL;
    zf_kept kept = {0};
    keep_both(ck, &kept, &a, &b);
    parts of_a = take_apart(ck, a), of_b = take_apart(ck, b);
    zf_expr *null = logical(ck, ZF_OP_OROR, of_a.null, of_b.null, span);
    zf_expr *value = zf_ck_binary(ck, op, of_a.value, of_b.value, span);
    if (zf_is_poison(value)) return value;
    bool compares = op >= ZF_OP_EQ && op <= ZF_OP_GE && null != NULL;
    zf_expr *expr =
        compares ? logical(ck, ZF_OP_ANDAND, negated(ck, null, span), value, span) : put_together(ck, null, value, span);
    return zf_ck_with_kept(ck, &kept, expr, span);
}

zf_expr *zf_ck_lift_unary(zf_checker *ck, zf_op op, zf_expr *a, zf_span span) {
    if (ck->query == NULL || a->is_seq || !is_typed(a) || !a->type.nullable) return NULL;
    if (op == ZF_OP_NOT && a->type.kind == ZF_K_BOOL) return zf_ck_unary(ck, op, zf_ck_truth(ck, a), span);
    zf_kept kept = {0};
    parts of = take_apart(ck, zf_ck_keep(ck, &kept, a));
    return zf_ck_with_kept(ck, &kept, put_together(ck, of.null, zf_ck_unary(ck, op, of.value, span), span), span);
}

zf_expr *zf_ck_lift_cast(zf_checker *ck, zf_expr *expr, zf_type type, zf_span span) {
    if (!expr->type.nullable || type.nullable) return zf_ck_cast(ck, expr, type, span);
    if (zf_type_equal(zf_type_value(expr->type), type)) return expr;
    zf_kept kept = {0};
    parts of = take_apart(ck, zf_ck_keep(ck, &kept, expr));
    return zf_ck_with_kept(ck, &kept, put_together(ck, of.null, zf_ck_cast(ck, of.value, type, span), span), span);
}

zf_expr *zf_ck_truth(zf_checker *ck, zf_expr *expr) {
    bool lifts = ck->query != NULL && !expr->is_seq && is_typed(expr) && expr->type.nullable && expr->type.kind == ZF_K_BOOL;
    if (!lifts) return expr;
    zf_kept kept = {0};
    parts of = take_apart(ck, zf_ck_keep(ck, &kept, expr));
    zf_span span = expr->span;
    zf_expr *truth = of.null == NULL ? of.value : logical(ck, ZF_OP_ANDAND, negated(ck, of.null, span), of.value, span);
    return zf_ck_with_kept(ck, &kept, truth, span);
}

zf_expr *zf_ck_null_unless(zf_checker *ck, zf_expr *present, zf_expr *value, zf_span span) {
    zf_expr *absent = present->kind == ZF_X_UNARY && present->op == ZF_OP_NOT ? present->a : negated(ck, present, span);
    return put_together(ck, absent, value, span);
}

zf_expr *zf_ck_present(zf_checker *ck, zf_expr *expr, zf_expr **value) {
    parts of = take_apart(ck, expr);
    *value = of.value;
    return of.null == NULL ? NULL : negated(ck, of.null, expr->span);
}

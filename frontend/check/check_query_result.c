// Statements of a query that change its results: each kind of result has one.
#include <string.h>

#include "frontend/check/checker.h"

zf_query_result *zf_ck_result_of(zf_checker *ck, const zf_ast_expr *place) {
    if (ck->query == NULL || !ck->frame->local) return NULL;
    while (place->kind == ZF_AE_PAREN) place = place->a;
    if (place->kind == ZF_AE_INDEX) place = place->a;
    if (place->kind != ZF_AE_NAME || zf_ck_lookup(ck, place->name) != NULL) return NULL;
    for (uint32_t k = 0; k < ck->query->result_count; k++) {
        if (ck->query->results[k].name == place->name) return &ck->query->results[k];
    }
    return NULL;
}

// ---- The value ------------------------------------------------------------------------------------------------

// Whether two expressions are written alike, spaces and comments aside.
static bool written_alike(const zf_ast_expr *a, const zf_ast_expr *b) {
    if (a == NULL || b == NULL || a->kind != b->kind) return a == b;
    bool own = a->name == b->name && a->integer == b->integer && a->op == b->op && a->real == b->real;
    bool texts = a->text == b->text || (a->text != NULL && b->text != NULL && strcmp(a->text, b->text) == 0);
    if (!own || !texts || a->range != NULL || a->binders != NULL || a->type != NULL) return false;
    if (!written_alike(a->a, b->a) || !written_alike(a->c, b->c)) return false;
    const zf_ast_expr *x = a->b, *y = b->b;
    for (; x != NULL && y != NULL; x = x->next, y = y->next)
        if (!written_alike(x, y)) return false;
    if (x != y) return false;
    for (x = a->args, y = b->args; x != NULL && y != NULL; x = x->next, y = y->next)
        if (!written_alike(x, y)) return false;
    return x == y;
}

// e of `r = min(r, e)`, or NULL.
static const zf_ast_expr *of_call(const zf_ast_stmt *ast, const char *word) {
    const zf_ast_expr *call = ast->value;
    bool calls = call->kind == ZF_AE_CALL && call->a->kind == ZF_AE_NAME && strcmp(call->a->name, word) == 0;
    bool two = calls && call->args != NULL && call->args->next != NULL && call->args->next->next == NULL;
    return two && written_alike(call->args, ast->place) ? call->args->next : NULL;
}

// e of `r = r || e`, or of `r = r || e || f`, which is (r || e) || f: r is replaced by what changes nothing.
static zf_expr *of_logic(zf_checker *ck, const zf_ast_expr *value, const zf_ast_expr *place, zf_op op) {
    if (value->kind != ZF_AE_BINARY || value->op != op) return NULL;
    if (written_alike(value->a, place)) return zf_ck_truth(ck, zf_ck_scalar(ck, value->b));
    zf_expr *first = of_logic(ck, value->a, place, op);
    return first == NULL ? NULL : zf_ck_binary(ck, op, first, zf_ck_scalar(ck, value->b), value->span);
}

static const char *statement_of(zf_result_kind kind) {
    static const char *const forms[ZF_Q_KINDS] = {
        [ZF_Q_SUM] = "r += e",   [ZF_Q_MIN] = "r = min(r, e)", [ZF_Q_MAX] = "r = max(r, e)",
        [ZF_Q_XOR] = "r ^= e",   [ZF_Q_ANY] = "r = r || e",    [ZF_Q_ALL] = "r = r && e",
        [ZF_Q_SET] = "r[k] = e", [ZF_Q_MASK] = "r = e",        [ZF_Q_SELECT] = "select r = e"};
    return forms[kind];
}

// The value that the statement gives the result; NULL: it is another kind's.
static zf_expr *given_value(zf_checker *ck, const zf_ast_stmt *ast, const zf_query_result *result) {
    const zf_ast_expr *e = NULL;
    switch (result->kind) {
    case ZF_Q_SUM:
        if (!ast->has_op || (ast->op != ZF_OP_ADD && ast->op != ZF_OP_SUB)) return NULL;
        return zf_ck_scalar(ck, ast->value); // and its negative in the result's type, where it is taken away
    case ZF_Q_XOR: return ast->has_op && ast->op == ZF_OP_XOR ? zf_ck_scalar(ck, ast->value) : NULL;
    case ZF_Q_MIN:
    case ZF_Q_MAX: e = ast->has_op ? NULL : of_call(ast, zf_result_kind_name(result->kind)); break;
    case ZF_Q_ANY: return ast->has_op ? NULL : of_logic(ck, ast->value, ast->place, ZF_OP_OROR);
    case ZF_Q_ALL: return ast->has_op ? NULL : of_logic(ck, ast->value, ast->place, ZF_OP_ANDAND);
    case ZF_Q_SET:
    case ZF_Q_MASK: e = ast->has_op ? NULL : ast->value; break;
    default: return NULL;
    }
    return e == NULL ? NULL : zf_ck_scalar(ck, e);
}

// ---- The statement --------------------------------------------------------------------------------------------

static bool check_indices(zf_checker *ck, const zf_ast_expr *place, const zf_query_result *result, zf_expr **indices) {
    while (place->kind == ZF_AE_PAREN) place = place->a;
    uint32_t count = 0;
    bool sound = true;
    for (const zf_ast_expr *index = place->kind == ZF_AE_INDEX ? place->b : NULL; index != NULL; index = index->next, count++) {
        if (count >= result->dimensions) continue;
        indices[count] = zf_ck_settle(ck, zf_ck_scalar(ck, index));
        sound = sound && !zf_is_poison(indices[count]);
    }
    if (count == result->dimensions) return sound;
    zf_diag *diag =
        zf_ck_error(ck, ZF_D_RESULT_STATEMENT, place->span, "`%s` has %u dimension%s, and %u %s given", result->name,
                    result->dimensions, result->dimensions == 1 ? "" : "s", count, count == 1 ? "index is" : "indices are");
    zf_ck_remark(ck, diag, result->span, "declared here");
    return false;
}

// Adds a statement behind those that are there, where `condition` holds.
static zf_stmt *under(zf_checker *ck, zf_expr *condition, zf_stmt_kind kind, zf_span span) {
    if (condition == NULL) return zf_ck_stmt(ck, kind, span);
    zf_stmt *branch = zf_ck_stmt(ck, ZF_S_IF, span);
    branch->value = condition;
    zf_stmt **tail = ck->tail;
    ck->tail = &branch->body;
    zf_stmt *stmt = zf_ck_stmt(ck, kind, span);
    ck->tail = tail;
    return stmt;
}

static zf_expr *both(zf_checker *ck, zf_expr *a, zf_expr *b, zf_span span) {
    return a == NULL ? b : b == NULL ? a : zf_ck_binary(ck, ZF_OP_ANDAND, a, b, span);
}

void zf_ck_result_stmt(zf_checker *ck, const zf_ast_stmt *ast, zf_query_result *result) {
    zf_expr *indices[ZF_QUERY_DIMENSIONS] = {0};
    zf_expr *value = given_value(ck, ast, result);
    if (value == NULL) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_RESULT_STATEMENT, ast->span, "`%s` is of kind `%s`, which this statement does not change",
                        result->name, zf_result_kind_name(result->kind));
        zf_ck_remark(ck, diag, result->span, "declared here");
        zf_ck_hint(ck, diag, "its statement is `%s`", statement_of(result->kind));
        return;
    }
    if (!check_indices(ck, ast->place, result, indices) || zf_is_poison(value) || result->type.kind == ZF_K_ERROR) return;
    if (zf_untyped_of(value->type) != ZF_UNTYPED_NULL && result->kind == ZF_Q_MASK) value = zf_ck_truth(ck, value);
    // A null changes nothing, and chooses no element.
    zf_expr *present = NULL;
    if (zf_untyped_of(value->type) == ZF_UNTYPED_NOT) present = zf_ck_present(ck, zf_ck_keep_before(ck, value), &value);
    for (uint32_t k = 0; k < result->dimensions; k++) {
        present = both(ck, zf_ck_present(ck, zf_ck_keep_before(ck, indices[k]), &indices[k]), present, ast->span);
        indices[k] = zf_ck_index(ck, indices[k]);
        if (zf_is_poison(indices[k])) return;
        zf_interval length = result->lengths[k]->range;
        if (indices[k]->range.lo < length.hi || ck->env.dead) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_OUT_OF_RANGE, indices[k]->span, "this index is always outside `%s`", result->name);
        zf_ck_remark(ck, diag, (zf_span){0}, "it is %s, and the length is %s", zf_ck_range_text(ck, indices[k]->range),
                     zf_ck_range_text(ck, length));
        return;
    }
    value = zf_ck_convert(ck, value, result->type);
    if (zf_is_poison(value)) return;
    if (result->kind == ZF_Q_SUM && ast->op == ZF_OP_SUB) value = zf_ck_unary(ck, ZF_OP_NEG, value, ast->value->span);
    if (zf_is_poison(value)) return;
    zf_ck_effect(ck, NULL);
    zf_stmt *stmt = under(ck, present, ZF_S_RESULT, ast->span);
    stmt->result = result;
    stmt->value = value;
    stmt->value_count = result->dimensions;
    stmt->values = ZF_NEW_ARRAY(ck->arena, zf_expr *, result->dimensions + 1);
    memcpy(stmt->values, indices, result->dimensions * sizeof *indices);
}

void zf_ck_select(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_query *query = ck->query;
    zf_expr **values = ZF_NEW_ARRAY(ck->arena, zf_expr *, (query == NULL ? 0 : query->selected_count) + 1);
    bool sound = query != NULL;
    for (const zf_ast_selected *one = ast->selected; query != NULL && one != NULL; one = one->next) {
        uint32_t k = 0;
        while (k < query->result_count && query->results[k].name != one->name) k++;
        zf_query_result *result = k < query->result_count ? &query->results[k] : NULL;
        if (result == NULL || result->kind != ZF_Q_SELECT) {
            zf_diag *diag =
                zf_ck_error(ck, ZF_D_RESULT_STATEMENT, one->name_span, "`%s` is no result of kind `select`", one->name);
            if (result != NULL) zf_ck_remark(ck, diag, result->span, "declared here");
            sound = false;
            continue;
        }
        if (values[result->column] != NULL) {
            zf_ck_error(ck, ZF_D_QUERY_MEMBER, one->name_span, "`%s` is named twice", one->name);
            sound = false;
        }
        zf_expr *value = zf_ck_scalar(ck, one->value);
        if (!zf_is_poison(value) && result->type.kind != ZF_K_ERROR) value = zf_ck_convert(ck, value, result->type);
        sound = sound && !zf_is_poison(value) && result->type.kind != ZF_K_ERROR;
        values[result->column] = value;
    }
    for (uint32_t k = 0; query != NULL && k < query->result_count; k++) {
        const zf_query_result *result = &query->results[k];
        if (result->kind != ZF_Q_SELECT || values[result->column] != NULL) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_QUERY_MEMBER, ast->span,
                                    "a `select` gives every such result a value, and `%s` has none", result->name);
        zf_ck_remark(ck, diag, result->span, "declared here");
        sound = false;
    }
    if (!sound) return;
    zf_ck_effect(ck, NULL);
    zf_stmt *stmt = zf_ck_stmt(ck, ZF_S_SELECT, ast->span);
    stmt->values = values;
    stmt->value_count = query->selected_count;
}

// Queries of pairs: `each a in .., b in ..`, whose domain is no table's.
#include "frontend/check/checker.h"

static zf_diag *refuse(zf_checker *ck, const zf_ast_query_member *each, const char *what) {
    return zf_ck_error(ck, ZF_D_QUERY_MEMBER, each->binders != NULL ? each->binders->span : each->name_span, "%s", what);
}

void zf_ck_pairs(zf_checker *ck, const zf_ast_query_member *each) {
    zf_query *query = ck->query;
    const zf_ast_binder *binder = each->binders;
    if (query->table != NULL) {
        if (binder == NULL) return;
        zf_diag *diag = refuse(ck, each, "the rows of a table have no binders");
        zf_ck_hint(ck, diag, "write `query %s(pairs)` for pairs of numbers", query->name);
        return;
    }
    if (binder == NULL || binder->next == NULL || binder->next->next != NULL) {
        zf_ck_hint(ck, refuse(ck, each, "a query of pairs has two binders"), "write `each a in 0..n, b in a..n { ... }`");
        return;
    }
    query->pairs = ZF_NEW_ARRAY(ck->arena, zf_binder, 2);
    for (int k = 0; k < 2; k++, binder = binder->next) {
        zf_ck_binder(ck, &query->pairs[k], binder->name, binder->span, &binder->range);
        zf_ck_enter(ck, binder->name, binder->span, query->pairs[k].local, NULL, false);
    }
}

void zf_ck_result_of_pairs(zf_checker *ck, zf_span type) {
    const zf_query_result *result = &ck->query->results[ck->query->result_count - 1];
    if (ck->query->table != NULL || result->type.kind == ZF_K_ERROR) return;
    if (result->kind == ZF_Q_MASK)
        zf_ck_error(ck, ZF_D_RESULT_KIND, type, "a result of kind `mask` has a bool for each row, and pairs are no rows");
    if (result->kind == ZF_Q_SUM && result->type.kind == ZF_K_F64)
        zf_ck_error(ck, ZF_D_RESULT_KIND, type, "a sum of floats depends on the order of rows, and pairs have none");
}

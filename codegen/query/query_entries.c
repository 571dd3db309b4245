// Conditions on strings alone that are entries of a dictionary: a warp evaluates them once for each entry of a block, where a
// stretch begins, and tests a bit for each row.
#include "codegen/query/query_kernel.h"

enum { MOST = 32 * ZF_QUERY_LANES }; // entries: a word of bits for each lane. With more, each row compares its own

// ---- Which conditions -----------------------------------------------------------------------------------------

// Each is evaluated for entries that no row may have, so none may fail, or rest on terms before it.

static bool is_bound(const zf_expr *expr) {
    return expr == NULL || expr->kind == ZF_X_CONST || (expr->kind == ZF_X_LEN && expr->a->kind == ZF_X_TABLE);
}

// A text of the program, or a part of a table that is the same for all rows.
static bool is_text(const zf_expr *expr) {
    return expr->kind == ZF_X_SLICE && expr->a->kind == ZF_X_TABLE && expr->proved && is_bound(expr->b) && is_bound(expr->c);
}

// Whether an expression is the string of a column's row, and *column its number, which is UINT32_MAX before there is one.
static bool is_string(const zf_query *query, const zf_expr *expr, uint32_t *column) {
    uint32_t number = zf_query_column_of(query, expr);
    if (number == UINT32_MAX || expr->type.kind != ZF_K_STRING || expr->type.nullable ||
        (*column != UINT32_MAX && *column != number))
        return false;
    *column = number;
    return true;
}

static bool compares(const zf_query *query, const zf_expr *a, const zf_expr *b, uint32_t *column) {
    if (is_text(b)) return is_string(query, a, column);
    a = zf_expr_uncast(a);
    return zf_query_is_fixed(b) && a->kind == ZF_X_LEN && is_string(query, a->a, column);
}

// Whether a condition compares a column's strings with texts, or their lengths with numbers, and asks nothing else of a row.
static bool asks_string(const zf_query *query, const zf_expr *expr, uint32_t *column) {
    if (expr->kind == ZF_X_UNARY && expr->op == ZF_OP_NOT) return asks_string(query, expr->a, column);
    if (expr->kind != ZF_X_BINARY) return false;
    if (expr->op == ZF_OP_OROR || expr->op == ZF_OP_ANDAND)
        return asks_string(query, expr->a, column) && asks_string(query, expr->b, column);
    bool orders = expr->op >= ZF_OP_EQ && expr->op <= ZF_OP_GE;
    return orders && (compares(query, expr->a, expr->b, column) || compares(query, expr->b, expr->a, column));
}

// The column of whose strings a term asks something, and nothing else of a row; UINT32_MAX: there is none.
static uint32_t column_of(const zf_query *query, const zf_expr *term) {
    uint32_t column = UINT32_MAX;
    return asks_string(query, term, &column) ? column : UINT32_MAX;
}

static bool is_of(const zf_query *query, const zf_expr *term, uint32_t column) { return column_of(query, term) == column; }

bool zf_codegen_query_by_entries(const zf_query *query, uint32_t column, const zf_plan *plan) {
    return zf_query_rows_together(query) && zf_query_fused_has_entries(plan) && zf_query_has_term(query, is_of, column);
}

// ---- Bits of entries ------------------------------------------------------------------------------------------

typedef struct entries {
    LLVMValueRef v_fit;  ///< i1: a bit for each is there
    LLVMValueRef v_word; ///< slot (i32): those of 32 entries, from 32 times the lane's number on
} entries;

// The term with an entry in the place of the column's string.
static LLVMValueRef evaluate_entry(zf_query_build *b, zf_query_column_build *column, zf_expr *term, LLVMValueRef v_entry) {
    zf_query_others saved;
    LLVMValueRef v_near = zf_cg_i64(b->cg, 0); // of no row
    zf_query_others_begin(b, &saved, &v_near, 1);
    column->values[0] = zf_query_fused_entry(&column->of, v_entry);
    column->depth = b->depth;
    LLVMValueRef v = zf_cg_expr(b->cg, &b->frames[0], term).v;
    zf_query_others_end(b, &saved);
    return v;
}

// Before the steps of a stretch.
static entries evaluate_entries(zf_query_build *b, zf_query_column_build *column, zf_expr *term) {
    zf_cg *cg = b->cg;
    LLVMBasicBlockRef bb_here = zf_cg_here(cg);
    zf_cg_enter(cg, b->steps->bb_before);
    LLVMValueRef v_guard = cg->v_guard, v_lanes = zf_cg_i64(cg, ZF_QUERY_LANES), v_one = zf_cg_i64(cg, 1);
    cg->v_guard = NULL;
    entries e = {.v_word = zf_cg_alloca(cg, cg->ty_i32, "entries")};
    LLVMValueRef v_count = zf_query_fused_entries(&column->of);
    e.v_fit = zf_cg_icmp(cg, LLVMIntULE, v_count, zf_cg_i64(cg, MOST));
    v_count = zf_cg_select(cg, e.v_fit, v_count, zf_cg_i64(cg, 0));
    LLVMValueRef v_words = zf_cg_add(cg, v_count, zf_cg_sub(cg, v_lanes, v_one));
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), e.v_word);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), LLVMBuildUDiv(cg->builder, v_words, v_lanes, ""), "entries");
    LLVMValueRef v_entry = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_lanes), zf_cg_wide(cg, b->v_lane));
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, v_entry, v_count);
    LLVMValueRef v = evaluate_entry(b, column, term, zf_cg_select(cg, v_is, v_entry, zf_cg_i64(cg, 0)));
    LLVMValueRef v_set = zf_simt_ballot(&b->lower, zf_cg_and(cg, v, v_is));
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_low_half(cg, loop.v_i), b->v_lane);
    LLVMBuildStore(cg->builder, zf_cg_select(cg, v_mine, v_set, zf_cg_get(cg, e.v_word)), e.v_word);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    cg->v_guard = v_guard;
    b->steps->bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, bb_here);
    return e;
}

// ---- Rows -----------------------------------------------------------------------------------------------------

static LLVMValueRef test_bit(zf_query_build *b, const entries *e, LLVMValueRef v_code) {
    zf_cg *cg = b->cg;
    LLVMValueRef v = zf_cg_low_half(cg, v_code), v_bit = zf_cg_and(cg, v, zf_cg_i32(cg, 31));
    LLVMValueRef v_word =
        zf_simt_shuffle(&b->lower, zf_cg_get(cg, e->v_word), LLVMBuildLShr(cg->builder, v, zf_cg_i32(cg, 5), ""));
    return zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_word, v_bit, ""), cg->ty_i1, false);
}

static void compare_strings(zf_query_build *b, zf_query_column_build *column, zf_expr *term, const LLVMValueRef *v_codes,
                            const LLVMValueRef *v_masks, LLVMValueRef *v) {
    zf_query_saved saved;
    zf_query_columns_save(b, &saved);
    for (unsigned k = 0; k < b->count; k++) column->values[k] = zf_query_fused_entry(&column->of, v_codes[k]);
    column->depth = b->depth;
    for (unsigned k = 0; k < b->count; k++) {
        b->cg->v_guard = v_masks[k];
        v[k] = zf_cg_expr(b->cg, &b->frames[k], term).v;
    }
    b->cg->v_guard = NULL;
    zf_query_columns_restore(b, &saved);
}

bool zf_query_entries_term(zf_query_build *b, zf_expr *term, const LLVMValueRef *v_masks, LLVMValueRef *v) {
    zf_cg *cg = b->cg;
    uint32_t number = b->steps != NULL && b->apart == 0 ? column_of(b->query, term) : UINT32_MAX;
    if (number == UINT32_MAX || !b->columns[number].fused || !zf_query_fused_has_entries(b->sources[number].plan)) return false;
    zf_query_column_build *column = &b->columns[number];
    LLVMValueRef v_codes[ZF_QUERY_TOGETHER], v_compared[ZF_QUERY_TOGETHER];
    entries e = evaluate_entries(b, column, term);
    zf_query_pull_codes(b, column, v_codes);
    LLVMBasicBlockRef bb_bits = zf_cg_block(cg, "bits_of_entries"), bb_strings = zf_cg_block(cg, "strings"),
                      bb_end = zf_cg_block(cg, "entries_end");
    zf_cg_cond_br(cg, e.v_fit, bb_bits, bb_strings);
    zf_cg_enter(cg, bb_bits);
    for (unsigned k = 0; k < b->count; k++) v[k] = test_bit(b, &e, v_codes[k]);
    bb_bits = zf_cg_here(cg);
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_strings);
    compare_strings(b, column, term, v_codes, v_masks, v_compared);
    bb_strings = zf_cg_here(cg);
    zf_cg_br(cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, bb_strings);
    zf_cg_enter(cg, bb_end);
    for (unsigned k = 0; k < b->count; k++) v[k] = zf_cg_phi2(cg, cg->ty_i1, v[k], bb_bits, v_compared[k], bb_strings);
    return true;
}

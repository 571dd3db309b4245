// When two expressions always have one value. Used to see that two reductions are one (a function called twice), and
// that two places of an index cancel out.
#include <string.h>

#include "frontend/match/match.h"

enum { SAME_BUDGET = 2000, SAME_BINDERS = 16 };

typedef struct sameness {
    uint32_t budget;
    struct {
        const zf_local *a, *b;
    } binders[SAME_BINDERS]; ///< bound inside, in pairs
    uint32_t binder_count;
} sameness;

static bool same(sameness *state, zf_expr *a, zf_expr *b);

static bool same_local(const sameness *state, const zf_local *a, const zf_local *b) {
    for (uint32_t k = state->binder_count; k-- > 0;) {
        if (state->binders[k].a == a || state->binders[k].b == b) return state->binders[k].a == a && state->binders[k].b == b;
    }
    // The value of a variable depends on when it is read, so no variable equals itself.
    return a == b && a->kind != ZF_L_VAR && a->kind != ZF_L_ARRAY && a->kind != ZF_L_GROWING;
}

static bool same_reduce(sameness *state, const zf_reduce *a, const zf_reduce *b) {
    if (a->op != b->op || a->binder_count != b->binder_count) return false;
    uint32_t before = state->binder_count;
    bool equal = true;
    for (uint32_t k = 0; equal && k < a->binder_count; k++) {
        const zf_binder *x = &a->binders[k], *y = &b->binders[k];
        equal = x->inclusive == y->inclusive && same(state, x->lo, y->lo) && same(state, x->hi, y->hi) &&
                state->binder_count < SAME_BINDERS;
        if (!equal) break;
        state->binders[state->binder_count].a = x->local;
        state->binders[state->binder_count++].b = y->local;
    }
    equal = equal && same(state, a->term, b->term);
    state->binder_count = before;
    return equal;
}

static bool same(sameness *state, zf_expr *a, zf_expr *b) {
    if (a == NULL || b == NULL) return a == b;
    if (state->budget == 0) return false;
    state->budget--;
    // One immutable local is itself, even where its value came from a variable that has changed since.
    if (a->kind == ZF_X_LOCAL && b->kind == ZF_X_LOCAL && same_local(state, a->local, b->local)) return true;
    a = zf_match_view(a);
    b = zf_match_view(b);
    if (a->effect || b->effect || a->kind != b->kind || a->is_seq != b->is_seq || !zf_type_equal(a->type, b->type)) return false;
    switch (a->kind) {
    case ZF_X_CONST: return a->bits == b->bits;
    case ZF_X_NULL:
    case ZF_X_OUT:
    case ZF_X_INPUT: return true;
    case ZF_X_LOCAL: return same_local(state, a->local, b->local);
    case ZF_X_PARAM:
    case ZF_X_STREAM: return a->port == b->port;
    case ZF_X_TABLE: return a->table == b->table;
    case ZF_X_UNARY: return a->op == b->op && same(state, a->a, b->a);
    case ZF_X_BINARY: return a->op == b->op && same(state, a->a, b->a) && same(state, a->b, b->b);
    case ZF_X_PRIM: return a->prim == b->prim && same(state, a->a, b->a) && same(state, a->b, b->b);
    case ZF_X_BITS: return a->msb == b->msb && same(state, a->a, b->a) && same(state, a->b, b->b) && same(state, a->c, b->c);
    case ZF_X_COND:
    case ZF_X_CAST:
    case ZF_X_SOME:
    case ZF_X_IS_NULL:
    case ZF_X_VALUE:
    case ZF_X_INDEX:
    case ZF_X_LEN:
    case ZF_X_SLICE: return same(state, a->a, b->a) && same(state, a->b, b->b) && same(state, a->c, b->c);
    case ZF_X_REDUCE: return same_reduce(state, a->reduce, b->reduce);
    // These change from place to place, or contain statements.
    case ZF_X_STATE:
    case ZF_X_CALL:
    case ZF_X_BIT_LEN:
    case ZF_X_OUT_POS:
    case ZF_X_CURSOR:
    case ZF_X_INTERN:
    case ZF_X_MINMAX:
    case ZF_X_PARTS:
    case ZF_X_CHUNKS: return a == b && a->kind == ZF_X_CALL;
    }
    return false;
}

bool zf_match_same(zf_expr *a, zf_expr *b) {
    sameness state = {.budget = SAME_BUDGET};
    return same(&state, a, b);
}

bool zf_match_same_reduce(const zf_reduce *a, const zf_reduce *b) {
    sameness state = {.budget = SAME_BUDGET};
    return same_reduce(&state, a, b);
}

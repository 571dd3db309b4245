// The form "a sum over k of f(A(a, k), B(b, k))" of a query of pairs: each input that the term reads is read at a place of its
// own of a or of b, plus k, or plus k modulo a number of a or of b.
#include "codegen/query/query_square.h"
#include "frontend/match/match.h"

// Values on which an expression may depend, beside params.
enum { ON_A = 1, ON_B = 2, ON_K = 4, ON_OTHERS = 8, DEPTH = 200, WORK = 20000 };

typedef struct finding {
    const zf_query *query;
    const zf_local *k;
    zf_query_square *out;
    unsigned depth, work; ///< of the walk: small trees alone are looked at
} finding;

static unsigned depends(finding *f, const zf_expr *expr);

static unsigned local_depends(finding *f, const zf_local *local) {
    if (local == f->query->pairs[0].local) return ON_A;
    if (local == f->query->pairs[1].local) return ON_B;
    if (local == f->k) return ON_K;
    bool pure = (local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->init != NULL && !local->is_seq;
    return pure ? depends(f, local->init) : ON_OTHERS;
}

static unsigned depends_within(finding *f, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM:
    case ZF_X_STREAM: return 0;
    case ZF_X_LOCAL: return local_depends(f, expr->local);
    case ZF_X_UNARY:
    case ZF_X_BINARY:
    case ZF_X_COND:
    case ZF_X_CAST:
    case ZF_X_PRIM:
    case ZF_X_INDEX:
    case ZF_X_LEN: return depends(f, expr->a) | depends(f, expr->b) | depends(f, expr->c);
    case ZF_X_CALL: return expr->call->body == NULL ? depends(f, expr->call->value) : ON_OTHERS;
    default: return ON_OTHERS;
    }
}

// Too deep a tree depends on others, and is no form.
static unsigned depends(finding *f, const zf_expr *expr) {
    if (expr == NULL) return 0;
    if (expr->effect || f->depth == DEPTH || ++f->work > WORK) return ON_OTHERS;
    f->depth++;
    unsigned on = depends_within(f, expr);
    f->depth--;
    return on;
}

// ---- Places ---------------------------------------------------------------------------------------------------

static bool is_wide(const zf_expr *expr) { return expr->type.kind == ZF_K_I64 || expr->type.kind == ZF_K_U64; }

static const zf_expr *seen_through(const zf_expr *expr) {
    for (;;) {
        bool named = expr->kind == ZF_X_LOCAL && (expr->local->kind == ZF_L_LET || expr->local->kind == ZF_L_FORMAL);
        if (expr->kind == ZF_X_CAST && is_wide(expr) && is_wide(expr->a))
            expr = expr->a;
        else if (named && expr->local->init != NULL)
            expr = expr->local->init;
        else
            return expr;
    }
}

static bool is_k(const finding *f, const zf_expr *expr) {
    expr = seen_through(expr);
    return expr->kind == ZF_X_LOCAL && expr->local == f->k;
}

// Whether an index is a number without k, plus k or k % *wrap.
static bool adds_k(finding *f, const zf_expr *index, const zf_expr **wrap) {
    for (;;) {
        index = seen_through(index);
        if (is_k(f, index)) return true;
        if (index->kind != ZF_X_BINARY || !is_wide(index)) return false;
        bool left = (depends(f, index->a) & ON_K) != 0, right = (depends(f, index->b) & ON_K) != 0;
        if (index->op == ZF_OP_REM && is_k(f, index->a) && !right && index->b->range.lo >= 0) {
            *wrap = index->b;
            return true;
        }
        if (left == right || (index->op != ZF_OP_ADD && (index->op != ZF_OP_SUB || right))) return false;
        index = left ? index->a : index->b;
    }
}

// Notes an access as a slice; false: it is none.
static bool add_slice(finding *f, const zf_expr *access) {
    zf_query_square *out = f->out;
    bool input = access->a->kind == ZF_X_STREAM && access->a->port->slot < f->query->input_count;
    if (!input || access->a->port->type.kind == ZF_K_BOOL) return false;
    unsigned on = depends(f, access->b);
    zf_query_slice slice = {.access = access, .of_second = (on & ON_B) != 0};
    if ((on & ON_K) == 0 || (on & ON_OTHERS) != 0 || (on & ON_A && on & ON_B) || !adds_k(f, access->b, &slice.wrap)) return false;
    for (uint32_t s = 0; s < out->count; s++)
        if (zf_match_same((zf_expr *)(uintptr_t)out->slices[s].access, (zf_expr *)(uintptr_t)access)) return true;
    if (out->count == ZF_QUERY_SLICES) return false;
    out->slices[out->count++] = slice;
    return true;
}

// ---- Terms ----------------------------------------------------------------------------------------------------

static bool simple(finding *f, const zf_expr *expr);

// The same of what may not be evaluated: it has no slices of its own, whose places need not exist.
static bool simple_lazily(finding *f, const zf_expr *expr) {
    uint32_t before = f->out->count;
    return simple(f, expr) && f->out->count == before;
}

// Whether nothing in a term can fail but the accesses that are slices, which it notes.
static bool simple(finding *f, const zf_expr *expr) {
    if (expr == NULL) return true;
    if (expr->effect || f->depth == DEPTH || ++f->work > WORK) return false;
    bool named = false, good = true;
    f->depth++;
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM: break;
    case ZF_X_LOCAL:
        named = expr->local != f->query->pairs[0].local && expr->local != f->query->pairs[1].local && expr->local != f->k;
        good = !named || ((local_depends(f, expr->local) & ON_OTHERS) == 0 && simple(f, expr->local->init));
        break;
    case ZF_X_BINARY:
        if (expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM)
            good = zf_kind_is_float(expr->type.kind) || (expr->b->kind == ZF_X_CONST && expr->b->range.lo > 0);
        good = good && simple(f, expr->a);
        if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR)
            good = good && simple_lazily(f, expr->b);
        else
            good = good && simple(f, expr->b);
        break;
    case ZF_X_UNARY:
    case ZF_X_CAST: good = simple(f, expr->a) && simple(f, expr->b) && simple(f, expr->c); break;
    case ZF_X_COND: good = simple(f, expr->a) && simple_lazily(f, expr->b) && simple_lazily(f, expr->c); break;
    case ZF_X_PRIM: good = expr->prim != ZF_P_NTH_BIT && simple(f, expr->a) && simple(f, expr->b); break;
    case ZF_X_CALL:
        good = expr->call->body == NULL && simple(f, expr->call->value);
        for (uint32_t k = 0; good && k < expr->call->formal_count; k++) good = simple(f, expr->call->formals[k]->init);
        break;
    case ZF_X_INDEX: good = add_slice(f, expr); break;
    default: good = false;
    }
    f->depth--;
    return good;
}

static bool is_sum(const finding *f, const zf_expr *expr) {
    const zf_reduce *reduce = expr->reduce;
    bool integers = expr->type.kind == ZF_K_I64 || expr->type.kind == ZF_K_U64;
    bool whole = reduce->binder_count == 1 && reduce->binders[0].lo->kind == ZF_X_CONST && reduce->binders[0].lo->bits == 0;
    return f->query->pairs != NULL && reduce->op == ZF_RED_SUM && integers && whole && !expr->effect;
}

static bool fits(finding *f, const zf_expr *expr) {
    const zf_binder *binder = &expr->reduce->binders[0];
    if (!is_sum(f, expr)) return false;
    f->k = binder->local;
    f->out->count = 0;
    if (depends(f, binder->hi) & (ON_K | ON_OTHERS) || !simple(f, expr->reduce->term) || f->out->count == 0) return false;
    f->out->sum = expr;
    return true;
}

// ---- Statements -----------------------------------------------------------------------------------------------

// Looks where an expression is evaluated whatever its data are.
static bool find(finding *f, const zf_expr *expr) {
    if (expr == NULL || f->depth == DEPTH || ++f->work > WORK) return false;
    bool found = false;
    f->depth++;
    switch (expr->kind) {
    case ZF_X_REDUCE: found = fits(f, expr); break;
    case ZF_X_BINARY: {
        bool lazy = expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR;
        found = find(f, expr->a) || (!lazy && find(f, expr->b));
        break;
    }
    case ZF_X_COND: found = find(f, expr->a); break;
    case ZF_X_UNARY:
    case ZF_X_CAST:
    case ZF_X_PRIM:
    case ZF_X_INDEX: found = find(f, expr->a) || find(f, expr->b); break;
    case ZF_X_CALL:
        for (uint32_t k = 0; !found && k < expr->call->formal_count; k++) found = find(f, expr->call->formals[k]->init);
        found = found || (expr->call->body == NULL && find(f, expr->call->value));
        break;
    default: break;
    }
    f->depth--;
    return found;
}

static bool find_in(finding *f, const zf_stmt *stmt) {
    switch (stmt->kind) {
    case ZF_S_LET:
    case ZF_S_VAR: return find(f, stmt->local->init);
    case ZF_S_IF:
    case ZF_S_REQUIRE: return find(f, stmt->value);
    case ZF_S_RESULT:
    case ZF_S_SELECT:
        for (uint32_t k = 0; k < stmt->value_count; k++)
            if (find(f, stmt->values[k])) return true;
        return stmt->kind == ZF_S_RESULT && find(f, stmt->value);
    default: return false;
    }
}

zf_query_square zf_query_square_of(const zf_query *query) {
    zf_query_square square = {0};
    finding f = {.query = query, .out = &square};
    const zf_body *body = &query->inst->decode;
    if (query->pairs == NULL || body->returns_inside) return square;
    for (const zf_stmt *stmt = body->stmts; stmt != NULL; stmt = stmt->next)
        if (find_in(&f, stmt)) return square;
    return (zf_query_square){0};
}

bool zf_codegen_query_squares(const zf_query *query) { return zf_query_square_of(query).sum != NULL; }

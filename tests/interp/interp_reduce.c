// Reductions: by their meaning, a loop over the binders; where that would be quadratic (a term that depends on its
// binder alone, asked for again and again with a growing end), the prefixes are kept.
#include <string.h>

#include "tests/interp/interp_internal.h"

enum { MEMO_STEP = 1 << 22 }; // a jump beyond this is evaluated directly: its prefixes may not be worth their memory

bool interp_binder_bounds(interp_env *env, const zf_binder *binder, uint64_t *lo, uint64_t *count) {
    *lo = interp_eval_bits(env, binder->lo);
    uint64_t hi = interp_eval_bits(env, binder->hi);
    *count = hi < *lo ? 0 : hi - *lo;
    if (!binder->inclusive || hi < *lo) return true;
    *count += 1;
    return *count != 0; // 0..=2^64 - 1
}

// ---- One step -------------------------------------------------------------------------------------------------

static uint64_t combine(const zf_reduce *reduce, zf_kind kind, uint64_t a, uint64_t b) {
    uint64_t out = 0;
    switch (reduce->op) {
    case ZF_RED_SUM: interp_value_binary(ZF_OP_ADD, kind, a, b, &out); break;
    case ZF_RED_XOR: out = a ^ b; break;
    case ZF_RED_MIN: interp_value_prim(ZF_P_MIN, kind, a, b, &out); break;
    case ZF_RED_MAX: interp_value_prim(ZF_P_MAX, kind, a, b, &out); break;
    case ZF_RED_ANY: out = a || b; break;
    case ZF_RED_ALL: out = a && b; break;
    }
    return out;
}

static uint64_t empty_value(const zf_reduce *reduce) { return reduce->op == ZF_RED_ALL; }

// Combines a term with those before it. The first term of min and max has none before it.
static uint64_t join(const zf_reduce *reduce, zf_kind kind, uint64_t before, uint64_t term, bool is_first) {
    if (is_first && (reduce->op == ZF_RED_MIN || reduce->op == ZF_RED_MAX)) return term;
    return combine(reduce, kind, before, term);
}

static uint64_t term_at(interp_env *env, const zf_reduce *reduce, uint64_t k) {
    interp_env_slot(env, reduce->binders[0].local)->value = (interp_value){.bits = k};
    return interp_eval_bits(env, reduce->term);
}

// ---- Directly -------------------------------------------------------------------------------------------------

static void step_work(interp_env *env, const zf_expr *expr) {
    if (!env->encoding && env->inst->pattern == ZF_NON_PARALLEL && expr->reduce->form == ZF_R_LOOP)
        interp_env_work(env, 1, expr->span);
}

static uint64_t direct(interp_env *env, const zf_expr *expr) {
    const zf_reduce *reduce = expr->reduce;
    zf_kind kind = expr->type.kind;
    uint64_t total = empty_value(reduce), lo, count;
    bool is_first = true, bounded = interp_binder_bounds(env, &reduce->binders[0], &lo, &count);
    for (uint64_t k = 0; !bounded || k < count; k++) {
        step_work(env, expr);
        interp_env_slot(env, reduce->binders[0].local)->value = (interp_value){.bits = lo + k};
        if (reduce->binder_count == 1) {
            total = join(reduce, kind, total, interp_eval_bits(env, reduce->term), is_first);
            is_first = false;
            continue;
        }
        uint64_t from, inner;
        bool inner_bounded = interp_binder_bounds(env, &reduce->binders[1], &from, &inner);
        for (uint64_t j = 0; !inner_bounded || j < inner; j++) {
            step_work(env, expr);
            interp_env_slot(env, reduce->binders[1].local)->value = (interp_value){.bits = from + j};
            total = join(reduce, kind, total, interp_eval_bits(env, reduce->term), is_first);
            is_first = false;
        }
    }
    return total;
}

// ---- Dependencies of a term -----------------------------------------------------------------------------------

typedef struct closing {
    const zf_local *known[64]; // bound inside the term
    uint32_t known_count;
    bool chunk; // in an emit region: what the chunk holds stands still
    bool closed;
} closing;

static void close_expr(closing *c, const zf_expr *expr);
static void close_stmts(closing *c, const zf_stmt *stmt);

static void know(closing *c, const zf_local *local) {
    if (c->known_count == 64)
        c->closed = false;
    else
        c->known[c->known_count++] = local;
}

static void close_local(closing *c, const zf_local *local) {
    for (uint32_t k = 0; k < c->known_count; k++)
        if (c->known[k] == local) return;
    switch (local->kind) {
    case ZF_L_LET:
    case ZF_L_FORMAL:
        // Outside of a region it was computed once, but may hold what varies; inside of one its own definition counts.
        if (local->init)
            close_expr(c, local->init);
        else
            c->closed = false;
        break;
    case ZF_L_CHUNK: break;
    default: c->closed = false; break;
    }
}

static void close_reduce(closing *c, const zf_reduce *reduce) {
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        close_expr(c, reduce->binders[k].lo);
        close_expr(c, reduce->binders[k].hi);
        know(c, reduce->binders[k].local);
    }
    close_expr(c, reduce->term);
}

static void close_call(closing *c, const zf_call *call) {
    for (uint32_t k = 0; k < call->formal_count; k++) {
        close_expr(c, call->formals[k]->init);
        know(c, call->formals[k]);
    }
    close_stmts(c, call->body);
    close_expr(c, call->value);
}

static void close_stmts(closing *c, const zf_stmt *stmt) {
    for (; stmt; stmt = stmt->next) {
        if (stmt->local) {
            close_expr(c, stmt->local->init);
            know(c, stmt->local);
        }
        if (stmt->binder.local) {
            close_expr(c, stmt->binder.lo);
            close_expr(c, stmt->binder.hi);
            know(c, stmt->binder.local);
        }
        close_expr(c, stmt->place);
        close_expr(c, stmt->value);
        close_expr(c, stmt->count);
        close_stmts(c, stmt->body);
        close_stmts(c, stmt->else_part);
    }
}

static void close_expr(closing *c, const zf_expr *expr) {
    if (!expr || !c->closed) return;
    if (expr->kind == ZF_X_LOCAL) close_local(c, expr->local);
    if (expr->kind == ZF_X_STATE || expr->kind == ZF_X_INTERN) c->closed = false;
    if (expr->kind == ZF_X_CURSOR && !c->chunk) c->closed = false;
    close_expr(c, expr->a);
    close_expr(c, expr->b);
    close_expr(c, expr->c);
    if (expr->reduce) close_reduce(c, expr->reduce);
    if (expr->call) close_call(c, expr->call);
}

static bool is_closed(const interp_env *env, const zf_reduce *reduce) {
    closing c = {.closed = true, .chunk = env->inst->pattern == ZF_NON_PARALLEL};
    know(&c, reduce->binders[0].local);
    close_expr(&c, reduce->term);
    return c.closed;
}

// ---- Kept prefixes --------------------------------------------------------------------------------------------

interp_memo *interp_memo_of(interp_env *env, const zf_expr *expr) {
    const zf_reduce *reduce = expr->reduce;
    interp_memo *memo = env->memos;
    while (memo && memo->reduce != reduce) memo = memo->next;
    if (!memo) {
        memo = ZF_NEW(env->in->arena, interp_memo);
        *memo = (interp_memo){.reduce = reduce, .serial = env->emit_serial, .next = env->memos};
        memo->closed = reduce->binder_count == 1 && is_closed(env, reduce);
        env->memos = memo;
    }
    if (memo->serial != env->emit_serial) {
        memo->serial = env->emit_serial;
        memo->terms = memo->bad_count = 0;
    }
    return memo;
}

typedef struct term_call {
    interp_env *env;
    const zf_reduce *reduce;
    uint64_t k, value;
} term_call;

static void evaluate_term(void *argument) {
    term_call *call = argument;
    call->value = term_at(call->env, call->reduce, call->k);
}

static void remember_bad(interp_env *env, interp_memo *memo) {
    interp *in = env->in;
    if (memo->bad_count == memo->bad_capacity) {
        uint64_t capacity = memo->bad_capacity ? 2 * memo->bad_capacity : 8;
        void *fresh = zf_arena_alloc(in->arena, (size_t)capacity * sizeof *memo->bad);
        if (memo->bad_count) memcpy(fresh, memo->bad, (size_t)memo->bad_count * sizeof *memo->bad);
        memo->bad = fresh;
        memo->bad_capacity = capacity;
    }
    interp_violation *copy = ZF_NEW(in->arena, interp_violation);
    *copy = in->violation;
    memo->bad[memo->bad_count].at = memo->terms;
    memo->bad[memo->bad_count++].violation = copy;
}

// Whether any result contains term k: the first ones of a segment may be left out, and the binder may begin above 0.
static bool takes_part(const zf_reduce *reduce, uint64_t k) {
    zf_interval range = reduce->binders[0].local->range;
    if (k < range.lo || k > range.hi) return false;
    return reduce->form != ZF_R_SEGMENTED || reduce->segment == 0 || k % reduce->segment >= reduce->skip;
}

void interp_memo_extend(interp_env *env, interp_memo *memo, const zf_expr *expr, uint64_t terms) {
    interp *in = env->in;
    const zf_reduce *reduce = memo->reduce;
    if (terms + 1 > memo->capacity) {
        uint64_t capacity = memo->capacity ? 2 * memo->capacity : 64;
        while (capacity < terms + 1) capacity *= 2;
        uint64_t *after = ZF_NEW_ARRAY(in->arena, uint64_t, (size_t)capacity);
        if (memo->capacity) memcpy(after, memo->after, (size_t)(memo->terms + 1) * sizeof *after);
        memo->after = after;
        memo->capacity = capacity;
    }
    interp_value saved = interp_env_slot(env, reduce->binders[0].local)->value;
    if (memo->terms == 0) memo->after[0] = empty_value(reduce);
    for (; memo->terms < terms; memo->terms++) {
        uint64_t k = memo->terms;
        term_call call = {.env = env, .reduce = reduce, .k = k};
        if (!takes_part(reduce, k))
            memo->after[k + 1] = memo->after[k];
        else if (!interp_try(in, evaluate_term, &call)) {
            if (in->refused) interp_refuse(in, in->refused);
            remember_bad(env, memo);
            memo->after[k + 1] = memo->after[k];
        } else
            memo->after[k + 1] = join(reduce, expr->type.kind, memo->after[k], call.value, k == 0);
    }
    interp_env_slot(env, reduce->binders[0].local)->value = saved;
}

static const interp_violation *first_bad(const interp_memo *memo, uint64_t from, uint64_t to) {
    uint64_t lo = 0, hi = memo->bad_count;
    while (lo < hi) {
        uint64_t middle = lo + (hi - lo) / 2;
        if (memo->bad[middle].at < from)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < memo->bad_count && memo->bad[lo].at < to ? memo->bad[lo].violation : NULL;
}

// Whether a difference of prefixes is the reduction of what lies between.
static bool has_difference(const zf_reduce *reduce, zf_kind kind) {
    return (reduce->op == ZF_RED_SUM && !zf_kind_is_float(kind)) || reduce->op == ZF_RED_XOR;
}

interp_value interp_eval_reduce(interp_env *env, const zf_expr *expr) {
    const zf_reduce *reduce = expr->reduce;
    bool scan = reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED || reduce->form == ZF_R_PREFIX;
    interp_memo *memo = scan && reduce->binder_count == 1 ? interp_memo_of(env, expr) : NULL;
    if (!memo || !memo->closed) return (interp_value){.bits = direct(env, expr)};
    uint64_t lo, count;
    bool bounded = interp_binder_bounds(env, &reduce->binders[0], &lo, &count);
    if (bounded && count == 0) return (interp_value){.bits = empty_value(reduce)};
    bool difference = has_difference(reduce, expr->type.kind);
    uint64_t end = lo + count;
    if (!bounded || end < lo || end > memo->terms + MEMO_STEP || (lo != 0 && !difference) || !takes_part(reduce, lo) ||
        !takes_part(reduce, end - 1))
        return (interp_value){.bits = direct(env, expr)};
    interp_memo_extend(env, memo, expr, end);
    const interp_violation *met = first_bad(memo, lo, end);
    if (met) {
        interp_violation here = *met;
        here.position = env->position;
        interp_raise(env->in, &here);
    }
    uint64_t total = memo->after[end];
    if (lo != 0 && reduce->op == ZF_RED_XOR)
        total ^= memo->after[lo];
    else if (lo != 0)
        interp_value_binary(ZF_OP_SUB, expr->type.kind, total, memo->after[lo], &total);
    return (interp_value){.bits = total};
}

// Terms that are computed apart from the place where they are written. A reduction that becomes a scan or a difference of
// prefix sums has its terms computed for every position, whatever condition stands before it and whichever element uses it.
// Therefore facts that only hold where the reduction stands must not prove anything in its terms. The terms are checked with
// facts that hold for every element ("universal"), and may use a value from outside only if that value is safe to compute
// there.
#include "frontend/check/checker.h"

enum { UNROLL_TRIPS = 64, PLAIN_STEPS = 2000 };

// ---- Where terms stay where they are --------------------------------------------------------------------------

static zf_int128 trips_of(const zf_binder *binder) {
    zf_int128 trips = binder->hi->range.hi - binder->lo->range.lo + (binder->inclusive ? 1 : 0);
    return trips < 0 ? 0 : trips;
}

static bool is_moving_index(const zf_checker *ck, const zf_expr *expr) {
    if (expr->kind != ZF_X_LOCAL) return false;
    zf_local_kind kind = expr->local->kind;
    return kind == ZF_L_DOMAIN_I || kind == ZF_L_DOMAIN_G || kind == ZF_L_DOMAIN_J || (kind == ZF_L_BINDER && ck->in_region);
}

/// 0, d / n * n, or one more than that: where a scan over d may begin.
static bool is_scan_start(const zf_expr *lo, const zf_expr *d) {
    lo = zf_expr_uncast(lo);
    if (lo->kind == ZF_X_CONST) return lo->bits == 0;
    if (lo->kind == ZF_X_BINARY && lo->op == ZF_OP_ADD) lo = zf_expr_uncast(lo->a->kind == ZF_X_CONST ? lo->b : lo->a);
    if (lo->kind == ZF_X_LOCAL && lo->local->kind == ZF_L_LET && lo->local->init != NULL) lo = zf_expr_uncast(lo->local->init);
    if (lo->kind != ZF_X_BINARY || lo->op != ZF_OP_MUL) return false;
    const zf_expr *quotient = zf_expr_uncast(lo->a->kind == ZF_X_CONST ? lo->b : lo->a);
    return quotient->kind == ZF_X_BINARY && quotient->op == ZF_OP_DIV && zf_expr_same_value(quotient->a, d);
}

zf_hoist zf_ck_hoist_begin(zf_checker *ck, const zf_reduce *reduce, uint32_t first_local) {
    zf_hoist saved = {ck->hoisting, ck->hoist_first};
    bool by_element = ck->body == ZF_IN_GROUPS || ck->body == ZF_IN_SIZE || ck->body == ZF_IN_ELEMENT ||
                      ck->body == ZF_IN_LANES || ck->body == ZF_IN_STATE;
    if ((!by_element && !ck->in_region) || ck->query != NULL) return saved; // in queries a reduction is a loop where it stands
    zf_int128 trips = 1;
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        if (zf_is_poison(reduce->binders[k].lo) || zf_is_poison(reduce->binders[k].hi)) return saved;
        trips = trips > UNROLL_TRIPS ? trips : trips * trips_of(&reduce->binders[k]);
    }
    const zf_binder *binder = &reduce->binders[0];
    const zf_expr *d = zf_expr_uncast(binder->hi);
    bool moving = reduce->binder_count == 1 && is_moving_index(ck, d);
    if (trips <= UNROLL_TRIPS && !moving) return saved; // unrolled where it stands

    ck->env.facts = ck->universal;
    ck->hoisting = true;
    ck->hoist_first = first_local;
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        zf_local *local = reduce->binders[k].local;
        zf_interval lo = zf_plain_range(ck, reduce->binders[k].lo), hi = zf_plain_range(ck, reduce->binders[k].hi);
        zf_int128 last = reduce->binders[k].inclusive ? hi.hi : hi.hi - 1;
        local->range = (zf_interval){lo.lo, last < lo.lo ? lo.lo : last};
    }
    if (moving && is_scan_start(binder->lo, d)) { // a scan meets every k below d, of every d
        zf_bound bound = {.local = binder->local};
        zf_facts_relate(ck, zf_ck_use(ck, &bound, binder->local->span), binder->hi, !binder->inclusive);
    }
    return saved;
}

void zf_ck_hoist_end(zf_checker *ck, zf_hoist saved) {
    ck->hoisting = saved.hoisting;
    ck->hoist_first = saved.hoist_first;
}

// ---- Ranges without the facts of a place ----------------------------------------------------------------------

static zf_interval plain(const zf_checker *ck, const zf_expr *expr, int *steps);

static zf_interval plain_local(const zf_checker *ck, const zf_expr *expr, int *steps) {
    const zf_local *local = expr->local;
    if (local->kind == ZF_L_VAR) return zf_range_all(expr->type);
    bool from_place =
        (local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->id >= ck->universal_first && local->init != NULL;
    return from_place ? plain(ck, local->init, steps) : local->range;
}

static zf_interval plain_binary(const zf_checker *ck, const zf_expr *expr, int *steps) {
    zf_interval a = plain(ck, expr->a, steps), b = plain(ck, expr->b, steps);
    if (expr->type.kind == ZF_K_BOOL) {
        bool integers = zf_kind_is_integer(expr->a->type.kind) && !expr->a->type.nullable;
        return integers ? zf_range_exact(expr->op, a, b, 1) : (zf_interval){0, 1};
    }
    return zf_range_wrap(zf_range_exact(expr->op, a, b, zf_kind_bits(expr->type.kind)), expr->type.kind);
}

static zf_interval plain(const zf_checker *ck, const zf_expr *expr, int *steps) {
    zf_interval all = zf_range_all(expr->type);
    if (expr->is_seq || expr->type.nullable || (!zf_kind_is_integer(expr->type.kind) && expr->type.kind != ZF_K_BOOL)) return all;
    if (--*steps <= 0) return all;
    switch (expr->kind) {
    case ZF_X_CONST: return expr->range;
    case ZF_X_LOCAL: return plain_local(ck, expr, steps);
    case ZF_X_PARAM: return expr->port->range;
    case ZF_X_UNARY:
        if (expr->op == ZF_OP_NOT) return all;
        return expr->op == ZF_OP_BITNOT && zf_kind_is_unsigned(expr->type.kind)
                   ? all
                   : zf_range_wrap(
                         zf_range_exact(expr->op, plain(ck, expr->a, steps), (zf_interval){0, 0}, zf_kind_bits(expr->type.kind)),
                         expr->type.kind);
    case ZF_X_BINARY: return plain_binary(ck, expr, steps);
    case ZF_X_COND: return zf_interval_hull(plain(ck, expr->b, steps), plain(ck, expr->c, steps));
    case ZF_X_CAST:
        if (!zf_kind_is_integer(expr->a->type.kind) && expr->a->type.kind != ZF_K_BOOL) return all;
        return zf_range_wrap(plain(ck, expr->a, steps), expr->type.kind);
    case ZF_X_PRIM:
        if (!zf_kind_is_integer(expr->a->type.kind)) return all;
        return zf_range_prim(expr->prim, expr->a->type.kind, plain(ck, expr->a, steps),
                             expr->b == NULL ? all : plain(ck, expr->b, steps));
    case ZF_X_INDEX: return zf_element_range(ck, expr->a);
    case ZF_X_LEN:
        return expr->a->kind == ZF_X_SLICE || expr->a->kind == ZF_X_LOCAL ? (zf_interval){0, ZF_STREAM_LENGTH_MAX}
                                                                          : zf_length_range(ck, expr->a);
    case ZF_X_BITS: return zf_range_bits(plain(ck, expr->c, steps));
    case ZF_X_CALL: return expr->call->value == NULL || expr->call->returns_inside ? all : plain(ck, expr->call->value, steps);
    default: return all;
    }
}

zf_interval zf_plain_range(const zf_checker *ck, const zf_expr *expr) {
    int steps = PLAIN_STEPS;
    return plain(ck, expr, &steps);
}

/// Every range and every proof in an expression holds without the facts of its place.
static bool is_plain(zf_checker *ck, const zf_expr *expr, int *steps) {
    if (expr == NULL) return true;
    if (--*steps <= 0) return false;
    if (expr->kind == ZF_X_CALL && expr->call->body != NULL) return false;
    if (expr->kind == ZF_X_REDUCE) return false;
    bool counted = !expr->is_seq && !expr->type.nullable && (zf_kind_is_integer(expr->type.kind) || expr->type.kind == ZF_K_BOOL);
    if (counted && !zf_interval_within(plain(ck, expr, steps), expr->range)) return false;
    bool divides = expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM);
    if (expr->proved && !divides && expr->kind != ZF_X_BITS && expr->kind != ZF_X_BINARY) {
        if (expr->kind != ZF_X_INDEX || expr->b->range.hi >= zf_length_range(ck, expr->a).lo) return false;
    }
    if (expr->kind == ZF_X_LOCAL && expr->local->init != NULL && expr->local->id >= ck->universal_first &&
        !is_plain(ck, expr->local->init, steps))
        return false;
    if (expr->kind == ZF_X_CALL && !is_plain(ck, expr->call->value, steps)) return false;
    return is_plain(ck, expr->a, steps) && is_plain(ck, expr->b, steps) && is_plain(ck, expr->c, steps);
}

bool zf_ck_may_hoist(zf_checker *ck, const zf_local *local, zf_span span) {
    bool from_place = (local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->id >= ck->universal_first &&
                      local->id < ck->hoist_first;
    if (!from_place || local->init == NULL) return true;
    if (!((const zf_checked_local *)local)->conditional) return true;
    int steps = PLAIN_STEPS;
    if (is_plain(ck, local->init, &steps)) return true;
    zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_A_SCAN, span,
                                "a sum over all elements cannot use `%s`, which is safe only behind a condition", local->name);
    zf_ck_remark(ck, diag, local->span, "declared here");
    zf_ck_remark(ck, diag, (zf_span){0}, "the terms of a scan are always computed, whatever stands before it");
    zf_ck_hint(ck, diag, "give the param a range (`in a..=b`) instead of a condition, or move the condition into the sum");
    return false;
}

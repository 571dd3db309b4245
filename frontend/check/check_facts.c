// The facts that are known at a place: ranges of expressions, values that they do not have, and which of two is the smaller.
// Facts come from `require`, `if`, `?:`, `&&`, loop conditions and bounds. They are lists that share their tails, so a branch
// copies them for free.
#include "frontend/check/checker.h"

enum {
    FACT_LIMIT = 64,   // facts at a place; further ones push out the oldest
    STABLE_LIMIT = 48, // nodes of an expression that a fact may be about
};

// ---- Structural equality --------------------------------------------------------------------------------------

static bool same_children(const zf_expr *a, const zf_expr *b) {
    return zf_expr_same(a->a, b->a) && zf_expr_same(a->b, b->b) && zf_expr_same(a->c, b->c);
}

bool zf_expr_same(const zf_expr *a, const zf_expr *b) {
    if (a == b) return true;
    if (a == NULL || b == NULL) return false;
    if (a->kind != b->kind || a->is_seq != b->is_seq || !zf_type_equal(a->type, b->type)) return false;
    switch (a->kind) {
    case ZF_X_CONST: return a->bits == b->bits;
    case ZF_X_NULL:
    case ZF_X_OUT:
    case ZF_X_INPUT:
    case ZF_X_OUT_POS: return true;
    case ZF_X_LOCAL: return a->local == b->local;
    case ZF_X_PARAM:
    case ZF_X_STREAM: return a->port == b->port;
    case ZF_X_STATE: return a->state == b->state;
    case ZF_X_TABLE: return a->table == b->table;
    case ZF_X_UNARY:
    case ZF_X_BINARY: return a->op == b->op && same_children(a, b);
    case ZF_X_PRIM:
    case ZF_X_MINMAX: return a->prim == b->prim && same_children(a, b);
    case ZF_X_BITS: return a->msb == b->msb && same_children(a, b);
    case ZF_X_COND:
    case ZF_X_CAST:
    case ZF_X_SOME:
    case ZF_X_IS_NULL:
    case ZF_X_VALUE:
    case ZF_X_INDEX:
    case ZF_X_LEN:
    case ZF_X_SLICE: return same_children(a, b);
    default: return false;
    }
}

/// True where the operation cannot have wrapped, so that its value is that of the integers.
static bool is_exact(const zf_expr *expr) {
    zf_interval b = expr->b == NULL ? expr->a->range : expr->b->range;
    return zf_interval_within(zf_range_exact(expr->op, expr->a->range, b, 128), zf_interval_of_kind(expr->type.kind));
}

bool zf_expr_same_value(const zf_expr *a, const zf_expr *b) {
    a = zf_expr_kept(a);
    b = zf_expr_kept(b);
    bool integers = zf_kind_is_integer(a->type.kind) && zf_kind_is_integer(b->type.kind) && !a->is_seq && !b->is_seq;
    if (integers && zf_interval_is_const(a->range) && zf_interval_is_const(b->range)) return a->range.lo == b->range.lo;
    if (zf_expr_same(a, b)) return true;
    if (!integers || a->kind != b->kind || a->op != b->op || (a->kind != ZF_X_BINARY && a->kind != ZF_X_UNARY)) return false;
    if (!is_exact(a) || !is_exact(b) || !zf_expr_same_value(a->a, b->a)) return false;
    return a->b == NULL || zf_expr_same_value(a->b, b->b);
}

// ---- Subjects of facts ----------------------------------------------------------------------------------------

static bool immutable_sequence(const zf_checker *ck, const zf_expr *seq) {
    switch (seq->kind) {
    case ZF_X_TABLE:
    case ZF_X_INPUT: return true;
    case ZF_X_STREAM: return ck->body != ZF_IN_ENCODE;
    case ZF_X_LOCAL: return seq->local->kind != ZF_L_ARRAY && seq->local->kind != ZF_L_GROWING && seq->local->kind != ZF_L_VAR;
    case ZF_X_INDEX: return immutable_sequence(ck, seq->a);
    default: return false;
    }
}

static bool fixed_length(const zf_checker *ck, const zf_expr *seq) {
    return seq->kind == ZF_X_OUT || (seq->kind == ZF_X_LOCAL && seq->local->kind == ZF_L_ARRAY) || immutable_sequence(ck, seq);
}

/// `mutable_too`: variables, states and out.pos as well, whose facts die with their next assignment.
static bool stable(const zf_checker *ck, const zf_expr *expr, bool mutable_too, unsigned *budget) {
    if (expr == NULL) return true;
    if (*budget == 0) return false;
    --*budget;
    switch (expr->kind) {
    case ZF_X_CONST:
    case ZF_X_NULL: return true;
    case ZF_X_LOCAL: return expr->local->kind == ZF_L_VAR ? mutable_too : !expr->is_seq || immutable_sequence(ck, expr);
    case ZF_X_PARAM: return mutable_too || ck->body != ZF_IN_ENCODE;
    case ZF_X_STATE:
    case ZF_X_OUT_POS: return mutable_too;
    case ZF_X_UNARY:
    case ZF_X_BINARY:
    case ZF_X_COND:
    case ZF_X_CAST:
    case ZF_X_SOME:
    case ZF_X_IS_NULL:
    case ZF_X_VALUE:
    case ZF_X_PRIM:
        return stable(ck, expr->a, mutable_too, budget) && stable(ck, expr->b, mutable_too, budget) &&
               stable(ck, expr->c, mutable_too, budget);
    case ZF_X_INDEX:
    case ZF_X_BITS:
        return immutable_sequence(ck, expr->a) && stable(ck, expr->b, mutable_too, budget) &&
               stable(ck, expr->c, mutable_too, budget) &&
               (expr->a->kind != ZF_X_INDEX || stable(ck, expr->a->b, mutable_too, budget));
    case ZF_X_LEN:
        return fixed_length(ck, expr->a) && (expr->a->kind != ZF_X_INDEX || stable(ck, expr->a->b, mutable_too, budget));
    default: return false;
    }
}

bool zf_fact_stable(const zf_checker *ck, const zf_expr *expr) {
    unsigned budget = STABLE_LIMIT;
    return stable(ck, expr, true, &budget);
}

bool zf_expr_immutable(const zf_checker *ck, const zf_expr *expr) {
    unsigned budget = STABLE_LIMIT;
    return stable(ck, expr, false, &budget);
}

// ---- The list -------------------------------------------------------------------------------------------------

static void push_fact(zf_checker *ck, zf_fact fact) {
    zf_fact *kept = ZF_NEW(ck->arena, zf_fact);
    *kept = fact;
    kept->next = ck->env.facts;
    kept->count = (kept->next == NULL ? 0 : kept->next->count) + 1;
    ck->env.facts = kept;
}

/// The newest FACT_LIMIT facts are looked at; those behind them are as good as forgotten.
#define FOR_FACTS(fact, list, left) for (uint32_t left = FACT_LIMIT; (fact) != NULL && left > 0; (fact) = (fact)->next, left--)

static zf_interval refine_by(const zf_fact *facts, const zf_expr *expr, zf_interval range) {
    bool has_not = false;
    const zf_fact *fact = facts;
    FOR_FACTS(fact, facts, left) {
        if (fact->kind == ZF_FACT_RANGE && zf_expr_same(fact->a, expr)) range = zf_interval_meet(range, fact->range);
        if (fact->kind == ZF_FACT_NOT) has_not = true;
    }
    for (bool again = has_not; again;) {
        again = false;
        fact = facts;
        FOR_FACTS(fact, facts, left) {
            if (fact->kind != ZF_FACT_NOT || range.lo > range.hi || !zf_expr_same(fact->a, expr)) continue;
            if (range.lo == fact->range.lo) {
                range.lo++;
                again = true;
            } else if (range.hi == fact->range.lo) {
                range.hi--;
                again = true;
            }
        }
    }
    return range;
}

zf_interval zf_facts_refine(const zf_checker *ck, const zf_expr *expr, zf_interval range) {
    zf_interval narrow = refine_by(ck->env.facts, expr, range);
    return narrow.lo > narrow.hi ? range : narrow; // a contradiction: the place is dead, and any answer is right
}

static bool mentions(const zf_expr *expr, const zf_local *local, const zf_port *port, const zf_state *state, bool out_pos) {
    if (expr == NULL) return false;
    if (local != NULL && expr->kind == ZF_X_LOCAL && expr->local == local) return true;
    if (port != NULL && (expr->kind == ZF_X_PARAM || expr->kind == ZF_X_STREAM) && expr->port == port) return true;
    if (state != NULL && expr->kind == ZF_X_STATE && expr->state == state) return true;
    if (out_pos && expr->kind == ZF_X_OUT_POS) return true;
    return mentions(expr->a, local, port, state, out_pos) || mentions(expr->b, local, port, state, out_pos) ||
           mentions(expr->c, local, port, state, out_pos);
}

void zf_facts_kill(zf_checker *ck, const zf_local *local, const zf_port *port, const zf_state *state, bool out_pos) {
    const zf_fact *facts = ck->env.facts, *fact = facts;
    const zf_fact *kept[FACT_LIMIT];
    uint32_t count = 0, looked = 0;
    FOR_FACTS(fact, facts, left) {
        looked++;
        if (!mentions(fact->a, local, port, state, out_pos) && !mentions(fact->b, local, port, state, out_pos))
            kept[count++] = fact;
    }
    if (count == looked && fact == NULL) return;
    ck->env.facts = NULL;
    while (count > 0) push_fact(ck, *kept[--count]);
}

/// One expression out of two of the same structure, built on two ways: its ranges are what holds on both.
static const zf_expr *on_both_ways(zf_checker *ck, const zf_expr *a, const zf_expr *b) {
    if (a == b || a == NULL || b == NULL) return a;
    zf_expr *both = ZF_NEW(ck->arena, zf_expr);
    *both = *a;
    both->range = zf_interval_hull(a->range, b->range);
    both->a = (zf_expr *)(uintptr_t)on_both_ways(ck, a->a, b->a);
    both->b = (zf_expr *)(uintptr_t)on_both_ways(ck, a->b, b->b);
    both->c = (zf_expr *)(uintptr_t)on_both_ways(ck, a->c, b->c);
    return both;
}

zf_env zf_facts_join(zf_checker *ck, zf_env a, zf_env b) {
    if (a.dead) return b;
    if (b.dead || a.facts == b.facts) return a;
    // The tail that both share stays; of what is newer, only what both know.
    const zf_fact *x = a.facts, *y = b.facts;
    while (x != y) {
        uint32_t nx = x == NULL ? 0 : x->count, ny = y == NULL ? 0 : y->count;
        if (nx >= ny && x != NULL) x = x->next;
        if (ny >= nx && y != NULL) y = y->next;
    }
    zf_env saved = ck->env;
    ck->env = (zf_env){.facts = x};
    const zf_fact *newer[FACT_LIMIT];
    uint32_t count = 0;
    for (const zf_fact *fact = a.facts; fact != x && count < FACT_LIMIT; fact = fact->next) newer[count++] = fact;
    while (count > 0) {
        const zf_fact *fact = newer[--count];
        if (fact->kind == ZF_FACT_RANGE) {
            // Not the node's own range: it was made on way a, with what is known there.
            zf_interval other = refine_by(b.facts, fact->a, zf_range_all(fact->a->type));
            zf_interval hull = zf_interval_hull(refine_by(a.facts, fact->a, fact->range), other);
            if (other.lo <= other.hi && !zf_interval_within(zf_range_all(fact->a->type), hull)) {
                zf_fact joined = *fact;
                joined.range = hull;
                push_fact(ck, joined);
            }
            continue;
        }
        const zf_fact *twin = b.facts;
        FOR_FACTS(twin, b.facts, left) {
            bool same = twin->kind == fact->kind && zf_expr_same(twin->a, fact->a) &&
                        (fact->b == NULL ? twin->range.lo == fact->range.lo : zf_expr_same(twin->b, fact->b));
            if (!same) continue;
            zf_fact joined = *fact;
            joined.a = on_both_ways(ck, fact->a, twin->a);
            joined.b = on_both_ways(ck, fact->b, twin->b);
            push_fact(ck, joined);
            break;
        }
    }
    zf_env joined = ck->env;
    ck->env = saved;
    return joined;
}

// ---- Learning -------------------------------------------------------------------------------------------------

static bool is_integer(const zf_expr *expr) {
    return !expr->is_seq && !expr->type.nullable && zf_kind_is_integer(expr->type.kind);
}

void zf_facts_learn(zf_checker *ck, const zf_expr *expr, zf_interval range) {
    bool is_bool = expr->type.kind == ZF_K_BOOL && !expr->type.nullable && !expr->is_seq;
    if (!is_integer(expr) && !is_bool) return;
    zf_interval known = refine_by(ck->env.facts, expr, expr->range);
    zf_interval narrow = zf_interval_meet(known, range);
    if (narrow.lo > narrow.hi) {
        ck->env.dead = true;
        return;
    }
    if (expr->kind == ZF_X_CONST) return;
    bool news = narrow.lo != known.lo || narrow.hi != known.hi;
    if (news && zf_fact_stable(ck, expr)) push_fact(ck, (zf_fact){.kind = ZF_FACT_RANGE, .a = expr, .range = narrow});

    // The range of the result bounds the operands.
    if (expr->kind == ZF_X_CAST && zf_expr_kept(expr) != expr) zf_facts_learn(ck, expr->a, narrow);
    if (expr->kind != ZF_X_BINARY || !is_integer(expr)) return;
    zf_interval b = expr->b->range, a = expr->a->range;
    switch (expr->op) {
    case ZF_OP_ADD:
        if (!is_exact(expr)) break;
        zf_facts_learn(ck, expr->a, (zf_interval){narrow.lo - b.hi, narrow.hi - b.lo});
        zf_facts_learn(ck, expr->b, (zf_interval){narrow.lo - a.hi, narrow.hi - a.lo});
        break;
    case ZF_OP_SUB:
        if (!is_exact(expr)) break;
        zf_facts_learn(ck, expr->a, (zf_interval){narrow.lo + b.lo, narrow.hi + b.hi});
        zf_facts_learn(ck, expr->b, (zf_interval){a.lo - narrow.hi, a.hi - narrow.lo});
        break;
    case ZF_OP_SHR:
        if (!zf_interval_is_const(b) || b.lo > 63) break;
        zf_facts_learn(ck, expr->a,
                       (zf_interval){narrow.lo * ((zf_int128)1 << b.lo), (narrow.hi + 1) * ((zf_int128)1 << b.lo) - 1});
        break;
    case ZF_OP_DIV:
        if (!zf_interval_is_const(b) || b.lo <= 0 || a.lo < 0) break;
        zf_facts_learn(ck, expr->a, (zf_interval){narrow.lo * b.lo, narrow.hi * b.lo + b.lo - 1});
        break;
    default: break;
    }
}

static void learn_not(zf_checker *ck, const zf_expr *expr, zf_int128 value) {
    zf_interval known = refine_by(ck->env.facts, expr, expr->range);
    if (known.lo == value && known.hi == value) {
        ck->env.dead = true;
    } else if (known.lo == value) {
        zf_facts_learn(ck, expr, (zf_interval){value + 1, known.hi});
    } else if (known.hi == value) {
        zf_facts_learn(ck, expr, (zf_interval){known.lo, value - 1});
    } else if (known.lo < value && value < known.hi) {
        if (zf_fact_stable(ck, expr)) push_fact(ck, (zf_fact){.kind = ZF_FACT_NOT, .a = expr, .range = zf_interval_const(value)});
        if (expr->kind == ZF_X_CAST && zf_expr_kept(expr) != expr) learn_not(ck, expr->a, value);
    }
}

void zf_facts_relate(zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict) {
    a = zf_expr_kept(a);
    b = zf_expr_kept(b);
    if (a->kind == ZF_X_CONST || b->kind == ZF_X_CONST || !zf_fact_stable(ck, a) || !zf_fact_stable(ck, b)) return;
    push_fact(ck, (zf_fact){.kind = strict ? ZF_FACT_LESS : ZF_FACT_LESS_EQUAL, .a = a, .b = b});
}

static void learn_comparison(zf_checker *ck, zf_op op, const zf_expr *a, const zf_expr *b) {
    zf_interval ra = refine_by(ck->env.facts, a, a->range), rb = refine_by(ck->env.facts, b, b->range);
    zf_interval all_a = zf_range_all(a->type), all_b = zf_range_all(b->type);
    switch (op) {
    case ZF_OP_LT:
    case ZF_OP_LE: {
        zf_int128 strict = op == ZF_OP_LT;
        zf_facts_learn(ck, a, (zf_interval){all_a.lo, rb.hi - strict});
        zf_facts_learn(ck, b, (zf_interval){ra.lo + strict, all_b.hi});
        zf_facts_relate(ck, a, b, strict != 0);
        break;
    }
    case ZF_OP_GT: learn_comparison(ck, ZF_OP_LT, b, a); break;
    case ZF_OP_GE: learn_comparison(ck, ZF_OP_LE, b, a); break;
    case ZF_OP_EQ:
        zf_facts_learn(ck, a, rb);
        zf_facts_learn(ck, b, ra);
        zf_facts_relate(ck, a, b, false);
        zf_facts_relate(ck, b, a, false);
        break;
    case ZF_OP_NE:
        if (zf_interval_is_const(rb)) learn_not(ck, a, rb.lo);
        if (zf_interval_is_const(ra)) learn_not(ck, b, ra.lo);
        break;
    default: break;
    }
}

static zf_op opposite(zf_op op) {
    switch (op) {
    case ZF_OP_LT: return ZF_OP_GE;
    case ZF_OP_LE: return ZF_OP_GT;
    case ZF_OP_GT: return ZF_OP_LE;
    case ZF_OP_GE: return ZF_OP_LT;
    case ZF_OP_EQ: return ZF_OP_NE;
    default: return ZF_OP_EQ;
    }
}

void zf_facts_assume(zf_checker *ck, const zf_expr *condition, bool truth) {
    if (zf_is_poison(condition) || condition->type.kind != ZF_K_BOOL || condition->type.nullable) return;
    if (condition->range.lo == condition->range.hi && (condition->range.lo != 0) != truth) {
        ck->env.dead = true;
        return;
    }
    if (condition->kind == ZF_X_UNARY && condition->op == ZF_OP_NOT) {
        zf_facts_assume(ck, condition->a, !truth);
    } else if (condition->kind == ZF_X_BINARY && (condition->op == ZF_OP_ANDAND || condition->op == ZF_OP_OROR)) {
        if ((condition->op == ZF_OP_ANDAND) == truth) { // both hold, or both fail
            zf_facts_assume(ck, condition->a, truth);
            zf_facts_assume(ck, condition->b, truth);
            return;
        }
        zf_env before = ck->env;
        zf_facts_assume(ck, condition->a, truth);
        zf_env first = ck->env;
        ck->env = before;
        zf_facts_assume(ck, condition->a, !truth);
        zf_facts_assume(ck, condition->b, truth);
        ck->env = zf_facts_join(ck, first, ck->env);
    } else if (condition->kind == ZF_X_BINARY && condition->op >= ZF_OP_EQ && condition->op <= ZF_OP_GE) {
        if (is_integer(condition->a) && is_integer(condition->b)) {
            learn_comparison(ck, truth ? condition->op : opposite(condition->op), condition->a, condition->b);
        }
    } else {
        zf_facts_learn(ck, condition, zf_interval_const(truth));
        // `let wide = n > 60; if wide`: what it was made of is known too, as long as that cannot have changed.
        const zf_local *local = condition->kind == ZF_X_LOCAL ? condition->local : NULL;
        if (local != NULL && (local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->init != NULL &&
            zf_expr_immutable(ck, local->init)) {
            zf_facts_assume(ck, local->init, truth);
        }
    }
}

// ---- Asking ---------------------------------------------------------------------------------------------------

static bool below(const zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict, int depth);

/// a is at most one of its operands.
static bool below_by_operand(const zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict, int depth) {
    if (a->kind == ZF_X_PRIM && a->prim == ZF_P_MIN)
        return below(ck, a->a, b, strict, depth - 1) || below(ck, a->b, b, strict, depth - 1);
    if (a->kind == ZF_X_COND) return below(ck, a->b, b, strict, depth - 1) && below(ck, a->c, b, strict, depth - 1);
    if (a->kind != ZF_X_BINARY || a->range.lo < 0 || a->a->range.lo < 0) return false;
    switch (a->op) {
    case ZF_OP_REM:
        // x % n < n, and x % n <= x
        if (a->b->range.lo > 0 && below(ck, a->b, b, false, depth - 1)) return true;
        return below(ck, a->a, b, strict, depth - 1);
    case ZF_OP_AND: {
        // x & (n - 1) < n, and x & y is at most either
        for (int side = 0; side < 2; side++) {
            const zf_expr *mask = side == 0 ? a->b : a->a;
            if (mask->range.lo < 0) continue;
            if (below(ck, mask, b, strict, depth - 1)) return true;
        }
        return false;
    }
    case ZF_OP_SHR:
    case ZF_OP_DIV: return below(ck, a->a, b, strict, depth - 1);
    case ZF_OP_SUB:
        // x - n <= x where it does not wrap, and strictly where n > 0; x - d + y with y < d is caught below, as an
        // addition
        if (!is_exact(a) && !below(ck, a->b, a->a, false, depth - 1)) return false;
        return below(ck, a->a, b, strict && a->b->range.lo <= 0, depth - 1);
    case ZF_OP_ADD: {
        // (x - d) + y < x where d <= x and y < d: the window of a match
        for (int side = 0; side < 2; side++) {
            const zf_expr *base = zf_expr_kept(side == 0 ? a->a : a->b), *offset = side == 0 ? a->b : a->a;
            if (base->kind != ZF_X_BINARY || base->op != ZF_OP_SUB || base->range.lo < 0) continue;
            if (!below(ck, base->b, base->a, false, depth - 1)) continue;
            if (below(ck, offset, base->b, true, depth - 1) && below(ck, base->a, b, false, depth - 1)) return true;
        }
        return false;
    }
    default: return false;
    }
}

/// b is at least one of its operands.
static bool below_into_operand(const zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict, int depth) {
    if (b->kind == ZF_X_PRIM && b->prim == ZF_P_MAX)
        return below(ck, a, b->a, strict, depth - 1) || below(ck, a, b->b, strict, depth - 1);
    if (b->kind == ZF_X_PRIM && b->prim == ZF_P_MIN)
        return below(ck, a, b->a, strict, depth - 1) && below(ck, a, b->b, strict, depth - 1);
    if (b->kind == ZF_X_BINARY && b->op == ZF_OP_ADD && is_exact(b) && b->a->range.lo >= 0 && b->b->range.lo >= 0) {
        return below(ck, a, b->a, strict && b->b->range.lo <= 0, depth - 1) ||
               below(ck, a, b->b, strict && b->a->range.lo <= 0, depth - 1);
    }
    return false;
}

static bool below(const zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict, int depth) {
    a = zf_expr_kept(a);
    b = zf_expr_kept(b);
    zf_interval ra = refine_by(ck->env.facts, a, a->range), rb = refine_by(ck->env.facts, b, b->range);
    if (strict ? ra.hi < rb.lo : ra.hi <= rb.lo) return true;
    if (depth <= 0) return false;
    if (!strict && zf_expr_same_value(a, b)) return true;
    // n - 1 < n: written as a mask or a last index
    if (a->kind == ZF_X_BINARY && a->op == ZF_OP_SUB && is_exact(a) && a->b->range.lo >= (strict ? 1 : 0) &&
        zf_expr_same_value(a->a, b))
        return true;
    const zf_fact *fact = ck->env.facts;
    FOR_FACTS(fact, ck->env.facts, left) {
        if ((fact->kind != ZF_FACT_LESS && fact->kind != ZF_FACT_LESS_EQUAL) || !zf_expr_same_value(fact->a, a)) continue;
        bool rest_strict = strict && fact->kind == ZF_FACT_LESS_EQUAL;
        const zf_expr *middle = zf_expr_kept(fact->b);
        if (zf_expr_same_value(middle, b) ? !rest_strict : depth > 1 && below(ck, middle, b, rest_strict, depth - 2)) return true;
    }
    return below_by_operand(ck, a, b, strict, depth) || below_into_operand(ck, a, b, strict, depth);
}

bool zf_facts_below(const zf_checker *ck, const zf_expr *a, const zf_expr *b, bool strict) { return below(ck, a, b, strict, 4); }

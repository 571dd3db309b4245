// Loops: their ranges, and which of them end for certain. Facts about variables that their bodies change are forgotten before
// the bodies are checked.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Progress -------------------------------------------------------------------------------------------------
// A loop needs no work counter when every path around it reads from a cursor or emits: bytes and outputs are finite.

static bool reads(const zf_expr *expr) {
    if (expr == NULL || !expr->effect) return false;
    switch (expr->kind) {
    case ZF_X_CURSOR:
        if (zf_cursor_advances(expr->cursor) && expr->cursor != ZF_C_ALIGN) {
            if (expr->a == NULL || expr->a->range.lo > 0) return true;
        }
        return reads(expr->a);
    case ZF_X_COND: return reads(expr->a) || (reads(expr->b) && reads(expr->c));
    case ZF_X_BINARY:
        if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) return reads(expr->a);
        return reads(expr->a) || reads(expr->b);
    case ZF_X_CALL:
        for (uint32_t k = 0; k < expr->call->formal_count; k++) {
            if (reads(expr->call->formals[k]->init)) return true;
        }
        // A call with returns inside may leave before it reads: only its first statement is certain.
        for (const zf_stmt *stmt = expr->call->body; stmt != NULL; stmt = stmt->next) {
            if (stmt->kind == ZF_S_LET || stmt->kind == ZF_S_VAR) {
                if (stmt->local->init != NULL && reads(stmt->local->init)) return true;
            } else if (stmt->kind == ZF_S_EXPR || stmt->kind == ZF_S_ASSIGN || stmt->kind == ZF_S_IF ||
                       stmt->kind == ZF_S_REQUIRE || stmt->kind == ZF_S_EMIT) {
                if (reads(stmt->value) || stmt->kind == ZF_S_EMIT) return true;
                if (stmt->kind == ZF_S_IF && expr->call->returns_inside) return false;
            } else if (stmt->kind == ZF_S_LOOP) {
                return zf_loop_progresses(stmt->body); // its body runs at least once
            } else if (expr->call->returns_inside) {
                return false;
            }
        }
        return reads(expr->call->value);
    default: return reads(expr->a) || reads(expr->b) || reads(expr->c);
    }
}

static bool emits_some(const zf_reduce *reduce) {
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        const zf_binder *binder = &reduce->binders[k];
        zf_int128 least = binder->hi->range.lo - binder->lo->range.hi + (binder->inclusive ? 1 : 0);
        if (least < 1) return false;
    }
    return true;
}

typedef enum way { WAY_NO, WAY_YES, WAY_LEFT } way; // progress at the end of a list: none, made, control never gets there

/// *bad is set where control goes around the loop again without progress.
static way walk(const zf_stmt *stmt, way state, bool *bad) {
    for (; stmt != NULL; stmt = stmt->next) {
        bool made = false;
        switch (stmt->kind) {
        case ZF_S_LET:
        case ZF_S_VAR: made = stmt->local->init != NULL && reads(stmt->local->init); break;
        case ZF_S_ASSIGN: made = reads(stmt->place) || reads(stmt->value); break;
        case ZF_S_EXPR:
        case ZF_S_REQUIRE:
        case ZF_S_WHILE:
        case ZF_S_FOR_EACH: made = reads(stmt->value); break;
        case ZF_S_EMIT: made = true; break;
        case ZF_S_EMIT_REGION: made = emits_some(stmt->reduce); break;
        case ZF_S_LOOP: made = zf_loop_progresses(stmt->body); break;
        case ZF_S_FOR_RANGE: made = reads(stmt->binder.lo) || reads(stmt->binder.hi); break;
        case ZF_S_BREAK:
        case ZF_S_RETURN:
        case ZF_S_REFUSE: return WAY_LEFT;
        case ZF_S_CONTINUE:
            if (state == WAY_NO) *bad = true;
            return WAY_LEFT;
        case ZF_S_IF: {
            way start = reads(stmt->value) ? WAY_YES : state;
            way a = walk(stmt->body, start, bad), b = walk(stmt->else_part, start, bad);
            if (a == WAY_LEFT && b == WAY_LEFT) return WAY_LEFT;
            state = a == WAY_LEFT ? b : b == WAY_LEFT ? a : a == WAY_YES && b == WAY_YES ? WAY_YES : WAY_NO;
            break;
        }
        default: break;
        }
        if (made) state = WAY_YES;
    }
    return state;
}

bool zf_loop_progresses(const zf_stmt *body) {
    bool bad = false;
    way end = walk(body, WAY_NO, &bad);
    return end != WAY_NO && !bad;
}

// ---- Loops ----------------------------------------------------------------------------------------------------

static bool is_element_body(const zf_checker *ck) {
    return ck->body == ZF_IN_ELEMENT || ck->body == ZF_IN_SIZE || ck->body == ZF_IN_LANES || ck->body == ZF_IN_STATE ||
           ck->body == ZF_IN_GROUPS;
}

static void refuse_unbounded(zf_checker *ck, zf_span span, const char *what) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_UNBOUNDED_LOOP, span,
                                "%s: a body that runs for every element must end after a known number of steps", what);
    zf_ck_hint(ck, diag, "use `for` over a range that is at most %d long, or a non_parallel algorithm", ZF_LOOP_TRIP_LIMIT);
}

/// A body that may leave the loop by `break`.
static bool breaks(const zf_stmt *stmt) {
    for (; stmt != NULL; stmt = stmt->next) {
        if (stmt->kind == ZF_S_BREAK) return true;
        if (stmt->kind == ZF_S_IF && (breaks(stmt->body) || breaks(stmt->else_part))) return true;
    }
    return false;
}

typedef struct loop_state {
    uint64_t trips;  ///< product of the trips outside
    uint64_t rounds; ///< of the body, as they are after the loop
    uint64_t before; ///< of the body, before the loop
    uint32_t chunk_loop;
    bool in_chunks;
    zf_bound *scope;
    bool few; ///< it and those around it, and with those before it, run at most ZF_LOOP_TRIP_LIMIT times
} loop_state;

enum { LOOP_IN_LOOP = ZF_LOOP_TRIP_LIMIT / 4096 };

/// `trips` is the most that it may run; negative: unknown.
static loop_state enter_loop(zf_checker *ck, zf_int128 trips) {
    bool huge = trips < 0 || trips > ZF_LOOP_TRIP_LIMIT;
    uint64_t product = ck->trip_product * (uint64_t)(huge ? 0 : trips);
    huge = huge || product > ZF_LOOP_TRIP_LIMIT || ck->rounds + product > ZF_LOOP_TRIP_LIMIT;
    loop_state saved = {
        ck->trip_product, ck->rounds + (huge ? 0 : product), ck->rounds, ck->frame->chunk_loop, ck->in_chunks, ck->scope, !huge};
    // Within a loop that is counted, or that reads, shorter loops are a part of its iteration: up to 4096 in all.
    ck->trip_product = huge ? LOOP_IN_LOOP : product;
    ck->rounds = huge ? 0 : saved.rounds;
    ck->frame->loops++;
    ck->level++;
    return saved;
}

static void leave_loop(zf_checker *ck, loop_state saved) {
    ck->level--;
    ck->frame->loops--;
    ck->trip_product = saved.trips;
    if (!saved.few) ck->rounds = saved.rounds; // those within belong to its iterations
    ck->frame->chunk_loop = saved.chunk_loop;
    ck->in_chunks = saved.in_chunks;
    ck->scope = saved.scope;
}

/// A loop, or a reduction (`what`), that runs too often for a body of elements, within others or after others. Those after others
/// are reported once a body.
static void refuse_rounds(zf_checker *ck, zf_span span, const char *what, zf_int128 trips, uint64_t outer, uint64_t before,
                          const zf_expr *bound) {
    bool alone = trips > ZF_LOOP_TRIP_LIMIT, nested = outer > 1;
    bool fits = !alone && outer * (uint64_t)trips <= ZF_LOOP_TRIP_LIMIT;
    if (fits && ck->rounds_refused) return;
    ck->rounds_refused = ck->rounds_refused || fits;
    const char *often = zf_ck_range_text(ck, zf_interval_const(trips));
    const char *around = zf_ck_range_text(ck, zf_interval_const((zf_int128)outer));
    zf_diag *diag =
        zf_ck_error(ck, ZF_D_UNBOUNDED_LOOP, span, "%s may run %s times%s%s%s for every element%s%s%s", what, often,
                    nested ? " within another that runs " : "", nested ? around : "", nested ? " times" : "",
                    fits ? ", after loops that run " : "", fits ? zf_ck_range_text(ck, zf_interval_const((zf_int128)before)) : "",
                    !fits         ? ""
                    : before == 1 ? " time"
                                  : " times");
    if (bound != NULL) zf_ck_remark_facts(ck, diag, bound);
    if (fits)
        zf_ck_hint(ck, diag, "all loops of a body, with those of the functions that it calls, may run %d times",
                   ZF_LOOP_TRIP_LIMIT);
    else if (nested)
        zf_ck_hint(ck, diag, "together they may run %d times: bound both, by `require n <= ...` before", ZF_LOOP_TRIP_LIMIT);
    else
        zf_ck_hint(ck, diag, "bound it by %d: `require n <= ...` before", ZF_LOOP_TRIP_LIMIT);
}

uint64_t zf_ck_enter_terms(zf_checker *ck, const zf_reduce *reduce, zf_span span) {
    enum { UNROLLED = 64 };
    uint64_t outer = ck->trip_product;
    if (!is_element_body(ck)) return outer; // in chunks each term is counted, in encode too
    zf_int128 terms = 1;
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        const zf_binder *binder = &reduce->binders[k];
        if (zf_is_poison(binder->lo) || zf_is_poison(binder->hi)) return outer;
        zf_int128 trips = binder->hi->range.hi - binder->lo->range.lo + (binder->inclusive ? 1 : 0);
        terms = terms > UNROLLED ? terms : terms * (trips < 0 ? 0 : trips);
    }
    if (terms > UNROLLED) return outer; // a scan, or a difference of prefix sums: a term for every element
    uint64_t product = outer * (uint64_t)terms;
    if (product > ZF_LOOP_TRIP_LIMIT || ck->rounds + product > ZF_LOOP_TRIP_LIMIT) {
        refuse_rounds(ck, span, "this reduction", terms, outer, ck->rounds, NULL);
        return outer;
    }
    ck->rounds += product;
    ck->trip_product = product;
    return outer;
}

void zf_ck_leave_terms(zf_checker *ck, uint64_t entered) { ck->trip_product = entered; }

/// while c { } and loop { }.
static bool check_while(zf_checker *ck, const zf_ast_stmt *ast) {
    bool endless = ast->kind == ZF_AS_LOOP;
    if (is_element_body(ck)) refuse_unbounded(ck, ast->span, endless ? "`loop` may not end" : "`while` may not end");
    zf_ck_invalidate_assigned(ck, ast->body);
    zf_stmt *stmt = zf_ck_stmt(ck, endless ? ZF_S_LOOP : ZF_S_WHILE, ast->span);
    zf_env before = ck->env;
    loop_state saved = enter_loop(ck, -1);
    if (!endless) {
        // The condition may change variables through calls, in every iteration.
        zf_ck_invalidate_in_condition(ck, ast->value);
        before = ck->env;
        stmt->value = zf_ck_condition(ck, ast->value);
        zf_facts_assume(ck, stmt->value, true);
    }
    zf_ck_block(ck, ast->body, &stmt->body);
    leave_loop(ck, saved);
    bool progress = zf_loop_progresses(stmt->body) || (!endless && reads(stmt->value));
    stmt->bounded = ck->body == ZF_IN_CHUNK && progress;
    bool leaves = breaks(stmt->body);
    ck->env = before;
    if (!endless && !leaves) zf_facts_assume(ck, stmt->value, false);
    return endless && !leaves;
}

static bool check_for_range(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_stmt *stmt = zf_ck_stmt(ck, ZF_S_FOR_RANGE, ast->span);
    zf_env before = ck->env;
    ck->level++; // the bounds do not see the binder
    zf_ck_binder(ck, &stmt->binder, ast->name, ast->name_span, ast->range);
    ck->level--;
    const zf_binder *binder = &stmt->binder;
    bool poisoned = zf_is_poison(binder->lo) || zf_is_poison(binder->hi);
    zf_int128 trips = poisoned ? 1 : binder->hi->range.hi - binder->lo->range.lo + (binder->inclusive ? 1 : 0);
    loop_state saved = enter_loop(ck, trips < 0 ? 0 : trips);
    if (!poisoned && is_element_body(ck) && !saved.few)
        refuse_rounds(ck, ast->span, "this loop", trips, saved.trips, saved.before, binder->hi);
    zf_ck_enter(ck, ast->name, ast->name_span, binder->local, NULL, false);
    zf_ck_invalidate_assigned(ck, ast->body); // after the binder: what it is compared with may change in the body
    zf_ck_block(ck, ast->body, &stmt->body);
    leave_loop(ck, saved);
    stmt->bounded = saved.few || ck->body == ZF_IN_ENCODE || zf_loop_progresses(stmt->body);
    ck->env = before;
    zf_ck_invalidate_assigned(ck, ast->body);
    return false;
}

/// chunks(x), x.parts, or any sequence.
static zf_expr *check_source(zf_checker *ck, const zf_ast_expr *ast) {
    while (ast->kind == ZF_AE_PAREN) ast = ast->a;
    bool chunks = ast->kind == ZF_AE_CALL && ast->a->kind == ZF_AE_NAME && strcmp(ast->a->name, "chunks") == 0;
    bool parts = ast->kind == ZF_AE_MEMBER && strcmp(ast->name, "parts") == 0;
    if (!chunks && !parts) {
        zf_expr *over = zf_ck_expr(ck, ast);
        if (zf_is_poison(over) || zf_is_sequence(over)) return over;
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->span, "a range, stream, array or string is wanted here, not %s",
                                    zf_ck_type_name(ck, over));
        if (over->type.nullable)
            zf_ck_hint(ck, diag, "compare with null first, then take `.value`");
        else if (zf_kind_is_integer(over->type.kind))
            zf_ck_hint(ck, diag, "to count up to it, write `0..` before it");
        return zf_ck_poison(ck, ast->span);
    }
    if (chunks && (ast->args == NULL || ast->args->next != NULL)) {
        zf_ck_error(ck, ZF_D_ARGUMENTS, ast->span, "`chunks` takes 1 argument: the input");
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *of = zf_ck_expr(ck, chunks ? ast->args : ast->a);
    if (zf_is_poison(of)) return of;
    if (of->kind != ZF_X_INPUT && !(ck->body == ZF_IN_FUNCTION && of->kind == ZF_X_STREAM)) {
        zf_ck_error(ck, chunks ? ZF_D_BAD_OPERAND : ZF_D_UNKNOWN_MEMBER, ast->span, "only what encode is given has %s",
                    chunks ? "chunks" : "parts");
        return zf_ck_poison(ck, ast->span);
    }
    if (chunks && ck->frame->func != NULL) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "the loop over chunks stands in encode itself, not in a function");
        return zf_ck_poison(ck, ast->span);
    }
    if (chunks && ck->inst->pattern != ZF_NON_PARALLEL) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "only non_parallel algorithms have chunks");
        return zf_ck_poison(ck, ast->span);
    }
    if (chunks && (ck->in_chunks || ck->frame->loops > 0)) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "the loop over chunks cannot stand in another loop");
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *expr = zf_ck_node(ck, chunks ? ZF_X_CHUNKS : ZF_X_PARTS, of->type, ast->span);
    expr->is_seq = true;
    expr->a = of;
    return expr;
}

static bool check_for_each(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_expr *source = check_source(ck, ast->value);
    zf_stmt *stmt = zf_ck_stmt(ck, ZF_S_FOR_EACH, ast->span);
    stmt->value = source;
    zf_env before = ck->env;
    bool poisoned = zf_is_poison(source);
    bool chunks = source->kind == ZF_X_CHUNKS, nested = chunks || source->kind == ZF_X_PARTS;
    zf_int128 trips = poisoned ? 1 : nested ? -1 : zf_length_range(ck, source).hi;
    loop_state saved = enter_loop(ck, trips);
    if (!poisoned && is_element_body(ck) && !saved.few) {
        if (trips < 0 || trips > ZF_LOOP_TRIP_LIMIT)
            refuse_unbounded(ck, ast->span, "this loop runs over data");
        else
            refuse_rounds(ck, ast->span, "this loop", trips, saved.trips, saved.before, NULL);
    }
    if (chunks) {
        ck->in_chunks = true;
        ck->frame->chunk_loop = ck->frame->loops;
    }
    if (poisoned) {
        zf_ck_enter(ck, ast->name, ast->name_span, NULL, source, false);
    } else {
        zf_local *local = zf_ck_local(ck, ZF_L_ELEMENT, ast->name, ast->name_span, zf_element_type(source));
        local->is_seq = nested;
        local->range = nested ? zf_range_all(local->type) : zf_element_range(ck, source);
        stmt->local = local;
        zf_ck_enter(ck, ast->name, ast->name_span, local, NULL, false);
    }
    zf_ck_invalidate_assigned(ck, ast->body);
    zf_ck_block(ck, ast->body, &stmt->body);
    leave_loop(ck, saved);
    stmt->bounded = saved.few || ck->body == ZF_IN_ENCODE || (!poisoned && zf_loop_progresses(stmt->body));
    ck->env = before;
    zf_ck_invalidate_assigned(ck, ast->body);
    return false;
}

bool zf_ck_loop_stmt(zf_checker *ck, const zf_ast_stmt *ast) {
    if (ast->kind != ZF_AS_FOR) return check_while(ck, ast);
    return ast->range != NULL ? check_for_range(ck, ast) : check_for_each(ck, ast);
}

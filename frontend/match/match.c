// The forms of reductions, and the walk over an instance that finds them together with the uses of its streams.
#include <string.h>

#include "frontend/check/walk.h"
#include "frontend/match/match.h"

/// Terms of one unrolled reduction, and of nested ones together.
enum { UNROLL_LIMIT = 64, UNROLL_NESTED_LIMIT = 4096 };

// ---- Dependencies of a term -----------------------------------------------------------------------------------

/// A walk over a term that looks for what may change from one result to the next. Locals of the term itself, its
/// binders and the looked-through immutable locals around it are no such thing.
typedef struct dependence {
    zf_match *match;
    const zf_reduce *reduce;
    bool in_emit;            ///< the results are elements of one emit region: only its own binders change
    const zf_local *culprit; ///< the first that changes, or NULL
    bool changes;            ///< something without a name does
    bool reads_at_binder;    ///< some stream is read at the reduction's own index
    uint32_t depth;          ///< immutable locals being looked through
} dependence;

enum { LOOK_DEPTH = 100 };

static bool seen(const dependence *state, const zf_local *local) {
    return local->id < state->match->stamp_count && state->match->stamps[local->id] == state->match->stamp;
}

static void see(dependence *state, const zf_local *local) {
    if (local->id < state->match->stamp_count) state->match->stamps[local->id] = state->match->stamp;
}

static bool binds(const zf_reduce *reduce, const zf_local *local) {
    for (uint32_t k = 0; reduce != NULL && k < reduce->binder_count; k++) {
        if (reduce->binders[k].local == local) return true;
    }
    return false;
}

static bool depend_expr(zf_visitor *visitor, zf_expr *expr) {
    dependence *state = visitor->user;
    if (expr->kind == ZF_X_REDUCE) {
        for (uint32_t k = 0; k < expr->reduce->binder_count; k++) see(state, expr->reduce->binders[k].local);
    } else if (expr->kind == ZF_X_CALL) {
        for (uint32_t k = 0; k < expr->call->formal_count; k++) see(state, expr->call->formals[k]);
    } else if (expr->kind == ZF_X_INDEX && expr->a->kind == ZF_X_STREAM) {
        zf_index_form point = zf_index_form_of(expr->b);
        if (point.kind == ZF_INDEX_LOCAL && point.offset == 0 && binds(state->reduce, point.local)) state->reads_at_binder = true;
    } else if (expr->kind == ZF_X_CURSOR || expr->kind == ZF_X_INTERN) {
        if (expr->effect) state->changes = true;
    } else if ((expr->kind == ZF_X_STATE || expr->kind == ZF_X_OUT) && !state->in_emit) {
        state->changes = true;
    } else if (expr->kind == ZF_X_LOCAL) {
        zf_local *local = expr->local;
        if (seen(state, local)) return false;
        see(state, local);
        if ((local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->init != NULL && !local->init->effect) {
            if (state->depth++ == LOOK_DEPTH)
                state->changes = true; // nobody's program; the stack is what counts
            else
                zf_visit_expr(visitor, local->init);
            state->depth--;
            return false;
        }
        // Within one emit region nothing is assigned: only what its binders give changes from one element to the next.
        bool changes = state->in_emit ? binds(state->match->emit, local) : true;
        for (const zf_enclosing *around = state->match->around; around != NULL && !changes; around = around->outer) {
            changes = binds(around->reduce, local);
        }
        if (changes && state->culprit == NULL) state->culprit = local;
    }
    return true;
}

static bool depend_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    dependence *state = visitor->user;
    if (stmt->local != NULL) see(state, stmt->local);
    if (stmt->kind == ZF_S_FOR_RANGE) see(state, stmt->binder.local);
    return true;
}

static dependence depend(zf_match *match, const zf_reduce *reduce, bool in_emit) {
    dependence state = {.match = match, .reduce = reduce, .in_emit = in_emit};
    match->stamp++;
    for (uint32_t k = 0; k < reduce->binder_count; k++) see(&state, reduce->binders[k].local);
    zf_visitor visitor = {.user = &state, .expr = depend_expr, .stmt = depend_stmt};
    zf_visit_expr(&visitor, reduce->term);
    return state;
}

// ---- The forms ------------------------------------------------------------------------------------------------

/// Why forms that nearly fit do not, for the diagnostic.
typedef struct attempt {
    zf_match *match;
    zf_reduce *reduce;
    const char *count;  ///< how many terms there may be
    const char *reason; ///< of the first form that was near
} attempt;

static void because(attempt *try, const char *reason) {
    if (try->reason == NULL) try->reason = reason;
}

/// The index that a scan around this place runs over: the domain's, or the binder of an emit region with one.
static bool is_scan_domain(const zf_match *match, const zf_local *local) {
    if (match->inst->pattern == ZF_NON_PARALLEL) {
        return match->emit != NULL && match->emit->binder_count == 1 && match->emit->binders[0].local == local;
    }
    return !match->counts_groups && (local->kind == ZF_L_DOMAIN_I || local->kind == ZF_L_DOMAIN_G);
}

/// Both ends of a running reduction: up to d, or up to and with d (`..=d`, or `..d + 1`).
static bool runs_to_domain(const zf_match *match, zf_reduce *reduce) {
    zf_index_form hi = zf_index_form_of(reduce->binders[0].hi);
    if (hi.kind != ZF_INDEX_LOCAL || !is_scan_domain(match, hi.local)) return false;
    if (hi.offset != 0 && !(hi.offset == 1 && !reduce->binders[0].inclusive)) return false;
    reduce->domain = hi.local;
    reduce->inclusive = reduce->binders[0].inclusive || hi.offset == 1;
    return true;
}

/// True when the term is the same for every result that it takes part in.
static bool term_is_fixed(attempt *try) {
    dependence found = depend(try->match, try->reduce, try->match->inst->pattern == ZF_NON_PARALLEL);
    if (found.culprit != NULL) {
        because(try, zf_arena_printf(try->match->spec->arena,
                                     "its term uses `%s`, which changes from one result to the next; it may depend on `%s` "
                                     "and on params only",
                                     found.culprit->name, try->reduce->binders[0].local->name));
    } else if (found.changes) {
        because(try, "its term changes from one result to the next");
    }
    return found.culprit == NULL && !found.changes;
}

static bool is_unrolled(attempt *try) {
    uint64_t trip = 1;
    for (uint32_t k = 0; k < try->reduce->binder_count; k++) {
        uint64_t most = zf_trip_bound(&try->reduce->binders[k]);
        if (most >= UINT32_MAX) {
            try->count = "nothing bounds the number of its terms";
            return false;
        }
        trip *= most; // two binders of 32 bits
    }
    if (trip > UNROLL_LIMIT) {
        try->count = zf_arena_printf(try->match->spec->arena, "it may have %llu terms", (unsigned long long)trip);
        return false;
    }
    try->reduce->trip = (uint32_t)trip;
    return true;
}

static bool is_scan(attempt *try) {
    if (try->reduce->binder_count != 1 || !runs_to_domain(try->match, try->reduce)) return false;
    zf_index_form lo = zf_index_form_of(try->reduce->binders[0].lo);
    if (lo.kind != ZF_INDEX_CONST || lo.offset != 0) return false;
    if (try->match->emit != NULL) {
        // The region's first element must have the empty reduction, or the scan would have to be run up to it first.
        zf_index_form first = zf_index_form_of(try->match->emit->binders[0].lo);
        if (first.kind != ZF_INDEX_CONST || first.offset != 0) return false;
    }
    return term_is_fixed(try);
}

static bool is_segmented(attempt *try) {
    if (try->match->inst->pattern == ZF_NON_PARALLEL) return false;
    if (try->reduce->binder_count != 1 || !runs_to_domain(try->match, try->reduce)) return false;
    zf_index_form lo = zf_index_form_of(try->reduce->binders[0].lo);
    if (lo.kind != ZF_INDEX_SEGMENT || lo.local != try->reduce->domain) return false;
    try->reduce->segment = lo.segment;
    try->reduce->skip = lo.offset;
    return term_is_fixed(try);
}

static bool is_prefix(attempt *try) {
    zf_reduce *reduce = try->reduce;
    if (try->match->inst->pattern == ZF_NON_PARALLEL || try->match->counts_groups) return false;
    if (reduce->binder_count != 1) {
        because(try, "with two indices it can only be unrolled");
        return false;
    }
    if (reduce->op != ZF_RED_SUM && reduce->op != ZF_RED_XOR) {
        because(try, "only `sum` and `xor` between two places are differences of prefix sums");
        return false;
    }
    if (!zf_kind_is_integer(reduce->term->type.kind) || !term_is_fixed(try)) return false;
    if (depend(try->match, reduce, false).reads_at_binder) return true;
    because(try, zf_arena_printf(try->match->spec->arena, "its term reads no stream at `%s`, so there are no prefix sums to take",
                                 reduce->binders[0].local->name));
    return false;
}

/// In a chunk, and in the elements of lanes, a loop is a loop; the work counter bounds it.
static bool is_loop(attempt *try) { return try->match->inst->pattern == ZF_NON_PARALLEL; }

/// The first row that fits is the form.
static const struct {
    const char *form;
    bool (*fits)(attempt *try);
    zf_reduce_form is;
    bool numbered;
} reduce_forms[] = {
    {"at most 64 terms", is_unrolled, ZF_R_UNROLLED, false},    {"0..d, 0..=d", is_scan, ZF_R_SCAN, true},
    {"d / n * n + c .. d", is_segmented, ZF_R_SEGMENTED, true}, {"sum, xor of a..b", is_prefix, ZF_R_PREFIX, true},
    {"a loop of a chunk", is_loop, ZF_R_LOOP, false},
};

/// Equal reductions are computed, and kept in seek states, once: they share a number.
static void number(zf_match *match, zf_reduce *reduce) {
    for (uint32_t k = match->body_first; k < match->numbered_count; k++) {
        const zf_reduce *other = match->numbered[k];
        if (other->form != reduce->form || !zf_match_same_reduce(other, reduce)) continue;
        reduce->index = k;
        return;
    }
    if (match->numbered_count == match->numbered_capacity) {
        uint32_t capacity = match->numbered_capacity == 0 ? 8 : match->numbered_capacity * 2;
        zf_reduce **numbered = ZF_NEW_ARRAY(match->spec->arena, zf_reduce *, capacity);
        for (uint32_t k = 0; k < match->numbered_count; k++) numbered[k] = match->numbered[k];
        match->numbered = numbered;
        match->numbered_capacity = capacity;
    }
    reduce->index = match->numbered_count;
    match->numbered[match->numbered_count++] = reduce;
}

static void report(const attempt *try, zf_span span) {
    static const char *const ops[] = {"sum", "min", "max", "xor", "any", "all"};
    zf_diags *diags = &try->match->spec->diags;
    zf_diag *diag =
        zf_diag_error(diags, ZF_D_NOT_A_SCAN, span, "this `%s` is not a scan and has no small bound", ops[try->reduce->op]);
    if (try->count != NULL) zf_diag_remark(diags, diag, (zf_span){0}, "%s", try->count);
    if (try->reason != NULL) zf_diag_remark(diags, diag, (zf_span){0}, "%s", try->reason);
    const char *d = try->match->inst->pattern == ZF_GROUP_PARALLEL ? "g" : "i";
    zf_diag_remark(diags, diag, (zf_span){0},
                   "a scan runs over `0..%s` or `0..=%s`; a segmented one from `%s / N * N`, N constant; at most %d terms are "
                   "unrolled; other sums are differences of prefix sums",
                   d, d, d, UNROLL_LIMIT);
}

/// Unrolled reductions multiply when they nest: 64 within 64 within 64 is a program nobody meant.
static void check_nesting(const zf_match *match, const zf_reduce *reduce, zf_span span) {
    uint64_t trips = reduce->form == ZF_R_UNROLLED ? reduce->trip : 1;
    for (const zf_enclosing *around = match->around; around != NULL && trips <= UNROLL_NESTED_LIMIT; around = around->outer) {
        if (around->reduce->form == ZF_R_UNROLLED) trips *= around->reduce->trip;
    }
    if (trips <= UNROLL_NESTED_LIMIT) return;
    zf_diag_error(&match->spec->diags, ZF_D_TOO_LARGE, span, "reductions that nest here unroll to more than %d terms",
                  UNROLL_NESTED_LIMIT);
}

static void match_reduce(zf_match *match, zf_reduce *reduce, zf_span span) {
    attempt try = {.match = match, .reduce = reduce};
    for (size_t k = 0; k < sizeof reduce_forms / sizeof *reduce_forms; k++) {
        reduce->domain = NULL; // a row that does not fit may have got this far
        reduce->inclusive = false;
        reduce->segment = reduce->skip = 0;
        reduce->trip = 0;
        if (!reduce_forms[k].fits(&try)) continue;
        reduce->form = reduce_forms[k].is;
        if (reduce_forms[k].numbered) number(match, reduce);
        check_nesting(match, reduce, span);
        return;
    }
    report(&try, span);
}

// ---- The walk -------------------------------------------------------------------------------------------------

static bool match_expr(zf_visitor *visitor, zf_expr *expr) {
    zf_match *match = visitor->user;
    if (expr->kind == ZF_X_REDUCE) {
        zf_reduce *reduce = expr->reduce;
        match_reduce(match, reduce, expr->span);
        // The ends belong to what is around the reduction; only its term sees its index.
        for (uint32_t k = 0; k < reduce->binder_count; k++) {
            zf_visit_expr(visitor, reduce->binders[k].lo);
            zf_visit_expr(visitor, reduce->binders[k].hi);
        }
        zf_enclosing inside = {.reduce = reduce, .outer = match->around};
        match->around = &inside;
        zf_visit_expr(visitor, reduce->term);
        match->around = inside.outer;
        return false;
    }
    if (!zf_note_use(match, expr)) return true;
    // The stream itself is accounted for; what selects its elements is still to be seen.
    zf_visit_expr(visitor, expr->kind == ZF_X_CURSOR ? expr->a : NULL);
    if (expr->kind == ZF_X_INDEX || expr->kind == ZF_X_BITS) {
        zf_visit_expr(visitor, expr->b);
        zf_visit_expr(visitor, expr->c);
    }
    return false;
}

static bool match_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    zf_match *match = visitor->user;
    if (stmt->kind != ZF_S_EMIT_REGION) return true;
    for (uint32_t k = 0; k < stmt->reduce->binder_count; k++) {
        zf_visit_expr(visitor, stmt->reduce->binders[k].lo);
        zf_visit_expr(visitor, stmt->reduce->binders[k].hi);
    }
    zf_reduce *outer = match->emit;
    match->emit = stmt->reduce;
    zf_visit_expr(visitor, stmt->reduce->term);
    match->emit = outer;
    return false;
}

static void match_body(zf_match *match, zf_body *body) {
    if (!body->present) return;
    match->body_first = match->numbered_count;
    match->stamp_count = body->local_count;
    match->stamps = ZF_NEW_ARRAY(match->spec->arena, uint32_t, body->local_count + 1);
    match->stamp = 0;
    zf_visitor visitor = {.user = match, .expr = match_expr, .stmt = match_stmt};
    zf_visit_body(&visitor, body);
    body->reduce_count = match->numbered_count - match->body_first;
}

bool zf_match_inst(zf_spec *spec, zf_inst *inst) {
    uint32_t errors = spec->diags.errors;
    zf_match match = {.spec = spec, .inst = inst};
    match.uses = ZF_NEW_ARRAY(spec->arena, zf_uses, inst->stream_count + 1);

    match.counts_groups = true;
    match_body(&match, &inst->groups);
    match.counts_groups = false;
    match_body(&match, &inst->size);
    zf_visitor visitor = {.user = &match, .expr = match_expr, .stmt = match_stmt};
    for (uint32_t k = 0; k < inst->state_count; k++) zf_visit_expr(&visitor, inst->states[k].init);
    match_body(&match, &inst->decode);

    zf_join_uses(&match);
    zf_match_shapes(spec, inst);
    if (inst->lanes > 0) zf_match_lanes(spec, inst);
    return spec->diags.errors == errors;
}

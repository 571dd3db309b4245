// Which params shape code: those that occur in a width, a shift, an index, a size, a length or a condition of their own
// algorithm (language.md, "Specialisation"). They are compiled in; the others are read from the block's header.
#include "frontend/check/walk.h"
#include "frontend/match/match.h"

/// A param may reach such a place through locals and states, so those are marked, too, and what is assigned to a marked
/// one shapes. Repeated until nothing new is marked.
typedef struct shaping {
    zf_inst *inst;
    bool *locals; ///< by id, of the body at hand
    uint32_t local_count;
    bool *states;
    bool inside; ///< within a place that shapes
    bool changed;
    uint32_t depth; ///< immutable locals being looked through
} shaping;

enum { LOOK_DEPTH = 100 };

static void shape(zf_visitor *visitor, zf_expr *expr) {
    shaping *state = visitor->user;
    bool before = state->inside;
    state->inside = true;
    zf_visit_expr(visitor, expr);
    state->inside = before;
}

/// Visits what is stored in a local or state: it shapes if what it is stored in does.
static void store(zf_visitor *visitor, bool shapes, zf_expr *value) {
    if (shapes)
        shape(visitor, value);
    else
        zf_visit_expr(visitor, value);
}

static bool local_shapes(const shaping *state, const zf_local *local) {
    return local != NULL && local->id < state->local_count && state->locals[local->id];
}

/// The operands of an expression that shape code whatever it is used for: bit k is operand k (a, b, c).
static unsigned shaping_operands(const zf_expr *expr) {
    enum { A = 1, B = 2, C = 4 };
    switch (expr->kind) {
    case ZF_X_INDEX: return B;
    case ZF_X_SLICE:
    case ZF_X_BITS: return B | C;
    case ZF_X_COND:
    case ZF_X_CURSOR: return A;
    case ZF_X_BINARY:
        return expr->op == ZF_OP_SHL || expr->op == ZF_OP_SHR ? B : expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR ? A : 0;
    default: return 0;
    }
}

static void shape_binders(zf_visitor *visitor, const zf_binder *binders, uint32_t count) {
    for (uint32_t k = 0; k < count; k++) {
        shape(visitor, binders[k].lo);
        shape(visitor, binders[k].hi);
    }
}

static bool shape_expr(zf_visitor *visitor, zf_expr *expr) {
    shaping *state = visitor->user;
    if (state->inside && expr->kind == ZF_X_PARAM) expr->port->shapes = true;
    if (state->inside && expr->kind == ZF_X_LOCAL && expr->local->id < state->local_count && !state->locals[expr->local->id]) {
        state->locals[expr->local->id] = true;
        // An immutable local is its `init`, which is visited at once. The next round visits the values assigned to other
        // locals.
        bool now = (expr->local->kind == ZF_L_LET || expr->local->kind == ZF_L_FORMAL) && state->depth < LOOK_DEPTH;
        state->depth++;
        if (now)
            zf_visit_expr(visitor, expr->local->init);
        else
            state->changed = true;
        state->depth--;
    }
    if (state->inside && expr->kind == ZF_X_STATE && !state->states[expr->state->index]) {
        state->states[expr->state->index] = state->changed = true;
    }
    if (expr->kind == ZF_X_REDUCE) {
        shape_binders(visitor, expr->reduce->binders, expr->reduce->binder_count);
        zf_visit_expr(visitor, expr->reduce->term);
        return false;
    }
    if (expr->kind == ZF_X_CALL) {
        for (uint32_t k = 0; k < expr->call->formal_count; k++) {
            zf_local *formal = expr->call->formals[k];
            store(visitor, local_shapes(state, formal), formal->init);
        }
        // Statements are visited for what they hold themselves; only the value takes part in what is around the call.
        bool before = state->inside;
        if (!expr->call->returns_inside) state->inside = false;
        zf_visit_stmts(visitor, expr->call->body);
        state->inside = before;
        zf_visit_expr(visitor, expr->call->value);
        return false;
    }
    unsigned operands = shaping_operands(expr);
    if (operands == 0) return true;
    zf_expr *all[] = {expr->a, expr->b, expr->c};
    for (unsigned k = 0; k < 3; k++) {
        if ((operands >> k & 1) != 0)
            shape(visitor, all[k]);
        else
            zf_visit_expr(visitor, all[k]);
    }
    return false;
}

static bool shape_stmt(zf_visitor *visitor, zf_stmt *stmt) {
    shaping *state = visitor->user;
    switch (stmt->kind) {
    case ZF_S_LET:
    case ZF_S_VAR: store(visitor, local_shapes(state, stmt->local), stmt->local->init); return false;
    case ZF_S_ASSIGN: {
        const zf_expr *place = stmt->place;
        const zf_expr *base = place->kind == ZF_X_INDEX ? place->a : place;
        bool shapes = base->kind == ZF_X_LOCAL   ? local_shapes(state, base->local)
                      : base->kind == ZF_X_STATE ? state->states[base->state->index]
                                                 : false;
        if (place->kind == ZF_X_INDEX) shape(visitor, place->b);
        store(visitor, shapes, stmt->value);
        return false;
    }
    case ZF_S_IF:
    case ZF_S_WHILE:
        shape(visitor, stmt->value);
        zf_visit_stmts(visitor, stmt->body);
        zf_visit_stmts(visitor, stmt->else_part);
        return false;
    case ZF_S_FOR_RANGE:
        shape_binders(visitor, &stmt->binder, 1);
        zf_visit_stmts(visitor, stmt->body);
        return false;
    case ZF_S_EMIT_REGION:
        shape_binders(visitor, stmt->reduce->binders, stmt->reduce->binder_count);
        zf_visit_expr(visitor, stmt->reduce->term);
        return false;
    default: return true;
    }
}

static void shape_body(zf_inst *inst, bool *locals, bool *states, zf_body *body, bool is_size) {
    if (!body->present) return;
    shaping state = {.inst = inst, .locals = locals, .local_count = body->local_count, .states = states};
    zf_visitor visitor = {.user = &state, .expr = shape_expr, .stmt = shape_stmt};
    do {
        state.changed = false;
        // States are set up by their `init` and assigned in decode: both reach what a state is used for.
        for (uint32_t k = 0; k < inst->state_count; k++) store(&visitor, states[k], inst->states[k].init);
        // A size, whether it is the value or comes from a `return`, shapes; the number of groups is read when a block
        // opens.
        state.inside = is_size;
        zf_visit_body(&visitor, body);
        state.inside = false;
    } while (state.changed);
}

void zf_match_shapes(zf_spec *spec, zf_inst *inst) {
    zf_body *bodies[] = {&inst->groups, &inst->size, &inst->decode};
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        bool *locals = ZF_NEW_ARRAY(spec->arena, bool, bodies[k]->local_count + 1);
        bool *states = ZF_NEW_ARRAY(spec->arena, bool, inst->state_count + 1);
        shape_body(inst, locals, states, bodies[k], bodies[k] == &inst->size);
    }
    // `slots: u32[1 << bits]`: the length of a stream is a length.
    shaping state = {.inst = inst};
    zf_visitor visitor = {.user = &state, .expr = shape_expr};
    for (uint32_t slot = 0; slot < inst->stream_count; slot++) shape(&visitor, inst->streams[slot]->length);
}

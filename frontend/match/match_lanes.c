// The rule of lanes: on any path through decode(i) a cursor moves at most once, and by an amount that the bytes which
// it reads in this step do not decide. Then rows of lanes in lockstep, reading in lane order, give what the sequential
// program gives.
#include <string.h>

#include "frontend/check/walk.h"
#include "frontend/match/match.h"

// ---- The state of one walk: one stream at a time --------------------------------------------------------------

typedef struct path {
    bool reachable;
    uint32_t moves; ///< most moves of the cursor on any path to here
    zf_span first;  ///< where the first of them is
    bool *tainted;  ///< decided by bytes that the cursor showed in this step: locals by id, then states
} path;

typedef struct lanes {
    zf_spec *spec;
    const zf_inst *inst;
    const zf_port *port;
    path at;
    uint32_t local_count, taint_count;
    struct spare {
        struct spare *next;
    } *spares;         ///< arrays of taints that are free again
    uint32_t returned; ///< most moves on a path that ended in `return`, of the call at hand
    zf_span returned_first;
    bool return_tainted;
    uint32_t control; ///< conditions around this place that tainted values decide
    uint32_t loops;   ///< loops around this place
    bool reported;
} lanes;

static bool value(lanes *l, zf_expr *expr);
static void stmts(lanes *l, zf_stmt *list);

static path copy_path(lanes *l) {
    path copy = l->at;
    if (l->spares != NULL) {
        copy.tainted = (bool *)l->spares;
        l->spares = l->spares->next;
    } else {
        copy.tainted = zf_arena_alloc(l->spec->arena, l->taint_count + sizeof(struct spare));
    }
    memcpy(copy.tainted, l->at.tainted, l->taint_count);
    return copy;
}

/// The worse of two paths that meet here. `other` is gone after this. True when it added a taint.
static bool meet(lanes *l, const path *other) {
    bool added = false;
    if (other->reachable) {
        if (!l->at.reachable || other->moves > l->at.moves) {
            l->at.moves = other->moves;
            l->at.first = other->first;
        }
        l->at.reachable = true;
    }
    for (uint32_t k = 0; k < l->taint_count; k++) {
        added |= l->at.tainted[k] && !other->tainted[k];
        l->at.tainted[k] |= other->tainted[k];
    }
    struct spare *spare = (struct spare *)(void *)other->tainted;
    spare->next = l->spares;
    l->spares = spare;
    return added;
}

static bool *local_taint(const lanes *l, const zf_local *local) {
    return local->id < l->local_count ? &l->at.tainted[local->id] : NULL;
}

static bool *state_taint(const lanes *l, const zf_state *state) { return &l->at.tainted[l->local_count + state->index]; }

/// In a loop a taint stays: one round's end is the next one's beginning.
static void set_taint(const lanes *l, bool *taint, bool tainted) {
    if (taint != NULL) *taint = tainted || (l->loops > 0 && *taint);
}

// ---- Moves ----------------------------------------------------------------------------------------------------

typedef enum motion { STAYS, LOOKS, MOVES, MOVES_BY_DATA } motion;

/// How each cursor operation moves. LOOKS: shows bytes that lie ahead without moving.
static const struct {
    motion motion;
    const char *text;
} motions[ZF_C_COUNT] = {
    [ZF_C_NEXT] = {MOVES, "next"},
    [ZF_C_U8] = {MOVES, "u8"},
    [ZF_C_U16] = {MOVES, "u16"},
    [ZF_C_U32] = {MOVES, "u32"},
    [ZF_C_U64] = {MOVES, "u64"},
    [ZF_C_I8] = {MOVES, "i8"},
    [ZF_C_I16] = {MOVES, "i16"},
    [ZF_C_I32] = {MOVES, "i32"},
    [ZF_C_I64] = {MOVES, "i64"},
    [ZF_C_LE] = {MOVES, "le"},
    [ZF_C_BE] = {MOVES, "be"},
    [ZF_C_VARINT] = {MOVES_BY_DATA, "varint"},
    [ZF_C_READ] = {MOVES, "read"},
    [ZF_C_READ_MSB] = {MOVES, "read_msb"},
    [ZF_C_PEEK] = {LOOKS, "peek"},
    [ZF_C_SKIP] = {MOVES, "skip"},
    [ZF_C_ALIGN] = {MOVES_BY_DATA, "align"},
    [ZF_C_AT_END] = {STAYS, "at_end"},
    [ZF_C_POS] = {STAYS, "pos"},
    [ZF_C_BIT_POS] = {STAYS, "bit_pos"},
};

static zf_diag *complain(lanes *l, zf_span span, const char *message, const char *operation) {
    l->reported = true;
    zf_diag *diag = zf_diag_error(&l->spec->diags, ZF_D_CURSOR_TWICE, span, message, l->port->name, operation);
    zf_diag_remark(&l->spec->diags, diag, (zf_span){0},
                   "lanes run in lockstep: each may move a cursor once per element, by an amount known before it reads");
    return diag;
}

static bool move(lanes *l, const zf_expr *expr, bool amount_tainted) {
    const char *text = motions[expr->cursor].text;
    if (motions[expr->cursor].motion == STAYS) return false;
    if (motions[expr->cursor].motion == LOOKS) return true;
    if (l->reported || !l->at.reachable) return true;
    if (motions[expr->cursor].motion == MOVES_BY_DATA) {
        complain(l, expr->span, "`%s.%s()` moves by an amount that its bytes decide", text);
    } else if (amount_tainted) {
        complain(l, expr->span, "the amount of `%s.%s(..)` depends on bytes that the cursor showed in this step", text);
    } else if (l->control > 0) {
        complain(l, expr->span, "whether `%s.%s()` is reached depends on bytes that the cursor showed in this step", text);
    } else if (l->loops > 0) {
        complain(l, expr->span, "`%s.%s()` in a loop: the cursor moves more than once per element", text);
    } else if (l->at.moves > 0) {
        zf_diag *diag = complain(l, expr->span, "`%s.%s()` moves the cursor a second time for one element", text);
        zf_diag_remark(&l->spec->diags, diag, l->at.first, "first moved here");
    }
    if (l->at.moves++ == 0) l->at.first = expr->span;
    return true;
}

// ---- Values: true when tainted --------------------------------------------------------------------------------

/// Evaluates b only on some paths, decided by `condition`.
static bool value_sometimes(lanes *l, bool condition, zf_expr *b, zf_expr *c) {
    path before = copy_path(l);
    l->control += condition;
    bool tainted = value(l, b);
    path after = l->at;
    l->at = before;
    tainted |= value(l, c);
    meet(l, &after);
    l->control -= condition;
    return tainted || condition;
}

static bool value_call(lanes *l, zf_call *call) {
    for (uint32_t k = 0; k < call->formal_count; k++) {
        bool tainted = value(l, call->formals[k]->init);
        set_taint(l, local_taint(l, call->formals[k]), tainted);
    }
    uint32_t returned = l->returned;
    zf_span returned_first = l->returned_first;
    bool return_tainted = l->return_tainted, was_reachable = l->at.reachable;
    l->returned = 0;
    l->return_tainted = false;
    stmts(l, call->body);
    bool tainted = value(l, call->value) || l->return_tainted;
    if (l->returned > l->at.moves || !l->at.reachable) {
        l->at.moves = l->returned;
        l->at.first = l->returned_first;
    }
    l->at.reachable = was_reachable;
    l->returned = returned;
    l->returned_first = returned_first;
    l->return_tainted = return_tainted;
    return tainted;
}

static bool value(lanes *l, zf_expr *expr) {
    if (expr == NULL) return false;
    bool tainted;
    switch (expr->kind) {
    case ZF_X_LOCAL: {
        const bool *taint = local_taint(l, expr->local);
        return taint != NULL && *taint;
    }
    case ZF_X_STATE: return *state_taint(l, expr->state);
    case ZF_X_CURSOR: tainted = value(l, expr->a); return expr->port == l->port ? move(l, expr, tainted) : tainted;
    case ZF_X_COND: return value_sometimes(l, value(l, expr->a), expr->b, expr->c);
    case ZF_X_BINARY:
        tainted = value(l, expr->a);
        if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) return value_sometimes(l, tainted, expr->b, NULL);
        return (int)tainted | (int)value(l, expr->b);
    case ZF_X_CALL: return value_call(l, expr->call);
    case ZF_X_REDUCE:
        tainted = false;
        l->loops++;
        for (uint32_t k = 0; k < expr->reduce->binder_count; k++) {
            tainted |= value(l, expr->reduce->binders[k].lo);
            tainted |= value(l, expr->reduce->binders[k].hi);
        }
        tainted |= value(l, expr->reduce->term);
        l->loops--;
        return tainted;
    case ZF_X_STREAM: return expr->port == l->port; // [ ] shows the bytes of the cursor's stream, too
    case ZF_X_LEN: return expr->a->kind == ZF_X_STREAM ? false : value(l, expr->a);
    default:
        tainted = value(l, expr->a);
        tainted |= value(l, expr->b);
        tainted |= value(l, expr->c);
        return tainted;
    }
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void assign(lanes *l, const zf_expr *place, bool tainted, bool whole) {
    tainted = tainted || l->control > 0;
    const zf_expr *base = place->kind == ZF_X_INDEX ? place->a : place;
    bool *taint = base->kind == ZF_X_LOCAL   ? local_taint(l, base->local)
                  : base->kind == ZF_X_STATE ? state_taint(l, base->state)
                                             : NULL;
    if (taint != NULL) set_taint(l, taint, tainted || (*taint && !(whole && place == base)));
}

static bool loop_once(lanes *l, zf_stmt *stmt) {
    path before = copy_path(l);
    l->loops++;
    bool condition = value(l, stmt->kind == ZF_S_WHILE ? stmt->value : NULL);
    l->control += condition;
    stmts(l, stmt->body);
    l->control -= condition;
    l->loops--;
    return meet(l, &before);
}

/// Taints of one round affect the next. The outermost loop repeats on behalf of those inside it. Taints only grow, but a
/// program can make that take long, so after a few rounds everything is taken to be tainted.
static void loop(lanes *l, zf_stmt *stmt) {
    bool added = loop_once(l, stmt);
    if (l->loops > 0) return;
    for (int round = 0; added && round < 8; round++) added = loop_once(l, stmt);
    if (!added) return;
    memset(l->at.tainted, true, l->taint_count);
    loop_once(l, stmt);
}

static void statement(lanes *l, zf_stmt *stmt) {
    switch (stmt->kind) {
    case ZF_S_LET:
    case ZF_S_VAR: {
        set_taint(l, local_taint(l, stmt->local), value(l, stmt->local->init));
        return;
    }
    case ZF_S_ASSIGN: {
        bool tainted = stmt->place->kind == ZF_X_INDEX && value(l, stmt->place->b);
        tainted |= value(l, stmt->value);
        assign(l, stmt->place, tainted, !stmt->has_op);
        return;
    }
    case ZF_S_IF: {
        bool condition = value(l, stmt->value);
        path before = copy_path(l);
        l->control += condition;
        stmts(l, stmt->body);
        path after = l->at;
        l->at = before;
        stmts(l, stmt->else_part);
        meet(l, &after);
        l->control -= condition;
        return;
    }
    case ZF_S_WHILE:
    case ZF_S_LOOP: loop(l, stmt); return;
    case ZF_S_FOR_RANGE:
        value(l, stmt->binder.lo);
        value(l, stmt->binder.hi);
        loop(l, stmt);
        return;
    case ZF_S_FOR_EACH:
        value(l, stmt->value);
        loop(l, stmt);
        return;
    case ZF_S_RETURN:
        l->return_tainted |= value(l, stmt->value) || l->control > 0;
        if (l->at.reachable && l->at.moves > l->returned) {
            l->returned = l->at.moves;
            l->returned_first = l->at.first;
        }
        l->at.reachable = false;
        return;
    case ZF_S_BREAK:
    case ZF_S_CONTINUE:
        // The code after the loop is reached from the loop's beginning, too, and a move inside it is an error anyway.
        l->at.reachable = false;
        return;
    default:
        value(l, stmt->value);
        value(l, stmt->count);
        value(l, stmt->target);
    }
}

static void stmts(lanes *l, zf_stmt *list) {
    for (zf_stmt *stmt = list; stmt != NULL; stmt = stmt->next) statement(l, stmt);
}

static bool has_cursor(zf_visitor *visitor, zf_expr *expr) {
    const zf_port *port = expr->kind == ZF_X_CURSOR ? expr->port : NULL;
    if (port != NULL) ((bool *)visitor->user)[port->slot] = true;
    return true;
}

void zf_match_lanes(zf_spec *spec, zf_inst *inst) {
    bool *moved = ZF_NEW_ARRAY(spec->arena, bool, inst->stream_count + 1);
    zf_visitor visitor = {.user = moved, .expr = has_cursor};
    zf_visit_body(&visitor, &inst->decode);
    for (uint32_t slot = 0; slot < inst->stream_count; slot++) {
        if (!moved[slot]) continue;
        lanes l = {.spec = spec, .inst = inst, .port = inst->streams[slot], .local_count = inst->decode.local_count};
        l.at.reachable = true;
        l.taint_count = l.local_count + inst->state_count;
        l.at.tainted = zf_arena_alloc(spec->arena, l.taint_count + sizeof(struct spare));
        stmts(&l, inst->decode.stmts);
        value(&l, inst->decode.value);
    }
}

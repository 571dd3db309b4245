#include "patterns/plan/check_program.h"

#include <string.h>

#include "patterns/plan/plan_internal.h"

enum { DEPTH_LIMIT = 1500 }; ///< nested expressions, on the C stack

// ---- Steps ----------------------------------------------------------------------------------------------------

static void fail(zf_check_builder *b, zf_diag_code code, zf_span span, const char *what, const char *hint) {
    if (!b->failed && b->diags != NULL) {
        zf_diag *diag = zf_diag_error(b->diags, code, span, "%s", what);
        if (hint != NULL) zf_diag_hint(b->diags, diag, "%s", hint);
    }
    b->failed = true;
}

static void unsupported(zf_check_builder *b, zf_span span) {
    fail(b, ZF_D_NOT_LOWERED, span,
         "`groups`, ranges and lengths are made of integers and booleans, without loops and reductions",
         "compute it in `encode` and keep it in a param");
}

static zf_span column_of(const zf_check_builder *b) { return b->plan->graph->column->span; }

static void too_large(zf_check_builder *b, zf_span span) {
    fail(b, ZF_D_TOO_LARGE, span, "the checks of a block of this column grow beyond the limit", NULL);
}

static int32_t change_of(zf_abi_check_op op) {
    if (op >= ZF_CHECK_ADD && op <= ZF_CHECK_MAX_S) return -1;
    switch (op) {
    case ZF_CHECK_CONST:
    case ZF_CHECK_SLOT:
    case ZF_CHECK_GET:
    case ZF_CHECK_DUP: return 1;
    case ZF_CHECK_SET:
    case ZF_CHECK_JUMP_UNLESS:
    case ZF_CHECK_HOLDS: return -1;
    default: return 0;
    }
}

void zf_check_emit(zf_check_builder *b, zf_abi_check_op op, uint32_t a, uint32_t extra) {
    if (b->failed) return;
    int32_t depth = (int32_t)b->depth + change_of(op);
    if (b->step_count == ZF_CHECK_STEPS_MOST || depth > ZF_CHECK_STACK_MOST) {
        too_large(b, column_of(b));
        return;
    }
    b->depth = (uint32_t)depth;
    if (b->step_count == b->step_room) {
        uint32_t room = b->step_room == 0 ? 64 : 2 * b->step_room;
        zf_abi_check_step *grown = ZF_NEW_ARRAY(b->arena, zf_abi_check_step, room);
        if (b->step_count > 0) memcpy(grown, b->steps, b->step_count * sizeof *grown);
        b->steps = grown;
        b->step_room = room;
    }
    b->steps[b->step_count++] = (zf_abi_check_step){.op = op, .a = a, .b = extra};
}

static void step(zf_check_builder *b, zf_abi_check_op op) { zf_check_emit(b, op, 0, 0); }

/// Appends constants and returns the number of the first.
static uint32_t add_constants(zf_check_builder *b, const uint64_t *values, uint64_t count) {
    uint32_t first = b->constant_count;
    if (count > ZF_CHECK_CONSTANTS_MOST - first) {
        too_large(b, column_of(b));
        return 0;
    }
    if (count > b->constant_room - first) {
        uint32_t room = 2 * (first + (uint32_t)count);
        uint64_t *grown = ZF_NEW_ARRAY(b->arena, uint64_t, room);
        if (first > 0) memcpy(grown, b->constants, first * sizeof *grown);
        b->constants = grown;
        b->constant_room = room;
    }
    memcpy(b->constants + first, values, count * sizeof *values);
    b->constant_count += (uint32_t)count;
    return first;
}

void zf_check_constant(zf_check_builder *b, uint64_t value) {
    enum { LOOKED_AT = 32 }; // of the last constants: neighbours often are the same
    if (b->failed) return;
    uint32_t first = b->constant_count > LOOKED_AT ? b->constant_count - LOOKED_AT : 0;
    for (uint32_t k = first; k < b->constant_count; k++) {
        if (b->constants[k] != value) continue;
        zf_check_emit(b, ZF_CHECK_CONST, k, 0);
        return;
    }
    zf_check_emit(b, ZF_CHECK_CONST, add_constants(b, &value, 1), 0);
}

static void slot(zf_check_builder *b, zf_abi_slot_kind kind, uint32_t number) {
    int32_t at = zf_plan_slot(b->plan, kind, number, 0);
    if (at < 0)
        fail(b, ZF_D_NOT_LOWERED, column_of(b), "the plan lacks a descriptor word that a check reads", NULL);
    else
        zf_check_emit(b, ZF_CHECK_SLOT, (uint32_t)at, 0);
}

void zf_check_count(zf_check_builder *b, uint32_t edge) { slot(b, ZF_SLOT_COUNT, edge); }
void zf_check_chunks(zf_check_builder *b, uint32_t tree) { slot(b, ZF_SLOT_CHUNKS, tree); }

uint32_t zf_check_local(zf_check_builder *b, zf_span span) {
    if (b->locals == ZF_CHECK_LOCALS_MOST) {
        too_large(b, span);
        return 0;
    }
    if (++b->locals > b->most_locals) b->most_locals = b->locals;
    return b->locals - 1;
}

void zf_check_bind(zf_check_builder *b, zf_check_scope *scope, const zf_local *local, uint32_t kept) {
    if (scope->bound_count == ZF_CP_BOUND_MOST) {
        too_large(b, local->span);
        return;
    }
    scope->bound[scope->bound_count].local = local;
    scope->bound[scope->bound_count++].kept = kept;
}

/// Jumps over steps that are not known yet; land() says where to.
static uint32_t jump(zf_check_builder *b, zf_abi_check_op op) {
    step(b, op);
    return b->step_count;
}

static void land(zf_check_builder *b, uint32_t jumped) {
    if (!b->failed) b->steps[jumped - 1].a = b->step_count - jumped;
}

// ---- Values ---------------------------------------------------------------------------------------------------

static bool is_word(zf_type type) { return !type.nullable && (zf_kind_is_integer(type.kind) || type.kind == ZF_K_BOOL); }

/// Makes the top a value of `kind`.
static void as_kind(zf_check_builder *b, zf_kind kind) {
    unsigned bits = zf_kind_bits(kind);
    if (zf_kind_is_integer(kind) && bits < 64) zf_check_emit(b, ZF_CHECK_NARROW, bits, zf_kind_is_signed(kind));
}

/// The word of a value, as a program holds it.
static uint64_t word_of(zf_kind kind, uint64_t bits) {
    return kind == ZF_K_BOOL ? bits != 0 : (uint64_t)zf_value_of_bits(kind, bits);
}

void zf_check_param(zf_check_builder *b, uint32_t node, const zf_port *port) {
    uint64_t bits;
    if (!is_word(port->type)) {
        unsupported(b, port->span);
    } else if (zf_plan_param_known(b->plan, NULL, node, port, &bits)) {
        zf_check_constant(b, word_of(port->type.kind, bits));
    } else {
        slot(b, ZF_SLOT_PARAM, b->plan->graph->nodes[node].first_param + port->slot);
        as_kind(b, port->type.kind);
        if (port->type.kind != ZF_K_BOOL) return;
        step(b, ZF_CHECK_NOT);
        step(b, ZF_CHECK_NOT);
    }
}

/// Notes that a check of the language failed where the top is 0.
static void holds(zf_check_builder *b, const zf_check_scope *scope, zf_span span, uint32_t violation) {
    int32_t number = zf_plan_check(b->plan, scope->node, span, violation);
    if (number < 0)
        unsupported(b, span);
    else
        zf_check_emit(b, ZF_CHECK_HOLDS, (uint32_t)number, 0);
}

static void local(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    const zf_local *of = expr->local;
    const zf_graph_node *node = &b->plan->graph->nodes[scope->node];
    for (uint32_t k = scope->bound_count; k-- > 0;) {
        if (scope->bound[k].local != of) continue;
        zf_check_emit(b, ZF_CHECK_GET, scope->bound[k].kept, 0);
        return;
    }
    switch (of->kind) {
    case ZF_L_DOMAIN_I: scope->uses_i = true; break;
    case ZF_L_DOMAIN_G: scope->uses_g = true; break;
    case ZF_L_DOMAIN_J: zf_check_constant(b, 0); return;
    case ZF_L_LET:
    case ZF_L_FORMAL:
        if (of->init != NULL && !of->init->effect) {
            zf_check_expr(b, scope, of->init);
            return;
        }
        unsupported(b, expr->span);
        return;
    default: unsupported(b, expr->span); return;
    }
    if (of->kind == ZF_L_DOMAIN_I)
        zf_check_count(b, node->output);
    else if (scope->groups >= 0)
        zf_check_emit(b, ZF_CHECK_GET, (uint32_t)scope->groups, 0);
    else
        unsupported(b, expr->span);
    zf_check_constant(b, 1);
    step(b, ZF_CHECK_SUB);
}

/// Pushes `then`, if the top holds, else `otherwise`.
static void either(zf_check_builder *b, zf_check_scope *scope, const zf_expr *then, const zf_expr *otherwise, uint64_t known) {
    if (b->choices == ZF_CHECK_PENDING_MOST - 1) {
        too_large(b, column_of(b));
        return;
    }
    b->choices++;
    uint32_t to_else = jump(b, ZF_CHECK_JUMP_UNLESS), depth = b->depth;
    if (then != NULL)
        zf_check_expr(b, scope, then);
    else
        zf_check_constant(b, known);
    uint32_t to_end = jump(b, ZF_CHECK_JUMP);
    land(b, to_else);
    b->depth = depth;
    if (otherwise != NULL)
        zf_check_expr(b, scope, otherwise);
    else
        zf_check_constant(b, known);
    land(b, to_end);
    b->choices--;
}

static void divide(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    bool is_signed = zf_kind_is_signed(expr->type.kind), rest = expr->op == ZF_OP_REM;
    if (!expr->proved) {
        step(b, ZF_CHECK_DUP);
        holds(b, scope, expr->span, 7);
    }
    step(b, rest ? (is_signed ? ZF_CHECK_REM_S : ZF_CHECK_REM_U) : (is_signed ? ZF_CHECK_DIV_S : ZF_CHECK_DIV_U));
}

static void compare(zf_check_builder *b, zf_op op, bool is_signed) {
    zf_abi_check_op less = is_signed ? ZF_CHECK_LT_S : ZF_CHECK_LT_U, at_most = is_signed ? ZF_CHECK_LE_S : ZF_CHECK_LE_U;
    step(b, op == ZF_OP_EQ || op == ZF_OP_NE ? ZF_CHECK_EQ : op == ZF_OP_LT || op == ZF_OP_GE ? less : at_most);
    if (op == ZF_OP_NE || op == ZF_OP_GE || op == ZF_OP_GT) step(b, ZF_CHECK_NOT);
}

static void binary(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) {
        bool both = expr->op == ZF_OP_ANDAND;
        zf_check_expr(b, scope, expr->a);
        either(b, scope, both ? expr->b : NULL, both ? NULL : expr->b, !both);
        return;
    }
    if (!is_word(expr->a->type) || !is_word(expr->b->type)) {
        unsupported(b, expr->span);
        return;
    }
    zf_check_expr(b, scope, expr->a);
    zf_check_expr(b, scope, expr->b);
    bool is_signed = zf_kind_is_signed(expr->a->type.kind);
    switch (expr->op) {
    case ZF_OP_ADD: step(b, ZF_CHECK_ADD); break;
    case ZF_OP_SUB: step(b, ZF_CHECK_SUB); break;
    case ZF_OP_MUL: step(b, ZF_CHECK_MUL); break;
    case ZF_OP_DIV:
    case ZF_OP_REM: divide(b, scope, expr); break;
    case ZF_OP_AND: step(b, ZF_CHECK_AND); break;
    case ZF_OP_OR: step(b, ZF_CHECK_OR); break;
    case ZF_OP_XOR: step(b, ZF_CHECK_XOR); break;
    case ZF_OP_SHL: step(b, ZF_CHECK_SHL); break;
    case ZF_OP_SHR: step(b, is_signed ? ZF_CHECK_SHR_S : ZF_CHECK_SHR_U); break;
    default: compare(b, expr->op, is_signed); return;
    }
    as_kind(b, expr->type.kind);
}

static void unary(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    if (expr->op == ZF_OP_NEG) zf_check_constant(b, 0);
    zf_check_expr(b, scope, expr->a);
    if (expr->op == ZF_OP_NEG) {
        step(b, ZF_CHECK_SUB);
    } else if (expr->type.kind == ZF_K_BOOL) {
        step(b, ZF_CHECK_NOT);
    } else {
        zf_check_constant(b, UINT64_MAX);
        step(b, ZF_CHECK_XOR);
    }
    as_kind(b, expr->type.kind);
}

static void primitive(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    zf_kind kind = expr->a->type.kind;
    unsigned bits = zf_kind_bits(kind);
    bool least = expr->prim == ZF_P_MIN, is_signed = zf_kind_is_signed(kind);
    if (!is_word(expr->a->type)) {
        unsupported(b, expr->span);
        return;
    }
    if (expr->prim == ZF_P_CLZ) zf_check_constant(b, bits);
    zf_check_expr(b, scope, expr->a);
    switch (expr->prim) {
    case ZF_P_MIN:
    case ZF_P_MAX:
        zf_check_expr(b, scope, expr->b);
        step(b, least ? (is_signed ? ZF_CHECK_MIN_S : ZF_CHECK_MIN_U) : (is_signed ? ZF_CHECK_MAX_S : ZF_CHECK_MAX_U));
        return;
    case ZF_P_BIT_WIDTH:
    case ZF_P_CLZ:
    case ZF_P_POPCOUNT:
        as_kind(b, zf_kind_unsigned(kind)); // without the sign's copies
        step(b, expr->prim == ZF_P_POPCOUNT ? ZF_CHECK_POPCOUNT : ZF_CHECK_BIT_WIDTH);
        if (expr->prim == ZF_P_CLZ) step(b, ZF_CHECK_SUB);
        return;
    case ZF_P_CTZ: zf_check_emit(b, ZF_CHECK_CTZ, bits, 0); return;
    case ZF_P_BITS_OF:
    case ZF_P_VALUE_OF: as_kind(b, expr->type.kind); return;
    case ZF_P_ROUND: return;
    case ZF_P_NTH_BIT: // fails where there is no such bit
    case ZF_P_COUNT: break;
    }
    unsupported(b, expr->span);
}

/// The arguments are evaluated once, then the value of the function.
static void call(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    const zf_call *of = expr->call;
    bool lets_only = !of->returns_inside && of->value != NULL;
    for (const zf_stmt *s = of->body; s != NULL; s = s->next) lets_only = lets_only && s->kind == ZF_S_LET;
    if (!lets_only) {
        unsupported(b, expr->span);
        return;
    }
    uint32_t locals = b->locals, bound = scope->bound_count;
    for (uint32_t k = 0; k < of->formal_count && !b->failed; k++) {
        zf_check_expr(b, scope, of->formals[k]->init);
        uint32_t kept = zf_check_local(b, expr->span);
        zf_check_emit(b, ZF_CHECK_SET, kept, 0);
        zf_check_bind(b, scope, of->formals[k], kept);
    }
    for (const zf_stmt *s = of->body; s != NULL && !b->failed; s = s->next) {
        if (s->local->is_seq) continue; // another name of a sequence
        zf_check_expr(b, scope, s->local->init);
        uint32_t kept = zf_check_local(b, s->span);
        zf_check_emit(b, ZF_CHECK_SET, kept, 0);
        zf_check_bind(b, scope, s->local, kept);
    }
    zf_check_expr(b, scope, of->value);
    b->locals = locals;
    scope->bound_count = bound;
}

static uint32_t add_table(zf_check_builder *b, const zf_table_const *table) {
    uint32_t first = b->constant_count;
    for (uint64_t k = 0; k < table->length; k++) {
        uint64_t word = word_of(table->type.kind, table->bits[k]);
        uint32_t at = add_constants(b, &word, 1);
        if (k == 0) first = at;
    }
    return first;
}

static void element(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    const zf_table_const *table = expr->a->kind == ZF_X_TABLE ? expr->a->table : NULL;
    if (table == NULL || table->type.nullable || !is_word(expr->type)) {
        unsupported(b, expr->span);
        return;
    }
    zf_check_expr(b, scope, expr->b);
    if (!expr->proved) {
        step(b, ZF_CHECK_DUP);
        zf_check_constant(b, table->length);
        step(b, ZF_CHECK_LT_U);
        holds(b, scope, expr->span, 1);
    }
    if (!b->failed) zf_check_emit(b, ZF_CHECK_TABLE, add_table(b, table), (uint32_t)table->length);
}

static void length(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    const zf_graph_node *node = &b->plan->graph->nodes[scope->node];
    switch (expr->a->kind) {
    case ZF_X_STREAM: zf_check_count(b, node->inputs[expr->a->port->slot]); return;
    case ZF_X_OUT: zf_check_count(b, node->output); return;
    case ZF_X_TABLE: zf_check_constant(b, expr->a->table->length); return;
    default: unsupported(b, expr->span); return;
    }
}

static void cast(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    zf_check_expr(b, scope, expr->a);
    if (!zf_cast_keeps(expr)) as_kind(b, expr->type.kind);
}

static void evaluate(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST: zf_check_constant(b, word_of(expr->type.kind, expr->bits)); return;
    case ZF_X_LOCAL: local(b, scope, expr); return;
    case ZF_X_PARAM: zf_check_param(b, scope->node, expr->port); return;
    case ZF_X_UNARY: unary(b, scope, expr); return;
    case ZF_X_BINARY: binary(b, scope, expr); return;
    case ZF_X_COND:
        zf_check_expr(b, scope, expr->a);
        either(b, scope, expr->b, expr->c, 0);
        return;
    case ZF_X_CAST: cast(b, scope, expr); return;
    case ZF_X_PRIM: primitive(b, scope, expr); return;
    case ZF_X_CALL: call(b, scope, expr); return;
    case ZF_X_INDEX: element(b, scope, expr); return;
    case ZF_X_LEN: length(b, scope, expr); return;
    default: unsupported(b, expr->span); return;
    }
}

void zf_check_expr(zf_check_builder *b, zf_check_scope *scope, const zf_expr *expr) {
    if (b->failed) return;
    if (b->nested == DEPTH_LIMIT) {
        too_large(b, expr->span);
    } else if (expr->is_seq || expr->effect || !is_word(expr->type)) {
        unsupported(b, expr->span);
    } else {
        b->nested++;
        evaluate(b, scope, expr);
        b->nested--;
    }
}

// Verifies the properties that later stages rely on: every node has the children, types and ranges of its kind, locals are
// numbered and belong to their body, statements stand where they may. It stops at the first fault and reports its place in the
// tree.
#include <stdlib.h>

#include "frontend/check/checker.h"

typedef struct verifier {
    const zf_query *query; ///< NULL: an algorithm
    const zf_inst *inst;
    const char *where; ///< which body
    zf_body_kind kind;
    const zf_local **locals; ///< of the body, by id
    uint32_t local_count;
    zf_type result; ///< of the innermost call or the body; NONE: no value
    uint32_t loops, depth;
    bool has_return; ///< a RETURN was seen in the innermost call or body
    zf_inst_fault *found;
} verifier;

enum { VERIFY_DEPTH = 10000 };

static bool verify_expr(verifier *v, const zf_expr *expr);
static bool verify_stmts(verifier *v, const zf_stmt *stmt);

static bool fault(verifier *v, zf_span span, const char *what) {
    zf_text_printf(&v->found->reason, "%s, %s: %s", v->inst->name == NULL ? "?" : v->inst->name, v->where, what);
    v->found->place = span;
    return false;
}

#define WANT(condition, what)                                                                                                    \
    do {                                                                                                                         \
        if (!(condition)) return fault(v, expr->span, what);                                                                     \
    } while (0)

#define WANT_STMT(condition, what)                                                                                               \
    do {                                                                                                                         \
        if (!(condition)) return fault(v, stmt->span, what);                                                                     \
    } while (0)

static bool is_value_type(zf_type type) { return type.kind != ZF_K_ERROR && type.kind != ZF_K_NONE; }
static bool is_integer(zf_type type) { return !type.nullable && zf_kind_is_integer(type.kind); }
static bool is_number(zf_type type) { return is_integer(type) || (!type.nullable && zf_kind_is_float(type.kind)); }
static bool is_bool(zf_type type) { return !type.nullable && type.kind == ZF_K_BOOL; }
static bool is_u64(const zf_expr *expr) { return !expr->is_seq && !expr->type.nullable && expr->type.kind == ZF_K_U64; }
static bool is_scalar(const zf_expr *expr) { return !expr->is_seq && is_value_type(expr->type); }

static bool in_decode(const verifier *v) { return v->kind != ZF_IN_ENCODE && v->kind != ZF_IN_CONST; }

static bool verify_local(verifier *v, zf_span span, const zf_local *local) {
    if (local == NULL) return fault(v, span, "a use of no local");
    if (local->id >= v->local_count || v->locals[local->id] != local)
        return fault(v, span, "a local that is not in its body's list");
    return true;
}

static bool verify_range(verifier *v, const zf_expr *expr) {
    if (expr->is_seq || (!is_integer(expr->type) && !is_bool(expr->type))) return true;
    WANT(expr->range.lo <= expr->range.hi, "an empty range");
    WANT(zf_interval_within(expr->range, zf_interval_of_kind(expr->type.kind)), "a range outside its type");
    return true;
}

static bool verify_children(verifier *v, const zf_expr *expr, int count) {
    const zf_expr *children[3] = {expr->a, expr->b, expr->c};
    for (int k = 0; k < 3; k++) {
        WANT((children[k] != NULL) == (k < count), "a node with too many or too few operands");
        if (k < count && !verify_expr(v, children[k])) return false;
        if (k < count) WANT(!children[k]->effect || expr->effect, "an effect that the node above does not know of");
    }
    return true;
}

// ---- Expressions by kind --------------------------------------------------------------------------------------

static bool verify_binary(verifier *v, const zf_expr *expr) {
    zf_type a = expr->a->type, b = expr->b->type;
    WANT(is_scalar(expr->a) && is_scalar(expr->b), "an operation on a sequence");
    switch (expr->op) {
    case ZF_OP_ANDAND:
    case ZF_OP_OROR: WANT(is_bool(a) && is_bool(b) && is_bool(expr->type), "a logical operation on something else"); return true;
    case ZF_OP_SHL:
    case ZF_OP_SHR:
        WANT(is_integer(a) && zf_type_equal(a, expr->type), "a shift of something else");
        WANT(!b.nullable && zf_kind_is_unsigned(b.kind), "a shift by something that is not unsigned");
        return true;
    default: break;
    }
    WANT(zf_type_equal(a, b), "operands of two types");
    if (expr->op >= ZF_OP_EQ && expr->op <= ZF_OP_GE) {
        WANT(is_bool(expr->type), "a comparison that is not bool");
        WANT(expr->op == ZF_OP_EQ || expr->op == ZF_OP_NE || is_number(a), "an order of something without one");
        return true;
    }
    WANT(expr->op >= ZF_OP_OR && expr->op < ZF_OP_COUNT, "a binary node with another operator");
    bool arithmetic = expr->op == ZF_OP_ADD || expr->op == ZF_OP_SUB || expr->op == ZF_OP_MUL || expr->op == ZF_OP_DIV;
    WANT(zf_type_equal(a, expr->type), "a result of another type than its operands");
    WANT(is_integer(a) || (arithmetic && is_number(a)), "arithmetic on something else");
    bool divides = (expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM) && is_integer(a);
    if (divides && expr->proved)
        WANT(expr->b->range.lo > 0 || expr->b->range.hi < 0, "a division called proved whose divisor may be 0");
    return true;
}

static bool verify_prim(verifier *v, const zf_expr *expr) {
    WANT(expr->prim < ZF_P_COUNT, "a primitive that does not exist");
    zf_prim_operands operands = zf_prim_operands_of(expr->prim);
    bool two = operands == ZF_PRIM_INTEGERS || operands == ZF_PRIM_BIT_NUMBER;
    if (!verify_children(v, expr, two ? 2 : 1)) return false;
    WANT(is_scalar(expr->a), "a primitive of a sequence");
    zf_type a = expr->a->type;
    switch (operands) {
    case ZF_PRIM_INTEGERS:
        WANT(is_integer(a) && zf_type_equal(a, expr->b->type) && zf_type_equal(a, expr->type), "min or max of two types");
        break;
    case ZF_PRIM_BIT_NUMBER: WANT(is_u64(expr->b), "a bit number that is not u64"); /* fall through */
    case ZF_PRIM_BITS:
        WANT(!a.nullable && zf_kind_is_unsigned(a.kind) && expr->type.kind == ZF_K_U8, "bits of something that is not unsigned");
        break;
    case ZF_PRIM_FLOAT: WANT(zf_kind_is_float(a.kind) && zf_type_equal(a, expr->type), "round of something else"); break;
    case ZF_PRIM_TO_BITS:
        WANT(zf_kind_is_float(a.kind) && expr->type.kind == zf_kind_unsigned(a.kind), "bits_of with another type");
        break;
    case ZF_PRIM_FROM_BITS:
        WANT(zf_kind_is_float(expr->type.kind) && a.kind == zf_kind_unsigned(expr->type.kind), "value_of with another type");
        break;
    }
    return true;
}

static bool verify_binder(verifier *v, const zf_binder *binder, zf_span span) {
    if (binder->lo == NULL || binder->hi == NULL) return fault(v, span, "a binder without bounds");
    if (!verify_local(v, span, binder->local) || !verify_expr(v, binder->lo) || !verify_expr(v, binder->hi)) return false;
    if (binder->local->kind != ZF_L_BINDER || binder->local->type.kind != ZF_K_U64) return fault(v, span, "an invalid binder");
    if (!is_u64(binder->lo) || !is_u64(binder->hi)) return fault(v, span, "bounds that are not u64");
    return true;
}

static bool verify_reduce(verifier *v, const zf_reduce *reduce, zf_span span) {
    if (reduce == NULL || reduce->term == NULL || reduce->binder_count < 1 || reduce->binder_count > 2)
        return fault(v, span, "a reduction without a term, or with no binder, or more than two");
    for (uint32_t k = 0; k < reduce->binder_count; k++) {
        const zf_binder *binder = &reduce->binders[k];
        if (!verify_binder(v, binder, span)) return false;
        if (binder->lo->effect || binder->hi->effect) return fault(v, span, "an effect in the bounds of a reduction or region");
    }
    if (!verify_expr(v, reduce->term)) return false;
    return reduce->term->effect ? fault(v, span, "an effect in a reduction or region") : true;
}

static bool verify_call(verifier *v, const zf_expr *expr) {
    const zf_call *call = expr->call;
    WANT(call != NULL && expr->a == NULL && expr->b == NULL && expr->c == NULL, "a call without its function");
    for (uint32_t k = 0; k < call->formal_count; k++) {
        const zf_local *formal = call->formals[k];
        if (!verify_local(v, expr->span, formal)) return false;
        WANT(formal->kind == ZF_L_FORMAL && formal->init != NULL, "a formal without its argument");
        if (!verify_expr(v, formal->init)) return false;
        WANT(zf_type_equal(formal->init->type, formal->type) && formal->init->is_seq == formal->is_seq,
             "an argument of another type than its formal");
        WANT(!formal->init->effect || expr->effect, "an effect that the node above does not know of");
    }
    verifier inner = *v;
    inner.result = expr->type;
    inner.loops = 0;
    inner.has_return = false;
    if (!verify_stmts(&inner, call->body)) return false;
    if (call->value != NULL) {
        if (!verify_expr(&inner, call->value)) return false;
        WANT(zf_type_equal(call->value->type, expr->type), "a call whose value has another type");
        WANT(!call->value->effect || expr->effect, "an effect that the node above does not know of");
    }
    WANT(inner.has_return == call->returns_inside, "returns inside a call that it does not know of, or none where it says so");
    WANT(call->value != NULL || call->returns_inside || expr->type.kind == ZF_K_NONE, "a call without a value");
    return true;
}

static bool verify_sequence(verifier *v, const zf_expr *expr, const zf_expr *seq) {
    WANT(zf_is_sequence(seq), "an access to something that is not a sequence");
    return true;
}

static bool owns_port(const zf_inst *inst, const zf_port *port) {
    return port != NULL && port->index < inst->port_count && port == &inst->ports[port->index];
}

static bool verify_cursor(verifier *v, const zf_expr *expr) {
    WANT((int)expr->cursor >= 0 && expr->cursor < ZF_C_COUNT, "a cursor operation that does not exist");
    bool advances = zf_cursor_advances(expr->cursor);
    WANT(owns_port(v->inst, expr->port) && !expr->port->is_param && expr->port->per_chunk, "a cursor on something that has none");
    WANT(v->kind == ZF_IN_CHUNK || v->kind == ZF_IN_LANES || v->kind == ZF_IN_STATE, "a cursor outside of a chunk's decoder");
    if (!verify_children(v, expr, zf_cursor_has_argument(expr->cursor) ? 1 : 0)) return false;
    WANT(!advances || expr->effect, "a cursor that advances without an effect");
    if (expr->a == NULL) return true;
    WANT(is_u64(expr->a), "a number of bits or bytes that is not u64");
    bool bits = expr->cursor == ZF_C_READ || expr->cursor == ZF_C_READ_MSB || expr->cursor == ZF_C_PEEK;
    bool bytes = expr->cursor == ZF_C_LE || expr->cursor == ZF_C_BE;
    WANT(!bits || expr->a->range.hi <= 64, "more than 64 bits");
    WANT(!bytes || expr->a->range.hi <= 8, "more than 8 bytes");
    return true;
}

static bool verify_const(verifier *v, const zf_expr *expr) {
    if (!is_integer(expr->type)) {
        WANT(is_bool(expr->type) || is_number(expr->type), "a constant that is not a number or bool");
        return true;
    }
    zf_int128 value = zf_value_of_bits(expr->type.kind, expr->bits);
    WANT(zf_bits_of_value(expr->type.kind, value) == expr->bits, "bits of a constant beyond its width");
    WANT(expr->range.lo == value && expr->range.hi == value, "a constant whose range is another value");
    return true;
}

static bool verify_local_use(verifier *v, const zf_expr *expr) {
    if (!verify_local(v, expr->span, expr->local)) return false;
    const zf_local *local = expr->local;
    bool is_seq = local->is_seq || local->kind == ZF_L_ARRAY || local->kind == ZF_L_GROWING;
    WANT(zf_type_equal(local->type, expr->type) && is_seq == expr->is_seq, "a use of a local with another type");
    return true;
}

static bool verify_kind(verifier *v, const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_CONST: return verify_children(v, expr, 0) && verify_const(v, expr);
    case ZF_X_NULL: WANT(expr->type.nullable, "null of a type that is not nullable"); return verify_children(v, expr, 0);
    case ZF_X_LOCAL: return verify_children(v, expr, 0) && verify_local_use(v, expr);
    case ZF_X_PARAM:
        WANT(owns_port(v->inst, expr->port) && expr->port->is_param && zf_type_equal(expr->port->type, expr->type),
             "a use of a param that is none");
        return verify_children(v, expr, 0);
    case ZF_X_STREAM:
        WANT(owns_port(v->inst, expr->port) && !expr->port->is_param && zf_type_equal(expr->port->type, expr->type) &&
                 expr->is_seq,
             "a use of a stream that is none");
        return verify_children(v, expr, 0);
    case ZF_X_STATE:
        WANT(v->kind == ZF_IN_LANES || v->kind == ZF_IN_STATE, "a state outside of its lane");
        WANT(expr->state != NULL && expr->state->index < v->inst->state_count &&
                 expr->state == &v->inst->states[expr->state->index],
             "a state of something else");
        return verify_children(v, expr, 0);
    case ZF_X_UNARY:
        if (!verify_children(v, expr, 1)) return false;
        WANT(is_scalar(expr->a) && zf_type_equal(expr->a->type, expr->type), "a unary operation that changes the type");
        WANT(expr->op == ZF_OP_NOT   ? is_bool(expr->type)
             : expr->op == ZF_OP_NEG ? is_number(expr->type)
                                     : expr->op == ZF_OP_BITNOT && is_integer(expr->type),
             "a unary operation on something else");
        return true;
    case ZF_X_BINARY: return verify_children(v, expr, 2) && verify_binary(v, expr);
    case ZF_X_COND:
        if (!verify_children(v, expr, 3)) return false;
        WANT(is_scalar(expr->a) && is_bool(expr->a->type), "a condition that is not bool");
        WANT(is_scalar(expr->b) && is_scalar(expr->c) && zf_type_equal(expr->b->type, expr->type) &&
                 zf_type_equal(expr->c->type, expr->type),
             "branches of another type");
        return true;
    case ZF_X_CAST:
        if (!verify_children(v, expr, 1)) return false;
        WANT(is_scalar(expr->a) && (is_number(expr->a->type) || is_bool(expr->a->type)) && is_number(expr->type),
             "a cast of something that is not a number");
        WANT(!zf_type_equal(expr->a->type, expr->type), "a cast to the same type");
        return true;
    case ZF_X_SOME:
        if (!verify_children(v, expr, 1)) return false;
        WANT(is_scalar(expr->a) && expr->type.nullable && zf_type_equal(expr->a->type, zf_type_value(expr->type)),
             "a nullable value of another type");
        return true;
    case ZF_X_IS_NULL:
        if (!verify_children(v, expr, 1)) return false;
        WANT(is_scalar(expr->a) && expr->a->type.nullable && is_bool(expr->type), "a test for null of something that never is");
        return true;
    case ZF_X_VALUE:
        if (!verify_children(v, expr, 1)) return false;
        WANT(is_scalar(expr->a) && expr->a->type.nullable && zf_type_equal(zf_type_value(expr->a->type), expr->type),
             "the value of something that is not nullable");
        return true;
    case ZF_X_PRIM: return verify_prim(v, expr);
    case ZF_X_CALL: return verify_call(v, expr);
    case ZF_X_REDUCE: {
        if (!verify_children(v, expr, 0) || !verify_reduce(v, expr->reduce, expr->span)) return false;
        bool logical = expr->reduce->op == ZF_RED_ANY || expr->reduce->op == ZF_RED_ALL;
        WANT(zf_type_equal(expr->reduce->term->type, expr->type) && (logical ? is_bool(expr->type) : is_integer(expr->type)),
             "a reduction of another type than its term");
        return true;
    }
    case ZF_X_INDEX:
        if (!verify_children(v, expr, 2) || !verify_sequence(v, expr, expr->a)) return false;
        WANT(is_u64(expr->b), "an index that is not u64");
        WANT(!expr->is_seq && zf_type_equal(expr->type, zf_element_type(expr->a)),
             "an element of another type than its sequence");
        return true;
    case ZF_X_LEN:
        if (!verify_children(v, expr, 1) || !verify_sequence(v, expr, expr->a)) return false;
        WANT(is_u64(expr), "a length that is not u64");
        return true;
    case ZF_X_BITS:
        if (!verify_children(v, expr, 3) || !verify_sequence(v, expr, expr->a)) return false;
        WANT(is_u64(expr) && is_u64(expr->b) && is_u64(expr->c), "bits whose place or number is not u64");
        WANT(v->kind == ZF_IN_ENCODE || expr->c->range.hi <= 64, "more than 64 bits");
        return true;
    case ZF_X_BIT_LEN: WANT(v->kind == ZF_IN_ENCODE, "a node of encode in another body"); return verify_children(v, expr, 1);
    case ZF_X_OUT_POS:
        WANT(v->kind == ZF_IN_CHUNK && is_u64(expr), "out.pos outside of a chunk's decoder");
        return verify_children(v, expr, 0);
    case ZF_X_CURSOR: return verify_cursor(v, expr);
    case ZF_X_INTERN:
        WANT(v->kind == ZF_IN_ENCODE, "a node of encode in another body");
        WANT(expr->effect && owns_port(v->inst, expr->port) && !expr->port->is_param && expr->type.kind == ZF_K_U32,
             "an intern that is none");
        if (!verify_children(v, expr, 1)) return false;
        WANT(zf_type_equal(expr->a->type, expr->port->type), "an interned value of another type than its stream");
        return true;
    case ZF_X_MINMAX:
        WANT(v->kind == ZF_IN_ENCODE, "a node of encode in another body");
        if (!verify_children(v, expr, 1) || !verify_sequence(v, expr, expr->a)) return false;
        WANT((expr->prim == ZF_P_MIN || expr->prim == ZF_P_MAX) && zf_type_equal(expr->type, zf_element_type(expr->a)),
             "min or max of a sequence with another type");
        return true;
    case ZF_X_OUT:
        WANT(in_decode(v) && expr->is_seq && zf_type_equal(expr->type, v->inst->result), "`out` outside of decode");
        return verify_children(v, expr, 0);
    case ZF_X_INPUT:
        WANT(v->kind == ZF_IN_ENCODE && expr->is_seq && zf_type_equal(expr->type, v->inst->result),
             "the input outside of encode");
        return verify_children(v, expr, 0);
    case ZF_X_TABLE:
        WANT(expr->table != NULL && expr->is_seq && zf_type_equal(expr->type, expr->table->type), "a table that is none");
        return verify_children(v, expr, 0);
    case ZF_X_SLICE: {
        if (!verify_children(v, expr, 3) || !verify_sequence(v, expr, expr->a)) return false;
        WANT(is_u64(expr->b) && is_u64(expr->c), "a slice whose ends are not u64");
        zf_type element = zf_element_type(expr->a);
        bool is_string = !expr->is_seq;
        WANT(is_string ? expr->type.kind == ZF_K_STRING && element.kind == ZF_K_U8 && !element.nullable
                       : zf_type_equal(expr->type, element),
             "a slice of another type than its sequence");
        return true;
    }
    case ZF_X_PARTS:
    case ZF_X_CHUNKS:
        WANT(v->kind == ZF_IN_ENCODE && expr->is_seq, "a node of encode in another body");
        return verify_children(v, expr, 1);
    }
    return fault(v, expr->span, "a node of an unknown kind");
}

static bool verify_expr(verifier *v, const zf_expr *expr) {
    if (expr == NULL) return fault(v, (zf_span){0}, "a missing operand");
    WANT(v->depth < VERIFY_DEPTH, "a tree without an end");
    bool has_type = is_value_type(expr->type) || (expr->type.kind == ZF_K_NONE && expr->type.opaque == 0 &&
                                                  (expr->kind == ZF_X_CALL || expr->kind == ZF_X_CURSOR));
    WANT(has_type, "a node without a type");
    v->depth++;
    bool ok = verify_range(v, expr) && verify_kind(v, expr);
    v->depth--;
    return ok;
}

// ---- Statements -----------------------------------------------------------------------------------------------

static bool verify_value(verifier *v, const zf_stmt *stmt, const zf_expr *value, zf_type type) {
    WANT_STMT(value != NULL, "a statement without its value");
    if (!verify_expr(v, value)) return false;
    WANT_STMT(!value->is_seq && zf_type_equal(value->type, type), "a value of another type than its statement needs");
    return true;
}

static bool verify_declaration(verifier *v, const zf_stmt *stmt) {
    if (!verify_local(v, stmt->span, stmt->local)) return false;
    const zf_local *local = stmt->local;
    bool let = stmt->kind == ZF_S_LET;
    WANT_STMT(let ? local->kind == ZF_L_LET : local->kind == ZF_L_VAR || local->kind == ZF_L_ARRAY || local->kind == ZF_L_GROWING,
              "a declaration of a local of another kind");
    WANT_STMT(is_value_type(local->type), "a local without a type");
    WANT_STMT(local->kind != ZF_L_ARRAY || (local->length > 0 && local->init == NULL),
              "an array without a length, or with a value");
    WANT_STMT(local->kind != ZF_L_GROWING || v->kind == ZF_IN_ENCODE, "a growing array outside of encode");
    if (local->init == NULL) {
        WANT_STMT(!let, "a `let` without a value");
        return true;
    }
    if (!verify_expr(v, local->init)) return false;
    WANT_STMT(zf_type_equal(local->init->type, local->type) && local->init->is_seq == local->is_seq,
              "a local of another type than its value");
    return true;
}

static bool verify_assign(verifier *v, const zf_stmt *stmt) {
    const zf_expr *place = stmt->place;
    WANT_STMT(place != NULL && stmt->value != NULL, "an assignment without its sides");
    if (!verify_expr(v, place) || !verify_expr(v, stmt->value)) return false;
    bool fits = false;
    if (place->kind == ZF_X_LOCAL) fits = place->local->kind == ZF_L_VAR;
    if (place->kind == ZF_X_INDEX && place->a->kind == ZF_X_LOCAL)
        fits = place->a->local->kind == ZF_L_ARRAY || place->a->local->kind == ZF_L_GROWING;
    if (place->kind == ZF_X_PARAM) fits = v->kind == ZF_IN_ENCODE;
    if (place->kind == ZF_X_STATE) fits = v->kind == ZF_IN_LANES;
    WANT_STMT(fits, "an assignment to something that cannot change");
    bool shift = stmt->has_op && (stmt->op == ZF_OP_SHL || stmt->op == ZF_OP_SHR);
    if (shift)
        WANT_STMT(!stmt->value->type.nullable && zf_kind_is_unsigned(stmt->value->type.kind),
                  "a shift by something that is not unsigned");
    else
        WANT_STMT(!stmt->value->is_seq && zf_type_equal(place->type, stmt->value->type),
                  "an assigned value of another type than its place");
    return true;
}

static bool verify_write(verifier *v, const zf_stmt *stmt) {
    WANT_STMT(v->kind == ZF_IN_ENCODE && stmt->target != NULL, "a statement of encode in another body");
    if (!verify_expr(v, stmt->target)) return false;
    const zf_expr *target = stmt->target;
    bool stream = target->kind == ZF_X_STREAM;
    bool growing = target->kind == ZF_X_LOCAL && (target->local->kind == ZF_L_GROWING || target->local->kind == ZF_L_ARRAY);
    WANT_STMT(stream || growing, "a write to something that is neither a stream nor an array");
    switch (stmt->kind) {
    case ZF_S_PUSH: return verify_value(v, stmt, stmt->value, target->type);
    case ZF_S_PUSH_BITS:
        return verify_value(v, stmt, stmt->value, zf_type_of(ZF_K_U64)) &&
               verify_value(v, stmt, stmt->count, zf_type_of(ZF_K_U64));
    case ZF_S_PUSH_VARINT: return verify_value(v, stmt, stmt->value, zf_type_of(ZF_K_U64));
    case ZF_S_APPEND:
        WANT_STMT(stmt->value != NULL, "an append of nothing");
        if (!verify_expr(v, stmt->value)) return false;
        WANT_STMT(zf_is_sequence(stmt->value) && zf_type_equal(zf_element_type(stmt->value), target->type),
                  "an append of another type");
        return true;
    case ZF_S_CODE_LENGTHS:
        WANT_STMT(stmt->value != NULL, "code lengths of nothing");
        return verify_expr(v, stmt->value) && verify_value(v, stmt, stmt->count, zf_type_of(ZF_K_U64));
    default: return true;
    }
}

static bool verify_result(verifier *v, const zf_stmt *stmt) {
    WANT_STMT(v->query != NULL, "a result outside of a query");
    bool selects = stmt->kind == ZF_S_SELECT;
    const zf_query_result *result = stmt->result;
    WANT_STMT(selects || (result != NULL && result == &v->query->results[result->index]),
              "a result that the query does not have");
    WANT_STMT(stmt->value_count == (selects ? v->query->selected_count : result->dimensions), "a result with other indices");
    if (!selects) {
        for (uint32_t k = 0; k < stmt->value_count; k++)
            if (!verify_value(v, stmt, stmt->values[k], zf_type_of(ZF_K_U64))) return false;
        return verify_value(v, stmt, stmt->value, result->type);
    }
    for (uint32_t k = 0; k < v->query->result_count; k++) {
        const zf_query_result *column = &v->query->results[k];
        if (column->kind == ZF_Q_SELECT && !verify_value(v, stmt, stmt->values[column->column], column->type)) return false;
    }
    return true;
}

static bool verify_loop_body(verifier *v, const zf_stmt *stmt) {
    v->loops++;
    bool ok = verify_stmts(v, stmt->body);
    v->loops--;
    return ok;
}

static bool verify_stmt(verifier *v, const zf_stmt *stmt) {
    switch (stmt->kind) {
    case ZF_S_LET:
    case ZF_S_VAR: return verify_declaration(v, stmt);
    case ZF_S_ASSIGN: return verify_assign(v, stmt);
    case ZF_S_EXPR: WANT_STMT(stmt->value != NULL, "a statement without its value"); return verify_expr(v, stmt->value);
    case ZF_S_IF:
        return verify_value(v, stmt, stmt->value, zf_type_of(ZF_K_BOOL)) && verify_stmts(v, stmt->body) &&
               verify_stmts(v, stmt->else_part);
    case ZF_S_WHILE:
        if (!verify_value(v, stmt, stmt->value, zf_type_of(ZF_K_BOOL))) return false;
        /* fall through */
    case ZF_S_LOOP:
        WANT_STMT(v->kind == ZF_IN_CHUNK || v->kind == ZF_IN_ENCODE, "an unbounded loop in a body that runs for every element");
        return verify_loop_body(v, stmt);
    case ZF_S_FOR_RANGE: return verify_binder(v, &stmt->binder, stmt->span) && verify_loop_body(v, stmt);
    case ZF_S_FOR_EACH:
        if (!verify_local(v, stmt->span, stmt->local)) return false;
        WANT_STMT(stmt->local->kind == ZF_L_ELEMENT && stmt->value != NULL, "a loop over nothing");
        if (!verify_expr(v, stmt->value)) return false;
        WANT_STMT(zf_is_sequence(stmt->value), "a loop over something that is not a sequence");
        WANT_STMT(zf_type_equal(stmt->local->type, zf_element_type(stmt->value)), "a loop whose element has another type");
        WANT_STMT(stmt->local->is_seq == (stmt->value->kind == ZF_X_PARTS || stmt->value->kind == ZF_X_CHUNKS),
                  "a loop whose element is a sequence, or should be");
        return verify_loop_body(v, stmt);
    case ZF_S_BREAK:
    case ZF_S_CONTINUE: WANT_STMT(v->loops > 0, "a `break` or `continue` outside of a loop"); return true;
    case ZF_S_RETURN:
        v->has_return = true;
        if (v->result.kind == ZF_K_NONE) {
            WANT_STMT(stmt->value == NULL, "a value returned where none is wanted");
            return true;
        }
        return verify_value(v, stmt, stmt->value, v->result);
    case ZF_S_EMIT:
        WANT_STMT(v->kind == ZF_IN_CHUNK, "an emit outside of a chunk's decoder");
        return verify_value(v, stmt, stmt->value, v->inst->result);
    case ZF_S_EMIT_REGION:
        WANT_STMT(v->kind == ZF_IN_CHUNK, "an emit outside of a chunk's decoder");
        if (!verify_reduce(v, stmt->reduce, stmt->span)) return false;
        WANT_STMT(!stmt->reduce->term->is_seq && zf_type_equal(stmt->reduce->term->type, v->inst->result),
                  "an emitted value of another type than the result");
        return true;
    case ZF_S_REQUIRE: return verify_value(v, stmt, stmt->value, zf_type_of(ZF_K_BOOL));
    case ZF_S_REFUSE:
        WANT_STMT(v->kind == ZF_IN_ENCODE && stmt->text != NULL, "a statement of encode in another body");
        return true;
    case ZF_S_PUSH:
    case ZF_S_PUSH_BITS:
    case ZF_S_PUSH_VARINT:
    case ZF_S_APPEND:
    case ZF_S_REVERSE:
    case ZF_S_SORT:
    case ZF_S_CODE_LENGTHS: return verify_write(v, stmt);
    case ZF_S_RESULT:
    case ZF_S_SELECT: return verify_result(v, stmt);
    }
    return fault(v, stmt->span, "a statement of an unknown kind");
}

static bool verify_stmts(verifier *v, const zf_stmt *stmt) {
    if (v->depth >= VERIFY_DEPTH) return fault(v, (zf_span){0}, "a tree without an end");
    v->depth++;
    bool ok = true;
    for (; ok && stmt != NULL; stmt = stmt->next) ok = verify_stmt(v, stmt);
    v->depth--;
    return ok;
}

// ---- Bodies ---------------------------------------------------------------------------------------------------

static bool verify_locals(verifier *v, const zf_body *body) {
    uint32_t count = 0;
    for (const zf_local *local = body->locals; local != NULL; local = local->next) {
        if (local->id >= body->local_count) return fault(v, local->span, "a local numbered beyond its body's count");
        if (v->locals[local->id] != NULL) return fault(v, local->span, "two locals of one number");
        v->locals[local->id] = local;
        bool counted = is_integer(local->type) || is_bool(local->type);
        if (counted &&
            (local->range.lo > local->range.hi || !zf_interval_within(local->range, zf_interval_of_kind(local->type.kind)))) {
            return fault(v, local->span, "a local whose range lies outside its type");
        }
        count++;
    }
    return count == body->local_count ? true : fault(v, (zf_span){0}, "fewer locals than the body counts");
}

static bool verify_in_body(verifier *v, const zf_body *body) {
    if (!verify_locals(v, body)) return false;
    if (v->kind == ZF_IN_LANES) {
        v->kind = ZF_IN_STATE;
        for (uint32_t k = 0; k < v->inst->state_count; k++) {
            const zf_state *state = &v->inst->states[k];
            if (state->index != k || state->init == NULL || !verify_expr(v, state->init))
                return fault(v, (zf_span){0}, "a state without its initial value");
            if (!zf_type_equal(state->init->type, state->type))
                return fault(v, (zf_span){0}, "a state of another type than its value");
        }
        v->kind = ZF_IN_LANES;
    }
    for (uint32_t k = 0; v->query != NULL && v->query->pairs != NULL && k < 2; k++)
        if (!verify_binder(v, &v->query->pairs[k], v->query->span)) return false;
    if (!verify_stmts(v, body->stmts)) return false;
    if (v->has_return != body->returns_inside)
        return fault(v, (zf_span){0}, "returns inside that the body does not know of, or none where it says so");
    if (body->value == NULL)
        return v->result.kind == ZF_K_NONE || body->returns_inside ? true : fault(v, (zf_span){0}, "a body without a value");
    if (!verify_expr(v, body->value)) return false;
    if (body->value->is_seq || !zf_type_equal(body->value->type, v->result))
        return fault(v, body->value->span, "a body whose value has another type");
    return true;
}

static bool verify_body_of(const zf_query *query, const zf_inst *inst, const zf_body *body, bool wanted, zf_body_kind kind,
                           const char *where, zf_type result, zf_inst_fault *found) {
    verifier v = {.query = query,
                  .inst = inst,
                  .where = where,
                  .kind = kind,
                  .result = result,
                  .local_count = body->local_count,
                  .found = found};
    if (body->present != wanted)
        return fault(&v, (zf_span){0},
                     wanted ? "a body that its pattern needs is missing" : "a body that its pattern does not have");
    if (!body->present) return true;
    v.locals = calloc((size_t)body->local_count + 1, sizeof *v.locals);
    if (v.locals == NULL) return fault(&v, (zf_span){0}, "no memory");
    bool ok = verify_in_body(&v, body);
    free(v.locals);
    return ok;
}

static bool verify_body(const zf_inst *inst, const zf_body *body, bool wanted, zf_body_kind kind, const char *where,
                        zf_type result, zf_inst_fault *found) {
    return verify_body_of(NULL, inst, body, wanted, kind, where, result, found);
}

static bool verify_ports(const zf_inst *inst, zf_inst_fault *found) {
    verifier value = {.inst = inst, .where = "ports", .kind = ZF_IN_CONST, .found = found}, *v = &value;
    if (inst->stream_count + inst->param_count != inst->port_count)
        return fault(v, (zf_span){0}, "ports that are neither streams nor params");
    for (uint32_t k = 0; k < inst->port_count; k++) {
        const zf_port *port = &inst->ports[k];
        uint32_t count = port->is_param ? inst->param_count : inst->stream_count;
        zf_port **slots = port->is_param ? inst->params : inst->streams;
        if (port->index != k || port->slot >= count || slots[port->slot] != port)
            return fault(v, port->span, "a port with a wrong number");
        if (!is_value_type(port->type)) return fault(v, port->span, "a port without a type");
        if (port->is_param && (port->type.nullable || (!is_number(port->type) && !is_bool(port->type))))
            return fault(v, port->span, "a param that is not a number or bool");
        if (is_integer(port->type) &&
            (port->range.lo > port->range.hi || !zf_interval_within(port->range, zf_interval_of_kind(port->type.kind)))) {
            return fault(v, port->span, "a port whose range lies outside its type");
        }
        if (port->per_chunk && inst->pattern != ZF_NON_PARALLEL)
            return fault(v, port->span, "a stream per chunk where there are no chunks");
        if (port->fixed && (port->length == NULL || !verify_expr(v, port->length) || !is_u64(port->length)))
            return fault(v, port->span, "a fixed length that is none");
        const zf_expr *bounds[3] = {port->lo, port->hi, port->given};
        for (int b = 0; b < 3; b++) {
            if (bounds[b] == NULL) continue;
            if (!verify_expr(v, bounds[b])) return false;
            if (!zf_type_equal(bounds[b]->type, port->type))
                return fault(v, port->span, "a bound or default of another type than its port");
        }
        if (port->given != NULL && port->given->kind != ZF_X_CONST) return fault(v, port->span, "a default that is not constant");
    }
    return true;
}

bool zf_inst_verify(const zf_inst *inst, zf_inst_fault *found) {
    if (!verify_ports(inst, found)) return false;
    bool groups = inst->pattern == ZF_GROUP_PARALLEL, chunks = inst->pattern == ZF_NON_PARALLEL;
    zf_type u64 = zf_type_of(ZF_K_U64), none = zf_type_of(ZF_K_NONE);
    verifier v = {.inst = inst, .where = "instance", .found = found};
    if (!is_value_type(inst->result)) return fault(&v, (zf_span){0}, "an instance without a result");
    if (chunks && inst->chunk_size == 0) return fault(&v, (zf_span){0}, "chunks without a size");
    if ((groups && (inst->domain_g == NULL || inst->domain_j == NULL)) ||
        (!groups && !(chunks && inst->lanes == 0) && inst->domain_i == NULL)) {
        return fault(&v, (zf_span){0}, "a pattern without its index");
    }
    zf_body_kind kind = !chunks ? ZF_IN_ELEMENT : inst->lanes > 0 ? ZF_IN_LANES : ZF_IN_CHUNK;
    return verify_body(inst, &inst->groups, groups, ZF_IN_GROUPS, "groups", u64, found) &&
           verify_body(inst, &inst->size, groups, ZF_IN_SIZE, "size", u64, found) &&
           verify_body(inst, &inst->decode, true, kind, "decode", kind == ZF_IN_CHUNK ? none : inst->result, found) &&
           verify_body(inst, &inst->encode, inst->input != NULL, ZF_IN_ENCODE, "encode", none, found);
}

bool zf_query_verify(const zf_query *query, zf_inst_fault *found) {
    const zf_inst *inst = query->inst;
    if (!verify_ports(inst, found)) return false;
    verifier value = {.inst = inst, .where = "results", .kind = ZF_IN_CONST, .found = found}, *v = &value;
    if ((query->table == NULL) != (query->pairs != NULL)) return fault(v, query->span, "neither a table nor pairs, or both");
    for (uint32_t k = 0; k < query->result_count; k++) {
        const zf_query_result *result = &query->results[k];
        if (result->index != k || !is_value_type(result->type))
            return fault(v, result->span, "a result without a type or number");
        for (uint32_t d = 0; d < result->dimensions; d++) {
            if (!verify_expr(v, result->lengths[d])) return false;
            if (!is_u64(result->lengths[d])) return fault(v, result->span, "a length that is none");
        }
    }
    for (uint32_t k = 0; k < query->column_count; k++) {
        if (inst->streams[query->input_count + k]->access != ZF_ACCESS_ALIGNED_I)
            return fault(v, query->span, "a column that is not one of the row");
    }
    return verify_body_of(query, inst, &inst->decode, true, ZF_IN_ELEMENT, "each", zf_type_of(ZF_K_NONE), found);
}

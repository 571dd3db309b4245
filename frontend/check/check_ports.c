// The ports of an instance: types, ranges, lengths, defaults. Params come first, since a stream's length may name any
// of them.
#include <string.h>

#include "frontend/check/checker.h"

static bool is_number(zf_type type) { return !type.nullable && (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind)); }

// ---- Expressions of signatures ---------------------------------------------------------------------------------

enum { FLAT_LIMIT = 1000 }; // nodes: what a name stands for is copied at each of its uses

/// A signature belongs to no body, so it can have no locals: calls and names are replaced by what they stand for. NULL
/// where that is not one expression, or too large a one.
static zf_expr *flatten(zf_checker *ck, const zf_expr *expr, uint32_t *nodes) {
    if (expr == NULL || ++*nodes > FLAT_LIMIT) return NULL;
    if (expr->kind == ZF_X_LOCAL) {
        bool named = expr->local->kind == ZF_L_LET || expr->local->kind == ZF_L_FORMAL;
        return named ? flatten(ck, expr->local->init, nodes) : NULL;
    }
    if (expr->kind == ZF_X_CALL) {
        for (const zf_stmt *stmt = expr->call->body; stmt != NULL; stmt = stmt->next) {
            if (stmt->kind != ZF_S_LET) return NULL;
        }
        return expr->call->returns_inside ? NULL : flatten(ck, expr->call->value, nodes);
    }
    zf_expr *flat = zf_ck_node(ck, expr->kind, expr->type, expr->span);
    *flat = *expr;
    if (expr->a != NULL && (flat->a = flatten(ck, expr->a, nodes)) == NULL) return NULL;
    if (expr->b != NULL && (flat->b = flatten(ck, expr->b, nodes)) == NULL) return NULL;
    if (expr->c != NULL && (flat->c = flatten(ck, expr->c, nodes)) == NULL) return NULL;
    return flat;
}

/// An expression of the signature as later stages take it; poison after reporting.
static zf_expr *of_signature(zf_checker *ck, zf_expr *expr) {
    if (zf_is_poison(expr)) return expr;
    uint64_t bits;
    if (zf_kind_is_integer(expr->type.kind) && zf_expr_evaluate(expr, NULL, &bits)) {
        return zf_ck_int(ck, expr->type, zf_value_of_bits(expr->type.kind, bits), expr->span);
    }
    uint32_t nodes = 0;
    zf_expr *flat = flatten(ck, expr, &nodes);
    if (flat != NULL) return flat;
    zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_CONSTANT, expr->span, "a signature is made of single expressions%s",
                                nodes > FLAT_LIMIT ? ", and this is too large a one" : "");
    zf_ck_hint(ck, diag, "a function that it calls is `fn f(..) = e;`, or has nothing but `let` before its `return`");
    return zf_ck_poison(ck, expr->span);
}

// ---- Ports -----------------------------------------------------------------------------------------------------

/// hi of an `in` range, inclusive, in the port's type.
static zf_expr *last_of(zf_checker *ck, zf_expr *hi, bool inclusive) {
    if (inclusive || zf_is_poison(hi)) return hi;
    if (hi->kind == ZF_X_CONST && hi->range.lo == zf_interval_of_kind(hi->type.kind).lo) {
        zf_ck_error(ck, ZF_D_EMPTY_RANGE, hi->span, "no value lies before %s", zf_ck_range_text(ck, hi->range));
        return zf_ck_poison(ck, hi->span);
    }
    return zf_ck_binary(ck, ZF_OP_SUB, hi, zf_ck_int(ck, hi->type, 1, hi->span), hi->span);
}

static void check_within(zf_checker *ck, zf_port *port, const zf_ast_range *within) {
    if (within == NULL || port->type.kind == ZF_K_ERROR) return;
    if (port->type.nullable || !zf_kind_is_integer(port->type.kind)) {
        zf_ck_error(ck, ZF_D_BAD_TYPE, within->span, "only integers have ranges, and `%s` is %s", port->name,
                    zf_type_name(ck->arena, port->type));
        return;
    }
    port->has_range = true;
    if (within->lo != NULL) port->lo = zf_ck_value_as(ck, within->lo, port->type);
    if (within->hi != NULL) port->hi = last_of(ck, zf_ck_value_as(ck, within->hi, port->type), within->inclusive);
    if (port->lo != NULL) port->lo = of_signature(ck, port->lo);
    if (port->hi != NULL) port->hi = of_signature(ck, port->hi);
    if (port->lo != NULL && zf_is_poison(port->lo)) port->lo = NULL;
    if (port->hi != NULL && zf_is_poison(port->hi)) port->hi = NULL;
    zf_interval range = port->range;
    if (port->lo != NULL) range.lo = port->lo->range.lo;
    if (port->hi != NULL) range.hi = port->hi->range.hi;
    if (range.lo > range.hi) {
        zf_ck_error(ck, ZF_D_EMPTY_RANGE, within->span, "no value of `%s` lies in this range", port->name);
        return;
    }
    port->range = range;
}

static void check_given(zf_checker *ck, zf_port *port, const zf_ast_expr *given) {
    if (given == NULL || port->type.kind == ZF_K_ERROR) return;
    zf_expr *value = zf_ck_value_as(ck, given, port->type);
    uint64_t bits;
    if (!zf_ck_constant_value(ck, value, &bits)) return;
    zf_expr *constant = zf_ck_node(ck, ZF_X_CONST, port->type, given->span);
    constant->bits = bits;
    if (zf_kind_is_integer(port->type.kind)) {
        constant->range = zf_interval_const(zf_value_of_bits(port->type.kind, bits));
        if (!zf_interval_within(constant->range, port->range)) {
            zf_diag *diag =
                zf_ck_error(ck, ZF_D_CONSTANT_RANGE, given->span, "the default of `%s` lies outside its range", port->name);
            zf_ck_remark(ck, diag, (zf_span){0}, "it is %s, and the range is %s", zf_ck_range_text(ck, constant->range),
                         zf_ck_range_text(ck, port->range));
            return;
        }
    }
    port->given = constant;
}

static void check_param(zf_checker *ck, zf_port *port, const zf_ast_port *ast) {
    if (ast->type->kind == ZF_AT_ARRAY) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_TYPE, ast->type->span, "a param is one value, not an array");
        zf_ck_hint(ck, diag, "leave out `param`: arrays are streams");
        port->type = zf_type_of(ZF_K_ERROR);
        return;
    }
    port->type = zf_ck_type(ck, ast->type);
    if (port->type.kind != ZF_K_ERROR && !is_number(port->type) && (port->type.nullable || port->type.kind != ZF_K_BOOL)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_TYPE, ast->type->span, "a param is a number or bool, not %s",
                                    zf_type_name(ck->arena, port->type));
        if (port->type.kind == ZF_K_OPAQUE) zf_ck_hint_bound(ck, diag, port->type, "scalar");
        port->type = zf_type_of(ZF_K_ERROR);
        return;
    }
    port->range = zf_range_all(port->type);
    check_within(ck, port, ast->within);
    check_given(ck, port, ast->given);
}

static void check_stream(zf_checker *ck, zf_port *port, const zf_ast_port *ast) {
    if (ast->type->kind != ZF_AT_ARRAY) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_TYPE, ast->type->span, "a stream is written `E[]`");
        zf_ck_hint(ck, diag, "write `param` before it where it is one value per block");
        port->type = zf_type_of(ZF_K_ERROR);
        return;
    }
    port->type = zf_ck_type(ck, ast->type->element);
    port->range = zf_range_all(port->type);
    check_within(ck, port, ast->within);
    if (ast->per != NULL) {
        if (strcmp(ast->per, "chunk") == 0) {
            port->per_chunk = true;
            if (ck->inst->pattern != ZF_NON_PARALLEL) {
                zf_diag *diag = zf_ck_error(ck, ZF_D_PER_CHUNK, ast->span,
                                            "`%s` is `per chunk`, and only non_parallel algorithms have chunks", ast->name);
                zf_ck_remark(ck, diag, ck->algorithm->pattern_span, "the pattern");
            }
        } else if (strcmp(ast->per, "column") == 0) {
            zf_ck_error(ck, ZF_D_PER_COLUMN, ast->span, "`per column` is reserved for a later version");
        } else {
            zf_ck_error(ck, ZF_D_UNKNOWN_NAME, ast->span, "a stream is `per chunk`, not per `%s`", ast->per);
        }
    }
    if (ast->type->length == NULL) return;
    port->fixed = true;
    zf_expr *length = of_signature(ck, zf_ck_index(ck, zf_ck_scalar(ck, ast->type->length)));
    if (zf_is_poison(length)) return;
    if (length->range.lo > ZF_STREAM_LENGTH_MAX) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_OUT_OF_RANGE, length->span, "a stream has at most 2^32 elements");
        zf_ck_remark(ck, diag, (zf_span){0}, "this length is %s", zf_ck_range_text(ck, length->range));
        return;
    }
    port->length = length;
}

static void check_port_name(zf_checker *ck, const zf_ast_port *ast) {
    zf_ck_declarable(ck, ast->name, ast->name_span);
    static const char *const words[] = {"out", "chunk", "lane"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (strcmp(words[k], ast->name) == 0)
            zf_ck_error(ck, ZF_D_RESERVED_NAME, ast->name_span, "`%s` has a meaning of its own in decode", ast->name);
    }
    for (const zf_ast_port *other = ck->algorithm->ports; other != ast; other = other->next) {
        if (other->name != ast->name) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_DECLARED_TWICE, ast->name_span, "`%s` is declared twice", ast->name);
        zf_ck_remark(ck, diag, other->name_span, "first declared here");
        return;
    }
}

void zf_ck_ports(zf_checker *ck) {
    zf_inst *inst = ck->inst;
    for (const zf_ast_port *ast = ck->algorithm->ports; ast != NULL; ast = ast->next) {
        inst->port_count++;
        if (ast->is_param)
            inst->param_count++;
        else
            inst->stream_count++;
    }
    if (inst->port_count > ZF_PORTS_LIMIT) {
        zf_ck_error(ck, ZF_D_TOO_LARGE, ck->algorithm->ports->name_span, "an algorithm has at most %d streams and params",
                    ZF_PORTS_LIMIT);
        inst->port_count = inst->stream_count = inst->param_count = 0;
        return;
    }
    inst->ports = ZF_NEW_ARRAY(ck->arena, zf_port, inst->port_count + 1);
    inst->streams = ZF_NEW_ARRAY(ck->arena, zf_port *, inst->stream_count + 1);
    inst->params = ZF_NEW_ARRAY(ck->arena, zf_port *, inst->param_count + 1);
    uint32_t index = 0, streams = 0, params = 0;
    for (const zf_ast_port *ast = ck->algorithm->ports; ast != NULL; ast = ast->next, index++) {
        zf_port *port = &inst->ports[index];
        uint32_t slot = ast->is_param ? params++ : streams++;
        *port = (zf_port){.index = index,
                          .slot = slot,
                          .name = ast->name,
                          .span = ast->span,
                          .is_param = ast->is_param,
                          .type = zf_type_of(ZF_K_NONE)};
        (ast->is_param ? inst->params : inst->streams)[slot] = port;
        check_port_name(ck, ast);
    }
    for (int pass = 0; pass < 2; pass++) {
        index = 0;
        for (const zf_ast_port *ast = ck->algorithm->ports; ast != NULL; ast = ast->next, index++) {
            if (ast->is_param != (pass == 0)) continue;
            if (ast->is_param)
                check_param(ck, &inst->ports[index], ast);
            else
                check_stream(ck, &inst->ports[index], ast);
        }
    }
}

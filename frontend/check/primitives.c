// Checks calls of the primitives in primitives.def.
#include <string.h>

#include "frontend/check/checker.h"

typedef zf_expr *(*check_primitive)(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim);

static zf_expr *make_prim(zf_checker *ck, zf_prim prim, zf_type type, zf_expr *a, zf_expr *b, zf_span span) {
    zf_expr *expr = zf_ck_node(ck, ZF_X_PRIM, type, span);
    expr->prim = prim;
    expr->a = a;
    expr->b = b;
    expr->effect = a->effect || (b != NULL && b->effect);
    return expr;
}

static zf_expr *refuse(zf_checker *ck, zf_prim prim, const zf_expr *value, const char *wanted) {
    zf_ck_error(ck, ZF_D_BAD_OPERAND, value->span, "`%s` needs %s, not %s", zf_prim_name(prim), wanted,
                zf_ck_type_name(ck, value));
    return zf_ck_poison(ck, value->span);
}

static bool is_integer(const zf_expr *expr) {
    return !expr->is_seq && !expr->type.nullable && zf_kind_is_integer(expr->type.kind);
}

/// min(a, b), or min(sequence).
static zf_expr *check_min_max(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    if (ast->args->next == NULL) {
        zf_expr *seq = zf_ck_sequence(ck, ast->args);
        if (zf_is_poison(seq)) return seq;
        zf_type element = zf_element_type(seq);
        if (element.nullable || !zf_kind_is_integer(element.kind)) return refuse(ck, prim, seq, "a sequence of integers");
        if (ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION) {
            zf_diag *diag =
                zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`%s` of a whole sequence belongs to encode", zf_prim_name(prim));
            zf_ck_hint(ck, diag, "write `%s(k in a..b: s[k])`", zf_prim_name(prim));
            return zf_ck_poison(ck, ast->span);
        }
        zf_expr *expr = zf_ck_node(ck, ZF_X_MINMAX, element, ast->span);
        expr->prim = prim;
        expr->a = seq;
        expr->effect = seq->effect;
        expr->range = zf_interval_hull(zf_element_range(ck, seq), zf_interval_const(0));
        return expr;
    }
    zf_expr *a = zf_ck_scalar(ck, ast->args), *b = zf_ck_scalar(ck, ast->args->next);
    bool literals = zf_untyped_of(a->type) == ZF_UNTYPED_INT && zf_untyped_of(b->type) == ZF_UNTYPED_INT;
    if (literals && zf_interval_is_const(a->range) && zf_interval_is_const(b->range)) { // the type is still to be met
        return (a->range.lo < b->range.lo) == (prim == ZF_P_MIN) ? a : b;
    }
    if (!zf_ck_common(ck, &a, &b, ast->span)) return zf_ck_poison(ck, ast->span);
    if (!is_integer(a)) {
        zf_expr *poison = refuse(ck, prim, a, "integers");
        return poison;
    }
    zf_expr *expr = make_prim(ck, prim, a->type, a, b, ast->span);
    return zf_ck_finish(ck, expr, zf_range_prim(prim, a->type.kind, a->range, b->range));
}

/// Bits of one integer; a signed one counts as the unsigned one with its bits.
static zf_expr *check_bits(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    zf_expr *a = zf_ck_value(ck, ast->args);
    if (zf_is_poison(a)) return a;
    if (!is_integer(a)) return refuse(ck, prim, a, "an integer");
    a = zf_ck_cast(ck, a, zf_type_of(zf_kind_unsigned(a->type.kind)), a->span);
    zf_expr *expr = make_prim(ck, prim, zf_type_of(ZF_K_U8), a, NULL, ast->span);
    return zf_ck_finish(ck, expr, zf_range_prim(prim, a->type.kind, a->range, a->range));
}

/// True when `index` is below the number of bits set in `word` for certain.
static bool has_bit(zf_checker *ck, zf_expr *word, const zf_expr *index) {
    zf_expr *count = make_prim(ck, ZF_P_POPCOUNT, zf_type_of(ZF_K_U8), word, NULL, word->span);
    count->range = zf_range_prim(ZF_P_POPCOUNT, word->type.kind, word->range, word->range);
    return zf_facts_below(ck, index, count, true);
}

static zf_expr *check_nth_bit(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    zf_expr *a = zf_ck_value(ck, ast->args), *b = zf_ck_index(ck, zf_ck_scalar(ck, ast->args->next));
    if (zf_is_poison(a) || zf_is_poison(b)) return zf_ck_poison(ck, ast->span);
    if (!is_integer(a)) return refuse(ck, prim, a, "an integer");
    a = zf_ck_cast(ck, a, zf_type_of(zf_kind_unsigned(a->type.kind)), a->span);
    zf_expr *expr = make_prim(ck, prim, zf_type_of(ZF_K_U8), a, b, ast->span);
    if (b->range.lo >= zf_kind_bits(a->type.kind) && !ck->env.dead) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_OUT_OF_RANGE, b->span, "there is never such a bit in %s", zf_kind_name(a->type.kind));
        zf_ck_remark(ck, diag, (zf_span){0}, "its number is %s", zf_ck_range_text(ck, b->range));
        return zf_ck_poison(ck, ast->span);
    }
    expr->proved = has_bit(ck, a, b);
    if (!expr->proved) zf_ck_note_check(ck, expr, b, "there may be no such bit: a check stays");
    return zf_ck_finish(ck, expr, zf_range_prim(prim, a->type.kind, a->range, b->range));
}

static zf_expr *check_round(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    zf_expr *a = zf_ck_value(ck, ast->args);
    if (zf_is_poison(a)) return a;
    if (a->type.nullable || !zf_kind_is_float(a->type.kind)) return refuse(ck, prim, a, "a float");
    return make_prim(ck, prim, a->type, a, NULL, ast->span);
}

static zf_expr *check_bits_of(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    zf_expr *a = zf_ck_value(ck, ast->args);
    if (zf_is_poison(a)) return a;
    bool number = !a->type.nullable && (zf_kind_is_integer(a->type.kind) || zf_kind_is_float(a->type.kind));
    if (!number && (a->type.nullable || a->type.kind != ZF_K_BOOL)) return refuse(ck, prim, a, "a number");
    zf_type type = zf_type_of(zf_kind_unsigned(a->type.kind));
    if (!zf_kind_is_float(a->type.kind)) return zf_ck_cast(ck, a, type, ast->span);
    return make_prim(ck, prim, type, a, NULL, ast->span);
}

static zf_expr *check_value_of(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    zf_type type = zf_ck_type_of_expr(ck, ast->args);
    zf_expr *bits = zf_ck_scalar(ck, ast->args->next);
    if (type.kind == ZF_K_ERROR || zf_is_poison(bits)) return zf_ck_poison(ck, ast->span);
    bool number = !type.nullable && (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind) || type.kind == ZF_K_BOOL);
    if (!number) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->args->span, "%s cannot be made of bits", zf_type_name(ck->arena, type));
        return zf_ck_poison(ck, ast->span);
    }
    bits = zf_ck_convert(ck, bits, zf_type_of(zf_kind_unsigned(type.kind)));
    if (zf_is_poison(bits)) return bits;
    if (zf_kind_is_integer(type.kind)) return zf_ck_cast(ck, bits, type, ast->span);
    if (type.kind == ZF_K_BOOL) { // its lowest bit
        zf_expr *one = zf_ck_int(ck, bits->type, 1, ast->span);
        return zf_ck_binary(ck, ZF_OP_NE, zf_ck_binary(ck, ZF_OP_AND, bits, one, ast->span),
                            zf_ck_int(ck, bits->type, 0, ast->span), ast->span);
    }
    return make_prim(ck, prim, type, bits, NULL, ast->span);
}

/// A number of bytes, known when compiling: it behaves like a literal.
static zf_expr *check_sizeof(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    (void)prim;
    zf_type type = zf_ck_type_of_expr(ck, ast->args);
    if (type.kind == ZF_K_ERROR) return zf_ck_poison(ck, ast->span);
    if (type.nullable || zf_kind_size(type.kind) == 0) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->args->span, "%s has no fixed number of bytes", zf_type_name(ck->arena, type));
        return zf_ck_poison(ck, ast->span);
    }
    return zf_ck_literal(ck, zf_kind_size(type.kind), ast->span);
}

static zf_expr *check_only_in_for(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    (void)prim;
    zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`chunks` can stand only in `for c in chunks(x)`");
    return zf_ck_poison(ck, ast->span);
}

static zf_expr *check_only_statement(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    (void)prim;
    zf_ck_error(ck, ZF_D_NO_VALUE, ast->span, "`%s` is a statement and has no value", ast->a->name);
    return zf_ck_poison(ck, ast->span);
}

static zf_expr *check_needs_binder(zf_checker *ck, const zf_ast_expr *ast, zf_prim prim) {
    (void)prim;
    zf_diag *diag = zf_ck_error(ck, ZF_D_ARGUMENTS, ast->span, "`%s` runs over a binder", ast->a->name);
    zf_ck_hint(ck, diag, "write `%s(k in a..b: e)`", ast->a->name);
    return zf_ck_poison(ck, ast->span);
}

static const struct {
    const char *name;
    zf_prim prim;        ///< ZF_P_COUNT: a call that makes no such node
    uint8_t least, most; ///< arguments
    check_primitive check;
} primitives[] = {
#define ZF_PRIMITIVE(id, name, parameters, least, most, operands, checker, meaning) {#name, ZF_P_##id, least, most, checker},
#define ZF_CALL(name, parameters, least, most, checker, meaning) {#name, ZF_P_COUNT, least, most, checker},
#include "frontend/check/primitives.def"
};

const char *zf_prim_name(zf_prim prim) {
    static const char *const names[] = {
#define ZF_PRIMITIVE(id, name, parameters, least, most, operands, checker, meaning) #name,
#define ZF_CALL(name, parameters, least, most, checker, meaning)
#include "frontend/check/primitives.def"
    };
    return prim < ZF_P_COUNT ? names[prim] : "?";
}

zf_prim_operands zf_prim_operands_of(zf_prim prim) {
    static const zf_prim_operands operands[] = {
#define ZF_PRIMITIVE(id, name, parameters, least, most, operands, checker, meaning) ZF_PRIM_##operands,
#define ZF_CALL(name, parameters, least, most, checker, meaning)
#include "frontend/check/primitives.def"
    };
    return operands[prim];
}

zf_expr *zf_ck_primitive(zf_checker *ck, const zf_ast_expr *ast, bool *known) {
    *known = false;
    for (size_t k = 0; k < sizeof primitives / sizeof *primitives; k++) {
        if (strcmp(primitives[k].name, ast->a->name) != 0) continue;
        *known = true;
        uint32_t count = 0;
        for (const zf_ast_expr *argument = ast->args; argument != NULL; argument = argument->next) count++;
        if (count < primitives[k].least || count > primitives[k].most) {
            zf_ck_error(ck, ZF_D_ARGUMENTS, ast->span, "`%s` takes %u argument%s, and %u %s given", primitives[k].name,
                        primitives[k].most, primitives[k].most == 1 ? "" : "s", count, count == 1 ? "is" : "are");
            return zf_ck_poison(ck, ast->span);
        }
        return primitives[k].check(ck, ast, primitives[k].prim);
    }
    return NULL;
}

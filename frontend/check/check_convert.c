// Nodes of the typed tree, and conversions between types: literals that take the type they meet, widening, `as`.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Nodes ----------------------------------------------------------------------------------------------------

/// Sets `too_large` where the limits on growth are passed: from then on nothing but poison is made.
static void check_growth(zf_checker *ck, zf_span span) {
    if (ck->body == ZF_IN_FUNCTION && ck->nodes > ZF_LONE_NODE_LIMIT) {
        ck->too_large = true; // a function by itself is checked as far as it is small; its callers report the rest
    } else if (ck->nodes > ZF_NODE_LIMIT) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_TOO_LARGE, span, "the bodies grow beyond %d nodes once functions are inlined", ZF_NODE_LIMIT);
        zf_ck_hint(ck, diag, "functions are inlined at every call: call them less often, or from a loop");
        ck->too_large = true;
    } else if (zf_arena_used(ck->arena) > (size_t)ZF_MEMORY_LIMIT) {
        ck->too_large = ck->failed = true;
        if (zf_note_out_of_room(ck->spec)) return;
        zf_ck_error(ck, ZF_D_TOO_LARGE, span, "the compilation takes more than %d MiB", ZF_MEMORY_LIMIT >> 20);
    }
}

zf_expr *zf_ck_node(zf_checker *ck, zf_expr_kind kind, zf_type type, zf_span span) {
    ck->nodes++;
    if (!ck->too_large) check_growth(ck, span);
    zf_expr *expr = ZF_NEW(ck->arena, zf_expr);
    expr->kind = kind;
    expr->type = type;
    expr->span = span;
    expr->range = zf_range_all(type);
    return expr;
}

zf_expr *zf_ck_poison(zf_checker *ck, zf_span span) { return zf_ck_node(ck, ZF_X_CONST, zf_type_of(ZF_K_ERROR), span); }

bool zf_is_poison(const zf_expr *expr) { return expr->type.kind == ZF_K_ERROR; }

zf_expr *zf_ck_int(zf_checker *ck, zf_type type, zf_int128 value, zf_span span) {
    zf_expr *expr = zf_ck_node(ck, ZF_X_CONST, type, span);
    expr->bits = zf_bits_of_value(type.kind, value);
    expr->range = zf_interval_const(zf_value_of_bits(type.kind, expr->bits));
    return expr;
}

zf_expr *zf_ck_literal(zf_checker *ck, zf_int128 value, zf_span span) {
    zf_expr *expr = zf_ck_node(ck, ZF_X_CONST, zf_untyped_type(ZF_UNTYPED_INT), span);
    expr->range = zf_interval_const(value);
    return expr;
}

zf_expr *zf_ck_bool(zf_checker *ck, bool value, zf_span span) {
    zf_expr *expr = zf_ck_node(ck, ZF_X_CONST, zf_type_of(ZF_K_BOOL), span);
    expr->bits = value;
    expr->range = zf_interval_const(value);
    return expr;
}

zf_expr *zf_ck_finish(zf_checker *ck, zf_expr *expr, zf_interval range) {
    expr->range = range;
    bool counted = !expr->is_seq && !expr->type.nullable && (zf_kind_is_integer(expr->type.kind) || expr->type.kind == ZF_K_BOOL);
    if (counted && ck->env.facts != NULL && !zf_interval_is_const(range)) expr->range = zf_facts_refine(ck, expr, range);
    return expr;
}

// ---- Floats ---------------------------------------------------------------------------------------------------

static uint64_t float_bits(zf_kind kind, double value) {
    uint64_t bits = 0;
    if (kind == ZF_K_F32) {
        float narrow = (float)value;
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow);
        bits = narrow_bits;
    } else {
        memcpy(&bits, &value, sizeof bits);
    }
    return bits;
}

static double float_value(zf_kind kind, uint64_t bits) {
    double value;
    if (kind == ZF_K_F32) {
        float narrow;
        uint32_t narrow_bits = (uint32_t)bits;
        memcpy(&narrow, &narrow_bits, sizeof narrow);
        value = (double)narrow;
    } else {
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

// ---- Untyped values -------------------------------------------------------------------------------------------

static zf_expr *refuse_conversion(zf_checker *ck, zf_expr *expr, zf_type type) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, expr->span, "cannot use %s as %s", zf_ck_type_name(ck, expr),
                                zf_type_name(ck->arena, type));
    bool numbers = !expr->is_seq && !expr->type.nullable && !type.nullable &&
                   (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind)) &&
                   (zf_kind_is_integer(expr->type.kind) || zf_kind_is_float(expr->type.kind) || expr->type.kind == ZF_K_BOOL);
    if (numbers) {
        zf_ck_remark_facts(ck, diag, expr);
        zf_ck_hint(ck, diag, "write `as %s` where a changed value is meant", zf_type_name(ck->arena, type));
    } else if (expr->type.nullable && !type.nullable) {
        zf_ck_hint(ck, diag, "compare with null first, then take `.value`");
    } else if (zf_untyped_of(expr->type) == ZF_UNTYPED_FLOAT && zf_kind_is_integer(type.kind) && !type.nullable) {
        zf_ck_hint(ck, diag, "a calculation in f64 takes `as f64` on the integer");
    } else if (type.kind == ZF_K_BOOL && zf_kind_is_integer(expr->type.kind)) {
        zf_ck_hint(ck, diag, "write `!= 0`");
    }
    return zf_ck_poison(ck, expr->span);
}

static zf_expr *adapt_constant(zf_checker *ck, zf_expr *expr, zf_type type) {
    zf_untyped sort = zf_untyped_of(expr->type);
    zf_span span = expr->span;
    if (sort == ZF_UNTYPED_FLOAT) {
        if (!zf_kind_is_float(type.kind)) return refuse_conversion(ck, expr, type);
        zf_expr *result = zf_ck_node(ck, ZF_X_CONST, type, span);
        result->bits = float_bits(type.kind, float_value(ZF_K_F64, expr->bits));
        return result;
    }
    zf_int128 value = expr->range.lo;
    if (zf_kind_is_integer(type.kind)) {
        if (zf_interval_within(expr->range, zf_interval_of_kind(type.kind))) return zf_ck_int(ck, type, value, span);
        zf_diag *diag = zf_ck_error(ck, ZF_D_LITERAL_FIT, span, "%s does not fit %s", zf_ck_range_text(ck, expr->range),
                                    zf_kind_name(type.kind));
        zf_ck_remark(ck, diag, (zf_span){0}, "%s holds %s", zf_kind_name(type.kind),
                     zf_ck_range_text(ck, zf_interval_of_kind(type.kind)));
        return zf_ck_poison(ck, span);
    }
    if (zf_kind_is_float(type.kind)) {
        zf_int128 exact = (zf_int128)1 << (type.kind == ZF_K_F32 ? 24 : 53);
        if (value > exact || value < -exact) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_LITERAL_FIT, span, "%s does not fit %s exactly",
                                        zf_ck_range_text(ck, expr->range), zf_kind_name(type.kind));
            zf_ck_hint(ck, diag, "write it with a point or an exponent");
            return zf_ck_poison(ck, span);
        }
        zf_expr *result = zf_ck_node(ck, ZF_X_CONST, type, span);
        result->bits = float_bits(type.kind, (double)(int64_t)value);
        return result;
    }
    return refuse_conversion(ck, expr, type);
}

/// True when an untyped tree calculated in `kind` is its exact value modulo 2^w. Sums, products, shifts to the left and bits
/// always are; a quotient, a remainder and a shift to the right are where their operands fit.
static bool keeps_value(const zf_expr *expr, zf_kind kind) {
    if (expr == NULL || zf_untyped_of(expr->type) == ZF_UNTYPED_NOT) return true;
    zf_interval all = zf_interval_of_kind(kind);
    if (expr->kind == ZF_X_CONST) return zf_interval_within(expr->range, all);
    if (expr->kind == ZF_X_COND) return keeps_value(expr->b, kind) && keeps_value(expr->c, kind);
    if (!keeps_value(expr->a, kind) || !keeps_value(expr->b, kind)) return false;
    if (expr->kind != ZF_X_BINARY) return true;
    if (expr->op == ZF_OP_SHR) return zf_interval_within(expr->a->range, all);
    if (expr->op != ZF_OP_DIV && expr->op != ZF_OP_REM) return true;
    return zf_interval_within(expr->a->range, all) && zf_interval_within(expr->b->range, all);
}

/// The range of a node whose operands have their type and wrap there.
static zf_interval range_of_operands(const zf_expr *expr) {
    if (expr->kind == ZF_X_COND) return zf_interval_hull(expr->b->range, expr->c->range);
    zf_interval b = expr->b != NULL ? expr->b->range : expr->a->range;
    return zf_range_wrap(zf_range_exact(expr->op, expr->a->range, b, zf_kind_bits(expr->type.kind)), expr->type.kind);
}

/// Gives an untyped tree a type. Trees are not shared before they are typed, so nodes are changed in place. `keeps` says what
/// keeps_value() says of the whole tree: without it the ranges of exact values say nothing of those that are calculated.
static zf_expr *adapt_tree(zf_checker *ck, zf_expr *expr, zf_type type, bool keeps) {
    if (zf_is_poison(expr)) return expr;
    if (type.nullable) {
        if (zf_untyped_of(expr->type) == ZF_UNTYPED_NULL) return zf_ck_node(ck, ZF_X_NULL, type, expr->span);
        zf_expr *inner = adapt_tree(ck, expr, zf_type_value(type), keeps);
        if (zf_is_poison(inner)) return inner;
        zf_expr *some = zf_ck_node(ck, ZF_X_SOME, type, expr->span);
        some->a = inner;
        return some;
    }
    if (zf_untyped_of(expr->type) == ZF_UNTYPED_NULL) return refuse_conversion(ck, expr, type);
    if (expr->kind == ZF_X_CONST) return adapt_constant(ck, expr, type);
    bool divides = expr->kind == ZF_X_BINARY &&
                   (expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM || expr->op == ZF_OP_SHL || expr->op == ZF_OP_SHR);
    if (!zf_kind_is_integer(type.kind) && (divides || !zf_kind_is_float(type.kind))) return refuse_conversion(ck, expr, type);
    zf_interval exact = expr->range;
    if (expr->kind == ZF_X_COND) {
        expr->b = adapt_tree(ck, expr->b, type, keeps);
        expr->c = adapt_tree(ck, expr->c, type, keeps);
        if (zf_is_poison(expr->b) || zf_is_poison(expr->c)) return zf_ck_poison(ck, expr->span);
    } else {
        expr->a = adapt_tree(ck, expr->a, type, keeps);
        if (zf_is_poison(expr->a)) return expr->a;
        if (expr->b != NULL && zf_untyped_of(expr->b->type) != ZF_UNTYPED_NOT) expr->b = adapt_tree(ck, expr->b, type, keeps);
        if (expr->b != NULL && zf_is_poison(expr->b)) return expr->b;
    }
    expr->type = type;
    expr->range = (zf_interval){0, 0};
    if (zf_kind_is_integer(type.kind)) expr->range = keeps ? zf_range_wrap(exact, type.kind) : range_of_operands(expr);
    if (expr->kind == ZF_X_BINARY && (expr->op == ZF_OP_DIV || expr->op == ZF_OP_REM)) zf_ck_judge_division(ck, expr);
    return expr;
}

static zf_expr *adapt(zf_checker *ck, zf_expr *expr, zf_type type) {
    return adapt_tree(ck, expr, type, zf_kind_is_integer(type.kind) && keeps_value(expr, type.kind));
}

zf_expr *zf_ck_settle(zf_checker *ck, zf_expr *expr) {
    switch (zf_untyped_of(expr->type)) {
    case ZF_UNTYPED_NOT: return expr;
    case ZF_UNTYPED_FLOAT: return adapt(ck, expr, zf_type_of(ZF_K_F64));
    case ZF_UNTYPED_CHAR: return adapt(ck, expr, zf_type_of(ZF_K_U8));
    case ZF_UNTYPED_INT: {
        bool is_signed = expr->range.lo < 0 || (ck->query != NULL && ck->frame->local && expr->range.hi <= INT64_MAX);
        return adapt(ck, expr, zf_type_of(is_signed ? ZF_K_I64 : ZF_K_U64));
    }
    case ZF_UNTYPED_NULL: break;
    }
    zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, expr->span, "the type of this null is unknown");
    zf_ck_hint(ck, diag, "write the type: `let v: u32? = null`");
    return zf_ck_poison(ck, expr->span);
}

// ---- Typed values ---------------------------------------------------------------------------------------------

static unsigned exact_float_bits(zf_kind kind) { return kind == ZF_K_F32 ? 24 : 53; }

bool zf_converts(zf_type from, zf_type to) {
    from = zf_type_strip(from);
    to = zf_type_strip(to);
    if (zf_type_equal(from, to)) return true;
    if (to.nullable) return !from.nullable && zf_converts(from, zf_type_value(to));
    if (from.nullable) return false;
    if (zf_kind_is_integer(from.kind) && zf_kind_is_integer(to.kind)) {
        return zf_interval_within(zf_interval_of_kind(from.kind), zf_interval_of_kind(to.kind));
    }
    if (zf_kind_is_integer(from.kind) && zf_kind_is_float(to.kind)) return zf_kind_bits(from.kind) <= exact_float_bits(to.kind);
    return from.kind == ZF_K_F32 && to.kind == ZF_K_F64;
}

static zf_expr *cast_constant(zf_checker *ck, const zf_expr *expr, zf_type type, zf_span span) {
    zf_expr *result = zf_ck_node(ck, ZF_X_CAST, type, span);
    result->a = (zf_expr *)expr;
    uint64_t bits = 0;
    if (!zf_expr_evaluate(result, NULL, &bits)) return result;
    result->kind = ZF_X_CONST;
    result->a = NULL;
    result->bits = bits;
    if (zf_kind_is_integer(type.kind)) result->range = zf_interval_const(zf_value_of_bits(type.kind, bits));
    return result;
}

/// A CAST between numbers, or from bool to an integer; the types differ.
static zf_expr *make_cast(zf_checker *ck, zf_expr *expr, zf_type type, zf_span span) {
    if (expr->kind == ZF_X_CONST) return cast_constant(ck, expr, type, span);
    zf_expr *cast = zf_ck_node(ck, ZF_X_CAST, type, span);
    cast->a = expr;
    cast->effect = expr->effect;
    if (!zf_kind_is_integer(type.kind)) return cast;
    bool counted = zf_kind_is_integer(expr->type.kind) || expr->type.kind == ZF_K_BOOL;
    return zf_ck_finish(ck, cast, counted ? zf_range_wrap(expr->range, type.kind) : zf_interval_of_kind(type.kind));
}

zf_expr *zf_ck_convert(zf_checker *ck, zf_expr *expr, zf_type type) {
    type = zf_type_strip(type);
    if (zf_is_poison(expr)) return expr;
    if (type.kind == ZF_K_ERROR) return zf_ck_poison(ck, expr->span);
    if (expr->is_seq) {
        // A sequence of bytes is a string where one is wanted.
        if (type.kind != ZF_K_STRING || expr->type.kind != ZF_K_U8 || expr->type.nullable)
            return refuse_conversion(ck, expr, type);
        zf_expr *slice = zf_ck_node(ck, ZF_X_SLICE, zf_type_of(ZF_K_STRING), expr->span);
        slice->a = expr;
        slice->b = zf_ck_int(ck, zf_type_of(ZF_K_U64), 0, expr->span);
        slice->c = zf_ck_length(ck, expr, expr->span);
        slice->proved = true;
        return type.nullable ? zf_ck_convert(ck, slice, type) : slice;
    }
    if (zf_untyped_of(expr->type) != ZF_UNTYPED_NOT) return adapt(ck, expr, type);
    if (expr->type.kind == ZF_K_NONE) {
        zf_ck_error(ck, ZF_D_NO_VALUE, expr->span, "this has no value, but %s is wanted", zf_type_name(ck->arena, type));
        return zf_ck_poison(ck, expr->span);
    }
    if (zf_type_equal(expr->type, type)) return expr;
    if (!zf_converts(expr->type, type)) return refuse_conversion(ck, expr, type);
    if (type.nullable) {
        zf_expr *some = zf_ck_node(ck, ZF_X_SOME, type, expr->span);
        some->a = zf_ck_convert(ck, expr, zf_type_value(type));
        some->effect = expr->effect;
        return some;
    }
    return make_cast(ck, expr, type, expr->span);
}

zf_expr *zf_ck_cast(zf_checker *ck, zf_expr *expr, zf_type type, zf_span span) {
    type = zf_type_strip(type);
    if (zf_is_poison(expr)) return expr;
    if (type.kind == ZF_K_ERROR) return zf_ck_poison(ck, span);
    if (!expr->is_seq && !type.nullable && zf_kind_is_integer(type.kind)) {
        // An integer literal that fits takes the type. Another literal is the value modulo 2^w, as for any cast. An expression
        // of literals with a division whose operands do not fit is treated likewise: in the narrow type its quotient would be
        // another.
        zf_untyped sort = zf_untyped_of(expr->type);
        bool integer = sort == ZF_UNTYPED_INT || sort == ZF_UNTYPED_CHAR;
        bool fits = integer && zf_interval_within(expr->range, zf_interval_of_kind(type.kind));
        if (fits && keeps_value(expr, type.kind)) return adapt(ck, expr, type);
    } else if (zf_kind_is_float(type.kind) && zf_untyped_of(expr->type) == ZF_UNTYPED_FLOAT) {
        return adapt(ck, expr, type);
    }
    if (!expr->is_seq) expr = zf_ck_settle(ck, expr);
    if (zf_is_poison(expr)) return expr;
    if (!expr->is_seq && zf_type_equal(expr->type, type)) return expr;
    bool from_number =
        !expr->is_seq && !expr->type.nullable && (zf_kind_is_integer(expr->type.kind) || zf_kind_is_float(expr->type.kind));
    bool to_number = !type.nullable && (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind));
    bool from_bool = !expr->is_seq && expr->type.kind == ZF_K_BOOL && !expr->type.nullable && zf_kind_is_integer(type.kind);
    if (to_number && (from_number || from_bool)) return make_cast(ck, expr, type, span);
    if (expr->type.kind == ZF_K_STRING || expr->is_seq || !zf_converts(expr->type, type)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, span, "there is no conversion from %s to %s",
                                    zf_ck_type_name(ck, expr), zf_type_name(ck->arena, type));
        if (type.kind == ZF_K_BOOL && from_number) zf_ck_hint(ck, diag, "write `!= 0`");
        if (expr->type.nullable) zf_ck_hint(ck, diag, "take `.value` first");
        return zf_ck_poison(ck, span);
    }
    return zf_ck_convert(ck, expr, type);
}

zf_expr *zf_ck_index(zf_checker *ck, zf_expr *expr) {
    if (zf_is_poison(expr)) return expr;
    zf_untyped sort = zf_untyped_of(expr->type);
    if (ck->query != NULL && sort == ZF_UNTYPED_INT) expr = zf_ck_settle(ck, expr);
    if (zf_is_poison(expr)) return expr;
    sort = zf_untyped_of(expr->type);
    if (sort == ZF_UNTYPED_INT || sort == ZF_UNTYPED_CHAR) return adapt(ck, expr, zf_type_of(ZF_K_U64));
    // In a query an index may be negative, and then is one beyond any end.
    if (ck->query != NULL && !expr->is_seq && !expr->type.nullable && zf_kind_is_signed(expr->type.kind))
        return make_cast(ck, zf_ck_convert(ck, expr, zf_type_of(ZF_K_I64)), zf_type_of(ZF_K_U64), expr->span);
    if (expr->is_seq || expr->type.nullable || !zf_kind_is_unsigned(expr->type.kind)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_INDEX_UNSIGNED, expr->span, "an unsigned integer is wanted here, not %s",
                                    zf_ck_type_name(ck, expr));
        if (!expr->is_seq && zf_kind_is_signed(expr->type.kind)) {
            zf_ck_remark_facts(ck, diag, expr);
            zf_ck_hint(ck, diag, "write `as u64`");
        } else if (!expr->is_seq && !expr->type.nullable && expr->type.kind == ZF_K_BOOL) {
            zf_ck_hint(ck, diag, "write `as u64`: it is 1 where this holds, else 0");
        }
        return zf_ck_poison(ck, expr->span);
    }
    return zf_ck_convert(ck, expr, zf_type_of(ZF_K_U64));
}

bool zf_ck_common(zf_checker *ck, zf_expr **a, zf_expr **b, zf_span span) {
    if (zf_is_poison(*a) || zf_is_poison(*b)) return false;
    zf_untyped sort_a = (*a)->is_seq ? ZF_UNTYPED_NOT : zf_untyped_of((*a)->type);
    zf_untyped sort_b = (*b)->is_seq ? ZF_UNTYPED_NOT : zf_untyped_of((*b)->type);
    if (sort_a == ZF_UNTYPED_NULL && sort_b != ZF_UNTYPED_NOT)
        *b = zf_ck_settle(ck, *b);
    else if (sort_b == ZF_UNTYPED_NULL && sort_a != ZF_UNTYPED_NOT)
        *a = zf_ck_settle(ck, *a);
    else if (sort_a != ZF_UNTYPED_NOT && sort_b != ZF_UNTYPED_NOT) {
        // 1.5 + 2: the integer takes the float's type.
        *a = sort_b == ZF_UNTYPED_FLOAT ? adapt(ck, *a, zf_type_of(ZF_K_F64)) : zf_ck_settle(ck, *a);
        *b = sort_a == ZF_UNTYPED_FLOAT ? adapt(ck, *b, zf_type_of(ZF_K_F64)) : zf_ck_settle(ck, *b);
    }
    if (zf_is_poison(*a) || zf_is_poison(*b)) return false;
    sort_a = (*a)->is_seq ? ZF_UNTYPED_NOT : zf_untyped_of((*a)->type);
    sort_b = (*b)->is_seq ? ZF_UNTYPED_NOT : zf_untyped_of((*b)->type);
    zf_type type_a = (*a)->type, type_b = (*b)->type;
    if (sort_a == ZF_UNTYPED_NULL) type_b.nullable = true;
    if (sort_b == ZF_UNTYPED_NULL) type_a.nullable = true;
    if (sort_a != ZF_UNTYPED_NOT) type_a = type_b;
    if (sort_b != ZF_UNTYPED_NOT) type_b = type_a;
    // T? with a wider value than T's: both become the nullable of what holds both.
    if (type_a.nullable != type_b.nullable) type_a.nullable = type_b.nullable = true;
    bool values = !(*a)->is_seq && !(*b)->is_seq && type_a.kind != ZF_K_NONE && type_b.kind != ZF_K_NONE;
    zf_type type = type_b;
    if (values && zf_converts(zf_type_value(type_a), zf_type_value(type_b)))
        type = type_b;
    else if (values && zf_converts(zf_type_value(type_b), zf_type_value(type_a)))
        type = type_a;
    else
        values = false;
    // A nullable cannot be widened inside: only a value that is not nullable yet converts.
    if (values && ((*a)->type.nullable || (*b)->type.nullable)) {
        if ((*a)->type.nullable && !zf_type_equal(zf_type_strip((*a)->type), zf_type_strip(type))) values = false;
        if ((*b)->type.nullable && !zf_type_equal(zf_type_strip((*b)->type), zf_type_strip(type))) values = false;
    }
    if (!values) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_NO_COMMON_TYPE, span, "no common type of %s and %s", zf_ck_type_name(ck, *a),
                                    zf_ck_type_name(ck, *b));
        bool integers = zf_kind_is_integer(type_a.kind) && zf_kind_is_integer(type_b.kind) && !(*a)->is_seq && !(*b)->is_seq;
        if (integers) {
            zf_ck_remark_facts(ck, diag, *a);
            zf_ck_remark_facts(ck, diag, *b);
            zf_ck_hint(ck, diag, "write `as %s` on one side",
                       zf_kind_name(zf_kind_bits(type_a.kind) >= zf_kind_bits(type_b.kind) ? type_a.kind : type_b.kind));
        }
        return false;
    }
    *a = zf_ck_convert(ck, *a, type);
    *b = zf_ck_convert(ck, *b, type);
    return !zf_is_poison(*a) && !zf_is_poison(*b);
}

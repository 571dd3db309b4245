// Unary and binary operators: types, folding of constants, ranges, divisions.
#include "frontend/check/checker.h"

static bool is_untyped_int(const zf_expr *expr) {
    zf_untyped sort = zf_untyped_of(expr->type);
    return sort == ZF_UNTYPED_INT || sort == ZF_UNTYPED_CHAR;
}

static zf_expr *refuse_operand(zf_checker *ck, zf_op op, const zf_expr *expr, zf_span span) {
    zf_diag *diag =
        zf_ck_error(ck, ZF_D_BAD_OPERAND, span, "`%s` is not an operation on %s", zf_op_text(op), zf_ck_type_name(ck, expr));
    if (expr->type.nullable)
        zf_ck_hint(ck, diag, "compare with null first, then take `.value`");
    else if (expr->type.kind == ZF_K_BOOL && (op == ZF_OP_AND || op == ZF_OP_OR))
        zf_ck_hint(ck, diag, "write `%s%s`", zf_op_text(op), zf_op_text(op));
    else if (expr->type.kind == ZF_K_BOOL && op == ZF_OP_XOR)
        zf_ck_hint(ck, diag, "write `!=`");
    else if (expr->type.kind == ZF_K_BOOL)
        zf_ck_hint(ck, diag, "write `as u8` first");
    else if (expr->type.kind == ZF_K_OPAQUE)
        zf_ck_hint_bound(ck, diag, expr->type, "integer");
    return zf_ck_poison(ck, span);
}

// ---- Unary ----------------------------------------------------------------------------------------------------

zf_expr *zf_ck_unary(zf_checker *ck, zf_op op, zf_expr *a, zf_span span) {
    if (zf_is_poison(a)) return a;
    zf_expr *lifted = zf_ck_lift_unary(ck, op, a, span);
    if (lifted != NULL) return lifted;
    zf_untyped sort = zf_untyped_of(a->type);
    if (sort == ZF_UNTYPED_FLOAT && op == ZF_OP_NEG) { // a literal with its sign
        zf_expr *expr = zf_ck_node(ck, ZF_X_CONST, a->type, span);
        expr->bits = a->bits ^ UINT64_C(1) << 63;
        return expr;
    }
    if (is_untyped_int(a) && op != ZF_OP_NOT) {
        if (op == ZF_OP_NEG) {
            zf_interval range = zf_range_exact(op, a->range, a->range, 128);
            if (a->kind == ZF_X_CONST) return zf_ck_literal(ck, range.lo, span);
            zf_expr *expr = zf_ck_node(ck, ZF_X_UNARY, zf_untyped_type(ZF_UNTYPED_INT), span);
            expr->op = op;
            expr->a = a;
            expr->effect = a->effect;
            expr->range = range;
            return expr;
        }
        a = zf_ck_settle(ck, a); // ~ depends on the width, so the literal takes its own
        if (zf_is_poison(a)) return a;
    }
    a = zf_ck_settle(ck, a);
    if (zf_is_poison(a)) return a;
    bool integer = zf_kind_is_integer(a->type.kind) && !a->type.nullable;
    bool fits = op == ZF_OP_NOT ? a->type.kind == ZF_K_BOOL && !a->type.nullable
                                : integer || (op == ZF_OP_NEG && zf_kind_is_float(a->type.kind) && !a->type.nullable);
    if (!fits) return refuse_operand(ck, op, a, span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_UNARY, a->type, span);
    expr->op = op;
    expr->a = a;
    expr->effect = a->effect;
    if (op == ZF_OP_NOT) return zf_ck_finish(ck, expr, (zf_interval){1 - a->range.hi, 1 - a->range.lo});
    if (!integer) return expr;
    if (a->kind == ZF_X_CONST) return zf_ck_int(ck, a->type, op == ZF_OP_NEG ? -a->range.lo : ~a->range.lo, span);
    zf_interval exact = zf_range_exact(op, a->range, a->range, zf_kind_bits(a->type.kind));
    if (op == ZF_OP_BITNOT && zf_kind_is_unsigned(a->type.kind)) { // all ones minus a
        zf_int128 ones = zf_interval_of_kind(a->type.kind).hi;
        exact = (zf_interval){ones - a->range.hi, ones - a->range.lo};
    }
    return zf_ck_finish(ck, expr, zf_range_wrap(exact, a->type.kind));
}

// ---- Binary ---------------------------------------------------------------------------------------------------

static bool is_shift(zf_op op) { return op == ZF_OP_SHL || op == ZF_OP_SHR; }
static bool is_comparison(zf_op op) { return op >= ZF_OP_EQ && op <= ZF_OP_GE; }
static bool is_division(zf_op op) { return op == ZF_OP_DIV || op == ZF_OP_REM; }

static zf_expr *report_zero_divisor(zf_checker *ck, const zf_expr *divisor) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_DIVISION_BY_ZERO, divisor->span, "the divisor is always 0");
    zf_ck_remark_facts(ck, diag, divisor);
    return zf_ck_poison(ck, divisor->span);
}

void zf_ck_judge_division(zf_checker *ck, zf_expr *expr) {
    zf_interval a = expr->a->range, b = expr->b->range;
    expr->proved = b.lo > 0 || b.hi < 0;
    zf_int128 least = zf_interval_of_kind(expr->type.kind).lo;
    expr->nonzero_overflow = zf_kind_is_unsigned(expr->type.kind) || b.lo > -1 || b.hi < -1 || a.lo > least;
    if (!expr->proved) zf_ck_note_check(ck, expr->b, expr->b, "the divisor may be 0: a check stays");
}

/// Both sides literals, or made of them: the result stays untyped. Comparisons decide at once or settle.
static zf_expr *untyped_binary(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    if (is_division(op) && zf_interval_is_const(b->range) && b->range.lo == 0) return report_zero_divisor(ck, b);
    zf_interval range = zf_range_exact(op, a->range, b->range, 128);
    zf_interval known = {-((zf_int128)1 << 66), (zf_int128)1 << 66};
    if (a->kind == ZF_X_CONST && b->kind == ZF_X_CONST && zf_interval_is_const(range) && zf_interval_within(range, known)) {
        zf_expr *folded = zf_ck_literal(ck, range.lo, span);
        if (zf_untyped_of(a->type) == ZF_UNTYPED_CHAR && zf_untyped_of(b->type) == ZF_UNTYPED_CHAR) folded->type = a->type;
        return folded;
    }
    if (a->kind == ZF_X_CONST && b->kind == ZF_X_CONST) {
        zf_ck_error(ck, ZF_D_LITERAL_FIT, span, "the value of this does not fit 64 bits");
        return zf_ck_poison(ck, span);
    }
    zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, zf_untyped_type(ZF_UNTYPED_INT), span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->effect = a->effect || b->effect;
    expr->range = range;
    return expr; // whether a division is proved hangs on the type that it will have
}

static zf_expr *make_shift(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    if (is_untyped_int(b)) {
        if (b->range.lo < 0) {
            zf_ck_error(ck, ZF_D_BAD_OPERAND, b->span, "a shift by a negative number");
            return zf_ck_poison(ck, span);
        }
        b = ck->query != NULL ? zf_ck_index(ck, b) : zf_ck_settle(ck, b);
    }
    if (zf_is_poison(b)) return b;
    // In a query a count may be negative, and then is one beyond any width.
    if (ck->query != NULL && !b->is_seq && !b->type.nullable && zf_kind_is_signed(b->type.kind)) b = zf_ck_index(ck, b);
    if (b->type.nullable || !zf_kind_is_unsigned(b->type.kind)) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_INDEX_UNSIGNED, b->span, "a shift needs an unsigned count, not %s", zf_ck_type_name(ck, b));
        if (zf_kind_is_signed(b->type.kind)) zf_ck_hint(ck, diag, "write `as u64`");
        return zf_ck_poison(ck, span);
    }
    if (is_untyped_int(a)) {
        if (a->kind == ZF_X_CONST && b->kind == ZF_X_CONST) {
            zf_expr *count = zf_ck_literal(ck, b->range.lo, b->span);
            return untyped_binary(ck, op, a, count, span);
        }
        zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, zf_untyped_type(ZF_UNTYPED_INT), span);
        expr->op = op;
        expr->a = a;
        expr->b = b;
        expr->effect = a->effect || b->effect;
        expr->range = zf_range_exact(op, a->range, b->range, 128);
        return expr;
    }
    a = zf_ck_settle(ck, a);
    if (zf_is_poison(a)) return a;
    if (a->type.nullable || !zf_kind_is_integer(a->type.kind)) return refuse_operand(ck, op, a, span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, a->type, span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->effect = a->effect || b->effect;
    zf_interval exact = zf_range_exact(op, a->range, b->range, zf_kind_bits(a->type.kind));
    if (a->kind == ZF_X_CONST && b->kind == ZF_X_CONST) {
        uint64_t bits;
        if (zf_expr_evaluate(expr, NULL, &bits)) return zf_ck_int(ck, a->type, zf_value_of_bits(a->type.kind, bits), span);
    }
    return zf_ck_finish(ck, expr, zf_range_wrap(exact, a->type.kind));
}

static zf_expr *make_logical(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    a = zf_ck_convert(ck, zf_ck_truth(ck, a), zf_type_of(ZF_K_BOOL));
    b = zf_ck_convert(ck, zf_ck_truth(ck, b), zf_type_of(ZF_K_BOOL));
    if (zf_is_poison(a) || zf_is_poison(b)) return zf_ck_poison(ck, span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, zf_type_of(ZF_K_BOOL), span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->effect = a->effect || b->effect;
    return zf_ck_finish(ck, expr, zf_range_exact(op, a->range, b->range, 1));
}

static zf_expr *make_not(zf_checker *ck, zf_expr *a) { return zf_ck_unary(ck, ZF_OP_NOT, a, a->span); }

/// v == null, null != v. NULL: neither side is null.
static zf_expr *compare_with_null(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    bool null_a = zf_untyped_of(a->type) == ZF_UNTYPED_NULL, null_b = zf_untyped_of(b->type) == ZF_UNTYPED_NULL;
    if (!null_a && !null_b) return NULL;
    zf_expr *value = null_a ? b : a;
    if ((null_a && null_b) || !value->type.nullable || (op != ZF_OP_EQ && op != ZF_OP_NE)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, span, "only a nullable value is compared with null, by `==` or `!=`");
        if (!value->type.nullable && zf_untyped_of(value->type) == ZF_UNTYPED_NOT) {
            zf_ck_remark(ck, diag, value->span, "this is of type %s, which is never null", zf_ck_type_name(ck, value));
        }
        return zf_ck_poison(ck, span);
    }
    zf_expr *test = zf_ck_node(ck, ZF_X_IS_NULL, zf_type_of(ZF_K_BOOL), span);
    test->a = value;
    test->effect = value->effect;
    return op == ZF_OP_EQ ? test : make_not(ck, test);
}

static zf_expr *bits_of(zf_checker *ck, zf_expr *value) {
    zf_expr *expr = zf_ck_node(ck, ZF_X_PRIM, zf_type_of(zf_kind_unsigned(value->type.kind)), value->span);
    expr->prim = ZF_P_BITS_OF;
    expr->a = value;
    expr->effect = value->effect;
    return expr;
}

static zf_expr *make_comparison(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    zf_type type = a->type;
    bool number = !type.nullable && (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind));
    bool equality = op == ZF_OP_EQ || op == ZF_OP_NE;
    if (!number && !equality) return refuse_operand(ck, op, a, span);
    // In a generic body values are told apart by their bits, so that what is equal can stand for the other.
    bool generic = ck->frame->local && ck->generics != NULL;
    if (generic && equality && zf_kind_is_float(type.kind) && !type.nullable) {
        a = bits_of(ck, a);
        b = bits_of(ck, b);
    }
    zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, zf_type_of(ZF_K_BOOL), span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->effect = a->effect || b->effect;
    bool counted = !type.nullable && (zf_kind_is_integer(type.kind) || type.kind == ZF_K_BOOL);
    zf_interval range = {0, 1};
    if (counted) {
        range = zf_range_exact(op, a->range, b->range, 1);
        if (range.lo != range.hi && zf_kind_is_integer(type.kind)) { // what relations say
            zf_op less = op == ZF_OP_GT || op == ZF_OP_LT ? ZF_OP_LT : ZF_OP_LE;
            const zf_expr *x = op == ZF_OP_GT || op == ZF_OP_GE ? b : a, *y = x == a ? b : a;
            if (!equality && zf_facts_below(ck, x, y, less == ZF_OP_LT)) range = zf_interval_const(1);
        }
    }
    return zf_ck_finish(ck, expr, range);
}

static zf_expr *make_arithmetic(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    zf_type type = a->type;
    bool integer = !type.nullable && zf_kind_is_integer(type.kind);
    bool floats = !type.nullable && zf_kind_is_float(type.kind) &&
                  (op == ZF_OP_ADD || op == ZF_OP_SUB || op == ZF_OP_MUL || op == ZF_OP_DIV);
    if (!integer && !floats) return refuse_operand(ck, op, a, span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_BINARY, type, span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->effect = a->effect || b->effect;
    if (floats) {
        expr->proved = true;
        return expr;
    }
    if (is_division(op)) {
        if (zf_interval_is_const(b->range) && b->range.lo == 0 && !ck->env.dead) return report_zero_divisor(ck, b);
        zf_ck_judge_division(ck, expr);
    }
    if (a->kind == ZF_X_CONST && b->kind == ZF_X_CONST) {
        uint64_t bits;
        if (zf_expr_evaluate(expr, NULL, &bits)) return zf_ck_int(ck, type, zf_value_of_bits(type.kind, bits), span);
    }
    zf_interval exact = zf_range_exact(op, a->range, b->range, zf_kind_bits(type.kind));
    if (op == ZF_OP_SUB && exact.lo < 0 && zf_kind_is_unsigned(type.kind) && zf_facts_below(ck, b, a, false)) {
        exact = (zf_interval){0, exact.hi < 0 ? 0 : exact.hi};
    }
    return zf_ck_finish(ck, expr, zf_range_wrap(exact, type.kind));
}

static bool is_float(const zf_expr *expr) {
    return !expr->type.nullable && (expr->type.kind == ZF_K_F64 || zf_untyped_of(expr->type) == ZF_UNTYPED_FLOAT);
}

/// In a query an integer that f64 holds exactly meets a float as one.
static void meet_float(zf_checker *ck, zf_expr **a, zf_expr **b) {
    for (int turn = 0; turn < 2; turn++) {
        zf_expr **integer = turn == 0 ? a : b, *other = turn == 0 ? *b : *a;
        zf_interval exact = {-((zf_int128)1 << 53), (zf_int128)1 << 53};
        bool meets = zf_kind_is_integer((*integer)->type.kind) && !(*integer)->type.nullable && is_float(other) &&
                     zf_interval_within((*integer)->range, exact);
        if (meets) *integer = zf_ck_cast(ck, *integer, zf_type_of(ZF_K_F64), (*integer)->span);
    }
}

zf_expr *zf_ck_binary(zf_checker *ck, zf_op op, zf_expr *a, zf_expr *b, zf_span span) {
    if (zf_is_poison(a) || zf_is_poison(b)) return zf_ck_poison(ck, span);
    if (op == ZF_OP_ANDAND || op == ZF_OP_OROR) return make_logical(ck, op, a, b, span);
    if (is_comparison(op)) {
        zf_expr *test = compare_with_null(ck, op, a, b, span);
        if (test != NULL) return test;
    }
    zf_expr *lifted = zf_ck_lift_binary(ck, op, a, b, span);
    if (lifted != NULL) return lifted;
    if (is_shift(op)) return make_shift(ck, op, a, b, span);
    if (!is_comparison(op) && is_untyped_int(a) && is_untyped_int(b)) return untyped_binary(ck, op, a, b, span);
    if (is_comparison(op) && is_untyped_int(a) && is_untyped_int(b) && a->kind == ZF_X_CONST && b->kind == ZF_X_CONST) {
        return zf_ck_bool(ck, zf_range_compare(op, a->range, b->range) == 1, span);
    }
    if (ck->query != NULL) meet_float(ck, &a, &b);
    if (!zf_ck_common(ck, &a, &b, span)) return zf_ck_poison(ck, span);
    return is_comparison(op) ? make_comparison(ck, op, a, b, span) : make_arithmetic(ck, op, a, b, span);
}

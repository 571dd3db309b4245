// Constants: evaluating checked expressions, declarations of constants, literals of codecs.
#include <math.h>
#include <string.h>

#include "frontend/check/checker.h"

enum {
    EVALUATE_DEPTH = ZF_TREE_DEPTH_LIMIT * 2,
    CONSTANT_DEPTH = 200, ///< constants resolved within each other: resolving recurses
};

__extension__ typedef unsigned __int128 wide_unsigned;

/// A constant with an error resolves to this. The error is reported at the constant, and its uses report nothing.
static const zf_constant failed_constant;

// ---- Floats as bits -------------------------------------------------------------------------------------------

static double to_double(zf_kind kind, uint64_t bits) {
    if (kind == ZF_K_F32) {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return (double)value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float to_float(uint64_t bits) {
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static uint64_t of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// Truncates and saturates; NaN gives 0.
static uint64_t float_to_integer(double value, zf_kind kind) {
    zf_interval all = zf_interval_of_kind(kind);
    if (isnan(value)) return 0;
    value = trunc(value);
    if (value <= (double)all.lo) return zf_bits_of_value(kind, all.lo);
    if (value >= (double)all.hi) return zf_bits_of_value(kind, all.hi);
    return zf_bits_of_value(kind, (zf_int128)value);
}

static uint64_t cast_bits(zf_kind from, zf_kind to, uint64_t bits) {
    if (zf_kind_is_float(from)) {
        if (zf_kind_is_integer(to)) return float_to_integer(to_double(from, bits), to);
        if (from == to) return bits;
        return to == ZF_K_F32 ? of_float((float)to_double(from, bits)) : of_double(to_double(from, bits));
    }
    zf_int128 value = zf_value_of_bits(from, bits);
    if (to == ZF_K_F32) return of_float(value < 0 ? (float)(int64_t)value : (float)(uint64_t)value);
    if (to == ZF_K_F64) return of_double(value < 0 ? (double)(int64_t)value : (double)(uint64_t)value);
    return zf_bits_of_value(to, value);
}

// ---- Evaluating -----------------------------------------------------------------------------------------------

static bool evaluate(const zf_expr *expr, const uint64_t *params, uint64_t *bits, int depth);

static bool compare_ordered(zf_op op, int order) {
    switch (op) {
    case ZF_OP_EQ: return order == 0;
    case ZF_OP_NE: return order != 0;
    case ZF_OP_LT: return order < 0;
    case ZF_OP_LE: return order <= 0;
    case ZF_OP_GT: return order > 0;
    default: return order >= 0;
    }
}

static bool float_binary(zf_op op, zf_kind kind, uint64_t a, uint64_t b, uint64_t *bits) {
    double x = to_double(kind, a), y = to_double(kind, b);
    switch (op) {
    case ZF_OP_EQ: *bits = x == y; return true;
    case ZF_OP_NE: *bits = x != y; return true;
    case ZF_OP_LT: *bits = x < y; return true;
    case ZF_OP_LE: *bits = x <= y; return true;
    case ZF_OP_GT: *bits = x > y; return true;
    case ZF_OP_GE: *bits = x >= y; return true;
    default: break;
    }
    if (kind == ZF_K_F32) {
        float p = to_float(a), q = to_float(b), r;
        switch (op) {
        case ZF_OP_ADD: r = p + q; break;
        case ZF_OP_SUB: r = p - q; break;
        case ZF_OP_MUL: r = p * q; break;
        case ZF_OP_DIV: r = p / q; break;
        default: return false;
        }
        *bits = of_float(r);
        return true;
    }
    double r;
    switch (op) {
    case ZF_OP_ADD: r = x + y; break;
    case ZF_OP_SUB: r = x - y; break;
    case ZF_OP_MUL: r = x * y; break;
    case ZF_OP_DIV: r = x / y; break;
    default: return false;
    }
    *bits = of_double(r);
    return true;
}

static bool integer_binary(zf_op op, zf_kind kind, zf_int128 a, zf_int128 b, uint64_t *bits) {
    zf_int128 value;
    unsigned width = zf_kind_bits(kind);
    switch (op) {
    case ZF_OP_ADD: value = a + b; break;
    case ZF_OP_SUB: value = a - b; break;
    case ZF_OP_MUL: value = (zf_int128)((wide_unsigned)a * (wide_unsigned)b); break; // modulo 2^128, then 2^w
    case ZF_OP_DIV:
    case ZF_OP_REM:
        if (b == 0) return false;
        value = op == ZF_OP_DIV ? a / b : a % b;
        break;
    case ZF_OP_AND: value = a & b; break;
    case ZF_OP_OR: value = a | b; break;
    case ZF_OP_XOR: value = a ^ b; break;
    case ZF_OP_SHL: value = b >= width ? 0 : (zf_int128)((wide_unsigned)a << b); break;
    case ZF_OP_SHR: value = b >= width ? (a < 0 ? -1 : 0) : a >> b; break;
    default: *bits = compare_ordered(op, a < b ? -1 : a > b); return true;
    }
    *bits = zf_bits_of_value(kind, value);
    return true;
}

static bool binary(const zf_expr *expr, const uint64_t *params, uint64_t *bits, int depth) {
    uint64_t a, b;
    if (!evaluate(expr->a, params, &a, depth)) return false;
    if (expr->op == ZF_OP_ANDAND || expr->op == ZF_OP_OROR) {
        bool decided = (a != 0) == (expr->op == ZF_OP_OROR);
        *bits = a;
        return decided || evaluate(expr->b, params, bits, depth);
    }
    if (!evaluate(expr->b, params, &b, depth)) return false;
    zf_type type = expr->a->type;
    if (type.nullable) return false;
    if (zf_kind_is_float(type.kind)) return float_binary(expr->op, type.kind, a, b, bits);
    if (!zf_kind_is_integer(type.kind) && type.kind != ZF_K_BOOL) return false;
    return integer_binary(expr->op, type.kind, zf_value_of_bits(type.kind, a), zf_value_of_bits(expr->b->type.kind, b), bits);
}

static bool primitive(const zf_expr *expr, const uint64_t *params, uint64_t *bits, int depth) {
    uint64_t a, b = 0;
    if (!evaluate(expr->a, params, &a, depth)) return false;
    if (expr->b != NULL && !evaluate(expr->b, params, &b, depth)) return false;
    zf_kind kind = expr->a->type.kind;
    unsigned width = zf_kind_bits(kind);
    switch (expr->prim) {
    case ZF_P_MIN:
    case ZF_P_MAX:
        *bits = (zf_value_of_bits(kind, a) <= zf_value_of_bits(kind, b)) == (expr->prim == ZF_P_MIN) ? a : b;
        return true;
    case ZF_P_BIT_WIDTH: *bits = a == 0 ? 0 : 64u - (unsigned)__builtin_clzll(a); return true;
    case ZF_P_POPCOUNT: *bits = (uint64_t)__builtin_popcountll(a); return true;
    case ZF_P_CLZ: *bits = a == 0 ? width : width - (64u - (unsigned)__builtin_clzll(a)); return true;
    case ZF_P_CTZ: *bits = a == 0 ? width : (uint64_t)__builtin_ctzll(a); return true;
    case ZF_P_NTH_BIT:
        for (; b > 0 && a != 0; b--) a &= a - 1;
        if (a == 0) return false;
        *bits = (uint64_t)__builtin_ctzll(a);
        return true;
    case ZF_P_ROUND: *bits = kind == ZF_K_F32 ? of_float(roundf(to_float(a))) : of_double(round(to_double(kind, a))); return true;
    case ZF_P_BITS_OF:
    case ZF_P_VALUE_OF: *bits = a; return true;
    case ZF_P_COUNT: break;
    }
    return false;
}

static bool inlined(const zf_expr *expr, const uint64_t *params, uint64_t *bits, int depth) {
    if (expr->call->value == NULL || expr->call->returns_inside) return false;
    for (const zf_stmt *stmt = expr->call->body; stmt != NULL; stmt = stmt->next) {
        if (stmt->kind != ZF_S_LET) return false;
    }
    return evaluate(expr->call->value, params, bits, depth);
}

static bool evaluate(const zf_expr *expr, const uint64_t *params, uint64_t *bits, int depth) {
    if (--depth <= 0 || expr->is_seq || zf_is_poison(expr) || zf_untyped_of(expr->type) != ZF_UNTYPED_NOT) return false;
    switch (expr->kind) {
    case ZF_X_CONST: *bits = expr->bits; return true;
    case ZF_X_PARAM:
        if (params == NULL) return false;
        *bits = params[expr->port->slot];
        return true;
    case ZF_X_LOCAL: {
        const zf_local *local = expr->local;
        bool immutable = local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL;
        return immutable && local->init != NULL && evaluate(local->init, params, bits, depth);
    }
    case ZF_X_UNARY: {
        uint64_t a;
        if (!evaluate(expr->a, params, &a, depth)) return false;
        zf_kind kind = expr->type.kind;
        if (expr->op == ZF_OP_NOT)
            *bits = a == 0;
        else if (zf_kind_is_float(kind))
            *bits = a ^ UINT64_C(1) << (zf_kind_bits(kind) - 1);
        else
            *bits = zf_bits_of_value(kind, expr->op == ZF_OP_NEG ? -zf_value_of_bits(kind, a) : ~zf_value_of_bits(kind, a));
        return true;
    }
    case ZF_X_BINARY: return binary(expr, params, bits, depth);
    case ZF_X_COND: {
        uint64_t condition;
        if (!evaluate(expr->a, params, &condition, depth)) return false;
        return evaluate(condition != 0 ? expr->b : expr->c, params, bits, depth);
    }
    case ZF_X_CAST: {
        uint64_t a;
        if (!evaluate(expr->a, params, &a, depth)) return false;
        *bits = cast_bits(expr->a->type.kind, expr->type.kind, a);
        return true;
    }
    case ZF_X_PRIM: return primitive(expr, params, bits, depth);
    case ZF_X_CALL: return inlined(expr, params, bits, depth);
    case ZF_X_INDEX: {
        uint64_t index;
        if (expr->a->kind != ZF_X_TABLE || !evaluate(expr->b, params, &index, depth) || index >= expr->a->table->length)
            return false;
        *bits = expr->a->table->bits[index];
        return true;
    }
    case ZF_X_LEN:
        if (expr->a->kind != ZF_X_TABLE) return false;
        *bits = expr->a->table->length;
        return true;
    default: return false;
    }
}

bool zf_expr_evaluate(const zf_expr *expr, const uint64_t *param_bits, uint64_t *bits) {
    return evaluate(expr, param_bits, bits, EVALUATE_DEPTH);
}

bool zf_ck_constant_value(zf_checker *ck, const zf_expr *expr, uint64_t *bits) {
    if (zf_is_poison(expr)) return false;
    if (zf_expr_evaluate(expr, NULL, bits)) return true;
    zf_ck_error(ck, ZF_D_NOT_CONSTANT, expr->span, "this must be known when compiling");
    return false;
}

// ---- Declarations ---------------------------------------------------------------------------------------------

static bool constant_elements(zf_checker *ck, zf_constant *constant, const zf_ast_expr *first, zf_type type, uint64_t length) {
    uint64_t *bits = ZF_NEW_ARRAY(ck->arena, uint64_t, length);
    constant->table.bits = bits;
    bool ok = true;
    uint64_t index = 0;
    for (const zf_ast_expr *element = first; element != NULL && index < length; element = element->next, index++) {
        zf_expr *value = zf_ck_value_as(ck, element, type);
        if (!zf_ck_constant_value(ck, value, &bits[index])) {
            ok = false;
            continue;
        }
        if (!zf_kind_is_integer(type.kind) && type.kind != ZF_K_BOOL) continue;
        zf_interval one = zf_interval_const(zf_value_of_bits(type.kind, bits[index]));
        constant->table.range = index == 0 ? one : zf_interval_hull(constant->table.range, one);
    }
    return ok;
}

/// n of E[n]; 0 after an error.
static uint64_t written_length(zf_checker *ck, const zf_ast_expr *length) {
    zf_expr *value = zf_ck_index(ck, zf_ck_scalar(ck, length));
    uint64_t bits = 0;
    if (!zf_ck_constant_value(ck, value, &bits)) return 0;
    if (bits == 0 || bits > ZF_TABLE_LIMIT) {
        zf_ck_error(ck, ZF_D_BAD_TYPE, length->span, "a constant array has 1..=%d elements", ZF_TABLE_LIMIT);
        return 0;
    }
    return bits;
}

static zf_constant *make_constant(zf_checker *ck, const zf_ast_decl *decl) {
    bool is_array = decl->type->kind == ZF_AT_ARRAY;
    zf_type type = zf_ck_type(ck, is_array ? decl->type->element : decl->type);
    if (type.kind == ZF_K_ERROR) return NULL;
    if (type.nullable || type.kind == ZF_K_STRING) {
        zf_ck_error(ck, ZF_D_BAD_TYPE, decl->type->span, "a constant cannot be of type %s", zf_type_name(ck->arena, type));
        return NULL;
    }
    if (is_array != (decl->elements != NULL)) {
        zf_diag *diag = zf_ck_error(
            ck, ZF_D_CANNOT_CONVERT, decl->name_span,
            is_array ? "`%s` is an array, and its value is not" : "`%s` is not an array, and its value is", decl->name);
        zf_ck_hint(ck, diag, is_array ? "write `[a, b, ...]`" : "write its type as `E[n]`");
        return NULL;
    }
    uint64_t length = 1, written = 0;
    if (is_array) {
        length = 0;
        for (const zf_ast_expr *element = decl->elements; element != NULL; element = element->next) length++;
        if (length > ZF_TABLE_LIMIT) {
            zf_ck_error(ck, ZF_D_BAD_TYPE, decl->name_span, "a constant array has at most %d elements, this has %llu",
                        ZF_TABLE_LIMIT, (unsigned long long)length);
            return NULL;
        }
        if (decl->type->length != NULL) {
            written = written_length(ck, decl->type->length);
            if (written == 0) return NULL;
            if (written != length) {
                zf_ck_error(ck, ZF_D_ARGUMENTS, decl->type->length->span,
                            "`%s` is declared with %llu elements, and %llu are given", decl->name, (unsigned long long)written,
                            (unsigned long long)length);
                return NULL;
            }
        }
    }
    zf_constant *constant = ZF_NEW(ck->arena, zf_constant);
    constant->is_array = is_array;
    constant->table = (zf_table_const){.name = decl->name, .type = type, .length = length, .range = zf_range_all(type)};
    return constant_elements(ck, constant, is_array ? decl->elements : decl->value, type, length) ? constant : NULL;
}

const zf_constant *zf_resolve_constant(zf_spec *spec, zf_symbol *symbol) {
    if (symbol->resolved == &failed_constant) return NULL;
    if (symbol->resolved != NULL) return symbol->resolved;
    if (symbol->resolving) {
        zf_diag_error(&spec->diags, ZF_D_RECURSION, symbol->decl->name_span, "the value of `%s` depends on itself", symbol->name);
        return NULL;
    }
    if (symbol->decl->kind != ZF_AD_CONST || symbol->decl->type == NULL ||
        (symbol->decl->value == NULL && symbol->decl->elements == NULL))
        return NULL;
    if (spec->constant_depth == CONSTANT_DEPTH) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_TOO_DEEP, symbol->decl->name_span,
                                      "constants take their values from each other more than %d levels deep", CONSTANT_DEPTH);
        zf_diag_hint(&spec->diags, diag, "declare a constant before those that use it");
        symbol->resolved = (void *)(uintptr_t)&failed_constant;
        return NULL;
    }
    spec->constant_depth++;
    symbol->resolving = true;
    zf_checker ck = zf_checker_make(spec, symbol->module);
    zf_frame frame = {.name = symbol->name, .module = symbol->module, .result_known = true};
    ck.frame = &frame;
    zf_constant *constant = make_constant(&ck, symbol->decl);
    symbol->resolved = constant == NULL ? (void *)(uintptr_t)&failed_constant : constant;
    symbol->resolving = false;
    spec->constant_depth--;
    return constant;
}

zf_expr *zf_ck_constant_use(zf_checker *ck, zf_symbol *symbol, zf_span span) {
    const zf_constant *constant = zf_resolve_constant(ck->spec, symbol);
    if (constant == NULL) {
        ck->failed = true;
        return zf_ck_poison(ck, span);
    }
    if (constant->is_array) {
        zf_expr *expr = zf_ck_node(ck, ZF_X_TABLE, constant->table.type, span);
        expr->is_seq = true;
        expr->table = &constant->table;
        return expr;
    }
    zf_expr *expr = zf_ck_node(ck, ZF_X_CONST, constant->table.type, span);
    expr->bits = constant->table.bits[0];
    expr->range = constant->table.range;
    return expr;
}

bool zf_literal_bits(zf_spec *spec, const zf_ast_expr *literal, zf_type type, uint64_t *bits) {
    zf_checker ck = zf_checker_make(spec, NULL);
    zf_frame frame = {.name = "", .result_known = true};
    ck.frame = &frame;
    zf_expr *value = zf_ck_value_as(&ck, literal, type);
    return zf_ck_constant_value(&ck, value, bits);
}

// Recognises the form of an index or a bound. An expression is written as a sum of atoms with coefficients modulo 2^64; the
// forms are recognised on that, so that `i / 512 * 512 + 1`, `1 + 512 * (i / 512)` and a `let` for either are one thing.
#include "frontend/match/match.h"

/// Trees larger than this are not looked into: a chain of `let b = a + a;` doubles with every step.
enum { LINEAR_BUDGET = 200, LINEAR_TERMS = 4, BOUND_DEPTH = 8 };

// ---- Looking through ------------------------------------------------------------------------------------------

static bool keeps_value(const zf_expr *cast) {
    const zf_expr *from = cast->a;
    if (from == NULL || from->is_seq || cast->type.nullable || from->type.nullable) return false;
    if (!zf_kind_is_integer(cast->type.kind)) return false;
    if (!zf_kind_is_integer(from->type.kind) && from->type.kind != ZF_K_BOOL) return false;
    return zf_interval_within(from->range, zf_interval_of_kind(cast->type.kind));
}

/// A call that only names values: its result is its value, wherever that is looked at.
static bool only_lets(const zf_call *call) {
    if (call->value == NULL || call->returns_inside) return false;
    for (const zf_stmt *stmt = call->body; stmt != NULL; stmt = stmt->next) {
        if (stmt->kind != ZF_S_LET) return false;
    }
    return true;
}

zf_expr *zf_match_view(zf_expr *expr) {
    for (;;) {
        zf_expr *inner = NULL;
        if (expr->effect) return expr;
        if (expr->kind == ZF_X_LOCAL && !expr->is_seq && (expr->local->kind == ZF_L_LET || expr->local->kind == ZF_L_FORMAL)) {
            inner = expr->local->init;
        } else if (expr->kind == ZF_X_CALL && only_lets(expr->call)) {
            inner = expr->call->value;
        } else if (expr->kind == ZF_X_CAST && keeps_value(expr)) {
            inner = expr->a;
        }
        if (inner == NULL || inner->effect) return expr;
        expr = inner;
    }
}

// ---- Linear forms ---------------------------------------------------------------------------------------------

typedef struct linear {
    struct {
        zf_expr *atom;
        uint64_t coefficient;
    } terms[LINEAR_TERMS];
    uint32_t count;
    uint64_t constant;
    uint32_t budget;
    bool failed;
} linear;

static bool constant_of(const zf_expr *expr, uint64_t *bits) {
    if (expr->is_seq || expr->type.nullable || !zf_kind_is_integer(expr->type.kind)) return false;
    if (!zf_interval_is_const(expr->range)) return false;
    *bits = (uint64_t)expr->range.lo;
    return true;
}

static void add_atom(linear *sum, zf_expr *atom, uint64_t coefficient) {
    for (uint32_t k = 0; k < sum->count; k++) {
        if (!zf_match_same(sum->terms[k].atom, atom)) continue;
        sum->terms[k].coefficient += coefficient;
        if (sum->terms[k].coefficient == 0) sum->terms[k] = sum->terms[--sum->count];
        return;
    }
    if (sum->count == LINEAR_TERMS) {
        sum->failed = true;
        return;
    }
    sum->terms[sum->count].atom = atom;
    sum->terms[sum->count++].coefficient = coefficient;
}

/// Adds scale * expr.
static void add_linear(linear *sum, zf_expr *expr, uint64_t scale) {
    if (sum->failed || sum->budget-- == 0) {
        sum->failed = true;
        return;
    }
    uint64_t value;
    expr = zf_match_view(expr);
    if (constant_of(expr, &value)) {
        sum->constant += scale * value;
        return;
    }
    // Only arithmetic of 64 bits is arithmetic modulo 2^64; narrower results are atoms.
    if (expr->type.kind == ZF_K_U64 && expr->kind == ZF_X_BINARY) {
        zf_expr *a = zf_match_view(expr->a), *b = zf_match_view(expr->b);
        switch (expr->op) {
        case ZF_OP_ADD:
            add_linear(sum, a, scale);
            add_linear(sum, b, scale);
            return;
        case ZF_OP_SUB:
            add_linear(sum, a, scale);
            add_linear(sum, b, 0 - scale);
            return;
        case ZF_OP_MUL:
            if (constant_of(b, &value)) {
                add_linear(sum, a, scale * value);
                return;
            }
            if (constant_of(a, &value)) {
                add_linear(sum, b, scale * value);
                return;
            }
            break;
        case ZF_OP_SHL:
            if (constant_of(b, &value) && value < 64) {
                add_linear(sum, a, scale << value);
                return;
            }
            break;
        default: break;
        }
    }
    add_atom(sum, expr, scale);
}

static linear linear_of(zf_expr *expr) {
    linear sum = {.budget = LINEAR_BUDGET};
    add_linear(&sum, expr, 1);
    return sum;
}

// ---- Forms of points ------------------------------------------------------------------------------------------

/// The local that an expression is, or NULL.
static zf_local *plain_local(zf_expr *expr) {
    expr = zf_match_view(expr);
    return expr->kind == ZF_X_LOCAL && !expr->is_seq ? expr->local : NULL;
}

/// atom is `d op n` with n constant: d, and n in *n.
static zf_local *local_by_constant(zf_expr *atom, zf_op op, uint64_t *n) {
    if (atom->kind != ZF_X_BINARY || atom->op != op) return NULL;
    zf_local *d = plain_local(atom->a);
    return d != NULL && constant_of(zf_match_view(atom->b), n) ? d : NULL;
}

static bool is_constant(const linear *sum, zf_index_form *out) {
    if (sum->count != 0) return false;
    *out = (zf_index_form){.kind = ZF_INDEX_CONST, .offset = sum->constant};
    return true;
}

static bool is_local(const linear *sum, zf_index_form *out) {
    if (sum->count != 1 || sum->terms[0].coefficient != 1) return false;
    zf_local *d = plain_local(sum->terms[0].atom);
    *out = (zf_index_form){.kind = ZF_INDEX_LOCAL, .local = d, .offset = sum->constant};
    return d != NULL;
}

static bool segment(const linear *sum, zf_local *d, uint64_t n, zf_index_form *out) {
    *out = (zf_index_form){.kind = ZF_INDEX_SEGMENT, .local = d, .segment = n, .offset = sum->constant};
    return d != NULL && n >= 1 && sum->constant < n;
}

/// d / n * n
static bool is_quotient(const linear *sum, zf_index_form *out) {
    uint64_t n = 0;
    if (sum->count != 1) return false;
    zf_local *d = local_by_constant(sum->terms[0].atom, ZF_OP_DIV, &n);
    return sum->terms[0].coefficient == n && segment(sum, d, n, out);
}

/// d >> m << m
static bool is_shifted(const linear *sum, zf_index_form *out) {
    uint64_t m = 0;
    if (sum->count != 1) return false;
    zf_local *d = local_by_constant(sum->terms[0].atom, ZF_OP_SHR, &m);
    return m < 64 && sum->terms[0].coefficient == (uint64_t)1 << m && segment(sum, d, (uint64_t)1 << m, out);
}

/// d & ~(n - 1), n a power of two
static bool is_masked(const linear *sum, zf_index_form *out) {
    uint64_t mask = 0;
    if (sum->count != 1 || sum->terms[0].coefficient != 1) return false;
    zf_local *d = local_by_constant(sum->terms[0].atom, ZF_OP_AND, &mask);
    uint64_t n = 0 - mask;
    return (n & (n - 1)) == 0 && segment(sum, d, n, out);
}

/// d - d % n
static bool is_remainder(const linear *sum, zf_index_form *out) {
    if (sum->count != 2) return false;
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t n = 0;
        zf_local *d = plain_local(sum->terms[k].atom);
        zf_local *of = local_by_constant(sum->terms[1 - k].atom, ZF_OP_REM, &n);
        if (d == NULL || of != d || sum->terms[k].coefficient != 1 || sum->terms[1 - k].coefficient != UINT64_MAX) continue;
        return segment(sum, d, n, out);
    }
    return false;
}

static const struct {
    const char *form;
    bool (*fits)(const linear *sum, zf_index_form *out);
} index_forms[] = {
    {"constant", is_constant},       {"d + c", is_local},         {"d / n * n + c", is_quotient},
    {"d >> m << m + c", is_shifted}, {"(d & -n) + c", is_masked}, {"d - d % n + c", is_remainder},
};

zf_index_form zf_index_form_of(zf_expr *expr) {
    zf_index_form point = {0};
    linear sum = linear_of(expr);
    if (sum.failed) return point;
    for (size_t k = 0; k < sizeof index_forms / sizeof *index_forms; k++) {
        if (index_forms[k].fits(&sum, &point)) return point;
    }
    return (zf_index_form){0};
}

// ---- Bounds of trip counts ------------------------------------------------------------------------------------

static uint64_t bound(zf_expr *lo, zf_expr *hi, uint32_t depth);

/// The ranges of both ends.
static uint64_t bound_by_range(zf_expr *lo, zf_expr *hi, uint32_t depth) {
    (void)depth;
    zf_int128 most = hi->range.hi - lo->range.lo;
    return most <= 0 ? 0 : most < (zf_int128)UINT64_MAX ? (uint64_t)most : UINT64_MAX;
}

/// lo + c: when that wraps there is nothing between them, so c holds all the same.
static uint64_t bound_by_difference(zf_expr *lo, zf_expr *hi, uint32_t depth) {
    (void)depth;
    linear sum = {.budget = LINEAR_BUDGET};
    add_linear(&sum, hi, 1);
    add_linear(&sum, lo, UINT64_MAX);
    if (sum.failed || sum.count != 0) return UINT64_MAX;
    return sum.constant <= INT64_MAX ? sum.constant : 0;
}

/// min(a, b): the smaller of both bounds. c ? a : b: the larger.
static uint64_t bound_by_choice(zf_expr *lo, zf_expr *hi, uint32_t depth) {
    if (hi->kind == ZF_X_PRIM && hi->prim == ZF_P_MIN) {
        uint64_t a = bound(lo, hi->a, depth), b = bound(lo, hi->b, depth);
        return a < b ? a : b;
    }
    if (hi->kind == ZF_X_COND) {
        uint64_t a = bound(lo, hi->b, depth), b = bound(lo, hi->c, depth);
        return a > b ? a : b;
    }
    return UINT64_MAX;
}

static const struct {
    const char *form;
    uint64_t (*most)(zf_expr *lo, zf_expr *hi, uint32_t depth);
} bound_forms[] = {
    {"ranges of the ends", bound_by_range},
    {"lo .. lo + c", bound_by_difference},
    {"lo .. min(a, b)", bound_by_choice},
};

static uint64_t bound(zf_expr *lo, zf_expr *hi, uint32_t depth) {
    if (depth == BOUND_DEPTH) return UINT64_MAX;
    hi = zf_match_view(hi);
    uint64_t least = UINT64_MAX;
    for (size_t k = 0; k < sizeof bound_forms / sizeof *bound_forms; k++) {
        uint64_t most = bound_forms[k].most(lo, hi, depth + 1);
        if (most < least) least = most;
    }
    return least;
}

uint64_t zf_trip_bound(const zf_binder *binder) {
    uint64_t most = bound(binder->lo, binder->hi, 0);
    // Inclusive: between equal ends lies one value. A `hi` below `lo` gives none, and 1 is a bound then, too.
    return binder->inclusive && most != UINT64_MAX ? most + 1 : most;
}

#include "patterns/plan/affine.h"

/// Nesting and size of an index, locals looked through (which can double it at each step): beyond them it is checked where used.
enum { DEPTH_LIMIT = 64, SIZE_LIMIT = 4096 };

typedef struct search {
    const zf_inst *inst;
    unsigned size;
} search;

static bool form_of(search *in, zf_around around, const zf_expr *e, unsigned depth, zf_affine *out);

/// Ends a form: an operation that could leave its type would wrap, and what wraps may decrease.
static bool fits(const zf_expr *e, zf_affine *out, zf_interval range, unsigned uses) {
    if (!zf_kind_is_integer(e->type.kind) || !zf_interval_within(range, zf_interval_of_kind(e->type.kind))) return false;
    *out = (zf_affine){.range = range, .uses = uses};
    return true;
}

/// A value read from params, lengths and constants alone: what the front end knows of its range holds.
static bool constant(const zf_expr *e, zf_affine *out) {
    return fits(e, out, zf_interval_meet(e->range, zf_interval_of_kind(e->type.kind)), 0);
}

/// The ends of a binder's range, when its last value is its largest along the whole domain, and is reached whenever any is: only
/// the end of the range moves. (A segment's beginning moves, too, but a segment that holds d itself always ends in d.)
static bool binder_range(search *in, const zf_reduce *reduce, uint32_t b, zf_around outer, unsigned depth, zf_affine *lo,
                         zf_affine *hi) {
    const zf_binder *binder = &reduce->binders[b];
    if (reduce->form == ZF_R_SEGMENTED && reduce->inclusive && reduce->skip == 0) {
        *lo = (zf_affine){.range = zf_interval_const(0)};
    } else if (!form_of(in, outer, binder->lo, depth + 1, lo) || lo->uses != 0) {
        return false;
    }
    return form_of(in, outer, binder->hi, depth + 1, hi);
}

static bool local_form(search *in, zf_around around, const zf_expr *e, unsigned depth, zf_affine *out) {
    const zf_local *local = e->local;
    if (e->is_seq) return false;
    switch (local->kind) {
    case ZF_L_DOMAIN_I: return fits(e, out, (zf_interval){0, (zf_int128)ZF_MOST_ELEMENTS - 1}, ZF_USES_I);
    case ZF_L_DOMAIN_G: {
        zf_int128 most = ZF_MOST_GROUPS;
        const zf_expr *groups = in->inst->groups.value;
        if (groups != NULL && groups->range.hi < most) most = groups->range.hi;
        return fits(e, out, (zf_interval){0, most > 0 ? most - 1 : 0}, ZF_USES_G);
    }
    case ZF_L_LET:
    case ZF_L_FORMAL: return local->init != NULL && !local->init->effect && form_of(in, around, local->init, depth + 1, out);
    case ZF_L_BINDER:
        for (uint32_t r = 0; r < around.count; r++) {
            for (uint32_t b = 0; b < around.reduces[r]->binder_count; b++) {
                const zf_binder *binder = &around.reduces[r]->binders[b];
                if (binder->local != local) continue;
                zf_affine lo, hi;
                if (!binder_range(in, around.reduces[r], b, (zf_around){around.reduces, r}, depth, &lo, &hi)) return false;
                zf_int128 last = hi.range.hi - (binder->inclusive ? 0 : 1);
                if (last < lo.range.lo) last = lo.range.lo;
                return fits(e, out, (zf_interval){lo.range.lo, last}, hi.uses | ZF_USES_BINDER);
            }
        }
        return false;
    default: return false;
    }
}

static bool binary_form(search *in, zf_around around, const zf_expr *e, unsigned depth, zf_affine *out) {
    zf_affine a, b;
    if (!form_of(in, around, e->a, depth + 1, &a) || !form_of(in, around, e->b, depth + 1, &b)) return false;
    unsigned uses = a.uses | b.uses;
    if (uses == 0) {
        if ((e->op == ZF_OP_DIV || e->op == ZF_OP_REM) && b.range.lo <= 0) return false;
        return constant(e, out);
    }
    bool natural = a.range.lo >= 0 && b.range.lo >= 0;
    zf_int128 bits = (zf_int128)zf_kind_bits(e->type.kind);
    switch (e->op) {
    case ZF_OP_ADD: return fits(e, out, (zf_interval){a.range.lo + b.range.lo, a.range.hi + b.range.hi}, uses);
    case ZF_OP_SUB: return b.uses == 0 && fits(e, out, (zf_interval){a.range.lo - b.range.hi, a.range.hi - b.range.lo}, uses);
    case ZF_OP_MUL:
        if (!natural || (a.uses != 0 && b.uses != 0)) return false;
        if (a.range.hi >> 64 != 0 || b.range.hi >> 63 != 0) return false; // the product must fit 127 bits
        return fits(e, out, (zf_interval){a.range.lo * b.range.lo, a.range.hi * b.range.hi}, uses);
    case ZF_OP_SHL:
        if (!natural || b.uses != 0 || b.range.hi >= bits || b.range.hi > 62 || a.range.hi >> 64 != 0) return false;
        return fits(e, out, (zf_interval){a.range.lo << b.range.lo, a.range.hi << b.range.hi}, uses);
    case ZF_OP_SHR:
        if (!natural || b.uses != 0 || b.range.hi >= bits) return false;
        return fits(e, out, (zf_interval){a.range.lo >> b.range.hi, a.range.hi >> b.range.lo}, uses);
    case ZF_OP_DIV:
        if (!natural || b.uses != 0 || b.range.lo == 0) return false;
        return fits(e, out, (zf_interval){a.range.lo / b.range.hi, a.range.hi / b.range.lo}, uses);
    default: return false;
    }
}

static bool form_of(search *in, zf_around around, const zf_expr *e, unsigned depth, zf_affine *out) {
    if (e == NULL || e->is_seq || e->effect || !zf_kind_is_integer(e->type.kind)) return false;
    if (depth > DEPTH_LIMIT || in->size++ > SIZE_LIMIT) return false;
    zf_affine a, b;
    switch (e->kind) {
    case ZF_X_CONST: return fits(e, out, zf_interval_const(zf_value_of_bits(e->type.kind, e->bits)), 0);
    case ZF_X_PARAM: return fits(e, out, e->port->range, 0);
    case ZF_X_LEN: {
        if (e->a->kind == ZF_X_TABLE) return fits(e, out, zf_interval_const((zf_int128)e->a->table->length), 0);
        if (e->a->kind != ZF_X_STREAM && e->a->kind != ZF_X_OUT) return false;
        zf_interval length = {0, (zf_int128)ZF_MOST_ELEMENTS};
        return fits(e, out, zf_interval_meet(length, e->range), 0);
    }
    case ZF_X_LOCAL: return local_form(in, around, e, depth, out);
    case ZF_X_BINARY: return binary_form(in, around, e, depth, out);
    case ZF_X_CAST: return form_of(in, around, e->a, depth + 1, &a) && fits(e, out, a.range, a.uses);
    case ZF_X_CALL:
        if (e->call->body != NULL || e->call->returns_inside) return false;
        for (uint32_t k = 0; k < e->call->formal_count; k++) { // evaluated even where the value does not ask for them
            if (!form_of(in, around, e->call->formals[k]->init, depth + 1, &a)) return false;
        }
        return form_of(in, around, e->call->value, depth + 1, out);
    case ZF_X_UNARY: return form_of(in, around, e->a, depth + 1, &a) && a.uses == 0 && constant(e, out);
    case ZF_X_PRIM:
        if (!form_of(in, around, e->a, depth + 1, &a)) return false;
        b = (zf_affine){.uses = 0};
        if (e->b != NULL && !form_of(in, around, e->b, depth + 1, &b)) return false;
        if (e->prim == ZF_P_NTH_BIT) return false;
        if ((a.uses | b.uses) == 0) return constant(e, out);
        if (e->prim == ZF_P_MIN) {
            return fits(e, out,
                        (zf_interval){a.range.lo < b.range.lo ? a.range.lo : b.range.lo,
                                      a.range.hi < b.range.hi ? a.range.hi : b.range.hi},
                        a.uses | b.uses);
        }
        if (e->prim == ZF_P_MAX) {
            return fits(e, out,
                        (zf_interval){a.range.lo > b.range.lo ? a.range.lo : b.range.lo,
                                      a.range.hi > b.range.hi ? a.range.hi : b.range.hi},
                        a.uses | b.uses);
        }
        return false;
    default: return false;
    }
}

bool zf_affine_around(const zf_inst *inst, zf_around around) {
    search in = {.inst = inst};
    for (uint32_t r = 0; r < around.count; r++) {
        for (uint32_t b = 0; b < around.reduces[r]->binder_count; b++) {
            zf_affine lo, hi;
            if (!binder_range(&in, around.reduces[r], b, (zf_around){around.reduces, r}, 0, &lo, &hi)) return false;
        }
    }
    return true;
}

bool zf_affine_of(const zf_inst *inst, zf_around around, const zf_expr *expr, zf_affine *out) {
    search in = {.inst = inst};
    return form_of(&in, around, expr, 0, out);
}

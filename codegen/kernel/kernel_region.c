#include "codegen/kernel/kernel_region.h"

#include "frontend/check/walk.h"

static bool see_local(zf_visitor *visitor, zf_expr *expr) {
    const zf_local **local = visitor->user; // NULL once it was seen
    if (expr->kind == ZF_X_LOCAL && expr->local == *local) *local = NULL;
    return *local != NULL;
}

bool zf_region_uses(const zf_expr *expr, const zf_local *local) {
    zf_visitor visitor = {.user = &local, .expr = see_local};
    zf_visit_expr(&visitor, (zf_expr *)(uintptr_t)expr); // only looks
    return local == NULL;
}

static bool is_local(const zf_expr *expr, const zf_local *local) { return expr->kind == ZF_X_LOCAL && expr->local == local; }

static bool is_operation(const zf_expr *expr, zf_op op) { return expr->kind == ZF_X_BINARY && expr->op == op; }

// Whether both are the same immutable number, by its name.
static bool same_number(const zf_expr *a, const zf_expr *b) {
    a = zf_expr_kept(a);
    b = zf_expr_kept(b);
    if (a->kind == ZF_X_CONST && b->kind == ZF_X_CONST) return a->bits == b->bits;
    return a->kind == ZF_X_LOCAL && is_local(b, a->local);
}

// The other operand of a sum in which `expr` is `part`; NULL: it is none.
static const zf_expr *beside(const zf_expr *sum, bool (*is)(const zf_expr *expr, const void *what), const void *what) {
    if (!is_operation(sum, ZF_OP_ADD)) return NULL;
    if (is(zf_expr_kept(sum->b), what)) return zf_expr_kept(sum->a);
    return is(zf_expr_kept(sum->a), what) ? zf_expr_kept(sum->b) : NULL;
}

static bool is_binder(const zf_expr *expr, const void *binder) { return is_local(expr, binder); }

static bool is_remainder(const zf_expr *expr, const void *binder) {
    return is_operation(expr, ZF_OP_REM) && is_local(zf_expr_kept(expr->a), binder);
}

// Whether a number is calculated with by 64 bits, as the copy will be: a narrower one would wrap.
static bool is_natural(const zf_expr *expr) { return expr->type.kind == ZF_K_U64; }

static zf_region_form of_stream(const zf_expr *access, const zf_local *k) {
    zf_region_form form = {.kind = ZF_REGION_STREAM, .port = access->a->port};
    const zf_expr *index = zf_expr_kept(access->b);
    if (is_local(index, k)) return form;
    form.from = beside(index, is_binder, k);
    if (form.from == NULL || !is_natural(index) || form.from->effect || zf_region_uses(form.from, k)) form.kind = ZF_REGION_TERM;
    return form;
}

static zf_region_form of_output(const zf_expr *access, const zf_local *k) {
    zf_region_form form = {.kind = ZF_REGION_BACK};
    const zf_expr *index = zf_expr_kept(access->b), *start = beside(index, is_binder, k), *part;
    if (start == NULL) {
        start = beside(index, is_remainder, k);
        form.repeats = true;
    }
    if (start == NULL || !is_natural(index) || !is_natural(start) || !is_operation(start, ZF_OP_SUB) ||
        zf_expr_kept(start->a)->kind != ZF_X_OUT_POS)
        return (zf_region_form){0};
    form.distance = start->b;
    part = zf_expr_kept(index->a) == start ? zf_expr_kept(index->b) : zf_expr_kept(index->a);
    bool fits = !form.distance->effect && !zf_region_uses(form.distance, k);
    if (form.repeats) fits = fits && same_number(part->b, form.distance);
    return fits ? form : (zf_region_form){0};
}

zf_region_form zf_region_form_of(const zf_reduce *region) {
    zf_region_form term = {.kind = ZF_REGION_TERM};
    const zf_expr *access = region->term;
    if (region->binder_count != 1 || access->kind != ZF_X_INDEX) return term;
    const zf_local *k = region->binders[0].local;
    if (access->a->kind == ZF_X_STREAM && access->a->port->per_chunk && !access->a->port->has_range) return of_stream(access, k);
    return access->a->kind == ZF_X_OUT ? of_output(access, k) : term;
}

// Diagnostics of the checker: each names the types that generics stand for, the calls that led to the place, and the
// facts known.
#include <stdio.h>
#include <string.h>

#include "frontend/check/checker.h"

enum { CALLS_SHOWN = 3, FACTS_SHOWN = 4 };

static void add_context(zf_checker *ck, zf_diag *diag) {
    zf_diags *diags = &ck->spec->diags;
    unsigned shown = 0;
    for (const zf_frame *frame = ck->frame; frame != NULL && frame->func != NULL && shown < CALLS_SHOWN;
         frame = frame->outer, shown++) {
        if (frame->call.source != NULL) zf_diag_remark(diags, diag, frame->call, "in `%s`, called here", frame->name);
    }
    if (ck->generics == NULL || ck->bindings == NULL) return;
    char text[160];
    size_t length = 0;
    uint32_t index = 0;
    for (const zf_ast_generic *generic = ck->generics; generic != NULL && length < sizeof text;
         generic = generic->next, index++) {
        if (ck->bindings[index].kind == ZF_K_OPAQUE) continue;
        int n = snprintf(text + length, sizeof text - length, "%s%s = %s", length == 0 ? "for " : ", ", generic->name,
                         zf_type_name(ck->arena, ck->bindings[index]));
        length += n < 0 ? 0 : (size_t)n;
    }
    if (length > 0) zf_diag_remark(diags, diag, (zf_span){0}, "%s", text);
    if (ck->wanted_at.source != NULL) zf_diag_remark(diags, diag, ck->wanted_at, "wanted here");
}

zf_diag *zf_ck_error(zf_checker *ck, zf_diag_code code, zf_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = zf_arena_vprintf(ck->arena, format, arguments);
    va_end(arguments);
    ck->failed = true;
    zf_diag *diag = zf_diag_error(&ck->spec->diags, code, span, "%s", message);
    add_context(ck, diag);
    return diag;
}

zf_diag *zf_ck_warning(zf_checker *ck, zf_diag_code code, zf_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = zf_arena_vprintf(ck->arena, format, arguments);
    va_end(arguments);
    return zf_diag_add(&ck->spec->diags, ZF_WARNING, code, span, "%s", message);
}

void zf_ck_remark(zf_checker *ck, zf_diag *diag, zf_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = zf_arena_vprintf(ck->arena, format, arguments);
    va_end(arguments);
    zf_diag_remark(&ck->spec->diags, diag, span, "%s", message);
}

void zf_ck_hint(zf_checker *ck, zf_diag *diag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = zf_arena_vprintf(ck->arena, format, arguments);
    va_end(arguments);
    zf_diag_hint(&ck->spec->diags, diag, "%s", message);
}

void zf_ck_hint_bound(zf_checker *ck, zf_diag *diag, zf_type type, const char *bound) {
    const zf_ast_generic *generic = ck->generics;
    for (uint32_t k = 0; k < type.opaque && generic != NULL; k++) generic = generic->next;
    if (generic == NULL) return;
    zf_ck_hint(ck, diag, "bound the generic: `<%s: %s>`; the bounds are scalar, integer, unsigned, signed and float",
               generic->name, bound);
}

/// "0..=2^32-1" reads better than ten digits.
static const char *bound_text(zf_checker *ck, zf_int128 value) {
    for (unsigned n = 24; n <= 64; n++) {
        zf_int128 power = (zf_int128)1 << n;
        if (value == power) return zf_arena_printf(ck->arena, "2^%u", n);
        if (value == power - 1) return zf_arena_printf(ck->arena, "2^%u-1", n);
        if (value == -power) return zf_arena_printf(ck->arena, "-2^%u", n);
    }
    return zf_interval_text(ck->arena, zf_interval_const(value));
}

const char *zf_ck_range_text(zf_checker *ck, zf_interval range) {
    if (zf_interval_is_const(range)) return bound_text(ck, range.lo);
    return zf_arena_printf(ck->arena, "%s..=%s", bound_text(ck, range.lo), bound_text(ck, range.hi));
}

const char *zf_ck_type_name(zf_checker *ck, const zf_expr *expr) {
    switch (zf_untyped_of(expr->type)) {
    case ZF_UNTYPED_INT: return expr->range.lo < 0 ? "a negative integer literal" : "an integer literal";
    case ZF_UNTYPED_FLOAT: return "a float literal";
    case ZF_UNTYPED_NULL: return "null";
    case ZF_UNTYPED_CHAR: return "a byte literal";
    case ZF_UNTYPED_NOT: break;
    }
    const char *name = zf_type_name(ck->arena, expr->type);
    return expr->is_seq ? zf_arena_printf(ck->arena, "%s[]", name) : name;
}

static void collect_facts(zf_checker *ck, zf_diag *diag, const zf_expr *expr, unsigned *left) {
    if (expr == NULL || *left == 0) return;
    const char *name = NULL;
    const zf_expr *told = expr;
    switch (expr->kind) {
    case ZF_X_LOCAL: {
        bool hidden = expr->is_seq || (ck->query != NULL && expr->local->kind == ZF_L_DOMAIN_I); // no text of a query names it
        name = hidden ? NULL : expr->local->name;
        break;
    }
    case ZF_X_PARAM: name = expr->port->name; break;
    case ZF_X_STATE: name = expr->state->name; break;
    case ZF_X_INDEX:
        if (expr->a->kind == ZF_X_STREAM) {
            bool column = ck->query != NULL && expr->a->port->access == ZF_ACCESS_ALIGNED_I;
            name = column ? expr->a->port->name : zf_arena_printf(ck->arena, "an element of %s", expr->a->port->name);
        }
        if (expr->a->kind == ZF_X_TABLE) name = zf_arena_printf(ck->arena, "an element of %s", expr->a->table->name);
        break;
    case ZF_X_LEN:
        if (expr->a->kind == ZF_X_STREAM) name = zf_arena_printf(ck->arena, "%s.len", expr->a->port->name);
        if (expr->a->kind == ZF_X_OUT) name = "out.len";
        break;
    case ZF_X_OUT_POS: name = "out.pos"; break;
    default: break;
    }
    if (name != NULL && zf_kind_is_integer(told->type.kind) && !told->type.nullable) {
        const char *fact = zf_arena_printf(ck->arena, "%s is in %s", name, zf_ck_range_text(ck, told->range));
        for (const zf_remark *remark = diag->remarks; remark != NULL; remark = remark->next) {
            if (remark->span.source == NULL && strcmp(remark->text, fact) == 0) return; // it occurs twice
        }
        --*left;
        zf_ck_remark(ck, diag, (zf_span){0}, "%s", fact);
        return;
    }
    collect_facts(ck, diag, expr->a, left);
    collect_facts(ck, diag, expr->b, left);
    collect_facts(ck, diag, expr->c, left);
}

void zf_ck_remark_facts(zf_checker *ck, zf_diag *diag, const zf_expr *expr) {
    unsigned left = FACTS_SHOWN;
    collect_facts(ck, diag, expr, &left);
}

void zf_ck_note_check(zf_checker *ck, const zf_expr *expr, const zf_expr *about, const char *format, ...) {
    if (!ck->spec->options.notes || ck->env.dead || ck->body == ZF_IN_ENCODE || ck->body == ZF_IN_CONST ||
        ck->body == ZF_IN_FUNCTION)
        return;
    va_list arguments;
    va_start(arguments, format);
    char *message = zf_arena_vprintf(ck->arena, format, arguments);
    va_end(arguments);
    zf_diag *diag = zf_diag_add(&ck->spec->diags, ZF_NOTE, ZF_D_CHECK_STAYS, expr->span, "%s", message);
    zf_ck_remark_facts(ck, diag, about);
}

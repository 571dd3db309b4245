// Written types to types: names, generics, decimal(P, S), unsigned(T), signed(T), E?.
#include <string.h>

#include "frontend/check/checker.h"
#include "frontend/check/synonyms.h"

static const struct {
    const char *name;
    zf_kind kind;
    zf_logical logical;
} named_types[] = {
    {"u8", ZF_K_U8, ZF_LOGICAL_NONE},        {"u16", ZF_K_U16, ZF_LOGICAL_NONE},
    {"u32", ZF_K_U32, ZF_LOGICAL_NONE},      {"u64", ZF_K_U64, ZF_LOGICAL_NONE},
    {"i8", ZF_K_I8, ZF_LOGICAL_NONE},        {"i16", ZF_K_I16, ZF_LOGICAL_NONE},
    {"i32", ZF_K_I32, ZF_LOGICAL_NONE},      {"i64", ZF_K_I64, ZF_LOGICAL_NONE},
    {"f32", ZF_K_F32, ZF_LOGICAL_NONE},      {"f64", ZF_K_F64, ZF_LOGICAL_NONE},
    {"bool", ZF_K_BOOL, ZF_LOGICAL_NONE},    {"string", ZF_K_STRING, ZF_LOGICAL_NONE},
    {"date32", ZF_K_I32, ZF_LOGICAL_DATE32}, {"timestamp", ZF_K_I64, ZF_LOGICAL_TIMESTAMP},
};

enum { DECIMAL_DIGITS = 18 }; // what an i64 holds

/// Where types are resolved: only `ck` knows of calls to name in errors, the rest suits declarations too.
typedef struct resolver {
    zf_spec *spec;
    zf_checker *ck; ///< may be NULL
    const zf_source_module *module;
    const zf_ast_generic *generics;
    const zf_type *bindings;
} resolver;

static zf_type fail(const resolver *r, zf_diag_code code, zf_span span, const char *format, const char *name) {
    const char *message = zf_arena_printf(r->spec->arena, format, name); // NOLINT: every format below takes one string
    if (r->ck != NULL)
        zf_ck_error(r->ck, code, span, "%s", message);
    else
        zf_diag_error(&r->spec->diags, code, span, "%s", message);
    return zf_type_of(ZF_K_ERROR);
}

static zf_type report_unknown(const resolver *r, zf_name name, zf_span span) {
    if (r->ck != NULL) r->ck->failed = true;
    enum { KNOWN = sizeof named_types / sizeof *named_types, GENERICS = 8 };
    const char *names[KNOWN + GENERICS];
    size_t count = 0;
    for (size_t k = 0; k < KNOWN; k++) names[count++] = named_types[k].name;
    for (const zf_ast_generic *g = r->generics; g != NULL && count < KNOWN + GENERICS; g = g->next) names[count++] = g->name;
    zf_diag *diag = zf_diag_error(&r->spec->diags, ZF_D_UNKNOWN_NAME, span, "unknown type `%s`", name);
    const char *synonym = zf_synonym_hint(r->spec->arena, ZF_SYNONYM_TYPE, name);
    const char *nearest = synonym != NULL ? NULL : zf_nearest_name(name, names, count);
    if (synonym != NULL) zf_diag_hint(&r->spec->diags, diag, "%s", synonym);
    if (nearest != NULL) zf_diag_hint(&r->spec->diags, diag, "did you mean `%s`?", nearest);
    return zf_type_of(ZF_K_ERROR);
}

static zf_type named(const resolver *r, zf_name name, zf_span span) {
    uint32_t index = 0;
    for (const zf_ast_generic *generic = r->generics; generic != NULL; generic = generic->next, index++) {
        if (generic->name != name) continue;
        return r->bindings == NULL ? zf_type_of(ZF_K_ERROR) : r->bindings[index];
    }
    for (size_t k = 0; k < sizeof named_types / sizeof *named_types; k++) {
        if (strcmp(named_types[k].name, name) == 0)
            return (zf_type){.kind = named_types[k].kind, .logical = named_types[k].logical};
    }
    if (strcmp(name, "list") == 0) return fail(r, ZF_D_BAD_TYPE, span, "`%s` needs the type of its values: `list<i32>`", name);
    if (strcmp(name, "decimal") == 0) return fail(r, ZF_D_BAD_TYPE, span, "`%s` needs digits and scale: `decimal(15, 2)`", name);
    return report_unknown(r, name, span);
}

/// unsigned(T), signed(T).
static zf_type as_wide(const resolver *r, zf_name function, zf_type of, zf_span span) {
    if (of.kind == ZF_K_ERROR) return of;
    bool number = !of.nullable && (zf_kind_is_integer(of.kind) || zf_kind_is_float(of.kind) || of.kind == ZF_K_BOOL);
    if (!number) {
        return fail(r, ZF_D_BAD_TYPE, span, "%s has no integer as wide as it", zf_type_name(r->spec->arena, of));
    }
    return zf_type_of(strcmp(function, "unsigned") == 0 ? zf_kind_unsigned(of.kind) : zf_kind_signed(of.kind));
}

static bool is_wide_function(zf_name name) { return strcmp(name, "unsigned") == 0 || strcmp(name, "signed") == 0; }

static zf_type resolve(const resolver *r, const zf_ast_type *type);

static zf_type applied(const resolver *r, const zf_ast_type *type) {
    uint32_t count = 0;
    for (const zf_ast_type *arg = type->args; arg != NULL; arg = arg->next) count++;
    if (is_wide_function(type->name)) {
        bool one_type = count == 1 && !(type->args->kind == ZF_AT_NAME && type->args->name == NULL);
        if (!one_type) return fail(r, ZF_D_ARGUMENTS, type->span, "`%s` needs one type", type->name);
        return as_wide(r, type->name, resolve(r, type->args), type->span);
    }
    if (strcmp(type->name, "decimal") != 0) {
        return fail(r, ZF_D_BAD_TYPE, type->span, "`%s` is not a type that takes arguments", type->name);
    }
    const zf_ast_type *digits = type->args, *scale = count == 2 ? digits->next : NULL;
    bool numbers =
        count == 2 && digits->kind == ZF_AT_NAME && digits->name == NULL && scale->kind == ZF_AT_NAME && scale->name == NULL;
    if (!numbers || digits->number < 1 || digits->number > DECIMAL_DIGITS || scale->number > digits->number) {
        return fail(r, ZF_D_BAD_TYPE, type->span, "`%s` needs digits in 1..=18 and a scale of at most as many", type->name);
    }
    return (zf_type){
        .kind = ZF_K_I64, .logical = ZF_LOGICAL_DECIMAL, .precision = (uint8_t)digits->number, .scale = (uint8_t)scale->number};
}

static zf_type resolve(const resolver *r, const zf_ast_type *type) {
    if (type->cut) {
        if (r->ck != NULL) r->ck->failed = true;
        return zf_type_of(ZF_K_ERROR);
    }
    switch (type->kind) {
    case ZF_AT_NAME:
        if (type->name == NULL) return fail(r, ZF_D_BAD_TYPE, type->span, "a number is not %s", "a type");
        return named(r, type->name, type->span);
    case ZF_AT_APPLY: return applied(r, type);
    case ZF_AT_OPTION: {
        zf_type element = resolve(r, type->element);
        if (element.kind == ZF_K_ERROR) return element;
        if (element.nullable)
            return fail(r, ZF_D_BAD_TYPE, type->span, "%s is nullable already", zf_type_name(r->spec->arena, element));
        element.nullable = true;
        return element;
    }
    case ZF_AT_LIST:
        if (strcmp(type->name, "list") != 0)
            return fail(r, ZF_D_BAD_TYPE, type->span, "`%s` is not a type that takes another: only `list<T>` does", type->name);
        return fail(r, ZF_D_BAD_TYPE, type->span, "only a column of a table is of %s: not its values, a codec or a stream",
                    "lists");
    case ZF_AT_ARRAY: break;
    }
    return fail(r, ZF_D_BAD_TYPE, type->span, "%s cannot stand here", "an array type");
}

zf_type zf_resolve_type(zf_spec *spec, const zf_source_module *module, const zf_ast_type *type, const zf_ast_generic *generics,
                        const zf_type *bindings) {
    resolver r = {.spec = spec, .module = module, .generics = generics, .bindings = bindings};
    return resolve(&r, type);
}

/// Generics are known to the algorithm's own text only, not to the functions of modules.
static resolver resolver_of(zf_checker *ck) {
    bool own = ck->frame == NULL || ck->frame->local;
    return (resolver){.spec = ck->spec,
                      .ck = ck,
                      .module = ck->frame == NULL ? ck->module : ck->frame->module,
                      .generics = own ? ck->generics : NULL,
                      .bindings = own ? ck->bindings : NULL};
}

/// Bodies see types without their logical names: a date is an i32 there.
zf_type zf_ck_type(zf_checker *ck, const zf_ast_type *type) {
    resolver r = resolver_of(ck);
    return zf_type_strip(resolve(&r, type));
}

zf_type zf_ck_type_of_expr(zf_checker *ck, const zf_ast_expr *expr) {
    resolver r = resolver_of(ck);
    if (expr->kind == ZF_AE_NAME) return zf_type_strip(named(&r, expr->name, expr->span));
    if (expr->kind == ZF_AE_CALL && expr->a->kind == ZF_AE_NAME && is_wide_function(expr->a->name) && expr->args != NULL &&
        expr->args->next == NULL) {
        return as_wide(&r, expr->a->name, zf_ck_type_of_expr(ck, expr->args), expr->span);
    }
    return fail(&r, ZF_D_BAD_TYPE, expr->span, "%s is wanted here", "a type");
}

bool zf_ck_declarable(zf_checker *ck, zf_name name, zf_span span) {
    if (!zf_name_is_reserved(name)) return true;
    zf_diag *diag = zf_ck_error(ck, ZF_D_RESERVED_NAME, span, "`%s` cannot be declared again", name);
    zf_ck_remark(ck, diag, (zf_span){0}, "it is the name of a type or of a primitive");
    return false;
}

void zf_remark_bound(zf_spec *spec, zf_diag *diag, zf_name bound) {
    const char *text = "";
    for (zf_kind kind = ZF_K_U8; kind <= ZF_K_BOOL; kind++) {
        if (!zf_bound_met(bound, zf_type_of(kind))) continue;
        text = zf_arena_printf(spec->arena, "%s%s%s", text, *text == '\0' ? "" : ", ", zf_kind_name(kind));
    }
    zf_diag_remark(&spec->diags, diag, (zf_span){0}, "`%s` admits %s", bound, text);
}

bool zf_bound_met(zf_name bound, zf_type type) {
    if (bound == NULL || type.kind == ZF_K_ERROR) return true;
    if (type.nullable) return false;
    bool integer = zf_kind_is_integer(type.kind), is_float = zf_kind_is_float(type.kind);
    if (strcmp(bound, "scalar") == 0) return integer || is_float || type.kind == ZF_K_BOOL;
    if (strcmp(bound, "integer") == 0) return integer;
    if (strcmp(bound, "unsigned") == 0) return zf_kind_is_unsigned(type.kind);
    if (strcmp(bound, "signed") == 0) return zf_kind_is_signed(type.kind);
    if (strcmp(bound, "float") == 0) return is_float;
    return false;
}

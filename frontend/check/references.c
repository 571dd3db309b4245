#include "frontend/check/references.h"

#include <stdlib.h>
#include <string.h>

/// Names that are not global here: locals, formals, binders, ports, states, generics. Functions of an algorithm are
/// apart: a local may have the name of one.
typedef struct finding {
    zf_spec *spec;
    const zf_source_module *module;
    const zf_ast_algorithm *algorithm;
    zf_name *scope;
    uint32_t depth, capacity;
    zf_references found;
} finding;

static void find_expr(finding *f, const zf_ast_expr *expr);
static void find_block(finding *f, const zf_ast_block *block);

// ---- Scope ----------------------------------------------------------------------------------------------------

static void enter(finding *f, zf_name name) {
    if (name == NULL) return;
    if (f->depth == f->capacity) {
        f->capacity = f->capacity == 0 ? 64 : f->capacity * 2;
        zf_name *scope = ZF_NEW_ARRAY(f->spec->arena, zf_name, f->capacity);
        for (uint32_t k = 0; k < f->depth; k++) scope[k] = f->scope[k];
        f->scope = scope;
    }
    f->scope[f->depth++] = name;
}

static bool in_scope(const finding *f, zf_name name) {
    for (uint32_t k = f->depth; k-- > 0;) {
        if (f->scope[k] == name) return true;
    }
    return false;
}

static bool is_member_function(const finding *f, zf_name name) {
    for (const zf_ast_member *m = f->algorithm == NULL ? NULL : f->algorithm->members; m != NULL; m = m->next) {
        if (m->kind == ZF_AM_FUNC && m->func->name == name) return true;
    }
    return false;
}

static void refer(finding *f, zf_name name, zf_span span, zf_ast_decl_kind kind) {
    zf_symbol *symbol = zf_find_symbol(f->spec, f->module, name);
    if (symbol == NULL || symbol->decl->kind != kind) return;
    if (f->found.count == f->found.capacity) {
        f->found.capacity = f->found.capacity == 0 ? 8 : f->found.capacity * 2;
        zf_reference *items = ZF_NEW_ARRAY(f->spec->arena, zf_reference, f->found.capacity);
        for (uint32_t k = 0; k < f->found.count; k++) items[k] = f->found.items[k];
        f->found.items = items;
    }
    f->found.items[f->found.count++] = (zf_reference){symbol, span.begin};
}

// ---- The tree -------------------------------------------------------------------------------------------------

static void find_range(finding *f, const zf_ast_range *range) {
    if (range == NULL) return;
    find_expr(f, range->lo);
    find_expr(f, range->hi);
}

static void find_type(finding *f, const zf_ast_type *type) {
    for (; type != NULL; type = type->element) find_expr(f, type->length); // names of types are never global
}

/// Enters the binders as they come: the range of the second may name the first.
static void find_binders(finding *f, const zf_ast_binder *binders) {
    for (const zf_ast_binder *binder = binders; binder != NULL; binder = binder->next) {
        find_range(f, &binder->range);
        enter(f, binder->name);
    }
}

static void find_exprs(finding *f, const zf_ast_expr *list) {
    for (; list != NULL; list = list->next) find_expr(f, list);
}

static void find_expr(finding *f, const zf_ast_expr *expr) {
    if (expr == NULL) return;
    switch (expr->kind) {
    case ZF_AE_NAME:
        if (!in_scope(f, expr->name)) refer(f, expr->name, expr->span, ZF_AD_CONST);
        return;
    case ZF_AE_CALL:
        if (expr->a->kind != ZF_AE_NAME)
            find_expr(f, expr->a);
        else if (!is_member_function(f, expr->a->name))
            refer(f, expr->a->name, expr->a->span, ZF_AD_FUNC);
        find_exprs(f, expr->args);
        return;
    case ZF_AE_REDUCE: {
        uint32_t depth = f->depth;
        if (expr->a->kind != ZF_AE_NAME) find_expr(f, expr->a);
        find_binders(f, expr->binders);
        find_expr(f, expr->b);
        f->depth = depth;
        return;
    }
    default:
        find_expr(f, expr->a);
        find_expr(f, expr->b);
        find_expr(f, expr->c);
        find_range(f, expr->range);
        find_type(f, expr->type);
    }
}

static void find_stmt(finding *f, const zf_ast_stmt *stmt) {
    uint32_t depth = f->depth;
    find_type(f, stmt->type);
    find_expr(f, stmt->place);
    find_range(f, stmt->range);
    find_binders(f, stmt->binders); // before the value: what is emitted names them
    find_expr(f, stmt->value);
    if (stmt->kind == ZF_AS_FOR) enter(f, stmt->name);
    find_block(f, stmt->body);
    f->depth = depth;
    if (stmt->else_part != NULL) find_stmt(f, stmt->else_part);
    if (stmt->kind == ZF_AS_LET || stmt->kind == ZF_AS_VAR) enter(f, stmt->name);
}

static void find_block(finding *f, const zf_ast_block *block) {
    if (block == NULL) return;
    uint32_t depth = f->depth;
    for (const zf_ast_stmt *stmt = block->stmts; stmt != NULL; stmt = stmt->next) find_stmt(f, stmt);
    f->depth = depth;
}

static void find_callable(finding *f, const zf_ast_formal *formals, const zf_ast_type *result, const zf_ast_expr *value,
                          const zf_ast_block *body) {
    uint32_t depth = f->depth;
    for (const zf_ast_formal *formal = formals; formal != NULL; formal = formal->next) {
        find_type(f, formal->type);
        enter(f, formal->name);
    }
    find_type(f, result);
    find_expr(f, value);
    find_block(f, body);
    f->depth = depth;
}

static void find_algorithm(finding *f, const zf_ast_algorithm *algorithm) {
    f->algorithm = algorithm;
    for (const zf_ast_generic *generic = algorithm->generics; generic != NULL; generic = generic->next) enter(f, generic->name);
    for (const zf_ast_port *port = algorithm->ports; port != NULL; port = port->next) enter(f, port->name);
    for (const zf_ast_port *port = algorithm->ports; port != NULL; port = port->next) {
        find_type(f, port->type);
        find_range(f, port->within);
        find_expr(f, port->given);
    }
    for (const zf_ast_option *option = algorithm->options; option != NULL; option = option->next) find_expr(f, option->value);
    uint32_t without_states = f->depth;
    for (const zf_ast_member *m = algorithm->members; m != NULL; m = m->next) {
        if (m->kind == ZF_AM_STATE) enter(f, m->name);
    }
    uint32_t with_states = f->depth;
    for (const zf_ast_member *m = algorithm->members; m != NULL; m = m->next) {
        f->depth = strcmp(m->name == NULL ? "" : m->name, "encode") == 0 ? without_states : with_states;
        if (m->kind == ZF_AM_FUNC)
            find_callable(f, m->func->formals, m->func->result, m->func->value, m->func->body);
        else
            find_callable(f, m->formals, m->type, m->value, m->body);
    }
}

static int by_place(const void *a, const void *b) {
    const zf_reference *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

zf_references zf_find_references(zf_spec *spec, const zf_symbol *symbol) {
    finding f = {.spec = spec, .module = symbol->module};
    const zf_ast_decl *decl = symbol->decl;
    find_type(&f, decl->type);
    find_expr(&f, decl->value);
    find_exprs(&f, decl->elements);
    if (decl->func != NULL) find_callable(&f, decl->func->formals, decl->func->result, decl->func->value, decl->func->body);
    if (decl->algorithm != NULL) find_algorithm(&f, decl->algorithm);
    if (f.found.count > 1) qsort(f.found.items, f.found.count, sizeof *f.found.items, by_place);
    return f.found;
}

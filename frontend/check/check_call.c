// Calls of functions: each is checked again where it is called, with the facts known there. Arrays, streams and `var`
// scalars become aliases; other scalars become locals, unless they are immutable names or constants already.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Effects --------------------------------------------------------------------------------------------------

void zf_ck_effect(zf_checker *ck, const zf_frame *home) {
    for (zf_frame *frame = ck->frame; frame != NULL && frame != home; frame = frame->outer) frame->has_effect = true;
}

const zf_expr *zf_find_effect(const zf_expr *expr) {
    if (expr == NULL || !expr->effect) return NULL;
    const zf_expr *inner = zf_find_effect(expr->a);
    if (inner == NULL) inner = zf_find_effect(expr->b);
    if (inner == NULL) inner = zf_find_effect(expr->c);
    return inner == NULL ? expr : inner;
}

void zf_ck_refuse_effect(zf_checker *ck, const zf_expr *expr, zf_span around, const char *where) {
    const zf_expr *effect = zf_find_effect(expr);
    if (effect == NULL) return;
    zf_diag *diag = zf_ck_error(ck, ZF_D_EFFECT, effect->span, "an effect in %s", where);
    bool inside = effect->span.source == around.source && effect->span.begin >= around.begin && effect->span.end <= around.end;
    if (!inside) zf_ck_remark(ck, diag, around, "which is here");
    zf_ck_remark(ck, diag, (zf_span){0},
                 "its elements are independent of each other: reading on, interning and assigning would order them");
    zf_ck_hint(ck, diag, "do it before, and keep the value in a `let`");
}

// ---- Finding a function ---------------------------------------------------------------------------------------

typedef struct callee {
    const zf_ast_func *func;
    const zf_source_module *module;
    bool local;
} callee;

static const zf_ast_member *own_members(const zf_checker *ck) {
    return ck->frame->local && ck->algorithm != NULL ? ck->algorithm->members : NULL;
}

static const zf_ast_query_member *own_query_members(const zf_checker *ck) {
    return ck->frame->local && ck->query_ast != NULL ? ck->query_ast->members : NULL;
}

/// A function of the algorithm or the query, or NULL.
static const zf_ast_func *own_function(const zf_checker *ck, zf_name name) {
    for (const zf_ast_member *m = own_members(ck); m != NULL; m = m->next) {
        if (m->kind == ZF_AM_FUNC && m->func->name == name) return m->func;
    }
    for (const zf_ast_query_member *m = own_query_members(ck); m != NULL; m = m->next) {
        if (m->kind == ZF_AQ_FUNC && m->func->name == name) return m->func;
    }
    return NULL;
}

static bool find_function(zf_checker *ck, const zf_ast_expr *name, callee *out) {
    const zf_ast_func *own = own_function(ck, name->name);
    if (own != NULL) {
        *out = (callee){.func = own, .module = ck->module, .local = true};
        zf_note_function_used(ck->spec, own);
        return true;
    }
    zf_symbol *symbol = ck->frame->module == NULL ? NULL : zf_find_symbol(ck->spec, ck->frame->module, name->name);
    if (symbol != NULL && symbol->decl->kind == ZF_AD_FUNC) {
        *out = (callee){.func = symbol->decl->func, .module = symbol->module};
        zf_note_function_used(ck->spec, symbol->decl->func);
        return true;
    }
    if (symbol != NULL) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_THAT_KIND, name->span, "`%s` is not a function", name->name);
        zf_ck_remark(ck, diag, symbol->decl->name_span, "declared here");
        return false;
    }
    ck->failed = true;
    const char *names[64];
    size_t count = 0;
    for (const zf_ast_member *m = own_members(ck); m != NULL && count < 64; m = m->next) {
        if (m->kind == ZF_AM_FUNC) names[count++] = m->func->name;
    }
    for (const zf_ast_query_member *m = own_query_members(ck); m != NULL && count < 64; m = m->next) {
        if (m->kind == ZF_AQ_FUNC) names[count++] = m->func->name;
    }
    const char *nearest = zf_nearest_name(name->name, names, count);
    if (nearest == NULL && ck->frame->module != NULL) {
        ck->failed = true;
        zf_report_unknown(ck->spec, ck->frame->module, name->name, name->span, ZF_AD_FUNC, "function");
        return false;
    }
    zf_diag *diag = zf_ck_error(ck, ZF_D_UNKNOWN_NAME, name->span, "unknown function `%s`", name->name);
    if (nearest != NULL) zf_ck_hint(ck, diag, "did you mean `%s`?", nearest);
    return false;
}

const zf_ast_func *zf_ck_find_function(zf_checker *ck, zf_name name) {
    const zf_ast_func *own = own_function(ck, name);
    if (own != NULL) return own;
    const zf_symbol *symbol = ck->frame->module == NULL ? NULL : zf_find_symbol(ck->spec, ck->frame->module, name);
    return symbol != NULL && symbol->decl->kind == ZF_AD_FUNC ? symbol->decl->func : NULL;
}

// ---- Arguments ------------------------------------------------------------------------------------------------

/// Whether an argument can be changed through the name that it is written as.
static bool is_writable(zf_checker *ck, const zf_ast_expr *ast, const zf_expr *expr) {
    while (ast->kind == ZF_AE_PAREN) ast = ast->a;
    if (ast->kind != ZF_AE_NAME) return false;
    const zf_bound *bound = zf_ck_lookup(ck, ast->name);
    if (bound != NULL) return bound->alias != NULL ? bound->writable : bound->local->kind == ZF_L_VAR || bound->writable;
    if (expr->kind == ZF_X_STREAM) return ck->body == ZF_IN_ENCODE;
    if (expr->kind == ZF_X_STATE) return ck->body == ZF_IN_LANES;
    return false;
}

static zf_expr *report_not_writable(zf_checker *ck, const zf_ast_expr *argument, const zf_ast_formal *formal) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_ASSIGNABLE, argument->span,
                                "`%s` is changed by the function, so it needs a variable by its name", formal->name);
    zf_ck_remark(ck, diag, formal->span, "declared here");
    if (argument->kind == ZF_AE_INDEX) zf_ck_hint(ck, diag, "keep the element in a `var`, and write it back");
    return zf_ck_poison(ck, argument->span);
}

static bool can_be_alias(const zf_expr *expr) {
    switch (expr->kind) {
    case ZF_X_STREAM:
    case ZF_X_INPUT:
    case ZF_X_TABLE:
    case ZF_X_OUT: return true;
    case ZF_X_LOCAL: return true; // arrays, and sequences kept in an immutable local
    default: return false;
    }
}

/// Binding of one formal: an alias, or a local with `init`. Types of formals belong to the callee's text.
typedef struct binding {
    zf_expr *value;
    bool alias, writable;
} binding;

static binding bind_sequence(zf_checker *ck, const zf_ast_expr *argument, const zf_ast_formal *formal, zf_type element) {
    binding out = {.alias = true, .writable = formal->is_var};
    out.value = zf_ck_sequence(ck, argument);
    if (zf_is_poison(out.value) || element.kind == ZF_K_ERROR) return out;
    zf_type given = zf_element_type(out.value);
    if (!zf_type_equal(zf_type_strip(given), element)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, argument->span, "`%s` needs %s[], and this is %s", formal->name,
                                    zf_type_name(ck->arena, element), zf_ck_type_name(ck, out.value));
        zf_ck_remark(ck, diag, formal->span, "declared here");
        out.value = zf_ck_poison(ck, argument->span);
        return out;
    }
    if (formal->is_var && !is_writable(ck, argument, out.value)) {
        out.value = report_not_writable(ck, argument, formal);
    } else if (!can_be_alias(out.value) || !out.value->is_seq) {
        out.alias = false;
    }
    return out;
}

static binding bind_scalar(zf_checker *ck, const zf_ast_expr *argument, const zf_ast_formal *formal, zf_type type) {
    binding out = {0};
    if (formal->is_var) {
        out = (binding){.value = zf_ck_scalar(ck, argument), .alias = true, .writable = true};
        if (zf_is_poison(out.value)) return out;
        bool place = out.value->kind == ZF_X_LOCAL || out.value->kind == ZF_X_STATE;
        if (!place || !is_writable(ck, argument, out.value)) {
            out.value = report_not_writable(ck, argument, formal);
        } else if (!zf_type_equal(out.value->type, type)) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, argument->span, "`%s` is a variable of type %s, and this is %s",
                                        formal->name, zf_type_name(ck->arena, type), zf_ck_type_name(ck, out.value));
            zf_ck_remark(ck, diag, formal->span, "declared here");
            out.value = zf_ck_poison(ck, argument->span);
        }
        return out;
    }
    zf_expr *value = zf_ck_scalar(ck, argument);
    out.value = formal->type == NULL && type.kind == ZF_K_U64 ? zf_ck_index(ck, value) : zf_ck_convert(ck, value, type);
    // An immutable value needs no copy: it keeps its name, and with it the facts about it.
    bool immutable = out.value->kind == ZF_X_CONST || (out.value->kind == ZF_X_LOCAL && out.value->local->kind != ZF_L_VAR) ||
                     (out.value->kind == ZF_X_PARAM && ck->body != ZF_IN_ENCODE);
    out.alias = immutable;
    return out;
}

/// Length that a formal E[n] demands; an argument whose length is known to differ is an error.
static void check_formal_length(zf_checker *ck, const zf_ast_formal *formal, const zf_expr *argument) {
    if (formal->type->length == NULL || zf_is_poison(argument)) return;
    zf_expr *wanted = zf_ck_index(ck, zf_ck_scalar(ck, formal->type->length));
    uint64_t length;
    if (!zf_ck_constant_value(ck, wanted, &length)) return;
    zf_interval known = zf_length_range(ck, argument);
    if (zf_interval_is_const(known) && known.lo == (zf_int128)length) return;
    zf_diag *diag = zf_ck_error(ck, ZF_D_CANNOT_CONVERT, argument->span, "`%s` needs %llu elements", formal->name,
                                (unsigned long long)length);
    zf_ck_remark(ck, diag, (zf_span){0}, "this has %s", zf_ck_range_text(ck, known));
}

// ---- Inlining -------------------------------------------------------------------------------------------------

static bool may_inline(zf_checker *ck, const zf_ast_func *func, zf_span span) {
    uint32_t depth = 0;
    for (const zf_frame *frame = ck->frame; frame != NULL; frame = frame->outer, depth++) {
        if (frame->func != func) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_RECURSION, span, "`%s` calls itself", func->name);
        zf_ck_remark(ck, diag, func->name_span, "declared here");
        zf_ck_hint(ck, diag, "functions are inlined: use a loop");
        return false;
    }
    if (depth <= ZF_CALL_DEPTH_LIMIT) return true;
    if (ck->body == ZF_IN_FUNCTION)
        ck->too_large = true; // the callers report it
    else
        zf_ck_error(ck, ZF_D_TOO_LARGE, span, "calls are inlined within each other more than %d deep", ZF_CALL_DEPTH_LIMIT);
    return false;
}

static zf_expr *inline_function(zf_checker *ck, const zf_ast_expr *ast, const callee *target) {
    const zf_ast_func *func = target->func;
    uint32_t formal_count = 0, argument_count = 0;
    for (const zf_ast_formal *formal = func->formals; formal != NULL; formal = formal->next) formal_count++;
    for (const zf_ast_expr *argument = ast->args; argument != NULL; argument = argument->next) argument_count++;
    if (formal_count != argument_count) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_ARGUMENTS, ast->span, "`%s` takes %u argument%s, and %u %s given", func->name, formal_count,
                        formal_count == 1 ? "" : "s", argument_count, argument_count == 1 ? "is" : "are");
        zf_ck_remark(ck, diag, func->name_span, "declared here");
        return zf_ck_poison(ck, ast->span);
    }
    if (!may_inline(ck, func, ast->span)) return zf_ck_poison(ck, ast->span);

    zf_frame *caller = ck->frame;
    zf_frame *frame = ZF_NEW(ck->arena, zf_frame);
    *frame = (zf_frame){.name = func->name,
                        .func = func,
                        .module = target->module,
                        .local = target->local,
                        .call = ast->span,
                        .outer = caller,
                        .depth = caller->depth + 1};

    // Arguments are checked where they are written, in order; types of formals where those are written.
    binding *bindings = ZF_NEW_ARRAY(ck->arena, binding, formal_count + 1);
    bool effect = false, poisoned = false;
    const zf_ast_expr *argument = ast->args;
    uint32_t k = 0;
    for (const zf_ast_formal *formal = func->formals; formal != NULL; formal = formal->next, argument = argument->next, k++) {
        bool is_array = formal->type != NULL && formal->type->kind == ZF_AT_ARRAY;
        ck->frame = frame;
        zf_type index = zf_type_of(ck->query != NULL && frame->local ? ZF_K_I64 : ZF_K_U64);
        zf_type type = formal->type == NULL ? index : zf_ck_type(ck, is_array ? formal->type->element : formal->type);
        ck->frame = caller;
        bindings[k] = is_array ? bind_sequence(ck, argument, formal, type) : bind_scalar(ck, argument, formal, type);
        effect = effect || bindings[k].value->effect;
        poisoned = poisoned || zf_is_poison(bindings[k].value);
    }

    zf_bound *scope = ck->scope;
    zf_stmt **tail = ck->tail;
    ck->frame = frame;
    ck->scope = NULL;
    ck->level++;
    zf_call *call = ZF_NEW(ck->arena, zf_call);
    call->name = func->name;
    call->formals = ZF_NEW_ARRAY(ck->arena, zf_local *, formal_count + 1);
    k = 0;
    for (const zf_ast_formal *formal = func->formals; formal != NULL; formal = formal->next, k++) {
        binding *bound = &bindings[k];
        if (formal->type != NULL && formal->type->kind == ZF_AT_ARRAY) check_formal_length(ck, formal, bound->value);
        if (bound->alias || zf_is_poison(bound->value)) {
            zf_ck_enter(ck, formal->name, formal->span, NULL, bound->value, bound->writable);
            continue;
        }
        zf_local *local = zf_ck_local(ck, ZF_L_FORMAL, formal->name, formal->span, bound->value->type);
        local->init = bound->value;
        local->is_seq = bound->value->is_seq;
        local->range = local->is_seq ? zf_element_range(ck, bound->value) : bound->value->range;
        call->formals[call->formal_count++] = local;
        zf_ck_enter(ck, formal->name, formal->span, local, NULL, false);
    }
    if (func->result != NULL) {
        frame->result = zf_ck_type(ck, func->result);
        frame->result_known = true;
    }
    zf_checked_body body = zf_ck_function_body(ck, func->value, func->body, func->name_span);
    ck->level--;
    ck->scope = scope;
    ck->tail = tail;
    ck->frame = caller;
    // An effect on something that outlives the call is the caller's, too.
    if (poisoned || frame->result.kind == ZF_K_ERROR || (body.value != NULL && zf_is_poison(body.value)))
        return zf_ck_poison(ck, ast->span);
    if (call->formal_count == 0 && body.stmts == NULL && body.value != NULL && !body.returns_inside) return body.value;

    call->body = body.stmts;
    call->value = body.value;
    call->returns_inside = body.returns_inside;
    zf_expr *expr = zf_ck_node(ck, ZF_X_CALL, frame->result, ast->span);
    expr->call = call;
    expr->effect = effect || frame->has_effect;
    if (frame->has_result_range) expr->range = frame->result_range;
    return expr;
}

zf_expr *zf_ck_call(zf_checker *ck, const zf_ast_expr *ast, bool as_statement) {
    const zf_ast_expr *target = ast->a;
    if (target->kind == ZF_AE_MEMBER) return zf_ck_method(ck, ast, as_statement);
    if (target->kind != ZF_AE_NAME) {
        zf_ck_error(ck, ZF_D_NOT_THAT_KIND, target->span, "this is not a function, so it cannot be called");
        return zf_ck_poison(ck, ast->span);
    }
    bool known = false;
    zf_expr *primitive = zf_ck_primitive(ck, ast, &known);
    if (known) return primitive;
    const zf_bound *bound = zf_ck_lookup(ck, target->name);
    if (bound != NULL) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_THAT_KIND, target->span, "`%s` is not a function", target->name);
        zf_ck_remark(ck, diag, bound->span, "declared here");
        return zf_ck_poison(ck, ast->span);
    }
    zf_expr *of_query = NULL;
    if (zf_ck_query_call(ck, ast, &of_query)) return of_query;
    callee found;
    if (!find_function(ck, target, &found)) return zf_ck_poison(ck, ast->span);
    return inline_function(ck, ast, &found);
}

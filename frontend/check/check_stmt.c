// Statements: declarations, assignments, branches, what leaves, what emits; the bodies of functions.
#include <string.h>

#include "frontend/check/checker.h"

zf_stmt *zf_ck_stmt(zf_checker *ck, zf_stmt_kind kind, zf_span span) {
    zf_stmt *stmt = ZF_NEW(ck->arena, zf_stmt);
    stmt->kind = kind;
    stmt->span = span;
    ck->nodes++;
    if (ck->tail != NULL) {
        *ck->tail = stmt;
        ck->tail = &stmt->next;
    }
    return stmt;
}

// ---- Declarations ---------------------------------------------------------------------------------------------

/// A name after an error in its declaration: its uses stay quiet.
static void enter_poison(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_ck_enter(ck, ast->name, ast->name_span, NULL, zf_ck_poison(ck, ast->name_span), true);
}

static void check_let(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_expr *value;
    if (ast->type != NULL) {
        zf_type type = zf_ck_type(ck, ast->type);
        value = zf_ck_value_as(ck, ast->value, type);
        if (type.kind == ZF_K_ERROR) value = zf_ck_poison(ck, ast->span);
    } else {
        value = zf_ck_expr(ck, ast->value);
        if (!zf_is_poison(value) && !value->is_seq) {
            if (value->type.kind == ZF_K_NONE && zf_untyped_of(value->type) == ZF_UNTYPED_NOT) {
                zf_ck_error(ck, ZF_D_NO_VALUE, ast->value->span, "this has no value");
                value = zf_ck_poison(ck, ast->span);
            }
            value = zf_ck_settle(ck, value);
        }
    }
    if (zf_is_poison(value)) {
        enter_poison(ck, ast);
        return;
    }
    if (value->is_seq && value->kind != ZF_X_SLICE) { // another name of a stream or array
        zf_ck_enter(ck, ast->name, ast->name_span, NULL, value, false);
        return;
    }
    zf_local *local = zf_ck_local(ck, ZF_L_LET, ast->name, ast->name_span, value->type);
    local->init = value;
    local->is_seq = value->is_seq;
    local->range = value->is_seq ? zf_element_range(ck, value) : value->range;
    zf_ck_stmt(ck, ZF_S_LET, ast->span)->local = local;
    zf_bound *bound = zf_ck_enter(ck, ast->name, ast->name_span, local, NULL, false);
    // Relations of its value to other values hold for the name, too.
    if (value->kind == ZF_X_BINARY || value->kind == ZF_X_PRIM || value->kind == ZF_X_CAST || value->kind == ZF_X_LOCAL) {
        if (zf_kind_is_integer(value->type.kind) && !value->type.nullable && zf_expr_immutable(ck, value)) {
            zf_expr *use = zf_ck_use(ck, bound, ast->name_span);
            zf_facts_relate(ck, use, value, false);
            zf_facts_relate(ck, value, use, false);
        }
    }
}

static bool may_hold(zf_type type) {
    return !type.nullable && (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind) || type.kind == ZF_K_BOOL);
}

/// var x: E[n]; and, in encode, var x: E[];
static void check_array(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_type type = zf_ck_type(ck, ast->type->element);
    if (type.kind == ZF_K_ERROR) {
        enter_poison(ck, ast);
        return;
    }
    if (!may_hold(type)) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_TYPE, ast->type->span, "an array holds numbers or bool, not %s",
                                    zf_type_name(ck->arena, type));
        if (type.nullable)
            zf_ck_hint(ck, diag, "keep the values in one array, and which are null in another, of bool");
        else if (type.kind == ZF_K_STRING)
            zf_ck_hint(ck, diag, "keep bytes in an array of u8, and lengths in an array of u64");
        else if (type.kind == ZF_K_OPAQUE)
            zf_ck_hint_bound(ck, diag, type, "scalar");
        enter_poison(ck, ast);
        return;
    }
    if (ast->value != NULL) {
        zf_ck_error(ck, ZF_D_CANNOT_CONVERT, ast->value->span, "an array begins zeroed: it cannot be given a value");
        enter_poison(ck, ast);
        return;
    }
    bool growing = ast->type->length == NULL;
    if (growing && ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->type->span, "an array without a length grows, and only encode may allocate");
        zf_ck_hint(ck, diag, "write its length: `%s[n]`", zf_type_name(ck->arena, type));
        enter_poison(ck, ast);
        return;
    }
    uint64_t length = 0;
    if (!growing) {
        zf_expr *written = zf_ck_index(ck, zf_ck_scalar(ck, ast->type->length));
        if (!zf_ck_constant_value(ck, written, &length)) {
            enter_poison(ck, ast);
            return;
        }
        bool encode = ck->body == ZF_IN_ENCODE || ck->body == ZF_IN_FUNCTION; // alone it is nobody's yet
        uint64_t limit = encode ? ZF_ENCODE_ARRAYS_LIMIT : ZF_DECODE_ARRAYS_LIMIT;
        uint64_t bytes = length > limit ? limit + 1 : length * zf_kind_size(type.kind);
        ck->array_bytes += bytes;
        if (length == 0) {
            zf_ck_error(ck, ZF_D_BAD_TYPE, ast->type->length->span, "an array has at least one element");
            enter_poison(ck, ast);
            return;
        }
        if (ck->array_bytes > limit) {
            zf_diag *diag = zf_ck_error(ck, ZF_D_LOCAL_ARRAYS, ast->span, "the local arrays of this body take more than %s",
                                        encode ? "64 MiB" : "64 KiB");
            zf_ck_remark(ck, diag, (zf_span){0}, "each call of a function has its own");
            enter_poison(ck, ast);
            return;
        }
    }
    zf_local *local = zf_ck_local(ck, growing ? ZF_L_GROWING : ZF_L_ARRAY, ast->name, ast->name_span, type);
    local->length = length;
    zf_ck_stmt(ck, ZF_S_VAR, ast->span)->local = local;
    zf_ck_enter(ck, ast->name, ast->name_span, local, NULL, true);
}

/// The value that a variable or place is given: not a sequence.
static zf_expr *kept_value(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *value = zf_ck_expr(ck, ast);
    if (!value->is_seq) return zf_ck_to_scalar(ck, value);
    const char *element = zf_type_name(ck->arena, zf_element_type(value));
    return zf_ck_refuse_sequence(
        ck, value,
        zf_arena_printf(ck->arena, "`let` names a sequence; to keep its elements, copy them into an array: `var v: %s[n]`",
                        element));
}

static void check_var(zf_checker *ck, const zf_ast_stmt *ast) {
    if (ast->type != NULL && ast->type->kind == ZF_AT_ARRAY) {
        check_array(ck, ast);
        return;
    }
    zf_expr *value = NULL;
    zf_type type = {0};
    if (ast->type != NULL) {
        type = zf_ck_type(ck, ast->type);
        if (ast->value != NULL) value = zf_ck_value_as(ck, ast->value, type);
    } else {
        value = zf_ck_settle(ck, kept_value(ck, ast->value));
        type = value->type;
    }
    if (type.kind == ZF_K_ERROR || (value != NULL && zf_is_poison(value))) {
        enter_poison(ck, ast);
        return;
    }
    zf_local *local = zf_ck_local(ck, ZF_L_VAR, ast->name, ast->name_span, type);
    local->init = value;
    zf_ck_stmt(ck, ZF_S_VAR, ast->span)->local = local;
    zf_bound *bound = zf_ck_enter(ck, ast->name, ast->name_span, local, NULL, true);
    bool counted = !type.nullable && (zf_kind_is_integer(type.kind) || type.kind == ZF_K_BOOL);
    if (counted) zf_facts_learn(ck, zf_ck_use(ck, bound, ast->name_span), value == NULL ? zf_interval_const(0) : value->range);
}

// ---- Assignment -----------------------------------------------------------------------------------------------

static zf_expr *refuse_place(zf_checker *ck, const zf_ast_expr *place, zf_span declared, const char *why, const char *hint) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_NOT_ASSIGNABLE, place->span, "%s", why);
    if (declared.source != NULL) zf_ck_remark(ck, diag, declared, "declared here");
    if (hint != NULL) zf_ck_hint(ck, diag, "%s", hint);
    return zf_ck_poison(ck, place->span);
}

static bool names_state(const zf_checker *ck, zf_name name) {
    if (ck->algorithm == NULL) return false;
    for (const zf_ast_member *member = ck->algorithm->members; member != NULL; member = member->next) {
        if (member->kind == ZF_AM_STATE && member->name == name) return true;
    }
    return false;
}

static zf_expr *param_place(zf_checker *ck, const zf_ast_expr *place, zf_expr *expr) {
    zf_port *port = expr->port;
    if (ck->body != ZF_IN_ENCODE) return refuse_place(ck, place, port->span, "a param is set by encode only", NULL);
    if (port->given != NULL) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_PARAM_CHOSEN, place->span, "`%s` has a default, so encode cannot set it", port->name);
        zf_ck_remark(ck, diag, port->span, "declared here");
        zf_ck_hint(ck, diag, "a param is either given (by its default or a codec) or chosen by encode");
        return zf_ck_poison(ck, place->span);
    }
    if (ck->in_chunks) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BLOCK_WIDE_WRITE, place->span,
                                    "`%s` belongs to the whole block and cannot be set in `chunks`", port->name);
        zf_ck_hint(ck, diag, "set it before or after");
        return zf_ck_poison(ck, place->span);
    }
    port->assigned = true;
    zf_ck_effect(ck, NULL);
    return expr;
}

static zf_expr *state_place(zf_checker *ck, const zf_ast_expr *place, zf_expr *expr) {
    if (ck->body != ZF_IN_LANES) {
        zf_ck_error(ck, ZF_D_LANE_STATE, place->span, "a state is assigned in decode of its lane only");
        return zf_ck_poison(ck, place->span);
    }
    zf_ck_effect(ck, NULL);
    return expr;
}

/// A local, or what the algorithm brings, under its name.
static zf_expr *named_place(zf_checker *ck, const zf_ast_expr *place) {
    const zf_bound *bound = zf_ck_lookup(ck, place->name);
    if (bound == NULL && names_state(ck, place->name) && ck->frame->local && ck->body != ZF_IN_LANES && ck->body != ZF_IN_STATE) {
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_LANE_STATE, place->span, "the state `%s` is assigned in decode of its lane only", place->name);
        zf_ck_hint(ck, diag, "encode keeps its own variables");
        return zf_ck_poison(ck, place->span);
    }
    zf_expr *expr = zf_ck_name(ck, place);
    if (zf_is_poison(expr)) return expr;
    zf_span declared = bound == NULL ? (zf_span){0} : bound->span;
    switch (expr->kind) {
    case ZF_X_PARAM: return param_place(ck, place, expr);
    case ZF_X_STATE:
        if (bound != NULL && !bound->writable) break;
        return state_place(ck, place, expr);
    case ZF_X_STREAM:
        return refuse_place(ck, place, expr->port->span, "a stream cannot be assigned", "write to it with `.push(v)`");
    case ZF_X_LOCAL:
        if (expr->is_seq) return refuse_place(ck, place, declared, "a whole sequence cannot be assigned", "assign its elements");
        if (expr->local->kind != ZF_L_VAR) break;
        if (bound != NULL && bound->alias != NULL && !bound->writable) {
            return refuse_place(ck, place, declared, "this formal cannot change",
                                zf_arena_printf(ck->arena, "mark it: `var %s: ...`", place->name));
        }
        return zf_ck_write_target(ck, expr, place->span, "assigned") ? expr : zf_ck_poison(ck, place->span);
    default: break;
    }
    const char *hint = expr->kind == ZF_X_LOCAL && expr->local->kind == ZF_L_LET ? "declare it with `var`" : NULL;
    return refuse_place(ck, place, declared, "this cannot change", hint);
}

static zf_expr *indexed_place(zf_checker *ck, const zf_ast_expr *place) {
    const zf_ast_expr *base = place->a;
    while (base->kind == ZF_AE_PAREN) base = base->a;
    zf_expr *expr = zf_ck_index_expr(ck, place);
    if (zf_is_poison(expr)) return expr;
    const zf_bound *bound = base->kind == ZF_AE_NAME ? zf_ck_lookup(ck, base->name) : NULL;
    zf_span declared = bound == NULL ? (zf_span){0} : bound->span;
    bool array = expr->a->kind == ZF_X_LOCAL && (expr->a->local->kind == ZF_L_ARRAY || expr->a->local->kind == ZF_L_GROWING);
    if (!array) {
        bool stream = expr->a->kind == ZF_X_STREAM;
        return refuse_place(ck, place, stream ? expr->a->port->span : declared,
                            stream ? "the elements of a stream cannot be assigned" : "these elements cannot be assigned",
                            stream ? "collect them in a local array, then push them" : NULL);
    }
    if (bound == NULL || !bound->writable) {
        return refuse_place(ck, place, declared, "the elements of this cannot change here", "mark the formal with `var`");
    }
    return zf_ck_write_target(ck, expr->a, place->span, "assigned") ? expr : zf_ck_poison(ck, place->span);
}

static zf_expr *check_place(zf_checker *ck, const zf_ast_expr *place) {
    while (place->kind == ZF_AE_PAREN) place = place->a;
    if (place->cut) return zf_ck_expr(ck, place);
    if (place->kind == ZF_AE_NAME) return named_place(ck, place);
    if (place->kind == ZF_AE_INDEX) return indexed_place(ck, place);
    return refuse_place(ck, place, (zf_span){0}, "only variables, params, states and elements of arrays are assigned", NULL);
}

static zf_expr *copy_of(zf_checker *ck, const zf_expr *expr) {
    zf_expr *copy = zf_ck_node(ck, expr->kind, expr->type, expr->span);
    *copy = *expr;
    return copy;
}

static void check_assign(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_query_result *of_query = zf_ck_result_of(ck, ast->place);
    if (of_query != NULL) {
        zf_ck_result_stmt(ck, ast, of_query);
        return;
    }
    zf_expr *place = check_place(ck, ast->place);
    zf_expr *value = kept_value(ck, ast->value);
    if (zf_is_poison(place) || zf_is_poison(value)) return;
    bool shift = ast->has_op && (ast->op == ZF_OP_SHL || ast->op == ZF_OP_SHR);
    if (!shift) value = zf_ck_convert(ck, value, place->type);
    if (zf_is_poison(value)) return;
    // x op= e is x = x op e; an element keeps the operator, so that its index is computed once.
    zf_expr *result = value;
    if (ast->has_op) result = zf_ck_binary(ck, ast->op, copy_of(ck, place), value, ast->span);
    if (zf_is_poison(result)) return;
    bool scalar = place->kind != ZF_X_INDEX;
    bool divides = ast->op == ZF_OP_DIV || ast->op == ZF_OP_REM;
    bool keeps_op = ast->has_op && !scalar && !(divides && !place->effect);
    zf_stmt *stmt = zf_ck_stmt(ck, ZF_S_ASSIGN, ast->span);
    stmt->place = place;
    stmt->has_op = keeps_op;
    stmt->op = ast->op;
    stmt->value = keeps_op ? (result->kind == ZF_X_BINARY ? result->b : value) : result;
    if (keeps_op && zf_untyped_of(stmt->value->type) != ZF_UNTYPED_NOT) stmt->value = zf_ck_settle(ck, stmt->value);
    if (!scalar) return;
    if (place->kind == ZF_X_LOCAL) zf_facts_kill(ck, place->local, NULL, NULL, false);
    if (place->kind == ZF_X_STATE) zf_facts_kill(ck, NULL, NULL, place->state, false);
    if (place->kind == ZF_X_PARAM) zf_facts_kill(ck, NULL, place->port, NULL, false);
    zf_expr *now = copy_of(ck, place);
    now->range = zf_range_all(now->type);
    zf_facts_learn(ck, now, result->range);
}

// ---- Branches -------------------------------------------------------------------------------------------------

static bool check_if(zf_checker *ck, const zf_ast_stmt *ast);

static bool check_else(zf_checker *ck, const zf_ast_stmt *ast, zf_stmt **out) {
    if (ast == NULL) return false;
    if (ast->kind == ZF_AS_BLOCK) return zf_ck_block(ck, ast->body, out);
    zf_stmt **tail = ck->tail;
    ck->tail = out;
    bool ends = check_if(ck, ast);
    ck->tail = tail;
    return ends;
}

static bool check_if(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_expr *condition = zf_ck_condition(ck, ast->value);
    zf_stmt *stmt = zf_ck_stmt(ck, ZF_S_IF, ast->span);
    stmt->value = condition;
    zf_env before = ck->env;
    zf_facts_assume(ck, condition, true);
    bool then_ends = zf_ck_block(ck, ast->body, &stmt->body);
    zf_env after = ck->env;
    after.dead = after.dead || then_ends;
    ck->env = before;
    zf_facts_assume(ck, condition, false);
    bool else_ends = check_else(ck, ast->else_part, &stmt->else_part);
    ck->env.dead = ck->env.dead || else_ends;
    ck->env = zf_facts_join(ck, after, ck->env);
    return then_ends && else_ends;
}

// ---- Leaving --------------------------------------------------------------------------------------------------

static bool check_return(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_frame *frame = ck->frame;
    if (ck->in_chunks && frame->func == NULL) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "a chunk cannot end the encoder: chunks are encoded side by side");
        return true;
    }
    zf_expr *value = NULL;
    if (ast->value != NULL) {
        if (frame->result_known && frame->result.kind == ZF_K_NONE) {
            zf_ck_expr(ck, ast->value);
            zf_ck_error(ck, ZF_D_NO_VALUE, ast->value->span, "nothing is returned here: `%s` has no value", frame->name);
            return true;
        }
        value = frame->result_known ? zf_ck_value_as(ck, ast->value, frame->result) : zf_ck_value(ck, ast->value);
        if (!frame->result_known) {
            frame->result = value->type;
            frame->result_known = true;
        }
    } else if (!frame->result_known) {
        frame->result = zf_type_of(ZF_K_NONE);
        frame->result_known = true;
    } else if (frame->result.kind != ZF_K_NONE && frame->result.kind != ZF_K_ERROR) {
        zf_ck_error(ck, ZF_D_NO_VALUE, ast->span, "`%s` returns %s, and no value is given", frame->name,
                    zf_type_name(ck->arena, frame->result));
    }
    if (value != NULL && !zf_is_poison(value)) {
        frame->result_range = frame->has_result_range ? zf_interval_hull(frame->result_range, value->range) : value->range;
        frame->has_result_range = true;
    }
    frame->returned = zf_facts_join(ck, frame->returned, ck->env);
    frame->returns++;
    zf_ck_stmt(ck, ZF_S_RETURN, ast->span)->value = value;
    return true;
}

static bool check_leave_loop(zf_checker *ck, const zf_ast_stmt *ast) {
    bool is_break = ast->kind == ZF_AS_BREAK;
    const char *word = is_break ? "break" : "continue";
    if (ck->frame->loops == 0) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`%s` belongs in a loop", word);
        return true;
    }
    if (is_break && ck->frame->chunk_loop != 0 && ck->frame->loops == ck->frame->chunk_loop) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "a chunk cannot end the loop over chunks: they are encoded side by side");
        return true;
    }
    zf_ck_stmt(ck, is_break ? ZF_S_BREAK : ZF_S_CONTINUE, ast->span);
    return true;
}

static bool check_refuse(zf_checker *ck, const zf_ast_stmt *ast) {
    if (ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`refuse` belongs to encode");
        zf_ck_hint(ck, diag, "a decoder checks a condition: `require e;`");
        return true;
    }
    zf_ck_effect(ck, NULL);
    zf_ck_stmt(ck, ZF_S_REFUSE, ast->span)->text = ast->text;
    return true;
}

// ---- Emitting -------------------------------------------------------------------------------------------------

static bool may_emit(zf_checker *ck, zf_span span) {
    if (ck->body == ZF_IN_CHUNK || ck->body == ZF_IN_FUNCTION) return true;
    zf_diag *diag = zf_ck_error(ck, ZF_D_WRONG_PLACE, span, "only the decoder of a chunk emits");
    if (ck->body == ZF_IN_ELEMENT || ck->body == ZF_IN_LANES) zf_ck_hint(ck, diag, "return the element");
    return false;
}

static zf_expr *check_emitted(zf_checker *ck, const zf_ast_expr *ast) {
    return ck->inst == NULL ? zf_ck_value(ck, ast) : zf_ck_value_as(ck, ast, ck->inst->result);
}

static void check_emit_region(zf_checker *ck, const zf_ast_stmt *ast) {
    zf_env env = ck->env;
    zf_bound *scope = ck->scope;
    ck->level++;
    zf_reduce *reduce = ZF_NEW(ck->arena, zf_reduce);
    bool poisoned = false;
    for (const zf_ast_binder *binder = ast->binders; binder != NULL; binder = binder->next) {
        if (reduce->binder_count == 2) {
            zf_ck_error(ck, ZF_D_ARGUMENTS, binder->span, "an emit region has one binder or two");
            poisoned = true;
            break;
        }
        zf_binder *made = &reduce->binders[reduce->binder_count++];
        zf_ck_binder(ck, made, binder->name, binder->span, &binder->range);
        poisoned = poisoned || zf_is_poison(made->lo) || zf_is_poison(made->hi);
        zf_ck_refuse_effect(ck, made->lo, ast->span, "the bounds of an emit region");
        zf_ck_refuse_effect(ck, made->hi, ast->span, "the bounds of an emit region");
        zf_ck_enter(ck, binder->name, binder->span, made->local, NULL, false);
    }
    // All elements of the region are computed together, so what holds here is what holds for each.
    const zf_fact *universal = ck->universal;
    uint32_t universal_first = ck->universal_first;
    bool in_region = ck->in_region;
    ck->universal = ck->env.facts;
    ck->universal_first = ck->local_count;
    ck->in_region = true;
    reduce->term = check_emitted(ck, ast->value);
    ck->in_region = in_region;
    ck->universal_first = universal_first;
    ck->universal = universal;
    zf_ck_refuse_effect(ck, reduce->term, ast->span, "an emit region");
    ck->level--;
    ck->scope = scope;
    ck->env = env;
    if (!poisoned) zf_ck_stmt(ck, ZF_S_EMIT_REGION, ast->span)->reduce = reduce;
}

static void check_emit(zf_checker *ck, const zf_ast_stmt *ast) {
    if (!may_emit(ck, ast->span)) return;
    if (ast->binders != NULL)
        check_emit_region(ck, ast);
    else {
        zf_expr *value = check_emitted(ck, ast->value);
        zf_ck_stmt(ck, ZF_S_EMIT, ast->span)->value = value;
    }
    zf_ck_effect(ck, NULL);
    zf_facts_kill(ck, NULL, NULL, NULL, true);
}

// ---- Statements -----------------------------------------------------------------------------------------------

/// sort(x); code_lengths(counts, lengths, limit); Returns false for other names.
bool zf_ck_statement_call(zf_checker *ck, const zf_ast_stmt *ast) {
    const zf_ast_expr *call = ast->value;
    if (call->kind != ZF_AE_CALL || call->a->kind != ZF_AE_NAME) return false;
    bool sorts = strcmp(call->a->name, "sort") == 0;
    if (!sorts && strcmp(call->a->name, "code_lengths") != 0) return false;
    uint32_t count = 0, wanted = sorts ? 1 : 3;
    for (const zf_ast_expr *argument = call->args; argument != NULL; argument = argument->next) count++;
    if (count != wanted) {
        zf_ck_error(ck, ZF_D_ARGUMENTS, call->span, "`%s` takes %u argument%s, and %u %s given", call->a->name, wanted,
                    wanted == 1 ? "" : "s", count, count == 1 ? "is" : "are");
        return true;
    }
    if (ck->body != ZF_IN_ENCODE && ck->body != ZF_IN_FUNCTION) {
        zf_ck_error(ck, ZF_D_WRONG_PLACE, call->span, "`%s` belongs to encode", call->a->name);
        return true;
    }
    const zf_ast_expr *changed = sorts ? call->args : call->args->next;
    zf_expr *target = zf_ck_sequence(ck, changed);
    zf_expr *counts = sorts ? NULL : zf_ck_sequence(ck, call->args);
    zf_expr *limit = sorts ? NULL : zf_ck_index(ck, zf_ck_scalar(ck, call->args->next->next));
    if (zf_is_poison(target) || (counts != NULL && zf_is_poison(counts)) || (limit != NULL && zf_is_poison(limit))) return true;
    const zf_bound *bound = changed->kind == ZF_AE_NAME ? zf_ck_lookup(ck, changed->name) : NULL;
    bool array = target->kind == ZF_X_LOCAL && (target->local->kind == ZF_L_ARRAY || target->local->kind == ZF_L_GROWING);
    if (!array || bound == NULL || !bound->writable) {
        zf_ck_error(ck, ZF_D_NOT_ASSIGNABLE, changed->span, "`%s` changes a local array, by its name", call->a->name);
        return true;
    }
    if (sorts ? !zf_kind_is_integer(target->type.kind) : target->type.kind != ZF_K_U8) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, changed->span, sorts ? "`sort` needs integers, not %s" : "lengths are `u8[]`, not %s",
                    zf_ck_type_name(ck, target));
        return true;
    }
    if (counts != NULL && !zf_kind_is_unsigned(zf_element_type(counts).kind)) {
        zf_ck_error(ck, ZF_D_BAD_OPERAND, call->args->span, "counts are unsigned integers, not %s", zf_ck_type_name(ck, counts));
        return true;
    }
    if (!zf_ck_write_target(ck, target, changed->span, "changed")) return true;
    zf_stmt *stmt = zf_ck_stmt(ck, sorts ? ZF_S_SORT : ZF_S_CODE_LENGTHS, ast->span);
    stmt->target = target;
    stmt->value = counts;
    stmt->count = limit;
    return true;
}

static void check_expression(zf_checker *ck, const zf_ast_stmt *ast) {
    if (zf_ck_statement_call(ck, ast)) return;
    const zf_ast_expr *call = ast->value;
    while (call->kind == ZF_AE_PAREN) call = call->a;
    zf_expr *value = call->kind == ZF_AE_CALL ? zf_ck_call(ck, call, true) : zf_ck_expr(ck, call);
    if (zf_is_poison(value)) return;
    if (value->kind == ZF_X_CONST && value->type.kind == ZF_K_NONE) return; // a statement of encode, which stands already
    if (value->kind != ZF_X_CALL && !value->effect) {
        zf_ck_warning(ck, ZF_D_NO_VALUE, ast->span, "this has no effect, and its value is not used");
        return;
    }
    if (!value->is_seq && zf_untyped_of(value->type) == ZF_UNTYPED_NOT) zf_ck_stmt(ck, ZF_S_EXPR, ast->span)->value = value;
}

static bool check_stmt(zf_checker *ck, const zf_ast_stmt *ast) {
    switch (ast->kind) {
    case ZF_AS_LET: check_let(ck, ast); return false;
    case ZF_AS_VAR: check_var(ck, ast); return false;
    case ZF_AS_ASSIGN: check_assign(ck, ast); return false;
    case ZF_AS_EXPR: check_expression(ck, ast); return false;
    case ZF_AS_IF: return check_if(ck, ast);
    case ZF_AS_WHILE:
    case ZF_AS_LOOP:
    case ZF_AS_FOR: return zf_ck_loop_stmt(ck, ast);
    case ZF_AS_BREAK:
    case ZF_AS_CONTINUE: return check_leave_loop(ck, ast);
    case ZF_AS_RETURN: return check_return(ck, ast);
    case ZF_AS_EMIT: check_emit(ck, ast); return false;
    case ZF_AS_REQUIRE: {
        zf_expr *condition = zf_ck_condition(ck, ast->value);
        if (zf_is_poison(condition)) return false;
        zf_ck_stmt(ck, ZF_S_REQUIRE, ast->span)->value = condition;
        zf_facts_assume(ck, condition, true);
        return false;
    }
    case ZF_AS_REFUSE: return check_refuse(ck, ast);
    case ZF_AS_SELECT: zf_ck_select(ck, ast); return false;
    case ZF_AS_BLOCK: {
        zf_stmt *inner = NULL;
        bool ends = zf_ck_block(ck, ast->body, &inner);
        if (ck->tail != NULL && inner != NULL) {
            *ck->tail = inner;
            while (*ck->tail != NULL) ck->tail = &(*ck->tail)->next;
        }
        return ends;
    }
    }
    return false;
}

/// The statements of a block in the current scope and level.
static bool check_stmts(zf_checker *ck, const zf_ast_block *block) {
    bool ends = false;
    for (const zf_ast_stmt *stmt = block->stmts; stmt != NULL && !ck->too_large; stmt = stmt->next) {
        if (zf_ck_too_deep(ck, stmt->span)) return ends;
        if (stmt->cut) { // it may have declared a name, returned, or neither: what follows is not to be blamed
            ck->failed = ck->env.dead = true;
            return true;
        }
        ck->depth++;
        if (check_stmt(ck, stmt)) {
            ends = true;
            ck->env.dead = true; // what follows is checked, but cannot run
        }
        ck->depth--;
    }
    return ends;
}

bool zf_ck_block(zf_checker *ck, const zf_ast_block *block, zf_stmt **out) {
    zf_stmt **tail = ck->tail;
    zf_bound *scope = ck->scope;
    *out = NULL;
    ck->tail = out;
    ck->level++;
    bool ends = check_stmts(ck, block);
    ck->level--;
    ck->scope = scope;
    ck->tail = tail;
    return ends;
}

// ---- Bodies ---------------------------------------------------------------------------------------------------

static zf_expr *body_value(zf_checker *ck, const zf_ast_expr *ast) {
    zf_frame *frame = ck->frame;
    if (frame->result_known && frame->result.kind != ZF_K_NONE) return zf_ck_value_as(ck, ast, frame->result);
    zf_expr *value = zf_ck_expr(ck, ast);
    if (value->type.kind == ZF_K_NONE && zf_untyped_of(value->type) == ZF_UNTYPED_NOT) { // fn f() = g(), g without a value
        if (!frame->result_known) frame->result_known = true, frame->result = zf_type_of(ZF_K_NONE);
        zf_ck_stmt(ck, ZF_S_EXPR, ast->span)->value = value;
        return NULL;
    }
    value = value->is_seq ? zf_ck_scalar(ck, ast) : zf_ck_settle(ck, value);
    frame->result = value->type;
    frame->result_known = true;
    return value;
}

/// Takes a `return` at the very end off the list: its value is the body's.
static zf_expr *take_last_return(zf_frame *frame, zf_stmt **stmts) {
    zf_stmt **last = stmts;
    while (*last != NULL && (*last)->next != NULL) last = &(*last)->next;
    if (*last == NULL || (*last)->kind != ZF_S_RETURN) return NULL;
    zf_expr *value = (*last)->value;
    *last = NULL;
    frame->returns--;
    return value;
}

zf_checked_body zf_ck_function_body(zf_checker *ck, const zf_ast_expr *value, const zf_ast_block *block, zf_span span) {
    zf_frame *frame = ck->frame;
    zf_checked_body body = {0};
    zf_stmt **tail = ck->tail;
    bool was_dead = ck->env.dead;
    uint32_t errors = ck->spec->diags.errors;
    ck->tail = &body.stmts;
    bool ends = false;
    frame->returned = (zf_env){.dead = true};
    if (value != NULL) {
        body.value = body_value(ck, value);
        if (body.value != NULL && !zf_is_poison(body.value)) {
            frame->result_range = body.value->range;
            frame->has_result_range = true;
        }
    } else if (block != NULL) {
        ends = check_stmts(ck, block);
        // Control goes on from every `return`, too.
        ck->env.dead = ck->env.dead || ends;
        ck->env = zf_facts_join(ck, frame->returned, ck->env);
        body.value = take_last_return(frame, &body.stmts);
    }
    ck->tail = tail;
    ck->env.dead = was_dead;
    if (!frame->result_known) frame->result = zf_type_of(ZF_K_NONE), frame->result_known = true;
    bool wants = frame->result.kind != ZF_K_NONE && frame->result.kind != ZF_K_ERROR;
    body.returns_inside = frame->returns > 0;
    bool never = ends && body.value == NULL && !body.returns_inside; // a loop without an end, say
    if (wants && value == NULL && (!ends || never) && !ck->too_large) {
        const char *text = never ? "`%s` never returns a value" : "`%s` may end without a value";
        // Another error may be the reason why it never returns: an error in the body, or a body that was cut off where it nests
        // too deeply.
        const zf_diag *first = zf_diags_first_error(&ck->spec->diags);
        bool why = ck->spec->diags.errors != errors || (first != NULL && first->code == ZF_D_TOO_DEEP);
        if (!never || !why) zf_ck_error(ck, ZF_D_NO_VALUE, span, text, frame->name);
        frame->result = zf_type_of(ZF_K_ERROR);
    }
    return body;
}

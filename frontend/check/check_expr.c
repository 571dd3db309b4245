// Expressions: literals, names, the dispatch over kinds, conditions. Operators, sequences and calls have files of their
// own.
#include <string.h>

#include "frontend/check/checker.h"

// ---- Names ----------------------------------------------------------------------------------------------------

zf_local *zf_ck_local(zf_checker *ck, zf_local_kind kind, const char *name, zf_span span, zf_type type) {
    zf_checked_local *made = ZF_NEW(ck->arena, zf_checked_local);
    made->local = (zf_local){.kind = kind,
                             .id = ck->local_count++,
                             .name = name,
                             .span = span,
                             .type = type,
                             .range = zf_range_all(type),
                             .next = ck->locals};
    made->frame = ck->frame;
    made->in_chunks = ck->in_chunks;
    made->conditional = ck->env.facts != ck->universal;
    ck->locals = &made->local;
    return &made->local;
}

zf_bound *zf_ck_enter(zf_checker *ck, zf_name name, zf_span span, zf_local *local, zf_expr *alias, bool writable) {
    zf_ck_declarable(ck, name, span);
    for (const zf_bound *other = ck->scope; other != NULL && other->level == ck->level; other = other->next) {
        if (other->name != name) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_DECLARED_TWICE, span, "`%s` is declared twice", name);
        zf_ck_remark(ck, diag, other->span, "first declared here");
        break;
    }
    zf_bound *bound = ZF_NEW(ck->arena, zf_bound);
    *bound = (zf_bound){.name = name,
                        .span = span,
                        .level = ck->level,
                        .local = local,
                        .alias = alias,
                        .writable = writable,
                        .count = ck->scope == NULL ? 1 : ck->scope->count + 1,
                        .next = ck->scope};
    if (bound->count > ZF_NAMES_LIMIT && !ck->too_large) {
        zf_ck_error(ck, ZF_D_TOO_LARGE, span, "more than %d names are visible here", ZF_NAMES_LIMIT);
        ck->too_large = true;
    }
    ck->scope = bound;
    return bound;
}

zf_bound *zf_ck_lookup(zf_checker *ck, zf_name name) {
    for (zf_bound *bound = ck->scope; bound != NULL; bound = bound->next) {
        if (bound->name == name) return bound;
    }
    return NULL;
}

zf_expr *zf_ck_use(zf_checker *ck, const zf_bound *bound, zf_span span) {
    const zf_local *used = bound->alias == NULL ? bound->local : bound->alias->kind == ZF_X_LOCAL ? bound->alias->local : NULL;
    if (ck->hoisting && used != NULL && !zf_ck_may_hoist(ck, used, span)) return zf_ck_poison(ck, span);
    if (bound->alias != NULL) {
        zf_expr *expr = zf_ck_node(ck, bound->alias->kind, bound->alias->type, span);
        zf_interval range =
            bound->alias->kind == ZF_X_LOCAL && !bound->alias->is_seq ? bound->alias->local->range : bound->alias->range;
        *expr = *bound->alias;
        expr->span = span;
        return zf_ck_finish(ck, expr, range);
    }
    zf_local *local = bound->local;
    if (local->type.kind == ZF_K_ERROR) return zf_ck_poison(ck, span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_LOCAL, local->type, span);
    expr->local = local;
    expr->is_seq = local->is_seq || local->kind == ZF_L_ARRAY || local->kind == ZF_L_GROWING;
    return zf_ck_finish(ck, expr, local->range);
}

static bool in_decode(const zf_checker *ck) {
    return ck->body == ZF_IN_ELEMENT || ck->body == ZF_IN_STATE || ck->body == ZF_IN_LANES || ck->body == ZF_IN_CHUNK;
}

static zf_expr *use_port(zf_checker *ck, zf_port *port, zf_span span) {
    if (port->is_param) {
        if (ck->body == ZF_IN_CONST && port->type.kind == ZF_K_NONE) { // a range that names a later param
            zf_ck_error(ck, ZF_D_UNKNOWN_NAME, span, "`%s` is declared after this", port->name);
            return zf_ck_poison(ck, span);
        }
        if (port->type.kind == ZF_K_ERROR) return zf_ck_poison(ck, span);
        zf_expr *expr = zf_ck_node(ck, ZF_X_PARAM, port->type, span);
        expr->port = port;
        // encode may have given it anything so far; the range is asked of the block it writes.
        bool open = ck->body == ZF_IN_ENCODE && port->given == NULL;
        return zf_ck_finish(ck, expr, open ? zf_range_all(port->type) : port->range);
    }
    if (ck->body == ZF_IN_CONST) {
        zf_ck_error(ck, ZF_D_NOT_CONSTANT, span, "`%s` is a stream: only params and constants may stand here", port->name);
        return zf_ck_poison(ck, span);
    }
    if (port->type.kind == ZF_K_ERROR) return zf_ck_poison(ck, span);
    if ((ck->body == ZF_IN_GROUPS || ck->body == ZF_IN_SIZE) && port->per_chunk) return zf_ck_poison(ck, span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_STREAM, port->type, span);
    expr->port = port;
    expr->is_seq = true;
    return expr;
}

zf_expr *zf_ck_domain(zf_checker *ck, zf_local **slot, zf_local_kind kind, const char *name, zf_int128 max, zf_span span) {
    if (*slot == NULL) {
        *slot = zf_ck_local(ck, kind, name, span, zf_type_of(ZF_K_U64));
        (*slot)->range = (zf_interval){0, max};
    }
    zf_bound bound = {.local = *slot};
    return zf_ck_use(ck, &bound, span);
}

/// Names that the algorithm itself brings: states, ports, out, chunk, lane. NULL: it is none of them.
static zf_expr *use_of_algorithm(zf_checker *ck, zf_name name, zf_span span) {
    zf_inst *inst = ck->inst;
    bool lanes = ck->body == ZF_IN_STATE || ck->body == ZF_IN_LANES;
    if (lanes) {
        for (uint32_t k = 0; k < inst->state_count; k++) {
            if (inst->states[k].name != name) continue;
            if (inst->states[k].type.kind == ZF_K_ERROR) return zf_ck_poison(ck, span);
            zf_expr *expr = zf_ck_node(ck, ZF_X_STATE, inst->states[k].type, span);
            expr->state = &inst->states[k];
            return zf_ck_finish(ck, expr, zf_range_all(expr->type));
        }
    }
    for (uint32_t k = 0; k < inst->port_count; k++) {
        if (inst->ports[k].name == name) return use_port(ck, &inst->ports[k], span);
    }
    if (strcmp(name, "out") == 0 && in_decode(ck)) {
        zf_expr *expr = zf_ck_node(ck, ZF_X_OUT, inst->result, span);
        expr->is_seq = true;
        return expr;
    }
    if (strcmp(name, "chunk") == 0 && in_decode(ck) && inst->pattern == ZF_NON_PARALLEL) {
        return zf_ck_domain(ck, &inst->chunk, ZF_L_CHUNK, "chunk", ZF_STREAM_LENGTH_MAX - 1, span);
    }
    if (strcmp(name, "lane") == 0 && lanes) {
        return zf_ck_domain(ck, &inst->lane, ZF_L_LANE, "lane", inst->lanes - 1, span);
    }
    return NULL;
}

static void report_unknown_name(zf_checker *ck, zf_name name, zf_span span) {
    ck->failed = true;
    const char *names[64];
    size_t count = 0, limit = sizeof names / sizeof *names;
    for (const zf_bound *bound = ck->scope; bound != NULL && count < limit; bound = bound->next) names[count++] = bound->name;
    bool own = ck->inst != NULL && ck->frame->local;
    for (uint32_t k = 0; own && k < ck->inst->port_count && count < limit; k++) names[count++] = ck->inst->ports[k].name;
    const char *nearest = zf_nearest_name(name, names, count);
    if (nearest == NULL && ck->frame->module != NULL) {
        zf_report_unknown(ck->spec, ck->frame->module, name, span, ZF_AD_CONST, "name");
        return;
    }
    zf_diag *diag = zf_ck_error(ck, ZF_D_UNKNOWN_NAME, span, "unknown name `%s`", name);
    if (nearest != NULL) zf_ck_hint(ck, diag, "did you mean `%s`?", nearest);
}

zf_expr *zf_ck_name(zf_checker *ck, const zf_ast_expr *ast) {
    const zf_bound *bound = zf_ck_lookup(ck, ast->name);
    if (bound != NULL) {
        zf_expr *use = zf_ck_use(ck, bound, ast->span);
        bool counts = ck->query != NULL && ck->frame->local && bound->local != NULL && bound->local->kind == ZF_L_BINDER;
        return counts ? zf_ck_cast(ck, use, zf_type_of(ZF_K_I64), ast->span) : use;
    }
    if (ck->inst != NULL && ck->frame->local) {
        zf_expr *expr =
            ck->query != NULL ? zf_ck_query_name(ck, ast->name, ast->span) : use_of_algorithm(ck, ast->name, ast->span);
        if (expr != NULL) return expr;
    }
    zf_symbol *symbol = ck->frame->module == NULL ? NULL : zf_find_symbol(ck->spec, ck->frame->module, ast->name);
    if (symbol != NULL && symbol->decl->kind == ZF_AD_CONST) return zf_ck_constant_use(ck, symbol, ast->span);
    if (symbol != NULL) {
        static const char *const kinds[] = {[ZF_AD_FUNC] = "a function",
                                            [ZF_AD_ALGORITHM] = "an algorithm",
                                            [ZF_AD_CODEC] = "a codec",
                                            [ZF_AD_TABLE] = "a table",
                                            [ZF_AD_QUERY] = "a query"};
        zf_diag *diag =
            zf_ck_error(ck, ZF_D_NOT_THAT_KIND, ast->span, "`%s` is %s, no value", ast->name, kinds[symbol->decl->kind]);
        zf_ck_remark(ck, diag, symbol->decl->name_span, "declared here");
        if (symbol->decl->kind == ZF_AD_FUNC) zf_ck_hint(ck, diag, "call it: `%s(...)`", ast->name);
        return zf_ck_poison(ck, ast->span);
    }
    const zf_ast_generic *generic = ck->frame->local ? ck->generics : NULL;
    while (generic != NULL && generic->name != ast->name) generic = generic->next;
    if (generic != NULL || zf_name_is_reserved(ast->name)) {
        zf_ck_error(ck, ZF_D_NOT_THAT_KIND, ast->span, "`%s` is the name of %s, no value", ast->name,
                    generic != NULL || zf_name_is_type(ast->name) ? "a type" : "a primitive");
        return zf_ck_poison(ck, ast->span);
    }
    static const struct {
        const char *name, *where;
    } places[] = {
        {"out", "decode"}, {"chunk", "decode of a non_parallel algorithm"}, {"lane", "a non_parallel algorithm with lanes"}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        if (strcmp(places[k].name, ast->name) != 0) continue;
        zf_ck_error(ck, ZF_D_WRONG_PLACE, ast->span, "`%s` is known in %s only", ast->name, places[k].where);
        return zf_ck_poison(ck, ast->span);
    }
    report_unknown_name(ck, ast->name, ast->span);
    return zf_ck_poison(ck, ast->span);
}

// ---- Kinds ----------------------------------------------------------------------------------------------------

static zf_expr *check_cond(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *condition = zf_ck_condition(ck, ast->a);
    zf_env before = ck->env;
    zf_facts_assume(ck, condition, true);
    zf_expr *b = zf_ck_scalar(ck, ast->b);
    zf_env after_b = ck->env;
    bool dead_b = after_b.dead && !before.dead;
    ck->env = before;
    zf_facts_assume(ck, condition, false);
    zf_expr *c = zf_ck_scalar(ck, ast->c);
    bool dead_c = ck->env.dead && !before.dead;
    zf_env joined = zf_facts_join(ck, after_b, ck->env);
    ck->env = joined.dead ? (zf_env){.facts = joined.facts, .dead = before.dead} : joined;
    if (zf_is_poison(condition) || zf_is_poison(b) || zf_is_poison(c)) return zf_ck_poison(ck, ast->span);

    zf_untyped sort_b = zf_untyped_of(b->type), sort_c = zf_untyped_of(c->type);
    bool untyped =
        (sort_b == ZF_UNTYPED_INT || sort_b == ZF_UNTYPED_CHAR) && (sort_c == ZF_UNTYPED_INT || sort_c == ZF_UNTYPED_CHAR);
    if (!untyped && !zf_ck_common(ck, &b, &c, ast->span)) return zf_ck_poison(ck, ast->span);
    zf_expr *expr = zf_ck_node(ck, ZF_X_COND, untyped && sort_b != sort_c ? zf_untyped_type(ZF_UNTYPED_INT) : b->type, ast->span);
    expr->a = condition;
    expr->b = b;
    expr->c = c;
    expr->effect = condition->effect || b->effect || c->effect;
    zf_interval range = dead_b ? c->range : dead_c ? b->range : zf_interval_hull(b->range, c->range);
    return untyped ? (expr->range = range, expr) : zf_ck_finish(ck, expr, range);
}

static zf_expr *check_kind(zf_checker *ck, const zf_ast_expr *ast) {
    switch (ast->kind) {
    case ZF_AE_NAME: return zf_ck_name(ck, ast);
    case ZF_AE_INT: return zf_ck_literal(ck, (zf_int128)ast->integer, ast->span);
    case ZF_AE_CHAR: {
        zf_expr *expr = zf_ck_literal(ck, (zf_int128)ast->integer, ast->span);
        expr->type = zf_untyped_type(ZF_UNTYPED_CHAR);
        return expr;
    }
    case ZF_AE_FLOAT: {
        zf_expr *expr = zf_ck_node(ck, ZF_X_CONST, zf_untyped_type(ZF_UNTYPED_FLOAT), ast->span);
        memcpy(&expr->bits, &ast->real, sizeof expr->bits);
        return expr;
    }
    case ZF_AE_TRUE: return zf_ck_bool(ck, true, ast->span);
    case ZF_AE_FALSE: return zf_ck_bool(ck, false, ast->span);
    case ZF_AE_NULL: return zf_ck_node(ck, ZF_X_NULL, zf_untyped_type(ZF_UNTYPED_NULL), ast->span);
    case ZF_AE_TEXT: return zf_ck_text(ck, ast);
    case ZF_AE_PAREN: return zf_ck_expr(ck, ast->a);
    case ZF_AE_MEMBER: return zf_ck_member(ck, ast);
    case ZF_AE_INDEX: return zf_ck_index_expr(ck, ast);
    case ZF_AE_SLICE: return zf_ck_slice_expr(ck, ast);
    case ZF_AE_CALL: return zf_ck_call(ck, ast, false);
    case ZF_AE_REDUCE: return zf_ck_reduce(ck, ast);
    case ZF_AE_UNARY: return zf_ck_unary(ck, ast->op, zf_ck_scalar(ck, ast->a), ast->span);
    case ZF_AE_BINARY: {
        zf_expr *a = zf_ck_scalar(ck, ast->a);
        if (ast->op != ZF_OP_ANDAND && ast->op != ZF_OP_OROR)
            return zf_ck_binary(ck, ast->op, a, zf_ck_scalar(ck, ast->b), ast->span);
        // The right side runs only when the left side left it open.
        zf_env before = ck->env;
        zf_facts_assume(ck, a, ast->op == ZF_OP_ANDAND);
        zf_expr *b = zf_ck_scalar(ck, ast->b);
        zf_env after = ck->env;
        ck->env = before;
        zf_facts_assume(ck, a, ast->op == ZF_OP_OROR);
        ck->env = zf_facts_join(ck, after, ck->env);
        ck->env.dead = before.dead;
        return zf_ck_binary(ck, ast->op, a, b, ast->span);
    }
    case ZF_AE_COND: return check_cond(ck, ast);
    case ZF_AE_CAST: {
        zf_expr *value = zf_ck_scalar(ck, ast->a);
        zf_type type = zf_ck_type(ck, ast->type);
        bool lifts = ck->query != NULL && !zf_is_poison(value) && !value->is_seq && type.kind != ZF_K_ERROR;
        return lifts ? zf_ck_lift_cast(ck, value, type, ast->span) : zf_ck_cast(ck, value, type, ast->span);
    }
    }
    return zf_ck_poison(ck, ast->span);
}

bool zf_ck_too_deep(zf_checker *ck, zf_span span) {
    if (ck->depth < ZF_TREE_DEPTH_LIMIT) return false;
    if (ck->body == ZF_IN_FUNCTION) {
        ck->too_large = true; // the callers report it
        return true;
    }
    zf_ck_error(ck, ZF_D_TOO_DEEP, span, "the body nests deeper than %d levels once functions are inlined", ZF_TREE_DEPTH_LIMIT);
    ck->too_large = true;
    return true;
}

zf_expr *zf_ck_expr(zf_checker *ck, const zf_ast_expr *ast) {
    if (ck->too_large) return zf_ck_poison(ck, ast->span);
    if (zf_ck_too_deep(ck, ast->span)) return zf_ck_poison(ck, ast->span);
    if (ast->cut) {
        ck->failed = true;
        return zf_ck_poison(ck, ast->span);
    }
    ck->depth++;
    zf_expr *expr = check_kind(ck, ast);
    ck->depth--;
    return expr;
}

zf_expr *zf_ck_refuse_sequence(zf_checker *ck, const zf_expr *seq, const char *hint) {
    zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, seq->span, "this is a sequence (%s), and a value is expected",
                                zf_ck_type_name(ck, seq));
    const char *name = zf_sequence_name(seq);
    if (hint != NULL)
        zf_ck_hint(ck, diag, "%s", hint);
    else if (name != NULL)
        zf_ck_hint(ck, diag, "`%s[k]` is its element k, `%s.len` the number of its elements", name, name);
    else
        zf_ck_hint(ck, diag, "index it for one element; `.len` is the number of its elements");
    return zf_ck_poison(ck, seq->span);
}

zf_expr *zf_ck_to_scalar(zf_checker *ck, zf_expr *expr) {
    if (zf_is_poison(expr)) return expr;
    if (expr->is_seq) return zf_ck_refuse_sequence(ck, expr, NULL);
    if (expr->type.kind == ZF_K_NONE && zf_untyped_of(expr->type) == ZF_UNTYPED_NOT) {
        zf_ck_error(ck, ZF_D_NO_VALUE, expr->span, "this has no value");
        return zf_ck_poison(ck, expr->span);
    }
    return expr;
}

zf_expr *zf_ck_scalar(zf_checker *ck, const zf_ast_expr *ast) { return zf_ck_to_scalar(ck, zf_ck_expr(ck, ast)); }

zf_expr *zf_ck_value(zf_checker *ck, const zf_ast_expr *ast) { return zf_ck_settle(ck, zf_ck_scalar(ck, ast)); }

zf_expr *zf_ck_value_as(zf_checker *ck, const zf_ast_expr *ast, zf_type type) {
    zf_expr *expr = zf_ck_expr(ck, ast);
    if (zf_is_poison(expr)) return expr;
    return zf_ck_convert(ck, expr, type);
}

zf_expr *zf_ck_condition(zf_checker *ck, const zf_ast_expr *ast) {
    return zf_ck_convert(ck, zf_ck_truth(ck, zf_ck_scalar(ck, ast)), zf_type_of(ZF_K_BOOL));
}

zf_expr *zf_ck_sequence(zf_checker *ck, const zf_ast_expr *ast) {
    zf_expr *expr = zf_ck_expr(ck, ast);
    if (zf_is_poison(expr) || zf_is_sequence(expr)) return expr;
    zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_OPERAND, ast->span, "a stream, array or string is wanted here, not %s",
                                zf_ck_type_name(ck, expr));
    if (expr->type.nullable) zf_ck_hint(ck, diag, "compare with null first, then take `.value`");
    return zf_ck_poison(ck, ast->span);
}

// Queries: their members, and what a name means in one. Statements that change results are in check_query_result.c.
#include <string.h>

#include "frontend/check/checker.h"

static const char *const kind_names[ZF_Q_KINDS] = {"sum", "min", "max", "xor", "any", "all", "set", "mask", "select"};

const char *zf_result_kind_name(zf_result_kind kind) { return kind_names[kind]; }

// ---- Names ----------------------------------------------------------------------------------------------------

static const zf_column *column_named(const zf_table *table, zf_name name) {
    const zf_column *column = table == NULL ? NULL : table->columns; // pairs have no columns
    while (column != NULL && strcmp(column->name, name) != 0) column = column->next;
    return column;
}

static zf_port *port_named(const zf_inst *inst, zf_name name) {
    for (uint32_t k = 0; k < inst->port_count; k++) {
        if (inst->ports[k].name == name) return &inst->ports[k];
    }
    return NULL;
}

static zf_port *add_port(zf_checker *ck, zf_name name, zf_span span, zf_type type, bool is_param) {
    zf_inst *inst = ck->inst;
    zf_port *port = &inst->ports[inst->port_count];
    *port = (zf_port){.index = inst->port_count++,
                      .slot = is_param ? inst->param_count : inst->stream_count,
                      .name = name,
                      .span = span,
                      .is_param = is_param,
                      .type = type,
                      .range = zf_range_all(type)};
    if (is_param)
        inst->params[inst->param_count++] = port;
    else
        inst->streams[inst->stream_count++] = port;
    return port;
}

zf_expr *zf_ck_widen(zf_checker *ck, zf_expr *expr) {
    zf_kind kind = expr->type.kind;
    if (ck->query == NULL || zf_is_poison(expr) || expr->is_seq) return expr;
    bool integer = zf_kind_is_integer(kind);
    zf_type wide = zf_type_of(!integer ? ZF_K_F64 : kind == ZF_K_U64 ? ZF_K_U64 : ZF_K_I64);
    if (!integer && !zf_kind_is_float(kind)) return expr;
    return zf_ck_lift_cast(ck, expr, wide, expr->span);
}

// The value of a column in the row.
static zf_expr *column_value(zf_checker *ck, const zf_column *column, zf_name name, zf_span span) {
    if (ck->body == ZF_IN_CONST) {
        zf_ck_error(ck, ZF_D_NOT_CONSTANT, span, "`%s` is a column: only params and constants may stand here", name);
        return zf_ck_poison(ck, span);
    }
    if (column->part != ZF_LIST_NONE) {
        zf_ck_error(ck, ZF_D_BAD_TYPE, span, "`%s` is a column of lists, which a query cannot read", name);
        return zf_ck_poison(ck, span);
    }
    zf_port *port = port_named(ck->inst, name);
    if (port == NULL) {
        port = add_port(ck, name, span, zf_type_strip(column->type), false);
        port->access = ZF_ACCESS_ALIGNED_I;
        ck->query->columns[ck->query->column_count++] = column;
    }
    zf_expr *stream = zf_ck_node(ck, ZF_X_STREAM, port->type, span);
    stream->port = port;
    stream->is_seq = true;
    zf_expr *value = zf_ck_node(ck, ZF_X_INDEX, port->type, span);
    value->a = stream;
    value->b = zf_ck_domain(ck, &ck->inst->domain_i, ZF_L_DOMAIN_I, "i", ZF_STREAM_LENGTH_MAX - 1, span);
    value->proved = true;
    return zf_ck_widen(ck, zf_ck_finish(ck, value, port->range));
}

zf_expr *zf_ck_query_name(zf_checker *ck, zf_name name, zf_span span) {
    const zf_query *query = ck->query;
    for (uint32_t k = 0; k < query->result_count; k++) {
        if (query->results[k].name != name) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_RESULT_READ, span, "`%s` is a result, and no row reads it", name);
        zf_ck_remark(ck, diag, query->results[k].span, "declared here");
        return zf_ck_poison(ck, span);
    }
    const zf_column *column = column_named(query->table, name);
    if (column != NULL) return column_value(ck, column, name, span);
    zf_port *port = port_named(ck->inst, name);
    if (port != NULL && port->type.kind == ZF_K_ERROR) return zf_ck_poison(ck, span);
    if (port != NULL) {
        if (!port->is_param && ck->body == ZF_IN_CONST) {
            zf_ck_error(ck, ZF_D_NOT_CONSTANT, span, "`%s` is an input: only params and constants may stand here", name);
            return zf_ck_poison(ck, span);
        }
        zf_expr *expr = zf_ck_node(ck, port->is_param ? ZF_X_PARAM : ZF_X_STREAM, port->type, span);
        expr->port = port;
        expr->is_seq = !port->is_param;
        return port->is_param ? zf_ck_widen(ck, zf_ck_finish(ck, expr, port->range)) : expr;
    }
    if (strcmp(name, "row") != 0 || ck->body == ZF_IN_CONST || query->table == NULL) return NULL;
    return zf_ck_cast(ck, zf_ck_domain(ck, &ck->query->row, ZF_L_ROW, "row", INT64_MAX, span), zf_type_of(ZF_K_I64), span);
}

zf_expr *zf_ck_text(zf_checker *ck, const zf_ast_expr *ast) {
    if (ck->query == NULL) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_UNEXPECTED_TOKEN, ast->span, "a text is no value here");
        zf_ck_hint(ck, diag, "compare a string's length and bytes, as in `s.len == 2 && s[0] == 'n'`");
        return zf_ck_poison(ck, ast->span);
    }
    size_t length = strlen(ast->text);
    uint64_t *bits = ZF_NEW_ARRAY(ck->arena, uint64_t, length + 1);
    for (size_t k = 0; k < length; k++) bits[k] = (unsigned char)ast->text[k];
    zf_table_const *table = ZF_NEW(ck->arena, zf_table_const);
    *table = (zf_table_const){
        .name = "text", .type = zf_type_of(ZF_K_U8), .length = length, .bits = bits, .range = zf_interval_of_kind(ZF_K_U8)};
    zf_expr *bytes = zf_ck_node(ck, ZF_X_TABLE, table->type, ast->span);
    bytes->table = table;
    bytes->is_seq = true;
    return zf_ck_convert(ck, bytes, zf_type_of(ZF_K_STRING));
}

// ---- Members --------------------------------------------------------------------------------------------------

static zf_span name_span(const zf_ast_query_member *member) {
    return member->kind == ZF_AQ_FUNC ? member->func->name_span : member->name_span;
}

static zf_name name_of(const zf_ast_query_member *member) {
    return member->kind == ZF_AQ_FUNC ? member->func->name : member->name;
}

static void check_name(zf_checker *ck, const zf_ast_query_member *member) {
    zf_name name = name_of(member);
    zf_ck_declarable(ck, name, name_span(member));
    for (const zf_ast_query_member *other = ck->query_ast->members; other != member; other = other->next) {
        if (name_of(other) != name) continue;
        zf_diag *diag = zf_ck_error(ck, ZF_D_DECLARED_TWICE, name_span(member), "`%s` is declared twice", name);
        zf_ck_remark(ck, diag, name_span(other), "first declared here");
        return;
    }
    const zf_column *column = member->kind == ZF_AQ_FUNC ? NULL : column_named(ck->query->table, name);
    if (column == NULL) return;
    zf_diag *diag =
        zf_ck_error(ck, ZF_D_DECLARED_TWICE, member->name_span, "`%s` is a column of `%s`", name, ck->query->table->name);
    zf_ck_remark(ck, diag, column->span, "declared here");
}

static bool is_number(zf_type type) { return !type.nullable && (zf_kind_is_integer(type.kind) || zf_kind_is_float(type.kind)); }

static zf_type refuse_type(zf_checker *ck, const zf_ast_type *ast, const char *what, zf_type type) {
    if (type.kind != ZF_K_ERROR) zf_ck_error(ck, ZF_D_BAD_TYPE, ast->span, "%s, not %s", what, zf_type_name(ck->arena, type));
    return zf_type_of(ZF_K_ERROR);
}

static bool is_plain(zf_type type) { return is_number(type) || (type.kind == ZF_K_BOOL && !type.nullable); }

static void check_param(zf_checker *ck, const zf_ast_query_member *member) {
    bool array = member->type->kind == ZF_AT_ARRAY;
    zf_type type = zf_ck_type(ck, array ? member->type->element : member->type);
    if (array) {
        zf_ck_hint(ck, zf_ck_error(ck, ZF_D_BAD_TYPE, member->type->span, "a param is one value"), "an array is an `input`");
        type = zf_type_of(ZF_K_ERROR);
    } else if (!is_plain(type)) {
        type = refuse_type(ck, member->type, "a param is a number or bool", type);
    }
    zf_port *port = add_port(ck, member->name, member->name_span, zf_type_strip(type), true);
    if (member->value == NULL || type.kind == ZF_K_ERROR) return;
    zf_expr *value = zf_ck_value_as(ck, member->value, port->type);
    uint64_t bits;
    if (!zf_ck_constant_value(ck, value, &bits)) return;
    port->given = zf_ck_node(ck, ZF_X_CONST, port->type, member->value->span);
    port->given->bits = bits;
    if (zf_kind_is_integer(port->type.kind)) port->given->range = zf_interval_const(zf_value_of_bits(port->type.kind, bits));
}

static void check_input(zf_checker *ck, const zf_ast_query_member *member) {
    zf_type type = zf_type_of(ZF_K_ERROR);
    if (member->type->kind != ZF_AT_ARRAY || member->type->length != NULL) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_BAD_TYPE, member->type->span, "an input is an array, written `E[]`");
        if (member->type->kind != ZF_AT_ARRAY) zf_ck_hint(ck, diag, "one value is a `param`");
    } else {
        type = zf_ck_type(ck, member->type->element);
        if (!is_plain(type)) type = refuse_type(ck, member->type, "an input has numbers or bools", type);
    }
    add_port(ck, member->name, member->name_span, zf_type_strip(type), false)->access = ZF_ACCESS_GATHER;
    ck->query->input_count++;
}

static bool may_have(zf_result_kind kind, zf_type type) {
    bool wide = type.kind == ZF_K_I64 || type.kind == ZF_K_U64;
    switch (kind) {
    case ZF_Q_SUM:
    case ZF_Q_MIN:
    case ZF_Q_MAX: return !type.nullable && (wide || type.kind == ZF_K_F64);
    case ZF_Q_XOR: return !type.nullable && wide;
    case ZF_Q_ANY:
    case ZF_Q_ALL:
    case ZF_Q_MASK: return !type.nullable && type.kind == ZF_K_BOOL;
    default: return is_plain(type);
    }
}

static const char *types_of(zf_result_kind kind) {
    switch (kind) {
    case ZF_Q_SUM:
    case ZF_Q_MIN:
    case ZF_Q_MAX: return "i64, u64 or f64";
    case ZF_Q_XOR: return "i64 or u64";
    case ZF_Q_ANY:
    case ZF_Q_ALL:
    case ZF_Q_MASK: return "bool";
    default: return "a number or bool";
    }
}

static bool find_kind(zf_checker *ck, const zf_ast_query_member *member, zf_result_kind *kind) {
    for (int k = 0; k < ZF_Q_KINDS; k++) {
        if (strcmp(kind_names[k], member->word) != 0) continue;
        *kind = (zf_result_kind)k;
        return true;
    }
    zf_diag *diag = zf_ck_error(ck, ZF_D_RESULT_KIND, member->word_span, "there is no kind of results called `%s`", member->word);
    const char *nearest = zf_nearest_name(member->word, kind_names, ZF_Q_KINDS);
    if (nearest != NULL)
        zf_ck_hint(ck, diag, "did you mean `%s`?", nearest);
    else
        zf_ck_hint(ck, diag, "kinds are sum, min, max, xor, any, all, set, mask and select; a count is a sum of 1");
    return false;
}

static void check_lengths(zf_checker *ck, zf_query_result *result, const zf_ast_type *type) {
    for (zf_ast_expr *length = type->length; length != NULL; length = length->next) {
        if (result->dimensions == ZF_QUERY_DIMENSIONS) {
            zf_ck_error(ck, ZF_D_TOO_LARGE, length->span, "an array of results has at most %d dimensions", ZF_QUERY_DIMENSIONS);
            return;
        }
        zf_expr *written = zf_ck_index(ck, zf_ck_scalar(ck, length));
        if (!zf_is_poison(written) && zf_interval_is_const(written->range) && written->range.lo == 0)
            zf_ck_error(ck, ZF_D_EMPTY_RANGE, length->span, "an array of results has at least one element");
        result->lengths[result->dimensions++] = written;
    }
}

static void check_result(zf_checker *ck, const zf_ast_query_member *member) {
    zf_query *query = ck->query;
    zf_query_result *result = &query->results[query->result_count];
    bool array = member->type->kind == ZF_AT_ARRAY;
    *result = (zf_query_result){.index = query->result_count++, .name = member->name, .span = member->name_span};
    result->type = zf_type_strip(zf_ck_type(ck, array ? member->type->element : member->type));
    if (!find_kind(ck, member, &result->kind) || result->type.kind == ZF_K_ERROR) {
        result->type = zf_type_of(ZF_K_ERROR);
        return;
    }
    const char *word = kind_names[result->kind];
    if (array && member->type->length == NULL)
        zf_ck_error(ck, ZF_D_RESULT_KIND, member->type->span, "an array of results has a length: `E[n]`");
    else if (array && (result->kind == ZF_Q_MASK || result->kind == ZF_Q_SELECT))
        zf_ck_error(ck, ZF_D_RESULT_KIND, member->type->span, "the length of a result of kind `%s` follows from the rows", word);
    else if (!array && result->kind == ZF_Q_SET)
        zf_ck_error(ck, ZF_D_RESULT_KIND, member->type->span, "a result of kind `set` is an array: `E[n]`");
    else if (array)
        check_lengths(ck, result, member->type);
    if (!may_have(result->kind, result->type)) {
        zf_ck_error(ck, ZF_D_RESULT_KIND, member->type->span, "a result of kind `%s` is %s, not %s", word, types_of(result->kind),
                    zf_type_name(ck->arena, result->type));
        result->type = zf_type_of(ZF_K_ERROR);
    }
    if (result->kind == ZF_Q_SELECT) result->column = query->selected_count++;
}

static void check_each(zf_checker *ck, const zf_ast_query_member *each) {
    zf_ck_pairs(ck, each);
    ck->body = ZF_IN_ELEMENT;
    ck->universal = ck->env.facts;
    zf_checked_body body = zf_ck_function_body(ck, NULL, each->body, each->span);
    ck->inst->decode = (zf_body){.present = true,
                                 .stmts = body.stmts,
                                 .returns_inside = body.returns_inside,
                                 .locals = ck->locals,
                                 .local_count = ck->local_count};
}

// Ports and results of all members; their one `each`. NULL: there is none, or there are two.
static const zf_ast_query_member *check_members(zf_checker *ck) {
    const zf_ast_query_member *each = NULL;
    for (const zf_ast_query_member *member = ck->query_ast->members; member != NULL; member = member->next) {
        if (member->kind != ZF_AQ_EACH) check_name(ck, member);
        if (member->kind == ZF_AQ_PARAM) check_param(ck, member);
    }
    for (const zf_ast_query_member *member = ck->query_ast->members; member != NULL; member = member->next) {
        if (member->kind == ZF_AQ_INPUT) check_input(ck, member);
        if (member->kind == ZF_AQ_RESULT) {
            check_result(ck, member);
            zf_ck_result_of_pairs(ck, member->type->span);
        }
        if (member->kind != ZF_AQ_EACH) continue;
        if (each == NULL) {
            each = member;
            continue;
        }
        zf_diag *diag = zf_ck_error(ck, ZF_D_QUERY_MEMBER, member->name_span, "a query has one `each`");
        zf_ck_remark(ck, diag, each->name_span, "the first");
    }
    if (each == NULL && !ck->query_ast->member_lost) {
        zf_diag *diag = zf_ck_error(ck, ZF_D_QUERY_MEMBER, ck->query->span, "`%s` has no `each`", ck->query->name);
        zf_ck_hint(ck, diag, "write `each { ... }`: the statements for a row");
    }
    if (ck->query->result_count == 0 && !ck->query_ast->member_lost)
        zf_ck_error(ck, ZF_D_QUERY_MEMBER, ck->query->span, "`%s` has no result", ck->query->name);
    return each;
}

static void warn_of_unused(zf_spec *spec, const zf_ast_query *ast) {
    for (const zf_ast_query_member *member = ast->members; member != NULL; member = member->next) {
        if (member->kind == ZF_AQ_FUNC) zf_warn_unused(spec, member->func);
    }
}

// A table lacks columns that have errors.
static bool is_whole(const zf_table *table, const zf_ast_decl *decl) {
    const zf_ast_column *column = decl->columns;
    while (column != NULL && column_named(table, column->name) != NULL) column = column->next;
    return column == NULL;
}

// False: it has errors, which are reported. NULL for a query of pairs: a table of this name goes first.
static bool find_table(zf_spec *spec, const zf_symbol *symbol, const zf_table **out) {
    const zf_ast_query *ast = symbol->decl->query;
    const zf_symbol *table = zf_find_symbol(spec, symbol->module, ast->table);
    *out = NULL;
    if (table == NULL && strcmp(ast->table, "pairs") == 0) return true;
    if (table == NULL) {
        zf_report_unknown(spec, symbol->module, ast->table, ast->table_span, ZF_AD_TABLE, "table");
        return false;
    }
    if (table->decl->kind != ZF_AD_TABLE) {
        zf_diag *diag = zf_diag_error(&spec->diags, ZF_D_NOT_THAT_KIND, ast->table_span, "`%s` is not a table", ast->table);
        zf_diag_remark(&spec->diags, diag, table->decl->name_span, "declared here");
        return false;
    }
    if (table->resolved == NULL) zf_check_table(spec, (zf_symbol *)(uintptr_t)table); // one of an import
    *out = table->resolved;
    return *out != NULL && is_whole(*out, table->decl);
}

void zf_check_query(zf_spec *spec, zf_symbol *symbol) {
    const zf_ast_decl *decl = symbol->decl;
    const zf_table *table;
    if (!find_table(spec, symbol, &table)) return;
    uint32_t members = 0, columns = table == NULL ? 0 : table->column_count;
    for (const zf_ast_query_member *member = decl->query->members; member != NULL; member = member->next) members++;
    zf_query *query = ZF_NEW(spec->arena, zf_query);
    zf_inst *inst = ZF_NEW(spec->arena, zf_inst);
    *query = (zf_query){.name = decl->name, .span = decl->name_span, .table = table, .inst = inst};
    query->results = ZF_NEW_ARRAY(spec->arena, zf_query_result, members + 1);
    query->columns = ZF_NEW_ARRAY(spec->arena, const zf_column *, columns + 1);
    inst->name = decl->name;
    inst->pattern = ZF_FULLY_PARALLEL;
    inst->ports = ZF_NEW_ARRAY(spec->arena, zf_port, members + columns + 1);
    inst->streams = ZF_NEW_ARRAY(spec->arena, zf_port *, members + columns + 1);
    inst->params = ZF_NEW_ARRAY(spec->arena, zf_port *, members + 1);
    zf_checker ck = zf_checker_make(spec, symbol->module);
    zf_frame frame = {
        .name = decl->name, .module = symbol->module, .local = true, .result_known = true, .result = zf_type_of(ZF_K_NONE)};
    ck.inst = inst;
    ck.query = query;
    ck.query_ast = decl->query;
    ck.frame = &frame;
    ck.body = ZF_IN_CONST;
    const zf_ast_query_member *each = check_members(&ck);
    if (each != NULL) check_each(&ck, each);
    if (each != NULL && !ck.failed) warn_of_unused(spec, decl->query);
    symbol->resolved = query;
    if (each == NULL || ck.failed || ck.too_large) return;
    zf_inst_fault found = {0};
    bool sound = zf_query_verify(query, &found);
    if (!sound) {
        zf_diag_error(&spec->diags, ZF_D_INTERNAL, found.place.source != NULL ? found.place : query->span,
                      "a fault of the compiler: %s", found.reason.data == NULL ? "?" : found.reason.data);
    }
    zf_text_free(&found.reason);
    if (!sound) return;
    if (spec->queries_end == NULL) spec->queries_end = &spec->queries;
    *spec->queries_end = query;
    spec->queries_end = &query->next;
}

// `zfc --emit=ast`: the tree, one node a line, indented by depth.
#include "frontend/spec/spec_internal.h"
#include "frontend/syntax/format_tree.h"

typedef struct printer {
    zf_text *out;
    unsigned depth;
} printer;

// Starts the line of a node.
static void begin(printer *p, const char *label) {
    for (unsigned i = 0; i < p->depth; i++) zf_text_puts(p->out, "  ");
    zf_text_puts(p->out, label);
}

static void end(printer *p) { zf_text_puts(p->out, "\n"); }

static void add_name(printer *p, const char *name) {
    zf_text_puts(p->out, " ");
    zf_text_puts(p->out, name ? name : "-");
}

static void leaf(printer *p, const char *label, const char *name) {
    begin(p, label);
    if (name) add_name(p, name);
    end(p);
}

static void add_string(printer *p, const char *string) {
    zf_text_puts(p->out, " ");
    zf_text_json(p->out, string);
}

static void print_expr(printer *p, const char *role, const zf_ast_expr *expr);

// ---- Types ----------------------------------------------------------------------------------------------------

// A type is short: it stands on one line, its lengths as trees below it.
static void add_type(printer *p, const zf_ast_type *type) {
    switch (type->kind) {
    case ZF_AT_NAME:
        if (type->name)
            zf_text_puts(p->out, type->name);
        else
            zf_text_printf(p->out, "%llu", (unsigned long long)type->number);
        break;
    case ZF_AT_APPLY:
        zf_text_printf(p->out, "%s(", type->name);
        for (const zf_ast_type *arg = type->args; arg; arg = arg->next) {
            if (arg != type->args) zf_text_puts(p->out, ", ");
            add_type(p, arg);
        }
        zf_text_puts(p->out, ")");
        break;
    case ZF_AT_OPTION:
        add_type(p, type->element);
        zf_text_puts(p->out, "?");
        break;
    case ZF_AT_LIST:
        zf_text_printf(p->out, "%s<", type->name);
        add_type(p, type->element);
        zf_text_puts(p->out, ">");
        break;
    case ZF_AT_ARRAY:
        add_type(p, type->element);
        zf_text_puts(p->out, type->length ? "[..]" : "[]");
        break;
    }
}

static void print_lengths(printer *p, const zf_ast_type *type) {
    if (type->element) print_lengths(p, type->element);
    for (const zf_ast_type *arg = type->args; arg; arg = arg->next) print_lengths(p, arg);
    for (const zf_ast_expr *length = type->length; length; length = length->next) print_expr(p, "length", length);
}

static void print_type(printer *p, const char *role, const zf_ast_type *type) {
    if (!type) return;
    begin(p, role);
    zf_text_puts(p->out, " ");
    add_type(p, type);
    end(p);
    p->depth++;
    print_lengths(p, type);
    p->depth--;
}

// ---- Expressions ----------------------------------------------------------------------------------------------

static void print_range(printer *p, const char *role, const zf_ast_range *range) {
    if (!range) return;
    leaf(p, role, range->inclusive ? "..=" : "..");
    p->depth++;
    if (range->lo) print_expr(p, "from", range->lo);
    if (range->hi) print_expr(p, "to", range->hi);
    p->depth--;
}

static void print_binders(printer *p, const zf_ast_binder *binders) {
    for (const zf_ast_binder *binder = binders; binder; binder = binder->next) {
        leaf(p, "binder", binder->name);
        p->depth++;
        print_range(p, "range", &binder->range);
        p->depth--;
    }
}

static const char *const expr_names[] = {
    [ZF_AE_NAME] = "name",     [ZF_AE_INT] = "int",     [ZF_AE_FLOAT] = "float",   [ZF_AE_CHAR] = "byte",
    [ZF_AE_TRUE] = "true",     [ZF_AE_FALSE] = "false", [ZF_AE_NULL] = "null",     [ZF_AE_PAREN] = "paren",
    [ZF_AE_MEMBER] = "member", [ZF_AE_INDEX] = "index", [ZF_AE_SLICE] = "slice",   [ZF_AE_CALL] = "call",
    [ZF_AE_REDUCE] = "reduce", [ZF_AE_UNARY] = "unary", [ZF_AE_BINARY] = "binary", [ZF_AE_COND] = "choice",
    [ZF_AE_CAST] = "cast",     [ZF_AE_TEXT] = "text",
};

static void print_expr(printer *p, const char *role, const zf_ast_expr *expr) {
    if (!expr) return;
    begin(p, role);
    zf_text_printf(p->out, ": %s", expr_names[expr->kind]);
    if (expr->name) add_name(p, expr->name);
    if (expr->kind == ZF_AE_INT || expr->kind == ZF_AE_CHAR) zf_text_printf(p->out, " %llu", (unsigned long long)expr->integer);
    if (expr->kind == ZF_AE_TEXT) add_string(p, expr->text);
    if (expr->kind == ZF_AE_FLOAT) zf_text_printf(p->out, " %a", expr->real);
    if (expr->kind == ZF_AE_UNARY || expr->kind == ZF_AE_BINARY) add_name(p, zf_op_text(expr->op));
    end(p);
    p->depth++;
    print_expr(p, "a", expr->a);
    print_binders(p, expr->binders);
    print_range(p, "range", expr->range);
    for (const zf_ast_expr *b = expr->b; b; b = b->next) print_expr(p, "b", b);
    print_expr(p, "c", expr->c);
    for (const zf_ast_expr *arg = expr->args; arg; arg = arg->next) print_expr(p, "argument", arg);
    print_type(p, "type", expr->type);
    p->depth--;
}

// ---- Statements -----------------------------------------------------------------------------------------------

static const char *const stmt_names[] = {
    [ZF_AS_LET] = "let",         [ZF_AS_VAR] = "var",           [ZF_AS_ASSIGN] = "assign", [ZF_AS_EXPR] = "do",
    [ZF_AS_IF] = "if",           [ZF_AS_WHILE] = "while",       [ZF_AS_LOOP] = "loop",     [ZF_AS_FOR] = "for",
    [ZF_AS_BREAK] = "break",     [ZF_AS_CONTINUE] = "continue", [ZF_AS_RETURN] = "return", [ZF_AS_EMIT] = "emit",
    [ZF_AS_REQUIRE] = "require", [ZF_AS_REFUSE] = "refuse",     [ZF_AS_BLOCK] = "block",   [ZF_AS_SELECT] = "select",
};

static void print_block(printer *p, const zf_ast_block *block);

static void print_stmt(printer *p, const zf_ast_stmt *stmt) {
    begin(p, stmt_names[stmt->kind]);
    if (stmt->name) add_name(p, stmt->name);
    if (stmt->has_op) zf_text_printf(p->out, " %s=", zf_op_text(stmt->op));
    if (stmt->text) add_string(p, stmt->text);
    end(p);
    p->depth++;
    print_type(p, "type", stmt->type);
    print_expr(p, "place", stmt->place);
    print_binders(p, stmt->binders);
    print_range(p, "range", stmt->range);
    print_expr(p, "value", stmt->value);
    for (const zf_ast_selected *one = stmt->selected; one; one = one->next) print_expr(p, one->name, one->value);
    if (stmt->body) print_block(p, stmt->body);
    if (stmt->else_part) {
        leaf(p, "else", NULL);
        p->depth++;
        print_stmt(p, stmt->else_part);
        p->depth--;
    }
    p->depth--;
}

static void print_block(printer *p, const zf_ast_block *block) {
    for (const zf_ast_stmt *stmt = block->stmts; stmt; stmt = stmt->next) print_stmt(p, stmt);
}

// ---- Declarations ---------------------------------------------------------------------------------------------

static void print_formals(printer *p, const zf_ast_formal *formals) {
    for (const zf_ast_formal *formal = formals; formal; formal = formal->next) {
        leaf(p, formal->is_var ? "formal var" : "formal", formal->name);
        p->depth++;
        print_type(p, "type", formal->type);
        p->depth--;
    }
}

static void print_func(printer *p, const zf_ast_func *func) {
    leaf(p, "fn", func->name);
    p->depth++;
    print_formals(p, func->formals);
    print_type(p, "result", func->result);
    print_expr(p, "value", func->value);
    if (func->body) print_block(p, func->body);
    p->depth--;
}

static void print_member(printer *p, const zf_ast_member *member) {
    static const char *const names[] = {"member", "member", "member", "extern", "state", "function"};
    if (member->kind == ZF_AM_FUNC) {
        print_func(p, member->func);
        return;
    }
    begin(p, names[member->kind]);
    add_name(p, member->name);
    if (member->text) add_string(p, member->text);
    end(p);
    p->depth++;
    print_formals(p, member->formals);
    print_type(p, "type", member->type);
    print_expr(p, "value", member->value);
    if (member->body) print_block(p, member->body);
    p->depth--;
}

static void print_algorithm(printer *p, const zf_ast_algorithm *algorithm) {
    static const char *const patterns[] = {"fully_parallel", "group_parallel", "non_parallel"};
    for (const zf_ast_generic *generic = algorithm->generics; generic; generic = generic->next) {
        begin(p, "generic");
        add_name(p, generic->name);
        if (generic->bound) add_name(p, generic->bound);
        end(p);
        p->depth++;
        print_type(p, "default", generic->given);
        p->depth--;
    }
    for (const zf_ast_port *port = algorithm->ports; port; port = port->next) {
        begin(p, port->is_param ? "param" : "stream");
        add_name(p, port->name);
        if (port->per) zf_text_printf(p->out, " per %s", port->per);
        end(p);
        p->depth++;
        print_type(p, "type", port->type);
        print_range(p, "within", port->within);
        print_expr(p, "default", port->given);
        p->depth--;
    }
    print_type(p, "result", algorithm->result);
    leaf(p, "pattern", patterns[algorithm->pattern]);
    p->depth++;
    for (const zf_ast_option *option = algorithm->options; option; option = option->next) {
        print_expr(p, option->name, option->value);
    }
    p->depth--;
    for (const zf_ast_member *member = algorithm->members; member; member = member->next) print_member(p, member);
}

static void print_codec(printer *p, const char *role, const zf_ast_codec *codec) {
    switch (codec->kind) {
    case ZF_AC_LITERAL: print_expr(p, role, codec->literal); return;
    case ZF_AC_NAME:
        begin(p, role);
        zf_text_printf(p->out, ": codec %s%s", codec->name, codec->has_args ? "()" : "");
        end(p);
        p->depth++;
        for (const zf_ast_codec_arg *arg = codec->args; arg; arg = arg->next) {
            print_codec(p, arg->label ? arg->label : "argument", arg->value);
            p->depth++;
            print_type(p, "type", arg->type);
            p->depth--;
        }
        p->depth--;
        return;
    case ZF_AC_ALT:
        begin(p, role);
        zf_text_puts(p->out, ": alternatives");
        end(p);
        p->depth++;
        for (const zf_ast_codec *alt = codec->alts; alt; alt = alt->next) print_codec(p, "alternative", alt);
        p->depth--;
        return;
    }
}

static void print_query_member(printer *p, const zf_ast_query_member *member) {
    static const char *const names[] = {"param", "input", "result", "fn", "each"};
    if (member->kind == ZF_AQ_FUNC) {
        print_func(p, member->func);
        return;
    }
    begin(p, names[member->kind]);
    if (member->name) add_name(p, member->name);
    if (member->word) add_name(p, member->word);
    end(p);
    p->depth++;
    print_type(p, "type", member->type);
    print_expr(p, "value", member->value);
    print_binders(p, member->binders);
    if (member->body) print_block(p, member->body);
    p->depth--;
}

static void print_query(printer *p, const zf_ast_query *query) {
    leaf(p, "of", query->table);
    for (const zf_ast_query_member *member = query->members; member; member = member->next) print_query_member(p, member);
}

static void print_decl(printer *p, const zf_ast_decl *decl) {
    static const char *const names[] = {"import", "const", "fn", "algorithm", "codec", "table", "query"};
    if (decl->kind == ZF_AD_FUNC) {
        print_func(p, decl->func);
        return;
    }
    begin(p, names[decl->kind]);
    if (decl->name) add_name(p, decl->name);
    if (decl->text) add_string(p, decl->text);
    end(p);
    p->depth++;
    print_type(p, "type", decl->type);
    print_expr(p, "value", decl->value);
    for (const zf_ast_expr *element = decl->elements; element; element = element->next) print_expr(p, "element", element);
    if (decl->algorithm) print_algorithm(p, decl->algorithm);
    if (decl->query) print_query(p, decl->query);
    if (decl->codec) print_codec(p, "codec", decl->codec);
    for (const zf_ast_column *column = decl->columns; column; column = column->next) {
        leaf(p, "column", column->name);
        p->depth++;
        print_type(p, "type", column->type);
        print_codec(p, "codec", column->codec);
        for (const zf_ast_codec_arg *part = column->parts; part; part = part->next) print_codec(p, part->label, part->value);
        p->depth--;
    }
    p->depth--;
}

void zf_ast_print(const zf_ast_unit *unit, zf_text *out) {
    printer p = {.out = out};
    zf_text_printf(out, "unit, version %llu\n", (unsigned long long)unit->version);
    p.depth = 1;
    for (const zf_ast_decl *decl = unit->decls; decl; decl = decl->next) print_decl(&p, decl);
}

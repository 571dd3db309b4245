// `zfc fmt`: the one canonical layout. It keeps the author's comments and single blank lines.
//
// Rules. 4 spaces, 120 columns. One statement, member or column a line. A block stands on one line when it has at most one
// statement, at most two blocks deep, no comment inside, and fits. Columns of a table are aligned up to the next blank line.
#include <setjmp.h>
#include <string.h>

#include "frontend/spec/spec_internal.h"
#include "frontend/syntax/format_tree.h"

enum { BLOCKS_IN_A_LINE = 2 };

static void put(zf_printer *printer, zf_doc *list, const char *string) { zf_doc_add(list, text(printer, string)); }

// ---- Items: declarations, members, statements, columns --------------------------------------------------------

static bool is_blank_between(const zf_printer *printer, uint32_t from, uint32_t to) {
    unsigned newlines = 0;
    for (uint32_t i = from; i < to; i++) newlines += printer->unit->source->text[i] == '\n';
    return newlines >= 2;
}

// Prints the comments on lines of their own before an item at `begin`, and the blank lines, but none first in a block.
static void begin_item(zf_printer *printer, uint32_t begin, unsigned indent, bool *first) {
    zf_layout_end_line(&printer->layout);
    while (printer->pending && printer->pending->span.begin < begin) {
        uint32_t at = printer->pending->span.begin;
        if (!*first && is_blank_between(printer, printer->last_end, at)) zf_layout_blank(&printer->layout);
        zf_layout_print(&printer->layout, indent, zf_format_lead(printer, at + 1));
        zf_layout_end_line(&printer->layout);
        *first = false;
    }
    if (!*first && is_blank_between(printer, printer->last_end, begin)) zf_layout_blank(&printer->layout);
    *first = false;
}

// Prints the comment behind an item on its line; the next thing in the source is at `next`.
static void end_item(zf_printer *printer, uint32_t end, uint32_t next, unsigned indent) {
    if (printer->last_end < end) printer->last_end = end;
    zf_layout_print(&printer->layout, indent, zf_format_trail(printer, next));
}

// The comments that stand last in a block which closes at `end`.
static void end_items(zf_printer *printer, uint32_t end, unsigned indent, bool *first) {
    zf_layout_end_line(&printer->layout);
    while (printer->pending && printer->pending->span.begin < end) {
        uint32_t at = printer->pending->span.begin;
        if (!*first && is_blank_between(printer, printer->last_end, at)) zf_layout_blank(&printer->layout);
        zf_layout_print(&printer->layout, indent, zf_format_lead(printer, at + 1));
        *first = false;
    }
    zf_layout_end_line(&printer->layout);
}

static bool has_comment(const zf_printer *printer, uint32_t end) {
    return printer->pending && printer->pending->span.begin < end;
}

static bool print_if_fits(zf_printer *printer, zf_doc *doc, unsigned indent) {
    if (!doc || zf_doc_width(doc) + indent > ZF_FORMAT_COLUMNS) return false;
    zf_layout_print(&printer->layout, indent, zf_doc_group(printer->arena, doc));
    return true;
}

// ---- Small parts ----------------------------------------------------------------------------------------------

// `open` items `close`; the items were added to `items` with lines between them.
static zf_doc *bracketed(zf_printer *printer, const char *open, zf_doc *items, const char *close) {
    zf_doc *content = list_of(printer), *list = list_of(printer);
    zf_doc_add(content, soft(printer));
    zf_doc_add(content, items);
    put(printer, list, open);
    zf_doc_add(list, nest(printer, content));
    zf_doc_add(list, soft(printer));
    put(printer, list, close);
    return group(printer, list);
}

// The comma between two items of a list.
static void separate(zf_printer *printer, zf_doc *list, uint32_t next) {
    put(printer, list, ",");
    zf_doc_add(list, zf_format_trail(printer, next));
    zf_doc_add(list, line(printer));
}

static zf_doc *formals_doc(zf_printer *printer, const zf_ast_formal *formals) {
    if (!formals) return text(printer, "()");
    zf_doc *list = list_of(printer);
    for (const zf_ast_formal *formal = formals; formal; formal = formal->next) {
        zf_doc_add(list, zf_format_lead(printer, formal->span.begin));
        if (formal->is_var) put(printer, list, "var ");
        put(printer, list, formal->name);
        if (formal->type) {
            put(printer, list, ": ");
            zf_doc_add(list, zf_format_type(printer, formal->type));
        }
        if (formal->next) separate(printer, list, formal->next->span.begin);
    }
    return bracketed(printer, "(", list, ")");
}

static zf_doc *generics_doc(zf_printer *printer, const zf_ast_generic *generics) {
    if (!generics) return NULL;
    zf_doc *list = list_of(printer);
    for (const zf_ast_generic *generic = generics; generic; generic = generic->next) {
        zf_doc_add(list, zf_format_lead(printer, generic->span.begin));
        put(printer, list, generic->name);
        if (generic->bound) {
            put(printer, list, ": ");
            put(printer, list, generic->bound);
        }
        if (generic->given) {
            put(printer, list, " = ");
            zf_doc_add(list, zf_format_type(printer, generic->given));
        }
        if (generic->next) separate(printer, list, generic->next->span.begin);
    }
    return bracketed(printer, "<", list, ">");
}

static void add_port(zf_printer *printer, zf_doc *list, const zf_ast_port *port) {
    zf_doc_add(list, zf_format_lead(printer, port->span.begin));
    if (port->is_param) put(printer, list, "param ");
    put(printer, list, port->name);
    put(printer, list, ": ");
    zf_doc_add(list, zf_format_type(printer, port->type));
    if (port->per) {
        put(printer, list, " per ");
        put(printer, list, port->per);
    }
    if (port->within) {
        put(printer, list, " in ");
        zf_doc_add(list, zf_format_range(printer, port->within));
    }
    if (port->given) {
        put(printer, list, " = ");
        zf_doc_add(list, group(printer, zf_format_expr(printer, port->given)));
    }
}

static zf_doc *ports_doc(zf_printer *printer, const zf_ast_port *ports) {
    if (!ports) return text(printer, "()");
    zf_doc *list = list_of(printer);
    for (const zf_ast_port *port = ports; port; port = port->next) {
        add_port(printer, list, port);
        if (port->next) separate(printer, list, port->next->span.begin);
    }
    return bracketed(printer, "(", list, ")");
}

static zf_doc *pattern_doc(zf_printer *printer, const zf_ast_algorithm *algorithm) {
    static const char *const names[] = {"fully_parallel", "group_parallel", "non_parallel"};
    zf_doc *list = list_of(printer);
    put(printer, list, names[algorithm->pattern]);
    if (!algorithm->options) return list;
    put(printer, list, "(");
    for (const zf_ast_option *option = algorithm->options; option; option = option->next) {
        put(printer, list, option->name);
        put(printer, list, " = ");
        zf_doc_add(list, group(printer, zf_format_expr(printer, option->value)));
        if (option->next) put(printer, list, ", ");
    }
    put(printer, list, ")");
    return list;
}

// ---- Statements -----------------------------------------------------------------------------------------------

static void add_let(zf_printer *printer, zf_doc *list, const char *word, const zf_ast_stmt *stmt, unsigned indent) {
    put(printer, list, word);
    put(printer, list, stmt->name);
    if (stmt->type) {
        put(printer, list, ": ");
        zf_doc_add(list, zf_format_type(printer, stmt->type));
    }
    if (stmt->value) zf_format_assigned(printer, list, indent, stmt->value);
}

static void add_word(zf_printer *printer, zf_doc *list, const char *word, const zf_ast_expr *value) {
    put(printer, list, word);
    if (!value) return;
    put(printer, list, " ");
    zf_doc_add(list, group(printer, nest(printer, zf_format_expr(printer, value))));
}

static void add_assignment(zf_printer *printer, zf_doc *list, const zf_ast_stmt *stmt, unsigned indent) {
    zf_doc_add(list, group(printer, zf_format_expr(printer, stmt->place)));
    if (!stmt->has_op) {
        zf_format_assigned(printer, list, indent, stmt->value);
        return;
    }
    put(printer, list, " ");
    put(printer, list, zf_op_text(stmt->op));
    put(printer, list, "= ");
    zf_doc_add(list, group(printer, nest(printer, zf_format_expr(printer, stmt->value))));
}

static void add_emit(zf_printer *printer, zf_doc *list, const zf_ast_stmt *stmt) {
    if (!stmt->binders) {
        add_word(printer, list, "emit", stmt->value);
        return;
    }
    zf_doc *rest = list_of(printer);
    put(printer, list, "emit ");
    zf_doc_add(list, group(printer, nest(printer, zf_format_binders(printer, stmt->binders))));
    put(printer, list, ":");
    zf_doc_add(list, zf_format_trail(printer, stmt->value->span.begin));
    zf_doc_add(rest, line(printer));
    zf_doc_add(rest, group(printer, zf_format_expr(printer, stmt->value)));
    zf_doc_add(list, group(printer, nest(printer, rest)));
}

static void add_select(zf_printer *printer, zf_doc *list, const zf_ast_stmt *stmt) {
    zf_doc *all = list_of(printer);
    put(printer, list, "select ");
    for (const zf_ast_selected *one = stmt->selected; one; one = one->next) {
        zf_doc_add(all, zf_format_lead(printer, one->span.begin));
        put(printer, all, one->name);
        put(printer, all, " = ");
        zf_doc_add(all, group(printer, zf_format_expr(printer, one->value)));
        if (one->next) separate(printer, all, one->next->span.begin);
    }
    zf_doc_add(list, group(printer, nest(printer, all)));
}

// A statement without a block, or NULL.
static zf_doc *simple_stmt(zf_printer *printer, const zf_ast_stmt *stmt, unsigned indent) {
    zf_doc *list = list_of(printer);
    switch (stmt->kind) {
    case ZF_AS_LET: add_let(printer, list, "let ", stmt, indent); break;
    case ZF_AS_VAR: add_let(printer, list, "var ", stmt, indent); break;
    case ZF_AS_ASSIGN: add_assignment(printer, list, stmt, indent); break;
    case ZF_AS_EXPR: zf_doc_add(list, group(printer, zf_format_expr(printer, stmt->value))); break;
    case ZF_AS_BREAK: put(printer, list, "break"); break;
    case ZF_AS_CONTINUE: put(printer, list, "continue"); break;
    case ZF_AS_RETURN: add_word(printer, list, "return", stmt->value); break;
    case ZF_AS_REQUIRE: add_word(printer, list, "require", stmt->value); break;
    case ZF_AS_EMIT: add_emit(printer, list, stmt); break;
    case ZF_AS_REFUSE:
        put(printer, list, "refuse ");
        zf_doc_add(list, zf_format_text(printer, stmt->text));
        break;
    case ZF_AS_SELECT: add_select(printer, list, stmt); break;
    case ZF_AS_IF:
    case ZF_AS_WHILE:
    case ZF_AS_LOOP:
    case ZF_AS_FOR:
    case ZF_AS_BLOCK: return NULL;
    }
    put(printer, list, ";");
    return list;
}

// The head of a statement, before its block. Its continuation lines are indented twice, to stand apart from the body.
static zf_doc *head_of(zf_printer *printer, const zf_ast_stmt *stmt) {
    zf_doc *list = list_of(printer), *value = NULL;
    switch (stmt->kind) {
    case ZF_AS_IF: put(printer, list, "if "); break;
    case ZF_AS_WHILE: put(printer, list, "while "); break;
    case ZF_AS_LOOP: put(printer, list, "loop"); break;
    case ZF_AS_FOR:
        put(printer, list, "for ");
        put(printer, list, stmt->name);
        put(printer, list, " in ");
        break;
    default: break;
    }
    if (stmt->range)
        value = zf_format_range(printer, stmt->range);
    else if (stmt->value)
        value = zf_format_expr(printer, stmt->value);
    if (value) zf_doc_add(list, group(printer, nest(printer, nest(printer, value))));
    return list;
}

static zf_doc *line_stmt(zf_printer *printer, const zf_ast_stmt *stmt, unsigned blocks);

// A block on one line, or NULL.
static zf_doc *line_block(zf_printer *printer, const zf_ast_block *block, unsigned blocks) {
    if (!block->stmts) return text(printer, "{}");
    if (block->stmts->next || blocks == 0) return NULL;
    zf_doc *stmt = line_stmt(printer, block->stmts, blocks - 1);
    if (!stmt) return NULL;
    zf_doc *list = list_of(printer);
    put(printer, list, "{ ");
    zf_doc_add(list, stmt);
    put(printer, list, " }");
    return list;
}

// A statement on one line with at most `blocks` blocks inside each other, or NULL. Only for what has no comments inside.
static zf_doc *line_stmt(zf_printer *printer, const zf_ast_stmt *stmt, unsigned blocks) {
    if (!stmt->body) return simple_stmt(printer, stmt, 0);
    // A choice that is written out holds only simple statements, and no further choice.
    if (stmt->else_part && (stmt->else_part->kind != ZF_AS_BLOCK || blocks < 1)) return NULL;
    unsigned inside = stmt->else_part ? 1 : blocks;
    zf_doc *head = head_of(printer, stmt), *body = line_block(printer, stmt->body, inside);
    if (!body) return NULL;
    zf_doc *list = list_of(printer);
    zf_doc_add(list, head);
    put(printer, list, " ");
    zf_doc_add(list, body);
    if (!stmt->else_part) return list;
    zf_doc *else_part = line_block(printer, stmt->else_part->body, inside);
    if (!else_part) return NULL;
    put(printer, list, " else ");
    zf_doc_add(list, else_part);
    return list;
}

static void print_stmt(zf_printer *printer, const zf_ast_stmt *stmt, unsigned indent);

// A block over several lines, from its `{` on; the line stands before it.
static void print_block(zf_printer *printer, const zf_ast_block *block, unsigned indent) {
    uint32_t end = block->span.end - 1;
    unsigned inner = indent + ZF_FORMAT_INDENT;
    if (!block->stmts && !has_comment(printer, end)) {
        zf_layout_print(&printer->layout, indent, text(printer, "{}"));
        return;
    }
    zf_layout_print(&printer->layout, indent, text(printer, "{"));
    end_item(printer, block->span.begin + 1, block->stmts ? block->stmts->span.begin : end, inner);
    bool first = true;
    for (const zf_ast_stmt *stmt = block->stmts; stmt; stmt = stmt->next) {
        begin_item(printer, stmt->span.begin, inner, &first);
        print_stmt(printer, stmt, inner);
        end_item(printer, stmt->span.end, stmt->next ? stmt->next->span.begin : end, inner);
    }
    end_items(printer, end, inner, &first);
    zf_layout_print(&printer->layout, indent, text(printer, "}"));
}

static void print_stmt(zf_printer *printer, const zf_ast_stmt *stmt, unsigned indent) {
    if (!stmt->body) {
        zf_layout_print(&printer->layout, indent, simple_stmt(printer, stmt, indent));
        return;
    }
    if (!has_comment(printer, stmt->span.end) && print_if_fits(printer, line_stmt(printer, stmt, BLOCKS_IN_A_LINE), indent)) {
        return;
    }
    for (;;) { // along a chain of `else if`
        zf_doc *head = head_of(printer, stmt);
        put(printer, head, " ");
        zf_layout_print(&printer->layout, indent, head);
        print_block(printer, stmt->body, indent);
        if (!stmt->else_part) return;
        zf_doc *between = list_of(printer);
        zf_doc_add(between, zf_format_lead(printer, stmt->else_part->span.begin));
        put(printer, between, " else ");
        zf_layout_print(&printer->layout, indent, between);
        stmt = stmt->else_part;
        if (stmt->kind == ZF_AS_BLOCK) break;
    }
    print_block(printer, stmt->body, indent);
}

// ---- Members and functions ------------------------------------------------------------------------------------

// `head` followed by a block: on one line when it may be, else with the block opened behind it.
static void print_with_block(zf_printer *printer, zf_doc *head, const zf_ast_block *block, unsigned indent) {
    put(printer, head, " ");
    zf_doc *body = has_comment(printer, block->span.end) ? NULL : line_block(printer, block, BLOCKS_IN_A_LINE);
    if (body && zf_doc_width(head) + zf_doc_width(body) + indent <= ZF_FORMAT_COLUMNS) {
        zf_doc_add(head, body);
        zf_layout_print(&printer->layout, indent, group(printer, head));
        return;
    }
    zf_layout_print(&printer->layout, indent, head);
    print_block(printer, block, indent);
}

static void print_func(zf_printer *printer, const zf_ast_func *func, unsigned indent) {
    zf_doc *head = list_of(printer);
    put(printer, head, "fn ");
    put(printer, head, func->name);
    zf_doc_add(head, formals_doc(printer, func->formals));
    if (func->result) {
        put(printer, head, " -> ");
        zf_doc_add(head, zf_format_type(printer, func->result));
    }
    if (func->body) {
        print_with_block(printer, head, func->body, indent);
        return;
    }
    zf_format_assigned(printer, head, indent, func->value);
    put(printer, head, ";");
    zf_layout_print(&printer->layout, indent, head);
}

static void print_member(zf_printer *printer, const zf_ast_member *member, unsigned indent) {
    if (member->kind == ZF_AM_FUNC) {
        print_func(printer, member->func, indent);
        return;
    }
    zf_doc *head = list_of(printer);
    if (member->kind == ZF_AM_STATE) put(printer, head, "state ");
    put(printer, head, member->name);
    if (member->has_formals) zf_doc_add(head, formals_doc(printer, member->formals));
    if (member->type) {
        put(printer, head, ": ");
        zf_doc_add(head, zf_format_type(printer, member->type));
    }
    if (member->body) {
        print_with_block(printer, head, member->body, indent);
        return;
    }
    if (member->kind == ZF_AM_EXTERN) {
        put(printer, head, " extern ");
        zf_doc_add(head, zf_format_text(printer, member->text));
    } else {
        zf_format_assigned(printer, head, indent, member->value);
    }
    put(printer, head, ";");
    zf_layout_print(&printer->layout, indent, head);
}

// ---- Declarations ---------------------------------------------------------------------------------------------

// All on one line; or the result on a line of its own; or the ports too.
static void print_header(zf_printer *printer, const zf_ast_decl *decl) {
    const zf_ast_algorithm *algorithm = decl->algorithm;
    zf_doc *head = list_of(printer), *tail = list_of(printer);
    put(printer, head, "algorithm ");
    put(printer, head, decl->name);
    zf_doc_add(head, generics_doc(printer, algorithm->generics));
    zf_doc_add(head, ports_doc(printer, algorithm->ports));
    put(printer, tail, "-> ");
    zf_doc_add(tail, zf_format_type(printer, algorithm->result));
    put(printer, tail, " ");
    zf_doc_add(tail, pattern_doc(printer, algorithm));

    unsigned head_width = zf_doc_width(head);
    bool in_one = head_width + 1 + zf_doc_width(tail) + 2 <= ZF_FORMAT_COLUMNS;
    bool in_two = !in_one && head_width <= ZF_FORMAT_COLUMNS;
    zf_layout_print(&printer->layout, 0, head);
    if (in_two) {
        zf_layout_end_line(&printer->layout);
        zf_layout_print(&printer->layout, ZF_FORMAT_INDENT, tail);
        zf_layout_end_line(&printer->layout);
    } else {
        zf_layout_print(&printer->layout, 0, text(printer, " "));
        zf_layout_print(&printer->layout, 0, tail);
        zf_layout_print(&printer->layout, 0, text(printer, " "));
    }
}

static void print_algorithm(zf_printer *printer, const zf_ast_decl *decl) {
    const zf_ast_algorithm *algorithm = decl->algorithm;
    uint32_t end = decl->span.end - 1;
    print_header(printer, decl);
    zf_layout_print(&printer->layout, 0, text(printer, algorithm->members || has_comment(printer, end) ? "{" : "{}"));
    if (!algorithm->members && !has_comment(printer, end)) return;
    end_item(printer, algorithm->pattern_span.end, algorithm->members ? algorithm->members->span.begin : end, ZF_FORMAT_INDENT);
    bool first = true;
    for (const zf_ast_member *member = algorithm->members; member; member = member->next) {
        begin_item(printer, member->span.begin, ZF_FORMAT_INDENT, &first);
        print_member(printer, member, ZF_FORMAT_INDENT);
        end_item(printer, member->span.end, member->next ? member->next->span.begin : end, ZF_FORMAT_INDENT);
    }
    end_items(printer, end, ZF_FORMAT_INDENT, &first);
    zf_layout_print(&printer->layout, 0, text(printer, "}"));
}

static void print_query_member(zf_printer *printer, const zf_ast_query_member *member, unsigned indent) {
    static const char *const words[] = {"param ", "input ", "result ", "fn ", "each"};
    if (member->kind == ZF_AQ_FUNC) {
        print_func(printer, member->func, indent);
        return;
    }
    zf_doc *list = list_of(printer);
    put(printer, list, words[member->kind]);
    if (member->body) {
        if (member->binders) {
            put(printer, list, " ");
            zf_doc_add(list, group(printer, nest(printer, zf_format_binders(printer, member->binders))));
        }
        print_with_block(printer, list, member->body, indent);
        return;
    }
    put(printer, list, member->name);
    put(printer, list, ": ");
    zf_doc_add(list, zf_format_type(printer, member->type));
    if (member->value) zf_format_assigned(printer, list, indent, member->value);
    if (member->word) {
        put(printer, list, " = ");
        put(printer, list, member->word);
    }
    put(printer, list, ";");
    zf_layout_print(&printer->layout, indent, list);
}

static void print_query(zf_printer *printer, const zf_ast_decl *decl) {
    const zf_ast_query *query = decl->query;
    uint32_t end = decl->span.end - 1;
    zf_doc *head = list_of(printer);
    put(printer, head, "query ");
    put(printer, head, decl->name);
    put(printer, head, "(");
    put(printer, head, query->table);
    bool empty = !query->members && !has_comment(printer, end);
    put(printer, head, empty ? ") {}" : ") {");
    zf_layout_print(&printer->layout, 0, head);
    if (empty) return;
    end_item(printer, query->table_span.end, query->members ? query->members->span.begin : end, ZF_FORMAT_INDENT);
    bool first = true;
    for (const zf_ast_query_member *member = query->members; member; member = member->next) {
        begin_item(printer, member->span.begin, ZF_FORMAT_INDENT, &first);
        print_query_member(printer, member, ZF_FORMAT_INDENT);
        end_item(printer, member->span.end, member->next ? member->next->span.begin : end, ZF_FORMAT_INDENT);
    }
    end_items(printer, end, ZF_FORMAT_INDENT, &first);
    zf_layout_print(&printer->layout, 0, text(printer, "}"));
}

static void pad(zf_printer *printer, zf_doc *list, unsigned from, unsigned to) {
    for (; from < to; from++) put(printer, list, " ");
}

// The columns up to the next blank line or comment line: those are aligned with each other. A column's type is a document that
// no comment may be part of here, since it is built again when it is printed.
static const zf_ast_column *section_end(const zf_printer *printer, const zf_ast_column *column) {
    while (column->next) {
        uint32_t from = column->span.end, to = column->next->span.begin;
        if (is_blank_between(printer, from, to)) return column->next;
        for (const zf_ast_comment *comment = printer->pending; comment && comment->span.begin < to; comment = comment->next) {
            if (comment->own_line && comment->span.begin >= from) return column->next;
        }
        column = column->next;
    }
    return NULL;
}

static void print_columns(zf_printer *printer, const zf_ast_decl *decl, uint32_t end) {
    bool first = true;
    const zf_ast_column *stop = decl->columns;
    unsigned names = 0, types = 0;
    for (const zf_ast_column *column = decl->columns; column; column = column->next) {
        begin_item(printer, column->span.begin, ZF_FORMAT_INDENT, &first);
        if (column == stop) {
            stop = section_end(printer, column);
            names = types = 0;
            // Widths only: comments stay pending.
            const zf_ast_comment *pending = printer->pending;
            uint32_t last_end = printer->last_end;
            printer->pending = NULL;
            for (const zf_ast_column *c = column; c != stop; c = c->next) {
                unsigned name = (unsigned)strlen(c->name), type = zf_doc_width(zf_format_type(printer, c->type));
                if (name > names && name <= 40) names = name;
                if (type > types && type <= 30) types = type;
            }
            printer->pending = pending;
            printer->last_end = last_end;
        }
        zf_doc *list = list_of(printer);
        put(printer, list, column->name);
        put(printer, list, ": ");
        pad(printer, list, (unsigned)strlen(column->name), names);
        zf_doc *type = zf_format_type(printer, column->type);
        unsigned width = zf_doc_width(type);
        zf_doc_add(list, type);
        pad(printer, list, width, types);
        put(printer, list, " = ");
        zf_doc_add(list, zf_format_parts(printer, column->codec, column->parts));
        put(printer, list, ";");
        zf_layout_print(&printer->layout, ZF_FORMAT_INDENT, list);
        end_item(printer, column->span.end, column->next ? column->next->span.begin : end, ZF_FORMAT_INDENT);
    }
    end_items(printer, end, ZF_FORMAT_INDENT, &first);
}

static void print_table(zf_printer *printer, const zf_ast_decl *decl) {
    zf_doc *head = list_of(printer);
    uint32_t end = decl->span.end - 1;
    put(printer, head, "table ");
    put(printer, head, decl->name);
    bool empty = !decl->columns && !has_comment(printer, end);
    put(printer, head, empty ? " {}" : " {");
    zf_layout_print(&printer->layout, 0, head);
    if (empty) return;
    end_item(printer, decl->name_span.end, decl->columns ? decl->columns->span.begin : end, ZF_FORMAT_INDENT);
    print_columns(printer, decl, end);
    zf_layout_print(&printer->layout, 0, text(printer, "}"));
}

static void print_decl(zf_printer *printer, const zf_ast_decl *decl) {
    zf_doc *list = list_of(printer);
    switch (decl->kind) {
    case ZF_AD_FUNC: print_func(printer, decl->func, 0); return;
    case ZF_AD_ALGORITHM: print_algorithm(printer, decl); return;
    case ZF_AD_TABLE: print_table(printer, decl); return;
    case ZF_AD_QUERY: print_query(printer, decl); return;
    case ZF_AD_IMPORT:
        put(printer, list, "import ");
        zf_doc_add(list, zf_format_text(printer, decl->text));
        break;
    case ZF_AD_CONST:
    case ZF_AD_CODEC:
        put(printer, list, decl->kind == ZF_AD_CONST ? "const " : "codec ");
        put(printer, list, decl->name);
        put(printer, list, ": ");
        zf_doc_add(list, zf_format_type(printer, decl->type));
        if (decl->value) {
            zf_format_assigned(printer, list, 0, decl->value);
            break;
        }
        put(printer, list, " = ");
        zf_doc_add(list, decl->elements ? zf_format_elements(printer, decl->elements) : zf_format_codec(printer, decl->codec));
        break;
    }
    put(printer, list, ";");
    zf_layout_print(&printer->layout, 0, list);
}

static void print_unit(zf_printer *printer) {
    const zf_ast_unit *unit = printer->unit;
    bool first = true;
    uint32_t end = (uint32_t)unit->source->length;
    if (unit->has_version) {
        begin_item(printer, unit->version_span.begin, 0, &first);
        const char *version = zf_arena_printf(printer->arena, "zf %llu;", (unsigned long long)unit->version);
        zf_layout_print(&printer->layout, 0, text(printer, version));
        end_item(printer, unit->version_span.end, unit->decls ? unit->decls->span.begin : end, 0);
    }
    for (const zf_ast_decl *decl = unit->decls; decl; decl = decl->next) {
        begin_item(printer, decl->span.begin, 0, &first);
        print_decl(printer, decl);
        end_item(printer, decl->span.end, decl->next ? decl->next->span.begin : end, 0);
    }
    end_items(printer, end, 0, &first);
}

void zf_format_unit(const zf_ast_unit *unit, zf_text *out) {
    zf_arena *arena = zf_arena_create();
    zf_text lines = {0}, *volatile written = &lines;
    jmp_buf escape;
    if (!arena) {
        out->failed = true;
        return;
    }
    zf_arena_set_escape(arena, &escape);
    if (setjmp(escape) == 0) {
        zf_printer *printer = ZF_NEW(arena, zf_printer);
        *printer = (zf_printer){.unit = unit, .arena = arena, .pending = unit->comments};
        zf_layout_begin(&printer->layout, arena, written);
        print_unit(printer);
        zf_layout_finish(&printer->layout, out);
    } else {
        out->failed = true;
    }
    zf_text_free(written);
    zf_arena_destroy(arena);
}

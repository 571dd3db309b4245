// Structural equality of two trees, positions aside. Names are compared as texts: the trees may come from two compilations.
#ifndef ZF_TESTS_AST_EQUAL_H
#define ZF_TESTS_AST_EQUAL_H

#include <string.h>

#include "frontend/spec/spec_internal.h"

// Two lists are equal when their items are, in order.
#define EQUAL_LISTS(a, b, equal)                                                                                                 \
    do {                                                                                                                         \
        for (; (a) && (b); (a) = (a)->next, (b) = (b)->next) {                                                                   \
            if (!equal((a), (b))) return false;                                                                                  \
        }                                                                                                                        \
        return !(a) && !(b);                                                                                                     \
    } while (0)

static inline bool equal_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static inline bool equal_expr(const zf_ast_expr *a, const zf_ast_expr *b);
static inline bool equal_exprs(const zf_ast_expr *a, const zf_ast_expr *b) { EQUAL_LISTS(a, b, equal_expr); }

// ---- Types ----------------------------------------------------------------------------------------------------

static inline bool equal_type(const zf_ast_type *a, const zf_ast_type *b);
static inline bool equal_types(const zf_ast_type *a, const zf_ast_type *b) { EQUAL_LISTS(a, b, equal_type); }
static inline bool equal_type(const zf_ast_type *a, const zf_ast_type *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && equal_text(a->name, b->name) && a->number == b->number && equal_types(a->args, b->args) &&
           equal_type(a->element, b->element) && equal_exprs(a->length, b->length);
}

// ---- Expressions ----------------------------------------------------------------------------------------------

static inline bool equal_range(const zf_ast_range *a, const zf_ast_range *b) {
    if (!a || !b) return a == b;
    return a->inclusive == b->inclusive && equal_expr(a->lo, b->lo) && equal_expr(a->hi, b->hi);
}

static inline bool equal_binder(const zf_ast_binder *a, const zf_ast_binder *b) {
    return equal_text(a->name, b->name) && equal_range(&a->range, &b->range);
}
static inline bool equal_binders(const zf_ast_binder *a, const zf_ast_binder *b) { EQUAL_LISTS(a, b, equal_binder); }

static inline bool equal_expr(const zf_ast_expr *a, const zf_ast_expr *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && equal_text(a->name, b->name) && a->integer == b->integer &&
           memcmp(&a->real, &b->real, sizeof a->real) == 0 && equal_text(a->text, b->text) && a->op == b->op &&
           equal_expr(a->a, b->a) && equal_exprs(a->b, b->b) && equal_expr(a->c, b->c) && equal_exprs(a->args, b->args) &&
           equal_binders(a->binders, b->binders) && equal_range(a->range, b->range) && equal_type(a->type, b->type);
}

// ---- Statements -----------------------------------------------------------------------------------------------

static inline bool equal_stmt(const zf_ast_stmt *a, const zf_ast_stmt *b);
static inline bool equal_stmts(const zf_ast_stmt *a, const zf_ast_stmt *b) { EQUAL_LISTS(a, b, equal_stmt); }
static inline bool equal_block(const zf_ast_block *a, const zf_ast_block *b) {
    return a && b ? equal_stmts(a->stmts, b->stmts) : a == b;
}
static inline bool equal_selected(const zf_ast_selected *a, const zf_ast_selected *b) {
    return equal_text(a->name, b->name) && equal_expr(a->value, b->value);
}
static inline bool equal_selection(const zf_ast_selected *a, const zf_ast_selected *b) { EQUAL_LISTS(a, b, equal_selected); }
static inline bool equal_stmt(const zf_ast_stmt *a, const zf_ast_stmt *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && equal_text(a->name, b->name) && equal_type(a->type, b->type) && equal_expr(a->value, b->value) &&
           equal_expr(a->place, b->place) && a->has_op == b->has_op && a->op == b->op && equal_range(a->range, b->range) &&
           equal_block(a->body, b->body) && equal_stmt(a->else_part, b->else_part) && equal_binders(a->binders, b->binders) &&
           equal_selection(a->selected, b->selected) && equal_text(a->text, b->text);
}

// ---- Declarations ---------------------------------------------------------------------------------------------

static inline bool equal_formal(const zf_ast_formal *a, const zf_ast_formal *b) {
    return equal_text(a->name, b->name) && equal_type(a->type, b->type) && a->is_var == b->is_var;
}
static inline bool equal_formals(const zf_ast_formal *a, const zf_ast_formal *b) { EQUAL_LISTS(a, b, equal_formal); }

static inline bool equal_func(const zf_ast_func *a, const zf_ast_func *b) {
    if (!a || !b) return a == b;
    return equal_text(a->name, b->name) && equal_formals(a->formals, b->formals) && equal_type(a->result, b->result) &&
           equal_expr(a->value, b->value) && equal_block(a->body, b->body);
}

static inline bool equal_generic(const zf_ast_generic *a, const zf_ast_generic *b) {
    return equal_text(a->name, b->name) && equal_text(a->bound, b->bound) && equal_type(a->given, b->given);
}
static inline bool equal_generics(const zf_ast_generic *a, const zf_ast_generic *b) { EQUAL_LISTS(a, b, equal_generic); }

static inline bool equal_port(const zf_ast_port *a, const zf_ast_port *b) {
    return equal_text(a->name, b->name) && a->is_param == b->is_param && equal_type(a->type, b->type) &&
           equal_text(a->per, b->per) && equal_range(a->within, b->within) && equal_expr(a->given, b->given);
}
static inline bool equal_ports(const zf_ast_port *a, const zf_ast_port *b) { EQUAL_LISTS(a, b, equal_port); }

static inline bool equal_member(const zf_ast_member *a, const zf_ast_member *b) {
    return a->kind == b->kind && equal_text(a->name, b->name) && a->has_formals == b->has_formals &&
           equal_formals(a->formals, b->formals) && equal_expr(a->value, b->value) && equal_block(a->body, b->body) &&
           equal_type(a->type, b->type) && equal_text(a->text, b->text) && equal_func(a->func, b->func);
}
static inline bool equal_members(const zf_ast_member *a, const zf_ast_member *b) { EQUAL_LISTS(a, b, equal_member); }

static inline bool equal_option(const zf_ast_option *a, const zf_ast_option *b) {
    return equal_text(a->name, b->name) && equal_expr(a->value, b->value);
}
static inline bool equal_options(const zf_ast_option *a, const zf_ast_option *b) { EQUAL_LISTS(a, b, equal_option); }

static inline bool equal_algorithm(const zf_ast_algorithm *a, const zf_ast_algorithm *b) {
    if (!a || !b) return a == b;
    return equal_generics(a->generics, b->generics) && equal_ports(a->ports, b->ports) && equal_type(a->result, b->result) &&
           a->pattern == b->pattern && equal_options(a->options, b->options) && equal_members(a->members, b->members);
}

static inline bool equal_query_member(const zf_ast_query_member *a, const zf_ast_query_member *b) {
    return a->kind == b->kind && equal_text(a->name, b->name) && equal_type(a->type, b->type) && equal_expr(a->value, b->value) &&
           equal_text(a->word, b->word) && equal_func(a->func, b->func) && equal_block(a->body, b->body);
}
static inline bool equal_query_members(const zf_ast_query_member *a, const zf_ast_query_member *b) {
    EQUAL_LISTS(a, b, equal_query_member);
}

static inline bool equal_query(const zf_ast_query *a, const zf_ast_query *b) {
    if (!a || !b) return a == b;
    return equal_text(a->table, b->table) && equal_query_members(a->members, b->members);
}

static inline bool equal_codec(const zf_ast_codec *a, const zf_ast_codec *b);
static inline bool equal_codec_arg(const zf_ast_codec_arg *a, const zf_ast_codec_arg *b) {
    return equal_text(a->label, b->label) && equal_type(a->type, b->type) && equal_codec(a->value, b->value);
}
static inline bool equal_codec_args(const zf_ast_codec_arg *a, const zf_ast_codec_arg *b) { EQUAL_LISTS(a, b, equal_codec_arg); }
static inline bool equal_codecs(const zf_ast_codec *a, const zf_ast_codec *b) { EQUAL_LISTS(a, b, equal_codec); }
static inline bool equal_codec(const zf_ast_codec *a, const zf_ast_codec *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && equal_text(a->name, b->name) && a->has_args == b->has_args &&
           equal_codec_args(a->args, b->args) && equal_expr(a->literal, b->literal) && equal_codecs(a->alts, b->alts);
}

static inline bool equal_column(const zf_ast_column *a, const zf_ast_column *b) {
    return equal_text(a->name, b->name) && equal_type(a->type, b->type) && equal_codec(a->codec, b->codec) &&
           equal_codec_args(a->parts, b->parts);
}
static inline bool equal_columns(const zf_ast_column *a, const zf_ast_column *b) { EQUAL_LISTS(a, b, equal_column); }

static inline bool equal_decl(const zf_ast_decl *a, const zf_ast_decl *b) {
    return a->kind == b->kind && equal_text(a->name, b->name) && equal_text(a->text, b->text) && equal_type(a->type, b->type) &&
           equal_expr(a->value, b->value) && equal_exprs(a->elements, b->elements) && equal_func(a->func, b->func) &&
           equal_algorithm(a->algorithm, b->algorithm) && equal_codec(a->codec, b->codec) &&
           equal_columns(a->columns, b->columns) && equal_query(a->query, b->query);
}
static inline bool equal_decls(const zf_ast_decl *a, const zf_ast_decl *b) { EQUAL_LISTS(a, b, equal_decl); }

static inline bool equal_trees(const zf_ast_unit *a, const zf_ast_unit *b) {
    return a->version == b->version && a->has_version == b->has_version && equal_decls(a->decls, b->decls);
}

#endif

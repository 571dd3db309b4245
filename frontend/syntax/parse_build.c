// Nodes for the grammar's actions, and the limit on their depth: everything later may recurse over a tree.
#include <string.h>

#include "frontend/syntax/parse.h"

enum { LANGUAGE_VERSION = 1 };

static uint32_t deeper(uint32_t a, uint32_t b) { return a > b ? a : b; }

zf_ast_type *zf_new_type(zf_parser *parser, zf_ast_type_kind kind, zf_span span) {
    zf_ast_type *type = ZF_NEW(parser->arena, zf_ast_type);
    type->kind = kind;
    type->span = span;
    type->depth = 1;
    return type;
}

zf_ast_expr *zf_new_expr(zf_parser *parser, zf_ast_expr_kind kind, zf_span span) {
    zf_ast_expr *expr = ZF_NEW(parser->arena, zf_ast_expr);
    expr->kind = kind;
    expr->span = span;
    expr->depth = 1;
    return expr;
}

zf_ast_stmt *zf_new_stmt(zf_parser *parser, zf_ast_stmt_kind kind, zf_span span) {
    zf_ast_stmt *stmt = ZF_NEW(parser->arena, zf_ast_stmt);
    stmt->kind = kind;
    stmt->span = span;
    stmt->depth = 1;
    return stmt;
}

zf_ast_codec *zf_new_codec(zf_parser *parser, zf_ast_codec_kind kind, zf_span span) {
    zf_ast_codec *codec = ZF_NEW(parser->arena, zf_ast_codec);
    codec->kind = kind;
    codec->span = span;
    codec->depth = 1;
    return codec;
}

zf_ast_range *zf_new_range(zf_parser *parser, zf_ast_expr *lo, zf_ast_expr *hi, bool inclusive, zf_span span) {
    zf_ast_range *range = ZF_NEW(parser->arena, zf_ast_range);
    *range = (zf_ast_range){.span = span, .lo = lo, .hi = hi, .inclusive = inclusive};
    return range;
}

zf_ast_decl *zf_new_decl(zf_parser *parser, zf_ast_decl_kind kind, zf_name name, zf_span name_span) {
    zf_ast_decl *decl = ZF_NEW(parser->arena, zf_ast_decl);
    decl->kind = kind;
    decl->name = name;
    decl->name_span = name_span;
    return decl;
}

zf_ast_member *zf_new_member(zf_parser *parser, zf_ast_member_kind kind, zf_name name, zf_span name_span, zf_span span) {
    zf_ast_member *member = ZF_NEW(parser->arena, zf_ast_member);
    *member = (zf_ast_member){.kind = kind, .span = span, .name = name, .name_span = name_span};
    return member;
}

zf_ast_query_member *zf_new_query_member(zf_parser *parser, zf_ast_query_member_kind kind, zf_name name, zf_span name_span,
                                         zf_ast_type *type, zf_span span) {
    zf_ast_query_member *member = ZF_NEW(parser->arena, zf_ast_query_member);
    *member = (zf_ast_query_member){.kind = kind, .span = span, .name = name, .name_span = name_span, .type = type};
    return member;
}

zf_ast_formal *zf_new_formal(zf_parser *parser, zf_name name, zf_ast_type *type, bool is_var, zf_span span) {
    zf_ast_formal *formal = ZF_NEW(parser->arena, zf_ast_formal);
    *formal = (zf_ast_formal){.span = span, .name = name, .type = type, .is_var = is_var};
    return formal;
}

// ---- Depth ----------------------------------------------------------------------------------------------------

static uint32_t expr_depth(const zf_ast_expr *expr) { return expr ? expr->depth : 0; }
static uint32_t exprs_depth(const zf_ast_expr *expr) {
    uint32_t depth = 0;
    for (; expr; expr = expr->next) depth = deeper(depth, expr->depth);
    return depth;
}
static uint32_t range_depth(const zf_ast_range *range) {
    return range ? deeper(expr_depth(range->lo), expr_depth(range->hi)) : 0;
}
static uint32_t binders_depth(const zf_ast_binder *binders) {
    uint32_t depth = 0;
    for (const zf_ast_binder *binder = binders; binder; binder = binder->next) {
        depth = deeper(depth, range_depth(&binder->range));
    }
    return depth;
}

void zf_seal_type(zf_parser *parser, zf_ast_type *type) {
    uint32_t depth = exprs_depth(type->length);
    if (type->element) depth = deeper(depth, type->element->depth);
    for (const zf_ast_type *arg = type->args; arg; arg = arg->next) depth = deeper(depth, arg->depth);
    type->depth = depth + 1;
    if (type->depth <= ZF_AST_DEPTH_LIMIT) return;
    zf_syntax_too_deep(parser, type->span);
    *type = (zf_ast_type){
        .kind = ZF_AT_NAME, .span = type->span, .name = zf_intern_name(parser->spec, "u8", 2), .depth = 1, .cut = true};
}

void zf_seal_expr(zf_parser *parser, zf_ast_expr *expr) {
    uint32_t depth = deeper(deeper(expr_depth(expr->a), exprs_depth(expr->b)), expr_depth(expr->c));
    depth = deeper(depth, deeper(range_depth(expr->range), binders_depth(expr->binders)));
    if (expr->type) depth = deeper(depth, expr->type->depth);
    depth = deeper(depth, exprs_depth(expr->args));
    expr->depth = depth + 1;
    if (expr->depth <= ZF_AST_DEPTH_LIMIT) return;
    zf_syntax_too_deep(parser, expr->span);
    *expr = (zf_ast_expr){.kind = ZF_AE_NULL, .span = expr->span, .depth = 1, .cut = true};
}

void zf_seal_stmt(zf_parser *parser, zf_ast_stmt *stmt) {
    uint32_t depth = deeper(expr_depth(stmt->value), expr_depth(stmt->place));
    depth = deeper(depth, deeper(range_depth(stmt->range), binders_depth(stmt->binders)));
    for (const zf_ast_selected *one = stmt->selected; one; one = one->next) depth = deeper(depth, one->value->depth);
    if (stmt->type) depth = deeper(depth, stmt->type->depth);
    if (stmt->body) depth = deeper(depth, stmt->body->depth);
    if (stmt->else_part) depth = deeper(depth, stmt->else_part->depth);
    stmt->depth = depth + 1;
    if (stmt->depth <= ZF_AST_DEPTH_LIMIT) return;
    zf_syntax_too_deep(parser, stmt->span);
    bool branch = stmt->kind == ZF_AS_IF || stmt->kind == ZF_AS_BLOCK;
    *stmt = (zf_ast_stmt){.kind = ZF_AS_BREAK, .span = stmt->span, .depth = 1, .cut = true};
    if (!branch) return;
    // It may be what follows an `else`, and that is an `if` or a block: a block around what was cut.
    zf_ast_stmt *inside = zf_new_stmt(parser, ZF_AS_BREAK, stmt->span);
    inside->cut = true;
    stmt->kind = ZF_AS_BLOCK;
    stmt->body = zf_build_block(parser, inside, stmt->span);
    stmt->depth = 2;
}

void zf_seal_codec(zf_parser *parser, zf_ast_codec *codec) {
    uint32_t depth = 0;
    for (const zf_ast_codec_arg *arg = codec->args; arg; arg = arg->next) {
        depth = deeper(depth, arg->value->depth);
        if (arg->type) depth = deeper(depth, arg->type->depth);
    }
    for (const zf_ast_codec *alt = codec->alts; alt; alt = alt->next) depth = deeper(depth, alt->depth);
    codec->depth = depth + 1;
    if (codec->depth <= ZF_AST_DEPTH_LIMIT) return;
    zf_syntax_too_deep(parser, codec->span);
    zf_name plain = zf_intern_name(parser->spec, "plain", 5);
    *codec = (zf_ast_codec){.kind = ZF_AC_NAME, .span = codec->span, .name = plain, .depth = 1, .cut = true};
}

// ---- Nodes with their parts -----------------------------------------------------------------------------------

zf_ast_type *zf_build_named_type(zf_parser *parser, zf_name name, zf_span span) {
    static const char *const reserved[] = {"f16", "bf16", "u128", "i128"};
    zf_ast_type *type = zf_new_type(parser, ZF_AT_NAME, span);
    type->name = name;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(name, reserved[i]) != 0) continue;
        zf_diag_error(parser->diags, ZF_D_RESERVED, span, "`%s` is reserved for a later version of the language", name);
        type->cut = true;
    }
    return type;
}

zf_ast_type *zf_build_list_type(zf_parser *parser, zf_name name, zf_ast_type *element, zf_span span) {
    zf_ast_type *type = zf_new_type(parser, ZF_AT_LIST, span);
    type->name = name;
    type->element = element;
    zf_seal_type(parser, type);
    return type;
}

zf_ast_expr *zf_build_unary(zf_parser *parser, zf_op op, zf_ast_expr *a, zf_span span) {
    zf_ast_expr *expr = zf_new_expr(parser, ZF_AE_UNARY, span);
    expr->op = op;
    expr->a = a;
    zf_seal_expr(parser, expr);
    return expr;
}

zf_ast_expr *zf_build_binary(zf_parser *parser, zf_op op, zf_ast_expr *a, zf_ast_expr *b, zf_span span) {
    zf_ast_expr *expr = zf_new_expr(parser, ZF_AE_BINARY, span);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    zf_seal_expr(parser, expr);
    return expr;
}

zf_ast_block *zf_build_block(zf_parser *parser, zf_ast_stmt *stmts, zf_span span) {
    zf_ast_block *block = ZF_NEW(parser->arena, zf_ast_block);
    *block = (zf_ast_block){.span = span, .stmts = stmts};
    for (const zf_ast_stmt *stmt = stmts; stmt; stmt = stmt->next) block->depth = deeper(block->depth, stmt->depth);
    return block;
}

zf_ast_stmt *zf_build_let(zf_parser *parser, zf_ast_stmt_kind kind, zf_name name, zf_span name_span, zf_ast_type *type,
                          zf_ast_expr *value, zf_span span) {
    zf_ast_stmt *stmt = zf_new_stmt(parser, kind, span);
    stmt->name = name;
    stmt->name_span = name_span;
    stmt->type = type;
    stmt->value = value;
    zf_seal_stmt(parser, stmt);
    return stmt;
}

zf_ast_stmt *zf_build_value_stmt(zf_parser *parser, zf_ast_stmt_kind kind, zf_ast_expr *value, zf_span span) {
    zf_ast_stmt *stmt = zf_new_stmt(parser, kind, span);
    stmt->value = value;
    zf_seal_stmt(parser, stmt);
    return stmt;
}

zf_ast_stmt *zf_build_if(zf_parser *parser, zf_ast_expr *condition, zf_ast_block *body, zf_ast_stmt *else_part, zf_span span) {
    zf_ast_stmt *stmt = zf_new_stmt(parser, ZF_AS_IF, span);
    stmt->value = condition;
    stmt->body = body;
    stmt->else_part = else_part;
    zf_seal_stmt(parser, stmt);
    return stmt;
}

zf_ast_func *zf_build_func(zf_ast_func *func, zf_name name, zf_span name_span, zf_ast_formal *formals, zf_ast_type *result,
                           zf_span span) {
    func->span = span;
    func->name = name;
    func->name_span = name_span;
    func->formals = formals;
    func->result = result;
    return func;
}

zf_ast_codec *zf_build_codec(zf_parser *parser, zf_ast_codec *alts, zf_span span) {
    if (!alts->next) return alts;
    zf_ast_codec *codec = zf_new_codec(parser, ZF_AC_ALT, span);
    codec->alts = alts;
    zf_seal_codec(parser, codec);
    return codec;
}

void zf_build_version(zf_parser *parser, uint64_t version, zf_span number, zf_span span) {
    zf_ast_unit *unit = parser->unit;
    if (unit->has_version || unit->decls) {
        zf_diag_error(parser->diags, ZF_D_VERSION, span, "the language version stands once, before all declarations");
    } else if (version != LANGUAGE_VERSION) {
        zf_diag *diag =
            zf_diag_error(parser->diags, ZF_D_VERSION, number, "language version %llu is not known", (unsigned long long)version);
        zf_diag_hint(parser->diags, diag, "this compiler reads version %d", LANGUAGE_VERSION);
    } else {
        unit->version = version;
    }
    unit->has_version = true;
    unit->version_span = span;
}

// The interface between the scanner, the grammar and the wording of syntax errors. Not for other files.
#ifndef ZF_FRONTEND_PARSE_H
#define ZF_FRONTEND_PARSE_H

#include "frontend/spec/spec_internal.h"

#define ZF_SYNTAX_LIST(type)                                                                                                     \
    struct {                                                                                                                     \
        type *first, *last;                                                                                                      \
    }

/// The value of a symbol of the grammar.
union zf_syntax_value {
    // tokens
    zf_name name;
    uint64_t integer;
    double real;
    const char *text;
    zf_op op;
    // trees
    zf_ast_type *type;
    zf_ast_expr *expr;
    zf_ast_range *range;
    zf_ast_binder *binder;
    zf_ast_stmt *stmt;
    zf_ast_block *block;
    zf_ast_formal *formal;
    zf_ast_func *func;
    zf_ast_generic *generic;
    zf_ast_port *port;
    zf_ast_option *option;
    zf_ast_member *member;
    zf_ast_codec *codec;
    zf_ast_codec_arg *codec_arg;
    zf_ast_column *column;
    zf_ast_selected *selected;
    zf_ast_query_member *query_member;
    zf_ast_decl *decl;
    // lists
    ZF_SYNTAX_LIST(zf_ast_type) types;
    ZF_SYNTAX_LIST(zf_ast_expr) exprs;
    ZF_SYNTAX_LIST(zf_ast_binder) binders;
    ZF_SYNTAX_LIST(zf_ast_stmt) stmts;
    ZF_SYNTAX_LIST(zf_ast_formal) formals;
    ZF_SYNTAX_LIST(zf_ast_generic) generics;
    ZF_SYNTAX_LIST(zf_ast_port) ports;
    ZF_SYNTAX_LIST(zf_ast_option) options;
    struct {
        zf_ast_member *first, *last;
        bool lost; ///< one was discarded by recovery
    } members;
    struct {
        zf_ast_query_member *first, *last;
        bool lost;
    } query_members;
    ZF_SYNTAX_LIST(zf_ast_selected) selection;
    ZF_SYNTAX_LIST(zf_ast_codec) codecs;
    ZF_SYNTAX_LIST(zf_ast_codec_arg) codec_args;
    ZF_SYNTAX_LIST(zf_ast_column) columns;
    // parts of a larger rule
    struct {
        zf_ast_range *range;
        zf_ast_expr *expr; ///< FOR over an expression
    } domain;
    struct {
        zf_pattern pattern;
        zf_ast_option *options;
    } pattern;
};

/// A token as the grammar gets it.
typedef struct zf_token {
    int kind; ///< of parser.h; 0 at the end
    union zf_syntax_value value;
    zf_span span;
} zf_token;

enum {
    ZF_OPEN_LIMIT = 64, ///< open brackets whose places are remembered, for remarks
    ZF_EXPECTED_LIMIT = 96,
};

/// One parse. The grammar's actions only build nodes; what follows serves errors and their recovery.
typedef struct zf_parser {
    zf_spec *spec;
    zf_arena *arena;
    zf_diags *diags;
    const zf_source *source;
    zf_ast_unit *unit;
    zf_ast_decl **last_decl;
    zf_ast_comment **last_comment;
    void *scanner;
    uint32_t scanned;   ///< bytes that the scanner has passed
    size_t used_before; ///< of the arena
    jmp_buf fatal;      ///< where the scanner goes when it has no memory

    zf_token current;  ///< delivered last
    zf_token previous; ///< delivered before it
    int declaration;   ///< the keyword of the declaration that we are in
    bool skipped_bad;  ///< the scanner reported something since the token before the current one
    bool reported_deep, reported_size;

    zf_span open[ZF_OPEN_LIMIT]; ///< brackets delivered and not closed yet
    uint32_t open_count, brace_count;

    // Recovery: what is delivered before the scanner is asked again.
    uint32_t closers; ///< that many `}`
    bool semicolon;   ///< then a `;`
    bool has_held;    ///< then this token
    zf_token held;
    bool skipping;       ///< tokens are passed over up to the next `;` or `}` of this level
    uint32_t skip_depth; ///< braces opened while skipping
    uint32_t retried;    ///< place of the last token that an error was at, plus 1
} zf_parser;

/// The scanner (lexer.l): the next token's kind.
int zf_scan_token(union zf_syntax_value *value, zf_span *span, void *scanner);
/// Returns the next token for the grammar (parse.c).
int zf_syntax_lex(union zf_syntax_value *value, zf_span *span, zf_parser *parser);

/// Reports a token that cannot stand where it is. `expected`: names of symbols as parser.y gives them (parse_error.c).
void zf_syntax_report(zf_parser *parser, const char *found, const char *const *expected, size_t count);
/// Prepares the tokens that follow so that the grammar's error rules meet a `;` or `}` of the right level (parse.c).
void zf_syntax_recover(zf_parser *parser, bool semicolon_expected);
/// True when a line ends between the two.
bool zf_on_later_line(const zf_parser *parser, const zf_token *before, const zf_token *token);
/// Reports nesting beyond the limit, once (parse.c).
void zf_syntax_too_deep(zf_parser *parser, zf_span span);

// ---- Building nodes (parse_build.c) ----
// `zf_new_*` gives a node of depth 1 to be filled; `zf_seal_*` then computes its depth from its parts, and turns a node beyond
// the limit into a leaf after reporting it. `zf_build_*` do both.
zf_ast_type *zf_new_type(zf_parser *parser, zf_ast_type_kind kind, zf_span span);
zf_ast_expr *zf_new_expr(zf_parser *parser, zf_ast_expr_kind kind, zf_span span);
zf_ast_stmt *zf_new_stmt(zf_parser *parser, zf_ast_stmt_kind kind, zf_span span);
zf_ast_codec *zf_new_codec(zf_parser *parser, zf_ast_codec_kind kind, zf_span span);
zf_ast_range *zf_new_range(zf_parser *parser, zf_ast_expr *lo, zf_ast_expr *hi, bool inclusive, zf_span span);
zf_ast_decl *zf_new_decl(zf_parser *parser, zf_ast_decl_kind kind, zf_name name, zf_span name_span);
zf_ast_member *zf_new_member(zf_parser *parser, zf_ast_member_kind kind, zf_name name, zf_span name_span, zf_span span);
zf_ast_formal *zf_new_formal(zf_parser *parser, zf_name name, zf_ast_type *type, bool is_var, zf_span span);
void zf_seal_type(zf_parser *parser, zf_ast_type *type);
void zf_seal_expr(zf_parser *parser, zf_ast_expr *expr);
void zf_seal_stmt(zf_parser *parser, zf_ast_stmt *stmt);
void zf_seal_codec(zf_parser *parser, zf_ast_codec *codec);
zf_ast_type *zf_build_named_type(zf_parser *parser, zf_name name, zf_span span);
/// `name<element>`.
zf_ast_type *zf_build_list_type(zf_parser *parser, zf_name name, zf_ast_type *element, zf_span span);
zf_ast_expr *zf_build_unary(zf_parser *parser, zf_op op, zf_ast_expr *a, zf_span span);
zf_ast_expr *zf_build_binary(zf_parser *parser, zf_op op, zf_ast_expr *a, zf_ast_expr *b, zf_span span);
zf_ast_block *zf_build_block(zf_parser *parser, zf_ast_stmt *stmts, zf_span span);
zf_ast_stmt *zf_build_let(zf_parser *parser, zf_ast_stmt_kind kind, zf_name name, zf_span name_span, zf_ast_type *type,
                          zf_ast_expr *value, zf_span span);
zf_ast_stmt *zf_build_value_stmt(zf_parser *parser, zf_ast_stmt_kind kind, zf_ast_expr *value, zf_span span);
zf_ast_stmt *zf_build_if(zf_parser *parser, zf_ast_expr *condition, zf_ast_block *body, zf_ast_stmt *else_part, zf_span span);
zf_ast_func *zf_build_func(zf_ast_func *func, zf_name name, zf_span name_span, zf_ast_formal *formals, zf_ast_type *result,
                           zf_span span);
/// One codec as it is, several as a node of alternatives.
zf_ast_codec *zf_build_codec(zf_parser *parser, zf_ast_codec *alts, zf_span span);
/// A member of a query, of PARAM, INPUT or RESULT.
zf_ast_query_member *zf_new_query_member(zf_parser *parser, zf_ast_query_member_kind kind, zf_name name, zf_span name_span,
                                         zf_ast_type *type, zf_span span);
/// `zf 1;`: reports versions that are unknown, and a place other than the first.
void zf_build_version(zf_parser *parser, uint64_t version, zf_span number, zf_span span);

#endif

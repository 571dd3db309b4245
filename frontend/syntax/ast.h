// The syntax tree, exactly as written: what the parser builds and the formatter prints. Nothing is resolved here.
// All nodes live in the compilation's arena. Lists are linked by `next`, in source order.
#ifndef ZF_FRONTEND_AST_H
#define ZF_FRONTEND_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "frontend/syntax/source.h"

/// Levels of a tree of types, expressions, statements or codecs at most: whoever walks one may recurse. Deeper is ZF0112.
enum { ZF_AST_DEPTH_LIMIT = 256 };

typedef struct zf_ast_expr zf_ast_expr;
typedef struct zf_ast_type zf_ast_type;
typedef struct zf_ast_stmt zf_ast_stmt;
typedef struct zf_ast_codec zf_ast_codec;

/// An interned identifier: equal names are equal pointers within one compilation.
typedef const char *zf_name;

// ---- Types ----
typedef enum zf_ast_type_kind {
    ZF_AT_NAME,   ///< u8, T, date32
    ZF_AT_APPLY,  ///< decimal(15, 2), unsigned(T): `name` and `args`
    ZF_AT_OPTION, ///< E?
    ZF_AT_ARRAY,  ///< E[] (length NULL) or E[n]
    ZF_AT_LIST,   ///< list<E>: `name` is what stands before the `<`
} zf_ast_type_kind;

struct zf_ast_type {
    zf_ast_type_kind kind;
    zf_span span;
    zf_name name;      ///< NAME, APPLY, LIST
    zf_ast_type *args; ///< APPLY: each a type, or a number (kind NAME with name NULL and `number`)
    uint64_t number;
    zf_ast_type *element; ///< OPTION, ARRAY, LIST
    zf_ast_expr *length;  ///< ARRAY: NULL, or one; of a query's result one for each dimension, linked by next
    uint32_t depth;       ///< levels of the tree under it, itself included
    bool cut;             ///< already reported as nested too deep, or as a reserved name: stands for no type
    zf_ast_type *next;
};

// ---- Expressions ----
typedef enum zf_ast_expr_kind {
    ZF_AE_NAME,
    ZF_AE_INT,
    ZF_AE_FLOAT,
    ZF_AE_CHAR,
    ZF_AE_TRUE,
    ZF_AE_FALSE,
    ZF_AE_NULL,
    ZF_AE_TEXT,   ///< "text", in queries
    ZF_AE_PAREN,  ///< ( a )
    ZF_AE_MEMBER, ///< a . name
    ZF_AE_INDEX,  ///< a [ b ]; of a query's result b has a next for each further dimension
    ZF_AE_SLICE,  ///< a [ range ]
    ZF_AE_CALL,   ///< a ( args )
    ZF_AE_REDUCE, ///< a ( binders : b )
    ZF_AE_UNARY,  ///< op a
    ZF_AE_BINARY, ///< a op b
    ZF_AE_COND,   ///< a ? b : c
    ZF_AE_CAST,   ///< a as type (NAME or APPLY only)
} zf_ast_expr_kind;

typedef enum zf_op {
    ZF_OP_NEG,
    ZF_OP_BITNOT,
    ZF_OP_NOT,
    ZF_OP_OROR,
    ZF_OP_ANDAND,
    ZF_OP_EQ,
    ZF_OP_NE,
    ZF_OP_LT,
    ZF_OP_LE,
    ZF_OP_GT,
    ZF_OP_GE,
    ZF_OP_OR,
    ZF_OP_XOR,
    ZF_OP_AND,
    ZF_OP_SHL,
    ZF_OP_SHR,
    ZF_OP_ADD,
    ZF_OP_SUB,
    ZF_OP_MUL,
    ZF_OP_DIV,
    ZF_OP_REM,
    ZF_OP_COUNT
} zf_op;
/// As it is written (format_expr.c).
const char *zf_op_text(zf_op op);

/// lo..hi, lo..=hi; either end may be NULL (open), where the grammar admits it.
typedef struct zf_ast_range {
    zf_span span;
    zf_ast_expr *lo, *hi;
    bool inclusive;
} zf_ast_range;

typedef struct zf_ast_binder {
    zf_span span;
    zf_name name;
    zf_ast_range range;
    struct zf_ast_binder *next;
} zf_ast_binder;

struct zf_ast_expr {
    zf_ast_expr_kind kind;
    zf_span span;
    zf_name name;      ///< NAME, MEMBER
    zf_span name_span; ///< of a MEMBER's name
    uint64_t integer;  ///< INT, CHAR
    double real;       ///< FLOAT
    const char *text;  ///< TEXT, unescaped
    zf_op op;
    zf_ast_expr *a, *b, *c;
    zf_ast_expr *args;      ///< CALL
    zf_ast_binder *binders; ///< REDUCE
    zf_ast_range *range;    ///< SLICE
    zf_ast_type *type;      ///< CAST
    uint32_t depth;         ///< levels of the tree under it, itself included
    bool cut;               ///< what stood here nested too deep, which was reported: it means nothing
    zf_ast_expr *next;      ///< in a list of arguments
};

// ---- Statements ----
typedef enum zf_ast_stmt_kind {
    ZF_AS_LET,
    ZF_AS_VAR,
    ZF_AS_ASSIGN,
    ZF_AS_EXPR,
    ZF_AS_IF,
    ZF_AS_WHILE,
    ZF_AS_LOOP,
    ZF_AS_FOR,
    ZF_AS_BREAK,
    ZF_AS_CONTINUE,
    ZF_AS_RETURN,
    ZF_AS_EMIT,
    ZF_AS_REQUIRE,
    ZF_AS_REFUSE,
    ZF_AS_BLOCK,
    ZF_AS_SELECT, ///< in queries
} zf_ast_stmt_kind;

/// `name = value` in a `select`.
typedef struct zf_ast_selected {
    zf_span span;
    zf_name name;
    zf_span name_span;
    zf_ast_expr *value;
    struct zf_ast_selected *next;
} zf_ast_selected;

typedef struct zf_ast_block {
    zf_span span;
    zf_ast_stmt *stmts;
    uint32_t depth;
} zf_ast_block;

struct zf_ast_stmt {
    zf_ast_stmt_kind kind;
    zf_span span;
    zf_name name; ///< LET, VAR, FOR
    zf_span name_span;
    zf_ast_type *type;  ///< LET, VAR; NULL when absent
    zf_ast_expr *value; ///< LET, VAR (may be NULL), ASSIGN, EXPR, IF/WHILE condition, FOR over an expression, RETURN (may be
                        ///< NULL), EMIT, REQUIRE
    zf_ast_expr *place; ///< ASSIGN: what is assigned
    bool has_op;        ///< ASSIGN: place op= value
    zf_op op;
    zf_ast_range *range;       ///< FOR over lo..hi
    zf_ast_block *body;        ///< IF, WHILE, LOOP, FOR
    zf_ast_stmt *else_part;    ///< IF: an IF (else if), or a BLOCK (else), or NULL
    zf_ast_binder *binders;    ///< EMIT with regions
    zf_ast_selected *selected; ///< SELECT
    const char *text;          ///< REFUSE: the reason, unescaped
    uint32_t depth;
    bool cut; ///< what stood here nested too deep, which was reported: it means nothing
    zf_ast_stmt *next;
};

// ---- Declarations ----
typedef struct zf_ast_formal {
    zf_span span;
    zf_name name;
    zf_ast_type *type; ///< NULL: u64, an index
    bool is_var;
    struct zf_ast_formal *next;
} zf_ast_formal;

typedef struct zf_ast_func {
    zf_span span;
    zf_name name;
    zf_span name_span;
    zf_ast_formal *formals;
    zf_ast_type *result; ///< NULL: from the body
    zf_ast_expr *value;  ///< `= expr;` or NULL
    zf_ast_block *body;  ///< or a block
    struct zf_ast_func *next;
} zf_ast_func;

typedef struct zf_ast_generic {
    zf_span span;
    zf_name name, bound; ///< bound NULL: none
    zf_ast_type *given;  ///< default, or NULL
    struct zf_ast_generic *next;
} zf_ast_generic;

typedef struct zf_ast_port {
    zf_span span;
    zf_name name;
    zf_span name_span;
    bool is_param;
    zf_ast_type *type;
    zf_name per;          ///< "chunk", or NULL
    zf_ast_range *within; ///< `in range`, or NULL
    zf_ast_expr *given;   ///< of a param: `= expr`, or NULL
    struct zf_ast_port *next;
} zf_ast_port;

typedef enum zf_ast_member_kind {
    ZF_AM_VALUE,
    ZF_AM_EXPR,
    ZF_AM_BLOCK,
    ZF_AM_EXTERN,
    ZF_AM_STATE,
    ZF_AM_FUNC
} zf_ast_member_kind;

/// VALUE: groups = e; EXPR: size(g) = e; BLOCK: decode {..} or decode(g, j) {..}; EXTERN: encode extern "lz4";
typedef struct zf_ast_member {
    zf_ast_member_kind kind;
    zf_span span;
    zf_name name;
    zf_span name_span;
    bool has_formals;
    zf_ast_formal *formals;
    zf_ast_expr *value;
    zf_ast_block *body;
    zf_ast_type *type; ///< STATE
    const char *text;  ///< EXTERN
    zf_ast_func *func; ///< FUNC
    struct zf_ast_member *next;
} zf_ast_member;

typedef enum zf_pattern { ZF_FULLY_PARALLEL, ZF_GROUP_PARALLEL, ZF_NON_PARALLEL } zf_pattern;

typedef struct zf_ast_option { ///< chunk = 65536, lanes = 32
    zf_span span;
    zf_name name;
    zf_ast_expr *value;
    struct zf_ast_option *next;
} zf_ast_option;

typedef struct zf_ast_algorithm {
    zf_ast_generic *generics;
    zf_ast_port *ports;
    zf_ast_type *result;
    zf_pattern pattern;
    zf_span pattern_span;
    zf_ast_option *options;
    zf_ast_member *members;
    bool member_lost; ///< a syntax error hid a member: none is reported as missing
} zf_ast_algorithm;

// ---- Queries ----
typedef enum zf_ast_query_member_kind {
    ZF_AQ_PARAM,  ///< param name: type = value;
    ZF_AQ_INPUT,  ///< input name: type[];
    ZF_AQ_RESULT, ///< result name: type = word;
    ZF_AQ_FUNC,
    ZF_AQ_EACH,
} zf_ast_query_member_kind;

typedef struct zf_ast_query_member {
    zf_ast_query_member_kind kind;
    zf_span span;
    zf_name name; ///< PARAM, INPUT, RESULT
    zf_span name_span;
    zf_ast_type *type;  ///< of these
    zf_ast_expr *value; ///< PARAM; NULL: it must be set
    zf_name word;       ///< RESULT: its kind
    zf_span word_span;
    zf_ast_func *func;      ///< FUNC
    zf_ast_block *body;     ///< EACH
    zf_ast_binder *binders; ///< EACH of pairs; NULL: of rows
    struct zf_ast_query_member *next;
} zf_ast_query_member;

typedef struct zf_ast_query {
    zf_name table;
    zf_span table_span;
    zf_ast_query_member *members;
    bool member_lost; ///< a syntax error hid a member: none is reported as missing
} zf_ast_query;

// ---- Codecs and tables ----
typedef enum zf_ast_codec_kind {
    ZF_AC_NAME,    ///< name, or name(args)
    ZF_AC_LITERAL, ///< a constant given to a param
    ZF_AC_ALT,     ///< a | b | c in `alts`
} zf_ast_codec_kind;

typedef struct zf_ast_codec_arg {
    zf_span span;
    zf_name label; ///< NULL when positional
    zf_span label_span;
    zf_ast_type *type; ///< `name: u16[] = codec`; NULL when absent
    zf_ast_codec *value;
    struct zf_ast_codec_arg *next;
} zf_ast_codec_arg;

struct zf_ast_codec {
    zf_ast_codec_kind kind;
    zf_span span;
    zf_name name;
    bool has_args; ///< parentheses were written
    zf_ast_codec_arg *args;
    zf_ast_expr *literal; ///< INT, FLOAT, CHAR, TRUE, FALSE, or UNARY NEG of INT
    zf_ast_codec *alts;   ///< linked by next
    uint32_t depth;
    bool cut; ///< what stood here nested too deep, which was reported: it means nothing
    zf_ast_codec *next;
};

typedef struct zf_ast_column {
    zf_span span;
    zf_name name;
    zf_span name_span;
    zf_ast_type *type;
    zf_ast_codec *codec;
    zf_ast_codec_arg *parts; ///< of a list: `validity: codec`, `values: codec`
    struct zf_ast_column *next;
} zf_ast_column;

typedef enum zf_ast_decl_kind {
    ZF_AD_IMPORT,
    ZF_AD_CONST,
    ZF_AD_FUNC,
    ZF_AD_ALGORITHM,
    ZF_AD_CODEC,
    ZF_AD_TABLE,
    ZF_AD_QUERY,
} zf_ast_decl_kind;

typedef struct zf_ast_decl {
    zf_ast_decl_kind kind;
    zf_span span;
    zf_name name;
    zf_span name_span;
    const char *text;            ///< IMPORT: the path, unescaped
    zf_ast_type *type;           ///< CONST, CODEC
    zf_ast_expr *value;          ///< CONST
    zf_ast_expr *elements;       ///< CONST with [ .. ]; NULL otherwise
    zf_ast_func *func;           ///< FUNC
    zf_ast_algorithm *algorithm; ///< ALGORITHM
    zf_ast_codec *codec;         ///< CODEC
    zf_ast_column *columns;      ///< TABLE
    zf_ast_query *query;         ///< QUERY
    struct zf_ast_decl *next;
} zf_ast_decl;

/// A comment, for the formatter. `span` has no newline at its end.
typedef struct zf_ast_comment {
    zf_span span;
    bool own_line; ///< nothing but space before it on its line
    struct zf_ast_comment *next;
} zf_ast_comment;

typedef struct zf_ast_unit {
    const zf_source *source;
    uint64_t version; ///< 1 when absent
    bool has_version;
    zf_span version_span;
    zf_ast_decl *decls;
    zf_ast_comment *comments;
} zf_ast_unit;

#endif

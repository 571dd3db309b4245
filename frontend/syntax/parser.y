/* The grammar: LALR(1), no conflicts, no precedence. Actions build nodes and look at no state. Places are byte offsets. */
%code requires {
#include "frontend/syntax/parse.h"
}
%code {
#include "parser.h"

#define YYLLOC_DEFAULT(current, right, count)                                                                            \
    do {                                                                                                                 \
        if (count) {                                                                                                     \
            (current) = (zf_span){YYRHSLOC(right, 1).source, YYRHSLOC(right, 1).begin, YYRHSLOC(right, count).end};      \
        } else {                                                                                                         \
            (current) = (zf_span){YYRHSLOC(right, 0).source, YYRHSLOC(right, 0).end, YYRHSLOC(right, 0).end};            \
        }                                                                                                                \
    } while (0)

/* Enough for ZF_AST_DEPTH_LIMIT levels of anything; what would exceed it is nested deeper. */
#define YYMAXDEPTH 20000

static void zf_syntax_error(const zf_span *span, zf_parser *parser, const char *message);
}

%define api.prefix {zf_syntax_}
%define api.pure full
%define api.location.type {zf_span}
%define api.value.type {union zf_syntax_value}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {zf_parser *parser}
%initial-action { @$ = (zf_span){parser->source, 0, 0}; }

%token END 0 "the end of the file"
%token IMPORT "import" CONST "const" FN "fn" ALGORITHM "algorithm" CODEC "codec" TABLE "table" PARAM "param" PER "per"
%token LET "let" VAR "var" STATE "state" IF "if" ELSE "else" WHILE "while" LOOP "loop" FOR "for" IN "in" BREAK "break"
%token CONTINUE "continue" RETURN "return" EMIT "emit" REQUIRE "require" REFUSE "refuse" EXTERN "extern" AS "as"
%token NUL "null" TRUE_ "true" FALSE_ "false" ZF "zf"
%token QUERY "query" INPUT "input" RESULT "result" EACH "each" SELECT "select" /* of names (parse.c) */
%token FULLY "fully_parallel" GROUPP "group_parallel" NONP "non_parallel"
%token <name> IDENT "a name"
%token <integer> INT "a number" CHAR "a byte"
%token <real> FLOAT "a float"
%token <text> STRING "a string"
%token <op> OPASSIGN "an assignment operator"
%token ARROW "->" DD ".." DDE "..=" OROR "||" ANDAND "&&" EQ "==" NE "!=" LE "<=" GE ">=" SHL "<<" SHR ">>"

%type <decl> decl
%type <columns> columns
%type <query_members> query_members
%type <query_member> query_member
%type <selection> selection
%type <selected> selected
%type <exprs> exprs
%type <expr> expr lor land cmp bor bxor band shift add mul cast unary postfix primary given
%type <op> cmpop
%type <generics> generics generic_list
%type <generic> generic
%type <name> bound per
%type <type> gdefault type type_arg ctype stype result result_type
%type <types> type_args
%type <ports> ports port_list
%type <port> port
%type <range> within closed range
%type <pattern> pattern
%type <options> options option_list
%type <option> option
%type <members> members
%type <member> member
%type <func> fbody
%type <formals> fparams fparam_list
%type <formal> fparam
%type <block> block
%type <stmts> stmts
%type <stmt> stmt ifstmt
%type <domain> source
%type <binders> binders
%type <binder> binder
%type <codec> codec alt
%type <codecs> alts
%type <codec_args> cargs carg_list parts
%type <codec_arg> carg part
%type <codec> value
%type <expr> literal

%code {
/* Appends to a list, which may be empty. */
#define APPEND(list, node)                                                                                               \
    do {                                                                                                                 \
        if ((list).last) (list).last->next = (node);                                                                     \
        else (list).first = (node);                                                                                      \
        (list).last = (node);                                                                                            \
    } while (0)
#define START(list, node) ((list).first = (list).last = (node))
#define EMPTY(list) ((list).first = NULL, (list).last = NULL)
}

%%

top: unit ;

unit: %empty
  | unit decl {
        if ($2) {
            $2->span = @2;
            *parser->last_decl = $2;
            parser->last_decl = &$2->next;
        }
    }
  ;

decl: ZF INT ';' { zf_build_version(parser, $2, @2, @$); $$ = NULL; }
  | IMPORT STRING ';' {
        $$ = $2 ? zf_new_decl(parser, ZF_AD_IMPORT, NULL, @2) : NULL; // a string that could not be read names no file
        if ($$) $$->text = $2;
    }
  | CONST IDENT ':' type '=' expr ';' { $$ = zf_new_decl(parser, ZF_AD_CONST, $2, @2); $$->type = $4; $$->value = $6; }
  | CONST IDENT ':' type '=' '[' exprs ']' ';' {
        $$ = zf_new_decl(parser, ZF_AD_CONST, $2, @2);
        $$->type = $4;
        $$->elements = $7.first;
    }
  | FN IDENT '(' fparams ')' result fbody {
        $$ = zf_new_decl(parser, ZF_AD_FUNC, $2, @2);
        $$->func = zf_build_func($7, $2, @2, $4.first, $6, @$);
    }
  | ALGORITHM IDENT generics '(' ports ')' ARROW type pattern '{' members '}' {
        $$ = zf_new_decl(parser, ZF_AD_ALGORITHM, $2, @2);
        $$->algorithm = ZF_NEW(parser->arena, zf_ast_algorithm);
        *$$->algorithm = (zf_ast_algorithm){.generics = $3.first, .ports = $5.first, .result = $8, .pattern = $9.pattern,
                                            .pattern_span = @9, .options = $9.options, .members = $11.first, .member_lost = $11.lost};
    }
  | ALGORITHM IDENT generics '(' ports ')' ARROW type pattern '{' members error '}' { $$ = NULL; yyerrok; }
  | CODEC IDENT ':' type '=' codec ';' { $$ = zf_new_decl(parser, ZF_AD_CODEC, $2, @2); $$->type = $4; $$->codec = $6; }
  | TABLE IDENT '{' columns '}' { $$ = zf_new_decl(parser, ZF_AD_TABLE, $2, @2); $$->columns = $4.first; }
  | TABLE IDENT '{' columns error '}' { $$ = NULL; yyerrok; }
  | QUERY IDENT '(' IDENT ')' '{' query_members '}' {
        $$ = zf_new_decl(parser, ZF_AD_QUERY, $2, @2);
        $$->query = ZF_NEW(parser->arena, zf_ast_query);
        *$$->query = (zf_ast_query){.table = $4, .table_span = @4, .members = $7.first, .member_lost = $7.lost};
    }
  | QUERY IDENT '(' IDENT ')' '{' query_members error '}' { $$ = NULL; yyerrok; }
  | error ';' { $$ = NULL; yyerrok; }
  | error '}' { $$ = NULL; yyerrok; }
  ;

query_members: %empty { EMPTY($$); $$.lost = false; }
  | query_members query_member { $$ = $1; APPEND($$, $2); }
  | query_members error ';' { $$ = $1; $$.lost = true; yyerrok; }
  ;
query_member: PARAM IDENT ':' type given ';' {
        $$ = zf_new_query_member(parser, ZF_AQ_PARAM, $2, @2, $4, @$);
        $$->value = $5;
    }
  | INPUT IDENT ':' type ';' { $$ = zf_new_query_member(parser, ZF_AQ_INPUT, $2, @2, $4, @$); }
  | RESULT IDENT ':' result_type '=' IDENT ';' {
        $$ = zf_new_query_member(parser, ZF_AQ_RESULT, $2, @2, $4, @$);
        $$->word = $6;
        $$->word_span = @6;
    }
  | FN IDENT '(' fparams ')' result fbody {
        $$ = zf_new_query_member(parser, ZF_AQ_FUNC, $2, @2, NULL, @$);
        $$->func = zf_build_func($7, $2, @2, $4.first, $6, @$);
    }
  | EACH block { $$ = zf_new_query_member(parser, ZF_AQ_EACH, NULL, @1, NULL, @$); $$->body = $2; }
  | EACH binders block {
        $$ = zf_new_query_member(parser, ZF_AQ_EACH, NULL, @1, NULL, @$);
        $$->binders = $2.first;
        $$->body = $3;
    }
  ;

result_type: type
  | type '[' expr ',' exprs ']' {
        $$ = zf_new_type(parser, ZF_AT_ARRAY, @$);
        $$->element = $1;
        $$->length = $3;
        $3->next = $5.first;
        zf_seal_type(parser, $$);
    }
  ;

columns: %empty { EMPTY($$); }
  | columns IDENT ':' type '=' codec parts ';' {
        $$ = $1;
        zf_ast_column *column = ZF_NEW(parser->arena, zf_ast_column);
        *column = (zf_ast_column){.span = {@2.source, @2.begin, @8.end}, .name = $2, .name_span = @2, .type = $4, .codec = $6,
                                  .parts = $7.first};
        APPEND($$, column);
    }
  | columns error ';' { $$ = $1; yyerrok; }
  ;

parts: %empty { EMPTY($$); } | parts ',' part { $$ = $1; APPEND($$, $3); } ;
part: IDENT ':' codec {
        $$ = ZF_NEW(parser->arena, zf_ast_codec_arg);
        *$$ = (zf_ast_codec_arg){.span = @$, .label = $1, .label_span = @1, .value = $3};
    }
  ;

generics: %empty { EMPTY($$); } | '<' generic_list '>' { $$ = $2; } ;
generic_list: generic { START($$, $1); } | generic_list ',' generic { $$ = $1; APPEND($$, $3); } ;
generic: IDENT bound gdefault {
        $$ = ZF_NEW(parser->arena, zf_ast_generic);
        *$$ = (zf_ast_generic){.span = @$, .name = $1, .bound = $2, .given = $3};
    }
  ;
bound: %empty { $$ = NULL; } | ':' IDENT { $$ = $2; } ;
gdefault: %empty { $$ = NULL; } | '=' type { $$ = $2; } ;

ports: %empty { EMPTY($$); } | port_list ;
port_list: port { START($$, $1); } | port_list ',' port { $$ = $1; APPEND($$, $3); } ;
port: IDENT ':' type per within {
        $$ = ZF_NEW(parser->arena, zf_ast_port);
        *$$ = (zf_ast_port){.span = @$, .name = $1, .name_span = @1, .type = $3, .per = $4, .within = $5};
    }
  | PARAM IDENT ':' type within given {
        $$ = ZF_NEW(parser->arena, zf_ast_port);
        *$$ = (zf_ast_port){.span = @$, .name = $2, .name_span = @2, .is_param = true, .type = $4, .within = $5, .given = $6};
    }
  ;
given: %empty { $$ = NULL; } | '=' expr { $$ = $2; } ;
per: %empty { $$ = NULL; } | PER IDENT { $$ = $2; } ;
within: %empty { $$ = NULL; } | IN range { $$ = $2; } ;

type: IDENT { $$ = zf_build_named_type(parser, $1, @$); }
  | IDENT '(' type_args ')' {
        $$ = zf_new_type(parser, ZF_AT_APPLY, @$);
        $$->name = $1;
        $$->args = $3.first;
        zf_seal_type(parser, $$);
    }
  | IDENT '<' type '>' { $$ = zf_build_list_type(parser, $1, $3, @$); }
  | IDENT '<' IDENT '<' type SHR {
        zf_span inner = {@3.source, @3.begin, @6.begin + 1};
        $$ = zf_build_list_type(parser, $1, zf_build_list_type(parser, $3, $5, inner), @$);
    }
  | type '?' { $$ = zf_new_type(parser, ZF_AT_OPTION, @$); $$->element = $1; zf_seal_type(parser, $$); }
  | type '[' ']' { $$ = zf_new_type(parser, ZF_AT_ARRAY, @$); $$->element = $1; zf_seal_type(parser, $$); }
  | type '[' expr ']' {
        $$ = zf_new_type(parser, ZF_AT_ARRAY, @$);
        $$->element = $1;
        $$->length = $3;
        zf_seal_type(parser, $$);
    }
  ;
type_args: type_arg { START($$, $1); } | type_args ',' type_arg { $$ = $1; APPEND($$, $3); } ;
type_arg: type | INT { $$ = zf_new_type(parser, ZF_AT_NAME, @$); $$->number = $1; } ;
ctype: IDENT '[' ']' {
        $$ = zf_new_type(parser, ZF_AT_ARRAY, @$);
        $$->element = zf_build_named_type(parser, $1, @1);
        zf_seal_type(parser, $$);
    }
  | IDENT '?' '[' ']' {
        zf_ast_type *option = zf_new_type(parser, ZF_AT_OPTION, (zf_span){@1.source, @1.begin, @2.end});
        option->element = zf_build_named_type(parser, $1, @1);
        zf_seal_type(parser, option);
        $$ = zf_new_type(parser, ZF_AT_ARRAY, @$);
        $$->element = option;
        zf_seal_type(parser, $$);
    }
  ;
stype: IDENT { $$ = zf_build_named_type(parser, $1, @$); }
  | IDENT '(' type ')' {
        $$ = zf_new_type(parser, ZF_AT_APPLY, @$);
        $$->name = $1;
        $$->args = $3;
        zf_seal_type(parser, $$);
    }
  ;

pattern: FULLY { $$.pattern = ZF_FULLY_PARALLEL; $$.options = NULL; }
  | GROUPP { $$.pattern = ZF_GROUP_PARALLEL; $$.options = NULL; }
  | NONP options { $$.pattern = ZF_NON_PARALLEL; $$.options = $2.first; }
  ;
options: %empty { EMPTY($$); } | '(' option_list ')' { $$ = $2; } ;
option_list: option { START($$, $1); } | option_list ',' option { $$ = $1; APPEND($$, $3); } ;
option: IDENT '=' expr {
        $$ = ZF_NEW(parser->arena, zf_ast_option);
        *$$ = (zf_ast_option){.span = @$, .name = $1, .value = $3};
    }
  ;

members: %empty { EMPTY($$); $$.lost = false; }
  | members member { $$ = $1; APPEND($$, $2); }
  | members error ';' { $$ = $1; $$.lost = true; yyerrok; }
  ;
member: IDENT '=' expr ';' { $$ = zf_new_member(parser, ZF_AM_VALUE, $1, @1, @$); $$->value = $3; }
  | IDENT '(' fparams ')' '=' expr ';' {
        $$ = zf_new_member(parser, ZF_AM_EXPR, $1, @1, @$);
        $$->has_formals = true;
        $$->formals = $3.first;
        $$->value = $6;
    }
  | IDENT '(' fparams ')' block {
        $$ = zf_new_member(parser, ZF_AM_BLOCK, $1, @1, @$);
        $$->has_formals = true;
        $$->formals = $3.first;
        $$->body = $5;
    }
  | IDENT block { $$ = zf_new_member(parser, ZF_AM_BLOCK, $1, @1, @$); $$->body = $2; }
  | IDENT EXTERN STRING ';' { $$ = zf_new_member(parser, ZF_AM_EXTERN, $1, @1, @$); $$->text = $3 ? $3 : ""; }
  | STATE IDENT ':' type '=' expr ';' {
        $$ = zf_new_member(parser, ZF_AM_STATE, $2, @2, @$);
        $$->type = $4;
        $$->value = $6;
    }
  | FN IDENT '(' fparams ')' result fbody {
        $$ = zf_new_member(parser, ZF_AM_FUNC, $2, @2, @$);
        $$->func = zf_build_func($7, $2, @2, $4.first, $6, @$);
    }
  ;

result: %empty { $$ = NULL; } | ARROW type { $$ = $2; } ;
fbody: '=' expr ';' { $$ = ZF_NEW(parser->arena, zf_ast_func); $$->value = $2; }
  | block { $$ = ZF_NEW(parser->arena, zf_ast_func); $$->body = $1; }
  ;
fparams: %empty { EMPTY($$); } | fparam_list ;
fparam_list: fparam { START($$, $1); } | fparam_list ',' fparam { $$ = $1; APPEND($$, $3); } ;
fparam: IDENT { $$ = zf_new_formal(parser, $1, NULL, false, @$); }
  | IDENT ':' type { $$ = zf_new_formal(parser, $1, $3, false, @$); }
  | VAR IDENT ':' type { $$ = zf_new_formal(parser, $2, $4, true, @$); }
  ;

block: '{' stmts '}' { $$ = zf_build_block(parser, $2.first, @$); }
  | '{' stmts error '}' { $$ = zf_build_block(parser, $2.first, @$); yyerrok; }
  ;
stmts: %empty { EMPTY($$); }
  | stmts stmt { $$ = $1; APPEND($$, $2); }
  | stmts error ';' { $$ = $1; yyerrok; }
  ;
stmt: LET IDENT '=' expr ';' { $$ = zf_build_let(parser, ZF_AS_LET, $2, @2, NULL, $4, @$); }
  | LET IDENT ':' type '=' expr ';' { $$ = zf_build_let(parser, ZF_AS_LET, $2, @2, $4, $6, @$); }
  | VAR IDENT '=' expr ';' { $$ = zf_build_let(parser, ZF_AS_VAR, $2, @2, NULL, $4, @$); }
  | VAR IDENT ':' type '=' expr ';' { $$ = zf_build_let(parser, ZF_AS_VAR, $2, @2, $4, $6, @$); }
  | VAR IDENT ':' type ';' { $$ = zf_build_let(parser, ZF_AS_VAR, $2, @2, $4, NULL, @$); }
  | postfix '=' expr ';' {
        $$ = zf_new_stmt(parser, ZF_AS_ASSIGN, @$);
        $$->place = $1;
        $$->value = $3;
        zf_seal_stmt(parser, $$);
    }
  | postfix OPASSIGN expr ';' {
        $$ = zf_new_stmt(parser, ZF_AS_ASSIGN, @$);
        $$->place = $1;
        $$->has_op = true;
        $$->op = $2;
        $$->value = $3;
        zf_seal_stmt(parser, $$);
    }
  | postfix ';' { $$ = zf_build_value_stmt(parser, ZF_AS_EXPR, $1, @$); }
  | ifstmt
  | WHILE expr block {
        $$ = zf_new_stmt(parser, ZF_AS_WHILE, @$);
        $$->value = $2;
        $$->body = $3;
        zf_seal_stmt(parser, $$);
    }
  | LOOP block { $$ = zf_new_stmt(parser, ZF_AS_LOOP, @$); $$->body = $2; zf_seal_stmt(parser, $$); }
  | FOR IDENT IN source block {
        $$ = zf_new_stmt(parser, ZF_AS_FOR, @$);
        $$->name = $2;
        $$->name_span = @2;
        $$->value = $4.expr;
        $$->range = $4.range;
        $$->body = $5;
        zf_seal_stmt(parser, $$);
    }
  | BREAK ';' { $$ = zf_build_value_stmt(parser, ZF_AS_BREAK, NULL, @$); }
  | CONTINUE ';' { $$ = zf_build_value_stmt(parser, ZF_AS_CONTINUE, NULL, @$); }
  | RETURN ';' { $$ = zf_build_value_stmt(parser, ZF_AS_RETURN, NULL, @$); }
  | RETURN expr ';' { $$ = zf_build_value_stmt(parser, ZF_AS_RETURN, $2, @$); }
  | EMIT expr ';' { $$ = zf_build_value_stmt(parser, ZF_AS_EMIT, $2, @$); }
  | EMIT binders ':' expr ';' {
        $$ = zf_new_stmt(parser, ZF_AS_EMIT, @$);
        $$->binders = $2.first;
        $$->value = $4;
        zf_seal_stmt(parser, $$);
    }
  | SELECT selection ';' { $$ = zf_new_stmt(parser, ZF_AS_SELECT, @$); $$->selected = $2.first; zf_seal_stmt(parser, $$); }
  | REQUIRE expr ';' { $$ = zf_build_value_stmt(parser, ZF_AS_REQUIRE, $2, @$); }
  | REFUSE STRING ';' { $$ = zf_new_stmt(parser, ZF_AS_REFUSE, @$); $$->text = $2 ? $2 : ""; zf_seal_stmt(parser, $$); }
  ;
selection: selected { START($$, $1); } | selection ',' selected { $$ = $1; APPEND($$, $3); } ;
selected: IDENT '=' expr {
        $$ = ZF_NEW(parser->arena, zf_ast_selected);
        *$$ = (zf_ast_selected){.span = @$, .name = $1, .name_span = @1, .value = $3};
    }
  ;
ifstmt: IF expr block { $$ = zf_build_if(parser, $2, $3, NULL, @$); }
  | IF expr block ELSE block {
        zf_ast_stmt *else_part = zf_new_stmt(parser, ZF_AS_BLOCK, @5);
        else_part->body = $5;
        zf_seal_stmt(parser, else_part);
        $$ = zf_build_if(parser, $2, $3, else_part, @$);
    }
  | IF expr block ELSE ifstmt { $$ = zf_build_if(parser, $2, $3, $5, @$); }
  ;
source: expr { $$.expr = $1; $$.range = NULL; } | closed { $$.expr = NULL; $$.range = $1; } ;
closed: expr DD expr { $$ = zf_new_range(parser, $1, $3, false, @$); }
  | expr DDE expr { $$ = zf_new_range(parser, $1, $3, true, @$); }
  ;
range: closed
  | expr DD { $$ = zf_new_range(parser, $1, NULL, false, @$); }
  | DD expr { $$ = zf_new_range(parser, NULL, $2, false, @$); }
  | DDE expr { $$ = zf_new_range(parser, NULL, $2, true, @$); }
  ;
binders: binder { START($$, $1); } | binders ',' binder { $$ = $1; APPEND($$, $3); } ;
binder: IDENT IN closed {
        $$ = ZF_NEW(parser->arena, zf_ast_binder);
        *$$ = (zf_ast_binder){.span = @$, .name = $1, .range = *$3};
    }
  ;

exprs: expr { START($$, $1); } | exprs ',' expr { $$ = $1; APPEND($$, $3); } ;
expr: lor | lor '?' expr ':' expr {
        $$ = zf_new_expr(parser, ZF_AE_COND, @$);
        $$->a = $1;
        $$->b = $3;
        $$->c = $5;
        zf_seal_expr(parser, $$);
    }
  ;
lor: land | lor OROR land { $$ = zf_build_binary(parser, ZF_OP_OROR, $1, $3, @$); } ;
land: cmp | land ANDAND cmp { $$ = zf_build_binary(parser, ZF_OP_ANDAND, $1, $3, @$); } ;
cmp: bor | bor cmpop bor { $$ = zf_build_binary(parser, $2, $1, $3, @$); } ;
cmpop: EQ { $$ = ZF_OP_EQ; }
  | NE { $$ = ZF_OP_NE; }
  | LE { $$ = ZF_OP_LE; }
  | GE { $$ = ZF_OP_GE; }
  | '<' { $$ = ZF_OP_LT; }
  | '>' { $$ = ZF_OP_GT; }
  ;
bor: bxor | bor '|' bxor { $$ = zf_build_binary(parser, ZF_OP_OR, $1, $3, @$); } ;
bxor: band | bxor '^' band { $$ = zf_build_binary(parser, ZF_OP_XOR, $1, $3, @$); } ;
band: shift | band '&' shift { $$ = zf_build_binary(parser, ZF_OP_AND, $1, $3, @$); } ;
shift: add
  | shift SHL add { $$ = zf_build_binary(parser, ZF_OP_SHL, $1, $3, @$); }
  | shift SHR add { $$ = zf_build_binary(parser, ZF_OP_SHR, $1, $3, @$); }
  ;
add: mul
  | add '+' mul { $$ = zf_build_binary(parser, ZF_OP_ADD, $1, $3, @$); }
  | add '-' mul { $$ = zf_build_binary(parser, ZF_OP_SUB, $1, $3, @$); }
  ;
mul: cast
  | mul '*' cast { $$ = zf_build_binary(parser, ZF_OP_MUL, $1, $3, @$); }
  | mul '/' cast { $$ = zf_build_binary(parser, ZF_OP_DIV, $1, $3, @$); }
  | mul '%' cast { $$ = zf_build_binary(parser, ZF_OP_REM, $1, $3, @$); }
  ;
cast: unary
  | cast AS stype {
        $$ = zf_new_expr(parser, ZF_AE_CAST, @$);
        $$->a = $1;
        $$->type = $3;
        zf_seal_expr(parser, $$);
    }
  ;
unary: postfix
  | '-' unary { $$ = zf_build_unary(parser, ZF_OP_NEG, $2, @$); }
  | '~' unary { $$ = zf_build_unary(parser, ZF_OP_BITNOT, $2, @$); }
  | '!' unary { $$ = zf_build_unary(parser, ZF_OP_NOT, $2, @$); }
  ;
postfix: primary
  | postfix '.' IDENT {
        $$ = zf_new_expr(parser, ZF_AE_MEMBER, @$);
        $$->a = $1;
        $$->name = $3;
        $$->name_span = @3;
        zf_seal_expr(parser, $$);
    }
  | postfix '[' exprs ']' {
        $$ = zf_new_expr(parser, ZF_AE_INDEX, @$);
        $$->a = $1;
        $$->b = $3.first;
        zf_seal_expr(parser, $$);
    }
  | postfix '[' range ']' {
        $$ = zf_new_expr(parser, ZF_AE_SLICE, @$);
        $$->a = $1;
        $$->range = $3;
        zf_seal_expr(parser, $$);
    }
  | postfix '(' ')' { $$ = zf_new_expr(parser, ZF_AE_CALL, @$); $$->a = $1; zf_seal_expr(parser, $$); }
  | postfix '(' exprs ')' {
        $$ = zf_new_expr(parser, ZF_AE_CALL, @$);
        $$->a = $1;
        $$->args = $3.first;
        zf_seal_expr(parser, $$);
    }
  | postfix '(' binders ':' expr ')' {
        $$ = zf_new_expr(parser, ZF_AE_REDUCE, @$);
        $$->a = $1;
        $$->binders = $3.first;
        $$->b = $5;
        zf_seal_expr(parser, $$);
    }
  ;
primary: IDENT { $$ = zf_new_expr(parser, ZF_AE_NAME, @$); $$->name = $1; }
  | INT { $$ = zf_new_expr(parser, ZF_AE_INT, @$); $$->integer = $1; }
  | FLOAT { $$ = zf_new_expr(parser, ZF_AE_FLOAT, @$); $$->real = $1; }
  | CHAR { $$ = zf_new_expr(parser, ZF_AE_CHAR, @$); $$->integer = $1; }
  | TRUE_ { $$ = zf_new_expr(parser, ZF_AE_TRUE, @$); }
  | FALSE_ { $$ = zf_new_expr(parser, ZF_AE_FALSE, @$); }
  | NUL { $$ = zf_new_expr(parser, ZF_AE_NULL, @$); }
  | STRING { $$ = zf_new_expr(parser, ZF_AE_TEXT, @$); $$->text = $1 ? $1 : ""; }
  | '(' expr ')' { $$ = zf_new_expr(parser, ZF_AE_PAREN, @$); $$->a = $2; zf_seal_expr(parser, $$); }
  ;

codec: alts { $$ = zf_build_codec(parser, $1.first, @$); } ;
alts: alt { START($$, $1); } | alts '|' alt { $$ = $1; APPEND($$, $3); } ;
alt: IDENT { $$ = zf_new_codec(parser, ZF_AC_NAME, @$); $$->name = $1; }
  | IDENT '(' cargs ')' {
        $$ = zf_new_codec(parser, ZF_AC_NAME, @$);
        $$->name = $1;
        $$->has_args = true;
        $$->args = $3.first;
        zf_seal_codec(parser, $$);
    }
  ;
cargs: %empty { EMPTY($$); } | carg_list ;
carg_list: carg { START($$, $1); } | carg_list ',' carg { $$ = $1; APPEND($$, $3); } ;
carg: value {
        $$ = ZF_NEW(parser->arena, zf_ast_codec_arg);
        *$$ = (zf_ast_codec_arg){.span = @$, .value = $1};
    }
  | IDENT ':' value {
        $$ = ZF_NEW(parser->arena, zf_ast_codec_arg);
        *$$ = (zf_ast_codec_arg){.span = @$, .label = $1, .label_span = @1, .value = $3};
    }
  | IDENT ':' ctype '=' codec {
        $$ = ZF_NEW(parser->arena, zf_ast_codec_arg);
        *$$ = (zf_ast_codec_arg){.span = @$, .label = $1, .label_span = @1, .type = $3, .value = $5};
    }
  ;
value: codec | literal { $$ = zf_new_codec(parser, ZF_AC_LITERAL, @$); $$->literal = $1; } ;
literal: INT { $$ = zf_new_expr(parser, ZF_AE_INT, @$); $$->integer = $1; }
  | '-' INT {
        zf_ast_expr *number = zf_new_expr(parser, ZF_AE_INT, @2);
        number->integer = $2;
        $$ = zf_build_unary(parser, ZF_OP_NEG, number, @$);
    }
  | FLOAT { $$ = zf_new_expr(parser, ZF_AE_FLOAT, @$); $$->real = $1; }
  | CHAR { $$ = zf_new_expr(parser, ZF_AE_CHAR, @$); $$->integer = $1; }
  | TRUE_ { $$ = zf_new_expr(parser, ZF_AE_TRUE, @$); }
  | FALSE_ { $$ = zf_new_expr(parser, ZF_AE_FALSE, @$); }
  ;

%%

static int yyreport_syntax_error(const yypcontext_t *context, zf_parser *parser) {
    yysymbol_kind_t kinds[YYNTOKENS];
    const char *names[YYNTOKENS];
    int count = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    if (count < 0) return count;
    for (int i = 0; i < count; i++) names[i] = yysymbol_name(kinds[i]);
    zf_syntax_report(parser, yysymbol_name(yypcontext_token(context)), names, (size_t)count);
    return 0;
}

/* Bison calls this only when its stack would exceed YYMAXDEPTH. */
static void zf_syntax_error(const zf_span *span, zf_parser *parser, const char *message) {
    (void)message;
    zf_syntax_too_deep(parser, *span);
}

// A parse: what must hold of the source before it, the tokens' way from scanner to grammar, and recovery from errors.
//
// Recovery. The grammar has error rules that end with `;` or `}`. After a syntax error the token stream is bent so that the
// next such token is one of the level where the error is. Braces opened in between are skipped as a whole. A missing `;` or `}`
// is inserted where a keyword shows that a new statement or declaration begins. Therefore one slip gives one error.
#include "frontend/syntax/parse.h"

#include <string.h>

#include "lexer.h"
#include "parser.h"

enum { ARENA_LIMIT = 512 << 20 }; // bytes of tree and comments of one source

// ---- Tokens ---------------------------------------------------------------------------------------------------

static bool starts_declaration(int kind) {
    return kind == IMPORT || kind == CONST || kind == ALGORITHM || kind == CODEC || kind == TABLE || kind == QUERY;
}

static bool starts_statement(int kind) {
    return kind == LET || kind == VAR || kind == IF || kind == WHILE || kind == LOOP || kind == FOR || kind == BREAK ||
           kind == CONTINUE || kind == RETURN || kind == EMIT || kind == REQUIRE || kind == REFUSE || kind == STATE;
}

// `query NAME(` begins a declaration wherever it stands, so that recovery finds it.
static bool begins_query(const zf_parser *parser, const zf_token *token) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (token->kind != IDENT || strcmp(token->value.name, "query") != 0) return false;
    const char *text = parser->source->text + token->span.end;
    size_t space = strspn(text, " \t"), length = strspn(text + space, letters);
    return space > 0 && length > 0 && text[space + length] == '(';
}

static zf_token scan(zf_parser *parser) {
    zf_token token = {0};
    token.kind = zf_scan_token(&token.value, &token.span, parser->scanner);
    if (begins_query(parser, &token)) token.kind = QUERY;
    if (zf_arena_used(parser->arena) - parser->used_before > ARENA_LIMIT) {
        if (!parser->reported_size) {
            parser->reported_size = true;
            zf_diag_error(parser->diags, ZF_D_SOURCE_SIZE, token.span, "the source is too large: its tree exceeds %d MiB",
                          ARENA_LIMIT >> 20);
        }
        token.kind = 0;
    }
    return token;
}

static zf_token made_up(const zf_parser *parser, int kind) {
    zf_span span = parser->current.span;
    return (zf_token){.kind = kind, .span = {span.source, span.end, span.end}};
}

// Keeps a token to be delivered after what is made up before it.
static void hold(zf_parser *parser, zf_token token) {
    parser->has_held = true;
    parser->held = token;
}

bool zf_on_later_line(const zf_parser *parser, const zf_token *before, const zf_token *token) {
    if (token->span.begin <= before->span.end) return false;
    return memchr(parser->source->text + before->span.end, '\n', token->span.begin - before->span.end) != NULL;
}

// Ends what is open before a declaration begins.
static void close_all(zf_parser *parser) {
    parser->closers = parser->brace_count;
    parser->semicolon = parser->closers == 0;
}

// Passes over tokens until the grammar can go on. Kind -1: what was made up is next.
static zf_token skip(zf_parser *parser) {
    const zf_token made = {.kind = -1};
    zf_token before = parser->current;
    uint32_t depth = parser->skip_depth;
    parser->skipping = false;
    for (;;) {
        zf_token token = scan(parser);
        bool first_on_line = zf_on_later_line(parser, &before, &token);
        before = token;
        if (token.kind == 0) return token;
        if (first_on_line && starts_declaration(token.kind)) {
            close_all(parser);
            hold(parser, token);
            return made;
        }
        if (depth == 0) {
            if (token.kind == ';' || token.kind == '}') return token;
            if (first_on_line && starts_statement(token.kind)) {
                parser->semicolon = true;
                hold(parser, token);
                return made;
            }
        }
        if (token.kind == '{') depth++;
        if (token.kind == '}' && --depth == 0) {
            zf_token next = scan(parser);
            if (next.kind == ';') return next;
            before = next;
            if (next.kind == ELSE) continue;
            parser->semicolon = true;
            hold(parser, next);
            return made;
        }
    }
}

static zf_token next_token(zf_parser *parser) {
    if (parser->skipping) {
        zf_token token = skip(parser);
        if (token.kind >= 0) return token;
    }
    if (parser->closers > 0) {
        parser->closers--;
        return made_up(parser, '}');
    }
    if (parser->semicolon) {
        parser->semicolon = false;
        return made_up(parser, ';');
    }
    if (parser->has_held) {
        parser->has_held = false;
        return parser->held;
    }
    parser->skipped_bad = false;
    return scan(parser);
}

static int opener_of(int kind) { return kind == ')' ? '(' : kind == ']' ? '[' : kind == '}' ? '{' : 0; }

static void track_brackets(zf_parser *parser, const zf_token *token) {
    if (token->kind == '(' || token->kind == '[' || token->kind == '{') {
        if (parser->open_count < ZF_OPEN_LIMIT) parser->open[parser->open_count] = token->span;
        parser->open_count++;
        if (token->kind == '{') parser->brace_count++;
    } else if (opener_of(token->kind)) {
        if (token->kind == '}' && parser->brace_count > 0) parser->brace_count--;
        // Brackets that an error left open are closed by what closes around them.
        while (parser->open_count > 0) {
            parser->open_count--;
            if (parser->open_count >= ZF_OPEN_LIMIT) break;
            if (parser->source->text[parser->open[parser->open_count].begin] == opener_of(token->kind)) break;
        }
    }
}

// Words of queries are names elsewhere: columns may be called so. A declaration, a member or a statement begins behind one of
// these.
static bool is_first(const zf_parser *parser) {
    int before = parser->current.kind;
    return before == 0 || before == ';' || before == '{' || before == '}';
}

static int word_of_query(const zf_parser *parser, const zf_token *token) {
    static const struct {
        const char *word;
        int kind;
        uint32_t least, most; ///< braces open around it
    } words[] = {{"query", QUERY, 0, 0},
                 {"input", INPUT, 1, 1},
                 {"result", RESULT, 1, 1},
                 {"each", EACH, 1, 1},
                 {"select", SELECT, 2, UINT32_MAX}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        bool here = parser->brace_count >= words[k].least && parser->brace_count <= words[k].most;
        if (here && (words[k].kind == QUERY || parser->declaration == QUERY) && strcmp(token->value.name, words[k].word) == 0)
            return words[k].kind;
    }
    return IDENT;
}

int zf_syntax_lex(union zf_syntax_value *value, zf_span *span, zf_parser *parser) {
    zf_token token = next_token(parser);
    if (token.kind == IDENT && is_first(parser)) token.kind = word_of_query(parser, &token);
    parser->previous = parser->current;
    parser->current = token;
    track_brackets(parser, &token);
    if (starts_declaration(token.kind) || (token.kind == FN && parser->brace_count == 0)) parser->declaration = token.kind;
    *value = token.value;
    *span = token.span;
    return token.kind;
}

// ---- Recovery -------------------------------------------------------------------------------------------------

// Takes back that the current token, a `{`, was counted.
static void forget_brace(zf_parser *parser) {
    parser->brace_count--;
    parser->open_count--;
}

void zf_syntax_recover(zf_parser *parser, bool semicolon_expected) {
    zf_token token = parser->current;
    if (token.kind == 0 || token.kind == ';' || token.kind == '}') return;
    bool first_on_line = zf_on_later_line(parser, &parser->previous, &token);
    bool again = parser->retried == token.span.begin + 1; // a token is tried a second time, not a third
    parser->retried = token.span.begin + 1;
    if (first_on_line && !again && starts_declaration(token.kind)) {
        close_all(parser);
        hold(parser, token);
    } else if (first_on_line && !again && (starts_statement(token.kind) || semicolon_expected)) {
        parser->semicolon = true;
        hold(parser, token);
        if (token.kind == '{') forget_brace(parser); // it is counted when it comes again
    } else {
        parser->skipping = true;
        parser->skip_depth = token.kind == '{';
        if (token.kind == '{') forget_brace(parser); // it never was the grammar's
    }
}

void zf_syntax_too_deep(zf_parser *parser, zf_span span) {
    if (parser->reported_deep) return;
    parser->reported_deep = true;
    zf_diag *diag = zf_diag_error(parser->diags, ZF_D_TOO_DEEP, span, "nesting beyond %d levels", ZF_AST_DEPTH_LIMIT);
    zf_diag_hint(parser->diags, diag, "name a part of it with `let`, `fn` or `codec`");
}

// ---- The parse ------------------------------------------------------------------------------------------------

// Bytes before the first that is not UTF-8; the length when all are.
static size_t valid_bytes(const zf_source *source) {
    size_t at = 0;
    while (at < source->length) {
        size_t step = zf_utf8_length(source->text + at, source->length - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

static bool is_readable(zf_spec *spec, const zf_source *source) {
    if (source->length > ZF_SOURCE_LIMIT) {
        zf_diag_error(&spec->diags, ZF_D_SOURCE_SIZE, ((zf_span){source, 0, 0}),
                      "the source has %zu bytes, more than the %d allowed", source->length, ZF_SOURCE_LIMIT);
        return false;
    }
    size_t valid = valid_bytes(source);
    if (valid < source->length) {
        uint32_t at = (uint32_t)valid;
        zf_diag_error(&spec->diags, ZF_D_BAD_UTF8, ((zf_span){source, at, at + 1}), "byte 0x%02x here is not UTF-8",
                      (unsigned char)source->text[at]);
        return false;
    }
    return true;
}

// Apart from zf_parse because of setjmp: nothing here changes a variable of the caller.
static bool run(zf_parser *parser) {
    size_t length = parser->source->length;
    char *copy = zf_arena_alloc(parser->arena, length + 2); // flex marks the ends of tokens in it, and wants two zeros behind
    if (!copy) return false;
    memcpy(copy, parser->source->text, length);
    if (setjmp(parser->fatal) != 0) return false;
    yyscan_t scanner;
    if (zf_scan_lex_init_extra(parser, &scanner) != 0) return false;
    parser->scanner = scanner;
    if (!zf_scan__scan_buffer(copy, length + 2, scanner)) return false;
    return zf_syntax_parse(parser) != 2;
}

zf_ast_unit *zf_parse(zf_spec *spec, const zf_source *source) {
    if (!is_readable(spec, source)) return NULL;
    zf_ast_unit *unit = ZF_NEW(spec->arena, zf_ast_unit);
    zf_parser *parser = ZF_NEW(spec->arena, zf_parser);
    if (!unit || !parser) return NULL;
    *unit = (zf_ast_unit){.source = source, .version = 1};
    *parser = (zf_parser){.spec = spec, .arena = spec->arena, .diags = &spec->diags, .source = source, .unit = unit};
    parser->last_decl = &unit->decls;
    parser->last_comment = &unit->comments;
    parser->used_before = zf_arena_used(spec->arena);
    parser->current.span = (zf_span){source, 0, 0};
    if (!run(parser) && spec->diags.errors == 0) {
        zf_diag_error(&spec->diags, ZF_D_SOURCE_SIZE, ((zf_span){source, 0, 0}), "no memory to parse this source");
        return NULL;
    }
    return unit;
}

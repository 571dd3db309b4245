// The wording of syntax errors: what was expected and what was found, in the language's own words, with a hint for slips that
// are recognised. It works on the names of symbols that parser.y gives; `a name`, `a number` and the like stand for classes of
// tokens, everything else is the token's own text.
#include <string.h>

#include "frontend/syntax/parse.h"
#include "parser.h"

typedef struct expectation {
    const char *symbols[ZF_EXPECTED_LIMIT];
    size_t count;
    bool in_expression; ///< an expression may end here: operators may follow
    bool in_codec;
    bool in_type;
    bool in_statement; ///< a place that was begun as a statement
} expectation;

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The text of a symbol: bison writes a character token as `';'`.
static const char *symbol_text(zf_parser *parser, const char *symbol) {
    size_t length = strlen(symbol);
    return length == 3 && symbol[0] == '\'' ? zf_arena_copy(parser->arena, symbol + 1, 1) : symbol;
}

static bool expects(const expectation *wanted, const char *symbol) {
    for (size_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->symbols[i], symbol) == 0) return true;
    }
    return false;
}

static void drop(expectation *wanted, const char *symbol) {
    size_t kept = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        if (strcmp(wanted->symbols[i], symbol) != 0) wanted->symbols[kept++] = wanted->symbols[i];
    }
    wanted->count = kept;
}

static void drop_all(expectation *wanted, const char *const *list) {
    for (; *list; list++) drop(wanted, *list);
}

static void add(expectation *wanted, const char *phrase) {
    if (wanted->count < ZF_EXPECTED_LIMIT) wanted->symbols[wanted->count++] = phrase;
}

static bool is_phrase(const char *symbol) {
    return strncmp(symbol, "a ", 2) == 0 || strncmp(symbol, "an ", 3) == 0 || strncmp(symbol, "the ", 4) == 0;
}

// The noun for a single name that is expected.
static const char *name_phrase(const zf_parser *parser) {
    switch (parser->previous.kind) {
    case ':':
    case ARROW:
    case AS: return "a type";
    case '=':
        if (parser->declaration == QUERY) return "a kind of results";
        // fall through
    case '|': return parser->declaration == ALGORITHM ? "a type" : "a codec";
    default: return "a name";
    }
}

static const char *const declaration_words[] = {"import", "const", "fn", "algorithm", "codec", "table", "query", "zf", NULL};
static const char *const pattern_words[] = {"fully_parallel", "group_parallel", "non_parallel", NULL};
static const char *const member_start[] = {"state", "fn", "a name", NULL};
static const char *const query_member_start[] = {"param", "input", "result", "fn", "each", NULL};
static const char *const statement_words[] = {"let",      "var",    "if",   "while",   "loop",   "for",    "break",
                                              "continue", "return", "emit", "require", "refuse", "select", NULL};
static const char *const expression_start[] = {"a name", "a number", "a float", "a byte", "a string", "true", "false",
                                               "null",   "(",        "-",       "~",      "!",        NULL};
static const char *const literals[] = {"a name", "a number", "a float", "a byte", "true", "false", "-", NULL};
static const char *const operators[] = {"||", "&&", "==", "!=", "<", "<=", ">",  ">=", "|", "^", "&", "<<",
                                        ">>", "+",  "-",  "*",  "/", "%",  "as", "?",  ".", "[", "(", NULL};
static const char *const range_operators[] = {"..", "..=", NULL};
static const char *const after_codec[] = {"|", "(", NULL};
static const char *const after_column[] = {"|", "(", ",", NULL};
static const char *const after_type[] = {".", "[", "(", "?", "<", NULL};

// Replaces sets of tokens by what they begin, and leaves out what may always follow.
static void summarise(zf_parser *parser, expectation *wanted) {
    wanted->in_expression = expects(wanted, "&&");
    wanted->in_statement = expects(wanted, "an assignment operator");
    wanted->in_codec = !wanted->in_expression && expects(wanted, "|");
    wanted->in_type = !wanted->in_expression && expects(wanted, "?");
    if (expects(wanted, "algorithm")) {
        drop_all(wanted, declaration_words);
        drop(wanted, "the end of the file");
        add(wanted, "a declaration");
    }
    if (expects(wanted, "let")) {
        drop_all(wanted, statement_words);
        drop_all(wanted, expression_start);
        add(wanted, "a statement");
    } else if (expects(wanted, "each")) {
        drop_all(wanted, query_member_start);
        add(wanted, "a member of the query");
    } else if (expects(wanted, "state")) {
        drop_all(wanted, member_start);
        add(wanted, "a member");
    } else if (expects(wanted, "!")) {
        drop_all(wanted, expression_start);
        add(wanted, "an expression");
    } else if (expects(wanted, "a float")) {
        drop_all(wanted, literals);
        add(wanted, "a codec or a constant");
    } else if (expects(wanted, "a name") && expects(wanted, "a number")) {
        drop(wanted, "a name");
        add(wanted, "a type");
    } else if (expects(wanted, "a name") && wanted->count == 1) {
        wanted->symbols[0] = name_phrase(parser);
    }
    if (wanted->in_statement) drop(wanted, "an assignment operator");
    if (expects(wanted, "]") && wanted->in_expression) drop_all(wanted, range_operators);
    bool one_index = parser->declaration == FN || parser->declaration == ALGORITHM; // several are of queries
    if (expects(wanted, "]") && wanted->in_expression && one_index) drop(wanted, ",");
    expectation all = *wanted;
    if (wanted->in_expression)
        drop_all(wanted, operators);
    else if (wanted->in_codec)
        drop_all(wanted, expects(wanted, ";") ? after_column : after_codec);
    else
        drop_all(wanted, after_type);
    if (wanted->count == 0) {
        *wanted = all;
        if (wanted->in_expression) {
            drop_all(wanted, operators);
            add(wanted, "an operator");
        }
    }
    if (wanted->count == 0) add(wanted, "something else");
}

// `found` as it is shown: its text, shortened, with its kind where the text does not tell.
static const char *found_text(zf_parser *parser, const char *found) {
    const zf_token *token = &parser->current;
    if (token->kind == 0) return "the end of the file";
    size_t length = token->span.end - token->span.begin;
    const char *text = parser->source->text + token->span.begin;
    int shown = length > 40 ? 37 : (int)length;
    while (shown > 0 && (size_t)shown < length && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    const char *rest = length > 40 ? "..." : "";
    if (length == 0) return zf_arena_printf(parser->arena, "`%s`", symbol_text(parser, found));
    if (token->kind == STRING)
        return zf_arena_printf(parser->arena, "the string %.*s%s", shown, text, length > 40 ? "...\"" : "");
    if (token->kind == CHAR) return zf_arena_printf(parser->arena, "the byte %.*s", shown, text);
    bool of_query = token->kind == QUERY || token->kind == INPUT || token->kind == RESULT || token->kind == EACH ||
                    token->kind == SELECT; // names elsewhere
    bool reserved = token->kind != IDENT && !of_query && is_word(text[0]);
    return zf_arena_printf(parser->arena, "%s`%.*s%s`", reserved ? "the reserved word " : "", shown, text, rest);
}

static const char *wanted_text(zf_parser *parser, const expectation *wanted) {
    char line[512];
    size_t length = 0;
    for (size_t i = 0; i < wanted->count && i < 8; i++) {
        const char *symbol = wanted->symbols[i];
        const char *before = i == 0 ? "" : i + 1 == wanted->count ? " or " : ", ";
        const char *quote = is_phrase(symbol) ? "" : "`";
        const char *part = zf_arena_printf(parser->arena, "%s%s%s%s", before, quote, symbol, quote);
        size_t size = strlen(part);
        if (length + size >= sizeof line) break;
        memcpy(line + length, part, size);
        length += size;
    }
    return zf_arena_copy(parser->arena, line, length);
}

// ---- Hints ----------------------------------------------------------------------------------------------------

static bool is_comparison(int kind) { return kind == EQ || kind == NE || kind == LE || kind == GE || kind == '<' || kind == '>'; }

static bool text_at(const zf_parser *parser, size_t at, const char *text) {
    size_t length = strlen(text);
    return at + length <= parser->source->length && memcmp(parser->source->text + at, text, length) == 0;
}

// The word that a name was probably meant to be, as a hint.
static const char *meant(zf_parser *parser, const zf_token *token, const char *const *words) {
    size_t count = 0;
    while (words[count]) count++;
    const char *nearest = token->kind == IDENT ? zf_nearest_name(token->value.name, words, count) : NULL;
    return nearest ? zf_arena_printf(parser->arena, "did you mean `%s`?", nearest) : NULL;
}

// The hint for a slip that is recognised, or NULL. `all`: what the grammar expected; `wanted`: its summary.
static const char *hint_for(zf_parser *parser, const expectation *all, const expectation *wanted, bool missing_semicolon) {
    const zf_token *found = &parser->current, *before = &parser->previous;
    if (missing_semicolon) return "a `;` is missing at the end of this line";
    if (found->kind == GE && wanted->in_type && expects(all, ">")) return "write a space between `>` and `=`";
    if (found->kind == '=' && wanted->in_codec && parser->declaration == TABLE)
        return "a column ends in `;`; what follows a `,` is the codec of a part of lists, `values: CODEC`";
    if (expects(wanted, "a declaration")) {
        if (found->kind == ';') return "no `;` follows the `}` that ends a declaration";
        if (found->kind == '}') return "this `}` closes nothing";
        if (found->kind == LET || found->kind == VAR) return "a value of the whole file is declared with `const`";
        return meant(parser, found, declaration_words);
    }
    if (expects(wanted, "fully_parallel")) return meant(parser, found, pattern_words);
    if (wanted->in_statement) {
        const char *word = meant(parser, before, statement_words);
        if (word) return word;
        if ((found->kind == '+' || found->kind == '-') && text_at(parser, found->span.end, found->kind == '+' ? "+" : "-")) {
            return found->kind == '+' ? "write `+= 1`" : "write `-= 1`";
        }
        if (found->kind == ':' || found->kind == IDENT) return "a variable is declared with `let` or `var`";
        return "a statement assigns, calls or begins with a word like `let`; an expression alone is not a statement";
    }
    if (wanted->in_expression) {
        if (found->kind == '=' && expects(all, "==")) return "`==` compares; `=` assigns, and only as a statement of its own";
        if (is_comparison(found->kind)) return "comparisons do not chain: write `a < b && b < c`";
        if (found->kind == OPASSIGN) return "an assignment is a statement of its own";
        if (expects(wanted, "{") && found->kind != DD && found->kind != DDE) return "the body stands in `{` and `}`";
    }
    if (found->kind == '(' && before->kind == FOR) return "a loop has one name; for places, too: `for i in 0..x.len`, and x[i]";
    if (expects(wanted, "a member") && (found->kind == LET || found->kind == VAR))
        return "variables are declared in `decode { ... }`; with lanes, what lives from element to element is a `state`";
    if (expects(wanted, "a member of the query"))
        return found->kind == LET || found->kind == VAR ? "variables are declared in `each { ... }`"
                                                        : meant(parser, found, query_member_start);
    if (expects(wanted, "a statement") && found->kind == ';') return "there is no empty statement";
    if (expects(wanted, "a statement") && found->kind == FN) return "functions are declared beside the members, not in a body";
    if (expects(wanted, "an expression") && found->kind == '=' && before->kind == '=') return "`==` is written without a space";
    if (expects(wanted, "an expression") && found->kind == IF)
        return "a choice between two values is written `condition ? a : b`";
    if (wanted->count == 1 && strcmp(wanted->symbols[0], "a name") == 0 && found->kind != IDENT && found->kind != 0 &&
        is_word(parser->source->text[found->span.begin])) {
        return "this word is reserved; choose another name";
    }
    return NULL;
}

// ---- The report -----------------------------------------------------------------------------------------------

// Points at the innermost bracket that is open, where closing it was expected and it stands on an earlier line.
static void add_open_bracket(zf_parser *parser, zf_diag *diag, const expectation *wanted) {
    uint32_t count = parser->open_count;
    char kind = parser->current.span.end > parser->current.span.begin ? parser->source->text[parser->current.span.begin] : 0;
    if (kind == '(' || kind == '[' || kind == '{') count--; // the one that was found
    if (count == 0 || count > ZF_OPEN_LIMIT) return;
    zf_span open = parser->open[count - 1];
    char bracket = parser->source->text[open.begin];
    const char *closer = bracket == '(' ? ")" : bracket == '[' ? "]" : "}";
    if (!expects(wanted, closer)) return;
    if (!memchr(parser->source->text + open.end, '\n', parser->current.span.begin - open.end)) return;
    zf_diag_remark(parser->diags, diag, open, "this `%c` is not closed", bracket);
}

void zf_syntax_report(zf_parser *parser, const char *found, const char *const *expected, size_t count) {
    expectation all = {0};
    for (size_t i = 0; i < count; i++) add(&all, symbol_text(parser, expected[i]));
    bool semicolon = expects(&all, ";");
    if (parser->diags->errors >= parser->diags->limit) { // it is counted only: a file of nothing else has a million
        if (!parser->skipped_bad) zf_diag_error(parser->diags, ZF_D_UNEXPECTED_TOKEN, parser->current.span, "not shown");
    } else if (!parser->skipped_bad) { // else the characters that were skipped are the error, and it is reported
        expectation wanted = all;
        summarise(parser, &wanted);
        const zf_token *token = &parser->current;
        // A token that is missing at the end of a line is shown there, not at the next line's first token.
        bool later = token->kind == 0 || zf_on_later_line(parser, &parser->previous, token);
        bool missing =
            later && (token->kind == 0 || semicolon || (wanted.in_expression && (expects(&all, ")") || expects(&all, "]"))));
        zf_span end_of_line = {parser->source, parser->previous.span.end, parser->previous.span.end};
        const char *after = wanted.in_expression ? " after the expression"
                            : wanted.in_codec    ? " after the codec"
                            : wanted.in_type     ? " after the type"
                                                 : "";
        const char *wanted_words = wanted_text(parser, &wanted);
        zf_diag *diag = zf_diag_error(parser->diags, ZF_D_UNEXPECTED_TOKEN, missing ? end_of_line : token->span,
                                      "expected %s%s, found %s", wanted_words, after, found_text(parser, found));
        add_open_bracket(parser, diag, &wanted);
        const char *hint = hint_for(parser, &all, &wanted, missing && semicolon);
        if (hint) zf_diag_hint(parser->diags, diag, "%s", hint);
    }
    zf_syntax_recover(parser, semicolon);
}

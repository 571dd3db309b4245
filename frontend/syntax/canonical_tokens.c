#include "frontend/syntax/canonical_tokens.h"

#include <ctype.h>
#include <string.h>

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool zf_next_token(const char **at, const char *end, zf_canonical_token *out) {
    const char *p = *at;
    for (;;) {
        while (p < end && isspace((unsigned char)*p)) p++;
        if (end - p < 2 || p[0] != '/' || p[1] != '/') break;
        while (p < end && *p != '\n') p++;
    }
    if (p == end) return false;
    const char *begin = p;
    *out = (zf_canonical_token){.text = begin};
    if (*p == '"' || *p == '\'') {
        char quote = *p++;
        while (p < end && *p != quote) p += *p == '\\' && end - p > 1 ? 2 : 1;
        if (p < end) p++;
    } else if (isdigit((unsigned char)*p)) {
        // A number takes its point only with a digit behind it, and a sign only behind the exponent's letter.
        bool hexadecimal = end - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
        while (p < end && (is_word_byte(*p) || (*p == '.' && end - p > 1 && isdigit((unsigned char)p[1])) ||
                           ((*p == '+' || *p == '-') && !hexadecimal && (p[-1] == 'e' || p[-1] == 'E'))))
            p++;
        out->word = true;
    } else if (is_word_byte(*p)) {
        while (p < end && is_word_byte(*p)) p++;
        out->word = true;
    } else {
        static const char *const long_tokens[] = {"<<=", ">>=", "..=", "..", "->", "<<", ">>", "<=", ">=", "==", "!=",
                                                  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^="};
        size_t length = 1;
        for (size_t k = 0; k < sizeof long_tokens / sizeof *long_tokens; k++) {
            size_t size = strlen(long_tokens[k]);
            if ((size_t)(end - p) < size || memcmp(p, long_tokens[k], size) != 0) continue;
            length = size;
            break;
        }
        p += length;
    }
    out->length = (size_t)(p - begin);
    *at = p;
    return true;
}

// ---- Spacing --------------------------------------------------------------------------------------------------

static bool is_one_of(const zf_canonical_token *t, const char *bytes) {
    return t != NULL && t->length == 1 && strchr(bytes, *t->text) != NULL;
}

static bool is_dots(const zf_canonical_token *t) { return t->length >= 2 && t->text[0] == '.' && t->text[1] == '.'; }

/// Words that an expression follows: a parenthesis behind them is no call.
static bool is_keyword(const zf_canonical_token *t) {
    static const char *const words[] = {"return", "if", "while", "require", "emit", "in"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (strlen(words[k]) == t->length && memcmp(words[k], t->text, t->length) == 0) return true;
    }
    return false;
}

/// The `?` of `c ? x : y`, not that of a type: something that a value can begin with comes next.
static bool is_condition(const zf_canonical_token *now, const zf_canonical_token *after) {
    return is_one_of(now, "?") && after != NULL && (after->word || is_one_of(after, "(-~!") || *after->text == '\'');
}

bool zf_space_before(zf_spacing *s, const zf_canonical_token *now, const zf_canonical_token *after) {
    zf_canonical_token a = s->before;
    const zf_canonical_token *b = now;
    s->before = *now;
    if (a.length == 0) return false;
    if (a.text == s->generic_name && is_one_of(b, "<")) s->generics = true;
    bool generics = s->generics;
    if (is_one_of(&a, ">")) s->generics = false;

    uint8_t *waiting = &s->conditions[s->depth < ZF_SPACING_DEPTH ? s->depth : ZF_SPACING_DEPTH - 1];
    bool ends_condition = is_one_of(b, ":") && *waiting > 0;
    bool condition = is_condition(b, after);
    bool behind_condition = is_one_of(&a, "?") && *waiting > 0;
    if (ends_condition) --*waiting;
    if (condition && *waiting < UINT8_MAX) ++*waiting;
    if (is_one_of(b, ";{}")) *waiting = 0;
    if (is_one_of(b, "([") && ++s->depth < ZF_SPACING_DEPTH) s->conditions[s->depth] = 0;
    if (is_one_of(b, ")]") && s->depth > 0) s->depth--;

    if (a.word && b->word) return true;
    if (is_dots(&a) && a.length == 2 && *b->text == '=') return true; // an open range before a default: `..=` is another token
    if (is_dots(&a) || is_dots(b)) return false;
    if (generics && (is_one_of(&a, "<>") || is_one_of(b, "<>"))) return false;
    if (is_one_of(&a, "([.!~") || is_one_of(b, ")],;.")) return false;
    if (is_one_of(b, ":")) return ends_condition;
    if (is_one_of(b, "?")) return condition;
    if (is_one_of(b, "([")) return is_keyword(&a) || behind_condition || (!a.word && !is_one_of(&a, ")]?"));
    return true;
}

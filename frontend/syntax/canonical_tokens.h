// The tokens of a declaration and the one spacing in which canonical text has them.
#ifndef ZF_FRONTEND_CANONICAL_TOKENS_H
#define ZF_FRONTEND_CANONICAL_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zf_canonical_token {
    const char *text;
    size_t length;
    bool word; ///< identifier, keyword or number: two of them need a space
} zf_canonical_token;

/// The token at *at, which moves behind it; false at the end. The text was parsed, so it is made of tokens.
bool zf_next_token(const char **at, const char *end, zf_canonical_token *out);

enum { ZF_SPACING_DEPTH = 1024 };

/// The state of spacing beside the two tokens: it follows from the tokens alone, however the text was written.
typedef struct zf_spacing {
    const char *generic_name; ///< the name behind which `<` opens generics; NULL: none does
    zf_canonical_token before;
    bool generics;                        ///< between those < >
    uint32_t depth;                       ///< of parentheses and brackets
    uint8_t conditions[ZF_SPACING_DEPTH]; ///< `?` that wait for their `:`, by depth
} zf_spacing;

/// True when a space stands before `now`, which comes next; `after` follows it (NULL: nothing does).
bool zf_space_before(zf_spacing *spacing, const zf_canonical_token *now, const zf_canonical_token *after);

#endif

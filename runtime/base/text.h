// A growing text: what printers write to. Errors of memory stick, and `zf_text_take` reports them.
#ifndef ZF_BASE_TEXT_H
#define ZF_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct zf_text {
    char *data; ///< always 0-terminated once anything was written; NULL before
    size_t length, capacity;
    bool failed;
} zf_text;

void zf_text_add(zf_text *text, const char *bytes, size_t length);
void zf_text_puts(zf_text *text, const char *string);
void zf_text_printf(zf_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void zf_text_vprintf(zf_text *text, const char *format, va_list arguments);
/// Appends a JSON string literal, quotes included; U+FFFD for each byte that is of no UTF-8 character.
void zf_text_json(zf_text *text, const char *string);
void zf_text_free(zf_text *text);

/// Bytes of the UTF-8 character at `text`, which has `left` bytes; 0 when it is none (overlong forms, surrogates and values
/// beyond U+10FFFF are none).
size_t zf_utf8_length(const char *text, size_t left);

/// Bytes of the character at `text`, which has `left` bytes, if it drives the terminal that it is shown on or does not show
/// there: control characters, and marks of no width or of direction, which make a text read as another than it is (U+200B to
/// U+200F, U+202A to U+202E, U+2066 to U+2069, U+FEFF). 0 of all others, and of what is no UTF-8.
size_t zf_utf8_unshown(const char *text, size_t left);

/// Names of more bytes are beyond any limit of zf_edit_distance.
enum { ZF_EDIT_LENGTH = 64 };

/// Edits that turn one name into the other: a byte inserted, deleted or changed, or two neighbours exchanged. Not more than
/// `limit` are counted: beyond, limit + 1.
size_t zf_edit_distance(const char *a, const char *b, size_t limit);

#endif

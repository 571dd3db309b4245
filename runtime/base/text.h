// A growing text, the output of printers. Failed allocations stick in `failed`.
#ifndef ZF_RUNTIME_TEXT_H
#define ZF_RUNTIME_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct zf_text {
    char *data; ///< 0-terminated after the first write; NULL before
    size_t length, capacity;
    bool failed;
} zf_text;

void zf_text_add(zf_text *text, const char *bytes, size_t length);
void zf_text_puts(zf_text *text, const char *string);
void zf_text_printf(zf_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void zf_text_vprintf(zf_text *text, const char *format, va_list arguments);
/// Appends a JSON string literal with its quotes; each byte that is not UTF-8 becomes U+FFFD.
void zf_text_json(zf_text *text, const char *string);
/// Appends a name of a JSON object and its value, a string or null.
void zf_text_json_pair(zf_text *text, const char *name, const char *value);
void zf_text_free(zf_text *text);

/// Returns the bytes of the UTF-8 character at `text`, which has `left` bytes; 0: invalid (overlong forms, surrogates and values
/// above U+10FFFF included).
size_t zf_utf8_length(const char *text, size_t left);

/// Returns the bytes of the character at `text`, which has `left` bytes, if a terminal would obey or hide it: control characters,
/// and marks of no width or of direction (U+200B to U+200F, U+202A to U+202E, U+2066 to U+2069, U+FEFF). 0: any other, or invalid
/// UTF-8.
size_t zf_utf8_unshown(const char *text, size_t left);

/// Longer names exceed every limit of zf_edit_distance.
enum { ZF_EDIT_LENGTH = 64 };

/// Returns the edits between two names: bytes inserted, deleted or changed, or two neighbours exchanged. Above `limit` it returns
/// limit + 1.
size_t zf_edit_distance(const char *a, const char *b, size_t limit);

#endif

#include "runtime/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Room for `more` bytes and the 0 behind them.
static bool reserve(zf_text *text, size_t more) {
    if (text->failed) return false;
    if (more >= (size_t)-1 / 2 - text->length) {
        text->failed = true;
        return false;
    }
    size_t need = text->length + more + 1;
    if (need <= text->capacity) return true;
    size_t capacity = text->capacity * 2 > need ? text->capacity * 2 : need + 64;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void zf_text_add(zf_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return;
    if (length > 0) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void zf_text_puts(zf_text *text, const char *string) { zf_text_add(text, string, strlen(string)); }

void zf_text_vprintf(zf_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void zf_text_printf(zf_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    zf_text_vprintf(text, format, arguments);
    va_end(arguments);
}

void zf_text_json(zf_text *text, const char *string) {
    zf_text_add(text, "\"", 1);
    size_t left = strlen(string), length;
    for (const char *s = string; left > 0; s += length, left -= length) {
        unsigned char c = (unsigned char)*s;
        bool whole = (length = zf_utf8_length(s, left)) > 0;
        if (!whole) length = 1;
        switch (c) {
        case '"': zf_text_puts(text, "\\\""); break;
        case '\\': zf_text_puts(text, "\\\\"); break;
        case '\n': zf_text_puts(text, "\\n"); break;
        case '\t': zf_text_puts(text, "\\t"); break;
        case '\r': zf_text_puts(text, "\\r"); break;
        default:
            if (c < 0x20 || c == 0x7f)
                zf_text_printf(text, "\\u%04x", c);
            else
                zf_text_add(text, whole ? s : "\xef\xbf\xbd", whole ? length : 3);
        }
    }
    zf_text_add(text, "\"", 1);
}

void zf_text_json_pair(zf_text *text, const char *name, const char *value) {
    zf_text_printf(text, "\"%s\": ", name);
    if (value == NULL)
        zf_text_puts(text, "null");
    else
        zf_text_json(text, value);
}

void zf_text_free(zf_text *text) {
    free(text->data);
    *text = (zf_text){0};
}

size_t zf_utf8_length(const char *text, size_t left) {
    // The first byte gives the length and the smallest value; the second byte alone decides overlong forms and surrogates.
    if (left == 0) return 0;
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned first = bytes[0];
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (left < length) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
    }
    if (first == 0xe0 && bytes[1] < 0xa0) return 0;
    if (first == 0xed && bytes[1] > 0x9f) return 0;
    if (first == 0xf0 && bytes[1] < 0x90) return 0;
    if (first == 0xf4 && bytes[1] > 0x8f) return 0;
    return length;
}

size_t zf_utf8_unshown(const char *text, size_t left) {
    size_t length = zf_utf8_length(text, left);
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 1) return bytes[0] < 0x20 || bytes[0] == 0x7f;
    if (length == 2) return bytes[0] == 0xc2 && bytes[1] < 0xa0 ? 2 : 0; // U+0080 to U+009F are controls, too
    if (length != 3) return 0;
    unsigned value = (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
    bool mark = (value >= 0x200b && value <= 0x200f) || (value >= 0x202a && value <= 0x202e) ||
                (value >= 0x2066 && value <= 0x2069) || value == 0xfeff;
    return mark ? 3 : 0;
}

size_t zf_edit_distance(const char *a, const char *b, size_t limit) {
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > ZF_EDIT_LENGTH || b_length > ZF_EDIT_LENGTH) return limit + 1;
    if ((a_length > b_length ? a_length - b_length : b_length - a_length) > limit) return limit + 1;
    size_t rows[3][ZF_EDIT_LENGTH + 1]; // of the table of distances between beginnings of a and of b
    size_t *before = rows[0], *previous = rows[1], *current = rows[2];
    for (size_t j = 0; j <= b_length; j++) previous[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        current[0] = i;
        size_t least = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = previous[j - 1] + (a[i - 1] != b[j - 1]);
            if (previous[j] + 1 < cost) cost = previous[j] + 1;
            if (current[j - 1] + 1 < cost) cost = current[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < cost) {
                cost = before[j - 2] + 1;
            }
            current[j] = cost;
            if (cost < least) least = cost;
        }
        if (least > limit) return limit + 1;
        size_t *free_row = before;
        before = previous;
        previous = current;
        current = free_row;
    }
    return previous[b_length] > limit ? limit + 1 : previous[b_length];
}

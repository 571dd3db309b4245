#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"

// Names and texts of files may be part of an error, and those may hold bytes that drive the terminal on which it is shown, or
// that turn what is shown around.
static void make_printable(char *text) {
    for (size_t at = 0, left = strlen(text); left > 0;) {
        size_t unshown = zf_utf8_unshown(text + at, left);
        memset(text + at, '?', unshown);
        at += unshown > 0 ? unshown : 1;
        left -= unshown > 0 ? unshown : 1;
    }
}

// Cuts at the buffer's end, not within a UTF-8 character.
static void print_into(char *buffer, size_t size, const char *format, va_list arguments) {
    int length = vsnprintf(buffer, size, format, arguments);
    if (length < 0) buffer[0] = 0;
    if (length >= (int)size) {
        size_t end = size - 1;
        while (end > 0 && ((unsigned char)buffer[end - 1] & 0xc0) == 0x80) end--;
        if (end > 0 && (unsigned char)buffer[end - 1] >= 0xc0)
            end--;
        else
            end = size - 1;
        buffer[end] = 0;
    }
    make_printable(buffer);
}

zf_status zf_fail(zf_error *error, zf_status status, const char *code, const char *format, ...) {
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    snprintf(error->code, sizeof error->code, "%s", code);
    if (strncmp(code, "ZF", 2) == 0) error->number = (zf_error_code)strtoul(code + 2, NULL, 10);
    va_list arguments;
    va_start(arguments, format);
    print_into(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

zf_status zf_fail_place(zf_error *error, zf_status status, const char *format, ...) {
    if (!error) return status;
    va_list arguments;
    va_start(arguments, format);
    print_into(error->place, sizeof error->place, format, arguments);
    va_end(arguments);
    return status;
}

zf_status zf_fail_hint(zf_error *error, zf_status status, const char *format, ...) {
    if (!error) return status;
    va_list arguments;
    va_start(arguments, format);
    print_into(error->hint, sizeof error->hint, format, arguments);
    va_end(arguments);
    return status;
}

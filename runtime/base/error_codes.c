// The table of error codes, and filling an error from a row of it.
#include "runtime/base/error_codes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const zf_error_row rows[] = {
#define X(number, name, status, subject) {ZF_E_##name, status, subject},
#include "runtime/base/error_codes.def"
#undef X
};

const zf_error_row *zf_error_rows(size_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

static zf_status status_of(zf_runtime_code code) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code == code) return rows[i].status;
    }
    return ZF_ERR_INTERNAL;
}

/// "ZF0601".
static void code_text(zf_runtime_code code, char out[16]) { snprintf(out, 16, "ZF%04u", (unsigned)code); }

bool zf_error_is(const zf_error *error, zf_runtime_code code) {
    char text[16];
    code_text(code, text);
    return strcmp(error->code, text) == 0;
}

zf_status zf_raise(zf_error *error, zf_runtime_code code, const char *format, ...) {
    zf_status status = status_of(code);
    if (error == NULL) return status;
    char name[16];
    code_text(code, name);
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return zf_fail(error, status, name, "%s", message);
}

zf_status zf_raise_no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory"); }

zf_status zf_raise_system(zf_error *error, zf_runtime_code code, const char *what, const char *path, int number) {
    char buffer[128];
    zf_status status = zf_raise(error, code, "cannot %s %.256s: %s", what, path[0] != 0 ? path : "a file with an empty name",
                                strerror_r(number, buffer, sizeof buffer));
    return zf_fail_place(error, status, "%s", path);
}

zf_runtime_code zf_violation_code(uint32_t violation) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (violation < 100 && (uint32_t)rows[i].code == 1300 + violation) return rows[i].code;
    }
    return ZF_E_INTERNAL;
}

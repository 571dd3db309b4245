// The error codes of the runtime, from one table.
#ifndef ZF_RUNTIME_ERROR_CODES_H
#define ZF_RUNTIME_ERROR_CODES_H

#include "runtime/base/error.h"
#include "runtime/base/private.h"

typedef enum zf_error_code {
#define X(number, name, status, subject) ZF_E_##name = number,
#include "runtime/base/error_codes.def"
#undef X
} zf_error_code;

/// One row of the table.
typedef struct zf_error_row {
    zf_error_code code;
    zf_status status;
    const char *subject;
} zf_error_row;

/// Returns all rows by number and sets `*count`. Static.
const zf_error_row *zf_error_rows(size_t *count);

/// Fills `*error` (may be NULL) with the code, its status and a message, and clears place and hint. Returns the status.
ZF_PRIVATE_API zf_status zf_raise(zf_error *error, zf_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Fills the error of a failed system call: "cannot WHAT PATH: " and the text of errno `number`. The path is the place.
zf_status zf_raise_system(zf_error *error, zf_error_code code, const char *what, const char *path, int number);

/// Returns whether the error has that code.
ZF_PRIVATE_API bool zf_error_is(const zf_error *error, zf_error_code code);

/// Returns the code of violation Vnn, or ZF_E_INTERNAL for an unknown one.
zf_error_code zf_violation_code(uint32_t violation);

#endif

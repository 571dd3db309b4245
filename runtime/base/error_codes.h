// The error codes of the runtime, from one table.
#ifndef ZF_RUNTIME_ERROR_CODES_H
#define ZF_RUNTIME_ERROR_CODES_H

#include "runtime/base/error.h"
#include "runtime/base/private.h"

/// The rows of the table by their names. The public enum (zipflow/errors.h) is made from the same table and must agree with it.
typedef enum zf_runtime_code {
#define X(number, name, status, subject) ZF_E_##name = number,
#include "runtime/base/error_codes.def"
#undef X
} zf_runtime_code;
#define X(number, name, status, subject) _Static_assert((int)ZF_ERROR_##name == number, "zipflow/errors.h is out of date");
#include "runtime/base/error_codes.def"
#undef X

/// One row of the table.
typedef struct zf_error_row {
    zf_runtime_code code;
    zf_status status;
    const char *subject;
} zf_error_row;

/// Returns all rows by number and sets `*count`. Static.
const zf_error_row *zf_error_rows(size_t *count);

/// Fills `*error` (may be NULL) with the code, its status and a message, and clears place and hint. Returns the status.
ZF_PRIVATE_API zf_status zf_raise(zf_error *error, zf_runtime_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Fills the error of memory that is missing for no particular thing. Returns its status.
ZF_PRIVATE_API zf_status zf_raise_no_memory(zf_error *error);

/// Fills the error of a failed system call: "cannot WHAT PATH: " and the text of errno `number`. The path is the place.
zf_status zf_raise_system(zf_error *error, zf_runtime_code code, const char *what, const char *path, int number);

/// Returns whether the error has that code.
ZF_PRIVATE_API bool zf_error_is(const zf_error *error, zf_runtime_code code);

/// Returns the code of violation Vnn, or ZF_E_INTERNAL for an unknown one.
zf_runtime_code zf_violation_code(uint32_t violation);

#endif

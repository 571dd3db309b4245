// Filling a `zf_error`, and passing failures up.
#ifndef ZF_RUNTIME_ERROR_H
#define ZF_RUNTIME_ERROR_H

#include "zipflow/zipflow.h"

/// Returns `status` after filling `*error` (which may be NULL) with the code and a message. Clears place and hint.
zf_status zf_fail(zf_error *error, zf_status status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// Sets the place (or the hint) of an error that was just raised. Returns `status`, so that a function can end with the call.
zf_status zf_fail_place(zf_error *error, zf_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
zf_status zf_fail_hint(zf_error *error, zf_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define ZF_TRY(call)                                                                                                             \
    do {                                                                                                                         \
        zf_status zf_try_status = (call);                                                                                        \
        if (zf_try_status != ZF_OK) return zf_try_status;                                                                        \
    } while (0)

#endif

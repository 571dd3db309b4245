// Turns a diagnostic into the error of a call.
#ifndef ZF_FRONTEND_DIAG_STATUS_H
#define ZF_FRONTEND_DIAG_STATUS_H

#include "frontend/diag/diag.h"
#include "runtime/base/error.h"

/// Fills `*error` (may be NULL) with a diagnostic's code, message, place and hint, and returns `status`.
/// A NULL `diag` is ZF_ERR_INTERNAL: a step failed without a reason.
zf_status zf_diag_status(const zf_diag *diag, zf_status status, zf_error *error);

#endif

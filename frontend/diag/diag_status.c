#include "frontend/diag/diag_status.h"

#include "runtime/base/error_codes.h"

zf_status zf_diag_status(const zf_diag *diag, zf_status status, zf_error *error) {
    char code[8];
    if (diag == NULL) return zf_raise(error, ZF_E_INTERNAL, "a step failed without a reason");
    zf_diag_code_text(diag->code, code);
    zf_fail(error, status, code, "%s", diag->message);
    if (diag->span.source != NULL) {
        zf_position at = zf_source_position(diag->span.source, diag->span.begin);
        zf_fail_place(error, status, "%s:%u:%u", diag->span.source->path, at.line, at.column);
    }
    if (diag->hint != NULL) zf_fail_hint(error, status, "%s", diag->hint);
    return status;
}

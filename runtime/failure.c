// From a failure word to an error.
#include "runtime/failure.h"

#include <stdio.h>

#include "runtime/error_codes.h"

typedef unsigned long long ull;

static const char *subject_of(zf_error_code code) {
    size_t count;
    const zf_error_row *rows = zf_error_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code == code) return rows[i].subject;
    }
    return "";
}

zf_status zf_report_failure(const zf_failure *what, uint64_t failure, zf_error *error) {
    uint64_t position = failure >> 16, number = failure & 0xffff;
    if (number >= what->plan->check_count) {
        return zf_raise(error, ZF_E_INTERNAL, "a kernel reported check %llu of %u", (ull)number, what->plan->check_count);
    }
    const zf_abi_check *check = &what->plan->checks[number];
    zf_error_code code = zf_violation_code(check->violation);
    zf_status status = zf_raise(error, code, "V%02u: %s: %s", check->violation, subject_of(code), check->text);
    char where[96];
    const char *path = check->path[0] != 0 ? check->path : "the column's codec";
    if (what->kernel == NULL) {
        snprintf(where, sizeof where, "the whole block");
    } else if (what->kernel->edge == 0) {
        snprintf(where, sizeof where, "row %llu", (ull)(what->first_row + position));
    } else {
        snprintf(where, sizeof where, "element %llu of %.48s", (ull)position, what->shape->edges[what->kernel->edge].path);
    }
    const char *file = check->file[0] != 0 ? check->file : what->file != NULL ? what->file : "the codec";
    return zf_fail_place(error, status, "%s, %s, %s (%s), %s:%u:%u", what->where, where, path, check->algorithm, file,
                         check->line, check->column);
}

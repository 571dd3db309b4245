// From a failure word to an error.
#include "runtime/decode/failure.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/decode/block_check.h"

typedef unsigned long long ull;

static const char *subject_of(zf_runtime_code code) {
    size_t count;
    const zf_error_row *rows = zf_error_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code == code) return rows[i].subject;
    }
    return "";
}

static const char *path_of(const zf_abi_check *check) { return check->path[0] != 0 ? check->path : "the column's codec"; }

static const char *file_of(const zf_failure *what, const zf_abi_check *check) {
    return check->file[0] != 0 ? check->file : what->file != NULL ? what->file : "the codec";
}

static zf_status place_failure(const zf_failure *what, uint64_t failure, zf_status status, zf_error *error) {
    uint64_t position = failure >> 16;
    const zf_abi_check *check = &what->plan->checks[failure & 0xffff];
    char where[96];
    if (what->kernel == NULL) {
        snprintf(where, sizeof where, "the whole block");
    } else if (what->kernel->edge == 0) {
        snprintf(where, sizeof where, "row %llu", (ull)(what->first_row + position));
    } else {
        snprintf(where, sizeof where, "element %llu of %.48s", (ull)position, what->shape->edges[what->kernel->edge].path);
    }
    return zf_fail_place(error, status, "%s, %s, %s (%s), %s:%u:%u", what->where, where, path_of(check), check->algorithm,
                         file_of(what, check), check->line, check->column);
}

zf_status zf_report_failure(const zf_failure *what, uint64_t failure, zf_error *error) {
    uint64_t number = failure & 0xffff;
    if (number >= what->plan->check_count) {
        return zf_raise(error, ZF_E_INTERNAL, "a kernel reported check %llu of %u", (ull)number, what->plan->check_count);
    }
    const zf_abi_check *check = &what->plan->checks[number];
    zf_runtime_code code = zf_violation_code(check->violation);
    uint64_t has, most;
    bool counted = check->violation == 25 && what->kernel == NULL && what->slots != NULL &&
                   zf_block_check_compared(&what->plan->block_checks, what->slots, (uint32_t)number, &has, &most);
    zf_status status = counted ? zf_raise(error, code, "V%02u: %s: %s %llu; a block of its size may have %llu", check->violation,
                                          subject_of(code), check->text, (ull)has, (ull)most)
                               : zf_raise(error, code, "V%02u: %s: %s", check->violation, subject_of(code), check->text);
    return place_failure(what, failure, status, error);
}

zf_status zf_state_failure(const zf_abi_plan *plan, const zf_shape *shape, uint32_t tree, uint64_t tile, uint64_t *out,
                           zf_error *error) {
    const char *path = shape->edges[plan->trees[tree].edge].path;
    for (uint32_t check = 0; check < plan->check_count; check++) {
        if (plan->checks[check].violation != 9 || strcmp(plan->checks[check].path, path) != 0) continue;
        *out = tile * plan->trees[tree].interval << 16 | check;
        return ZF_OK;
    }
    return zf_raise(error, ZF_E_INTERNAL, "the code's plan does not check the states of tree %u", tree);
}

zf_status zf_place_state(const zf_failure *what, uint32_t tree, uint64_t tile, zf_status status, zf_error *error) {
    uint64_t failure = 0;
    zf_error none;
    if (zf_state_failure(what->plan, what->shape, tree, tile, &failure, &none) != ZF_OK)
        return zf_fail_place(error, status, "%s", what->where);
    return place_failure(what, failure, status, error);
}

/// The check of the node that reads `name`, best one that names it; NULL: the node has none.
static const zf_abi_check *reader_of(const zf_abi_plan *plan, const char *node, size_t length, const char *name) {
    const zf_abi_check *found = NULL;
    for (uint32_t k = 0; k < plan->check_count; k++) {
        const zf_abi_check *check = &plan->checks[k];
        if (strlen(check->path) != length || memcmp(check->path, node, length) != 0) continue;
        const char *last = strrchr(check->text, ' ');
        if (strcmp(last != NULL ? last + 1 : check->text, name) == 0) return check;
        if (found == NULL) found = check;
    }
    return found;
}

void zf_place_refused(const zf_failure *what, const char *refused, zf_error *error) {
    const char *dot = strrchr(refused, '.');
    const zf_abi_check *check =
        reader_of(what->plan, refused, dot != NULL ? (size_t)(dot - refused) : 0, dot != NULL ? dot + 1 : refused);
    if (check == NULL || error == NULL) return;
    char place[sizeof error->place];
    memcpy(place, error->place, sizeof place);
    zf_fail_place(error, error->status, "%s, %s (%s), %s:%u:%u", place, path_of(check), check->algorithm, file_of(what, check),
                  check->line, check->column);
}

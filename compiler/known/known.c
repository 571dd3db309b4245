#include "compiler/known/known.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/error_codes.h"

_Static_assert((int)ZF_IDENTITY_BYTES == (int)ZF_PROGRAM_IDENTITY_BYTES, "containers state identities of the front end");

/// By identity.
static const zf_known_program rows[] = {
#include "known_rows.inc"
};

static int compare(const void *identity, const void *row) {
    return memcmp(identity, ((const zf_known_program *)row)->identity, ZF_IDENTITY_BYTES);
}

const zf_known_program *zf_known_find(const uint8_t identity[ZF_IDENTITY_BYTES]) {
    return bsearch(identity, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
}

static zf_status refuse(const zf_container *container, const char *kind, const char *name, zf_error *error) {
    zf_status status = zf_raise(error, ZF_E_UNKNOWN_PROGRAM,
                                "the %s `%.128s` is not the library's, and only its programs are admitted", kind, name);
    zf_fail_hint(error, status, "`zfc inspect --program` prints it; open the file without `known` if you trust its maker");
    return zf_fail_place(error, status, "%s", zf_container_path(container));
}

zf_status zf_known_check_stated(const zf_container *container, zf_error *error) {
    uint32_t count;
    const zf_stated_program *stated = zf_container_stated(container, &count);
    for (uint32_t k = 0; stated != NULL && zf_container_known_only(container) && k < count; k++) {
        if (zf_known_find(stated[k].identity) == NULL) return refuse(container, "program", stated[k].name, error);
    }
    return ZF_OK;
}

zf_status zf_known_check(const zf_container *container, const zf_declarations *declared, zf_error *error) {
    uint32_t count;
    const zf_stated_program *stated = zf_container_stated(container, &count);
    bool same = stated == NULL || count == declared->count;
    for (uint32_t k = 0; k < declared->count; k++) {
        const zf_declaration *own = &declared->items[k];
        if (zf_container_known_only(container) && zf_known_find(own->identity) == NULL)
            return refuse(container, own->kind, own->name, error);
        same = same && (stated == NULL || (strcmp(stated[k].name, own->name) == 0 &&
                                           memcmp(stated[k].identity, own->identity, sizeof own->identity) == 0));
    }
    if (same) return ZF_OK;
    zf_raise(error, ZF_E_INDEX_CONTENT, "the index states other programs than the file's text has");
    return zf_fail_place(error, ZF_ERR_INPUT, "%s", zf_container_path(container));
}

#include "runtime/base/sized.h"

#include <string.h>

#include "runtime/base/error_codes.h"

static size_t size_of(const void *given) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

zf_status zf_sized_check(const void *given, size_t first, const char *name, zf_error *error) {
    size_t size = size_of(given);
    if (size == 0 || (size >= first && size <= ZF_SIZED_MOST && size % sizeof size == 0)) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_STRUCT_SIZE, "a %s begins with %zu, which is not its size", name, size);
    return zf_fail_hint(error, status, "begin it with ZF_INIT(%s), or with zeroes", name);
}

zf_status zf_sized_take(void *own, size_t first, size_t now, const void *given, const char *name, zf_error *error) {
    memset(own, 0, now);
    if (given != NULL) {
        zf_status status = zf_sized_check(given, first, name, error);
        if (status != ZF_OK) return status;
        size_t size = size_of(given) != 0 ? size_of(given) : first;
        for (size_t at = now; at < size; at++) {
            if (((const unsigned char *)given)[at] == 0) continue;
            status = zf_raise(error, ZF_E_STRUCT_SIZE, "a %s of %zu bytes sets byte %zu; this version has %zu bytes", name, size,
                              at, now);
            return zf_fail_hint(error, status, "the program was built for a newer version of zipflow than the library is");
        }
        memcpy(own, given, size < now ? size : now);
    }
    memcpy(own, &now, sizeof now);
    return ZF_OK;
}

zf_status zf_sized_exact(const void *given, size_t first, size_t now, const char *name, zf_error *error) {
    size_t size = size_of(given) != 0 ? size_of(given) : first;
    if (size == now) return ZF_OK;
    zf_status status = zf_raise(error, ZF_E_STRUCT_SIZE, "a %s of %zu bytes: this version has %zu bytes", name, size, now);
    return zf_fail_hint(error, status, "begin it with ZF_INIT(%s), and use one version of the header and the library", name);
}

void zf_sized_give(void *given, size_t first, size_t now, const void *own) {
    size_t said = size_of(given), size = said != 0 ? said : first;
    memset(given, 0, size);
    memcpy(given, own, size < now ? size : now);
    memcpy(given, &said, sizeof said);
}

void zf_sized_give_at(void *array, size_t index, size_t first, size_t now, const void *own) {
    size_t size = size_of(array);
    unsigned char *at = (unsigned char *)array + index * (size != 0 ? size : first);
    memcpy(at, &size, sizeof size);
    zf_sized_give(at, first, now, own);
}

// A decode that shares as little as possible with what is measured, for comparison.
#include <stdlib.h>
#include <string.h>

#include "measure/measure.h"
#include "measure/measure_compare.h"
#include "runtime/base/error_codes.h"

struct zf_measure_reference {
    zf_context *context;
    zf_compiler *compiler;
    zf_container *container;
};

zf_status zf_measure_reference_open(const char *path, const zf_open_options *options, zf_measure_reference **out,
                                    zf_error *error) {
    zf_measure_reference *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return zf_raise_no_memory(error);
    zf_compiler_options compiling = {.optimise = 1, .general_only = true}; // 1 is -O0
    zf_status status = zf_context_create(&(zf_context_options){.cache_dir = ""}, &r->context, error);
    if (status == ZF_OK) status = zf_compiler_create(r->context, &compiling, &r->compiler, error);
    if (status == ZF_OK) status = zf_container_open_file(r->context, path, options, &r->container, error);
    if (status == ZF_OK)
        *out = r;
    else
        zf_measure_reference_close(r);
    return status;
}

void zf_measure_reference_close(zf_measure_reference *reference) {
    if (reference == NULL) return;
    zf_container_close(reference->container);
    zf_compiler_free(reference->compiler);
    zf_context_free(reference->context);
    free(reference);
}

/// Allocates the buffers, each aligned by itself, and poisons them.
static zf_status allocate(const size_t bytes[4], void *parts[4], zf_error *error) {
    for (int i = 0; i < 4; i++) {
        parts[i] = aligned_alloc(64, (bytes[i] + 64) / 64 * 64);
        if (parts[i] == NULL) return zf_raise_no_memory(error);
        memset(parts[i], ZF_POISON_REFERENCE, bytes[i]);
    }
    return ZF_OK;
}

zf_status zf_measure_reference_column(zf_measure_reference *reference, size_t column, zf_measure_plain *out, zf_error *error) {
    zf_decode_sizes sizes = {0};
    void *parts[4] = {NULL};
    *out = (zf_measure_plain){.origin = "an unoptimised decode"};
    ZF_TRY(zf_decode_size(reference->container, column, NULL, &sizes, error));
    const size_t bytes[4] = {sizes.offsets, sizes.values, sizes.validity, sizes.workspace};
    zf_status status = allocate(bytes, parts, error);
    out->bytes = sizes.offsets + sizes.values + sizes.validity;
    out->values = malloc(out->bytes + 1);
    if (status == ZF_OK && out->values == NULL) status = zf_raise_no_memory(error);
    if (status == ZF_OK) {
        zf_decode_buffers buffers = {
            .offsets = parts[0], .values = parts[1], .validity = parts[2], .workspace = parts[3], ZF_DECODE_BYTES(sizes)};
        status = zf_decode(reference->container, column, "cpu", NULL, &buffers, NULL, error);
    }
    if (status == ZF_OK) {
        uint8_t *at = out->values;
        for (int i = 0; i < 3; at += bytes[i++]) memcpy(at, parts[i], bytes[i]);
    }
    for (int i = 0; i < 4; i++) free(parts[i]);
    return status;
}

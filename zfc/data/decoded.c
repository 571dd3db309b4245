#include "zfc/data/decoded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/device/device.h"
#include "zfc/driver_codes.h"

/// Memory aligned for decoding, not NULL for 0 bytes. It is not filled here: tests let the allocator do that (MALLOC_PERTURB_),
/// so that what a kernel leaves out shows.
static void *allocate(size_t bytes) {
    size_t size = (bytes + 63) / 64 * 64 + 64;
    return size > bytes ? aligned_alloc(64, size) : NULL;
}

zf_status zf_start_device(zf_context *context, const char *name, double *seconds, zf_error *error) {
    double begin = zf_seconds();
    zf_device device;
    zf_accelerator *accelerator;
    ZF_TRY(zf_device_find(context, name, &device, error));
    if (device.ops->start != NULL) ZF_TRY(zf_device_accelerator(context, &device, &accelerator, error));
    *seconds = zf_seconds() - begin;
    return ZF_OK;
}

zf_status zf_decoded_describe(zf_container *container, size_t column, const zf_decode_options *options, zf_decoded *out,
                              zf_error *error) {
    *out = (zf_decoded){0};
    ZF_TRY(zf_container_column(container, column, &out->info, error));
    ZF_TRY(zf_decode_size(container, column, options, &out->sizes, error));
    out->rows = out->info.rows;
    if (options->some_rows)
        out->rows = options->row_count == UINT64_MAX ? out->info.rows - options->row_begin : options->row_count;
    return ZF_OK;
}

zf_status zf_decoded_allocate(zf_decoded *out, zf_error *error) {
    out->buffers = (zf_decode_buffers){ZF_DECODE_BYTES(out->sizes)};
    out->buffers.values = allocate(out->sizes.values);
    out->buffers.workspace = allocate(out->sizes.workspace);
    if (out->info.type.element == ZF_STRING) out->buffers.offsets = allocate(out->sizes.offsets);
    if (out->info.type.nullable) out->buffers.validity = allocate(out->sizes.validity);
    if (!out->buffers.values || !out->buffers.workspace || (out->info.type.element == ZF_STRING && !out->buffers.offsets) ||
        (out->info.type.nullable && !out->buffers.validity)) {
        return zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for column `%s`: %zu bytes", out->info.name,
                       out->sizes.values);
    }
    return ZF_OK;
}

zf_status zf_decode_column(zf_context *context, zf_container *container, size_t column, const char *device,
                           const zf_decode_options *options, uint64_t repeat, zf_decoded *out, zf_error *error) {
    double start = zf_seconds();
    ZF_TRY(zf_decoded_describe(container, column, options, out, error));
    ZF_TRY(zf_start_device(context, device, &out->waited.device, error));
    ZF_TRY(zf_decoded_allocate(out, error));
    for (uint64_t run = 0; run == 0 || run < repeat; run++) {
        double begin = zf_seconds();
        ZF_TRY(zf_decode(container, column, device, options, &out->buffers, &out->stats, error));
        double seconds = zf_seconds() - begin;
        if (run == 0 || seconds < out->seconds) out->seconds = seconds;
        if (run > 0) continue;
        out->waited.compile = out->stats.compile_seconds;
        out->waited.load = out->stats.load_seconds;
        out->waited.decode = zf_seconds() - start - out->waited.device - out->waited.compile - out->waited.load;
    }
    return ZF_OK;
}

void zf_decoded_free(zf_decoded *decoded) {
    free(decoded->buffers.values);
    free(decoded->buffers.workspace);
    free(decoded->buffers.offsets);
    free(decoded->buffers.validity);
    *decoded = (zf_decoded){0};
}

/// The columns that a list names, in its order.
static zf_status select_named(zf_container *container, const char *names, size_t *selected, size_t *count, zf_error *error) {
    for (const char *at = names; at;) {
        size_t length = strcspn(at, ",");
        char name[256];
        if (length == 0) return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns has an empty name: `%.64s`", names);
        if (length >= sizeof name) // longer than any name in a container
            return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns: no column has a name of %zu bytes", length);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        ZF_TRY(zf_container_find(container, name, &selected[*count], error));
        for (size_t k = 0; k < *count; k++) {
            if (selected[k] == selected[*count])
                return zf_fail(error, ZF_ERR_USAGE, ZFC_BAD_ARGUMENT, "--columns names `%s` twice", name);
        }
        (*count)++;
        at = at[length] ? at + length + 1 : NULL;
    }
    return ZF_OK;
}

size_t *zf_selected_columns(zf_container *container, const char *names, size_t *count, zf_error *error) {
    size_t most = zf_container_columns(container);
    for (const char *c = names ? names : ""; *c; c++) most += *c == ',';
    size_t *selected = malloc((most + 1) * sizeof *selected);
    *count = 0;
    if (!selected) {
        zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory");
        return NULL;
    }
    if (!names) {
        for (size_t i = 0; i < zf_container_columns(container); i++) selected[(*count)++] = i;
        return selected;
    }
    if (select_named(container, names, selected, count, error) == ZF_OK) return selected;
    free(selected);
    *count = 0; // the names before the bad one are not columns to go on with
    return NULL;
}

const char *zf_rows_option(const char *text, zf_decode_options *out) {
    static const char *const form = "--rows wants A..B with A at most B";
    unsigned long long begin = 0, end = UINT64_MAX;
    char *at = (char *)(uintptr_t)text;
    errno = 0;
    if (*at != '.') {
        if (*at < '0' || *at > '9') return form;
        begin = strtoull(at, &at, 10);
    }
    if (at[0] != '.' || at[1] != '.') return form;
    at += 2;
    if (*at) {
        if (*at < '0' || *at > '9') return form;
        end = strtoull(at, &at, 10);
    }
    // The largest number stands for an end that was not given.
    if (!*at && (errno == ERANGE || (end == UINT64_MAX && at[-1] != '.') || begin == UINT64_MAX))
        return "--rows: numbers of rows are below 2^64 - 1";
    if (*at || end < begin) return form;
    out->some_rows = true;
    out->row_begin = begin;
    out->row_count = end == UINT64_MAX ? UINT64_MAX : end - begin;
    return NULL;
}

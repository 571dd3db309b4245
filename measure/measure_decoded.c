#include "measure/measure_decoded.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/device/device.h"

/// Allocates memory aligned for decoding, not NULL for 0 bytes. It is not filled here: tests let the allocator do that
/// (MALLOC_PERTURB_), so that bytes which a kernel does not write show.
static void *allocate(size_t bytes) {
    size_t size = (bytes + 63) / 64 * 64 + 64;
    return size > bytes ? aligned_alloc(64, size) : NULL;
}

zf_status zf_start_device(zf_context *context, const char *name, double *seconds, zf_error *error) {
    double begin = zf_clock_seconds();
    zf_device device;
    zf_accelerator *accelerator;
    ZF_TRY(zf_device_find(context, name, &device, error));
    if (device.ops->start != NULL) ZF_TRY(zf_device_accelerator(context, &device, &accelerator, error));
    *seconds = zf_clock_seconds() - begin;
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
    const struct {
        const char *what;
        const void *memory;
        size_t bytes;
        bool needed;
    } parts[] = {{"values", out->buffers.values, out->sizes.values, true},
                 {"a workspace", out->buffers.workspace, out->sizes.workspace, true},
                 {"offsets", out->buffers.offsets, out->sizes.offsets, out->info.type.element == ZF_STRING},
                 {"validity", out->buffers.validity, out->sizes.validity, out->info.type.nullable}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].needed || parts[i].memory) continue;
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for column `%s`: %s of %zu bytes", out->info.name, parts[i].what,
                        parts[i].bytes);
    }
    return ZF_OK;
}

zf_status zf_decode_column(zf_context *context, zf_container *container, size_t column, const char *device,
                           const zf_decode_options *options, uint64_t repeat, zf_decoded *out, zf_error *error) {
    double start = zf_clock_seconds();
    ZF_TRY(zf_decoded_describe(container, column, options, out, error));
    ZF_TRY(zf_start_device(context, device, &out->waited.device, error));
    ZF_TRY(zf_decoded_allocate(out, error));
    for (uint64_t run = 0; run == 0 || run < repeat; run++) {
        double begin = zf_clock_seconds();
        ZF_TRY(zf_decode(container, column, device, options, &out->buffers, &out->stats, error));
        double seconds = zf_clock_seconds() - begin;
        if (run == 0 || seconds < out->seconds) out->seconds = seconds;
        if (run > 0) continue;
        out->waited.compile = out->stats.compile_seconds;
        out->waited.load = out->stats.load_seconds;
        out->waited.decode = zf_clock_seconds() - start - out->waited.device - out->waited.compile - out->waited.load;
    }
    return ZF_OK;
}

zf_status zf_decode_lists_of(zf_context *context, zf_container *container, size_t column, const char *device,
                             const zf_decode_options *options, zf_decoded *out, zf_decode_options *values, zf_error *error) {
    double start = zf_clock_seconds();
    zf_column_info next = {0};
    zf_list_values of = {0};
    ZF_TRY(zf_decoded_describe(container, column, options, out, error));
    ZF_TRY(zf_start_device(context, device, &out->waited.device, error));
    ZF_TRY(zf_container_column(container, column + 1, &next, error));
    out->sizes = (zf_decode_sizes){.offsets = (out->rows + 1) * sizeof(int64_t),
                                   .validity = next.part == ZF_LIST_VALIDITY ? (out->rows + 7) / 8 : 0};
    out->buffers = (zf_decode_buffers){ZF_DECODE_BYTES(out->sizes)};
    out->buffers.offsets = allocate(out->sizes.offsets);
    bool nullable = next.part == ZF_LIST_VALIDITY;
    if (nullable) out->buffers.validity = allocate(out->sizes.validity);
    if (out->buffers.offsets == NULL || (nullable && out->buffers.validity == NULL))
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the lists of column `%s`", out->info.name);
    double begin = zf_clock_seconds();
    ZF_TRY(zf_decode_lists(container, column, device, options, &out->buffers, &of, &out->stats, error));
    out->seconds = zf_clock_seconds() - begin;
    out->waited.compile = out->stats.compile_seconds;
    out->waited.load = out->stats.load_seconds;
    out->waited.decode = zf_clock_seconds() - start - out->waited.device - out->waited.compile - out->waited.load;
    *values = *options;
    values->some_rows = true;
    values->row_begin = of.row_begin;
    values->row_count = of.row_count;
    return ZF_OK;
}

void zf_decoded_free(zf_decoded *decoded) {
    free(decoded->buffers.values);
    free(decoded->buffers.workspace);
    free(decoded->buffers.offsets);
    free(decoded->buffers.validity);
    *decoded = (zf_decoded){0};
}

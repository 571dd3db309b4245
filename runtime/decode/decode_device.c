// Decoding on an accelerator into the host's memory: units, in device memory that lives as long as the call.
#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_run.h"
#include "runtime/decode/decode_device.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/device/device.h"

/// Everything on `stream`.
static zf_status run(zf_units *units, void *stream, const zf_decode_buffers *buffers, zf_units_memory *memory, zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    uint64_t *words = malloc((zf_units_words(units) + 1) * sizeof *words);
    if (words == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for failure words");
    zf_status status = zf_units_allocate(units, memory, error);
    if (status == ZF_OK) {
        status = zf_units_enqueue(units, stream, memory, words, error);
        // Also after a failure: what was queued still uses the memory.
        zf_status waited = ops->wait(units->accelerator, stream, status == ZF_OK ? error : NULL);
        if (status == ZF_OK) status = waited;
    }
    if (status == ZF_OK) status = zf_units_status(units, words, error);
    free(words);
    if (status == ZF_OK) status = zf_units_fetch(units, stream, memory, buffers, error);
    return zf_container_explain(units->column->selection.container, status, error);
}

/// The same on the caller's stream, or on one of its own: on the default stream decodes of several threads would wait for each
/// other.
static zf_status run_on(zf_units *units, void *stream, const zf_decode_buffers *buffers, zf_units_memory *memory,
                        zf_error *error) {
    const zf_accelerator_ops *ops = units->accelerator->ops;
    void *own = NULL;
    if (stream == NULL) ZF_TRY(ops->stream_open(units->accelerator, &own, error));
    zf_status status = run(units, stream != NULL ? stream : own, buffers, memory, error);
    if (stream == NULL) ops->stream_close(units->accelerator, own);
    return status;
}

static zf_status decode_on(zf_accelerator *accelerator, zf_container *container, size_t column, const zf_decode_options *options,
                           const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error) {
    zf_units *units = NULL;
    zf_units_memory memory = {0};
    ZF_TRY(zf_units_make(container, column, options, NULL, accelerator, &units, error));
    bool any = units->column->selection.begin < units->column->selection.end;
    zf_status status = zf_units_column_check(units->column, buffers, error);
    if (status == ZF_OK && any)
        status = run_on(units, options != NULL ? options->stream : NULL, buffers, &memory, error);
    else if (status == ZF_OK && units->column->is_text)
        buffers->offsets[0] = 0;
    if (stats != NULL) *stats = zf_units_stats(units);
    zf_units_release(accelerator, &memory);
    zf_units_retire(units);
    zf_units_free(units);
    return status;
}

zf_status zf_decode_on(zf_accelerator *accelerator, zf_container *container, size_t column, const zf_decode_options *options,
                       const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error) {
    zf_passes *passes = zf_context_passes(container->context);
    unsigned pass = zf_pass_begin(passes, ZF_PASS_DECODE);
    zf_status status = decode_on(accelerator, container, column, options, buffers, stats, error);
    zf_pass_end(passes, pass);
    return status;
}

// ---- In memory and on a stream of the caller ------------------------------------------------------------------

struct zf_prepared {
    zf_units *units;
    const uint64_t *words; ///< in the staging memory of the last call; NULL before, and where that call failed
    zf_error failure;      ///< of the last call, where it failed; ZF_OK
};

zf_status zf_decode_prepare(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                            zf_prepared **out, zf_error *error) {
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_prepare needs a place for the prepared decode");
    *out = NULL;
    if (container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_prepare needs a container");
    zf_device chosen;
    zf_accelerator *accelerator = NULL;
    zf_decode_options own;
    ZF_TRY(ZF_TAKE(zf_decode_options, &own, options, error));
    ZF_TRY(zf_device_find(container->context, device != NULL ? device : "auto", &chosen, error));
    if (chosen.ops->start == NULL)
        return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` has no memory of its own and no streams", chosen.ops->name);
    ZF_TRY(zf_device_accelerator(container->context, &chosen, &accelerator, error));
    zf_prepared *prepared = calloc(1, sizeof *prepared);
    if (prepared == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decode");
    zf_status status = zf_units_make(container, column, &own, NULL, accelerator, &prepared->units, error);
    if (status == ZF_OK) {
        prepared->units->column->selection.cancelled = NULL; // the caller's function is for this call alone
        *out = prepared;
    } else {
        free(prepared);
    }
    return status;
}

void zf_prepared_free(zf_prepared *prepared) {
    if (prepared == NULL) return;
    zf_units_retire(prepared->units); // the caller has waited
    zf_units_free(prepared->units);
    free(prepared);
}

zf_status zf_decode_device_size(const zf_prepared *prepared, zf_device_sizes *out, zf_error *error) {
    if (prepared == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_device_size needs a prepared decode and a place for the sizes");
    ZF_TRY(ZF_CHECK_GIVEN(zf_device_sizes, out, error));
    zf_units_sizes sizes = zf_units_sizes_of(prepared->units);
    zf_device_sizes own = {.values = sizes.values,
                           .skip = sizes.skip,
                           .offsets = sizes.offsets,
                           .validity = sizes.validity,
                           .validity_skip = sizes.validity_skip,
                           .workspace = sizes.workspace,
                           .staging = sizes.staging};
    ZF_GIVE(zf_device_sizes, out, &own);
    return ZF_OK;
}

static zf_status check_buffer(const char *name, uint64_t at, uint64_t has, uint64_t needs, uint64_t alignment, zf_error *error) {
    zf_status status = ZF_OK;
    if (needs == 0) return ZF_OK;
    if (at == 0 || at % alignment != 0)
        status = zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is missing, or not aligned to %llu bytes; it needs %llu", name,
                          (unsigned long long)alignment, (unsigned long long)needs);
    else if (has < needs)
        status = zf_raise(error, ZF_E_BUFFER_SIZE, "the buffer `%s` has %llu bytes; the decode needs %llu", name,
                          (unsigned long long)has, (unsigned long long)needs);
    if (status == ZF_OK) return ZF_OK;
    return zf_fail_hint(error, status,
                        "zf_decode_device_size reports the sizes (of a pipeline zf_pipeline_request_sizes), and "
                        "ZF_DEVICE_BYTES passes them on");
}

zf_status zf_device_buffers_check(const zf_units_sizes *sizes, const zf_device_buffers *buffers, zf_error *error) {
    enum { ALIGNMENT = 256 };
    ZF_TRY(check_buffer("values", buffers->values, buffers->values_bytes, sizes->values, ALIGNMENT, error));
    ZF_TRY(check_buffer("offsets", buffers->offsets, buffers->offsets_bytes, sizes->offsets, ALIGNMENT, error));
    ZF_TRY(check_buffer("validity", buffers->validity, buffers->validity_bytes, sizes->validity, ALIGNMENT, error));
    ZF_TRY(check_buffer("workspace", buffers->workspace, buffers->workspace_bytes, sizes->workspace, ALIGNMENT, error));
    return check_buffer("staging", (uint64_t)(uintptr_t)buffers->staging, buffers->staging_bytes, sizes->staging, 8, error);
}

static zf_status queue(zf_prepared *prepared, void *stream, const zf_device_buffers *buffers, zf_error *error) {
    zf_units_sizes sizes = zf_units_sizes_of(prepared->units);
    zf_status fits = zf_device_buffers_check(&sizes, buffers, error);
    if (fits != ZF_OK) return zf_fail_place(error, fits, "column %s", prepared->units->column->selection.column->shown);
    ZF_TRY(zf_container_unchanged(prepared->units->column->selection.container, error));
    zf_units_memory memory = {.values = buffers->values,
                              .workspace = buffers->workspace,
                              .offsets = buffers->offsets,
                              .validity = buffers->validity,
                              .staging = buffers->staging};
    zf_status status = zf_units_enqueue(prepared->units, stream, &memory, NULL, error);
    if (status != ZF_ERR_USAGE) return status;
    return zf_fail_hint(error, status,
                        "`values`, `offsets`, `validity` and `workspace` are memory of the device, as large as "
                        "zf_decode_device_size says");
}

zf_status zf_decode_async(zf_prepared *prepared, void *stream, const zf_device_buffers *buffers, zf_error *error) {
    if (prepared == NULL || buffers == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_async needs a prepared decode and buffers");
    zf_device_buffers own = {0};
    ZF_TRY(ZF_TAKE(zf_device_buffers, &own, buffers, error));
    // A decode that is not enqueued whole writes no failure words: those in the staging memory belong to another decode.
    prepared->words = NULL;
    prepared->failure.status = ZF_OK;
    zf_status status = queue(prepared, stream, &own, &prepared->failure);
    if (status == ZF_OK)
        prepared->words = own.staging;
    else if (error != NULL)
        *error = prepared->failure;
    return status;
}

zf_status zf_decode_status(const zf_prepared *prepared, zf_decode_stats *stats, zf_error *error) {
    if (prepared == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_status needs a prepared decode");
    if (stats != NULL) {
        zf_decode_stats own = zf_units_stats(prepared->units);
        ZF_TRY(ZF_CHECK_GIVEN(zf_decode_stats, stats, error));
        ZF_GIVE(zf_decode_stats, stats, &own);
    }
    if (prepared->failure.status != ZF_OK) {
        if (error != NULL) *error = prepared->failure;
        return prepared->failure.status;
    }
    if (prepared->words == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_status comes after zf_decode_async");
    ZF_TRY(zf_container_unchanged(prepared->units->column->selection.container, error));
    return zf_units_status(prepared->units, prepared->words, error);
}

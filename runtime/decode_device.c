// Decoding on an accelerator into the host's memory: units, in device memory that lives as long as the call.
#include <stdlib.h>
#include <string.h>

#include "runtime/block_run.h"
#include "runtime/decode_device.h"
#include "runtime/decode_unit_internal.h"
#include "runtime/device.h"
#include "runtime/error_codes.h"

typedef struct running {
    zf_units *units;
    zf_accelerator *accelerator;
    zf_units_memory memory;
    uint64_t *words;
    uint8_t *bitmap; ///< booleans that must be shifted
} running;

/// Queues the copy of the rows wanted to `values`; booleans of a range that begins within a byte go to a bitmap first.
static zf_status copy_values(running *r, void *values, zf_error *error) {
    const zf_selection *s = &r->units->selection;
    const zf_units_sizes *sizes = &r->units->sizes;
    const zf_accelerator_ops *ops = r->accelerator->ops;
    if (s->bits != 1) {
        return ops->copy_out(r->accelerator, NULL, values, r->memory.values + sizes->skip, r->units->out_bytes, error);
    }
    uint64_t begin = sizes->skip / 8, end = (sizes->skip + (s->end - s->begin) + 7) / 8;
    void *to = values;
    if (sizes->skip % 8 != 0) {
        r->bitmap = malloc(end - begin);
        if (r->bitmap == NULL)
            return zf_raise(error, ZF_E_NO_MEMORY, "no memory for %llu bytes", (unsigned long long)(end - begin));
        to = r->bitmap;
    }
    return ops->copy_out(r->accelerator, NULL, to, r->memory.values + begin, end - begin, error);
}

static void shift_values(const running *r, uint8_t *values) {
    const zf_selection *s = &r->units->selection;
    uint64_t rows = s->end - s->begin;
    if (s->bits != 1) return;
    if (r->bitmap != NULL) zf_copy_bits(values, 0, r->bitmap, r->units->sizes.skip % 8, rows);
    if (rows % 8 != 0) values[rows / 8] &= (uint8_t)((1u << (rows % 8)) - 1);
}

static zf_status run(running *r, void *values, zf_error *error) {
    const zf_accelerator_ops *ops = r->accelerator->ops;
    const zf_units_sizes *sizes = &r->units->sizes;
    r->words = malloc((zf_units_words(r->units) + 1) * sizeof *r->words);
    if (r->words == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for failure words");
    ZF_TRY(ops->allocate(r->accelerator, sizes->values, &r->memory.values, error));
    ZF_TRY(ops->allocate(r->accelerator, sizes->workspace, &r->memory.workspace, error));
    zf_status status = zf_units_enqueue(r->units, NULL, &r->memory, r->words, error);
    if (status == ZF_OK) status = copy_values(r, values, error);
    // Also after a failure: what was queued still uses the memory.
    zf_status waited = ops->wait(r->accelerator, NULL, status == ZF_OK ? error : NULL);
    if (status == ZF_OK) status = waited;
    if (status == ZF_OK) status = zf_units_status(r->units, r->words, error);
    zf_error changed;
    if (zf_container_unchanged(r->units->selection.container, &changed) != ZF_OK) {
        status = changed.status;
        if (error != NULL) *error = changed;
    }
    if (status == ZF_OK) shift_values(r, values);
    return status;
}

zf_status zf_decode_on(zf_accelerator *accelerator, zf_container *container, size_t column, const zf_decode_options *options,
                       const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error) {
    running r = {.accelerator = accelerator};
    ZF_TRY(zf_units_make(container, column, options, NULL, accelerator, &r.units, error));
    zf_status status = ZF_OK;
    if (r.units->selection.begin < r.units->selection.end) {
        if (buffers == NULL || buffers->values == NULL)
            status = zf_raise(error, ZF_E_BUFFER, "the buffer `values` is missing");
        else
            status = run(&r, buffers->values, error);
    }
    if (stats != NULL) *stats = zf_units_stats(r.units);
    if (r.memory.values != 0) accelerator->ops->release(accelerator, r.memory.values);
    if (r.memory.workspace != 0) accelerator->ops->release(accelerator, r.memory.workspace);
    free(r.bitmap);
    free(r.words);
    zf_units_free(r.units);
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
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_prepare needs a place for what it makes");
    *out = NULL;
    if (container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_prepare needs a container");
    zf_device chosen;
    zf_accelerator *accelerator = NULL;
    ZF_TRY(zf_device_find(container->context, device != NULL ? device : "auto", &chosen, error));
    if (chosen.ops->start == NULL)
        return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` has no memory of its own and no streams", chosen.ops->name);
    ZF_TRY(zf_device_accelerator(container->context, &chosen, &accelerator, error));
    zf_prepared *prepared = calloc(1, sizeof *prepared);
    if (prepared == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a decode");
    zf_status status = zf_units_make(container, column, options, NULL, accelerator, &prepared->units, error);
    if (status == ZF_OK)
        *out = prepared;
    else
        free(prepared);
    return status;
}

void zf_prepared_free(zf_prepared *prepared) {
    if (prepared == NULL) return;
    zf_units_free(prepared->units);
    free(prepared);
}

zf_status zf_decode_device_size(const zf_prepared *prepared, zf_device_sizes *out, zf_error *error) {
    if (prepared == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_device_size needs a prepared decode and a place for the sizes");
    zf_units_sizes sizes = zf_units_sizes_of(prepared->units);
    *out = (zf_device_sizes){sizes.values, sizes.skip, sizes.workspace, sizes.staging};
    return ZF_OK;
}

static zf_status queue(zf_prepared *prepared, void *stream, const zf_device_buffers *buffers, zf_error *error) {
    zf_units_sizes sizes = zf_units_sizes_of(prepared->units);
    const struct {
        const char *name;
        uint64_t at, bytes, alignment;
    } needed[] = {{"values", buffers->values, sizes.values, 256},
                  {"workspace", buffers->workspace, sizes.workspace, 256},
                  {"staging", (uint64_t)(uintptr_t)buffers->staging, sizes.staging, 8}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (needed[i].bytes == 0 || (needed[i].at != 0 && needed[i].at % needed[i].alignment == 0)) continue;
        return zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is missing, or not aligned to %llu bytes; it needs %llu",
                        needed[i].name, (unsigned long long)needed[i].alignment, (unsigned long long)needed[i].bytes);
    }
    // A map of a file that was cut gives a signal where it is touched.
    ZF_TRY(zf_container_unchanged(prepared->units->selection.container, error));
    zf_units_memory memory = {buffers->values, buffers->workspace, buffers->staging};
    return zf_units_enqueue(prepared->units, stream, &memory, NULL, error);
}

zf_status zf_decode_async(zf_prepared *prepared, void *stream, const zf_device_buffers *buffers, zf_error *error) {
    if (prepared == NULL || buffers == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_async needs a prepared decode and buffers");
    // What is not queued whole writes no failure words: those in the staging memory are somebody else's.
    prepared->words = NULL;
    prepared->failure.status = ZF_OK;
    zf_status status = queue(prepared, stream, buffers, &prepared->failure);
    if (status == ZF_OK)
        prepared->words = buffers->staging;
    else if (error != NULL)
        *error = prepared->failure;
    return status;
}

zf_status zf_decode_status(const zf_prepared *prepared, zf_decode_stats *stats, zf_error *error) {
    if (prepared == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_status needs a prepared decode");
    if (stats != NULL) *stats = zf_units_stats(prepared->units);
    if (prepared->failure.status != ZF_OK) {
        if (error != NULL) *error = prepared->failure;
        return prepared->failure.status;
    }
    if (prepared->words == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_status comes after zf_decode_async");
    ZF_TRY(zf_container_unchanged(prepared->units->selection.container, error));
    return zf_units_status(prepared->units, prepared->words, error);
}

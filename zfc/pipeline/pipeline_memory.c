// Memory that columns go to, and whether the right bytes are there.
#include <stdlib.h>
#include <string.h>

#include "measure/measure_decoded.h"
#include "runtime/container/container_open.h"
#include "runtime/decode/decode_unit.h"
#include "runtime/device/device.h"
#include "zfc/driver_codes.h"
#include "zfc/pipeline/pipelining.h"

enum { ALIGNMENT = 64, SPOILED = 0xa5 };

zf_status zf_pipe_memory_open(zf_context *context, const char *device, zf_pipe_memory *out, zf_error *error) {
    zf_device found;
    zf_device_info info = {0};
    *out = (zf_pipe_memory){0};
    ZF_TRY(zf_device_find(context, device, &found, error));
    ZF_TRY(zf_device_get(context, found.entry, &info, error));
    out->name = info.name;
    if (found.ops->start == NULL) return ZF_OK;
    ZF_TRY(zf_device_accelerator(context, &found, &out->accelerator, error));
    return out->accelerator->ops->stream_open(out->accelerator, &out->stream, error);
}

void zf_pipe_memory_close(zf_pipe_memory *memory) {
    if (memory->accelerator != NULL && memory->stream != NULL)
        memory->accelerator->ops->stream_close(memory->accelerator, memory->stream);
    *memory = (zf_pipe_memory){0};
}

// ---- Allocating -----------------------------------------------------------------------------------------------

/// Memory of the host, aligned for decoding, not NULL for 0 bytes.
static zf_status host_part(zf_pipe_memory *memory, size_t bytes, void **out, zf_error *error) {
    if (memory->accelerator != NULL)
        return memory->accelerator->ops->host_allocate(memory->accelerator, bytes + ALIGNMENT, out, error);
    size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    *out = size > bytes ? aligned_alloc(ALIGNMENT, size) : NULL;
    return *out != NULL ? ZF_OK : zf_fail(error, ZF_ERR_MEMORY, ZFC_NO_MEMORY, "no memory for a column: %zu bytes", bytes);
}

static zf_status device_part(zf_pipe_memory *memory, uint64_t bytes, uint64_t *out, zf_error *error) {
    return bytes > 0 ? memory->accelerator->ops->allocate(memory->accelerator, bytes, out, error) : ZF_OK;
}

zf_status zf_pipe_allocate(zf_pipe_memory *memory, const zf_pipeline_sizes *sizes, zf_pipeline_request *request,
                           zf_error *error) {
    if (request->on_device) {
        request->device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes->device)};
        ZF_TRY(device_part(memory, sizes->device.values, &request->device.values, error));
        ZF_TRY(device_part(memory, sizes->device.offsets, &request->device.offsets, error));
        return device_part(memory, sizes->device.validity, &request->device.validity, error);
    }
    void *part = NULL;
    request->host = (zf_decode_buffers){ZF_DECODE_BYTES(sizes->host)};
    ZF_TRY(host_part(memory, sizes->host.values, &request->host.values, error));
    if (sizes->host.offsets > 0) {
        ZF_TRY(host_part(memory, sizes->host.offsets, &part, error));
        request->host.offsets = part;
    }
    if (sizes->host.validity > 0) {
        ZF_TRY(host_part(memory, sizes->host.validity, &part, error));
        request->host.validity = part;
    }
    if (sizes->host.workspace == 0) return ZF_OK;
    return host_part(memory, sizes->host.workspace, &request->host.workspace, error);
}

void zf_pipe_release(zf_pipe_memory *memory, zf_pipeline_request *request) {
    const zf_device_buffers *device = &request->device;
    void *host[] = {request->host.values, request->host.offsets, request->host.validity, request->host.workspace};
    uint64_t addresses[] = {device->values, device->offsets, device->validity};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        if (addresses[i] != 0) memory->accelerator->ops->release(memory->accelerator, addresses[i]);
    }
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) {
        if (memory->accelerator == NULL)
            free(host[i]);
        else if (host[i] != NULL)
            memory->accelerator->ops->host_release(memory->accelerator, host[i]);
    }
    request->host = (zf_decode_buffers){0};
    request->device = (zf_device_buffers){0};
}

zf_status zf_pipe_spoil(zf_pipe_memory *memory, const zf_pipeline_sizes *sizes, const zf_pipeline_request *request,
                        zf_error *error) {
    const zf_decode_buffers *host = &request->host;
    if (!request->on_device) {
        memset(host->values, SPOILED, sizes->host.values);
        if (host->offsets != NULL) memset(host->offsets, SPOILED, sizes->host.offsets);
        if (host->validity != NULL) memset(host->validity, SPOILED, sizes->host.validity);
        return ZF_OK;
    }
    zf_accelerator *a = memory->accelerator;
    const uint64_t at[] = {request->device.values, request->device.offsets, request->device.validity},
                   bytes[] = {sizes->device.values, sizes->device.offsets, sizes->device.validity};
    for (size_t i = 0; i < 3; i++) {
        if (at[i] != 0) ZF_TRY(a->ops->fill(a, memory->stream, at[i], SPOILED, bytes[i], error));
    }
    return a->ops->wait(a, memory->stream, error);
}

// ---- Comparing ------------------------------------------------------------------------------------------------

/// Rows from the device's memory into buffers of the host that are as large as zf_decode's.
static zf_status fetch(zf_pipe_memory *memory, const zf_pipeline_request *request, const zf_decode_buffers *to, zf_error *error) {
    zf_units_options options = {.resident = true}; // as the pipeline makes its columns: their rows lie alike
    zf_units_memory at = {
        .values = request->device.values, .offsets = request->device.offsets, .validity = request->device.validity};
    zf_units_column *column;
    ZF_TRY(zf_units_column_make(request->container, request->column, &request->options, &options, memory->accelerator, &column,
                                error));
    zf_status status = zf_units_column_fetch(column, memory->stream, &at, to, error);
    zf_units_column_free(column);
    return status;
}

static uint64_t first_difference(const void *a, const void *b, uint64_t bytes) {
    const uint8_t *x = a, *y = b;
    uint64_t i = 0;
    if (bytes == 0 || memcmp(x, y, bytes) == 0) return UINT64_MAX;
    while (x[i] == y[i]) i++;
    return i;
}

static zf_status compare_parts(const zf_decoded *alone, const zf_decode_buffers *ours, zf_error *error) {
    uint64_t bitmap = (alone->rows + 7) / 8, values = alone->sizes.values, at;
    const char *part = "offset";
    bool text = alone->info.type.element == ZF_STRING;
    at = text ? first_difference(alone->buffers.offsets, ours->offsets, (alone->rows + 1) * 8) : UINT64_MAX;
    if (text) values = (uint64_t)alone->buffers.offsets[alone->rows];
    if (at == UINT64_MAX) {
        part = "value";
        at = first_difference(alone->buffers.values, ours->values, values);
    }
    if (at == UINT64_MAX && alone->info.type.nullable) {
        part = "validity";
        at = first_difference(alone->buffers.validity, ours->validity, bitmap);
    }
    if (at == UINT64_MAX) return ZF_OK;
    return zf_fail(error, ZF_ERR_INTERNAL, ZFC_PIPELINE_DIFFERS,
                   "the pipeline brought other bytes than a decode alone: byte %llu of the %ss", (unsigned long long)at, part);
}

zf_status zf_pipe_compare(zf_context *context, const char *device, zf_pipe_memory *memory, const zf_pipeline_request *request,
                          zf_error *error) {
    zf_decoded alone;
    zf_pipe_memory plain = {0};
    zf_pipeline_request fetched = *request;
    fetched.on_device = false;
    fetched.host = (zf_decode_buffers){0};
    fetched.device = (zf_device_buffers){0};
    zf_status status =
        zf_decode_column(context, request->container, request->column, device, &request->options, 1, &alone, error);
    bool any = status == ZF_OK && alone.rows > 0;
    if (any && request->on_device) {
        zf_pipeline_sizes sizes = {.host = alone.sizes};
        status = zf_pipe_allocate(&plain, &sizes, &fetched, error);
        if (status == ZF_OK) status = fetch(memory, request, &fetched.host, error);
    }
    if (any && status == ZF_OK) status = compare_parts(&alone, request->on_device ? &fetched.host : &request->host, error);
    if (status != ZF_OK && strcmp(error->code, ZFC_PIPELINE_DIFFERS) == 0)
        zf_fail_place(error, status, "%s: column %s", zf_container_short_path(request->container), alone.info.name);
    zf_pipe_release(&plain, &fetched);
    zf_decoded_free(&alone);
    return status;
}

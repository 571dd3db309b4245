// The needs of a column: of a request, and of a batch for it.
#include <stdlib.h>
#include <xxhash.h>

#include "runtime/base/sized.h"
#include "runtime/base/text.h"
#include "runtime/decode/decode_device.h"
#include "runtime/decode/decode_host.h"
#include "runtime/decode/decode_unit_internal.h"
#include "runtime/pipeline/batch_parts.h"

static zf_status name_column(const zf_requested *request, zf_status status, zf_error *error) {
    return zf_fail_place(error, status, "%s: column %s", zf_container_short_path(request->given.container),
                         zf_requested_column(request)->shown);
}

static zf_status check_request(const zf_pipeline *p, const zf_pipeline_request *request, zf_error *error) {
    if (request->container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "a request of a batch has no container");
    if (request->container->context != p->context)
        return zf_raise(error, ZF_E_ARGUMENT, "%.256s was opened in another context than the pipeline's",
                        request->container->path);
    if (request->on_device && p->accelerator == NULL)
        return zf_raise(error, ZF_E_NO_STREAMS, "device `%s` has no memory of its own", p->device.ops->name);
    return ZF_OK;
}

static zf_status make_column(const zf_pipeline *p, const zf_pipeline_request *request, zf_units_column **out, zf_error *error) {
    zf_units_options options = {.resident = true}; // units of a part lie side by side
    return zf_units_column_make(request->container, request->column, &request->options, &options, p->accelerator, out, error);
}

zf_status zf_pipeline_request_sizes(zf_pipeline *p, const zf_pipeline_request *request, zf_pipeline_sizes *out, zf_error *error) {
    if (p == NULL || request == NULL || out == NULL)
        return zf_raise(error, ZF_E_ARGUMENT, "zf_pipeline_request_sizes needs a pipeline, a request and a place");
    ZF_TRY(ZF_EXACT(zf_pipeline_request, request, error));
    ZF_TRY(ZF_EXACT(zf_pipeline_sizes, out, error));
    *out =
        (zf_pipeline_sizes){ZF_INIT(zf_pipeline_sizes), .host = {ZF_INIT(zf_decode_sizes)}, .device = {ZF_INIT(zf_device_sizes)}};
    ZF_TRY(check_request(p, request, error));
    if (!request->on_device) {
        ZF_TRY(zf_decode_size(request->container, request->column, &request->options, &out->host, error));
        if (p->accelerator != NULL) out->host.workspace = 0;
        return ZF_OK;
    }
    zf_units_column *column;
    ZF_TRY(make_column(p, request, &column, error));
    zf_units_sizes sizes = zf_units_column_sizes(column);
    zf_units_column_free(column);
    out->device = (zf_device_sizes){ZF_INIT(zf_device_sizes), .values = sizes.values,     .skip = sizes.skip,
                                    .offsets = sizes.offsets, .validity = sizes.validity, .validity_skip = sizes.validity_skip};
    return ZF_OK;
}

/// Memory of the device, which requests name.
static zf_status check_device(const zf_requested *request, zf_error *error) {
    zf_units_sizes sizes = zf_units_column_sizes(request->column);
    return zf_device_buffers_check(&sizes, &request->given.device, error); // workspace and staging are 0: the pipeline's
}

/// Memory of the device for rows that go to the host.
static zf_status take_rows(zf_requested *request, zf_error *error) {
    const zf_pipeline *p = request->batch->pipeline;
    zf_units_sizes sizes = zf_units_column_sizes(request->column);
    const struct {
        const char *what;
        bool wanted;
        uint64_t bytes, *to;
    } parts[] = {{"values", true, sizes.values, &request->memory.values},
                 {"offsets", request->column->is_text, sizes.offsets, &request->memory.offsets},
                 {"validity", request->column->nullable, sizes.validity, &request->memory.validity}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].wanted) continue;
        zf_status status =
            zf_device_part_take(p->accelerator, &p->options.allocator, parts[i].bytes, parts[i].what, &request->rows[i], error);
        if (status != ZF_OK) return name_column(request, status, error);
        *parts[i].to = request->rows[i].address;
    }
    return ZF_OK;
}

zf_status zf_requested_open(zf_batch *batch, zf_requested *request, zf_error *error) {
    zf_pipeline *p = batch->pipeline;
    ZF_TRY(check_request(p, &request->given, error));
    request->batch = batch;
    if (p->accelerator == NULL) {
        zf_decode_sizes sizes = {0}; // says whether there are such rows
        ZF_TRY(zf_decode_size(request->given.container, request->given.column, &request->given.options, &sizes, error));
        const zf_index_column *column = &request->given.container->index.columns[request->given.column];
        zf_status status = zf_decode_check_buffers(&sizes, column->type.element, &request->given.host, error);
        if (status != ZF_OK) return name_column(request, status, error);
    } else {
        ZF_TRY(make_column(p, &request->given, &request->column, error));
        const zf_decode_buffers *host = &request->given.host;
        zf_status status =
            request->given.on_device ? check_device(request, error) : zf_units_column_check(request->column, host, error);
        if (status != ZF_OK) return name_column(request, status, error);
        if (request->given.on_device) {
            request->memory = (zf_units_memory){.values = request->given.device.values,
                                                .offsets = request->given.device.offsets,
                                                .validity = request->given.device.validity};
        } else {
            ZF_TRY(take_rows(request, error));
        }
    }
    const zf_index_column *column = zf_requested_column(request);
    zf_text key = {0};
    zf_text_printf(&key, "%s: %s", column->type_name, column->codec);
    request->codec_name = key.data;
    if (key.failed) return zf_batch_no_memory(error);
    request->codec = XXH3_64bits(key.data, key.length);
    return ZF_OK;
}

void zf_requested_close(const zf_batch *batch, zf_requested *request) {
    const zf_pipeline *p = batch->pipeline;
    for (unsigned i = 0; i < sizeof request->rows / sizeof *request->rows; i++)
        zf_device_part_give(p->accelerator, &p->options.allocator, &request->rows[i]);
    zf_units_column_free(request->column);
    free(request->codec_name);
}

#include "python/extension/gpu_read.h"

#include <stdlib.h>
#include <string.h>

#include "python/extension/tensor_type.h"

/// Arrow wants values and validity to begin at the same element, whose bit may lie inside a byte: the elements before it must be
/// within the memory.
enum { FRONT = 256 };

typedef struct needs {
    zf_device_sizes sizes;
    uint64_t front; ///< bytes before values and offsets
} needs;

static zf_pipeline_request request_of(const zf_py_gpu_read *read, const zf_py_gpu_column *column) {
    return (zf_pipeline_request){ZF_INIT(zf_pipeline_request),
                                 .container = read->container,
                                 .column = column->column,
                                 .options = read->options,
                                 .on_device = true,
                                 .host = {ZF_INIT(zf_decode_buffers)},
                                 .device = {ZF_INIT(zf_device_buffers)}};
}

/// The bytes of each part; one where a part exists and has no rows, so that it has an address.
static zf_status find_needs(const zf_py_gpu_read *read, const zf_py_gpu *gpu, zf_py_gpu_column *column, needs *out,
                            zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    ZF_TRY_PY(zf_container_column(read->container, column->column, &info, error));
    zf_pipeline_sizes sizes = {ZF_INIT(zf_pipeline_sizes)};
    sizes.host = (zf_decode_sizes){ZF_INIT(zf_decode_sizes)};
    sizes.device = (zf_device_sizes){ZF_INIT(zf_device_sizes)};
    const zf_pipeline_request request = request_of(read, column);
    ZF_TRY_PY(zf_pipeline_request_sizes(gpu->pipeline, &request, &sizes, error));
    *out = (needs){sizes.device, sizes.device.validity_skip % 8 != 0 ? FRONT : 0};
    uint64_t validity = sizes.device.validity + (sizes.device.validity == 0);
    column->bytes[ZF_PY_VALUES] = sizes.device.values + out->front + (sizes.device.values == 0);
    column->bytes[ZF_PY_OFFSETS] = info.type.element == ZF_STRING ? sizes.device.offsets + out->front : 0;
    column->bytes[ZF_PY_VALIDITY] = info.type.nullable ? validity : 0;
    return ZF_OK;
}

zf_status zf_py_gpu_read_sizes(zf_py_gpu_read *read, zf_error *error) {
    zf_py_gpu *gpu;
    ZF_TRY_PY(zf_py_gpu_find(read->home, read->device, &gpu, error));
    for (size_t k = 0; k < read->count; k++) {
        needs n;
        ZF_TRY_PY(find_needs(read, gpu, &read->columns[k], &n, error));
    }
    return ZF_OK;
}

/// Gives a storage the memory that its column needs. Memory that the caller gave becomes its own.
static zf_status take_memory(const zf_py_gpu_read *read, zf_py_gpu_column *column, zf_error *error) {
    zf_py_device_storage *storage = column->out;
    for (int p = 0; p < ZF_PY_PARTS; p++) {
        zf_py_device_part *part = &storage->parts[p];
        if (read->allocated) {
            *part = column->given[p];
            column->given[p] = (zf_py_device_part){0};
            continue;
        }
        if (column->bytes[p] == 0) continue;
        part->room = column->bytes[p];
        ZF_TRY_PY(zf_device_allocate(read->home->context, read->device, read->stream, part->room, &part->allocated, error));
    }
    return ZF_OK;
}

/// Where the rows will lie, and the request for them.
static zf_status lay_out(const zf_py_gpu_read *read, const zf_py_gpu *gpu, zf_py_gpu_column *column, zf_pipeline_request *request,
                         zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    needs n;
    ZF_TRY_PY(zf_container_column(read->container, column->column, &info, error));
    ZF_TRY_PY(find_needs(read, gpu, column, &n, error));
    ZF_TRY_PY(take_memory(read, column, error));
    zf_py_device_storage *s = column->out;
    zf_py_device_part *values = &s->parts[ZF_PY_VALUES], *offsets = &s->parts[ZF_PY_OFFSETS],
                      *validity = &s->parts[ZF_PY_VALIDITY];
    s->element = info.type.element;
    s->rows = (int64_t)(read->options.some_rows ? read->options.row_count : info.rows);
    for (int p = 0; p < ZF_PY_PARTS; p++) {
        if (column->bytes[p] > s->parts[p].room)
            return zf_py_fail(error, ZF_ERR_USAGE, info.full_name, "%llu bytes were allocated, and %llu are needed",
                              (unsigned long long)s->parts[p].room, (unsigned long long)column->bytes[p]);
        if (s->parts[p].allocated % 256 != 0)
            return zf_py_fail(error, ZF_ERR_USAGE, info.full_name, "the allocator's memory is not aligned to 256 bytes");
    }
    bool is_bits = s->element == ZF_BOOL;
    uint64_t skip = s->element == ZF_STRING ? 0 : n.sizes.skip; // of strings the first offset says it
    values->at = values->allocated + n.front + (is_bits ? skip / 8 : skip);
    values->bit = is_bits ? (unsigned)(skip % 8) : 0;
    values->width = is_bits ? 0 : zf_py_type_of(s->element).bits / 8;
    values->bytes = is_bits ? (values->bit + (uint64_t)s->rows + 7) / 8 : (uint64_t)s->rows * values->width;
    if (offsets->allocated != 0) {
        offsets->at = offsets->allocated + n.front;
        offsets->bytes = ((uint64_t)s->rows + 1) * 8;
    }
    if (validity->allocated != 0) {
        validity->at = validity->allocated + n.sizes.validity_skip / 8;
        validity->bit = (unsigned)(n.sizes.validity_skip % 8);
        validity->bytes = (validity->bit + (uint64_t)s->rows + 7) / 8;
    }
    *request = request_of(read, column);
    request->device = (zf_device_buffers){ZF_INIT(zf_device_buffers),
                                          .values = values->allocated + n.front,
                                          .offsets = offsets->allocated != 0 ? offsets->allocated + n.front : 0,
                                          .validity = validity->allocated,
                                          .values_bytes = n.sizes.values,
                                          .offsets_bytes = n.sizes.offsets,
                                          .validity_bytes = n.sizes.validity};
    return ZF_OK;
}

/// The characters of strings end at the last offset.
static zf_status find_end(zf_py_device_storage *storage, zf_error *error) {
    int64_t end = 0;
    if (storage->element != ZF_STRING) return ZF_OK;
    uint64_t at = storage->parts[ZF_PY_OFFSETS].at + (uint64_t)storage->rows * 8;
    ZF_TRY_PY(zf_py_device_copy(storage, &end, at, sizeof end, error));
    storage->parts[ZF_PY_VALUES].bytes = (uint64_t)end;
    return ZF_OK;
}

static zf_status decode(zf_py_gpu_read *read, zf_py_gpu *gpu, const zf_pipeline_request *requests, zf_error *error) {
    zf_batch *batch = NULL;
    ZF_TRY_PY(zf_batch_create(gpu->pipeline, requests, read->count, &batch, error));
    zf_status status = zf_batch_start_behind(batch, read->stream, error);
    for (size_t k = 0; status == ZF_OK && k < read->count; k++) status = zf_batch_wait(batch, k, error);
    zf_batch_free(batch);
    for (size_t k = 0; status == ZF_OK && k < read->count; k++) status = find_end(read->columns[k].out, error);
    return status;
}

zf_status zf_py_gpu_read_run(zf_py_gpu_read *read, zf_error *error) {
    zf_py_gpu *gpu;
    ZF_TRY_PY(zf_py_gpu_find(read->home, read->device, &gpu, error));
    zf_pipeline_request *requests = calloc(read->count + 1, sizeof *requests);
    zf_status status = requests != NULL ? ZF_OK : zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a read");
    for (size_t k = 0; status == ZF_OK && k < read->count; k++) {
        zf_py_gpu_column *column = &read->columns[k];
        column->out = zf_py_device_storage_new(gpu, read->stream);
        status = column->out == NULL ? zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a column")
                                     : lay_out(read, gpu, column, &requests[k], error);
    }
    if (status == ZF_OK) status = decode(read, gpu, requests, error);
    free(requests);
    for (size_t k = 0; status != ZF_OK && k < read->count; k++) {
        zf_py_device_storage_release(read->columns[k].out);
        read->columns[k].out = NULL;
    }
    return status;
}

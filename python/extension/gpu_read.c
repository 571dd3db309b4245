#include "python/extension/gpu_read.h"

#include <stdlib.h>
#include <string.h>

#include "python/extension/storage.h"
#include "python/extension/tensor_type.h"

/// Arrow wants values and validity to begin at the same element, and libcudf reads bitmaps by words of 32 bits: the elements from
/// such a word to the first row must be within the memory, FRONT bytes at most. From that word on a bitmap has a multiple of 64
/// bytes, which is as Arrow recommends it, and as libcudf copies it.
enum { WORD = 32, FRONT = WORD * 8, BITMAP_PADDING = 64 };

/// A column of the container that is decoded to a storage: one that was asked for, or the values of lists.
typedef struct piece {
    size_t column;
    zf_decode_options options;
    zf_py_device_storage *storage;
    zf_device_sizes sizes;
    uint64_t front;              ///< bytes before values and offsets
    uint64_t bytes[ZF_PY_PARTS]; ///< that each part takes
} piece;

static uint64_t rows_of(const piece *p, const zf_column_info *info) {
    return p->options.some_rows ? p->options.row_count : info->rows;
}

static zf_pipeline_request request_of(const zf_py_gpu_read *read, const piece *p) {
    return (zf_pipeline_request){ZF_INIT(zf_pipeline_request),
                                 .container = read->container,
                                 .column = p->column,
                                 .options = p->options,
                                 .on_device = true,
                                 .host = {ZF_INIT(zf_decode_buffers)},
                                 .device = {ZF_INIT(zf_device_buffers)}};
}

/// The bytes of each part; one where a part exists and has no rows, so that it has an address.
static zf_status find_needs(const zf_py_gpu_read *read, const zf_py_gpu *gpu, const zf_column_info *info, piece *p,
                            zf_error *error) {
    zf_pipeline_sizes sizes = {ZF_INIT(zf_pipeline_sizes)};
    sizes.host = (zf_decode_sizes){ZF_INIT(zf_decode_sizes)};
    sizes.device = (zf_device_sizes){ZF_INIT(zf_device_sizes)};
    const zf_pipeline_request request = request_of(read, p);
    ZF_TRY_PY(zf_pipeline_request_sizes(gpu->pipeline, &request, &sizes, error));
    p->sizes = sizes.device;
    p->front = sizes.device.validity_skip % WORD != 0 ? FRONT : 0;
    p->bytes[ZF_PY_VALUES] = sizes.device.values + p->front + (sizes.device.values == 0);
    p->bytes[ZF_PY_OFFSETS] = info->type.element == ZF_STRING ? sizes.device.offsets + p->front : 0;
    p->bytes[ZF_PY_VALIDITY] = info->type.nullable ? sizes.device.validity + (sizes.device.validity == 0) : 0;
    return ZF_OK;
}

/// The bytes that a bitmap of so many takes.
static uint64_t padded(uint64_t bytes) { return (bytes + BITMAP_PADDING - 1) / BITMAP_PADDING * BITMAP_PADDING; }

/// The bytes before the word of a bitmap in which the rows begin.
static uint64_t before_word(uint64_t skip) { return skip / WORD * (WORD / 8); }

/// The bytes that are allocated for a part of a column with so many rows: those that it takes, and the padding of a bitmap.
static uint64_t bytes_to_allocate(zf_element element, uint64_t rows, const piece *p, int part) {
    bool is_bitmap = part == ZF_PY_VALIDITY || (part == ZF_PY_VALUES && element == ZF_BOOL);
    if (!is_bitmap || p->bytes[part] == 0) return p->bytes[part];
    uint64_t skip = part == ZF_PY_VALIDITY ? p->sizes.validity_skip : p->sizes.skip, front = part == ZF_PY_VALUES ? p->front : 0;
    uint64_t wanted = front + before_word(skip) + padded((skip % WORD + rows + 7) / 8), whole = padded(p->bytes[part]);
    return wanted > whole ? wanted : whole;
}

zf_status zf_py_gpu_read_sizes(zf_py_gpu_read *read, zf_error *error) {
    zf_py_gpu *gpu;
    ZF_TRY_PY(zf_py_gpu_find(read->home, read->device, &gpu, error));
    for (size_t k = 0; k < read->count; k++) {
        zf_column_info info = {ZF_INIT(zf_column_info)};
        piece p = {.column = read->columns[k].column, .options = read->options};
        ZF_TRY_PY(zf_container_column(read->container, p.column, &info, error));
        ZF_TRY_PY(find_needs(read, gpu, &info, &p, error));
        for (int part = 0; part < ZF_PY_PARTS; part++)
            read->columns[k].bytes[part] = bytes_to_allocate(info.type.element, rows_of(&p, &info), &p, part);
    }
    return ZF_OK;
}

static zf_status allocate(const zf_py_gpu_read *read, zf_py_device_part *part, uint64_t bytes, zf_error *error) {
    part->room = bytes;
    if (bytes == 0) return ZF_OK;
    return zf_device_allocate(read->home->context, read->device, read->stream, bytes, &part->allocated, error);
}

/// Gives a storage the memory that its column needs. Memory that the caller gave becomes its own.
static zf_status take_memory(const zf_py_gpu_read *read, const zf_column_info *info, zf_py_device_part *given, const piece *p,
                             zf_error *error) {
    for (int k = 0; k < ZF_PY_PARTS; k++) {
        zf_py_device_part *part = &p->storage->parts[k];
        if (given[k].owner == NULL) {
            ZF_TRY_PY(allocate(read, part, bytes_to_allocate(info->type.element, rows_of(p, info), p, k), error));
            continue;
        }
        *part = given[k];
        given[k] = (zf_py_device_part){0};
    }
    return ZF_OK;
}

/// Where the rows will lie, and the request for them.
static zf_status lay_out(const zf_py_gpu_read *read, const zf_py_gpu *gpu, zf_py_device_part *given, piece *p,
                         zf_pipeline_request *request, zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    ZF_TRY_PY(zf_container_column(read->container, p->column, &info, error));
    ZF_TRY_PY(find_needs(read, gpu, &info, p, error));
    ZF_TRY_PY(take_memory(read, &info, given, p, error));
    zf_py_device_storage *s = p->storage;
    zf_py_device_part *values = &s->parts[ZF_PY_VALUES], *offsets = &s->parts[ZF_PY_OFFSETS],
                      *validity = &s->parts[ZF_PY_VALIDITY];
    s->element = info.type.element;
    s->rows = (int64_t)rows_of(p, &info);
    for (int k = 0; k < ZF_PY_PARTS; k++) {
        if (p->bytes[k] > s->parts[k].room)
            return zf_py_fail(error, ZF_ERR_USAGE, info.full_name, "%llu bytes were given, and %llu are needed",
                              (unsigned long long)s->parts[k].room, (unsigned long long)p->bytes[k]);
        if (s->parts[k].allocated % 256 != 0)
            return zf_py_fail(error, ZF_ERR_USAGE, info.full_name, "memory that was given is not aligned to 256 bytes");
    }
    bool is_bits = s->element == ZF_BOOL;
    uint64_t skip = s->element == ZF_STRING ? 0 : p->sizes.skip; // of strings the first offset says it
    values->at = values->allocated + p->front + (is_bits ? before_word(skip) : skip);
    values->bit = is_bits ? (unsigned)(skip % WORD) : 0;
    values->width = is_bits ? 0 : zf_py_type_of(s->element).bits / 8;
    values->bytes = is_bits ? (values->bit + (uint64_t)s->rows + 7) / 8 : (uint64_t)s->rows * values->width;
    if (offsets->allocated != 0) {
        offsets->at = offsets->allocated + p->front;
        offsets->bytes = ((uint64_t)s->rows + 1) * 8;
    }
    if (validity->allocated != 0) {
        validity->at = validity->allocated + before_word(p->sizes.validity_skip);
        validity->bit = (unsigned)(p->sizes.validity_skip % WORD);
        validity->bytes = (validity->bit + (uint64_t)s->rows + 7) / 8;
    }
    *request = request_of(read, p);
    request->device = (zf_device_buffers){ZF_INIT(zf_device_buffers),
                                          .values = values->allocated + p->front,
                                          .offsets = offsets->allocated != 0 ? offsets->allocated + p->front : 0,
                                          .validity = validity->allocated,
                                          .values_bytes = p->sizes.values,
                                          .offsets_bytes = p->sizes.offsets,
                                          .validity_bytes = p->sizes.validity};
    return ZF_OK;
}

// ---- Lists ----------------------------------------------------------------------------------------------------

/// Brings host memory of lists to the GPU, as a part of their storage.
static zf_status bring(const zf_py_gpu_read *read, zf_py_device_storage *s, int k, const void *from, uint64_t bytes,
                       zf_error *error) {
    zf_py_device_part *part = &s->parts[k];
    ZF_TRY_PY(allocate(read, part, k == ZF_PY_VALIDITY ? padded(bytes > 0 ? bytes : 1) : bytes, error));
    part->at = part->allocated;
    part->bytes = bytes;
    return zf_device_copy_in(read->home->context, read->device, read->stream, part->at, from, bytes, error);
}

/// Decodes the ends of lists on the GPU, checks them on the host, and brings the offsets back. `p` becomes the piece of the
/// values.
static zf_status begin_lists(const zf_py_gpu_read *read, zf_py_gpu *gpu, piece *p, uint64_t rows, int64_t width, int64_t *offsets,
                             uint8_t *validity, zf_error *error) {
    zf_py_device_storage *s = p->storage;
    zf_list_values of = {ZF_INIT(zf_list_values)};
    uint64_t offsets_bytes = (rows + 1) * 8, validity_bytes = validity != NULL ? (rows + 7) / 8 : 0;
    const zf_decode_buffers buffers = {ZF_INIT(zf_decode_buffers), .offsets = offsets, .validity = validity,
                                       .offsets_bytes = offsets_bytes, .validity_bytes = validity_bytes};
    ZF_TRY_PY(zf_decode_lists(read->container, p->column, "cpu", &p->options, &buffers, &of, NULL, error));
    s->element = ZF_I64;
    s->rows = (int64_t)rows;
    atomic_store(&s->null_count, validity != NULL ? zf_py_count_nulls(validity, s->rows) : 0);
    bool of_one_length = width > 0 && atomic_load(&s->null_count) == 0; // null lists have no values
    for (uint64_t k = 0; of_one_length && k < rows; k++) of_one_length = offsets[k + 1] - offsets[k] == width;
    s->width = of_one_length ? width : 0;
    if (!of_one_length) ZF_TRY_PY(bring(read, s, ZF_PY_OFFSETS, offsets, offsets_bytes, error));
    if (validity != NULL) ZF_TRY_PY(bring(read, s, ZF_PY_VALIDITY, validity, validity_bytes, error));
    s->child = zf_py_device_storage_new(gpu, read->stream);
    if (s->child == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a column");
    *p = (piece){.column = p->column + (validity != NULL ? 2 : 1), .options = read->options, .storage = s->child};
    p->options.some_rows = true;
    p->options.row_begin = of.row_begin;
    p->options.row_count = of.row_count;
    return ZF_OK;
}

static zf_status take_lists(const zf_py_gpu_read *read, zf_py_gpu *gpu, piece *p, const zf_column_info *info, int64_t width,
                            bool given, zf_error *error) {
    zf_column_info next = {ZF_INIT(zf_column_info)};
    const zf_py_device_storage *lists = p->storage;
    ZF_TRY_PY(zf_container_column(read->container, p->column + 1, &next, error));
    uint64_t rows = rows_of(p, info);
    bool nullable = next.part == ZF_LIST_VALIDITY;
    int64_t *offsets = rows < SIZE_MAX / 16 ? malloc((rows + 1) * 8) : NULL;
    uint8_t *validity = nullable ? malloc(rows / 8 + 1) : NULL;
    zf_status status =
        offsets != NULL && (!nullable || validity != NULL)
            ? begin_lists(read, gpu, p, rows, width, offsets, validity, error)
            : zf_py_fail(error, ZF_ERR_MEMORY, info->full_name, "no memory for %llu rows", (unsigned long long)rows);
    free(offsets);
    free(validity);
    if (status == ZF_OK && given && lists->width == 0)
        return zf_py_fail(error, ZF_ERR_UNSUPPORTED, info->full_name,
                          "lists are decoded into memory of the caller only where none is null");
    return status;
}

// ---- Reading --------------------------------------------------------------------------------------------------

/// The characters of strings end at the last offset. `end` of other columns is -1.
static zf_status find_end(const zf_py_device_storage *storage, int64_t *end, zf_error *error) {
    while (storage->child != NULL) storage = storage->child;
    *end = -1;
    if (storage->element != ZF_STRING) return ZF_OK;
    uint64_t at = storage->parts[ZF_PY_OFFSETS].at + (uint64_t)storage->rows * 8;
    return zf_py_device_copy(storage, end, at, sizeof *end, error);
}

static zf_status begin_column(const zf_py_gpu_read *read, zf_py_gpu *gpu, zf_py_gpu_column *column, zf_pipeline_request *request,
                              zf_error *error) {
    zf_column_info info = {ZF_INIT(zf_column_info)};
    ZF_TRY_PY(zf_container_column(read->container, column->column, &info, error));
    column->out = zf_py_device_storage_new(gpu, read->stream);
    if (column->out == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a column");
    piece p = {.column = column->column, .options = read->options, .storage = column->out};
    if (info.part == ZF_LIST_ENDS)
        ZF_TRY_PY(take_lists(read, gpu, &p, &info, column->width, column->given[ZF_PY_VALUES].owner != NULL, error));
    return lay_out(read, gpu, column->given, &p, request, error);
}

static void drop_columns(zf_py_gpu_read *read) {
    for (size_t k = 0; k < read->count; k++) {
        zf_py_device_storage_release(read->columns[k].out);
        read->columns[k].out = NULL;
    }
}

zf_status zf_py_gpu_read_start(zf_py_gpu_read *read, zf_error *error) {
    zf_py_gpu *gpu;
    ZF_TRY_PY(zf_py_gpu_find(read->home, read->device, &gpu, error));
    zf_pipeline_request *requests = calloc(read->count + 1, sizeof *requests);
    zf_status status = requests != NULL ? ZF_OK : zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a read");
    for (size_t k = 0; status == ZF_OK && k < read->count; k++)
        status = begin_column(read, gpu, &read->columns[k], &requests[k], error);
    if (status == ZF_OK) status = zf_batch_create(gpu->pipeline, requests, read->count, &read->batch, error);
    free(requests);
    if (status == ZF_OK) status = zf_batch_start_behind(read->batch, read->stream, error);
    if (status == ZF_OK) return ZF_OK;
    zf_batch_free(read->batch);
    read->batch = NULL;
    drop_columns(read);
    return status;
}

zf_status zf_py_gpu_read_wait(zf_py_gpu_read *read, size_t k, int64_t *end, zf_error *error) {
    ZF_TRY_PY(zf_batch_wait(read->batch, k, error));
    return find_end(read->columns[k].out, end, error);
}

zf_status zf_py_gpu_read_follow(const zf_py_gpu_read *read, zf_error *error) {
    for (size_t k = 0; k < read->count; k++) ZF_TRY_PY(zf_batch_follow(read->batch, k, read->stream, error));
    return ZF_OK;
}

void zf_py_gpu_read_end(zf_py_gpu_read *read) {
    zf_batch_free(read->batch);
    read->batch = NULL;
}

zf_status zf_py_gpu_read_run(zf_py_gpu_read *read, zf_error *error) {
    ZF_TRY_PY(zf_py_gpu_read_start(read, error));
    zf_status status = ZF_OK;
    for (size_t k = 0; status == ZF_OK && k < read->count; k++) status = zf_batch_wait(read->batch, k, error);
    zf_batch_free(read->batch);
    read->batch = NULL;
    for (size_t k = 0; status == ZF_OK && k < read->count; k++) {
        int64_t end;
        status = find_end(read->columns[k].out, &end, error);
        if (status == ZF_OK) zf_py_device_storage_check(read->columns[k].out, end);
    }
    if (status != ZF_OK) drop_columns(read);
    return status;
}

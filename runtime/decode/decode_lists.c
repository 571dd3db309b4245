// Columns of lists: the ends of some rows become offsets into the values, once they are known to fit each other.
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/sized.h"
#include "runtime/container/container_index.h"
#include "runtime/container/container_open.h"
#include "runtime/container/element.h"
#include "runtime/decode/block_run.h"

typedef unsigned long long ull;

/// A column of lists, and the rows wanted of it.
typedef struct lists {
    zf_container *container;
    const zf_index_column *ends, *validity; ///< validity: NULL where lists are never null
    const zf_index_column *values;
    size_t number; ///< of the ends
    const char *device;
    zf_decode_options options;
    uint64_t begin, rows;
    zf_decode_stats stats;
} lists;

/// Memory aligned for decoding, not NULL for 0 bytes.
static void *allocate(size_t bytes) {
    size_t size = (bytes + ZF_WORK_ALIGNMENT) / ZF_WORK_ALIGNMENT * ZF_WORK_ALIGNMENT;
    return size >= bytes ? aligned_alloc(ZF_WORK_ALIGNMENT, size) : NULL;
}

static void add_stats(lists *l, const zf_decode_stats *more) {
    zf_decode_stats *all = &l->stats;
    all->blocks_read += more->blocks_read;
    all->bytes_read += more->bytes_read;
    all->kernels = more->kernels > all->kernels ? more->kernels : all->kernels;
    all->launches += more->launches;
    all->kernel_variants += more->kernel_variants;
    all->compile_seconds += more->compile_seconds;
    all->codes += more->codes;
    all->compiled += more->compiled;
    all->cached += more->cached;
    all->load_seconds += more->load_seconds;
}

/// Decodes rows of a part into memory that the caller frees, also after an error.
static zf_status decode_part(lists *l, size_t column, uint64_t begin, uint64_t rows, void **out, zf_error *error) {
    zf_decode_options options = l->options;
    zf_decode_sizes sizes = {0};
    zf_decode_stats stats = {0};
    options.some_rows = true;
    options.row_begin = begin;
    options.row_count = rows;
    ZF_TRY(zf_decode_size(l->container, column, &options, &sizes, error));
    *out = allocate(sizes.values);
    void *workspace = allocate(sizes.workspace);
    zf_status status =
        *out == NULL || workspace == NULL ? zf_raise(error, ZF_E_NO_MEMORY, "no memory for the ends of lists") : ZF_OK;
    const zf_decode_buffers buffers = {.values = *out, .workspace = workspace, ZF_DECODE_BYTES(sizes)};
    if (status == ZF_OK) status = zf_decode(l->container, column, l->device, &options, &buffers, &stats, error);
    add_stats(l, &stats);
    free(workspace);
    return status;
}

static zf_status lie(const lists *l, uint64_t row, zf_error *error, const char *format, long long a, ull b) {
    zf_status status = zf_raise(error, ZF_E_V27, format, a, b); // NOLINT: every format below takes these two
    return zf_fail_place(error, status, "%s: column %s, row %llu", zf_container_short_path(l->container), l->ends->shown,
                         (ull)row);
}

/// Makes offsets of ends, of which one more stands before those of the rows unless row 0 is the first.
static zf_status make_offsets(const lists *l, const int64_t *ends, int64_t *offsets, zf_list_values *out, zf_error *error) {
    uint64_t first = l->begin > 0 ? 1 : 0;
    int64_t begin = first != 0 ? ends[0] : 0, before = begin;
    if (begin < 0) return lie(l, l->begin - 1, error, "V27: a list that ends with value %lld of %llu", begin, l->values->rows);
    offsets[0] = 0;
    for (uint64_t k = 0; k < l->rows; k++) {
        int64_t end = ends[first + k];
        if (end < before)
            return lie(l, l->begin + k, error, "V27: a list that ends with value %lld, before it begins with %llu", end,
                       (ull)before);
        offsets[k + 1] = end - begin;
        before = end;
    }
    bool last = l->begin + l->rows == l->ends->rows;
    if (last ? (uint64_t)before != l->values->rows : (uint64_t)before > l->values->rows)
        return lie(l, l->begin + l->rows - 1, error, "V27: a list that ends with value %lld of %llu", before, l->values->rows);
    out->row_begin = (uint64_t)begin;
    out->row_count = (uint64_t)(before - begin);
    return ZF_OK;
}

static zf_status check_nulls(const lists *l, const uint8_t *validity, const int64_t *offsets, zf_error *error) {
    for (uint64_t k = 0; k < l->rows; k++) {
        if (offsets[k + 1] == offsets[k] || zf_bit_at(validity, k)) continue;
        return lie(l, l->begin + k, error, "V27: a null list that has %lld of the %llu values", offsets[k + 1] - offsets[k],
                   l->values->rows);
    }
    return ZF_OK;
}

static zf_status check_buffers(const lists *l, const zf_decode_buffers *buffers, zf_error *error) {
    const struct {
        const char *name;
        const void *at;
        uint64_t has, bytes;
    } needed[] = {{"offsets", buffers->offsets, buffers->offsets_bytes, (l->rows + 1) * sizeof(int64_t)},
                  {"validity", buffers->validity, buffers->validity_bytes, l->validity != NULL ? (l->rows + 7) / 8 : 0}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        zf_status status = ZF_OK;
        if (needed[i].bytes > 0 && needed[i].at == NULL)
            status = zf_raise(error, ZF_E_BUFFER, "the buffer `%s` is missing; %llu bytes are needed", needed[i].name,
                              (ull)needed[i].bytes);
        else if (needed[i].has < needed[i].bytes)
            status = zf_raise(error, ZF_E_BUFFER_SIZE, "the buffer `%s` has %llu bytes; the decode needs %llu", needed[i].name,
                              (ull)needed[i].has, (ull)needed[i].bytes);
        if (status != ZF_OK) return zf_fail_place(error, status, "column %s", l->ends->shown);
    }
    if ((uintptr_t)buffers->offsets % sizeof(int64_t) != 0)
        return zf_raise(error, ZF_E_BUFFER, "the buffer `offsets` is not aligned to 8 bytes");
    return ZF_OK;
}

/// Finds the parts, and the rows wanted.
static zf_status find(lists *l, size_t column, zf_error *error) {
    zf_column_info info = {0};
    zf_decode_sizes sizes = {0};
    ZF_TRY(zf_container_column(l->container, column, &info, error));
    if (info.part != ZF_LIST_ENDS) return zf_raise(error, ZF_E_ARGUMENT, "column %.128s is not one of lists", info.full_name);
    l->number = column;
    l->ends = &l->container->index.columns[column];
    l->validity = l->ends[1].part == ZF_LIST_VALIDITY ? &l->ends[1] : NULL;
    l->values = &l->ends[l->validity != NULL ? 2 : 1];
    ZF_TRY(zf_decode_size(l->container, column, &l->options, &sizes, error)); // checks the rows
    l->begin = l->options.some_rows ? l->options.row_begin : 0;
    l->rows = sizes.values / sizeof(int64_t);
    return ZF_OK;
}

static zf_status decode(lists *l, const zf_decode_buffers *buffers, zf_list_values *out, zf_error *error) {
    void *ends = NULL, *validity = NULL;
    uint64_t first = l->begin > 0 ? 1 : 0;
    if (l->rows == 0) {
        buffers->offsets[0] = 0;
        return ZF_OK;
    }
    zf_status status = decode_part(l, l->number, l->begin - first, l->rows + first, &ends, error);
    if (status == ZF_OK && l->validity != NULL) status = decode_part(l, l->number + 1, l->begin, l->rows, &validity, error);
    if (status == ZF_OK) status = make_offsets(l, ends, buffers->offsets, out, error);
    if (status == ZF_OK && validity != NULL) status = check_nulls(l, validity, buffers->offsets, error);
    if (status == ZF_OK && validity != NULL) memcpy(buffers->validity, validity, (l->rows + 7) / 8);
    free(ends);
    free(validity);
    return status;
}

zf_status zf_decode_lists(zf_container *container, size_t column, const char *device, const zf_decode_options *options,
                          const zf_decode_buffers *buffers, zf_list_values *out, zf_decode_stats *stats, zf_error *error) {
    lists l = {.container = container, .device = device};
    zf_decode_buffers to = {0};
    zf_list_values values = {0};
    if (out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_lists needs a place for the values");
    ZF_TRY(ZF_CHECK_GIVEN(zf_list_values, out, error));
    ZF_GIVE(zf_list_values, out, &values);
    if (stats != NULL) {
        ZF_TRY(ZF_CHECK_GIVEN(zf_decode_stats, stats, error));
        ZF_GIVE(zf_decode_stats, stats, &l.stats);
    }
    if (container == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_decode_lists needs a container");
    if (buffers == NULL) return zf_raise(error, ZF_E_BUFFER, "zf_decode_lists needs buffers");
    ZF_TRY(ZF_TAKE(zf_decode_options, &l.options, options, error));
    ZF_TRY(ZF_TAKE(zf_decode_buffers, &to, buffers, error));
    ZF_TRY(find(&l, column, error));
    ZF_TRY(check_buffers(&l, &to, error));
    zf_status status = decode(&l, &to, &values, error);
    if (status == ZF_OK) ZF_GIVE(zf_list_values, out, &values);
    if (stats != NULL) ZF_GIVE(zf_decode_stats, stats, &l.stats);
    return status;
}

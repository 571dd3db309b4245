#include "compiler/encode/encode_lists.h"

#include "runtime/container/container_format.h"
#include "runtime/container/element.h"

static bool is_null(const zf_encode_column *data, uint64_t row) {
    return data->validity != NULL && !zf_bit_at(data->validity, row);
}

uint64_t zf_encode_lists_count(const zf_encode_column *data, uint64_t at, uint64_t rows) {
    const int64_t *offsets = data->offsets;
    if (data->validity == NULL) return (uint64_t)(offsets[at + rows] - offsets[at]);
    uint64_t count = 0;
    for (uint64_t k = at; k < at + rows; k++)
        if (!is_null(data, k)) count += (uint64_t)(offsets[k + 1] - offsets[k]);
    return count;
}

uint64_t zf_encode_lists_bytes(const zf_encode_pending *lists, const zf_encode_column *data, uint64_t at, uint64_t rows) {
    const zf_encode_column *values = data->values;
    zf_kind kind = zf_lists_values(lists->job->column)->type.kind;
    uint64_t begin = (uint64_t)data->offsets[at], end = (uint64_t)data->offsets[at + rows];
    if (begin == end) return 0;
    return kind == ZF_K_STRING ? (uint64_t)(values->offsets[end] - values->offsets[begin])
           : kind == ZF_K_BOOL ? (end - begin) / 8
                               : (end - begin) * zf_kind_size(kind);
}

/// Copies the values of rows that are not null, as many rows at a time as lie side by side.
static zf_status add_values(zf_encode_pending *to, const zf_encode_column *data, uint64_t at, uint64_t rows, zf_error *error) {
    for (uint64_t k = at; k < at + rows;) {
        uint64_t first = k;
        while (k < at + rows && !is_null(data, k)) k++;
        uint64_t begin = (uint64_t)data->offsets[first], count = (uint64_t)data->offsets[k] - begin;
        if (count > 0) ZF_TRY(zf_encode_pending_add(to, data->values, begin, count, error));
        while (k < at + rows && is_null(data, k)) k++;
    }
    return ZF_OK;
}

zf_status zf_encode_lists_add(zf_encode_pending *lists, const zf_encode_column *data, uint64_t at, uint64_t rows,
                              zf_error *error) {
    bool nullable = zf_lists_validity(lists->job->column) != NULL;
    zf_encode_pending *values = &lists[nullable ? 2 : 1];
    int64_t ends[ZF_ROWS_MULTIPLE], end = (int64_t)(values->first + values->rows);
    uint8_t valid[ZF_ROWS_MULTIPLE];
    for (uint64_t k = 0; k < rows; k++) {
        valid[k] = !is_null(data, at + k);
        if (valid[k]) end += data->offsets[at + k + 1] - data->offsets[at + k];
        ends[k] = end;
    }
    ZF_TRY(zf_encode_pending_add(lists, &(zf_encode_column){.values = ends}, 0, rows, error));
    if (nullable) ZF_TRY(zf_encode_pending_add(&lists[1], &(zf_encode_column){.values = valid}, 0, rows, error));
    return add_values(values, data, at, rows, error);
}

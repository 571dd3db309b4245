#include "compiler/encode/encode_check.h"

#include <stdint.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

typedef unsigned long long ull;

zf_status zf_encode_usage(zf_error *error, const char *format, const char *name) {
    zf_raise(error, ZF_E_ARGUMENT, format, name);
    return ZF_ERR_USAGE;
}

static zf_status check_strings(const zf_encode_column *data, uint64_t before, uint64_t rows, zf_error *error) {
    if (data->offsets == NULL) return zf_encode_usage(error, "the strings of column `%s` have no offsets", data->name);
    if (data->offsets[0] < 0)
        return zf_raise(error, ZF_E_ARGUMENT, "the first offset of column `%s` is %lld, below 0", data->name,
                        (long long)data->offsets[0]);
    for (uint64_t k = 1; k <= rows; k++) {
        if (data->offsets[k] >= data->offsets[k - 1]) continue;
        return zf_raise(error, ZF_E_ARGUMENT, "the offsets of column `%s` decrease at row %llu: %lld, then %lld", data->name,
                        (ull)(before + k - 1), (long long)data->offsets[k - 1], (long long)data->offsets[k]);
    }
    if (data->values == NULL && data->offsets[rows] > data->offsets[0])
        return zf_encode_usage(error, "column `%s` has no values", data->name);
    return ZF_OK;
}

/// Booleans are bytes of 0 or 1; those of nulls are ignored.
static zf_status check_booleans(const zf_encode_column *data, uint64_t before, uint64_t rows, zf_error *error) {
    const uint8_t *values = data->values;
    for (uint64_t k = 0; k < rows; k++) {
        if (values[k] <= 1 || (data->validity != NULL && (data->validity[k / 8] >> (k % 8) & 1) == 0)) continue;
        zf_status status = zf_raise(error, ZF_E_ARGUMENT, "column `%s` is of booleans, but row %llu is %u", data->name,
                                    (ull)(before + k), values[k]);
        return zf_fail_hint(error, status, "a boolean is a byte, 0 or 1");
    }
    return ZF_OK;
}

/// The rows above which the column's array cannot be in memory. Sums and products of rows below it do not overflow.
static uint64_t rows_most(const zf_column *column) {
    if (column->type.kind == ZF_K_STRING) return PTRDIFF_MAX / sizeof(int64_t) - 1; // rows + 1 offsets
    return column->type.kind == ZF_K_BOOL ? PTRDIFF_MAX : PTRDIFF_MAX / zf_kind_size(column->type.kind);
}

zf_status zf_encode_check_data(const zf_column *column, const zf_encode_column *data, uint64_t before, uint64_t rows,
                               zf_error *error) {
    bool is_text = column->type.kind == ZF_K_STRING;
    if (rows > rows_most(column)) {
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s` cannot have %llu rows: memory holds at most %llu", data->name,
                        (ull)rows, (ull)rows_most(column));
    }
    if (data->values == NULL && rows > 0 && !is_text) return zf_encode_usage(error, "column `%s` has no values", data->name);
    if (data->validity != NULL && !column->type.nullable)
        return zf_encode_usage(error, "column `%s` is not nullable, but a validity is given", data->name);
    if (data->offsets != NULL && !is_text)
        return zf_encode_usage(error, "column `%s` is not of strings, but offsets are given", data->name);
    if (is_text) return check_strings(data, before, rows, error);
    return column->type.kind == ZF_K_BOOL ? check_booleans(data, before, rows, error) : ZF_OK;
}

zf_status zf_encode_check_options(const zf_encode_options *options, zf_error *error) {
    if (options->seek_interval != 0 && !zf_tree_interval_valid(false, options->seek_interval))
        return zf_encode_usage(error, "a seek interval is a power of two from 256 to 65536%s", "");
    if (options->rows_per_block > ZF_ROWS_PER_BLOCK_MOST) return zf_encode_usage(error, "a block has at most 2^31 rows%s", "");
    if (options->rows_per_block % ZF_ROWS_MULTIPLE != 0 && options->format == 1)
        return zf_encode_usage(error, "in version 1 of the format, rows per block must be a multiple of 4096%s", "");
    return ZF_OK;
}

#include "compiler/encode/encode_check.h"

#include <stdint.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

typedef unsigned long long ull;

zf_status zf_encode_usage(zf_error *error, const char *format, const char *name) {
    zf_raise(error, ZF_E_ARGUMENT, format, name);
    return ZF_ERR_USAGE;
}

/// Checks offsets `at` to `at + rows`: of strings, or of lists. `before` is the column's row of offset `at`.
static zf_status check_offsets(const zf_encode_column *data, uint64_t before, uint64_t at, uint64_t rows, zf_error *error) {
    const int64_t *offsets = data->offsets + at;
    if (offsets[0] < 0)
        return zf_raise(error, ZF_E_ARGUMENT, "the first offset of column `%s` is %lld, below 0", data->name,
                        (long long)offsets[0]);
    for (uint64_t k = 1; k <= rows; k++) {
        if (offsets[k] >= offsets[k - 1]) continue;
        return zf_raise(error, ZF_E_ARGUMENT, "the offsets of column `%s` decrease at row %llu: %lld, then %lld", data->name,
                        (ull)(before + k - 1), (long long)offsets[k - 1], (long long)offsets[k]);
    }
    return ZF_OK;
}

static zf_status check_strings(const zf_encode_column *data, uint64_t before, uint64_t at, uint64_t rows, zf_error *error) {
    if (data->offsets == NULL) return zf_encode_usage(error, "the strings of column `%s` have no offsets", data->name);
    ZF_TRY(check_offsets(data, before, at, rows, error));
    if (data->values == NULL && data->offsets[at + rows] > data->offsets[at])
        return zf_encode_usage(error, "column `%s` has no values", data->name);
    return ZF_OK;
}

/// Booleans are bytes of 0 or 1; those of nulls are ignored.
static zf_status check_booleans(const zf_encode_column *data, uint64_t before, uint64_t at, uint64_t rows, zf_error *error) {
    const uint8_t *values = data->values;
    for (uint64_t k = at; k < at + rows; k++) {
        if (values[k] <= 1 || (data->validity != NULL && (data->validity[k / 8] >> (k % 8) & 1) == 0)) continue;
        zf_status status = zf_raise(error, ZF_E_ARGUMENT, "column `%s` is of booleans, but row %llu is %u", data->name,
                                    (ull)(before + k - at), values[k]);
        return zf_fail_hint(error, status, "a boolean is a byte, 0 or 1");
    }
    return ZF_OK;
}

/// The rows above which the column's array cannot be in memory. Sums and products of rows below it do not overflow.
static uint64_t rows_most(const zf_column *column) {
    if (column->type.kind == ZF_K_STRING) return PTRDIFF_MAX / sizeof(int64_t) - 1; // rows + 1 offsets
    return column->type.kind == ZF_K_BOOL ? PTRDIFF_MAX : PTRDIFF_MAX / zf_kind_size(column->type.kind);
}

/// Checks rows `at` to `at + rows` - 1.
static zf_status check_rows(const zf_column *column, const zf_encode_column *data, uint64_t before, uint64_t at, uint64_t rows,
                            zf_error *error) {
    bool is_text = column->type.kind == ZF_K_STRING;
    if (rows > rows_most(column) || at > rows_most(column) - rows) {
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s` cannot have %llu rows: memory holds at most %llu", data->name,
                        (ull)rows, (ull)rows_most(column));
    }
    if (data->values == NULL && rows > 0 && !is_text) return zf_encode_usage(error, "column `%s` has no values", data->name);
    if (data->validity != NULL && !column->type.nullable)
        return zf_encode_usage(error, "column `%s` is not nullable, but a validity is given", data->name);
    if (data->offsets != NULL && !is_text)
        return zf_encode_usage(error, "column `%s` is not of strings, but offsets are given", data->name);
    if (is_text) return check_strings(data, before, at, rows, error);
    return column->type.kind == ZF_K_BOOL ? check_booleans(data, before, at, rows, error) : ZF_OK;
}

/// Checks lists: their offsets, and the values that they have.
static zf_status check_lists(const zf_column *column, const zf_encode_column *data, uint64_t before, uint64_t rows,
                             zf_error *error) {
    if (rows > PTRDIFF_MAX / sizeof(int64_t) - 1) {
        return zf_raise(error, ZF_E_ARGUMENT, "column `%s` cannot have %llu rows: memory holds at most %llu", data->name,
                        (ull)rows, (ull)(PTRDIFF_MAX / sizeof(int64_t) - 1));
    }
    if (data->offsets == NULL) return zf_encode_usage(error, "the lists of column `%s` have no offsets", data->name);
    if (data->validity != NULL && zf_lists_validity(column) == NULL)
        return zf_encode_usage(error, "the lists of column `%s` are never null, but a validity is given", data->name);
    ZF_TRY(check_offsets(data, before, 0, rows, error));
    uint64_t begin = (uint64_t)data->offsets[0], count = (uint64_t)data->offsets[rows] - begin;
    if (count == 0) return ZF_OK;
    if (data->values == NULL) return zf_encode_usage(error, "the lists of column `%s` have no values", data->name);
    zf_encode_column values = *(const zf_encode_column *)data->values;
    values.name = zf_lists_values(column)->name;
    return check_rows(zf_lists_values(column), &values, begin, begin, count, error);
}

zf_status zf_encode_check_data(const zf_column *column, const zf_encode_column *data, uint64_t before, uint64_t rows,
                               zf_error *error) {
    if (column->part == ZF_LIST_ENDS) return check_lists(column, data, before, rows, error);
    return check_rows(column, data, before, 0, rows, error);
}

zf_status zf_encode_check_options(const zf_encode_options *options, zf_error *error) {
    if (options->seek_interval != 0 && !zf_tree_interval_valid(false, options->seek_interval))
        return zf_encode_usage(error, "a seek interval is a power of two from 256 to 65536%s", "");
    if (options->rows_per_block > ZF_ROWS_PER_BLOCK_MOST) return zf_encode_usage(error, "a block has at most 2^31 rows%s", "");
    if (options->rows_per_block % ZF_ROWS_MULTIPLE != 0 && options->format == 1)
        return zf_encode_usage(error, "in version 1 of the format, rows per block must be a multiple of 4096%s", "");
    return ZF_OK;
}

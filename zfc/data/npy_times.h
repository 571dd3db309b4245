// Arrays of numpy's datetime64 as columns of dates and timestamps.
#ifndef ZF_ZFC_NPY_TIMES_H
#define ZF_ZFC_NPY_TIMES_H

#include "runtime/base/error.h"

/// The unit of an array; `unit` is NULL where it is none of times that the column can have.
typedef struct zf_npy_time {
    const char *unit;
    int64_t multiply, divide; ///< to make days or microseconds
    bool is_date;
} zf_npy_time;

/// Reads the code of an array's type, such as <M8[ns], for a column of this type.
zf_npy_time zf_npy_time_of(zf_column_type type, const char *code, size_t length);
/// `before`: rows of the column before these, for messages. Makes `rows` elements days (i32) or microseconds (i64), in place. NaT
/// is null: a row without its bit in `validity`, or an error where that is NULL. Digits that the column cannot hold are an error.
zf_status zf_npy_times_convert(const zf_npy_time *time, const char *path, const char *column, size_t before, size_t rows,
                               void *elements, uint8_t *validity, zf_error *error);

#endif

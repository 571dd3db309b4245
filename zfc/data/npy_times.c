#include "zfc/data/npy_times.h"

#include <stdio.h>
#include <string.h>

#include "zfc/driver_codes.h"

static const zf_npy_time times[] = {
    {"D", INT64_C(86400000000), 1, false},
    {"h", INT64_C(3600000000), 1, false},
    {"m", 60000000, 1, false},
    {"s", 1000000, 1, false},
    {"ms", 1000, 1, false},
    {"us", 1, 1, false},
    {"ns", 1, 1000, false},
    {"D", 1, 1, true},
};

zf_npy_time zf_npy_time_of(zf_column_type type, const char *code, size_t length) {
    bool is_date = type.logical == ZF_LOGICAL_DATE32;
    for (size_t i = 0; (is_date || type.logical == ZF_LOGICAL_TIMESTAMP) && i < sizeof times / sizeof *times; i++) {
        char text[16];
        int count = snprintf(text, sizeof text, "<M8[%s]", times[i].unit);
        if (times[i].is_date == is_date && (size_t)count == length && memcmp(text, code, length) == 0) return times[i];
    }
    return (zf_npy_time){0};
}

static zf_status bad_element(const char *path, size_t row, const char *column, const char *what, zf_error *error) {
    zf_fail(error, ZF_ERR_INPUT, ZFC_BAD_FIELD, "%s", what);
    return zf_fail_place(error, ZF_ERR_INPUT, "%s: row %zu (%s)", path, row, column);
}

zf_status zf_npy_times_convert(const zf_npy_time *time, const char *path, const char *column, size_t before, size_t rows,
                               void *elements, uint8_t *validity, zf_error *error) {
    char *out = elements;
    if (validity) memset(validity, 0, (rows + 7) / 8);
    for (size_t row = 0; row < rows; row++) {
        int64_t value;
        memcpy(&value, (char *)elements + row * sizeof value, sizeof value);
        bool null = value == INT64_MIN; // NaT
        if (null && !validity) {
            zf_status status = bad_element(path, before + row, column, "NaT (not a time), but the column is not nullable", error);
            return zf_fail_hint(error, status, "NaT is null in a column whose type ends in `?`");
        }
        if (!null && value % time->divide != 0)
            return bad_element(path, before + row, column, "a time that is finer than the microseconds of a timestamp", error);
        int64_t number = null ? 0 : value / time->divide;
        bool fits = !__builtin_mul_overflow(number, time->multiply, &number);
        int32_t days = (int32_t)number;
        if (!fits || (time->is_date && days != number))
            return bad_element(path, before + row, column, "a time outside its type", error);
        size_t size = time->is_date ? sizeof days : sizeof number;
        if (time->is_date)
            memcpy(out, &days, size); // never beyond the element that was read
        else
            memcpy(out, &number, size);
        out += size;
        if (validity && !null) validity[row / 8] |= (uint8_t)(1u << (row % 8));
    }
    return ZF_OK;
}

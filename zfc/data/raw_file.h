// Files of one column, raw or .npy: which part of which column they give, where elements begin, and what is wrong with them.
#ifndef ZF_ZFC_RAW_FILE_H
#define ZF_ZFC_RAW_FILE_H

#include "zfc/data/npy_times.h"
#include "zfc/data/table_data.h"

/// The beginning and the end of a file.
typedef struct zf_raw_head {
    const char *data; ///< the first `count` bytes: all, or at least ZF_RAW_HEAD
    size_t count;
    const char *end; ///< behind the last bytes: all, or at least ZF_RAW_TAIL
    size_t total;    ///< bytes of the file
} zf_raw_head;

enum { ZF_RAW_HEAD = 1 << 17, ZF_RAW_TAIL = 64 };

/// The elements of a file.
typedef struct zf_raw_elements {
    size_t offset, length; ///< bytes
    bool is_array;         ///< of a .npy file
    zf_npy_time time;      ///< of an array of times
} zf_raw_elements;

/// Reads `COLUMN[.values][.offsets|.bytes|.valid]`, and notes that `what` gives this part.
zf_status zf_raw_claim(const char *what, size_t name_length, const char *path, zf_table_data *data, zf_column_data **column,
                       zf_column_part *part, zf_error *error);
/// Finds the elements of a file. Files of other formats are refused, unless `any_format`.
zf_status zf_raw_find_elements(const zf_column_data *column, zf_column_part part, const char *path, bool any_format,
                               const zf_raw_head *file, zf_raw_elements *out, zf_error *error);
/// Checks that booleans, which begin at byte `at` of the file, are 0 or 1.
zf_status zf_raw_check_booleans(const zf_column_data *column, const char *path, const char *values, size_t count, size_t at,
                                zf_error *error);
/// Makes an array of booleans, which begins at byte `at` of the file, a bitmap, in place.
zf_status zf_raw_pack_validity(const zf_column_data *column, const char *path, uint8_t *rows, size_t count, size_t at,
                               zf_error *error);
/// Errors: bytes that are no whole number of elements of `size` bytes, and bytes that are no offsets.
zf_status zf_raw_bad_size(const char *path, size_t bytes, size_t size, zf_error *error);
zf_status zf_raw_bad_offsets(const char *path, size_t bytes, zf_error *error);

#endif

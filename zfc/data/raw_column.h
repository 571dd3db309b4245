// A column of regular files, raw or .npy, that is read in batches of rows.
#ifndef ZF_ZFC_RAW_COLUMN_H
#define ZF_ZFC_RAW_COLUMN_H

#include "zfc/data/raw_file.h"

/// A file that gives a part of the column.
typedef struct zf_raw_part {
    const char *path; ///< the caller's; NULL: not given
    zf_raw_elements elements;
} zf_raw_part;

/// Files are opened for each batch: there may be more of them than a process may have open.
typedef struct zf_raw_column {
    zf_column_data *column; ///< which has the rows of a batch
    zf_raw_part parts[ZF_PART_COUNT];
    uint64_t rows, done;                 ///< of the files; of them, those that were read
    int64_t last;                        ///< strings and lists: the offset behind those that were read
    size_t offset_bytes, validity_bytes; ///< capacities of the column's buffers
} zf_raw_column;

/// Notes that `COLUMN[.values][.offsets|.bytes|.valid]=FILE` gives a part of a column, whose place among `columns` is that in the
/// table. Reads its header, and checks its size. Errors are those of zf_read_raw.
zf_status zf_raw_column_add(zf_raw_column *columns, const char *what, size_t name_length, const char *path, bool any_format,
                            zf_table_data *data, zf_error *error);
/// Reads all offsets of a column of strings, or of lists, of which `values` has the values, and checks them: where another part
/// does not fit, they may be the reason.
zf_status zf_raw_column_check_offsets(const zf_raw_column *raw, const zf_raw_column *values, zf_error *error);
/// Reads the next rows of a column of lists, about `most_bytes` of them and of their values, which are read to their column. The
/// offsets of the batch begin with 0, and the values with those of its first list.
zf_status zf_raw_lists_read(zf_raw_column *lists, zf_raw_column *values, size_t most_bytes, uint64_t *rows, zf_error *error);
/// Reads the next rows into the column, about `most_bytes` of them. `*rows`: how many; 0: all were read.
zf_status zf_raw_column_read(zf_raw_column *raw, size_t most_bytes, uint64_t *rows, zf_error *error);

#endif

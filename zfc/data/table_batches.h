// A table that is read in batches of rows, from regular files: texts and raw columns side by side.
#ifndef ZF_ZFC_TABLE_BATCHES_H
#define ZF_ZFC_TABLE_BATCHES_H

#include "zfc/data/table_data.h"
#include "zipflow/compile.h"

/// An input as the user wrote it: a text, or COLUMN[.values][.offsets|.bytes|.valid]=FILE.
typedef struct zf_table_input {
    const char *operand;
    const char *equals; ///< the sign in `operand`; NULL: a text
} zf_table_input;

typedef struct zf_table_batches zf_table_batches;

/// Opens the inputs, and reads their headers. All arguments outlive `*out`; `data` has the columns of the table, which are empty.
/// Errors are those of reading, and of zf_table_data_finish as far as they are known.
zf_status zf_table_batches_open(const zf_table_input *inputs, size_t count, const zf_delimited_options *options, bool any_format,
                                zf_table_data *data, zf_table_batches **out, zf_error *error);
/// Reads the next rows. `columns`: one for each of `data`, whose arrays are filled, and of which that of lists points to that of
/// their values; they are valid until the next call.
/// `*rows`: how many; 0: the table has ended, and all of zf_table_data_finish was checked.
zf_status zf_table_batches_next(zf_table_batches *batches, zf_encode_column *columns, uint64_t *rows, zf_error *error);
void zf_table_batches_free(zf_table_batches *batches);

#endif

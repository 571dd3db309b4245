// Rows of a column that arrived and are in no block yet.
#ifndef ZF_COMPILER_ENCODE_PENDING_H
#define ZF_COMPILER_ENCODE_PENDING_H

#include "compiler/encode/encode_table.h"

/// Copies of rows. Zeroes: none.
typedef struct zf_encode_pending {
    zf_encode_job *job;
    uint8_t *values;   ///< booleans: bits
    int64_t *offsets;  ///< strings: rows + 1, from 0 on
    uint8_t *validity; ///< nullable columns
    size_t used, room; ///< bytes of `values`
    uint64_t rows;
    uint64_t row_room; ///< rows that offsets and validity have room for
    uint64_t first;    ///< of the column
    uint64_t blocks;   ///< that were taken
} zf_encode_pending;

/// Copies rows `at` to `at + rows` - 1 of arrays of the column's type.
zf_status zf_encode_pending_add(zf_encode_pending *pending, const zf_encode_column *data, uint64_t at, uint64_t rows,
                                zf_error *error);
/// Takes the first `rows` rows as the column's next block, which owns them.
zf_status zf_encode_pending_take(zf_encode_pending *pending, uint64_t rows, zf_encode_waiting *out, zf_error *error);
void zf_encode_pending_free(zf_encode_pending *pending);

#endif

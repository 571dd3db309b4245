// Columns for encoders, made of numbers or of the bytes of an input.
#ifndef ZF_TESTS_FUZZ_DATA_H
#define ZF_TESTS_FUZZ_DATA_H

#include "zipflow/compile.h"

/// The plain data of a column of at most FUZZ_ROWS rows. Free it with fuzz_data_free.
typedef struct fuzz_data {
    zf_column_type type;
    uint64_t rows;
    uint8_t *values, *validity; ///< as zf_encode_column has them; `validity`: NULL where the type has no nulls
    int64_t *offsets;           ///< NULL: no strings
} fuzz_data;

enum { FUZZ_ROWS = 9000 };

/// Makes rows of a distribution (`shape`, one of data_shape's).
void fuzz_data_made(fuzz_data *out, zf_column_type type, unsigned shape, uint64_t seed, uint64_t rows);
/// Cuts bytes into rows: elements one after the other; strings end with 0xff; of nullable columns the first bytes are validity,
/// an eighth of a byte for each of those that follow.
void fuzz_data_cut(fuzz_data *out, zf_column_type type, const uint8_t *bytes, size_t size);
void fuzz_data_free(fuzz_data *data);
/// The bytes of an element; 0: strings.
unsigned fuzz_element_size(zf_element element);
/// Returns NULL where decoded buffers hold rows `begin` on, else what differs.
const char *fuzz_data_differs(const fuzz_data *data, uint64_t begin, uint64_t rows, const zf_decode_buffers *decoded);

#endif

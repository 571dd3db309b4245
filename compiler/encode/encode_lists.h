// Columns of lists on their way into blocks: the ends of the lists, their validity and their values are columns of their own.
#ifndef ZF_COMPILER_ENCODE_LISTS_H
#define ZF_COMPILER_ENCODE_LISTS_H

#include "compiler/encode/encode_pending.h"

/// Returns how many values rows `at` to `at + rows` - 1 of a column of lists add, those of null lists left out.
uint64_t zf_encode_lists_count(const zf_encode_column *data, uint64_t at, uint64_t rows);
/// Returns how many bytes these values are about: of strings their characters, those of null lists included.
uint64_t zf_encode_lists_bytes(const zf_encode_pending *lists, const zf_encode_column *data, uint64_t at, uint64_t rows);
/// Copies rows `at` to `at + rows` - 1 to the parts of a column of lists, of which `lists` is the ends: they follow it as in the
/// table. `rows` is at most ZF_ROWS_MULTIPLE.
zf_status zf_encode_lists_add(zf_encode_pending *lists, const zf_encode_column *data, uint64_t at, uint64_t rows,
                              zf_error *error);

#endif

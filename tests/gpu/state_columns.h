// Data for the columns of states.zf and library.zf, and decodes of the former, whole or in ranges, into memory that shows what is
// written beside it.
#ifndef ZF_TESTS_STATE_COLUMNS_H
#define ZF_TESTS_STATE_COLUMNS_H

#include "tests/gpu/gpu_machine.h"

/// A block of two whole tiles of the longest interval, and a part of one.
enum { STATE_ROWS = 2 * 4096 + 700, STATE_BLOCK = 3 * 4096, STATE_COLUMNS_MOST = 32 };

/// Makes the data and encodes them to `path`; says how many columns there are.
zf_status state_encode(gpu_machine *machine, uint64_t rows, uint64_t rows_per_block, const char *path, size_t *columns,
                       zf_error *error);
const char *state_column_name(size_t column);
/// The same of library.zf.
zf_status library_encode(gpu_machine *machine, uint64_t rows, uint64_t rows_per_block, const char *path, zf_error *error);

/// The result of a decode: the rows that were encoded, other ones, an error, or bytes beside its buffers.
typedef enum state_verdict { STATE_RIGHT, STATE_WRONG, STATE_TOLD, STATE_BESIDE } state_verdict;

/// Decodes some rows on a device, between canaries. Nothing is decoded that asks for more memory than anybody would give for a
/// file this small: `*error` is of ZF_ERR_MEMORY then.
state_verdict state_decode(zf_container *container, size_t column, const char *device, uint64_t begin, uint64_t count,
                           zf_error *error);
/// The same on the machine's accelerator into its memory, on a stream of the caller.
state_verdict state_decode_async(gpu_machine *machine, zf_container *container, size_t column, uint64_t begin, uint64_t count,
                                 zf_error *error);

#endif

// Where the blocks of a column begin.
#ifndef ZF_COMPILER_ENCODE_CUT_H
#define ZF_COMPILER_ENCODE_CUT_H

#include "compiler/encode/encode_block.h"

enum {
    ZF_ENCODE_BLOCK_BYTES = 16 << 20,                    ///< of plain data, unless the caller says otherwise
    ZF_ENCODE_WAITING_BYTES = 2 * ZF_ENCODE_BLOCK_BYTES, ///< of strings that wait for their block: more can always be cut
};

/// Decides the blocks of a column, whose data, column and rows the job has: as many rows as `options` say, or 16 MiB of plain
/// data. Strings: by their mean length; where a block would then have more than 32 MiB, by bytes (not in version 1 of the
/// format).
///
/// Free with zf_encode_cut_free, also after a failure. Errors: ZF_ERR_MEMORY.
zf_status zf_encode_cut(zf_encode_job *job, const zf_encode_options *options, zf_error *error);
/// The first row of a block, and the number of its rows.
void zf_encode_cut_block(const zf_encode_job *job, uint64_t block, uint64_t *first, uint64_t *rows);
void zf_encode_cut_free(zf_encode_job *job);

/// Begins to decide the blocks of a column whose rows arrive in turn: as many rows as `options` say, or 16 MiB of plain data.
/// Strings: by the mean length of the first 16 MiB; from a block on that would then have more than 32 MiB by bytes, and from the
/// first row on where 32 MiB arrive before 4096 rows end (not in version 1 of the format).
void zf_encode_cut_arriving(zf_encode_job *job, const zf_encode_options *options);
/// The rows of the next block, the first of `rows` rows that wait, which begin at row `first`; 0: more must arrive. Call it
/// whenever a multiple of 4096 rows of the column has arrived, and at the first row with which more than
/// ZF_ENCODE_WAITING_BYTES of strings wait, until it returns 0; and with `all` behind the last row. Strings have `offsets`. Each
/// call may change rows_per_block of the job, and to 0 where blocks become uneven.
uint64_t zf_encode_cut_next(zf_encode_job *job, uint64_t first, const int64_t *offsets, uint64_t rows, bool all);
/// Returns the rows per block that the index states: 0 unless they are a multiple of 4096.
uint64_t zf_encode_even_rows(const zf_encode_job *job);

#endif

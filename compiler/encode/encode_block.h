// Encodes one block of a column: records its seek states, lays it out, decodes it and compares.
#ifndef ZF_COMPILER_ENCODE_BLOCK_H
#define ZF_COMPILER_ENCODE_BLOCK_H

#include "compiler/decoder/decoder.h"
#include "compiler/encode/encode_tree.h"
#include "compiler/encode/encode_tuples.h"
#include "compiler/program.h"

/// How rows that arrive in turn are cut into blocks.
typedef enum zf_encode_cutting {
    ZF_CUT_EVEN,      ///< into blocks of rows_per_block rows
    ZF_CUT_UNDECIDED, ///< strings whose mean length is not known yet
    ZF_CUT_EVEN_TEXT, ///< as even, until a block would have too many bytes
    ZF_CUT_BY_BYTES,
} zf_encode_cutting;

/// A column while it is encoded. Read by all threads.
typedef struct zf_encode_job {
    zf_program *program;
    struct zf_encode_table *table; ///< whose column it is
    const zf_column *column;
    size_t index; ///< of the column in its table
    zf_encode_column data;
    uint64_t rows, blocks;
    uint64_t rows_per_block;  ///< 0: as `starts` say
    uint64_t *starts;         ///< the first row of each block, and behind them the rows; NULL: blocks are even
    zf_encode_cutting cut;    ///< of rows that arrive in turn
    unsigned format;          ///< version of the container; 0: the newest
    bool zoned;               ///< blocks have zones
    uint32_t seek_interval;   ///< 0: the default
    zf_text unfused;          ///< zf_plan_options.unfused; empty: none
    zf_encode_tuples *tuples; ///< NULL: every block keeps its own
    zf_writer *writer;
} zf_encode_job;

/// The rows of one block.
typedef struct zf_encode_rows {
    uint64_t block;        ///< its number in the column
    uint64_t first, rows;  ///< of the column
    zf_encode_column data; ///< arrays that have the rows
    uint64_t at;           ///< of the first one in these arrays
} zf_encode_rows;

/// Bytes of memory that a thread, and a table's rows, keep at most from one block to the next.
enum { ZF_ENCODE_IDLE = 20 << 20 };

/// An encoded block. Free it with zf_encode_result_free.
typedef struct zf_encode_result {
    void *bytes;
    uint64_t size;
    uint32_t shape;
    zf_block_data block; ///< as the index needs it: without params, streams and states
    zf_zone *zones;      ///< NULL: none
    uint64_t *counts;
    zf_seek_data *seeks;
    double encode_seconds, verify_seconds;
} zf_encode_result;

void zf_encode_result_free(zf_encode_result *result);
/// Encodes a block of a column. Free `*out` also after an error. Errors: ZF_ERR_INPUT where no alternative takes the block
/// or it decodes to other values. Any thread. Blocks of a column are begun in their order, and each calls this or
/// zf_encode_block_skip. `pool`: of the thread; the result takes nothing from it.
zf_status zf_encode_block_run(zf_encode_job *job, const zf_encode_rows *rows, zf_encode_pool *pool, zf_encode_result *out,
                              zf_error *error);

/// Leaves a block out: later ones do not wait for it.
void zf_encode_block_skip(zf_encode_job *job, uint64_t block);

/// Finds or makes the decoder for a vector of branches (the column's choice_count bytes). On success the caller releases it with
/// zf_program_decoder_release.
zf_status zf_encode_decoder_for(zf_encode_job *job, const uint8_t *branches, zf_cached_decoder **out, zf_error *error);

/// Writes the value of row `row` of a column's arrays, for messages.
void zf_encode_value_text(const zf_encode_column *data, zf_type type, uint64_t row, char *out, size_t size);

#endif

// A table while it is encoded to a file: its columns, the writer, and blocks that run over threads.
#ifndef ZF_COMPILER_ENCODE_TABLE_H
#define ZF_COMPILER_ENCODE_TABLE_H

#include <pthread.h>

#include "compiler/encode/encode_block.h"

/// Encoded blocks of a column that are written together.
typedef struct zf_encode_group {
    zf_encode_result *blocks;
    size_t count, room;
    uint64_t bytes;
} zf_encode_group;

/// Bytes from which on a group is written. A transfer unit of a pipeline is a run of blocks that follow each other in the file:
/// it would be a single block, however small, if columns took turns.
enum { ZF_ENCODE_GROUP_BYTES = 16 << 20 };

typedef struct zf_encode_table {
    zf_program *program;
    const zf_table *table;
    zf_encode_options
        options;            ///< pointers in it are the caller's, and are used until zf_encode_table_start returns; but progress
    zf_encode_job *jobs;    ///< in the table's order
    zf_encode_stats *stats; ///< the same
    zf_writer *writer;
    zf_encode_group *groups; ///< by column; NULL: each block is written at once
    unsigned threads;
    zf_encode_pool *pools;    ///< of memory, by thread
    zf_encode_pool rows_pool; ///< of memory for rows that wait, under its lock
    pthread_mutex_t rows_lock;
    bool has_lock;
    uint64_t done;   ///< blocks that were written, or failed
    uint64_t blocks; ///< of all columns; 0: not known
} zf_encode_table;

/// A block that is to be encoded.
typedef struct zf_encode_waiting {
    zf_encode_job *job;
    zf_encode_rows rows;
    bool owned;  ///< the arrays of its rows are freed when it is encoded
    bool packed; ///< booleans that are bits; they are owned
} zf_encode_waiting;

/// Finds a table of a program without errors. `options` may be NULL: defaults. Free `out` with zf_encode_table_free, also after
/// an error: ZF_ERR_USAGE for wrong options or an unknown table.
zf_status zf_encode_table_create(zf_program *program, const char *table, const zf_encode_options *options, zf_encode_table *out,
                                 zf_error *error);
/// Gives a column of the table its job: `*out`, and of a column of lists the jobs of its parts, which follow. `data` has its
/// name. ZF_ERR_USAGE where the table has none of this name, it has its job already, or it is a part of lists.
zf_status zf_encode_table_column(zf_encode_table *table, const zf_encode_column *data, zf_encode_job **out, zf_error *error);
/// Checks that all columns have jobs.
zf_status zf_encode_table_complete(const zf_encode_table *table, zf_error *error);
/// Creates the file at `path`, and compiles nothing. Jobs have their rows per block.
zf_status zf_encode_table_open(zf_encode_table *table, const char *path, zf_error *error);
/// Compiles encoders, and creates the file at `path`. Jobs have their rows per block. Needs a deep stack.
zf_status zf_encode_table_start(zf_encode_table *table, const char *path, zf_error *error);
/// Encodes blocks over threads, and writes or groups them in their order. Those of one column follow each other, and those of
/// earlier calls. After an error nothing more can be written. Needs a deep stack.
zf_status zf_encode_table_run(zf_encode_table *table, zf_encode_waiting *blocks, size_t count, zf_error *error);
/// Writes the groups, column after column.
zf_status zf_encode_table_write_groups(zf_encode_table *table, zf_error *error);
/// Frees what the table has. A file that is not finished is removed.
void zf_encode_table_free(zf_encode_table *table);

/// Returns memory for rows that wait, with the first `used` bytes of `old` (may be NULL), which is gone then. NULL on failure,
/// where it stays. Any thread.
void *zf_encode_rows_grow(zf_encode_table *table, void *old, size_t used, size_t bytes);
/// Gives it back. NULL: does nothing. Any thread.
void zf_encode_rows_give(zf_encode_table *table, const void *memory);
/// Frees the arrays of a block that owns them.
void zf_encode_waiting_free(zf_encode_waiting *block);

#endif

// The rows of a table that a query must run over: zones of the container exclude others.
//
// An executor makes it for a query over a container, asks which rows may matter, and says which rows it reads. Zones are
// trusted: a container that lies in a zone of rows that are skipped is not found out.
#ifndef ZF_COMPILER_QUERY_ZONES_H
#define ZF_COMPILER_QUERY_ZONES_H

#include "compiler/query/query_effect.h"
#include "runtime/container/container_open.h"

typedef struct zf_query_zones {
    zf_query_effect effect;
    const zf_container *container;
    size_t *columns;                  ///< of the container, by column of the query
    const struct zf_zone **zones;     ///< by column of the query: of the rows in question
    bool all;                         ///< nothing is skipped
    uint64_t rows_read;               ///< rows that were read so far
    uint64_t *counted, bytes_counted; ///< by column: rows whose blocks are in `bytes_counted`
} zf_query_zones;

/// Prepares for a query and a container that has its columns.
///
/// `params` and `inputs` (as zf_query_effect has them) are by slot, and live as long as `*out`. `all`: every row matters.
/// ZF_ERR_MEMORY, or ZF_ERR_USAGE where a column is missing. Call zf_query_zones_free in any case.
zf_status zf_query_zones_make(const zf_query *query, const zf_container *container, const uint64_t *params,
                              const zf_query_stream *inputs, bool all, zf_query_zones *out, zf_error *error);
void zf_query_zones_free(zf_query_zones *zones);

/// Whether a row from `row` to `*end` - 1 may change a result or fail a check. All of them have the same zones; the answer may be
/// another one from `*end` on, which may lie beyond the table. One thread at a time.
bool zf_query_zones_at(zf_query_zones *zones, uint64_t row, uint64_t *end);
/// Whether one of the rows begin .. end - 1 may. Looks no further than the first zone that says so.
bool zf_query_zones_any(zf_query_zones *zones, uint64_t begin, uint64_t end);
/// Narrows rows *begin .. *end - 1 to the first and the last that may matter. False: none matters. An executor that runs them
/// without a gap, and begins with whole tiles (ZF_QUERY_TILE), adds floats up as if it ran all.
bool zf_query_zones_narrow(zf_query_zones *zones, uint64_t *begin, uint64_t *end);

/// Notes that rows begin .. end - 1 are read, which follow those before.
void zf_query_zones_note(zf_query_zones *zones, uint64_t begin, uint64_t end);
/// Stored bytes of the columns' blocks that have some of the rows begin .. end - 1, without those with rows that were noted.
uint64_t zf_query_zones_skipped_bytes(const zf_query_zones *zones, uint64_t begin, uint64_t end);

// ---- Blocks ----

/// Stored bytes of the blocks of a column that have some of the rows begin .. end - 1.
uint64_t zf_query_stored_bytes(const zf_index_column *column, uint64_t begin, uint64_t end);
/// Where the block of a column ends that has a row; the column's end behind all of them.
uint64_t zf_query_block_end(const zf_index_column *column, uint64_t row);

#endif

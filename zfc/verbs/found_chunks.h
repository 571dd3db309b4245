// Chunks that `zfc wrap` found in a file by itself: limits, advice, and places of errors in the file.
#ifndef ZF_ZFC_FOUND_CHUNKS_H
#define ZF_ZFC_FOUND_CHUNKS_H

#include "frontend/spec/spec.h"
#include "zipflow/compile.h"

typedef struct zf_found_chunks {
    const char *path;   ///< of the file
    const char *bytes;  ///< all of it
    const char *column; ///< that gets them
    const zf_wrapped_chunk *chunks;
    size_t count;
} zf_found_chunks;

/// Refuses chunks for a column whose rows are no bytes, or whose codec has shorter chunks. Columns that the table does not have,
/// and codecs that take no chunks, are left to zf_wrap. Prints notes about chunks that a GPU decodes slowly, and about files of
/// BGZF without an end, unless `quiet`.
zf_status zf_found_check(const zf_found_chunks *found, const zf_table *table, bool quiet, zf_error *error);
/// Adds the bytes of the file to an error of zf_wrap that names a chunk of this column.
void zf_found_explain(const zf_found_chunks *found, zf_error *error);

#endif

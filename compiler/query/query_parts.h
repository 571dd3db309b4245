// The rows of a query in parts: what comes to an accelerator together.
#ifndef ZF_COMPILER_QUERY_PARTS_H
#define ZF_COMPILER_QUERY_PARTS_H

#include "compiler/query/query_running.h"

/// Rows of the table.
typedef struct zf_query_range {
    uint64_t begin, end;
} zf_query_range;

/// How rows are cut.
typedef struct zf_query_cut {
    uint64_t tile;         ///< parts begin at its multiples, or with the first row
    uint64_t bytes;        ///< a part ends once its blocks have as many stored bytes
    zf_query_zones *zones; ///< rows that cannot matter are skipped; NULL: none are
} zf_query_cut;

/// Cuts rows where blocks of all columns begin, so that no block is in two parts. One that has no such place is one part. Free
/// `*out`, of `*count` parts in their order, with `free`.
zf_status zf_query_cut_rows(const zf_query_running *running, zf_query_range rows, const zf_query_cut *cut, zf_query_range **out,
                            size_t *count, zf_error *error);

#endif

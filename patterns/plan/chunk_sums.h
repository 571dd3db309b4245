// Loops of chunk programs that emit running sums: a warp makes such sums by a scan (codegen/simt/chunks/simt_sums.c).
#ifndef ZF_PATTERNS_CHUNK_SUMS_H
#define ZF_PATTERNS_CHUNK_SUMS_H

#include "frontend/spec/spec.h"

/// `for k in a..b { ...; s += t; emit e; }`, or the same with `while out.pos < b`. Nothing else changes from turn to turn. The
/// sum may be narrowed at each turn (`s = (s + t) as i32 as i64`), which changes no lower bit.
typedef struct zf_chunk_sum {
    const zf_local *sum;
    const zf_local *binder;       ///< of a FOR_RANGE; else NULL
    const zf_stmt *lets;          ///< what stands before the assignment
    const zf_stmt *assign, *emit; ///< the last two statements
    const zf_expr *end;           ///< WHILE: its limit; NULL: FOR_RANGE
    const zf_expr *read;          ///< the only CURSOR: READ or READ_MSB of as many bits at each turn; NULL: none
} zf_chunk_sum;

/// False: it is no such loop.
bool zf_chunk_sum_of(const zf_stmt *loop, zf_chunk_sum *out);

#endif

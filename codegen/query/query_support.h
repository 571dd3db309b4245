// C functions that the code of queries calls.
#ifndef ZF_CODEGEN_QUERY_SUPPORT_H
#define ZF_CODEGEN_QUERY_SUPPORT_H

#include "codegen/codegen_query.h"

/// Appends a row; 0: no memory.
uint64_t zf_cg_query_select(zf_query_frame *frame, const uint64_t *words);
/// Appends the pairs lo..hi, or lo..=hi, of number `first`; else what became of the frame: ZF_QUERY_NO_MEMORY, ZF_QUERY_TOO_MANY.
uint64_t zf_cg_query_pairs(zf_query_frame *frame, uint64_t first, uint64_t lo, uint64_t hi, uint64_t inclusive);
/// The smaller or the larger of what is there, if anything is, and a value that may be NaN, which changes nothing.
void zf_cg_query_min(uint64_t *word, uint8_t *touched, double value);
void zf_cg_query_max(uint64_t *word, uint8_t *touched, double value);

#define ZF_QUERY_FUNCTIONS(X)                                                                                                    \
    X(zf_cg_query_select)                                                                                                        \
    X(zf_cg_query_pairs)                                                                                                         \
    X(zf_cg_query_min)                                                                                                           \
    X(zf_cg_query_max)

#endif

// Squares of pairs: a thread block has all pairs of 64 numbers of A with 64 of B, and makes a sum for each of them. It copies
// what the sums' terms read of both sides to shared memory, a slice of k after the other, so that each element is read once for
// 64 pairs. The form that a sum must have is found by query_square_form.c, the kernel made by query_squares.c.
#ifndef ZF_CODEGEN_QUERY_SQUARE_H
#define ZF_CODEGEN_QUERY_SQUARE_H

#include "codegen/query/query_kernel.h"

enum {
    ZF_QUERY_SLICES = 4,                                     ///< of a sum, at most
    ZF_QUERY_SIDE_THREADS = 16,                              ///< threads along a side of the square
    ZF_QUERY_EACH = ZF_QUERY_SQUARE / ZF_QUERY_SIDE_THREADS, ///< numbers of a side that a thread has
};

/// An input that the terms of a sum read at a place of one side, which is followed along k.
typedef struct zf_query_slice {
    const zf_expr *access; ///< INDEX of the input
    const zf_expr *wrap;   ///< the place adds k modulo this number of the same side, which is no less than 0; NULL: it adds k
    bool of_second;        ///< its place is one of B; else of A, or of neither
} zf_query_slice;

/// The sum of a query for which squares are made.
typedef struct zf_query_square {
    const zf_expr *sum; ///< REDUCE, which every pair evaluates; NULL: none has the form
    zf_query_slice slices[ZF_QUERY_SLICES];
    uint32_t count;
} zf_query_square;

/// Finds the sum of a query.
zf_query_square zf_query_square_of(const zf_query *query);

/// Elements of slices in registers, which terms read in place of the inputs' (zf_query_build.staged).
typedef struct zf_query_staged {
    const zf_query_square *square;
    LLVMValueRef v_elements[ZF_QUERY_SLICES];
} zf_query_staged;

/// The element of `access` among those that are staged. False: it is none of them.
bool zf_query_staged_element(zf_query_build *b, const zf_expr *access, zf_cg_value *out);
/// Builds what kernel ZF_QUERY_KERNEL_SQUARES of a request does, between its frame and its end.
void zf_query_squares(zf_query_build *b, LLVMValueRef v_groups);
/// Bytes of shared memory of its thread blocks.
uint32_t zf_query_square_bytes(const zf_query *query);

#endif

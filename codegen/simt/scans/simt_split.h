// Terms of 64 bits whose sum a warp finds by shuffles of 32: a number of the block, the same in all, and few bits of their own.
#ifndef ZF_CODEGEN_SIMT_SPLIT_H
#define ZF_CODEGEN_SIMT_SPLIT_H

#include "codegen/simt/simt.h"

typedef struct zf_simt_split {
    LLVMValueRef v_same; ///< i64, of the block; NULL: 0
    LLVMValueRef v_own;  ///< i32: the term is both together
} zf_simt_split;

/// Splits a term of a scan's rows of `lanes` elements a lane. False where it is nothing of the kind, or its own bits are so many
/// that those of a row may not add up in 32.
bool zf_simt_split_term(zf_kernel_build *lower, const zf_running *running, unsigned lanes, LLVMValueRef v_term,
                        zf_simt_split *out);
/// Turns the terms of `count` consecutive rows, all with the same v_same, into the scan's values, and moves the running value
/// behind them.
void zf_simt_split_combine(zf_kernel_build *lower, const zf_running *running, unsigned lanes, LLVMValueRef v_lane, unsigned count,
                           zf_simt_split (*terms)[ZF_NEIGHBOURS], LLVMValueRef (*v_values)[ZF_NEIGHBOURS]);

#endif

// Tables: streams of a known, small length that a kernel's root reads by index. They are put into shared memory, where all warps
// of a thread block find them.
#ifndef ZF_CODEGEN_SIMT_TABLES_H
#define ZF_CODEGEN_SIMT_TABLES_H

#include "codegen/simt/simt.h"

/// Bytes of shared memory that a kernel's tables take together, a multiple of 16; 0: it has none. A stream that does not fit
/// beside the rest of the kernel's shared memory is no table.
uint32_t zf_simt_tables_bytes(const zf_plan *plan, const zf_kernel *kernel);
/// All `threads` threads of the block make the tables, in the first bytes of shared memory, and meet; from then on bodies read
/// them there (lower->simt->v_tables).
void zf_simt_tables_make(zf_kernel_build *lower, unsigned threads);
/// The same, and whether all elements lie in the ranges that bodies may rely on (i1, the same for all threads): from then on
/// bodies do not check what they read from tables. v_warps: shared memory, four bytes a warp.
LLVMValueRef zf_simt_tables_make_checked(zf_kernel_build *lower, unsigned threads, LLVMValueRef v_warps);

#endif

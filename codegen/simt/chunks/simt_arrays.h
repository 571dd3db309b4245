// Local arrays of programs that all lanes of a warp walk alike: one for the warp, in shared memory (simt_arrays.c).
#ifndef ZF_CODEGEN_SIMT_ARRAYS_H
#define ZF_CODEGEN_SIMT_ARRAYS_H

#include "codegen/simt/simt.h"

/// Bytes of shared memory that a warp needs for the local arrays of the kernel's program, a multiple of 16; 0: it has none, or
/// none that fits, and each thread has its own.
uint32_t zf_simt_arrays_bytes(const zf_plan *plan, const zf_kernel *kernel);

/// Lets the lanes of each warp of a block have their arrays together (zf_cg_together), of `warps` times `each` bytes of shared
/// memory from `offset` on, until zf_simt_arrays_end.
void zf_simt_arrays_begin(zf_kernel_build *lower, uint32_t offset, uint32_t warps, uint32_t each);
void zf_simt_arrays_end(zf_kernel_build *lower);

#endif

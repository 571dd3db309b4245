// Local arrays of programs that all lanes of a warp walk alike: one for the warp, in shared memory (simt_arrays.c).
#ifndef ZF_CODEGEN_SIMT_ARRAYS_H
#define ZF_CODEGEN_SIMT_ARRAYS_H

#include "codegen/simt/simt.h"

/// Bytes of shared memory that a warp needs for the local arrays of the kernel's program, a multiple of 16; 0: it has none, or
/// none that fits, and each thread has its own.
uint32_t zf_simt_arrays_bytes(const zf_plan *plan, const zf_kernel *kernel);

/// Bytes of a kernel's shared memory in front of its warps' local arrays, which are last: all, where it has none there.
uint32_t zf_simt_arrays_offset(const zf_simt_shape *shape);

/// Lets the lanes of each warp of a block have their arrays together (zf_cg_together), where the shape has room for them, until
/// zf_simt_arrays_end.
void zf_simt_arrays_begin(zf_kernel_build *lower, const zf_simt_shape *shape);
void zf_simt_arrays_end(zf_kernel_build *lower);

#endif

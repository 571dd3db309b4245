// By what a kernel is known to the tuner: kernels of one shape are lowered alike, whatever files and columns they are of.
//
//   map i32: dictionary<i32, u8>(bitpack<u8, u32>(u32), i32); 4
//   groups u32: rle<u32>(u32, u32); groups of 16 tile 4096
//
// The form of the kernel, the type of what it stores, what is fused in it (a node with its streams: another node, or the type of
// what lies in memory, with `work` before it where an earlier kernel made that), and a class for each of its params that shape
// code: the value, rounded up to a power of two. Behind `groups of` stands a class for how many elements the groups of each
// expansion have on the mean, since short ones want other kernels than long ones; behind `tile` how many outputs a tile has,
// where that is the file's. Names are those of algorithms: two that are called alike have one shape, which costs nothing but
// speed.
#ifndef ZF_COMPILER_KERNEL_SHAPE_H
#define ZF_COMPILER_KERNEL_SHAPE_H

#include "patterns/plan/plan.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

/// Of a kernel for which nothing was chosen, and a block of the plan's graph that it is for.
ZF_PRIVATE_API void zf_kernel_shape_print(const zf_plan *plan, const zf_kernel *kernel, const zf_block_view *block, zf_text *out);

/// How near two shapes are: 4 where they differ in classes or tiles alone, 3 where what they are the outputs of is the
/// same algorithm and type, 2 of one form and type, 1 of one form, 0 of none; 5: they are the same.
unsigned zf_kernel_shape_nearness(const char *a, const char *b);

#endif

// The shape of a kernel: the name under which tuned results are kept. Kernels of one shape are lowered alike, in all files.
//
//   map i32: dictionary<i32, u8>(bitpack<u8, u32>(u32), i32); 4
//   groups u32: rle<u32>(u32, u32); groups of 16 tile 4096
//
// It has the form of the kernel, the type of its output, and the fused nodes with their streams: other nodes, or types of
// elements in memory, after `work` if an earlier kernel makes them. Then the value of each param that shapes code, rounded up to
// a power of two; after `groups of` the mean size of the groups of each expansion, rounded likewise, because short groups need
// other kernels than long ones; after `tile` the outputs of a tile, if the file decides them. Algorithms are named: two of one
// name have one shape, which can cost speed only.
#ifndef ZF_COMPILER_KERNEL_SHAPE_H
#define ZF_COMPILER_KERNEL_SHAPE_H

#include "patterns/plan/plan.h"
#include "runtime/base/private.h"
#include "runtime/container/container.h"

/// Appends the shape of a kernel of a plan without choices, for blocks like `block`, which belongs to the plan's graph.
ZF_PRIVATE_API void zf_kernel_shape_print(const zf_plan *plan, const zf_kernel *kernel, const zf_block_view *block, zf_text *out);

/// Returns how near two shapes are: 5 equal; 4 equal up to params, groups and tiles; 3 one algorithm and type at the root; 2 one
/// form and type; 1 one form; else 0.
unsigned zf_kernel_shape_nearness(const char *a, const char *b);

#endif

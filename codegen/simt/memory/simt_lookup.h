// Look-ups: streams that a map's elements take at indices which data say (`entries[codes[i]]`). Where all of a block's fit, the
// thread block copies them to shared memory before it makes its tile: 32 lanes then take about four cycles for what they look up,
// by banks, where the first-level cache takes one for each line of 128 bytes that they touch. How much fits is chosen (TABLE).
#ifndef ZF_CODEGEN_SIMT_LOOKUP_H
#define ZF_CODEGEN_SIMT_LOOKUP_H

#include "codegen/simt/simt.h"

/// KiB of TABLE: all eight thread blocks of 256 threads that a multiprocessor runs can have them.
enum { ZF_LOOKUP_DEFAULT = 16 };

typedef struct zf_simt_lookup {
    LLVMValueRef *v_tables; ///< as zf_kernel_build.v_tables
    LLVMValueRef v_fits;    ///< i1, the same for all threads: the tables are there
} zf_simt_lookup;

/// Whether a map's elements are looked up in streams of numbers that lie in memory.
bool zf_simt_looks_up(const zf_plan *plan, const zf_kernel *kernel);
/// Bytes of shared memory that its tables may take, a multiple of 16, beside `others`; 0: it has none.
uint32_t zf_simt_lookup_bytes(const zf_plan *plan, const zf_kernel *kernel, uint32_t others);
/// All threads of the block copy the tables to `room` bytes of shared memory from `offset` on, where they fit, and meet.
void zf_simt_lookup_make(zf_simt_lookup *lookup, zf_kernel_build *lower, const zf_simt_shape *shape, uint32_t offset,
                         uint32_t room);

#endif

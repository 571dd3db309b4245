// The choices (patterns/plan/choices.h) of the kernels of GPUs, as forms add them to the space that codegen/codegen.h shows.
#ifndef ZF_CODEGEN_SIMT_CHOICES_H
#define ZF_CODEGEN_SIMT_CHOICES_H

#include "codegen/codegen.h"
#include "codegen/simt/simt.h"

/// Add values to a choice: one, the powers of two of a range, 0 to `most`.
void zf_choice_allow(zf_choice_space *space, zf_choice_kind kind, uint32_t value);
void zf_choice_allow_powers(zf_choice_space *space, zf_choice_kind kind, uint32_t least, uint32_t most);
void zf_choice_allow_up_to(zf_choice_space *space, zf_choice_kind kind, uint32_t most);
/// Adds C: contiguous elements that a thread makes at a time.
void zf_choice_allow_together(zf_choice_space *space, zf_type type);
/// Adds PREFETCH: whether the kernel prefetches. The default is that of `shape`.
void zf_choice_allow_prefetch(zf_choice_space *space, const zf_simt_shape *shape);
/// Returns the most threads of a thread block that makes a tile of groups, and no fewer than `least`.
uint32_t zf_choice_threads_of_tile(const zf_plan *plan, const zf_kernel *kernel, uint32_t least);

/// Returns whether a kernel's elements take bits of a stream at positions that the data give, so that loads wait for loads.
bool zf_simt_takes_places(const zf_plan *plan, const zf_kernel *kernel);

#endif

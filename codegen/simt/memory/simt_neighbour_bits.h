// Bits that neighbours take at offsets from the data (cg_places.c). Their words may differ, but mostly are the same: codes of a
// few bits lie side by side. Therefore the first neighbour's two words are loaded, and the others take their bits from these if
// they are in them.
#ifndef ZF_CODEGEN_SIMT_NEIGHBOUR_BITS_H
#define ZF_CODEGEN_SIMT_NEIGHBOUR_BITS_H

#include "codegen/body/cg_frame.h"
#include "codegen/simt/simt.h"

/// The words that a row's first neighbour took, for the others. Set in the environment of each (`places`).
typedef struct zf_simt_neighbour_bits zf_simt_neighbour_bits;

/// Makes neighbour k of a row, with `places` in its environment.
typedef void (*zf_simt_make)(void *user, unsigned row, unsigned k, zf_simt_neighbour_bits *places);

/// Makes `count` neighbours of each of `rows` rows (at most ZF_SIMT_BATCH): the first ones of all rows in one piece of code
/// without branches, and then the others, which load nothing of their own. Goes on where that was right; returns the block to
/// which threads go that must make all of them without `places`: with all others of their warp where it is to stay `whole_warp`.
LLVMBasicBlockRef zf_simt_make_beside(zf_kernel_build *lower, unsigned rows, unsigned count, bool whole_warp, zf_simt_make make,
                                      void *user);

/// Loads v_count bits (at most `limit`, which is at most 32) of an edge's stream from a place, as u64, for the first neighbour of
/// a row, and keeps its words for the others. `unmoved` is the place as it was before it was moved into the stream. NULL, with
/// nothing emitted: these places are not for that.
LLVMValueRef zf_simt_neighbour_bits_load(zf_kernel_env *env, uint32_t edge, const zf_cg_bit_place *unmoved,
                                         const zf_cg_bit_place *place, LLVMValueRef v_count, uint64_t limit,
                                         const zf_expr *access);
/// Takes the bits of another neighbour from those words. NULL, with nothing emitted: the first one has none for it.
LLVMValueRef zf_simt_neighbour_bits_take(zf_kernel_env *env, const zf_cg_bit_place *place, LLVMValueRef v_count,
                                         const zf_expr *access);

#endif

// The one prefetch, and the one copy from global to shared memory, of all kernels of GPUs.
#ifndef ZF_CODEGEN_SIMT_MEMORY_H
#define ZF_CODEGEN_SIMT_MEMORY_H

#include "codegen/simt/simt.h"

/// Returns whether the target prefetches addresses that may lie outside the launch's memory.
bool zf_simt_prefetches(const zf_cg *cg);
/// Prefetches v_from, an address in global memory, into the second-level cache, where the target can. Such an address is not
/// checked.
void zf_simt_prefetch(zf_cg *cg, LLVMValueRef v_from);
/// Prefetches an address that must lie in the launch's memory: the emulator checks it.
void zf_simt_prefetch_within(zf_cg *cg, LLVMValueRef v_from);

enum {
    ZF_SIMT_PREFETCH_PIECE = 64,  ///< bytes that come together: two sectors
    ZF_SIMT_PREFETCH_ROUNDS = 16, ///< pieces that a thread prefetches of an edge, at most
};
/// Prefetches by `prefetch`, one of the two above, a range of at most `most` bytes by pieces; `threads` threads take turns. The
/// thread's first piece is at v_from, v_mine (i64) bytes into the range, which has v_bytes (i64). Prefetches
/// only the beginning of a range that takes more rounds.
void zf_simt_prefetch_pieces(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_mine, LLVMValueRef v_bytes, uint64_t most,
                             uint32_t threads, void (*prefetch)(zf_cg *cg, LLVMValueRef v_from));

enum { ZF_SIMT_PIECE = 16 }; ///< bytes that a thread copies at once
/// Returns the address of piece v_piece (i64) of what begins at v_from.
LLVMValueRef zf_simt_piece_at(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_piece);
/// Copies a piece at v_from, in global memory, to v_to, in shared memory. It is there after zf_simt_copy_wait, and for other
/// threads behind a barrier.
void zf_simt_copy(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from);
/// Waits until at most `pending` of the thread's last rounds of copies are in flight.
void zf_simt_copy_wait(zf_cg *cg, uint32_t pending);

#endif

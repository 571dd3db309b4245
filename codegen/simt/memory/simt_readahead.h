// Elements of a stream that a warp reads in order, copied to shared memory ahead of the reads, which then do not wait for
// memory.
#ifndef ZF_CODEGEN_SIMT_READAHEAD_H
#define ZF_CODEGEN_SIMT_READAHEAD_H

#include "codegen/simt/simt.h"

/// A ring of rows; a row is what the warp copies together, 16 bytes a lane. It begins with the 16 bytes that hold the first
/// element. All but the lane's address is the same for all lanes.
typedef struct zf_simt_readahead {
    zf_kernel_build *lower;
    zf_type type;
    uint32_t row;          ///< elements of a row
    bool whole;            ///< the ring has all that a chunk may read
    unsigned reads;        ///< since the code last asked whether a row was read
    LLVMValueRef v_ring;   ///< where it lies
    LLVMValueRef v_pieces; ///< the 16 bytes of the stream that it begins with
    LLVMValueRef v_last;   ///< i32: the stream's last ones, from there
    LLVMValueRef v_lane;   ///< i32
    LLVMValueRef v_at;     ///< slot (i32): the next element, counted from there
    LLVMValueRef v_row;    ///< slot (i32): the row in which it was when that was asked
    LLVMValueRef v_stop;   ///< i32: behind the last
} zf_simt_readahead;

/// Bytes of shared memory that a warp needs.
uint32_t zf_simt_readahead_bytes(uint32_t wave);
/// Begins at element `v_first` (i64) of an edge in memory; there are `v_count` (i64) from there on. One a kernel at most.
void zf_simt_readahead_begin(zf_simt_readahead *ahead, zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_ring,
                             LLVMValueRef v_first, LLVMValueRef v_count);
/// Returns element v_before (i32, less than 32) from the position on. An element that does not exist has any value: the end
/// reports it.
LLVMValueRef zf_simt_readahead_read(zf_simt_readahead *ahead, LLVMValueRef v_before);
/// Moves on by v_count (i32, at most 32) elements, the same for all lanes. `straight`: the code built from now on runs in any
/// case after the code built before, so that some moves share a test for the next row; zf_simt_readahead_settle emits the last
/// of them.
void zf_simt_readahead_move(zf_simt_readahead *ahead, LLVMValueRef v_count, bool straight);
void zf_simt_readahead_settle(zf_simt_readahead *ahead);
/// Before the kernel ends: no copy is in flight any more. Returns whether the position has passed the end (i1): positions only
/// grow, so it has if any read did.
LLVMValueRef zf_simt_readahead_end(zf_simt_readahead *ahead);

#endif

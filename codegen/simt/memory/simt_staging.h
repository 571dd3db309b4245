// Staging: the packed words that a map's thread block reads, or a warp that scans, copied to shared memory by whole vectors
// before its threads take their bits. A lane's bits lie where its elements do, so a warp's loads of them touch few words each,
// many times; copied, all words are read once, 16 bytes a thread, side by side.
#ifndef ZF_CODEGEN_SIMT_STAGING_H
#define ZF_CODEGEN_SIMT_STAGING_H

#include "codegen/simt/memory/simt_memory.h"

/// How much is staged at once: what is chosen by STAGE.
typedef enum zf_simt_stage_way {
    ZF_STAGE_NONE,
    ZF_STAGE_TILE,  ///< all that the tile reads, before its first step
    ZF_STAGE_STEPS, ///< what a step reads, in two buffers: the next step's is copied while this one's is taken
    ZF_STAGE_WAYS
} zf_simt_stage_way;

enum {
    ZF_STAGED_OUTPUTS = 128, ///< what is staged at once is of a multiple of so many: whole pieces, at any width
};

typedef struct zf_simt_staging {
    zf_kernel_build *lower;
    zf_simt_stage_way way;
    uint32_t threads;
    LLVMValueRef v_thread; ///< i32: of them
    LLVMValueRef v_warp;   ///< i64: which of `warps` the threads are, each with a tile of its own; NULL: all share one
    uint32_t warps;
    uint32_t outputs;                       ///< that are staged at once
    uint32_t used, room;                    ///< bytes of shared memory
    LLVMValueRef v_begin;                   ///< the tile's first output (i64), a multiple of `outputs`
    LLVMValueRef v_step, v_steps;           ///< number of the step at hand, and how many there are (i64)
    LLVMBasicBlockRef bb_before, bb_ready;  ///< before all steps: open, and what follows it
    LLVMBasicBlockRef bb_fetch, bb_fetched; ///< the same of a step
    LLVMBasicBlockRef bb_wait;              ///< of warps, behind what may go on while copies are under way
    struct zf_simt_staged *streams;
} zf_simt_staging;

/// Whether a kernel's elements take bits of a stream whose places are known, so that they may be staged.
bool zf_simt_takes_bits(const zf_plan *plan, const zf_kernel *kernel);
/// Bytes of shared memory that it may take, the first ones; of a map.
uint32_t zf_simt_staging_bytes(const zf_plan *plan, const zf_kernel *kernel);
/// Around the steps of a tile.
void zf_simt_staging_begin(zf_simt_staging *s, zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_begin,
                           uint32_t step);
void zf_simt_staging_end(zf_simt_staging *s);
/// The same where each warp makes a tile (ZF_STAGE_TILE or nothing), some of whose outputs may not exist. Where it goes on only
/// when what it staged is there, zf_simt_staging_wait stands, before the first step.
uint32_t zf_simt_staging_warp_bytes(uint32_t most, zf_simt_stage_way way, uint32_t tile, uint32_t size, uint32_t warps);
void zf_simt_staging_begin_warp(zf_simt_staging *s, zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_begin);
void zf_simt_staging_wait(zf_simt_staging *s);
/// Around the bodies of a step.
void zf_simt_staging_step(zf_simt_staging *s, LLVMValueRef v_step, LLVMValueRef v_steps);
void zf_simt_staging_step_end(zf_simt_staging *s);
/// Returns the place in shared memory of bit `index * stride` of the edge's stream, `index` being the first output that is
/// staged with the current step, for bits index * stride + from .. + count. NULL: such bits are not staged.
LLVMValueRef zf_simt_staged_bits(zf_simt_staging *s, uint32_t edge, uint64_t stride, uint64_t from, uint64_t count);

#endif

// Which block of a launch has a tile.
#ifndef ZF_CODEGEN_SIMT_BLOCK_H
#define ZF_CODEGEN_SIMT_BLOCK_H

#include "codegen/simt/simt.h"

/// How the tiles of a launch are shared out to its blocks (i32 but for the table): block b has those from first[b] to
/// first[b + 1].
typedef struct zf_simt_tiles {
    LLVMValueRef v_first;  ///< table of v_blocks + 1 numbers that never fall, the first of them 0
    LLVMValueRef v_blocks; ///< at least one
    LLVMValueRef v_even;   ///< what all blocks have, the last one no more; 0: they differ
} zf_simt_tiles;

/// Whether threads of a warp have different tiles, or the same one: then all lanes of it must be there.
typedef enum zf_simt_owner { ZF_SIMT_OF_THREADS, ZF_SIMT_OF_WARPS } zf_simt_owner;

LLVMValueRef zf_simt_first_tile(zf_cg *cg, const zf_simt_tiles *tiles, LLVMValueRef v_block);
/// The block (i32) of tile *v_tile (i32) of the launch, which becomes the tile within the block.
LLVMValueRef zf_simt_find_block(zf_kernel_build *lower, const zf_simt_tiles *tiles, zf_simt_owner owner, LLVMValueRef *v_tile);

#endif

// Prefetches the stream elements that a tile will index, before its first element is made (the choice PREFETCH).
#ifndef ZF_CODEGEN_SIMT_PREFETCH_TILE_H
#define ZF_CODEGEN_SIMT_PREFETCH_TILE_H

#include "codegen/simt/simt.h"

enum { ZF_PREFETCH_TILE_EDGES = 8 }; ///< that are asked for at most

/// Which elements of streams a tile reads: v_count (i64) from v_base (i64) on, of all threads that make it the same.
typedef struct zf_simt_prefetch_tile {
    zf_kernel_build *lower;
    LLVMBasicBlockRef bb_ask, bb_behind; ///< NULL: nothing is asked for
    LLVMValueRef v_base, v_count;
    uint64_t most;         ///< elements that are asked for at most
    uint64_t outputs;      ///< bits of the tile's outputs, beside which an edge's must be few; 0: they need not
    LLVMValueRef v_thread; ///< i32: of `threads` that share the asking
    uint32_t threads;
    uint32_t edge_count, edges[ZF_PREFETCH_TILE_EDGES];
} zf_simt_prefetch_tile;

/// Begins where the prefetch is to stand. Its elements are known when the code behind it is built, which
/// zf_simt_prefetch_tile_end follows. Does nothing if it was not chosen, or if the target cannot. `most`: of v_count, which the
/// data decide.
void zf_simt_prefetch_tile_begin(zf_simt_prefetch_tile *fetch, zf_kernel_build *lower, LLVMValueRef v_thread, uint32_t threads,
                                 LLVMValueRef v_base, LLVMValueRef v_count, uint64_t most);
/// Limits prefetching to edges with few bits beside the tile's outputs, which have `bits`.
void zf_simt_prefetch_tile_limit(zf_simt_prefetch_tile *fetch, uint64_t bits);
/// Prefetches the elements of an edge, `bits` each, which lie at v_pointer; once an edge. `fetch` may be NULL. `packed`: they
/// are runs of bits of a stream of words.
void zf_simt_prefetch_tile_edge(zf_simt_prefetch_tile *fetch, uint32_t edge, LLVMValueRef v_pointer, uint64_t bits, bool packed);
void zf_simt_prefetch_tile_end(zf_simt_prefetch_tile *fetch);

#endif

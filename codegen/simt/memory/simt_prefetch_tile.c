// A tile that makes its elements row by row waits for memory in each: its rows' words are loads of their own, and the values of
// its groups are known to be needed only when their starts are. The elements of a stream that it reads are known from its place,
// or from the state that the file has for it. A prefetch of all of them brings them into the second-level cache before rows
// come to them.
#include "codegen/simt/memory/simt_prefetch_tile.h"

#include "codegen/simt/memory/simt_memory.h"

// The least ratio of a tile's bits to the bits of an edge that is prefetched (zf_simt_prefetch_tile_limit). On an H200,
// prefetching plain values of runs lost time with 16 elements a run (a tenth with four), and gained 2% with 64 and more.
// Packed values have a fifth of the bits: it gained 8% with two and a half.
enum { PLAIN_RATIO = 32, PACKED_RATIO = 4 };

void zf_simt_prefetch_tile_begin(zf_simt_prefetch_tile *fetch, zf_kernel_build *lower, LLVMValueRef v_thread, uint32_t threads,
                                 LLVMValueRef v_base, LLVMValueRef v_count, uint64_t most) {
    zf_cg *cg = lower->cg;
    *fetch = (zf_simt_prefetch_tile){
        .lower = lower, .v_base = v_base, .v_count = v_count, .most = most, .v_thread = v_thread, .threads = threads};
    if (!zf_simt_shape_of(lower->plan, lower->kernel).prefetch || !zf_simt_prefetches(cg)) return;
    fetch->bb_ask = zf_cg_block(cg, "ask");
    fetch->bb_behind = zf_cg_block(cg, "asked");
    zf_cg_br(cg, fetch->bb_ask);
    zf_cg_enter(cg, fetch->bb_behind);
}

void zf_simt_prefetch_tile_limit(zf_simt_prefetch_tile *fetch, uint64_t bits) { fetch->outputs = bits; }

// If a part of the range does not exist, the pieces behind its end are skipped.
void zf_simt_prefetch_tile_edge(zf_simt_prefetch_tile *fetch, uint32_t edge, LLVMValueRef v_pointer, uint64_t bits, bool packed) {
    if (fetch == NULL || fetch->bb_ask == NULL || bits == 0 || fetch->edge_count == ZF_PREFETCH_TILE_EDGES) return;
    for (uint32_t k = 0; k < fetch->edge_count; k++) {
        if (fetch->edges[k] == edge) return;
    }
    fetch->edges[fetch->edge_count++] = edge;
    zf_cg *cg = fetch->lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, fetch->bb_ask);
    LLVMValueRef v_bits = zf_cg_i64(cg, bits), v_three = zf_cg_i64(cg, 3);
    LLVMValueRef v_first = LLVMBuildLShr(cg->builder, zf_cg_mul(cg, fetch->v_base, v_bits), v_three, "");
    LLVMValueRef v_all = zf_cg_mul(cg, fetch->v_count, v_bits);
    LLVMValueRef v_bytes = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_all, zf_cg_i64(cg, 7)), v_three, "");
    uint64_t most = fetch->most * bits / 8, limit = fetch->outputs / (packed ? PACKED_RATIO : PLAIN_RATIO);
    if (fetch->outputs > 0) {
        LLVMValueRef v_small = zf_cg_icmp(cg, LLVMIntULT, v_all, zf_cg_i64(cg, limit));
        v_bytes = zf_cg_select(cg, v_small, v_bytes, zf_cg_i64(cg, 0));
        most = limit / 8 < most ? limit / 8 : most;
    }
    LLVMValueRef v_mine = zf_cg_resize(cg, fetch->v_thread, cg->ty_i64, false);
    v_mine = zf_cg_mul(cg, v_mine, zf_cg_i64(cg, ZF_SIMT_PREFETCH_PIECE));
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, v_pointer, zf_cg_add(cg, v_first, v_mine));
    zf_simt_prefetch_pieces(cg, v_from, v_mine, v_bytes, most, fetch->threads, zf_simt_prefetch);
    fetch->bb_ask = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
}

void zf_simt_prefetch_tile_end(zf_simt_prefetch_tile *fetch) {
    if (fetch->bb_ask == NULL) return;
    zf_cg *cg = fetch->lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, fetch->bb_ask);
    zf_cg_br(cg, fetch->bb_behind);
    zf_cg_enter(cg, bb_before);
}

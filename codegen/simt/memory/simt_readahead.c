// Reading ahead: rows of a stream are copied to a ring in shared memory, as many as fit. A row is copied as soon as the one in
// its place was read. On GPUs these copies need no register and nobody waits for them but for the row that is read next
// (`copy_ahead`).
#include "codegen/simt/memory/simt_readahead.h"

#include "codegen/simt/memory/simt_memory.h"

enum {
    ROWS = 4,        ///< of a ring
    PENDING = 2,     ///< rows that may still be on their way: not the one at hand, nor the next, into which reads may go
    MOST = 1u << 30, ///< elements that are counted: no chunk has more, and each reads one at most
};
uint32_t zf_simt_readahead_bytes(uint32_t wave) { return ROWS * ZF_SIMT_PIECE * wave; }

/// Has the warp copy row v_row (i32) to its place in the ring.
static void copy_row(zf_simt_readahead *a, LLVMValueRef v_row) {
    zf_cg *cg = a->lower->cg;
    LLVMValueRef v_from = zf_cg_add(cg, zf_cg_mul(cg, v_row, zf_cg_i32(cg, cg->wave)), a->v_lane);
    LLVMValueRef v_to = v_from; // the first rows are in order
    if (!LLVMIsConstant(v_row)) v_to = zf_cg_mask(cg, v_from, zf_cg_i32(cg, ROWS * cg->wave - 1), "pieces of a ring");
    v_from = zf_cg_resize(cg, zf_cg_clamp(cg, v_from, a->v_last, "pieces that are read ahead"), cg->ty_i64, false);
    v_from = zf_simt_piece_at(cg, a->v_pieces, v_from);
    zf_simt_copy(cg, zf_simt_piece_at(cg, a->v_ring, zf_cg_resize(cg, v_to, cg->ty_i64, false)), v_from);
}

void zf_simt_readahead_begin(zf_simt_readahead *a, zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_ring,
                             LLVMValueRef v_first, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    zf_type type = lower->graph->edges[edge].type;
    uint32_t each = ZF_SIMT_PIECE / zf_kind_size(type.kind);
    *a = (zf_simt_readahead){
        .lower = lower, .type = type, .row = cg->wave * each, .v_ring = v_ring, .v_lane = zf_simt_lane(lower)};
    // A lane reads at most one element for each that it makes, and one before.
    a->whole = lower->graph->nodes[lower->kernel->root].codec->chunk_size + cg->wave + each <= (uint64_t)ROWS * a->row;
    LLVMValueRef v_each = zf_cg_i64(cg, each), v_piece = LLVMBuildUDiv(cg->builder, v_first, v_each, "");
    LLVMValueRef v_into = zf_cg_resize(cg, LLVMBuildURem(cg->builder, v_first, v_each, ""), cg->ty_i32, false);
    a->v_pieces = zf_cg_at(cg, LLVMVectorType(cg->ty_i32, ZF_SIMT_PIECE / 4), zf_lower_pointer(lower, edge), v_piece);
    // The end of the stream, not of the chunk: elements behind the chunk belong to others, and nobody uses them.
    LLVMValueRef v_all = zf_lower_count(lower, edge);
    LLVMValueRef v_last = zf_cg_sub(cg, LLVMBuildUDiv(cg->builder, zf_cg_last(cg, v_all), v_each, ""), v_piece);
    // A part that begins behind the last element has none: the 16 bytes there may be read, but no others.
    v_last = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, v_first, v_all), v_last, zf_cg_i64(cg, 0));
    a->v_last = zf_cg_resize(cg, zf_cg_umin(cg, v_last, zf_cg_i64(cg, MOST)), cg->ty_i32, false);
    v_count = zf_cg_resize(cg, zf_cg_umin(cg, v_count, zf_cg_i64(cg, MOST)), cg->ty_i32, false);
    a->v_stop = zf_cg_add(cg, v_into, v_count);
    a->v_at = zf_cg_alloca(cg, cg->ty_i32, "ahead");
    a->v_row = zf_cg_alloca(cg, cg->ty_i32, "ahead_row");
    LLVMBuildStore(cg->builder, v_into, a->v_at);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), a->v_row);
    for (uint32_t row = 0; row < ROWS; row++) {
        copy_row(a, zf_cg_i32(cg, row));
        zf_simt_copy_wait(cg, row + 1 < ROWS ? ROWS : a->whole ? 0 : PENDING);
    }
    zf_simt_barrier_warp(lower, "rows before what reads them");
}

LLVMValueRef zf_simt_readahead_read(zf_simt_readahead *a, LLVMValueRef v_before) {
    zf_cg *cg = a->lower->cg;
    LLVMTypeRef ty = zf_cg_type(cg, a->type);
    LLVMValueRef v_at = zf_cg_add(cg, LLVMBuildLoad2(cg->builder, cg->ty_i32, a->v_at, ""), v_before);
    LLVMValueRef v_place = a->whole ? v_at : zf_cg_mask(cg, v_at, zf_cg_i32(cg, ROWS * a->row - 1), "elements of a ring");
    v_place = zf_cg_resize(cg, v_place, cg->ty_i64, false);
    return zf_cg_load(cg, ty, zf_cg_at(cg, ty, a->v_ring, v_place), zf_kind_size(a->type.kind));
}

/// Where a row was read, copies the one that comes to its place. The position has moved by a row at most since this was asked
/// last.
static void ask(zf_simt_readahead *a) {
    zf_cg *cg = a->lower->cg;
    a->reads = 0;
    LLVMValueRef v_old = LLVMBuildLoad2(cg->builder, cg->ty_i32, a->v_row, "");
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, cg->ty_i32, a->v_at, "");
    LLVMValueRef v_new = LLVMBuildUDiv(cg->builder, v_at, zf_cg_i32(cg, a->row), "");
    LLVMBasicBlockRef bb_next = zf_cg_block(cg, "row_read"), bb_on = zf_cg_block(cg, "read");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_old, v_new), bb_next, bb_on);
    zf_cg_enter(cg, bb_next); // all lanes the same
    LLVMBuildStore(cg->builder, v_new, a->v_row);
    zf_simt_barrier_warp(a->lower, "reads of a row before the one in its place");
    copy_row(a, zf_cg_add(cg, v_old, zf_cg_i32(cg, ROWS)));
    zf_simt_copy_wait(cg, PENDING);
    zf_simt_barrier_warp(a->lower, "rows before what reads them");
    zf_cg_br(cg, bb_on);
    LLVMMoveBasicBlockAfter(bb_on, zf_cg_here(cg));
    zf_cg_enter(cg, bb_on);
}

void zf_simt_readahead_move(zf_simt_readahead *a, LLVMValueRef v_count, bool straight) {
    zf_cg *cg = a->lower->cg;
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, cg->ty_i32, a->v_at, "");
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, v_count), a->v_at);
    if (a->whole) return;
    if (++a->reads == a->row / cg->wave || !straight) ask(a);
}

void zf_simt_readahead_settle(zf_simt_readahead *a) {
    if (a->reads > 0) ask(a);
}

LLVMValueRef zf_simt_readahead_end(zf_simt_readahead *a) {
    zf_cg *cg = a->lower->cg;
    zf_simt_copy_wait(cg, 0);
    return zf_cg_icmp(cg, LLVMIntUGT, LLVMBuildLoad2(cg->builder, cg->ty_i32, a->v_at, ""), a->v_stop);
}

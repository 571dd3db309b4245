#include "codegen/simt/simt_block.h"

LLVMValueRef zf_simt_first_tile(zf_cg *cg, const zf_simt_tiles *tiles, LLVMValueRef v_block) {
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i32, tiles->v_first, zf_cg_resize(cg, v_block, cg->ty_i64, false));
    return zf_cg_load(cg, cg->ty_i32, v_at, 4);
}

// The result of the search: slots of the block and its first tile.
typedef struct found {
    LLVMValueRef v_block, v_begin;
} found;

// The last block whose first tile is at most v_tile; by halving.
static void search_alone(zf_cg *cg, const zf_simt_tiles *tiles, LLVMValueRef v_tile, const found *to) {
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_one = zf_cg_i32(cg, 1), v_high = zf_cg_alloca(cg, cg->ty_i32, "high");
    LLVMBasicBlockRef bb_search = zf_cg_block(cg, "search"), bb_more = zf_cg_block(cg, "halve"),
                      bb_searched = zf_cg_block(cg, "searched");
    LLVMBuildStore(b, zf_cg_i32(cg, 0), to->v_block);
    LLVMBuildStore(b, tiles->v_blocks, v_high);
    zf_cg_br(cg, bb_search);
    zf_cg_enter(cg, bb_search); // first[low] <= tile < first[high]
    LLVMValueRef v_l = LLVMBuildLoad2(b, cg->ty_i32, to->v_block, ""), v_h = LLVMBuildLoad2(b, cg->ty_i32, v_high, "");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGT, zf_cg_sub(cg, v_h, v_l), v_one), bb_more, bb_searched);
    zf_cg_enter(cg, bb_more);
    LLVMValueRef v_middle = zf_cg_add(cg, v_l, LLVMBuildLShr(b, zf_cg_sub(cg, v_h, v_l), v_one, ""));
    LLVMValueRef v_right = zf_cg_icmp(cg, LLVMIntULE, zf_simt_first_tile(cg, tiles, v_middle), v_tile);
    LLVMBuildStore(b, zf_cg_select(cg, v_right, v_middle, v_l), to->v_block);
    LLVMBuildStore(b, zf_cg_select(cg, v_right, v_h, v_middle), v_high);
    zf_cg_br(cg, bb_search);
    zf_cg_enter(cg, bb_searched);
    LLVMBuildStore(b, zf_simt_first_tile(cg, tiles, v_l), to->v_begin);
}

// The same by a warp: each round looks at as many blocks as it has lanes, which divide what is left, so that of 1,024 blocks two
// loads wait for one another, and not ten. How many rounds there are follows from the number of blocks alone: assemblers for GPUs
// before Hopper take a warp to part where a loop ends by what its lanes have found, and keep registers in memory for it.
static void search_together(zf_kernel_build *lower, const zf_simt_tiles *tiles, LLVMValueRef v_tile, const found *to) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_one = zf_cg_i32(cg, 1), v_lane = zf_simt_lane(lower), v_size = zf_cg_alloca(cg, cg->ty_i32, "size");
    LLVMBasicBlockRef bb_round = zf_cg_block(cg, "search_round"), bb_searched = zf_cg_block(cg, "searched_together");
    LLVMBuildStore(b, zf_cg_i32(cg, 0), to->v_block);
    LLVMBuildStore(b, tiles->v_blocks, v_size);
    zf_cg_br(cg, bb_round);
    zf_cg_enter(cg, bb_round); // first[block] <= tile, and less than first[block + size] where there is such a block
    LLVMValueRef v_from = LLVMBuildLoad2(b, cg->ty_i32, to->v_block, ""), v_all = LLVMBuildLoad2(b, cg->ty_i32, v_size, "");
    LLVMValueRef v_step =
        LLVMBuildLShr(b, zf_cg_add(cg, v_all, zf_cg_i32(cg, cg->wave - 1)), zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    LLVMValueRef v_mine = zf_cg_add(cg, v_from, zf_cg_mul(cg, v_lane, v_step));
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, v_mine, tiles->v_blocks);
    LLVMValueRef v_here = zf_simt_first_tile(cg, tiles, zf_cg_select(cg, v_has, v_mine, v_from));
    LLVMValueRef v_mask = zf_simt_ballot(lower, zf_cg_and(cg, v_has, zf_cg_icmp(cg, LLVMIntULE, v_here, v_tile)));
    LLVMValueRef v_last = zf_cg_sub(cg, zf_simt_count_lanes(cg, v_mask), v_one);
    LLVMBuildStore(b, zf_simt_shuffle(lower, v_here, v_last), to->v_begin);
    LLVMBuildStore(b, zf_cg_add(cg, v_from, zf_cg_mul(cg, v_last, v_step)), to->v_block);
    LLVMBuildStore(b, v_step, v_size);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGT, v_step, v_one), bb_round, bb_searched);
    zf_cg_enter(cg, bb_searched);
}

LLVMValueRef zf_simt_find_block(zf_kernel_build *lower, const zf_simt_tiles *tiles, zf_simt_owner owner, LLVMValueRef *v_tile) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef b = cg->builder;
    const found to = {zf_cg_alloca(cg, cg->ty_i32, "block"), zf_cg_alloca(cg, cg->ty_i32, "begin")};
    LLVMBasicBlockRef bb_divide = zf_cg_block(cg, "divide"), bb_search = zf_cg_block(cg, "search_start"),
                      bb_found = zf_cg_block(cg, "found");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, tiles->v_even, zf_cg_i32(cg, 0)), bb_divide, bb_search);
    zf_cg_enter(cg, bb_divide); // no table is read: the tile's data are one load nearer
    LLVMValueRef v_most = zf_cg_sub(cg, tiles->v_blocks, zf_cg_i32(cg, 1));
    LLVMValueRef v_block = zf_cg_umin(cg, LLVMBuildUDiv(b, *v_tile, tiles->v_even, ""), v_most);
    LLVMBuildStore(b, v_block, to.v_block);
    LLVMBuildStore(b, zf_cg_mul(cg, v_block, tiles->v_even), to.v_begin);
    zf_cg_br(cg, bb_found);
    zf_cg_enter(cg, bb_search);
    if (owner == ZF_SIMT_OF_WARPS)
        search_together(lower, tiles, *v_tile, &to);
    else
        search_alone(cg, tiles, *v_tile, &to);
    zf_cg_br(cg, bb_found);
    zf_cg_enter(cg, bb_found);
    *v_tile = zf_cg_sub(cg, *v_tile, LLVMBuildLoad2(b, cg->ty_i32, to.v_begin, ""));
    return LLVMBuildLoad2(b, cg->ty_i32, to.v_block, "");
}

// Outputs of a root of groups: when the heads of its groups are known (simt_heads.c), every thread makes C contiguous outputs at
// a time. Nothing is made unless the sizes add up to the tile, so every output has a head.
#include "codegen/simt_tree.h"

zf_cg_value zf_simt_groups_output(zf_simt_heads *t, const zf_simt_place *p, zf_simt_neighbours *neighbours, unsigned k) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_g = zf_cg_add(cg, t->v_g0, zf_cg_resize(cg, p->v_rank, cg->ty_i64, false));
    zf_simt_near near = {t->v_g0, p->v_rank, t->never_empty ? neighbours : NULL, k, t->fetch};
    if (t->head_bytes <= ZF_SIMT_FEW_BYTES) env.near = &near; // else a tile may have any number of groups
    env.v_j = zf_simt_heads_offset(t, p);
    env.v_i = zf_cg_add(cg, t->tree->tile->v_lo, zf_cg_resize(cg, p->v_q, cg->ty_i64, false));
    zf_simt_spot spot = {.tree = t->tree,
                         .v_i = p->v_q,
                         .v_g = p->v_rank,
                         .exact = true,
                         .in_arrays_i = true,
                         .in_arrays_g = true,
                         .made = neighbours != NULL};
    env.spot = &spot;
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    t->uses_j = t->uses_j || env.uses_j;
    return value;
}

static LLVMValueRef first_output(zf_simt_heads *t, LLVMValueRef v_row, uint32_t row, unsigned count) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_from = zf_cg_mul(cg, v_row, zf_cg_i32(cg, row));
    return zf_cg_add(cg, v_from, zf_cg_mul(cg, t->lower->v_thread, zf_cg_i32(cg, count)));
}

// One row: `places` of this thread's outputs, which are made and stored.
static void make_row(zf_simt_heads *t, const zf_simt_place *places, unsigned count) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    zf_cg_value values[ZF_NEIGHBOURS];
    zf_simt_neighbours neighbours = {.count = count};
    for (unsigned k = 0; k < count; k++) neighbours.v_ranks[k] = places[k].v_rank;
    zf_simt_neighbours_begin(lower, &neighbours);
    for (unsigned k = 0; k < count; k++) values[k] = zf_simt_groups_output(t, &places[k], &neighbours, k);
    zf_simt_neighbours_end(lower, &neighbours);
    LLVMValueRef v_q = zf_cg_resize(cg, places[0].v_q, cg->ty_i64, false);
    zf_simt_store_vector(lower, values, count, zf_cg_add(cg, t->tree->tile->v_lo, v_q));
}

// Rows of outputs that all exist and are wanted; the number of them is what v_length allows. Where their values come from windows
// several are made together, since all must be in the window.
static LLVMValueRef whole_rows(zf_simt_heads *t, uint32_t row, unsigned count) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    bool windows = zf_simt_has_rings(t->tree);
    unsigned together = windows ? zf_simt_ring_rows(count) : 1;
    LLVMValueRef v_rounds = LLVMBuildUDiv(cg->builder, t->v_length, zf_cg_i32(cg, row * together), "");
    v_rounds = zf_cg_select(cg, t->tree->tile->v_whole, v_rounds, zf_cg_i32(cg, 0));
    LLVMValueRef v_made = zf_cg_alloca(cg, cg->ty_i32, "made");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), v_made);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), v_rounds, "row");
    zf_simt_place places[ZF_SIMT_RING_ROWS][ZF_NEIGHBOURS];
    LLVMValueRef v_first = zf_cg_mul(cg, loop.v_i, zf_cg_i32(cg, together));
    LLVMValueRef v_in = zf_cg_mul(cg, lower->v_thread, zf_cg_i32(cg, count)); // rows are whole words: each has a warp or more
    for (unsigned r = 0; r < together; r++) {
        LLVMValueRef v_words =
            LLVMBuildNUWMul(cg->builder, zf_cg_add(cg, v_first, zf_cg_i32(cg, r)), zf_cg_i32(cg, row / 32), "");
        zf_simt_heads_find_row(t, v_words, v_in, count, places[r]);
    }
    if (windows)
        zf_simt_rings_fill(t, v_made, zf_simt_shuffle(lower, places[together - 1][count - 1].v_rank, zf_cg_i32(cg, ZF_WARP - 1)));
    for (unsigned r = 0; r < together; r++) make_row(t, places[r], count);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, windows ? 1 : 4);
    return zf_cg_mul(cg, v_rounds, zf_cg_i32(cg, together));
}

// The outputs behind them, one by one.
static void cut_rows(zf_simt_heads *t, LLVMValueRef v_from, uint32_t row, unsigned count) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, t->v_length, zf_cg_i32(cg, row - 1)), zf_cg_i32(cg, row), "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, v_rows, "row_cut");
    LLVMValueRef v_q = first_output(t, loop.v_i, row, count);
    LLVMValueRef v_first = zf_cg_add(cg, t->tree->tile->v_lo, zf_cg_resize(cg, v_q, cg->ty_i64, false));
    zf_simt_cut cut = zf_simt_cut_begin(lower, v_first, v_q, t->v_length);
    zf_simt_place places[ZF_NEIGHBOURS];
    // Lanes that have none go on where others need them, and find what the tile's first has.
    LLVMValueRef v_has = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_q, t->v_length), "lanes of a cut row that have outputs");
    zf_simt_heads_find(t, zf_cg_select(cg, v_has, v_q, zf_cg_i32(cg, 0)), count, places);
    for (unsigned k = 0; k < count; k++) {
        zf_simt_cut_element(lower, &cut, k);
        zf_simt_cut_store(lower, &cut, k, zf_simt_groups_output(t, &places[k], NULL, 0));
    }
    zf_simt_cut_end(lower, &cut);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// ---- The tile -------------------------------------------------------------------------------------------------

void zf_simt_groups_outputs(zf_simt_heads *t) {
    unsigned count = zf_simt_together(t->lower);
    uint32_t row = t->shape->threads * count;
    LLVMValueRef v_rows = whole_rows(t, row, count);
    cut_rows(t, v_rows, row, count);
}

// Outputs of a root of groups: when the starts of its groups are known (simt_group_starts.c), every thread makes C contiguous
// outputs at a time. Nothing is made unless the sizes add up to the tile, so every output has a start.
#include "codegen/simt/groups/simt_tree.h"

zf_cg_value zf_simt_groups_output(zf_simt_group_starts *t, const zf_simt_place *p, zf_simt_neighbours *neighbours, unsigned k) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_g = zf_cg_add(cg, t->v_g0, zf_cg_resize(cg, p->v_rank, cg->ty_i64, false));
    zf_simt_relative relative = {t->v_g0, p->v_rank, t->never_empty ? neighbours : NULL, k, t->fetch};
    if (t->group_bytes <= ZF_SIMT_NARROW_BYTES) env.simt.relative = &relative; // else a tile may have any number of groups
    env.v_j = zf_simt_group_starts_offset(t, p);
    env.v_i = zf_cg_add(cg, t->tree->tile->v_lo, zf_cg_resize(cg, p->v_q, cg->ty_i64, false));
    zf_simt_position position = {.tree = t->tree,
                                 .v_i = p->v_q,
                                 .v_g = p->v_rank,
                                 .exact = true,
                                 .in_arrays_i = true,
                                 .in_arrays_g = true,
                                 .made = neighbours != NULL};
    env.simt.position = &position;
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    t->uses_j = t->uses_j || env.uses_j;
    return value;
}

static LLVMValueRef first_output(zf_simt_group_starts *t, LLVMValueRef v_row, uint32_t row, unsigned count) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_from = zf_cg_mul(cg, v_row, zf_cg_i32(cg, row));
    return zf_cg_add(cg, v_from, zf_cg_mul(cg, t->lower->simt->v_thread, zf_cg_i32(cg, count)));
}

// A row's outputs of this thread, at `places`.
static void make_row(zf_simt_group_starts *t, const zf_simt_place *places, unsigned count, zf_cg_value *values) {
    zf_simt_neighbours neighbours = {.count = count};
    for (unsigned k = 0; k < count; k++) neighbours.v_ranks[k] = places[k].v_rank;
    zf_simt_neighbours_begin(t->lower, &neighbours);
    for (unsigned k = 0; k < count; k++) values[k] = zf_simt_groups_output(t, &places[k], &neighbours, k);
    zf_simt_neighbours_end(t->lower, &neighbours);
}

static void store_row(zf_simt_group_starts *t, const zf_simt_place *places, unsigned count, zf_cg_value *values) {
    LLVMValueRef v_q = zf_cg_resize(t->lower->cg, places[0].v_q, t->lower->cg->ty_i64, false);
    zf_simt_store_vector(t->lower, values, count, zf_cg_add(t->lower->cg, t->tree->tile->v_lo, v_q));
}

// Places of this thread's outputs in row v_row (i32) of the tile. Rows are whole words of bits: each has a warp or more.
static void find_row(zf_simt_group_starts *t, LLVMValueRef v_row, uint32_t row, unsigned count, zf_simt_place *places) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_words = LLVMBuildNUWMul(cg->builder, v_row, zf_cg_i32(cg, row / 32), "");
    zf_simt_group_starts_find_row(t, v_words, zf_cg_mul(cg, t->lower->simt->v_thread, zf_cg_i32(cg, count)), count, places);
}

// Rows of outputs that all exist and are wanted; the number of them is what v_length allows.
static LLVMValueRef whole_rows(zf_simt_group_starts *t, uint32_t row, unsigned count) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, t->v_length, zf_cg_i32(cg, row), "");
    v_rows = zf_cg_select(cg, t->tree->tile->v_whole, v_rows, zf_cg_i32(cg, 0));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), v_rows, "row");
    zf_simt_place places[ZF_NEIGHBOURS];
    zf_cg_value values[ZF_NEIGHBOURS];
    find_row(t, loop.v_i, row, count, places);
    make_row(t, places, count, values);
    store_row(t, places, count, values);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 4);
    return v_rows;
}

// The group of the last output of row v_row, which all threads find alike: no lane waits for another.
static LLVMValueRef last_group(zf_simt_group_starts *t, LLVMValueRef v_row, uint32_t row) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_words = LLVMBuildNUWMul(cg->builder, v_row, zf_cg_i32(cg, row / 32), "");
    zf_simt_place place;
    zf_simt_group_starts_find_row(t, v_words, zf_cg_i32(cg, row - 1), 1, &place);
    return place.v_rank;
}

// The same where their values come from windows. The window must have the values of rows that are made together. It has room
// for the groups of `together` rows, and mostly has those of twice as many. Then all of them are made at once, so that their
// loads are in flight together.
static LLVMValueRef rows_of_windows(zf_simt_group_starts *t, uint32_t row, unsigned count) {
    zf_cg *cg = t->lower->cg;
    LLVMBuilderRef b = cg->builder;
    unsigned together = zf_simt_ring_rows(count);
    LLVMValueRef v_step = zf_cg_i32(cg, together), v_none = zf_cg_i32(cg, 0);
    LLVMValueRef v_rows = zf_cg_mul(cg, LLVMBuildUDiv(b, t->v_length, zf_cg_i32(cg, row * together), ""), v_step);
    v_rows = zf_cg_select(cg, t->tree->tile->v_whole, v_rows, v_none);
    LLVMValueRef v_made = zf_cg_alloca(cg, cg->ty_i32, "made"), v_done = zf_cg_alloca(cg, cg->ty_i32, "done"),
                 v_taken = zf_cg_alloca(cg, cg->ty_i32, "taken"); // the last group that a row took
    LLVMBuildStore(b, v_none, v_made);
    LLVMBuildStore(b, v_none, v_done);
    LLVMBuildStore(b, v_none, v_taken);
    LLVMBasicBlockRef bb_rows = zf_cg_block(cg, "rows"), bb_find = zf_cg_block(cg, "rows_find"),
                      bb_few = zf_cg_block(cg, "rows_few"), bb_many = zf_cg_block(cg, "rows_many"),
                      bb_made = zf_cg_block(cg, "rows_made"), bb_all = zf_cg_block(cg, "rows_all");
    zf_cg_br(cg, bb_rows);
    zf_cg_enter(cg, bb_rows);
    LLVMValueRef v_row = LLVMBuildLoad2(b, cg->ty_i32, v_done, ""), v_left = zf_cg_sub(cg, v_rows, v_row);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_left, v_none), bb_find, bb_all);
    zf_cg_enter(cg, bb_find);
    zf_simt_place places[2 * ZF_SIMT_RING_ROWS][ZF_NEIGHBOURS];
    LLVMValueRef v_pair = zf_cg_icmp(cg, LLVMIntUGT, v_left, v_step); // behind the last rows these stand for the others
    LLVMValueRef v_other = zf_cg_select(cg, v_pair, zf_cg_add(cg, v_row, v_step), v_row);
    for (unsigned r = 0; r < 2 * together; r++) {
        LLVMValueRef v_at = zf_cg_add(cg, r < together ? v_row : v_other, zf_cg_i32(cg, r % together));
        find_row(t, v_at, row, count, places[r]);
    }
    LLVMValueRef v_near = last_group(t, zf_cg_add(cg, v_row, zf_cg_i32(cg, together - 1)), row);
    LLVMValueRef v_far = last_group(t, zf_cg_add(cg, v_other, zf_cg_i32(cg, together - 1)), row);
    LLVMValueRef v_span = zf_cg_sub(cg, v_far, LLVMBuildLoad2(b, cg->ty_i32, v_taken, ""));
    LLVMValueRef v_many = zf_cg_icmp(cg, LLVMIntULE, v_span, zf_cg_i32(cg, zf_simt_ring_reach(cg->wave, count)));
    v_many = zf_cg_and(cg, zf_cg_within(cg, v_many, "groups of many rows that a window has"), v_pair);
    LLVMValueRef v_last = zf_cg_select(cg, v_many, v_far, v_near);
    LLVMBuildStore(b, v_last, v_taken);
    zf_simt_rings_fill(t, v_made, v_last);
    zf_cg_cond_br(cg, v_many, bb_many, bb_few);
    for (unsigned most = together; most <= 2 * together; most += together) {
        zf_cg_enter(cg, most == together ? bb_few : bb_many);
        zf_cg_value values[2 * ZF_SIMT_RING_ROWS][ZF_NEIGHBOURS];
        for (unsigned r = 0; r < most; r++) make_row(t, places[r], count, values[r]);
        for (unsigned r = 0; r < most; r++) store_row(t, places[r], count, values[r]);
        LLVMBuildStore(b, zf_cg_add(cg, v_row, zf_cg_i32(cg, most)), v_done);
        zf_cg_br(cg, bb_made);
    }
    zf_cg_enter(cg, bb_made);
    zf_cg_br(cg, bb_rows);
    zf_cg_enter(cg, bb_all);
    return v_rows;
}

// The outputs behind them, one by one.
static void cut_rows(zf_simt_group_starts *t, LLVMValueRef v_from, uint32_t row, unsigned count) {
    zf_kernel_build *lower = t->lower;
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
    zf_simt_group_starts_find(t, zf_cg_select(cg, v_has, v_q, zf_cg_i32(cg, 0)), count, places);
    for (unsigned k = 0; k < count; k++) {
        zf_simt_cut_element(lower, &cut, k);
        zf_simt_cut_store(lower, &cut, k, zf_simt_groups_output(t, &places[k], NULL, 0));
    }
    zf_simt_cut_end(lower, &cut);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// ---- The tile -------------------------------------------------------------------------------------------------

void zf_simt_groups_outputs(zf_simt_group_starts *t) {
    unsigned count = zf_simt_together(t->lower);
    uint32_t row = t->shape->threads * count;
    LLVMValueRef v_rows = zf_simt_has_rings(t->tree) ? rows_of_windows(t, row, count) : whole_rows(t, row, count);
    cut_rows(t, v_rows, row, count);
}

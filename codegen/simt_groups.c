// Groups: a thread block makes a tile of outputs, however the groups lie.
//
// The file says at which group and offset the tile begins and ends, so its groups are known. Every thread takes a run of them and
// adds up their sizes; a scan over the block gives each group its place in the tile. A group that begins in the tile (or before
// it, for the first) sets a bit at its first output, its *head*, and leaves its number there. Then every thread makes C
// contiguous outputs at a time: the last head at or before an output, found by counting leading zeros, is its group's.
//
// Groups may be empty, since no two groups with elements share a head. Nothing is made unless the sizes add up to the tile, so
// every output has a head.
#include "codegen/simt.h"

typedef struct groups {
    zf_lower *lower;
    const zf_simt_shape *shape;
    const zf_simt_tile *tile;
    LLVMValueRef v_groups;           // of the block
    LLVMValueRef v_g0, v_o0;         // where the tile begins
    LLVMValueRef v_o1;               // elements of the last group that belong to this tile or those before it; 0: all
    LLVMValueRef v_number;           // groups that the tile touches
    LLVMValueRef v_each;             // groups a thread
    LLVMValueRef v_mine, v_mine_end; // this thread's, counted from v_g0
    LLVMValueRef v_length;           // outputs of the tile
    LLVMValueRef v_bits, v_before, v_heads, v_sums; // shared memory
    LLVMValueRef v_bad;                             // slot (i1): the states lie
} groups;

static LLVMValueRef get64(zf_cg *cg, LLVMValueRef v_slot) { return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, ""); }

static uint32_t field_of(const zf_lower *lower, zf_seek_kind kind) {
    const zf_seek_tree *tree = &lower->plan->trees[lower->kernel->tree];
    for (uint32_t f = 0; f < tree->field_count; f++) {
        if (tree->fields[f].kind == kind && tree->fields[f].node == lower->kernel->root) return f;
    }
    zf_cg_unsupported(lower->cg, lower->graph->column->span, "the seek tree of a group has no position");
    return 0;
}

static void note_bad(groups *t, LLVMValueRef v_bad) {
    zf_cg *cg = t->lower->cg;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, t->v_bad, ""), v_bad), t->v_bad);
}

// ---- Where the tile begins and ends ---------------------------------------------------------------------------

static void find_ends(groups *t) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_one = zf_cg_i64(cg, 1);
    uint32_t field_g = field_of(lower, ZF_SEEK_GROUP), field_o = field_of(lower, ZF_SEEK_OFFSET);
    LLVMValueRef v_g_slot = zf_cg_alloca(cg, cg->ty_i64, "g"), v_o_slot = zf_cg_alloca(cg, cg->ty_i64, "o");
    LLVMValueRef v_g1_slot = zf_cg_alloca(cg, cg->ty_i64, "g1"), v_o1_slot = zf_cg_alloca(cg, cg->ty_i64, "o1");
    zf_lower_seek(lower, field_g, zf_type_of(ZF_K_U64), lower->v_tile, v_zero, v_g_slot);
    zf_lower_seek(lower, field_o, zf_type_of(ZF_K_U64), lower->v_tile, v_zero, v_o_slot);
    LLVMBuildStore(cg->builder, t->v_groups, v_g1_slot); // the last tile ends behind the last group
    LLVMBuildStore(cg->builder, v_zero, v_o1_slot);
    LLVMBasicBlockRef bb_more = zf_cg_block(cg, "end_state"), bb_known = zf_cg_block(cg, "ends");
    LLVMValueRef v_next = zf_cg_add(cg, lower->v_tile, v_one);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, lower->v_tiles), bb_more, bb_known);
    zf_cg_enter(cg, bb_more);
    LLVMBuildStore(cg->builder, zf_lower_seek_entry(lower, field_g, lower->v_tile), v_g1_slot);
    LLVMBuildStore(cg->builder, zf_lower_seek_entry(lower, field_o, lower->v_tile), v_o1_slot);
    zf_cg_br(cg, bb_known);
    zf_cg_enter(cg, bb_known);
    t->v_g0 = get64(cg, v_g_slot);
    t->v_o0 = get64(cg, v_o_slot);
    LLVMValueRef v_g1 = get64(cg, v_g1_slot);
    t->v_o1 = get64(cg, v_o1_slot);
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntNE, t->v_o1, v_zero);
    LLVMValueRef v_end = zf_cg_add(cg, v_g1, zf_cg_resize(cg, v_inside, cg->ty_i64, false));
    // g0 <= end <= groups; and g1 + 1 must not wrap
    LLVMValueRef v_ok =
        zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntULE, v_g1, t->v_groups), zf_cg_icmp(cg, LLVMIntULE, v_end, t->v_groups));
    v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntULE, t->v_g0, v_end));
    note_bad(t, zf_cg_not(cg, v_ok));
    t->v_number = zf_cg_select(cg, v_ok, zf_cg_sub(cg, v_end, t->v_g0), v_zero);
    LLVMValueRef v_threads = zf_cg_i64(cg, t->shape->threads);
    t->v_each = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, t->v_number, zf_cg_sub(cg, v_threads, v_one)), v_threads, "");
    LLVMValueRef v_thread = zf_cg_resize(cg, lower->v_thread, cg->ty_i64, false);
    t->v_mine = zf_cg_umin(cg, zf_cg_mul(cg, v_thread, t->v_each), t->v_number);
    t->v_mine_end = zf_cg_umin(cg, zf_cg_add(cg, t->v_mine, t->v_each), t->v_number);
}

// ---- Sizes ----------------------------------------------------------------------------------------------------

// Elements of group v_r (counted from g0) that lie in this tile if it is the last, or reach into it. What is larger than any tile
// is as good as any such number, and adding them up must not wrap.
static LLVMValueRef size_in_tile(groups *t, LLVMValueRef v_r, bool check) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_one = zf_cg_i64(cg, 1);
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_g = zf_cg_add(cg, t->v_g0, v_r);
    LLVMValueRef v_size = zf_cg_eval_body(cg, &env.env, &env.env.inst->size).v;
    cg->v_guard = NULL;
    v_size = zf_cg_resize(cg, v_size, cg->ty_i64, false);
    LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_add(cg, v_r, v_one), t->v_number);
    LLVMValueRef v_cut = zf_cg_and(cg, v_last, zf_cg_icmp(cg, LLVMIntNE, t->v_o1, v_zero));
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_r, v_zero);
    LLVMValueRef v_skip = zf_cg_select(cg, v_first, t->v_o0, v_zero);
    LLVMValueRef v_end = zf_cg_select(cg, v_cut, t->v_o1, v_size);
    if (check) { // a tile ends inside its last group, and begins inside its first
        note_bad(t, zf_cg_and(cg, v_cut, zf_cg_icmp(cg, LLVMIntUGE, t->v_o1, v_size)));
        LLVMValueRef v_behind =
            zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntNE, v_skip, v_zero), zf_cg_icmp(cg, LLVMIntUGE, v_skip, v_end));
        note_bad(t, v_behind);
    }
    LLVMValueRef v_left = zf_cg_sub(cg, v_end, zf_cg_umin(cg, v_skip, v_end));
    return zf_cg_umin(cg, v_left, zf_cg_i64(cg, UINT64_C(1) << 22));
}

static LLVMValueRef my_sum(groups *t) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_sum = zf_cg_alloca(cg, cg->ty_i64, "sum");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_sum);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, t->v_mine, t->v_mine_end, "size");
    LLVMValueRef v_size = size_in_tile(t, loop.v_i, true);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, get64(cg, v_sum), v_size), v_sum);
    zf_cg_loop_end(cg, &loop);
    // A state that lies makes the sum of all wrong.
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, t->v_bad, "");
    LLVMValueRef v_wrong = zf_cg_select(cg, v_bad, zf_cg_i64(cg, UINT64_C(1) << 23), zf_cg_i64(cg, 0));
    return zf_cg_add(cg, get64(cg, v_sum), v_wrong);
}

// The sum of all threads' values before this one; *v_total: of all.
static LLVMValueRef sum_before(groups *t, LLVMValueRef v, LLVMValueRef *v_total) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_lane = zf_cg_and(cg, lower->v_thread, zf_cg_i32(cg, ZF_WARP - 1));
    LLVMValueRef v_warp = LLVMBuildLShr(cg->builder, lower->v_thread, zf_cg_i32(cg, 5), "");
    LLVMValueRef v_up = v;
    for (uint32_t step = 1; step < ZF_WARP; step *= 2) {
        LLVMValueRef v_from = zf_cg_and(cg, zf_cg_sub(cg, v_lane, zf_cg_i32(cg, step)), zf_cg_i32(cg, ZF_WARP - 1));
        LLVMValueRef v_other = zf_simt_shuffle(lower, v_up, v_from);
        LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntUGE, v_lane, zf_cg_i32(cg, step));
        v_up = zf_cg_add(cg, v_up, zf_cg_select(cg, v_has, v_other, zf_cg_i64(cg, 0)));
    }
    LLVMBasicBlockRef bb_last = zf_cg_block(cg, "last_lane"), bb_meet = zf_cg_block(cg, "meet");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_lane, zf_cg_i32(cg, ZF_WARP - 1)), bb_last, bb_meet);
    zf_cg_enter(cg, bb_last);
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i64, t->v_sums, zf_cg_resize(cg, v_warp, cg->ty_i64, false));
    zf_cg_store(cg, v_up, v_at, 8);
    zf_cg_br(cg, bb_meet);
    zf_cg_enter(cg, bb_meet);
    cg->target->simt->barrier(cg);
    LLVMValueRef v_before = zf_cg_sub(cg, v_up, v);
    *v_total = zf_cg_i64(cg, 0);
    for (uint32_t w = 0; w < t->shape->threads / ZF_WARP; w++) {
        LLVMValueRef v_other = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, t->v_sums, 8 * (uint64_t)w), 8);
        *v_total = zf_cg_add(cg, *v_total, v_other);
        LLVMValueRef v_earlier = zf_cg_icmp(cg, LLVMIntUGT, v_warp, zf_cg_i32(cg, w));
        v_before = zf_cg_add(cg, v_before, zf_cg_select(cg, v_earlier, v_other, zf_cg_i64(cg, 0)));
    }
    return v_before;
}

// ---- Heads ----------------------------------------------------------------------------------------------------

static void clear_bits(groups *t) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_thread = zf_cg_resize(cg, t->lower->v_thread, cg->ty_i64, false);
    uint32_t words = t->lower->kernel->tile / 32, threads = t->shape->threads;
    for (uint32_t from = 0; from < words; from += threads) {
        LLVMBasicBlockRef bb_clear = zf_cg_block(cg, "clear"), bb_next = zf_cg_block(cg, "clear_next");
        LLVMValueRef v_word = zf_cg_add(cg, v_thread, zf_cg_i64(cg, from));
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_word, zf_cg_i64(cg, words)), bb_clear, bb_next);
        zf_cg_enter(cg, bb_clear);
        zf_cg_store(cg, zf_cg_i32(cg, 0), zf_cg_at(cg, cg->ty_i32, t->v_bits, v_word), 4);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

static void mark_heads(groups *t, LLVMValueRef v_before) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_place = zf_cg_alloca(cg, cg->ty_i64, "place"), v_zero = zf_cg_i64(cg, 0);
    LLVMBuildStore(cg->builder, v_before, v_place);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, t->v_mine, t->v_mine_end, "head");
    LLVMValueRef v_size = size_in_tile(t, loop.v_i, false), v_at = get64(cg, v_place);
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "mark"), bb_next = zf_cg_block(cg, "mark_next");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_size, v_zero), bb_head, bb_next);
    zf_cg_enter(cg, bb_head);
    LLVMValueRef v_low = zf_cg_resize(cg, v_at, cg->ty_i32, false);
    LLVMValueRef v_bit = LLVMBuildShl(cg->builder, zf_cg_i32(cg, 1), zf_cg_and(cg, v_low, zf_cg_i32(cg, 31)), "");
    LLVMValueRef v_word = zf_cg_at(cg, cg->ty_i32, t->v_bits, LLVMBuildLShr(cg->builder, v_at, zf_cg_i64(cg, 5), ""));
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_word, v_bit, LLVMAtomicOrderingMonotonic, 0);
    zf_cg_store(cg, zf_cg_resize(cg, loop.v_i, cg->ty_i32, false), zf_cg_at(cg, cg->ty_i32, t->v_heads, v_at), 4);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, v_size), v_place);
    zf_cg_loop_end(cg, &loop);
}

// The highest bit set of a word that is not 0.
static LLVMValueRef highest_bit(zf_cg *cg, LLVMValueRef v_word) {
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_args[2] = {v_word, zf_cg_i1(cg, false)};
    return zf_cg_sub(cg, zf_cg_i32(cg, 31), zf_cg_intrinsic(cg, "llvm.ctlz", &ty, 1, v_args, 2));
}

// For every word of bits the last head before it: the first warp does it, 32 words at a time.
static void find_heads_before(groups *t) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_warp = zf_cg_block(cg, "first_warp"), bb_done = zf_cg_block(cg, "heads_known");
    LLVMValueRef v_lane = lower->v_thread;
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, lower->v_thread, zf_cg_i32(cg, ZF_WARP)), bb_warp, bb_done);
    zf_cg_enter(cg, bb_warp);
    uint32_t words = lower->kernel->tile / 32;
    LLVMValueRef v_carry = zf_cg_i32(cg, 0);
    for (uint32_t from = 0; from < words; from += ZF_WARP) {
        LLVMValueRef v_word = zf_cg_add(cg, v_lane, zf_cg_i32(cg, from));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_word, zf_cg_i32(cg, words));
        LLVMValueRef v_index = zf_cg_select(cg, v_exists, v_word, zf_cg_i32(cg, 0));
        v_index = zf_cg_resize(cg, v_index, cg->ty_i64, false);
        LLVMValueRef v_bits = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, t->v_bits, v_index), 4);
        LLVMValueRef v_own = zf_cg_add(cg, LLVMBuildShl(cg->builder, v_word, zf_cg_i32(cg, 5), ""), highest_bit(cg, v_bits));
        // Head 0 always exists where anything does, so 0 is as good as none.
        v_own = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntNE, v_bits, zf_cg_i32(cg, 0)), v_own, zf_cg_i32(cg, 0));
        LLVMValueRef v_up = v_own;
        for (uint32_t step = 1; step < ZF_WARP; step *= 2) {
            LLVMValueRef v_lower = zf_cg_and(cg, zf_cg_sub(cg, v_lane, zf_cg_i32(cg, step)), zf_cg_i32(cg, ZF_WARP - 1));
            LLVMValueRef v_other = cg->target->simt->shuffle(cg, v_up, v_lower);
            LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntUGE, v_lane, zf_cg_i32(cg, step));
            v_other = zf_cg_select(cg, v_has, v_other, zf_cg_i32(cg, 0));
            v_up = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_other, v_up), v_other, v_up);
        }
        LLVMValueRef v_lower = zf_cg_and(cg, zf_cg_sub(cg, v_lane, zf_cg_i32(cg, 1)), zf_cg_i32(cg, ZF_WARP - 1));
        LLVMValueRef v_before = cg->target->simt->shuffle(cg, v_up, v_lower);
        v_before = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_lane, zf_cg_i32(cg, 0)), v_carry, v_before);
        v_before = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_carry, v_before), v_carry, v_before);
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "before_store"), bb_next = zf_cg_block(cg, "before_next");
        LLVMValueRef v_all = cg->target->simt->shuffle(cg, v_up, zf_cg_i32(cg, ZF_WARP - 1));
        v_carry = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_all, v_carry), v_all, v_carry);
        zf_cg_cond_br(cg, v_exists, bb_store, bb_next);
        zf_cg_enter(cg, bb_store);
        zf_cg_store(cg, v_before, zf_cg_at(cg, cg->ty_i32, t->v_before, v_index), 4);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// ---- Outputs --------------------------------------------------------------------------------------------------

static zf_cg_value output(groups *t, LLVMValueRef v_q, LLVMValueRef v_head, LLVMValueRef v_rank) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_g = zf_cg_add(cg, t->v_g0, zf_cg_resize(cg, v_rank, cg->ty_i64, false));
    LLVMValueRef v_in = zf_cg_resize(cg, zf_cg_sub(cg, v_q, v_head), cg->ty_i64, false);
    // The tile may begin inside the group whose head is its first output.
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_rank, zf_cg_i32(cg, 0));
    env.v_j = zf_cg_add(cg, v_in, zf_cg_select(cg, v_first, t->v_o0, zf_cg_i64(cg, 0)));
    env.v_i = zf_cg_add(cg, t->tile->v_lo, zf_cg_resize(cg, v_q, cg->ty_i64, false));
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    return value;
}

static void make_outputs(groups *t) {
    zf_lower *lower = t->lower;
    zf_cg *cg = lower->cg;
    unsigned count = zf_simt_lane_count(lower->type);
    bool is_bool = lower->type.kind == ZF_K_BOOL;
    uint32_t row = t->shape->threads * count;
    LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, t->v_length, zf_cg_i64(cg, row - 1)), zf_cg_i64(cg, row), "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_rows, "row");
    LLVMValueRef v_row = zf_cg_mul(cg, zf_cg_resize(cg, loop.v_i, cg->ty_i32, false), zf_cg_i32(cg, row));
    LLVMValueRef v_q = zf_cg_add(cg, v_row, zf_cg_mul(cg, lower->v_thread, zf_cg_i32(cg, count)));
    LLVMValueRef v_q64 = zf_cg_resize(cg, v_q, cg->ty_i64, false);
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "outputs"), bb_whole = zf_cg_block(cg, "outputs_whole");
    LLVMBasicBlockRef bb_cut = zf_cg_block(cg, "outputs_cut");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_q64, t->v_length), bb_some, loop.bb_next);
    zf_cg_enter(cg, bb_some);
    // C outputs lie in one word of bits. The head of the first is found; of each other it is that of the one before, or its own.
    LLVMValueRef v_word64 = LLVMBuildLShr(cg->builder, v_q64, zf_cg_i64(cg, 5), "");
    LLVMValueRef v_bits = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, t->v_bits, v_word64), 4);
    LLVMValueRef v_before = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, t->v_before, v_word64), 4);
    LLVMValueRef v_bit = zf_cg_and(cg, v_q, zf_cg_i32(cg, 31));
    LLVMValueRef v_upto = zf_cg_sub(cg, LLVMBuildShl(cg->builder, zf_cg_i32(cg, 2), v_bit, ""), zf_cg_i32(cg, 1));
    LLVMValueRef v_below = zf_cg_and(cg, v_bits, v_upto);
    LLVMValueRef v_own = zf_cg_add(cg, zf_cg_sub(cg, v_q, v_bit), highest_bit(cg, v_below));
    LLVMValueRef v_head = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntNE, v_below, zf_cg_i32(cg, 0)), v_own, v_before);
    LLVMValueRef v_heads[16], v_ranks[16];
    v_heads[0] = v_head;
    LLVMValueRef v_head_at = zf_cg_at(cg, cg->ty_i32, t->v_heads, zf_cg_resize(cg, v_head, cg->ty_i64, false));
    v_ranks[0] = zf_cg_load(cg, cg->ty_i32, v_head_at, 4);
    LLVMValueRef v_here = LLVMBuildLShr(cg->builder, v_bits, v_bit, "");
    for (unsigned k = 1; k < count; k++) {
        LLVMValueRef v_set = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_here, zf_cg_i32(cg, 1u << k)), zf_cg_i32(cg, 0));
        LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i32, t->v_heads, zf_cg_add(cg, v_q64, zf_cg_i64(cg, k)));
        v_heads[k] = zf_cg_select(cg, v_set, zf_cg_add(cg, v_q, zf_cg_i32(cg, k)), v_heads[k - 1]);
        v_ranks[k] = zf_cg_select(cg, v_set, zf_cg_load(cg, cg->ty_i32, v_at, 4), v_ranks[k - 1]);
    }
    LLVMValueRef v_end = zf_cg_add(cg, v_q64, zf_cg_i64(cg, count)), v_index = zf_cg_add(cg, t->tile->v_lo, v_q64);
    LLVMValueRef v_all = zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntULE, v_end, t->v_length), t->tile->v_whole);
    zf_cg_cond_br(cg, v_all, bb_whole, bb_cut);

    zf_cg_enter(cg, bb_whole);
    zf_cg_value values[16];
    for (unsigned k = 0; k < count; k++) values[k] = output(t, zf_cg_add(cg, v_q, zf_cg_i32(cg, k)), v_heads[k], v_ranks[k]);
    zf_simt_store_vector(lower, values, count, v_index);
    zf_cg_br(cg, loop.bb_next);

    zf_cg_enter(cg, bb_cut);
    LLVMValueRef v_byte = is_bool ? zf_cg_alloca(cg, cg->ty_i8, "byte") : NULL;
    if (is_bool) LLVMBuildStore(cg->builder, LLVMConstNull(cg->ty_i8), v_byte);
    for (unsigned k = 0; k < count; k++) {
        LLVMBasicBlockRef bb_one = zf_cg_block(cg, "output"), bb_next = zf_cg_block(cg, "output_next");
        LLVMValueRef v_at = zf_cg_add(cg, v_q64, zf_cg_i64(cg, k));
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_at, t->v_length), bb_one, bb_next);
        zf_cg_enter(cg, bb_one);
        zf_cg_value value = output(t, zf_cg_add(cg, v_q, zf_cg_i32(cg, k)), v_heads[k], v_ranks[k]);
        if (is_bool) {
            LLVMValueRef v = LLVMBuildShl(cg->builder, zf_lower_memory_form(lower, value), LLVMConstInt(cg->ty_i8, k, 0), "");
            LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, ""), v), v_byte);
        } else {
            zf_lower_store(lower, value, lower->v_sink, zf_cg_add(cg, v_index, zf_cg_i64(cg, k)));
        }
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    if (is_bool) {
        LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_index, zf_cg_i64(cg, 3), "");
        LLVMValueRef v = LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, "");
        zf_cg_store(cg, v, zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_at), 1);
    }
    zf_cg_loop_end(cg, &loop);
}

// ---- The tile -------------------------------------------------------------------------------------------------

void zf_simt_groups(zf_lower *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    const zf_simt_ops *ops = cg->target->simt;
    zf_simt_tile tile = zf_simt_tile_of(lower);
    groups t = {.lower = lower, .shape = shape, .tile = &tile};
    uint32_t words = lower->kernel->tile / 32;
    t.v_bits = ops->shared(cg, 0, words * 4);
    t.v_before = ops->shared(cg, words * 4, words * 4);
    t.v_heads = ops->shared(cg, words * 8, lower->kernel->tile * 4);
    t.v_sums = ops->shared(cg, words * 8 + lower->kernel->tile * 4, 1024);
    t.v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), t.v_bad);
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    t.v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    t.v_length = zf_cg_sub(cg, tile.v_hi, tile.v_lo);
    find_ends(&t);
    clear_bits(&t);
    LLVMValueRef v_total, v_before = sum_before(&t, my_sum(&t), &v_total); // meets at a barrier: the bits are clear behind it
    // The sizes must make the tile: all threads know the same sum, and leave together.
    note_bad(&t, zf_cg_icmp(cg, LLVMIntNE, v_total, t.v_length));
    LLVMValueRef v_so_far = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    LLVMValueRef v_alone = zf_cg_icmp(cg, LLVMIntEQ, v_so_far, zf_cg_i32(cg, ZF_NO_FAILURE));
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, t.v_bad, "");
    zf_lower_fail(lower, zf_cg_and(cg, v_bad, v_alone), (uint32_t)lower->kernel->end_check);
    LLVMBasicBlockRef bb_fits = zf_cg_block(cg, "fits"), bb_end = zf_cg_block(cg, "tile_end");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_total, t.v_length), bb_fits, bb_end);
    zf_cg_enter(cg, bb_fits);
    mark_heads(&t, v_before);
    ops->barrier(cg);
    find_heads_before(&t);
    ops->barrier(cg);
    make_outputs(&t);
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_end);
    zf_lower_report(lower, tile.v_lo);
}

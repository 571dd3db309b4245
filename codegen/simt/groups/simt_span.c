// Several tiles of groups that a warp makes together: where they lie, their groups row by row, and whether the file's states are
// met on the way. Strings (form_words.c) and numbers (form_numbers.c) differ in what a group is, and in how it is put in place.
#include "codegen/simt/groups/simt_span.h"

#include "codegen/body/cg_frame.h"

enum {
    MOST_GROUPS = 1 << 28, // that a span touches
};

void zf_simt_span_note(zf_simt_span *s, LLVMValueRef v_bad, const char *what) {
    zf_cg *cg = s->lower->cg;
    if (zf_cg_site(cg, ZF_SITE_CHECK, what)) return;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, s->v_bad, ""), v_bad), s->v_bad);
}

// ---- The groups of a row --------------------------------------------------------------------------------------

// A lane's groups, all of which the block has: what they read is loaded together.
static void take_whole(zf_simt_span *s, LLVMValueRef v_first, LLVMValueRef v_distance) {
    zf_kernel_build *lower = s->lower;
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, v_first, s->each);
    lanes.by_words = s->by_words;
    lanes.fetch = s->fetch;
    lanes.v_distance = v_distance;
    for (unsigned k = 0; k < s->each; k++) {
        zf_kernel_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        env.v_g = env.v_i;
        env.v_i = NULL;
        s->take(s, &env, k);
    }
    zf_simt_lanes_end(lower, &lanes);
}

// Those that the tiles have, one by one. `v_near`: the lane's first group, counted from the first row's (i32).
static void take_some(zf_simt_span *s, LLVMValueRef v_first, LLVMValueRef v_near) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    for (unsigned k = 0; k < s->each; k++) {
        LLVMBasicBlockRef bb_one = zf_cg_block(cg, "group"), bb_next = zf_cg_block(cg, "group_next");
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), s->v_sources[k]);
        LLVMBuildStore(cg->builder, LLVMConstNull(s->ty_length), s->v_lengths[k]);
        zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.v_g = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_near, zf_cg_i32(cg, k)), s->v_touched);
        zf_cg_cond_br(cg, zf_cg_within(cg, v_exists, "groups that exist"), bb_one, bb_next);
        zf_cg_enter(cg, bb_one);
        s->take(s, &env, k);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

// ---- Rarely used state ----------------------------------------------------------------------------------------

// It lies in shared memory, where it takes no registers from the others.
enum {
    KEPT_LEAST = 0,     // bytes that the first group has at least: v_o0 + 1, or 0 at the block's begin (ty_length)
    KEPT_O1 = 8,        // ty_length
    KEPT_LAST_CUT = 16, // the last group, counted from v_g0, where v_o1 cuts it; else none that exists (i32)
    KEPT_MARKS = 24,    // the states between the tiles: byte o of what is taken of group v_base + g (two i32 each, g first)
};

uint32_t zf_simt_span_kept_bytes(uint32_t tiles) { return (KEPT_MARKS + 8 * (tiles - 1) + 15) / 16 * 16; }

static LLVMValueRef kept_at(const zf_simt_span *s, uint32_t at) { return zf_cg_byte_at(s->lower->cg, s->v_kept, at); }

static LLVMValueRef kept(const zf_simt_span *s, LLVMTypeRef ty, uint32_t at) {
    return zf_cg_load(s->lower->cg, ty, kept_at(s, at), LLVMGetIntTypeWidth(ty) / 8);
}

static void keep(const zf_simt_span *s, LLVMValueRef v, uint32_t at) {
    zf_cg_store(s->lower->cg, v, kept_at(s, at), LLVMGetIntTypeWidth(LLVMTypeOf(v)) / 8);
}

// Cuts the first and the last group, and drops groups of other tiles. `v_number`: the lane's first group, counted from the
// tiles' first (i32).
static void cut_edges(zf_simt_span *s, LLVMValueRef v_number) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = LLVMConstNull(s->ty_length), v_one = LLVMConstInt(s->ty_length, 1, false);
    LLVMValueRef v_count = zf_cg_sub(cg, s->v_touched, s->v_skew);
    LLVMValueRef v_o1 = kept(s, s->ty_length, KEPT_O1), v_last_cut = kept(s, cg->ty_i32, KEPT_LAST_CUT),
                 v_at_least = kept(s, s->ty_length, KEPT_LEAST);
    LLVMValueRef v_cut_size = LLVMConstAllOnes(s->ty_length); // of the last group, where this lane has it
    for (unsigned k = 0; k < s->each; k++) {
        LLVMValueRef v_k = zf_cg_add(cg, v_number, zf_cg_i32(cg, k));
        LLVMValueRef v_size =
            s->length != NULL ? s->length(s, k) : LLVMBuildLoad2(cg->builder, s->ty_length, s->v_lengths[k], "");
        LLVMValueRef v_cut = zf_cg_icmp(cg, LLVMIntEQ, v_k, v_last_cut);
        v_cut_size = zf_cg_select(cg, v_cut, v_size, v_cut_size);
        LLVMValueRef v_stop = zf_cg_select(cg, v_cut, v_o1, v_size);
        LLVMValueRef v_is_first = zf_cg_icmp(cg, LLVMIntEQ, v_k, zf_cg_i32(cg, 0));
        LLVMValueRef v_least = zf_cg_select(cg, v_is_first, v_at_least, v_zero);
        zf_simt_span_note(s, zf_cg_icmp(cg, LLVMIntULT, v_stop, v_least), "the tile's begin inside its first group");
        LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntUGT, v_least, v_one); // v_least - 1, but 0 for 0
        LLVMValueRef v_from = zf_cg_sub(cg, zf_cg_select(cg, v_some, v_least, v_one), v_one);
        v_from = zf_cg_umin(cg, v_from, v_stop);
        LLVMValueRef v_ours = zf_cg_icmp(cg, LLVMIntULT, v_k, v_count);
        v_ours = zf_cg_within(cg, v_ours, "groups of tiles before and behind");
        s->cut(s, k, v_from, zf_cg_select(cg, v_ours, zf_cg_sub(cg, v_stop, v_from), v_zero));
    }
    zf_simt_span_note(s, zf_cg_icmp(cg, LLVMIntULE, v_cut_size, v_o1), "the tile's end inside its last group");
}

// Rows that have a state between tiles, by their numbers modulo 32, as bits, the first row's the highest: what a row asks costs
// no vote then.
static void find_marked_rows(zf_simt_span *s) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    if (s->tiles == 1 || cg->unchecked) return;
    LLVMValueRef v_row = LLVMBuildUDiv(cg->builder, s->v_mark_g, zf_cg_i32(cg, cg->wave * s->each), "");
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, s->v_mark_g, s->v_touched);
    LLVMValueRef v_bit =
        LLVMBuildLShr(cg->builder, zf_cg_i32(cg, UINT32_C(1) << 31), zf_cg_and(cg, v_row, zf_cg_i32(cg, 31)), "");
    LLVMValueRef v = zf_cg_select(cg, v_has, v_bit, zf_cg_i32(cg, 0));
    for (uint32_t step = 1; step < s->tiles; step *= 2)
        v = zf_cg_or(cg, v, zf_simt_shuffle(lower, v, LLVMBuildXor(cg->builder, s->v_lane, zf_cg_i32(cg, step), "")));
    LLVMBuildStore(cg->builder, zf_simt_shuffle(lower, v, zf_cg_i32(cg, 0)), s->v_marks);
}

// Whether the row has one, which all lanes know; the next row's bit comes to its place.
static LLVMValueRef is_marked(const zf_simt_span *s) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, cg->ty_i32, s->v_marks, "");
    LLVMBuildStore(cg->builder, zf_cg_funnel(cg, true, v, v, zf_cg_i32(cg, 1)), s->v_marks);
    return zf_cg_icmp(cg, LLVMIntSLT, v, zf_cg_i32(cg, 0));
}

void zf_simt_span_take(zf_simt_span *s) {
    zf_cg *cg = s->lower->cg;
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "groups_whole"), bb_some = zf_cg_block(cg, "groups_some"),
                      bb_taken = zf_cg_block(cg, "groups_taken"), bb_edges = zf_cg_block(cg, "groups_edges"),
                      bb_cut = zf_cg_block(cg, "groups_cut");
    LLVMValueRef v_each = zf_cg_i32(cg, s->each), v_near = zf_cg_add(cg, s->rows.v_i, zf_cg_mul(cg, s->v_lane, v_each));
    LLVMValueRef v_first = zf_cg_add(cg, s->v_base, zf_cg_resize(cg, v_near, cg->ty_i64, false));
    LLVMValueRef v_number = zf_cg_sub(cg, v_near, s->v_skew);
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, zf_cg_add(cg, v_near, v_each), s->v_left);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_whole, "groups behind the block's last"), bb_whole, bb_some);
    zf_cg_enter(cg, bb_whole);
    // The lane's groups in the next row, where there are any.
    LLVMValueRef v_row_size = zf_cg_i32(cg, cg->wave * s->each), v_next = zf_cg_add(cg, v_near, v_row_size);
    LLVMValueRef v_has_next = zf_cg_icmp(cg, LLVMIntULT, v_next, s->v_left);
    take_whole(s, v_first, zf_cg_select(cg, v_has_next, v_row_size, zf_cg_i32(cg, 0)));
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_some);
    take_some(s, v_first, v_near);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_taken);
    // Behind the first group, and before the last.
    LLVMValueRef v_away = zf_cg_sub(cg, v_number, zf_cg_i32(cg, 1));
    LLVMValueRef v_between = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_away, s->v_between), "groups between first and last");
    zf_cg_cond_br(cg, v_between, bb_cut, bb_edges);
    zf_cg_enter(cg, bb_edges);
    cut_edges(s, v_number);
    zf_cg_br(cg, bb_cut);
    zf_cg_enter(cg, bb_cut);
}

enum { NIBBLES = 8 }; // of a word: as many lengths below 16

static LLVMValueRef nibble_bit(zf_cg *cg, LLVMValueRef v_k) { return LLVMBuildShl(cg->builder, v_k, zf_cg_i32(cg, 2), ""); }

// Lengths of a lane's groups, four bits each, where they are so short and few: a word instead of eight stays in registers.
static LLVMValueRef pack_lengths(const zf_simt_span *s, const zf_span_row *r) {
    zf_cg *cg = s->lower->cg;
    if (s->longest >= 16 || s->each > NIBBLES) return NULL;
    LLVMValueRef v = r->v_lengths[0];
    for (unsigned k = 1; k < s->each; k++)
        v = zf_cg_or(cg, v, LLVMBuildShl(cg->builder, r->v_lengths[k], zf_cg_i32(cg, 4 * k), ""));
    return v;
}

// Elements of the row's groups before group v_k (i32) of lane v_of, counted from the lane's first, and of that group.
static LLVMValueRef elements_before(const zf_simt_span *s, const zf_span_row *r, LLVMValueRef v_of, LLVMValueRef v_k,
                                    LLVMValueRef *v_length) {
    zf_cg *cg = s->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_sum = zf_simt_shuffle(s->lower, r->v_before, v_of), v_packed = pack_lengths(s, r);
    if (v_packed != NULL) {
        LLVMValueRef v_bit = nibble_bit(cg, v_k), v_four = zf_cg_i32(cg, 4), v_bytes = zf_cg_i32(cg, 0x0f0f0f0f);
        v_packed = zf_simt_shuffle(s->lower, v_packed, v_of);
        LLVMValueRef v_above = LLVMBuildShl(b, zf_cg_i32(cg, UINT32_MAX), v_bit, "");
        LLVMValueRef v_below = zf_cg_and(cg, v_packed, LLVMBuildNot(b, v_above, ""));
        *v_length = zf_cg_and(cg, LLVMBuildLShr(b, v_packed, v_bit, ""), zf_cg_i32(cg, 15));
        LLVMValueRef v_pairs = zf_cg_and(cg, LLVMBuildLShr(b, v_below, v_four, ""), v_bytes);
        v_pairs = zf_cg_add(cg, zf_cg_and(cg, v_below, v_bytes), v_pairs); // of two each, in bytes
        v_pairs = LLVMBuildLShr(b, zf_cg_mul(cg, v_pairs, zf_cg_i32(cg, 0x01010101)), zf_cg_i32(cg, 24), "");
        return zf_cg_add(cg, v_sum, v_pairs);
    }
    LLVMValueRef v_next = v_sum, v_one = zf_simt_shuffle(s->lower, r->v_lengths[0], v_of);
    *v_length = v_one;
    for (unsigned k = 1; k < s->each; k++) {
        LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, v_k, zf_cg_i32(cg, k));
        v_next = zf_cg_add(cg, v_next, v_one);
        v_one = zf_simt_shuffle(s->lower, r->v_lengths[k], v_of);
        v_sum = zf_cg_select(cg, v_behind, v_next, v_sum);
        *v_length = zf_cg_select(cg, v_behind, v_one, *v_length);
    }
    return v_sum;
}

// Those of the row, each by its own lane: it must be of a group that has the byte where the next tile begins. Few rows have one,
// which is known before anything is of their groups.
static void check_marks(zf_simt_span *s, const zf_span_row *r, LLVMValueRef v_here) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    if (s->tiles == 1 || zf_cg_site(cg, ZF_SITE_CHECK, "states between the tiles of a row")) return;
    LLVMBasicBlockRef bb_check = zf_cg_block(cg, "marks"), bb_checked = zf_cg_block(cg, "marks_checked");
    zf_cg_cond_br(cg, is_marked(s), bb_check, bb_checked); // all lanes the same
    zf_cg_enter(cg, bb_check);
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i32, 2);
    LLVMValueRef v_number = zf_cg_clamp(cg, s->v_lane, zf_cg_i32(cg, s->tiles - 2), "states between the tiles");
    LLVMValueRef v_mark =
        zf_cg_load(cg, ty, zf_cg_at(cg, ty, kept_at(s, KEPT_MARKS), zf_cg_resize(cg, v_number, cg->ty_i64, false)), 8);
    LLVMValueRef v_g = LLVMBuildExtractElement(cg->builder, v_mark, zf_cg_i32(cg, 0), ""),
                 v_o = LLVMBuildExtractElement(cg->builder, v_mark, zf_cg_i32(cg, 1), "");
    LLVMValueRef v_k = zf_cg_and(cg, v_g, zf_cg_i32(cg, s->each - 1)), v_length;
    LLVMValueRef v_of = LLVMBuildUDiv(cg->builder, v_g, zf_cg_i32(cg, s->each), "");
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, zf_cg_sub(cg, v_g, s->rows.v_i), zf_cg_i32(cg, cg->wave * s->each));
    v_of = zf_cg_and(cg, v_of, zf_cg_i32(cg, cg->wave - 1));
    LLVMValueRef v_at = elements_before(s, r, v_of, v_k, &v_length);
    v_at = zf_cg_add(cg, zf_cg_add(cg, v_here, v_at), v_o);
    LLVMValueRef v_tile = zf_cg_mul(cg, zf_cg_add(cg, v_number, zf_cg_i32(cg, 1)), zf_cg_i32(cg, lower->kernel->tile));
    v_tile = zf_cg_add(cg, v_tile, s->v_lead);
    LLVMValueRef v_there = zf_cg_icmp(cg, LLVMIntEQ, v_at, v_tile), v_has = zf_cg_icmp(cg, LLVMIntULT, v_o, v_length);
    zf_simt_span_note(s, zf_cg_and(cg, v_is, zf_cg_not(cg, zf_cg_and(cg, v_there, v_has))), "states between the tiles");
    zf_cg_br(cg, bb_checked);
    zf_cg_enter(cg, bb_checked);
}

LLVMValueRef zf_simt_span_fits(zf_simt_span *s, const zf_span_row *r) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_here = LLVMBuildLoad2(cg->builder, cg->ty_i32, s->v_here, "");
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, r->v_total, zf_cg_sub(cg, s->v_stop, v_here));
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "row_fits"), bb_over = zf_cg_block(cg, "row_over");
    zf_cg_cond_br(cg, zf_cg_within(cg, v_fits, "rows that fit into the tile"), bb_put, bb_over); // all lanes the same
    zf_cg_enter(cg, bb_over); // no row follows, and the sum is another one than it should be
    LLVMBuildStore(cg->builder, zf_cg_add(cg, s->v_stop, zf_cg_i32(cg, 1)), s->v_here);
    zf_cg_br(cg, s->rows.bb_end);
    zf_cg_enter(cg, bb_put);
    check_marks(s, r, v_here);
    return v_here;
}

void zf_simt_span_rows_end(zf_simt_span *s, const zf_span_row *r, LLVMValueRef v_here) {
    zf_cg *cg = s->lower->cg;
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_here, r->v_total), s->v_here);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_turns_end(cg, &s->rows);
    zf_simt_keep_loop(cg, bb_last);
}

// ---- The tiles ------------------------------------------------------------------------------------------------

// Lane l loads the state where tile l of the span begins, the lane behind the last where that ends, and so do those behind it.
static void find_states(zf_simt_span *s, LLVMValueRef *v_g, LLVMValueRef *v_o) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    uint32_t field_g = zf_lower_root_field(lower, ZF_SEEK_GROUP), field_o = zf_lower_root_field(lower, ZF_SEEK_OFFSET);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_begin = lower->simt->v_tile,
                 v_lane = zf_cg_resize(cg, s->v_lane, cg->ty_i64, false);
    LLVMValueRef v_tile = zf_cg_add(cg, v_begin, zf_cg_umin(cg, v_lane, s->v_number));
    LLVMValueRef v_first = zf_cg_edge(cg, zf_cg_icmp(cg, LLVMIntEQ, v_tile, v_zero), "state of the first tile");
    lower->simt->v_tile = zf_cg_select(cg, v_first, v_zero, zf_cg_sub(cg, v_tile, zf_cg_i64(cg, 1))); // ends where it begins
    *v_g = zf_simt_seek_next(lower, field_g, s->v_groups, "state behind the last tile");              // the last tile's end
    *v_o = zf_simt_seek_next(lower, field_o, v_zero, "state behind the last tile");
    *v_g = zf_cg_select(cg, v_first, v_zero, *v_g);
    *v_o = zf_cg_select(cg, v_first, v_zero, *v_o);
    lower->simt->v_tile = v_begin;
}

// Keeps those of the lanes' states that lie between the tiles.
static void find_marks(zf_simt_span *s, LLVMValueRef v_g, LLVMValueRef v_o) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    if (s->tiles == 1 || cg->unchecked) return;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_lane = zf_cg_resize(cg, s->v_lane, cg->ty_i64, false);
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, v_lane, s->v_number), v_one = zf_cg_i64(cg, 1);
    v_has = zf_cg_and(cg, v_has, zf_cg_icmp(cg, LLVMIntNE, v_lane, v_zero));
    v_has = zf_cg_holds(cg, ZF_SITE_MASK, v_has, "lanes that have a state between tiles");
    LLVMValueRef v_number = zf_cg_sub(cg, v_g, s->v_g0);
    LLVMValueRef v_from = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_number, v_zero), s->v_o0, v_zero);
    v_o = zf_cg_sub(cg, v_o, v_from); // of the first group a part is taken
    LLVMValueRef v_outside = zf_cg_icmp(cg, LLVMIntUGE, v_number, zf_cg_sub(cg, s->v_end, s->v_g0));
    v_outside = zf_cg_or(cg, v_outside, zf_cg_icmp(cg, LLVMIntUGE, v_o, zf_cg_i64(cg, UINT64_C(1) << 31)));
    zf_simt_span_note(s, zf_cg_and(cg, v_has, v_outside), "states between the tiles outside their groups");
    LLVMValueRef v_none = zf_cg_i32(cg, 2 * MOST_GROUPS); // no lane has that group
    s->v_mark_g = zf_cg_select(cg, v_has, zf_cg_add(cg, zf_cg_low_half(cg, v_number), s->v_skew), v_none);
    LLVMBasicBlockRef bb_keep = zf_cg_block(cg, "keep_mark"), bb_kept = zf_cg_block(cg, "mark_kept");
    LLVMValueRef v_slot = zf_cg_sub(cg, v_lane, v_one), v_is = zf_cg_icmp(cg, LLVMIntULT, v_slot, zf_cg_i64(cg, s->tiles - 1));
    zf_cg_cond_br(cg, zf_cg_within(cg, v_is, "states between the tiles"), bb_keep, bb_kept);
    zf_cg_enter(cg, bb_keep);
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i32, 2);
    LLVMValueRef v_mark = LLVMBuildInsertElement(cg->builder, LLVMGetUndef(ty), s->v_mark_g, zf_cg_i32(cg, 0), "");
    v_mark = LLVMBuildInsertElement(cg->builder, v_mark, zf_cg_low_half(cg, v_o), zf_cg_i32(cg, 1), "");
    zf_cg_store(cg, v_mark, zf_cg_at(cg, ty, kept_at(s, KEPT_MARKS), v_slot), 8);
    zf_cg_br(cg, bb_kept);
    zf_cg_enter(cg, bb_kept);
}

// Where the tiles lie among the groups; none where the states cannot be.
static void find_ends(zf_simt_span *s) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_groups = s->v_groups, v_from = zf_cg_i32(cg, 0), v_g, v_o;
    find_states(s, &v_g, &v_o);
    LLVMValueRef v_to = zf_cg_low_half(cg, s->v_number), v_g1 = zf_simt_shuffle(lower, v_g, v_to);
    s->v_g0 = zf_simt_shuffle(lower, v_g, v_from);
    s->v_o0 = zf_simt_shuffle(lower, v_o, v_from);
    s->v_o1 = zf_simt_shuffle(lower, v_o, v_to);
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntNE, s->v_o1, v_zero);
    s->v_end = zf_cg_add(cg, v_g1, zf_cg_resize(cg, v_inside, cg->ty_i64, false));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, v_g1, v_groups), v_few = zf_cg_icmp(cg, LLVMIntULE, s->v_end, v_groups),
                 v_ordered = zf_cg_icmp(cg, LLVMIntULE, s->v_g0, s->v_end);
    LLVMValueRef v_ok = zf_cg_and(cg, v_whole, zf_cg_holds(cg, ZF_SITE_CHECK, v_few, "groups that the tile touches"));
    v_ok = zf_cg_and(cg, v_ok, zf_cg_holds(cg, ZF_SITE_CHECK, v_ordered, "the tile's first group before its last"));
    // Rows are numbered by 32 bits. More groups without bytes may be there, but one thread can take those, too.
    v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntULT, zf_cg_sub(cg, s->v_end, s->v_g0), zf_cg_i64(cg, MOST_GROUPS)));
    if (s->longest < UINT64_MAX) {
        LLVMValueRef v_longest = zf_cg_i64(cg, s->longest), v_far = zf_cg_icmp(cg, LLVMIntUGT, s->v_o0, v_longest);
        v_far = zf_cg_or(cg, v_far, zf_cg_icmp(cg, LLVMIntUGT, s->v_o1, v_longest));
        v_ok = zf_cg_and(cg, v_ok, zf_cg_holds(cg, ZF_SITE_CHECK, zf_cg_not(cg, v_far), "states inside groups"));
    }
    if (s->v_refused != NULL) v_ok = zf_cg_and(cg, v_ok, zf_cg_not(cg, s->v_refused));
    LLVMBuildStore(cg->builder, zf_cg_not(cg, v_ok), s->v_bad);
    s->v_g0 = zf_cg_select(cg, v_ok, s->v_g0, v_zero);
    s->v_end = zf_cg_select(cg, v_ok, s->v_end, v_zero);
    // Lanes begin at multiples of what they take, so that their loads are aligned.
    s->v_base = zf_cg_and(cg, s->v_g0, zf_cg_i64(cg, ~(uint64_t)(s->each - 1)));
    s->v_skew = zf_cg_low_half(cg, zf_cg_sub(cg, s->v_g0, s->v_base));
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntULT, s->v_g0, s->v_end);
    s->v_touched = zf_cg_select(cg, v_some, zf_cg_low_half(cg, zf_cg_sub(cg, s->v_end, s->v_base)), zf_cg_i32(cg, 0));
    LLVMValueRef v_count = zf_cg_low_half(cg, zf_cg_sub(cg, s->v_end, s->v_g0)), v_one = zf_cg_i32(cg, 1);
    LLVMValueRef v_most = zf_cg_i32(cg, s->each + 1), v_many = zf_cg_icmp(cg, LLVMIntUGT, v_count, v_most);
    s->v_between = zf_cg_select(cg, v_many, zf_cg_sub(cg, v_count, v_most), zf_cg_i32(cg, 0));
    find_marks(s, v_g, v_o);
    LLVMBasicBlockRef bb_keep = zf_cg_block(cg, "keep"), bb_kept = zf_cg_block(cg, "kept");
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntEQ, s->v_lane, zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_mine, "the lane that keeps the ends"), bb_keep, bb_kept);
    zf_cg_enter(cg, bb_keep);
    keep(s, zf_cg_select(cg, v_inside, zf_cg_sub(cg, v_count, v_one), zf_cg_i32(cg, 2 * MOST_GROUPS)), KEPT_LAST_CUT);
    keep(s, zf_cg_resize(cg, s->v_o1, s->ty_length, false), KEPT_O1);
    // At the block's begin the first group need not have a byte.
    LLVMValueRef v_stored = zf_cg_icmp(cg, LLVMIntNE, lower->simt->v_tile, v_zero),
                 v_least = zf_cg_umin(cg, s->v_o0, zf_cg_i64(cg, UINT64_MAX - 1));
    v_least = zf_cg_select(cg, v_stored, zf_cg_add(cg, v_least, zf_cg_i64(cg, 1)), v_zero);
    keep(s, zf_cg_resize(cg, v_least, s->ty_length, false), KEPT_LEAST);
    zf_cg_br(cg, bb_kept);
    zf_cg_enter(cg, bb_kept);
    zf_simt_barrier_warp(lower, "what few rows ask for is kept");
}

LLVMValueRef zf_simt_span_tiles(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    if (lower->kernel->sink >= 0 || lower->v_row_end == NULL) return lower->v_tiles;
    LLVMValueRef v_tile = zf_cg_i64(cg, lower->kernel->tile), v_one = zf_cg_i64(cg, 1);
    LLVMValueRef v_end = zf_cg_add(cg, lower->v_row_end, zf_cg_i64(cg, lower->kernel->tile - 1));
    v_end = LLVMBuildUDiv(cg->builder, v_end, v_tile, "");
    v_end = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_end, zf_cg_i64(cg, 0)), v_one, v_end); // of an empty block
    return zf_cg_umin(cg, lower->v_tiles, v_end);
}

// Which bytes: of tiles v_tile on, as many as there are of `span`.
static void find_bytes(zf_simt_span *s) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_count = zf_lower_count(lower, lower->kernel->edge), v_tile = zf_cg_i64(cg, lower->kernel->tile);
    LLVMValueRef v_left = zf_cg_sub(cg, zf_simt_span_tiles(lower), lower->simt->v_tile);
    s->v_number = zf_cg_clamp(cg, zf_cg_i64(cg, s->tiles), v_left, "tiles of the block");
    s->v_lo = zf_cg_umin(cg, zf_cg_mul(cg, lower->simt->v_tile, v_tile), v_count);
    LLVMValueRef v_hi = zf_cg_mul(cg, zf_cg_add(cg, lower->simt->v_tile, s->v_number), v_tile);
    v_hi = zf_cg_clamp(cg, v_hi, v_count, "end of the tiles");
    s->v_size = zf_cg_resize(cg, zf_cg_sub(cg, v_hi, s->v_lo), cg->ty_i32, false);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, s->v_lo);
    LLVMValueRef v_address = LLVMBuildPtrToInt(cg->builder, v_to, cg->ty_i64, "");
    s->v_lead = zf_cg_and(cg, zf_cg_resize(cg, v_address, cg->ty_i32, false), zf_cg_i32(cg, ZF_SPAN_CHUNK - 1));
    s->v_stop = zf_cg_add(cg, s->v_lead, s->v_size);
}

void zf_simt_span_begin(zf_simt_span *s) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    s->v_lane = zf_simt_lane(lower);
    s->v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    s->v_here = zf_cg_alloca(cg, cg->ty_i32, "here");
    s->v_marks = zf_cg_alloca(cg, cg->ty_i32, "marks");
    for (unsigned k = 0; k < s->each; k++) {
        s->v_sources[k] = zf_cg_alloca(cg, cg->ty_i64, "source");
        s->v_lengths[k] = zf_cg_alloca(cg, s->ty_length, "length");
    }
    find_bytes(s);
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    s->v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    find_ends(s);
    LLVMBuildStore(cg->builder, s->v_lead, s->v_here);
}

void zf_simt_span_rows_begin(zf_simt_span *s) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_left = zf_cg_sub(cg, s->v_groups, s->v_base), v_most = zf_cg_i64(cg, 2 * MOST_GROUPS);
    s->v_left = zf_cg_low_half(cg, zf_cg_umin(cg, v_left, v_most));
    find_marked_rows(s);
    zf_turns_begin(cg, &s->rows, zf_cg_i32(cg, 0), cg->wave * s->each, s->v_touched, "row");
}

void zf_simt_span_end(zf_simt_span *s, LLVMBasicBlockRef *bb_made) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_sum = LLVMBuildLoad2(cg->builder, cg->ty_i32, s->v_here, "");
    zf_simt_span_note(s, zf_cg_icmp(cg, LLVMIntNE, v_sum, s->v_stop), "sum of the sizes");
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, s->v_bad, "");
    v_bad = zf_simt_any(lower, zf_cg_or(cg, v_bad, zf_cg_not(cg, zf_lower_none_failed(lower))));
    LLVMBasicBlockRef bb_bad = zf_cg_block(cg, "tiles_bad"), bb_well = zf_cg_block(cg, "tiles_well");
    *bb_made = zf_cg_block(cg, "tiles_made");
    zf_cg_cond_br(cg, v_bad, bb_bad, bb_well);
    zf_cg_enter(cg, bb_bad);
    zf_simt_barrier_warp(lower, "rows are stored");
    zf_simt_call_slow(lower);
    zf_cg_br(cg, *bb_made);
    zf_cg_enter(cg, bb_well);
}

// How many of the tiles' bytes lie before one of the block (i32).
static LLVMValueRef bytes_before(const zf_simt_span *s, LLVMValueRef v_byte, LLVMValueRef v_size) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGT, v_byte, s->v_lo);
    LLVMValueRef v_away = zf_cg_select(cg, v_behind, zf_cg_sub(cg, v_byte, s->v_lo), zf_cg_i64(cg, 0));
    return zf_cg_low_half(cg, zf_cg_umin(cg, v_away, v_size));
}

zf_span_wanted zf_simt_span_wanted(zf_simt_span *s) {
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    zf_span_wanted wanted = {.v_begin = s->v_lead, .v_end = s->v_stop};
    if (lower->v_row_begin != NULL) { // only these have a place
        LLVMValueRef v_size = zf_cg_resize(cg, s->v_size, cg->ty_i64, false);
        wanted.v_begin = zf_cg_add(cg, s->v_lead, bytes_before(s, lower->v_row_begin, v_size));
        wanted.v_end = zf_cg_add(cg, s->v_lead, bytes_before(s, lower->v_row_end, v_size));
    }
    LLVMValueRef v_first = zf_cg_sub(cg, s->v_lo, zf_cg_resize(cg, s->v_lead, cg->ty_i64, false));
    wanted.v_base = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_first);
    return wanted;
}

void zf_simt_span_store(zf_simt_span *s, const zf_span_wanted *wanted, LLVMValueRef v_chunk, LLVMValueRef v_at) {
    zf_cg *cg = s->lower->cg;
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i32, ZF_SPAN_CHUNK / 4);
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "chunk_whole"), bb_part = zf_cg_block(cg, "chunk_part"),
                      bb_stored = zf_cg_block(cg, "chunk_stored");
    LLVMValueRef v_after = zf_cg_add(cg, v_at, zf_cg_i32(cg, ZF_SPAN_CHUNK));
    LLVMValueRef v_begun = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntUGE, v_at, wanted->v_begin), "bytes before the tiles"),
                 v_ended = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, v_after, wanted->v_end), "bytes behind the tiles");
    zf_cg_cond_br(cg, zf_cg_and(cg, v_begun, v_ended), bb_whole, bb_part);
    zf_cg_enter(cg, bb_whole);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, wanted->v_base, zf_cg_resize(cg, v_at, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, ty, v_chunk, ZF_SPAN_CHUNK), v_to, ZF_SPAN_CHUNK);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_part);
    zf_turns bytes;
    LLVMValueRef v_first = zf_cg_select(cg, v_begun, v_at, wanted->v_begin);
    zf_turns_begin(cg, &bytes, v_first, 1, zf_cg_umin(cg, v_after, wanted->v_end), "chunk_byte");
    LLVMValueRef v_from = zf_cg_resize(cg, zf_cg_sub(cg, bytes.v_i, v_at), cg->ty_i64, false);
    v_to = zf_cg_at_sink(cg, cg->ty_i8, wanted->v_base, zf_cg_resize(cg, bytes.v_i, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, v_chunk, v_from), 1), v_to, 1);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_turns_end(cg, &bytes);
    zf_simt_keep_loop(cg, bb_last); // seldom run: it must not take registers from what is
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

LLVMValueRef zf_simt_span_stop(zf_kernel_build *lower, uint32_t span) {
    zf_cg *cg = lower->cg;
    uint32_t field = zf_lower_root_field(lower, ZF_SEEK_GROUP);
    LLVMValueRef v_one = zf_cg_i64(cg, 1), v_end = zf_cg_alloca(cg, cg->ty_i64, "stop");
    LLVMValueRef v_most = zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, span));
    v_most = zf_cg_clamp(cg, v_most, zf_simt_span_tiles(lower), "tiles of the block");
    LLVMBasicBlockRef bb_next = zf_cg_block(cg, "tile_next"), bb_follows = zf_cg_block(cg, "tile_follows"),
                      bb_compare = zf_cg_block(cg, "tile_compare"), bb_more = zf_cg_block(cg, "tile_more"),
                      bb_end = zf_cg_block(cg, "tiles_end");
    LLVMBuildStore(cg->builder, zf_cg_add(cg, lower->simt->v_tile, v_one), v_end);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_end, ""), v_after = zf_cg_add(cg, v_at, v_one);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_at, v_most), bb_follows, bb_end);
    zf_cg_enter(cg, bb_follows);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_after, lower->v_tiles), bb_compare, bb_more);
    zf_cg_enter(cg, bb_compare);
    LLVMValueRef v_begins = zf_lower_seek_entry(lower, field, zf_cg_sub(cg, v_at, v_one)),
                 v_ends = zf_lower_seek_entry(lower, field, v_at);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_ends, v_begins), bb_end, bb_more);
    zf_cg_enter(cg, bb_more);
    LLVMBuildStore(cg->builder, v_after, v_end);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_end);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_end, "");
}

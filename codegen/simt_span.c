// Several tiles of groups that a warp makes together: where they lie, their groups row by row, and whether the file's states are
// met on the way. Strings (simt_words.c) and numbers (simt_numbers.c) differ in what a group is, and in how it is put in place.
#include "codegen/simt_span.h"

#include "codegen/cg_frame.h"

enum {
    MOST_GROUPS = 1 << 28, // that a span touches
};

void zf_simt_span_note(zf_simt_span *s, LLVMValueRef v_bad, const char *what) {
    zf_cg *cg = s->lower->cg;
    if (zf_cg_site(cg, ZF_SITE_CHECK, what)) return;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, s->v_bad, ""), v_bad), s->v_bad);
}

// ---- Loops of 32 bits -----------------------------------------------------------------------------------------

void zf_turns_begin(zf_cg *cg, zf_turns *t, LLVMValueRef v_begin, uint32_t step, LLVMValueRef v_stop, const char *name) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    t->bb_body = zf_cg_block(cg, name);
    t->bb_end = zf_cg_block(cg, "turns_end");
    t->v_step = zf_cg_i32(cg, step);
    t->v_stop = v_stop;
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_begin, v_stop), t->bb_body, t->bb_end);
    zf_cg_enter(cg, t->bb_body);
    t->v_i = LLVMBuildPhi(cg->builder, cg->ty_i32, "turn");
    LLVMAddIncoming(t->v_i, &v_begin, &bb_before, 1);
}

void zf_turns_end(zf_cg *cg, zf_turns *t) {
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    LLVMValueRef v_next = zf_cg_add(cg, t->v_i, t->v_step);
    LLVMAddIncoming(t->v_i, &v_next, &bb_last, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, t->v_stop), t->bb_body, t->bb_end);
    LLVMMoveBasicBlockAfter(t->bb_end, bb_last);
    zf_cg_enter(cg, t->bb_end);
}

// ---- The groups of a row --------------------------------------------------------------------------------------

// A lane's groups, all of which the block has: what they read is loaded together.
static void take_whole(zf_simt_span *s, LLVMValueRef v_first, LLVMValueRef v_ahead) {
    zf_lower *lower = s->lower;
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, v_first, s->each);
    lanes.by_words = s->by_words;
    lanes.v_ahead = v_ahead;
    for (unsigned k = 0; k < s->each; k++) {
        zf_lower_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        env.v_g = env.v_i;
        env.v_i = NULL;
        s->take(s, &env, k);
    }
    zf_simt_lanes_end(lower, &lanes);
}

// Those that the tiles have, one by one.
static void take_some(zf_simt_span *s, LLVMValueRef v_first) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    for (unsigned k = 0; k < s->each; k++) {
        LLVMBasicBlockRef bb_one = zf_cg_block(cg, "group"), bb_next = zf_cg_block(cg, "group_next");
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), s->v_sources[k]);
        LLVMBuildStore(cg->builder, LLVMConstNull(s->ty_length), s->v_lengths[k]);
        zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.v_g = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, env.v_g, s->v_end);
        zf_cg_cond_br(cg, zf_cg_within(cg, v_exists, "groups that exist"), bb_one, bb_next);
        zf_cg_enter(cg, bb_one);
        s->take(s, &env, k);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

// Of groups of other tiles nothing is taken, of the first and the last one a part. `v_number`: the lane's first group, counted
// from the tiles' first (i32).
static void cut_edges(zf_simt_span *s, LLVMValueRef v_number) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = LLVMConstNull(s->ty_length), v_last = zf_cg_sub(cg, s->v_count, zf_cg_i32(cg, 1));
    LLVMValueRef v_o0 = s->v_o0, v_o1 = s->v_o1, v_inside = zf_cg_icmp(cg, LLVMIntNE, v_o1, v_zero);
    for (unsigned k = 0; k < s->each; k++) {
        LLVMValueRef v_k = zf_cg_add(cg, v_number, zf_cg_i32(cg, k));
        LLVMValueRef v_size = LLVMBuildLoad2(cg->builder, s->ty_length, s->v_lengths[k], "");
        LLVMValueRef v_is_first = zf_cg_icmp(cg, LLVMIntEQ, v_k, zf_cg_i32(cg, 0));
        LLVMValueRef v_cut = zf_cg_and(cg, v_inside, zf_cg_icmp(cg, LLVMIntEQ, v_k, v_last));
        zf_simt_span_note(s, zf_cg_and(cg, v_cut, zf_cg_icmp(cg, LLVMIntUGE, v_o1, v_size)),
                          "the tile's end inside its last group");
        LLVMValueRef v_stop = zf_cg_select(cg, v_cut, v_o1, v_size), v_from = zf_cg_select(cg, v_is_first, v_o0, v_zero);
        LLVMValueRef v_behind = zf_cg_and(cg, v_is_first, zf_cg_icmp(cg, LLVMIntUGE, v_from, v_stop));
        zf_simt_span_note(s, zf_cg_and(cg, s->v_begins_stored, v_behind), "the tile's begin inside its first group");
        v_from = zf_cg_umin(cg, v_from, v_stop);
        LLVMValueRef v_ours = zf_cg_icmp(cg, LLVMIntULT, v_k, s->v_count);
        v_ours = zf_cg_within(cg, v_ours, "groups of tiles before and behind");
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_ours, zf_cg_sub(cg, v_stop, v_from), v_zero), s->v_lengths[k]);
        LLVMValueRef v_source = LLVMBuildLoad2(cg->builder, cg->ty_i64, s->v_sources[k], "");
        LLVMBuildStore(cg->builder, s->cut(s, v_source, v_from), s->v_sources[k]);
    }
}

void zf_simt_span_take(zf_simt_span *s, zf_span_row *r, LLVMValueRef v_row) {
    zf_cg *cg = s->lower->cg;
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "groups_whole"), bb_some = zf_cg_block(cg, "groups_some"),
                      bb_taken = zf_cg_block(cg, "groups_taken"), bb_edges = zf_cg_block(cg, "groups_edges"),
                      bb_cut = zf_cg_block(cg, "groups_cut");
    LLVMValueRef v_each = zf_cg_i32(cg, s->each), v_near = zf_cg_mul(cg, v_row, zf_cg_i32(cg, ZF_WARP * s->each));
    v_near = zf_cg_add(cg, v_near, zf_cg_mul(cg, s->v_lane, v_each));
    LLVMValueRef v_first = zf_cg_add(cg, s->v_base, zf_cg_resize(cg, v_near, cg->ty_i64, false));
    LLVMValueRef v_number = zf_cg_sub(cg, v_near, zf_cg_low_half(cg, zf_cg_sub(cg, s->v_g0, s->v_base)));
    r->v_first = v_number;
    r->v_begin = zf_cg_sub(cg, v_number, zf_cg_mul(cg, s->v_lane, v_each));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, zf_cg_add(cg, v_near, v_each), s->v_left);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_whole, "groups behind the block's last"), bb_whole, bb_some);
    zf_cg_enter(cg, bb_whole);
    // The lane's groups in the next row, where there are any.
    LLVMValueRef v_row_size = zf_cg_i32(cg, ZF_WARP * s->each), v_next = zf_cg_add(cg, v_near, v_row_size);
    LLVMValueRef v_has_next = zf_cg_icmp(cg, LLVMIntULT, v_next, s->v_left);
    take_whole(s, v_first, zf_cg_select(cg, v_has_next, v_row_size, zf_cg_i32(cg, 0)));
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_some);
    take_some(s, v_first);
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

// Elements of the lane's groups before group v_k of it (i32, one that it has), and of that group.
static LLVMValueRef elements_before(const zf_simt_span *s, const zf_span_row *r, LLVMValueRef v_packed, LLVMValueRef v_k,
                                    LLVMValueRef *v_length) {
    zf_cg *cg = s->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_sum = zf_cg_i32(cg, 0), v_next = v_sum;
    if (v_packed != NULL) {
        LLVMValueRef v_bit = nibble_bit(cg, v_k), v_four = zf_cg_i32(cg, 4), v_bytes = zf_cg_i32(cg, 0x0f0f0f0f);
        LLVMValueRef v_above = LLVMBuildShl(b, zf_cg_i32(cg, UINT32_MAX), v_bit, "");
        LLVMValueRef v_below = zf_cg_and(cg, v_packed, LLVMBuildNot(b, v_above, ""));
        *v_length = zf_cg_and(cg, LLVMBuildLShr(b, v_packed, v_bit, ""), zf_cg_i32(cg, 15));
        v_sum = zf_cg_and(cg, LLVMBuildLShr(b, v_below, v_four, ""), v_bytes);
        v_sum = zf_cg_add(cg, zf_cg_and(cg, v_below, v_bytes), v_sum); // of two each, in bytes
        return LLVMBuildLShr(b, zf_cg_mul(cg, v_sum, zf_cg_i32(cg, 0x01010101)), zf_cg_i32(cg, 24), "");
    }
    *v_length = r->v_lengths[0];
    for (unsigned k = 1; k < s->each; k++) {
        LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, v_k, zf_cg_i32(cg, k));
        v_next = zf_cg_add(cg, v_next, r->v_lengths[k - 1]);
        v_sum = zf_cg_select(cg, v_behind, v_next, v_sum);
        *v_length = zf_cg_select(cg, v_behind, r->v_lengths[k], *v_length);
    }
    return v_sum;
}

// A state between tiles must be of a group that has the byte where the next one begins.
static void check_mark(zf_simt_span *s, const zf_span_row *r, LLVMValueRef v_here, LLVMValueRef v_packed, LLVMValueRef v_mark) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_g = zf_simt_shuffle(s->lower, s->v_mark_g, v_mark), v_o = zf_simt_shuffle(s->lower, s->v_mark_o, v_mark);
    LLVMValueRef v_k = zf_cg_sub(cg, v_g, r->v_first), v_length;
    LLVMBasicBlockRef bb_mine = zf_cg_block(cg, "mark"), bb_next = zf_cg_block(cg, "mark_next");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_k, zf_cg_i32(cg, s->each)), bb_mine, bb_next);
    zf_cg_enter(cg, bb_mine);
    LLVMValueRef v_at = elements_before(s, r, v_packed, v_k, &v_length);
    v_at = zf_cg_add(cg, zf_cg_add(cg, zf_cg_add(cg, v_here, r->v_before), v_at), v_o);
    LLVMValueRef v_tile = zf_cg_mul(cg, zf_cg_add(cg, v_mark, zf_cg_i32(cg, 1)), zf_cg_i32(cg, s->lower->kernel->tile));
    LLVMValueRef v_there = zf_cg_icmp(cg, LLVMIntEQ, v_at, v_tile), v_has = zf_cg_icmp(cg, LLVMIntULT, v_o, v_length);
    zf_simt_span_note(s, zf_cg_not(cg, zf_cg_and(cg, v_there, v_has)), "states between the tiles");
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

// Those of the row; few rows have one.
static void check_marks(zf_simt_span *s, const zf_span_row *r, LLVMValueRef v_here) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    if (s->tiles == 1 || zf_cg_site(cg, ZF_SITE_CHECK, "states between the tiles of a row")) return;
    LLVMBasicBlockRef bb_check = zf_cg_block(cg, "marks"), bb_checked = zf_cg_block(cg, "marks_checked");
    LLVMValueRef v_away = zf_cg_sub(cg, s->v_mark_g, r->v_begin);
    LLVMValueRef v_here_is = zf_cg_icmp(cg, LLVMIntULT, v_away, zf_cg_i32(cg, ZF_WARP * s->each));
    zf_cg_cond_br(cg, zf_simt_any(lower, v_here_is), bb_check, bb_checked);
    zf_cg_enter(cg, bb_check);
    LLVMValueRef v_packed = pack_lengths(s, r);
    zf_turns marks;
    zf_turns_begin(cg, &marks, zf_cg_i32(cg, 0), 1, zf_cg_i32(cg, s->tiles - 1), "mark_of_row");
    check_mark(s, r, v_here, v_packed, marks.v_i);
    zf_turns_end(cg, &marks);
    zf_cg_br(cg, bb_checked);
    zf_cg_enter(cg, bb_checked);
}

void zf_simt_span_fits_begin(zf_simt_span *s, const zf_span_row *r, LLVMBasicBlockRef *bb_done, LLVMValueRef *v_here) {
    zf_cg *cg = s->lower->cg;
    *v_here = LLVMBuildLoad2(cg->builder, cg->ty_i32, s->v_here, "");
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, r->v_total, zf_cg_sub(cg, s->v_size, *v_here));
    zf_simt_span_note(s, zf_cg_not(cg, v_fits), "bytes behind the tile");
    check_marks(s, r, *v_here);
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "row_fits");
    *bb_done = zf_cg_block(cg, "row_done");
    zf_cg_cond_br(cg, zf_cg_within(cg, v_fits, "rows that fit into the tile"), bb_put, *bb_done); // all lanes the same
    zf_cg_enter(cg, bb_put);
}

void zf_simt_span_fits_end(zf_simt_span *s, const zf_span_row *r, LLVMBasicBlockRef bb_done, LLVMValueRef v_here) {
    zf_cg *cg = s->lower->cg;
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_here, r->v_total), s->v_here);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// ---- The tiles ------------------------------------------------------------------------------------------------

// Each lane looks at one of the states between the tiles, of which there are `v_states`.
static void find_marks(zf_simt_span *s, LLVMValueRef v_first, LLVMValueRef v_states, uint32_t field_g, uint32_t field_o) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    if (s->tiles == 1) return;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_lane = zf_cg_resize(cg, s->v_lane, cg->ty_i64, false);
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, v_lane, v_states);
    v_has = zf_cg_holds(cg, ZF_SITE_MASK, v_has, "lanes that have a state between tiles");
    lower->v_tile = zf_cg_add(cg, v_first, zf_cg_select(cg, v_has, v_lane, v_zero));
    LLVMValueRef v_g = zf_simt_seek_next(lower, field_g, v_zero), v_o = zf_simt_seek_next(lower, field_o, v_zero);
    LLVMValueRef v_number = zf_cg_sub(cg, v_g, s->v_g0);
    LLVMValueRef v_from = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_number, v_zero), s->v_o0, v_zero);
    v_o = zf_cg_sub(cg, v_o, v_from); // of the first group a part is taken
    LLVMValueRef v_outside = zf_cg_icmp(cg, LLVMIntUGE, v_number, zf_cg_sub(cg, s->v_end, s->v_g0));
    v_outside = zf_cg_or(cg, v_outside, zf_cg_icmp(cg, LLVMIntUGE, v_o, zf_cg_i64(cg, UINT64_C(1) << 31)));
    zf_simt_span_note(s, zf_cg_and(cg, v_has, v_outside), "states between the tiles outside their groups");
    LLVMValueRef v_none = zf_cg_i32(cg, 2 * MOST_GROUPS); // no lane has that group
    s->v_mark_g = zf_cg_select(cg, v_has, zf_cg_low_half(cg, v_number), v_none);
    s->v_mark_o = zf_cg_low_half(cg, v_o);
}

// Where the tiles lie among the groups; none where the states cannot be.
static void find_ends(zf_simt_span *s) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_first = lower->v_tile, v_groups = s->v_groups;
    uint32_t field_g = zf_lower_root_field(lower, ZF_SEEK_GROUP), field_o = zf_lower_root_field(lower, ZF_SEEK_OFFSET);
    s->v_g0 = zf_simt_seek(lower, field_g, v_zero);
    s->v_o0 = zf_simt_seek(lower, field_o, v_zero);
    LLVMValueRef v_states = zf_cg_sub(cg, s->v_number, zf_cg_i64(cg, 1)); // between two tiles
    lower->v_tile = zf_cg_add(cg, v_first, v_states);
    LLVMValueRef v_g1 = zf_simt_seek_next(lower, field_g, v_groups); // the last tile ends behind the last group
    s->v_o1 = zf_simt_seek_next(lower, field_o, v_zero);
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
    s->v_count = zf_cg_low_half(cg, zf_cg_sub(cg, s->v_end, s->v_g0));
    LLVMValueRef v_most = zf_cg_i32(cg, s->each + 1), v_many = zf_cg_icmp(cg, LLVMIntUGT, s->v_count, v_most);
    s->v_between = zf_cg_select(cg, v_many, zf_cg_sub(cg, s->v_count, v_most), zf_cg_i32(cg, 0));
    find_marks(s, v_first, v_states, field_g, field_o);
    lower->v_tile = v_first;
    s->v_begins_stored = zf_cg_icmp(cg, LLVMIntNE, v_first, v_zero);
    s->v_o0 = zf_cg_resize(cg, s->v_o0, s->ty_length, false);
    s->v_o1 = zf_cg_resize(cg, s->v_o1, s->ty_length, false);
}

LLVMValueRef zf_simt_span_tiles(zf_lower *lower) {
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
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_count = zf_lower_count(lower, lower->kernel->edge), v_tile = zf_cg_i64(cg, lower->kernel->tile);
    LLVMValueRef v_left = zf_cg_sub(cg, zf_simt_span_tiles(lower), lower->v_tile);
    s->v_number = zf_cg_clamp(cg, zf_cg_i64(cg, s->tiles), v_left, "tiles of the block");
    s->v_lo = zf_cg_umin(cg, zf_cg_mul(cg, lower->v_tile, v_tile), v_count);
    LLVMValueRef v_hi = zf_cg_mul(cg, zf_cg_add(cg, lower->v_tile, s->v_number), v_tile);
    v_hi = zf_cg_clamp(cg, v_hi, v_count, "end of the tiles");
    s->v_size = zf_cg_resize(cg, zf_cg_sub(cg, v_hi, s->v_lo), cg->ty_i32, false);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, s->v_lo);
    LLVMValueRef v_address = LLVMBuildPtrToInt(cg->builder, v_to, cg->ty_i64, "");
    s->v_lead = zf_cg_and(cg, zf_cg_resize(cg, v_address, cg->ty_i32, false), zf_cg_i32(cg, ZF_SPAN_CHUNK - 1));
}

void zf_simt_span_begin(zf_simt_span *s) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    s->v_lane = zf_simt_lane(lower);
    s->v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    s->v_here = zf_cg_alloca(cg, cg->ty_i32, "here");
    for (unsigned k = 0; k < s->each; k++) {
        s->v_sources[k] = zf_cg_alloca(cg, cg->ty_i64, "source");
        s->v_lengths[k] = zf_cg_alloca(cg, s->ty_length, "length");
    }
    find_bytes(s);
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    s->v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    find_ends(s);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), s->v_here);
}

void zf_simt_span_rows_begin(zf_simt_span *s, zf_cg_loop *loop) {
    zf_cg *cg = s->lower->cg;
    // Lanes begin at multiples of what they take, so that their loads are aligned.
    s->v_base = zf_cg_and(cg, s->v_g0, zf_cg_i64(cg, ~(uint64_t)(s->each - 1)));
    LLVMValueRef v_left = zf_cg_sub(cg, s->v_groups, s->v_base), v_most = zf_cg_i64(cg, 2 * MOST_GROUPS);
    s->v_left = zf_cg_low_half(cg, zf_cg_umin(cg, v_left, v_most));
    LLVMValueRef v_touched = zf_cg_low_half(cg, zf_cg_sub(cg, s->v_end, s->v_base)), v_row = zf_cg_i32(cg, ZF_WARP * s->each);
    LLVMValueRef v_rows = zf_cg_add(cg, v_touched, zf_cg_i32(cg, ZF_WARP * s->each - 1));
    v_rows = LLVMBuildUDiv(cg->builder, v_rows, v_row, "");
    v_rows = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, s->v_g0, s->v_end), v_rows, zf_cg_i32(cg, 0));
    zf_cg_loop_begin(cg, loop, zf_cg_i32(cg, 0), v_rows, "row");
}

void zf_simt_span_end(zf_simt_span *s, LLVMBasicBlockRef *bb_made) {
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_sum = LLVMBuildLoad2(cg->builder, cg->ty_i32, s->v_here, "");
    zf_simt_span_note(s, zf_cg_icmp(cg, LLVMIntNE, v_sum, s->v_size), "sum of the sizes");
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, s->v_bad, "");
    v_bad = zf_simt_any(lower, zf_cg_or(cg, v_bad, zf_cg_not(cg, zf_lower_none_failed(lower))));
    LLVMBasicBlockRef bb_bad = zf_cg_block(cg, "tiles_bad"), bb_well = zf_cg_block(cg, "tiles_well");
    *bb_made = zf_cg_block(cg, "tiles_made");
    zf_cg_cond_br(cg, v_bad, bb_bad, bb_well);
    zf_cg_enter(cg, bb_bad);
    zf_simt_call_hard(lower);
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
    zf_lower *lower = s->lower;
    zf_cg *cg = lower->cg;
    zf_span_wanted wanted = {.v_begin = s->v_lead, .v_end = zf_cg_add(cg, s->v_lead, s->v_size)};
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
    zf_turns_end(cg, &bytes);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

LLVMValueRef zf_simt_span_stop(zf_lower *lower, uint32_t span) {
    zf_cg *cg = lower->cg;
    uint32_t field = zf_lower_root_field(lower, ZF_SEEK_GROUP);
    LLVMValueRef v_one = zf_cg_i64(cg, 1), v_end = zf_cg_alloca(cg, cg->ty_i64, "stop");
    LLVMValueRef v_most = zf_cg_add(cg, lower->v_tile, zf_cg_i64(cg, span));
    v_most = zf_cg_clamp(cg, v_most, zf_simt_span_tiles(lower), "tiles of the block");
    LLVMBasicBlockRef bb_next = zf_cg_block(cg, "tile_next"), bb_follows = zf_cg_block(cg, "tile_follows"),
                      bb_compare = zf_cg_block(cg, "tile_compare"), bb_more = zf_cg_block(cg, "tile_more"),
                      bb_end = zf_cg_block(cg, "tiles_end");
    LLVMBuildStore(cg->builder, zf_cg_add(cg, lower->v_tile, v_one), v_end);
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

// Groups that are strings: element j of group g is byte j of a string that g alone says, as in a list of words. A warp makes a
// tile of the bytes: row by row its lanes find the strings of 32 * C groups, and all of them copy (simt_text.c). The file says
// where the tile begins and ends among the groups; their bytes, less what lies before and behind, must be the tile's.
#include "codegen/cg_frame.h"
#include "codegen/simt_text.h"

enum { EACH = ZF_TEXT_EACH };

typedef struct words {
    zf_lower *lower;
    const zf_expr *access;
    zf_simt_tile tile;
    LLVMValueRef v_g0, v_o0, v_end, v_o1;          // groups g0..end, of the first from o0 on, of the last up to o1 (0: all)
    LLVMValueRef v_bad;                            // slot (i1): the states lie
    LLVMValueRef v_sources[EACH], v_lengths[EACH]; // slots (i64)
} words;

static void note_bad(words *w, LLVMValueRef v_bad, const char *what) {
    zf_cg *cg = w->lower->cg;
    if (zf_cg_site(cg, ZF_SITE_CHECK, what)) return;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, w->v_bad, ""), v_bad), w->v_bad);
}

// The string of a group and its size; `env` says where.
static void take(words *w, zf_lower_env *env, unsigned k, bool inner) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_from = v_zero;
    LLVMValueRef v_size = zf_cg_resize(cg, zf_cg_eval_body(cg, &env->env, &env->env.inst->size).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    env->v_j = v_zero;
    zf_cg_value text = zf_cg_eval_expr(cg, &env->env, &env->env.inst->decode, w->access->a, NULL, 0);
    cg->v_guard = NULL;
    LLVMValueRef v_stop = v_size;
    if (!inner) {
        LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, env->v_g, w->v_g0);
        LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_add(cg, env->v_g, zf_cg_i64(cg, 1)), w->v_end);
        LLVMValueRef v_cut = zf_cg_and(cg, v_last, zf_cg_icmp(cg, LLVMIntNE, w->v_o1, v_zero));
        LLVMValueRef v_stored = zf_cg_and(cg, v_first, zf_cg_icmp(cg, LLVMIntNE, lower->v_tile, v_zero));
        note_bad(w, zf_cg_and(cg, v_cut, zf_cg_icmp(cg, LLVMIntUGE, w->v_o1, v_size)), "the tile's end inside its last group");
        v_from = zf_cg_select(cg, v_first, w->v_o0, v_zero);
        v_stop = zf_cg_select(cg, v_cut, w->v_o1, v_size);
        note_bad(w, zf_cg_and(cg, v_stored, zf_cg_icmp(cg, LLVMIntUGE, v_from, v_stop)),
                 "the tile's begin inside its first group");
        v_from = zf_cg_umin(cg, v_from, v_stop);
    }
    if (!w->access->proved) {
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_stop, text.seq.v_length);
        int32_t number = zf_plan_check(lower->plan, lower->kernel->root, w->access->span, 1);
        if (number < 0) zf_cg_unsupported(cg, w->access->span, "the plan has no check V01 here");
        zf_lower_check(lower, v_over, number < 0 ? 0 : (uint32_t)number, "V01, of a group's string");
        v_stop = zf_cg_select(cg, v_over, v_from, v_stop);
    }
    LLVMBuildStore(cg->builder, zf_cg_add(cg, zf_lower_text_address(lower, &text), v_from), w->v_sources[k]);
    LLVMBuildStore(cg->builder, zf_cg_sub(cg, v_stop, v_from), w->v_lengths[k]);
}

// A lane's groups, all of them between the tile's first and its last: what they read is loaded together.
static void take_inner(words *w, LLVMValueRef v_first) {
    zf_lower *lower = w->lower;
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, v_first, EACH);
    for (unsigned k = 0; k < EACH; k++) {
        zf_lower_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        env.v_g = env.v_i;
        env.v_i = NULL;
        take(w, &env, k, true);
    }
    zf_simt_lanes_end(lower, &lanes);
}

// Those that the tile has, one by one.
static void take_some(words *w, LLVMValueRef v_first) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    for (unsigned k = 0; k < EACH; k++) {
        LLVMBasicBlockRef bb_one = zf_cg_block(cg, "group"), bb_next = zf_cg_block(cg, "group_next");
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w->v_sources[k]);
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w->v_lengths[k]);
        zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.v_g = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, env.v_g, w->v_g0),
                     v_before = zf_cg_icmp(cg, LLVMIntULT, env.v_g, w->v_end);
        zf_cg_cond_br(cg,
                      zf_cg_and(cg, zf_cg_within(cg, v_begun, "groups of tiles before"),
                                zf_cg_within(cg, v_before, "groups of tiles behind")),
                      bb_one, bb_next);
        zf_cg_enter(cg, bb_one);
        take(w, &env, k, false);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

static void take_groups(words *w, LLVMValueRef v_first) {
    zf_cg *cg = w->lower->cg;
    LLVMBasicBlockRef bb_inner = zf_cg_block(cg, "groups_inner"), bb_some = zf_cg_block(cg, "groups_some"),
                      bb_taken = zf_cg_block(cg, "groups_taken");
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGT, v_first, w->v_g0);
    LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_first, zf_cg_i64(cg, EACH)), w->v_end);
    LLVMValueRef v_inner = zf_cg_and(cg, zf_cg_within(cg, v_begun, "groups behind the first"),
                                     zf_cg_within(cg, v_goes_on, "groups before the last"));
    zf_cg_cond_br(cg, v_inner, bb_inner, bb_some);
    zf_cg_enter(cg, bb_inner);
    take_inner(w, v_first);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_some);
    take_some(w, v_first);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_taken);
}

// Where the tile lies among the groups; none where the states cannot be.
static void find_ends(words *w, LLVMValueRef v_groups) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0);
    uint32_t field_g = zf_lower_root_field(lower, ZF_SEEK_GROUP), field_o = zf_lower_root_field(lower, ZF_SEEK_OFFSET);
    w->v_g0 = zf_simt_seek(lower, field_g, v_zero);
    w->v_o0 = zf_simt_seek(lower, field_o, v_zero);
    LLVMValueRef v_g1 = zf_simt_seek_next(lower, field_g, v_groups); // the last tile ends behind the last group
    w->v_o1 = zf_simt_seek_next(lower, field_o, v_zero);
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntNE, w->v_o1, v_zero);
    w->v_end = zf_cg_add(cg, v_g1, zf_cg_resize(cg, v_inside, cg->ty_i64, false));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, v_g1, v_groups), v_few = zf_cg_icmp(cg, LLVMIntULE, w->v_end, v_groups),
                 v_ordered = zf_cg_icmp(cg, LLVMIntULE, w->v_g0, w->v_end);
    LLVMValueRef v_ok = zf_cg_and(cg, v_whole, zf_cg_holds(cg, ZF_SITE_CHECK, v_few, "groups that the tile touches"));
    v_ok = zf_cg_and(cg, v_ok, zf_cg_holds(cg, ZF_SITE_CHECK, v_ordered, "the tile's first group before its last"));
    LLVMBuildStore(cg->builder, zf_cg_not(cg, v_ok), w->v_bad);
    w->v_g0 = zf_cg_select(cg, v_ok, w->v_g0, v_zero);
    w->v_end = zf_cg_select(cg, v_ok, w->v_end, v_zero);
}

void zf_simt_words(zf_lower *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    words w = {.lower = lower, .access = zf_lower_string_access(lower->plan, lower->kernel)};
    w.tile = zf_simt_tile_of(lower);
    w.v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    for (unsigned k = 0; k < EACH; k++) {
        w.v_sources[k] = zf_cg_alloca(cg, cg->ty_i64, "source");
        w.v_lengths[k] = zf_cg_alloca(cg, cg->ty_i64, "length");
    }
    zf_simt_text text;
    zf_simt_text_tables(&text, lower, shape->shared_bytes - zf_simt_text_bytes());
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    LLVMValueRef v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    find_ends(&w, v_groups);
    LLVMValueRef v_at = zf_cg_alloca(cg, cg->ty_i64, "at");
    LLVMBuildStore(cg->builder, w.tile.v_lo, v_at);
    // Lanes begin at multiples of what they take, so that their loads are aligned.
    LLVMValueRef v_begin = zf_cg_and(cg, w.v_g0, zf_cg_i64(cg, ~(uint64_t)(EACH - 1))), v_row = zf_cg_i64(cg, ZF_WARP * EACH);
    LLVMValueRef v_rows = zf_cg_add(cg, zf_cg_sub(cg, w.v_end, v_begin), zf_cg_i64(cg, ZF_WARP * EACH - 1));
    v_rows = LLVMBuildUDiv(cg->builder, v_rows, v_row, "");
    v_rows = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, w.v_g0, w.v_end), v_rows, zf_cg_i64(cg, 0));
    LLVMValueRef v_lane = zf_cg_mul(cg, zf_cg_resize(cg, zf_simt_lane(lower), cg->ty_i64, false), zf_cg_i64(cg, EACH));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_rows, "row");
    take_groups(&w, zf_cg_add(cg, zf_cg_add(cg, v_begin, zf_cg_mul(cg, loop.v_i, v_row)), v_lane));
    zf_simt_text_row row;
    for (unsigned k = 0; k < EACH; k++) {
        row.v_sources[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w.v_sources[k], "");
        row.v_lengths[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w.v_lengths[k], "");
    }
    zf_simt_text_sum(&text, &row);
    LLVMValueRef v_here = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_at, ""), v_room = zf_cg_sub(cg, w.tile.v_hi, v_here);
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, row.v_total, v_room);
    note_bad(&w, zf_cg_not(cg, v_fits), "bytes behind the tile");
    v_fits = zf_cg_within(cg, v_fits, "rows that fit into the tile");
    LLVMValueRef v_total = zf_cg_select(cg, v_fits, row.v_total, zf_cg_i64(cg, 0));
    zf_simt_text_copy(&text, &row, v_total, zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_here));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_here, v_total), v_at);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    note_bad(&w, zf_cg_icmp(cg, LLVMIntNE, LLVMBuildLoad2(cg->builder, cg->ty_i64, v_at, ""), w.tile.v_hi), "sum of the sizes");
    // What failed before is the reason of all that follows.
    LLVMValueRef v_failed = zf_simt_any(lower, zf_cg_not(cg, zf_lower_none_failed(lower)));
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, w.v_bad, "");
    zf_lower_fail(lower, zf_cg_and(cg, v_bad, zf_cg_not(cg, v_failed)), (uint32_t)lower->kernel->end_check);
    zf_lower_report(lower, w.tile.v_lo);
}

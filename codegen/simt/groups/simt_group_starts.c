// Where the groups of an expansion begin in a tile.
//
// The file says at which group and offset the tile begins and ends, so its groups are known. The block walks them in chunks, a
// few consecutive ones a thread, and a scan over their sizes gives each its place in the tile. A group that begins in the tile
// (or before it, for the first) sets a bit at its first element, its *start*. Where no group can be empty the number of starts up
// to an element says its group; else every start leaves its group's number, and the last start before an element, found by
// counting leading zeros, is its group's.
#include "codegen/simt/groups/simt_group_starts.h"

#include "codegen/simt/groups/simt_tree.h"

enum {
    WORDS_EACH = 4,
    FEW = 4, // neighbours
};

static void note_bad(zf_simt_group_starts *t, LLVMValueRef v_bad) {
    zf_cg *cg = t->lower->cg;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, t->v_bad, ""), v_bad), t->v_bad);
}

void zf_simt_group_starts_count_groups(zf_simt_group_starts *t) {
    zf_cg *cg = t->lower->cg;
    zf_kernel_env env = zf_lower_env_make(t->lower, t->node);
    t->v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
}

// ---- Where the tile begins and ends ---------------------------------------------------------------------------

void zf_simt_group_starts_ends(zf_simt_group_starts *t, LLVMValueRef v_pulled, LLVMValueRef v_exists) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0);
    uint32_t field_g = (uint32_t)zf_lower_field(lower, ZF_SEEK_GROUP, t->node, 0);
    uint32_t field_o = (uint32_t)zf_lower_field(lower, ZF_SEEK_OFFSET, t->node, 0);
    t->v_g0 = zf_simt_seek(lower, field_g, v_zero);
    t->v_o0 = zf_simt_seek(lower, field_o, v_zero);
    LLVMValueRef v_g1 =
        zf_simt_seek_next(lower, field_g, t->v_groups, "state behind the last tile"); // the last tile ends behind the last group
    t->v_o1 = zf_simt_seek_next(lower, field_o, v_zero, "state behind the last tile");
    t->v_stop = t->v_o1;
    if (v_pulled != NULL) { // behind the last group there is none to pull
        LLVMValueRef v_inner = zf_cg_icmp(cg, LLVMIntULT, v_g1, t->v_groups);
        LLVMValueRef v_has = zf_cg_and(cg, v_pulled, v_inner);
        LLVMValueRef v_lies = zf_cg_and(cg, zf_cg_and(cg, v_pulled, v_exists), zf_cg_not(cg, v_inner));
        if (!zf_cg_site(cg, ZF_SITE_CHECK, "a pulled element in no group")) note_bad(t, v_lies);
        t->v_stop = zf_cg_add(cg, t->v_o1, zf_cg_resize(cg, v_has, cg->ty_i64, false));
    }
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntNE, t->v_stop, v_zero);
    LLVMValueRef v_end = zf_cg_add(cg, v_g1, zf_cg_resize(cg, v_inside, cg->ty_i64, false));
    // g0 <= end <= groups; and g1 + 1 must not wrap
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntULE, v_end, t->v_groups),
                 v_whole = zf_cg_icmp(cg, LLVMIntULE, v_g1, t->v_groups);
    LLVMValueRef v_ok = zf_cg_and(cg, v_whole, zf_cg_holds(cg, ZF_SITE_CHECK, v_begun, "groups that the tile touches"));
    LLVMValueRef v_ordered = zf_cg_icmp(cg, LLVMIntULE, t->v_g0, v_end);
    v_ok = zf_cg_and(cg, v_ok, zf_cg_holds(cg, ZF_SITE_CHECK, v_ordered, "the tile's first group before its last"));
    if (t->never_empty) { // there are no more of them than elements: for so many stages beneath have tables
        LLVMValueRef v_few = zf_cg_icmp(cg, LLVMIntULE, zf_cg_sub(cg, v_end, t->v_g0), zf_cg_i64(cg, lower->kernel->tile));
        v_ok = zf_cg_and(cg, v_ok, v_few);
    }
    note_bad(t, zf_cg_not(cg, v_ok));
    t->v_end = zf_cg_select(cg, v_ok, v_end, v_zero);
    t->v_g0 = zf_cg_select(cg, v_ok, t->v_g0, v_zero);
}

// ---- Sizes ----------------------------------------------------------------------------------------------------

// A size as i32. All sizes above the largest tile are alike.
static LLVMValueRef bounded(zf_simt_group_starts *t, LLVMValueRef v_size) {
    zf_cg *cg = t->lower->cg;
    v_size = zf_cg_clamp(cg, v_size, LLVMConstInt(LLVMTypeOf(v_size), 2 * (uint64_t)t->tile, 0), "sizes larger than a tile");
    return zf_cg_resize(cg, v_size, cg->ty_i32, false);
}

// The same of a group that is not cut: its body may show that no group is larger. States may say anything of the others.
static LLVMValueRef bounded_whole(zf_simt_group_starts *t, LLVMValueRef v_size) {
    return t->never_large ? zf_cg_resize(t->lower->cg, v_size, t->lower->cg->ty_i32, false) : bounded(t, v_size);
}

static LLVMValueRef near_const(const zf_simt_group_starts *t, uint64_t value) {
    return LLVMConstInt(LLVMTypeOf(t->v_number), value, 0);
}

// The group at a place of the walk (i64).
static LLVMValueRef group_at(zf_simt_group_starts *t, LLVMValueRef v_near) {
    zf_cg *cg = t->lower->cg;
    return zf_cg_add(cg, t->v_begin, zf_cg_resize(cg, v_near, cg->ty_i64, false));
}

// Whether sizes are found in another stage, several at once: their numbers are those in the tile.
static bool pulls_together(const zf_simt_group_starts *t) {
    return t->pulls_sizes && (t->never_empty || t->group_bytes == ZF_SIMT_NARROW_BYTES);
}

// Goes on in a block where the group at v_which is among this thread's, from v_near on; *v_k its number there, which it returns
// the size of.
static LLVMValueRef at_edge(zf_simt_group_starts *t, LLVMValueRef v_near, LLVMValueRef v_which, LLVMValueRef v_if,
                            const LLVMValueRef *v_raw, LLVMBasicBlockRef bb_next, LLVMValueRef *v_k) {
    zf_cg *cg = t->lower->cg;
    LLVMBasicBlockRef bb_edge = zf_cg_block(cg, "edge");
    *v_k = zf_cg_sub(cg, v_which, v_near);
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntULT, *v_k, near_const(t, t->each));
    zf_cg_cond_br(cg, zf_cg_and(cg, v_if, v_mine), bb_edge, bb_next);
    zf_cg_enter(cg, bb_edge);
    LLVMValueRef v_size = v_raw[0];
    for (unsigned k = 1; k < t->each; k++) {
        v_size = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, *v_k, near_const(t, k)), v_raw[k], v_size);
    }
    return v_size;
}

static void set_slot(zf_simt_group_starts *t, LLVMValueRef v_k, LLVMValueRef v_size, LLVMValueRef *v_slots,
                     LLVMBasicBlockRef bb_next) {
    zf_cg *cg = t->lower->cg;
    for (unsigned k = 0; k < t->each; k++) {
        LLVMValueRef v_this = zf_cg_icmp(cg, LLVMIntEQ, v_k, near_const(t, k));
        LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, cg->ty_i32, v_slots[k], "");
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_this, v_size, v_before), v_slots[k]);
    }
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

// Cuts the tile's first group and its last, where they are among this thread's, whose sizes are v_raw.
static void cut_ends(zf_simt_group_starts *t, LLVMValueRef v_near, const LLVMValueRef *v_raw, LLVMValueRef *v_slots) {
    zf_cg *cg = t->lower->cg;
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "edge_first"), bb_cut = zf_cg_block(cg, "edges_cut");
    LLVMValueRef v_last = zf_cg_sub(cg, t->v_number, near_const(t, 1)), v_k;
    LLVMValueRef v_is_cut = zf_cg_icmp(cg, LLVMIntNE, t->v_stop, zf_cg_i64(cg, 0)), v_stop = t->v_stop;
    // A tile ends inside its last group, and begins inside its first, which has elements: only the block's first groups may be
    // empty where a tile begins.
    LLVMValueRef v_size = at_edge(t, v_near, v_last, v_is_cut, v_raw, bb_first, &v_k);
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, t->v_o1, v_size);
    if (!zf_cg_site(cg, ZF_SITE_CHECK, "the tile's end inside its last group")) note_bad(t, v_behind);
    set_slot(t, v_k, bounded(t, v_stop), v_slots, bb_first);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntULT, t->v_skew, t->v_number);
    v_size = at_edge(t, v_near, t->v_skew, v_some, v_raw, bb_cut, &v_k);
    LLVMValueRef v_only = zf_cg_and(cg, v_is_cut, zf_cg_icmp(cg, LLVMIntEQ, t->v_skew, v_last));
    v_size = zf_cg_select(cg, v_only, v_stop, v_size);
    LLVMValueRef v_skip = t->v_o0, v_outside = zf_cg_icmp(cg, LLVMIntUGE, v_skip, v_size);
    LLVMValueRef v_stored = zf_cg_icmp(cg, LLVMIntNE, t->lower->simt->v_tile, zf_cg_i64(cg, 0));
    if (!zf_cg_site(cg, ZF_SITE_CHECK, "the tile's begin inside its first group"))
        note_bad(t, zf_cg_and(cg, v_stored, v_outside));
    set_slot(t, v_k, bounded(t, zf_cg_sub(cg, v_size, zf_cg_umin(cg, v_skip, v_size))), v_slots, bb_cut);
}

// A group's size; `env` says where it is.
static LLVMValueRef size_at(zf_simt_group_starts *t, zf_kernel_env *env) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_size = zf_cg_eval_body(cg, &env->env, &env->env.inst->size).v;
    cg->v_guard = NULL;
    return v_size;
}

// The sizes of a thread's groups from v_near on, all of which exist; what is wrong with those not `v_inside` the tile (NULL: all
// are) does not count.
static void take_lanes(zf_simt_group_starts *t, LLVMValueRef v_near, const LLVMValueRef *v_inside, LLVMValueRef *v_raw) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, group_at(t, v_near), t->each);
    lanes.fetch = t->fetch;
    if (LLVMTypeOf(v_near) == cg->ty_i32) {
        lanes.v_base = t->v_begin;
        lanes.v_near = v_near;
    }
    for (unsigned k = 0; k < t->each; k++) {
        zf_kernel_env env = zf_simt_lane_env(lower, t->node, &lanes, k);
        env.v_g = env.v_i;
        env.v_i = NULL;
        if (v_inside != NULL) {
            env.v_counts = v_inside[k];
            env.env.precedes = false;
        }
        zf_simt_position position = zf_simt_position_of_group(t, env.v_g);
        env.simt.position = &position;
        v_raw[k] = size_at(t, &env);
    }
    zf_simt_lanes_end(lower, &lanes);
}

// The same of sizes that are elements of another stage, which are found together. Groups behind the tile's last stand for it.
static void pull_lanes(zf_simt_group_starts *t, LLVMValueRef v_near, const LLVMValueRef *v_inside, LLVMValueRef *v_raw) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_last = v_inside == NULL ? NULL : zf_cg_sub(cg, t->v_number, near_const(t, 1));
    zf_simt_neighbours neighbours = {.count = t->each};
    for (unsigned k = 0; k < t->each; k++) {
        neighbours.v_ranks[k] = zf_cg_add(cg, v_near, near_const(t, k));
        if (k > 0 && v_last != NULL) neighbours.v_ranks[k] = zf_cg_umin(cg, neighbours.v_ranks[k], v_last);
    }
    zf_simt_neighbours_begin(lower, &neighbours);
    zf_simt_found *found = zf_simt_found_along(t->tree, t->step->groups, v_near, t->each, v_last);
    for (unsigned k = 0; k < t->each; k++) {
        zf_kernel_env env = zf_lower_env_make(lower, t->node);
        zf_simt_position position = {.tree = t->tree, .v_g = neighbours.v_ranks[k], .found_g = found, .k = k, .exact = true};
        zf_simt_relative relative = {t->v_begin, neighbours.v_ranks[k], &neighbours, k, t->fetch};
        position.in_arrays_g = true;
        env.v_g = group_at(t, neighbours.v_ranks[k]);
        env.simt.position = &position;
        env.simt.relative = &relative;
        if (v_inside != NULL) env.v_counts = v_inside[k];
        v_raw[k] = size_at(t, &env);
    }
    zf_simt_found_end(lower, found);
    zf_simt_neighbours_end(lower, &neighbours);
}

static LLVMValueRef is_begun(zf_simt_group_starts *t, LLVMValueRef v_near) {
    zf_cg *cg = t->lower->cg;
    return zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntUGE, v_near, t->v_skew), "groups of tiles before");
}

static LLVMValueRef is_before_end(zf_simt_group_starts *t, LLVMValueRef v_near) {
    zf_cg *cg = t->lower->cg;
    return zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_near, t->v_number), "groups of tiles behind");
}

// The same one by one into slots: the block's last groups, which are fewer than a thread takes.
static void take_last(zf_simt_group_starts *t, LLVMValueRef v_near, LLVMTypeRef ty, LLVMValueRef *v_slots) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, near_const(t, 0), zf_cg_sub(cg, t->v_rest, v_near), "size");
    LLVMValueRef v_this = zf_cg_add(cg, v_near, loop.v_i);
    LLVMValueRef v_inside = zf_cg_and(cg, is_begun(t, v_this), is_before_end(t, v_this));
    LLVMBasicBlockRef bb_one = zf_cg_block(cg, "size_one");
    zf_cg_cond_br(cg, v_inside, bb_one, loop.bb_next);
    zf_cg_enter(cg, bb_one);
    zf_kernel_env env = zf_lower_env_make(lower, t->node);
    env.v_g = group_at(t, v_this);
    zf_simt_position position = zf_simt_position_of_group(t, env.v_g);
    env.simt.position = &position;
    LLVMValueRef v_size = zf_cg_resize(cg, size_at(t, &env), ty, false);
    for (unsigned k = 0; k < t->each; k++) {
        LLVMValueRef v_chosen = zf_cg_icmp(cg, LLVMIntEQ, loop.v_i, near_const(t, k));
        LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, ty, v_slots[k], "");
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_chosen, v_size, v_before), v_slots[k]);
    }
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// The sizes of this thread's groups, from v_near on; those outside the tile have none. v_warp is where the warp's first are: most
// warps have neither the tile's first group nor its last, which alone are cut, nor the block's last.
static void take_sizes(zf_simt_group_starts *t, LLVMValueRef v_near, LLVMValueRef v_warp, LLVMValueRef *v_slots) {
    zf_cg *cg = t->lower->cg;
    LLVMTypeRef ty = cg->ty_i64;
    LLVMBasicBlockRef bb_inner = NULL, bb_outer = NULL;
    if (t->each > 1) bb_inner = zf_cg_block(cg, "sizes_inner"), bb_outer = zf_cg_block(cg, "sizes_outer");
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "sizes_some"), bb_edge = zf_cg_block(cg, "sizes_edge");
    LLVMBasicBlockRef bb_last = zf_cg_block(cg, "sizes_last"), bb_taken = zf_cg_block(cg, "sizes_taken");
    LLVMBasicBlockRef bb_ends = zf_cg_block(cg, "sizes_ends");
    bool together = pulls_together(t);
    LLVMValueRef v_raw[ZF_SIMT_GROUPS_MOST], v_raw_slots[ZF_SIMT_GROUPS_MOST], v_inside[ZF_SIMT_GROUPS_MOST];
    for (unsigned k = 0; k < t->each; k++) v_raw_slots[k] = zf_cg_alloca(cg, ty, "raw");
    if (t->each > 1) { // one a lane is what the last ones are taken by
        LLVMValueRef v_behind = zf_cg_add(cg, v_warp, near_const(t, (uint64_t)cg->wave * t->each));
        LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, v_behind, t->v_number);
        LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGT, v_warp, t->v_skew);
        LLVMValueRef v_inner = zf_cg_and(cg, zf_cg_within(cg, v_begun, "chunks behind the first group"),
                                         zf_cg_within(cg, v_goes_on, "chunks before the last group"));
        zf_cg_cond_br(cg, v_inner, bb_inner, bb_outer);
        zf_cg_enter(cg, bb_inner);
        (together ? pull_lanes : take_lanes)(t, v_near, NULL, v_raw);
        for (unsigned k = 0; k < t->each; k++) LLVMBuildStore(cg->builder, bounded_whole(t, v_raw[k]), v_slots[k]);
        zf_cg_br(cg, bb_taken);
        zf_cg_enter(cg, bb_outer);
    }
    for (unsigned k = 0; k < t->each; k++) {
        LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), v_slots[k]);
        LLVMBuildStore(cg->builder, LLVMConstNull(ty), v_raw_slots[k]);
    }
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_near, t->v_number), bb_some, bb_taken);
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_after = zf_cg_add(cg, v_near, near_const(t, t->each));
    LLVMValueRef v_exist = zf_cg_icmp(cg, LLVMIntULE, v_after, t->v_rest);
    if (together || t->each == 1) v_exist = zf_cg_i1(cg, true); // those pulled behind the last stand for it
    zf_cg_cond_br(cg, zf_cg_within(cg, v_exist, "groups that a thread takes together"), bb_edge, bb_last);
    zf_cg_enter(cg, bb_edge);
    for (unsigned k = 0; k < t->each; k++) { // there are some: the first lies before the end, the last is begun
        LLVMValueRef v_this = zf_cg_add(cg, v_near, near_const(t, k));
        v_inside[k] = k == 0 ? is_begun(t, v_this) : is_before_end(t, v_this);
        if (k > 0 && k + 1 < t->each) v_inside[k] = zf_cg_and(cg, is_begun(t, v_this), v_inside[k]);
    }
    (together ? pull_lanes : take_lanes)(t, v_near, v_inside, v_raw);
    for (unsigned k = 0; k < t->each; k++) {
        LLVMValueRef v_size = zf_cg_resize(cg, v_raw[k], ty, false);
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_inside[k], v_size, LLVMConstNull(ty)), v_raw_slots[k]);
    }
    zf_cg_br(cg, bb_ends);
    zf_cg_enter(cg, bb_last);
    take_last(t, v_near, ty, v_raw_slots);
    zf_cg_br(cg, bb_ends);
    zf_cg_enter(cg, bb_ends);
    for (unsigned k = 0; k < t->each; k++) {
        v_raw[k] = LLVMBuildLoad2(cg->builder, ty, v_raw_slots[k], "");
        LLVMBuildStore(cg->builder, bounded_whole(t, v_raw[k]), v_slots[k]);
    }
    cut_ends(t, v_near, v_raw, v_slots);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_taken);
}

// The sum of all threads' values before this one (i32); *v_total: of all. Meets at one barrier; `v_set` (0 or 1) alternates, so
// that the next sums are not written while these are read.
static LLVMValueRef sum_before(zf_simt_group_starts *t, LLVMValueRef v, LLVMValueRef v_set, LLVMValueRef *v_total) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0);
    LLVMValueRef v_lane = zf_simt_lane(lower);
    LLVMValueRef v_warp = LLVMBuildLShr(cg->builder, lower->simt->v_thread, zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v, v_lane);
    if (t->shape->threads == cg->wave) { // the shuffles meet
        *v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
        return zf_cg_sub(cg, v_up, v);
    }
    uint32_t warps = t->shape->threads / cg->wave;
    LLVMValueRef v_sums = zf_cg_at(cg, cg->ty_i32, t->v_sums, zf_cg_mul(cg, v_set, zf_cg_i64(cg, 32)));
    LLVMBasicBlockRef bb_last = zf_cg_block(cg, "last_lane"), bb_meet = zf_cg_block(cg, "meet");
    LLVMValueRef v_is_last = zf_cg_icmp(cg, LLVMIntEQ, v_lane, zf_cg_i32(cg, cg->wave - 1));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_is_last, "the lane that has the warp's sum"), bb_last, bb_meet);
    zf_cg_enter(cg, bb_last);
    zf_cg_store(cg, v_up, zf_cg_at(cg, cg->ty_i32, v_sums, zf_cg_resize(cg, v_warp, cg->ty_i64, false)), 4);
    zf_cg_br(cg, bb_meet);
    zf_cg_enter(cg, bb_meet);
    zf_simt_barrier(lower, "sums of warps are written");
    LLVMValueRef v_before = zf_cg_sub(cg, v_up, v);
    *v_total = v_zero;
    for (uint32_t w = 0; w < warps; w++) {
        LLVMValueRef v_other = zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, v_sums, 4 * (uint64_t)w), 4);
        *v_total = zf_cg_add(cg, *v_total, v_other);
        LLVMValueRef v_earlier = zf_cg_icmp(cg, LLVMIntUGT, v_warp, zf_cg_i32(cg, w));
        v_earlier = zf_cg_holds(cg, ZF_SITE_MASK, v_earlier, "warps before this one");
        v_before = zf_cg_add(cg, v_before, zf_cg_select(cg, v_earlier, v_other, v_zero));
    }
    return v_before;
}

// ---- Starts ----------------------------------------------------------------------------------------------------

// Word v_word (i64) of bits; behind it stands what is before it.
static LLVMValueRef word_at(zf_simt_group_starts *t, LLVMValueRef v_word) {
    zf_cg *cg = t->lower->cg;
    return zf_cg_at(cg, cg->ty_i64, t->v_words, v_word);
}

void zf_simt_group_starts_clear(zf_simt_group_starts *t) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_thread = zf_cg_resize(cg, t->lower->simt->v_thread, cg->ty_i64, false);
    uint32_t words = t->tile / 32, threads = t->shape->threads;
    for (uint32_t from = 0; from < words; from += threads) {
        LLVMBasicBlockRef bb_clear = zf_cg_block(cg, "clear"), bb_next = zf_cg_block(cg, "clear_next");
        LLVMValueRef v_word = zf_cg_add(cg, v_thread, zf_cg_i64(cg, from));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_word, zf_cg_i64(cg, words));
        if (from + threads > words) v_exists = zf_cg_within(cg, v_exists, "words of bits to clear");
        zf_cg_cond_br(cg, v_exists, bb_clear, bb_next);
        zf_cg_enter(cg, bb_clear);
        zf_cg_store(cg, zf_cg_i32(cg, 0), word_at(t, v_word), 4);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

static void or_bits(zf_simt_group_starts *t, LLVMValueRef v_word, LLVMValueRef v_mask) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_at = word_at(t, zf_cg_resize(cg, v_word, cg->ty_i64, false));
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_at, v_mask, LLVMAtomicOrderingMonotonic, 0);
}

// The same where there are any.
static void set_bits(zf_simt_group_starts *t, LLVMValueRef v_word, LLVMValueRef v_mask) {
    zf_cg *cg = t->lower->cg;
    LLVMBasicBlockRef bb_set = zf_cg_block(cg, "set"), bb_next = zf_cg_block(cg, "set_next");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_mask, zf_cg_i32(cg, 0)), bb_set, bb_next);
    zf_cg_enter(cg, bb_set);
    or_bits(t, v_word, v_mask);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

static LLVMTypeRef head_type(const zf_simt_group_starts *t) {
    return LLVMIntTypeInContext(t->lower->cg->context, 8 * t->group_bytes);
}

// The group of the start at v_q (i64), where groups may be empty.
static LLVMValueRef rank_at(zf_simt_group_starts *t, LLVMValueRef v_q) {
    zf_cg *cg = t->lower->cg;
    LLVMTypeRef ty = head_type(t);
    return zf_cg_resize(cg, zf_cg_load(cg, ty, zf_cg_at(cg, ty, t->v_start_groups, v_q), t->group_bytes), cg->ty_i32, false);
}

// The starts of a thread's groups one by one; the first stands at output v_at (i32). Starts behind the tile are nobody's.
static void mark_each(zf_simt_group_starts *t, LLVMValueRef v_first, const LLVMValueRef *v_sizes, LLVMValueRef v_at) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0), v_one = zf_cg_i32(cg, 1);
    for (unsigned k = 0; k < t->each; k++) {
        LLVMBasicBlockRef bb_start = zf_cg_block(cg, "start"), bb_next = zf_cg_block(cg, "start_next");
        LLVMValueRef v_within = zf_cg_icmp(cg, LLVMIntULT, v_at, t->v_length);
        LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_sizes[k], v_zero);
        if (!t->never_empty) v_some = zf_cg_holds(cg, ZF_SITE_MASK, v_some, "groups that have elements");
        LLVMValueRef v_here = zf_cg_and(cg, v_some, zf_cg_within(cg, v_within, "starts inside the tile"));
        zf_cg_cond_br(cg, v_here, bb_start, bb_next);
        zf_cg_enter(cg, bb_start);
        LLVMValueRef v_bit = LLVMBuildShl(cg->builder, v_one, zf_cg_and(cg, v_at, zf_cg_i32(cg, 31)), "");
        or_bits(t, LLVMBuildLShr(cg->builder, v_at, zf_cg_i32(cg, 5), ""), v_bit);
        if (!t->never_empty) {
            LLVMValueRef v_g = zf_cg_sub(cg, zf_cg_add(cg, v_first, zf_cg_i64(cg, k)), t->v_g0);
            LLVMTypeRef ty = head_type(t);
            LLVMValueRef v_to = zf_cg_at(cg, ty, t->v_start_groups, zf_cg_resize(cg, v_at, cg->ty_i64, false));
            zf_cg_store(cg, zf_cg_resize(cg, v_g, ty, false), v_to, t->group_bytes);
        }
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
        v_at = zf_cg_add(cg, v_at, v_sizes[k]);
    }
}

// ORs a mask of 64 outputs from v_at on into the words of bits.
static void or_mask(zf_simt_group_starts *t, LLVMValueRef v_at, LLVMValueRef v_mask) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_word = LLVMBuildLShr(cg->builder, v_at, zf_cg_i32(cg, 5), "");
    LLVMValueRef v_shift = zf_cg_and(cg, v_at, zf_cg_i32(cg, 31)), v_half = zf_cg_i64(cg, 32);
    LLVMValueRef v_low = LLVMBuildShl(cg->builder, v_mask, zf_cg_resize(cg, v_shift, cg->ty_i64, false), "");
    LLVMValueRef v_top = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_mask, zf_cg_i64(cg, 33), ""), cg->ty_i32, false);
    v_top = LLVMBuildLShr(cg->builder, v_top, zf_cg_sub(cg, zf_cg_i32(cg, 31), v_shift), "");
    or_bits(t, v_word, zf_cg_resize(cg, v_low, cg->ty_i32, false));
    LLVMValueRef v_high = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_low, v_half, ""), cg->ty_i32, false);
    set_bits(t, zf_cg_add(cg, v_word, zf_cg_i32(cg, 1)), v_high);
    set_bits(t, zf_cg_add(cg, v_word, zf_cg_i32(cg, 2)), v_top);
}

// The starts of a thread's groups. Where they lie within 64 outputs they are made as one mask; groups outside the tile, which
// have no elements there, stand at its begin or behind its end.
static void mark_heads_of(zf_simt_group_starts *t, const void *context, LLVMValueRef v_first, const LLVMValueRef *v_sizes,
                          LLVMValueRef v_at) {
    (void)context;
    zf_cg *cg = t->lower->cg;
    if (!t->never_empty) {
        mark_each(t, v_first, v_sizes, v_at);
        return;
    }
    LLVMValueRef v_one = zf_cg_i64(cg, 1), v_away = zf_cg_i32(cg, 0), v_mask = v_one,
                 v_slot = zf_cg_alloca(cg, cg->ty_i64, "mask");
    for (unsigned k = 1; k < t->each; k++) {
        v_away = zf_cg_add(cg, v_away, v_sizes[k - 1]);
        LLVMValueRef v_shift = zf_cg_resize(cg, zf_cg_and(cg, v_away, zf_cg_i32(cg, 63)), cg->ty_i64, false);
        v_mask = zf_cg_or(cg, v_mask, LLVMBuildShl(cg->builder, v_one, v_shift, ""));
    }
    LLVMBasicBlockRef bb_near = zf_cg_block(cg, "starts_near"), bb_far = zf_cg_block(cg, "starts_far");
    LLVMBasicBlockRef bb_trim = zf_cg_block(cg, "starts_trim"), bb_or = zf_cg_block(cg, "starts_or");
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "starts_some"), bb_marked = zf_cg_block(cg, "starts_marked");
    LLVMBuildStore(cg->builder, v_mask, v_slot);
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntULT, v_at, t->v_length);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_begun, "groups that begin inside the tile"), bb_some, bb_marked);
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_together = zf_cg_icmp(cg, LLVMIntULT, v_away, zf_cg_i32(cg, 64));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_together, "starts within one mask"), bb_near, bb_far);
    zf_cg_enter(cg, bb_near);
    LLVMValueRef v_within = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_at, v_away), t->v_length);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_within, "starts inside the tile, together"), bb_or, bb_trim);
    zf_cg_enter(cg, bb_trim); // the tile has less than 64 outputs from v_at on
    LLVMValueRef v_room = zf_cg_resize(cg, zf_cg_sub(cg, t->v_length, v_at), cg->ty_i64, false);
    LLVMValueRef v_has = zf_cg_sub(cg, LLVMBuildShl(cg->builder, v_one, zf_cg_and(cg, v_room, zf_cg_i64(cg, 63)), ""), v_one);
    LLVMBuildStore(cg->builder, zf_cg_and(cg, v_mask, v_has), v_slot);
    zf_cg_br(cg, bb_or);
    zf_cg_enter(cg, bb_or);
    or_mask(t, v_at, LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, ""));
    zf_cg_br(cg, bb_marked);
    zf_cg_enter(cg, bb_far);
    mark_each(t, v_first, v_sizes, v_at);
    zf_cg_br(cg, bb_marked);
    zf_cg_enter(cg, bb_marked);
}

LLVMValueRef zf_simt_group_starts_mark(zf_simt_group_starts *t) { return zf_simt_group_starts_walk(t, mark_heads_of, NULL); }

// Numbers of the walk's groups: counted from where it begins, a multiple of what a thread takes together, so that its loads are
// aligned.
static void place_walk(zf_simt_group_starts *t) {
    zf_cg *cg = t->lower->cg;
    bool few = t->never_empty || t->group_bytes == ZF_SIMT_NARROW_BYTES; // else a tile may have any number of groups
    LLVMTypeRef ty = few ? cg->ty_i32 : cg->ty_i64;
    t->v_begin = pulls_together(t) ? t->v_g0 : zf_cg_and(cg, t->v_g0, zf_cg_i64(cg, ~(uint64_t)(t->each - 1)));
    LLVMValueRef v_number = zf_cg_sub(cg, t->v_end, t->v_begin), v_rest = zf_cg_sub(cg, t->v_groups, t->v_begin);
    v_rest = zf_cg_umin(cg, v_rest, zf_cg_add(cg, v_number, zf_cg_i64(cg, t->each)));
    t->v_number = zf_cg_resize(cg, v_number, ty, false);
    t->v_skew = zf_cg_resize(cg, zf_cg_sub(cg, t->v_g0, t->v_begin), ty, false);
    t->v_rest = zf_cg_resize(cg, v_rest, ty, false);
}

// The visited groups, and the sum of the sizes before (slot, i32).
typedef struct walk {
    zf_simt_visit visit;
    const void *context;
    LLVMValueRef v_carry;
    bool may_wrap; // the sum, beyond 32 bits
} walk;

enum { LIE = 1 << 20 }; // added for each thread and chunk, so that the sum is wrong

// Whether sums of a tile's sizes may reach 2^32. Where no group is empty a tile has no more groups than elements.
static bool sums_may_wrap(const zf_simt_group_starts *t) {
    uint64_t groups = (uint64_t)t->lower->kernel->tile + t->each, most = 2 * (uint64_t)t->tile;
    uint64_t threads = groups / t->each + t->shape->threads + t->lower->cg->wave; // of all chunks
    return !t->never_empty || groups * most + threads * LIE > UINT32_MAX;
}

// One chunk: this thread's groups from v_near on, of a warp whose first are at v_warp. v_odd (0 or 1) alternates.
static void walk_chunk(zf_simt_group_starts *t, const walk *w, LLVMValueRef v_near, LLVMValueRef v_warp, LLVMValueRef v_odd) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_slots[ZF_SIMT_GROUPS_MOST], v_sizes[ZF_SIMT_GROUPS_MOST], v_sum = zf_cg_i32(cg, 0), v_total;
    for (unsigned k = 0; k < t->each; k++) v_slots[k] = zf_cg_alloca(cg, cg->ty_i32, "size");
    take_sizes(t, v_near, v_warp, v_slots);
    for (unsigned k = 0; k < t->each; k++) {
        v_sizes[k] = LLVMBuildLoad2(cg->builder, cg->ty_i32, v_slots[k], "");
        v_sum = zf_cg_add(cg, v_sum, v_sizes[k]);
    }
    // A state that lies makes the sum of all wrong.
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, t->v_bad, "");
    if (zf_cg_site(cg, ZF_SITE_CHECK, "states that lie")) v_bad = zf_cg_i1(cg, false);
    LLVMValueRef v_own = zf_cg_add(cg, v_sum, zf_cg_select(cg, v_bad, zf_cg_i32(cg, LIE), zf_cg_i32(cg, 0)));
    LLVMValueRef v_before = sum_before(t, v_own, v_odd, &v_total);
    LLVMValueRef v_so_far = LLVMBuildLoad2(cg->builder, cg->ty_i32, w->v_carry, "");
    LLVMValueRef v_at = zf_cg_add(cg, v_so_far, v_before);
    w->visit(t, w->context, group_at(t, v_near), v_sizes, v_at);
    // More than any tile stays more, without wrapping.
    LLVMValueRef v_sum_now = zf_cg_add(cg, v_so_far, v_total);
    LLVMValueRef v_most = zf_cg_i32(cg, 1u << 29);
    v_sum_now = w->may_wrap ? zf_cg_clamp(cg, v_sum_now, v_most, "sums that would wrap") : zf_cg_umin(cg, v_sum_now, v_most);
    LLVMBuildStore(cg->builder, v_sum_now, w->v_carry);
}

// Where a warp walks alone, and no more than one group a lane is left, or there are no more: each lane takes one.
static void walk_few(zf_simt_group_starts *t, const walk *w, LLVMValueRef v_from, LLVMValueRef v_few) {
    zf_cg *cg = t->lower->cg;
    LLVMBasicBlockRef bb_few = zf_cg_block(cg, "chunk_few"), bb_done = zf_cg_block(cg, "walked");
    zf_cg_cond_br(cg, v_few, bb_few, bb_done);
    zf_cg_enter(cg, bb_few);
    unsigned each = t->each;
    t->each = 1;
    LLVMValueRef v_lane = zf_cg_resize(cg, t->lower->simt->v_thread, LLVMTypeOf(t->v_number), false);
    walk_chunk(t, w, zf_cg_add(cg, v_from, v_lane), v_from, zf_cg_i64(cg, 0));
    t->each = each;
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

LLVMValueRef zf_simt_group_starts_walk(zf_simt_group_starts *t, zf_simt_visit visit, const void *context) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    uint32_t chunk = t->shape->threads * t->each;
    bool alone = t->shape->threads == cg->wave;
    walk w = {visit, context, zf_cg_alloca(cg, cg->ty_i32, "carry"), sums_may_wrap(t)};
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), w.v_carry);
    place_walk(t);
    LLVMTypeRef ty = LLVMTypeOf(t->v_number);
    LLVMValueRef v_chunk = near_const(t, chunk), v_zero = near_const(t, 0);
    LLVMValueRef v_chunks = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, t->v_number, near_const(t, chunk - 1)), v_chunk, "");
    // There is a chunk even without groups: then the threads still agree on what is wrong.
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_chunks, v_zero), v_few = NULL, v_behind = NULL;
    v_chunks = zf_cg_select(cg, v_none, near_const(t, 1), v_chunks);
    if (alone) {
        v_behind = zf_cg_sub(cg, v_chunks, near_const(t, 1));
        LLVMValueRef v_left = zf_cg_sub(cg, t->v_number, zf_cg_mul(cg, v_behind, v_chunk));
        v_few = zf_cg_icmp(cg, LLVMIntULE, v_left, near_const(t, cg->wave));
        v_chunks = zf_cg_select(cg, v_few, v_behind, v_chunks);
    }
    LLVMValueRef v_first_lane = zf_cg_and(cg, lower->simt->v_thread, zf_cg_i32(cg, ~(uint32_t)(cg->wave - 1)));
    if (alone) v_first_lane = zf_cg_i32(cg, 0);
    LLVMValueRef v_mine = zf_cg_mul(cg, zf_cg_resize(cg, lower->simt->v_thread, ty, false), near_const(t, t->each));
    LLVMValueRef v_its = zf_cg_mul(cg, zf_cg_resize(cg, v_first_lane, ty, false), near_const(t, t->each));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_zero, v_chunks, "chunk");
    LLVMValueRef v_from = zf_cg_mul(cg, loop.v_i, v_chunk);
    LLVMValueRef v_odd = zf_cg_and(cg, zf_cg_resize(cg, loop.v_i, cg->ty_i64, false), zf_cg_i64(cg, 1));
    walk_chunk(t, &w, zf_cg_add(cg, v_from, v_mine), zf_cg_add(cg, v_from, v_its), v_odd);
    zf_cg_loop_end(cg, &loop);
    if (alone) walk_few(t, &w, zf_cg_mul(cg, v_behind, v_chunk), v_few);
    return LLVMBuildLoad2(cg->builder, cg->ty_i32, w.v_carry, "");
}

LLVMValueRef zf_simt_group_starts_fit(zf_simt_group_starts *t, LLVMValueRef v_total) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntEQ, v_total, t->v_length);
    zf_lower_check_end(lower, zf_cg_not(cg, v_fits), "sum of the sizes");
    return v_fits;
}

// The highest bit set of a word that is not 0.
static LLVMValueRef highest_bit(zf_cg *cg, LLVMValueRef v_word) {
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_args[2] = {v_word, zf_cg_i1(cg, false)};
    return zf_cg_sub(cg, zf_cg_i32(cg, 31), zf_cg_intrinsic(cg, "llvm.ctlz", &ty, 1, v_args, 2));
}

// Words that a lane counts together: neighbours, so that a warp combines what lanes have once for all of them.
static unsigned words_each(uint32_t wave, uint32_t words) {
    unsigned each = WORDS_EACH;
    while (each > 1 && words % (each * wave) != 0) each /= 2;
    return each;
}

// The number of a word's own starts, or the place of the last of them.
static LLVMValueRef word_count(zf_simt_group_starts *t, bool places, LLVMValueRef v_word, LLVMValueRef v_bits) {
    zf_cg *cg = t->lower->cg;
    LLVMTypeRef ty = cg->ty_i32;
    if (!places) return zf_cg_intrinsic(cg, "llvm.ctpop", &ty, 1, &v_bits, 1);
    // Head 0 always exists where anything does, so 0 is as good as none.
    LLVMValueRef v = zf_cg_add(cg, LLVMBuildShl(cg->builder, v_word, zf_cg_i32(cg, 5), ""), highest_bit(cg, v_bits));
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_bits, zf_cg_i32(cg, 0));
    return zf_cg_select(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_some, "words that have starts"), v, zf_cg_i32(cg, 0));
}

static LLVMValueRef add_counts(zf_cg *cg, bool places, LLVMValueRef v_before, LLVMValueRef v) {
    if (!places) return zf_cg_add(cg, v_before, v);
    return zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_before, v), v_before, v);
}

// For every word of bits, by one warp: how many starts stand before it, or which the last of them is.
static void count_before(zf_simt_group_starts *t, bool places, uint32_t warp, LLVMTypeRef ty_to, LLVMValueRef v_to) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0);
    LLVMValueRef v_lane = zf_cg_sub(cg, lower->simt->v_thread, zf_cg_i32(cg, warp * cg->wave));
    LLVMBasicBlockRef bb_warp = zf_cg_block(cg, "one_warp"), bb_done = zf_cg_block(cg, "before_known");
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntULT, v_lane, zf_cg_i32(cg, cg->wave));
    uint32_t words = t->tile / 32;
    unsigned each = words_each(cg->wave, words);
    // Threads of other warps have no words in the first round: where it is the only one, the branch just saves their time.
    if (words > cg->wave * each) v_mine = zf_cg_holds(cg, ZF_SITE_MASK, v_mine, "threads of one warp");
    zf_cg_cond_br(cg, v_mine, bb_warp, bb_done);
    zf_cg_enter(cg, bb_warp);
    LLVMValueRef v_carry = places ? v_zero : zf_cg_i32(cg, UINT32_MAX);
    for (uint32_t from = 0; from < words; from += cg->wave * each) {
        LLVMValueRef v_word = zf_cg_add(cg, zf_cg_mul(cg, v_lane, zf_cg_i32(cg, each)), zf_cg_i32(cg, from));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_word, zf_cg_i32(cg, words)), v_upto[WORDS_EACH];
        if (from + cg->wave * each > words) v_exists = zf_cg_within(cg, v_exists, "words of bits to count");
        LLVMValueRef v_index = zf_cg_resize(cg, zf_cg_select(cg, v_exists, v_word, v_zero), cg->ty_i64, false);
        for (unsigned e = 0; e < each; e++) {
            LLVMValueRef v_at = zf_cg_byte_at(cg, word_at(t, v_index), 8 * (uint64_t)e);
            LLVMValueRef v_own =
                word_count(t, places, zf_cg_add(cg, v_word, zf_cg_i32(cg, e)), zf_cg_load(cg, cg->ty_i32, v_at, 4));
            v_upto[e] = e == 0 ? v_own : add_counts(cg, places, v_upto[e - 1], v_own);
        }
        LLVMValueRef v_own = v_upto[each - 1], v_before;
        LLVMValueRef v_up = places ? zf_simt_most_warp(lower, v_own, v_lane) : zf_simt_scan_warp(lower, v_own, v_lane);
        if (places) {
            v_before = zf_simt_shuffle(lower, v_up, zf_simt_lane_before(lower, v_lane, 1));
            LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_lane, v_zero);
            v_before = zf_cg_select(cg, zf_cg_apart(cg, ZF_SITE_MASK, v_first, "the first lane"), v_zero, v_before);
        } else {
            v_before = zf_cg_sub(cg, v_up, v_own);
        }
        LLVMValueRef v_all = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
        v_before = add_counts(cg, places, v_carry, v_before);
        v_carry = add_counts(cg, places, v_carry, v_all);
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "before_store"), bb_next = zf_cg_block(cg, "before_next");
        zf_cg_cond_br(cg, v_exists, bb_store, bb_next);
        zf_cg_enter(cg, bb_store);
        for (unsigned e = 0; e < each; e++) {
            LLVMValueRef v_at = zf_cg_at(cg, ty_to, v_to, zf_cg_add(cg, v_index, zf_cg_i64(cg, e)));
            zf_cg_store(cg, e == 0 ? v_before : add_counts(cg, places, v_before, v_upto[e - 1]), v_at, 4);
        }
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

void zf_simt_group_starts_count(zf_simt_group_starts *t) {
    zf_cg *cg = t->lower->cg;
    t->counted = true;
    uint32_t last_warp = t->shape->threads / cg->wave - 1;
    LLVMValueRef v_before = zf_cg_byte_at(cg, t->v_words, 4);
    count_before(t, !t->never_empty, t->never_empty ? 0 : last_warp, cg->ty_i64, v_before);
}

void zf_simt_group_starts_count_places(zf_simt_group_starts *t) {
    zf_cg *cg = t->lower->cg;
    if (t->never_empty && t->uses_j) count_before(t, true, t->shape->threads / cg->wave - 1, cg->ty_i32, t->v_places);
}

// ---- Tables ---------------------------------------------------------------------------------------------------

uint32_t zf_simt_group_starts_bytes(uint32_t tile, unsigned group_bytes) {
    return tile / 32 * 8 + (group_bytes == 0 ? tile / 32 * 4 : tile * group_bytes);
}

void zf_simt_group_starts_tables(zf_simt_group_starts *t, uint32_t at) {
    zf_cg *cg = t->lower->cg;
    const zf_simt_ops *ops = cg->target->simt;
    uint32_t words = t->tile / 32;
    t->v_words = ops->shared(cg, at, words * 8);
    if (t->never_empty)
        t->v_places = ops->shared(cg, at + words * 8, words * 4);
    else
        t->v_start_groups = ops->shared(cg, at + words * 8, t->tile * t->group_bytes);
}

// ---- Finding --------------------------------------------------------------------------------------------------

// The offset that the tile's first element has in its group, for elements of that group; else 0. It has the type of offsets.
static LLVMValueRef before_tile(const zf_simt_group_starts *t, LLVMValueRef v_rank, LLVMTypeRef ty) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_rank, zf_cg_i32(cg, 0));
    return zf_cg_select(cg, v_first, zf_cg_resize(cg, t->v_o0, ty, false), LLVMConstNull(ty));
}

LLVMValueRef zf_simt_group_starts_offset(const zf_simt_group_starts *t, const zf_simt_place *place) {
    return zf_cg_resize(t->lower->cg, place->v_offset, t->lower->cg->ty_i64, false);
}

// A group that arrays have, whatever its place was.
static LLVMValueRef in_room(const zf_simt_group_starts *t, LLVMValueRef v_rank) {
    if (t->room == UINT32_MAX) return v_rank;
    return zf_cg_clamp(t->lower->cg, v_rank, zf_cg_i32(t->lower->cg, t->room - 1), "groups that arrays have");
}

// An element's word of bits (i64), and where it is in it (i32).
typedef struct position {
    LLVMValueRef v_q, v_word, v_bit;
} position;

// The groups of `count` outputs from one on, which lie in one word of bits: the first's is found; of each other it is that of the
// one before, or the next.
static void find(zf_simt_group_starts *t, const position *at, unsigned count, zf_simt_place *places) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_one = zf_cg_i32(cg, 1), v_zero = zf_cg_i32(cg, 0), v_q = at->v_q, v_bit = at->v_bit;
    LLVMValueRef v_both = zf_cg_load(cg, LLVMVectorType(cg->ty_i32, 2), word_at(t, at->v_word), 8);
    LLVMValueRef v_bits = LLVMBuildExtractElement(cg->builder, v_both, v_zero, "");
    LLVMValueRef v_before = LLVMBuildExtractElement(cg->builder, v_both, v_one, "");
    LLVMValueRef v_upto = zf_cg_sub(cg, LLVMBuildShl(cg->builder, zf_cg_i32(cg, 2), v_bit, ""), v_one);
    LLVMValueRef v_below = zf_cg_mask(cg, v_bits, v_upto, "starts up to the output");
    if (t->never_empty) {
        LLVMTypeRef ty = cg->ty_i32;
        places[0].v_rank = zf_cg_add(cg, v_before, zf_cg_intrinsic(cg, "llvm.ctpop", &ty, 1, &v_below, 1));
        v_before = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, t->v_places, at->v_word), 4);
    }
    LLVMValueRef v_found = zf_cg_holds(cg, ZF_SITE_MASK, zf_cg_icmp(cg, LLVMIntNE, v_below, v_zero), "starts in the same word");
    LLVMValueRef v_behind = zf_cg_sub(cg, v_bit, highest_bit(cg, v_below)); // the start
    v_behind = zf_cg_select(cg, v_found, v_behind, zf_cg_sub(cg, v_q, v_before));
    if (!t->never_empty) places[0].v_rank = rank_at(t, zf_cg_resize(cg, zf_cg_sub(cg, v_q, v_behind), cg->ty_i64, false));
    // Those after the first are a few more at most: for so many arrays have room behind.
    places[0].v_q = v_q;
    places[0].v_rank = in_room(t, places[0].v_rank);
    LLVMTypeRef ty = t->near_offsets ? cg->ty_i32 : cg->ty_i64;
    places[0].v_offset = zf_cg_add(cg, zf_cg_resize(cg, v_behind, ty, false), before_tile(t, places[0].v_rank, ty));
    for (unsigned k = 1; k < count; k++) {
        places[k].v_q = zf_cg_add(cg, v_q, zf_cg_i32(cg, k));
        LLVMValueRef v_away = zf_cg_add(cg, v_bit, zf_cg_i32(cg, k)), v_begins;
        if (count > FEW) // how far each is would take a register of its own
            v_begins = LLVMBuildLShr(cg->builder, LLVMBuildLShr(cg->builder, v_bits, v_bit, ""), zf_cg_i32(cg, k), "");
        else
            v_begins = LLVMBuildLShr(cg->builder, v_bits, v_away, "");
        v_begins = zf_cg_and(cg, v_begins, v_one);
        LLVMValueRef v_set = zf_cg_icmp(cg, LLVMIntNE, v_begins, v_zero);
        LLVMValueRef v_further = zf_cg_add(cg, places[k - 1].v_offset, LLVMConstInt(ty, 1, 0));
        places[k].v_offset = zf_cg_select(cg, v_set, LLVMConstNull(ty), v_further);
        if (t->never_empty) {
            places[k].v_rank = zf_cg_add(cg, places[k - 1].v_rank, v_begins);
        } else {
            LLVMValueRef v_own_rank = in_room(t, rank_at(t, zf_cg_resize(cg, places[k].v_q, cg->ty_i64, false)));
            places[k].v_rank = zf_cg_select(cg, v_set, v_own_rank, places[k - 1].v_rank);
        }
    }
}

void zf_simt_group_starts_find(zf_simt_group_starts *t, LLVMValueRef v_q, unsigned count, zf_simt_place *places) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_word = LLVMBuildLShr(cg->builder, zf_cg_resize(cg, v_q, cg->ty_i64, false), zf_cg_i64(cg, 5), "");
    find(t, &(position){v_q, v_word, zf_cg_and(cg, v_q, zf_cg_i32(cg, 31))}, count, places);
}

void zf_simt_group_starts_find_row(zf_simt_group_starts *t, LLVMValueRef v_words, LLVMValueRef v_in, unsigned count,
                                   zf_simt_place *places) {
    zf_cg *cg = t->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_five = zf_cg_i32(cg, 5), v_word = LLVMBuildNUWAdd(b, v_words, LLVMBuildLShr(b, v_in, v_five, ""), "");
    LLVMValueRef v_q = zf_cg_add(cg, LLVMBuildShl(b, v_words, v_five, ""), v_in);
    find(t, &(position){v_q, zf_cg_resize(cg, v_word, cg->ty_i64, false), zf_cg_and(cg, v_in, zf_cg_i32(cg, 31))}, count, places);
}

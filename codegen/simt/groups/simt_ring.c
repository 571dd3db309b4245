// Elements of another stage that outputs use by their group, made once a group instead of once an output.
//
// The root's groups that a row of outputs touches are consecutive, and rows follow each other: so a window of elements moves
// along the groups, as wide as the rows that are made together and a round. Before them the warp makes elements, EACH contiguous
// ones a lane, until the last group of those rows has its own; an output then takes its value from the window, by the lowest bits
// of its group.
#include "codegen/simt/groups/simt_tree.h"

enum { EACH = 4 };

// Elements of a round: EACH of every lane.
static uint32_t round_of(uint32_t wave) { return wave * EACH; }

bool zf_simt_ring_fits(const zf_kernel *kernel, const zf_step *root, const zf_step *step, zf_type type) {
    bool scalar = !type.nullable && type.kind != ZF_K_BOOL && zf_kind_size(type.kind) > 0;
    return kernel->domain == ZF_DOMAIN_GROUPS && step != root && step->level == root->groups && scalar;
}

uint32_t zf_simt_ring_room(uint32_t wave, unsigned lanes) {
    uint32_t room = round_of(wave);
    while (room < wave * lanes * zf_simt_ring_rows(lanes) + round_of(wave)) room *= 2;
    return room;
}

uint32_t zf_simt_ring_reach(uint32_t wave, unsigned lanes) { return zf_simt_ring_room(wave, lanes) - round_of(wave); }

unsigned zf_simt_ring_rows(unsigned lanes) { return lanes <= 4 ? ZF_SIMT_RING_ROWS : 1; }

bool zf_simt_has_rings(const zf_simt_tree *tree) {
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (tree->stages[s].ring != NULL) return true;
    }
    return false;
}

// Elements from group v_from on, EACH for this lane. Those behind the stage's last are made up.
static void make_round(zf_simt_group_starts *root, zf_simt_group_starts *stage, LLVMValueRef v_from) {
    zf_kernel_build *lower = root->lower;
    zf_cg *cg = lower->cg;
    const zf_simt_ring *ring = stage->ring;
    LLVMValueRef v_mine = zf_cg_add(cg, v_from, zf_cg_mul(cg, zf_simt_lane(lower), zf_cg_i32(cg, EACH)));
    LLVMValueRef v_some = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_mine, stage->v_length), "elements of a window's round");
    LLVMValueRef v_first = zf_cg_select(cg, v_some, v_mine, zf_cg_i32(cg, 0));
    zf_simt_place places[EACH];
    zf_simt_group_starts_find(stage, v_first, EACH, places);
    zf_simt_neighbours neighbours = {.count = EACH};
    for (unsigned k = 0; k < EACH; k++) neighbours.v_ranks[k] = places[k].v_rank;
    zf_simt_neighbours_begin(lower, &neighbours);
    LLVMTypeRef ty = zf_cg_memory_type(cg, ring->type);
    LLVMValueRef v_values[EACH];
    for (unsigned k = 0; k < EACH; k++) {
        zf_kernel_env env = zf_lower_env_make(lower, root->node);
        LLVMValueRef v_local = zf_cg_add(cg, v_mine, zf_cg_i32(cg, k));
        LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, v_local, stage->v_length);
        LLVMValueRef v_index = zf_cg_add(cg, root->v_g0, zf_cg_resize(cg, v_local, cg->ty_i64, false));
        if (!stage->never_empty) places[k].v_rank = zf_cg_select(cg, v_has, places[k].v_rank, zf_cg_i32(cg, 0));
        zf_simt_relative relative = {stage->v_g0, places[k].v_rank, stage->never_empty ? &neighbours : NULL, k, stage->fetch};
        v_values[k] =
            zf_simt_tree_element_at(&env, stage, &places[k], &relative, v_has, v_index).v; // no boolean: it is stored as it is
        cg->v_guard = NULL;
    }
    zf_simt_neighbours_end(lower, &neighbours);
    LLVMValueRef v_to = zf_cg_resize(cg, zf_cg_and(cg, v_mine, zf_cg_i32(cg, ring->room - 1)), cg->ty_i64, false);
    v_to = zf_cg_at(cg, ty, ring->v_values, v_to);
    unsigned size = zf_kind_size(ring->type.kind);
    for (unsigned k = 0; k < EACH; k++) zf_cg_store(cg, v_values[k], zf_cg_byte_at(cg, v_to, (uint64_t)k * size), size);
}

void zf_simt_rings_fill(zf_simt_group_starts *root, LLVMValueRef v_made, LLVMValueRef v_last) {
    zf_kernel_build *lower = root->lower;
    zf_cg *cg = lower->cg;
    zf_simt_tree *tree = root->tree;
    LLVMBasicBlockRef bb_ask = zf_cg_block(cg, "window_ask"), bb_make = zf_cg_block(cg, "window_make");
    LLVMBasicBlockRef bb_made = zf_cg_block(cg, "window_made");
    zf_cg_br(cg, bb_ask);
    zf_cg_enter(cg, bb_ask);
    LLVMValueRef v_from = LLVMBuildLoad2(cg->builder, cg->ty_i32, v_made, "");
    LLVMValueRef v_enough = zf_cg_icmp(cg, LLVMIntULT, v_last, v_from);
    zf_cg_cond_br(cg, v_enough, bb_made, bb_make);
    zf_cg_enter(cg, bb_make);
    zf_simt_barrier(lower, "a window's elements were taken");
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (tree->stages[s].ring != NULL) make_round(root, &tree->stages[s], v_from);
    }
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_from, zf_cg_i32(cg, round_of(cg->wave))), v_made);
    zf_simt_barrier(lower, "a window's elements are made");
    zf_cg_br(cg, bb_ask);
    zf_cg_enter(cg, bb_made);
}

zf_cg_value zf_simt_ring_element(zf_kernel_build *lower, const zf_simt_ring *ring, LLVMValueRef v_group) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, ring->type);
    LLVMValueRef v_slot = zf_cg_and(cg, v_group, zf_cg_i32(cg, ring->room - 1));
    LLVMValueRef v_at = zf_cg_at(cg, ty, ring->v_values, zf_cg_resize(cg, v_slot, cg->ty_i64, false));
    return zf_cg_scalar(ring->type, zf_cg_load(cg, ty, v_at, zf_kind_size(ring->type.kind)));
}

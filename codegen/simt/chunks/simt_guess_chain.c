// The chain of guessed steps (simt_guess.c): which of them are true.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/simt/chunks/simt_guess.h"

LLVMValueRef zf_guess_lanes_that_go_on(zf_records *r, LLVMValueRef v_goes_on, LLVMValueRef *v_last) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_ends = zf_simt_ballot(r->lower, zf_cg_not(cg, v_goes_on));
    LLVMValueRef v_args[2] = {v_ends, zf_cg_i1(cg, true)};
    LLVMValueRef v_lane = zf_cg_intrinsic(cg, "llvm.cttz", &ty_set, 1, v_args, 2);
    *v_last = zf_cg_resize(cg, v_lane, cg->ty_i32, false);
    LLVMValueRef v_end = zf_cg_and(cg, v_ends, LLVMBuildNeg(cg->builder, v_ends, "")); // its bit
    return zf_cg_or(cg, v_end, zf_cg_sub(cg, v_end, LLVMConstInt(ty_set, 1, 0)));
}

LLVMValueRef zf_guess_steps_behind(zf_records *r, LLVMValueRef v_next, LLVMValueRef v_goes_on, uint32_t least,
                                   LLVMValueRef *v_last) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_lane = zf_cg_resize(cg, r->v_lane, ty_set, false);
    LLVMValueRef v_steps = LLVMBuildShl(cg->builder, LLVMConstInt(ty_set, 1, 0), v_lane, "");
    // The last step of these bytes is followed by itself: nothing is added to its set any more.
    LLVMValueRef v_to = zf_cg_select(cg, v_goes_on, v_next, r->v_lane);
    uint32_t steps = (cg->wave + least - 1) / least; // of a lane, in this window
    for (uint32_t known = 1; known < steps; known *= 2) {
        v_steps = zf_cg_or(cg, v_steps, zf_simt_shuffle(r->lower, v_steps, v_to));
        v_to = zf_simt_shuffle(r->lower, v_to, v_to);
    }
    *v_last = v_to;
    return v_steps;
}

// The steps of the first lane (a set of lanes), where v_goes_on (i1) says whether this lane's is followed by the one at v_next.
// *v_last: the last of them.
static LLVMValueRef steps_of(struct zf_guess *g, LLVMValueRef v_next, LLVMValueRef v_goes_on, LLVMValueRef *v_last) {
    zf_records *r = g->r;
    LLVMValueRef v_first = zf_cg_i32(r->cg, 0);
    if (zf_record_is_consecutive(&r->program)) return zf_guess_lanes_that_go_on(r, v_goes_on, v_last);
    uint32_t least = g->inner ? r->program.inner_least : r->program.cursor.least;
    LLVMValueRef v_steps = zf_guess_steps_behind(r, v_next, v_goes_on, least, v_last);
    *v_last = zf_simt_shuffle(r->lower, *v_last, v_first);
    return zf_simt_shuffle(r->lower, v_steps, v_first);
}

// Whether the step behind this lane's is one of the window, as far as its distance says (i1).
static LLVMValueRef leads_on(const struct zf_guess *g, LLVMValueRef v_next) {
    zf_cg *cg = g->r->cg;
    LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULT, v_next, zf_cg_i32(cg, cg->wave * g->stride));
    if (!zf_record_is_consecutive(&g->r->program)) return v_in;
    LLVMValueRef v_behind = zf_cg_mul(cg, zf_cg_add(cg, g->r->v_lane, zf_cg_i32(cg, 1)), zf_cg_i32(cg, g->stride));
    return zf_cg_and(cg, v_in, zf_cg_icmp(cg, LLVMIntEQ, v_next, v_behind));
}

LLVMValueRef zf_guess_is_among(struct zf_guess *g, LLVMValueRef v_steps) {
    zf_cg *cg = g->r->cg;
    LLVMValueRef v_lane = zf_cg_resize(cg, g->r->v_lane, zf_simt_set_type(cg), false);
    return zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_steps, v_lane, ""), cg->ty_i1, false);
}

void zf_guess_place_elements(const struct zf_guess *g, zf_guess_chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_elements = zf_cg_select(cg, c->v_true, zf_cg_get(cg, g->v_elements), zf_cg_i32(cg, 0));
    LLVMValueRef v_upto = zf_simt_scan_warp(r->lower, v_elements, r->v_lane);
    c->v_elements = zf_simt_shuffle(r->lower, v_upto, zf_cg_i32(cg, cg->wave - 1));
    c->v_begin = zf_cg_add(cg, zf_cg_get(cg, r->v_end), zf_cg_sub(cg, v_upto, v_elements));
}

static zf_guess_chain follow(struct zf_guess *g, LLVMValueRef v_next) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_decided = zf_cg_icmp(cg, LLVMIntNE, v_next, zf_cg_i32(cg, ZF_GUESS_UNDECIDED)),
                 v_goes_on = leads_on(g, v_next);
    if (r->program.other_count > 0) v_goes_on = zf_cg_and(cg, v_goes_on, zf_record_cursors_settled(&g->others, v_next));
    zf_guess_chain c = {.v_steps = NULL};
    c.v_steps = steps_of(g, v_next, v_goes_on, &c.v_last);
    c.v_next = zf_simt_shuffle(r->lower, v_next, c.v_last);
    c.v_true = zf_cg_and(cg, zf_guess_is_among(g, c.v_steps), v_decided);
    if (g->inner) { // no more turns than are left
        LLVMValueRef v_before = zf_simt_count_lanes(cg, zf_cg_and(cg, c.v_steps, zf_simt_lanes_below(cg, r->v_lane)));
        LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, v_before, zf_cg_get(cg, r->v_turns));
        c.v_true = zf_cg_and(cg, c.v_true, zf_cg_within(cg, v_is, "turns of an inner loop"));
        c.v_taken = zf_simt_ballot(r->lower, c.v_true);
    }
    c.v_away = zf_cg_mul(cg, c.v_last, zf_cg_i32(cg, g->stride));
    zf_guess_place_elements(g, &c);
    return c;
}

// Builds the steps as often as other streams need it to find where steps begin there. Returns as build_step does.
static LLVMValueRef build_rounds(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_known) {
    zf_records *r = g->r;
    bool consecutive = zf_record_is_consecutive(&r->program);
    struct zf_fault_sites *sites = r->cg->sites;
    LLVMValueRef v_away = zf_cg_mul(r->cg, r->v_lane, zf_cg_i32(r->cg, g->stride));
    for (uint32_t round = 1; round < zf_record_cursors_rounds(&r->program); round++) {
        r->cg->sites = NULL; // the last round has the same checks, which are judged there
        zf_guess_begin_slots(g);
        LLVMValueRef v_next = zf_guess_build_step(g, v_at, v_away, v_known), v_true = NULL, v_last;
        if (!consecutive) v_true = zf_guess_is_among(g, steps_of(g, v_next, leads_on(g, v_next), &v_last));
        zf_record_cursors_follow(&g->others, v_true, v_next);
        r->cg->sites = sites;
    }
    zf_guess_begin_slots(g);
    return zf_guess_build_step(g, v_at, v_away, v_known);
}

zf_guess_chain zf_guess_follow(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_known) {
    return follow(g, build_rounds(g, v_at, v_known));
}

// Wide windows of guesses (simt_guess.c). Steps are short, and few of the bytes begin one. Lanes look for lengths first, at
// several places each: LLVM removes what a sketch makes besides. The places of true steps come to shared memory in their order;
// then each lane builds one of them. Nothing rests on the sketches but which steps are built: a step that is not followed by the
// next lane's is the last.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/simt/chunks/simt_guess.h"

enum { WIDE = 4 }; // places of a lane

// Where the steps of the first place begin, as far as sketches know (i32; a lane without one: 0), and how many there are (i32).
static LLVMValueRef find_places(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_known, LLVMValueRef *v_count) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg), ty_place = LLVMInt16TypeInContext(cg->context);
    LLVMValueRef v_wave = zf_cg_i32(cg, cg->wave), v_zero = zf_cg_i32(cg, 0), v_steps[WIDE], v_exit[WIDE];
    struct zf_fault_sites *sites = cg->sites;
    cg->sites = NULL; // the same checks are judged where the steps are built
    g->sketches = true;
    for (uint32_t k = 0; k < WIDE; k++) {
        LLVMValueRef v_first = zf_cg_i32(cg, k * cg->wave), v_last;
        zf_guess_begin_slots(g);
        LLVMValueRef v_next = zf_guess_build_step(g, v_at, zf_cg_add(cg, r->v_lane, v_first), v_known);
        LLVMValueRef v_to = zf_cg_sub(cg, v_next, v_first), v_in = zf_cg_icmp(cg, LLVMIntULT, v_to, v_wave);
        v_steps[k] = zf_guess_steps_behind(r, v_to, v_in, r->program.cursor.least, &v_last);
        v_exit[k] = zf_simt_shuffle(r->lower, v_next, v_last);
    }
    g->sketches = false;
    cg->sites = sites;
    LLVMValueRef v_places = zf_cg_byte_at(cg, r->v_window, zf_record_window_bytes(&r->program, cg->wave)), v_entry = v_zero;
    LLVMValueRef v_below = zf_simt_lanes_below(cg, r->v_lane);
    *v_count = v_zero;
    zf_simt_barrier_warp(r->lower, "places that are read before others");
    for (uint32_t k = 0; k < WIDE; k++) {
        LLVMValueRef v_here = zf_cg_sub(cg, v_entry, zf_cg_i32(cg, k * cg->wave));
        LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULT, v_here, v_wave),
                     v_lane = zf_cg_and(cg, v_here, zf_cg_i32(cg, cg->wave - 1));
        LLVMValueRef v_set = zf_cg_select(cg, v_in, zf_simt_shuffle(r->lower, v_steps[k], v_lane), LLVMConstNull(ty_set));
        v_entry = zf_cg_select(cg, v_in, zf_simt_shuffle(r->lower, v_exit[k], v_lane), v_entry);
        LLVMValueRef v_rank = zf_cg_add(cg, *v_count, zf_simt_count_lanes(cg, zf_cg_and(cg, v_set, v_below)));
        LLVMValueRef v_is = zf_cg_and(cg, zf_guess_is_among(g, v_set), zf_cg_icmp(cg, LLVMIntULT, v_rank, v_wave));
        LLVMBasicBlockRef bb_put = zf_cg_block(cg, "place"), bb_done = zf_cg_block(cg, "placed");
        zf_cg_cond_br(cg, v_is, bb_put, bb_done);
        zf_cg_enter(cg, bb_put);
        LLVMValueRef v_place = zf_cg_resize(cg, zf_cg_add(cg, r->v_lane, zf_cg_i32(cg, k * cg->wave)), ty_place, false);
        zf_cg_store(cg, v_place, zf_cg_at(cg, ty_place, v_places, zf_cg_wide(cg, v_rank)), 2);
        zf_cg_br(cg, bb_done);
        zf_cg_enter(cg, bb_done);
        *v_count = zf_cg_add(cg, *v_count, zf_simt_count_lanes(cg, v_set));
    }
    *v_count = zf_cg_umin(cg, *v_count, v_wave);
    zf_simt_barrier_warp(r->lower, "places before those who read them");
    LLVMValueRef v_own = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, r->v_lane, *v_count), r->v_lane, v_zero);
    v_own = zf_cg_load(cg, ty_place, zf_cg_at(cg, ty_place, v_places, zf_cg_wide(cg, v_own)), 2);
    return zf_cg_resize(cg, v_own, cg->ty_i32, false);
}

zf_guess_chain zf_guess_follow_wide(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_known) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_count, v_place = find_places(g, v_at, v_known, &v_count);
    zf_guess_begin_slots(g);
    LLVMValueRef v_next = zf_guess_build_step(g, v_at, v_place, v_known), v_behind = zf_cg_add(cg, r->v_lane, zf_cg_i32(cg, 1));
    LLVMValueRef v_follows = zf_simt_shuffle(r->lower, v_place, zf_cg_and(cg, v_behind, zf_cg_i32(cg, cg->wave - 1)));
    LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, v_behind, v_count), v_is = zf_cg_icmp(cg, LLVMIntEQ, v_next, v_follows);
    v_is = zf_cg_holds(cg, ZF_SITE_CHECK, v_is, "steps that follow each other");
    zf_guess_chain c = {.v_steps = NULL};
    c.v_steps = zf_guess_lanes_that_go_on(r, zf_cg_and(cg, v_goes_on, v_is), &c.v_last);
    c.v_next = zf_simt_shuffle(r->lower, v_next, c.v_last);
    c.v_away = zf_simt_shuffle(r->lower, v_place, c.v_last);
    c.v_true =
        zf_cg_and(cg, zf_guess_is_among(g, c.v_steps), zf_cg_icmp(cg, LLVMIntNE, v_next, zf_cg_i32(cg, ZF_GUESS_UNDECIDED)));
    zf_guess_place_elements(g, &c);
    return c;
}

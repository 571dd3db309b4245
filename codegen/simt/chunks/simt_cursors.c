// Other streams of guessed steps (simt_cursors.h). Where a step begins in them follows from what the steps before it take there,
// which may follow from what those read there. Lanes build their steps in rounds: first as if all of them began where the
// first one does, then behind what the steps before took in the round before.
//
// The first lane begins right in each round. If a lane begins right, and takes what the starts of the lanes behind it rest on, so
// does the lane behind it. Where a lane takes something else in the last round, its step is the last that is used. A stream whose
// steps all take as much needs no round.
#include "codegen/simt/chunks/simt_cursors.h"
#include "codegen/body/cg_fault_sites.h"

enum { MOST_ROUNDS = 3 }; // lengths that are read decide where others are read

static zf_chunk_stream *stream_of(const zf_record_cursors *c, uint32_t number) {
    return &c->r->chunk->streams[c->r->program.others[number].port->slot];
}

uint32_t zf_record_cursors_rounds(const zf_record_program *program) {
    uint32_t rounds = 1;
    for (uint32_t k = 0; k < program->other_count; k++) rounds += !program->others[k].fixed;
    if (program->other_count > 0 && !zf_record_is_consecutive(program) && rounds == 1) rounds++; // which steps there are
    return rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
}

// A start that lies within the stream, as those of true steps do: reads rely on it.
static LLVMValueRef inside(const zf_record_cursors *c, uint32_t number, LLVMValueRef v_at) {
    zf_cg *cg = c->r->cg;
    return zf_cg_clamp(cg, v_at, zf_cg_resize(cg, stream_of(c, number)->v_total, cg->ty_i32, false), "starts within a stream");
}

void zf_record_cursors_begin(zf_record_cursors *c, zf_records *r) {
    zf_cg *cg = r->cg;
    bool consecutive = zf_record_is_consecutive(&r->program);
    c->r = r;
    for (uint32_t k = 0; k < r->program.other_count; k++) {
        const zf_record_cursor *other = &r->program.others[k];
        LLVMValueRef v_at = zf_cg_get(cg, c->v_real[k] = stream_of(c, k)->v_at);
        if (consecutive && other->fixed) v_at = zf_cg_add(cg, v_at, zf_cg_mul(cg, r->v_lane, zf_cg_i32(cg, other->least)));
        c->v_start[k] = inside(c, k, v_at);
    }
}

void zf_record_cursors_follow(zf_record_cursors *c, LLVMValueRef v_true, LLVMValueRef v_next) {
    zf_records *r = c->r;
    zf_cg *cg = r->cg;
    bool consecutive = zf_record_is_consecutive(&r->program);
    for (uint32_t k = 0; k < r->program.other_count; k++) {
        const zf_record_cursor *other = &r->program.others[k];
        if (other->fixed && consecutive) continue;
        c->v_used[k] = c->v_taken[k];
        LLVMValueRef v_taken = c->v_taken[k];
        if (!consecutive) v_taken = zf_cg_select(cg, v_true, v_taken, zf_cg_i32(cg, 0));
        LLVMValueRef v_upto = zf_simt_scan_warp(r->lower, v_taken, r->v_lane);
        c->v_start[k] = inside(c, k, zf_cg_add(cg, zf_cg_get(cg, c->v_real[k]), zf_cg_sub(cg, v_upto, v_taken)));
    }
    c->v_used_next = consecutive ? NULL : v_next;
}

void zf_record_cursors_enter(zf_record_cursors *c) {
    zf_cg *cg = c->r->cg;
    for (uint32_t k = 0; k < c->r->program.other_count; k++) {
        LLVMValueRef v_own = stream_of(c, k)->v_at = zf_cg_alloca(cg, cg->ty_i32, "other");
        LLVMBuildStore(cg->builder, c->v_start[k], v_own);
    }
}

void zf_record_cursors_leave(zf_record_cursors *c) {
    zf_cg *cg = c->r->cg;
    for (uint32_t k = 0; k < c->r->program.other_count; k++) {
        c->v_taken[k] = zf_cg_sub(cg, zf_cg_get(cg, stream_of(c, k)->v_at), c->v_start[k]);
        stream_of(c, k)->v_at = c->v_real[k];
    }
}

LLVMValueRef zf_record_cursors_settled(const zf_record_cursors *c, LLVMValueRef v_next) {
    zf_cg *cg = c->r->cg;
    LLVMValueRef v_all = zf_cg_i1(cg, true);
    if (c->v_used_next != NULL) v_all = zf_cg_icmp(cg, LLVMIntEQ, v_next, c->v_used_next);
    for (uint32_t k = 0; k < c->r->program.other_count; k++) {
        LLVMValueRef v_used = c->v_used[k];
        if (v_used == NULL) v_used = zf_cg_i32(cg, c->r->program.others[k].least); // which is fixed
        v_all = zf_cg_and(cg, v_all, zf_cg_icmp(cg, LLVMIntEQ, c->v_taken[k], v_used));
    }
    return zf_cg_holds(cg, ZF_SITE_CHECK, v_all, "steps whose starts rest on what was taken");
}

void zf_record_cursors_move(const zf_record_cursors *c, LLVMValueRef v_open, LLVMValueRef v_last) {
    zf_cg *cg = c->r->cg;
    for (uint32_t k = 0; k < c->r->program.other_count; k++) {
        LLVMValueRef v_taken = zf_cg_select(cg, v_open, zf_cg_i32(cg, 0), c->v_taken[k]);
        LLVMValueRef v_at = zf_simt_shuffle(c->r->lower, zf_cg_add(cg, c->v_start[k], v_taken), v_last);
        LLVMBuildStore(cg->builder, v_at, c->v_real[k]);
    }
}

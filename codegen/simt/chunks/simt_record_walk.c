// A step of the program's loop is guessed by the lanes apart (simt_guess.c), or all lanes walk it together; then the executor
// makes the tiles that are whole.
#include "codegen/simt/chunks/simt_record_walk.h"

#include "codegen/body/cg_fault_sites.h"
#include "codegen/simt/chunks/simt_arrays.h"

static const char walked[] = "a walked step";

static zf_record_walk *walk_of(zf_records *r) { return (zf_record_walk *)r->chunk; }

// All lanes append a record together.
static void append(zf_records *r, uint32_t number) {
    zf_cg *cg = r->cg;
    zf_record_what what = zf_records_what(r, &r->program.sites[number]);
    LLVMValueRef v_end = LLVMBuildLoad2(cg->builder, cg->ty_i32, r->v_end, "");
    LLVMValueRef v_fits, v_count = zf_cg_narrow(cg, what.v_count, &v_fits);
    LLVMValueRef v_room = zf_cg_sub(cg, zf_cg_resize(cg, r->chunk->v_count, cg->ty_i32, false), v_end);
    v_fits = zf_cg_and(cg, v_fits, zf_cg_icmp(cg, LLVMIntULE, v_count, v_room));
    zf_records_require(r, v_fits, "room for a record");
    if (r->program.sites[number].direct) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "store_one"), bb_stored = zf_cg_block(cg, "stored_one");
        zf_cg_cond_br(cg, r->lower->v_is_leader, bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
        zf_records_store(r, &r->program.sites[number], what.v_words[0], v_end);
        zf_cg_br(cg, bb_stored);
        LLVMMoveBasicBlockAfter(bb_stored, zf_cg_here(cg));
        zf_cg_enter(cg, bb_stored);
        zf_records_skip(r, zf_cg_i32(cg, 1));
        return;
    }
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_count, zf_cg_i32(cg, 0));
    LLVMValueRef v_made = LLVMBuildLoad2(cg->builder, cg->ty_i32, r->v_made, "");
    zf_records_put(r, number, &what, v_end, v_made, zf_cg_and(cg, v_some, r->lower->v_is_leader));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_made, zf_cg_resize(cg, v_some, cg->ty_i32, false)), r->v_made);
    zf_records_end(r, zf_cg_add(cg, v_end, v_count));
}

// Records that a step appends, at most.
static uint32_t room_of(const zf_records *r) { return r->guesses ? r->cg->wave * r->program.most : r->program.most; }

// Makes the tiles that are whole, or, if v_last (i1), all elements. Leaves by bb_stop where one failed.
static void make_tiles(zf_records *r, LLVMValueRef v_last, uint32_t room) {
    zf_cg *cg = r->cg;
    zf_records_drain(r, v_last, room);
    if (!r->program.may_fail) return;
    LLVMBasicBlockRef bb_well = zf_cg_block(cg, "tiles_well"); // a failed element only ended that element
    LLVMValueRef v_failed = zf_simt_any(r->lower, zf_cg_not(cg, zf_lower_none_failed(r->lower)));
    zf_cg_cond_br(cg, v_failed, r->chunk->bb_stop, bb_well);
    LLVMMoveBasicBlockAfter(bb_well, zf_cg_here(cg));
    zf_cg_enter(cg, bb_well);
}

// Ends what all lanes walk together, from where it was begun by a store to cg->put_off.
static void walked_together(zf_cg *cg) {
    zf_cg_settle_turns(cg); // also those of a turn that ended early
    cg->put_off = NULL;
}

// The same where the walk has local arrays. Lanes make elements apart, each with local arrays of its own.
static void make_elements(zf_records *r, LLVMValueRef v_last) {
    zf_cg *cg = r->cg;
    struct zf_cg_together *together = cg->together;
    cg->together = NULL;
    make_tiles(r, v_last, room_of(r));
    cg->together = together;
}

// A loop that all lanes walk together. A failed check in it leaves the loop like its last turn, and then what is around it: a
// branch out of several regions in which lanes may part takes a GPU an instruction for each.
static void walk_inner_loop(zf_record_walk *w, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg *cg = w->records.cg;
    LLVMBasicBlockRef bb_stop = w->chunk.bb_stop, bb_failed = zf_cg_block(cg, "turn_failed"), bb_left = zf_cg_block(cg, "left"),
                      bb_on = zf_cg_block(cg, "left_well");
    w->chunk.bb_stop = bb_failed;
    zf_cg_loop_as_written(cg, frame, stmt);
    LLVMBasicBlockRef bb_end = zf_cg_here(cg);
    w->chunk.bb_stop = bb_stop;
    zf_cg_br(cg, bb_left);
    LLVMMoveBasicBlockAfter(bb_failed, bb_end);
    zf_cg_enter(cg, bb_failed);
    zf_cg_br(cg, bb_left);
    LLVMMoveBasicBlockAfter(bb_left, bb_failed);
    zf_cg_enter(cg, bb_left);
    LLVMValueRef v_failed = zf_cg_phi2(cg, cg->ty_i32, zf_cg_i32(cg, 0), bb_end, zf_cg_i32(cg, 1), bb_failed);
    if (cg->target->simt->hide != NULL) v_failed = cg->target->simt->hide(cg, v_failed); // else LLVM leaves both at once again
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_failed, zf_cg_i32(cg, 0)), bb_on, bb_stop);
    LLVMMoveBasicBlockAfter(bb_on, bb_left);
    zf_cg_enter(cg, bb_on);
}

// A statement of a program that emits anywhere. False: it is an ordinary one.
static bool statement_anywhere(zf_record_walk *w, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_records *r = &w->records;
    int32_t site = zf_records_site(r, stmt);
    r->frame = frame;
    w->frame = *frame;
    if (site >= 0) {
        append(r, (uint32_t)site); // a place in the code comes again in another turn only, whose end makes tiles before
        return true;
    }
    if (zf_record_reads(stmt) && (w->read == NULL || !zf_record_is_within(stmt, w->read))) {
        make_elements(r, zf_cg_i1(r->cg, true));
        w->read = stmt;
    }
    if (!zf_record_is_loop(stmt)) return false;
    walk_inner_loop(w, frame, stmt);
    return true;
}

// A turn of a loop that emits ends: tiles are made for all its records together.
static void end_turn(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *loop) {
    zf_record_walk *w = (zf_record_walk *)zf_chunk_of(zf_cg_frame_env(frame));
    zf_records *r = &w->records;
    (void)cg;
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        if (!zf_record_is_within(r->program.sites[s].stmt, loop)) continue;
        r->frame = frame;
        make_elements(r, zf_cg_i1(r->cg, false));
        return;
    }
}

// Goes on here where no turns of the inner loop are left.
static void walk_turns(zf_records *r, LLVMBasicBlockRef bb_next) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_turns = zf_cg_block(cg, "turns"), bb_turn = zf_cg_block(cg, "turn"),
                      bb_none = zf_cg_block(cg, "no_turns");
    LLVMValueRef v_left = LLVMBuildLoad2(cg->builder, cg->ty_i32, r->v_turns, "");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_left, zf_cg_i32(cg, 0)), bb_turns, bb_none);
    zf_cg_enter(cg, bb_turns);
    if (r->guesses)
        zf_records_guess(r, true, bb_turn, bb_next, bb_next);
    else
        zf_cg_br(cg, bb_turn);
    LLVMMoveBasicBlockAfter(bb_turn, zf_cg_here(cg));
    zf_cg_enter(cg, bb_turn);
    v_left = LLVMBuildLoad2(cg->builder, cg->ty_i32, r->v_turns, "");
    LLVMBuildStore(cg->builder, zf_cg_sub(cg, v_left, zf_cg_i32(cg, 1)), r->v_turns);
    cg->sites_in = walked;
    cg->put_off = &walk_of(r)->put_off;
    zf_cg_stmts(cg, r->frame, r->program.inner->body);
    walked_together(cg);
    cg->sites_in = NULL;
    zf_cg_br(cg, bb_next);
    LLVMMoveBasicBlockAfter(bb_none, zf_cg_here(cg));
    zf_cg_enter(cg, bb_none);
}

// All lanes come to the inner loop together: its turns follow the step.
static void enter_turns(zf_records *r, const zf_stmt *loop) {
    zf_cg *cg = r->cg;
    zf_cg_range range = zf_cg_range_make(cg, r->frame, &loop->binder);
    LLVMValueRef v_fits, v_turns = zf_cg_narrow(cg, zf_chunk_region_size(cg, &range), &v_fits);
    zf_records_require(r, v_fits, "turns of an inner loop that can be counted");
    LLVMBuildStore(cg->builder, v_turns, r->v_turns);
}

// Guesses steps, or all lanes walk one. Goes on at bb_next, or at bb_done behind the last step.
static void walk_step(zf_records *r, LLVMBasicBlockRef bb_next, LLVMBasicBlockRef bb_done) {
    zf_cg *cg = r->cg;
    const zf_stmt *loop = r->program.loop;
    LLVMBasicBlockRef bb_walk = zf_cg_block(cg, "step"), bb_body = zf_cg_block(cg, "walk");
    if (r->program.inner != NULL) walk_turns(r, bb_next);
    if (r->guesses)
        zf_records_guess(r, false, bb_walk, bb_next, bb_done);
    else
        zf_cg_br(cg, bb_walk);
    LLVMMoveBasicBlockAfter(bb_walk, zf_cg_here(cg));
    zf_cg_enter(cg, bb_walk);
    LLVMValueRef v_go = loop->kind == ZF_S_WHILE ? zf_cg_expr(cg, r->frame, loop->value).v : zf_cg_i1(cg, true);
    zf_cg_cond_br(cg, v_go, bb_body, bb_done);
    zf_cg_enter(cg, bb_body);
    cg->sites_in = walked;
    cg->put_off = &walk_of(r)->put_off;
    zf_cg_loop_body(cg, r->frame, loop, bb_done, bb_next);
    walked_together(cg);
    cg->sites_in = NULL;
    zf_cg_br(cg, bb_next);
}

// Records come to the memory of the local arrays that a walked step had. A window is filled behind a barrier, in front of them.
static void leave_arrays(zf_records *r) {
    bool some = r->program.own_arrays && zf_simt_arrays_bytes(r->lower->plan, r->lower->kernel) > 0;
    if (some && !zf_record_has_window(&r->program))
        zf_simt_barrier_warp(r->lower, "elements of an array that are read before records in their place");
}

// All lanes walk a step, of which every element was made before, and store its elements at once. Where no record could say what
// it emits, the next step is walked as well: such steps often follow each other, and a guess of them would be in vain.
static void walk_one(zf_record_walk *w, LLVMBasicBlockRef bb_next, LLVMBasicBlockRef bb_done) {
    zf_records *r = &w->records;
    zf_cg *cg = r->cg;
    const zf_stmt *loop = r->program.loop;
    LLVMBasicBlockRef bb_body = zf_cg_block(cg, "walk"), bb_ends = zf_cg_block(cg, "walk_ends"),
                      bb_walked = zf_cg_block(cg, "walk_done");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), w->v_walks);
    LLVMValueRef v_go = loop->kind == ZF_S_WHILE ? zf_cg_expr(cg, r->frame, loop->value).v : zf_cg_i1(cg, true);
    zf_cg_cond_br(cg, v_go, bb_body, bb_ends);
    zf_cg_enter(cg, bb_body);
    cg->sites_in = walked;
    zf_cg_loop_body(cg, r->frame, loop, bb_ends, bb_walked);
    cg->sites_in = NULL;
    zf_cg_br(cg, bb_walked);
    for (unsigned k = 0; k < 2; k++) {
        LLVMBasicBlockRef bb = k == 0 ? bb_walked : bb_ends;
        LLVMMoveBasicBlockAfter(bb, zf_cg_here(cg));
        zf_cg_enter(cg, bb);
        LLVMValueRef v_end = zf_cg_resize(cg, zf_chunk_emitted(r->chunk), cg->ty_i32, false);
        LLVMBuildStore(cg->builder, v_end, r->v_end);
        LLVMBuildStore(cg->builder, v_end, r->v_tile);
        if (r->program.own_arrays) zf_records_window_anew(r);
        if (k == 0) leave_arrays(r); // behind the last step there are no records
        zf_cg_br(cg, k == 0 ? bb_next : bb_done);
    }
}

// One warp guesses steps, and makes their elements before it walks one.
static void walk_mixed(zf_record_walk *w) {
    zf_records *r = &w->records;
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "steps"), bb_guess = zf_cg_block(cg, "guesses"),
                      bb_walk = zf_cg_block(cg, "step"), bb_next = zf_cg_block(cg, "step_done"),
                      bb_open = zf_cg_block(cg, "step_open"), bb_done = zf_cg_block(cg, "steps_done"),
                      bb_drain = zf_cg_block(cg, "tiles"), bb_end = zf_cg_block(cg, "walked");
    LLVMValueRef v_over = zf_cg_alloca(cg, cg->ty_i1, "over");
    w->v_walks = zf_cg_alloca(cg, cg->ty_i1, "walks");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), w->v_walks);
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_over);
    zf_cg_cond_br(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, w->v_walks, ""), bb_walk, bb_guess);
    zf_cg_enter(cg, bb_guess);
    zf_records_guess(r, false, bb_open, bb_next, bb_done);
    LLVMMoveBasicBlockAfter(bb_walk, zf_cg_here(cg));
    zf_cg_enter(cg, bb_walk);
    walk_one(w, bb_head, bb_done);
    LLVMMoveBasicBlockAfter(bb_open, zf_cg_here(cg));
    zf_cg_enter(cg, bb_open);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), w->v_walks);
    zf_cg_br(cg, bb_next);
    LLVMMoveBasicBlockAfter(bb_done, bb_open);
    zf_cg_enter(cg, bb_done);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), v_over);
    zf_cg_br(cg, bb_next);
    LLVMMoveBasicBlockAfter(bb_next, bb_done);
    zf_cg_enter(cg, bb_next);
    zf_cg_br(cg, bb_drain);
    LLVMMoveBasicBlockAfter(bb_drain, bb_next);
    zf_cg_enter(cg, bb_drain);
    LLVMValueRef v_all =
        zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, v_over, ""), LLVMBuildLoad2(cg->builder, cg->ty_i1, w->v_walks, ""));
    make_elements(r, v_all);
    zf_cg_cond_br(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, v_over, ""), bb_end, bb_head);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

// One warp walks, and makes the elements.
static void walk_alone(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "steps"), bb_next = zf_cg_block(cg, "step_done"),
                      bb_done = zf_cg_block(cg, "steps_done"), bb_drain = zf_cg_block(cg, "tiles"),
                      bb_end = zf_cg_block(cg, "walked");
    LLVMValueRef v_last = zf_cg_alloca(cg, cg->ty_i1, "last");
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    walk_step(r, bb_next, bb_done);
    LLVMMoveBasicBlockAfter(bb_next, zf_cg_here(cg));
    zf_cg_enter(cg, bb_next);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_last);
    zf_cg_br(cg, bb_drain);
    LLVMMoveBasicBlockAfter(bb_done, bb_next);
    zf_cg_enter(cg, bb_done);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), v_last);
    zf_cg_br(cg, bb_drain);
    LLVMMoveBasicBlockAfter(bb_drain, bb_done);
    zf_cg_enter(cg, bb_drain);
    v_last = LLVMBuildLoad2(cg->builder, cg->ty_i1, v_last, "");
    make_tiles(r, v_last, room_of(r));
    zf_cg_cond_br(cg, v_last, bb_end, bb_head);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

// The first warp walks, the others make the elements of the batch before (simt_record_warps.c). Only the walker goes on behind
// the loop.
static void walk_apart(zf_record_walk *w) {
    zf_records *r = &w->records;
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_stop = r->chunk->bb_stop, bb_batch = zf_cg_block(cg, "batch"), bb_begin = zf_cg_block(cg, "walk_batch"),
                      bb_head = zf_cg_block(cg, "steps"), bb_next = zf_cg_block(cg, "step_done"),
                      bb_done = zf_cg_block(cg, "steps_done"), bb_publish = zf_cg_block(cg, "batch_walked"),
                      bb_failed = zf_cg_block(cg, "walk_failed"), bb_execute = zf_cg_block(cg, "execute"),
                      bb_meet = zf_cg_block(cg, "meet"), bb_well = zf_cg_block(cg, "batches_well"),
                      bb_end = zf_cg_block(cg, "batches_done"), bb_rest = zf_cg_block(cg, "walked");
    LLVMValueRef v_ends = zf_cg_alloca(cg, cg->ty_i1, "ends"), v_over = zf_cg_alloca(cg, cg->ty_i1, "over");
    zf_records_warps_begin(r);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_over); // the walker is done: this batch is executed alone
    zf_cg_br(cg, bb_batch);
    zf_cg_enter(cg, bb_batch);
    zf_cg_cond_br(cg, r->v_is_walker, bb_begin, bb_execute);
    zf_cg_enter(cg, bb_begin);
    zf_cg_cond_br(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, v_over, ""), bb_meet, bb_head);
    zf_cg_enter(cg, bb_head);
    r->chunk->bb_stop = bb_failed;
    walk_step(r, bb_next, bb_done);
    r->chunk->bb_stop = bb_stop;
    LLVMMoveBasicBlockAfter(bb_next, zf_cg_here(cg));
    zf_cg_enter(cg, bb_next);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_ends);
    zf_cg_cond_br(cg, zf_records_is_batch(r, room_of(r)), bb_publish, bb_head);
    LLVMMoveBasicBlockAfter(bb_done, zf_cg_here(cg));
    zf_cg_enter(cg, bb_done);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), v_ends);
    zf_cg_br(cg, bb_publish);
    LLVMMoveBasicBlockAfter(bb_publish, bb_done);
    zf_cg_enter(cg, bb_publish);
    zf_records_publish(r, LLVMBuildLoad2(cg->builder, cg->ty_i1, v_ends, ""));
    zf_cg_br(cg, bb_meet);
    LLVMMoveBasicBlockAfter(bb_failed, zf_cg_here(cg));
    zf_cg_enter(cg, bb_failed);
    zf_records_fail(r);
    zf_cg_br(cg, bb_meet);
    LLVMMoveBasicBlockAfter(bb_execute, zf_cg_here(cg));
    zf_cg_enter(cg, bb_execute);
    zf_records_execute(r);
    zf_cg_br(cg, bb_meet);
    LLVMMoveBasicBlockAfter(bb_meet, zf_cg_here(cg));
    zf_cg_enter(cg, bb_meet);
    LLVMValueRef v_failed, v_last, v_was;
    zf_records_meet(r, &v_failed, &v_last);
    zf_cg_cond_br(cg, v_failed, bb_stop, bb_well);
    zf_cg_enter(cg, bb_well);
    v_was = LLVMBuildLoad2(cg->builder, cg->ty_i1, v_over, "");
    LLVMBuildStore(cg->builder, v_last, v_over);
    zf_cg_cond_br(cg, v_was, bb_end, bb_batch);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    zf_cg_cond_br(cg, r->v_is_walker, bb_rest, w->bb_none);
    zf_cg_enter(cg, bb_rest);
}

static void walk_loop(zf_record_walk *w) {
    zf_records *r = &w->records;
    zf_cg *cg = r->cg;
    if (r->guesses) zf_records_guess_begin(r);
    if (r->program.inner != NULL) {
        r->v_turns = zf_cg_alloca(cg, cg->ty_i32, "turns");
        LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), r->v_turns);
    }
    if (r->program.walked_count > 0)
        walk_mixed(w);
    else if (r->warps > 1)
        walk_apart(w);
    else
        walk_alone(r);
    if (r->guesses) zf_records_guess_end(r);
}

static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_record_walk *w = (zf_record_walk *)zf_chunk_of(zf_cg_frame_env(frame));
    zf_records *r = &w->records;
    if (r->program.loop == NULL) return statement_anywhere(w, frame, stmt) || w->statement(cg, frame, stmt);
    if (stmt == r->program.loop) {
        r->frame = frame;
        walk_loop(w);
        return true;
    }
    if (r->guess == NULL && r->program.inner != NULL && stmt == r->program.inner) {
        enter_turns(r, stmt);
        return true;
    }
    if (r->guess != NULL && zf_records_guess_statement(r, stmt)) return true;
    if (r->guess == NULL && w->v_walks != NULL) {
        for (uint32_t k = 0; k < r->program.walked_count; k++) {
            if (stmt == r->program.walked[k]) LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), w->v_walks);
        }
        return w->statement(cg, frame, stmt);
    }
    int32_t site = r->guess == NULL ? zf_records_site(r, stmt) : -1;
    if (site < 0) return w->statement(cg, frame, stmt);
    append(r, (uint32_t)site);
    return true;
}

void zf_record_walk_body(zf_record_walk *w, const zf_simt_shape *shape) {
    zf_records *r = &w->records;
    zf_chunk *chunk = &w->chunk;
    zf_cg *cg = r->cg;
    w->statement = chunk->env.env.stmt;
    chunk->env.env.stmt = statement;
    zf_records_begin(r);
    zf_simt_arrays_begin(r->lower, shape);
    zf_cg_put_off_begin(cg, &w->put_off, &chunk->bb_stop);
    if (r->program.loop == NULL) {
        cg->put_off = &w->put_off;
        chunk->env.env.end_turn = end_turn;
    }
    zf_cg_eval_body(cg, &chunk->env.env, &chunk->inst->decode);
    walked_together(cg);
    zf_simt_arrays_end(r->lower);
    if (r->program.loop == NULL) {
        r->frame = &w->frame; // the body's own is no more
        make_elements(r, zf_cg_i1(cg, true));
    }
    LLVMValueRef v_all = zf_cg_icmp(cg, LLVMIntEQ, zf_chunk_emitted(chunk), chunk->v_count);
    zf_records_require(r, v_all, "elements of a chunk");
}

// A step that each lane guesses (simt_guess.c): its statements, with slots for what they emit and for checks that wait.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_guess.h"
#include "frontend/check/walk.h"

enum { LARGEST = 1 << 22 }; // elements of a record

// A slot that is `v` before each guess.
static LLVMValueRef slot(zf_cg *cg, LLVMValueRef v, const char *name) {
    LLVMValueRef v_slot = zf_cg_alloca(cg, LLVMTypeOf(v), name);
    LLVMBuildStore(cg->builder, v, v_slot);
    return v_slot;
}

static void guess_site(struct zf_guess *g, uint32_t number) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    const zf_record_site *site = &r->program.sites[number];
    zf_guess_site *s = &g->sites[number];
    zf_record_what what = zf_records_what(r, site);
    LLVMValueRef *v_words, v_before = zf_cg_get(cg, g->v_elements);
    uint32_t words = zf_records_words(site, &what, &v_words);
    LLVMValueRef v_fits, v_count = zf_cg_narrow(cg, what.v_count, &v_fits);
    zf_chunk_note(g->r->chunk, zf_cg_and(cg, v_fits, zf_cg_icmp(cg, LLVMIntULE, v_count, zf_cg_i32(cg, LARGEST))));
    LLVMBuildStore(cg->builder, zf_cg_icmp(cg, LLVMIntNE, v_count, zf_cg_i32(cg, 0)), s->v_some);
    LLVMBuildStore(cg->builder, v_before, s->v_before);
    if (g->v_site != NULL) LLVMBuildStore(cg->builder, zf_cg_i32(cg, number), g->v_site);
    if (site->form.kind == ZF_REGION_BACK) { // it is known to fit
        LLVMBuildStore(cg->builder, zf_cg_resize(cg, what.v_distance, cg->ty_i32, false), s->v_distance);
        words = 0;
    }
    for (uint32_t k = 0; k < words; k++) {
        if (v_words[k] != NULL) LLVMBuildStore(cg->builder, v_words[k], s->v_words[k]);
    }
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_before, v_count), g->v_elements);
}

static bool see_local(zf_visitor *visitor, zf_expr *expr) {
    zf_guess_waiting *w = visitor->user;
    if (expr->kind != ZF_X_LOCAL || expr->local->kind == ZF_L_FORMAL || expr->local->kind == ZF_L_CHUNK) return true;
    for (uint32_t k = 0; k < w->local_count; k++) {
        if (w->locals[k] == expr->local) return true;
    }
    if (w->local_count < ZF_GUESS_REQUIRE_LOCALS && !expr->local->is_seq)
        w->locals[w->local_count++] = expr->local;
    else
        w->fits = false;
    return true;
}

bool zf_guess_keeps_32_bits(const zf_local *local) { return local->type.kind == ZF_K_U64 && !local->type.nullable; }

// Keeps what a `require` takes until the position is known.
static void put_off(struct zf_guess *g, const zf_stmt *stmt) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    zf_guess_waiting w = {.stmt = stmt, .fits = g->wait_count < ZF_GUESS_REQUIRES};
    zf_visitor visitor = {.user = &w, .expr = see_local};
    zf_visit_expr(&visitor, stmt->value);
    if (!w.fits) { // never decided
        zf_chunk_note(g->r->chunk, zf_cg_i1(cg, false));
        return;
    }
    w.v_met = g->waits[g->wait_count].v_met;
    w.v_before = g->waits[g->wait_count].v_before;
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), w.v_met);
    LLVMBuildStore(cg->builder, zf_cg_get(cg, g->v_elements), w.v_before);
    for (uint32_t k = 0; k < w.local_count; k++) {
        const zf_local *local = w.locals[k];
        zf_expr expr = {.kind = ZF_X_LOCAL, .type = local->type, .local = (zf_local *)(uintptr_t)local, .range = local->range};
        LLVMValueRef v = zf_cg_expr(cg, r->frame, &expr).v;
        if (zf_guess_keeps_32_bits(local)) {
            LLVMValueRef v_fits;
            v = zf_cg_narrow(cg, v, &v_fits);
            zf_chunk_note(r->chunk, v_fits);
        }
        w.v_locals[k] = zf_cg_alloca(cg, LLVMTypeOf(v), "taken");
        LLVMBuildStore(cg->builder, v, w.v_locals[k]);
    }
    g->waits[g->wait_count++] = w;
}

// A loop of the step turns once; where it would turn again, the step is undecided. Behind a `while` proofs rest on its condition,
// which does not hold then.
static void turn_once(struct zf_guess *g, const zf_stmt *loop) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    bool is_while = loop->kind == ZF_S_WHILE;
    LLVMBasicBlockRef bb_turn = zf_cg_block(cg, "turn"), bb_again = zf_cg_block(cg, "turn_again"),
                      bb_end = zf_cg_block(cg, "turned");
    LLVMValueRef v_ended = is_while ? slot(cg, zf_cg_i1(cg, true), "ended") : NULL, v_guard = cg->v_guard;
    if (is_while)
        zf_cg_cond_br(cg, zf_cg_expr(cg, r->frame, loop->value).v, bb_turn, bb_end);
    else
        zf_cg_br(cg, bb_turn);
    zf_cg_enter(cg, bb_turn);
    zf_cg_loop_body(cg, r->frame, loop, bb_end, bb_again);
    zf_cg_br(cg, bb_again);
    LLVMMoveBasicBlockAfter(bb_again, zf_cg_here(cg));
    zf_cg_enter(cg, bb_again);
    cg->v_guard = v_guard;
    LLVMValueRef v_ends = is_while ? zf_cg_not(cg, zf_cg_expr(cg, r->frame, loop->value).v) : zf_cg_i1(cg, false);
    zf_chunk_note(r->chunk, v_ends);
    if (is_while) LLVMBuildStore(cg->builder, v_ends, v_ended);
    zf_cg_br(cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, bb_again);
    zf_cg_enter(cg, bb_end);
    cg->v_guard = v_guard;
    if (!is_while) return;
    LLVMValueRef v_holds = zf_cg_get(cg, v_ended);
    cg->v_guard = v_guard == NULL ? v_holds : zf_cg_select(cg, v_guard, v_holds, zf_cg_i1(cg, false));
}

// The step ends with turns of the inner loop.
static void enter_turns(struct zf_guess *g, const zf_stmt *loop) {
    zf_cg *cg = g->r->cg;
    zf_cg_range range = zf_cg_range_make(cg, g->r->frame, &loop->binder);
    LLVMValueRef v_fits, v_turns = zf_cg_narrow(cg, zf_chunk_region_size(cg, &range), &v_fits);
    zf_chunk_note(g->r->chunk, v_fits);
    LLVMBuildStore(cg->builder, v_turns, g->v_turns);
}

// The rest of the step is for all lanes together. Nothing is built of it, so LLVM removes what only leads here.
static void leave_open(zf_records *r) {
    zf_cg_br(r->cg, r->chunk->bb_stop);
    zf_cg_enter(r->cg, zf_cg_block(r->cg, "never"));
}

bool zf_records_guess_statement(zf_records *r, const zf_stmt *stmt) {
    int32_t site = zf_records_site(r, stmt);
    if (zf_record_is_walked(&r->program, stmt)) {
        for (uint32_t k = 0; k < r->program.walked_count; k++) {
            if (stmt == r->program.walked[k]) leave_open(r);
        }
        return true;
    }
    if (stmt == r->program.inner)
        enter_turns(r->guess, stmt);
    else if (stmt->kind == ZF_S_WHILE || stmt->kind == ZF_S_LOOP)
        turn_once(r->guess, stmt);
    else if (site >= 0)
        guess_site(r->guess, (uint32_t)site);
    else if (zf_record_waits(stmt))
        put_off(r->guess, stmt);
    else
        return false;
    return true;
}

// Whether a step has one record at most, whatever its site: sites share their slots.
static bool sites_share(const zf_record_program *program) {
    bool shares = program->most == 1 && !program->copies && program->inner == NULL;
    for (uint32_t s = 0; s < program->site_count; s++) shares = shares && !program->sites[s].takes_position;
    return shares;
}

// Slots of a site that was not come to are undefined, so that ways that lead past it cost nothing.
void zf_guess_begin_slots(struct zf_guess *g) {
    zf_cg *cg = g->r->cg;
    LLVMValueRef v_no = zf_cg_i1(cg, false);
    g->wait_count = 0;
    g->v_elements = slot(cg, zf_cg_i32(cg, 0), "elements");
    g->v_turns = slot(cg, zf_cg_i32(cg, 0), "turns");
    g->v_site = sites_share(&g->r->program) ? zf_cg_alloca(cg, cg->ty_i32, "site") : NULL;
    for (uint32_t s = 0; s < g->r->program.site_count; s++) {
        if (g->v_site != NULL && s > 0) {
            g->sites[s] = g->sites[0];
            continue;
        }
        g->sites[s] = (zf_guess_site){.v_some = slot(cg, v_no, "some"), .v_before = zf_cg_alloca(cg, cg->ty_i32, "before")};
        g->sites[s].v_distance = zf_cg_alloca(cg, cg->ty_i32, "distance");
        for (uint32_t k = 0; k < ZF_RECORD_WORDS; k++) g->sites[s].v_words[k] = zf_cg_alloca(cg, cg->ty_i64, "word");
    }
    for (uint32_t k = 0; k < ZF_GUESS_REQUIRES; k++) {
        g->waits[k].v_met = slot(cg, v_no, "met");
        g->waits[k].v_before = zf_cg_alloca(cg, cg->ty_i32, "before");
    }
}

static void forget(zf_cg *cg, LLVMValueRef v_slot) {
    LLVMBuildStore(cg->builder, LLVMGetUndef(LLVMGetAllocatedType(v_slot)), v_slot);
}

// An undecided step has no records, whatever its slots hold.
static void forget_slots(struct zf_guess *g) {
    zf_cg *cg = g->r->cg;
    forget(cg, g->v_elements);
    forget(cg, g->v_turns);
    if (g->v_site != NULL) forget(cg, g->v_site);
    for (uint32_t s = 0; s < g->r->program.site_count; s++) {
        forget(cg, g->sites[s].v_some);
        forget(cg, g->sites[s].v_before);
        forget(cg, g->sites[s].v_distance);
        for (uint32_t k = 0; k < ZF_RECORD_WORDS; k++) forget(cg, g->sites[s].v_words[k]);
    }
    for (uint32_t k = 0; k < g->wait_count; k++) {
        forget(cg, g->waits[k].v_met);
        forget(cg, g->waits[k].v_before);
        for (uint32_t l = 0; l < g->waits[k].local_count; l++) forget(cg, g->waits[k].v_locals[l]);
    }
}

// `v_next`, or ZF_GUESS_UNDECIDED where the step may have read behind the window: never behind its cursor.
static LLVMValueRef decided(struct zf_guess *g, const zf_chunk_stream *s, LLVMValueRef v_known, LLVMValueRef v_next) {
    zf_cg *cg = g->r->cg;
    LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULE, zf_cg_get(cg, s->v_at), v_known);
    v_in = zf_cg_within(cg, v_in, "bytes of a window that a step read");
    if (g->sketches) return v_next; // the step is built once more
    v_in = zf_cg_and(cg, v_in, zf_cg_not(cg, zf_cg_get(cg, g->r->chunk->notes->v_failed)));
    return zf_cg_select(cg, v_in, v_next, zf_cg_i32(cg, ZF_GUESS_UNDECIDED));
}

// Takes turns of loops from those that a step may make before it is undecided.
static void take_turns(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_count, zf_span span) {
    zf_chunk *chunk = zf_chunk_of(env);
    LLVMValueRef v_left = zf_cg_get(cg, chunk->v_work), v_fits;
    (void)span;
    v_count = zf_cg_narrow(cg, v_count, &v_fits);
    LLVMValueRef v_ok = zf_cg_and(cg, v_fits, zf_cg_icmp(cg, LLVMIntUGE, v_left, v_count));
    zf_chunk_stop_unless(chunk->env.lower, v_ok, 0);
    LLVMBuildStore(cg->builder, zf_cg_sub(cg, v_left, v_count), chunk->v_work);
}

LLVMValueRef zf_guess_build_step(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_away, LLVMValueRef v_known) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    zf_chunk *chunk = r->chunk;
    const zf_stmt *loop = g->inner ? r->program.inner : r->program.loop;
    zf_chunk_stream *s = &chunk->streams[r->program.cursor.port->slot];
    LLVMValueRef v_real[3] = {s->v_at, r->lower->v_fail, chunk->v_work};
    LLVMBasicBlockRef bb_stop = chunk->bb_stop;
    LLVMBasicBlockRef bb_body = zf_cg_block(cg, "guess"), bb_next = zf_cg_block(cg, "guess_next"),
                      bb_last = zf_cg_block(cg, "guess_last"), bb_open = zf_cg_block(cg, "undecided"),
                      bb_met = zf_cg_block(cg, "guessed");
    LLVMValueRef v_total = zf_cg_resize(cg, s->v_total, cg->ty_i32, false), v_left = zf_cg_sub(cg, v_total, v_at);
    s->v_at = slot(cg, zf_cg_add(cg, v_at, zf_cg_umin(cg, v_away, v_left)), "guess_at");
    zf_record_cursors_enter(&g->others);
    r->lower->v_fail = slot(cg, zf_cg_i32(cg, ZF_NO_FAILURE), "guess_fail");
    chunk->v_work = slot(cg, zf_cg_i32(cg, ZF_GUESS_TURNS), "guess_turns");
    s->v_window = zf_record_has_window(&r->program) ? r->v_window : NULL;
    chunk->bb_stop = bb_open;
    chunk->env.env.counts_all = true;
    void (*work)(zf_cg *, zf_cg_env *, LLVMValueRef, zf_span) = chunk->env.env.work;
    chunk->env.env.work = take_turns;
    zf_chunk_notes notes;
    zf_chunk_notes_begin(chunk, &notes); // a failure leaves the step undecided
    r->guess = g;
    cg->sites_in = "a guess";
    LLVMValueRef v_go = loop->kind == ZF_S_WHILE ? zf_cg_expr(cg, r->frame, loop->value).v : zf_cg_i1(cg, true);
    zf_cg_cond_br(cg, v_go, bb_body, bb_last);
    zf_cg_enter(cg, bb_body);
    zf_cg_loop_body(cg, r->frame, loop, bb_last, bb_next);
    zf_cg_br(cg, bb_next);
    LLVMMoveBasicBlockAfter(bb_next, zf_cg_here(cg));
    zf_cg_enter(cg, bb_next);
    LLVMValueRef v_next = zf_cg_sub(cg, zf_cg_get(cg, s->v_at), v_at);
    if (!zf_record_has_window(&r->program)) // which bounds it
        zf_chunk_note(
            chunk, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, zf_cg_i32(cg, ZF_GUESS_ENTERS)), "steps that skip far"));
    if (!g->inner && r->program.inner != NULL) {
        LLVMValueRef v_enters = zf_cg_icmp(cg, LLVMIntNE, zf_cg_get(cg, g->v_turns), zf_cg_i32(cg, 0));
        v_next = zf_cg_select(cg, v_enters, zf_cg_or(cg, v_next, zf_cg_i32(cg, ZF_GUESS_ENTERS)), v_next);
    }
    v_next = decided(g, s, v_known, v_next);
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_last, bb_next);
    zf_cg_enter(cg, bb_last);
    LLVMValueRef v_end = decided(g, s, v_known, zf_cg_i32(cg, ZF_GUESS_LAST));
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_open, bb_last);
    zf_cg_enter(cg, bb_open);
    forget_slots(g);
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_met, bb_open);
    zf_cg_enter(cg, bb_met);
    LLVMValueRef v_phi = LLVMBuildPhi(cg->builder, cg->ty_i32, "step");
    LLVMValueRef v_ways[3] = {v_next, v_end, zf_cg_i32(cg, ZF_GUESS_UNDECIDED)};
    LLVMBasicBlockRef bb_ways[3] = {bb_next, bb_last, bb_open};
    LLVMAddIncoming(v_phi, v_ways, bb_ways, 3);
    zf_record_cursors_leave(&g->others);
    s->v_at = v_real[0];
    s->v_window = NULL;
    r->lower->v_fail = v_real[1];
    chunk->v_work = v_real[2];
    chunk->env.env.work = work;
    zf_chunk_notes_end(chunk);
    chunk->env.env.counts_all = false;
    chunk->bb_stop = bb_stop;
    r->guess = NULL;
    cg->sites_in = NULL;
    return v_phi;
}

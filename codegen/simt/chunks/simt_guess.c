// Guess and chain: the steps of a chunk program whose state between steps is cursors and the output's position alone.
//
// Each lane builds the step that would begin at one of as many consecutive elements (mostly bytes) as there are lanes. Where it
// ends tells which lane's step would follow it; by pointer doubling each lane learns the steps behind it that are in these. The
// steps of the first lane are the true ones, and a scan gives the place of their elements. A distance or a `require` that needs
// the position waits until then. Where all steps take as many bytes, each lane has the step behind that of the lane before, and
// all are true.
//
// A lane leaves a step *undecided* where a check fails, where a loop turns more often than is usual, and where something is too
// large. All lanes walk such a step together, so that failures are those of one thread.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_cursors.h"
#include "codegen/simt/chunks/simt_records.h"
#include "frontend/check/walk.h"

enum {
    TURNS = 4,          // of a step's loops together, its own included
    LARGEST = 1 << 22,  // elements of a record
    WIDE = 4,           // places of a lane in a wide window
    REQUIRES = 4,       // statements that wait
    REQUIRE_LOCALS = 8, // that such a statement takes
};
#define ENTERS UINT32_C(0x40000000)    // above the distance to the inner turns that follow
#define UNDECIDED UINT32_C(0x80000000) // in place of the distance to the next step
#define LAST UINT32_C(0xc0000000)

/// A site of the step: slots.
typedef struct guessed_site {
    LLVMValueRef v_some;                   ///< i1: it is come to, and emits something
    LLVMValueRef v_before;                 ///< i32: elements of the step before it
    LLVMValueRef v_distance;               ///< i32, of a copy of the output
    LLVMValueRef v_words[ZF_RECORD_WORDS]; ///< i64, of others
} guessed_site;

/// A `require` that waits: slots.
typedef struct waiting {
    const zf_stmt *stmt;
    LLVMValueRef v_met;    ///< i1: it is come to
    LLVMValueRef v_before; ///< i32
    const zf_local *locals[REQUIRE_LOCALS];
    LLVMValueRef v_locals[REQUIRE_LOCALS];
    uint32_t local_count;
    bool fits;
} waiting;

struct zf_guess {
    zf_records *r;
    bool inner;      ///< steps are turns of the inner loop
    uint32_t stride; ///< elements from a lane's step to the next lane's
    bool sketches;   ///< only lengths count, of steps whose checks hold
    zf_record_cursors others;
    LLVMValueRef v_turns;    ///< slot (i32): inner turns that follow the step
    LLVMValueRef v_elements; ///< slot (i32): of the step so far
    LLVMValueRef v_site;     ///< slot (i32), where a step comes to one site at most, and all share their slots: its number
    guessed_site sites[ZF_RECORD_SITES];
    waiting waits[REQUIRES];
    uint32_t wait_count;
};

// A slot that is `v` before each guess.
static LLVMValueRef slot(zf_cg *cg, LLVMValueRef v, const char *name) {
    LLVMValueRef v_slot = zf_cg_alloca(cg, LLVMTypeOf(v), name);
    LLVMBuildStore(cg->builder, v, v_slot);
    return v_slot;
}

// ---- Kinds of guesses -----------------------------------------------------------------------------------------

bool zf_record_is_wide(const zf_record_program *program) {
    bool one = program->cursor.port != NULL && program->inner == NULL && program->other_count == 0;
    bool long_steps = program->most > 1 || !program->copies_back; // a step that is one copy has few bytes
    return one && long_steps && zf_record_has_window(program) && !zf_record_is_consecutive(program);
}

uint32_t zf_records_guess_bytes(const zf_record_program *program, uint32_t wave) {
    return zf_record_window_bytes(program, wave) + (zf_record_is_wide(program) ? 2 * wave : 0);
}

bool zf_record_is_consecutive(const zf_record_program *program) {
    return program->cursor.port != NULL && program->cursor.fixed && program->inner == NULL &&
           program->cursor.least <= ZF_RECORD_LOADED;
}

uint32_t zf_records_guess_steps(const zf_record_program *program, uint32_t wave) {
    uint32_t least = program->cursor.least;
    if (zf_record_is_consecutive(program) || zf_record_is_wide(program)) return wave;
    if (program->inner != NULL && program->inner_least < least) least = program->inner_least;
    return (wave + least - 1) / least;
}

void zf_records_guess_begin(zf_records *r) {
    r->v_windows = slot(r->cg, zf_cg_i32(r->cg, 0), "windows");
    zf_records_window_begin(r);
}

void zf_records_guess_end(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_turns = zf_cg_mul(cg, zf_cg_wide(cg, zf_cg_get(cg, r->v_windows)),
                                     zf_cg_i64(cg, (uint64_t)TURNS * zf_records_guess_steps(&r->program, cg->wave)));
    zf_records_require(r, zf_cg_icmp(cg, LLVMIntUGE, zf_cg_wide(cg, zf_cg_get(cg, r->chunk->v_work)), v_turns), "turns of loops");
}

// ---- The step -------------------------------------------------------------------------------------------------

static void guess_site(struct zf_guess *g, uint32_t number) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    const zf_record_site *site = &r->program.sites[number];
    guessed_site *s = &g->sites[number];
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
    waiting *w = visitor->user;
    if (expr->kind != ZF_X_LOCAL || expr->local->kind == ZF_L_FORMAL || expr->local->kind == ZF_L_CHUNK) return true;
    for (uint32_t k = 0; k < w->local_count; k++) {
        if (w->locals[k] == expr->local) return true;
    }
    if (w->local_count < REQUIRE_LOCALS && !expr->local->is_seq)
        w->locals[w->local_count++] = expr->local;
    else
        w->fits = false;
    return true;
}

// Whether 32 bits of a local are kept: where it has more, the step is undecided.
static bool keeps_32_bits(const zf_local *local) { return local->type.kind == ZF_K_U64 && !local->type.nullable; }

// Keeps what a `require` takes until the position is known.
static void put_off(struct zf_guess *g, const zf_stmt *stmt) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    waiting w = {.stmt = stmt, .fits = g->wait_count < REQUIRES};
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
        if (keeps_32_bits(local)) {
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
static void begin_slots(struct zf_guess *g) {
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
        g->sites[s] = (guessed_site){.v_some = slot(cg, v_no, "some"), .v_before = zf_cg_alloca(cg, cg->ty_i32, "before")};
        g->sites[s].v_distance = zf_cg_alloca(cg, cg->ty_i32, "distance");
        for (uint32_t k = 0; k < ZF_RECORD_WORDS; k++) g->sites[s].v_words[k] = zf_cg_alloca(cg, cg->ty_i64, "word");
    }
    for (uint32_t k = 0; k < REQUIRES; k++) {
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

// `v_next`, or UNDECIDED where the step may have read behind the window: never behind its cursor.
static LLVMValueRef decided(struct zf_guess *g, const zf_chunk_stream *s, LLVMValueRef v_known, LLVMValueRef v_next) {
    zf_cg *cg = g->r->cg;
    LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULE, zf_cg_get(cg, s->v_at), v_known);
    v_in = zf_cg_within(cg, v_in, "bytes of a window that a step read");
    if (g->sketches) return v_next; // the step is built once more
    v_in = zf_cg_and(cg, v_in, zf_cg_not(cg, zf_cg_get(cg, g->r->chunk->notes->v_failed)));
    return zf_cg_select(cg, v_in, v_next, zf_cg_i32(cg, UNDECIDED));
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

// Builds the step v_away (i32) from v_at on, by the lanes apart; the window has bytes up to v_known. Returns the distance from
// v_at to the next step (i32), UNDECIDED or LAST.
static LLVMValueRef build_step(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_away, LLVMValueRef v_known) {
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
    chunk->v_work = slot(cg, zf_cg_i32(cg, TURNS), "guess_turns");
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
        zf_chunk_note(chunk, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, zf_cg_i32(cg, ENTERS)), "steps that skip far"));
    if (!g->inner && r->program.inner != NULL) {
        LLVMValueRef v_enters = zf_cg_icmp(cg, LLVMIntNE, zf_cg_get(cg, g->v_turns), zf_cg_i32(cg, 0));
        v_next = zf_cg_select(cg, v_enters, zf_cg_or(cg, v_next, zf_cg_i32(cg, ENTERS)), v_next);
    }
    v_next = decided(g, s, v_known, v_next);
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_last, bb_next);
    zf_cg_enter(cg, bb_last);
    LLVMValueRef v_end = decided(g, s, v_known, zf_cg_i32(cg, LAST));
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_open, bb_last);
    zf_cg_enter(cg, bb_open);
    forget_slots(g);
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_met, bb_open);
    zf_cg_enter(cg, bb_met);
    LLVMValueRef v_phi = LLVMBuildPhi(cg->builder, cg->ty_i32, "step");
    LLVMValueRef v_ways[3] = {v_next, v_end, zf_cg_i32(cg, UNDECIDED)};
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

// ---- The chain ------------------------------------------------------------------------------------------------

/// The steps of the first lane.
typedef struct chain {
    LLVMValueRef v_steps;    ///< set of lanes
    LLVMValueRef v_next;     ///< i32: as a step's, of the last
    LLVMValueRef v_elements; ///< i32: of all
    LLVMValueRef v_true;     ///< i1: this lane's step is one of them, and decided
    LLVMValueRef v_begin;    ///< i32: where its elements begin
    LLVMValueRef v_taken;    ///< set of lanes, of inner turns: those that are made
    LLVMValueRef v_last;     ///< i32: the last lane of the steps
    LLVMValueRef v_away;     ///< i32: where that step begins
} chain;

// The lanes up to the first that does not go on (i1), which is *v_last. The last lane must not.
static LLVMValueRef lanes_that_go_on(zf_records *r, LLVMValueRef v_goes_on, LLVMValueRef *v_last) {
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_ends = zf_simt_ballot(r->lower, zf_cg_not(cg, v_goes_on));
    LLVMValueRef v_args[2] = {v_ends, zf_cg_i1(cg, true)};
    LLVMValueRef v_lane = zf_cg_intrinsic(cg, "llvm.cttz", &ty_set, 1, v_args, 2);
    *v_last = zf_cg_resize(cg, v_lane, cg->ty_i32, false);
    LLVMValueRef v_end = zf_cg_and(cg, v_ends, LLVMBuildNeg(cg->builder, v_ends, "")); // its bit
    return zf_cg_or(cg, v_end, zf_cg_sub(cg, v_end, LLVMConstInt(ty_set, 1, 0)));
}

// For every lane the steps that follow its own among the elements of as many lanes (a set), where v_goes_on (i1) says whether
// its own is followed by the one at v_next (i32, a lane). *v_last: the last of them.
static LLVMValueRef steps_behind(zf_records *r, LLVMValueRef v_next, LLVMValueRef v_goes_on, uint32_t least,
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
    if (zf_record_is_consecutive(&r->program)) return lanes_that_go_on(r, v_goes_on, v_last);
    uint32_t least = g->inner ? r->program.inner_least : r->program.cursor.least;
    LLVMValueRef v_steps = steps_behind(r, v_next, v_goes_on, least, v_last);
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

static LLVMValueRef is_among(struct zf_guess *g, LLVMValueRef v_steps) {
    zf_cg *cg = g->r->cg;
    LLVMValueRef v_lane = zf_cg_resize(cg, g->r->v_lane, zf_simt_set_type(cg), false);
    return zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_steps, v_lane, ""), cg->ty_i1, false);
}

static void place_elements(const struct zf_guess *g, chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_elements = zf_cg_select(cg, c->v_true, zf_cg_get(cg, g->v_elements), zf_cg_i32(cg, 0));
    LLVMValueRef v_upto = zf_simt_scan_warp(r->lower, v_elements, r->v_lane);
    c->v_elements = zf_simt_shuffle(r->lower, v_upto, zf_cg_i32(cg, cg->wave - 1));
    c->v_begin = zf_cg_add(cg, zf_cg_get(cg, r->v_end), zf_cg_sub(cg, v_upto, v_elements));
}

static chain follow(struct zf_guess *g, LLVMValueRef v_next) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_decided = zf_cg_icmp(cg, LLVMIntNE, v_next, zf_cg_i32(cg, UNDECIDED)), v_goes_on = leads_on(g, v_next);
    if (r->program.other_count > 0) v_goes_on = zf_cg_and(cg, v_goes_on, zf_record_cursors_settled(&g->others, v_next));
    chain c = {.v_steps = NULL};
    c.v_steps = steps_of(g, v_next, v_goes_on, &c.v_last);
    c.v_next = zf_simt_shuffle(r->lower, v_next, c.v_last);
    c.v_true = zf_cg_and(cg, is_among(g, c.v_steps), v_decided);
    if (g->inner) { // no more turns than are left
        LLVMValueRef v_before = zf_simt_count_lanes(cg, zf_cg_and(cg, c.v_steps, zf_simt_lanes_below(cg, r->v_lane)));
        LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, v_before, zf_cg_get(cg, r->v_turns));
        c.v_true = zf_cg_and(cg, c.v_true, zf_cg_within(cg, v_is, "turns of an inner loop"));
        c.v_taken = zf_simt_ballot(r->lower, c.v_true);
    }
    c.v_away = zf_cg_mul(cg, c.v_last, zf_cg_i32(cg, g->stride));
    place_elements(g, &c);
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
        begin_slots(g);
        LLVMValueRef v_next = build_step(g, v_at, v_away, v_known), v_true = NULL, v_last;
        if (!consecutive) v_true = is_among(g, steps_of(g, v_next, leads_on(g, v_next), &v_last));
        zf_record_cursors_follow(&g->others, v_true, v_next);
        r->cg->sites = sites;
    }
    begin_slots(g);
    return build_step(g, v_at, v_away, v_known);
}

// ---- Wide windows ---------------------------------------------------------------------------------------------

// Steps are short, and few of the bytes begin one. Lanes look for lengths first, at several places each: LLVM removes
// what a sketch makes besides. The places of true steps come to shared memory in their order; then each lane builds one of them.
// Nothing rests on the sketches but which steps are built: a step that is not followed by the next lane's is the last.

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
        begin_slots(g);
        LLVMValueRef v_next = build_step(g, v_at, zf_cg_add(cg, r->v_lane, v_first), v_known);
        LLVMValueRef v_to = zf_cg_sub(cg, v_next, v_first), v_in = zf_cg_icmp(cg, LLVMIntULT, v_to, v_wave);
        v_steps[k] = steps_behind(r, v_to, v_in, r->program.cursor.least, &v_last);
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
        LLVMValueRef v_is = zf_cg_and(cg, is_among(g, v_set), zf_cg_icmp(cg, LLVMIntULT, v_rank, v_wave));
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

static chain follow_wide(struct zf_guess *g, LLVMValueRef v_at, LLVMValueRef v_known) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_count, v_place = find_places(g, v_at, v_known, &v_count);
    begin_slots(g);
    LLVMValueRef v_next = build_step(g, v_at, v_place, v_known), v_behind = zf_cg_add(cg, r->v_lane, zf_cg_i32(cg, 1));
    LLVMValueRef v_follows = zf_simt_shuffle(r->lower, v_place, zf_cg_and(cg, v_behind, zf_cg_i32(cg, cg->wave - 1)));
    LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, v_behind, v_count), v_is = zf_cg_icmp(cg, LLVMIntEQ, v_next, v_follows);
    v_is = zf_cg_holds(cg, ZF_SITE_CHECK, v_is, "steps that follow each other");
    chain c = {.v_steps = NULL};
    c.v_steps = lanes_that_go_on(r, zf_cg_and(cg, v_goes_on, v_is), &c.v_last);
    c.v_next = zf_simt_shuffle(r->lower, v_next, c.v_last);
    c.v_away = zf_simt_shuffle(r->lower, v_place, c.v_last);
    c.v_true = zf_cg_and(cg, is_among(g, c.v_steps), zf_cg_icmp(cg, LLVMIntNE, v_next, zf_cg_i32(cg, UNDECIDED)));
    place_elements(g, &c);
    return c;
}

// ---- Checks that waited ---------------------------------------------------------------------------------------

// Whether what a `require` waits for holds, at the position that is known now (i1).
static LLVMValueRef holds(struct zf_guess *g, const waiting *w, const chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    zf_chunk *chunk = r->chunk;
    LLVMValueRef v_pos = chunk->v_pos, v_fail = r->lower->v_fail, v_ok = zf_cg_alloca(cg, cg->ty_i1, "holds");
    LLVMBasicBlockRef bb_ask = zf_cg_block(cg, "waited"), bb_asked = zf_cg_block(cg, "asked"), bb_no = zf_cg_block(cg, "fails"),
                      bb_stop = chunk->bb_stop;
    zf_cg_slot *saved = ZF_NEW_ARRAY(cg->arena, zf_cg_slot, w->local_count + 1);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), v_ok);
    zf_cg_cond_br(cg, zf_cg_and(cg, c->v_true, zf_cg_get(cg, w->v_met)), bb_ask, bb_asked);
    zf_cg_enter(cg, bb_ask);
    for (uint32_t k = 0; k < w->local_count; k++) {
        saved[k] = *zf_cg_slot_of(cg, r->frame, w->locals[k]);
        LLVMValueRef v = zf_cg_get(cg, w->v_locals[k]);
        if (keeps_32_bits(w->locals[k])) v = zf_cg_resize(cg, v, zf_cg_type(cg, w->locals[k]->type), false);
        zf_cg_value value = zf_cg_scalar(w->locals[k]->type, v);
        zf_cg_bind(cg, r->frame, w->locals[k], &value);
    }
    chunk->v_pos = zf_cg_alloca(cg, cg->ty_i64, "position");
    LLVMBuildStore(cg->builder, zf_cg_wide(cg, zf_cg_add(cg, c->v_begin, zf_cg_get(cg, w->v_before))), chunk->v_pos);
    r->lower->v_fail = zf_cg_alloca(cg, cg->ty_i32, "fail");
    chunk->bb_stop = bb_no;
    LLVMValueRef v_holds = zf_cg_expr(cg, r->frame, w->stmt->value).v;
    LLVMBuildStore(cg->builder, zf_cg_holds(cg, ZF_SITE_CHECK, v_holds, "V06 that waited"), v_ok);
    zf_cg_br(cg, bb_asked);
    LLVMMoveBasicBlockAfter(bb_no, zf_cg_here(cg));
    zf_cg_enter(cg, bb_no);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_ok);
    zf_cg_br(cg, bb_asked);
    LLVMMoveBasicBlockAfter(bb_asked, bb_no);
    zf_cg_enter(cg, bb_asked);
    chunk->v_pos = v_pos;
    r->lower->v_fail = v_fail;
    chunk->bb_stop = bb_stop;
    for (uint32_t k = 0; k < w->local_count; k++) *zf_cg_slot_of(cg, r->frame, w->locals[k]) = saved[k];
    return zf_cg_get(cg, v_ok);
}

// Checks that waited for the position. One that fails leaves the chunk.
static void check_steps(struct zf_guess *g, const chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_all = zf_cg_add(cg, zf_cg_get(cg, r->v_end), c->v_elements);
    LLVMValueRef v_room = zf_cg_icmp(cg, LLVMIntULE, v_all, zf_cg_resize(cg, r->chunk->v_count, cg->ty_i32, false));
    LLVMValueRef v_bad = zf_cg_not(cg, zf_cg_holds(cg, ZF_SITE_CHECK, v_room, "room for the steps of a window"));
    for (uint32_t k = 0; k < g->wait_count; k++) {
        LLVMValueRef v_fails = zf_cg_not(cg, holds(g, &g->waits[k], c));
        v_bad = zf_cg_or(cg, v_bad, v_fails);
    }
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        const guessed_site *site = &g->sites[s];
        if (r->program.sites[s].form.kind != ZF_REGION_BACK) continue;
        LLVMValueRef v_before = zf_cg_add(cg, c->v_begin, zf_cg_get(cg, site->v_before));
        LLVMValueRef v_is = zf_cg_and(cg, c->v_true, zf_cg_get(cg, site->v_some));
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, zf_cg_get(cg, site->v_distance), v_before);
        v_ok = zf_cg_holds(cg, ZF_SITE_CHECK, v_ok, "distances within the chunk");
        v_bad = zf_cg_or(cg, v_bad, zf_cg_and(cg, v_is, zf_cg_not(cg, v_ok)));
    }
    zf_chunk_stop_unless(r->lower, zf_cg_not(cg, zf_simt_any(r->lower, v_bad)), 0);
}

static bool has_direct(const zf_records *r) {
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        if (r->program.sites[s].direct) return true;
    }
    return false;
}

// Each lane stores what its turn of the inner loop emits.
static void store_turns(struct zf_guess *g, const chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        const zf_record_site *site = &r->program.sites[s];
        if (!site->direct) continue;
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "turn_store"), bb_stored = zf_cg_block(cg, "turn_stored");
        zf_cg_cond_br(cg, zf_cg_and(cg, c->v_true, zf_cg_get(cg, g->sites[s].v_some)), bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
        zf_records_store(r, site, zf_cg_get(cg, g->sites[s].v_words[0]),
                         zf_cg_add(cg, c->v_begin, zf_cg_get(cg, g->sites[s].v_before)));
        zf_cg_br(cg, bb_stored);
        LLVMMoveBasicBlockAfter(bb_stored, zf_cg_here(cg));
        zf_cg_enter(cg, bb_stored);
    }
    zf_records_skip(r, c->v_elements);
}

// Counts the records of the lanes where v_some (i1): those below this lane's into its number.
static void number_records(zf_records *r, LLVMValueRef v_some, LLVMValueRef v_below, LLVMValueRef *v_number,
                           LLVMValueRef *v_made) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_all = zf_simt_ballot(r->lower, v_some);
    *v_number = zf_cg_add(cg, *v_number, zf_simt_count_lanes(cg, zf_cg_and(cg, v_all, v_below)));
    *v_made = zf_cg_add(cg, *v_made, zf_simt_count_lanes(cg, v_all));
}

// The same where sites share their slots.
static void put_shared(struct zf_guess *g, const chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    const guessed_site *site = &g->sites[0];
    LLVMValueRef v_made = zf_cg_get(cg, r->v_made), v_number = v_made,
                 v_some = zf_cg_and(cg, c->v_true, zf_cg_get(cg, site->v_some));
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "put"), bb_done = zf_cg_block(cg, "put_done");
    zf_record_what what;
    number_records(r, v_some, zf_simt_lanes_below(cg, r->v_lane), &v_number, &v_made);
    zf_cg_cond_br(cg, v_some, bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    for (uint32_t k = 0; k + 1 < r->program.words; k++) what.v_words[k] = zf_cg_get(cg, site->v_words[k]);
    zf_records_put_term(r, zf_cg_get(cg, g->v_site), &what, c->v_begin, v_number);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    LLVMBuildStore(cg->builder, v_made, r->v_made);
    zf_records_end(r, zf_cg_add(cg, zf_cg_get(cg, r->v_end), c->v_elements));
}

static void put_records(struct zf_guess *g, const chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMValueRef v_below = zf_simt_lanes_below(cg, r->v_lane), v_made = zf_cg_get(cg, r->v_made), v_number = v_made,
                 v_some[ZF_RECORD_SITES];
    bool several = r->program.most > 1; // records of a step
    LLVMValueRef v_any = zf_cg_i1(cg, false);
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        v_some[s] = zf_cg_and(cg, c->v_true, zf_cg_get(cg, g->sites[s].v_some));
        v_any = zf_cg_or(cg, v_any, v_some[s]);
        if (several) number_records(r, v_some[s], v_below, &v_number, &v_made);
    }
    if (!several) number_records(r, v_any, v_below, &v_number, &v_made);
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        const zf_record_site *site = &r->program.sites[s];
        LLVMBasicBlockRef bb_put = zf_cg_block(cg, "put"), bb_done = zf_cg_block(cg, "put_done");
        zf_cg_cond_br(cg, v_some[s], bb_put, bb_done);
        zf_cg_enter(cg, bb_put);
        zf_record_what what;
        LLVMValueRef *v_words, v_begin = zf_cg_add(cg, c->v_begin, zf_cg_get(cg, g->sites[s].v_before));
        uint32_t words = zf_records_words(site, &what, &v_words);
        if (site->form.kind == ZF_REGION_BACK)
            what.v_distance = zf_cg_wide(cg, zf_cg_get(cg, g->sites[s].v_distance));
        else
            for (uint32_t k = 0; k < words; k++) v_words[k] = zf_cg_get(cg, g->sites[s].v_words[k]);
        if (site->takes_position) v_words[site->local_count] = zf_cg_wide(cg, v_begin);
        zf_records_put(r, s, &what, v_begin, v_number, NULL);
        zf_cg_br(cg, bb_done);
        zf_cg_enter(cg, bb_done);
        if (several) v_number = zf_cg_add(cg, v_number, zf_cg_resize(cg, v_some[s], cg->ty_i32, false));
    }
    LLVMBuildStore(cg->builder, v_made, r->v_made);
    zf_records_end(r, zf_cg_add(cg, zf_cg_get(cg, r->v_end), c->v_elements));
}

// Goes on behind the inner turns that were made.
static void leave_turns(struct zf_guess *g, const chain *c, LLVMValueRef v_cursor, LLVMBasicBlockRef bb_walk,
                        LLVMBasicBlockRef bb_next) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    LLVMTypeRef ty_set = zf_simt_set_type(cg);
    LLVMValueRef v_rest = zf_cg_and(cg, c->v_steps, zf_cg_not(cg, c->v_taken)), v_at = zf_cg_get(cg, v_cursor);
    LLVMValueRef v_left = zf_cg_sub(cg, zf_cg_get(cg, r->v_turns), zf_simt_count_lanes(cg, c->v_taken));
    LLVMValueRef v_args[2] = {v_rest, zf_cg_i1(cg, false)};
    LLVMValueRef v_lane = zf_cg_resize(cg, zf_cg_intrinsic(cg, "llvm.cttz", &ty_set, 1, v_args, 2), cg->ty_i32, false);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_rest, LLVMConstNull(ty_set));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, zf_cg_select(cg, v_some, v_lane, c->v_next)), v_cursor);
    LLVMBuildStore(cg->builder, v_left, r->v_turns);
    LLVMValueRef v_walk = zf_cg_and(cg, v_some, zf_cg_icmp(cg, LLVMIntNE, v_left, zf_cg_i32(cg, 0)));
    zf_cg_cond_br(cg, v_walk, bb_walk, bb_next);
}

void zf_records_guess(zf_records *r, bool inner, LLVMBasicBlockRef bb_walk, LLVMBasicBlockRef bb_next,
                      LLVMBasicBlockRef bb_done) {
    zf_cg *cg = r->cg;
    struct zf_guess g = {.r = r, .inner = inner, .stride = zf_record_is_consecutive(&r->program) ? r->program.cursor.least : 1};
    const zf_chunk_stream *s = &r->chunk->streams[r->program.cursor.port->slot];
    LLVMValueRef v_cursor = s->v_at, v_at = zf_cg_get(cg, v_cursor), v_known = zf_records_move_window(r, s, v_at);
    zf_record_cursors_begin(&g.others, r);
    chain c = zf_record_is_wide(&r->program) ? follow_wide(&g, v_at, v_known) : follow(&g, build_rounds(&g, v_at, v_known));
    check_steps(&g, &c);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, zf_cg_get(cg, r->v_windows), zf_cg_i32(cg, 1)), r->v_windows);
    if (inner && has_direct(r))
        store_turns(&g, &c);
    else if (g.v_site != NULL)
        put_shared(&g, &c);
    else
        put_records(&g, &c);
    if (inner) {
        leave_turns(&g, &c, v_cursor, bb_walk, bb_next);
        return;
    }
    LLVMValueRef v_open = zf_cg_icmp(cg, LLVMIntUGE, c.v_next, zf_cg_i32(cg, UNDECIDED));
    zf_record_cursors_move(&g.others, v_open, c.v_last);
    LLVMBasicBlockRef bb_went = zf_cg_block(cg, "went"), bb_other = zf_cg_block(cg, "ends"), bb_open = zf_cg_block(cg, "open");
    zf_cg_cond_br(cg, v_open, bb_other, bb_went);
    zf_cg_enter(cg, bb_went);
    LLVMValueRef v_far = zf_cg_and(cg, c.v_next, zf_cg_i32(cg, ENTERS - 1));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, v_far), v_cursor);
    if (r->program.inner != NULL) // only the last step can have entered it
        LLVMBuildStore(cg->builder, zf_simt_shuffle(r->lower, zf_cg_get(cg, g.v_turns), c.v_last), r->v_turns);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_other);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, c.v_next, zf_cg_i32(cg, LAST)), bb_done, bb_open);
    zf_cg_enter(cg, bb_open); // the last of them is undecided
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, c.v_away), v_cursor);
    zf_cg_br(cg, bb_walk);
}

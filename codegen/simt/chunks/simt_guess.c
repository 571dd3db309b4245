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
#include "codegen/simt/chunks/simt_guess.h"
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"

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
    r->v_windows = zf_cg_alloca(r->cg, r->cg->ty_i32, "windows");
    LLVMBuildStore(r->cg->builder, zf_cg_i32(r->cg, 0), r->v_windows);
    zf_records_window_begin(r);
}

void zf_records_guess_end(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_turns = zf_cg_mul(cg, zf_cg_wide(cg, zf_cg_get(cg, r->v_windows)),
                                     zf_cg_i64(cg, (uint64_t)ZF_GUESS_TURNS * zf_records_guess_steps(&r->program, cg->wave)));
    zf_records_require(r, zf_cg_icmp(cg, LLVMIntUGE, zf_cg_wide(cg, zf_cg_get(cg, r->chunk->v_work)), v_turns), "turns of loops");
}

// ---- Checks that waited ---------------------------------------------------------------------------------------

// Whether what a `require` waits for holds, at the position that is known now (i1).
static LLVMValueRef holds(struct zf_guess *g, const zf_guess_waiting *w, const zf_guess_chain *c) {
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
        if (zf_guess_keeps_32_bits(w->locals[k])) v = zf_cg_resize(cg, v, zf_cg_type(cg, w->locals[k]->type), false);
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
static void check_steps(struct zf_guess *g, const zf_guess_chain *c) {
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
        const zf_guess_site *site = &g->sites[s];
        if (r->program.sites[s].form.kind != ZF_REGION_BACK) continue;
        LLVMValueRef v_before = zf_cg_add(cg, c->v_begin, zf_cg_get(cg, site->v_before));
        LLVMValueRef v_is = zf_cg_and(cg, c->v_true, zf_cg_get(cg, site->v_some));
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, zf_cg_get(cg, site->v_distance), v_before);
        v_ok = zf_cg_holds(cg, ZF_SITE_CHECK, v_ok, "distances within the chunk");
        v_bad = zf_cg_or(cg, v_bad, zf_cg_and(cg, v_is, zf_cg_not(cg, v_ok)));
    }
    zf_chunk_stop_unless(r->lower, zf_cg_not(cg, zf_simt_any(r->lower, v_bad)), 0);
}

// ---- Records --------------------------------------------------------------------------------------------------

static bool has_direct(const zf_records *r) {
    for (uint32_t s = 0; s < r->program.site_count; s++) {
        if (r->program.sites[s].direct) return true;
    }
    return false;
}

// Each lane stores what its turn of the inner loop emits.
static void store_turns(struct zf_guess *g, const zf_guess_chain *c) {
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
static void put_shared(struct zf_guess *g, const zf_guess_chain *c) {
    zf_records *r = g->r;
    zf_cg *cg = r->cg;
    const zf_guess_site *site = &g->sites[0];
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

static void put_records(struct zf_guess *g, const zf_guess_chain *c) {
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
static void leave_turns(struct zf_guess *g, const zf_guess_chain *c, LLVMValueRef v_cursor, LLVMBasicBlockRef bb_walk,
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

// ---- A window -------------------------------------------------------------------------------------------------

void zf_records_guess(zf_records *r, bool inner, LLVMBasicBlockRef bb_walk, LLVMBasicBlockRef bb_next,
                      LLVMBasicBlockRef bb_done) {
    zf_cg *cg = r->cg;
    struct zf_guess g = {.r = r, .inner = inner, .stride = zf_record_is_consecutive(&r->program) ? r->program.cursor.least : 1};
    const zf_chunk_stream *s = &r->chunk->streams[r->program.cursor.port->slot];
    LLVMValueRef v_cursor = s->v_at, v_at = zf_cg_get(cg, v_cursor), v_known = zf_records_move_window(r, s, v_at);
    zf_record_cursors_begin(&g.others, r);
    zf_guess_chain c =
        zf_record_is_wide(&r->program) ? zf_guess_follow_wide(&g, v_at, v_known) : zf_guess_follow(&g, v_at, v_known);
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
    LLVMValueRef v_open = zf_cg_icmp(cg, LLVMIntUGE, c.v_next, zf_cg_i32(cg, ZF_GUESS_UNDECIDED));
    zf_record_cursors_move(&g.others, v_open, c.v_last);
    LLVMBasicBlockRef bb_went = zf_cg_block(cg, "went"), bb_other = zf_cg_block(cg, "ends"), bb_open = zf_cg_block(cg, "open");
    zf_cg_cond_br(cg, v_open, bb_other, bb_went);
    zf_cg_enter(cg, bb_went);
    LLVMValueRef v_far = zf_cg_and(cg, c.v_next, zf_cg_i32(cg, ZF_GUESS_ENTERS - 1));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, v_far), v_cursor);
    if (r->program.inner != NULL) // only the last step can have entered it
        LLVMBuildStore(cg->builder, zf_simt_shuffle(r->lower, zf_cg_get(cg, g.v_turns), c.v_last), r->v_turns);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_other);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, c.v_next, zf_cg_i32(cg, ZF_GUESS_LAST)), bb_done, bb_open);
    zf_cg_enter(cg, bb_open); // the last of them is undecided
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, c.v_away), v_cursor);
    zf_cg_br(cg, bb_walk);
}

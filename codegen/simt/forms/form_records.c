// Chunks whose warp appends records (simt_records.h). A step of the program's loop is guessed by the lanes apart
// (simt_guess.c), or all lanes walk it together; then the executor makes the tiles that are whole.
//
// Where any check fails, the form's slow path makes the chunk once more, as the form `warp` does: it finds the failure that one
// thread finds, and reports it.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_records.h"
#include "codegen/simt/simt_choices.h"

enum {
    THREADS = 128,
    REGISTERS = 64, // so that 32 warps of a multiprocessor run at once
};

// Values of the choice RECORDS.
enum { NONE, TOGETHER, GUESSED };

static uint32_t most_of(const zf_record_program *program) { return program->cursor != NULL ? GUESSED : TOGETHER; }

// Long ranges of expressions are made faster one after the other, where each step is walked by all lanes anyway.
static uint32_t default_of(const zf_record_program *program) {
    if (program->cursor != NULL) return GUESSED;
    return program->copies ? TOGETHER : NONE;
}

static uint32_t way_of(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program) {
    uint32_t most = most_of(program), way = zf_choice_value(&kernel->choice, ZF_CHOICE_RECORDS, default_of(program));
    if (way > most) way = most;
    while (way != NONE && zf_records_bytes(plan, kernel, program, way == GUESSED) > plan->target->shared_bytes) way--;
    return way;
}

bool zf_form_records_fits(const zf_plan *plan, const zf_kernel *kernel) {
    zf_record_program program;
    return kernel->by_warp && zf_record_program_of(plan, kernel, &program) && way_of(plan, kernel, &program) != NONE;
}

zf_simt_shape zf_form_records_shape(const zf_plan *plan, const zf_kernel *kernel) {
    zf_record_program program;
    zf_record_program_of(plan, kernel, &program);
    uint32_t each = zf_records_bytes(plan, kernel, &program, way_of(plan, kernel, &program) == GUESSED);
    uint32_t threads = zf_choice_value(&kernel->choice, ZF_CHOICE_THREADS, THREADS);
    while (threads > plan->target->wave && threads / plan->target->wave * each > plan->target->shared_bytes) threads /= 2;
    uint32_t tiles = threads / plan->target->wave;
    return (zf_simt_shape){
        .threads = threads, .tiles = tiles, .span = 1, .shared_bytes = tiles * each, .registers = REGISTERS, .slow = true};
}

void zf_form_allow_records(const zf_plan *plan, const zf_kernel *kernel, zf_choice_space *space) {
    zf_record_program program;
    if (!zf_record_program_of(plan, kernel, &program)) return;
    zf_choice_allow_up_to(space, ZF_CHOICE_RECORDS, most_of(&program));
    zf_choose(&space->defaults, ZF_CHOICE_RECORDS, default_of(&program));
}

void zf_form_records_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, plan->target->threads);
    zf_form_allow_records(plan, kernel, space);
    zf_form_allow_walk(plan, kernel, shape, space);
}

void zf_form_records_walk(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out) {
    zf_record_program program;
    bool fits = zf_record_program_of(plan, kernel, &program);
    uint32_t way = fits ? way_of(plan, kernel, &program) : NONE;
    out->walk = way == GUESSED    ? "its lanes guess steps at consecutive bytes, and records say what they emit"
                : way == TOGETHER ? "all lanes walk each step, and records say what it emits"
                                  : "all lanes walk it, without records";
    out->walk_why = way == GUESSED                      ? NULL
                    : way == most_of(&program) || !fits ? program.why
                                                        : "ranges of expressions are faster so";
    if (fits && zf_is_chosen(&kernel->choice, ZF_CHOICE_RECORDS) && way != most_of(&program)) out->walk_why = "as RECORDS says";
}

// ---- The walk -------------------------------------------------------------------------------------------------

/// A chunk with its records.
typedef struct walk {
    zf_chunk chunk; ///< first: callbacks get a pointer to its environment
    zf_records records;
    bool (*statement)(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt); ///< of chunks in general
} walk;

static const char walked[] = "a walked step";

// All lanes append a record together.
static void append(zf_records *r, uint32_t number) {
    zf_cg *cg = r->cg;
    zf_record_what what = zf_records_what(r, &r->program.sites[number]);
    LLVMValueRef v_end = LLVMBuildLoad2(cg->builder, cg->ty_i32, r->v_end, "");
    LLVMValueRef v_room = zf_cg_sub(cg, r->chunk->v_count, zf_cg_resize(cg, v_end, cg->ty_i64, false));
    zf_records_require(r, zf_cg_icmp(cg, LLVMIntULE, what.v_count, v_room), "room for a record");
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
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "append"), bb_done = zf_cg_block(cg, "appended");
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, what.v_count, zf_cg_i64(cg, 0));
    LLVMValueRef v_made = LLVMBuildLoad2(cg->builder, cg->ty_i32, r->v_made, "");
    zf_cg_cond_br(cg, zf_cg_and(cg, v_some, r->lower->v_is_leader), bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    zf_records_put(r, number, &what, v_end, v_made);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_made, zf_cg_resize(cg, v_some, cg->ty_i32, false)), r->v_made);
    zf_records_end(r, zf_cg_add(cg, v_end, zf_cg_resize(cg, what.v_count, cg->ty_i32, false)));
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
    zf_cg_stmts(cg, r->frame, r->program.inner->body);
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

static void walk_loop(zf_records *r) {
    zf_cg *cg = r->cg;
    const zf_stmt *loop = r->program.loop;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "steps"), bb_walk = zf_cg_block(cg, "step"), bb_body = zf_cg_block(cg, "walk"),
                      bb_next = zf_cg_block(cg, "step_done"), bb_done = zf_cg_block(cg, "steps_done"),
                      bb_drain = zf_cg_block(cg, "tiles"), bb_end = zf_cg_block(cg, "walked");
    LLVMValueRef v_last = zf_cg_alloca(cg, cg->ty_i1, "last");
    if (r->guesses) zf_records_guess_begin(r);
    if (r->program.inner != NULL) {
        r->v_turns = zf_cg_alloca(cg, cg->ty_i32, "turns");
        LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), r->v_turns);
    }
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
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
    zf_cg_loop_body(cg, r->frame, loop, bb_done, bb_next);
    cg->sites_in = NULL;
    zf_cg_br(cg, bb_next);
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
    zf_records_drain(r, v_last, r->guesses ? cg->wave * r->program.most : r->program.most);
    if (r->program.has_terms) { // a failed element only ended that element
        LLVMBasicBlockRef bb_well = zf_cg_block(cg, "tiles_well");
        LLVMValueRef v_failed = zf_simt_any(r->lower, zf_cg_not(cg, zf_lower_none_failed(r->lower)));
        zf_cg_cond_br(cg, v_failed, r->chunk->bb_stop, bb_well);
        zf_cg_enter(cg, bb_well);
    }
    zf_cg_cond_br(cg, v_last, bb_end, bb_head);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    if (r->guesses) zf_records_guess_end(r);
}

static bool statement(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt) {
    walk *w = (walk *)zf_chunk_of(zf_cg_frame_env(frame));
    zf_records *r = &w->records;
    if (stmt == r->program.loop) {
        r->frame = frame;
        walk_loop(r);
        return true;
    }
    if (r->guess == NULL && r->program.inner != NULL && stmt == r->program.inner) {
        enter_turns(r, stmt);
        return true;
    }
    if (r->guess != NULL && zf_records_guess_statement(r, stmt)) return true;
    int32_t site = r->guess == NULL ? zf_records_site(r, stmt) : -1;
    if (site < 0) return w->statement(cg, frame, stmt);
    append(r, (uint32_t)site);
    return true;
}

static const zf_chunk_ops ops = {.entry = zf_simt_seek_entry, .prefetch = zf_simt_prefetch_chunk};

void zf_form_records_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    (void)shape;
    zf_cg *cg = lower->cg;
    walk w = {.chunk = {.ops = &ops, .narrow = true}};
    zf_chunk *chunk = &w.chunk;
    lower->v_is_leader = zf_cg_icmp(cg, LLVMIntEQ, zf_simt_lane(lower), zf_cg_i32(cg, 0));
    zf_chunk_open(lower, chunk);
    w.statement = chunk->env.env.stmt;
    chunk->env.env.stmt = statement;
    w.records = (zf_records){.chunk = chunk, .lower = lower, .cg = cg};
    zf_record_program_of(lower->plan, lower->kernel, &w.records.program);
    w.records.guesses = way_of(lower->plan, lower->kernel, &w.records.program) == GUESSED;
    lower->chunk = chunk;
    zf_lower_tiles tiles;
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    LLVMValueRef v_chunks = zf_lower_chunk_count(lower, lower->kernel->root);
    LLVMBasicBlockRef bb_chunk = zf_cg_block(cg, "chunk"), bb_none = zf_cg_block(cg, "chunk_done"),
                      bb_slow = zf_cg_block(cg, "slow");
    chunk->v_number = tiles.v_tile;
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, chunk->v_number, v_chunks), bb_chunk, bb_none);
    zf_cg_enter(cg, bb_chunk);
    chunk->bb_stop = bb_slow;
    zf_chunk_begin(chunk, tiles.v_count, v_chunks);
    for (uint32_t k = 0; k < chunk->inst->stream_count; k++) { // positions have 32 bits
        if (chunk->streams[k].port == NULL) continue;
        LLVMValueRef v_short = zf_cg_icmp(cg, LLVMIntULE, chunk->streams[k].v_length, zf_cg_i64(cg, INT32_MAX));
        zf_chunk_stop_unless(lower, v_short, 0);
    }
    zf_records_begin(&w.records);
    zf_cg_eval_body(cg, &chunk->env.env, &chunk->inst->decode);
    LLVMValueRef v_pos = LLVMBuildLoad2(cg->builder, cg->ty_i64, chunk->v_pos, "");
    zf_records_require(&w.records, zf_cg_icmp(cg, LLVMIntEQ, v_pos, chunk->v_count), "elements of a chunk");
    zf_cg_br(cg, bb_none);
    LLVMMoveBasicBlockAfter(bb_slow, zf_cg_here(cg));
    zf_cg_enter(cg, bb_slow);
    if (!zf_cg_site(cg, ZF_SITE_GUARD, "the slow path of chunks that fail")) {
        zf_simt_call_slow(lower);
    } else { // whatever failed is reported, also of a chunk whose elements are right
        LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), lower->v_fail);
        zf_lower_report(lower, chunk->v_start);
    }
    zf_cg_br(cg, lower->simt->bb_leave);
    LLVMMoveBasicBlockAfter(bb_none, bb_slow);
    zf_cg_enter(cg, bb_none);
    zf_lower_tiles_end(lower, &tiles);
    lower->chunk = NULL;
}

void zf_form_records_slow(zf_kernel_build *lower, const zf_simt_shape *shape) { zf_form_warp_emit(lower, shape); }

// Chunks whose warp appends records (simt_records.h). A step of the program's loop is guessed by the lanes apart
// (simt_guess.c), or all lanes walk it together; then the executor makes the tiles that are whole.
//
// Where any check fails, the form's slow path makes the chunk once more, as the form `warp` does: it finds the failure that one
// thread finds, and reports it.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_arrays.h"
#include "codegen/simt/chunks/simt_records.h"
#include "codegen/simt/simt_choices.h"

enum {
    REGISTERS = 64,         // so that 32 warps of a multiprocessor run at once
    REGISTERS_SEVERAL = 96, // few chunks have fewer: their code spills nothing
    MOST_WARPS = 8,         // of a chunk
    USUAL_WARPS = 2,        // at most: the walker is what one executor waits for, and more take room from other chunks
    BYTES_EACH = 512 << 10, // of a chunk, for each warp: a column of 1 GiB has 2,048 of them
    // A multiprocessor has these: arrays of warps leave registers over where few thread blocks have room.
    SHARED_OF_ALL = 224 << 10,
    REGISTERS_OF_ALL = 64 << 10,
    MOST_BLOCKS = 32,
    MOST_REGISTERS = 128,
};

// Values of the choice RECORDS.
enum { NONE, TOGETHER, GUESSED };

static uint32_t most_of(const zf_record_program *program) { return program->cursor.port != NULL ? GUESSED : TOGETHER; }

// Long ranges of expressions are made faster one after the other, where each step is walked by all lanes anyway.
static uint32_t default_of(const zf_record_program *program) {
    if (program->cursor.port != NULL) return GUESSED;
    return program->copies ? TOGETHER : NONE;
}

// Local arrays of a program without the one loop; in front of one loop few are ever read in it.
static uint32_t array_bytes(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program) {
    return (program->loop == NULL || program->walked_count > 0) && !program->own_arrays ? zf_simt_arrays_bytes(plan, kernel) : 0;
}

static uint32_t bytes_of(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program, uint32_t way,
                         uint32_t warps) {
    return zf_records_places(plan, kernel, program, way == GUESSED, warps).all + array_bytes(plan, kernel, program);
}

static uint32_t way_of(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program) {
    uint32_t usual = zf_choice_value(&kernel->choice, ZF_CHOICE_WARPS, 1) > 1 ? most_of(program) : default_of(program);
    uint32_t most = most_of(program), way = zf_choice_value(&kernel->choice, ZF_CHOICE_RECORDS, usual);
    if (way > most) way = most;
    while (way != NONE && bytes_of(plan, kernel, program, way, 1) > plan->target->shared_bytes) way--;
    return way == TOGETHER && program->walked_count > 0 ? NONE : way; // no records of all steps
}

static uint64_t chunk_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    return plan->graph->nodes[kernel->root].codec->chunk_size * zf_kind_size(zf_simt_type_of(plan, kernel).kind);
}

// Long chunks are few. How many a launch has is not known here; of chunks as long as this, 1 GiB has too few for a warp each.
static uint32_t default_warps(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t warps = 1;
    while (warps < USUAL_WARPS && 2 * (uint64_t)warps * BYTES_EACH <= chunk_bytes(plan, kernel)) warps *= 2;
    return warps;
}

// The warps of a chunk, as many as there is shared memory for.
static uint32_t warps_of(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program) {
    if (program->loop == NULL || program->walked_count > 0) return 1;
    uint32_t way = way_of(plan, kernel, program);
    uint32_t usual = zf_is_chosen(&kernel->choice, ZF_CHOICE_THREADS) ? 1 : default_warps(plan, kernel);
    uint32_t warps = zf_choice_value(&kernel->choice, ZF_CHOICE_WARPS, usual);
    while (warps > 1 && bytes_of(plan, kernel, program, way, warps) > plan->target->shared_bytes) warps /= 2;
    return warps;
}

bool zf_form_records_fits(const zf_plan *plan, const zf_kernel *kernel) {
    zf_record_program program;
    return kernel->by_warp && zf_record_program_of(plan, kernel, &program) && way_of(plan, kernel, &program) != NONE;
}

// Registers of a thread where as many thread blocks run at once as there is shared memory for.
static uint32_t registers_beside(uint32_t threads, uint32_t shared_bytes) {
    uint32_t blocks = SHARED_OF_ALL / shared_bytes;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    uint32_t registers = REGISTERS_OF_ALL / (threads * (blocks > 0 ? blocks : 1)) & ~7u;
    return registers < REGISTERS ? REGISTERS : registers > MOST_REGISTERS ? MOST_REGISTERS : registers;
}

// Returns `threads`, or as many as there is shared memory for, where each warp has a chunk that needs `each` bytes.
static uint32_t threads_within(const zf_plan *plan, uint32_t threads, uint32_t each) {
    while (threads > plan->target->wave && threads / plan->target->wave * each > plan->target->shared_bytes) threads /= 2;
    return threads;
}

uint32_t zf_form_records_threads(const zf_plan *plan, const zf_kernel *kernel) {
    zf_record_program program;
    if (!zf_record_program_of(plan, kernel, &program)) return plan->target->threads;
    return threads_within(plan, plan->target->threads, bytes_of(plan, kernel, &program, most_of(&program), 1));
}

zf_simt_shape zf_form_records_shape(const zf_plan *plan, const zf_kernel *kernel) {
    zf_record_program program;
    zf_record_program_of(plan, kernel, &program);
    uint32_t warps = warps_of(plan, kernel, &program), wave = plan->target->wave;
    uint32_t each = bytes_of(plan, kernel, &program, way_of(plan, kernel, &program), warps);
    zf_simt_shape shape = {.threads = warps * wave, .tiles = 1, .span = 1, .shared_bytes = each, .slow = true};
    shape.registers = warps > 1 ? REGISTERS_SEVERAL : REGISTERS;
    if (warps > 1) return shape;
    shape.array_bytes = array_bytes(plan, kernel, &program);
    // A warp's place in shared memory is known where it is a thread block, as many of which run as there is memory for.
    shape.threads = threads_within(plan, zf_choice_value(&kernel->choice, ZF_CHOICE_THREADS, wave), each);
    shape.tiles = shape.threads / wave;
    shape.shared_bytes = shape.tiles * each;
    if (shape.array_bytes > 0) shape.registers = registers_beside(shape.threads, shape.shared_bytes);
    if (program.own_arrays && zf_simt_arrays_bytes(plan, kernel) > 0) shape.array_bytes = each; // where the records are
    return shape;
}

void zf_form_allow_records(const zf_plan *plan, const zf_kernel *kernel, zf_choice_space *space) {
    zf_record_program program;
    if (!zf_record_program_of(plan, kernel, &program)) return;
    uint32_t most = most_of(&program);
    if (program.walked_count > 0) {
        zf_choice_allow(space, ZF_CHOICE_RECORDS, NONE);
        zf_choice_allow(space, ZF_CHOICE_RECORDS, GUESSED);
    } else {
        zf_choice_allow_up_to(space, ZF_CHOICE_RECORDS, most);
    }
    zf_choose(&space->defaults, ZF_CHOICE_RECORDS, default_of(&program));
    for (uint32_t warps = 1; warps <= MOST_WARPS; warps *= 2) {
        if (warps > 1 && (program.loop == NULL || program.walked_count > 0)) break;
        if (warps > 1 && bytes_of(plan, kernel, &program, most, warps) > plan->target->shared_bytes) break;
        zf_choice_allow(space, ZF_CHOICE_WARPS, warps);
    }
    zf_choose(&space->defaults, ZF_CHOICE_WARPS, default_of(&program) == NONE ? 1 : warps_of(plan, kernel, &program));
}

void zf_form_records_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    zf_record_program program;
    zf_record_program_of(plan, kernel, &program);
    uint32_t each = bytes_of(plan, kernel, &program, way_of(plan, kernel, &program), 1);
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, threads_within(plan, plan->target->threads, each));
    zf_form_allow_records(plan, kernel, space);
    zf_form_allow_walk(plan, kernel, shape, space);
}

static void tell_warps(const zf_plan *plan, const zf_kernel *kernel, const zf_record_program *program,
                       zf_codegen_form_info *out) {
    out->warps = warps_of(plan, kernel, program);
    if (zf_is_chosen(&kernel->choice, ZF_CHOICE_WARPS))
        out->warps_why = "as WARPS says";
    else if (zf_is_chosen(&kernel->choice, ZF_CHOICE_THREADS))
        out->warps_why = "as THREADS says";
    else if (program->loop == NULL)
        out->warps_why = "all lanes walk it and make its elements";
    else if (program->walked_count > 0)
        out->warps_why = "all lanes walk some of its steps, and make their elements";
    else if (out->warps > 1)
        out->warps_why = "chunks of 1 MiB and more are too few for a warp each";
    else
        out->warps_why = "chunks below 1 MiB are enough for a warp each";
}

void zf_form_records_walk(const zf_plan *plan, const zf_kernel *kernel, zf_codegen_form_info *out) {
    zf_record_program program;
    bool fits = zf_record_program_of(plan, kernel, &program);
    uint32_t way = fits ? way_of(plan, kernel, &program) : NONE;
    static const char *const guessed[2][2] = {
        {"its lanes guess steps at consecutive elements, and records say what they emit",
         "its lanes guess steps at consecutive elements, and all lanes walk what no record says"},
        {"its lanes guess steps at consecutive bytes, and records say what they emit",
         "its lanes guess steps at consecutive bytes, and all lanes walk what no record says"}};
    out->walk =
        way == TOGETHER ? "all lanes walk each step, and records say what it emits" : "all lanes walk it, without records";
    if (way == GUESSED) {
        bool bytes = program.cursor.port->type.kind == ZF_K_U8, mixed = program.walked_count > 0;
        bool consecutive = !mixed && zf_record_is_consecutive(&program);
        out->walk = consecutive ? "its lanes walk a step each, and records say what they emit" : guessed[bytes][mixed];
    }
    out->walk_why = way == GUESSED                                              ? NULL
                    : way == most_of(&program) || !fits || program.loop == NULL ? program.why
                                                                                : "ranges of expressions are faster so";
    if (fits && zf_is_chosen(&kernel->choice, ZF_CHOICE_RECORDS) && way != most_of(&program)) out->walk_why = "as RECORDS says";
    if (way != NONE) tell_warps(plan, kernel, &program, out);
}

// ---- The walk -------------------------------------------------------------------------------------------------

/// A chunk with its records.
typedef struct walk {
    zf_chunk chunk; ///< first: callbacks get a pointer to its environment
    zf_records records;
    bool (*statement)(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt); ///< of chunks in general
    LLVMBasicBlockRef bb_none;                                             ///< behind the chunk
    LLVMValueRef v_walks;  ///< slot (i1), of a program with steps that no record says: the next step is walked; or NULL
    zf_cg_put_off put_off; ///< what all lanes walk together checks
    zf_cg_frame frame;     ///< as the last statement had it, for the elements that are made behind it
    const zf_stmt *read;   ///< a statement that reads the output, in front of which all elements were made; NULL: none yet
} walk;

static const char walked[] = "a walked step";

static walk *walk_of(zf_records *r) { return (walk *)r->chunk; }

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
static void walk_inner_loop(walk *w, zf_cg_frame *frame, const zf_stmt *stmt) {
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
static bool statement_anywhere(walk *w, zf_cg_frame *frame, const zf_stmt *stmt) {
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
    walk *w = (walk *)zf_chunk_of(zf_cg_frame_env(frame));
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
static void walk_one(walk *w, LLVMBasicBlockRef bb_next, LLVMBasicBlockRef bb_done) {
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
static void walk_mixed(walk *w) {
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
static void walk_apart(walk *w) {
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

static void walk_loop(walk *w) {
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
    walk *w = (walk *)zf_chunk_of(zf_cg_frame_env(frame));
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

// Whether a failure of other thread blocks is seen already must be the same for all warps of a chunk.
static LLVMValueRef agree(zf_kernel_build *lower, LLVMValueRef v) {
    const zf_plan *plan = lower->plan;
    zf_record_program program;
    zf_record_program_of(plan, lower->kernel, &program);
    zf_simt_shape shape = zf_simt_shape_of(plan, lower->kernel);
    bool guesses = way_of(plan, lower->kernel, &program) == GUESSED;
    zf_record_places places = zf_records_places(plan, lower->kernel, &program, guesses, warps_of(plan, lower->kernel, &program));
    LLVMValueRef v_all = lower->cg->target->simt->shared(lower->cg, 0, shape.shared_bytes);
    return zf_records_meet_first(lower, zf_cg_byte_at(lower->cg, v_all, places.state), v);
}

static const zf_chunk_ops ops = {.entry = zf_simt_seek_entry, .prefetch = zf_simt_prefetch_chunk};

void zf_form_records_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
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
    w.records.warps = warps_of(lower->plan, lower->kernel, &w.records.program);
    if (w.records.warps > 1) lower->agree = agree;
    zf_chunk_ops walk_ops = zf_form_warp_ops();
    walk_ops.gives_up = true; // the slow path finds the failure
    if (w.records.program.walked_count > 0) chunk->ops = &walk_ops;
    lower->chunk = chunk;
    zf_lower_tiles tiles;
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    LLVMValueRef v_chunks = zf_lower_chunk_count(lower, lower->kernel->root);
    LLVMBasicBlockRef bb_chunk = zf_cg_block(cg, "chunk"), bb_none = w.bb_none = zf_cg_block(cg, "chunk_done"),
                      bb_slow = zf_cg_block(cg, "slow");
    chunk->v_number = tiles.v_tile;
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, chunk->v_number, v_chunks), bb_chunk, bb_none);
    zf_cg_enter(cg, bb_chunk);
    chunk->bb_stop = bb_slow;
    zf_chunk_begin(chunk, tiles.v_count, v_chunks);
    for (uint32_t k = 0; k < chunk->inst->stream_count; k++) { // positions have 32 bits
        if (chunk->streams[k].port == NULL) continue;
        LLVMValueRef v_short = zf_cg_icmp(cg, LLVMIntULE, chunk->streams[k].v_total, zf_cg_i64(cg, INT32_MAX));
        zf_chunk_stop_unless(lower, v_short, 0);
    }
    zf_records_begin(&w.records);
    zf_simt_arrays_begin(lower, shape);
    zf_cg_put_off_begin(cg, &w.put_off, &chunk->bb_stop);
    if (w.records.program.loop == NULL) {
        cg->put_off = &w.put_off;
        chunk->env.env.end_turn = end_turn;
    }
    zf_cg_eval_body(cg, &chunk->env.env, &chunk->inst->decode);
    walked_together(cg);
    zf_simt_arrays_end(lower);
    if (w.records.program.loop == NULL) {
        w.records.frame = &w.frame; // the body's own is no more
        make_elements(&w.records, zf_cg_i1(cg, true));
    }
    LLVMValueRef v_all = zf_cg_icmp(cg, LLVMIntEQ, zf_chunk_emitted(chunk), chunk->v_count);
    zf_records_require(&w.records, v_all, "elements of a chunk");
    zf_cg_br(cg, bb_none);
    LLVMMoveBasicBlockAfter(bb_slow, zf_cg_here(cg));
    zf_cg_enter(cg, bb_slow);
    if (w.records.warps > 1) { // the first warp makes it; nobody waits for the others
        LLVMBasicBlockRef bb_first = zf_cg_block(cg, "slow_first");
        LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, zf_simt_warp(lower), zf_cg_i64(cg, 0));
        zf_cg_cond_br(cg, v_first, bb_first, lower->simt->bb_leave);
        LLVMMoveBasicBlockAfter(bb_first, bb_slow);
        zf_cg_enter(cg, bb_first);
    }
    if (!zf_cg_site(cg, ZF_SITE_GUARD, "the slow path of chunks that fail")) {
        zf_simt_call_slow(lower);
    } else { // whatever failed is reported, also of a chunk whose elements are right
        LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), lower->v_fail);
        zf_lower_report(lower, chunk->v_start);
    }
    zf_cg_br(cg, lower->simt->bb_leave);
    LLVMMoveBasicBlockAfter(bb_none, zf_cg_here(cg));
    zf_cg_enter(cg, bb_none);
    zf_lower_tiles_end(lower, &tiles);
    lower->chunk = NULL;
}

void zf_form_records_slow(zf_kernel_build *lower, const zf_simt_shape *shape) { zf_form_warp_emit(lower, shape); }

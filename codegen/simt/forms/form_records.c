// Chunks whose warp appends records (simt_records.h), where records are worth it: the choices, and the kernel around the walk of
// a chunk (simt_record_walk.c).
//
// Where any check fails, the form's slow path makes the chunk once more, as the form `warp` does: it finds the failure that one
// thread finds, and reports it.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/simt/chunks/simt_arrays.h"
#include "codegen/simt/chunks/simt_record_walk.h"
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

// ---- The kernel ------------------------------------------------------------------------------------------------

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
    zf_record_walk w = {.chunk = {.ops = &ops, .narrow = true}};
    zf_chunk *chunk = &w.chunk;
    lower->v_is_leader = zf_cg_icmp(cg, LLVMIntEQ, zf_simt_lane(lower), zf_cg_i32(cg, 0));
    zf_chunk_open(lower, chunk);
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
    zf_record_walk_body(&w, shape);
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

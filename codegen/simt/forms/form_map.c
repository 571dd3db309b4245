// Maps: a thread block makes a tile, every thread C contiguous elements at a time, stored as 16 bytes (or as
// fewer, where so was chosen). A tile that is not whole
// (the block's last, or one that a range of rows cuts) is made element by element, a thread taking every S-th. A thread that met
// a failed check in a whole tile goes through its elements again one by one: there failures find their place.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/memory/simt_lookup.h"
#include "codegen/simt/memory/simt_neighbour_bits.h"
#include "codegen/simt/memory/simt_prefetch_distant.h"
#include "codegen/simt/memory/simt_prefetch_tile.h"
#include "codegen/simt/memory/simt_staging.h"
#include "codegen/simt/simt_choices.h"
#include "codegen/simt/simt_order.h"

enum {
    MOST_EMITTED = 1500, // expressions of all lanes of one thread: beyond it, one by one
    STEPS_TOGETHER = 4,  // whose loads are asked for before the first one's elements are made, where that is chosen
};

// ---- Which kernels --------------------------------------------------------------------------------------------

// Maps that copy tables were fastest with 32 registers, all eight thread blocks running, and prefetching what they read:
// dictionary over bitpack of 12 bits at 93% of the limit, 92 with 40 registers, 90 without prefetching, 84 without tables.
enum {
    LOOKUP_REGISTERS = 32,
    PLACES_REGISTERS = 40, // hold the loads of four steps, not the 61 that ptxas takes
    LEAST_TILE = 64,       // outputs: whole words of bits, of columns of booleans and of validity
    LEAST_TABLE = 4,       // KiB of shared memory,
    MOST_TABLE = 32,       // likewise
};

bool zf_form_map_fits(const zf_plan *plan, const zf_kernel *kernel) {
    zf_type type = zf_simt_type_of(plan, kernel);
    bool alone = !type.nullable && type.kind != ZF_K_STRING; // elements that need no other lane's
    return alone && zf_form_makes_elements(plan, kernel) && !zf_form_steps_of(plan, kernel).scans;
}

zf_simt_shape zf_form_map_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t bytes = zf_simt_staging_bytes(plan, kernel);
    bool looks_up = zf_simt_looks_up(plan, kernel), places = zf_simt_takes_places(plan, kernel);
    zf_simt_shape shape = {.threads = kernel->geometry.s,
                           .tiles = 1,
                           .shared_bytes = bytes + zf_simt_lookup_bytes(plan, kernel, bytes),
                           .prefetch = looks_up || places || zf_simt_distant_fits(plan, kernel)};
    if (places && zf_choice_value(&kernel->choice, ZF_CHOICE_PREFETCH, 1) != 0)
        shape.registers = PLACES_REGISTERS;
    else if (looks_up && zf_simt_lane_count(zf_simt_type_of(plan, kernel)) <= 4)
        shape.registers = LOOKUP_REGISTERS;
    return shape;
}

void zf_form_map_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    bool looks_up = zf_simt_looks_up(plan, kernel);
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, plan->target->threads);
    zf_choice_allow_together(space, zf_simt_type_of(plan, kernel));
    zf_choice_allow_powers(space, ZF_CHOICE_L, 1, 16);
    zf_choose(&space->defaults, ZF_CHOICE_L, kernel->geometry.l);
    zf_choice_allow_up_to(space, ZF_CHOICE_STAGE, zf_simt_takes_bits(plan, kernel) ? ZF_STAGE_STEPS : ZF_STAGE_NONE);
    zf_choose(&space->defaults, ZF_CHOICE_STAGE, ZF_STAGE_NONE);
    space->least_tile = LEAST_TILE;
    space->staged_outputs = ZF_STAGED_OUTPUTS;
    if (looks_up) {
        zf_choice_allow(space, ZF_CHOICE_TABLE, 0);
        zf_choice_allow_powers(space, ZF_CHOICE_TABLE, LEAST_TABLE, MOST_TABLE);
        zf_choose(&space->defaults, ZF_CHOICE_TABLE, ZF_LOOKUP_DEFAULT);
    }
    if (looks_up || zf_simt_takes_places(plan, kernel) || zf_simt_distant_fits(plan, kernel))
        zf_choice_allow_prefetch(space, shape);
}

// ---- Whole tiles ----------------------------------------------------------------------------------------------

// The whole tile that a thread has steps of.
typedef struct whole {
    zf_kernel_build *lower;
    zf_simt_prefetch_tile *fetch;
    zf_simt_staging staging;
    zf_simt_distant later;
    LLVMValueRef v_begin, v_mine; ///< of the tile; of this thread in a step
    unsigned count;               ///< elements of a thread in a step
    uint32_t step;                ///< elements of all of them
} whole;

// Steps that are made together.
typedef struct steps {
    const whole *of;
    bool by_places; ///< places of bits, which neighbours share a part of
    zf_simt_lanes lanes[STEPS_TOGETHER];
    zf_cg_value values[STEPS_TOGETHER][ZF_NEIGHBOURS];
} steps;

// Begins `together` steps, from number v_first on.
static void begin_steps(whole *w, steps *s, LLVMValueRef v_first, uint32_t together) {
    zf_kernel_build *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_within = zf_cg_i64(cg, lower->kernel->tile - 1);
    s->of = w;
    for (uint32_t k = 0; k < together; k++) {
        LLVMValueRef v_number = k == 0 ? v_first : zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        LLVMValueRef v_done = zf_cg_and(cg, zf_cg_mul(cg, v_number, zf_cg_i64(cg, w->step)), v_within);
        LLVMValueRef v_place = zf_cg_or(cg, zf_cg_or(cg, w->v_begin, v_done), w->v_mine);
        LLVMValueRef v_staged = w->staging.way == ZF_STAGE_TILE ? zf_cg_or(cg, v_done, w->v_mine) : w->v_mine;
        s->lanes[k] = zf_simt_lanes_begin(lower, v_place, w->count);
        s->lanes[k].staging = &w->staging;
        s->lanes[k].fetch = w->fetch;
        s->lanes[k].later = &w->later;
        s->lanes[k].v_staged = v_staged;
    }
}

static void make_element(void *user, unsigned step, unsigned k, zf_simt_neighbour_bits *places) {
    steps *s = user;
    zf_kernel_build *lower = s->of->lower;
    zf_kernel_env env = zf_simt_lane_env(lower, lower->kernel->root, &s->lanes[step], k);
    env.simt.places = places;
    if (s->by_places) zf_cg_neighbour(lower->cg, env.v_i, s->lanes[step].v_first, zf_cg_i64(lower->cg, k), s->of->count);
    s->values[step][k] = zf_cg_eval_body(lower->cg, &env.env, &env.env.inst->decode);
    lower->cg->v_guard = NULL;
}

static void store_steps(steps *s, uint32_t together) {
    zf_kernel_build *lower = s->of->lower;
    for (uint32_t k = 0; k < together; k++) zf_simt_store_vector(lower, s->values[k], s->of->count, s->lanes[k].v_first);
}

static void end_steps(steps *s, uint32_t together) {
    for (uint32_t k = 0; k < together; k++) zf_simt_lanes_end(s->of->lower, &s->lanes[k]);
}

static void one_step(whole *w, LLVMValueRef v_number, bool by_places) {
    steps s = {.by_places = by_places};
    begin_steps(w, &s, v_number, 1);
    for (unsigned k = 0; k < w->count; k++) make_element(&s, 0, k, NULL);
    store_steps(&s, 1);
    end_steps(&s, 1);
}

// Steps whose bits lie at places that data say, from number v_first on: together, where neighbours' lie side by side, else one by
// one, in a loop, which keeps what it needs out of registers.
static void steps_by_places(whole *w, LLVMValueRef v_first, uint32_t together) {
    zf_cg *cg = w->lower->cg;
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "steps_done");
    steps s = {.by_places = true};
    begin_steps(w, &s, v_first, together);
    LLVMBasicBlockRef bb_apart = zf_simt_make_beside(w->lower, together, w->count, false, make_element, &s);
    store_steps(&s, together);
    zf_cg_br(cg, bb_done);
    end_steps(&s, together);
    zf_cg_enter(cg, bb_apart);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, together), "step_apart");
    one_step(w, zf_cg_add(cg, v_first, loop.v_i), true);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// Whether any check failed (i1): which one says report_again.
static LLVMValueRef whole_tile(zf_kernel_build *lower, const zf_simt_tile *tile, const zf_simt_shape *shape,
                               zf_simt_prefetch_tile *fetch) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_any = zf_cg_alloca(cg, cg->ty_i1, "any");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_any);
    whole w = {.lower = lower, .fetch = fetch, .later = zf_simt_distant_begin(lower, shape), .count = zf_simt_together(lower)};
    w.step = shape->threads * w.count;
    // No edge of a block has more than 2^32 elements, and a step begins at a multiple of its size: said here by masks, so that
    // what bodies make of indices takes 32 bits, and what they ask of a thread's own place is the same in every step.
    w.v_begin = zf_cg_and(cg, tile->v_begin, zf_cg_i64(cg, UINT32_MAX & ~(uint64_t)(lower->kernel->tile - 1)));
    w.v_mine = zf_cg_mul(cg, zf_cg_resize(cg, lower->simt->v_thread, cg->ty_i64, false), zf_cg_i64(cg, w.count));
    w.v_mine = zf_cg_and(cg, w.v_mine, zf_cg_i64(cg, w.step - 1));
    lower->v_any = v_any;
    zf_simt_staging_begin(&w.staging, lower, shape, w.v_begin, w.step);
    bool by_places = zf_simt_takes_places(lower->plan, lower->kernel);
    bool ahead = by_places && shape->prefetch;
    uint32_t count = lower->kernel->tile / w.step, together = 1; // powers of two
    while (ahead && w.staging.way != ZF_STAGE_STEPS && together < count && together < STEPS_TOGETHER) together *= 2;
    LLVMValueRef v_count = zf_cg_i64(cg, count / together);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_count, "step");
    zf_simt_staging_step(&w.staging, loop.v_i, v_count);
    if (by_places)
        steps_by_places(&w, zf_cg_mul(cg, loop.v_i, zf_cg_i64(cg, together)), together);
    else
        one_step(&w, loop.v_i, false);
    zf_simt_staging_step_end(&w.staging);
    zf_cg_loop_end(cg, &loop);
    if (ahead) zf_simt_order_wish(cg->function);
    zf_simt_staging_end(&w.staging);
    zf_simt_distant_ask(&w.later);
    lower->v_any = NULL;
    return LLVMBuildLoad2(cg->builder, cg->ty_i1, v_any, "");
}

static zf_cg_value single(zf_kernel_build *lower, LLVMValueRef v_index) {
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_i = v_index;
    zf_cg_value value = zf_cg_eval_body(lower->cg, &env.env, &env.env.inst->decode);
    lower->cg->v_guard = NULL;
    return value;
}

// Counts from this thread's number in steps of the block's: v_i becomes begin + number + k * S while below v_end.
typedef struct strided {
    zf_cg_loop loop;
    LLVMValueRef v_index;
} strided;

static void strided_begin(zf_kernel_build *lower, strided *s, const zf_simt_shape *shape, LLVMValueRef v_begin,
                          LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_from = zf_cg_add(cg, v_begin, zf_cg_resize(cg, lower->simt->v_thread, cg->ty_i64, false));
    LLVMValueRef v_step = zf_cg_i64(cg, shape->threads);
    LLVMValueRef v_left = zf_cg_sub(cg, v_end, zf_cg_umin(cg, v_from, v_end));
    LLVMValueRef v_times = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_left, zf_cg_i64(cg, shape->threads - 1)), v_step, "");
    zf_cg_loop_begin(cg, &s->loop, zf_cg_i64(cg, 0), v_times, "single");
    s->v_index = zf_cg_add(cg, v_from, zf_cg_mul(cg, s->loop.v_i, v_step));
}

static void cut_tile(zf_kernel_build *lower, const zf_simt_tile *tile, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    strided outer;
    if (lower->type.kind != ZF_K_BOOL) {
        strided_begin(lower, &outer, shape, tile->v_lo, tile->v_hi);
        zf_cg_value value = single(lower, outer.v_index);
        zf_lower_store(lower, value, lower->v_sink, outer.v_index);
        zf_lower_report(lower, outer.v_index);
        zf_lower_clear(lower);
        zf_cg_loop_end(cg, &outer.loop);
        zf_simt_unroll(cg, &outer.loop, 1); // seldom run: it must not take registers from what is
        return;
    }
    LLVMValueRef v_three = zf_cg_i64(cg, 3), v_byte = zf_cg_alloca(cg, cg->ty_i8, "byte");
    LLVMValueRef v_begin = LLVMBuildLShr(cg->builder, tile->v_lo, v_three, "");
    LLVMValueRef v_end = LLVMBuildLShr(cg->builder, zf_cg_add(cg, tile->v_hi, zf_cg_i64(cg, 7)), v_three, "");
    strided_begin(lower, &outer, shape, v_begin, v_end);
    LLVMBuildStore(cg->builder, LLVMConstNull(cg->ty_i8), v_byte);
    LLVMValueRef v_first = LLVMBuildShl(cg->builder, outer.v_index, v_three, "");
    zf_cg_loop bits;
    LLVMValueRef v_bits_end = zf_cg_clamp(cg, zf_cg_add(cg, v_first, zf_cg_i64(cg, 8)), tile->v_hi, "bits of the last byte");
    zf_cg_loop_begin(cg, &bits, v_first, v_bits_end, "bit");
    LLVMValueRef v_bit = zf_lower_memory_form(lower, lower->type, single(lower, bits.v_i));
    LLVMValueRef v_shift = zf_cg_resize(cg, zf_cg_sub(cg, bits.v_i, v_first), cg->ty_i8, false);
    LLVMValueRef v_old = LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, "");
    LLVMBuildStore(cg->builder, zf_cg_or(cg, v_old, LLVMBuildShl(cg->builder, v_bit, v_shift, "")), v_byte);
    zf_lower_report(lower, bits.v_i);
    zf_lower_clear(lower);
    zf_cg_loop_end(cg, &bits);
    LLVMValueRef v_done = LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, "");
    zf_cg_store(cg, v_done, zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, outer.v_index), 1);
    zf_cg_loop_end(cg, &outer.loop);
    zf_simt_unroll(cg, &bits, 1);
    zf_simt_unroll(cg, &outer.loop, 1);
}

// The elements that this thread made in whole_tile, one by one: which of them failed.
static void report_again(zf_kernel_build *lower, const zf_simt_tile *tile, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    unsigned count = zf_simt_together(lower);
    uint32_t step = shape->threads * count;
    LLVMValueRef v_thread = zf_cg_resize(cg, lower->simt->v_thread, cg->ty_i64, false);
    LLVMValueRef v_mine = zf_cg_add(cg, tile->v_lo, zf_cg_mul(cg, v_thread, zf_cg_i64(cg, count)));
    zf_cg_loop outer, inner;
    zf_cg_loop_begin(cg, &outer, zf_cg_i64(cg, 0), zf_cg_i64(cg, lower->kernel->tile / step), "again");
    LLVMValueRef v_first = zf_cg_add(cg, v_mine, zf_cg_mul(cg, outer.v_i, zf_cg_i64(cg, step)));
    zf_cg_loop_begin(cg, &inner, v_first, zf_cg_add(cg, v_first, zf_cg_i64(cg, count)), "element");
    single(lower, inner.v_i);
    zf_lower_report(lower, inner.v_i);
    zf_lower_clear(lower);
    zf_cg_loop_end(cg, &inner);
    zf_cg_loop_end(cg, &outer);
    zf_simt_unroll(cg, &inner, 1);
    zf_simt_unroll(cg, &outer, 1);
}

// A whole tile, by tables if there are any. Copying tables takes as long as memory does, so the tile's other reads can be
// prefetched before.
static LLVMValueRef whole_by_tables(zf_kernel_build *lower, const zf_simt_tile *tile, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    uint32_t staged = zf_simt_staging_bytes(lower->plan, lower->kernel); // tables lie behind them
    if (shape->shared_bytes == staged) return whole_tile(lower, tile, shape, NULL);
    zf_simt_prefetch_tile fetch;
    zf_simt_lookup lookup;
    uint32_t outputs = lower->kernel->tile;
    zf_simt_prefetch_tile_begin(&fetch, lower, lower->simt->v_thread, shape->threads, tile->v_begin, zf_cg_i64(cg, outputs),
                                outputs);
    zf_simt_lookup_make(&lookup, lower, shape, staged, shape->shared_bytes - staged);
    LLVMValueRef v_any = zf_cg_alloca(cg, cg->ty_i1, "any_of_two");
    LLVMBasicBlockRef bb_by_tables = zf_cg_block(cg, "by_tables"), bb_by_streams = zf_cg_block(cg, "by_streams"),
                      bb_made = zf_cg_block(cg, "whole_made");
    zf_cg_cond_br(cg, lookup.v_fits, bb_by_tables, bb_by_streams);
    zf_cg_enter(cg, bb_by_tables);
    lower->simt->v_tables = lookup.v_tables;
    LLVMBuildStore(cg->builder, whole_tile(lower, tile, shape, &fetch), v_any);
    lower->simt->v_tables = NULL;
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_by_streams);
    LLVMBuildStore(cg->builder, whole_tile(lower, tile, shape, &fetch), v_any);
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_made);
    zf_simt_prefetch_tile_end(&fetch);
    return LLVMBuildLoad2(cg->builder, cg->ty_i1, v_any, "");
}

void zf_form_map_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    zf_simt_tile tile = zf_simt_tile_of(lower);
    LLVMBasicBlockRef bb_cut = zf_cg_block(cg, "cut"), bb_whole = zf_cg_block(cg, "whole");
    LLVMValueRef v_size = zf_cg_sub(cg, tile.v_hi, tile.v_lo);
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntEQ, v_size, zf_cg_i64(cg, lower->kernel->tile));
    v_full = zf_cg_within(cg, v_full, "whole tile");
    zf_cg_cond_br(cg, zf_cg_and(cg, v_full, tile.v_whole), bb_whole, bb_cut);
    zf_cg_enter(cg, bb_cut);
    uint64_t before = cg->emitted;
    cut_tile(lower, &tile, shape);
    uint64_t each = cg->emitted - before;
    zf_cg_br(cg, lower->simt->bb_leave);
    zf_cg_enter(cg, bb_whole);
    if (each * zf_simt_together(lower) > MOST_EMITTED) {
        zf_cg_br(cg, bb_cut);
        zf_cg_enter(cg, zf_cg_block(cg, "never"));
        return;
    }
    uint32_t noted = lower->noted;
    LLVMValueRef v_any = whole_by_tables(lower, &tile, shape);
    if (lower->noted == noted) return; // nothing can fail
    LLVMBasicBlockRef bb_again = zf_cg_block(cg, "again"), bb_well = zf_cg_block(cg, "well");
    zf_cg_cond_br(cg, v_any, bb_again, bb_well);
    zf_cg_enter(cg, bb_again);
    report_again(lower, &tile, shape);
    zf_cg_br(cg, bb_well);
    zf_cg_enter(cg, bb_well);
}

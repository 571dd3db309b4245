// Groups that are the bytes of a number: element j of group g is byte j of at most eight that g alone says, as in a table of
// short symbols. A warp makes several tiles of the bytes together (simt_span.h); warps of a thread block share what they read by
// index.
//
// A lane takes eight groups of a row, puts their bytes together in a register, and stores a word in shared memory when it has all
// four bytes. A word that several lanes share is stored by the one that has its last byte; then the others add theirs by atomic
// or. From there whole chunks of 16 bytes are stored to memory, and what remains moves to the front.
//
// The root's tables in shared memory are checked there, all elements before any is used. If anything is wrong, one thread makes
// the tiles one by one, as on the host (lower->simt->v_slow), and reports the failure and its place.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/groups/simt_span.h"
#include "codegen/simt/memory/simt_tables.h"
#include "codegen/simt/simt_choices.h"
#include "frontend/check/checker.h"

enum {
    EACH = ZF_SPAN_EACH,
    LONGEST = 8,   // bytes of a number
    THREADS = 128, // whose warps share tables
    SPAN = 16384,  // bytes that a warp makes, where tiles are no larger
    REGISTERS = 72,
};

typedef struct numbers {
    zf_simt_span span;
    LLVMValueRef v_stage; // the warp's
    zf_span_wanted wanted;
    LLVMValueRef v_word; // slot (i32): the last word of what remained, where it is not whole; zeros behind the bytes
} numbers;

static uint32_t warp_tiles(uint32_t tile) {
    uint32_t tiles = tile < SPAN ? SPAN / tile : 1;
    return tiles < ZF_SPAN_TILES ? tiles : ZF_SPAN_TILES;
}

static uint32_t warps_of(uint32_t wave) { return THREADS / wave; }

// Shared memory for what each warp found in the tables.
static uint32_t warp_words(uint32_t wave) { return 4 * warps_of(wave); }

// Shared memory of a warp: a row, and what remained of the one before.
static uint32_t stage_bytes(uint32_t wave) { return wave * EACH * LONGEST + 2 * ZF_SPAN_CHUNK; }

static uint32_t kept_bytes(const zf_kernel *kernel) { return zf_simt_span_kept_bytes(warp_tiles(kernel->tile)); }

bool zf_form_numbers_fits(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_form_makes_groups(plan, kernel) && zf_group_is_number(plan, kernel);
}

zf_simt_shape zf_form_numbers_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t wave = plan->target->wave, warps = warps_of(wave);
    return (zf_simt_shape){.threads = THREADS,
                           .tiles = 1,
                           .span = warps * warp_tiles(kernel->tile),
                           .shared_bytes = zf_simt_tables_bytes(plan, kernel) + warps * (stage_bytes(wave) + kept_bytes(kernel)) +
                                           warp_words(wave),
                           .registers = REGISTERS,
                           .slow = true};
}

void zf_form_numbers_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    (void)plan, (void)kernel;
    zf_choice_allow(space, ZF_CHOICE_THREADS, shape->threads); // the layout of shared memory is for so many
}

// The tiles of a thread block that one warp makes.
static uint32_t tiles_of_warp(const zf_simt_shape *shape) { return shape->span / (shape->threads / shape->warp); }

// ---- Groups ---------------------------------------------------------------------------------------------------

// The bytes (i64, the first lowest) that an expression gives for j = 0, 1, ...; `size` says how many are taken.
static LLVMValueRef number(zf_cg *cg, zf_kernel_env *env, const zf_expr *e, const zf_expr *size) {
    const zf_body *decode = &env->env.inst->decode;
    if (e->kind == ZF_X_COND) {
        LLVMValueRef v_if = zf_cg_eval_expr(cg, &env->env, decode, e->a, NULL, 0).v, v_guard = cg->v_guard, v[2];
        bool same = size->kind == ZF_X_COND && zf_expr_same(size->a, e->a);
        for (unsigned side = 0; side < 2; side++) {
            LLVMValueRef v_here = side == 0 ? v_if : zf_cg_not(cg, v_if);
            cg->v_guard = v_guard == NULL ? v_here : zf_cg_and(cg, v_guard, v_here);
            const zf_expr *of_side = side == 0 ? size->b : size->c;
            v[side] = number(cg, env, side == 0 ? e->b : e->c, same ? of_side : size);
        }
        cg->v_guard = v_guard;
        return zf_cg_select(cg, v_if, v[0], v[1]);
    }
    const zf_expr *of = zf_group_byte_of_number(e);
    LLVMValueRef v = zf_cg_eval_expr(cg, &env->env, decode, of != NULL ? of : e, NULL, 0).v;
    v = zf_cg_resize(cg, v, cg->ty_i64, false);
    return of != NULL || size->range.hi <= 1 ? v : zf_cg_mul(cg, v, zf_cg_i64(cg, UINT64_C(0x0101010101010101)));
}

static void take(zf_simt_span *s, zf_kernel_env *env, unsigned k) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_size = zf_cg_eval_body(cg, &env->env, &env->env.inst->size).v;
    cg->v_guard = NULL;
    env->v_j = zf_cg_i64(cg, 0);
    LLVMBuildStore(cg->builder, number(cg, env, env->env.inst->decode.value, env->env.inst->size.value), s->v_sources[k]);
    LLVMBuildStore(cg->builder, zf_cg_low_half(cg, v_size), s->v_lengths[k]);
    cg->v_guard = NULL;
}

static void cut(zf_simt_span *s, unsigned k, LLVMValueRef v_from, LLVMValueRef v_left) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_bits = LLVMBuildShl(cg->builder, zf_cg_and(cg, v_from, zf_cg_i32(cg, LONGEST - 1)), zf_cg_i32(cg, 3), "");
    LLVMValueRef v_source = LLVMBuildLoad2(cg->builder, cg->ty_i64, s->v_sources[k], "");
    LLVMBuildStore(cg->builder, v_left, s->v_lengths[k]);
    LLVMBuildStore(cg->builder, LLVMBuildLShr(cg->builder, v_source, zf_cg_resize(cg, v_bits, cg->ty_i64, false), ""),
                   s->v_sources[k]);
}

// ---- Putting them together ------------------------------------------------------------------------------------

static LLVMValueRef stage_at(const numbers *n, LLVMValueRef v_at) {
    zf_cg *cg = n->span.lower->cg;
    return zf_cg_at(cg, cg->ty_i8, n->v_stage, zf_cg_resize(cg, v_at, cg->ty_i64, false));
}

// The word that has a byte of the stage.
static LLVMValueRef word_at(const numbers *n, LLVMValueRef v_byte) {
    return stage_at(n, zf_cg_and(n->span.lower->cg, v_byte, zf_cg_i32(n->span.lower->cg, ~UINT32_C(3))));
}

// The lane's numbers, from byte *v_place of the stage on, behind the bytes that *v_word has of its word. Both are left where the
// last number ends.
static void put_numbers(numbers *n, const zf_span_row *r, LLVMValueRef *v_place, LLVMValueRef *v_word) {
    zf_cg *cg = n->span.lower->cg;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0), v_three = zf_cg_i32(cg, 3);
    for (unsigned k = 0; k < EACH; k++) {
        LLVMValueRef v_low = zf_cg_low_half(cg, r->v_sources[k]), v_high = zf_cg_high_half(cg, r->v_sources[k]);
        LLVMValueRef v_up = LLVMBuildShl(cg->builder, *v_place, v_three, ""); // modulo 32
        LLVMValueRef v_words[3] = {zf_cg_or(cg, *v_word, zf_cg_funnel(cg, true, v_low, v_zero, v_up)),
                                   zf_cg_funnel(cg, true, v_high, v_low, v_up), zf_cg_funnel(cg, true, v_zero, v_high, v_up)};
        LLVMValueRef v_stop = zf_cg_add(cg, zf_cg_and(cg, *v_place, v_three), r->v_lengths[k]), v_at = word_at(n, *v_place);
        LLVMValueRef v_one = zf_cg_icmp(cg, LLVMIntUGE, v_stop, zf_cg_i32(cg, 4)),
                     v_two = zf_cg_icmp(cg, LLVMIntUGE, v_stop, zf_cg_i32(cg, 8));
        zf_simt_store_word_if(cg, v_one, v_words[0], v_at);
        zf_simt_store_word_if(cg, v_two, v_words[1], zf_cg_byte_at(cg, v_at, 4));
        *v_word = zf_cg_select(cg, v_two, v_words[2], zf_cg_select(cg, v_one, v_words[1], v_words[0]));
        *v_place = zf_cg_add(cg, *v_place, r->v_lengths[k]);
        // Bytes behind the number's bytes are in no whole word.
        v_up = LLVMBuildShl(cg->builder, *v_place, v_three, "");
        LLVMValueRef v_behind = zf_cg_funnel(cg, true, zf_cg_i32(cg, UINT32_MAX), v_zero, v_up);
        *v_word = zf_cg_mask(cg, *v_word, LLVMBuildNot(cg->builder, v_behind, ""), "bytes behind a number");
    }
}

// The bytes stored out of v_here (the lead counted with them): whole chunks. The rest remains in the stage.
static LLVMValueRef stored_of(zf_cg *cg, LLVMValueRef v_here) {
    return zf_cg_and(cg, v_here, zf_cg_i32(cg, ~(uint32_t)(ZF_SPAN_CHUNK - 1)));
}

// Stores the whole chunks of the stage's first v_end bytes, behind v_stored; what remains of them moves to the front.
static void store_row(numbers *n, LLVMValueRef v_stored, LLVMValueRef v_end) {
    zf_cg *cg = n->span.lower->cg;
    LLVMValueRef v_chunk = zf_cg_i32(cg, ZF_SPAN_CHUNK), v_lane = n->span.v_lane;
    LLVMValueRef v_whole = stored_of(cg, v_end);
    zf_turns chunks;
    zf_turns_begin(cg, &chunks, zf_cg_mul(cg, v_lane, v_chunk), cg->wave * ZF_SPAN_CHUNK, v_whole, "stage_store");
    zf_simt_span_store(&n->span, &n->wanted, stage_at(n, chunks.v_i), zf_cg_add(cg, v_stored, chunks.v_i));
    zf_turns_end(cg, &chunks);
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i32, ZF_SPAN_CHUNK / 4);
    LLVMValueRef v_rest = zf_cg_load(cg, ty, stage_at(n, v_whole), ZF_SPAN_CHUNK);
    // Read again: a word of v_rest by number would go through memory of the thread.
    LLVMValueRef v_word = zf_cg_load(cg, cg->ty_i32, word_at(n, v_end), 4);
    zf_simt_barrier_warp(n->span.lower, "the stage was stored");
    LLVMBasicBlockRef bb_move = zf_cg_block(cg, "rest"), bb_moved = zf_cg_block(cg, "rest_moved");
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_lane, zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_first, "the lane that moves what remains"), bb_move, bb_moved);
    zf_cg_enter(cg, bb_move);
    zf_cg_store(cg, v_rest, n->v_stage, ZF_SPAN_CHUNK);
    zf_cg_br(cg, bb_moved);
    zf_cg_enter(cg, bb_moved);
    zf_simt_barrier_warp(n->span.lower, "what remains is in front");
    LLVMBuildStore(cg->builder, v_word, n->v_word);
}

static void put_row(numbers *n, const zf_span_row *r, LLVMValueRef v_here) {
    zf_kernel_build *lower = n->span.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0), v_stored = stored_of(cg, v_here), v_rest = zf_cg_sub(cg, v_here, v_stored);
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, n->span.v_lane, v_zero), v_end = zf_cg_add(cg, v_rest, r->v_total);
    LLVMValueRef v_word = zf_cg_select(cg, v_first, LLVMBuildLoad2(cg->builder, cg->ty_i32, n->v_word, ""), v_zero);
    LLVMValueRef v_place = zf_cg_add(cg, v_rest, r->v_before);
    // The row's last word has no lane that stores it.
    zf_simt_store_word_if(cg, v_first, v_zero, word_at(n, v_end));
    put_numbers(n, r, &v_place, &v_word);
    zf_simt_barrier_warp(lower, "whole words are stored");
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, word_at(n, v_place), v_word, LLVMAtomicOrderingMonotonic, 0);
    zf_simt_barrier_warp(lower, "words are whole");
    store_row(n, v_stored, v_end);
}

// ---- The rows -------------------------------------------------------------------------------------------------

static void make_rows(numbers *n) {
    zf_kernel_build *lower = n->span.lower;
    zf_cg *cg = lower->cg;
    zf_span_row r;
    zf_simt_span_rows_begin(&n->span);
    zf_simt_span_take(&n->span);
    LLVMValueRef v_own = zf_cg_i32(cg, 0);
    for (unsigned k = 0; k < EACH; k++) {
        r.v_sources[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, n->span.v_sources[k], "");
        r.v_lengths[k] = LLVMBuildLoad2(cg->builder, cg->ty_i32, n->span.v_lengths[k], "");
        v_own = zf_cg_add(cg, v_own, r.v_lengths[k]);
    }
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, n->span.v_lane);
    r.v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
    r.v_before = zf_cg_sub(cg, v_up, v_own);
    LLVMValueRef v_here = zf_simt_span_fits(&n->span, &r);
    put_row(n, &r, v_here);
    zf_simt_span_rows_end(&n->span, &r, v_here);
}

// ---- The tiles ------------------------------------------------------------------------------------------------

// Each warp has its tiles of the thread block's, and its stage behind the tables.
static void find_warp(numbers *n) {
    zf_kernel_build *lower = n->span.lower;
    zf_cg *cg = lower->cg;
    uint32_t kept = kept_bytes(lower->kernel), at = zf_simt_tables_bytes(lower->plan, lower->kernel);
    uint32_t stage = stage_bytes(cg->wave), warps = warps_of(cg->wave);
    LLVMValueRef v_warp = zf_simt_warp(lower), v_stages = cg->target->simt->shared(cg, at, warps * stage),
                 v_kept = cg->target->simt->shared(cg, at + warps * stage, warps * kept);
    n->v_stage = zf_cg_at(cg, cg->ty_i8, v_stages, zf_cg_mul(cg, v_warp, zf_cg_i64(cg, stage)));
    n->span.v_kept = zf_cg_at(cg, cg->ty_i8, v_kept, zf_cg_mul(cg, v_warp, zf_cg_i64(cg, kept)));
    lower->simt->v_tile = zf_cg_add(cg, lower->simt->v_tile, zf_cg_mul(cg, v_warp, zf_cg_i64(cg, n->span.tiles)));
    LLVMBasicBlockRef bb_tiles = zf_cg_block(cg, "warp_tiles");
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntULT, lower->simt->v_tile, zf_simt_span_tiles(lower));
    zf_cg_cond_br(cg, zf_cg_within(cg, v_is, "tiles of the block that are wanted"), bb_tiles, lower->simt->bb_leave);
    zf_cg_enter(cg, bb_tiles);
}

void zf_form_numbers_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    numbers n = {.span = {.lower = lower,
                          .each = EACH,
                          .tiles = tiles_of_warp(shape),
                          .ty_length = cg->ty_i32,
                          .longest = LONGEST,
                          .by_words = true,
                          .take = take,
                          .cut = cut}};
    LLVMValueRef v_warps = cg->target->simt->shared(cg, shape->shared_bytes - warp_words(cg->wave), warp_words(cg->wave));
    n.span.v_refused = zf_cg_not(cg, zf_simt_tables_make_checked(lower, shape->threads, v_warps));
    find_warp(&n);
    zf_simt_span_begin(&n.span);
    n.wanted = zf_simt_span_wanted(&n.span);
    n.v_word = zf_cg_alloca(cg, cg->ty_i32, "word");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), n.v_word);
    make_rows(&n);
    LLVMBasicBlockRef bb_made;
    zf_simt_span_end(&n.span, &bb_made);
    LLVMBasicBlockRef bb_last = zf_cg_block(cg, "last_chunk");
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, n.span.v_lane, zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_first, "the lane that stores what remains"), bb_last, bb_made);
    zf_cg_enter(cg, bb_last);
    LLVMValueRef v_here = LLVMBuildLoad2(cg->builder, cg->ty_i32, n.span.v_here, "");
    zf_simt_span_store(&n.span, &n.wanted, n.v_stage, stored_of(cg, v_here));
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_made);
}

void zf_form_numbers_slow(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    zf_simt_one_thread(lower, zf_simt_lane(lower)); // each warp has its tiles
    uint32_t tiles = tiles_of_warp(shape);
    lower->simt->v_tile = zf_cg_add(cg, lower->simt->v_tile, zf_cg_mul(cg, zf_simt_warp(lower), zf_cg_i64(cg, tiles)));
    lower->v_begin = lower->simt->v_tile;
    lower->v_end = zf_simt_span_stop(lower, tiles);
    cg->target->lower[lower->kernel->domain](lower);
}

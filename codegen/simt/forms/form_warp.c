// Chunks that a warp walks. All its threads do the same, so they branch alike, and one read serves all. Only the elements of an
// `emit` over a range are shared: each of 32 lanes makes every 32nd element; over two ranges also the values of the first range
// (simt_regions.c). The first lane stores elements that are emitted one by one, and those of local arrays, which the warp has
// together (simt_arrays.c).
//
// Other lanes store the elements of `out` that a program reads, so lanes meet behind every `emit`. A failed element must not
// lead its lane away from the others, so it only ends that lane's share. Then all lanes go through the elements as one thread
// does, and find the failure that comes first.
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/chunks/simt_arrays.h"
#include "codegen/simt/chunks/simt_row_bitmap.h"
#include "codegen/simt/groups/simt_span.h"
#include "codegen/simt/memory/simt_memory.h"
#include "codegen/simt/simt_choices.h"
#include "frontend/check/walk.h"

enum {
    REGISTERS = 64,         // of a thread: 32 warps of a multiprocessor run at once then
    REGISTERS_OF_BOTH = 80, // 24 warps
    ROUNDS = 4,             // of a loop over a lane's share, whose loads are in flight together
    CHUNKS = 4,             // short ones, that a warp walks one after the other,
    SHORT = 4096,           // elements at most, and
    MOST_CHUNKS = 8,        // whatever was chosen
    PIECE = 64              // bytes of a stream that a lane prefetches when a chunk begins; half as many later
};

static bool walks_several(const zf_plan *plan, const zf_kernel *kernel) {
    zf_type type = zf_simt_type_of(plan, kernel);
    if (zf_kernel_is_uneven(plan, kernel)) return false;                         // the launch has just those that are wanted
    return !type.nullable && type.kind != ZF_K_BOOL && type.kind != ZF_K_STRING; // whose rows are stored where they are wanted
}

// Facts of a block are computed once for several chunks; where chunks are long there are too few of them.
static uint32_t default_chunks(const zf_plan *plan, const zf_kernel *kernel) {
    return plan->graph->nodes[kernel->root].codec->chunk_size <= SHORT ? CHUNKS : 1;
}

bool zf_form_warp_fits(const zf_plan *plan, const zf_kernel *kernel) {
    (void)plan;
    return kernel->by_warp;
}

static bool see_emits(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user;
    zf_chunk_sum sum;
    found[0] = found[0] || zf_chunk_sum_of(stmt, &sum);
    found[1] = found[1] || stmt->kind == ZF_S_EMIT_REGION;
    return true;
}

// Loads and shuffles are waited for, and more warps at once hide that. Programs with regions and running sums have more to keep.
static uint32_t default_registers(const zf_plan *plan, const zf_kernel *kernel) {
    bool found[2] = {false, false};
    zf_visitor visitor = {.user = found, .stmt = see_emits};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&plan->graph->nodes[kernel->root].inst->decode); // only looks
    return found[0] && found[1] ? REGISTERS_OF_BOTH : REGISTERS;
}

zf_simt_shape zf_form_warp_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t threads = kernel->geometry.s, tiles = threads / plan->target->wave,
             bytes = tiles * zf_simt_row_bitmap_bytes(plan, kernel), arrays = zf_simt_arrays_bytes(plan, kernel);
    if (bytes > plan->target->shared_bytes) bytes = 0;
    if (bytes + tiles * arrays > plan->target->shared_bytes) arrays = 0; // each thread has its own
    bool several = walks_several(plan, kernel);
    return (zf_simt_shape){.threads = threads,
                           .tiles = tiles,
                           .span = several ? zf_choice_value(&kernel->choice, ZF_CHOICE_L, default_chunks(plan, kernel)) : 1,
                           .shared_bytes = bytes + tiles * arrays,
                           .bitmap_bytes = bytes / tiles,
                           .array_bytes = arrays,
                           .registers = default_registers(plan, kernel)};
}

void zf_form_allow_walk(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    if (!zf_kernel_can_be_shared(plan, kernel)) return;
    if (walks_several(plan, kernel)) {
        zf_choice_allow_powers(space, ZF_CHOICE_L, 1, MOST_CHUNKS);
        zf_choose(&space->defaults, ZF_CHOICE_L, kernel->by_warp ? shape->span : 1);
    }
    zf_choice_allow(space, ZF_CHOICE_WALK, 1);
    zf_choice_allow(space, ZF_CHOICE_WALK, plan->target->wave);
    zf_choose(&space->defaults, ZF_CHOICE_WALK, kernel->by_warp ? plan->target->wave : 1);
}

void zf_form_warp_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, zf_form_records_threads(plan, kernel));
    zf_form_allow_records(plan, kernel, space);
    zf_form_allow_walk(plan, kernel, shape, space);
}

static LLVMValueRef share_turns(zf_chunk *chunk, LLVMValueRef v_count) { // there is room for them: the sum does not wrap
    zf_cg *cg = chunk->env.lower->cg;
    LLVMValueRef v_more = zf_cg_sub(cg, zf_cg_i64(cg, cg->wave - 1), chunk->v_share);
    return LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_count, v_more), zf_cg_i64(cg, cg->wave), "");
}

static LLVMValueRef share_index(zf_chunk *chunk, LLVMValueRef v_turn) {
    zf_cg *cg = chunk->env.lower->cg;
    return zf_cg_add(cg, zf_cg_mul(cg, v_turn, zf_cg_i64(cg, cg->wave)), chunk->v_share);
}

static void meet(zf_chunk *chunk) {
    if (chunk->inst->reads_out) zf_simt_barrier_warp(chunk->env.lower, "what was emitted before what reads it");
}

/// Whether the lanes took more iterations together than the chunk had (v_had: a slot); what is left is v_work for all.
static LLVMValueRef took_too_many(zf_chunk *chunk, LLVMValueRef v_had) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_left = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_had, "");
    LLVMValueRef v_all = zf_cg_sub(cg, v_left, zf_chunk_work_left(chunk));
    LLVMValueRef v_lane = zf_simt_lane(lower);
    for (uint32_t step = 1; step < cg->wave; step *= 2) {
        LLVMValueRef v_other = LLVMBuildXor(cg->builder, v_lane, zf_cg_i32(cg, step), "");
        v_all = zf_cg_add(cg, v_all, zf_simt_shuffle(lower, v_all, v_other));
    }
    zf_chunk_set_work_left(chunk, zf_cg_sub(cg, v_left, v_all));
    return zf_cg_icmp(cg, LLVMIntUGT, v_all, v_left);
}

static bool see_loop(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    *found =
        *found || expr->kind == ZF_X_REDUCE || expr->kind == ZF_X_OUT || (expr->kind == ZF_X_CALL && expr->call->body != NULL);
    return !*found;
}

// Whether a region makes its elements without loops, which a failed check must end, and without its output, which may be empty.
static bool is_plain(const void *region) {
    const zf_reduce *reduce = ((const zf_chunk_region *)region)->stmt->reduce;
    bool found = reduce->binder_count > 1;
    zf_visitor visitor = {.user = &found, .expr = see_loop};
    zf_visit_expr(&visitor, reduce->term);
    return !found;
}

static void share_region(zf_chunk *chunk, LLVMValueRef v_alike, void (*share)(void *region), void (*walk)(void *region),
                         void *region) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_stop = chunk->bb_stop, bb_met = zf_cg_block(cg, "shared");
    zf_simt_prefetch_on(chunk);
    LLVMValueRef v_left = zf_chunk_work_left(chunk);
    LLVMValueRef v_had = zf_cg_alloca(cg, cg->ty_i64, "had");
    LLVMBuildStore(cg->builder, v_left, v_had);
    chunk->bb_stop = bb_met;
    if (v_alike != NULL) {
        zf_chunk_work(cg, &chunk->env.env, v_alike, ((zf_chunk_region *)region)->stmt->span);
        LLVMBuildStore(cg->builder, zf_chunk_work_left(chunk), v_had);
    }
    chunk->counted = false;
    chunk->v_share = zf_cg_resize(cg, zf_simt_lane(lower), cg->ty_i64, false);
    zf_chunk_notes notes = {0};
    bool plain = is_plain(region); // its loop has one way out then, and can be unrolled
    if (plain) zf_chunk_notes_begin(chunk, &notes);
    share(region);
    if (plain) zf_chunk_notes_end(chunk);
    chunk->v_share = NULL;
    chunk->bb_stop = bb_stop;
    bool may_fail = notes.some || LLVMGetFirstUse(LLVMBasicBlockAsValue(bb_met)) != NULL;
    zf_cg_br(cg, bb_met);
    LLVMMoveBasicBlockAfter(bb_met, zf_cg_here(cg));
    zf_cg_enter(cg, bb_met);
    if (may_fail) {
        bool gives_up = chunk->ops->gives_up;
        LLVMBasicBlockRef bb_again = zf_cg_block(cg, "again"), bb_well = zf_cg_block(cg, "shared_well");
        LLVMValueRef v_bad = zf_cg_not(cg, zf_lower_none_failed(lower));
        if (notes.some) v_bad = zf_cg_or(cg, v_bad, LLVMBuildLoad2(cg->builder, cg->ty_i1, notes.v_failed, ""));
        if (chunk->counted) v_bad = zf_cg_or(cg, v_bad, took_too_many(chunk, v_had));
        zf_cg_cond_br(cg, zf_simt_any(lower, v_bad), bb_again, bb_well);
        zf_cg_enter(cg, bb_again);
        if (!gives_up) {
            zf_lower_clear(lower);
            zf_chunk_set_work_left(chunk, v_left);
            chunk->retraces = true;
            walk(region);
            chunk->retraces = false;
        }
        zf_cg_br(cg, gives_up ? bb_stop : bb_well);
        LLVMMoveBasicBlockAfter(bb_well, zf_cg_here(cg));
        zf_cg_enter(cg, bb_well);
    }
    meet(chunk);
}

// Prefetches `piece` bytes a lane, from byte v_from (i64) of the chunk's part on.
static void prefetch_from(zf_chunk *chunk, const zf_chunk_stream *s, LLVMValueRef v_from, uint32_t piece) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_away = zf_cg_mul(cg, zf_cg_resize(cg, zf_simt_lane(lower), cg->ty_i64, false), zf_cg_i64(cg, piece));
    LLVMValueRef v_first = zf_cg_at(cg, cg->ty_i8, s->v_bytes, LLVMBuildLShr(cg->builder, s->v_bit, zf_cg_i64(cg, 3), ""));
    v_away = zf_cg_umin(cg, zf_cg_add(cg, v_from, v_away), zf_chunk_bytes(cg, s));
    zf_simt_prefetch(cg, zf_cg_at(cg, cg->ty_i8, v_first, v_away));
}

void zf_simt_prefetch_chunk(zf_chunk *chunk, zf_chunk_stream *s) {
    zf_cg *cg = chunk->env.lower->cg;
    if (s->v_bit == NULL || !zf_simt_prefetches(cg)) return;
    prefetch_from(chunk, s, zf_cg_i64(cg, 0), PIECE);
    if (chunk->narrow) return; // a walk that has records; guesses have a window of the stream
    s->v_ahead = zf_cg_alloca(cg, cg->ty_i64, "ahead");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, PIECE * cg->wave), s->v_ahead);
}

void zf_simt_prefetch_on(zf_chunk *chunk) {
    zf_cg *cg = chunk->env.lower->cg;
    for (uint32_t k = 0; k < chunk->inst->stream_count; k++) {
        zf_chunk_stream *s = &chunk->streams[k];
        if (s->v_ahead == NULL) continue;
        uint32_t distance = PIECE * cg->wave, bits = s->by_bits ? 1 : zf_kind_bits(s->port->type.kind);
        LLVMBasicBlockRef bb_near = zf_cg_block(cg, "near_the_end"), bb_on = zf_cg_block(cg, "prefetched");
        LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, LLVMGetAllocatedType(s->v_at), s->v_at, "");
        v_at = zf_cg_mul(cg, zf_cg_resize(cg, v_at, cg->ty_i64, false), zf_cg_i64(cg, bits));
        v_at = LLVMBuildLShr(cg->builder, v_at, zf_cg_i64(cg, 3), "");
        LLVMValueRef v_ahead = LLVMBuildLoad2(cg->builder, cg->ty_i64, s->v_ahead, "");
        LLVMValueRef v_due = zf_cg_add(cg, v_at, zf_cg_i64(cg, distance));
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGT, v_due, v_ahead), bb_near, bb_on);
        zf_cg_enter(cg, bb_near);
        v_ahead = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, v_ahead, v_at), v_at, v_ahead); // what was skipped
        prefetch_from(chunk, s, v_ahead, PIECE / 2);
        LLVMBuildStore(cg->builder, zf_cg_add(cg, v_ahead, zf_cg_i64(cg, distance / 2)), s->v_ahead);
        zf_cg_br(cg, bb_on);
        LLVMMoveBasicBlockAfter(bb_on, zf_cg_here(cg));
        zf_cg_enter(cg, bb_on);
    }
}

static void unroll(zf_cg *cg, const zf_cg_loop *loop) { zf_simt_unroll(cg, loop, ROUNDS); }

static const zf_chunk_ops ops = {.entry = zf_simt_seek_entry,
                                 .prefetch = zf_simt_prefetch_chunk,
                                 .share = share_region,
                                 .share_rows = zf_simt_share_rows,
                                 .share_sums = zf_simt_share_sums,
                                 .share_turns = share_turns,
                                 .share_index = share_index,
                                 .unroll = unroll,
                                 .meet = meet};

zf_chunk_ops zf_form_warp_ops(void) { return ops; }

void zf_form_warp_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    if (shape->span > 1) {
        LLVMValueRef v_end = zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, shape->span));
        lower->v_end = zf_cg_clamp(cg, v_end, zf_simt_span_tiles(lower), "chunks that there are");
    }
    lower->v_is_leader = zf_cg_icmp(cg, LLVMIntEQ, zf_simt_lane(lower), zf_cg_i32(cg, 0));
    zf_simt_arrays_begin(lower, shape);
    zf_lower_chunks_by(lower, &ops);
    zf_simt_arrays_end(lower);
}

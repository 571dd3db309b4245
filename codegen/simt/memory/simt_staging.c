#include "codegen/simt/memory/simt_staging.h"

enum {
    BEHIND = 16, // bytes behind a buffer, of which lanes read whole words
    STREAMS = 2, // of as many bits as the output has: room for so many
};

typedef struct zf_simt_staged {
    uint32_t edge;
    uint64_t stride;
    uint64_t bytes; // of what is staged at once
    LLVMValueRef v_buffers, v_stream;
    struct zf_simt_staged *next;
} staged;

static zf_simt_stage_way way_of(const zf_kernel *kernel) {
    return (zf_simt_stage_way)zf_choice_value(&kernel->choice, ZF_CHOICE_STAGE, ZF_STAGE_NONE);
}

bool zf_simt_takes_bits(const zf_plan *plan, const zf_kernel *kernel) {
    for (uint32_t h = 0; h < plan->hoisted_count; h++) {
        if (plan->hoisted[h].access->kind != ZF_X_BITS) continue;
        for (uint32_t n = 0; n < kernel->node_count; n++) {
            if (kernel->nodes[n] == plan->hoisted[h].node) return true;
        }
    }
    return false;
}

uint32_t zf_simt_staging_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t most = plan->target->shared_bytes;
    zf_simt_stage_way way = way_of(kernel);
    uint32_t buffers = way == ZF_STAGE_TILE ? kernel->geometry.l : 2;
    uint32_t bytes = STREAMS * (buffers * kernel->geometry.s * ZF_SIMT_PIECE + BEHIND);
    return way == ZF_STAGE_NONE ? 0 : bytes < most ? bytes : most;
}

// The bytes of all warps: each stages as many as its outputs have.
uint32_t zf_simt_staging_warp_bytes(uint32_t most, zf_simt_stage_way way, uint32_t tile, uint32_t size, uint32_t warps) {
    uint32_t bytes = warps * (tile * size + BEHIND);
    return way == ZF_STAGE_NONE ? 0 : bytes < most ? bytes : most;
}

static void begin(zf_simt_staging *s, zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_begin) {
    zf_simt_stage_way way = way_of(lower->kernel);
    *s = (zf_simt_staging){
        .lower = lower, .way = way, .threads = shape->threads, .warps = 1, .room = shape->shared_bytes, .v_begin = v_begin};
    s->v_thread = lower->simt->v_thread;
}

static void open_before(zf_simt_staging *s) {
    zf_cg *cg = s->lower->cg;
    s->bb_before = zf_cg_block(cg, "stage");
    s->bb_ready = zf_cg_block(cg, "staged");
    zf_cg_br(cg, s->bb_before);
    zf_cg_enter(cg, s->bb_ready);
}

void zf_simt_staging_begin_warp(zf_simt_staging *s, zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_begin) {
    begin(s, lower, shape, v_begin);
    s->way = (zf_simt_stage_way)shape->stage;
    if (s->way == ZF_STAGE_NONE) return;
    s->threads = lower->cg->wave;
    s->v_thread = zf_simt_lane(lower);
    s->v_warp = zf_simt_warp(lower);
    s->warps = shape->threads / lower->cg->wave;
    s->outputs = lower->kernel->tile;
    open_before(s);
}

void zf_simt_staging_wait(zf_simt_staging *s) {
    if (s->way == ZF_STAGE_NONE) return;
    zf_cg *cg = s->lower->cg;
    LLVMBasicBlockRef bb_goes_on = zf_cg_block(cg, "staged_goes_on");
    s->bb_wait = zf_cg_block(cg, "stage_wait");
    zf_cg_br(cg, s->bb_wait);
    zf_cg_enter(cg, bb_goes_on);
    s->bb_fetched = bb_goes_on;
}

void zf_simt_staging_begin(zf_simt_staging *s, zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_begin,
                           uint32_t step) {
    begin(s, lower, shape, v_begin);
    if (s->way == ZF_STAGE_NONE) return;
    s->room = zf_simt_staging_bytes(lower->plan, lower->kernel); // a table may lie behind them
    s->outputs = s->way == ZF_STAGE_TILE ? lower->kernel->tile : step;
    open_before(s);
}

void zf_simt_staging_step(zf_simt_staging *s, LLVMValueRef v_step, LLVMValueRef v_steps) {
    if (s->way != ZF_STAGE_STEPS) return;
    zf_cg *cg = s->lower->cg;
    s->v_step = v_step;
    s->v_steps = v_steps;
    s->bb_fetch = zf_cg_block(cg, "stage_step");
    s->bb_fetched = zf_cg_block(cg, "staged_step");
    zf_cg_br(cg, s->bb_fetch);
    zf_cg_enter(cg, s->bb_fetched);
}

// Waits until at most `pending` rounds of this thread's copies are in flight, and for the others' copies if these must be
// visible.
static void await(const zf_simt_staging *s, uint32_t pending, bool seen) {
    zf_cg *cg = s->lower->cg;
    zf_simt_copy_wait(cg, pending);
    if (seen && s->v_warp != NULL)
        zf_simt_barrier_warp(s->lower, "staged words of a warp before what takes them");
    else if (seen)
        zf_simt_barrier(s->lower, "staged words before what takes them");
}

void zf_simt_staging_step_end(zf_simt_staging *s) {
    if (s->way != ZF_STAGE_STEPS) return;
    zf_cg *cg = s->lower->cg;
    if (s->streams != NULL) zf_simt_barrier(s->lower, "staged words before others in their place");
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, s->bb_fetch);
    if (s->streams != NULL) await(s, 1, true); // all but the next step's
    zf_cg_br(cg, s->bb_fetched);
    zf_cg_enter(cg, bb_before);
}

void zf_simt_staging_end(zf_simt_staging *s) {
    if (s->way == ZF_STAGE_NONE) return;
    zf_cg *cg = s->lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, s->bb_before);
    if (s->streams != NULL && s->bb_wait == NULL)
        await(s, s->way == ZF_STAGE_TILE ? 0 : 1, s->way == ZF_STAGE_TILE); // steps wait themselves
    zf_cg_br(cg, s->bb_ready);
    if (s->bb_wait != NULL) {
        zf_cg_enter(cg, s->bb_wait);
        if (s->streams != NULL) await(s, 0, true);
        zf_cg_br(cg, s->bb_fetched);
    }
    zf_cg_enter(cg, bb_before);
}

static void copy_piece(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from, LLVMValueRef v_piece) {
    v_to = zf_simt_piece_at(cg, v_to, v_piece);
    zf_simt_copy(cg, v_to, zf_simt_piece_at(cg, v_from, v_piece));
}

static void copy_some(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from, LLVMValueRef v_piece, LLVMValueRef v_end,
                      const char *what) {
    LLVMBasicBlockRef bb_piece = zf_cg_block(cg, "piece_here"), bb_next = zf_cg_block(cg, "piece_next");
    zf_cg_cond_br(cg, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_piece, v_end), what), bb_piece, bb_next);
    zf_cg_enter(cg, bb_piece);
    copy_piece(cg, v_to, v_from, v_piece);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

// Pieces that the stream has from byte v_at (i64) on, at most `pieces`.
static LLVMValueRef pieces_of(const zf_simt_staging *s, const staged *stream, LLVMValueRef v_at, uint64_t pieces) {
    zf_cg *cg = s->lower->cg;
    uint64_t bits = zf_kind_bits(s->lower->graph->edges[stream->edge].type.kind); // of booleans one
    LLVMValueRef v_bits = zf_cg_mul(cg, zf_lower_count(s->lower, stream->edge), zf_cg_i64(cg, bits));
    LLVMValueRef v_bytes = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_bits, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
    LLVMValueRef v_left = zf_cg_sub(cg, v_bytes, zf_cg_umin(cg, v_at, v_bytes));
    LLVMValueRef v_has =
        LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_left, zf_cg_i64(cg, ZF_SIMT_PIECE - 1)), zf_cg_i64(cg, 4), "");
    return zf_cg_umin(cg, v_has, zf_cg_i64(cg, pieces));
}

// Has the threads copy what outputs v_first (i64) on read to a buffer. All of them exist, and so do their bits; of those that a
// warp stages not all may.
static void copy(const zf_simt_staging *s, const staged *stream, LLVMValueRef v_first, LLVMValueRef v_to) {
    zf_cg *cg = s->lower->cg;
    LLVMValueRef v_eighths = LLVMBuildLShr(cg->builder, v_first, zf_cg_i64(cg, 3), "");
    LLVMValueRef v_at = zf_cg_mul(cg, v_eighths, zf_cg_i64(cg, stream->stride));
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, stream->v_stream, v_at);
    LLVMValueRef v_thread = zf_cg_resize(cg, s->v_thread, cg->ty_i64, false);
    uint64_t pieces = stream->bytes / ZF_SIMT_PIECE, rounds = pieces / s->threads, rest = pieces % s->threads;
    LLVMValueRef v_end = s->v_warp != NULL ? pieces_of(s, stream, v_at, pieces) : NULL;
    if (rounds > 0) {
        zf_cg_loop loop;
        zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, rounds), "piece");
        LLVMValueRef v_piece = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, zf_cg_i64(cg, s->threads)), v_thread);
        if (v_end != NULL)
            copy_some(cg, v_to, v_from, v_piece, v_end, "pieces that the stream has");
        else
            copy_piece(cg, v_to, v_from, v_piece);
        zf_cg_loop_end(cg, &loop);
    }
    if (rest == 0) return;
    LLVMValueRef v_piece = zf_cg_add(cg, zf_cg_i64(cg, rounds * s->threads), v_thread);
    copy_some(cg, v_to, v_from, v_piece, v_end != NULL ? v_end : zf_cg_i64(cg, pieces), "pieces of the last round");
}

static LLVMValueRef buffer_of(const zf_simt_staging *s, const staged *stream, LLVMValueRef v_step) {
    zf_cg *cg = s->lower->cg;
    if (s->way == ZF_STAGE_TILE) return stream->v_buffers;
    LLVMValueRef v_odd = zf_cg_mask(cg, v_step, zf_cg_i64(cg, 1), "buffer of the step");
    return zf_cg_at(cg, cg->ty_i8, stream->v_buffers, zf_cg_mul(cg, v_odd, zf_cg_i64(cg, stream->bytes)));
}

// Copies the first of it before all steps, and in each step what the next one takes; `room`: bytes of its buffers.
static void make_copies(zf_simt_staging *s, staged *stream, uint32_t room) {
    zf_cg *cg = s->lower->cg;
    LLVMBasicBlockRef bb_here = zf_cg_here(cg);
    zf_cg_enter(cg, s->bb_before);
    stream->v_buffers = cg->target->simt->shared(cg, s->used, s->warps * room);
    s->used += s->warps * room;
    if (s->v_warp != NULL)
        stream->v_buffers = zf_cg_at(cg, cg->ty_i8, stream->v_buffers, zf_cg_mul(cg, s->v_warp, zf_cg_i64(cg, room)));
    copy(s, stream, s->v_begin, stream->v_buffers);
    s->bb_before = zf_cg_here(cg);
    if (s->way == ZF_STAGE_STEPS) {
        zf_cg_enter(cg, s->bb_fetch);
        LLVMValueRef v_next = zf_cg_add(cg, s->v_step, zf_cg_i64(cg, 1));
        LLVMBasicBlockRef bb_more = zf_cg_block(cg, "stage_next"), bb_last = zf_cg_block(cg, "stage_last");
        zf_cg_cond_br(cg, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, s->v_steps), "steps that follow"), bb_more,
                      bb_last);
        zf_cg_enter(cg, bb_more);
        LLVMValueRef v_first = zf_cg_add(cg, s->v_begin, zf_cg_mul(cg, v_next, zf_cg_i64(cg, s->outputs)));
        copy(s, stream, v_first, buffer_of(s, stream, v_next));
        zf_cg_br(cg, bb_last);
        zf_cg_enter(cg, bb_last);
        s->bb_fetch = zf_cg_here(cg);
    }
    zf_cg_enter(cg, bb_here);
}

LLVMValueRef zf_simt_staged_bits(zf_simt_staging *s, uint32_t edge, uint64_t stride, uint64_t from, uint64_t count) {
    if (s == NULL || s->way == ZF_STAGE_NONE || stride == 0) return NULL;
    // The last bits of an element, if nobody takes them, may be missing: as many as may be read behind any stream.
    if (from + count > stride || stride - from - count > 64 || s->outputs % ZF_STAGED_OUTPUTS != 0) return NULL;
    staged *stream = s->streams;
    while (stream != NULL && (stream->edge != edge || stream->stride != stride)) stream = stream->next;
    if (stream == NULL) {
        zf_cg *cg = s->lower->cg;
        uint64_t bytes = s->outputs / 8 * stride, all = bytes * (s->way == ZF_STAGE_TILE ? 1 : 2) + BEHIND;
        if (s->warps * all > s->room - s->used) return NULL;
        stream = ZF_NEW(cg->arena, staged);
        *stream = (staged){.edge = edge, .stride = stride, .bytes = bytes, .next = s->streams};
        stream->v_stream = zf_lower_pointer(s->lower, edge);
        s->streams = stream;
        make_copies(s, stream, (uint32_t)all);
    }
    return buffer_of(s, stream, s->v_step);
}

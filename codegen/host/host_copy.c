// Regions that are copies (`kernel_region.h`): by steps of vectors, without a call. One check before covers all that a copy
// reads.
//
// Steps may go beyond the region where the chunk goes on behind it, since later elements are stored there again, and beyond what
// they read where so much can be read. At the end of a chunk or stream the last bytes are copied one by one. A copy from less
// than a vector back repeats its first bytes: a permutation makes a vector of them, which is stored again and again.
#include "codegen/body/cg_frame.h"
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/kernel/kernel_region.h"

enum {
    VECTOR = 16,                     ///< bytes of a load and a store
    STEP = 2 * VECTOR,               ///< bytes of a step
    BEYOND = STEP,                   ///< bytes that steps may go beyond the region: a whole one of an empty one
    UNREAD = BEYOND - ZF_READ_AHEAD, ///< of them those for which a stream must have bytes behind the region
};

typedef struct copy {
    zf_chunk_region *region;
    zf_cg *cg;
    zf_chunk *chunk;
    zf_region_form form;
    const zf_chunk_stream *stream; ///< NULL: from the chunk's output
    const zf_expr *access;         ///< the region's term
    unsigned size;                 ///< bytes of an element
    LLVMValueRef v_to, v_from;     ///< pointers
    LLVMValueRef v_bytes;          ///< of the region
    LLVMValueRef v_back;           ///< bytes from the one to the other; NULL for a stream
    LLVMValueRef v_end;            ///< steps begin below
    LLVMValueRef v_done;           ///< slot: bytes that were copied
} copy;

// ---- Which regions --------------------------------------------------------------------------------------------

static bool is_u64(const zf_expr *expr) { return zf_expr_kept(expr)->type.kind == ZF_K_U64; }

// The remainder of an index `out.pos - distance + k % distance`.
static const zf_expr *remainder_of(const zf_expr *index) {
    const zf_expr *a = zf_expr_kept(index->a), *b = zf_expr_kept(index->b);
    return a->kind == ZF_X_BINARY && a->op == ZF_OP_REM ? a : b;
}

// Whether the region copies, and stores its elements as they are. Sums and differences must be those of positions, modulo 2^64.
static bool applies(copy *c) {
    const zf_kernel_build *lower = c->chunk->env.lower;
    const zf_kind kind = lower->type.kind;
    if (c->form.kind == ZF_REGION_TERM || c->cg->v_guard != NULL || c->chunk->v_when != NULL) return false;
    if (lower->type.nullable || kind == ZF_K_STRING || kind == ZF_K_BOOL || lower->unpacks > 0) return false;
    if (c->access->type.kind != kind || c->access->type.nullable || !is_u64(c->access->b)) return false;
    const zf_expr *index = zf_expr_kept(c->access->b);
    if (c->form.kind == ZF_REGION_STREAM) {
        c->stream = &c->chunk->streams[c->form.port->slot];
        return c->stream->v_bytes != NULL && c->stream->v_bit == NULL && c->form.port->type.kind == kind;
    }
    if (!is_u64(index->a) || !is_u64(index->b)) return false;
    if (!c->form.repeats) return true;
    // The first index is the smallest, and every multiple of the distance begins there again.
    LLVMValueRef v_lo = c->region->v_lo;
    return remainder_of(index)->proved && LLVMIsAConstantInt(v_lo) && LLVMConstIntGetZExtValue(v_lo) == 0;
}

// ---- Places ---------------------------------------------------------------------------------------------------

static LLVMValueRef number(copy *c, const zf_expr *expr) {
    LLVMValueRef v = zf_cg_expr(c->cg, c->region->frame, expr).v;
    return zf_cg_resize(c->cg, v, c->cg->ty_i64, zf_kind_is_signed(expr->type.kind));
}

static LLVMValueRef in_bytes(copy *c, LLVMValueRef v_elements) {
    return c->size == 1 ? v_elements : zf_cg_mul(c->cg, v_elements, zf_cg_i64(c->cg, c->size));
}

// Whether there are v_count elements from v_first on among v_length (i1).
static LLVMValueRef lies_within(zf_cg *cg, LLVMValueRef v_first, LLVMValueRef v_count, LLVMValueRef v_length) {
    LLVMValueRef v_begins = zf_cg_icmp(cg, LLVMIntULE, v_first, v_length);
    return zf_cg_and(cg, v_begins, zf_cg_icmp(cg, LLVMIntULE, v_count, zf_cg_sub(cg, v_length, v_first)));
}

// V01 unless that is so. The region has an element at least.
static void check(copy *c, LLVMValueRef v_first, LLVMValueRef v_count, LLVMValueRef v_length) {
    if (c->access->proved) return;
    zf_cg_check(c->cg, &c->chunk->env.env, lies_within(c->cg, v_first, v_count, v_length), 1, c->access->span, c->access);
}

static LLVMValueRef first_of_stream(copy *c) {
    LLVMValueRef v_lo = c->region->v_lo;
    return c->form.from == NULL ? v_lo : zf_cg_add(c->cg, number(c, c->form.from), v_lo);
}

// Whether a step may begin anywhere in the region: there is room for what it copies beyond it (i1).
static LLVMValueRef has_room(copy *c) {
    zf_cg *cg = c->cg;
    const zf_chunk_region *r = c->region;
    LLVMValueRef v_behind = zf_cg_sub(cg, zf_cg_sub(cg, c->chunk->v_count, r->v_pos), r->v_count);
    LLVMValueRef v_room = zf_cg_icmp(cg, LLVMIntUGE, in_bytes(c, v_behind), zf_cg_i64(cg, BEYOND));
    return zf_cg_within(cg, v_room, "room of the last step of a copy");
}

// Whether the stream has so much to read; then the region itself lies in it.
static LLVMValueRef has_bytes(copy *c, LLVMValueRef v_first) {
    zf_cg *cg = c->cg;
    uint64_t unread = (UNREAD + c->size - 1) / c->size;
    LLVMValueRef v_count = zf_cg_add(cg, c->region->v_count, zf_cg_i64(cg, unread));
    return zf_cg_within(cg, lies_within(cg, v_first, v_count, c->stream->v_length), "bytes of the last step of a copy");
}

// ---- Steps ----------------------------------------------------------------------------------------------------

static LLVMValueRef at(zf_cg *cg, LLVMValueRef v_pointer, LLVMValueRef v_done, uint64_t more) {
    return zf_cg_at_sink(cg, cg->ty_i8, v_pointer, zf_cg_add(cg, v_done, zf_cg_i64(cg, more)));
}

static LLVMTypeRef vector(zf_cg *cg) { return LLVMVectorType(cg->ty_i8, VECTOR); }

// A loop that runs at least once, while what is done is below v_end. Goes on to bb_next.
static void steps(copy *c, const char *name, LLVMValueRef v_pattern, LLVMValueRef v_step, LLVMBasicBlockRef bb_next) {
    zf_cg *cg = c->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_step = zf_cg_block(cg, name);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0);
    zf_cg_br(cg, bb_step);
    zf_cg_enter(cg, bb_step);
    LLVMValueRef v_done = LLVMBuildPhi(cg->builder, cg->ty_i64, "");
    LLVMAddIncoming(v_done, &v_zero, &bb_before, 1);
    if (v_pattern != NULL) {
        zf_cg_store(cg, v_pattern, at(cg, c->v_to, v_done, 0), 1);
    } else {
        for (unsigned k = 0; k < STEP; k += VECTOR)
            zf_cg_store(cg, zf_cg_load(cg, vector(cg), at(cg, c->v_from, v_done, k), 1), at(cg, c->v_to, v_done, k), 1);
    }
    LLVMValueRef v_next = zf_cg_add(cg, v_done, v_step);
    LLVMAddIncoming(v_done, &v_next, &bb_step, 1);
    LLVMBuildStore(cg->builder, v_next, c->v_done);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, c->v_end), bb_step, bb_next);
    zf_cg_expect(cg, false);
}

// The bytes from which those of a vector come, for each distance below a vector.
static uint32_t repeated(unsigned distance, unsigned k) { return distance == 0 ? 0 : k % distance; }

// How many bytes of a vector that repeats `distance` bytes are whole repetitions.
static uint32_t whole(unsigned distance, unsigned k) {
    (void)k;
    return distance == 0 ? VECTOR : VECTOR / distance * distance;
}

// Less than a vector back.
static void steps_near(copy *c, LLVMBasicBlockRef bb_next) {
    zf_cg *cg = c->cg;
    static const zf_host_table_shape sources = {.name = "zf_repeated", 8, VECTOR, VECTOR, repeated};
    static const zf_host_table_shape wholes = {.name = "zf_whole", 8, 1, VECTOR, whole};
    LLVMValueRef v_pattern = zf_cg_load(cg, vector(cg), c->v_from, 1), v_wholes = zf_host_table(cg, &wholes);
    v_pattern = zf_host_permute(cg, v_pattern, zf_host_table_row(cg, &sources, c->v_back));
    LLVMValueRef v_step = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, v_wholes, c->v_back), 1);
    steps(c, "repeat", v_pattern, zf_cg_resize(cg, v_step, cg->ty_i64, false), bb_next);
}

// The bytes that no step copied: a few at the end of a chunk or stream. A volatile load keeps LLVM from making a call of it.
static void rest(copy *c) {
    zf_cg *cg = c->cg;
    zf_cg_loop loop;
    LLVMValueRef v_from = LLVMBuildLoad2(cg->builder, cg->ty_i64, c->v_done, "");
    zf_cg_loop_begin(cg, &loop, v_from, c->v_bytes, "copy_rest");
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i8, at(cg, c->v_from, loop.v_i, 0), 1);
    LLVMSetVolatile(v, 1);
    zf_cg_store(cg, v, at(cg, c->v_to, loop.v_i, 0), 1);
    zf_cg_loop_end(cg, &loop);
    zf_host_keep_loop(cg, &loop);
}

// Steps up to v_end.
static void all_steps(copy *c, LLVMBasicBlockRef bb_next) {
    zf_cg *cg = c->cg;
    if (c->v_back != NULL) {
        LLVMBasicBlockRef bb_near = zf_cg_block(cg, "near"), bb_far = zf_cg_block(cg, "far");
        LLVMValueRef v_near = zf_cg_icmp(cg, LLVMIntULT, c->v_back, zf_cg_i64(cg, VECTOR));
        zf_cg_cond_br(cg, v_near, bb_near, bb_far);
        zf_cg_enter(cg, bb_near);
        steps_near(c, bb_next);
        zf_cg_enter(cg, bb_far);
    }
    steps(c, "copy", NULL, zf_cg_i64(cg, STEP), bb_next);
}

// ---- Regions --------------------------------------------------------------------------------------------------

// The places that are copied to, and from, and where steps go and the rest.
typedef struct blocks {
    LLVMBasicBlockRef bb_from[2]; // with v_end[k]
    LLVMValueRef v_end[2];
    LLVMBasicBlockRef bb_steps, bb_rest, bb_copied;
} blocks;

// Steps that stay in the region, where there are any; goes on to the steps, or to the rest.
static void stay(copy *c, blocks *b) {
    zf_cg *cg = c->cg;
    LLVMTypeRef ty = cg->ty_i64;
    LLVMValueRef v_args[2] = {c->v_bytes, zf_cg_i64(cg, STEP - 1)};
    b->v_end[1] = zf_cg_intrinsic(cg, "llvm.usub.sat", &ty, 1, v_args, 2);
    b->bb_from[1] = zf_cg_here(cg);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, b->v_end[1], zf_cg_i64(cg, 0)), b->bb_steps, b->bb_rest);
}

// Goes on where the region has elements, else behind it.
static void begin_some(copy *c, const blocks *b) {
    zf_cg *cg = c->cg;
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "some");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, c->region->v_count, zf_cg_i64(cg, 0)), bb_some, b->bb_copied);
    zf_cg_enter(cg, bb_some);
}

static void divide(copy *c, blocks *b, LLVMValueRef v_room, LLVMBasicBlockRef bb_stay) {
    zf_cg *cg = c->cg;
    b->v_end[0] = c->v_bytes;
    b->bb_from[0] = zf_cg_here(cg);
    zf_cg_cond_br(cg, v_room, b->bb_steps, bb_stay);
    zf_cg_expect(cg, true);
    zf_cg_enter(cg, bb_stay);
}

static void from_stream(copy *c, blocks *b) {
    zf_cg *cg = c->cg;
    // An empty region evaluates nothing that may fail. Otherwise a step that is not needed costs less than a branch.
    bool plain = c->form.from == NULL || zf_cg_arm_of(c->region->frame, c->form.from) == ZF_CG_ARM_PLAIN;
    if (!plain) begin_some(c, b);
    LLVMValueRef v_first = first_of_stream(c);
    c->v_from = zf_cg_at_sink(cg, cg->ty_i8, c->stream->v_bytes, in_bytes(c, v_first));
    divide(c, b, zf_cg_and(cg, has_bytes(c, v_first), has_room(c)), zf_cg_block(cg, "stay"));
    if (plain) begin_some(c, b);
    check(c, v_first, c->region->v_count, c->stream->v_length);
}

static void from_output(copy *c, blocks *b) {
    zf_cg *cg = c->cg;
    const zf_chunk_region *r = c->region;
    begin_some(c, b);
    LLVMValueRef v_first = zf_cg_add(cg, zf_cg_sub(cg, r->v_pos, number(c, c->form.distance)), r->v_lo);
    LLVMValueRef v_count = c->form.repeats ? zf_cg_i64(cg, 0) : r->v_count; // nothing lies behind what it repeats
    check(c, v_first, v_count, r->v_pos);
    c->v_back = in_bytes(c, zf_cg_sub(cg, r->v_pos, v_first));
    c->v_from = zf_cg_at_sink(cg, cg->ty_i8, c->v_to, LLVMBuildNeg(cg->builder, c->v_back, ""));
    divide(c, b, has_room(c), zf_cg_block(cg, "stay"));
}

bool zf_host_copy_region(zf_chunk_region *region) {
    zf_cg *cg = region->cg;
    copy c = {.region = region, .cg = cg, .chunk = zf_chunk_of(zf_cg_frame_env(region->frame))};
    c.access = region->stmt->reduce->term;
    c.form = zf_region_form_of(region->stmt->reduce);
    c.size = zf_kind_size(c.chunk->env.lower->type.kind);
    if (!applies(&c)) return false;
    blocks b = {.bb_steps = zf_cg_block(cg, "steps"), .bb_rest = zf_cg_block(cg, "rest"), .bb_copied = zf_cg_block(cg, "copied")};
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "steps_done");
    LLVMValueRef v_to = in_bytes(&c, zf_cg_add(cg, c.chunk->v_start, region->v_pos));
    c.v_to = zf_cg_at_sink(cg, cg->ty_i8, c.chunk->env.lower->v_sink, v_to);
    c.v_bytes = in_bytes(&c, region->v_count);
    c.v_done = zf_cg_alloca(cg, cg->ty_i64, "copied");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), c.v_done);
    if (c.stream != NULL)
        from_stream(&c, &b);
    else
        from_output(&c, &b);
    stay(&c, &b);
    zf_cg_enter(cg, b.bb_steps);
    c.v_end = zf_cg_phi2(cg, cg->ty_i64, b.v_end[0], b.bb_from[0], b.v_end[1], b.bb_from[1]);
    all_steps(&c, bb_done);
    zf_cg_enter(cg, bb_done);
    LLVMValueRef v_done = LLVMBuildLoad2(cg->builder, cg->ty_i64, c.v_done, "");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGE, v_done, c.v_bytes), b.bb_copied, b.bb_rest);
    zf_cg_expect(cg, true);
    zf_cg_enter(cg, b.bb_rest);
    rest(&c);
    zf_cg_br(cg, b.bb_copied);
    LLVMMoveBasicBlockAfter(b.bb_copied, zf_cg_here(cg));
    zf_cg_enter(cg, b.bb_copied);
    return true;
}

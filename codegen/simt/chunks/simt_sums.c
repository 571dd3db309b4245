// Loops that emit running sums, where a warp walks the chunk: each lane makes a turn's term, and a scan adds them up.
//
// All that could fail is checked before the turns, or noted. If it fails, one turn follows the other, as one thread does them.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/simt.h"

typedef struct sums {
    zf_chunk *chunk;
    zf_kernel_build *lower;
    zf_cg *cg;
    zf_cg_frame *frame;
    const zf_stmt *loop;
    const zf_chunk_sum *sum;
    LLVMValueRef v_lane;                ///< i32
    LLVMValueRef v_pos, v_count;        ///< i64: out.pos before the loop, turns
    LLVMValueRef v_low;                 ///< i64: the first value of the binder
    LLVMValueRef v_from, v_width;       ///< i64: of the read: the cursor before the loop, bits
    LLVMValueRef v_slot;                ///< of the variable
    LLVMValueRef v_lane_pos, v_lane_at; ///< slots: `out.pos` and the cursor of the lane's turn
} sums;

static zf_chunk_stream *stream_of(const sums *s) { return &s->chunk->streams[s->sum->read->port->slot]; }

// Stores a position (i64) in a slot of the stream's type.
static void set_cursor(zf_cg *cg, LLVMValueRef v_slot, LLVMValueRef v) {
    LLVMBuildStore(cg->builder, zf_cg_resize(cg, v, LLVMGetAllocatedType(v_slot), false), v_slot);
}

// Finds the turns. Returns whether there is room and input for all of them (i1).
static LLVMValueRef measure(sums *s) {
    zf_cg *cg = s->cg;
    zf_chunk *chunk = s->chunk;
    s->v_pos = zf_chunk_emitted(chunk);
    if (s->sum->end == NULL) {
        zf_cg_range range = zf_cg_range_make(cg, s->frame, &s->loop->binder);
        s->v_low = range.v_lo;
        s->v_count = zf_chunk_region_size(cg, &range);
    } else {
        LLVMValueRef v_end = zf_cg_resize(cg, zf_cg_expr(cg, s->frame, s->sum->end).v, cg->ty_i64, false);
        LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntULT, s->v_pos, v_end);
        s->v_count = zf_cg_select(cg, v_some, zf_cg_sub(cg, v_end, s->v_pos), zf_cg_i64(cg, 0));
    }
    LLVMValueRef v_room = zf_cg_sub(cg, chunk->v_count, s->v_pos);
    LLVMValueRef v_ok = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, s->v_count, v_room), "room for sums");
    if (!s->loop->bounded) {
        LLVMValueRef v_work = zf_cg_icmp(cg, LLVMIntULE, s->v_count, zf_chunk_work_left(chunk));
        v_ok = zf_cg_and(cg, v_ok, zf_cg_within(cg, v_work, "turns for sums"));
    }
    if (s->sum->read == NULL) return v_ok;
    const zf_chunk_stream *stream = stream_of(s);
    zf_cg_value width = zf_cg_expr(cg, s->frame, s->sum->read->a);
    s->v_from = zf_cg_resize(cg, zf_cg_get(cg, stream->v_at), cg->ty_i64, false);
    s->v_width = zf_cg_resize(cg, width.v, cg->ty_i64, zf_kind_is_signed(width.type.kind));
    LLVMValueRef v_bits = zf_cg_mul(cg, s->v_count, s->v_width); // of at most 2^32 elements and 64 bits
    LLVMValueRef v_read = zf_cg_icmp(cg, LLVMIntULE, v_bits, zf_cg_sub(cg, stream->v_total, s->v_from));
    return zf_cg_and(cg, v_ok, zf_cg_within(cg, v_read, "bits for sums"));
}

// The variable behind turn v_turn (i64), where it is v_before before it.
static LLVMValueRef next_sum(sums *s, LLVMValueRef v_turn, LLVMValueRef v_before) {
    zf_cg *cg = s->cg;
    const zf_stmt *assign = s->sum->assign;
    LLVMBuildStore(cg->builder, v_before, s->v_slot);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, s->v_pos, v_turn), s->v_lane_pos);
    if (s->sum->read != NULL) set_cursor(cg, s->v_lane_at, zf_cg_add(cg, s->v_from, zf_cg_mul(cg, v_turn, s->v_width)));
    if (s->sum->end == NULL) {
        zf_cg_value k = zf_cg_scalar(zf_type_of(ZF_K_U64), zf_cg_add(cg, s->v_low, v_turn));
        zf_cg_bind(cg, s->frame, s->loop->binder.local, &k);
    }
    for (const zf_stmt *let = s->sum->lets; let != assign; let = let->next) {
        zf_cg_value value = zf_cg_expr(cg, s->frame, let->local->init);
        zf_cg_bind(cg, s->frame, let->local, &value);
    }
    LLVMValueRef v = zf_cg_expr(cg, s->frame, assign->value).v;
    return assign->has_op ? zf_cg_add(cg, v_before, v) : v;
}

static void store_turn(sums *s, LLVMValueRef v_turn, LLVMValueRef v_is) {
    zf_cg *cg = s->cg;
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "sum"), bb_stored = zf_cg_block(cg, "sum_stored");
    zf_cg_value value = zf_cg_expr(cg, s->frame, s->sum->emit->value);
    zf_cg_cond_br(cg, v_is, bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    zf_chunk_store(s->chunk, value, zf_cg_add(cg, s->v_pos, v_turn));
    zf_cg_br(cg, bb_stored);
    LLVMMoveBasicBlockAfter(bb_stored, zf_cg_here(cg));
    zf_cg_enter(cg, bb_stored);
}

// As many turns as there are lanes, the first of which is v_first (i64).
static void make_turns(sums *s, LLVMValueRef v_first) {
    zf_cg *cg = s->cg;
    LLVMTypeRef ty = LLVMGetAllocatedType(s->v_slot), ty_scan = LLVMGetIntTypeWidth(ty) > 32 ? cg->ty_i64 : cg->ty_i32;
    LLVMValueRef v_sum = zf_cg_get(cg, s->v_slot),
                 v_turn = zf_cg_add(cg, v_first, zf_cg_resize(cg, s->v_lane, cg->ty_i64, false));
    LLVMValueRef v_is = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_turn, s->v_count), "turns of sums");
    LLVMValueRef v_last = zf_cg_sub(cg, s->v_count, zf_cg_i64(cg, 1)); // lanes without a turn do the last one once more
    v_turn = zf_cg_umin(cg, v_turn, v_last);
    LLVMValueRef v_term = next_sum(s, v_turn, LLVMConstNull(ty));
    v_term = zf_cg_select(cg, v_is, zf_cg_resize(cg, v_term, ty_scan, false), LLVMConstNull(ty_scan));
    LLVMValueRef v_upto = zf_simt_scan_warp(s->lower, v_term, s->v_lane);
    LLVMValueRef v_before = zf_cg_add(cg, v_sum, zf_cg_resize(cg, zf_cg_sub(cg, v_upto, v_term), ty, false));
    LLVMValueRef v_behind = next_sum(s, v_turn, v_before);
    LLVMBuildStore(cg->builder, v_behind, s->v_slot);
    store_turn(s, v_turn, v_is);
    LLVMValueRef v_rest = zf_cg_umin(cg, zf_cg_sub(cg, v_last, v_first), zf_cg_i64(cg, cg->wave - 1));
    LLVMBuildStore(cg->builder, zf_simt_shuffle(s->lower, v_behind, zf_cg_resize(cg, v_rest, cg->ty_i32, false)), s->v_slot);
}

// Makes all turns. Goes on at bb_slow, with everything as it was, where one of them fails.
static void make_sums(sums *s, LLVMBasicBlockRef bb_slow) {
    zf_cg *cg = s->cg;
    zf_chunk *chunk = s->chunk;
    LLVMValueRef v_before = zf_cg_get(cg, s->v_slot), v_pos = chunk->v_pos, v_share = chunk->v_share, v_at = NULL;
    zf_chunk_notes notes;
    zf_chunk_notes_begin(chunk, &notes);
    chunk->v_pos = s->v_lane_pos;
    if (s->sum->read != NULL) {
        v_at = stream_of(s)->v_at;
        stream_of(s)->v_at = s->v_lane_at;
    }
    chunk->v_share = zf_cg_resize(cg, s->v_lane, cg->ty_i64, false); // each lane stores its own
    LLVMValueRef v_wave = zf_cg_i64(cg, cg->wave);
    LLVMValueRef v_rounds = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, s->v_count, zf_cg_i64(cg, cg->wave - 1)), v_wave, "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_rounds, "sums");
    make_turns(s, zf_cg_mul(cg, loop.v_i, v_wave));
    zf_cg_loop_end(cg, &loop);
    zf_chunk_notes_end(chunk);
    chunk->v_share = v_share;
    chunk->v_pos = v_pos;
    if (s->sum->read != NULL) stream_of(s)->v_at = v_at;
    LLVMBasicBlockRef bb_undo = zf_cg_block(cg, "sums_failed"), bb_well = zf_cg_block(cg, "sums_well");
    zf_cg_cond_br(cg, zf_simt_any(s->lower, zf_cg_get(cg, notes.v_failed)), bb_undo, bb_well);
    zf_cg_enter(cg, bb_undo);
    LLVMBuildStore(cg->builder, v_before, s->v_slot);
    zf_cg_br(cg, bb_slow);
    zf_cg_enter(cg, bb_well);
    zf_chunk_set_emitted(chunk, zf_cg_add(cg, s->v_pos, s->v_count));
    if (s->sum->read != NULL) set_cursor(cg, v_at, zf_cg_add(cg, s->v_from, zf_cg_mul(cg, s->v_count, s->v_width)));
    if (!s->loop->bounded) zf_chunk_set_work_left(chunk, zf_cg_sub(cg, zf_chunk_work_left(chunk), s->v_count));
}

// One turn follows the other.
static void walk_turns(sums *s, LLVMBasicBlockRef bb_done) {
    zf_stmt alone = *s->loop;
    alone.next = NULL;
    s->chunk->walks_sums = true;
    if (!zf_cg_site(s->cg, ZF_SITE_GUARD, "the slow path of sums")) zf_cg_stmts(s->cg, s->frame, &alone);
    s->chunk->walks_sums = false;
    zf_cg_br(s->cg, bb_done);
}

void zf_simt_share_sums(zf_chunk *chunk, zf_cg_frame *frame, const zf_stmt *loop, const zf_chunk_sum *sum) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    sums s = {.chunk = chunk, .lower = lower, .cg = cg, .frame = frame, .loop = loop, .sum = sum, .v_lane = zf_simt_lane(lower)};
    s.v_slot = zf_cg_slot_of(cg, frame, sum->sum)->variable.v_slot;
    s.v_lane_pos = zf_cg_alloca(cg, cg->ty_i64, "lane_pos");
    if (sum->read != NULL) s.v_lane_at = zf_cg_alloca(cg, LLVMGetAllocatedType(stream_of(&s)->v_at), "lane_at");
    LLVMBasicBlockRef bb_fast = zf_cg_block(cg, "sums_fit"), bb_slow = zf_cg_block(cg, "sums_slow"),
                      bb_done = zf_cg_block(cg, "sums_done");
    zf_simt_prefetch_on(chunk);
    zf_cg_cond_br(cg, measure(&s), bb_fast, bb_slow);
    zf_cg_enter(cg, bb_fast);
    make_sums(&s, bb_slow);
    chunk->ops->meet(chunk);
    zf_cg_br(cg, bb_done);
    LLVMMoveBasicBlockAfter(bb_slow, zf_cg_here(cg));
    zf_cg_enter(cg, bb_slow);
    if (chunk->ops->gives_up)
        zf_cg_br(cg, chunk->bb_stop);
    else
        walk_turns(&s, bb_done);
    LLVMMoveBasicBlockAfter(bb_done, zf_cg_here(cg));
    zf_cg_enter(cg, bb_done);
}

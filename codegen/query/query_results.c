// Results in a query's kernel. A thread keeps what it has of single numbers until the end; elements of arrays are changed in
// memory by atomic operations. Sums of floats are those of a warp's lanes, added as docs/queries.md says.
#include "codegen/query/query_kernel.h"

#include <stddef.h>

#include "frontend/check/walk.h"

enum { WORD = sizeof(uint64_t) };
_Static_assert(ZF_QUERY_SHARED_WARP == sizeof(uint64_t), "a number of each warp");

static bool is_extreme(const zf_query_result *result) { return result->kind == ZF_Q_MIN || result->kind == ZF_Q_MAX; }

// One number, which each thread has for itself.
static bool is_single(const zf_query_result *result) {
    bool one = result->dimensions == 0 && result->kind != ZF_Q_MASK && result->kind != ZF_Q_SELECT;
    return one && !zf_query_sums_floats(result);
}

// ---- Numbers that are joined ----------------------------------------------------------------------------------

static uint64_t identity_of(const zf_query_result *result) {
    bool is_signed = result->type.kind == ZF_K_I64;
    switch (result->kind) {
    case ZF_Q_ALL: return 1;
    case ZF_Q_MIN: return is_signed ? INT64_MAX : UINT64_MAX;
    case ZF_Q_MAX: return is_signed ? (uint64_t)INT64_MIN : 0;
    default: return 0;
    }
}

static LLVMValueRef join(zf_cg *cg, const zf_query_result *result, LLVMValueRef v_a, LLVMValueRef v_b) {
    bool is_signed = result->type.kind == ZF_K_I64;
    switch (result->kind) {
    case ZF_Q_SUM: return zf_cg_add(cg, v_a, v_b);
    case ZF_Q_XOR: return LLVMBuildXor(cg->builder, v_a, v_b, "");
    case ZF_Q_ANY: return zf_cg_or(cg, v_a, v_b);
    case ZF_Q_ALL: return zf_cg_and(cg, v_a, v_b);
    default: break;
    }
    LLVMIntPredicate below = is_signed ? LLVMIntSLT : LLVMIntULT, above = is_signed ? LLVMIntSGT : LLVMIntUGT;
    return zf_cg_select(cg, zf_cg_icmp(cg, result->kind == ZF_Q_MIN ? below : above, v_a, v_b), v_a, v_b);
}

static LLVMAtomicRMWBinOp atomic_of(const zf_query_result *result) {
    bool is_signed = result->type.kind == ZF_K_I64;
    switch (result->kind) {
    case ZF_Q_XOR: return LLVMAtomicRMWBinOpXor;
    case ZF_Q_ANY: return LLVMAtomicRMWBinOpOr;
    case ZF_Q_ALL: return LLVMAtomicRMWBinOpAnd;
    case ZF_Q_MIN: return is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
    case ZF_Q_MAX: return is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
    default: return LLVMAtomicRMWBinOpAdd;
    }
}

static LLVMValueRef change(zf_cg *cg, LLVMAtomicRMWBinOp op, LLVMValueRef v_at, LLVMValueRef v) {
    return LLVMBuildAtomicRMW(cg->builder, op, v_at, v, LLVMAtomicOrderingMonotonic, 0);
}

static LLVMValueRef holds(zf_cg *cg, LLVMValueRef v_if) { return v_if != NULL ? v_if : zf_cg_i1(cg, true); }

// The word of a value; of the extremes of floats as zf_query_float_key has it, and *v_do does not hold for NaN.
static LLVMValueRef word_of(zf_cg *cg, const zf_query_result *result, LLVMValueRef v, LLVMValueRef *v_do) {
    LLVMValueRef v_word = zf_cg_to_word(cg, result->type, v);
    if (!is_extreme(result) || result->type.kind != ZF_K_F64) return v_word;
    LLVMValueRef v_number = LLVMBuildFCmp(cg->builder, LLVMRealORD, v, v, ""), v_top = zf_cg_i64(cg, UINT64_C(1) << 63);
    *v_do = zf_cg_select(cg, holds(cg, *v_do), v_number, zf_cg_i1(cg, false));
    LLVMValueRef v_negative = zf_cg_icmp(cg, LLVMIntSLT, v_word, zf_cg_i64(cg, 0));
    return zf_cg_select(cg, v_negative, zf_cg_not(cg, v_word), zf_cg_or(cg, v_word, v_top));
}

// ---- Before and behind all rows -------------------------------------------------------------------------------

LLVMValueRef zf_query_word(zf_query_build *b, uint32_t at) {
    return zf_cg_load(b->cg, b->cg->ty_i64, zf_cg_byte_at(b->cg, b->v_frame, WORD * (uint64_t)at), WORD);
}

static void begin_one(zf_query_build *b, uint32_t k, uint32_t at) {
    zf_cg *cg = b->cg;
    const zf_query_result *result = &b->query->results[k];
    zf_query_held_build *h = &b->held[k];
    h->v_words = zf_cg_at_sink(cg, cg->ty_i8, b->v_out, zf_query_word(b, at));
    h->v_touched = zf_cg_at_sink(cg, cg->ty_i8, b->v_out, zf_query_word(b, at + 1));
    h->count = 1;
    for (uint32_t d = 0; d < result->dimensions; d++) h->count *= b->shapes[k].lengths[d];
    if (zf_query_sums_floats(result)) {
        h->v_slot = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_f64, h->count), "lane_sums");
    }
    if (!is_single(result)) return;
    h->v_slot = zf_cg_alloca(cg, cg->ty_i64, result->name);
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, identity_of(result)), h->v_slot);
    if (!is_extreme(result)) return;
    h->v_given = zf_cg_alloca(cg, cg->ty_i1, "given");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), h->v_given);
}

void zf_query_held_begin(zf_query_build *b) {
    const zf_query *query = b->query;
    uint32_t at = zf_query_frame_places_of(query).results;
    b->held = ZF_NEW_ARRAY(b->cg->arena, zf_query_held_build, query->result_count + 1);
    for (uint32_t k = 0; k < query->result_count; k++, at += sizeof(zf_query_device_result) / WORD) begin_one(b, k, at);
}

static LLVMBasicBlockRef begin_if(zf_cg *cg, LLVMValueRef v_if, const char *name) {
    LLVMBasicBlockRef bb_then = zf_cg_block(cg, name), bb_end = zf_cg_block(cg, "next");
    zf_cg_cond_br(cg, v_if, bb_then, bb_end);
    zf_cg_enter(cg, bb_then);
    return bb_end;
}

static void end_if(zf_cg *cg, LLVMBasicBlockRef bb_end) {
    zf_cg_br(cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

static LLVMValueRef is_first_lane(zf_query_build *b) { return zf_cg_icmp(b->cg, LLVMIntEQ, b->v_lane, zf_cg_i32(b->cg, 0)); }

static LLVMValueRef join_warp(zf_query_build *b, const zf_query_result *result, LLVMValueRef v) {
    for (uint32_t step = ZF_QUERY_LANES / 2; step > 0; step /= 2) {
        LLVMValueRef v_lane = LLVMBuildXor(b->cg->builder, b->v_lane, zf_cg_i32(b->cg, step), "");
        v = join(b->cg, result, v, zf_simt_shuffle(&b->lower, v, v_lane));
    }
    return v;
}

// Each warp leaves its number in shared memory; one thread of the block changes the result.
static void end_single(zf_query_build *b, uint32_t k, LLVMValueRef v_shared) {
    zf_cg *cg = b->cg;
    const zf_query_result *result = &b->query->results[k];
    zf_query_held_build *h = &b->held[k];
    LLVMValueRef v = join_warp(b, result, zf_cg_get(cg, h->v_slot));
    if (h->v_given != NULL) {
        LLVMValueRef v_given = zf_simt_any(&b->lower, zf_cg_get(cg, h->v_given));
        LLVMBasicBlockRef bb_end = begin_if(cg, zf_cg_and(cg, v_given, is_first_lane(b)), "given");
        zf_cg_store(cg, zf_cg_i32(cg, 1), h->v_touched, 4);
        end_if(cg, bb_end);
    }
    LLVMBasicBlockRef bb_stored = begin_if(cg, is_first_lane(b), "warp_has");
    zf_cg_store(cg, v, zf_cg_at(cg, cg->ty_i64, v_shared, zf_cg_wide(cg, b->v_warp)), WORD);
    end_if(cg, bb_stored);
    zf_simt_barrier(&b->lower, "numbers of all warps");
    LLVMBasicBlockRef bb_joined = begin_if(cg, zf_cg_icmp(cg, LLVMIntEQ, b->v_thread, zf_cg_i32(cg, 0)), "block_has");
    v = zf_cg_load(cg, cg->ty_i64, v_shared, WORD);
    for (uint32_t w = 1; w < b->warps; w++)
        v = join(cg, result, v, zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_shared, WORD * (uint64_t)w), WORD));
    change(cg, atomic_of(result), h->v_words, v);
    end_if(cg, bb_joined);
}

// ---- Sums in shared memory ------------------------------------------------------------------------------------

void zf_query_turn_begin(zf_query_build *b, zf_query_turn *turn, uint64_t count) {
    zf_cg *cg = b->cg;
    uint32_t threads = b->warps * ZF_QUERY_LANES;
    zf_cg_loop_begin(cg, &turn->loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, (count + threads - 1) / threads), "turn");
    turn->v_at = zf_cg_mul(cg, turn->loop.v_i, zf_cg_i64(cg, threads));
    turn->v_at = zf_cg_add(cg, turn->v_at, zf_cg_wide(cg, b->v_thread));
    turn->bb_end = begin_if(cg, zf_cg_icmp(cg, LLVMIntULT, turn->v_at, zf_cg_i64(cg, count)), "mine");
}

void zf_query_turn_end(zf_query_build *b, zf_query_turn *turn) {
    end_if(b->cg, turn->bb_end);
    zf_cg_loop_end(b->cg, &turn->loop);
}

static void clear_shared(zf_query_build *b, zf_query_held_build *h) {
    zf_cg *cg = b->cg;
    zf_query_turn turn;
    zf_query_turn_begin(b, &turn, h->count);
    zf_cg_store(cg, zf_cg_i32(cg, 0), zf_cg_at(cg, cg->ty_i32, h->v_low, turn.v_at), 4);
    zf_cg_store(cg, zf_cg_i32(cg, 0), zf_cg_at(cg, cg->ty_i32, h->v_high, turn.v_at), 4);
    zf_query_turn_end(b, &turn);
}

// Shared memory adds 32 bits at once. The carry of each addition goes to the high half, which most sums leave alone.
static void add_shared(zf_query_build *b, const zf_query_held_build *h, LLVMValueRef v_at, LLVMValueRef v) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_low = zf_cg_low_half(cg, v), v_high = zf_cg_high_half(cg, v);
    LLVMValueRef v_old = change(cg, LLVMAtomicRMWBinOpAdd, zf_cg_at(cg, cg->ty_i32, h->v_low, v_at), v_low);
    LLVMValueRef v_carry = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_old, v_low), v_low);
    v_high = zf_cg_add(cg, v_high, zf_cg_resize(cg, v_carry, cg->ty_i32, false));
    LLVMBasicBlockRef bb_end = begin_if(cg, zf_cg_icmp(cg, LLVMIntNE, v_high, zf_cg_i32(cg, 0)), "high_half");
    change(cg, LLVMAtomicRMWBinOpAdd, zf_cg_at(cg, cg->ty_i32, h->v_high, v_at), v_high);
    end_if(cg, bb_end);
}

static void end_shared(zf_query_build *b, uint32_t k) {
    zf_cg *cg = b->cg;
    const zf_query_held_build *h = &b->held[k];
    zf_query_turn turn;
    zf_query_turn_begin(b, &turn, h->count);
    LLVMValueRef v_low = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, h->v_low, turn.v_at), 4);
    LLVMValueRef v_high = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, h->v_high, turn.v_at), 4);
    LLVMValueRef v = zf_cg_both_halves(cg, v_low, v_high);
    LLVMBasicBlockRef bb_none = begin_if(cg, zf_cg_icmp(cg, LLVMIntNE, v, zf_cg_i64(cg, 0)), "given");
    change(cg, LLVMAtomicRMWBinOpAdd, zf_cg_at(cg, cg->ty_i64, h->v_words, turn.v_at), v);
    end_if(cg, bb_none);
    zf_query_turn_end(b, &turn);
}

bool zf_query_held_ready(zf_query_build *b, uint32_t *offset) {
    bool shared = false;
    *offset += b->warps * ZF_QUERY_SHARED_WARP;
    for (uint32_t k = 0; k < b->query->result_count; k++) {
        zf_query_held_build *h = &b->held[k];
        if (!b->shapes[k].shared) continue;
        uint32_t bytes = (uint32_t)(h->count * WORD + 15) / 16 * 16;
        h->v_low = b->cg->target->simt->shared(b->cg, *offset, bytes);
        h->v_high = zf_cg_byte_at(b->cg, h->v_low, h->count * sizeof(uint32_t));
        *offset += bytes;
        clear_shared(b, h);
        shared = true;
    }
    return shared;
}

// ---- Sums of floats -------------------------------------------------------------------------------------------

static LLVMValueRef lane_sum(zf_query_build *b, uint32_t k, LLVMValueRef v_at) {
    return zf_cg_at(b->cg, b->cg->ty_f64, b->held[k].v_slot, v_at);
}

void zf_query_held_tile(zf_query_build *b) {
    zf_cg *cg = b->cg;
    for (uint32_t k = 0; k < b->query->result_count; k++) {
        if (!zf_query_sums_floats(&b->query->results[k])) continue;
        zf_cg_loop loop;
        zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(b->cg, b->held[k].count), "clear");
        zf_cg_store(cg, LLVMConstNull(cg->ty_f64), lane_sum(b, k, loop.v_i), WORD);
        zf_cg_loop_end(cg, &loop);
    }
}

static LLVMValueRef from_lane(zf_query_build *b, LLVMValueRef v, uint32_t distance) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_lane = zf_cg_and(cg, zf_cg_add(cg, b->v_lane, zf_cg_i32(cg, distance)), zf_cg_i32(cg, ZF_QUERY_LANES - 1));
    LLVMValueRef v_word = zf_simt_shuffle(&b->lower, LLVMBuildBitCast(cg->builder, v, cg->ty_i64, ""), v_lane);
    return LLVMBuildBitCast(cg->builder, v_word, cg->ty_f64, "");
}

void zf_query_held_tile_end(zf_query_build *b) {
    zf_cg *cg = b->cg;
    for (uint32_t k = 0; k < b->query->result_count; k++) {
        if (!zf_query_sums_floats(&b->query->results[k])) continue;
        LLVMValueRef v_count = zf_cg_i64(b->cg, b->held[k].count), v_first = zf_cg_mul(cg, b->v_tile, v_count);
        zf_cg_loop loop;
        zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_count, "fold");
        LLVMValueRef v = zf_cg_load(cg, cg->ty_f64, lane_sum(b, k, loop.v_i), WORD);
        for (uint32_t d = ZF_QUERY_LANES / 2; d > 0; d /= 2) v = LLVMBuildFAdd(cg->builder, v, from_lane(b, v, d), "");
        LLVMBasicBlockRef bb_end = begin_if(cg, is_first_lane(b), "tile_sum");
        zf_cg_store(cg, v, zf_cg_at(cg, cg->ty_f64, b->held[k].v_words, zf_cg_add(cg, v_first, loop.v_i)), WORD);
        end_if(cg, bb_end);
        zf_cg_loop_end(cg, &loop);
    }
}

void zf_query_held_end(zf_query_build *b) {
    LLVMValueRef v_numbers = b->cg->target->simt->shared(b->cg, 0, b->warps * ZF_QUERY_SHARED_WARP);
    bool used = false;
    for (uint32_t k = 0; k < b->query->result_count; k++) {
        if (!is_single(&b->query->results[k])) continue;
        if (used) zf_simt_barrier(&b->lower, "numbers of the result before are read");
        end_single(b, k, v_numbers);
        used = true;
    }
    bool shared = false;
    for (uint32_t k = 0; k < b->query->result_count; k++) shared = shared || b->held[k].v_low != NULL;
    if (shared) zf_simt_barrier(&b->lower, "sums of all warps");
    for (uint32_t k = 0; k < b->query->result_count; k++)
        if (b->held[k].v_low != NULL) end_shared(b, k);
}

uint32_t zf_query_shared_bytes(const zf_query_kernels_request *request) {
    uint64_t words = 0;
    for (uint32_t k = 0; k < request->query->result_count; k++) {
        const zf_query_result *result = &request->query->results[k];
        uint64_t count = request->shapes[k].shared;
        for (uint32_t d = 0; d < result->dimensions; d++) count *= request->shapes[k].lengths[d];
        words += count + count % 2; // aligned to 16
    }
    uint64_t bytes = request->warps * (uint64_t)ZF_QUERY_SHARED_WARP + words * WORD;
    for (uint32_t k = 0; k < request->query->input_count; k++) bytes += request->shared_inputs[k];
    return (uint32_t)bytes + zf_codegen_query_queues(request->query, request->warps);
}

// ---- Rows -----------------------------------------------------------------------------------------------------

void zf_query_note(zf_query_build *b, LLVMValueRef v_ok) {
    zf_cg *cg = b->cg;
    if (LLVMIsAConstantInt(v_ok) && LLVMConstIntGetZExtValue(v_ok) != 0) return;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, zf_cg_get(cg, b->v_any), zf_cg_not(cg, v_ok)), b->v_any);
}

static void give_single(zf_query_build *b, const zf_query_result *result, LLVMValueRef v_do, LLVMValueRef v) {
    zf_cg *cg = b->cg;
    const zf_query_held_build *h = &b->held[result->index];
    LLVMValueRef v_word = word_of(cg, result, v, &v_do), v_old = zf_cg_get(cg, h->v_slot);
    LLVMValueRef v_new = join(cg, result, v_old, v_word);
    LLVMBuildStore(cg->builder, v_do == NULL ? v_new : zf_cg_select(cg, v_do, v_new, v_old), h->v_slot);
    if (h->v_given != NULL) LLVMBuildStore(cg->builder, zf_cg_or(cg, zf_cg_get(cg, h->v_given), holds(cg, v_do)), h->v_given);
}

static void give_lane(zf_query_build *b, const zf_query_result *result, LLVMValueRef v_do, LLVMValueRef v_at, LLVMValueRef v) {
    zf_cg *cg = b->cg;
    if (v_do != NULL) v_at = zf_cg_select(cg, v_do, v_at, zf_cg_i64(cg, 0));
    LLVMValueRef v_sum = lane_sum(b, result->index, v_at), v_old = zf_cg_load(cg, cg->ty_f64, v_sum, WORD);
    LLVMValueRef v_new = LLVMBuildFAdd(cg->builder, v_old, v, "");
    zf_cg_store(cg, v_do == NULL ? v_new : zf_cg_select(cg, v_do, v_new, v_old), v_sum, WORD);
}

static void set_element(zf_query_build *b, const zf_query_held_build *h, LLVMValueRef v_at, LLVMValueRef v_word) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_touched = zf_cg_at(cg, cg->ty_i32, h->v_touched, v_at), v_one = zf_cg_i32(cg, 1);
    LLVMValueRef v_second = zf_cg_icmp(cg, LLVMIntNE, change(cg, LLVMAtomicRMWBinOpOr, v_touched, v_one), zf_cg_i32(cg, 0));
    LLVMBasicBlockRef bb_end = begin_if(cg, v_second, "second_value");
    LLVMValueRef v_word_at = zf_cg_byte_at(cg, b->v_failure, WORD * (uint64_t)ZF_QUERY_FAILED_SET);
    change(cg, LLVMAtomicRMWBinOpUMin, v_word_at, zf_cg_i64(cg, 0));
    end_if(cg, bb_end);
    zf_cg_store(cg, v_word, zf_cg_at(cg, cg->ty_i64, h->v_words, v_at), WORD);
}

static void give_element(zf_query_build *b, const zf_query_result *result, LLVMValueRef v_do, LLVMValueRef v_at, LLVMValueRef v) {
    zf_cg *cg = b->cg;
    const zf_query_held_build *h = &b->held[result->index];
    LLVMValueRef v_word = word_of(cg, result, v, &v_do);
    LLVMBasicBlockRef bb_end = begin_if(cg, holds(cg, v_do), "give");
    if (result->kind == ZF_Q_SET)
        set_element(b, h, v_at, v_word);
    else if (h->v_low != NULL)
        add_shared(b, h, v_at, v_word);
    else
        change(cg, atomic_of(result), zf_cg_at(cg, cg->ty_i64, h->v_words, v_at), v_word);
    if (is_extreme(result)) zf_cg_store(cg, zf_cg_i32(cg, 1), zf_cg_at(cg, cg->ty_i32, h->v_touched, v_at), 4);
    end_if(cg, bb_end);
}

static void give_mask(zf_query_build *b, const zf_query_row_build *row, const zf_query_result *result, LLVMValueRef v_do,
                      LLVMValueRef v) {
    zf_cg *cg = b->cg;
    LLVMBasicBlockRef bb_end = begin_if(cg, holds(cg, v_do), "mark");
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i8, b->held[result->index].v_touched, zf_cg_sub(cg, row->v_row, b->v_first_row));
    zf_cg_store(cg, zf_cg_resize(cg, v, cg->ty_i8, false), v_at, 1);
    end_if(cg, bb_end);
}

// Numbers of 32 and 64 bits; LLVM may still take the loads of floats, bools and narrow values into a branch.
static LLVMValueRef hold(zf_cg *cg, LLVMValueRef v) {
    LLVMTypeRef ty = LLVMTypeOf(v);
    bool can = cg->target->simt->hold != NULL && !LLVMIsConstant(v) && (ty == cg->ty_i32 || ty == cg->ty_i64);
    return can ? cg->target->simt->hold(cg, v, true) : v;
}

zf_query_gift zf_query_gift_of(zf_query_build *b, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg *cg = b->cg;
    const zf_query_result *result = stmt->result;
    LLVMValueRef v_at = zf_cg_i64(cg, 0), v_saved = cg->v_guard;
    for (uint32_t d = 0; d < stmt->value_count; d++) {
        LLVMValueRef v_length = zf_cg_i64(cg, b->shapes[result->index].lengths[d]),
                     v_index = zf_cg_expr(cg, frame, stmt->values[d]).v;
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULT, v_index, v_length);
        cg->v_guard = zf_cg_check(cg, frame->env, v_ok, 1, stmt->values[d]->span, NULL);
        v_at = d == 0 ? v_index : zf_cg_add(cg, zf_cg_mul(cg, v_at, v_length), v_index);
    }
    zf_cg_value value = zf_cg_expr(cg, frame, stmt->value);
    zf_query_gift gift = {.v_do = cg->v_guard, .v_at = hold(cg, v_at), .v = hold(cg, value.v)};
    cg->v_guard = v_saved;
    return gift;
}

void zf_query_give(zf_query_build *b, const zf_query_row_build *row, const zf_query_result *result, const zf_query_gift *gift) {
    if (result->kind == ZF_Q_MASK)
        give_mask(b, row, result, gift->v_do, gift->v);
    else if (zf_query_sums_floats(result))
        give_lane(b, result, gift->v_do, gift->v_at, gift->v);
    else if (is_single(result))
        give_single(b, result, gift->v_do, gift->v);
    else
        give_element(b, result, gift->v_do, gift->v_at, gift->v);
}

static void append_row(zf_query_build *b, zf_cg_frame *frame, const zf_stmt *stmt) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_next = zf_cg_get(cg, b->v_selected), v_one = zf_cg_i64(cg, 1);
    if (b->pass == ZF_QUERY_COUNT) {
        LLVMValueRef v_more = cg->v_guard == NULL ? v_one : zf_cg_select(cg, cg->v_guard, v_one, zf_cg_i64(cg, 0));
        LLVMBuildStore(cg->builder, zf_cg_add(cg, v_next, v_more), b->v_selected);
        return;
    }
    zf_cg_value *values = ZF_NEW_ARRAY(cg->arena, zf_cg_value, stmt->value_count + 1);
    for (uint32_t k = 0; k < stmt->value_count; k++) values[k] = zf_cg_expr(cg, frame, stmt->values[k]);
    LLVMBasicBlockRef bb_end = begin_if(cg, holds(cg, cg->v_guard), "append");
    for (uint32_t k = 0; k < b->query->result_count; k++) {
        const zf_query_result *result = &b->query->results[k];
        if (result->kind != ZF_Q_SELECT) continue;
        const zf_cg_value *value = &values[result->column];
        LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i64, b->held[k].v_words, v_next);
        zf_cg_store(cg, zf_cg_to_word(cg, value->type, value->v), v_at, WORD);
    }
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_next, v_one), b->v_selected);
    end_if(cg, bb_end);
}

void zf_query_give_row(zf_query_build *b, zf_query_row_build *row, zf_cg_frame *frame, const zf_stmt *stmt) {
    if (stmt->kind == ZF_S_SELECT) {
        append_row(b, frame, stmt);
    } else if (b->pass == ZF_QUERY_GIVE) {
        zf_query_gift gift = zf_query_gift_of(b, frame, stmt);
        zf_query_give(b, row, stmt->result, &gift);
    }
}

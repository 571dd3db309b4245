// Several warps of a chunk (simt_records.h). The first walks: it appends records to the ring, which all of them share, and hands
// them over in batches. The others, the executors, make the elements of a batch while the walker appends the next one. At the end
// of a batch all warps of the thread block meet at a barrier, and read what the walker handed over and whether anything failed,
// from one of two places in shared memory, by turns; so all of them go on alike.
//
// Executor e makes tile e of a batch, then tile e + executors. A tile finds its first record by itself. Where the program copies
// from its output, a counter says up to which element the batch is made: executors raise it in the order of tiles, and those who
// copy from an earlier tile of the batch wait for it. Everything before the batch was made before the barrier.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/simt/chunks/simt_records.h"

// A batch as it is handed over: words.
enum { BEGIN, END, MADE, FAILED, WORDS };
#define LAST UINT32_C(0x80000000) // beside MADE: the chunk has no more

enum { TILES = 2 }; // of an executor, after which a batch ends

static LLVMTypeRef state_type(zf_cg *cg) { return LLVMVectorType(cg->ty_i32, WORDS); }

static uint32_t executors_of(const zf_records *r) { return r->warps - 1; }

/// Whether executors wait for each other.
static bool in_order(const zf_records *r) { return executors_of(r) > 1 && r->program.copies_back; }

static LLVMValueRef state_at(zf_cg *cg, LLVMValueRef v_state, LLVMValueRef v_turn) {
    return zf_cg_at(cg, state_type(cg), v_state, zf_cg_wide(cg, v_turn));
}

static LLVMValueRef first_warp(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    return zf_cg_icmp(cg, LLVMIntULT, lower->simt->v_thread, zf_cg_i32(cg, cg->wave));
}

LLVMValueRef zf_records_meet_first(zf_kernel_build *lower, LLVMValueRef v_state, LLVMValueRef v) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_clear = zf_cg_block(cg, "clear_state"), bb_cleared = zf_cg_block(cg, "cleared_state");
    LLVMValueRef v_none = LLVMConstNull(state_type(cg)),
                 v_first = zf_cg_icmp(cg, LLVMIntEQ, lower->simt->v_thread, zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, v_first, bb_clear, bb_cleared);
    zf_cg_enter(cg, bb_clear);
    zf_cg_store(cg, v_none, state_at(cg, v_state, zf_cg_i32(cg, 0)), 4 * WORDS);
    LLVMValueRef v_second =
        LLVMBuildInsertElement(cg->builder, v_none, zf_cg_resize(cg, v, cg->ty_i32, false), zf_cg_i32(cg, BEGIN), "");
    zf_cg_store(cg, v_second, state_at(cg, v_state, zf_cg_i32(cg, 1)), 4 * WORDS);
    zf_cg_store(cg, v_none, state_at(cg, v_state, zf_cg_i32(cg, 2)), 4 * WORDS);
    zf_cg_br(cg, bb_cleared);
    zf_cg_enter(cg, bb_cleared);
    zf_simt_barrier(lower, "the state of a chunk before the warps that share it");
    LLVMValueRef v_word = zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, state_at(cg, v_state, zf_cg_i32(cg, 1)), 4 * BEGIN), 4);
    return zf_cg_icmp(cg, LLVMIntNE, v_word, zf_cg_i32(cg, 0));
}

static LLVMValueRef slot(zf_records *r, const char *name) {
    LLVMValueRef v_slot = zf_cg_alloca(r->cg, r->cg->ty_i32, name);
    LLVMBuildStore(r->cg->builder, zf_cg_i32(r->cg, 0), v_slot);
    return v_slot;
}

void zf_records_warps_begin(zf_records *r) {
    r->v_is_walker = first_warp(r->lower);
    r->v_progress = state_at(r->cg, r->v_state, zf_cg_i32(r->cg, 2));
    r->v_turn = slot(r, "turn");
    r->v_before = slot(r, "before");
    r->v_batch = slot(r, "batch");
    r->v_batch_end = slot(r, "batch_end");
    r->v_batch_made = slot(r, "batch_made");
    r->v_batch_low = slot(r, "batch_low");
}

// ---- The walker -----------------------------------------------------------------------------------------------

LLVMValueRef zf_records_is_batch(zf_records *r, uint32_t room) {
    zf_cg *cg = r->cg;
    uint32_t most =
        (r->ring - zf_record_tile(cg->wave) - 1) / 2; // two batches, the elements left of one before, and the one before those
    LLVMValueRef v_records = zf_cg_sub(cg, zf_cg_get(cg, r->v_made), zf_cg_get(cg, r->v_before));
    LLVMValueRef v_elements = zf_cg_sub(cg, zf_cg_get(cg, r->v_end), zf_cg_get(cg, r->v_tile));
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntUGT, v_records, zf_cg_i32(cg, most - room));
    LLVMValueRef v_enough =
        zf_cg_icmp(cg, LLVMIntUGE, v_elements, zf_cg_i32(cg, TILES * executors_of(r) * zf_record_tile(cg->wave)));
    return zf_cg_or(cg, zf_cg_edge(cg, v_full, "records that have a place beside others"), v_enough);
}

void zf_records_publish(zf_records *r, LLVMValueRef v_last) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "hand_over"), bb_done = zf_cg_block(cg, "handed_over");
    LLVMValueRef v_begin = zf_cg_get(cg, r->v_tile), v_end = zf_cg_get(cg, r->v_end), v_made = zf_cg_get(cg, r->v_made);
    LLVMValueRef v_whole = zf_cg_and(cg, zf_cg_sub(cg, v_end, v_begin), zf_cg_i32(cg, ~(zf_record_tile(cg->wave) - 1)));
    v_end = zf_cg_select(cg, v_last, v_end, zf_cg_add(cg, v_begin, v_whole));
    zf_cg_cond_br(cg, r->lower->v_is_leader, bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    LLVMValueRef v_at = state_at(cg, r->v_state, zf_cg_get(cg, r->v_turn));
    LLVMValueRef v_mark = zf_cg_select(cg, v_last, zf_cg_i32(cg, LAST), zf_cg_i32(cg, 0));
    zf_cg_store(cg, v_begin, zf_cg_byte_at(cg, v_at, 4 * BEGIN), 4); // executors may change the word FAILED
    zf_cg_store(cg, v_end, zf_cg_byte_at(cg, v_at, 4 * END), 4);
    zf_cg_store(cg, zf_cg_or(cg, v_made, v_mark), zf_cg_byte_at(cg, v_at, 4 * MADE), 4);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    LLVMBuildStore(cg->builder, v_end, r->v_tile);
    LLVMBuildStore(cg->builder, v_made, r->v_before);
}

// ---- All warps ------------------------------------------------------------------------------------------------

void zf_records_fail(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "say_failed"), bb_done = zf_cg_block(cg, "said_failed");
    zf_cg_cond_br(cg, r->lower->v_is_leader, bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    LLVMValueRef v_at = zf_cg_byte_at(cg, state_at(cg, r->v_state, zf_cg_get(cg, r->v_turn)), 4 * FAILED);
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_at, zf_cg_i32(cg, 1), LLVMAtomicOrderingMonotonic, 0);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

void zf_records_meet(zf_records *r, LLVMValueRef *v_failed, LLVMValueRef *v_last) {
    zf_cg *cg = r->cg;
    zf_simt_barrier(r->lower, "records and elements of a batch before those of the next");
    LLVMValueRef v_turn = zf_cg_get(cg, r->v_turn), v_words[WORDS];
    LLVMValueRef v_state = zf_cg_load(cg, state_type(cg), state_at(cg, r->v_state, v_turn), 4 * WORDS);
    for (unsigned k = 0; k < WORDS; k++) v_words[k] = LLVMBuildExtractElement(cg->builder, v_state, zf_cg_i32(cg, k), "");
    LLVMBuildStore(cg->builder, LLVMBuildXor(cg->builder, v_turn, zf_cg_i32(cg, 1), ""), r->v_turn);
    // Fewer elements than a tile were left of the batch before.
    LLVMValueRef v_tile = zf_cg_i32(cg, zf_record_tile(cg->wave)), v_made = zf_cg_get(cg, r->v_batch_made);
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntUGT, v_made, v_tile);
    LLVMBuildStore(cg->builder, zf_cg_select(cg, v_more, zf_cg_sub(cg, v_made, v_tile), zf_cg_i32(cg, 0)), r->v_batch_low);
    LLVMBuildStore(cg->builder, v_words[BEGIN], r->v_batch);
    LLVMBuildStore(cg->builder, v_words[END], r->v_batch_end);
    LLVMBuildStore(cg->builder, zf_cg_and(cg, v_words[MADE], zf_cg_i32(cg, ~LAST)), r->v_batch_made);
    *v_failed = zf_cg_icmp(cg, LLVMIntNE, v_words[FAILED], zf_cg_i32(cg, 0));
    *v_last = zf_cg_icmp(cg, LLVMIntUGE, v_words[MADE], zf_cg_i32(cg, LAST));
}

// ---- The executors --------------------------------------------------------------------------------------------

// How many of the records from v_from on that this lane and those before it look at, `each` apart, begin before v_first.
static LLVMValueRef count_before(zf_records *r, LLVMValueRef v_from, uint32_t each, LLVMValueRef v_first) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_made = zf_cg_get(cg, r->v_made), v_last = zf_cg_sub(cg, v_made, zf_cg_i32(cg, 1));
    LLVMValueRef v_number = zf_cg_add(cg, v_from, zf_cg_mul(cg, r->v_lane, zf_cg_i32(cg, each)));
    LLVMValueRef v_is = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_number, v_made), "records of a batch");
    LLVMValueRef v_begin = zf_cg_load(cg, cg->ty_i32, zf_records_begin_at(r, zf_cg_select(cg, v_is, v_number, v_last)), 4);
    v_is = zf_cg_and(cg, v_is, zf_cg_icmp(cg, LLVMIntULT, v_begin, v_first));
    return zf_simt_count_lanes(cg, zf_simt_ballot(r->lower, v_is));
}

// Finds the last record that begins before a tile, of as many as the square of the lanes.
static void find_taken(zf_records *r, LLVMValueRef v_first) {
    zf_cg *cg = r->cg;
    LLVMValueRef v_one = zf_cg_i32(cg, 1), v_low = zf_cg_get(cg, r->v_batch_low);
    LLVMValueRef v_part = count_before(r, v_low, cg->wave, v_first);
    v_part = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_part, zf_cg_i32(cg, 0)), v_part, zf_cg_sub(cg, v_part, v_one));
    LLVMValueRef v_from = zf_cg_add(cg, v_low, zf_cg_mul(cg, v_part, zf_cg_i32(cg, cg->wave)));
    v_from = zf_cg_add(cg, v_from, count_before(r, v_from, 1, v_first));
    LLVMBuildStore(cg->builder, zf_cg_sub(cg, v_from, v_one), r->v_taken);
}

void zf_records_await(zf_records *r, LLVMValueRef v_made) {
    if (!zf_cg_site(r->cg, ZF_SITE_BARRIER, "elements of other warps before their copies"))
        r->cg->target->simt->await(r->cg, r->v_progress, v_made);
}

// Says that all elements before v_end are made.
static void raise_progress(zf_records *r, LLVMValueRef v_end) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "raise"), bb_done = zf_cg_block(cg, "raised");
    zf_records_await(r, r->v_waits_for);
    zf_cg_cond_br(cg, r->lower->v_is_leader, bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    cg->target->simt->publish(cg, r->v_progress, v_end);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// Makes elements from v_tile up to v_end.
static void make_tiles(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "make"), bb_tile = zf_cg_block(cg, "make_tile"), bb_end = zf_cg_block(cg, "made");
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, zf_cg_get(cg, r->v_tile), zf_cg_get(cg, r->v_end)), bb_tile, bb_end);
    zf_cg_enter(cg, bb_tile);
    zf_records_make_tile(r);
    zf_cg_br(cg, bb_head);
    zf_simt_keep_loop(cg, zf_cg_here(cg));
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

// Makes this executor's tiles of the batch.
static void make_own_tiles(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "own"), bb_tile = zf_cg_block(cg, "own_tile"),
                      bb_end = zf_cg_block(cg, "own_done");
    LLVMValueRef v_next = zf_cg_alloca(cg, cg->ty_i32, "own_next"), v_tile = zf_cg_i32(cg, zf_record_tile(cg->wave));
    LLVMValueRef v_number = zf_cg_sub(cg, zf_cg_resize(cg, zf_simt_warp(r->lower), cg->ty_i32, false), zf_cg_i32(cg, 1));
    LLVMValueRef v_begin = zf_cg_get(cg, r->v_batch), v_all = zf_cg_get(cg, r->v_batch_end);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_begin, zf_cg_mul(cg, v_number, v_tile)), v_next);
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    LLVMValueRef v_first = zf_cg_get(cg, v_next);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_first, v_all), bb_tile, bb_end);
    zf_cg_enter(cg, bb_tile);
    LLVMValueRef v_end = zf_cg_umin(cg, v_all, zf_cg_add(cg, v_first, v_tile));
    LLVMBuildStore(cg->builder, v_first, r->v_tile);
    LLVMBuildStore(cg->builder, v_end, r->v_end);
    find_taken(r, v_first);
    r->v_waits_for = in_order(r) ? v_first : NULL;
    make_tiles(r);
    if (in_order(r)) raise_progress(r, v_end);
    r->v_waits_for = NULL;
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_first, zf_cg_i32(cg, executors_of(r) * zf_record_tile(cg->wave))), v_next);
    zf_cg_br(cg, bb_head);
    zf_simt_keep_loop(cg, zf_cg_here(cg));
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

void zf_records_execute(zf_records *r) {
    zf_cg *cg = r->cg;
    LLVMBuildStore(cg->builder, zf_cg_get(cg, r->v_batch_made), r->v_made);
    if (executors_of(r) > 1) {
        make_own_tiles(r);
    } else { // tiles follow each other, and so do their records
        LLVMBuildStore(cg->builder, zf_cg_get(cg, r->v_batch), r->v_tile);
        LLVMBuildStore(cg->builder, zf_cg_get(cg, r->v_batch_end), r->v_end);
        make_tiles(r);
    }
    if (!r->program.may_fail) return;
    LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "batch_failed"), bb_well = zf_cg_block(cg, "batch_well");
    zf_cg_cond_br(cg, zf_simt_any(r->lower, zf_cg_not(cg, zf_lower_none_failed(r->lower))), bb_failed, bb_well);
    zf_cg_enter(cg, bb_failed);
    zf_records_fail(r);
    zf_cg_br(cg, bb_well);
    LLVMMoveBasicBlockAfter(bb_well, zf_cg_here(cg));
    zf_cg_enter(cg, bb_well);
}

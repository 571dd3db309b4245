// A row of strings, copied by a warp. Its lanes leave in shared memory where each string ends and where its bytes come from; then
// every lane makes words of eight bytes of what comes out, wherever they begin: it finds the string of the first byte by halving,
// and goes on from string to string until the word is full. What is loaded are aligned words, what is stored are aligned words
// but for those at both ends, which are stored byte by byte, since the bytes around them are others'.
#include "codegen/simt_text.h"

enum { STRINGS = ZF_WARP * ZF_TEXT_EACH, WORD = 8 };

uint32_t zf_simt_text_bytes(void) { return STRINGS * 2 * 8; }

void zf_simt_text_tables(zf_simt_text *text, zf_lower *lower, uint32_t at) {
    zf_cg *cg = lower->cg;
    *text = (zf_simt_text){.lower = lower};
    text->v_ends = cg->target->simt->shared(cg, at, STRINGS * 8);
    text->v_sources = cg->target->simt->shared(cg, at + STRINGS * 8, STRINGS * 8);
}

LLVMValueRef zf_simt_any(zf_lower *lower, LLVMValueRef v_any) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v = zf_cg_resize(cg, v_any, cg->ty_i32, false), v_lane = zf_simt_lane(lower);
    for (uint32_t step = 1; step < ZF_WARP; step *= 2) {
        LLVMValueRef v_other = LLVMBuildXor(cg->builder, v_lane, zf_cg_i32(cg, step), "");
        v = zf_cg_or(cg, v, zf_simt_shuffle(lower, v, v_other));
    }
    return zf_cg_icmp(cg, LLVMIntNE, v, zf_cg_i32(cg, 0));
}

void zf_simt_text_sum(const zf_simt_text *text, zf_simt_text_row *row) {
    zf_lower *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_own = row->v_lengths[0], v_lane = zf_simt_lane(lower);
    for (unsigned k = 1; k < ZF_TEXT_EACH; k++) v_own = zf_cg_add(cg, v_own, row->v_lengths[k]);
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, v_lane);
    row->v_before = zf_cg_sub(cg, v_up, v_own);
    row->v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, ZF_WARP - 1));
}

static LLVMValueRef entry(zf_cg *cg, LLVMValueRef v_table, LLVMValueRef v_index) {
    return zf_cg_at(cg, cg->ty_i64, v_table, zf_cg_resize(cg, v_index, cg->ty_i64, false));
}

// Leaves the row in shared memory, between two barriers: the row before may still be read, and this one is read by all.
static void leave(const zf_simt_text *text, const zf_simt_text_row *row) {
    zf_lower *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_first = zf_cg_mul(cg, zf_simt_lane(lower), zf_cg_i32(cg, ZF_TEXT_EACH)), v_begin = row->v_before;
    zf_simt_barrier(lower, "the strings before are copied");
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_index = zf_cg_add(cg, v_first, zf_cg_i32(cg, k));
        zf_cg_store(cg, zf_cg_sub(cg, row->v_sources[k], v_begin), entry(cg, text->v_sources, v_index), 8);
        v_begin = zf_cg_add(cg, v_begin, row->v_lengths[k]);
        zf_cg_store(cg, v_begin, entry(cg, text->v_ends, v_index), 8);
    }
    zf_simt_barrier(lower, "strings are known");
}

// The number of the string that has byte v_at of the row, which has one (i32): the first that ends behind it.
static LLVMValueRef string_of(const zf_simt_text *text, LLVMValueRef v_at) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_string = zf_cg_i32(cg, 0);
    for (uint32_t step = STRINGS / 2; step > 0; step /= 2) {
        LLVMValueRef v_probe = zf_cg_add(cg, v_string, zf_cg_i32(cg, step - 1));
        LLVMValueRef v_end = zf_cg_load(cg, cg->ty_i64, entry(cg, text->v_ends, v_probe), 8);
        LLVMValueRef v_further = zf_cg_icmp(cg, LLVMIntULE, v_end, v_at);
        v_string = zf_cg_select(cg, v_further, zf_cg_add(cg, v_string, zf_cg_i32(cg, step)), v_string);
    }
    return v_string;
}

static LLVMValueRef load_word(zf_cg *cg, LLVMValueRef v_address) {
    LLVMTypeRef ty = LLVMPointerTypeInContext(cg->context, cg->target->simt->global_space);
    return zf_cg_load(cg, cg->ty_i64, LLVMBuildIntToPtr(cg->builder, v_address, ty, ""), 8);
}

// v_count bytes (1 to 8) from an address on, as the lowest of a word; those above are anything. The second word is loaded only
// where it has some of them: behind the string there may be nothing.
static LLVMValueRef load_bytes(zf_cg *cg, LLVMValueRef v_address, LLVMValueRef v_count) {
    LLVMValueRef v_seven = zf_cg_i64(cg, 7), v_three = zf_cg_i64(cg, 3);
    LLVMValueRef v_in = zf_cg_and(cg, v_address, v_seven), v_aligned = zf_cg_and(cg, v_address, zf_cg_i64(cg, ~UINT64_C(7)));
    LLVMValueRef v_shift = LLVMBuildShl(cg->builder, v_in, v_three, ""), v_low = load_word(cg, v_aligned);
    LLVMBasicBlockRef bb_one = zf_cg_here(cg), bb_two = zf_cg_block(cg, "word_next"), bb_all = zf_cg_block(cg, "word");
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntUGT, zf_cg_add(cg, v_in, v_count), zf_cg_i64(cg, WORD));
    zf_cg_cond_br(cg, v_more, bb_two, bb_all);
    zf_cg_enter(cg, bb_two);
    LLVMValueRef v_next = load_word(cg, zf_cg_add(cg, v_aligned, zf_cg_i64(cg, WORD)));
    zf_cg_br(cg, bb_all);
    zf_cg_enter(cg, bb_all);
    LLVMValueRef v_high = zf_cg_phi2(cg, cg->ty_i64, zf_cg_i64(cg, 0), bb_one, v_next, bb_two);
    // high << (64 - shift), in two steps: for shift 0 it must vanish
    LLVMValueRef v_up = LLVMBuildXor(cg->builder, v_shift, zf_cg_i64(cg, 63), "");
    v_high = LLVMBuildShl(cg->builder, LLVMBuildShl(cg->builder, v_high, v_up, ""), zf_cg_i64(cg, 1), "");
    return zf_cg_or(cg, LLVMBuildLShr(cg->builder, v_low, v_shift, ""), v_high);
}

// Bytes v_from..v_end of the row, at most eight, at their places of a word that begins at v_begin.
static LLVMValueRef gather(const zf_simt_text *text, LLVMValueRef v_begin, LLVMValueRef v_from, LLVMValueRef v_end) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_three = zf_cg_i64(cg, 3), v_string0 = string_of(text, v_from);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_piece = zf_cg_block(cg, "piece"), bb_done = zf_cg_block(cg, "gathered");
    zf_cg_br(cg, bb_piece);
    zf_cg_enter(cg, bb_piece);
    LLVMValueRef v_at = LLVMBuildPhi(cg->builder, cg->ty_i64, "at"), v_word = LLVMBuildPhi(cg->builder, cg->ty_i64, "word"),
                 v_string = LLVMBuildPhi(cg->builder, cg->ty_i32, "string");
    LLVMAddIncoming(v_at, &v_from, &bb_before, 1);
    LLVMAddIncoming(v_word, &v_zero, &bb_before, 1);
    LLVMAddIncoming(v_string, &v_string0, &bb_before, 1);
    LLVMValueRef v_string_end = zf_cg_load(cg, cg->ty_i64, entry(cg, text->v_ends, v_string), 8);
    LLVMValueRef v_source = zf_cg_load(cg, cg->ty_i64, entry(cg, text->v_sources, v_string), 8);
    LLVMValueRef v_stop = zf_cg_umin(cg, v_string_end, v_end), v_count = zf_cg_sub(cg, v_stop, v_at);
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "piece_some"), bb_next = zf_cg_block(cg, "piece_next");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_count, v_zero), bb_some, bb_next); // strings between may be empty
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_bytes = load_bytes(cg, zf_cg_add(cg, v_source, v_at), v_count);
    // The lowest 8 * count bits, count being 1 to 8.
    LLVMValueRef v_spare = LLVMBuildShl(cg->builder, zf_cg_sub(cg, zf_cg_i64(cg, WORD), v_count), v_three, "");
    LLVMValueRef v_mask = LLVMBuildLShr(cg->builder, zf_cg_i64(cg, UINT64_MAX), v_spare, "");
    v_bytes = zf_cg_mask(cg, v_bytes, v_mask, "bytes of a string in a word");
    LLVMValueRef v_place = LLVMBuildShl(cg->builder, zf_cg_sub(cg, v_at, v_begin), v_three, "");
    LLVMValueRef v_with = zf_cg_or(cg, v_word, LLVMBuildShl(cg->builder, v_bytes, v_place, ""));
    LLVMBasicBlockRef bb_with = zf_cg_here(cg);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    LLVMValueRef v_now = LLVMBuildPhi(cg->builder, cg->ty_i64, ""), v_string_next = zf_cg_add(cg, v_string, zf_cg_i32(cg, 1));
    LLVMAddIncoming(v_now, &v_with, &bb_with, 1);
    LLVMAddIncoming(v_now, &v_word, &bb_piece, 1);
    LLVMAddIncoming(v_at, &v_stop, &bb_next, 1);
    LLVMAddIncoming(v_word, &v_now, &bb_next, 1);
    LLVMAddIncoming(v_string, &v_string_next, &bb_next, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_stop, v_end), bb_piece, bb_done);
    zf_cg_enter(cg, bb_done);
    return v_now;
}

// Bytes v_from..v_end of a word that begins at v_begin, one by one.
static void store_bytes(zf_cg *cg, LLVMValueRef v_word, LLVMValueRef v_to, LLVMValueRef v_begin, LLVMValueRef v_from,
                        LLVMValueRef v_end) {
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, v_end, "byte");
    LLVMValueRef v_shift = LLVMBuildShl(cg->builder, zf_cg_sub(cg, loop.v_i, v_begin), zf_cg_i64(cg, 3), "");
    LLVMValueRef v = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_word, v_shift, ""), cg->ty_i8, false);
    zf_cg_store(cg, v, zf_cg_at_sink(cg, cg->ty_i8, v_to, loop.v_i), 1);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

void zf_simt_text_copy(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total, LLVMValueRef v_to) {
    zf_lower *lower = text->lower;
    zf_cg *cg = lower->cg;
    leave(text, row);
    // Word w of the row has bytes 8 * w - lead on, so that it is aligned where it goes.
    LLVMValueRef v_address = LLVMBuildPtrToInt(cg->builder, v_to, cg->ty_i64, ""), v_three = zf_cg_i64(cg, 3);
    LLVMValueRef v_lead = zf_cg_and(cg, v_address, zf_cg_i64(cg, 7)), v_zero = zf_cg_i64(cg, 0);
    LLVMValueRef v_words = zf_cg_add(cg, zf_cg_add(cg, v_total, v_lead), zf_cg_i64(cg, 7));
    v_words =
        zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_total, v_zero), v_zero, LLVMBuildLShr(cg->builder, v_words, v_three, ""));
    LLVMValueRef v_lane = zf_cg_resize(cg, zf_simt_lane(lower), cg->ty_i64, false);
    // A lane takes every 32nd word.
    LLVMValueRef v_left = zf_cg_sub(cg, v_words, zf_cg_umin(cg, v_lane, v_words));
    LLVMValueRef v_turns = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_left, zf_cg_i64(cg, ZF_WARP - 1)), zf_cg_i64(cg, 5), "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_zero, v_turns, "words");
    LLVMValueRef v_number = zf_cg_add(cg, LLVMBuildShl(cg->builder, loop.v_i, zf_cg_i64(cg, 5), ""), v_lane);
    LLVMValueRef v_begin = zf_cg_sub(cg, LLVMBuildShl(cg->builder, v_number, v_three, ""), v_lead); // below 0 for the first
    LLVMValueRef v_from = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_number, v_zero), v_zero, v_begin);
    LLVMValueRef v_end = zf_cg_umin(cg, zf_cg_add(cg, v_begin, zf_cg_i64(cg, WORD)), v_total);
    LLVMValueRef v_word = gather(text, v_begin, v_from, v_end);
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "word_whole"), bb_part = zf_cg_block(cg, "word_part"),
                      bb_stored = zf_cg_block(cg, "word_stored");
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_sub(cg, v_end, v_from), zf_cg_i64(cg, WORD));
    zf_cg_cond_br(cg, zf_cg_within(cg, v_full, "words whose bytes are all the row's"), bb_whole, bb_part);
    zf_cg_enter(cg, bb_whole);
    zf_cg_store(cg, v_word, zf_cg_at_sink(cg, cg->ty_i8, v_to, v_begin), 8);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_part);
    store_bytes(cg, v_word, v_to, v_begin, v_from, v_end);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// Each lane joins its strings to words, in order, and stores those that are whole. Bytes of a string are moved to where they go
// in pieces of sixteen, by one shift: the first piece is in the handle of a short string, others are loaded. A word that several
// lanes have bytes of gets the last one's by its store, and the others' by atomic or. The stage need not be cleared before, and
// each word is touched once or twice: atomic ors of all words of all pieces took twice as many accesses of shared memory, which
// are what bounds such kernels beside the gathers of handles.
//
// A row whose strings all are in their handles asks nothing else of each, and takes three words a string where none has more than
// eight bytes.
#include "codegen/simt/simt_text_handles.h"

#include "codegen/simt/simt_handles.h"

enum {
    PIECE = ZF_HANDLE_SHORT, // bytes
    WORDS = 5,               // of a piece, which is up to three bytes into its first word,
    NARROW = 3,              // of eight bytes
    NARROW_BYTES = 8,
};

// ---- Lengths --------------------------------------------------------------------------------------------------

void zf_simt_text_look(zf_kernel_build *lower, zf_simt_text_handles *row) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_most = zf_simt_handle_last(cg, row->v_high[0]);
    for (unsigned k = 1; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_last = zf_simt_handle_last(cg, row->v_high[k]);
        v_most = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_last, v_most), v_last, v_most);
    }
    row->v_wide = zf_simt_any(lower, zf_cg_icmp(cg, LLVMIntUGT, v_most, zf_cg_i32(cg, NARROW_BYTES)));
    row->v_long = zf_simt_any(lower, zf_cg_icmp(cg, LLVMIntEQ, v_most, zf_cg_i32(cg, ZF_HANDLE_LONG)));
}

void zf_simt_text_short_lengths(zf_kernel_build *lower, zf_simt_text_handles *row) {
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) row->v_lengths[k] = zf_simt_handle_short_length(lower->cg, row->v_high[k]);
}

void zf_simt_text_add_up(zf_kernel_build *lower, zf_simt_text_handles *row) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_own = row->v_lengths[0];
    for (unsigned k = 1; k < ZF_TEXT_EACH; k++) v_own = zf_cg_add(cg, v_own, row->v_lengths[k]);
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, zf_simt_lane(lower));
    row->v_before = zf_cg_sub(cg, v_up, v_own);
    row->v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
}

// ---- Pieces ---------------------------------------------------------------------------------------------------

// Where a lane is.
typedef struct place {
    const zf_simt_text *text;
    LLVMValueRef v_at;   // i32: the byte of the stage
    LLVMValueRef v_word; // i32: the lane's bytes of the word that has it
} place;

// The first `words` words of a piece from byte v_at of the stage on, 0 where they have none of its bytes.
static void shift_piece(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_at, unsigned words,
                        LLVMValueRef v_words[WORDS]) {
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0), v_three = zf_cg_i32(cg, 3);
    LLVMValueRef v_up = zf_cg_resize(cg, LLVMBuildShl(b, zf_cg_and(cg, v_at, v_three), v_three, ""), cg->ty_i64, false);
    LLVMValueRef v_parts[WORDS + 1] = {v_zero, zf_cg_low_half(cg, v_low), zf_cg_high_half(cg, v_low)};
    v_parts[NARROW] = words == NARROW ? v_zero : zf_cg_low_half(cg, v_high);
    v_parts[NARROW + 1] = zf_cg_high_half(cg, v_high);
    v_parts[WORDS] = v_zero;
    for (unsigned k = 0; k < words; k++)
        v_words[k] = zf_cg_high_half(cg, LLVMBuildShl(b, zf_cg_both_halves(cg, v_parts[k], v_parts[k + 1]), v_up, ""));
}

// Stores the whole words of a piece of v_count bytes (i32), 0 behind them, and goes behind it.
static void put_piece(place *p, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_count, unsigned words) {
    zf_cg *cg = p->text->lower->cg;
    LLVMValueRef v_words[WORDS], v_to = zf_simt_text_word_at(p->text, p->v_at);
    LLVMValueRef v_stop = zf_cg_add(cg, zf_cg_and(cg, p->v_at, zf_cg_i32(cg, 3)), v_count);
    shift_piece(cg, v_low, v_high, p->v_at, words, v_words);
    v_words[0] = zf_cg_or(cg, v_words[0], p->v_word);
    p->v_word = v_words[0];
    for (unsigned k = 1; k < words; k++) {
        LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntUGE, v_stop, zf_cg_i32(cg, 4 * k));
        zf_simt_store_word_if(cg, v_whole, v_words[k - 1], zf_cg_byte_at(cg, v_to, 4 * (uint64_t)(k - 1)));
        p->v_word = zf_cg_select(cg, v_whole, v_words[k], p->v_word);
    }
    p->v_at = zf_cg_add(cg, p->v_at, v_count);
}

// The first piece of a string that may be long: what its handle has, or what lies at its address.
static void put_first(place *p, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_length) {
    zf_cg *cg = p->text->lower->cg;
    LLVMValueRef v_count = zf_cg_umin(cg, v_length, zf_cg_i32(cg, PIECE)), v_zero = zf_cg_i64(cg, 0);
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntNE, v_length, zf_cg_i32(cg, 0));
    LLVMValueRef v_first = zf_cg_select(cg, v_is, v_low, v_zero),
                 v_second = zf_cg_select(cg, v_is, zf_simt_handle_short_high(cg, v_high), v_zero);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_load = zf_cg_block(cg, "text"), bb_have = zf_cg_block(cg, "text_here");
    zf_cg_cond_br(cg, zf_cg_and(cg, v_is, zf_simt_handle_is_long(cg, v_high)), bb_load, bb_have);
    zf_cg_enter(cg, bb_load);
    LLVMValueRef v_first_there, v_second_there;
    zf_simt_sixteen(cg, v_low, v_count, &v_first_there, &v_second_there);
    LLVMBasicBlockRef bb_loaded = zf_cg_here(cg);
    zf_cg_br(cg, bb_have);
    zf_cg_enter(cg, bb_have);
    v_first = zf_cg_phi2(cg, cg->ty_i64, v_first, bb_before, v_first_there, bb_loaded);
    v_second = zf_cg_phi2(cg, cg->ty_i64, v_second, bb_before, v_second_there, bb_loaded);
    put_piece(p, v_first, v_second, v_count, WORDS);
}

// Puts the bytes behind the first piece of a string at v_source.
static void put_rest(place *p, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_slot) {
    zf_cg *cg = p->text->lower->cg;
    LLVMValueRef v_piece = zf_cg_i32(cg, PIECE), v_begin = p->v_at;
    LLVMBuildStore(cg->builder, p->v_word, v_slot);
    zf_turns pieces;
    zf_turns_begin(cg, &pieces, v_piece, PIECE, v_length, "piece");
    LLVMValueRef v_count = zf_cg_umin(cg, zf_cg_sub(cg, v_length, pieces.v_i), v_piece), v_low, v_high;
    LLVMValueRef v_at = zf_cg_add(cg, v_source, zf_cg_resize(cg, pieces.v_i, cg->ty_i64, false));
    zf_simt_sixteen(cg, v_at, v_count, &v_low, &v_high);
    p->v_at = zf_cg_add(cg, v_begin, zf_cg_sub(cg, pieces.v_i, v_piece));
    p->v_word = LLVMBuildLoad2(cg->builder, cg->ty_i32, v_slot, "");
    put_piece(p, v_low, v_high, v_count, WORDS);
    LLVMBuildStore(cg->builder, p->v_word, v_slot);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_turns_end(cg, &pieces);
    zf_simt_keep_loop(cg, bb_last);
    LLVMValueRef v_first = zf_cg_umin(cg, v_length, v_piece);
    p->v_at = zf_cg_add(cg, v_begin, zf_cg_sub(cg, v_length, v_first));
    p->v_word = LLVMBuildLoad2(cg->builder, cg->ty_i32, v_slot, "");
}

// ---- Rows -----------------------------------------------------------------------------------------------------

typedef enum strings { LONG_STRINGS, WIDE_STRINGS, NARROW_STRINGS } strings;

static void put_row(const zf_simt_text *text, const zf_simt_text_handles *row, strings kind) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i32(cg, 0), v_lead = LLVMBuildLoad2(cg->builder, cg->ty_i32, text->v_lead, "");
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, zf_simt_lane(lower), v_zero);
    LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, cg->ty_i32, text->v_word, "");
    place p = {text, zf_cg_add(cg, v_lead, row->v_before), zf_cg_select(cg, v_first, v_before, v_zero)};
    LLVMValueRef v_slot = kind == LONG_STRINGS ? zf_cg_alloca(cg, cg->ty_i32, "word") : NULL;
    zf_simt_barrier(lower, "the strings before are copied");
    // The row's last word has no lane that stores it.
    LLVMValueRef v_end = zf_cg_add(cg, v_lead, row->v_total);
    zf_simt_store_word_if(cg, v_first, v_zero, zf_simt_text_word_at(text, v_end));
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        if (kind == LONG_STRINGS) {
            put_first(&p, row->v_low[k], row->v_high[k], row->v_lengths[k]);
            put_rest(&p, row->v_low[k], row->v_lengths[k], v_slot); // of more than a piece: v_low is its address
        } else {
            LLVMValueRef v_high = kind == NARROW_STRINGS ? row->v_high[k] : zf_simt_handle_short_high(cg, row->v_high[k]);
            put_piece(&p, row->v_low[k], v_high, row->v_lengths[k], kind == NARROW_STRINGS ? NARROW : WORDS);
        }
    }
    zf_simt_barrier(lower, "whole words are stored");
    LLVMValueRef v_to = zf_simt_text_word_at(text, p.v_at);
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_to, p.v_word, LLVMAtomicOrderingMonotonic, 0);
}

void zf_simt_text_copy_handles(const zf_simt_text *text, const zf_simt_text_handles *row) {
    zf_cg *cg = text->lower->cg;
    LLVMBasicBlockRef bb_long = zf_cg_block(cg, "handles_long"), bb_short = zf_cg_block(cg, "handles_short"),
                      bb_narrow = zf_cg_block(cg, "handles_narrow"), bb_wide = zf_cg_block(cg, "handles_wide"),
                      bb_put = zf_cg_block(cg, "handles_put");
    zf_cg_cond_br(cg, row->v_long, bb_long, bb_short); // all lanes the same
    zf_cg_enter(cg, bb_long);
    put_row(text, row, LONG_STRINGS);
    zf_cg_br(cg, bb_put);
    zf_cg_enter(cg, bb_short);
    zf_cg_cond_br(cg, row->v_wide, bb_wide, bb_narrow); // all lanes the same
    zf_cg_enter(cg, bb_narrow);
    put_row(text, row, NARROW_STRINGS);
    zf_cg_br(cg, bb_put);
    zf_cg_enter(cg, bb_wide);
    put_row(text, row, WIDE_STRINGS);
    zf_cg_br(cg, bb_put);
    zf_cg_enter(cg, bb_put);
    zf_simt_text_flush(text, row->v_total);
}

// Rows of strings, copied by a warp, in one of three ways.
//
// Short ones, whose bytes fit into shared memory together (the stage): each lane puts its own strings there, by words of four
// bytes that are aligned where they go. Then the lanes store what stands there, 16 bytes each at a time. Up to 15 bytes are left:
// they move to the stage's begin, and the next row's follow them. Stored with their row, byte by byte, they took a fifth of all
// instructions where strings have four bytes.
//
// There are two ways to put them. Strings that lanes have in registers (simt_text_handles.c) each lane joins to whole words,
// which it stores; a word that several lanes have bytes of gets the last one's by its store, and the others' by atomic or. Any
// others go by atomic or into a stage that was cleared. The first way touches each word once: with a table that lies in the L1
// cache, such kernels are bound by accesses of shared memory and that cache together.
//
// Others: lanes leave in shared memory where each string ends and where its bytes come from; then every lane makes words of eight
// bytes of what comes out, wherever they begin: it finds the string of the first byte by halving, and goes on from string to
// string until the word is full. Strings of many megabytes are copied one after the other by all lanes.
//
// Loads are of aligned words. Stores are of aligned words but for those at both ends of the place, and of a row that is copied in
// another way than the first, which are stored byte by byte, since the bytes around them are others'.
#include "codegen/simt/simt_text.h"

enum {
    WORD = 8,
    CHUNK = 16,     // bytes that a lane stores at once
    LONG = 1 << 20, // bytes of a row whose places have 32 bits
    KNOWN = 16,     // bytes of shared memory in which a string is known: where it lies, and its length
};

enum { SPARE = 2 * CHUNK }; // of the stage: bytes of the row before, and words of the last piece that are 0

// Shared memory: what is known of a row's strings, or the bytes of a row that is put together.
uint32_t zf_simt_text_bytes(uint32_t wave) { return wave * ZF_TEXT_EACH * KNOWN + SPARE; }

LLVMValueRef zf_simt_text_fits(const zf_simt_text *text, LLVMValueRef v_total) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_most = LLVMConstInt(LLVMTypeOf(v_total), zf_simt_text_bytes(cg->wave) - SPARE, false);
    return zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, v_total, v_most), "rows that fit into the stage");
}

// Strings of a row.
static uint32_t strings_of(const zf_cg *cg) { return cg->wave * ZF_TEXT_EACH; }

void zf_simt_text_tables(zf_simt_text *text, zf_kernel_build *lower, uint32_t at) {
    zf_cg *cg = lower->cg;
    *text = (zf_simt_text){.lower = lower};
    text->v_stage = cg->target->simt->shared(cg, at, zf_simt_text_bytes(cg->wave));
    text->v_ends = text->v_stage;
    text->v_sources = zf_cg_byte_at(cg, text->v_stage, (uint64_t)strings_of(cg) * 4);
}

void zf_simt_text_sum(const zf_simt_text *text, zf_simt_text_row *row) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_own = row->v_lengths[0], v_lane = zf_simt_lane(lower);
    for (unsigned k = 1; k < ZF_TEXT_EACH; k++) v_own = zf_cg_add(cg, v_own, row->v_lengths[k]);
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, v_lane);
    row->v_before = zf_cg_sub(cg, v_up, v_own);
    row->v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
}

// ---- The stage ------------------------------------------------------------------------------------------------

static LLVMTypeRef chunk_type(zf_cg *cg) { return LLVMVectorType(cg->ty_i32, CHUNK / 4); }

static LLVMValueRef stage_at(const zf_simt_text *text, LLVMValueRef v_byte) {
    zf_cg *cg = text->lower->cg;
    return zf_cg_at(cg, cg->ty_i8, text->v_stage, zf_cg_resize(cg, v_byte, cg->ty_i64, false));
}

LLVMValueRef zf_simt_text_word_at(const zf_simt_text *text, LLVMValueRef v_byte) {
    return stage_at(text, zf_cg_and(text->lower->cg, v_byte, zf_cg_i32(text->lower->cg, ~UINT32_C(3))));
}

// Lane l has a chunk of the stage from v_first + l on, and then every next one that no other lane has: the loop over them.
static void chunks_begin(const zf_simt_text *text, zf_turns *chunks, uint32_t first, LLVMValueRef v_stop, const char *name) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_mine = LLVMBuildShl(cg->builder, zf_simt_lane(text->lower), zf_cg_i32(cg, 4), "");
    zf_turns_begin(cg, chunks, zf_cg_add(cg, v_mine, zf_cg_i32(cg, first * CHUNK)), cg->wave * CHUNK, v_stop, name);
}

static void chunks_end(const zf_simt_text *text, zf_turns *chunks) {
    LLVMBasicBlockRef bb_last = zf_cg_here(text->lower->cg);
    zf_turns_end(text->lower->cg, chunks);
    zf_simt_keep_loop(text->lower->cg, bb_last);
}

void zf_simt_text_begin(zf_simt_text *text, LLVMValueRef v_to, LLVMValueRef v_skip, LLVMValueRef v_stop) {
    zf_cg *cg = text->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_address = LLVMBuildPtrToInt(b, v_to, cg->ty_i64, "");
    LLVMValueRef v_lead = zf_cg_and(cg, zf_cg_resize(cg, v_address, cg->ty_i32, false), zf_cg_i32(cg, CHUNK - 1));
    LLVMValueRef v_back = LLVMBuildNeg(b, zf_cg_resize(cg, v_lead, cg->ty_i64, false), "");
    text->limited = v_stop != NULL;
    text->v_base = zf_cg_alloca(cg, LLVMTypeOf(v_to), "base");
    text->v_lead = zf_cg_alloca(cg, cg->ty_i32, "lead");
    text->v_from = zf_cg_alloca(cg, cg->ty_i32, "from");
    text->v_word = zf_cg_alloca(cg, cg->ty_i32, "word");
    LLVMBuildStore(b, zf_cg_at_sink(cg, cg->ty_i8, v_to, v_back), text->v_base);
    LLVMBuildStore(b, v_lead, text->v_lead);
    LLVMBuildStore(b, zf_cg_i32(cg, 0), text->v_word);
    LLVMBuildStore(b, zf_cg_add(cg, v_lead, v_skip), text->v_from);
    if (text->limited) {
        text->v_stop = zf_cg_alloca(cg, cg->ty_i32, "stop");
        LLVMBuildStore(b, zf_cg_add(cg, v_lead, v_stop), text->v_stop);
    }
}

static LLVMValueRef less(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_by) { return zf_cg_sub(cg, v, zf_cg_umin(cg, v, v_by)); }

// The stage begins v_bytes (i32 or i64, a multiple of a chunk) further.
static void advance(const zf_simt_text *text, LLVMValueRef v_bytes) {
    zf_cg *cg = text->lower->cg;
    LLVMTypeRef ty = LLVMTypeOf(v_bytes);
    LLVMValueRef v_further =
        zf_cg_at_sink(cg, cg->ty_i8, zf_cg_get(cg, text->v_base), zf_cg_resize(cg, v_bytes, cg->ty_i64, false));
    LLVMBuildStore(cg->builder, v_further, text->v_base);
    LLVMValueRef v_from = less(cg, zf_cg_resize(cg, zf_cg_get(cg, text->v_from), ty, false), v_bytes);
    LLVMBuildStore(cg->builder, zf_cg_resize(cg, v_from, cg->ty_i32, false), text->v_from);
    if (!text->limited) return;
    LLVMValueRef v_stop = less(cg, zf_cg_resize(cg, zf_cg_get(cg, text->v_stop), ty, false), v_bytes);
    LLVMBuildStore(cg->builder, zf_cg_resize(cg, v_stop, cg->ty_i32, false), text->v_stop);
}

// Clears the stage for a row of v_total bytes (i32). Returns where the row's first byte is in the stage (i32).
static LLVMValueRef clear_stage(const zf_simt_text *text, LLVMValueRef v_total) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_lead = zf_cg_get(cg, text->v_lead), v_lane = zf_simt_lane(lower), v_end = zf_cg_add(cg, v_lead, v_total);
    zf_simt_barrier(lower, "the strings before are copied");
    zf_turns chunks; // but the first, and what pieces touch behind the last
    chunks_begin(text, &chunks, 1, zf_cg_add(cg, v_end, zf_cg_i32(cg, CHUNK)), "stage_clear");
    zf_cg_store(cg, LLVMConstNull(chunk_type(cg)), stage_at(text, chunks.v_i), CHUNK);
    chunks_end(text, &chunks);
    // The first chunk's words: what is there, nothing else of the word where that ends, and nothing behind it.
    LLVMValueRef v_at = LLVMBuildShl(b, v_lane, zf_cg_i32(cg, 2), ""),
                 v_there = zf_cg_and(cg, v_lead, zf_cg_i32(cg, ~UINT32_C(3)));
    LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULT, v_at, zf_cg_i32(cg, CHUNK)), v_is = zf_cg_icmp(cg, LLVMIntEQ, v_at, v_there);
    LLVMValueRef v_word = zf_cg_select(cg, v_is, zf_cg_get(cg, text->v_word), zf_cg_i32(cg, 0));
    v_in = zf_cg_and(cg, v_in, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntUGE, v_at, v_there), "words before the row"));
    zf_simt_store_word_if(cg, v_in, v_word, stage_at(text, v_at));
    zf_simt_barrier(lower, "the stage is clear");
    return v_lead;
}

// Stores the bytes of the chunk at v_at that have a place, one by one: seldom run.
static void store_part(const zf_simt_text *text, LLVMValueRef v_at) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_after = zf_cg_add(cg, v_at, zf_cg_i32(cg, CHUNK)), v_from = zf_cg_get(cg, text->v_from);
    LLVMValueRef v_first = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_from, v_at), v_from, v_at);
    if (text->limited) v_after = zf_cg_umin(cg, v_after, zf_cg_get(cg, text->v_stop));
    zf_turns bytes;
    zf_turns_begin(cg, &bytes, v_first, 1, v_after, "chunk_byte");
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, zf_cg_get(cg, text->v_base), zf_cg_resize(cg, bytes.v_i, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, cg->ty_i8, stage_at(text, bytes.v_i), 1), v_to, 1);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_turns_end(cg, &bytes);
    zf_simt_keep_loop(cg, bb_last);
}

void zf_simt_text_flush(const zf_simt_text *text, LLVMValueRef v_total) {
    zf_cg *cg = text->lower->cg;
    LLVMTypeRef ty = chunk_type(cg);
    LLVMValueRef v_lane = zf_simt_lane(text->lower), v_end = zf_cg_add(cg, zf_cg_get(cg, text->v_lead), v_total);
    LLVMValueRef v_whole = zf_cg_and(cg, v_end, zf_cg_i32(cg, ~(uint32_t)(CHUNK - 1)));
    zf_simt_barrier(text->lower, "strings are put together");
    zf_turns chunks;
    chunks_begin(text, &chunks, 0, v_whole, "stage_store");
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "chunk_whole"), bb_part = zf_cg_block(cg, "chunk_part"),
                      bb_stored = zf_cg_block(cg, "chunk_stored");
    LLVMValueRef v_chunk = stage_at(text, chunks.v_i),
                 v_all = zf_cg_icmp(cg, LLVMIntUGE, chunks.v_i, zf_cg_get(cg, text->v_from));
    v_all = zf_cg_within(cg, v_all, "bytes before the place");
    if (text->limited) {
        LLVMValueRef v_after = zf_cg_add(cg, chunks.v_i, zf_cg_i32(cg, CHUNK));
        LLVMValueRef v_ended = zf_cg_icmp(cg, LLVMIntULE, v_after, zf_cg_get(cg, text->v_stop));
        v_all = zf_cg_and(cg, v_all, zf_cg_within(cg, v_ended, "bytes behind the place"));
    }
    zf_cg_cond_br(cg, v_all, bb_whole, bb_part);
    zf_cg_enter(cg, bb_whole);
    LLVMValueRef v_to =
        zf_cg_at_sink(cg, cg->ty_i8, zf_cg_get(cg, text->v_base), zf_cg_resize(cg, chunks.v_i, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, ty, v_chunk, CHUNK), v_to, CHUNK);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_part);
    store_part(text, chunks.v_i);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    chunks_end(text, &chunks);
    LLVMBuildStore(cg->builder, zf_cg_load(cg, cg->ty_i32, zf_simt_text_word_at(text, v_end), 4), text->v_word);
    // The lane that stored the first chunk moves there what remains.
    LLVMBasicBlockRef bb_move = zf_cg_block(cg, "rest"), bb_moved = zf_cg_block(cg, "rest_moved");
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntEQ, v_lane, zf_cg_i32(cg, 0));
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_whole, zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, zf_cg_and(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_mine, "the lane that moves what remains"), v_some), bb_move,
                  bb_moved);
    zf_cg_enter(cg, bb_move);
    zf_cg_store(cg, zf_cg_load(cg, ty, stage_at(text, v_whole), CHUNK), text->v_stage, CHUNK);
    zf_cg_br(cg, bb_moved);
    zf_cg_enter(cg, bb_moved);
    LLVMBuildStore(cg->builder, zf_cg_and(cg, v_end, zf_cg_i32(cg, CHUNK - 1)), text->v_lead);
    advance(text, v_whole);
}

void zf_simt_text_end(const zf_simt_text *text) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_lane = zf_simt_lane(text->lower), v_end = zf_cg_get(cg, text->v_lead);
    if (text->limited) v_end = zf_cg_umin(cg, v_end, zf_cg_get(cg, text->v_stop));
    zf_simt_barrier(text->lower, "the last row is put together");
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "rest_byte"), bb_stored = zf_cg_block(cg, "rest_stored");
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, v_lane, zf_cg_get(cg, text->v_from)),
                 v_is = zf_cg_icmp(cg, LLVMIntULT, v_lane, v_end);
    v_is = zf_cg_and(cg, zf_cg_within(cg, v_begun, "bytes before the place"), zf_cg_within(cg, v_is, "bytes behind the place"));
    zf_cg_cond_br(cg, v_is, bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, zf_cg_get(cg, text->v_base), zf_cg_resize(cg, v_lane, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, cg->ty_i8, stage_at(text, v_lane), 1), v_to, 1);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

// ---- Long strings ---------------------------------------------------------------------------------------------

static LLVMValueRef entry(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_table, LLVMValueRef v_index) {
    return zf_cg_at(cg, ty, v_table, zf_cg_resize(cg, v_index, cg->ty_i64, false));
}

// Leaves the row in shared memory, before a barrier: it is read by all.
static void leave(const zf_simt_text *text, const zf_simt_text_row *row) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_first = zf_cg_mul(cg, zf_simt_lane(lower), zf_cg_i32(cg, ZF_TEXT_EACH)), v_begin = row->v_before;
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_index = zf_cg_add(cg, v_first, zf_cg_i32(cg, k));
        zf_cg_store(cg, zf_cg_sub(cg, row->v_sources[k], v_begin), entry(cg, cg->ty_i64, text->v_sources, v_index), 8);
        v_begin = zf_cg_add(cg, v_begin, row->v_lengths[k]);
        LLVMValueRef v_end = zf_cg_resize(cg, v_begin, cg->ty_i32, false);
        zf_cg_store(cg, v_end, entry(cg, cg->ty_i32, text->v_ends, v_index), 4);
    }
    zf_simt_barrier(lower, "strings are known");
}

// The number of the string that has byte v_at of the part, which has one (i32): the first that ends behind it.
static LLVMValueRef string_of(const zf_simt_text *text, LLVMValueRef v_at) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_string = zf_cg_i32(cg, 0);
    for (uint32_t step = strings_of(cg) / 2; step > 0; step /= 2) {
        LLVMValueRef v_probe = zf_cg_add(cg, v_string, zf_cg_i32(cg, step - 1));
        LLVMValueRef v_end = zf_cg_load(cg, cg->ty_i32, entry(cg, cg->ty_i32, text->v_ends, v_probe), 4);
        LLVMValueRef v_further = zf_cg_icmp(cg, LLVMIntULE, v_end, v_at);
        v_string = zf_cg_select(cg, v_further, zf_cg_add(cg, v_string, zf_cg_i32(cg, step)), v_string);
    }
    return v_string;
}

static LLVMValueRef load_at(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_address, unsigned size) {
    LLVMTypeRef ty_pointer = LLVMPointerTypeInContext(cg->context, cg->target->simt->global_space);
    return zf_cg_load(cg, ty, LLVMBuildIntToPtr(cg->builder, v_address, ty_pointer, ""), size);
}

static LLVMValueRef load_word(zf_cg *cg, LLVMValueRef v_address) { return load_at(cg, cg->ty_i64, v_address, 8); }

static LLVMValueRef bits_of(zf_cg *cg, LLVMValueRef v_bytes) { // 8 * bytes, as i64
    return zf_cg_resize(cg, LLVMBuildShl(cg->builder, v_bytes, zf_cg_i32(cg, 3), ""), cg->ty_i64, false);
}

// v_count bytes (i32, 1 to 8) from an address on, as the lowest of a word; those above are anything. The second word is loaded
// only where it has some of them: behind the string there may be nothing.
static LLVMValueRef load_bytes(zf_cg *cg, LLVMValueRef v_address, LLVMValueRef v_count) {
    LLVMValueRef v_in = zf_cg_and(cg, zf_cg_resize(cg, v_address, cg->ty_i32, false), zf_cg_i32(cg, 7));
    LLVMValueRef v_aligned = zf_cg_and(cg, v_address, zf_cg_i64(cg, ~UINT64_C(7)));
    LLVMValueRef v_shift = bits_of(cg, v_in), v_low = load_word(cg, v_aligned);
    LLVMBasicBlockRef bb_one = zf_cg_here(cg), bb_two = zf_cg_block(cg, "word_next"), bb_all = zf_cg_block(cg, "word");
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntUGT, zf_cg_add(cg, v_in, v_count), zf_cg_i32(cg, WORD));
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

// Bytes v_from..v_end of the part (i32), at most eight, at their places of a word that begins at v_begin.
static LLVMValueRef gather(const zf_simt_text *text, LLVMValueRef v_begin, LLVMValueRef v_from, LLVMValueRef v_end) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_none = zf_cg_i64(cg, 0), v_string0 = string_of(text, v_from);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_piece = zf_cg_block(cg, "piece"), bb_done = zf_cg_block(cg, "gathered");
    zf_cg_br(cg, bb_piece);
    zf_cg_enter(cg, bb_piece);
    LLVMValueRef v_at = LLVMBuildPhi(cg->builder, cg->ty_i32, "at"), v_word = LLVMBuildPhi(cg->builder, cg->ty_i64, "word"),
                 v_string = LLVMBuildPhi(cg->builder, cg->ty_i32, "string");
    LLVMAddIncoming(v_at, &v_from, &bb_before, 1);
    LLVMAddIncoming(v_word, &v_none, &bb_before, 1);
    LLVMAddIncoming(v_string, &v_string0, &bb_before, 1);
    LLVMValueRef v_string_end = zf_cg_load(cg, cg->ty_i32, entry(cg, cg->ty_i32, text->v_ends, v_string), 4);
    LLVMValueRef v_source = zf_cg_load(cg, cg->ty_i64, entry(cg, cg->ty_i64, text->v_sources, v_string), 8);
    LLVMValueRef v_stop = zf_cg_umin(cg, v_string_end, v_end), v_count = zf_cg_sub(cg, v_stop, v_at);
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "piece_some"), bb_next = zf_cg_block(cg, "piece_next");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_count, zf_cg_i32(cg, 0)), bb_some, bb_next); // strings between may be empty
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_address = zf_cg_add(cg, v_source, zf_cg_resize(cg, v_at, cg->ty_i64, false));
    LLVMValueRef v_bytes = load_bytes(cg, v_address, v_count);
    // The lowest 8 * count bits, count being 1 to 8.
    LLVMValueRef v_spare = bits_of(cg, zf_cg_sub(cg, zf_cg_i32(cg, WORD), v_count));
    LLVMValueRef v_mask = LLVMBuildLShr(cg->builder, zf_cg_i64(cg, UINT64_MAX), v_spare, "");
    v_bytes = zf_cg_mask(cg, v_bytes, v_mask, "bytes of a string in a word");
    LLVMValueRef v_place = bits_of(cg, zf_cg_sub(cg, v_at, v_begin));
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
    LLVMTypeRef ty = cg->ty_i64;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_resize(cg, v_from, ty, false), zf_cg_resize(cg, v_end, ty, false), "byte");
    LLVMValueRef v_shift = bits_of(cg, zf_cg_sub(cg, zf_cg_resize(cg, loop.v_i, cg->ty_i32, false), v_begin));
    LLVMValueRef v = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_word, v_shift, ""), cg->ty_i8, false);
    zf_cg_store(cg, v, zf_cg_at_sink(cg, cg->ty_i8, v_to, loop.v_i), 1);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

static void copy_long(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total, LLVMValueRef v_to) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    leave(text, row);
    LLVMValueRef v_part = zf_cg_resize(cg, v_total, cg->ty_i32, false);
    // Word w has bytes 8 * w - lead on, so that it is aligned where it goes.
    LLVMValueRef v_address = LLVMBuildPtrToInt(cg->builder, v_to, cg->ty_i64, ""), v_three = zf_cg_i32(cg, 3);
    LLVMValueRef v_lead = zf_cg_and(cg, zf_cg_resize(cg, v_address, cg->ty_i32, false), zf_cg_i32(cg, WORD - 1));
    LLVMValueRef v_words =
        LLVMBuildLShr(cg->builder, zf_cg_add(cg, zf_cg_add(cg, v_part, v_lead), zf_cg_i32(cg, WORD - 1)), v_three, "");
    LLVMValueRef v_lane = zf_simt_lane(lower), v_left = zf_cg_sub(cg, v_words, zf_cg_umin(cg, v_lane, v_words));
    LLVMValueRef v_turns = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_left, zf_cg_i32(cg, cg->wave - 1)),
                                         zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_resize(cg, v_turns, cg->ty_i64, false), "words");
    LLVMValueRef v_turn = zf_cg_resize(cg, loop.v_i, cg->ty_i32, false);
    LLVMValueRef v_number = zf_cg_add(cg, LLVMBuildShl(cg->builder, v_turn, zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), ""), v_lane);
    LLVMValueRef v_begin = zf_cg_sub(cg, LLVMBuildShl(cg->builder, v_number, v_three, ""), v_lead); // below 0 for the first
    LLVMValueRef v_zero = zf_cg_i32(cg, 0);
    LLVMValueRef v_from = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_number, v_zero), v_zero, v_begin);
    LLVMValueRef v_end = zf_cg_umin(cg, zf_cg_add(cg, v_begin, zf_cg_i32(cg, WORD)), v_part);
    LLVMValueRef v_word = gather(text, v_begin, v_from, v_end);
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "word_whole"), bb_some = zf_cg_block(cg, "word_some"),
                      bb_stored = zf_cg_block(cg, "word_stored");
    LLVMValueRef v_low = v_from, v_high = v_end;
    if (text->limited) {
        LLVMValueRef v_lead_now = zf_cg_get(cg, text->v_lead), v_first = less(cg, zf_cg_get(cg, text->v_from), v_lead_now);
        v_low = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_first, v_from), v_first, v_from);
        v_high = zf_cg_umin(cg, v_end, less(cg, zf_cg_get(cg, text->v_stop), v_lead_now));
    }
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_sub(cg, v_high, v_low), zf_cg_i32(cg, WORD));
    zf_cg_cond_br(cg, zf_cg_within(cg, v_full, "words whose bytes are all the row's"), bb_whole, bb_some);
    zf_cg_enter(cg, bb_whole);
    zf_cg_store(cg, v_word, zf_cg_at_sink(cg, cg->ty_i8, v_to, zf_cg_resize(cg, v_begin, cg->ty_i64, false)), WORD);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_some);
    store_bytes(cg, v_word, v_to, v_begin, v_low, v_high);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// ---- Huge ones ------------------------------------------------------------------------------------------------

// One string after the other, each by all lanes.
static void copy_huge(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total, LLVMValueRef v_to) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = LLVMArrayType2(cg->ty_i64, 2);
    LLVMValueRef v_lane = zf_simt_lane(lower), v_first = zf_cg_mul(cg, v_lane, zf_cg_i32(cg, ZF_TEXT_EACH));
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_at = entry(cg, ty, text->v_stage, zf_cg_add(cg, v_first, zf_cg_i32(cg, k)));
        zf_cg_store(cg, row->v_sources[k], v_at, 8);
        zf_cg_store(cg, row->v_lengths[k], zf_cg_byte_at(cg, v_at, 8), 8);
    }
    zf_simt_barrier(lower, "strings are known");
    LLVMValueRef v_place = zf_cg_alloca(cg, cg->ty_i64, "place");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_place);
    v_lane = zf_cg_resize(cg, v_lane, cg->ty_i64, false);
    zf_cg_loop strings, bytes;
    zf_cg_loop_begin(cg, &strings, zf_cg_i64(cg, 0), zf_cg_i64(cg, strings_of(cg)), "string");
    LLVMValueRef v_at = zf_cg_at(cg, ty, text->v_stage, strings.v_i), v_source = zf_cg_load(cg, cg->ty_i64, v_at, 8);
    LLVMValueRef v_length = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_at, 8), 8);
    LLVMValueRef v_here = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_place, "");
    // No more than there is room for, whatever the lengths say: v_total is the same for all.
    v_length = zf_cg_umin(cg, v_length, zf_cg_sub(cg, v_total, v_here));
    LLVMValueRef v_left = zf_cg_sub(cg, v_length, zf_cg_umin(cg, v_lane, v_length));
    LLVMValueRef v_turns = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_left, zf_cg_i64(cg, cg->wave - 1)),
                                         zf_cg_i64(cg, zf_simt_lane_bits_of(cg)), "");
    zf_cg_loop_begin(cg, &bytes, zf_cg_i64(cg, 0), v_turns, "string_byte");
    LLVMValueRef v_byte =
        zf_cg_add(cg, LLVMBuildShl(cg->builder, bytes.v_i, zf_cg_i64(cg, zf_simt_lane_bits_of(cg)), ""), v_lane);
    LLVMValueRef v = load_at(cg, cg->ty_i8, zf_cg_add(cg, v_source, v_byte), 1);
    zf_cg_store(cg, v, zf_cg_at_sink(cg, cg->ty_i8, v_to, zf_cg_add(cg, v_here, v_byte)), 1);
    zf_cg_loop_end(cg, &bytes);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_here, v_length), v_place);
    zf_cg_loop_end(cg, &strings);
    zf_simt_unroll(cg, &strings, 1);
}

// ---- Short strings --------------------------------------------------------------------------------------------

static LLVMValueRef low_bytes(zf_cg *cg, LLVMValueRef v_bytes) { // a mask of that many bytes (1 to 4)
    LLVMValueRef v_spare = LLVMBuildShl(cg->builder, zf_cg_sub(cg, zf_cg_i32(cg, 4), v_bytes), zf_cg_i32(cg, 3), "");
    return LLVMBuildLShr(cg->builder, zf_cg_i32(cg, UINT32_MAX), v_spare, "");
}

static LLVMValueRef stage_word(const zf_simt_text *text, LLVMValueRef v_word) {
    zf_cg *cg = text->lower->cg;
    return zf_cg_at(cg, cg->ty_i32, text->v_stage, zf_cg_resize(cg, v_word, cg->ty_i64, false));
}

static void or_word(const zf_simt_text *text, LLVMValueRef v_word, LLVMValueRef v) {
    LLVMBuildAtomicRMW(text->lower->cg->builder, LLVMAtomicRMWBinOpOr, stage_word(text, v_word), v, LLVMAtomicOrderingMonotonic,
                       0);
}

// A string of v_count bytes (i32) to byte v_place (i32) of the stage.
static void put(const zf_simt_text *text, LLVMValueRef v_source, LLVMValueRef v_count, LLVMValueRef v_place) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_two = zf_cg_i32(cg, 2), v_three = zf_cg_i32(cg, 3), v_four = zf_cg_i64(cg, 4);
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "put"), bb_done = zf_cg_block(cg, "put_done");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_count, zf_cg_i32(cg, 0)), bb_some, bb_done);
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_end = zf_cg_add(cg, v_place, v_count), v_in = zf_cg_and(cg, v_place, v_three);
    LLVMValueRef v_first = LLVMBuildLShr(cg->builder, v_place, v_two, "");
    LLVMValueRef v_last = LLVMBuildLShr(cg->builder, zf_cg_sub(cg, v_end, zf_cg_i32(cg, 1)), v_two, "");
    // The address of what comes to the first word's first byte, which may be before the string.
    LLVMValueRef v_from = zf_cg_sub(cg, v_source, zf_cg_resize(cg, v_in, cg->ty_i64, false));
    LLVMValueRef v_shift = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_from, cg->ty_i32, false), v_three, ""); // modulo 32
    LLVMValueRef v_aligned = zf_cg_and(cg, v_from, zf_cg_i64(cg, ~UINT64_C(3)));
    LLVMBasicBlockRef bb_here = zf_cg_here(cg), bb_low = zf_cg_block(cg, "put_low"), bb_high = zf_cg_block(cg, "put_high");
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntUGE, v_aligned, zf_cg_and(cg, v_source, zf_cg_i64(cg, ~UINT64_C(3))));
    zf_cg_cond_br(cg, v_inside, bb_low, bb_high);
    zf_cg_enter(cg, bb_low);
    LLVMValueRef v_there = load_at(cg, cg->ty_i32, v_aligned, 4);
    zf_cg_br(cg, bb_high);
    zf_cg_enter(cg, bb_high);
    LLVMValueRef v_low = zf_cg_phi2(cg, cg->ty_i32, zf_cg_i32(cg, 0), bb_here, v_there, bb_low);
    v_aligned = zf_cg_add(cg, v_aligned, v_four);
    // The word that has the string's last byte: behind it nothing may be that can be read, since the bytes lie in a handle.
    LLVMValueRef v_behind = zf_cg_add(cg, v_source, zf_cg_resize(cg, v_count, cg->ty_i64, false));
    LLVMValueRef v_final = zf_cg_and(cg, zf_cg_sub(cg, v_behind, zf_cg_i64(cg, 1)), zf_cg_i64(cg, ~UINT64_C(3)));
    LLVMValueRef v_high = load_at(cg, cg->ty_i32, zf_cg_umin(cg, v_aligned, v_final), 4);
    // The last word's bytes: all four, or up to the string's end.
    LLVMValueRef v_tail = zf_cg_sub(cg, v_end, LLVMBuildShl(cg->builder, v_last, v_two, "")), v_tail_mask = low_bytes(cg, v_tail);
    LLVMValueRef v_head_mask =
        LLVMBuildShl(cg->builder, zf_cg_i32(cg, UINT32_MAX), LLVMBuildShl(cg->builder, v_in, v_three, ""), "");
    LLVMValueRef v_one = zf_cg_icmp(cg, LLVMIntEQ, v_first, v_last);
    v_head_mask = zf_cg_and(cg, v_head_mask, zf_cg_select(cg, v_one, v_tail_mask, zf_cg_i32(cg, UINT32_MAX)));
    LLVMValueRef v_head = zf_cg_funnel(cg, false, v_high, v_low, v_shift);
    or_word(text, v_first, zf_cg_mask(cg, v_head, v_head_mask, "bytes of a string's first word"));
    LLVMBasicBlockRef bb_more = zf_cg_block(cg, "put_more");
    zf_cg_cond_br(cg, v_one, bb_done, bb_more);
    zf_cg_enter(cg, bb_more);
    // Words between are this string's alone.
    LLVMValueRef v_slot = zf_cg_alloca(cg, cg->ty_i32, "low"), v_number = zf_cg_sub(cg, v_last, v_first);
    LLVMBuildStore(cg->builder, v_high, v_slot);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 1), zf_cg_resize(cg, v_number, cg->ty_i64, false), "put_word");
    LLVMValueRef v_next =
        load_at(cg, cg->ty_i32, zf_cg_add(cg, v_aligned, LLVMBuildShl(cg->builder, loop.v_i, zf_cg_i64(cg, 2), "")), 4);
    LLVMValueRef v_here = zf_cg_funnel(cg, false, v_next, LLVMBuildLoad2(cg->builder, cg->ty_i32, v_slot, ""), v_shift);
    zf_cg_store(cg, v_here, stage_word(text, zf_cg_add(cg, v_first, zf_cg_resize(cg, loop.v_i, cg->ty_i32, false))), 4);
    LLVMBuildStore(cg->builder, v_next, v_slot);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    LLVMValueRef v_away = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_number, cg->ty_i64, false), zf_cg_i64(cg, 2), "");
    v_next = load_at(cg, cg->ty_i32, zf_cg_umin(cg, zf_cg_add(cg, v_aligned, v_away), v_final), 4);
    v_here = zf_cg_funnel(cg, false, v_next, LLVMBuildLoad2(cg->builder, cg->ty_i32, v_slot, ""), v_shift);
    or_word(text, v_last, zf_cg_mask(cg, v_here, v_tail_mask, "bytes of a string's last word"));
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

static void copy_short(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total) {
    zf_cg *cg = text->lower->cg;
    LLVMValueRef v_sum = zf_cg_resize(cg, v_total, cg->ty_i32, false);
    LLVMValueRef v_place = zf_cg_add(cg, clear_stage(text, v_sum), zf_cg_resize(cg, row->v_before, cg->ty_i32, false));
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_count = zf_cg_resize(cg, row->v_lengths[k], cg->ty_i32, false);
        put(text, row->v_sources[k], v_count, v_place);
        v_place = zf_cg_add(cg, v_place, v_count);
    }
    zf_simt_text_flush(text, v_sum);
}

// ---- Rows -----------------------------------------------------------------------------------------------------

void zf_simt_text_copy_long(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total) {
    zf_cg *cg = text->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_lead = zf_cg_resize(cg, zf_cg_get(cg, text->v_lead), cg->ty_i64, false);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, zf_cg_get(cg, text->v_base), v_lead);
    zf_simt_text_end(text);
    zf_simt_barrier(text->lower, "the strings before are stored");
    if (text->limited) { // to less than LONG
        copy_long(text, row, v_total, v_to);
    } else {
        LLVMBasicBlockRef bb_long = zf_cg_block(cg, "text_long"), bb_huge = zf_cg_block(cg, "text_huge"),
                          bb_copied = zf_cg_block(cg, "text_long_copied");
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULE, v_total, zf_cg_i64(cg, LONG)), bb_long, bb_huge);
        zf_cg_enter(cg, bb_huge);
        copy_huge(text, row, v_total, v_to);
        zf_cg_br(cg, bb_copied);
        zf_cg_enter(cg, bb_long);
        copy_long(text, row, v_total, v_to);
        zf_cg_br(cg, bb_copied);
        zf_cg_enter(cg, bb_copied);
    }
    LLVMBuildStore(b, zf_cg_i32(cg, 0), text->v_word);
    LLVMValueRef v_end = zf_cg_add(cg, v_lead, v_total);
    LLVMValueRef v_rest = zf_cg_and(cg, zf_cg_low_half(cg, v_end), zf_cg_i32(cg, CHUNK - 1));
    LLVMBuildStore(b, v_rest, text->v_lead);
    advance(text, zf_cg_and(cg, v_end, zf_cg_i64(cg, ~(uint64_t)(CHUNK - 1))));
    LLVMValueRef v_from = zf_cg_get(cg, text->v_from); // bytes before the next row are stored
    LLVMBuildStore(b, zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_from, v_rest), v_from, v_rest), text->v_from);
}

void zf_simt_text_copy(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total) {
    zf_kernel_build *lower = text->lower;
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_short = zf_cg_block(cg, "text_short"), bb_more = zf_cg_block(cg, "text_more"),
                      bb_copied = zf_cg_block(cg, "text_copied"), bb_some = zf_cg_block(cg, "text_some");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_total, zf_cg_i64(cg, 0)), bb_some, bb_copied); // all lanes the same
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_any = zf_cg_i1(cg, false);
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        v_any = zf_cg_or(cg, v_any, zf_cg_icmp(cg, LLVMIntUGT, row->v_lengths[k], zf_cg_i64(cg, ZF_TEXT_ALONE)));
    }
    LLVMValueRef v_fits = zf_simt_text_fits(text, v_total);
    zf_cg_cond_br(cg, zf_cg_and(cg, v_fits, zf_cg_not(cg, zf_simt_any(lower, v_any))), bb_short, bb_more);
    zf_cg_enter(cg, bb_short);
    copy_short(text, row, v_total);
    zf_cg_br(cg, bb_copied);
    zf_cg_enter(cg, bb_more);
    zf_simt_text_copy_long(text, row, v_total);
    zf_cg_br(cg, bb_copied);
    zf_cg_enter(cg, bb_copied);
}

// Groups that are strings: element j of group g is byte j of a string that g alone says, as in a list of words. A warp makes
// several tiles of the bytes together (simt_span.h): row by row its lanes find the strings of C groups a lane and put them into
// shared memory, from where they are stored 16 bytes a lane at a time.
//
// A string is taken in pieces of sixteen bytes, which are moved to where they go by one shift, and go into the stage by atomic
// or: neighbours share words. Those of up to sixteen bytes are in their handles, which are all that is loaded of them: gathers
// are what such a kernel waits for. Up to SHORT bytes are put by their lane, of a longer string all lanes put pieces.
//
// The file says where each tile begins and ends among the groups. All of these states must be met on the way. Where anything is
// not as it should be nothing is stored, and one thread makes the tiles one by one, as on the host (lower->simt->v_slow): it
// tells what is wrong, and where.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/groups/simt_span.h"
#include "codegen/simt/simt_choices.h"
#include "codegen/simt/simt_handles.h"
#include "codegen/simt/simt_text.h"

enum {
    STRINGS = 4,    // that a lane brings, each of which takes five words until it is put
    PIECE = 16,     // bytes of a string that are moved at once
    SHORT = 64,     // of a string: a lane puts it alone
    MORE_BIT = 20,  // of sums of lengths of up to 32 lanes, behind those: how many lanes have a string of several pieces,
    LONG_BIT = 26,  // and above, a long one
    MOST = 1 << 12, // bytes that a warp makes
    REGISTERS = 64,
};

typedef struct words {
    zf_simt_span span;
    const zf_expr *access; // the string
    LLVMValueRef v_stage;
    LLVMValueRef v_low[STRINGS], v_high[STRINGS]; // slots (i64): the strings' handles
} words;

enum { STAGE = MOST + 2 * ZF_SPAN_CHUNK };

// Tiles of so many bytes that a warp makes together; 0: one is too large or too small.
static uint32_t span_of(uint32_t tile) { return tile > MOST || tile < MOST / ZF_SPAN_TILES ? 0 : MOST / tile; }

bool zf_form_words_fits(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_form_makes_groups(plan, kernel) && span_of(kernel->tile) > 0 && kernel->sink >= 0 &&
           zf_group_string(plan, kernel) != NULL;
}

zf_simt_shape zf_form_words_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t span = span_of(kernel->tile);
    return (zf_simt_shape){.threads = plan->target->wave,
                           .tiles = 1,
                           .span = span,
                           .shared_bytes = STAGE + zf_simt_span_kept_bytes(span),
                           .registers = REGISTERS,
                           .slow = true};
}

void zf_form_words_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    (void)plan, (void)kernel;
    zf_choice_allow(space, ZF_CHOICE_THREADS, shape->threads); // the layout of shared memory is for so many
}

// ---- The strings of a row -------------------------------------------------------------------------------------

// The string of a group and its size; `env` says where.
static void take(zf_simt_span *s, zf_kernel_env *env, unsigned k) {
    words *w = (words *)s;
    zf_kernel_build *lower = s->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_size = zf_cg_resize(cg, zf_cg_eval_body(cg, &env->env, &env->env.inst->size).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    env->v_j = zf_cg_i64(cg, 0);
    zf_cg_value text = zf_cg_eval_expr(cg, &env->env, &env->env.inst->decode, w->access->a, NULL, 0);
    cg->v_guard = NULL;
    if (!w->access->proved) {
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_size, text.seq.v_length);
        zf_simt_span_note(s, v_over, "V01, of a group's string");
        v_size = zf_cg_select(cg, v_over, zf_cg_i64(cg, 0), v_size);
    }
    LLVMValueRef v_source = zf_lower_text_address(lower, &text), v_low = v_source, v_high = zf_cg_i64(cg, UINT64_MAX);
    if (text.seq.v_handle != NULL) { // else, and where a group has less than its string, it is taken from where it lies
        LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntEQ, v_size, text.seq.v_length);
        LLVMValueRef v_first = LLVMBuildExtractElement(cg->builder, text.seq.v_handle, zf_cg_i32(cg, 0), ""),
                     v_second = LLVMBuildExtractElement(cg->builder, text.seq.v_handle, zf_cg_i32(cg, 1), "");
        v_low = zf_cg_select(cg, v_whole, v_first, v_low);
        v_high = zf_cg_select(cg, v_whole, v_second, v_high);
    }
    LLVMBuildStore(cg->builder, v_source, s->v_sources[k]);
    LLVMBuildStore(cg->builder, v_size, s->v_lengths[k]);
    LLVMBuildStore(cg->builder, v_low, w->v_low[k]);
    LLVMBuildStore(cg->builder, v_high, w->v_high[k]);
}

// A string that is cut is taken from where it lies in memory, as a long one is; one of which all is left stays as it is.
static LLVMValueRef cut(zf_simt_span *s, unsigned k, LLVMValueRef v_source, LLVMValueRef v_from) {
    words *w = (words *)s;
    zf_cg *cg = s->lower->cg;
    LLVMBuilderRef b = cg->builder;
    v_source = zf_cg_add(cg, v_source, v_from);
    LLVMValueRef v_low = LLVMBuildLoad2(b, cg->ty_i64, w->v_low[k], ""), v_high = LLVMBuildLoad2(b, cg->ty_i64, w->v_high[k], "");
    LLVMValueRef v_length = LLVMBuildLoad2(b, cg->ty_i64, s->v_lengths[k], "");
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntEQ, v_length, zf_simt_handle_short_length(cg, v_high));
    v_whole = zf_cg_and(cg, v_whole, zf_cg_not(cg, zf_simt_handle_is_long(cg, v_high)));
    LLVMBuildStore(b, zf_cg_select(cg, v_whole, v_low, v_source), w->v_low[k]);
    LLVMBuildStore(b, zf_cg_select(cg, v_whole, v_high, zf_cg_i64(cg, UINT64_MAX)), w->v_high[k]);
    return v_source;
}

// ---- Putting them together ------------------------------------------------------------------------------------

typedef struct row {
    zf_span_row in;
    LLVMValueRef v_more, v_long; // i1: whether any lane has a string of several pieces, a long one
} row;

// Into word `number` behind a place in the stage, where v_if (NULL: always; most pieces touch three, and a branch costs more).
static void or_word(words *w, LLVMValueRef v_place, unsigned number, LLVMValueRef v, LLVMValueRef v_if) {
    zf_cg *cg = w->span.lower->cg;
    LLVMBasicBlockRef bb_next = v_if != NULL ? zf_cg_block(cg, "piece_next") : NULL;
    if (bb_next != NULL) {
        LLVMBasicBlockRef bb_or = zf_cg_block(cg, "piece_or");
        zf_cg_cond_br(cg, v_if, bb_or, bb_next);
        zf_cg_enter(cg, bb_or);
    }
    LLVMValueRef v_at = zf_cg_byte_at(cg, v_place, 4 * (uint64_t)number);
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_at, v, LLVMAtomicOrderingMonotonic, 0);
    if (bb_next == NULL) return;
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

static LLVMValueRef more_than(zf_cg *cg, LLVMValueRef v, uint32_t bytes) {
    return zf_cg_icmp(cg, LLVMIntUGT, v, zf_cg_i32(cg, bytes));
}

// v_count bytes (i32, 0 to 16), 0 behind them, to byte v_place (i32) of the stage.
static void or_piece(words *w, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_count, LLVMValueRef v_place) {
    zf_cg *cg = w->span.lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_three = zf_cg_i32(cg, 3);
    // Its place is 0 to 3 bytes into a word: up to five words.
    LLVMValueRef v_in = zf_cg_and(cg, v_place, v_three), v_stop = zf_cg_add(cg, v_in, v_count);
    LLVMValueRef v_up = zf_cg_resize(cg, LLVMBuildShl(b, v_in, v_three, ""), cg->ty_i64, false);
    LLVMValueRef v_middle = zf_cg_both_halves(cg, zf_cg_high_half(cg, v_low), zf_cg_low_half(cg, v_high));
    LLVMValueRef v_last = zf_cg_both_halves(cg, zf_cg_high_half(cg, v_high), zf_cg_i32(cg, 0));
    LLVMValueRef v_byte = zf_cg_resize(cg, zf_cg_and(cg, v_place, zf_cg_i32(cg, ~UINT32_C(3))), cg->ty_i64, false);
    v_byte = zf_cg_at(cg, cg->ty_i8, w->v_stage, v_byte);
    v_low = LLVMBuildShl(b, v_low, v_up, "");
    or_word(w, v_byte, 0, zf_cg_low_half(cg, v_low), NULL);
    or_word(w, v_byte, 1, zf_cg_high_half(cg, v_low), NULL);
    or_word(w, v_byte, 2, zf_cg_high_half(cg, LLVMBuildShl(b, v_middle, v_up, "")), NULL);
    or_word(w, v_byte, 3, zf_cg_high_half(cg, LLVMBuildShl(b, v_high, v_up, "")), more_than(cg, v_stop, 12));
    or_word(w, v_byte, 4, zf_cg_high_half(cg, LLVMBuildShl(b, v_last, v_up, "")), more_than(cg, v_stop, 16));
}

// Puts v_count bytes from an address on. The cost of a gather is its number of loads.
static void put_piece(words *w, LLVMValueRef v_source, LLVMValueRef v_count, LLVMValueRef v_place) {
    LLVMValueRef v_low, v_high;
    zf_simt_sixteen(w->span.lower->cg, v_source, v_count, &v_low, &v_high);
    or_piece(w, v_low, v_high, v_count, v_place);
}

// The first piece of a string: what its handle has, or, where that is the handle of a long one, from its address on.
static void put_first(words *w, const row *r, unsigned k, LLVMValueRef v_place) {
    zf_cg *cg = w->span.lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_length = r->in.v_lengths[k], v_count = zf_cg_umin(cg, v_length, zf_cg_i32(cg, PIECE)),
                 v_zero = zf_cg_i64(cg, 0);
    LLVMValueRef v_low = LLVMBuildLoad2(b, cg->ty_i64, w->v_low[k], ""), v_high = LLVMBuildLoad2(b, cg->ty_i64, w->v_high[k], "");
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntNE, v_length, zf_cg_i32(cg, 0));
    LLVMValueRef v_long = zf_simt_handle_is_long(cg, v_high);
    v_low = zf_cg_select(cg, v_is, v_low, v_zero);
    v_high = zf_cg_select(cg, v_is, zf_simt_handle_short_high(cg, v_high), v_zero);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_load = zf_cg_block(cg, "text"), bb_have = zf_cg_block(cg, "text_here");
    zf_cg_cond_br(cg, zf_cg_and(cg, v_is, v_long), bb_load, bb_have);
    zf_cg_enter(cg, bb_load);
    LLVMValueRef v_low_there, v_high_there;
    zf_simt_sixteen(cg, r->in.v_sources[k], v_count, &v_low_there, &v_high_there);
    LLVMBasicBlockRef bb_loaded = zf_cg_here(cg);
    zf_cg_br(cg, bb_have);
    zf_cg_enter(cg, bb_have);
    v_low = zf_cg_phi2(cg, cg->ty_i64, v_low, bb_before, v_low_there, bb_loaded);
    v_high = zf_cg_phi2(cg, cg->ty_i64, v_high, bb_before, v_high_there, bb_loaded);
    or_piece(w, v_low, v_high, v_count, v_place);
}

// Pieces v_from, v_from + step, ... (bytes, i32) of a string of v_length bytes.
static void put(words *w, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_place, LLVMValueRef v_from,
                uint32_t step) {
    zf_cg *cg = w->span.lower->cg;
    zf_turns pieces;
    zf_turns_begin(cg, &pieces, v_from, step, v_length, "piece");
    LLVMValueRef v_count = zf_cg_umin(cg, zf_cg_sub(cg, v_length, pieces.v_i), zf_cg_i32(cg, PIECE));
    LLVMValueRef v_at = zf_cg_add(cg, v_source, zf_cg_resize(cg, pieces.v_i, cg->ty_i64, false));
    put_piece(w, v_at, v_count, zf_cg_add(cg, v_place, pieces.v_i));
    zf_turns_end(cg, &pieces);
}

// Puts the bytes behind the first piece of each long string of the row, by all lanes.
static void put_long(words *w, const row *r, const LLVMValueRef v_places[STRINGS]) {
    zf_kernel_build *lower = w->span.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_from = zf_cg_mul(cg, zf_cg_add(cg, w->span.v_lane, zf_cg_i32(cg, 1)), zf_cg_i32(cg, PIECE));
    zf_turns lanes;
    zf_turns_begin(cg, &lanes, zf_cg_i32(cg, 0), 1, zf_cg_i32(cg, cg->wave), "lane_long");
    for (unsigned k = 0; k < STRINGS; k++) {
        LLVMBasicBlockRef bb_put = zf_cg_block(cg, "long"), bb_next = zf_cg_block(cg, "long_next");
        LLVMValueRef v_length = zf_simt_shuffle(lower, r->in.v_lengths[k], lanes.v_i);
        zf_cg_cond_br(cg, more_than(cg, v_length, SHORT), bb_put, bb_next); // all lanes the same
        zf_cg_enter(cg, bb_put);
        LLVMValueRef v_source = zf_simt_shuffle(lower, r->in.v_sources[k], lanes.v_i);
        put(w, v_source, v_length, zf_simt_shuffle(lower, v_places[k], lanes.v_i), v_from, cg->wave * PIECE);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    zf_turns_end(cg, &lanes);
}

// Puts the rest where v_if, which is the same in all lanes.
static void put_where(words *w, const row *r, const LLVMValueRef v_places[STRINGS], LLVMValueRef v_if,
                      void (*rest)(words *, const row *, const LLVMValueRef *)) {
    zf_cg *cg = w->span.lower->cg;
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "row_more"), bb_done = zf_cg_block(cg, "row_put");
    zf_cg_cond_br(cg, v_if, bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    rest(w, r, v_places);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// Puts the bytes behind the first pieces of short strings.
static void put_rests(words *w, const row *r, const LLVMValueRef v_places[STRINGS]) {
    zf_cg *cg = w->span.lower->cg;
    for (unsigned k = 0; k < STRINGS; k++) {
        LLVMValueRef v_length = zf_cg_select(cg, more_than(cg, r->in.v_lengths[k], SHORT), zf_cg_i32(cg, 0), r->in.v_lengths[k]);
        put(w, r->in.v_sources[k], v_length, v_places[k], zf_cg_i32(cg, PIECE), PIECE);
    }
}

static void put_row(words *w, const row *r, LLVMValueRef v_here) {
    zf_cg *cg = w->span.lower->cg;
    LLVMValueRef v_places[STRINGS];
    v_places[0] = zf_cg_add(cg, v_here, r->in.v_before);
    for (unsigned k = 1; k < STRINGS; k++) v_places[k] = zf_cg_add(cg, v_places[k - 1], r->in.v_lengths[k - 1]);
    for (unsigned k = 0; k < STRINGS; k++) put_first(w, r, k, v_places[k]);
    put_where(w, r, v_places, r->v_more, put_rests);
    put_where(w, r, v_places, r->v_long, put_long);
}

// ---- The rows -------------------------------------------------------------------------------------------------

// Whether any of a lane's strings is longer.
static LLVMValueRef any_longer(words *w, const row *r, uint32_t bytes) {
    zf_cg *cg = w->span.lower->cg;
    LLVMValueRef v_any = zf_cg_i1(cg, false);
    for (unsigned k = 0; k < STRINGS; k++) v_any = zf_cg_or(cg, v_any, more_than(cg, r->in.v_lengths[k], bytes));
    return v_any;
}

// 1 at a bit where one is.
static LLVMValueRef flag(words *w, const row *r, uint32_t bytes, uint32_t bit) {
    zf_cg *cg = w->span.lower->cg;
    LLVMValueRef v_any = any_longer(w, r, bytes);
    return zf_cg_select(cg, v_any, zf_cg_i32(cg, UINT32_C(1) << bit), zf_cg_i32(cg, 0));
}

// One scan adds up lengths, and lanes that have strings of several pieces, and long ones.
static void add_up(words *w, row *r) {
    zf_kernel_build *lower = w->span.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_own = zf_cg_i32(cg, 0), v_low = zf_cg_i32(cg, (UINT32_C(1) << MORE_BIT) - 1);
    for (unsigned k = 0; k < STRINGS; k++) {
        LLVMValueRef v_length = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->span.v_lengths[k], "");
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_length, zf_cg_i64(cg, MOST));
        zf_simt_span_note(&w->span, v_over, "strings that are longer than the tiles");
        r->in.v_sources[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_low[k], ""); // of a long one
        r->in.v_lengths[k] = zf_cg_select(cg, v_over, zf_cg_i32(cg, 0), zf_cg_low_half(cg, v_length));
        v_own = zf_cg_add(cg, v_own, r->in.v_lengths[k]);
    }
    if (cg->wave > 32) { // whose sums of lengths leave no room for counts
        LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, w->span.v_lane);
        r->in.v_before = zf_cg_sub(cg, v_up, v_own);
        r->in.v_total = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
        r->v_more = zf_simt_any(lower, any_longer(w, r, PIECE));
        r->v_long = zf_simt_any(lower, any_longer(w, r, SHORT));
        return;
    }
    v_own = zf_cg_or(cg, v_own, zf_cg_or(cg, flag(w, r, PIECE, MORE_BIT), flag(w, r, SHORT, LONG_BIT)));
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, w->span.v_lane),
                 v_all = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, cg->wave - 1));
    r->in.v_before = zf_cg_and(cg, zf_cg_sub(cg, v_up, v_own), v_low);
    r->in.v_total = zf_cg_and(cg, v_all, v_low);
    r->v_more = zf_cg_icmp(cg, LLVMIntUGT, v_all, v_low);
    r->v_long = more_than(cg, v_all, (UINT32_C(1) << LONG_BIT) - 1);
}

static void make_rows(words *w) {
    row r;
    zf_simt_span_rows_begin(&w->span);
    zf_simt_span_take(&w->span);
    add_up(w, &r);
    LLVMValueRef v_here = zf_simt_span_fits(&w->span, &r.in);
    put_row(w, &r, v_here);
    zf_simt_span_rows_end(&w->span, &r.in, v_here);
}

// ---- The stage ------------------------------------------------------------------------------------------------

static LLVMValueRef stage_at(const words *w, LLVMValueRef v_at) {
    zf_cg *cg = w->span.lower->cg;
    return zf_cg_at(cg, cg->ty_i8, w->v_stage, zf_cg_resize(cg, v_at, cg->ty_i64, false));
}

// Lane l has a chunk of the stage, and then every next one that no other lane has: the loop over them.
static void chunks_begin(const words *w, zf_turns *chunks, const char *name) {
    zf_cg *cg = w->span.lower->cg;
    LLVMValueRef v_first = LLVMBuildShl(cg->builder, w->span.v_lane, zf_cg_i32(cg, 4), "");
    zf_turns_begin(cg, chunks, v_first, cg->wave * ZF_SPAN_CHUNK, zf_cg_add(cg, w->span.v_lead, w->span.v_size), name);
}

static void clear_stage(words *w) {
    zf_cg *cg = w->span.lower->cg;
    zf_turns chunks;
    chunks_begin(w, &chunks, "stage_clear");
    zf_cg_store(cg, LLVMConstNull(LLVMVectorType(cg->ty_i32, ZF_SPAN_CHUNK / 4)), stage_at(w, chunks.v_i), ZF_SPAN_CHUNK);
    zf_turns_end(cg, &chunks);
    zf_simt_barrier(w->span.lower, "the stage is clear");
}

static void store_stage(words *w) {
    zf_cg *cg = w->span.lower->cg;
    zf_span_wanted wanted = zf_simt_span_wanted(&w->span);
    zf_turns chunks;
    chunks_begin(w, &chunks, "stage_store");
    zf_simt_span_store(&w->span, &wanted, stage_at(w, chunks.v_i), chunks.v_i);
    zf_turns_end(cg, &chunks);
}

// ---- The tiles ------------------------------------------------------------------------------------------------

void zf_form_words_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    words w = {.access = zf_group_string(lower->plan, lower->kernel)};
    w.span = (zf_simt_span){.lower = lower,
                            .each = STRINGS,
                            .tiles = shape->span,
                            .ty_length = cg->ty_i64,
                            .longest = UINT64_MAX,
                            .take = take,
                            .cut = cut};
    for (unsigned k = 0; k < STRINGS; k++) {
        w.v_low[k] = zf_cg_alloca(cg, cg->ty_i64, "handle");
        w.v_high[k] = zf_cg_alloca(cg, cg->ty_i64, "handle");
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w.v_low[k]);
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w.v_high[k]);
    }
    w.v_stage = cg->target->simt->shared(cg, 0, STAGE);
    w.span.v_kept = cg->target->simt->shared(cg, STAGE, shape->shared_bytes - STAGE);
    zf_simt_span_begin(&w.span);
    clear_stage(&w);
    make_rows(&w);
    LLVMBasicBlockRef bb_made;
    zf_simt_span_end(&w.span, &bb_made);
    zf_simt_barrier(lower, "strings are put together");
    store_stage(&w);
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_made);
}

void zf_form_words_slow(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_simt_one_thread(lower, lower->simt->v_thread);
    lower->v_end = zf_simt_span_stop(lower, shape->span);
    lower->cg->target->lower[lower->kernel->domain](lower);
}

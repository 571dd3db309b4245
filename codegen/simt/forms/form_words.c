// Groups that are strings: element j of group g is byte j of a string that g alone says, as in a list of words. A warp makes
// several tiles of the bytes together (simt_span.h): row by row its lanes find the strings of C groups a lane and put them into
// shared memory, from where they are stored 16 bytes a lane at a time (simt_text.h).
//
// A string of up to sixteen bytes is in its handle, which is all that is loaded of it: gathers are what such a kernel waits for.
// Rows with a string of more than ZF_TEXT_ALONE bytes are copied as long rows of a column are.
//
// The file says where each tile begins and ends among the groups. All of these states must be met on the way. Where anything is
// not as it should be, one thread makes the tiles one by one, as on the host (lower->simt->v_slow): it tells what is wrong, and
// where. Rows that were stored before lie within the tiles.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/groups/simt_span.h"
#include "codegen/simt/memory/simt_prefetch_tile.h"
#include "codegen/simt/simt_choices.h"
#include "codegen/simt/simt_handles.h"
#include "codegen/simt/simt_text_handles.h"

enum {
    STRINGS = ZF_TEXT_EACH, // that a lane brings, each of which takes five words until it is put
    MOST_TILE = 1 << 12,    // bytes
    SPAN = 1 << 13,         // that a warp makes
    REGISTERS = 72,
};

typedef struct words {
    zf_simt_span span;
    const zf_expr *access; // the string
    zf_simt_text text;
    // Slots (i64): the strings' handles, short or long; those of strings that are cut say what is left. Where a short one's bytes
    // lie in memory says the span. More is not kept, because most rows ask only for short handles.
    LLVMValueRef v_low[STRINGS], v_high[STRINGS];
} words;

// Tiles of so many bytes that a warp makes together; 0: one is too large or too small.
static uint32_t span_of(uint32_t tile) {
    if (tile > MOST_TILE || tile < MOST_TILE / ZF_SPAN_TILES) return 0;
    return SPAN / tile < ZF_SPAN_TILES ? SPAN / tile : ZF_SPAN_TILES;
}

bool zf_form_words_fits(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_form_makes_groups(plan, kernel) && span_of(kernel->tile) > 0 && kernel->sink >= 0 &&
           zf_group_string(plan, kernel) != NULL;
}

zf_simt_shape zf_form_words_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t span = span_of(kernel->tile);
    return (zf_simt_shape){.threads = plan->target->wave,
                           .tiles = 1,
                           .span = span,
                           .shared_bytes = zf_simt_text_bytes(plan->target->wave) + zf_simt_span_kept_bytes(span),
                           .registers = REGISTERS,
                           .prefetch = true,
                           .slow = true};
}

void zf_form_words_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    (void)plan, (void)kernel;
    zf_choice_allow_prefetch(space, shape);
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
    LLVMValueRef v_source = zf_lower_text_address(lower, &text), v_low = v_source, v_high = zf_simt_handle_long_high(cg, v_size);
    if (text.seq.v_handle != NULL) { // else, and where a group has less than its string, it is taken from where it lies
        LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntEQ, v_size, text.seq.v_length);
        LLVMValueRef v_first = LLVMBuildExtractElement(cg->builder, text.seq.v_handle, zf_cg_i32(cg, 0), ""),
                     v_second = LLVMBuildExtractElement(cg->builder, text.seq.v_handle, zf_cg_i32(cg, 1), "");
        v_low = zf_cg_select(cg, v_whole, v_first, v_low);
        v_high = zf_cg_select(cg, v_whole, v_second, v_high);
        v_source = text.seq.v_handle_at;
    }
    LLVMBuildStore(cg->builder, v_source, s->v_sources[k]);
    LLVMBuildStore(cg->builder, v_low, w->v_low[k]);
    LLVMBuildStore(cg->builder, v_high, w->v_high[k]);
}

static LLVMValueRef length(zf_simt_span *s, unsigned k) {
    const words *w = (const words *)s;
    return zf_simt_handle_length(s->lower->cg, LLVMBuildLoad2(s->lower->cg->builder, s->lower->cg->ty_i64, w->v_high[k], ""));
}

// Moves the rest of a short string to the begin of its handle. A long one is taken from where it lies in memory.
static void cut(zf_simt_span *s, unsigned k, LLVMValueRef v_from, LLVMValueRef v_length) {
    words *w = (words *)s;
    zf_cg *cg = s->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_eight = zf_cg_i32(cg, 8);
    LLVMValueRef v_source = LLVMBuildLoad2(b, cg->ty_i64, s->v_sources[k], "");
    LLVMBuildStore(b, zf_cg_add(cg, v_source, v_from), s->v_sources[k]);
    LLVMValueRef v_low = LLVMBuildLoad2(b, cg->ty_i64, w->v_low[k], ""), v_high = LLVMBuildLoad2(b, cg->ty_i64, w->v_high[k], "");
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_length, v_zero), v_long = zf_simt_handle_is_long(cg, v_high);
    LLVMValueRef v_short = zf_cg_resize(cg, zf_simt_handle_short_length(cg, v_high), cg->ty_i64, false);
    LLVMValueRef v_all = zf_cg_icmp(cg, LLVMIntEQ, v_length, v_short);
    // The bytes from v_from on, less than 16: by less than eight, and by eight.
    LLVMValueRef v_bits = LLVMBuildShl(b, zf_cg_and(cg, v_from, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
    LLVMValueRef v_up = LLVMBuildXor(b, v_bits, zf_cg_i64(cg, 63), ""), v_bytes = zf_simt_handle_short_high(cg, v_high);
    LLVMValueRef v_over = LLVMBuildShl(b, LLVMBuildShl(b, v_bytes, zf_cg_i64(cg, 1), ""), v_up, "");
    LLVMValueRef v_first = zf_cg_or(cg, LLVMBuildLShr(b, v_low, v_bits, ""), v_over),
                 v_second = LLVMBuildLShr(b, v_bytes, v_bits, "");
    LLVMValueRef v_far = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_from, zf_cg_i64(cg, 8)), v_zero);
    v_first = zf_cg_select(cg, v_far, v_second, v_first);
    v_second = zf_cg_select(cg, v_far, v_zero, v_second);
    LLVMValueRef v_count = zf_cg_umin(cg, zf_cg_low_half(cg, v_length), zf_cg_i32(cg, ZF_HANDLE_SHORT - 1));
    LLVMValueRef v_below = zf_cg_umin(cg, v_count, v_eight);
    v_first = zf_cg_mask(cg, v_first, zf_cg_low_bytes(cg, v_below), "bytes of a string that is cut");
    v_second =
        zf_cg_mask(cg, v_second, zf_cg_low_bytes(cg, zf_cg_sub(cg, v_count, v_below)), "bytes of a long string that is cut");
    LLVMValueRef v_last = LLVMBuildShl(b, zf_cg_resize(cg, v_count, cg->ty_i64, false), zf_cg_i64(cg, ZF_HANDLE_LAST), "");
    v_first = zf_cg_select(cg, v_all, v_low, v_first);
    v_second = zf_cg_select(cg, v_all, v_high, zf_cg_or(cg, v_second, v_last));
    v_first = zf_cg_select(cg, v_long, zf_cg_add(cg, v_low, v_from), v_first);
    v_second = zf_cg_select(cg, v_long, zf_simt_handle_long_high(cg, v_length), v_second);
    LLVMBuildStore(b, zf_cg_select(cg, v_none, v_zero, v_first), w->v_low[k]);
    LLVMBuildStore(b, zf_cg_select(cg, v_none, v_zero, v_second), w->v_high[k]);
}

// ---- Putting them together ------------------------------------------------------------------------------------

typedef struct row {
    zf_simt_text_handles strings;
    LLVMValueRef v_sources[STRINGS]; // i64: where the bytes of short ones lie
} row;

// Copies a row with a string that no lane copies alone, or that does not fit into the stage.
static void copy_long(words *w, const row *r) {
    zf_cg *cg = w->span.lower->cg;
    zf_simt_text_row strings = {.v_before = zf_cg_resize(cg, r->strings.v_before, cg->ty_i64, false)};
    for (unsigned k = 0; k < STRINGS; k++) {
        LLVMValueRef v_long = zf_simt_handle_is_long(cg, r->strings.v_high[k]);
        strings.v_sources[k] = zf_cg_select(cg, v_long, r->strings.v_low[k], r->v_sources[k]);
        strings.v_lengths[k] = zf_cg_resize(cg, r->strings.v_lengths[k], cg->ty_i64, false);
    }
    zf_simt_text_copy_long(&w->text, &strings, zf_cg_resize(cg, r->strings.v_total, cg->ty_i64, false));
}

static void copy_row(words *w, const row *r) {
    zf_cg *cg = w->span.lower->cg;
    LLVMBasicBlockRef bb_any = zf_cg_block(cg, "row_any"), bb_far = zf_cg_block(cg, "row_far"),
                      bb_near = zf_cg_block(cg, "row_near"), bb_copied = zf_cg_block(cg, "row_copied");
    zf_cg_cond_br(cg, r->strings.v_long, bb_any, bb_near); // all lanes the same
    zf_cg_enter(cg, bb_any);
    LLVMValueRef v_far = zf_cg_i1(cg, false);
    for (unsigned k = 0; k < STRINGS; k++)
        v_far = zf_cg_or(cg, v_far, zf_cg_icmp(cg, LLVMIntUGT, r->strings.v_lengths[k], zf_cg_i32(cg, ZF_TEXT_ALONE)));
    v_far = zf_simt_any(w->span.lower, v_far);
    zf_cg_cond_br(cg, zf_cg_and(cg, zf_cg_not(cg, v_far), zf_simt_text_fits(&w->text, r->strings.v_total)), bb_near, bb_far);
    zf_cg_enter(cg, bb_far);
    copy_long(w, r);
    zf_cg_br(cg, bb_copied);
    zf_cg_enter(cg, bb_near);
    zf_simt_text_copy_handles(&w->text, &r->strings);
    zf_cg_br(cg, bb_copied);
    zf_cg_enter(cg, bb_copied);
}

// ---- The rows -------------------------------------------------------------------------------------------------

// Lengths of any strings, in 32 bits.
static void any_lengths(words *w, const row *r, LLVMValueRef *v_lengths) {
    zf_cg *cg = w->span.lower->cg;
    uint64_t most = (uint64_t)w->span.tiles * w->span.lower->kernel->tile;
    for (unsigned k = 0; k < STRINGS; k++) {
        LLVMValueRef v_length = zf_simt_handle_length(cg, r->strings.v_high[k]);
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_length, zf_cg_i64(cg, most));
        zf_simt_span_note(&w->span, v_over, "strings that are longer than the tiles");
        v_lengths[k] = zf_cg_select(cg, v_over, zf_cg_i32(cg, 0), zf_cg_low_half(cg, v_length));
    }
}

// Takes the row's strings, and adds up their lengths.
static void take_row(words *w, row *r) {
    zf_kernel_build *lower = w->span.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_any[STRINGS];
    for (unsigned k = 0; k < STRINGS; k++) { // groups that do not exist are empty
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w->v_low[k]);
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w->v_high[k]);
    }
    zf_simt_span_take(&w->span);
    for (unsigned k = 0; k < STRINGS; k++) {
        r->v_sources[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->span.v_sources[k], "");
        r->strings.v_low[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_low[k], "");
        r->strings.v_high[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_high[k], "");
    }
    zf_simt_text_look(lower, &r->strings);
    LLVMBasicBlockRef bb_short = zf_cg_block(cg, "lengths_short"), bb_any = zf_cg_block(cg, "lengths_any"),
                      bb_taken = zf_cg_block(cg, "lengths");
    zf_cg_cond_br(cg, r->strings.v_long, bb_any, bb_short); // all lanes the same
    zf_cg_enter(cg, bb_any);
    any_lengths(w, r, v_any);
    bb_any = zf_cg_here(cg);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_short);
    zf_simt_text_short_lengths(lower, &r->strings);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_taken);
    for (unsigned k = 0; k < STRINGS; k++)
        r->strings.v_lengths[k] = zf_cg_phi2(cg, cg->ty_i32, v_any[k], bb_any, r->strings.v_lengths[k], bb_short);
    zf_simt_text_add_up(lower, &r->strings);
}

static void make_rows(words *w) {
    row r;
    zf_kernel_build *lower = w->span.lower;
    zf_cg *cg = lower->cg;
    zf_simt_prefetch_tile fetch;
    zf_simt_prefetch_tile_begin(&fetch, lower, w->span.v_lane, cg->wave, w->span.v_base,
                                zf_cg_resize(cg, w->span.v_touched, cg->ty_i64, false), w->span.tiles * lower->kernel->tile);
    w->span.fetch = &fetch;
    zf_simt_span_rows_begin(&w->span);
    lower->v_any = w->span.v_bad; // one thread finds out what failed
    take_row(w, &r);
    lower->v_any = NULL;
    zf_span_row groups = {.v_before = r.strings.v_before, .v_total = r.strings.v_total};
    for (unsigned k = 0; k < STRINGS; k++) groups.v_lengths[k] = r.strings.v_lengths[k];
    LLVMValueRef v_here = zf_simt_span_fits(&w->span, &groups);
    copy_row(w, &r);
    zf_simt_span_rows_end(&w->span, &groups, v_here);
    zf_simt_prefetch_tile_end(&fetch);
}

// ---- The tiles ------------------------------------------------------------------------------------------------

static void begin_text(words *w) {
    zf_kernel_build *lower = w->span.lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, w->span.v_lo);
    if (lower->v_row_begin == NULL) {
        zf_simt_text_begin(&w->text, v_to, zf_cg_i32(cg, 0), NULL);
        return;
    }
    zf_span_wanted wanted = zf_simt_span_wanted(&w->span);
    zf_simt_text_begin(&w->text, v_to, zf_cg_sub(cg, wanted.v_begin, w->span.v_lead),
                       zf_cg_sub(cg, wanted.v_end, w->span.v_lead));
}

void zf_form_words_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    words w = {.access = zf_group_string(lower->plan, lower->kernel)};
    w.span = (zf_simt_span){.lower = lower,
                            .each = STRINGS,
                            .tiles = shape->span,
                            .ty_length = cg->ty_i64,
                            .longest = UINT64_MAX,
                            .take = take,
                            .length = length,
                            .cut = cut};
    for (unsigned k = 0; k < STRINGS; k++) {
        w.v_low[k] = zf_cg_alloca(cg, cg->ty_i64, "handle");
        w.v_high[k] = zf_cg_alloca(cg, cg->ty_i64, "handle");
    }
    uint32_t stage = zf_simt_text_bytes(cg->wave);
    zf_simt_text_tables(&w.text, lower, 0);
    w.span.v_kept = cg->target->simt->shared(cg, stage, shape->shared_bytes - stage);
    zf_simt_span_begin(&w.span);
    begin_text(&w);
    make_rows(&w);
    zf_simt_text_end(&w.text);
    LLVMBasicBlockRef bb_made;
    zf_simt_span_end(&w.span, &bb_made);
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_made);
}

void zf_form_words_slow(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_simt_one_thread(lower, lower->simt->v_thread);
    lower->v_end = zf_simt_span_stop(lower, shape->span);
    lower->cg->target->lower[lower->kernel->domain](lower);
}

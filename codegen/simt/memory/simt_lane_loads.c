// Loads for several bodies of one thread, all at once and before the bodies: the reads of C contiguous elements at their own
// index, those of several elements anywhere, whose loads are tied, and the reads of neighbours near a known index.
//
// Bits: the words that hold the bits of all lanes are loaded once and shifted so that lane 0's begin at bit 0; every lane then
// takes its bits by constant shifts.
#include "codegen/simt/memory/simt_memory.h"
#include "codegen/simt/memory/simt_prefetch_distant.h"
#include "codegen/simt/memory/simt_prefetch_tile.h"
#include "codegen/simt/memory/simt_staging.h"

enum { MOST_WORDS = 40 };

struct zf_simt_window {
    uint32_t edge;
    bool elements; ///< else bits
    uint64_t stride, from, count;
    const zf_port *port;   ///< not NULL: stride and count are this param's value
    unsigned at;           ///< bit of v_words at which lane 0 begins
    LLVMValueRef *v_words; ///< bits: i32 each; elements: one each
    struct zf_simt_window *next;
};
typedef struct zf_simt_window window;

static void begin(zf_cg *cg, zf_simt_stage *stage, const char *loads, const char *bodies) {
    *stage = (zf_simt_stage){.bb_loads = zf_cg_block(cg, loads), .bb_bodies = zf_cg_block(cg, bodies)};
    zf_cg_br(cg, stage->bb_loads);
    zf_cg_enter(cg, stage->bb_bodies);
}

static void end(zf_cg *cg, const zf_simt_stage *stage) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, stage->bb_loads);
    zf_cg_br(cg, stage->bb_bodies);
    zf_cg_enter(cg, bb_before);
}

// From the bodies to the loads, and back to the block that this returns.
static LLVMBasicBlockRef to_loads(zf_cg *cg, zf_simt_stage *stage) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    stage->bb_open = stage->tied != NULL ? &stage->tied->bb_loads : &stage->bb_loads;
    zf_cg_enter(cg, *stage->bb_open);
    return bb_before;
}

static void from_loads(zf_cg *cg, zf_simt_stage *stage, LLVMBasicBlockRef bb_before) {
    *stage->bb_open = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
}

// ---- Tied loads -----------------------------------------------------------------------------------------------

void zf_simt_tied_begin(zf_cg *cg, zf_simt_tied *tied) {
    *tied = (zf_simt_tied){.bb_loads = zf_cg_block(cg, "tied_load"),
                           .bb_words = zf_cg_block(cg, "tied_words"),
                           .bb_bodies = zf_cg_block(cg, "tied")};
    tied->bb_shifts = tied->bb_words;
    zf_cg_br(cg, tied->bb_loads);
    zf_cg_enter(cg, tied->bb_bodies);
}

void zf_simt_tied_end(zf_cg *cg, zf_simt_tied *tied) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    LLVMValueRef v_loaded[ZF_SIMT_TIED_MOST];
    zf_cg_enter(cg, tied->bb_loads);
    for (unsigned k = 0; k < tied->count; k++) v_loaded[k] = zf_cg_get(cg, tied->v_slots[k]);
    if (cg->target->simt->tie != NULL && tied->count > 1) cg->target->simt->tie(cg, v_loaded, tied->count);
    for (unsigned k = 0; k < tied->count; k++) LLVMBuildStore(cg->builder, v_loaded[k], tied->v_slots[k]);
    zf_cg_br(cg, tied->bb_words);
    zf_cg_enter(cg, tied->bb_shifts);
    zf_cg_br(cg, tied->bb_bodies);
    zf_cg_enter(cg, bb_before);
}

// Goes on behind all tied loads, with the integers that were loaded.
static void wait_for_all(zf_cg *cg, zf_simt_stage *stage, LLVMValueRef *v_loaded, unsigned count) {
    zf_simt_tied *tied = stage->tied;
    if (tied == NULL || tied->count + count > ZF_SIMT_TIED_MOST) return;
    if (LLVMGetTypeKind(LLVMTypeOf(v_loaded[0])) != LLVMIntegerTypeKind) return;
    LLVMValueRef *v_slots = &tied->v_slots[tied->count];
    tied->count += count;
    for (unsigned k = 0; k < count; k++) {
        v_slots[k] = zf_cg_alloca(cg, LLVMTypeOf(v_loaded[k]), "loaded");
        LLVMBuildStore(cg->builder, v_loaded[k], v_slots[k]);
    }
    tied->bb_loads = zf_cg_here(cg);
    stage->bb_open = &tied->bb_shifts;
    zf_cg_enter(cg, tied->bb_shifts);
    for (unsigned k = 0; k < count; k++) v_loaded[k] = zf_cg_get(cg, v_slots[k]);
}

static window *find(const zf_simt_stage *stage, const window *like) {
    for (window *w = stage->windows; w != NULL; w = w->next) {
        bool same = w->edge == like->edge && w->elements == like->elements && w->stride == like->stride && w->port == like->port;
        if (same && w->from == like->from && w->count == like->count) return w;
    }
    return NULL;
}

static window *add(zf_cg *cg, zf_simt_stage *stage, const window *like, unsigned words) {
    window *w = ZF_NEW(cg->arena, window);
    *w = *like;
    w->v_words = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, words);
    w->next = stage->windows;
    stage->windows = w;
    return w;
}

// ---- Lanes ----------------------------------------------------------------------------------------------------

zf_simt_lanes zf_simt_lanes_begin(zf_kernel_build *lower, LLVMValueRef v_first, unsigned count) {
    zf_simt_lanes lanes = {.v_first = v_first, .count = count};
    begin(lower->cg, &lanes.stage, "lanes_load", "lanes");
    return lanes;
}

zf_simt_lanes zf_simt_lanes_tied(zf_kernel_build *lower, zf_simt_tied *tied, LLVMValueRef v_base, LLVMValueRef v_near,
                                 unsigned count) {
    zf_cg *cg = lower->cg;
    zf_simt_lanes lanes = {.v_base = v_base, .count = count, .stage.tied = tied};
    LLVMBasicBlockRef bb_before = to_loads(cg, &lanes.stage);
    lanes.v_near = zf_cg_low_half(cg, v_near);
    lanes.v_first = zf_cg_add(cg, v_base, v_near);
    from_loads(cg, &lanes.stage, bb_before);
    return lanes;
}

void zf_simt_lanes_end(zf_kernel_build *lower, zf_simt_lanes *lanes) {
    if (lanes->stage.tied == NULL) end(lower->cg, &lanes->stage);
}

void zf_simt_lanes_know_bits(zf_kernel_build *lower, zf_simt_lanes *lanes, uint32_t edge, LLVMValueRef v_bits) {
    window like = {.edge = edge, .stride = 1, .count = 1};
    window *w = add(lower->cg, &lanes->stage, &like, 2);
    w->v_words[0] = v_bits;
    w->v_words[1] = zf_cg_i32(lower->cg, 0);
}

zf_kernel_env zf_simt_lane_env(zf_kernel_build *lower, uint32_t node, zf_simt_lanes *lanes, unsigned k) {
    zf_kernel_env env = zf_lower_env_make(lower, node);
    env.simt.lanes = lanes;
    env.simt.lane_k = k;
    env.env.precedes = k + 1 < lanes->count;
    env.v_i = zf_cg_add(lower->cg, lanes->v_first, zf_cg_i64(lower->cg, k));
    return env;
}

static unsigned power_of_two_in(uint64_t bytes, unsigned most) {
    unsigned power = 1;
    while (power < most && bytes % (2 * power) == 0) power *= 2;
    return power;
}

// `count` values of type `ty` (`size` bytes) at v_from, whose alignment is known: by vectors of up to 16 bytes.
static void load_vectors(zf_cg *cg, LLVMTypeRef ty, unsigned size, LLVMValueRef v_from, unsigned count, unsigned align,
                         LLVMValueRef *out) {
    if (align > 16) align = 16;
    for (unsigned k = 0; k < count;) {
        unsigned n = align > size ? align / size : 1;
        while (n > count - k) n /= 2;
        LLVMValueRef v_at = zf_cg_byte_at(cg, v_from, (uint64_t)k * size);
        if (n == 1) {
            out[k++] = zf_cg_load(cg, ty, v_at, size);
            continue;
        }
        LLVMValueRef v = zf_cg_load(cg, LLVMVectorType(ty, n), v_at, n * size);
        for (unsigned e = 0; e < n; e++) out[k++] = LLVMBuildExtractElement(cg->builder, v, zf_cg_i32(cg, e), "");
    }
}

// The word of a stream's bits that holds bit `from` of lane 0's, and *v_shift, the bit's place in it (in the lower five bits).
// For `aligned` bits, multiples of 32 wherever the lane is, only the word.
static LLVMValueRef lane_word(zf_kernel_build *lower, const zf_simt_lanes *lanes, LLVMValueRef v_pointer, uint64_t stride,
                              uint64_t from, bool aligned, LLVMValueRef *v_shift) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef builder = cg->builder;
    LLVMValueRef v_origin = lanes->v_base != NULL ? lanes->v_base : lanes->v_first;
    LLVMValueRef v_bit = zf_cg_mul(cg, v_origin, zf_cg_i64(cg, stride));
    LLVMValueRef v_start, v_at = lanes->v_near != NULL ? zf_cg_mul(cg, lanes->v_near, zf_cg_i32(cg, (uint32_t)stride)) : NULL;
    if (aligned) {
        v_start = zf_cg_add(cg, LLVMBuildLShr(builder, v_bit, zf_cg_i64(cg, 3), ""), zf_cg_i64(cg, from / 8));
        v_start = zf_cg_at(cg, cg->ty_i8, v_pointer, v_start);
        if (v_at == NULL) return v_start;
        v_at = LLVMBuildLShr(builder, v_at, zf_cg_i32(cg, 3), "");
        return zf_cg_at(cg, cg->ty_i8, v_start, zf_cg_resize(cg, v_at, cg->ty_i64, false));
    }
    v_bit = zf_cg_add(cg, v_bit, zf_cg_i64(cg, from));
    v_start = zf_cg_at(cg, cg->ty_i32, v_pointer, LLVMBuildLShr(builder, v_bit, zf_cg_i64(cg, 5), ""));
    *v_shift = zf_cg_and(cg, zf_cg_resize(cg, v_bit, cg->ty_i32, false), zf_cg_i32(cg, 31));
    if (v_at == NULL) return v_start;
    *v_shift = v_at = zf_cg_add(cg, v_at, *v_shift);
    LLVMValueRef v_word = zf_cg_resize(cg, LLVMBuildLShr(builder, v_at, zf_cg_i32(cg, 5), ""), cg->ty_i64, false);
    return zf_cg_at(cg, cg->ty_i32, v_start, v_word);
}

// Words that hold a lane's bits, from bit `from` of its first element on: as lane_word has them.
typedef struct bit_words {
    LLVMValueRef v_pointer;
    uint64_t stride, from;
    bool aligned;
    unsigned count, align;
} bit_words;

// Loads the words of another step's lanes into slots.
static void load_step(zf_kernel_build *lower, const zf_simt_lanes *lanes, const bit_words *words, LLVMValueRef v_near,
                      const LLVMValueRef *v_slots) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_shift, v_loaded[MOST_WORDS + 4];
    zf_simt_lanes there = *lanes;
    there.v_near = v_near;
    LLVMValueRef v_from = lane_word(lower, &there, words->v_pointer, words->stride, words->from, words->aligned, &v_shift);
    load_vectors(cg, cg->ty_i32, 4, v_from, words->count, words->align, v_loaded);
    for (unsigned k = 0; k < words->count; k++) LLVMBuildStore(cg->builder, v_loaded[k], v_slots[k]);
}

// Loads the words, or takes those that the step before loaded and loads the next step's. *v_shift as lane_word has it.
static void load_bit_words(zf_kernel_build *lower, zf_simt_lanes *lanes, const bit_words *words, LLVMValueRef *out,
                           LLVMValueRef *v_shift) {
    zf_cg *cg = lower->cg;
    zf_simt_ahead *ahead = lanes->ahead;
    LLVMValueRef v_from = lane_word(lower, lanes, words->v_pointer, words->stride, words->from, words->aligned, v_shift);
    if (ahead == NULL || words->count > ahead->room) {
        load_vectors(cg, cg->ty_i32, 4, v_from, words->count, words->align, out);
        wait_for_all(cg, &lanes->stage, out, words->count);
        return;
    }
    ahead->room -= words->count;
    LLVMValueRef v_slots[MOST_WORDS + 4];
    for (unsigned k = 0; k < words->count; k++) v_slots[k] = zf_cg_alloca(cg, cg->ty_i32, "ahead");
    LLVMBasicBlockRef bb_here = zf_cg_here(cg);
    zf_cg_enter(cg, ahead->bb_before);
    load_step(lower, lanes, words, ahead->v_begin, v_slots);
    ahead->bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, bb_here);
    for (unsigned k = 0; k < words->count; k++) out[k] = zf_cg_get(cg, v_slots[k]);
    load_step(lower, lanes, words, ahead->v_next, v_slots);
}

// Loads the bits that w describes, at v_pointer, from lane 0's number v_first on.
static void load_words(zf_kernel_build *lower, zf_simt_lanes *lanes, window *w, LLVMValueRef v_pointer) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_shift = NULL;
    uint64_t span = (lanes->count - 1) * w->stride + w->count; // bits of all lanes
    if (lanes->count * w->stride % 32 == 0) {                  // lane 0 is always at the same bit of a word
        w->at = (unsigned)(w->from % 32);
        unsigned words = (unsigned)((w->at + span + 31) / 32);
        uint64_t common = lanes->count * w->stride / 8;
        unsigned align = power_of_two_in(common == 0 ? 16 : common, 16), other = power_of_two_in(w->from / 32 * 4, 16);
        if (w->from / 32 != 0 && other < align) align = other;
        bit_words all = {v_pointer, w->stride, w->from / 32 * 32, true, words, align};
        load_bit_words(lower, lanes, &all, w->v_words, &v_shift);
        w->v_words[words] = zf_cg_i32(cg, 0);
    } else if (w->stride > 0 && 32 % (lanes->count * w->stride) == 0 && w->from == 0 && w->count <= w->stride) {
        // all of them lie in one word
        bit_words one = {v_pointer, w->stride, 0, false, 1, 4};
        LLVMValueRef v_word;
        load_bit_words(lower, lanes, &one, &v_word, &v_shift);
        v_shift = zf_cg_and(cg, v_shift, zf_cg_i32(cg, 31));
        w->v_words[0] = LLVMBuildLShr(cg->builder, v_word, v_shift, "");
        w->v_words[1] = zf_cg_i32(cg, 0);
    } else {
        unsigned step = power_of_two_in(lanes->count * w->stride, 32);
        unsigned most = 32 - step + (unsigned)(w->from % step); // bit of a word where lane 0 begins
        unsigned words = (unsigned)((span + 31) / 32), loads = (unsigned)((most + span + 31) / 32);
        LLVMValueRef v_loaded[MOST_WORDS + 4];
        bit_words all = {v_pointer, w->stride, w->from, false, loads, 4};
        load_bit_words(lower, lanes, &all, v_loaded, &v_shift);
        for (unsigned k = 0; k < words; k++) {
            LLVMValueRef v_next = k + 1 < loads ? v_loaded[k + 1] : zf_cg_i32(cg, 0);
            w->v_words[k] = zf_cg_funnel(cg, false, v_next, v_loaded[k], v_shift);
        }
        w->v_words[words] = zf_cg_i32(cg, 0);
    }
}

static void load_window(zf_kernel_build *lower, zf_simt_lanes *lanes, window *w) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_pointer = zf_lower_pointer(lower, w->edge);
    zf_simt_prefetch_tile_edge(lanes->fetch, w->edge, v_pointer, w->stride, true);
    zf_simt_distant_edge(lanes->later, w->edge, w->stride);
    LLVMBasicBlockRef bb_before = to_loads(cg, &lanes->stage);
    LLVMValueRef v_staged = zf_simt_staged_bits(lanes->staging, w->edge, w->stride, w->from, w->count);
    if (v_staged != NULL) {
        zf_simt_lanes from = {.v_first = lanes->v_staged, .count = lanes->count};
        if (lanes->staging->v_warp != NULL) {
            from.v_base = zf_cg_i64(cg, 0);
            from.v_near = lanes->v_near;
        }
        load_words(lower, &from, w, v_staged);
    } else {
        load_words(lower, lanes, w, v_pointer);
    }
    from_loads(cg, &lanes->stage, bb_before);
}

// `count` (at most 32) bits from bit `at` of the window's words, with others above them.
static LLVMValueRef take_more(zf_cg *cg, const window *w, uint64_t at, uint64_t count) {
    uint64_t word = at / 32, shift = at % 32;
    LLVMValueRef v = w->v_words[word], v_shift = zf_cg_i32(cg, (uint32_t)shift);
    if (shift + count > 32)
        v = zf_cg_funnel(cg, false, w->v_words[word + 1], v, v_shift);
    else if (shift > 0)
        v = LLVMBuildLShr(cg->builder, v, v_shift, "");
    return v;
}

// These bits alone.
static LLVMValueRef take(zf_cg *cg, const window *w, uint64_t at, uint64_t count) {
    LLVMValueRef v = take_more(cg, w, at, count);
    if (at % 32 + count == 32) return v; // nothing stands above
    return zf_cg_mask(cg, v, zf_cg_i32(cg, (uint32_t)((UINT64_C(1) << count) - 1)), "bits of a lane");
}

// The window of these bits, which are not none. NULL: it is too large.
static window *window_of(zf_kernel_build *lower, zf_simt_lanes *lanes, uint32_t edge, uint64_t stride, uint64_t from,
                         uint64_t count) {
    if (count > 64 || stride > 32 * MOST_WORDS) return NULL;
    if ((lanes->count - 1) * stride + count + 64 > 32 * MOST_WORDS) return NULL;
    window like = {.edge = edge, .stride = stride, .from = from, .count = count};
    window *w = find(&lanes->stage, &like);
    if (w == NULL) {
        w = add(lower->cg, &lanes->stage, &like, MOST_WORDS + 5); // the last: zeros above the bits
        load_window(lower, lanes, w);
    }
    return w;
}

LLVMValueRef zf_simt_lane_bits(zf_kernel_build *lower, zf_simt_lanes *lanes, unsigned k, uint32_t edge, uint64_t stride,
                               uint64_t from, uint64_t count) {
    zf_cg *cg = lower->cg;
    if (count == 0) return zf_cg_i64(cg, 0);
    window *w = window_of(lower, lanes, edge, stride, from, count);
    if (w == NULL) return NULL;
    uint64_t at = w->at + k * stride;
    LLVMValueRef v = zf_cg_resize(cg, take(cg, w, at, count < 32 ? count : 32), cg->ty_i64, false);
    if (count <= 32) return v;
    LLVMValueRef v_high = zf_cg_resize(cg, take(cg, w, at + 32, count - 32), cg->ty_i64, false);
    return zf_cg_or(cg, v, LLVMBuildShl(cg->builder, v_high, zf_cg_i64(cg, 32), ""));
}

// Lanes whose bits fit into 64 together are loaded together, and shift by multiples of the width.
LLVMValueRef zf_simt_lane_scaled_bits(const zf_kernel_env *env, uint32_t edge, const zf_port *port, uint64_t limit) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    zf_simt_lanes *lanes = env->simt.lanes;
    unsigned together = lanes->count;
    while (together > 1 && together * limit > 64) together /= 2;
    if (together == 1 || limit == 0) return NULL;
    window like = {.edge = edge, .port = port};
    window *w = find(&lanes->stage, &like);
    bool is_wide = together * limit > 32;
    LLVMTypeRef ty = is_wide ? cg->ty_i64 : cg->ty_i32;
    if (w == NULL) {
        w = add(cg, &lanes->stage, &like, lanes->count);
        LLVMValueRef v_pointer = zf_lower_pointer(lower, edge);
        LLVMBasicBlockRef bb_before = to_loads(cg, &lanes->stage);
        zf_kernel_env at_stage = *env;
        LLVMValueRef v_width = zf_cg_resize(cg, at_stage.env.param(cg, &at_stage.env, port).v, cg->ty_i64, false);
        LLVMValueRef v_mask = zf_cg_resize(cg, zf_cg_low_mask(cg, v_width, limit), ty, false);
        for (unsigned first = 0; first < lanes->count; first += together) {
            LLVMValueRef v_bit = zf_cg_mul(cg, zf_cg_add(cg, lanes->v_first, zf_cg_i64(cg, first)), v_width);
            LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i32, v_pointer, LLVMBuildLShr(cg->builder, v_bit, zf_cg_i64(cg, 5), ""));
            LLVMValueRef v = zf_cg_words_span(cg, v_from, zf_cg_resize(cg, v_bit, cg->ty_i32, false), is_wide);
            for (unsigned k = 0; k < together; k++) {
                LLVMValueRef v_away = zf_cg_resize(cg, zf_cg_mul(cg, v_width, zf_cg_i64(cg, k)), ty, false);
                LLVMValueRef v_down = k == 0 ? v : LLVMBuildLShr(cg->builder, v, v_away, "");
                w->v_words[first + k] = zf_cg_resize(cg, zf_cg_and(cg, v_down, v_mask), cg->ty_i64, false);
            }
        }
        from_loads(cg, &lanes->stage, bb_before);
    }
    return w->v_words[env->simt.lane_k];
}

zf_cg_value zf_simt_lane_element(zf_kernel_build *lower, zf_simt_lanes *lanes, unsigned k, uint32_t edge) {
    zf_cg *cg = lower->cg;
    zf_type type = zf_type_strip(lower->graph->edges[edge].type);
    if (type.kind == ZF_K_BOOL) {
        const window *bits = window_of(lower, lanes, edge, 1, 0, 1); // an i1 has one of them, whatever stands above
        return zf_cg_scalar(type, zf_cg_resize(cg, take_more(cg, bits, bits->at + k, 1), cg->ty_i1, false));
    }
    window like = {.edge = edge, .elements = true};
    window *w = find(&lanes->stage, &like);
    if (w == NULL) {
        w = add(cg, &lanes->stage, &like, lanes->count);
        LLVMValueRef v_pointer = zf_lower_pointer(lower, edge);
        zf_simt_prefetch_tile_edge(lanes->fetch, edge, v_pointer, 8 * (uint64_t)zf_kind_size(type.kind), false);
        LLVMBasicBlockRef bb_before = to_loads(cg, &lanes->stage);
        unsigned size = zf_kind_size(type.kind);
        LLVMTypeRef ty = zf_cg_type(cg, type);
        LLVMValueRef v_from = zf_cg_at(cg, ty, v_pointer, lanes->v_first);
        unsigned bytes = size * lanes->count, align = power_of_two_in(bytes, 16);
        if (lanes->by_words && size < 4 && bytes % 4 == 0 && bytes <= 4 * MOST_WORDS) {
            LLVMValueRef v_words[MOST_WORDS];
            load_vectors(cg, cg->ty_i32, 4, v_from, bytes / 4, align, v_words);
            if (zf_simt_prefetches(cg)) {
                LLVMValueRef v_distance = zf_cg_resize(cg, lanes->v_distance, cg->ty_i64, false);
                zf_simt_prefetch(cg, zf_cg_at(cg, ty, v_from, v_distance));
            }
            for (unsigned e = 0; e < lanes->count; e++) {
                LLVMValueRef v_shift = zf_cg_i32(cg, 8 * (e * size % 4));
                w->v_words[e] = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_words[e * size / 4], v_shift, ""), ty, false);
            }
        } else {
            load_vectors(cg, ty, size, v_from, lanes->count, align, w->v_words);
            wait_for_all(cg, &lanes->stage, w->v_words, lanes->count);
        }
        from_loads(cg, &lanes->stage, bb_before);
    }
    return zf_cg_scalar(type, w->v_words[k]);
}

// ---- Near a known index ---------------------------------------------------------------------------------------

// Where element v_base + v_rank begins: the word, and *v_at its bit, of which the lower five bits count.
static LLVMValueRef near_word(zf_kernel_build *lower, LLVMValueRef v_base, LLVMValueRef v_rank, const window *like,
                              LLVMValueRef *v_at) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef builder = cg->builder;
    LLVMValueRef v_bit = zf_cg_add(cg, zf_cg_mul(cg, v_base, zf_cg_i64(cg, like->stride)), zf_cg_i64(cg, like->from));
    LLVMValueRef v_start =
        zf_cg_at(cg, cg->ty_i32, zf_lower_pointer(lower, like->edge), LLVMBuildLShr(builder, v_bit, zf_cg_i64(cg, 5), ""));
    *v_at = zf_cg_and(cg, zf_cg_resize(cg, v_bit, cg->ty_i32, false), zf_cg_i32(cg, 31));
    *v_at = zf_cg_add(cg, *v_at, zf_cg_mul(cg, v_rank, zf_cg_i32(cg, (uint32_t)like->stride)));
    LLVMValueRef v_word = zf_cg_resize(cg, LLVMBuildLShr(builder, *v_at, zf_cg_i32(cg, 5), ""), cg->ty_i64, false);
    return zf_cg_at(cg, cg->ty_i32, v_start, v_word);
}

void zf_simt_neighbours_begin(zf_kernel_build *lower, zf_simt_neighbours *neighbours) {
    begin(lower->cg, &neighbours->stage, "neighbours_load", "neighbours");
}

void zf_simt_neighbours_end(zf_kernel_build *lower, zf_simt_neighbours *neighbours) { end(lower->cg, &neighbours->stage); }

// `span` bits (at most 64) from where neighbour `first` begins, as i32 or i64.
static LLVMValueRef load_span(zf_kernel_build *lower, const zf_simt_relative *relative, const window *like, unsigned first,
                              uint64_t span) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_before = to_loads(cg, &relative->neighbours->stage);
    LLVMValueRef v_at, v_from = near_word(lower, relative->v_base, relative->neighbours->v_ranks[first], like, &v_at);
    LLVMValueRef v = zf_cg_words_span(cg, v_from, v_at, span > 32);
    from_loads(cg, &relative->neighbours->stage, bb_before);
    return v;
}

// The bits of one of several neighbours: as many as 64 bits hold are loaded together, and each shifts by how far its rank is
// from the first's.
static LLVMValueRef neighbour_bits(zf_kernel_build *lower, const zf_simt_relative *relative, const window *like,
                                   unsigned together) {
    zf_cg *cg = lower->cg;
    zf_simt_neighbours *all = relative->neighbours;
    unsigned first = relative->k / together * together;
    window *w = find(&all->stage, like);
    if (w == NULL) w = add(cg, &all->stage, like, ZF_NEIGHBOURS);
    if (w->v_words[first] == NULL) {
        w->v_words[first] = load_span(lower, relative, like, first, (together - 1) * like->stride + like->count);
    }
    LLVMValueRef v = w->v_words[first];
    LLVMTypeRef ty = LLVMTypeOf(v);
    if (relative->k != first) {
        bool placed = all->v_places[first] != NULL;
        LLVMValueRef v_away = placed ? zf_cg_sub(cg, all->v_places[relative->k], all->v_places[first])
                                     : zf_cg_sub(cg, relative->v_rank, all->v_ranks[first]);
        v_away = zf_cg_mul(cg, v_away, zf_cg_i32(cg, (uint32_t)like->stride));
        v = LLVMBuildLShr(cg->builder, v, zf_cg_resize(cg, v_away, ty, false), "");
    }
    uint64_t mask = like->count == 64 ? UINT64_MAX : (UINT64_C(1) << like->count) - 1;
    return zf_cg_resize(cg, zf_cg_and(cg, v, LLVMConstInt(ty, mask, 0)), cg->ty_i64, false);
}

LLVMValueRef zf_simt_relative_bits(zf_kernel_build *lower, const zf_simt_relative *relative, uint32_t edge, uint64_t stride,
                                   uint64_t from, uint64_t count) {
    zf_cg *cg = lower->cg;
    if (count == 0) return zf_cg_i64(cg, 0);
    if (count > 64 || stride > 512) return NULL;
    zf_simt_prefetch_tile_edge(relative->fetch, edge, zf_lower_pointer(lower, edge), stride, true);
    window like = {.edge = edge, .stride = stride, .from = from, .count = count};
    unsigned together = relative->neighbours == NULL ? 1 : relative->neighbours->count;
    while (together > 1 && (together - 1) * stride + count > 64) together /= 2;
    if (together > 1) return neighbour_bits(lower, relative, &like, together);
    LLVMValueRef v_at, v_from = near_word(lower, relative->v_base, relative->v_rank, &like, &v_at);
    return zf_cg_words_bits(cg, v_from, v_at, zf_cg_i64(cg, count), count, false);
}

zf_cg_value zf_simt_relative_element(zf_kernel_build *lower, const zf_simt_relative *relative, uint32_t edge) {
    zf_cg *cg = lower->cg;
    zf_type type = zf_type_strip(lower->graph->edges[edge].type);
    LLVMTypeRef ty = zf_cg_type(cg, type);
    LLVMValueRef v_start = zf_cg_at(cg, ty, zf_lower_pointer(lower, edge), relative->v_base);
    zf_simt_prefetch_tile_edge(relative->fetch, edge, zf_lower_pointer(lower, edge), 8 * (uint64_t)zf_kind_size(type.kind),
                               false);
    LLVMValueRef v_at = zf_cg_at(cg, ty, v_start, zf_cg_resize(cg, relative->v_rank, cg->ty_i64, false));
    return zf_cg_scalar(type, zf_cg_load(cg, ty, v_at, zf_kind_size(type.kind)));
}

// Loads for several bodies of one thread, all at once and before the bodies: the reads of C contiguous elements at their own
// index, also one step ahead, and those of several elements anywhere, whose loads are tied.
//
// Bits: the words that hold the bits of all lanes are loaded once and shifted so that lane 0's begin at bit 0; every lane then
// takes its bits by constant shifts.
#include "codegen/simt/memory/simt_load_stage.h"
#include "codegen/simt/memory/simt_memory.h"
#include "codegen/simt/memory/simt_prefetch_distant.h"
#include "codegen/simt/memory/simt_prefetch_tile.h"
#include "codegen/simt/memory/simt_staging.h"

enum { MOST_WORDS = 40 };

typedef zf_simt_window window;

zf_simt_lanes zf_simt_lanes_begin(zf_kernel_build *lower, LLVMValueRef v_first, unsigned count) {
    zf_simt_lanes lanes = {.v_first = v_first, .count = count};
    zf_simt_stage_begin(lower->cg, &lanes.stage, "lanes_load", "lanes");
    return lanes;
}

zf_simt_lanes zf_simt_lanes_tied(zf_kernel_build *lower, zf_simt_tied *tied, LLVMValueRef v_base, LLVMValueRef v_near,
                                 unsigned count) {
    zf_cg *cg = lower->cg;
    zf_simt_lanes lanes = {.v_base = v_base, .count = count, .stage.tied = tied};
    LLVMBasicBlockRef bb_before = zf_simt_to_loads(cg, &lanes.stage);
    lanes.v_near = zf_cg_low_half(cg, v_near);
    lanes.v_first = zf_cg_add(cg, v_base, v_near);
    zf_simt_from_loads(cg, &lanes.stage, bb_before);
    return lanes;
}

void zf_simt_lanes_end(zf_kernel_build *lower, zf_simt_lanes *lanes) {
    if (lanes->stage.tied == NULL) zf_simt_stage_end(lower->cg, &lanes->stage);
}

void zf_simt_lanes_know_bits(zf_kernel_build *lower, zf_simt_lanes *lanes, uint32_t edge, LLVMValueRef v_bits) {
    window like = {.edge = edge, .stride = 1, .count = 1};
    window *w = zf_simt_window_add(lower->cg, &lanes->stage, &like, 2);
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
        zf_simt_wait_for_all(cg, &lanes->stage, out, words->count);
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
    LLVMBasicBlockRef bb_before = zf_simt_to_loads(cg, &lanes->stage);
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
    zf_simt_from_loads(cg, &lanes->stage, bb_before);
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
    window *w = zf_simt_window_find(&lanes->stage, &like);
    if (w == NULL) {
        w = zf_simt_window_add(lower->cg, &lanes->stage, &like, MOST_WORDS + 5); // the last: zeros above the bits
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
    window *w = zf_simt_window_find(&lanes->stage, &like);
    bool is_wide = together * limit > 32;
    LLVMTypeRef ty = is_wide ? cg->ty_i64 : cg->ty_i32;
    if (w == NULL) {
        w = zf_simt_window_add(cg, &lanes->stage, &like, lanes->count);
        LLVMValueRef v_pointer = zf_lower_pointer(lower, edge);
        LLVMBasicBlockRef bb_before = zf_simt_to_loads(cg, &lanes->stage);
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
        zf_simt_from_loads(cg, &lanes->stage, bb_before);
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
    window *w = zf_simt_window_find(&lanes->stage, &like);
    if (w == NULL) {
        w = zf_simt_window_add(cg, &lanes->stage, &like, lanes->count);
        LLVMValueRef v_pointer = zf_lower_pointer(lower, edge);
        zf_simt_prefetch_tile_edge(lanes->fetch, edge, v_pointer, 8 * (uint64_t)zf_kind_size(type.kind), false);
        LLVMBasicBlockRef bb_before = zf_simt_to_loads(cg, &lanes->stage);
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
            zf_simt_wait_for_all(cg, &lanes->stage, w->v_words, lanes->count);
        }
        zf_simt_from_loads(cg, &lanes->stage, bb_before);
    }
    return zf_cg_scalar(type, w->v_words[k]);
}

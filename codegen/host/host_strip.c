// Strips: 64 elements at a time, their bits unpacked by vectors.
//
// Elements of `count` bits that lie `stride` bits apart: 64 of them, and any multiple of 8, begin on a byte. A vector of N
// lanes (N * stride bits, at most 512 with the rest of the first byte) is therefore one load, two shuffles that bring each lane
// the word with its first bit and the next one, a funnel shift by constants, and a mask. The buffer that they go to is usually
// never stored: LLVM unrolls the loops over the strip and forwards it.
#include "codegen/host/host.h"

enum { VECTOR_BITS = 512, LEAST_LOAD_BITS = 128 };

typedef struct zf_staged {
    uint32_t edge;
    uint64_t stride, from, count;
    LLVMValueRef v_buffer;
    unsigned lane; ///< bits of its elements
    struct zf_staged *next;
} staged;

// ---- Unpacking ------------------------------------------------------------------------------------------------

typedef struct shape {
    unsigned lane;  ///< bits: 32 or 64
    unsigned lanes; ///< elements a vector
    unsigned words; ///< of `lane` bits, loaded for them
    unsigned shift; ///< of the first element in its byte
} shape;

static unsigned power_of_two(unsigned n) {
    unsigned p = 1;
    while (p < n) p *= 2;
    return p;
}

// Lanes are a multiple of 8, so that every vector begins on a byte.
static bool shape_of(uint64_t stride, uint64_t from, uint64_t count, shape *out) {
    if (stride == 0 || count == 0 || count > 64 || stride > VECTOR_BITS || from > UINT32_MAX) return false;
    out->lane = count <= 32 ? 32 : 64;
    out->shift = (unsigned)(from % 8);
    for (out->lanes = VECTOR_BITS / out->lane; out->lanes >= 8; out->lanes /= 2) {
        uint64_t bits = out->shift + (out->lanes - 1) * stride + count;
        if (bits > VECTOR_BITS) continue;
        out->words = power_of_two((unsigned)((bits + out->lane - 1) / out->lane));
        if (out->words < LEAST_LOAD_BITS / out->lane) out->words = LEAST_LOAD_BITS / out->lane;
        return true;
    }
    return false;
}

static LLVMValueRef constants(LLVMTypeRef ty, const uint64_t *values, unsigned count) {
    LLVMValueRef v[64];
    for (unsigned k = 0; k < count; k++) v[k] = LLVMConstInt(ty, values[k], 0);
    return LLVMConstVector(v, count);
}

static LLVMValueRef unpack(zf_cg *cg, const shape *s, uint64_t stride, uint64_t count, LLVMValueRef v_from) {
    LLVMTypeRef ty = s->lane == 32 ? cg->ty_i32 : cg->ty_i64;
    LLVMTypeRef ty_words = LLVMVectorType(ty, s->words), ty_lanes = LLVMVectorType(ty, s->lanes);
    LLVMValueRef v_words = zf_cg_load(cg, ty_words, v_from, 1), v_none = LLVMGetPoison(ty_words);
    uint64_t low[64] = {0}, high[64] = {0}, shift[64] = {0}, mask[64] = {0};
    bool straddles = false;
    for (unsigned k = 0; k < s->lanes; k++) {
        uint64_t bit = s->shift + k * stride;
        low[k] = bit / s->lane;
        shift[k] = bit % s->lane;
        bool next = shift[k] + count > s->lane;
        high[k] = next ? low[k] + 1 : low[k];
        straddles = straddles || next;
        mask[k] = count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
    }
    LLVMValueRef v = LLVMBuildShuffleVector(cg->builder, v_words, v_none, constants(cg->ty_i32, low, s->lanes), "");
    LLVMValueRef v_shift = constants(ty, shift, s->lanes);
    if (straddles) {
        LLVMValueRef v_high = LLVMBuildShuffleVector(cg->builder, v_words, v_none, constants(cg->ty_i32, high, s->lanes), "");
        LLVMValueRef arguments[3] = {v_high, v, v_shift};
        v = zf_cg_intrinsic(cg, "llvm.fshr", &ty_lanes, 1, arguments, 3);
    } else {
        v = LLVMBuildLShr(cg->builder, v, v_shift, "");
    }
    return count == s->lane ? v : zf_cg_mask(cg, v, constants(ty, mask, s->lanes), "bits of a strip");
}

// Whole vectors read beyond their last bit. A strip may be unpacked where that stays within what can be read behind the stream:
// keeps the block's v_limit, the first index where that ends. All elements of a strip exist, so what they have can be read.
static void limit_strips(zf_kernel_build *lower, const staged *s, const shape *form) {
    zf_cg *cg = lower->cg;
    uint64_t last = (ZF_STRIP / form->lanes - 1) * form->lanes * s->stride / 8;
    uint64_t reach = s->from / 8 + last + form->words * form->lane / 8;
    if (reach <= ((ZF_STRIP - 1) * s->stride + s->from + s->count + 7) / 8 + ZF_READ_AHEAD) return;
    LLVMValueRef v_count = zf_lower_count(lower, s->edge);
    zf_type type = lower->graph->edges[s->edge].type;
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v_bytes = type.kind == ZF_K_BOOL ? LLVMBuildLShr(cg->builder, v_count, zf_cg_i64(cg, 3), "")
                                                  : zf_cg_mul(cg, v_count, zf_cg_i64(cg, zf_kind_size(type.kind)));
    v_bytes = zf_cg_add(cg, v_bytes, zf_cg_i64(cg, ZF_READ_AHEAD));
    LLVMValueRef v_enough = zf_cg_icmp(cg, LLVMIntUGE, v_bytes, zf_cg_i64(cg, reach));
    v_enough = zf_cg_within(cg, v_enough, "a stream shorter than a strip");
    // begin * stride / 8 <= bytes - reach, for begin a multiple of 64
    LLVMValueRef v_room = LLVMBuildShl(cg->builder, zf_cg_sub(cg, v_bytes, zf_cg_i64(cg, reach)), zf_cg_i64(cg, 3), "");
    LLVMValueRef v_last = LLVMBuildUDiv(cg->builder, v_room, zf_cg_i64(cg, s->stride), "");
    LLVMValueRef v_first_bad = zf_cg_select(cg, v_enough, zf_cg_add(cg, v_last, zf_cg_i64(cg, 1)), zf_cg_i64(cg, 0));
    LLVMValueRef v_limit = LLVMBuildLoad2(cg->builder, cg->ty_i64, lower->host->v_limit, "");
    v_limit = zf_cg_umin(cg, v_limit, v_first_bad);
    if (!zf_cg_site(cg, ZF_SITE_GUARD, "strips whose bits can be read"))
        LLVMBuildStore(cg->builder, v_limit, lower->host->v_limit);
    zf_lower_setup_end(lower, bb_before);
}

static void stage(zf_kernel_build *lower, zf_strip *strip, const staged *s, const shape *form) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, strip->bb_stage);
    LLVMValueRef v_bit = zf_cg_mul(cg, strip->v_start, zf_cg_i64(cg, s->stride));
    LLVMValueRef v_byte = zf_cg_add(cg, LLVMBuildLShr(cg->builder, v_bit, zf_cg_i64(cg, 3), ""), zf_cg_i64(cg, s->from / 8));
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, zf_lower_pointer(lower, s->edge), v_byte);
    for (unsigned k = 0; k < ZF_STRIP; k += form->lanes) {
        LLVMValueRef v = unpack(cg, form, s->stride, s->count, zf_cg_byte_at(cg, v_from, k * s->stride / 8));
        zf_cg_store(cg, v, zf_cg_byte_at(cg, s->v_buffer, k * form->lane / 8), form->lanes * form->lane / 8);
    }
    strip->bb_stage = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
}

LLVMValueRef zf_strip_bits(zf_kernel_build *lower, zf_strip *strip, uint32_t edge, uint64_t stride, uint64_t from,
                           uint64_t count) {
    zf_cg *cg = lower->cg;
    shape form;
    if (!strip->unpacks || !shape_of(stride, from, count, &form)) return NULL;
    staged *s = strip->staged;
    while (s != NULL && (s->edge != edge || s->stride != stride || s->from != from || s->count != count)) s = s->next;
    if (s == NULL) {
        s = ZF_NEW(cg->arena, staged);
        *s = (staged){.edge = edge, .stride = stride, .from = from, .count = count, .lane = form.lane, .next = strip->staged};
        s->v_buffer = zf_cg_alloca(cg, LLVMArrayType2(form.lane == 32 ? cg->ty_i32 : cg->ty_i64, ZF_STRIP), "bits");
        LLVMSetAlignment(s->v_buffer, 64);
        limit_strips(lower, s, &form);
        stage(lower, strip, s, &form);
        strip->staged = s;
    }
    LLVMTypeRef ty = s->lane == 32 ? cg->ty_i32 : cg->ty_i64;
    LLVMValueRef v = zf_cg_load(cg, ty, zf_cg_at(cg, ty, s->v_buffer, strip->v_k), s->lane / 8);
    // The loaded value is masked already, but LLVM sees that only where it forwards the buffer.
    return zf_cg_resize(cg, v, cg->ty_i64, false);
}

// ---- Strips ---------------------------------------------------------------------------------------------------

zf_strip zf_strip_begin(zf_kernel_build *lower, LLVMValueRef v_start, bool unpacks) {
    zf_cg *cg = lower->cg;
    zf_strip strip = {.v_start = v_start, .unpacks = unpacks};
    strip.bb_stage = zf_cg_block(cg, "stage");
    strip.bb_loops = zf_cg_block(cg, "strip");
    zf_cg_br(cg, strip.bb_stage);
    zf_cg_enter(cg, strip.bb_loops);
    return strip;
}

void zf_strip_ahead(zf_cg *cg, zf_strip *strip) {
    if (strip->bb_ahead == NULL) strip->bb_ahead = strip->bb_first_ahead = zf_cg_block(cg, "ahead");
    zf_cg_enter(cg, strip->bb_ahead);
}

void zf_strip_end(zf_kernel_build *lower, zf_strip *strip) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_enter(cg, strip->bb_stage);
    zf_cg_br(cg, strip->bb_ahead != NULL ? strip->bb_first_ahead : strip->bb_loops);
    if (strip->bb_ahead != NULL) {
        zf_cg_enter(cg, strip->bb_ahead);
        zf_cg_br(cg, strip->bb_loops);
    }
    zf_cg_enter(cg, bb_before);
}

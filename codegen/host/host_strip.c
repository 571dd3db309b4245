// Strips: 64 elements at a time, their bits unpacked by vectors.
//
// Elements of `count` bits that lie `stride` bits apart: 64 of them, and any multiple of 8, begin on a byte. A vector of N
// lanes (N * stride bits, at most 512 with the rest of the first byte) is therefore one load, two shuffles that bring each lane
// the word with its first bit and the next one, a funnel shift by constants, and a mask. The buffer that they go to is usually
// never stored: LLVM unrolls the loops over the strip and forwards it.
//
// Where the elements of half a vector lie in 16 bytes, and each in as many bytes as a lane has, it is less: a load for each half,
// one permutation of bytes within the halves, and a shift. Processors without AVX-512 permute words across halves slowly.
#include "codegen/host/host.h"

enum { VECTOR_BITS = 512, LEAST_LOAD_BITS = 128, HALF_BITS = 128, HALF_BYTES = HALF_BITS / 8 };

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
    bool halves;    ///< elements are made by halves of 16 bytes
} shape;

static unsigned power_of_two(unsigned n) {
    unsigned p = 1;
    while (p < n) p *= 2;
    return p;
}

// The first bit of the elements of a half, counted from the byte that has the strip's first bit.
static uint64_t half_at(const shape *s, uint64_t stride, unsigned half) {
    return s->shift + half * (HALF_BITS / s->lane) * stride;
}

// Elements of a whole power of two of bytes need no permutation.
static bool fits_halves(const shape *s, uint64_t stride, uint64_t count) {
    if (s->shift == 0 && stride == count && count % 8 == 0 && power_of_two((unsigned)count) == count) return false;
    for (unsigned k = 0; k < ZF_STRIP; k++) {
        unsigned lanes = HALF_BITS / s->lane;
        uint64_t bit = half_at(s, stride, k / lanes) % 8 + k % lanes * stride;
        if (bit % 8 + count > s->lane || bit + count > HALF_BITS) return false;
    }
    return true;
}

// Lanes are a multiple of 8, so that every vector begins on a byte.
static bool shape_of(const zf_cg *cg, uint64_t stride, uint64_t from, uint64_t count, shape *out) {
    if (stride == 0 || count == 0 || count > 64 || stride > VECTOR_BITS || from > UINT32_MAX) return false;
    out->lane = count <= 32 ? 32 : 64;
    out->shift = (unsigned)(from % 8);
    out->halves = cg->halves && fits_halves(out, stride, count);
    if (out->halves) {
        out->lanes = 2 * HALF_BITS / out->lane;
        return true;
    }
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

// Elements of two halves, the first of which is number `half` of the strip.
static LLVMValueRef unpack_halves(zf_cg *cg, const shape *s, uint64_t stride, uint64_t count, LLVMValueRef v_from,
                                  unsigned half) {
    LLVMTypeRef ty = s->lane == 32 ? cg->ty_i32 : cg->ty_i64, ty_half = LLVMVectorType(cg->ty_i8, HALF_BYTES);
    unsigned lanes = HALF_BITS / s->lane, bytes = s->lane / 8;
    uint64_t source[64] = {0}, shift[64] = {0}, mask[64] = {0};
    LLVMValueRef v_halves[2];
    for (unsigned h = 0; h < 2; h++) {
        uint64_t begin = half_at(s, stride, half + h);
        v_halves[h] = zf_cg_load(cg, ty_half, zf_cg_byte_at(cg, v_from, begin / 8), 1);
        for (unsigned k = 0; k < lanes; k++) {
            uint64_t bit = begin % 8 + k * stride, last = HALF_BYTES - 1;
            for (unsigned b = 0; b < bytes; b++) // bytes behind the element's last are masked
                source[(h * lanes + k) * bytes + b] = h * HALF_BYTES + (bit / 8 + b < last ? bit / 8 + b : last);
            shift[h * lanes + k] = bit % 8;
            mask[h * lanes + k] = count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
        }
    }
    LLVMValueRef v_sources = constants(cg->ty_i32, source, 2 * HALF_BYTES);
    LLVMValueRef v = LLVMBuildShuffleVector(cg->builder, v_halves[0], v_halves[1], v_sources, "");
    v = LLVMBuildBitCast(cg->builder, v, LLVMVectorType(ty, 2 * lanes), "");
    v = LLVMBuildLShr(cg->builder, v, constants(ty, shift, 2 * lanes), "");
    return zf_cg_mask(cg, v, constants(ty, mask, 2 * lanes), "bits of a strip");
}

// Where the bytes end that a strip reads, counted from the first one of its first bit.
static uint64_t reach_of(const staged *s, const shape *form) {
    if (form->halves) return half_at(form, s->stride, ZF_STRIP * form->lane / HALF_BITS - 1) / 8 + HALF_BYTES;
    return (ZF_STRIP / form->lanes - 1) * form->lanes * s->stride / 8 + form->words * form->lane / 8;
}

// Whole vectors read beyond their last bit. A strip may be unpacked where that stays within what can be read behind the stream:
// keeps the block's v_limit, the first index where that ends. All elements of a strip exist, so what they have can be read.
static void limit_strips(zf_kernel_build *lower, const staged *s, const shape *form) {
    zf_cg *cg = lower->cg;
    uint64_t reach = s->from / 8 + reach_of(s, form);
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
        LLVMValueRef v = form->halves ? unpack_halves(cg, form, s->stride, s->count, v_from, k * form->lane / HALF_BITS)
                                      : unpack(cg, form, s->stride, s->count, zf_cg_byte_at(cg, v_from, k * s->stride / 8));
        zf_cg_store(cg, v, zf_cg_byte_at(cg, s->v_buffer, k * form->lane / 8), form->lanes * form->lane / 8);
    }
    strip->bb_stage = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
}

LLVMValueRef zf_strip_bits(zf_kernel_build *lower, zf_strip *strip, uint32_t edge, uint64_t stride, uint64_t from,
                           uint64_t count) {
    zf_cg *cg = lower->cg;
    shape form;
    if (!strip->unpacks || !shape_of(cg, stride, from, count, &form)) return NULL;
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

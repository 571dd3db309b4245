// Bits at any offset of little-endian words. Words of 8, 16, 32 and 64 bits hold the same bytes, so only bytes are read here.
#include "codegen/body/cg_fault_sites.h"
#include "codegen/target/codegen_target.h"

static bool constant_of(LLVMValueRef v, uint64_t *out) {
    if (!LLVMIsAConstantInt(v)) return false;
    *out = LLVMConstIntGetZExtValue(v);
    return true;
}

LLVMValueRef zf_cg_low_mask(zf_cg *cg, LLVMValueRef v_count, uint64_t count_limit) {
    uint64_t count;
    if (constant_of(v_count, &count)) return zf_cg_i64(cg, count >= 64 ? UINT64_MAX : (1ull << count) - 1);
    LLVMValueRef v_one = zf_cg_i64(cg, 1);
    if (count_limit < 64) return zf_cg_sub(cg, LLVMBuildShl(cg->builder, v_one, v_count, ""), v_one);
    // All ones shifted down by 64 - count; 0 by name, since a shift by 64 is poison.
    LLVMValueRef v_down = zf_cg_and(cg, zf_cg_sub(cg, zf_cg_i64(cg, 64), v_count), zf_cg_i64(cg, 63));
    LLVMValueRef v_mask = LLVMBuildLShr(cg->builder, zf_cg_i64(cg, UINT64_MAX), v_down, "");
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i64(cg, 0));
    return zf_cg_select(cg, zf_cg_apart(cg, ZF_SITE_MASK, v_none, "no bits"), zf_cg_i64(cg, 0), v_mask);
}

LLVMValueRef zf_cg_narrow(zf_cg *cg, LLVMValueRef v, LLVMValueRef *v_fits) {
    bool small = LLVMIsAConstantInt(v)
                     ? LLVMConstIntGetZExtValue(v) <= UINT32_MAX
                     : LLVMIsAZExtInst(v) != NULL && LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(v, 0))) <= 32;
    *v_fits = small ? zf_cg_i1(cg, true) : zf_cg_icmp(cg, LLVMIntULE, v, zf_cg_i64(cg, UINT32_MAX));
    return zf_cg_resize(cg, v, cg->ty_i32, false);
}

LLVMValueRef zf_cg_low_half(zf_cg *cg, LLVMValueRef v) { return zf_cg_resize(cg, v, cg->ty_i32, false); }

// By 32 bits: a narrower shift takes more instructions on a GPU.
LLVMValueRef zf_cg_byte_of_bit(zf_cg *cg, LLVMValueRef v_bits, LLVMValueRef v_index) {
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i8, v_bits, LLVMBuildLShr(cg->builder, v_index, zf_cg_i64(cg, 3), ""));
    LLVMValueRef v_byte = zf_cg_resize(cg, zf_cg_load(cg, cg->ty_i8, v_at, 1), cg->ty_i32, false);
    LLVMValueRef v_shift = zf_cg_and(cg, zf_cg_low_half(cg, v_index), zf_cg_i32(cg, 7));
    return LLVMBuildLShr(cg->builder, v_byte, v_shift, "");
}

LLVMValueRef zf_cg_bit_at(zf_cg *cg, LLVMValueRef v_bits, LLVMValueRef v_index) {
    return LLVMBuildTrunc(cg->builder, zf_cg_byte_of_bit(cg, v_bits, v_index), cg->ty_i1, "");
}

LLVMValueRef zf_cg_high_half(zf_cg *cg, LLVMValueRef v) {
    return zf_cg_low_half(cg, LLVMBuildLShr(cg->builder, v, zf_cg_i64(cg, 32), ""));
}

LLVMValueRef zf_cg_both_halves(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high) {
    LLVMValueRef v_up = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_high, cg->ty_i64, false), zf_cg_i64(cg, 32), "");
    return zf_cg_or(cg, zf_cg_resize(cg, v_low, cg->ty_i64, false), v_up);
}

LLVMValueRef zf_cg_low_bytes(zf_cg *cg, LLVMValueRef v_count) {
    LLVMValueRef v_half = zf_cg_resize(cg, LLVMBuildShl(cg->builder, v_count, zf_cg_i32(cg, 2), ""), cg->ty_i64, false);
    LLVMValueRef v_above = LLVMBuildShl(cg->builder, zf_cg_i64(cg, UINT64_MAX), v_half, ""); // a shift by 64 is none
    return LLVMBuildNot(cg->builder, LLVMBuildShl(cg->builder, v_above, v_half, ""), "");
}

static LLVMValueRef load_word(zf_cg *cg, LLVMValueRef v_pointer, bool msb) {
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i64, v_pointer, 1);
    if (!msb) return v;
    LLVMTypeRef ty = cg->ty_i64;
    return zf_cg_intrinsic(cg, "llvm.bswap", &ty, 1, &v, 1);
}

bool zf_cg_has_funnel(const zf_cg *cg) {
    return cg->target != NULL && cg->target->simt != NULL && cg->target->simt->funnel != NULL;
}

LLVMValueRef zf_cg_funnel(zf_cg *cg, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift) {
    if (zf_cg_has_funnel(cg) && !LLVMIsConstant(v_shift)) return cg->target->simt->funnel(cg, left, v_high, v_low, v_shift);
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_args[3] = {v_high, v_low, v_shift};
    return zf_cg_intrinsic(cg, left ? "llvm.fshl" : "llvm.fshr", &ty, 1, v_args, 3);
}

LLVMValueRef zf_cg_words_span(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_shift, bool is_wide) {
    LLVMValueRef v_words[3];
    for (unsigned k = 0; k < (is_wide ? 3 : 2); k++) {
        v_words[k] = zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, v_from, 4 * (uint64_t)k), 4);
    }
    LLVMValueRef v = zf_cg_funnel(cg, false, v_words[1], v_words[0], v_shift);
    if (!is_wide) return v;
    return zf_cg_both_halves(cg, v, zf_cg_funnel(cg, false, v_words[2], v_words[1], v_shift));
}

// The first `count` bits of words whose first bits are the higher ones.
static LLVMValueRef msb_words_bits(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_shift, LLVMValueRef v_count, bool is_wide) {
    LLVMBuilderRef builder = cg->builder;
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_words[3], v[2];
    unsigned words = is_wide ? 3 : 2;
    for (unsigned k = 0; k < words; k++) {
        v_words[k] = zf_cg_load(cg, ty, zf_cg_byte_at(cg, v_from, 4 * (uint64_t)k), 4);
        v_words[k] = zf_cg_intrinsic(cg, "llvm.bswap", &ty, 1, &v_words[k], 1);
    }
    for (unsigned k = 0; k + 1 < words; k++) {
        LLVMValueRef v_args[3] = {v_words[k], v_words[k + 1], v_shift};
        v[k] = zf_cg_resize(cg, zf_cg_intrinsic(cg, "llvm.fshl", &ty, 1, v_args, 3), cg->ty_i64, false);
    }
    // The bits stand at the top of 64; none by name, since a shift by 64 is poison.
    LLVMValueRef v_all = LLVMBuildShl(builder, v[0], zf_cg_i64(cg, 32), "");
    if (is_wide) v_all = zf_cg_or(cg, v_all, v[1]);
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i64(cg, 0));
    LLVMValueRef v_down = zf_cg_and(cg, zf_cg_sub(cg, zf_cg_i64(cg, 64), v_count), zf_cg_i64(cg, 63));
    return zf_cg_select(cg, v_none, zf_cg_i64(cg, 0), LLVMBuildLShr(builder, v_all, v_down, ""));
}

LLVMValueRef zf_cg_words_bits(zf_cg *cg, LLVMValueRef v_from, LLVMValueRef v_shift, LLVMValueRef v_count, uint64_t count_limit,
                              bool msb) {
    bool is_wide = count_limit > 32;
    if (msb) return msb_words_bits(cg, v_from, v_shift, v_count, is_wide);
    LLVMValueRef v = zf_cg_resize(cg, zf_cg_words_span(cg, v_from, v_shift, is_wide), cg->ty_i64, false);
    return zf_cg_mask(cg, v, zf_cg_low_mask(cg, v_count, count_limit), "bits of an element");
}

// The same by aligned words of 32 bits.
static LLVMValueRef load_aligned(zf_cg *cg, LLVMValueRef v_pointer, LLVMValueRef v_at, LLVMValueRef v_count, uint64_t count_limit,
                                 bool msb) {
    LLVMValueRef v_word = LLVMBuildLShr(cg->builder, v_at, zf_cg_i64(cg, 5), "");
    LLVMValueRef v_shift = zf_cg_and(cg, zf_cg_resize(cg, v_at, cg->ty_i32, false), zf_cg_i32(cg, 31));
    return zf_cg_words_bits(cg, zf_cg_at(cg, cg->ty_i32, v_pointer, v_word), v_shift, v_count, count_limit, msb);
}

LLVMValueRef zf_cg_load_bits(zf_cg *cg, LLVMValueRef v_pointer, LLVMValueRef v_at, LLVMValueRef v_count, uint64_t count_limit,
                             bool msb) {
    LLVMBuilderRef builder = cg->builder;
    uint64_t at, count;
    if (constant_of(v_count, &count)) count_limit = count;
    if (count_limit == 0) return zf_cg_i64(cg, 0);
    if (cg->aligned_loads) return load_aligned(cg, v_pointer, v_at, v_count, count_limit, msb);
    LLVMValueRef v_byte = LLVMBuildLShr(builder, v_at, zf_cg_i64(cg, 3), "");
    LLVMValueRef v_shift = zf_cg_and(cg, v_at, zf_cg_i64(cg, 7));
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, v_pointer, v_byte);
    LLVMValueRef v_word = load_word(cg, v_from, msb);
    uint64_t worst = constant_of(v_at, &at) ? at % 8 : 7; // bits before the first one in its byte
    bool two = worst + count_limit > 64;
    LLVMValueRef v_next = NULL;
    if (two) { // a ninth byte may be needed; byte 8 is read alone, and is within the padding
        v_next = zf_cg_load(cg, cg->ty_i8, zf_cg_byte_at(cg, v_from, 8), 1);
        v_next = LLVMBuildZExt(builder, v_next, cg->ty_i64, "");
    }
    if (msb) {
        LLVMValueRef v = LLVMBuildShl(builder, v_word, v_shift, "");
        if (two) {
            LLVMValueRef v_fill = LLVMBuildLShr(builder, v_next, zf_cg_sub(cg, zf_cg_i64(cg, 8), v_shift), "");
            v = zf_cg_or(cg, v, v_fill);
        }
        // The first count bits from the top; none by name, since a shift by 64 is poison.
        LLVMValueRef v_down = zf_cg_sub(cg, zf_cg_i64(cg, 64), v_count);
        LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i64(cg, 0));
        v_down = zf_cg_and(cg, v_down, zf_cg_i64(cg, 63));
        return zf_cg_select(cg, v_none, zf_cg_i64(cg, 0), LLVMBuildLShr(builder, v, v_down, ""));
    }
    LLVMValueRef v = LLVMBuildLShr(builder, v_word, v_shift, "");
    if (two) {
        // next << (64 - shift), in two steps: for shift 0 the byte must vanish.
        LLVMValueRef v_up = zf_cg_sub(cg, zf_cg_i64(cg, 63), v_shift);
        LLVMValueRef v_high = LLVMBuildShl(builder, LLVMBuildShl(builder, v_next, v_up, ""), zf_cg_i64(cg, 1), "");
        v = zf_cg_or(cg, v, v_high);
    }
    return zf_cg_mask(cg, v, zf_cg_low_mask(cg, v_count, count_limit), "bits of an element");
}

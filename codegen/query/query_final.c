// Kernels that make the final form of a result in the device's memory: a thread makes an element, or a byte of bits, at a time.
#include <stddef.h>

#include "codegen/query/query_kernel.h"

typedef struct final_build {
    zf_cg *cg;
    zf_query_final form;
    LLVMValueRef v_words, v_touched, v_count, v_out;
} final_build;

static bool makes_bits(zf_query_final form) {
    return form == ZF_QUERY_FINAL_BITS || form == ZF_QUERY_FINAL_BYTE_BITS || form == ZF_QUERY_FINAL_TOUCHED;
}

static LLVMValueRef load(final_build *b, LLVMTypeRef ty, LLVMValueRef v_from, LLVMValueRef v_at, unsigned bytes) {
    return zf_cg_load(b->cg, ty, zf_cg_at(b->cg, ty, v_from, v_at), bytes);
}

// ---- Bits -----------------------------------------------------------------------------------------------------

static LLVMValueRef is_set(final_build *b, LLVMValueRef v_at) {
    zf_cg *cg = b->cg;
    LLVMTypeRef ty_u32 = cg->ty_i32;
    LLVMValueRef v = b->form == ZF_QUERY_FINAL_BITS        ? load(b, cg->ty_i64, b->v_words, v_at, 8)
                     : b->form == ZF_QUERY_FINAL_BYTE_BITS ? load(b, cg->ty_i8, b->v_touched, v_at, 1)
                                                           : load(b, ty_u32, b->v_touched, v_at, 4);
    return zf_cg_icmp(cg, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)));
}

// Byte v_at of the bits. Elements behind the last one are 0.
static void make_byte(final_build *b, LLVMValueRef v_at) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_byte = LLVMConstNull(cg->ty_i8), v_last = zf_cg_sub(cg, b->v_count, zf_cg_i64(cg, 1));
    LLVMValueRef v_first = zf_cg_mul(cg, v_at, zf_cg_i64(cg, 8));
    for (unsigned k = 0; k < 8; k++) {
        LLVMValueRef v_element = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_element, b->v_count);
        LLVMValueRef v_bit = zf_cg_and(cg, v_exists, is_set(b, zf_cg_umin(cg, v_element, v_last)));
        v_bit = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_bit, cg->ty_i8, false), LLVMConstInt(cg->ty_i8, k, 0), "");
        v_byte = zf_cg_or(cg, v_byte, v_bit);
    }
    zf_cg_store(cg, v_byte, zf_cg_at(cg, cg->ty_i8, b->v_out, v_at), 1);
}

// ---- Elements -------------------------------------------------------------------------------------------------

// NaNs are one; `bits` of an f32 lie in the low half.
static LLVMValueRef one_nan(zf_cg *cg, LLVMValueRef v, bool narrow) {
    uint64_t all = narrow ? UINT32_MAX >> 1 : UINT64_MAX >> 1, infinite = narrow ? UINT64_C(0x7f800000) : UINT64_C(0x7ff) << 52;
    uint64_t nan = infinite | (narrow ? UINT64_C(1) << 22 : UINT64_C(1) << 51);
    LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntUGT, zf_cg_and(cg, v, zf_cg_i64(cg, all)), zf_cg_i64(cg, infinite));
    return zf_cg_select(cg, v_is, zf_cg_i64(cg, nan), v);
}

// zf_query_float_bits.
static LLVMValueRef float_bits(zf_cg *cg, LLVMValueRef v_key) {
    LLVMValueRef v_sign = zf_cg_i64(cg, UINT64_C(1) << 63);
    LLVMValueRef v_negative = zf_cg_icmp(cg, LLVMIntSGE, v_key, zf_cg_i64(cg, 0));
    return zf_cg_select(cg, v_negative, zf_cg_not(cg, v_key), zf_cg_and(cg, v_key, zf_cg_not(cg, v_sign)));
}

static LLVMValueRef value_of(final_build *b, LLVMValueRef v, LLVMValueRef v_at) {
    zf_cg *cg = b->cg;
    bool floats = b->form == ZF_QUERY_FINAL_EXTREME_F64;
    if (b->form == ZF_QUERY_FINAL_F32 || b->form == ZF_QUERY_FINAL_F64) return one_nan(cg, v, b->form == ZF_QUERY_FINAL_F32);
    if (b->form != ZF_QUERY_FINAL_EXTREME && !floats) return v;
    return zf_cg_select(cg, is_set(b, v_at), floats ? float_bits(cg, v) : v, zf_cg_i64(cg, 0));
}

static unsigned size_of(zf_query_final form) {
    static const unsigned sizes[ZF_QUERY_FINALS] = {
        [ZF_QUERY_FINAL_8] = 1, [ZF_QUERY_FINAL_16] = 2, [ZF_QUERY_FINAL_32] = 4, [ZF_QUERY_FINAL_F32] = 4};
    return sizes[form] != 0 ? sizes[form] : 8;
}

static void make_element(final_build *b, LLVMValueRef v_at) {
    zf_cg *cg = b->cg;
    unsigned size = size_of(b->form);
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, 8 * size);
    LLVMValueRef v = value_of(b, load(b, cg->ty_i64, b->v_words, v_at, 8), v_at);
    zf_cg_store(cg, zf_cg_resize(cg, v, ty, false), zf_cg_at(cg, ty, b->v_out, v_at), size);
}

// ---- The kernel -----------------------------------------------------------------------------------------------

static LLVMValueRef frame_word(zf_cg *cg, LLVMValueRef v_frame, size_t at) {
    return zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_frame, at), sizeof(uint64_t));
}

// Threads take turns.
static void make_all(final_build *b, LLVMValueRef v_groups) {
    zf_cg *cg = b->cg;
    const zf_simt_ops *ops = cg->target->simt;
    LLVMValueRef v_threads = zf_cg_i64(cg, ZF_QUERY_FINAL_THREADS), v_items = b->v_count;
    if (makes_bits(b->form)) {
        LLVMValueRef v_up = zf_cg_add(cg, b->v_count, zf_cg_i64(cg, 7));
        v_items = LLVMBuildLShr(cg->builder, v_up, zf_cg_i64(cg, 3), "");
    }
    LLVMValueRef v_step = zf_cg_mul(cg, zf_cg_wide(cg, v_groups), v_threads);
    LLVMValueRef v_from = zf_cg_mul(cg, zf_cg_wide(cg, ops->group(cg)), v_threads);
    v_from = zf_cg_add(cg, v_from, zf_cg_wide(cg, ops->thread(cg)));
    zf_cg_loop loop;
    LLVMValueRef v_at = zf_query_steps_begin(cg, &loop, v_from, v_step, v_items, "turn");
    if (makes_bits(b->form))
        make_byte(b, v_at);
    else
        make_element(b, v_at);
    zf_cg_loop_end(cg, &loop);
}

void zf_cg_query_final(zf_cg *cg, zf_query_final form) {
    enum { REGISTERS = 64 };
    char name[24];
    LLVMValueRef v_args[ZF_QUERY_ARGS];
    cg->wave = ZF_QUERY_LANES;
    zf_lower_kernel_name(0, name);
    LLVMValueRef v_function = zf_query_function(cg, name, ZF_QUERY_FINAL_THREADS, REGISTERS, v_args);
    LLVMValueRef v_frame = v_args[ZF_QUERY_ARG_FRAME];
    zf_cg_begin_function(cg, v_function);
    zf_cg_enter(cg, zf_cg_block(cg, "entry"));
    LLVMValueRef v_words = frame_word(cg, v_frame, offsetof(zf_query_final_frame, words));
    LLVMValueRef v_touched = frame_word(cg, v_frame, offsetof(zf_query_final_frame, touched));
    final_build b = {.cg = cg,
                     .form = form,
                     .v_words = zf_cg_at_sink(cg, cg->ty_i8, v_args[ZF_QUERY_ARG_BASE], v_words),
                     .v_touched = zf_cg_at_sink(cg, cg->ty_i8, v_args[ZF_QUERY_ARG_BASE], v_touched),
                     .v_count = frame_word(cg, v_frame, offsetof(zf_query_final_frame, count)),
                     .v_out = v_args[ZF_QUERY_ARG_OUT]};
    make_all(&b, v_args[ZF_QUERY_ARG_GROUPS]);
    LLVMBuildRetVoid(cg->builder);
    if (cg->target->simt->finish != NULL) cg->target->simt->finish(cg, cg->function);
}

#include "codegen/simt/simt_handles.h"

#include "codegen/body/cg_frame.h"
#include "codegen/simt/simt.h"

static LLVMTypeRef global_pointer(const zf_cg *cg) {
    return LLVMPointerTypeInContext(cg->context, cg->target->simt->global_space);
}

// ---- Bytes anywhere -------------------------------------------------------------------------------------------

// Eight bytes, number `number` from an address on, or 0 where not v_if (NULL: always).
static LLVMValueRef load_eight(zf_cg *cg, LLVMValueRef v_address, unsigned number, LLVMValueRef v_if) {
    LLVMValueRef v_pointer = LLVMBuildIntToPtr(cg->builder, v_address, global_pointer(cg), "");
    LLVMValueRef v_at = zf_cg_at_sink(cg, cg->ty_i64, v_pointer, zf_cg_i64(cg, number));
    if (v_if == NULL) return zf_cg_load(cg, cg->ty_i64, v_at, 8);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_load = zf_cg_block(cg, "eight"), bb_next = zf_cg_block(cg, "eight_next");
    zf_cg_cond_br(cg, v_if, bb_load, bb_next);
    zf_cg_enter(cg, bb_load);
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i64, v_at, 8);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    return zf_cg_phi2(cg, cg->ty_i64, zf_cg_i64(cg, 0), bb_before, v, bb_load);
}

void zf_simt_sixteen(zf_cg *cg, LLVMValueRef v_source, LLVMValueRef v_count, LLVMValueRef *v_low, LLVMValueRef *v_high) {
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_three = zf_cg_i32(cg, 3), v_eight = zf_cg_i32(cg, 8), v_from = zf_cg_low_half(cg, v_source);
    LLVMValueRef v_aligned = zf_cg_and(cg, v_source, zf_cg_i64(cg, ~UINT64_C(7)));
    LLVMValueRef v_read = zf_cg_add(cg, zf_cg_and(cg, v_from, zf_cg_i32(cg, 7)), v_count); // bytes from there on
    LLVMValueRef v_words[6], v_shift = LLVMBuildShl(b, v_from, v_three, "");               // modulo 32
    for (unsigned k = 0; k < 3; k++) {
        LLVMValueRef v_further = k < 2 ? NULL : zf_cg_icmp(cg, LLVMIntUGT, v_read, zf_cg_i32(cg, 16));
        LLVMValueRef v = load_eight(cg, v_aligned, k, v_further);
        v_words[2 * k] = zf_cg_low_half(cg, v);
        v_words[2 * k + 1] = zf_cg_high_half(cg, v);
    }
    LLVMValueRef v_odd = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_from, zf_cg_i32(cg, 4)), zf_cg_i32(cg, 0));
    for (unsigned k = 0; k < 5; k++) v_words[k] = zf_cg_select(cg, v_odd, v_words[k + 1], v_words[k]);
    LLVMValueRef v_bytes[4];
    for (unsigned k = 0; k < 4; k++) v_bytes[k] = zf_cg_funnel(cg, false, v_words[k + 1], v_words[k], v_shift);
    LLVMValueRef v_first = zf_cg_umin(cg, v_count, v_eight), v_rest = zf_cg_sub(cg, v_count, v_first);
    *v_low = zf_cg_both_halves(cg, v_bytes[0], v_bytes[1]), *v_high = zf_cg_both_halves(cg, v_bytes[2], v_bytes[3]);
    *v_low = zf_cg_mask(cg, *v_low, zf_cg_low_bytes(cg, v_first), "bytes of a string's piece");
    *v_high = zf_cg_mask(cg, *v_high, zf_cg_low_bytes(cg, v_rest), "bytes of a string's long piece");
}

// ---- Handles --------------------------------------------------------------------------------------------------

// Whether handles of an edge's strings, which lie in a work buffer, have the bytes of short ones.
static bool have_bytes(const zf_plan *plan, uint32_t edge) { return plan->works[plan->edge_work[edge]].short_strings; }

// Whose last byte that is.
static LLVMValueRef with_last(zf_cg *cg, LLVMValueRef v_high, LLVMValueRef v_last) {
    return zf_cg_or(cg, v_high, LLVMBuildShl(cg->builder, v_last, zf_cg_i64(cg, ZF_HANDLE_LAST), ""));
}

static LLVMValueRef last_of(zf_cg *cg, LLVMValueRef v_high) {
    return LLVMBuildLShr(cg->builder, v_high, zf_cg_i64(cg, ZF_HANDLE_LAST), "");
}

static LLVMValueRef without_last(zf_cg *cg, LLVMValueRef v_high) {
    return zf_cg_and(cg, v_high, zf_cg_i64(cg, (UINT64_C(1) << ZF_HANDLE_LAST) - 1));
}

// Asked of the upper word alone, for comparisons of 64 bits take two instructions.
enum { LAST_IN_WORD = ZF_HANDLE_LAST - 32 };

LLVMValueRef zf_simt_handle_last(zf_cg *cg, LLVMValueRef v_high) {
    return LLVMBuildLShr(cg->builder, zf_cg_high_half(cg, v_high), zf_cg_i32(cg, LAST_IN_WORD), "");
}

LLVMValueRef zf_simt_handle_is_long(zf_cg *cg, LLVMValueRef v_high) {
    LLVMValueRef v_least = zf_cg_i32(cg, (uint32_t)ZF_HANDLE_LONG << LAST_IN_WORD);
    return zf_cg_icmp(cg, LLVMIntUGE, zf_cg_high_half(cg, v_high), v_least);
}

LLVMValueRef zf_simt_handle_short_length(zf_cg *cg, LLVMValueRef v_high) {
    return zf_cg_umin(cg, zf_simt_handle_last(cg, v_high), zf_cg_i32(cg, ZF_HANDLE_SHORT));
}

LLVMValueRef zf_simt_handle_length(zf_cg *cg, LLVMValueRef v_high) {
    LLVMValueRef v_short = zf_cg_resize(cg, zf_simt_handle_short_length(cg, v_high), cg->ty_i64, false);
    return zf_cg_select(cg, zf_simt_handle_is_long(cg, v_high), without_last(cg, v_high), v_short);
}

LLVMValueRef zf_simt_handle_long_high(zf_cg *cg, LLVMValueRef v_length) {
    return with_last(cg, v_length, zf_cg_i64(cg, ZF_HANDLE_LONG)); // no string has 2^56 bytes
}

LLVMValueRef zf_simt_handle_short_high(zf_cg *cg, LLVMValueRef v_high) {
    LLVMValueRef v = zf_cg_high_half(cg, v_high);
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntUGE, v, zf_cg_i32(cg, (uint32_t)ZF_HANDLE_SHORT << LAST_IN_WORD));
    LLVMValueRef v_bytes = zf_cg_and(cg, v, zf_cg_i32(cg, (UINT32_C(1) << LAST_IN_WORD) - 1));
    return zf_cg_both_halves(cg, zf_cg_low_half(cg, v_high), zf_cg_select(cg, v_full, v, v_bytes));
}

static void store_halves(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_at) {
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i64, 2);
    LLVMValueRef v = LLVMBuildInsertElement(cg->builder, LLVMGetUndef(ty), v_low, zf_cg_i32(cg, 0), "");
    zf_cg_store(cg, LLVMBuildInsertElement(cg->builder, v, v_high, zf_cg_i32(cg, 1), ""), v_at, ZF_HANDLE_BYTES);
}

void zf_simt_handle_store(zf_kernel_build *lower, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_at) {
    zf_cg *cg = lower->cg;
    if (!have_bytes(lower->plan, lower->kernel->edge)) {
        store_halves(cg, v_source, v_length, v_at);
        return;
    }
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_one = zf_cg_i64(cg, 1), v_low, v_high;
    LLVMValueRef v_is_empty = zf_cg_icmp(cg, LLVMIntEQ, v_length, v_zero);
    LLVMValueRef v_is_short = zf_cg_icmp(cg, LLVMIntULT, zf_cg_sub(cg, v_length, v_one), zf_cg_i64(cg, ZF_HANDLE_SHORT));
    LLVMValueRef v_long = zf_simt_handle_long_high(cg, v_length);
    LLVMValueRef v_else_low = zf_cg_select(cg, v_is_empty, v_zero, v_source),
                 v_else_high = zf_cg_select(cg, v_is_empty, v_zero, v_long);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_short = zf_cg_block(cg, "handle_short"), bb_done = zf_cg_block(cg, "handle");
    zf_cg_cond_br(cg, v_is_short, bb_short, bb_done);
    zf_cg_enter(cg, bb_short);
    zf_simt_sixteen(cg, v_source, zf_cg_low_half(cg, v_length), &v_low, &v_high);
    LLVMValueRef v_full = zf_cg_icmp(cg, LLVMIntEQ, v_length, zf_cg_i64(cg, ZF_HANDLE_SHORT));
    LLVMValueRef v_away = zf_cg_sub(cg, last_of(cg, v_high), zf_cg_i64(cg, ZF_HANDLE_SHORT)); // one that says what else it is
    LLVMValueRef v_other = zf_cg_icmp(cg, LLVMIntUGE, v_away, zf_cg_i64(cg, ZF_HANDLE_LONG - ZF_HANDLE_SHORT));
    LLVMValueRef v_full_high = zf_cg_select(cg, v_other, v_long, v_high);
    v_low = zf_cg_select(cg, zf_cg_and(cg, v_full, v_other), v_source, v_low);
    v_high = zf_cg_select(cg, v_full, v_full_high, with_last(cg, v_high, v_length));
    LLVMBasicBlockRef bb_loaded = zf_cg_here(cg);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    v_low = zf_cg_phi2(cg, cg->ty_i64, v_else_low, bb_before, v_low, bb_loaded);
    v_high = zf_cg_phi2(cg, cg->ty_i64, v_else_high, bb_before, v_high, bb_loaded);
    store_halves(cg, v_low, v_high, v_at);
}

void zf_simt_handle_load(zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_at, zf_cg_seq *out) {
    zf_cg *cg = lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMTypeRef ty_pointer = global_pointer(cg);
    LLVMValueRef v_handle = zf_cg_load(cg, LLVMVectorType(cg->ty_i64, 2), v_at, ZF_HANDLE_BYTES);
    LLVMValueRef v_source = LLVMBuildExtractElement(b, v_handle, zf_cg_i32(cg, 0), "");
    out->v_length = LLVMBuildExtractElement(b, v_handle, zf_cg_i32(cg, 1), "");
    if (have_bytes(lower->plan, edge)) {
        LLVMValueRef v_high = out->v_length;
        LLVMValueRef v_here = LLVMTypeOf(v_at) == ty_pointer ? v_at : LLVMBuildAddrSpaceCast(b, v_at, ty_pointer, "");
        out->v_handle_at = LLVMBuildPtrToInt(b, v_here, cg->ty_i64, "");
        v_source = zf_cg_select(cg, zf_simt_handle_is_long(cg, v_high), v_source, out->v_handle_at);
        out->v_length = zf_simt_handle_length(cg, v_high);
        out->v_handle = v_handle;
    }
    LLVMValueRef v_pointer = LLVMBuildIntToPtr(b, v_source, ty_pointer, "");
    out->v_data = ty_pointer == cg->ty_ptr ? v_pointer : LLVMBuildAddrSpaceCast(b, v_pointer, cg->ty_ptr, "");
}

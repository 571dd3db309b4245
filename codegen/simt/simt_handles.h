// Strings in work buffers of accelerators: of 16 bytes the handle of one string. It is an address and how many bytes lie there;
// or, in a buffer of strings whose bytes are elements of groups (words), a short string's handle is the string, so that whoever
// takes strings in any order waits for one load. What it is the last byte says: up to 15, how many bytes the string has, and 0
// behind them; ZF_HANDLE_LONG, that the first eight bytes are its address and the next seven how many bytes it has; any other,
// that it has 16 bytes of which that one is the last. (A string of 16 bytes that ends in one of the others is a long one.)
#ifndef ZF_CODEGEN_SIMT_HANDLES_H
#define ZF_CODEGEN_SIMT_HANDLES_H

#include "codegen/kernel/kernel.h"

enum {
    ZF_HANDLE_SHORT = 16, ///< bytes of a short string, at most
    ZF_HANDLE_LONG = 255,
    ZF_HANDLE_LAST = 56, ///< the bit of the second half where the last byte begins
};

/// Stores the handle of v_length bytes (i64) at an address (i64; whatever it is where there are none), of which those of a short
/// string must be there by now.
void zf_simt_handle_store(zf_kernel_build *lower, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_at);
/// The string of the handle at v_at, in the work buffer of an edge: its bytes lie there, or where that says.
void zf_simt_handle_load(zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_at, zf_cg_seq *out);

/// Of the second half of such a handle (i64): whether the string is a long one (i1); and the bytes of a short one (i64).
LLVMValueRef zf_simt_handle_is_long(zf_cg *cg, LLVMValueRef v_high);
LLVMValueRef zf_simt_handle_short_length(zf_cg *cg, LLVMValueRef v_high);
/// The bytes in the second half of a short one.
LLVMValueRef zf_simt_handle_short_high(zf_cg *cg, LLVMValueRef v_high);

/// Up to 16 bytes, v_count (i32), from an address (i64) on, as two halves (i64), 0 behind them. Sixteen bytes are read from the
/// aligned eight on that have the first, and more where there are: so many can be read behind any string.
void zf_simt_sixteen(zf_cg *cg, LLVMValueRef v_source, LLVMValueRef v_count, LLVMValueRef *v_low, LLVMValueRef *v_high);

#endif

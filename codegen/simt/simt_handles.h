// Strings in work buffers of accelerators. A string has a handle of 16 bytes: its address and its length. In a buffer of
// strings whose bytes are elements of groups (words), or of which a column's rows are made (entries of a dictionary), the handle
// of a short string is the string itself, so a reader in any order waits for one load. The last byte of such a handle tells its
// kind. Up to 15: the number of the string's bytes, followed by zeros. ZF_HANDLE_LONG: the first eight bytes are its address and
// the next seven its length. Any other value: the string has 16 bytes, and this is the last one. (A string of 16 bytes that ends
// in one of the others is a long one.)
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

/// From the second half of such a handle (i64): its last byte (i32), as above; whether the string is a long one (i1); the number
/// of a short one's bytes (i32).
LLVMValueRef zf_simt_handle_last(zf_cg *cg, LLVMValueRef v_high);
LLVMValueRef zf_simt_handle_is_long(zf_cg *cg, LLVMValueRef v_high);
LLVMValueRef zf_simt_handle_short_length(zf_cg *cg, LLVMValueRef v_high);
/// The bytes of any (i64).
LLVMValueRef zf_simt_handle_length(zf_cg *cg, LLVMValueRef v_high);
/// The second half of a long one's handle.
LLVMValueRef zf_simt_handle_long_high(zf_cg *cg, LLVMValueRef v_length);
/// The bytes in the second half of a short one.
LLVMValueRef zf_simt_handle_short_high(zf_cg *cg, LLVMValueRef v_high);

/// Up to 16 bytes, v_count (i32), from an address (i64) on, as two halves (i64), 0 behind them. Sixteen bytes are read from the
/// aligned eight on that have the first, and more where there are: so many can be read behind any string.
void zf_simt_sixteen(zf_cg *cg, LLVMValueRef v_source, LLVMValueRef v_count, LLVMValueRef *v_low, LLVMValueRef *v_high);

#endif

// Strings on accelerators: a warp brings together where ZF_TEXT_EACH of them a lane lie and copies all their bytes, so that
// neither long ones nor short ones leave lanes idle.
#ifndef ZF_CODEGEN_SIMT_TEXT_H
#define ZF_CODEGEN_SIMT_TEXT_H

#include "codegen/simt/simt.h"

enum { ZF_TEXT_EACH = 4 }; ///< strings a lane brings

/// The source of a warp's copies. Made once a kernel; all lanes use it together.
typedef struct zf_simt_text {
    zf_kernel_build *lower;
    LLVMValueRef v_stage;   ///< shared: where short strings are put together
    LLVMValueRef v_ends;    ///< there, else (i32): where each string ends, counted from the first one's begin
    LLVMValueRef v_sources; ///< there, else (i64): where byte 0 of all would be, if it were this string's
} zf_simt_text;

/// Shared memory that it takes; `zf_simt_text_tables` sets it up from byte `at` of it.
uint32_t zf_simt_text_bytes(uint32_t wave);
void zf_simt_text_tables(zf_simt_text *text, zf_kernel_build *lower, uint32_t at);

/// The strings of a row: lane l has number l * ZF_TEXT_EACH + k.
typedef struct zf_simt_text_row {
    LLVMValueRef v_sources[ZF_TEXT_EACH]; ///< i64: addresses
    LLVMValueRef v_lengths[ZF_TEXT_EACH]; ///< i64
    LLVMValueRef v_before;                ///< i64: bytes of the strings before this lane's
    LLVMValueRef v_total;                 ///< i64: of all, the same in all lanes
} zf_simt_text_row;
/// Fills v_before and v_total.
void zf_simt_text_sum(const zf_simt_text *text, zf_simt_text_row *row);
/// Copies the row's first `v_total` bytes (no more than there are) to v_to, which has room for as many.
void zf_simt_text_copy(const zf_simt_text *text, const zf_simt_text_row *row, LLVMValueRef v_total, LLVMValueRef v_to);

#endif

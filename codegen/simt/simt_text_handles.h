// Rows of strings of which a warp's lanes have the handles (simt_handles.h): short ones are in registers then.
#ifndef ZF_CODEGEN_SIMT_TEXT_HANDLES_H
#define ZF_CODEGEN_SIMT_TEXT_HANDLES_H

#include "codegen/simt/simt_text.h"

/// The strings of a row: lane l has number l * ZF_TEXT_EACH + k.
typedef struct zf_simt_text_handles {
    LLVMValueRef v_low[ZF_TEXT_EACH], v_high[ZF_TEXT_EACH]; ///< i64: the halves of their handles
    LLVMValueRef v_wide, v_long; ///< i1, the same in all lanes: whether any has more than eight bytes, is not in its handle
    LLVMValueRef v_lengths[ZF_TEXT_EACH]; ///< i32: their bytes
    LLVMValueRef v_before, v_total;       ///< i32: bytes before the lane's strings, and of all, the same in all lanes
} zf_simt_text_handles;

/// Fills v_wide and v_long.
void zf_simt_text_look(zf_kernel_build *lower, zf_simt_text_handles *row);
/// Fills v_lengths of a row for which v_long does not hold.
void zf_simt_text_short_lengths(zf_kernel_build *lower, zf_simt_text_handles *row);
/// Fills v_before and v_total.
void zf_simt_text_add_up(zf_kernel_build *lower, zf_simt_text_handles *row);
/// Copies the row. It must fit into the stage, and no string has more than ZF_TEXT_ALONE bytes.
void zf_simt_text_copy_handles(const zf_simt_text *text, const zf_simt_text_handles *row);

#endif

// The interface between the files that store rows of a coder's lanes (simt_rows.c, simt_unpack.c, simt_nibbles.c). Not for
// others.
#ifndef ZF_CODEGEN_SIMT_ROWS_H
#define ZF_CODEGEN_SIMT_ROWS_H

#include "codegen/simt/simt.h"

/// For a column of `base + packed.bits(..) as T`, in either order: returns the addend, a param or a constant. *is_sum: it is of
/// that form; then NULL is 0.
const zf_expr *zf_simt_sum_of(const zf_plan *plan, bool *is_sum);
/// Stores the elements of the column that a lane's `rows` elements of the kernel hold, which lie side by side in the low bits of
/// v: those from v_from + v_place (i64; only the latter differs between lanes) of the kernel on.
void zf_simt_unpack(zf_kernel_build *lower, LLVMValueRef v, unsigned rows, LLVMValueRef v_from, LLVMValueRef v_place);
/// The elements of the column that the low `bits` bits of an integer hold, as words, the first in the low bytes; returns the
/// number of words, of which the last may not be full. 0: they are not looked up.
unsigned zf_simt_nibbles_words(zf_kernel_build *lower, LLVMValueRef v, unsigned bits, LLVMValueRef *v_words);

#endif

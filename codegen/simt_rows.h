// What the files share that store rows of a coder's lanes (simt_rows.c, simt_nibbles.c). Not for others.
#ifndef ZF_CODEGEN_SIMT_ROWS_H
#define ZF_CODEGEN_SIMT_ROWS_H

#include "codegen/simt.h"

/// Of a column of `base + packed.bits(..) as T`, in either order, what is added: a param or a constant. *is_sum: it is of that
/// form; then NULL is 0.
const zf_expr *zf_simt_sum_of(const zf_plan *plan, bool *is_sum);
/// The elements of the column that the low `bits` bits of an integer hold, as words, the first in the low bytes; returns the
/// number of words, of which the last may not be full. 0: they are not looked up.
unsigned zf_simt_nibbles_words(zf_lower *lower, LLVMValueRef v, unsigned bits, LLVMValueRef *v_words);

#endif

// A scan's term, for the lowerings that combine terms in their own way.
#ifndef ZF_CODEGEN_KERNEL_SCAN_H
#define ZF_CODEGEN_KERNEL_SCAN_H

#include "codegen/kernel/kernel.h"

/// The term at `v_index`, in registers' form. Failed checks are noted, where the term belongs to some value.
LLVMValueRef zf_lower_scan_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index);
/// The same where the term is known to belong to some value.
LLVMValueRef zf_lower_scan_own_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index);

/// The term at an index that may be nobody's: then it changes nothing.
LLVMValueRef zf_lower_scan_minded_term(zf_kernel_env *env, const zf_reduce *reduce, LLVMValueRef v_index);
/// The accumulator at `v_index`, before its term: nothing where a segment begins; and behind its term.
LLVMValueRef zf_lower_scan_at(zf_cg *cg, const zf_running *r, LLVMValueRef v_acc, LLVMValueRef v_index);
LLVMValueRef zf_lower_scan_behind(zf_cg *cg, const zf_running *r, LLVMValueRef v_acc, LLVMValueRef v_term, LLVMValueRef v_index);
/// Stores a scan's value in memory's form.
void zf_lower_scan_store(zf_cg *cg, zf_type type, LLVMValueRef v, LLVMValueRef v_to);

/// Makes the scan of a kernel of prefix sums: an inclusive one along its stream, whose value at element k is prefix sum k + 1.
zf_running *zf_lower_prefix_make(zf_kernel_build *lower);
/// Its term at an element of the stream. A term outside the range of the sums that use it is 0 and cannot fail.
LLVMValueRef zf_lower_prefix_term(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_index);

/// Where `v_index` is in its segment (u64).
LLVMValueRef zf_lower_in_segment(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index);

#endif

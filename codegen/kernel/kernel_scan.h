// A scan's term, for the lowerings that combine terms in their own way.
#ifndef ZF_CODEGEN_KERNEL_SCAN_H
#define ZF_CODEGEN_KERNEL_SCAN_H

#include "codegen/kernel/kernel.h"

/// The term at `v_index`, in registers' form. Failed checks are noted, where the term belongs to some value.
LLVMValueRef zf_lower_scan_term(zf_lower_env *env, const zf_reduce *reduce, LLVMValueRef v_index);
/// The same where the term is known to belong to some value.
LLVMValueRef zf_lower_scan_own_term(zf_lower_env *env, const zf_reduce *reduce, LLVMValueRef v_index);

/// Where `v_index` is in its segment (u64).
LLVMValueRef zf_lower_in_segment(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index);

#endif

// The order of loads in the code of a kernel, after it is optimised (simt_order.c).
#ifndef ZF_CODEGEN_SIMT_ORDER_H
#define ZF_CODEGEN_SIMT_ORDER_H

#include <stdbool.h>

#include <llvm-c/Core.h>

/// Wishes for a function that zf_simt_order_loads order its loads.
void zf_simt_order_wish(LLVMValueRef v_function);
/// In each block of the functions that wish it, and in which loads wait for loads, those go first that wait for the fewest.
void zf_simt_order_loads(LLVMModuleRef module);
/// Whether an instruction is a load that is neither volatile nor atomic.
bool zf_simt_is_plain_load(LLVMValueRef v);
/// Whether memory at a pointer stays as it is as long as the kernel runs: a block, or a work buffer that it only reads. 16 bytes
/// more than it has can be read.
bool zf_simt_is_constant_memory(LLVMValueRef v_pointer);

#endif

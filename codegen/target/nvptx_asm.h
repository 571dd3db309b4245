// Operations of PTX that LLVM's NVPTX back end does not find by itself, as inline assembly.
#ifndef ZF_CODEGEN_NVPTX_ASM_H
#define ZF_CODEGEN_NVPTX_ASM_H

#include <stdbool.h>

#include <llvm-c/Core.h>

/// Builds PTX's shift of two words (i32): to the left the high one of the result, to the right the low one. LLVM 19 would make
/// four instructions of llvm.fshl and of llvm.fshr.
LLVMValueRef zf_nvptx_funnel(LLVMBuilderRef builder, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift);

#endif

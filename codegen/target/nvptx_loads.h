// Loads that LLVM's NVPTX back end gets wrong.
#ifndef ZF_CODEGEN_NVPTX_LOADS_H
#define ZF_CODEGEN_NVPTX_LOADS_H

#include <llvm-c/Core.h>

/// Replaces loads of <16 x i8> that may not be aligned to 16 bytes, in a module that LLVM's passes have been over. LLVM 19 makes
/// `ld.v4.u32` of them whatever their alignment is, and GPUs end a kernel at an address that is not aligned.
void zf_nvptx_mend_loads(LLVMModuleRef module);

#endif

// The host: plain loops that LLVM vectorises for the CPU at hand.
#include "codegen/target.h"

#include "runtime/error_codes.h"
zf_status zf_cg_host_machine(unsigned level, LLVMTargetMachineRef *out, zf_error *error) {
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    *out = NULL;
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures(), *message = NULL;
    LLVMTargetRef target;
    zf_status status = ZF_OK;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        status = zf_raise(error, ZF_E_NO_CODE_GENERATOR, "LLVM has no code generator for %s: %s", triple, message);
        LLVMDisposeMessage(message);
    } else {
        *out = LLVMCreateTargetMachine(target, triple, cpu, features, levels[level > 3 ? 3 : level], LLVMRelocPIC,
                                       LLVMCodeModelSmall);
        if (*out == NULL) status = zf_raise(error, ZF_E_NO_CODE_GENERATOR, "LLVM cannot generate code for %s", cpu);
    }
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return status;
}

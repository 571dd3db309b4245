// The host: plain loops that LLVM vectorises, for the CPU at hand or, in modules, for a level of CPUs.
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/target/codegen_target.h"

#include "runtime/base/error_codes.h"

#include <string.h>

static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                             LLVMCodeGenLevelAggressive};

static zf_status machine(unsigned level, const char *triple, const char *cpu, const char *features, LLVMTargetMachineRef *out,
                         zf_error *error) {
    char *message = NULL;
    LLVMTargetRef target;
    *out = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        zf_status status = zf_raise(error, ZF_E_NO_CODE_GENERATOR, "LLVM has no code generator for %s: %s", triple, message);
        LLVMDisposeMessage(message);
        return status;
    }
    *out =
        LLVMCreateTargetMachine(target, triple, cpu, features, levels[level > 3 ? 3 : level], LLVMRelocPIC, LLVMCodeModelSmall);
    return *out != NULL ? ZF_OK : zf_raise(error, ZF_E_NO_CODE_GENERATOR, "LLVM cannot generate code for %s", cpu);
}

zf_status zf_cg_host_machine(unsigned level, LLVMTargetMachineRef *out, zf_error *error) {
    char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    *out = NULL;
    bool known = triple != NULL && cpu != NULL && features != NULL; // LLVM copies each
    zf_status status = known ? machine(level, triple, cpu, features, out, error) : zf_raise_no_memory(error);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return status;
}

bool zf_cg_host_has_halves(const char *cpu) {
    if (cpu != NULL) return strcmp(cpu, "x86-64-v3") == 0;
    char *features = LLVMGetHostCPUFeatures();
    bool has = features != NULL && strstr(features, "+avx2") != NULL && strstr(features, "+avx512vl") == NULL;
    LLVMDisposeMessage(features);
    return has;
}

zf_status zf_cg_level_machine(unsigned level, const char *cpu, LLVMTargetMachineRef *out, zf_error *error) {
    return machine(level, "x86_64-unknown-linux-gnu", cpu, "", out, error);
}

static zf_status host_machine(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error) {
    (void)target;
    return zf_cg_host_machine(level, out, error);
}

const zf_cg_target zf_cg_target_host = {
    .is = &zf_target_host,
    .machine = host_machine,
    .kernel = zf_lower_kernel,
    .lower =
        {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements, [ZF_DOMAIN_GROUPS] = zf_lower_groups, [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},
};

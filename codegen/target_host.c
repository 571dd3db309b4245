// The table of targets, and the host: plain loops that LLVM vectorises for the CPU at hand.
#include "codegen/target.h"

#include <string.h>

#include "codegen/lower.h"
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

static const zf_cg_target targets[] = {
    {
        .family = ZF_TARGET_HOST,
        .name = "host",
        .description = "the CPU at hand, by loops that are vectorised",
        .machine = zf_cg_host_machine,
        .lower = {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements, [ZF_DOMAIN_GROUPS] = zf_lower_groups},
    },
};

const zf_cg_target *zf_cg_targets(size_t *count) {
    *count = sizeof(targets) / sizeof(targets[0]);
    return targets;
}

const zf_cg_target *zf_cg_target_of(zf_abi_target target) {
    for (size_t k = 0; k < sizeof(targets) / sizeof(targets[0]); k++) {
        if (targets[k].family == target.family) return &targets[k];
    }
    return &targets[0];
}

const zf_cg_target *zf_cg_target_find(const char *name) {
    for (size_t k = 0; k < sizeof(targets) / sizeof(targets[0]); k++) {
        if (strcmp(targets[k].name, name) == 0) return &targets[k];
    }
    return NULL;
}

// The table of targets.
#include "codegen/target/target.h"

#include <string.h>

#include "codegen/host/lower.h"
#include "codegen/simt/simt.h"

static zf_status host_machine(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error) {
    (void)target;
    return zf_cg_host_machine(level, out, error);
}

static const zf_cg_target targets[] = {
    {
        .family = ZF_TARGET_HOST,
        .name = "host",
        .description = "the CPU at hand, by loops that are vectorised",
        .machine = host_machine,
        .kernel = zf_lower_kernel,
        .lower = {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements,
                  [ZF_DOMAIN_GROUPS] = zf_lower_groups,
                  [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},
    },
    {
        .family = ZF_TARGET_EMU,
        .name = "emu",
        .description = "kernels of GPUs on the CPU at hand, every access checked",
        .machine = host_machine,
        .kernel = zf_simt_kernel,
        .simt = &zf_emu_simt_ops,
        .aligned_loads = true,
        .lower = {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements,
                  [ZF_DOMAIN_GROUPS] = zf_lower_groups,
                  [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},
    },
    {
        .family = ZF_TARGET_NVPTX,
        .name = "nvptx",
        .description = "NVIDIA GPUs of compute capability 8.0 and later, by PTX",
        .machine = zf_nvptx_machine,
        .tidy = zf_nvptx_tidy,
        .kernel = zf_simt_kernel,
        .simt = &zf_nvptx_simt_ops,
        .aligned_loads = true,
        .lower = {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements,
                  [ZF_DOMAIN_GROUPS] = zf_lower_groups,
                  [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},
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

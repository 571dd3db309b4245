// A copy of the host target: how its code is made. It counts the kernels that were made.
#include "tests/target/target_copy.h"
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/target/codegen_target.h"

atomic_uint copy_kernels;

static zf_status machine(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error) {
    (void)target;
    return zf_cg_host_machine(level, out, error);
}

static void kernel(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel) {
    copy_kernels++;
    zf_lower_kernel(cg, input, kernel);
}

const zf_cg_target zf_cg_target_copy = {
    .is = &zf_target_copy,
    .machine = machine,
    .kernel = kernel,
    .lower =
        {[ZF_DOMAIN_ELEMENTS] = zf_lower_elements, [ZF_DOMAIN_GROUPS] = zf_lower_groups, [ZF_DOMAIN_CHUNKS] = zf_lower_chunks},
};

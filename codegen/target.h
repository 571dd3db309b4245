// Targets of code generation: one row per target family in the table of target.c. A target knows its machine and how a
// kernel of each domain is lowered; bodies (cg_expr.c, cg_bits.c) are the same for all.
#ifndef ZF_CODEGEN_TARGET_H
#define ZF_CODEGEN_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "codegen/cg.h"
#include "runtime/base/error.h"
#include "scheduler/plan.h"

typedef struct zf_lower zf_lower;

struct zf_cg_target {
    zf_abi_target_family family;
    const char *name;        ///< what zf_plan_options.target says
    const char *description; ///< one line
    /// Makes the machine for an optimisation level (0..3). The caller disposes of it.
    zf_status (*machine)(unsigned level, LLVMTargetMachineRef *out, zf_error *error);
    /// Builds the function of a kernel, by domain. NULL: not lowered (ZF0804).
    void (*lower[ZF_DOMAIN_CHUNKS + 1])(zf_lower *lower);
};

/// All targets of this build, `*count` of them.
const zf_cg_target *zf_cg_targets(size_t *count);
const zf_cg_target *zf_cg_target_find(const char *name);
/// The row of a target that the runtime asks code for.
const zf_cg_target *zf_cg_target_of(zf_abi_target target);

/// The machine that this process runs on: host CPU, all its features, position-independent code.
zf_status zf_cg_host_machine(unsigned level, LLVMTargetMachineRef *out, zf_error *error);

#endif

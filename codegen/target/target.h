// Targets of code generation: one row per target family in the table of target.c. A target knows its machine and how a
// kernel of each domain is lowered; bodies (cg_expr.c, cg_bits.c) are the same for all.
#ifndef ZF_CODEGEN_TARGET_H
#define ZF_CODEGEN_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "codegen/body/cg.h"
#include "patterns/plan/plan.h"
#include "runtime/base/abi.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

typedef struct zf_kernel_build zf_kernel_build;
typedef struct zf_kernel_input zf_kernel_input;

/// What a SIMT lowering asks of its target: the primitives by which threads of a block know and meet each other. Values are i32
/// unless said otherwise. One table per target; the lowerings in simt_*.c ask for nothing else. What may be NULL (funnel,
/// join, permute, copy_ahead, await_copies, prefetch, add_up) nvptx alone has: there the emulator runs other code than a GPU.
typedef struct zf_simt_ops {
    unsigned global_space; ///< address space of the kernel's pointers
    bool takes_thread;     ///< the kernel's first argument is the emulator's thread
    /// Marks a function as a kernel of `threads` threads a block, each of at most `registers` registers (0: any number).
    void (*kernel)(zf_cg *cg, LLVMValueRef v_function, unsigned threads, unsigned registers);
    LLVMValueRef (*thread)(zf_cg *cg); ///< number of the thread in its block
    LLVMValueRef (*group)(zf_cg *cg);  ///< number of the thread block
    /// Memory that the threads of a block share: `bytes` at `offset`, aligned to 16. All calls of one kernel lie apart.
    LLVMValueRef (*shared)(zf_cg *cg, uint32_t offset, uint32_t bytes);
    void (*barrier)(zf_cg *cg);                                                    ///< of all threads of the block
    void (*warp_barrier)(zf_cg *cg);                                               ///< of the threads of a warp
    LLVMValueRef (*shuffle)(zf_cg *cg, LLVMValueRef v_value, LLVMValueRef v_lane); ///< the value of a lane of the warp
    /// The low word of (v_high : v_low) >> v_shift % 32, or the high word of (v_high : v_low) << v_shift % 32, where the back end
    /// has no good code for llvm.fshr and llvm.fshl; may be NULL.
    LLVMValueRef (*funnel)(zf_cg *cg, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift);
    /// The lanes of the warp for which v_value (i1) holds, as bits: i32, or i64 where a warp has 64 lanes.
    LLVMValueRef (*ballot)(zf_cg *cg, LLVMValueRef v_value);
    /// The or of the words of all lanes of the warp; may be NULL: it is made of shuffles.
    LLVMValueRef (*join)(zf_cg *cg, LLVMValueRef v_value);
    /// Bytes of two words by number, as zf_simt_permute has it; may be NULL: shifts and masks.
    LLVMValueRef (*permute)(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_selector);
    /// Copies 16 bytes, aligned so, from global to shared memory some time before `await_copies`, which waits until at most
    /// `pending` of the thread's copies are under way. May be NULL, both: a load and a store.
    void (*copy_ahead)(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from);
    void (*await_copies)(zf_cg *cg, uint32_t pending);
    /// Wishes that what lies at an address of global memory be brought nearer, for a load that comes later; may be NULL.
    void (*prefetch)(zf_cg *cg, LLVMValueRef v_from);
    /// The same of an address that must lie in the launch's memory: the emulator reads it, so that it is checked.
    void (*prefetch_within)(zf_cg *cg, LLVMValueRef v_from);
    bool keeps_lines; ///< the back end says in its text which line of the `.zf` text an instruction is of
    /// A value (i32 or i64) plus that of the lane `distance` below in the warp, or alone where there is none; may be NULL: it is
    /// made of shuffles.
    LLVMValueRef (*add_up)(zf_cg *cg, LLVMValueRef v_value, uint32_t distance);
    /// Done with a kernel: the emulator puts its checks in.
    void (*finish)(zf_cg *cg, LLVMValueRef v_function);
} zf_simt_ops;

struct zf_cg_target {
    const zf_target *is; ///< its row in patterns/plan/targets.def
    /// Makes the machine for an optimisation level (0..3). The caller disposes of it.
    zf_status (*machine)(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error);
    /// Builds the function(s) of a kernel: zf_lower_kernel, or for SIMT targets zf_simt_kernel.
    void (*kernel)(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel);
    /// Adds the assembly text that LLVM made to `out` without what would make other code of it. NULL: it is fine.
    void (*tidy)(const char *assembly, size_t length, zf_text *out);
    const zf_simt_ops *simt; ///< NULL: loops
    bool aligned_loads;      ///< loads must be aligned to their size
    /// Builds the body of a kernel, by domain. NULL: not lowered (ZF0804).
    void (*lower[ZF_DOMAIN_CHUNKS + 1])(zf_kernel_build *lower);
};

#define TARGET(identifier, ...) extern const zf_cg_target zf_cg_target_##identifier;
#include "patterns/plan/targets.def"
#undef TARGET

/// Returns how code is made for a target.
const zf_cg_target *zf_cg_target_of(const zf_target *target);
/// Has `cg` build for a target from now on.
void zf_cg_aim(zf_cg *cg, const zf_target *target);

/// The machine that this process runs on: host CPU, all its features, position-independent code.
zf_status zf_cg_host_machine(unsigned level, LLVMTargetMachineRef *out, zf_error *error);

/// Any x86-64 machine whose CPU is of a level ("x86-64-v3"): for modules. ZF1405 where LLVM has no code generator for it.
zf_status zf_cg_level_machine(unsigned level, const char *cpu, LLVMTargetMachineRef *out, zf_error *error);

#endif

// Targets of code generation: how code is made for each row of patterns/plan/targets.def. Bodies (codegen/body/) are the same for
// all targets.
#ifndef ZF_CODEGEN_CODEGEN_TARGET_H
#define ZF_CODEGEN_CODEGEN_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "codegen/body/cg.h"
#include "patterns/plan/plan.h"
#include "runtime/base/abi.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

typedef struct zf_kernel_build zf_kernel_build;
typedef struct zf_kernel_input zf_kernel_input;

/// Primitives that the lowering for GPUs (codegen/simt/) takes from a target; it uses nothing else of the target. Values are i32
/// unless a comment gives another type. Only nvptx has the functions that may be NULL: where it uses them, the emulator tests
/// other code than a GPU runs.
typedef struct zf_simt_ops {
    unsigned global_space; ///< address space of the kernel's pointers
    bool takes_thread;     ///< the first argument of a kernel is the thread, as the emulator knows it
    /// Marks a function as a kernel. `threads`: of a thread block. `registers`: limit for a thread; 0: none. NULL: there is no
    /// mark.
    void (*kernel)(zf_cg *cg, LLVMValueRef v_function, unsigned threads, unsigned registers);
    LLVMValueRef (*thread)(zf_cg *cg); ///< number of the thread in its thread block
    LLVMValueRef (*group)(zf_cg *cg);  ///< number of the thread block
    /// Returns `bytes` of shared memory at `offset`, aligned to 16. Ranges of different calls in a kernel do not overlap.
    LLVMValueRef (*shared)(zf_cg *cg, uint32_t offset, uint32_t bytes);
    void (*barrier)(zf_cg *cg);      ///< of all threads of the block
    void (*warp_barrier)(zf_cg *cg); ///< of the threads of a warp
    /// Stores v_value in a counter (an i32 of shared memory) after all that this thread, and its warp before their last barrier,
    /// stored: who awaits the counter sees it. One thread of a warp calls it.
    void (*publish)(zf_cg *cg, LLVMValueRef v_counter, LLVMValueRef v_value);
    /// Waits until a counter is v_value or more for each thread of a warp, which all come to it.
    void (*await)(zf_cg *cg, LLVMValueRef v_counter, LLVMValueRef v_value);
    LLVMValueRef (*shuffle)(zf_cg *cg, LLVMValueRef v_value, LLVMValueRef v_lane); ///< the value of a lane of the wave
    /// The low word of (v_high : v_low) >> v_shift % 32, or the high word of (v_high : v_low) << v_shift % 32, where the back end
    /// has no good code for llvm.fshr and llvm.fshl; may be NULL.
    LLVMValueRef (*funnel)(zf_cg *cg, bool left, LLVMValueRef v_high, LLVMValueRef v_low, LLVMValueRef v_shift);
    /// The lanes of the wave for which v_value (i1) holds, as bits: i32, or i64 for waves of 64 lanes. Lanes that are not there
    /// have none. A kernel whose warps are half a wave (zf_simt_ballot, zf_simt_shuffle) takes its half of them.
    LLVMValueRef (*ballot)(zf_cg *cg, LLVMValueRef v_value);
    /// The or of the words of all lanes of the wave; may be NULL: it is made of shuffles.
    LLVMValueRef (*join)(zf_cg *cg, LLVMValueRef v_value);
    /// Bytes of two words by number, as zf_simt_permute has it; may be NULL: shifts and masks.
    LLVMValueRef (*permute)(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_selector);
    /// Starts an asynchronous copy of 16 aligned bytes from global to shared memory. `await_copies` waits until at most
    /// `pending` copies of the thread are in flight. Both may be NULL: then a load and a store copy.
    void (*copy_ahead)(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from);
    void (*await_copies)(zf_cg *cg, uint32_t pending);
    /// The value (i32 or i64), of which the optimizer no longer knows what it is made of. `stays`: it is computed where this
    /// stands, and so are the loads that it is made of: what wants it in a branch alone cannot take them there. May be NULL.
    LLVMValueRef (*hold)(zf_cg *cg, LLVMValueRef v, bool stays);
    /// Integers of 1 to 64 bits, at least two: none is used before all are there. The back end then starts the loads that they
    /// are made of one behind the other, and does not wait for each. May be NULL.
    void (*tie)(zf_cg *cg, LLVMValueRef *v_values, unsigned count);
    /// Prefetches what lies at an address of global memory, for a load that comes later; may be NULL.
    void (*prefetch)(zf_cg *cg, LLVMValueRef v_from);
    /// The same of an address that must lie in the launch's memory: the emulator reads it, so that it is checked.
    void (*prefetch_within)(zf_cg *cg, LLVMValueRef v_from);
    bool keeps_lines; ///< the back end's text names the line of the `.zf` text for each instruction
    /// A value (i32 or i64) plus that of the lane `distance` below in the warp, or alone where there is none; may be NULL: it is
    /// made of shuffles.
    LLVMValueRef (*add_up)(zf_cg *cg, LLVMValueRef v_value, uint32_t distance);
    /// Stores count words, 1 or 2 of one type of 32 or 64 bits, one behind the other in shared memory, if v_if (i1); may be NULL.
    /// Their place is aligned to all of them.
    void (*store_where)(zf_cg *cg, LLVMValueRef v_if, const LLVMValueRef *v_words, uint32_t count, LLVMValueRef v_pointer);
    /// Returns a value (i32) as one of which the optimiser knows nothing; may be NULL.
    LLVMValueRef (*hide)(zf_cg *cg, LLVMValueRef v_value);
    /// Ends a kernel: the emulator adds its checks. May be NULL.
    void (*finish)(zf_cg *cg, LLVMValueRef v_function);
} zf_simt_ops;

/// zf_simt_ops.tie, by a number (i32) that is 0 although the back end does not know it.
void zf_cg_tie(zf_cg *cg, LLVMValueRef v_zero, LLVMValueRef *v_values, unsigned count);

struct zf_cg_target {
    const zf_target *is; ///< its row in patterns/plan/targets.def
    /// Makes the machine for an optimisation level (0..3). The caller disposes of it.
    zf_status (*machine)(unsigned level, zf_abi_target target, LLVMTargetMachineRef *out, zf_error *error);
    /// Builds the function(s) of a kernel: zf_lower_kernel, or for SIMT targets zf_simt_kernel.
    void (*kernel)(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel);
    /// Replaces what the back end gets wrong, in a module that the passes have been over. May be NULL.
    void (*mend)(LLVMModuleRef module);
    /// Adds LLVM's assembly text to `out`, without lines that would change the code. NULL: the text is used as it is.
    void (*tidy)(const char *assembly, size_t length, zf_text *out);
    const zf_simt_ops *simt; ///< NULL: kernels are loops
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

/// Whether vectors of a CPU level, or, where it is NULL, of this machine are two halves of 128 bits, and words move between them
/// slowly: AVX2 without AVX-512.
bool zf_cg_host_has_halves(const char *cpu);

/// Any x86-64 machine whose CPU is of a level ("x86-64-v3"): for modules. ZF1405 where LLVM has no code generator for it.
zf_status zf_cg_level_machine(unsigned level, const char *cpu, LLVMTargetMachineRef *out, zf_error *error);

#endif

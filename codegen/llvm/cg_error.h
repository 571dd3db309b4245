// LLVM's ways to fail, turned into ours. LLVM reports some faults to a handler that must not return ("Cannot select"), others
// as diagnostics of a context, others as text or error objects.
#ifndef ZF_CODEGEN_CG_ERROR_H
#define ZF_CODEGEN_CG_ERROR_H

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/// Initialises the targets of this build, once in a process. Thread-safe. After ZF_ERR_MEMORY the next call tries again.
zf_status zf_cg_llvm_start(zf_error *error);

/// Runs `body` on a thread of its own with a deep stack (apart.h), with our process-wide handlers of fatal errors and of missing
/// memory, which are installed again where another user of LLVM took them away.
///
/// A fatal error of LLVM inside `body`, on its thread, ends it at once and gives ZF_ERR_INTERNAL. Missing memory gives
/// ZF_ERR_MEMORY. `*abandoned` is true after either: LLVM's objects are leaked, since their state is unknown, with the thread and
/// its stack, and `body` must have reached only LLVM objects that are not used afterwards. Where there is no memory for the
/// thread, `body` does not run: ZF_ERR_MEMORY. After missing memory the next guard first has LLVM compile a
/// small module (probe.h). If LLVM does not, because a lock or a table of the process was left halfway, no guard runs its body
/// from then on: ZF_ERR_MEMORY with words that say this. A body holds no lock of ours where it calls LLVM.
zf_status zf_cg_guard(zf_status (*body)(void *user, zf_error *error), void *user, bool *abandoned, zf_error *error);

/// zf_cg_guard for those who know that LLVM can be entered.
zf_status zf_cg_land(zf_status (*body)(void *user, zf_error *error), void *user, bool *abandoned, zf_error *error);

/// Collects the first error diagnostic of a context, and the largest frame that LLVM reports. `sink` lives as long as the
/// context's use.
typedef struct zf_cg_diagnostic {
    bool failed;
    char text[400];
    uint64_t frame_bytes; ///< of functions with the attribute "warn-stack-size" of fewer bytes; 0: none
} zf_cg_diagnostic;
void zf_cg_watch(LLVMContextRef context, zf_cg_diagnostic *sink);

/// Consumes an error object (may be NULL: success).
zf_status zf_cg_llvm_error(LLVMErrorRef failure, const char *what, zf_error *error);

#endif

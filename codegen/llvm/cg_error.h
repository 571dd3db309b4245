// LLVM's ways to fail, turned into ours. LLVM reports some faults to a handler that must not return ("Cannot select"), others
// as diagnostics of a context, others as text or error objects.
#ifndef ZF_CODEGEN_CG_ERROR_H
#define ZF_CODEGEN_CG_ERROR_H

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <stdbool.h>

#include "runtime/base/error.h"

/// Installs the process-wide handlers of fatal errors and of a want of memory, and initialises the targets of this build, once.
/// Thread-safe.
void zf_cg_llvm_start(void);

/// ZF_ERR_MEMORY once memory has ended inside LLVM, in whatever thread: this process makes no more code.
zf_status zf_cg_let_in(zf_error *error);

/// Runs `body`. A fatal error of LLVM inside it, on this thread, ends it at once and gives ZF_ERR_INTERNAL. Missing memory
/// gives ZF_ERR_MEMORY and is the last error: from then on no guard of this process runs its body. `*abandoned` is true after
/// either. LLVM's objects are leaked then, since their state is unknown: `body` must reach only LLVM objects that are not used
/// afterwards. A body holds no lock of ours where it calls LLVM.
zf_status zf_cg_guard(zf_status (*body)(void *user, zf_error *error), void *user, bool *abandoned, zf_error *error);

/// Collects the first error diagnostic of a context. `sink` lives as long as the context's use.
typedef struct zf_cg_diagnostic {
    bool failed;
    char text[400];
} zf_cg_diagnostic;
void zf_cg_watch(LLVMContextRef context, zf_cg_diagnostic *sink);

/// Consumes an error object (may be NULL: success).
zf_status zf_cg_llvm_error(LLVMErrorRef failure, const char *what, zf_error *error);

#endif

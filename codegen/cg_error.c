#include "codegen/cg_error.h"
#include "runtime/error_codes.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

// LLVM's handler of fatal errors is one for the process, so where to go is kept per thread. This is the one piece of state of
// the library that hangs on no object.
typedef struct landing {
    jmp_buf jump;
    char reason[400];
    struct landing *outer;
} landing;

static _Thread_local landing *here;

static void on_fatal(const char *reason) {
    landing *target = here;
    if (target == NULL) return; // not ours: LLVM ends the process, as it would have without us
    snprintf(target->reason, sizeof(target->reason), "%s", reason);
    longjmp(target->jump, 1);
}

static void set_options(void) {
    static const char *const words[] = {
        "zipflow",
        // LLVM 19 vectorises a conditional division of values that stay the same wrongly where it keeps it conditional: it
        // divides once, if the first lane's condition holds, and gives the others what no one computed. So it is told to make
        // divisors harmless instead.
        "-force-widen-divrem-via-safe-divisor=true",
#ifdef ZF_SANITIZE
        // Generated code hands no address of its own frame to anyone beyond the call. So it needs no second stack on which frames
        // outlive their calls, which each thread of the emulated GPU would get of its own, and lose at its end.
        "-asan-use-after-return=never",
#endif
    };
    LLVMParseCommandLineOptions(sizeof words / sizeof words[0], words, NULL);
}

static void start(void) {
    LLVMInstallFatalErrorHandler(on_fatal);
    set_options();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

void zf_cg_llvm_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}

// One line, without the full stop that LLVM likes to end with.
static void tidy(char *text) {
    size_t length = strcspn(text, "\n");
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == ' ')) length--;
    text[length] = 0;
}

zf_status zf_cg_guard(zf_status (*body)(void *user, zf_error *error), void *user, zf_error *error) {
    landing place = {.outer = here};
    if (setjmp(place.jump) != 0) {
        here = place.outer;
        tidy(place.reason);
        zf_raise(error, ZF_E_LLVM_FATAL, "LLVM gave up: %s", place.reason);
        return zf_fail_hint(error, ZF_ERR_INTERNAL, "please report this with the .zf text that was compiled");
    }
    here = &place;
    zf_status status = body(user, error);
    here = place.outer;
    return status;
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    zf_cg_diagnostic *sink = user;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || sink->failed) return;
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(sink->text, sizeof(sink->text), "%s", text);
    tidy(sink->text);
    LLVMDisposeMessage(text);
    sink->failed = true;
}

void zf_cg_watch(LLVMContextRef context, zf_cg_diagnostic *sink) {
    *sink = (zf_cg_diagnostic){0};
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, sink);
}

zf_status zf_cg_llvm_error(LLVMErrorRef failure, const char *what, zf_error *error) {
    if (failure == LLVMErrorSuccess) return ZF_OK;
    char *text = LLVMGetErrorMessage(failure);
    tidy(text);
    zf_raise(error, ZF_E_LLVM, "%s: %s", what, text);
    LLVMDisposeErrorMessage(text);
    return ZF_ERR_INTERNAL;
}

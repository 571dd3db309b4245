#include "codegen/llvm/cg_error.h"
#include "runtime/base/error_codes.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// C++'s and LLVM's handlers of a want of memory, which C has no other names for. They are weak: what LLVM is linked to may hide
// them, and a want of memory then ends the process.
typedef void new_handler(void);
__attribute__((weak)) new_handler *zf_cpp_set_new_handler(new_handler *handler) __asm__("_ZSt15set_new_handlerPFvvE");
__attribute__((weak, noreturn)) void zf_cpp_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");
__attribute__((weak)) void zf_llvm_on_bad_alloc(void (*handler)(void *user, const char *reason, bool dump),
                                                void *user) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

// LLVM's handlers are one each for the process, so where to go is kept per thread. This, what was installed before, and that LLVM
// is lost is the one state of the library that hangs on no object.
typedef struct landing {
    jmp_buf jump;
    char reason[400];
    bool no_memory;
    struct landing *outer;
} landing;

static _Thread_local landing *here;
static new_handler *handler_before;
// Memory may end while LLVM holds a lock of the process, or builds something that is built once. A later call would wait for
// ever, so no call enters LLVM again.
static atomic_bool lost;

static void land(const char *reason, bool no_memory) {
    landing *target = here;
    if (target == NULL) return;
    if (no_memory) atomic_store(&lost, true);
    snprintf(target->reason, sizeof(target->reason), "%s", reason);
    target->no_memory = no_memory;
    longjmp(target->jump, 1);
}

static void on_fatal(const char *reason) {
    land(reason, false); // returns where it is not ours: LLVM ends the process, as it would have without us
}

// The handler of `new`, which calls it until there is memory. Calls from outside go to the previous handler, or end with
// bad_alloc.
static void on_no_memory(void) {
    land("out of memory", true);
    if (handler_before != NULL)
        handler_before();
    else if (zf_cpp_throw_bad_alloc != NULL)
        zf_cpp_throw_bad_alloc();
    else
        zf_cpp_set_new_handler(NULL); // `new` looks again, and throws
}

// The handler of LLVM's uses of malloc. It must not return: without a landing the error is a fatal one, which ends the process.
static void on_bad_alloc(void *user, const char *reason, bool dump) {
    (void)user;
    (void)dump;
    land(reason, true);
    (void)raise(SIGABRT);
}

static void set_options(void) {
    static const char *const words[] = {
        "zipflow",
        // LLVM 19 vectorises a conditional division of loop-invariant values wrongly if it keeps it conditional: it divides
        // once, if the first lane's condition holds, and gives the other lanes an undefined value. This option makes divisors
        // harmless instead.
        "-force-widen-divrem-via-safe-divisor=true",
#ifdef ZF_SANITIZE
        // Generated code never passes an address of its own frame beyond the call. It therefore needs no second stack on which
        // frames outlive their calls. Each thread of the emulated GPU would get one, and lose it at its end.
        "-asan-use-after-return=never",
#endif
    };
    LLVMParseCommandLineOptions(sizeof words / sizeof words[0], words, NULL);
}

static zf_status initialise(void *user, zf_error *error) {
    (void)user;
    (void)error;
    set_options();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return ZF_OK;
}

static void start(void) {
    LLVMInstallFatalErrorHandler(on_fatal);
    if (zf_llvm_on_bad_alloc != NULL) zf_llvm_on_bad_alloc(on_bad_alloc, NULL);
    if (zf_cpp_set_new_handler != NULL) handler_before = zf_cpp_set_new_handler(on_no_memory);
    bool abandoned;
    zf_cg_guard(initialise, NULL, &abandoned, NULL);
    if (abandoned) atomic_store(&lost, true); // every guard says so from then on
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

zf_status zf_cg_let_in(zf_error *error) {
    if (!atomic_load(&lost)) return ZF_OK;
    zf_raise(error, ZF_E_NO_MEMORY, "no memory for LLVM: this process makes no more code");
    return zf_fail_hint(error, ZF_ERR_MEMORY, "code that is in the cache, or a module, takes less memory than compiling");
}

zf_status zf_cg_guard(zf_status (*body)(void *user, zf_error *error), void *user, bool *abandoned, zf_error *error) {
    landing place = {.outer = here};
    *abandoned = true;
    ZF_TRY(zf_cg_let_in(error));
    if (setjmp(place.jump) != 0) {
        here = place.outer;
        if (place.no_memory) return zf_cg_let_in(error);
        tidy(place.reason);
        zf_raise(error, ZF_E_LLVM_FATAL, "LLVM gave up: %s", place.reason);
        return zf_fail_hint(error, ZF_ERR_INTERNAL, "please report this with the .zf text that was compiled");
    }
    here = &place;
    zf_status status = body(user, error);
    here = place.outer;
    *abandoned = false;
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

#include "codegen/llvm/cg_error.h"

#include "codegen/llvm/apart.h"
#include "codegen/llvm/probe.h"
#include "runtime/base/error_codes.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// C++'s and LLVM's handlers of a want of memory, which C has no other names for. They are weak: what LLVM is linked to may hide
// them, and a want of memory then ends the process.
typedef void new_handler(void);
__attribute__((weak)) new_handler *zf_cpp_set_new_handler(new_handler *handler) __asm__("_ZSt15set_new_handlerPFvvE");
__attribute__((weak, noreturn)) void zf_cpp_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");
__attribute__((weak)) void zf_llvm_forget_bad_alloc(void) __asm__("_ZN4llvm30remove_bad_alloc_error_handlerEv");
__attribute__((weak)) void zf_llvm_on_bad_alloc(void (*handler)(void *user, const char *reason, bool dump),
                                                void *user) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

// LLVM's handlers are one each for the process. This, what was installed before, and the state of LLVM are the one state of the
// library that hangs on no object, besides each thread's place to land (apart.h).
static _Atomic(new_handler *) handler_before; // threads read it that know nothing of this library

// Memory may end while LLVM holds a lock of the process, or builds something that is built once. Later calls would wait for ever.
// After such a landing LLVM is therefore in doubt until a probe, which began later, has compiled something.
static atomic_uint landings;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of what follows. Nobody holds it for long
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static unsigned proved;             // landings after which a probe was good
static bool probing, lost;          // a thread waits for its probe; LLVM is not entered again
static unsigned answers;            // of probes
static zf_probe_answer last_answer; // the last of them
static unsigned inside;             // guards that run

static void land(const char *reason, bool no_memory) {
    if (no_memory && zf_is_apart()) atomic_fetch_add(&landings, 1);
    zf_apart_land(reason, no_memory);
}

static void on_fatal(const char *reason) {
    land(reason, false); // returns where it is not ours: LLVM ends the process, as it would have without us
}

// The handler of `new`, which calls it until there is memory. Calls from outside go to the previous handler, or end with
// bad_alloc.
static void on_no_memory(void) {
    land("out of memory", true);
    new_handler *before = atomic_load(&handler_before);
    if (before != NULL)
        before();
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

// LLVM aborts where a handler is installed over another, and tells nobody which one is installed. Another user of LLVM therefore
// loses the one that it installed. Not while guards run: an error between the two calls would end the process. With the lock
// held.
static void install(void) {
    LLVMResetFatalErrorHandler();
    LLVMInstallFatalErrorHandler(on_fatal);
    if (zf_llvm_on_bad_alloc != NULL) {
        if (zf_llvm_forget_bad_alloc != NULL) zf_llvm_forget_bad_alloc();
        zf_llvm_on_bad_alloc(on_bad_alloc, NULL);
    }
    if (zf_cpp_set_new_handler == NULL) return;
    new_handler *before = zf_cpp_set_new_handler(on_no_memory);
    if (before != on_no_memory) atomic_store(&handler_before, before);
}

zf_status zf_cg_llvm_start(zf_error *error) {
    static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
    static bool started;
    pthread_mutex_lock(&starting);
    bool abandoned;
    zf_status status = started ? ZF_OK : zf_cg_guard(initialise, NULL, &abandoned, error);
    if (status == ZF_OK) started = true;
    pthread_mutex_unlock(&starting);
    return status;
}

// One line, without the full stop that LLVM likes to end with.
static void tidy(char *text) {
    size_t length = strcspn(text, "\n");
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == ' ')) length--;
    text[length] = 0;
}

static zf_status no_memory(zf_error *error) {
    zf_raise(error, ZF_E_NO_MEMORY, "no memory for LLVM");
    return zf_fail_hint(error, ZF_ERR_MEMORY, "code that is in the cache, or a module, takes less memory than compiling");
}

/// Asks a probe, or waits for that of another thread. A good answer counts for the landings before the probe began. With the lock
/// held, which is free while the probe runs: guards end meanwhile, and none begins.
static zf_probe_answer ask_probe(void) {
    unsigned before = atomic_load(&landings), seen = answers;
    if (probing) {
        while (answers == seen) pthread_cond_wait(&answered, &lock);
        return last_answer;
    }
    probing = true;
    if (inside == 0) install();
    pthread_mutex_unlock(&lock);
    zf_probe_answer answer = zf_cg_probe();
    pthread_mutex_lock(&lock);
    probing = false;
    if (answer == ZF_PROBE_GOOD) proved = before;
    lost = answer == ZF_PROBE_STUCK;
    last_answer = answer;
    answers++;
    pthread_cond_broadcast(&answered);
    return answer;
}

static zf_status enter(zf_error *error) {
    zf_status status = ZF_OK;
    pthread_mutex_lock(&lock);
    while (status == ZF_OK && !lost && atomic_load(&landings) != proved) {
        if (ask_probe() == ZF_PROBE_NO_MEMORY) status = no_memory(error);
    }
    if (lost) {
        zf_raise(error, ZF_E_NO_MEMORY,
                 "no memory for LLVM, which was left unusable when memory ended: this process makes no more code");
        status =
            zf_fail_hint(error, ZF_ERR_MEMORY, "start the process again; code that is in the cache, or a module, needs no LLVM");
    }
    if (status == ZF_OK && inside++ == 0) install();
    pthread_mutex_unlock(&lock);
    return status;
}

static void leave(void) {
    pthread_mutex_lock(&lock);
    inside--;
    pthread_mutex_unlock(&lock);
}

zf_status zf_cg_land(zf_status (*body)(void *user, zf_error *error), void *user, bool *abandoned, zf_error *error) {
    zf_apart_result result = zf_run_apart(body, user, false, error);
    *abandoned = result.end == ZF_APART_LANDED;
    if (result.end == ZF_APART_RETURNED) return result.status;
    if (result.end == ZF_APART_NO_THREAD) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a thread with a deep stack");
    if (result.no_memory) return no_memory(error);
    tidy(result.reason);
    zf_raise(error, ZF_E_LLVM_FATAL, "LLVM gave up: %s", result.reason);
    return zf_fail_hint(error, ZF_ERR_INTERNAL, "please report this with the .zf text that was compiled");
}

zf_status zf_cg_guard(zf_status (*body)(void *user, zf_error *error), void *user, bool *abandoned, zf_error *error) {
    *abandoned = false;
    ZF_TRY(enter(error));
    zf_status status = zf_cg_land(body, user, abandoned, error);
    leave();
    return status;
}

/// "<unknown>:0:0: stack frame size (66048) exceeds limit (16384) in function 'zf_kernel_0'"
static void note_frame(LLVMDiagnosticInfoRef info, zf_cg_diagnostic *sink) {
    static const char begin[] = "stack frame size (";
    char *text = LLVMGetDiagInfoDescription(info);
    const char *at = text != NULL ? strstr(text, begin) : NULL;
    uint64_t bytes = at != NULL ? strtoull(at + sizeof begin - 1, NULL, 10) : 0;
    if (bytes > sink->frame_bytes) sink->frame_bytes = bytes;
    LLVMDisposeMessage(text);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    zf_cg_diagnostic *sink = user;
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSWarning) note_frame(info, sink);
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

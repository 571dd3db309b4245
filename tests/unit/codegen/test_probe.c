// Links: zf_llvm_headers zipflow-compiler -Wl,--wrap=LLVMCreatePassBuilderOptions
// Memory ended inside LLVM, and LLVM does not come back to the probe: it is given up soon. A slow one is not.
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/llvm/cg_error.h"
#include "codegen/llvm/jit.h"
#include "runtime/base/clock.h"
#include "tests/unit/check.h"

// llvm::report_bad_alloc_error, which C has no other name for.
__attribute__((weak, noreturn)) void zf_test_bad_alloc(const char *reason,
                                                       bool dump) __asm__("_ZN4llvm22report_bad_alloc_errorEPKcb");

static const double SOON = 30; // seconds, on a machine with much else to do

static void (*in_llvm)(void); // NULL, or what a compilation does besides
LLVMPassBuilderOptionsRef __real_LLVMCreatePassBuilderOptions(void);
LLVMPassBuilderOptionsRef __wrap_LLVMCreatePassBuilderOptions(void);
LLVMPassBuilderOptionsRef __wrap_LLVMCreatePassBuilderOptions(void) {
    if (in_llvm != NULL) in_llvm();
    return __real_LLVMCreatePassBuilderOptions();
}

static zf_status short_of_memory(void *user, zf_error *error) {
    (void)user;
    (void)error;
    zf_test_bad_alloc("a test needs it", false);
}

static zf_status harmless(void *user, zf_error *error) {
    (void)error;
    *(bool *)user = true;
    return ZF_OK;
}

static void wait_for_ever(void) {
    for (;;) pause();
}

static void go_round(void) {
    for (volatile unsigned turns = 0;; turns++) {
    }
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/// A linker ends, and later calls end in words.
static void gives_up(void (*there)(void), double (*seconds)(void)) {
    zf_jit *jit = NULL;
    bool abandoned, ran = false;
    zf_error error = {0};
    CHECK(zf_jit_create(&(zf_jit_options){0}, &jit, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_cg_guard(short_of_memory, NULL, &abandoned, &error) == ZF_ERR_MEMORY, "%s", error.message);
    in_llvm = there;
    double began = seconds();
    zf_jit_free(jit);
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_ERR_MEMORY && !ran, "it ran");
    CHECK(strstr(error.message, "makes no more code") != NULL, "%s", error.message);
    CHECK(seconds() - began < SOON, "%g s", seconds() - began);
}

static void waits(void) { gives_up(wait_for_ever, zf_clock_seconds); }
static void goes_round(void) { gives_up(go_round, processor_seconds); }

static void be_slow(void) {
    in_llvm = NULL;
    for (int k = 0; k < 3; k++) {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        for (double until = zf_clock_thread_seconds() + 0.1; zf_clock_thread_seconds() < until;) {
        }
    }
}

/// A machine with much to do lets the probe run now and then.
static void is_slow(void) {
    bool abandoned, ran = false;
    zf_error error = {0};
    CHECK(zf_cg_llvm_start(&error) == ZF_OK, "%s", error.message);
    CHECK(zf_cg_guard(short_of_memory, NULL, &abandoned, &error) == ZF_ERR_MEMORY, "%s", error.message);
    in_llvm = be_slow;
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_OK && ran, "%s", error.message);
    CHECK(in_llvm == NULL, "the probe ran no passes");
}

/// In a process of its own, since LLVM is lost to one whose memory ended in it.
static void apart(void (*test)(void), const char *what) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test();
        fflush(stdout);
        _exit(check_failures > 0); // leaks are meant, and a thread runs yet
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s: status %#x", what, (unsigned)status);
}

int main(void) {
    if (zf_test_bad_alloc == NULL) return 77;
    apart(waits, "a probe that waits");
    apart(goes_round, "a probe that goes round in a circle");
    apart(is_slow, "a slow probe");
    return check_result();
}

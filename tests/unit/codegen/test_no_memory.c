// Links: zf_llvm_headers zipflow-compiler -Wl,--wrap=zf_cg_probe,--wrap=LLVMOrcJITDylibCreateResourceTracker
// Memory ends inside LLVM: the call ends in words, and the next one works if LLVM does. Where LLVM was left unusable, no code is
// made from then on. Where memory ends elsewhere in the process, C++ goes on as if this library were not there.
#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Orc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codegen/llvm/cg_error.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/probe.h"
#include "runtime/base/deep.h"
#include "tests/unit/check.h"

// operator new(size_t), the one of it that returns NULL, and llvm::report_bad_alloc_error: C has no other names for them.
__attribute__((weak)) void *zf_test_new(size_t size) __asm__("_Znwm");
__attribute__((weak)) void *zf_test_new_or_null(size_t size, const void *nothrow) __asm__("_ZnwmRKSt9nothrow_t");
__attribute__((weak)) extern const char zf_test_nothrow __asm__("_ZSt7nothrow");
__attribute__((weak, noreturn)) void zf_test_bad_alloc(const char *reason,
                                                       bool dump) __asm__("_ZN4llvm22report_bad_alloc_errorEPKcb");

#ifdef ZF_SANITIZE
#include <sanitizer/lsan_interface.h>
static const bool new_has_handlers = false;
#else
static void __lsan_do_leak_check(void) {}
static const bool new_has_handlers = true;
#endif
static volatile size_t too_much = SIZE_MAX / 4;

static zf_status by_new(void *user, zf_error *error) {
    (void)error;
    *(void **)user = zf_test_new(too_much);
    return ZF_OK;
}

static zf_status by_malloc(void *user, zf_error *error) {
    (void)user;
    (void)error;
    zf_test_bad_alloc("a test needs it", false);
}

static zf_status harmless(void *user, zf_error *error) {
    (void)error;
    *(bool *)user = true;
    return ZF_OK;
}

static zf_probe_answer instead;         // of the probe; GOOD: it is asked
static zf_probe_answer (*during)(void); // NULL, or what happens in place of the probe
zf_probe_answer __real_zf_cg_probe(void);
zf_probe_answer __wrap_zf_cg_probe(void);
zf_probe_answer __wrap_zf_cg_probe(void) {
    if (during != NULL) return during();
    return instead != ZF_PROBE_GOOD ? instead : __real_zf_cg_probe();
}

static bool ends_in_link; // memory does, when code is linked
LLVMOrcResourceTrackerRef __real_LLVMOrcJITDylibCreateResourceTracker(LLVMOrcJITDylibRef library);
LLVMOrcResourceTrackerRef __wrap_LLVMOrcJITDylibCreateResourceTracker(LLVMOrcJITDylibRef library);
LLVMOrcResourceTrackerRef __wrap_LLVMOrcJITDylibCreateResourceTracker(LLVMOrcJITDylibRef library) {
    if (ends_in_link) zf_test_bad_alloc("a test needs it", false);
    return __real_LLVMOrcJITDylibCreateResourceTracker(library);
}

/// Waits for what happens at once, unless something is wrong.
static bool comes(sem_t *event) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    return sem_timedwait(event, &end) == 0;
}

static void ends(zf_status (*body)(void *user, zf_error *error), const char *what) {
    zf_error error = {0};
    CHECK(zf_cg_llvm_start(&error) == ZF_OK, "%s: %s", what, error.message);
    bool abandoned = true, ran = false;
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_OK && ran && !abandoned, "%s: before", what);
    void *memory = NULL;
    CHECK(zf_cg_guard(body, &memory, &abandoned, &error) == ZF_ERR_MEMORY, "%s: %s", what, error.message);
    CHECK(abandoned && strcmp(error.code, "ZF1102") == 0, "%s: %s %s", what, error.code, error.message);
    ran = false;
    instead = ZF_PROBE_NO_MEMORY; // which passes
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_ERR_MEMORY && !ran && !abandoned, "%s: still none", what);
    instead = ZF_PROBE_GOOD;
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_OK && ran && !abandoned, "%s: afterwards: %s", what,
          error.message);
    zf_jit *jit = NULL;
    CHECK(zf_jit_create(&(zf_jit_options){0}, &jit, &error) == ZF_OK, "%s: a new session: %s", what, error.message);
    zf_jit_free(jit);
    CHECK(zf_cg_guard(body, &memory, &abandoned, &error) == ZF_ERR_MEMORY, "%s: again", what);
    ran = false;
    instead = ZF_PROBE_STUCK; // which does not
    for (int again = 0; again < 2; again++) {
        CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_ERR_MEMORY && !ran && !abandoned, "%s: stuck", what);
        CHECK(strstr(error.message, "makes no more code") != NULL, "%s: %s", what, error.message);
        instead = ZF_PROBE_GOOD;
    }
    CHECK(zf_jit_create(&(zf_jit_options){0}, &jit, &error) == ZF_ERR_MEMORY && jit == NULL, "%s: no more sessions", what);
}

enum { WORDS = 4096, KEPT = 7, OVERWRITTEN = 9 };
static volatile uint64_t *on_stack; // in a list of the process, as LLVM's groups of timers are

static zf_status with_memory_on_stack(void *user, zf_error *error) {
    volatile uint64_t words[WORDS];
    for (size_t k = 0; k < WORDS; k++) words[k] = KEPT;
    on_stack = words;
    return by_malloc(user, error);
}

static zf_status use_stack(void *user, zf_error *error) {
    (void)user, (void)error;
    volatile uint64_t words[4 * WORDS];
    for (size_t k = 0; k < 4 * WORDS; k++) words[k] = OVERWRITTEN;
    return words[WORDS] == OVERWRITTEN ? ZF_OK : ZF_ERR_INTERNAL;
}

/// The stack on which memory ended stays as it is: others reach what lies there.
static void stack_stays(void) {
    bool abandoned;
    zf_error error = {0};
    CHECK(zf_cg_llvm_start(&error) == ZF_OK, "%s", error.message);
    CHECK(zf_cg_guard(with_memory_on_stack, NULL, &abandoned, &error) == ZF_ERR_MEMORY, "%s", error.message);
    CHECK(use_stack(NULL, NULL) == ZF_OK, "here");
    for (int again = 0; again < 4; again++) {
        CHECK(zf_run_deep(use_stack, NULL, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_cg_guard(use_stack, NULL, &abandoned, &error) == ZF_OK && !abandoned, "%s", error.message);
    }
    size_t others = 0;
    for (size_t k = 0; k < WORDS; k++) others += on_stack[k] != KEPT;
    CHECK(others == 0, "%zu of %d words of LLVM's stack were overwritten", others, (int)WORDS);
}

static void of_new(void) { ends(by_new, "new"); }
static void of_malloc(void) { ends(by_malloc, "malloc"); }

static zf_status build_five(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)user, (void)compact, (void)error;
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
    LLVMValueRef f = LLVMAddFunction(module, "five", LLVMFunctionType(i64, NULL, 0, 0));
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, f, "entry"));
    LLVMBuildRet(builder, LLVMConstInt(i64, 5, 0));
    LLVMDisposeBuilder(builder);
    return ZF_OK;
}

static zf_status load_five(zf_jit *jit, zf_jit_code **code, zf_error *error) {
    static const char *const name = "five";
    void *address = NULL;
    zf_jit_request request = {.name = "test", .build = build_five, .symbols = &name, .symbol_count = 1};
    zf_status status = zf_jit_load(jit, &request, &address, code, error);
    if (status == ZF_OK) CHECK(((uint64_t (*)(void))(uintptr_t)address)() == 5, "five");
    return status;
}

/// Code that there was no memory to unload does not come between later code and its library.
static void unloaded_without_memory(void) {
    zf_jit *jit = NULL;
    zf_jit_code *code;
    bool abandoned;
    zf_error error = {0};
    CHECK(zf_jit_create(&(zf_jit_options){0}, &jit, &error) == ZF_OK, "%s", error.message);
    CHECK(load_five(jit, &code, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_cg_guard(by_malloc, NULL, &abandoned, &error) == ZF_ERR_MEMORY, "%s", error.message);
    instead = ZF_PROBE_NO_MEMORY;
    zf_jit_unload(jit, code);
    instead = ZF_PROBE_GOOD;
    for (int again = 0; again < 3; again++) {
        CHECK(load_five(jit, &code, &error) == ZF_OK, "load %d: %s", again, error.message);
        zf_jit_unload(jit, code);
    }
    CHECK(zf_jit_get_stats(jit).libraries == 1, "%llu libraries", (unsigned long long)zf_jit_get_stats(jit).libraries);
    zf_jit_free(jit);
}

static zf_status build_without_memory(void *user, LLVMModuleRef module, unsigned compact, zf_error *error) {
    (void)module, (void)compact;
    return by_malloc(user, error);
}

static double seconds_of_passes(zf_passes *passes) {
    zf_pass_time lines[32];
    double whole, other, sum = 0;
    size_t count = zf_passes_read(passes, lines, 32, &whole, &other);
    CHECK(count <= 32, "%zu lines", count);
    for (size_t k = 0; k < count && k < 32; k++) sum += lines[k].sum;
    return sum;
}

/// The time of a pass that LLVM does not return from does not go on for ever.
static void passes_end(void) {
    zf_jit *jit = NULL;
    zf_jit_code *code;
    void *address;
    zf_error error = {0};
    zf_passes *passes = zf_passes_create();
    CHECK(zf_jit_create(&(zf_jit_options){.passes = passes}, &jit, &error) == ZF_OK, "%s", error.message);
    zf_jit_request request = {.name = "test", .build = build_without_memory};
    CHECK(zf_jit_load(jit, &request, &address, NULL, &error) == ZF_ERR_MEMORY, "%s", error.message);
    CHECK(load_five(jit, &code, &error) == ZF_OK, "%s", error.message);
    ends_in_link = true;
    CHECK(load_five(jit, &code, &error) == ZF_ERR_MEMORY, "%s", error.message);
    double before = seconds_of_passes(passes);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK(before > 0 && before == seconds_of_passes(passes), "a pass goes on");
    zf_jit_free(jit);
    zf_passes_free(passes);
}

static unsigned probes;

static zf_probe_answer land_during_first(void) {
    bool abandoned;
    if (++probes == 1) CHECK(zf_cg_land(by_malloc, NULL, &abandoned, NULL) == ZF_ERR_MEMORY, "memory ends again");
    return ZF_PROBE_GOOD;
}

/// Memory ends inside LLVM while a probe runs: the probe may have passed what that left halfway, so another one is asked.
static void landing_during_probe(void) {
    bool abandoned, ran = false;
    zf_error error = {0};
    CHECK(zf_cg_llvm_start(&error) == ZF_OK, "%s", error.message);
    CHECK(zf_cg_guard(by_malloc, NULL, &abandoned, &error) == ZF_ERR_MEMORY, "%s", error.message);
    during = land_during_first;
    for (int again = 0; again < 2; again++)
        CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_OK && ran, "%s", error.message);
    CHECK(probes == 2, "%u probes", probes);
}

static sem_t inside, probed, done;

static zf_status wait_for_probe(void *user, zf_error *error) {
    (void)error;
    *(bool *)user = sem_post(&inside) == 0 && comes(&probed);
    return ZF_OK;
}

static void *guard_that_waits(void *user) {
    bool abandoned;
    zf_cg_guard(wait_for_probe, user, &abandoned, NULL);
    sem_post(&done);
    return NULL;
}

static bool went_on;

static zf_probe_answer wait_for_others(void) {
    sem_post(&probed);
    went_on = comes(&done);
    return ZF_PROBE_GOOD;
}

static void start_events(void) {
    sem_init(&inside, 0, 0);
    sem_init(&probed, 0, 0);
    sem_init(&done, 0, 0);
}

/// A guard that runs already ends while another thread waits for a probe.
static void guard_ends_during_probe(void) {
    bool abandoned, ran = false, waited = false;
    pthread_t thread;
    zf_error error = {0};
    start_events();
    CHECK(zf_cg_llvm_start(&error) == ZF_OK, "%s", error.message);
    CHECK(pthread_create(&thread, NULL, guard_that_waits, &waited) == 0 && comes(&inside), "no guard");
    CHECK(zf_cg_guard(by_malloc, NULL, &abandoned, &error) == ZF_ERR_MEMORY, "%s", error.message);
    during = wait_for_others;
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, &error) == ZF_OK && ran, "%s", error.message);
    pthread_join(thread, NULL);
    CHECK(waited && went_on, "the guard ended behind the probe");
}

static void *load_again(void *jit) {
    zf_error error = {0};
    CHECK(load_five(jit, NULL, &error) == ZF_OK, "%s", error.message);
    return NULL;
}

/// A linker answers while another thread starts a session of it and waits for a probe.
static void linker_answers_during_probe(void) {
    zf_jit *jit = NULL;
    zf_error error = {0};
    pthread_t thread;
    start_events();
    CHECK(zf_jit_create(&(zf_jit_options){0}, &jit, &error) == ZF_OK, "%s", error.message);
    ends_in_link = true;
    CHECK(load_five(jit, NULL, &error) == ZF_ERR_MEMORY, "%s", error.message);
    ends_in_link = false;
    during = wait_for_others;
    CHECK(pthread_create(&thread, NULL, load_again, jit) == 0 && comes(&probed), "no probe");
    CHECK(zf_jit_get_stats(jit).compiled == 1, "%llu compiled", (unsigned long long)zf_jit_get_stats(jit).compiled);
    sem_post(&done);
    pthread_join(thread, NULL);
    CHECK(went_on, "the linker answered behind the probe");
    zf_jit_free(jit);
}

/// The handler is ours, and throws through C: the exception arrives.
static void elsewhere(void) {
    CHECK(zf_cg_llvm_start(NULL) == ZF_OK, "start");
    void *volatile memory = zf_test_new_or_null(too_much, &zf_test_nothrow); // clang drops a call whose result is only compared
    CHECK(memory == NULL, "more memory than there is");
    bool abandoned = true, ran = false;
    CHECK(zf_cg_guard(harmless, &ran, &abandoned, NULL) == ZF_OK && ran, "LLVM is as it was");
}

// llvm::report_fatal_error(const char *, bool).
_Noreturn void zf_test_give_up(const char *reason, bool crash_report) __asm__("_ZN4llvm18report_fatal_errorEPKcb");

static zf_status give_up(void *user, zf_error *error) {
    (void)user;
    (void)error;
    zf_test_give_up("a test needs it", false);
}

/// Another user of LLVM takes our handlers away between calls.
static void handlers_taken_away(void) {
    bool abandoned;
    zf_error error = {0};
    CHECK(zf_cg_llvm_start(&error) == ZF_OK, "%s", error.message);
    for (int again = 0; again < 2; again++) {
        LLVMResetFatalErrorHandler();
        CHECK(zf_cg_guard(give_up, NULL, &abandoned, &error) == ZF_ERR_INTERNAL && abandoned, "%s", error.message);
        CHECK(strcmp(error.code, "ZF1903") == 0, "%s: %s", error.code, error.message);
    }
}

/// In a process of its own, since LLVM is lost to one whose memory ended in it.
static void apart(void (*test)(void), const char *what) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        __lsan_do_leak_check(); // the last one: LLVM's memory is abandoned when it gives up
        test();
        exit(check_failures > 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s: status %#x", what, (unsigned)status);
}

int main(void) {
    if (zf_test_new == NULL || zf_test_new_or_null == NULL || zf_test_bad_alloc == NULL) return 77;
    apart(of_malloc, "LLVM's malloc");
    apart(handlers_taken_away, "handlers");
    apart(stack_stays, "the stack");
    apart(passes_end, "passes");
    apart(unloaded_without_memory, "unload");
    apart(landing_during_probe, "a landing while a probe runs");
    apart(guard_ends_during_probe, "a guard that ends while a probe runs");
    apart(linker_answers_during_probe, "a linker while a probe runs");
    if (new_has_handlers) apart(of_new, "new");
    if (new_has_handlers) apart(elsewhere, "new elsewhere");
    return check_result();
}

#include "codegen/llvm/probe.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "codegen/llvm/cg_error.h"
#include "codegen/target/codegen_target.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/thread.h"

// A probe takes 15 ms of a processor. One that takes far more goes round in a circle. One that takes none, while its starter
// wakes again and again, waits for what nobody gives back; a machine with much else to do lets both run now and then.
static const double MOST_SECONDS = 5;
enum { SLICE_NANOSECONDS = 100000000, IDLE_SLICES = 20 };
// All passes run. The PTX is for compute capability 9.0: which one does not matter.
enum { OPTIMISE = 3, CAPABILITY = 90 };

// Belongs to both threads: the last one frees it. A thread that is stuck keeps it.
typedef struct probe {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    zf_status status;
    atomic_uint holders;
} probe;

static void drop(probe *p) {
    if (atomic_fetch_sub(&p->holders, 1) > 1) return;
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

// Comes to every static variable that LLVM builds for code of ours, so that a half built one is met here and not there. A loop,
// so that passes over loops run too: for (i = 0; i < n; i++) p[i] = (p[i] + n) * 0.1. Its constant lies in memory, so the table
// of X86's instructions with an operand there is built.
static void build(LLVMModuleRef module) {
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(context), types[2] = {LLVMPointerTypeInContext(context, 0), i64};
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(context);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), types, 2, 0);
    LLVMValueRef f = LLVMAddFunction(module, "probe", type), v_n = LLVMGetParam(f, 1), v_zero = LLVMConstInt(i64, 0, 0);
    LLVMBasicBlockRef bb_entry = LLVMAppendBasicBlockInContext(context, f, "entry");
    LLVMBasicBlockRef bb_loop = LLVMAppendBasicBlockInContext(context, f, "loop");
    LLVMBasicBlockRef bb_end = LLVMAppendBasicBlockInContext(context, f, "end");
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, bb_entry);
    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntNE, v_n, v_zero, ""), bb_loop, bb_end);
    LLVMPositionBuilderAtEnd(builder, bb_loop);
    LLVMValueRef v_i = LLVMBuildPhi(builder, i64, "i");
    LLVMValueRef v_at = LLVMBuildGEP2(builder, i64, LLVMGetParam(f, 0), &v_i, 1, "");
    LLVMValueRef v_sum = LLVMBuildAdd(builder, LLVMBuildLoad2(builder, i64, v_at, ""), v_n, "");
    LLVMValueRef v_product = LLVMBuildFMul(builder, LLVMBuildSIToFP(builder, v_sum, f64, ""), LLVMConstReal(f64, 0.1), "");
    LLVMBuildStore(builder, LLVMBuildFPToSI(builder, v_product, i64, ""), v_at);
    LLVMValueRef v_next = LLVMBuildAdd(builder, v_i, LLVMConstInt(i64, 1, 0), "");
    LLVMAddIncoming(v_i, &v_zero, &bb_entry, 1);
    LLVMAddIncoming(v_i, &v_next, &bb_loop, 1);
    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntULT, v_next, v_n, ""), bb_loop, bb_end);
    LLVMPositionBuilderAtEnd(builder, bb_end);
    LLVMBuildRetVoid(builder);
    LLVMDisposeBuilder(builder);
}

static zf_status emit(LLVMTargetMachineRef machine, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out, zf_error *error) {
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("probe", context);
    char *triple = LLVMGetTargetMachineTriple(machine), *message = NULL;
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(machine);
    LLVMSetTarget(module, triple);
    LLVMSetModuleDataLayout(module, data);
    LLVMDisposeTargetData(data);
    LLVMDisposeMessage(triple);
    build(module);
    LLVMDisposeMemoryBuffer(LLVMWriteBitcodeToMemoryBuffer(module)); // as keys of the cache are made
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    zf_status status = zf_cg_llvm_error(LLVMRunPasses(module, "default<O3>", machine, options), "the probe", error);
    LLVMDisposePassBuilderOptions(options);
    if (status == ZF_OK && LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &message, out)) {
        status = zf_raise(error, ZF_E_LLVM, "the probe: %s", message);
        LLVMDisposeMessage(message);
    }
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    LLVMDisposeTargetMachine(machine);
    return status;
}

static zf_status link_and_find(LLVMMemoryBufferRef object, zf_error *error) {
    LLVMTargetMachineRef machine;
    ZF_TRY(zf_cg_host_machine(OPTIMISE, &machine, error));
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine));
    LLVMOrcLLJITRef lljit;
    LLVMOrcExecutorAddress address;
    ZF_TRY(zf_cg_llvm_error(LLVMOrcCreateLLJIT(&lljit, builder), "the probe", error));
    LLVMErrorRef failure = LLVMOrcLLJITAddObjectFile(lljit, LLVMOrcLLJITGetMainJITDylib(lljit), object);
    if (failure == LLVMErrorSuccess) failure = LLVMOrcLLJITLookup(lljit, &address, "probe");
    zf_status status = zf_cg_llvm_error(failure, "the probe", error);
    LLVMConsumeError(LLVMOrcDisposeLLJIT(lljit));
    return status;
}

static zf_status compile_and_link(void *user, zf_error *error) {
    (void)user;
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef text, object;
    size_t count;
    const zf_target *const *targets = zf_targets(&count);
    for (size_t k = 0; k < count; k++) {
        if (targets[k]->image == ZF_IMAGE_NONE) continue;
        zf_abi_target target = {.family = targets[k]->family, .arch = CAPABILITY};
        ZF_TRY(zf_cg_target_of(targets[k])->machine(OPTIMISE, target, &machine, error));
        ZF_TRY(emit(machine, LLVMAssemblyFile, &text, error));
        LLVMDisposeMemoryBuffer(text);
    }
    ZF_TRY(zf_cg_host_machine(OPTIMISE, &machine, error));
    ZF_TRY(emit(machine, LLVMObjectFile, &object, error));
    return link_and_find(object, error);
}

static void *run(void *pointer) {
    probe *p = pointer;
    bool abandoned;
    zf_error error = {0};
    zf_status status = zf_cg_land(compile_and_link, NULL, &abandoned, &error);
    pthread_mutex_lock(&p->lock);
    p->status = status;
    p->done = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    drop(p);
    return NULL;
}

/// Returns the processor seconds of a thread that has not ended.
static double seconds_of(pthread_t thread) {
    clockid_t clock;
    struct timespec now;
    bool known = pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &now) == 0;
    return known ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : 0;
}

/// Waits until the probe has answered, or will not. With its lock held: its thread does not end before it has answered.
static void wait_for(probe *p, pthread_t thread) {
    double used = 0;
    for (int idle = 0; !p->done && idle < IDLE_SLICES && used < MOST_SECONDS;) {
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += SLICE_NANOSECONDS;
        end.tv_sec += end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&p->changed, &p->lock, &end) == 0) continue;
        if (p->done) break;
        double now = seconds_of(thread);
        idle = now > used ? 0 : idle + 1;
        used = now;
    }
}

zf_probe_answer zf_cg_probe(void) {
    probe *p = calloc(1, sizeof *p);
    if (p == NULL) return ZF_PROBE_NO_MEMORY;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &clock);
    pthread_condattr_destroy(&clock);
    atomic_init(&p->holders, 2);
    pthread_t thread;
    if (!zf_thread_start(&thread, ZF_STACK_DEEP, run, p)) {
        atomic_store(&p->holders, 1);
        drop(p);
        return ZF_PROBE_NO_MEMORY;
    }
    pthread_mutex_lock(&p->lock);
    wait_for(p, thread);
    pthread_detach(thread);
    zf_probe_answer answer = !p->done                     ? ZF_PROBE_STUCK
                             : p->status == ZF_OK         ? ZF_PROBE_GOOD
                             : p->status == ZF_ERR_MEMORY ? ZF_PROBE_NO_MEMORY
                                                          : ZF_PROBE_STUCK;
    pthread_mutex_unlock(&p->lock);
    drop(p);
    return answer;
}

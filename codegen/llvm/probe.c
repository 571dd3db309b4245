#include "codegen/llvm/probe.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "codegen/llvm/apart.h"
#include "codegen/llvm/cg_error.h"
#include "codegen/target/codegen_target.h"
#include "runtime/base/error_codes.h"

// All passes run. The PTX is for compute capability 9.0: which one does not matter.
enum { OPTIMISE = 3, CAPABILITY = 90 };

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

zf_probe_answer zf_cg_probe(void) {
    zf_apart_result result = zf_run_apart(compile_and_link, NULL, true, NULL);
    if (result.end == ZF_APART_NO_THREAD || (result.end == ZF_APART_LANDED && result.no_memory)) return ZF_PROBE_NO_MEMORY;
    if (result.end != ZF_APART_RETURNED) return ZF_PROBE_STUCK;
    if (result.status == ZF_ERR_MEMORY) return ZF_PROBE_NO_MEMORY;
    return result.status == ZF_OK ? ZF_PROBE_GOOD : ZF_PROBE_STUCK;
}

// Compiling a module: built, verified, optimised and emitted, or found in the disk cache.
#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm/apart.h"
#include "codegen/llvm/cg_error.h"
#include "codegen/llvm/identity.h"
#include "codegen/llvm/jit_internal.h"
#include "codegen/llvm/pass_gate.h"
#include "codegen/simt/simt_order.h"
#include "codegen/target/codegen_target.h"
#include "frontend/diag/diag.h"
#include "runtime/base/cache.h"
#include "runtime/base/error_codes.h"

typedef struct module_size {
    uint64_t instructions, largest_block;
    uint64_t variables; ///< bytes of the function that has most of them
} module_size;

typedef struct compilation {
    zf_jit *jit;
    const zf_jit_request *request;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    zf_cg_diagnostic diagnostic; ///< its frame_bytes also where the object was in the cache
    zf_compile_charge charge;
    zf_pass_gate gate;
    module_size size;           ///< of the module as it was built
    LLVMMemoryBufferRef object; ///< the result, or NULL
    zf_text key;                ///< empty: not kept
    zf_text *text;              ///< instead of an object, the text of `stage`
    zf_jit_stage stage;
    bool assembly;    ///< the object is text
    unsigned compact; ///< how the module was built
    zf_jit_pass pass; ///< of the whole compilation
} compilation;

static zf_status make_machine(const compilation *c, unsigned level, LLVMTargetMachineRef *out, zf_error *error) {
    if (c->request->target == NULL && c->request->cpu != NULL) return zf_cg_level_machine(level, c->request->cpu, out, error);
    if (c->request->target == NULL) return zf_cg_host_machine(level, out, error);
    return c->request->target->machine(level, c->request->abi_target, out, error);
}

/// Whether the code is watched by AddressSanitizer: not what leaves this process.
static bool is_sanitized(const compilation *c) {
    const struct zf_cg_target *target = c->request->target;
    return c->jit->sanitize && c->request->cpu == NULL && (target == NULL || target->is->image == ZF_IMAGE_NONE);
}

static void add_attribute(LLVMContextRef context, LLVMValueRef function, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(context, kind, 0));
}

// A frame of several pages touches them in order, so that it cannot jump over the page behind a stack that nobody may touch. LLVM
// reports large frames (cg_error.h): of arrays, and of values for which there are no registers.
static void watch_stack(LLVMValueRef function) {
    char most[16];
    snprintf(most, sizeof most, "%d", (int)ZF_ABI_STACK_PLAIN);
    LLVMAddTargetDependentFunctionAttr(function, "warn-stack-size", most);
    LLVMAddTargetDependentFunctionAttr(function, "probe-stack", "inline-asm");
}

/// Says what the code needs of a thread's stack. With a sanitizer, arrays are in no frame that LLVM reports.
static zf_status check_stack(const compilation *c, zf_error *error) {
    uint64_t frame = c->diagnostic.frame_bytes, bytes = c->size.variables > frame ? c->size.variables : frame;
    if (c->request->target != NULL) return ZF_OK; // a GPU has its own limits
    if (bytes > ZF_ABI_STACK_MOST) {
        char code[8];
        zf_diag_code_text(ZF_D_TOO_LARGE, code);
        return zf_fail(error, ZF_ERR_UNSUPPORTED, code, "the code of `%s` needs %llu bytes of stack: the limit is %d",
                       c->request->name, (unsigned long long)bytes, (int)ZF_ABI_STACK_MOST);
    }
    if (c->request->stack_bytes != NULL) *c->request->stack_bytes = bytes > ZF_ABI_STACK_PLAIN ? (uint32_t)bytes : 0;
    return ZF_OK;
}

static zf_status verify(compilation *c, zf_error *error) {
    char *message = NULL;
    zf_status status = ZF_OK;
    if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message)) {
        if (message != NULL) message[strcspn(message, "\n")] = 0;
        status = zf_raise(error, ZF_E_LLVM, "the generated code of `%s` is malformed: %s", c->request->name, message);
    }
    LLVMDisposeMessage(message);
    return status;
}

// Some of LLVM's passes, and the selection of instructions, take time that grows with the square of a function's or a block's
// size. Bodies come from files too, so what is beyond this is compiled without them: slower code, but in bounded time.
enum { MOST_INSTRUCTIONS = 30000, MOST_IN_A_BLOCK = 5000 };
// Above these a module is built again with loops, the last one whatever its size is. The library's have up to 6,700 and 1,700,
// 9,300 on the emulated GPU. The planes of a number are four terms: a kernel with a loop over them had a third less speed.
static const struct {
    unsigned compact;
    uint64_t most, most_in_a_block;
} ways_to_build[] = {{0, 10000, 2500}, {4, 15000, 5000}, {2, UINT64_MAX, UINT64_MAX}};
enum { WAYS_TO_BUILD = sizeof ways_to_build / sizeof ways_to_build[0] };

static module_size size_of(LLVMModuleRef module) {
    module_size size = {0};
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) {
        uint64_t variables = 0;
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb != NULL; bb = LLVMGetNextBasicBlock(bb)) {
            uint64_t count = 0;
            for (LLVMValueRef v = LLVMGetFirstInstruction(bb); v != NULL; v = LLVMGetNextInstruction(v), count++) {
                if (LLVMIsAAllocaInst(v) != NULL) variables += LLVMABISizeOfType(layout, LLVMGetAllocatedType(v));
            }
            if (count > size.largest_block) size.largest_block = count;
            size.instructions += count;
        }
        if (variables > size.variables) size.variables = variables;
    }
    return size;
}

static bool is_larger(module_size size, uint64_t most, uint64_t most_in_a_block) {
    return size.largest_block > most_in_a_block || size.instructions > most;
}

static void print_module(compilation *c) {
    char *text = LLVMPrintModuleToString(c->module);
    zf_text_puts(c->text, text);
    LLVMDisposeMessage(text);
}

// The key of an object: the compiler, the machine, and the module itself. It contains everything that the code depends on.
static bool make_key(compilation *c) {
    zf_jit *jit = c->jit;
    if (jit->cache < 0 || c->request->key == NULL || c->text != NULL) return false;
    if (c->request->cpu != NULL) zf_text_printf(&c->key, "for %s\n", c->request->cpu);
    LLVMMemoryBufferRef module = LLVMWriteBitcodeToMemoryBuffer(c->module);
    zf_text_add(&c->key, jit->identity.data, jit->identity.length);
    zf_text_add(&c->key, c->request->key, c->request->key_length);
    if (c->request->target != NULL) zf_text_printf(&c->key, "%s %u\n", c->request->target->is->name, c->request->abi_target.arch);
    zf_text_add(&c->key, LLVMGetBufferStart(module), LLVMGetBufferSize(module));
    LLVMDisposeMemoryBuffer(module);
    return !c->key.failed;
}

// An entry of the cache is an object and the frame that LLVM reported of it, in 8 bytes.
static void find_object(compilation *c) {
    uint64_t *frame = &c->diagnostic.frame_bytes;
    char *bytes;
    size_t size;
    zf_cache_answer answer = zf_cache_find(c->jit->cache, c->key.data, c->key.length, (void **)&bytes, &size);
    if (answer == ZF_CACHE_DAMAGED) atomic_fetch_add(&c->jit->damaged, 1);
    if (answer != ZF_CACHE_FOUND) return;
    if (size > sizeof *frame) {
        size -= sizeof *frame;
        memcpy(frame, bytes + size, sizeof *frame);
        c->object = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, size, c->request->name);
        atomic_fetch_add(&c->jit->cached, 1);
    }
    free(bytes);
}

static void keep_object(const compilation *c) {
    zf_text entry = {0};
    zf_text_add(&entry, LLVMGetBufferStart(c->object), LLVMGetBufferSize(c->object));
    zf_text_add(&entry, (const char *)&c->diagnostic.frame_bytes, sizeof c->diagnostic.frame_bytes);
    if (!entry.failed) zf_cache_keep(c->jit->cache, c->key.data, c->key.length, entry.data, entry.length, c->jit->cache_bytes);
    zf_text_free(&entry);
}

/// ZF1411 if the budget is spent.
static zf_status check_time(compilation *c, zf_error *error) {
    if (zf_compile_charge_is_in_time(&c->charge)) return ZF_OK;
    return zf_compile_charge_fail(&c->charge, c->request->name, c->size.instructions, error);
}

/// LLVM asks before each pass. After a no it has little left to do, and check_time fails.
static bool may_pass_run(void *user) { return zf_compile_charge_is_in_time(&((compilation *)user)->charge); }

/// From the module that was built to one that code is made of.
static zf_status optimise(compilation *c, zf_error *error) {
    unsigned level = c->jit->level;
    if (!zf_compile_charge_is_enough(&c->charge, c->size.instructions))
        return zf_compile_charge_fail(&c->charge, c->request->name, c->size.instructions, error);
    if (level > 0 && is_larger(c->size, MOST_INSTRUCTIONS, MOST_IN_A_BLOCK)) {
        level = 0;
        LLVMDisposeTargetMachine(c->machine);
        c->machine = NULL;
        ZF_TRY(make_machine(c, level, &c->machine, error));
    }
    char passes[32];
    snprintf(passes, sizeof(passes), "default<O%u>%s", level, is_sanitized(c) ? ",asan" : "");
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetSLPVectorization(options, 0);        // loops are what we vectorise; this takes long and finds little
    LLVMPassBuilderOptionsSetLoopUnrolling(options, !c->compact); // it would write out what was built as a loop
    LLVMErrorRef failure = LLVMRunPasses(c->module, passes, c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    const zf_cg_target *target = c->request->target;
    if (failure == NULL && target != NULL && target->mend != NULL) target->mend(c->module);
    if (failure == NULL) zf_simt_order_loads(c->module);
    ZF_TRY(zf_cg_llvm_error(failure, "optimisation failed", error));
    return check_time(c, error);
}

/// An object, or text where that is wanted.
static zf_status emit(compilation *c, LLVMMemoryBufferRef *out, zf_error *error) {
    char *message = NULL;
    LLVMCodeGenFileType type = c->text != NULL || c->assembly ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->module, type, &message, out)) {
        zf_raise(error, ZF_E_LLVM, "no machine code for %s: %s", c->request->name, message);
        LLVMDisposeMessage(message);
        return ZF_ERR_INTERNAL;
    }
    zf_status status = check_time(c, error); // code of the passes that were left out is not the code of this module
    if (status != ZF_OK) {
        LLVMDisposeMemoryBuffer(*out);
        return status;
    }
    const zf_cg_target *target = c->request->target;
    if (type != LLVMAssemblyFile || target == NULL || target->tidy == NULL) return ZF_OK;
    zf_text tidied = {0};
    target->tidy(LLVMGetBufferStart(*out), LLVMGetBufferSize(*out), &tidied);
    bool good = !tidied.failed && tidied.length > 0;
    LLVMDisposeMemoryBuffer(*out);
    if (good) *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(tidied.data, tidied.length, c->request->name);
    zf_text_free(&tidied);
    return good ? ZF_OK : zf_jit_no_memory(error);
}

/// A stage of a compilation, noted as a pass. Where LLVM does not return from it, the end of `pass` ends it too.
static zf_status pass(compilation *c, zf_pass name, zf_status (*stage)(compilation *c, zf_error *error), zf_error *error) {
    unsigned began = zf_pass_begin(c->jit->passes, name);
    zf_status status = stage(c, error);
    zf_pass_end(c->jit->passes, began);
    return status;
}

/// An empty module in a context of its own, in which no name of another module is taken.
static void make_module(compilation *c) {
    c->context = LLVMContextCreate();
    zf_cg_watch(c->context, &c->diagnostic);
    if (c->request->budget != NULL && isfinite(c->request->budget->seconds)) zf_cg_gate(c->context, &c->gate, may_pass_run, c);
    c->module = LLVMModuleCreateWithNameInContext("zipflow", c->context); // columns of one codec share what is cached
    char *triple = LLVMGetTargetMachineTriple(c->machine);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(c->machine);
    LLVMSetTarget(c->module, triple);
    LLVMSetModuleDataLayout(c->module, data);
    LLVMDisposeTargetData(data);
    LLVMDisposeMessage(triple);
}

static void drop_module(compilation *c) {
    LLVMDisposeModule(c->module);
    LLVMContextDispose(c->context);
}

/// Builds the module, and where it is large, or would be, again with loops.
static zf_status build(compilation *c, zf_error *error) {
    const zf_jit_request *request = c->request;
    char too_large[8];
    zf_diag_code_text(ZF_D_TOO_LARGE, too_large);
    for (unsigned way = 0;; way++) {
        c->compact = ways_to_build[way].compact;
        zf_status status = request->build(request->user, c->module, c->compact, error);
        c->size = size_of(c->module);
        bool grows = status == ZF_OK ? is_larger(c->size, ways_to_build[way].most, ways_to_build[way].most_in_a_block)
                                     : strcmp(error->code, too_large) == 0;
        bool last = !grows || way == WAYS_TO_BUILD - 1;
        if (status != ZF_OK && last) return status;
        ZF_TRY(check_time(c, error));
        if (last) return ZF_OK;
        drop_module(c);
        make_module(c);
    }
}

/// Whether the object is to be kept under c->key; c->object where it was there already.
static bool look_in_cache(compilation *c) {
    unsigned began = zf_pass_begin(c->jit->passes, ZF_PASS_FIND);
    bool keep = make_key(c);
    if (keep) find_object(c);
    zf_pass_end(c->jit->passes, began);
    return keep;
}

static zf_status compile(void *user, zf_error *error) {
    compilation *c = user;
    zf_jit *jit = c->jit;
    ZF_TRY(pass(c, ZF_PASS_LOWER, build, error));
    for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f != NULL; f = LLVMGetNextFunction(f)) {
        add_attribute(c->context, f, "nounwind");
        if (LLVMCountBasicBlocks(f) > 0 && is_sanitized(c)) add_attribute(c->context, f, "sanitize_address");
        if (LLVMCountBasicBlocks(f) > 0 && c->request->target == NULL) watch_stack(f);
    }
    bool keep = look_in_cache(c);
    if (c->object != NULL) return ZF_OK;
    ZF_TRY(pass(c, ZF_PASS_OPTIMISE, verify, error));
    if (c->text != NULL && c->stage == ZF_JIT_IR) {
        print_module(c);
        return ZF_OK;
    }
    ZF_TRY(pass(c, ZF_PASS_OPTIMISE, optimise, error));
    if (c->text != NULL && c->stage == ZF_JIT_OPTIMISED) {
        print_module(c);
        return ZF_OK;
    }
    LLVMMemoryBufferRef result = NULL;
    unsigned began = zf_pass_begin(jit->passes, ZF_PASS_EMIT);
    zf_status status = emit(c, &result, error);
    zf_pass_end(jit->passes, began);
    if (status != ZF_OK) return status;
    if (c->text == NULL) {
        c->object = result;
        atomic_fetch_add(&jit->compiled, 1);
        if (c->request->compiled != NULL) *c->request->compiled = true;
        began = zf_pass_begin(jit->passes, ZF_PASS_KEEP);
        if (keep) keep_object(c);
        zf_pass_end(jit->passes, began);
        return ZF_OK;
    }
    zf_text_add(c->text, LLVMGetBufferStart(result), LLVMGetBufferSize(result));
    LLVMDisposeMemoryBuffer(result);
    return ZF_OK;
}

static zf_status compile_in_context(compilation *c, zf_error *error) {
    c->charge = zf_compile_charge_begin(c->request->budget);
    ZF_TRY(make_machine(c, c->jit->level, &c->machine, error));
    make_module(c);
    zf_status status = compile(c, error);
    drop_module(c);
    if (c->machine != NULL) LLVMDisposeTargetMachine(c->machine);
    return status;
}

static zf_status compile_noted(void *user, zf_error *error) {
    compilation *c = user;
    zf_jit_pass_begin(&c->pass, c->jit->passes, ZF_PASS_LLVM);
    zf_status status = compile_in_context(c, error);
    zf_jit_pass_end(&c->pass);
    return status;
}

// Runs `compile` in a context of its own. After a fatal error nothing of LLVM's is touched again.
static zf_status compile_apart(compilation *c, zf_error *error) {
    zf_error inner = {0};
    bool abandoned;
    zf_status status = zf_cg_guard(compile_noted, c, &abandoned, &inner);
    if (abandoned) c->object = NULL;
    if (status == ZF_OK && c->diagnostic.failed) {
        status = zf_raise(&inner, ZF_E_LLVM, "%s: %s", c->request->name, c->diagnostic.text);
    }
    if (status == ZF_OK) status = check_stack(c, &inner);
    if (status != ZF_OK && c->object != NULL) { // not after a compilation that was abandoned
        LLVMDisposeMemoryBuffer(c->object);
        c->object = NULL;
    }
    if (status != ZF_OK && error != NULL) *error = inner;
    return status;
}

static void report(const compilation *c, bool begins) {
    const zf_compile_budget *budget = c->request->budget;
    const char *column = budget != NULL && budget->column != NULL ? budget->column->name : NULL;
    if (c->jit->watch != NULL) c->jit->watch(c->jit->watch_user, column != NULL ? column : c->request->name, begins);
}

static zf_status compile_and_report(compilation *c, zf_error *error) {
    report(c, true);
    zf_status status = compile_apart(c, error);
    report(c, false);
    return status;
}

bool zf_jit_ends_between_passes(void) { return zf_cg_has_gate(); }

zf_status zf_jit_print(zf_jit *jit, const zf_jit_request *request, zf_jit_stage stage, zf_text *out, zf_error *error) {
    compilation c = {.jit = jit, .request = request, .text = out, .stage = stage};
    return compile_and_report(&c, error);
}

static zf_status take_bytes(zf_jit *jit, const zf_jit_request *request, bool assembly, zf_text *out, zf_error *error) {
    compilation c = {.jit = jit, .request = request, .assembly = assembly};
    zf_status status = compile_and_report(&c, error);
    zf_text_free(&c.key);
    if (status != ZF_OK) return status;
    zf_text_add(out, LLVMGetBufferStart(c.object), LLVMGetBufferSize(c.object));
    LLVMDisposeMemoryBuffer(c.object);
    return out->failed ? zf_jit_no_memory(error) : ZF_OK;
}

zf_status zf_jit_assemble(zf_jit *jit, const zf_jit_request *request, zf_text *out, zf_error *error) {
    return take_bytes(jit, request, true, out, error);
}

zf_status zf_jit_object(zf_jit *jit, const zf_jit_request *request, zf_text *out, zf_error *error) {
    return take_bytes(jit, request, false, out, error);
}

zf_status zf_jit_obtain(zf_jit *jit, const zf_jit_request *request, LLVMMemoryBufferRef *object, zf_error *error) {
    compilation c = {.jit = jit, .request = request};
    zf_status status = compile_and_report(&c, error);
    *object = status == ZF_OK ? c.object : NULL;
    zf_text_free(&c.key);
    return status;
}

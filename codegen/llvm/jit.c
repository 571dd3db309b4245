#include "codegen/llvm/jit.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/llvm/cg_error.h"
#include "codegen/llvm/identity.h"
#include "codegen/llvm/pass_gate.h"
#include "codegen/simt/simt_order.h"
#include "codegen/target/codegen_target.h"
#include "frontend/diag/diag.h"
#include "runtime/base/abi.h"
#include "runtime/base/cache.h"
#include "runtime/base/cache_limit.h"
#include "runtime/base/deep.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/imports.h"

// Every piece of code gets a library (JITDylib) of its own, so that names in different pieces never meet. Libraries cannot be
// removed from a session, so those of unloaded code are used again.
struct zf_jit_code {
    struct session *session;
    LLVMOrcJITDylibRef library;
    LLVMOrcResourceTrackerRef tracker; ///< of what it holds; NULL: nothing
    bool defined;                      ///< it has the symbols that generated code may use
    zf_jit_code *next;                 ///< in `all`
    zf_jit_code *next_free;
};

// A linker of LLVM's. Where LLVM gave up while it linked, nothing of it is touched again: it is leaked with its code, which still
// runs, and further code gets another session.
typedef struct session {
    LLVMOrcLLJITRef lljit;
    LLVMOrcExecutionSessionRef orc;
    atomic_bool dead;
    zf_jit_code *all, *free; ///< under the lock of the linker. A free one may hold code that there was no memory to take out
    struct session *next;    ///< an earlier one
} session;

struct zf_jit {
    unsigned level;
    bool sanitize;
    zf_text identity; ///< of compiler and machine: how every cache key begins
    int cache;        ///< descriptor, or -1
    uint64_t cache_bytes;
    zf_passes *passes;
    void (*watch)(void *user, const char *name, bool begins); ///< NULL: nobody
    void *watch_user;
    zf_jit_symbol *symbols;
    size_t symbol_count, implied_count; ///< the implied ones first; their names are static
    pthread_mutex_t starting;           ///< of `sessions`. It is held while one starts, which may wait for a probe of LLVM
    session *sessions;                  ///< the newest, which gets all further code, first
    pthread_mutex_t lock;               ///< of what follows. Nobody holds it for long
    unsigned libraries;
    char reported[400]; ///< what a session said last
    atomic_ullong compiled, cached, damaged;
};

static zf_status out_of_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code"); }

// ---- Creation -------------------------------------------------------------------------------------------------

// The session prints errors to stderr unless told otherwise. The status of a call says the essential part again.
static void on_session_error(void *user, LLVMErrorRef failure) {
    zf_jit *jit = user;
    char *text = LLVMGetErrorMessage(failure);
    pthread_mutex_lock(&jit->lock);
    snprintf(jit->reported, sizeof(jit->reported), "%.*s", (int)strcspn(text, "\n"), text);
    pthread_mutex_unlock(&jit->lock);
    LLVMDisposeErrorMessage(text);
}

static zf_status name_machine(zf_jit *jit, LLVMTargetMachineRef machine, zf_error *error) {
    char *triple = LLVMGetTargetMachineTriple(machine), *cpu = LLVMGetTargetMachineCPU(machine);
    char *features = LLVMGetTargetMachineFeatureString(machine);
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    zf_build_identity(&jit->identity);
    zf_text_printf(&jit->identity, "\nzipflow abi %d\nllvm %u.%u.%u\n%s %s %s\nO%u%s\n", ZF_ABI_VERSION, major, minor, patch,
                   triple, cpu, features, jit->level, jit->sanitize ? " asan" : "");
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return jit->identity.failed ? out_of_memory(error) : ZF_OK;
}

typedef struct starting {
    zf_jit *jit;
    session *session;
    bool abandoned;
} starting;

static zf_status start_session(void *user, zf_error *error) {
    zf_jit *jit = ((starting *)user)->jit;
    session *s = ((starting *)user)->session;
    LLVMTargetMachineRef machine;
    ZF_TRY(zf_cg_host_machine(jit->level, &machine, error));
    zf_status status = jit->identity.length == 0 ? name_machine(jit, machine, error) : ZF_OK;
    if (status != ZF_OK) {
        LLVMDisposeTargetMachine(machine);
        return status;
    }
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    // The builder takes the machine over.
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine));
    ZF_TRY(zf_cg_llvm_error(LLVMOrcCreateLLJIT(&s->lljit, builder), "the linker for generated code cannot start", error));
    s->orc = LLVMOrcLLJITGetExecutionSession(s->lljit);
    LLVMOrcExecutionSessionSetErrorReporter(s->orc, on_session_error, jit);
    return ZF_OK;
}

static zf_status start_guarded(void *user, zf_error *error) {
    starting *s = user;
    return zf_cg_guard(start_session, s, &s->abandoned, error);
}

static zf_status start_another(zf_jit *jit, session **out, zf_error *error) {
    session *s = calloc(1, sizeof *s);
    if (s == NULL) return out_of_memory(error);
    starting start = {.jit = jit, .session = s};
    zf_status status = zf_run_deep(start_guarded, &start, error);
    if (status != ZF_OK) {
        if (!start.abandoned) free(s); // else LLVM may hold its parts
        return status;
    }
    s->next = jit->sessions;
    jit->sessions = *out = s;
    return ZF_OK;
}

/// Returns the session for further code; starts one where there is none, or where LLVM gave up in the last.
static zf_status current_session(zf_jit *jit, session **out, zf_error *error) {
    pthread_mutex_lock(&jit->starting);
    *out = jit->sessions;
    bool good = *out != NULL && !atomic_load(&(*out)->dead);
    zf_status status = good ? ZF_OK : start_another(jit, out, error);
    pthread_mutex_unlock(&jit->starting);
    return status;
}

static zf_status create(const zf_jit_options *options, zf_jit **out, zf_error *error) {
    ZF_TRY(zf_cg_llvm_start(error));
    zf_jit *jit = calloc(1, sizeof(*jit));
    if (jit == NULL) return out_of_memory(error);
    jit->cache = -1;
    jit->passes = options->passes;
    jit->level = options->optimise > 3 ? 3 : options->optimise;
    jit->sanitize = options->sanitize;
    size_t implied_count;
    const zf_import *implied = zf_imports(&implied_count); // what generated code may need without naming it
    pthread_mutex_init(&jit->starting, NULL);
    pthread_mutex_init(&jit->lock, NULL);
    jit->symbol_count = implied_count + options->symbol_count;
    jit->symbols = calloc(jit->symbol_count, sizeof(*jit->symbols));
    if (jit->symbols == NULL) {
        zf_jit_free(jit);
        return out_of_memory(error);
    }
    for (size_t k = 0; k < implied_count; k++) jit->symbols[k] = (zf_jit_symbol){implied[k].name, implied[k].address};
    jit->implied_count = implied_count;
    for (size_t k = 0; k < options->symbol_count; k++) {
        jit->symbols[implied_count + k] = options->symbols[k];
        jit->symbols[implied_count + k].name = strdup(options->symbols[k].name);
        if (jit->symbols[implied_count + k].name == NULL) {
            zf_jit_free(jit);
            return out_of_memory(error);
        }
    }
    session *first;
    zf_status status = current_session(jit, &first, error);
    if (status != ZF_OK) {
        zf_jit_free(jit);
        return status;
    }
    jit->cache_bytes = options->cache_bytes != 0 ? options->cache_bytes : ZF_CACHE_BYTES;
    if (options->cache_dir != NULL && options->cache_dir[0] != 0) jit->cache = zf_cache_open(options->cache_dir, "kernels");
    *out = jit;
    return ZF_OK;
}

zf_status zf_jit_create(const zf_jit_options *options, zf_jit **out, zf_error *error) {
    *out = NULL;
    unsigned pass = zf_pass_begin(options->passes, ZF_PASS_LLVM);
    zf_status status = create(options, out, error);
    zf_pass_end(options->passes, pass);
    return status;
}

void zf_jit_watch(zf_jit *jit, void (*watch)(void *user, const char *name, bool begins), void *user) {
    jit->watch = watch;
    jit->watch_user = user;
}

/// Takes out of the session what is loaded, if anything. A tracker that is only released moves what it tracks to another one, and
/// LLVM 19 then reads memory that it has freed, where its table of what is linked grows by that.
static zf_status take_out(void *user, zf_error *error) {
    (void)error;
    zf_jit_code *code = user;
    if (code->tracker == NULL) return ZF_OK;
    LLVMConsumeError(LLVMOrcResourceTrackerRemove(code->tracker));
    LLVMOrcReleaseResourceTracker(code->tracker);
    code->tracker = NULL;
    return ZF_OK;
}

static zf_status end_session(void *user, zf_error *error) {
    session *s = user;
    for (zf_jit_code *code = s->all; code != NULL; code = code->next) take_out(code, error);
    LLVMConsumeError(LLVMOrcDisposeLLJIT(s->lljit));
    return ZF_OK;
}

void zf_jit_free(zf_jit *jit) {
    if (jit == NULL) return;
    for (session *s = jit->sessions, *earlier; s != NULL; s = earlier) {
        bool abandoned;
        earlier = s->next;
        if (!atomic_load(&s->dead)) zf_cg_guard(end_session, s, &abandoned, NULL);
        for (zf_jit_code *code = s->all, *next; code != NULL; code = next) {
            next = code->next;
            free(code);
        }
        free(s);
    }
    if (jit->cache >= 0) close(jit->cache);
    for (size_t k = jit->implied_count; jit->symbols != NULL && k < jit->symbol_count; k++)
        free((void *)(uintptr_t)jit->symbols[k].name);
    free(jit->symbols);
    zf_text_free(&jit->identity);
    pthread_mutex_destroy(&jit->lock);
    pthread_mutex_destroy(&jit->starting);
    free(jit);
}

zf_jit_stats zf_jit_get_stats(zf_jit *jit) {
    pthread_mutex_lock(&jit->lock);
    uint64_t libraries = jit->libraries;
    pthread_mutex_unlock(&jit->lock);
    return (zf_jit_stats){atomic_load(&jit->compiled), atomic_load(&jit->cached), atomic_load(&jit->damaged), libraries};
}

// ---- Compilation ----------------------------------------------------------------------------------------------

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
    return good ? ZF_OK : out_of_memory(error);
}

/// A stage of a compilation, noted as a pass. Where LLVM ends one by a jump, compile_noted ends it.
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

static zf_status compile_guarded(void *user, zf_error *error) { return compile_in_context(user, error); }

// Runs `compile` in a context of its own. After a fatal error nothing of LLVM's is touched again.
static zf_status compile_apart(compilation *c, zf_error *error) {
    zf_error inner = {0};
    bool abandoned;
    zf_status status = zf_cg_guard(compile_guarded, c, &abandoned, &inner);
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

static zf_status compile_noted(void *user, zf_error *error) { return pass(user, ZF_PASS_LLVM, compile_apart, error); }

static void report(const compilation *c, bool begins) {
    const zf_compile_budget *budget = c->request->budget;
    const char *column = budget != NULL && budget->column != NULL ? budget->column->name : NULL;
    if (c->jit->watch != NULL) c->jit->watch(c->jit->watch_user, column != NULL ? column : c->request->name, begins);
}

// On a stack of its own: bodies, and LLVM's passes, recurse as deep as a text is nested.
static zf_status compile_alone(compilation *c, zf_error *error) {
    report(c, true);
    zf_status status = zf_run_deep(compile_noted, c, error);
    report(c, false);
    return status;
}

bool zf_jit_ends_between_passes(void) { return zf_cg_has_gate(); }

zf_status zf_jit_print(zf_jit *jit, const zf_jit_request *request, zf_jit_stage stage, zf_text *out, zf_error *error) {
    compilation c = {.jit = jit, .request = request, .text = out, .stage = stage};
    return compile_alone(&c, error);
}

static zf_status take_bytes(zf_jit *jit, const zf_jit_request *request, bool assembly, zf_text *out, zf_error *error) {
    compilation c = {.jit = jit, .request = request, .assembly = assembly};
    zf_status status = compile_alone(&c, error);
    zf_text_free(&c.key);
    if (status != ZF_OK) return status;
    zf_text_add(out, LLVMGetBufferStart(c.object), LLVMGetBufferSize(c.object));
    LLVMDisposeMemoryBuffer(c.object);
    return out->failed ? out_of_memory(error) : ZF_OK;
}

zf_status zf_jit_assemble(zf_jit *jit, const zf_jit_request *request, zf_text *out, zf_error *error) {
    return take_bytes(jit, request, true, out, error);
}

zf_status zf_jit_object(zf_jit *jit, const zf_jit_request *request, zf_text *out, zf_error *error) {
    return take_bytes(jit, request, false, out, error);
}

// From the cache, else compiled and kept. `*object` belongs to the caller.
static zf_status obtain(zf_jit *jit, const zf_jit_request *request, LLVMMemoryBufferRef *object, zf_error *error) {
    compilation c = {.jit = jit, .request = request};
    zf_status status = compile_alone(&c, error);
    *object = status == ZF_OK ? c.object : NULL;
    zf_text_free(&c.key);
    return status;
}

// ---- Linking --------------------------------------------------------------------------------------------------

/// Defines what generated code may use, all of it or nothing.
static zf_status define_symbols(zf_jit *jit, zf_jit_code *code, zf_error *error) {
    LLVMOrcDefinitionGeneratorRef process = NULL; // AddressSanitizer's runtime is found in the process
    if (jit->sanitize) {
        LLVMErrorRef unreadable = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
            &process, LLVMOrcLLJITGetGlobalPrefix(code->session->lljit), NULL, NULL);
        ZF_TRY(zf_cg_llvm_error(unreadable, "the symbols of the process cannot be read", error));
    }
    LLVMOrcCSymbolMapPair *pairs = calloc(jit->symbol_count, sizeof(*pairs));
    if (pairs == NULL) {
        if (process != NULL) LLVMOrcDisposeDefinitionGenerator(process);
        return out_of_memory(error);
    }
    for (size_t k = 0; k < jit->symbol_count; k++) {
        pairs[k].Name = LLVMOrcLLJITMangleAndIntern(code->session->lljit, jit->symbols[k].name);
        pairs[k].Sym.Address = (LLVMOrcJITTargetAddress)(uintptr_t)jit->symbols[k].address;
        pairs[k].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    }
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, jit->symbol_count);
    free(pairs);
    LLVMErrorRef failure = LLVMOrcJITDylibDefine(code->library, unit);
    if (failure != LLVMErrorSuccess) {
        LLVMOrcDisposeMaterializationUnit(unit);
        if (process != NULL) LLVMOrcDisposeDefinitionGenerator(process);
        return zf_cg_llvm_error(failure, "the symbols of generated code cannot be defined", error);
    }
    if (process != NULL) LLVMOrcJITDylibAddGenerator(code->library, process);
    code->defined = true;
    return ZF_OK;
}

/// Adds a library to the session. NULL: no memory.
static zf_jit_code *make_library(zf_jit *jit, session *s) {
    zf_jit_code *code = calloc(1, sizeof(*code));
    if (code == NULL) return NULL;
    code->session = s;
    pthread_mutex_lock(&jit->lock);
    unsigned number = jit->libraries++;
    pthread_mutex_unlock(&jit->lock);
    char name[32];
    snprintf(name, sizeof(name), "zipflow.%u", number);
    code->library = LLVMOrcExecutionSessionCreateBareJITDylib(s->orc, name);
    pthread_mutex_lock(&jit->lock);
    code->next = s->all;
    s->all = code;
    pthread_mutex_unlock(&jit->lock);
    return code;
}

/// After an error too, `*out` is the caller's, to unload; NULL: there is none.
static zf_status take_library(zf_jit *jit, session *s, zf_jit_code **out, zf_error *error) {
    pthread_mutex_lock(&jit->lock);
    zf_jit_code *code = s->free;
    if (code != NULL) s->free = code->next_free;
    pthread_mutex_unlock(&jit->lock);
    if (code == NULL) code = make_library(jit, s);
    *out = code;
    if (code == NULL) return out_of_memory(error);
    ZF_TRY(take_out(code, error));
    return code->defined ? ZF_OK : define_symbols(jit, code, error);
}

void zf_jit_unload(zf_jit *jit, zf_jit_code *code) {
    if (code == NULL || atomic_load(&code->session->dead)) return; // zf_jit_free has a list of all
    bool abandoned;
    zf_cg_guard(take_out, code, &abandoned, NULL);
    if (abandoned) {
        atomic_store(&code->session->dead, true);
        return;
    }
    pthread_mutex_lock(&jit->lock);
    code->next_free = code->session->free;
    code->session->free = code;
    pthread_mutex_unlock(&jit->lock);
}

// A lookup may be answered by another thread of the session.
typedef struct answer {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    bool done;
    LLVMErrorRef failure;
    const LLVMOrcCLookupSetElement *names;
    void **addresses;
    size_t count;
} answer;

static void on_found(LLVMErrorRef failure, LLVMOrcCSymbolMapPairs found, size_t count, void *user) {
    answer *a = user;
    pthread_mutex_lock(&a->lock);
    a->failure = failure;
    for (size_t k = 0; failure == LLVMErrorSuccess && k < count; k++) {
        for (size_t n = 0; n < a->count; n++) {
            if (a->names[n].Name == found[k].Name) a->addresses[n] = (void *)(uintptr_t)found[k].Sym.Address;
        }
    }
    a->done = true;
    pthread_cond_signal(&a->ready);
    pthread_mutex_unlock(&a->lock);
}

static zf_status look_up(zf_jit *jit, zf_jit_code *code, const zf_jit_request *request, void **addresses, zf_error *error) {
    size_t count = request->symbol_count;
    memset(addresses, 0, count * sizeof(*addresses));
    if (count == 0) return ZF_OK;
    LLVMOrcCLookupSetElement *names = calloc(count + 1, sizeof(*names));
    if (names == NULL) return out_of_memory(error);
    for (size_t k = 0; k < count; k++) {
        names[k].Name = LLVMOrcLLJITMangleAndIntern(code->session->lljit, request->symbols[k]);
        names[k].LookupFlags = LLVMOrcSymbolLookupFlagsWeaklyReferencedSymbol;
    }
    answer a = {.names = names, .addresses = addresses, .count = count};
    pthread_mutex_init(&a.lock, NULL);
    pthread_cond_init(&a.ready, NULL);
    LLVMOrcCJITDylibSearchOrderElement order[2] = {{code->library, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly},
                                                   {NULL, 0}};
    // Takes the names over; their pointers stay comparable, since the pool keeps them while they are in use.
    LLVMOrcExecutionSessionLookup(code->session->orc, LLVMOrcLookupKindStatic, order, 1, names, count, on_found, &a);
    pthread_mutex_lock(&a.lock);
    while (!a.done) pthread_cond_wait(&a.ready, &a.lock);
    pthread_mutex_unlock(&a.lock);
    pthread_cond_destroy(&a.ready);
    pthread_mutex_destroy(&a.lock);
    free(names);
    zf_status status = zf_cg_llvm_error(a.failure, "generated code cannot be linked", error);
    if (status == ZF_OK) return ZF_OK;
    // The lookup says which symbols there are not, the session why.
    pthread_mutex_lock(&jit->lock);
    if (jit->reported[0] != 0) zf_raise(error, ZF_E_LLVM, "generated code cannot be linked: %s", jit->reported);
    jit->reported[0] = 0;
    pthread_mutex_unlock(&jit->lock);
    return status;
}

typedef struct linking {
    zf_jit *jit;
    session *session;
    zf_jit_code *code;
    const zf_jit_request *request;
    LLVMMemoryBufferRef object;
    void **addresses;
    bool abandoned;
} linking;

static zf_status link_object(void *user, zf_error *error) {
    linking *l = user;
    ZF_TRY(take_library(l->jit, l->session, &l->code, error));
    l->code->tracker = LLVMOrcJITDylibCreateResourceTracker(l->code->library);
    LLVMMemoryBufferRef object = l->object;
    l->object = NULL; // the session owns it from here on
    ZF_TRY(zf_cg_llvm_error(LLVMOrcLLJITAddObjectFileWithRT(l->session->lljit, l->code->tracker, object),
                            "generated code cannot be loaded", error));
    return look_up(l->jit, l->code, l->request, l->addresses, error);
}

static zf_status link_guarded(void *user, zf_error *error) {
    linking *l = user;
    unsigned began = zf_pass_begin(l->jit->passes, ZF_PASS_LINK);
    zf_status status = zf_cg_guard(link_object, l, &l->abandoned, error);
    zf_pass_end(l->jit->passes, began);
    return status;
}

zf_status zf_jit_load(zf_jit *jit, const zf_jit_request *request, void **addresses, zf_jit_code **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    linking l = {.jit = jit, .request = request, .addresses = addresses};
    ZF_TRY(current_session(jit, &l.session, error));
    ZF_TRY(obtain(jit, request, &l.object, error));
    zf_error inner = {0};
    zf_status status = zf_run_deep(link_guarded, &l, &inner);
    if (l.abandoned) atomic_store(&l.session->dead, true); // its state is unknown now
    if (status == ZF_OK) {
        if (out != NULL) *out = l.code;
        return ZF_OK;
    }
    if (error != NULL) *error = inner;
    if (l.abandoned) return status;
    if (l.object != NULL) LLVMDisposeMemoryBuffer(l.object);
    if (l.code != NULL) zf_jit_unload(jit, l.code);
    return status;
}

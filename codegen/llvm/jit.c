#include "codegen/llvm/jit.h"

#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/llvm/apart.h"
#include "codegen/llvm/cg_error.h"
#include "codegen/llvm/identity.h"
#include "codegen/llvm/jit_internal.h"
#include "codegen/target/codegen_target.h"
#include "runtime/base/cache.h"
#include "runtime/base/cache_limit.h"
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
    return jit->identity.failed ? zf_jit_no_memory(error) : ZF_OK;
}

typedef struct starting {
    zf_jit *jit;
    session *session;
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

static zf_status start_another(zf_jit *jit, session **out, zf_error *error) {
    session *s = calloc(1, sizeof *s);
    if (s == NULL) return zf_jit_no_memory(error);
    bool abandoned;
    zf_status status = zf_cg_guard(start_session, &(starting){.jit = jit, .session = s}, &abandoned, error);
    if (status != ZF_OK) {
        if (!abandoned) free(s); // else LLVM may hold its parts
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
    if (jit == NULL) return zf_jit_no_memory(error);
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
        return zf_jit_no_memory(error);
    }
    for (size_t k = 0; k < implied_count; k++) jit->symbols[k] = (zf_jit_symbol){implied[k].name, implied[k].address};
    jit->implied_count = implied_count;
    for (size_t k = 0; k < options->symbol_count; k++) {
        jit->symbols[implied_count + k] = options->symbols[k];
        jit->symbols[implied_count + k].name = strdup(options->symbols[k].name);
        if (jit->symbols[implied_count + k].name == NULL) {
            zf_jit_free(jit);
            return zf_jit_no_memory(error);
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
        return zf_jit_no_memory(error);
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
    if (code == NULL) return zf_jit_no_memory(error);
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
    if (names == NULL) return zf_jit_no_memory(error);
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
    zf_jit_pass pass;
} linking;

void zf_jit_pass_end(void *pass) {
    zf_jit_pass *p = pass;
    zf_pass_end(p->passes, p->began);
}

void zf_jit_pass_begin(zf_jit_pass *pass, zf_passes *passes, zf_pass which) {
    *pass = (zf_jit_pass){passes, zf_pass_begin(passes, which)};
    zf_apart_at_landing(zf_jit_pass_end, pass);
}

static zf_status link_object(linking *l, zf_error *error) {
    ZF_TRY(take_library(l->jit, l->session, &l->code, error));
    l->code->tracker = LLVMOrcJITDylibCreateResourceTracker(l->code->library);
    LLVMMemoryBufferRef object = l->object;
    l->object = NULL; // the session owns it from here on
    ZF_TRY(zf_cg_llvm_error(LLVMOrcLLJITAddObjectFileWithRT(l->session->lljit, l->code->tracker, object),
                            "generated code cannot be loaded", error));
    return look_up(l->jit, l->code, l->request, l->addresses, error);
}

static zf_status link_noted(void *user, zf_error *error) {
    linking *l = user;
    zf_jit_pass_begin(&l->pass, l->jit->passes, ZF_PASS_LINK);
    zf_status status = link_object(l, error);
    zf_jit_pass_end(&l->pass);
    return status;
}

zf_status zf_jit_load(zf_jit *jit, const zf_jit_request *request, void **addresses, zf_jit_code **out, zf_error *error) {
    if (out != NULL) *out = NULL;
    linking l = {.jit = jit, .request = request, .addresses = addresses};
    ZF_TRY(current_session(jit, &l.session, error));
    ZF_TRY(zf_jit_obtain(jit, request, &l.object, error));
    zf_error inner = {0};
    bool abandoned;
    zf_status status = zf_cg_guard(link_noted, &l, &abandoned, &inner);
    if (abandoned) atomic_store(&l.session->dead, true); // its state is unknown now
    if (status == ZF_OK) {
        if (out != NULL) *out = l.code;
        return ZF_OK;
    }
    if (error != NULL) *error = inner;
    if (abandoned) return status;
    if (l.object != NULL) LLVMDisposeMemoryBuffer(l.object);
    if (l.code != NULL) zf_jit_unload(jit, l.code);
    return status;
}

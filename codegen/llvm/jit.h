// From a function that builds a module to callable code: verify, run passes, make an object in memory, link it. Objects are
// kept on disk under the module that they were made from, so a second process builds that, which is quick, and finds the rest.
#ifndef ZF_CODEGEN_JIT_H
#define ZF_CODEGEN_JIT_H

#include "codegen/llvm/budget.h"
#include "runtime/base/abi.h"
#include "runtime/base/error.h"
#include "runtime/base/passes.h"
#include "runtime/base/text.h"

struct LLVMOpaqueModule; // LLVMModuleRef is a pointer to it; LLVM's headers are for codegen/ alone

typedef struct zf_jit zf_jit;
typedef struct zf_jit_code zf_jit_code;

/// A C function or object that generated code may call or read by name. Names start with `zf_cg_`.
typedef struct zf_jit_symbol {
    const char *name;
    const void *address; ///< cast a function through `uintptr_t`
} zf_jit_symbol;

typedef struct zf_jit_options {
    unsigned optimise;            ///< level of passes and code generation, 0..3
    bool sanitize;                ///< every function is instrumented with AddressSanitizer, whose runtime the process must have
    const char *cache_dir;        ///< NULL or "": no disk cache. Copied
    uint64_t cache_bytes;         ///< of code in it; 0: ZF_CACHE_BYTES (runtime/base/cache_limit.h)
    zf_passes *passes;            ///< where time is noted; NULL: nowhere
    const zf_jit_symbol *symbols; ///< besides memcpy, memmove, memset, memcmp. Copied
    size_t symbol_count;
} zf_jit_options;

/// A linker for the machine at hand. All functions here may be called by many threads at once; compilations do not wait for
/// each other.
zf_status zf_jit_create(const zf_jit_options *options, zf_jit **out, zf_error *error);
/// Has `watch` called when a compilation begins and when it ends, well or badly: also for code that is then found in the cache.
/// `name`: of the column, or of the algorithm if no budget names a column. Set it before anything is compiled. Threads that
/// compile call it.
void zf_jit_watch(zf_jit *jit, void (*watch)(void *user, const char *name, bool begins), void *user);
/// Frees it with all code that came from it. Where LLVM cannot be entered, or there is no memory for a thread, what LLVM has of
/// them is leaked.
void zf_jit_free(zf_jit *jit);

/// A request to compile.
typedef struct zf_jit_request {
    const char *name;  ///< of the module: in errors and printed text
    const char *key;   ///< NULL: the object is not kept on disk. Else it is kept under a key that holds the module itself,
    size_t key_length; ///< the compiler and the machine, and this text, which may be empty
    /// Fills `module` (triple and data layout are set; attributes that all functions want are added afterwards). It is called
    /// again for other modules, where the first is too large to be optimised in seconds: reductions of more than `compact` terms
    /// are loops there (0: in the first one, they are written out). Must be repeatable: the same request builds the same module.
    /// Must not keep anything made in `context`: on a fatal error of LLVM it does not return.
    zf_status (*build)(void *user, struct LLVMOpaqueModule *module, unsigned compact, zf_error *error);
    void *user;
    bool *compiled;                    ///< may be NULL: set where the object was not in the cache, else left as it is
    uint32_t *stack_bytes;             ///< may be NULL: gets what zf_abi_code.stack_bytes says
    const char *const *symbols;        ///< names of functions to look up
    const struct zf_cg_target *target; ///< NULL: the machine at hand
    const char *cpu; ///< without a target: a level of CPUs, "x86-64-v3"; the object is for any such machine, and is not loaded
    zf_abi_target abi_target;
    size_t symbol_count;
    /// NULL: the time has no limit. A compilation that spends the budget ends between two passes of LLVM with ZF1411; one whose
    /// module has too many instructions for what is left ends before LLVM begins. Nothing of it is kept. Building the module
    /// counts, also if the object is then found in the cache.
    zf_compile_budget *budget;
} zf_jit_request;

/// Compiles or finds, and links. `addresses` gets one pointer per symbol (NULL where `build` made no such function).
/// The code lives until zf_jit_unload or zf_jit_free. `*out` may be NULL: then only the latter.
zf_status zf_jit_load(zf_jit *jit, const zf_jit_request *request, void **addresses, zf_jit_code **out, zf_error *error);
void zf_jit_unload(zf_jit *jit, zf_jit_code *code);

typedef enum zf_jit_stage {
    ZF_JIT_IR,        ///< as built
    ZF_JIT_OPTIMISED, ///< after the passes
    ZF_JIT_ASSEMBLY,  ///< of the machine at hand
} zf_jit_stage;

/// The text of a module at a stage: `zfc --emit=llvm|asm`.
zf_status zf_jit_print(zf_jit *jit, const zf_jit_request *request, zf_jit_stage stage, zf_text *out, zf_error *error);

/// Compiles or finds the assembly of a module for the request's target, which is not the machine at hand: PTX.
zf_status zf_jit_assemble(zf_jit *jit, const zf_jit_request *request, zf_text *out, zf_error *error);

/// Compiles or finds the object file (ELF) of a module for the request's CPU level. It is never instrumented.
zf_status zf_jit_object(zf_jit *jit, const zf_jit_request *request, zf_text *out, zf_error *error);

/// Whether LLVM can be made to end between two passes. Else a budget ends only between two stages of a compilation.
bool zf_jit_ends_between_passes(void);

/// Counters since creation: objects compiled, objects taken from the disk, damaged entries of the cache, and libraries of the
/// linker, one for each piece of code that was loaded at the same time.
typedef struct zf_jit_stats {
    uint64_t compiled, cached, damaged, libraries;
} zf_jit_stats;
zf_jit_stats zf_jit_get_stats(zf_jit *jit);

#endif

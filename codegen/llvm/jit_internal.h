// Inside the compiler of modules: what compiling (jit_compile.c) and linking (jit.c) share.
#ifndef ZF_CODEGEN_JIT_INTERNAL_H
#define ZF_CODEGEN_JIT_INTERNAL_H

#include <llvm-c/Core.h>
#include <pthread.h>
#include <stdatomic.h>

#include "codegen/llvm/jit.h"
#include "runtime/base/error_codes.h"

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
    struct session *sessions;           ///< the newest, which gets all further code, first
    pthread_mutex_t lock;               ///< of what follows. Nobody holds it for long
    unsigned libraries;
    char reported[400]; ///< what a session said last
    atomic_ullong compiled, cached, damaged;
};

static inline zf_status zf_jit_no_memory(zf_error *error) {
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated code");
}

/// A pass in which LLVM may be abandoned.
typedef struct zf_jit_pass {
    zf_passes *passes;
    unsigned began;
} zf_jit_pass;

/// Begins a pass inside zf_cg_guard. It also ends where LLVM is abandoned; until then `pass` must live.
void zf_jit_pass_begin(zf_jit_pass *pass, zf_passes *passes, zf_pass which);

/// Ends a zf_jit_pass.
void zf_jit_pass_end(void *pass);

/// Gets the object of a module from the cache, or compiles it and keeps it there. `*object` belongs to the caller.
zf_status zf_jit_obtain(zf_jit *jit, const zf_jit_request *request, LLVMMemoryBufferRef *object, zf_error *error);

#endif

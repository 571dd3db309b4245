// Inside the compiler object.
#ifndef ZF_CODEGEN_COMPILER_H
#define ZF_CODEGEN_COMPILER_H

#include <pthread.h>

#include "codegen/decoder.h"
#include "codegen/tuned.h"

struct zf_compiler {
    zf_context *context;
    zf_compiler_options options;
    char *std_dir; ///< copy of the caller's
    zf_jit *jit;
    pthread_mutex_t lock; ///< of `containers`
    struct zf_known_container *containers;
    struct zf_fault_sites *sites; ///< the fault switch; NULL: none
    bool unchecked;               ///< kernels have no checks: zf_compiler_set_unchecked
    bool unfused;                 ///< a kernel a stage: zf_compiler_set_unfused
    zf_choices choices;           ///< for all plans
    zf_tuned shipped;             ///< zf_compiler_options.tuned
    zf_tuned kept;                ///< in the cache, of `kept_of`, and read once. Guarded by `lock`
    char *kept_of;                ///< description of a device; NULL: none was met
};

/// The source of code for containers (provider.c).
zf_abi_provider zf_provider_of(zf_compiler *compiler);
/// Forgets all containers.
void zf_provider_free(zf_compiler *compiler);

#endif

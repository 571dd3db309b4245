// Inside the compiler object.
#ifndef ZF_CODEGEN_COMPILER_H
#define ZF_CODEGEN_COMPILER_H

#include <pthread.h>

#include "compiler/decoder.h"
#include "compiler/tuned.h"

/// What was found best on one device, read from the cache once; it stays as long as the compiler.
typedef struct zf_kept_tuned {
    char *device; ///< its description
    zf_tuned table;
    struct zf_kept_tuned *next;
} zf_kept_tuned;

/// A line for the log.
typedef struct zf_noted {
    zf_log_level level;
    char *text;
    struct zf_noted *next;
} zf_noted;

struct zf_compiler {
    zf_context *context;
    zf_compiler_options options;
    char *std_dir; ///< copy of the caller's
    zf_jit *jit;
    pthread_mutex_t lock; ///< of `containers`, `kept` and `noted`
    struct zf_known_container *containers;
    struct zf_fault_sites *sites; ///< the fault switch; NULL: none
    bool unchecked;               ///< kernels have no checks: zf_compiler_set_unchecked
    bool unfused;                 ///< a kernel a stage: zf_compiler_set_unfused
    zf_choices choices;           ///< for all plans
    zf_tuned shipped;             ///< zf_compiler_options.tuned, in place of what is kept
    bool has_shipped;             ///< there is such a file, with kernels or none
    zf_kept_tuned *kept;          ///< of the devices that were met
    zf_noted *noted;              ///< the first of what is to be logged
};

/// The source of code for containers (provider.c).
zf_abi_provider zf_provider_of(zf_compiler *compiler);
/// Forgets all containers.
void zf_provider_free(zf_compiler *compiler);

#endif

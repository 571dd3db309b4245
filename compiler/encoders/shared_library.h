// Shared libraries of the system that are opened when they are first needed, so that nothing depends on them.
#ifndef ZF_COMPILER_SHARED_LIBRARY_H
#define ZF_COMPILER_SHARED_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef void (*zf_library_function)(void);

/// A library: {.file, .package, .symbols, .count}, the rest zero.
typedef struct zf_shared_library {
    const char *file;           ///< "liblz4.so.1", where the loader finds it
    const char *package;        ///< of Debian, which has it
    const char *const *symbols; ///< the functions that are needed
    size_t count;
    // what was found
    bool tried;
    void *handle;                     ///< NULL: it cannot be used
    zf_library_function functions[8]; ///< by their symbols' numbers
    char why[200];                    ///< not
} zf_shared_library;

/// Opens a library, once, under `lock`. False: it is absent, or lacks a function, and `why` says so, with the package. Any
/// thread.
bool zf_shared_library_open(zf_shared_library *library, pthread_mutex_t *lock);
/// Closes it. It stays in the process, since other threads may have called it.
void zf_shared_library_close(zf_shared_library *library);

#endif

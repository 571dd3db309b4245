#include "compiler/encoders/shared_library.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void open_library(zf_shared_library *library) {
    assert(library->count <= sizeof library->functions / sizeof library->functions[0]);
    // It stays in the process when it is closed: a library of C++ may have left code of its own to run at the end of threads.
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        const char *message = dlerror();
        snprintf(library->why, sizeof library->why, "%.110s (Debian's package %s has the library)",
                 message != NULL ? message : library->file, library->package);
        return;
    }
    for (size_t k = 0; k < library->count; k++) {
        void *symbol = dlsym(handle, library->symbols[k]);
        if (symbol == NULL) {
            snprintf(library->why, sizeof library->why, "%s has no function `%s` (Debian's package %s has it)", library->file,
                     library->symbols[k], library->package);
            dlclose(handle);
            return;
        }
        memcpy(&library->functions[k], &symbol, sizeof symbol); // C has no cast from objects to functions
    }
    library->handle = handle;
}

bool zf_shared_library_open(zf_shared_library *library, pthread_mutex_t *lock) {
    pthread_mutex_lock(lock);
    if (!library->tried) open_library(library);
    library->tried = true;
    pthread_mutex_unlock(lock);
    return library->handle != NULL;
}

void zf_shared_library_close(zf_shared_library *library) {
    if (library->handle != NULL) dlclose(library->handle);
    library->handle = NULL;
}

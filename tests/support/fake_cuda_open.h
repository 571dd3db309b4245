// The driver of fake_cuda.h in place of the real one, for the process that calls this.
#ifndef ZF_TESTS_FAKE_CUDA_OPEN_H
#define ZF_TESTS_FAKE_CUDA_OPEN_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fake_cuda.h"

/// The path of a library of the build's, whose programs are in bin/ and libraries in lib/. "": cannot be known.
static inline void fake_cuda_path(const char *library, char path[PATH_MAX]) {
    char program[PATH_MAX - 64];
    path[0] = 0;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return;
    program[length] = 0;
    *strrchr(program, '/') = 0;
    snprintf(path, PATH_MAX, "%s/../lib/%s", program, library);
}

/// From now on it is the driver. How it behaves is the caller's to say; NULL: it cannot be loaded.
static inline zf_fake_cuda *fake_cuda_open(void) {
    char path[PATH_MAX];
    fake_cuda_path("libfake_cuda.so", path);
    void *handle = dlopen(path, RTLD_NOW);
    zf_fake_cuda *fake = handle != NULL ? dlsym(handle, "zf_fake_cuda_state") : NULL;
    if (fake == NULL) printf("%s: %s\n", path, dlerror());
    setenv("ZIPFLOW_CUDA_LIBRARY", path, 1);
    return fake;
}

#endif

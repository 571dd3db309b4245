#include "tile_gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// The driver's functions that are used: name, parameters. Zero is success.
#define FUNCTIONS(X)                                                                                                             \
    X(cuInit, (unsigned flags))                                                                                                  \
    X(cuGetErrorName, (int result, const char **name))                                                                           \
    X(cuDeviceGet, (int *device, int index))                                                                                     \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                             \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                                    \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                                \
    X(cuCtxPushCurrent_v2, (void *context))                                                                                      \
    X(cuCtxPopCurrent_v2, (void **context))                                                                                      \
    X(cuModuleLoadData, (void **module, const void *image))                                                                      \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                                    \
    X(cuModuleUnload, (void *module))                                                                                            \
    X(cuEventCreate, (void **event, unsigned flags))                                                                             \
    X(cuEventRecord, (void *event, void *stream))                                                                                \
    X(cuEventSynchronize, (void *event))                                                                                         \
    X(cuEventElapsedTime, (float *milliseconds, void *from, void *to))                                                           \
    X(cuEventDestroy_v2, (void *event))                                                                                          \
    X(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,    \
                       unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra))

enum { MULTIPROCESSORS = 16 };

struct gpu {
#define X(name, parameters) int(*name) parameters;
    FUNCTIONS(X)
#undef X
    void *library, *context, *module;
    int device, multiprocessors;
    bool retained, current;
};

static bool good(gpu *g, int result, const char *what) {
    if (result == 0) return true;
    const char *name = NULL;
    g->cuGetErrorName(result, &name);
    fprintf(stderr, "tile_kernel: %s: %s (%d)\n", what, name != NULL ? name : "CUDA's driver failed", result);
    return false;
}
#define GOOD(g, function, ...) good(g, (g)->function(__VA_ARGS__), #function)

static bool load_driver(gpu *g) {
    const char *path = getenv("ZIPFLOW_CUDA_LIBRARY"); // as zipflow finds it
    if (path == NULL || *path == 0) path = "libcuda.so.1";
    g->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (g->library == NULL) return fprintf(stderr, "tile_kernel: %s\n", dlerror()), false;
#define X(name, parameters)                                                                                                      \
    *(void **)&g->name = dlsym(g->library, #name);                                                                               \
    if (g->name == NULL) return fprintf(stderr, "tile_kernel: the driver has no %s\n", #name), false;
    FUNCTIONS(X)
#undef X
    return true;
}

/// The bytes of a file with a zero byte behind them, to be freed.
static char *read_image(const char *path) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long size;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        (bytes = calloc(1, (size_t)size + 1)) != NULL) {
        rewind(file);
        if (fread(bytes, 1, (size_t)size, file) != (size_t)size) free(bytes), bytes = NULL;
    }
    if (bytes == NULL) fprintf(stderr, "tile_kernel: %s cannot be read\n", path);
    if (file != NULL) fclose(file);
    return bytes;
}

gpu *gpu_open(const char *image) {
    gpu *g = calloc(1, sizeof *g);
    char *bytes = read_image(image);
    bool done = g != NULL && bytes != NULL && load_driver(g) && GOOD(g, cuInit, 0) && GOOD(g, cuDeviceGet, &g->device, 0);
    if (done) done = g->retained = GOOD(g, cuDevicePrimaryCtxRetain, &g->context, g->device);
    if (done) done = g->current = GOOD(g, cuCtxPushCurrent_v2, g->context);
    done = done && GOOD(g, cuDeviceGetAttribute, &g->multiprocessors, MULTIPROCESSORS, g->device) &&
           GOOD(g, cuModuleLoadData, &g->module, bytes);
    free(bytes);
    if (done) return g;
    gpu_close(g);
    return NULL;
}

void gpu_close(gpu *g) {
    if (g == NULL) return;
    if (g->module != NULL) g->cuModuleUnload(g->module);
    if (g->current) g->cuCtxPopCurrent_v2(&g->context);
    if (g->retained) g->cuDevicePrimaryCtxRelease_v2(g->device);
    free(g);
}

bool gpu_run(gpu *g, const char *name, unsigned each, unsigned threads, void **arguments, unsigned repeat,
             bool (*before)(void *user), void *user, double *seconds) {
    void *function = NULL, *from = NULL, *to = NULL;
    bool done = GOOD(g, cuModuleGetFunction, &function, g->module, name) && GOOD(g, cuEventCreate, &from, 0) &&
                GOOD(g, cuEventCreate, &to, 0);
    for (unsigned k = 0; done && k < repeat; k++) {
        float milliseconds = 0;
        done = (before == NULL || before(user)) && GOOD(g, cuEventRecord, from, NULL) &&
               GOOD(g, cuLaunchKernel, function, each * (unsigned)g->multiprocessors, 1, 1, threads, 1, 1, 0, NULL, arguments,
                    NULL) &&
               GOOD(g, cuEventRecord, to, NULL) && GOOD(g, cuEventSynchronize, to) &&
               GOOD(g, cuEventElapsedTime, &milliseconds, from, to);
        seconds[k] = milliseconds / 1e3;
    }
    if (to != NULL) g->cuEventDestroy_v2(to);
    if (from != NULL) g->cuEventDestroy_v2(from);
    return done;
}

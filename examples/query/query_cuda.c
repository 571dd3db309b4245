#include "query_cuda.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t address; // CUdeviceptr; handles are pointers

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
    X(cuMemAlloc_v2, (address * at, size_t bytes))                                                                               \
    X(cuMemFree_v2, (address at))                                                                                                \
    X(cuMemsetD8Async, (address at, unsigned char byte, size_t bytes, void *stream))                                             \
    X(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t bytes, void *stream))                                                \
    X(cuStreamCreate, (void **stream, unsigned flags))                                                                           \
    X(cuStreamDestroy_v2, (void *stream))                                                                                        \
    X(cuStreamSynchronize, (void *stream))                                                                                       \
    X(cuModuleLoadData, (void **module, const void *image))                                                                      \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                                    \
    X(cuModuleUnload, (void *module))                                                                                            \
    X(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,    \
                       unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra))

enum { MULTIPROCESSORS = 16, NON_BLOCKING = 1, THREADS = 256, BLOCKS_EACH = 8, MOST_ALLOCATIONS = 16 };

struct query_gpu {
#define X(name, parameters) int(*name) parameters;
    FUNCTIONS(X)
#undef X
    void *library, *context, *stream, *module;
    int device, multiprocessors;
    bool retained, current;
    address allocations[MOST_ALLOCATIONS], sums;
    unsigned allocation_count;
};

/// Whether a call was good; prints where it was not.
static bool good(query_gpu *gpu, int result, const char *what) {
    if (result == 0) return true;
    const char *name = NULL;
    gpu->cuGetErrorName(result, &name);
    fprintf(stderr, "query: %s: %s (%d)\n", what, name != NULL ? name : "CUDA's driver failed", result);
    return false;
}
#define GOOD(gpu, function, ...) good(gpu, (gpu)->function(__VA_ARGS__), #function)

static bool load_driver(query_gpu *gpu) {
    const char *path = getenv("ZIPFLOW_CUDA_LIBRARY"); // as zipflow finds it
    if (path == NULL || *path == 0) path = "libcuda.so.1";
    gpu->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (gpu->library == NULL) {
        fprintf(stderr, "query: %s\n", dlerror());
        return false;
    }
#define X(name, parameters)                                                                                                      \
    *(void **)&gpu->name = dlsym(gpu->library, #name);                                                                           \
    if (gpu->name == NULL) return fprintf(stderr, "query: the driver has no %s\n", #name), false;
    FUNCTIONS(X)
#undef X
    return true;
}

/// The text of `query.ptx`, to be freed.
static char *read_kernels(void) {
    char program[PATH_MAX], path[PATH_MAX + 16];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    snprintf(path, sizeof path, "%s/query.ptx", dirname(program));
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long bytes;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) >= 0 &&
        (text = calloc(1, (size_t)bytes + 1)) != NULL) {
        rewind(file);
        if (fread(text, 1, (size_t)bytes, file) != (size_t)bytes) free(text), text = NULL;
    }
    if (text == NULL) fprintf(stderr, "query: %s cannot be read: it is made where nvcc is found\n", path);
    if (file != NULL) fclose(file);
    return text;
}

query_gpu *query_gpu_open(void) {
    query_gpu *gpu = calloc(1, sizeof *gpu);
    char *text = read_kernels();
    bool done =
        gpu != NULL && text != NULL && load_driver(gpu) && GOOD(gpu, cuInit, 0) && GOOD(gpu, cuDeviceGet, &gpu->device, 0);
    if (done) done = gpu->retained = GOOD(gpu, cuDevicePrimaryCtxRetain, &gpu->context, gpu->device);
    if (done) done = gpu->current = GOOD(gpu, cuCtxPushCurrent_v2, gpu->context);
    done = done && GOOD(gpu, cuDeviceGetAttribute, &gpu->multiprocessors, MULTIPROCESSORS, gpu->device) &&
           GOOD(gpu, cuModuleLoadData, &gpu->module, text) && GOOD(gpu, cuStreamCreate, &gpu->stream, NON_BLOCKING) &&
           query_gpu_allocate(gpu, sizeof(query_sums), &gpu->sums) &&
           GOOD(gpu, cuMemsetD8Async, gpu->sums, 0, sizeof(query_sums), gpu->stream);
    free(text);
    if (done) return gpu;
    query_gpu_close(gpu);
    return NULL;
}

void query_gpu_close(query_gpu *gpu) {
    if (gpu == NULL) return;
    if (gpu->stream != NULL) {
        gpu->cuStreamSynchronize(gpu->stream); // kernels use the memory
        gpu->cuStreamDestroy_v2(gpu->stream);
    }
    for (unsigned i = 0; i < gpu->allocation_count; i++) gpu->cuMemFree_v2(gpu->allocations[i]);
    if (gpu->module != NULL) gpu->cuModuleUnload(gpu->module);
    if (gpu->current) gpu->cuCtxPopCurrent_v2(&gpu->context);
    if (gpu->retained) gpu->cuDevicePrimaryCtxRelease_v2(gpu->device);
    free(gpu);
}

void *query_gpu_stream(query_gpu *gpu) { return gpu->stream; }

bool query_gpu_allocate(query_gpu *gpu, uint64_t bytes, uint64_t *at) {
    if (gpu->allocation_count == MOST_ALLOCATIONS) return fprintf(stderr, "query: too many allocations\n"), false;
    if (!GOOD(gpu, cuMemAlloc_v2, at, bytes > 0 ? bytes : 1)) return false;
    gpu->allocations[gpu->allocation_count++] = *at;
    return true;
}

bool query_gpu_run(query_gpu *gpu, const char *step, const query_columns *columns) {
    void *function = NULL, *arguments[] = {(void *)columns, &gpu->sums}; // copied by the launch
    uint64_t blocks = (columns->rows + THREADS - 1) / THREADS, most = (uint64_t)gpu->multiprocessors * BLOCKS_EACH;
    if (blocks > most) blocks = most;
    if (blocks == 0) return true;
    return GOOD(gpu, cuModuleGetFunction, &function, gpu->module, step) &&
           GOOD(gpu, cuLaunchKernel, function, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, gpu->stream, arguments, NULL);
}

bool query_gpu_sums(query_gpu *gpu, query_sums *out) {
    return GOOD(gpu, cuMemcpyDtoHAsync_v2, out, gpu->sums, sizeof *out, gpu->stream) &&
           GOOD(gpu, cuStreamSynchronize, gpu->stream);
}

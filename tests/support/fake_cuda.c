#include "tests/support/fake_cuda.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT zf_fake_cuda zf_fake_cuda_state;
#define fake zf_fake_cuda_state

static _Thread_local int depth;

struct zf_cu_module_object {
    char *text;
    zf_cu_module next;
};
struct zf_cu_function_object {
    char name[64];
    bool wants_shared; // its module declares shared memory that launches give
    int dynamic_most;  // bytes of it that it asked for; 0: it did not
    zf_cu_function next;
};
enum { SHARED_DECLARED = 48 << 10, SHARED_MOST = 227 << 10 }; // of a thread block: without asking, and all
struct zf_cu_event_object {
    struct timespec at;
};
static int context_object;
static zf_cu_module modules;     // of the context, and gone with it
static zf_cu_function functions; // kept until the process ends

static zf_cu_result fails(const char *symbol, bool within) {
    if (fake.called != NULL) fake.called(symbol);
    if (within && depth == 0) {
        fake.depth_errors++;
        return ZF_CU_INVALID_CONTEXT;
    }
    if (within && fake.stuck != 0) return fake.stuck;
    if (fake.failing == NULL || strcmp(fake.failing, symbol) != 0) return ZF_CU_SUCCESS;
    fake.failing = NULL;
    return fake.result;
}

#ifdef WITH_DEVICE // for programs that do not know of the state: one device from the start, as the environment says
__attribute__((constructor)) static void begin(void) {
    const char *multiprocessors = getenv("ZF_FAKE_MULTIPROCESSORS");
    if (multiprocessors != NULL) fake.multiprocessors = atoi(multiprocessors);
    fake.version = 13000;
    fake.devices = 1;
    fake.major = 9;
    const char *capability = getenv("ZF_FAKE_CAPABILITY"); // 80: 8.0
    if (capability != NULL) fake.major = atoi(capability) / 10, fake.minor = atoi(capability) % 10;
    fake.total = fake.free = (size_t)8 << 30;
}
#endif

#define FUNCTION(symbol, within, ...)                                                                                            \
    EXPORT zf_cu_result symbol(__VA_ARGS__);                                                                                     \
    zf_cu_result symbol(__VA_ARGS__)
#define BEGIN(symbol, within)                                                                                                    \
    do {                                                                                                                         \
        zf_cu_result early = fails(#symbol, within);                                                                             \
        if (early != ZF_CU_SUCCESS) return early;                                                                                \
    } while (0)

static void check_stream(const char *symbol, zf_cu_stream stream) {
    if (stream == NULL || stream != fake.destroyed) return;
    fprintf(stderr, "%s on a stream that was destroyed\n", symbol);
    abort();
}

#define ON_STREAM(symbol, stream)                                                                                                \
    do {                                                                                                                         \
        check_stream(#symbol, stream);                                                                                           \
        if (fake.on_stream != NULL) fake.on_stream(#symbol, stream);                                                             \
    } while (0)

FUNCTION(cuInit, false, unsigned flags) {
    (void)flags;
    fake.inits++;
    return fake.init_result;
}

FUNCTION(cuDriverGetVersion, false, int *version) {
    *version = fake.version;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuGetErrorName, false, zf_cu_result result, const char **name) {
    *name = result == ZF_CU_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == ZF_CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : result == ZF_CU_INVALID_PTX     ? "CUDA_ERROR_INVALID_PTX"
                                              : NULL;
    return *name != NULL ? ZF_CU_SUCCESS : 1;
}

FUNCTION(cuGetErrorString, false, zf_cu_result result, const char **text) {
    (void)result;
    *text = "what the driver says";
    return ZF_CU_SUCCESS;
}

FUNCTION(cuDeviceGetCount, false, int *count) {
    BEGIN(cuDeviceGetCount, false);
    *count = fake.devices;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuDeviceGet, false, zf_cu_device *device, int index) {
    BEGIN(cuDeviceGet, false);
    *device = index;
    return index < fake.devices ? ZF_CU_SUCCESS : 101;
}

FUNCTION(cuDeviceGetName, false, char *name, int room, zf_cu_device device) {
    BEGIN(cuDeviceGetName, false);
    snprintf(name, (size_t)room, "Fake GPU %d", device);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuDeviceGetAttribute, false, int *value, int attribute, zf_cu_device device) {
    BEGIN(cuDeviceGetAttribute, false);
    (void)device;
    *value = attribute == ZF_CU_DEVICE_CAPABILITY_MAJOR              ? fake.major
             : attribute == ZF_CU_DEVICE_CAPABILITY_MINOR            ? fake.minor
             : attribute == ZF_CU_DEVICE_COMPUTE_MODE                ? fake.mode
             : attribute == ZF_CU_DEVICE_WARP                        ? 32
             : attribute == ZF_CU_DEVICE_MULTIPROCESSOR_REGISTERS    ? 65536
             : attribute == ZF_CU_DEVICE_MULTIPROCESSOR_THREADS      ? 2048
             : attribute == ZF_CU_DEVICE_MULTIPROCESSOR_BLOCKS       ? 24
             : attribute == ZF_CU_DEVICE_MULTIPROCESSOR_SHARED_BYTES ? 228 << 10
             : attribute == ZF_CU_DEVICE_BLOCK_SHARED_BYTES          ? SHARED_MOST
             : attribute == ZF_CU_DEVICE_MEMORY_POOLS                ? !fake.no_pools
             : fake.multiprocessors != 0                             ? fake.multiprocessors
                                                                     : 132;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuDeviceTotalMem_v2, false, size_t *bytes, zf_cu_device device) {
    (void)device;
    *bytes = fake.total;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuDevicePrimaryCtxRetain, false, zf_cu_context *context, zf_cu_device device) {
    BEGIN(cuDevicePrimaryCtxRetain, false);
    (void)device;
    *context = (zf_cu_context)(void *)&context_object;
    fake.retained++;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuDevicePrimaryCtxRelease_v2, false, zf_cu_device device) {
    (void)device;
    if (--fake.retained > 0) return ZF_CU_SUCCESS;
    for (zf_cu_module module = modules, next; module != NULL; module = next) {
        next = module->next;
        free(module->text);
        free(module);
    }
    modules = NULL;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuCtxPushCurrent_v2, false, zf_cu_context context) {
    BEGIN(cuCtxPushCurrent_v2, false);
    if ((void *)context != &context_object) return ZF_CU_INVALID_CONTEXT;
    depth++;
    __atomic_fetch_add(&fake.pushed, 1, __ATOMIC_SEQ_CST);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuCtxPopCurrent_v2, false, zf_cu_context *context) {
    if (depth == 0) return ZF_CU_INVALID_CONTEXT;
    depth--;
    __atomic_fetch_add(&fake.pushed, -1, __ATOMIC_SEQ_CST);
    *context = (zf_cu_context)(void *)&context_object;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuMemGetInfo_v2, true, size_t *free_bytes, size_t *total) {
    BEGIN(cuMemGetInfo_v2, true);
    *free_bytes = fake.free;
    *total = fake.total;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuMemAlloc_v2, true, zf_cu_pointer *address, size_t bytes) {
    BEGIN(cuMemAlloc_v2, true);
    if (bytes == 0) return 1;
    size_t room = (bytes + 511) / 256 * 256;
    if (room > fake.free) return ZF_CU_OUT_OF_MEMORY;
    char *memory = aligned_alloc(256, room);
    if (memory == NULL) return ZF_CU_OUT_OF_MEMORY;
    memcpy(memory, &room, sizeof room);
    fake.free -= room;
    fake.allocations++;
    *address = (zf_cu_pointer)(uintptr_t)(memory + 256);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuMemFree_v2, true, zf_cu_pointer address) {
    BEGIN(cuMemFree_v2, true);
    size_t room;
    char *memory = (char *)(uintptr_t)address - 256;
    memcpy(&room, memory, sizeof room);
    free(memory);
    fake.free += room;
    fake.allocations--;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuMemAllocAsync, true, zf_cu_pointer *address, size_t bytes, zf_cu_stream stream) {
    BEGIN(cuMemAllocAsync, true);
    ON_STREAM(cuMemAllocAsync, stream);
    return cuMemAlloc_v2(address, bytes);
}

FUNCTION(cuMemFreeAsync, true, zf_cu_pointer address, zf_cu_stream stream) {
    BEGIN(cuMemFreeAsync, true);
    ON_STREAM(cuMemFreeAsync, stream);
    return cuMemFree_v2(address);
}

FUNCTION(cuMemHostAlloc, true, void **at, size_t bytes, unsigned flags) {
    BEGIN(cuMemHostAlloc, true);
    (void)flags;
    *at = malloc(bytes);
    return *at != NULL ? ZF_CU_SUCCESS : ZF_CU_OUT_OF_MEMORY;
}

FUNCTION(cuMemFreeHost, true, void *at) {
    BEGIN(cuMemFreeHost, true);
    free(at);
    return ZF_CU_SUCCESS;
}

static zf_cu_result copy(void *to, const void *from, size_t bytes) {
    memmove(to, from, bytes);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuMemcpyHtoDAsync_v2, true, zf_cu_pointer to, const void *from, size_t bytes, zf_cu_stream stream) {
    BEGIN(cuMemcpyHtoDAsync_v2, true);
    ON_STREAM(cuMemcpyHtoDAsync_v2, stream);
    return copy((void *)(uintptr_t)to, from, bytes);
}

FUNCTION(cuMemcpyDtoHAsync_v2, true, void *to, zf_cu_pointer from, size_t bytes, zf_cu_stream stream) {
    BEGIN(cuMemcpyDtoHAsync_v2, true);
    ON_STREAM(cuMemcpyDtoHAsync_v2, stream);
    return copy(to, (const void *)(uintptr_t)from, bytes);
}

FUNCTION(cuMemcpyDtoDAsync_v2, true, zf_cu_pointer to, zf_cu_pointer from, size_t bytes, zf_cu_stream stream) {
    BEGIN(cuMemcpyDtoDAsync_v2, true);
    ON_STREAM(cuMemcpyDtoDAsync_v2, stream);
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

FUNCTION(cuMemsetD8Async, true, zf_cu_pointer to, unsigned char byte, size_t bytes, zf_cu_stream stream) {
    BEGIN(cuMemsetD8Async, true);
    ON_STREAM(cuMemsetD8Async, stream);
    memset((void *)(uintptr_t)to, byte, bytes);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuStreamCreate, true, zf_cu_stream *stream, unsigned flags) {
    BEGIN(cuStreamCreate, true);
    (void)flags;
    *stream = malloc(1);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuStreamDestroy_v2, true, zf_cu_stream stream) {
    BEGIN(cuStreamDestroy_v2, true);
    free(stream);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuStreamSynchronize, true, zf_cu_stream stream) {
    BEGIN(cuStreamSynchronize, true);
    ON_STREAM(cuStreamSynchronize, stream);
    if (fake.fault != 0) fake.stuck = fake.fault;
    return fake.fault;
}

FUNCTION(cuCtxSynchronize, true, void) {
    BEGIN(cuCtxSynchronize, true);
    ON_STREAM(cuCtxSynchronize, NULL);
    if (fake.fault != 0) fake.stuck = fake.fault;
    return fake.fault;
}

FUNCTION(cuStreamWaitEvent, true, zf_cu_stream stream, zf_cu_event event, unsigned flags) {
    BEGIN(cuStreamWaitEvent, true);
    (void)flags;
    check_stream("cuStreamWaitEvent", stream);
    if (fake.on_event != NULL) fake.on_event("cuStreamWaitEvent", stream, event);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuEventCreate, true, zf_cu_event *event, unsigned flags) {
    BEGIN(cuEventCreate, true);
    (void)flags;
    *event = calloc(1, sizeof **event);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuEventDestroy_v2, true, zf_cu_event event) {
    BEGIN(cuEventDestroy_v2, true);
    free(event);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuEventRecord, true, zf_cu_event event, zf_cu_stream stream) {
    BEGIN(cuEventRecord, true);
    check_stream("cuEventRecord", stream);
    if (fake.on_event != NULL) fake.on_event("cuEventRecord", stream, event);
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return ZF_CU_SUCCESS;
}

FUNCTION(cuEventSynchronize, true, zf_cu_event event) {
    BEGIN(cuEventSynchronize, true);
    (void)event;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuEventElapsedTime, true, float *milliseconds, zf_cu_event from, zf_cu_event to) {
    BEGIN(cuEventElapsedTime, true);
    *milliseconds = (float)(to->at.tv_sec - from->at.tv_sec) * 1e3f + (float)(to->at.tv_nsec - from->at.tv_nsec) / 1e6f;
    return ZF_CU_SUCCESS;
}

static zf_cu_result compile(const char *text, unsigned count, const int *options, void **values) {
    char *log = NULL;
    size_t room = 0;
    bool lines = false;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == ZF_CU_JIT_ERROR_LOG) log = values[i];
        if (options[i] == ZF_CU_JIT_ERROR_LOG_BYTES) room = (size_t)(uintptr_t)values[i];
        if (options[i] == ZF_CU_JIT_LINE_INFO) lines = values[i] != NULL;
    }
    fake.compilations++;
    if (!lines) return 1;
    if (strstr(text, "nonsense") == NULL) return ZF_CU_SUCCESS;
    snprintf(log, room,
             "ptxas application ptx input, line 3; fatal   : Parsing error near 'nonsense'\n"
             "ptxas fatal   : Ptx assembly aborted due to errors\nmore\n");
    return ZF_CU_INVALID_PTX;
}

FUNCTION(cuModuleLoadDataEx, true, zf_cu_module *module, const void *image, unsigned count, int *options, void **values) {
    BEGIN(cuModuleLoadDataEx, true);
    const char *text = image;
    if (strncmp(text, "FAKE", 4) == 0) { // machine code, for this driver: "FAKE" and the text
        if (count != 0) return 1;
    } else if (text[0] == '.' || strncmp(text, "//", 2) == 0) {
        zf_cu_result result = compile(text, count, options, values);
        if (result != ZF_CU_SUCCESS) return result;
    } else {
        return ZF_CU_INVALID_IMAGE;
    }
    *module = malloc(sizeof **module);
    **module = (struct zf_cu_module_object){strdup(text), modules};
    modules = *module;
    fake.newest = modules->text;
    fake.loads++;
    return ZF_CU_SUCCESS;
}

/// For programs of others (examples/query), which ask nothing of the assembler.
FUNCTION(cuModuleLoadData, true, zf_cu_module *module, const void *image) {
    int option = ZF_CU_JIT_LINE_INFO;
    void *value = &option;
    return cuModuleLoadDataEx(module, image, 1, &option, &value);
}

FUNCTION(cuModuleUnload, true, zf_cu_module module) {
    BEGIN(cuModuleUnload, true);
    zf_cu_module *link = &modules;
    while (*link != module) link = &(*link)->next;
    *link = module->next;
    free(module->text);
    free(module);
    fake.unloads++;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuModuleGetFunction, true, zf_cu_function *function, zf_cu_module module, const char *name) {
    BEGIN(cuModuleGetFunction, true);
    char wanted[96];
    snprintf(wanted, sizeof wanted, ".entry %s(", name);
    if (strstr(module->text, wanted) == NULL) return ZF_CU_NOT_FOUND;
    *function = calloc(1, sizeof **function);
    (*function)->next = functions;
    functions = *function;
    snprintf((*function)->name, sizeof(*function)->name, "%s", name);
    (*function)->wants_shared = strstr(module->text, ".extern .shared") != NULL;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuFuncGetAttribute, true, int *value, int attribute, zf_cu_function function) {
    (void)function;
    *value = attribute == ZF_CU_FUNCTION_REGISTERS ? 32 : 0;
    return ZF_CU_SUCCESS;
}

FUNCTION(cuFuncSetAttribute, true, zf_cu_function function, int attribute, int value) {
    BEGIN(cuFuncSetAttribute, true);
    if (attribute != ZF_CU_FUNCTION_DYNAMIC_BYTES || value < 0 || value > SHARED_MOST) return 1;
    function->dynamic_most = value;
    return ZF_CU_SUCCESS;
}

/// Whether a kernel may have so many bytes of shared memory from a launch, and has what its code wants.
static bool gives(zf_cu_function function, size_t bytes) {
    size_t most = function->dynamic_most > SHARED_DECLARED ? (size_t)function->dynamic_most : SHARED_DECLARED;
    return bytes <= most && function->wants_shared == (bytes > 0);
}

FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, true, int *blocks, zf_cu_function function, int threads,
         size_t shared_bytes) {
    BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor, true);
    int blocks_of_shared = shared_bytes > 0 ? (int)(SHARED_MOST / shared_bytes) : INT_MAX;
    *blocks = !gives(function, shared_bytes) ? 0 : 2048 / threads < blocks_of_shared ? 2048 / threads : blocks_of_shared;
    return ZF_CU_SUCCESS;
}

#ifndef WITHOUT_LAUNCH
FUNCTION(cuLaunchKernel, true, zf_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
         unsigned block_y, unsigned block_z, unsigned shared_bytes, zf_cu_stream stream, void **arguments, void **extra) {
    BEGIN(cuLaunchKernel, true);
    ON_STREAM(cuLaunchKernel, stream);
    bool moves = strcmp(function->name, "zf_move_bits") == 0;
    if ((grid_y != 1 && !moves) || grid_z != 1 || block_y != 1 || block_z != 1 || extra != NULL) return 1;
    if (!gives(function, shared_bytes)) return 1;
    fake.shared_bytes = shared_bytes;
    fake.launches++;
    fake.groups_y = grid_y;
    if (fake.kernel != NULL) fake.kernel(function->name, grid_x, block_x, arguments);
    return ZF_CU_SUCCESS;
}
#endif

// CUDA's driver library: loaded at run time, so that zipflow runs without one and builds without CUDA's headers. The types and
// numbers below are those of the driver's binary interface (CUDA 11.8 and later). Only the files device_cuda.c and cuda_*.c
// include this.
#ifndef ZF_RUNTIME_CUDA_DRIVER_H
#define ZF_RUNTIME_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

typedef int zf_cu_result; ///< 0: success
typedef int zf_cu_device;
typedef uint64_t zf_cu_pointer; ///< an address of the device's memory
typedef struct zf_cu_context_object *zf_cu_context;
typedef struct zf_cu_stream_object *zf_cu_stream;
typedef struct zf_cu_event_object *zf_cu_event;
typedef struct zf_cu_module_object *zf_cu_module;
typedef struct zf_cu_function_object *zf_cu_function;

/// The results that are told apart.
enum {
    ZF_CU_SUCCESS = 0,
    ZF_CU_OUT_OF_MEMORY = 2,
    ZF_CU_DEINITIALIZED = 4,
    ZF_CU_STUB_LIBRARY = 34,
    ZF_CU_DEVICE_UNAVAILABLE = 46,
    ZF_CU_NO_DEVICE = 100,
    ZF_CU_INVALID_IMAGE = 200,
    ZF_CU_INVALID_CONTEXT = 201,
    ZF_CU_NO_BINARY_FOR_GPU = 209,
    ZF_CU_ECC_UNCORRECTABLE = 214,
    ZF_CU_INVALID_PTX = 218,
    ZF_CU_JIT_COMPILER_NOT_FOUND = 221,
    ZF_CU_UNSUPPORTED_PTX_VERSION = 222,
    ZF_CU_INVALID_SOURCE = 300,
    ZF_CU_NOT_FOUND = 500,
    ZF_CU_ILLEGAL_ADDRESS = 700,
    ZF_CU_LAUNCH_OUT_OF_RESOURCES = 701,
    ZF_CU_LAUNCH_TIMEOUT = 702,
    ZF_CU_CONTEXT_IS_DESTROYED = 709,
    ZF_CU_ASSERT = 710,
    ZF_CU_HARDWARE_STACK_ERROR = 714,
    ZF_CU_ILLEGAL_INSTRUCTION = 715,
    ZF_CU_MISALIGNED_ADDRESS = 716,
    ZF_CU_INVALID_ADDRESS_SPACE = 717,
    ZF_CU_INVALID_PC = 718,
    ZF_CU_LAUNCH_FAILED = 719,
    ZF_CU_SYSTEM_NOT_READY = 802,
    ZF_CU_SYSTEM_DRIVER_MISMATCH = 803,
    ZF_CU_UNKNOWN = 999,
};

enum { // attributes of a device
    ZF_CU_DEVICE_WARP = 10,
    ZF_CU_DEVICE_MULTIPROCESSORS = 16,
    ZF_CU_DEVICE_MULTIPROCESSOR_THREADS = 39,
    ZF_CU_DEVICE_MULTIPROCESSOR_SHARED_BYTES = 81,
    ZF_CU_DEVICE_MULTIPROCESSOR_REGISTERS = 82,
    ZF_CU_DEVICE_MULTIPROCESSOR_BLOCKS = 106,
    ZF_CU_DEVICE_BLOCK_SHARED_BYTES = 97, // where a kernel asks for more than its code may declare
    ZF_CU_DEVICE_COMPUTE_MODE = 20,
    ZF_CU_DEVICE_CAPABILITY_MAJOR = 75,
    ZF_CU_DEVICE_CAPABILITY_MINOR = 76,
    ZF_CU_DEVICE_MEMORY_POOLS = 115,
};
enum { ZF_CU_COMPUTE_MODE_PROHIBITED = 2 };
enum { // attributes of a kernel
    ZF_CU_FUNCTION_SHARED_BYTES = 1,
    ZF_CU_FUNCTION_LOCAL_BYTES = 3,
    ZF_CU_FUNCTION_REGISTERS = 4,
    ZF_CU_FUNCTION_DYNAMIC_BYTES = 8, // of shared memory, that a launch may give
};

enum { // options of the driver's assembler
    ZF_CU_JIT_ERROR_LOG = 5,
    ZF_CU_JIT_ERROR_LOG_BYTES = 6,
    ZF_CU_JIT_LINE_INFO = 13,
};
enum { ZF_CU_STREAM_NON_BLOCKING = 1, ZF_CU_EVENT_DEFAULT = 0, ZF_CU_EVENT_DISABLE_TIMING = 2 };

/// The oldest driver whose assembler takes the PTX that we make (7.8), as cuDriverGetVersion counts, and as people do.
enum { ZF_CU_VERSION_LEAST = 11080 };
#define ZF_CU_VERSION_LEAST_TEXT "CUDA 11.8 (driver 520)"

// Every function that is used, once: result, name here, name in the library, parameters.
#define ZF_CU_FUNCTIONS(X)                                                                                                       \
    X(init, "cuInit", (unsigned flags))                                                                                          \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                                      \
    X(error_name, "cuGetErrorName", (zf_cu_result result, const char **name))                                                    \
    X(error_text, "cuGetErrorString", (zf_cu_result result, const char **text))                                                  \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                            \
    X(device_get, "cuDeviceGet", (zf_cu_device * device, int index))                                                             \
    X(device_name, "cuDeviceGetName", (char *name, int room, zf_cu_device device))                                               \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, zf_cu_device device))                                \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, zf_cu_device device))                                                \
    X(context_retain, "cuDevicePrimaryCtxRetain", (zf_cu_context * context, zf_cu_device device))                                \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (zf_cu_device device))                                                    \
    X(context_push, "cuCtxPushCurrent_v2", (zf_cu_context context))                                                              \
    X(context_pop, "cuCtxPopCurrent_v2", (zf_cu_context * context))                                                              \
    X(context_wait, "cuCtxSynchronize", (void))                                                                                  \
    X(memory_info, "cuMemGetInfo_v2", (size_t *free, size_t *total))                                                             \
    X(memory_allocate, "cuMemAlloc_v2", (zf_cu_pointer * address, size_t bytes))                                                 \
    X(memory_free, "cuMemFree_v2", (zf_cu_pointer address))                                                                      \
    X(memory_allocate_ordered, "cuMemAllocAsync", (zf_cu_pointer * address, size_t bytes, zf_cu_stream stream))                  \
    X(memory_free_ordered, "cuMemFreeAsync", (zf_cu_pointer address, zf_cu_stream stream))                                       \
    X(host_allocate, "cuMemHostAlloc", (void **at, size_t bytes, unsigned flags))                                                \
    X(host_free, "cuMemFreeHost", (void *at))                                                                                    \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (zf_cu_pointer to, const void *from, size_t bytes, zf_cu_stream stream))                  \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, zf_cu_pointer from, size_t bytes, zf_cu_stream stream))                       \
    X(copy_within, "cuMemcpyDtoDAsync_v2", (zf_cu_pointer to, zf_cu_pointer from, size_t bytes, zf_cu_stream stream))            \
    X(fill, "cuMemsetD8Async", (zf_cu_pointer to, unsigned char byte, size_t bytes, zf_cu_stream stream))                        \
    X(stream_create, "cuStreamCreate", (zf_cu_stream * stream, unsigned flags))                                                  \
    X(stream_destroy, "cuStreamDestroy_v2", (zf_cu_stream stream))                                                               \
    X(stream_wait, "cuStreamSynchronize", (zf_cu_stream stream))                                                                 \
    X(stream_follow, "cuStreamWaitEvent", (zf_cu_stream stream, zf_cu_event event, unsigned flags))                              \
    X(event_create, "cuEventCreate", (zf_cu_event * event, unsigned flags))                                                      \
    X(event_destroy, "cuEventDestroy_v2", (zf_cu_event event))                                                                   \
    X(event_record, "cuEventRecord", (zf_cu_event event, zf_cu_stream stream))                                                   \
    X(event_wait, "cuEventSynchronize", (zf_cu_event event))                                                                     \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, zf_cu_event from, zf_cu_event to))                              \
    X(module_load, "cuModuleLoadDataEx",                                                                                         \
      (zf_cu_module * module, const void *image, unsigned count, int *options, void **values))                                   \
    X(module_unload, "cuModuleUnload", (zf_cu_module module))                                                                    \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, zf_cu_function function))                            \
    X(function_set, "cuFuncSetAttribute", (zf_cu_function function, int attribute, int value))                                   \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                                                  \
      (int *blocks, zf_cu_function function, int threads, size_t shared_bytes))                                                  \
    X(module_function, "cuModuleGetFunction", (zf_cu_function * function, zf_cu_module module, const char *name))                \
    X(launch, "cuLaunchKernel",                                                                                                  \
      (zf_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,           \
       unsigned block_z, unsigned shared_bytes, zf_cu_stream stream, void **arguments, void **extra))

/// The driver, loaded and started.
typedef struct zf_cuda_driver {
    void *library;
    int version;      ///< 12040 is CUDA 12.4; 0 when it was never asked
    unsigned devices; ///< how many it has
#define X(name, symbol, parameters) zf_cu_result(*name) parameters;
    ZF_CU_FUNCTIONS(X)
#undef X
} zf_cuda_driver;

/// Loads the driver ($ZIPFLOW_CUDA_LIBRARY in place of libcuda.so.1, for tests and unusual places; ignored in programs that run
/// with another's rights), finds its functions and starts it. False, with the reason written, when that cannot be or when there
/// is no device. Free it either way. Costs what the driver's start costs: tenths of a second on the first call in a process.
bool zf_cuda_driver_load(zf_cuda_driver *driver, zf_text *reason);
void zf_cuda_driver_unload(zf_cuda_driver *driver);

/// "CUDA_ERROR_OUT_OF_MEMORY (2)"; writes to `text`, at most `room` bytes, and returns it.
const char *zf_cuda_result_text(const zf_cuda_driver *driver, zf_cu_result result, char *text, size_t room);

#endif

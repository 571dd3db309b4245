// A driver for tests that want to see every answer of a driver, on machines without one: the functions of
// runtime/device/cuda/cuda_driver.h on the host's memory. Its library exports `zf_fake_cuda_state`, which says how it behaves.
#ifndef ZF_TESTS_FAKE_CUDA_H
#define ZF_TESTS_FAKE_CUDA_H

#include "runtime/device/cuda/cuda_driver.h"

typedef struct zf_fake_cuda {
    // How it behaves.
    int version, devices, major, minor, mode;
    int multiprocessors; ///< 0: 132
    zf_cu_result init_result;
    size_t total, free;  ///< memory of the device; `free` goes down and up
    bool no_pools;       ///< it allocates nothing in the order of a stream
    const char *failing; ///< the symbol whose next call fails with `result`; NULL: none
    zf_cu_result result;
    zf_cu_result stuck; ///< every call within a context gives this one, as after a fault of a kernel; 0: none
    zf_cu_result fault; ///< the next wait gives this one, and from then on it is `stuck`
    /// Runs a launch: the ten arguments of runtime/base/abi.h, or those of zf_move_bits, of which `groups_y` says how many runs.
    void (*kernel)(const char *name, unsigned groups, unsigned threads, void **arguments);
    void (*called)(const char *symbol); ///< told of every call, but for those that only ask; NULL: nobody
    /// Told of every copy, fill, launch, wait and allocation on a stream, with its stream; NULL: nobody.
    void (*on_stream)(const char *symbol, zf_cu_stream stream);
    /// Told of every event that is recorded on a stream, and of every wait of a stream for one; NULL: nobody.
    void (*on_event)(const char *symbol, zf_cu_stream stream, zf_cu_event event);
    /// A stream that was destroyed; NULL: none. Its use ends the process, as with NVIDIA's driver.
    zf_cu_stream destroyed;
    // Observations.
    unsigned depth_errors; ///< calls that want a context and had none
    unsigned inits, compilations, loads, unloads, allocations, retained;
    _Atomic unsigned launches;
    unsigned groups_y, shared_bytes; ///< of the last launch
    const char *newest;              ///< text of the module that was loaded last
    int pushed;                      ///< changed by atomic operations: contexts of this thread's stack, all threads together
} zf_fake_cuda;

#endif

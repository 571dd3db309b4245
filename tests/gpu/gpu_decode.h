// A decode on the accelerator through the interface for callers' memory and streams, with canaries around all of that memory.
#ifndef ZF_TESTS_GPU_DECODE_H
#define ZF_TESTS_GPU_DECODE_H

#include "tests/gpu/gpu_machine.h"

enum { GPU_CANARY = 0x5c }; ///< the bytes of canaries

/// Memory of the device between canaries.
typedef struct gpu_memory {
    uint64_t map, at, bytes; ///< `at` is aligned to 256
} gpu_memory;

typedef struct gpu_decode {
    gpu_machine *machine;
    uint64_t canary; ///< bytes on either side of each buffer, a multiple of 256; 0: none
    bool poisons;    ///< the workspace too; as opened: where there are canaries
    void *stream;
    zf_prepared *prepared;
    double prepare_seconds; ///< of zf_decode_prepare, also where it failed
    zf_device_sizes sizes;
    gpu_memory values, offsets, validity, workspace;
    uint8_t *staging_map; ///< pinned
    zf_device_buffers buffers;
    uint8_t *copy;                         ///< of `values`, after gpu_decode_fetch
    uint8_t *copy_offsets, *copy_validity; ///< of the others
} gpu_decode;

/// Prepares, allocates, sets canaries. Close it also after an error.
zf_status gpu_decode_open(gpu_machine *machine, zf_container *container, size_t column, const zf_decode_options *options,
                          uint64_t canary, void *stream, gpu_decode *out, zf_error *error);
void gpu_decode_close(gpu_decode *decode);

/// Queues: poison for output and workspace (`poisons`), then the decode.
zf_status gpu_decode_queue(gpu_decode *decode, zf_error *error);
/// Waits for the stream; what the kernels found.
zf_status gpu_decode_wait(gpu_decode *decode, zf_decode_stats *stats, zf_error *error);
/// Copies values, offsets and validity.
zf_status gpu_decode_fetch(gpu_decode *decode, zf_error *error);
/// The first buffer of which a canary was touched; NULL: none.
const char *gpu_decode_touched(gpu_decode *decode);

#endif

// Decoding on the CPU with callbacks around each block, for the pipeline, which reads blocks ahead of the decode.
#ifndef ZF_RUNTIME_DECODE_HOST_H
#define ZF_RUNTIME_DECODE_HOST_H

#include "runtime/device/device.h"

/// Callbacks with a block's number in its column. The decoding threads call them concurrently.
typedef struct zf_decode_watch {
    void *user;
    /// Called before a block's bytes are read; may block. An error counts as one of that block.
    zf_status (*before)(void *user, uint64_t block, zf_error *error);
    /// Called after a block: decoded, failed, or skipped because an earlier one failed.
    void (*after)(void *user, uint64_t block);
} zf_decode_watch;

/// Decodes as zf_decode does, on a device that is no accelerator.
zf_status zf_decode_watched(zf_container *container, size_t column, const zf_device *device, const zf_decode_options *options,
                            const zf_decode_watch *watch, const zf_decode_buffers *buffers, zf_decode_stats *stats,
                            zf_error *error);

/// Returns ZF_ERR_USAGE, with the buffer's name, unless buffers for rows of `element` are present, aligned and large enough.
zf_status zf_decode_check_buffers(const zf_decode_sizes *sizes, zf_element element, const zf_decode_buffers *buffers,
                                  zf_error *error);

#endif

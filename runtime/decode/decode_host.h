// Decoding on the CPU under somebody's eyes: whoever brings the bytes of blocks from a file wants to be ahead of it.
#ifndef ZF_RUNTIME_DECODE_HOST_H
#define ZF_RUNTIME_DECODE_HOST_H

#include "runtime/device/device.h"

/// Called by the threads that decode, several at once, with a block's number in its column.
typedef struct zf_decode_watch {
    void *user;
    /// Before a block's bytes are touched; may wait. An error is one of that block.
    zf_status (*before)(void *user, uint64_t block, zf_error *error);
    /// When it is over, whatever came of it; also for blocks that were left out because one before them failed.
    void (*after)(void *user, uint64_t block);
} zf_decode_watch;

/// zf_decode on a device that is no accelerator.
zf_status zf_decode_watched(zf_container *container, size_t column, const zf_device *device, const zf_decode_options *options,
                            const zf_decode_watch *watch, const zf_decode_buffers *buffers, zf_decode_stats *stats,
                            zf_error *error);

/// Checks that buffers of a decode are there, aligned and large enough: else ZF_ERR_USAGE, which names the buffer.
zf_status zf_decode_check_buffers(const zf_decode_sizes *sizes, const zf_decode_buffers *buffers, zf_error *error);

#endif

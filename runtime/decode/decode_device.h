// zf_decode on an accelerator.
#ifndef ZF_RUNTIME_DECODE_DEVICE_H
#define ZF_RUNTIME_DECODE_DEVICE_H

#include "runtime/device/accelerator.h"

/// Decodes into `buffers->values`; its workspace is not used. `stats` may be NULL.
zf_status zf_decode_on(zf_accelerator *accelerator, zf_container *container, size_t column, const zf_decode_options *options,
                       const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error);

#endif

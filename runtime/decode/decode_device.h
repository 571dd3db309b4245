// zf_decode on an accelerator.
#ifndef ZF_RUNTIME_DECODE_DEVICE_H
#define ZF_RUNTIME_DECODE_DEVICE_H

#include "runtime/decode/decode_unit.h"

/// Decodes into `buffers->values`; its workspace is not used. `stats` may be NULL.
zf_status zf_decode_on(zf_accelerator *accelerator, zf_container *container, size_t column, const zf_decode_options *options,
                       const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error);

/// Checks that the caller's buffers of a device are there, aligned and as large as `sizes`: else ZF_ERR_USAGE, which names the
/// buffer. A size of 0 demands nothing.
zf_status zf_device_buffers_check(const zf_units_sizes *sizes, const zf_device_buffers *buffers, zf_error *error);

#endif

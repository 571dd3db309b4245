// zf_decode on an accelerator.
#ifndef ZF_RUNTIME_DECODE_DEVICE_H
#define ZF_RUNTIME_DECODE_DEVICE_H

#include "runtime/decode/decode_unit.h"

/// Decodes into host memory. The workspace of `buffers` is not used; `stats` may be NULL.
zf_status zf_decode_on(zf_accelerator *accelerator, zf_container *container, size_t column, const zf_decode_options *options,
                       const zf_decode_buffers *buffers, zf_decode_stats *stats, zf_error *error);

/// Returns ZF_ERR_USAGE, with the buffer's name, unless device buffers are present, aligned and as large as `sizes`.
///
/// A size of 0 needs no buffer.
zf_status zf_device_buffers_check(const zf_units_sizes *sizes, const zf_device_buffers *buffers, zf_error *error);

#endif

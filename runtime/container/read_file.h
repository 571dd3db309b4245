// Reading runs of a container's file into memory.
#ifndef ZF_RUNTIME_READ_FILE_H
#define ZF_RUNTIME_READ_FILE_H

#include "runtime/base/private.h"
#include "runtime/container/byte_source.h"

/// Reads `bytes` at `offset` of a source that is a file to `to`. Bytes in the page cache are copied from there. Other bytes are
/// read past the cache (O_DIRECT) if the file system can do that, which leaves the cache as it is and saves a copy. Therefore
/// `to` must be as far from a multiple of 4096 as `offset` is. Memory beside it is not written. Any thread.
ZF_PRIVATE_API zf_status zf_read_file(zf_byte_source *file, uint64_t offset, uint64_t bytes, uint8_t *to, zf_error *error);

#endif

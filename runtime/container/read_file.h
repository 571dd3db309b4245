// Reading runs of a container's file into memory.
#ifndef ZF_RUNTIME_READ_FILE_H
#define ZF_RUNTIME_READ_FILE_H

#include "runtime/base/private.h"
#include "runtime/container/byte_source.h"

/// Reads `bytes` at `offset` of a source that is a file to `to`. Bytes in the page cache are copied from there. Other bytes are
/// read past the cache (O_DIRECT) if the file system can do that, which leaves the cache as it is and saves a copy. Therefore
/// `to` must be as far from a multiple of 4096 as `offset` is. Memory beside it is not written. `where`: as for `read` of
/// byte_source.h. Any thread.
ZF_PRIVATE_API zf_status zf_read_file(zf_byte_source *file, uint64_t offset, uint64_t bytes, uint8_t *to, const char *where,
                                      zf_error *error);

/// Whether the page cache has these bytes, which begin within the file; true where the system does not tell. Any thread.
bool zf_file_is_cached(zf_byte_source *file, uint64_t at, uint64_t bytes);
/// Unmaps `probe`. The source is being closed.
void zf_file_forget_probe(zf_byte_source *file);

#endif

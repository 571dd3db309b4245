// The limit of the code cache: how large `kernels` (cache.h) may become, and who says so.
#ifndef ZF_RUNTIME_CACHE_LIMIT_H
#define ZF_RUNTIME_CACHE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/private.h"

/// The default limit, as a value of $ZIPFLOW_CACHE_SIZE, and in bytes. `zipflow.h` and docs/memory.md name it for users.
#define ZF_CACHE_SIZE "1G"
#define ZF_CACHE_BYTES (UINT64_C(1) << 30)

/// Reads a limit: a number of bytes, at least 1, which K, M or G may follow (powers of 1024). False: `text` is something else.
ZF_PRIVATE_API bool zf_cache_size_read(const char *text, uint64_t *out);

/// Counts entry `name` of `size` bytes, which was just written. Removes the least recently used entries where the directory has
/// more than `most` bytes; never this one, nor the last one that is left. Several processes may do so at once.
void zf_cache_account(int directory, const char *name, uint64_t size, uint64_t most);

#endif

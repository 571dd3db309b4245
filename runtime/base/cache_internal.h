// The cache on disk, for cache.c and cache_limit.c.
#ifndef ZF_RUNTIME_CACHE_INTERNAL_H
#define ZF_RUNTIME_CACHE_INTERNAL_H

#include <stdint.h>

#include "runtime/base/cache.h"

enum { ZF_CACHE_NAME_LENGTH = 37 }; ///< of an entry: 32 digits, ".zfo", 0

/// Counts entry `name` of `size` bytes, which was just written. Removes the least recently used entries where the directory has
/// more than `most` bytes; never this one. Several processes may do so at once.
void zf_cache_account(int directory, const char *name, uint64_t size, uint64_t most);

#endif

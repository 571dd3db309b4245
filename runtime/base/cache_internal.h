// The cache on disk, for cache.c and cache_limit.c.
#ifndef ZF_RUNTIME_CACHE_INTERNAL_H
#define ZF_RUNTIME_CACHE_INTERNAL_H

#include "runtime/base/cache.h"

enum { ZF_CACHE_NAME_LENGTH = 37 }; ///< of an entry: 32 digits, ".zfo", 0

#endif

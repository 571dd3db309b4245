// The checksum of blocks: XXH3, 64 bits.
#ifndef ZF_BASE_CHECKSUM_H
#define ZF_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/private.h"

/// XXH3_64bits of those bytes, with vectors of 32 bytes where the processor has them: the library's own is compiled for any
/// processor of its kind, and takes as long as copying the bytes does.
ZF_PRIVATE_API uint64_t zf_checksum(const void *bytes, size_t length);

#endif

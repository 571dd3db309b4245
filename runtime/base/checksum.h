// The checksum of blocks: XXH3, 64 bits.
#ifndef ZF_RUNTIME_CHECKSUM_H
#define ZF_RUNTIME_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/private.h"

/// Computes XXH3_64bits, with vectors of 32 bytes where the processor has them. The package's own function is compiled for every
/// processor and is as slow as a copy.
ZF_PRIVATE_API uint64_t zf_checksum(const void *bytes, size_t length);

#endif

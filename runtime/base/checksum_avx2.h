// The checksum for processors with AVX2: the one file that is compiled for them.
#ifndef ZF_RUNTIME_CHECKSUM_AVX2_H
#define ZF_RUNTIME_CHECKSUM_AVX2_H

#include <stddef.h>
#include <stdint.h>

/// Computes XXH3_64bits; only on processors with AVX2.
uint64_t zf_checksum_avx2(const void *bytes, size_t length);

#endif

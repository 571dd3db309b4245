// checksum_avx2.c, the one file that is compiled for processors with AVX2.
#ifndef ZF_BASE_CHECKSUM_AVX2_H
#define ZF_BASE_CHECKSUM_AVX2_H

#include <stddef.h>
#include <stdint.h>

/// XXH3_64bits, on processors with AVX2 only.
uint64_t zf_checksum_avx2(const void *bytes, size_t length);

#endif

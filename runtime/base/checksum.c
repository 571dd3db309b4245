#include "runtime/base/checksum.h"

#include <xxhash.h>

#include "runtime/base/checksum_avx2.h"

uint64_t zf_checksum(const void *bytes, size_t length) {
#ifdef ZF_CHECKSUM_AVX2
    if (__builtin_cpu_supports("avx2")) return zf_checksum_avx2(bytes, length);
#endif
    return XXH3_64bits(bytes, length);
}

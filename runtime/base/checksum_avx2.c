#include "runtime/base/checksum_avx2.h"

#ifdef __AVX2__        // elsewhere it is not called
#define XXH_INLINE_ALL // so that it is compiled here, as this file is
#include <xxhash.h>

uint64_t zf_checksum_avx2(const void *bytes, size_t length) { return XXH3_64bits(bytes, length); }
#else
typedef int zf_no_avx2; // a file has to have something
#endif

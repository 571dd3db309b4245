// Poison and comparison: output buffers are filled before a decode, and every byte of them is compared afterwards.
#ifndef ZF_MEASURE_MEASURE_COMPARE_H
#define ZF_MEASURE_MEASURE_COMPARE_H

#include <stdint.h>
#include <string.h>

/// Bytes that fill buffers before they are written. The two sides of a comparison use different ones, so that a byte that both
/// leave unwritten differs.
enum { ZF_POISON_RESULT = 0x5a, ZF_POISON_COPY = 0xa5, ZF_POISON_REFERENCE = 0x96 };

/// Returns the index of the first byte that differs, or `bytes` if there is none.
static inline uint64_t zf_measure_difference(const void *made, const void *expected, uint64_t bytes) {
    const uint8_t *is = made, *should = expected;
    uint64_t at = 0;
    if (bytes == 0 || memcmp(is, should, bytes) == 0) return bytes;
    while (is[at] == should[at]) at++;
    return at;
}

#endif

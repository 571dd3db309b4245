// Bits of a frame or a dictionary of Zstandard, the lowest of a byte first.
#ifndef ZF_COMPILER_ZSTD_BITS_H
#define ZF_COMPILER_ZSTD_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct zf_zstd_bits {
    const uint8_t *bytes;
    uint64_t size; ///< bytes
} zf_zstd_bits;

/// Bits from `at` on, at most 64, the first of them in bit 0. Zeros stand behind the end.
static inline uint64_t zf_zstd_bits_at(zf_zstd_bits bits, uint64_t at, unsigned count) {
    uint64_t word = 0, byte = at / 8;
    if (byte >= bits.size) return 0;
    uint64_t bytes = bits.size - byte < 8 ? bits.size - byte : 8;
    memcpy(&word, bits.bytes + byte, bytes);
    word >>= at % 8;
    if (at % 8 > 0 && bits.size - byte > 8) word |= (uint64_t)bits.bytes[byte + 8] << (64 - at % 8);
    return count < 64 ? word & ((UINT64_C(1) << count) - 1) : word;
}

/// How many bits a number takes.
static inline unsigned zf_zstd_width(uint64_t value) {
    unsigned width = 0;
    for (; value > 0; value >>= 1) width++;
    return width;
}

/// Bits that are read from their end, and not read yet: those before bit `left`. `bad`: more were asked for.
typedef struct zf_zstd_back {
    zf_zstd_bits from;
    uint64_t left;
    bool bad;
} zf_zstd_back;

/// Begins in front of the highest bit that is set in the last byte, which there is and which is not 0.
static inline zf_zstd_back zf_zstd_back_of(zf_zstd_bits bits) {
    return (zf_zstd_back){.from = bits, .left = 8 * bits.size - 9 + zf_zstd_width(bits.bytes[bits.size - 1])};
}

/// The next bits, at most 31; 0 where there are fewer.
static inline uint32_t zf_zstd_take_back(zf_zstd_back *b, unsigned count) {
    if (count > b->left) {
        b->bad = true;
        return 0;
    }
    b->left -= count;
    return (uint32_t)zf_zstd_bits_at(b->from, b->left, count);
}

#endif

// Bitmaps: bits, least significant first.
#ifndef ZF_RUNTIME_BITS_H
#define ZF_RUNTIME_BITS_H

#include <stdint.h>

/// Copies `count` bits, least significant first, from bit `from_bit` of `from` to bit `to_bit` of `to`. Other bits stay.
void zf_copy_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count);
/// Clears the bits behind the first `count` in their last byte.
void zf_clear_behind(uint8_t *bits, uint64_t count);
/// Copies bits as zf_copy_bits does, and clears the bits behind them in their last byte.
void zf_place_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count);

#endif

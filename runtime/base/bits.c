#include "runtime/base/bits.h"

void zf_copy_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count) {
    if (count == 0) return; // there may be no memory then
    to += to_bit / 8;
    from += from_bit / 8;
    to_bit %= 8;
    from_bit %= 8;
    while (count > 0) {
        // One byte of `to` at a time; its bits come from at most two of `from`.
        uint64_t room = 8 - to_bit, now = count < room ? count : room;
        unsigned value = (unsigned)*from >> from_bit;
        if (from_bit + now > 8) value |= (unsigned)from[1] << (8 - from_bit);
        unsigned mask = ((1u << now) - 1) << to_bit;
        *to = (uint8_t)((*to & ~mask) | ((value << to_bit) & mask));
        to++;
        to_bit = 0;
        from_bit += now;
        from += from_bit / 8;
        from_bit %= 8;
        count -= now;
    }
}

void zf_clear_behind(uint8_t *bits, uint64_t count) {
    if (count % 8 != 0) bits[count / 8] &= (uint8_t)((1u << (count % 8)) - 1);
}

void zf_place_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit, uint64_t count) {
    zf_copy_bits(to, to_bit, from, from_bit, count);
    zf_clear_behind(to, to_bit + count);
}

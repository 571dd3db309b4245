// A column of short strings of which every seventh is null.
#ifndef ZF_TESTS_SHORT_STRINGS_H
#define ZF_TESTS_SHORT_STRINGS_H

#include <stdint.h>
#include <string.h>

enum { SHORT_STRING_MOST = 3 }; ///< bytes

/// Fills `characters` (room for SHORT_STRING_MOST a row), `offsets` (rows + 1, the first is 0) and `validity` (bits that are 0).
static inline void short_strings_fill(uint64_t rows, char *characters, int64_t *offsets, uint8_t *validity) {
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t length = r % 7 == 6 ? 0 : r % (SHORT_STRING_MOST + 1);
        memset(characters + offsets[r], 'a' + (int)(r % 26), length);
        offsets[r + 1] = offsets[r] + (int64_t)length;
        if (r % 7 != 6) validity[r / 8] |= (uint8_t)(1u << r % 8);
    }
}

#endif

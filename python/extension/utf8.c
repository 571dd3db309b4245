#include "python/extension/utf8.h"

#include <stdbool.h>
#include <string.h>

/// The bytes of a character that begins at `at`; 0: it is none. By table 3-7 of the Unicode standard.
static int64_t character(const uint8_t *at, int64_t left) {
    uint8_t first = at[0], low = 0x80, high = 0xbf;
    int64_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (size > left) return 0;
    if (first == 0xe0) low = 0xa0;  // shorter forms exist
    if (first == 0xed) high = 0x9f; // surrogates
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f; // beyond U+10FFFF
    if (size > 1 && (at[1] < low || at[1] > high)) return 0;
    for (int64_t k = 2; k < size; k++) {
        if (at[k] < 0x80 || at[k] > 0xbf) return 0;
    }
    return size;
}

static bool ascii(const uint8_t *at, int64_t bytes) {
    int64_t k = 0;
    for (; k + 8 <= bytes; k += 8) {
        uint64_t word;
        memcpy(&word, at + k, 8);
        if ((word & 0x8080808080808080u) != 0) return false;
    }
    for (; k < bytes; k++) {
        if (at[k] >= 0x80) return false;
    }
    return true;
}

int64_t zf_py_utf8_fault(const uint8_t *characters, const int64_t *offsets, int64_t rows) {
    enum { STEP = 1024 }; // rows: most texts are ASCII, and then no row is looked at alone
    for (int64_t from = 0; from < rows; from += STEP) {
        int64_t to = rows - from < STEP ? rows : from + STEP;
        if (ascii(characters + offsets[from], offsets[to] - offsets[from])) continue;
        for (int64_t row = from; row < to; row++) {
            for (int64_t at = offsets[row]; at < offsets[row + 1];) {
                int64_t size = character(characters + at, offsets[row + 1] - at);
                if (size == 0) return row;
                at += size;
            }
        }
    }
    return -1;
}

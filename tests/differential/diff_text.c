#include "tests/differential/diff_text.h"

#include <stdlib.h>
#include <string.h>

#include "tests/interp/interp_internal.h"

const uint8_t *diff_text_of(const interp_stream *plain, uint64_t row, uint64_t *length) {
    interp_value value = interp_stream_get(plain, row);
    *length = value.null ? 0 : value.seq.length;
    return *length == 0 ? NULL : value.seq.base->bytes + value.seq.start;
}

uint64_t diff_characters(const interp_stream *plain) {
    uint64_t sum = 0, length;
    if (interp_stream_type(plain).kind != ZF_K_STRING) return 0;
    for (uint64_t r = 0; r < interp_stream_count(plain); r++) {
        diff_text_of(plain, r, &length);
        sum += length;
    }
    return sum;
}

uint64_t *diff_texts(const interp_stream *plain, uint8_t *bytes) {
    uint64_t rows = interp_stream_count(plain), *offsets = calloc(rows + 1, sizeof *offsets), length;
    for (uint64_t r = 0; r < rows; r++) {
        const uint8_t *text = diff_text_of(plain, r, &length);
        if (length > 0) memcpy(bytes + offsets[r], text, length);
        offsets[r + 1] = offsets[r] + length;
    }
    return offsets;
}

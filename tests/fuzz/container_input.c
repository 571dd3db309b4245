#include "tests/fuzz/container_input.h"

#include <stdlib.h>
#include <xxhash.h>

#include "runtime/container/container_format.h"

/// Reads the index; `at` is behind `end` after a fault.
typedef struct walk {
    const uint8_t *bytes;
    size_t at, end;
} walk;

static uint64_t number(walk *w, size_t size) {
    uint64_t value = 0;
    if (w->at > w->end || size > w->end - w->at) {
        w->at = w->end + 1;
        return 0;
    }
    memcpy(&value, w->bytes + w->at, size);
    w->at += size;
    return value;
}

static void skip(walk *w, uint64_t size) {
    if (w->at > w->end || size > w->end - w->at)
        w->at = w->end + 1;
    else
        w->at += size;
}

static void skip_text(walk *w) { skip(w, number(w, 4)); }

static void skip_shape(walk *w) {
    uint32_t counts[5];
    for (int i = 0; i < 5; i++) counts[i] = (uint32_t)number(w, 4);
    skip(w, counts[0]);
    for (uint32_t p = 0; p < counts[1] && w->at <= w->end; p++) {
        skip_text(w);
        skip(w, 1);
    }
    for (uint32_t e = 0; e < counts[2] && w->at <= w->end; e++) {
        skip_text(w);
        skip_text(w);
        skip(w, 14);
    }
    for (uint32_t t = 0; t < counts[4] && w->at <= w->end; t++) {
        skip(w, 4);
        bool directory = (number(w, 4) & ZF_FORMAT_DIRECTORY) != 0;
        uint32_t fields = (uint32_t)number(w, 4);
        for (uint32_t f = 0; f < fields && w->at <= w->end; f++) {
            skip_text(w);
            skip(w, directory ? 5 : 1);
        }
    }
}

bool container_find(const uint8_t *bytes, size_t size, container_places *out) {
    *out = (container_places){0};
    if (size < ZF_FORMAT_HEADER_BYTES + ZF_FORMAT_FOOTER_BYTES) return false;
    uint64_t index = zf_load64(bytes + size - ZF_FORMAT_FOOTER_BYTES);
    if (index < ZF_FORMAT_HEADER_BYTES || index > size - ZF_FORMAT_FOOTER_BYTES) return false;
    walk w = {bytes, index, size - ZF_FORMAT_FOOTER_BYTES};
    out->index = index;
    out->end = w.end;
    skip(&w, 8);
    uint32_t columns = (uint32_t)number(&w, 4);
    skip(&w, 4);
    uint64_t optional = 0;
    if (zf_load32(bytes + 8) >= 2) {
        uint64_t required = number(&w, 8);
        optional = number(&w, 8);
        for (int n = __builtin_popcountll(required) + __builtin_popcountll(optional); n > 0 && w.at <= w.end; n--) skip_text(&w);
    }
    out->name_length = (uint32_t)number(&w, 4);
    out->name = w.at;
    skip(&w, out->name_length);
    out->text = w.at;
    out->text_length = (uint32_t)number(&w, 4);
    skip(&w, out->text_length);
    if (w.at > w.end) return false;
    for (uint32_t c = 0; c < columns && w.at <= w.end; c++) {
        skip_text(&w);
        skip_text(&w);
        skip_text(&w);
        skip(&w, 16);
        uint64_t blocks = number(&w, 8);
        uint32_t shapes = (uint32_t)number(&w, 4);
        skip(&w, 4);
        for (uint32_t s = 0; s < shapes && w.at <= w.end; s++) skip_shape(&w);
        for (uint64_t b = 0; b < blocks && w.at <= w.end; b++) {
            size_t row = w.at;
            skip(&w, ZF_INDEX_BLOCK_BYTES);
            if (w.at <= w.end && out->row_count < PLACES_ROWS) out->rows[out->row_count++] = row;
        }
    }
    for (int n = __builtin_popcountll(optional); n > 0 && w.at <= w.end; n--) skip(&w, number(&w, 8));
    out->content = w.at <= w.end ? w.at : w.end;
    return true;
}

static void mend_index(uint8_t *bytes, size_t size, size_t index) {
    uint8_t *footer = bytes + size - ZF_FORMAT_FOOTER_BYTES;
    zf_store64(footer + 16, XXH3_64bits(bytes + index, size - ZF_FORMAT_FOOTER_BYTES - index));
}

static void mend_footer(uint8_t *bytes, size_t size) {
    uint8_t *footer = bytes + size - ZF_FORMAT_FOOTER_BYTES;
    zf_store64(footer + 48, XXH3_64bits(footer, 48));
}

void container_mend(uint8_t *bytes, size_t size, const container_places *places) {
    for (uint32_t r = 0; r < places->row_count; r++) {
        uint8_t *row = bytes + places->rows[r];
        uint64_t offset = zf_load64(row), length = zf_load64(row + 8);
        if (length < 8 || offset > places->index || length > places->index - offset) continue;
        uint64_t sum = XXH3_64bits(bytes + offset + 8, length - 8);
        zf_store64(bytes + offset, sum);
        zf_store64(row + 32, sum);
    }
    mend_index(bytes, size, places->index);
    mend_footer(bytes, size);
}

uint8_t *container_with_text(const uint8_t *bytes, size_t size, const container_places *places, const char *text, size_t length,
                             size_t *out_size) {
    // Behind its content the index has zeros up to a multiple of 8 bytes. Other bytes there are kept.
    size_t before = places->text + 4, behind = before + places->text_length, padding = places->end - places->content;
    for (size_t i = places->content; i < places->end; i++) padding = bytes[i] != 0 ? SIZE_MAX : padding;
    size_t tail = (padding < 8 ? places->content : places->end) - behind, old_index = places->end - places->index;
    size_t zeros = padding < 8 ? (8 - (before + length + tail) % 8) % 8 : 0;
    const uint8_t *old_footer = bytes + size - ZF_FORMAT_FOOTER_BYTES;
    bool index_right = zf_load64(old_footer + 16) == XXH3_64bits(bytes + places->index, old_index);
    bool footer_right = zf_load64(old_footer + 48) == XXH3_64bits(old_footer, 48);
    size_t new_size = before + length + tail + zeros + ZF_FORMAT_FOOTER_BYTES;
    uint8_t *out = calloc(1, new_size);
    if (out == NULL) exit(2);
    memcpy(out, bytes, before);
    if (length > 0) memcpy(out + before, text, length);
    memcpy(out + before + length, bytes + behind, tail);
    zf_store32(out + places->text, (uint32_t)length);
    uint8_t *footer = out + new_size - ZF_FORMAT_FOOTER_BYTES;
    memcpy(footer, old_footer, ZF_FORMAT_FOOTER_BYTES);
    if (zf_load64(footer + 8) == old_index) zf_store64(footer + 8, new_size - ZF_FORMAT_FOOTER_BYTES - places->index);
    if (zf_load64(footer + 24) == size) zf_store64(footer + 24, new_size);
    if (index_right) mend_index(out, new_size, places->index);
    if (footer_right) mend_footer(out, new_size);
    *out_size = new_size;
    return out;
}

uint8_t *container_with_block(const uint8_t *bytes, size_t size, const container_places *places, uint32_t row,
                              const uint8_t *block, size_t block_size, size_t *out_size) {
    uint64_t offset = zf_load64(bytes + places->rows[row]), length = zf_load64(bytes + places->rows[row] + 8);
    if (offset > places->index || length > places->index - offset) return NULL;
    size_t new_size = size - length + block_size;
    uint8_t *out = malloc(new_size);
    if (out == NULL) exit(2);
    memcpy(out, bytes, offset);
    memcpy(out + offset, block, block_size);
    memcpy(out + offset + block_size, bytes + offset + length, size - offset - length);
    size_t shift = block_size - length; // modulo 2^64
    for (uint32_t r = 0; r < places->row_count; r++) {
        uint8_t *at = out + (places->rows[r] + shift);
        if (r == row) zf_store64(at + 8, block_size);
        if (r != row && zf_load64(at) > offset) zf_store64(at, zf_load64(at) + shift);
    }
    uint8_t *footer = out + new_size - ZF_FORMAT_FOOTER_BYTES;
    zf_store64(footer, places->index + shift);
    zf_store64(footer + 24, new_size);
    *out_size = new_size;
    return out;
}

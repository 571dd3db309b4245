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
    uint64_t bits[2] = {0}; // required, optional
    if (zf_load32(bytes + 8) >= 2) {
        out->features = w.at;
        for (int k = 0; k < 2; k++) bits[k] = number(&w, 8);
        for (unsigned b = 0; b < 128 && w.at <= w.end; b++) {
            if ((bits[b / 64] >> b % 64 & 1) == 0) continue;
            if (out->feature_count < PLACES_FEATURES)
                out->names[out->feature_count++] = (container_feature){.required = b < 64, .bit = b % 64, .name = w.at};
            skip_text(&w);
        }
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
        skip(&w, 8);
        if (out->column_count < PLACES_COLUMNS) out->rows_per_block[out->column_count++] = w.at;
        skip(&w, 8);
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
    uint32_t known = 0;
    for (unsigned b = 0; b < 64 && w.at <= w.end; b++) {
        if ((bits[1] >> b & 1) == 0) continue;
        size_t section = w.at;
        skip(&w, number(&w, 8));
        while (known < out->feature_count && (out->names[known].required || out->names[known].bit != b)) known++;
        if (known < out->feature_count && w.at <= w.end) out->names[known].section = section;
    }
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

uint8_t *container_with_bytes(const uint8_t *bytes, size_t size, const container_places *places, size_t at, size_t old_length,
                              const void *content, size_t length, size_t *out_size) {
    // Behind its content the index has zeros up to a multiple of 8 bytes. Other bytes there are kept.
    size_t behind = at + old_length, padding = places->end - places->content;
    for (size_t i = places->content; i < places->end; i++) padding = bytes[i] != 0 ? SIZE_MAX : padding;
    size_t tail = (padding < 8 ? places->content : places->end) - behind, old_index = places->end - places->index;
    size_t zeros = padding < 8 ? (8 - (at + length + tail) % 8) % 8 : 0;
    const uint8_t *old_footer = bytes + size - ZF_FORMAT_FOOTER_BYTES;
    bool index_right = zf_load64(old_footer + 16) == XXH3_64bits(bytes + places->index, old_index);
    bool footer_right = zf_load64(old_footer + 48) == XXH3_64bits(old_footer, 48);
    size_t new_size = at + length + tail + zeros + ZF_FORMAT_FOOTER_BYTES;
    uint8_t *out = calloc(1, new_size);
    if (out == NULL) exit(2);
    memcpy(out, bytes, at);
    if (length > 0) memcpy(out + at, content, length);
    memcpy(out + at + length, bytes + behind, tail);
    uint8_t *footer = out + new_size - ZF_FORMAT_FOOTER_BYTES;
    memcpy(footer, old_footer, ZF_FORMAT_FOOTER_BYTES);
    if (zf_load64(footer + 8) == old_index) zf_store64(footer + 8, new_size - ZF_FORMAT_FOOTER_BYTES - places->index);
    if (zf_load64(footer + 24) == size) zf_store64(footer + 24, new_size);
    if (index_right) mend_index(out, new_size, places->index);
    if (footer_right) mend_footer(out, new_size);
    *out_size = new_size;
    return out;
}

uint8_t *container_with_text(const uint8_t *bytes, size_t size, const container_places *places, const char *text, size_t length,
                             size_t *out_size) {
    uint8_t *content = malloc(4 + length);
    if (content == NULL) exit(2);
    zf_store32(content, (uint32_t)length);
    if (length > 0) memcpy(content + 4, text, length);
    uint8_t *out =
        container_with_bytes(bytes, size, places, places->text, 4 + (size_t)places->text_length, content, 4 + length, out_size);
    free(content);
    return out;
}

size_t container_block_end(const uint8_t *bytes, const container_places *places, uint32_t row) {
    static const uint64_t sizes[] = {8, 8, ZF_BLOCK_STREAM_BYTES, ZF_BLOCK_TREE_BYTES, ZF_BLOCK_FIELD_BYTES};
    uint64_t block = zf_load64(bytes + places->rows[row]), end = ZF_BLOCK_FIXED_BYTES;
    if (block > places->index || places->index - block < ZF_FORMAT_ALIGNMENT) return 0;
    for (int k = 0; k < 5; k++) end += sizes[k] * zf_load32(bytes + block + 40 + 4 * k);
    return end <= places->index - block - ZF_BLOCK_END_BYTES ? block + end : 0;
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

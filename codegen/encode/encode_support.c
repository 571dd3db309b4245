// C functions that compiled encode bodies call. Those that can fail return 0 and set the frame's outcome; else 1.
#include "codegen/encode/encode_support.h"

#include <stdlib.h>
#include <string.h>

// ---- Buffers --------------------------------------------------------------------------------------------------

/// A larger copy of `used` bytes with room for `bytes`; NULL on failure.
static uint8_t *enlarge(zf_encode_frame *frame, const uint8_t *old, uint64_t used, uint64_t bytes) {
    uint8_t *memory = zf_encode_alloc(frame, bytes + ZF_ENCODE_SLACK);
    if (memory != NULL && used > 0) memcpy(memory, old, used);
    return memory;
}

/// Gives a buffer room for `capacity` elements.
static uint64_t set_capacity(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t capacity) {
    uint64_t offset = buffer->is_text ? 1 : 0, slack = ZF_ENCODE_SLACK / buffer->element + offset;
    uint64_t used = buffer->data == NULL                                 ? 0
                    : buffer->lent > 0                                   ? buffer->length
                    : buffer->length + slack < buffer->capacity + offset ? buffer->length + slack
                                                                         : buffer->capacity + offset;
    uint8_t *data = enlarge(frame, buffer->data, used * buffer->element, (capacity + offset) * buffer->element);
    if (data == NULL) return 0;
    if (buffer->nullable) {
        uint8_t *validity = enlarge(frame, buffer->validity, buffer->length, capacity);
        if (validity == NULL) return 0;
        buffer->validity = validity;
    }
    if (buffer->is_text && buffer->data == NULL) memset(data, 0, 8); // where the first text begins
    buffer->data = data;
    buffer->capacity = capacity;
    buffer->lent = 0;
    return 1;
}

/// The elements of a buffer with `more` ones; 0 where they are too many (outcome set).
static uint64_t length_with(zf_encode_frame *frame, const zf_encode_buffer *buffer, uint64_t more) {
    uint64_t need = buffer->length + more, most = buffer->is_text ? UINT64_MAX : buffer->most;
    if (need >= more && need <= UINT64_MAX / 32 && need <= most) return need;
    frame->outcome = need < more || need > UINT64_MAX / 32 ? ZF_ENCODE_LIMIT : ZF_ENCODE_MORE;
    return 0;
}

uint64_t zf_cg_grow(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t more) {
    if (more <= buffer->capacity - buffer->length && buffer->length <= buffer->capacity) return 1;
    uint64_t need = length_with(frame, buffer, more), most = buffer->is_text ? UINT64_MAX : buffer->most;
    if (need == 0) return more == 0;
    // The first time as many as there are rows, which most maps push: new memory that is not touched costs nothing, and memory
    // that was used before is there in any case.
    uint64_t capacity = buffer->capacity == 0 ? (frame->rows < 256 ? 256 : frame->rows) : buffer->capacity * 2;
    if (buffer->capacity == 0 && (buffer->is_text || capacity * buffer->element > frame->bytes_left / 4)) capacity = 256;
    if (capacity > most) capacity = most; // so that what is pushed beyond comes here
    return set_capacity(frame, buffer, capacity < need ? need : capacity);
}

uint64_t zf_cg_reserve(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t more) {
    if (more <= buffer->capacity - buffer->length && buffer->length <= buffer->capacity) return 1;
    uint64_t need = length_with(frame, buffer, more);
    if (need == 0) return more == 0;
    uint64_t least = buffer->capacity == 0 ? 256 : 2 * buffer->capacity; // a loop within a loop makes room often
    if (need < least && least <= buffer->most) need = least;
    return set_capacity(frame, buffer, need);
}

static bool grow_words(zf_encode_frame *frame, uint64_t **words, uint64_t used, uint64_t *capacity) {
    if (used < *capacity) return true;
    uint64_t larger = *capacity == 0 ? 64 : *capacity * 2;
    if (*capacity == 64 && frame->rows > 64 && frame->rows <= frame->bytes_left / 32) larger = frame->rows + 1; // one a row
    uint8_t *memory = enlarge(frame, (const uint8_t *)*words, used * 8, larger * 8);
    if (memory == NULL) return false;
    *words = (uint64_t *)(void *)memory;
    *capacity = larger;
    return true;
}

void zf_encode_finish(zf_encode_buffer *buffer) {
    if (buffer->pending == 0) return;
    // A push of bits makes room for those that then pend, too.
    memcpy(buffer->data + buffer->length * buffer->element, &buffer->bits, 8);
    buffer->length += (buffer->pending + buffer->width - 1) / buffer->width;
    buffer->pending = buffer->bits = 0;
}

// ---- Work -----------------------------------------------------------------------------------------------------

enum { BYTES_SHIFT = 6 }; // 64 bytes that are copied, compared or hashed count as an iteration

bool zf_encode_work(zf_encode_frame *frame, uint64_t count) {
    if (frame->work < count) {
        frame->outcome = ZF_ENCODE_LIMIT;
        frame->violation = 10;
        return false;
    }
    frame->work -= count;
    return true;
}

static bool work_of_bytes(zf_encode_frame *frame, uint64_t bytes) { return zf_encode_work(frame, bytes >> BYTES_SHIFT); }

/// Steps of a sort: count * log2(count), rounded up.
static bool work_of_sort(zf_encode_frame *frame, uint64_t count) {
    unsigned levels = count < 2 ? 1 : 64 - (unsigned)__builtin_clzll(count);
    return zf_encode_work(frame, count > UINT64_MAX / 64 ? UINT64_MAX : count * levels);
}

// ---- Pushing --------------------------------------------------------------------------------------------------

static void store_word(zf_encode_buffer *buffer, uint64_t at, uint64_t word) {
    if (buffer->element == 8) {
        memcpy(buffer->data + at * 8, &word, 8); // not a call
        return;
    }
    memcpy(buffer->data + at * buffer->element, &word, buffer->element); // little-endian
}

uint64_t zf_cg_push_null(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t word, uint64_t valid) {
    zf_encode_finish(buffer);
    if (!zf_cg_grow(frame, buffer, 1)) return 0;
    store_word(buffer, buffer->length, valid ? word : 0);
    if (buffer->nullable) buffer->validity[buffer->length] = valid != 0;
    buffer->length++;
    return 1;
}

/// Bytes of text that a buffer has room for at first: as many as the input has, which most bodies push, or `least`.
static uint64_t at_first(const zf_encode_frame *frame, uint64_t least) {
    uint64_t all = frame->offsets != NULL ? frame->offsets[frame->rows] - frame->offsets[0] : 0;
    return all > least && all <= frame->bytes_left / 4 ? all : least;
}

static bool grow_text(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t more) {
    uint64_t need = buffer->text_length + more;
    if (need < more || need > UINT64_MAX / 4) {
        frame->outcome = ZF_ENCODE_LIMIT;
        return false;
    }
    if (need > buffer->most) {
        frame->outcome = ZF_ENCODE_MORE;
        return false;
    }
    if (need <= buffer->text_capacity) return true;
    uint64_t capacity = buffer->text_capacity * 2 > need ? buffer->text_capacity * 2 : need + 4096;
    if (buffer->text == NULL) capacity = at_first(frame, capacity);
    uint8_t *text = enlarge(frame, buffer->text, buffer->text_length, capacity);
    if (text == NULL) return false;
    buffer->text = text;
    buffer->text_capacity = capacity;
    return true;
}

uint64_t zf_cg_push_text(zf_encode_frame *frame, zf_encode_buffer *buffer, const uint8_t *text, uint64_t length, uint64_t valid) {
    if (!valid) length = 0;
    if (!work_of_bytes(frame, length)) return 0;
    if (!zf_cg_grow(frame, buffer, 1) || !grow_text(frame, buffer, length)) return 0;
    if (length > 0) memcpy(buffer->text + buffer->text_length, text, length);
    buffer->text_length += length;
    if (buffer->nullable) buffer->validity[buffer->length] = valid != 0;
    buffer->length++;
    store_word(buffer, buffer->length, buffer->text_length);
    return 1;
}

uint64_t zf_cg_push_bools(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t bits, uint64_t count) {
    if (!zf_cg_grow(frame, buffer, count)) return 0;
    for (uint64_t k = 0; k < count; k++) buffer->data[buffer->length++] = bits >> k & 1;
    return 1;
}

uint64_t zf_cg_push_varint(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t value) {
    zf_encode_finish(buffer);
    if (!zf_cg_grow(frame, buffer, 10)) return 0;
    for (; value >= 128; value >>= 7) store_word(buffer, buffer->length++, (value & 127) | 128);
    store_word(buffer, buffer->length++, value);
    return 1;
}

static uint64_t end_part(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t start) {
    if (buffer->no_parts) return 1;
    // A stretch that was pushed since the last piece is a piece of its own.
    uint64_t last = buffer->part_count > 0 ? buffer->parts[buffer->part_count - 1] : 0;
    if (start > last) {
        if (!grow_words(frame, &buffer->parts, buffer->part_count, &buffer->part_capacity)) return 0;
        buffer->parts[buffer->part_count++] = start;
    }
    if (!grow_words(frame, &buffer->parts, buffer->part_count, &buffer->part_capacity)) return 0;
    buffer->parts[buffer->part_count++] = buffer->length;
    return 1;
}

/// Copies a few bytes, which a call of memcpy would take longer for.
static inline void copy_short(uint8_t *to, const uint8_t *from, uint64_t count) {
    uint64_t low, high;
    uint32_t left, right;
    if (count >= 8) {
        memcpy(&low, from, 8);
        memcpy(&high, from + count - 8, 8);
        memcpy(to, &low, 8);
        memcpy(to + count - 8, &high, 8);
    } else if (count >= 4) {
        memcpy(&left, from, 4);
        memcpy(&right, from + count - 4, 4);
        memcpy(to, &left, 4);
        memcpy(to + count - 4, &right, 4);
    } else {
        for (uint64_t k = 0; k < count; k++) to[k] = from[k];
    }
}

/// Appends a short piece of bytes behind others, for which there is room.
static inline bool append_short(zf_encode_buffer *buffer, const uint8_t *data, uint64_t count) {
    bool fits = buffer->lent == 0 && buffer->capacity - buffer->length >= count;
    if (count > 16 || buffer->element != 1 || buffer->nullable || !fits) return false;
    if (!buffer->no_parts) {
        uint64_t last = buffer->part_count == 0 ? 0 : buffer->parts[buffer->part_count - 1];
        if (buffer->part_count == buffer->part_capacity || last != buffer->length) return false;
        buffer->parts[buffer->part_count++] = buffer->length + count;
    }
    if (count > 0) copy_short(buffer->data + buffer->length, data, count); // a buffer that holds nothing has no memory
    buffer->length += count;
    return true;
}

/// Appends elements of the frame's input without a copy: the first that a buffer gets, or those behind what it has.
static bool lend(const zf_encode_frame *frame, zf_encode_buffer *buffer, const uint8_t *data, uint64_t count) {
    if (buffer->lent == 0) {
        bool may = buffer->may_lend != 0 && buffer->no_parts && !buffer->nullable && !buffer->is_text;
        if (!may || count == 0 || buffer->data != NULL || data < frame->values || data >= frame->values_end) return false;
        uint64_t there = (uint64_t)(frame->values_end - data) / buffer->element;
        if (count > there || count > buffer->most) return false;
        buffer->data = (uint8_t *)(uintptr_t)data; // nothing writes to it while it is lent
        buffer->lent = there < buffer->most ? there : buffer->most;
    } else if (data != buffer->data + buffer->length * buffer->element || count > buffer->lent - buffer->length) {
        return false;
    }
    buffer->length += count;
    return true;
}

uint64_t zf_cg_append(zf_encode_frame *frame, zf_encode_buffer *buffer, const uint8_t *data, const uint8_t *validity,
                      uint64_t count) {
    zf_encode_finish(buffer);
    if (lend(frame, buffer, data, count) || append_short(buffer, data, count)) return 1;
    uint64_t start = buffer->length, room = count;
    if (count == 0 && buffer->lent > 0) return 1;
    if (buffer->data == NULL && buffer->element == 1 && count > 0) room = at_first(frame, count);
    if (!zf_cg_grow(frame, buffer, room > buffer->most ? count : room)) return 0;
    if (!work_of_bytes(frame, count * buffer->element)) return 0;
    if (count > 0) memmove(buffer->data + start * buffer->element, data, count * buffer->element);
    if (buffer->nullable && count > 0) {
        if (validity != NULL)
            memmove(buffer->validity + start, validity, count);
        else
            memset(buffer->validity + start, 1, count);
    }
    buffer->length += count;
    return end_part(frame, buffer, start);
}

uint64_t zf_cg_append_texts(zf_encode_frame *frame, zf_encode_buffer *buffer, const uint8_t *text, const uint64_t *offsets,
                            const uint8_t *validity, uint64_t count) {
    uint64_t start = buffer->length;
    if (!zf_encode_work(frame, count)) return 0;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t valid = validity == NULL || validity[k] != 0;
        if (!zf_cg_push_text(frame, buffer, zf_encode_text_at(text, offsets[k]), offsets[k + 1] - offsets[k], valid)) return 0;
    }
    return end_part(frame, buffer, start);
}

uint64_t zf_cg_start_chunk(zf_encode_frame *frame, zf_encode_buffer *buffer) {
    zf_encode_finish(buffer);
    if (!grow_words(frame, &buffer->starts, buffer->start_count, &buffer->start_capacity)) return 0;
    buffer->starts[buffer->start_count++] = buffer->length;
    buffer->chunk_start = buffer->length;
    zf_encode_index_reset(buffer); // interning begins anew
    return 1;
}

// ---- Whole arrays ---------------------------------------------------------------------------------------------

uint64_t zf_cg_reverse(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t from) {
    zf_encode_finish(buffer);
    zf_encode_index_reset(buffer);
    if (buffer->length < 2 || buffer->is_text) return 1;
    if (!zf_encode_work(frame, buffer->length - from)) return 0;
    for (uint64_t a = from, b = buffer->length - 1; a < b; a++, b--) {
        uint64_t low = zf_encode_word(buffer, a), high = zf_encode_word(buffer, b);
        store_word(buffer, a, high);
        store_word(buffer, b, low);
        if (!buffer->nullable) continue;
        uint8_t valid = buffer->validity[a];
        buffer->validity[a] = buffer->validity[b];
        buffer->validity[b] = valid;
    }
    return 1;
}

/// Key under which elements of a kind sort as unsigned words.
static uint64_t sort_key(uint64_t word, unsigned bits, uint64_t kind) {
    uint64_t sign = 1ull << (bits - 1), all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (kind & ZF_SORT_SIGNED) return word ^ sign;
    if (kind & ZF_SORT_FLOAT) return word & sign ? ~word & all : word | sign;
    return word;
}

static uint64_t sort_word(uint64_t key, unsigned bits, uint64_t kind) {
    uint64_t sign = 1ull << (bits - 1), all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (kind & ZF_SORT_SIGNED) return key ^ sign;
    if (kind & ZF_SORT_FLOAT) return key & sign ? key ^ sign : ~key & all;
    return key;
}

/// Sorts keys of `bits` bits by their digits, the lowest first. Returns where they are then: `keys` or `other`.
static uint64_t *sort_keys(uint64_t *keys, uint64_t *other, uint64_t count, unsigned bits) {
    uint64_t differ = 0;
    for (uint64_t k = 1; k < count; k++) differ |= keys[k] ^ keys[0];
    for (unsigned at = 0; at < bits; at += 8) {
        if ((differ >> at & 255) == 0) continue; // all have the same digit
        uint64_t places[257] = {0};
        for (uint64_t k = 0; k < count; k++) places[(keys[k] >> at & 255) + 1]++;
        for (unsigned digit = 0; digit < 255; digit++) places[digit + 1] += places[digit];
        for (uint64_t k = 0; k < count; k++) other[places[keys[k] >> at & 255]++] = keys[k];
        uint64_t *sorted = other;
        other = keys;
        keys = sorted;
    }
    return keys;
}

/// Sorts `count` elements, ascending. `kind`: bytes of an element, with ZF_SORT_SIGNED or ZF_SORT_FLOAT.
uint64_t zf_cg_sort(zf_encode_frame *frame, uint8_t *data, uint64_t count, uint64_t kind) {
    uint64_t size = kind & 15;
    unsigned bits = (unsigned)size * 8;
    if (count < 2) return 1;
    if (!work_of_sort(frame, count)) return 0;
    uint64_t *keys = zf_encode_scratch(frame, count * 16);
    if (keys == NULL) return 0;
    for (uint64_t k = 0; k < count; k++) {
        keys[k] = 0;
        memcpy(&keys[k], data + k * size, size);
        keys[k] = sort_key(keys[k], bits, kind);
    }
    const uint64_t *sorted = sort_keys(keys, keys + count, count, bits);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t word = sort_word(sorted[k], bits, kind);
        memcpy(data + k * size, &word, size);
    }
    free(keys);
    return 1;
}

// ---- Strings --------------------------------------------------------------------------------------------------

uint64_t zf_cg_text_equal(const uint8_t *a, uint64_t a_length, const uint8_t *b, uint64_t b_length) {
    return a_length == b_length && (a_length == 0 || memcmp(a, b, a_length) == 0);
}

/// Negative, 0 or positive, as a signed number.
uint64_t zf_cg_text_order(const uint8_t *a, uint64_t a_length, const uint8_t *b, uint64_t b_length) {
    uint64_t shorter = a_length < b_length ? a_length : b_length;
    int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
    if (order == 0) return a_length - b_length;
    return order < 0 ? UINT64_MAX : 1;
}

// ---- Bits -----------------------------------------------------------------------------------------------------

/// Bits of memory that has no slack behind it: whole bytes only.
uint64_t zf_cg_read_bits(const uint8_t *data, uint64_t at, uint64_t count, uint64_t msb) {
    uint64_t value = 0;
    for (uint64_t k = 0; k < count; k++, at++) {
        uint64_t bit = data[at / 8] >> (msb ? 7 - at % 8 : at % 8) & 1;
        value = msb ? value << 1 | bit : value | bit << k;
    }
    return value;
}

// The table behind `intern`: from a value to the number of its first element in the chunk.
//
// If values hardly repeat, a probe is a cache miss, and misses are the cost of interning. Therefore a slot has 8 bytes,
// whatever the value's size: a tag of 32 bits of its hash, and the element's number, by which equal tags are distinguished. The
// place is the tag's highest bits: a table that grows is read and written in order, and needs no value for it. Loops in
// generated code prefetch the slots of elements (cg_encode_buffer.c).
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "codegen/encode/encode_support.h"

/// The target of an index before it has slots: one that is empty. Never written, so the cast is harmless.
static const uint64_t no_slots[1];

void zf_encode_index_reset(zf_encode_buffer *buffer) {
    buffer->index = (zf_encode_index){.slots = (uint64_t *)(uintptr_t)no_slots, .shift = 32, .entered = buffer->chunk_start};
}

// ---- Values and their tags ------------------------------------------------------------------------------------

/// The value of an element: what is looked for.
typedef struct key_value {
    uint64_t word;
    const uint8_t *text;
    uint64_t length;
    bool valid;
} key_value;

static key_value element_of(const zf_encode_buffer *buffer, uint64_t at) {
    key_value value = {.valid = !buffer->nullable || buffer->validity[at] != 0};
    if (buffer->is_text) {
        const uint64_t *offsets = (const uint64_t *)(const void *)buffer->data;
        uint64_t from = at == 0 ? 0 : offsets[at];
        value.text = buffer->text != NULL ? buffer->text + from : (const uint8_t *)""; // none of them has a character
        value.length = offsets[at + 1] - from;
    } else {
        value.word = zf_encode_word(buffer, at);
    }
    return value;
}

zf_encode_hash zf_encode_hash_draw(void) {
    zf_encode_hash hash = {0, 0};
    if (getrandom(&hash, sizeof hash, GRND_NONBLOCK) != (ssize_t)sizeof hash) {
        // Without randomness: where the stack lies and what time it is are not known outside either.
        struct timespec now = {0, 0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        hash.a = ((uint64_t)(uintptr_t)&hash ^ (uint64_t)now.tv_nsec << 32) * UINT64_C(0x9e3779b97f4a7c15);
        hash.b = (hash.a ^ hash.a >> 29 ^ (uint64_t)now.tv_sec) * UINT64_C(0xd6e8feb86659fd93);
    }
    hash.a |= 1;
    hash.b |= 1;
    return hash;
}

static uint64_t mix(zf_encode_hash hash, uint64_t key) {
    key *= hash.a;
    key ^= key >> 32;
    return key * hash.b;
}

/// Values of at most 32 bits have tags of their own each: equal tags are equal values.
static uint32_t tag_of_small(zf_encode_hash hash, uint32_t key) {
    key *= (uint32_t)hash.a;
    key ^= key >> 16;
    return key * (uint32_t)hash.b;
}

static uint64_t eight_bytes(const uint8_t *text) {
    uint64_t word;
    memcpy(&word, text, 8);
    return word;
}

/// A word that different texts of fewer than eight bytes have only where they differ in length.
static uint64_t short_text(const uint8_t *text, uint64_t length) {
    uint32_t low, high;
    if (length >= 4) {
        memcpy(&low, text, 4);
        memcpy(&high, text + length - 4, 4);
        return low | (uint64_t)high << 32;
    }
    return length == 0 ? 0 : text[0] | (uint64_t)text[length / 2] << 8 | (uint64_t)text[length - 1] << 16;
}

static uint64_t text_key(zf_encode_hash hash, const uint8_t *text, uint64_t length, bool valid) {
    uint64_t key = (valid ? length : UINT64_MAX) * hash.b;
    if (length < 8) return key ^ short_text(text, length);
    for (const uint8_t *last = text + length - 8; text < last; text += 8) {
        key = mix(hash, key ^ eight_bytes(text));
        key ^= key >> 32;
        if (last - text < 8) return key ^ eight_bytes(last); // which overlaps what was taken
    }
    return key ^ eight_bytes(text);
}

/// A null's value is 0: it has the tag of a valid 0, and is distinguished from it as elements are.
static inline uint64_t tag_of(zf_encode_hash hash, const zf_encode_buffer *buffer, const key_value *value) {
    if (buffer->is_text) return mix(hash, text_key(hash, value->text, value->length, value->valid)) >> 32;
    return buffer->element <= 4 ? tag_of_small(hash, (uint32_t)value->word) : mix(hash, value->word) >> 32;
}

static bool same_element(const zf_encode_buffer *buffer, uint64_t number, const key_value *value) {
    if (!buffer->is_text && !buffer->nullable) return buffer->element <= 4 || zf_encode_word(buffer, number - 1) == value->word;
    key_value other = element_of(buffer, number - 1);
    if (other.valid != value->valid || !value->valid) return other.valid == value->valid;
    if (!buffer->is_text) return other.word == value->word;
    return other.length == value->length && (value->length == 0 || memcmp(other.text, value->text, value->length) == 0);
}

// ---- The table ------------------------------------------------------------------------------------------------

/// The place of an equal element, or the empty one where it would stand.
static inline uint64_t find(const zf_encode_buffer *buffer, const key_value *value, uint64_t tag) {
    const zf_encode_index *index = &buffer->index;
    for (uint64_t at = tag >> index->shift;; at = (at + 1) & index->mask) {
        uint64_t slot = index->slots[at];
        if (slot == 0 || ((uint32_t)slot == tag && same_element(buffer, slot >> 32, value))) return at;
    }
}

/// Room for `more` values, at most half of the table in use: most values are then found where they are looked for first.
static bool grow_index(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t more) {
    zf_encode_index *index = &buffer->index;
    uint64_t old_size = index->slots == no_slots ? 0 : index->mask + 1, used = old_size / 2 - index->left, need = used + more;
    // In large steps, since every table costs its page faults; but none larger than all rows of the block need.
    uint64_t size = 256, most = 2 * (need > frame->rows ? need : frame->rows), wanted = 4 * need < most ? 4 * need : most;
    unsigned bits = 8;
    for (; size < wanted; size *= 2) bits++;
    uint64_t *slots = bits > 32 ? NULL : zf_encode_alloc_zeroed(frame, size * sizeof *slots);
    if (slots == NULL) {
        if (bits > 32) frame->outcome = ZF_ENCODE_LIMIT;
        return false;
    }
    const uint64_t *old = index->slots;
    index->slots = slots;
    index->mask = size - 1;
    index->shift = 32 - bits;
    index->left = size / 2 - used;
    for (uint64_t k = 0; k < old_size; k++) {
        if (old[k] == 0) continue;
        uint64_t at = (uint32_t)old[k] >> index->shift;
        while (slots[at] != 0) at = (at + 1) & index->mask;
        slots[at] = old[k];
    }
    return true;
}

static bool room(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t more) {
    return more <= buffer->index.left || grow_index(frame, buffer, more);
}

/// Enters what came by other ways: the first of equal ones counts.
static bool enter_pushed(zf_encode_frame *frame, zf_encode_buffer *buffer) {
    zf_encode_index *index = &buffer->index;
    if (!room(frame, buffer, buffer->length - index->entered)) return false;
    for (; index->entered < buffer->length; index->entered++) {
        key_value other = element_of(buffer, index->entered);
        uint64_t tag = tag_of(frame->hash, buffer, &other), at = find(buffer, &other, tag);
        if (index->slots[at] != 0) continue;
        index->slots[at] = (index->entered + 1) << 32 | tag;
        index->left--;
    }
    return true;
}

/// Number of the element with this tag in its chunk + 1, or 0.
static inline uint64_t intern_tagged(zf_encode_frame *frame, zf_encode_buffer *buffer, const key_value *value, uint64_t tag) {
    zf_encode_index *index = &buffer->index;
    if (buffer->length >= UINT32_MAX) {
        frame->outcome = ZF_ENCODE_LIMIT;
        return 0;
    }
    if (index->entered < buffer->length && !enter_pushed(frame, buffer)) return 0;
    if (!room(frame, buffer, 1)) return 0;
    uint64_t at = find(buffer, value, tag), number = index->slots[at] >> 32;
    if (number == 0) {
        uint64_t pushed = buffer->is_text ? zf_cg_push_text(frame, buffer, value->text, value->length, value->valid)
                                          : zf_cg_push_null(frame, buffer, value->word, value->valid);
        if (!pushed) return 0;
        number = buffer->length;
        index->slots[at] = number << 32 | tag;
        index->left--;
        index->entered = buffer->length;
    }
    return number - buffer->chunk_start;
}

static uint64_t intern(zf_encode_frame *frame, zf_encode_buffer *buffer, const key_value *value) {
    zf_encode_finish(buffer);
    return intern_tagged(frame, buffer, value, tag_of(frame->hash, buffer, value));
}

uint64_t zf_cg_intern(zf_encode_frame *frame, zf_encode_buffer *buffer, uint64_t word, uint64_t valid) {
    key_value value = {.word = valid ? word : 0, .valid = valid != 0};
    return intern(frame, buffer, &value);
}

uint64_t zf_cg_intern_text(zf_encode_frame *frame, zf_encode_buffer *buffer, const uint8_t *text, uint64_t length,
                           uint64_t valid) {
    key_value value = {.text = text, .length = valid ? length : 0, .valid = valid != 0};
    if (!zf_encode_work(frame, value.length >> 6)) return 0; // as for copying: 64 bytes an iteration
    return intern(frame, buffer, &value);
}

// ---- All texts of a sequence ------------------------------------------------------------------------------------

/// A text that was interned: columns with few values mostly have one of the last.
typedef struct recent {
    uint64_t head, tail; ///< its first and its last eight bytes; of shorter ones all, twice
    uint64_t length;
    uint64_t number; ///< in its chunk + 1; 0: none is here
} recent;

enum {
    RECENT_BITS = 8,
    TOGETHER = 32, ///< texts that are looked for in turn, so that what one waits for is under way with the others
};

/// A text that is none of the recent ones, on its way.
typedef struct sought {
    key_value value;
    uint64_t tag;
    recent ends;
    recent *place; ///< in the table of recent ones
    uint64_t row;
} sought;

/// Whether two texts of more than 16 bytes, whose ends are equal, are equal between them.
static bool same_middle(const zf_encode_buffer *buffer, uint64_t number, const uint8_t *text, uint64_t length) {
    const uint64_t *offsets = (const uint64_t *)(const void *)buffer->data;
    return memcmp(buffer->text + offsets[number] + 8, text + 8, length - 16) == 0;
}

/// The ends of a text, behind which memory can be read up to `end`.
static inline recent ends_of(const uint8_t *text, uint64_t length, const uint8_t *end) {
    if (end - text >= 8) {
        uint64_t mask = length < 8 ? (UINT64_C(1) << 8 * length) - 1 : UINT64_MAX;
        return (recent){eight_bytes(text) & mask, eight_bytes(text + (length < 8 ? 8 : length) - 8) & mask, length, 0};
    }
    uint64_t word = 0;
    for (uint64_t k = 0; k < length; k++) word |= (uint64_t)text[k] << 8 * k; // fewer than eight
    return (recent){word, length < 8 ? word : 0, length, 0};
}

/// Interns up to TOGETHER texts; the number of those that could be.
static uint64_t intern_together(zf_encode_frame *frame, zf_encode_buffer *buffer, recent *table, uint32_t *out,
                                const uint8_t *text, const uint64_t *offsets, const uint8_t *end, uint64_t count) {
    sought missing[TOGETHER];
    uint64_t misses = 0, multiplier = frame->hash.a;
    for (uint64_t k = 0; k < count; k++) {
        const uint8_t *from = zf_encode_text_at(text, offsets[k]);
        uint64_t length = offsets[k + 1] - offsets[k];
        recent ends = ends_of(from, length, end);
        uint64_t mixed = (ends.head ^ (ends.tail << 32 | ends.tail >> 32) ^ length) * multiplier;
        recent *place = &table[mixed >> (64 - RECENT_BITS)];
        bool same = place->head == ends.head && place->tail == ends.tail && place->length == length && place->number != 0;
        out[k] = (uint32_t)place->number - 1;
        if (same && (length <= 16 || same_middle(buffer, place->number - 1 + buffer->chunk_start, from, length))) continue;
        sought *s = &missing[misses++];
        *s = (sought){.value = {.text = from, .length = length, .valid = true}, .ends = ends, .place = place, .row = k};
        s->tag = tag_of(frame->hash, buffer, &s->value);
        __builtin_prefetch(&buffer->index.slots[s->tag >> buffer->index.shift]);
    }
    for (uint64_t k = 0; k < misses; k++) {
        sought *s = &missing[k];
        s->ends.number = intern_tagged(frame, buffer, &s->value, s->tag);
        if (s->ends.number == 0) return s->row;
        out[s->row] = (uint32_t)s->ends.number - 1;
        *s->place = s->ends;
    }
    return count;
}

/// `numbers.push(buffer.intern(v))` for each text v; the row at which it ends early is in the frame.
uint64_t zf_cg_intern_texts(zf_encode_frame *frame, zf_encode_buffer *numbers, zf_encode_buffer *buffer, const uint8_t *text,
                            const uint64_t *offsets, const uint8_t *validity, uint64_t count) {
    static const uint8_t no_text[1];
    recent table[1 << RECENT_BITS];
    frame->row = ZF_ENCODE_NO_ROW;
    if (count == 0) return 1;
    if (text == NULL) text = no_text; // none of them has a character
    if (!zf_cg_reserve(frame, numbers, count)) return 0;
    memset(table, 0, sizeof table);
    zf_encode_finish(buffer);
    uint32_t *out = (uint32_t *)(void *)numbers->data + numbers->length;
    const uint8_t *end = zf_encode_text_at(text, offsets[count]);
    for (uint64_t k = 0, done; k < count; k += done) {
        uint64_t now = count - k < TOGETHER ? count - k : TOGETHER;
        if (!buffer->nullable) {
            if (!zf_encode_work(frame, (offsets[k + now] - offsets[k]) >> 6)) return 0;
            done = intern_together(frame, buffer, table, out + k, text, offsets + k, end, now);
        } else {
            uint64_t number, valid = validity == NULL || validity[k] != 0;
            number = zf_cg_intern_text(frame, buffer, zf_encode_text_at(text, offsets[k]), offsets[k + 1] - offsets[k], valid);
            out[k] = (uint32_t)number - 1;
            now = 1;
            done = number != 0;
        }
        numbers->length += done;
        if (done < now) {
            frame->row = k + done;
            return 0;
        }
    }
    return 1;
}

// Streams, arrays and tables: elements, bits, pieces, chunks.
#include <stdlib.h>
#include <string.h>

#include "tests/interp/interp_internal.h"

interp_stream *interp_stream_new(interp *in, zf_type type) {
    interp_stream *stream = ZF_NEW(in->arena, interp_stream);
    stream->in = in;
    stream->type = zf_type_strip(type);
    stream->width = type.kind == ZF_K_STRING ? 1 : zf_kind_bits(type.kind);
    if (type.kind == ZF_K_STRING) stream->chars = interp_stream_new(in, zf_type_of(ZF_K_U8));
    return stream;
}

// Room for `need` items of `size` bytes, old ones kept, new ones zero.
static void *grow(interp *in, void *old, uint64_t *capacity, uint64_t need, size_t size) {
    if (need <= *capacity) return old;
    uint64_t fresh = *capacity ? *capacity : 16;
    while (fresh < need) fresh *= 2;
    if (fresh > (UINT64_C(1) << 40) / size) interp_stop(in, INTERP_LIMIT, "a stream beyond every limit");
    void *memory = zf_arena_alloc(in->arena, (size_t)fresh * size);
    if (*capacity) memcpy(memory, old, (size_t)*capacity * size);
    *capacity = fresh;
    return memory;
}

static bool is_string(const interp_stream *stream) { return stream->type.kind == ZF_K_STRING; }

// ---- Bits -----------------------------------------------------------------------------------------------------

// Bits of one byte at a time. `at` is a position in bits, `left` how many are wanted from there.
static unsigned in_byte(uint64_t at, unsigned left) {
    unsigned there = 8 - (unsigned)(at % 8);
    return there < left ? there : left;
}

uint64_t interp_stream_bit_read(const interp_stream *stream, uint64_t bit, unsigned count) {
    uint64_t value = 0;
    for (unsigned k = 0, n; k < count; k += n) {
        uint64_t at = bit + k;
        n = in_byte(at, count - k);
        value |= (uint64_t)(stream->bytes[at / 8] >> (at % 8) & ((1u << n) - 1)) << k;
    }
    return value;
}

uint64_t interp_stream_bit_read_msb(const interp_stream *stream, uint64_t bit, unsigned count) {
    uint64_t value = 0;
    for (unsigned k = 0, n; k < count; k += n) {
        uint64_t at = bit + k;
        n = in_byte(at, count - k);
        value = value << n | (stream->bytes[at / 8] >> (8 - at % 8 - n) & ((1u << n) - 1));
    }
    return value;
}

static void bit_write(interp_stream *stream, uint64_t bit, unsigned count, uint64_t value) {
    for (unsigned k = 0, n; k < count; k += n) {
        uint64_t at = bit + k;
        n = in_byte(at, count - k);
        uint8_t *byte = &stream->bytes[at / 8];
        unsigned mask = ((1u << n) - 1) << (at % 8);
        *byte = (uint8_t)((*byte & ~mask) | ((unsigned)(value >> k) << (at % 8) & mask));
    }
}

// ---- Elements -------------------------------------------------------------------------------------------------

static void room(interp_stream *stream, uint64_t count) {
    interp *in = stream->in;
    if (count > in->options.max_elements) interp_stop(in, INTERP_LIMIT, "a stream with more elements than the options allow");
    if (stream->type.nullable) {
        uint64_t capacity = stream->row_capacity;
        stream->nulls = grow(in, stream->nulls, &capacity, count, 1);
        if (!is_string(stream)) stream->row_capacity = capacity;
    }
    if (is_string(stream))
        stream->rows = grow(in, stream->rows, &stream->row_capacity, count, sizeof(interp_piece));
    else
        stream->bytes = grow(in, stream->bytes, &stream->byte_capacity, (count * stream->width + 7) / 8 + 8, 1);
}

interp_value interp_stream_get(const interp_stream *stream, uint64_t index) {
    interp_value value = {0};
    if (stream->type.nullable && stream->nulls[index]) {
        value.null = true;
        if (is_string(stream)) value.seq = (interp_seq){.base = stream->chars};
    } else if (is_string(stream)) {
        value.seq = (interp_seq){.base = stream->chars, .start = stream->rows[index].start, .length = stream->rows[index].length};
    } else {
        value.bits = interp_stream_bit_read(stream, index * stream->width, stream->width);
    }
    return value;
}

void interp_stream_set(interp_stream *stream, uint64_t index, interp_value value) {
    if (stream->type.nullable) stream->nulls[index] = value.null;
    if (is_string(stream)) {
        interp_piece row = {.start = stream->chars->count, .length = value.null ? 0 : value.seq.length};
        for (uint64_t k = 0; k < row.length; k++) {
            // The characters may be those of this very stream: they are read one by one, behind them is written.
            uint8_t byte = value.seq.base->bytes[value.seq.start + k];
            room(stream->chars, stream->chars->count + 1);
            stream->chars->bytes[stream->chars->count++] = byte;
        }
        stream->chars->bit_length = stream->chars->count * 8;
        stream->rows[index] = row;
    } else {
        bit_write(stream, index * stream->width, stream->width, value.null ? 0 : value.bits);
    }
}

void interp_push_value(interp_stream *stream, interp_value value) {
    uint64_t index = stream->count; // a partly written element counts, so this is aligned
    room(stream, index + 1);
    stream->count = index + 1;
    stream->bit_length = stream->count * stream->width;
    interp_stream_set(stream, index, value);
}

void interp_push_bits(interp_stream *stream, uint64_t bits, unsigned count) {
    uint64_t end = stream->bit_length + count;
    room(stream, (end + stream->width - 1) / stream->width);
    bit_write(stream, stream->bit_length, count, bits);
    stream->bit_length = end;
    stream->count = (end + stream->width - 1) / stream->width;
}

void interp_stream_resize(interp_stream *stream, uint64_t count) {
    room(stream, count);
    stream->count = count;
    stream->bit_length = count * stream->width;
}

// Back to no elements, all memory zero again.
void interp_stream_clear(interp_stream *stream) {
    if (stream->bytes) memset(stream->bytes, 0, (size_t)((stream->bit_length + 7) / 8));
    if (stream->nulls) memset(stream->nulls, 0, (size_t)stream->count);
    if (stream->rows) memset(stream->rows, 0, (size_t)stream->count * sizeof(interp_piece));
    stream->count = stream->bit_length = stream->part_count = stream->start_count = 0;
    stream->index_size = 0;
}

interp_seq interp_stream_all(interp_stream *stream) { return (interp_seq){.base = stream, .length = stream->count}; }

static void add_part(interp_stream *stream, uint64_t start, uint64_t length) {
    stream->parts = grow(stream->in, stream->parts, &stream->part_capacity, stream->part_count + 1, sizeof(interp_piece));
    stream->parts[stream->part_count++] = (interp_piece){.start = start, .length = length};
}

void interp_stream_append(interp_stream *stream, interp_seq seq) {
    uint64_t start = stream->count;
    for (uint64_t k = 0; k < seq.length; k++) interp_push_value(stream, interp_stream_get(seq.base, seq.start + k));
    add_part(stream, start, seq.length);
}

void interp_stream_reverse(interp_stream *stream, uint64_t from) {
    for (uint64_t a = from, b = stream->count; a + 1 < b; a++) {
        b--;
        interp_value va = interp_stream_get(stream, a), vb = interp_stream_get(stream, b);
        interp_stream_set(stream, a, vb);
        interp_stream_set(stream, b, va);
    }
    stream->bit_length = stream->count * stream->width;
    stream->index_size = 0;
}

void interp_stream_start_chunk(interp_stream *stream) {
    stream->starts = grow(stream->in, stream->starts, &stream->start_capacity, stream->start_count + 1, sizeof(uint64_t));
    stream->starts[stream->start_count++] = stream->count;
    stream->bit_length = stream->count * stream->width; // chunks begin at whole elements
    stream->index_size = 0;
    stream->index_from = stream->count;
}

// ---- Comparing ------------------------------------------------------------------------------------------------

int interp_value_compare(zf_type type, interp_value a, interp_value b) {
    if (a.null || b.null) return a.null == b.null ? 0 : a.null ? -1 : 1;
    if (type.kind == ZF_K_STRING) {
        uint64_t n = a.seq.length < b.seq.length ? a.seq.length : b.seq.length;
        int order = n == 0 ? 0 : memcmp(a.seq.base->bytes + a.seq.start, b.seq.base->bytes + b.seq.start, (size_t)n);
        return order ? order : a.seq.length < b.seq.length ? -1 : a.seq.length > b.seq.length;
    }
    if (a.bits == b.bits) return 0;
    return interp_value_less(type.kind, a.bits, b.bits) ? -1 : 1;
}

bool interp_value_equal(zf_type type, interp_value a, interp_value b) {
    if (a.null || b.null) return a.null == b.null;
    return type.kind == ZF_K_STRING ? interp_value_compare(type, a, b) == 0 : a.bits == b.bits;
}

void interp_stream_sort(interp_stream *stream) {
    // A heap sort: no recursion, no worst case.
    uint64_t n = stream->count;
    for (uint64_t heap = n / 2, end = n; end > 1;) {
        if (heap > 0)
            heap--;
        else {
            end--;
            interp_value first = interp_stream_get(stream, 0), last = interp_stream_get(stream, end);
            interp_stream_set(stream, 0, last);
            interp_stream_set(stream, end, first);
        }
        uint64_t at = heap;
        for (uint64_t child; (child = 2 * at + 1) < end; at = child) {
            if (child + 1 < end &&
                interp_value_compare(stream->type, interp_stream_get(stream, child), interp_stream_get(stream, child + 1)) < 0)
                child++;
            interp_value up = interp_stream_get(stream, at), down = interp_stream_get(stream, child);
            if (interp_value_compare(stream->type, up, down) >= 0) break;
            interp_stream_set(stream, at, down);
            interp_stream_set(stream, child, up);
        }
    }
    stream->index_size = 0;
}

// ---- Interning ------------------------------------------------------------------------------------------------

static uint64_t hash_value(zf_type type, interp_value value) {
    uint64_t hash = value.null ? 0x9e3779b97f4a7c15 : 0xcbf29ce484222325;
    if (type.kind == ZF_K_STRING) {
        for (uint64_t k = 0; k < value.seq.length; k++)
            hash = (hash ^ value.seq.base->bytes[value.seq.start + k]) * 0x100000001b3;
    } else
        hash = (hash ^ value.bits) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

// The slot of an equal element, or the empty one where it would stand.
static uint32_t *find_slot(interp_stream *stream, interp_value value) {
    uint64_t at = hash_value(stream->type, value) % stream->index_size;
    for (;; at = (at + 1) % stream->index_size) {
        uint32_t entry = stream->index[at];
        if (entry == 0 || interp_value_equal(stream->type, interp_stream_get(stream, entry - 1), value))
            return &stream->index[at];
    }
}

uint32_t interp_stream_intern(interp_stream *stream, interp_value value) {
    if (stream->index_size == 0 || stream->index_size < 3 * (stream->count + 1)) {
        uint64_t size = 8 * (stream->count + 8);
        stream->index = ZF_NEW_ARRAY(stream->in->arena, uint32_t, (size_t)size);
        stream->index_size = size;
        stream->indexed = stream->index_from;
    }
    for (; stream->indexed < stream->count; stream->indexed++) { // elements that came by other ways, the first of equal ones
        uint32_t *slot = find_slot(stream, interp_stream_get(stream, stream->indexed));
        if (*slot == 0) *slot = (uint32_t)stream->indexed + 1;
    }
    uint32_t *slot = find_slot(stream, value);
    if (*slot == 0) {
        interp_push_value(stream, value);
        *slot = (uint32_t)stream->count;
        stream->indexed = stream->count;
    }
    return (uint32_t)(*slot - 1 - stream->index_from);
}

// ---- For callers ----------------------------------------------------------------------------------------------

interp_stream *interp_stream_raw(interp *in, zf_type type, const void *bytes, uint64_t count) {
    interp_stream *stream = interp_stream_new(in, type);
    uint64_t size = (count * stream->width + 7) / 8;
    stream->bytes = zf_arena_alloc(in->arena, (size_t)size + 8);
    stream->byte_capacity = size + 8;
    if (size) memcpy(stream->bytes, bytes, (size_t)size);
    if (type.nullable) {
        stream->nulls = zf_arena_alloc(in->arena, (size_t)count);
        stream->row_capacity = count;
    }
    stream->count = count;
    stream->bit_length = count * stream->width;
    return stream;
}

void interp_stream_push(interp_stream *stream, uint64_t bits) {
    interp_push_value(stream, (interp_value){.bits = interp_value_mask(stream->type.kind, bits)});
}

void interp_stream_push_string(interp_stream *stream, const void *bytes, uint64_t length) {
    interp_stream source = {.in = stream->in, .type = zf_type_of(ZF_K_U8), .width = 8, .count = length};
    source.bytes = (uint8_t *)(uintptr_t)bytes; // only read
    interp_push_value(stream, (interp_value){.seq = {.base = &source, .length = length}});
}

void interp_stream_push_null(interp_stream *stream) { interp_push_value(stream, (interp_value){.null = true}); }

zf_type interp_stream_type(const interp_stream *stream) { return stream->type; }
uint64_t interp_stream_count(const interp_stream *stream) { return stream->count; }
const uint8_t *interp_stream_bytes(const interp_stream *stream) { return stream->bytes; }
uint64_t interp_stream_size(const interp_stream *stream) { return (stream->count * stream->width + 7) / 8; }

uint64_t interp_stream_bits(const interp_stream *stream, uint64_t index, bool *null) {
    interp_value value = interp_stream_get(stream, index);
    if (null) *null = value.null;
    return value.bits;
}

const uint8_t *interp_stream_string(const interp_stream *stream, uint64_t index, uint64_t *length, bool *null) {
    interp_value value = interp_stream_get(stream, index);
    if (null) *null = value.null;
    *length = value.seq.length;
    return value.seq.length ? value.seq.base->bytes + value.seq.start : (const uint8_t *)"";
}

const uint64_t *interp_stream_chunks(const interp_stream *stream, uint64_t *count) {
    *count = stream->start_count;
    return stream->starts;
}

bool interp_stream_equal(const interp_stream *a, const interp_stream *b, uint64_t *first) {
    if (first) *first = 0;
    if (a->type.kind != b->type.kind || a->type.nullable != b->type.nullable) return false;
    uint64_t n = a->count < b->count ? a->count : b->count;
    for (uint64_t k = 0; k < n; k++) {
        if (interp_value_equal(a->type, interp_stream_get(a, k), interp_stream_get(b, k))) continue;
        if (first) *first = k;
        return false;
    }
    if (first) *first = n;
    return a->count == b->count;
}

// LZ4, Snappy and Deflate blocks (greedy matches by a hash of four bytes), and tiles of FSST with the
// commonest pieces as symbols.
#include <string.h>

#include "tests/interp/externs.h"

enum { HASH_SIZE = 4096, NEAR = 32768 };

typedef struct match {
    uint64_t length, distance;
} match;

typedef struct finder {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t last[HASH_SIZE]; // position + 1
} finder;

static match find(finder *f, uint64_t at, uint64_t end, uint64_t most) {
    match none = {0};
    if (at + 4 > end) return none;
    uint32_t word;
    memcpy(&word, f->bytes + at, 4);
    uint64_t *slot = &f->last[word * 2654435761u >> 20], before = *slot;
    *slot = at + 1;
    if (before == 0 || at - (before - 1) >= NEAR) return none;
    match found = {.distance = at - (before - 1)};
    while (found.length < most && at + found.length < end && f->bytes[before - 1 + found.length] == f->bytes[at + found.length])
        found.length++;
    return found.length >= 4 ? found : none;
}

static uint64_t chunk_end(const interp_extern_call *call, uint64_t from) {
    uint64_t n = interp_stream_count(call->x);
    return n - from < call->chunk_size ? n : from + call->chunk_size;
}

static void push_bytes(interp_stream *out, const uint8_t *bytes, uint64_t count) {
    for (uint64_t k = 0; k < count; k++) interp_stream_push(out, bytes[k]);
}

static void start(finder *f, const uint8_t *bytes, uint64_t size) {
    memset(f, 0, sizeof *f);
    f->bytes = bytes;
    f->size = size;
}

// ---- LZ4 ------------------------------------------------------------------------------------------------------

static void lz4_length(interp_stream *out, uint64_t n) {
    if (n < 15) return;
    for (n -= 15; n >= 255; n -= 255) interp_stream_push(out, 255);
    interp_stream_push(out, n);
}

static void lz4_sequence(interp_stream *out, const uint8_t *literals, uint64_t count, match m) {
    uint64_t rest = m.length ? m.length - 4 : 0;
    interp_stream_push(out, (count < 15 ? count : 15) << 4 | (rest < 15 ? rest : 15));
    lz4_length(out, count);
    push_bytes(out, literals, count);
    if (m.length == 0) return;
    interp_stream_push(out, m.distance & 255);
    interp_stream_push(out, m.distance >> 8);
    lz4_length(out, rest);
}

void externs_lz4(interp_extern_call *call) {
    const uint8_t *bytes = interp_stream_bytes(call->x);
    interp_stream *out = call->streams[0];
    finder f;
    for (uint64_t from = 0, n = interp_stream_count(call->x); from < n; from = chunk_end(call, from)) {
        uint64_t size = chunk_end(call, from) - from, done = 0, at = 0;
        interp_extern_chunk(call);
        start(&f, bytes + from, size);
        while (at + 12 < size) { // the last match begins 12 bytes before the end, and leaves 5 literals
            match m = find(&f, at, size - 5, 70000);
            if (m.length == 0) {
                at++;
                continue;
            }
            lz4_sequence(out, f.bytes + done, at - done, m);
            done = at += m.length;
        }
        lz4_sequence(out, f.bytes + done, size - done, (match){0});
    }
}

// ---- Snappy ---------------------------------------------------------------------------------------------------

static void snappy_literal(interp_stream *out, const uint8_t *bytes, uint64_t n) {
    if (n == 0) return;
    unsigned extra = n <= 60 ? 0 : n <= 256 ? 1 : n <= 65536 ? 2 : 3;
    interp_stream_push(out, extra ? (59 + extra) << 2 : (n - 1) << 2);
    for (unsigned k = 0; k < extra; k++) interp_stream_push(out, (n - 1) >> (8 * k));
    push_bytes(out, bytes, n);
}

static void snappy_copy(interp_stream *out, match m) {
    if (m.length >= 4 && m.length <= 11 && m.distance < 2048) {
        interp_stream_push(out, 1 | (m.length - 4) << 2 | m.distance >> 8 << 5);
        interp_stream_push(out, m.distance);
    } else if (m.length % 5 == 0) { // the four-byte form now and then
        interp_stream_push(out, 3 | (m.length - 1) << 2);
        for (unsigned k = 0; k < 4; k++) interp_stream_push(out, m.distance >> (8 * k));
    } else {
        interp_stream_push(out, 2 | (m.length - 1) << 2);
        interp_stream_push(out, m.distance);
        interp_stream_push(out, m.distance >> 8);
    }
}

void externs_snappy(interp_extern_call *call) {
    const uint8_t *bytes = interp_stream_bytes(call->x);
    interp_stream *out = call->streams[0];
    finder f;
    for (uint64_t from = 0, n = interp_stream_count(call->x); from < n; from = chunk_end(call, from)) {
        uint64_t size = chunk_end(call, from) - from, done = 0, at = 0;
        interp_extern_chunk(call);
        start(&f, bytes + from, size);
        for (uint64_t v = size;; v >>= 7) {
            interp_stream_push(out, v >= 128 ? v % 128 + 128 : v);
            if (v < 128) break;
        }
        while (at < size) {
            match m = find(&f, at, size, 64);
            if (m.length == 0) {
                at++;
                continue;
            }
            snappy_literal(out, f.bytes + done, at - done);
            snappy_copy(out, m);
            done = at += m.length;
        }
        snappy_literal(out, f.bytes + done, size - done);
    }
}

// ---- Deflate: fixed codes, and stored blocks in every third chunk -----------------------------------------------

typedef struct bit_writer {
    interp_stream *out;
    uint32_t have, bits;
} bit_writer;

static void put_bits(bit_writer *w, uint32_t value, unsigned count) {
    for (unsigned k = 0; k < count; k++) {
        w->have |= (value >> k & 1) << w->bits++;
        if (w->bits < 8) continue;
        interp_stream_push(w->out, w->have);
        w->have = w->bits = 0;
    }
}

static void flush(bit_writer *w) {
    if (w->bits) interp_stream_push(w->out, w->have);
    w->have = w->bits = 0;
}

static void put_code(bit_writer *w, uint32_t code, unsigned count) { // codes go most significant bit first
    for (unsigned k = count; k-- > 0;) put_bits(w, code >> k & 1, 1);
}

static void put_symbol(bit_writer *w, uint32_t symbol) {
    if (symbol < 144)
        put_code(w, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(w, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(w, symbol - 256, 7);
    else
        put_code(w, 0xc0 + symbol - 280, 8);
}

// The code of `value` where codes 2 * e + 2 .. have e extra bits (`step` codes share a number of bits).
static void put_match(bit_writer *w, match m) {
    uint32_t length = (uint32_t)m.length - 3, distance = (uint32_t)m.distance - 1;
    if (length == 255)
        put_symbol(w, 285);
    else {
        unsigned extra = 0;
        while (length >> (extra + 3)) extra++;
        put_symbol(w, 257 + (extra << 2) + (length >> extra));
        put_bits(w, length & ((1u << extra) - 1), extra);
    }
    unsigned extra = 0;
    while (distance >> (extra + 2)) extra++;
    put_code(w, (extra << 1) + (distance >> extra), 5);
    put_bits(w, distance & ((1u << extra) - 1), extra);
}

static void put_stored(bit_writer *w, const uint8_t *bytes, uint64_t size) {
    do {
        uint32_t n = size > 60000 ? 60000 : (uint32_t)size;
        put_bits(w, size == n, 1);
        put_bits(w, 0, 2);
        flush(w);
        put_bits(w, n, 16);
        put_bits(w, ~n, 16);
        push_bytes(w->out, bytes, n);
        bytes += n;
        size -= n;
    } while (size > 0);
}

void externs_deflate(interp_extern_call *call) {
    const uint8_t *bytes = interp_stream_bytes(call->x);
    bit_writer w = {.out = call->streams[0]};
    finder f;
    uint64_t chunk = 0;
    for (uint64_t from = 0, n = interp_stream_count(call->x); from < n; from = chunk_end(call, from), chunk++) {
        uint64_t size = chunk_end(call, from) - from;
        interp_extern_chunk(call);
        if (chunk % 3 == 1) {
            put_stored(&w, bytes + from, size);
            continue;
        }
        start(&f, bytes + from, size);
        put_bits(&w, 3, 3); // the last block, fixed codes
        for (uint64_t at = 0; at < size;) {
            match m = find(&f, at, size, 258);
            if (m.length)
                put_match(&w, m);
            else
                put_symbol(&w, f.bytes[at]);
            at += m.length ? m.length : 1;
        }
        put_symbol(&w, 256);
        flush(&w);
    }
}

// ---- FSST -----------------------------------------------------------------------------------------------------

typedef struct symbols {
    uint64_t value[256];
    uint8_t length[256];
    unsigned count;
} symbols;

// Pieces that occur twice within a short distance, the first ones met; then the commonest bytes.
static void choose_symbols(symbols *s, const uint8_t *bytes, uint64_t size, unsigned limit) {
    uint64_t counts[256] = {0};
    finder f;
    memset(s, 0, sizeof *s);
    for (uint64_t k = 0; k < size; k++) counts[bytes[k]]++;
    start(&f, bytes, size);
    for (uint64_t at = 0; at < size && s->count < limit / 2; at++) {
        match m = find(&f, at, size, 8);
        if (m.length == 0) continue;
        memcpy(&s->value[s->count], bytes + at, (size_t)m.length);
        s->length[s->count++] = (uint8_t)m.length;
        at += m.length - 1;
    }
    while (s->count < limit) {
        unsigned best = 0;
        for (unsigned b = 1; b < 256; b++)
            if (counts[b] > counts[best]) best = b;
        if (counts[best] < 2) break; // rare ones are escaped
        counts[best] = 0;
        s->value[s->count] = best;
        s->length[s->count++] = 1;
    }
    for (unsigned k = s->count; k < 256; k++) s->length[k] = 1;
}

// The longest symbol at a place, or 255.
static unsigned code_at(const symbols *s, const uint8_t *bytes, uint64_t left) {
    unsigned best = 255;
    for (unsigned k = 0; k < s->count; k++) {
        unsigned n = s->length[k];
        if (n <= left && memcmp(&s->value[k], bytes, n) == 0 && (best == 255 || n > s->length[best])) best = k;
    }
    return best;
}

static void fsst_range(interp_stream *codes, const symbols *s, const uint8_t *bytes, uint64_t size) {
    for (uint64_t at = 0; at < size;) {
        unsigned code = code_at(s, bytes + at, size - at);
        interp_stream_push(codes, code);
        if (code == 255) interp_stream_push(codes, bytes[at]);
        at += code == 255 ? 1 : s->length[code];
    }
}

void externs_fsst_tiles(interp_extern_call *call) {
    enum { DATA, STARTS, TILE_SYMBOLS, TILE_LENGTHS, TILES = 64 };
    const uint8_t *bytes = interp_stream_bytes(call->x);
    uint64_t n = interp_stream_count(call->x), words = 0;
    symbols s;
    choose_symbols(&s, bytes, n, 253); // 253 is filler, 255 the escape
    for (unsigned k = 0; k < 256; k++) {
        interp_stream_push(call->streams[TILE_SYMBOLS], s.value[k]);
        interp_stream_push(call->streams[TILE_LENGTHS], s.length[k]);
    }
    for (uint64_t from = 0; from < n;) {
        interp_stream *tiles[TILES];
        uint64_t rows = 0;
        for (unsigned t = 0; t < TILES; t++) {
            tiles[t] = interp_stream_new(call->in, zf_type_of(ZF_K_U8));
            uint64_t end = chunk_end(call, from);
            fsst_range(tiles[t], &s, bytes + from, end - from);
            from = end;
            uint64_t need = (interp_stream_count(tiles[t]) + 3) / 4;
            if (need > rows) rows = need;
        }
        interp_stream_push(call->streams[STARTS], words);
        for (uint64_t r = 0; r < rows; r++) {
            for (unsigned t = 0; t < TILES; t++) {
                uint32_t word = 0;
                for (unsigned k = 0; k < 4; k++) {
                    uint64_t at = 4 * r + k;
                    uint32_t code = at < interp_stream_count(tiles[t]) ? (uint32_t)interp_stream_bits(tiles[t], at, NULL) : 253;
                    word |= code << (8 * k);
                }
                interp_stream_push(call->streams[DATA], word);
            }
        }
        words += rows * TILES;
    }
}

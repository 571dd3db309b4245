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

// ---- Deflate: in turn fixed codes, stored blocks, and codes of their own behind a block of fixed ones -------------

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

// The parts of a match: the symbol of its length and of its distance, and the bits that follow each.
typedef struct parts {
    uint32_t symbol, more, distance, farther;
    unsigned more_bits, farther_bits;
} parts;

static parts parts_of(match m) {
    uint32_t length = (uint32_t)m.length - 3, distance = (uint32_t)m.distance - 1;
    parts p = {.symbol = 285};
    if (length != 255) {
        while (length >> (p.more_bits + 3)) p.more_bits++;
        p.symbol = 257 + (p.more_bits << 2) + (length >> p.more_bits);
        p.more = length & ((1u << p.more_bits) - 1);
    }
    while (distance >> (p.farther_bits + 2)) p.farther_bits++;
    p.distance = (p.farther_bits << 1) + (distance >> p.farther_bits);
    p.farther = distance & ((1u << p.farther_bits) - 1);
    return p;
}

static void put_match(bit_writer *w, match m) {
    parts p = parts_of(m);
    put_symbol(w, p.symbol);
    put_bits(w, p.more, p.more_bits);
    put_code(w, p.distance, 5);
    put_bits(w, p.farther, p.farther_bits);
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

enum { SYMBOLS = 286, DISTANCES = 30, ORDERS = 19 };

typedef struct prefix_code {
    uint8_t lengths[SYMBOLS];
    uint32_t codes[SYMBOLS];
    unsigned count; ///< behind the last symbol that has a code
} prefix_code;

// Canonical codes of the lengths.
static void number_codes(prefix_code *c, unsigned symbols) {
    uint32_t next = 0;
    for (unsigned length = 1; length < 16; length++, next <<= 1)
        for (unsigned s = 0; s < symbols; s++)
            if (c->lengths[s] == length) c->codes[s] = next++;
}

// A complete code of the symbols that occur, of two lengths: the rarest of them do not matter here.
static void make_code(prefix_code *c, const bool *occurs, unsigned symbols) {
    unsigned used = 0, bits = 1;
    *c = (prefix_code){.count = 1};
    for (unsigned s = 0; s < symbols; s++) used += occurs[s];
    while ((1u << bits) < used) bits++;
    unsigned shorter = used > 1 ? (1u << bits) - used : 0;
    for (unsigned s = 0; s < symbols; s++) {
        if (!occurs[s]) continue;
        c->lengths[s] = (uint8_t)(shorter > 0 ? bits - 1 : bits);
        if (shorter > 0) shorter--;
        c->count = s + 1;
    }
    number_codes(c, symbols);
}

static void put_of(bit_writer *w, const prefix_code *c, uint32_t symbol) { put_code(w, c->codes[symbol], c->lengths[symbol]); }

// The lengths of both codes, in runs where there are any.
static void put_lengths(bit_writer *w, const prefix_code *symbols, const prefix_code *distances) {
    static const uint8_t order[ORDERS] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t all[SYMBOLS + DISTANCES];
    unsigned nl = symbols->count < 257 ? 257 : symbols->count, count = nl + distances->count;
    prefix_code runs = {.count = ORDERS};
    memcpy(all, symbols->lengths, nl);
    memcpy(all + nl, distances->lengths, distances->count);
    for (unsigned s = 0; s < ORDERS; s++) runs.lengths[s] = s < 13 ? 4 : 5;
    number_codes(&runs, ORDERS);
    put_bits(w, nl - 257, 5);
    put_bits(w, distances->count - 1, 5);
    put_bits(w, ORDERS - 4, 4);
    for (unsigned k = 0; k < ORDERS; k++) put_bits(w, runs.lengths[order[k]], 3);
    for (unsigned k = 0, n; k < count; k += n) {
        for (n = 1; k + n < count && all[k + n] == all[k] && n < 138;) n++;
        if (all[k] == 0 && n >= 11) {
            put_of(w, &runs, 18);
            put_bits(w, n - 11, 7);
        } else if (all[k] == 0 && n >= 3) {
            n = n > 10 ? 10 : n;
            put_of(w, &runs, 17);
            put_bits(w, n - 3, 3);
        } else if (n >= 4) {
            n = n > 7 ? 7 : n;
            put_of(w, &runs, all[k]);
            put_of(w, &runs, 16);
            put_bits(w, n - 4, 2);
        } else {
            n = 1;
            put_of(w, &runs, all[k]);
        }
    }
}

// A block with codes of its own.
static void put_dynamic(bit_writer *w, finder *f, uint64_t at, uint64_t size) {
    bool occurs[SYMBOLS] = {[256] = true}, reaches[DISTANCES] = {0};
    finder again = *f;
    prefix_code symbols, distances;
    for (uint64_t from = at; from < size;) {
        match m = find(f, from, size, 258);
        occurs[m.length ? parts_of(m).symbol : f->bytes[from]] = true;
        if (m.length) reaches[parts_of(m).distance] = true;
        from += m.length ? m.length : 1;
    }
    make_code(&symbols, occurs, SYMBOLS);
    make_code(&distances, reaches, DISTANCES);
    put_bits(w, 5, 3); // the last block
    put_lengths(w, &symbols, &distances);
    while (at < size) {
        match m = find(&again, at, size, 258);
        if (m.length == 0) {
            put_of(w, &symbols, f->bytes[at]);
        } else {
            parts p = parts_of(m);
            put_of(w, &symbols, p.symbol);
            put_bits(w, p.more, p.more_bits);
            put_of(w, &distances, p.distance);
            put_bits(w, p.farther, p.farther_bits);
        }
        at += m.length ? m.length : 1;
    }
    put_of(w, &symbols, 256);
    flush(w);
}

enum { DEFLATE_FIXED, DEFLATE_STORED, DEFLATE_DYNAMIC, DEFLATE_KINDS, DEFLATE_FIRST = 4 };

void externs_deflate(interp_extern_call *call) {
    const uint8_t *bytes = interp_stream_bytes(call->x);
    bit_writer w = {.out = call->streams[0]};
    finder f;
    uint64_t chunk = 0;
    for (uint64_t from = 0, n = interp_stream_count(call->x); from < n; from = chunk_end(call, from), chunk++) {
        uint64_t size = chunk_end(call, from) - from, kind = (chunk + size) % DEFLATE_KINDS;
        interp_extern_chunk(call);
        if (kind == DEFLATE_STORED) {
            put_stored(&w, bytes + from, size);
            continue;
        }
        start(&f, bytes + from, size);
        bool dynamic = kind == DEFLATE_DYNAMIC && size > DEFLATE_FIRST; // behind a block of a few bytes
        uint64_t end = dynamic ? DEFLATE_FIRST : size;
        put_bits(&w, dynamic ? 2 : 3, 3); // fixed codes, and whether it is the last block
        for (uint64_t at = 0; at < end;) {
            match m = find(&f, at, end, 258);
            if (m.length)
                put_match(&w, m);
            else
                put_symbol(&w, f.bytes[at]);
            at += m.length ? m.length : 1;
        }
        put_symbol(&w, 256);
        if (dynamic)
            put_dynamic(&w, &f, end, size);
        else
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

// Integer encodings of ORC and Parquet.
#include "tests/interp/externs.h"

typedef struct values {
    interp_extern_call *call;
    interp_stream *out;
    uint64_t from, end; // of the chunk
} values;

static uint64_t value_at(const values *v, uint64_t k) { return interp_stream_bits(v->call->x, k, NULL); }

static uint64_t chunk_end(const interp_extern_call *call, uint64_t from) {
    uint64_t n = interp_stream_count(call->x);
    return n - from < call->chunk_size ? n : from + call->chunk_size;
}

static uint64_t zigzag(uint64_t v) { return v << 1 ^ (0 - (v >> 63)); }

static void put_byte(const values *v, uint64_t byte) { interp_stream_push(v->out, byte); }

static void put_varint(const values *v, uint64_t u) {
    for (; u >= 128; u >>= 7) put_byte(v, u % 128 + 128);
    put_byte(v, u);
}

static void put_be(const values *v, uint64_t u, unsigned bytes) {
    for (unsigned k = bytes; k-- > 0;) put_byte(v, u >> (8 * k));
}

static unsigned bit_width(uint64_t u) {
    unsigned width = 0;
    for (; u; u >>= 1) width++;
    return width;
}

static void each_chunk(interp_extern_call *call, void (*encode)(values *v)) {
    values v = {.call = call, .out = call->streams[0]};
    for (uint64_t n = interp_stream_count(call->x); v.from < n; v.from = v.end) {
        v.end = chunk_end(call, v.from);
        interp_extern_chunk(call);
        encode(&v);
    }
}

// How many values from `at` climb by one and the same step.
static uint64_t run_length(const values *v, uint64_t at, uint64_t most, uint64_t *step) {
    *step = at + 1 < v->end ? value_at(v, at + 1) - value_at(v, at) : 0;
    uint64_t n = 1;
    while (n < most && at + n < v->end && value_at(v, at + n) - value_at(v, at + n - 1) == *step) n++;
    return n;
}

// ---- ORC RLE version 1 ----------------------------------------------------------------------------------------

static void rle1_chunk(values *v) {
    for (uint64_t at = v->from; at < v->end;) {
        uint64_t step, n = run_length(v, at, 130, &step);
        if (n >= 3 && step + 128 < 256) {
            put_byte(v, n - 3);
            put_byte(v, step);
            put_varint(v, zigzag(value_at(v, at)));
            at += n;
            continue;
        }
        uint64_t count = 1;
        while (count < 128 && at + count < v->end) {
            n = run_length(v, at + count, 3, &step);
            if (n >= 3 && step + 128 < 256) break;
            count++;
        }
        put_byte(v, 256 - count);
        for (uint64_t k = 0; k < count; k++) put_varint(v, zigzag(value_at(v, at + k)));
        at += count;
    }
}

void externs_orc_rle1(interp_extern_call *call) {
    call->params[0] = 1;
    each_chunk(call, rle1_chunk);
}

// ---- ORC RLE version 2: short repeats, fixed deltas, direct ---------------------------------------------------

static unsigned width_code(unsigned *width) {
    static const uint8_t widths[32] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                       17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64};
    for (unsigned k = 0; k < 32; k++) {
        if (widths[k] < *width) continue;
        *width = widths[k];
        return k;
    }
    return 31;
}

static void direct(values *v, uint64_t at, uint64_t n) {
    unsigned width = 1, used = 0;
    for (uint64_t k = 0; k < n; k++) {
        unsigned need = bit_width(zigzag(value_at(v, at + k)));
        if (need > width) width = need;
    }
    unsigned code = width_code(&width);
    uint8_t byte = 0;
    put_byte(v, 0x40 | code << 1 | (n - 1) >> 8);
    put_byte(v, n - 1);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t u = zigzag(value_at(v, at + k));
        for (unsigned b = width; b-- > 0;) {
            byte = (uint8_t)((unsigned)byte << 1 | (u >> b & 1));
            if (++used % 8 == 0) put_byte(v, byte);
        }
    }
    if (used % 8) put_byte(v, (uint64_t)byte << (8 - used % 8));
}

static void rle2_chunk(values *v) {
    for (uint64_t at = v->from; at < v->end;) {
        uint64_t step, n = run_length(v, at, 512, &step);
        if (n >= 3 && n <= 10 && step == 0) {
            uint64_t u = zigzag(value_at(v, at));
            unsigned bytes = (bit_width(u) + 7) / 8;
            if (bytes == 0) bytes = 1;
            put_byte(v, (bytes - 1) << 3 | (n - 3));
            put_be(v, u, bytes);
            at += n;
        } else if (n >= 3) {
            put_byte(v, 0xc0 | (n - 1) >> 8);
            put_byte(v, n - 1);
            put_varint(v, zigzag(value_at(v, at)));
            put_varint(v, zigzag(step));
            at += n;
        } else {
            uint64_t count = 1;
            while (count < 512 && at + count < v->end && run_length(v, at + count, 3, &step) < 3) count++;
            direct(v, at, count);
            at += count;
        }
    }
}

void externs_orc_rle2(interp_extern_call *call) {
    call->params[0] = 1;
    each_chunk(call, rle2_chunk);
}

// ---- Parquet --------------------------------------------------------------------------------------------------

static void put_bits(values *v, uint64_t *byte, unsigned *used, uint64_t u, unsigned width) {
    for (unsigned k = 0; k < width; k++) {
        *byte |= (u >> k & 1) << *used;
        if (++*used < 8) continue;
        put_byte(v, *byte);
        *byte = 0;
        *used = 0;
    }
}

static void hybrid_chunk(values *v) {
    unsigned width = (unsigned)v->call->params[0];
    for (uint64_t at = v->from; at < v->end;) {
        uint64_t n = 1;
        while (at + n < v->end && value_at(v, at + n) == value_at(v, at)) n++;
        if (n >= 8) {
            put_varint(v, n << 1);
            for (unsigned k = 0; k < (width + 7) / 8; k++) put_byte(v, value_at(v, at) >> (8 * k));
            at += n;
            continue;
        }
        uint64_t groups = (v->end - at + 7) / 8 < 4 ? (v->end - at + 7) / 8 : 4, byte = 0;
        unsigned used = 0;
        put_varint(v, groups << 1 | 1);
        for (uint64_t k = 0; k < 8 * groups; k++) put_bits(v, &byte, &used, at + k < v->end ? value_at(v, at + k) : 0, width);
        at = at + 8 * groups < v->end ? at + 8 * groups : v->end;
    }
}

void externs_parquet_hybrid(interp_extern_call *call) {
    uint64_t all = 0;
    for (uint64_t k = 0; k < interp_stream_count(call->x); k++) all |= interp_stream_bits(call->x, k, NULL);
    call->params[0] = bit_width(all);
    each_chunk(call, hybrid_chunk);
}

enum { BLOCK = 128, MINIS = 4, PER_MINI = BLOCK / MINIS };

static void packed_block(values *v, uint64_t at, uint64_t n) { // deltas at..at + n, n <= BLOCK
    uint64_t low = value_at(v, at) - value_at(v, at - 1), byte = 0;
    unsigned widths[MINIS] = {0}, used = 0;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t d = value_at(v, at + k) - value_at(v, at + k - 1);
        if ((int64_t)d < (int64_t)low) low = d;
    }
    for (uint64_t k = 0; k < n; k++) {
        unsigned need = bit_width(value_at(v, at + k) - value_at(v, at + k - 1) - low);
        if (need > widths[k / PER_MINI]) widths[k / PER_MINI] = need;
    }
    put_varint(v, zigzag(low));
    for (unsigned m = 0; m < MINIS; m++) put_byte(v, widths[m]);
    for (uint64_t k = 0; k < BLOCK && k / PER_MINI <= (n - 1) / PER_MINI; k++)
        put_bits(v, &byte, &used, k < n ? value_at(v, at + k) - value_at(v, at + k - 1) - low : 0, widths[k / PER_MINI]);
}

static void delta_chunk(values *v) {
    put_varint(v, BLOCK);
    put_varint(v, MINIS);
    put_varint(v, v->end - v->from);
    put_varint(v, zigzag(value_at(v, v->from)));
    for (uint64_t at = v->from + 1; at < v->end; at += BLOCK) packed_block(v, at, v->end - at < BLOCK ? v->end - at : BLOCK);
}

void externs_delta_binary_packed(interp_extern_call *call) { each_chunk(call, delta_chunk); }

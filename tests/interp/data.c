#include "tests/interp/data.h"

#include <stdio.h>
#include <string.h>

const char *data_shape_name(data_shape shape) {
    static const char *const names[DATA_SHAPES] = {"constant",         "sorted",           "nearly sorted",
                                                   "uniform",          "full range",       "zipf",
                                                   "outliers",         "extremes",         "even-1",
                                                   "even-2",           "even-4",           "even-16",
                                                   "even-64",          "even-256",         "even-1024",
                                                   "runs[1,16]",       "runs[1,256]",      "runs[1,1024]",
                                                   "runs, outliers",   "even-2 + even-64", "runs[1,16] + runs[1,1024]",
                                                   "even-4 + outliers"};
    return names[shape];
}

/// Takes up to `most` bytes. A bounded number takes as few as it needs, so that a byte decides one thing.
static bool take_bytes(data_random *random, size_t most, uint64_t *out) {
    size_t count = random->left < most ? random->left : most;
    if (count == 0) return false;
    *out = 0;
    memcpy(out, random->bytes, count);
    random->bytes += count;
    random->left -= count;
    return true;
}

uint64_t data_next(data_random *random) {
    uint64_t taken;
    if (take_bytes(random, 8, &taken)) return taken;
    uint64_t z = random->state += 0x9e3779b97f4a7c15; // splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t data_below(data_random *random, uint64_t bound) {
    uint64_t taken;
    if (bound <= UINT16_MAX && take_bytes(random, bound <= UINT8_MAX ? 1 : 2, &taken)) return taken % bound;
    return data_next(random) % bound;
}

static uint64_t run_length(data_shape shape, data_random *random) {
    static const uint64_t even[] = {1, 2, 4, 16, 64, 256, 1024};
    switch (shape) {
    case DATA_RUNS_16: return 1 + data_below(random, 16);
    case DATA_RUNS_256: return 1 + data_below(random, 256);
    case DATA_RUNS_1024: return 1 + data_below(random, 1024);
    case DATA_RUNS_OUTLIER: return data_below(random, 64) == 0 ? 1024 : 1;
    default: return even[shape - DATA_EVEN_1];
    }
}

static void runs(data_shape shape, data_random *random, uint64_t *out, uint64_t count) {
    for (uint64_t k = 0, value = 7; k < count; value += 1 + data_below(random, 5))
        for (uint64_t n = run_length(shape, random); n > 0 && k < count; n--) out[k++] = value;
}

static void mixed(data_shape first, data_shape second, data_random *random, uint64_t *out, uint64_t count) {
    runs(first, random, out, count / 2);
    runs(second, random, out + count / 2, count - count / 2);
}

static uint64_t zipf(data_random *random) { // rank r with weight about 1 / r
    uint64_t bits = data_next(random), octave = 0;
    while (octave < 10 && (bits & 1)) {
        bits >>= 1;
        octave++;
    }
    return (UINT64_C(1) << octave) - 1 + (bits >> 11) % (UINT64_C(1) << octave);
}

static uint64_t one(data_shape shape, data_random *random, uint64_t k) {
    switch (shape) {
    case DATA_CONSTANT: return 42;
    case DATA_SORTED: return 1000 + 3 * k + data_below(random, 3);
    case DATA_NEARLY_SORTED: return 1000 + 3 * k + data_below(random, 40);
    case DATA_UNIFORM: return data_below(random, 5000);
    case DATA_ZIPF: return zipf(random);
    case DATA_OUTLIERS: return data_below(random, 100) == 0 ? data_next(random) >> 20 : data_below(random, 16);
    case DATA_EXTREMES: {
        static const uint64_t ends[] = {
            0,          1,    UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, 0x80, 0x7f, 0x8000, 0x7fff, 0x80000000,
            0x7fffffff, 0xff, 0xffff,     0xffffffff};
        return ends[data_below(random, sizeof ends / sizeof ends[0])];
    }
    default: return data_next(random);
    }
}

void data_numbers(data_shape shape, uint64_t seed, uint64_t *out, uint64_t count) {
    data_random random = {.state = seed};
    if (shape >= DATA_EVEN_1 && shape <= DATA_RUNS_OUTLIER)
        runs(shape, &random, out, count);
    else if (shape == DATA_MIXED_EVEN)
        mixed(DATA_EVEN_2, DATA_EVEN_64, &random, out, count);
    else if (shape == DATA_MIXED_RANDOM)
        mixed(DATA_RUNS_16, DATA_RUNS_1024, &random, out, count);
    else if (shape == DATA_MIXED_OUTLIER)
        mixed(DATA_EVEN_4, DATA_RUNS_OUTLIER, &random, out, count);
    else
        for (uint64_t k = 0; k < count; k++) out[k] = one(shape, &random, k);
}

static uint64_t float_bits(zf_kind kind, data_shape shape, uint64_t number) {
    static const uint64_t ends64[] = {
        0, UINT64_C(1) << 63, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
        1, 0x3ff0000000000000};
    static const uint64_t ends32[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 1, 0x3f800000};
    uint64_t bits = 0;
    if (shape == DATA_FULL_RANGE) return kind == ZF_K_F64 ? number : number & 0xffffffff;
    if (shape == DATA_EXTREMES) return (kind == ZF_K_F64 ? ends64 : ends32)[(number ^ number >> 7 ^ number >> 31) % 8];
    if (kind == ZF_K_F64) {
        double value = (double)(int64_t)number / 100;
        memcpy(&bits, &value, 8);
    } else {
        float value = (float)((double)(int64_t)number / 100);
        memcpy(&bits, &value, 4);
    }
    return bits;
}

// "word word ... word": from no word to a few, of a small vocabulary.
static void push_text(interp_stream *stream, uint64_t number) {
    static const char *const words[] = {"furiously", "quick", "ly", ".", "final deposits", "a", "regular", "\xff\xfe", "sleep"};
    char text[256];
    size_t length = 0;
    for (uint64_t n = number % 5; n > 0; n--, number /= 3) {
        int more = snprintf(text + length, sizeof text - length, "%s%s", length ? " " : "", words[number % 9]);
        length += (size_t)more;
    }
    interp_stream_push_string(stream, text, length);
}

interp_stream *data_stream(interp *in, zf_type type, data_shape shape, uint64_t seed, uint64_t count) {
    uint64_t *numbers = ZF_NEW_ARRAY(interp_arena(in), uint64_t, (size_t)count + 1);
    interp_stream *stream = interp_stream_new(in, type);
    data_random random = {.state = seed + 99};
    data_numbers(shape, seed, numbers, count);
    for (uint64_t k = 0; k < count; k++) {
        if (type.nullable && data_below(&random, 5) == 0)
            interp_stream_push_null(stream);
        else if (type.kind == ZF_K_STRING)
            push_text(stream, numbers[k]);
        else if (zf_kind_is_float(type.kind))
            interp_stream_push(stream, float_bits(type.kind, shape, numbers[k]));
        else
            interp_stream_push(stream, numbers[k]);
    }
    return stream;
}

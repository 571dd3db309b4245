// Made columns: the distributions that every codec is tried on.
#ifndef ZF_TESTS_DATA_H
#define ZF_TESTS_DATA_H

#include "tests/interp/interp.h"

typedef enum data_shape {
    DATA_CONSTANT,
    DATA_SORTED,
    DATA_NEARLY_SORTED,
    DATA_UNIFORM,
    DATA_FULL_RANGE,
    DATA_ZIPF,
    DATA_OUTLIERS,
    DATA_EXTREMES,
    // run lengths: all equal, random within a range, mostly 1 and sometimes 1024, and two of these in a row
    DATA_EVEN_1,
    DATA_EVEN_2,
    DATA_EVEN_4,
    DATA_EVEN_16,
    DATA_EVEN_64,
    DATA_EVEN_256,
    DATA_EVEN_1024,
    DATA_RUNS_16,
    DATA_RUNS_256,
    DATA_RUNS_1024,
    DATA_RUNS_OUTLIER,
    DATA_MIXED_EVEN,
    DATA_MIXED_RANDOM,
    DATA_MIXED_OUTLIER,
    DATA_SHAPES,
} data_shape;

const char *data_shape_name(data_shape shape);

/// A small generator: the same numbers for the same seed everywhere. The first ones are made of bytes, where it has some: a
/// fuzzer's.
typedef struct data_random {
    uint64_t state;
    const uint8_t *bytes;
    size_t left; ///< of `bytes`
} data_random;
uint64_t data_next(data_random *random);
uint64_t data_below(data_random *random, uint64_t bound); ///< 0 .. bound - 1; bound > 0

/// Makes `count` numbers. `data_stream` converts them to elements of a type.
void data_numbers(data_shape shape, uint64_t seed, uint64_t *out, uint64_t count);
/// A column of `type`: integers take the numbers modulo their width, floats become decimal fractions (FULL_RANGE: any
/// bits, EXTREMES: zeros of both signs, infinities, NaNs), bool the lowest bit, strings short texts; nullable ones have
/// some nulls.
interp_stream *data_stream(interp *in, zf_type type, data_shape shape, uint64_t seed, uint64_t count);

#endif

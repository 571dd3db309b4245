#include "tests/fuzz/fuzz_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interp/data.h"

static void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL) exit(2);
    return memory;
}

unsigned fuzz_element_size(zf_element element) {
    switch (element) {
    case ZF_U8:
    case ZF_I8:
    case ZF_BOOL: return 1;
    case ZF_U16:
    case ZF_I16: return 2;
    case ZF_U32:
    case ZF_I32:
    case ZF_F32: return 4;
    case ZF_STRING: return 0;
    default: return 8;
    }
}

static bool is_valid(const fuzz_data *data, uint64_t row) {
    return data->validity == NULL || (data->validity[row / 8] >> (row % 8) & 1) != 0;
}

static void store(fuzz_data *data, uint64_t row, uint64_t number) {
    unsigned size = fuzz_element_size(data->type.element);
    double real = (double)(int64_t)(number % 1000000) / 100;
    float narrow = (float)real;
    if (data->type.element == ZF_F64) memcpy(&number, &real, sizeof real);
    if (data->type.element == ZF_F32) memcpy(&number, &narrow, sizeof narrow);
    if (data->type.element == ZF_BOOL) number &= 1;
    memcpy(data->values + row * size, &number, size);
}

void fuzz_data_made(fuzz_data *out, zf_column_type type, unsigned shape, uint64_t seed, uint64_t rows) {
    static const char *const pieces[] = {"", "ab", "customer ", "#0000", "z", "the quick ", "12", "special "};
    uint64_t *numbers = zeroed(rows * sizeof *numbers);
    data_random random = {.state = seed};
    *out = (fuzz_data){.type = type, .rows = rows};
    data_numbers((data_shape)(shape % DATA_SHAPES), seed, numbers, rows);
    if (type.nullable) out->validity = zeroed((rows + 7) / 8);
    for (uint64_t r = 0; r < rows && type.nullable; r++)
        out->validity[r / 8] |= (uint8_t)((data_below(&random, 8) != 0) << (r % 8));
    if (type.element != ZF_STRING) {
        out->values = zeroed(rows * fuzz_element_size(type.element));
        for (uint64_t r = 0; r < rows; r++) store(out, r, is_valid(out, r) ? numbers[r] : 0);
    } else {
        out->values = zeroed(rows * 20);
        out->offsets = zeroed((rows + 1) * sizeof *out->offsets);
        for (uint64_t r = 0; r < rows; r++) {
            char text[20] = "";
            if (is_valid(out, r)) {
                snprintf(text, sizeof text, "%s%s%u", pieces[numbers[r] % 8], pieces[numbers[r] / 8 % 8],
                         (unsigned)(numbers[r] / 64 % 1000));
            }
            size_t length = strlen(text);
            memcpy(out->values + out->offsets[r], text, length);
            out->offsets[r + 1] = out->offsets[r] + (int64_t)length;
        }
    }
    free(numbers);
}

void fuzz_data_cut(fuzz_data *out, zf_column_type type, const uint8_t *bytes, size_t size) {
    unsigned each = fuzz_element_size(type.element);
    size_t marks = type.nullable ? (each > 0 ? size / (8 * each + 1) : size / 16) : 0;
    const uint8_t *at = bytes + marks, *end = bytes + size;
    *out = (fuzz_data){.type = type};
    if (each > 0) {
        out->rows = (uint64_t)(end - at) / each < FUZZ_ROWS ? (uint64_t)(end - at) / each : FUZZ_ROWS;
        out->values = zeroed(out->rows * each);
        if (out->rows > 0) memcpy(out->values, at, out->rows * each);
        for (uint64_t r = 0; r < out->rows && type.element == ZF_BOOL; r++) out->values[r] &= 1;
    } else {
        out->values = zeroed((size_t)(end - at));
        out->offsets = zeroed((FUZZ_ROWS + 1) * sizeof *out->offsets);
        for (int64_t used = 0; at < end && out->rows < FUZZ_ROWS; at++) {
            if (*at != 0xff)
                out->values[used++] = *at;
            else
                out->offsets[++out->rows] = used;
        }
        out->offsets = realloc(out->offsets, (out->rows + 1) * sizeof *out->offsets);
        if (out->offsets == NULL) exit(2);
    }
    if (!type.nullable) return;
    out->validity = zeroed((out->rows + 7) / 8);
    for (uint64_t r = 0; r < out->rows; r++) { // rows behind the marks have values
        bool valid = r / 8 >= marks || (bytes[r / 8] >> (r % 8) & 1) != 0;
        out->validity[r / 8] |= (uint8_t)(valid << (r % 8));
    }
}

void fuzz_data_free(fuzz_data *data) {
    free(data->values);
    free(data->validity);
    free(data->offsets);
    *data = (fuzz_data){0};
}

const char *fuzz_data_differs(const fuzz_data *data, uint64_t begin, uint64_t rows, const zf_decode_buffers *decoded) {
    unsigned size = fuzz_element_size(data->type.element);
    const uint8_t *values = decoded->values;
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t r = begin + k;
        bool valid = is_valid(data, r);
        if (data->validity != NULL && valid != (decoded->validity[k / 8] >> (k % 8) & 1)) return "another validity";
        if (data->type.element == ZF_STRING) {
            int64_t length = valid ? data->offsets[r + 1] - data->offsets[r] : 0;
            if (decoded->offsets[k] < 0 || decoded->offsets[k + 1] - decoded->offsets[k] != length) return "another length";
            if (length > 0 && memcmp(values + decoded->offsets[k], data->values + data->offsets[r], (size_t)length) != 0)
                return "another string";
        } else if (data->type.element == ZF_BOOL) {
            if ((values[k / 8] >> (k % 8) & 1) != (valid ? data->values[r] : 0)) return "another bit";
        } else if (valid && memcmp(values + k * size, data->values + r * size, size) != 0) {
            return "another value";
        }
    }
    return NULL;
}

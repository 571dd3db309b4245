// Generated columns of a program without data: short runs of slowly growing numbers with few digits, and strings of few words.
// Most codecs take them, and kernels hardly depend on more.
#include <stdlib.h>
#include <string.h>

#include "compiler/container_spec.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/element.h"
#include "tuner/tuner.h"

enum { RUN = 5, KINDS = 1000, NULLS = 11, WORDS = 16, WORD_BYTES = 16 };

static const char *const words[WORDS] = {"regular",  "express",  "pending",  "final",   "silent",  "bold",
                                         "quick",    "even",     "special",  "ironic",  "careful", "blithe",
                                         "deposits", "requests", "accounts", "packages"};

typedef struct made {
    zf_encode_column *columns;
    size_t count;
    uint64_t rows;
} made;

static void free_made(made *m) {
    for (size_t k = 0; k < m->count; k++) {
        free((void *)(uintptr_t)m->columns[k].values);
        free((void *)(uintptr_t)m->columns[k].offsets);
        free((void *)(uintptr_t)m->columns[k].validity);
    }
    free(m->columns);
}

static zf_status no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated columns"); }

/// The number of a row: runs of five, of a thousand numbers that come again.
static uint64_t number_of(uint64_t row, unsigned bits) { return bits <= 8 ? row / RUN % 13 : 100 + row / RUN * 3 % KINDS; }

static zf_status make_numbers(zf_element element, uint64_t rows, zf_encode_column *out, zf_error *error) {
    unsigned bits = zf_element_bits(element), bytes = bits < 8 ? 1 : bits / 8; // booleans are a byte each
    uint8_t *values = malloc(rows * bytes + 1);
    out->values = values;
    if (values == NULL) return no_memory(error);
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t number = bits == 1 ? row / RUN % 2 : number_of(row, bits);
        double hundredths = (double)number / 100;
        float single = (float)hundredths;
        const void *from = element == ZF_F64 ? (const void *)&hundredths : element == ZF_F32 ? (const void *)&single : &number;
        memcpy(values + row * bytes, from, bytes);
    }
    return ZF_OK;
}

static zf_status make_texts(uint64_t rows, zf_encode_column *out, zf_error *error) {
    int64_t *offsets = malloc((rows + 1) * sizeof *offsets);
    char *values = malloc(rows * WORD_BYTES + 1);
    out->offsets = offsets;
    out->values = values;
    if (offsets == NULL || values == NULL) return no_memory(error);
    uint64_t at = 0;
    for (uint64_t row = 0; row < rows; row++) {
        const char *word = words[row * 7 / RUN % WORDS];
        offsets[row] = (int64_t)at;
        memcpy(values + at, word, strlen(word));
        at += strlen(word);
    }
    offsets[rows] = (int64_t)at;
    return ZF_OK;
}

static zf_status make_nulls(uint64_t rows, zf_encode_column *out, zf_error *error) {
    uint8_t *validity = calloc(rows / 8 + 1, 1);
    out->validity = validity;
    if (validity == NULL) return no_memory(error);
    for (uint64_t row = 0; row < rows; row++) {
        if (row % NULLS != 0) validity[row / 8] |= (uint8_t)(1u << row % 8);
    }
    return ZF_OK;
}

static zf_status make_columns(const zf_table *table, made *m, zf_error *error) {
    m->columns = calloc(table->column_count + 1u, sizeof *m->columns);
    if (m->columns == NULL) return no_memory(error);
    for (const zf_column *column = table->columns; column != NULL; column = column->next) {
        zf_encode_column *out = &m->columns[m->count++];
        zf_column_type type = zf_column_type_of(column->type);
        out->name = column->name;
        if (type.element == ZF_STRING)
            ZF_TRY(make_texts(m->rows, out, error));
        else
            ZF_TRY(make_numbers(type.element, m->rows, out, error));
        if (type.nullable) ZF_TRY(make_nulls(m->rows, out, error));
    }
    return ZF_OK;
}

zf_status zf_tune_make(zf_program *program, const zf_table *table, uint64_t rows, const char *path, zf_error *error) {
    made m = {.rows = rows};
    zf_status status = make_columns(table, &m, error);
    zf_encode_options options = {.overwrite = true};
    if (status == ZF_OK) status = zf_encode(program, table->name, m.columns, m.count, rows, &options, path, NULL, error);
    if (status != ZF_OK && status != ZF_ERR_MEMORY)
        zf_fail_hint(error, status, "the columns were generated: encode data of your own, and tune with that container");
    free_made(&m);
    return status;
}

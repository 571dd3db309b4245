#include "tests/gpu/state_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/gpu_decode.h"

enum {
    TEXT = 24,
    VALUES_MOST = 1 << 24, ///< bytes that a caller would still give
    WORK_MOST = 1 << 26,
    CANARY = 256,
    POISON = 0x5c,
};

// ---- Data -----------------------------------------------------------------------------------------------------

static uint64_t runs_of(uint64_t row) { return row / 7 + row / 50 * 2; }

static int64_t orderkey(uint64_t row) { return (int64_t)(row / 4 / 8 * 32 + row / 4 % 8); }
static int64_t keys(uint64_t row) { return (int64_t)(row / 8 * 32 + row % 8 + row / 3000 * 100000); }
static int64_t partkey(uint64_t row) { return (int64_t)(row / 4); }
static int64_t walk(uint64_t row) { return (int64_t)(row * 5 + gpu_mix(row) % 5); }
static int64_t slopes(uint64_t row) { return (int64_t)(row * 3 + row / 300 * (row % 300)); }
static int64_t runs(uint64_t row) { return (int64_t)(gpu_mix(runs_of(row)) % 1000); }
static int64_t rising(uint64_t row) { return (int64_t)(runs_of(row) * 11); }
static int64_t gaps(uint64_t row) { return (int64_t)(row % 90 == 5 ? gpu_mix(row) % (1 << 30) : gpu_mix(row) % 50); }
static int64_t amounts(uint64_t row) {
    double value = row % 250 == 9 ? (double)gpu_mix(row) / 3 : (double)(gpu_mix(row) % 100000) / 100;
    int64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}
static int64_t members(uint64_t row) { return gpu_mix(row) % 9 == 0; }
static int64_t pieces(uint64_t row) { return (int64_t)(gpu_mix(row / 6) % 20); }

static int64_t noise(uint64_t row) { return (int64_t)(gpu_mix(row) % 256); }
static int64_t speech(uint64_t row) {
    static const char words[] = "packages sleep furiously above pending deposits, and accounts haggle; ";
    return words[(row / 29 * 13 + row % 29) % (sizeof words - 1)];
}
static int64_t spelled(uint64_t row) { return (row + 4) / 8 % 10 == 4 ? "sequence"[(row + 4) % 8] : noise(row); }

static int64_t flags(uint64_t row) { return "ANRXY"[gpu_mix(row) % 5]; }

static int text(uint64_t row, char *out) {
    return row % 11 == 4 ? 0 : snprintf(out, TEXT, "%llu", (unsigned long long)gpu_mix(row) >> (20 + row % 40));
}
static int kind(uint64_t row, char *out) {
    return snprintf(out, TEXT, "kind%0*llu", (int)(row % 5) + 1, (unsigned long long)gpu_mix(row) % 9);
}
static int repeated(uint64_t row, char *out) { return kind(gpu_mix(row / 9) % 40, out); }
static int prose(uint64_t row, char *out) {
    return row % 7 == 0 ? 0 : snprintf(out, TEXT, "w%llu x%llu.", (unsigned long long)row % 3, (unsigned long long)row % 2);
}

static bool some(uint64_t row) { return gpu_mix(row) % 4 == 0; }
static bool stretches(uint64_t row) { return row / 40 % 3 == 1; }

static int order(uint64_t row, char *out) { return snprintf(out, TEXT, "Order#%06llu", (unsigned long long)row * 3 + 17); }
static int url(uint64_t row, char *out) {
    return snprintf(out, TEXT, "www.site%llu.org/p%llu", (unsigned long long)gpu_mix(row) % 7,
                    (unsigned long long)gpu_mix(row + 9) % 90);
}
static int64_t steady(uint64_t row) { return (int64_t)(row * row / 8); }
static int64_t bits_of_fraction(uint64_t row) {
    float value = (float)(gpu_mix(row) % 40) / 8;
    int64_t bits = 0;
    memcpy(&bits, &value, 4);
    return bits;
}
static int64_t rare(uint64_t row) { return gpu_mix(row) % 50 == 0; }
static int64_t uneven(uint64_t row) { return (int64_t)(gpu_mix(row) % 2 == 0 ? 7 : gpu_mix(row) % 60); }

/// A column: how its rows are made. Strings have a text, others a number of so many bytes, booleans of 0.
typedef struct made_column {
    const char *name;
    unsigned bytes;
    int64_t (*number)(uint64_t row);
    int (*text)(uint64_t row, char *out); ///< its length
    bool (*null)(uint64_t row);
} made_column;

static const made_column columns[] = {
    {"orderkey", 8, orderkey, NULL, NULL}, {"keys", 8, keys, NULL, NULL},      {"partkey", 4, partkey, NULL, NULL},
    {"walk", 4, walk, NULL, NULL},         {"slopes", 8, slopes, NULL, NULL},  {"runs", 4, runs, NULL, NULL},
    {"rising", 8, rising, NULL, NULL},     {"gaps", 4, gaps, NULL, NULL},      {"amounts", 8, amounts, NULL, NULL},
    {"members", 0, members, NULL, NULL},   {"texts", 0, NULL, text, NULL},     {"kinds", 0, NULL, kind, NULL},
    {"repeated", 0, NULL, repeated, NULL}, {"prose", 0, NULL, prose, NULL},    {"gone", 4, runs, NULL, some},
    {"sparse", 8, walk, NULL, stretches},  {"names", 0, NULL, repeated, some}, {"pieces", 1, pieces, NULL, NULL},
    {"coded", 1, gaps, NULL, NULL},        {"noise", 1, noise, NULL, NULL},    {"speech", 1, speech, NULL, NULL},
    {"spelled", 1, spelled, NULL, NULL},   {"flags", 1, flags, NULL, NULL},    {"marks", 4, flags, NULL, some},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const made_column library[] = {
    {"orders", 0, NULL, order, NULL},
    {"urls", 0, NULL, url, NULL},
    {"paths", 0, NULL, url, some},
    {"entropy", 0, NULL, url, NULL},
    {"sentences", 0, NULL, prose, NULL},
    {"repeats", 0, NULL, repeated, stretches},
    {"either", 0, NULL, kind, NULL},
    {"dense", 0, members, NULL, NULL},
    {"few", 0, rare, NULL, NULL},
    {"maybe", 0, members, NULL, some},
    {"days", 4, runs, NULL, stretches},
    {"stamps", 8, steady, NULL, NULL},
    {"money", 8, runs, NULL, NULL},
    {"trees", 4, runs, NULL, NULL},
    {"slopes", 2, slopes, NULL, NULL},
    {"lookups", 8, rising, NULL, NULL},
    {"floats", 4, bits_of_fraction, NULL, some},
    {"patched", 8, amounts, NULL, some},
    {"outliers", 4, gaps, NULL, NULL},
    {"blocks", 4, runs, NULL, NULL},
    {"sets", 4, walk, NULL, NULL},
    {"planes", 8, runs, NULL, NULL},
    {"coded", 1, uneven, NULL, some},
    {"places", 8, walk, NULL, NULL},
    {"lengths", 4, walk, NULL, NULL},
    {"words", 4, runs, NULL, NULL},
    {"shuffled", 4, runs, NULL, NULL},
    {"prices", 8, amounts, NULL, NULL},
};
enum { LIBRARY = sizeof library / sizeof library[0] };

const char *state_column_name(size_t column) { return columns[column].name; }

static bool has_null(const made_column *c, uint64_t row) { return c->null != NULL && c->null(row); }
static bool is_null(size_t c, uint64_t row) { return has_null(&columns[c], row); }

static void set_bit(uint8_t *bits, uint64_t at, bool value) { bits[at / 8] |= (uint8_t)(value << (at % 8)); }
static bool bit(const uint8_t *bits, uint64_t at) { return bits[at / 8] >> (at % 8) & 1; }

static void make(const made_column *c, uint64_t rows, zf_encode_column *out) {
    uint64_t size = c->bytes > 0 ? c->bytes : c->text != NULL ? TEXT : 1, at = 0;
    uint8_t *values = calloc(rows, size), *validity = calloc(1, rows / 8 + 1);
    int64_t *offsets = calloc(rows + 1, sizeof *offsets);
    for (uint64_t row = 0; row < rows; row++) {
        bool null = has_null(c, row);
        set_bit(validity, row, !null);
        if (c->text != NULL) {
            char written[TEXT];
            int length = null ? 0 : c->text(row, written);
            memcpy(values + at, written, (size_t)length);
            at += (uint64_t)length;
            offsets[row + 1] = (int64_t)at;
        } else if (!null) {
            int64_t value = c->number(row);
            memcpy(values + row * size, &value, size);
        }
    }
    *out = (zf_encode_column){.name = c->name,
                              .values = values,
                              .offsets = c->text != NULL ? offsets : NULL,
                              .validity = c->null != NULL ? validity : NULL};
    if (out->offsets == NULL) free(offsets);
    if (out->validity == NULL) free(validity);
}

/// The columns of the program's only table.
static zf_status encode(gpu_machine *m, const char *text, const char *table, const made_column *from, size_t count, uint64_t rows,
                        uint64_t rows_per_block, const char *path, zf_error *error) {
    zf_encode_column data[STATE_COLUMNS_MOST];
    zf_program *program = NULL;
    zf_encode_options options = {.rows_per_block = rows_per_block, .threads = 1, .overwrite = true};
    for (size_t c = 0; c < count; c++) make(&from[c], rows, &data[c]);
    zf_status status = zf_program_load(m->compiler, text, &program, error);
    if (status == ZF_OK) status = zf_encode(program, table, data, count, rows, &options, path, NULL, error);
    for (size_t c = 0; c < count; c++) {
        free((void *)(uintptr_t)data[c].values);
        free((void *)(uintptr_t)data[c].offsets);
        free((void *)(uintptr_t)data[c].validity);
    }
    zf_program_free(program);
    return status;
}

zf_status state_encode(gpu_machine *m, uint64_t rows, uint64_t rows_per_block, const char *path, size_t *count, zf_error *error) {
    *count = COLUMNS;
    return encode(m, ZF_SOURCE_DIR "/tests/gpu/states.zf", "states", columns, COLUMNS, rows, rows_per_block, path, error);
}

zf_status library_encode(gpu_machine *m, uint64_t rows, uint64_t rows_per_block, const char *path, zf_error *error) {
    return encode(m, ZF_SOURCE_DIR "/tests/gpu/library.zf", "library", library, LIBRARY, rows, rows_per_block, path, error);
}

// ---- Decodes --------------------------------------------------------------------------------------------------

/// Whether rows from `begin` on are the column's.
static bool is_right(size_t c, uint64_t begin, uint64_t count, const zf_decode_buffers *b) {
    const uint8_t *values = b->values;
    if (columns[c].text != NULL && b->offsets[0] != 0) return false;
    for (uint64_t k = 0; k < count; k++) {
        bool null = is_null(c, begin + k);
        if (columns[c].null != NULL && bit(b->validity, k) == null) return false;
        if (columns[c].text != NULL) {
            char written[TEXT];
            int64_t length = null ? 0 : columns[c].text(begin + k, written);
            if (b->offsets[k + 1] - b->offsets[k] != length) return false;
            if (memcmp(values + b->offsets[k], written, (size_t)length) != 0) return false;
            continue;
        }
        int64_t value = null ? 0 : columns[c].number(begin + k);
        if (columns[c].bytes == 0 && bit(values, k) != (value != 0)) return false;
        if (columns[c].bytes > 0 && memcmp(values + k * columns[c].bytes, &value, columns[c].bytes) != 0) return false;
    }
    return true;
}

state_verdict state_decode(zf_container *container, size_t c, const char *device, uint64_t begin, uint64_t count,
                           zf_error *error) {
    *error = (zf_error){0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count, .threads = 1};
    zf_decode_sizes sizes = {0};
    if (zf_decode_size(container, c, &options, &sizes, error) != ZF_OK) return STATE_TOLD;
    const size_t bytes[] = {sizes.values, sizes.offsets, sizes.validity, sizes.workspace};
    if (sizes.values > VALUES_MOST || sizes.workspace > WORK_MOST) {
        error->status = ZF_ERR_MEMORY;
        return STATE_TOLD;
    }
    uint8_t *maps[4];
    for (int k = 0; k < 4; k++) {
        maps[k] = aligned_alloc(64, (2 * CANARY + bytes[k] + 63) / 64 * 64);
        memset(maps[k], POISON, 2 * CANARY + bytes[k]);
    }
    zf_decode_buffers buffers = {.values = maps[0] + CANARY,
                                 .offsets = (int64_t *)(void *)(maps[1] + CANARY),
                                 .validity = maps[2] + CANARY,
                                 .workspace = maps[3] + CANARY,
                                 ZF_DECODE_BYTES(sizes)};
    zf_status status = zf_decode(container, c, device, &options, &buffers, NULL, error);
    unsigned touched = 0;
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < CANARY; i++) touched += maps[k][i] != POISON || maps[k][CANARY + bytes[k] + i] != POISON;
    bool right = status == ZF_OK && touched == 0 && is_right(c, begin, count, &buffers);
    for (int k = 0; k < 4; k++) free(maps[k]);
    if (touched > 0) return STATE_BESIDE;
    return status != ZF_OK ? STATE_TOLD : right ? STATE_RIGHT : STATE_WRONG;
}

/// Bits from bit `skip` on, from bit 0 on.
static uint8_t *bits_from(const uint8_t *bitmap, uint64_t skip, uint64_t count) {
    uint8_t *out = calloc(1, count / 8 + 1);
    for (uint64_t k = 0; k < count; k++) out[k / 8] |= (uint8_t)(bit(bitmap, skip + k) << k % 8);
    return out;
}

/// Whether the device's memory holds the output of zf_decode.
static bool fetched_right(size_t c, gpu_decode *d, uint64_t begin, uint64_t count) {
    uint8_t *validity = bits_from(d->copy_validity, d->sizes.validity_skip, d->sizes.validity > 0 ? count : 0);
    uint8_t *values = bits_from(d->copy, d->sizes.skip, columns[c].text == NULL && columns[c].bytes == 0 ? count : 0);
    zf_decode_buffers b = {.values = columns[c].bytes == 0 ? values : d->copy + d->sizes.skip, .validity = validity};
    if (columns[c].text != NULL) {
        b.offsets = (int64_t *)(void *)d->copy_offsets;
        b.values = d->copy + b.offsets[0]; // of the first row
        for (uint64_t k = count + 1; k-- > 0;) b.offsets[k] -= b.offsets[0];
    }
    bool right = is_right(c, begin, count, &b);
    free(values);
    free(validity);
    return right;
}

state_verdict state_decode_async(gpu_machine *m, zf_container *container, size_t c, uint64_t begin, uint64_t count,
                                 zf_error *error) {
    *error = (zf_error){0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count, .threads = 1};
    gpu_decode d;
    zf_status status = gpu_decode_open(m, container, c, &options, 4096, NULL, &d, error);
    if (status == ZF_OK) status = gpu_decode_queue(&d, error);
    if (status == ZF_OK) status = gpu_decode_wait(&d, NULL, error);
    if (status == ZF_OK) status = gpu_decode_fetch(&d, error);
    bool touched = status == ZF_OK && gpu_decode_touched(&d) != NULL;
    state_verdict verdict = status != ZF_OK                      ? STATE_TOLD
                            : touched                            ? STATE_BESIDE
                            : fetched_right(c, &d, begin, count) ? STATE_RIGHT
                                                                 : STATE_WRONG;
    gpu_decode_close(&d);
    return verdict;
}

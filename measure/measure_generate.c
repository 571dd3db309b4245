// Generated columns: each is one codec at one width or run length, so that figures of different machines and versions can be
// compared. The encoder makes the stored streams from the plain data, as for any column.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure_generate.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/output_file.h"
#include "runtime/container/element.h"

enum { BLOCK_BYTES = 16 << 20 };

/// A column that is being generated.
struct zf_generating {
    uint8_t *values;
    uint64_t count, random;
    unsigned element; ///< bytes
};

static uint64_t random_bits(zf_generating *m) { // xorshift64*
    m->random ^= m->random >> 12;
    m->random ^= m->random << 25;
    m->random ^= m->random >> 27;
    return m->random * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t random_of(zf_generating *m, unsigned bits) { return random_bits(m) >> (64 - bits); }

static void put(zf_generating *m, uint64_t at, uint64_t value) { memcpy(m->values + at * m->element, &value, m->element); }

static void make_bits(zf_generating *m, unsigned bits) {
    uint64_t base = bits == m->element * 8 ? 0 : 5;
    for (uint64_t k = 0; k < m->count; k++) put(m, k, base + random_of(m, bits));
}

static void make_dictionary(zf_generating *m, unsigned bits) {
    uint64_t entries[1 << 12];
    for (uint64_t k = 0; k < UINT64_C(1) << bits; k++) entries[k] = random_of(m, 31);
    for (uint64_t k = 0; k < m->count; k++) put(m, k, entries[random_of(m, bits)]);
}

static void make_hundredths(zf_generating *m, unsigned bits) {
    for (uint64_t k = 0; k < m->count; k++) {
        double value = (double)(90000 + random_of(m, bits)) / 100;
        memcpy(m->values + 8 * k, &value, 8);
    }
}

static void make_steps(zf_generating *m, unsigned bits) {
    uint64_t value = 77;
    for (uint64_t k = 0; k < m->count; k++) {
        put(m, k, value);
        value += random_of(m, bits) - 3;
    }
}

/// The length of a run: 2 to 2 * mean - 2, so that neighbours are not one run by chance of their lengths.
static uint64_t run_length(zf_generating *m, unsigned mean) { return 2 + random_bits(m) % (2 * mean - 3); }

/// The value of the next run, another than the last one's.
static uint64_t next_value(zf_generating *m, uint64_t value) { return (value + 1 + random_of(m, 10)) % (1 << 11); }

static void make_even_runs(zf_generating *m, unsigned length) {
    uint64_t value = 0;
    for (uint64_t at = 0; at < m->count; at++) {
        if (at % length == 0) value = next_value(m, value);
        put(m, at, value);
    }
}

static void make_random_runs(zf_generating *m, unsigned longest) {
    uint64_t value = 0;
    for (uint64_t at = 0; at < m->count;) {
        uint64_t end = at + 1 + random_bits(m) % longest;
        value = next_value(m, value);
        for (; at < end && at < m->count; at++) put(m, at, value);
    }
}

static void make_runs(zf_generating *m, unsigned mean) {
    for (uint64_t at = 0; at < m->count;) {
        uint64_t value = 9 + random_of(m, 11), end = at + run_length(m, mean);
        for (; at < end && at < m->count; at++) put(m, at, value);
    }
}

static void make_ramps(zf_generating *m, unsigned mean) {
    for (uint64_t at = 0; at < m->count;) {
        uint64_t value = random_of(m, 27), stride = random_of(m, 5) - 16, end = at + run_length(m, mean);
        for (; at < end && at < m->count; at++, value += stride) put(m, at, value);
    }
}

static const zf_generator generators[] = {
    {"bitpack-1-u32", ZF_U32, "bitpack", make_bits, 1},
    {"bitpack-7-u32", ZF_U32, "bitpack", make_bits, 7},
    {"bitpack-16-u32", ZF_U32, "bitpack", make_bits, 16},
    {"bitpack-25-u32", ZF_U32, "bitpack", make_bits, 25},
    {"bitpack-32-u32", ZF_U32, "bitpack", make_bits, 32},
    {"bitpack-1-i64", ZF_I64, "bitpack", make_bits, 1},
    {"bitpack-7-i64", ZF_I64, "bitpack", make_bits, 7},
    {"bitpack-16-i64", ZF_I64, "bitpack", make_bits, 16},
    {"bitpack-25-i64", ZF_I64, "bitpack", make_bits, 25},
    {"bitpack-40-i64", ZF_I64, "bitpack", make_bits, 40},
    {"bitpack-3-u8", ZF_U8, "bitpack", make_bits, 3},
    {"dictionary-4-i32", ZF_I32, "dictionary(bitpack)", make_dictionary, 4},
    {"dictionary-12-i32", ZF_I32, "dictionary(bitpack)", make_dictionary, 12},
    {"float2int-20-f64", ZF_F64, "float2int(bitpack)", make_hundredths, 20},
    {"delta-5-i32", ZF_I32, "delta(bitpack)", make_steps, 5},
    {"delta-5-i64", ZF_I64, "delta(bitpack)", make_steps, 5},
    {"rle-plain-even2-i32", ZF_I32, "rle", make_even_runs, 2},
    {"rle-plain-even64-i32", ZF_I32, "rle", make_even_runs, 64},
    {"rle-plain-random16-i32", ZF_I32, "rle", make_random_runs, 16},
    {"rle-even2-i32", ZF_I32, "rle(bitpack, bitpack)", make_even_runs, 2},
    {"rle-even64-i32", ZF_I32, "rle(bitpack, bitpack)", make_even_runs, 64},
    {"rle-random16-i32", ZF_I32, "rle(bitpack, bitpack)", make_random_runs, 16},
    {"rle-4-i32", ZF_I32, "rle(bitpack, bitpack)", make_runs, 4},
    {"rle-64-i32", ZF_I32, "rle(bitpack, bitpack)", make_runs, 64},
    {"rle-4-i64", ZF_I64, "rle(bitpack, bitpack)", make_runs, 4},
    {"delta_stride-4-i64", ZF_I64, "delta_stride(bitpack, bitpack, bitpack)", make_ramps, 4},
    {"delta_stride-64-i64", ZF_I64, "delta_stride(bitpack, bitpack, bitpack)", make_ramps, 64},
};
enum { GENERATORS = sizeof generators / sizeof generators[0] };

static bool selects(const char *name, size_t length, const zf_generator *generator) {
    if (length == 3 && memcmp(name, "all", 3) == 0) return true;
    if (strncmp(generator->name, name, length) != 0) return false;
    return length > 0 && (generator->name[length] == 0 || generator->name[length] == '-');
}

bool zf_generators_select(const char *names, bool (*take)(void *user, const zf_generator *generator), void *user,
                          const char **unknown) {
    for (const char *at = names; at != NULL;) {
        size_t length = strcspn(at, ",");
        bool any = false;
        for (size_t i = 0; i < GENERATORS; i++) {
            if (!selects(at, length, &generators[i])) continue;
            any = true;
            if (take != NULL && !take(user, &generators[i])) return true;
        }
        *unknown = at;
        if (!any) return false;
        at = at[length] != 0 ? at + length + 1 : NULL;
    }
    return true;
}

static zf_status write_program(const zf_generator *generator, const char *path, zf_error *error) {
    char text[256];
    int length = snprintf(text, sizeof text, "table generated { values: %s = %s; }\n", zf_element_name(generator->element),
                          generator->codec);
    zf_output_file *file = NULL;
    zf_status status = zf_output_create(path, (zf_output_options){.overwrite = true}, &file, error);
    if (status == ZF_OK) status = zf_output_write(file, 0, text, (size_t)length, error);
    if (status == ZF_OK) status = zf_output_commit(file, error);
    zf_output_free(file);
    return status;
}

static zf_status encode(zf_compiler *compiler, const zf_generating *m, const char *program_path, const char *container_path,
                        zf_error *error) {
    zf_program *program = NULL;
    zf_status status = zf_program_load(compiler, program_path, &program, error);
    zf_encode_column column = {.name = "values", .values = m->values};
    zf_encode_options options = {.overwrite = true};
    if (status == ZF_OK) status = zf_encode(program, NULL, &column, 1, m->count, &options, container_path, NULL, error);
    zf_program_free(program);
    return status;
}

zf_status zf_generate(const zf_generator *generator, zf_compiler *compiler, uint64_t bytes, const char *program_path,
                      const char *container_path, zf_measure_plain *plain, zf_error *error) {
    zf_generating m = {.random = UINT64_C(0x9e3779b97f4a7c15), .element = zf_element_bits(generator->element) / 8};
    if (bytes > BLOCK_BYTES) bytes = BLOCK_BYTES;
    m.count = bytes < m.element ? 1 : bytes / m.element;
    m.values = malloc(m.count * m.element);
    *plain = (zf_measure_plain){m.values, m.count * m.element, "the generator's data"};
    if (m.values == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for generated data");
    generator->make(&m, generator->parameter);
    ZF_TRY(write_program(generator, program_path, error));
    return encode(compiler, &m, program_path, container_path, error);
}

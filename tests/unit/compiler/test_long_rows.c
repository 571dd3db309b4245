// Links: zipflow-compiler
// Memory of strings of 0 bytes to 200 MiB a row, counted by allocations: an encode, whole or in batches, a decode and a range of
// rows take at most four blocks and the longest row, and a range without the long rows takes nothing of theirs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/counted_memory.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define BLOCK (32 * MIB) ///< the most characters of a block of several rows: twice 16 MiB, where blocks are cut by bytes
#ifdef ZF_SANITIZE
#define LONGEST (64 * MIB)
#else
#define LONGEST (200 * MIB)
#endif

typedef struct part {
    uint64_t rows, bytes; ///< of a row
} part;

enum { PARTS = 8, ROWS_MOST = 10000, BATCH = 37, POISON = 0xa5 };
static const part mixed[PARTS] = {{5000, 0}, {600, 64 * KIB}, {20, 2 * MIB}, {1, LONGEST},
                                  {3000, 0}, {100, 64 * KIB}, {10, 2 * MIB}, {7, 3}};
static const part shorter[PARTS] = {{5000, 0}, {600, 64 * KIB}, {20, 2 * MIB}, {3000, 0}, {100, 64 * KIB}, {10, 2 * MIB}, {7, 3}};

static const char program_text[] = "table lengths { s: string = strings(lengths: bitpack); }\n"
                                   "table nulls { s: string? = nullable(values: strings(lengths: bitpack)); }\n";

static zf_context *context;
static zf_program *program;
static const char *path; ///< of the container

// ---- Rows -----------------------------------------------------------------------------------------------------

typedef struct table {
    const char *name;
    uint64_t rows, longest;
    uint64_t apart; ///< a row of 64 KiB: the first of ten, with ten of 2 MiB behind them, in blocks without the longest row
    int64_t offsets[ROWS_MOST + 1];
    uint8_t *text;
} table;

static table *make_table(const char *name, const part *parts) {
    table *t = calloc(1, sizeof *t);
    if (t == NULL) exit(2);
    t->name = name;
    for (size_t p = 0; p < PARTS; p++) {
        if (parts[p].bytes > t->longest) t->longest = parts[p].bytes;
        for (uint64_t k = 0; k < parts[p].rows; k++, t->rows++)
            t->offsets[t->rows + 1] = t->offsets[t->rows] + (int64_t)parts[p].bytes;
    }
    t->apart = parts[0].rows + parts[1].rows - 10;
    t->text = malloc((size_t)t->offsets[t->rows]);
    if (t->text == NULL) exit(2);
    for (int64_t k = 0; k < t->offsets[t->rows]; k++) t->text[k] = (uint8_t)(k * 7 >> 3 ^ k >> 17);
    return t;
}

static void check_memory(const table *t, const char *what, uint64_t taken, uint64_t block) {
    uint64_t most = 4 * block + t->longest;
    printf("%s, rows of up to %llu MiB, %s: %.1f of at most %llu MiB\n", t->name, (ull)(t->longest / MIB), what,
           (double)taken / (double)MIB, (ull)(most / MIB));
    CHECK(taken <= most, "%s, %s: %llu bytes of at most %llu", t->name, what, (ull)taken, (ull)most);
}

/// The largest block: the most that several rows may have, or the longest row alone.
static uint64_t largest_block(const table *t) { return t->longest > BLOCK ? t->longest : BLOCK; }

// ---- Encoding -------------------------------------------------------------------------------------------------

static const zf_encode_options options = {ZF_INIT(zf_encode_options), .threads = 1, .overwrite = true};

static void encode(const table *t) {
    zf_error error = {0};
    zf_encode_column column = {.name = "s", .values = t->text, .offsets = t->offsets};
    zf_status status = zf_encode(program, t->name, &column, 1, t->rows, &options, path, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s", t->name, error.message);
}

static void encode_batches(const table *t) {
    zf_error error = {0};
    zf_encode_column column = {.name = "s"};
    zf_table_writer *writer = NULL;
    zf_status status = zf_table_writer_create(program, t->name, &column, 1, &options, path, &writer, &error);
    for (uint64_t at = 0; at < t->rows && status == ZF_OK; at += BATCH) {
        column = (zf_encode_column){.name = "s", .values = t->text, .offsets = t->offsets + at};
        status = zf_table_writer_append(writer, &column, 1, t->rows - at < BATCH ? t->rows - at : BATCH, &error);
    }
    if (status == ZF_OK) status = zf_table_writer_finish(writer, NULL, &error);
    CHECK(status == ZF_OK, "%s: %s", t->name, error.message);
    zf_table_writer_free(writer);
}

// ---- Decoding -------------------------------------------------------------------------------------------------

static void decode(const table *t, zf_container *container, const char *what, uint64_t begin, uint64_t rows, uint64_t block) {
    zf_decode_options some = {ZF_INIT(zf_decode_options), .threads = 1, .some_rows = true, .row_begin = begin, .row_count = rows};
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_error error = {0};
    CHECK(zf_decode_size(container, 0, &some, &sizes, &error) == ZF_OK, "%s: %s", what, error.message);
    zf_decode_buffers to = {ZF_INIT(zf_decode_buffers), ZF_DECODE_BYTES(sizes)};
    to.values = aligned_alloc(64, (sizes.values + 127) / 64 * 64);
    to.offsets = malloc(sizes.offsets + 8);
    to.validity = malloc(sizes.validity + 1);
    if (to.values == NULL || to.offsets == NULL || to.validity == NULL) exit(2);
    memset(to.values, POISON, sizes.values);
    size_t before = peak = now;
    to.workspace = aligned_alloc(64, (sizes.workspace + 127) / 64 * 64);
    zf_status status = zf_decode(container, 0, "cpu", &some, &to, NULL, &error);
    uint64_t taken = peak - before;
    CHECK(status == ZF_OK, "%s, %s: %s", t->name, what, error.message);
    const int64_t *expected = t->offsets + begin;
    bool same = status == ZF_OK;
    for (uint64_t k = 0; k <= rows && same; k++) same = to.offsets[k] == expected[k] - expected[0];
    same = same && memcmp(to.values, t->text + expected[0], (size_t)(expected[rows] - expected[0])) == 0;
    CHECK(same, "%s, %s: other strings", t->name, what);
    // The caller's characters have room for the tiles that the range cuts, which are within its blocks.
    uint64_t wanted = (uint64_t)(expected[rows] - expected[0]);
    CHECK(sizes.values <= wanted + 2 * block, "%s, %s: %llu bytes for %llu characters", t->name, what, (ull)sizes.values,
          (ull)wanted);
    check_memory(t, what, taken, block);
    free(to.values);
    free(to.offsets);
    free(to.validity);
    free(to.workspace);
}

static void check_decodes(const table *t, bool whole) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_status status = zf_container_open(context, path, &container, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    if (status != ZF_OK) return;
    if (whole) decode(t, container, "a decode", 0, t->rows, largest_block(t));
    decode(t, container, "a range with the longest row", t->apart + 20, 12, largest_block(t));
    table without = *t; // a range without it: no row above 2 MiB counts
    without.longest = 2 * MIB;
    decode(&without, container, "a range without long rows", t->apart, 20, BLOCK);
    zf_container_close(container);
}

// ---- All ------------------------------------------------------------------------------------------------------

static void test_table(const char *name, const part *parts) {
    table *t = make_table(name, parts);
    size_t before = peak = now;
    encode_batches(t);
    check_memory(t, "batches", peak - before, largest_block(t));
    check_decodes(t, true);
    before = peak = now;
    encode(t);
    check_memory(t, "an encode", peak - before, largest_block(t));
    check_decodes(t, false);
    free(t->text);
    free(t);
}

int main(void) {
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_context_options single = {ZF_INIT(zf_context_options), .cache_dir = "", .threads = 1};
    zf_compiler_options fast = {ZF_INIT(zf_compiler_options), .std_dir = ZF_SOURCE_DIR "/dsl/std", .optimise = 1};
    CHECK(scratch_begin("long-rows"), "no directory");
    FILE *file = fopen(place("t.zf"), "w");
    CHECK(file != NULL && fputs(program_text, file) >= 0 && fclose(file) == 0, "t.zf cannot be written");
    CHECK(zf_context_create(&single, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, &fast, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s (%s)", error.message, error.place);
    char container[128];
    snprintf(container, sizeof container, "%s", place("t.zfd")); // `place` has few buffers
    path = container;
    if (check_failures == 0) {
        test_table("lengths", shorter);
        test_table("nulls", shorter);
        test_table("nulls", mixed);
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

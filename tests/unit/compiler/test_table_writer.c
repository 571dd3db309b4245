// Links: zipflow-compiler
// Tables that are written in batches: the file depends on the rows alone, decodes to them, and is not there after an error.
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { ROWS = 30011, COLUMNS = 6, BLOCK = 8192 };

static const char text[] = "table t {\n"
                           "    id: i64 = delta(bitpack);\n"
                           "    flag: bool? = nullable(values: plain);\n" // no batch has a validity
                           "    price: i32? = nullable(values: bitpack);\n"
                           "    name: string = strings(lengths: bitpack);\n"
                           "    note: string? = nullable(values: strings);\n"
                           "    pick: u32 = bitpack | plain;\n"
                           "}\n"
                           "table small { n: u32 = narrow; }\n"
                           "table texts { s: string = strings; }\n"
                           "table flags { f: bool = plain; }\n"
                           "algorithm narrow<T: unsigned>(a: u8[]) -> T[] fully_parallel {\n"
                           "    decode(i) = a[i] as T;\n"
                           "    encode(x) { for v in x { if v > 255 { refuse \"too large\"; } a.push(v as u8); } }\n"
                           "}\n";

static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;

static struct {
    int64_t id[ROWS];
    uint8_t flag[ROWS];
    int32_t price[ROWS];
    uint8_t valid[ROWS / 8 + 1], present[ROWS / 8 + 1];
    char characters[16 * ROWS];
    int64_t name[ROWS + 1], note[ROWS + 1];
    uint32_t pick[ROWS];
} data;

static void fill(void) {
    for (uint64_t k = 0; k < ROWS; k++) {
        uint64_t noise = k * 2654435761u >> 7;
        data.id[k] = (int64_t)(3 * k + noise % 3);
        data.flag[k] = noise % 5 == 0;
        data.price[k] = noise % 7 == 0 ? 0 : (int32_t)(noise % 1000);
        data.valid[k / 8] |= (uint8_t)((noise % 7 != 0) << (k % 8));
        data.present[k / 8] |= (uint8_t)((noise % 3 != 0) << (k % 8));
        data.name[k + 1] = data.name[k] + (int64_t)(noise % 12);
        data.note[k + 1] = data.note[k] + (noise % 3 == 0 ? 0 : (int64_t)(noise % 9));
        data.pick[k] = (uint32_t)(k / BLOCK % 2 == 0 ? noise % 50 : noise * 40503u);
    }
    for (size_t k = 0; k < sizeof data.characters; k++) data.characters[k] = (char)('a' + k % 23);
}

/// The columns from row `at` on, in another order than the table's. `bits`: room for the validity of two columns.
static void columns_at(uint64_t at, uint64_t rows, uint8_t *bits, zf_encode_column out[COLUMNS]) {
    uint8_t *valid = bits, *present = bits + ROWS / 8 + 1;
    memset(bits, 0, 2 * (ROWS / 8 + 1));
    for (uint64_t k = 0; k < rows; k++) {
        valid[k / 8] |= (uint8_t)((data.valid[(at + k) / 8] >> ((at + k) % 8) & 1) << (k % 8));
        present[k / 8] |= (uint8_t)((data.present[(at + k) / 8] >> ((at + k) % 8) & 1) << (k % 8));
    }
    out[0] = (zf_encode_column){.name = "pick", .values = data.pick + at};
    out[1] = (zf_encode_column){.name = "note", .values = data.characters, .offsets = data.note + at, .validity = present};
    out[2] = (zf_encode_column){.name = "id", .values = data.id + at};
    out[3] = (zf_encode_column){.name = "flag", .values = data.flag + at};
    out[4] = (zf_encode_column){.name = "price", .values = data.price + at, .validity = valid};
    out[5] = (zf_encode_column){.name = "name", .values = data.characters, .offsets = data.name + at, .full_name = "the name"};
}

static zf_status write_batches(const char *name, uint64_t rows, const uint64_t *batches, size_t batch_count,
                               const zf_encode_options *options, zf_encode_stats *stats, zf_error *error) {
    static uint8_t bits[2 * (ROWS / 8 + 1)];
    zf_encode_column columns[COLUMNS];
    zf_table_writer *writer = NULL;
    columns_at(0, 0, bits, columns);
    zf_status status = zf_table_writer_create(program, "t", columns, COLUMNS, options, place(name), &writer, error);
    uint64_t at = 0;
    for (size_t k = 0; status == ZF_OK && at < rows; k++) {
        uint64_t some = batches[k % batch_count];
        if (some > rows - at) some = rows - at;
        columns_at(at, some, bits, columns);
        status = zf_table_writer_append(writer, columns, COLUMNS, some, error);
        at += some;
        CHECK(status != ZF_OK || zf_table_writer_rows(writer) == at, "%llu", (ull)zf_table_writer_rows(writer));
    }
    if (status == ZF_OK) status = zf_table_writer_finish(writer, stats, error);
    zf_table_writer_free(writer);
    return status;
}

static bool same_files(const char *one, const char *other) {
    char command[300];
    snprintf(command, sizeof command, "cmp %s %s", place(one), place(other));
    return system(command) == 0;
}

static uint64_t files_there(void) {
    uint64_t count = 0;
    DIR *directory = opendir(scratch);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.' || entry->d_name[1] != 0;
    if (directory != NULL) closedir(directory);
    return count;
}

// ---- Memory that ends -----------------------------------------------------------------------------------------

static atomic_long allocations_left = LONG_MAX;

enum { MALLOC, CALLOC, REALLOC, ALIGNED_ALLOC, MMAP, MREMAP, KINDS };
static const char *const kind_names[KINDS] = {"malloc", "calloc", "realloc", "aligned_alloc", "mmap", "mremap"};
static unsigned ends[KINDS]; ///< how often memory ended in each

/// Counts an allocation, and the first one that is refused by its kind.
static bool refused(int kind) {
    long left = atomic_fetch_sub(&allocations_left, 1);
    if (left == 0) ends[kind]++;
    return left <= 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__real_mremap(void *at, size_t size, size_t larger, int flags, ...);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mremap(void *at, size_t size, size_t larger, int flags, ...);

void *__wrap_malloc(size_t size) { return refused(MALLOC) ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return refused(CALLOC) ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return refused(REALLOC) ? NULL : __real_realloc(memory, size); }

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return refused(ALIGNED_ALLOC) ? NULL : __real_aligned_alloc(alignment, size);
}

void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    return refused(MMAP) ? MAP_FAILED : __real_mmap(at, size, access, flags, fd, offset);
}

void *__wrap_mremap(void *at, size_t size, size_t larger, int flags, ...) {
    return refused(MREMAP) ? MAP_FAILED : __real_mremap(at, size, larger, flags);
}

// ---- Written files --------------------------------------------------------------------------------------------

/// Decodes a column of a file. Free its buffers.
static zf_decode_buffers decoded(zf_container *container, const char *name) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    size_t column = 0;
    CHECK(zf_container_find(container, name, &column, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_decode_size(container, column, NULL, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_decode_buffers out = {.values = aligned_alloc(64, (sizes.values + 64) / 64 * 64),
                             .offsets = malloc(sizes.offsets + 1),
                             .validity = malloc(sizes.validity + 1),
                             .workspace = aligned_alloc(64, (sizes.workspace + 64) / 64 * 64),
                             ZF_DECODE_BYTES(sizes)};
    CHECK(zf_decode(container, column, "cpu", NULL, &out, NULL, &error) == ZF_OK, "%s: %s", name, error.message);
    return out;
}

static void free_buffers(zf_decode_buffers *b) {
    free(b->values);
    free(b->offsets);
    free(b->validity);
    free(b->workspace);
}

static bool bit(const void *bits, uint64_t k) { return ((const uint8_t *)bits)[k / 8] >> (k % 8) & 1; }

static void check_file(const char *file, uint64_t rows) {
    zf_error error = {0};
    zf_container *container = NULL;
    uint64_t wrong = 0;
    CHECK(zf_container_open(context, place(file), &container, &error) == ZF_OK, "%s: %s", file, error.message);
    CHECK(zf_container_rows(container) == rows, "%s: %llu rows", file, (ull)zf_container_rows(container));
    zf_decode_buffers id = decoded(container, "id"), flag = decoded(container, "flag"), price = decoded(container, "price"),
                      name = decoded(container, "the name"), note = decoded(container, "note"), pick = decoded(container, "pick");
    for (uint64_t k = 0; k < rows; k++) {
        wrong += ((int64_t *)id.values)[k] != data.id[k] || bit(flag.values, k) != data.flag[k];
        wrong += ((uint32_t *)pick.values)[k] != data.pick[k];
        wrong += bit(price.validity, k) != bit(data.valid, k) || ((int32_t *)price.values)[k] != data.price[k];
        wrong += name.offsets[k + 1] != data.name[k + 1] || bit(note.validity, k) != bit(data.present, k);
        wrong += note.offsets[k + 1] != data.note[k + 1];
    }
    wrong += memcmp(name.values, data.characters, (size_t)data.name[rows]) != 0;
    wrong += memcmp(note.values, data.characters, (size_t)data.note[rows]) != 0;
    CHECK(wrong == 0, "%s: %llu rows of %llu differ", file, (ull)wrong, (ull)rows);
    zf_decode_buffers *all[] = {&id, &flag, &price, &name, &note, &pick};
    for (size_t k = 0; k < COLUMNS; k++) free_buffers(all[k]);
    zf_container_close(container);
}

/// Batches of any size give one file, which decodes to the rows.
static void test_batches(void) {
    static const uint64_t one[] = {1}, most[] = {ROWS}, odd[] = {4095}, even[] = {4097},
                          mixed[] = {0, 1, 4095, 4097, 0, 3, 12288, 77};
    static const struct {
        const char *name;
        const uint64_t *batches;
        size_t count;
        unsigned threads;
    } ways[] = {{"most.zfd", most, 1, 1},
                {"one.zfd", one, 1, 2},
                {"odd.zfd", odd, 1, 1},
                {"even.zfd", even, 1, 4},
                {"mixed.zfd", mixed, 8, 3}};
    zf_error error = {0};
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        const zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = BLOCK, .threads = ways[k].threads};
        zf_encode_stats stats[COLUMNS] = {{ZF_INIT(zf_encode_stats)}};
        CHECK(write_batches(ways[k].name, ROWS, ways[k].batches, ways[k].count, &options, stats, &error) == ZF_OK, "%s: %s",
              ways[k].name, error.message);
        CHECK(stats[0].blocks == 4 && stats[0].plain_bytes == 8 * (uint64_t)ROWS && stats[1].plain_bytes < ROWS,
              "%s: %llu blocks, %llu bytes", ways[k].name, (ull)stats[0].blocks, (ull)stats[0].plain_bytes);
        if (k > 0) CHECK(same_files("most.zfd", ways[k].name), "%s", ways[k].name);
    }
    check_file("most.zfd", ROWS);
    static uint8_t bits[2 * (ROWS / 8 + 1)];
    zf_encode_column columns[COLUMNS];
    columns_at(0, ROWS, bits, columns);
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = BLOCK};
    CHECK(zf_encode(program, "t", columns, COLUMNS, ROWS, &options, place("at-once.zfd"), NULL, &error) == ZF_OK, "%s",
          error.message);
    CHECK(same_files("most.zfd", "at-once.zfd"), "zf_encode");
}

/// Where each column has one block, the file is that of zf_encode.
static void test_as_encode(void) {
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 4097, ROWS}, mixed[] = {1000, 1, 4095, 4097};
    static uint8_t bits[2 * (ROWS / 8 + 1)];
    zf_error error = {0};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        zf_encode_column columns[COLUMNS];
        columns_at(0, sizes[k], bits, columns);
        for (unsigned format = 1; format <= 2; format++) {
            if (format == 1) columns[5].full_name = NULL;
            const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .format = format};
            columns[5].full_name = format == 1 ? NULL : "the name";
            CHECK(zf_encode(program, "t", columns, COLUMNS, sizes[k], &options, place("whole.zfd"), NULL, &error) == ZF_OK, "%s",
                  error.message);
            if (format == 1) continue; // the writer's columns have a full name
            CHECK(write_batches("parts.zfd", sizes[k], mixed, 4, &options, NULL, &error) == ZF_OK, "%s", error.message);
            CHECK(same_files("whole.zfd", "parts.zfd"), "%llu rows", (ull)sizes[k]);
            check_file("parts.zfd", sizes[k]);
        }
    }
}

// ---- Strings of any length --------------------------------------------------------------------------------------

/// Lengths of strings by their rows, and the least blocks that they make.
typedef struct text_case {
    const char *what;
    uint64_t rows, blocks;
    int64_t (*length)(uint64_t row);
} text_case;

/// Rows from 12 * 4096 on are 4 KiB longer: even blocks of them would have 100 MiB.
static int64_t longer_ones(uint64_t row) {
    return (int64_t)(row * 7 % 11 * 100) + (row >= 12 * 4096 && row < 16 * 4096 ? 4096 : 0);
}

/// Rows of megabytes, first and within others: 4096 of them are never in memory.
static int64_t megabytes(uint64_t row) { return row < 30 || row % 2000 == 1999 ? 5 << 20 : (int64_t)(row % 9); }

/// One row has more than all blocks that may wait.
static int64_t one_longest(uint64_t row) { return row == 4100 ? 90 << 20 : 10; }

static const text_case text_cases[] = {{"some are longer", 20 * 4096 + 17, 5, longer_ones},
                                       {"megabytes", 9000, 12, megabytes},
                                       {"one of 90 MiB", 5000, 2, one_longest}};

static void write_texts(const text_case *of, const int64_t *offsets, const char *characters, uint64_t batch, const char *file) {
    zf_error error = {0};
    zf_table_writer *writer = NULL;
    zf_encode_column column = {.name = "s"};
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
    CHECK(zf_table_writer_create(program, "texts", &column, 1, &options, place(file), &writer, &error) == ZF_OK, "%s",
          error.message);
    for (uint64_t at = 0, some; at < of->rows; at += some) {
        column = (zf_encode_column){.values = characters, .offsets = offsets + at};
        some = batch < of->rows - at ? batch : of->rows - at;
        CHECK(zf_table_writer_append(writer, &column, 1, some, &error) == ZF_OK, "%s: %s", of->what, error.message);
    }
    CHECK(zf_table_writer_finish(writer, NULL, &error) == ZF_OK, "%s: %s", of->what, error.message);
    zf_table_writer_free(writer);
}

/// Batches of any number of rows make the same file, and its rows decode.
static void test_long_strings(void) {
    static const uint64_t batches[] = {UINT64_MAX, 5000, 7};
    static const char *const names[] = {"long0.zfd", "long1.zfd", "long2.zfd"};
    for (size_t t = 0; t < sizeof text_cases / sizeof *text_cases; t++) {
        const text_case *of = &text_cases[t];
        zf_error error = {0};
        int64_t *offsets = malloc((of->rows + 1) * sizeof *offsets);
        offsets[0] = 0;
        for (uint64_t k = 0; k < of->rows; k++) offsets[k + 1] = offsets[k] + of->length(k);
        char *characters = malloc((size_t)offsets[of->rows] + 1);
        for (int64_t k = 0; k < offsets[of->rows]; k++) characters[k] = (char)('a' + k % 26);
        for (size_t way = 0; way < sizeof batches / sizeof *batches; way++) {
            write_texts(of, offsets, characters, batches[way], names[way]);
            CHECK(way == 0 || same_files(names[0], names[way]), "%s: batches of %llu", of->what, (ull)batches[way]);
        }
        zf_container *container = NULL;
        CHECK(zf_container_open(context, place(names[0]), &container, &error) == ZF_OK, "%s", error.message);
        zf_column_info info = {0};
        CHECK(zf_container_column(container, 0, &info, &error) == ZF_OK && info.rows_per_block == 0, "%s: %llu", of->what,
              (ull)info.rows_per_block);
        CHECK(info.blocks >= of->blocks, "%s: %llu blocks", of->what, (ull)info.blocks);
        zf_decode_buffers s = decoded(container, "s");
        CHECK(memcmp(s.offsets, offsets, (of->rows + 1) * sizeof *offsets) == 0, "%s: offsets", of->what);
        CHECK(memcmp(s.values, characters, (size_t)offsets[of->rows]) == 0, "%s: characters", of->what);
        free_buffers(&s);
        zf_container_close(container);
        free(offsets);
        free(characters);
    }
}

// ---- Errors ---------------------------------------------------------------------------------------------------

static void check_error(const zf_error *error, const char *code, const char *says) {
    CHECK(strcmp(error->code, code) == 0 && strstr(error->message, says) != NULL, "%s %s, not %s %s", error->code, error->message,
          code, says);
}

/// Wrong batches name the column and the table's row, and leave the writer as it was.
static void test_wrong_batches(void) {
    static uint8_t bits[2 * (ROWS / 8 + 1)];
    zf_encode_column columns[COLUMNS], wrong[COLUMNS];
    zf_error error = {0};
    zf_table_writer *writer = NULL;
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
    columns_at(0, 100, bits, columns);
    CHECK(zf_table_writer_create(program, "t", columns, COLUMNS - 1, NULL, place("w.zfd"), &writer, &error) == ZF_ERR_USAGE,
          "missing");
    check_error(&error, "ZF1101", "column `name` is missing");
    columns[3].name = "id";
    CHECK(zf_table_writer_create(program, "t", columns, COLUMNS, NULL, place("w.zfd"), &writer, &error) == ZF_ERR_USAGE, "twice");
    check_error(&error, "ZF1101", "column `id` is given twice");
    CHECK(writer == NULL, "a writer after an error");
    columns[3].name = "flag";
    CHECK(zf_table_writer_create(program, "t", columns, COLUMNS, &options, place("w.zfd"), &writer, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_table_writer_append(writer, NULL, 0, 0, &error) == ZF_OK, "no rows: %s", error.message);
    CHECK(zf_table_writer_append(writer, columns, COLUMNS, 100, &error) == ZF_OK, "%s", error.message);
    columns_at(100, 4000, bits, columns);
    CHECK(zf_table_writer_append(writer, columns, COLUMNS - 1, 4000, &error) == ZF_ERR_USAGE, "count");
    check_error(&error, "ZF1101", "a batch of 5 columns for a table of 6");
    memcpy(wrong, columns, sizeof wrong);
    wrong[2].name = "pick";
    CHECK(zf_table_writer_append(writer, wrong, COLUMNS, 4000, &error) == ZF_ERR_USAGE, "name");
    check_error(&error, "ZF1101", "column 2 of a batch is `pick`");
    memcpy(wrong, columns, sizeof wrong);
    int64_t *offsets = malloc(4001 * sizeof *offsets);
    memcpy(offsets, columns[1].offsets, 4001 * sizeof *offsets);
    offsets[3001] = offsets[3000] - 1;
    wrong[1].offsets = offsets;
    CHECK(zf_table_writer_append(writer, wrong, COLUMNS, 4000, &error) == ZF_ERR_USAGE, "offsets");
    check_error(&error, "ZF1101", "the offsets of column `note` decrease at row 3100");
    memcpy(wrong, columns, sizeof wrong);
    data.flag[2100] = 2;
    CHECK(zf_table_writer_append(writer, wrong, COLUMNS, 4000, &error) == ZF_ERR_USAGE, "boolean");
    check_error(&error, "ZF1101", "column `flag` is of booleans, but row 2100 is 2");
    fill();
    for (size_t c = 0; c < COLUMNS; c++) columns[c].name = NULL;
    CHECK(zf_table_writer_append(writer, columns, COLUMNS, 4000, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_table_writer_finish(writer, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_table_writer_append(writer, columns, COLUMNS, 1, &error) == ZF_ERR_IO, "after the end");
    check_error(&error, "ZF1506", "after its end");
    CHECK(zf_table_writer_finish(writer, NULL, &error) == ZF_ERR_IO, "two ends");
    zf_table_writer_free(writer);
    zf_table_writer_free(NULL);
    free(offsets);
    check_file("w.zfd", 4100);
}

static bool no_further(void *user, uint64_t done, uint64_t blocks) {
    (void)user;
    CHECK(blocks == 0, "%llu blocks are known", (ull)blocks);
    return done < 2;
}

/// A writer that is freed, refused or cancelled leaves nothing in the directory, and an existing file as it was.
static void test_nothing_left(void) {
    uint64_t before = files_there();
    zf_error error = {0};
    zf_table_writer *writer = NULL;
    uint32_t *values = calloc(5 * 4096, sizeof *values);
    zf_encode_column column = {.name = "n", .values = values};
    zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = 4096, .threads = 1};
    CHECK(zf_table_writer_create(program, "small", &column, 1, &options, place("gone.zfd"), &writer, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_table_writer_append(writer, &column, 1, 5 * 4096, &error) == ZF_OK, "%s", error.message); // some blocks are written
    zf_table_writer_free(writer);
    CHECK(files_there() == before, "abandoned: %llu files, not %llu", (ull)files_there(), (ull)before);

    values[2 * 4096 + 5] = 300; // narrow refuses it
    zf_status status = zf_table_writer_create(program, "small", &column, 1, &options, place("gone.zfd"), &writer, &error);
    for (unsigned k = 0; status == ZF_OK && k < 5; k++) {
        column.values = values + k * 4096;
        status = zf_table_writer_append(writer, &column, 1, 4096, &error);
    }
    if (status == ZF_OK) status = zf_table_writer_finish(writer, NULL, &error);
    CHECK(status == ZF_ERR_INPUT && strstr(error.place, "column n, block 2") != NULL, "%d %s %s", (int)status, error.message,
          error.place);
    check_error(&error, "ZF0602", "row 8197, value 300");
    CHECK(zf_table_writer_append(writer, &column, 1, 1, &error) == ZF_ERR_IO, "after a refusal");
    check_error(&error, "ZF1506", "after an earlier failure");
    CHECK(zf_table_writer_finish(writer, NULL, &error) == ZF_ERR_IO, "after a refusal");
    zf_table_writer_free(writer);
    CHECK(files_there() == before, "refused: %llu files, not %llu", (ull)files_there(), (ull)before);

    options.progress = no_further;
    column.values = values;
    CHECK(zf_table_writer_create(program, "small", &column, 1, &options, place("gone.zfd"), &writer, &error) == ZF_OK, "%s",
          error.message);
    values[2 * 4096 + 5] = 3;
    status = zf_table_writer_append(writer, &column, 1, 5 * 4096, &error);
    CHECK(status == ZF_ERR_CANCELLED, "%d", (int)status);
    check_error(&error, "ZF1115", "cancelled after 2 blocks");
    zf_table_writer_free(writer);
    CHECK(files_there() == before, "cancelled: %llu files, not %llu", (ull)files_there(), (ull)before);

    options = (zf_encode_options){ZF_INIT(zf_encode_options)};
    CHECK(zf_table_writer_create(program, "small", &column, 1, &options, place("most.zfd"), &writer, &error) == ZF_ERR_IO,
          "exists");
    check_error(&error, "ZF1501", "");
    options.overwrite = true;
    CHECK(zf_table_writer_create(program, "small", &column, 1, &options, place("most.zfd"), &writer, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_table_writer_append(writer, &column, 1, 5 * 4096, &error) == ZF_OK, "%s", error.message);
    zf_table_writer_free(writer);
    check_file("most.zfd", ROWS);
    CHECK(files_there() == before, "%llu files, not %llu", (ull)files_there(), (ull)before);
    free(values);
}

typedef struct table {
    const char *name;
    const zf_encode_column *columns;
    size_t column_count;
    uint64_t batches[2], rows_per_block;
} table;

static bool ended_in_unpacking; ///< memory, at least once

/// Writes batches, and memory ends at an allocation; false: there are not so many.
static bool ends_at(const table *t, long most) {
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = t->rows_per_block, .threads = 1};
    zf_error error = {0};
    zf_table_writer *writer = NULL;
    const zf_encode_column *columns = t->columns;
    uint64_t before = files_there();
    atomic_store(&allocations_left, most);
    zf_status status =
        zf_table_writer_create(program, t->name, columns, t->column_count, &options, place("short.zfd"), &writer, &error);
    for (unsigned k = 0; status == ZF_OK && k < 2; k++)
        status = zf_table_writer_append(writer, columns, t->column_count, t->batches[k], &error);
    bool appended = status == ZF_OK;
    if (status == ZF_OK) status = zf_table_writer_finish(writer, NULL, &error);
    atomic_store(&allocations_left, LONG_MAX);
    if (status != ZF_OK) {
        CHECK(status == ZF_ERR_MEMORY, "%s, %ld allocations: %d %s", t->name, most, (int)status, error.message);
        ended_in_unpacking |= strstr(error.message, "a block of booleans") != NULL;
        if (writer != NULL && !appended)
            CHECK(zf_table_writer_append(writer, columns, t->column_count, 1, &error) == ZF_ERR_IO, "%s, %ld allocations",
                  t->name, most);
    }
    zf_table_writer_free(writer);
    if (status == ZF_OK) CHECK(remove(place("short.zfd")) == 0, "no file");
    CHECK(files_there() == before, "%s, %ld allocations: %llu files, not %llu", t->name, most, (ull)files_there(), (ull)before);
    return status != ZF_OK;
}

/// Wherever memory ends, nothing is left, and the writer takes no more rows.
static void test_no_memory(void) {
    static uint8_t bits[2 * (ROWS / 8 + 1)];
    zf_encode_column columns[COLUMNS];
    const table t = {"t", columns, COLUMNS, {5000, 5000}, 4096};
    uint64_t failures = 0;
    columns_at(0, 5000, bits, columns);
    for (long most = 0; ends_at(&t, most); most += 1 + most / 16) failures++;
    CHECK(failures > 20, "memory ended %llu times", (ull)failures);
}

/// The same at every allocation for large blocks, whose memory is mapped: that of rows grows, too.
static void test_no_memory_of_large_blocks(void) {
    enum { FEW = 500000, MANY = 700000, FLAGS = 1200000 };
    uint8_t *values = calloc(MANY, 4);
    const zf_encode_column number = {.name = "n", .values = values}, flag = {.name = "f", .values = values};
    const table numbers = {"small", &number, 1, {FEW, MANY}, 0}, flags = {"flags", &flag, 1, {FLAGS, FLAGS}, 0};
    memset(ends, 0, sizeof ends);
    ended_in_unpacking = false; // as it may have before, where a step of test_no_memory met it
    for (long most = 0; ends_at(&numbers, most);) most++;
    CHECK(!ended_in_unpacking, "numbers were unpacked");
    for (long most = 0; ends_at(&flags, most);) most++;
    CHECK(ended_in_unpacking, "memory never ended where booleans are unpacked");
    for (int kind = 0; kind < KINDS; kind++) CHECK(ends[kind] > 0, "memory never ended in %s", kind_names[kind]);
    free(values);
}

int main(void) {
    zf_error error = {0};
    if (!scratch_begin("table-writer")) return 1;
    FILE *source = fopen(place("t.zf"), "w");
    fputs(text, source);
    fclose(source);
    const zf_context_options options = {.cache_dir = ""};
    CHECK(zf_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s %s", error.message, error.place);
    fill();
    test_batches();
    test_as_encode();
    test_long_strings();
    test_wrong_batches();
    test_nothing_left();
    test_no_memory();
    test_no_memory_of_large_blocks();
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

// Links: zipflow-compiler zipflow-emu
// Columns of lists: of any values and sizes, with null and empty lists, in batches of any rows, by any range on every device;
// ends that lie are an error with the row, and an index whose parts do not fit each other is none.
#include <stdlib.h>
#include <string.h>

#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"
#include "tests/hostile/mutate.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

typedef unsigned long long ull;

enum { ROWS = 9000, MOST = 5, LISTS = 4, BASE = 3, POISON = 0xa5 };

static const char text[] = "table t {\n"
                           "    n: list<i32> = delta(bitpack), values: zigzag(bitpack);\n"
                           "    id: u32 = plain;\n"
                           "    m: list<i32?>? = plain, validity: plain, values: nullable(values: plain);\n"
                           "    s: list<string?>? = delta(bitpack), validity: plain, values: nullable(values: strings);\n"
                           "    b: list<bool>? = delta(bitpack), validity: rle, values: plain;\n"
                           "}\n";
static const char *const names[LISTS] = {"n", "m", "s", "b"};
static const bool null_lists[LISTS] = {false, true, true, true}, null_values[LISTS] = {false, true, true, false};

static const char *accelerator = "emu"; ///< or $ZF_TEST_DEVICE
static zf_context *context;
static zf_compiler *compiler;
static zf_program *program;

// ---- The rows -------------------------------------------------------------------------------------------------

static uint64_t mixed(uint64_t list, uint64_t row, uint64_t value) {
    uint64_t x = (list + 1) * 0x9e3779b97f4a7c15u ^ (row + 1) * 0xbf58476d1ce4e5b9u ^ (value + 7) * 0x94d049bb133111ebu;
    x ^= x >> 29;
    return x * 0x9e3779b97f4a7c15u >> 20;
}

static bool is_null(unsigned l, uint64_t row) { return null_lists[l] && mixed(l, row, 100) % 5 == 0; }
/// Values of a list, also of a null one, which are left out.
static uint64_t count_of(unsigned l, uint64_t row) { return mixed(l, row, 101) % 3 == 0 ? 0 : mixed(l, row, 102) % (MOST + 1); }
static bool value_is_null(unsigned l, uint64_t row, uint64_t k) { return null_values[l] && mixed(l, row, k) % 4 == 0; }
static int32_t number_of(unsigned l, uint64_t row, uint64_t k) { return (int32_t)(mixed(l, row, k) % 2001) - 1000; }
static uint64_t length_of(unsigned l, uint64_t row, uint64_t k) { return value_is_null(l, row, k) ? 0 : mixed(l, row, k) % 9; }

/// The arrays of the lists of all rows: BASE values stand before those of the first.
typedef struct arrays {
    int64_t offsets[ROWS + 1], ends[ROWS * MOST + BASE + 1];
    uint8_t validity[ROWS / 8 + 1], value_validity[ROWS * MOST / 8 + 8];
    union {
        int32_t numbers[ROWS * MOST + BASE];
        uint8_t booleans[ROWS * MOST + BASE];
        char characters[ROWS * MOST * 8];
    } values;
    zf_encode_column child;
} arrays;
static arrays given[LISTS];
static uint32_t ids[ROWS];

static void fill(void) {
    for (uint64_t r = 0; r < ROWS; r++) ids[r] = (uint32_t)mixed(9, r, 0);
    for (unsigned l = 0; l < LISTS; l++) {
        arrays *a = &given[l];
        uint64_t at = BASE;
        a->offsets[0] = BASE;
        memset(&a->values, 0x7f, sizeof a->values);
        memset(a->value_validity, 0, sizeof a->value_validity);
        for (uint64_t r = 0; r < ROWS; r++) {
            if (!is_null(l, r)) a->validity[r / 8] |= (uint8_t)(1u << r % 8);
            for (uint64_t k = 0; k < count_of(l, r); k++, at++) {
                uint64_t length = length_of(l, r, k);
                if (!value_is_null(l, r, k)) a->value_validity[at / 8] |= (uint8_t)(1u << at % 8);
                a->ends[at + 1] = a->ends[at] + (int64_t)length;
                if (l == 3)
                    a->values.booleans[at] = (uint8_t)(number_of(l, r, k) & 1);
                else if (l == 2)
                    memset(a->values.characters + a->ends[at], 'a' + (int)(mixed(l, r, k) % 26), length);
                else
                    a->values.numbers[at] = number_of(l, r, k);
            }
            a->offsets[r + 1] = (int64_t)at;
        }
        a->child = (zf_encode_column){.name = "ignored",
                                      .values = &a->values,
                                      .offsets = l == 2 ? a->ends : NULL,
                                      .validity = null_values[l] ? a->value_validity : NULL};
    }
}

/// Columns from row `at` on, whose validity begins at a byte of `bits`.
static void columns_from(uint64_t at, uint64_t rows, zf_encode_column out[LISTS + 1], uint8_t bits[LISTS][ROWS / 8 + 1]) {
    out[0] = (zf_encode_column){.name = "id", .values = ids + at};
    for (unsigned l = 0; l < LISTS; l++) {
        memset(bits[l], 0, rows / 8 + 1);
        for (uint64_t k = 0; k < rows; k++)
            if (!is_null(l, at + k)) bits[l][k / 8] |= (uint8_t)(1u << k % 8);
        out[l + 1] = (zf_encode_column){.name = names[l],
                                        .values = &given[l].child,
                                        .offsets = given[l].offsets + at,
                                        .validity = null_lists[l] ? bits[l] : NULL};
    }
}

// ---- Encoding -------------------------------------------------------------------------------------------------

/// Encodes rows in batches of at most `batch` rows; 0: by zf_encode.
static void encode(const char *path, uint64_t rows, uint64_t batch, uint64_t rows_per_block, unsigned threads) {
    static uint8_t bits[LISTS][ROWS / 8 + 1];
    zf_error error = {0};
    zf_encode_column columns[LISTS + 1];
    zf_encode_stats stats[16] = {{0}};
    zf_table_writer *writer = NULL;
    zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .rows_per_block = rows_per_block,
                                 .threads = threads};
    columns_from(0, rows, columns, bits);
    if (batch == 0) {
        zf_status status = zf_encode(program, NULL, columns, LISTS + 1, rows, &options, path, stats, &error);
        CHECK(status == ZF_OK, "%s %s", error.message, error.place);
        CHECK(rows == 0 || stats[0].blocks > 0, "no statistics");
        return;
    }
    CHECK(zf_table_writer_create(program, NULL, columns, LISTS + 1, &options, path, &writer, &error) == ZF_OK, "%s",
          error.message);
    for (uint64_t at = 0; writer != NULL && at < rows;) {
        uint64_t some = 1 + mixed(8, at, batch) % batch;
        if (some > rows - at) some = rows - at;
        columns_from(at, some, columns, bits);
        CHECK(zf_table_writer_append(writer, columns, LISTS + 1, some, &error) == ZF_OK, "%s", error.message);
        at += some;
    }
    CHECK(writer == NULL || zf_table_writer_finish(writer, stats, &error) == ZF_OK, "%s", error.message);
    zf_table_writer_free(writer);
}

static void *read_whole(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 26);
    *size = file != NULL && bytes != NULL ? fread(bytes, 1, 1 << 26, file) : 0;
    if (file != NULL) fclose(file);
    return bytes;
}

static void test_batches_do_not_matter(void) {
    size_t size, other_size;
    encode(place("whole"), ROWS, 0, 1000, 1);
    char *whole = read_whole(place("whole"), &size);
    static const uint64_t batches[] = {ROWS, 1, 700};
    for (size_t k = 0; k < 3; k++) {
        encode(place("batches"), ROWS, batches[k], 1000, k == 0 ? 3 : 1);
        char *other = read_whole(place("batches"), &other_size);
        CHECK(size > 0 && size == other_size && memcmp(whole, other, size) == 0, "batches of %llu rows: %zu bytes, not %zu",
              (ull)batches[k], other_size, size);
        free(other);
    }
    free(whole);
}

// ---- Decoding -------------------------------------------------------------------------------------------------

/// Buffers of a decode, poisoned.
static struct {
    _Alignas(64) uint8_t values[ROWS * MOST * 8 + 64];
    int64_t offsets[ROWS * MOST + 1], list_offsets[ROWS + 2];
    uint8_t validity[ROWS * MOST / 8 + 64], list_validity[ROWS / 8 + 64];
    _Alignas(64) uint8_t workspace[1 << 24];
} got;

static zf_status decode_lists(zf_container *container, size_t column, const char *device, uint64_t begin, uint64_t rows,
                              zf_list_values *values, zf_error *error) {
    const zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = rows, .threads = 2};
    memset(&got, POISON, sizeof got);
    const zf_decode_buffers buffers = {.offsets = got.list_offsets,
                                       .validity = got.list_validity,
                                       .offsets_bytes = (rows + 1) * 8,
                                       .validity_bytes = (rows + 7) / 8};
    return zf_decode_lists(container, column, device, &options, &buffers, values, NULL, error);
}

static bool same_value(unsigned l, uint64_t row, uint64_t k, uint64_t at) {
    bool null = value_is_null(l, row, k);
    if (null_values[l] && (got.validity[at / 8] >> at % 8 & 1) == null) return false;
    if (l == 3) return (got.values[at / 8] >> at % 8 & 1) == (number_of(l, row, k) & 1);
    if (l == 2) {
        uint64_t length = (uint64_t)(got.offsets[at + 1] - got.offsets[at]);
        for (uint64_t c = 0; c < length; c++)
            if (got.values[(uint64_t)got.offsets[at] + c] != 'a' + mixed(l, row, k) % 26) return false;
        return length == length_of(l, row, k);
    }
    int32_t number;
    memcpy(&number, got.values + at * 4, 4);
    return null || number == number_of(l, row, k);
}

/// Decodes rows of a column of lists and compares them with what the formulas give.
static void check_rows(zf_container *container, unsigned l, const char *device, uint64_t begin, uint64_t rows) {
    zf_error error = {0};
    zf_list_values values = {ZF_INIT(zf_list_values)};
    size_t column = 0;
    CHECK(zf_container_find(container, names[l], &column, &error) == ZF_OK, "%s", error.message);
    zf_status status = decode_lists(container, column, device, begin, rows, &values, &error);
    CHECK(status == ZF_OK, "%s, rows %llu and %llu more on %s: %s (%s)", names[l], (ull)begin, (ull)rows, device, error.message,
          error.place);
    if (status != ZF_OK) return;
    CHECK((uint64_t)got.list_offsets[rows] == values.row_count, "%llu values", (ull)values.row_count);
    CHECK(got.list_offsets[rows + 1] == (int64_t)0xa5a5a5a5a5a5a5a5u, "bytes behind the offsets");
    const zf_decode_options options = {
        .some_rows = true, .row_begin = values.row_begin, .row_count = values.row_count, .threads = 2};
    zf_decode_sizes sizes = {0};
    size_t of = column + (null_lists[l] ? 2 : 1);
    CHECK(zf_decode_size(container, of, &options, &sizes, &error) == ZF_OK, "%s", error.message);
    CHECK(sizes.workspace <= sizeof got.workspace && sizes.values <= sizeof got.values, "sizes");
    const zf_decode_buffers buffers = {.values = got.values,
                                       .offsets = got.offsets,
                                       .validity = got.validity,
                                       .workspace = got.workspace,
                                       ZF_DECODE_BYTES(sizes)};
    CHECK(zf_decode(container, of, device, &options, &buffers, NULL, &error) == ZF_OK, "%s (%s)", error.message, error.place);
    uint64_t wrong = 0, at = 0;
    for (uint64_t k = 0; k < rows; k++) {
        uint64_t row = begin + k, count = is_null(l, row) ? 0 : count_of(l, row);
        bool null = null_lists[l] && (got.list_validity[k / 8] >> k % 8 & 1) == 0;
        wrong += null != is_null(l, row) || (uint64_t)(got.list_offsets[k + 1] - got.list_offsets[k]) != count;
        for (uint64_t v = 0; v < count && wrong == 0; v++) wrong += !same_value(l, row, v, at + v);
        at += count;
        if (wrong > 0) break;
    }
    CHECK(wrong == 0 && at == values.row_count, "%s, rows %llu and %llu more on %s differ", names[l], (ull)begin, (ull)rows,
          device);
}

static void test_sizes_and_ranges(void) {
    static const uint64_t sizes[] = {0, 1, 2, 4095, 4096, 4097, ROWS}, blocks[] = {0, 4096, 1000, 1};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t b = 0; b < 4; b++) {
            uint64_t rows = sizes[s];
            zf_error error = {0};
            zf_container *container = NULL;
            if (blocks[b] == 1 && rows > 2) continue;
            encode(place("t"), rows, 0, blocks[b], 2);
            CHECK(zf_container_open(context, place("t"), &container, &error) == ZF_OK, "%s (%s)", error.message, error.place);
            for (unsigned l = 0; container != NULL && l < LISTS; l++) {
                for (unsigned d = 0; d < 2; d++) {
                    const char *device = d == 0 ? "cpu" : accelerator;
                    check_rows(container, l, device, 0, rows);
                    check_rows(container, l, device, rows, 0);
                    if (rows == 0) continue;
                    check_rows(container, l, device, rows - 1, 1);
                    check_rows(container, l, device, rows / 3, rows / 2);
                    if (rows > 1000) check_rows(container, l, device, 999, 3);
                }
            }
            zf_container_close(container);
        }
    }
}

// ---- Many values ----------------------------------------------------------------------------------------------

enum { MANY = 3 * 4096 + 5, OF_LIST = 17, LENGTH = 200 };

/// Lists of as many equal strings, 40 MB: their blocks are even, and the same in batches of any rows.
static void test_many_strings(void) {
    zf_error error = {0};
    size_t size = 0, other_size = 0;
    static const char one_list[] = "table t { s: list<string> = plain, values: strings; }";
    int64_t *offsets = malloc((MANY + 1) * sizeof *offsets), *ends = malloc((MANY * OF_LIST + 1) * sizeof *ends);
    char *characters = malloc((size_t)MANY * OF_LIST * LENGTH), *whole = NULL;
    zf_program *own = NULL;
    CHECK(zf_program_load_text(compiler, "s.zf", one_list, sizeof one_list - 1, &own, &error) == ZF_OK, "%s", error.message);
    memset(characters, 'x', (size_t)MANY * OF_LIST * LENGTH);
    for (int64_t r = 0; r <= MANY; r++) offsets[r] = r * OF_LIST - (r > 0); // at multiples of 4096 rows no multiple
    for (int64_t v = 0; v <= MANY * OF_LIST; v++) ends[v] = v * LENGTH;
    const zf_encode_column child = {.values = characters, .offsets = ends};
    static const uint64_t batches[] = {MANY, 1000, 3};
    for (unsigned b = 0; b < 3; b++) {
        zf_table_writer *writer = NULL;
        zf_encode_column column = {.name = "s", .values = &child, .offsets = offsets};
        const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .threads = 2};
        CHECK(zf_table_writer_create(own, NULL, &column, 1, &options, place("many"), &writer, &error) == ZF_OK, "%s",
              error.message);
        for (uint64_t at = 0; writer != NULL && at < MANY; at += batches[b]) {
            column.offsets = offsets + at;
            uint64_t some = MANY - at < batches[b] ? MANY - at : batches[b];
            CHECK(zf_table_writer_append(writer, &column, 1, some, &error) == ZF_OK, "%s", error.message);
        }
        CHECK(writer == NULL || zf_table_writer_finish(writer, NULL, &error) == ZF_OK, "%s", error.message);
        zf_table_writer_free(writer);
        char *bytes = read_whole(place("many"), &other_size);
        CHECK(b == 0 || (other_size == size && memcmp(whole, bytes, size) == 0), "batches of %llu rows", (ull)batches[b]);
        if (b > 0) free(bytes);
        if (b > 0) continue;
        whole = bytes;
        size = other_size;
    }
    zf_container *container = NULL;
    zf_column_info info = {ZF_INIT(zf_column_info)};
    CHECK(zf_container_open(context, place("many"), &container, &error) == ZF_OK, "%s (%s)", error.message, error.place);
    CHECK(zf_container_column(container, 1, &info, &error) == ZF_OK && info.rows == MANY * OF_LIST - 1 &&
              info.part == ZF_LIST_VALUES,
          "%llu values", (ull)info.rows);
    CHECK(info.rows_per_block > 50000 && info.rows_per_block % 4096 == 0 && info.blocks == 3, "%llu blocks, of %llu rows",
          (ull)info.blocks, (ull)info.rows_per_block);
    zf_container_close(container);
    zf_program_free(own);
    free(whole);
    free(offsets);
    free(ends);
    free(characters);
}

static bool count_blocks(void *user, uint64_t done, uint64_t blocks) {
    (void)blocks;
    *(uint64_t *)user = done;
    return true;
}

/// A few rows with many values: blocks of values are written while rows arrive, and not at the end.
static void test_long_lists(void) {
    enum { LONG = 70, VALUES = 100000 };
    static const char one_list[] = "table t { x: list<i64> = plain, values: bitpack; }";
    zf_error error = {0};
    zf_program *own = NULL;
    size_t size[2] = {0};
    char *bytes[2] = {0};
    int64_t *values = malloc((size_t)LONG * VALUES * sizeof *values), offsets[LONG + 1];
    for (int64_t v = 0; v < (int64_t)LONG * VALUES; v++) values[v] = v % 1000;
    for (int64_t r = 0; r <= LONG; r++) offsets[r] = r * VALUES;
    const zf_encode_column child = {.values = values};
    CHECK(zf_program_load_text(compiler, "x.zf", one_list, sizeof one_list - 1, &own, &error) == ZF_OK, "%s", error.message);
    for (unsigned b = 0; b < 2; b++) {
        uint64_t batch = b == 0 ? LONG : 3, written = 0;
        zf_table_writer *writer = NULL;
        zf_encode_column column = {.name = "x", .values = &child, .offsets = offsets};
        const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true, .threads = 1, .progress = count_blocks,
                                           .progress_user = &written};
        CHECK(zf_table_writer_create(own, NULL, &column, 1, &options, place("long"), &writer, &error) == ZF_OK, "%s",
              error.message);
        for (uint64_t at = 0; writer != NULL && at < LONG; at += batch) {
            column.offsets = offsets + at;
            CHECK(zf_table_writer_append(writer, &column, 1, LONG - at < batch ? LONG - at : batch, &error) == ZF_OK, "%s",
                  error.message);
        }
        CHECK(written >= 2, "%llu of 4 blocks were written before the end", (ull)written);
        CHECK(writer == NULL || zf_table_writer_finish(writer, NULL, &error) == ZF_OK, "%s", error.message);
        CHECK(written == 5, "%llu blocks, not 4 of values and 1 of ends", (ull)written);
        zf_table_writer_free(writer);
        bytes[b] = read_whole(place("long"), &size[b]);
    }
    CHECK(size[0] > 0 && size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0, "%zu bytes, and %zu", size[0], size[1]);
    zf_program_free(own);
    free(bytes[0]);
    free(bytes[1]);
    free(values);
}

// ---- Wrong calls ----------------------------------------------------------------------------------------------

static void test_wrong_calls(void) {
    static uint8_t bits[LISTS][ROWS / 8 + 1];
    zf_error error = {0};
    zf_encode_column columns[LISTS + 2];
    static const int64_t falling[] = {3, 2}, negative[] = {-1, 2};
    static const zf_encode_column no_values = {0};
    const zf_encode_column strings = {.values = &given[2].values, .offsets = given[2].ends};
    struct {
        zf_encode_column column;
        const char *says;
    } rows[] = {{{.name = "n", .values = &given[0].child}, "no offsets"},
                {{.name = "n", .values = &given[0].child, .offsets = falling}, "decrease at row 0"},
                {{.name = "n", .values = &given[0].child, .offsets = negative}, "below 0"},
                {{.name = "n", .offsets = given[0].offsets}, "no values"},
                {{.name = "n", .values = &no_values, .offsets = given[0].offsets}, "`n.values` has no values"},
                {{.name = "n", .values = &given[1].child, .offsets = given[0].offsets}, "`n.values` is not nullable"},
                {{.name = "n", .values = &strings, .offsets = given[0].offsets}, "`n.values` is not of strings"},
                {{.name = "n", .values = &given[0].child, .offsets = given[0].offsets, .validity = bits[0]}, "never null"},
                {{.name = "n.values", .values = ids}, "a part of a column of lists"},
                {{.name = "id", .values = ids}, "given twice"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        columns_from(0, 1, columns, bits);
        columns[1] = rows[k].column;
        zf_status status =
            zf_encode(program, NULL, columns, LISTS + 1, 1, &(zf_encode_options){.overwrite = true}, place("bad"), NULL, &error);
        CHECK(status == ZF_ERR_USAGE && strstr(error.message, rows[k].says) != NULL, "%zu: %d %s", k, status, error.message);
    }
    columns_from(0, 1, columns, bits);
    CHECK(zf_encode(program, NULL, columns, LISTS, 1, NULL, place("bad"), NULL, &error) == ZF_ERR_USAGE &&
              strstr(error.message, "`b` is missing") != NULL,
          "%s", error.message);
    const zf_encode_options old = {ZF_INIT(zf_encode_options), .format = 1};
    CHECK(zf_encode(program, NULL, columns, LISTS + 1, 1, &old, place("bad"), NULL, &error) == ZF_ERR_USAGE &&
              strcmp(error.code, "ZF1505") == 0 && strstr(error.message, "columns of lists") != NULL,
          "%s %s", error.code, error.message);
    CHECK(given[0].offsets[1] > given[0].offsets[0], "the first list has no values");
    // Decoding.
    zf_container *container = NULL;
    zf_list_values values = {ZF_INIT(zf_list_values)};
    encode(place("t"), 100, 0, 0, 1);
    CHECK(zf_container_open(context, place("t"), &container, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_columns(container) == 12, "%zu columns", zf_container_columns(container));
    CHECK(decode_lists(container, 1, "cpu", 0, 1, &values, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1101") == 0,
          "values as lists: %s", error.message);
    CHECK(decode_lists(container, 2, "cpu", 0, 1, &values, &error) == ZF_ERR_USAGE, "a column of no lists");
    CHECK(decode_lists(container, 12, "cpu", 0, 1, &values, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1105") == 0,
          "a column that does not exist: %s", error.code);
    CHECK(decode_lists(container, 3, "cpu", 100, 1, &values, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1106") == 0,
          "rows that do not exist: %s", error.code);
    CHECK(values.row_begin == 0 && values.row_count == 0, "values after an error");
    zf_decode_buffers buffers = {.offsets = got.list_offsets, .offsets_bytes = 101 * 8, .validity_bytes = 13};
    CHECK(zf_decode_lists(container, 3, "cpu", NULL, &buffers, &values, NULL, &error) == ZF_ERR_USAGE &&
              strcmp(error.code, "ZF1107") == 0,
          "no validity: %s", error.code);
    buffers.validity = got.list_validity;
    buffers.validity_bytes = 12;
    CHECK(zf_decode_lists(container, 3, "cpu", NULL, &buffers, &values, NULL, &error) == ZF_ERR_USAGE &&
              strcmp(error.code, "ZF1117") == 0,
          "a short validity: %s", error.code);
    buffers.validity_bytes = 13;
    buffers.offsets_bytes = 100 * 8;
    CHECK(zf_decode_lists(container, 3, "cpu", NULL, &buffers, &values, NULL, &error) == ZF_ERR_USAGE &&
              strcmp(error.code, "ZF1117") == 0,
          "short offsets: %s", error.code);
    zf_container_close(container);
}

// ---- Lies -----------------------------------------------------------------------------------------------------

enum { M_ENDS = 3, M_VALIDITY = 4, FEW = 300 }; // of column `m`, whose ends are stored as they are

/// Opens the changed file. Returns NULL, and the error, where it is refused.
static zf_container *open_changed(mutated *file, zf_error *error) {
    zf_container *container = NULL;
    mutate_repair(file);
    const zf_open_options copied = {ZF_INIT(zf_open_options), .copy = true};
    zf_container_open_memory(context, file->bytes, file->size, &copied, &container, error);
    return container;
}

/// Where the only stream of a column's only block begins.
static size_t stream_of(const mutated *file, const zf_container *container, size_t column) {
    size_t at = container->index.columns[column].blocks[0].offset;
    const uint8_t *block = file->bytes + at;
    return at + zf_load64(block + 64 + UINT64_C(8) * (zf_load32(block + 40) + (uint64_t)zf_load32(block + 44)));
}

/// An encode that fails: the entries of all columns are written, those of the parts of lists among them.
static void test_statistics_of_a_failure(void) {
    static uint8_t bits[LISTS][ROWS / 8 + 1];
    zf_error error = {0};
    zf_encode_column columns[LISTS + 1];
    zf_encode_stats stats[32];
    size_t all = zf_program_columns(program, NULL);
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
    columns_from(0, FEW, columns, bits);
    for (unsigned fails = 0; fails < 2; fails++) {
        memset(stats, POISON, sizeof stats);
        for (size_t c = 0; c < all; c++) stats[c].size = sizeof *stats;
        const char *path = fails ? place("no/such/directory") : place("statistics");
        zf_status status = zf_encode(program, NULL, columns, LISTS + 1, FEW, &options, path, stats, &error);
        CHECK((status != ZF_OK) == (fails != 0), "%d %s", status, error.message);
        for (size_t c = 0; c < all; c++)
            CHECK(fails ? stats[c].blocks == 0 : stats[c].blocks < FEW, "column %zu: %llu blocks", c, (ull)stats[c].blocks);
    }
}

static void test_ends_that_lie(void) {
    static mutated file;
    zf_error error = {0};
    zf_list_values values = {ZF_INIT(zf_list_values)};
    encode(place("lies"), FEW, 0, 0, 1);
    CHECK(mutate_read(place("lies"), &file), "the file cannot be read");
    zf_container *container = open_changed(&file, &error);
    CHECK(container != NULL, "%s", error.message);
    if (container == NULL) return;
    size_t ends = stream_of(&file, container, M_ENDS), validity = stream_of(&file, container, M_VALIDITY);
    uint64_t all = container->index.columns[M_ENDS + 2].rows;
    zf_container_close(container);
    CHECK(zf_load64(file.bytes + ends + 8 * (FEW - 1)) == all, "the ends are not there");
    const struct {
        uint64_t row, end;    ///< what is changed
        uint64_t begin, rows; ///< what is decoded
        uint64_t place;       ///< the row in the error; UINT64_MAX: there is none
    } lies[] = {{FEW - 1, all + 1, 0, FEW, FEW - 1},
                {FEW - 1, all + 1, FEW - 1, 1, FEW - 1},
                {FEW - 1, all - 1, FEW - 1, 1, FEW - 1},
                {FEW - 1, UINT64_MAX, 0, FEW, FEW - 1},
                {FEW - 1, all + 1, 0, FEW - 1, UINT64_MAX},
                {100, all + 1, 0, FEW, 101},
                {100, all + 1, 0, 101, 100},
                {100, all + 1, 101, 5, 101},
                {100, UINT64_MAX, 0, FEW, 100},
                {100, UINT64_MAX, 101, 5, 100},
                {100, UINT64_C(1) << 63, 0, FEW, 100},
                {100, INT64_MAX, 99, 2, 100},
                {0, UINT64_MAX, 0, 1, 0}};
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        uint64_t before = zf_load64(file.bytes + ends + 8 * lies[k].row);
        zf_store64(file.bytes + ends + 8 * lies[k].row, lies[k].end);
        container = open_changed(&file, &error);
        CHECK(container != NULL, "%s", error.message);
        for (unsigned d = 0; container != NULL && d < 2; d++) {
            const char *device = d == 0 ? "cpu" : accelerator;
            char row[32];
            snprintf(row, sizeof row, "row %llu", (ull)lies[k].place);
            zf_status status = decode_lists(container, M_ENDS, device, lies[k].begin, lies[k].rows, &values, &error);
            if (lies[k].place == UINT64_MAX) {
                CHECK(status == ZF_OK, "lie %zu, which is not met: %s", k, error.message);
                continue;
            }
            const char *at = strstr(error.place, "column m, row ");
            CHECK(status == ZF_ERR_INPUT && strcmp(error.code, "ZF1327") == 0 && at != NULL && strcmp(at + 10, row) == 0,
                  "lie %zu on %s: %d %s %s (%s)", k, device, status, error.code, error.message, error.place);
        }
        zf_container_close(container);
        zf_store64(file.bytes + ends + 8 * lies[k].row, before);
    }
    // A null list with values.
    uint64_t row = 1;
    while (zf_load64(file.bytes + ends + 8 * row) == zf_load64(file.bytes + ends + 8 * (row - 1))) row++;
    file.bytes[validity + row / 8] ^= (uint8_t)(1u << row % 8);
    container = open_changed(&file, &error);
    error = (zf_error){0};
    char at[64];
    snprintf(at, sizeof at, "column m, row %llu", (ull)row);
    CHECK(container != NULL && decode_lists(container, M_ENDS, "cpu", 0, FEW, &values, &error) == ZF_ERR_INPUT &&
              strcmp(error.code, "ZF1327") == 0 && strstr(error.place, at) != NULL,
          "a null list with values: %s %s (%s)", error.code, error.message, error.place);
    zf_container_close(container);
    mutate_free(&file);
}

/// The place of the byte in the index that says which part of lists a column is.
static size_t part_of(const mutated *file, const zf_container *container, size_t column) {
    size_t at = file->index + container->index.columns[column].at;
    for (int k = 0; k < 3; k++) at += 4 + zf_load32(file->bytes + at);
    return at + 5;
}

static void test_parts_that_do_not_fit(void) {
    static mutated file;
    zf_error error = {0};
    uint64_t opened = 0, refused = 0;
    encode(place("parts"), FEW, 0, 0, 1);
    CHECK(mutate_read(place("parts"), &file), "the file cannot be read");
    zf_container *container = open_changed(&file, &error);
    CHECK(container != NULL, "%s", error.message);
    if (container == NULL) return;
    size_t parts[12], columns = zf_container_columns(container);
    for (size_t c = 0; c < columns && c < 12; c++) parts[c] = part_of(&file, container, c);
    zf_container_close(container);
    static const uint8_t wanted[12] = {1, 3, 0, 1, 2, 3, 1, 2, 3, 1, 2, 3};
    for (size_t c = 0; c < columns && c < 12; c++) {
        CHECK(file.bytes[parts[c]] == wanted[c], "column %zu is part %d", c, file.bytes[parts[c]]);
        for (unsigned part = 0; part < 256; part++) {
            if (part == wanted[c]) continue;
            file.bytes[parts[c]] = (uint8_t)part;
            container = open_changed(&file, &error);
            opened += container != NULL;
            refused += container == NULL;
            CHECK(container == NULL && strcmp(error.code, "ZF1207") == 0, "column %zu as part %u: %s %s", c, part, error.code,
                  error.message);
            zf_container_close(container);
        }
        file.bytes[parts[c]] = wanted[c];
        for (unsigned k = 1; k < 3; k++) { // the bytes that stay zero
            file.bytes[parts[c] + k] = 1;
            container = open_changed(&file, &error);
            CHECK(container == NULL && strcmp(error.code, "ZF1207") == 0, "column %zu, byte %u", c, k);
            zf_container_close(container);
            file.bytes[parts[c] + k] = 0;
        }
    }
    CHECK(opened == 0 && refused == 12 * 255, "%llu refused", (ull)refused);
    mutate_free(&file);
}

/// Full names: lists have one, their parts none; and another column may be called as a part is.
static void test_full_names(void) {
    static uint8_t bits[LISTS][ROWS / 8 + 1];
    static mutated file;
    zf_error error = {0};
    zf_encode_column columns[LISTS + 1];
    size_t found = 9;
    columns_from(0, 5, columns, bits);
    columns[0].full_name = "n.values";
    columns[1].full_name = "NN";
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .overwrite = true};
    zf_status status = zf_encode(program, NULL, columns, LISTS + 1, 5, &options, place("names"), NULL, &error);
    CHECK(status == ZF_OK && mutate_read(place("names"), &file), "%s", error.message);
    zf_container *container = open_changed(&file, &error);
    CHECK(container != NULL, "%s (%s)", error.message, error.place);
    if (container == NULL) return;
    CHECK(zf_container_find(container, "NN", &found, &error) == ZF_OK && found == 0, "column %zu", found);
    CHECK(zf_container_find(container, "n.values", &found, &error) == ZF_OK && found == 2, "column %zu", found);
    CHECK(zf_container_find(container, "id", &found, &error) == ZF_OK && found == 2, "column %zu", found);
    CHECK(zf_container_find(container, "n.valid", &found, &error) == ZF_ERR_USAGE, "column %zu", found);
    uint8_t *names_at = file.bytes + file.index + container->index.at_sections + 8; // behind the section's length
    zf_container_close(container);
    static const uint8_t of_lists[] = {2, 0, 0, 0, 'N', 'N', 0, 0, 0, 0}, of_values[] = {0, 0, 0, 0, 2, 0, 0, 0, 'N', 'N'};
    CHECK(memcmp(names_at, of_lists, sizeof of_lists) == 0, "the names are not there");
    memcpy(names_at, of_values, sizeof of_values);
    container = open_changed(&file, &error);
    CHECK(container == NULL && strcmp(error.code, "ZF1207") == 0 && strstr(error.message, "full name of a part") != NULL, "%s %s",
          error.code, error.message);
    zf_container_close(container);
    mutate_free(&file);
}

/// Decodes all lists of a file that may lie: an error has a code and a place; else the values are there.
static bool decode_all(zf_container *container, const char *device) {
    bool good = true;
    for (size_t c = 0; c < zf_container_columns(container); c++) {
        zf_error error = {0};
        zf_list_values values = {ZF_INIT(zf_list_values)};
        zf_column_info info = {ZF_INIT(zf_column_info)};
        CHECK(zf_container_column(container, c, &info, &error) == ZF_OK, "%s", error.message);
        if (info.part != ZF_LIST_ENDS || info.rows > ROWS) continue;
        zf_status status = decode_lists(container, c, device, 0, info.rows, &values, &error);
        good = good && status == ZF_OK;
        CHECK(status == ZF_OK || (error.code[0] == 'Z' && error.place[0] != 0), "%s %s", error.code, error.message);
        if (status != ZF_OK) continue;
        zf_column_info of = {ZF_INIT(zf_column_info)};
        for (size_t v = c; of.part != ZF_LIST_VALUES; v++)
            CHECK(zf_container_column(container, v, &of, &error) == ZF_OK, "no values");
        uint64_t row = 0;
        while (row < info.rows && got.list_offsets[row] <= got.list_offsets[row + 1]) row++;
        CHECK(row == info.rows && got.list_offsets[0] == 0 && (uint64_t)got.list_offsets[row] == values.row_count,
              "offsets of row %llu", (ull)row);
        CHECK(values.row_begin == 0 && values.row_count == of.rows, "%llu values of %llu", (ull)values.row_count, (ull)of.rows);
    }
    return good;
}

/// Every byte of the columns in the index changed, with checksums that are right.
static void test_every_byte_of_the_columns(void) {
    static mutated file;
    zf_error error = {0};
    uint64_t counts[3] = {0};
    encode(place("bytes"), 40, 0, 0, 1);
    CHECK(mutate_read(place("bytes"), &file), "the file cannot be read");
    zf_container *container = open_changed(&file, &error);
    CHECK(container != NULL && decode_all(container, "cpu"), "%s", error.message);
    if (container == NULL) return;
    size_t begin = file.index + container->index.at_columns, end = file.index + container->index.at_sections;
    zf_container_close(container);
    for (size_t at = begin; at < end; at++) {
        uint8_t before = file.bytes[at];
        for (unsigned k = 0; k < 2; k++) {
            file.bytes[at] = k == 0 ? before ^ (uint8_t)(1u << at % 8) : mutate_random();
            error = (zf_error){0};
            container = open_changed(&file, &error);
            CHECK(container != NULL || strncmp(error.code, "ZF12", 4) == 0, "byte %zu: %s %s", at, error.code, error.message);
            if (container == NULL) {
                counts[0]++;
            } else {
                bool host = decode_all(container, "cpu"), other = at % 4 != 0 || decode_all(container, accelerator) == host;
                CHECK(other, "byte %zu: %s and cpu disagree", at, accelerator);
                counts[host ? 2 : 1]++;
            }
            zf_container_close(container);
            file.bytes[at] = before;
        }
    }
    printf("%llu refused at opening, %llu at decoding, %llu no harm\n", (ull)counts[0], (ull)counts[1], (ull)counts[2]);
    CHECK(counts[0] > 100 && counts[1] > 10 && counts[2] > 10, "too few of a kind");
    mutate_free(&file);
}

int main(void) {
    zf_error error = {0};
    if (!scratch_begin("lists")) return 1;
    if (getenv("ZF_TEST_DEVICE") != NULL) accelerator = getenv("ZF_TEST_DEVICE");
    const zf_context_options options = {.cache_dir = ""};
    CHECK(emulated_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    zf_status status = zf_program_load_text(compiler, "lists.zf", text, sizeof text - 1, &program, &error);
    CHECK(status == ZF_OK, "%s (%s)", error.message, error.place);
    if (status == ZF_OK) {
        fill();
        test_batches_do_not_matter();
        test_sizes_and_ranges();
        test_many_strings();
        test_long_lists();
        test_wrong_calls();
        test_statistics_of_a_failure();
        test_ends_that_lie();
        test_parts_that_do_not_fit();
        test_full_names();
        test_every_byte_of_the_columns();
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

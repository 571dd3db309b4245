// Delimited text, raw files and `.npy`: the first byte of the input says what it is, both of the first two say how it is read
// (delimiter, header, options of `zfc encode`), and the rest is the file. It gives an error with a place, or columns. These are
// printed as text, which is read as the same columns again. In batches of rows the file gives the same columns and errors.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "tests/fuzz/fuzz.h"
#include "zfc/data/raw_column.h"
#include "zfc/data/values.h"
#include "zfc/data/write_columns.h"

enum { COLUMNS = 13 };
static const char program[] =
    "//std\ntable t { a: u8 = plain; b: i16 = plain; c: u32 = plain; d: i64 = plain; e: f32 = plain; f: f64 = plain;\n"
    "g: bool = plain; h: string = strings; i: date32 = plain; j: timestamp = plain;\n"
    "k: decimal(9, 2) = plain; l: i32? = nullable; m: string? = nullable(values: strings); }\n";
static const char names[] = "a,b,c,d,e,f,g,h,i,j,k,l,m";

static zf_spec *spec;
static int file;
static char path[64];

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    spec = zf_spec_create(&(zf_spec_options){.std_dir = ZF_SOURCE_DIR "/dsl/std"});
    bool good = spec != NULL && zf_spec_add_text(spec, "t.zf", program, sizeof program - 1) && zf_spec_check(spec);
    FUZZ_DEMAND(good, "%s", zf_spec_diags(spec)->first->message);
    file = memfd_create("input", MFD_CLOEXEC);
    FUZZ_DEMAND(file >= 0, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return 0;
}

static void put_file(const void *bytes, size_t size) {
    bool good = ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size;
    FUZZ_DEMAND(good, "the file cannot be written");
}

static void check_error(const zf_error *error) {
    FUZZ_DEMAND(error->code[0] != 0 && error->message[0] != 0, "an error without a code or message");
    FUZZ_DEMAND(error->status != ZF_ERR_INTERNAL, "%s: %s", error->code, error->message);
    bool is_option = error->status == ZF_ERR_USAGE && strstr(error->message, "--") != NULL; // that is the place
    bool placed = error->place[0] != 0 || is_option || error->status == ZF_ERR_MEMORY || strstr(error->message, path) != NULL;
    FUZZ_DEMAND(placed, "%s without a place: %s", error->code, error->message);
}

// ---- Printed and read again -----------------------------------------------------------------------------------

/// A column as the printer takes it: decoded.
static zf_decoded decoded_of(const zf_column_data *column) {
    bool is_bool = column->type.element == ZF_BOOL;
    zf_decoded out = {.rows = column->rows, .info = {.name = column->name, .type = column->type, .rows = column->rows}};
    size_t bytes = is_bool ? (column->rows + 7) / 8 : column->used;
    uint8_t *values = calloc(bytes + 1, 1);
    if (values == NULL) exit(2);
    for (uint64_t r = 0; r < column->rows && is_bool; r++) values[r / 8] |= (uint8_t)((column->values[r] & 1) << (r % 8));
    if (!is_bool && column->used > 0) memcpy(values, column->values, column->used);
    out.buffers = (zf_decode_buffers){.values = values, .values_bytes = bytes};
    out.buffers.offsets = column->offsets;
    out.buffers.validity = column->validity;
    return out;
}

static bool is_valid(const zf_column_data *column, uint64_t row) {
    return !column->type.nullable || (column->validity[row / 8] >> (row % 8) & 1) != 0;
}

static void compare(const zf_column_data *a, const zf_column_data *b) {
    FUZZ_DEMAND(a->rows == b->rows, "column %s: %llu rows, not %llu", a->name, (unsigned long long)b->rows,
                (unsigned long long)a->rows);
    unsigned size = zf_element_size(a->type.element);
    for (uint64_t r = 0; r < a->rows; r++) {
        bool valid = is_valid(a, r);
        FUZZ_DEMAND(valid == is_valid(b, r), "column %s, row %llu: another validity", a->name, (unsigned long long)r);
        if (!valid || a->values == NULL || b->values == NULL) continue; // of empty strings
        const char *one = a->values + r * size, *other = b->values + r * size;
        size_t length = size;
        if (a->offsets != NULL) {
            one = a->values + a->offsets[r], other = b->values + b->offsets[r];
            length = (size_t)(a->offsets[r + 1] - a->offsets[r]);
            FUZZ_DEMAND(b->offsets[r + 1] - b->offsets[r] == (int64_t)length, "column %s, row %llu: another length", a->name,
                        (unsigned long long)r);
        }
        float f32 = 0;
        double f64 = 0;
        if (a->type.element == ZF_F32) memcpy(&f32, one, sizeof f32);
        if (a->type.element == ZF_F64) memcpy(&f64, one, sizeof f64);
        if (f32 != f32 || f64 != f64) continue; // NaNs print as one
        FUZZ_DEMAND(length == 0 || memcmp(one, other, length) == 0, "column %s, row %llu: another value", a->name,
                    (unsigned long long)r);
    }
}

/// `--input-memory` and `--field` of a text or a raw file.
typedef struct table_options {
    uint64_t memory;       ///< bytes; 0: no limit
    const char *fields[2]; ///< mappings, which stay as long as the table; NULL: none
} table_options;

/// Makes an empty table. False where its fields are mapped to one name.
static bool make_table(zf_table_data *data, const table_options *options) {
    zf_error error = {0};
    FUZZ_DEMAND(zf_table_data_create(zf_spec_tables(spec), data, &error) == ZF_OK, "%s", error.message);
    data->memory.most = options->memory;
    for (size_t k = 0; k < 2 && options->fields[k] != NULL; k++) {
        zf_status status = zf_table_data_map(data, options->fields[k], &error);
        FUZZ_DEMAND(status == ZF_OK, "%s", error.message);
    }
    return zf_table_data_check_fields(data, &error) == ZF_OK;
}

/// The columns that have rows are printed and read again.
static void print_again(const zf_table_data *data) {
    zf_decoded columns[COLUMNS];
    const zf_column_data *printed[COLUMNS];
    char header[2 * COLUMNS + 1] = "";
    size_t count = 0;
    for (size_t c = 0; c < data->count; c++) {
        if (data->columns[c].givers[ZF_PART_VALUES].source == NULL) continue;
        snprintf(header + 2 * count, sizeof header - 2 * count, "%s,", data->columns[c].name);
        printed[count] = &data->columns[c];
        columns[count++] = decoded_of(&data->columns[c]);
    }
    if (count == 0) return;
    header[2 * count - 1] = 0;
    zf_text text = {0};
    zf_text_printf(&text, "%s\n", header);
    zf_print_rows(columns, count, &text);
    put_file(text.data, text.length);
    zf_table_data again;
    zf_error error = {0};
    FUZZ_DEMAND(make_table(&again, &(table_options){0}), "a table");
    zf_status status = zf_read_delimited(path, &(zf_delimited_options){.delimiter = ','}, &again, &error);
    FUZZ_DEMAND(status == ZF_OK, "%s: %s (%s)\n%s", error.code, error.message, error.place, text.data);
    for (size_t k = 0; k < count; k++) {
        compare(printed[k], zf_table_data_find(&again, printed[k]->name, 1));
        free(columns[k].buffers.values);
    }
    zf_table_data_free(&again);
    zf_text_free(&text);
}

// ---- Batches --------------------------------------------------------------------------------------------------

static void same_outcome(zf_status whole, const zf_error *error, zf_status parts, const zf_error *other) {
    FUZZ_DEMAND(whole == parts, "%d whole (%s), %d in batches (%s)", (int)whole, error->message, (int)parts, other->message);
    FUZZ_DEMAND(whole == ZF_OK || (strcmp(error->code, other->code) == 0 && strcmp(error->place, other->place) == 0),
                "%s %s, in batches %s %s", error->code, error->place, other->code, other->place);
}

/// Reads a text by a few rows at a time. `whole` and `error`: what reading all of it gave.
static void text_in_batches(const zf_delimited_options *text, const table_options *options, const zf_table_data *data,
                            zf_status whole, const zf_error *error) {
    zf_table_data again;
    zf_text_reader *reader = NULL;
    zf_error other = {0};
    uint64_t rows = 1;
    FUZZ_DEMAND(make_table(&again, options), "a table");
    zf_status status = zf_text_reader_open(path, text, &again, &reader, &other);
    while (status == ZF_OK && rows > 0) {
        status = zf_text_reader_rows(reader, 3, 40, &rows, &other);
        FUZZ_DEMAND(rows <= 3, "%llu rows in a batch of 3", (unsigned long long)rows);
    }
    zf_text_reader_free(reader);
    same_outcome(whole, error, status, &other);
    for (size_t c = 0; status == ZF_OK && c < data->count; c++) compare(&data->columns[c], &again.columns[c]);
    zf_table_data_free(&again);
}

/// Reads a column of numbers by a few elements at a time.
static void raw_in_batches(const char *part, bool any_format, const zf_table_data *data, zf_status whole, const zf_error *error) {
    zf_table_data again;
    zf_raw_column columns[COLUMNS] = {{0}}, *raw = &columns[part[0] - 'a'];
    zf_error other = {0};
    uint64_t rows = 1, before = 0;
    const zf_column_data *all = &data->columns[part[0] - 'a'];
    unsigned size = zf_element_size(all->type.element);
    FUZZ_DEMAND(make_table(&again, &(table_options){0}), "a table");
    zf_status status = zf_raw_column_add(columns, part, strlen(part), path, any_format, &again, &other);
    for (; status == ZF_OK && rows > 0; before += rows) {
        status = zf_raw_column_read(raw, 64, &rows, &other);
        if (status == ZF_OK && whole == ZF_OK)
            FUZZ_DEMAND(before + rows <= all->rows && memcmp(raw->column->values, all->values + before * size, rows * size) == 0,
                        "other elements from row %llu on", (unsigned long long)before);
    }
    bool is_decimal = all->type.logical == ZF_LOGICAL_DECIMAL; // whose digits are counted when all columns are there
    if (!is_decimal) same_outcome(whole, error, status, &other);
    zf_table_data_free(&again);
}

// ---- One input ------------------------------------------------------------------------------------------------

/// Limits that end a text in its buffer, in a column, or nowhere. Under small ones the buffer grows by small steps.
static const uint64_t limits[8] = {0, 1 << 20, 1 << 18, 1 << 14, 1 << 12, 1 << 10, 200, 20};

/// The first byte: 0, two bits of rows to skip, two of words that are null, three of the limit.
static void run_text(uint8_t first, uint8_t how, const uint8_t *bytes, size_t size) {
    static const char delimiters[] = {',', '\t', '|', ';'};
    static const char *const headers[] = {NULL, names, "h", "l,m", "i,j,k", "g,f,e,h", "x,h,y"};
    static const char *const fields[][2] = {{NULL}, {"h=x", "m=y"}, {"a=b", "b=a"}, {"l=h", "h=l"}, {"h="}, {"d=e"}, {"a=x,h"}};
    static const struct {
        const char *words[2];
        size_t count;
    } nulls[] = {{{NULL}, 0}, {{"NA"}, 1}, {{"", "NULL"}, 2}, {{"0", "true"}, 2}};
    static const uint64_t skipped[] = {0, 1, 2, 0};
    unsigned skip = first >> 1 & 3, null = first >> 3 & 3;
    const char *const *mapped = fields[how / 28 % (sizeof fields / sizeof *fields)];
    table_options options = {limits[first >> 5], {mapped[0], mapped[1]}};
    zf_delimited_options text = {.delimiter = delimiters[how % 4], .header = headers[how / 4 % 7]};
    text.skip = skip != 0, text.skip_rows = skipped[skip];
    text.null_words = nulls[null].words, text.null_count = nulls[null].count;
    zf_table_data data;
    zf_error error = {0};
    put_file(bytes, size);
    if (make_table(&data, &options)) {
        zf_status status = zf_read_delimited(path, &text, &data, &error);
        if (options.memory == 0) text_in_batches(&text, &options, &data, status, &error);
        if (status != ZF_OK)
            check_error(&error);
        else
            print_again(&data);
    }
    zf_table_data_free(&data);
}

/// A raw file or an array for one part of a column. The first byte: 1, `--raw`, three bits that do nothing, three of the limit.
static void run_raw(uint8_t first, uint8_t how, const uint8_t *bytes, size_t size) {
    static const char *const parts[] = {"a", "b", "c", "d", "e",       "f",       "g",         "h.bytes", "h.offsets",
                                        "i", "j", "k", "l", "l.valid", "m.bytes", "m.offsets", "m.valid"};
    const char *part = parts[how % (sizeof parts / sizeof parts[0])];
    bool any_format = (first >> 1 & 1) != 0;
    zf_table_data data;
    zf_error error = {0};
    FUZZ_DEMAND(make_table(&data, &(table_options){.memory = limits[first >> 5]}), "a table");
    put_file(bytes, size);
    zf_status status = zf_read_raw(part, strlen(part), path, any_format, &data, &error);
    if (status != ZF_OK) check_error(&error);
    if (part[1] == 0 && part[0] < 'l' && limits[first >> 5] == 0) raw_in_batches(part, any_format, &data, status, &error);
    // Strings take a second file: the same bytes, so that both agree now and then.
    if (status == ZF_OK && part[0] == 'h' && part[2] == 'o') zf_read_raw("h.bytes", 7, path, any_format, &data, &error);
    if (status == ZF_OK && part[0] == 'l' && part[1] == 0) zf_read_raw("l.valid", 7, path, any_format, &data, &error);
    error = (zf_error){0};
    status = zf_table_data_finish(&data, &error);
    FUZZ_DEMAND(status != ZF_OK, "a table of which one column is given is whole");
    FUZZ_DEMAND(error.code[0] != 0 && error.message[0] != 0, "an error without a code");
    zf_table_data_free(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return -1;
    if (data[0] % 2 == 0)
        run_text(data[0], data[1], data + 2, size - 2);
    else
        run_raw(data[0], data[1], data + 2, size - 2);
    return 0;
}

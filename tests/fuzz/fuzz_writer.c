// `zf_table_writer`: the first bytes of the input choose a table of writer.zf, the options and how rows are cut into batches; the
// others are the rows of a column, and further columns have as many. Batches of any size give the file that one batch gives, and
// zf_encode; it decodes to the rows. An append that does not fit is refused, and the writer goes on as if it had not been. Where
// the codec refuses rows, all three ways do, and no file is there. Columns of lists have the rows of a column as their values.
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_data.h"
#include "tests/fuzz/fuzz_decode.h"

enum { MOST_TABLES = 16, MOST_COLUMNS = 4, HEAD = 6, MOST_SIZE = 1 << 15, BATCHES = 40 };

static fuzz_machine machine;
static zf_program *program;
static const zf_table *tables[MOST_TABLES], *list_tables[MOST_TABLES];
static size_t table_count, list_table_count;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    fuzz_machine_open(&machine);
    zf_error error = {0};
    zf_status status = zf_program_load(machine.compiler, ZF_SOURCE_DIR "/tests/fuzz/writer.zf", &program, &error);
    FUZZ_DEMAND(status == ZF_OK, "%s (%s)", error.message, error.place);
    for (const zf_table *table = zf_spec_tables(zf_program_spec(program)); table != NULL; table = table->next)
        *(table->columns->part == ZF_LIST_NONE ? &tables[table_count++] : &list_tables[list_table_count++]) = table;
    return 0;
}

// ---- Rows -----------------------------------------------------------------------------------------------------

typedef struct rows {
    const zf_table *table;
    size_t columns;
    uint64_t count;
    fuzz_data data[MOST_COLUMNS];
    const char *names[MOST_COLUMNS];
    uint8_t *validity[MOST_COLUMNS]; ///< of a batch
    int64_t *lists[MOST_COLUMNS];    ///< offsets of lists, of which `data` has the values; NULL: none
    bool nullable[MOST_COLUMNS];     ///< of lists: every third is null, and has no values
    zf_encode_column values[MOST_COLUMNS];
} rows;

static bool list_is_null(const rows *r, size_t c, uint64_t row) { return r->nullable[c] && row % 3 == 1; }

/// Cuts the values of a column into lists: `count` of them, of which the last has what is left.
static void make_lists(rows *r, size_t c, uint64_t count, uint64_t seed) {
    const fuzz_data *data = &r->data[c];
    fuzz_random random = {seed};
    int64_t *offsets = r->lists[c] = calloc(count + 1, sizeof *offsets), values = (int64_t)data->rows;
    if (offsets == NULL) exit(2);
    uint64_t longest = 1 + fuzz_below(&random, 8);
    for (uint64_t k = 0; k < count; k++) {
        int64_t more = list_is_null(r, c, k) ? 0 : (int64_t)fuzz_below(&random, longest);
        offsets[k + 1] = offsets[k] + more < values ? offsets[k] + more : values;
    }
    for (uint64_t k = count; k > 0; k--) { // the last that is not null has the rest
        offsets[k] = values;
        if (!list_is_null(r, c, k - 1)) break;
    }
    r->values[c] = (zf_encode_column){.values = data->values, .offsets = data->offsets, .validity = data->validity};
}

static void make_rows(rows *out, const zf_table *table, const uint8_t *bytes, size_t size, unsigned shape) {
    *out = (rows){.table = table};
    for (const zf_column *column = table->columns; column != NULL; column = column->next) {
        if (column->part == ZF_LIST_VALIDITY || column->part == ZF_LIST_VALUES) continue;
        size_t c = out->columns++;
        bool lists = column->part == ZF_LIST_ENDS;
        zf_column_type type = zf_column_type_of((lists ? zf_lists_values(column) : column)->type);
        out->names[c] = column->name;
        if (lists) {
            uint64_t seed = XXH3_64bits(bytes, size) + c;
            out->nullable[c] = zf_lists_validity(column) != NULL;
            if (c == 0)
                fuzz_data_cut(&out->data[c], type, bytes, size);
            else
                fuzz_data_made(&out->data[c], type, shape + (unsigned)c, seed, out->count * 2);
            if (c == 0) out->count = out->data[c].rows == 0 ? seed % 3 : 1 + out->data[c].rows * (1 + seed % 4) / 4;
            if (c > 0 && out->count == 0) out->data[c].rows = 0;
            make_lists(out, c, out->count, seed);
        } else if (c == 0)
            fuzz_data_cut(&out->data[c], type, bytes, size);
        else
            fuzz_data_made(&out->data[c], type, shape + (unsigned)c, XXH3_64bits(bytes, size), out->count);
        if (!lists) out->count = out->data[c].rows;
        out->validity[c] = calloc(1, out->count / 8 + 1);
        if (out->validity[c] == NULL) exit(2);
    }
}

static void free_rows(rows *r) {
    for (size_t c = 0; c < r->columns; c++) {
        fuzz_data_free(&r->data[c]);
        free(r->validity[c]);
        free(r->lists[c]);
    }
}

/// Rows begin..begin + count as a batch has them.
static void make_batch(rows *r, uint64_t begin, uint64_t count, zf_encode_column *out) {
    for (size_t c = 0; c < r->columns; c++) {
        const fuzz_data *data = &r->data[c];
        out[c] = (zf_encode_column){.name = r->names[c]};
        if (r->lists[c] != NULL) {
            out[c].values = &r->values[c];
            out[c].offsets = r->lists[c] + begin;
            if (!r->nullable[c]) continue;
            memset(r->validity[c], 0, count / 8 + 1);
            for (uint64_t k = 0; k < count; k++) r->validity[c][k / 8] |= (uint8_t)(!list_is_null(r, c, begin + k) << k % 8);
            out[c].validity = r->validity[c];
            continue;
        }
        out[c].values = data->values + begin * fuzz_element_size(data->type.element);
        if (data->offsets != NULL) out[c].offsets = data->offsets + begin;
        if (data->validity == NULL) continue;
        memset(r->validity[c], 0, count / 8 + 1);
        for (uint64_t k = 0; k < count; k++)
            r->validity[c][k / 8] |= (uint8_t)((data->validity[(begin + k) / 8] >> (begin + k) % 8 & 1) << k % 8);
        out[c].validity = r->validity[c];
    }
}

// ---- Three ways to a file -------------------------------------------------------------------------------------

typedef struct result {
    zf_status status;
    zf_error error;
    uint8_t *bytes;
    size_t size;
} result;

/// Reads the file away, which is there after success alone.
static void take_file(result *out) {
    FILE *file = fopen(fuzz_path(), "rb");
    FUZZ_DEMAND((file != NULL) == (out->status == ZF_OK), "status %d, and there is %s file", out->status,
                file != NULL ? "a" : "no");
    if (file == NULL) return;
    fseek(file, 0, SEEK_END);
    out->size = (size_t)ftell(file);
    rewind(file);
    out->bytes = malloc(out->size + 1);
    if (out->bytes == NULL || fread(out->bytes, 1, out->size, file) != out->size) exit(2);
    fclose(file);
    unlink(fuzz_path());
}

static void encode_whole(rows *r, const zf_encode_options *options, result *out) {
    zf_encode_column columns[MOST_COLUMNS];
    make_batch(r, 0, r->count, columns);
    *out = (result){0};
    out->status = zf_encode(program, r->table->name, columns, r->columns, r->count, options, fuzz_path(), NULL, &out->error);
    take_file(out);
}

/// A batch that no table takes: a name that is another, or a column too few.
static void append_wrong(zf_table_writer *writer, rows *r, fuzz_random *random) {
    zf_encode_column columns[MOST_COLUMNS];
    zf_error error = {0};
    uint64_t before = zf_table_writer_rows(writer), count = r->count < 3 ? r->count : 3;
    make_batch(r, 0, count, columns);
    size_t wrong = fuzz_below(random, r->columns), given = r->columns;
    static const int64_t falling[] = {5, 3, 4, 4};
    if (columns[wrong].offsets != NULL && count > 0 && fuzz_below(random, 2) == 0)
        columns[wrong].offsets = falling;
    else if (fuzz_below(random, 2) == 0)
        columns[wrong].name = "other";
    else
        given--;
    zf_status status = zf_table_writer_append(writer, columns, given, count, &error);
    FUZZ_DEMAND(status == ZF_ERR_USAGE, "a batch that does not fit: %d, %s", status, error.message);
    FUZZ_DEMAND(zf_table_writer_rows(writer) == before, "rows of a batch that was refused");
}

static uint64_t batch_rows(fuzz_random *random, uint64_t left) {
    uint64_t count = fuzz_below(random, 4) == 0 ? fuzz_below(random, 9) : fuzz_below(random, left + 1);
    return count < left ? count : left;
}

static void write_batches(rows *r, const zf_encode_options *options, fuzz_random *random, unsigned batches, result *out) {
    zf_encode_column columns[MOST_COLUMNS];
    zf_table_writer *writer = NULL;
    *out = (result){0};
    make_batch(r, 0, 0, columns);
    out->status =
        zf_table_writer_create(program, r->table->name, columns, r->columns, options, fuzz_path(), &writer, &out->error);
    FUZZ_DEMAND(out->status == ZF_OK, "a writer: %s", out->error.message);
    for (uint64_t at = 0, count; at < r->count && out->status == ZF_OK; at += count, batches -= batches > 0) {
        count = batches > 1 ? batch_rows(random, r->count - at) : r->count - at;
        if (batches > 1 && fuzz_below(random, 4) == 0) append_wrong(writer, r, random);
        make_batch(r, at, count, columns);
        out->status = zf_table_writer_append(writer, columns, r->columns, count, &out->error);
        FUZZ_DEMAND(out->status != ZF_OK || zf_table_writer_rows(writer) == at + count, "rows of the writer");
    }
    if (out->status == ZF_OK) out->status = zf_table_writer_finish(writer, NULL, &out->error);
    if (out->status != ZF_OK) {
        zf_error after = {0};
        FUZZ_DEMAND(zf_table_writer_finish(writer, NULL, &after) == ZF_ERR_IO, "a writer that failed finishes");
    }
    zf_table_writer_free(writer);
    take_file(out);
}

// ---- One input ------------------------------------------------------------------------------------------------

/// Offsets and validity of lists are those that were given.
static void check_lists(zf_container *container, size_t column, const char *device, const rows *r, size_t c) {
    int64_t *offsets = malloc((r->count + 1) * sizeof *offsets);
    uint8_t *validity = malloc(r->count / 8 + 1);
    if (offsets == NULL || validity == NULL) exit(2);
    zf_error error = {0};
    zf_list_values of = {0};
    const zf_decode_options options = {.threads = 1};
    const zf_decode_buffers buffers = {.offsets = offsets,
                                       .offsets_bytes = (r->count + 1) * sizeof *offsets,
                                       .validity = validity,
                                       .validity_bytes = (r->count + 7) / 8};
    zf_status status = zf_decode_lists(container, column, device, &options, &buffers, &of, NULL, &error);
    FUZZ_DEMAND(status == ZF_OK, "%s on %s: %s (%s)", r->names[c], device, error.message, error.place);
    FUZZ_DEMAND(memcmp(offsets, r->lists[c], (r->count + 1) * sizeof *offsets) == 0, "%s on %s: other offsets", r->names[c],
                device);
    for (uint64_t k = 0; k < r->count && r->nullable[c]; k++)
        FUZZ_DEMAND((validity[k / 8] >> k % 8 & 1) == !list_is_null(r, c, k), "%s on %s: list %llu", r->names[c], device,
                    (unsigned long long)k);
    free(offsets);
    free(validity);
}

static void check_decodes(const result *file, const rows *r, const char *device) {
    zf_container *container = NULL;
    zf_error error = {0};
    FUZZ_DEMAND(zf_container_open_memory(machine.context, file->bytes, file->size, NULL, &container, &error) == ZF_OK,
                "it does not open: %s", error.message);
    for (size_t c = 0; c < r->columns; c++) {
        fuzz_decoded decoded;
        zf_decode_options options = {.threads = 1};
        size_t column;
        FUZZ_DEMAND(zf_container_find(container, r->names[c], &column, &error) == ZF_OK, "%s", error.message);
        uint64_t count = r->count;
        if (r->lists[c] != NULL) {
            check_lists(container, column, device, r, c);
            column += r->nullable[c] ? 2 : 1;
            count = r->data[c].rows;
        }
        FUZZ_DEMAND(fuzz_decode(container, column, device, &options, &decoded), "%zu bytes of workspace",
                    decoded.sizes.workspace);
        FUZZ_DEMAND(decoded.status == ZF_OK, "%s.%s on %s: %s %s (%s)", r->table->name, r->names[c], device, decoded.error.code,
                    decoded.error.message, decoded.error.place);
        const char *differs = fuzz_data_differs(&r->data[c], 0, count, &decoded.buffers);
        FUZZ_DEMAND(differs == NULL, "%s.%s on %s: %s", r->table->name, r->names[c], device, differs);
        fuzz_decoded_free(&decoded);
    }
    zf_container_close(container);
}

static void check_alike(const result *a, const result *b, const char *table, const char *what) {
    FUZZ_DEMAND((a->status == ZF_OK) == (b->status == ZF_OK), "%s, %s: %s %s, not %s %s", table, what, b->error.code,
                b->error.message, a->error.code, a->error.message);
    if (b->status != ZF_OK) {
        fuzz_check_error(&b->error);
        FUZZ_DEMAND(b->status == ZF_ERR_INPUT && strcmp(b->error.code, "ZF0601") != 0, "%s, %s: %s %s", table, what,
                    b->error.code, b->error.message);
        return;
    }
    FUZZ_DEMAND(a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0, "%s, %s: another file", table, what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEAD || size > MOST_SIZE) return -1;
    uint64_t hash = XXH3_64bits(data, size);
    fuzz_random random = {data[3] + 256u * data[4]};
    rows r;
    bool lists = data[1] >> 6 != 0;
    make_rows(&r, lists ? list_tables[data[0] % list_table_count] : tables[data[0] % table_count], data + HEAD, size - HEAD,
              data[5]);
    zf_encode_options options = {.overwrite = true, .threads = 1};
    switch (data[1] % 4) { // rows of a block: by bytes; a few; one tile; many
    case 1: options.rows_per_block = 1 + r.count / 16 + data[2] % 64u; break;
    case 2: options.rows_per_block = 4096; break;
    case 3: options.rows_per_block = 4096 + 256 * (uint64_t)data[2]; break;
    }
    options.zones = data[1] >> 2 & 1;
    options.seek_interval = (data[1] >> 3 & 1) != 0 ? 256 : 0;
    bool first_version = !lists && (data[1] >> 4 & 3) == 3 && options.rows_per_block % 4096 == 0;
    if (first_version) options.format = 1;
    if (first_version) options.zones = 0;
    result whole, one, many;
    encode_whole(&r, &options, &whole);
    write_batches(&r, &options, &random, 1, &one);
    options.threads = 1 + data[2] % 3;
    write_batches(&r, &options, &random, BATCHES, &many);
    check_alike(&whole, &one, r.table->name, "one batch");
    check_alike(&whole, &many, r.table->name, "batches");
    if (many.status == ZF_OK) {
        check_decodes(&many, &r, "cpu");
        if (hash % 4 == 0) check_decodes(&many, &r, hash % 8 == 0 ? "emu" : "emu64");
    }
    free(whole.bytes);
    free(one.bytes);
    free(many.bytes);
    free_rows(&r);
    return 0;
}

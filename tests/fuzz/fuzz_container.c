// `.zfd`: the input is a container without its text (container_input.h), of a table of container.zf. It is opened, accounted for
// byte by byte, and its columns are decoded on the CPU and on an emulated GPU: both make the same bytes, or both report an error
// with a code and a place. A range of rows is a part of the whole column. Zones, names, keys and the schema are read; without a
// comparison with its zones a column decodes to the same, or is refused for its zones alone. Lists are refused, or have offsets
// that rise to the number of their values, which all devices agree on, and so do ranges of them.
//
// The mutator makes files of random data, with all features of the format, and lies in files: in headers, in values that are laid
// out again, in the index, in each feature, section and block. It mends the checksums of most.
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "compiler/container_spec.h"
#include "compiler/program.h"
#include "runtime/container/container_format.h"
#include "tests/fuzz/container_input.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_data.h"
#include "tests/fuzz/fuzz_decode.h"

enum { TABLES = 64, MOST_COLUMNS = 4, MOST_SIZE = 1 << 18, MOST_LISTS = 512 };

/// A table that inputs may name, and its text.
typedef struct known_table {
    const zf_table *table;
    zf_column_type type; ///< of its column, or of the values of its lists
    zf_text text;
} known_table;

static fuzz_machine machine;
static zf_program *program;
static known_table tables[TABLES];
static size_t table_count;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    fuzz_machine_open(&machine);
    zf_error error = {0};
    zf_status status = zf_program_load(machine.compiler, ZF_SOURCE_DIR "/tests/fuzz/container.zf", &program, &error);
    FUZZ_DEMAND(status == ZF_OK, "%s (%s)", error.message, error.place);
    for (const zf_table *table = zf_spec_tables(zf_program_spec(program)); table != NULL; table = table->next) {
        known_table *known = &tables[table_count++];
        known->table = table;
        const zf_column *column = table->columns;
        known->type = zf_column_type_of((column->part == ZF_LIST_ENDS ? zf_lists_values(column) : column)->type);
        FUZZ_DEMAND(zf_canonical_table(zf_program_spec(program), table, &known->text), "no text of %s", table->name);
    }
    return 0;
}

static const known_table *table_named(const char *name, size_t length) {
    for (size_t t = 0; t < table_count; t++) {
        if (strlen(tables[t].table->name) == length && memcmp(tables[t].table->name, name, length) == 0) return &tables[t];
    }
    return NULL;
}

// ---- One input ------------------------------------------------------------------------------------------------

typedef struct accounted {
    uint64_t next;
    bool ordered;
} accounted;

static void account(void *user, const zf_container_part *part) {
    accounted *a = user;
    a->ordered = a->ordered && part->offset == a->next;
    a->next = part->offset + part->bytes;
}

/// Whether the code of a column is one of few: each interval of seek states is a plan of its own.
static bool is_cheap(const zf_container *container, size_t column) {
    size_t shapes = zf_container_shapes(container, column);
    for (size_t s = 0; s < shapes; s++) {
        const zf_shape *shape = zf_container_shape(container, column, s);
        for (uint32_t t = 0; t < shape->tree_count; t++) {
            if (!shape->trees[t].directory && shape->trees[t].interval != zf_shape_interval(shape)) return false;
        }
    }
    return shapes <= 4;
}

/// Whether two decodes agree: the same values, or an error of both.
static void compare(const fuzz_decoded *a, const fuzz_decoded *b, zf_element element, uint64_t rows, const char *what) {
    FUZZ_DEMAND((a->status == ZF_OK) == (b->status == ZF_OK), "%s: %s %s (%s), not %s %s (%s)", what, b->error.code,
                b->error.message, b->error.place, a->error.code, a->error.message, a->error.place);
    if (a->status != ZF_OK) return;
    const zf_decode_sizes *sizes = &a->sizes;
    bool same = sizes->offsets == 0 || memcmp(a->buffers.offsets, b->buffers.offsets, sizes->offsets) == 0;
    FUZZ_DEMAND(same, "%s: other offsets", what);
    size_t bytes = sizes->offsets > 0 ? (size_t)a->buffers.offsets[rows] : sizes->values;
    FUZZ_DEMAND(bytes <= sizes->values, "%s: %zu characters in %zu bytes", what, bytes, sizes->values);
    size_t whole = element == ZF_BOOL ? rows / 8 : bytes; // bits behind the last row say nothing
    same = memcmp(a->buffers.values, b->buffers.values, whole) == 0;
    uint8_t spare = (uint8_t)((1u << (rows % 8)) - 1);
    const uint8_t *first = a->buffers.values, *second = b->buffers.values;
    if (element == ZF_BOOL && spare != 0) same = same && ((first[whole] ^ second[whole]) & spare) == 0;
    FUZZ_DEMAND(same, "%s: other values", what);
    for (uint64_t k = 0; k < rows && sizes->validity > 0; k++)
        FUZZ_DEMAND(((a->buffers.validity[k / 8] ^ b->buffers.validity[k / 8]) >> (k % 8) & 1) == 0, "%s: other validity", what);
}

/// Whether rows `begin` on of a whole column are those of a range.
static void compare_range(const fuzz_decoded *whole, const fuzz_decoded *part, const zf_column_type *type, uint64_t begin,
                          uint64_t rows, const char *device) {
    if (whole->status != ZF_OK) return; // a part may be good
    FUZZ_DEMAND(part->status == ZF_OK, "%s, rows from %llu: %s %s (%s)", device, (unsigned long long)begin, part->error.code,
                part->error.message, part->error.place);
    fuzz_data data = {.type = *type, .rows = begin + rows, .values = whole->buffers.values};
    if (type->nullable) data.validity = whole->buffers.validity;
    if (type->element == ZF_STRING) data.offsets = whole->buffers.offsets;
    if (type->element == ZF_BOOL) {
        const uint8_t *one = whole->buffers.values, *other = part->buffers.values;
        for (uint64_t k = 0; k < rows; k++) {
            uint64_t r = begin + k;
            FUZZ_DEMAND((one[r / 8] >> (r % 8) & 1) == (other[k / 8] >> (k % 8) & 1), "%s, rows from %llu: another bit", device,
                        (unsigned long long)begin);
        }
        return;
    }
    const char *differs = fuzz_data_differs(&data, begin, rows, &part->buffers);
    FUZZ_DEMAND(differs == NULL, "%s, rows from %llu: %s", device, (unsigned long long)begin, differs);
}

/// Decodes on the CPU without a comparison with zones: as with it, unless the zones alone are wrong.
static void compare_without_zones(zf_container *container, size_t column, const fuzz_decoded *host, const zf_column_info *info) {
    zf_decode_options options = {.threads = 1, .skip_zones = true};
    fuzz_decoded other;
    if (fuzz_decode(container, column, "cpu", &options, &other)) {
        if (other.status != ZF_OK) fuzz_check_error(&other.error);
        bool lied = host->status != ZF_OK && other.status == ZF_OK;
        FUZZ_DEMAND(!lied || strcmp(host->error.code, "ZF1326") == 0, "only with zones: %s %s", host->error.code,
                    host->error.message);
        if (!lied) compare(host, &other, info->type.element, info->rows, "without zones");
    }
    fuzz_decoded_free(&other);
}

static void decode_range(zf_container *container, size_t column, const char *device, uint64_t hash, const fuzz_decoded *host,
                         const zf_column_info *info) {
    zf_decode_options options = {.threads = 1, .some_rows = true, .skip_zones = (hash >> 7 & 1) != 0};
    fuzz_decoded part;
    options.row_begin = info->rows > 0 ? (hash >> 8) % info->rows : 0;
    options.row_count = info->rows > 0 ? (hash >> 32) % (info->rows - options.row_begin) : 0;
    if (fuzz_decode(container, column, device, &options, &part)) {
        if (part.status != ZF_OK) fuzz_check_error(&part.error);
        compare_range(host, &part, &info->type, options.row_begin, options.row_count, device);
    }
    fuzz_decoded_free(&part);
}

static void decode_column(zf_container *container, size_t column, uint64_t hash) {
    zf_column_info info = {0};
    zf_error error = {0};
    FUZZ_DEMAND(zf_container_column(container, column, &info, &error) == ZF_OK, "%s", error.message);
    zf_decode_options options = {.threads = 1};
    fuzz_decoded host, other;
    if (fuzz_decode(container, column, "cpu", &options, &host)) {
        if (host.status != ZF_OK) fuzz_check_error(&host.error);
        const char *device = hash % 2 == 0 ? "emu" : "emu64";
        if (fuzz_decode(container, column, device, &options, &other)) {
            if (other.status != ZF_OK) fuzz_check_error(&other.error);
            compare(&host, &other, info.type.element, info.rows, device);
        }
        fuzz_decoded_free(&other);
        if (zf_container_zones(container, column) > 0) compare_without_zones(container, column, &host, &info);
        decode_range(container, column, "cpu", hash, &host, &info);
        if (hash >> 4 & 1) decode_range(container, column, device, XXH3_64bits(&hash, sizeof hash), &host, &info);
    }
    fuzz_decoded_free(&host);
}

/// Offsets, validity and values of lists; the memory ends where a sanitizer sees it.
typedef struct list_rows {
    zf_status status;
    zf_error error;
    int64_t *offsets;
    uint8_t *validity;
    zf_list_values values;
} list_rows;

static void decode_list_rows(zf_container *container, size_t column, const char *device, uint64_t begin, uint64_t rows,
                             bool nullable, list_rows *out) {
    *out = (list_rows){.offsets = malloc((rows + 1) * sizeof *out->offsets), .validity = malloc((rows + 7) / 8 + 1)};
    if (out->offsets == NULL || out->validity == NULL) exit(2);
    memset(out->offsets, 0xa5, (rows + 1) * sizeof *out->offsets);
    const zf_decode_options options = {.threads = 1, .some_rows = true, .row_begin = begin, .row_count = rows};
    const zf_decode_buffers buffers = {.offsets = out->offsets,
                                       .offsets_bytes = (rows + 1) * sizeof *out->offsets,
                                       .validity = nullable ? out->validity : NULL,
                                       .validity_bytes = nullable ? (rows + 7) / 8 : 0};
    out->status = zf_decode_lists(container, column, device, &options, &buffers, &out->values, NULL, &out->error);
    if (out->status != ZF_OK) fuzz_check_error(&out->error);
}

static void free_list_rows(list_rows *rows) {
    free(rows->offsets);
    free(rows->validity);
}

/// Demands that rows from row `begin` of `whole` on are `part`.
static void compare_lists(const list_rows *whole, const list_rows *part, uint64_t begin, uint64_t rows, bool nullable,
                          const char *what) {
    FUZZ_DEMAND(part->status == ZF_OK, "%s: lists are refused that were good: %s", what, part->error.message);
    int64_t first = whole->offsets[begin];
    FUZZ_DEMAND(rows == 0 || part->values.row_begin == (uint64_t)first, "%s: lists begin with value %llu", what,
                (unsigned long long)part->values.row_begin);
    for (uint64_t k = 0; k <= rows; k++)
        FUZZ_DEMAND(part->offsets[k] == whole->offsets[begin + k] - first, "%s: offset %llu differs", what,
                    (unsigned long long)k);
    for (uint64_t k = 0; k < rows && nullable; k++) {
        uint64_t at = begin + k;
        FUZZ_DEMAND((part->validity[k / 8] >> k % 8 & 1) == (whole->validity[at / 8] >> at % 8 & 1), "%s: other validity", what);
    }
}

static void decode_lists(zf_container *container, size_t column, uint64_t hash) {
    zf_column_info info = {0}, of = {0};
    zf_error error = {0};
    FUZZ_DEMAND(zf_container_column(container, column, &info, &error) == ZF_OK, "%s", error.message);
    if (info.part != ZF_LIST_ENDS || info.rows > FUZZ_ROWS) return;
    size_t values = column + 1;
    FUZZ_DEMAND(zf_container_column(container, values, &of, &error) == ZF_OK, "%s", error.message);
    bool nullable = of.part == ZF_LIST_VALIDITY;
    if (nullable) FUZZ_DEMAND(zf_container_column(container, ++values, &of, &error) == ZF_OK, "%s", error.message);
    FUZZ_DEMAND(of.part == ZF_LIST_VALUES, "lists without values");
    list_rows host, other;
    decode_list_rows(container, column, "cpu", 0, info.rows, nullable, &host);
    decode_list_rows(container, column, hash % 2 == 0 ? "emu" : "emu64", 0, info.rows, nullable, &other);
    FUZZ_DEMAND((host.status == ZF_OK) == (other.status == ZF_OK), "lists: %s (%s), not %s (%s)", other.error.message,
                other.error.place, host.error.message, host.error.place);
    if (host.status == ZF_OK) {
        compare_lists(&host, &other, 0, info.rows, nullable, "a GPU");
        for (uint64_t k = 0; k < info.rows; k++) {
            bool null = nullable && (host.validity[k / 8] >> k % 8 & 1) == 0;
            FUZZ_DEMAND(host.offsets[k] <= host.offsets[k + 1] && !(null && host.offsets[k] < host.offsets[k + 1]), "list %llu",
                        (unsigned long long)k);
        }
        FUZZ_DEMAND(host.offsets[0] == 0 && (uint64_t)host.offsets[info.rows] == of.rows && host.values.row_count == of.rows,
                    "%llu values", (unsigned long long)of.rows);
        list_rows part;
        uint64_t begin = info.rows > 0 ? (hash >> 8) % info.rows : 0,
                 rows = info.rows > 0 ? (hash >> 32) % (info.rows - begin + 1) : 0;
        decode_list_rows(container, column, "cpu", begin, rows, nullable, &part);
        compare_lists(&host, &part, begin, rows, nullable, "a range");
        free_list_rows(&part);
    }
    free_list_rows(&host);
    free_list_rows(&other);
}

/// Reads every zone of a column: they lie one behind the other, and say what is possible.
static void read_zones(const zf_container *container, size_t column, const zf_column_info *info) {
    uint64_t zones = zf_container_zones(container, column), next = 0;
    zf_error error = {0};
    for (uint64_t k = 0; k < zones; k++) {
        zf_zone zone = {0};
        FUZZ_DEMAND(zf_container_zone(container, column, k, &zone, &error) == ZF_OK, "%s", error.message);
        bool possible = zone.first_row == next && zone.rows > 0 && zone.rows <= 65536 && zone.nulls <= zone.rows;
        FUZZ_DEMAND(possible, "zone %llu: rows %llu and %llu more, %llu nulls", (unsigned long long)k,
                    (unsigned long long)zone.first_row, (unsigned long long)zone.rows, (unsigned long long)zone.nulls);
        FUZZ_DEMAND(zone.nulls == 0 || info->type.nullable, "a zone with nulls of a column without");
        FUZZ_DEMAND(zone.has_values || (zone.minimum == 0 && zone.maximum == 0), "a zone without values has a minimum");
        next += zone.rows;
    }
    FUZZ_DEMAND(zones == 0 || next == info->rows, "zones of %llu rows", (unsigned long long)next);
    zf_zone zone = {0};
    FUZZ_DEMAND(zf_container_zone(container, column, zones, &zone, &error) == ZF_ERR_USAGE, "a zone behind the last");
}

/// Reads what the sections say. Every column is found by both of its names.
static void read_sections(const zf_container *container) {
    zf_error error = {0};
    size_t bytes = 0, columns = zf_container_columns(container), found;
    uint64_t sum = 0;
    const uint8_t *schema = zf_container_schema(container, &bytes);
    if (schema != NULL) sum += XXH3_64bits(schema, bytes);
    for (size_t k = 0; k < zf_container_metadata_count(container); k++) {
        zf_metadata pair = {0};
        FUZZ_DEMAND(zf_container_metadata(container, k, &pair, &error) == ZF_OK, "%s", error.message);
        FUZZ_DEMAND(pair.key[0] != 0, "an empty key");
        sum += XXH3_64bits(pair.value, pair.bytes);
    }
    volatile uint64_t kept = sum; // a sanitizer sees the reads
    (void)kept;
    for (size_t c = 0; c < columns && c < MOST_COLUMNS; c++) {
        zf_column_info info = {0};
        FUZZ_DEMAND(zf_container_column(container, c, &info, &error) == ZF_OK, "%s", error.message);
        FUZZ_DEMAND(zf_container_find(container, info.name, &found, &error) == ZF_OK && found == c, "column %s is not found",
                    info.name);
        FUZZ_DEMAND(zf_container_find(container, info.full_name, &found, &error) == ZF_OK, "column %s is not found",
                    info.full_name);
        read_zones(container, c, &info);
    }
}

static void run(const uint8_t *bytes, size_t size, bool is_known, uint64_t hash) {
    zf_container *container = NULL;
    zf_error error = {0};
    if (zf_container_open_memory(machine.context, bytes, size, NULL, &container, &error) != ZF_OK) {
        fuzz_check_error(&error);
        return;
    }
    accounted parts = {.ordered = true};
    zf_status status = zf_container_account(container, account, &parts, &error);
    if (status != ZF_OK) fuzz_check_error(&error);
    FUZZ_DEMAND(status != ZF_OK || (parts.ordered && parts.next == size), "%llu of %zu bytes are accounted for",
                (unsigned long long)parts.next, size);
    read_sections(container);
    size_t columns = zf_container_columns(container);
    for (size_t c = 0; c < columns && c < MOST_COLUMNS && is_known; c++) {
        if (!is_cheap(container, c)) continue;
        decode_column(container, c, hash);
        if (c + 1 >= columns || (is_cheap(container, c + 1) && columns <= MOST_COLUMNS)) decode_lists(container, c, hash);
    }
    zf_container_close(container);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > MOST_SIZE) return -1;
    container_places places;
    const known_table *known = NULL;
    uint8_t *made = NULL;
    uint64_t hash = XXH3_64bits(data, size);
    if (container_find(data, size, &places) && places.text_length == 0)
        known = table_named((const char *)data + places.name, places.name_length);
    if (known != NULL) {
        made = container_with_text(data, size, &places, known->text.data, known->text.length, &size);
        data = made;
    }
    uint8_t *bytes = NULL; // as a mapped file: in place
    if (posix_memalign((void **)&bytes, ZF_FORMAT_ALIGNMENT, size > 0 ? size : 1) != 0) exit(2);
    if (size > 0) memcpy(bytes, data, size);
    run(bytes, size, known != NULL, hash);
    free(bytes);
    free(made);
    return 0;
}

// ---- Files of random data -------------------------------------------------------------------------------------

/// Rows of a block: few, so that many blocks begin within words; as many as a tile; the default.
static uint64_t some_block(fuzz_random *random, uint64_t rows) {
    switch (fuzz_below(random, 4)) {
    case 0: return 4096;
    case 1: return 0;
    default: return 1 + rows / (1 + fuzz_below(random, 8)) + fuzz_below(random, 3);
    }
}

/// A container of a table without its text. NULL where the codec refuses the data, or it is larger than `most`.
static uint8_t *make_file(fuzz_random *random, size_t most, size_t *size) {
    const known_table *known = &tables[fuzz_below(random, table_count)];
    static const uint64_t edges[] = {0, 1, 7, 255, 256, 257, 511, 512, 513, 700, 701, 1400, 4096, 4097};
    uint64_t rows =
        fuzz_below(random, 3) == 0 ? edges[fuzz_below(random, sizeof edges / sizeof edges[0])] : fuzz_below(random, 900);
    fuzz_data data;
    fuzz_data_made(&data, known->type, (unsigned)fuzz_next(random), fuzz_next(random), rows);
    zf_encode_column column = {.name = "c", .values = data.values, .offsets = data.offsets, .validity = data.validity};
    const zf_encode_column child = column;
    int64_t offsets[MOST_LISTS + 1] = {0};
    uint8_t validity[MOST_LISTS / 8];
    if (known->table->columns->part == ZF_LIST_ENDS) {
        uint64_t values = rows, longest = 1 + fuzz_below(random, 9);
        rows = fuzz_below(random, 8) == 0 ? 0 : fuzz_below(random, MOST_LISTS);
        for (uint64_t k = 0; k < rows; k++) {
            offsets[k + 1] = offsets[k] + (int64_t)fuzz_below(random, longest);
            if ((uint64_t)offsets[k + 1] > values) offsets[k + 1] = (int64_t)values;
        }
        for (size_t k = 0; k < sizeof validity; k++) validity[k] = (uint8_t)(fuzz_next(random) | fuzz_next(random));
        bool nullable = zf_lists_validity(known->table->columns) != NULL;
        column = (zf_encode_column){.name = "c", .values = &child, .offsets = offsets, .validity = nullable ? validity : NULL};
    }
    zf_encode_options options = {.overwrite = true, .threads = 1, .rows_per_block = some_block(random, rows)};
    static const uint8_t schema[24] = {0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0, 1, 2, 3};
    static const zf_metadata pairs[] = {{.key = "source", .value = "a = b", .bytes = 5}, {.key = "k", .value = "", .bytes = 0}};
    options.format = fuzz_below(random, 8) == 0 && known->table->columns->part == ZF_LIST_NONE ? 1 : 0;
    if (options.format == 1) options.rows_per_block = 4096;
    uint64_t features = options.format == 1 ? 0 : fuzz_below(random, 16);
    options.zones = features & 1;
    if (features & 2) column.full_name = "Spalte \u00e4";
    if (features & 4) options.metadata = pairs, options.metadata_count = 1 + fuzz_below(random, 2);
    if (features & 8) options.schema = schema, options.schema_bytes = sizeof schema;
    options.seek_interval = fuzz_below(random, 2) == 0 ? 256 : 0;
    options.unfused = fuzz_below(random, 4) == 0 ? "all" : NULL;
    zf_error error = {0};
    zf_status status = zf_encode(program, known->table->name, &column, 1, rows, &options, fuzz_path(), NULL, &error);
    fuzz_data_free(&data);
    if (status != ZF_OK) return NULL;
    uint8_t *bytes = malloc(MOST_SIZE), *out = NULL;
    FILE *file = fopen(fuzz_path(), "rb");
    if (bytes == NULL || file == NULL) exit(2);
    *size = fread(bytes, 1, MOST_SIZE, file);
    fclose(file);
    unlink(fuzz_path());
    container_places places;
    if (container_find(bytes, *size, &places)) out = container_with_text(bytes, *size, &places, NULL, 0, size);
    free(bytes);
    if (out == NULL || *size <= most) return out;
    free(out);
    return NULL;
}

// ---- Lies -----------------------------------------------------------------------------------------------------

static uint64_t other_number(fuzz_random *random, uint64_t value) {
    static const uint64_t some[] = {0, 1, 2, 255, 256, 4095, 4096, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};
    switch (fuzz_below(random, 6)) {
    case 0: return value + 1;
    case 1: return value - 1;
    case 2: return some[fuzz_below(random, sizeof some / sizeof some[0])];
    case 3: return value ^ UINT64_C(1) << fuzz_below(random, 64);
    case 4: return value + fuzz_below(random, 64);
    default: return fuzz_next(random) >> fuzz_below(random, 64);
    }
}

enum { BLOCK_PARTS = 64 }; ///< streams, edges, params and trees of a block that is changed, at most

/// The content of a block, which lies change.
typedef struct block_content {
    uint64_t params[BLOCK_PARTS], counts[BLOCK_PARTS];
    zf_stream_data streams[BLOCK_PARTS];
    zf_seek_data seeks[BLOCK_PARTS];
    uint8_t *copies[BLOCK_PARTS];  ///< of streams
    uint64_t *values[BLOCK_PARTS]; ///< of seek states
} block_content;

/// Streams: some with another number of elements, some with other bytes.
static void lie_in_streams(fuzz_random *random, const zf_block_view *view, block_content *out) {
    const zf_shape *shape = view->shape;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        if (shape->edges[e].stored < 0) continue;
        uint32_t s = (uint32_t)shape->edges[e].stored;
        const zf_stream_view *stream = &view->streams[s];
        uint64_t elements = stream->elements, bits = stream->elements > 0 ? stream->bytes * 8 / stream->elements : 8;
        if (shape->edges[e].type == ZF_BOOL) bits = 1;
        if (fuzz_below(random, 8) == 0) elements += fuzz_below(random, 5) - 2;
        if (elements > 1 << 16) elements = stream->elements; // below 0, too
        if (fuzz_below(random, 16) == 0) elements = fuzz_below(random, elements + 1);
        uint64_t bytes = (elements * bits + 7) / 8;
        uint8_t *copy = calloc(1, bytes + 1);
        if (copy == NULL) exit(2);
        memcpy(copy, view->base + stream->offset, bytes < stream->bytes ? bytes : stream->bytes);
        uint64_t changes = fuzz_below(random, 4) == 0 ? 1 + fuzz_below(random, 4) : 0;
        for (uint64_t k = 0; k < changes && bytes > 0; k++) copy[fuzz_below(random, bytes)] = (uint8_t)fuzz_next(random);
        if (bytes > 0 && fuzz_below(random, 16) == 0) LLVMFuzzerMutate(copy, bytes, bytes);
        out->counts[e] = elements;
        out->copies[s] = copy;
        out->streams[s] = (zf_stream_data){copy, bytes, elements};
    }
}

static void lie_in_params(fuzz_random *random, const zf_shape *shape, block_content *out) {
    if (shape->param_count == 0 || fuzz_below(random, 3) != 0) return;
    uint64_t p = fuzz_below(random, shape->param_count);
    out->params[p] = other_number(random, out->params[p]);
}

/// Counts of edges that are not stored.
static void lie_in_counts(fuzz_random *random, const zf_shape *shape, block_content *out) {
    if (fuzz_below(random, 4) != 0) return;
    uint64_t e = fuzz_below(random, shape->edge_count);
    if (shape->edges[e].stored < 0) out->counts[e] = other_number(random, out->counts[e]);
}

/// Seek states: as many as the counts say, which are final. Uneven chunks: as many as there are, or one less.
static void lie_in_states(fuzz_random *random, const zf_block_view *view, block_content *out) {
    const zf_shape *shape = view->shape;
    for (uint32_t t = 0; t < shape->tree_count; t++) {
        const zf_seek_view *seek = &view->seeks[t];
        uint32_t fields = shape->trees[t].field_count;
        uint64_t count = out->counts[shape->trees[t].edge],
                 entries = seek->entries == 0 || count == 0 ? 0 : (count - 1) / seek->interval;
        if (shape->trees[t].directory == ZF_DIRECTORY_UNEVEN && count > 0) {
            entries = seek->entries;
            if (entries > 1 && fuzz_below(random, 16) == 0) entries--;
        }
        if (entries > 1 << 12) entries = 0;
        uint64_t *values = calloc(fields * entries + 1, sizeof *values);
        if (values == NULL) exit(2);
        for (uint32_t f = 0; f < fields; f++) {
            for (uint64_t k = 0; k < entries && k < seek->entries; k++)
                memcpy(&values[f * entries + k], view->base + seek->offsets[f] + k * seek->widths[f], seek->widths[f]);
        }
        if (fields * entries > 0 && fuzz_below(random, 3) == 0) {
            uint64_t at = fuzz_below(random, fields * entries);
            values[at] = other_number(random, values[at]);
        }
        out->values[t] = values;
        out->seeks[t] = (zf_seek_data){seek->interval, entries, values, seek->most_groups};
    }
}

/// A block with another value in one or two places, laid out as a file has it. NULL where that cannot be.
static void *lie_in_block(fuzz_random *random, const zf_block_view *view, uint64_t *size) {
    const zf_shape *shape = view->shape;
    if (shape->stored_count > BLOCK_PARTS || shape->tree_count > BLOCK_PARTS || shape->param_count > BLOCK_PARTS ||
        shape->edge_count > BLOCK_PARTS || shape->edge_count == 0)
        return NULL;
    block_content content = {0};
    memcpy(content.counts, view->counts, shape->edge_count * sizeof *content.counts);
    if (shape->param_count > 0) memcpy(content.params, view->params, shape->param_count * sizeof *content.params);
    lie_in_streams(random, view, &content);
    lie_in_params(random, shape, &content);
    lie_in_counts(random, shape, &content);
    lie_in_states(random, view, &content);
    content.counts[0] = view->rows;
    zf_block_data block = {view->rows,    view->plain_bytes, 0,   content.params, content.counts, content.streams, content.seeks,
                           view->version, view->first_row,   NULL};
    block.shape = zf_load32(view->base + 12);
    void *bytes = NULL;
    zf_error error = {0};
    if (zf_block_layout(shape, &block, &bytes, size, &error) != ZF_OK) bytes = NULL;
    for (uint32_t k = 0; k < BLOCK_PARTS; k++) {
        free(content.copies[k]);
        free(content.values[k]);
    }
    return bytes;
}

/// Another block in place of one that its reader accepts. NULL where there is none.
static uint8_t *lie_in_values(fuzz_random *random, const uint8_t *data, size_t size, const container_places *places,
                              size_t *made) {
    zf_container *container = NULL;
    zf_error error = {0};
    zf_open_options copied = {.copy = true};
    uint8_t *out = NULL;
    if (zf_container_open_memory(machine.context, data, size, &copied, &container, &error) != ZF_OK) return NULL;
    uint32_t row = places->row_count > 0 ? (uint32_t)fuzz_below(random, places->row_count) : 0;
    zf_block_view view;
    // The rows of the index are the blocks of the columns, one column behind the other.
    size_t column = 0;
    uint64_t block_of = row;
    for (zf_column_info info = {0}; zf_container_column(container, column, &info, &error) == ZF_OK && block_of >= info.blocks;
         column++)
        block_of -= info.blocks;
    if (places->row_count > 0 && column < zf_container_columns(container) &&
        zf_container_block(container, column, block_of, false, &view, &error) == ZF_OK) {
        uint64_t block_size = 0;
        void *block = lie_in_block(random, &view, &block_size);
        if (block != NULL) out = container_with_block(data, size, places, row, block, block_size, made);
        free(block);
        zf_block_view_free(&view);
    }
    zf_container_close(container);
    return out;
}

// ---- Lies in features, sections and the ends of blocks --------------------------------------------------------

static const container_feature *feature_of(const container_places *places, bool required, unsigned bit) {
    for (uint32_t k = 0; k < places->feature_count; k++) {
        if (places->names[k].required == required && places->names[k].bit == bit) return &places->names[k];
    }
    return NULL;
}

/// A file whose index changes, from its end to its start: places before a change stay.
typedef struct rewriting {
    uint8_t *bytes;
    size_t size;
    container_places places;
} rewriting;

static void rewrite(rewriting *r, size_t at, size_t old_length, const void *content, size_t length) {
    size_t size;
    uint8_t *made = container_with_bytes(r->bytes, r->size, &r->places, at, old_length, content, length, &size);
    free(r->bytes);
    r->bytes = made;
    r->size = size;
    r->places.content += length - old_length; // modulo 2^64
    r->places.end = size - ZF_FORMAT_FOOTER_BYTES;
}

static void set_bit(rewriting *r, bool required, unsigned bit, bool value) {
    uint8_t *word = r->bytes + r->places.features + (required ? 0 : 8);
    uint64_t bits = zf_load64(word) & ~(UINT64_C(1) << bit);
    zf_store64(word, bits | (uint64_t)value << bit);
}

/// Takes a feature away, with its name and its section.
static void remove_feature(rewriting *r, bool required, unsigned bit) {
    const container_feature *feature = feature_of(&r->places, required, bit);
    if (feature == NULL) return;
    if (feature->section != 0) rewrite(r, feature->section, 8 + zf_load64(r->bytes + feature->section), NULL, 0);
    rewrite(r, feature->name, 4 + (size_t)zf_load32(r->bytes + feature->name), NULL, 0);
    set_bit(r, required, bit, false);
}

/// Adds a feature at its place among the others. A section has `length` bytes.
static void add_feature(rewriting *r, bool required, unsigned bit, const char *name, const uint8_t *section, size_t length) {
    if (feature_of(&r->places, required, bit) != NULL) return;
    uint8_t text[64];
    size_t at = r->places.features + 16, end = r->places.content, letters = strlen(name);
    for (uint32_t k = r->places.feature_count; k-- > 0;) { // what stands behind it
        const container_feature *other = &r->places.names[k];
        bool behind = other->required == required ? other->bit > bit : required;
        if (!behind) {
            at = other->name + 4 + zf_load32(r->bytes + other->name);
            break;
        }
        if (other->section != 0 && !required) end = other->section;
    }
    if (!required) {
        uint8_t *content = calloc(1, 8 + length);
        if (content == NULL) exit(2);
        zf_store64(content, length);
        if (length > 0) memcpy(content + 8, section, length);
        rewrite(r, end, 0, content, 8 + length);
        free(content);
    }
    zf_store32(text, (uint32_t)letters);
    memcpy(text + 4, name, letters);
    set_bit(r, required, bit, true);
    rewrite(r, at, 0, text, 4 + letters);
}

/// Changes the bytes of a section, their number, or both.
static void lie_in_section(fuzz_random *random, rewriting *r) {
    const container_feature *feature = &r->places.names[fuzz_below(random, r->places.feature_count)];
    if (feature->section == 0) return;
    enum { ROOM = 64 };
    size_t section = feature->section, length = zf_load64(r->bytes + section);
    uint8_t *content = calloc(1, 8 + length + ROOM);
    if (content == NULL) exit(2);
    memcpy(content, r->bytes + section, 8 + length);
    size_t now = length, at = length > 0 ? fuzz_below(random, length) : 0, width = fuzz_below(random, 2) == 0 ? 8 : 4;
    bool zones = !feature->required && feature->bit == ZF_OPTIONAL_ZONES;
    if (zones && length > ZF_INDEX_ZONE_BYTES) { // a number of a zone, behind the byte of the only column
        static const size_t fields[] = {0, 4, 8, 16};
        size_t field = fuzz_below(random, 4);
        at = 1 + fuzz_below(random, (length - 1) / ZF_INDEX_ZONE_BYTES) * ZF_INDEX_ZONE_BYTES + fields[field];
        width = field < 2 ? 4 : 8;
    }
    switch (fuzz_below(random, 8)) {
    case 0: now = LLVMFuzzerMutate(content + 8, length, length + ROOM); break;
    case 1: now = length - (length > 0 ? 1 + fuzz_below(random, length) : 0); break;
    case 2: now = length + 1 + fuzz_below(random, ROOM); break;
    default:
        if (at + width <= length) {
            uint64_t value = 0;
            memcpy(&value, content + 8 + at, width);
            value = other_number(random, value);
            memcpy(content + 8 + at, &value, width);
        }
    }
    if (fuzz_below(random, 16) != 0) zf_store64(content, now); // else: other bytes than it says
    rewrite(r, section, 8 + length, content, 8 + now);
    free(content);
}

/// Blocks of any number of rows: a number of rows per block becomes 0, with or without the feature.
static void lie_in_rows_per_block(fuzz_random *random, rewriting *r) {
    if (r->places.column_count == 0) return;
    uint8_t *rows = r->bytes + r->places.rows_per_block[fuzz_below(random, r->places.column_count)];
    zf_store64(rows, zf_load64(rows) != 0 ? 0 : UINT64_C(4096) * (1 + fuzz_below(random, 2)));
    if (fuzz_below(random, 8) == 0) return;
    if (zf_load64(rows) == 0)
        add_feature(r, true, ZF_REQUIRED_UNEVEN_BLOCKS, "uneven blocks", NULL, 0);
    else
        remove_feature(r, true, ZF_REQUIRED_UNEVEN_BLOCKS);
}

/// A column becomes another part of lists, with or without the feature.
static void lie_in_parts(fuzz_random *random, rewriting *r) {
    enum { PART = 3 }; // bytes before the rows per block
    if (r->places.column_count == 0) return;
    uint8_t *part = r->bytes + r->places.rows_per_block[fuzz_below(random, r->places.column_count)] - PART;
    part[fuzz_below(random, 8) == 0 ? 1 : 0] = (uint8_t)fuzz_below(random, 5);
    if (fuzz_below(random, 4) == 0) remove_feature(r, true, ZF_REQUIRED_LISTS);
    if (fuzz_below(random, 4) == 0) add_feature(r, true, ZF_REQUIRED_LISTS, "lists", NULL, 0);
}

/// A row goes from a block to its neighbour, in the index and in the headers of the blocks.
static void lie_in_borders(fuzz_random *random, rewriting *r) {
    if (r->places.row_count < 2) return;
    uint32_t second = 1 + (uint32_t)fuzz_below(random, r->places.row_count - 1);
    bool up = fuzz_below(random, 2) == 0, headers = fuzz_below(random, 4) != 0;
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t *row = r->bytes + r->places.rows[second - k];
        uint64_t block = zf_load64(row), rows = zf_load64(row + 16) + ((k == 1) == up ? 1 : UINT64_MAX);
        size_t end = container_block_end(r->bytes, &r->places, second - k);
        zf_store64(row + 16, rows);
        if (!headers || end == 0) continue;
        zf_store64(r->bytes + block + 24, rows);
        if (k == 0) zf_store64(r->bytes + end + 16, zf_load64(r->bytes + end + 16) + (up ? 1 : UINT64_MAX));
    }
}

/// Features and first row of a block.
static void lie_in_block_end(fuzz_random *random, rewriting *r) {
    if (r->places.row_count == 0) return;
    size_t end = container_block_end(r->bytes, &r->places, (uint32_t)fuzz_below(random, r->places.row_count));
    if (end == 0) return;
    uint8_t *word = r->bytes + end + 8 * fuzz_below(random, 4);
    zf_store64(word, other_number(random, zf_load64(word)));
}

/// A file of version 2 with another feature, section or block's end. NULL for other files.
static uint8_t *lie_in_features(fuzz_random *random, const uint8_t *data, size_t size, const container_places *places,
                                size_t *made) {
    if (places->features == 0) return NULL;
    rewriting r = {malloc(size), size, *places};
    if (r.bytes == NULL) exit(2);
    memcpy(r.bytes, data, size);
    uint8_t noise[40];
    for (size_t k = 0; k < sizeof noise; k++) noise[k] = (uint8_t)fuzz_next(random);
    unsigned any = (unsigned)fuzz_below(random, 64), unknown = ZF_OPTIONAL_COUNT + any % (64 - ZF_OPTIONAL_COUNT);
    switch (fuzz_below(random, 11)) {
    case 0: set_bit(&r, fuzz_below(random, 2) == 0, any % 8, fuzz_below(random, 2) == 0); break;
    case 1: add_feature(&r, false, unknown, "of tomorrow", noise, fuzz_below(random, sizeof noise)); break;
    case 2: add_feature(&r, true, 1 + any % 63, "of tomorrow", NULL, 0); break;
    case 3: remove_feature(&r, false, any % ZF_OPTIONAL_COUNT); break;
    case 4: lie_in_rows_per_block(random, &r); break;
    case 5: lie_in_borders(random, &r); break;
    case 6: lie_in_block_end(random, &r); break;
    case 7: lie_in_parts(random, &r); break;
    default:
        if (r.places.feature_count > 0) lie_in_section(random, &r);
    }
    *made = r.size;
    return r.bytes;
}

/// A number of a header, the index or the footer.
static void lie_in_number(fuzz_random *random, uint8_t *data, size_t size, const container_places *places) {
    size_t at = places->index, width = fuzz_below(random, 2) == 0 ? 8 : 4;
    uint64_t value = 0;
    if (places->row_count > 0 && fuzz_below(random, 4) != 0) {
        uint64_t block = zf_load64(data + places->rows[fuzz_below(random, places->row_count)]);
        at = block < places->index ? block + 8 + 4 * fuzz_below(random, 64) : at;
    } else if (fuzz_below(random, 8) == 0) {
        at = size - ZF_FORMAT_FOOTER_BYTES + 4 * fuzz_below(random, 12);
    } else {
        at += fuzz_below(random, size - places->index);
    }
    if (at + width > size) return;
    memcpy(&value, data + at, width);
    value = other_number(random, value);
    memcpy(data + at, &value, width);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    fuzz_random random = {seed};
    container_places places;
    size_t made_size = 0;
    uint8_t *made = NULL;
    bool is_container = container_find(data, size, &places);
    if (!is_container || fuzz_below(&random, 64) == 0) {
        made = make_file(&random, most, &made_size);
    } else if (fuzz_below(&random, 4) == 0) {
        made = lie_in_features(&random, data, size, &places, &made_size);
    } else if (fuzz_below(&random, 2) == 0) {
        made = lie_in_values(&random, data, size, &places, &made_size);
    }
    if (made != NULL && made_size <= most) {
        memcpy(data, made, made_size);
        size = made_size;
    } else if (is_container && fuzz_below(&random, 8) != 0) {
        for (uint64_t k = 0; k < 1 + fuzz_below(&random, 3); k++) lie_in_number(&random, data, size, &places);
    } else {
        size = LLVMFuzzerMutate(data, size, most);
    }
    free(made);
    if (fuzz_below(&random, 32) != 0 && container_find(data, size, &places)) container_mend(data, size, &places);
    return size;
}

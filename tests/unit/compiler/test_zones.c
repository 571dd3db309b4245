// Links: zipflow-compiler zipflow-emu
// Zones: right for every type, with nulls, NaNs, -0.0 and long strings; a zone that lies is an error where its rows decode.
#include <math.h>
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

enum { ROWS = 65536 + 300, TYPES = 12, COLUMNS = 2 * TYPES, MOST_TEXT = 20 };

static const char *const kinds[TYPES] = {"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "string"};

static const char *accelerator = "emu"; ///< or $ZF_TEST_DEVICE
static zf_context *context;
static zf_program *program;

// Rows of a type: the second zone has one value; nullable columns have only nulls there, and floats only NaNs.
static struct {
    union {
        uint8_t u8[8 * ROWS];
        float f32[ROWS];
        double f64[ROWS];
    } values[TYPES];
    int64_t offsets[ROWS + 1];
    char characters[ROWS * MOST_TEXT];
} data;
static uint8_t valid[ROWS / 8 + 1];

static unsigned size_of(unsigned type) { return (const unsigned[TYPES]){1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1, 0}[type]; }

static void fill_floats(uint64_t k, uint64_t noise) {
    double value = k >= ZF_ZONE_ROWS ? (double)NAN : (double)((int64_t)(noise % 2000) - 1000) / 8;
    if (noise % 97 == 0) value = (double)NAN;
    if (noise % 101 == 0) value = -0.0;
    data.values[8].f32[k] = (float)value;
    data.values[9].f64[k] = noise % 5000 == 7 ? -(double)INFINITY : value;
}

static void fill(void) {
    memset(valid, 0, sizeof valid);
    for (uint64_t k = 0; k < ROWS; k++) {
        uint64_t noise = (k + 1) * 0x9e3779b97f4a7c15u;
        noise ^= noise >> 29;
        if (k >= ZF_ZONE_ROWS) noise = 0x8081828384858687u;
        for (unsigned t = 0; t < 8; t++) memcpy(data.values[t].u8 + k * size_of(t), &noise, size_of(t));
        fill_floats(k, noise);
        data.values[10].u8[k] = noise % 3 == 0;
        // Some of the strings are long with the same beginning, some end in a zero byte, some are empty.
        uint64_t length = noise % 7 == 0 ? 0 : noise / 7 % MOST_TEXT;
        char *at = data.characters + data.offsets[k];
        for (uint64_t c = 0; c < length; c++) at[c] = (char)(c < 9 ? "aaaaaaaa\xff"[c] : (char)(noise >> c));
        if (length > 0 && noise % 5 == 0) at[length - 1] = 0;
        data.offsets[k + 1] = data.offsets[k] + (int64_t)length;
        if (k < ZF_ZONE_ROWS && noise % 11 != 0) valid[k / 8] |= (uint8_t)(1u << k % 8);
    }
}

// ---- The zones of the data, by comparing whole values ---------------------------------------------------------

/// Whether row a of a type comes before row b.
static bool before(unsigned type, uint64_t a, uint64_t b) {
    const uint8_t *values = data.values[type].u8;
    unsigned size = size_of(type);
    if (type == 11) {
        size_t la = (size_t)(data.offsets[a + 1] - data.offsets[a]), lb = (size_t)(data.offsets[b + 1] - data.offsets[b]);
        int order = memcmp(data.characters + data.offsets[a], data.characters + data.offsets[b], la < lb ? la : lb);
        return order != 0 ? order < 0 : la < lb;
    }
    if (type == 8 || type == 9) {
        double x = type == 8 ? (double)data.values[8].f32[a] : data.values[9].f64[a];
        double y = type == 8 ? (double)data.values[8].f32[b] : data.values[9].f64[b];
        return x != y ? x < y : signbit(x) != 0 && signbit(y) == 0;
    }
    uint64_t x = 0, y = 0;
    memcpy(&x, values + a * size, size);
    memcpy(&y, values + b * size, size);
    unsigned shift = 64 - 8 * size;
    return type >= 4 && type < 8 ? (int64_t)(x << shift) < (int64_t)(y << shift) : x < y;
}

/// The value of a row as zones state it, and whether that is the whole value.
static uint64_t stated(unsigned type, uint64_t row, bool *whole) {
    uint64_t value = 0;
    unsigned size = size_of(type), shift = 64 - 8 * size;
    *whole = true;
    if (type == 11) {
        size_t length = (size_t)(data.offsets[row + 1] - data.offsets[row]);
        const uint8_t *text = (const uint8_t *)data.characters + data.offsets[row];
        for (size_t k = 0; k < 8; k++) value = value << 8 | (k < length ? text[k] : 0);
        *whole = length == 0 || (length <= 8 && text[length - 1] != 0);
        return value;
    }
    double wide = type == 8 ? (double)data.values[8].f32[row] : 0;
    if (type == 8)
        memcpy(&value, &wide, sizeof value);
    else
        memcpy(&value, data.values[type].u8 + row * size, size);
    return type >= 4 && type < 8 ? (uint64_t)((int64_t)(value << shift) >> shift) : value;
}

static bool is_nan(unsigned type, uint64_t row) {
    return (type == 8 && isnan(data.values[8].f32[row])) || (type == 9 && isnan(data.values[9].f64[row]));
}

static zf_zone expected(unsigned column, uint64_t begin, uint64_t end) {
    unsigned type = column % TYPES;
    bool nullable = column >= TYPES;
    zf_zone zone = {.first_row = begin, .rows = end - begin};
    uint64_t least = UINT64_MAX, most = UINT64_MAX;
    for (uint64_t k = begin; k < end; k++) {
        if (nullable && (valid[k / 8] >> k % 8 & 1) == 0) {
            zone.nulls++;
        } else if (is_nan(type, k)) {
            zone.has_nan = true;
        } else {
            if (least == UINT64_MAX || before(type, k, least)) least = k;
            if (most == UINT64_MAX || before(type, most, k)) most = k;
        }
    }
    zone.has_values = least != UINT64_MAX;
    if (zone.has_values) zone.minimum = stated(type, least, &zone.minimum_exact);
    if (zone.has_values) zone.maximum = stated(type, most, &zone.maximum_exact);
    return zone;
}

// ---- Files ----------------------------------------------------------------------------------------------------

static void encode(const char *name, uint64_t rows_per_block) {
    zf_encode_column columns[COLUMNS];
    char names[COLUMNS][4];
    zf_error error = {0};
    for (unsigned c = 0; c < COLUMNS; c++) {
        snprintf(names[c], sizeof names[c], "c%u", c);
        columns[c] = (zf_encode_column){.name = names[c], .values = data.values[c % TYPES].u8};
        if (c % TYPES == 11) columns[c].values = data.characters;
        if (c % TYPES == 11) columns[c].offsets = data.offsets;
        if (c >= TYPES) columns[c].validity = valid;
    }
    const zf_encode_options options = {ZF_INIT(zf_encode_options), .rows_per_block = rows_per_block, .overwrite = true,
                                       .zones = 1};
    CHECK(zf_encode(program, NULL, columns, COLUMNS, ROWS, &options, place(name), NULL, &error) == ZF_OK, "%s at %s",
          error.message, error.place);
}

static zf_status decode(zf_container *container, size_t column, const char *device, uint64_t begin, uint64_t count, bool skip,
                        zf_error *error) {
    zf_decode_sizes sizes = {ZF_INIT(zf_decode_sizes)};
    zf_decode_options options = {ZF_INIT(zf_decode_options), .some_rows = true,  .row_begin = begin,
                                 .row_count = count,         .skip_zones = skip, .threads = 2};
    CHECK(zf_decode_size(container, column, &options, &sizes, error) == ZF_OK, "%s", error->message);
    zf_decode_buffers to = {ZF_INIT(zf_decode_buffers), ZF_DECODE_BYTES(sizes)};
    to.values = aligned_alloc(64, (sizes.values + 127) / 64 * 64);
    to.offsets = aligned_alloc(64, (sizes.offsets + 127) / 64 * 64);
    to.validity = aligned_alloc(64, (sizes.validity + 127) / 64 * 64);
    to.workspace = aligned_alloc(64, (sizes.workspace + 127) / 64 * 64);
    zf_status status = zf_decode(container, column, device, &options, &to, NULL, error);
    free(to.values);
    free(to.offsets);
    free(to.validity);
    free(to.workspace);
    return status;
}

static bool same_zone(const zf_zone *a, const zf_zone *b) {
    return a->first_row == b->first_row && a->rows == b->rows && a->nulls == b->nulls && a->minimum == b->minimum &&
           a->maximum == b->maximum && a->has_values == b->has_values && a->has_nan == b->has_nan &&
           a->minimum_exact == b->minimum_exact && a->maximum_exact == b->maximum_exact;
}

/// Zones of blocks of any size are what the rows say, and the rows decode on every device.
static void test_right(uint64_t rows_per_block) {
    zf_error error = {0};
    zf_container *container = NULL;
    encode("right.zfd", rows_per_block);
    CHECK(zf_container_open(context, place("right.zfd"), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    for (unsigned c = 0; container != NULL && c < COLUMNS; c++) {
        uint64_t zones = zf_container_zones(container, c), row = 0, block = rows_per_block, block_end = 0;
        for (uint64_t z = 0; z < zones; z++) {
            zf_zone zone = {ZF_INIT(zf_zone)};
            CHECK(zf_container_zone(container, c, z, &zone, &error) == ZF_OK, "%s", error.message);
            uint64_t behind = row - row % block + block; // of the block
            if (behind > row + ZF_ZONE_ROWS) behind = row + ZF_ZONE_ROWS;
            if (behind > ROWS) behind = ROWS;
            zf_zone wanted = expected(c, row, behind);
            CHECK(same_zone(&zone, &wanted), "%s%s, rows %llu to %llu: %llx to %llx, not %llx to %llx; %llu nulls, not %llu",
                  kinds[c % TYPES], c < TYPES ? "" : "?", (ull)row, (ull)behind, (ull)zone.minimum, (ull)zone.maximum,
                  (ull)wanted.minimum, (ull)wanted.maximum, (ull)zone.nulls, (ull)wanted.nulls);
            uint64_t first = 7, rows = 7, offset = 7, bytes = 7;
            CHECK(zf_container_block_place(container, c, row, &offset, &bytes, &error) == ZF_OK && offset % 256 == 0 &&
                      (row % block != 0 || offset >= block_end) && offset + bytes <= zf_container_bytes(container) && bytes > 0,
                  "row %llu is in a block of %llu bytes from %llu on, behind %llu", (ull)row, (ull)bytes, (ull)offset,
                  (ull)block_end);
            block_end = offset + bytes;
            CHECK(zf_container_block_of(container, c, row, &first, &rows, &error) == ZF_OK && first == row - row % block &&
                      rows == (first + block < ROWS ? block : ROWS - first),
                  "row %llu is in a block of %llu rows from %llu on", (ull)row, (ull)rows, (ull)first);
            row = behind;
        }
        uint64_t first = 7;
        CHECK(zf_container_block_of(container, c, ROWS, &first, &first, &error) == ZF_ERR_USAGE && first == 7, "a row too many");
        CHECK(zf_container_block_place(container, c, ROWS, &first, &first, &error) == ZF_ERR_USAGE && first == 7,
              "a row too many");
        CHECK(row == ROWS, "%s: zones of %llu rows", kinds[c % TYPES], (ull)row);
        zf_zone none = {ZF_INIT(zf_zone)};
        CHECK(zf_container_zone(container, c, zones, &none, &error) == ZF_ERR_USAGE, "a zone that does not exist");
        for (unsigned d = 0; d < 2; d++)
            CHECK(decode(container, c, d == 0 ? "cpu" : accelerator, 0, ROWS, false, &error) == ZF_OK, "%s: %s", kinds[c % TYPES],
                  error.message);
    }
    uint64_t some = 7;
    CHECK(zf_container_block_of(container, COLUMNS, 0, &some, &some, &error) == ZF_ERR_USAGE &&
              zf_container_block_of(container, 0, 0, NULL, &some, &error) == ZF_ERR_USAGE &&
              zf_container_block_place(container, COLUMNS, 0, &some, &some, &error) == ZF_ERR_USAGE &&
              zf_container_block_place(container, 0, 0, &some, NULL, &error) == ZF_ERR_USAGE && some == 7,
          "a block of nothing");
    CHECK(zf_container_zones(container, COLUMNS) == 0 && zf_container_zones(NULL, 0) == 0, "zones of nothing");
    zf_container_close(container);
}

// ---- Lies -----------------------------------------------------------------------------------------------------

/// Changes of a zone's entry: a word of it, and what is added to it or flipped.
static const struct {
    unsigned at;
    bool wide, flips;
    uint64_t by;
} lies[] = {{0, false, false, 1}, {0, false, false, UINT32_MAX}, {4, false, true, 1},
            {4, false, true, 2},  {4, false, true, 4},           {4, false, true, 8},
            {4, false, true, 16}, {8, true, false, 1},           {8, true, false, UINT64_MAX},
            {16, true, false, 1}, {16, true, false, UINT64_MAX}, {16, true, true, UINT64_C(1) << 63}};

/// A change is refused when the file opens, or when the rows decode; or it is no lie.
static void check_lie(mutated *file, unsigned column, uint64_t zone, size_t lie, uint64_t counts[3]) {
    zf_error error = {0};
    zf_container *container = NULL;
    uint64_t begin = zone * ZF_ZONE_ROWS, end = zone == 0 ? ZF_ZONE_ROWS : ROWS;
    zf_zone wanted = expected(column, begin, end), zone_read = {ZF_INIT(zf_zone)};
    mutate_repair(file);
    zf_status status = zf_container_open_memory(context, file->bytes, file->size,
                                                &(zf_open_options){ZF_INIT(zf_open_options), .copy = true}, &container, &error);
    if (status != ZF_OK) {
        CHECK(strcmp(error.code, "ZF1207") == 0 && strstr(error.message, "zone") != NULL, "%s %s", error.code, error.message);
        counts[0]++;
        return;
    }
    CHECK(zf_container_zone(container, column, zone, &zone_read, &error) == ZF_OK, "%s", error.message);
    unsigned type = column % TYPES;
    zf_element element = (zf_element)type;
    bool honest =
        zone_read.nulls == wanted.nulls && zone_read.has_nan == wanted.has_nan && zone_read.has_values == wanted.has_values;
    bool low = zone_read.minimum_exact ? zone_read.minimum == wanted.minimum && wanted.minimum_exact
                                       : zf_zone_key(element, zone_read.minimum) <= zf_zone_key(element, wanted.minimum);
    bool high = zone_read.maximum_exact ? zone_read.maximum == wanted.maximum && wanted.maximum_exact
                                        : zf_zone_key(element, zone_read.maximum) >= zf_zone_key(element, wanted.maximum);
    honest = honest && (!wanted.has_values || (low && high));
    counts[honest ? 2 : 1]++;
    for (unsigned d = 0; d < 2; d++) {
        const char *device = d == 0 ? "cpu" : accelerator;
        status = decode(container, column, device, begin, end - begin, false, &error);
        bool right = honest ? status == ZF_OK : status == ZF_ERR_INPUT && strcmp(error.code, "ZF1326") == 0;
        CHECK(right, "%s, column %u, zone %llu, lie %zu on %s: %d %s %s", kinds[type], column, (ull)zone, lie, device, status,
              error.code, error.message);
        CHECK(honest || strstr(error.place, "block 0") != NULL, "%s", error.place);
    }
    if (honest) {
        zf_container_close(container);
        return;
    }
    // Rows of a part of the zone (bits decode from a byte on), and all of them where zones are not compared.
    for (unsigned d = 0; d < 2; d++) {
        const char *device = d == 0 ? "cpu" : accelerator;
        CHECK(decode(container, column, device, begin + 9, end - begin - 9, false, &error) == ZF_OK, "a part on %s: %s", device,
              error.message);
        CHECK(decode(container, column, device, 0, ROWS, true, &error) == ZF_OK, "skipped on %s: %s", device, error.message);
    }
    zf_container_close(container);
}

static void test_lies(void) {
    static mutated file;
    zf_error error = {0};
    zf_container *container = NULL;
    uint64_t counts[3] = {0}, turn = 0;
    encode("lies.zfd", 131072);
    CHECK(mutate_read(place("lies.zfd"), &file), "the file cannot be read");
    CHECK(zf_container_open(context, place("lies.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    size_t at = file.index + container->index.at_sections + 8;
    zf_container_close(container);
    for (unsigned c = 0; c < COLUMNS; c++, at += 1 + 2 * ZF_INDEX_ZONE_BYTES) {
        CHECK(file.bytes[at] == 1, "column %u has no zones", c);
        for (uint64_t zone = 0; zone < 2; zone++) {
            for (size_t lie = 0; lie < sizeof lies / sizeof *lies; lie++, turn++) {
                uint8_t *entry = file.bytes + at + 1 + zone * ZF_INDEX_ZONE_BYTES, before_it[ZF_INDEX_ZONE_BYTES];
                uint64_t word = lies[lie].wide ? zf_load64(entry + lies[lie].at) : zf_load32(entry + lies[lie].at);
                memcpy(before_it, entry, sizeof before_it);
                word = lies[lie].flips ? word ^ lies[lie].by : word + lies[lie].by;
                if (lies[lie].wide)
                    zf_store64(entry + lies[lie].at, word);
                else
                    zf_store32(entry + lies[lie].at, (uint32_t)word);
                check_lie(&file, c, zone, lie, counts);
                memcpy(entry, before_it, sizeof before_it);
            }
        }
    }
    printf("%llu refused at opening, %llu at decoding, %llu no lies\n", (ull)counts[0], (ull)counts[1], (ull)counts[2]);
    CHECK(counts[0] > 50 && counts[1] > 50 && counts[2] > 10, "too few of a kind");
    mutate_free(&file);
}

/// A block that fails beside good zones of the blocks before it: the failure is reported, on a GPU as on the CPU.
static void test_failure_of_a_later_block(void) {
    enum { STRINGS = 11, BLOCK = 2 };
    static mutated file;
    zf_error error = {0};
    zf_container *container = NULL;
    encode("late.zfd", 16384);
    CHECK(mutate_read(place("late.zfd"), &file), "the file cannot be read");
    CHECK(zf_container_open(context, place("late.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    uint64_t at = container->index.columns[STRINGS].blocks[BLOCK].offset;
    zf_container_close(container);
    uint64_t counts = at + 64 + UINT64_C(8) * zf_load32(file.bytes + at + 40);
    uint64_t sizes = at + zf_load64(file.bytes + counts + UINT64_C(8) * zf_load32(file.bytes + at + 44));
    memset(file.bytes + sizes, 0x7f, 64); // of the first rows: they do not add up
    mutate_repair(&file);
    const zf_open_options copied = {ZF_INIT(zf_open_options), .copy = true};
    CHECK(zf_container_open_memory(context, file.bytes, file.size, &copied, &container, &error) == ZF_OK, "%s", error.message);
    for (unsigned d = 0; d < 2; d++) {
        const char *device = d == 0 ? "cpu" : accelerator;
        zf_status status = decode(container, STRINGS, device, 0, ROWS, false, &error);
        CHECK(status == ZF_ERR_INPUT && strcmp(error.code, "ZF1326") != 0 && strstr(error.place, "block 2") != NULL,
              "on %s: %d %s %s (%s)", device, status, error.code, error.message, error.place);
    }
    zf_container_close(container);
    mutate_free(&file);
}

int main(void) {
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    if (!scratch_begin("zones")) return 1;
    if (getenv("ZF_TEST_DEVICE") != NULL) accelerator = getenv("ZF_TEST_DEVICE");
    FILE *source = fopen(place("t.zf"), "w");
    fprintf(source, "table t {\n");
    for (unsigned c = 0; c < COLUMNS; c++)
        fprintf(source, "    c%u: %s%s = %s;\n", c, kinds[c % TYPES], c < TYPES ? "" : "?",
                c % TYPES == 11 ? (c < TYPES ? "strings" : "nullable(values: strings)")
                : c < TYPES     ? "plain"
                                : "nullable(values: plain)");
    fprintf(source, "}\n");
    fclose(source);
    const zf_context_options options = {.cache_dir = ""};
    CHECK(emulated_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_compiler_create(context, NULL, &compiler, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_program_load(compiler, place("t.zf"), &program, &error) == ZF_OK, "%s %s", error.message, error.place);
    fill();
    test_right(131072);
    test_right(16384 + 77);
    test_lies();
    test_failure_of_a_later_block();
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

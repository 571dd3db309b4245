// Links: zipflow-runtime
// Version 2 of the format: its features, full names, a schema, metadata, programs.
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/container/container_format.h"
#include "runtime/container/container_index.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

static const uint8_t schema[24] = {0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0, 's', 'c', 'h', 'e', 'm', 'a'};
static const zf_metadata metadata[] = {{"source", "a\0b", 3}, {"empty", "", 0}, {"größe", "\xff", 1}};
static const zf_stated_program programs[] = {{"one", {1, 2, 3}}, {"two", {0xff, [31] = 7}}};
static const zf_writer_column columns[] = {
    {.name = "walk",
     .type = {.element = ZF_U32},
     .type_name = "u32",
     .codec = "walk",
     .rows_per_block = 4096,
     .full_name = "The Walk"},
    {.name = "plain", .type = {.element = ZF_U32}, .type_name = "u32", .codec = "walk", .rows_per_block = 4096},
};

static zf_status create(const char *path, const zf_writer_table *table, zf_writer **out, zf_error *error) {
    return zf_writer_create(path, true, table, out, error);
}

static zf_writer_table whole_table(void) {
    return (zf_writer_table){.name = "t",
                             .unit = "zf 1;",
                             .columns = columns,
                             .column_count = 2,
                             .schema = schema,
                             .schema_bytes = sizeof schema,
                             .metadata = metadata,
                             .metadata_count = 3,
                             .programs = programs,
                             .program_count = 2};
}

/// Writes a file without rows.
static void write_empty(const char *path, const zf_writer_table *table) {
    zf_error error = {0};
    zf_writer *w = NULL;
    CHECK(create(path, table, &w, &error) == ZF_OK, "%s", error.message);
    CHECK(w == NULL || zf_writer_finish(w, 0, &error) == ZF_OK, "%s", error.message);
    zf_writer_free(w);
}

static void test_kept(zf_context *context, const char *path) {
    zf_error error = {0};
    zf_container *c = NULL;
    size_t bytes = 0, number = 7;
    zf_writer_table table = whole_table();
    write_empty(path, &table);
    CHECK(zf_container_open(context, path, &c, &error) == ZF_OK, "%s at %s", error.message, error.place);
    if (c == NULL) return;
    const void *kept = zf_container_schema(c, &bytes);
    CHECK(bytes == sizeof schema && kept != NULL && memcmp(kept, schema, bytes) == 0, "%zu bytes of a schema", bytes);
    CHECK(zf_container_metadata_count(c) == 3, "%zu keys", zf_container_metadata_count(c));
    for (size_t k = 0; k < 3; k++) {
        zf_metadata entry = {0};
        CHECK(zf_container_metadata(c, k, &entry, &error) == ZF_OK, "%s", error.message);
        CHECK(strcmp(entry.key, metadata[k].key) == 0 && entry.bytes == metadata[k].bytes &&
                  memcmp(entry.value, metadata[k].value, entry.bytes) == 0,
              "key %zu", k);
    }
    uint32_t count = 0;
    const zf_stated_program *stated = zf_container_stated(c, &count);
    for (uint32_t k = 0; k < 2 && count == 2; k++) {
        CHECK(strcmp(stated[k].name, programs[k].name) == 0 && memcmp(stated[k].identity, programs[k].identity, 32) == 0,
              "program %u is %s", k, stated[k].name);
    }
    CHECK(count == 2 && !zf_container_known_only(c), "%u programs", count);
    zf_metadata entry;
    CHECK(zf_container_metadata(c, 3, &entry, &error) == ZF_ERR_USAGE, "a key that does not exist");
    zf_column_info info = {ZF_INIT(zf_column_info)};
    CHECK(zf_container_column(c, 0, &info, &error) == ZF_OK && strcmp(info.full_name, "The Walk") == 0, "%s", info.full_name);
    CHECK(zf_container_column(c, 1, &info, &error) == ZF_OK && strcmp(info.full_name, "plain") == 0, "%s", info.full_name);
    CHECK(zf_container_find(c, "The Walk", &number, &error) == ZF_OK && number == 0, "column %zu", number);
    CHECK(zf_container_find(c, "walk", &number, &error) == ZF_OK && number == 0, "column %zu", number);
    zf_container_close(c);
    // Nothing of it: no feature, no schema.
    table = (zf_writer_table){.name = "t", .unit = "zf 1;", .columns = columns + 1, .column_count = 1};
    write_empty(path, &table);
    CHECK(zf_container_open(context, path, &c, &error) == ZF_OK, "%s at %s", error.message, error.place);
    CHECK(zf_container_schema(c, &bytes) == NULL && bytes == 0 && zf_container_metadata_count(c) == 0, "something is there");
    CHECK(zf_container_stated(c, &count) == NULL && count == 0, "programs are there");
    zf_container_close(c);
}

static void test_writer_refusals(const char *path) {
    static char longest[4098];
    static const zf_metadata no_key[] = {{"", "x", 1}}, control[] = {{"a\nb", "x", 1}}, large[] = {{"a", "x", (16 << 20) + 1}};
    static const struct {
        const char *full_name, *says;
        const zf_metadata *metadata;
        size_t schema_bytes;
        unsigned version;
        bool programs;
    } rows[] = {
        {.full_name = "", .says = "is empty"},
        {.full_name = longest, .says = "too long"},
        {.full_name = "a\tb", .says = "no text of one line"},
        {.full_name = "\xff", .says = "no text"},
        {.full_name = "plain", .says = "two columns are called plain"},
        {.full_name = "The Walk", .says = "version 1", .version = 1},
        {.says = "does not write version 3", .version = 3},
        {.says = "empty", .metadata = no_key},
        {.says = "no text", .metadata = control},
        {.says = "16 MiB", .metadata = large},
        {.says = "IPC message", .schema_bytes = 23},
        {.says = "version 1", .schema_bytes = 24, .version = 1},
        {.says = "version 1", .metadata = metadata, .version = 1},
        {.says = "identities", .programs = true, .version = 1},
    };
    memset(longest, 'x', sizeof longest - 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        zf_error error = {0};
        zf_writer *w = NULL;
        zf_writer_column own[] = {columns[0], columns[1]};
        own[0].full_name = rows[i].full_name;
        zf_writer_table table = {.name = "t",
                                 .unit = "",
                                 .columns = own,
                                 .column_count = 2,
                                 .version = rows[i].version,
                                 .metadata = rows[i].metadata,
                                 .metadata_count = rows[i].metadata != NULL ? 1 : 0,
                                 .programs = rows[i].programs ? programs : NULL,
                                 .program_count = 2,
                                 .schema = rows[i].schema_bytes > 0 ? schema : NULL,
                                 .schema_bytes = rows[i].schema_bytes};
        CHECK(create(path, &table, &w, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1505") == 0, "row %zu: %s", i,
              error.code);
        CHECK(strstr(error.message, rows[i].says) != NULL, "row %zu: %s", i, error.message);
        zf_writer_free(w);
    }
}

// ---- Readers of other builds' files ---------------------------------------------------------------------------

/// An index that is changed.
typedef struct changed {
    uint8_t *bytes;
    size_t size, index; ///< of the file; where the index begins
} changed;

static void insert(changed *c, size_t at, const void *bytes, size_t count) {
    c->bytes = realloc(c->bytes, c->size + count);
    memmove(c->bytes + at + count, c->bytes + at, c->size - at);
    memcpy(c->bytes + at, bytes, count);
    c->size += count;
}

/// Makes footer and checksums right.
static void mend(changed *c) {
    size_t end = c->size - ZF_FORMAT_FOOTER_BYTES;
    uint8_t *footer = c->bytes + end;
    zf_store64(footer + 8, end - c->index);
    zf_store64(footer + 16, XXH3_64bits(c->bytes + c->index, end - c->index));
    zf_store64(footer + 24, c->size);
    zf_store64(footer + 48, XXH3_64bits(footer, 48));
}

static changed read_changed(const char *path) {
    changed c = {0};
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    c.size = (size_t)ftell(file);
    rewind(file);
    c.bytes = malloc(c.size);
    CHECK(fread(c.bytes, 1, c.size, file) == c.size, "%s", path);
    fclose(file);
    c.index = zf_load64(c.bytes + c.size - ZF_FORMAT_FOOTER_BYTES);
    return c;
}

static zf_status open_changed(zf_context *context, changed *c, zf_container **out, zf_error *error) {
    *error = (zf_error){0};
    mend(c);
    return zf_container_open_memory(context, c->bytes, c->size, &(zf_open_options){.copy = true}, out, error);
}

/// Inserts the name of a feature behind `before` others' names.
static void insert_name(changed *c, unsigned before, const char *name) {
    size_t at = c->index + 32;
    uint8_t length[4];
    while (before-- > 0) at += 4 + zf_load32(c->bytes + at);
    zf_store32(length, (uint32_t)strlen(name));
    insert(c, at, name, strlen(name));
    insert(c, at, length, 4);
}

/// Takes the zeros behind the last section away, or puts them there.
static void set_padding(changed *c, bool padded) {
    size_t end = c->size - ZF_FORMAT_FOOTER_BYTES, content = end;
    while (c->bytes[content - 1] == 0) content--;
    memmove(c->bytes + content, c->bytes + end, ZF_FORMAT_FOOTER_BYTES);
    c->size = content + ZF_FORMAT_FOOTER_BYTES;
    while (padded && (content - c->index) % 8 != 0) insert(c, content++, "", 1);
}

static void test_unknown(zf_context *context, const char *path) {
    zf_error error;
    zf_container *c = NULL;
    zf_writer_table table = whole_table();
    write_empty(path, &table);
    // A required feature of a later version is refused by its name.
    changed file = read_changed(path);
    zf_store64(file.bytes + file.index + 16, UINT64_C(1) << 33);
    insert_name(&file, 0, "uneven lists");
    CHECK(open_changed(context, &file, &c, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1203") == 0, "%s", error.code);
    CHECK(strstr(error.message, "`uneven lists`") != NULL && error.hint[0] != 0 && strstr(error.place, "byte") != NULL,
          "%s at %s", error.message, error.place);
    free(file.bytes);
    // An optional one is skipped, whatever its section holds; all others are read.
    file = read_changed(path);
    uint64_t optional = zf_load64(file.bytes + file.index + 24);
    CHECK(optional == (7 | 1 << ZF_OPTIONAL_PROGRAMS), "features %llx", (unsigned long long)optional);
    static const uint8_t later[8 + 5] = {5, 0, 0, 0, 0, 0, 0, 0, 'l', 'a', 't', 'e', 'r'};
    set_padding(&file, false); // the last section ends in 7
    insert(&file, file.size - ZF_FORMAT_FOOTER_BYTES, later, sizeof later);
    zf_store64(file.bytes + file.index + 24, optional | UINT64_C(1) << 50);
    insert_name(&file, 4, "later");
    set_padding(&file, true);
    CHECK(open_changed(context, &file, &c, &error) == ZF_OK, "%s at %s", error.message, error.place);
    if (c != NULL) CHECK(zf_container_metadata_count(c) == 3, "%zu keys", zf_container_metadata_count(c));
    zf_container_close(c);
    free(file.bytes);
}

/// Every byte of features and sections, changed with mended checksums: an error with a place, or an index that is possible.
static void test_every_byte(zf_context *context, const char *path) {
    zf_writer_table table = whole_table();
    write_empty(path, &table);
    changed file = read_changed(path);
    size_t end = file.size - ZF_FORMAT_FOOTER_BYTES;
    unsigned refused = 0;
    for (size_t at = file.index; at < end; at++) {
        static const uint8_t flips[] = {1, 0x80, 0xff};
        for (size_t f = 0; f < sizeof flips; f++) {
            zf_error error;
            zf_container *c = NULL;
            file.bytes[at] ^= flips[f];
            if (open_changed(context, &file, &c, &error) != ZF_OK) {
                CHECK(error.place[0] != 0 && c == NULL, "byte %zu: %s", at - file.index, error.message);
                refused++;
            }
            zf_container_close(c);
            file.bytes[at] ^= flips[f];
        }
    }
    CHECK(refused > 300, "%u changes were refused", refused);
    free(file.bytes);
}

// ---- A container that is far away -----------------------------------------------------------------------------

typedef struct far_file {
    const uint8_t *bytes;
    size_t size;
    unsigned requests;
} far_file;

static int64_t request(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error) {
    far_file *f = user;
    (void)error;
    f->requests++;
    CHECK(offset + bytes <= f->size, "%llu bytes at %llu", (unsigned long long)bytes, (unsigned long long)offset);
    memcpy(to, f->bytes + offset, bytes);
    return (int64_t)bytes;
}

static zf_status open_far(zf_context *context, far_file *file, zf_container **out, zf_error *error) {
    *error = (zf_error){0};
    file->requests = 0;
    zf_byte_reader reader = {ZF_INIT(zf_byte_reader), .bytes = file->size, .read = request, .user = file};
    return zf_container_open_reader(context, &reader, NULL, out, error);
}

/// Opening requests the last 64 KiB, and the rest of a larger index once.
static void test_requests(zf_context *context, const char *path) {
    static const size_t sizes[] = {10, 60000, 65536, 200000};
    static char value[200000];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        zf_error error;
        zf_container *c = NULL;
        const zf_metadata large = {"large", value, sizes[i]};
        zf_writer_table table = whole_table();
        table.metadata = &large;
        table.metadata_count = 1;
        memset(value, (int)('a' + i), sizeof value);
        write_empty(path, &table);
        changed read = read_changed(path);
        far_file file = {.bytes = read.bytes, .size = read.size};
        CHECK(open_far(context, &file, &c, &error) == ZF_OK, "%zu bytes: %s at %s", sizes[i], error.message, error.place);
        CHECK(file.requests == (sizes[i] < 65000 ? 1 : 2), "%zu bytes: %u requests", sizes[i], file.requests);
        zf_metadata kept = {0};
        CHECK(c != NULL && zf_container_metadata(c, 0, &kept, &error) == ZF_OK && kept.bytes == sizes[i] &&
                  memcmp(kept.value, value, sizes[i]) == 0,
              "%zu bytes", sizes[i]);
        zf_container_close(c);
        // The footer's version is checked where the header is not read.
        uint8_t *footer = read.bytes + read.size - ZF_FORMAT_FOOTER_BYTES;
        zf_store32(footer + 32, 9);
        zf_store64(footer + 48, XXH3_64bits(footer, 48));
        CHECK(open_far(context, &file, &c, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1203") == 0, "%zu bytes: %s",
              sizes[i], error.code);
        // Other bytes are not called a container.
        memset(read.bytes, 0, read.size);
        CHECK(open_far(context, &file, &c, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1202") == 0, "%zu bytes: %s",
              sizes[i], error.code);
        free(read.bytes);
    }
}

int main(void) {
    zf_context *context = NULL;
    zf_error error = {0};
    if (!scratch_begin("features")) return 1;
    char path[128];
    snprintf(path, sizeof path, "%s", place("f.zfd"));
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    test_kept(context, path);
    test_writer_refusals(path);
    test_unknown(context, path);
    test_every_byte(context, path);
    test_requests(context, path);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

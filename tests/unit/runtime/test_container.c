// Links: zipflow-runtime
// The container's bytes: what is written, what is read back, what is refused, and what the documentation says of it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/output_file.h"
#include "runtime/container/container_format.h"
#include "runtime/context/context.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

static char directory[64] = "/tmp/zipflow-test-XXXXXX";

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static unsigned files_in_directory(void) {
    unsigned count = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    if (fread(bytes, 1, *size, file) != *size) *size = 0;
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size) CHECK(false, "cannot write %s", path);
    if (file != NULL) fclose(file);
}

// ---- Output files ---------------------------------------------------------------------------------------------

/// How syncing a directory fails, or 0.
static int directory_sync_error;

// In place of the C library's, also for the runtime that is linked into this program.
int fsync(int fd) {
    struct stat status;
    if (directory_sync_error != 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = directory_sync_error;
        return -1;
    }
    return fdatasync(fd);
}

// A directory that cannot be synced: what is said is what is there.
static void test_output_name_not_synced(void) {
    for (int kind = 0; kind < 4; kind++) {
        zf_error error = {0};
        zf_output_file *file;
        size_t size;
        if (kind & 2) write_file(path_of("o"), "before", 6);
        CHECK(zf_output_create(path_of("o"), (zf_output_options){.named = kind & 1, .overwrite = kind & 2}, &file, &error) ==
                  ZF_OK,
              "%s", error.message);
        CHECK(zf_output_write(file, 0, "new", 3, &error) == ZF_OK, "%s", error.message);
        directory_sync_error = EIO;
        CHECK(zf_output_commit(file, &error) == ZF_ERR_IO && strcmp(error.code, "ZF1507") == 0, "%s", error.code);
        CHECK(strstr(error.hint, "complete") != NULL, "%s", error.hint);
        directory_sync_error = 0;
        zf_output_free(file);
        uint8_t *bytes = read_file(path_of("o"), &size);
        CHECK(bytes != NULL && size == 3 && memcmp(bytes, "new", 3) == 0 && files_in_directory() == 1, "%u files",
              files_in_directory());
        free(bytes);
        unlink(path_of("o"));
        // File systems that have no such thing are no error.
        directory_sync_error = EINVAL;
        CHECK(zf_output_create(path_of("o"), (zf_output_options){.named = kind & 1}, &file, &error) == ZF_OK &&
                  zf_output_commit(file, &error) == ZF_OK,
              "%s", error.message);
        directory_sync_error = 0;
        zf_output_free(file);
        unlink(path_of("o"));
    }
}

static void test_output(void) {
    for (int named = 0; named < 2; named++) {
        zf_error error = {0};
        zf_output_file *file, *other;
        zf_output_options fresh = {.named = named != 0}, over = {.named = named != 0, .overwrite = true};
        size_t size;
        // Not committed: nothing is left, nothing was seen.
        CHECK(zf_output_create(path_of("o"), fresh, &file, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_output_write(file, 0, "abc", 3, &error) == ZF_OK, "%s", error.message);
        CHECK(access(path_of("o"), F_OK) != 0, "the file has its name too early");
        zf_output_free(file);
        CHECK(files_in_directory() == 0, "%u files are left", files_in_directory());
        // Two at once: the second to finish finds the first.
        CHECK(zf_output_create(path_of("o"), fresh, &file, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_output_create(path_of("o"), fresh, &other, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_output_write(file, 2, "cd", 2, &error) == ZF_OK && zf_output_write(file, 0, "ab", 2, &error) == ZF_OK, "write");
        CHECK(zf_output_commit(file, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_output_commit(other, &error) == ZF_ERR_IO && strcmp(error.code, "ZF1501") == 0, "%s", error.code);
        zf_output_free(file);
        zf_output_free(other);
        CHECK(files_in_directory() == 1, "%u files", files_in_directory());
        uint8_t *bytes = read_file(path_of("o"), &size);
        CHECK(size == 4 && memcmp(bytes, "abcd", 4) == 0, "%zu bytes", size);
        free(bytes);
        CHECK(zf_output_create(path_of("o"), fresh, &file, &error) == ZF_ERR_IO && error.hint[0] != 0, "%s", error.message);
        CHECK(zf_output_create(path_of("o"), over, &file, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_output_write(file, 0, "new", 3, &error) == ZF_OK && zf_output_commit(file, &error) == ZF_OK, "%s",
              error.message);
        zf_output_free(file);
        bytes = read_file(path_of("o"), &size);
        CHECK(size == 3 && files_in_directory() == 1, "%zu bytes", size);
        free(bytes);
        unlink(path_of("o"));
        // Overwriting what is not there is just writing.
        CHECK(zf_output_create(path_of("o"), over, &file, &error) == ZF_OK && zf_output_commit(file, &error) == ZF_OK, "%s",
              error.message);
        zf_output_free(file);
        unlink(path_of("o"));
    }
    zf_error error;
    zf_output_file *file;
    CHECK(zf_output_create(directory, (zf_output_options){.overwrite = true}, &file, &error) == ZF_ERR_IO, "a directory");
    CHECK(zf_output_create("/dev/null", (zf_output_options){.overwrite = true}, &file, &error) == ZF_ERR_IO, "a device");
    CHECK(zf_output_create("/no/such/place/x", (zf_output_options){0}, &file, &error) == ZF_ERR_IO, "no directory");
    CHECK(strcmp(error.code, "ZF1503") == 0 && strstr(error.message, "No such file") != NULL, "%s", error.message);
    CHECK(zf_output_create("", (zf_output_options){0}, &file, &error) == ZF_ERR_IO, "no name");
}

// ---- Reading gives the written blocks -------------------------------------------------------------------------

static void test_facts(zf_context *context) {
    zf_error error = {0};
    zf_container *c = NULL;
    zf_column_info info = {0};
    size_t length;
    CHECK(walk_write(path_of("f.zfd"), 10000, 4096, false, &error) == ZF_OK, "%s", error.message);
    CHECK(walk_write(path_of("f.zfd"), 10000, 4096, false, &error) == ZF_ERR_IO && strcmp(error.code, "ZF1501") == 0, "%s",
          error.code);
    CHECK(zf_container_open(context, path_of("f.zfd"), &c, &error) == ZF_OK, "%s at %s", error.message, error.place);
    CHECK(strcmp(zf_container_table(c), "t") == 0 && zf_container_columns(c) == 2, "%s", zf_container_table(c));
    CHECK(strcmp(zf_container_unit(c, &length), "zf 1;\ntable t { }\n") == 0 && length == 18, "%s",
          zf_container_unit(c, &length));
    CHECK(strcmp(zf_container_path(c), path_of("f.zfd")) == 0, "path");
    CHECK(zf_container_column(c, 0, &info, &error) == ZF_OK, "%s", error.message);
    CHECK(strcmp(info.name, "walk") == 0 && strcmp(info.codec, "walk(plain | double)") == 0, "%s %s", info.name, info.codec);
    CHECK(info.rows == 10000 && info.blocks == 3 && info.rows_per_block == 4096, "%llu blocks", (unsigned long long)info.blocks);
    CHECK(info.plain_bytes == 40000 && info.stored_bytes > 40000, "%llu bytes", (unsigned long long)info.stored_bytes);
    CHECK(zf_container_column(c, 1, &info, &error) == ZF_OK && info.plain_bytes == 1250, "%llu",
          (unsigned long long)info.plain_bytes);
    CHECK(zf_container_column(c, 2, &info, &error) == ZF_ERR_USAGE, "column 2");
    CHECK(zf_container_shapes(c, 0) == 2 && zf_container_shapes(c, 1) == 1 && zf_container_shape(c, 1, 1) == NULL, "shapes");
    const zf_shape *shape = zf_container_shape(c, 0, 1);
    CHECK(zf_shape_matches(shape, &walk_shapes[1]) && !zf_shape_matches(shape, &walk_shapes[0]), "shape 1");
    CHECK(shape->trees[0].interval == WALK_INTERVAL && strcmp(shape->trees[0].fields[0].name, "scan 0") == 0, "interval");
    zf_block_view view;
    CHECK(zf_container_block(c, 0, 1, true, &view, &error) == ZF_OK, "%s", error.message);
    CHECK(view.first_row == 4096 && view.rows == 4096 && view.params[1] == WALK_BASE && view.counts[2] == 4096, "block 1");
    CHECK((uintptr_t)view.base % 256 == 0 && view.file_offset % 256 == 0 && view.streams[0].offset % 256 == 0, "alignment");
    CHECK(view.streams[0].offset + view.streams[0].bytes + 16 <= view.bytes, "padding");
    CHECK(view.seeks[0].entries == 15 && view.seeks[0].widths[0] == 4, "%u bytes a state", view.seeks[0].widths[0]);
    zf_block_view_free(&view);
    CHECK(zf_container_block(c, 0, 3, true, &view, &error) == ZF_ERR_INTERNAL, "block 3");
    zf_container_close(c);
    zf_container_close(NULL);
}

typedef struct tally {
    uint64_t next, gaps, streams, seeks, columns[2];
    uint64_t padding;
} tally;

static void add_part(void *user, const zf_container_part *part) {
    tally *t = user;
    t->gaps += part->offset != t->next || part->bytes == 0;
    t->next = part->offset + part->bytes;
    t->streams += strcmp(part->kind, "stream") == 0;
    t->seeks += strcmp(part->kind, "seek") == 0;
    if (strcmp(part->kind, "padding") == 0) t->padding += part->bytes;
    if (part->column >= 0) t->columns[part->column] += part->bytes;
}

static void test_account(zf_context *context) {
    static const uint64_t sizes[] = {0, 1, 4096, 10000};
    for (size_t i = 0; i < 4; i++) {
        zf_error error = {0};
        zf_container *c = NULL;
        tally t = {0};
        CHECK(walk_write(path_of("f.zfd"), sizes[i], 4096, true, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_container_open(context, path_of("f.zfd"), &c, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_container_account(c, add_part, &t, &error) == ZF_OK, "%s", error.message);
        CHECK(t.gaps == 0 && t.next == zf_container_bytes(c), "%llu gaps, %llu of %llu bytes", (unsigned long long)t.gaps,
              (unsigned long long)t.next, (unsigned long long)zf_container_bytes(c));
        uint64_t blocks = (sizes[i] + 4095) / 4096;
        CHECK(t.streams == 2 * blocks && t.seeks == (sizes[i] > 256 ? blocks : 0), "%llu streams, %llu seek fields",
              (unsigned long long)t.streams, (unsigned long long)t.seeks);
        for (size_t column = 0; column < 2; column++) {
            zf_column_info info = {0};
            CHECK(zf_container_column(c, column, &info, &error) == ZF_OK, "%s", error.message);
            CHECK(info.stored_bytes == t.columns[column], "column %zu: %llu bytes, %llu in its parts", column,
                  (unsigned long long)info.stored_bytes, (unsigned long long)t.columns[column]);
        }
        zf_container_close(c);
    }
}

// ---- Refusals of the writer -----------------------------------------------------------------------------------

static void test_layout_refusals(void) {
    zf_error error = {0};
    zf_block_data data;
    void *bytes = NULL, *other = NULL;
    uint64_t size = 0;
    CHECK(walk_layout(0, 0, 0, 1000, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    const zf_shape *shape = &walk_shapes[0];
    zf_block_data wrong = data;
    uint64_t counts[] = {1000, 999};
    wrong.counts = counts;
    CHECK(zf_block_layout(shape, &wrong, &other, &size, &error) == ZF_ERR_INTERNAL, "another count");
    counts[0] = 999, counts[1] = 1000;
    CHECK(zf_block_layout(shape, &wrong, &other, &size, &error) == ZF_ERR_INTERNAL, "another number of rows");
    zf_seek_data seek = data.seeks[0];
    wrong = data;
    wrong.seeks = &seek;
    seek.interval = 1000;
    CHECK(zf_block_layout(shape, &wrong, &other, &size, &error) == ZF_ERR_INTERNAL, "an interval of 1000");
    seek = data.seeks[0];
    seek.entries = 2;
    CHECK(zf_block_layout(shape, &wrong, &other, &size, &error) == ZF_ERR_INTERNAL, "too few states");
    zf_shape_field narrow = {.name = "scan 0", .bytes = 1};
    zf_shape_tree tree = {.edge = 0, .field_count = 1, .fields = &narrow};
    zf_shape small = *shape;
    small.trees = &tree;
    CHECK(zf_block_layout(&small, &data, &other, &size, &error) == ZF_ERR_INTERNAL, "states that do not fit");
    small.edge_count = 0;
    CHECK(zf_block_layout(&small, &data, &other, &size, &error) == ZF_ERR_INTERNAL, "no edge");
    CHECK(other == NULL, "memory after a failure");
    // Streams without bytes take no room, and are readable all the same.
    const zf_shape_edge edges[] = {{"", "a", ZF_U32, false, -1}, {"x", "", ZF_U8, false, 0}, {"y", "", ZF_U16, false, 1}};
    const zf_shape empty = {NULL, 0, 0, 3, 2, 0, NULL, edges, NULL};
    const uint64_t none[] = {8, 0, 0};
    const zf_stream_data streams[] = {{NULL, 0, 0}, {NULL, 0, 0}};
    const zf_block_data block = {.rows = 8, .plain_bytes = 32, .counts = none, .streams = streams};
    zf_block_view view;
    CHECK(zf_block_layout(&empty, &block, &other, &size, &error) == ZF_OK && size == 512, "%llu bytes", (unsigned long long)size);
    CHECK(zf_block_check(&empty, other, size, true, "x", &view, &error) == ZF_OK, "%s", error.message);
    CHECK(view.streams[0].offset == 256 && view.streams[1].offset == 256, "offsets");
    zf_block_view_free(&view);
    free(other);
    walk_free(&data, bytes);
}

static zf_status create(const char *file, const char *name, const zf_writer_column *columns, size_t count, zf_writer **out,
                        zf_error *error) {
    const zf_writer_table table = {.name = name, .unit = "", .columns = columns, .column_count = count};
    return zf_writer_create(path_of(file), true, &table, out, error);
}

static void test_writer_refusals(void) {
    zf_error error = {0};
    zf_writer *w = NULL;
    zf_writer_column good = {"a", {.element = ZF_U32}, "u32", "walk", 4096, NULL, false, ZF_LIST_NONE};
    zf_writer_column bad[11] = {good, good, good, good, good, good, good, good, good, good, good};
    bad[0].name = "";
    bad[1].name = "../a";
    bad[2].rows_per_block = 4095;
    bad[3].rows_per_block = 1;
    bad[4].rows_per_block = UINT64_C(1) << 32;
    bad[5].type.logical = ZF_LOGICAL_DATE32;
    bad[6].type.precision = 3;
    bad[7].type = (zf_column_type){.element = ZF_I64, .logical = ZF_LOGICAL_DECIMAL, .precision = 19};
    char longest[257];
    memset(longest, 'x', 256);
    longest[256] = 0;
    bad[8].name = longest;
    bad[9].codec = "walk\x1b[2J";
    bad[10].type_name = "u\xff";
    for (size_t i = 0; i < 11; i++) {
        CHECK(create("w.zfd", "t", &bad[i], 1, &w, &error) == ZF_ERR_USAGE, "column %zu", i);
        CHECK(strcmp(error.code, "ZF1505") == 0, "%zu: %s", i, error.code);
    }
    static const char *const tables[] = {"", "a/b", "..", "1"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        CHECK(create("w.zfd", tables[i], &good, 1, &w, &error) == ZF_ERR_USAGE, "%s", tables[i]);
    }
    zf_writer_column twice[] = {good, good};
    CHECK(create("w.zfd", "t", twice, 2, &w, &error) == ZF_ERR_USAGE, "two columns of one name");
    CHECK(create("w.zfd", "t", &good, 0, &w, &error) == ZF_ERR_USAGE, "no column");
    unlink(path_of("w.zfd"));
    unsigned files = files_in_directory();
    // A file whose blocks are missing is not finished, and nothing of it is left.
    CHECK(create("w.zfd", "t", &good, 1, &w, &error) == ZF_OK, "%s", error.message);
    uint32_t shape = 7;
    zf_block_data data;
    void *bytes = NULL;
    uint64_t size;
    CHECK(zf_writer_shape(w, 0, &bits_shape, &shape, &error) == ZF_ERR_INTERNAL, "a shape of another type");
    CHECK(zf_writer_shape(w, 0, &walk_shapes[0], &shape, &error) == ZF_OK && shape == 0, "%s", error.message);
    CHECK(zf_writer_shape(w, 0, &walk_shapes[1], &shape, &error) == ZF_OK && shape == 1, "%s", error.message);
    CHECK(zf_writer_shape(w, 0, &walk_shapes[0], &shape, &error) == ZF_OK && shape == 0, "an equal shape is kept once");
    CHECK(walk_layout(0, 0, 4096, 4096, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_writer_block(w, 0, 0, bytes, size, &data, &error) == ZF_ERR_INTERNAL, "a block of a later row");
    walk_free(&data, bytes);
    CHECK(walk_layout(0, 0, 0, 4097, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_writer_block(w, 0, 0, bytes, size, &data, &error) == ZF_ERR_INTERNAL, "a block that is too long");
    walk_free(&data, bytes);
    CHECK(walk_layout(0, 0, 0, 4096, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_writer_block(w, 0, 1, bytes, size, &data, &error) == ZF_ERR_INTERNAL, "another shape than was laid out");
    CHECK(zf_writer_block(w, 0, 0, bytes, size, &data, &error) == ZF_OK, "%s", error.message);
    zf_block_data second = data;
    zf_store32((uint8_t *)bytes + 64 + 2 * 8 + 2 * 8 + 24, 2 * WALK_INTERVAL);
    second.rows = 904;
    zf_store64((uint8_t *)bytes + 24, 904);
    zf_store64((uint8_t *)bytes + zf_block_header_bytes(&walk_shapes[0], 2) - 16, 4096);
    CHECK(zf_writer_block(w, 0, 0, bytes, size, &second, &error) == ZF_ERR_INTERNAL, "seek points at two intervals");
    CHECK(strstr(error.message, "two intervals") != NULL, "%s", error.message);
    CHECK(zf_writer_finish(w, 5000, &error) == ZF_ERR_INTERNAL, "a column without its last block");
    CHECK(files_in_directory() == files, "something is left");
    CHECK(zf_writer_block(w, 0, 0, bytes, size, &data, &error) == ZF_ERR_IO && strcmp(error.code, "ZF1506") == 0, "%s",
          error.code);
    walk_free(&data, bytes);
    zf_writer_free(w);
    zf_writer_free(NULL);
}

/// A full disk, as a limit on the size of files makes one.
static void test_disk_full(zf_context *context) {
    unlink(path_of("full.zfd"));
    unsigned files = files_in_directory();
    struct rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < 60000; limit = limit * 2 + 100) {
        zf_error error = {0};
        tight = before;
        tight.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &tight);
        zf_status status = walk_write(path_of("full.zfd"), 10000, 4096, false, &error);
        setrlimit(RLIMIT_FSIZE, &before);
        if (status == ZF_OK) { // it fits
            zf_container *c;
            CHECK(zf_container_open(context, path_of("full.zfd"), &c, &error) == ZF_OK, "%s", error.message);
            zf_container_close(c);
            unlink(path_of("full.zfd"));
            continue;
        }
        CHECK(limit < 45000, "%llu bytes did not do", (unsigned long long)limit);
        CHECK(status == ZF_ERR_IO && strcmp(error.code, "ZF1502") == 0, "%s %s", error.code, error.message);
        CHECK(strstr(error.message, "too large") != NULL && strstr(error.place, "byte") != NULL, "%s at %s", error.message,
              error.place);
        CHECK(files_in_directory() == files, "something is left");
    }
    signal(SIGXFSZ, SIG_DFL);
}

typedef struct parallel {
    zf_writer *writer;
    size_t column;
    zf_status status;
} parallel;

static void *write_column(void *pointer) {
    parallel *p = pointer;
    for (uint64_t block = 0; block < 5 && p->status == ZF_OK; block++) {
        zf_block_data data;
        void *bytes = NULL;
        uint64_t size;
        uint32_t shape;
        p->status = zf_writer_shape(p->writer, p->column, &walk_shapes[block % 2], &shape, NULL);
        if (p->status == ZF_OK) p->status = walk_layout(block % 2, shape, block * 4096, 4096, &bytes, &size, &data, NULL);
        if (p->status == ZF_OK) p->status = zf_writer_block(p->writer, p->column, shape, bytes, size, &data, NULL);
        walk_free(&data, bytes);
    }
    return NULL;
}

static void test_parallel_writers(zf_context *context) {
    zf_error error = {0};
    zf_writer *w = NULL;
    zf_container *c = NULL;
    zf_writer_column columns[4];
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        columns[i] = (zf_writer_column){names[i], {.element = ZF_U32}, "u32", "walk", 4096, NULL, false, ZF_LIST_NONE};
    CHECK(create("p.zfd", "t", columns, 4, &w, &error) == ZF_OK, "%s", error.message);
    pthread_t threads[4];
    parallel p[4];
    for (size_t i = 0; i < 4; i++) {
        p[i] = (parallel){w, i, ZF_OK};
        pthread_create(&threads[i], NULL, write_column, &p[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(p[i].status == ZF_OK, "writer %d", i);
    }
    CHECK(zf_writer_finish(w, 5 * 4096, &error) == ZF_OK, "%s", error.message);
    zf_writer_free(w);
    CHECK(zf_container_open(context, path_of("p.zfd"), &c, &error) == ZF_OK, "%s at %s", error.message, error.place);
    static _Alignas(64) uint32_t values[5 * 4096], work[1 << 16];
    for (size_t i = 0; i < 4; i++) {
        zf_decode_buffers buffers = {
            .values = values, .workspace = work, .values_bytes = sizeof values, .workspace_bytes = sizeof work};
        CHECK(zf_decode(c, i, "cpu", &(zf_decode_options){.threads = 1}, &buffers, NULL, &error) == ZF_OK, "%s at %s",
              error.message, error.place);
        CHECK(values[5 * 4096 - 1] == walk_value(5 * 4096 - 1), "column %zu", i);
    }
    zf_container_close(c);
}

// ---- Refusals of the reader -----------------------------------------------------------------------------------

/// One number of a block's header, replaced.
static void test_block_refusals(void) {
    static const struct {
        uint32_t at, bytes;
        uint64_t value;
        const char *code, *text;
    } rows[] = {
        {8, 4, 0, "ZF1209", "no block"},
        {16, 8, 512, "ZF1209", "says 512 bytes"},
        {24, 8, UINT64_C(1) << 40, "ZF1209", "rows"},
        {24, 8, 999, "ZF1323", "plain bytes"},
        {32, 8, 3999, "ZF1323", "plain bytes"},
        {40, 4, 3, "ZF1209", "3 params"},
        {44, 4, 0, "ZF1209", "0 edges"},
        {48, 4, 9, "ZF1209", "9 streams"},
        {52, 4, 0, "ZF1209", "0 seek trees"},
        {56, 4, 2, "ZF1209", "2 seek fields"},
        {60, 4, 1, "ZF1203", "a block of version 1"},
        {60, 4, 3, "ZF1203", "a block of version 3"},
        {160, 8, 4, "ZF1203", "features 0x4"},
        {184, 8, 1, "ZF1209", "not 0"},
        {64, 8, 256, "ZF1320", "param `width`"},
        {72, 8, UINT64_C(1) << 32, "ZF1320", "param `base`"},
        {80, 8, 1001, "ZF1323", "1001 elements for 1000 rows"},
        {88, 8, 1001, "ZF1323", "`values` has 1000 elements, its edge 1001"},
        {88, 8, (UINT64_C(1) << 32) + 1, "ZF1325", "2^32"},
        {96, 8, 512, "ZF1209", "cannot be at byte 512"},
        {96, 8, UINT64_MAX - 255, "ZF1209", "cannot be at"},
        {104, 8, 4001, "ZF1323", "4001 bytes"},
        {112, 8, 999, "ZF1323", "has 999 elements"},
        {120, 4, 300, "ZF1209", "every 300"},
        {120, 4, 512, "ZF1323", "3 states; its edge needs 1"},
        {124, 4, 2, "ZF1209", "2 fields"},
        {128, 8, 2, "ZF1323", "2 states"},
        {128, 8, 0, "ZF1209", "scan 0"},
        {144, 8, 0, "ZF1209", "cannot be at byte 0"},
        {144, 8, UINT64_MAX - 15, "ZF1209", "cannot be at"},
        {152, 8, 3, "ZF1209", "3 bytes an entry"},
        {152, 8, 16, "ZF1209", "16 bytes an entry"},
        {152, 8, 0, "ZF1209", "cannot be at"},
    };
    zf_error error = {0};
    zf_block_data data;
    void *bytes = NULL;
    uint64_t size = 0;
    zf_block_view view;
    const zf_shape *shape = &walk_shapes[0];
    CHECK(walk_layout(0, 0, 0, 1000, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    uint8_t *copy = aligned_alloc(256, size + 256);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(copy, bytes, size);
        memcpy(copy + rows[i].at, &rows[i].value, rows[i].bytes);
        CHECK(zf_block_check(shape, copy, size, true, "here", &view, &error) == ZF_ERR_INPUT, "row %zu", i);
        CHECK(strcmp(error.code, rows[i].at == 8 || rows[i].at == 16 || rows[i].at < 64 ? rows[i].code : "ZF1324") == 0,
              "row %zu: %s %s", i, error.code, error.message);
        zf_store64(copy, XXH3_64bits(copy + 8, size - 8));
        CHECK(zf_block_check(shape, copy, size, true, "here", &view, &error) == ZF_ERR_INPUT, "row %zu", i);
        CHECK(strcmp(error.code, rows[i].code) == 0 && strstr(error.message, rows[i].text) != NULL, "row %zu: %s %s", i,
              error.code, error.message);
        CHECK(strncmp(error.place, "here", 4) == 0 && view.memory == NULL, "row %zu: %s", i, error.place);
    }
    // More bytes than the parts need, and fewer than the header.
    memcpy(copy, bytes, size);
    memset(copy + size, 0, 256);
    zf_store64(copy + 16, size + 256);
    CHECK(zf_block_check(shape, copy, size + 256, false, "here", &view, &error) == ZF_ERR_INPUT, "a block with room to spare");
    CHECK(strstr(error.message, "fill") != NULL, "%s", error.message);
    CHECK(zf_block_check(shape, copy, 0, false, "here", &view, &error) == ZF_ERR_INPUT, "no bytes");
    zf_shape lying = *shape;
    lying.stored_count = 2;
    CHECK(zf_block_check(&lying, bytes, size, false, "here", &view, &error) == ZF_ERR_INTERNAL, "a shape with another count");
    free(copy);
    walk_free(&data, bytes);
}

/// Replaces `was` behind byte `from` of a file by `is`, makes index and footer right again, and opens it.
static void refuse_index(zf_context *context, const uint8_t *original, size_t size, uint64_t from, uint64_t was, uint64_t is,
                         const char *code, const char *text) {
    zf_error error = {0};
    zf_container *c;
    uint8_t *bytes = malloc(size), *footer = bytes + size - ZF_FORMAT_FOOTER_BYTES;
    memcpy(bytes, original, size);
    uint64_t at = from;
    while (at + 8 <= size && zf_load64(bytes + at) != was) at++;
    CHECK(at + 8 <= size, "%llu is not in the index", (unsigned long long)was);
    if (at + 8 <= size) zf_store64(bytes + at, is);
    uint64_t index = zf_load64(original + size - ZF_FORMAT_FOOTER_BYTES);
    zf_store64(footer + 16, XXH3_64bits(bytes + index, size - ZF_FORMAT_FOOTER_BYTES - index));
    zf_store64(footer + 48, XXH3_64bits(footer, 48));
    write_file(path_of("i.zfd"), bytes, size);
    CHECK(zf_container_open(context, path_of("i.zfd"), &c, &error) == ZF_ERR_INPUT, "%s", text);
    CHECK(strcmp(error.code, code) == 0 && strstr(error.message, text) != NULL, "%s %s instead of %s", error.code, error.message,
          text);
    CHECK(strstr(error.place, "byte") != NULL, "%s", error.place);
    free(bytes);
}

static void test_index_refusals(zf_context *context) {
    zf_error error = {0};
    size_t size;
    CHECK(walk_write(path_of("i.zfd"), 10000, 4096, true, &error) == ZF_OK, "%s", error.message);
    uint8_t *original = read_file(path_of("i.zfd"), &size);
    uint64_t end = size - ZF_FORMAT_FOOTER_BYTES, index = zf_load64(original + end);
    uint64_t rows = index; // the first row of a block: offset 256
    while (zf_load64(original + rows) != 256 || zf_load64(original + rows + 16) != 4096) rows++;
    uint64_t bytes = zf_load64(original + rows + 8);
    refuse_index(context, original, size, index, 10000, 9999, "ZF1207", "number of rows");
    refuse_index(context, original, size, index, 10000, 20000, "ZF1207", "number of rows");
    refuse_index(context, original, size, index, 10000, 8192, "ZF1207", "number of rows");
    refuse_index(context, original, size, rows, 256, 512, "ZF1207", "overlap");
    refuse_index(context, original, size, rows, bytes, bytes - 256, "ZF1207", "overlap");
    refuse_index(context, original, size, rows, bytes, UINT64_MAX, "ZF1207", "add up");
    refuse_index(context, original, size, rows + 16, 4096, 4095, "ZF1207", "number of rows");
    refuse_index(context, original, size, rows + 24, 16384, UINT64_MAX - 5, "ZF1207", "add up");
    refuse_index(context, original, size, rows + 40, zf_load64(original + rows + 40), 2, "ZF1207", "shape that does not exist");
    refuse_index(context, original, size, rows + 40, zf_load64(original + rows + 40), UINT64_C(1) << 32, "ZF1207", "features");
    refuse_index(context, original, size, index + 8, 2, 3, "ZF1207", "it ends too early");
    refuse_index(context, original, size, index + 8, 2, 1, "ZF1207", "behind its end");
    refuse_index(context, original, size, index + 8, 2, UINT32_MAX, "ZF1207", "number of columns");
    refuse_index(context, original, size, end + 24, size, size + 1, "ZF1204", "was written with");
    refuse_index(context, original, size, end, index, index + 256, "ZF1205", "the index cannot");
    // Two rows that change places: each block is whole, but not the one that was meant.
    CHECK(walk_write(path_of("i.zfd"), 3 * 4096, 4096, true, &error) == ZF_OK, "%s", error.message);
    free(original);
    original = read_file(path_of("i.zfd"), &size);
    end = size - ZF_FORMAT_FOOTER_BYTES;
    index = zf_load64(original + end);
    uint8_t *swapped = malloc(size), *a = swapped + index, *footer = swapped + end;
    memcpy(swapped, original, size);
    while (zf_load64(a) != 256 || zf_load64(a + 16) != 4096) a++;
    uint8_t *b = a + 2 * ZF_INDEX_BLOCK_BYTES; // blocks 0 and 2 have one shape
    uint64_t offset = zf_load64(a);
    CHECK(zf_load64(a + 8) == zf_load64(b + 8), "blocks of two sizes");
    zf_store64(a, zf_load64(b));
    zf_store64(b, offset);
    zf_store64(footer + 16, XXH3_64bits(swapped + index, end - index));
    zf_store64(footer + 48, XXH3_64bits(footer, 48));
    write_file(path_of("i.zfd"), swapped, size);
    zf_container *c = NULL;
    zf_block_view view;
    CHECK(zf_container_open(context, path_of("i.zfd"), &c, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_block(c, 0, 0, true, &view, &error) == ZF_ERR_INPUT &&
              strstr(error.message, "differs from its entry") != NULL,
          "%s", error.message);
    zf_container_close(c);
    free(swapped);
    free(original);
    unlink(path_of("i.zfd"));
}

// ---- A file that changes while it is open ---------------------------------------------------------------------

static void test_changes(zf_context *context) {
    size_t size;
    CHECK(walk_write(path_of("c.zfd"), 20000, 4096, true, NULL) == ZF_OK, "write");
    uint8_t *bytes = read_file(path_of("c.zfd"), &size);
    static _Alignas(64) uint32_t values[20000], work[1 << 16];
    zf_decode_buffers buffers = {
        .values = values, .workspace = work, .values_bytes = sizeof values, .workspace_bytes = sizeof work};
    for (int kind = 0; kind < 4; kind++) {
        zf_error error = {0};
        zf_container *c = NULL;
        write_file(path_of("c.zfd"), bytes, size);
        CHECK(zf_container_open(context, path_of("c.zfd"), &c, &error) == ZF_OK, "%s", error.message);
        zf_decode_options options = {.threads = 1};
        CHECK(zf_decode(c, 0, "cpu", &options, &buffers, NULL, &error) == ZF_OK, "%s", error.message);
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000}};
        if (kind == 0) CHECK(truncate(path_of("c.zfd"), 1000) == 0, "truncate");
        if (kind == 1) CHECK(truncate(path_of("c.zfd"), 0) == 0, "truncate");
        if (kind == 2) CHECK(truncate(path_of("c.zfd"), (off_t)size + 4096) == 0, "extend");
        if (kind == 3) CHECK(utimensat(AT_FDCWD, path_of("c.zfd"), times, 0) == 0, "touch");
        CHECK(zf_decode(c, 0, "cpu", &options, &buffers, NULL, &error) == ZF_ERR_INPUT, "change %d", kind);
        CHECK(strcmp(error.code, "ZF1208") == 0 && error.place[0] != 0, "%d: %s %s", kind, error.code, error.place);
        zf_container_close(c);
        // A change in place that keeps size and time is found by the checksum.
        if (kind != 3) continue;
        write_file(path_of("c.zfd"), bytes, size);
        CHECK(zf_container_open(context, path_of("c.zfd"), &c, &error) == ZF_OK, "%s", error.message);
        struct stat status;
        stat(path_of("c.zfd"), &status);
        int fd = open(path_of("c.zfd"), O_WRONLY);
        CHECK(pwrite(fd, "x", 1, 700) == 1, "write");
        struct timespec back[2] = {status.st_atim, status.st_mtim};
        CHECK(futimens(fd, back) == 0, "time");
        close(fd);
        CHECK(zf_decode(c, 0, "cpu", &options, &buffers, NULL, &error) == ZF_ERR_INPUT, "a changed byte");
        CHECK(strcmp(error.code, "ZF1324") == 0 && strstr(error.place, "column walk, block 0") != NULL, "%s %s", error.code,
              error.place);
        zf_container_close(c);
        // A file that takes the other's place does not disturb who has the first one open.
        write_file(path_of("c.zfd"), bytes, size);
        CHECK(zf_container_open(context, path_of("c.zfd"), &c, &error) == ZF_OK, "%s", error.message);
        CHECK(walk_write(path_of("c.zfd"), 100, 4096, true, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_decode(c, 0, "cpu", &options, &buffers, NULL, &error) == ZF_OK, "%s", error.message);
        zf_container_close(c);
    }
    free(bytes);
}

static void test_open_failures(zf_context *context) {
    zf_error error = {0};
    zf_container *c;
    const struct {
        const char *bytes;
        size_t size;
        const char *code;
    } rows[] = {
        {"", 0, "ZF1202"},
        {"hello", 5, "ZF1202"},
        {"name,value\n1,2\n", 15, "ZF1202"},
        {ZF_FORMAT_MAGIC, 8, "ZF1204"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(path_of("x.zfd"), rows[i].bytes, rows[i].size);
        CHECK(zf_container_open(context, path_of("x.zfd"), &c, &error) == ZF_ERR_INPUT, "row %zu", i);
        CHECK(strcmp(error.code, rows[i].code) == 0 && c == NULL && error.place[0] != 0, "%zu: %s", i, error.code);
    }
    CHECK(zf_container_open(context, path_of("none.zfd"), &c, &error) == ZF_ERR_IO && strcmp(error.code, "ZF1201") == 0, "%s",
          error.code);
    CHECK(zf_container_open(context, directory, &c, &error) == ZF_ERR_IO, "a directory");
    CHECK(zf_container_open(context, "/dev/zero", &c, &error) == ZF_ERR_IO, "a device");
    CHECK(zf_container_open(context, NULL, &c, &error) == ZF_ERR_USAGE, "no path");
    CHECK(zf_container_open(context, "", &c, &error) == ZF_ERR_IO && strstr(error.message, "a file with an empty name: ") != NULL,
          "%s", error.message);
    // Another version, with everything else right.
    size_t size;
    CHECK(walk_write(path_of("x.zfd"), 10, 4096, true, &error) == ZF_OK, "%s", error.message);
    uint8_t *bytes = read_file(path_of("x.zfd"), &size);
    bytes[8] = 3;
    write_file(path_of("x.zfd"), bytes, size);
    CHECK(zf_container_open(context, path_of("x.zfd"), &c, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1203") == 0, "%s",
          error.code);
    CHECK(error.hint[0] != 0, "no hint");
    free(bytes);
}

// ---- The worked example of docs/format.md ---------------------------------------------------------------------

/// Lines as `hexdump -C` prints them; repeated lines become `*`.
static char *hexdump(const uint8_t *bytes, size_t size) {
    char *text = malloc(size * 5 + 200), *out = text;
    bool starred = false;
    for (size_t at = 0; at < size; at += 16) {
        size_t count = size - at < 16 ? size - at : 16;
        if (at > 0 && count == 16 && memcmp(bytes + at, bytes + at - 16, 16) == 0) {
            if (!starred) out += sprintf(out, "*\n");
            starred = true;
            continue;
        }
        starred = false;
        out += sprintf(out, "%08zx ", at);
        for (size_t i = 0; i < 16; i++) {
            if (i % 8 == 0) *out++ = ' ';
            out += i < count ? sprintf(out, "%02x ", bytes[at + i]) : sprintf(out, "   ");
        }
        *out++ = ' ';
        *out++ = '|';
        for (size_t i = 0; i < count; i++) *out++ = bytes[at + i] >= 32 && bytes[at + i] < 127 ? (char)bytes[at + i] : '.';
        out += sprintf(out, "|\n");
    }
    sprintf(out, "%08zx\n", size);
    return text;
}

/// The file of the example: 5 rows of "delta" over a stored stream of bytes, with one param.
static void write_example(const char *path, zf_error *error) {
    static const zf_shape_param params[] = {{"first", ZF_I32}};
    static const zf_shape_edge edges[] = {{"", "delta<i32>", ZF_I32, false, -1}, {"steps", "", ZF_I8, false, 0}};
    static const zf_shape_field fields[] = {{.name = "scan 0", .bytes = 4}};
    static const zf_shape_tree trees[] = {{.edge = 0, .field_count = 1, .fields = fields}};
    static const zf_shape shape = {NULL, 0, 1, 2, 1, 1, params, edges, trees};
    static const uint64_t values[] = {100}, counts[] = {5, 5};
    static const int8_t steps[] = {0, 1, 2, -1, 3};
    const zf_stream_data streams[] = {{steps, 5, 5}};
    const zf_seek_data seeks[] = {{4096, 0, NULL, 0}};
    const zf_writer_column column = {"a", {.element = ZF_I32}, "i32", "delta(plain)", 4096, NULL, false, ZF_LIST_NONE};
    const zf_writer_table table = {.name = "t", .unit = "zf 1;", .columns = &column, .column_count = 1};
    const zf_block_data block = {5, 20, 0, values, counts, streams, seeks, 0, 0, NULL};
    zf_writer *w = NULL;
    uint32_t number;
    void *bytes = NULL;
    uint64_t size;
    CHECK(zf_writer_create(path, true, &table, &w, error) == ZF_OK, "%s", error->message);
    CHECK(zf_writer_shape(w, 0, &shape, &number, error) == ZF_OK, "%s", error->message);
    CHECK(zf_block_layout(&shape, &block, &bytes, &size, error) == ZF_OK, "%s", error->message);
    CHECK(zf_writer_block(w, 0, number, bytes, size, &block, error) == ZF_OK, "%s", error->message);
    CHECK(zf_writer_finish(w, 5, error) == ZF_OK, "%s", error->message);
    zf_writer_free(w);
    free(bytes);
}

/// Values of lists that no row has.
static void test_values_without_rows(zf_context *context) {
    zf_error error = {0};
    zf_writer *w = NULL;
    zf_container *c = NULL;
    const zf_writer_column columns[] = {{"a", {.element = ZF_I64}, "list<u32>", "walk", 4096, NULL, false, ZF_LIST_ENDS},
                                        {"a.values", {.element = ZF_U32}, "u32", "walk", 4096, NULL, false, ZF_LIST_VALUES}};
    for (unsigned values = 0; values < 2; values++) {
        CHECK(create("v.zfd", "t", columns, 2, &w, &error) == ZF_OK, "%s", error.message);
        parallel p = {w, 1, ZF_OK};
        if (values) write_column(&p);
        CHECK(p.status == ZF_OK && zf_writer_finish(w, 0, &error) == ZF_OK, "%s", error.message);
        zf_writer_free(w);
        zf_status status = zf_container_open(context, path_of("v.zfd"), &c, &error);
        CHECK(values ? status == ZF_ERR_INPUT && strstr(error.message, "a table without rows") != NULL : status == ZF_OK, "%s",
              error.message);
        zf_container_close(c);
    }
}

static void test_documented_example(void) {
    zf_error error = {0};
    size_t size = 0, page_size = 0;
    write_example(path_of("example.zfd"), &error);
    uint8_t *bytes = read_file(path_of("example.zfd"), &size);
    char *dump = hexdump(bytes, size);
    uint8_t *page = read_file(ZF_SOURCE_DIR "/docs/format.md", &page_size);
    CHECK(page != NULL && strstr((const char *)page, dump) != NULL, "docs/format.md does not show this file:\n%s", dump);
    free(page);
    free(dump);
    free(bytes);
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 1;
    test_output();
    test_output_name_not_synced();
    zf_context *context = NULL;
    zf_abi_provider provider = {.plan = walk_plan, .code = walk_code};
    zf_error error;
    CHECK(zf_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    test_facts(context);
    test_account(context);
    test_layout_refusals();
    test_writer_refusals();
    test_disk_full(context);
    test_values_without_rows(context);
    test_parallel_writers(context);
    test_block_refusals();
    test_index_refusals(context);
    test_changes(context);
    test_open_failures(context);
    test_documented_example();
    zf_context_free(context);
    static const char *const names[] = {"f.zfd", "p.zfd", "c.zfd", "x.zfd", "v.zfd", "example.zfd"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unlink(path_of(names[i]));
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}

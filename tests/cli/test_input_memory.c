// Text that is read while memory runs out: that is what the error says, wherever it happens, and not that the data are bad. Raw
// files are held once.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "zfc/data/delimited_scan.h"
#include "zfc/data/table_data.h"
#include "zfc/driver_codes.h"

enum {
    ROWS = 20000, ///< beyond what the buffers of a column begin with
    ENOUGH = 1 << 30,
};

static unsigned left;  ///< requests for more memory that are granted
static size_t granted; ///< bytes of them

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
    if (left == 0) return NULL;
    left--;
    granted += size;
    return __real_realloc(memory, size);
}

/// A field where no memory is left: `reason`, whatever it was, tells that from a field that does not parse.
static void test_field(const zf_table *table) {
    for (size_t i = 0; i < table->column_count; i++) {
        zf_table_data data;
        zf_error error = {0};
        const char *reason = "of another field";
        CHECK(zf_table_data_create(table, &data, &error) == ZF_OK, "%s", error.message);
        left = 0;
        zf_status status = zf_column_append_text(&data.columns[i], "7", 1, false, &reason, &error);
        CHECK(status == ZF_ERR_MEMORY && strcmp(error.code, ZFC_NO_MEMORY) == 0, "%s: %s", data.columns[i].name, error.message);
        CHECK(reason == NULL, "%s: %s", data.columns[i].name, reason);
        left = ENOUGH;
        zf_table_data_free(&data);
    }
}

/// Reads the file with one request more granted each time, until it can be read.
static void test_file(const zf_table *table, const char *path) {
    zf_delimited_options options = {.delimiter = ','};
    unsigned failed = 0;
    for (zf_status status = ZF_ERR_MEMORY; status != ZF_OK && failed < 1000;) {
        zf_table_data data;
        zf_error error = {0};
        CHECK(zf_table_data_create(table, &data, &error) == ZF_OK, "%s", error.message);
        left = failed;
        status = zf_read_delimited(path, &options, &data, &error);
        if (status != ZF_OK) {
            failed++;
            CHECK(status == ZF_ERR_MEMORY && strcmp(error.code, ZFC_NO_MEMORY) == 0, "after %u: %s: %s", failed - 1, error.code,
                  error.message);
        } else {
            for (size_t i = 0; i < data.count; i++) CHECK(data.columns[i].rows == ROWS, "%s", data.columns[i].name);
        }
        left = ENOUGH;
        zf_table_data_free(&data);
    }
    CHECK(failed >= 10 && failed < 1000, "memory ran out %u times", failed);
}

/// A raw file, as elements and as characters, takes one buffer of its size.
static void test_raw(const zf_table *table) {
    enum { SIZE = 1 << 20 };
    static const char zeros[SIZE];
    static const char *const parts[] = {"n", "s.bytes", "s.offsets", "m.valid"};
    char path[] = "/tmp/zipflow-test-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, zeros, SIZE) == SIZE, "%s", path);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        zf_table_data data;
        zf_error error = {0};
        char operand[64];
        snprintf(operand, sizeof operand, "%s=%s", parts[i], path);
        CHECK(zf_table_data_create(table, &data, &error) == ZF_OK, "%s", error.message);
        granted = 0;
        zf_status status = zf_read_raw(operand, strlen(parts[i]), path, false, &data, &error);
        CHECK(status == ZF_OK, "%s: %s", operand, error.message);
        CHECK(granted <= SIZE + 4096, "%s: %zu bytes of memory for a file of %d", operand, granted, SIZE);
        CHECK(data.memory.held == granted, "%s: %llu bytes counted, %zu granted", operand, (unsigned long long)data.memory.held,
              granted);
        zf_table_data_free(&data);
    }
    close(fd);
    unlink(path);
}

/// A field that does not end grows by small steps near the limit of memory. Each step looks only at the bytes that it added:
/// otherwise /dev/zero takes minutes to be refused.
static void test_endless_field(void) {
    enum { SIZE = 1 << 21, MOST = 1 << 20 };
    static char text[SIZE];
    for (int quoted = 0; quoted < 2; quoted++) {
        memset(text, 'x', SIZE);
        if (quoted) text[0] = '"';
        zf_input_memory memory = {.most = MOST};
        FILE *file = fmemopen(text, SIZE, "r");
        zf_delimited_scan scan = {.file = file, .path = "endless", .delimiter = ',', .memory = &memory};
        zf_error error = {0};
        zf_field field;
        CHECK(file != NULL && zf_delimited_start(&scan, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_delimited_next(&scan, &field, &error) == ZF_DELIMITED_FAILED && strcmp(error.code, ZFC_INPUT_LIMIT) == 0, "%s",
              error.message);
        CHECK(scan.end > MOST / 2 && scan.seen == scan.end, "%zu of %zu bytes need not be looked at again", scan.seen, scan.end);
        zf_delimited_free(&scan);
        if (file != NULL) fclose(file);
    }
}

int main(void) {
    char path[] = "/tmp/zipflow-test-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (file == NULL) return 1;
    fprintf(file, "n,s,m\n");
    for (int i = 0; i < ROWS; i++) fprintf(file, "%d,text %d,%d\n", i, i, i % 7);
    fclose(file);
    left = ENOUGH;
    test_endless_field();
    const char *text = "table t { n: i32 = bitpack; s: string = strings(bitpack); m: u8? = nullable(values: bitpack); }";
    zf_spec_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_spec *spec = zf_spec_create(&options);
    bool good = spec != NULL && zf_spec_add_text(spec, "program.zf", text, strlen(text)) && zf_spec_check(spec);
    CHECK(good, "%s", text);
    if (good) {
        test_field(zf_spec_tables(spec));
        test_file(zf_spec_tables(spec), path);
        test_raw(zf_spec_tables(spec));
    }
    zf_spec_destroy(spec);
    unlink(path);
    return check_result();
}

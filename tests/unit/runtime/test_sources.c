// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// A container from a file, from memory and from a function of the caller: every way of decoding gives the same rows, and a
// function that fails, ends early or lies about sizes gives an error with its place.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/container/container.h"
#include "runtime/device/device.h"
#include "tests/support/emulated.h"
#include "tests/support/string_file.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

enum { ROWS = 9000, ROWS_PER_BLOCK = 4096 };

typedef unsigned long long ull;

static char characters[4 * ROWS];
static int64_t offsets[ROWS + 1];
static uint8_t validity[(ROWS + 7) / 8];
static _Alignas(64) uint8_t made[4 * ROWS + 64], made_validity[ROWS / 8 + 64], work[1 << 22];
static int64_t made_offsets[ROWS + 1];

static zf_context *context;
static uint8_t *file;   ///< the container's bytes, aligned to 256
static uint8_t *beside; ///< the same, aligned to no more than 8
static uint64_t file_bytes;

static const zf_decode_buffers buffers = {.values = made,
                                          .offsets = made_offsets,
                                          .validity = made_validity,
                                          .workspace = work,
                                          .values_bytes = sizeof made,
                                          .offsets_bytes = sizeof made_offsets,
                                          .validity_bytes = sizeof made_validity,
                                          .workspace_bytes = sizeof work};

static bool read_file(void) {
    FILE *in = fopen(place("t.zfd"), "rb");
    if (in == NULL || fseek(in, 0, SEEK_END) != 0) return false;
    file_bytes = (uint64_t)ftell(in);
    rewind(in);
    file = aligned_alloc(256, (file_bytes / 256 + 1) * 256);
    beside = (uint8_t *)aligned_alloc(256, (file_bytes / 256 + 2) * 256) + 8;
    bool whole = fread(file, 1, file_bytes, in) == file_bytes;
    memcpy(beside, file, file_bytes);
    fclose(in);
    return whole;
}

// ---- A reader -------------------------------------------------------------------------------------------------

typedef enum fault { NONE, FAILS, FAILS_SILENTLY, ENDS, TOO_MANY } fault;

typedef struct reading {
    fault fault;
    uint64_t from;    ///< where the fault begins
    uint64_t at_once; ///< bytes, 0: all
    atomic_uint calls;
} reading;

static int64_t read_bytes(void *user, uint64_t offset, void *to, uint64_t bytes, zf_error *error) {
    reading *r = user;
    atomic_fetch_add(&r->calls, 1);
    CHECK(offset < file_bytes && bytes > 0, "a read of %llu bytes at byte %llu of %llu", (ull)bytes, (ull)offset,
          (ull)file_bytes);
    uint64_t got = bytes, left = offset < file_bytes ? file_bytes - offset : 0;
    bool reached = r->fault != NONE && offset + bytes > r->from;
    if (reached && r->fault == ENDS) left = offset < r->from ? r->from - offset : 0;
    if (reached && r->fault == TOO_MANY) return (int64_t)bytes + 1;
    if (reached && (r->fault == FAILS || r->fault == FAILS_SILENTLY)) {
        if (r->fault == FAILS) snprintf(error->message, sizeof error->message, "the bucket is gone");
        return -1;
    }
    if (r->at_once > 0 && got > r->at_once) got = r->at_once;
    if (got > left) got = left;
    memcpy(to, file + offset, got);
    return (int64_t)got;
}

// ---- Every way of decoding ------------------------------------------------------------------------------------

static void poison(void) {
    memset(made, 0xa5, sizeof made);
    memset(made_offsets, 0xa5, sizeof made_offsets);
    memset(made_validity, 0xa5, sizeof made_validity);
}

static bool is_right(void) {
    return memcmp(made_offsets, offsets, sizeof offsets) == 0 && memcmp(made_validity, validity, sizeof validity) == 0 &&
           memcmp(made, characters, (size_t)offsets[ROWS]) == 0;
}

static zf_status by_batch(zf_container *container, const char *device, zf_error *error) {
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_pipeline_request request = {.container = container, .host = buffers};
    zf_pipeline_options options = {.host_staging = 1 << 20, .device_staging = 1 << 20, .unit_bytes = 1};
    zf_status status = zf_pipeline_create(context, device, &options, &pipeline, error);
    if (status == ZF_OK) status = zf_batch_create(pipeline, &request, 1, &batch, error);
    if (status == ZF_OK) status = zf_batch_start(batch, error);
    if (status == ZF_OK) status = zf_batch_wait(batch, 0, error);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    return status;
}

static zf_accelerator *emulator(void) {
    zf_device device;
    zf_accelerator *emu = NULL;
    zf_error error;
    bool there = zf_device_find(context, "emu", &device, &error) == ZF_OK &&
                 zf_device_accelerator(context, &device, &emu, &error) == ZF_OK;
    CHECK(there, "%s", error.message);
    return emu;
}

/// Into memory of the device: the copy to the host is this test's.
static zf_status by_stream(zf_container *container, zf_error *error) {
    zf_accelerator *emu = emulator();
    zf_prepared *prepared = NULL;
    zf_device_sizes sizes = {0};
    zf_status status = zf_decode_prepare(container, 0, "emu", NULL, &prepared, error);
    if (status == ZF_OK) status = zf_decode_device_size(prepared, &sizes, error);
    if (status != ZF_OK) return status;
    zf_device_buffers to = {ZF_DEVICE_BYTES(sizes)};
    uint64_t *parts[] = {&to.values, &to.offsets, &to.validity, &to.workspace};
    const uint64_t bytes[] = {sizes.values, sizes.offsets, sizes.validity, sizes.workspace};
    for (int k = 0; k < 4 && status == ZF_OK; k++) status = emu->ops->allocate(emu, bytes[k], parts[k], error);
    to.staging = malloc(sizes.staging);
    if (status == ZF_OK) status = zf_decode_async(prepared, NULL, &to, error);
    if (status == ZF_OK) status = zf_decode_status(prepared, NULL, error);
    if (status == ZF_OK) {
        emu->ops->copy_out(emu, NULL, made, to.values, (uint64_t)offsets[ROWS], error);
        emu->ops->copy_out(emu, NULL, made_offsets, to.offsets, sizeof made_offsets, error);
        emu->ops->copy_out(emu, NULL, made_validity, to.validity, sizeof validity, error);
    }
    for (int k = 0; k < 4; k++) {
        if (*parts[k] != 0) emu->ops->release(emu, *parts[k]);
    }
    free(to.staging);
    zf_prepared_free(prepared);
    return status;
}

static void count_part(void *user, const zf_container_part *part) { *(uint64_t *)user += part->bytes; }

static void test_all_ways(zf_container *container, const char *what) {
    static const char *const devices[] = {"cpu", "emu"};
    zf_error error = {0};
    for (int loaded = 0; loaded < 2; loaded++) {
        if (loaded) CHECK(zf_container_load(container, "cpu", &error) == ZF_OK, "%s: %s", what, error.message);
        for (int d = 0; d < 2; d++) {
            poison();
            zf_status status = zf_decode(container, 0, devices[d], NULL, &buffers, NULL, &error);
            CHECK(status == ZF_OK && is_right(), "%s, zf_decode on %s: %s (%s)", what, devices[d], error.message, error.place);
            poison();
            status = by_batch(container, devices[d], &error);
            CHECK(status == ZF_OK && is_right(), "%s, a batch on %s: %s (%s)", what, devices[d], error.message, error.place);
        }
        poison();
        CHECK(by_stream(container, &error) == ZF_OK && is_right(), "%s, zf_decode_async: %s (%s)", what, error.message,
              error.place);
        zf_decode_options some = {.some_rows = true, .row_begin = 4000, .row_count = 300};
        poison();
        CHECK(zf_decode(container, 0, "cpu", &some, &buffers, NULL, &error) == ZF_OK &&
                  made_offsets[300] == offsets[4300] - offsets[4000],
              "%s, some rows: %s", what, error.message);
        zf_code_request request = {.container = container};
        CHECK(zf_code_obtain(context, "cpu", &request, 1, 0, NULL, NULL, &error) == ZF_OK, "%s: %s", what, error.message);
        uint64_t bytes = 0;
        CHECK(zf_container_account(container, count_part, &bytes, &error) == ZF_OK && bytes == file_bytes, "%s: %llu bytes, %s",
              what, (ull)bytes, error.message);
    }
    zf_container_close(container);
}

static zf_container *open_reader(reading *r, uint64_t bytes, bool copy, zf_error *error) {
    zf_container *container = NULL;
    zf_byte_reader reader = {.bytes = bytes, .read = read_bytes, .user = r};
    zf_open_options options = {.name = "s3://bucket/t", .copy = copy};
    *error = (zf_error){0};
    zf_container_open_reader(context, &reader, &options, &container, error);
    return container;
}

static void test_ways(void) {
    zf_error error = {0};
    zf_container *container = NULL;
    reading whole = {0}, pieces = {.at_once = 1000};
    CHECK(zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    test_all_ways(container, "a file");
    static const zf_open_options ways[] = {{.size = 0}, {.copy = true}, {ZF_INIT(zf_open_options), .map = 1}};
    for (int k = 0; k < 3; k++) {
        CHECK(zf_container_open_file(context, place("t.zfd"), &ways[k], &container, &error) == ZF_OK, "%s", error.message);
        CHECK(strcmp(zf_container_path(container), place("t.zfd")) == 0, "%s", zf_container_path(container));
        test_all_ways(container, k == 0 ? "a file without options" : k == 1 ? "a copy of a file" : "a mapped file");
    }
    CHECK(zf_container_open_memory(context, file, file_bytes, NULL, &container, &error) == ZF_OK, "%s", error.message);
    CHECK(strcmp(zf_container_path(container), "(memory)") == 0, "%s", zf_container_path(container));
    test_all_ways(container, "memory");
    CHECK(zf_container_open_memory(context, beside, file_bytes, NULL, &container, &error) == ZF_OK, "%s", error.message);
    test_all_ways(container, "memory that is not aligned");
    uint8_t *gone = malloc(file_bytes);
    memcpy(gone, file, file_bytes);
    zf_open_options copy = {.copy = true};
    CHECK(zf_container_open_memory(context, gone, file_bytes, &copy, &container, &error) == ZF_OK, "%s", error.message);
    memset(gone, 0xa5, file_bytes);
    free(gone);
    test_all_ways(container, "a copy of memory");
    test_all_ways(open_reader(&whole, file_bytes, false, &error), "a reader");
    test_all_ways(open_reader(&pieces, file_bytes, false, &error), "a reader of pieces");
    container = open_reader(&whole, file_bytes, true, &error);
    unsigned calls = atomic_load(&whole.calls);
    CHECK(strcmp(zf_container_path(container), "s3://bucket/t") == 0, "%s", zf_container_path(container));
    test_all_ways(container, "a copy of a reader");
    CHECK(atomic_load(&whole.calls) == calls, "a copy was read %u times more", atomic_load(&whole.calls) - calls);
}

// ---- Faults ---------------------------------------------------------------------------------------------------

static bool says(const zf_error *error, zf_status status, const char *code, const char *text) {
    return error->status == status && strcmp(error->code, code) == 0 && strstr(error->message, text) != NULL &&
           strncmp(error->place, "s3://bucket/t", 13) == 0;
}

/// Faults from a byte on: in the first block, and, for what opening reads, in the index.
static void test_faults(void) {
    static const struct {
        fault fault;
        zf_status status;
        const char *code, *text;
    } rows[] = {{FAILS, ZF_ERR_IO, "ZF1210", "the bucket is gone"},
                {FAILS_SILENTLY, ZF_ERR_IO, "ZF1210", "reader failed"},
                {ENDS, ZF_ERR_IO, "ZF1210", "ended before"},
                {TOO_MANY, ZF_ERR_USAGE, "ZF1118", "returned"}};
    zf_error error;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        reading r = {.fault = rows[k].fault, .from = file_bytes - 100};
        CHECK(open_reader(&r, file_bytes, false, &error) == NULL && says(&error, rows[k].status, rows[k].code, rows[k].text),
              "opening: %s %s (%s)", error.code, error.message, error.place);
        r.fault = NONE;
        zf_container *container = open_reader(&r, file_bytes, false, &error);
        CHECK(container != NULL, "%s", error.message);
        r.fault = rows[k].fault;
        r.from = 1000; // within the first block
        static const char *const devices[] = {"cpu", "emu"};
        for (int d = 0; d < 2; d++) {
            error = (zf_error){0};
            CHECK(zf_decode(container, 0, devices[d], NULL, &buffers, NULL, &error) == rows[k].status &&
                      says(&error, rows[k].status, rows[k].code, rows[k].text) &&
                      strstr(error.place, ": column s, block 0, byte ") != NULL,
                  "%s: %s %s (%s)", devices[d], error.code, error.message, error.place);
            error = (zf_error){0};
            CHECK(by_batch(container, devices[d], &error) == rows[k].status &&
                      says(&error, rows[k].status, rows[k].code, rows[k].text) &&
                      strstr(error.place, ": column s, block 0, byte ") != NULL,
                  "a batch on %s: %s %s (%s)", devices[d], error.code, error.message, error.place);
        }
        error = (zf_error){0};
        CHECK(zf_container_load(container, "cpu", &error) != ZF_OK && says(&error, rows[k].status, rows[k].code, rows[k].text),
              "loading: %s %s (%s)", error.code, error.message, error.place);
        r.fault = NONE;
        error = (zf_error){0};
        CHECK(zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &error) == ZF_OK, "afterwards: %s", error.message);
        zf_container_close(container);
    }
}

/// A size that is not that of the container.
static void test_sizes(void) {
    zf_error error;
    reading r = {0};
    for (uint64_t bytes = 0; bytes < file_bytes; bytes += bytes < 400 ? 1 : 509) {
        CHECK(open_reader(&r, bytes, bytes % 2 == 1, &error) == NULL && error.status == ZF_ERR_INPUT, "%llu bytes: %s",
              (ull)bytes, error.message);
        zf_container *container = NULL;
        CHECK(zf_container_open_memory(context, file, bytes, NULL, &container, &error) == ZF_ERR_INPUT && container == NULL,
              "%llu bytes in memory: %s", (ull)bytes, error.message);
    }
    zf_container *none = NULL;
    CHECK(zf_container_open_memory(context, NULL, 0, NULL, &none, &error) == ZF_ERR_INPUT, "%s", error.message);
    CHECK(zf_container_open_memory(context, NULL, 1, NULL, &none, &error) == ZF_ERR_USAGE, "%s", error.message);
    // Sizes behind which the address space ends: a footer before the end would lie before the bytes, or nowhere.
    const uint64_t large[] = {UINT64_MAX, UINT64_MAX - 63, (uint64_t)INT64_MAX + 1, UINT64_MAX - (uintptr_t)file + 1};
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
        for (unsigned copied = 0; copied < 2; copied++) {
            zf_open_options options = {.copy = copied == 1};
            CHECK(zf_container_open_memory(context, file, large[k], &options, &none, &error) == ZF_ERR_USAGE && none == NULL &&
                      strstr(error.message, "no memory is as large") != NULL,
                  "%llu bytes: %s", (ull)large[k], error.message);
        }
    }
    CHECK(zf_container_open_reader(context, &(zf_byte_reader){0}, NULL, &none, &error) == ZF_ERR_USAGE, "%s", error.message);
    CHECK(open_reader(&r, UINT64_MAX, false, &error) == NULL && error.status == ZF_ERR_USAGE, "%s", error.message);
    uint64_t real = file_bytes; // more than there are: what lies behind the end is asked for
    reading ends = {.fault = ENDS, .from = real};
    file_bytes = real + 4096;
    CHECK(open_reader(&ends, real + 4096, true, &error) == NULL && says(&error, ZF_ERR_IO, "ZF1210", "announced"), "%s %s",
          error.code, error.message);
    file_bytes = real;
}

static void test_options(void) {
    zf_error error = {0};
    zf_container *none = NULL;
    zf_open_options both = {ZF_INIT(zf_open_options), .copy = true, .map = 1}, map = {ZF_INIT(zf_open_options), .map = 1};
    zf_open_options named = {.name = "t"};
    zf_byte_reader reader = {.bytes = file_bytes, .read = read_bytes};
    CHECK(zf_container_open_file(context, place("t.zfd"), &both, &none, &error) == ZF_ERR_USAGE && none == NULL, "both");
    CHECK(zf_container_open_file(context, place("t.zfd"), &named, &none, &error) == ZF_ERR_USAGE && none == NULL, "a name");
    CHECK(zf_container_open_file(context, NULL, NULL, &none, &error) == ZF_ERR_USAGE && none == NULL, "no path");
    CHECK(zf_container_open_memory(context, file, file_bytes, &map, &none, &error) == ZF_ERR_USAGE && none == NULL, "memory");
    CHECK(zf_container_open_reader(context, &reader, &map, &none, &error) == ZF_ERR_USAGE && none == NULL, "a reader");
}

int main(void) {
    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    if (!scratch_begin("sources")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    string_file_write(compiler, ROWS, ROWS_PER_BLOCK, characters, offsets, validity);
    bool read = read_file();
    CHECK(read, "the container cannot be read");
    if (read) {
        test_ways();
        test_faults();
        test_sizes();
        test_options();
    }
    free(file);
    free(beside - 8);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

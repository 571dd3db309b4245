// Links: zipflow-runtime zipflow-emu
// The runtime without the compiler: contexts, devices, and decoding with hand-written kernels.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/bits.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_run.h"
#include "runtime/device/device.h"
#include "tests/support/emulated.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

static char directory[64] = "/tmp/zipflow-test-XXXXXX";

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

// ---- Contexts and devices -------------------------------------------------------------------------------------

static int logged;
static void count_log(void *user, zf_log_level level, const char *line) {
    (void)user, (void)level;
    logged += line[0] != 0;
}

typedef struct log_state {
    zf_context *context;
    int lines, inside, overlaps;
} log_state;

// A callback that comes back to the log, by itself and by what it calls.
static void log_again(void *user, zf_log_level level, const char *line) {
    log_state *state = user;
    (void)level, (void)line;
    state->overlaps += state->inside++ != 0;
    state->lines++;
    zf_context_log(state->context, ZF_LOG_INFO, "within a line");
    state->inside--;
}

static void *log_many(void *user) {
    log_state *state = user;
    for (int i = 0; i < 1000; i++) zf_context_log(state->context, ZF_LOG_INFO, "line %d", i);
    return NULL;
}

static void test_log_within_log(void) {
    zf_error error;
    log_state state = {0};
    zf_context_options options = {.log = log_again, .log_user = &state};
    CHECK(emulated_context_create(&options, &state.context, &error) == ZF_OK, "%s", error.message);
    alarm(60); // a deadlock ends the test
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, log_many, &state) == 0, "no thread");
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    alarm(0);
    CHECK(state.lines == 3000 && state.overlaps == 0, "%d lines, %d at the same time", state.lines, state.overlaps);
    zf_context_free(state.context);
}

static void test_context(void) {
    zf_error error;
    zf_context *context;
    CHECK(strcmp(zf_version(), "0.1.0") == 0, "%s", zf_version());
    CHECK(strcmp(zf_status_name(ZF_ERR_IO), "input or output failure") == 0, "%s", zf_status_name(ZF_ERR_IO));
    CHECK(zf_status_name((zf_status)99)[0] != 0, "a status that does not exist");
    static const char *const variables[] = {"ZIPFLOW_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    const struct {
        const char *option, *values[3], *wanted;
    } rows[] = {
        {"/given", {"/own", "/xdg", "/home/me"}, "/given"},
        {"", {"/own", "/xdg", "/home/me"}, ""},
        {"given", {"/own", "/xdg", "/home/me"}, "/tmp/given"},
        {"./a/b", {"/own", "/xdg", "/home/me"}, "/tmp/./a/b"},
        {NULL, {"/own", "/xdg", "/home/me"}, "/own"},
        {NULL, {"", "/xdg", "/home/me"}, ""},
        {NULL, {"own", "/xdg", "/home/me"}, "/xdg/zipflow"},
        {NULL, {"./own", "xdg", "/home/me"}, "/home/me/.cache/zipflow"},
        {NULL, {NULL, "/xdg", "/home/me"}, "/xdg/zipflow"},
        {NULL, {NULL, NULL, "/home/me"}, "/home/me/.cache/zipflow"},
        {NULL, {NULL, "", "me"}, ""},
        {NULL, {NULL, NULL, NULL}, ""},
    };
    const size_t count = sizeof rows / sizeof rows[0];
    char *before = getcwd(NULL, 0);
    CHECK(before != NULL && chdir("/tmp") == 0, "no directory");
    for (size_t i = 0; i < count; i++) {
        for (int v = 0; v < 3; v++)
            rows[i].values[v] != NULL ? setenv(variables[v], rows[i].values[v], 1) : unsetenv(variables[v]);
        zf_context_options options = {.cache_dir = rows[i].option, .threads = 3, .log = count_log};
        CHECK(emulated_context_create(&options, &context, &error) == ZF_OK, "%s", error.message);
        CHECK(strcmp(zf_context_cache_dir(context), rows[i].wanted) == 0, "%zu: %s", i, zf_context_cache_dir(context));
        CHECK(zf_context_threads(context, 0) == 3 && zf_context_threads(context, 7) == 7, "threads");
        zf_context_log(context, ZF_LOG_INFO, "line %d", 1);
        zf_context_free(context);
    }
    CHECK(logged == (int)count, "%d lines", logged);
    char gone[] = "/tmp/zipflow-gone-XXXXXX";
    CHECK(mkdtemp(gone) != NULL && chdir(gone) == 0 && rmdir(gone) == 0, "no directory that is gone");
    zf_context_options nowhere = {.cache_dir = "given"};
    CHECK(emulated_context_create(&nowhere, &context, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1101") == 0 &&
              strstr(error.place, "cache_dir") != NULL && error.hint[0] != 0,
          "%s %s", error.code, error.message);
    CHECK(before != NULL && chdir(before) == 0, "no way back");
    free(before);
    zf_context_options many = {.threads = 100000};
    CHECK(emulated_context_create(&many, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_context_threads(context, 0) == ZF_THREADS_MOST && zf_context_threads(context, 1000) == ZF_THREADS_MOST, "%u threads",
          zf_context_threads(context, 0));
    zf_context_free(context);
    CHECK(emulated_context_create(NULL, NULL, NULL) == ZF_ERR_USAGE, "no place");
    zf_context_free(NULL);
}

static void test_devices(void) {
    zf_error error;
    zf_context *context;
    zf_device_info info = {0};
    zf_device device;
    CHECK(emulated_context_create(NULL, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_count(context) >= 1, "no device");
    CHECK(zf_device_get(context, 0, &info, &error) == ZF_OK && strcmp(info.name, "cpu") == 0, "%s", info.name);
    CHECK(info.present && info.reason[0] == 0 && info.memory > 0 && info.cores > 0, "%s", info.reason);
    CHECK(strlen(info.description) > 4 && strstr(info.description, " core") == NULL, "%s", info.description);
    CHECK(zf_device_get(context, 99, &info, &error) == ZF_ERR_USAGE, "device 99");
    CHECK(zf_device_find(context, "abacus", &device, &error) == ZF_ERR_DEVICE &&
              strstr(error.hint, "zf_emulator_register") != NULL,
          "%s", error.hint);
    CHECK(zf_device_find(context, "auto", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_get(context, device.entry, &info, &error) == ZF_OK && !info.emulated, "auto takes %s", info.name);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_get(context, device.entry, &info, &error) == ZF_OK && info.emulated && info.present, "emu is no emulator");
    CHECK(zf_device_find(context, "cpu", &device, &error) == ZF_OK, "%s", error.message);
    zf_device_state *state;
    CHECK(device.ops->open(context, 1, &state, &error) == ZF_OK, "%s", error.message);
    CHECK(device.ops->finish(state, &error) == ZF_OK, "finish");
    device.ops->close(state);
    zf_context_free(context);
}

/// Devices that are added to a context, before others were looked for and afterwards.
static void test_added_devices(void) {
    zf_error error;
    zf_context *context;
    zf_device emu, cuda;
    for (unsigned late = 0; late < 2; late++) {
        CHECK(zf_context_create(NULL, &context, &error) == ZF_OK, "%s", error.message);
        size_t before = late ? zf_device_count(context) : 2;
        CHECK(late || zf_device_find(context, "cpu", &emu, &error) == ZF_OK, "%s", error.message);
        CHECK(!late || zf_device_find(context, "emu", &emu, &error) == ZF_ERR_DEVICE, "the runtime has an emulator");
        CHECK(zf_emulator_register(context, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_emulator_register(context, &error) == ZF_ERR_USAGE, "registered twice");
        CHECK(zf_device_find(context, "emu", &emu, &error) == ZF_OK && emu.entry == (late ? before : 1), "%zu", emu.entry);
        CHECK(zf_device_find(context, "emu64", &emu, &error) == ZF_OK && emu.entry == (late ? before + 1 : 2), "%zu", emu.entry);
        zf_accelerator *accelerator;
        CHECK(zf_device_accelerator(context, &emu, &accelerator, &error) == ZF_OK &&
                  accelerator->ops->target(accelerator).arch == 64,
              "%s", error.message);
        CHECK(zf_device_find(context, "cuda", &cuda, &error) != ZF_OK || cuda.entry == (late ? 1 : 3), "%zu", cuda.entry);
        zf_context_free(context);
    }
    CHECK(zf_emulator_register(NULL, &error) == ZF_ERR_USAGE, "no context");
    // Where one of the kinds cannot be added, none is.
    const zf_device_ops other = {.name = "emu64", .describe = zf_device_cpu.describe};
    CHECK(zf_context_create(NULL, &context, &error) == ZF_OK &&
              zf_context_add_devices(context, &(const zf_device_ops *){&other}, 1, &error) == ZF_OK,
          "%s", error.message);
    CHECK(zf_emulator_register(context, &error) == ZF_ERR_USAGE && strstr(error.message, "emu64") != NULL, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &emu, &error) == ZF_ERR_DEVICE, "one of two kinds was added");
    zf_context_free(context);
}

static void test_codes(void) {
    size_t count;
    const zf_error_row *rows = zf_error_rows(&count);
    for (size_t i = 1; i < count; i++) CHECK(rows[i - 1].code < rows[i].code, "row %zu is out of order", i);
    CHECK(zf_violation_code(9) == ZF_E_V09 && zf_violation_code(11) == ZF_E_INTERNAL, "violations");
    zf_error error;
    CHECK(zf_raise(&error, ZF_E_V24, "%d", 5) == ZF_ERR_INPUT, "status");
    CHECK(strcmp(error.code, "ZF1324") == 0 && strcmp(error.message, "5") == 0, "%s %s", error.code, error.message);
    CHECK(error.number == ZF_ERROR_V24, "%d", (int)error.number);
    for (size_t i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "ZF%04d", (int)rows[i].code);
        zf_raise(&error, rows[i].code, "x");
        CHECK((int)error.number == (int)rows[i].code && strcmp(error.code, text) == 0, "%s has number %d", error.code,
              (int)error.number);
    }
    zf_fail(&error, ZF_ERR_INPUT, "", "of a program with its own codes");
    CHECK(error.number == ZF_ERROR_NONE, "%d", (int)error.number);
}

static void test_bits(void) {
    uint8_t from[16], to[16];
    for (int i = 0; i < 16; i++) from[i] = (uint8_t)(i * 37 + 11);
    for (unsigned a = 0; a < 16; a++) {
        for (unsigned b = 0; b < 16; b++) {
            for (unsigned n = 0; n < 40; n++) {
                memset(to, 0xa5, sizeof to);
                zf_copy_bits(to, a, from, b, n);
                bool right = true;
                for (unsigned i = 0; i < 128; i++) {
                    bool bit = to[i / 8] >> (i % 8) & 1;
                    bool in = i >= a && i < a + n;
                    unsigned s = in ? i - a + b : i;
                    bool wanted = in ? from[s / 8] >> (s % 8) & 1 : 0xa5 >> (i % 8) & 1;
                    right = right && bit == wanted;
                }
                if (!right) CHECK(false, "%u bits from %u to %u", n, b, a);
            }
        }
    }
}

// ---- Decoding -------------------------------------------------------------------------------------------------

/// A decode of rows into buffers with canaries on both sides, compared with what was encoded.
static void decode_and_compare(zf_container *container, size_t column, uint64_t begin, uint64_t count, unsigned threads,
                               zf_decode_stats *stats) {
    zf_error error = {0};
    zf_decode_options options = {.some_rows = true, .row_begin = begin, .row_count = count, .threads = threads};
    zf_decode_sizes sizes = {0};
    zf_status status = zf_decode_size(container, column, &options, &sizes, &error);
    CHECK(status == ZF_OK, "%s %s", error.code, error.message);
    if (status != ZF_OK) return;
    enum { GUARD = 64 };
    size_t value_room = (sizes.values + 63) / 64 * 64, work_room = (sizes.workspace + 63) / 64 * 64;
    uint8_t *values = aligned_alloc(64, value_room + 2 * GUARD), *work = aligned_alloc(64, work_room + 2 * GUARD);
    memset(values, 0xcd, value_room + 2 * GUARD);
    memset(work, 0xcd, work_room + 2 * GUARD);
    zf_decode_buffers buffers = {.values = values + GUARD, .workspace = work + GUARD, ZF_DECODE_BYTES(sizes)};
    status = zf_decode(container, column, "cpu", &options, &buffers, stats, &error);
    CHECK(status == ZF_OK, "%s %s at %s", error.code, error.message, error.place);
    uint64_t wrong = 0;
    if (column == 0) {
        CHECK(sizes.values == count * 4, "%zu bytes for %llu rows", sizes.values, (unsigned long long)count);
        for (uint64_t i = 0; i < count; i++) {
            uint32_t value;
            memcpy(&value, values + GUARD + i * 4, 4);
            wrong += value != walk_value(begin + i);
        }
    } else {
        CHECK(sizes.values == (count + 7) / 8, "%zu bytes for %llu rows", sizes.values, (unsigned long long)count);
        for (uint64_t i = 0; i < (count + 7) / 8 * 8; i++) {
            bool bit = values[GUARD + i / 8] >> (i % 8) & 1;
            wrong += bit != (i < count && walk_bit(begin + i)); // spare bits are 0
        }
    }
    CHECK(wrong == 0, "column %zu, rows %llu + %llu: %llu are wrong", column, (unsigned long long)begin,
          (unsigned long long)count, (unsigned long long)wrong);
    for (size_t i = 0; i < GUARD; i++) {
        bool whole = values[i] == 0xcd && values[GUARD + sizes.values + i] == 0xcd && work[i] == 0xcd &&
                     work[GUARD + sizes.workspace + i] == 0xcd;
        if (!whole) CHECK(false, "a byte outside the buffers was written");
    }
    free(values);
    free(work);
}

static void test_sizes(zf_context *context) {
    static const uint64_t sizes[] = {0, 1, 7, 8, 255, 256, 257, 4095, 4096, 4097, 8191, 8192, 8193, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        zf_error error = {0};
        zf_container *container = NULL;
        zf_decode_stats stats = {0};
        CHECK(walk_write(path_of("sizes.zfd"), sizes[i], 4096, true, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_container_open(context, path_of("sizes.zfd"), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
        if (container == NULL) continue;
        CHECK(zf_container_rows(container) == sizes[i], "rows");
        for (size_t column = 0; column < 2; column++) {
            for (unsigned threads = 1; threads <= 3; threads += 2) {
                decode_and_compare(container, column, 0, sizes[i], threads, &stats);
                uint64_t blocks = (sizes[i] + 4095) / 4096;
                CHECK(stats.blocks_read == blocks, "%llu blocks", (unsigned long long)stats.blocks_read);
                uint64_t launches = column == 1 ? blocks : blocks + blocks / 2; // odd blocks have two kernels
                CHECK(stats.launches == launches, "%llu launches", (unsigned long long)stats.launches);
            }
        }
        zf_container_close(container);
    }
}

static void test_ranges(zf_context *context) {
    static const uint64_t edges[] = {0, 1, 3, 8, 255, 256, 260, 512, 1024, 4095, 4096, 4097, 5000, 8192, 12287, 12288, 13000};
    size_t count = sizeof edges / sizeof edges[0];
    zf_error error = {0};
    zf_container *container = NULL;
    zf_decode_stats stats = {0};
    CHECK(walk_write(path_of("ranges.zfd"), 13000, 4096, true, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("ranges.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a; b < count; b++) {
            for (size_t column = 0; column < 2; column++) {
                decode_and_compare(container, column, edges[a], edges[b] - edges[a], 1 + (unsigned)(a + b) % 3, &stats);
                uint64_t blocks = edges[a] == edges[b] ? 0 : (edges[b] - 1) / 4096 - edges[a] / 4096 + 1;
                CHECK(stats.blocks_read == blocks, "rows %llu..%llu read %llu blocks", (unsigned long long)edges[a],
                      (unsigned long long)edges[b], (unsigned long long)stats.blocks_read);
                CHECK((stats.bytes_read > 0) == (blocks > 0), "%llu bytes", (unsigned long long)stats.bytes_read);
            }
        }
    }
    decode_and_compare(container, 0, 0, 13000, 1, &stats);
    CHECK(stats.kernels == 2 && stats.kernel_variants == 3, "%llu kernels in %llu variants", (unsigned long long)stats.kernels,
          (unsigned long long)stats.kernel_variants); // one kernel under branch 0, two under branch 1
    zf_container_close(container);
}

static void test_misuse(zf_context *context) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_decode_sizes sizes = {0};
    static _Alignas(64) uint8_t values[4 * 5000], work[1 << 20];
    zf_decode_buffers buffers = {
        .values = values, .workspace = work, .values_bytes = sizeof values, .workspace_bytes = sizeof work};
    CHECK(walk_write(path_of("misuse.zfd"), 5000, 4096, true, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("misuse.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    zf_decode_options beyond[] = {{.some_rows = true, .row_begin = 5001, .row_count = UINT64_MAX},
                                  {.some_rows = true, .row_begin = 5000, .row_count = 1},
                                  {.some_rows = true, .row_begin = 1, .row_count = UINT64_MAX - 1},
                                  {.some_rows = true, .row_begin = 4998, .row_count = 4}};
    const char *const wanted[] = {"rows from 5001 are", "rows from 5000 are", "rows 1 to 18446744073709551614 are",
                                  "rows 4998 to 5001 are wanted, but the column has 5000"};
    for (size_t i = 0; i < 4; i++) {
        CHECK(zf_decode_size(container, 0, &beyond[i], &sizes, &error) == ZF_ERR_USAGE, "rows beyond the end");
        CHECK(strcmp(error.code, "ZF1106") == 0 && error.place[0] != 0 && error.hint[0] != 0, "%s", error.code);
        CHECK(strstr(error.message, wanted[i]) != NULL, "%s", error.message);
    }
    // Zeroes are the defaults: all rows. No rows can be asked for, too.
    zf_decode_options zeroes = {0}, none = {.some_rows = true},
                      behind = {.some_rows = true, .row_begin = 5000, .row_count = UINT64_MAX};
    CHECK(zf_decode_size(container, 0, &zeroes, &sizes, &error) == ZF_OK && sizes.values == 4 * 5000, "%zu bytes", sizes.values);
    CHECK(zf_decode_size(container, 0, &none, &sizes, &error) == ZF_OK && sizes.values == 0, "%zu bytes", sizes.values);
    CHECK(zf_decode_size(container, 0, &behind, &sizes, &error) == ZF_OK && sizes.values == 0, "%zu bytes", sizes.values);
    CHECK(zf_decode_size(container, 2, NULL, &sizes, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1105") == 0, "column 2");
    CHECK(zf_decode_size(NULL, 0, NULL, &sizes, &error) == ZF_ERR_USAGE, "no container");
    CHECK(zf_container_path(NULL) == NULL && zf_container_table(NULL) == NULL, "strings of no container");
    CHECK(zf_container_rows(NULL) == 0 && zf_container_columns(NULL) == 0 && zf_container_bytes(NULL) == 0 &&
              zf_device_count(NULL) == 0,
          "numbers of nothing");
    CHECK(zf_decode(container, 0, "abacus", NULL, &buffers, NULL, &error) == ZF_ERR_DEVICE, "no such device");
    buffers.values = (uint8_t *)buffers.values + 2;
    CHECK(zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &error) == ZF_ERR_USAGE, "values not aligned");
    CHECK(strcmp(error.code, "ZF1107") == 0, "%s", error.code);
    buffers.values = NULL;
    CHECK(zf_decode(container, 0, "cpu", NULL, &buffers, NULL, &error) == ZF_ERR_USAGE, "no values");
    size_t index;
    CHECK(zf_container_find(container, "bits", &index, &error) == ZF_OK && index == 1, "find");
    CHECK(zf_container_find(container, "wakl", &index, &error) == ZF_ERR_USAGE && strstr(error.hint, "walk"), "%s", error.hint);
    // Without a source of code.
    zf_context *bare;
    zf_container *other;
    CHECK(emulated_context_create(NULL, &bare, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(bare, path_of("misuse.zfd"), &other, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_decode_size(other, 0, NULL, &sizes, &error) == ZF_ERR_UNSUPPORTED && strcmp(error.code, "ZF1401") == 0, "%s",
          error.code);
    zf_container_close(other);
    zf_context_free(bare);
    zf_container_close(container);
}

typedef struct shared {
    zf_container *container;
    uint64_t begin;
    int wrong;
} shared;

static void *read_range(void *pointer) {
    shared *s = pointer;
    uint8_t *values = aligned_alloc(64, 4096 * 4), *work = aligned_alloc(64, 1 << 20);
    zf_decode_buffers buffers = {.values = values, .workspace = work, .values_bytes = 4096 * 4, .workspace_bytes = 1 << 20};
    for (uint64_t round = 0; round < 20; round++) {
        zf_decode_options options = {.some_rows = true, .row_begin = s->begin + round * 100, .row_count = 4096, .threads = 2};
        s->wrong += zf_decode(s->container, 0, "cpu", &options, &buffers, NULL, NULL) != ZF_OK;
        for (uint64_t i = 0; i < 4096; i++) {
            uint32_t value;
            memcpy(&value, values + i * 4, 4);
            s->wrong += value != walk_value(options.row_begin + i);
        }
    }
    free(values);
    free(work);
    return NULL;
}

static void test_readers(zf_context *context) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(walk_write(path_of("readers.zfd"), 20000, 4096, true, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("readers.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    pthread_t threads[4];
    shared s[4];
    for (uint64_t i = 0; i < 4; i++) {
        s[i] = (shared){container, i * 3000, 0};
        pthread_create(&threads[i], NULL, read_range, &s[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(s[i].wrong == 0, "reader %d: %d wrong", i, s[i].wrong);
    }
    zf_container_close(container);
}

// ---- Refusals -------------------------------------------------------------------------------------------------

/// Runs a laid-out block of column "walk", perhaps with other seek states, in a mode.
static zf_status run_walk(const zf_block_view *view, uint32_t branch, uint32_t mode, uint64_t *record, uint32_t *out,
                          unsigned threads, zf_error *error) {
    uint64_t bytes = 0;
    zf_status status = zf_block_work_bytes(&walk_plans[branch], view, &bytes, error);
    if (status != ZF_OK) return status;
    void *work = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    uint64_t *records[] = {record};
    zf_block_run run = {.plan = &walk_plans[branch],
                        .code = &walk_codes[branch],
                        .view = view,
                        .element = ZF_U32,
                        .out = out,
                        .end = view->rows,
                        .work = work,
                        .mode = mode,
                        .records = records,
                        .where = "x.zfd: column walk, block 0",
                        .threads = threads};
    status = zf_block_run_cpu(&run, error);
    free(work);
    return status;
}

static void test_violations(void) {
    enum { ROWS = 3000 };
    static uint32_t out[ROWS];
    uint64_t record[ROWS / WALK_INTERVAL];
    for (uint32_t branch = 0; branch < 2; branch++) {
        zf_error error = {0};
        zf_block_data data;
        zf_block_view view;
        void *bytes = NULL;
        uint64_t size = 0;
        CHECK(walk_layout(branch, 0, 0, ROWS, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_block_check(&walk_shapes[branch], bytes, size, true, "x", &view, &error) == ZF_OK, "%s", error.message);
        CHECK(run_walk(&view, branch, ZF_ABI_DECODE, NULL, out, 2, &error) == ZF_OK, "%s", error.message);
        CHECK(out[ROWS - 1] == walk_value(ROWS - 1), "last row");
        // Recording gives the states that were stored, also where none are stored yet.
        zf_seek_data none = {WALK_INTERVAL, 0, NULL, 0};
        zf_block_data first = data;
        zf_block_view bare;
        void *again = NULL;
        first.seeks = &none;
        CHECK(zf_block_layout(&walk_shapes[branch], &first, &again, &size, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_block_check(&walk_shapes[branch], again, size, true, "x", &bare, &error) == ZF_OK, "%s", error.message);
        CHECK(run_walk(&bare, branch, ZF_ABI_RECORD, record, out, 2, &error) == ZF_OK, "%s", error.message);
        CHECK(memcmp(record, data.seeks[0].values, sizeof record) == 0, "recorded states");
        CHECK(run_walk(&bare, branch, ZF_ABI_DECODE, NULL, out, 1, &error) == ZF_ERR_INPUT, "decoding without states");
        CHECK(strcmp(error.code, "ZF1323") == 0, "%s", error.code);
        zf_block_view_free(&bare);
        free(again);
        // Two lying states: the first by position is reported, also by several threads.
        uint64_t *states = (uint64_t *)(uintptr_t)data.seeks[0].values;
        states[4]++;
        states[9]--;
        zf_block_view lying;
        void *lie = NULL;
        CHECK(zf_block_layout(&walk_shapes[branch], &data, &lie, &size, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_block_check(&walk_shapes[branch], lie, size, true, "x", &lying, &error) == ZF_OK, "%s", error.message);
        for (unsigned threads = 1; threads < 4; threads++) {
            CHECK(run_walk(&lying, branch, ZF_ABI_DECODE, NULL, out, threads, &error) == ZF_ERR_INPUT, "a lying state");
            CHECK(strcmp(error.code, "ZF1309") == 0 && strncmp(error.message, "V09: ", 5) == 0, "%s %s", error.code,
                  error.message);
            CHECK(strstr(error.place, "row 1024,") && strstr(error.place, "walk.zf:7:3"), "%s", error.place);
        }
        zf_block_view_free(&lying);
        free(lie);
        // The hoisted check.
        uint64_t *counts = (uint64_t *)(uintptr_t)view.counts;
        counts[1]--;
        CHECK(run_walk(&view, branch, ZF_ABI_DECODE, NULL, out, 1, &error) == ZF_ERR_INPUT, "another length");
        CHECK(strcmp(error.code, "ZF1321") == 0, "%s", error.code);
        counts[1]++;
        // A plan that does not fit.
        zf_abi_plan plan = walk_plans[branch];
        uint64_t work;
        plan.version++;
        CHECK(zf_block_work_bytes(&plan, &view, &work, &error) == ZF_ERR_INTERNAL, "another ABI");
        zf_abi_slot slots[] = {{ZF_SLOT_PARAM, 2, 0},       {ZF_SLOT_OFFSET, 1, 0},     {ZF_SLOT_COUNT, 9, 0},
                               {ZF_SLOT_SEEK_OFFSET, 1, 0}, {ZF_SLOT_SEEK_WIDTH, 0, 1}, {(zf_abi_slot_kind)77, 0, 0}};
        plan = walk_plans[branch];
        plan.slot_count = 1;
        for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
            plan.slots = &slots[i];
            CHECK(zf_block_work_bytes(&plan, &view, &work, &error) == ZF_ERR_INTERNAL, "slot %zu", i);
        }
        plan = walk_plans[branch];
        zf_abi_kernel kernels[2];
        memcpy(kernels, plan.kernels, plan.kernel_count * sizeof *kernels);
        plan.kernels = kernels;
        CHECK(zf_block_work_bytes(&plan, &view, &work, &error) == ZF_OK, "%s", error.message);
        kernels[branch].tile *= 2;
        CHECK(zf_block_work_bytes(&plan, &view, &work, &error) == ZF_ERR_INTERNAL, "a tile of two seek states");
        zf_block_view_free(&view);
        walk_free(&data, bytes);
    }
}

/// Several threads in one block: the first violation is reported whichever thread meets it, and cut tiles are right.
static void test_threads_in_a_block(void) {
    enum { ROWS = 600000 };
    zf_error error = {0};
    zf_block_data data;
    zf_block_view view;
    void *bytes = NULL;
    uint64_t size = 0;
    uint32_t *out = malloc(ROWS * sizeof *out);
    CHECK(walk_layout(1, 0, 0, ROWS, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    uint64_t *states = (uint64_t *)(uintptr_t)data.seeks[0].values;
    walk_free(&(zf_block_data){0}, bytes);
    states[1000]++, states[2000]++;
    static const uint32_t firsts[] = {400, 50}; // that in the batch which runs alone is the last to be added
    for (size_t k = 0; k < sizeof firsts / sizeof firsts[0]; k++) {
        char place[32];
        snprintf(place, sizeof place, "row %u,", firsts[k] * WALK_INTERVAL);
        states[firsts[k]]++;
        CHECK(zf_block_layout(&walk_shapes[1], &data, &bytes, &size, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_block_check(&walk_shapes[1], bytes, size, true, "x", &view, &error) == ZF_OK, "%s", error.message);
        for (unsigned round = 0; round < 8; round++) {
            CHECK(run_walk(&view, 1, ZF_ABI_DECODE, NULL, out, 4, &error) == ZF_ERR_INPUT, "lying states");
            CHECK(strstr(error.place, place) != NULL, "%s, not %s", error.place, place);
        }
        zf_block_view_free(&view);
        walk_free(&(zf_block_data){0}, bytes);
    }
    bytes = NULL;
    walk_free(&data, bytes);
    free(out);
}

/// Booleans from any row to any row, in one block.
static void test_bits_of_a_block(void) {
    enum { ROWS = 5000 };
    zf_error error = {0};
    zf_block_data data;
    zf_block_view view;
    void *bytes = NULL;
    uint64_t size = 0, work_bytes = 0;
    CHECK(bits_layout(0, 0, ROWS, &bytes, &size, &data, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_block_check(&bits_shape, bytes, size, true, "x", &view, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_block_work_bytes(&walk_plans[2], &view, &work_bytes, &error) == ZF_OK, "%s", error.message);
    void *work = aligned_alloc(64, work_bytes);
    static const uint64_t begins[] = {0, 1, 7, 8, 9, 1023, 1024, 1025, 2049, 4999},
                          ends[] = {1, 8, 17, 1024, 1030, 3000, 4999, 5000};
    for (size_t a = 0; a < sizeof begins / sizeof begins[0]; a++) {
        for (size_t b = 0; b < sizeof ends / sizeof ends[0]; b++) {
            if (ends[b] <= begins[a]) continue;
            uint64_t count = ends[b] - begins[a];
            uint8_t *out = malloc((count + 7) / 8); // no byte more
            memset(out, 0xff, (count + 7) / 8);
            zf_block_run run = {.plan = &walk_plans[2],
                                .code = &walk_codes[2],
                                .view = &view,
                                .element = ZF_BOOL,
                                .out = out,
                                .begin = begins[a],
                                .end = ends[b],
                                .work = work,
                                .mode = ZF_ABI_DECODE,
                                .threads = 2};
            CHECK(zf_block_run_cpu(&run, &error) == ZF_OK, "%s", error.message);
            uint64_t wrong = 0;
            for (uint64_t i = 0; i < (count + 7) / 8 * 8; i++) {
                wrong += (out[i / 8] >> (i % 8) & 1) != (i < count && walk_bit(begins[a] + i));
            }
            CHECK(wrong == 0, "bits %llu..%llu: %llu wrong", (unsigned long long)begins[a], (unsigned long long)ends[b],
                  (unsigned long long)wrong);
            free(out);
        }
    }
    zf_block_run run = {.plan = &walk_plans[2], .code = &walk_codes[2], .view = &view, .element = ZF_U32, .work = work};
    CHECK(zf_block_run_cpu(&run, &error) == ZF_ERR_INTERNAL, "another type");
    run.element = ZF_BOOL;
    run.end = ROWS + 1;
    CHECK(zf_block_run_cpu(&run, &error) == ZF_ERR_INTERNAL, "rows beyond the block");
    zf_block_view_free(&view);
    walk_free(&data, bytes);
    free(work);
}

/// Many blocks over threads: each worker has its own workspace.
static void test_many_blocks(zf_context *context) {
    zf_error error = {0};
    zf_container *container = NULL;
    zf_decode_stats stats = {0};
    CHECK(walk_write(path_of("many.zfd"), 16 * 65536, 65536, true, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("many.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    for (unsigned round = 0; round < 4; round++) decode_and_compare(container, 0, 0, 16 * 65536, 4, &stats);
    decode_and_compare(container, 0, 70000, 900000, 4, &stats);
    decode_and_compare(container, 1, 70001, 900000, 4, &stats);
    zf_container_close(container);
    unlink(path_of("many.zfd"));
}

/// A provider whose first call ends when a second is made, or after a while.
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned inside, most;
} meeting;

static zf_status meet_code(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out,
                           zf_error *error) {
    meeting *m = self;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&m->lock);
    if (++m->inside > m->most) m->most = m->inside;
    pthread_cond_broadcast(&m->changed);
    while (m->most < 2 && pthread_cond_timedwait(&m->changed, &m->lock, &until) == 0) {
    }
    m->inside--;
    pthread_mutex_unlock(&m->lock);
    return walk_code(NULL, plan, shaping, out, error);
}

/// Threads ask for code at once: one that waits for a compilation holds up no other.
static void test_code_at_once(void) {
    zf_error error = {0};
    zf_context *context;
    zf_container *container = NULL;
    zf_decode_stats stats = {0};
    meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    zf_abi_provider provider = {.self = &m, .plan = walk_plan, .code = meet_code};
    CHECK(emulated_context_create(NULL, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(walk_write(path_of("at_once.zfd"), 8 * 4096, 4096, true, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("at_once.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    decode_and_compare(container, 0, 0, 8 * 4096, 2, &stats);
    CHECK(m.most >= 2, "%u threads asked for code at once", m.most);
    zf_container_close(container);
    unlink(path_of("at_once.zfd"));
    zf_context_free(context);
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 1;
    test_context();
    test_log_within_log();
    test_devices();
    test_added_devices();
    test_codes();
    test_bits();
    zf_context *context = NULL;
    zf_abi_provider provider = {.plan = walk_plan, .code = walk_code, .forget = walk_forget};
    zf_error error;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = ""}, &context, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    test_sizes(context);
    test_ranges(context);
    test_misuse(context);
    test_readers(context);
    test_violations();
    test_threads_in_a_block();
    test_bits_of_a_block();
    test_many_blocks(context);
    test_code_at_once();
    zf_context_free(context);
    static const char *const names[] = {"sizes.zfd", "ranges.zfd", "misuse.zfd", "readers.zfd"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) unlink(path_of(names[i]));
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}

// Links: zipflow-runtime zipflow-emu
// The pipeline on the CPU and on the emulated GPU, with hand-written kernels: several containers, ranges of rows, memory far
// smaller than the data, damaged blocks in the middle, cancelling, several batches and pipelines at once.
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/device/device.h"
#include "tests/support/emulated.h"
#include "tests/support/walk_simt.h"
#include "tests/unit/check.h"
#include "zipflow/pipeline.h"

typedef unsigned long long ull;

enum { BLOCK = 4096, GUARD = 64, POISON = 0xcd, MOST = 16 };

static char directory[64] = "/tmp/zipflow-test-XXXXXX";
static zf_context *context;
static const char *const devices[] = {"cpu", "emu"};

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static zf_container *open_written(const char *name, uint64_t rows, walk_damage damage) {
    zf_error error = {0};
    zf_container *container = NULL;
    // One of the files has its columns one behind the other, so that units have several blocks, of two kinds.
    CHECK(walk_write_ordered(path_of(name), rows, BLOCK, true, name[0] == 'b', damage, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of(name), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (container == NULL) abort();
    return container;
}

// ---- Requests and their memory --------------------------------------------------------------------------------

typedef struct asked {
    zf_container *container;
    size_t column;
    uint64_t begin, count;
    uint8_t *memory; ///< with guards
    uint64_t bytes;
} asked;

typedef struct asking {
    zf_pipeline *pipeline;
    zf_pipeline_request requests[MOST];
    asked all[MOST];
    size_t count;
} asking;

static uint64_t bytes_of(size_t column, uint64_t count) { return column == 0 ? count * 4 : (count + 7) / 8; }

static void ask(asking *a, zf_container *container, size_t column, uint64_t begin, uint64_t count) {
    zf_error error = {0};
    zf_pipeline_sizes sizes = {0};
    asked *one = &a->all[a->count];
    zf_pipeline_request *request = &a->requests[a->count++];
    *request = (zf_pipeline_request){.container = container, .column = column};
    request->options = (zf_decode_options){.some_rows = true, .row_begin = begin, .row_count = count};
    CHECK(zf_pipeline_request_sizes(a->pipeline, request, &sizes, &error) == ZF_OK, "%s", error.message);
    *one = (asked){container, column, begin, count, NULL, bytes_of(column, count)};
    CHECK(sizes.host.values == one->bytes, "%zu bytes for %llu", sizes.host.values, (ull)one->bytes);
    one->memory = aligned_alloc(64, (one->bytes + 63) / 64 * 64 + 2 * GUARD);
    memset(one->memory, POISON, one->bytes + 2 * GUARD);
    request->host = (zf_decode_buffers){ZF_DECODE_BYTES(sizes.host)};
    request->host.values = one->memory + GUARD;
    if (sizes.host.workspace > 0) request->host.workspace = aligned_alloc(64, (sizes.host.workspace + 63) / 64 * 64);
}

static void poison(asking *a) {
    for (size_t i = 0; i < a->count; i++) memset(a->all[i].memory, POISON, a->all[i].bytes + 2 * GUARD);
}

static void forget(asking *a) {
    for (size_t i = 0; i < a->count; i++) {
        free(a->all[i].memory);
        free(a->requests[i].host.workspace);
    }
    a->count = 0;
}

static uint64_t wrong_rows(const asked *one) {
    const uint8_t *values = one->memory + GUARD;
    uint64_t wrong = 0;
    for (uint64_t i = 0; one->column == 0 && i < one->count; i++) {
        uint32_t value;
        memcpy(&value, values + i * 4, 4);
        wrong += value != walk_value(one->begin + i);
    }
    for (uint64_t i = 0; one->column == 1 && i < (one->count + 7) / 8 * 8; i++)
        wrong += (values[i / 8] >> (i % 8) & 1) != (i < one->count && walk_bit(one->begin + i)); // spare bits are 0
    return wrong;
}

static void check_rows(const asking *a, size_t i) {
    const asked *one = &a->all[i];
    uint64_t wrong = wrong_rows(one), outside = 0;
    for (size_t k = 0; k < GUARD; k++) outside += one->memory[k] != POISON || one->memory[GUARD + one->bytes + k] != POISON;
    CHECK(wrong == 0 && outside == 0, "request %zu: %llu rows are wrong, %llu bytes outside", i, (ull)wrong, (ull)outside);
}

static zf_pipeline *make(const char *device, const zf_pipeline_options *options) {
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    CHECK(zf_pipeline_create(context, device, options, &pipeline, &error) == ZF_OK, "%s", error.message);
    if (pipeline == NULL) abort();
    return pipeline;
}

static zf_batch *batch_of(const asking *a) {
    zf_error error = {0};
    zf_batch *batch = NULL;
    CHECK(zf_batch_create(a->pipeline, a->requests, a->count, &batch, &error) == ZF_OK, "%s at %s", error.message, error.place);
    if (batch == NULL) abort();
    return batch;
}

// ---- Whole batches --------------------------------------------------------------------------------------------

/// Times and units say what happened: everything once, nothing before what it needs.
static void check_units(const zf_batch *batch, const asking *a, zf_pipeline_order order, bool host) {
    zf_error error;
    zf_batch_info info = {0};
    uint64_t rows[MOST] = {0};
    double before = 0;
    CHECK(zf_batch_describe(batch, &info, &error) == ZF_OK, "%s", error.message);
    CHECK(info.measured_seconds > 0 && info.predicted_seconds >= info.bound_seconds * (1 - 1e-9), "%g s, %g s, %g s",
          info.measured_seconds, info.predicted_seconds, info.bound_seconds);
    for (size_t i = 0; i < info.units; i++) {
        zf_batch_unit unit = {0};
        CHECK(zf_batch_unit_get(batch, i, &unit, &error) == ZF_OK, "%s", error.message);
        rows[unit.request] += unit.rows;
        if (unit.blocks == 0) continue;
        CHECK(host ? unit.device_bytes == 0 : unit.device_bytes >= unit.stored_bytes, "unit %zu takes %llu bytes of the device",
              i, (ull)unit.device_bytes);
        const zf_unit_times *all[] = {&unit.measured, &unit.predicted};
        for (size_t k = 0; k < 2; k++) {
            const zf_unit_times *t = all[k];
            double copied = host ? t->read_end : t->copy_end;
            CHECK(t->read_begin >= 0 && t->read_end >= t->read_begin && (host || t->copy_begin >= t->read_end - 1e-4) &&
                      copied >= t->copy_begin - 1e-4 && t->decode_begin >= copied - 1e-4 && t->decode_end >= t->decode_begin,
                  "unit %zu: read %g..%g copied %g..%g decoded %g..%g", i, t->read_begin, t->read_end, t->copy_begin, t->copy_end,
                  t->decode_begin, t->decode_end);
        }
        if (order == ZF_PIPELINE_APART) {
            CHECK(unit.measured.read_begin >= before - 1e-4, "unit %zu was read before the one before was decoded", i);
            before = unit.measured.decode_end;
        }
        double ready = zf_batch_ready_seconds(batch, unit.request);
        CHECK(ready >= unit.measured.decode_end - 1e-4, "unit %zu was decoded %g, its column ready %g", i,
              unit.measured.decode_end, ready);
    }
    for (size_t r = 0; r < a->count; r++) { // units are whole blocks
        uint64_t first = a->all[r].begin / BLOCK * BLOCK, last = (a->all[r].begin + a->all[r].count + BLOCK - 1) / BLOCK * BLOCK;
        uint64_t end = zf_container_rows(a->all[r].container);
        if (last < end) end = last;
        CHECK(rows[r] == (a->all[r].count == 0 ? 0 : end - first), "request %zu: units of %llu rows", r, (ull)rows[r]);
    }
    CHECK(zf_batch_unit_get(batch, info.units, &(zf_batch_unit){0}, &error) == ZF_ERR_USAGE, "a unit beyond the last");
}

static void run_all(zf_batch *batch, asking *a) {
    zf_error error = {0};
    poison(a);
    CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
    for (size_t i = a->count; i-- > 0;) { // in any order
        CHECK(zf_batch_wait(batch, i, &error) == ZF_OK, "request %zu: %s %s at %s", i, error.code, error.message, error.place);
        check_rows(a, i);
    }
}

/// A batch's statistics of each column are those of zf_decode; only launches may be more, for there are more units.
static void check_stats(const zf_batch *batch, const asking *a, const char *device) {
    zf_error error = {0};
    zf_decode_stats ours = {0}, alone = {0};
    for (size_t i = 0; i < a->count; i++) {
        const zf_pipeline_request *r = &a->requests[i];
        CHECK(zf_batch_stats(batch, i, &ours, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_decode(r->container, r->column, device, &r->options, &r->host, &alone, &error) == ZF_OK, "%s", error.message);
        CHECK(ours.blocks_read == alone.blocks_read && ours.bytes_read == alone.bytes_read && ours.kernels == alone.kernels &&
                  ours.kernel_variants == alone.kernel_variants && ours.launches >= alone.launches &&
                  ours.launches <= alone.launches * (alone.blocks_read + 1),
              "request %zu: %llu blocks, %llu bytes, %llu kernels, %llu variants, %llu launches; alone %llu, %llu, %llu, %llu, "
              "%llu",
              i, (ull)ours.blocks_read, (ull)ours.bytes_read, (ull)ours.kernels, (ull)ours.kernel_variants, (ull)ours.launches,
              (ull)alone.blocks_read, (ull)alone.bytes_read, (ull)alone.kernels, (ull)alone.kernel_variants, (ull)alone.launches);
    }
    CHECK(zf_batch_stats(batch, a->count, &ours, &error) == ZF_ERR_USAGE, "a request beyond the last");
}

static void ask_for_much(asking *a, zf_container *one, zf_container *two, zf_container *none) {
    ask(a, one, 0, 0, 70000);
    ask(a, one, 1, 0, 70000);
    ask(a, two, 0, 0, 30000);
    ask(a, one, 0, 5001, 20000);
    ask(a, one, 1, 4096 * 3 + 5, 4096 * 2);
    ask(a, one, 0, 17, 0);
    ask(a, none, 0, 0, 0);
    ask(a, two, 1, 29999, 1);
}

static void test_batches(void) {
    static const zf_pipeline_options kinds[] = {
        {.device_staging = 1 << 20, .host_staging = 1 << 20},
        {.order = ZF_PIPELINE_GIVEN,
         .device_staging = 1 << 20,
         .host_staging = 1 << 20,
         .unit_bytes = 1,
         .readers = 1,
         .streams = 1},
        {.order = ZF_PIPELINE_APART, .device_staging = 1 << 20, .host_staging = 1 << 20, .readers = 3},
        {.device_staging = 100 << 10, .host_staging = 64 << 10, .readers = 2, .streams = 8}, // two or three blocks each
    };
    for (size_t d = 0; d < 2; d++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            for (unsigned loaded = 0; loaded < 2; loaded++) {
                zf_error error = {0};
                zf_container *one = open_written("a.zfd", 70000, NULL), *two = open_written("b.zfd", 30000, NULL),
                             *none = open_written("c.zfd", 0, NULL);
                if (loaded) {
                    CHECK(zf_container_load(one, devices[d], &error) == ZF_OK, "%s", error.message);
                    CHECK(zf_container_load(one, devices[d], &error) == ZF_ERR_USAGE, "loaded twice");
                    CHECK(truncate(path_of("a.zfd"), 10) == 0, "the file is not needed any more");
                }
                asking a = {.pipeline = make(devices[d], &kinds[k])};
                ask_for_much(&a, one, two, none);
                zf_batch *batch = batch_of(&a);
                for (unsigned round = 0; round < 2; round++) {
                    run_all(batch, &a);
                    check_units(batch, &a, kinds[k].order, d == 0);
                    if (!loaded && round == 1) check_stats(batch, &a, devices[d]);
                }
                zf_batch_free(batch);
                forget(&a);
                zf_pipeline_free(a.pipeline);
                zf_container_close(one);
                zf_container_close(two);
                zf_container_close(none);
            }
        }
    }
}

// ---- On the device --------------------------------------------------------------------------------------------

static zf_accelerator *emulator(void) {
    zf_device device;
    zf_accelerator *emu = NULL;
    zf_error error;
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    return emu;
}

static void test_on_device(void) {
    zf_accelerator *emu = emulator();
    zf_error error = {0};
    zf_pipeline_options options = {.device_staging = 1 << 20, .host_staging = 1 << 20};
    zf_pipeline *pipeline = make("emu", &options);
    zf_container *container = open_written("a.zfd", 70000, NULL);
    zf_pipeline_request request = {.container = container, .on_device = true};
    request.options = (zf_decode_options){.some_rows = true, .row_begin = 5001, .row_count = 60000};
    zf_pipeline_sizes sizes = {0};
    CHECK(zf_pipeline_request_sizes(pipeline, &request, &sizes, &error) == ZF_OK, "%s", error.message);
    CHECK(sizes.device.values == sizes.device.skip + 240000 && sizes.device.workspace == 0, "%llu bytes",
          (ull)sizes.device.values);
    zf_batch *batch = NULL;
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1107") == 0 &&
              strstr(error.place, "column walk") != NULL,
          "no buffer: %s at %s", error.message, error.place);
    request.device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes.device)};
    CHECK(emu->ops->allocate(emu, sizes.device.values, &request.device.values, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_follow(batch, 0, NULL, &error) == ZF_ERR_USAGE, "a batch that was not started");
    CHECK(zf_batch_wait(batch, 0, &error) == ZF_ERR_USAGE, "a batch that was not started");
    CHECK(zf_batch_stats(batch, 0, &(zf_decode_stats){0}, &error) == ZF_ERR_USAGE, "a batch that was not started");
    CHECK(isnan(zf_batch_ready_seconds(batch, 0)) && isnan(zf_batch_ready_seconds(batch, 1)), "when it was ready");
    CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_follow(batch, 0, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_follow(batch, 1, NULL, &error) == ZF_ERR_USAGE && zf_batch_wait(batch, 1, &error) == ZF_ERR_USAGE,
          "request 1");
    CHECK(zf_batch_wait(batch, 0, &error) == ZF_OK, "%s", error.message);
    uint32_t *values = malloc(sizes.device.values);
    emu->ops->copy_out(emu, NULL, values, request.device.values, sizes.device.values, &error);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 60000; i++) wrong += values[sizes.device.skip / 4 + i] != walk_value(5001 + i);
    CHECK(wrong == 0, "%llu rows are wrong", (ull)wrong);
    free(values);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    emu->ops->release(emu, request.device.values);
    zf_container_close(container);
}

// ---- Damage ---------------------------------------------------------------------------------------------------

static void damage_states(size_t column, uint64_t block, zf_block_data *data) {
    if (column == 0 && (block == 3 || block == 5)) ((uint64_t *)(uintptr_t)data->seeks[0].values)[2] ^= 1;
}

static void damage_checksum(const char *name) {
    FILE *file = fopen(path_of(name), "r+b");
    CHECK(file != NULL && fseek(file, 40000, SEEK_SET) == 0 && fputc(0x5a, file) == 0x5a && fclose(file) == 0, "damage");
}

/// A bad column tells where it is at fault as zf_decode does; the others are whole, in the same batch and in later ones.
static void test_damage(void) {
    for (size_t d = 0; d < 2; d++) {
        for (unsigned order = 0; order <= ZF_PIPELINE_APART; order++) {
            zf_error error = {0}, alone = {0};
            zf_container *good = open_written("a.zfd", 70000, NULL), *bad = open_written("b.zfd", 70000, damage_states);
            zf_pipeline_options options = {
                .order = order, .device_staging = 1 << 20, .host_staging = 1 << 20, .unit_bytes = 20000, .readers = 3};
            asking a = {.pipeline = make(devices[d], &options)};
            ask(&a, good, 0, 0, 70000);
            ask(&a, bad, 0, 0, 70000);
            ask(&a, bad, 1, 0, 70000);
            ask(&a, bad, 0, 0, 3 * BLOCK); // before the damage
            CHECK(zf_decode(bad, 0, devices[d], NULL, &a.requests[1].host, NULL, &alone) == ZF_ERR_INPUT, "damaged");
            zf_batch *batch = batch_of(&a);
            for (unsigned round = 0; round < 2; round++) {
                poison(&a);
                CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
                CHECK(zf_batch_wait(batch, 1, &error) == ZF_ERR_INPUT, "a damaged column");
                CHECK(strcmp(error.code, alone.code) == 0 && strcmp(error.message, alone.message) == 0 &&
                          strcmp(error.place, alone.place) == 0 && strstr(error.place, "block 3") != NULL,
                      "%s %s at %s; alone: %s %s at %s", error.code, error.message, error.place, alone.code, alone.message,
                      alone.place);
                for (size_t i = 0; i < a.count; i++) {
                    if (i == 1) continue;
                    CHECK(zf_batch_wait(batch, i, &error) == ZF_OK, "request %zu: %s", i, error.message);
                    check_rows(&a, i);
                }
            }
            zf_batch_free(batch);
            forget(&a);
            zf_pipeline_free(a.pipeline);
            zf_container_close(good);
            zf_container_close(bad);
        }
    }
}

/// A byte that was changed before a container is loaded: its column is told of, as ever, and the others are whole.
static void test_damaged_and_loaded(void) {
    for (size_t d = 0; d < 2; d++) {
        for (unsigned loaded = 0; loaded < 2; loaded++) {
            zf_error error = {0};
            zf_container *container = open_written("a.zfd", 70000, NULL);
            zf_container_close(container);
            damage_checksum("a.zfd");
            CHECK(zf_container_open(context, path_of("a.zfd"), &container, &error) == ZF_OK, "%s", error.message);
            if (loaded) CHECK(zf_container_load(container, devices[d], &error) == ZF_OK, "%s", error.message);
            asking a = {.pipeline = make(devices[d], &(zf_pipeline_options){.device_staging = 1 << 20, .host_staging = 1 << 20})};
            ask(&a, container, 0, 0, 70000);
            ask(&a, container, 1, 0, 70000);
            zf_batch *batch = batch_of(&a);
            CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
            CHECK(zf_batch_wait(batch, 0, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1324") == 0 &&
                      strstr(error.place, "column walk, block 2") != NULL,
                  "%s %s at %s", error.code, error.message, error.place);
            CHECK(zf_batch_wait(batch, 1, &error) == ZF_OK, "%s", error.message);
            check_rows(&a, 1);
            zf_batch_free(batch);
            forget(&a);
            zf_pipeline_free(a.pipeline);
            zf_container_close(container);
        }
    }
}

/// A file that changes after it was opened is told of, and nothing else of it.
static void test_changed(void) {
    for (size_t d = 0; d < 2; d++) {
        zf_error error = {0};
        zf_container *container = open_written("a.zfd", 70000, NULL);
        asking a = {.pipeline = make(devices[d], &(zf_pipeline_options){.device_staging = 1 << 20, .host_staging = 1 << 20})};
        ask(&a, container, 0, 0, 70000);
        ask(&a, container, 1, 0, 70000);
        zf_batch *batch = batch_of(&a);
        damage_checksum("a.zfd");
        CHECK(truncate(path_of("a.zfd"), 50000) == 0, "truncate");
        CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
        for (size_t i = 0; i < 2; i++) {
            CHECK(zf_batch_wait(batch, i, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1208") == 0, "%s %s", error.code,
                  error.message);
        }
        zf_batch_free(batch);
        forget(&a);
        zf_pipeline_free(a.pipeline);
        zf_container_close(container);
    }
}

/// Nor is a file loaded that has changed since it was opened.
static void test_changed_before_loading(void) {
    for (size_t d = 0; d < 2; d++) {
        for (unsigned kind = 0; kind < 3; kind++) {
            zf_error error = {0};
            zf_container *container = open_written("a.zfd", 70000, NULL);
            uint64_t bytes = zf_container_bytes(container);
            if (kind == 0) CHECK(truncate(path_of("a.zfd"), (off_t)bytes - 5000) == 0, "truncate");
            if (kind == 1) CHECK(truncate(path_of("a.zfd"), 0) == 0, "truncate");
            if (kind == 2) {
                static const struct timespec other[2] = {{1, 0}, {1, 0}}; // clocks of file systems are slow
                damage_checksum("a.zfd");
                CHECK(utimensat(AT_FDCWD, path_of("a.zfd"), other, 0) == 0, "times");
            }
            CHECK(zf_container_load(container, devices[d], &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1208") == 0,
                  "kind %u: %s %s", kind, error.code, error.message);
            zf_container_close(container);
        }
    }
}

// ---- Several, and cancelling ----------------------------------------------------------------------------------

typedef struct many {
    const char *device;
    zf_container *container;
} many;

static void *run_many(void *user) {
    const many *m = user;
    zf_pipeline_options options = {.device_staging = 100 << 10, .host_staging = 64 << 10, .readers = 2};
    asking a = {.pipeline = make(m->device, &options)}, b = {.pipeline = a.pipeline};
    zf_error error = {0};
    ask(&a, m->container, 0, 0, 70000);
    ask(&b, m->container, 1, 100, 60000);
    ask(&b, m->container, 0, 100, 60000);
    zf_batch *first = batch_of(&a), *second = batch_of(&b);
    for (unsigned round = 0; round < 3; round++) {
        poison(&a);
        poison(&b);
        CHECK(zf_batch_start(first, &error) == ZF_OK && zf_batch_start(second, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_batch_start(second, &error) == ZF_OK || strstr(error.message, "still running") != NULL, "%s", error.message);
        for (size_t i = 0; i < 2; i++) {
            CHECK(zf_batch_wait(second, i, &error) == ZF_OK, "%s", error.message);
            check_rows(&b, i);
        }
        CHECK(zf_batch_wait(first, 0, &error) == ZF_OK, "%s", error.message);
        check_rows(&a, 0);
    }
    zf_batch_free(second);
    zf_batch_free(first);
    forget(&a);
    forget(&b);
    zf_pipeline_free(a.pipeline);
    return NULL;
}

/// Two batches in a pipeline, and three pipelines at once on each device.
static void test_many(void) {
    for (size_t d = 0; d < 2; d++) {
        zf_container *container = open_written("a.zfd", 70000, NULL);
        many m = {devices[d], container};
        pthread_t threads[3];
        for (size_t t = 0; t < 3; t++) CHECK(pthread_create(&threads[t], NULL, run_many, &m) == 0, "a thread");
        for (size_t t = 0; t < 3; t++) pthread_join(threads[t], NULL);
        zf_container_close(container);
    }
}

/// A column that was done is whole; the others are done or cancelled. Afterwards the same batch goes again, whole.
static void test_cancel(void) {
    for (size_t d = 0; d < 2; d++) {
        zf_error error = {0};
        zf_container *container = open_written("a.zfd", 70000, NULL);
        zf_pipeline_options options = {.order = ZF_PIPELINE_GIVEN, .device_staging = 100 << 10, .host_staging = 64 << 10};
        asking a = {.pipeline = make(devices[d], &options)};
        for (unsigned i = 0; i < 8; i++) ask(&a, container, i % 2, 0, 70000);
        zf_batch *batch = batch_of(&a);
        unsigned cancelled = 0;
        for (unsigned round = 0; round < 20; round++) {
            poison(&a);
            CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
            if (round % 4 != 0) CHECK(zf_batch_wait(batch, round % 4 - 1, &error) == ZF_OK, "%s", error.message);
            zf_batch_cancel(batch);
            for (size_t i = 0; i < a.count; i++) {
                zf_status status = zf_batch_wait(batch, i, &error);
                if (status == ZF_OK) {
                    check_rows(&a, i);
                    continue;
                }
                cancelled++;
                CHECK(i + 1 > round % 4 && strcmp(error.code, "ZF1115") == 0 && strstr(error.message, "cancelled") != NULL,
                      "request %zu: %s %s", i, error.code, error.message);
            }
        }
        CHECK(cancelled > 0, "nothing was ever cancelled");
        run_all(batch, &a);
        poison(&a);
        CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
        zf_batch_free(batch); // half way
        for (size_t i = 0; i < a.count; i++) {
            for (size_t k = 0; k < GUARD; k++) CHECK(a.all[i].memory[k] == POISON, "a write outside");
        }
        forget(&a);
        zf_pipeline_free(a.pipeline);
        zf_container_close(container);
    }
}

// ---- Memory and arguments -------------------------------------------------------------------------------------

static void test_refusals(void) {
    zf_error error = {0};
    zf_container *container = open_written("a.zfd", 70000, NULL);
    zf_pipeline *pipeline = NULL;
    CHECK(zf_pipeline_create(NULL, "cpu", NULL, &pipeline, &error) == ZF_ERR_USAGE, "no context");
    CHECK(zf_pipeline_create(context, "nowhere", NULL, &pipeline, &error) == ZF_ERR_DEVICE && pipeline == NULL, "no device");
    CHECK(zf_pipeline_create(context, "cpu", &(zf_pipeline_options){.streams = 9}, &pipeline, &error) == ZF_ERR_USAGE, "streams");
    for (unsigned readers = 64; readers <= 66; readers++) { // no number is silently another one
        zf_status status = zf_pipeline_create(context, "cpu", &(zf_pipeline_options){.readers = readers}, &pipeline, &error);
        CHECK(readers == 64 ? status == ZF_OK : status == ZF_ERR_USAGE && strstr(error.message, "readers are too many") != NULL,
              "%u readers: %s", readers, error.message);
        zf_pipeline_free(pipeline);
    }
    CHECK(zf_pipeline_create(context, "cpu", &(zf_pipeline_options){.readers = UINT32_MAX}, &pipeline, &error) == ZF_ERR_USAGE &&
              pipeline == NULL,
          "readers");
    CHECK(zf_pipeline_create(context, "cpu", &(zf_pipeline_options){.order = 7}, &pipeline, &error) == ZF_ERR_USAGE, "order");
    // A block does not fit: of the device, of the host.
    static const zf_pipeline_options small[] = {{.device_staging = 8192, .host_staging = 1 << 20},
                                                {.device_staging = 1 << 20, .host_staging = 16384}};
    for (size_t k = 0; k < 2; k++) {
        asking a = {.pipeline = make("emu", &small[k])};
        zf_batch *batch = NULL;
        ask(&a, container, 1, 0, 70000);
        ask(&a, container, 0, 0, 70000);
        CHECK(zf_batch_create(a.pipeline, a.requests, 2, &batch, &error) == ZF_ERR_MEMORY && batch == NULL,
              "a block is too large");
        CHECK(strcmp(error.code, "ZF1114") == 0 && strstr(error.place, "column walk, block 0") != NULL &&
                  strstr(error.message, k == 0 ? "device" : "pinned") != NULL,
              "%s %s at %s", error.code, error.message, error.place);
        forget(&a);
        zf_pipeline_free(a.pipeline);
    }
    pipeline = make("cpu", NULL);
    zf_batch *batch = NULL;
    zf_pipeline_request request = {.container = container, .column = 9};
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1105") == 0, "%s",
          error.code);
    request.column = 0;
    request.on_device = true;
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_ERR_UNSUPPORTED, "memory of the CPU");
    request.on_device = false;
    request.options = (zf_decode_options){.some_rows = true, .row_begin = 70001, .row_count = 1};
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_ERR_USAGE, "rows beyond the end");
    request.container = NULL;
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_ERR_USAGE, "no container");
    CHECK(zf_batch_create(pipeline, NULL, 1, &batch, &error) == ZF_ERR_USAGE, "no requests");
    request = (zf_pipeline_request){.container = container};
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1107") == 0 &&
              strstr(error.place, "column walk") != NULL,
          "no buffers: %s at %s", error.code, error.place);
    CHECK(zf_batch_create(pipeline, NULL, 0, &batch, &error) == ZF_OK && zf_batch_start(batch, &error) == ZF_OK,
          "an empty batch");
    zf_batch_free(batch);
    zf_batch_free(NULL);
    zf_pipeline_free(pipeline);
    zf_pipeline_free(NULL);
    for (size_t d = 0; d < 2; d++) { // every device asks the same of the host's memory
        asking a = {.pipeline = make(devices[d], NULL)};
        ask(&a, container, 0, 0, 70000);
        void *good = a.requests[0].host.values;
        a.requests[0].host.values_bytes--;
        CHECK(zf_batch_create(a.pipeline, a.requests, 1, &batch, &error) == ZF_ERR_USAGE && strcmp(error.code, "ZF1117") == 0 &&
                  strstr(error.place, "column walk") != NULL,
              "%s: %s %s at %s", devices[d], error.code, error.message, error.place);
        CHECK(strstr(error.hint, "zf_decode_size") != NULL, "%s: hint %s", devices[d], error.hint);
        a.requests[0].host.values_bytes++;
        for (unsigned k = 0; k < 2; k++) {
            a.requests[0].host.values = k == 0 ? NULL : (uint8_t *)good + 2;
            CHECK(zf_batch_create(a.pipeline, a.requests, 1, &batch, &error) == ZF_ERR_USAGE && batch == NULL &&
                      strcmp(error.code, "ZF1107") == 0 && strstr(error.place, "column walk") != NULL &&
                      strstr(error.message, k == 0 ? "`values` is missing" : "`values` is not aligned to 4 bytes") != NULL,
                  "%s: %s %s at %s", devices[d], error.code, error.message, error.place);
        }
        forget(&a);
        zf_pipeline_free(a.pipeline);
    }
    zf_container_close(container);
}

// ---- Trace ----------------------------------------------------------------------------------------------------

static void test_trace(void) {
    for (size_t d = 0; d < 2; d++) {
        zf_error error = {0};
        zf_container *container = open_written("a.zfd", 70000, NULL);
        asking a = {.pipeline = make(devices[d], &(zf_pipeline_options){.device_staging = 1 << 20, .host_staging = 1 << 20})};
        ask(&a, container, 0, 0, 70000);
        zf_batch *batch = batch_of(&a);
        CHECK(zf_batch_write_trace(batch, path_of("trace.json"), &error) == ZF_ERR_USAGE, "before it ran");
        run_all(batch, &a);
        CHECK(zf_batch_write_trace(batch, path_of("trace.json"), &error) == ZF_OK, "%s", error.message);
        static char text[1 << 20];
        FILE *file = fopen(path_of("trace.json"), "rb");
        size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        text[length] = 0;
        if (file != NULL) fclose(file);
        zf_batch_info info = {0};
        CHECK(zf_batch_describe(batch, &info, &error) == ZF_OK, "%s", error.message);
        size_t slices = 0;
        for (const char *at = text; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++) slices++;
        CHECK(slices == info.units * (d == 0 ? 2 : 3), "%zu slices of %zu units", slices, info.units);
        unlink(path_of("trace.json"));
        zf_batch_free(batch);
        forget(&a);
        zf_pipeline_free(a.pipeline);
        zf_container_close(container);
    }
}

// ---- Sizes ----------------------------------------------------------------------------------------------------

/// However large units may be, something is queued: twice such a size is no number of bytes any more.
static void test_units_of_any_size(void) {
    static const uint64_t sizes[] = {UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t d = 0; d < 2; d++) {
        zf_container *container = open_written("a.zfd", 70000, NULL);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            zf_pipeline_options options = {.device_staging = 4 << 20, .host_staging = 4 << 20, .unit_bytes = sizes[k]};
            asking a = {.pipeline = make(devices[d], &options)};
            ask(&a, container, 0, 0, 70000);
            ask(&a, container, 1, 0, 70000);
            zf_batch *batch = batch_of(&a);
            alarm(100); // else it would wait for ever
            run_all(batch, &a);
            alarm(0);
            zf_batch_free(batch);
            forget(&a);
            zf_pipeline_free(a.pipeline);
        }
        zf_container_close(container);
    }
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 1;
    zf_abi_provider provider = simt_provider();
    zf_error error;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 3}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    test_batches();
    test_on_device();
    test_damage();
    test_damaged_and_loaded();
    test_changed();
    test_changed_before_loading();
    test_many();
    test_cancel();
    test_refusals();
    test_trace();
    test_units_of_any_size();
    zf_context_free(context);
    unlink(path_of("a.zfd"));
    unlink(path_of("b.zfd"));
    unlink(path_of("c.zfd"));
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}

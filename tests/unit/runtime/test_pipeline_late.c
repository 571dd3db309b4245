// Links: zipflow-runtime zipflow-emu
// The pipeline on an accelerator whose streams run by themselves and late, as a GPU's do: what must wait for what, with memory
// that is used again and again; that nothing is allocated nor a stream waited for on the way; calls that fail, each in turn,
// what becomes of copies that are under way then, of later units and of later runs; and a file that changes behind its reading.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/device/device.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/support/walk_simt.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

// Under AddressSanitizer threads that meet so often take twenty times as long: fewer kinds there, and every eighth call.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FEW 1
#endif
#endif
#ifndef FEW
#define FEW 0
#endif

enum { BLOCK = 4096, ROWS = 50000, COLUMNS = 4 };

static char directory[64] = "/tmp/zipflow-test-XXXXXX";
static zf_context *context;
static zf_accelerator *emu;

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static zf_container *open_written(void) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(walk_write_ordered(path_of("a.zfd"), ROWS, BLOCK, true, true, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, path_of("a.zfd"), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (container == NULL) abort();
    return container;
}

/// The batch's columns: numbers and booleans in turn, into the device's memory or the host's.
typedef struct columns {
    late l;
    zf_container *container;
    zf_pipeline *pipeline;
    zf_pipeline_request requests[COLUMNS];
    zf_batch *batch;
    uint64_t bytes[COLUMNS];
    uint8_t *values[COLUMNS];
} columns;

static void begin(columns *c, unsigned delay, const zf_pipeline_options *options, bool on_device) {
    zf_error error = {0};
    *c = (columns){.container = open_written()};
    late_begin(&c->l, emu, delay);
    CHECK(zf_pipeline_create_on(context, "emu", &c->l.base, options, &c->pipeline, &error) == ZF_OK, "%s", error.message);
    if (c->pipeline == NULL) abort();
    for (size_t i = 0; i < COLUMNS; i++) {
        c->requests[i] = (zf_pipeline_request){.container = c->container, .column = i % 2, .on_device = on_device};
        c->bytes[i] = i % 2 == 0 ? ROWS * 4 : (ROWS + 7) / 8;
        c->values[i] = aligned_alloc(256, (c->bytes[i] + 255) / 256 * 256);
        if (on_device) {
            zf_pipeline_sizes sizes = {0};
            zf_status status = zf_pipeline_request_sizes(c->pipeline, &c->requests[i], &sizes, &error);
            c->requests[i].device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes.device)};
            if (status == ZF_OK) status = emu->ops->allocate(emu, sizes.device.values, &c->requests[i].device.values, &error);
            CHECK(status == ZF_OK, "%s", error.message);
        } else {
            c->requests[i].host = (zf_decode_buffers){.values = c->values[i], .values_bytes = c->bytes[i]};
        }
    }
    CHECK(zf_batch_create(c->pipeline, c->requests, COLUMNS, &c->batch, &error) == ZF_OK, "%s", error.message);
    if (c->batch == NULL) abort();
}

/// Loads the container, and makes the batch again.
static void load(columns *c) {
    zf_error error = {0};
    zf_batch_free(c->batch);
    c->batch = NULL;
    CHECK(zf_container_load(c->container, "emu", &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_create(c->pipeline, c->requests, COLUMNS, &c->batch, &error) == ZF_OK, "%s", error.message);
    if (c->batch == NULL) abort();
}

static void end(columns *c) {
    zf_batch_free(c->batch);
    zf_pipeline_free(c->pipeline);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (c->requests[i].on_device) emu->ops->release(emu, c->requests[i].device.values);
        free(c->values[i]);
    }
    late_end(&c->l);
    zf_container_close(c->container);
}

/// Fills what a batch will fill with something else.
static void poison(columns *c) {
    zf_error error;
    for (size_t i = 0; i < COLUMNS; i++) {
        memset(c->values[i], 0xcd, c->bytes[i]);
        if (c->requests[i].on_device)
            CHECK(emu->ops->fill(emu, NULL, c->requests[i].device.values, 0xcd, c->bytes[i], &error) == ZF_OK, "%s",
                  error.message);
    }
}

static uint64_t wrong_rows(const columns *c, size_t i) {
    uint64_t wrong = 0;
    for (uint64_t r = 0; r < ROWS; r++) {
        uint32_t value;
        if (i % 2 == 0) {
            memcpy(&value, c->values[i] + r * 4, 4);
            wrong += value != walk_value(r);
        } else {
            wrong += (c->values[i][r / 8] >> (r % 8) & 1) != walk_bit(r);
        }
    }
    return wrong;
}

// ---- Order of streams -----------------------------------------------------------------------------------------

static void test_order(void) {
    static const zf_pipeline_options kinds[] = {
        {.device_staging = 64 << 10, .host_staging = 64 << 10, .readers = 2, .streams = 1},
        {.device_staging = 100 << 10, .host_staging = 100 << 10, .readers = 3, .streams = 3},
        {.device_staging = 400 << 10, .host_staging = 64 << 10, .readers = 1, .streams = 8},
        {.device_staging = 64 << 10, .host_staging = 400 << 10, .readers = 2, .streams = 2, .order = ZF_PIPELINE_GIVEN},
        {.device_staging = 400 << 10, .host_staging = 400 << 10, .readers = 2, .streams = 2},
        {.device_staging = 100 << 10, .host_staging = 100 << 10, .readers = 2, .streams = 2, .order = ZF_PIPELINE_APART},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k += FEW ? 4 : 1) {
        for (unsigned variant = 0; variant < 4; variant++) {
            columns c;
            zf_error error = {0};
            bool on_device = variant % 2 == 1;
            begin(&c, 60, &kinds[k], on_device);
            if (variant >= 2) load(&c); // pinned: blocks and tables go in copies of their own
            for (unsigned round = 0; round < 2; round++) {
                zf_batch_info info = {0};
                poison(&c);
                atomic_store(&c.l.copies, 0);
                atomic_store(&c.l.launches, 0);
                atomic_store(&c.l.ahead, 0);
                unsigned allocated = atomic_load(&c.l.allocated), waited = atomic_load(&c.l.waited);
                CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
                if (on_device) { // a consumer's stream goes on when a column is there, not before
                    void *consumer;
                    allocated++;
                    CHECK(c.l.ops.stream_open(&c.l.base, &consumer, &error) == ZF_OK, "a stream");
                    for (size_t i = 0; i < COLUMNS; i++) {
                        CHECK(zf_batch_follow(c.batch, i, consumer, &error) == ZF_OK, "%s", error.message);
                        c.l.ops.copy_out(&c.l.base, consumer, c.values[i], c.requests[i].device.values, c.bytes[i], &error);
                    }
                    CHECK(atomic_load(&c.l.waited) == waited, "something waited for a stream");
                    c.l.ops.wait(&c.l.base, consumer, &error);
                    c.l.ops.stream_close(&c.l.base, consumer);
                }
                for (size_t i = 0; i < COLUMNS; i++) {
                    CHECK(zf_batch_wait(c.batch, i, &error) == ZF_OK, "%s %s", error.code, error.message);
                    CHECK(wrong_rows(&c, i) == 0, "kind %zu variant %u round %u: %llu rows of %zu are wrong", k, variant, round,
                          (ull)wrong_rows(&c, i), i);
                }
                // Blocks of two codes take turns in each unit; one copy brings a unit all the same, but for tables of what was
                // loaded.
                CHECK(zf_batch_describe(c.batch, &info, &error) == ZF_OK, "%s", error.message);
                unsigned copies = (unsigned)info.units * (variant >= 2 && round == 0 ? 2 : 1);
                CHECK(atomic_load(&c.l.copies) == copies, "%u copies of %zu units", atomic_load(&c.l.copies), info.units);
                // Units that are there already go ahead of the first decode, if there is memory.
                if (variant >= 2 && round == 1 && kinds[k].device_staging >= 400 << 10 && kinds[k].order == ZF_PIPELINE_JOHNSON)
                    CHECK(atomic_load(&c.l.ahead) > 1, "kind %zu: %u copies before a launch", k, atomic_load(&c.l.ahead));
                CHECK(atomic_load(&c.l.allocated) == allocated, "%u allocations", atomic_load(&c.l.allocated) - allocated);
                CHECK(atomic_load(&c.l.failed_inside) == 0, "%u calls failed when they ran", atomic_load(&c.l.failed_inside));
            }
            end(&c);
        }
    }
}

// ---- Calls that fail ------------------------------------------------------------------------------------------

/// Each call that the pipeline queues fails once: its column has the driver's error, the others are whole, and the next run is.
static void test_failing(bool loaded) {
    static const zf_pipeline_options options = {
        .device_staging = 100 << 10, .host_staging = 100 << 10, .readers = 2, .streams = 2};
    columns c;
    unsigned failures = 0;
    begin(&c, 0, &options, true);
    if (loaded) load(&c);
    for (long call = 0;; call += FEW ? 8 : 1) {
        zf_error error = {0};
        unsigned failed = 0;
        poison(&c);
        atomic_store(&c.l.fail_in, call);
        zf_status started = zf_batch_start(c.batch, &error);
        if (started != ZF_OK) {
            CHECK(call == 0 && strcmp(error.code, "ZF1110") == 0, "%s %s", error.code, error.message);
            atomic_store(&c.l.fail_in, -1);
            failures++;
            continue;
        }
        for (size_t i = 0; i < COLUMNS; i++) {
            zf_status status = zf_batch_wait(c.batch, i, &error);
            if (status != ZF_OK) {
                failed++;
                CHECK(strcmp(error.code, "ZF1110") == 0, "%s %s", error.code, error.message);
                continue;
            }
            emu->ops->copy_out(emu, NULL, c.values[i], c.requests[i].device.values, c.bytes[i], &error);
            CHECK(wrong_rows(&c, i) == 0, "call %ld failed: %llu rows of %zu are wrong", call, (ull)wrong_rows(&c, i), i);
        }
        bool all = atomic_load(&c.l.fail_in) >= 0; // it never came to that
        atomic_store(&c.l.fail_in, -1);
        CHECK(failed == (all ? 0 : 1), "call %ld failed and %u columns did", call, failed);
        failures += failed;
        if (all) break;
    }
    CHECK(failures > (FEW ? 5 : 40), "%u calls failed", failures);
    end(&c);
}

// ---- Copies that are under way when a call fails ------------------------------------------------------------------

/// The sources of copies when they were enqueued, on the one stream that copies to the device; they run in that order.
static struct {
    zf_accelerator_ops ops;  ///< of the emulator
    const void *stream;      ///< of copies
    bool decodes;            ///< calls for decodes fail, not those on that stream
    long fail_in;            ///< so many of them until one fails; negative: none
    uint64_t sums[512];      ///< of what they read
    atomic_uint queued, ran; ///< copies
    atomic_uint changed;     ///< those that read something else
} sources;

static uint64_t sum_of(const void *from, uint64_t bytes) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++) sum = sum * 31 + ((const uint8_t *)from)[i];
    return sum;
}
static zf_status failing(const void *stream, zf_error *error) {
    if ((stream == sources.stream) == sources.decodes || sources.fail_in < 0 || sources.fail_in-- > 0) return ZF_OK;
    return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a call that was to fail");
}
static zf_status summing_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    ZF_TRY(failing(stream, error));
    unsigned number = atomic_load(&sources.queued);
    CHECK(stream == sources.stream && number < 512, "a copy on another stream, or too many");
    sources.sums[number % 512] = sum_of(from, bytes);
    atomic_fetch_add(&sources.queued, 1);
    return late_in(self, stream, to, from, bytes, error);
}
static zf_status failing_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    if (stream == sources.stream) ZF_TRY(failing(stream, error));
    return late_event_note(self, stream, event, error);
}
static zf_status failing_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    ZF_TRY(failing(stream, error));
    return late_follow(self, stream, event, error);
}
static zf_status comparing_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes,
                              zf_error *error) {
    unsigned number = atomic_fetch_add(&sources.ran, 1) % 512;
    atomic_fetch_add(&sources.changed, sources.sums[number] != sum_of(from, bytes));
    return sources.ops.copy_in(self, stream, to, from, bytes, error);
}

/// A unit whose copy was queued, and whose next call fails: its memory of the host is not read into again before the copy ran.
static void test_failed_behind_copy(bool loaded, bool decodes) {
    static const zf_pipeline_options options = {
        .device_staging = 100 << 10, .host_staging = 40 << 10, .readers = 2, .streams = 2, .unit_bytes = 1};
    const zf_accelerator_ops *before = emu->ops;
    unsigned failures = 0;
    for (long call = 0; call < 8; call++) {
        columns c;
        zf_error error = {0};
        begin(&c, 0, &options, true);
        if (loaded) load(&c);
        zf_accelerator_ops ops = sources.ops = *before;
        ops.copy_in = comparing_in;
        emu->ops = &ops;
        c.l.ops.copy_in = summing_in;
        c.l.ops.event_note = failing_note;
        c.l.ops.stream_follow = failing_follow;
        atomic_store(&c.l.copy_delay, 2000);
        atomic_store(&sources.queued, 0);
        atomic_store(&sources.ran, 0);
        sources.stream = c.pipeline->copies;
        sources.decodes = decodes;
        sources.fail_in = call;
        poison(&c);
        CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
        for (size_t i = 0; i < COLUMNS; i++) failures += zf_batch_wait(c.batch, i, &error) != ZF_OK;
        end(&c);
        emu->ops = before;
        CHECK(atomic_load(&sources.queued) == atomic_load(&sources.ran), "copies are left");
        CHECK(atomic_exchange(&sources.changed, 0) == 0, "call %ld for %s failed, and copies read what was not theirs", call,
              decodes ? "decodes" : "copies");
    }
    CHECK(failures == 8, "%u columns failed", failures);
}

// ---- Units that stay on the device from run to run ----------------------------------------------------------------

/// The first launch behind which a kernel reports a failure; negative: none does.
static struct {
    zf_accelerator_ops ops; ///< of the emulator
    atomic_long fail_in;
} reports;

static zf_status reporting_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                                  const zf_simt_args *args, zf_error *error) {
    ZF_TRY(reports.ops.launch(self, stream, code, kernel, groups, args, error));
    if (atomic_load(&reports.fail_in) < 0 || atomic_fetch_sub(&reports.fail_in, 1) != 0) return ZF_OK;
    return reports.ops.fill(self, stream, args->failure, 0, sizeof(uint64_t), error); // block 0, position 0, check 0
}

/// Runs a batch: whether all columns came, and their rows are right.
static bool run(columns *c) {
    zf_error error = {0};
    bool whole = true;
    poison(c);
    CHECK(zf_batch_start(c->batch, &error) == ZF_OK, "%s", error.message);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (zf_batch_wait(c->batch, i, &error) != ZF_OK) {
            whole = false;
            continue;
        }
        emu->ops->copy_out(emu, NULL, c->values[i], c->requests[i].device.values, c->bytes[i], &error);
        CHECK(wrong_rows(c, i) == 0, "%llu rows of %zu are wrong", (ull)wrong_rows(c, i), i);
    }
    return whole;
}

/// A kept unit of which a kernel reports a failure left that on the device: it is brought there anew in the next run.
static void test_failed_and_kept(void) {
    static const zf_pipeline_options options = {.readers = 1, .order = ZF_PIPELINE_GIVEN, .unit_bytes = 20000};
    columns c;
    zf_error error = {0};
    begin(&c, 0, &options, true);
    load(&c);
    const zf_accelerator_ops *before = emu->ops;
    zf_accelerator_ops ops = reports.ops = *before;
    ops.launch = reporting_launch;
    emu->ops = &ops;
    atomic_store(&reports.fail_in, -1);
    CHECK(run(&c), "the first run");
    atomic_store(&reports.fail_in, 0);
    CHECK(!run(&c) && zf_batch_wait(c.batch, 0, &error) == ZF_ERR_INPUT, "a failure that a kernel reports");
    for (unsigned round = 0; round < 2; round++) CHECK(run(&c), "run %u behind the one that failed", round);
    end(&c);
    emu->ops = before;
}

static atomic_bool next_copy_fails;

static zf_status copy_in_failing(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes,
                                 zf_error *error) {
    if (atomic_exchange(&next_copy_fails, false)) return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a copy that was to fail");
    return late_in(self, stream, to, from, bytes, error);
}

/// A unit that fails ends its column: those behind it, which are at hand and would need no checking, are not decoded.
static void test_failed_and_left_out(void) {
    static const zf_pipeline_options options = {.readers = 1, .order = ZF_PIPELINE_APART, .unit_bytes = 20000};
    columns c;
    begin(&c, 0, &options, true);
    load(&c);
    CHECK(run(&c), "the first run");
    c.l.ops.copy_in = copy_in_failing;
    atomic_store(&next_copy_fails, true);
    CHECK(!run(&c), "a copy that fails");
    for (size_t i = 0; i < COLUMNS; i++) {
        zf_error error = {0};
        zf_decode_stats stats = {0};
        CHECK(zf_batch_stats(c.batch, i, &stats, &error) == ZF_OK, "%s", error.message);
        CHECK((stats.launches == 0) == (i == 0), "column %zu: %llu launches", i, (ull)stats.launches);
    }
    CHECK(run(&c), "the run behind it");
    end(&c);
}

/// The statistics of a run are those of that run, also where units are kept from one to the next.
static void test_stats_of_kept(void) {
    static const zf_pipeline_options options = {.readers = 1, .unit_bytes = 20000};
    columns c;
    zf_decode_stats first[COLUMNS] = {0};
    begin(&c, 0, &options, true);
    load(&c);
    for (unsigned round = 0; round < 3; round++) {
        CHECK(run(&c), "run %u", round);
        for (size_t i = 0; i < COLUMNS; i++) {
            zf_error error = {0};
            zf_decode_stats stats = {0};
            CHECK(zf_batch_stats(c.batch, i, &stats, &error) == ZF_OK, "%s", error.message);
            if (round == 0) first[i] = stats;
            CHECK(stats.launches > 0 && stats.launches == first[i].launches && stats.blocks_read == first[i].blocks_read,
                  "run %u, column %zu: %llu launches, at first %llu", round, i, (ull)stats.launches, (ull)first[i].launches);
            CHECK(round == 0 || (stats.load_seconds == 0 && stats.compile_seconds == 0), "run %u gets no code", round);
        }
    }
    end(&c);
}

// ---- A file that changes ------------------------------------------------------------------------------------------

static struct {
    const void *stream; ///< on which the first copy to the host says that all was read
    bool done;
} touching;

static zf_status touching_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    static const struct timespec other[2] = {{1, 0}, {1, 0}};
    if (stream == touching.stream && !touching.done) {
        touching.done = true;
        CHECK(utimensat(AT_FDCWD, path_of("a.zfd"), other, 0) == 0, "times");
    }
    return late_out(self, stream, to, from, bytes, error);
}

/// A file that changes when all of it was read, and rows go to the host, or are being decoded where they stay on the device.
static void test_changed_behind_reading(bool on_device) {
    static const zf_pipeline_options options = {.readers = 1, .streams = 1, .order = ZF_PIPELINE_GIVEN};
    columns c;
    zf_error error = {0};
    begin(&c, 0, &options, on_device);
    touching.stream = on_device ? c.pipeline->decodes[0] : c.pipeline->delivery;
    touching.done = false;
    c.l.ops.copy_out = touching_out;
    CHECK(c.batch->requests[0].units == 1, "a column is one unit: all of it was read when it is decoded");
    CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_wait(c.batch, 0, &error) == ZF_ERR_INPUT && strcmp(error.code, "ZF1208") == 0, "on the %s: %s %s",
          on_device ? "device" : "host", error.code, error.message);
    end(&c);
}

int main(void) {
    if (mkdtemp(directory) == NULL) return 1;
    zf_abi_provider provider = simt_provider();
    zf_error error;
    zf_device device;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    test_order();
    test_failing(false);
    test_failing(true);
    for (unsigned kind = 0; kind < 4; kind++) test_failed_behind_copy(kind % 2 == 1, kind / 2 == 1);
    test_failed_and_kept();
    test_failed_and_left_out();
    test_stats_of_kept();
    test_changed_behind_reading(false);
    test_changed_behind_reading(true);
    zf_context_free(context);
    unlink(path_of("a.zfd"));
    CHECK(rmdir(directory) == 0, "something was left in %s", directory);
    return check_result();
}

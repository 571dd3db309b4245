// All columns of forms.zf through pipelines: with memory for everything and with hardly any, from a file and from pinned memory,
// into the device's memory and the host's, whole and ranges of rows; several pipelines at once; cancelled half way; with a
// damaged block in the middle; without memory.
//   gpu_pipeline --device emu|cuda --rows N --rounds N
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/damaged_state.h"
#include "tests/gpu/gpu_machine.h"
#include "tests/unit/check.h"
#include "zipflow/pipeline.h"

typedef unsigned long long ull;

enum { MOST = 64, BLOCKS = 5, POISON = 0xa5, MIB = 1 << 20 };

static gpu_machine machine;
static uint64_t rows = 200000, rounds = 2, units, batches, cancelled;

static void must(zf_status status, const zf_error *error, const char *what) {
    if (status == ZF_OK) return;
    CHECK(false, "%s: %s %s (%s)", what, error->code, error->message, error->place);
    exit(check_result());
}

// ---- Requests -------------------------------------------------------------------------------------------------

typedef struct set {
    zf_pipeline *pipeline;
    zf_pipeline_request requests[MOST];
    zf_pipeline_sizes sizes[MOST];
    const gpu_column *columns[MOST];
    uint64_t begin[MOST], count[MOST];
    size_t size;
} set;

/// A column, whole or without some rows at both ends.
static void add(set *s, zf_container *container, const gpu_column *column, bool whole, bool on_device) {
    zf_error error;
    size_t k = s->size++;
    zf_pipeline_request *request = &s->requests[k];
    *request = (zf_pipeline_request){.container = container, .on_device = on_device};
    must(zf_container_find(container, column->name, &request->column, &error), &error, column->name);
    s->columns[k] = column;
    s->begin[k] = whole ? 0 : rows / 3 + 5;
    s->count[k] = whole ? rows : rows / 2;
    if (!whole) request->options = (zf_decode_options){.some_rows = true, .row_begin = s->begin[k], .row_count = s->count[k]};
    must(zf_pipeline_request_sizes(s->pipeline, request, &s->sizes[k], &error), &error, column->name);
    const zf_accelerator_ops *ops = machine.accelerator->ops;
    request->host = (zf_decode_buffers){ZF_DECODE_BYTES(s->sizes[k].host)};
    request->device = (zf_device_buffers){ZF_DEVICE_BYTES(s->sizes[k].device)};
    if (on_device) {
        must(ops->allocate(machine.accelerator, s->sizes[k].device.values, &request->device.values, &error), &error, "memory");
    } else {
        request->host.values = aligned_alloc(64, (s->sizes[k].host.values + 127) / 64 * 64);
        memset(request->host.values, POISON, s->sizes[k].host.values);
    }
}

static void clear(set *s) {
    for (size_t k = 0; k < s->size; k++) {
        if (s->requests[k].on_device) machine.accelerator->ops->release(machine.accelerator, s->requests[k].device.values);
        free(s->requests[k].host.values);
    }
    s->size = 0;
}

static void poison(set *s) {
    zf_error error;
    const zf_accelerator_ops *ops = machine.accelerator->ops;
    for (size_t k = 0; k < s->size; k++) {
        if (s->requests[k].on_device)
            must(ops->fill(machine.accelerator, NULL, s->requests[k].device.values, POISON, s->sizes[k].device.values, &error),
                 &error, "filling");
        else
            memset(s->requests[k].host.values, POISON, s->sizes[k].host.values);
    }
    must(ops->wait(machine.accelerator, NULL, &error), &error, "waiting");
}

static void check_rows(const set *s, size_t k) {
    zf_error error;
    const zf_accelerator_ops *ops = machine.accelerator->ops;
    uint8_t *copy = NULL;
    uint64_t skip = 0;
    if (s->requests[k].on_device) {
        copy = malloc(s->sizes[k].device.values + 64);
        skip = s->sizes[k].device.skip / (s->columns[k]->bits == 1 ? 1 : s->columns[k]->bits / 8);
        must(ops->copy_out(machine.accelerator, NULL, copy, s->requests[k].device.values, s->sizes[k].device.values, &error),
             &error, "copying");
        must(ops->wait(machine.accelerator, NULL, &error), &error, "waiting");
    }
    const void *decoded = copy != NULL ? copy : s->requests[k].host.values;
    uint64_t wrong = gpu_column_wrong(s->columns[k], s->begin[k], s->count[k], 0, decoded, skip, machine.threads);
    CHECK(wrong == 0, "column %s: %llu of %llu rows are wrong", s->columns[k]->name, (ull)wrong, (ull)s->count[k]);
    free(copy);
}

static zf_pipeline *make(const zf_pipeline_options *options) {
    zf_error error;
    zf_pipeline *pipeline = NULL;
    must(zf_pipeline_create(machine.context, machine.device, options, &pipeline, &error), &error, "making a pipeline");
    return pipeline;
}

static zf_batch *batch_of(const set *s) {
    zf_error error;
    zf_batch *batch = NULL;
    zf_batch_info info = {0};
    must(zf_batch_create(s->pipeline, s->requests, s->size, &batch, &error), &error, "making a batch");
    must(zf_batch_describe(batch, &info, &error), &error, "a batch");
    __atomic_fetch_add(&units, info.units, __ATOMIC_RELAXED);
    __atomic_fetch_add(&batches, 1, __ATOMIC_RELAXED);
    return batch;
}

/// Memory for two or three blocks of any column.
static zf_pipeline_options little(void) {
    uint64_t bytes = rows / BLOCKS * 64 + 4 * MIB;
    return (zf_pipeline_options){.device_staging = bytes, .host_staging = bytes, .streams = 3};
}

// ---- Memory of the caller -------------------------------------------------------------------------------------

static uint64_t lent, lendings; ///< bytes that are lent just now, and how often some were

static uint64_t lend_device(void *user, uint64_t bytes, uint64_t alignment) {
    uint64_t address = 0;
    zf_error error;
    (void)user, (void)alignment;
    must(machine.accelerator->ops->allocate(machine.accelerator, bytes, &address, &error), &error, "memory");
    __atomic_fetch_add(&lent, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&lendings, 1, __ATOMIC_RELAXED);
    return address;
}

static void end_device(void *user, uint64_t address, uint64_t bytes) {
    (void)user;
    machine.accelerator->ops->release(machine.accelerator, address);
    __atomic_fetch_sub(&lent, bytes, __ATOMIC_RELAXED);
}

/// Memory of the heap: a device copies from there, too, only slower.
static void *lend_host(void *user, uint64_t bytes, uint64_t alignment) {
    (void)user;
    __atomic_fetch_add(&lent, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&lendings, 1, __ATOMIC_RELAXED);
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void end_host(void *user, void *at, uint64_t bytes) {
    (void)user;
    free(at);
    __atomic_fetch_sub(&lent, bytes, __ATOMIC_RELAXED);
}

// ---- Tests ----------------------------------------------------------------------------------------------------

static void test_all(zf_container *container, const zf_pipeline_options *options, bool on_device) {
    size_t count;
    const gpu_column *columns = gpu_columns(&count);
    set s = {.pipeline = make(options)};
    zf_error error;
    for (size_t k = 0; k < count && k < MOST; k++) add(&s, container, &columns[k], k % 3 != 1, on_device);
    zf_batch *batch = batch_of(&s);
    for (uint64_t round = 0; round < rounds; round++) {
        poison(&s);
        must(zf_batch_start(batch, &error), &error, "starting");
        for (size_t k = 0; k < s.size; k++) {
            must(zf_batch_wait(batch, k, &error), &error, s.columns[k]->name);
            check_rows(&s, k);
        }
    }
    zf_batch_free(batch);
    clear(&s);
    zf_pipeline_free(s.pipeline);
}

static void *run_one(void *container) {
    const zf_pipeline_options options = little();
    test_all(container, &options, true);
    return NULL;
}

static void test_several(zf_container *container) {
    pthread_t threads[3];
    for (size_t t = 0; t < 3; t++) {
        if (pthread_create(&threads[t], NULL, run_one, container) != 0) exit(2);
    }
    for (size_t t = 0; t < 3; t++) pthread_join(threads[t], NULL);
}

/// Finished columns are whole, and so is the next run.
static void test_cancel(zf_container *container) {
    size_t count;
    const gpu_column *columns = gpu_columns(&count);
    const zf_pipeline_options options = little();
    set s = {.pipeline = make(&options)};
    zf_error error;
    for (size_t k = 0; k < count && k < MOST; k++) add(&s, container, &columns[k], true, true);
    zf_batch *batch = batch_of(&s);
    for (uint64_t round = 0; round <= 4; round++) {
        poison(&s);
        must(zf_batch_start(batch, &error), &error, "starting");
        if (round > 0 && round < 4) must(zf_batch_wait(batch, round - 1, &error), &error, "waiting");
        if (round < 4) zf_batch_cancel(batch);
        for (size_t k = 0; k < s.size; k++) {
            zf_status status = zf_batch_wait(batch, k, &error);
            bool was = status != ZF_OK && strcmp(error.code, "ZF1115") == 0;
            cancelled += was;
            CHECK(status == ZF_OK || (was && round < 4), "%s: %s %s", s.columns[k]->name, error.code, error.message);
            if (status == ZF_OK) check_rows(&s, k);
        }
    }
    CHECK(cancelled > 0, "nothing was cancelled");
    must(zf_batch_start(batch, &error), &error, "starting");
    zf_batch_free(batch); // half way
    clear(&s);
    zf_pipeline_free(s.pipeline);
}

/// The damaged column says what it says alone; the others are whole.
static void test_damaged(zf_container *good, zf_container *bad, const char *name) {
    set s = {.pipeline = make(NULL)};
    zf_error error, alone = {0};
    size_t count;
    const gpu_column *columns = gpu_columns(&count), *damaged = gpu_column_find(name);
    for (size_t k = 0; k < 5; k++) add(&s, k % 2 == 0 ? good : bad, &columns[k], true, true);
    size_t which = s.size;
    add(&s, bad, damaged, true, true);
    set one = {.pipeline = s.pipeline};
    add(&one, bad, damaged, true, false);
    CHECK(zf_decode(bad, one.requests[0].column, machine.device, NULL, &one.requests[0].host, NULL, &alone) == ZF_ERR_INPUT,
          "the damaged column decodes");
    zf_batch *batch = batch_of(&s);
    poison(&s);
    must(zf_batch_start(batch, &error), &error, "starting");
    for (size_t k = 0; k < s.size; k++) {
        zf_status status = zf_batch_wait(batch, k, &error);
        if (k == which || s.columns[k] == damaged) {
            CHECK(s.requests[k].container == good ||
                      (status == ZF_ERR_INPUT && strcmp(error.code, alone.code) == 0 && strcmp(error.place, alone.place) == 0),
                  "%s %s (%s), alone %s (%s)", error.code, error.message, error.place, alone.code, alone.place);
            continue;
        }
        CHECK(status == ZF_OK, "%s: %s %s", s.columns[k]->name, error.code, error.message);
        if (status == ZF_OK) check_rows(&s, k);
    }
    zf_batch_free(batch);
    clear(&one);
    clear(&s);
    zf_pipeline_free(s.pipeline);
}

/// More memory than there is: an error, and the device goes on.
static void test_no_memory(zf_container *container) {
    // More than there is. For the emulator, whose memory is the host's, so much that AddressSanitizer is not asked to allocate
    // it.
    const zf_pipeline_options options = {.device_staging = machine.emulated ? UINT64_MAX : UINT64_C(1) << 50};
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    zf_status status = zf_pipeline_create(machine.context, machine.device, &options, &pipeline, &error);
    CHECK(pipeline == NULL && (status == ZF_ERR_DEVICE || status == ZF_ERR_MEMORY), "%s %s", error.code, error.message);
    const zf_pipeline_options tiny = {.device_staging = 4096, .host_staging = MIB};
    set s = {.pipeline = make(&tiny)};
    zf_batch *batch = NULL;
    add(&s, container, gpu_column_find("map_u32"), true, true);
    CHECK(zf_batch_create(s.pipeline, s.requests, s.size, &batch, &error) == ZF_ERR_MEMORY && strcmp(error.code, "ZF1114") == 0 &&
              strstr(error.place, "map_u32, block 0") != NULL,
          "%s %s (%s)", error.code, error.message, error.place);
    clear(&s);
    zf_pipeline_free(s.pipeline);
}

int main(int argc, char **argv) {
    const char *device = "emu";
    const gpu_option options[] = {{"device", NULL, &device}, {"rows", &rows, NULL}, {"rounds", &rounds, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    static const char damaged[] = "scan_i32";
    double start = gpu_seconds();
    zf_error error = {0};
    char paths[2][300];
    gpu_machine_open(&machine, device, false);
    for (int k = 0; k < 2; k++)
        snprintf(paths[k], sizeof paths[k], "%s", gpu_machine_path(&machine, k == 0 ? "good.zfd" : "bad.zfd"));
    must(gpu_encode(&machine, "forms", rows, (rows / BLOCKS + 4095) / 4096 * 4096, 0, paths[0], &error), &error, "encoding");
    zf_container *good = gpu_model_open(&machine, paths[0]), *bad = NULL;
    gpu_write_damaged(paths[0], good, damaged, paths[1]);
    must(zf_container_open(machine.context, paths[1], &bad, &error), &error, paths[1]);
    const zf_pipeline_options few = little(), given = {.order = ZF_PIPELINE_GIVEN, .unit_bytes = 4096};
    test_all(good, NULL, true);
    test_all(good, &few, false);
    test_all(good, &given, true);
    test_damaged(good, bad, damaged);
    test_cancel(good);
    must(zf_container_load(good, device, &error), &error, "loading");
    test_all(good, NULL, false);
    test_all(good, &few, true);
    zf_pipeline_options lending = little();
    lending.allocator = (zf_pipeline_allocator){NULL, lend_device, end_device, lend_host, end_host};
    test_all(good, &lending, false);
    CHECK(lendings > 4 && lent == 0, "%llu pieces were lent, %llu bytes still are", (ull)lendings, (ull)lent);
    test_several(good);
    test_no_memory(good);
    printf("{\"program\": \"gpu_pipeline\", \"device\": \"%s\", \"rows\": %llu, \"batches\": %llu, \"units\": %llu, "
           "\"columns_cancelled\": %llu, \"seconds\": %.2f, \"failures\": %d}\n",
           device, (ull)rows, (ull)batches, (ull)units, (ull)cancelled, gpu_seconds() - start, (int)check_failures);
    zf_container_close(bad);
    gpu_machine_close(&machine);
    return check_result();
}

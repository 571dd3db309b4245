// Links: zipflow-runtime zipflow-emu
// How far a pipeline goes ahead when what comes behind holds still: the bytes that are queued on an accelerator, and those that
// are read on the CPU.
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/support/null_accelerator.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/walk_simt.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

#define MIB (UINT64_C(1) << 20)

/// `LONG_ROWS`: a block of numbers of about 4 MiB. `PATIENCE`: milliseconds until something is taken not to happen, `SETTLED`
/// until it is taken to go no further.
enum { LONG_ROWS = 1 << 20, SHORT_BLOCK = 4096, SHORT_ROWS = 16 * SHORT_BLOCK, PATIENCE = 20000, SETTLED = 50, MOST = 24 };

static zf_context *context;
static zf_accelerator *emu;
static atomic_bool still; ///< copies and kernels wait

static void hold_still(void) {
    while (atomic_load(&still)) late_sleep(200);
}

static zf_container *open_written(uint64_t rows, uint64_t rows_per_block) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(walk_write_ordered(place("a.zfd"), rows, rows_per_block, true, true, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, place("a.zfd"), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (container == NULL) abort();
    return container;
}

/// Starts a batch and waits until its pipeline is as far as `far_enough` says, and then whether it goes on. Returns with the
/// pipeline's lock.
static void start_and_settle(zf_pipeline *p, zf_batch *batch, bool (*far_enough)(const zf_pipeline *p, uint64_t),
                             uint64_t bound) {
    zf_error error = {0};
    atomic_store(&still, true);
    CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
    for (unsigned waited = 0;; waited++) {
        pthread_mutex_lock(&p->lock);
        bool far = far_enough(p, bound);
        pthread_mutex_unlock(&p->lock);
        if (far || waited == PATIENCE) break;
        late_sleep(1000);
    }
    late_sleep(SETTLED * 1000);
    pthread_mutex_lock(&p->lock);
    CHECK(far_enough(p, bound), "it is not as far as it may be: %llu bytes in flight, %llu ahead of %llu", (ull)p->in_flight,
          (ull)p->ahead, (ull)bound);
}

static void wait_for_all(zf_batch *batch, size_t count) {
    atomic_store(&still, false);
    for (size_t i = 0; i < count; i++) {
        zf_error error = {0};
        CHECK(zf_batch_wait(batch, i, &error) == ZF_OK, "%s %s", error.code, error.message);
    }
}

// ---- On an accelerator --------------------------------------------------------------------------------------------

static zf_status still_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    hold_still();
    return null_in(self, stream, to, from, bytes, error);
}

static bool queued(const zf_pipeline *p, uint64_t bound) { return p->copied.count == 0 && p->in_flight >= bound; }

/// 64 MiB, or two units where those are larger, and what one more unit has, are queued when copies do not end.
static void test_in_flight(uint64_t unit_bytes, uint64_t bound) {
    zf_error error = {0};
    zf_pipeline_options options = {
        .order = ZF_PIPELINE_GIVEN, .device_staging = 64 * MIB, .host_staging = 64 * MIB, .readers = 2};
    zf_pipeline_request requests[MOST] = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    null_accelerator null;
    late l;
    options.unit_bytes = unit_bytes;
    null_begin(&null, emu);
    null.ops.copy_in = still_in;
    late_begin(&l, &null.base, 0);
    zf_container *container = open_written(LONG_ROWS, LONG_ROWS);
    CHECK(zf_container_load(container, "emu", &error) == ZF_OK, "%s", error.message);
    CHECK(zf_pipeline_create_on(context, "emu", &l.base, &options, &pipeline, &error) == ZF_OK, "%s", error.message);
    if (pipeline == NULL) abort();
    for (size_t i = 0; i < MOST; i++) {
        zf_pipeline_sizes sizes = {0};
        requests[i] = (zf_pipeline_request){.container = container, .on_device = true};
        CHECK(zf_pipeline_request_sizes(pipeline, &requests[i], &sizes, &error) == ZF_OK, "%s", error.message);
        requests[i].device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes.device)};
        null_allocate(&null.base, sizes.device.values, &requests[i].device.values, &error);
    }
    CHECK(zf_batch_create(pipeline, requests, MOST, &batch, &error) == ZF_OK, "%s", error.message);
    if (batch == NULL) abort();
    uint64_t unit = batch->order[0]->described.stored_bytes;
    CHECK(batch->count == MOST && unit >= 4 * MIB && unit * MOST > bound + 2 * unit, "%zu units of %llu bytes", batch->count,
          (ull)unit);
    start_and_settle(pipeline, batch, queued, bound);
    CHECK(pipeline->in_flight < bound + unit, "%llu bytes are in flight, not %llu", (ull)pipeline->in_flight, (ull)bound);
    pthread_mutex_unlock(&pipeline->lock);
    wait_for_all(batch, MOST);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    late_end(&l);
    for (size_t i = 0; i < MOST; i++) null_release(&null.base, requests[i].device.values);
    zf_container_close(container);
}

// ---- On the CPU ---------------------------------------------------------------------------------------------------

static void still_bits(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    hold_still();
    bits_run(args, begin, end);
}
static const zf_abi_kernel_fn still_functions[] = {still_bits};
static const zf_abi_code still_code = {.kernels = still_functions};

static zf_status code(void *self, const zf_abi_plan *plan, const uint64_t *shaping, const zf_abi_code **out, zf_error *error) {
    ZF_TRY(simt_code(self, plan, shaping, out, error));
    if (*out == &walk_codes[2]) *out = &still_code;
    return ZF_OK;
}

static bool read_ahead(const zf_pipeline *p, uint64_t bound) { return p->ahead >= bound; }

/// `units`: how many of them the pipeline's staging has room for, less `less` bytes; `read`: so many are read when none is
/// decoded.
static void test_ahead(unsigned units, unsigned less, unsigned read) {
    zf_error error = {0};
    zf_pipeline_options options = {.order = ZF_PIPELINE_GIVEN, .readers = 2, .unit_bytes = 1}; // a block
    zf_pipeline_request requests[2] = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    zf_container *container = open_written(SHORT_ROWS, SHORT_BLOCK);
    CHECK(zf_pipeline_create(context, "cpu", &options, &pipeline, &error) == ZF_OK, "%s", error.message);
    if (pipeline == NULL) abort();
    for (size_t i = 0; i < 2; i++) {
        zf_pipeline_sizes sizes = {0};
        requests[i] = (zf_pipeline_request){.container = container, .column = 1};
        CHECK(zf_pipeline_request_sizes(pipeline, &requests[i], &sizes, &error) == ZF_OK, "%s", error.message);
        requests[i].host = (zf_decode_buffers){ZF_DECODE_BYTES(sizes.host)};
        requests[i].host.values = aligned_alloc(64, (sizes.host.values + 63) / 64 * 64);
        if (sizes.host.workspace > 0) requests[i].host.workspace = aligned_alloc(64, (sizes.host.workspace + 63) / 64 * 64);
    }
    CHECK(zf_batch_create(pipeline, requests, 2, &batch, &error) == ZF_OK, "%s", error.message);
    if (batch == NULL) abort();
    uint64_t unit = batch->order[0]->file_bytes;
    CHECK(batch->count == 2 * SHORT_ROWS / SHORT_BLOCK && batch->order[batch->count - 1]->file_bytes == unit,
          "%zu units of %llu bytes", batch->count, (ull)unit);
    pipeline->options.host_staging = units * unit - less; // in units, which are known now
    start_and_settle(pipeline, batch, read_ahead, read * unit);
    CHECK(pipeline->ahead == read * unit && pipeline->under_way == read, "%llu bytes of %llu units are read ahead, not %u units",
          (ull)pipeline->ahead, (ull)pipeline->under_way, read);
    pthread_mutex_unlock(&pipeline->lock);
    wait_for_all(batch, 2);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    for (size_t i = 0; i < 2; i++) {
        free(requests[i].host.values);
        free(requests[i].host.workspace);
    }
    zf_container_close(container);
}

int main(void) {
    zf_abi_provider provider = simt_provider();
    zf_error error = {0};
    zf_device device;
    if (!scratch_begin("bounds")) return 1;
    provider.code = code;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    test_in_flight(5 * MIB, 64 * MIB);
    test_in_flight(40 * MIB, 80 * MIB);
    test_ahead(6, 0, 6);
    test_ahead(6, 1, 5);
    test_ahead(1, 1, 1); // what is larger than all goes alone
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

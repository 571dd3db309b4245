// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Copies that are under way when a later call fails: whoever made the memory that they read or write gets it back only when they
// are done. Where a pipeline measures its link, and where it brings strings to the host; each call in turn is the one that fails.
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "tests/support/emulated.h"
#include "tests/support/late_accelerator.h"
#include "tests/support/string_file.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"

/// `SLOW`: microseconds that a copy takes to begin, long after the call behind it has failed.
enum { ROWS = 3000, SLOW = 20000, POISON = 0x77 };

static zf_context *open_context(zf_accelerator **emu) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_device device;
    zf_status status = emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error);
    if (status == ZF_OK) status = zf_device_find(context, "emu", &device, &error);
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, emu, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    if (status != ZF_OK) abort();
    return context;
}

// ---- The link is measured -----------------------------------------------------------------------------------------

static atomic_uint freed;         ///< pieces of memory
static unsigned too_soon;         ///< that were, when a copy ran
static zf_accelerator *copied_to; ///< the emulator
static zf_status (*copy_in)(zf_accelerator *, void *, uint64_t, const void *, uint64_t, zf_error *);

static uint64_t give_device(void *user, uint64_t bytes, uint64_t alignment) {
    uint64_t at = 0;
    (void)user, (void)alignment;
    return copied_to->ops->allocate(copied_to, bytes, &at, NULL) == ZF_OK ? at : 0;
}
static void *give_host(void *user, uint64_t bytes, uint64_t alignment) {
    (void)user;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void take_device(void *user, uint64_t address, uint64_t bytes) {
    (void)user, (void)bytes;
    atomic_fetch_add(&freed, 1);
    copied_to->ops->release(copied_to, address);
}
static void take_host(void *user, void *at, uint64_t bytes) {
    (void)user, (void)bytes;
    atomic_fetch_add(&freed, 1);
    free(at);
}

/// The work on the late accelerator's streams.
static zf_status looking_copy(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes,
                              zf_error *error) {
    if (atomic_load(&freed) == 0) return copy_in(self, stream, to, from, bytes, error);
    too_soon++;
    return ZF_OK;
}

static void test_measuring(void) {
    unsigned failed = 0;
    bool whole = false;
    for (long call = 0; !whole && call < 20; call++) {
        zf_error error = {0};
        zf_pipeline *pipeline = NULL;
        late l;
        zf_context *context = open_context(&copied_to); // of which no rates are known
        zf_accelerator_ops ops = *copied_to->ops;
        const zf_accelerator_ops *before = copied_to->ops;
        copy_in = ops.copy_in;
        ops.copy_in = looking_copy;
        copied_to->ops = &ops;
        late_begin(&l, copied_to, 0);
        atomic_store(&freed, 0);
        atomic_store(&l.copy_delay, SLOW);
        atomic_store(&l.fail_in, call);
        zf_pipeline_options options = {.device_staging = 64 << 10,
                                       .host_staging = 64 << 10,
                                       .readers = 1,
                                       .allocator = {NULL, give_device, take_device, give_host, take_host}};
        zf_status status = zf_pipeline_create_on(context, "emu", &l.base, &options, &pipeline, &error);
        whole = status == ZF_OK;
        failed += !whole;
        if (!whole) {
            CHECK(strcmp(error.code, "ZF1110") == 0 && pipeline == NULL, "call %ld: %s %s", call, error.code, error.message);
            CHECK(atomic_load(&freed) == 2, "call %ld: %u pieces were given back", call, atomic_load(&freed));
        }
        zf_pipeline_free(pipeline);
        late_end(&l); // copies that were queued have run
        CHECK(too_soon == 0, "call %ld: a copy ran when its memory was gone", call);
        CHECK(atomic_load(&l.failed_inside) == 0, "call %ld: %u calls failed when they ran", call, l.failed_inside);
        copied_to->ops = before;
        zf_context_free(context);
    }
    CHECK(failed == 6, "%u calls failed", failed); // two times a note, a copy, a note
}

// ---- Strings come to the host -------------------------------------------------------------------------------------

static struct {
    void *stream;
    long fail_in;
} outs; ///< copies to the host on this stream

static zf_status failing_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    if (stream == outs.stream && outs.fail_in-- == 0) return zf_fail(error, ZF_ERR_DEVICE, "ZF1110", "a call that was to fail");
    return late_out(self, stream, to, from, bytes, error);
}

static char characters[4 * ROWS];
static int64_t offsets[ROWS + 1];
static uint8_t validity[(ROWS + 7) / 8];

/// The caller's memory, which is all of a kind until rows come.
static struct {
    _Alignas(64) uint8_t values[4 * ROWS + 64];
    _Alignas(64) uint8_t validity[ROWS / 8 + 64];
    int64_t offsets[ROWS + 1];
} made;

static size_t written(void) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof made; i++) count += ((const uint8_t *)&made)[i] != POISON;
    return count;
}

static void test_fetching(void) {
    zf_error error = {0};
    zf_accelerator *emu;
    zf_context *context = open_context(&emu);
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_compiler_options std = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    CHECK(zf_compiler_create(context, &std, &compiler, &error) == ZF_OK, "%s", error.message);
    string_file_write(compiler, ROWS, 0, characters, offsets, validity);
    CHECK(zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK, "%s", error.message);
    unsigned failed = 0;
    bool whole = false;
    for (long call = 0; !whole && call < 20; call++) {
        late l;
        zf_pipeline *pipeline = NULL;
        zf_batch *batch = NULL;
        zf_pipeline_options options = {.device_staging = 1 << 20, .host_staging = 1 << 20, .readers = 1};
        zf_pipeline_request request = {.container = container,
                                       .host = {.values = made.values,
                                                .offsets = made.offsets,
                                                .validity = made.validity,
                                                .values_bytes = sizeof made.values,
                                                .offsets_bytes = sizeof made.offsets,
                                                .validity_bytes = sizeof made.validity}};
        late_begin(&l, emu, 0);
        l.ops.copy_out = failing_out;
        zf_status status = zf_pipeline_create_on(context, "emu", &l.base, &options, &pipeline, &error);
        if (status == ZF_OK) status = zf_batch_create(pipeline, &request, 1, &batch, &error);
        CHECK(status == ZF_OK, "%s", error.message);
        if (status != ZF_OK) abort();
        outs.stream = pipeline->delivery;
        outs.fail_in = call;
        atomic_store(&l.copy_delay, SLOW);
        memset(&made, POISON, sizeof made);
        CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
        whole = zf_batch_wait(batch, 0, &error) == ZF_OK;
        if (!whole) {
            failed++;
            CHECK(strcmp(error.code, "ZF1110") == 0, "call %ld: %s %s", call, error.code, error.message);
            memset(&made, POISON, sizeof made); // the caller's again
        }
        zf_batch_free(batch);
        zf_pipeline_free(pipeline);
        late_end(&l);
        CHECK(atomic_load(&l.failed_inside) == 0, "call %ld: %u calls failed when they ran", call, l.failed_inside);
        if (!whole) CHECK(written() == 0, "call %ld: %zu bytes of the caller's were written later", call, written());
    }
    CHECK(failed == 3, "%u calls failed", failed); // validity, offsets, bytes
    CHECK(memcmp(made.values, characters, (size_t)offsets[ROWS]) == 0 && memcmp(made.offsets, offsets, sizeof offsets) == 0 &&
              memcmp(made.validity, validity, sizeof validity) == 0,
          "rows are wrong");
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
}

int main(void) {
    if (!scratch_begin("underway")) return 1;
    test_measuring();
    test_fetching();
    scratch_remove(scratch);
    return check_result();
}

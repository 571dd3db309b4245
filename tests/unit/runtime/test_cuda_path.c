// Links: zipflow-compiler
// What the path of an asynchronous decode asks of CUDA's driver: copies, launches and one fill, on the caller's stream; nothing
// that allocates or waits. And launches do not grow with the blocks. With the compiler's own PTX, and a driver that is none.
#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/device/device.h"
#include "tests/support/demand.h"
#include "tests/support/fake_cuda_open.h"
#include "tests/support/scratch_directory.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

typedef unsigned long long ull;

enum { BLOCK = 4096, MANY = 50, COLUMNS = 5, SYMBOLS = 40 };

static zf_fake_cuda *fake;
static zf_context *context;
static zf_accelerator *gpu;

static const char text[] = "table t {\n"
                           "    widths: u32 = bitpack;\n"
                           "    dates:  i32 = dictionary(codes: bitpack);\n"
                           "    steps:  i64 = delta(bitpack);\n"
                           "    runs:   i32 = rle(values: bitpack, counts: bitpack);\n"
                           "    nests:  i64 = dictionary(codes: dictionary(codes: bitpack, entries: delta(bitpack)),\n"
                           "                             entries: delta(bitpack));\n"
                           "}\n";

// ---- Calls of the driver --------------------------------------------------------------------------------------

static struct {
    const char *symbol;
    unsigned count;
} calls[SYMBOLS];
static unsigned call_count;
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_call(const char *symbol) {
    pthread_mutex_lock(&calls_lock);
    unsigned k = 0;
    while (k < call_count && strcmp(calls[k].symbol, symbol) != 0) k++;
    if (k == SYMBOLS) abort();
    if (k == call_count) calls[call_count++].symbol = symbol;
    calls[k].count++;
    pthread_mutex_unlock(&calls_lock);
}

static unsigned calls_of(const char *symbol) {
    for (unsigned k = 0; k < call_count; k++) {
        if (strcmp(calls[k].symbol, symbol) == 0) return calls[k].count;
    }
    return 0;
}

static void start_counting(void) {
    memset(calls, 0, sizeof calls);
    call_count = 0;
    fake->called = note_call;
}

/// Everything that the path may ask for; the rest allocates, waits or compiles.
static void check_calls(const char *what, uint64_t launches) {
    static const char *const allowed[] = {"cuCtxPushCurrent_v2", "cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel",
                                          "cuMemcpyDtoHAsync_v2"};
    fake->called = NULL;
    for (unsigned k = 0; k < call_count; k++) {
        bool good = false;
        for (size_t a = 0; a < sizeof allowed / sizeof allowed[0]; a++) good = good || strcmp(calls[k].symbol, allowed[a]) == 0;
        CHECK(good, "%s: zf_decode_async calls %s %u times", what, calls[k].symbol, calls[k].count);
    }
    CHECK(calls_of("cuLaunchKernel") == launches, "%s: %u launches reach the driver, %llu are counted", what,
          calls_of("cuLaunchKernel"), (ull)launches);
    CHECK(calls_of("cuMemcpyDtoHAsync_v2") == 1 && calls_of("cuMemsetD8Async") == 1, "%s: %u copies back, %u fills", what,
          calls_of("cuMemcpyDtoHAsync_v2"), calls_of("cuMemsetD8Async"));
    CHECK(calls_of("cuMemcpyHtoDAsync_v2") >= 2, "%s: %u copies in", what, calls_of("cuMemcpyHtoDAsync_v2"));
}

// ---- Decodes --------------------------------------------------------------------------------------------------

static zf_container *encode_and_open(zf_program *program, uint64_t blocks, const char *name) {
    static uint32_t widths[MANY * BLOCK];
    static int32_t dates[MANY * BLOCK], runs[MANY * BLOCK];
    static int64_t steps[MANY * BLOCK], nests[MANY * BLOCK];
    uint64_t rows = blocks * BLOCK;
    for (uint64_t i = 0; i < rows; i++) { // every block the same, so that all share their shaping values
        uint64_t k = i % BLOCK;
        widths[i] = (uint32_t)(k * 7919 % 1000);
        dates[i] = (int32_t)(8000 + k * 31 % 500);
        steps[i] = (int64_t)(k * 3 + k % 3);
        runs[i] = (int32_t)(k / 9 * 17 % 300);
        nests[i] = (int64_t)(k / 20 * 4 + k / 5 % 4);
    }
    const zf_encode_column columns[COLUMNS] = {{.name = "widths", .values = widths},
                                               {.name = "dates", .values = dates},
                                               {.name = "steps", .values = steps},
                                               {.name = "runs", .values = runs},
                                               {.name = "nests", .values = nests}};
    zf_error error = {0};
    zf_container *container = NULL;
    const char *path = place(name);
    zf_encode_options options = {.rows_per_block = BLOCK, .threads = 1, .overwrite = true};
    zf_status status = zf_encode(program, NULL, columns, COLUMNS, rows, &options, path, NULL, &error);
    if (status == ZF_OK) status = zf_container_open(context, path, &container, &error);
    demand(status, &error);
    return container;
}

/// Decodes a column twice on one stream and once on another; the launches of one decode.
static uint64_t decode_traced(zf_container *container, size_t column, const char *what) {
    zf_error error = {0};
    zf_prepared *prepared = NULL;
    zf_device_sizes sizes = {0};
    zf_device_buffers buffers = {0};
    zf_decode_stats stats = {0};
    uint64_t once = 0;
    zf_status status = zf_decode_prepare(container, column, "cuda", NULL, &prepared, &error);
    if (status == ZF_OK) status = zf_decode_device_size(prepared, &sizes, &error);
    buffers = (zf_device_buffers){ZF_DEVICE_BYTES(sizes)};
    if (status == ZF_OK) status = gpu->ops->allocate(gpu, sizes.values, &buffers.values, &error);
    if (status == ZF_OK) status = gpu->ops->allocate(gpu, sizes.workspace, &buffers.workspace, &error);
    CHECK(status == ZF_OK, "%s: %s %s (%s)", what, error.code, error.message, error.place);
    if (status != ZF_OK) exit(check_result());
    buffers.staging = malloc(sizes.staging);
    void *streams[2];
    for (int k = 0; k < 2; k++) CHECK(gpu->ops->stream_open(gpu, &streams[k], &error) == ZF_OK, "%s", error.message);
    for (int round = 0; round < 3; round++) {
        uint64_t before = stats.launches;
        start_counting();
        status = zf_decode_async(prepared, streams[round == 2], &buffers, &error);
        fake->called = NULL;
        CHECK(status == ZF_OK, "%s: %s %s", what, error.code, error.message);
        CHECK(zf_decode_status(prepared, &stats, &error) == ZF_OK, "%s: %s", what, error.message);
        once = stats.launches - before;
        check_calls(what, once);
    }
    for (int k = 0; k < 2; k++) gpu->ops->stream_close(gpu, streams[k]);
    gpu->ops->release(gpu, buffers.values);
    gpu->ops->release(gpu, buffers.workspace);
    free(buffers.staging);
    zf_prepared_free(prepared);
    return once;
}

/// If zf_decode_async fails half-way, zf_decode_status returns its error, whatever the staging memory holds: here the words of
/// kernels that found no failure. This is so after a good decode too, and a good one comes after it.
static void test_half_queued(zf_container *container) {
    static const char *const failing[] = {"cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2"};
    zf_error error = {0}, first = {0};
    zf_device_sizes sizes = {0};
    zf_device_buffers buffers = {0};
    for (size_t i = 0; i < 2 * (sizeof failing / sizeof failing[0]); i++) {
        const char *symbol = failing[i / 2];
        zf_prepared *prepared = NULL;
        zf_status status = zf_decode_prepare(container, 1, "cuda", NULL, &prepared, &error);
        if (status == ZF_OK) status = zf_decode_device_size(prepared, &sizes, &error);
        buffers = (zf_device_buffers){ZF_DEVICE_BYTES(sizes)};
        if (status == ZF_OK) status = gpu->ops->allocate(gpu, sizes.values, &buffers.values, &error);
        if (status == ZF_OK) status = gpu->ops->allocate(gpu, sizes.workspace, &buffers.workspace, &error);
        CHECK(status == ZF_OK, "%s %s", error.code, error.message);
        if (status != ZF_OK) exit(check_result());
        buffers.staging = malloc(sizes.staging);
        if (i % 2 == 1) { // reused
            CHECK(zf_decode_async(prepared, NULL, &buffers, &error) == ZF_OK, "%s", error.message);
            CHECK(zf_decode_status(prepared, NULL, &error) == ZF_OK, "%s", error.message);
        }
        memset(buffers.staging, 0xff, sizes.staging);
        fake->failing = symbol, fake->result = 1;
        CHECK(zf_decode_async(prepared, NULL, &buffers, &first) == ZF_ERR_DEVICE, "%s failed unnoticed", symbol);
        CHECK(fake->failing == NULL, "%s was not called", symbol);
        for (int again = 0; again < 2; again++) {
            error = (zf_error){0};
            CHECK(zf_decode_status(prepared, NULL, &error) == ZF_ERR_DEVICE, "%s failed, and the decode is good", symbol);
            CHECK(strcmp(error.code, "ZF1110") == 0 && strcmp(error.message, first.message) == 0, "%s: %s %s", symbol, error.code,
                  error.message);
            CHECK(zf_decode_status(prepared, NULL, NULL) == ZF_ERR_DEVICE, "%s: without a place for the error", symbol);
        }
        fake->failing = symbol;
        CHECK(zf_decode_async(prepared, NULL, &buffers, NULL) == ZF_ERR_DEVICE, "%s: without a place for the error", symbol);
        CHECK(zf_decode_status(prepared, NULL, &error) == ZF_ERR_DEVICE && error.message[0] != 0, "%s: no error", symbol);
        CHECK(zf_decode_async(prepared, NULL, &buffers, &error) == ZF_OK, "%s: %s", symbol, error.message);
        CHECK(zf_decode_status(prepared, NULL, &error) == ZF_OK, "%s: %s", symbol, error.message);
        gpu->ops->release(gpu, buffers.values);
        gpu->ops->release(gpu, buffers.workspace);
        free(buffers.staging);
        zf_prepared_free(prepared);
    }
}

/// A decode into the host's memory waits, but once, and gives back what it takes.
static void decode_to_host(zf_container *container) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    CHECK(zf_decode_size(container, 0, NULL, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_decode_buffers buffers = {.values = aligned_alloc(64, (sizes.values + 63) / 64 * 64), ZF_DECODE_BYTES(sizes)};
    start_counting();
    CHECK(zf_decode(container, 0, "cuda", NULL, &buffers, NULL, &error) == ZF_OK, "%s %s", error.code, error.message);
    fake->called = NULL;
    CHECK(calls_of("cuStreamSynchronize") == 2 && calls_of("cuMemAlloc_v2") == 2 && calls_of("cuMemFree_v2") == 2,
          "%u waits, %u allocations, %u given back", calls_of("cuStreamSynchronize"), calls_of("cuMemAlloc_v2"),
          calls_of("cuMemFree_v2"));
    free(buffers.values);
}

// ---- Streams of zf_decode -------------------------------------------------------------------------------------

/// The calls that one decode enqueued, and waited for.
typedef struct streams {
    pthread_t thread; ///< that decodes
    void *only;       ///< the stream of all of it
    unsigned calls, others;
    bool synchronised;
} streams;

static streams decodes[2]; ///< the outer, and the one that runs while it is under way
static zf_container *decoded;
static zf_decode_options outer, inner;

static void decode_one(const zf_decode_options *options) {
    zf_error error = {0};
    zf_decode_sizes sizes = {0};
    CHECK(zf_decode_size(decoded, 0, options, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_decode_buffers buffers = {.values = aligned_alloc(64, (sizes.values + 63) / 64 * 64), ZF_DECODE_BYTES(sizes)};
    CHECK(zf_decode(decoded, 0, "cuda", options, &buffers, NULL, &error) == ZF_OK, "%s %s", error.code, error.message);
    free(buffers.values);
}

static void *decode_inner(void *user) {
    (void)user;
    decodes[1].thread = pthread_self();
    decode_one(&inner);
    return NULL;
}

static void note_stream(const char *symbol, zf_cu_stream stream) {
    bool is_outer = pthread_equal(pthread_self(), decodes[0].thread) != 0;
    streams *s = &decodes[is_outer ? 0 : 1];
    if (s->calls++ == 0) s->only = stream;
    if (stream != s->only) s->others++;
    s->synchronised = s->synchronised || strcmp(symbol, "cuStreamSynchronize") == 0;
    if (is_outer && s->calls == 1) { // another thread decodes from begin to end while this one's first call is under way
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, decode_inner, NULL) == 0, "no thread");
        pthread_join(thread, NULL);
    }
}

/// Two decodes at once: each uses one stream alone, its own or the one that it is given, and never the default one.
static void test_streams(zf_container *container) {
    zf_error error = {0};
    void *given = NULL;
    CHECK(gpu->ops->stream_open(gpu, &given, &error) == ZF_OK && given != NULL, "%s", error.message);
    for (unsigned gives = 0; gives < 4; gives++) {
        memset(decodes, 0, sizeof decodes);
        decoded = container;
        outer = (zf_decode_options){.stream = gives & 1 ? given : NULL};
        inner = (zf_decode_options){.stream = gives & 2 ? given : NULL};
        decodes[0].thread = pthread_self();
        fake->on_stream = note_stream;
        decode_one(&outer);
        fake->on_stream = NULL;
        for (unsigned d = 0; d < 2; d++) {
            CHECK(decodes[d].calls > 3 && decodes[d].others == 0 && decodes[d].synchronised && decodes[d].only != NULL,
                  "decode %u: %u calls, %u of them on other streams than %p", d, decodes[d].calls, decodes[d].others,
                  decodes[d].only);
            CHECK((decodes[d].only == given) == (gives >> d & 1), "decode %u does not use the stream that it should", d);
        }
        CHECK(gives == 3 || decodes[0].only != decodes[1].only, "both decodes use one stream");
    }
    gpu->ops->stream_close(gpu, given);
}

/// Memory that there is not, and code that the driver refuses: an error for the decode, and the next one is good.
static void test_refused(zf_container *container) {
    static const struct {
        const char *symbol;
        zf_cu_result result;
        const char *code, *words;
    } cases[] = {{"cuMemAlloc_v2", ZF_CU_OUT_OF_MEMORY, "ZF1108", "free"},
                 {"cuMemcpyHtoDAsync_v2", ZF_CU_OUT_OF_MEMORY, "ZF1110", "no memory left"},
                 {"cuLaunchKernel", ZF_CU_LAUNCH_OUT_OF_RESOURCES, "ZF1110", "registers"},
                 {"cuLaunchKernel", 1, "ZF1110", "launching a kernel"}};
    zf_error error;
    zf_decode_sizes sizes = {0};
    CHECK(zf_decode_size(container, 2, NULL, &sizes, &error) == ZF_OK, "%s", error.message);
    zf_decode_buffers buffers = {.values = aligned_alloc(64, (sizes.values + 63) / 64 * 64), ZF_DECODE_BYTES(sizes)};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake->failing = cases[i].symbol, fake->result = cases[i].result;
        zf_status status = zf_decode(container, 2, "cuda", NULL, &buffers, NULL, &error);
        CHECK(status == ZF_ERR_DEVICE && strcmp(error.code, cases[i].code) == 0, "%s: %s %s", cases[i].symbol, error.code,
              error.message);
        CHECK(strstr(error.message, cases[i].words) != NULL || strstr(error.hint, cases[i].words) != NULL, "%s: %s (%s)",
              cases[i].symbol, error.message, error.hint);
        CHECK(fake->allocations == 0, "%s: %u allocations are left", cases[i].symbol, fake->allocations);
        CHECK(zf_decode(container, 2, "cuda", NULL, &buffers, NULL, &error) == ZF_OK, "%s, the next decode: %s %s",
              cases[i].symbol, error.code, error.message);
    }
    size_t room = fake->free;
    fake->free = 1000;
    CHECK(zf_decode(container, 2, "cuda", NULL, &buffers, NULL, &error) == ZF_ERR_DEVICE && strcmp(error.code, "ZF1108") == 0,
          "%s %s", error.code, error.message);
    fake->free = room;
    CHECK(zf_decode(container, 2, "cuda", NULL, &buffers, NULL, &error) == ZF_OK, "%s %s", error.code, error.message);
    free(buffers.values);
}

/// PTX that the driver refuses, of columns that were not loaded before: an error, and the next time it is loaded.
static void test_rejected(zf_program *program) {
    static const struct {
        zf_cu_result result;
        const char *words;
    } cases[] = {{ZF_CU_INVALID_PTX, "218"},
                 {ZF_CU_UNSUPPORTED_PTX_VERSION, "CUDA 12.4"},
                 {ZF_CU_NO_BINARY_FOR_GPU, "another architecture"},
                 {ZF_CU_JIT_COMPILER_NOT_FOUND, "ptxjitcompiler"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        zf_container *container = encode_and_open(program, 1, "rejected.zfd");
        zf_error error;
        zf_prepared *prepared = NULL;
        fake->failing = "cuModuleLoadDataEx", fake->result = cases[i].result;
        zf_status status = zf_decode_prepare(container, i, "cuda", NULL, &prepared, &error);
        CHECK(status == ZF_ERR_DEVICE && strcmp(error.code, "ZF1111") == 0, "%s %s", error.code, error.message);
        CHECK(strstr(error.message, cases[i].words) != NULL || strstr(error.hint, cases[i].words) != NULL, "no \"%s\": %s (%s)",
              cases[i].words, error.message, error.hint);
        CHECK(zf_decode_prepare(container, i, "cuda", NULL, &prepared, &error) == ZF_OK, "the next time: %s %s", error.code,
              error.message);
        zf_prepared_free(prepared);
        zf_container_close(container);
    }
}

// ---- The pipeline -----------------------------------------------------------------------------------------------

/// The driver's calls of a batch between its start and its end: copies, launches, events. None allocates or frees, nor waits
/// for a stream, the context or the device. From a file, and from pinned memory.
static void test_pipeline(zf_container *container) {
    static const char *const allowed[] = {"cuCtxPushCurrent_v2", "cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent",
                                          "cuEventRecord",       "cuLaunchKernel",       "cuMemcpyDtoHAsync_v2",
                                          "cuEventSynchronize",  "cuEventElapsedTime"};
    zf_pipeline_options options = {.device_staging = 64 << 20, .host_staging = 16 << 20, .readers = 2, .unit_bytes = 40000};
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    CHECK(zf_pipeline_create(context, "cuda", &options, &pipeline, &error) == ZF_OK, "%s %s", error.code, error.message);
    if (pipeline == NULL) exit(check_result());
    for (unsigned loaded = 0; loaded < 2; loaded++) {
        zf_pipeline_request requests[COLUMNS] = {{.container = container}};
        zf_batch *batch = NULL;
        zf_batch_info info = {0};
        if (loaded) CHECK(zf_container_load(container, "cuda", &error) == ZF_OK, "%s", error.message);
        for (size_t c = 0; c < COLUMNS; c++) {
            zf_pipeline_sizes sizes = {0};
            requests[c] = (zf_pipeline_request){.container = container, .column = c, .on_device = true};
            zf_status status = zf_pipeline_request_sizes(pipeline, &requests[c], &sizes, &error);
            requests[c].device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes.device)};
            if (status == ZF_OK) status = gpu->ops->allocate(gpu, sizes.device.values, &requests[c].device.values, &error);
            CHECK(status == ZF_OK, "%s %s", error.code, error.message);
        }
        CHECK(zf_batch_create(pipeline, requests, COLUMNS, &batch, &error) == ZF_OK, "%s %s", error.code, error.message);
        if (batch == NULL) exit(check_result());
        for (unsigned round = 0; round < 2; round++) {
            if (round == 1) start_counting(); // before that code is loaded
            CHECK(zf_batch_start(batch, &error) == ZF_OK, "%s", error.message);
            for (size_t c = 0; c < COLUMNS; c++) {
                CHECK(zf_batch_follow(batch, c, NULL, &error) == ZF_OK, "%s", error.message);
                CHECK(zf_batch_wait(batch, c, &error) == ZF_OK, "%s %s", error.code, error.message);
            }
            fake->called = NULL;
        }
        for (unsigned k = 0; k < call_count; k++) {
            bool good = false;
            for (size_t a = 0; a < sizeof allowed / sizeof allowed[0]; a++)
                good = good || strcmp(calls[k].symbol, allowed[a]) == 0;
            CHECK(good, "the pipeline calls %s %u times", calls[k].symbol, calls[k].count);
        }
        CHECK(zf_batch_describe(batch, &info, &error) == ZF_OK && info.units > COLUMNS, "%zu units", info.units);
        // One copy brings a unit: from a file with its tables; of what was loaded they stay on the device, with failure words
        // that say nothing. Two events say when it is there and decoded, one more where the batch began, or a copy waited for
        // memory.
        CHECK(calls_of("cuMemcpyHtoDAsync_v2") == info.units && calls_of("cuLaunchKernel") >= info.units &&
                  calls_of("cuMemcpyDtoHAsync_v2") == info.units,
              "%u copies, %u launches and %u copies of words of %zu units", calls_of("cuMemcpyHtoDAsync_v2"),
              calls_of("cuLaunchKernel"), calls_of("cuMemcpyDtoHAsync_v2"), info.units);
        CHECK(calls_of("cuEventRecord") == 2 * info.units + 1, "%u events of %zu units", calls_of("cuEventRecord"), info.units);
        zf_batch_free(batch);
        for (size_t c = 0; c < COLUMNS; c++) gpu->ops->release(gpu, requests[c].device.values);
    }
    zf_pipeline_free(pipeline);
    CHECK(fake->depth_errors == 0, "%u calls without a context", fake->depth_errors);
}

// ---- Behind a stream of the caller ----------------------------------------------------------------------------

enum { SEEN_STREAMS = 16 };

static struct {
    zf_cu_stream streams[SEEN_STREAMS]; ///< that wait for the caller's event
    unsigned count;
    zf_cu_event event;                     ///< recorded on the caller's stream
    unsigned early, writes, others, waits; ///< writes that no wait precedes; all; allocations on other streams; waits of the host
} behind;
static pthread_mutex_t behind_lock = PTHREAD_MUTEX_INITIALIZER;
static zf_cu_stream callers;

static void note_event(const char *symbol, zf_cu_stream stream, zf_cu_event event) {
    pthread_mutex_lock(&behind_lock);
    if (strcmp(symbol, "cuEventRecord") == 0 && stream == callers) behind.event = event;
    if (strcmp(symbol, "cuStreamWaitEvent") == 0 && event == behind.event && behind.event != NULL) {
        if (behind.count == SEEN_STREAMS) abort();
        behind.streams[behind.count++] = stream;
    }
    pthread_mutex_unlock(&behind_lock);
}

static void note_write(const char *symbol, zf_cu_stream stream) {
    pthread_mutex_lock(&behind_lock);
    if (strcmp(symbol, "cuLaunchKernel") == 0 || strcmp(symbol, "cuMemsetD8Async") == 0) { // copies in go to staging
        bool waits = false;
        for (unsigned s = 0; s < behind.count; s++) waits = waits || behind.streams[s] == stream;
        behind.writes++;
        if (!waits) behind.early++;
    }
    bool is_memory = strcmp(symbol, "cuMemAllocAsync") == 0 || strcmp(symbol, "cuMemFreeAsync") == 0;
    if (is_memory && stream != callers) behind.others++;
    if (strcmp(symbol, "cuStreamSynchronize") == 0) behind.waits++;
    pthread_mutex_unlock(&behind_lock);
}

/// Rows are written behind the work on the caller's stream, by every decode stream. Memory comes and goes in that stream's order.
static void test_behind(zf_container *container) {
    zf_pipeline_options options = {.device_staging = 64 << 20, .host_staging = 16 << 20, .readers = 2, .unit_bytes = 40000};
    zf_pipeline_request requests[COLUMNS] = {{.container = container}};
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    callers = (zf_cu_stream)(uintptr_t)0x70;
    fake->on_stream = note_write, fake->on_event = note_event;
    memset(&behind, 0, sizeof behind);
    demand(zf_pipeline_create(context, "cuda", &options, &pipeline, &error), &error);
    for (size_t c = 0; c < COLUMNS; c++) {
        zf_pipeline_sizes sizes = {0};
        requests[c] = (zf_pipeline_request){.container = container, .column = c, .on_device = true};
        demand(zf_pipeline_request_sizes(pipeline, &requests[c], &sizes, &error), &error);
        requests[c].device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes.device)};
        demand(zf_device_allocate(context, "cuda", callers, sizes.device.values, &requests[c].device.values, &error), &error);
    }
    demand(zf_batch_create(pipeline, requests, COLUMNS, &batch, &error), &error);
    for (unsigned round = 0; round < 3; round++) {
        bool follows = round != 1;
        memset(&behind, 0, sizeof behind);
        demand(follows ? zf_batch_start_behind(batch, callers, &error) : zf_batch_start(batch, &error), &error);
        for (size_t c = 0; c < COLUMNS; c++) CHECK(zf_batch_wait(batch, c, &error) == ZF_OK, "%s %s", error.code, error.message);
        CHECK(behind.writes > COLUMNS && behind.early == (follows ? 0 : behind.writes),
              "round %u: %u of %u writes wait for nothing", round, behind.early, behind.writes);
        CHECK((behind.event != NULL) == follows && behind.count == (follows ? 2 : 0), "round %u: %u streams wait", round,
              behind.count);
    }
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
    uint8_t first[8];
    memset((void *)(uintptr_t)requests[2].device.values, 0x5a, sizeof first); // the fake's memory is the host's
    CHECK(zf_device_copy_out(context, "cuda:0", callers, first, requests[2].device.values, sizeof first, &error) == ZF_OK &&
              first[0] == 0x5a && first[7] == 0x5a,
          "%s %s", error.code, error.message);
    behind.waits = 0;
    for (size_t c = 0; c < COLUMNS; c++) zf_device_release(context, "cuda", callers, requests[c].device.values);
    CHECK(behind.waits == 0 && behind.others == 0, "%u waits, %u allocations on other streams", behind.waits, behind.others);
    fake->on_stream = NULL, fake->on_event = NULL;
}

/// Calls for memory that are wrong.
static void test_device_memory(void) {
    zf_error error;
    uint64_t address = 1;
    CHECK(zf_device_allocate(context, "cpu", NULL, 8, &address, &error) == ZF_ERR_UNSUPPORTED && address == 0 &&
              strcmp(error.code, "ZF1406") == 0,
          "%s", error.code);
    CHECK(zf_device_allocate(context, "cuda:7", NULL, 8, &address, &error) == ZF_ERR_DEVICE, "%s", error.code);
    CHECK(zf_device_allocate(context, "cuda", NULL, UINT64_C(1) << 40, &address, &error) == ZF_ERR_DEVICE && address == 0 &&
              strcmp(error.code, "ZF1108") == 0,
          "%s", error.code);
    CHECK(zf_device_allocate(NULL, "cuda", NULL, 8, &address, &error) == ZF_ERR_USAGE &&
              zf_device_allocate(context, "cuda", NULL, 8, NULL, &error) == ZF_ERR_USAGE,
          "%s", error.code);
    CHECK(zf_device_copy_in(context, "cuda", NULL, 0, NULL, 8, &error) == ZF_ERR_USAGE &&
              zf_device_copy_in(context, "cpu", NULL, 0, NULL, 0, &error) == ZF_ERR_UNSUPPORTED &&
              zf_device_copy_in(context, "cuda", NULL, 0, NULL, 0, &error) == ZF_OK,
          "%s", error.code);
    CHECK(zf_device_copy_out(context, "cuda", NULL, NULL, 0, 8, &error) == ZF_ERR_USAGE &&
              zf_device_copy_out(context, "cpu", NULL, NULL, 0, 0, &error) == ZF_ERR_UNSUPPORTED &&
              zf_device_copy_out(context, "cuda", NULL, NULL, 0, 0, &error) == ZF_OK,
          "%s", error.code);
    CHECK(zf_device_allocate(context, "cuda", NULL, 0, &address, &error) == ZF_OK && address != 0 && address % 256 == 0, "%s",
          error.code);
    zf_device_release(context, "cuda", NULL, address);
    zf_device_release(context, "cuda", NULL, 0);
    zf_device_release(NULL, "cuda", NULL, 0);
}

// ---- The cache of compiled code -------------------------------------------------------------------------------

enum { FILES_MOST = 16 };

static char kept[FILES_MOST][256];
static unsigned kept_count;

static int is_code(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)where;
    if (kind == FTW_F && status->st_size > 64 && kept_count < FILES_MOST) snprintf(kept[kept_count++], 256, "%s", path);
    return 0;
}

static double prepare_anew(const char *cache, const char *path) {
    zf_error error = {0};
    zf_context *own = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_prepared *prepared = NULL;
    zf_decode_stats stats = {0};
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_status status = zf_context_create(&(zf_context_options){.cache_dir = cache, .threads = 1}, &own, &error);
    if (status == ZF_OK) status = zf_compiler_create(own, &options, &compiler, &error);
    if (status == ZF_OK) status = zf_container_open(own, path, &container, &error);
    if (status == ZF_OK) status = zf_decode_prepare(container, 3, "cuda", NULL, &prepared, &error);
    CHECK(status == ZF_OK, "%s %s (%s)", error.code, error.message, error.place);
    zf_decode_status(prepared, &stats, &error); // before the first decode it fills the figures, and is an error
    CHECK(stats.compile_seconds > 0 && stats.load_seconds > 0, "%g s compiling, %g s loading", stats.compile_seconds,
          stats.load_seconds);
    zf_prepared_free(prepared);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(own);
    return stats.compile_seconds;
}

/// Code in the cache is compared with its checksum: damaged code never comes to the driver.
static void test_cache(const char *path) {
    char cache[128];
    snprintf(cache, sizeof cache, "%s/cache", scratch);
    double first = prepare_anew(cache, path), second = prepare_anew(cache, path);
    printf("compiling takes %.4f s, %.4f s from the cache\n", first, second);
    CHECK(nftw(cache, is_code, 8, FTW_PHYS) == 0 && kept_count > 0, "nothing was kept in %s", cache);
    for (unsigned damage = 0; damage < 3; damage++) {
        for (unsigned k = 0; k < kept_count; k++) {
            struct stat status;
            FILE *file = fopen(kept[k], "r+");
            if (file == NULL || fstat(fileno(file), &status) != 0) exit(2);
            if (damage == 2 && ftruncate(fileno(file), status.st_size / 2) != 0) exit(2);
            fseek(file, damage == 0 ? status.st_size / 2 : status.st_size - 20, SEEK_SET);
            if (damage < 2) fputs("nonsense", file);
            fclose(file);
        }
        unsigned before = fake->compilations;
        prepare_anew(cache, path);
        CHECK(fake->compilations == before + 1, "%u compilations of the driver", fake->compilations - before);
    }
    scratch_remove(cache);
}

int main(void) {
    fake = fake_cuda_open();
    if (fake == NULL || !scratch_begin("path")) return 2;
    *fake = (zf_fake_cuda){.version = 12040, .devices = 1, .major = 9, .minor = 0, .total = 1 << 28, .free = 1 << 28};
    const char *source = place("t.zf");
    FILE *file = fopen(source, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) return 2;

    zf_error error = {0};
    zf_compiler *compiler = NULL;
    zf_program *program = NULL;
    zf_device device;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    zf_status status = zf_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error);
    if (status == ZF_OK) status = zf_compiler_create(context, &options, &compiler, &error);
    if (status == ZF_OK) status = zf_program_load(compiler, source, &program, &error);
    if (status == ZF_OK) status = zf_device_find(context, "cuda", &device, &error);
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, &gpu, &error);
    CHECK(status == ZF_OK, "%s %s (%s)", error.code, error.message, error.place);
    if (status == ZF_OK) {
        test_rejected(program);
        zf_container *one = encode_and_open(program, 1, "one.zfd"), *many = encode_and_open(program, MANY, "many.zfd");
        static const char *const names[COLUMNS] = {"widths", "dates", "steps", "runs", "nests"};
        static const uint64_t kernels[COLUMNS] = {1, 1, 1, 1, 3};
        for (size_t c = 0; c < COLUMNS; c++) {
            uint64_t of_one = decode_traced(one, c, names[c]), of_many = decode_traced(many, c, names[c]);
            CHECK(of_one == kernels[c] && of_many == kernels[c], "%s: %llu launches for a block, %llu for %d", names[c],
                  (ull)of_one, (ull)of_many, MANY);
            printf("%-8s %llu launches for 1 block, %llu for %d\n", names[c], (ull)of_one, (ull)of_many, MANY);
        }
        decode_to_host(many);
        test_streams(many);
        test_half_queued(one);
        test_refused(one);
        test_pipeline(many);
        test_behind(many);
        test_device_memory();
        zf_container_close(one);
        zf_container_close(many);
        test_cache(place("one.zfd"));
    }
    zf_program_free(program);
    zf_compiler_free(compiler);
    zf_context_free(context);
    CHECK(fake->allocations == 0 && fake->retained == 0 && fake->loads == fake->unloads, "something was not given back");
    CHECK(fake->depth_errors == 0 && fake->pushed == 0, "calls without the context");
    scratch_remove(scratch);
    return check_result();
}

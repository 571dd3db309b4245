// Links: zipflow-compiler zipflow-patterns zipflow-frontend zipflow-runtime zipflow-emu
// Cancelling a decode: wherever its caller says so it ends with ZF_ERR_CANCELLED, and asks no further. The callback also counts
// the threads that decode.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/emulated.h"
#include "tests/support/string_file.h"
#include "tests/unit/check.h"
#include "zipflow/compile.h"
#include "zipflow/pipeline.h"

enum { ROWS = 9000, ROWS_PER_BLOCK = 4096, BLOCKS = 3, NEVER = 1000 };

static char characters[4 * ROWS];
static int64_t offsets[ROWS + 1];
static uint8_t validity[(ROWS + 7) / 8];
static _Alignas(64) uint8_t made[4 * ROWS + 64], made_validity[ROWS / 8 + 64], work[1 << 22];
static int64_t made_offsets[ROWS + 1];

/// Cancels when it was asked so often.
typedef struct patience {
    unsigned calls, most;
} patience;

static bool run_out(void *user) {
    patience *p = user;
    return p->calls++ >= p->most;
}

typedef enum call { DECODE, PREPARE, OBTAIN } call;

static const zf_decode_buffers buffers = {.values = made,
                                          .offsets = made_offsets,
                                          .validity = made_validity,
                                          .workspace = work,
                                          .values_bytes = sizeof made,
                                          .offsets_bytes = sizeof made_offsets,
                                          .validity_bytes = sizeof made_validity,
                                          .workspace_bytes = sizeof work};

static zf_status make(call which, zf_context *context, zf_container *container, const char *device, patience *p,
                      zf_decode_stats *stats, zf_error *error) {
    zf_decode_options options = {.threads = 1, .cancelled = run_out, .cancelled_user = p};
    zf_code_request request = {.container = container, .options = options};
    zf_prepared *prepared = NULL;
    zf_status status = ZF_OK;
    switch (which) {
    case DECODE: return zf_decode(container, 0, device, &options, &buffers, stats, error);
    case PREPARE:
        status = zf_decode_prepare(container, 0, device, &options, &prepared, error);
        CHECK((status == ZF_OK) == (prepared != NULL), "a prepared decode after %s", error->message);
        zf_prepared_free(prepared);
        return status;
    case OBTAIN: return zf_code_obtain(context, device, &request, 1, 1, NULL, NULL, error);
    }
    return status;
}

static bool is_right(void) {
    return memcmp(made_offsets, offsets, sizeof offsets) == 0 && memcmp(made_validity, validity, sizeof validity) == 0 &&
           memcmp(made, characters, (size_t)offsets[ROWS]) == 0;
}

/// Cancelled at each place at which it asks; returns how many there are.
static unsigned test_call(call which, zf_context *context, zf_container *container, const char *device, zf_decode_stats *stats) {
    patience all = {0, NEVER};
    zf_error error = {0};
    memset(made, 0xa5, sizeof made);
    CHECK(make(which, context, container, device, &all, stats, &error) == ZF_OK, "%s: %s", device, error.message);
    CHECK(which != DECODE || is_right(), "%s: rows are wrong", device);
    // Between tiles a CPU asks by the clock, so how often differs from call to call.
    for (unsigned most = 0;; most++) {
        patience p = {0, most};
        zf_decode_stats less = {0};
        error = (zf_error){0};
        zf_status status = make(which, context, container, device, &p, &less, &error);
        if (status == ZF_OK && p.calls <= most) break;
        CHECK(status == ZF_ERR_CANCELLED && strcmp(error.code, "ZF1115") == 0 && strstr(error.place, "column s") != NULL,
              "%s, cancelled at %u of %u: %s %s (%s)", device, most, all.calls, error.code, error.message, error.place);
        CHECK(p.calls == most + 1, "%s, cancelled at %u: asked %u times", device, most, p.calls);
        CHECK(less.launches < stats->launches || which != DECODE, "%s: all of it was run", device);
    }
    return all.calls;
}

/// Who cancels batches is zf_batch_cancel.
static void test_batch(zf_context *context, zf_container *container, const char *device) {
    zf_error error = {0};
    zf_pipeline *pipeline = NULL;
    zf_batch *batch = NULL;
    patience p = {0, 0};
    zf_pipeline_request request = {
        .container = container, .options = {.cancelled = run_out, .cancelled_user = &p}, .host = buffers};
    zf_pipeline_options options = {.host_staging = 1 << 20, .device_staging = 1 << 20};
    CHECK(zf_pipeline_create(context, device, &options, &pipeline, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_create(pipeline, &request, 1, &batch, &error) == ZF_OK, "%s", error.message);
    memset(made, 0xa5, sizeof made);
    CHECK(zf_batch_start(batch, &error) == ZF_OK && zf_batch_wait(batch, 0, &error) == ZF_OK && is_right(), "%s", error.message);
    CHECK(p.calls == 0, "%s: a pipeline asked %u times", device, p.calls);
    zf_batch_free(batch);
    zf_pipeline_free(pipeline);
}

/// Threads that decode blocks: each waits in its first block until all are there, at most ten seconds.
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[BLOCKS + 1];
    unsigned count;
    bool late;
} meeting;

static bool meet(void *user) {
    meeting *m = user;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_mutex_lock(&m->lock);
    unsigned known = 0;
    while (known < m->count && !pthread_equal(m->threads[known], pthread_self())) known++;
    if (known == m->count && m->count < BLOCKS + 1) {
        m->threads[m->count++] = pthread_self();
        pthread_cond_broadcast(&m->changed);
    }
    while (m->count < BLOCKS && !m->late) m->late = pthread_cond_timedwait(&m->changed, &m->lock, &end) != 0;
    bool late = m->late;
    pthread_mutex_unlock(&m->lock);
    return late;
}

/// A column has fewer blocks than half of the threads: a thread for each of them, and more for their tiles.
static void test_few_blocks(zf_container *container) {
    zf_error error = {0};
    for (unsigned threads = BLOCKS; threads <= 4 * BLOCKS; threads++) {
        meeting m = {.count = 0};
        pthread_mutex_init(&m.lock, NULL);
        pthread_cond_init(&m.changed, NULL);
        zf_decode_options options = {.threads = threads, .cancelled = meet, .cancelled_user = &m};
        memset(made, 0xa5, sizeof made);
        zf_status status = zf_decode(container, 0, "cpu", &options, &buffers, NULL, &error);
        CHECK(status == ZF_OK && m.count == BLOCKS && is_right(), "%u of %u threads decode %d blocks: %s", m.count, threads,
              BLOCKS, error.message);
        pthread_cond_destroy(&m.changed);
        pthread_mutex_destroy(&m.lock);
        if (status != ZF_OK) return;
    }
}

int main(void) {
    zf_error error = {0};
    zf_context *context = NULL;
    zf_compiler *compiler = NULL;
    zf_container *container = NULL;
    zf_compiler_options options = {.std_dir = ZF_SOURCE_DIR "/dsl/std"};
    if (!scratch_begin("cancel")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 1}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_compiler_create(context, &options, &compiler, &error) == ZF_OK, "%s", error.message);
    string_file_write(compiler, ROWS, ROWS_PER_BLOCK, characters, offsets, validity);
    bool open = zf_container_open(context, place("t.zfd"), &container, &error) == ZF_OK;
    CHECK(open, "%s", error.message);
    static const char *const devices[] = {"cpu", "emu"};
    for (size_t d = 0; d < 2 && open; d++) {
        zf_decode_stats stats = {0};
        unsigned calls = test_call(DECODE, context, container, devices[d], &stats);
        uint64_t places = d == 0 ? BLOCKS + stats.launches : BLOCKS + 1; // emu: its blocks have the same code
        bool enough = d == 0 ? calls > places : calls == places;         // cpu: between tiles, too
        CHECK(enough, "%s: asked at %u places, not %llu", devices[d], calls, (unsigned long long)places);
        calls = test_call(OBTAIN, context, container, devices[d], &stats);
        CHECK(calls > BLOCKS, "%s: asked at %u places", devices[d], calls); // its blocks, and their code
        if (d == 1) CHECK(test_call(PREPARE, context, container, devices[d], &stats) == BLOCKS, "prepare asks for each block");
        test_batch(context, container, devices[d]);
    }
    if (open) test_few_blocks(container);
    zf_container_close(container);
    zf_compiler_free(compiler);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

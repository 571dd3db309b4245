// Links: zipflow-runtime zipflow-emu
// Several threads share a pipeline, and each starts, follows, waits for, cancels, starts again and frees batches of its own: no
// start is refused, every column is whole or says that it was cancelled, nothing is left. On the CPU; on the emulated GPU, and
// with kernels that do nothing, by streams that run late. Built with ThreadSanitizer, which cannot follow the emulator's fibers,
// the second is left out.
#include <math.h>
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

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FEW 1
#endif
#if __has_feature(thread_sanitizer)
#define NO_FIBERS 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define NO_FIBERS 1
#endif
#ifndef FEW
#define FEW 0
#endif
#ifndef NO_FIBERS
#define NO_FIBERS 0
#endif

enum { BLOCK = 4096, ROWS = 40000, COLUMNS = 4, THREADS = 4, POISON = 0xcd };

static zf_context *context;
static zf_accelerator *emu;
static null_accelerator null;

typedef enum place_kind { CPU, EMULATED, NOTHING } place_kind;

/// A pipeline that threads share, its device, and two containers: the second is loaded.
typedef struct shared {
    place_kind kind;
    late l;
    zf_accelerator *inner; ///< of `l`
    zf_pipeline *pipeline;
    zf_container *containers[2];
    unsigned rounds;
    atomic_uint whole, cancelled; ///< columns
} shared;

static zf_container *open_written(const char *name) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(walk_write_ordered(place(name), ROWS, BLOCK, true, true, NULL, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, place(name), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (container == NULL) abort();
    return container;
}

static void begin(shared *s, place_kind kind, unsigned delay, const zf_pipeline_options *options) {
    zf_error error = {0};
    zf_status status;
    *s = (shared){.kind = kind, .inner = kind == EMULATED ? emu : &null.base};
    if (kind == CPU) {
        status = zf_pipeline_create(context, "cpu", options, &s->pipeline, &error);
    } else {
        late_begin(&s->l, s->inner, delay);
        status = zf_pipeline_create_on(context, "emu", &s->l.base, options, &s->pipeline, &error);
    }
    CHECK(status == ZF_OK, "%s", error.message);
    if (s->pipeline == NULL) abort();
    s->containers[0] = open_written("a.zfd");
    s->containers[1] = open_written("b.zfd");
    CHECK(zf_container_load(s->containers[1], kind == CPU ? "cpu" : "emu", &error) == ZF_OK, "%s", error.message);
}

/// After all batches were freed.
static void end(shared *s) {
    const zf_pipeline *p = s->pipeline;
    CHECK(p->under_way == 0 && p->in_flight == 0 && p->ahead == 0 && p->releasing == 0 && p->copied.count == 0 &&
              p->to_deliver.first == NULL && p->to_decode.first == NULL && p->unlearned == NULL,
          "%llu units and %llu bytes are left", (ull)p->under_way, (ull)p->in_flight);
    for (unsigned q = 0; q < ZF_STAGES; q++) CHECK(p->queues[q].first == NULL, "queue %u is not empty", q);
    CHECK(p->host_ring.head == p->host_ring.tail && p->device_ring.head == p->device_ring.tail, "memory is held");
    zf_pipeline_free(s->pipeline);
    if (s->kind != CPU) {
        late_end(&s->l);
        CHECK(atomic_load(&s->l.failed_inside) == 0, "%u calls failed when they ran", atomic_load(&s->l.failed_inside));
    }
    for (unsigned i = 0; i < 2; i++) zf_container_close(s->containers[i]);
}

// ---- A thread's columns -------------------------------------------------------------------------------------------

typedef struct columns {
    shared *s;
    zf_pipeline_request requests[COLUMNS];
    uint64_t bytes[COLUMNS];
    uint8_t *values[COLUMNS];
    zf_batch *batch; ///< NULL: none
} columns;

/// Numbers and booleans of both containers; the first two go to the device's memory where there is some.
static void take_columns(columns *c, shared *s, unsigned first) {
    zf_error error = {0};
    *c = (columns){.s = s};
    for (size_t i = 0; i < COLUMNS; i++) {
        zf_pipeline_request *request = &c->requests[i];
        *request = (zf_pipeline_request){.container = s->containers[(first + i / 2) % 2], .column = i % 2};
        request->on_device = s->kind != CPU && i < 2;
        c->bytes[i] = i % 2 == 0 ? ROWS * 4 : (ROWS + 7) / 8;
        c->values[i] = aligned_alloc(256, (c->bytes[i] + 255) / 256 * 256);
        zf_pipeline_sizes sizes = {0};
        CHECK(zf_pipeline_request_sizes(s->pipeline, request, &sizes, &error) == ZF_OK, "%s", error.message);
        request->host = (zf_decode_buffers){ZF_DECODE_BYTES(sizes.host)};
        request->device = (zf_device_buffers){ZF_DEVICE_BYTES(sizes.device)};
        if (request->on_device)
            CHECK(s->inner->ops->allocate(s->inner, sizes.device.values, &request->device.values, &error) == ZF_OK, "%s",
                  error.message);
        else
            request->host.values = c->values[i];
        if (sizes.host.workspace > 0) request->host.workspace = aligned_alloc(64, (sizes.host.workspace + 63) / 64 * 64);
    }
}

static void drop_columns(columns *c) {
    zf_batch_free(c->batch);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (c->requests[i].on_device) c->s->inner->ops->release(c->s->inner, c->requests[i].device.values);
        free(c->requests[i].host.workspace);
        free(c->values[i]);
    }
}

static void poison(columns *c) {
    zf_error error;
    for (size_t i = 0; i < COLUMNS; i++) {
        memset(c->values[i], POISON, c->bytes[i]);
        if (c->requests[i].on_device)
            c->s->inner->ops->fill(c->s->inner, NULL, c->requests[i].device.values, POISON, c->bytes[i], &error);
    }
}

static void make_batch(columns *c) {
    zf_error error = {0};
    if (c->batch == NULL)
        CHECK(zf_batch_create(c->s->pipeline, c->requests, COLUMNS, &c->batch, &error) == ZF_OK, "%s", error.message);
    if (c->batch == NULL) abort();
}

/// A column that was waited for with success: its rows.
static void check_rows(columns *c, size_t i) {
    zf_error error = {0};
    uint64_t wrong = 0;
    if (c->s->kind == NOTHING) return;
    if (c->requests[i].on_device) emu->ops->copy_out(emu, NULL, c->values[i], c->requests[i].device.values, c->bytes[i], &error);
    for (uint64_t r = 0; r < ROWS; r++) {
        uint32_t value;
        memcpy(&value, c->values[i] + (i % 2 == 0 ? r * 4 : 0), 4);
        wrong += i % 2 == 0 ? value != walk_value(r) : (c->values[i][r / 8] >> (r % 8) & 1) != walk_bit(r);
    }
    CHECK(wrong == 0, "%llu rows of column %zu are wrong", (ull)wrong, i);
}

/// Waits for all columns. `followed[i]`: what zf_batch_follow said after a cancel; negative: it was not asked.
static void wait_for_all(columns *c, const int *followed) {
    for (size_t i = COLUMNS; i-- > 0;) {
        zf_error error = {0};
        zf_status status = zf_batch_wait(c->batch, i, &error);
        CHECK(status == ZF_OK || strcmp(error.code, "ZF1115") == 0, "column %zu: %s %s", i, error.code, error.message);
        if (followed[i] >= 0)
            CHECK((int)status == followed[i], "column %zu: a follow said %d, the wait %d", i, followed[i], (int)status);
        atomic_fetch_add(status == ZF_OK ? &c->s->whole : &c->s->cancelled, 1);
        if (status == ZF_OK) check_rows(c, i);
    }
}

// ---- Many threads -------------------------------------------------------------------------------------------------

static const int nobody_followed[COLUMNS] = {-1, -1, -1, -1};

/// Streams follow columns of a batch that runs or was cancelled.
static void follow_all(columns *c, int *followed) {
    zf_accelerator *a = &c->s->l.base;
    zf_error error = {0};
    void *stream;
    if (c->s->kind == CPU) return;
    CHECK(a->ops->stream_open(a, &stream, &error) == ZF_OK, "a stream");
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!c->requests[i].on_device) continue;
        zf_status status = zf_batch_follow(c->batch, i, stream, &error);
        CHECK(status == ZF_OK || strcmp(error.code, "ZF1115") == 0, "%s %s", error.code, error.message);
        followed[i] = (int)status;
    }
    a->ops->stream_close(a, stream);
}

static void look_at_units(columns *c) {
    zf_error error;
    zf_batch_info info = {0};
    CHECK(zf_batch_describe(c->batch, &info, &error) == ZF_OK, "%s", error.message);
    for (unsigned k = 0; k < 20; k++) {
        for (size_t u = 0; u < info.units; u++) {
            zf_batch_unit unit = {0};
            CHECK(zf_batch_unit_get(c->batch, u, &unit, &error) == ZF_OK && unit.blocks > 0 && unit.request < COLUMNS, "unit %zu",
                  u);
        }
        (void)zf_batch_ready_seconds(c->batch, k % COLUMNS);
    }
}

typedef struct worker {
    shared *s;
    unsigned number;
} worker;

static void *work(void *user) {
    const worker *w = user;
    unsigned seed = w->number * 77 + 1;
    columns c;
    take_columns(&c, w->s, w->number);
    for (unsigned round = 0; round < w->s->rounds; round++) {
        zf_error error = {0};
        int followed[COLUMNS] = {-1, -1, -1, -1};
        make_batch(&c);
        poison(&c);
        zf_status status = zf_batch_start(c.batch, &error);
        CHECK(status == ZF_OK, "a batch whose columns were all waited for: %s", error.message);
        if (status != ZF_OK) continue;
        unsigned what = (unsigned)rand_r(&seed) % 8;
        if (what <= 3) late_sleep((unsigned)rand_r(&seed) % 400);
        if (what == 0) { // half way
            zf_batch_free(c.batch);
            c.batch = NULL;
            continue;
        }
        if (what <= 3) zf_batch_cancel(c.batch);
        if (what >= 2 && what <= 4) follow_all(&c, followed);
        if (what >= 3 && what <= 6) look_at_units(&c);
        wait_for_all(&c, followed);
        if (what == 6) look_at_units(&c);
    }
    drop_columns(&c);
    return NULL;
}

static zf_status slow_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    late_sleep(20); // who learns of a batch takes a while
    return late_seconds(self, from, to, seconds, error);
}

static void test_threads(place_kind kind, unsigned rounds) {
    static const zf_pipeline_options options = {
        .device_staging = 100 << 10, .host_staging = 100 << 10, .readers = 2, .streams = 3, .unit_bytes = 40000};
    shared s;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    begin(&s, kind, 60, &options);
    s.rounds = rounds;
    if (kind != CPU) s.l.ops.event_seconds = slow_seconds;
    for (unsigned t = 0; t < THREADS; t++) {
        workers[t] = (worker){&s, t};
        CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0, "a thread");
    }
    for (unsigned t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    CHECK(atomic_load(&s.whole) > 0 && atomic_load(&s.cancelled) > 0, "%u columns whole, %u cancelled", atomic_load(&s.whole),
          atomic_load(&s.cancelled));
    end(&s);
}

// ---- Exactly ------------------------------------------------------------------------------------------------------

/// A start while another thread learns of the batch's last run waits for that; one while the batch runs is refused.
static struct {
    atomic_uint entered;
    atomic_bool hold;
} learner;

static zf_status held_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    if (atomic_fetch_add(&learner.entered, 1) == 0 && atomic_load(&learner.hold)) late_sleep(50000);
    return late_seconds(self, from, to, seconds, error);
}

static void *describe(void *user) {
    zf_batch_info info = {0};
    zf_error error;
    CHECK(zf_batch_describe(user, &info, &error) == ZF_OK, "%s", error.message);
    return NULL;
}

static void test_start(void) {
    static const zf_pipeline_options options = {.device_staging = 1 << 20, .host_staging = 64 << 10, .readers = 2};
    zf_error error = {0};
    zf_batch_unit unit = {0};
    zf_batch_info info = {0};
    pthread_t other;
    shared s;
    columns c, others;
    begin(&s, NOTHING, 0, &options);
    s.l.ops.event_seconds = held_seconds;
    take_columns(&c, &s, 0);
    take_columns(&others, &s, 1);
    make_batch(&c);
    make_batch(&others);
    atomic_store(&s.l.copy_delay, 5000); // the host's memory has room for some units only: the batch is under way
    CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_batch_start(c.batch, &error) == ZF_ERR_USAGE && strstr(error.message, "still running") != NULL, "started twice: %s",
          error.message);
    for (bool read = false; !read; late_sleep(50)) {
        pthread_mutex_lock(&s.pipeline->lock);
        read = c.batch->order[0]->read;
        pthread_mutex_unlock(&s.pipeline->lock);
    }
    CHECK(zf_batch_unit_get(c.batch, 0, &unit, &error) == ZF_OK && isnan(unit.measured.read_end),
          "the times of a batch that runs");
    CHECK(zf_batch_describe(c.batch, &info, &error) == ZF_OK && isnan(info.measured_seconds), "the time of a batch that runs");
    wait_for_all(&c, nobody_followed);
    atomic_store(&s.l.copy_delay, 0);
    atomic_store(&learner.entered, 0);
    atomic_store(&learner.hold, true);
    CHECK(pthread_create(&other, NULL, describe, others.batch) == 0, "a thread");
    while (atomic_load(&learner.entered) == 0) late_sleep(100);
    CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "while another thread learns: %s", error.message);
    wait_for_all(&c, nobody_followed);
    pthread_join(other, NULL);
    drop_columns(&c);
    drop_columns(&others);
    end(&s);
}

/// A stream may follow the columns of a cancelled batch for which a wait succeeds: columns with skipped units are not there.
static void test_follow_of_cancelled(void) {
    static const zf_pipeline_options options = {
        .order = ZF_PIPELINE_GIVEN, .device_staging = 64 << 10, .host_staging = 64 << 10, .readers = 2, .unit_bytes = 20000};
    shared s;
    columns c;
    begin(&s, NOTHING, 0, &options);
    take_columns(&c, &s, 0);
    make_batch(&c);
    atomic_store(&s.l.copy_delay, 3000);
    for (unsigned round = 0; round < 8; round++) {
        zf_error error = {0};
        int followed[COLUMNS] = {-1, -1, -1, -1};
        CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
        late_sleep(round * 2000);
        zf_batch_cancel(c.batch);
        follow_all(&c, followed);
        wait_for_all(&c, followed);
    }
    CHECK(atomic_load(&s.cancelled) > 0, "nothing was cancelled");
    drop_columns(&c);
    end(&s);
}

static zf_status slow_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    late_sleep(3000); // what is to be followed happens meanwhile
    return late_follow(self, stream, event, error);
}

/// A batch is over, or cancelled, and freed, while the copies of another wait in a stream for the memory that it had.
static void test_freed_before(place_kind kind, bool slowly) {
    static const zf_pipeline_options options = {
        .device_staging = 64 << 10, .host_staging = 256 << 10, .readers = 2, .streams = 2, .unit_bytes = 20000};
    shared s;
    columns c, then;
    begin(&s, kind, 0, &options);
    take_columns(&c, &s, 0);
    take_columns(&then, &s, 1);
    atomic_store(&s.l.copy_delay, FEW ? 500 : 1000);
    if (slowly) s.l.ops.stream_follow = slow_follow;
    for (unsigned how = 0; how < 6; how++) { // waited for, cancelled, freed; the other at its first start, and again
        zf_error error = {0};
        make_batch(&c);
        make_batch(&then);
        poison(&c);
        poison(&then);
        CHECK(zf_batch_start(c.batch, &error) == ZF_OK && zf_batch_start(then.batch, &error) == ZF_OK, "%s", error.message);
        if (how % 3 != 0) late_sleep(2000);
        if (how % 3 == 1) zf_batch_cancel(c.batch);
        if (how % 3 != 2) wait_for_all(&c, nobody_followed);
        zf_batch_free(c.batch);
        c.batch = NULL;
        for (size_t i = 0; i < COLUMNS; i++) {
            CHECK(zf_batch_wait(then.batch, i, &error) == ZF_OK, "%s %s", error.code, error.message);
            check_rows(&then, i);
        }
        if (how == 2) { // itself half way
            CHECK(zf_batch_start(then.batch, &error) == ZF_OK, "%s", error.message);
            late_sleep(2000);
            zf_batch_free(then.batch);
            then.batch = NULL;
        }
    }
    drop_columns(&c);
    drop_columns(&then);
    end(&s);
}

/// A batch is started again and again without a wait for its columns: where that is taken, its last run was over, and learnt of.
static void test_start_without_wait(void) {
    static const zf_pipeline_options options = {.device_staging = 256 << 10, .host_staging = 256 << 10, .readers = 2};
    static const unsigned rounds[] = {[CPU] = FEW ? 200 : 1000, [NOTHING] = FEW ? 50 : 200};
    for (unsigned which = 0; which < 2; which++) {
        place_kind kind = which == 0 ? CPU : NOTHING;
        shared s;
        columns c;
        begin(&s, kind, 0, &options);
        take_columns(&c, &s, 0);
        make_batch(&c);
        for (unsigned round = 0; round < rounds[kind]; round++) {
            zf_error error = {0};
            while (zf_batch_start(c.batch, &error) != ZF_OK) {
                if (strstr(error.message, "still running") == NULL) CHECK(false, "%s", error.message);
            }
        }
        wait_for_all(&c, nobody_followed);
        drop_columns(&c);
        end(&s);
    }
}

/// Times are those of one whole run, or unknown, whoever starts the batch again meanwhile.
typedef struct looker {
    zf_batch *batch;
    atomic_bool stop;
    bool known; ///< the last look saw times and wrote a trace
} looker;

/// Looks until it is told to stop, and once more then: that last look begins when the batch's last run is over.
static void *look(void *user) {
    looker *l = user;
    bool last;
    do {
        zf_error error = {0};
        zf_batch_info info = {0};
        last = atomic_load(&l->stop);
        CHECK(zf_batch_describe(l->batch, &info, &error) == ZF_OK, "%s", error.message);
        CHECK(isnan(info.measured_seconds) || info.measured_seconds > 0, "a run of %g s", info.measured_seconds);
        l->known = !isnan(info.measured_seconds) && info.units > 0;
        for (size_t u = 0; u < info.units; u++) {
            zf_batch_unit unit = {0};
            CHECK(zf_batch_unit_get(l->batch, u, &unit, &error) == ZF_OK, "%s", error.message);
            const zf_unit_times *t = &unit.measured;
            int known = !isnan(t->read_begin) + !isnan(t->read_end) + !isnan(t->decode_begin) + !isnan(t->decode_end);
            CHECK(known == 0 || known == 4, "unit %zu: read %g..%g, decoded %g..%g", u, t->read_begin, t->read_end,
                  t->decode_begin, t->decode_end);
            l->known = l->known && known == 4;
        }
        zf_status status = zf_batch_write_trace(l->batch, place("t.json"), &error);
        CHECK(status == ZF_OK || strstr(error.message, "after its run") != NULL, "%s", error.message);
        l->known = l->known && status == ZF_OK;
    } while (!last);
    return NULL;
}

static void test_looked_at(void) {
    static const zf_pipeline_options options = {.readers = 2, .unit_bytes = 20000};
    pthread_t other;
    shared s;
    columns c;
    begin(&s, CPU, 0, &options);
    take_columns(&c, &s, 1);
    make_batch(&c);
    looker l = {.batch = c.batch};
    CHECK(pthread_create(&other, NULL, look, &l) == 0, "a thread");
    for (unsigned round = 0; round < (FEW ? 50 : 300); round++) {
        zf_error error = {0};
        CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
        wait_for_all(&c, nobody_followed);
    }
    atomic_store(&l.stop, true);
    pthread_join(other, NULL);
    CHECK(l.known, "the last run is over, and not all of its times are known");
    drop_columns(&c);
    end(&s);
}

/// The pipeline's lock is free when the driver is called: some of its calls wait.
static struct {
    zf_pipeline *pipeline; ///< NULL: none is looked at
    atomic_uint looked, held;
} locks;

static void look_at_lock(void) {
    struct timespec until;
    if (locks.pipeline == NULL || atomic_load(&locks.held) > 0) return;
    atomic_fetch_add(&locks.looked, 1);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20; // others hold it shortly, this thread itself for ever
    if (pthread_mutex_timedlock(&locks.pipeline->lock, &until) == 0)
        pthread_mutex_unlock(&locks.pipeline->lock);
    else
        atomic_fetch_add(&locks.held, 1);
}

static zf_status looking_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    look_at_lock();
    return late_in(self, stream, to, from, bytes, error);
}
static zf_status looking_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    look_at_lock();
    return late_out(self, stream, to, from, bytes, error);
}
static zf_status looking_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                                const zf_simt_args *args, zf_error *error) {
    look_at_lock();
    return late_launch(self, stream, code, kernel, groups, args, error);
}
static zf_status looking_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    look_at_lock();
    return late_event_note(self, stream, event, error);
}
static zf_status looking_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    look_at_lock();
    return late_follow(self, stream, event, error);
}
static zf_status looking_wait(zf_accelerator *self, void *event, zf_error *error) {
    look_at_lock();
    return late_event_wait(self, event, error);
}
static zf_status looking_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    look_at_lock();
    return late_seconds(self, from, to, seconds, error);
}
static void looking_close(zf_accelerator *self, void *event) {
    look_at_lock();
    late_event_close(self, event);
}

static void test_lock(void) {
    static const zf_pipeline_options options = {
        .device_staging = 64 << 10, .host_staging = 256 << 10, .readers = 2, .streams = 2, .unit_bytes = 20000};
    zf_error error = {0};
    shared s;
    columns c;
    begin(&s, NOTHING, 0, &options);
    s.l.ops.copy_in = looking_in, s.l.ops.copy_out = looking_out, s.l.ops.launch = looking_launch;
    s.l.ops.event_note = looking_note, s.l.ops.stream_follow = looking_follow, s.l.ops.event_wait = looking_wait;
    s.l.ops.event_seconds = looking_seconds, s.l.ops.event_close = looking_close;
    take_columns(&c, &s, 0);
    locks.pipeline = s.pipeline;
    make_batch(&c);
    for (unsigned round = 0; round < 3; round++) { // the second column was loaded: its units are at hand in later runs
        int followed[COLUMNS] = {-1, -1, -1, -1};
        CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
        follow_all(&c, followed);
        wait_for_all(&c, followed);
    }
    drop_columns(&c);
    locks.pipeline = NULL;
    CHECK(atomic_load(&locks.looked) > 50 && atomic_load(&locks.held) == 0, "of %u calls %u with the lock",
          atomic_load(&locks.looked), atomic_load(&locks.held));
    end(&s);
}

/// Decodes that were queued, and those of which the copy had not ended then.
static struct {
    const zf_pipeline *pipeline;
    atomic_uint queued, early;
} decodes;

static zf_status counting_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    const zf_pipeline *p = decodes.pipeline;
    for (unsigned d = 0; d < p->options.streams; d++) {
        if (stream != p->decodes[d]) continue;
        const late_event *copied = event;
        late *l = (late *)self;
        pthread_mutex_lock(&l->lock);
        atomic_fetch_add(&decodes.early, copied->done < copied->noted);
        pthread_mutex_unlock(&l->lock);
        atomic_fetch_add(&decodes.queued, 1);
    }
    return late_follow(self, stream, event, error);
}

/// The decodes of large units are enqueued when their copies have ended, but for the last's; those of small ones before.
static void test_queued_late(void) {
    static const zf_pipeline_options options = {.streams = 2, .unit_bytes = 20000};
    for (unsigned large = 0; large < 2; large++) {
        zf_error error = {0};
        shared s;
        columns c;
        begin(&s, NOTHING, 0, &options);
        s.l.ops.stream_follow = counting_follow;
        take_columns(&c, &s, 0);
        for (size_t i = 0; i < COLUMNS; i++) c.requests[i].container = s.containers[1]; // which was loaded
        decodes.pipeline = s.pipeline;
        if (large) s.pipeline->large = 1;
        make_batch(&c);
        for (unsigned round = 0; round < 2; round++) { // the first is checked and so is not at hand
            atomic_store(&decodes.queued, 0);
            atomic_store(&decodes.early, 0);
            atomic_store(&s.l.copy_delay, round == 0 ? 0 : 3000);
            CHECK(zf_batch_start(c.batch, &error) == ZF_OK, "%s", error.message);
            wait_for_all(&c, nobody_followed);
        }
        unsigned queued = atomic_load(&decodes.queued), early = atomic_load(&decodes.early);
        CHECK(queued > 8 && (large ? early <= 1 : early > queued / 2), "of %u decodes of %s units %u were queued early", queued,
              large ? "large" : "small", early);
        drop_columns(&c);
        end(&s);
    }
}

int main(void) {
    zf_abi_provider provider = simt_provider();
    zf_error error = {0};
    zf_device device;
    if (!scratch_begin("threads")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_find(context, "emu", &device, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_device_accelerator(context, &device, &emu, &error) == ZF_OK, "%s", error.message);
    null_begin(&null, emu);
    test_start();
    test_start_without_wait();
    test_looked_at();
    test_lock();
    test_queued_late();
    test_follow_of_cancelled();
    test_freed_before(NOTHING, false);
    test_freed_before(NOTHING, true);
    if (!NO_FIBERS) test_freed_before(EMULATED, false);
    test_threads(NOTHING, FEW ? 30 : 60);
    test_threads(CPU, FEW ? 60 : 200);
    if (!NO_FIBERS) test_threads(EMULATED, FEW ? 4 : 12);
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

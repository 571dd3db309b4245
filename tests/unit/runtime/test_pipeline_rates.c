// Links: zipflow-runtime zipflow-emu
// What the runs of a pipeline say of rates: by runs that are made up, whose times are known, and by real ones that were cancelled
// or found damage, of which nothing may be learnt.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/container/container_open.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/walk_simt.h"
#include "tests/unit/check.h"

static zf_context *context;

typedef struct known {
    double link, read, decode; ///< bytes a second
    double cost;               ///< of a unit's decode besides, in seconds
} known;

enum { CODEC = 7 };
static const double NEVER_SEEN = 1;

static known known_of(zf_rates *rates, uint64_t codec) {
    known k = {.link = zf_rates_link(rates, NULL), .read = zf_rates_read(rates)};
    k.decode = zf_rates_decode(rates, codec, NEVER_SEEN, &k.cost);
    return k;
}

static bool about(double a, double b) { return fabs(a - b) <= 1e-6 * fabs(b); }

// ---- Runs that are made up ----------------------------------------------------------------------------------------

/// A run of a batch with one column of up to two units.
typedef struct made_run {
    double stored, plain; ///< bytes of each unit; its bytes of the file are its stored ones
    double plain_second;  ///< of the second one; 0: as many
    double read, copy;    ///< seconds that each unit took
    double decode[2];     ///< of each unit; they begin together, when the last copy ended
    double launched[2];   ///< of each unit, when the driver had taken its launches
    unsigned units;
    double code; ///< seconds of the run that went for code
    uint64_t runs;
    zf_status status; ///< of the column
    bool loaded;
    bool behind;                           ///< the second unit is decoded behind the first, not beside it
    double stored_of_other, copy_of_other; ///< the second unit is another column's, and copied behind the first; 0: it is not
} made_run;

static zf_status made_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    (void)self, (void)from, (void)error;
    *seconds = *(const double *)to;
    return ZF_OK;
}

/// A pipeline without threads, of a device or of the CPU, and rates that nobody else moves.
typedef struct made_pipeline {
    zf_pipeline pipeline;
    zf_accelerator_ops ops;
    zf_accelerator accelerator;
} made_pipeline;

static void made_begin(made_pipeline *m, bool host, unsigned readers, const char *name) {
    *m = (made_pipeline){.ops = {.name = "made", .event_seconds = made_seconds}};
    m->accelerator.ops = &m->ops;
    m->pipeline.accelerator = host ? NULL : &m->accelerator;
    m->pipeline.options = (zf_pipeline_options){.readers = readers, .streams = 2};
    m->pipeline.rates = zf_rates_create(context, name, "made up");
    if (m->pipeline.rates == NULL) abort();
    pthread_mutex_init(&m->pipeline.lock, NULL);
    for (unsigned w = 0; w < ZF_WORKS; w++) pthread_cond_init(&m->pipeline.work[w], NULL);
}

static void made_end(made_pipeline *m) {
    zf_rates_free(m->pipeline.rates);
    for (unsigned w = 0; w < ZF_WORKS; w++) pthread_cond_destroy(&m->pipeline.work[w]);
    pthread_mutex_destroy(&m->pipeline.lock);
}

/// The run is over: what the pipeline knows then.
static known learn_of(made_pipeline *m, const made_run *run) {
    char name[] = "seven";
    double at[2][ZF_TRANSFER_EVENTS], copied = run->units * run->copy;
    zf_transfer units[2], *order[2] = {&units[0], &units[1]};
    zf_container *container = calloc(1, sizeof *container);
    bool other = run->stored_of_other > 0;
    zf_requested request = {.given = {.container = container}, .codec = CODEC, .codec_name = name, .units = run->units};
    zf_requested requests[2] = {request, request};
    zf_batch batch = {.pipeline = &m->pipeline,
                      .requests = requests,
                      .request_count = other ? 2 : 1,
                      .transfers = units,
                      .order = order,
                      .count = run->units,
                      .started = true,
                      .runs = run->runs,
                      .ended = 1};
    container->loaded = run->loaded;
    for (unsigned r = 0; r < 2; r++) {
        requests[r].status = run->status;
        requests[r].transfers = &units[r];
        requests[r].stats.load_seconds = r == 0 ? run->code : 0;
        if (other) requests[r].units = 1;
    }
    for (unsigned u = 0; u < run->units; u++) {
        zf_transfer *t = &units[u];
        *t = (zf_transfer){.batch = &batch, .last = 1, .file_bytes = (uint64_t)run->stored, .queued = true, .stream = u};
        t->launched_at = run->launched[u];
        t->described = (zf_batch_unit){.blocks = 1, .stored_bytes = (uint64_t)run->stored, .plain_bytes = (uint64_t)run->plain};
        if (u == 1 && run->plain_second > 0) t->described.plain_bytes = (uint64_t)run->plain_second;
        if (run->behind) t->stream = 0;
        if (u == 1 && other) t->described.stored_bytes = (uint64_t)run->stored_of_other;
        t->measured = (zf_unit_times){0, run->read, NAN, NAN, NAN, NAN};
        at[u][ZF_COPY_END] = (u + 1) * run->copy;
        at[u][ZF_DECODE_END] = copied + run->decode[u] + (run->behind && u == 1 ? run->decode[0] : 0);
        for (unsigned e = 0; e < ZF_TRANSFER_EVENTS; e++) t->events[e] = &at[u][e];
        if (m->pipeline.accelerator == NULL) { // which takes the times itself
            t->measured.copy_begin = t->measured.copy_end = t->measured.decode_begin = run->read;
            t->measured.decode_end = run->read + run->decode[u];
        } else if (other) {
            at[u][ZF_COPY_END] = run->copy + (u == 1 ? run->copy_of_other : 0);
            at[u][ZF_DECODE_END] = at[u][ZF_COPY_END] + run->decode[u];
        } else if (run->units == 2) { // both wait for the last copy
            at[u][ZF_COPY_END] = copied;
        }
    }
    m->pipeline.unlearned = &batch;
    zf_pipeline_learn(&m->pipeline);
    CHECK(m->pipeline.unlearned == NULL && !batch.in_hand, "it was not learnt of");
    free(container);
    return known_of(m->pipeline.rates, CODEC);
}

/// A copy costs 5 us and a decode 12 us whatever its size: rates are of what goes beyond that.
static const double COPY_COST = 5e-6, DECODE_COST = 12e-6;

static void test_both_ways(void) {
    static const made_run fast = {
        .stored = 1e8, .plain = 4e8, .read = 0.01, .copy = 2e-3 + 5e-6, .decode = {1e-3 + 12e-6}, .units = 1, .runs = 2};
    made_run slow = fast;
    made_pipeline m;
    known k;
    slow.read *= 4, slow.copy = 4 * 2e-3 + COPY_COST, slow.decode[0] = 4 * 1e-3 + DECODE_COST;
    made_begin(&m, false, 3, "device");
    k = learn_of(&m, &fast);
    CHECK(about(k.link, 5e10) && about(k.read, 1e10) && about(k.decode, 4e11), "%g %g %g", k.link, k.read, k.decode);
    k = learn_of(&m, &slow); // half way down
    CHECK(about(k.link, 3.125e10) && about(k.read, 6.25e9) && about(k.decode, 2.5e11), "%g %g %g", k.link, k.read, k.decode);
    k = learn_of(&m, &fast); // and up
    CHECK(about(k.link, 4.0625e10) && about(k.read, 8.125e9) && about(k.decode, 3.25e11), "%g %g %g", k.link, k.read, k.decode);
    slow.loaded = true; // what is said of its reading is not of the disk
    known then = learn_of(&m, &slow);
    CHECK(then.read == k.read && then.link < k.link && then.decode < k.decode, "%g %g %g", then.link, then.read, then.decode);
    made_end(&m);
    made_begin(&m, true, 3, "host"); // where each reader reads a unit, and nothing is copied
    known before = known_of(m.pipeline.rates, CODEC);
    k = learn_of(&m, &fast);
    CHECK(k.link == before.link && about(k.read, 3e10) && about(k.decode, 4e8 / (1e-3 + DECODE_COST)), "%g %g %g", k.link, k.read,
          k.decode);
    made_end(&m);
}

/// The fixed cost of a decode shows if a column has units of many and of few bytes. It moves half way to each run's, but for
/// first runs. Rates are of the time beyond it.
static void test_cost(void) {
    static const made_run run = {.stored = 1e8,
                                 .plain = 4e8,
                                 .plain_second = 1e8,
                                 .read = 0.01,
                                 .copy = 2e-3,
                                 .decode = {1e-3 + 80e-6, 0.25e-3 + 80e-6},
                                 .units = 2,
                                 .runs = 2,
                                 .behind = true};
    made_run first = run, other = run, single = run, flat = run, steep = run;
    made_pipeline m;
    known k;
    made_begin(&m, false, 3, "cost");
    first.runs = 1, first.code = 1;
    k = learn_of(&m, &first);
    CHECK(k.cost == 0 && k.decode > NEVER_SEEN, "%g", k.cost);
    k = learn_of(&m, &run);
    CHECK(about(k.cost, 80e-6) && about(k.decode, 4e11), "%g %g", k.cost, k.decode);
    other.decode[0] += 40e-6, other.decode[1] += 40e-6;
    k = learn_of(&m, &other);
    CHECK(about(k.cost, 100e-6) && about(k.decode, 4e11), "%g %g", k.cost, k.decode);
    single.units = 1, single.behind = false, single.decode[0] = 1e-3 + 100e-6; // says nothing of it, and is told by what is known
    k = learn_of(&m, &single);
    CHECK(about(k.cost, 100e-6) && about(k.decode, 4e11), "%g %g", k.cost, k.decode);
    made_end(&m);
    made_begin(&m, false, 3, "flat"); // as much for few bytes: chance
    flat.decode[0] = flat.decode[1] = 1e-3;
    k = learn_of(&m, &flat);
    CHECK(k.cost == 0 && about(k.decode, 5e8 / (2e-3 - 2 * DECODE_COST)), "%g %g", k.cost, k.decode);
    made_end(&m);
    made_begin(&m, false, 3, "steep"); // less for few than by their bytes: what launching costs, at least
    steep.decode[1] = 0.1e-3;
    k = learn_of(&m, &steep);
    CHECK(about(k.cost, DECODE_COST), "%g", k.cost);
    made_end(&m);
    made_begin(&m, false, 3, "less"); // a unit that takes less than was thought: so it cannot cost that
    learn_of(&m, &other);
    single.decode[0] = 30e-6, single.plain = 1e7;
    k = learn_of(&m, &single);
    CHECK(about(k.cost, (120e-6 + 15e-6) / 2), "%g", k.cost);
    for (unsigned i = 0; i < 8; i++) k = learn_of(&m, &single);
    CHECK(k.cost < 30e-6, "%g", k.cost);
    made_end(&m);
    made_begin(&m, false, 3, "tiny"); // units so small that they say nothing of the rate, but of the cost
    known before = learn_of(&m, &other);
    single.decode[0] = 30e-6, single.plain = 8192;
    for (unsigned i = 0; i < 8; i++) k = learn_of(&m, &single);
    CHECK(k.cost < 30e-6 && k.decode == before.decode, "%g, %g for %g", k.cost, k.decode, before.decode);
    made_end(&m);
    made_begin(&m, true, 3, "no launches");
    k = learn_of(&m, &run);
    CHECK(k.cost == 0, "%g", k.cost);
    made_end(&m);
}

/// A first run measured a decoder as slow; all later decodes are so short that they show no rate, but that it is not that slow.
/// The same holds for a link: short copies, which wait for other things besides, never lower its known rate, whatever comes
/// last in a batch.
static void test_short(void) {
    static const made_run good = {
        .stored = 1e8, .plain = 4e8, .read = 0.01, .copy = 2e-3 + 5e-6, .decode = {1e-3 + 12e-6}, .units = 1, .runs = 2};
    made_run first = good, brief = good, two = good;
    made_pipeline m;
    made_begin(&m, false, 1, "slow at first");
    first.plain = 16e6, first.decode[0] = 8e-3, first.runs = 1, first.code = 1;
    known k = learn_of(&m, &first);
    CHECK(16e6 / k.decode > 7e-3, "%g", k.decode);
    brief.plain = 16e6, brief.decode[0] = 27e-6;
    k = learn_of(&m, &brief);
    CHECK(16e6 / k.decode + DECODE_COST <= 27.1e-6, "%g", k.decode);
    double fast = k.decode;
    brief.decode[0] = 40e-6; // that may be chance
    k = learn_of(&m, &brief);
    CHECK(k.decode == fast, "%g %g", k.decode, fast);
    made_end(&m);

    made_begin(&m, false, 1, "short copies");
    learn_of(&m, &good);
    brief.stored = 1e6, brief.copy = 50e-6;
    k = learn_of(&m, &brief);
    CHECK(about(k.link, 5e10), "%g", k.link);
    brief.copy = 15e-6 + COPY_COST; // but above
    k = learn_of(&m, &brief);
    CHECK(about(k.link, 5e10), "too short for anything: %g", k.link);
    brief.copy = 1e6 / 60e9 + COPY_COST;
    k = learn_of(&m, &brief);
    CHECK(about(k.link, 5.5e10), "%g", k.link);
    made_end(&m);

    made_begin(&m, false, 1, "columns together");
    two.units = 2, two.decode[1] = two.decode[0], two.stored_of_other = 1e6, two.copy_of_other = 125e-6 + COPY_COST;
    k = learn_of(&m, &two);
    CHECK(about(k.link, 1.01e8 / (2e-3 + 125e-6)), "%g", k.link);
    k = learn_of(&m, &two);
    CHECK(about(k.link, 1.01e8 / (2e-3 + 125e-6)), "%g", k.link);
    made_end(&m);
    made_begin(&m, false, 1, "short copies first");
    brief.copy = 50e-6;
    k = learn_of(&m, &brief);
    CHECK(about(k.link, 1e6 / 45e-6), "of a link of which nothing is known: %g", k.link);
    made_end(&m);
}

/// Decodes of two streams that run side by side: the device was decoding for as long as the longer one.
static void test_side_by_side(void) {
    static const made_run run = {
        .stored = 1e8, .plain = 1e8, .read = 0.01, .copy = 1e-3, .decode = {3e-3, 1e-3}, .units = 2, .runs = 2};
    made_pipeline m;
    made_begin(&m, false, 1, "device");
    known k = learn_of(&m, &run);
    CHECK(about(k.decode, 2e8 / (3e-3 - 2 * DECODE_COST)), "%g", k.decode);
    made_end(&m);
}

/// Nothing is learnt from what failed or was cancelled, nor from so little that what anything costs is most of it.
static void test_what_says_nothing(void) {
    static const made_run good = {
        .stored = 1e8, .plain = 4e8, .read = 0.01, .copy = 2e-3 + 5e-6, .decode = {1e-3 + 12e-6}, .units = 1, .runs = 2};
    for (unsigned host = 0; host < 2; host++) {
        static const zf_status failures[] = {ZF_ERR_INPUT, ZF_ERR_USAGE, ZF_ERR_DEVICE};
        made_pipeline m;
        made_begin(&m, host, 2, "device");
        known before = learn_of(&m, &good), k;
        for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
            for (unsigned faster = 0; faster < 2; faster++) {
                made_run bad = good;
                bad.status = failures[i];
                bad.read *= faster ? 0.1 : 10, bad.copy *= faster ? 0.1 : 10, bad.decode[0] *= faster ? 0.1 : 10;
                k = learn_of(&m, &bad);
                CHECK(memcmp(&k, &before, sizeof k) == 0, "status %d: %g %g %g", (int)failures[i], k.link, k.read, k.decode);
            }
        }
        made_run few = good;
        few.stored = few.plain = 1000, few.copy = 1e-4, few.decode[0] = 2e-4;
        few.loaded = !host; // of few bytes a copy says enough where it took long
        if (!host) few.copy = 1e-5;
        k = learn_of(&m, &few);
        CHECK(memcmp(&k, &before, sizeof k) == 0, "few bytes: %g %g %g", k.link, k.read, k.decode);
        made_run brief = good;
        brief.stored = 8000, brief.plain = 32000, brief.loaded = true;
        brief.copy = 4 * COPY_COST * 0.99, brief.decode[0] = DECODE_COST * 1.5;
        if (host) brief.status = ZF_ERR_INPUT; // there decodes cost nothing
        k = learn_of(&m, &brief);
        CHECK(memcmp(&k, &before, sizeof k) == 0, "brief copies: %g %g %g", k.link, k.read, k.decode);
        made_end(&m);
    }
}

/// A first run that waited for code moves what is known upwards alone; one that did not is like any other.
static void test_first_runs(void) {
    static const made_run good = {
        .stored = 1e8, .plain = 4e8, .read = 0.01, .copy = 2e-3 + 5e-6, .decode = {1e-3 + 12e-6}, .units = 1, .runs = 2};
    for (unsigned host = 0; host < 2; host++) {
        made_pipeline m;
        made_begin(&m, host, 1, "device");
        known before = learn_of(&m, &good);
        made_run other = good;
        other.runs = 1, other.code = 0.5; // of a second
        other.read *= 2, other.decode[0] *= 2;
        known k = learn_of(&m, &other);
        CHECK(k.read == before.read && k.decode == before.decode, "down: %g %g", k.read, k.decode);
        other.read /= 4, other.decode[0] /= 4;
        k = learn_of(&m, &other);
        CHECK(k.read > before.read && k.decode > before.decode, "not up: %g %g", k.read, k.decode);
        before = k;
        other.read *= 16, other.decode[0] *= 16;
        other.code = 0.01;
        k = learn_of(&m, &other);
        CHECK(k.read < before.read && k.decode < before.decode, "not down: %g %g", k.read, k.decode);
        before = k;
        other.runs = 2, other.code = 0.5, other.read *= 4, other.decode[0] *= 4;
        k = learn_of(&m, &other);
        CHECK(k.read < before.read && k.decode < before.decode, "a second run: %g %g", k.read, k.decode);
        made_end(&m);
    }
}

/// While code is loaded the driver takes launches late, and copies wait for it: neither is what a decoder or a link takes.
static void test_late_launches(void) {
    const double copied = 2e-3, late = 0.2;
    made_run run = {.stored = 1e8, .plain = 4e8, .read = 0.01, .copy = copied, .units = 1, .runs = 1, .code = 0.5};
    made_pipeline m;
    made_begin(&m, false, 1, "device");
    run.decode[0] = late + 1e-3 + DECODE_COST, run.launched[0] = copied + late;
    known k = learn_of(&m, &run);
    CHECK(about(k.decode, 4e11), "%g", k.decode);
    double link = k.link;
    run.copy *= 10, run.launched[0] *= 10, // copies, too, waited
        run.decode[0] = run.launched[0] - run.copy + 1e-3 + DECODE_COST;
    k = learn_of(&m, &run);
    CHECK(k.link == link && about(k.decode, 4e11), "a link of %g is known as %g; %g", link, k.link, k.decode);
    run.decode[0] = 1e-3; // it was over before the driver's call: that says nothing
    k = learn_of(&m, &run);
    CHECK(about(k.decode, 4e11), "%g", k.decode);
    run.units = 2, run.copy = copied; // on two streams: late together, then side by side
    for (unsigned u = 0; u < 2; u++) run.launched[u] = 2 * copied + late, run.decode[u] = late + 2e-3 + 2 * DECODE_COST;
    k = learn_of(&m, &run);
    CHECK(about(k.decode, 4e11), "%g", k.decode);
    run.runs = 2; // with its code loaded a decode takes what it takes, and a copy, too
    k = learn_of(&m, &run);
    CHECK(k.decode < 3e11 && k.link != link, "%g %g", k.decode, k.link);
    made_end(&m);
}

// ---- Real ones ----------------------------------------------------------------------------------------------------

enum { BLOCK = 4096, ROWS = 400000 };

static void damage_states(size_t column, uint64_t block, zf_block_data *data) {
    if (column == 0 && block == 90) ((uint64_t *)(uintptr_t)data->seeks[0].values)[2] ^= 1;
}

static zf_container *open_written(const char *name, walk_damage damage) {
    zf_error error = {0};
    zf_container *container = NULL;
    CHECK(walk_write_ordered(place(name), ROWS, BLOCK, true, true, damage, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_container_open(context, place(name), &container, &error) == ZF_OK, "%s %s", error.message, error.place);
    if (container == NULL) abort();
    return container;
}

typedef struct real {
    zf_pipeline *pipeline;
    zf_batch *batch;
    void *values, *work;
} real;

static void real_begin(real *r, const char *device, zf_container *container) {
    static const zf_pipeline_options options = {
        .device_staging = 256 << 10, .host_staging = 256 << 10, .readers = 2, .unit_bytes = 40000};
    zf_error error = {0};
    zf_pipeline_sizes sizes = {0};
    zf_pipeline_request request = {.container = container};
    *r = (real){.values = aligned_alloc(64, ROWS * 4)};
    zf_status status = zf_pipeline_create(context, device, &options, &r->pipeline, &error);
    if (status == ZF_OK) status = zf_pipeline_request_sizes(r->pipeline, &request, &sizes, &error);
    CHECK(status == ZF_OK, "%s", error.message);
    if (status != ZF_OK) abort();
    r->work = aligned_alloc(64, (sizes.host.workspace + 64) / 64 * 64);
    request.host = (zf_decode_buffers){.values = r->values, .workspace = r->work, ZF_DECODE_BYTES(sizes.host)};
    CHECK(zf_batch_create(r->pipeline, &request, 1, &r->batch, &error) == ZF_OK, "%s", error.message);
    if (r->batch == NULL) abort();
}

static void real_end(real *r) {
    zf_batch_free(r->batch);
    zf_pipeline_free(r->pipeline);
    free(r->values);
    free(r->work);
}

static known real_known(const real *r) {
    zf_batch_info info = {0};
    zf_error error;
    CHECK(zf_batch_describe(r->batch, &info, &error) == ZF_OK, "%s", error.message); // which has learnt then
    return known_of(r->pipeline->rates, r->batch->requests[0].codec);
}

/// Whole runs are learnt of, cancelled and damaged ones leave rates as they are. The CPU's runs; those of the emulator.
static void test_real(const char *device) {
    zf_container *good = open_written("good.zfd", NULL), *bad = open_written("bad.zfd", damage_states);
    zf_error error = {0};
    real r;
    unsigned cancelled = 0;
    real_begin(&r, device, good);
    known before = real_known(&r);
    CHECK(before.decode == NEVER_SEEN, "a codec that was never run");
    CHECK(zf_batch_start(r.batch, &error) == ZF_OK && zf_batch_wait(r.batch, 0, &error) == ZF_OK, "%s", error.message);
    known seen = real_known(&r);
    CHECK(seen.decode != NEVER_SEEN && seen.read != before.read, "%g %g", seen.decode, seen.read);
    for (unsigned round = 0; round < 60 && cancelled < 4; round++) {
        before = real_known(&r);
        CHECK(zf_batch_start(r.batch, &error) == ZF_OK, "%s", error.message);
        zf_batch_cancel(r.batch);
        if (zf_batch_wait(r.batch, 0, &error) == ZF_OK) continue; // it was done sooner
        CHECK(strcmp(error.code, "ZF1115") == 0, "%s %s", error.code, error.message);
        cancelled++;
        seen = real_known(&r);
        CHECK(memcmp(&seen, &before, sizeof seen) == 0, "%s: cancelled, %g %g %g", device, seen.link, seen.read, seen.decode);
    }
    CHECK(cancelled > 0, "nothing was cancelled");
    before = real_known(&r);
    real_end(&r);
    real_begin(&r, device, bad);
    for (unsigned round = 0; round < 2; round++) {
        CHECK(zf_batch_start(r.batch, &error) == ZF_OK, "%s", error.message);
        CHECK(zf_batch_wait(r.batch, 0, &error) == ZF_ERR_INPUT, "damage is not told");
        seen = real_known(&r);
        CHECK(memcmp(&seen, &before, sizeof seen) == 0, "%s: damaged, %g %g %g", device, seen.link, seen.read, seen.decode);
    }
    real_end(&r);
    zf_container_close(good);
    zf_container_close(bad);
}

int main(void) {
    zf_abi_provider provider = simt_provider();
    zf_error error = {0};
    if (!scratch_begin("pipeline-rates")) return 1;
    CHECK(emulated_context_create(&(zf_context_options){.cache_dir = "", .threads = 2}, &context, &error) == ZF_OK, "%s",
          error.message);
    CHECK(zf_context_set_provider(context, &provider, &error) == ZF_OK, "%s", error.message);
    test_both_ways();
    test_cost();
    test_side_by_side();
    test_short();
    test_what_says_nothing();
    test_first_runs();
    test_late_launches();
    test_real("cpu");
    test_real("emu");
    zf_context_free(context);
    scratch_remove(scratch);
    return check_result();
}

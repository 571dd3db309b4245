// Asynchronous decodes on streams of the caller, many at once: different columns, the same column twice, one whose blocks run
// side by side on streams of its own, one that fails. No decode sees the failure of another, and each has its own rows, however
// often they are queued and in whatever order they are waited for; first from one thread of the host, then from several.
//   gpu_streams --device emu|cuda --rounds N --rows N --plug BYTES --canary BYTES
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/damaged_state.h"
#include "tests/gpu/gpu_decode.h"
#include "tests/unit/check.h"

typedef unsigned long long ull;

static const char *const jobs_columns[] = {"map_u32", "scan_i32", "map_date", "groups_i64",  "scan_i32",
                                           "nested",  "map_u32",  "scan_i32", "map_growing", "map_growing"};
enum { JOBS = sizeof jobs_columns / sizeof jobs_columns[0], DAMAGED = 4, GROWING = 8, BLOCKS = 3, PLUG_TIMES = 16 };

typedef struct job {
    const gpu_column *column;
    gpu_decode decode;
    void *stream, *end; ///< an event behind the decode
    uint64_t plug;      ///< memory that is filled for a while, so that what is queued behind waits
    zf_error expected;  ///< of the damaged one
    uint64_t right, failed;
} job;

static gpu_machine machine;
static const zf_accelerator_ops *ops;
static job jobs[JOBS];
static void *clock_stream, *queued; ///< an event on a stream with nothing else: when all were queued
static uint64_t rows = 200000, plug_bytes, canary = 4096, together;

static void must(zf_status status, const zf_error *error, const char *what) {
    if (status == ZF_OK) return;
    CHECK(false, "%s: %s %s (%s)", what, error->code, error->message, error->place);
    exit(check_result());
}

// ---- A decode -------------------------------------------------------------------------------------------------

static void open_job(job *j, zf_container *container, const char *name) {
    zf_error error;
    size_t column;
    j->column = gpu_column_find(name);
    must(zf_container_find(container, name, &column, &error), &error, name);
    must(ops->stream_open(machine.accelerator, &j->stream, &error), &error, "a stream");
    must(gpu_decode_open(&machine, container, column, NULL, canary, j->stream, &j->decode, &error), &error, name);
    must(ops->event_open(machine.accelerator, true, &j->end, &error), &error, "an event");
    if (plug_bytes > 0) must(ops->allocate(machine.accelerator, plug_bytes, &j->plug, &error), &error, "memory");
}

static void close_job(job *j) {
    ops->release(machine.accelerator, j->plug);
    ops->event_close(machine.accelerator, j->end);
    void *stream = j->stream;
    gpu_decode_close(&j->decode);
    ops->stream_close(machine.accelerator, stream);
}

/// Occupies all streams, so that work enqueued next waits for a while.
static void plug_all(void) {
    zf_error error;
    for (int k = 0; k < PLUG_TIMES * JOBS && plug_bytes > 0; k++) { // in turn, so that all streams wait for equally long
        job *j = &jobs[k % JOBS];
        must(ops->fill(machine.accelerator, j->stream, j->plug, (uint8_t)k, plug_bytes, &error), &error, "filling");
    }
}

static void queue_job(job *j) {
    zf_error error;
    must(gpu_decode_queue(&j->decode, &error), &error, j->column->name);
    must(ops->event_note(machine.accelerator, j->stream, j->end, &error), &error, "an event");
}

/// Waits for one; no other has to be done.
static void check_job(job *j, bool damaged) {
    zf_error error = {0};
    zf_status status = gpu_decode_wait(&j->decode, NULL, &error);
    const char *touched = gpu_decode_touched(&j->decode);
    if (damaged) {
        bool same =
            status == ZF_ERR_INPUT && strcmp(error.code, j->expected.code) == 0 && strcmp(error.place, j->expected.place) == 0;
        if (!same || touched != NULL)
            CHECK(false, "the damaged column: %s %s (%s); canary %s", error.code, error.message, error.place, touched);
        j->failed += same;
        return;
    }
    if (status == ZF_OK) status = gpu_decode_fetch(&j->decode, &error);
    uint64_t wrong = status == ZF_OK ? gpu_column_wrong(j->column, 0, rows, 0, j->decode.copy, 0, 1) : rows;
    if (status != ZF_OK || wrong > 0 || touched != NULL) {
        CHECK(false, "column %s: %s %s (%s); %llu rows are wrong; canary %s", j->column->name, status != ZF_OK ? error.code : "",
              status != ZF_OK ? error.message : "", status != ZF_OK ? error.place : "", (ull)wrong, touched);
    }
    j->right += wrong == 0;
}

// ---- Together -------------------------------------------------------------------------------------------------

/// Whether none had ended when all were queued.
static bool all_together(void) {
    for (int k = 0; k < JOBS; k++) {
        zf_error error;
        double seconds;
        must(ops->event_seconds(machine.accelerator, queued, jobs[k].end, &seconds, &error), &error, "an event");
        if (seconds <= 0) return false;
    }
    return true;
}

static void shuffle(int *order, uint64_t seed) {
    for (int k = 0; k < JOBS; k++) order[k] = k;
    for (int k = JOBS - 1; k > 0; k--) {
        int other = (int)(gpu_mix(seed * JOBS + (uint64_t)k) % ((uint64_t)k + 1)), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

static void test_together(uint64_t rounds) {
    for (uint64_t round = 0; round < rounds && check_failures < 10; round++) {
        int order[JOBS];
        shuffle(order, 2 * round);
        zf_error error;
        plug_all();
        for (int k = 0; k < JOBS; k++) queue_job(&jobs[order[k]]);
        must(ops->event_note(machine.accelerator, clock_stream, queued, &error), &error, "an event");
        shuffle(order, 2 * round + 1);
        for (int k = 0; k < JOBS; k++) check_job(&jobs[order[k]], order[k] == DAMAGED);
        together += all_together();
    }
    for (int k = 0; k < JOBS; k++) {
        CHECK(jobs[k].right + jobs[k].failed == rounds && (jobs[k].failed > 0) == (k == DAMAGED),
              "job %d: %llu right, %llu failed", k, (ull)jobs[k].right, (ull)jobs[k].failed);
    }
}

typedef struct worker {
    job *job;
    uint64_t rounds;
} worker;

static void *run_worker(void *user) {
    worker *w = user;
    for (uint64_t round = 0; round < w->rounds; round++) {
        queue_job(w->job);
        check_job(w->job, w->job == &jobs[DAMAGED]);
    }
    return NULL;
}

/// Each decode by a thread of its own.
static void test_threads(uint64_t rounds) {
    pthread_t threads[JOBS];
    worker workers[JOBS];
    for (int k = 0; k < JOBS; k++) {
        jobs[k].right = jobs[k].failed = 0;
        workers[k] = (worker){&jobs[k], rounds};
        if (pthread_create(&threads[k], NULL, run_worker, &workers[k]) != 0) exit(2);
    }
    for (int k = 0; k < JOBS; k++) pthread_join(threads[k], NULL);
    for (int k = 0; k < JOBS; k++)
        CHECK(jobs[k].right + jobs[k].failed == rounds, "job %d, by a thread: %llu of %llu", k,
              (ull)(jobs[k].right + jobs[k].failed), (ull)rounds);
}

int main(int argc, char **argv) {
    const char *device = "emu";
    uint64_t rounds = 10;
    const gpu_option options[] = {{"device", NULL, &device},   {"rounds", &rounds, NULL}, {"rows", &rows, NULL},
                                  {"plug", &plug_bytes, NULL}, {"canary", &canary, NULL}, {0}};
    if (!gpu_options_read(argc, argv, options)) return 2;
    double start = gpu_seconds();
    zf_error error = {0};
    char paths[2][300];
    gpu_machine_open(&machine, device, false);
    ops = machine.accelerator->ops;
    for (int k = 0; k < 2; k++)
        snprintf(paths[k], sizeof paths[k], "%s", gpu_machine_path(&machine, k == 0 ? "good.zfd" : "bad.zfd"));
    must(gpu_encode(&machine, "forms", rows, (rows / BLOCKS + 4095) / 4096 * 4096, 0, paths[0], &error), &error, "encoding");
    zf_container *good = gpu_model_open(&machine, paths[0]), *bad = NULL;
    gpu_write_damaged(paths[0], good, jobs_columns[DAMAGED], paths[1]);
    must(zf_container_open(machine.context, paths[1], &bad, &error), &error, paths[1]);
    for (int k = 0; k < JOBS; k++) open_job(&jobs[k], k == DAMAGED ? bad : good, jobs_columns[k]);
    must(ops->stream_open(machine.accelerator, &clock_stream, &error), &error, "a stream");
    must(ops->event_open(machine.accelerator, true, &queued, &error), &error, "an event");
    // Its result alone must be its result among others.
    queue_job(&jobs[DAMAGED]);
    CHECK(gpu_decode_wait(&jobs[DAMAGED].decode, NULL, &jobs[DAMAGED].expected) == ZF_ERR_INPUT, "the damaged column decodes");
    CHECK(strcmp(jobs[DAMAGED].expected.code, "ZF1309") == 0, "%s %s", jobs[DAMAGED].expected.code,
          jobs[DAMAGED].expected.message);
    zf_decode_stats stats = {0};
    queue_job(&jobs[GROWING]);
    CHECK(gpu_decode_wait(&jobs[GROWING].decode, &stats, &error) == ZF_OK, "%s", error.message);
    CHECK(stats.launches > stats.kernels, "%llu launches of %llu kernels: its blocks do not run side by side",
          (ull)stats.launches, (ull)stats.kernels);
    test_together(rounds);
    test_threads(rounds);
    if (plug_bytes > 0 && !machine.emulated) // whose streams wait
        CHECK(together > 0, "none of %llu rounds had all under way at once", (ull)rounds);
    printf("{\"program\": \"gpu_streams\", \"device\": \"%s\", \"streams\": %d, \"rounds\": %llu, \"rows\": %llu, "
           "\"rounds_with_all_under_way_at_once\": %llu, \"threads\": %d, \"seconds\": %.2f, \"failures\": %d}\n",
           device, JOBS, (ull)rounds, (ull)rows, (ull)together, JOBS, gpu_seconds() - start, check_failures);
    for (int k = 0; k < JOBS; k++) close_job(&jobs[k]);
    ops->event_close(machine.accelerator, queued);
    ops->stream_close(machine.accelerator, clock_stream);
    zf_container_close(bad);
    gpu_machine_close(&machine);
    return check_result();
}

// Links: zipflow-runtime zipflow-emu
// Loops over threads: their signals, the first failure of several, and blocks that are worth the start of threads.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/decode/block_run.h"
#include "tests/support/walk_codec.h"
#include "tests/unit/check.h"

// ---- Loops ----------------------------------------------------------------------------------------------------

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE}, others[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD};
enum { FAULT_COUNT = sizeof faults / sizeof faults[0], OTHER_COUNT = sizeof others / sizeof others[0] };

typedef struct masks {
    sigset_t of[4];
    atomic_uint met;
} masks;

/// Nobody leaves before all have come, so that each worker takes one.
static void take_mask(void *user, uint64_t index, unsigned worker) {
    masks *m = user;
    (void)index;
    pthread_sigmask(SIG_BLOCK, NULL, &m->of[worker]);
    atomic_fetch_add(&m->met, 1);
    while (atomic_load(&m->met) < 4) sched_yield();
}

/// An application's handlers do not run on the library's threads; faults arrive where they happen.
static void test_signals_of_workers(void) {
    masks m = {.met = 0};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    zf_parallel_for(4, 4, take_mask, &m);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    CHECK(atomic_load(&m.met) == 4, "%u threads", atomic_load(&m.met));
    for (unsigned w = 0; w < 4; w++) {
        for (int i = 0; i < FAULT_COUNT; i++)
            CHECK(!sigismember(&m.of[w], faults[i]), "worker %u would not get signal %d", w, faults[i]);
        for (int i = 0; i < OTHER_COUNT; i++) {
            bool was = sigismember(&before, others[i]);
            CHECK(sigismember(&m.of[w], others[i]) == (w > 0 || was), "worker %u, signal %d", w, others[i]);
            CHECK(sigismember(&after, others[i]) == was, "the caller, signal %d", others[i]);
        }
    }
}

typedef struct failing {
    uint64_t fail[3];        ///< indices that do
    uint64_t last;           ///< of them, which waits until another one has failed; UINT64_MAX: none does
    atomic_uint run, failed; ///< how many were
} failing;

static zf_status fail_some(void *user, uint64_t index, unsigned worker, zf_error *error) {
    failing *f = user;
    (void)worker;
    atomic_fetch_add(&f->run, 1);
    for (unsigned k = 0; k < 3; k++) {
        if (index != f->fail[k]) continue;
        while (index == f->last && atomic_load(&f->failed) == 0) sched_yield();
        zf_status status = zf_fail(error, ZF_ERR_INPUT, "ZF0000", "index %d", (int)index);
        atomic_fetch_add(&f->failed, 1);
        return status;
    }
    return ZF_OK;
}

/// If several calls fail, the failure of the lowest index is returned, also where it comes last; calls behind a known one are
/// skipped.
static void test_first_failure(void) {
    zf_error error;
    for (unsigned round = 0; round < 50; round++) {
        failing f = {.fail = {40, 41, 90}, .last = 40};
        CHECK(zf_parallel_try(4, 100, fail_some, &f, &error) == ZF_ERR_INPUT, "no failure");
        CHECK(strcmp(error.message, "index 40") == 0 && atomic_load(&f.run) >= 41, "%s", error.message);
    }
    failing alone = {.fail = {90, 7, 8}, .last = UINT64_MAX}, none = {.fail = {100, 100, 100}, .last = UINT64_MAX};
    CHECK(zf_parallel_try(1, 100, fail_some, &alone, NULL) == ZF_ERR_INPUT, "no failure");
    CHECK(atomic_load(&alone.run) == 8 && atomic_load(&alone.failed) == 1, "%u were run", atomic_load(&alone.run));
    CHECK(zf_parallel_try(4, 100, fail_some, &none, &error) == ZF_OK && atomic_load(&none.run) == 100, "%u",
          atomic_load(&none.run));
    CHECK(zf_parallel_try(4, 0, fail_some, &alone, &error) == ZF_OK, "nothing fails");
}

typedef struct crowd {
    atomic_uint met, runs[8];
    unsigned expected; ///< that run at the same time
} crowd;

/// Nobody leaves before all that are expected have come.
static void meet(void *user, uint64_t index, unsigned worker) {
    crowd *c = user;
    (void)worker;
    atomic_fetch_add(&c->runs[index], 1);
    if (index >= c->expected) return;
    atomic_fetch_add(&c->met, 1);
    while (atomic_load(&c->met) < c->expected) sched_yield();
}

/// Every thread has something to do, however many items there are; never are there more threads than allowed.
static void test_split(void) {
    for (unsigned threads = 1; threads <= 40; threads++) {
        for (uint64_t count = 1; count <= 100; count++) {
            zf_split s = zf_split_threads(threads, count);
            uint64_t shared = 0, rest = s.count - s.alone;
            for (uint64_t i = 0; i < count; i++) {
                CHECK(zf_split_share(&s, i) >= 1, "item %d of %d has no thread", (int)i, (int)count);
                if (i >= s.alone) shared += zf_split_share(&s, i);
            }
            CHECK(s.workers == (count < threads ? count : threads), "%u workers of %u threads", s.workers, threads);
            CHECK(rest == 0 || shared == threads, "%d items share %d of %u threads", (int)rest, (int)shared, threads);
            CHECK(s.alone == 0 || s.alone >= threads, "%d items occupy %u threads", (int)s.alone, threads);
        }
    }
    zf_split five = zf_split_threads(4, 5), three = zf_split_threads(4, 3);
    CHECK(five.alone == 4 && zf_split_share(&five, 4) == 4, "the last one of 5 has %u threads", zf_split_share(&five, 4));
    CHECK(zf_split_share(&three, 0) == 2 && zf_split_share(&three, 2) == 1, "3 items of 4 threads");
    crowd c = {.expected = 4};
    zf_split_for(&five, meet, &c);
    for (unsigned i = 0; i < 5; i++) CHECK(atomic_load(&c.runs[i]) == 1, "item %u ran %u times", i, atomic_load(&c.runs[i]));
    crowd few = {.expected = 3};
    zf_split_for(&three, meet, &few);
    CHECK(atomic_load(&few.met) == 3, "%u items ran", atomic_load(&few.met));
    zf_split none = zf_split_threads(4, 0);
    zf_split_for(&none, meet, &c);
    CHECK(none.workers == 1, "nothing needs %u workers", none.workers);
}

// ---- Blocks ---------------------------------------------------------------------------------------------------

static unsigned started;        ///< threads
static long thread_nanoseconds; ///< that a thread has used, as the library sees it
static long batch_nanoseconds;  ///< that a batch costs

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user) {
    started++;
    return __real_pthread_create(thread, attributes, body, user);
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    if (clock != CLOCK_THREAD_CPUTIME_ID) return __real_clock_gettime(clock, out);
    *out = (struct timespec){.tv_nsec = thread_nanoseconds};
    return 0;
}

/// A block of many rows, for a kernel that decodes nothing.
enum { LONG_ROWS = 160000 };

typedef struct long_block {
    zf_block_data data;
    zf_block_view view;
    zf_abi_code code;
    zf_abi_kernel_fn kernels[1];
    void *bytes, *work;
    uint32_t *out;
} long_block;

static void make_long_block(long_block *b, zf_abi_kernel_fn kernel) {
    zf_error error = {0};
    uint64_t size = 0, work_bytes = 0;
    *b = (long_block){.code = walk_codes[0], .kernels = {kernel}, .out = malloc(LONG_ROWS * sizeof *b->out)};
    b->code.kernels = b->kernels;
    CHECK(walk_layout(0, 0, 0, LONG_ROWS, &b->bytes, &size, &b->data, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_block_check(&walk_shapes[0], b->bytes, size, true, "x", &b->view, &error) == ZF_OK, "%s", error.message);
    CHECK(zf_block_work_bytes(&walk_plans[0], &b->view, &work_bytes, &error) == ZF_OK, "%s", error.message);
    b->work = aligned_alloc(64, (work_bytes + 63) / 64 * 64 + 64);
}

static void free_long_block(long_block *b) {
    zf_block_view_free(&b->view);
    walk_free(&b->data, b->bytes);
    free(b->work);
    free(b->out);
}

/// A kernel that decodes nothing. Its first batch runs on the caller's thread, before others start.
static void run_timed(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    (void)args, (void)end;
    if (begin == 0) thread_nanoseconds += batch_nanoseconds;
}

/// Threads are started if the work behind a first batch is worth it, and not for a few elements that cost nothing. With so many
/// rows a first batch is an eighth: it is worth a thread from ten microseconds on, and reading the clock takes one or two.
static void test_threads_worth_their_start(void) {
    zf_error error = {0};
    long_block b;
    make_long_block(&b, run_timed);
    zf_block_run run = {.plan = &walk_plans[0],
                        .code = &b.code,
                        .view = &b.view,
                        .element = ZF_U32,
                        .out = b.out,
                        .end = LONG_ROWS,
                        .work = b.work,
                        .mode = ZF_ABI_DECODE,
                        .threads = 4};
    static const struct {
        long nanoseconds;
        bool starts;
    } costs[] = {{0, false}, {5000, false}, {20000, true}, {10000000, true}};
    for (size_t k = 0; k < sizeof costs / sizeof costs[0]; k++) {
        started = 0;
        batch_nanoseconds = costs[k].nanoseconds;
        CHECK(zf_block_run_cpu(&run, &error) == ZF_OK, "%s", error.message);
        CHECK((started > 0) == costs[k].starts, "%u threads started, a batch takes %ld ns", started, costs[k].nanoseconds);
    }
    free_long_block(&b);
}

// ---- Cancelling -----------------------------------------------------------------------------------------------

static atomic_uint tiles_run, asked;
static unsigned asked_most;

static void run_counted(const zf_abi_args *args, uint64_t begin, uint64_t end) {
    (void)args;
    atomic_fetch_add(&tiles_run, (unsigned)(end - begin));
}

static bool lose_patience(void *user) {
    (void)user;
    return atomic_fetch_add(&asked, 1) >= asked_most;
}

/// A block's only kernel ends where its caller says so, long before its last tile, and with threads too.
static void test_cancelled_tiles(void) {
    zf_error error = {0};
    long_block b;
    make_long_block(&b, run_counted);
    unsigned tiles = (LONG_ROWS - 1) / walk_plans[0].kernels[0].tile + 1;
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        for (uint64_t first = 0; first <= 5; first += 5) { // some rows: tiles that are cut go through the scratch
            zf_block_run run = {.plan = &walk_plans[0],
                                .code = &b.code,
                                .view = &b.view,
                                .element = ZF_U32,
                                .out = b.out,
                                .begin = first,
                                .end = LONG_ROWS,
                                .work = b.work,
                                .mode = ZF_ABI_DECODE,
                                .threads = threads,
                                .where = "block 0",
                                .cancelled = lose_patience};
            atomic_store(&tiles_run, 0), atomic_store(&asked, 0);
            asked_most = UINT32_MAX;
            CHECK(zf_block_run_cpu(&run, &error) == ZF_OK && atomic_load(&tiles_run) == tiles, "%u of %u tiles: %s",
                  atomic_load(&tiles_run), tiles, error.message);
            CHECK(atomic_load(&asked) > 2, "asked %u times", atomic_load(&asked));
            atomic_store(&tiles_run, 0), atomic_store(&asked, 0);
            run.launches = 0;
            asked_most = 1; // not before the kernel, but after its first tile
            CHECK(zf_block_run_cpu(&run, &error) == ZF_ERR_CANCELLED && strcmp(error.code, "ZF1115") == 0, "%u threads: %s",
                  threads, error.message);
            unsigned ran = atomic_load(&tiles_run);
            CHECK(ran >= 1 && ran <= threads + 1 && run.launches == 0, "%u threads ran %u tiles of %u", threads, ran, tiles);
        }
    }
    free_long_block(&b);
}

int main(void) {
    test_signals_of_workers();
    test_first_failure();
    test_split();
    test_threads_worth_their_start();
    test_cancelled_tiles();
    return check_result();
}

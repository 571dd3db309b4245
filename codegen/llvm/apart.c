#include "codegen/llvm/apart.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/thread.h"

// A probe takes 15 ms of a processor. One that takes far more goes round in a circle. One that takes none, while its starter
// wakes again and again, waits for what nobody gives back; a machine with much else to do lets both run now and then.
static const double MOST_SECONDS = 5;
enum { SLICE_NANOSECONDS = 100000000, IDLE_SLICES = 20 };

// Belongs to both threads: the last one frees it. A thread that is stuck keeps it.
typedef struct visit {
    zf_status (*work)(void *user, zf_error *error);
    void *user;
    zf_error *error;
    void (*landed)(void *user); ///< NULL: nothing is to be done
    void *landed_user;
    atomic_uint holders;
    pthread_mutex_t lock; ///< of what follows
    pthread_cond_t changed;
    bool done;
    zf_apart_result result;
} visit;

static _Thread_local visit *here; // LLVM's handlers are told nothing of whose they are

static void drop(visit *v) {
    if (atomic_fetch_sub(&v->holders, 1) > 1) return;
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

static void answer(visit *v, const zf_apart_result *result) {
    here = NULL;
    pthread_mutex_lock(&v->lock);
    v->result = *result;
    v->done = true;
    pthread_cond_signal(&v->changed);
    pthread_mutex_unlock(&v->lock);
    drop(v);
}

static void *run(void *pointer) {
    visit *v = here = pointer;
    zf_apart_result result = {.end = ZF_APART_RETURNED};
    result.status = v->work(v->user, v->error);
    answer(v, &result);
    return NULL;
}

bool zf_is_apart(void) { return here != NULL; }

void zf_apart_at_landing(void (*landed)(void *user), void *user) {
    here->landed = landed;
    here->landed_user = user;
}

void zf_apart_land(const char *reason, bool no_memory) {
    visit *v = here;
    if (v == NULL) return;
    zf_apart_result result = {.end = ZF_APART_LANDED, .no_memory = no_memory};
    snprintf(result.reason, sizeof result.reason, "%s", reason);
    if (v->landed != NULL) v->landed(v->landed_user);
    answer(v, &result);
    for (;;) pause();
}

/// Returns the processor seconds of a thread that has not ended.
static double seconds_of(pthread_t thread) {
    clockid_t clock;
    struct timespec now;
    bool known = pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &now) == 0;
    return known ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : 0;
}

/// Waits until the work has ended, or will not. With the lock held: the thread does not end before it has answered.
static void wait_some_time(visit *v, pthread_t thread) {
    double used = 0;
    for (int idle = 0; !v->done && idle < IDLE_SLICES && used < MOST_SECONDS;) {
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += SLICE_NANOSECONDS;
        end.tv_sec += end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&v->changed, &v->lock, &end) == 0) continue;
        if (v->done) break;
        double now = seconds_of(thread);
        idle = now > used ? 0 : idle + 1;
        used = now;
    }
}

static visit *make_visit(zf_status (*work)(void *user, zf_error *error), void *user, zf_error *error) {
    visit *v = calloc(1, sizeof *v);
    if (v == NULL) return NULL;
    v->work = work;
    v->user = user;
    v->error = error;
    v->result.end = ZF_APART_STUCK;
    atomic_init(&v->holders, 2);
    pthread_mutex_init(&v->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &clock);
    pthread_condattr_destroy(&clock);
    return v;
}

zf_apart_result zf_run_apart(zf_status (*work)(void *user, zf_error *error), void *user, bool gives_up, zf_error *error) {
    zf_apart_result result = {.end = ZF_APART_NO_THREAD};
    visit *v = make_visit(work, user, error);
    if (v == NULL) return result;
    pthread_t thread;
    if (!zf_thread_start(&thread, ZF_STACK_DEEP, run, v)) {
        atomic_store(&v->holders, 1);
        drop(v);
        return result;
    }
    pthread_mutex_lock(&v->lock);
    if (gives_up) wait_some_time(v, thread);
    while (!v->done && !gives_up) pthread_cond_wait(&v->changed, &v->lock);
    result = v->result;
    pthread_mutex_unlock(&v->lock);
    drop(v);
    if (result.end == ZF_APART_RETURNED)
        pthread_join(thread, NULL); // destructors of its variables have run
    else
        pthread_detach(thread);
    return result;
}

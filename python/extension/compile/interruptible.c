#include "python/extension/compile/interruptible.h"

#include <pthread.h>
#include <time.h>

/// Work of a thread, while the calling thread looks for interrupts.
typedef struct running {
    zf_status (*work)(void *user, zf_error *error);
    void *user;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
    zf_status status;
    zf_error error;
} running;

bool zf_py_not_interrupted(void *interrupted, uint64_t done, uint64_t blocks) {
    (void)done, (void)blocks;
    return !atomic_load((atomic_bool *)interrupted);
}

static void *run(void *pointer) {
    running *r = pointer;
    zf_status status = r->work(r->user, &r->error);
    pthread_mutex_lock(&r->lock);
    r->status = status;
    r->ended = true;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/// Waits a while for the end of the work, without the GIL.
static bool wait_a_while(running *r) {
    enum { NANOSECONDS = 50 * 1000 * 1000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&r->lock);
    if (!r->ended) pthread_cond_timedwait(&r->changed, &r->lock, &until);
    bool ended = r->ended;
    pthread_mutex_unlock(&r->lock);
    return ended;
}

bool zf_py_run_interruptible(zf_status (*work)(void *user, zf_error *error), void *user, atomic_bool *interrupted,
                             PyObject *make_error) {
    running r = {.work = work, .user = user, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    if (!zf_py_on_main_thread() || pthread_create(&thread, NULL, run, &r) != 0) {
        Py_BEGIN_ALLOW_THREADS run(&r);
        Py_END_ALLOW_THREADS
    } else {
        bool ended = false;
        while (!ended) {
            Py_BEGIN_ALLOW_THREADS ended = wait_a_while(&r);
            Py_END_ALLOW_THREADS if (!atomic_load(interrupted) && PyErr_CheckSignals() != 0)
                atomic_store(interrupted, true); // its exception stays set
        }
        pthread_join(thread, NULL);
    }
    pthread_mutex_destroy(&r.lock);
    pthread_cond_destroy(&r.changed);
    if (atomic_load(interrupted)) return false;
    if (r.status == ZF_OK) return true;
    zf_py_raise(make_error, &r.error);
    return false;
}

#include "runtime/base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/base/thread.h"

typedef struct loop {
    atomic_uint_fast64_t next;
    uint64_t count;
    void (*work)(void *user, uint64_t index, unsigned worker);
    void *user;
} loop;

typedef struct member {
    loop *loop;
    unsigned worker;
    pthread_t thread;
} member;

static void *run(void *pointer) {
    member *m = pointer;
    loop *l = m->loop;
    for (;;) {
        uint64_t index = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (index >= l->count) return NULL;
        l->work(l->user, index, m->worker);
    }
}

void zf_parallel_for(unsigned threads, uint64_t count, void (*work)(void *user, uint64_t index, unsigned worker), void *user) {
    if (threads > ZF_THREADS_MOST) threads = ZF_THREADS_MOST;
    if (threads > count) threads = (unsigned)count;
    if (threads <= 1) {
        for (uint64_t i = 0; i < count; i++) work(user, i, 0);
        return;
    }
    loop l = {.count = count, .work = work, .user = user};
    atomic_init(&l.next, 0);
    member members[ZF_THREADS_MOST];
    unsigned started = 1;
    for (; started < threads; started++) {
        members[started] = (member){.loop = &l, .worker = started};
        // A thread that cannot be had is no error: the others do its work.
        if (!zf_thread_start(&members[started].thread, ZF_STACK_DEFAULT, run, &members[started])) break;
    }
    members[0] = (member){.loop = &l, .worker = 0};
    run(&members[0]);
    for (unsigned i = 1; i < started; i++) pthread_join(members[i].thread, NULL);
}

zf_split zf_split_threads(unsigned threads, uint64_t count) {
    if (threads > ZF_THREADS_MOST) threads = ZF_THREADS_MOST;
    if (threads == 0) threads = 1;
    uint64_t rest = 0; // items that share the threads; of many items the last ones idle few threads for long
    if (count < threads) rest = count;
    if (count > threads && count - threads <= threads / 2) rest = count - threads;
    return (zf_split){
        .count = count,
        .alone = count - rest,
        .threads = threads,
        .workers = count == 0 ? 1 : (unsigned)(count < threads ? count : threads),
    };
}

unsigned zf_split_share(const zf_split *split, uint64_t index) {
    if (index < split->alone) return 1;
    unsigned rest = (unsigned)(split->count - split->alone);
    return split->threads / rest + (index - split->alone < split->threads % rest ? 1 : 0);
}

typedef struct later {
    uint64_t first;
    void (*work)(void *user, uint64_t index, unsigned worker);
    void *user;
} later;

static void work_later(void *user, uint64_t index, unsigned worker) {
    later *l = user;
    l->work(l->user, l->first + index, worker);
}

void zf_split_for(const zf_split *split, void (*work)(void *user, uint64_t index, unsigned worker), void *user) {
    later l = {.first = split->alone, .work = work, .user = user};
    zf_parallel_for(split->workers, split->alone, work, user);
    zf_parallel_for(split->workers, split->count - split->alone, work_later, &l);
}

typedef struct attempt {
    zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error);
    void *user;
    atomic_uint_fast64_t failed; ///< the lowest index that did; UINT64_MAX: none
    pthread_mutex_t lock;        ///< guards what follows
    zf_status status;
    zf_error *error;
} attempt;

static void try_one(void *user, uint64_t index, unsigned worker) {
    attempt *a = user;
    zf_error error;
    if (index > atomic_load(&a->failed)) return;
    zf_status status = a->work(a->user, index, worker, &error);
    if (status == ZF_OK) return;
    pthread_mutex_lock(&a->lock);
    if (index < atomic_load(&a->failed)) {
        atomic_store(&a->failed, index);
        a->status = status;
        if (a->error != NULL) *a->error = error;
    }
    pthread_mutex_unlock(&a->lock);
}

zf_status zf_split_try(const zf_split *split, zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error),
                       void *user, zf_error *error) {
    attempt a = {.work = work, .user = user, .status = ZF_OK, .error = error};
    atomic_init(&a.failed, UINT64_MAX);
    pthread_mutex_init(&a.lock, NULL);
    zf_split_for(split, try_one, &a);
    pthread_mutex_destroy(&a.lock);
    return a.status;
}

zf_status zf_parallel_try(unsigned threads, uint64_t count,
                          zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error), void *user,
                          zf_error *error) {
    return zf_split_try(&(zf_split){.count = count, .alone = count, .threads = threads, .workers = threads}, work, user, error);
}

unsigned zf_usable_cores(void) {
    // The kernel refuses a set that is smaller than its own, whose size depends on the machine. Only a large one is allocated.
    cpu_set_t ordinary;
    if (sched_getaffinity(0, sizeof ordinary, &ordinary) == 0) {
        int cores = CPU_COUNT(&ordinary);
        return cores > 0 ? (unsigned)cores : 1;
    }
    for (int most = 4 * CPU_SETSIZE; most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        if (set == NULL) return 1;
        size_t size = CPU_ALLOC_SIZE((size_t)most);
        CPU_ZERO_S(size, set);
        bool whole = sched_getaffinity(0, size, set) == 0;
        bool small = !whole && errno == EINVAL;
        int cores = whole ? CPU_COUNT_S(size, set) : 1;
        CPU_FREE(set);
        if (!small) return cores > 0 ? (unsigned)cores : 1;
    }
    return 1;
}

// Parallel loops; their threads live as long as the loop.
#ifndef ZF_RUNTIME_POOL_H
#define ZF_RUNTIME_POOL_H

#include <stdint.h>

#include "zipflow/zipflow.h"

/// The most threads of a loop, of a context and of a call.
enum { ZF_THREADS_MOST = 256 };

/// Runs `work(user, index, worker)` for every index below `count` on at most `threads` threads, the caller's among them;
/// `worker` is below `threads`. Indices are assigned in order. Returns when all are done. One thread means the caller's alone.
/// Threads are started as zf_thread_start does (thread.h).
void zf_parallel_for(unsigned threads, uint64_t count, void (*work)(void *user, uint64_t index, unsigned worker), void *user);

/// Runs work that may fail. Returns the failure of the lowest index, also in `error` (may be NULL). Work behind a known failure
/// is skipped, work before it is not.
zf_status zf_parallel_try(unsigned threads, uint64_t count,
                          zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error), void *user,
                          zf_error *error);

/// How threads share items each of which can use several threads, as a block does with its tiles. The first `alone` items run on
/// one thread each; then the others run at the same time and divide the threads among them.
typedef struct zf_split {
    uint64_t count, alone;
    unsigned threads;
    unsigned workers; ///< most items at the same time
} zf_split;

/// Splits `threads` threads over `count` items, so that few of them idle whatever the count.
zf_split zf_split_threads(unsigned threads, uint64_t count);

/// Returns the number of threads of the item `index`, the one that runs it among them.
unsigned zf_split_share(const zf_split *split, uint64_t index);

/// zf_parallel_for and zf_parallel_try over the items; `worker` is below `workers`.
void zf_split_for(const zf_split *split, void (*work)(void *user, uint64_t index, unsigned worker), void *user);
zf_status zf_split_try(const zf_split *split, zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error),
                       void *user, zf_error *error);

/// Returns the number of cores that this process may use.
unsigned zf_usable_cores(void);

#endif

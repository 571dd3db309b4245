// Parallel loops; their threads live as long as the loop.
#ifndef ZF_BASE_POOL_H
#define ZF_BASE_POOL_H

#include <signal.h>
#include <stdint.h>

#include "zipflow/zipflow.h"

/// The most threads of a loop, of a context and of a call.
enum { ZF_THREADS_MOST = 256 };

/// Runs `work(user, index, worker)` for every index below `count` on at most `threads` threads, the caller's among them;
/// `worker` is below `threads`. Indices are assigned in order. Returns when all are done. One thread means the caller's alone.
/// Started threads block all signals but those of faults.
void zf_parallel_for(unsigned threads, uint64_t count, void (*work)(void *user, uint64_t index, unsigned worker), void *user);

/// Runs work that may fail. Returns the failure of the lowest index, also in `error` (may be NULL). Work behind a known failure
/// is skipped, work before it is not.
zf_status zf_parallel_try(unsigned threads, uint64_t count,
                          zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error), void *user,
                          zf_error *error);

/// Blocks all signals but those of faults in this thread, and stores the previous mask in `before`. Threads that start before the
/// mask is restored inherit it, so that an application's handlers run on its own threads.
void zf_block_signals(sigset_t *before);

/// Returns the number of cores that this process may use.
unsigned zf_usable_cores(void);

#endif

// Parallel loops over threads that live as long as the loop.
#ifndef ZF_BASE_POOL_H
#define ZF_BASE_POOL_H

#include <signal.h>
#include <stdint.h>

#include "zipflow/zipflow.h"

/// The most threads that a loop runs on, and so that a context or a call takes.
enum { ZF_THREADS_MOST = 256 };

/// Runs `work(user, index, worker)` for every index below `count` on at most `threads` threads, the caller's among them;
/// `worker` is below `threads`. Indices are handed out in order. Returns when all are done. With one thread nothing is started.
/// Threads that are started block all signals but those of faults.
void zf_parallel_for(unsigned threads, uint64_t count, void (*work)(void *user, uint64_t index, unsigned worker), void *user);

/// The same of work that may fail. Of several failures that of the lowest index is returned, in `error` (which may be NULL) too,
/// whoever met it first: work behind a known failure is left out, work before it is not.
zf_status zf_parallel_try(unsigned threads, uint64_t count,
                          zf_status (*work)(void *user, uint64_t index, unsigned worker, zf_error *error), void *user,
                          zf_error *error);

/// Threads that are made between this and setting `before` again take no signals but those of their own faults: the handlers of
/// an application run on its threads.
void zf_block_signals(sigset_t *before);

/// Cores that this process may use.
unsigned zf_usable_cores(void);

#endif

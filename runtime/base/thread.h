// Threads of the library: their stacks have known sizes, and they leave signals to the application's threads.
#ifndef ZF_RUNTIME_THREAD_H
#define ZF_RUNTIME_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/// Bytes of stacks, of which memory takes what is used. A default one has room for any kernel (ZF_ABI_STACK_MOST).
#ifdef ZF_SANITIZE
enum { ZF_STACK_DEFAULT = 16 << 20, ZF_STACK_DEEP = 64 << 20 };
#else
enum { ZF_STACK_DEFAULT = 8 << 20, ZF_STACK_DEEP = 16 << 20 };
#endif

/// Starts a thread with a stack of `stack` bytes that blocks all signals but those of faults. Returns whether it runs.
///
/// `thread`: where its name goes, for pthread_join; NULL: the thread is detached.
bool zf_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *user), void *user);

#endif

#include "runtime/base/thread.h"

#include <signal.h>

/// Blocks all signals but those of faults in this thread. A thread that it starts inherits that.
static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigset_t set;
    sigfillset(&set);
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

bool zf_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *user), void *user) {
    pthread_attr_t attributes;
    pthread_t detached;
    sigset_t before;
    if (pthread_attr_init(&attributes) != 0) return false;
    bool good = pthread_attr_setstacksize(&attributes, stack) == 0;
    if (thread == NULL) good = good && pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0;
    block_signals(&before);
    good = good && pthread_create(thread != NULL ? thread : &detached, &attributes, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return good;
}

// Clocks for reported times.
#ifndef ZF_RUNTIME_CLOCK_H
#define ZF_RUNTIME_CLOCK_H

#include <time.h>

/// Returns seconds of a monotonic clock.
static inline double zf_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/// Returns the processor seconds of this thread.
static inline double zf_clock_thread_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif

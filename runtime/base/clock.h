// The time, for what a caller is told to have waited for.
#ifndef ZF_BASE_CLOCK_H
#define ZF_BASE_CLOCK_H

#include <time.h>

/// Seconds of a clock that only goes forward.
static inline double zf_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/// Seconds that this thread has had a processor.
static inline double zf_clock_thread_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif

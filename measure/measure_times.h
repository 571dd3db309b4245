// The figures of a measurement that was repeated.
#ifndef ZF_MEASURE_MEASURE_TIMES_H
#define ZF_MEASURE_MEASURE_TIMES_H

#include "runtime/base/median.h"

/// Seconds of several runs.
typedef struct zf_measure_times {
    double median, least, most;
} zf_measure_times;

/// Sorts `seconds`, one of each of `count` runs (at least one), and returns their figures.
static inline zf_measure_times zf_measure_times_of(double *seconds, size_t count) {
    double median = zf_median(seconds, count);
    return (zf_measure_times){median, seconds[0], seconds[count - 1]};
}

#endif

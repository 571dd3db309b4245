// The median of measurements.
#ifndef ZF_RUNTIME_MEDIAN_H
#define ZF_RUNTIME_MEDIAN_H

#include <stddef.h>
#include <stdlib.h>

static inline int zf_median_by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Sorts `count` numbers (at least one, no NaN) and returns their median; for an even count, the mean of the middle two.
static inline double zf_median(double *values, size_t count) {
    qsort(values, count, sizeof *values, zf_median_by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif

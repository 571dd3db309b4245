// The middle of measurements.
#ifndef ZF_BASE_MEDIAN_H
#define ZF_BASE_MEDIAN_H

#include <stddef.h>
#include <stdlib.h>

static inline int zf_median_by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Sorts `count` numbers, at least one, none of which is NaN, by size. Gives their median: of an even number the mean of the two
/// in the middle.
static inline double zf_median(double *values, size_t count) {
    qsort(values, count, sizeof *values, zf_median_by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif

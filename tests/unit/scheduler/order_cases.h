// Problems for tests of scheduler/order: numbers that are the same on every machine, problems of several kinds, permutations.
#ifndef ZF_TESTS_ORDER_CASES_H
#define ZF_TESTS_ORDER_CASES_H

#include <stdlib.h>
#include <string.h>

#include "scheduler/order/order.h"

enum { ORDER_MOST = 16 }; ///< jobs of a random problem

/// Under sanitizers fewer random problems are tried: they take a tenth as long there.
#ifdef ZF_SANITIZE
enum { ORDER_PART = 10 };
#else
enum { ORDER_PART = 1 };
#endif

static uint64_t order_seed;

static inline uint64_t order_random(void) {
    uint64_t z = order_seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint32_t order_below(uint32_t bound) { return (uint32_t)(order_random() % bound); }

/// From 0 to below 1, of 53 random bits.
static inline double order_real(void) { return (double)(order_random() >> 11) * 0x1p-53; }

/// The distribution of the times of a random problem.
typedef enum order_kind {
    ORDER_FEW,     ///< whole numbers below 4: zeros and ties
    ORDER_WHOLE,   ///< whole numbers below 100
    ORDER_REAL,    ///< reals below 1
    ORDER_COLUMNS, ///< three columns whose pieces differ by a hundredth, as those of a query do
    ORDER_KINDS,
} order_kind;

/// Jobs of a kind. `reads`: from files; else from pinned memory, with neither reads nor bytes of the host's ring. Bytes:
/// below 10.
static inline void order_jobs(order_kind kind, bool reads, zf_order_job *jobs, uint32_t count) {
    double column[3][3];
    for (int c = 0; c < 9; c++) column[c / 3][c % 3] = order_real();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = order_below(3);
        double t[3];
        for (int m = 0; m < 3; m++) {
            switch (kind) {
            case ORDER_FEW: t[m] = order_below(4); break;
            case ORDER_WHOLE: t[m] = order_below(100); break;
            case ORDER_REAL: t[m] = order_real(); break;
            default: t[m] = column[group][m] * (1 + order_real() / 100); break;
            }
        }
        jobs[i] = (zf_order_job){.read = reads ? t[0] : 0,
                                 .copy = t[1],
                                 .decode = t[2],
                                 .staging = order_below(10),
                                 .ring = reads ? order_below(10) : 0,
                                 .group = group};
    }
}

static inline zf_order_problem order_problem(const zf_order_job *jobs, uint32_t count) {
    return (zf_order_problem){.jobs = jobs,
                              .count = count,
                              .groups = 3,
                              .staging = ZF_ORDER_UNBOUNDED,
                              .ring = ZF_ORDER_UNBOUNDED,
                              .readers = 1,
                              .streams = 1};
}

/// Scratch of exactly the size asked for, so that one byte further is found by a sanitizer. Never NULL.
static inline void *order_scratch(uint32_t count, size_t *bytes) {
    *bytes = zf_order_scratch_bytes(count);
    char *scratch = malloc(*bytes > 0 ? *bytes : 1);
    if (scratch == NULL) abort();
    memset(scratch, 0xA5, *bytes);
    return scratch;
}

/// The next permutation in the order of a dictionary; false behind the last.
static inline bool order_next(uint32_t *order, uint32_t count) {
    uint32_t k = count;
    while (k >= 2 && order[k - 2] > order[k - 1]) k--;
    if (k < 2) return false;
    uint32_t last = count - 1;
    while (order[last] < order[k - 2]) last--;
    uint32_t swap = order[k - 2];
    order[k - 2] = order[last];
    order[last] = swap;
    for (uint32_t a = k - 1, b = count - 1; a < b; a++, b--) {
        swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    return true;
}

static inline bool order_is_one(const uint32_t *order, uint32_t count) {
    bool seen[ORDER_MOST] = {false};
    for (uint32_t k = 0; k < count; k++) {
        if (order[k] >= count || seen[order[k]]) return false;
        seen[order[k]] = true;
    }
    return true;
}

#endif

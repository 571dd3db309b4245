// The order in which pieces of columns are read, copied over the link and decoded, and the time at which each is done.
//
// Three machines stand in a row: readers fill a pinned ring in the host's memory, one link copies to a ring in the device's
// memory, and streams decode there. Every job passes them in the same order (a permutation flow shop). Nothing here reads a
// clock, allocates or keeps state: the same arguments give the same result. Times are seconds, sizes bytes. A job is named by its
// index in the caller's array; an order is a permutation of these indices.
//
// Memory: functions that need memory take `scratch`, aligned to 8 bytes, of at least `zf_order_scratch_bytes` bytes. Its contents
// afterwards are unspecified. No two arguments may overlap.
// Errors: every function checks the whole problem first. When it refuses, it writes nothing but `*bad`, which may be NULL.
#ifndef ZF_SCHEDULER_ORDER_H
#define ZF_SCHEDULER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The reason of a refused call, and the meaning of `*bad`.
typedef enum zf_order_status {
    ZF_ORDER_OK = 0,
    ZF_ORDER_TIME,     ///< a time is negative, infinite or not a number (bad: the job), or all together overflow (bad: `count`)
    ZF_ORDER_GROUP,    ///< a job's group is not below `groups` (bad: the job)
    ZF_ORDER_STAGING,  ///< a job is larger than the device's ring (bad: the job)
    ZF_ORDER_RING,     ///< a job is larger than the host's ring (bad: the job)
    ZF_ORDER_MACHINES, ///< `readers` or `streams` is 0 or above ZF_ORDER_MOST_MACHINES (bad: `count`)
    ZF_ORDER_NOT_ONE,  ///< not a permutation: an index is missing or twice (bad: the position)
    ZF_ORDER_SCRATCH,  ///< `scratch` is too small or not aligned (bad: `count`)
} zf_order_status;

enum { ZF_ORDER_MOST_MACHINES = 256 };

/// The size of a ring without a limit. (It is still a ring of that many bytes.)
#define ZF_ORDER_UNBOUNDED UINT64_MAX

/// One piece, which one call copies.
typedef struct zf_order_job {
    double read;      ///< from a file or pageable memory into the host's ring; 0: it lies in pinned memory already
    double copy;      ///< over the link, which does one copy at a time
    double decode;    ///< on a stream of the device
    uint64_t staging; ///< bytes of the device's ring that it holds from the beginning of its copy to the end of its decode
    uint64_t ring;    ///< bytes of the host's ring that it holds from the beginning of its read to the end of its copy
    uint32_t group;   ///< its column, from 0
} zf_order_job;

/// The jobs and the resources that they share. The library keeps no pointer to it.
///
/// Both rings are used first in, first out, in the order of the jobs: a piece lies in one run of bytes behind the one before it,
/// or at 0 where it would pass the end, and waits until every piece that it would overwrite, and all before them, have been
/// released. A piece of 0 bytes waits for nobody. Sizes are taken as they are: round them up first where alignment wants it.
typedef struct zf_order_problem {
    const zf_order_job *jobs;
    uint32_t count;
    uint32_t groups;  ///< columns; every job's group is below it
    uint64_t staging; ///< bytes of the device's ring
    uint64_t ring;    ///< bytes of the host's ring
    uint32_t readers; ///< reads at once, each as fast as if it were alone: at least 1
    uint32_t streams; ///< decodes at once, each as fast as if it were alone: at least 1
} zf_order_problem;

/// Returns the bytes of scratch for `count` jobs; SIZE_MAX on overflow.
size_t zf_order_scratch_bytes(uint32_t count);

// ---- Orders ---------------------------------------------------------------------------------------------------

/// Fills the order as given: order[k] = k. `order` has `count` entries.
void zf_order_fifo(uint32_t count, uint32_t *order);

/// Orders by Johnson's rule for two machines, copy and decode: first the jobs whose copy is shorter than their decode, by
/// growing copy, then the others by shrinking decode. No order ends earlier where reads are 0, one stream decodes and the rings
/// are unbounded; other limits are ignored. Equal jobs are ordered by group, then by index,
/// so that equal pieces of a column stay together and in order. O(count log count) comparisons.
/// The runtime calls zf_order_find, whose first candidate is this order.
/// (S. M. Johnson, "Optimal two- and three-stage production schedules with setup times included", 1954; section 3.3 of the
/// paper.)
zf_order_status zf_order_johnson(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, uint32_t *order,
                                 uint32_t *bad);

/// Orders whole columns by Johnson's rule: the jobs of a group stay together, as given. No order of the groups ends earlier where
/// reads are 0, one stream decodes and the rings are unbounded. A row of jobs counts as one job of two machines that may overlap:
/// its first time is how long decoding must wait for it to run without a break, its second how long decoding goes on behind its
/// last copy. (Mitten, 1959: machines that overlap; Kurisu, 1976: rows of jobs.) Columns are ready earlier on the mean than in
/// Johnson's order, which mixes pieces of different columns, and all a little later. O(count log count).
zf_order_status zf_order_columns(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, uint32_t *order,
                                 uint32_t *bad);

/// The rule that made an order.
typedef enum zf_order_rule {
    ZF_ORDER_BY_JOHNSON,  ///< Johnson's rule on copy and decode
    ZF_ORDER_BY_COLUMNS,  ///< the same of whole columns
    ZF_ORDER_BY_FIFO,     ///< as given
    ZF_ORDER_BY_PAIR,     ///< Johnson's rule on two machines made of the three
    ZF_ORDER_BY_MIXING,   ///< the two halves of such an order, mixed
    ZF_ORDER_BY_SEARCHING ///< one of these, with jobs moved
} zf_order_rule;

/// A found order.
typedef struct zf_order_found {
    double makespan;      ///< as simulated, in seconds
    double bound;         ///< no order ends before this (`zf_order_bound`)
    uint64_t steps;       ///< jobs that were simulated
    uint64_t comparisons; ///< of jobs, by sorts
    zf_order_rule rule;
} zf_order_found;

enum { ZF_ORDER_MOST_SEARCHED = 256 }; ///< more jobs are not moved one by one

/// Finds a good order for all three machines and both rings. The exact problem is hard (Garey, Johnson, Sethi, 1976: three
/// machines; Papadimitriou, Kanellakis, 1980: little memory between two). Candidates are simulated one after another, and one
/// replaces the best so far when it ends at least a thousandth earlier: Johnson's order, or that of whole columns if it ends at
/// most a thousandth later; FIFO; Johnson's rule on pairs made of the three machines (Campbell, Dudek, Smith, 1970); their halves
/// mixed, so that what is copied and not yet decoded stays below some measure; then swaps and moves of single jobs, which also
/// stay when nothing ends later and pieces are decoded a thousandth earlier on the mean. It ends when the bound says that less
/// than a thousandth is left to gain, or before `steps` simulated jobs would be exceeded; the first three candidates are always
/// tried. The makespan is at most 1.0011 times that of any of these three. 20,000 steps take a third of a millisecond; all
/// candidates without the search take 43 steps a job. The README lists the gains.
zf_order_status zf_order_find(const zf_order_problem *problem, uint64_t steps, void *scratch, size_t scratch_bytes,
                              uint32_t *order, zf_order_found *found, uint32_t *bad);

// ---- Times of an order ----------------------------------------------------------------------------------------

/// The times of one job, in seconds from the start of the first.
typedef struct zf_order_times {
    double read_begin, read_end;
    double copy_begin, copy_end;
    double decode_begin, decode_end;
} zf_order_times;

/// Totals. Until its last copy an idle link waits for one of two reasons.
typedef struct zf_order_summary {
    double makespan;     ///< the end of the last decode
    double mean_end;     ///< mean of the ends of all decodes
    double copy_starved; ///< the link waited for a read
    double copy_blocked; ///< the link waited for room in the device's ring
} zf_order_summary;

/// Simulates an order. Each machine takes the jobs in that order, as early as it can:
///   a read begins when a reader is free, the one before it has begun, and the host's ring has room;
///   a copy begins when its read has ended, the link is free, and the device's ring has room;
///   a decode begins when its copy has ended and a stream is free: the one that is free first, the lowest of equals.
/// `times`: `count` entries by index of the job, or NULL. O(count (readers + streams)).
zf_order_status zf_order_simulate(const zf_order_problem *problem, const uint32_t *order, void *scratch, size_t scratch_bytes,
                                  zf_order_times *times, zf_order_summary *summary, uint32_t *bad);

/// Lower bounds of the makespan, up to the rounding of sums (1e-15 of them a job).
typedef struct zf_order_bounds {
    double read;    ///< all reads spread over the readers, and the least copy and decode behind one
    double copy;    ///< all copies, the least read before one and the least decode behind one
    double decode;  ///< all decodes spread over the streams, and the least read and copy before one
    double job;     ///< the longest job alone
    double staging; ///< bytes times seconds for which they are held in the device's ring, over its size, and the least read
    double ring;    ///< the same of the host's ring, and the least decode
    double pair; ///< Johnson's optimum of two machines that follow each other, where both are single, and the third's least time
    double makespan; ///< the largest of them
} zf_order_bounds;

/// Computes the lower bounds. O(count log count).
zf_order_status zf_order_bound(const zf_order_problem *problem, void *scratch, size_t scratch_bytes, zf_order_bounds *bounds,
                               uint32_t *bad);

#endif

// The search for the fastest way to lower a kernel. A *space* has a few axes (vectors a thread, threads a block, registers a
// thread, ways to walk) with a few values each. A *probe* is one combination that the caller compiles and measures. The search
// names the next probe and receives its reading. It measures nothing, allocates nothing and keeps no other state. The same
// readings give the same probes, so a search can be replayed, and kernels of one plan can be searched together.
//
// The search starts at the default, then at the best of the nearest known kernel, then steps from the fastest so far along one
// axis at a time. It ends at the memory's limit, or when no neighbour is faster, or when probes or seconds are used up.
#ifndef ZF_SCHEDULER_SEARCH_H
#define ZF_SCHEDULER_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZF_SEARCH_AXES = 10,
    ZF_SEARCH_VALUES = 18,
    ZF_SEARCH_PROBES_MOST = 64, ///< probes of a search
    ZF_SEARCH_READINGS = 5,     ///< readings of one probe
    ZF_SEARCH_SETTLED = 3,      ///< readings of a probe near the best, after which it is settled
};

/// The role of an axis: how times depend on it, and what the model knows of it.
typedef enum zf_search_role {
    ZF_SEARCH_VECTORS,   ///< L: vectors a thread. Times have about one minimum along it
    ZF_SEARCH_ELEMENTS,  ///< C: elements that a thread stores together; one minimum
    ZF_SEARCH_THREADS,   ///< S: threads a block; one minimum. Occupancy depends on it
    ZF_SEARCH_REGISTERS, ///< limit of registers a thread; 0: none. Limits that the code does not reach make equal code, but not
                         ///< the code without a limit, for which an assembler may take fewer registers
    ZF_SEARCH_WAY,       ///< values without an order
} zf_search_role;

typedef struct zf_search_axis {
    zf_search_role role;
    uint32_t count;                    ///< 0: there is no such axis
    uint32_t values[ZF_SEARCH_VALUES]; ///< ascending; a first value 0 of VECTORS and ELEMENTS is the kernel's own number
    uint32_t default_index;            ///< index of the default
    const char *why;                   ///< WAY: the reason of a probe with another value; static. NULL: "another way"
} zf_search_axis;

/// A combination: an index of a value for each axis; 0 for axes that the space lacks.
typedef struct zf_search_point {
    uint8_t at[ZF_SEARCH_AXES];
} zf_search_point;

/// Resources of a multiprocessor, and their number. Zeroes are unknown: the model then predicts nothing.
typedef struct zf_search_machine {
    uint32_t registers, threads, blocks;
    uint32_t shared_bytes; ///< of all its resident thread blocks
    uint32_t warp;         ///< threads
    uint32_t count;
} zf_search_machine;

typedef struct zf_search_space {
    uint32_t axis_count;
    zf_search_axis axes[ZF_SEARCH_AXES];
    /// Returns whether a combination is legal. NULL: all are.
    bool (*legal)(const void *user, const zf_search_point *point);
    const void *user;
    bool has_known;
    zf_search_point known; ///< best of the nearest kernel that was searched before
    zf_search_machine machine;
    double least_seconds; ///< time of a copy of the bytes that the kernel reads and writes; 0: unknown
} zf_search_space;

/// The reading of one probe. Zeroes are unknown, but for `ran` and `seconds`.
typedef struct zf_search_reading {
    bool ran;           ///< false: it does not compile or does not run
    double seconds;     ///< kernel time: a median of several runs
    uint32_t registers; ///< of a thread
    uint32_t shared;    ///< bytes of shared memory of a thread block
    uint32_t local;     ///< bytes that a thread spills
    uint32_t blocks;    ///< resident thread blocks of a multiprocessor
    uint64_t groups;    ///< thread blocks of the launch
} zf_search_reading;

typedef struct zf_search_options {
    uint32_t probes; ///< at most; 0: 16
    double seconds;  ///< at most, as the caller counts them; 0: no limit
    double spent;    ///< seconds used before the search began
    double noise;    ///< times that differ by a smaller fraction count as equal; 0: zf_search_noise
} zf_search_options;

extern const double zf_search_noise; ///< noise of GPU clocks: 0.01

/// A probe that was made.
typedef struct zf_search_try {
    zf_search_point point;
    zf_search_reading reading; ///< the first reading; `seconds` is the median of all
    double seconds[ZF_SEARCH_READINGS];
    uint32_t count;  ///< readings
    const char *why; ///< static: "twice the threads"
} zf_search_try;

typedef struct zf_search {
    zf_search_space space;
    zf_search_options options;
    zf_search_try tries[ZF_SEARCH_PROBES_MOST];
    uint32_t count;             ///< probes made
    uint32_t readings;          ///< measurements, repeated ones too
    uint32_t centre;            ///< the try whose neighbours are probed
    uint32_t moved, asked_axis; ///< axis of the last move, axis of the last probe; ZF_SEARCH_AXES: none
    uint32_t asked;             ///< try of the next reading; `count`: a new one
    zf_search_point next;
    const char *why;
    double spent, longest; ///< seconds reported so far; the longest of one reading
    bool pending, over;
    const char *ended; ///< static: why the search is over; NULL while it is not
} zf_search;

typedef struct zf_search_result {
    bool found; ///< a combination ran
    zf_search_point best;
    double seconds, default_seconds; ///< medians; 0: it did not run
    uint32_t probes, readings;
    const char *ended;
} zf_search_result;

/// Begins a search; overwrites `*search`. Copies space and options; `user` of the space must outlive the search. `options`: NULL
/// means zeroes; `probes` is at most ZF_SEARCH_PROBES_MOST.
void zf_search_begin(zf_search *search, const zf_search_space *space, const zf_search_options *options);
/// Returns the next combination to measure, perhaps one that was measured before; false when the search is over. Returns the same
/// until a reading is reported.
bool zf_search_next(zf_search *search, zf_search_point *out);
/// Reports the reading of the last combination. `spent`: all seconds of the search so far, compiling included.
void zf_search_report(zf_search *search, const zf_search_reading *reading, double spent);
/// Returns the best so far: the default, unless another was faster by more than noise.
zf_search_result zf_search_result_of(const zf_search *search);
/// Returns the reason of the combination that zf_search_next returned. Static.
const char *zf_search_reason(const zf_search *search);

/// Runs a whole search. `measure` returns false to end it early.
typedef bool (*zf_search_measure)(void *user, const zf_search_point *point, zf_search_reading *out, double *spent);
zf_search_result zf_search_run(zf_search *search, zf_search_measure measure, void *user);

// ---- The space and the model ----------------------------------------------------------------------------------

zf_search_point zf_search_default(const zf_search_space *space);
bool zf_search_same(const zf_search_point *a, const zf_search_point *b);
/// Returns combination `number` of all, legal or not; false behind the last.
bool zf_search_combination(const zf_search_space *space, uint32_t number, zf_search_point *out);
/// Returns the value of the first axis with a role, or `missing` where the space has none.
uint32_t zf_search_value(const zf_search_space *space, const zf_search_point *point, zf_search_role role, uint32_t missing);
/// Returns the resident thread blocks of a multiprocessor, for so many threads a block, registers a thread and bytes of shared
/// memory a block. 0: none fits, or the machine is unknown.
uint32_t zf_search_blocks(const zf_search_machine *machine, uint32_t threads, uint32_t registers, uint32_t shared);

// ---- Tries ------------------------------------------------------------------------------------------------------

/// Returns the try of a combination, or NULL.
const zf_search_try *zf_search_find_try(const zf_search_try *tries, uint32_t count, const zf_search_point *point);
/// Returns the try with the least time, or NULL where none ran.
const zf_search_try *zf_search_fastest_try(const zf_search_try *tries, uint32_t count);
/// Adds a reading to a try. Its time is the median of the first ZF_SEARCH_READINGS; later ones are dropped.
void zf_search_add(zf_search_try *seen, double seconds);
/// Returns whether code reaches a register limit, so that it would use more without it. Registers are allocated in groups: code
/// that leaves less than a group may have needed it.
bool zf_search_comes_to(const zf_search_reading *seen, uint32_t bound);

#endif

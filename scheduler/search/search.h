// The search for how a kernel is lowered best. A *space* has a few axes (vectors a thread, threads of a block, registers of a
// thread, ways to walk), each with a few values; a *probe* is one combination that somebody compiles and measures. The search
// says what to probe next and is told what was seen; it measures nothing itself, keeps no other state, allocates nothing, and is
// the same whenever it is told the same. So kernels of one plan can be searched side by side, with one compilation a round.
//
// It begins where the kernel is by default, goes to what was best for the nearest kernel that is known, and from the best so far
// along one axis at a time, as long as it gets faster. What bounds it: that memory allows no more, a model of how many threads
// run at once, probes, and seconds.
#ifndef ZF_SCHEDULER_SEARCH_SEARCH_H
#define ZF_SCHEDULER_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZF_SEARCH_AXES = 8,
    ZF_SEARCH_VALUES = 18,
    ZF_SEARCH_PROBES_MOST = 64, ///< that a search may make
    ZF_SEARCH_READINGS = 5,     ///< of one probe, at most
    ZF_SEARCH_SETTLED = 3,      ///< readings after which what is within noise of the best is not measured again
};

/// What an axis is, which says how times may depend on it and what the model knows of it.
typedef enum zf_search_role {
    ZF_SEARCH_VECTORS,   ///< L: vectors of a thread, rows under way together. Times have one minimum along it, nearly
    ZF_SEARCH_ELEMENTS,  ///< C: elements that a thread stores together. The same
    ZF_SEARCH_THREADS,   ///< S: of a thread block. The same; what runs at once depends on it
    ZF_SEARCH_REGISTERS, ///< of a thread, at most; 0: no bound. Bounds that code does not come to are all alike, but not like no
                         ///< bound, with which an assembler may take fewer
    ZF_SEARCH_WAY,       ///< values without an order
} zf_search_role;

typedef struct zf_search_axis {
    zf_search_role role;
    uint32_t count; ///< 0: there is no such axis
    uint32_t
        values[ZF_SEARCH_VALUES]; ///< ascending. Of VECTORS and ELEMENTS a first value 0 is the kernel's own, whatever that is
    uint32_t otherwise;           ///< index of the default
    const char *why;              ///< of WAY: reason of a probe with another value; static. NULL: "another way"
} zf_search_axis;

/// A combination: an index for each axis; 0 for those that are not.
typedef struct zf_search_point {
    uint8_t at[ZF_SEARCH_AXES];
} zf_search_point;

/// What a multiprocessor has, and how many there are. Zeroes: not known, so that the model says nothing.
typedef struct zf_search_machine {
    uint32_t registers, threads, blocks;
    uint32_t shared_bytes; ///< for all of its thread blocks
    uint32_t warp;         ///< threads
    uint32_t count;
} zf_search_machine;

typedef struct zf_search_space {
    uint32_t axis_count;
    zf_search_axis axes[ZF_SEARCH_AXES];
    /// Whether a combination may be tried. NULL: all may.
    bool (*legal)(const void *user, const zf_search_point *point);
    const void *user;
    bool has_known;
    zf_search_point known; ///< best for the nearest kernel that was searched before
    zf_search_machine machine;
    double least_seconds; ///< the bytes that the kernel reads and writes at the speed of a copy; 0: not known
} zf_search_space;

/// What was seen of one combination. Zeroes but for `ran` and `seconds`: not known.
typedef struct zf_search_reading {
    bool ran;           ///< false: it cannot run, or not be compiled
    double seconds;     ///< that the kernel took: a median of several runs
    uint32_t registers; ///< of a thread
    uint32_t shared;    ///< bytes of shared memory of a thread block
    uint32_t local;     ///< bytes of a thread that registers had no room for
    uint32_t blocks;    ///< thread blocks that a multiprocessor holds at once
    uint64_t groups;    ///< thread blocks that were launched together
} zf_search_reading;

typedef struct zf_search_options {
    uint32_t probes; ///< at most; 0: 16
    double seconds;  ///< at most, as the caller counts them; 0: no bound
    double spent;    ///< of those, before the search began
    double noise;    ///< times that differ by less (as a part) may be the same; 0: zf_search_noise
} zf_search_options;

extern const double zf_search_noise; ///< of GPUs' clocks: a hundredth

/// A probe that was made.
typedef struct zf_search_try {
    zf_search_point point;
    zf_search_reading reading; ///< the first one; `seconds` is the median of all
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
    uint32_t centre;            ///< try around which is searched
    uint32_t moved, asked_axis; ///< axes that led there, and to what was asked for last; ZF_SEARCH_AXES: none
    uint32_t asked;             ///< try that the next reading is of; `count`: of a new one
    zf_search_point next;
    const char *why;
    double spent, longest; ///< seconds, as told; of one reading
    bool pending, over;
    const char *ended; ///< static: why there is nothing more to try; NULL while there is
} zf_search;

typedef struct zf_search_result {
    bool found; ///< something ran
    zf_search_point best;
    double seconds, default_seconds; ///< medians; 0: it did not run
    uint32_t probes, readings;
    const char *ended;
} zf_search_result;

/// Begins a search, whatever was in it. The space and the options are copied, but what `user` of the space points to must outlive
/// the search. `options`: NULL is as all zeroes; `probes` above ZF_SEARCH_PROBES_MOST counts as that.
void zf_search_begin(zf_search *search, const zf_search_space *space, const zf_search_options *options);
/// What to measure next, perhaps something that was measured before; false: nothing, the search is over. Until it is told the
/// answer is the same.
bool zf_search_next(zf_search *search, zf_search_point *out);
/// What was seen of it. `spent`: of the seconds that a search may take all so far, compiling included.
void zf_search_tell(zf_search *search, const zf_search_reading *reading, double spent);
/// The best so far: the default, unless something was faster by more than noise.
zf_search_result zf_search_result_of(const zf_search *search);
/// Why what zf_search_next gave is to be measured. Static.
const char *zf_search_reason(const zf_search *search);

/// A whole search with somebody who measures: false from `measure` ends it early.
typedef bool (*zf_search_measure)(void *user, const zf_search_point *point, zf_search_reading *out, double *spent);
zf_search_result zf_search_run(zf_search *search, zf_search_measure measure, void *user);

// ---- The space and the model ----------------------------------------------------------------------------------

zf_search_point zf_search_default(const zf_search_space *space);
bool zf_search_same(const zf_search_point *a, const zf_search_point *b);
/// Combination `number` of all, legal or not; false behind the last.
bool zf_search_combination(const zf_search_space *space, uint32_t number, zf_search_point *out);
/// The value of the first axis of that role, or `otherwise` where there is none.
uint32_t zf_search_value(const zf_search_space *space, const zf_search_point *point, zf_search_role role, uint32_t otherwise);
/// Thread blocks that a multiprocessor holds at once, of so many threads with so many registers and bytes of shared memory each.
/// 0: none, or the machine is not known.
uint32_t zf_search_blocks(const zf_search_machine *machine, uint32_t threads, uint32_t registers, uint32_t shared);

// ---- Tries ------------------------------------------------------------------------------------------------------

/// The try at a point among so many; NULL: none is there.
const zf_search_try *zf_search_find_try(const zf_search_try *tries, uint32_t count, const zf_search_point *point);
/// The one among so many that has the least time; NULL: none ran.
const zf_search_try *zf_search_fastest_try(const zf_search_try *tries, uint32_t count);
/// Adds a reading of a combination: its seconds are the median of all, of ZF_SEARCH_READINGS at most; further ones are dropped.
void zf_search_add(zf_search_try *seen, double seconds);
/// Whether code comes to a bound on registers, so that it would take more if it might. Code that leaves fewer than are given at
/// once may have wanted them.
bool zf_search_comes_to(const zf_search_reading *seen, uint32_t bound);

#endif

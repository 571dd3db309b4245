// A query on an accelerator, inside: what query_device.c has of it, its code (query_device_code.c) and its results
// (query_device_results.c).
#ifndef ZF_COMPILER_QUERY_DEVICE_INSIDE_H
#define ZF_COMPILER_QUERY_DEVICE_INSIDE_H

#include "compiler/provider.h"
#include "compiler/query/query_device.h"
#include "runtime/base/error_codes.h"

/// Code for one vector of the columns' codes.
typedef struct zf_query_built {
    zf_query_source *sources;
    zf_query_kernels kernels;
    zf_accelerator_code *loaded;
    uint32_t groups[ZF_QUERY_KERNELS]; ///< thread blocks of a kernel that the device runs at once
    bool squares;                      ///< there is a kernel of them
} zf_query_built;

/// Where a result lies, from the results' start.
typedef struct zf_query_placed {
    uint64_t words, touched, word_bytes, touched_bytes;
} zf_query_placed;

struct zf_query_device {
    zf_query_running *running;
    zf_accelerator *accelerator;
    const zf_accelerator_ops *ops;
    void *stream; ///< of the run
    zf_provider *provider;
    zf_query_parts parts;
    zf_query_feed feed;                   ///< of columns that come with every run; `accelerator` NULL: they stay
    bool fed;                             ///< all wanted parts came in this run, and are there
    zf_query_memory read, given, results; ///< heads, then parts; inputs and frames of a run; its results
    uint64_t *input_at;                   ///< from given.address
    uint64_t frames_at;                   ///< the same
    zf_query_segment *segments;           ///< of all parts, in their order
    uint32_t *codes;                      ///< by segment: among `built`
    size_t segment_count;
    zf_query_built *built;
    size_t built_room;
    size_t built_count; ///< 0: no code is made yet for the shapes and inputs of the run
    uint64_t frame_words;
    uint64_t *frames;
    zf_query_placed *placed;
    zf_query_shape *shapes;
    uint32_t *shared_inputs;
    uint32_t warps;                    ///< of a thread block
    zf_multiprocessor_facts processor; ///< zeroes: the device does not say
    uint64_t first, end;               ///< rows of the table whose columns are here
    uint64_t tile;                     ///< rows of one
    uint64_t tiles;                    ///< of all launches
    uint64_t counts, prefix;           ///< from the results' start
    uint64_t *tile_counts;             ///< rows that `select` appends in each tile
    uint64_t selected;
    uint64_t failures[ZF_QUERY_FAILURES];
    zf_query_finals finals;
    zf_query_pairs pairs;
};

static inline zf_status zf_query_device_no_memory(zf_error *error) {
    return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a query on a device");
}

/// Makes room for `bytes` bytes, which are those of the run before where they do.
zf_status zf_query_device_room(zf_query_device *d, zf_query_memory *memory, uint64_t bytes, zf_error *error);
/// Whether the sums that were made to count the rows of `select` are there when results are made: those of one launch are.
bool zf_query_device_keeps_sums(const zf_query_device *d);

// ---- Code (query_device_code.c) ----

/// Chooses the form of kernels, and what lies in shared memory. Code knows the run's lengths: where they are others than in the
/// run before, it goes.
zf_status zf_query_code_lengths(zf_query_device *d, zf_error *error);
/// Chooses the code of a launch, number `number`, for what its columns are now, and makes it if it is new.
zf_status zf_query_code_choose(zf_query_device *d, const zf_query_part *part, size_t number, zf_error *error);
/// Bytes of inputs in the shared memory of a thread block.
uint64_t zf_query_code_shared(const zf_query_device *d);
void zf_query_code_drop(zf_query_device *d);

// ---- Results (query_device_results.c) ----

/// Gives all results their places, and their first values. Failures of squares whose sums are kept stay: they do not run again.
zf_status zf_query_results_begin(zf_query_device *d, zf_error *error);
/// Gives all results their first values, and leaves failures as they are.
zf_status zf_query_results_clear(zf_query_device *d, zf_error *error);
/// Copies `bytes` bytes of the results, from `at` on, and waits.
zf_status zf_query_results_fetch(zf_query_device *d, uint64_t at, void *to, uint64_t bytes, zf_error *error);

#endif

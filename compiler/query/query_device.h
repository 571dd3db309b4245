// Columns of a query in an accelerator's memory, and the launches that its rows take.
#ifndef ZF_COMPILER_QUERY_DEVICE_H
#define ZF_COMPILER_QUERY_DEVICE_H

#include "compiler/query/query_running.h"
#include "runtime/decode/decode_unit.h"

/// A block of a fused column.
typedef struct zf_query_block {
    uint64_t first_row, rows;
    uint32_t unit, number; ///< its place in its unit
} zf_query_block;

/// A column in the memory of an accelerator: as it is stored, where the query's kernels make its elements (fused), or decoded.
typedef struct zf_query_device_state {
    zf_units *units;
    zf_units_sizes sizes;
    zf_units_memory memory;
    uint64_t *words; ///< failures of its own kernels
    bool fused;
    uint64_t tile;          ///< rows
    zf_query_block *blocks; ///< fused: by rows
    size_t block_count;
    size_t at; ///< block at which the next launch begins
} zf_query_device_state;

/// A piece of device memory.
typedef struct zf_query_memory {
    uint64_t address, bytes; ///< used
    uint64_t room;           ///< allocated
} zf_query_memory;

/// Gives `bytes` the next place behind `*next`, aligned to 256, with room to read behind it. ZF1404 where it cannot be addressed.
zf_status zf_query_place(uint64_t *next, uint64_t bytes, uint64_t *at, zf_error *error);

/// Makes the units of a column for some rows. `place`: gives all of its memory a place, from `*next` on.
zf_status zf_query_column_make(zf_query_running *running, uint32_t column, const zf_abi_provider *provider,
                               zf_accelerator *accelerator, zf_query_device_state *out, zf_error *error);
zf_status zf_query_column_place(zf_query_device_state *state, uint64_t *next, zf_error *error);
/// Enqueues the upload, and the kernels that the query's do not replace. `base` is where offsets of its places begin.
zf_status zf_query_column_start(zf_query_device_state *state, zf_accelerator *accelerator, void *stream, uint64_t base,
                                zf_error *error);
/// Enqueues its own kernels again, to take their time.
zf_status zf_query_column_again(zf_query_device_state *state, void *stream, zf_error *error);
/// The first failure of its own kernels. Wait for the stream before.
zf_status zf_query_column_status(const zf_query_device_state *state, zf_error *error);
/// Frees it behind the stream's work, for which the caller has waited.
void zf_query_column_free(zf_query_device_state *state);

/// Rows of one launch: within it no fused column changes its code or its blocks' length.
typedef struct zf_query_segment {
    uint64_t begin, end;
    uint64_t first_square, squares; ///< of pairs
} zf_query_segment;

// ---- Pairs (query_device_pairs.c) ----

/// The pairs of a run. Zeroes: none were found yet.
typedef struct zf_query_pairs {
    zf_query_fn function; ///< of the bounds
    zf_jit_code *code;
    zf_query_domain domain; ///< one row more than `count` says: all pairs are before it
    uint64_t at;            ///< its rows, in the device's memory
    bool squares;           ///< they make a sum of each pair
    zf_query_pair_row *groups;
    uint64_t group_count, group_room, square_count, groups_at;
    uint64_t sums_at, sums; ///< of the launch with most pairs
} zf_query_pairs;

/// Finds all pairs, for the params of a run, and whether squares cover them well. `*failed`: a bound failed a check, and the
/// domain lacks the pairs from there on.
zf_status zf_query_pairs_find(zf_query_pairs *pairs, const zf_query_running *running, bool *failed, zf_error *error);
/// The launch that begins with pair `begin`. With squares it has about as many pairs as the request of the query says.
zf_query_segment zf_query_pairs_launch(zf_query_pairs *pairs, const zf_query_running *running, uint64_t begin);
/// Gives the lists their places among inputs, and copies them there: to `base` and on.
zf_status zf_query_pairs_place(zf_query_pairs *pairs, uint64_t *next, zf_error *error);
zf_status zf_query_pairs_copy(const zf_query_pairs *pairs, zf_accelerator *accelerator, void *stream, uint64_t base,
                              zf_error *error);
/// Bytes of the sums of a launch, and their place among results.
uint64_t zf_query_pairs_sum_bytes(const zf_query_pairs *pairs);
zf_status zf_query_pairs_place_sums(zf_query_pairs *pairs, uint64_t *next, zf_error *error);
/// Fills in what a launch says of pairs. `base`: where inputs begin, from the launch's argument of this name.
void zf_query_pairs_frame(const zf_query_pairs *pairs, const zf_query_segment *segment, uint64_t base, zf_query_launch *launch);
/// The first number of pair `number` in the domain.
uint64_t zf_query_pairs_first(const zf_query_pairs *pairs, uint64_t number);
void zf_query_pairs_free(zf_query_pairs *pairs, zf_program *program);

// ---- Final forms (query_device_final.c) ----

/// Kernels that make the final form of results in the device's memory, made when they are first wanted. Zeroes: none yet.
typedef struct zf_query_finals {
    zf_query_kernels kernels[ZF_QUERY_FINALS];
    zf_accelerator_code *loaded[ZF_QUERY_FINALS];
    uint64_t frame; ///< memory of the device for one
} zf_query_finals;

/// Makes elements at `to`, `bytes` of them, from what the offsets of `frame` name in `results`. Waits.
zf_status zf_query_final_run(zf_query_finals *finals, zf_program *program, zf_accelerator *accelerator, void *stream,
                             const zf_query_memory *results, zf_query_final form, const zf_query_final_frame *frame, uint64_t to,
                             uint64_t bytes, zf_error *error);
void zf_query_finals_free(zf_query_finals *finals, zf_program *program, zf_accelerator *accelerator);

/// The end of a launch that begins at row `begin` (the first wanted one, or where a launch ended); sets `at` of the columns.
uint64_t zf_query_segment_end(zf_query_device_state *columns, size_t count, uint64_t begin, uint64_t end);
/// Describes a column for a launch's frame.
zf_query_device_column zf_query_column_frame(const zf_query_device_state *state, zf_element element, uint64_t base);
/// How the query's kernel reads it.
zf_query_source zf_query_column_source(const zf_query_device_state *state);

#endif

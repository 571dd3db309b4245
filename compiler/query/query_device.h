// Columns of a query in an accelerator's memory, part by part of the rows, and the launches that they take.
#ifndef ZF_COMPILER_QUERY_DEVICE_H
#define ZF_COMPILER_QUERY_DEVICE_H

#include "compiler/query/query_parts.h"
#include "compiler/query/query_running.h"
#include "runtime/decode/decode_unit.h"

/// A block of a fused column.
typedef struct zf_query_block {
    uint64_t first_row, rows;
    uint32_t unit, number; ///< its place in its unit
} zf_query_block;

/// A column of a part in the memory of an accelerator: as it is stored, where the query's kernels make its elements (fused), or
/// decoded.
typedef struct zf_query_device_state {
    zf_units_column *column;
    zf_units *units;
    zf_units_sizes sizes;
    zf_units_memory places; ///< offsets from where the part lies; of `head` from where all heads do
    zf_units_memory memory; ///< addresses
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

/// Checks the stored blocks of a column that have some rows, and chooses whether it is fused.
zf_status zf_query_column_make(const zf_query_running *running, uint32_t column, zf_query_range rows,
                               const zf_abi_provider *provider, zf_accelerator *accelerator, zf_query_device_state *out,
                               zf_error *error);
/// Gives its memory places: `*next` is the first free byte of the part, `*head` that of the heads.
zf_status zf_query_column_place(zf_query_device_state *state, uint64_t *next, uint64_t *head, zf_error *error);
/// Says where the part and the heads lie.
void zf_query_column_move(zf_query_device_state *state, uint64_t part, uint64_t heads);
/// Enqueues the copy of the stored blocks. The head is the caller's to copy.
zf_status zf_query_column_copy(const zf_query_device_state *state, void *stream, zf_error *error);
/// Enqueues the kernels that the query's do not replace. Again: head and blocks are there, and nothing failed.
zf_status zf_query_column_launch(zf_query_device_state *state, void *stream, zf_error *error);
/// Whether it has such kernels.
bool zf_query_column_launches(const zf_query_device_state *state);
/// The first failure of its own kernels. `words`: the beginning of its head, copied behind them.
zf_status zf_query_column_status(const zf_query_device_state *state, const uint64_t *words, zf_error *error);
/// Frees it behind the stream's work, for which the caller has waited.
void zf_query_column_free(zf_query_device_state *state);

// ---- Parts (query_device_parts.c) ----

/// Rows whose columns are in the device's memory together.
typedef struct zf_query_part {
    zf_query_range rows;
    zf_query_device_state *columns; ///< by column of the query
    uint64_t bytes;                 ///< of its place
    void *stored;                   ///< its blocks, where the device copies from at full speed; NULL: they are the container's
    uint64_t head, head_end;        ///< where words and tables of its columns lie among the heads
    size_t segment, segment_count;  ///< its launches
    bool launches;                  ///< columns have kernels of their own
    bool wanted;                    ///< rows may matter to this run
    size_t slot;                    ///< fed: where it lies in this run
} zf_query_part;

typedef struct zf_query_parts {
    zf_query_part *items;
    size_t count;
    uint32_t columns; ///< of each
    uint64_t heads;   ///< bytes of all heads
    uint64_t most;    ///< bytes of the largest part
    uint64_t all;     ///< bytes of all parts
    uint8_t *image;   ///< the heads in the host's memory: as they are at first, and as they come back
} zf_query_parts;

/// Makes the parts of a query's rows. With from_host their blocks are in memory from which the device copies at full speed. Free
/// them with zf_query_parts_free, also after an error.
zf_status zf_query_parts_make(const zf_query_running *running, zf_query_range rows, const zf_query_cut *cut,
                              const zf_abi_provider *provider, zf_accelerator *accelerator, zf_query_parts *out, zf_error *error);
/// Enqueues the copy of all heads to `at`. No copy of them may be under way.
zf_status zf_query_parts_copy_heads(const zf_query_parts *parts, zf_accelerator *accelerator, void *stream, uint64_t at,
                                    zf_error *error);
/// Says where a part and all heads lie.
void zf_query_part_move(const zf_query_parts *parts, zf_query_part *part, uint64_t at, uint64_t heads);
/// Enqueues the copy of the stored blocks of its columns.
zf_status zf_query_part_copy(const zf_query_parts *parts, const zf_query_part *part, void *stream, zf_error *error);
/// Runs the kernels of its columns behind the work on a stream, and waits for them, if there are any. The first failure.
zf_status zf_query_part_decode(const zf_query_parts *parts, zf_query_part *part, zf_accelerator *accelerator, void *stream,
                               uint64_t heads, zf_error *error);
/// The same without a look at failures: nothing failed before. Does not wait.
zf_status zf_query_part_again(const zf_query_parts *parts, zf_query_part *part, void *stream, zf_error *error);
/// Frees them behind the device's work, for which the caller has waited.
void zf_query_parts_free(zf_query_parts *parts, zf_accelerator *accelerator);

// ---- Parts that come while the query runs (query_device_feed.c) ----

/// The stream of copies, and the places of parts on the device.
typedef struct zf_query_feed {
    zf_accelerator *accelerator;
    void *copies;
    void *begun;    ///< event: the run begins
    void **arrived; ///< events, by part
    size_t part_count;
    void **left;  ///< events, by place: the query's kernels are done with what lies there
    size_t *user; ///< by place: the part that lies there in this run, from 1 on
    size_t slots; ///< places
} zf_query_feed;

/// Runs a part whose bytes are there: enqueues it behind the work on the run's stream.
typedef zf_status (*zf_query_feed_fn)(void *user, zf_query_part *part, zf_error *error);

/// Opens a feed for so many parts with `slots` places. Close it also after an error.
zf_status zf_query_feed_open(zf_query_feed *feed, zf_accelerator *accelerator, size_t parts, size_t slots, zf_error *error);
/// Gives each wanted part its place in this run.
void zf_query_feed_place(const zf_query_feed *feed, const zf_query_parts *parts);
/// Copies the wanted parts, from behind the work on `stream` on, and runs each when it has arrived. Copies go ahead as far as
/// there are places. Waits for all copies.
zf_status zf_query_feed_run(zf_query_feed *feed, const zf_query_parts *parts, void *stream, zf_query_feed_fn run, void *user,
                            zf_error *error);
/// Closes it behind the device's work, for which the caller has waited.
void zf_query_feed_close(zf_query_feed *feed);

/// Rows, or pairs, of one launch: within it no fused column changes its code or its blocks' length.
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

// ---- Launches (query_device_columns.c) ----

/// The end of a launch that begins at row `begin` (the first one of the part, or where a launch ended), within which no fused
/// column changes its code or its blocks' length; sets `at` of the columns.
uint64_t zf_query_launch_end(const zf_query_parts *parts, const zf_query_part *part, uint64_t begin);
/// Describes a column for a launch's frame.
zf_query_device_column zf_query_column_frame(const zf_query_device_state *state, zf_element element, uint64_t base);
/// How the query's kernel reads it.
zf_query_source zf_query_column_source(const zf_query_device_state *state);

#endif

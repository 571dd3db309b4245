// Kernels of accelerators: what the SIMT lowerings share. They ask their target (zf_simt_ops) for threads, barriers and shuffles,
// and are the same for GPUs and for the emulator.
//
// A kernel finds its block and tile from the launch's tables (runtime/base/abi.h), makes the block's pointers, and then goes on
// in one of the forms of forms/forms.def. Bodies see the environment of kernel.h; where C contiguous elements are made by one
// thread, `lanes` holds what they read of streams at their own index: words of bits, and elements, loaded for all C at once.
#ifndef ZF_CODEGEN_SIMT_H
#define ZF_CODEGEN_SIMT_H

#include "codegen/kernel/kernel.h"
#include "codegen/simt/forms/forms.h"

enum {
    ZF_NEIGHBOURS = 16, ///< contiguous elements that a thread makes together, at most: 16 bytes of them
};

typedef struct zf_chunk zf_chunk;
typedef struct zf_chunk_stream zf_chunk_stream;
typedef struct zf_chunk_sum zf_chunk_sum;

/// The state that only kernels of GPUs have.
typedef struct zf_simt_state {
    LLVMValueRef v_blocks;      ///< of the unit (i64)
    LLVMValueRef v_thread;      ///< i32
    LLVMValueRef v_tile;        ///< the tile that this thread works on
    LLVMValueRef v_slow;        ///< a function of the kernel's arguments that makes the tile by one thread; or NULL
    LLVMBasicBlockRef bb_leave; ///< the end of the kernel
    LLVMValueRef *v_seeks;      ///< two a seek field, at the tile's begin and at its end; NULL: loaded when needed
    LLVMValueRef *v_tables;     ///< per edge: all of it in shared memory, or NULL; NULL: none is there (simt_tables.h)
    bool tables_checked;        ///< elements of v_tables lie in their streams' ranges
    bool one_warp;              ///< thread blocks are one warp
    LLVMValueRef v_nibbles;     ///< shared memory: what four bits become; NULL: unknown (simt_nibbles.c)
    LLVMValueRef v_bad_nibbles; ///< i32: bits of those for which a check fails; NULL: none can
} zf_simt_state;

/// How kernels of GPUs read elements, bits and strings (simt_env.c).
extern const zf_kernel_ops zf_simt_kernel_ops;
/// Where rows of a scan prefetch (the choice PREFETCH), prefetches what lies behind v_from; one of a lane's neighbours does.
void zf_simt_prefetch_behind(zf_kernel_build *lower, LLVMValueRef v_from);

/// Elements that a thread stores at once: 16 bytes of them; 8 booleans.
unsigned zf_simt_lane_count(zf_type type);
/// Those that a thread of a map, of patches and of groups makes together: as many, or fewer, as was chosen.
unsigned zf_simt_together(const zf_kernel_build *lower);
/// The type of what a kernel stores.
zf_type zf_simt_type_of(const zf_plan *plan, const zf_kernel *kernel);
/// Whether a warp makes this scan along the outputs, row by row: the operation must be associative.
bool zf_simt_scans(const zf_plan *plan, const zf_kernel *kernel, const zf_reduce *reduce);

// ---- Partial scans of lanes (simt_combine.c) -------

/// The neutral element of a scan.
LLVMValueRef zf_simt_scan_identity(zf_cg *cg, const zf_running *running);
LLVMValueRef zf_simt_combine(zf_cg *cg, const zf_running *running, LLVMValueRef v_a, LLVMValueRef v_b);
enum { ZF_SIMT_BATCH = 4 }; ///< rows whose shuffles are under way together, at most
/// Returns the value before each lane in `count` consecutive rows, in each of which the lane has v_own[row]; the running value
/// continues behind them. A row begins anew where v_anew[row] (i1; NULL: none does).
void zf_simt_combine_rows(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_lane, unsigned count,
                          const LLVMValueRef *v_anew, const LLVMValueRef *v_own, LLVMValueRef *v_before);
/// Loads a scan's state at the tile's begin into its accumulator, and returns it. *v_next becomes the state at the tile's end, as
/// a word, or NULL where the file has none.
LLVMValueRef zf_simt_scan_start(zf_kernel_build *lower, const zf_running *running, LLVMValueRef *v_next);
/// Checks that the accumulator at v_end, the tile's end, is the state of the next tile, if there is one.
void zf_simt_scan_end(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_end, LLVMValueRef v_next);
/// Returns how many of `v_count` elements (i64) have a term: an exclusive scan has none for its node's last element.
LLVMValueRef zf_simt_terms(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_count);
/// A scan's value at element v_index as bodies have it: before the first there is nothing, which of minima is no value.
LLVMValueRef zf_simt_scan_value(zf_cg *cg, const zf_running *running, LLVMValueRef v_index, LLVMValueRef v);

// ---- Kernels (simt.c) ----

/// Has the tiles made by one thread (lower->simt->v_slow).
void zf_simt_call_slow(zf_kernel_build *lower);
/// In the slow path: goes on in the one thread whose number (i32) is 0; the others leave.
void zf_simt_one_thread(zf_kernel_build *lower, LLVMValueRef v_number);

/// Builds a kernel.
void zf_simt_kernel(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel);

// ---- The forms (forms/forms.def) ----
/// Whether each row of a region over two ranges has one element, which all its places are copies of (simt_regions.c).
bool zf_simt_rows_alike(const zf_reduce *reduce);
/// Makes a region of a chunk (zf_chunk_ops).
void zf_simt_share_rows(void *region);
/// Makes a loop of running sums (zf_chunk_ops).
void zf_simt_share_sums(zf_chunk *chunk, zf_cg_frame *frame, const zf_stmt *loop, const zf_chunk_sum *sum);
/// Prefetches the first bytes of the chunk's part of a stream (zf_chunk_ops).
void zf_simt_prefetch_chunk(zf_chunk *chunk, zf_chunk_stream *stream);
/// The same where cursors have come near to the end of what was prefetched.
void zf_simt_prefetch_on(zf_chunk *chunk);
/// Bytes of shared memory that chunks with lanes take beside tables.
uint32_t zf_simt_lanes_bytes(const zf_plan *plan, const zf_kernel *kernel);

// ---- Segmented scans (simt_segments.c) ----

/// Whether rows of `lanes` elements a lane and the scan's segments divide each other, and its states say enough.
bool zf_simt_segments_fit(uint32_t wave, const zf_kernel *kernel, const zf_reduce *reduce, unsigned lanes);
/// Whether a scan begins anew at a lane's element `k`, wherever the lane is.
bool zf_simt_segment_begins(const zf_reduce *reduce, unsigned k);
/// The term at an index, where it takes part; else what changes nothing.
LLVMValueRef zf_simt_segment_term(zf_cg *cg, const zf_running *running, LLVMValueRef v_index, LLVMValueRef v_term);
/// Whether the value at an index is of no term (i1).
LLVMValueRef zf_simt_segment_empty(zf_cg *cg, const zf_reduce *reduce, LLVMValueRef v_index);
/// As zf_simt_combine_rows; the rows begin at v_begins[row].
void zf_simt_combine_segments(zf_kernel_build *lower, const zf_running *running, unsigned lanes, LLVMValueRef v_lane,
                              unsigned count, const LLVMValueRef *v_begins, const LLVMValueRef *v_own, LLVMValueRef *v_before);

// ---- Tiles (simt.c) ----

/// Outputs lo..hi of count that the tile makes.
typedef struct zf_simt_tile {
    LLVMValueRef v_lo, v_hi, v_count;
    LLVMValueRef v_begin; ///< v_lo where the tile has outputs, said so that its lowest bits are known to be 0
    LLVMValueRef v_whole; ///< i1: all of them are wanted, and their place is aligned for stores of 16 bytes
} zf_simt_tile;
zf_simt_tile zf_simt_tile_of(zf_kernel_build *lower);
/// A field of the tree's state at the tile's beginning (v_initial: of the first tile), and at its end (v_final: of the last).
LLVMValueRef zf_simt_seek(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_initial);
LLVMValueRef zf_simt_seek_next(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_final, const char *what);
/// An entry of a field, where there is one, without a branch; else what stands there, which can be read.
LLVMValueRef zf_simt_seek_entry(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_entry);
/// Loads all fields at both ends, each by a lane of its own, for where the warp's threads are of one tile.
void zf_simt_seek_together(zf_kernel_build *lower);
/// Requests that a loop be unrolled, so that the loads of several rounds are in flight together.
void zf_simt_unroll(zf_cg *cg, const zf_cg_loop *loop, unsigned times);
/// Wishes that the loop whose last block is bb_last be neither unrolled nor made to do several rounds at once.
void zf_simt_keep_loop(zf_cg *cg, LLVMBasicBlockRef bb_last);

/// Loops of 32 bits: for v_i from v_begin on in steps, below v_stop (i32, both below 2^31).
typedef struct zf_turns {
    LLVMBasicBlockRef bb_body, bb_end;
    LLVMValueRef v_i, v_step, v_stop;
} zf_turns;
void zf_turns_begin(zf_cg *cg, zf_turns *turns, LLVMValueRef v_begin, uint32_t step, LLVMValueRef v_stop, const char *name);
void zf_turns_end(zf_cg *cg, zf_turns *turns);

// ---- Rows of a coder's lanes (simt_rows.c) ----

/// Consecutive rows (at most 4) that zf_simt_store_rows takes: a lane has an element of each.
unsigned zf_simt_rows_together(const zf_kernel_build *lower);
/// Whether whole tiles begin where it may store.
bool zf_simt_rows_fit(const zf_kernel_build *lower);
/// Stores them, from element v_from (i64) of the kernel on, a multiple of the wave beyond a tile's first: all are wanted.
void zf_simt_store_rows(zf_kernel_build *lower, LLVMValueRef v_lane, LLVMValueRef v_from, const zf_cg_value *values);

// ---- Tables of four bits of a coder's element (simt_nibbles.c) ------

/// Bytes of shared memory that it takes where the column's elements follow from their bits alone, whatever the width: reserved in
/// all code of such a kernel, also where none is made (no width is known, or it is above 4). Else 0.
uint32_t zf_simt_nibbles_bytes(const zf_plan *plan, const zf_kernel *kernel);
/// All threads of the block make it there, from `offset` on, and meet.
void zf_simt_nibbles_make(zf_kernel_build *lower, uint32_t offset);

// ---- Storing (simt_store.c) ----

/// Whether a kernel stores the bytes of strings.
bool zf_simt_delivers_text(zf_type type, const zf_kernel *kernel);
/// Around a tile's rows. Strings of a column take the last zf_simt_text_bytes of the shared memory, and a warp is a block.
void zf_simt_store_begin(zf_kernel_build *lower, const zf_simt_shape *shape, const zf_simt_tile *tile);
void zf_simt_store_end(zf_kernel_build *lower);
/// Reports what failed at element v_index, where the kernel knows which element that is; else the tile's end does.
void zf_simt_report_element(zf_kernel_build *lower, LLVMValueRef v_index);
/// Stores `count` values from element v_index on, as one aligned vector (booleans: a byte).
void zf_simt_store_vector(zf_kernel_build *lower, const zf_cg_value *values, unsigned count, LLVMValueRef v_index);

/// Slots (i64) of a string that is not stored yet.
typedef struct zf_simt_string {
    LLVMValueRef v_source, v_length;
} zf_simt_string;

/// The C contiguous elements of a thread in a row that is cut, from v_first on: those whose place, v_place + k, is less than
/// v_end are made and stored one by one; booleans are collected first, since they share a byte.
typedef struct zf_simt_cut {
    LLVMValueRef v_first;        ///< index of the first (i64)
    LLVMValueRef v_place, v_end; ///< i32 or i64
    LLVMValueRef v_index;        ///< of the element that is being made
    LLVMValueRef v_byte;         ///< slot; NULL: no booleans
    LLVMValueRef v_valid;        ///< slot (i32): bits of a column's validity; NULL: none
    zf_simt_string *strings;     ///< of a column; NULL: none
    LLVMBasicBlockRef bb_next, bb_none;
} zf_simt_cut;
/// Goes on where there are any; behind zf_simt_cut_end whether there are or not.
zf_simt_cut zf_simt_cut_begin(zf_kernel_build *lower, LLVMValueRef v_first, LLVMValueRef v_place, LLVMValueRef v_end);
/// Goes on where element v_index, number `k`, exists; behind the store whether it does or not.
void zf_simt_cut_element(zf_kernel_build *lower, zf_simt_cut *cut, unsigned k);
void zf_simt_cut_store(zf_kernel_build *lower, const zf_simt_cut *cut, unsigned k, zf_cg_value value);
void zf_simt_cut_end(zf_kernel_build *lower, const zf_simt_cut *cut);

/// Whether the target has `add_up` for values of this type.
bool zf_simt_adds_up(zf_kernel_build *lower, LLVMTypeRef ty);
/// Sum (i32 or i64), or largest (i32, unsigned), of the values of the warp's lanes up to this one.
LLVMValueRef zf_simt_scan_warp(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane);
/// The same of `count` values side by side, each in place.
void zf_simt_scan_rows(zf_kernel_build *lower, LLVMValueRef v_lane, unsigned count, LLVMValueRef *v_rows);
LLVMValueRef zf_simt_most_warp(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane);
LLVMValueRef zf_simt_lane(zf_kernel_build *lower); ///< of this thread in its warp
LLVMValueRef zf_simt_warp(zf_kernel_build *lower); ///< of this thread in its block (i64)
/// Bits of a lane's number: a shift by so many divides by the lanes of a warp.
uint32_t zf_simt_lane_bits_of(const zf_cg *cg);
/// Sets of lanes: i32, or i64 where a warp has 64 lanes. The set of the lanes below v_lane (i32), and the number of lanes in a
/// set (i32).
LLVMTypeRef zf_simt_set_type(zf_cg *cg);
LLVMValueRef zf_simt_lanes_below(zf_cg *cg, LLVMValueRef v_lane);
LLVMValueRef zf_simt_count_lanes(zf_cg *cg, LLVMValueRef v_set);
/// The set of the warp's lanes for which v (i1) holds. A warp that is half a wave takes its half of the wave's set.
LLVMValueRef zf_simt_ballot(zf_kernel_build *lower, LLVMValueRef v);
/// Whether v (i1) holds for any of them (i1).
LLVMValueRef zf_simt_any(zf_kernel_build *lower, LLVMValueRef v);
/// The or of a word (i32 or i64) of all lanes of the warp.
LLVMValueRef zf_simt_join(zf_kernel_build *lower, LLVMValueRef v);
/// Four bytes (i32) of eight, v_low's first: byte k is the one whose number is in bits 4k..4k + 3 of v_selector.
LLVMValueRef zf_simt_permute(zf_kernel_build *lower, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_selector);
/// The lane `step` before this one; below lane 0 one from above, whose value nobody takes.
LLVMValueRef zf_simt_lane_before(zf_kernel_build *lower, LLVMValueRef v_lane, uint32_t step);
void zf_simt_barrier(zf_kernel_build *lower, const char *what); ///< of all threads of the block
/// Stores an aligned word (i32), if v_if (i1), by a branch. zf_simt_store_where has none on a GPU, for lanes that stay together.
void zf_simt_store_word_if(zf_cg *cg, LLVMValueRef v_if, LLVMValueRef v, LLVMValueRef v_at);
/// Stores words of 32 or 64 bits one behind the other in shared memory, where v_where (i1; NULL: always) holds. Their place is
/// aligned to `aligned` bytes.
void zf_simt_store_where(zf_kernel_build *lower, LLVMValueRef v_where, const LLVMValueRef *v_words, uint32_t count,
                         LLVMValueRef v_pointer, uint32_t aligned);
void zf_simt_barrier_warp(zf_kernel_build *lower, const char *what);                       ///< of the threads of a warp
LLVMValueRef zf_simt_shuffle(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane); ///< of any scalar type

/// The loads of several bodies of one thread, before all of them.
typedef struct zf_simt_stage {
    LLVMBasicBlockRef bb_loads; ///< runs before the bodies; open while they are built
    LLVMBasicBlockRef bb_bodies;
    struct zf_simt_tied *tied;      ///< not NULL: loads go to its blocks
    LLVMBasicBlockRef *bb_open;     ///< of these blocks the one that is being built, beside the bodies
    struct zf_simt_window *windows; ///< what was loaded
} zf_simt_stage;

/// `count` neighbours whose ranks never fall, and rise by 1 at most from one to the next. The packed bits that they read are
/// loaded for several of them at once.
typedef struct zf_simt_neighbours {
    LLVMValueRef v_ranks[ZF_NEIGHBOURS];
    LLVMValueRef v_places[ZF_NEIGHBOURS]; ///< what their distances are taken of; NULL: the ranks
    unsigned count;
    zf_simt_stage stage;
} zf_simt_neighbours;
void zf_simt_neighbours_begin(zf_kernel_build *lower, zf_simt_neighbours *neighbours);
void zf_simt_neighbours_end(zf_kernel_build *lower, zf_simt_neighbours *neighbours);

/// An index that is v_base, the same for all threads, plus v_rank (i32), less than a tile: what is read there is addressed from
/// the tile's place by 32 bits.
typedef struct zf_simt_relative {
    LLVMValueRef v_base, v_rank;
    zf_simt_neighbours *neighbours; ///< v_rank is number `k` of these; NULL: it stands alone
    unsigned k;
    struct zf_simt_prefetch_tile *fetch; ///< of indices near v_base; NULL: none
} zf_simt_relative;
/// Bits index * stride + from .. + count of the edge's stream, or NULL where that is too wide.
LLVMValueRef zf_simt_relative_bits(zf_kernel_build *lower, const zf_simt_relative *relative, uint32_t edge, uint64_t stride,
                                   uint64_t from, uint64_t count);
zf_cg_value zf_simt_relative_element(zf_kernel_build *lower, const zf_simt_relative *relative, uint32_t edge);

// ---- Counted elements (simt_counted.c) ----

/// Where the element is whose index is a sum of zeros and ones along the outputs, for one of a lane's outputs.
typedef struct zf_simt_counted {
    uint32_t edge;
    zf_simt_relative relative; ///< of it; where there is none, of another
    LLVMValueRef v_place;      ///< i32: how far it is from near.v_base
    LLVMValueRef v_room;       ///< i32: how many elements there are from there on; NULL: more than v_place
} zf_simt_counted;
/// A scan whose values are such indices, for the rows of a tile.
typedef struct zf_simt_count {
    zf_running *running;
    uint32_t edge;        ///< the stream that it is an index of
    LLVMValueRef v_base;  ///< an index that the stream has, near all of the tile's
    LLVMValueRef v_room;  ///< i32
    LLVMValueRef v_holds; ///< i1, the same for the tile: there are elements, and the state lies among them
    bool exist;           ///< all that the rows which are being made count exists
    zf_simt_neighbours neighbours;
    zf_simt_counted lanes[ZF_NEIGHBOURS];
} zf_simt_count;
/// NULL where the scan is no index of one stream of numbers. `v_state`: its value before the tile (u64).
zf_simt_count *zf_simt_count_of(zf_kernel_build *lower, zf_running *running, LLVMValueRef v_state);
/// Around the bodies of a lane's `lanes` outputs, where the scan has these values.
void zf_simt_count_begin(zf_kernel_build *lower, zf_simt_count *count, unsigned lanes, const LLVMValueRef *v_values);
void zf_simt_count_end(zf_kernel_build *lower, zf_simt_count *count);
/// Whether everything that is counted by `v_more` (i32) more ones exists (i1); where it does, the rows that count them, and are
/// made next, need not ask.
LLVMValueRef zf_simt_count_fits(zf_kernel_build *lower, zf_simt_count *count, LLVMValueRef v_more);
/// Finds the counted index that `access` uses at the output that is being made; NULL: it uses none.
const zf_simt_counted *zf_simt_counted_at(const zf_kernel_env *env, const zf_expr *access);
/// Loads that element, checked.
zf_cg_value zf_simt_counted_element(zf_kernel_env *env, const zf_simt_counted *counted, const zf_expr *access);

// ---- Lanes (simt_lane_loads.c) ----

/// Packed bits of a loop's steps, loaded one step ahead: the loads of a step are issued before the step ahead of it goes on.
typedef struct zf_simt_ahead {
    LLVMBasicBlockRef bb_before;  ///< before the loop: open
    LLVMValueRef v_begin, v_next; ///< i32: zf_simt_lanes' v_near in the first step, and in the one behind that at hand
    unsigned room;                ///< words of 32 bits that a thread may still hold
} zf_simt_ahead;

enum { ZF_SIMT_TIED_MOST = 32, ZF_SIMT_TIED_EACH = 4 };

/// Loads of the lanes of several elements. No body uses one before all are there (zf_simt_ops.tie), so that those of a second
/// element do not wait until the first is made. Loads beyond ZF_SIMT_TIED_MOST are used at once.
typedef struct zf_simt_tied {
    LLVMBasicBlockRef bb_loads;            ///< loads words; open
    LLVMBasicBlockRef bb_words, bb_shifts; ///< makes of them what bodies read: the first block, and the open one
    LLVMBasicBlockRef bb_bodies;           ///< the first of their blocks
    LLVMValueRef v_slots[ZF_SIMT_TIED_MOST];
    unsigned count; ///< loads: words of 32 bits, or elements
} zf_simt_tied;
/// Begins; the caller builds lanes of zf_simt_lanes_tied, and their bodies, up to zf_simt_tied_end.
void zf_simt_tied_begin(zf_cg *cg, zf_simt_tied *tied);
void zf_simt_tied_end(zf_cg *cg, zf_simt_tied *tied);
/// Whether `elements` more of up to ZF_SIMT_TIED_EACH loads each have room.
static inline bool zf_simt_tied_fits(const zf_simt_tied *tied, unsigned elements) {
    return tied->count + elements * ZF_SIMT_TIED_EACH <= ZF_SIMT_TIED_MOST;
}

/// `count` contiguous elements of one thread from v_first, a multiple of `count`, on which the words that are loaded depend. All
/// of them exist.
typedef struct zf_simt_lanes {
    LLVMValueRef v_first;
    LLVMValueRef v_base, v_near; ///< not NULL: v_first is their sum, v_base (i64) the same for all threads and a multiple of
                                 ///< `count` too, v_near (i32) not far from 0
    unsigned count;
    struct zf_simt_prefetch_tile *fetch; ///< of indices near v_base; NULL: none (simt_prefetch_tile.h)
    struct zf_simt_distant *later;       ///< NULL: nothing is asked for of later tiles (simt_prefetch_distant.h)
    zf_simt_ahead *ahead;                ///< with v_near; NULL: loads are made where they are wanted
    struct zf_simt_staging *staging;     ///< NULL: nothing is staged (simt_staging.h)
    LLVMValueRef v_staged;               ///< i64: v_first, counted from the first that is staged with it
    bool by_words;                       ///< elements of fewer bytes than a word are loaded by words,
    LLVMValueRef v_distance;             ///< of by_words: the prefetch distance in elements (i32)
    zf_simt_stage stage;
} zf_simt_lanes;
zf_simt_lanes zf_simt_lanes_begin(zf_kernel_build *lower, LLVMValueRef v_first, unsigned count);
/// Instead of zf_simt_lanes_begin, for lanes of v_base (i64) and v_near (i64).
zf_simt_lanes zf_simt_lanes_tied(zf_kernel_build *lower, zf_simt_tied *tied, LLVMValueRef v_base, LLVMValueRef v_near,
                                 unsigned count);
void zf_simt_lanes_end(zf_kernel_build *lower, zf_simt_lanes *lanes);
/// Says what the bodies would read of a stream of booleans: the lanes' bits, from bit 0 of an i32 on.
void zf_simt_lanes_know_bits(zf_kernel_build *lower, zf_simt_lanes *lanes, uint32_t edge, LLVMValueRef v_bits);
/// The environment of lane `k` of the kernel's root.
zf_kernel_env zf_simt_lane_env(zf_kernel_build *lower, uint32_t node, zf_simt_lanes *lanes, unsigned k);
/// Bits index * stride + from .. + count of the edge's stream for a lane, or NULL where that is too wide.
LLVMValueRef zf_simt_lane_bits(zf_kernel_build *lower, zf_simt_lanes *lanes, unsigned k, uint32_t edge, uint64_t stride,
                               uint64_t from, uint64_t count);
/// Bits index * width .. + width of the edge's stream for a lane, where param `port` of the environment's node says the width: at
/// most `limit`. NULL where that is too wide for several lanes.
LLVMValueRef zf_simt_lane_scaled_bits(const zf_kernel_env *env, uint32_t edge, const zf_port *port, uint64_t limit);
/// Element `index` of an edge in memory for a lane.
zf_cg_value zf_simt_lane_element(zf_kernel_build *lower, zf_simt_lanes *lanes, unsigned k, uint32_t edge);

#endif

// The interface between the lowerings of chunks. A chunk is walked by one thread: its body is straight code with branches, and
// a failed check leaves the chunk at once, so later code may rely on it. Or all threads of a warp do the same (form_warp.c),
// but for the elements of a region, of which each makes its share. Or a warp's lanes walk it *together* (form_lanes.c): then
// the body is straight code without branches around reads, and failures are noted. Not for other files.
#ifndef ZF_CODEGEN_KERNEL_CHUNKS_H
#define ZF_CODEGEN_KERNEL_CHUNKS_H

#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel.h"
#include "patterns/plan/chunk_sums.h"

/// A `per chunk` stream, and the cursor on it. Positions count from the chunk's start.
typedef struct zf_chunk_stream {
    const zf_port *port; ///< NULL: it belongs to the block
    uint32_t edge;
    bool by_bits;          ///< the position counts bits, else elements
    LLVMValueRef v_first;  ///< the chunk's first element
    LLVMValueRef v_length; ///< its elements
    LLVMValueRef v_total;  ///< the same in the position's unit
    LLVMValueRef v_bytes;  ///< where they begin in memory; NULL where elements are made by an expression
    LLVMValueRef v_bit;    ///< their first bit counted from v_bytes; NULL: 0
    LLVMValueRef v_at;     ///< slot: the position
    bool narrow;           ///< the position is an i32 (zf_chunk)
    LLVMValueRef v_window; ///< of bytes: where a window of them begins, in which byte k of the chunk is k + v_skew (i32) modulo
                           ///< window_bytes, a power of two; NULL: there is none
    LLVMValueRef v_skew;
    uint32_t window_bytes;
    LLVMValueRef v_ahead; ///< slot (i64): bytes of the chunk's part that were prefetched (form_warp.c); NULL: more never are
} zf_chunk_stream;

/// The running value of a scan inside an emit region.
typedef struct zf_chunk_scan {
    const zf_reduce *reduce;
    LLVMValueRef v_acc, v_done; ///< slots: the reduction of so many terms
    struct zf_chunk_scan *next;
} zf_chunk_scan;

typedef struct zf_chunk zf_chunk;
typedef struct zf_chunk_region zf_chunk_region;

/// Overrides for GPUs where a warp walks a chunk, or its lanes walk it together. Each form sets its own members.
typedef struct zf_chunk_ops {
    // ---- A warp that walks chunks (form_warp.c)
    /// Entry v_entry of a field of the directory, without a branch.
    LLVMValueRef (*entry)(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_entry);
    /// Prefetches the first bytes of the chunk's part of a stream: programs read how much there is before they read it.
    void (*prefetch)(zf_chunk *chunk, zf_chunk_stream *s);
    /// Builds a region by share(region): each lane what v_share says; where one of them fails, all lanes go through all of it by
    /// walk(region), so that the failure is that of one thread. Before the lanes part, v_alike iterations (i64; NULL: none) are
    /// counted for all of them together.
    void (*share)(zf_chunk *chunk, LLVMValueRef v_alike, void (*share)(void *region), void (*walk)(void *region), void *region);
    /// Measures and makes a region over two binders, whose values of the first one, and then whose elements, the lanes share. To
    /// be called by `share`.
    void (*share_rows)(void *region);
    /// Makes a loop that emits running sums: each lane the terms of its turns.
    void (*share_sums)(zf_chunk *chunk, zf_cg_frame *frame, const zf_stmt *loop, const zf_chunk_sum *sum);
    /// The number of v_count elements (i64) that a lane makes, and the element of its turn v_turn.
    LLVMValueRef (*share_turns)(zf_chunk *chunk, LLVMValueRef v_count);
    LLVMValueRef (*share_index)(zf_chunk *chunk, LLVMValueRef v_turn);
    /// A failure leaves the chunk at once: another walk of it finds the one that comes first.
    bool gives_up;
    /// Wishes that a loop over a lane's share have several rounds at once.
    void (*unroll)(zf_cg *cg, const zf_cg_loop *loop);
    /// Makes the stores of all lanes visible to all of them, if the program reads its output.
    void (*meet)(zf_chunk *chunk);

    // ---- Lanes that walk a chunk together (form_lanes.c)
    /// Moves a cursor that lanes read together over `v_amount` (i64, in the position's unit), in their order, with check V02.
    /// Returns where this lane reads (i64): 0 where it must not.
    LLVMValueRef (*claim)(zf_cg *cg, zf_cg_frame *frame, const zf_chunk_stream *s, LLVMValueRef v_amount, const zf_expr *expr);
    /// The next element of each lane that reads one, from a window of what was loaded before; false where the stream has none.
    bool (*next)(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out);
} zf_chunk_ops;

/// Between begin and end a check that fails is noted, and what is built goes on with harmless operands: so the lanes of a warp
/// stay together. Nothing that is built may loop until a check fails.
typedef struct zf_chunk_notes {
    LLVMValueRef v_failed; ///< slot (i1): one failed
    bool some;             ///< there are checks
    // ---- what was before
    LLVMValueRef (*check)(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at);
    LLVMValueRef v_guard;
    struct zf_chunk_notes *outer;
} zf_chunk_notes;

struct zf_chunk {
    zf_kernel_env env;       ///< first: callbacks get a pointer to it
    const zf_chunk_ops *ops; ///< NULL: one thread walks it
    const zf_inst *inst;
    zf_chunk_stream *streams; ///< by slot
    /// The access of other kernels' environments: by the element's number in the block.
    zf_cg_value (*block_element)(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access);
    LLVMValueRef (*block_bits)(zf_cg *cg, zf_cg_env *env, const zf_port *port, LLVMValueRef v_at, LLVMValueRef v_count,
                               const zf_expr *access);
    LLVMValueRef (*block_length)(zf_cg *cg, zf_cg_env *env, const zf_port *port);
    LLVMValueRef v_number;  ///< of the chunk
    LLVMValueRef v_start;   ///< its first output in the block
    LLVMValueRef v_count;   ///< out.len
    LLVMValueRef v_pos;     ///< slot: out.pos; an i32 if narrow
    LLVMValueRef v_work;    ///< slot: iterations that are left (V10); an i32 if narrow
    LLVMValueRef v_byte;    ///< slot: the byte of booleans that is being filled, or NULL
    LLVMValueRef v_lane;    ///< NULL without lanes
    LLVMValueRef *v_states; ///< arrays of `lanes` values, by state
    LLVMValueRef v_when;    ///< i1: what is built counts only then (kernel_lanes.c); NULL: always
    zf_chunk_scan *scans;   ///< of the emit region that is being built
    LLVMBasicBlockRef bb_stop;
    bool narrow; ///< positions that count elements are i32; a stream of more has no others. Set before zf_chunk_open
    // ---- of a warp that walks it (form_warp.c)
    LLVMValueRef v_share;         ///< i64: of the elements of a region only those of this lane are built; NULL: all
    bool retraces;                ///< elements are built for their checks alone, and not stored
    bool counted;                 ///< v_work was changed
    bool walks_sums;              ///< a loop of running sums is built turn by turn
    struct zf_chunk_notes *notes; ///< of what is being built; NULL: a check that fails leaves the chunk
    // ---- of a row of lanes that is made by vectors (host_lanes.c)
    bool in_row, row_reads; ///< the states are the variables v_own; the body's first statement reads
    LLVMValueRef *v_own;    ///< by state
    LLVMValueRef v_reads;   ///< by lane: whether it reads (i8)
    LLVMValueRef v_taken;   ///< by lane: the element that it reads
    // ---- of lanes that walk it together
    bool together;         ///< v_states are slots of the thread's own lane, and positions the same for all
    LLVMValueRef v_exists; ///< i1: this lane has an element; NULL: all have
};

/// Builds the body of a kernel of chunks, each of which one thread walks; or a warp, by `ops`.
void zf_lower_chunks(zf_kernel_build *lower);
void zf_lower_chunks_by(zf_kernel_build *lower, const zf_chunk_ops *ops);

static inline zf_chunk *zf_chunk_of(zf_cg_env *env) { return (zf_chunk *)env; }

/// Makes the environment and slots of the kernel's chunks, with `together` as it is set.
void zf_chunk_open(zf_kernel_build *lower, zf_chunk *chunk);
/// Finds the parts of the streams of chunk `v_number`, of `v_chunks` that make `v_outputs` elements, and begins it.
void zf_chunk_begin(zf_chunk *chunk, LLVMValueRef v_outputs, LLVMValueRef v_chunks);
/// Bytes of a chunk's part of a stream (i64).
LLVMValueRef zf_chunk_bytes(zf_cg *cg, const zf_chunk_stream *s);
/// Leaves the chunk with check `number` unless v_ok holds.
void zf_chunk_stop_unless(zf_kernel_build *lower, LLVMValueRef v_ok, uint32_t number);
void zf_chunk_notes_begin(zf_chunk *chunk, zf_chunk_notes *notes);
/// Notes a failure unless v_ok (i1) holds.
void zf_chunk_note(zf_chunk *chunk, LLVMValueRef v_ok);
/// Checks leave the chunk again; `notes` keeps what was noted.
void zf_chunk_notes_end(zf_chunk *chunk);
/// `out.pos` (i64).
LLVMValueRef zf_chunk_emitted(const zf_chunk *chunk);
void zf_chunk_set_emitted(const zf_chunk *chunk, LLVMValueRef v_pos);
/// Takes iterations from what the chunk may do.
void zf_chunk_work(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_count, zf_span span);
/// Iterations that are left (i64).
LLVMValueRef zf_chunk_work_left(const zf_chunk *chunk);
void zf_chunk_set_work_left(const zf_chunk *chunk, LLVMValueRef v);
/// Stores element `v_index` of the chunk.
void zf_chunk_store(zf_chunk *chunk, zf_cg_value value, LLVMValueRef v_index);

// ---- kernel_cursor.c ----
/// Whether a stream is read by bits, so that its position must count them.
bool zf_chunk_reads_bits(const zf_inst *inst, const zf_port *port);
/// Whether it is, or its position is asked for in bits.
bool zf_chunk_counts_bits(const zf_inst *inst, const zf_port *port);
/// A read of bits whose value nobody takes: moves the cursor. False: it is something else.
bool zf_chunk_read_nothing(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);
zf_cg_value zf_chunk_cursor(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);

// ---- kernel_lanes.c ----
/// An `if` of lanes whose body is light, without a branch. False: it is an ordinary one.
bool zf_chunk_light_if(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
/// Assignments to states and variables, with the reads in them, which count only where v_if (i1).
void zf_chunk_assign_where(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmts, LLVMValueRef v_if);
/// The first statement of a row that is made by vectors, an `if` around a read: takes what was read. False: it is another.
bool zf_chunk_row_reads(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
/// Assigns a state of the lane at hand.
void zf_chunk_state_store(zf_cg *cg, const zf_chunk *chunk, const zf_state *state, LLVMValueRef v);
/// The states' first values, lane by lane; then the elements.
void zf_chunk_run_lanes(zf_chunk *chunk);

// ---- kernel_emit.c ----
/// An `emit` over ranges.
struct zf_chunk_region {
    zf_cg *cg;
    zf_cg_frame *frame;
    const zf_stmt *stmt;
    LLVMValueRef v_pos;         ///< out.pos before it
    LLVMValueRef v_lo, v_count; ///< values of the first binder
    LLVMValueRef v_at;          ///< over two: slot: behind what was measured, or made, so far
};
/// The number of a binder's values (UINT64_MAX if there are 2^64), and one of them.
LLVMValueRef zf_chunk_region_size(zf_cg *cg, const zf_cg_range *range);
void zf_chunk_region_bind(const zf_chunk_region *region, const zf_binder *binder, LLVMValueRef v);
/// V03 unless there is room for v_more elements behind v_pos.
void zf_chunk_region_room(const zf_chunk_region *region, LLVMValueRef v_pos, LLVMValueRef v_more);
void zf_chunk_emit(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
void zf_chunk_emit_region(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
/// A scan over the binder of the region.
bool zf_chunk_reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out);

#endif

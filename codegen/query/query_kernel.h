// A query as a kernel of an accelerator, inside: its columns (query_columns.c), rows (query_rows.c), pairs (query_pairs.c),
// results (query_results.c) and the kernel around them (query_kernel.c).
//
// A warp makes tiles of rows of the table, one after the other. Where nothing depends on the order of rows, each lane has
// ZF_QUERY_TOGETHER consecutive rows at a time, and a statement is built for all of them before the next one, so that a warp
// waits once for all their loads. Packed bits are loaded one step ahead. Tiles in the same blocks are then one stretch, whose
// rows are counted from its first tile's. Else a lane has one row, and the warp 32 consecutive ones. The numbers of pairs are
// rows of this kind.
#ifndef ZF_CODEGEN_QUERY_KERNEL_H
#define ZF_CODEGEN_QUERY_KERNEL_H

#include "codegen/body/cg_frame.h"
#include "codegen/codegen_query.h"
#include "codegen/kernel/kernel.h"
#include "codegen/query/query_fused.h"
#include "codegen/simt/simt.h"

enum {
    ZF_QUERY_TOGETHER = 8,
    ZF_QUERY_PAIR_TILE = 128, ///< pairs of a warp's tile: few, since each may take long
    ZF_QUERY_TAKEN = 2,       ///< rows that a lane takes from a queue at once
};

typedef struct zf_query_build zf_query_build;

/// A column. The kernel makes its elements itself (`of`), or they lie decoded in memory.
typedef struct zf_query_column_build {
    bool fused;
    zf_query_fused of; ///< `of.lower.bb_setup` is used of decoded columns, too
    LLVMValueRef v_base, v_blocks, v_work, v_first_tile, v_block_tiles, v_skip, v_validity_skip; ///< words of the frame
    LLVMValueRef v_begin;                  ///< element of the tile's first row: in its block, or among those in memory
    zf_cg_value values[ZF_QUERY_TOGETHER]; ///< of the rows that are being built
    uint32_t depth;                        ///< of the scope that has them; 0: none has
} zf_query_column_build;

typedef struct zf_query_input_build {
    LLVMValueRef v_values, v_length; ///< pointer; i64
    LLVMValueRef v_most;             ///< i32: the largest index; 0 where there is none, which can be read
} zf_query_input_build;

typedef struct zf_query_held_build {
    LLVMValueRef v_words, v_touched;
    LLVMValueRef v_low, v_high; ///< shared memory: the halves of all elements, i32 each; NULL: none
    uint64_t count;             ///< elements
    LLVMValueRef v_slot;        ///< one number: what this thread has so far. Sums of floats: an array of what its lane has
    LLVMValueRef v_given;       ///< slot (i1): it has something, of min and max
} zf_query_held_build;

/// The surroundings of one row.
typedef struct zf_query_row_build {
    zf_cg_env env; ///< first
    zf_query_build *build;
    unsigned k;          ///< among the rows that are built together
    LLVMValueRef v_row;  ///< in the table
    LLVMValueRef v_near; ///< i64: the same, counted from the stretch's first, where the row exists; else NULL
    LLVMValueRef v_mask; ///< i1: the row counts here; NULL: it does
} zf_query_row_build;

/// The purpose for which statements are built.
typedef enum zf_query_pass {
    ZF_QUERY_COUNT, ///< they count what `select` will append, and do nothing else
    ZF_QUERY_GIVE,
} zf_query_pass;

struct zf_query_build {
    zf_cg *cg;
    const zf_query *query;
    const zf_query_source *sources;
    const zf_query_shape *shapes;
    const uint32_t *shared_inputs;
    uint32_t warps;        ///< of a thread block
    zf_kernel_build lower; ///< of no column: for helpers that want one
    zf_simt_state simt;
    LLVMValueRef v_base, v_frame, v_out, v_failure; ///< arguments
    LLVMValueRef v_thread, v_lane, v_warp;          ///< i32
    LLVMValueRef v_first_tile, v_tiles, v_row_begin, v_row_end, v_first_row;
    LLVMValueRef v_firsts, v_first_count, v_first_number; ///< pairs: zf_query_launch's firsts, first_count, first
    LLVMValueRef v_groups, v_group_count, v_first_square, v_squares, v_pair_sums; ///< squares: the same
    const zf_expr *sum;                                                           ///< the sum that squares made; NULL: none
    const struct zf_query_staged *staged; ///< elements of inputs that are read in place of them; NULL: none
    LLVMValueRef *v_params;               ///< of their own types
    zf_query_input_build *inputs;
    zf_query_column_build *columns;
    zf_query_held_build *held;
    LLVMValueRef v_counts, v_prefix;      ///< select: of the tiles
    LLVMBasicBlockRef bb_entry, bb_begin; ///< bb_entry: runs first, and is open until the end
    uint32_t queues_at, queues_end;       ///< of shared memory: room for more queues
    LLVMValueRef v_any;                   ///< slot (i1): a check failed in the tile or the stretch
    // ---- The tile
    LLVMValueRef v_tile, v_row0;            ///< in the launch; its first row
    LLVMValueRef v_tiles_end, v_next_tile;  ///< of stretches: the end of the warp's tiles; slot (i64): what it makes next
    LLVMValueRef v_near_first, v_far_first; ///< pairs: places of the first numbers of its first and its last one
    // ---- The rows that are being built
    zf_query_row_build rows[ZF_QUERY_TOGETHER];
    zf_cg_frame frames[ZF_QUERY_TOGETHER];
    unsigned count;
    LLVMValueRef v_near;  ///< i64: the first, counted from the stretch's first, where rows follow each other and exist; else NULL
    zf_simt_ahead *ahead; ///< packed bits of their step are loaded one step ahead; NULL: they are not
    zf_simt_ahead *steps; ///< that of the stretch's steps; NULL: rows are of none
    bool from_queue;      ///< they lie anywhere in the stretch
    zf_simt_tied *tied;   ///< what they pull is tied; NULL: no pull is being built
    uint32_t apart;       ///< branches around, which lanes need not have taken together
    LLVMValueRef v_last;  ///< i1: those of v_near are the stretch's last
    bool queues;          ///< rows that conditions leave may wait for others
    uint32_t depth;
    zf_query_pass pass;
    LLVMValueRef v_selected; ///< slot (i64): COUNT: what the row appends; GIVE: where its next row goes
};

// ---- Columns (query_columns.c) ----
/// The number of the column whose element of the row an expression is; UINT32_MAX: it is none.
uint32_t zf_query_column_of(const zf_query *query, const zf_expr *expr);
/// Loads what the frame says of columns and inputs.
void zf_query_columns_begin(zf_query_build *b);
/// Copies inputs to shared memory, from `offset` on, and returns the end. All threads of the block come to it; others see what it
/// copies behind a barrier.
uint32_t zf_query_inputs_ready(zf_query_build *b, uint32_t offset);
/// Around a tile: what holds for it goes into blocks before bb_body, from bb_tile on, which are closed at the end.
void zf_query_columns_tile(zf_query_build *b, LLVMBasicBlockRef *bb_setups);
void zf_query_columns_tile_end(zf_query_build *b, LLVMBasicBlockRef *bb_setups, LLVMBasicBlockRef bb_body);
/// Makes the elements of columns that an expression or statement names, for all rows that are being built, unless a scope around
/// has them.
void zf_query_pull_expr(zf_query_build *b, zf_expr *expr);
void zf_query_pull_stmt(zf_query_build *b, zf_stmt *stmt);
/// Between them other rows are built, which have none of the elements that were made.
typedef struct zf_query_saved {
    zf_query_column_build *columns;
} zf_query_saved;
void zf_query_columns_save(zf_query_build *b, zf_query_saved *saved);
void zf_query_columns_restore(zf_query_build *b, const zf_query_saved *saved);
void zf_query_scope_begin(zf_query_build *b);
void zf_query_scope_end(zf_query_build *b);
/// The numbers (i64) of entries of a fused column that has them, for all rows that are being built, which exist.
void zf_query_pull_codes(zf_query_build *b, zf_query_column_build *column, LLVMValueRef *v_codes);
/// Ties a value of each row from a queue (zf_simt_ops.tie), if all are integers that are not constant.
void zf_query_tie(zf_query_build *b, LLVMValueRef *v_values);
zf_cg_value zf_query_element(zf_query_build *b, unsigned k, const zf_port *port, LLVMValueRef v_index);

// ---- Rows (query_rows.c) ----
/// Builds the statements of `each` for rows v_rows[0..count]. `v_near`, `v_last`, `ahead`: as zf_query_build has them.
void zf_query_rows(zf_query_build *b, const LLVMValueRef *v_rows, unsigned count, LLVMValueRef v_near, LLVMValueRef v_last,
                   zf_simt_ahead *ahead);
/// `count` other rows, at v_nears of the stretch, are built between zf_query_others_begin and zf_query_others_end.
typedef struct zf_query_others {
    zf_query_build build;
    zf_query_saved columns;
} zf_query_others;
void zf_query_others_begin(zf_query_build *b, zf_query_others *others, const LLVMValueRef *v_nears, unsigned count);
void zf_query_others_end(zf_query_build *b, const zf_query_others *others);
/// Begins the surroundings of an expression that is evaluated alone: frames[0], where the caller binds what it names.
void zf_query_row_begin(zf_query_build *b);
/// Whether `is` holds for a term of a condition that all lanes of a warp may come to together: of an `if` in no other, whose
/// statements assign to no variable; behind terms that read more than numbers of columns only where rows may wait for others.
bool zf_query_has_term(const zf_query *query, bool (*is)(const zf_query *query, const zf_expr *term, uint32_t column),
                       uint32_t column);
/// Whether an expression is a constant or a param, also one of another type.
bool zf_query_is_fixed(const zf_expr *expr);
/// Whether rows may be built together: nothing that they do depends on their order.
bool zf_query_rows_together(const zf_query *query);

// ---- Pairs (query_pairs.c) ----
/// Finds which first numbers the pairs of a tile have.
void zf_query_pairs_tile(zf_query_build *b);
/// Gives the binders of a frame the numbers of pair v_row, which exists in the tile.
void zf_query_pair_bind(zf_query_build *b, zf_cg_frame *frame, LLVMValueRef v_row);
/// Where the sum of pair v_row of the launch lies that squares make.
LLVMValueRef zf_query_pair_sum(zf_query_build *b, LLVMValueRef v_row);
/// A word of entry v_place of a list of zf_query_pair_row, and the last entry from v_low to v_high with `before` no more than
/// v_number. v_low is such an entry.
LLVMValueRef zf_query_list_word(zf_query_build *b, LLVMValueRef v_list, LLVMValueRef v_place, size_t offset);
LLVMValueRef zf_query_list_search(zf_query_build *b, LLVMValueRef v_list, LLVMValueRef v_number, LLVMValueRef v_low,
                                  LLVMValueRef v_high);

// ---- Entries of dictionaries (query_entries.c) ----
/// Evaluates a term for the rows that are being built, under their conditions, by bits of a column's entries, where all lanes of
/// the warp are here (`apart`). False: it is not such a term, and nothing was built.
bool zf_query_entries_term(zf_query_build *b, zf_expr *term, const LLVMValueRef *v_masks, LLVMValueRef *v);

// ---- Rows that wait (query_queues.c) ----
/// Rows of a warp. All of its lanes come to these functions, at any place.
typedef struct zf_query_queue {
    LLVMValueRef v_rows, v_length; ///< shared memory; slot
    LLVMBasicBlockRef bb_head, bb_end;
    /// The rows that the lane took, counted from the stretch's first, where their mask holds.
    LLVMValueRef v_nears[ZF_QUERY_TAKEN], v_masks[ZF_QUERY_TAKEN];
    LLVMValueRef v_last; ///< i1: no others follow in the stretch
} zf_query_queue;
/// Bytes of shared memory of a thread block's queue, to which each lane of its warps adds up to `rows` at once.
uint32_t zf_query_queue_bytes(uint32_t warps, unsigned rows);
/// Opens a queue for the rows that are being built. False: there is no room for it.
bool zf_query_queue_open(zf_query_build *b, zf_query_queue *queue);
/// Appends the rows that are being built and have their bit in v_masks.
void zf_query_queue_push(zf_query_build *b, const zf_query_queue *queue, const LLVMValueRef *v_masks);
/// Around what is done with the rows that are taken: those of all lanes, and at the stretch's end (v_last, i1) all.
void zf_query_queue_begin(zf_query_build *b, zf_query_queue *queue, LLVMValueRef v_last);
void zf_query_queue_end(zf_query_build *b, const zf_query_queue *queue);

// ---- Results (query_results.c) ----
void zf_query_held_begin(zf_query_build *b);
/// All threads of the block come to it before the first row. Returns whether there must be a barrier behind it.
bool zf_query_held_ready(zf_query_build *b, uint32_t *offset);
/// An index among `count` that a thread of the block takes: all take turns. Ends with zf_query_turn_end.
typedef struct zf_query_turn {
    zf_cg_loop loop;
    LLVMBasicBlockRef bb_end;
    LLVMValueRef v_at;
} zf_query_turn;
void zf_query_turn_begin(zf_query_build *b, zf_query_turn *turn, uint64_t count);
void zf_query_turn_end(zf_query_build *b, zf_query_turn *turn);
/// A row's value for a result, by a statement.
typedef struct zf_query_gift {
    LLVMValueRef v_do;    ///< i1: it gives something; NULL: it does
    LLVMValueRef v_at, v; ///< i64: number of the element, from 0; the value, of the result's type
} zf_query_gift;
/// Evaluates a RESULT statement for the row of `frame`, which counts under cg->v_guard, and gives what came of it to the result.
/// Those of several rows are evaluated first, so that what they load is under way together.
zf_query_gift zf_query_gift_of(zf_query_build *b, zf_cg_frame *frame, const zf_stmt *stmt);
void zf_query_give(zf_query_build *b, const zf_query_row_build *row, const zf_query_result *result, const zf_query_gift *gift);
/// The whole of a RESULT or SELECT statement of a row.
void zf_query_give_row(zf_query_build *b, zf_query_row_build *row, zf_cg_frame *frame, const zf_stmt *stmt);
/// Around a tile: sums of floats.
void zf_query_held_tile(zf_query_build *b);
void zf_query_held_tile_end(zf_query_build *b);
/// Joins what the threads have.
void zf_query_held_end(zf_query_build *b);
/// Notes that a check failed where v_ok (i1) does not hold.
void zf_query_note(zf_query_build *b, LLVMValueRef v_ok);
/// Word `at` of the frame.
LLVMValueRef zf_query_word(zf_query_build *b, uint32_t at);

// ---- Kernels (query_kernel.c, query_final.c) ----
/// Arguments behind the emulator's thread, as runtime/base/abi.h orders them; those that are named are used.
enum {
    ZF_QUERY_ARG_BASE,
    ZF_QUERY_ARG_FRAME,
    ZF_QUERY_ARG_OUT = 4,
    ZF_QUERY_ARG_FAILURE = 7,
    ZF_QUERY_ARG_POINTERS,
    ZF_QUERY_ARG_GROUPS = 9,
    ZF_QUERY_ARGS
};
/// Makes a kernel's function. `threads`: of a thread block; `registers`: the limit for a thread.
LLVMValueRef zf_query_function(zf_cg *cg, const char *name, unsigned threads, unsigned registers,
                               LLVMValueRef v_args[ZF_QUERY_ARGS]);
/// Reports that a check failed in the tile or the stretch, if one did.
void zf_query_report(zf_query_build *b);
void zf_cg_query_kernels(zf_cg *cg, const zf_query_kernels_request *request);
/// Begins a loop over v_from, v_from + v_step and so on, below v_end: what a warp or a thread of a launch has. Returns the
/// number; zf_cg_loop_end ends it. All are i64; v_step is not 0.
LLVMValueRef zf_query_steps_begin(zf_cg *cg, zf_cg_loop *loop, LLVMValueRef v_from, LLVMValueRef v_step, LLVMValueRef v_end,
                                  const char *name);
void zf_cg_query_final(zf_cg *cg, zf_query_final form);
/// Bytes of shared memory of a thread block.
uint32_t zf_query_shared_bytes(const zf_query_kernels_request *request);

#endif

// Kernels from plans: what the lowerings of the host target share. One `zf_lower` builds one kernel; its environments
// (zf_lower_env) answer what bodies ask for.
//
// A kernel is two functions: the entry of runtime/base/abi.h, which only unpacks its arguments, and a body with every buffer as a
// `noalias` argument, so that loops need no tests for overlap. Values that hold for a whole block (params, counts, pointers) are
// made in the body's first block when they are first asked for, which stays open until the end.
#ifndef ZF_CODEGEN_KERNEL_H
#define ZF_CODEGEN_KERNEL_H

#include "codegen/body/cg_sites.h"
#include "codegen/target/target.h"
#include "patterns/plan/steps.h"

enum {
    ZF_STRIP = 64,          ///< elements or groups that are worked on together: 64 of any bit width are whole words, for bool too
    ZF_READ_AHEAD = 16,     ///< bytes that can be read behind any stream and work buffer
    ZF_HANDLE_BYTES = 16,   ///< of a string in a work buffer: where its bytes are, and how many (on accelerators: simt_handles.h)
    ZF_NO_FAILURE = 0xffff, ///< of the failure slot: no check failed
};

typedef struct zf_lower_env zf_lower_env;
typedef struct zf_strip zf_strip;
typedef struct zf_running zf_running;
typedef struct zf_expansion zf_expansion;

/// Where the parts of a tile's values go that are more than elements. Bits go through memory, since tiles do not store them one
/// after the other.
typedef struct zf_delivery {
    LLVMValueRef v_valid; ///< nullable: a byte for each element of the tile (of the block, where it goes to a work buffer)
    LLVMValueRef v_bools; ///< nullable booleans: the values, likewise
    LLVMValueRef v_lo;    ///< the tile's first element
    uint32_t bytes_field; ///< strings to the column: of the seek tree
    LLVMValueRef v_byte;  ///< slot (i64): where the next string goes, in the block's bytes
    LLVMValueRef v_end;   ///< behind the tile's bytes
    // ---- of kernels of accelerators
    LLVMValueRef v_last;                     ///< behind the tile's last row that is wanted
    LLVMValueRef v_next;                     ///< where the file says that the tile's bytes end
    LLVMValueRef v_failed;                   ///< slot (i1): an element of this thread failed, and was reported
    LLVMValueRef v_valid_byte, v_bools_byte; ///< slots (i8): bytes so far of bitmaps that one thread stores bit by bit
    struct zf_simt_text *text;               ///< strings that a warp copies (simt_text.h)
} zf_delivery;

/// What a plan's code is made from.
struct zf_lower_input {
    const zf_plan *plan;
    const uint64_t *shaping; ///< values in the order of plan->shaping; NULL: the general form
};

struct zf_lower {
    zf_cg *cg;
    const zf_lower_input *input;
    const zf_plan *plan;
    const zf_graph *graph;
    const zf_kernel *kernel;
    LLVMValueRef v_body; ///< the function with the arguments below
    LLVMBasicBlockRef bb_setup;
    LLVMValueRef v_base, v_slots, v_out, v_validity, v_record, v_failure, v_tiles, v_mode, v_begin, v_end; ///< arguments
    LLVMValueRef v_offsets, v_offset_base, v_byte_begin, v_byte_end; ///< arguments, for strings
    LLVMValueRef *v_works;
    LLVMValueRef *v_words;    ///< descriptor words loaded so far, by slot
    LLVMValueRef *v_nonempty; ///< per node: whether its output has elements
    uint32_t noted;           ///< failures that may be noted so far
    LLVMValueRef v_fail;      ///< slot (i32): smallest number of a check that failed, or ZF_NO_FAILURE
    LLVMValueRef v_any;       ///< slot (i1): one failed, where only that is noted; NULL: v_fail is what counts
    LLVMValueRef v_limit;     ///< slot (i64): strips that begin below may read their bits in whole vectors
    zf_type type;             ///< of what the kernel stores
    LLVMValueRef v_sink;      ///< where element 0 goes; may lie outside any object: zf_cg_at_sink
    zf_delivery delivery;     ///< of values that are more than their elements (kernel_deliver.c)
    zf_running *runnings;     ///< the kernel's scans, in the order of its steps
    uint32_t running_count;
    zf_expansion *expansions; ///< its groups, but for a root that is walked group by group (host_groups.c)
    uint32_t expansion_count;
    LLVMValueRef v_groups;       ///< of the root, where it is walked group by group
    bool tables_are_small;       ///< what is being built may take streams for tables of a register (host_lookup.c), which
    LLVMValueRef v_small_tables; ///< i1: they then are; NULL: there are none
    struct zf_chunk *chunk; ///< that is being walked (kernel_chunks.h): a check that fails leaves it; NULL: failures are noted
    // ---- of kernels of accelerators (simt.h)
    bool one_by_one;                     ///< no strips: one thread walks a tile, element by element
    bool one_warp;                       ///< thread blocks are one warp
    LLVMValueRef *v_tables;              ///< per edge: all of it in shared memory, or NULL; NULL: none is there (simt_tables.h)
    bool tables_checked;                 ///< elements of v_tables lie in their streams' ranges
    LLVMValueRef *v_seeks;               ///< two a seek field, at the tile's begin and at its end; NULL: loaded where wanted
    LLVMValueRef v_block;                ///< number of the block in its unit (i64), which failures name; NULL: there is one
    LLVMValueRef v_blocks;               ///< of the unit (i64)
    LLVMValueRef v_row_begin, v_row_end; ///< only elements in between are stored at v_sink; NULL: all
    LLVMValueRef v_thread;               ///< i32
    LLVMValueRef v_tile;                 ///< the tile that this thread works on
    LLVMValueRef v_leads;       ///< i1: a warp walks the tile, and this thread stores and reports for it; NULL: it walks alone
    LLVMValueRef v_hard;        ///< a function of the kernel's arguments that makes the tile by one thread; or NULL
    LLVMBasicBlockRef bb_leave; ///< the end of the kernel
    uint32_t unpacks;           ///< elements of the column that an element holds, which are stored in its place; 0: it is stored
    LLVMValueRef v_unpacked;    ///< i64: the bits of the one that is being made of it
    LLVMValueRef v_nibbles;     ///< shared memory: what four bits become; NULL: that is not known ahead (simt_nibbles.c)
    LLVMValueRef v_bad_nibbles; ///< i32: bits of those for which a check fails; NULL: none can
};

/// The surroundings of one body. Indices are u64.
struct zf_lower_env {
    zf_cg_env env; ///< first
    zf_lower *lower;
    uint32_t node;
    LLVMValueRef v_i, v_g, v_j;
    zf_strip *strip;                 ///< not NULL: the index (v_g of a group body, else v_i) is element strip->v_k of this strip
    const zf_local *binder;          ///< of a scan's term: stands for the index
    LLVMValueRef v_counts;           ///< i1 under which failed checks count; NULL: always
    bool uses_i, uses_g, uses_j;     ///< which indices were asked for
    const struct zf_simt_spot *spot; ///< not NULL: where in the tile's stages the index stands (simt_tree.h)
    const struct zf_simt_near *near; ///< not NULL: the index is near one that is known for the tile (simt.h)
    struct zf_simt_lanes *lanes;     ///< not NULL: the index is element lane_k of these (simt.h)
    unsigned lane_k;
    struct zf_simt_places *places; ///< not NULL: bits at places that data say may be a neighbour's (simt_places.h)
    LLVMValueRef v_alive; ///< i1, false: the index was made up and stands for nothing, so only index 0 may be read; NULL: true
};

/// Creates the functions of a kernel.
void zf_lower_kernel(zf_cg *cg, const zf_lower_input *input, const zf_kernel *kernel);
void zf_lower_kernel_name(uint32_t index, char name[24]);

// ---- By domain: the bodies of tiles (host_elements.c, host_groups.c, kernel_chunks.c) ----
void zf_lower_elements(zf_lower *lower);
void zf_lower_groups(zf_lower *lower);
void zf_lower_chunks(zf_lower *lower);
void zf_lower_prefix(zf_lower *lower); ///< prefix sums, from zf_lower_elements (host_prefix.c)

// ---- Functions (kernel_build.c) ----
void zf_lower_init(zf_lower *lower, zf_cg *cg, const zf_lower_input *input, const zf_kernel *kernel);
/// Begins the body of function `name` (its arguments, the open block), and ends it, making the entry that calls it.
LLVMBasicBlockRef zf_lower_open(zf_lower *lower, const char *name);
void zf_lower_close(zf_lower *lower, const char *name, LLVMBasicBlockRef bb_first);

// ---- Block-wide values (kernel_build.c) ----
LLVMBasicBlockRef zf_lower_setup_begin(zf_lower *lower); ///< goes to the open first block; give the result back to end
void zf_lower_setup_end(zf_lower *lower, LLVMBasicBlockRef bb_before);
LLVMValueRef zf_lower_word(zf_lower *lower, zf_abi_slot_kind kind, uint32_t a, uint32_t b);
LLVMValueRef zf_lower_count(zf_lower *lower, uint32_t edge);
/// Chunks that a node's outputs are cut into (kernel_chunks.c).
LLVMValueRef zf_lower_chunk_count(zf_lower *lower, uint32_t node);
/// The known value of a param: given by the codec, or a shaping one. False in the general form.
bool zf_lower_param_known(const zf_lower *lower, uint32_t node, const zf_port *port, uint64_t *bits);

/// Stores the value of field `field` of the kernel's tree at the beginning of tile `v_tile` in a slot of `type`: `v_initial` in
/// tile 0, else the file's; a recording leaves what the tile before put there.
void zf_lower_seek(zf_lower *lower, uint32_t field, zf_type type, LLVMValueRef v_tile, LLVMValueRef v_initial,
                   LLVMValueRef v_slot);
/// The field of the kernel's tree that holds this of its root.
uint32_t zf_lower_root_field(const zf_lower *lower, zf_seek_kind kind);
/// The field that holds this of a node (`reduce`: of a SCAN), or -1.
int32_t zf_lower_field(const zf_lower *lower, zf_seek_kind kind, uint32_t node, uint32_t reduce);
/// Entry `v_entry` of a field: the state of tile v_entry + 1.
LLVMValueRef zf_lower_seek_entry(zf_lower *lower, uint32_t field, LLVMValueRef v_entry);
/// At the end of tile `v_tile`: where another follows, checks that the state in the file is `v_word` (a word), or records it. A
/// difference counts as the end check's failure.
void zf_lower_seek_end(zf_lower *lower, uint32_t field, LLVMValueRef v_tile, LLVMValueRef v_word);
LLVMValueRef zf_lower_is_recording(zf_lower *lower);

/// Notes that check `number` failed where `v_bad` (i1).
void zf_lower_fail(zf_lower *lower, LLVMValueRef v_bad, uint32_t number);
/// The same for a check that is not one of the language's, which come through zf_cg_check. `what` it is of: cg_sites.h.
void zf_lower_check(zf_lower *lower, LLVMValueRef v_bad, uint32_t number, const char *what);
/// Whether no failure was noted so far (i1).
LLVMValueRef zf_lower_none_failed(zf_lower *lower);
/// The check of what a tile ends with. Where another failed, that one is the reason, and this one counts for nothing.
void zf_lower_check_end(zf_lower *lower, LLVMValueRef v_bad, const char *what);
/// Whether row v_index, below v_end, is among those that are stored (i1).
LLVMValueRef zf_lower_row_wanted(zf_lower *lower, LLVMValueRef v_index, LLVMValueRef v_end);
/// Reports the noted failure, if any, at position `v_position`.
void zf_lower_report(zf_lower *lower, LLVMValueRef v_position);
void zf_lower_clear(zf_lower *lower);
/// The loop over tiles: everything up to `zf_lower_tiles_end` is the body. A tile behind a failure that is already known is
/// skipped.
typedef struct zf_lower_tiles {
    zf_cg_loop loop;
    LLVMValueRef v_tile, v_lo, v_hi, v_count; ///< outputs lo..hi of count
} zf_lower_tiles;
void zf_lower_tiles_begin(zf_lower *lower, zf_lower_tiles *tiles, uint32_t edge);
void zf_lower_tiles_end(zf_lower *lower, zf_lower_tiles *tiles);

/// Strips of a tile of elements that are whole and may be unpacked, without the block's last element where scans run.
LLVMValueRef zf_lower_whole_strips(zf_lower *lower, const zf_lower_tiles *tiles);

// ---- Environments (kernel_env.c) ----
/// Where rows of a scan ask for what they will take further on (the choice AHEAD), asks for what lies behind v_from; one of a
/// lane's neighbours does.
void zf_lower_ask_further(zf_lower *lower, LLVMValueRef v_from);
zf_lower_env zf_lower_env_make(zf_lower *lower, uint32_t node);
/// Element `v_index` of an edge that lies in memory: stored, or in a work buffer.
zf_cg_value zf_lower_load(zf_lower *lower, uint32_t edge, LLVMValueRef v_index);
LLVMValueRef zf_lower_pointer(zf_lower *lower, uint32_t edge);
/// The edge that a port of a node takes.
const zf_graph_edge *zf_lower_edge(const zf_lower *lower, uint32_t node, const zf_port *port);
bool zf_lower_in_memory(const zf_lower *lower, uint32_t edge);
/// The check that the range of prefix sums makes: its number, -1 where the index is proved. False when neither is known.
bool zf_lower_prefix_check(const zf_lower *lower, uint32_t node, const zf_reduce *reduce, int32_t *number);
/// Within a group of the kernel's root: the element that an access pulls at g, if a strip can hold those of 64 groups
/// (host_groups.c).
bool zf_lower_pulled(zf_lower_env *env, const zf_graph_edge *edge, const zf_expr *access, zf_cg_value *out);
/// True when `access` is answered by those buffers; its range was checked when they were filled.
bool zf_lower_pulled_here(const zf_lower_env *env, const zf_expr *access);
/// True when `expr` is the index that the environment stands at.
bool zf_lower_is_index(const zf_lower_env *env, const zf_expr *expr);

// ---- Strips (host_strip.c) ----

/// 64 consecutive indices from v_start, a multiple of 64. Bits that lie at constant distances are unpacked for all of them at
/// once, by vectors with constant shuffles and shifts, into a buffer that the loops over the strip read: that is what makes any
/// expression over them vectorise.
struct zf_strip {
    LLVMValueRef v_start;
    LLVMValueRef v_k;           ///< 0..64, in the loop that is being built
    LLVMBasicBlockRef bb_stage; ///< runs before those loops; open while they are built
    bool unpacks;               ///< false: bits are read one by one
    LLVMBasicBlockRef bb_loops; ///< where the stage goes on to
    struct zf_staged *staged;
    LLVMBasicBlockRef bb_first_ahead,
        bb_ahead; ///< NULL, or they run between the stage and those loops; the last is open likewise
    struct zf_looked_up *looked_up;
    struct zf_walk *walk; ///< not NULL: elements at g come from the buffers of host_groups.c
};

/// Starts a strip: branches to a new stage block, and continues in a block that follows it.
zf_strip zf_strip_begin(zf_lower *lower, LLVMValueRef v_start, bool unpacks);
void zf_strip_end(zf_lower *lower, zf_strip *strip); ///< closes the stage
/// Goes to where loops stand that run ahead of the strip's own; keep where they end in strip->bb_ahead.
void zf_strip_ahead(zf_cg *cg, zf_strip *strip);
/// The element of an access whose index is another than the strip's, made for all of the strip ahead; false: not of this kind
/// (host_lookup.c).
bool zf_lower_look_up(zf_cg *cg, zf_cg_env *env, const zf_expr *access, zf_cg_value *out);
/// The bits of an access for element v_k, if they can be unpacked by vectors: at = index * stride + from, `count` of them.
LLVMValueRef zf_strip_bits(zf_lower *lower, zf_strip *strip, uint32_t edge, uint64_t stride, uint64_t from, uint64_t count);
/// Is `expr` index * stride + from with both known?
bool zf_lower_affine(const zf_lower_env *env, const zf_expr *expr, uint64_t *stride, uint64_t *from);
/// The param p of which `expr` is index * p and `count` p itself; NULL where they are not.
const zf_port *zf_lower_scaled(const zf_lower_env *env, const zf_expr *expr, const zf_expr *count);

// ---- Scans (kernel_scan.c) ----

/// A scan along a level: its accumulator is the reduction over all indices below the position.
struct zf_running {
    uint32_t node;
    const zf_reduce *reduce;
    zf_type type;
    uint32_t level;
    int32_t field;         ///< of the tree, or -1: starts from nothing in every tile
    LLVMValueRef v_acc;    ///< slot: accumulator
    LLVMValueRef v_values; ///< buffer: the scan's value at each element of a strip
    LLVMValueRef v_now;    ///< slot: its value at the element being made, outside strips
    bool along_groups;     ///< its index is g of its node, not i
    /// Not NULL: of a lane's elements the one that is being made knows where the element is that this sum is the index of
    /// (simt_counted.c).
    const struct zf_simt_counted *counted;
};
zf_running *zf_lower_scan_find(zf_lower *lower, uint32_t node, const zf_reduce *reduce);
/// Fills the buffers of the scans along the kernel's outputs for a strip of 64, none of which is the last one; accumulators go
/// on.
void zf_lower_scans_strip(zf_lower *lower, zf_strip *strip);
/// Makes a scan's value at index `v_index`; then, when all was made there, goes on behind it, unless it is the last of `v_count`.
void zf_lower_scan_value(zf_lower *lower, zf_running *running, LLVMValueRef v_index);
void zf_lower_scan_next(zf_lower *lower, zf_running *running, LLVMValueRef v_index, LLVMValueRef v_count);
/// What the state of a scan is at position `v_index`, as a word.
LLVMValueRef zf_lower_scan_state(zf_lower *lower, const zf_running *running, LLVMValueRef v_index);

// ---- Levels (kernel_levels.c) ----

/// Where a tile ends in a node's groups, as the file says, which is checked there: groups beyond are not this tile's. So no group
/// is looked at by two tiles for nothing, whatever the file says. Where it says nothing (the last tile, a recording): behind all
/// groups.
typedef struct zf_lower_end {
    LLVMValueRef v_last;   ///< the group in which it ends
    LLVMValueRef v_end;    ///< behind those that it enters
    LLVMValueRef v_inside; ///< i1: v_last is entered
} zf_lower_end;
/// The last group is entered where the tile ends inside it or, with `v_inside` (i1), where its first element is the one in which
/// the consumer ends.
zf_lower_end zf_lower_tile_end(zf_lower *lower, uint32_t field_g, uint32_t field_o, LLVMValueRef v_tile, LLVMValueRef v_groups,
                               LLVMValueRef v_inside);

/// A group algorithm whose elements are made one by one along a level. Slots:
struct zf_expansion {
    uint32_t node, level, groups;  ///< the level of its elements, that of its groups
    int32_t field_g, field_o;      ///< of the tree
    LLVMValueRef v_count;          ///< its elements, and its groups (values, not slots)
    LLVMValueRef v_groups;         ///<
    LLVMValueRef v_g, v_o, v_size; ///< where it stands
    LLVMValueRef v_loaded;         ///< i1: what group g pulls, and its size, are known
    zf_lower_end end;              ///< where the tile must end (values)
    LLVMValueRef v_stored;         ///< the group in which the file says that the tile begins; UINT64_MAX: it says nothing
    LLVMValueRef v_value, v_valid; ///< the element: of a string where its bytes are
    LLVMValueRef v_length;         ///< of a string; else NULL
};

/// Makes slots for scans and expansions. Before the loop over tiles.
void zf_lower_levels_make(zf_lower *lower);
/// Slots for scans alone.
void zf_lower_runnings_make(zf_lower *lower);
/// Whether anything runs along a level.
bool zf_lower_level_has_steps(const zf_lower *lower, uint32_t level);
/// The state at the beginning of a tile. `v_root_inside` (i1): where the root is walked by groups, that the file says that the
/// tile ends inside a group; else NULL.
void zf_lower_levels_start(zf_lower *lower, LLVMValueRef v_tile, LLVMValueRef v_root_inside);
/// Brings the expansions along a level to the group that holds the next element, behind all groups that are done. A level's state
/// is the file's when it has settled.
void zf_lower_level_settle(zf_lower *lower, uint32_t level);
/// Makes what runs along a level at `v_index`, in order; the level has settled there. Then goes on behind it.
void zf_lower_level_values(zf_lower *lower, uint32_t level, LLVMValueRef v_index);
void zf_lower_level_next(zf_lower *lower, uint32_t level, LLVMValueRef v_index);
/// At a tile's end, at element v_i and (where the root is walked by groups) group v_g; all levels have settled.
void zf_lower_levels_end(zf_lower *lower, LLVMValueRef v_tile, LLVMValueRef v_i, LLVMValueRef v_g);
/// The expansion of a node, or NULL; and the element that it stands at.
const zf_expansion *zf_lower_expansion_find(const zf_lower *lower, uint32_t node);
zf_cg_value zf_lower_expansion_value(zf_lower *lower, const zf_expansion *expansion);

// ---- Storing (kernel_store.c) ----

/// Stores a value of the kernel's type as element `v_index` of an array at `v_at`; bool: as a byte.
void zf_lower_store(zf_lower *lower, zf_cg_value value, LLVMValueRef v_at, LLVMValueRef v_index);
/// The same for a value that is neither nullable nor a string, whatever the kernel's type has besides.
void zf_lower_store_element(zf_lower *lower, zf_cg_value value, LLVMValueRef v_at, LLVMValueRef v_index);
/// Stores bit `v_index` of the sink, when indices come one after the other; `v_byte` is a slot that holds the byte so far.
void zf_lower_store_bit(zf_lower *lower, zf_cg_value value, LLVMValueRef v_index, LLVMValueRef v_byte);
/// The same for a bit (i8) of any bitmap.
void zf_lower_append_bit(zf_lower *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bit, LLVMValueRef v_index, LLVMValueRef v_byte);
/// Packs the 64 bytes (0 or not) at `v_bytes` into the bits of the sink from `v_index`, a multiple of 64.
void zf_lower_store_strip_bits(zf_lower *lower, LLVMValueRef v_bytes, LLVMValueRef v_index);
/// The same for bits lo..hi, lo a multiple of 64; 63 bytes behind the last can be read.
void zf_lower_store_tile_bits(zf_lower *lower, LLVMValueRef v_bytes, LLVMValueRef v_lo, LLVMValueRef v_hi);
/// The same for a bitmap whose bit 0 is that of element 0.
void zf_lower_pack_bits(zf_lower *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bytes, LLVMValueRef v_lo, LLVMValueRef v_hi);
/// What is stored for a value as an element of `type`: of bool a byte.
LLVMValueRef zf_lower_memory_form(zf_lower *lower, zf_type type, zf_cg_value value);
/// True when the kernel stores its elements as bits, through the functions above. Nullable booleans are bits, too, but those are
/// seen to by zf_lower_store.
bool zf_lower_stores_bits(const zf_lower *lower);

// ---- Nullable values and strings (kernel_deliver.c): called by zf_lower_tiles_begin, zf_lower_store and zf_lower_tiles_end ----
void zf_lower_deliver_begin(zf_lower *lower, const zf_lower_tiles *tiles);
/// False where the type is delivered as its elements alone.
bool zf_lower_deliver(zf_lower *lower, zf_cg_value value, LLVMValueRef v_index);
void zf_lower_deliver_end(zf_lower *lower, const zf_lower_tiles *tiles);
/// Stores the elements of the column that element v_index of the kernel (below its count) holds, those that are wanted, one after
/// the other. What fails is reported here as the column's kernel would, or (lower->v_any) noted. (kernel_unpack.c)
void zf_lower_unpack(zf_lower *lower, zf_cg_value value, LLVMValueRef v_index);
/// Element v_index of the column, made of v_bits (i64) and of what else it takes.
zf_cg_value zf_lower_unpacked(zf_lower *lower, LLVMValueRef v_bits, LLVMValueRef v_index);
/// The bits of an element of the column.
uint32_t zf_lower_unpacked_width(const zf_lower *lower);
/// Whether a value is what the kernel stores; reports what it is not.
bool zf_lower_can_deliver(zf_lower *lower, const zf_cg_value *value);
/// Element `v_index` of a work buffer: a string as where its bytes are, and a byte that says whether there is a value.
LLVMValueRef zf_lower_text_address(zf_lower *lower, const zf_cg_value *value); ///< i64
void zf_lower_store_handle(zf_lower *lower, zf_cg_value value, LLVMValueRef v_index);
void zf_lower_store_valid_byte(zf_lower *lower, zf_cg_value value, LLVMValueRef v_index);
/// Bytes that are copied together on the host, of however few a string has: so many can be read behind any string. What is
/// written too much is written again.
enum { ZF_TEXT_STEP = 16 };
void zf_lower_copy_step(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from);
/// Copies `v_length` bytes, at most `v_room`, and writes at most that many: on the host by steps where those fit.
void zf_lower_copy_text(zf_lower *lower, LLVMValueRef v_to, LLVMValueRef v_from, LLVMValueRef v_length, LLVMValueRef v_room);
/// Where the validity of an edge in a work buffer lies: a byte for each element.
LLVMValueRef zf_lower_validity_pointer(zf_lower *lower, uint32_t edge);

#endif

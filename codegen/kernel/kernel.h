// Kernels from plans: what the lowerings of all targets share. One `zf_kernel_build` builds one kernel; its environments
// (zf_kernel_env) answer the questions of bodies. Loops over tiles are in codegen/host/, kernels of GPUs in codegen/simt/.
//
// Values that hold for a whole block (params, counts, pointers) are made in the function's first block, which stays open until
// the end, when they are first needed.
#ifndef ZF_CODEGEN_KERNEL_H
#define ZF_CODEGEN_KERNEL_H

#include "codegen/body/cg_fault_sites.h"
#include "codegen/target/codegen_target.h"
#include "patterns/plan/steps.h"

enum {
    ZF_STRIP = 64,      ///< elements or groups that are worked on together: 64 of any bit width are whole words, for bool too
    ZF_READ_AHEAD = 16, ///< bytes that can be read behind any stream and work buffer
    ZF_HANDLE_BYTES = ZF_ABI_HANDLE_BYTES, ///< of a string in a work buffer: where its bytes are, and how many (on accelerators:
                                           ///< simt_handles.h)
    ZF_NO_FAILURE = 0xffff,                ///< of the failure slot: no check failed
};

typedef struct zf_kernel_env zf_kernel_env;
typedef struct zf_running zf_running;
typedef struct zf_expansion zf_expansion;
struct zf_chunk;
struct zf_chunk_region;

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

/// The input of a plan's code.
struct zf_kernel_input {
    const zf_plan *plan;
    const uint64_t *shaping; ///< values in the order of plan->shaping; NULL: the general form
};

/// Functions that each family of targets (host/, simt/) implements.
typedef struct zf_kernel_ops {
    /// Makes the environment of a body; zf_lower_env_common has what all have alike.
    zf_kernel_env (*env)(zf_kernel_build *lower, uint32_t node);
    /// Loads the string whose handle lies at v_at, in the work buffer of an edge.
    void (*string_load)(zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_at, zf_cg_seq *out);
    /// Stores the handle of v_length bytes at an address (i64).
    void (*string_store)(zf_kernel_build *lower, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_at);
    /// Makes the elements of a region over one binder that one thread makes, whose room was checked, with the checks of its term
    /// (kernel_chunks.h). False: nothing was emitted, and they are made one by one. NULL: never.
    bool (*region)(struct zf_chunk_region *region);
    /// Makes the row of lanes from element v_from (i64) of a chunk on, or branches to bb_singly before it changed anything, for
    /// the row to be made one lane after the other. False: nothing was emitted. NULL: never.
    bool (*row)(struct zf_chunk *chunk, LLVMValueRef v_from, LLVMBasicBlockRef bb_singly);
} zf_kernel_ops;

/// A kernel that is being built: what all targets have.
struct zf_kernel_build {
    zf_cg *cg;
    const zf_kernel_input *input;
    const zf_plan *plan;
    const zf_graph *graph;
    const zf_kernel *kernel;
    const zf_kernel_ops *ops;
    struct zf_host_state *host; ///< of loops over tiles (host.h); NULL on GPUs
    struct zf_simt_state *simt; ///< of kernels of GPUs (simt.h); NULL on the host
    LLVMValueRef v_body;        ///< the function with the arguments below
    LLVMBasicBlockRef bb_setup;
    LLVMValueRef v_base, v_slots, v_validity, v_record, v_failure, v_tiles, v_mode, v_begin, v_end; ///< arguments
    LLVMValueRef v_offsets, v_offset_base, v_byte_begin, v_byte_end;                                ///< arguments, for strings
    LLVMValueRef v_place_begin, v_place_end; ///< outputs of uneven chunks are placed in between; NULL: anywhere in the block
    LLVMValueRef *v_works;
    LLVMValueRef *v_words;               ///< descriptor words loaded so far, by slot
    LLVMValueRef *v_nonempty;            ///< per node: whether its output has elements
    LLVMValueRef v_block;                ///< number of the block in its unit (i64), which failures name; NULL: there is one
    LLVMValueRef v_row_begin, v_row_end; ///< only elements in between are stored at v_sink; NULL: all
    uint32_t noted;                      ///< failures that may be noted so far
    LLVMValueRef v_fail;                 ///< slot (i32): smallest number of a check that failed, or ZF_NO_FAILURE
    LLVMValueRef v_any;                  ///< slot (i1): one failed, where only that is noted; NULL: v_fail is what counts
    zf_type type;                        ///< of what the kernel stores
    LLVMValueRef v_sink;                 ///< where element 0 goes; may lie outside any object: zf_cg_at_sink
    zf_delivery delivery;                ///< of values that are more than their elements (kernel_deliver.c)
    zf_running *runnings;                ///< the kernel's scans, in the order of its steps
    uint32_t running_count;
    zf_expansion *expansions; ///< its groups, but for a root that is walked group by group (host_groups.c)
    uint32_t expansion_count;
    LLVMValueRef v_groups;  ///< of the root, where it is walked group by group
    struct zf_chunk *chunk; ///< that is being walked (kernel_chunks.h): a check that fails leaves it; NULL: failures are noted
    bool one_by_one;        ///< one thread walks a tile, element by element: no strips
    LLVMValueRef
        v_is_leader; ///< i1: a warp walks the tile, and this thread stores and reports for it; NULL: a thread walks it alone
    /// Several warps make a tile: returns what v (i1), which they see at different times, is for the first of them. NULL: one
    /// does.
    LLVMValueRef (*agree)(zf_kernel_build *lower, LLVMValueRef v);
    uint32_t unpacks;        ///< elements of the column that an element holds, which are stored in its place; 0: it is stored
    LLVMValueRef v_unpacked; ///< i64: the bits of the one that is being made of it
};

/// The surroundings of one body. Indices are u64.
struct zf_kernel_env {
    zf_cg_env env; ///< first
    zf_kernel_build *lower;
    uint32_t node;
    LLVMValueRef v_i, v_g, v_j;
    const zf_local *binder;      ///< of a scan's term: stands for the index
    LLVMValueRef v_counts;       ///< i1 under which failed checks count; NULL: always
    bool uses_i, uses_g, uses_j; ///< which indices were asked for
    LLVMValueRef v_alive;   ///< i1, false: the index was made up and stands for nothing, so only index 0 may be read; NULL: true
    struct zf_strip *strip; ///< of the host, not NULL: the index (v_g of a group body, else v_i) is element strip->v_k of it
    struct {
        const struct zf_simt_position *position; ///< not NULL: where in the tile's stages the index stands (simt_tree.h)
        const struct zf_simt_relative *relative; ///< not NULL: the index is near one that is known for the tile (simt.h)
        struct zf_simt_lanes *lanes;             ///< not NULL: the index is element lane_k of these (simt.h)
        unsigned lane_k;
        struct zf_simt_neighbour_bits
            *places; ///< not NULL: bits at places that data say may be a neighbour's (simt_neighbour_bits.h)
    } simt;          ///< of kernels of GPUs
};

void zf_lower_kernel_name(uint32_t index, char name[24]);

// ---- Functions (kernel_build.c) ----
void zf_lower_init(zf_kernel_build *lower, zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel);

// ---- Block-wide values (kernel_build.c) ----
LLVMBasicBlockRef zf_lower_setup_begin(zf_kernel_build *lower); ///< goes to the open first block; give the result back to end
void zf_lower_setup_end(zf_kernel_build *lower, LLVMBasicBlockRef bb_before);
LLVMValueRef zf_lower_word(zf_kernel_build *lower, zf_abi_slot_kind kind, uint32_t a, uint32_t b);
LLVMValueRef zf_lower_count(zf_kernel_build *lower, uint32_t edge);
/// Chunks that a node's outputs are cut into (kernel_chunks.c).
LLVMValueRef zf_lower_chunk_count(zf_kernel_build *lower, uint32_t node);
/// The output with which a chunk of the kernel begins, whose chunks are uneven; the number of its outputs where there is no such
/// chunk.
LLVMValueRef zf_lower_chunk_start(zf_kernel_build *lower, LLVMValueRef v_chunk);
/// The known value of a param: given by the codec, or a shaping one. False in the general form.
bool zf_lower_param_known(const zf_kernel_build *lower, uint32_t node, const zf_port *port, uint64_t *bits);

/// Stores the value of field `field` of the kernel's tree at the beginning of tile `v_tile` in a slot of `type`: `v_initial` in
/// tile 0, else the file's; a recording leaves what the tile before put there.
void zf_lower_seek(zf_kernel_build *lower, uint32_t field, zf_type type, LLVMValueRef v_tile, LLVMValueRef v_initial,
                   LLVMValueRef v_slot);
/// The field of the kernel's tree that holds this of its root.
uint32_t zf_lower_root_field(const zf_kernel_build *lower, zf_seek_kind kind);
/// The field that holds this of a node (`reduce`: of a SCAN), or -1.
int32_t zf_lower_field(const zf_kernel_build *lower, zf_seek_kind kind, uint32_t node, uint32_t reduce);
/// Entry `v_entry` of a field: the state of tile v_entry + 1.
LLVMValueRef zf_lower_seek_entry(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_entry);
/// At the end of tile `v_tile`: where another follows, checks that the state in the file is `v_word` (a word), or records it. A
/// difference counts as the end check's failure.
void zf_lower_seek_end(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_tile, LLVMValueRef v_word);
LLVMValueRef zf_lower_is_recording(zf_kernel_build *lower);

/// Notes that check `number` failed where `v_bad` (i1).
void zf_lower_fail(zf_kernel_build *lower, LLVMValueRef v_bad, uint32_t number);
/// The same for a check that is not one of the language's, which come through zf_cg_check. `what` it is of: cg_fault_sites.h.
void zf_lower_check(zf_kernel_build *lower, LLVMValueRef v_bad, uint32_t number, const char *what);
/// Whether no failure was noted so far (i1).
LLVMValueRef zf_lower_none_failed(zf_kernel_build *lower);
/// The check of what a tile ends with. Where another failed, that one is the reason, and this one counts for nothing.
void zf_lower_check_end(zf_kernel_build *lower, LLVMValueRef v_bad, const char *what);
/// Whether row v_index, below v_end, is among those that are stored (i1).
LLVMValueRef zf_lower_row_wanted(zf_kernel_build *lower, LLVMValueRef v_index, LLVMValueRef v_end);
/// Reports the noted failure, if any, at position `v_position`.
void zf_lower_report(zf_kernel_build *lower, LLVMValueRef v_position);
void zf_lower_clear(zf_kernel_build *lower);
/// The loop over tiles: everything up to `zf_lower_tiles_end` is the body. A tile behind a failure that is already known is
/// skipped.
typedef struct zf_lower_tiles {
    zf_cg_loop loop;
    LLVMValueRef v_tile, v_lo, v_hi, v_count; ///< outputs lo..hi of count
} zf_lower_tiles;
void zf_lower_tiles_begin(zf_kernel_build *lower, zf_lower_tiles *tiles, uint32_t edge);
void zf_lower_tiles_end(zf_kernel_build *lower, zf_lower_tiles *tiles);

// ---- Environments (kernel_env.c) ----
/// The environment of a node's body, of the target's family.
zf_kernel_env zf_lower_env_make(zf_kernel_build *lower, uint32_t node);
/// The part of it that all families have: elements and bits are not in it.
zf_kernel_env zf_lower_env_common(zf_kernel_build *lower, uint32_t node);
/// Whether check V`violation` of `at` is proved, or was made once for the block.
bool zf_lower_is_hoisted(const zf_kernel_env *env, unsigned violation, zf_span span, const zf_expr *at);
/// Whether an access takes the environment's own index.
bool zf_lower_takes_own(const zf_kernel_env *env, const zf_expr *access);
/// Whether the groups of a body are as many as this stream has elements: it has one at every group's index.
bool zf_lower_along_groups(const zf_kernel_env *env, const zf_port *port);
/// Whether the access's index is the environment's own, and known to exist.
bool zf_lower_is_vouched(const zf_kernel_env *env, const zf_port *port, const zf_expr *access, bool hoisted);
/// The environment's own index.
LLVMValueRef zf_lower_own_index(const zf_kernel_env *env);
/// Index (or bit) 0 where the environment stands for nothing: then no hoisted check has vouched for any other.
LLVMValueRef zf_lower_tame(const zf_kernel_env *env, LLVMValueRef v_index);
/// The environment of what is inlined along an edge, at v_index; not vouched: an index that may have been substituted.
zf_kernel_env zf_lower_child_env(const zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_index, bool vouched);
/// Whether bits of a stream are at a place that a strip or lanes may know: *stride and *from, and their *count.
bool zf_lower_placed_bits(const zf_kernel_env *env, const zf_expr *access, uint64_t *stride, uint64_t *from, uint64_t *count);
/// Bits of an access, at most.
uint64_t zf_lower_most_bits(const zf_expr *access);
/// Loads bits of a stream that lies in memory.
LLVMValueRef zf_lower_load_bits(zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_at, LLVMValueRef v_count,
                                const zf_expr *access);
/// A reduction: a difference of prefix sums, or a scan's value. `value` gives the scan's where the family has it; false: it is
/// that of the element being made.
bool zf_lower_reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr,
                     bool (*value)(zf_kernel_env *env, zf_running *running, LLVMValueRef *v), zf_cg_value *out);
/// A pointer that is of the same type wherever it comes from.
LLVMValueRef zf_lower_generic_pointer(const zf_kernel_build *lower, LLVMValueRef v_pointer);
/// Element `v_index` of an edge that lies in memory: stored, or in a work buffer.
zf_cg_value zf_lower_load(zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_index);
LLVMValueRef zf_lower_pointer(zf_kernel_build *lower, uint32_t edge);
/// The edge that a port of a node takes.
const zf_graph_edge *zf_lower_edge(const zf_kernel_build *lower, uint32_t node, const zf_port *port);
bool zf_lower_in_memory(const zf_kernel_build *lower, uint32_t edge);
bool zf_lower_has_in_memory(const zf_plan *plan, uint32_t edge);
/// The check that the range of prefix sums makes: its number, -1 where the index is proved. False when neither is known.
bool zf_lower_prefix_check(const zf_kernel_build *lower, uint32_t node, const zf_reduce *reduce, int32_t *number);
/// True when `expr` is the index that the environment stands at.
bool zf_lower_is_index(const zf_kernel_env *env, const zf_expr *expr);
/// Is `expr` index * stride + from with both known?
bool zf_lower_affine(const zf_kernel_env *env, const zf_expr *expr, uint64_t *stride, uint64_t *from);
/// The param p of which `expr` is index * p and `count` p itself; NULL where they are not.
const zf_port *zf_lower_scaled(const zf_kernel_env *env, const zf_expr *expr, const zf_expr *count);

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
zf_running *zf_lower_scan_find(zf_kernel_build *lower, uint32_t node, const zf_reduce *reduce);
/// Makes a scan's value at index `v_index`; then, when all was made there, goes on behind it, unless it is the last of `v_count`.
void zf_lower_scan_value(zf_kernel_build *lower, zf_running *running, LLVMValueRef v_index);
void zf_lower_scan_next(zf_kernel_build *lower, zf_running *running, LLVMValueRef v_index, LLVMValueRef v_count);
/// Returns the state of a scan at position `v_index`, as a word.
LLVMValueRef zf_lower_scan_state(zf_kernel_build *lower, const zf_running *running, LLVMValueRef v_index);

// ---- Levels (kernel_levels.c) ----

/// The end of a tile in a node's groups, as the file gives it, where it is checked. Groups beyond belong to other tiles, so a
/// damaged file cannot make two tiles walk the same groups. Without a next state (the last tile, a recording) the end is behind
/// all groups.
typedef struct zf_lower_end {
    LLVMValueRef v_last;   ///< the group in which it ends
    LLVMValueRef v_end;    ///< behind those that it enters
    LLVMValueRef v_inside; ///< i1: v_last is entered
} zf_lower_end;
/// The last group is entered where the tile ends inside it or, with `v_inside` (i1), where its first element is the one in which
/// the consumer ends.
zf_lower_end zf_lower_tile_end(zf_kernel_build *lower, uint32_t field_g, uint32_t field_o, LLVMValueRef v_tile,
                               LLVMValueRef v_groups, LLVMValueRef v_inside);

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
void zf_lower_levels_make(zf_kernel_build *lower);
/// Slots for scans alone.
void zf_lower_runnings_make(zf_kernel_build *lower);
/// Whether anything runs along a level.
bool zf_lower_level_has_steps(const zf_kernel_build *lower, uint32_t level);
/// The state at the beginning of a tile. `v_root_inside` (i1): where the root is walked by groups, that the file says that the
/// tile ends inside a group; else NULL.
void zf_lower_levels_start(zf_kernel_build *lower, LLVMValueRef v_tile, LLVMValueRef v_root_inside);
/// Brings the expansions along a level to the group that holds the next element, behind all groups that are done. A level's state
/// is the file's when it has settled.
void zf_lower_level_settle(zf_kernel_build *lower, uint32_t level);
/// Makes what runs along a level at `v_index`, in order; the level has settled there. Then goes on behind it.
void zf_lower_level_values(zf_kernel_build *lower, uint32_t level, LLVMValueRef v_index);
void zf_lower_level_next(zf_kernel_build *lower, uint32_t level, LLVMValueRef v_index);
/// At a tile's end, at element v_i and (where the root is walked by groups) group v_g; all levels have settled.
void zf_lower_levels_end(zf_kernel_build *lower, LLVMValueRef v_tile, LLVMValueRef v_i, LLVMValueRef v_g);
/// The expansion of a node, or NULL; and the element that it stands at.
const zf_expansion *zf_lower_expansion_find(const zf_kernel_build *lower, uint32_t node);
zf_cg_value zf_lower_expansion_value(zf_kernel_build *lower, const zf_expansion *expansion);

// ---- Storing (kernel_store.c) ----

/// Stores a value of the kernel's type as element `v_index` of an array at `v_at`; bool: as a byte.
void zf_lower_store(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_at, LLVMValueRef v_index);
/// The same for a value that is neither nullable nor a string, whatever the kernel's type has besides.
void zf_lower_store_element(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_at, LLVMValueRef v_index);
/// Stores bit `v_index` of the sink, when indices come one after the other; `v_byte` is a slot that holds the byte so far.
void zf_lower_store_bit(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index, LLVMValueRef v_byte);
/// The same for a bit (i8) of any bitmap.
void zf_lower_append_bit(zf_kernel_build *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bit, LLVMValueRef v_index,
                         LLVMValueRef v_byte);
/// Packs the 64 bytes (0 or not) at `v_bytes` into the bits of the sink from `v_index`, a multiple of 64.
void zf_lower_store_strip_bits(zf_kernel_build *lower, LLVMValueRef v_bytes, LLVMValueRef v_index);
/// The same for bits lo..hi, lo a multiple of 64; 63 bytes behind the last can be read.
void zf_lower_store_tile_bits(zf_kernel_build *lower, LLVMValueRef v_bytes, LLVMValueRef v_lo, LLVMValueRef v_hi);
/// The same for a bitmap whose bit 0 is that of element 0.
void zf_lower_pack_bits(zf_kernel_build *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bytes, LLVMValueRef v_lo,
                        LLVMValueRef v_hi);
/// Returns the stored form of a value as an element of `type`: of bool a byte.
LLVMValueRef zf_lower_memory_form(zf_kernel_build *lower, zf_type type, zf_cg_value value);
/// True when the kernel stores its elements as bits, through the functions above. Nullable booleans are bits, too, but those are
/// seen to by zf_lower_store.
bool zf_lower_stores_bits(const zf_kernel_build *lower);

// ---- Nullable values and strings (kernel_deliver.c): called by zf_lower_tiles_begin, zf_lower_store and zf_lower_tiles_end ----
void zf_lower_deliver_begin(zf_kernel_build *lower, const zf_lower_tiles *tiles);
/// False where the type is delivered as its elements alone.
bool zf_lower_deliver(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index);
void zf_lower_deliver_end(zf_kernel_build *lower, const zf_lower_tiles *tiles);
/// Stores the requested elements of the column that element v_index of the kernel (below its count) holds, one after the other.
/// A failure is reported here as the column's kernel would report it, or (lower->v_any) noted. (kernel_unpack.c)
void zf_lower_unpack(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index);
/// Element v_index of the column, made of v_bits (i64) and of what else it takes.
zf_cg_value zf_lower_unpacked(zf_kernel_build *lower, LLVMValueRef v_bits, LLVMValueRef v_index);
/// The bits of an element of the column.
uint32_t zf_lower_unpacked_width(const zf_kernel_build *lower);
/// Whether a value is what the kernel stores; reports what it is not.
bool zf_lower_can_deliver(zf_kernel_build *lower, const zf_cg_value *value);
/// Element `v_index` of a work buffer: a string as where its bytes are, and a byte that says whether there is a value.
LLVMValueRef zf_lower_text_address(zf_kernel_build *lower, const zf_cg_value *value); ///< i64
void zf_lower_store_handle(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index);
void zf_lower_store_valid_byte(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index);
/// Bytes that the host copies together, however few a string has: so many can be read behind any string. Later strings
/// overwrite the excess.
enum { ZF_TEXT_STEP = 16 };
void zf_lower_copy_step(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from);
/// Copies `v_length` bytes, at most `v_room`, and writes at most that many: on the host by steps where those fit.
void zf_lower_copy_text(zf_kernel_build *lower, LLVMValueRef v_to, LLVMValueRef v_from, LLVMValueRef v_length,
                        LLVMValueRef v_room);
/// Where the validity of an edge in a work buffer lies: a byte for each element.
LLVMValueRef zf_lower_validity_pointer(zf_kernel_build *lower, uint32_t edge);

#endif

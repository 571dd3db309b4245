// The interface between the parts of the planner. Not for other directories.
#ifndef ZF_PATTERNS_PLAN_INTERNAL_H
#define ZF_PATTERNS_PLAN_INTERNAL_H

#include "patterns/plan/check_sites.h"
#include "patterns/plan/plan.h"

enum {
    ZF_SEEK_INTERVAL_DEFAULT = 4096,
    ZF_SEEK_INTERVAL_SCAN = 1024,
    ZF_SEEK_INTERVAL_SCAN_WIDE = 512, ///< of eight-byte elements that are not nullable, over Fully-Parallel algorithms alone
    ZF_SEEK_INTERVAL_LEAST = 256,
    ZF_SEEK_INTERVAL_MOST = 65536,
    ZF_SEEK_STATE_BYTES = 256,        ///< most of a tree's fields (ZF0803)
    ZF_LOCAL_ARRAY_BYTES = 64 * 1024, ///< most of one instance's local arrays (ZF0802)
    ZF_CHECK_LIMIT = 1 << 13,         ///< checks of a plan; a number has 16 bits in the failure word, and lookups are linear
};

/// The sites of every node's instance, by node; instances are walked once.
zf_sites *zf_plan_sites(zf_arena *arena, const zf_graph *graph);

/// Fills checks, hoisted and every kernel's end_check. `sites` as zf_plan_sites made them.
bool zf_plan_add_checks(zf_plan *plan, const zf_sites *sites, zf_diags *diags);

/// Whether what an instance yields depends on what came before: a group or a scan.
bool zf_keeps_state(const zf_inst *inst);

/// Fills steps and level_count of a kernel, whose nodes are known. `sites` by node. (levels.c)
void zf_kernel_make_steps(const zf_plan *plan, const zf_sites *sites, zf_kernel *kernel);

/// The fields of the state that a kernel with tiles of `interval` outputs keeps, in the order of its nodes, in the plan's arena.
uint32_t zf_kernel_seek_fields(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, uint32_t interval,
                               zf_seek_field **fields);
/// Bytes that the fields of one node take, at most.
uint32_t zf_node_seek_bytes(const zf_graph_node *node, const zf_sites *sites);

/// Fields of the directory that a non_parallel node keeps, in the plan's arena: one for each `per chunk` stream whose chunks may
/// have any length; of an uneven one the outputs' begins, and two for each such stream. (plan_chunks.c)
uint32_t zf_chunk_fields(const zf_plan *plan, uint32_t node, bool uneven, zf_seek_field **fields);
/// Outputs of a tile of a non_parallel node: a chunk, or so many that tiles of booleans share no byte. Uneven: the most.
uint32_t zf_chunk_tile(const zf_graph *graph, uint32_t node, bool uneven);
/// Whether the lanes of a warp can share what a non_parallel node emits: it has none of its own, and its elements share no byte.
bool zf_chunk_can_be_shared(const zf_graph_node *node);
/// Whether a warp should walk its chunks: some `emit` over a range may make more than a few elements. A program that emits one by
/// one would leave 31 of 32 lanes without work, and so may an `emit` over two ranges; a scan along one every lane makes for
/// itself.
bool zf_chunk_emits_ranges(const zf_graph_node *node);
/// Why its kernel has by_warp as it has.
const char *zf_chunk_walk_reason(const zf_graph_node *node, bool by_warp);
/// Whether a kernel's tiles are as long as the seek interval, whatever its geometry. (plan.c)
bool zf_kernel_is_ordered(const zf_plan *plan, const zf_kernel *kernel);
/// Whether strings may be slices of this edge's elements, which must lie in memory for that.
bool zf_edge_gives_strings(const zf_graph_edge *edge);
/// Whether a node makes a column of strings: its tiles follow each other in the column's bytes, so it keeps where they begin.
bool zf_delivers_strings(const zf_graph *graph, uint32_t node);

/// Returns the expression behind names, calls of functions without statements, and casts that keep unsigned values.
/// (characters.c)
const zf_expr *zf_expr_meant(const zf_expr *e);
/// Where a row begins in `*characters`, a stream of which the rows of an instance are consecutive slices, from its first byte on;
/// NULL for other instances. (characters.c)
const zf_reduce *zf_characters_start(const zf_inst *inst, const zf_port **characters);
/// Marks the work buffer that holds the column's characters, if there is one.
void zf_plan_find_characters(zf_plan *plan);
/// Whether the kernel of a work buffer may store characters into the column. Accelerators give a place to those alone that are
/// wanted and that the block says it has, so a kernel that reads what it stored needs a buffer. On a CPU it has one wherever
/// that is not all.
bool zf_plan_can_place(const zf_plan *plan, uint32_t work);

/// Returns the value of zf_work.packed for a buffer, once the plan's checks are known. (unpacking.c)
const zf_port *zf_work_packs(const zf_plan *plan, uint32_t work);
/// Marks the work buffer whose elements hold the column's, if there is one.
void zf_plan_find_packed(zf_plan *plan);

/// Returns the value of zf_work.short_strings for a buffer, once kernels are known. (group_bytes.c)
bool zf_work_has_short_strings(const zf_plan *plan, uint32_t work);
void zf_plan_find_short_strings(zf_plan *plan);

/// The input edge of `node` over whose elements the prefix sums of a reduction run: the one stream that its term takes at the
/// binder. -1 when there is no such stream, or more than one.
int32_t zf_prefix_edge(const zf_graph_node *node, const zf_reduce *prefix);

#endif

// What the parts of the planner share. Not for other directories.
#ifndef ZF_SCHEDULER_PLAN_INTERNAL_H
#define ZF_SCHEDULER_PLAN_INTERNAL_H

#include "scheduler/plan.h"
#include "scheduler/sites.h"

enum {
    ZF_SEEK_INTERVAL_DEFAULT = 4096,
    ZF_SEEK_INTERVAL_SCAN = 1024,
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

/// Fields of the state that a node keeps as the root of a kernel with tiles of `interval` outputs. Returns their number;
/// `fields` may be NULL to count only.
uint32_t zf_seek_fields_of(const zf_graph *graph, const zf_sites *sites, uint32_t node, uint32_t interval, zf_seek_field *fields);

/// Fields of the directory that a non_parallel node keeps, in the plan's arena: one for each `per chunk` stream whose chunks may
/// have any length. (plan_chunks.c)
uint32_t zf_chunk_fields(const zf_plan *plan, uint32_t node, zf_seek_field **fields);
/// Outputs of a tile of a non_parallel node: a chunk, or so many that tiles of booleans share no byte.
uint32_t zf_chunk_tile(const zf_graph *graph, uint32_t node);
/// Whether strings may be slices of this edge's elements, which must lie in memory for that.
bool zf_edge_gives_strings(const zf_graph_edge *edge);
/// Whether a node makes a column of strings: its tiles follow each other in the column's bytes, so it keeps where they begin.
bool zf_delivers_strings(const zf_graph *graph, uint32_t node);

/// The input edge of `node` over whose elements the prefix sums of a reduction run: the one stream that its term takes at the
/// binder. -1 when there is no such stream, or more than one.
int32_t zf_prefix_edge(const zf_graph_node *node, const zf_reduce *prefix);

#endif

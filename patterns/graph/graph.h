// The graph: a column's codec bound to its type, for one vector of branches. Nodes are algorithm instances, edges are typed
// streams; every edge has the access by which it is used and the capability of what produces it.
//
// Numbering, on which the file format stands too (docs/format.md): nodes, edges, stored streams and params are numbered in
// pre-order from the root: edge 0 is the column itself; the edges of a node follow by stream slot, a node's subtree before
// its next sibling. A node's params follow those of the nodes before it, given ones included.
#ifndef ZF_PATTERNS_GRAPH_H
#define ZF_PATTERNS_GRAPH_H

#include "frontend/spec/spec.h"

/// How the stream of a node (or a buffer) can be accessed: language.md section 5.
typedef enum zf_capability {
    ZF_CAP_RANDOM,  ///< any index, at no cost but its expression
    ZF_CAP_ORDERED, ///< from a state onwards
    ZF_CAP_CHUNKED, ///< chunk by chunk
} zf_capability;

/// The decision for an edge by the table of access and capability. The planner may materialise more, never less.
typedef enum zf_decision {
    ZF_EDGE_STORED,       ///< no producer: a buffer of the block
    ZF_EDGE_INLINED,      ///< an expression of the consumer's
    ZF_EDGE_FUSED,        ///< a step of the consumer's tile
    ZF_EDGE_MATERIALISED, ///< made by an earlier kernel
} zf_decision;

typedef struct zf_graph_edge {
    uint32_t index;
    const char *path;    ///< "" for edge 0, else "values", "values.counts"
    int32_t consumer;    ///< node, or -1 for edge 0
    const zf_port *port; ///< of the consumer; NULL for edge 0
    int32_t producer;    ///< node, or -1 when stored
    int32_t stored;      ///< number of the stored stream, or -1
    zf_type type;        ///< element
    zf_access access;    ///< how the consumer uses it (edge 0: ALIGNED_I)
    zf_capability capability;
    zf_decision decision;
    const char *reason; ///< one phrase for `explain`: "gathers from an ordered child"
} zf_graph_edge;

typedef struct zf_graph_node {
    uint32_t index;
    const zf_codec_node *codec;
    const zf_inst *inst;
    uint32_t output;      ///< edge that it produces
    uint32_t first_param; ///< number of its first param
    uint32_t *inputs;     ///< edge per stream slot
    zf_capability capability;
    const char *path; ///< the path of its output edge
} zf_graph_node;

typedef struct zf_graph {
    zf_arena *arena;
    const zf_column *column;
    const uint8_t *branches; ///< per choice of the column; those not reached are 0
    zf_graph_node *nodes;
    zf_graph_edge *edges;
    uint32_t *stored_edges; ///< edge by stored stream
    uint32_t node_count, edge_count, stored_count, param_count;
} zf_graph;

/// Binds a column for one vector of branches (`column->choice_count` bytes, NULL when there are none). The graph lives in
/// `arena`. NULL when a branch does not exist.
zf_graph *zf_graph_build(zf_arena *arena, const zf_column *column, const uint8_t *branches);

void zf_graph_print(const zf_graph *graph, zf_text *out);
/// Reads what `zf_graph_print` wrote, resolving algorithms in `spec`. NULL with a message on an error.
zf_graph *zf_graph_read(zf_arena *arena, zf_spec *spec, const char *text, zf_text *message);
/// Checks numbering, types and the decision table. False with a reason.
bool zf_graph_verify(const zf_graph *graph, zf_text *reason);

/// The node and slot of a param's number, and of the given value if the codec gives one.
const zf_port *zf_graph_param(const zf_graph *graph, uint32_t param, uint32_t *node);

#endif

// A block's tree of encoded nodes, numbered as in the graph: params, edges and stored streams in pre-order.
#ifndef ZF_COMPILER_ENCODE_FLAT_H
#define ZF_COMPILER_ENCODE_FLAT_H

#include "compiler/encode/encode_tree.h"
#include "runtime/container/container.h"

/// Where a stored stream comes from.
typedef struct zf_flat_stream {
    uint32_t node, slot; ///< the node's number, and the stream among the node's
    uint32_t edge;
} zf_flat_stream;

/// Streams are those of the tree, which must live as long, or in `made`.
typedef struct zf_encode_flat {
    uint8_t *branches;
    uint64_t *params, *counts; ///< per edge: elements
    zf_stream_data *streams;
    zf_flat_stream *origins;
    uint8_t **made; ///< by stored stream: memory for streams that differ from the tree's; NULL: none
    const zf_encode_node **nodes;
    uint32_t *first_params; ///< by node: number of its first param
    uint32_t param_count, edge_count, stream_count, node_count;
    bool no_memory;
} zf_encode_flat;

/// Numbers a tree. Free `*f` with zf_encode_flat_free, also after an error (ZF_ERR_MEMORY).
zf_status zf_encode_flatten(const zf_column *column, const zf_encode_node *tree, zf_encode_flat *f, zf_error *error);
void zf_encode_flat_free(zf_encode_flat *f);

#endif

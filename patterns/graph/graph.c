// Binding a column's codec, for one vector of branches, into nodes and edges numbered in pre-order.
#include "patterns/graph/decision.h"

enum {
    NODE_LIMIT = 4096, ///< nodes of one graph: named codecs that use each other twice grow exponentially
    DEPTH_LIMIT = 256, ///< nesting of codecs
};

/// The alternative that a vector of branches takes at a choice; NULL when there is no such alternative.
static const zf_codec_node *taken(const zf_codec_choice *choice, const uint8_t *branches) {
    uint32_t branch = choice->count > 1 && branches != NULL ? branches[choice->index] : 0;
    return branch < choice->count ? choice->alternatives[branch] : NULL;
}

/// Counts what the graph will hold. False when a branch does not exist or a limit is passed.
static bool measure(zf_graph *graph, const zf_codec_choice *choice, uint32_t depth) {
    const zf_codec_node *codec = taken(choice, graph->branches);
    if (codec == NULL || codec->inst == NULL || depth > DEPTH_LIMIT || graph->node_count == NODE_LIMIT) return false;
    graph->node_count++;
    graph->param_count += codec->inst->param_count;
    for (uint32_t s = 0; s < codec->inst->stream_count; s++) {
        graph->edge_count++;
        if (codec->streams[s] == NULL)
            graph->stored_count++;
        else if (!measure(graph, codec->streams[s], depth + 1))
            return false;
    }
    return true;
}

typedef struct binding {
    zf_graph *graph;
    uint32_t nodes, edges, stored, params; ///< numbers given so far
} binding;

static const char *child_path(zf_arena *arena, const char *path, const char *name) {
    return *path == '\0' ? name : zf_arena_printf(arena, "%s.%s", path, name);
}

/// Numbers the subtree that produces edge `output`.
static void bind(binding *b, const zf_codec_choice *choice, uint32_t output) {
    zf_graph *graph = b->graph;
    const zf_codec_node *codec = taken(choice, graph->branches);
    const zf_inst *inst = codec->inst;
    zf_graph_node *node = &graph->nodes[b->nodes];
    node->index = b->nodes++;
    node->codec = codec;
    node->inst = inst;
    node->output = output;
    node->path = graph->edges[output].path;
    node->first_param = b->params;
    node->inputs = ZF_NEW_ARRAY(graph->arena, uint32_t, inst->stream_count + 1);
    graph->edges[output].producer = (int32_t)node->index;
    b->params += inst->param_count;

    // A child's subtree is numbered before the next sibling's edge.
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        const zf_port *port = inst->streams[s];
        zf_graph_edge *edge = &graph->edges[b->edges];
        edge->index = b->edges++;
        edge->path = child_path(graph->arena, node->path, port->name);
        edge->consumer = (int32_t)node->index;
        edge->port = port;
        edge->producer = edge->stored = -1;
        edge->type = port->type;
        edge->access = port->access;
        edge->capability = ZF_CAP_RANDOM;
        node->inputs[s] = edge->index;
        if (codec->streams[s] != NULL) {
            bind(b, codec->streams[s], edge->index);
        } else {
            edge->stored = (int32_t)b->stored;
            graph->stored_edges[b->stored++] = edge->index;
        }
    }
    zf_decide_inputs(graph, node);
    graph->edges[output].capability = node->capability;
}

zf_graph *zf_graph_build(zf_arena *arena, const zf_column *column, const uint8_t *branches) {
    zf_graph *graph = ZF_NEW(arena, zf_graph);
    graph->arena = arena;
    graph->column = column;
    uint8_t *vector = ZF_NEW_ARRAY(arena, uint8_t, column->choice_count + 1);
    for (uint32_t c = 0; branches != NULL && c < column->choice_count; c++) vector[c] = branches[c];
    graph->branches = vector;
    graph->edge_count = 1;
    if (!measure(graph, column->codec, 0)) return NULL;

    graph->nodes = ZF_NEW_ARRAY(arena, zf_graph_node, graph->node_count);
    graph->edges = ZF_NEW_ARRAY(arena, zf_graph_edge, graph->edge_count);
    graph->stored_edges = ZF_NEW_ARRAY(arena, uint32_t, graph->stored_count + 1);
    zf_graph_edge *root = &graph->edges[0];
    root->path = "";
    root->consumer = root->stored = -1;
    root->type = column->type;
    root->access = ZF_ACCESS_ALIGNED_I;
    root->decision = ZF_EDGE_MATERIALISED;
    root->reason = "the column";

    binding b = {.graph = graph, .edges = 1};
    bind(&b, column->codec, 0);
    return graph;
}

const zf_port *zf_graph_param(const zf_graph *graph, uint32_t param, uint32_t *node) {
    // Nodes are numbered in the order of their first params: the last that begins at or before it.
    if (param >= graph->param_count) return NULL;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const zf_graph_node *owner = &graph->nodes[n];
        if (param < owner->first_param || param - owner->first_param >= owner->inst->param_count) continue;
        if (node != NULL) *node = n;
        return owner->inst->params[param - owner->first_param];
    }
    return NULL;
}

// Verifies the properties of a graph that every later stage relies on.
#include <string.h>

#include "patterns/graph/decision.h"
#include "patterns/graph/verifier.h"

/// Numbers that a pre-order walk has seen so far.
typedef struct numbering {
    uint32_t nodes, edges, stored, params;
} numbering;

static bool verify_node(const zf_graph *graph, uint32_t n, uint32_t output, numbering *seen, zf_text *reason);

static bool verify_input(const zf_graph *graph, const zf_graph_node *node, uint32_t slot, numbering *seen, zf_text *reason) {
    uint32_t e = node->inputs[slot];
    DEMAND(e == seen->edges && e < graph->edge_count, "node %u, stream %u: edge %u, but %u is next in pre-order", node->index,
           slot, e, seen->edges);
    seen->edges++;
    const zf_graph_edge *edge = &graph->edges[e];
    const zf_port *port = node->inst->streams[slot];
    DEMAND(edge->index == e, "edge %u says that it is edge %u", e, edge->index);
    DEMAND(edge->consumer == (int32_t)node->index, "edge %u is consumed by node %d, not %u", e, edge->consumer, node->index);
    DEMAND(edge->port == port, "edge %u belongs to another stream than `%s`", e, port->name);
    DEMAND(zf_type_equal(edge->type, port->type), "edge %u has another type than stream `%s`", e, port->name);
    DEMAND(edge->access == port->access, "edge %u: access %s, but the body's is %s", e, zf_access_name(edge->access),
           zf_access_name(port->access));
    size_t length = strlen(node->path);
    bool continues = strncmp(edge->path, node->path, length) == 0 && (length == 0 || edge->path[length] == '.');
    DEMAND(continues && strcmp(edge->path + length + (length > 0), port->name) == 0,
           "edge %u: path `%s` does not continue `%s` with `%s`", e, edge->path, node->path, port->name);
    if (edge->producer < 0) {
        DEMAND(edge->stored == (int32_t)seen->stored && seen->stored < graph->stored_count,
               "edge %u: stored stream %d, but %u is next in pre-order", e, edge->stored, seen->stored);
        DEMAND(graph->stored_edges[seen->stored] == e, "stored stream %u belongs to edge %u, not %u", seen->stored,
               graph->stored_edges[seen->stored], e);
        DEMAND(edge->capability == ZF_CAP_RANDOM, "edge %u is stored, but %s", e, zf_capability_name(edge->capability));
        seen->stored++;
        return true;
    }
    DEMAND(edge->stored < 0, "edge %u is both stored and produced", e);
    return verify_node(graph, (uint32_t)edge->producer, e, seen, reason);
}

static bool verify_node(const zf_graph *graph, uint32_t n, uint32_t output, numbering *seen, zf_text *reason) {
    DEMAND(n == seen->nodes && n < graph->node_count, "edge %u is produced by node %u, but %u is next in pre-order", output, n,
           seen->nodes);
    seen->nodes++;
    const zf_graph_node *node = &graph->nodes[n];
    const zf_inst *inst = node->inst;
    DEMAND(node->index == n, "node %u says that it is node %u", n, node->index);
    DEMAND(node->codec != NULL && node->codec->inst == inst, "node %u: another instance than its codec's", n);
    DEMAND(node->output == output, "node %u makes edge %u, not %u", n, node->output, output);
    DEMAND(node->first_param == seen->params || inst->param_count == 0, "node %u: first param %u, but %u is next", n,
           node->first_param, seen->params);
    seen->params += inst->param_count;
    DEMAND(zf_type_equal(inst->result, zf_type_strip(graph->edges[output].type)), "node %u: its result is not of edge %u's type",
           n, output);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (!verify_input(graph, node, s, seen, reason)) return false;
    }

    // The table again, on copies, so that the graph itself stays as it is.
    zf_graph_edge *edges = ZF_NEW_ARRAY(graph->arena, zf_graph_edge, inst->stream_count + 1);
    uint32_t *inputs = ZF_NEW_ARRAY(graph->arena, uint32_t, inst->stream_count + 1);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        edges[s] = graph->edges[node->inputs[s]];
        inputs[s] = s;
    }
    zf_graph decided_graph = {.edges = edges};
    zf_graph_node decided = {.inst = inst, .inputs = inputs};
    zf_decide_inputs(&decided_graph, &decided);
    DEMAND(decided.capability == node->capability, "node %u is %s, but must be %s", n, zf_capability_name(node->capability),
           zf_capability_name(decided.capability));
    DEMAND(graph->edges[output].capability == node->capability, "edge %u is %s, but its producer %s", output,
           zf_capability_name(graph->edges[output].capability), zf_capability_name(node->capability));
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        zf_decision is = graph->edges[node->inputs[s]].decision;
        DEMAND(is == edges[s].decision, "edge %u is %s, but must be %s", node->inputs[s], zf_decision_name(is),
               zf_decision_name(edges[s].decision));
    }
    return true;
}

bool zf_graph_verify(const zf_graph *graph, zf_text *reason) {
    DEMAND(graph->node_count > 0 && graph->edge_count > 0, "a graph without nodes");
    const zf_graph_edge *root = &graph->edges[0];
    DEMAND(root->index == 0 && root->consumer == -1 && root->port == NULL && *root->path == '\0', "edge 0 is not the column");
    DEMAND(root->producer == 0, "edge 0 is not produced by node 0");
    DEMAND(root->stored < 0, "edge 0 is stored");
    DEMAND(zf_type_equal(root->type, graph->column->type), "edge 0 has another type than the column");
    DEMAND(root->access == ZF_ACCESS_ALIGNED_I && root->decision == ZF_EDGE_MATERIALISED, "edge 0 is not what the column is");
    numbering seen = {.edges = 1};
    if (!verify_node(graph, 0, 0, &seen, reason)) return false;
    DEMAND(seen.nodes == graph->node_count, "%u nodes, but %u can be reached", graph->node_count, seen.nodes);
    DEMAND(seen.edges == graph->edge_count, "%u edges, but %u can be reached", graph->edge_count, seen.edges);
    DEMAND(seen.stored == graph->stored_count, "%u stored streams, but %u can be reached", graph->stored_count, seen.stored);
    DEMAND(seen.params == graph->param_count, "%u params, but the nodes have %u", graph->param_count, seen.params);
    return true;
}

// Numbering: nodes, edges, stored streams and params of a column under one vector of branches, in pre-order (as in
// patterns/graph/graph.h, but found here again: the oracle does not lean on what it judges).
#include <string.h>

#include "tests/interp/interp_internal.h"

enum { NODE_LIMIT = 1 << 16 };

// An edge that waits to be numbered; the last one on the stack comes next.
typedef struct pending {
    const zf_codec_choice *choice; // NULL: stored
    const char *path;
    zf_type type;
    uint32_t node, slot; // the consumer, to be told the edge's number
} pending;

typedef struct numbering {
    interp *in;
    interp_graph *graph;
    pending *stack;
    uint32_t depth, capacity;
} numbering;

static const char *join_path(interp *in, const char *path, const char *name) {
    return path[0] ? zf_arena_printf(in->arena, "%s.%s", path, name) : name;
}

static void *more(interp *in, void *old, size_t count, size_t size) {
    void *fresh = zf_arena_alloc(in->arena, 2 * count * size + 16 * size);
    if (count) memcpy(fresh, old, count * size);
    return fresh;
}

static bool is_full(uint32_t count) { return count == 0 || (count >= 16 && (count & (count - 1)) == 0); }

static uint32_t add_edge(numbering *n, const pending *edge) {
    interp_graph *graph = n->graph;
    uint32_t number = graph->edge_count++;
    if (is_full(number)) {
        graph->types = more(n->in, graph->types, number, sizeof *graph->types);
        graph->stored = more(n->in, graph->stored, number, sizeof *graph->stored);
        graph->paths = more(n->in, graph->paths, number, sizeof *graph->paths);
    }
    graph->types[number] = zf_type_strip(edge->type);
    graph->paths[number] = edge->path;
    graph->stored[number] = edge->choice ? -1 : (int32_t)graph->stored_count++;
    if (edge->node != UINT32_MAX) graph->nodes[edge->node].inputs[edge->slot] = number;
    return number;
}

static void push_pending(numbering *n, pending edge) {
    if (is_full(n->depth) || n->depth >= n->capacity) {
        n->stack = more(n->in, n->stack, n->depth, sizeof *n->stack);
        n->capacity = 2 * n->depth + 16;
    }
    n->stack[n->depth++] = edge;
}

static void add_node(numbering *n, const pending *edge, const zf_codec_node *codec, uint32_t output) {
    interp_graph *graph = n->graph;
    const zf_inst *inst = codec->inst;
    uint32_t number = graph->node_count++;
    if (number >= NODE_LIMIT) interp_stop(n->in, INTERP_LIMIT, "a codec with too many nodes");
    if (is_full(number)) graph->nodes = more(n->in, graph->nodes, number, sizeof *graph->nodes);
    graph->nodes[number] = (interp_node){.codec = codec, .path = edge->path, .edge = output, .first_param = graph->param_count};
    graph->nodes[number].inputs = ZF_NEW_ARRAY(n->in->arena, uint32_t, inst->stream_count + 1);
    graph->param_count += inst->param_count;
    for (uint32_t s = inst->stream_count; s-- > 0;) { // the first slot comes off the stack first
        push_pending(n, (pending){.choice = codec->streams[s],
                                  .path = join_path(n->in, edge->path, inst->streams[s]->name),
                                  .type = inst->streams[s]->type,
                                  .node = number,
                                  .slot = s});
    }
}

interp_graph *interp_graph_of(interp *in, const zf_codec_choice *choice, uint32_t root, zf_type type, const uint8_t *branches,
                              uint32_t branch_count) {
    numbering n = {.in = in, .graph = ZF_NEW(in->arena, interp_graph)};
    push_pending(&n, (pending){.choice = choice, .path = "", .type = type, .node = UINT32_MAX});
    bool first = true;
    while (n.depth > 0) {
        pending edge = n.stack[--n.depth];
        uint32_t output = add_edge(&n, &edge);
        if (!edge.choice) continue;
        uint32_t branch = 0;
        if (first)
            branch = root;
        else if (edge.choice->count > 1) {
            if (edge.choice->index >= branch_count) interp_stop(in, INTERP_MISUSE, "fewer branches than choices");
            branch = branches[edge.choice->index];
        }
        first = false;
        if (branch >= edge.choice->count) interp_stop(in, INTERP_MISUSE, "a branch that does not exist");
        add_node(&n, &edge, edge.choice->alternatives[branch], output);
    }
    return n.graph;
}

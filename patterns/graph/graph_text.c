// The graph as text, and back. A record a line:
//
//   graph "l_shipdate" date32 = dictionary(codes: bitpack)
//   branches []
//   node 0 "dictionary<i32>" makes 0 from [1 3], random
//   param 0 of node 1 "width" u8, shapes
//   edge 1 "codes" u32: node 1 to node 0, aligned i, random, inlined: an expression of its consumer
//   edge 2 "codes.packed" u32: stored 0 to node 1, gather, random, stored: stored in the block
#include <string.h>

#include "patterns/graph/decision.h"
#include "patterns/graph/reader.h"

static void print_list(zf_text *out, const uint32_t *numbers, uint32_t count) {
    zf_text_puts(out, "[");
    for (uint32_t k = 0; k < count; k++) zf_text_printf(out, "%s%u", k == 0 ? "" : " ", numbers[k]);
    zf_text_puts(out, "]");
}

void zf_graph_print(const zf_graph *graph, zf_text *out) {
    const zf_column *column = graph->column;
    zf_text_puts(out, "graph ");
    zf_text_json(out, column->name);
    zf_text_printf(out, " %s = %s\nbranches [", zf_type_name(graph->arena, column->type), column->codec_text);
    for (uint32_t c = 0; c < column->choice_count; c++) zf_text_printf(out, "%s%u", c == 0 ? "" : " ", graph->branches[c]);
    zf_text_puts(out, "]\n");

    for (uint32_t n = 0; n < graph->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        zf_text_printf(out, "node %u ", n);
        zf_text_json(out, node->inst->name);
        zf_text_printf(out, " makes %u from ", node->output);
        print_list(out, node->inputs, node->inst->stream_count);
        zf_text_printf(out, ", %s\n", zf_capability_name(node->capability));
        for (uint32_t p = 0; p < node->inst->param_count; p++) {
            const zf_port *port = node->inst->params[p];
            zf_text_printf(out, "param %u of node %u ", node->first_param + p, n);
            zf_text_json(out, port->name);
            zf_text_printf(out, " %s%s", zf_type_name(graph->arena, port->type), port->shapes ? ", shapes" : "");
            if (node->codec->param_given[p]) {
                zf_text_printf(out, ", given %llu", (unsigned long long)node->codec->param_bits[p]);
            }
            zf_text_puts(out, "\n");
        }
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const zf_graph_edge *edge = &graph->edges[e];
        zf_text_printf(out, "edge %u ", e);
        zf_text_json(out, edge->path);
        zf_text_printf(out, " %s: ", zf_type_name(graph->arena, edge->type));
        if (edge->producer >= 0)
            zf_text_printf(out, "node %d to ", edge->producer);
        else
            zf_text_printf(out, "stored %d to ", edge->stored);
        if (edge->consumer >= 0)
            zf_text_printf(out, "node %d", edge->consumer);
        else
            zf_text_puts(out, "column");
        zf_text_printf(out, ", %s, %s, %s: %s\n", zf_access_name(edge->access), zf_capability_name(edge->capability),
                       zf_decision_name(edge->decision), edge->reason);
    }
}

// ---- Reading ----

enum { BRANCH_LIMIT = 256 };

/// Reads a node's text; instance, codec and ports come from the codec.
static void read_node(zf_reader *r, zf_graph *graph, uint32_t n) {
    zf_graph_node *node = &graph->nodes[n];
    zf_reader_expect(r, "node");
    node->index = zf_reader_number(r, graph->node_count);
    const char *name = zf_reader_quoted(r);
    if (!r->failed && strcmp(name, node->inst->name) != 0) {
        zf_reader_fail(r, "node %u is %s here, but %s in its codec", n, name, node->inst->name);
    }
    zf_reader_expect(r, "makes");
    node->output = zf_reader_number(r, graph->edge_count);
    zf_reader_expect(r, "from");
    zf_reader_expect(r, "[");
    for (uint32_t s = 0; s < node->inst->stream_count; s++) node->inputs[s] = zf_reader_number(r, graph->edge_count);
    zf_reader_expect(r, "]");
    zf_reader_expect(r, ",");
    node->capability = zf_reader_choice(r, zf_capability_names, ZF_CAPABILITY_COUNT, "a capability");
    zf_reader_end_line(r);
    for (uint32_t p = 0; p < node->inst->param_count; p++) {
        const zf_port *port = node->inst->params[p];
        zf_reader_expect(r, "param");
        uint32_t number = zf_reader_number(r, graph->param_count);
        if (p == 0)
            node->first_param = number;
        else if (number != node->first_param + p)
            zf_reader_fail(r, "param %u out of order", number);
        zf_reader_expect(r, "of");
        zf_reader_expect(r, "node");
        if (zf_reader_number(r, graph->node_count) != n) zf_reader_fail(r, "a param of another node");
        if (strcmp(zf_reader_quoted(r), port->name) != 0) zf_reader_fail(r, "expected param `%s`", port->name);
        zf_type type = zf_reader_type(r);
        if (!r->failed && !zf_type_equal(type, port->type)) zf_reader_fail(r, "the type of `%s` is another", port->name);
        bool shapes = zf_reader_accept(r, ", shapes");
        bool given = zf_reader_accept(r, ", given");
        uint64_t bits = given ? zf_reader_u64(r) : 0;
        if (shapes != port->shapes || given != node->codec->param_given[p] || (given && bits != node->codec->param_bits[p])) {
            zf_reader_fail(r, "`%s` is not so in its codec", port->name);
        }
        zf_reader_end_line(r);
    }
}

static void read_edge(zf_reader *r, zf_graph *graph, uint32_t e) {
    zf_graph_edge *edge = &graph->edges[e];
    zf_reader_expect(r, "edge");
    edge->index = zf_reader_number(r, graph->edge_count);
    edge->path = zf_reader_quoted(r);
    edge->type = zf_reader_type(r);
    zf_reader_expect(r, ":");
    edge->producer = edge->stored = edge->consumer = -1;
    if (zf_reader_accept(r, "node")) {
        edge->producer = (int32_t)zf_reader_number(r, graph->node_count);
    } else {
        zf_reader_expect(r, "stored");
        edge->stored = (int32_t)zf_reader_number(r, graph->stored_count);
        if (!r->failed) graph->stored_edges[edge->stored] = e;
    }
    zf_reader_expect(r, "to");
    if (zf_reader_accept(r, "node"))
        edge->consumer = (int32_t)zf_reader_number(r, graph->node_count);
    else
        zf_reader_expect(r, "column");
    zf_reader_expect(r, ",");
    edge->access = zf_reader_choice(r, zf_access_names, ZF_ACCESS_COUNT, "an access");
    zf_reader_expect(r, ",");
    edge->capability = zf_reader_choice(r, zf_capability_names, ZF_CAPABILITY_COUNT, "a capability");
    zf_reader_expect(r, ",");
    edge->decision = zf_reader_choice(r, zf_decision_names, ZF_DECISION_COUNT, "a decision");
    zf_reader_expect(r, ":");
    edge->reason = zf_reader_rest(r);
    zf_reader_end_line(r);
}

zf_graph *zf_graph_read(zf_arena *arena, zf_spec *spec, const char *text, zf_text *message) {
    zf_reader reader, *r = &reader;
    zf_reader_init(r, arena, text, message);
    zf_reader_expect(r, "graph");
    const char *name = zf_reader_quoted(r);
    zf_type type = zf_reader_type(r);
    zf_reader_expect(r, "=");
    const char *codec = zf_reader_rest(r);
    zf_reader_end_line(r);
    zf_reader_expect(r, "branches");
    zf_reader_expect(r, "[");
    uint8_t branches[BRANCH_LIMIT];
    uint32_t branch_count = 0;
    while (!r->failed && !zf_reader_accept(r, "]")) {
        if (branch_count == BRANCH_LIMIT)
            zf_reader_fail(r, "more than %d branches", BRANCH_LIMIT);
        else
            branches[branch_count++] = (uint8_t)zf_reader_number(r, 256);
    }
    zf_reader_end_line(r);
    if (r->failed) return NULL;

    const zf_column *column = zf_spec_resolve_codec(spec, name, type, codec);
    if (column == NULL) {
        zf_reader_fail(r, "the codec `%s` cannot be resolved for %s", codec, zf_type_name(arena, type));
        return NULL;
    }
    if (column->choice_count != branch_count) {
        zf_reader_fail(r, "the codec has %u choices, the text %u branches", column->choice_count, branch_count);
        return NULL;
    }
    // The codec gives the structure to fill in; every field that later stages read comes from the text.
    zf_graph *graph = zf_graph_build(arena, column, branches);
    if (graph == NULL) {
        zf_reader_fail(r, "a branch that the codec does not have");
        return NULL;
    }
    for (uint32_t n = 0; n < graph->node_count && !r->failed; n++) read_node(r, graph, n);
    for (uint32_t e = 0; e < graph->edge_count && !r->failed; e++) read_edge(r, graph, e);
    if (!r->failed && !zf_reader_at_end(r)) zf_reader_fail(r, "text after the last edge");
    return r->failed ? NULL : graph;
}

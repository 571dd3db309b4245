// What is particular to kernels of chunks: their tiles and directories.
#include "scheduler/plan_internal.h"

uint32_t zf_chunk_fields(const zf_plan *plan, uint32_t node, zf_seek_field **fields) {
    const zf_inst *inst = plan->graph->nodes[node].inst;
    uint32_t count = 0;
    *fields = ZF_NEW_ARRAY(plan->arena, zf_seek_field, inst->stream_count + 1);
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (!inst->streams[s]->per_chunk || inst->streams[s]->fixed) continue;
        (*fields)[count++] = (zf_seek_field){.kind = ZF_SEEK_CHUNK, .node = node, .stream = s, .type = ZF_K_U64};
    }
    return count;
}

uint32_t zf_chunk_tile(const zf_graph *graph, uint32_t node) {
    const zf_graph_node *at = &graph->nodes[node];
    uint32_t chunk = (uint32_t)at->codec->chunk_size, tile = chunk;
    bool bits = graph->edges[at->output].type.kind == ZF_K_BOOL;
    while (bits && tile % 8 != 0) tile += chunk; // at most eight
    return tile;
}

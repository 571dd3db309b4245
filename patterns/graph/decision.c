// The edges that the three patterns allow. Capabilities follow from the pattern and the inputs; decisions are looked up, never
// computed.
#include "patterns/graph/decision.h"

const char *const zf_access_names[ZF_ACCESS_COUNT] = {"unused", "aligned i", "aligned g", "gather", "cursor"};
const char *const zf_capability_names[ZF_CAPABILITY_COUNT] = {"random", "ordered", "chunked"};
const char *const zf_decision_names[ZF_DECISION_COUNT] = {"stored", "inlined", "fused", "materialised"};

const char *zf_access_name(zf_access access) { return zf_access_names[access]; }
const char *zf_capability_name(zf_capability capability) { return zf_capability_names[capability]; }
const char *zf_decision_name(zf_decision decision) { return zf_decision_names[decision]; }

/// How a consumer reads elements: the rows of the table.
typedef enum demand {
    DEMAND_ALIGNED_MAP,  ///< aligned, from a map without (unbounded) reductions
    DEMAND_ALIGNED_STEP, ///< aligned, from a group or a scan
    DEMAND_GATHER,
    DEMAND_CURSOR,
    DEMAND_NEVER, ///< at most the stream's length is used
    DEMAND_COUNT
} demand;

/// When a cell's first decision holds; else its second one does.
typedef enum condition {
    ALWAYS,
    FIRST_CHUNKED, ///< the first chunked child of its consumer
    NEXT_ONLY,     ///< the cursor only uses `next` and `[ ]`
} condition;

typedef struct table_cell {
    condition when;
    zf_decision decision;
    const char *reason;
    zf_decision fallback;
    const char *fallback_reason;
} table_cell;

// Rows as in language.md; the last one says that what is never read need not be made.
static const table_cell table[DEMAND_COUNT][ZF_CAPABILITY_COUNT] =
    {
        [DEMAND_ALIGNED_MAP] =
            {
                [ZF_CAP_RANDOM] = {ALWAYS, ZF_EDGE_INLINED, "an expression of its consumer", 0, NULL},
                [ZF_CAP_ORDERED] = {ALWAYS, ZF_EDGE_FUSED, "ordered, and read in order: a step of the same tile", 0, NULL},
                [ZF_CAP_CHUNKED] = {FIRST_CHUNKED, ZF_EDGE_FUSED, "applied where the chunk emits", ZF_EDGE_MATERIALISED,
                                    "a second chunked child"},
            },
        [DEMAND_ALIGNED_STEP] =
            {
                [ZF_CAP_RANDOM] = {ALWAYS, ZF_EDGE_INLINED, "an expression of its consumer", 0, NULL},
                [ZF_CAP_ORDERED] = {ALWAYS, ZF_EDGE_FUSED, "ordered, and read in order: a step of the same tile", 0, NULL},
                [ZF_CAP_CHUNKED] = {ALWAYS, ZF_EDGE_MATERIALISED, "a group or a scan over a chunked child", 0, NULL},
            },
        [DEMAND_GATHER] =
            {
                [ZF_CAP_RANDOM] = {ALWAYS, ZF_EDGE_INLINED, "an expression of its consumer", 0, NULL},
                [ZF_CAP_ORDERED] = {ALWAYS, ZF_EDGE_MATERIALISED, "gathered from an ordered child", 0, NULL},
                [ZF_CAP_CHUNKED] = {ALWAYS, ZF_EDGE_MATERIALISED, "gathered from a chunked child", 0, NULL},
            },
        [DEMAND_CURSOR] =
            {
                [ZF_CAP_RANDOM] = {NEXT_ONLY, ZF_EDGE_INLINED, "an expression of its consumer", ZF_EDGE_MATERIALISED,
                                   "read through a cursor, by bytes or bits"},
                [ZF_CAP_ORDERED] = {ALWAYS, ZF_EDGE_MATERIALISED, "a cursor over an ordered child", 0, NULL},
                [ZF_CAP_CHUNKED] = {ALWAYS, ZF_EDGE_MATERIALISED, "a cursor over a chunked child", 0, NULL},
            },
        [DEMAND_NEVER] =
            {
                [ZF_CAP_RANDOM] = {ALWAYS, ZF_EDGE_INLINED, "its elements are never read", 0, NULL},
                [ZF_CAP_ORDERED] = {ALWAYS, ZF_EDGE_INLINED, "its elements are never read", 0, NULL},
                [ZF_CAP_CHUNKED] = {ALWAYS, ZF_EDGE_INLINED, "its elements are never read", 0, NULL},
            },
};

bool zf_inst_has_scan(const zf_inst *inst) {
    // `reduce_count` counts scans, segmented scans and prefix sums; unrolled reductions are plain expressions.
    return inst->decode.reduce_count + inst->size.reduce_count + inst->groups.reduce_count > 0;
}

static demand demand_of(const zf_inst *inst, zf_access access) {
    switch (access) {
    case ZF_ACCESS_NONE: return DEMAND_NEVER;
    case ZF_ACCESS_ALIGNED_I:
    case ZF_ACCESS_ALIGNED_G:
        if (inst->pattern == ZF_NON_PARALLEL) return DEMAND_GATHER; // a chunk's i is no index of the block
        return inst->pattern == ZF_GROUP_PARALLEL || zf_inst_has_scan(inst) ? DEMAND_ALIGNED_STEP : DEMAND_ALIGNED_MAP;
    case ZF_ACCESS_GATHER: return DEMAND_GATHER;
    case ZF_ACCESS_CURSOR: return DEMAND_CURSOR;
    }
    return DEMAND_GATHER;
}

void zf_decide_inputs(zf_graph *graph, zf_graph_node *node) {
    const zf_inst *inst = node->inst;
    bool chunked_seen = false, all_random = true;
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        zf_graph_edge *edge = &graph->edges[node->inputs[s]];
        if (edge->producer < 0) {
            edge->decision = ZF_EDGE_STORED;
            edge->reason = "stored in the block";
            continue;
        }
        const table_cell *cell = &table[demand_of(inst, edge->access)][edge->capability];
        bool holds = cell->when == ALWAYS || (cell->when == FIRST_CHUNKED && !chunked_seen) ||
                     (cell->when == NEXT_ONLY && edge->port->uses_next_only);
        edge->decision = holds ? cell->decision : cell->fallback;
        edge->reason = holds ? cell->reason : cell->fallback_reason;
        if (edge->capability == ZF_CAP_CHUNKED) chunked_seen = true;
        // The output of an earlier kernel is as good as stored; a fused step ties its consumer to the order.
        if (edge->decision == ZF_EDGE_FUSED) all_random = false;
    }
    node->capability = inst->pattern == ZF_NON_PARALLEL                                              ? ZF_CAP_CHUNKED
                       : inst->pattern == ZF_FULLY_PARALLEL && all_random && !zf_inst_has_scan(inst) ? ZF_CAP_RANDOM
                                                                                                     : ZF_CAP_ORDERED;
}

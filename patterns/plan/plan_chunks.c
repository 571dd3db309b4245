// Kernels of chunks: their tiles and directories, and which threads walk them.
#include "frontend/check/walk.h"
#include "patterns/plan/chunk_sums.h"
#include "patterns/plan/plan_internal.h"

uint32_t zf_chunk_fields(const zf_plan *plan, uint32_t node, bool uneven, zf_seek_field **fields) {
    const zf_inst *inst = plan->graph->nodes[node].inst;
    uint32_t count = 0;
    *fields = ZF_NEW_ARRAY(plan->arena, zf_seek_field, 2 * inst->stream_count + 1);
    if (uneven) (*fields)[count++] = (zf_seek_field){.kind = ZF_SEEK_OUTPUT, .node = node, .type = ZF_K_U64};
    for (uint32_t s = 0; s < inst->stream_count; s++) {
        if (!inst->streams[s]->per_chunk || inst->streams[s]->fixed) continue;
        (*fields)[count++] = (zf_seek_field){.kind = ZF_SEEK_CHUNK, .node = node, .stream = s, .type = ZF_K_U64};
        if (uneven) (*fields)[count++] = (zf_seek_field){.kind = ZF_SEEK_LENGTH, .node = node, .stream = s, .type = ZF_K_U64};
    }
    return count;
}

uint32_t zf_chunk_tile(const zf_graph *graph, uint32_t node, bool uneven) {
    const zf_graph_node *at = &graph->nodes[node];
    uint32_t chunk = (uint32_t)at->codec->chunk_size, tile = chunk;
    bool bits = graph->edges[at->output].type.kind == ZF_K_BOOL && !uneven; // which begin with a byte
    while (bits && tile % 8 != 0) tile += chunk;                            // at most eight
    return tile;
}

// ---- By a thread or by a warp -----------------------------------------------------------------------------------

enum { SHARED_ABOVE = 8 }; ///< elements of a range: a warp shares longer ones; in others most of its lanes would be idle

static bool see_scan(zf_visitor *visitor, zf_expr *expr) {
    bool *found = visitor->user;
    *found = *found || (expr->kind == ZF_X_REDUCE && expr->reduce->form == ZF_R_SCAN);
    return !*found;
}

// Values of a binder, at most.
static zf_int128 most_of(const zf_binder *binder) {
    zf_int128 most = binder->hi->range.hi - binder->lo->range.lo + (binder->inclusive ? 1 : 0);
    return most > 0 ? most : 0;
}

static bool see_region(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user, scans = false;
    zf_chunk_sum sum;
    *found = *found || zf_chunk_sum_of(stmt, &sum);
    if (stmt->kind != ZF_S_EMIT_REGION) return !*found;
    zf_int128 most = 1;
    for (uint32_t k = 0; k < stmt->reduce->binder_count; k++) {
        zf_int128 each = most_of(&stmt->reduce->binders[k]);
        most = each > SHARED_ABOVE ? each : most > SHARED_ABOVE ? most : most * each; // no product of large ones
    }
    zf_visitor in_term = {.user = &scans, .expr = see_scan};
    zf_visit_expr(&in_term, stmt->reduce->term);
    *found = *found || (most > SHARED_ABOVE && !scans);
    return !*found;
}

bool zf_chunk_can_be_shared(const zf_graph_node *node) {
    const zf_inst *inst = node->inst;
    return inst->pattern == ZF_NON_PARALLEL && inst->lanes == 0 && inst->result.kind != ZF_K_BOOL;
}

bool zf_chunk_emits_ranges(const zf_graph_node *node) {
    bool found = false;
    zf_visitor visitor = {.user = &found, .stmt = see_region};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&node->inst->decode); // only looks
    return found;
}

const char *zf_chunk_walk_reason(const zf_graph_node *node, bool by_warp) {
    if (!zf_chunk_can_be_shared(node)) return "its booleans share bytes";
    if (by_warp != zf_chunk_emits_ranges(node)) return "as asked";
    return by_warp ? "its lanes share what an `emit` over a range or a running sum makes"
                   : "it emits one element at a time, or few, or scans";
}

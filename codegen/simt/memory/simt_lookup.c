#include "codegen/simt/memory/simt_lookup.h"

#include "codegen/simt/memory/simt_staging.h"

enum {
    KIB = 1024,
    STREAMS = 4, // that are tables, at most
    SMALL = 512, // bytes of four lines: lanes take them from the first-level cache in as many cycles
};

/// Whether a node takes elements of a stream at indices that do not follow from its own.
static bool is_looked_up(const zf_plan *plan, const zf_graph_node *node, const zf_port *port) {
    const zf_graph_edge *edge = &plan->graph->edges[node->inputs[port->slot]];
    if (port->access != ZF_ACCESS_GATHER || port->bitwise || port->whole || port->per_chunk) return false;
    if (edge->stored < 0 && plan->edge_work[edge->index] < 0) return false;
    // A stream of bytes has at most 256 different elements, which the first-level cache has in two lines.
    if (edge->type.nullable || !zf_type_storable(edge->type) || zf_kind_size(edge->type.kind) < 2) return false;
    for (uint32_t h = 0; h < plan->hoisted_count; h++) { // such an index grows with the element's: nothing is taken twice
        const zf_expr *access = plan->hoisted[h].access;
        if (plan->hoisted[h].node == node->index && access->a->kind == ZF_X_STREAM && access->a->port == port) return false;
    }
    return true;
}

/// The edges that a kernel looks up, each once; returns how many.
static uint32_t edges_of(const zf_plan *plan, const zf_kernel *kernel, uint32_t edges[STREAMS]) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_graph_node *node = &plan->graph->nodes[kernel->nodes[n]];
        for (uint32_t s = 0; s < node->inst->stream_count && count < STREAMS; s++) {
            if (is_looked_up(plan, node, node->inst->streams[s])) edges[count++] = node->inputs[s];
        }
    }
    return count;
}

bool zf_simt_looks_up(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t edges[STREAMS];
    return edges_of(plan, kernel, edges) > 0;
}

uint32_t zf_simt_lookup_bytes(const zf_plan *plan, const zf_kernel *kernel, uint32_t others) {
    if (!zf_simt_looks_up(plan, kernel)) return 0;
    // The copy passes through the second-level cache, as the tile's stores do: a copy of more than most of their bytes is
    // slower.
    uint64_t wanted = (uint64_t)zf_choice_value(&kernel->choice, ZF_CHOICE_TABLE, ZF_LOOKUP_DEFAULT) * KIB;
    uint64_t stored = (uint64_t)kernel->tile * zf_kind_size(zf_simt_type_of(plan, kernel).kind) / 4 * 3;
    uint64_t left = plan->target->shared_bytes - others, least = wanted < stored ? wanted : stored;
    if (left < least) least = left;
    return least <= SMALL ? 0 : (uint32_t)least / ZF_SIMT_PIECE * ZF_SIMT_PIECE;
}

// The bytes of a stream, in whole pieces (i64). At least one piece: element 0 is read wherever an index was wrong.
static LLVMValueRef bytes_of(zf_kernel_build *lower, uint32_t edge) {
    zf_cg *cg = lower->cg;
    uint64_t size = zf_kind_size(lower->graph->edges[edge].type.kind);
    LLVMValueRef v = zf_cg_mul(cg, zf_lower_count(lower, edge), zf_cg_i64(cg, size));
    v = zf_cg_and(cg, zf_cg_add(cg, v, zf_cg_i64(cg, ZF_SIMT_PIECE - 1)), zf_cg_i64(cg, ~(uint64_t)(ZF_SIMT_PIECE - 1)));
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v, zf_cg_i64(cg, 0));
    return zf_cg_select(cg, v_none, zf_cg_i64(cg, ZF_SIMT_PIECE), v);
}

// Has the threads copy v_bytes (i64) of a stream, 16 a thread side by side.
static void copy(zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_to, LLVMValueRef v_from,
                 LLVMValueRef v_bytes) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_pieces = zf_cg_low_half(cg, LLVMBuildLShr(cg->builder, v_bytes, zf_cg_i64(cg, 4), ""));
    LLVMValueRef v_threads = zf_cg_i32(cg, shape->threads);
    LLVMValueRef v_turns = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_pieces, zf_cg_i32(cg, shape->threads - 1)), v_threads, "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), v_turns, "table");
    LLVMValueRef v_at = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_threads), lower->simt->v_thread);
    LLVMBasicBlockRef bb_piece = zf_cg_block(cg, "table_piece");
    LLVMValueRef v_is = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_at, v_pieces), "pieces of a table");
    zf_cg_cond_br(cg, v_is, bb_piece, loop.bb_next);
    zf_cg_enter(cg, bb_piece);
    LLVMValueRef v_piece = zf_cg_resize(cg, v_at, cg->ty_i64, false);
    v_to = zf_simt_piece_at(cg, v_to, v_piece);
    zf_simt_copy(cg, v_to, zf_simt_piece_at(cg, v_from, v_piece));
    zf_cg_loop_end(cg, &loop);
}

void zf_simt_lookup_make(zf_simt_lookup *lookup, zf_kernel_build *lower, const zf_simt_shape *shape, uint32_t offset,
                         uint32_t room) {
    zf_cg *cg = lower->cg;
    uint32_t edges[STREAMS], count = edges_of(lower->plan, lower->kernel, edges);
    LLVMValueRef v_bytes[STREAMS], v_all = zf_cg_i64(cg, 0), v_shared = cg->target->simt->shared(cg, offset, room);
    lookup->v_tables = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, lower->graph->edge_count + 1);
    for (uint32_t k = 0; k < count; k++) {
        lookup->v_tables[edges[k]] = zf_cg_at(cg, cg->ty_i8, v_shared, v_all);
        v_bytes[k] = bytes_of(lower, edges[k]);
        v_all = zf_cg_add(cg, v_all, v_bytes[k]);
    }
    LLVMValueRef v_large = zf_cg_icmp(cg, LLVMIntUGT, v_all, zf_cg_i64(cg, SMALL));
    lookup->v_fits = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, v_all, zf_cg_i64(cg, room)), "tables that fit");
    lookup->v_fits = zf_cg_and(cg, v_large, lookup->v_fits);
    LLVMBasicBlockRef bb_fits = zf_cg_block(cg, "tables_fit"), bb_there = zf_cg_block(cg, "tables_there");
    zf_cg_cond_br(cg, lookup->v_fits, bb_fits, bb_there);
    zf_cg_enter(cg, bb_fits);
    for (uint32_t k = 0; k < count; k++)
        copy(lower, shape, lookup->v_tables[edges[k]], zf_lower_pointer(lower, edges[k]), v_bytes[k]);
    zf_simt_copy_wait(cg, 0);
    zf_simt_barrier(lower, "looked-up tables before what reads them");
    zf_cg_br(cg, bb_there);
    zf_cg_enter(cg, bb_there);
}

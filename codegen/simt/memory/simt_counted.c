// Elements that are numbered by a sum of zeros and ones along the outputs, as a nullable column's values are by its validity.
//
// From an output to the next such an index stays or rises by one, and within a tile it stays near that of the tile's begin. Its
// element is therefore addressed from the tile's place by 32 bits, and for several of a lane's outputs at once, as for the
// groups of outputs (simt_lane_loads.c). Beyond the stream's end another element is read instead, and the check fails.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/simt.h"
#include "patterns/plan/check_sites.h"

// The scan that an index is, through lets; NULL: it is none.
static const zf_reduce *scan_of(const zf_expr *index) {
    while (index != NULL && index->kind == ZF_X_LOCAL && index->local->kind == ZF_L_LET) index = index->local->init;
    return index != NULL && index->kind == ZF_X_REDUCE && index->reduce->form == ZF_R_SCAN ? index->reduce : NULL;
}

static bool is_scanned(const zf_expr *access, const zf_reduce *reduce) {
    if (access == NULL || access->kind != ZF_X_INDEX || access->a->kind != ZF_X_STREAM) return false;
    const zf_reduce *by = scan_of(access->b);
    return by != NULL && by->index == reduce->index;
}

// Whether elements of an edge can be read there: numbers in memory, or made from such by maps.
static bool is_readable(const zf_kernel_build *lower, const zf_graph_edge *edge) {
    if (edge->type.nullable || edge->type.kind == ZF_K_STRING || edge->type.kind == ZF_K_BOOL) return false;
    if (zf_lower_in_memory(lower, edge->index)) return true;
    return edge->decision == ZF_EDGE_INLINED && lower->graph->nodes[edge->producer].inst->pattern == ZF_FULLY_PARALLEL;
}

zf_simt_count *zf_simt_count_of(zf_kernel_build *lower, zf_running *running, LLVMValueRef v_state) {
    zf_cg *cg = lower->cg;
    const zf_reduce *reduce = running->reduce;
    const zf_interval terms = reduce->term->range;
    if (reduce->op != ZF_RED_SUM || running->type.kind != ZF_K_U64 || terms.lo < 0 || terms.hi > 1) return NULL;
    zf_sites sites;
    zf_sites_collect(cg->arena, lower->graph->nodes[running->node].inst, &sites);
    const zf_graph_edge *edge = NULL;
    for (uint32_t k = 0; k < sites.site_count && edge == NULL; k++) {
        const zf_expr *at = sites.sites[k].expr;
        if (sites.sites[k].violation == 1 && is_scanned(at, reduce)) edge = zf_lower_edge(lower, running->node, at->a->port);
    }
    if (edge == NULL || !is_readable(lower, edge)) return NULL;
    zf_simt_count *count = ZF_NEW(cg->arena, zf_simt_count);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_count = zf_lower_count(lower, edge->index);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_count, v_zero);
    *count = (zf_simt_count){.running = running, .edge = edge->index};
    count->v_holds = zf_cg_and(cg, zf_cg_within(cg, v_some, "elements that are counted"),
                               zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, v_state, v_count), "counts of elements that exist"));
    count->v_base = zf_cg_umin(cg, v_state, zf_cg_last(cg, v_count));
    LLVMValueRef v_room = zf_cg_umin(cg, zf_cg_sub(cg, v_count, count->v_base), zf_cg_i64(cg, INT32_MAX));
    count->v_room = zf_cg_resize(cg, v_room, cg->ty_i32, false);
    return count;
}

void zf_simt_count_begin(zf_kernel_build *lower, zf_simt_count *count, unsigned lanes, const LLVMValueRef *v_values) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_last = zf_cg_sub(cg, count->v_room, zf_cg_i32(cg, 1));
    count->neighbours = (zf_simt_neighbours){.count = lanes};
    for (unsigned k = 0; k < lanes; k++) {
        zf_simt_counted *at = &count->lanes[k];
        LLVMValueRef v_place = zf_cg_resize(cg, zf_cg_sub(cg, v_values[k], count->v_base), cg->ty_i32, false);
        LLVMValueRef v_rank = count->exist ? v_place : zf_cg_clamp(cg, v_place, v_last, "counts behind the last element");
        count->neighbours.v_ranks[k] = v_rank;
        count->neighbours.v_places[k] = v_place; // of which distances are small whatever the bits say
        *at = (zf_simt_counted){.edge = count->edge, .v_place = v_place, .v_room = count->exist ? NULL : count->v_room};
        at->relative = (zf_simt_relative){count->v_base, v_rank, &count->neighbours, k, NULL};
    }
    zf_simt_neighbours_begin(lower, &count->neighbours);
}

LLVMValueRef zf_simt_count_fits(zf_kernel_build *lower, zf_simt_count *count, LLVMValueRef v_more) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, count->running->type), count->running->v_acc, "");
    LLVMValueRef v_last = zf_cg_add(cg, zf_cg_resize(cg, zf_cg_sub(cg, v_acc, count->v_base), cg->ty_i32, false), v_more);
    return zf_cg_icmp(cg, LLVMIntULT, v_last, count->v_room);
}

void zf_simt_count_end(zf_kernel_build *lower, zf_simt_count *count) {
    zf_simt_neighbours_end(lower, &count->neighbours);
    count->running->counted = NULL;
}

const zf_simt_counted *zf_simt_counted_at(const zf_kernel_env *env, const zf_expr *access) {
    if (env->simt.lanes == NULL || access == NULL || access->kind != ZF_X_INDEX || access->a->kind != ZF_X_STREAM) return NULL;
    const zf_reduce *by = scan_of(access->b);
    const zf_running *running = by == NULL ? NULL : zf_lower_scan_find(env->lower, env->node, by);
    if (running == NULL || running->counted == NULL) return NULL;
    return zf_lower_edge(env->lower, env->node, access->a->port)->index == running->counted->edge ? running->counted : NULL;
}

zf_cg_value zf_simt_counted_element(zf_kernel_env *env, const zf_simt_counted *counted, const zf_expr *access) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    const zf_graph_edge *edge = &lower->graph->edges[counted->edge];
    if (counted->v_room != NULL && !access->proved && !zf_plan_is_hoisted(lower->plan, env->node, access)) {
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, counted->v_place, counted->v_room);
        zf_cg_check(cg, &env->env, v_exists, 1, access->span, access);
    }
    if (zf_lower_in_memory(lower, edge->index)) return zf_simt_relative_element(lower, &counted->relative, edge->index);
    zf_kernel_env child = zf_lower_env_make(lower, (uint32_t)edge->producer);
    child.v_i = zf_cg_add(cg, counted->relative.v_base, zf_cg_resize(cg, counted->relative.v_rank, cg->ty_i64, false));
    child.v_counts = env->v_counts;
    child.v_alive = env->v_alive;
    child.simt.relative = &counted->relative;
    return zf_cg_eval_body(cg, &child.env, &lower->graph->nodes[child.node].inst->decode);
}

// The steps of a kernel: which scans and expansions its nodes want, along which level each runs, and the state that they keep.
#include "patterns/graph/decision.h"
#include "patterns/plan/plan_internal.h"

bool zf_keeps_state(const zf_inst *inst) { return inst->pattern != ZF_FULLY_PARALLEL || zf_inst_has_scan(inst); }

static bool is_scan(const zf_reduce *reduce) {
    return reduce != NULL && (reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED);
}

static bool along_groups(const zf_reduce *reduce) { return reduce->domain->kind == ZF_L_DOMAIN_G; }

/// Whether the producer of an edge is evaluated by its consumer's kernel.
static bool stays(const zf_plan *plan, const zf_graph_edge *edge) {
    return edge->producer >= 0 && edge->access != ZF_ACCESS_NONE && plan->edge_work[edge->index] < 0;
}

typedef struct walk {
    const zf_plan *plan;
    const zf_sites *sites;
    zf_kernel *kernel;
} walk;

static void add_scans(walk *w, uint32_t n, bool groups, uint32_t level) {
    const zf_sites *sites = &w->sites[n];
    for (uint32_t k = 0; k < sites->scan_count; k++) {
        const zf_reduce *reduce = sites->scans[k].reduce;
        if (!is_scan(reduce) || along_groups(reduce) != groups) continue;
        w->kernel->steps[w->kernel->step_count++] = (zf_step){.kind = ZF_STEP_SCAN, .node = n, .reduce = reduce, .level = level};
    }
}

static void add_node(walk *w, uint32_t n, uint32_t level);

static void add_inputs(walk *w, uint32_t n, zf_access access, uint32_t level) {
    const zf_graph_node *node = &w->plan->graph->nodes[n];
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &w->plan->graph->edges[node->inputs[s]];
        // A producer that is gathered from has no steps.
        if (stays(w->plan, edge) && edge->access == access) add_node(w, (uint32_t)edge->producer, level);
    }
}

/// The steps of a node whose elements are indexed by `level`: those that its groups want, those along its elements, and at last
/// its own expansion, which takes what both make.
static void add_node(walk *w, uint32_t n, uint32_t level) {
    bool is_group = w->plan->graph->nodes[n].inst->pattern == ZF_GROUP_PARALLEL;
    uint32_t groups = is_group ? w->kernel->level_count++ : 0;
    if (is_group) {
        add_inputs(w, n, ZF_ACCESS_ALIGNED_G, groups);
        add_scans(w, n, true, groups);
    }
    add_inputs(w, n, ZF_ACCESS_ALIGNED_I, level);
    add_scans(w, n, false, level);
    if (!is_group) return;
    w->kernel->steps[w->kernel->step_count++] = (zf_step){.kind = ZF_STEP_EXPAND, .node = n, .level = level, .groups = groups};
}

void zf_kernel_make_steps(const zf_plan *plan, const zf_sites *sites, zf_kernel *kernel) {
    uint32_t most = 1;
    for (uint32_t k = 0; k < kernel->node_count; k++) most += sites[kernel->nodes[k]].scan_count + 1;
    kernel->steps = ZF_NEW_ARRAY(plan->arena, zf_step, most);
    kernel->step_count = 0;
    kernel->level_count = 1;
    walk w = {plan, sites, kernel};
    add_node(&w, kernel->root, 0);
    kernel->steps[kernel->step_count++] = (zf_step){.kind = ZF_STEP_MAP, .node = kernel->root};
}

// ---- States ---------------------------------------------------------------------------------------------------

uint32_t zf_node_seek_bytes(const zf_graph_node *node, const zf_sites *sites) {
    uint32_t bytes = node->inst->pattern == ZF_GROUP_PARALLEL ? 16 : 0;
    for (uint32_t k = 0; k < sites->scan_count; k++) {
        const zf_reduce *reduce = sites->scans[k].reduce;
        if (is_scan(reduce)) bytes += zf_kind_size(reduce->term->type.kind);
    }
    return bytes;
}

static const zf_step *step_of_scan(const zf_kernel *kernel, uint32_t node, const zf_reduce *reduce) {
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        if (step->kind == ZF_STEP_SCAN && step->node == node && step->reduce->index == reduce->index) return step;
    }
    return NULL;
}

uint32_t zf_kernel_seek_fields(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, uint32_t interval,
                               zf_seek_field **fields) {
    uint32_t most = 0, count = 0;
    for (uint32_t k = 0; k < kernel->node_count; k++) most += sites[kernel->nodes[k]].scan_count + 2;
    zf_seek_field *out = *fields = ZF_NEW_ARRAY(plan->arena, zf_seek_field, most + 2);
    for (uint32_t k = 0; k < kernel->node_count; k++) {
        uint32_t n = kernel->nodes[k];
        if (plan->graph->nodes[n].inst->pattern == ZF_GROUP_PARALLEL) {
            out[count++] = (zf_seek_field){.kind = ZF_SEEK_GROUP, .node = n, .type = ZF_K_U64};
            out[count++] = (zf_seek_field){.kind = ZF_SEEK_OFFSET, .node = n, .type = ZF_K_U64};
        }
        for (uint32_t r = 0; r < sites[n].scan_count; r++) {
            const zf_reduce *reduce = sites[n].scans[r].reduce;
            if (!is_scan(reduce)) continue;
            const zf_step *step = step_of_scan(kernel, n, reduce);
            // A segment that never crosses the beginning of a tile starts from nothing there.
            bool starts = reduce->form == ZF_R_SEGMENTED && interval % reduce->segment == 0;
            if (starts && step != NULL && step->level == 0) continue;
            out[count++] = (zf_seek_field){.kind = ZF_SEEK_SCAN, .node = n, .reduce = r, .type = reduce->term->type.kind};
        }
    }
    if (zf_delivers_strings(plan->graph, kernel->root)) {
        out[count++] = (zf_seek_field){.kind = ZF_SEEK_BYTES, .node = kernel->root, .type = ZF_K_U64};
    }
    return count;
}

// Verifies the properties of a plan that codegen and the runtime rely on. It is checked against the graph, not against the
// planner: a plan may materialise more than this planner would, never less than the graph demands.
#include <string.h>

#include "patterns/graph/decision.h"
#include "patterns/graph/verifier.h"
#include "patterns/plan/geometry.h"
#include "patterns/plan/plan_internal.h"

static bool inlined(const zf_plan *plan, const zf_graph_edge *edge) {
    return edge->producer >= 0 && edge->access != ZF_ACCESS_NONE && plan->edge_work[edge->index] < 0 && edge->index != 0;
}

static bool evaluated(const zf_plan *plan, uint32_t node) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        for (uint32_t n = 0; n < plan->kernels[k].node_count; n++) {
            if (plan->kernels[k].nodes[n] == node) return true;
        }
    }
    return false;
}

static bool verify_edges(const zf_plan *plan, zf_text *reason) {
    const zf_graph *graph = plan->graph;
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const zf_graph_edge *edge = &graph->edges[e];
        int32_t work = plan->edge_work[e];
        DEMAND(work >= -1 && work < (int32_t)plan->work_count, "edge %u lies in work buffer %d, of %u", e, work,
               plan->work_count);
        if (work >= 0) {
            DEMAND(e != 0 && edge->producer >= 0, "edge %u is in a work buffer, but nothing makes it", e);
            DEMAND(plan->works[work].edge == e && plan->works[work].prefix == NULL, "work buffer %d does not hold edge %u", work,
                   e);
        }
        if (!inlined(plan, edge) || !evaluated(plan, (uint32_t)edge->consumer)) continue; // or its consumer is never asked
        const zf_inst *inst = graph->nodes[edge->producer].inst;
        DEMAND(edge->decision != ZF_EDGE_MATERIALISED, "edge %u must be materialised: %s", e, edge->reason);
        DEMAND(!zf_keeps_state(inst) || (edge->decision == ZF_EDGE_FUSED && inst->pattern != ZF_NON_PARALLEL),
               "edge %u: node %d keeps a state, and is not asked for in order", e, edge->producer);
        DEMAND(!edge->port->bitwise, "edge %u: its bits are read, so it must lie in memory", e);
        DEMAND(!zf_edge_gives_strings(edge), "edge %u: strings are slices of it, so it must lie in memory", e);
    }
    return true;
}

/// Checks that nodes are the root and what is inlined into it, in pre-order.
static bool verify_nodes(const zf_plan *plan, const zf_kernel *kernel, uint32_t n, uint32_t *at, zf_text *reason) {
    const zf_graph *graph = plan->graph;
    DEMAND(*at < kernel->node_count && kernel->nodes[*at] == n, "kernel %u: node %u is missing or out of order", kernel->index,
           n);
    (*at)++;
    for (uint32_t s = 0; s < graph->nodes[n].inst->stream_count; s++) {
        const zf_graph_edge *edge = &graph->edges[graph->nodes[n].inputs[s]];
        bool asked = kernel->prefix == NULL || n != kernel->root || edge->index == kernel->edge;
        if (asked && inlined(plan, edge) && !verify_nodes(plan, kernel, (uint32_t)edge->producer, at, reason)) return false;
        int32_t work = asked ? plan->edge_work[edge->index] : -1;
        DEMAND(work < 0 || plan->works[work].kernel < kernel->index, "kernel %u reads work buffer %d before it is made",
               kernel->index, work);
    }
    return true;
}

static bool verify_steps(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, zf_text *reason) {
    uint32_t k = kernel->index;
    if (kernel->prefix != NULL) {
        const zf_step *only = kernel->steps;
        DEMAND(kernel->step_count == 1 && kernel->level_count == 1 && only->kind == ZF_STEP_SCAN && only->node == kernel->root &&
                   only->reduce == kernel->prefix && only->level == 0,
               "kernel %u: not one scan", k);
        return true;
    }
    // The materialised edges and the nodes, which were verified before, determine the list of steps.
    zf_kernel wanted = *kernel;
    zf_kernel_make_steps(plan, sites, &wanted);
    DEMAND(kernel->step_count == wanted.step_count && kernel->level_count == wanted.level_count,
           "kernel %u: %u steps along %u levels, but %u along %u are wanted", k, kernel->step_count, kernel->level_count,
           wanted.step_count, wanted.level_count);
    for (uint32_t s = 0; s < wanted.step_count; s++) {
        const zf_step *is = &kernel->steps[s], *must = &wanted.steps[s];
        DEMAND(is->kind == must->kind && is->node == must->node && is->reduce == must->reduce && is->level == must->level &&
                   is->groups == must->groups,
               "kernel %u: step %u is not the one that its nodes want there", k, s);
    }
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        for (uint32_t i = 0; i < sites[kernel->nodes[n]].scan_count; i++) {
            const zf_reduce *reduce = sites[kernel->nodes[n]].scans[i].reduce;
            if (reduce == NULL || reduce->form != ZF_R_PREFIX) continue;
            int32_t work = zf_plan_prefix_work(plan, kernel->nodes[n], reduce);
            DEMAND(work >= 0 && plan->works[work].kernel < k, "kernel %u: prefix sums %u of node %u are not made before it", k, i,
                   kernel->nodes[n]);
        }
    }
    return true;
}

/// Tiles of whole chunks, and the directory that they start from.
static bool verify_chunks(const zf_plan *plan, const zf_kernel *kernel, zf_text *reason) {
    const zf_graph_node *node = &plan->graph->nodes[kernel->root];
    uint32_t k = kernel->index, wanted;
    zf_seek_field *fields;
    bool uneven = kernel->tree < (int32_t)plan->tree_count && zf_kernel_is_uneven(plan, kernel);
    DEMAND(kernel->tile == zf_chunk_tile(plan->graph, kernel->root, uneven), "kernel %u: tiles of %u are not its chunks", k,
           kernel->tile);
    DEMAND(kernel->end_check == -1, "kernel %u: chunks end where they end", k);
    wanted = zf_chunk_fields(plan, kernel->root, uneven, &fields);
    DEMAND(kernel->tree >= -1 && kernel->tree < (int32_t)plan->tree_count, "kernel %u: no directory %d", k, kernel->tree);
    DEMAND((kernel->tree < 0) == (wanted == 0), "kernel %u: a directory for %u streams", k, wanted);
    if (kernel->tree < 0) return true;
    const zf_seek_tree *tree = &plan->trees[kernel->tree];
    DEMAND(tree->edge == node->output && tree->field_count == wanted, "directory %d: not that of kernel %u", kernel->tree, k);
    for (uint32_t f = 0; f < wanted; f++) {
        const zf_seek_field *is = &tree->fields[f], *must = &fields[f];
        DEMAND(is->kind == must->kind && is->node == must->node && is->stream == must->stream && is->type == must->type,
               "directory %d: field %u is not what its kernel reads", kernel->tree, f);
    }
    return true;
}

static bool verify_tree(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, zf_text *reason) {
    if (kernel->domain == ZF_DOMAIN_CHUNKS) return verify_chunks(plan, kernel, reason);
    uint32_t k = kernel->index, wanted = 1;
    zf_seek_field only = {.kind = ZF_SEEK_SCAN, .node = kernel->root}, *fields = &only;
    if (kernel->prefix != NULL) {
        only.reduce = kernel->prefix->index;
        only.type = kernel->prefix->term->type.kind;
    } else {
        wanted = zf_kernel_seek_fields(plan, sites, kernel, kernel->tile, &fields);
    }
    if (wanted == 0) {
        DEMAND(kernel->tree == -1 && kernel->end_check == -1, "kernel %u keeps no state, but has a seek tree", k);
        return true;
    }
    DEMAND(kernel->tree >= 0 && kernel->tree < (int32_t)plan->tree_count, "kernel %u: no seek tree %d", k, kernel->tree);
    const zf_seek_tree *tree = &plan->trees[kernel->tree];
    DEMAND(tree->edge == kernel->edge, "kernel %u makes edge %u, its seek tree belongs to edge %u", k, kernel->edge, tree->edge);
    DEMAND(tree->field_count == wanted, "seek tree %d: %u fields, but %u are kept", kernel->tree, tree->field_count, wanted);
    for (uint32_t f = 0; f < wanted; f++) {
        const zf_seek_field *is = &tree->fields[f], *must = &fields[f];
        DEMAND(is->kind == must->kind && is->node == must->node && is->reduce == must->reduce && is->type == must->type,
               "seek tree %d: field %u is not what its kernel keeps", kernel->tree, f);
    }
    DEMAND(kernel->end_check >= 0 && kernel->end_check < (int32_t)plan->check_count &&
               plan->checks[kernel->end_check].violation == 9 && plan->checks[kernel->end_check].node == kernel->root,
           "kernel %u: its tiles' ends are not checked", k);
    for (uint32_t other = 0; other < k; other++) {
        DEMAND(plan->kernels[other].tree != kernel->tree, "kernels %u and %u share a seek tree", other, k);
    }
    return true;
}

/// Verifies that a kernel has its choices, and the defaults in everything else.
static bool verify_choice(const zf_plan *plan, const zf_kernel *kernel, zf_text *reason) {
    const zf_choice *choice = &kernel->choice;
    const zf_geometry *is = &kernel->geometry;
    uint32_t k = kernel->index;
    DEMAND(plan->target != NULL, "there is no target");
    zf_geometry must = zf_kernel_default_geometry(plan, kernel);
    DEMAND(choice->chosen >> ZF_CHOICE_KINDS == 0, "kernel %u: no such choices", k);
    DEMAND(choice->chosen == 0 || plan->target->wave > 0, "kernel %u: the host's kernels have no choices", k);
    for (unsigned c = 0; c < ZF_CHOICE_KINDS; c++) {
        bool most = !zf_is_chosen(choice, (zf_choice_kind)c) || choice->values[c] <= ZF_CHOICE_MOST;
        DEMAND(most, "kernel %u: %s is more than %d", k, zf_choice_names[c], ZF_CHOICE_MOST);
    }
    DEMAND(is->l == zf_choice_value(choice, ZF_CHOICE_L, must.l) && is->s == zf_choice_value(choice, ZF_CHOICE_THREADS, must.s) &&
               is->c == zf_choice_value(choice, ZF_CHOICE_C, must.c),
           "kernel %u: another geometry than what was chosen and the default say", k);
    bool ordered = kernel->domain == ZF_DOMAIN_CHUNKS || zf_kernel_is_ordered(plan, kernel);
    DEMAND(ordered || kernel->tile == is->l * is->s * is->c, "kernel %u: tiles of %u are not its geometry's", k, kernel->tile);
    DEMAND(!zf_is_chosen(choice, ZF_CHOICE_WALK) || kernel->by_warp == (choice->values[ZF_CHOICE_WALK] > 1),
           "kernel %u: its chunks are walked by others than was chosen", k);
    return true;
}

static bool verify_kernel(const zf_plan *plan, const zf_sites *all_sites, uint32_t k, zf_text *reason) {
    const zf_graph *graph = plan->graph;
    const zf_kernel *kernel = &plan->kernels[k];
    bool last = k + 1 == plan->kernel_count;
    DEMAND(kernel->index == k, "kernel %u says that it is kernel %u", k, kernel->index);
    DEMAND(kernel->root < graph->node_count && kernel->edge < graph->edge_count, "kernel %u: no such node or edge", k);
    const zf_graph_node *node = &graph->nodes[kernel->root];
    DEMAND(last == (kernel->sink < 0), "kernel %u: the last one makes the column, and only that one", k);
    if (kernel->prefix != NULL) {
        DEMAND((int32_t)kernel->edge == zf_prefix_edge(node, kernel->prefix), "kernel %u: prefix sums along the wrong edge", k);
        DEMAND(kernel->domain == ZF_DOMAIN_ELEMENTS, "kernel %u: prefix sums run along elements", k);
    } else {
        DEMAND(node->output == kernel->edge, "kernel %u: node %u does not make edge %u", k, kernel->root, kernel->edge);
        zf_domain domain = node->inst->pattern == ZF_GROUP_PARALLEL ? ZF_DOMAIN_GROUPS
                           : node->inst->pattern == ZF_NON_PARALLEL ? ZF_DOMAIN_CHUNKS
                                                                    : ZF_DOMAIN_ELEMENTS;
        DEMAND(kernel->domain == domain, "kernel %u: another domain than its root's pattern", k);
    }
    if (kernel->sink >= 0) {
        DEMAND(kernel->sink < (int32_t)plan->work_count, "kernel %u: no work buffer %d", k, kernel->sink);
        const zf_work *work = &plan->works[kernel->sink];
        zf_type type = zf_type_strip(kernel->prefix != NULL ? kernel->prefix->term->type : graph->edges[kernel->edge].type);
        DEMAND(work->kernel == k && work->edge == kernel->edge && work->prefix == kernel->prefix,
               "work buffer %d is not kernel %u's", kernel->sink, k);
        DEMAND(zf_type_equal(work->type, type), "work buffer %d: another type than its elements", kernel->sink);
        DEMAND(kernel->prefix != NULL || plan->edge_work[kernel->edge] == kernel->sink, "edge %u does not know its work buffer",
               kernel->edge);
    } else {
        DEMAND(kernel->edge == 0, "kernel %u: the column is edge 0", k);
    }
    const zf_geometry *g = &kernel->geometry;
    DEMAND(g->l >= 1 && g->s >= 1 && g->c >= 1, "kernel %u: a geometry with a 0", k);
    bool chunks = kernel->domain == ZF_DOMAIN_CHUNKS;
    DEMAND(kernel->tile >= 1 && (chunks || kernel->tile % 64 == 0), "kernel %u: tiles of %u are no whole words of bits", k,
           kernel->tile);
    DEMAND(kernel->tree < 0 || chunks ||
               ((kernel->tile & (kernel->tile - 1)) == 0 && kernel->tile >= ZF_SEEK_INTERVAL_LEAST &&
                kernel->tile <= ZF_SEEK_INTERVAL_MOST),
           "kernel %u: %u is not a seek interval", k, kernel->tile);
    DEMAND(kernel->store_first == node->inst->reads_out, "kernel %u: storing before use", k);
    DEMAND(!kernel->by_warp || (zf_chunk_can_be_shared(node) && plan->target->wave > 0), "kernel %u: by a warp", k);
    uint32_t at = 0;
    if (!verify_nodes(plan, kernel, kernel->root, &at, reason)) return false;
    DEMAND(at == kernel->node_count, "kernel %u: %u nodes, but %u are inlined", k, kernel->node_count, at);
    return verify_choice(plan, kernel, reason) && verify_steps(plan, all_sites, kernel, reason) &&
           verify_tree(plan, all_sites, kernel, reason);
}

static bool verify_words(const zf_plan *plan, zf_text *reason) {
    const zf_graph *graph = plan->graph;
    uint32_t shaping = 0, slots = graph->stored_count + graph->edge_count;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        for (uint32_t s = 0; s < node->inst->param_count; s++) {
            if (node->codec->param_given[s]) continue;
            uint32_t number = node->first_param + s;
            DEMAND(zf_plan_slot(plan, ZF_SLOT_PARAM, number, 0) >= 0, "param %u has no word in the descriptor", number);
            slots++;
            if (!node->inst->params[s]->shapes || !evaluated(plan, n)) continue;
            DEMAND(shaping < plan->shaping_count && plan->shaping[shaping] == number,
                   "param %u shapes code, but is not in the list", number);
            shaping++;
        }
    }
    DEMAND(shaping == plan->shaping_count, "%u shaping params are listed, but there are %u", plan->shaping_count, shaping);
    for (uint32_t s = 0; s < graph->stored_count; s++) {
        DEMAND(zf_plan_slot(plan, ZF_SLOT_OFFSET, s, 0) >= 0, "stored stream %u has no word in the descriptor", s);
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        DEMAND(zf_plan_slot(plan, ZF_SLOT_COUNT, e, 0) >= 0, "the count of edge %u has no word in the descriptor", e);
    }
    for (uint32_t t = 0; t < plan->tree_count; t++) {
        for (uint32_t f = 0; f < plan->trees[t].field_count; f++) {
            DEMAND(zf_plan_slot(plan, ZF_SLOT_SEEK_OFFSET, t, f) >= 0 && zf_plan_slot(plan, ZF_SLOT_SEEK_WIDTH, t, f) >= 0,
                   "field %u of seek tree %u has no words in the descriptor", f, t);
            slots += 2;
        }
        if (!zf_tree_is_uneven(&plan->trees[t])) continue;
        DEMAND(zf_plan_slot(plan, ZF_SLOT_CHUNKS, t, 0) >= 0, "the chunks of directory %u have no word in the descriptor", t);
        slots++;
    }
    if (graph->edges[0].type.kind == ZF_K_STRING) {
        DEMAND(zf_plan_slot(plan, ZF_SLOT_CHARACTERS, 0, 0) >= 0, "the bytes of the strings have no word in the descriptor");
        slots++;
    }
    DEMAND(slots == plan->slot_count, "%u descriptor words, but %u are needed", plan->slot_count, slots);
    return true;
}

static bool verify_checks(const zf_plan *plan, const zf_sites *sites, zf_text *reason) {
    const zf_graph *graph = plan->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!evaluated(plan, n)) continue;
        for (uint32_t k = 0; k < sites[n].site_count; k++) {
            const zf_site *site = &sites[n].sites[k];
            if (!zf_site_needed(graph, &graph->nodes[n], site)) continue;
            int32_t number = zf_plan_check(plan, n, site->span, site->violation);
            DEMAND(number >= 0, "node %u: nothing checks the %s", n, site->text);
            DEMAND(!plan->checks[number].hoisted || zf_site_hoistable(graph->nodes[n].inst, &sites[n], site),
                   "check %d: the %s of node %u cannot be checked before the kernels", number, site->text, n);
            DEMAND(!plan->checks[number].hoisted || zf_plan_is_hoisted(plan, n, site->expr),
                   "check %d is hoisted, but the %s of node %u is not among them", number, site->text, n);
        }
    }
    for (uint32_t h = 0; h < plan->hoisted_count; h++) {
        const zf_hoisted *hoisted = &plan->hoisted[h];
        DEMAND(hoisted->check < plan->check_count && plan->checks[hoisted->check].hoisted &&
                   plan->checks[hoisted->check].node == hoisted->node,
               "hoisted access %u: check %u is not its own", h, hoisted->check);
        DEMAND(hoisted->kernel < plan->kernel_count, "hoisted access %u: no kernel %u", h, hoisted->kernel);
        DEMAND(hoisted->access != NULL, "hoisted access %u is none", h);
    }
    return true;
}

bool zf_plan_verify(const zf_plan *plan, zf_text *reason) {
    const zf_sites *sites = zf_plan_sites(plan->arena, plan->graph);
    DEMAND(plan->kernel_count > 0, "a plan without kernels");
    if (!verify_edges(plan, reason)) return false;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        if (!verify_kernel(plan, sites, k, reason)) return false;
    }
    for (uint32_t w = 0; w < plan->work_count; w++) {
        DEMAND(plan->works[w].kernel < plan->kernel_count && plan->kernels[plan->works[w].kernel].sink == (int32_t)w,
               "nothing makes work buffer %u", w);
        const zf_port *characters = NULL;
        const zf_graph_node *root = &plan->graph->nodes[0];
        const zf_reduce *start = plan->works[w].start == NULL ? NULL : zf_characters_start(root->inst, &characters);
        DEMAND(plan->works[w].start == NULL ||
                   (start != NULL && start->index == plan->works[w].start->index && !plan->graph->edges[0].type.nullable &&
                    plan->works[w].prefix == NULL && root->inputs[characters->slot] == plan->works[w].edge),
               "work buffer %u does not hold the column's characters", w);
        DEMAND(plan->works[w].start == NULL || zf_plan_can_place(plan, w), "kernel %u reads characters that have no place",
               plan->works[w].kernel);
        DEMAND(plan->works[w].packed == NULL || plan->works[w].packed == zf_work_packs(plan, w),
               "work buffer %u does not hold the column's elements", w);
        DEMAND(plan->works[w].short_strings == zf_work_has_short_strings(plan, w), "work buffer %u %s short strings in handles",
               w, plan->works[w].short_strings ? "has no" : "has");
    }
    return verify_words(plan, reason) && verify_checks(plan, sites, reason);
}

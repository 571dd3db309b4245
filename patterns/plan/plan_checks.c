// Which checks a plan makes, and which of them once per block.
#include "patterns/plan/plan_internal.h"

zf_sites *zf_plan_sites(zf_arena *arena, const zf_graph *graph) {
    zf_sites *sites = ZF_NEW_ARRAY(arena, zf_sites, graph->node_count);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        // Nodes often share an instance: its sites are the same.
        uint32_t same = 0;
        while (same < n && graph->nodes[same].inst != graph->nodes[n].inst) same++;
        if (same < n)
            sites[n] = sites[same];
        else
            zf_sites_collect(arena, graph->nodes[n].inst, &sites[n]);
    }
    return sites;
}

// ---- Prefix sums ----

typedef struct prefix_search {
    const zf_local *binder;
    const zf_expr *access;
    bool several;
} prefix_search;

/// A reduction whose term is evaluated at least once, whatever the data.
static bool runs(const zf_reduce *reduce) {
    for (uint32_t b = 0; b < reduce->binder_count; b++) {
        const zf_binder *binder = &reduce->binders[b];
        if (binder->lo->range.hi >= binder->hi->range.lo + (binder->inclusive ? 1 : 0)) return false;
    }
    return true;
}

// `sometimes`: the place is reached for some elements only, so it says nothing of how far the sums run.
static void search_prefix(prefix_search *search, const zf_expr *e, bool sometimes, unsigned depth) {
    if (e == NULL || depth > 256) return;
    if (e->kind == ZF_X_INDEX && e->a->kind == ZF_X_STREAM) {
        const zf_expr *at = e->b;
        while (at->kind == ZF_X_LOCAL && (at->local->kind == ZF_L_LET || at->local->kind == ZF_L_FORMAL) &&
               at->local->init != NULL) {
            at = at->local->init;
        }
        if (at->kind == ZF_X_LOCAL && at->local == search->binder) {
            const zf_expr *known = search->access;
            if (known != NULL && known->a->port != e->a->port) search->several = true;
            // If several accesses are at the same element, take the first one that can fail: the range stands for its check.
            if (!sometimes && (known == NULL || (known->proved && !e->proved))) search->access = e;
        }
    }
    bool lazy = e->kind == ZF_X_COND || (e->kind == ZF_X_BINARY && (e->op == ZF_OP_ANDAND || e->op == ZF_OP_OROR));
    search_prefix(search, e->a, sometimes, depth + 1);
    search_prefix(search, e->b, sometimes || lazy, depth + 1);
    search_prefix(search, e->c, sometimes || lazy, depth + 1);
    if (e->call != NULL) {
        for (uint32_t k = 0; k < e->call->formal_count; k++)
            search_prefix(search, e->call->formals[k]->init, sometimes, depth + 1);
        search_prefix(search, e->call->value, sometimes || e->call->body != NULL, depth + 1);
    }
    if (e->reduce == NULL) return;
    for (uint32_t b = 0; b < e->reduce->binder_count; b++) {
        search_prefix(search, e->reduce->binders[b].lo, sometimes || b > 0, depth + 1);
        search_prefix(search, e->reduce->binders[b].hi, sometimes || b > 0, depth + 1);
    }
    search_prefix(search, e->reduce->term, sometimes || !runs(e->reduce), depth + 1);
}

const zf_expr *zf_prefix_access(const zf_reduce *prefix) {
    prefix_search search = {.binder = prefix->binders[0].local};
    if (prefix->binder_count != 1) return NULL;
    search_prefix(&search, prefix->term, false, 0);
    return search.several ? NULL : search.access;
}

int32_t zf_prefix_edge(const zf_graph_node *node, const zf_reduce *prefix) {
    const zf_expr *access = zf_prefix_access(prefix);
    return access == NULL ? -1 : (int32_t)node->inputs[access->a->port->slot];
}

// ---- Checks ----

static bool same_span(zf_span a, zf_span b) { return a.source == b.source && a.begin == b.begin && a.end == b.end; }

static int32_t first_kernel_of(const zf_plan *plan, uint32_t node) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        for (uint32_t n = 0; n < plan->kernels[k].node_count; n++) {
            if (plan->kernels[k].nodes[n] == node) return (int32_t)k;
        }
    }
    return -1;
}

/// True when every site of the node that shares this one's check can be checked once per block.
static bool all_hoistable(const zf_graph_node *node, const zf_sites *sites, const zf_site *site) {
    for (uint32_t k = 0; k < sites->site_count; k++) {
        const zf_site *other = &sites->sites[k];
        if (other->violation == site->violation && same_span(other->span, site->span) && !other->proved &&
            !zf_site_hoistable(node->inst, sites, other)) {
            return false;
        }
    }
    return true;
}

bool zf_plan_add_checks(zf_plan *plan, const zf_sites *sites, zf_diags *diags) {
    const zf_graph *graph = plan->graph;
    uint64_t most = plan->kernel_count;
    for (uint32_t n = 0; n < graph->node_count; n++) most += sites[n].site_count;
    if (most >= ZF_CHECK_LIMIT) {
        if (diags != NULL) {
            zf_diag_error(diags, ZF_D_TOO_LARGE, graph->column->span, "the bodies of column `%s` have %llu checks, more than %d",
                          graph->column->name, (unsigned long long)most, ZF_CHECK_LIMIT);
        }
        return false;
    }
    plan->checks = ZF_NEW_ARRAY(plan->arena, zf_check, most + 1);
    plan->hoisted = ZF_NEW_ARRAY(plan->arena, zf_hoisted, most + 1);

    for (uint32_t n = 0; n < graph->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        int32_t kernel = first_kernel_of(plan, n);
        if (kernel < 0) continue; // never evaluated
        for (uint32_t k = 0; k < sites[n].site_count; k++) {
            const zf_site *site = &sites[n].sites[k];
            if (!zf_site_needed(graph, node, site)) continue;
            int32_t number = zf_plan_check(plan, n, site->span, site->violation);
            bool hoisted = all_hoistable(node, &sites[n], site);
            if (number < 0) {
                number = (int32_t)plan->check_count++;
                plan->checks[number] = (zf_check){
                    .violation = site->violation, .node = n, .span = site->span, .hoisted = hoisted, .text = site->text};
            }
            if (!hoisted) continue;
            plan->hoisted[plan->hoisted_count++] = (zf_hoisted){.kernel = (uint32_t)kernel,
                                                                .node = n,
                                                                .access = site->expr,
                                                                .check = (uint32_t)number,
                                                                .body = site->body,
                                                                .reduces = site->reduces,
                                                                .reduce_count = site->reduce_count};
        }
    }
    // A tile that is wrong often ends in another state, too. The lowest number of several failures in one place is reported, so
    // that these are the last.
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        zf_kernel *kernel = &plan->kernels[k];
        // A directory is checked on the host (V22).
        if (kernel->tree < 0 || kernel->domain == ZF_DOMAIN_CHUNKS) continue;
        zf_span span = graph->nodes[kernel->root].codec->span;
        kernel->end_check = zf_plan_check(plan, kernel->root, span, 9);
        if (kernel->end_check >= 0) continue;
        kernel->end_check = (int32_t)plan->check_count++;
        plan->checks[kernel->end_check] =
            (zf_check){.violation = 9, .node = kernel->root, .span = span, .text = "state at a tile's end"};
    }
    return true;
}

int32_t zf_plan_check(const zf_plan *plan, uint32_t node, zf_span span, uint32_t violation) {
    for (uint32_t c = 0; c < plan->check_count; c++) {
        const zf_check *check = &plan->checks[c];
        if (check->violation == violation && check->node == node && (span.source == NULL || same_span(check->span, span))) {
            return (int32_t)c;
        }
    }
    return -1;
}

bool zf_plan_is_hoisted(const zf_plan *plan, uint32_t node, const zf_expr *access) {
    for (uint32_t h = 0; h < plan->hoisted_count; h++) {
        if (plan->hoisted[h].node == node && plan->hoisted[h].access == access) return true;
    }
    return false;
}

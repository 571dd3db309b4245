#include "patterns/plan/traffic.h"

typedef struct tally {
    const zf_plan *plan;
    const zf_sites *sites;
    const zf_kernel *kernel;
    zf_traffic *out;
    uint32_t count, limit;
} tally;

/// An expression seen through immutable locals, calls without statements and widening casts.
static const zf_expr *view(const zf_expr *e) {
    for (int depth = 0; depth < 64; depth++) {
        if (e->kind == ZF_X_LOCAL && (e->local->kind == ZF_L_LET || e->local->kind == ZF_L_FORMAL) && e->local->init != NULL) {
            e = e->local->init;
        } else if (e->kind == ZF_X_CALL && e->call->body == NULL && e->call->value != NULL) {
            e = e->call->value;
        } else if (e->kind == ZF_X_CAST && zf_kind_is_integer(e->type.kind) && zf_kind_is_integer(e->a->type.kind) &&
                   zf_kind_bits(e->type.kind) >= zf_kind_bits(e->a->type.kind)) {
            e = e->a;
        } else {
            break;
        }
    }
    return e;
}

static bool is_i(const zf_expr *e) {
    e = view(e);
    return e->kind == ZF_X_LOCAL && e->local->kind == ZF_L_DOMAIN_I;
}

/// True for i, and for i plus or minus something that does not move with i: each element is read once per i.
static bool steps_with_i(const zf_inst *inst, zf_around around, const zf_expr *e, unsigned depth) {
    e = view(e);
    if (is_i(e)) return true;
    if (depth > 8) return false;
    if (e->kind != ZF_X_BINARY || (e->op != ZF_OP_ADD && e->op != ZF_OP_SUB)) return false;
    zf_affine rest;
    if (steps_with_i(inst, around, e->a, depth + 1))
        return zf_affine_of(inst, around, e->b, &rest) && (rest.uses & ZF_USES_I) == 0;
    if (e->op == ZF_OP_ADD && steps_with_i(inst, around, e->b, depth + 1)) {
        return zf_affine_of(inst, around, e->a, &rest) && (rest.uses & ZF_USES_I) == 0;
    }
    return false;
}

/// How often a place is evaluated per element: the trips of unrolled reductions around it. 0: not known.
static double trips(const zf_site *site) {
    double product = 1;
    for (uint32_t r = 0; r < site->reduce_count; r++) {
        const zf_reduce *reduce = site->reduces[r];
        if (reduce->form == ZF_R_SCAN || reduce->form == ZF_R_SEGMENTED) continue; // one step per element
        if (reduce->form != ZF_R_UNROLLED) return 0;
        product *= reduce->trip;
    }
    return product;
}

/// The reads of one element (or group) of a node from one of its streams: a factor of its elements, or bits.
typedef struct rate {
    zf_per per;
    double elements;
    bool bits;            ///< `elements` counts bits
    const zf_port *param; ///< times this param
} rate;

static rate rate_of(const zf_inst *inst, const zf_sites *sites, const zf_port *port) {
    rate data = {.per = ZF_PER_DATA}, sum = {.per = ZF_PER_ELEMENT};
    if (port->access == ZF_ACCESS_ALIGNED_I) return (rate){.per = ZF_PER_ELEMENT, .elements = 1};
    if (port->access == ZF_ACCESS_ALIGNED_G) return (rate){.per = ZF_PER_GROUP, .elements = 1};
    if (port->access != ZF_ACCESS_GATHER) return data;
    // Bits at i * n, n at a time; or elements at i plus a constant.
    uint32_t places = 0;
    for (uint32_t k = 0; k < sites->site_count; k++) {
        const zf_site *site = &sites->sites[k];
        if (site->port != port || site->violation != 1 || site->expr == NULL) continue;
        const zf_expr *e = site->expr;
        zf_around around = {site->reduces, site->reduce_count};
        double times = trips(site);
        if (times == 0) return data;
        places++;
        if (e->kind == ZF_X_INDEX && steps_with_i(inst, around, e->b, 0)) {
            if (sum.bits) return data;
            sum.elements += times;
            continue;
        }
        if (e->kind != ZF_X_BITS) return data;
        const zf_expr *at = view(e->b), *count = view(e->c);
        if (places > 1 || at->kind != ZF_X_BINARY || at->op != ZF_OP_MUL || times != 1) return data;
        const zf_expr *factor = is_i(at->a) ? view(at->b) : is_i(at->b) ? view(at->a) : NULL;
        if (factor == NULL || factor->kind != count->kind) return data;
        sum.bits = true;
        if (count->kind == ZF_X_CONST && count->bits == factor->bits) {
            sum.elements = (double)count->bits;
        } else if (count->kind == ZF_X_PARAM && count->port == factor->port) {
            sum.elements = 1;
            sum.param = count->port;
        } else {
            return data;
        }
    }
    return places > 0 ? sum : data;
}

/// True when a stream is read for prefix sums only: their kernel reads it, and its consumers read the sums.
static bool only_for_prefix_sums(const zf_sites *sites, const zf_port *port) {
    bool found = false;
    for (uint32_t k = 0; k < sites->site_count; k++) {
        const zf_site *site = &sites->sites[k];
        if (site->port != port) continue;
        bool inside = false;
        for (uint32_t r = 0; r < site->reduce_count; r++) inside = inside || site->reduces[r]->form == ZF_R_PREFIX;
        if (!inside) return false;
        found = true;
    }
    return found;
}

static void add(tally *t, zf_traffic item) {
    if (t->count < t->limit) t->out[t->count] = item;
    t->count++;
}

static void visit(tally *t, uint32_t n, zf_per per, double factor) {
    const zf_graph *graph = t->plan->graph;
    const zf_graph_node *node = &graph->nodes[n];
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &graph->edges[node->inputs[s]];
        if (edge->access == ZF_ACCESS_NONE) continue;
        bool of_sums = t->kernel->prefix != NULL && n == t->kernel->root;
        if (of_sums ? edge->index != t->kernel->edge : only_for_prefix_sums(&t->sites[n], edge->port)) continue;
        rate r = rate_of(node->inst, &t->sites[n], edge->port);
        if (of_sums) r = (rate){.per = ZF_PER_ELEMENT, .elements = 1};
        zf_per joined = per == ZF_PER_ELEMENT                            ? r.per
                        : per == ZF_PER_GROUP && r.per == ZF_PER_ELEMENT ? ZF_PER_GROUP
                                                                         : ZF_PER_DATA;
        int32_t work = t->plan->edge_work[edge->index];
        if (edge->producer >= 0 && work < 0) {
            visit(t, (uint32_t)edge->producer, joined, factor * r.elements);
            continue;
        }
        if (zf_plan_may_go_to_column(t->plan, work)) continue; // it is there
        zf_traffic item = {.edge = edge->index, .is_work = work >= 0, .per = joined};
        if (joined != ZF_PER_DATA) {
            item.bits = factor * r.elements * (r.bits ? 1 : zf_kind_bits(edge->type.kind) + (edge->type.nullable ? 8 : 0));
            if (r.param != NULL) {
                item.param =
                    *node->path == '\0' ? r.param->name : zf_arena_printf(t->plan->arena, "%s.%s", node->path, r.param->name);
                if (node->codec->param_given[r.param->slot]) {
                    item.bits *= (double)node->codec->param_bits[r.param->slot];
                    item.param = NULL;
                }
            }
        }
        add(t, item);
    }
    if (t->kernel->prefix != NULL && n == t->kernel->root) return;
    for (uint32_t w = 0; w < t->plan->work_count; w++) {
        if (t->plan->works[w].prefix == NULL || t->plan->kernels[t->plan->works[w].kernel].root != n) continue;
        add(t, (zf_traffic){.edge = t->plan->works[w].edge, .is_work = true, .is_sums = true, .per = ZF_PER_DATA});
    }
}

uint32_t zf_kernel_reads(const zf_plan *plan, const zf_sites *sites, const zf_kernel *kernel, zf_traffic *out, uint32_t limit) {
    tally t = {.plan = plan, .sites = sites, .kernel = kernel, .out = out, .limit = limit};
    visit(&t, kernel->root, ZF_PER_ELEMENT, 1);
    return t.count;
}

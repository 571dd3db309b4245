// Work buffers that hold the column's elements, packed in a few bits each: element i of the column is an expression of bits i *
// width .. + width of a buffer that a coder makes, and of nothing else of that buffer. If the code knows the width, and it
// divides the bits of the buffer's elements, each of them is so many elements of the column, and the kernel that makes the
// buffer stores those. Neither the buffer nor the kernel that would read it is then needed.
#include <string.h>

#include "frontend/check/walk.h"
#include "patterns/graph/decision.h"
#include "patterns/plan/plan_internal.h"

enum { MOST_EXPRESSIONS = 40 }; ///< of an element of the column: a lane makes hundreds of them one behind the other

/// How a body uses a stream.
typedef struct uses {
    const zf_plan *plan;
    uint32_t node;
    const zf_port *port, *width;
    bool hoisted; ///< some access was checked for all elements
    bool other;   ///< it is used in another way than wanted
} uses;

static bool is_own_index(const zf_inst *inst, const zf_expr *e) {
    e = zf_expr_meant(e);
    return e->kind == ZF_X_LOCAL && e->local == inst->domain_i;
}

/// The param `width` of which `access` takes bits i * width .. + width; NULL: others.
static const zf_port *scaled(const zf_inst *inst, const zf_expr *access) {
    const zf_expr *at = zf_expr_meant(access->b), *count = zf_expr_meant(access->c);
    if (access->msb || inst->domain_i == NULL || count->kind != ZF_X_PARAM || !zf_kind_is_unsigned(count->type.kind)) return NULL;
    if (at->kind != ZF_X_BINARY || at->op != ZF_OP_MUL || at->type.kind != ZF_K_U64) return NULL;
    bool first = is_own_index(inst, at->a);
    const zf_expr *factor = zf_expr_meant(first ? at->b : at->a);
    if (!first && !is_own_index(inst, at->b)) return NULL;
    return factor->kind == ZF_X_PARAM && factor->port == count->port ? count->port : NULL;
}

static bool see_bits(zf_visitor *visitor, zf_expr *expr) {
    uses *found = visitor->user;
    const zf_inst *inst = found->plan->graph->nodes[found->node].inst;
    if (expr->kind == ZF_X_LEN && expr->a->kind == ZF_X_STREAM) return false;
    if (expr->kind == ZF_X_STREAM && expr->port == found->port) found->other = true;
    if (expr->kind != ZF_X_BITS || expr->a->kind != ZF_X_STREAM || expr->a->port != found->port) return true;
    const zf_port *width = scaled(inst, expr);
    if (width == NULL || (found->width != NULL && found->width != width)) found->other = true;
    found->width = width;
    found->hoisted = found->hoisted || zf_plan_is_hoisted(found->plan, found->node, expr);
    return false; // neither index nor width uses the stream
}

static bool see_elements(zf_visitor *visitor, zf_expr *expr) {
    uses *found = visitor->user;
    if (expr->kind == ZF_X_INDEX && expr->a->kind == ZF_X_STREAM && expr->a->port == found->port)
        found->hoisted = found->hoisted || zf_plan_is_hoisted(found->plan, found->node, expr);
    return true;
}

static uses uses_of(const zf_plan *plan, uint32_t node, const zf_port *port, bool (*see)(zf_visitor *, zf_expr *)) {
    uses found = {.plan = plan, .node = node, .port = port};
    zf_visitor visitor = {.user = &found, .expr = see};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&plan->graph->nodes[node].inst->decode); // only looks
    return found;
}

/// Whether every element of the column, and of each node between, takes what the node below makes at the same index.
static bool is_along(const zf_plan *plan, uint32_t node) {
    while (node != 0) {
        const zf_graph_edge *edge = &plan->graph->edges[plan->graph->nodes[node].output];
        if (edge->port == NULL || edge->port->access != ZF_ACCESS_ALIGNED_I || edge->consumer < 0) return false;
        node = (uint32_t)edge->consumer;
        if (!uses_of(plan, node, edge->port, see_elements).hoisted) return false; // there may be fewer than are made of them
    }
    return true;
}

/// Whether a kernel makes elements one by one that lanes take turns in.
static bool is_coder(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_inst *inst = plan->graph->nodes[kernel->root].inst;
    if (kernel->domain != ZF_DOMAIN_CHUNKS || inst->lanes == 0 || inst->reads_out || kernel->by_warp) return false;
    return zf_kind_is_integer(inst->result.kind) && zf_kind_is_unsigned(inst->result.kind) && !inst->result.nullable;
}

/// Whether all that a kernel reads of work buffers but for `except` was made before kernel `before`.
static bool is_ready(const zf_plan *plan, const zf_kernel *kernel, uint32_t except, uint32_t before) {
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_graph_node *node = &plan->graph->nodes[kernel->nodes[n]];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            int32_t work = plan->edge_work[node->inputs[s]];
            if (work >= 0 && (uint32_t)work != except && plan->works[work].kernel >= before) return false;
        }
    }
    return true;
}

/// Expressions of an element, with those that it pulls; more than the limit where it has loops.
typedef struct cost {
    const zf_plan *plan;
    uint32_t node, count;
} cost;

static bool see_cost(zf_visitor *visitor, zf_expr *expr) {
    cost *sum = visitor->user;
    if (sum->count > MOST_EXPRESSIONS) return false;
    sum->count += expr->kind == ZF_X_REDUCE || expr->kind == ZF_X_MINMAX ? MOST_EXPRESSIONS + 1 : 1;
    if (expr->kind != ZF_X_INDEX || expr->a->kind != ZF_X_STREAM) return true;
    const zf_graph_node *node = &sum->plan->graph->nodes[sum->node];
    const zf_graph_edge *edge = &sum->plan->graph->edges[node->inputs[expr->a->port->slot]];
    if (edge->producer < 0 || sum->plan->edge_work[edge->index] >= 0) return true;
    cost below = {.plan = sum->plan, .node = (uint32_t)edge->producer, .count = sum->count};
    zf_visitor deeper = *visitor;
    deeper.user = &below;
    zf_visit_body(&deeper, (zf_body *)(uintptr_t)&sum->plan->graph->nodes[edge->producer].inst->decode); // only looks
    sum->count = below.count;
    return true;
}

static bool see_loops(zf_visitor *visitor, zf_stmt *stmt) {
    cost *sum = visitor->user;
    bool loops = stmt->kind != ZF_S_LET && stmt->kind != ZF_S_VAR && stmt->kind != ZF_S_ASSIGN && stmt->kind != ZF_S_IF &&
                 stmt->kind != ZF_S_RETURN && stmt->kind != ZF_S_REQUIRE && stmt->kind != ZF_S_EXPR;
    if (loops) sum->count = MOST_EXPRESSIONS + 1;
    return !loops;
}

static bool is_light(const zf_plan *plan, uint32_t node) {
    cost sum = {.plan = plan, .node = node};
    zf_visitor visitor = {.user = &sum, .expr = see_cost, .stmt = see_loops};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&plan->graph->nodes[node].inst->decode);
    return sum.count <= MOST_EXPRESSIONS;
}

const zf_port *zf_work_packs(const zf_plan *plan, uint32_t w) {
    const zf_work *work = &plan->works[w];
    const zf_graph_edge *edge = &plan->graph->edges[work->edge];
    const zf_kernel *last = &plan->kernels[plan->kernel_count - 1];
    zf_type type = plan->graph->edges[0].type;
    if (plan->target->wave == 0 || work->prefix != NULL || edge->consumer < 0) return NULL;
    if (last->sink >= 0 || last->domain != ZF_DOMAIN_ELEMENTS || last->root != 0) return NULL;
    if (!zf_type_storable(type) || type.kind == ZF_K_BOOL) return NULL;
    for (uint32_t s = 0; s < last->step_count; s++)
        if (last->steps[s].kind != ZF_STEP_MAP) return NULL;
    bool read = false;
    for (uint32_t n = 0; n < last->node_count; n++) {
        const zf_inst *inst = plan->graph->nodes[last->nodes[n]].inst;
        if (inst->pattern != ZF_FULLY_PARALLEL || inst->reads_out || zf_inst_has_scan(inst)) return NULL;
        read = read || last->nodes[n] == (uint32_t)edge->consumer;
    }
    if (!read || !is_coder(plan, &plan->kernels[work->kernel]) || !is_ready(plan, last, w, work->kernel)) return NULL;
    uses of = uses_of(plan, (uint32_t)edge->consumer, edge->port, see_bits);
    if (of.other || !of.hoisted || !is_along(plan, (uint32_t)edge->consumer)) return NULL;
    return is_light(plan, 0) ? of.width : NULL;
}

/// Whether a node that makes the column's elements at the same index uses that index for nothing else.
typedef struct index_uses {
    const zf_plan *plan;
    uint32_t node;
    const zf_port *below; ///< the stream along which its elements are made
    bool other;
} index_uses;

static bool see_index(zf_visitor *visitor, zf_expr *expr) {
    index_uses *found = visitor->user;
    const zf_inst *inst = found->plan->graph->nodes[found->node].inst;
    bool takes = expr->kind == ZF_X_INDEX || expr->kind == ZF_X_BITS;
    if (takes && expr->a->kind == ZF_X_STREAM && expr->a->port == found->below) return false;
    if (expr->kind == ZF_X_LOCAL && expr->local == inst->domain_i) found->other = true;
    return true;
}

bool zf_plan_packs_alone(const zf_plan *plan, int32_t work) {
    const zf_graph_edge *edge = &plan->graph->edges[plan->works[work].edge];
    for (;;) {
        index_uses found = {.plan = plan, .node = (uint32_t)edge->consumer, .below = edge->port};
        zf_visitor visitor = {.user = &found, .expr = see_index};
        zf_visit_body(&visitor, (zf_body *)(uintptr_t)&plan->graph->nodes[found.node].inst->decode); // only looks
        if (found.other || found.node == 0) return !found.other;
        edge = &plan->graph->edges[plan->graph->nodes[found.node].output];
    }
}

void zf_plan_find_packed(zf_plan *plan) {
    for (uint32_t w = 0; w < plan->work_count; w++) plan->works[w].packed = zf_work_packs(plan, w);
}

bool zf_plan_param_known(const zf_plan *plan, const uint64_t *shaping, uint32_t node, const zf_port *port, uint64_t *bits) {
    const zf_graph_node *at = &plan->graph->nodes[node];
    if (at->codec->param_given[port->slot]) {
        *bits = at->codec->param_bits[port->slot];
        return true;
    }
    for (uint32_t k = 0; shaping != NULL && k < plan->shaping_count; k++) {
        if (plan->shaping[k] != at->first_param + port->slot) continue;
        *bits = shaping[k];
        return true;
    }
    return false;
}

uint32_t zf_work_unpacks(const zf_work *work, uint64_t width) {
    uint32_t bits = zf_kind_bits(work->type.kind);
    return width > 0 && width <= bits && bits % width == 0 ? bits / (uint32_t)width : 0;
}

uint32_t zf_plan_unpacks(const zf_plan *plan, const uint64_t *shaping, uint32_t kernel) {
    int32_t sink = plan->kernels[kernel].sink;
    uint64_t width;
    if (sink < 0 || plan->works[sink].packed == NULL) return 0;
    uint32_t node = (uint32_t)plan->graph->edges[plan->works[sink].edge].consumer;
    if (!zf_plan_param_known(plan, shaping, node, plan->works[sink].packed, &width)) return 0;
    return zf_work_unpacks(&plan->works[sink], width);
}

bool zf_plan_leaves_out(const zf_plan *plan, const uint64_t *shaping, uint32_t kernel) {
    if (plan->kernels[kernel].sink >= 0) return false;
    for (uint32_t k = 0; k < plan->kernel_count; k++)
        if (zf_plan_unpacks(plan, shaping, k) > 0) return true;
    return false;
}

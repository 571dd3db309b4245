// Which checks a block has, and their program.
#include "patterns/plan/block_checks.h"

#include "patterns/plan/check_program.h"
#include "patterns/plan/steps.h"

enum {
    GROUPS_EACH = 64,    ///< groups for every stored byte and element made (V25)
    GROUPS_BLOCK = 65536 ///< groups that any block may have beside them
};

/// A check, and what is checked.
typedef struct once {
    zf_check check;
    const zf_port *port; ///< V20, V21
    zf_steps steps;      ///< V10
} once;

// ---- Which ----------------------------------------------------------------------------------------------------

static bool is_evaluated(const zf_plan *plan, uint32_t node) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        for (uint32_t n = 0; n < plan->kernels[k].node_count; n++) {
            if (plan->kernels[k].nodes[n] == node) return true;
        }
    }
    return false;
}

/// Whether a node has a group for every element of a stored stream: then it has no more groups than stored bytes.
static bool groups_are_stored(const zf_graph *graph, const zf_graph_node *node) {
    const zf_expr *groups = node->inst->groups.value;
    if (groups == NULL || groups->kind != ZF_X_LEN || groups->a->kind != ZF_X_STREAM) return false;
    const zf_graph_edge *edge = &graph->edges[node->inputs[groups->a->port->slot]];
    return edge->stored >= 0 && edge->type.kind != ZF_K_BOOL;
}

/// Whether the file holds a place for each chunk of a node's output: at least a byte.
static bool has_directory(const zf_plan *plan, uint32_t node) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        if (kernel->root == node && kernel->domain == ZF_DOMAIN_CHUNKS) return kernel->tree >= 0;
    }
    return false;
}

static once *list_checks(zf_arena *arena, const zf_plan *plan, uint32_t *count) {
    const zf_graph *graph = plan->graph;
    uint32_t most = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) most += graph->nodes[n].inst->port_count + 2;
    once *list = ZF_NEW_ARRAY(arena, once, most + 1);
    zf_steps *steps = zf_plan_steps(arena, plan);
    *count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const zf_graph_node *node = &graph->nodes[n];
        for (uint32_t p = 0; p < node->inst->port_count; p++) {
            const zf_port *port = &node->inst->ports[p];
            bool range = port->is_param && port->has_range && !node->codec->param_given[port->slot];
            bool length = !port->is_param && port->fixed;
            if (!range && !length) continue;
            zf_check check = {.violation = range ? 20 : 21, .node = n, .span = port->span, .hoisted = true};
            check.text = zf_arena_printf(arena, range ? "range of %s" : "length of %s", port->name);
            list[(*count)++] = (once){.check = check, .port = port};
        }
        if (!is_evaluated(plan, n)) continue;
        // Whatever it holds, a chunk may take so many rounds of counted loops. Chunks that are in no directory cost a file
        // nothing.
        bool counted = node->inst->pattern == ZF_NON_PARALLEL && node->inst->lanes == 0 && !has_directory(plan, n);
        if (counted && zf_plan_check(plan, n, (zf_span){0}, 10) >= 0) steps[n].decode += ZF_CHUNK_WORK;
        // Few steps an element are within what a block may take, whatever its size.
        if (steps[n].decode > ZF_STEPS_EACH || steps[n].size > ZF_STEPS_EACH / GROUPS_EACH) {
            zf_check work = {
                .violation = 10, .node = n, .span = node->codec->span, .hoisted = true, .text = "steps of all elements"};
            list[(*count)++] = (once){.check = work, .steps = steps[n]};
        }
        if (node->inst->pattern != ZF_GROUP_PARALLEL || groups_are_stored(graph, node)) continue;
        zf_check check = {.violation = 25, .node = n, .span = node->codec->span, .hoisted = true, .text = "number of groups"};
        list[(*count)++] = (once){.check = check};
    }
    return list;
}

// ---- Params, lengths, amounts ---------------------------------------------------------------------------------

static void step(zf_check_builder *b, zf_abi_check_op op) { zf_check_emit(b, op, 0, 0); }

static zf_check_scope scope_of(uint32_t node) { return (zf_check_scope){.node = node, .groups = -1}; }

static const zf_graph_node *node_of(const zf_check_builder *b, uint32_t node) { return &b->plan->graph->nodes[node]; }

/// Pushes whether a param lies in its range.
static void check_range(zf_check_builder *b, uint32_t node, const zf_port *port) {
    zf_check_scope scope = scope_of(node);
    bool is_signed = zf_kind_is_signed(port->type.kind);
    zf_abi_check_op at_most = is_signed ? ZF_CHECK_LE_S : ZF_CHECK_LE_U;
    bool from = port->lo != NULL && (is_signed || port->lo->kind != ZF_X_CONST || port->lo->bits != 0);
    if (from) {
        zf_check_expr(b, &scope, port->lo);
        zf_check_param(b, node, port);
        step(b, at_most);
    }
    if (port->hi != NULL) {
        zf_check_param(b, node, port);
        zf_check_expr(b, &scope, port->hi);
        step(b, at_most);
    }
    if (from && port->hi != NULL) step(b, ZF_CHECK_AND);
    if (!from && port->hi == NULL) zf_check_constant(b, 1);
}

/// Pushes how many chunks a node's outputs are cut into.
static void push_chunks(zf_check_builder *b, uint32_t node) {
    uint64_t size = node_of(b, node)->codec->chunk_size;
    for (uint32_t k = 0; k < b->plan->kernel_count; k++) {
        const zf_kernel *kernel = &b->plan->kernels[k];
        if (kernel->root != node || !zf_kernel_is_uneven(b->plan, kernel)) continue;
        zf_check_chunks(b, (uint32_t)kernel->tree);
        return;
    }
    zf_check_count(b, node_of(b, node)->output);
    zf_check_constant(b, size - 1);
    step(b, ZF_CHECK_ADD);
    zf_check_constant(b, size);
    step(b, ZF_CHECK_DIV_U);
}

/// Pushes whether a stream of a fixed length has it; `per chunk`: for every chunk.
static void check_length(zf_check_builder *b, uint32_t node, const zf_port *port) {
    zf_check_scope scope = scope_of(node);
    uint32_t edge = node_of(b, node)->inputs[port->slot], locals = b->locals;
    zf_check_expr(b, &scope, port->length);
    if (!port->per_chunk) {
        zf_check_count(b, edge);
        step(b, ZF_CHECK_EQ);
        return;
    }
    // A product of what edges can have does not wrap.
    uint32_t each = zf_check_local(b, port->span), chunks = zf_check_local(b, port->span);
    zf_check_emit(b, ZF_CHECK_SET, each, 0);
    push_chunks(b, node);
    zf_check_emit(b, ZF_CHECK_SET, chunks, 0);
    zf_check_emit(b, ZF_CHECK_GET, each, 0);
    zf_check_constant(b, UINT32_MAX);
    step(b, ZF_CHECK_LE_U);
    zf_check_emit(b, ZF_CHECK_GET, chunks, 0);
    step(b, ZF_CHECK_NOT);
    step(b, ZF_CHECK_OR);
    zf_check_count(b, edge);
    zf_check_emit(b, ZF_CHECK_GET, each, 0);
    zf_check_emit(b, ZF_CHECK_GET, chunks, 0);
    step(b, ZF_CHECK_MUL);
    step(b, ZF_CHECK_EQ);
    step(b, ZF_CHECK_AND);
    b->locals = locals;
}

/// Pushes (elements that a node makes + stored bytes) * each + more: the work that the block's size allows.
static void push_allowance(zf_check_builder *b, uint32_t node, uint64_t each, uint64_t more) {
    const zf_graph *graph = b->plan->graph;
    zf_check_count(b, graph->nodes[node].output);
    for (uint32_t s = 0; s < graph->stored_count; s++) {
        uint32_t edge = graph->stored_edges[s];
        zf_check_count(b, edge);
        zf_check_constant(b, zf_kind_size(graph->edges[edge].type.kind)); // of bool: 8 times its size, which is harmless
        step(b, ZF_CHECK_MUL);
        step(b, ZF_CHECK_ADD);
    }
    zf_check_constant(b, each);
    step(b, ZF_CHECK_MUL);
    zf_check_constant(b, more);
    step(b, ZF_CHECK_ADD);
}

static void push_groups(zf_check_builder *b, uint32_t node) {
    zf_check_scope scope = scope_of(node);
    zf_check_expr(b, &scope, node_of(b, node)->inst->groups.value);
}

/// Pushes whether all elements together, each with the most steps that it may take, stay within the block's allowance.
static void check_steps(zf_check_builder *b, uint32_t node, const zf_steps *steps) {
    const zf_inst *inst = node_of(b, node)->inst;
    if (inst->pattern == ZF_NON_PARALLEL && inst->lanes == 0)
        push_chunks(b, node); // its body runs once a chunk
    else
        zf_check_count(b, node_of(b, node)->output);
    push_allowance(b, node, ZF_STEPS_EACH, ZF_STEPS_BLOCK);
    zf_check_constant(b, steps->decode);
    step(b, ZF_CHECK_DIV_U);
    step(b, ZF_CHECK_LE_U);
    if (!inst->groups.present) return;
    push_groups(b, node);
    push_allowance(b, node, ZF_STEPS_EACH, ZF_STEPS_BLOCK);
    zf_check_constant(b, steps->size);
    step(b, ZF_CHECK_DIV_U);
    step(b, ZF_CHECK_LE_U);
    step(b, ZF_CHECK_AND);
}

/// Pushes whether the block's size allows so many groups to be walked over.
static void check_groups(zf_check_builder *b, uint32_t node) {
    push_groups(b, node);
    push_allowance(b, node, GROUPS_EACH, GROUPS_BLOCK);
    step(b, ZF_CHECK_LE_U);
}

// ---- Hoisted accesses -----------------------------------------------------------------------------------------

/// Whether two accesses are of the same stream, each at the index of the domain.
static bool same_access(const zf_hoisted *a, const zf_hoisted *b) {
    if (a->node != b->node || a->body != b->body || a->reduce_count + b->reduce_count > 0) return false;
    const zf_expr *x = a->access, *y = b->access;
    if (x->kind != ZF_X_INDEX || y->kind != ZF_X_INDEX || x->a->kind != ZF_X_STREAM || y->a->kind != ZF_X_STREAM) return false;
    bool plain = x->b->kind == ZF_X_LOCAL && y->b->kind == ZF_X_LOCAL && x->b->local == y->b->local;
    return plain && x->a->port == y->a->port;
}

static bool checked_before(const zf_plan *plan, uint32_t hoisted) {
    for (uint32_t k = 0; k < hoisted; k++)
        if (same_access(&plan->hoisted[k], &plan->hoisted[hoisted])) return true;
    return false;
}

/// Binds a binder to its last value, and pushes whether its range is empty.
static void bind_last(zf_check_builder *b, zf_check_scope *scope, const zf_binder *binder) {
    uint32_t last = zf_check_local(b, binder->local->span);
    zf_check_expr(b, scope, binder->lo);
    zf_check_expr(b, scope, binder->hi);
    step(b, ZF_CHECK_DUP);
    if (!binder->inclusive) {
        zf_check_constant(b, 1);
        step(b, ZF_CHECK_SUB);
    }
    zf_check_emit(b, ZF_CHECK_SET, last, 0);
    step(b, binder->inclusive ? ZF_CHECK_LE_U : ZF_CHECK_LT_U);
    step(b, ZF_CHECK_NOT);
    zf_check_bind(b, scope, binder->local, last);
}

/// Pushes whether bits at..at + count lie in a stream.
static void check_bits(zf_check_builder *b, zf_check_scope *scope, const zf_expr *access, const zf_graph_edge *edge) {
    uint32_t total = zf_check_local(b, access->span), count = zf_check_local(b, access->span);
    zf_check_count(b, edge->index);
    zf_check_constant(b, edge->type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(edge->type.kind));
    step(b, ZF_CHECK_MUL);
    zf_check_emit(b, ZF_CHECK_SET, total, 0);
    zf_check_expr(b, scope, access->c);
    step(b, ZF_CHECK_DUP);
    zf_check_emit(b, ZF_CHECK_SET, count, 0);
    zf_check_emit(b, ZF_CHECK_GET, total, 0);
    step(b, ZF_CHECK_LE_U);
    zf_check_expr(b, scope, access->b);
    zf_check_emit(b, ZF_CHECK_GET, total, 0);
    zf_check_emit(b, ZF_CHECK_GET, count, 0);
    step(b, ZF_CHECK_SUB);
    step(b, ZF_CHECK_LE_U);
    step(b, ZF_CHECK_AND);
}

/// One comparison for all elements of the domain: the last one has the largest index. Nothing is accessed where the domain, or
/// the range of a binder around the access, is empty.
static void check_access(zf_check_builder *b, const zf_hoisted *hoisted) {
    const zf_graph_node *node = node_of(b, hoisted->node);
    const zf_expr *access = hoisted->access;
    const zf_graph_edge *edge = &b->plan->graph->edges[node->inputs[access->a->port->slot]];
    zf_check_scope scope = scope_of(hoisted->node);
    uint32_t locals = b->locals;
    if (node->inst->groups.present) {
        uint32_t groups = zf_check_local(b, access->span);
        push_groups(b, hoisted->node);
        zf_check_emit(b, ZF_CHECK_SET, groups, 0);
        scope.groups = (int32_t)groups;
    }
    uint32_t binders = 0;
    for (uint32_t r = 0; r < hoisted->reduce_count; r++) {
        for (uint32_t k = 0; k < hoisted->reduces[r]->binder_count; k++) {
            bind_last(b, &scope, &hoisted->reduces[r]->binders[k]);
            if (binders++ > 0) step(b, ZF_CHECK_OR);
        }
    }
    if (access->kind == ZF_X_BITS) {
        check_bits(b, &scope, access, edge);
    } else {
        zf_check_expr(b, &scope, access->b);
        zf_check_count(b, edge->index);
        step(b, ZF_CHECK_LT_U);
    }
    if (binders > 0) step(b, ZF_CHECK_OR);
    // The domain is that of the indices that occur, else that of the body.
    bool along_groups = scope.groups >= 0 && !scope.uses_i && (scope.uses_g || hoisted->body == &node->inst->size);
    if (along_groups)
        zf_check_emit(b, ZF_CHECK_GET, (uint32_t)scope.groups, 0);
    else
        zf_check_count(b, node->output);
    step(b, ZF_CHECK_NOT);
    step(b, ZF_CHECK_OR);
    zf_check_emit(b, ZF_CHECK_HOLDS, hoisted->check, 0);
    b->locals = locals;
}

// ---- All ------------------------------------------------------------------------------------------------------

static void make_program(zf_check_builder *b, const once *list, uint32_t count) {
    const zf_plan *plan = b->plan;
    bool any = false;
    for (uint32_t k = 0; k < count; k++) {
        if (list[k].check.violation != 20) continue;
        check_range(b, list[k].check.node, list[k].port);
        zf_check_emit(b, ZF_CHECK_HOLDS, plan->check_count + k, 0);
        step(b, ZF_CHECK_STOP);
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t node = list[k].check.node;
        switch (list[k].check.violation) {
        case 20: continue;
        case 21: check_length(b, node, list[k].port); break;
        case 10: check_steps(b, node, &list[k].steps); break;
        default: check_groups(b, node); break;
        }
        zf_check_emit(b, ZF_CHECK_HOLDS, plan->check_count + k, 0);
        any = true;
    }
    if (any && plan->hoisted_count > 0) step(b, ZF_CHECK_STOP);
    for (uint32_t k = 0; k < plan->hoisted_count; k++) {
        if (!checked_before(plan, k)) check_access(b, &plan->hoisted[k]);
    }
}

const zf_block_checks *zf_plan_block_checks(zf_arena *arena, const zf_plan *plan, zf_diags *diags) {
    zf_block_checks *out = ZF_NEW(arena, zf_block_checks);
    zf_check_builder b = {.arena = arena, .plan = plan, .diags = diags};
    const once *list = list_checks(arena, plan, &out->count);
    make_program(&b, list, out->count);
    if (b.failed) return NULL;
    out->checks = ZF_NEW_ARRAY(arena, zf_check, out->count + 1);
    for (uint32_t k = 0; k < out->count; k++) out->checks[k] = list[k].check;
    out->program = (zf_abi_check_program){.step_count = b.step_count,
                                          .constant_count = b.constant_count,
                                          .local_count = b.most_locals,
                                          .steps = b.steps,
                                          .constants = b.constants};
    return out;
}

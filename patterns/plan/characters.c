// Which streams are the characters of a column of strings as they are: row i is the slice of one stream that begins where the
// lengths before it end, and has its own, so that all rows together are the stream's first bytes, in their order.
#include "patterns/plan/plan_internal.h"

enum { DEPTH_LIMIT = 32 };

const zf_expr *zf_expr_meant(const zf_expr *e) {
    for (unsigned depth = 0; e != NULL && depth < DEPTH_LIMIT; depth++) {
        const zf_local *local = e->kind == ZF_X_LOCAL ? e->local : NULL;
        if (e->effect) return e;
        if (local != NULL && (local->kind == ZF_L_LET || local->kind == ZF_L_FORMAL) && local->init != NULL && !local->is_seq) {
            e = local->init;
        } else if (e->kind == ZF_X_CALL && e->call->body == NULL && !e->call->returns_inside && e->call->value != NULL) {
            e = e->call->value;
        } else if (e->kind == ZF_X_CAST && zf_kind_is_unsigned(e->type.kind) && zf_kind_is_unsigned(e->a->type.kind) &&
                   !e->type.nullable && !e->a->type.nullable && zf_kind_bits(e->type.kind) >= zf_kind_bits(e->a->type.kind)) {
            e = e->a;
        } else {
            return e;
        }
    }
    return e;
}

/// The stream that an expression takes one element of, at the local `at`; NULL: it is nothing of the kind.
static const zf_port *element_at(const zf_expr *e, const zf_local *at) {
    e = zf_expr_meant(e);
    if (e->kind != ZF_X_INDEX || e->a->kind != ZF_X_STREAM) return NULL;
    const zf_expr *index = zf_expr_meant(e->b);
    return index->kind == ZF_X_LOCAL && index->local == at ? e->a->port : NULL;
}

/// The sum of one stream's elements before the output's own, whose terms have 32 bits at most: no block can make it wrap.
static const zf_reduce *sum_before(const zf_inst *inst, const zf_expr *e, const zf_port **lengths) {
    e = zf_expr_meant(e);
    if (e->kind != ZF_X_REDUCE) return NULL;
    const zf_reduce *sum = e->reduce;
    if (sum->form != ZF_R_SCAN || sum->op != ZF_RED_SUM || sum->inclusive || sum->binder_count != 1) return NULL;
    if (sum->domain != inst->domain_i || sum->term->type.kind != ZF_K_U64) return NULL;
    *lengths = element_at(sum->term, sum->binders[0].local);
    if (*lengths == NULL || !zf_kind_is_unsigned((*lengths)->type.kind) || zf_kind_bits((*lengths)->type.kind) > 32) return NULL;
    return sum;
}

const zf_reduce *zf_characters_start(const zf_inst *inst, const zf_port **characters) {
    if (inst->pattern != ZF_FULLY_PARALLEL || inst->domain_i == NULL) return NULL;
    if (inst->decode.stmts != NULL || inst->decode.value == NULL || inst->decode.returns_inside) return NULL;
    const zf_expr *row = zf_expr_meant(inst->decode.value);
    if (row->kind != ZF_X_SLICE || row->a->kind != ZF_X_STREAM || row->c == NULL) return NULL;
    const zf_port *lengths;
    const zf_reduce *start = sum_before(inst, row->b, &lengths);
    const zf_expr *end = zf_expr_meant(row->c);
    if (start == NULL || end->kind != ZF_X_BINARY || end->op != ZF_OP_ADD || end->type.kind != ZF_K_U64) return NULL;
    if (row->a->port == lengths) return NULL; // whoever sums them up reads them
    const zf_port *same;
    const zf_reduce *again = sum_before(inst, end->a, &same);
    if (again == NULL || again->index != start->index || same != lengths || element_at(end->b, inst->domain_i) != lengths)
        return NULL;
    *characters = row->a->port;
    return start;
}

void zf_plan_find_characters(zf_plan *plan) {
    const zf_graph_node *root = &plan->graph->nodes[0];
    if (!zf_delivers_strings(plan->graph, 0) || plan->graph->edges[0].type.nullable) return;
    const zf_port *characters;
    const zf_reduce *start = zf_characters_start(root->inst, &characters);
    if (start == NULL) return;
    int32_t work = plan->edge_work[root->inputs[characters->slot]];
    if (work >= 0 && zf_plan_can_place(plan, (uint32_t)work)) plan->works[work].start = start;
}

bool zf_plan_can_place(const zf_plan *plan, uint32_t work) {
    return plan->target->wave == 0 || !plan->kernels[plan->works[work].kernel].store_first;
}

const zf_work *zf_plan_characters(const zf_plan *plan) {
    for (uint32_t w = 0; w < plan->work_count; w++) {
        if (plan->works[w].start != NULL) return &plan->works[w];
    }
    return NULL;
}

bool zf_plan_may_go_to_column(const zf_plan *plan, int32_t work) { return work >= 0 && plan->works[work].start != NULL; }

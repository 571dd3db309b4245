// Groups whose elements are bytes of one thing: of a string, or of a number, that the group alone says.
#include <string.h>

#include "patterns/plan/plan_internal.h"

/// Whether an expression may be another for other elements of one group.
static bool moves(const zf_expr *e, unsigned depth) {
    if (e == NULL) return false;
    if (depth > 32 || e->effect) return true;
    switch (e->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM:
    case ZF_X_STREAM:
    case ZF_X_TABLE: return false;
    case ZF_X_LOCAL:
        if (e->local->kind == ZF_L_DOMAIN_G) return false;
        if ((e->local->kind != ZF_L_LET && e->local->kind != ZF_L_FORMAL) || e->local->init == NULL) return true;
        return moves(e->local->init, depth + 1);
    case ZF_X_INDEX:
    case ZF_X_SLICE:
    case ZF_X_BINARY:
    case ZF_X_CAST:
    case ZF_X_COND:
    case ZF_X_LEN: return moves(e->a, depth + 1) || moves(e->b, depth + 1) || moves(e->c, depth + 1);
    default: return true;
    }
}

const zf_expr *zf_group_string(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_body *decode = &plan->graph->nodes[kernel->root].inst->decode;
    const zf_expr *e = decode->value;
    zf_type type = plan->graph->edges[kernel->edge].type;
    if (type.kind != ZF_K_U8 || type.nullable || decode->stmts != NULL || decode->returns_inside) return NULL;
    if (e == NULL || e->kind != ZF_X_INDEX || e->a->is_seq || e->a->kind == ZF_X_COND || e->a->type.kind != ZF_K_STRING ||
        e->a->type.nullable)
        return NULL;
    bool by_j = e->b->kind == ZF_X_LOCAL && e->b->local->kind == ZF_L_DOMAIN_J;
    return by_j && !moves(e->a, 0) ? e : NULL;
}

/// Whether e is 8 * j, in either order, or j << 3. In the bytes of a number j is at most 7, which every conversion keeps.
static bool is_bits_before(const zf_expr *e) {
    const zf_expr *j = zf_expr_uncast(e->a), *eight = e->b;
    if (e->kind != ZF_X_BINARY) return false;
    if (e->op == ZF_OP_MUL && e->a->kind == ZF_X_CONST) {
        j = zf_expr_uncast(e->b);
        eight = e->a;
    }
    if (j->kind != ZF_X_LOCAL || j->local->kind != ZF_L_DOMAIN_J || eight->kind != ZF_X_CONST) return false;
    return (e->op == ZF_OP_MUL && eight->bits == 8) || (e->op == ZF_OP_SHL && eight->bits == 3);
}

const zf_expr *zf_group_byte_of_number(const zf_expr *e) {
    if (e->kind != ZF_X_CAST || e->type.kind != ZF_K_U8 || e->a->kind != ZF_X_BINARY || e->a->op != ZF_OP_SHR) return NULL;
    const zf_expr *number = e->a->a;
    if (zf_kind_is_signed(number->type.kind) || number->type.nullable || !is_bits_before(e->a->b)) return NULL;
    return moves(number, 0) ? NULL : number;
}

static bool is_of_number(const zf_expr *e) {
    if (e->kind == ZF_X_COND) return !moves(e->a, 0) && is_of_number(e->b) && is_of_number(e->c);
    return zf_group_byte_of_number(e) != NULL || !moves(e, 0);
}

bool zf_group_is_number(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_inst *inst = plan->graph->nodes[kernel->root].inst;
    const zf_body *decode = &inst->decode, *size = &inst->size;
    zf_type type = plan->graph->edges[kernel->edge].type;
    if (type.kind != ZF_K_U8 || type.nullable || decode->stmts != NULL || decode->returns_inside || decode->value == NULL)
        return false;
    if (size->value == NULL || size->returns_inside || size->value->range.lo < 0 || size->value->range.hi > 8) return false;
    return is_of_number(decode->value);
}

// Whether groups of a kernel are strings of an edge, one each.
static bool takes_for_groups(const zf_plan *plan, const zf_kernel *kernel, uint32_t edge) {
    const zf_expr *access = kernel->domain == ZF_DOMAIN_GROUPS ? zf_group_string(plan, kernel) : NULL;
    if (access == NULL || access->a->kind != ZF_X_INDEX || access->a->a->kind != ZF_X_STREAM) return false;
    return plan->graph->nodes[kernel->root].inputs[access->a->a->port->slot] == edge;
}

// Whether a kernel that makes a column of strings reads those of an edge.
static bool takes_for_rows(const zf_plan *plan, const zf_kernel *kernel, uint32_t edge) {
    if (kernel->sink >= 0 || plan->graph->edges[kernel->edge].type.kind != ZF_K_STRING) return false;
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        if (plan->graph->edges[edge].consumer == (int32_t)kernel->nodes[n]) return true;
    }
    return false;
}

bool zf_work_has_short_strings(const zf_plan *plan, uint32_t w) {
    const zf_work *work = &plan->works[w];
    if (plan->target->wave == 0 || work->prefix != NULL || work->type.kind != ZF_K_STRING) return false;
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_kernel *kernel = &plan->kernels[k];
        if (takes_for_groups(plan, kernel, work->edge) || takes_for_rows(plan, kernel, work->edge)) return true;
    }
    return false;
}

void zf_plan_find_short_strings(zf_plan *plan) {
    for (uint32_t w = 0; w < plan->work_count; w++) plan->works[w].short_strings = zf_work_has_short_strings(plan, w);
}

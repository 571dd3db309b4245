// What is checked once per block, before any kernel runs: accesses that are monotone in the domain index (their last element
// decides), ranges of params, lengths of streams with a fixed one, and how many groups there are.
#include "codegen/kernel/kernel.h"

enum { GROUPS_EACH = 64 }; ///< groups for every stored byte and element made

// ---- Which ----------------------------------------------------------------------------------------------------

static bool evaluated(const zf_plan *plan, uint32_t node) {
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        for (uint32_t n = 0; n < plan->kernels[k].node_count; n++) {
            if (plan->kernels[k].nodes[n] == node) return true;
        }
    }
    return false;
}

// A group for every element of a stored stream: so there are no more than stored bytes.
static bool groups_are_stored(const zf_graph *graph, const zf_graph_node *node) {
    const zf_expr *groups = node->inst->groups.value;
    if (groups == NULL || groups->kind != ZF_X_LEN || groups->a->kind != ZF_X_STREAM) return false;
    const zf_graph_edge *edge = &graph->edges[node->inputs[groups->a->port->slot]];
    return edge->stored >= 0 && edge->type.kind != ZF_K_BOOL;
}

zf_once_check *zf_once_checks(zf_arena *arena, const zf_plan *plan, uint32_t *count) {
    const zf_graph *graph = plan->graph;
    uint32_t most = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) most += graph->nodes[n].inst->port_count + 1;
    zf_once_check *checks = ZF_NEW_ARRAY(arena, zf_once_check, most + graph->node_count + 1);
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
            checks[(*count)++] = (zf_once_check){.check = check, .port = port};
        }
        if (!evaluated(plan, n)) continue;
        // Whatever it holds, a chunk may take so many turns of counted loops: tiny chunks add up.
        bool counted = node->inst->pattern == ZF_NON_PARALLEL && node->inst->lanes == 0;
        if (counted && zf_plan_check(plan, n, (zf_span){0}, 10) >= 0) steps[n].decode += ZF_CHUNK_WORK;
        // Few steps an element are within what a block may take, whatever its size.
        if (steps[n].decode > ZF_STEPS_EACH || steps[n].size > ZF_STEPS_EACH / GROUPS_EACH) {
            zf_check work = {
                .violation = 10, .node = n, .span = node->codec->span, .hoisted = true, .text = "steps of all elements"};
            checks[(*count)++] = (zf_once_check){.check = work, .steps = steps[n]};
        }
        if (node->inst->pattern != ZF_GROUP_PARALLEL || groups_are_stored(graph, node)) continue;
        zf_check check = {.violation = 25, .node = n, .span = node->codec->span, .hoisted = true, .text = "number of groups"};
        checks[(*count)++] = (zf_once_check){.check = check};
    }
    return checks;
}

// ---- Hoisted accesses -----------------------------------------------------------------------------------------

// Binds the binders of the reductions that enclose an access to their last values. *v_some: whether there are any.
static size_t bind_last(zf_lower *lower, zf_lower_env *env, const zf_hoisted *hoisted, zf_cg_binding *bindings, size_t most,
                        LLVMValueRef *v_some) {
    zf_cg *cg = lower->cg;
    size_t count = 0;
    for (uint32_t r = 0; r < hoisted->reduce_count; r++) {
        const zf_reduce *reduce = hoisted->reduces[r];
        for (uint32_t b = 0; b < reduce->binder_count && count < most; b++) {
            const zf_binder *binder = &reduce->binders[b];
            LLVMValueRef v_lo = zf_cg_eval_expr(cg, &env->env, hoisted->body, binder->lo, bindings, count).v;
            LLVMValueRef v_hi = zf_cg_eval_expr(cg, &env->env, hoisted->body, binder->hi, bindings, count).v;
            LLVMValueRef v_any = zf_cg_icmp(cg, binder->inclusive ? LLVMIntULE : LLVMIntULT, v_lo, v_hi);
            *v_some = zf_cg_and(cg, *v_some, zf_cg_within(cg, v_any, "accesses of an empty range"));
            LLVMValueRef v_last = binder->inclusive ? v_hi : zf_cg_sub(cg, v_hi, zf_cg_i64(cg, 1));
            bindings[count].local = binder->local;
            bindings[count++].value = zf_cg_scalar(zf_type_of(ZF_K_U64), v_last);
        }
    }
    return count;
}

static LLVMValueRef as_index(zf_cg *cg, zf_cg_value value) {
    return zf_cg_resize(cg, value.v, cg->ty_i64, zf_kind_is_signed(value.type.kind));
}

// Whether two accesses are of the same stream, each at the very index of the domain.
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

// One comparison for all elements of the domain: the last one has the largest index.
static void check_access(zf_lower *lower, const zf_hoisted *hoisted) {
    zf_cg *cg = lower->cg;
    const zf_graph_node *node = &lower->graph->nodes[hoisted->node];
    zf_lower_env env = zf_lower_env_make(lower, hoisted->node);
    LLVMValueRef v_count = zf_lower_count(lower, node->output), v_one = zf_cg_i64(cg, 1), v_zero = zf_cg_i64(cg, 0);
    LLVMValueRef v_some = zf_cg_i1(cg, true), v_groups = NULL;
    env.v_i = zf_cg_sub(cg, v_count, v_one);
    if (node->inst->groups.present) {
        v_groups = zf_cg_eval_body(cg, &env.env, &node->inst->groups).v;
        env.v_g = zf_cg_sub(cg, v_groups, v_one);
        env.v_j = v_zero;
        env.uses_i = env.uses_g = false;
    }
    zf_cg_binding bindings[32];
    size_t count = bind_last(lower, &env, hoisted, bindings, sizeof(bindings) / sizeof(bindings[0]), &v_some);
    const zf_expr *access = hoisted->access;
    const zf_graph_edge *edge = &lower->graph->edges[node->inputs[access->a->port->slot]];
    LLVMValueRef v_length = zf_lower_count(lower, edge->index);
    LLVMValueRef v_at = as_index(cg, zf_cg_eval_expr(cg, &env.env, hoisted->body, access->b, bindings, count));
    LLVMValueRef v_ok;
    if (access->kind == ZF_X_BITS) {
        unsigned bits = edge->type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(edge->type.kind);
        LLVMValueRef v_bits = as_index(cg, zf_cg_eval_expr(cg, &env.env, hoisted->body, access->c, bindings, count));
        LLVMValueRef v_total = zf_cg_mul(cg, v_length, zf_cg_i64(cg, bits));
        v_ok = zf_cg_icmp(cg, LLVMIntULE, v_at, zf_cg_sub(cg, v_total, v_bits));
        LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_bits, v_total);
        v_ok = zf_cg_and(cg, zf_cg_within(cg, v_fits, "as many bits as the stream has"), v_ok);
    } else {
        v_ok = zf_cg_icmp(cg, LLVMIntULT, v_at, v_length);
    }
    // Nothing is accessed where the domain is empty: that of the indices that occur, else of the body.
    bool along_groups = v_groups != NULL && !env.uses_i && (env.uses_g || hoisted->body == &node->inst->size);
    LLVMValueRef v_any = zf_cg_icmp(cg, LLVMIntNE, along_groups ? v_groups : v_count, v_zero);
    v_some = zf_cg_and(cg, v_some, zf_cg_within(cg, v_any, "accesses of an empty domain"));
    zf_lower_check(lower, zf_cg_and(cg, v_some, zf_cg_not(cg, v_ok)), hoisted->check, "V01, hoisted");
}

// ---- The others -----------------------------------------------------------------------------------------------

static LLVMValueRef param_ok(zf_lower *lower, zf_lower_env *env, const zf_port *port) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v = env->env.param(cg, &env->env, port).v, v_ok = zf_cg_i1(cg, true);
    bool is_signed = zf_kind_is_signed(port->type.kind);
    if (!zf_kind_is_integer(port->type.kind)) return v_ok;
    for (unsigned side = 0; side < 2; side++) {
        const zf_expr *bound = side == 0 ? port->lo : port->hi;
        if (bound == NULL) continue;
        zf_cg_value end = zf_cg_eval_expr(cg, &env->env, NULL, bound, NULL, 0);
        LLVMValueRef v_end = zf_cg_resize(cg, end.v, LLVMTypeOf(v), zf_kind_is_signed(end.type.kind));
        LLVMIntPredicate p = side == 0 ? (is_signed ? LLVMIntSGE : LLVMIntUGE) : (is_signed ? LLVMIntSLE : LLVMIntULE);
        if (side == 0 && !is_signed && LLVMIsNull(v_end)) continue; // says nothing
        LLVMValueRef v_inside = zf_cg_icmp(cg, p, v, v_end);
        v_ok = zf_cg_and(cg, v_ok, zf_cg_holds(cg, ZF_SITE_CHECK, v_inside, side == 0 ? "V20, from below" : "V20, from above"));
    }
    return v_ok;
}

static LLVMValueRef length_ok(zf_lower *lower, zf_lower_env *env, const zf_port *port) {
    zf_cg *cg = lower->cg;
    zf_cg_value length = zf_cg_eval_expr(cg, &env->env, NULL, port->length, NULL, 0);
    LLVMValueRef v_length = zf_cg_resize(cg, length.v, cg->ty_i64, zf_kind_is_signed(length.type.kind));
    if (!port->per_chunk) return zf_cg_icmp(cg, LLVMIntEQ, env->env.length(cg, &env->env, port), v_length);
    // So many for every chunk. A product of what edges can have does not wrap.
    LLVMValueRef v_chunks = zf_lower_chunk_count(lower, env->node), v_zero = zf_cg_i64(cg, 0);
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_length, zf_cg_i64(cg, UINT32_MAX));
    LLVMValueRef v_all = zf_cg_icmp(cg, LLVMIntEQ, env->env.length(cg, &env->env, port), zf_cg_mul(cg, v_length, v_chunks));
    v_fits = zf_cg_or(cg, v_fits, zf_cg_icmp(cg, LLVMIntEQ, v_chunks, v_zero));
    return zf_cg_and(cg, v_fits, v_all);
}

/// Elements that a node makes, and stored bytes: what bounds how much a block may ask for.
static LLVMValueRef size_of_block(zf_lower *lower, const zf_lower_env *env) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_work = zf_lower_count(lower, lower->graph->nodes[env->node].output);
    for (uint32_t s = 0; s < lower->graph->stored_count; s++) {
        uint32_t edge = lower->graph->stored_edges[s];
        unsigned bytes = zf_kind_size(lower->graph->edges[edge].type.kind); // of bool: 8 times what it takes, which is harmless
        v_work = zf_cg_add(cg, v_work, zf_cg_mul(cg, zf_lower_count(lower, edge), zf_cg_i64(cg, bytes)));
    }
    return v_work;
}

/// All elements together, each with the most steps that it can be: a small block cannot ask for days.
static LLVMValueRef steps_ok(zf_lower *lower, zf_lower_env *env, const zf_steps *steps) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_most = zf_cg_mul(cg, size_of_block(lower, env), zf_cg_i64(cg, ZF_STEPS_EACH));
    v_most = zf_cg_add(cg, v_most, zf_cg_i64(cg, ZF_STEPS_BLOCK));
    LLVMValueRef v_count = zf_lower_count(lower, lower->graph->nodes[env->node].output);
    const zf_inst *inst = env->env.inst;
    if (inst->pattern == ZF_NON_PARALLEL && inst->lanes == 0)
        v_count = zf_lower_chunk_count(lower, env->node); // its body runs once a chunk
    LLVMValueRef v_elements = LLVMBuildUDiv(cg->builder, v_most, zf_cg_i64(cg, steps->decode), "");
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, v_count, v_elements);
    if (!env->env.inst->groups.present) return v_ok;
    LLVMValueRef v_groups = LLVMBuildUDiv(cg->builder, v_most, zf_cg_i64(cg, steps->size), "");
    return zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntULE, zf_cg_eval_body(cg, &env->env, &env->env.inst->groups).v, v_groups));
}

// What walks over groups is bounded by the block's size.
static LLVMValueRef groups_ok(zf_lower *lower, zf_lower_env *env) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_most = zf_cg_mul(cg, size_of_block(lower, env), zf_cg_i64(cg, GROUPS_EACH));
    v_most = zf_cg_add(cg, v_most, zf_cg_i64(cg, 65536));
    return zf_cg_icmp(cg, LLVMIntULE, zf_cg_eval_body(cg, &env->env, &env->env.inst->groups).v, v_most);
}

// Goes on where nothing has failed yet.
static void go_on(zf_lower *lower, LLVMBasicBlockRef bb_report, const char *name) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_next = zf_cg_block(cg, name);
    LLVMValueRef v_fail = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_fail, zf_cg_i32(cg, ZF_NO_FAILURE)), bb_next, bb_report);
    zf_cg_enter(cg, bb_next);
}

void zf_lower_checks(zf_cg *cg, const zf_lower_input *input) {
    uint32_t count;
    zf_once_check *checks = zf_once_checks(cg->arena, input->plan, &count);
    if (input->plan->hoisted_count + count == 0) return;
    zf_lower lower;
    zf_lower_init(&lower, cg, input, NULL);
    LLVMBasicBlockRef bb_first = zf_lower_open(&lower, ZF_LOWER_CHECK_NAME);
    // First the ranges of params, one after the other: what else is checked is computed from them, by divisions and shifts that
    // mean nothing outside. Then what the proofs behind the accesses rest on. Of each the smallest number is reported.
    LLVMBasicBlockRef bb_report = zf_cg_block(cg, "report");
    for (uint32_t k = 0; k < count; k++) {
        if (checks[k].check.violation != 20) continue;
        zf_lower_env env = zf_lower_env_make(&lower, checks[k].check.node);
        LLVMValueRef v_ok = param_ok(&lower, &env, checks[k].port); // each end of the range is a check
        cg->v_guard = NULL;
        zf_lower_fail(&lower, zf_cg_not(cg, v_ok), input->plan->check_count + k);
        go_on(&lower, bb_report, "param_good");
    }
    for (uint32_t k = 0; k < count; k++) {
        if (checks[k].check.violation == 20) continue;
        zf_lower_env env = zf_lower_env_make(&lower, checks[k].check.node);
        LLVMValueRef v_ok = checks[k].check.violation == 21   ? length_ok(&lower, &env, checks[k].port)
                            : checks[k].check.violation == 10 ? steps_ok(&lower, &env, &checks[k].steps)
                                                              : groups_ok(&lower, &env);
        cg->v_guard = NULL;
        uint32_t number = input->plan->check_count + k;
        switch (checks[k].check.violation) {
        case 21: zf_lower_check(&lower, zf_cg_not(cg, v_ok), number, "V21"); break;
        case 10: zf_lower_check(&lower, zf_cg_not(cg, v_ok), number, "V10, all elements"); break;
        default: zf_lower_check(&lower, zf_cg_not(cg, v_ok), number, "V25"); break;
        }
    }
    go_on(&lower, bb_report, "accesses");
    for (uint32_t k = 0; k < input->plan->hoisted_count; k++) {
        if (!checked_before(input->plan, k)) check_access(&lower, &input->plan->hoisted[k]);
        cg->v_guard = NULL;
    }
    zf_cg_br(cg, bb_report);
    LLVMMoveBasicBlockAfter(bb_report, LLVMGetLastBasicBlock(cg->function));
    zf_cg_enter(cg, bb_report);
    zf_lower_report(&lower, zf_cg_i64(cg, 0));
    zf_lower_close(&lower, ZF_LOWER_CHECK_NAME, bb_first);
}

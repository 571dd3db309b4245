// How bodies reach what surrounds them in a kernel: params, indices, elements, bits, checks.
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel.h"
#include "codegen/kernel/kernel_chunks.h"

static zf_kernel_env *env_of(zf_cg_env *env) { return (zf_kernel_env *)env; }

static const zf_graph_node *node_of(const zf_kernel_env *env) { return &env->lower->graph->nodes[env->node]; }

static zf_cg_value param(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port) {
    zf_kernel_env *env = env_of(cg_env);
    uint64_t bits;
    if (zf_lower_param_known(env->lower, env->node, port, &bits))
        return zf_cg_scalar(port->type, zf_cg_const(cg, port->type, bits));
    LLVMValueRef v_word = zf_lower_word(env->lower, ZF_SLOT_PARAM, node_of(env)->first_param + port->slot, 0);
    return zf_cg_scalar(port->type, zf_cg_from_word(cg, port->type, v_word));
}

static LLVMValueRef domain(zf_cg *cg, zf_cg_env *cg_env, const zf_local *local) {
    zf_kernel_env *env = env_of(cg_env);
    env->uses_i = env->uses_i || local->kind == ZF_L_DOMAIN_I;
    env->uses_g = env->uses_g || local->kind == ZF_L_DOMAIN_G;
    env->uses_j = env->uses_j || local->kind == ZF_L_DOMAIN_J;
    LLVMValueRef v = local->kind == ZF_L_DOMAIN_I   ? env->v_i
                     : local->kind == ZF_L_DOMAIN_G ? env->v_g
                     : local->kind == ZF_L_DOMAIN_J ? env->v_j
                                                    : NULL;
    if (v != NULL) return v;
    zf_cg_unsupported(cg, local->span, "`%s` has no value here", local->name);
    return zf_cg_i64(cg, 0);
}

static LLVMValueRef length(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port) {
    (void)cg;
    zf_kernel_env *env = env_of(cg_env);
    return zf_lower_count(env->lower, port == NULL ? node_of(env)->output : zf_lower_edge(env->lower, env->node, port)->index);
}

// ---- Checks ---------------------------------------------------------------------------------------------------

// V05 is numbered by the stream that is pulled, the others by the place in the text.
static int32_t number_of(const zf_kernel_env *env, unsigned violation, zf_span span, const zf_expr *at) {
    if (violation == 5 && at != NULL) {
        const zf_expr *of = at->a;
        while (of != NULL && of->kind == ZF_X_SLICE) of = of->a;
        if (of != NULL && of->kind == ZF_X_STREAM) span = of->port->span;
    }
    return zf_plan_check(env->lower->plan, env->node, span, violation);
}

bool zf_lower_is_hoisted(const zf_kernel_env *env, unsigned violation, zf_span span, const zf_expr *at) {
    if (violation == 5) return number_of(env, violation, span, at) < 0; // the producer's range proves it
    return violation == 1 && at != NULL && zf_plan_is_hoisted(env->lower->plan, env->node, at);
}

static LLVMValueRef check(zf_cg *cg, zf_cg_env *cg_env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    zf_kernel_env *env = env_of(cg_env);
    int32_t number = number_of(env, violation, span, at);
    if (number < 0) {
        zf_cg_unsupported(cg, span, "the plan has no check V%02u here", violation);
        return v_ok;
    }
    if (env->lower->chunk != NULL) {
        if (!cg->unchecked) zf_chunk_stop_unless(env->lower, v_ok, (uint32_t)number);
        return NULL;
    }
    if (cg->unchecked) { // then operands are harmless of their own, but where an element is made up
        if (env->v_counts == NULL || env->v_alive == NULL) return env->v_counts == NULL ? env->v_alive : env->v_counts;
        return zf_cg_and(cg, env->v_counts, env->v_alive);
    }
    LLVMValueRef v_bad = zf_cg_not(cg, v_ok);
    if (env->v_counts != NULL) v_bad = zf_cg_mask(cg, v_bad, env->v_counts, "checks of groups that are not walked");
    if (env->v_alive != NULL) v_bad = zf_cg_mask(cg, v_bad, env->v_alive, "checks of elements that do not exist");
    zf_lower_fail(env->lower, v_bad, (uint32_t)number);
    return v_ok;
}

// ---- Elements -------------------------------------------------------------------------------------------------

const zf_graph_edge *zf_lower_edge(const zf_kernel_build *lower, uint32_t node, const zf_port *port) {
    return &lower->graph->edges[lower->graph->nodes[node].inputs[port->slot]];
}

bool zf_lower_has_in_memory(const zf_plan *plan, uint32_t edge) {
    return plan->graph->edges[edge].stored >= 0 || plan->edge_work[edge] >= 0;
}

bool zf_lower_in_memory(const zf_kernel_build *lower, uint32_t edge) { return zf_lower_has_in_memory(lower->plan, edge); }

LLVMValueRef zf_lower_pointer(zf_kernel_build *lower, uint32_t edge) {
    const zf_graph_edge *at = &lower->graph->edges[edge];
    if (at->stored < 0) return lower->v_works[lower->plan->edge_work[edge]];
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v =
        zf_cg_at(lower->cg, lower->cg->ty_i8, lower->v_base, zf_lower_word(lower, ZF_SLOT_OFFSET, (uint32_t)at->stored, 0));
    zf_lower_setup_end(lower, bb_before);
    return v;
}

// Pointers to strings are of one type wherever they come from, so that values can be selected and kept in variables.
static LLVMTypeRef global_pointer(const zf_kernel_build *lower) {
    const zf_simt_ops *ops = lower->cg->target->simt;
    return ops == NULL ? lower->cg->ty_ptr : LLVMPointerTypeInContext(lower->cg->context, ops->global_space);
}

static LLVMValueRef cast_space(zf_cg *cg, LLVMValueRef v_pointer, LLVMTypeRef ty) {
    return LLVMTypeOf(v_pointer) == ty ? v_pointer : LLVMBuildAddrSpaceCast(cg->builder, v_pointer, ty, "");
}

LLVMValueRef zf_lower_generic_pointer(const zf_kernel_build *lower, LLVMValueRef v_pointer) {
    return cast_space(lower->cg, v_pointer, lower->cg->ty_ptr);
}

LLVMValueRef zf_lower_text_address(zf_kernel_build *lower, const zf_cg_value *value) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_pointer = cast_space(cg, zf_cg_text_pointer(cg, &value->seq), global_pointer(lower));
    return LLVMBuildPtrToInt(cg->builder, v_pointer, cg->ty_i64, "");
}

static zf_cg_value load_value(zf_kernel_build *lower, uint32_t edge, zf_type type, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_pointer = zf_lower_pointer(lower, edge);
    if (type.kind == ZF_K_STRING) {
        LLVMTypeRef ty = LLVMArrayType2(cg->ty_i64, ZF_HANDLE_BYTES / 8);
        LLVMValueRef v_at = zf_cg_at(cg, ty, v_pointer, v_index);
        zf_cg_value value = {.type = type};
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
        lower->ops->string_load(lower, edge, v_at, &value.seq);
        return value;
    }
    if (type.kind == ZF_K_BOOL) {
        LLVMValueRef v_byte = zf_cg_load(
            cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, v_pointer, LLVMBuildLShr(cg->builder, v_index, zf_cg_i64(cg, 3), "")), 1);
        LLVMValueRef v_shift = zf_cg_resize(cg, zf_cg_and(cg, v_index, zf_cg_i64(cg, 7)), cg->ty_i8, false);
        v_byte = LLVMBuildLShr(cg->builder, v_byte, v_shift, "");
        return zf_cg_scalar(type, zf_cg_resize(cg, v_byte, cg->ty_i1, false));
    }
    LLVMTypeRef ty = zf_cg_type(cg, type);
    return zf_cg_scalar(type, zf_cg_load(cg, ty, zf_cg_at(cg, ty, v_pointer, v_index), zf_kind_size(type.kind)));
}

zf_cg_value zf_lower_load(zf_kernel_build *lower, uint32_t edge, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    zf_type type = zf_type_strip(lower->graph->edges[edge].type);
    if (type.nullable) {
        LLVMValueRef v_valid =
            zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, zf_lower_validity_pointer(lower, edge), v_index), 1);
        zf_cg_value value = load_value(lower, edge, zf_type_value(type), v_index);
        value.type = type;
        value.v_valid = zf_cg_icmp(cg, LLVMIntNE, v_valid, LLVMConstNull(cg->ty_i8));
        return value;
    }
    return load_value(lower, edge, type, v_index);
}

bool zf_lower_is_index(const zf_kernel_env *env, const zf_expr *expr) {
    while (expr != NULL && expr->kind == ZF_X_LOCAL) {
        const zf_local *local = expr->local;
        if (local == env->binder) return true;
        if (local->kind == ZF_L_DOMAIN_G) return env->v_g != NULL;
        if (local->kind == ZF_L_DOMAIN_I) return env->v_g == NULL;
        if ((local->kind != ZF_L_LET && local->kind != ZF_L_FORMAL) || local->init == NULL) return false;
        expr = local->init;
    }
    return false;
}

LLVMValueRef zf_lower_own_index(const zf_kernel_env *env) { return env->v_g != NULL ? env->v_g : env->v_i; }

LLVMValueRef zf_lower_tame(const zf_kernel_env *env, LLVMValueRef v_index) {
    zf_cg *cg = env->lower->cg;
    if (env->v_alive == NULL) return v_index;
    return zf_cg_select(cg, zf_cg_within(cg, env->v_alive, "elements that do not exist"), v_index, zf_cg_i64(cg, 0));
}

static LLVMValueRef nonempty(zf_kernel_build *lower, uint32_t node) {
    if (lower->v_nonempty[node] == NULL) {
        LLVMValueRef v_count = zf_lower_count(lower, lower->graph->nodes[node].output);
        LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
        lower->v_nonempty[node] = zf_cg_icmp(lower->cg, LLVMIntNE, v_count, zf_cg_i64(lower->cg, 0));
        zf_lower_setup_end(lower, bb_before);
    }
    return lower->v_nonempty[node];
}

bool zf_lower_along_groups(const zf_kernel_env *env, const zf_port *port) {
    const zf_expr *groups = node_of(env)->inst->groups.value;
    if (env->v_g == NULL || groups == NULL || groups->kind != ZF_X_LEN || groups->a->kind != ZF_X_STREAM) return false;
    return groups->a->port == port;
}

bool zf_lower_takes_own(const zf_kernel_env *env, const zf_expr *access) {
    return access != NULL && access->kind == ZF_X_INDEX && access->a->kind == ZF_X_STREAM && zf_lower_is_index(env, access->b);
}

// Where a check has vouched for every index of the domain, a guard need not. Prefix sums run along the stream itself.
bool zf_lower_is_vouched(const zf_kernel_env *env, const zf_port *port, const zf_expr *access, bool hoisted) {
    const zf_kernel *kernel = env->lower->kernel;
    bool along = kernel->prefix != NULL && kernel->edge == zf_lower_edge(env->lower, env->node, port)->index;
    return zf_lower_takes_own(env, access) && (along || zf_lower_along_groups(env, port) || hoisted);
}

zf_kernel_env zf_lower_child_env(const zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_index, bool vouched) {
    zf_kernel_build *lower = env->lower;
    zf_kernel_env child = zf_lower_env_make(lower, (uint32_t)edge->producer);
    child.v_i = v_index;
    child.v_counts = env->v_counts;
    child.v_alive = env->v_alive;
    if (!vouched && lower->chunk == NULL) {
        // The index may have been substituted by 0 after a failed check, even where the child has no element 0.
        LLVMValueRef v_some = nonempty(lower, child.node);
        child.v_alive = env->v_alive == NULL ? v_some : zf_cg_and(lower->cg, env->v_alive, v_some);
    }
    return child;
}

// ---- Bits -----------------------------------------------------------------------------------------------------

uint64_t zf_lower_most_bits(const zf_expr *access) {
    return access->c->range.lo >= 0 && access->c->range.hi < 64 ? (uint64_t)access->c->range.hi : 64;
}

bool zf_lower_placed_bits(const zf_kernel_env *env, const zf_expr *access, uint64_t *stride, uint64_t *from, uint64_t *count) {
    uint64_t none;
    return zf_lower_affine(env, access->b, stride, from) && zf_lower_affine(env, access->c, &none, count) && none == 0;
}

LLVMValueRef zf_lower_load_bits(zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_at, LLVMValueRef v_count,
                                const zf_expr *access) {
    zf_cg *cg = env->lower->cg;
    v_at = zf_lower_tame(env, v_at);
    LLVMValueRef v_from = zf_lower_pointer(env->lower, edge->index);
    return zf_cg_load_bits(cg, v_from, v_at, v_count, zf_lower_most_bits(access), access->msb);
}

static LLVMValueRef slice(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef *v_from, LLVMValueRef *v_to) {
    zf_kernel_env *env = env_of(cg_env);
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    if (!zf_lower_in_memory(env->lower, edge->index)) {
        zf_cg_unsupported(cg, port->span, "a string of a stream that is not in memory");
        return LLVMConstNull(cg->ty_ptr);
    }
    *v_from = zf_lower_tame(env, *v_from);
    *v_to = zf_lower_tame(env, *v_to);
    return zf_lower_generic_pointer(env->lower, zf_lower_pointer(env->lower, edge->index));
}

// ---- Reductions -----------------------------------------------------------------------------------------------

// sum(k in a..b: term) of prefix sums P is P[b] - P[a]; the kernel that made them checked the terms.
static bool prefix_difference(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    zf_kernel_env *env = env_of(zf_cg_frame_env(frame));
    zf_kernel_build *lower = env->lower;
    const zf_reduce *reduce = expr->reduce;
    int32_t work = zf_plan_prefix_work(lower->plan, env->node, reduce);
    if (work < 0 || (reduce->op != ZF_RED_SUM && reduce->op != ZF_RED_XOR)) return false;
    const zf_binder *binder = &reduce->binders[0];
    LLVMValueRef v_from = zf_cg_expr(cg, frame, binder->lo).v, v_to = zf_cg_expr(cg, frame, binder->hi).v;
    LLVMValueRef v_count = zf_lower_count(lower, lower->plan->works[work].edge), v_zero = zf_cg_i64(cg, 0);
    // Elements a..b, b inclusive perhaps: none, or all of them exist. b + 1 may wrap only where there are none or too many.
    LLVMValueRef v_some = zf_cg_icmp(cg, binder->inclusive ? LLVMIntULE : LLVMIntULT, v_from, v_to);
    LLVMValueRef v_ok = zf_cg_icmp(cg, binder->inclusive ? LLVMIntULT : LLVMIntULE, v_to, v_count);
    if (binder->inclusive) v_to = zf_cg_add(cg, v_to, zf_cg_i64(cg, 1));
    LLVMValueRef v_wrong = zf_cg_and(cg, v_some, zf_cg_not(cg, v_ok));
    if (cg->v_guard != NULL) v_wrong = zf_cg_select(cg, cg->v_guard, v_wrong, zf_cg_i1(cg, false));
    if (env->v_counts != NULL) v_wrong = zf_cg_and(cg, v_wrong, env->v_counts);
    if (env->v_alive != NULL) v_wrong = zf_cg_and(cg, v_wrong, env->v_alive);
    int32_t number;
    if (!zf_lower_prefix_check(lower, env->node, reduce, &number)) {
        zf_cg_unsupported(cg, expr->span, "a sum over a range whose check is not known");
    }
    if (number >= 0) zf_lower_fail(lower, v_wrong, (uint32_t)number);
    LLVMValueRef v_use = zf_cg_and(cg, v_some, v_ok);
    v_from = zf_cg_select(cg, v_use, v_from, v_zero);
    v_to = zf_cg_select(cg, v_use, v_to, v_zero);
    LLVMTypeRef ty = zf_cg_type(cg, expr->type);
    unsigned size = zf_kind_size(expr->type.kind);
    LLVMValueRef v_low = zf_cg_load(cg, ty, zf_cg_at(cg, ty, lower->v_works[work], v_from), size);
    LLVMValueRef v_high = zf_cg_load(cg, ty, zf_cg_at(cg, ty, lower->v_works[work], v_to), size);
    LLVMValueRef v = reduce->op == ZF_RED_SUM ? zf_cg_sub(cg, v_high, v_low) : LLVMBuildXor(cg->builder, v_high, v_low, "");
    *out = zf_cg_scalar(expr->type, v);
    return true;
}

bool zf_lower_reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr,
                     bool (*value)(zf_kernel_env *env, zf_running *running, LLVMValueRef *v), zf_cg_value *out) {
    zf_kernel_env *env = env_of(zf_cg_frame_env(frame));
    if (expr->reduce->form == ZF_R_PREFIX) return prefix_difference(cg, frame, expr, out);
    zf_running *running = zf_lower_scan_find(env->lower, env->node, expr->reduce);
    if (running == NULL) {
        zf_cg_unsupported(cg, expr->span, "this scan is no step of its kernel");
        *out = zf_cg_zero_value(cg, expr->type);
        return true;
    }
    LLVMValueRef v;
    if (!value(env, running, &v)) {
        v = LLVMBuildLoad2(cg->builder, zf_cg_memory_type(cg, running->type), running->v_now, "");
        if (running->type.kind == ZF_K_BOOL) v = zf_cg_resize(cg, v, cg->ty_i1, false);
    }
    *out = zf_cg_scalar(expr->type, v);
    return true;
}

bool zf_lower_prefix_check(const zf_kernel_build *lower, uint32_t node, const zf_reduce *reduce, int32_t *number) {
    const zf_expr *access = zf_prefix_access(reduce);
    *number = access == NULL || access->proved ? -1 : zf_plan_check(lower->plan, node, access->span, 1);
    return access != NULL && (access->proved || *number >= 0);
}

// ---- The environment ------------------------------------------------------------------------------------------

zf_kernel_env zf_lower_env_common(zf_kernel_build *lower, uint32_t node) {
    return (zf_kernel_env){
        .env = {.inst = lower->graph->nodes[node].inst,
                .straight = lower->chunk == NULL,
                .param = param,
                .domain = domain,
                .slice = slice,
                .length = length,
                .check = check},
        .lower = lower,
        .node = node,
    };
}

zf_kernel_env zf_lower_env_make(zf_kernel_build *lower, uint32_t node) { return lower->ops->env(lower, node); }

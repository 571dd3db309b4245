// How bodies reach elements, bits and scans in a loop over a tile: of a strip all at once, else one by one.
#include "codegen/body/cg_frame.h"
#include "codegen/host/host.h"

static zf_kernel_env *env_of(zf_cg_env *env) { return (zf_kernel_env *)env; }

static bool in_walk(const zf_kernel_env *env) { return env->strip != NULL && env->strip->walk != NULL; }

static bool is_hoisted(zf_cg *cg, zf_cg_env *cg_env, unsigned violation, zf_span span, const zf_expr *at) {
    const zf_kernel_env *env = env_of(cg_env);
    (void)cg;
    if (zf_lower_is_hoisted(env, violation, span, at)) return true;
    return violation == 5 && in_walk(env) && zf_lower_pulled_here(env, at);
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    zf_kernel_env *env = env_of(cg_env);
    zf_kernel_build *lower = env->lower;
    const zf_graph_edge *edge = zf_lower_edge(lower, env->node, port);
    bool hoisted = zf_lower_takes_own(env, access) && is_hoisted(cg, cg_env, 1, access->span, access);
    bool vouched = zf_lower_is_vouched(env, port, access, hoisted);
    zf_cg_value value;
    if (vouched && in_walk(env) && zf_lower_pulled(env, edge, access, &value)) return value;
    // Scans of a strip are made for all of it: what is fused has an element at every index there.
    if (env->strip != NULL && !in_walk(env) && edge->decision == ZF_EDGE_FUSED) vouched = true;
    if (vouched) v_index = zf_lower_own_index(env);
    if (zf_lower_in_memory(lower, edge->index)) {
        bool is_bool = edge->type.kind == ZF_K_BOOL && !edge->type.nullable;
        if (is_bool && vouched && env->strip != NULL) {
            LLVMValueRef v_bit = zf_strip_bits(lower, env->strip, edge->index, 1, 0, 1);
            if (v_bit != NULL) return zf_cg_scalar(zf_type_strip(edge->type), zf_cg_resize(cg, v_bit, cg->ty_i1, false));
        }
        return zf_lower_load(lower, edge->index, zf_lower_tame(env, v_index));
    }
    const zf_expansion *expansion = zf_lower_expansion_find(lower, (uint32_t)edge->producer);
    if (expansion != NULL) return zf_lower_expansion_value(lower, expansion); // it stands at the consumer's index
    zf_kernel_env child = zf_lower_child_env(env, edge, v_index, vouched);
    if (vouched) child.strip = env->strip;
    return zf_cg_eval_body(cg, &child.env, &lower->graph->nodes[child.node].inst->decode);
}

static LLVMValueRef bits(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef v_at, LLVMValueRef v_count,
                         const zf_expr *access) {
    zf_kernel_env *env = env_of(cg_env);
    zf_kernel_build *lower = env->lower;
    const zf_graph_edge *edge = zf_lower_edge(lower, env->node, port);
    if (!zf_lower_in_memory(lower, edge->index)) {
        zf_cg_unsupported(cg, access->span, "bits of a stream that is not in memory");
        return zf_cg_i64(cg, 0);
    }
    uint64_t stride, from, count;
    bool placed = env->strip != NULL && env->v_alive == NULL && access->a->kind == ZF_X_STREAM && !access->msb;
    placed = placed && is_hoisted(cg, cg_env, 1, access->span, access);
    LLVMValueRef v = NULL;
    if (placed && zf_lower_placed_bits(env, access, &stride, &from, &count))
        v = zf_strip_bits(lower, env->strip, edge->index, stride, from, count);
    return v != NULL ? v : zf_lower_load_bits(env, edge, v_at, v_count, access);
}

// A scan's value in a strip, which has the values of all its elements.
static bool scan_value(zf_kernel_env *env, zf_running *running, LLVMValueRef *v) {
    zf_cg *cg = env->lower->cg;
    if (env->strip == NULL || running->level > 0) return false;
    LLVMTypeRef ty = zf_cg_memory_type(cg, running->type);
    *v = LLVMBuildLoad2(cg->builder, ty, zf_cg_at(cg, ty, running->v_values, env->strip->v_k), "");
    if (running->type.kind == ZF_K_BOOL) *v = zf_cg_resize(cg, *v, cg->ty_i1, false);
    return true;
}

static bool reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    return zf_lower_reduce(cg, frame, expr, scan_value, out);
}

zf_kernel_env zf_host_env_make(zf_kernel_build *lower, uint32_t node) {
    zf_kernel_env env = zf_lower_env_common(lower, node);
    env.env.element = element;
    env.env.bits = bits;
    env.env.hoisted = is_hoisted;
    env.env.look_up = zf_lower_look_up;
    env.env.reduce = reduce;
    return env;
}

// How bodies reach elements, bits and scans in a kernel of a GPU: in the registers of lanes, in tables and arrays in shared
// memory, or in memory by 32 bits from the tile's place.
#include "codegen/body/cg_frame.h"
#include "codegen/simt/groups/simt_tree.h"
#include "codegen/simt/memory/simt_memory.h"
#include "codegen/simt/memory/simt_neighbour_bits.h"
#include "codegen/simt/simt_handles.h"

enum { FURTHER = 256 }; // bytes: about as many as two rows of a warp take

static zf_kernel_env *env_of(zf_cg_env *env) { return (zf_kernel_env *)env; }

// ---- Checks ---------------------------------------------------------------------------------------------------

static bool is_of_checked_table(const zf_kernel_env *env, const zf_expr *at) {
    const zf_kernel_build *lower = env->lower;
    const zf_simt_state *simt = lower->simt;
    if (!simt->tables_checked || simt->v_tables == NULL || at == NULL || at->kind != ZF_X_INDEX || at->a->kind != ZF_X_STREAM)
        return false;
    return env->node == lower->kernel->root && simt->v_tables[zf_lower_edge(lower, env->node, at->a->port)->index] != NULL;
}

static bool is_hoisted(zf_cg *cg, zf_cg_env *cg_env, unsigned violation, zf_span span, const zf_expr *at) {
    const zf_kernel_env *env = env_of(cg_env);
    (void)cg;
    if (zf_lower_is_hoisted(env, violation, span, at)) return true;
    if (violation == 5) return is_of_checked_table(env, at);
    return violation == 1 && at != NULL && zf_simt_counted_at(env, at) != NULL; // that checks for itself
}

// ---- Elements -------------------------------------------------------------------------------------------------

// Whether an access takes the element before the environment's own.
static bool is_one_before(const zf_kernel_env *env, const zf_expr *access) {
    if (access == NULL || access->kind != ZF_X_INDEX || access->a->kind != ZF_X_STREAM || access->b->kind != ZF_X_BINARY)
        return false;
    const zf_expr *index = access->b;
    return index->op == ZF_OP_SUB && zf_lower_is_index(env, index->a) && index->b->kind == ZF_X_CONST && index->b->bits == 1;
}

static bool in_table(const zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_index, zf_cg_value *out) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    if (lower->simt->v_tables == NULL || lower->simt->v_tables[edge->index] == NULL) return false;
    LLVMTypeRef ty = zf_cg_type(cg, edge->type);
    LLVMValueRef v_at = zf_cg_at(cg, ty, lower->simt->v_tables[edge->index], zf_lower_tame(env, v_index));
    *out = zf_cg_scalar(edge->type, zf_cg_load(cg, ty, v_at, zf_kind_size(edge->type.kind)));
    return true;
}

static zf_cg_value in_memory(zf_kernel_env *env, const zf_port *port, const zf_graph_edge *edge, LLVMValueRef v_index,
                             const zf_expr *access, bool vouched) {
    zf_kernel_build *lower = env->lower;
    zf_simt_lanes *lanes = env->simt.lanes;
    unsigned k = env->simt.lane_k;
    bool plain = !edge->type.nullable && edge->type.kind != ZF_K_STRING, is_bool = edge->type.kind == ZF_K_BOOL;
    if (vouched && env->simt.relative != NULL && plain && !is_bool)
        return zf_simt_relative_element(lower, env->simt.relative, edge->index);
    if (vouched && lanes != NULL && plain) return zf_simt_lane_element(lower, lanes, k, edge->index);
    if (lanes != NULL && k > 0 && plain && !is_bool && is_one_before(env, access) && zf_lower_along_groups(env, port))
        return zf_simt_lane_element(lower, lanes, k - 1, edge->index);
    return zf_lower_load(lower, edge->index, zf_lower_tame(env, v_index));
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    zf_kernel_env *env = env_of(cg_env);
    zf_kernel_build *lower = env->lower;
    const zf_graph_edge *edge = zf_lower_edge(lower, env->node, port);
    const zf_simt_counted *counted = zf_simt_counted_at(env, access);
    if (counted != NULL) return zf_simt_counted_element(env, counted, access);
    zf_cg_value value;
    if (in_table(env, edge, v_index, &value)) return value;
    bool hoisted = zf_lower_takes_own(env, access) && is_hoisted(cg, cg_env, 1, access->span, access);
    bool vouched = zf_lower_is_vouched(env, port, access, hoisted);
    if (vouched) v_index = zf_lower_own_index(env);
    if (zf_lower_in_memory(lower, edge->index)) return in_memory(env, port, edge, v_index, access, vouched);
    bool is_group = lower->graph->nodes[edge->producer].inst->pattern == ZF_GROUP_PARALLEL;
    if (env->simt.position != NULL && is_group) return zf_simt_tree_element(env, edge, v_index, vouched);
    const zf_expansion *expansion = zf_lower_expansion_find(lower, (uint32_t)edge->producer);
    if (expansion != NULL) return zf_lower_expansion_value(lower, expansion); // it stands at the consumer's index
    zf_kernel_env child = zf_lower_child_env(env, edge, v_index, vouched);
    zf_simt_position position;
    if (vouched) child.simt = env->simt;
    child.simt.position = NULL;
    if (env->simt.position != NULL) {
        position = zf_simt_position_along(env->simt.position, edge);
        position.exact = position.exact && vouched; // an element that nobody takes stands nowhere
        child.simt.position = &position;
    }
    return zf_cg_eval_body(cg, &child.env, &lower->graph->nodes[child.node].inst->decode);
}

// ---- Bits -----------------------------------------------------------------------------------------------------

// Bits of the elements that the kernel makes, of which it makes the column's.
static bool are_unpacked(const zf_kernel_build *lower, const zf_graph_edge *edge) {
    return lower->unpacks > 0 && edge->index == lower->kernel->edge;
}

static LLVMValueRef bits(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef v_at, LLVMValueRef v_count,
                         const zf_expr *access) {
    zf_kernel_env *env = env_of(cg_env);
    zf_kernel_build *lower = env->lower;
    const zf_graph_edge *edge = zf_lower_edge(lower, env->node, port);
    if (are_unpacked(lower, edge)) return lower->v_unpacked;
    if (!zf_lower_in_memory(lower, edge->index)) {
        zf_cg_unsupported(cg, access->span, "bits of a stream that is not in memory");
        return zf_cg_i64(cg, 0);
    }
    zf_simt_lanes *lanes = env->simt.lanes;
    const zf_simt_relative *relative = env->simt.relative;
    uint64_t stride, from, count;
    bool placed = (lanes != NULL || relative != NULL) && env->v_alive == NULL && access->a->kind == ZF_X_STREAM && !access->msb;
    placed = placed && is_hoisted(cg, cg_env, 1, access->span, access);
    LLVMValueRef v = NULL;
    if (placed && zf_lower_placed_bits(env, access, &stride, &from, &count)) {
        if (lanes != NULL) v = zf_simt_lane_bits(lower, lanes, env->simt.lane_k, edge->index, stride, from, count);
        if (relative != NULL) v = zf_simt_relative_bits(lower, relative, edge->index, stride, from, count);
        if (v != NULL) return v;
    }
    const zf_port *width = placed && lanes != NULL ? zf_lower_scaled(env, access->b, access->c) : NULL;
    if (width != NULL) v = zf_simt_lane_scaled_bits(env, edge->index, width, zf_lower_most_bits(access));
    return v != NULL ? v : zf_lower_load_bits(env, edge, v_at, v_count, access);
}

void zf_simt_prefetch_behind(zf_kernel_build *lower, LLVMValueRef v_from) {
    if (!zf_simt_prefetches(lower->cg) || lower->running_count == 0 || !zf_simt_shape_of(lower->plan, lower->kernel).prefetch)
        return;
    zf_simt_prefetch(lower->cg, zf_cg_byte_at(lower->cg, v_from, FURTHER));
}

/// Whether bits of an edge at a place that data say may be a neighbour's.
static bool may_be_beside(const zf_kernel_env *env, const zf_graph_edge *edge, const zf_expr *access) {
    if (env->simt.places == NULL || !zf_lower_in_memory(env->lower, edge->index) || env->v_alive != NULL) return false;
    return !are_unpacked(env->lower, edge) && zf_lower_most_bits(access) <= 32 && !access->msb;
}

static LLVMValueRef bits_beside(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, const zf_cg_bit_place *place,
                                LLVMValueRef v_count, const zf_expr *access) {
    (void)cg;
    zf_kernel_env *env = env_of(cg_env);
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    return may_be_beside(env, edge, access) ? zf_simt_neighbour_bits_take(env, place, v_count, access) : NULL;
}

static LLVMValueRef bits_near(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, zf_cg_bit_place *place, bool moves,
                              LLVMValueRef v_count, const zf_expr *access) {
    zf_kernel_env *env = env_of(cg_env);
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    uint64_t limit = zf_lower_most_bits(access);
    zf_cg_bit_place unmoved = *place;
    if (moves) zf_cg_bit_place_clamp(cg, place);
    if (may_be_beside(env, edge, access)) {
        LLVMValueRef v = zf_simt_neighbour_bits_load(env, edge->index, &unmoved, place, v_count, limit, access);
        if (v != NULL) return v;
    }
    LLVMValueRef v_word = place->v_word, v_near = place->v_near;
    if (!zf_lower_in_memory(env->lower, edge->index) || are_unpacked(env->lower, edge)) {
        LLVMValueRef v_at = LLVMBuildShl(cg->builder, v_word, zf_cg_i64(cg, 5), "");
        return bits(cg, cg_env, port, zf_cg_add(cg, v_at, zf_cg_resize(cg, v_near, cg->ty_i64, false)), v_count, access);
    }
    if (env->v_alive != NULL) v_near = zf_cg_select(cg, env->v_alive, v_near, zf_cg_i32(cg, 0));
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i32, zf_lower_pointer(env->lower, edge->index), zf_lower_tame(env, v_word));
    LLVMValueRef v_index = LLVMBuildLShr(cg->builder, v_near, zf_cg_i32(cg, 5), "");
    v_from = zf_cg_at(cg, cg->ty_i32, v_from, zf_cg_resize(cg, v_index, cg->ty_i64, false));
    if (env->simt.lanes != NULL && env->simt.lane_k + 1 == env->simt.lanes->count) zf_simt_prefetch_behind(env->lower, v_from);
    return zf_cg_words_bits(cg, v_from, v_near, v_count, limit, access->msb);
}

// ---- Scans ----------------------------------------------------------------------------------------------------

static bool scan_value(zf_kernel_env *env, zf_running *running, LLVMValueRef *v) {
    *v = env->simt.position != NULL ? zf_simt_tree_scan(env, running) : NULL;
    return *v != NULL;
}

static bool reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    return zf_lower_reduce(cg, frame, expr, scan_value, out);
}

static zf_kernel_env make_env(zf_kernel_build *lower, uint32_t node) {
    zf_kernel_env env = zf_lower_env_common(lower, node);
    env.env.element = element;
    env.env.bits = bits;
    env.env.bits_near = lower->cg->aligned_loads ? bits_near : NULL;
    env.env.bits_beside = bits_beside;
    env.env.hoisted = is_hoisted;
    env.env.reduce = reduce;
    return env;
}

const zf_kernel_ops zf_simt_kernel_ops = {
    .env = make_env, .string_load = zf_simt_handle_load, .string_store = zf_simt_handle_store};

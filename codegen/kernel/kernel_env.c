// How bodies reach what surrounds them in a kernel: params, indices, elements, bits, checks.
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/forms/simt_tree.h"
#include "codegen/simt/simt_handles.h"
#include "codegen/simt/simt_places.h"

enum { FURTHER = 256 }; // bytes: about as many as two rows of a warp take

static zf_lower_env *env_of(zf_cg_env *env) { return (zf_lower_env *)env; }

static const zf_graph_node *node_of(const zf_lower_env *env) { return &env->lower->graph->nodes[env->node]; }

static zf_cg_value param(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port) {
    zf_lower_env *env = env_of(cg_env);
    uint64_t bits;
    if (zf_lower_param_known(env->lower, env->node, port, &bits))
        return zf_cg_scalar(port->type, zf_cg_const(cg, port->type, bits));
    LLVMValueRef v_word = zf_lower_word(env->lower, ZF_SLOT_PARAM, node_of(env)->first_param + port->slot, 0);
    return zf_cg_scalar(port->type, zf_cg_from_word(cg, port->type, v_word));
}

static LLVMValueRef domain(zf_cg *cg, zf_cg_env *cg_env, const zf_local *local) {
    zf_lower_env *env = env_of(cg_env);
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
    zf_lower_env *env = env_of(cg_env);
    return zf_lower_count(env->lower, port == NULL ? node_of(env)->output : zf_lower_edge(env->lower, env->node, port)->index);
}

// ---- Checks ---------------------------------------------------------------------------------------------------

// V05 is numbered by the stream that is pulled, the others by the place in the text.
static int32_t number_of(const zf_lower_env *env, unsigned violation, zf_span span, const zf_expr *at) {
    if (violation == 5 && at != NULL) {
        const zf_expr *of = at->a;
        while (of != NULL && of->kind == ZF_X_SLICE) of = of->a;
        if (of != NULL && of->kind == ZF_X_STREAM) span = of->port->span;
    }
    return zf_plan_check(env->lower->plan, env->node, span, violation);
}

static bool is_of_checked_table(const zf_lower_env *env, const zf_expr *at) {
    const zf_lower *lower = env->lower;
    if (!lower->tables_checked || lower->v_tables == NULL || at == NULL || at->kind != ZF_X_INDEX || at->a->kind != ZF_X_STREAM)
        return false;
    return env->node == lower->kernel->root && lower->v_tables[zf_lower_edge(lower, env->node, at->a->port)->index] != NULL;
}

static bool is_hoisted(zf_cg *cg, zf_cg_env *cg_env, unsigned violation, zf_span span, const zf_expr *at) {
    (void)cg;
    zf_lower_env *env = env_of(cg_env);
    if (violation == 5) {
        if (number_of(env, violation, span, at) < 0) return true; // the producer's range proves it
        if (is_of_checked_table(env, at)) return true;
        return env->strip != NULL && env->strip->walk != NULL && zf_lower_pulled_here(env, at);
    }
    if (violation != 1 || at == NULL) return false;
    return zf_plan_is_hoisted(env->lower->plan, env->node, at) || zf_simt_counted_at(env, at) != NULL; // that checks for itself
}

static LLVMValueRef check(zf_cg *cg, zf_cg_env *cg_env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    zf_lower_env *env = env_of(cg_env);
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

const zf_graph_edge *zf_lower_edge(const zf_lower *lower, uint32_t node, const zf_port *port) {
    return &lower->graph->edges[lower->graph->nodes[node].inputs[port->slot]];
}

bool zf_lower_in_memory(const zf_lower *lower, uint32_t edge) {
    return lower->graph->edges[edge].stored >= 0 || lower->plan->edge_work[edge] >= 0;
}

LLVMValueRef zf_lower_pointer(zf_lower *lower, uint32_t edge) {
    const zf_graph_edge *at = &lower->graph->edges[edge];
    if (at->stored < 0) return lower->v_works[lower->plan->edge_work[edge]];
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v =
        zf_cg_at(lower->cg, lower->cg->ty_i8, lower->v_base, zf_lower_word(lower, ZF_SLOT_OFFSET, (uint32_t)at->stored, 0));
    zf_lower_setup_end(lower, bb_before);
    return v;
}

// Pointers to strings are of one type wherever they come from, so that values can be selected and kept in variables.
static LLVMTypeRef global_pointer(const zf_lower *lower) {
    const zf_simt_ops *ops = lower->cg->target->simt;
    return ops == NULL ? lower->cg->ty_ptr : LLVMPointerTypeInContext(lower->cg->context, ops->global_space);
}

static LLVMValueRef cast_space(zf_cg *cg, LLVMValueRef v_pointer, LLVMTypeRef ty) {
    return LLVMTypeOf(v_pointer) == ty ? v_pointer : LLVMBuildAddrSpaceCast(cg->builder, v_pointer, ty, "");
}

static LLVMValueRef generic(const zf_lower *lower, LLVMValueRef v_pointer) {
    return cast_space(lower->cg, v_pointer, lower->cg->ty_ptr);
}

LLVMValueRef zf_lower_text_address(zf_lower *lower, const zf_cg_value *value) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_pointer = cast_space(cg, zf_cg_text_pointer(cg, &value->seq), global_pointer(lower));
    return LLVMBuildPtrToInt(cg->builder, v_pointer, cg->ty_i64, "");
}

static zf_cg_value load_value(zf_lower *lower, uint32_t edge, zf_type type, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_pointer = zf_lower_pointer(lower, edge);
    if (type.kind == ZF_K_STRING) {
        LLVMTypeRef ty = LLVMArrayType2(cg->ty_i64, ZF_HANDLE_BYTES / 8);
        LLVMValueRef v_at = zf_cg_at(cg, ty, v_pointer, v_index);
        zf_cg_value value = {.type = type};
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
        if (cg->target->simt != NULL) {
            zf_simt_handle_load(lower, edge, v_at, &value.seq);
            return value;
        }
        value.seq.v_data = generic(lower, zf_cg_load(cg, global_pointer(lower), v_at, 8));
        value.seq.v_length = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_at, 8), 8);
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

zf_cg_value zf_lower_load(zf_lower *lower, uint32_t edge, LLVMValueRef v_index) {
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

bool zf_lower_is_index(const zf_lower_env *env, const zf_expr *expr) {
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

// Whether an access takes the element before the environment's own.
static bool is_one_before(const zf_lower_env *env, const zf_expr *access) {
    if (access == NULL || access->kind != ZF_X_INDEX || access->a->kind != ZF_X_STREAM || access->b->kind != ZF_X_BINARY)
        return false;
    const zf_expr *index = access->b;
    return index->op == ZF_OP_SUB && zf_lower_is_index(env, index->a) && index->b->kind == ZF_X_CONST && index->b->bits == 1;
}

static LLVMValueRef own_index(const zf_lower_env *env) { return env->v_g != NULL ? env->v_g : env->v_i; }

// Index (or bit) 0 where the environment stands for nothing: then no hoisted check has vouched for any other.
static LLVMValueRef tame(zf_cg *cg, const zf_lower_env *env, LLVMValueRef v_index) {
    if (env->v_alive == NULL) return v_index;
    return zf_cg_select(cg, zf_cg_within(cg, env->v_alive, "elements that do not exist"), v_index, zf_cg_i64(cg, 0));
}

static LLVMValueRef nonempty(zf_lower *lower, uint32_t node) {
    if (lower->v_nonempty[node] == NULL) {
        LLVMValueRef v_count = zf_lower_count(lower, lower->graph->nodes[node].output);
        LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
        lower->v_nonempty[node] = zf_cg_icmp(lower->cg, LLVMIntNE, v_count, zf_cg_i64(lower->cg, 0));
        zf_lower_setup_end(lower, bb_before);
    }
    return lower->v_nonempty[node];
}

// The groups of a body are as many as this stream has elements: it has one at every group's index.
static bool along_groups(const zf_lower_env *env, const zf_port *port) {
    const zf_expr *groups = node_of(env)->inst->groups.value;
    if (env->v_g == NULL || groups == NULL || groups->kind != ZF_X_LEN || groups->a->kind != ZF_X_STREAM) return false;
    return groups->a->port == port;
}

static zf_cg_value element(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef v_index, const zf_expr *access) {
    zf_lower_env *env = env_of(cg_env);
    zf_lower *lower = env->lower;
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    const zf_simt_counted *counted = zf_simt_counted_at(env, access);
    if (counted != NULL) return zf_simt_counted_element(env, counted, access);
    if (lower->v_tables != NULL && lower->v_tables[edge->index] != NULL) {
        LLVMTypeRef ty = zf_cg_type(cg, edge->type);
        LLVMValueRef v_at = zf_cg_at(cg, ty, lower->v_tables[edge->index], tame(cg, env, v_index));
        return zf_cg_scalar(edge->type, zf_cg_load(cg, ty, v_at, zf_kind_size(edge->type.kind)));
    }
    bool own =
        access != NULL && access->kind == ZF_X_INDEX && access->a->kind == ZF_X_STREAM && zf_lower_is_index(env, access->b);
    // Where a check has vouched for every index of the domain, a guard need not. Prefix sums run along the stream itself.
    bool along = lower->kernel->prefix != NULL && lower->kernel->edge == edge->index;
    bool vouched = own && (along || along_groups(env, port) || is_hoisted(cg, cg_env, 1, access->span, access));
    zf_cg_value value;
    if (vouched && env->strip != NULL && env->strip->walk != NULL && zf_lower_pulled(env, edge, access, &value)) return value;
    // Scans of a strip are made for all of it: what is fused has an element at every index there.
    bool in_strip = env->strip != NULL && env->strip->walk == NULL;
    if (in_strip && edge->decision == ZF_EDGE_FUSED) vouched = true;
    if (vouched) v_index = own_index(env);
    if (zf_lower_in_memory(lower, edge->index)) {
        bool is_bool = edge->type.kind == ZF_K_BOOL && !edge->type.nullable;
        if (is_bool && vouched && env->strip != NULL) {
            LLVMValueRef v_bit = zf_strip_bits(lower, env->strip, edge->index, 1, 0, 1);
            if (v_bit != NULL) return zf_cg_scalar(zf_type_strip(edge->type), zf_cg_resize(cg, v_bit, cg->ty_i1, false));
        }
        bool plain = !edge->type.nullable && edge->type.kind != ZF_K_STRING;
        if (vouched && env->near != NULL && plain && !is_bool) return zf_simt_near_element(lower, env->near, edge->index);
        if (vouched && env->lanes != NULL && plain) return zf_simt_lane_element(lower, env->lanes, env->lane_k, edge->index);
        if (env->lanes != NULL && env->lane_k > 0 && plain && !is_bool && is_one_before(env, access) && along_groups(env, port))
            return zf_simt_lane_element(lower, env->lanes, env->lane_k - 1, edge->index);
        return zf_lower_load(lower, edge->index, tame(cg, env, v_index));
    }
    bool is_group = lower->graph->nodes[edge->producer].inst->pattern == ZF_GROUP_PARALLEL;
    if (env->spot != NULL && is_group) return zf_simt_tree_element(env, edge, v_index, vouched);
    const zf_expansion *expansion = zf_lower_expansion_find(lower, (uint32_t)edge->producer);
    if (expansion != NULL) return zf_lower_expansion_value(lower, expansion); // it stands at the consumer's index
    zf_lower_env child = zf_lower_env_make(lower, (uint32_t)edge->producer);
    child.v_i = v_index;
    child.v_counts = env->v_counts;
    child.v_alive = env->v_alive;
    zf_simt_spot spot;
    if (env->spot != NULL) {
        spot = zf_simt_spot_along(env->spot, edge);
        spot.exact = spot.exact && vouched; // what is asked for in vain stands nowhere
        child.spot = &spot;
    }
    if (vouched) {
        child.strip = env->strip;
        child.near = env->near;
        child.lanes = env->lanes;
        child.lane_k = env->lane_k;
        child.places = env->places;
    } else if (lower->chunk == NULL) {
        // The index may have been substituted by 0 after a failed check, even where the child has no element 0.
        LLVMValueRef v_some = nonempty(lower, child.node);
        child.v_alive = env->v_alive == NULL ? v_some : zf_cg_and(cg, env->v_alive, v_some);
    }
    return zf_cg_eval_body(cg, &child.env, &lower->graph->nodes[child.node].inst->decode);
}

static LLVMValueRef bits(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef v_at, LLVMValueRef v_count,
                         const zf_expr *access) {
    zf_lower_env *env = env_of(cg_env);
    zf_lower *lower = env->lower;
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    if (lower->unpacks > 0 && edge->index == lower->kernel->edge) return lower->v_unpacked;
    if (!zf_lower_in_memory(lower, edge->index)) {
        zf_cg_unsupported(cg, access->span, "bits of a stream that is not in memory");
        return zf_cg_i64(cg, 0);
    }
    uint64_t stride, from, none, count;
    bool placed = env->strip != NULL || env->lanes != NULL || env->near != NULL;
    placed = placed && env->v_alive == NULL && access->a->kind == ZF_X_STREAM && !access->msb;
    placed = placed && is_hoisted(cg, cg_env, 1, access->span, access);
    LLVMValueRef v = NULL;
    if (placed && zf_lower_affine(env, access->b, &stride, &from) && zf_lower_affine(env, access->c, &none, &count) &&
        none == 0) {
        if (env->strip != NULL) v = zf_strip_bits(lower, env->strip, edge->index, stride, from, count);
        if (env->lanes != NULL) v = zf_simt_lane_bits(lower, env->lanes, env->lane_k, edge->index, stride, from, count);
        if (env->near != NULL) v = zf_simt_near_bits(lower, env->near, edge->index, stride, from, count);
        if (v != NULL) return v;
    }
    uint64_t limit = access->c->range.lo >= 0 && access->c->range.hi < 64 ? (uint64_t)access->c->range.hi : 64;
    const zf_port *width = placed && env->lanes != NULL ? zf_lower_scaled(env, access->b, access->c) : NULL;
    if (width != NULL) v = zf_simt_lane_scaled_bits(env, edge->index, width, limit);
    if (v != NULL) return v;
    v_at = tame(cg, env, v_at);
    return zf_cg_load_bits(cg, zf_lower_pointer(lower, edge->index), v_at, v_count, limit, access->msb);
}

void zf_lower_ask_further(zf_lower *lower, LLVMValueRef v_from) {
    const zf_cg_target *target = lower->cg->target;
    if (target == NULL || target->simt == NULL || target->simt->prefetch == NULL || lower->running_count == 0) return;
    if (!zf_simt_shape_of(lower->plan, lower->kernel).ahead) return;
    target->simt->prefetch(lower->cg, zf_cg_byte_at(lower->cg, v_from, FURTHER));
}

static uint64_t most_bits(const zf_expr *access) {
    return access->c->range.lo >= 0 && access->c->range.hi < 64 ? (uint64_t)access->c->range.hi : 64;
}

/// Whether bits of an edge at a place that data say may be a neighbour's.
static bool may_be_beside(const zf_lower_env *env, uint32_t edge, const zf_expr *access) {
    if (env->places == NULL || !zf_lower_in_memory(env->lower, edge) || env->v_alive != NULL) return false;
    bool unpacks = env->lower->unpacks > 0 && edge == env->lower->kernel->edge;
    return !unpacks && most_bits(access) <= 32 && !access->msb;
}

static LLVMValueRef bits_beside(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, const zf_cg_bit_place *place,
                                LLVMValueRef v_count, const zf_expr *access) {
    (void)cg;
    zf_lower_env *env = env_of(cg_env);
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    return may_be_beside(env, edge->index, access) ? zf_simt_places_take(env, place, v_count, access) : NULL;
}

static LLVMValueRef bits_near(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, zf_cg_bit_place *place, bool moves,
                              LLVMValueRef v_count, const zf_expr *access) {
    zf_lower_env *env = env_of(cg_env);
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    uint64_t limit = most_bits(access);
    zf_cg_bit_place unmoved = *place;
    if (moves) zf_cg_bit_place_clamp(cg, place);
    if (may_be_beside(env, edge->index, access)) {
        LLVMValueRef v = zf_simt_places_load(env, edge->index, &unmoved, place, v_count, limit, access);
        if (v != NULL) return v;
    }
    LLVMValueRef v_word = place->v_word, v_near = place->v_near;
    if (!zf_lower_in_memory(env->lower, edge->index) || (env->lower->unpacks > 0 && edge->index == env->lower->kernel->edge)) {
        LLVMValueRef v_at = LLVMBuildShl(cg->builder, v_word, zf_cg_i64(cg, 5), "");
        return bits(cg, cg_env, port, zf_cg_add(cg, v_at, zf_cg_resize(cg, v_near, cg->ty_i64, false)), v_count, access);
    }
    if (env->v_alive != NULL) v_near = zf_cg_select(cg, env->v_alive, v_near, zf_cg_i32(cg, 0));
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i32, zf_lower_pointer(env->lower, edge->index), tame(cg, env, v_word));
    LLVMValueRef v_index = LLVMBuildLShr(cg->builder, v_near, zf_cg_i32(cg, 5), "");
    v_from = zf_cg_at(cg, cg->ty_i32, v_from, zf_cg_resize(cg, v_index, cg->ty_i64, false));
    if (env->lanes != NULL && env->lane_k + 1 == env->lanes->count) zf_lower_ask_further(env->lower, v_from);
    return zf_cg_words_bits(cg, v_from, v_near, v_count, limit, access->msb);
}

static LLVMValueRef slice(zf_cg *cg, zf_cg_env *cg_env, const zf_port *port, LLVMValueRef *v_from, LLVMValueRef *v_to) {
    zf_lower_env *env = env_of(cg_env);
    const zf_graph_edge *edge = zf_lower_edge(env->lower, env->node, port);
    if (!zf_lower_in_memory(env->lower, edge->index)) {
        zf_cg_unsupported(cg, port->span, "a string of a stream that is not in memory");
        return LLVMConstNull(cg->ty_ptr);
    }
    *v_from = tame(cg, env, *v_from);
    *v_to = tame(cg, env, *v_to);
    return generic(env->lower, zf_lower_pointer(env->lower, edge->index));
}

// ---- Reductions -----------------------------------------------------------------------------------------------

// sum(k in a..b: term) of prefix sums P is P[b] - P[a]; the kernel that made them checked the terms.
static bool prefix_difference(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    zf_lower_env *env = env_of(zf_cg_frame_env(frame));
    zf_lower *lower = env->lower;
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

static bool reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, zf_cg_value *out) {
    zf_lower_env *env = env_of(zf_cg_frame_env(frame));
    zf_lower *lower = env->lower;
    if (expr->reduce->form == ZF_R_PREFIX) return prefix_difference(cg, frame, expr, out);
    zf_running *running = zf_lower_scan_find(lower, env->node, expr->reduce);
    if (running == NULL) {
        zf_cg_unsupported(cg, expr->span, "this scan is no step of its kernel");
        *out = zf_cg_zero_value(cg, expr->type);
        return true;
    }
    LLVMValueRef v_of_tile = env->spot != NULL ? zf_simt_tree_scan(env, running) : NULL;
    if (v_of_tile != NULL) {
        *out = zf_cg_scalar(expr->type, v_of_tile);
        return true;
    }
    LLVMTypeRef ty = zf_cg_memory_type(cg, running->type);
    bool in_strip = env->strip != NULL && running->level == 0;
    LLVMValueRef v_from = in_strip ? zf_cg_at(cg, ty, running->v_values, env->strip->v_k) : running->v_now;
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, ty, v_from, "");
    if (running->type.kind == ZF_K_BOOL) v = zf_cg_resize(cg, v, cg->ty_i1, false);
    *out = zf_cg_scalar(expr->type, v);
    return true;
}

zf_lower_env zf_lower_env_make(zf_lower *lower, uint32_t node) {
    return (zf_lower_env){
        .env = {.inst = lower->graph->nodes[node].inst,
                .straight = lower->chunk == NULL,
                .param = param,
                .domain = domain,
                .element = element,
                .bits = bits,
                .bits_near = lower->cg->aligned_loads ? bits_near : NULL,
                .bits_beside = bits_beside,
                .slice = slice,
                .length = length,
                .check = check,
                .hoisted = is_hoisted,
                .look_up = zf_lower_look_up,
                .reduce = reduce},
        .lower = lower,
        .node = node,
    };
}

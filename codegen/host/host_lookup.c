// Elements of a strip that are looked up in a stream by an index, where the whole stream fits in a register: what small
// dictionaries do.
//
// The indices of the strip are made first, by a loop of their own that also checks them, and put in a buffer; then a permutation
// of the table fetches the elements, which takes a fraction of the time of loads one by one; then the loops over the strip read
// those. How many elements a table has, only the block says: a tile's strips are there twice, and without a buffer where one is
// larger.
#include "codegen/body/cg_frame.h"
#include "codegen/host/host.h"

typedef struct zf_looked_up {
    const zf_expr *access;
    uint32_t node;
    LLVMValueRef v_values; // buffer: the strip's elements
    struct zf_looked_up *next;
} looked_up;

enum { TEXT_LIMIT = 32, REGISTER_BYTES = 64, NARROW_LANES = 16 };

// Whether an expression, evaluated by itself before the strip's loops, is what it is in them: of the strip's own index, elements
// and bits of streams there, and constants.
static bool is_alone(const zf_kernel_env *env, const zf_expr *e, unsigned depth) {
    if (e == NULL) return true;
    if (depth > TEXT_LIMIT || e->effect) return false;
    switch (e->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM:
    case ZF_X_STREAM: return true;
    case ZF_X_LOCAL:
        if (e->local->kind == ZF_L_DOMAIN_I) return true;
        return e->local->kind == ZF_L_LET && e->local->init != NULL && is_alone(env, e->local->init, depth + 1);
    case ZF_X_INDEX: return e->a->kind == ZF_X_STREAM && zf_lower_is_index(env, e->b);
    case ZF_X_BITS: return e->a->kind == ZF_X_STREAM && is_alone(env, e->b, depth + 1) && is_alone(env, e->c, depth + 1);
    case ZF_X_CAST: return is_alone(env, e->a, depth + 1);
    case ZF_X_BINARY:
        if (e->op == ZF_OP_ANDAND || e->op == ZF_OP_OROR) return false;
        return is_alone(env, e->a, depth + 1) && is_alone(env, e->b, depth + 1);
    default: return false;
    }
}

static bool applies(const zf_kernel_env *env, const zf_expr *access) {
    const zf_kernel_build *lower = env->lower;
    if (lower->running_count > 0)
        return false; // the values of scans, which an index may be made of, are made in the strip's loops
    if (!lower->host->tables_are_small || env->strip == NULL || env->strip->walk != NULL) return false;
    // Ahead it is made for every element: not what stands behind a branch, which some do not come to.
    if (zf_cg_here(lower->cg) != LLVMGetInstructionParent(env->strip->v_k)) return false;
    if (lower->cg->v_guard != NULL || env->v_counts != NULL || env->v_alive != NULL || env->v_g != NULL || env->binder != NULL)
        return false;
    if (access->a->kind != ZF_X_STREAM || zf_lower_is_index(env, access->b)) return false;
    const zf_graph_edge *edge = zf_lower_edge(lower, env->node, access->a->port);
    zf_type type = edge->type;
    if (type.nullable || type.kind == ZF_K_STRING || type.kind == ZF_K_BOOL || !zf_lower_in_memory(lower, edge->index))
        return false;
    return !zf_kind_is_signed(access->b->type.kind) && is_alone(env, access->b, 0);
}

// ---- Indices --------------------------------------------------------------------------------------------------

static LLVMValueRef buffer(zf_cg *cg, LLVMTypeRef ty, const char *name) {
    LLVMValueRef v_buffer = zf_cg_alloca(cg, LLVMArrayType2(ty, ZF_STRIP), name);
    LLVMSetAlignment(v_buffer, 64);
    return v_buffer;
}

// Whether an index lies in a stream. In the width of its type where that is 32 bits at most: vectors of 64 are twice the work. A
// stream may have 2^32 elements, one more than that width can say.
static LLVMValueRef is_within(zf_cg *cg, zf_cg_value index, LLVMValueRef v_length) {
    if (zf_kind_bits(index.type.kind) > 32) return zf_cg_icmp(cg, LLVMIntULT, index.v, v_length);
    LLVMValueRef v_most = zf_cg_i64(cg, UINT32_MAX), v_index = zf_cg_resize(cg, index.v, cg->ty_i32, false);
    LLVMValueRef v_less =
        zf_cg_icmp(cg, LLVMIntULT, v_index, zf_cg_resize(cg, zf_cg_umin(cg, v_length, v_most), cg->ty_i32, false));
    return zf_cg_or(cg, v_less, zf_cg_icmp(cg, LLVMIntUGT, v_length, v_most));
}

// The index of every element of the strip, u32; 0 where its check failed.
static LLVMValueRef make_indices(zf_kernel_env *env, const zf_expr *access, LLVMValueRef v_length) {
    zf_cg *cg = env->lower->cg;
    zf_strip *strip = env->strip;
    LLVMValueRef v_k = strip->v_k, v_indices = buffer(cg, cg->ty_i32, "indices");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, ZF_STRIP), "index");
    zf_kernel_env here = zf_lower_env_make(env->lower, env->node);
    here.strip = strip;
    strip->v_k = loop.v_i;
    here.v_i = zf_cg_add(cg, strip->v_start, loop.v_i);
    env->lower->host->tables_are_small = false; // a table of indices is read here: this loop stands where its own would
    zf_cg_value index = zf_cg_eval_expr(cg, &here.env, &here.env.inst->decode, access->b, NULL, 0);
    env->lower->host->tables_are_small = true;
    LLVMValueRef v = index.v, v_held = cg->v_guard; // what proved the index may not have held
    if (!access->proved && !here.env.hoisted(cg, &here.env, 1, access->span, access)) {
        v_held = zf_cg_check(cg, &here.env, is_within(cg, index, v_length), 1, access->span, access);
    }
    if (v_held != NULL) v = zf_cg_select(cg, v_held, v, LLVMConstNull(LLVMTypeOf(v)));
    cg->v_guard = NULL;
    zf_cg_store(cg, zf_cg_resize(cg, v, cg->ty_i32, false), zf_cg_at(cg, cg->ty_i32, v_indices, loop.v_i), 4);
    zf_cg_loop_end(cg, &loop);
    strip->v_k = v_k;
    return v_indices;
}

// ---- Tables in registers --------------------------------------------------------------------------------------

// A table of at most `lanes` elements, as a vector of `bits` each: of elements of 64 bits, the low halves and the high.
typedef struct table {
    unsigned bits, lanes;
    LLVMTypeRef ty;
    LLVMValueRef v_parts[2];
} table;

static LLVMValueRef take_lanes(zf_cg *cg, LLVMValueRef v, unsigned from, unsigned step, unsigned count) {
    LLVMValueRef v_mask[ZF_STRIP];
    for (unsigned k = 0; k < count; k++) v_mask[k] = zf_cg_i32(cg, from + k * step);
    return LLVMBuildShuffleVector(cg->builder, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(v_mask, count), "");
}

// Loads the table once per call of the kernel. A table of bytes has at most 16: any processor permutes these by one
// instruction, and few permute more.
static table load_table(zf_kernel_build *lower, uint32_t edge, unsigned size, LLVMValueRef v_length) {
    zf_cg *cg = lower->cg;
    table t = {.bits = size == 8 ? 32 : size * 8};
    t.lanes = size == 1 ? NARROW_LANES : REGISTER_BYTES * 8 / t.bits;
    t.ty = LLVMVectorType(LLVMIntTypeInContext(cg->context, t.bits), t.lanes);
    LLVMTypeRef ty_all = LLVMVectorType(LLVMIntTypeInContext(cg->context, size * 8), t.lanes), types[2] = {ty_all, cg->ty_ptr};
    LLVMTypeRef ty_lengths = LLVMVectorType(cg->ty_i64, t.lanes);
    LLVMValueRef v_from = zf_lower_pointer(lower, edge), v_numbers[ZF_STRIP];
    for (unsigned k = 0; k < t.lanes; k++) v_numbers[k] = zf_cg_i64(cg, k);
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v_lengths = LLVMBuildInsertElement(cg->builder, LLVMGetPoison(ty_lengths), v_length, zf_cg_i32(cg, 0), "");
    v_lengths = take_lanes(cg, v_lengths, 0, 0, t.lanes);
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, LLVMConstVector(v_numbers, t.lanes), v_lengths);
    v_exists = zf_cg_within(cg, v_exists, "elements of a small table");
    LLVMValueRef arguments[4] = {v_from, zf_cg_i32(cg, 1), v_exists, LLVMConstNull(ty_all)};
    t.v_parts[0] = zf_cg_intrinsic(cg, "llvm.masked.load", types, 2, arguments, 4);
    if (size == 8) {
        LLVMValueRef v = LLVMBuildBitCast(cg->builder, t.v_parts[0], LLVMVectorType(cg->ty_i32, 2 * t.lanes), "");
        for (unsigned half = 0; half < 2; half++) t.v_parts[half] = take_lanes(cg, v, half, 2, t.lanes);
    }
    zf_lower_setup_end(lower, bb_before);
    return t;
}

// Lane k of the result is lane indices[k] of a part. Back ends know this form, and have an instruction for it.
static LLVMValueRef permute(zf_cg *cg, const table *t, LLVMValueRef v_part, LLVMValueRef v_indices) {
    LLVMValueRef v = LLVMGetPoison(t->ty);
    for (unsigned k = 0; k < t->lanes; k++) {
        LLVMValueRef v_lane = zf_cg_i64(cg, k);
        LLVMValueRef v_index = LLVMBuildExtractElement(cg->builder, v_indices, v_lane, "");
        v = LLVMBuildInsertElement(cg->builder, v, LLVMBuildExtractElement(cg->builder, v_part, v_index, ""), v_lane, "");
    }
    return v;
}

// Elements from..from + lanes of the strip. The indices are read by a volatile load: were it seen through, what they were made of
// would be taken apart lane by lane, and the permutation no longer be known as one.
static void permute_lanes(zf_cg *cg, const table *t, unsigned size, LLVMValueRef v_indices, LLVMValueRef v_values,
                          unsigned from) {
    LLVMValueRef v_index = zf_cg_load(cg, t->ty, zf_cg_byte_at(cg, v_indices, from * t->bits / 8), 1);
    LLVMSetVolatile(v_index, 1);
    LLVMValueRef v = permute(cg, t, t->v_parts[0], v_index);
    if (size == 8) {
        LLVMValueRef v_high = permute(cg, t, t->v_parts[1], v_index), v_mask[ZF_STRIP];
        for (unsigned k = 0; k < 2 * t->lanes; k++) v_mask[k] = zf_cg_i32(cg, k / 2 + k % 2 * t->lanes);
        v = LLVMBuildShuffleVector(cg->builder, v, v_high, LLVMConstVector(v_mask, 2 * t->lanes), "");
    }
    zf_cg_store(cg, v, zf_cg_byte_at(cg, v_values, from * size), 1);
}

// Indices as wide as the table's elements.
static LLVMValueRef narrow(zf_cg *cg, const table *t, LLVMValueRef v_indices) {
    if (t->bits == 32) return v_indices;
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, t->bits);
    LLVMValueRef v_narrow = buffer(cg, ty, "narrow");
    LLVMValueRef v = zf_cg_load(cg, LLVMVectorType(cg->ty_i32, ZF_STRIP), v_indices, 64);
    zf_cg_store(cg, LLVMBuildTrunc(cg->builder, v, LLVMVectorType(ty, ZF_STRIP), ""), v_narrow, t->bits * ZF_STRIP / 8);
    return v_narrow;
}

// ---- A strip --------------------------------------------------------------------------------------------------

static LLVMValueRef make(zf_kernel_env *env, const zf_expr *access) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    const zf_graph_edge *edge = zf_lower_edge(lower, env->node, access->a->port);
    unsigned size = zf_kind_size(edge->type.kind);
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, size * 8);
    LLVMValueRef v_length = zf_lower_count(lower, edge->index);
    LLVMValueRef v_values = buffer(cg, ty, "looked_up"), v_indices = make_indices(env, access, v_length);
    table t = load_table(lower, edge->index, size, v_length);
    LLVMValueRef v_narrow = narrow(cg, &t, v_indices);
    for (unsigned from = 0; from < ZF_STRIP; from += t.lanes) permute_lanes(cg, &t, size, v_narrow, v_values, from);
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v_small = zf_cg_icmp(cg, LLVMIntULE, v_length, zf_cg_i64(cg, t.lanes));
    v_small = zf_cg_within(cg, v_small, "tables of a register");
    LLVMValueRef v_others = lower->host->v_small_tables;
    lower->host->v_small_tables = v_others == NULL ? v_small : zf_cg_and(cg, v_others, v_small);
    zf_lower_setup_end(lower, bb_before);
    return v_values;
}

bool zf_lower_look_up(zf_cg *cg, zf_cg_frame *frame, const zf_expr *access, zf_cg_value *out) {
    zf_kernel_env *env = (zf_kernel_env *)frame->env;
    if (!applies(env, access)) return false;
    zf_strip *strip = env->strip;
    looked_up *l = strip->looked_up;
    while (l != NULL && (l->access != access || l->node != env->node)) l = l->next;
    if (l == NULL) {
        LLVMBasicBlockRef bb_before = zf_cg_here(cg);
        zf_strip_ahead(cg, strip);
        l = ZF_NEW(cg->arena, looked_up);
        *l = (looked_up){.access = access, .node = env->node, .next = strip->looked_up};
        l->v_values = make(env, access);
        strip->looked_up = l;
        strip->bb_ahead = zf_cg_here(cg);
        zf_cg_enter(cg, bb_before);
    }
    zf_type type = zf_type_strip(access->type);
    LLVMTypeRef ty = zf_cg_type(cg, type);
    *out = zf_cg_scalar(type, zf_cg_load(cg, ty, zf_cg_at(cg, ty, l->v_values, strip->v_k), zf_kind_size(type.kind)));
    return true;
}

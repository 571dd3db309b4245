// Groups that are a map but for the last elements of each, as the exceptions of a patched frame of reference or of ALP.
//
// Where the place in the group decides between a value of the element alone and one of the group, finding every output's group
// would be done for the few that want it. Here all outputs are first made as a map makes them, as if none were an exception. Then
// the block walks the tile's groups, and each thread makes the exceptions of its own and stores them over what stands there.
#include "codegen/simt/groups/simt_tree.h"
#include "codegen/simt/memory/simt_staging.h"
#include "codegen/simt/simt_choices.h"

// With staged exceptions, shared memory lets six tiles of 32 KiB be resident. On an H200, alp with 3% of exceptions: 256
// threads of 40 registers reached 83% of the limit, 94% with prefetching; with 32 registers 72% instead of 83%, since ptxas
// then has rows wait for each other. Elements of one and two bytes have small tiles, and would be chosen one by one.
enum {
    THREADS = 64,
    REGISTERS = 64,
    LEAST_STAGED = 4, // bytes of an element
    STAGED_REGISTERS = 40,
    STAGED_THREADS = 256,
    STAGED_ROWS = 8, // of a tile, or more
    LEAST_THREADS = 64,
};

// ---- Which kernels --------------------------------------------------------------------------------------------

static bool along(const zf_expr *e, zf_local_kind domain, bool harmless, unsigned depth);

static bool call_along(const zf_call *call, zf_local_kind domain, bool harmless, unsigned depth) {
    if (call->body != NULL) return false;
    for (uint32_t k = 0; k < call->formal_count; k++) {
        if (!along(call->formals[k]->init, domain, harmless, depth)) return false;
    }
    return along(call->value, domain, harmless, depth);
}

static bool local_along(const zf_local *local, zf_local_kind domain, bool harmless, unsigned depth) {
    if (local->kind == domain) return true;
    if ((local->kind != ZF_L_LET && local->kind != ZF_L_FORMAL) || local->init == NULL) return false;
    return along(local->init, domain, harmless && local->kind == ZF_L_FORMAL, depth); // a `let` is evaluated where it stands
}

// Whether an expression depends on no other index than that of `domain`. `harmless`: nothing is read or checked in it, so that
// it may be evaluated where the language does not.
static bool along(const zf_expr *e, zf_local_kind domain, bool harmless, unsigned depth) {
    enum { DEEPEST = 32 };
    if (e == NULL) return true;
    if (depth++ > DEEPEST || e->effect) return false;
    switch (e->kind) {
    case ZF_X_CONST:
    case ZF_X_PARAM:
    case ZF_X_STREAM:
    case ZF_X_TABLE: return true;
    case ZF_X_LOCAL: return local_along(e->local, domain, harmless, depth);
    case ZF_X_CALL: return call_along(e->call, domain, harmless, depth);
    case ZF_X_BINARY:
        if (harmless && (e->op == ZF_OP_DIV || e->op == ZF_OP_REM) && !zf_kind_is_float(e->type.kind) && !e->proved) return false;
        break;
    case ZF_X_PRIM:
        if (harmless && e->prim == ZF_P_NTH_BIT && !e->proved) return false;
        break;
    case ZF_X_INDEX:
        if (harmless && (e->a->kind != ZF_X_TABLE || !e->proved)) return false;
        break;
    case ZF_X_BITS:
    case ZF_X_SLICE:
        if (harmless) return false;
        break;
    case ZF_X_UNARY:
    case ZF_X_COND:
    case ZF_X_CAST:
    case ZF_X_LEN: break;
    default: return false;
    }
    return along(e->a, domain, harmless, depth) && along(e->b, domain, harmless, depth) && along(e->c, domain, harmless, depth);
}

static bool is_place(const zf_expr *e) {
    e = zf_expr_kept(e);
    return e->kind == ZF_X_LOCAL && e->local->kind == ZF_L_DOMAIN_J;
}

// How a body tells its exceptions: the place in the group from which on they are, by what `at` chooses.
typedef struct patched {
    const zf_expr *at;   // COND
    const zf_expr *from; // unsigned
    bool regular;        // the condition of those that are none
} patched;

static bool patched_of(const zf_inst *inst, patched *p) {
    const zf_body *decode = &inst->decode;
    const zf_expr *e = decode->value;
    if (e == NULL || decode->returns_inside || e->kind != ZF_X_COND || e->a->kind != ZF_X_BINARY) return false;
    for (const zf_stmt *s = decode->stmts; s != NULL; s = s->next) {
        if (s->kind != ZF_S_LET || s->local->is_seq || !along(s->local->init, ZF_L_DOMAIN_I, false, 0)) return false;
    }
    *p = (patched){.at = e, .from = e->a->b, .regular = e->a->op == ZF_OP_LT};
    if (!p->regular && e->a->op != ZF_OP_GE) return false;
    if (!is_place(e->a->a) || zf_kind_is_float(p->from->type.kind) || zf_kind_is_signed(p->from->type.kind)) return false;
    return along(p->from, ZF_L_DOMAIN_G, false, 0) && along(p->regular ? e->b : e->c, ZF_L_DOMAIN_I, true, 0);
}

// Shared memory behind the sums of warps: a bit for each output of the tile, and room for each one's value.
typedef struct staged {
    LLVMValueRef v_bits, v_values; // of i32, and of the column's type; NULL: exceptions are stored over what stands there
} staged;

static uint32_t staged_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->tile / 32 * 4 + kernel->tile * zf_kind_size(zf_simt_type_of(plan, kernel).kind);
}

static bool stage_fits(const zf_plan *plan, const zf_kernel *kernel) {
    return ZF_SIMT_SUMS + staged_bytes(plan, kernel) <= plan->target->shared_bytes;
}

static uint32_t default_stage(const zf_plan *plan, const zf_kernel *kernel) {
    bool words = zf_kind_size(zf_simt_type_of(plan, kernel).kind) >= LEAST_STAGED;
    return words && stage_fits(plan, kernel) ? ZF_STAGE_TILE : ZF_STAGE_NONE;
}

zf_simt_shape zf_form_patches_shape(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t usual = default_stage(plan, kernel), threads = THREADS;
    uint32_t lanes = zf_simt_lane_count(zf_simt_type_of(plan, kernel));
    zf_simt_shape shape = {.tiles = 1, .shared_bytes = ZF_SIMT_SUMS, .registers = REGISTERS};
    if (zf_choice_value(&kernel->choice, ZF_CHOICE_STAGE, usual) != ZF_STAGE_NONE)
        shape.shared_bytes += staged_bytes(plan, kernel);
    if (usual != ZF_STAGE_NONE) {
        shape.registers = STAGED_REGISTERS;
        shape.prefetch = true;
        threads = STAGED_THREADS;
        while (threads > LEAST_THREADS && threads * STAGED_ROWS * lanes > kernel->tile) threads /= 2;
    }
    shape.threads = zf_choice_value(&kernel->choice, ZF_CHOICE_THREADS, threads);
    return shape;
}

void zf_form_patches_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    uint32_t most = zf_choice_threads_of_tile(plan, kernel, shape->threads);
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, most);
    zf_choice_allow_together(space, zf_simt_type_of(plan, kernel));
    zf_choice_allow_up_to(space, ZF_CHOICE_STAGE, stage_fits(plan, kernel) ? ZF_STAGE_TILE : ZF_STAGE_NONE);
    zf_choose(&space->defaults, ZF_CHOICE_STAGE, default_stage(plan, kernel));
    zf_choice_allow_prefetch(space, shape);
}

bool zf_form_patches_fits(const zf_plan *plan, const zf_kernel *kernel) {
    zf_type type = zf_simt_type_of(plan, kernel);
    patched p;
    if (kernel->domain != ZF_DOMAIN_GROUPS || kernel->prefix != NULL) return false;
    if (type.nullable || type.kind == ZF_K_STRING || type.kind == ZF_K_BOOL) return false; // stored with their neighbours
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind == ZF_STEP_SCAN) return false;
        if (kernel->steps[s].kind == ZF_STEP_EXPAND && kernel->steps[s].node != kernel->root) return false;
    }
    return patched_of(plan->graph->nodes[kernel->root].inst, &p);
}

// ---- Regular elements -----------------------------------------------------------------------------------------

enum { GROUPS_OF = 16 }; // elements a group, or more: a tile prefetches for so many
enum { ROWS = 4 };       // whose loads are under way together: with more, registers would be for fewer warps

// Puts exceptions in the place of those of `count` outputs from v_from (i64) on in the tile, which lie in one word of bits.
static void put_exceptions(zf_kernel_build *lower, const staged *s, LLVMValueRef v_from, zf_cg_value *values, unsigned count) {
    zf_cg *cg = lower->cg;
    if (s->v_bits == NULL) return;
    LLVMTypeRef ty = LLVMTypeOf(values[0].v);
    LLVMValueRef v_place = zf_cg_resize(cg, v_from, cg->ty_i32, false), v_first = zf_cg_and(cg, v_place, zf_cg_i32(cg, 31));
    LLVMValueRef v_word = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_place, zf_cg_i32(cg, 5), ""), cg->ty_i64, false);
    LLVMValueRef v_bits = zf_cg_load(cg, cg->ty_i32, zf_cg_at(cg, cg->ty_i32, s->v_bits, v_word), 4);
    v_bits = LLVMBuildLShr(cg->builder, v_bits, v_first, "");
    unsigned size = zf_kind_size(lower->type.kind);
    LLVMValueRef v_at = zf_cg_at(cg, ty, s->v_values, v_from);
    LLVMValueRef v_all = zf_cg_load(cg, LLVMVectorType(ty, count), v_at, count * size);
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef v_bit = zf_cg_and(cg, v_bits, zf_cg_i32(cg, 1u << k));
        LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntNE, v_bit, zf_cg_i32(cg, 0));
        LLVMValueRef v_value = LLVMBuildExtractElement(cg->builder, v_all, zf_cg_i32(cg, k), "");
        values[k].v = zf_cg_select(cg, v_is, v_value, values[k].v);
    }
}

// All outputs, C contiguous ones a thread: as if none were an exception, but for those that were staged.
static void regular_outputs(zf_simt_tree *tree, const patched *p, const staged *s, zf_simt_prefetch_tile *fetch) {
    zf_kernel_build *lower = tree->lower;
    zf_cg *cg = lower->cg;
    unsigned count = zf_simt_together(lower);
    uint32_t row = tree->shape->threads * count;
    LLVMValueRef v_size = zf_cg_sub(cg, tree->tile->v_hi, tree->tile->v_lo), v_row = zf_cg_i64(cg, row);
    LLVMValueRef v_whole = LLVMBuildUDiv(cg->builder, v_size, v_row, "");
    v_whole = zf_cg_select(cg, tree->tile->v_whole, v_whole, zf_cg_i64(cg, 0));
    LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_size, zf_cg_i64(cg, row - 1)), v_row, "");
    LLVMValueRef v_mine = zf_cg_mul(cg, zf_cg_resize(cg, lower->simt->v_thread, cg->ty_i64, false), zf_cg_i64(cg, count));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_whole, "row");
    LLVMValueRef v_from = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_row), v_mine);
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, zf_cg_add(cg, tree->tile->v_lo, v_from), count);
    lanes.fetch = fetch;
    zf_cg_value values[ZF_NEIGHBOURS];
    for (unsigned k = 0; k < count; k++) {
        zf_kernel_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        env.env.decided = p->at;
        env.env.decided_so = p->regular;
        values[k] = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
        cg->v_guard = NULL;
    }
    zf_simt_lanes_end(lower, &lanes);
    put_exceptions(lower, s, v_from, values, count);
    zf_simt_store_vector(lower, values, count, zf_cg_add(cg, tree->tile->v_lo, v_from));
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, ROWS);

    // The rest is stored one by one.
    zf_cg_loop_begin(cg, &loop, v_whole, v_rows, "row_cut");
    v_from = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_row), v_mine);
    zf_simt_cut cut = zf_simt_cut_begin(lower, zf_cg_add(cg, tree->tile->v_lo, v_from), v_from, v_size);
    for (unsigned k = 0; k < count; k++) {
        zf_simt_cut_element(lower, &cut, k);
        zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.env.decided = p->at;
        env.env.decided_so = p->regular;
        env.v_i = cut.v_index;
        zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
        cg->v_guard = NULL;
        put_exceptions(lower, s, zf_cg_add(cg, v_from, zf_cg_i64(cg, k)), &value, 1);
        zf_simt_cut_store(lower, &cut, k, value);
    }
    zf_simt_cut_end(lower, &cut);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// ---- Exceptions -----------------------------------------------------------------------------------------------

// The visit of a tile's groups.
typedef struct patching {
    patched p;
    staged staged;
} patching;

// A group's exceptions in the tile: its elements from v_from to v_size there, of which the first is at place v_at of the tile.
typedef struct exceptions {
    LLVMValueRef v_g, v_offset;        // i64; v_offset: elements of the group before the tile
    LLVMValueRef v_from, v_size, v_at; // i32
    LLVMValueRef v_some;               // i1
} exceptions;

// Finds the exceptions of group v_g, of whose elements the tile has v_size (i32) from place v_at (i32) on.
static exceptions find_exceptions(zf_simt_group_starts *t, const patched *p, LLVMValueRef v_g, LLVMValueRef v_size,
                                  LLVMValueRef v_at) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_begins = zf_cg_icmp(cg, LLVMIntEQ, v_g, t->v_g0);
    exceptions e = {.v_g = v_g, .v_offset = zf_cg_select(cg, v_begins, t->v_o0, zf_cg_i64(cg, 0))};
    zf_kernel_env env = zf_lower_env_make(lower, t->node);
    env.v_g = v_g;
    LLVMValueRef v_from = zf_cg_eval_expr(cg, &env.env, &env.env.inst->decode, p->from, NULL, 0).v;
    v_from = zf_cg_resize(cg, v_from, cg->ty_i64, false);
    v_from = zf_cg_sub(cg, v_from, zf_cg_umin(cg, v_from, e.v_offset)); // elements of the tile before the first exception
    cg->v_guard = NULL;
    LLVMValueRef v_room = zf_cg_sub(cg, t->v_length, zf_cg_umin(cg, v_at, t->v_length));
    e.v_size = zf_cg_clamp(cg, v_size, v_room, "exceptions inside the tile");
    e.v_from = zf_cg_umin(cg, v_from, zf_cg_resize(cg, e.v_size, cg->ty_i64, false));
    e.v_from = zf_cg_resize(cg, e.v_from, cg->ty_i32, false);
    e.v_at = v_at;
    e.v_some = zf_cg_icmp(cg, LLVMIntULT, e.v_from, e.v_size);
    return e;
}

// The index of what is at a place of the tile (i32).
static LLVMValueRef index_at(zf_simt_group_starts *t, LLVMValueRef v_place) {
    zf_cg *cg = t->lower->cg;
    return zf_cg_add(cg, t->tree->tile->v_lo, zf_cg_resize(cg, v_place, cg->ty_i64, false));
}

// Stores an exception, or stages it.
static void put(zf_simt_group_starts *t, const staged *s, zf_cg_value value, LLVMValueRef v_place) {
    zf_cg *cg = t->lower->cg;
    if (s->v_bits == NULL) {
        zf_lower_store_element(t->lower, value, t->lower->v_sink, index_at(t, v_place));
        return;
    }
    LLVMValueRef v_to = zf_cg_at(cg, LLVMTypeOf(value.v), s->v_values, zf_cg_resize(cg, v_place, cg->ty_i64, false));
    zf_cg_store(cg, value.v, v_to, zf_kind_size(t->lower->type.kind));
    LLVMValueRef v_word = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_place, zf_cg_i32(cg, 5), ""), cg->ty_i64, false);
    LLVMValueRef v_bit = LLVMBuildShl(cg->builder, zf_cg_i32(cg, 1), zf_cg_and(cg, v_place, zf_cg_i32(cg, 31)), "");
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i32, s->v_bits, v_word);
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_at, v_bit, LLVMAtomicOrderingMonotonic, 0);
}

// The exception at place v_in (i32) of the group's in the tile; its failed checks count where v_counts (i1; NULL: always).
// *v_place (i32): its place in the tile.
static zf_cg_value exception(zf_simt_group_starts *t, const patched *p, const exceptions *e, LLVMValueRef v_in,
                             LLVMValueRef v_counts, LLVMValueRef *v_place) {
    zf_cg *cg = t->lower->cg;
    zf_kernel_env env = zf_lower_env_make(t->lower, t->node);
    *v_place = zf_cg_add(cg, e->v_at, v_in);
    env.v_g = e->v_g;
    env.v_j = zf_cg_add(cg, e->v_offset, zf_cg_resize(cg, v_in, cg->ty_i64, false));
    env.v_i = index_at(t, *v_place);
    env.v_counts = v_counts;
    env.env.decided = p->at;
    env.env.decided_so = !p->regular;
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    return value;
}

// Those behind the first.
static void patch_rest(zf_simt_group_starts *t, const patching *patches, const exceptions *e) {
    zf_cg *cg = t->lower->cg;
    LLVMValueRef v_place, v_next = zf_cg_add(cg, e->v_from, zf_cg_resize(cg, e->v_some, cg->ty_i32, false));
    zf_cg_loop loop;
    cg->sites_in = "second exceptions of a group";
    zf_cg_loop_begin(cg, &loop, v_next, e->v_size, "exception");
    zf_cg_value value = exception(t, &patches->p, e, loop.v_i, NULL, &v_place);
    put(t, &patches->staged, value, v_place);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    cg->sites_in = NULL;
}

// Makes the first exception of `ours` that of `theirs` where they have one.
static void stand_in(zf_cg *cg, const exceptions *theirs, exceptions *ours) {
    ours->v_g = zf_cg_select(cg, theirs->v_some, theirs->v_g, ours->v_g);
    ours->v_offset = zf_cg_select(cg, theirs->v_some, theirs->v_offset, ours->v_offset);
    ours->v_from = zf_cg_select(cg, theirs->v_some, theirs->v_from, ours->v_from);
    ours->v_at = zf_cg_select(cg, theirs->v_some, theirs->v_at, ours->v_at);
}

// For a group without exceptions the first one of another stands in: only of an exception is true what its accesses and divisions
// rely on. *v_any (i1): there is one.
static void stand_for(zf_cg *cg, const exceptions *found, unsigned count, exceptions *firsts, LLVMValueRef *v_any) {
    exceptions any = found[0];
    *v_any = found[0].v_some;
    for (unsigned k = 1; k < count; k++) {
        stand_in(cg, &found[k], &any);
        *v_any = zf_cg_or(cg, *v_any, found[k].v_some);
    }
    for (unsigned k = 0; k < count; k++) {
        firsts[k] = any;
        stand_in(cg, &found[k], &firsts[k]);
    }
}

// Most groups have one exception. Those of all groups of a thread are read before the first is stored, so that their loads are
// in flight together. A group outside the tile is replaced by one inside.
static void patch_groups(zf_simt_group_starts *t, const void *context, LLVMValueRef v_first, const LLVMValueRef *v_sizes,
                         LLVMValueRef v_at) {
    zf_cg *cg = t->lower->cg;
    const patching *patches = context;
    const patched *p = &patches->p;
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "groups_some"), bb_next = zf_cg_block(cg, "groups_next");
    LLVMValueRef v_here[ZF_SIMT_GROUPS_MOST], v_any = zf_cg_i1(cg, false), v_more = v_any, v_stand_in = v_first;
    for (unsigned k = t->each; k-- > 0;) {
        v_here[k] = zf_cg_icmp(cg, LLVMIntNE, v_sizes[k], zf_cg_i32(cg, 0));
        v_stand_in = zf_cg_select(cg, v_here[k], zf_cg_add(cg, v_first, zf_cg_i64(cg, k)), v_stand_in);
        v_any = zf_cg_or(cg, v_any, v_here[k]);
    }
    zf_cg_cond_br(cg, v_any, bb_some, bb_next);
    zf_cg_enter(cg, bb_some);
    exceptions found[ZF_SIMT_GROUPS_MOST], firsts[ZF_SIMT_GROUPS_MOST];
    zf_cg_value values[ZF_SIMT_GROUPS_MOST];
    LLVMValueRef v_places[ZF_SIMT_GROUPS_MOST];
    for (unsigned k = 0; k < t->each; k++) {
        LLVMValueRef v_g = zf_cg_select(cg, v_here[k], zf_cg_add(cg, v_first, zf_cg_i64(cg, k)), v_stand_in);
        found[k] = find_exceptions(t, p, v_g, v_sizes[k], v_at);
        v_at = zf_cg_add(cg, v_at, v_sizes[k]);
    }
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "exceptions_first");
    stand_for(cg, found, t->each, firsts, &v_any);
    zf_cg_cond_br(cg, v_any, bb_first, bb_next);
    zf_cg_enter(cg, bb_first);
    for (unsigned k = 0; k < t->each; k++) {
        values[k] = exception(t, p, &firsts[k], firsts[k].v_from, found[k].v_some, &v_places[k]);
        LLVMValueRef v_second = zf_cg_add(cg, found[k].v_from, zf_cg_i32(cg, 1));
        v_more = zf_cg_or(cg, v_more, zf_cg_icmp(cg, LLVMIntULT, v_second, found[k].v_size));
    }
    for (unsigned k = 0; k < t->each; k++) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "exception_store"), bb_stored = zf_cg_block(cg, "exception_stored");
        zf_cg_cond_br(cg, found[k].v_some, bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
        put(t, &patches->staged, values[k], v_places[k]);
        zf_cg_br(cg, bb_stored);
        zf_cg_enter(cg, bb_stored);
    }
    LLVMBasicBlockRef bb_more = zf_cg_block(cg, "exceptions_more");
    zf_cg_cond_br(cg, v_more, bb_more, bb_next);
    zf_cg_enter(cg, bb_more);
    for (unsigned k = 0; k < t->each; k++) patch_rest(t, patches, &found[k]);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

// Prefetches the streams of exceptions.
static void ask_for_exceptions(zf_simt_group_starts *t) {
    zf_kernel_build *lower = t->lower;
    const zf_graph_node *node = &lower->graph->nodes[t->node];
    for (uint32_t s = 0; s < node->inst->stream_count; s++) {
        const zf_graph_edge *edge = &lower->graph->edges[node->inputs[s]];
        uint32_t size = zf_kind_size(zf_type_strip(edge->type).kind);
        if (edge->access == ZF_ACCESS_ALIGNED_G && zf_lower_in_memory(lower, node->inputs[s]) && !edge->type.nullable)
            zf_simt_prefetch_tile_edge(t->fetch, node->inputs[s], zf_lower_pointer(lower, node->inputs[s]), 8 * (uint64_t)size,
                                       false);
    }
}

// ---- The tile -------------------------------------------------------------------------------------------------

// Whether exceptions are staged: in the room that the shape has for it, of whose bits none is set then.
static void stage_bits(zf_kernel_build *lower, const zf_simt_shape *shape, staged *s) {
    zf_cg *cg = lower->cg;
    uint32_t words = lower->kernel->tile / 32;
    s->v_bits = cg->target->simt->shared(cg, ZF_SIMT_SUMS, words * 4);
    s->v_values = cg->target->simt->shared(cg, ZF_SIMT_SUMS + words * 4, shape->shared_bytes - ZF_SIMT_SUMS - words * 4);
    LLVMValueRef v_thread = zf_cg_resize(cg, lower->simt->v_thread, cg->ty_i64, false);
    for (uint32_t from = 0; from < words; from += shape->threads) {
        LLVMBasicBlockRef bb_clear = zf_cg_block(cg, "clear"), bb_next = zf_cg_block(cg, "clear_next");
        LLVMValueRef v_word = zf_cg_add(cg, v_thread, zf_cg_i64(cg, from));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_word, zf_cg_i64(cg, words));
        if (from + shape->threads > words) v_exists = zf_cg_within(cg, v_exists, "words of bits to clear");
        zf_cg_cond_br(cg, v_exists, bb_clear, bb_next);
        zf_cg_enter(cg, bb_clear);
        zf_cg_store(cg, zf_cg_i32(cg, 0), zf_cg_at(cg, cg->ty_i32, s->v_bits, v_word), 4);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    if (shape->threads == cg->wave) zf_simt_barrier(lower, "bits that are cleared before those that are set"); // a walk meets
}

void zf_form_patches_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    zf_simt_tile tile = zf_simt_tile_of(lower);
    zf_simt_group_starts t = {
        .lower = lower, .shape = shape, .node = lower->kernel->root, .tile = lower->kernel->tile, .each = ZF_SIMT_GROUPS_EACH};
    zf_simt_tree tree = {.lower = lower, .shape = shape, .tile = &tile, .stages = &t, .stage_count = 1};
    patching patches = {0};
    if (!patched_of(lower->graph->nodes[t.node].inst, &patches.p)) {
        zf_cg_unsupported(cg, lower->graph->column->span, "groups that are no map with exceptions");
        return;
    }
    bool stages = shape->shared_bytes > ZF_SIMT_SUMS;
    if (stages) t.each = 1;
    t.tree = &tree;
    t.v_sums = cg->target->simt->shared(cg, 0, ZF_SIMT_SUMS);
    t.v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), t.v_bad);
    t.v_length = zf_cg_resize(cg, zf_cg_sub(cg, tile.v_hi, tile.v_lo), cg->ty_i32, false);
    zf_simt_prefetch_tile fetch_rows, fetch_groups;
    LLVMValueRef v_size = zf_cg_sub(cg, tile.v_hi, tile.v_lo);
    zf_simt_prefetch_tile_begin(&fetch_rows, lower, lower->simt->v_thread, shape->threads, tile.v_lo, v_size, t.tile);
    zf_simt_group_starts_count_groups(&t);
    zf_simt_group_starts_ends(&t, NULL, NULL);
    LLVMValueRef v_groups = zf_cg_sub(cg, t.v_end, t.v_g0);
    zf_simt_prefetch_tile_begin(&fetch_groups, lower, lower->simt->v_thread, shape->threads, t.v_g0, v_groups,
                                t.tile / GROUPS_OF);
    t.fetch = &fetch_groups;
    ask_for_exceptions(&t);
    if (stages) stage_bits(lower, shape, &patches.staged);
    LLVMValueRef v_total = NULL;
    if (stages) {
        v_total = zf_simt_group_starts_walk(&t, patch_groups, &patches);
        zf_simt_barrier(lower, "exceptions before the rows that they are in");
    }
    regular_outputs(&tree, &patches.p, &patches.staged, &fetch_rows);
    zf_simt_prefetch_tile_end(&fetch_rows);
    if (!stages) {
        zf_simt_barrier(lower, "elements before what replaces some");
        v_total = zf_simt_group_starts_walk(&t, patch_groups, &patches);
    }
    zf_simt_group_starts_fit(&t, v_total);
    zf_simt_prefetch_tile_end(&fetch_groups);
    zf_lower_report(lower, tile.v_lo);
}

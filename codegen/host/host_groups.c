// Groups: the output is walked from a state (g, o), group by group.
//
// Sizes, and the elements that a body pulls at g, are made for 64 groups at a time (a strip along g), so that they unpack and
// vectorise as maps do. A group's elements are then stored a vector at a time, beyond its end if the tile has room: later
// groups overwrite the excess. Short groups therefore cost one store each.
//
// The walk ends where the tile is full and stands in a group that has elements left, or behind the last group: the state that the
// next tile starts from. It stops at the group that the file says is the next tile's, so it cannot tell whether that one has
// elements: the next tile does.
#include "codegen/body/cg_frame.h"
#include "codegen/host/host.h"

// The bytes of a vector of a group's elements, and of one where all groups are short. A store of 64 bytes nearly always touches
// two cache lines, which takes as long as everything else for runs of two.
enum { VECTOR_BYTES = 64, SHORT_BYTES = 16 };

typedef struct pulled {
    uint32_t edge;
    zf_type type;
    LLVMValueRef v_buffer;
    struct pulled *next;
} pulled;

// One way to fill a strip's buffers: by vectors, or one group at a time near the end of a stream.
typedef struct filling {
    zf_strip strip;
    LLVMBasicBlockRef bb; // open while the walk is built
    bool whole;           // all 64 groups exist; those outside first..end do not count
} filling;

typedef struct zf_walk {
    zf_kernel_build *lower;
    filling fast, slow;
    LLVMValueRef v_start, v_first, v_end; // of the strip: first group, a multiple of 64; the part of it that is walked
    LLVMValueRef v_sizes;                 // buffer, i64
    LLVMValueRef v_longest;               // slot, i64: the largest of those sizes, or more
    pulled *pulled;
} walk;

// The position of the walk: slots, i64.
typedef struct state {
    LLVMValueRef v_g, v_o, v_pos;
} state;

static LLVMValueRef get(zf_cg *cg, LLVMValueRef v_slot) { return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, ""); }
static void set(zf_cg *cg, LLVMValueRef v_slot, LLVMValueRef v) { LLVMBuildStore(cg->builder, v, v_slot); }
static LLVMValueRef larger(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) {
    return zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, a, b), a, b);
}

// ---- Buffers of a strip ---------------------------------------------------------------------------------------

// Fills a buffer for the groups of a strip, in one of the two ways: with an access's element, or (NULL) the sizes.
static void fill_one_way(walk *w, filling *f, const zf_expr *access, LLVMValueRef v_buffer) {
    zf_kernel_build *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    LLVMValueRef v_guard = cg->v_guard;
    cg->v_guard = NULL;
    zf_cg_enter(cg, f->bb);
    zf_cg_loop loop;
    if (f->whole)
        zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, ZF_STRIP), "fill");
    else
        zf_cg_loop_begin(cg, &loop, w->v_first, w->v_end, "fill_some");
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.strip = &f->strip;
    f->strip.v_k = loop.v_i;
    env.v_g = zf_cg_add(cg, w->v_start, loop.v_i);
    if (f->whole) {
        LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, loop.v_i, w->v_end);
        LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, loop.v_i, w->v_first);
        env.v_counts = zf_cg_and(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_begun, "checks of groups before the tile"),
                                 zf_cg_holds(cg, ZF_SITE_MASK, v_goes_on, "checks of groups behind the tile"));
    }
    zf_cg_value value;
    if (access != NULL) {
        const zf_port *port = access->a->port;
        zf_cg_seq seq = {.kind = ZF_CG_SEQ_PORT, .type = port->type, .port = port};
        value = zf_cg_seq_element(cg, &env.env, &seq, env.v_g, access);
    } else {
        value = zf_cg_eval_body(cg, &env.env, &env.env.inst->size);
    }
    LLVMTypeRef ty = zf_cg_memory_type(cg, value.type);
    LLVMValueRef v = value.type.kind == ZF_K_BOOL ? zf_cg_resize(cg, value.v, cg->ty_i8, false) : value.v;
    LLVMBuildStore(cg->builder, v, zf_cg_at(cg, ty, v_buffer, loop.v_i));
    if (access == NULL && w->v_longest != NULL) set(cg, w->v_longest, larger(cg, get(cg, w->v_longest), v));
    cg->v_guard = NULL;
    zf_cg_loop_end(cg, &loop);
    f->bb = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
    cg->v_guard = v_guard;
}

static LLVMValueRef make_buffer(zf_cg *cg, LLVMTypeRef ty, const char *name) {
    LLVMValueRef v_buffer = zf_cg_alloca(cg, LLVMArrayType2(ty, ZF_STRIP), name);
    LLVMSetAlignment(v_buffer, 64);
    return v_buffer;
}

bool zf_lower_pulled_here(const zf_kernel_env *env, const zf_expr *access) {
    if (access == NULL || access->kind != ZF_X_INDEX || access->a->kind != ZF_X_STREAM) return false;
    return zf_lower_is_index(env, access->b) && zf_plan_is_hoisted(env->lower->plan, env->node, access);
}

bool zf_lower_pulled(zf_kernel_env *env, const zf_graph_edge *edge, const zf_expr *access, zf_cg_value *out) {
    walk *w = env->strip->walk;
    zf_cg *cg = w->lower->cg;
    if (env->node != w->lower->kernel->root || edge->type.nullable || edge->type.kind == ZF_K_STRING) return false;
    pulled *p = w->pulled;
    while (p != NULL && p->edge != edge->index) p = p->next;
    if (p == NULL) {
        p = ZF_NEW(cg->arena, pulled);
        *p = (pulled){.edge = edge->index, .type = zf_type_strip(edge->type), .next = w->pulled};
        p->v_buffer = make_buffer(cg, zf_cg_memory_type(cg, p->type), "pulled");
        fill_one_way(w, &w->fast, access, p->v_buffer);
        fill_one_way(w, &w->slow, access, p->v_buffer);
        w->pulled = p;
    }
    LLVMTypeRef ty = zf_cg_memory_type(cg, p->type);
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, ty, zf_cg_at(cg, ty, p->v_buffer, env->strip->v_k), "");
    if (p->type.kind == ZF_K_BOOL) v = zf_cg_resize(cg, v, cg->ty_i1, false);
    *out = zf_cg_scalar(p->type, v);
    return true;
}

// ---- The elements of one group --------------------------------------------------------------------------------

typedef struct sink {
    LLVMValueRef v_at, v_from; // element `index` goes to v_at[index - v_from]
} sink;

static void store_element(zf_kernel_build *lower, const sink *to, zf_cg_value value, LLVMValueRef v_index) {
    zf_lower_store(lower, value, to->v_at, to->v_from == NULL ? v_index : zf_cg_sub(lower->cg, v_index, to->v_from));
}

// ---- Groups that are strings ----

// The string whose bytes groups are; NULL: they are something else, or are not stored where they belong.
static const zf_expr *string_of(const zf_kernel_build *lower, const sink *to) {
    return to->v_from == NULL ? zf_group_string(lower->plan, lower->kernel) : NULL;
}

static LLVMValueRef string_text(zf_kernel_build *lower, zf_strip *strip, const zf_expr *access, LLVMValueRef v_g,
                                LLVMValueRef v_o, LLVMValueRef v_pos, LLVMValueRef *v_length) {
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.strip = strip;
    env.v_g = v_g;
    env.v_j = v_o;
    env.v_i = v_pos;
    zf_cg_value text = zf_cg_eval_expr(lower->cg, &env.env, &env.env.inst->decode, access->a, NULL, 0);
    lower->cg->v_guard = NULL;
    *v_length = text.seq.v_length;
    return zf_cg_text_pointer(lower->cg, &text.seq);
}

// Bytes o .. o + n of group g's string, copied: one check for all of them.
static void emit_string(zf_kernel_build *lower, zf_strip *strip, const zf_expr *access, LLVMValueRef v_g, LLVMValueRef v_o,
                        LLVMValueRef v_n, LLVMValueRef v_pos, LLVMValueRef v_hi) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_length, v_text = string_text(lower, strip, access, v_g, v_o, v_pos, &v_length);
    if (!access->proved) {
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, zf_cg_add(cg, v_o, v_n), v_length);
        int32_t number = zf_plan_check(lower->plan, lower->kernel->root, access->span, 1);
        if (number < 0) zf_cg_unsupported(cg, access->span, "the plan has no check V01 here");
        zf_lower_check(lower, v_over, number < 0 ? 0 : (uint32_t)number, "V01, of a group's string");
        v_n = zf_cg_select(cg, v_over, zf_cg_i64(cg, 0), v_n);
    }
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i8, v_text, v_o);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_pos);
    zf_lower_copy_text(lower, v_to, v_from, v_n, zf_cg_sub(cg, v_hi, v_pos));
}

// The first bytes of group g's string, as many as are copied together.
static void emit_short_string(zf_kernel_build *lower, zf_strip *strip, const zf_expr *access, LLVMValueRef v_g,
                              LLVMValueRef v_pos) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_length, v_text = string_text(lower, strip, access, v_g, zf_cg_i64(cg, 0), v_pos, &v_length);
    zf_lower_copy_step(cg, zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_pos), v_text);
}

// Most elements of groups that are stored whole, in so many bytes; of strings a step; 0: groups are stored by element.
static unsigned lanes_in(const zf_kernel_build *lower, const sink *to, unsigned bytes) {
    const zf_expr *access = string_of(lower, to);
    if (access == NULL) return bytes / zf_kind_size(lower->type.kind);
    return access->proved && lower->cg->target->simt == NULL ? ZF_TEXT_STEP : 0; // where checks fail there may be no string
}

// Stores a vector of `lanes` elements from element o of group g at v_at. Elements beyond the `left` ones of the group may be
// stored, but must not fail, nor read by proofs that hold for real elements only.
static void emit_vector(zf_kernel_build *lower, zf_strip *strip, const sink *to, LLVMValueRef v_g, LLVMValueRef v_o,
                        LLVMValueRef v_left, LLVMValueRef v_at, unsigned lanes) {
    zf_cg *cg = lower->cg;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, lanes), "lane");
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.strip = strip;
    env.v_g = v_g;
    env.v_j = zf_cg_add(cg, v_o, loop.v_i);
    env.v_i = zf_cg_add(cg, v_at, loop.v_i);
    cg->v_guard = zf_cg_icmp(cg, LLVMIntULT, loop.v_i, v_left);
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    store_element(lower, to, value, env.v_i);
    zf_cg_loop_end(cg, &loop);
}

// Elements o .. o + n of group g at position pos, a vector at a time.
static void emit_group(zf_kernel_build *lower, zf_strip *strip, const sink *to, LLVMValueRef v_g, LLVMValueRef v_o,
                       LLVMValueRef v_n, LLVMValueRef v_pos, LLVMValueRef v_hi) {
    zf_cg *cg = lower->cg;
    const zf_expr *access = string_of(lower, to);
    if (access != NULL) {
        emit_string(lower, strip, access, v_g, v_o, v_n, v_pos, v_hi);
        return;
    }
    unsigned lanes = VECTOR_BYTES / zf_kind_size(lower->type.kind);
    LLVMValueRef v_lanes = zf_cg_i64(cg, lanes), v_zero = zf_cg_i64(cg, 0);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_part = zf_cg_block(cg, "part"), bb_more = zf_cg_block(cg, "part_next");
    LLVMBasicBlockRef bb_room = zf_cg_block(cg, "room"), bb_tight = zf_cg_block(cg, "tight"),
                      bb_end = zf_cg_block(cg, "group_end");
    zf_cg_br(cg, bb_part);
    zf_cg_enter(cg, bb_part);
    LLVMValueRef v_c = LLVMBuildPhi(cg->builder, cg->ty_i64, "c");
    LLVMAddIncoming(v_c, &v_zero, &bb_before, 1);
    LLVMValueRef v_at = zf_cg_add(cg, v_pos, v_c);
    LLVMValueRef v_left = zf_cg_sub(cg, v_n, v_c);
    LLVMValueRef v_room = zf_cg_icmp(cg, LLVMIntULE, v_lanes, zf_cg_sub(cg, v_hi, v_at));
    v_room = zf_cg_within(cg, v_room, "room for a vector in the tile");
    LLVMValueRef v_first = zf_cg_add(cg, v_o, v_c);
    zf_cg_cond_br(cg, v_room, bb_room, bb_tight);
    zf_cg_enter(cg, bb_room);
    emit_vector(lower, strip, to, v_g, v_first, v_left, v_at, lanes);
    zf_cg_br(cg, bb_more);
    zf_cg_enter(cg, bb_tight);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_zero, v_left, "lane");
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.strip = strip;
    env.v_g = v_g;
    env.v_j = zf_cg_add(cg, v_first, loop.v_i);
    env.v_i = zf_cg_add(cg, v_at, loop.v_i);
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    store_element(lower, to, value, env.v_i);
    zf_cg_loop_end(cg, &loop);
    zf_cg_br(cg, bb_end); // nothing is left
    zf_cg_enter(cg, bb_more);
    LLVMValueRef v_next = zf_cg_add(cg, v_c, v_lanes);
    LLVMAddIncoming(v_c, &v_next, &bb_more, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, v_n), bb_part, bb_end);
    zf_cg_enter(cg, bb_end);
}

// The same one by one, with what runs along the elements.
static void emit_group_scanning(zf_kernel_build *lower, const sink *to, LLVMValueRef v_g, LLVMValueRef v_o, LLVMValueRef v_n,
                                LLVMValueRef v_pos) {
    zf_cg *cg = lower->cg;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_n, "single");
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_g = v_g;
    env.v_j = zf_cg_add(cg, v_o, loop.v_i);
    env.v_i = zf_cg_add(cg, v_pos, loop.v_i);
    zf_lower_level_settle(lower, 0);
    zf_lower_level_values(lower, 0, env.v_i);
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    store_element(lower, to, value, env.v_i);
    zf_lower_level_next(lower, 0, env.v_i);
    zf_cg_loop_end(cg, &loop);
}

// ---- One group ------------------------------------------------------------------------------------------------

typedef struct visit {
    const zf_lower_tiles *tiles;
    const sink *to;
    state at;
    LLVMValueRef v_groups;
    LLVMValueRef v_stored; // the group that the file says the tile starts in: it has elements; UINT64_MAX: the file says nothing
    LLVMBasicBlockRef bb_full; // the tile ends inside this group, or before it
} visit;

// Takes what the tile still wants from group g; goes on behind it, or to bb_full.
static void visit_group(zf_kernel_build *lower, zf_strip *strip, const visit *v, LLVMValueRef v_g, LLVMValueRef v_size) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "some"), bb_none = zf_cg_block(cg, "none"), bb_take = zf_cg_block(cg, "take");
    LLVMBasicBlockRef bb_inside = zf_cg_block(cg, "inside"), bb_behind = zf_cg_block(cg, "behind");
    LLVMValueRef v_o = get(cg, v->at.v_o), v_pos = get(cg, v->at.v_pos), v_zero = zf_cg_i64(cg, 0);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGT, v_size, v_o), bb_some, bb_none);
    zf_cg_enter(cg, bb_none); // an empty group; a state behind a group's end, or before an empty one, lies
    LLVMValueRef v_lies = zf_cg_or(cg, zf_cg_icmp(cg, LLVMIntNE, v_o, v_zero), zf_cg_icmp(cg, LLVMIntEQ, v_g, v->v_stored));
    zf_lower_check(lower, v_lies, (uint32_t)lower->kernel->end_check, "a state behind its group, or of an empty one");
    zf_cg_br(cg, bb_behind);
    zf_cg_enter(cg, bb_some);
    set(cg, v->at.v_g, v_g);
    LLVMValueRef v_want = zf_cg_sub(cg, v->tiles->v_hi, v_pos);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_want, v_zero), v->bb_full, bb_take);
    zf_cg_enter(cg, bb_take);
    LLVMValueRef v_left = zf_cg_sub(cg, v_size, v_o), v_n = zf_cg_clamp(cg, v_left, v_want, "elements behind the tile");
    if (zf_lower_level_has_steps(lower, 0) || lower->one_by_one) {
        emit_group_scanning(lower, v->to, v_g, v_o, v_n, v_pos);
    } else {
        LLVMBasicBlockRef bb_made = zf_lower_make(lower);
        emit_group(lower, strip, v->to, v_g, v_o, v_n, v_pos, v->tiles->v_hi);
        zf_lower_made(lower, bb_made);
    }
    set(cg, v->at.v_pos, zf_cg_add(cg, v_pos, v_n));
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_n, v_left), bb_inside, bb_behind);
    zf_cg_enter(cg, bb_inside);
    set(cg, v->at.v_o, zf_cg_add(cg, v_o, v_n));
    zf_cg_br(cg, v->bb_full);
    zf_cg_enter(cg, bb_behind);
    set(cg, v->at.v_o, v_zero);
    set(cg, v->at.v_g, zf_cg_add(cg, v_g, zf_cg_i64(cg, 1)));
}

// Takes all of group g as one vector of so many lanes, where it has elements and no more than that, the walk stands before it,
// and the tile has room for two vectors: whole short groups, without a question that another group would answer differently. Goes
// on to bb_done, or to a block where none of that was done, which it leaves open.
static void visit_short(zf_kernel_build *lower, zf_strip *strip, const visit *v, LLVMValueRef v_g, LLVMValueRef v_size,
                        unsigned lanes, const char *what, LLVMBasicBlockRef bb_done) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_short = zf_cg_block(cg, "short"), bb_other = zf_cg_block(cg, "other");
    LLVMValueRef v_pos = get(cg, v->at.v_pos), v_one = zf_cg_i64(cg, 1), v_zero = zf_cg_i64(cg, 0);
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULT, zf_cg_sub(cg, v_size, v_one), zf_cg_i64(cg, lanes));
    LLVMValueRef v_room = zf_cg_icmp(cg, LLVMIntULE, zf_cg_add(cg, v_pos, zf_cg_i64(cg, 2 * lanes)), v->tiles->v_hi);
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntEQ, get(cg, v->at.v_o), v_zero);
    v_fits = zf_cg_and(cg, zf_cg_within(cg, v_fits, what), zf_cg_within(cg, v_room, "room for two vectors in the tile"));
    zf_cg_cond_br(cg, zf_cg_and(cg, v_fits, v_whole), bb_short, bb_other);
    zf_cg_enter(cg, bb_short);
    const zf_expr *access = string_of(lower, v->to);
    LLVMBasicBlockRef bb_made = zf_lower_make(lower);
    if (access != NULL)
        emit_short_string(lower, strip, access, v_g, v_pos);
    else
        emit_vector(lower, strip, v->to, v_g, v_zero, v_size, v_pos, lanes);
    zf_lower_made(lower, bb_made);
    set(cg, v->at.v_pos, zf_cg_add(cg, v_pos, v_size));
    set(cg, v->at.v_g, zf_cg_add(cg, v_g, v_one));
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_other);
}

// ---- The walk of a tile ---------------------------------------------------------------------------------------

// The groups of a strip whose sizes are known. Where no group of the strip is longer than a few elements, by vectors of a few, up
// to the first group that is not taken so.
static void visit_strip(walk *w, const visit *v) {
    zf_kernel_build *lower = w->lower;
    zf_cg *cg = lower->cg;
    unsigned few = lanes_in(lower, v->to, SHORT_BYTES), most = lanes_in(lower, v->to, VECTOR_BYTES);
    LLVMBasicBlockRef bb_end = zf_cg_block(cg, "strip_end");
    LLVMValueRef v_from = w->v_first;
    if (few > 0) {
        LLVMBasicBlockRef bb_few = zf_cg_block(cg, "few"), bb_next = zf_cg_block(cg, "few_next"),
                          bb_many = zf_cg_block(cg, "many");
        LLVMValueRef v_few = zf_cg_i64(cg, few);
        LLVMBasicBlockRef bb_before = zf_cg_here(cg);
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULE, get(cg, w->v_longest), v_few), bb_few, bb_many);
        zf_cg_enter(cg, bb_few);
        LLVMValueRef v_k = LLVMBuildPhi(cg->builder, cg->ty_i64, "k");
        zf_strip here = {.v_start = w->v_start, .v_k = v_k, .walk = w};
        LLVMValueRef v_size = get(cg, zf_cg_at(cg, cg->ty_i64, w->v_sizes, v_k));
        visit_short(lower, &here, v, zf_cg_add(cg, w->v_start, v_k), v_size, few,
                    "groups of at most a vector, in a strip of short groups", bb_next);
        LLVMBasicBlockRef bb_other = zf_cg_here(cg);
        zf_cg_br(cg, bb_many);
        zf_cg_enter(cg, bb_next);
        LLVMValueRef v_next = zf_cg_add(cg, v_k, zf_cg_i64(cg, 1));
        LLVMValueRef v_begins[2] = {w->v_first, v_next}, v_rests[2] = {w->v_first, v_k};
        LLVMAddIncoming(v_k, v_begins, (LLVMBasicBlockRef[]){bb_before, bb_next}, 2);
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, w->v_end), bb_few, bb_end);
        zf_cg_enter(cg, bb_many);
        v_from = LLVMBuildPhi(cg->builder, cg->ty_i64, "rest");
        LLVMAddIncoming(v_from, v_rests, (LLVMBasicBlockRef[]){bb_before, bb_other}, 2);
    }
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, w->v_end, "group");
    zf_strip here = {.v_start = w->v_start, .v_k = loop.v_i, .walk = w};
    LLVMValueRef v_g = zf_cg_add(cg, w->v_start, loop.v_i);
    LLVMValueRef v_size = get(cg, zf_cg_at(cg, cg->ty_i64, w->v_sizes, loop.v_i));
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "visited");
    if (most > 0) visit_short(lower, &here, v, v_g, v_size, most, "groups of at most a vector", bb_done);
    visit_group(lower, &here, v, v_g, v_size);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    zf_cg_loop_end(cg, &loop);
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_end);
}

// By strips of groups, up to group v_end.
static void walk_strips(zf_kernel_build *lower, const visit *v, LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_strip = zf_cg_block(cg, "groups"), bb_fast = zf_cg_block(cg, "fast"), bb_slow = zf_cg_block(cg, "slow");
    LLVMBasicBlockRef bb_walk = zf_cg_block(cg, "walk"), bb_more = zf_cg_block(cg, "groups_next");
    LLVMValueRef v_strip_size = zf_cg_i64(cg, ZF_STRIP);
    walk w = {.lower = lower};
    if (lanes_in(lower, v->to, SHORT_BYTES) > 0) w.v_longest = zf_cg_alloca(cg, cg->ty_i64, "longest");
    zf_cg_br(cg, bb_more);
    zf_cg_enter(cg, bb_strip);
    LLVMValueRef v_g = get(cg, v->at.v_g);
    w.v_start = zf_cg_and(cg, v_g, zf_cg_i64(cg, ~(uint64_t)(ZF_STRIP - 1)));
    w.v_first = zf_cg_sub(cg, v_g, w.v_start);
    w.v_end = zf_cg_clamp(cg, v_strip_size, zf_cg_sub(cg, v_end, w.v_start), "groups behind the tile");
    LLVMValueRef v_limit = get(cg, lower->host->v_limit);
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, v_strip_size, zf_cg_sub(cg, v->v_groups, w.v_start));
    v_whole = zf_cg_within(cg, v_whole, "strips all of whose groups exist");
    LLVMValueRef v_readable = zf_cg_icmp(cg, LLVMIntULT, w.v_start, v_limit);
    v_whole = zf_cg_and(cg, v_whole, v_readable);
    if (w.v_longest != NULL) set(cg, w.v_longest, zf_cg_i64(cg, 0));
    zf_cg_cond_br(cg, v_whole, bb_fast, bb_slow);
    zf_cg_enter(cg, bb_fast);
    w.fast = (filling){.strip = zf_strip_begin(lower, w.v_start, true), .whole = true};
    w.fast.bb = zf_cg_here(cg);
    zf_cg_enter(cg, bb_slow);
    w.slow = (filling){.strip = zf_strip_begin(lower, w.v_start, false)};
    w.slow.bb = zf_cg_here(cg);
    zf_cg_enter(cg, bb_walk);
    w.v_sizes = make_buffer(cg, cg->ty_i64, "sizes");
    fill_one_way(&w, &w.fast, NULL, w.v_sizes);
    fill_one_way(&w, &w.slow, NULL, w.v_sizes);

    visit_strip(&w, v);
    zf_cg_br(cg, bb_more);

    LLVMBasicBlockRef bb_end = zf_cg_block(cg, "groups_end");
    zf_cg_enter(cg, bb_more);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, get(cg, v->at.v_g), v_end), bb_strip, bb_end);
    for (unsigned way = 0; way < 2; way++) {
        filling *f = way == 0 ? &w.fast : &w.slow;
        zf_cg_enter(cg, f->bb);
        zf_cg_br(cg, bb_walk);
        zf_strip_end(lower, &f->strip);
    }
    zf_cg_enter(cg, bb_end);
}

// One group after the other, where something runs along: a group's size may depend on it.
static void walk_scanning(zf_kernel_build *lower, const visit *v, LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_group = zf_cg_block(cg, "group"), bb_more = zf_cg_block(cg, "group_next"),
                      bb_end = zf_cg_block(cg, "groups_end");
    zf_cg_br(cg, bb_more);
    zf_cg_enter(cg, bb_group);
    LLVMValueRef v_g = get(cg, v->at.v_g);
    zf_lower_level_values(lower, 1, v_g);
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_g = v_g;
    LLVMValueRef v_size = zf_cg_eval_body(cg, &env.env, &env.env.inst->size).v;
    cg->v_guard = NULL;
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "visited");
    bool alone = zf_lower_level_has_steps(lower, 0) || lower->one_by_one;
    unsigned most = alone ? 0 : lanes_in(lower, v->to, VECTOR_BYTES);
    if (most > 0) visit_short(lower, NULL, v, v_g, v_size, most, "groups of at most a vector", bb_done);
    visit_group(lower, NULL, v, v_g, v_size);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    zf_lower_level_next(lower, 1, v_g);
    zf_cg_br(cg, bb_more);
    zf_cg_enter(cg, bb_more);
    zf_lower_level_settle(lower, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, get(cg, v->at.v_g), v_end), bb_group, bb_end);
    zf_cg_enter(cg, bb_end);
}

// ---- Tiles ----------------------------------------------------------------------------------------------------

static void check_end(zf_kernel_build *lower, const visit *v) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_short = zf_cg_icmp(cg, LLVMIntNE, get(cg, v->at.v_pos), v->tiles->v_hi);
    if (zf_cg_site(cg, ZF_SITE_CHECK, "groups end before the tile")) v_short = zf_cg_i1(cg, false);
    LLVMValueRef v_next = zf_cg_add(cg, v->tiles->v_tile, zf_cg_i64(cg, 1));
    LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntUGE, v_next, lower->v_tiles);
    LLVMValueRef v_rest = zf_cg_icmp(cg, LLVMIntNE, get(cg, v->at.v_g), v->v_groups);
    if (zf_cg_site(cg, ZF_SITE_CHECK, "groups left behind the last tile")) v_rest = zf_cg_i1(cg, false);
    LLVMValueRef v_bad = zf_cg_or(cg, v_short, zf_cg_and(cg, v_last, v_rest));
    zf_lower_fail(lower, zf_cg_and(cg, v_bad, zf_lower_none_failed(lower)),
                  (uint32_t)lower->kernel->end_check); // either is a check
}

void zf_lower_groups(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    zf_lower_levels_make(lower);
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    LLVMValueRef v_groups = zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, v_zero = zf_cg_i64(cg, 0);
    cg->v_guard = NULL;
    lower->v_groups = v_groups;
    uint32_t field_g = zf_lower_root_field(lower, ZF_SEEK_GROUP), field_o = zf_lower_root_field(lower, ZF_SEEK_OFFSET);
    zf_lower_tiles tiles;
    state at = {zf_cg_alloca(cg, cg->ty_i64, "g"), zf_cg_alloca(cg, cg->ty_i64, "o"), zf_cg_alloca(cg, cg->ty_i64, "pos")};
    bool is_bool = zf_lower_stores_bits(lower);
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    zf_lower_seek(lower, field_g, zf_type_of(ZF_K_U64), tiles.v_tile, v_zero, at.v_g);
    zf_lower_seek(lower, field_o, zf_type_of(ZF_K_U64), tiles.v_tile, v_zero, at.v_o);
    zf_lower_end end = zf_lower_tile_end(lower, field_g, field_o, tiles.v_tile, v_groups, zf_cg_i1(cg, false));
    zf_lower_levels_start(lower, tiles.v_tile, end.v_inside);
    set(cg, at.v_pos, tiles.v_lo);
    sink to = {.v_at = lower->v_sink};
    if (is_bool) { // bits of neighbouring groups share bytes: a tile's go through memory
        to.v_at = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i8, lower->kernel->tile + ZF_STRIP), "bools");
        to.v_from = tiles.v_lo;
    }
    LLVMValueRef v_known = zf_cg_or(cg, zf_cg_icmp(cg, LLVMIntEQ, tiles.v_tile, v_zero), zf_lower_is_recording(lower));
    LLVMValueRef v_stored = zf_cg_select(cg, v_known, zf_cg_i64(cg, UINT64_MAX), get(cg, at.v_g));
    visit v = {
        .tiles = &tiles, .to = &to, .at = at, .v_groups = v_groups, .v_stored = v_stored, .bb_full = zf_cg_block(cg, "full")};
    if (lower->running_count > 0 || lower->expansion_count > 0 || lower->one_by_one)
        walk_scanning(lower, &v, end.v_end);
    else
        walk_strips(lower, &v, end.v_end);
    zf_cg_br(cg, v.bb_full);
    zf_cg_enter(cg, v.bb_full);
    if (is_bool) zf_lower_store_tile_bits(lower, to.v_at, tiles.v_lo, tiles.v_hi);
    check_end(lower, &v);
    zf_lower_seek_end(lower, field_g, tiles.v_tile, get(cg, at.v_g));
    zf_lower_seek_end(lower, field_o, tiles.v_tile, get(cg, at.v_o));
    zf_lower_level_settle(lower, 0);
    zf_lower_levels_end(lower, tiles.v_tile, tiles.v_hi, get(cg, at.v_g));
    zf_lower_report(lower, tiles.v_lo);
    zf_lower_tiles_end(lower, &tiles);
}

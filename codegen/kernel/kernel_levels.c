// Runs along the levels of a kernel (patterns/plan/plan.h), element by element: scans, and the groups of ordered stages that
// are steps of their consumer's tile.
//
// An expansion stands at element o of group g. Before an element is made at an index, all expansions along its level *settle*:
// they skip groups that are done, and empty ones. Entering a group settles the level of its groups, makes the elements along
// that level, and gives the group's size. Each level's code therefore stands once within that of the level above, and the file
// keeps the state of a level that has settled.
//
// Nothing in a file is trusted: a state may lie. A tile leaves no group at which the next state says that it ends, so no group is
// looked at by two tiles for nothing, and an element is made only inside a group that exists.
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel.h"

static LLVMValueRef get(zf_cg *cg, LLVMValueRef v_slot) { return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, ""); }
static void set(zf_cg *cg, LLVMValueRef v_slot, LLVMValueRef v) { LLVMBuildStore(cg->builder, v, v_slot); }

// ---- Slots ----------------------------------------------------------------------------------------------------

static void make_running(zf_kernel_build *lower, const zf_step *step) {
    zf_cg *cg = lower->cg;
    zf_running *r = &lower->runnings[lower->running_count++];
    *r = (zf_running){.node = step->node, .reduce = step->reduce, .type = step->reduce->term->type, .level = step->level};
    r->along_groups = step->reduce->domain != NULL && step->reduce->domain->kind == ZF_L_DOMAIN_G;
    r->field = zf_lower_field(lower, ZF_SEEK_SCAN, step->node, step->reduce->index);
    LLVMTypeRef ty = zf_cg_type(cg, r->type), ty_memory = zf_cg_memory_type(cg, r->type);
    r->v_acc = zf_cg_alloca(cg, ty, "acc");
    r->v_now = zf_cg_alloca(cg, ty_memory, "now");
    if (step->level > 0) return;
    r->v_values = zf_cg_alloca(cg, LLVMArrayType2(ty_memory, ZF_STRIP), "scan");
    LLVMSetAlignment(r->v_values, 64);
}

static zf_type type_of(const zf_kernel_build *lower, const zf_expansion *e) {
    return lower->graph->edges[lower->graph->nodes[e->node].output].type;
}

static void make_expansion(zf_kernel_build *lower, const zf_step *step) {
    zf_cg *cg = lower->cg;
    zf_expansion *e = &lower->expansions[lower->expansion_count++];
    *e = (zf_expansion){.node = step->node, .level = step->level, .groups = step->groups};
    e->field_g = zf_lower_field(lower, ZF_SEEK_GROUP, step->node, 0);
    e->field_o = zf_lower_field(lower, ZF_SEEK_OFFSET, step->node, 0);
    e->v_g = zf_cg_alloca(cg, cg->ty_i64, "g");
    e->v_o = zf_cg_alloca(cg, cg->ty_i64, "o");
    e->v_size = zf_cg_alloca(cg, cg->ty_i64, "size");
    e->v_stored = zf_cg_alloca(cg, cg->ty_i64, "stored");
    e->v_loaded = zf_cg_alloca(cg, cg->ty_i1, "loaded");
    zf_type type = type_of(lower, e);
    bool is_text = type.kind == ZF_K_STRING;
    e->v_value = zf_cg_alloca(cg, is_text ? cg->ty_ptr : zf_cg_type(cg, zf_type_value(type)), "element");
    if (is_text) e->v_length = zf_cg_alloca(cg, cg->ty_i64, "element_length");
    if (type.nullable) e->v_valid = zf_cg_alloca(cg, cg->ty_i1, "valid");
    zf_kernel_env env = zf_lower_env_make(lower, step->node);
    e->v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    e->v_count = zf_lower_count(lower, lower->graph->nodes[step->node].output);
}

void zf_lower_runnings_make(zf_kernel_build *lower) {
    const zf_kernel *kernel = lower->kernel;
    lower->runnings = ZF_NEW_ARRAY(lower->cg->arena, zf_running, kernel->step_count + 1);
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind == ZF_STEP_SCAN) make_running(lower, &kernel->steps[s]);
    }
}

void zf_lower_levels_make(zf_kernel_build *lower) {
    const zf_kernel *kernel = lower->kernel;
    zf_lower_runnings_make(lower);
    lower->expansions = ZF_NEW_ARRAY(lower->cg->arena, zf_expansion, kernel->step_count + 1);
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        bool walked = kernel->domain == ZF_DOMAIN_GROUPS && step->node == kernel->root;
        if (step->kind == ZF_STEP_EXPAND && !walked) make_expansion(lower, step);
    }
}

bool zf_lower_level_has_steps(const zf_kernel_build *lower, uint32_t level) {
    for (uint32_t k = 0; k < lower->running_count; k++) {
        if (lower->runnings[k].level == level) return true;
    }
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        if (lower->expansions[k].level == level) return true;
    }
    return false;
}

const zf_expansion *zf_lower_expansion_find(const zf_kernel_build *lower, uint32_t node) {
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        if (lower->expansions[k].node == node) return &lower->expansions[k];
    }
    return NULL;
}

static zf_expansion *expansion_of(zf_kernel_build *lower, uint32_t node) {
    return (zf_expansion *)(uintptr_t)zf_lower_expansion_find(lower, node);
}

zf_cg_value zf_lower_expansion_value(zf_kernel_build *lower, const zf_expansion *e) {
    zf_cg *cg = lower->cg;
    zf_cg_value value = {.type = type_of(lower, e)};
    if (e->v_length != NULL) {
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
        value.seq.v_data = LLVMBuildLoad2(cg->builder, cg->ty_ptr, e->v_value, "");
        value.seq.v_length = get(cg, e->v_length);
    } else {
        value.v = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, zf_type_value(value.type)), e->v_value, "");
    }
    if (e->v_valid != NULL) value.v_valid = LLVMBuildLoad2(cg->builder, cg->ty_i1, e->v_valid, "");
    return value;
}

static void set_value(zf_kernel_build *lower, const zf_expansion *e, const zf_cg_value *value) {
    zf_cg *cg = lower->cg;
    LLVMBuildStore(cg->builder, e->v_length != NULL ? zf_cg_text_pointer(cg, &value->seq) : value->v, e->v_value);
    if (e->v_length != NULL) set(cg, e->v_length, value->seq.v_length);
    if (e->v_valid != NULL) LLVMBuildStore(cg->builder, value->v_valid, e->v_valid);
}

// Before anything was made.
static void clear_value(zf_kernel_build *lower, const zf_expansion *e) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = e->v_length != NULL ? cg->ty_ptr : zf_cg_type(cg, zf_type_value(type_of(lower, e)));
    LLVMBuildStore(cg->builder, LLVMConstNull(ty), e->v_value);
    if (e->v_length != NULL) set(cg, e->v_length, zf_cg_i64(cg, 0));
    if (e->v_valid != NULL) LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), e->v_valid);
}

// ---- Starting -------------------------------------------------------------------------------------------------

zf_lower_end zf_lower_tile_end(zf_kernel_build *lower, uint32_t field_g, uint32_t field_o, LLVMValueRef v_tile,
                               LLVMValueRef v_groups, LLVMValueRef v_inside) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_look = zf_cg_block(cg, "look"), bb_known = zf_cg_block(cg, "end_known");
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_tile, zf_cg_i64(cg, 1)), lower->v_tiles);
    v_more = zf_cg_within(cg, v_more, "tiles that another follows");
    v_more = zf_cg_and(cg, v_more, zf_cg_not(cg, zf_lower_is_recording(lower)));
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    zf_cg_cond_br(cg, v_more, bb_look, bb_known);
    zf_cg_enter(cg, bb_look);
    LLVMValueRef v_g = zf_lower_seek_entry(lower, field_g, v_tile), v_o = zf_lower_seek_entry(lower, field_o, v_tile);
    v_inside = zf_cg_or(cg, v_inside, zf_cg_icmp(cg, LLVMIntNE, v_o, zf_cg_i64(cg, 0)));
    LLVMValueRef v_last = zf_cg_umin(cg, v_g, v_groups);
    LLVMValueRef v_end = zf_cg_add(cg, v_last, zf_cg_resize(cg, v_inside, cg->ty_i64, false));
    v_end = zf_cg_clamp(cg, v_end, v_groups, "groups that the tile touches");
    LLVMBasicBlockRef bb_said = zf_cg_here(cg);
    zf_cg_br(cg, bb_known);
    zf_cg_enter(cg, bb_known);
    zf_lower_end end;
    end.v_last = zf_cg_phi2(cg, cg->ty_i64, v_last, bb_said, v_groups, bb_before);
    end.v_end = zf_cg_phi2(cg, cg->ty_i64, v_end, bb_said, v_groups, bb_before);
    end.v_inside = zf_cg_phi2(cg, cg->ty_i1, v_inside, bb_said, zf_cg_i1(cg, true), bb_before);
    return end;
}

// Whether the tile's last state stands at an element of this level that was made: the consumer ends inside its group.
static LLVMValueRef ends_inside(zf_kernel_build *lower, uint32_t level, LLVMValueRef v_root_inside) {
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        const zf_expansion *e = &lower->expansions[k];
        if (e->groups == level) return e->end.v_inside;
    }
    return level > 0 ? v_root_inside : zf_cg_i1(lower->cg, false);
}

static void start_expansion(zf_kernel_build *lower, zf_expansion *e, LLVMValueRef v_tile, LLVMValueRef v_inside) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0);
    zf_lower_seek(lower, (uint32_t)e->field_g, zf_type_of(ZF_K_U64), v_tile, v_zero, e->v_g);
    zf_lower_seek(lower, (uint32_t)e->field_o, zf_type_of(ZF_K_U64), v_tile, v_zero, e->v_o);
    e->end = zf_lower_tile_end(lower, (uint32_t)e->field_g, (uint32_t)e->field_o, v_tile, e->v_groups, v_inside);
    // A recording goes on in the group where the tile before ended.
    LLVMBasicBlockRef bb_anew = zf_cg_block(cg, "anew"), bb_started = zf_cg_block(cg, "started");
    LLVMValueRef v_goes_on = zf_cg_and(cg, zf_lower_is_recording(lower), zf_cg_icmp(cg, LLVMIntNE, v_tile, v_zero));
    zf_cg_cond_br(cg, v_goes_on, bb_started, bb_anew);
    zf_cg_enter(cg, bb_anew);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), e->v_loaded);
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_tile, v_zero);
    set(cg, e->v_stored, zf_cg_select(cg, v_first, zf_cg_i64(cg, UINT64_MAX), get(cg, e->v_g)));
    set(cg, e->v_size, v_zero);
    clear_value(lower, e);
    zf_cg_br(cg, bb_started);
    zf_cg_enter(cg, bb_started);
}

void zf_lower_levels_start(zf_kernel_build *lower, LLVMValueRef v_tile, LLVMValueRef v_root_inside) {
    zf_cg *cg = lower->cg;
    for (uint32_t k = 0; k < lower->running_count; k++) {
        zf_running *r = &lower->runnings[k];
        LLVMValueRef v_initial = zf_cg_reduce_empty(cg, r->reduce->op, r->type);
        if (r->field < 0)
            LLVMBuildStore(cg->builder, v_initial, r->v_acc);
        else
            zf_lower_seek(lower, (uint32_t)r->field, r->type, v_tile, v_initial, r->v_acc);
    }
    for (uint32_t k = lower->expansion_count; k-- > 0;) { // consumers come last
        zf_expansion *e = &lower->expansions[k];
        start_expansion(lower, e, v_tile, ends_inside(lower, e->level, v_root_inside));
    }
}

// ---- Settling -------------------------------------------------------------------------------------------------

static void enter_group(zf_kernel_build *lower, const zf_expansion *e) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_exists = zf_cg_block(cg, "group_exists"), bb_entered = zf_cg_block(cg, "entered");
    zf_lower_level_settle(lower, e->groups);
    LLVMValueRef v_g = get(cg, e->v_g);
    set(cg, e->v_size, zf_cg_i64(cg, 0));
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_g, e->end.v_end);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_exists, "groups that the tile touches"), bb_exists, bb_entered);
    zf_cg_enter(cg, bb_exists);
    zf_lower_level_values(lower, e->groups, v_g);
    zf_kernel_env env = zf_lower_env_make(lower, e->node);
    env.v_g = v_g;
    LLVMValueRef v_size = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->size).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    set(cg, e->v_size, v_size);
    // A state that stands at no element of its group lies.
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, get(cg, e->v_o), v_size);
    LLVMValueRef v_lies = zf_cg_and(cg, v_behind, zf_cg_icmp(cg, LLVMIntEQ, v_g, get(cg, e->v_stored)));
    zf_lower_check(lower, v_lies, (uint32_t)lower->kernel->end_check, "a state behind its group, or of an empty one");
    zf_cg_br(cg, bb_entered);
    zf_cg_enter(cg, bb_entered);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, true), e->v_loaded);
}

static void settle(zf_kernel_build *lower, const zf_expansion *e) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_look = zf_cg_block(cg, "settle"), bb_enter = zf_cg_block(cg, "enter"), bb_in = zf_cg_block(cg, "in");
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "done"), bb_leave = zf_cg_block(cg, "leave_group"),
                      bb_settled = zf_cg_block(cg, "settled");
    zf_cg_br(cg, bb_look);
    zf_cg_enter(cg, bb_look);
    zf_cg_cond_br(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, e->v_loaded, ""), bb_in, bb_enter);
    zf_cg_enter(cg, bb_enter);
    enter_group(lower, e);
    zf_cg_br(cg, bb_in);
    zf_cg_enter(cg, bb_in);
    LLVMValueRef v_g = get(cg, e->v_g), v_o = get(cg, e->v_o), v_size = get(cg, e->v_size);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_o, v_size), bb_settled, bb_done);
    zf_cg_enter(cg, bb_done); // a group in which the tile is said to end has elements left
    LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, v_g, e->end.v_last);
    LLVMValueRef v_entered = zf_cg_icmp(cg, LLVMIntULT, v_g, e->end.v_end);
    zf_lower_check(lower, zf_cg_and(cg, v_entered, zf_cg_not(cg, v_goes_on)), (uint32_t)lower->kernel->end_check,
                   "the tile's end behind its group");
    zf_cg_cond_br(cg, v_goes_on, bb_leave, bb_settled);
    zf_cg_enter(cg, bb_leave);
    zf_lower_level_next(lower, e->groups, v_g);
    set(cg, e->v_g, zf_cg_add(cg, v_g, zf_cg_i64(cg, 1)));
    set(cg, e->v_o, zf_cg_i64(cg, 0));
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), e->v_loaded);
    zf_cg_br(cg, bb_look);
    zf_cg_enter(cg, bb_settled);
}

void zf_lower_level_settle(zf_kernel_build *lower, uint32_t level) {
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        if (lower->expansions[k].level == level) settle(lower, &lower->expansions[k]);
    }
}

// ---- One index ------------------------------------------------------------------------------------------------

// An element that exists must lie in a group that does.
static void make_element(zf_kernel_build *lower, const zf_expansion *e, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_within = zf_cg_block(cg, "element_within"), bb_beyond = zf_cg_block(cg, "element_beyond"),
                      bb_made = zf_cg_block(cg, "element_made");
    LLVMValueRef v_g = get(cg, e->v_g), v_o = get(cg, e->v_o);
    LLVMValueRef v_within = zf_cg_icmp(cg, LLVMIntULT, v_o, get(cg, e->v_size)); // the size of a group that is not entered is 0
    zf_cg_cond_br(cg, v_within, bb_within, bb_beyond);
    zf_cg_enter(cg, bb_beyond);
    zf_lower_check(lower, zf_cg_i1(cg, true), (uint32_t)lower->kernel->end_check, "elements behind the last group");
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_within);
    zf_kernel_env env = zf_lower_env_make(lower, e->node);
    env.v_g = v_g;
    env.v_j = v_o;
    env.v_i = v_index;
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    set_value(lower, e, &value);
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_made);
}

// Elements of a node: what runs along its level may have fewer than the level's other streams.
static LLVMValueRef count_of(zf_kernel_build *lower, const zf_running *r) {
    if (!r->along_groups) return zf_lower_count(lower, lower->graph->nodes[r->node].output);
    const zf_expansion *e = zf_lower_expansion_find(lower, r->node);
    return e != NULL ? e->v_groups : lower->v_groups;
}

// Begins what is done only where `v_index` is one of `v_count`; ends it by going to the block that is returned.
static LLVMBasicBlockRef begin_existing(zf_kernel_build *lower, LLVMValueRef v_index, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_exists = zf_cg_block(cg, "exists"), bb_behind = zf_cg_block(cg, "exists_end");
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_index, v_count);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_exists, "elements that a step has"), bb_exists, bb_behind);
    zf_cg_enter(cg, bb_exists);
    return bb_behind;
}

static void end_existing(zf_kernel_build *lower, LLVMBasicBlockRef bb_behind) {
    zf_cg_br(lower->cg, bb_behind);
    zf_cg_enter(lower->cg, bb_behind);
}

// The node whose elements, or groups, a level counts: all its indices are that node's.
static bool owns_level(const zf_kernel_build *lower, uint32_t node, bool along_groups) {
    return along_groups || node == lower->kernel->root;
}

static zf_running *running_of(zf_kernel_build *lower, const zf_step *step) {
    return zf_lower_scan_find(lower, step->node, step->reduce);
}

void zf_lower_level_values(zf_kernel_build *lower, uint32_t level, LLVMValueRef v_index) {
    for (uint32_t s = 0; s < lower->kernel->step_count; s++) {
        const zf_step *step = &lower->kernel->steps[s];
        if (step->kind == ZF_STEP_MAP || step->level != level) continue;
        zf_running *running = step->kind == ZF_STEP_SCAN ? running_of(lower, step) : NULL;
        zf_expansion *expansion = step->kind == ZF_STEP_EXPAND ? expansion_of(lower, step->node) : NULL;
        if (running == NULL && expansion == NULL) continue; // the root, which is walked
        bool guarded = expansion != NULL || !owns_level(lower, step->node, running->along_groups);
        LLVMBasicBlockRef bb_behind = NULL;
        if (guarded)
            bb_behind = begin_existing(lower, v_index, expansion != NULL ? expansion->v_count : count_of(lower, running));
        if (running != NULL)
            zf_lower_scan_value(lower, running, v_index);
        else
            make_element(lower, expansion, v_index);
        if (guarded) end_existing(lower, bb_behind);
    }
}

void zf_lower_level_next(zf_kernel_build *lower, uint32_t level, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    for (uint32_t k = 0; k < lower->running_count; k++) {
        zf_running *r = &lower->runnings[k];
        if (r->level != level) continue;
        LLVMValueRef v_count = count_of(lower, r);
        bool guarded = !owns_level(lower, r->node, r->along_groups);
        LLVMBasicBlockRef bb_behind = guarded ? begin_existing(lower, v_index, v_count) : NULL;
        zf_lower_scan_next(lower, r, v_index, v_count);
        if (guarded) end_existing(lower, bb_behind);
    }
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        const zf_expansion *e = &lower->expansions[k];
        if (e->level != level) continue;
        LLVMBasicBlockRef bb_behind = begin_existing(lower, v_index, e->v_count);
        set(cg, e->v_o, zf_cg_add(cg, get(cg, e->v_o), zf_cg_i64(cg, 1)));
        end_existing(lower, bb_behind);
    }
}

// ---- Ending ---------------------------------------------------------------------------------------------------

// Where a level stands: the kernel's outputs, the groups of its root, or those of an expansion.
static LLVMValueRef position_of(zf_kernel_build *lower, uint32_t level, LLVMValueRef v_i, LLVMValueRef v_g) {
    if (level == 0) return v_i;
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        if (lower->expansions[k].groups == level) return get(lower->cg, lower->expansions[k].v_g);
    }
    return v_g;
}

// Behind the last element of a stage no group may be left.
static void check_all_done(zf_kernel_build *lower, const zf_expansion *e, LLVMValueRef v_tile, LLVMValueRef v_position) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntUGE, zf_cg_add(cg, v_tile, zf_cg_i64(cg, 1)), lower->v_tiles);
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, v_position, e->v_count);
    LLVMValueRef v_left = zf_cg_icmp(cg, LLVMIntNE, get(cg, e->v_g), e->v_groups);
    LLVMValueRef v_bad = zf_cg_and(cg, zf_cg_and(cg, v_last, v_behind), v_left);
    zf_lower_check_end(lower, v_bad, "groups left behind a stage's last element");
}

void zf_lower_levels_end(zf_kernel_build *lower, LLVMValueRef v_tile, LLVMValueRef v_i, LLVMValueRef v_g) {
    zf_cg *cg = lower->cg;
    for (uint32_t k = 0; k < lower->expansion_count; k++) {
        const zf_expansion *e = &lower->expansions[k];
        check_all_done(lower, e, v_tile, position_of(lower, e->level, v_i, v_g));
        zf_lower_seek_end(lower, (uint32_t)e->field_g, v_tile, get(cg, e->v_g));
        zf_lower_seek_end(lower, (uint32_t)e->field_o, v_tile, get(cg, e->v_o));
    }
    for (uint32_t k = 0; k < lower->running_count; k++) {
        const zf_running *r = &lower->runnings[k];
        if (r->field < 0) continue;
        LLVMValueRef v_word = zf_lower_scan_state(lower, r, position_of(lower, r->level, v_i, v_g));
        zf_lower_seek_end(lower, (uint32_t)r->field, v_tile, v_word);
    }
}

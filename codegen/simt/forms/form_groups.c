// Kernels of groups: a thread block (or, of several stages, a warp) makes a tile of outputs, however the groups lie.
//
// The file holds the state of every stage at both ends of the tile, so what each of them has in it is known beforehand. Stages
// are worked on in the order of the plan's steps, those first whose elements others take: for each the starts of its groups are
// marked (simt_group_starts.c), so that any of its elements can be found from then on; scans along groups leave their values in
// shared memory. Then the outputs are made: each finds its group, what that pulls finds its own, and so on down the tree. Every
// stage must make as many elements as its consumer takes, and end in the next state: that is what shows that no state lies.
//
// A tile with more elements under a scan than the shared memory has room for, or whose block ends before a stage does, is made by
// one thread, as on the host.
#include "codegen/simt/groups/simt_tree.h"

#include "codegen/simt/simt_choices.h"
#include "codegen/simt/simt_text.h"

#include "codegen/kernel/kernel_scan.h"

// ---- Which kernels --------------------------------------------------------------------------------------------

static bool never_empty(const zf_plan *plan, uint32_t node) {
    const zf_body *size = &plan->graph->nodes[node].inst->size;
    return size->value != NULL && !size->returns_inside && size->value->range.lo >= 1;
}

// Whether no group of a node can have more elements.
static bool has_at_most(const zf_plan *plan, uint32_t node, uint64_t elements) {
    const zf_body *size = &plan->graph->nodes[node].inst->size;
    return size->value != NULL && !size->returns_inside && size->value->range.lo >= 0 && size->value->range.hi <= elements;
}

// Scans along groups leave their values in shared memory; those along the outputs are made with these.
static bool scans_side_by_side(const zf_plan *plan, const zf_kernel *kernel, const zf_step *step) {
    if (step->level == 0) return zf_simt_scans(plan, kernel, step->reduce);
    return step->reduce->form == ZF_R_SCAN;
}

// Values of a scan, and elements of a stage, that a tile has room for. Groups beneath groups are fewer. Values of eight bytes are
// what takes most of the memory: of a 32nd less a multiprocessor holds 28 tiles of a tree of three stages, not 25.
static uint32_t room_of(const zf_kernel *kernel, const zf_step *step) {
    bool is_scan = step->kind == ZF_STEP_SCAN;
    uint32_t parts = step->level == 0 ? 32 : step->level == 1 ? (is_scan ? 8 : 16) : is_scan ? 3 : 4;
    return (kernel->tile / 32 * parts + 31) & ~31u; // whole words of bits
}

// The bytes of a scan's values. Neighbours of a group that is sure to lie in the array may lie behind it.
static uint32_t array_bytes(const zf_kernel *kernel, const zf_step *step) {
    return (room_of(kernel, step) + ZF_NEIGHBOURS) * zf_kind_size(step->reduce->term->type.kind);
}

static uint32_t expansions_of(const zf_kernel *kernel) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < kernel->step_count; s++) count += kernel->steps[s].kind == ZF_STEP_EXPAND;
    return count;
}

static const zf_step *root_of(const zf_kernel *kernel) {
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind == ZF_STEP_EXPAND && kernel->steps[s].node == kernel->root) return &kernel->steps[s];
    }
    return NULL;
}

static zf_type element_type(const zf_graph *graph, const zf_step *step) {
    return graph->edges[graph->nodes[step->node].output].type;
}

// Whether bodies of outputs use a stage's elements: else they are terms of a scan.
static bool pulled_by_body(const zf_graph *graph, const zf_kernel *kernel, const zf_step *step) {
    for (uint32_t n = step->node; n != kernel->root;) {
        int32_t consumer = graph->edges[graph->nodes[n].output].consumer;
        if (consumer < 0) return false;
        n = (uint32_t)consumer;
        for (uint32_t s = 0; s < kernel->step_count; s++) {
            if (kernel->steps[s].kind == ZF_STEP_SCAN && kernel->steps[s].node == n) return false;
        }
    }
    return true;
}

static bool scans_outputs(const zf_kernel *kernel) {
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        if (kernel->steps[s].kind == ZF_STEP_SCAN && kernel->steps[s].level == 0) return true;
    }
    return false;
}

// Bytes of a stage's window of elements that outputs take by their group; 0: it has none.
static uint32_t ring_bytes(const zf_plan *plan, const zf_kernel *kernel, const zf_step *step) {
    const zf_step *root = root_of(kernel);
    zf_type type = element_type(plan->graph, step);
    if (root == NULL || !never_empty(plan, root->node)) return 0; // else a row's groups may be any number
    if (scans_outputs(kernel)) return 0;                          // rows of scans fill no windows
    if (!pulled_by_body(plan->graph, kernel, step) || !zf_simt_ring_fits(kernel, root, step, type)) return 0;
    return zf_simt_ring_room(plan->target->wave, zf_simt_lane_count(zf_simt_type_of(plan, kernel))) * zf_kind_size(type.kind);
}

// Bytes of the numbers of groups that may be empty; 0: they are never. Alone a stage takes any number of them in a tile; of
// several one with too many is made by one thread.
static unsigned group_bytes(const zf_plan *plan, const zf_kernel *kernel, const zf_step *step) {
    bool alone = kernel->domain == ZF_DOMAIN_GROUPS && kernel->step_count == 2;
    return never_empty(plan, step->node) ? 0 : alone ? 4 : ZF_SIMT_NARROW_BYTES;
}

// Whether all stages can be made side by side; then the bytes of shared memory that they take.
static bool stages_fit(const zf_plan *plan, const zf_kernel *kernel, uint32_t *shared_bytes) {
    uint32_t expansions = expansions_of(kernel), bytes = ZF_SIMT_SUMS;
    if (expansions == 0) return false;
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        if (step->kind == ZF_STEP_SCAN) {
            if (!scans_side_by_side(plan, kernel, step)) return false;
            if (step->level == 0) continue;
            bytes += array_bytes(kernel, step);
        }
        if (step->kind == ZF_STEP_EXPAND) {
            zf_type type = plan->graph->edges[plan->graph->nodes[step->node].output].type;
            if (step->node != kernel->root && (type.nullable || type.kind == ZF_K_STRING)) return false;
            bytes += zf_simt_group_starts_bytes(room_of(kernel, step), group_bytes(plan, kernel, step));
            bytes += ring_bytes(plan, kernel, step);
        }
        bytes = (bytes + 15) & ~15u;
    }
    *shared_bytes = bytes;
    return true;
}

enum { MOST_SHARED = 40960 };

bool zf_form_groups_fits(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t shared;
    return kernel->tile % zf_form_row(plan, kernel) == 0 && stages_fit(plan, kernel, &shared) &&
           shared + zf_form_text_bytes(plan, kernel) <= MOST_SHARED;
}

// Groups are found by shared memory and shuffles, whose latency only other warps hide: 40 registers a thread were faster by up to
// a third than the 70 that ptxas takes (rle over bitpacks on an H200). Kernels that read more streams (of three, delta_stride:
// 81% of the limit with 40, 86 with 56), or make 16 outputs at once, get more.
enum {
    TWO_STREAM_REGISTERS = 40, // of kernels that read two streams or fewer
    THREE_STREAM_REGISTERS = 56,
    MANY_STREAM_REGISTERS = 64,
    LONG_TILE_REGISTERS = 128,
    LONG_TILE = 32 << 10, // bytes of outputs
};

// Whether a tree's tile has so many bytes that few warps keep memory busy. The loads in flight of each warp then count for more
// than the number of warps, and the last tiles of a launch take half as long. l_orderkey on an H200: 16 warps a multiprocessor,
// which prefetch their groups' words, reach 94% of the limit; 32 warps 86, 87 with prefetching. Shorter tiles (ps_partkey) are
// best with 32.
static bool has_long_tile(const zf_kernel *kernel, zf_type type) {
    return kernel->domain == ZF_DOMAIN_GROUPS && type.kind != ZF_K_STRING && kernel->tile * zf_kind_size(type.kind) >= LONG_TILE;
}

// Registers a thread of a tree's kernel, a warp a thread block: the fewest that let all blocks run for which there is shared
// memory (of 228 KiB a block takes one KiB beside its own), and no fewer than the code uses well. The memory for several warps,
// and for bodies that use the place in a group of the root, is not counted: most kernels have neither.
static uint32_t tree_registers(const zf_kernel *kernel, zf_type type, uint32_t shared_bytes) {
    if (has_long_tile(kernel, type)) return LONG_TILE_REGISTERS;
    uint32_t unused = ZF_SIMT_SUMS + kernel->tile / 32 * 4;
    uint32_t blocks = 228 * 1024 / (shared_bytes + 1024 - (unused < shared_bytes ? unused : 0));
    return blocks > 28 ? 64 : blocks > 24 ? 72 : 80;
}

// Stored streams that a kernel reads.
static uint32_t streams_read(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_graph_node *node = &plan->graph->nodes[kernel->nodes[n]];
        for (uint32_t p = 0; p < node->inst->port_count; p++) {
            const zf_port *port = &node->inst->ports[p];
            if (!port->is_param && plan->graph->edges[node->inputs[port->slot]].stored >= 0) count++;
        }
    }
    return count;
}

static uint32_t stage_registers(const zf_plan *plan, const zf_kernel *kernel) {
    uint32_t streams = streams_read(plan, kernel);
    if (zf_simt_lane_count(zf_simt_type_of(plan, kernel)) > 8) return MANY_STREAM_REGISTERS;
    return streams <= 2 ? TWO_STREAM_REGISTERS : streams == 3 ? THREE_STREAM_REGISTERS : MANY_STREAM_REGISTERS;
}

zf_simt_shape zf_form_groups_shape(const zf_plan *plan, const zf_kernel *kernel) {
    zf_type type = zf_simt_type_of(plan, kernel);
    uint32_t shared = 0;
    (void)stages_fit(plan, kernel, &shared);
    shared += zf_form_text_bytes(plan, kernel);
    // With several stages a warp makes a tile: most of its work is for groups, which are few, before any output is made.
    bool one_stage = zf_form_makes_groups(plan, kernel) && !zf_simt_delivers_text(type, kernel);
    uint32_t threads = one_stage ? kernel->geometry.s : plan->target->wave;
    return (zf_simt_shape){.threads = threads,
                           .tiles = 1,
                           .shared_bytes = shared,
                           .registers = one_stage ? stage_registers(plan, kernel) : tree_registers(kernel, type, shared),
                           .slow = threads == plan->target->wave,
                           .prefetch = one_stage || has_long_tile(kernel, type)};
}

void zf_form_groups_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    zf_type type = zf_simt_type_of(plan, kernel);
    bool several = shape->threads > plan->target->wave; // else a warp makes the tile, by windows
    uint32_t most = several ? zf_choice_threads_of_tile(plan, kernel, shape->threads) : plan->target->wave;
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, most);
    if (several) zf_choice_allow_together(space, type);
    if (type.kind != ZF_K_STRING) zf_choice_allow_prefetch(space, shape);
}

// ---- Levels ---------------------------------------------------------------------------------------------------

zf_simt_group_starts *zf_simt_tree_root(const zf_simt_tree *tree) {
    const zf_kernel *kernel = tree->lower->kernel;
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (kernel->domain == ZF_DOMAIN_GROUPS && tree->stages[s].node == kernel->root) return &tree->stages[s];
    }
    return NULL;
}

static zf_simt_group_starts *stage_of(const zf_simt_tree *tree, uint32_t node) {
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (tree->stages[s].node == node) return &tree->stages[s];
    }
    return NULL;
}

// The stage whose groups a level counts; NULL for the outputs.
static zf_simt_group_starts *stage_above(const zf_simt_tree *tree, uint32_t level) {
    for (uint32_t s = 0; level > 0 && s < tree->stage_count; s++) {
        if (tree->stages[s].step->groups == level) return &tree->stages[s];
    }
    return NULL;
}

static LLVMValueRef level_first(const zf_simt_tree *tree, uint32_t level) {
    const zf_simt_group_starts *above = stage_above(tree, level);
    return above != NULL ? above->v_g0 : tree->tile->v_lo;
}

// Behind the last index of a level that the tile has.
static LLVMValueRef level_end(const zf_simt_tree *tree, uint32_t level) {
    const zf_simt_group_starts *above = stage_above(tree, level);
    return above != NULL ? above->v_end : tree->tile->v_hi;
}

// Whether the last index of a level is made though the tile's end stands at it (i1); NULL for the outputs.
static LLVMValueRef level_pulled(const zf_simt_tree *tree, uint32_t level) {
    const zf_simt_group_starts *above = stage_above(tree, level);
    if (above == NULL) return NULL;
    return zf_cg_icmp(tree->lower->cg, LLVMIntNE, above->v_stop, zf_cg_i64(tree->lower->cg, 0));
}

// ---- Spots ----------------------------------------------------------------------------------------------------

zf_simt_position zf_simt_position_of_group(const zf_simt_group_starts *stage, LLVMValueRef v_g) {
    zf_cg *cg = stage->lower->cg;
    LLVMValueRef v_local = zf_cg_resize(cg, zf_cg_sub(cg, v_g, stage->v_g0), cg->ty_i32, false);
    return (zf_simt_position){.tree = stage->tree, .v_g = v_local};
}

zf_simt_position zf_simt_position_along(const zf_simt_position *position, const zf_graph_edge *edge) {
    return (zf_simt_position){.tree = position->tree,
                              .v_i = edge->access == ZF_ACCESS_ALIGNED_G ? position->v_g : position->v_i,
                              .found = edge->access == ZF_ACCESS_ALIGNED_G ? position->found_g : position->found,
                              .k = position->k,
                              .exact = position->exact,
                              .in_arrays_i = edge->access == ZF_ACCESS_ALIGNED_G ? position->in_arrays_g : position->in_arrays_i,
                              .made = position->made};
}

zf_simt_found *zf_simt_found_begin(zf_simt_tree *tree, LLVMValueRef v_q, unsigned count) {
    zf_cg *cg = tree->lower->cg;
    zf_simt_found *all = NULL;
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (tree->stages[s].step->level > 0) continue;
        zf_simt_found *found = ZF_NEW(cg->arena, zf_simt_found);
        *found = (zf_simt_found){.stage = &tree->stages[s], .neighbours = {.count = count}, .next = all};
        zf_simt_group_starts_find(&tree->stages[s], v_q, count, found->places);
        for (unsigned k = 0; k < count; k++) found->neighbours.v_ranks[k] = found->places[k].v_rank;
        all = found;
    }
    for (zf_simt_found *found = all; found != NULL; found = found->next) {
        zf_simt_neighbours_begin(tree->lower, &found->neighbours);
    }
    return all;
}

void zf_simt_found_end(zf_kernel_build *lower, zf_simt_found *found) {
    for (; found != NULL; found = found->next) zf_simt_neighbours_end(lower, &found->neighbours);
}

zf_cg_value zf_simt_tree_element(const zf_kernel_env *env, const zf_graph_edge *edge, LLVMValueRef v_index, bool vouched) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    zf_simt_group_starts *t = stage_of(env->simt.position->tree, (uint32_t)edge->producer);
    zf_simt_position position = zf_simt_position_along(env->simt.position, edge);
    if (position.made && t->ring != NULL) return zf_simt_ring_element(lower, t->ring, position.v_i);
    for (zf_simt_found *found = vouched && position.exact ? position.found : NULL; found != NULL; found = found->next) {
        if (found->stage != t) continue;
        zf_simt_relative relative = {t->v_g0, found->places[position.k].v_rank, t->never_empty ? &found->neighbours : NULL,
                                     position.k, t->fetch};
        return zf_simt_tree_element_at(env, t, &found->places[position.k], &relative, NULL, v_index);
    }
    LLVMValueRef v_has = NULL;
    if (!vouched || !position.exact) { // what the tile does not have is made up from its first group
        v_has = zf_cg_icmp(cg, LLVMIntULT, position.v_i, t->v_length);
        v_has = zf_cg_within(cg, v_has, "elements that a stage has in the tile");
        position.v_i = zf_cg_select(cg, v_has, position.v_i, zf_cg_i32(cg, 0));
    }
    zf_simt_place place;
    zf_simt_group_starts_find(t, position.v_i, 1, &place);
    if (v_has != NULL) place.v_rank = zf_cg_select(cg, v_has, place.v_rank, zf_cg_i32(cg, 0));
    zf_simt_relative relative = {t->v_g0, place.v_rank, NULL, 0, t->fetch};
    return zf_simt_tree_element_at(env, t, &place, &relative, v_has, v_index);
}

zf_cg_value zf_simt_tree_element_at(const zf_kernel_env *env, zf_simt_group_starts *stage, const zf_simt_place *place,
                                    const zf_simt_relative *relative, LLVMValueRef v_has, LLVMValueRef v_index) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    zf_kernel_env child = zf_lower_env_make(lower, stage->node);
    child.v_counts = env->v_counts;
    if (v_has != NULL) child.v_counts = env->v_counts == NULL ? v_has : zf_cg_and(cg, env->v_counts, v_has);
    child.v_alive = env->v_alive;
    // An element outside the tile has no value: of streams along the elements the first one is read, and stages beneath read
    // their own, if any.
    child.v_i = v_has == NULL ? v_index : zf_cg_select(cg, v_has, v_index, zf_cg_i64(cg, 0));
    child.v_g = zf_cg_add(cg, stage->v_g0, zf_cg_resize(cg, place->v_rank, cg->ty_i64, false));
    child.v_j = zf_simt_group_starts_offset(stage, place);
    child.simt.relative = relative;
    zf_simt_position position = {.tree = stage->tree,
                                 .v_i = place->v_q,
                                 .v_g = place->v_rank,
                                 .exact = v_has == NULL,
                                 .in_arrays_i = v_has == NULL,
                                 .in_arrays_g = true};
    child.simt.position = &position;
    zf_cg_value value = zf_cg_eval_body(cg, &child.env, &child.env.inst->decode);
    stage->uses_j = stage->uses_j || child.uses_j;
    return value;
}

LLVMValueRef zf_simt_tree_scan(const zf_kernel_env *env, const zf_running *running) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    const zf_simt_tree *tree = env->simt.position->tree;
    for (uint32_t k = 0; k < tree->array_count; k++) {
        if (tree->arrays[k].running != running) continue;
        LLVMValueRef v_local = running->along_groups ? env->simt.position->v_g : env->simt.position->v_i;
        if (!(running->along_groups ? env->simt.position->in_arrays_g
                                    : env->simt.position->in_arrays_i)) { // what is read must lie in the array
            LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULT, v_local, zf_cg_i32(cg, tree->arrays[k].room));
            v_local = zf_cg_select(cg, zf_cg_within(cg, v_in, "values of a scan"), v_local, zf_cg_i32(cg, 0));
        }
        LLVMTypeRef ty = zf_cg_memory_type(cg, running->type);
        LLVMValueRef v_at = zf_cg_at(cg, ty, tree->arrays[k].v_values, zf_cg_resize(cg, v_local, cg->ty_i64, false));
        LLVMValueRef v = zf_cg_load(cg, ty, v_at, zf_kind_size(running->type.kind));
        return running->type.kind == ZF_K_BOOL ? zf_cg_resize(cg, v, cg->ty_i1, false) : v;
    }
    return NULL;
}

// ---- Scans along groups ---------------------------------------------------------------------------------------

enum { EACH = 4 }; // places of a lane

zf_simt_found *zf_simt_found_along(zf_simt_tree *tree, uint32_t level, LLVMValueRef v_from, unsigned count, LLVMValueRef v_last) {
    zf_cg *cg = tree->lower->cg;
    zf_simt_found *all = NULL;
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (tree->stages[s].step->level != level || !tree->stages[s].counted) continue; // those made before alone are known
        zf_simt_found *found = ZF_NEW(cg->arena, zf_simt_found);
        *found = (zf_simt_found){.stage = &tree->stages[s], .neighbours = {.count = count}, .next = all};
        zf_simt_place *places = found->places;
        zf_simt_group_starts_find(&tree->stages[s], v_from, count, places);
        for (unsigned k = 1; k < count && v_last != NULL; k++) {
            LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULE, places[k].v_q, v_last);
            places[k].v_q = zf_cg_select(cg, v_has, places[k].v_q, places[k - 1].v_q);
            places[k].v_rank = zf_cg_select(cg, v_has, places[k].v_rank, places[k - 1].v_rank);
            places[k].v_offset = zf_cg_select(cg, v_has, places[k].v_offset, places[k - 1].v_offset);
        }
        for (unsigned k = 0; k < count; k++) found->neighbours.v_ranks[k] = places[k].v_rank;
        zf_simt_neighbours_begin(tree->lower, &found->neighbours);
        all = found;
    }
    return all;
}

// The terms at EACH places of a level from v_mine on, of the tile's v_have, of which there are some; others change nothing.
static void make_terms(zf_simt_tree *tree, const zf_running *r, LLVMValueRef v_first, LLVMValueRef v_mine, LLVMValueRef v_have,
                       LLVMValueRef *v_terms) {
    zf_kernel_build *lower = tree->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_last = zf_cg_sub(cg, v_have, zf_cg_i32(cg, 1)), v_identity = zf_simt_scan_identity(cg, r);
    LLVMValueRef v_from = zf_cg_umin(cg, v_mine, zf_cg_and(cg, v_last, zf_cg_i32(cg, ~(uint32_t)(EACH - 1))));
    const zf_simt_group_starts *above = stage_above(tree, r->level);
    zf_simt_neighbours neighbours = {.count = EACH};
    for (unsigned k = 0; k < EACH; k++) {
        LLVMValueRef v_place = zf_cg_add(cg, v_from, zf_cg_i32(cg, k));
        neighbours.v_ranks[k] = k == 0 ? v_place : zf_cg_umin(cg, v_place, v_last);
    }
    zf_simt_neighbours_begin(lower, &neighbours);
    zf_simt_found *found = zf_simt_found_along(tree, r->level, v_from, EACH, v_last);
    for (unsigned k = 0; k < EACH; k++) {
        LLVMValueRef v_local = neighbours.v_ranks[k];
        LLVMValueRef v_index = zf_cg_add(cg, v_first, zf_cg_resize(cg, v_local, cg->ty_i64, false));
        zf_kernel_env env = zf_lower_env_make(lower, r->node);
        zf_simt_position position = {.tree = tree, .k = k, .exact = true, .in_arrays_i = true, .in_arrays_g = true};
        zf_simt_relative relative = {v_first, v_local, &neighbours, k, above != NULL ? above->fetch : NULL};
        env.simt.position = &position;
        env.simt.relative = &relative;
        if (r->along_groups) {
            env.v_g = v_index;
            position.v_g = v_local;
            position.found_g = found;
        } else {
            env.v_i = v_index;
            position.v_i = v_local;
            position.found = found;
        }
        v_terms[k] = zf_lower_scan_term(&env, r->reduce, v_index);
        cg->v_guard = NULL;
        LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_mine, zf_cg_i32(cg, k)), v_have);
        v_has = zf_cg_within(cg, v_has, "terms of a scan along groups");
        v_terms[k] = zf_cg_select(cg, v_has, v_terms[k], v_identity);
    }
    zf_simt_found_end(lower, found);
    zf_simt_neighbours_end(lower, &neighbours);
}

// Keeps the scan's value before the element at v_stand in the state's slot, where that is in the row at v_row.
static void keep_state(zf_kernel_build *lower, LLVMValueRef v_stand, LLVMValueRef v_row, const LLVMValueRef *v_before,
                       LLVMValueRef v_state) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_here = zf_cg_block(cg, "state_here"), bb_next = zf_cg_block(cg, "state_kept");
    LLVMValueRef v_away = zf_cg_sub(cg, v_stand, v_row), v_k = zf_cg_and(cg, v_away, zf_cg_i32(cg, EACH - 1));
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_away, zf_cg_i32(cg, cg->wave * EACH)), bb_here,
                  bb_next); // all threads the same
    zf_cg_enter(cg, bb_here);
    LLVMValueRef v = v_before[0];
    for (unsigned k = 1; k < EACH; k++) v = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_k, zf_cg_i32(cg, k)), v_before[k], v);
    v = zf_simt_shuffle(lower, v, LLVMBuildUDiv(cg->builder, v_away, zf_cg_i32(cg, EACH), ""));
    LLVMBuildStore(cg->builder, v, v_state);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

static void fill_array(zf_simt_tree *tree, const zf_simt_array *array) {
    zf_kernel_build *lower = tree->lower;
    zf_cg *cg = lower->cg;
    zf_running *r = array->running;
    LLVMTypeRef ty = zf_cg_type(cg, r->type), ty_memory = zf_cg_memory_type(cg, r->type);
    LLVMValueRef v_identity = zf_simt_scan_identity(cg, r), v_first = level_first(tree, r->level);
    LLVMValueRef v_number = zf_cg_resize(cg, zf_cg_sub(cg, level_end(tree, r->level), v_first), cg->ty_i32, false);
    LLVMValueRef v_count =
        r->along_groups ? stage_of(tree, r->node)->v_groups : zf_lower_count(lower, lower->graph->nodes[r->node].output);
    LLVMValueRef v_end = zf_cg_umin(cg, level_end(tree, r->level), zf_simt_terms(lower, r, v_count));
    LLVMValueRef v_have = zf_cg_sub(cg, zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_end, v_first), v_end, v_first), v_first);
    v_have = zf_cg_resize(cg, v_have, cg->ty_i32, false);
    // Where the tile's state stands: at the last index, if that one was pulled.
    LLVMValueRef v_pulled = zf_cg_resize(cg, level_pulled(tree, r->level), cg->ty_i32, false);
    LLVMValueRef v_stand = zf_cg_sub(cg, v_number, v_pulled), v_slots[EACH];
    LLVMValueRef v_carry = r->v_acc, v_state = zf_cg_alloca(cg, ty, "state");
    for (unsigned k = 0; k < EACH; k++) v_slots[k] = zf_cg_alloca(cg, ty, "term");
    LLVMValueRef v_initial = zf_simt_seek(lower, (uint32_t)r->field, zf_cg_to_word(cg, r->type, v_identity));
    LLVMBuildStore(cg->builder, zf_cg_from_word(cg, r->type, v_initial), v_carry);
    LLVMBuildStore(cg->builder, zf_cg_from_word(cg, r->type, v_initial), v_state);
    LLVMValueRef v_rows = zf_cg_add(cg, v_number, zf_cg_i32(cg, cg->wave * EACH - 1));
    v_rows = LLVMBuildUDiv(cg->builder, v_rows, zf_cg_i32(cg, cg->wave * EACH), "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), v_rows, "scan_row");
    LLVMValueRef v_row = zf_cg_mul(cg, loop.v_i, zf_cg_i32(cg, cg->wave * EACH));
    LLVMValueRef v_mine = zf_cg_add(cg, v_row, zf_cg_mul(cg, zf_simt_lane(lower), zf_cg_i32(cg, EACH)));
    LLVMBasicBlockRef bb_terms = zf_cg_block(cg, "terms"), bb_combine = zf_cg_block(cg, "combine"),
                      bb_store = zf_cg_block(cg, "scan_store"), bb_next = zf_cg_block(cg, "scan_next");
    LLVMValueRef v_terms[EACH], v_sums[EACH], v_before[EACH], v_prefix;
    for (unsigned k = 0; k < EACH; k++) LLVMBuildStore(cg->builder, v_identity, v_slots[k]);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_have, zf_cg_i32(cg, 0)), bb_terms, bb_combine);
    zf_cg_enter(cg, bb_terms);
    make_terms(tree, r, v_first, v_mine, v_have, v_terms);
    for (unsigned k = 0; k < EACH; k++) LLVMBuildStore(cg->builder, v_terms[k], v_slots[k]);
    zf_cg_br(cg, bb_combine);
    zf_cg_enter(cg, bb_combine);
    for (unsigned k = 0; k < EACH; k++) {
        v_terms[k] = LLVMBuildLoad2(cg->builder, ty, v_slots[k], "");
        v_sums[k] = k == 0 ? v_terms[0] : zf_simt_combine(cg, r, v_sums[k - 1], v_terms[k]);
    }
    zf_simt_combine_rows(lower, r, zf_simt_lane(lower), 1, NULL, &v_sums[EACH - 1], &v_prefix);
    for (unsigned k = 0; k < EACH; k++) v_before[k] = k == 0 ? v_prefix : zf_simt_combine(cg, r, v_prefix, v_sums[k - 1]);
    keep_state(lower, v_stand, v_row, v_before, v_state);
    zf_cg_cond_br(cg, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_mine, v_number), "values of a scan along groups"), bb_store,
                  bb_next);
    zf_cg_enter(cg, bb_store); // the array has room for whole threads
    LLVMValueRef v_at = zf_cg_at(cg, ty_memory, array->v_values, zf_cg_resize(cg, v_mine, cg->ty_i64, false));
    unsigned size = zf_kind_size(r->type.kind);
    for (unsigned k = 0; k < EACH; k++) {
        LLVMValueRef v_index = zf_cg_add(cg, v_mine, zf_cg_i32(cg, k));
        v_index = zf_cg_add(cg, v_first, zf_cg_resize(cg, v_index, cg->ty_i64, false));
        LLVMValueRef v = r->reduce->inclusive ? zf_simt_combine(cg, r, v_prefix, v_sums[k]) : v_before[k];
        zf_cg_store(cg, zf_simt_scan_value(cg, r, v_index, v), zf_cg_byte_at(cg, v_at, (uint64_t)k * size), size);
    }
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    // Behind all rows the state is what was carried.
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, v_stand, zf_cg_mul(cg, v_rows, zf_cg_i32(cg, cg->wave * EACH)));
    LLVMValueRef v_stands =
        zf_cg_select(cg, v_behind, LLVMBuildLoad2(cg->builder, ty, v_carry, ""), LLVMBuildLoad2(cg->builder, ty, v_state, ""));
    LLVMValueRef v_word = zf_cg_to_word(cg, r->type, v_stands);
    LLVMValueRef v_next = zf_simt_seek_next(lower, (uint32_t)r->field, v_word, "state behind the last tile");
    zf_lower_check_end(lower, zf_cg_icmp(cg, LLVMIntNE, v_next, v_word), "seek state of the next tile");
    zf_simt_barrier(lower, "values of a scan are written");
}

// ---- Stages ---------------------------------------------------------------------------------------------------

// Whether elements of an edge are made of a stage's.
static bool made_of_stages(const zf_simt_tree *tree, uint32_t edge) {
    const zf_graph *graph = tree->lower->graph;
    if (zf_lower_in_memory(tree->lower, edge)) return false;
    const zf_graph_node *node = &graph->nodes[graph->edges[edge].producer];
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        if (&graph->nodes[tree->stages[s].node] == node) return true;
    }
    for (uint32_t k = 0; k < node->inst->stream_count; k++) {
        if (made_of_stages(tree, node->inputs[k])) return true;
    }
    return false;
}

// Whether a stage's sizes are elements of a stage that was opened before it, one each.
static bool pulls_sizes(const zf_simt_tree *tree, uint32_t node) {
    const zf_graph_node *at = &tree->lower->graph->nodes[node];
    const zf_expr *e = at->inst->size.value;
    if (e == NULL || at->inst->size.stmts != NULL || at->inst->size.returns_inside) return false;
    e = zf_expr_uncast(e);
    return e->kind == ZF_X_INDEX && e->a->kind == ZF_X_STREAM && made_of_stages(tree, at->inputs[e->a->port->slot]);
}

// In a tile that a warp makes, the root has many groups.
static unsigned groups_each(const zf_simt_tree *tree, const zf_step *step) {
    if (tree->shape->threads > tree->lower->cg->wave) return ZF_SIMT_GROUPS_EACH;
    return step->level == 0 ? ZF_SIMT_GROUPS_MOST : ZF_SIMT_GROUPS_EACH;
}

// Groups of a stage whose numbers are places in arrays; UINT32_MAX: there are none.
static uint32_t room_of_groups(const zf_kernel *kernel, const zf_step *stage) {
    uint32_t room = UINT32_MAX;
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        if (step->kind == ZF_STEP_SCAN && step->level == stage->groups && room_of(kernel, step) < room)
            room = room_of(kernel, step);
    }
    return room;
}

static void open_stages(zf_simt_tree *tree) {
    zf_kernel_build *lower = tree->lower;
    zf_cg *cg = lower->cg;
    const zf_kernel *kernel = lower->kernel;
    uint32_t at = ZF_SIMT_SUMS;
    LLVMValueRef v_sums = cg->target->simt->shared(cg, 0, ZF_SIMT_SUMS);
    LLVMValueRef v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), v_bad);
    tree->stages = ZF_NEW_ARRAY(cg->arena, zf_simt_group_starts, kernel->step_count);
    tree->arrays = ZF_NEW_ARRAY(cg->arena, zf_simt_array, kernel->step_count);
    for (uint32_t s = 0; s < kernel->step_count; s++) {
        const zf_step *step = &kernel->steps[s];
        if (step->kind == ZF_STEP_EXPAND) {
            zf_simt_group_starts *t = &tree->stages[tree->stage_count++];
            *t = (zf_simt_group_starts){.lower = lower, .shape = tree->shape, .tree = tree, .step = step, .node = step->node};
            t->tile = room_of(kernel, step);
            t->each = groups_each(tree, step);
            t->pulls_sizes = pulls_sizes(tree, step->node);
            t->v_sums = v_sums;
            t->group_bytes = group_bytes(lower->plan, kernel, step);
            t->never_empty = t->group_bytes == 0;
            t->never_large = has_at_most(lower->plan, step->node, 2 * (uint64_t)t->tile);
            t->v_bad = v_bad;
            t->room = room_of_groups(kernel, step);
            zf_simt_group_starts_tables(t, at);
            at += zf_simt_group_starts_bytes(t->tile, t->group_bytes);
            uint32_t bytes = ring_bytes(lower->plan, kernel, step);
            if (bytes > 0) {
                t->ring = ZF_NEW(cg->arena, zf_simt_ring);
                t->ring->type = zf_type_strip(element_type(lower->graph, step));
                t->ring->room = bytes / zf_kind_size(t->ring->type.kind);
                t->ring->v_values = cg->target->simt->shared(cg, at, bytes);
                at += bytes;
            }
            zf_simt_group_starts_count_groups(t);
        } else if (step->kind == ZF_STEP_SCAN && step->level > 0) {
            zf_simt_array *array = &tree->arrays[tree->array_count++];
            array->room = room_of(kernel, step);
            uint32_t bytes = array_bytes(kernel, step);
            array->running = zf_lower_scan_find(lower, step->node, step->reduce);
            array->v_values = cg->target->simt->shared(cg, at, bytes);
            at += bytes;
        }
        at = (at + 15) & ~15u;
    }
}

// Where every stage begins and ends, consumers first. *v_slow (i1): one thread must make the tile.
static void find_stages(zf_simt_tree *tree, LLVMValueRef *v_slow) {
    zf_kernel_build *lower = tree->lower;
    zf_cg *cg = lower->cg;
    *v_slow = zf_cg_i1(cg, false);
    LLVMValueRef v_next = zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, 1));
    LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntUGE, v_next, lower->v_tiles);
    for (uint32_t s = tree->stage_count; s-- > 0;) {
        zf_simt_group_starts *t = &tree->stages[s];
        bool is_root = t->node == lower->kernel->root;
        LLVMValueRef v_from = level_first(tree, t->step->level), v_to = level_end(tree, t->step->level);
        LLVMValueRef v_elements = zf_lower_count(lower, lower->graph->nodes[t->node].output);
        zf_simt_group_starts_ends(t, level_pulled(tree, t->step->level), zf_cg_icmp(cg, LLVMIntULE, v_to, v_elements));
        if (!is_root) { // its elements may be more, or fewer, than its consumer takes
            LLVMValueRef v_count = zf_lower_count(lower, lower->graph->nodes[t->node].output);
            *v_slow = zf_cg_or(cg, *v_slow, zf_cg_and(cg, v_last, zf_cg_icmp(cg, LLVMIntULT, v_to, v_count)));
            v_from = zf_cg_umin(cg, v_from, v_count);
            v_to = zf_cg_umin(cg, v_to, v_count);
        }
        LLVMValueRef v_length = zf_cg_sub(cg, v_to, v_from);
        t->v_length = zf_cg_resize(cg, v_length, cg->ty_i32, false);
        LLVMValueRef v_number = zf_cg_sub(cg, t->v_end, t->v_g0), v_most = zf_cg_i64(cg, INT32_MAX / 2);
        // An offset that is more is a state that lies: then nothing is made.
        t->near_offsets = lower->simt->v_slow != NULL || has_at_most(lower->plan, t->node, UINT32_MAX);
        if (lower->simt->v_slow != NULL) *v_slow = zf_cg_or(cg, *v_slow, zf_cg_icmp(cg, LLVMIntUGT, t->v_o0, v_most));
        if (t->group_bytes == ZF_SIMT_NARROW_BYTES)
            *v_slow = zf_cg_or(cg, *v_slow, zf_cg_icmp(cg, LLVMIntUGT, v_number, zf_cg_i64(cg, ZF_SIMT_MOST_GROUPS)));
        if (t->step->level > 0) *v_slow = zf_cg_or(cg, *v_slow, zf_cg_icmp(cg, LLVMIntUGT, v_length, zf_cg_i64(cg, t->tile)));
        for (uint32_t k = 0; k < tree->array_count; k++) {
            if (tree->arrays[k].running->level != t->step->groups) continue;
            *v_slow = zf_cg_or(cg, *v_slow, zf_cg_icmp(cg, LLVMIntUGT, v_number, zf_cg_i64(cg, tree->arrays[k].room)));
        }
    }
}

// Marks the starts of a stage; goes on where its sizes make its elements, else to bb_end: all threads know the same sum.
static void mark_stage(zf_simt_group_starts *t, LLVMBasicBlockRef bb_end) {
    zf_kernel_build *lower = t->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_fits = zf_simt_group_starts_fit(t, zf_simt_group_starts_mark(t));
    LLVMBasicBlockRef bb_fits = zf_cg_block(cg, "fits");
    zf_cg_cond_br(cg, zf_cg_within(cg, v_fits, "outputs that all have a group"), bb_fits, bb_end);
    zf_cg_enter(cg, bb_fits);
    zf_simt_barrier(lower, "starts are set");
}

// Prefetches the streams that each stage reads by the tile's groups, when these are known. A tile of a warp does not prefetch
// where groups are short: their elements are read in rows as long as the outputs', and a prefetch costs as much as the read. A
// tile of a thread block prefetches only where groups are few beside the outputs (simt_prefetch_tile.c).
enum {
    ASKED_LENGTH_WARP = 2, // elements that groups of tiles have on the mean which a warp makes, with few loads under way
};

static void fetch_groups(zf_simt_tree *tree) {
    zf_kernel_build *lower = tree->lower;
    zf_cg *cg = lower->cg;
    bool by_warp = tree->shape->threads == cg->wave;
    for (uint32_t s = 0; s < tree->stage_count; s++) {
        zf_simt_group_starts *t = &tree->stages[s];
        if (lower->type.kind == ZF_K_STRING) continue;
        t->fetch = ZF_NEW(lower->cg->arena, zf_simt_prefetch_tile);
        uint32_t most = by_warp ? t->tile / ASKED_LENGTH_WARP : t->tile;
        LLVMValueRef v_groups = zf_cg_sub(cg, t->v_end, t->v_g0),
                     v_few = zf_cg_icmp(cg, LLVMIntULE, v_groups, zf_cg_i64(cg, most));
        v_groups = zf_cg_select(cg, v_few, v_groups, zf_cg_i64(cg, 0));
        zf_simt_prefetch_tile_begin(t->fetch, lower, lower->simt->v_thread, tree->shape->threads, t->v_g0, v_groups, most);
        if (!by_warp) zf_simt_prefetch_tile_limit(t->fetch, t->tile * zf_kind_bits(lower->type.kind));
    }
}

// ---- The tile -------------------------------------------------------------------------------------------------

void zf_form_groups_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    zf_simt_tile tile = zf_simt_tile_of(lower);
    zf_simt_tree tree = {.lower = lower, .shape = shape, .tile = &tile};
    zf_lower_runnings_make(lower);
    zf_simt_seek_together(lower);
    open_stages(&tree);
    zf_simt_store_begin(lower, shape, &tile);
    LLVMValueRef v_slow;
    find_stages(&tree, &v_slow);
    LLVMBasicBlockRef bb_end = zf_cg_block(cg, "tile_end");
    if (lower->simt->v_slow != NULL) {
        LLVMBasicBlockRef bb_hard = zf_cg_block(cg, "hard"), bb_easy = zf_cg_block(cg, "easy");
        zf_cg_cond_br(cg, v_slow, bb_hard, bb_easy);
        zf_cg_enter(cg, bb_hard);
        zf_simt_call_slow(lower);
        zf_cg_br(cg, lower->simt->bb_leave);
        zf_cg_enter(cg, bb_easy);
    }
    fetch_groups(&tree);
    for (uint32_t s = 0; s < tree.stage_count; s++) zf_simt_group_starts_clear(&tree.stages[s]);
    if (shape->threads == cg->wave) zf_simt_barrier(lower, "bits are clear"); // of several warps sums meet before any mark
    zf_simt_group_starts *root = NULL;
    uint32_t stages = 0, arrays = 0;
    for (uint32_t s = 0; s < lower->kernel->step_count; s++) {
        const zf_step *step = &lower->kernel->steps[s];
        if (step->kind == ZF_STEP_SCAN && step->level > 0) fill_array(&tree, &tree.arrays[arrays++]);
        if (step->kind != ZF_STEP_EXPAND) continue;
        zf_simt_group_starts *t = &tree.stages[stages++];
        mark_stage(t, bb_end);
        if (t == zf_simt_tree_root(&tree)) {
            root = t; // the last one: what its outputs ask for is known when they were built
            continue;
        }
        zf_simt_group_starts_count(t);
        t->bb_places = zf_cg_block(cg, "places"); // whether bodies ask for them is known when these were built
        t->bb_placed = zf_cg_block(cg, "placed");
        zf_cg_br(cg, t->bb_places);
        zf_cg_enter(cg, t->bb_placed);
        zf_simt_barrier(lower, "starts are counted");
    }
    if (root == NULL) {
        zf_simt_rows(lower, shape, &tile, &tree);
    } else {
        LLVMBasicBlockRef bb_count = zf_cg_block(cg, "count"), bb_outputs = zf_cg_block(cg, "outputs_begin");
        zf_cg_br(cg, bb_count);
        zf_cg_enter(cg, bb_outputs);
        if (scans_outputs(lower->kernel))
            zf_simt_rows(lower, shape, &tile, &tree);
        else
            zf_simt_groups_outputs(root);
        zf_cg_br(cg, bb_end);
        zf_cg_enter(cg, bb_count);
        zf_simt_group_starts_count(root);
        zf_simt_group_starts_count_places(root);
        zf_simt_barrier(lower, "starts are counted");
        zf_cg_br(cg, bb_outputs);
    }
    if (root == NULL) zf_cg_br(cg, bb_end);
    for (uint32_t s = 0; s < tree.stage_count; s++) {
        if (tree.stages[s].bb_places == NULL) continue;
        zf_cg_enter(cg, tree.stages[s].bb_places);
        zf_simt_group_starts_count_places(&tree.stages[s]);
        zf_cg_br(cg, tree.stages[s].bb_placed);
    }
    zf_cg_enter(cg, bb_end);
    for (uint32_t s = 0; s < tree.stage_count; s++) {
        if (tree.stages[s].fetch != NULL) zf_simt_prefetch_tile_end(tree.stages[s].fetch);
    }
    zf_simt_store_end(lower);
    zf_lower_report(lower, tile.v_lo);
}

void zf_form_groups_slow(zf_kernel_build *lower, const zf_simt_shape *shape) {
    (void)shape;
    zf_simt_one_thread(lower, lower->simt->v_thread);
    lower->cg->target->lower[lower->kernel->domain](lower);
}

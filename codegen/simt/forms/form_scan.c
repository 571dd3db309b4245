// Scans along the elements: a warp makes a tile, row by row. In a row every lane holds C contiguous elements: it combines its own
// terms, the warp combines the lanes' totals by shuffles, and the running value goes on to the next row. The tile starts from the
// state that the file holds and must end in the next one. Rows of trees are the same; their elements also find the groups that
// they are in (form_groups.c).
#include "codegen/body/cg_frame.h"
#include "codegen/body/cg_lines.h"
#include "codegen/simt/groups/simt_tree.h"
#include "codegen/simt/memory/simt_neighbour_bits.h"
#include "codegen/simt/memory/simt_staging.h"
#include "codegen/simt/scans/simt_popcount.h"
#include "codegen/simt/scans/simt_split.h"
#include "codegen/simt/simt_choices.h"
#include "codegen/simt/simt_text.h"

#include <string.h>

#include "codegen/kernel/kernel_scan.h"

// A lane's data of one scan in the row that is being made.
typedef struct row_scan {
    zf_running *running;
    LLVMValueRef v_terms[ZF_NEIGHBOURS]; // slots
    bool is_split;                       // the terms in them are also in `split`
    zf_simt_split split[ZF_NEIGHBOURS];
    LLVMValueRef v_identity;
    LLVMValueRef v_next;  ///< the state that the file has at the tile's end, as a word; NULL: it has none
    LLVMValueRef v_end;   // first index whose term nobody wants
    zf_simt_count *count; // what its values are indices of; NULL: nothing
} row_scan;

typedef struct row {
    zf_kernel_build *lower;
    const zf_simt_tile *tile;
    zf_simt_prefetch_tile *fetch;
    zf_simt_staging *staging;
    zf_simt_tree *tree;   // stages that elements take from; NULL: none
    zf_simt_found *found; // where this lane's elements are in those along the outputs; NULL: not found yet
    row_scan *scans;
    uint32_t scan_count; // those along the outputs
    unsigned lanes;
    bool segmented;                   // its scans begin anew within a tile
    const zf_simt_popcount *popcount; // what the only scan sums up; NULL: anything
    LLVMValueRef v_bits, v_before;    // of the tally in this row
    LLVMValueRef v_lane;              // i32
    LLVMValueRef v_begin;             // of the row
    LLVMValueRef v_first;             // index of this lane's first element
    LLVMValueRef v_place;             // i32: the same in the tile
    LLVMValueRef v_batch, v_away; // of the rows that are made together: where they begin, a multiple of `span`; how far behind
                                  // v_first is. NULL: there are none
    uint64_t span;                // elements of all of them
} row;

// ---- Terms ----------------------------------------------------------------------------------------------------

static void set_values(row *r, unsigned k, LLVMValueRef v_index, uint32_t scans);

// Tells the environment of this lane's element `k` where that is in the stages of a tree. *spot lives as long as it.
static void stand_at(const row *r, unsigned k, zf_kernel_env *env, zf_simt_position *position) {
    zf_cg *cg = r->lower->cg;
    if (r->tree == NULL) return;
    *position = (zf_simt_position){.tree = r->tree, .exact = true, .in_arrays_i = true, .found = r->found, .k = k};
    position->v_i = zf_cg_add(cg, r->v_place, zf_cg_i32(cg, k));
    env->simt.position = position;
}

// Whether the terms of a lane that belong to no value are its first ones where it begins a segment, and none else: then one that
// does can be made in their place, so that all of the lane's are made alike.
static bool moves_terms(const row *r, const zf_reduce *reduce) {
    return r->segmented && r->tree == NULL && reduce->inclusive && reduce->skip < r->lanes && reduce->segment % r->lanes == 0 &&
           zf_cg_bit_place_in(reduce->term);
}

// The term of a segment at this lane's element `k`, of terms that move.
static LLVMValueRef moved_term(row *r, zf_simt_lanes *lanes, const zf_running *running, unsigned k,
                               zf_simt_neighbour_bits *places) {
    zf_kernel_build *lower = r->lower;
    zf_cg *cg = lower->cg;
    const zf_reduce *reduce = running->reduce;
    zf_kernel_env env = zf_simt_lane_env(lower, running->node, lanes, k);
    LLVMValueRef v_index = env.v_i, v_k = zf_cg_i64(cg, k);
    if (k < reduce->skip) {
        LLVMValueRef v_place = zf_lower_in_segment(cg, reduce, r->v_first), v_skip = zf_cg_i64(cg, reduce->skip);
        v_k = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_place, zf_cg_i64(cg, 0)), v_skip, v_k);
        env.v_i = zf_cg_add(cg, r->v_first, v_k);
        env.simt.lanes = NULL; // which have what is read at the element's own index
    }
    env.simt.places = places;
    zf_cg_neighbour(cg, env.v_i, r->v_first, v_k, r->lanes);
    LLVMValueRef v = zf_lower_scan_own_term(&env, reduce, env.v_i);
    return k < reduce->skip ? zf_simt_segment_term(cg, running, v_index, v) : v;
}

/// Terms of rows that move, to be made.
typedef struct moved {
    row *rows;
    zf_simt_lanes *lanes;
    uint32_t scan;
} moved;

static void make_moved(void *user, unsigned number, unsigned k, zf_simt_neighbour_bits *places) {
    const moved *m = user;
    row *r = &m->rows[number];
    zf_cg *cg = r->lower->cg;
    row_scan *scan = &r->scans[m->scan];
    set_values(r, k, zf_cg_add(cg, r->v_first, zf_cg_i64(cg, k)), m->scan);
    LLVMBuildStore(cg->builder, moved_term(r, &m->lanes[number], scan->running, k, places), scan->v_terms[k]);
    cg->v_guard = NULL;
}

// All lanes' terms of a scan, where all of them exist. Scans before it are made: a term may take their values.
static void whole_terms(row *r, zf_simt_lanes *lanes, uint32_t s) {
    zf_kernel_build *lower = r->lower;
    row_scan *scan = &r->scans[s];
    bool moves = moves_terms(r, scan->running->reduce);
    scan->is_split = !moves;
    for (unsigned k = 0; k < r->lanes && moves; k++) make_moved(&(moved){r, lanes, s}, 0, k, NULL);
    for (unsigned k = 0; k < r->lanes && !moves; k++) {
        zf_kernel_env env = zf_simt_lane_env(lower, scan->running->node, lanes, k);
        zf_simt_position position;
        stand_at(r, k, &env, &position);
        set_values(r, k, env.v_i, s);
        LLVMValueRef v = zf_lower_scan_term(&env, scan->running->reduce, env.v_i);
        v = zf_simt_segment_term(lower->cg, scan->running, env.v_i, v);
        LLVMBuildStore(lower->cg->builder, v, scan->v_terms[k]);
        scan->is_split = scan->is_split && zf_simt_split_term(lower, scan->running, r->lanes, v, &scan->split[k]);
        scan->is_split = scan->is_split && scan->split[k].v_same == scan->split[0].v_same;
    }
}

// Those that exist; the others change nothing.
static void some_terms(row *r, uint32_t s) {
    zf_kernel_build *lower = r->lower;
    zf_cg *cg = lower->cg;
    row_scan *scan = &r->scans[s];
    LLVMValueRef v_end = scan->v_end;
    scan->is_split = false;
    for (unsigned k = 0; k < r->lanes; k++) {
        LLVMBasicBlockRef bb_term = zf_cg_block(cg, "term"), bb_next = zf_cg_block(cg, "term_next");
        LLVMValueRef v_index = zf_cg_add(cg, r->v_first, zf_cg_i64(cg, k));
        LLVMBuildStore(cg->builder, scan->v_identity, scan->v_terms[k]);
        zf_cg_cond_br(cg, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_index, v_end), "terms of a cut row"), bb_term, bb_next);
        zf_cg_enter(cg, bb_term);
        set_values(r, k, v_index, s);
        zf_kernel_env env = zf_lower_env_make(lower, scan->running->node);
        zf_simt_position position;
        stand_at(r, k, &env, &position);
        env.v_i = v_index;
        LLVMValueRef v = zf_lower_scan_term(&env, scan->running->reduce, v_index);
        LLVMBuildStore(cg->builder, zf_simt_segment_term(cg, scan->running, v_index, v), scan->v_terms[k]);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

// ---- Combining ------------------------------------------------------------------------------------------------

// The same where all terms are split.
static bool combine_split(row *rows, unsigned count, uint32_t number) {
    zf_simt_split terms[ZF_SIMT_BATCH][ZF_NEIGHBOURS];
    LLVMValueRef v_values[ZF_SIMT_BATCH][ZF_NEIGHBOURS];
    for (unsigned r = 0; r < count; r++) {
        const row_scan *scan = &rows[r].scans[number];
        if (!scan->is_split || scan->split[0].v_same != rows->scans[number].split[0].v_same) return false;
        memcpy(terms[r], scan->split, sizeof scan->split);
    }
    zf_simt_split_combine(rows->lower, rows->scans[number].running, rows->lanes, rows->v_lane, count, terms, v_values);
    for (unsigned r = 0; r < count; r++) {
        for (unsigned k = 0; k < rows->lanes; k++)
            LLVMBuildStore(rows->lower->cg->builder, v_values[r][k], rows[r].scans[number].v_terms[k]);
    }
    return true;
}

// Turns the terms of `count` consecutive rows into the scan's values at each element, and moves the running value behind them.
// Shuffles of different rows stand side by side: each takes its time.
static void combine_rows(row *rows, unsigned count, uint32_t number) {
    zf_cg *cg = rows->lower->cg;
    const zf_running *running = rows->scans[number].running;
    LLVMMetadataRef outside = zf_cg_lines_enter(cg, running->reduce->term->span);
    LLVMTypeRef ty = zf_cg_type(cg, running->type);
    bool segmented = running->reduce->form == ZF_R_SEGMENTED;
    if (combine_split(rows, count, number)) {
        zf_cg_lines_leave(cg, outside);
        return;
    }
    LLVMValueRef v_begins[ZF_SIMT_BATCH] = {NULL};
    LLVMValueRef v_sums[ZF_SIMT_BATCH][ZF_NEIGHBOURS], v_own[ZF_SIMT_BATCH] = {NULL}, v_before[ZF_SIMT_BATCH];
    for (unsigned r = 0; r < count; r++) {
        for (unsigned k = 0; k < rows->lanes; k++) {
            LLVMValueRef v_term = LLVMBuildLoad2(cg->builder, ty, rows[r].scans[number].v_terms[k], "");
            v_sums[r][k] = k == 0 || zf_simt_segment_begins(running->reduce, k)
                               ? v_term
                               : zf_simt_combine(cg, running, v_sums[r][k - 1], v_term);
        }
        v_own[r] = v_sums[r][rows->lanes - 1];
        v_begins[r] = rows[r].v_begin;
    }
    if (segmented)
        zf_simt_combine_segments(rows->lower, running, rows->lanes, rows->v_lane, count, v_begins, v_own, v_before);
    else
        zf_simt_combine_rows(rows->lower, running, rows->v_lane, count, NULL, v_own, v_before);
    for (unsigned r = 0; r < count; r++) {
        row_scan *scan = &rows[r].scans[number];
        for (unsigned k = 0; k < rows->lanes; k++) {
            LLVMValueRef v = running->reduce->inclusive ? zf_simt_combine(cg, running, v_before[r], v_sums[r][k])
                             : k == 0 || zf_simt_segment_begins(running->reduce, k)
                                 ? v_before[r]
                                 : zf_simt_combine(cg, running, v_before[r], v_sums[r][k - 1]);
            LLVMBuildStore(cg->builder, v, scan->v_terms[k]);
        }
    }
    zf_cg_lines_leave(cg, outside);
}

// ---- Elements -------------------------------------------------------------------------------------------------

// Sets the values of the kernel's first `scans` scans at an element, for bodies.
static void set_values(row *r, unsigned k, LLVMValueRef v_index, uint32_t scans) {
    zf_cg *cg = r->lower->cg;
    for (uint32_t s = 0; s < scans; s++) {
        zf_running *running = r->scans[s].running;
        LLVMValueRef v = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, running->type), r->scans[s].v_terms[k], "");
        LLVMBuildStore(cg->builder, zf_simt_scan_value(cg, running, v_index, v), running->v_now);
    }
}

// The lane's elements once more, one by one, where one failed and a failure's place is an element.
static void report_again(row *r, uint32_t noted) {
    zf_kernel_build *lower = r->lower;
    zf_cg *cg = lower->cg;
    if (lower->running_count > 0 || r->tree != NULL || lower->noted == noted) return;
    LLVMBasicBlockRef bb_again = zf_cg_block(cg, "again"), bb_well = zf_cg_block(cg, "row_well");
    zf_cg_cond_br(cg, zf_lower_none_failed(lower), bb_well, bb_again);
    zf_cg_enter(cg, bb_again);
    zf_lower_clear(lower);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, r->v_first, zf_cg_add(cg, r->v_first, zf_cg_i64(cg, r->lanes)), "element");
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_i = loop.v_i;
    zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    zf_simt_report_element(lower, loop.v_i);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    zf_cg_br(cg, bb_well);
    zf_cg_enter(cg, bb_well);
}

static void counts_begin(row *r) {
    for (uint32_t s = 0; s < r->scan_count; s++) {
        const row_scan *scan = &r->scans[s];
        LLVMTypeRef ty = zf_cg_type(r->lower->cg, scan->running->type);
        LLVMValueRef v_values[ZF_NEIGHBOURS];
        if (scan->count == NULL) continue;
        for (unsigned k = 0; k < r->lanes; k++) v_values[k] = LLVMBuildLoad2(r->lower->cg->builder, ty, scan->v_terms[k], "");
        zf_simt_count_begin(r->lower, scan->count, r->lanes, v_values);
    }
}

// This lane's element `k`, of a root of elements or of groups.
static zf_cg_value element(const row *r, unsigned k, zf_kernel_env *env) {
    zf_cg *cg = r->lower->cg;
    zf_simt_group_starts *root = r->tree != NULL ? zf_simt_tree_root(r->tree) : NULL;
    if (root == NULL) {
        zf_simt_position position;
        stand_at(r, k, env, &position);
        zf_cg_value value = zf_cg_eval_body(cg, &env->env, &env->env.inst->decode);
        cg->v_guard = NULL;
        return value;
    }
    for (zf_simt_found *found = r->found; found != NULL; found = found->next) {
        if (found->stage == root) return zf_simt_groups_output(root, &found->places[k], &found->neighbours, k);
    }
    zf_simt_place place;
    zf_simt_group_starts_find(root, zf_cg_add(cg, r->v_place, zf_cg_i32(cg, k)), 1, &place);
    return zf_simt_groups_output(root, &place, NULL, 0);
}

static void whole_elements(row *r, zf_simt_lanes *lanes, zf_cg_value *values) {
    zf_kernel_build *lower = r->lower;
    uint32_t noted = lower->noted;
    counts_begin(r);
    for (unsigned k = 0; k < r->lanes; k++) {
        for (uint32_t s = 0; s < r->scan_count; s++) {
            if (r->scans[s].count != NULL) r->scans[s].running->counted = &r->scans[s].count->lanes[k];
        }
        zf_kernel_env env = zf_simt_lane_env(lower, lower->kernel->root, lanes, k);
        LLVMValueRef v_k = zf_cg_i64(lower->cg, k);
        if (r->segmented) zf_cg_neighbour(lower->cg, env.v_i, r->v_first, v_k, r->lanes);
        if (r->v_batch != NULL) zf_cg_neighbour(lower->cg, env.v_i, r->v_batch, zf_cg_add(lower->cg, r->v_away, v_k), r->span);
        set_values(r, k, env.v_i, r->scan_count);
        values[k] = element(r, k, &env);
    }
    for (uint32_t s = r->scan_count; s-- > 0;) {
        if (r->scans[s].count != NULL) zf_simt_count_end(lower, r->scans[s].count);
    }
    report_again(r, noted);
}

static void some_elements(row *r) {
    zf_kernel_build *lower = r->lower;
    zf_simt_cut cut = zf_simt_cut_begin(lower, r->v_first, r->v_first, r->tile->v_hi);
    for (unsigned k = 0; k < r->lanes; k++) {
        zf_simt_cut_element(lower, &cut, k);
        set_values(r, k, cut.v_index, r->scan_count);
        zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.v_i = cut.v_index;
        zf_simt_cut_store(lower, &cut, k, element(r, k, &env));
    }
    zf_simt_cut_end(lower, &cut);
}

// ---- The tile -------------------------------------------------------------------------------------------------

static void place_lane(row *r, LLVMValueRef v_row, LLVMValueRef v_row_size) {
    zf_cg *cg = r->lower->cg;
    LLVMValueRef v_lane = zf_cg_resize(cg, r->v_lane, cg->ty_i64, false), v_from = zf_cg_mul(cg, v_row, v_row_size);
    LLVMValueRef v_mine = zf_cg_mul(cg, v_lane, zf_cg_i64(cg, r->lanes));
    uint32_t tile = r->lower->kernel->tile;
    r->v_begin = zf_cg_add(cg, r->tile->v_begin, v_from);
    r->v_first = zf_cg_add(cg, r->v_begin, v_mine);
    if (r->segmented && (tile & (tile - 1)) == 0) {
        // No edge of a block has more than 2^32 elements: where a lane is takes 32 bits, and so does what bodies make of it.
        LLVMTypeRef ty = cg->ty_i32;
        LLVMValueRef v_place = zf_cg_and(cg, zf_cg_resize(cg, v_from, ty, false), zf_cg_i32(cg, tile - 1));
        v_place = zf_cg_or(cg, zf_cg_and(cg, zf_cg_resize(cg, r->tile->v_begin, ty, false), zf_cg_i32(cg, ~(tile - 1))), v_place);
        r->v_begin = zf_cg_resize(cg, v_place, cg->ty_i64, false);
        r->v_first = zf_cg_resize(cg, zf_cg_or(cg, v_place, zf_cg_resize(cg, v_mine, ty, false)), cg->ty_i64, false);
    }
    r->v_place = zf_cg_resize(cg, zf_cg_add(cg, v_from, v_mine), cg->ty_i32, false);
    r->found = NULL;
    r->v_batch = NULL;
}

// The values of the scan whose terms are counted already.
static void take_tally(row *r, zf_simt_lanes *lanes) {
    LLVMValueRef v_values[ZF_NEIGHBOURS];
    zf_simt_popcount_values(r->lower, r->popcount, lanes, r->v_before, v_values);
    for (unsigned k = 0; k < r->lanes; k++) LLVMBuildStore(r->lower->cg->builder, v_values[k], r->scans[0].v_terms[k]);
}

static void begin_lanes(row *rows, unsigned count, zf_simt_lanes *lanes) {
    for (unsigned r = 0; r < count; r++) {
        lanes[r] = zf_simt_lanes_begin(rows->lower, rows[r].v_first, rows[r].lanes);
        lanes[r].v_base = rows->tile->v_begin;
        lanes[r].v_near = rows[r].v_place;
        lanes[r].fetch = rows->fetch;
        lanes[r].staging = rows->staging;
    }
}

static void end_lanes(row *rows, unsigned count, zf_simt_lanes *lanes) {
    for (unsigned r = 0; r < count; r++) zf_simt_lanes_end(rows->lower, &lanes[r]);
}

// Stores rows. Storing validity takes shuffles, and no load is moved across these: all rows' elements are then made before the
// first is stored.
static void store_rows(row *rows, unsigned count, zf_simt_lanes *lanes) {
    zf_kernel_build *lower = rows->lower;
    zf_cg_value values[ZF_SIMT_BATCH][ZF_NEIGHBOURS];
    bool apart = lower->type.nullable;
    for (unsigned r = 0; r < count; r++) {
        lower->cg->same_again = rows[r].segmented;
        whole_elements(&rows[r], &lanes[r], values[r]);
        lower->cg->same_again = false;
        if (!apart) zf_simt_store_vector(lower, values[r], rows[r].lanes, rows[r].v_first);
    }
    for (unsigned r = 0; r < count && apart; r++) zf_simt_store_vector(lower, values[r], rows[r].lanes, rows[r].v_first);
}

// Rows all of whose terms and elements exist and are wanted.
static void whole_rows(row *rows, unsigned count) {
    zf_kernel_build *lower = rows->lower;
    zf_simt_lanes lanes[ZF_SIMT_BATCH];
    begin_lanes(rows, count, lanes);
    for (unsigned r = 0; r < count && rows->popcount != NULL; r++)
        zf_simt_lanes_know_bits(lower, &lanes[r], rows->popcount->edge, rows[r].v_bits);
    for (unsigned r = 0; r < count && rows->tree != NULL; r++) {
        rows[r].found = zf_simt_found_begin(rows->tree, rows[r].v_place, rows[r].lanes);
    }
    for (unsigned r = 0; r < count && rows->popcount != NULL; r++) take_tally(&rows[r], &lanes[r]);
    for (uint32_t s = 0; s < rows->scan_count && rows->popcount == NULL; s++) {
        for (unsigned r = 0; r < count; r++) whole_terms(&rows[r], &lanes[r], s);
        combine_rows(rows, count, s);
    }
    store_rows(rows, count, lanes);
    for (unsigned r = 0; r < count && rows->tree != NULL; r++) zf_simt_found_end(lower, rows[r].found);
    end_lanes(rows, count, lanes);
}

// The same of the only scan's terms, which move, where a lane's neighbours take their bits from each other's words. Returns the
// block to which the warp goes where they cannot.
static LLVMBasicBlockRef whole_rows_beside(row *rows, unsigned count) {
    zf_simt_lanes lanes[ZF_SIMT_BATCH];
    moved m = {rows, lanes, 0};
    begin_lanes(rows, count, lanes);
    for (unsigned r = 0; r < count; r++) rows[r].scans[0].is_split = false;
    LLVMBasicBlockRef bb_apart = zf_simt_make_beside(rows->lower, count, rows->lanes, true, make_moved, &m);
    combine_rows(rows, count, 0);
    store_rows(rows, count, lanes);
    end_lanes(rows, count, lanes);
    return bb_apart;
}

static void some_row(row *r) {
    for (uint32_t s = 0; s < r->scan_count; s++) {
        some_terms(r, s);
        combine_rows(r, 1, s);
    }
    some_elements(r);
}

static void check_end(row *r) {
    for (uint32_t s = 0; s < r->scan_count; s++)
        zf_simt_scan_end(r->lower, r->scans[s].running, r->tile->v_hi, r->scans[s].v_next);
}

// Rows of strings take long to make, and so do those of trees. Layouts of segments have the width of their codes in the data:
// their rows find out together whether codes are narrow. Nullable values are gathered, and fewer rows at once are faster, since
// more warps run.
static unsigned batch_of(const zf_kernel_build *lower, const zf_simt_tree *tree) {
    const zf_choice *choice = &lower->kernel->choice;
    if (tree == NULL && zf_is_chosen(choice, ZF_CHOICE_L)) return choice->values[ZF_CHOICE_L];
    if (lower->type.kind == ZF_K_STRING || tree != NULL) return 1;
    if (lower->running_count > 0 && lower->runnings[0].reduce->form == ZF_R_SEGMENTED)
        return zf_cg_bit_place_in(lower->runnings[0].reduce->term) ? ZF_SIMT_BATCH : 2;
    if (!lower->type.nullable) return ZF_SIMT_BATCH;
    return lower->kernel->node_count > 1 || zf_simt_lane_count(lower->type) > 8 ? 1 : 2;
}

static void open_scans(row *r) {
    zf_kernel_build *lower = r->lower;
    zf_cg *cg = lower->cg;
    r->scans = ZF_NEW_ARRAY(cg->arena, row_scan, lower->running_count + 1);
    for (uint32_t s = 0; s < lower->running_count; s++) {
        if (lower->runnings[s].level > 0) continue;
        row_scan *scan = &r->scans[r->scan_count++];
        scan->running = &lower->runnings[s];
        scan->v_identity = zf_simt_scan_identity(cg, scan->running);
        LLVMValueRef v_acc = zf_simt_scan_start(lower, scan->running, &scan->v_next);
        scan->count = zf_simt_count_of(lower, scan->running, v_acc);
    }
}

// `count` rows from number v_row on of those from v_from on.
static void place_rows(row *rows, unsigned count, LLVMValueRef v_from, LLVMValueRef v_row, LLVMValueRef v_row_size) {
    zf_kernel_build *lower = rows->lower;
    zf_cg *cg = lower->cg;
    uint64_t row_size = (uint64_t)cg->wave * rows->lanes;
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef v_number = zf_cg_add(cg, v_row, zf_cg_i64(cg, k));
        place_lane(&rows[k], zf_cg_add(cg, v_from, v_number), v_row_size);
        if (rows->segmented && lower->kernel->tile % (count * row_size) == 0) { // the first row's number is a multiple of `count`
            rows[k].v_batch = rows[0].v_begin;
            rows[k].v_away = zf_cg_add(cg, zf_cg_sub(cg, rows[k].v_first, rows[k].v_begin), zf_cg_i64(cg, k * row_size));
            rows[k].span = count * row_size;
        }
        if (rows->popcount == NULL) continue;
        LLVMValueRef v_of_tally = zf_cg_resize(cg, v_number, cg->ty_i32, false);
        rows[k].v_bits = zf_simt_popcount_row(lower, rows->popcount, rows->v_lane, v_of_tally, &rows[k].v_before);
    }
}

// Whether the only scan's terms take bits from each other's words. Not where it is noted what failed: there each loads its own.
static bool goes_beside(const row *rows) {
    return rows->lower->v_any != NULL && rows->scan_count == 1 && rows->popcount == NULL &&
           moves_terms(rows, rows->scans[0].running->reduce);
}

// Rows from number v_first on, together where neighbours' bits lie side by side, else one by one.
static void batch_beside(row *rows, unsigned batch, LLVMValueRef v_first, LLVMValueRef v_row_size) {
    zf_cg *cg = rows->lower->cg;
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "batch_done");
    place_rows(rows, batch, zf_cg_i64(cg, 0), v_first, v_row_size);
    LLVMBasicBlockRef bb_apart = whole_rows_beside(rows, batch);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_apart);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, batch), "row_apart");
    place_rows(rows, 1, v_first, loop.v_i, v_row_size);
    whole_rows(rows, 1);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// Makes as many of the first v_whole rows of the tile, which are whole, as fill batches; returns their number.
static LLVMValueRef make_batches(row *rows, unsigned batch, LLVMValueRef v_whole, LLVMValueRef v_row_size) {
    zf_cg *cg = rows->lower->cg;
    LLVMValueRef v_batch = zf_cg_i64(cg, batch), v_batches = LLVMBuildUDiv(cg->builder, v_whole, v_batch, "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_batches, "batch");
    LLVMValueRef v_first = zf_cg_mul(cg, loop.v_i, v_batch);
    if (goes_beside(rows)) {
        batch_beside(rows, batch, v_first, v_row_size);
    } else {
        place_rows(rows, batch, zf_cg_i64(cg, 0), v_first, v_row_size);
        whole_rows(rows, batch);
    }
    zf_cg_loop_end(cg, &loop);
    return zf_cg_mul(cg, v_batches, v_batch);
}

// The same of segments, whose layouts are checked much: that something failed is all that is noted, which is a comparison a
// check. Where anything did, all lanes make those rows once more, one by one from the same states on, and note what.
static LLVMValueRef make_segments(row *rows, LLVMValueRef v_whole, LLVMValueRef v_row_size) {
    zf_kernel_build *lower = rows->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef *v_accs = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, rows->scan_count + 1);
    for (uint32_t s = 0; s < rows->scan_count; s++) {
        const zf_running *running = rows->scans[s].running;
        v_accs[s] = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, running->type), running->v_acc, "");
    }
    uint32_t noted = lower->noted;
    lower->v_any = zf_cg_alloca(cg, cg->ty_i1, "any");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), lower->v_any);
    LLVMValueRef v_made = make_batches(rows, batch_of(lower, NULL), v_whole, v_row_size);
    LLVMValueRef v_any = LLVMBuildLoad2(cg->builder, cg->ty_i1, lower->v_any, "");
    lower->v_any = NULL;
    if (lower->noted == noted) return v_made;
    LLVMBasicBlockRef bb_again = zf_cg_block(cg, "again"), bb_well = zf_cg_block(cg, "rows_well");
    zf_cg_cond_br(cg, zf_simt_any(lower, v_any), bb_again, bb_well);
    zf_cg_enter(cg, bb_again);
    for (uint32_t s = 0; s < rows->scan_count; s++) LLVMBuildStore(cg->builder, v_accs[s], rows->scans[s].running->v_acc);
    make_batches(rows, 1, v_made, v_row_size);
    zf_cg_br(cg, bb_well);
    zf_cg_enter(cg, bb_well);
    return v_made;
}

// The same where bits are counted for many rows at once. Then it is known before these whether all that they count exists: where
// it does not, they and those behind them are left.
static LLVMValueRef make_tallies(row *rows, zf_simt_popcount *popcount, LLVMValueRef v_whole, LLVMValueRef v_row_size) {
    zf_kernel_build *lower = rows->lower;
    zf_cg *cg = lower->cg;
    unsigned each = 32 / rows->lanes; // a lane has the bits of 32 outputs; a choice of L divides it; of many lanes more rows take
                                      // too many registers
    unsigned batch = zf_choice_value(&lower->kernel->choice, ZF_CHOICE_L, rows->lanes <= 4 ? ZF_SIMT_BATCH : 1);
    LLVMValueRef v_each = zf_cg_i64(cg, each), v_done = zf_cg_alloca(cg, cg->ty_i64, "done");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_done);
    zf_cg_loop loop, inner;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), LLVMBuildUDiv(cg->builder, v_whole, v_each, ""), "tally");
    LLVMBasicBlockRef bb_rows = zf_cg_block(cg, "rows"), bb_next = zf_cg_block(cg, "tally_next");
    LLVMValueRef v_first = zf_cg_mul(cg, loop.v_i, v_each);
    LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_done, "");
    zf_simt_popcount_begin(lower, popcount, rows->v_lane, zf_cg_add(cg, rows->tile->v_begin, zf_cg_mul(cg, v_first, v_row_size)));
    LLVMValueRef v_exist =
        zf_cg_within(cg, zf_simt_count_fits(lower, rows->scans[0].count, popcount->v_total), "counted elements");
    zf_cg_cond_br(cg, zf_cg_and(cg, v_exist, zf_cg_icmp(cg, LLVMIntEQ, v_before, v_first)), bb_rows, bb_next);
    zf_cg_enter(cg, bb_rows);
    zf_cg_loop_begin(cg, &inner, zf_cg_i64(cg, 0), zf_cg_i64(cg, each / batch), "batch");
    place_rows(rows, batch, v_first, zf_cg_mul(cg, inner.v_i, zf_cg_i64(cg, batch)), v_row_size);
    rows->scans[0].count->exist = true;
    whole_rows(rows, batch);
    rows->scans[0].count->exist = false;
    zf_cg_loop_end(cg, &inner);
    zf_simt_unroll(cg, &inner, 1);
    zf_simt_popcount_end(lower, popcount);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_first, v_each), v_done);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    zf_cg_loop_end(cg, &loop);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_done, "");
}

void zf_simt_rows(zf_kernel_build *lower, const zf_simt_shape *shape, const zf_simt_tile *tile, zf_simt_tree *tree) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_one = zf_cg_i64(cg, 1);
    row rows[ZF_SIMT_BATCH];
    zf_simt_prefetch_tile fetch;
    zf_simt_staging staging = {.way = ZF_STAGE_NONE};
    row r = {.lower = lower, .tile = tile, .fetch = &fetch, .tree = tree, .lanes = zf_simt_lane_count(lower->type)};
    if (tree == NULL) zf_simt_staging_begin_warp(&staging, lower, shape, tile->v_begin);
    r.staging = &staging;
    r.v_lane = zf_simt_lane(lower);
    zf_simt_prefetch_tile_begin(&fetch, lower, r.v_lane, cg->wave, tile->v_begin, zf_cg_sub(cg, tile->v_hi, tile->v_lo),
                                lower->kernel->tile);
    open_scans(&r);
    for (uint32_t s = 0; s < r.scan_count; s++) r.segmented |= r.scans[s].running->reduce->form == ZF_R_SEGMENTED;
    zf_simt_popcount popcount;
    bool counts = tree == NULL && r.scan_count == 1 && r.scans[0].count != NULL && lower->type.kind != ZF_K_STRING;
    if (counts && zf_simt_popcount_of(lower, r.scans[0].running, r.lanes, &popcount)) r.popcount = &popcount;
    for (unsigned k = 0; k < ZF_SIMT_BATCH; k++) { // the terms are each row's own
        rows[k] = r;
        rows[k].scans = ZF_NEW_ARRAY(cg->arena, row_scan, r.scan_count + 1);
        for (uint32_t s = 0; s < r.scan_count; s++) {
            rows[k].scans[s] = r.scans[s];
            LLVMTypeRef ty = zf_cg_type(cg, r.scans[s].running->type);
            for (unsigned e = 0; e < r.lanes; e++) rows[k].scans[s].v_terms[e] = zf_cg_alloca(cg, ty, "term");
        }
    }
    // Rows all of whose terms exist end where the first scan's do.
    LLVMValueRef v_after = tile->v_hi;
    for (uint32_t s = 0; s < r.scan_count; s++) {
        const zf_running *running = r.scans[s].running;
        LLVMValueRef v_count = zf_lower_count(lower, lower->graph->nodes[running->node].output);
        r.scans[s].v_end = zf_cg_umin(cg, tile->v_hi, zf_simt_terms(lower, running, v_count));
        v_after = zf_cg_umin(cg, v_after, r.scans[s].v_end);
        if (r.scans[s].count != NULL) v_after = zf_cg_select(cg, r.scans[s].count->v_holds, v_after, tile->v_lo);
        for (unsigned k = 0; k < ZF_SIMT_BATCH; k++) rows[k].scans[s].v_end = r.scans[s].v_end;
    }
    uint64_t row_size = (uint64_t)cg->wave * r.lanes;
    LLVMValueRef v_size = zf_cg_sub(cg, tile->v_hi, tile->v_lo), v_row_size = zf_cg_i64(cg, row_size);
    LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_size, zf_cg_sub(cg, v_row_size, v_one)), v_row_size, "");
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntUGT, v_after, tile->v_lo);
    LLVMValueRef v_whole = zf_cg_sub(cg, zf_cg_select(cg, v_some, v_after, tile->v_lo), tile->v_lo);
    v_whole = zf_cg_select(cg, tile->v_whole, LLVMBuildUDiv(cg->builder, v_whole, v_row_size, ""), zf_cg_i64(cg, 0));
    zf_simt_staging_wait(&staging);
    LLVMValueRef v_made = r.popcount != NULL            ? make_tallies(rows, &popcount, v_whole, v_row_size)
                          : r.segmented && tree == NULL ? make_segments(rows, v_whole, v_row_size)
                                                        : make_batches(rows, batch_of(lower, tree), v_whole, v_row_size);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_made, v_rows, "row_cut");
    place_lane(&rows[0], loop.v_i, v_row_size);
    some_row(&rows[0]);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    zf_simt_staging_end(&staging);
    zf_simt_prefetch_tile_end(&fetch);
    check_end(&r);
}

// ---- Which kernels --------------------------------------------------------------------------------------------

// Nullable values are gathered: from plain streams two rows at once, with as many loads in flight, for which there are 96
// registers. Values computed from other streams were fastest with few registers and more warps. Segments were fastest with 64.
enum {
    STRING_REGISTERS = 64,
    HANDLE_REGISTERS = 72, // of rows whose strings are in handles: 64 spill
    SEGMENT_REGISTERS = 64,
    GATHER_REGISTERS = 96,
    GATHER_MADE_REGISTERS = 64, // of 4 bytes; wider ones take 8 more
    COUNTED_ROWS_LANES = 32,    // rows times lanes of a tally, which counts 1,024 bits
};

bool zf_form_scan_fits(const zf_plan *plan, const zf_kernel *kernel) {
    return zf_form_makes_elements(plan, kernel) && zf_form_steps_of(plan, kernel).warp &&
           kernel->tile % zf_form_row(plan, kernel) == 0;
}

static uint32_t gather_registers(const zf_kernel *kernel, uint32_t lanes) {
    if (kernel->node_count == 1) return GATHER_REGISTERS;
    return lanes == 4 ? GATHER_MADE_REGISTERS : GATHER_MADE_REGISTERS + 8;
}

// Whether the kernel's strings come from a buffer whose handles have the short ones.
static bool takes_handles(const zf_plan *plan, const zf_kernel *kernel) {
    for (uint32_t w = 0; w < plan->work_count; w++) {
        if (!plan->works[w].short_strings) continue;
        for (uint32_t n = 0; n < kernel->node_count; n++) {
            if (plan->graph->edges[plan->works[w].edge].consumer == (int32_t)kernel->nodes[n]) return true;
        }
    }
    return false;
}

zf_simt_shape zf_form_scan_shape(const zf_plan *plan, const zf_kernel *kernel) {
    zf_type type = zf_simt_type_of(plan, kernel);
    if (zf_simt_delivers_text(type, kernel)) {
        uint32_t text = zf_form_text_bytes(plan, kernel);
        uint32_t registers = takes_handles(plan, kernel) ? HANDLE_REGISTERS : STRING_REGISTERS;
        return (zf_simt_shape){.threads = plan->target->wave, .tiles = 1, .shared_bytes = text, .registers = registers};
    }
    bool segmented = zf_form_steps_of(plan, kernel).segmented;
    uint32_t warps = kernel->geometry.s / plan->target->wave, size = zf_kind_size(type.kind), lanes = zf_simt_lane_count(type);
    uint32_t usual = zf_simt_takes_bits(plan, kernel) ? ZF_STAGE_TILE : ZF_STAGE_NONE;
    uint32_t way = zf_choice_value(&kernel->choice, ZF_CHOICE_STAGE, usual);
    return (zf_simt_shape){
        .threads = kernel->geometry.s,
        .tiles = warps,
        .shared_bytes = zf_simt_staging_warp_bytes(plan->target->shared_bytes, (zf_simt_stage_way)way, kernel->tile, size, warps),
        .stage = way,
        .registers = segmented                     ? SEGMENT_REGISTERS
                     : type.nullable && lanes <= 4 ? gather_registers(kernel, lanes)
                                                   : 0,
        .prefetch = segmented && zf_simt_takes_places(plan, kernel)};
}

void zf_form_scan_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    zf_type type = zf_simt_type_of(plan, kernel);
    bool delivers_text = zf_simt_delivers_text(type, kernel); // a warp has the thread block's shared memory
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave,
                           delivers_text ? plan->target->wave : plan->target->threads);
    if (type.kind == ZF_K_STRING) return; // whose rows are made one by one
    // How many rows are best by default follows from what is scanned; of counted bits so many are known at once.
    uint32_t rows = COUNTED_ROWS_LANES / zf_simt_lane_count(type);
    zf_choice_allow_powers(space, ZF_CHOICE_L, 1, rows < ZF_SIMT_BATCH ? rows : ZF_SIMT_BATCH);
    // A whole tile or nothing is staged: each warp has one.
    zf_choice_allow_up_to(space, ZF_CHOICE_STAGE, zf_simt_takes_bits(plan, kernel) ? ZF_STAGE_TILE : ZF_STAGE_NONE);
    zf_choose(&space->defaults, ZF_CHOICE_STAGE, shape->stage);
    zf_choice_allow_prefetch(space, shape);
}

// ---- The kernel -----------------------------------------------------------------------------------------------

void zf_form_scan_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_simt_tile tile = zf_simt_tile_of(lower);
    zf_lower_levels_make(lower);
    zf_simt_store_begin(lower, shape, &tile);
    zf_simt_rows(lower, shape, &tile, NULL);
    zf_simt_store_end(lower);
    zf_lower_report(lower, tile.v_lo);
}

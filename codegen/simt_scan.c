// Scans along the elements: a warp makes a tile, row by row. In a row every lane holds C contiguous elements: it combines its own
// terms, the warp combines the lanes' totals by shuffles, and the running value goes on to the next row. The tile starts from the
// state that the file holds and must end in the next one.
#include "codegen/simt.h"

#include "codegen/lower_scan.h"

// What a lane knows of one scan in the row that is being made.
typedef struct row_scan {
    zf_running *running;
    LLVMValueRef v_terms[16]; // slots
    LLVMValueRef v_acc;       // slot: everything before the row, in all lanes alike
    LLVMValueRef v_identity;
    LLVMValueRef v_next; ///< the state that the file has at the tile's end, as a word; NULL: it has none
} row_scan;

typedef struct row {
    zf_lower *lower;
    const zf_simt_tile *tile;
    row_scan *scans;
    unsigned lanes;
    LLVMValueRef v_lane;  // i32
    LLVMValueRef v_first; // index of this lane's first element
    LLVMValueRef v_after; // first index whose terms nobody wants
} row;

static LLVMValueRef combine(zf_cg *cg, const zf_running *r, LLVMValueRef v_a, LLVMValueRef v_b) {
    return zf_cg_reduce_combine(cg, r->reduce->op, r->type, v_a, v_b);
}

// What combines with anything to that.
static LLVMValueRef identity(zf_cg *cg, const zf_running *r) {
    zf_reduce_op op = r->reduce->op;
    if (op != ZF_RED_MIN && op != ZF_RED_MAX) return zf_cg_reduce_empty(cg, op, r->type);
    zf_interval all = zf_interval_of_kind(r->type.kind);
    return zf_cg_const(cg, r->type, zf_bits_of_value(r->type.kind, op == ZF_RED_MAX ? all.lo : all.hi));
}

// ---- Terms ----------------------------------------------------------------------------------------------------

// All lanes' terms, where all of them exist.
static void whole_terms(row *r, zf_simt_lanes *lanes) {
    zf_lower *lower = r->lower;
    for (uint32_t s = 0; s < lower->running_count; s++) {
        for (unsigned k = 0; k < r->lanes; k++) {
            zf_lower_env env = zf_simt_lane_env(lower, r->scans[s].running->node, lanes, k);
            LLVMValueRef v = zf_lower_scan_term(&env, r->scans[s].running->reduce, env.v_i);
            LLVMBuildStore(lower->cg->builder, v, r->scans[s].v_terms[k]);
        }
    }
}

// Those that exist; the others change nothing.
static void some_terms(row *r) {
    zf_lower *lower = r->lower;
    zf_cg *cg = lower->cg;
    for (uint32_t s = 0; s < lower->running_count; s++) {
        const row_scan *scan = &r->scans[s];
        LLVMValueRef v_end = scan->running->reduce->inclusive ? r->tile->v_hi : r->v_after;
        for (unsigned k = 0; k < r->lanes; k++) {
            LLVMBasicBlockRef bb_term = zf_cg_block(cg, "term"), bb_next = zf_cg_block(cg, "term_next");
            LLVMValueRef v_index = zf_cg_add(cg, r->v_first, zf_cg_i64(cg, k));
            LLVMBuildStore(cg->builder, scan->v_identity, scan->v_terms[k]);
            zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_index, v_end), bb_term, bb_next);
            zf_cg_enter(cg, bb_term);
            zf_lower_env env = zf_lower_env_make(lower, scan->running->node);
            env.v_i = v_index;
            LLVMBuildStore(cg->builder, zf_lower_scan_term(&env, scan->running->reduce, v_index), scan->v_terms[k]);
            zf_cg_br(cg, bb_next);
            zf_cg_enter(cg, bb_next);
        }
    }
}

// ---- Combining ------------------------------------------------------------------------------------------------

// Turns the terms of the row into the scan's values at each element, and moves the running value behind the row.
static void combine_row(row *r, row_scan *scan) {
    zf_lower *lower = r->lower;
    zf_cg *cg = lower->cg;
    const zf_running *running = scan->running;
    LLVMTypeRef ty = zf_cg_type(cg, running->type);
    LLVMValueRef v_sums[16], v_total = NULL;
    for (unsigned k = 0; k < r->lanes; k++) {
        LLVMValueRef v_term = LLVMBuildLoad2(cg->builder, ty, scan->v_terms[k], "");
        v_total = v_total == NULL ? v_term : combine(cg, running, v_total, v_term);
        v_sums[k] = v_total;
    }
    LLVMValueRef v_up = v_total;
    for (uint32_t step = 1; step < ZF_WARP; step *= 2) {
        LLVMValueRef v_from = zf_cg_and(cg, zf_cg_sub(cg, r->v_lane, zf_cg_i32(cg, step)), zf_cg_i32(cg, ZF_WARP - 1));
        LLVMValueRef v_other = zf_simt_shuffle(lower, v_up, v_from);
        LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntUGE, r->v_lane, zf_cg_i32(cg, step));
        v_up = zf_cg_select(cg, v_has, combine(cg, running, v_other, v_up), v_up);
    }
    LLVMValueRef v_before =
        zf_simt_shuffle(lower, v_up, zf_cg_and(cg, zf_cg_sub(cg, r->v_lane, zf_cg_i32(cg, 1)), zf_cg_i32(cg, ZF_WARP - 1)));
    LLVMValueRef v_first_lane = zf_cg_icmp(cg, LLVMIntEQ, r->v_lane, zf_cg_i32(cg, 0));
    v_before = zf_cg_select(cg, v_first_lane, scan->v_identity, v_before);
    LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, ty, scan->v_acc, "");
    v_before = combine(cg, running, v_acc, v_before);
    for (unsigned k = 0; k < r->lanes; k++) {
        LLVMValueRef v = running->reduce->inclusive ? combine(cg, running, v_before, v_sums[k])
                         : k == 0                   ? v_before
                                                    : combine(cg, running, v_before, v_sums[k - 1]);
        LLVMBuildStore(cg->builder, v, scan->v_terms[k]);
    }
    LLVMValueRef v_all = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, ZF_WARP - 1));
    LLVMBuildStore(cg->builder, combine(cg, running, v_acc, v_all), scan->v_acc);
}

// ---- Elements -------------------------------------------------------------------------------------------------

static void set_values(row *r, unsigned k, LLVMValueRef v_index) {
    zf_cg *cg = r->lower->cg;
    for (uint32_t s = 0; s < r->lower->running_count; s++) {
        zf_running *running = r->scans[s].running;
        LLVMValueRef v = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, running->type), r->scans[s].v_terms[k], "");
        bool empty_is_zero = running->reduce->op == ZF_RED_MIN || running->reduce->op == ZF_RED_MAX;
        if (empty_is_zero && !running->reduce->inclusive) {
            LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_index, zf_cg_i64(cg, 0));
            v = zf_cg_select(cg, v_none, LLVMConstNull(LLVMTypeOf(v)), v);
        }
        if (running->type.kind == ZF_K_BOOL) v = zf_cg_resize(cg, v, cg->ty_i8, false);
        LLVMBuildStore(cg->builder, v, running->v_now);
    }
}

static void whole_elements(row *r, zf_simt_lanes *lanes) {
    zf_lower *lower = r->lower;
    zf_cg_value values[16];
    for (unsigned k = 0; k < r->lanes; k++) {
        zf_lower_env env = zf_simt_lane_env(lower, lower->kernel->root, lanes, k);
        set_values(r, k, env.v_i);
        values[k] = zf_cg_eval_body(lower->cg, &env.env, &env.env.inst->decode);
        lower->cg->v_guard = NULL;
    }
    zf_simt_store_vector(lower, values, r->lanes, r->v_first);
}

static void some_elements(row *r) {
    zf_lower *lower = r->lower;
    zf_cg *cg = lower->cg;
    bool is_bool = lower->type.kind == ZF_K_BOOL;
    LLVMValueRef v_byte = is_bool ? zf_cg_alloca(cg, cg->ty_i8, "byte") : NULL;
    if (is_bool) LLVMBuildStore(cg->builder, LLVMConstNull(cg->ty_i8), v_byte);
    for (unsigned k = 0; k < r->lanes; k++) {
        LLVMBasicBlockRef bb_element = zf_cg_block(cg, "element"), bb_next = zf_cg_block(cg, "element_next");
        LLVMValueRef v_index = zf_cg_add(cg, r->v_first, zf_cg_i64(cg, k));
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_index, r->tile->v_hi), bb_element, bb_next);
        zf_cg_enter(cg, bb_element);
        set_values(r, k, v_index);
        zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.v_i = v_index;
        zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
        cg->v_guard = NULL;
        if (is_bool) {
            LLVMValueRef v_bit = LLVMBuildShl(cg->builder, zf_lower_memory_form(lower, value), LLVMConstInt(cg->ty_i8, k, 0), "");
            LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, ""), v_bit), v_byte);
        } else {
            zf_lower_store(lower, value, lower->v_sink, v_index);
        }
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    if (!is_bool) return;
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "byte_store"), bb_done = zf_cg_block(cg, "byte_done");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, r->v_first, r->tile->v_hi), bb_store, bb_done);
    zf_cg_enter(cg, bb_store);
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, r->v_first, zf_cg_i64(cg, 3), "");
    zf_cg_store(cg, LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, ""), zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_at), 1);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// ---- The tile -------------------------------------------------------------------------------------------------

static void place_lane(row *r, LLVMValueRef v_row, LLVMValueRef v_row_size) {
    zf_cg *cg = r->lower->cg;
    LLVMValueRef v_begin = zf_cg_add(cg, r->tile->v_lo, zf_cg_mul(cg, v_row, v_row_size));
    LLVMValueRef v_lane = zf_cg_resize(cg, r->v_lane, cg->ty_i64, false);
    r->v_first = zf_cg_add(cg, v_begin, zf_cg_mul(cg, v_lane, zf_cg_i64(cg, r->lanes)));
}

// A row all of whose terms and elements exist and are wanted.
static void whole_row(row *r) {
    zf_lower *lower = r->lower;
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, r->v_first, r->lanes);
    whole_terms(r, &lanes);
    for (uint32_t s = 0; s < lower->running_count; s++) combine_row(r, &r->scans[s]);
    whole_elements(r, &lanes);
    zf_simt_lanes_end(lower, &lanes);
}

static void some_row(row *r) {
    some_terms(r);
    for (uint32_t s = 0; s < r->lower->running_count; s++) combine_row(r, &r->scans[s]);
    some_elements(r);
}

// Where another tile follows, its state must be what this one ends with. After another failure the values are made up.
static void check_end(row *r) {
    zf_lower *lower = r->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, lower->v_tile, zf_cg_i64(cg, 1)), lower->v_tiles);
    for (uint32_t s = 0; s < lower->running_count; s++) {
        const zf_running *running = r->scans[s].running;
        if (r->scans[s].v_next == NULL) continue;
        LLVMValueRef v_acc = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, running->type), r->scans[s].v_acc, "");
        LLVMValueRef v_differs = zf_cg_icmp(cg, LLVMIntNE, zf_cg_to_word(cg, running->type, v_acc), r->scans[s].v_next);
        LLVMValueRef v_so_far = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
        LLVMValueRef v_alone = zf_cg_icmp(cg, LLVMIntEQ, v_so_far, zf_cg_i32(cg, ZF_NO_FAILURE));
        v_differs = zf_cg_and(cg, zf_cg_and(cg, v_differs, v_more), v_alone);
        zf_lower_fail(lower, v_differs, (uint32_t)lower->kernel->end_check);
    }
}

void zf_simt_scan(zf_lower *lower, const zf_simt_shape *shape) {
    (void)shape;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_one = zf_cg_i64(cg, 1);
    zf_simt_tile tile = zf_simt_tile_of(lower);
    zf_lower_scans_make(lower);
    row r = {.lower = lower, .tile = &tile, .lanes = zf_simt_lane_count(lower->type)};
    r.v_lane = zf_cg_and(cg, lower->v_thread, zf_cg_i32(cg, ZF_WARP - 1));
    r.scans = ZF_NEW_ARRAY(cg->arena, row_scan, lower->running_count);
    for (uint32_t s = 0; s < lower->running_count; s++) {
        row_scan *scan = &r.scans[s];
        scan->running = &lower->runnings[s];
        scan->v_identity = identity(cg, scan->running);
        LLVMTypeRef ty = zf_cg_type(cg, scan->running->type);
        for (unsigned k = 0; k < r.lanes; k++) scan->v_terms[k] = zf_cg_alloca(cg, ty, "term");
        scan->v_acc = scan->running->v_acc;
        // Before the block's first element there is nothing, which of minima is no value.
        LLVMValueRef v_acc = scan->v_identity;
        if (scan->running->field >= 0) {
            v_acc = zf_simt_seek(lower, (uint32_t)scan->running->field, zf_cg_to_word(cg, scan->running->type, v_acc));
            v_acc = zf_cg_from_word(cg, scan->running->type, v_acc);
            scan->v_next = zf_simt_seek_next(lower, (uint32_t)scan->running->field, zf_cg_i64(cg, 0));
        }
        LLVMBuildStore(cg->builder, v_acc, scan->v_acc);
    }
    // The term of the block's last element belongs to no exclusive scan, and may not exist.
    LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntEQ, tile.v_hi, tile.v_count);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntUGT, tile.v_hi, tile.v_lo);
    bool all_inclusive = true;
    for (uint32_t s = 0; s < lower->running_count; s++) all_inclusive = all_inclusive && lower->runnings[s].reduce->inclusive;
    r.v_after = tile.v_hi;
    if (!all_inclusive) {
        LLVMValueRef v_less = zf_cg_resize(cg, zf_cg_and(cg, v_last, v_some), cg->ty_i64, false);
        r.v_after = zf_cg_sub(cg, tile.v_hi, v_less);
    }
    uint64_t row_size = (uint64_t)ZF_WARP * r.lanes;
    LLVMValueRef v_size = zf_cg_sub(cg, tile.v_hi, tile.v_lo), v_row_size = zf_cg_i64(cg, row_size);
    LLVMValueRef v_rows = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_size, zf_cg_sub(cg, v_row_size, v_one)), v_row_size, "");
    LLVMValueRef v_whole = zf_cg_sub(cg, zf_cg_select(cg, v_some, r.v_after, tile.v_lo), tile.v_lo);
    v_whole = zf_cg_select(cg, tile.v_whole, LLVMBuildUDiv(cg->builder, v_whole, v_row_size, ""), zf_cg_i64(cg, 0));
    zf_cg_loop rows;
    zf_cg_loop_begin(cg, &rows, zf_cg_i64(cg, 0), v_whole, "row");
    place_lane(&r, rows.v_i, v_row_size);
    whole_row(&r);
    zf_cg_loop_end(cg, &rows);
    zf_simt_unroll(cg, &rows, 4);
    zf_cg_loop_begin(cg, &rows, v_whole, v_rows, "row_cut");
    place_lane(&r, rows.v_i, v_row_size);
    some_row(&r);
    zf_cg_loop_end(cg, &rows);
    check_end(&r);
    zf_lower_report(lower, tile.v_lo);
}

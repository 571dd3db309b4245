// An `emit` over two ranges (`emit r in 0..n, j in 0..size(r): e`) where a warp walks the chunk: its lanes share the values of
// the first range, the *rows*, one a lane at a time, and then those rows' elements.
//
// Each lane measures a row; a scan over their sizes gives their begins. For 32 elements at a time, one a lane, each row marks
// its first element: the marks up to a lane's own give the lane's row. An element that does not depend on j is made once for
// its row, by the lane that has the row, and a shuffle brings it to the others.
//
// One thread would measure all rows before it makes any element. Here both happen a row a lane at a time, so what fails first may
// come second; then all lanes do as one thread does (zf_chunk_ops).
#include "codegen/body/cg_fault_sites.h"
#include "codegen/kernel/kernel_chunks.h"
#include "codegen/simt/chunks/simt_row_bitmap.h"
#include "frontend/check/walk.h"

/// As many rows as there are lanes.
typedef struct row_batch {
    zf_chunk_region *region;
    zf_chunk *chunk;
    zf_kernel_build *lower;
    zf_cg *cg;
    const zf_binder *outer, *inner;
    bool by_row;                        ///< an element is the same for all j
    LLVMValueRef v_lane;                ///< i32
    LLVMValueRef v_first;               ///< i64: number of the first row
    LLVMValueRef v_size, v_from, v_own; ///< slots: of this lane's row the size (i32), the first j (i64), the element (as a word)
    LLVMValueRef v_start, v_row; ///< slots (i32): where a row begins, and its number, of the lane's among those with elements
    LLVMValueRef v_total;        ///< i32: elements of all rows
} row_batch;

static bool see_binder(zf_visitor *visitor, zf_expr *expr) {
    const zf_local **local = visitor->user; // NULL once it was seen
    if (expr->kind == ZF_X_LOCAL && expr->local == *local) *local = NULL;
    return *local != NULL;
}

static bool depends_on(const zf_expr *expr, const zf_local *local) {
    zf_visitor visitor = {.user = &local, .expr = see_binder};
    zf_visit_expr(&visitor, (zf_expr *)(uintptr_t)expr); // only looks
    return local == NULL;
}

bool zf_simt_rows_alike(const zf_reduce *reduce) {
    const zf_type type = reduce->term->type;
    return reduce->binder_count == 2 && !type.nullable && type.kind != ZF_K_STRING &&
           !depends_on(reduce->term, reduce->binders[1].local);
}

// ---- Rows -----------------------------------------------------------------------------------------------------

// The type of an element in a shuffle, and conversions.
static LLVMTypeRef word_type(const row_batch *b) {
    unsigned bits = zf_kind_bits(b->region->stmt->reduce->term->type.kind);
    return bits <= 32 ? b->cg->ty_i32 : b->cg->ty_i64;
}

// The iterations that a part of the chunk took, where it has any.
typedef struct taken {
    bool counted; ///< whether any were before
    LLVMValueRef v_had;
} taken;

static taken take_begin(row_batch *b) {
    zf_chunk *chunk = b->chunk;
    taken t = {chunk->counted, zf_chunk_work_left(chunk)};
    chunk->counted = false;
    return t;
}

// Charges the work since take_begin `v_times` (i64) more times.
static void take_again(row_batch *b, const taken *t, LLVMValueRef v_times) {
    zf_cg *cg = b->cg;
    zf_chunk *chunk = b->chunk;
    if (chunk->counted) { // what is left is less than 2^40, a row of a chunk at most 2^24
        LLVMValueRef v_took = zf_cg_sub(cg, t->v_had, zf_chunk_work_left(chunk));
        zf_chunk_work(cg, &chunk->env.env, zf_cg_mul(cg, v_took, v_times), b->region->stmt->span);
    }
    chunk->counted = chunk->counted || t->counted;
}

// The row's element, of whose checks and iterations there are as many as it has elements.
static void make_own(row_batch *b, LLVMValueRef v_size) {
    zf_cg *cg = b->cg;
    taken t = take_begin(b);
    zf_cg_value value = zf_cg_expr(cg, b->region->frame, b->region->stmt->reduce->term);
    LLVMValueRef v_word = zf_cg_resize(cg, zf_cg_to_word(cg, value.type, value.v), word_type(b), false);
    LLVMBuildStore(cg->builder, v_word, b->v_own);
    take_again(b, &t, zf_cg_sub(cg, v_size, zf_cg_i64(cg, 1)));
}

// Whether so many rows as there are lanes have less than 2^32 elements, whatever the file says.
static bool is_short(const zf_binder *inner) {
    enum { MOST = 1 << 25 };
    return inner->lo->range.lo >= 0 && inner->hi->range.lo >= 0 && inner->hi->range.hi <= MOST;
}

// This lane's row; a lane without one has a row of size 0. A failure ends the row, not the lane.
static void measure_row(row_batch *b) {
    zf_cg *cg = b->cg;
    zf_chunk *chunk = b->chunk;
    const zf_chunk_region *region = b->region;
    LLVMBasicBlockRef bb_met = chunk->bb_stop, bb_row = zf_cg_block(cg, "row"), bb_done = zf_cg_block(cg, "row_done");
    LLVMValueRef v_number = zf_cg_add(cg, b->v_first, zf_cg_resize(cg, b->v_lane, cg->ty_i64, false));
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), b->v_size);
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), b->v_from);
    LLVMBuildStore(cg->builder, LLVMConstNull(word_type(b)), b->v_own);
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, v_number, region->v_count);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_has, "rows of an emit"), bb_row, bb_done);
    zf_cg_enter(cg, bb_row);
    chunk->bb_stop = bb_done;
    zf_chunk_region_bind(region, b->outer, zf_cg_add(cg, region->v_lo, v_number));
    taken t = take_begin(b);
    zf_cg_range range = zf_cg_range_make(cg, region->frame, b->inner);
    take_again(b, &t, zf_cg_i64(cg, 1)); // one thread makes it twice: to measure the row, and to make its elements
    LLVMValueRef v_size = zf_chunk_region_size(cg, &range);
    if (!is_short(b->inner)) zf_chunk_region_room(region, region->v_pos, v_size); // so sums of sizes do not wrap
    LLVMBuildStore(cg->builder, zf_cg_resize(cg, v_size, cg->ty_i32, false), b->v_size);
    LLVMBuildStore(cg->builder, range.v_lo, b->v_from);
    if (b->by_row) {
        LLVMBasicBlockRef bb_own = zf_cg_block(cg, "row_element");
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_size, zf_cg_i64(cg, 0)), bb_own, bb_done);
        zf_cg_enter(cg, bb_own);
        make_own(b, v_size);
    }
    zf_cg_br(cg, bb_done);
    LLVMMoveBasicBlockAfter(bb_done, zf_cg_here(cg));
    zf_cg_enter(cg, bb_done);
    chunk->bb_stop = bb_met;
}

// The number of the k-th lane (i32) of a set, where it has more than k.
static LLVMValueRef find_lane(zf_cg *cg, LLVMValueRef v_set, LLVMValueRef v_k) {
    LLVMTypeRef ty = LLVMTypeOf(v_set);
    LLVMValueRef v_at = zf_cg_i32(cg, 0);
    for (uint32_t half = cg->wave / 2; half > 0; half /= 2) {
        LLVMValueRef v_rest = LLVMBuildLShr(cg->builder, v_set, zf_cg_resize(cg, v_at, ty, false), "");
        LLVMValueRef v_below = zf_simt_count_lanes(cg, zf_cg_and(cg, v_rest, LLVMConstInt(ty, (UINT64_C(1) << half) - 1, 0)));
        LLVMValueRef v_above = zf_cg_icmp(cg, LLVMIntUGE, v_k, v_below);
        v_at = zf_cg_select(cg, v_above, zf_cg_add(cg, v_at, zf_cg_i32(cg, half)), v_at);
        v_k = zf_cg_select(cg, v_above, zf_cg_sub(cg, v_k, v_below), v_k);
    }
    return zf_cg_and(cg, v_at, zf_cg_i32(cg, cg->wave - 1));
}

static void move(row_batch *b, LLVMValueRef v_slot, LLVMValueRef v_source) {
    zf_cg *cg = b->cg;
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, LLVMGetAllocatedType(v_slot), v_slot, "");
    LLVMBuildStore(cg->builder, zf_simt_shuffle(b->lower, v, v_source), v_slot);
}

// Where the lanes' rows begin, among which those without elements get out of the way of the others: two rows that begin at one
// element could not be told apart.
static void place_rows(row_batch *b) {
    zf_cg *cg = b->cg;
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_size = LLVMBuildLoad2(cg->builder, ty, b->v_size, ""), v_up = zf_simt_scan_warp(b->lower, v_size, b->v_lane);
    b->v_total = zf_simt_shuffle(b->lower, v_up, zf_cg_i32(cg, cg->wave - 1));
    LLVMBuildStore(cg->builder, zf_cg_sub(cg, v_up, v_size), b->v_start);
    LLVMBuildStore(cg->builder, b->v_lane, b->v_row);
    LLVMValueRef v_some = zf_simt_ballot(b->lower, zf_cg_icmp(cg, LLVMIntNE, v_size, zf_cg_i32(cg, 0)));
    LLVMBasicBlockRef bb_close = zf_cg_block(cg, "close_up"), bb_closed = zf_cg_block(cg, "closed_up");
    LLVMTypeRef ty_set = LLVMTypeOf(v_some);
    LLVMValueRef v_gaps = zf_cg_and(cg, v_some, zf_cg_add(cg, v_some, LLVMConstInt(ty_set, 1, 0)));
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_gaps, LLVMConstNull(ty_set)), bb_close, bb_closed);
    zf_cg_enter(cg, bb_close);
    LLVMValueRef v_source = find_lane(cg, v_some, b->v_lane);
    move(b, b->v_start, v_source);
    if (b->by_row) {
        move(b, b->v_own, v_source);
    } else {
        move(b, b->v_row, v_source);
        move(b, b->v_from, v_source);
    }
    zf_cg_br(cg, bb_closed);
    zf_cg_enter(cg, bb_closed);
}

// ---- Elements -------------------------------------------------------------------------------------------------

static LLVMValueRef of_lane(row_batch *b, LLVMValueRef v_slot, LLVMValueRef v_from) {
    return zf_simt_shuffle(b->lower, LLVMBuildLoad2(b->cg->builder, LLVMGetAllocatedType(v_slot), v_slot, ""), v_from);
}

// An element that its lane knows is wanted: whichever it is in the column, nothing else is asked.
static void store_wanted(row_batch *b, zf_cg_value value, LLVMValueRef v_to) {
    LLVMValueRef v_row_begin = b->lower->v_row_begin;
    b->lower->v_row_begin = NULL;
    zf_chunk_store(b->chunk, value, v_to);
    b->lower->v_row_begin = v_row_begin;
}

// Element v_place (i32) of the rows, at v_to (i64), where it exists (v_in); it is in the row that lane v_rank has. All lanes come
// here.
static void make_element(row_batch *b, LLVMValueRef v_place, LLVMValueRef v_in, LLVMValueRef v_rank, LLVMValueRef v_to) {
    zf_cg *cg = b->cg;
    zf_chunk *chunk = b->chunk;
    const zf_chunk_region *region = b->region;
    const zf_expr *term = region->stmt->reduce->term;
    LLVMBasicBlockRef bb_met = chunk->bb_stop, bb_make = zf_cg_block(cg, "element"), bb_made = zf_cg_block(cg, "element_made");
    LLVMValueRef v_own = NULL, v_row = NULL, v_j = NULL;
    if (b->by_row) {
        v_own = of_lane(b, b->v_own, v_rank);
    } else {
        v_row = zf_cg_add(cg, b->v_first, zf_cg_resize(cg, of_lane(b, b->v_row, v_rank), cg->ty_i64, false));
        v_j = zf_cg_sub(cg, v_place, of_lane(b, b->v_start, v_rank));
        v_j = zf_cg_add(cg, of_lane(b, b->v_from, v_rank), zf_cg_resize(cg, v_j, cg->ty_i64, false));
    }
    zf_cg_cond_br(cg, v_in, bb_make, bb_made);
    zf_cg_enter(cg, bb_make);
    chunk->bb_stop = bb_made;
    if (b->by_row) {
        v_own = zf_cg_from_word(cg, term->type, zf_cg_resize(cg, v_own, cg->ty_i64, false));
        store_wanted(b, zf_cg_scalar(term->type, v_own), v_to);
    } else {
        zf_chunk_region_bind(region, b->outer, zf_cg_add(cg, region->v_lo, v_row));
        zf_chunk_region_bind(region, b->inner, v_j);
        zf_chunk_store(chunk, zf_cg_expr(cg, region->frame, term), v_to);
    }
    zf_cg_br(cg, bb_made);
    LLVMMoveBasicBlockAfter(bb_made, zf_cg_here(cg));
    zf_cg_enter(cg, bb_made);
    chunk->bb_stop = bb_met;
}

// How many elements (i32) of those from index v_index of the column on lie before v_row (i64), at most v_most.
static LLVMValueRef before_row(row_batch *b, LLVMValueRef v_index, LLVMValueRef v_row, LLVMValueRef v_most) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntUGT, v_row, v_index);
    LLVMValueRef v = zf_cg_select(cg, v_some, zf_cg_sub(cg, v_row, v_index), zf_cg_i64(cg, 0));
    return zf_cg_resize(cg, zf_cg_umin(cg, v, zf_cg_resize(cg, v_most, cg->ty_i64, false)), cg->ty_i32, false);
}

// The requested elements of the rows, v_begin..v_end (i32). An element that its row's lane has made needs no other check.
static void find_wanted(row_batch *b, LLVMValueRef v_at, LLVMValueRef *v_begin, LLVMValueRef *v_end) {
    zf_cg *cg = b->cg;
    *v_begin = zf_cg_i32(cg, 0);
    *v_end = b->v_total;
    if (b->lower->v_row_begin == NULL || !b->by_row) return;
    LLVMValueRef v_index = zf_cg_add(cg, b->chunk->v_start, v_at);
    LLVMValueRef v_last = before_row(b, v_index, b->lower->v_row_end, b->v_total);
    LLVMValueRef v_first = before_row(b, v_index, b->lower->v_row_begin, v_last);
    if (!zf_cg_site(cg, ZF_SITE_GUARD, "rows before the first wanted")) *v_begin = v_first;
    if (!zf_cg_site(cg, ZF_SITE_GUARD, "rows behind the last wanted")) *v_end = v_last;
}

// All elements of the rows, from v_at (i64) on. Those that are copies are so short that several in a row are made together.
static void make_elements(row_batch *b, LLVMValueRef v_at) {
    zf_cg *cg = b->cg;
    LLVMTypeRef ty = cg->ty_i32, ty_set = zf_simt_set_type(cg);
    uint32_t windows = b->by_row ? 4 : 1, step = windows * cg->wave;
    LLVMValueRef v_begin, v_end, v_one = LLVMConstInt(ty_set, 1, 0), v_none = zf_cg_i32(cg, UINT32_MAX),
                                 v_seen = zf_cg_alloca(cg, ty, "seen");
    LLVMValueRef v_lane = zf_cg_resize(cg, b->v_lane, ty_set, false); // up to it, of the last all lanes
    LLVMValueRef v_upto = zf_cg_sub(cg, LLVMBuildShl(cg->builder, LLVMConstInt(ty_set, 2, 0), v_lane, ""), v_one);
    // A lane without a row marks the begin of the last row once more, or what is behind all elements.
    LLVMValueRef v_start = LLVMBuildLoad2(cg->builder, ty, b->v_start, "");
    LLVMValueRef v_window = LLVMBuildLShr(cg->builder, v_start, zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    LLVMValueRef v_in_window = zf_cg_and(cg, v_start, zf_cg_i32(cg, cg->wave - 1));
    LLVMValueRef v_bit = LLVMBuildShl(cg->builder, v_one, zf_cg_resize(cg, v_in_window, ty_set, false), "");
    find_wanted(b, v_at, &v_begin, &v_end);
    LLVMValueRef v_wanted = zf_cg_sub(cg, v_end, v_begin), v_away = zf_cg_sub(cg, b->v_lane, v_begin);
    v_at = zf_cg_add(cg, v_at, zf_cg_resize(cg, b->v_lane, cg->ty_i64, false));
    LLVMBuildStore(cg->builder, v_none, v_seen); // the rank of the last row that began, from 0
    LLVMValueRef v_turns = zf_cg_add(cg, b->v_total, zf_cg_i32(cg, step - 1));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), LLVMBuildUDiv(cg->builder, v_turns, zf_cg_i32(cg, step), ""), "elements");
    LLVMValueRef v_from = zf_cg_mul(cg, loop.v_i, zf_cg_i32(cg, step));
    LLVMValueRef v_to = zf_cg_add(cg, v_at, zf_cg_resize(cg, v_from, cg->ty_i64, false));
    LLVMValueRef v_turn_window = zf_cg_sub(cg, v_window, zf_cg_mul(cg, loop.v_i, zf_cg_i32(cg, windows)));
    for (uint32_t k = 0; k < windows; k++) {
        LLVMValueRef v_here = zf_cg_icmp(cg, LLVMIntEQ, v_turn_window, zf_cg_i32(cg, k)), v_offset = zf_cg_i32(cg, k * cg->wave);
        LLVMValueRef v_all = zf_simt_join(b->lower, zf_cg_select(cg, v_here, v_bit, LLVMConstNull(ty_set)));
        LLVMValueRef v_mine = zf_cg_and(cg, v_all, v_upto), v_before = LLVMBuildLoad2(cg->builder, ty, v_seen, "");
        LLVMValueRef v_rank = zf_cg_add(cg, v_before, zf_simt_count_lanes(cg, v_mine));
        v_before = zf_cg_add(cg, v_before, zf_simt_count_lanes(cg, v_all));
        LLVMBuildStore(cg->builder, v_before, v_seen);
        LLVMValueRef v_place = zf_cg_add(cg, v_from, v_offset);
        LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULT, zf_cg_add(cg, v_place, v_away), v_wanted);
        v_in = zf_cg_within(cg, v_in, "elements of rows");
        v_place = zf_cg_add(cg, v_place, b->v_lane);
        make_element(b, v_place, v_in, v_rank, zf_cg_add(cg, v_to, zf_cg_i64(cg, (uint64_t)k * cg->wave)));
    }
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

/// Marks rows that are kept until all are known; the first begins at v_at (i64). Returns the number of their elements (i64).
static LLVMValueRef mark_rows(row_batch *b, zf_simt_row_bitmap *marks, LLVMValueRef v_at) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_size = LLVMBuildLoad2(cg->builder, cg->ty_i32, b->v_size, ""),
                 v_up = zf_simt_scan_warp(b->lower, v_size, b->v_lane);
    LLVMValueRef v_total = zf_cg_resize(cg, zf_simt_shuffle(b->lower, v_up, zf_cg_i32(cg, cg->wave - 1)), cg->ty_i64, false);
    zf_chunk_region_room(b->region, v_at, v_total);
    LLVMValueRef v_place = zf_cg_add(cg, zf_cg_resize(cg, v_at, cg->ty_i32, false), zf_cg_sub(cg, v_up, v_size));
    zf_type type = b->region->stmt->reduce->term->type;
    LLVMValueRef v_own = zf_cg_resize(cg, LLVMBuildLoad2(cg->builder, word_type(b), b->v_own, ""), cg->ty_i64, false);
    v_own = zf_lower_memory_form(b->lower, b->lower->type, zf_cg_scalar(type, zf_cg_from_word(cg, type, v_own)));
    zf_simt_row_bitmap_add(marks, zf_cg_icmp(cg, LLVMIntNE, v_size, zf_cg_i32(cg, 0)), v_place, v_own);
    return v_total;
}

void zf_simt_share_rows(void *user) {
    zf_chunk_region *region = user;
    zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(region->frame));
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = region->cg;
    const zf_reduce *reduce = region->stmt->reduce;
    row_batch b = {.region = region, .chunk = chunk, .lower = lower, .cg = cg};
    b.outer = &reduce->binders[0];
    b.inner = &reduce->binders[1];
    b.by_row = zf_simt_rows_alike(reduce);
    b.v_lane = zf_simt_lane(lower);
    b.v_size = zf_cg_alloca(cg, cg->ty_i32, "size");
    b.v_from = zf_cg_alloca(cg, cg->ty_i64, "from");
    b.v_own = zf_cg_alloca(cg, word_type(&b), "own");
    b.v_start = zf_cg_alloca(cg, cg->ty_i32, "start");
    b.v_row = zf_cg_alloca(cg, cg->ty_i32, "row");
    LLVMBuildStore(cg->builder, region->v_pos, region->v_at);
    LLVMValueRef v_count = region->v_count, v_warp = zf_cg_i64(cg, cg->wave);
    LLVMValueRef v_batches = LLVMBuildUDiv(cg->builder, v_count, v_warp, "");
    LLVMValueRef v_rest = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_count, zf_cg_i64(cg, cg->wave - 1)), zf_cg_i64(cg, 0));
    v_batches = zf_cg_add(cg, v_batches, zf_cg_resize(cg, v_rest, cg->ty_i64, false));
    zf_simt_row_bitmap marks;
    bool keeps = b.by_row && zf_simt_row_bitmap_begin(&marks, chunk);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_batches, "rows");
    b.v_first = zf_cg_mul(cg, loop.v_i, v_warp);
    measure_row(&b);
    LLVMBasicBlockRef bb_measured = zf_cg_block(cg, "measured");
    zf_cg_cond_br(cg, zf_simt_any(lower, zf_cg_not(cg, zf_lower_none_failed(lower))), chunk->bb_stop, bb_measured);
    zf_cg_enter(cg, bb_measured);
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, cg->ty_i64, region->v_at, ""), v_total;
    if (keeps) {
        v_total = mark_rows(&b, &marks, v_at);
    } else {
        place_rows(&b);
        v_total = zf_cg_resize(cg, b.v_total, cg->ty_i64, false);
        zf_chunk_region_room(region, v_at, v_total);
        make_elements(&b, v_at);
    }
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_at, v_total), region->v_at);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    if (keeps) zf_simt_row_bitmap_store(&marks, region->v_pos, LLVMBuildLoad2(cg->builder, cg->ty_i64, region->v_at, ""));
}

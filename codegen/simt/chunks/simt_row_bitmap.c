// Rows of an `emit` over two ranges (`emit r in 0..n, j in 0..size(r): e`, where e does not depend on j), kept in shared memory
// until all of the region are known.
//
// A row is a bit at the place where it begins, and its element, by its number. The bits up to a place then give its element,
// wherever it is in its row. Lanes therefore store 16 bytes of neighbours at a time, whatever their rows. This is for chunks
// whose bits are a word for each lane; where rows are not kept, elements are made and stored 32 rows at a time
// (simt_regions.c).
#include "codegen/simt/chunks/simt_row_bitmap.h"

#include "codegen/body/cg_fault_sites.h"
#include "frontend/check/walk.h"

enum { WORD = 32, STORED = 16 };

static bool see_region(zf_visitor *visitor, zf_stmt *stmt) {
    bool *found = visitor->user;
    *found = *found || (stmt->kind == ZF_S_EMIT_REGION && zf_simt_rows_alike(stmt->reduce));
    return !*found;
}

uint32_t zf_simt_row_bitmap_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    const zf_graph_node *node = &plan->graph->nodes[kernel->root];
    zf_type type = zf_simt_type_of(plan, kernel);
    uint64_t places = node->codec->chunk_size;
    // Elements of the output that a program reads must be stored before they are read.
    if (places > (uint64_t)WORD * plan->target->wave || node->inst->reads_out || type.nullable || type.kind == ZF_K_BOOL ||
        type.kind == ZF_K_STRING)
        return 0;
    bool found = false;
    zf_visitor visitor = {.user = &found, .stmt = see_region};
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&node->inst->decode); // only looks
    uint64_t values = (places * zf_kind_size(type.kind) + STORED - 1) / STORED * STORED, words = (places + WORD - 1) / WORD;
    return found ? (uint32_t)(values + (words * 8 + STORED - 1) / STORED * STORED) : 0;
}

bool zf_simt_row_bitmap_begin(zf_simt_row_bitmap *m, zf_chunk *chunk) {
    zf_kernel_build *lower = chunk->env.lower;
    zf_cg *cg = lower->cg;
    zf_simt_shape shape = zf_simt_shape_of(lower->plan, lower->kernel);
    uint32_t each = shape.bitmap_bytes, all = shape.tiles * each;
    if (all == 0 || lower->unpacks > 0) return false;
    *m = (zf_simt_row_bitmap){.chunk = chunk, .lower = lower, .v_lane = zf_simt_lane(lower)};
    m->places = (uint32_t)lower->graph->nodes[lower->kernel->root].codec->chunk_size;
    LLVMValueRef v_all = cg->target->simt->shared(cg, 0, all);
    v_all = zf_cg_at(cg, cg->ty_i8, v_all, zf_cg_mul(cg, zf_simt_warp(lower), zf_cg_i64(cg, each)));
    m->v_values = v_all;
    uint32_t words = (m->places + WORD - 1) / WORD;
    m->v_words = zf_cg_byte_at(cg, v_all, each - (words * 8 + STORED - 1) / STORED * STORED);
    m->v_rows = zf_cg_alloca(cg, cg->ty_i32, "rows");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), m->v_rows);
    zf_simt_barrier_warp(lower, "rows of a region before those of the next in their place");
    LLVMBasicBlockRef bb_clear = zf_cg_block(cg, "clear"), bb_cleared = zf_cg_block(cg, "cleared");
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, m->v_lane, zf_cg_i32(cg, words));
    if (words < cg->wave) v_has = zf_cg_within(cg, v_has, "words of marks to clear");
    zf_cg_cond_br(cg, v_has, bb_clear, bb_cleared);
    zf_cg_enter(cg, bb_clear);
    zf_cg_store(cg, zf_cg_i64(cg, 0), zf_cg_at(cg, cg->ty_i64, m->v_words, zf_cg_resize(cg, m->v_lane, cg->ty_i64, false)), 8);
    zf_cg_br(cg, bb_cleared);
    zf_cg_enter(cg, bb_cleared);
    zf_simt_barrier_warp(lower, "cleared marks before marks");
    return true;
}

static LLVMValueRef ones(zf_cg *cg, LLVMValueRef v) { return zf_cg_intrinsic(cg, "llvm.ctpop", &cg->ty_i32, 1, &v, 1); }

static LLVMValueRef word_at(const zf_simt_row_bitmap *m, LLVMValueRef v_place) {
    zf_cg *cg = m->lower->cg;
    LLVMValueRef v_word = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_place, zf_cg_i32(cg, 5), ""), cg->ty_i64, false);
    return zf_cg_at(cg, cg->ty_i64, m->v_words, v_word);
}

static LLVMValueRef value_at(const zf_simt_row_bitmap *m, LLVMValueRef v_row) {
    zf_cg *cg = m->lower->cg;
    return zf_cg_at(cg, zf_cg_memory_type(cg, m->lower->type), m->v_values, zf_cg_resize(cg, v_row, cg->ty_i64, false));
}

void zf_simt_row_bitmap_add(zf_simt_row_bitmap *m, LLVMValueRef v_some, LLVMValueRef v_place, LLVMValueRef v_value) {
    zf_cg *cg = m->lower->cg;
    LLVMValueRef v_one = zf_cg_i32(cg, 1), v_all = zf_simt_ballot(m->lower, v_some);
    LLVMValueRef v_below = zf_simt_lanes_below(cg, m->v_lane);
    LLVMValueRef v_rows = LLVMBuildLoad2(cg->builder, cg->ty_i32, m->v_rows, "");
    LLVMBasicBlockRef bb_mark = zf_cg_block(cg, "mark"), bb_marked = zf_cg_block(cg, "marked");
    zf_cg_cond_br(cg, zf_cg_within(cg, v_some, "rows with elements"), bb_mark, bb_marked);
    zf_cg_enter(cg, bb_mark);
    LLVMValueRef v_row = zf_cg_add(cg, v_rows, zf_simt_count_lanes(cg, zf_cg_and(cg, v_all, v_below)));
    zf_cg_store(cg, v_value, value_at(m, v_row), zf_kind_size(m->lower->type.kind));
    LLVMValueRef v_bit = LLVMBuildShl(cg->builder, v_one, zf_cg_and(cg, v_place, zf_cg_i32(cg, WORD - 1)), "");
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, word_at(m, v_place), v_bit, LLVMAtomicOrderingMonotonic, 0);
    zf_cg_br(cg, bb_marked);
    zf_cg_enter(cg, bb_marked);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_rows, zf_simt_count_lanes(cg, v_all)), m->v_rows);
}

/// Behind each word of marks how many there are before it.
static void count_marks(zf_simt_row_bitmap *m) {
    zf_cg *cg = m->lower->cg;
    uint32_t words = (m->places + WORD - 1) / WORD;
    zf_simt_barrier_warp(m->lower, "marks before what counts them");
    LLVMValueRef v_word = zf_cg_umin(cg, m->v_lane, zf_cg_i32(cg, words - 1));
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i64, m->v_words, zf_cg_resize(cg, v_word, cg->ty_i64, false));
    LLVMValueRef v_own = ones(cg, zf_cg_load(cg, cg->ty_i32, v_at, 4)), v_up = zf_simt_scan_warp(m->lower, v_own, m->v_lane);
    LLVMBasicBlockRef bb_count = zf_cg_block(cg, "count"), bb_counted = zf_cg_block(cg, "counted");
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, m->v_lane, zf_cg_i32(cg, words));
    if (words < cg->wave) v_has = zf_cg_within(cg, v_has, "words of marks");
    zf_cg_cond_br(cg, v_has, bb_count, bb_counted);
    zf_cg_enter(cg, bb_count);
    zf_cg_store(cg, zf_cg_sub(cg, v_up, v_own), zf_cg_byte_at(cg, v_at, 4), 4);
    zf_cg_br(cg, bb_counted);
    zf_cg_enter(cg, bb_counted);
    zf_simt_barrier_warp(m->lower, "counted marks before what finds rows by them");
}

/// The first place (i32) from v_from on, at most v_to, that is not before a row of the column (i64).
static LLVMValueRef not_before(zf_simt_row_bitmap *m, LLVMValueRef v_row, LLVMValueRef v_from, LLVMValueRef v_to) {
    zf_cg *cg = m->lower->cg;
    LLVMValueRef v_later = zf_cg_icmp(cg, LLVMIntUGT, v_row, m->chunk->v_start);
    LLVMValueRef v = zf_cg_select(cg, v_later, zf_cg_sub(cg, v_row, m->chunk->v_start), zf_cg_i64(cg, 0));
    LLVMValueRef v_low = zf_cg_icmp(cg, LLVMIntULT, v, v_from);
    return zf_cg_umin(cg, zf_cg_select(cg, v_low, v_from, v), v_to);
}

/// A lane's neighbours from v_place (i32) on, as one vector.
static void store_all(zf_simt_row_bitmap *m, LLVMValueRef v_bits, LLVMValueRef v_row, LLVMValueRef v_to, unsigned count) {
    zf_cg *cg = m->lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, m->lower->type);
    uint32_t size = zf_kind_size(m->lower->type.kind);
    LLVMValueRef v_vector = LLVMGetPoison(LLVMVectorType(ty, count));
    for (unsigned k = 0; k < count; k++) {
        if (k > 0) {
            LLVMValueRef v_begins = LLVMBuildLShr(cg->builder, v_bits, zf_cg_i32(cg, k), "");
            v_row = zf_cg_add(cg, v_row, zf_cg_and(cg, v_begins, zf_cg_i32(cg, 1)));
        }
        LLVMValueRef v = zf_cg_load(cg, ty, value_at(m, v_row), size);
        v_vector = LLVMBuildInsertElement(cg->builder, v_vector, v, zf_cg_i32(cg, k), "");
    }
    zf_cg_store(cg, v_vector, v_to, STORED);
}

/// Those of them that are in v_begin..v_end (i32), one by one.
static void store_some(zf_simt_row_bitmap *m, LLVMValueRef v_place, LLVMValueRef v_bits, LLVMValueRef v_row, LLVMValueRef v_to,
                       unsigned count, LLVMValueRef v_begin, LLVMValueRef v_end) {
    zf_cg *cg = m->lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, m->lower->type);
    uint32_t size = zf_kind_size(m->lower->type.kind);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), zf_cg_i32(cg, count), "some");
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "store"), bb_stored = zf_cg_block(cg, "stored");
    LLVMValueRef v_away = zf_cg_sub(cg, zf_cg_add(cg, v_place, loop.v_i), v_begin);
    LLVMValueRef v_in = zf_cg_icmp(cg, LLVMIntULT, v_away, zf_cg_sub(cg, v_end, v_begin));
    zf_cg_cond_br(cg, zf_cg_within(cg, v_in, "places of a region"), bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    LLVMValueRef v_upto = zf_cg_sub(cg, LLVMBuildShl(cg->builder, zf_cg_i32(cg, 2), loop.v_i, ""), zf_cg_i32(cg, 2));
    v_row = zf_cg_add(cg, v_row, ones(cg, zf_cg_and(cg, v_bits, v_upto)));
    LLVMValueRef v_at = zf_cg_at_sink(cg, ty, v_to, zf_cg_resize(cg, loop.v_i, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, ty, value_at(m, v_row), size), v_at, size);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

void zf_simt_row_bitmap_store(zf_simt_row_bitmap *m, LLVMValueRef v_from, LLVMValueRef v_to) {
    zf_kernel_build *lower = m->lower;
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, lower->type);
    uint32_t size = zf_kind_size(lower->type.kind), count = STORED / size, step = count * cg->wave;
    count_marks(m);
    if (lower->v_row_begin != NULL) {
        LLVMValueRef v_last = not_before(m, lower->v_row_end, v_from, v_to),
                     v_first = not_before(m, lower->v_row_begin, v_from, v_last);
        if (!zf_cg_site(cg, ZF_SITE_GUARD, "rows before the first wanted")) v_from = v_first;
        if (!zf_cg_site(cg, ZF_SITE_GUARD, "rows behind the last wanted")) v_to = v_last;
    }
    LLVMValueRef v_begin = zf_cg_resize(cg, v_from, cg->ty_i32, false), v_end = zf_cg_resize(cg, v_to, cg->ty_i32, false);
    LLVMValueRef v_sink = zf_cg_at_sink(cg, ty, lower->v_sink, m->chunk->v_start), v_step = zf_cg_i32(cg, step);
    LLVMValueRef v_address = LLVMBuildPtrToInt(cg->builder, v_sink, cg->ty_i64, "");
    LLVMValueRef v_aligned = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_and(cg, v_address, zf_cg_i64(cg, STORED - 1)), zf_cg_i64(cg, 0));
    v_aligned = zf_cg_within(cg, v_aligned, "output aligned for vectors");
    zf_cg_loop loop;
    LLVMValueRef v_turns = LLVMBuildUDiv(cg->builder, zf_cg_add(cg, v_end, zf_cg_i32(cg, step - 1)), v_step, "");
    zf_cg_loop_begin(cg, &loop, LLVMBuildUDiv(cg->builder, v_begin, v_step, ""), v_turns, "places");
    LLVMValueRef v_place = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_step), zf_cg_mul(cg, m->v_lane, zf_cg_i32(cg, count)));
    LLVMBasicBlockRef bb_find = zf_cg_block(cg, "find"), bb_all = zf_cg_block(cg, "all"), bb_some = zf_cg_block(cg, "cut"),
                      bb_next = zf_cg_block(cg, "found");
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_place, v_end); // else there may be no word
    if ((m->places + step - 1) / step * step > (m->places + WORD - 1) / WORD * WORD)
        v_exists = zf_cg_within(cg, v_exists, "places before the last");
    zf_cg_cond_br(cg, v_exists, bb_find, bb_next);
    zf_cg_enter(cg, bb_find);
    LLVMValueRef v_word = word_at(m, v_place), v_all = zf_cg_load(cg, cg->ty_i32, v_word, 8);
    LLVMValueRef v_before = zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, v_word, 4), 4), v_two = zf_cg_i32(cg, 2),
                 v_one = zf_cg_i32(cg, 1);
    LLVMValueRef v_in_word = zf_cg_and(cg, v_place, zf_cg_i32(cg, WORD - 1));
    LLVMValueRef v_upto = zf_cg_sub(cg, LLVMBuildShl(cg->builder, v_two, v_in_word, ""), v_one);
    LLVMValueRef v_row = zf_cg_sub(cg, zf_cg_add(cg, v_before, ones(cg, zf_cg_and(cg, v_all, v_upto))), v_one);
    LLVMValueRef v_bits = LLVMBuildLShr(cg->builder, v_all, v_in_word, "");
    LLVMValueRef v_at = zf_cg_at_sink(cg, ty, v_sink, zf_cg_resize(cg, v_place, cg->ty_i64, false));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, zf_cg_add(cg, v_place, zf_cg_i32(cg, count)), v_end);
    v_whole = zf_cg_and(cg, zf_cg_within(cg, v_whole, "neighbours before the last place"),
                        zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntUGE, v_place, v_begin), "neighbours behind the first place"));
    zf_cg_cond_br(cg, zf_cg_and(cg, v_whole, v_aligned), bb_all, bb_some);
    zf_cg_enter(cg, bb_all);
    store_all(m, v_bits, v_row, v_at, count);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_some);
    store_some(m, v_place, v_bits, v_row, v_at, count, v_begin, v_end);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

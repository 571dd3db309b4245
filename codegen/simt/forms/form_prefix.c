// The form `prefix`: prefix sums along a stream, into a work buffer that a later kernel indexes. (The running sums
// that a column itself stores, as `delta` does, are the form `scan`.) A warp makes a tile, row by row;
// in a row each lane has one term, and the warp combines them by shuffles. One element a lane: prefix sum k + 1 lies one element
// beyond the alignment of vectors, and 32 neighbouring stores of a warp are coalesced anyway.
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel_scan.h"
#include "codegen/simt/simt.h"
#include "codegen/simt/simt_choices.h"

typedef struct prefix {
    zf_kernel_build *lower;
    zf_running *running;
    LLVMValueRef v_identity;
    LLVMValueRef v_lane; // i32
    LLVMValueRef v_sums; // where prefix sum 1 lies
} prefix;

/// Combines the terms of `count` consecutive rows, of which the first begins at element v_first of this lane. Rows are combined
/// together, so that the latencies of their shuffles overlap.
static void combine(const prefix *p, unsigned count, const LLVMValueRef *v_terms, LLVMValueRef *v_sums) {
    LLVMValueRef v_before[ZF_SIMT_BATCH];
    zf_simt_combine_rows(p->lower, p->running, p->v_lane, count, NULL, v_terms, v_before);
    for (unsigned r = 0; r < count; r++) v_sums[r] = zf_simt_combine(p->lower->cg, p->running, v_before[r], v_terms[r]);
}

static void store(const prefix *p, LLVMValueRef v_sum, LLVMValueRef v_index) {
    zf_lower_store(p->lower, zf_cg_scalar(p->running->type, v_sum), p->v_sums, v_index);
}

/// Makes `count` rows all of whose elements exist.
static void whole_rows(const prefix *p, unsigned count, LLVMValueRef v_first) {
    zf_cg *cg = p->lower->cg;
    LLVMValueRef v_terms[ZF_SIMT_BATCH], v_sums[ZF_SIMT_BATCH], v_at[ZF_SIMT_BATCH];
    for (unsigned r = 0; r < count; r++) {
        v_at[r] = zf_cg_add(cg, v_first, zf_cg_i64(cg, (uint64_t)r * cg->wave));
        v_terms[r] = zf_lower_prefix_term(p->lower, p->running, v_at[r]);
    }
    combine(p, count, v_terms, v_sums);
    for (unsigned r = 0; r < count; r++) store(p, v_sums[r], v_at[r]);
}

/// Makes the row that the tile's end cuts. Lanes behind the end take part in the shuffles with the identity.
static void cut_row(const prefix *p, LLVMValueRef v_index, LLVMValueRef v_end) {
    zf_cg *cg = p->lower->cg;
    LLVMValueRef v_slot = zf_cg_alloca(cg, zf_cg_type(cg, p->running->type), "term"), v_term, v_sum;
    LLVMBasicBlockRef bb_term = zf_cg_block(cg, "term"), bb_combine = zf_cg_block(cg, "combine"),
                      bb_store = zf_cg_block(cg, "store"), bb_done = zf_cg_block(cg, "stored");
    LLVMValueRef v_exists = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_index, v_end), "terms of a cut row");
    LLVMBuildStore(cg->builder, p->v_identity, v_slot);
    zf_cg_cond_br(cg, v_exists, bb_term, bb_combine);
    zf_cg_enter(cg, bb_term);
    LLVMBuildStore(cg->builder, zf_lower_prefix_term(p->lower, p->running, v_index), v_slot);
    zf_cg_br(cg, bb_combine);
    zf_cg_enter(cg, bb_combine);
    v_term = LLVMBuildLoad2(cg->builder, zf_cg_type(cg, p->running->type), v_slot, "");
    combine(p, 1, &v_term, &v_sum);
    zf_cg_cond_br(cg, v_exists, bb_store, bb_done);
    zf_cg_enter(cg, bb_store);
    store(p, v_sum, v_index);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

/// Stores prefix sum 0, which belongs to no element.
static void store_first(const prefix *p) {
    zf_cg *cg = p->lower->cg;
    LLVMBasicBlockRef bb_zero = zf_cg_block(cg, "zero"), bb_go = zf_cg_block(cg, "go");
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, p->lower->simt->v_tile, zf_cg_i64(cg, 0));
    v_first = zf_cg_and(cg, v_first, zf_cg_icmp(cg, LLVMIntEQ, p->v_lane, zf_cg_i32(cg, 0)));
    zf_cg_cond_br(cg, v_first, bb_zero, bb_go);
    zf_cg_enter(cg, bb_zero);
    zf_lower_store(p->lower, zf_cg_scalar(p->running->type, zf_cg_zero(cg, p->running->type)), p->lower->v_sink,
                   zf_cg_i64(cg, 0));
    zf_cg_br(cg, bb_go);
    zf_cg_enter(cg, bb_go);
}

static void make_tile(const prefix *p, const zf_simt_tile *tile) {
    zf_cg *cg = p->lower->cg;
    unsigned batch = zf_choice_value(&p->lower->kernel->choice, ZF_CHOICE_L, ZF_SIMT_BATCH);
    LLVMValueRef v_mine = zf_cg_add(cg, tile->v_begin, zf_cg_resize(cg, p->v_lane, cg->ty_i64, false));
    LLVMValueRef v_size = zf_cg_sub(cg, tile->v_hi, tile->v_lo), v_row = zf_cg_i64(cg, cg->wave);
    LLVMValueRef v_batch = zf_cg_i64(cg, (uint64_t)batch * cg->wave);
    LLVMValueRef v_batches = LLVMBuildUDiv(cg->builder, v_size, v_batch, "");
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_batches, "batch");
    whole_rows(p, batch, zf_cg_add(cg, v_mine, zf_cg_mul(cg, loop.v_i, v_batch)));
    zf_cg_loop_end(cg, &loop);
    LLVMValueRef v_rows = zf_cg_add(cg, v_size, zf_cg_i64(cg, cg->wave - 1));
    v_rows = LLVMBuildUDiv(cg->builder, v_rows, v_row, "");
    zf_cg_loop_begin(cg, &loop, zf_cg_mul(cg, v_batches, zf_cg_i64(cg, batch)), v_rows, "row");
    cut_row(p, zf_cg_add(cg, v_mine, zf_cg_mul(cg, loop.v_i, v_row)), tile->v_hi);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

// ---- Which kernels --------------------------------------------------------------------------------------------

bool zf_form_prefix_fits(const zf_plan *plan, const zf_kernel *kernel) {
    (void)plan;
    return kernel->prefix != NULL;
}

zf_simt_shape zf_form_prefix_shape(const zf_plan *plan, const zf_kernel *kernel) {
    return (zf_simt_shape){.threads = kernel->geometry.s, .tiles = kernel->geometry.s / plan->target->wave};
}

void zf_form_prefix_choices(const zf_plan *plan, const zf_kernel *kernel, const zf_simt_shape *shape, zf_choice_space *space) {
    (void)kernel, (void)shape;
    zf_choice_allow_powers(space, ZF_CHOICE_THREADS, plan->target->wave, plan->target->threads);
    zf_choice_allow_powers(space, ZF_CHOICE_L, 1, ZF_SIMT_BATCH);
}

// ---- The kernel -----------------------------------------------------------------------------------------------

void zf_form_prefix_emit(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, lower->type);
    (void)shape;
    zf_simt_tile tile = zf_simt_tile_of(lower);
    prefix p = {.lower = lower, .running = zf_lower_prefix_make(lower), .v_lane = zf_simt_lane(lower)};
    p.v_identity = zf_simt_scan_identity(cg, p.running);
    p.v_sums = zf_cg_at(cg, ty, lower->v_sink, zf_cg_i64(cg, 1));
    LLVMValueRef v_next;
    zf_simt_scan_start(lower, p.running, &v_next);
    store_first(&p);
    make_tile(&p, &tile);
    zf_simt_scan_end(lower, p.running, tile.v_hi, v_next);
    zf_lower_report(lower, tile.v_lo);
}

// Prefix sums: entry k of the work buffer is the reduction over the terms 0..k, so that any sum(a..b) is a difference of two.
#include "codegen/host/host.h"
#include "codegen/kernel/kernel_scan.h"

// The strips of a tile: `v_count` of them, whose values go to v_next.
static void strips(zf_kernel_build *lower, zf_running *running, const zf_lower_tiles *tiles, LLVMValueRef v_count,
                   LLVMValueRef v_next) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_type(cg, running->type);
    zf_cg_loop outer, inner;
    zf_cg_loop_begin(cg, &outer, zf_cg_i64(cg, 0), v_count, "strips");
    LLVMValueRef v_start = zf_cg_add(cg, tiles->v_lo, LLVMBuildShl(cg->builder, outer.v_i, zf_cg_i64(cg, 6), ""));
    zf_strip strip = zf_strip_begin(lower, v_start, true);
    zf_lower_scans_strip(lower, &strip);
    zf_cg_loop_begin(cg, &inner, zf_cg_i64(cg, 0), zf_cg_i64(cg, ZF_STRIP), "element");
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, ty, zf_cg_at(cg, ty, running->v_values, inner.v_i), "");
    zf_lower_store(lower, zf_cg_scalar(running->type, v), v_next, zf_cg_add(cg, v_start, inner.v_i));
    zf_cg_loop_end(cg, &inner);
    zf_strip_end(lower, &strip);
    zf_cg_loop_end(cg, &outer);
}

void zf_lower_prefix(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    zf_running *running = zf_lower_prefix_make(lower);

    LLVMTypeRef ty = zf_cg_type(cg, running->type);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_next = zf_cg_at(cg, ty, lower->v_sink, zf_cg_i64(cg, 1));
    zf_lower_tiles tiles;
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    zf_lower_levels_start(lower, tiles.v_tile, NULL);
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "first_tile"), bb_go = zf_cg_block(cg, "go");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, tiles.v_tile, v_zero), bb_first, bb_go);
    zf_cg_enter(cg, bb_first);
    zf_cg_store(cg, zf_cg_zero(cg, running->type), lower->v_sink, zf_kind_size(running->type.kind));
    zf_cg_br(cg, bb_go);
    zf_cg_enter(cg, bb_go);

    LLVMValueRef v_count = zf_lower_whole_strips(lower, &tiles);
    if (!lower->one_by_one) strips(lower, running, &tiles, v_count, v_next);
    zf_cg_loop inner;
    LLVMValueRef v_from = zf_cg_add(cg, tiles.v_lo, LLVMBuildShl(cg->builder, v_count, zf_cg_i64(cg, 6), ""));
    zf_cg_loop_begin(cg, &inner, v_from, tiles.v_hi, "single");
    zf_lower_scan_value(lower, running, inner.v_i);
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, ty, running->v_now, "");
    zf_lower_store(lower, zf_cg_scalar(running->type, v), v_next, inner.v_i);
    zf_lower_scan_next(lower, running, inner.v_i, tiles.v_count);
    zf_cg_loop_end(cg, &inner);
    zf_lower_levels_end(lower, tiles.v_tile, tiles.v_hi, NULL);
    zf_lower_report(lower, tiles.v_lo);
    zf_lower_tiles_end(lower, &tiles);
}

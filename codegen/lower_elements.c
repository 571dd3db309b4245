// Elements: maps, and scans along the elements. A tile is walked in strips of 64 whose loops vectorise; what is left of it is
// done one element at a time.
//
// In the strips a failed check is noted and a harmless operand substituted, since a loop that leaves early would not vectorise. A
// map then runs the tile again, one element at a time, to find the first element that fails. A scan has gone on meanwhile and
// reports its tile's first element.
#include "codegen/lower.h"

// Number of strips of the tile that are whole, may be unpacked, and (scans) do not hold the block's last element, whose term
// nobody asked for.
LLVMValueRef zf_lower_whole_strips(zf_lower *lower, const zf_lower_tiles *tiles) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_lo = tiles->v_lo, v_hi = tiles->v_hi, v_six = zf_cg_i64(cg, 6), v_zero = zf_cg_i64(cg, 0);
    if (lower->one_by_one) return v_zero;
    if (lower->running_count > 0) {
        LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntEQ, v_hi, tiles->v_count);
        LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntUGT, v_hi, v_lo);
        LLVMValueRef v_less = zf_cg_edge(cg, zf_cg_and(cg, v_last, v_some), "the last term, which is no element's");
        v_hi = zf_cg_sub(cg, v_hi, zf_cg_resize(cg, v_less, cg->ty_i64, false));
    }
    LLVMValueRef v_strips = LLVMBuildLShr(cg->builder, zf_cg_sub(cg, v_hi, v_lo), v_six, "");
    LLVMValueRef v_limit = LLVMBuildLoad2(cg->builder, cg->ty_i64, lower->v_limit, "");
    LLVMValueRef v_room = zf_cg_sub(cg, v_limit, v_lo); // strips begin below the limit: ceil(room / 64)
    LLVMValueRef v_most = LLVMBuildLShr(cg->builder, zf_cg_sub(cg, v_room, zf_cg_i64(cg, 1)), v_six, "");
    v_most = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_limit, v_lo), zf_cg_add(cg, v_most, zf_cg_i64(cg, 1)), v_zero);
    return zf_cg_umin(cg, v_strips, v_most);
}

static void strips(zf_lower *lower, LLVMValueRef v_lo, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    bool is_bool = zf_lower_stores_bits(lower);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_bytes = NULL;
    if (is_bool) v_bytes = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i8, ZF_STRIP), "bools");
    zf_cg_loop outer, inner;
    zf_cg_loop_begin(cg, &outer, v_zero, v_count, "strips");
    LLVMValueRef v_start = zf_cg_add(cg, v_lo, LLVMBuildShl(cg->builder, outer.v_i, zf_cg_i64(cg, 6), ""));
    zf_strip strip = zf_strip_begin(lower, v_start, true);
    zf_lower_scans_strip(lower, &strip);
    zf_cg_loop_begin(cg, &inner, v_zero, zf_cg_i64(cg, ZF_STRIP), "element");
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.strip = &strip;
    strip.v_k = inner.v_i;
    env.v_i = zf_cg_add(cg, v_start, inner.v_i);
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    if (is_bool)
        zf_lower_store(lower, value, v_bytes, inner.v_i);
    else
        zf_lower_store(lower, value, lower->v_sink, env.v_i);
    cg->v_guard = NULL;
    zf_cg_loop_end(cg, &inner);
    if (is_bool) zf_lower_store_strip_bits(lower, v_bytes, v_start);
    zf_strip_end(lower, &strip);
    zf_cg_loop_end(cg, &outer);
}

// One element at a time from `v_from`, up to the first that fails.
static void singles(zf_lower *lower, const zf_lower_tiles *tiles, LLVMValueRef v_from) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_byte = zf_lower_stores_bits(lower) ? zf_cg_alloca(cg, cg->ty_i8, "byte") : NULL;
    if (v_byte != NULL) LLVMBuildStore(cg->builder, LLVMConstNull(cg->ty_i8), v_byte);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, tiles->v_hi, "single");
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_i = loop.v_i;
    zf_lower_scans_step(lower, false, loop.v_i);
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    if (v_byte != NULL)
        zf_lower_store_bit(lower, value, loop.v_i, v_byte);
    else
        zf_lower_store(lower, value, lower->v_sink, loop.v_i);
    zf_lower_scans_step_end(lower, false, loop.v_i, tiles->v_count);
    if (lower->running_count == 0) {
        LLVMValueRef v_fail = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
        LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "single_failed"), bb_well = zf_cg_block(cg, "single_well");
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_fail, zf_cg_i32(cg, ZF_NO_FAILURE)), bb_well, bb_failed);
        zf_cg_enter(cg, bb_failed);
        zf_lower_report(lower, loop.v_i);
        zf_cg_br(cg, loop.bb_end);
        zf_cg_enter(cg, bb_well);
    }
    zf_cg_loop_end(cg, &loop);
}

void zf_lower_elements(zf_lower *lower) {
    zf_cg *cg = lower->cg;
    if (lower->kernel->prefix != NULL) {
        zf_lower_prefix(lower);
        return;
    }
    zf_lower_scans_make(lower);
    zf_lower_tiles tiles;
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    zf_lower_scans_start(lower, tiles.v_tile);
    LLVMValueRef v_count = zf_lower_whole_strips(lower, &tiles);
    if (!lower->one_by_one) strips(lower, tiles.v_lo, v_count);
    LLVMValueRef v_from = zf_cg_add(cg, tiles.v_lo, LLVMBuildShl(cg->builder, v_count, zf_cg_i64(cg, 6), ""));
    if (lower->running_count == 0) {
        LLVMValueRef v_fail = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
        LLVMValueRef v_well = zf_cg_icmp(cg, LLVMIntEQ, v_fail, zf_cg_i32(cg, ZF_NO_FAILURE));
        v_from = zf_cg_select(cg, v_well, v_from, tiles.v_lo);
        zf_lower_clear(lower);
    }
    singles(lower, &tiles, v_from);
    if (lower->running_count > 0) {
        zf_lower_scans_end(lower, tiles.v_tile, tiles.v_hi, NULL);
        zf_lower_report(lower, tiles.v_lo);
    }
    zf_lower_tiles_end(lower, &tiles);
}

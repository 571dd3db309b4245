// Elements: maps, and scans along the elements. A tile is walked in strips of 64 whose loops vectorise; what is left of it is
// done one element at a time.
//
// In the strips a failed check is noted and a harmless operand substituted, since a loop that leaves early would not vectorise. A
// map then runs the tile again, one element at a time, to find the first element that fails. A scan has gone on meanwhile and
// reports its tile's first element.
#include "codegen/host/host.h"

// Number of strips of the tile that are whole, may be unpacked, and (scans) do not hold the block's last element, whose term is
// not used.
LLVMValueRef zf_lower_whole_strips(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_lo = tiles->v_lo, v_hi = tiles->v_hi, v_six = zf_cg_i64(cg, 6), v_zero = zf_cg_i64(cg, 0);
    if (lower->one_by_one) return v_zero;
    // Applies to every scan; the streams of some may end before the outputs do.
    for (uint32_t k = 0; k < lower->running_count; k++) {
        const zf_running *r = &lower->runnings[k];
        LLVMValueRef v_count = tiles->v_count;
        if (r->node != lower->kernel->root) v_count = zf_lower_count(lower, lower->graph->nodes[r->node].output);
        LLVMValueRef v_last = zf_cg_icmp(cg, LLVMIntUGE, v_hi, v_count);
        LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntUGT, v_count, v_lo);
        LLVMValueRef v_less = zf_cg_edge(cg, zf_cg_and(cg, v_last, v_some), "the last term, which is no element's");
        v_hi = zf_cg_sub(cg, zf_cg_umin(cg, v_hi, v_count), zf_cg_resize(cg, v_less, cg->ty_i64, false));
        v_hi = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_hi, v_lo), v_hi, v_lo);
    }
    LLVMValueRef v_strips = LLVMBuildLShr(cg->builder, zf_cg_sub(cg, v_hi, v_lo), v_six, "");
    LLVMValueRef v_limit = LLVMBuildLoad2(cg->builder, cg->ty_i64, lower->host->v_limit, "");
    LLVMValueRef v_room = zf_cg_sub(cg, v_limit, v_lo); // strips begin below the limit: ceil(room / 64)
    LLVMValueRef v_most = LLVMBuildLShr(cg->builder, zf_cg_sub(cg, v_room, zf_cg_i64(cg, 1)), v_six, "");
    v_most = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_limit, v_lo), zf_cg_add(cg, v_most, zf_cg_i64(cg, 1)), v_zero);
    return zf_cg_umin(cg, v_strips, v_most);
}

static void some_strips(zf_kernel_build *lower, LLVMValueRef v_lo, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    bool is_bool = zf_lower_stores_bits(lower);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_bytes = NULL;
    if (is_bool) v_bytes = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i8, ZF_STRIP), "bools");
    zf_cg_loop outer, inner;
    zf_cg_loop_begin(cg, &outer, v_zero, v_count, "strips");
    LLVMValueRef v_start = zf_cg_add(cg, v_lo, LLVMBuildShl(cg->builder, outer.v_i, zf_cg_i64(cg, 6), ""));
    zf_strip strip = zf_strip_begin(lower, v_start, true);
    zf_lower_scans_strip(lower, &strip);
    LLVMBasicBlockRef bb_made = zf_lower_make(lower);
    zf_cg_loop_begin(cg, &inner, v_zero, zf_cg_i64(cg, ZF_STRIP), "element");
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
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
    zf_lower_made(lower, bb_made);
    zf_strip_end(lower, &strip);
    zf_cg_loop_end(cg, &outer);
}

// The same for tables that fit in a register, where there are any, and for others.
static void strips(zf_kernel_build *lower, LLVMValueRef v_lo, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_small = zf_cg_block(cg, "small_tables");
    zf_cg_enter(cg, bb_small);
    lower->host->tables_are_small = true;
    some_strips(lower, v_lo, v_count);
    lower->host->tables_are_small = false;
    LLVMBasicBlockRef bb_made = zf_cg_here(cg);
    zf_cg_enter(cg, bb_before);
    if (lower->host->v_small_tables == NULL) {
        zf_cg_br(cg, bb_small);
        zf_cg_enter(cg, bb_made);
        return;
    }
    LLVMBasicBlockRef bb_large = zf_cg_block(cg, "large_tables"), bb_done = zf_cg_block(cg, "tables_done");
    zf_cg_cond_br(cg, lower->host->v_small_tables, bb_small, bb_large);
    zf_cg_enter(cg, bb_large);
    some_strips(lower, v_lo, v_count);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_made);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// Makes and stores one element. `v_byte`: the byte of bits so far, where bits are stored; else NULL.
static void make_single(zf_kernel_build *lower, LLVMValueRef v_i, LLVMValueRef v_byte) {
    zf_cg *cg = lower->cg;
    zf_kernel_env env = zf_lower_env_make(lower, lower->kernel->root);
    env.v_i = v_i;
    zf_lower_level_values(lower, 0, v_i);
    zf_cg_value value = zf_cg_eval_body(cg, &env.env, &env.env.inst->decode);
    cg->v_guard = NULL;
    if (v_byte != NULL)
        zf_lower_store_bit(lower, value, v_i, v_byte);
    else
        zf_lower_store(lower, value, lower->v_sink, v_i);
    zf_lower_level_next(lower, 0, v_i);
}

static LLVMValueRef make_byte(zf_kernel_build *lower) {
    if (!zf_lower_stores_bits(lower)) return NULL;
    LLVMValueRef v_byte = zf_cg_alloca(lower->cg, lower->cg->ty_i8, "byte");
    LLVMBuildStore(lower->cg->builder, LLVMConstNull(lower->cg->ty_i8), v_byte);
    return v_byte;
}

// One element at a time from `v_from`, up to the first that fails.
static void singles(zf_kernel_build *lower, const zf_lower_tiles *tiles, LLVMValueRef v_from) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_byte = make_byte(lower);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_from, tiles->v_hi, "single");
    make_single(lower, loop.v_i, v_byte);
    if (lower->running_count == 0) {
        LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "single_failed"), bb_well = zf_cg_block(cg, "single_well");
        zf_cg_cond_br(cg, zf_lower_none_failed(lower), bb_well, bb_failed);
        zf_cg_enter(cg, bb_failed);
        zf_lower_report(lower, loop.v_i);
        zf_cg_br(cg, loop.bb_end);
        zf_cg_enter(cg, bb_well);
    }
    zf_cg_loop_end(cg, &loop);
}

// The same where groups run along the elements: they settle once more behind the last.
static void settled_singles(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_byte = make_byte(lower);
    LLVMBasicBlockRef bb_settle = zf_cg_block(cg, "element_settle"), bb_one = zf_cg_block(cg, "element"),
                      bb_end = zf_cg_block(cg, "elements_end");
    LLVMValueRef v_slot = zf_cg_alloca(cg, cg->ty_i64, "i");
    LLVMBuildStore(cg->builder, tiles->v_lo, v_slot);
    zf_cg_br(cg, bb_settle);
    zf_cg_enter(cg, bb_settle);
    zf_lower_level_settle(lower, 0);
    LLVMValueRef v_i = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, "");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_i, tiles->v_hi), bb_one, bb_end);
    zf_cg_enter(cg, bb_one);
    make_single(lower, v_i, v_byte);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_i, zf_cg_i64(cg, 1)), v_slot);
    zf_cg_br(cg, bb_settle);
    zf_cg_enter(cg, bb_end);
}

void zf_lower_elements(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    if (lower->kernel->prefix != NULL) {
        zf_lower_prefix(lower);
        return;
    }
    zf_lower_levels_make(lower);
    zf_lower_tiles tiles;
    zf_lower_tiles_begin(lower, &tiles, lower->kernel->edge);
    zf_lower_levels_start(lower, tiles.v_tile, NULL);
    if (lower->expansion_count > 0) {
        settled_singles(lower, &tiles);
        zf_lower_levels_end(lower, tiles.v_tile, tiles.v_hi, NULL);
        zf_lower_report(lower, tiles.v_lo);
        zf_lower_tiles_end(lower, &tiles);
        return;
    }
    LLVMValueRef v_count = zf_lower_whole_strips(lower, &tiles);
    if (!lower->one_by_one) strips(lower, tiles.v_lo, v_count);
    LLVMValueRef v_from = zf_cg_add(cg, tiles.v_lo, LLVMBuildShl(cg->builder, v_count, zf_cg_i64(cg, 6), ""));
    if (lower->running_count == 0) {
        v_from = zf_cg_select(cg, zf_lower_none_failed(lower), v_from, tiles.v_lo);
        zf_lower_clear(lower);
    }
    singles(lower, &tiles, v_from);
    if (lower->running_count > 0) {
        zf_lower_levels_end(lower, tiles.v_tile, tiles.v_hi, NULL);
        zf_lower_report(lower, tiles.v_lo);
    }
    zf_lower_tiles_end(lower, &tiles);
}

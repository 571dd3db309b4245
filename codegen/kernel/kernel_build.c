// Code for a whole block or tile: descriptor words, failures, the loop over tiles, seek states.
#include "codegen/kernel/kernel.h"

#include <stdio.h>

#include "runtime/base/abi.h"

void zf_lower_kernel_name(uint32_t index, char name[24]) { snprintf(name, 24, "zf_kernel_%u", index); }

void zf_lower_init(zf_kernel_build *lower, zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel) {
    *lower = (zf_kernel_build){.cg = cg, .input = input, .plan = input->plan, .graph = input->plan->graph, .kernel = kernel};
    lower->v_words = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, input->plan->slot_count + 1);
    lower->v_nonempty = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, input->plan->graph->node_count);
}

// ---- Block-wide values ----------------------------------------------------------------------------------------

LLVMBasicBlockRef zf_lower_setup_begin(zf_kernel_build *lower) {
    LLVMBasicBlockRef bb_before = zf_cg_here(lower->cg);
    zf_cg_enter(lower->cg, lower->bb_setup);
    return bb_before;
}

void zf_lower_setup_end(zf_kernel_build *lower, LLVMBasicBlockRef bb_before) {
    lower->bb_setup = zf_cg_here(lower->cg);
    zf_cg_enter(lower->cg, bb_before);
}

LLVMValueRef zf_lower_word(zf_kernel_build *lower, zf_abi_slot_kind kind, uint32_t a, uint32_t b) {
    zf_cg *cg = lower->cg;
    int32_t slot = zf_plan_slot(lower->plan, kind, a, b);
    if (slot < 0) {
        zf_cg_unsupported(cg, lower->graph->column->span, "the plan has no descriptor word of kind %d for %u", (int)kind, a);
        return zf_cg_i64(cg, 0);
    }
    if (lower->v_words[slot] == NULL) {
        LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
        lower->v_words[slot] = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, lower->v_slots, 8 * (uint64_t)slot), 8);
        zf_lower_setup_end(lower, bb_before);
    }
    return lower->v_words[slot];
}

LLVMValueRef zf_lower_count(zf_kernel_build *lower, uint32_t edge) { return zf_lower_word(lower, ZF_SLOT_COUNT, edge, 0); }

bool zf_lower_param_known(const zf_kernel_build *lower, uint32_t node, const zf_port *port, uint64_t *bits) {
    return zf_plan_param_known(lower->plan, lower->input->shaping, node, port, bits);
}

// ---- Failures -------------------------------------------------------------------------------------------------

void zf_lower_fail(zf_kernel_build *lower, LLVMValueRef v_bad, uint32_t number) {
    zf_cg *cg = lower->cg;
    if (cg->unchecked || (LLVMIsAConstantInt(v_bad) && LLVMConstIntGetZExtValue(v_bad) == 0)) return;
    lower->noted++;
    if (lower->v_any != NULL) {
        LLVMValueRef v_any = LLVMBuildLoad2(cg->builder, cg->ty_i1, lower->v_any, "");
        LLVMBuildStore(cg->builder, zf_cg_or(cg, v_any, v_bad), lower->v_any);
        return;
    }
    LLVMValueRef v_old = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    // A minimum, so that a vectorised loop may keep one per lane.
    LLVMValueRef v_new = zf_cg_select(cg, v_bad, zf_cg_i32(cg, number), zf_cg_i32(cg, ZF_NO_FAILURE));
    LLVMBuildStore(cg->builder, zf_cg_umin(cg, v_new, v_old), lower->v_fail);
}

void zf_lower_check(zf_kernel_build *lower, LLVMValueRef v_bad, uint32_t number, const char *what) {
    if (!zf_cg_site(lower->cg, ZF_SITE_CHECK, what)) zf_lower_fail(lower, v_bad, number);
}

LLVMValueRef zf_lower_none_failed(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_fail = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    return zf_cg_icmp(cg, LLVMIntEQ, v_fail, zf_cg_i32(cg, ZF_NO_FAILURE));
}

void zf_lower_check_end(zf_kernel_build *lower, LLVMValueRef v_bad, const char *what) {
    v_bad = zf_cg_and(lower->cg, v_bad, zf_lower_none_failed(lower));
    zf_lower_check(lower, v_bad, (uint32_t)lower->kernel->end_check, what);
}

void zf_lower_clear(zf_kernel_build *lower) {
    LLVMBuildStore(lower->cg->builder, zf_cg_i32(lower->cg, ZF_NO_FAILURE), lower->v_fail);
}

// The part of a failure word above the check: the position in the block, and above it the block.
static LLVMValueRef position_in_unit(zf_kernel_build *lower, LLVMValueRef v_position) {
    zf_cg *cg = lower->cg;
    if (lower->v_block == NULL) return v_position;
    return zf_cg_or(cg, v_position, LLVMBuildShl(cg->builder, lower->v_block, zf_cg_i64(cg, 32), ""));
}

void zf_lower_report(zf_kernel_build *lower, LLVMValueRef v_position) {
    zf_cg *cg = lower->cg;
    v_position = position_in_unit(lower, v_position);
    LLVMValueRef v_number = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "failed"), bb_well = zf_cg_block(cg, "well");
    LLVMValueRef v_reports = zf_cg_icmp(cg, LLVMIntNE, v_number, zf_cg_i32(cg, ZF_NO_FAILURE));
    if (lower->v_is_leader != NULL) v_reports = zf_cg_and(cg, v_reports, lower->v_is_leader);
    zf_cg_cond_br(cg, v_reports, bb_failed, bb_well);
    zf_cg_enter(cg, bb_failed);
    LLVMValueRef v_word = LLVMBuildShl(cg->builder, v_position, zf_cg_i64(cg, 16), "");
    v_word = zf_cg_or(cg, v_word, zf_cg_resize(cg, v_number, cg->ty_i64, false));
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpUMin, lower->v_failure, v_word, LLVMAtomicOrderingMonotonic, 0);
    zf_cg_br(cg, bb_well);
    zf_cg_enter(cg, bb_well);
}

// ---- Tiles ----------------------------------------------------------------------------------------------------

/// Whether something failed before an output (i1): work behind the first failure is for nothing, and in a damaged block it could
/// add up (V25).
static LLVMValueRef failed_before(zf_kernel_build *lower, LLVMValueRef v_output) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_known = zf_cg_load(cg, cg->ty_i64, lower->v_failure, 8);
    if (cg->target != NULL && cg->target->simt != NULL)
        LLVMSetVolatile(v_known, 1); // NVPTX selects no atomic loads
    else
        LLVMSetOrdering(v_known, LLVMAtomicOrderingMonotonic);
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_known, zf_cg_i64(cg, 16), "");
    v_known = zf_cg_icmp(cg, LLVMIntULT, v_at, position_in_unit(lower, v_output));
    if (lower->v_is_leader == NULL) return v_known;
    // Its threads look at different times.
    LLVMValueRef v_set = cg->target->simt->ballot(cg, v_known);
    return zf_cg_icmp(cg, LLVMIntNE, v_set, LLVMConstNull(LLVMTypeOf(v_set)));
}

static LLVMValueRef begin_of_tile(zf_kernel_build *lower, const zf_lower_tiles *tiles, LLVMValueRef v_tile) {
    zf_cg *cg = lower->cg;
    if (zf_kernel_is_uneven(lower->plan, lower->kernel)) return zf_lower_chunk_start(lower, v_tile);
    return zf_cg_umin(cg, zf_cg_mul(cg, v_tile, zf_cg_i64(cg, lower->kernel->tile)), tiles->v_count);
}

void zf_lower_tiles_begin(zf_kernel_build *lower, zf_lower_tiles *tiles, uint32_t edge) {
    zf_cg *cg = lower->cg;
    tiles->v_count = zf_lower_count(lower, edge);
    LLVMValueRef v_end = lower->v_end;
    if (lower->v_is_leader != NULL) { // a warp asks once for its few tiles
        LLVMValueRef v_failed = failed_before(lower, begin_of_tile(lower, tiles, lower->v_begin));
        if (lower->agree != NULL) v_failed = lower->agree(lower, v_failed);
        v_end = zf_cg_select(cg, v_failed, lower->v_begin, v_end);
    }
    zf_cg_loop_begin(cg, &tiles->loop, lower->v_begin, v_end, "tile");
    tiles->v_tile = tiles->loop.v_i;
    tiles->v_lo = begin_of_tile(lower, tiles, tiles->v_tile);
    LLVMValueRef v_next = zf_cg_add(cg, tiles->v_tile, zf_cg_i64(cg, 1));
    if (zf_kernel_is_uneven(lower->plan, lower->kernel))
        tiles->v_hi = begin_of_tile(lower, tiles, v_next);
    else
        tiles->v_hi =
            zf_cg_clamp(cg, zf_cg_mul(cg, v_next, zf_cg_i64(cg, lower->kernel->tile)), tiles->v_count, "end of the tile");
    if (lower->v_is_leader == NULL) {
        LLVMBasicBlockRef bb_work = zf_cg_block(cg, "work");
        zf_cg_cond_br(cg, failed_before(lower, tiles->v_lo), tiles->loop.bb_next, bb_work);
        zf_cg_enter(cg, bb_work);
    }
    zf_lower_clear(lower);
    zf_lower_deliver_begin(lower, tiles);
}

void zf_lower_tiles_end(zf_kernel_build *lower, zf_lower_tiles *tiles) {
    zf_lower_deliver_end(lower, tiles);
    zf_cg_loop_end(lower->cg, &tiles->loop);
}

// ---- Seek states ----------------------------------------------------------------------------------------------

LLVMValueRef zf_lower_is_recording(zf_kernel_build *lower) {
    return zf_cg_icmp(lower->cg, LLVMIntNE, lower->v_mode, zf_cg_i32(lower->cg, ZF_ABI_DECODE));
}

uint32_t zf_lower_root_field(const zf_kernel_build *lower, zf_seek_kind kind) {
    int32_t field = zf_lower_field(lower, kind, lower->kernel->root, 0);
    if (field >= 0) return (uint32_t)field;
    zf_cg_unsupported(lower->cg, lower->graph->column->span, "the seek tree of a kernel lacks a field of its root");
    return 0;
}

int32_t zf_lower_field(const zf_kernel_build *lower, zf_seek_kind kind, uint32_t node, uint32_t reduce) {
    if (lower->kernel->tree < 0) return -1;
    const zf_seek_tree *tree = &lower->plan->trees[lower->kernel->tree];
    for (uint32_t f = 0; f < tree->field_count; f++) {
        const zf_seek_field *field = &tree->fields[f];
        if (field->kind == kind && field->node == node && (kind != ZF_SEEK_SCAN || field->reduce == reduce)) return (int32_t)f;
    }
    return -1;
}

// Entry `v_entry` of a field of the kernel's tree, from 1, 2, 4 or 8 bytes, or 0. Once per tile, so a switch is good enough.
LLVMValueRef zf_lower_seek_entry(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_entry) {
    zf_cg *cg = lower->cg;
    uint32_t tree = (uint32_t)lower->kernel->tree;
    LLVMValueRef v_offset = zf_lower_word(lower, ZF_SLOT_SEEK_OFFSET, tree, field);
    LLVMValueRef v_width = zf_lower_word(lower, ZF_SLOT_SEEK_WIDTH, tree, field);
    LLVMValueRef v_slot = zf_cg_alloca(cg, cg->ty_i64, "entry");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_slot);
    LLVMBasicBlockRef bb_done = zf_cg_block(cg, "entry_done");
    LLVMValueRef v_switch = LLVMBuildSwitch(cg->builder, v_width, bb_done, 4);
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
        LLVMBasicBlockRef bb = zf_cg_block(cg, "entry");
        LLVMAddCase(v_switch, zf_cg_i64(cg, bytes), bb);
        zf_cg_enter(cg, bb);
        LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, 8 * bytes);
        LLVMValueRef v_field = zf_cg_at(cg, cg->ty_i8, lower->v_base, v_offset);
        LLVMValueRef v = zf_cg_load(cg, ty, zf_cg_at(cg, ty, v_field, v_entry), bytes);
        LLVMBuildStore(cg->builder, zf_cg_resize(cg, v, cg->ty_i64, false), v_slot);
        zf_cg_br(cg, bb_done);
    }
    zf_cg_enter(cg, bb_done);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, "");
}

void zf_lower_seek(zf_kernel_build *lower, uint32_t field, zf_type type, LLVMValueRef v_tile, LLVMValueRef v_initial,
                   LLVMValueRef v_slot) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "state_first"), bb_later = zf_cg_block(cg, "state_later");
    LLVMBasicBlockRef bb_load = zf_cg_block(cg, "state_load"), bb_done = zf_cg_block(cg, "state_done");
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_tile, zf_cg_i64(cg, 0));
    zf_cg_cond_br(cg, zf_cg_edge(cg, v_first, "state of the first tile"), bb_first, bb_later);
    zf_cg_enter(cg, bb_first);
    LLVMBuildStore(cg->builder, v_initial, v_slot);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_later); // a recording goes on with what the tile before left
    zf_cg_cond_br(cg, zf_lower_is_recording(lower), bb_done, bb_load);
    zf_cg_enter(cg, bb_load);
    LLVMValueRef v_word = zf_lower_seek_entry(lower, field, zf_cg_sub(cg, v_tile, zf_cg_i64(cg, 1)));
    LLVMBuildStore(cg->builder, zf_cg_from_word(cg, type, v_word), v_slot);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

void zf_lower_seek_end(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_tile, LLVMValueRef v_word) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_more = zf_cg_block(cg, "more"), bb_record = zf_cg_block(cg, "record");
    LLVMBasicBlockRef bb_compare = zf_cg_block(cg, "compare"), bb_done = zf_cg_block(cg, "state_known");
    LLVMValueRef v_next = zf_cg_add(cg, v_tile, zf_cg_i64(cg, 1));
    LLVMValueRef v_more = zf_cg_icmp(cg, LLVMIntULT, v_next, lower->v_tiles);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_more, "tiles that another follows"), bb_more, bb_done);
    zf_cg_enter(cg, bb_more);
    zf_cg_cond_br(cg, zf_lower_is_recording(lower), bb_record, bb_compare);
    zf_cg_enter(cg, bb_record);
    LLVMValueRef v_entries = zf_cg_sub(cg, lower->v_tiles, zf_cg_i64(cg, 1));
    LLVMValueRef v_at = zf_cg_add(cg, zf_cg_mul(cg, zf_cg_i64(cg, field), v_entries), v_tile);
    zf_cg_store(cg, v_word, zf_cg_at(cg, cg->ty_i64, lower->v_record, v_at), 8);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_compare);
    LLVMValueRef v_wrong = zf_cg_icmp(cg, LLVMIntNE, zf_lower_seek_entry(lower, field, v_tile), v_word);
    zf_lower_check_end(lower, v_wrong, "seek state of the next tile");
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// A kernel's functions, its arguments, and what holds for a whole block or tile.
#include "codegen/kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/abi.h"

void zf_lower_kernel_name(uint32_t index, char name[24]) { snprintf(name, 24, "zf_kernel_%u", index); }

static void attribute(zf_lower *lower, LLVMValueRef v_function, unsigned argument, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(v_function, argument + 1, LLVMCreateEnumAttribute(lower->cg->context, kind, value));
}

// ---- Functions ------------------------------------------------------------------------------------------------

// Arguments of the body, then one pointer per work buffer.
enum {
    ARG_BASE,
    ARG_SLOTS,
    ARG_OUT,
    ARG_VALIDITY,
    ARG_OFFSETS,
    ARG_RECORD,
    ARG_FAILURE,
    ARG_TILES,
    ARG_MODE,
    ARG_OFFSET_BASE,
    ARG_BYTE_BEGIN,
    ARG_BYTE_END,
    ARG_BEGIN,
    ARG_END,
    ARG_WORKS
};

static LLVMValueRef make_body(zf_lower *lower, const char *name) {
    zf_cg *cg = lower->cg;
    uint32_t count = ARG_WORKS + lower->plan->work_count;
    LLVMTypeRef *types = ZF_NEW_ARRAY(cg->arena, LLVMTypeRef, count);
    for (uint32_t k = 0; k < count; k++) types[k] = cg->ty_ptr;
    types[ARG_TILES] = types[ARG_BEGIN] = types[ARG_END] = cg->ty_i64;
    types[ARG_OFFSET_BASE] = types[ARG_BYTE_BEGIN] = types[ARG_BYTE_END] = cg->ty_i64;
    types[ARG_MODE] = cg->ty_i32;
    LLVMValueRef v_body = LLVMAddFunction(cg->module, name, LLVMFunctionType(cg->ty_void, types, count, 0));
    LLVMSetLinkage(v_body, LLVMInternalLinkage);
    for (uint32_t k = 0; k < count; k++) {
        if (types[k] != cg->ty_ptr) continue;
        attribute(lower, v_body, k, "noalias", 0);
        if (k == ARG_BASE) attribute(lower, v_body, k, "align", 256);
        if (k >= ARG_WORKS) attribute(lower, v_body, k, "align", 64);
        bool written = k == ARG_OUT || k == ARG_VALIDITY || k == ARG_OFFSETS || k == ARG_RECORD || k == ARG_FAILURE ||
                       (k >= ARG_WORKS && lower->kernel->sink == (int32_t)(k - ARG_WORKS));
        if (!written) attribute(lower, v_body, k, "readonly", 0);
    }
    lower->v_base = LLVMGetParam(v_body, ARG_BASE);
    lower->v_slots = LLVMGetParam(v_body, ARG_SLOTS);
    lower->v_out = LLVMGetParam(v_body, ARG_OUT);
    lower->v_validity = LLVMGetParam(v_body, ARG_VALIDITY);
    lower->v_offsets = LLVMGetParam(v_body, ARG_OFFSETS);
    lower->v_offset_base = LLVMGetParam(v_body, ARG_OFFSET_BASE);
    lower->v_byte_begin = LLVMGetParam(v_body, ARG_BYTE_BEGIN);
    lower->v_byte_end = LLVMGetParam(v_body, ARG_BYTE_END);
    lower->v_record = LLVMGetParam(v_body, ARG_RECORD);
    lower->v_failure = LLVMGetParam(v_body, ARG_FAILURE);
    lower->v_tiles = LLVMGetParam(v_body, ARG_TILES);
    lower->v_mode = LLVMGetParam(v_body, ARG_MODE);
    lower->v_begin = LLVMGetParam(v_body, ARG_BEGIN);
    lower->v_end = LLVMGetParam(v_body, ARG_END);
    lower->v_works = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, lower->plan->work_count + 1);
    for (uint32_t w = 0; w < lower->plan->work_count; w++) lower->v_works[w] = LLVMGetParam(v_body, ARG_WORKS + w);
    return v_body;
}

static LLVMValueRef load_field(zf_cg *cg, LLVMValueRef v_args, size_t offset, LLVMTypeRef ty, unsigned align) {
    return zf_cg_load(cg, ty, zf_cg_byte_at(cg, v_args, offset), align);
}

// The entry: reads zf_abi_args and calls the body.
static void make_entry(zf_lower *lower, const char *name) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef types[3] = {cg->ty_ptr, cg->ty_i64, cg->ty_i64};
    LLVMValueRef v_entry = LLVMAddFunction(cg->module, name, LLVMFunctionType(cg->ty_void, types, 3, 0));
    cg->function = v_entry;
    zf_cg_enter(cg, zf_cg_block(cg, "entry"));
    LLVMValueRef v_args = LLVMGetParam(v_entry, 0);
    uint32_t count = ARG_WORKS + lower->plan->work_count;
    LLVMValueRef *v = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, count);
    v[ARG_BASE] = load_field(cg, v_args, offsetof(zf_abi_args, base), cg->ty_ptr, 8);
    v[ARG_SLOTS] = load_field(cg, v_args, offsetof(zf_abi_args, slots), cg->ty_ptr, 8);
    v[ARG_OUT] = load_field(cg, v_args, offsetof(zf_abi_args, out), cg->ty_ptr, 8);
    v[ARG_VALIDITY] = load_field(cg, v_args, offsetof(zf_abi_args, validity), cg->ty_ptr, 8);
    v[ARG_OFFSETS] = load_field(cg, v_args, offsetof(zf_abi_args, offsets), cg->ty_ptr, 8);
    v[ARG_OFFSET_BASE] = load_field(cg, v_args, offsetof(zf_abi_args, offset_base), cg->ty_i64, 8);
    v[ARG_BYTE_BEGIN] = load_field(cg, v_args, offsetof(zf_abi_args, byte_begin), cg->ty_i64, 8);
    v[ARG_BYTE_END] = load_field(cg, v_args, offsetof(zf_abi_args, byte_end), cg->ty_i64, 8);
    v[ARG_RECORD] = load_field(cg, v_args, offsetof(zf_abi_args, record), cg->ty_ptr, 8);
    v[ARG_FAILURE] = load_field(cg, v_args, offsetof(zf_abi_args, failure), cg->ty_ptr, 8);
    v[ARG_TILES] = load_field(cg, v_args, offsetof(zf_abi_args, tiles), cg->ty_i64, 8);
    v[ARG_MODE] = load_field(cg, v_args, offsetof(zf_abi_args, mode), cg->ty_i32, 4);
    v[ARG_BEGIN] = LLVMGetParam(v_entry, 1);
    v[ARG_END] = LLVMGetParam(v_entry, 2);
    if (lower->plan->work_count > 0) {
        LLVMValueRef v_work = load_field(cg, v_args, offsetof(zf_abi_args, work), cg->ty_ptr, 8);
        for (uint32_t w = 0; w < lower->plan->work_count; w++) v[ARG_WORKS + w] = load_field(cg, v_work, 8 * w, cg->ty_ptr, 8);
    }
    LLVMBuildCall2(cg->builder, LLVMGlobalGetValueType(lower->v_body), lower->v_body, v, count, "");
    LLVMBuildRetVoid(cg->builder);
}

void zf_lower_init(zf_lower *lower, zf_cg *cg, const zf_lower_input *input, const zf_kernel *kernel) {
    *lower = (zf_lower){.cg = cg, .input = input, .plan = input->plan, .graph = input->plan->graph, .kernel = kernel};
    lower->v_words = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, input->plan->slot_count + 1);
    lower->v_nonempty = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, input->plan->graph->node_count);
}

// Opens the body: a first block that stays open, and one to go on in.
LLVMBasicBlockRef zf_lower_open(zf_lower *lower, const char *name) {
    zf_cg *cg = lower->cg;
    char body_name[32];
    snprintf(body_name, sizeof(body_name), "%s.body", name);
    lower->v_body = make_body(lower, body_name);
    zf_cg_begin_function(cg, lower->v_body);
    lower->bb_setup = zf_cg_block(cg, "setup");
    zf_cg_enter(cg, lower->bb_setup);
    lower->v_fail = zf_cg_alloca(cg, cg->ty_i32, "fail");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, ZF_NO_FAILURE), lower->v_fail);
    lower->v_limit = zf_cg_alloca(cg, cg->ty_i64, "limit");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, UINT64_MAX), lower->v_limit);
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "first");
    zf_cg_enter(cg, bb_first);
    return bb_first;
}

void zf_lower_close(zf_lower *lower, const char *name, LLVMBasicBlockRef bb_first) {
    zf_cg *cg = lower->cg;
    LLVMBuildRetVoid(cg->builder);
    zf_cg_enter(cg, lower->bb_setup);
    zf_cg_br(cg, bb_first);
    make_entry(lower, name);
}

void zf_lower_kernel(zf_cg *cg, const zf_lower_input *input, const zf_kernel *kernel) {
    zf_lower lower;
    zf_lower_init(&lower, cg, input, kernel);
    const zf_cg_target *target = cg->target;
    if (kernel->domain > ZF_DOMAIN_CHUNKS || target->lower[kernel->domain] == NULL) {
        zf_cg_unsupported(cg, input->plan->graph->column->span, "target `%s` does not lower this pattern",
                          input->plan->target->name);
        return;
    }
    char name[24];
    zf_lower_kernel_name(kernel->index, name);
    LLVMBasicBlockRef bb_first = zf_lower_open(&lower, name);
    // Characters go to a buffer, or to the column at once: `out` is either.
    bool is_out = kernel->sink < 0 || zf_plan_may_go_to_column(input->plan, kernel->sink);
    lower.v_sink = is_out ? lower.v_out : lower.v_works[kernel->sink];
    lower.type = kernel->prefix != NULL ? kernel->prefix->term->type : input->plan->graph->edges[kernel->edge].type;
    lower.one_by_one = lower.type.kind == ZF_K_STRING; // each begins where the one before ends
    target->lower[kernel->domain](&lower);
    zf_lower_close(&lower, name, bb_first);
}

// ---- Block-wide values ----------------------------------------------------------------------------------------

LLVMBasicBlockRef zf_lower_setup_begin(zf_lower *lower) {
    LLVMBasicBlockRef bb_before = zf_cg_here(lower->cg);
    zf_cg_enter(lower->cg, lower->bb_setup);
    return bb_before;
}

void zf_lower_setup_end(zf_lower *lower, LLVMBasicBlockRef bb_before) {
    lower->bb_setup = zf_cg_here(lower->cg);
    zf_cg_enter(lower->cg, bb_before);
}

LLVMValueRef zf_lower_word(zf_lower *lower, zf_abi_slot_kind kind, uint32_t a, uint32_t b) {
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

LLVMValueRef zf_lower_count(zf_lower *lower, uint32_t edge) { return zf_lower_word(lower, ZF_SLOT_COUNT, edge, 0); }

bool zf_lower_param_known(const zf_lower *lower, uint32_t node, const zf_port *port, uint64_t *bits) {
    return zf_plan_param_known(lower->plan, lower->input->shaping, node, port, bits);
}

// ---- Failures -------------------------------------------------------------------------------------------------

void zf_lower_fail(zf_lower *lower, LLVMValueRef v_bad, uint32_t number) {
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

void zf_lower_check(zf_lower *lower, LLVMValueRef v_bad, uint32_t number, const char *what) {
    if (!zf_cg_site(lower->cg, ZF_SITE_CHECK, what)) zf_lower_fail(lower, v_bad, number);
}

LLVMValueRef zf_lower_none_failed(zf_lower *lower) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_fail = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    return zf_cg_icmp(cg, LLVMIntEQ, v_fail, zf_cg_i32(cg, ZF_NO_FAILURE));
}

void zf_lower_check_end(zf_lower *lower, LLVMValueRef v_bad, const char *what) {
    v_bad = zf_cg_and(lower->cg, v_bad, zf_lower_none_failed(lower));
    zf_lower_check(lower, v_bad, (uint32_t)lower->kernel->end_check, what);
}

void zf_lower_clear(zf_lower *lower) { LLVMBuildStore(lower->cg->builder, zf_cg_i32(lower->cg, ZF_NO_FAILURE), lower->v_fail); }

// What a failure word says above the check: the position in the block, and above it the block.
static LLVMValueRef position_in_unit(zf_lower *lower, LLVMValueRef v_position) {
    zf_cg *cg = lower->cg;
    if (lower->v_block == NULL) return v_position;
    return zf_cg_or(cg, v_position, LLVMBuildShl(cg->builder, lower->v_block, zf_cg_i64(cg, 32), ""));
}

void zf_lower_report(zf_lower *lower, LLVMValueRef v_position) {
    zf_cg *cg = lower->cg;
    v_position = position_in_unit(lower, v_position);
    LLVMValueRef v_number = LLVMBuildLoad2(cg->builder, cg->ty_i32, lower->v_fail, "");
    LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "failed"), bb_well = zf_cg_block(cg, "well");
    LLVMValueRef v_reports = zf_cg_icmp(cg, LLVMIntNE, v_number, zf_cg_i32(cg, ZF_NO_FAILURE));
    if (lower->v_leads != NULL) v_reports = zf_cg_and(cg, v_reports, lower->v_leads);
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
static LLVMValueRef failed_before(zf_lower *lower, LLVMValueRef v_output) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_known = zf_cg_load(cg, cg->ty_i64, lower->v_failure, 8);
    if (cg->target != NULL && cg->target->simt != NULL)
        LLVMSetVolatile(v_known, 1); // NVPTX selects no atomic loads
    else
        LLVMSetOrdering(v_known, LLVMAtomicOrderingMonotonic);
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_known, zf_cg_i64(cg, 16), "");
    v_known = zf_cg_icmp(cg, LLVMIntULT, v_at, position_in_unit(lower, v_output));
    if (lower->v_leads == NULL) return v_known;
    // Its threads look at different times.
    LLVMValueRef v_set = cg->target->simt->ballot(cg, v_known);
    return zf_cg_icmp(cg, LLVMIntNE, v_set, LLVMConstNull(LLVMTypeOf(v_set)));
}

static LLVMValueRef begin_of_tile(zf_lower *lower, const zf_lower_tiles *tiles, LLVMValueRef v_tile) {
    zf_cg *cg = lower->cg;
    return zf_cg_umin(cg, zf_cg_mul(cg, v_tile, zf_cg_i64(cg, lower->kernel->tile)), tiles->v_count);
}

void zf_lower_tiles_begin(zf_lower *lower, zf_lower_tiles *tiles, uint32_t edge) {
    zf_cg *cg = lower->cg;
    tiles->v_count = zf_lower_count(lower, edge);
    LLVMValueRef v_end = lower->v_end;
    if (lower->v_leads != NULL) { // a warp asks once for its few tiles
        LLVMValueRef v_failed = failed_before(lower, begin_of_tile(lower, tiles, lower->v_begin));
        v_end = zf_cg_select(cg, v_failed, lower->v_begin, v_end);
    }
    zf_cg_loop_begin(cg, &tiles->loop, lower->v_begin, v_end, "tile");
    tiles->v_tile = tiles->loop.v_i;
    tiles->v_lo = begin_of_tile(lower, tiles, tiles->v_tile);
    LLVMValueRef v_behind = zf_cg_mul(cg, zf_cg_add(cg, tiles->v_tile, zf_cg_i64(cg, 1)), zf_cg_i64(cg, lower->kernel->tile));
    tiles->v_hi = zf_cg_clamp(cg, v_behind, tiles->v_count, "end of the tile");
    if (lower->v_leads == NULL) {
        LLVMBasicBlockRef bb_work = zf_cg_block(cg, "work");
        zf_cg_cond_br(cg, failed_before(lower, tiles->v_lo), tiles->loop.bb_next, bb_work);
        zf_cg_enter(cg, bb_work);
    }
    zf_lower_clear(lower);
    zf_lower_deliver_begin(lower, tiles);
}

void zf_lower_tiles_end(zf_lower *lower, zf_lower_tiles *tiles) {
    zf_lower_deliver_end(lower, tiles);
    zf_cg_loop_end(lower->cg, &tiles->loop);
}

// ---- Seek states ----------------------------------------------------------------------------------------------

LLVMValueRef zf_lower_is_recording(zf_lower *lower) {
    return zf_cg_icmp(lower->cg, LLVMIntEQ, lower->v_mode, zf_cg_i32(lower->cg, ZF_ABI_RECORD));
}

uint32_t zf_lower_root_field(const zf_lower *lower, zf_seek_kind kind) {
    int32_t field = zf_lower_field(lower, kind, lower->kernel->root, 0);
    if (field >= 0) return (uint32_t)field;
    zf_cg_unsupported(lower->cg, lower->graph->column->span, "the seek tree of a kernel lacks a field of its root");
    return 0;
}

int32_t zf_lower_field(const zf_lower *lower, zf_seek_kind kind, uint32_t node, uint32_t reduce) {
    if (lower->kernel->tree < 0) return -1;
    const zf_seek_tree *tree = &lower->plan->trees[lower->kernel->tree];
    for (uint32_t f = 0; f < tree->field_count; f++) {
        const zf_seek_field *field = &tree->fields[f];
        if (field->kind == kind && field->node == node && (kind != ZF_SEEK_SCAN || field->reduce == reduce)) return (int32_t)f;
    }
    return -1;
}

// Entry `v_entry` of a field of the kernel's tree, from 1, 2, 4 or 8 bytes, or 0. Once per tile, so a switch is good enough.
LLVMValueRef zf_lower_seek_entry(zf_lower *lower, uint32_t field, LLVMValueRef v_entry) {
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

void zf_lower_seek(zf_lower *lower, uint32_t field, zf_type type, LLVMValueRef v_tile, LLVMValueRef v_initial,
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

void zf_lower_seek_end(zf_lower *lower, uint32_t field, LLVMValueRef v_tile, LLVMValueRef v_word) {
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

// The begin of SIMT kernels (block, tile, pointers), and code that their forms share.
#include "codegen/simt/simt_block.h"
#include "codegen/simt/simt_choices.h"
#include "codegen/simt/simt_text.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <string.h>

#include "codegen/body/cg_lines.h"
#include "runtime/base/abi.h"

// ---- Stores and scans of a kernel -----------------------------------------------------------------------------

zf_type zf_simt_type_of(const zf_plan *plan, const zf_kernel *kernel) {
    return kernel->prefix != NULL ? kernel->prefix->term->type : plan->graph->edges[kernel->edge].type;
}

unsigned zf_simt_lane_count(zf_type type) {
    unsigned size = zf_kind_size(type.kind);
    if (type.kind == ZF_K_STRING) return ZF_TEXT_EACH;
    return type.kind == ZF_K_BOOL || size == 0 ? 8 : 16 / size;
}

unsigned zf_simt_together(const zf_kernel_build *lower) {
    return zf_choice_value(&lower->kernel->choice, ZF_CHOICE_C, zf_simt_lane_count(lower->type));
}

bool zf_simt_scans(const zf_plan *plan, const zf_kernel *kernel, const zf_reduce *reduce) {
    if (reduce->form == ZF_R_SEGMENTED &&
        !zf_simt_segments_fit(plan->target->wave, kernel, reduce, zf_simt_lane_count(zf_simt_type_of(plan, kernel))))
        return false;
    return reduce->domain == NULL || reduce->domain->kind != ZF_L_DOMAIN_G;
}

// ---- The kernel's function ------------------------------------------------------------------------------------

// Arguments behind the emulator's thread, as runtime/base/abi.h orders them.
enum {
    ARG_BASE,
    ARG_BLOCKS,
    ARG_FIRST,
    ARG_WORK,
    ARG_OUT,
    ARG_VALIDITY,
    ARG_OFFSETS,
    ARG_FAILURE,
    ARG_BLOCK_COUNT,
    ARG_EVEN,
    ARGS
};

static void attribute(zf_cg *cg, LLVMValueRef v_function, unsigned argument, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(v_function, argument + 1, LLVMCreateEnumAttribute(cg->context, kind, value));
}

static LLVMValueRef make_function(zf_kernel_build *lower, const char *name, LLVMValueRef v_args[ARGS]) {
    zf_cg *cg = lower->cg;
    const zf_simt_ops *ops = cg->target->simt;
    unsigned shift = ops->takes_thread ? 1 : 0;
    LLVMTypeRef types[ARGS + 1], ty_global = LLVMPointerTypeInContext(cg->context, ops->global_space);
    types[0] = cg->ty_ptr;
    for (unsigned k = 0; k < ARGS; k++) types[k + shift] = k < ARG_BLOCK_COUNT ? ty_global : cg->ty_i32;
    LLVMValueRef v_function = LLVMAddFunction(cg->module, name, LLVMFunctionType(cg->ty_void, types, ARGS + shift, 0));
    for (unsigned k = 0; k < ARG_BLOCK_COUNT; k++) {
        // `out` and `work` may be the same memory; what is stored there no kernel reads that was launched with it.
        attribute(cg, v_function, k + shift, "noalias", 0);
        if (k == ARG_BASE || k == ARG_WORK) attribute(cg, v_function, k + shift, "align", 256);
        if (k < ARG_OUT) attribute(cg, v_function, k + shift, "readonly", 0);
    }
    for (unsigned k = 0; k < ARGS; k++) v_args[k] = LLVMGetParam(v_function, k + shift);
    return v_function;
}

static LLVMValueRef head_word(zf_cg *cg, LLVMValueRef v_block, zf_simt_word word) {
    return zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_block, 8 * (uint64_t)word), 8);
}

// Whether a kernel takes strings from a work buffer.
static bool takes_strings(const zf_plan *plan, const zf_kernel *kernel, uint32_t work) {
    if (plan->works[work].type.kind != ZF_K_STRING) return false;
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        const zf_graph_node *node = &plan->graph->nodes[kernel->nodes[n]];
        for (uint32_t s = 0; s < node->inst->stream_count; s++) {
            if (plan->edge_work[node->inputs[s]] == (int32_t)work) return true;
        }
    }
    return false;
}

// Marks the kernels whose strings a kernel takes, and those whose strings they take.
static void mark_makers(const zf_plan *plan, const zf_kernel *kernel, bool *makers) {
    for (uint32_t w = 0; w < plan->work_count; w++) {
        uint32_t maker = plan->works[w].kernel;
        if (!takes_strings(plan, kernel, w) || makers[maker]) continue;
        makers[maker] = true;
        mark_makers(plan, &plan->kernels[maker], makers);
    }
}

// Leaves a block in which a kernel failed whose strings this one takes, or that left it itself for this reason: those that it did
// not come to make lie nowhere.
static void leave_failed(zf_kernel_build *lower, LLVMValueRef v_failure) {
    zf_cg *cg = lower->cg;
    bool *makers = ZF_NEW_ARRAY(cg->arena, bool, lower->plan->kernel_count);
    mark_makers(lower->plan, lower->kernel, makers);
    for (uint32_t k = 0; k < lower->plan->kernel_count; k++) {
        if (!makers[k]) continue;
        int64_t away = (int64_t)k - lower->kernel->index;
        LLVMValueRef v_word =
            zf_cg_load(cg, cg->ty_i64, zf_cg_at_sink(cg, cg->ty_i64, v_failure, zf_cg_i64(cg, (uint64_t)away)), 8);
        LLVMValueRef v_well =
            zf_cg_icmp(cg, LLVMIntULT, lower->v_block, LLVMBuildLShr(cg->builder, v_word, zf_cg_i64(cg, 48), ""));
        LLVMBasicBlockRef bb_well = zf_cg_block(cg, "strings_well");
        zf_cg_cond_br(cg, zf_cg_within(cg, v_well, "blocks whose strings were made"), bb_well, lower->simt->bb_leave);
        zf_cg_enter(cg, bb_well);
    }
}

// Element 0 of a work buffer without elements is read wherever an index was wrong. A string is made to lie nowhere, with no
// bytes, and a nullable element to be null: validity begins where the values end, with the buffer. clear_padding does so for
// others.
static void make_no_element(zf_kernel_build *lower, LLVMValueRef v_count) {
    zf_cg *cg = lower->cg;
    bool clears = lower->type.kind == ZF_K_STRING || (lower->type.nullable && lower->unpacks == 0);
    if (!clears || lower->kernel->sink < 0) return;
    LLVMBasicBlockRef bb_none = zf_cg_block(cg, "no_element"), bb_some = zf_cg_block(cg, "elements");
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i64(cg, 0));
    zf_cg_cond_br(cg, v_none, bb_none, bb_some);
    zf_cg_enter(cg, bb_none); // all threads the same
    zf_cg_store(cg, zf_cg_i64(cg, 0), lower->v_sink, 8);
    zf_cg_store(cg, zf_cg_i64(cg, 0), zf_cg_byte_at(cg, lower->v_sink, 8), 8);
    zf_cg_br(cg, bb_some);
    zf_cg_enter(cg, bb_some);
}

// Later kernels may read 16 bytes behind the last element of a work buffer, and mask them: whoever makes the block's last tile
// clears them, so that nobody reads memory that was never written. zf_abi_work says who reads behind the exceptions.
static void clear_padding(zf_kernel_build *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    const zf_plan *plan = lower->plan;
    const zf_kernel *kernel = lower->kernel;
    if (kernel->sink < 0 || lower->type.nullable || lower->unpacks > 0 || zf_plan_may_go_to_column(plan, kernel->sink)) return;
    LLVMValueRef v_count = zf_lower_count(lower, kernel->edge), v_end = v_count;
    LLVMValueRef v_next = zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, shape->span > 1 ? shape->span : 1));
    bool uneven = zf_kernel_is_uneven(plan, kernel);
    if (!uneven) v_next = zf_cg_mul(cg, v_next, zf_cg_i64(cg, kernel->tile));
    LLVMBasicBlockRef bb_last = zf_cg_block(cg, "last_tile"), bb_body = zf_cg_block(cg, "body");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGE, v_next, uneven ? lower->v_tiles : v_count), bb_last, bb_body);
    zf_cg_enter(cg, bb_last);
    bool strings = lower->type.kind == ZF_K_STRING; // two words each
    unsigned size = lower->type.kind == ZF_K_BOOL ? 1 : strings ? ZF_HANDLE_BYTES / 2 : zf_kind_size(lower->type.kind);
    unsigned stores = ZF_ABI_WORK_PADDING / size;
    if (strings) v_end = LLVMBuildShl(cg->builder, v_end, zf_cg_i64(cg, 1), "");
    if (kernel->prefix != NULL) v_end = zf_cg_add(cg, v_end, zf_cg_i64(cg, 1));
    if (lower->type.kind == ZF_K_BOOL)
        v_end = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_end, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, 8 * size);
    LLVMValueRef v_padding = zf_cg_at(cg, ty, lower->v_sink, v_end), v_zero = LLVMConstNull(ty);
    if (shape->tiles == shape->threads) { // the tile is this thread's alone
        for (unsigned k = 0; k < stores; k++) zf_cg_store(cg, v_zero, zf_cg_at(cg, ty, v_padding, zf_cg_i64(cg, k)), size);
        zf_cg_br(cg, bb_body);
    } else {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "padding");
        LLVMValueRef v_number = shape->tiles > 1 ? zf_simt_lane(lower) : lower->simt->v_thread;
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_number, zf_cg_i32(cg, stores)), bb_store, bb_body);
        zf_cg_enter(cg, bb_store);
        zf_cg_store(cg, v_zero, zf_cg_at(cg, ty, v_padding, zf_cg_resize(cg, v_number, cg->ty_i64, false)), size);
        zf_cg_br(cg, bb_body);
    }
    zf_cg_enter(cg, bb_body);
}

// Pointers and numbers of the block and tile that this thread works on.
static void open_block(zf_kernel_build *lower, const zf_simt_shape *shape, LLVMValueRef v_args[ARGS]) {
    zf_cg *cg = lower->cg;
    const zf_plan *plan = lower->plan;
    const zf_kernel *kernel = lower->kernel;
    const zf_simt_tiles tiles = {v_args[ARG_FIRST], v_args[ARG_BLOCK_COUNT], v_args[ARG_EVEN]};
    lower->simt->v_thread = cg->target->simt->thread(cg);
    LLVMValueRef v_tile = cg->target->simt->group(cg);
    if (shape->tiles > 1) {
        v_tile = zf_cg_mul(cg, v_tile, zf_cg_i32(cg, shape->tiles));
        LLVMValueRef v_mine = shape->tiles == shape->threads ? lower->simt->v_thread
                                                             : LLVMBuildLShr(cg->builder, lower->simt->v_thread,
                                                                             zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
        v_tile = zf_cg_add(cg, v_tile, v_mine);
    }
    if (shape->tiles > 1) { // the last thread block may have tiles that do not exist
        LLVMBasicBlockRef bb_exists = zf_cg_block(cg, "exists");
        LLVMValueRef v_all = zf_simt_first_tile(cg, &tiles, tiles.v_blocks);
        zf_cg_cond_br(cg, zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_tile, v_all), "tiles of the launch"), bb_exists,
                      lower->simt->bb_leave);
        zf_cg_enter(cg, bb_exists);
    }
    LLVMValueRef v_block =
        zf_simt_find_block(lower, &tiles, shape->tiles == shape->threads ? ZF_SIMT_OF_THREADS : ZF_SIMT_OF_WARPS, &v_tile);
    v_tile = zf_cg_resize(cg, v_tile, cg->ty_i64, false);
    if (shape->span > 1) v_tile = zf_cg_mul(cg, v_tile, zf_cg_i64(cg, shape->span));
    lower->v_block = zf_cg_resize(cg, v_block, cg->ty_i64, false);
    lower->simt->v_blocks = zf_cg_resize(cg, tiles.v_blocks, cg->ty_i64, false);
    uint64_t words = ZF_SIMT_HEAD + plan->slot_count + (uint64_t)plan->work_count;
    LLVMValueRef v_head = zf_cg_at(cg, cg->ty_i64, v_args[ARG_BLOCKS], zf_cg_mul(cg, lower->v_block, zf_cg_i64(cg, words)));
    leave_failed(lower, v_args[ARG_FAILURE]);
    LLVMValueRef v_offset = LLVMBuildShl(cg->builder, head_word(cg, v_head, ZF_SIMT_BASE), zf_cg_i64(cg, 8), "");
    lower->v_base = zf_cg_at(cg, cg->ty_i8, v_args[ARG_BASE], v_offset);
    lower->v_slots = zf_cg_byte_at(cg, v_head, 8 * ZF_SIMT_HEAD);
    lower->v_works = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, plan->work_count + 1);
    for (uint32_t w = 0; w < plan->work_count; w++) {
        LLVMValueRef v_at = head_word(cg, v_head, (zf_simt_word)(ZF_SIMT_HEAD + plan->slot_count + w));
        bool own = kernel->sink == (int32_t)w;
        lower->v_works[w] = zf_cg_at(cg, cg->ty_i8, v_args[own ? ARG_OUT : ARG_WORK], v_at);
    }
    if (kernel->sink < 0) {
        lower->v_sink = zf_cg_at_sink(cg, cg->ty_i8, v_args[ARG_OUT], head_word(cg, v_head, ZF_SIMT_OUT));
        v_tile = zf_cg_add(cg, v_tile, head_word(cg, v_head, ZF_SIMT_FIRST_TILE));
        if (lower->type.kind != ZF_K_BOOL) {
            lower->v_row_begin = head_word(cg, v_head, ZF_SIMT_ROW_BEGIN);
            lower->v_row_end = head_word(cg, v_head, ZF_SIMT_ROW_END);
        }
        // Their stores are not masked. The rows are those of whole chunks (decode_unit.c).
        if (zf_kernel_is_uneven(plan, kernel) && (lower->type.kind == ZF_K_BOOL || kernel->store_first)) {
            lower->v_place_begin = head_word(cg, v_head, ZF_SIMT_ROW_BEGIN);
            lower->v_place_end = head_word(cg, v_head, ZF_SIMT_ROW_END);
        }
        if (lower->type.nullable)
            lower->v_validity = zf_cg_at_sink(cg, cg->ty_i8, v_args[ARG_VALIDITY], head_word(cg, v_head, ZF_SIMT_VALIDITY));
        if (lower->type.kind == ZF_K_STRING) {
            lower->v_offsets = zf_cg_at_sink(cg, cg->ty_i8, v_args[ARG_OFFSETS], head_word(cg, v_head, ZF_SIMT_OFFSETS));
            lower->v_offset_base = head_word(cg, v_head, ZF_SIMT_OFFSET_BASE);
            lower->v_byte_begin = head_word(cg, v_head, ZF_SIMT_BYTE_BEGIN);
            lower->v_byte_end = head_word(cg, v_head, ZF_SIMT_BYTE_END);
        }
    } else if (lower->unpacks > 0) { // the column's elements, which rows are wanted of
        lower->v_sink = zf_cg_at_sink(cg, cg->ty_i8, v_args[ARG_OUT], head_word(cg, v_head, ZF_SIMT_OUT));
        lower->v_row_begin = head_word(cg, v_head, ZF_SIMT_ROW_BEGIN);
        lower->v_row_end = head_word(cg, v_head, ZF_SIMT_ROW_END);
    } else if (zf_plan_may_go_to_column(plan, kernel->sink)) { // the column's characters, those that have a place
        lower->v_sink = zf_cg_at_sink(cg, cg->ty_i8, v_args[ARG_OUT], head_word(cg, v_head, ZF_SIMT_OUT));
        lower->v_row_begin = head_word(cg, v_head, ZF_SIMT_BYTE_BEGIN);
        lower->v_row_end = head_word(cg, v_head, ZF_SIMT_BYTE_END);
    } else {
        lower->v_sink = lower->v_works[kernel->sink];
    }
    lower->simt->v_tile = v_tile;
    lower->v_failure = v_args[ARG_FAILURE];
    lower->v_record = LLVMConstNull(cg->ty_ptr);
    lower->v_mode = zf_cg_i32(cg, ZF_ABI_DECODE);
    lower->v_fail = zf_cg_alloca(cg, cg->ty_i32, "fail");
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, ZF_NO_FAILURE), lower->v_fail);
}

// Opens a function of the kernel that has its arguments.
static LLVMBasicBlockRef open_function(zf_kernel_build *lower, LLVMValueRef v_function, const char *name,
                                       const zf_simt_shape *shape, LLVMValueRef v_args[ARGS]) {
    zf_cg *cg = lower->cg;
    lower->v_body = v_function;
    zf_cg_begin_function(cg, v_function);
    zf_cg_lines_function(cg, v_function, name, lower->graph->nodes[lower->kernel->root].inst->algorithm->decl->name_span);
    lower->bb_setup = zf_cg_block(cg, "setup");
    lower->simt->bb_leave = zf_cg_block(cg, "leave");
    LLVMBasicBlockRef bb_first = zf_cg_block(cg, "first");
    zf_cg_enter(cg, lower->bb_setup);
    open_block(lower, shape, v_args);
    lower->bb_setup = zf_cg_here(cg); // where block-wide values go from now on
    zf_cg_enter(cg, bb_first);
    LLVMValueRef v_count = zf_lower_count(lower, lower->kernel->edge), v_one = zf_cg_i64(cg, 1);
    // Tiles of the block: one also where it is empty.
    bool uneven = zf_kernel_is_uneven(lower->plan, lower->kernel);
    LLVMValueRef v_chunks = uneven ? zf_lower_chunk_count(lower, lower->kernel->root) : v_count;
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v_some = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_chunks, zf_cg_i64(cg, 0)), v_one, v_chunks);
    lower->v_tiles = v_some;
    if (!uneven) {
        LLVMValueRef v_last = zf_cg_sub(cg, v_some, v_one);
        lower->v_tiles = zf_cg_add(cg, LLVMBuildUDiv(cg->builder, v_last, zf_cg_i64(cg, lower->kernel->tile), ""), v_one);
    }
    zf_lower_setup_end(lower, bb_before);
    make_no_element(lower, v_count);
    lower->v_begin = lower->simt->v_tile;
    lower->v_end = zf_cg_add(cg, lower->simt->v_tile, v_one);
    return bb_first;
}

static void close_function(zf_kernel_build *lower, LLVMBasicBlockRef bb_first) {
    zf_cg *cg = lower->cg;
    zf_cg_br(cg, lower->simt->bb_leave);
    zf_cg_enter(cg, lower->bb_setup);
    zf_cg_br(cg, bb_first);
    LLVMMoveBasicBlockAfter(lower->simt->bb_leave, LLVMGetLastBasicBlock(cg->function));
    zf_cg_enter(cg, lower->simt->bb_leave);
    LLVMBuildRetVoid(cg->builder);
}

// A function beside the kernel, with its arguments, by which one thread of the block makes the block's tiles.
static void make_slow(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel, LLVMValueRef v_function, const char *name,
                      const zf_simt_shape *shape) {
    zf_kernel_build lower;
    zf_lower_init(&lower, cg, input, kernel);
    zf_simt_state state = {.one_warp = shape->threads == cg->wave};
    lower.simt = &state;
    lower.ops = &zf_simt_kernel_ops;
    lower.unpacks = zf_plan_unpacks(input->plan, input->shaping, kernel->index);
    LLVMValueRef v_args[ARGS];
    unsigned shift = cg->target->simt->takes_thread ? 1 : 0;
    for (unsigned k = 0; k < ARGS; k++) v_args[k] = LLVMGetParam(v_function, k + shift);
    lower.type = zf_simt_type_of(input->plan, kernel);
    lower.one_by_one = true;
    LLVMBasicBlockRef bb_first = open_function(&lower, v_function, name, shape, v_args);
    zf_form_of(shape->form)->emit_slow(&lower, shape);
    close_function(&lower, bb_first);
    if (cg->target->simt->finish != NULL) cg->target->simt->finish(cg, v_function);
}

void zf_simt_one_thread(zf_kernel_build *lower, LLVMValueRef v_number) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_one = zf_cg_block(cg, "one_thread");
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntEQ, v_number, zf_cg_i32(cg, 0));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_mine, "one thread of the block"), bb_one, lower->simt->bb_leave);
    zf_cg_enter(cg, bb_one);
}

void zf_simt_call_slow(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    unsigned count = LLVMCountParams(lower->v_body);
    LLVMValueRef *v_args = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, count);
    LLVMGetParams(lower->v_body, v_args);
    LLVMBuildCall2(cg->builder, LLVMGlobalGetValueType(lower->simt->v_slow), lower->simt->v_slow, v_args, count, "");
}

// Declares the slow path, which is never inlined.
static LLVMValueRef declare_slow(zf_kernel_build *lower, const char *name) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_none[ARGS], v_function = make_function(lower, name, v_none);
    LLVMSetLinkage(v_function, LLVMInternalLinkage);
    unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
    LLVMAddAttributeAtIndex(v_function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->context, kind, 0));
    return v_function;
}

void zf_simt_kernel(zf_cg *cg, const zf_kernel_input *input, const zf_kernel *kernel) {
    cg->narrows = zf_simt_takes_places(input->plan, kernel);
    zf_kernel_build lower;
    zf_lower_init(&lower, cg, input, kernel);
    zf_simt_state state = {0};
    lower.simt = &state;
    lower.ops = &zf_simt_kernel_ops;
    const zf_simt_ops *ops = cg->target->simt;
    if (kernel->domain > ZF_DOMAIN_CHUNKS || cg->target->lower[kernel->domain] == NULL) {
        zf_cg_unsupported(cg, input->plan->graph->column->span, "target `%s` does not lower this pattern",
                          input->plan->target->name);
        return;
    }
    zf_simt_shape shape = zf_simt_shape_of(input->plan, kernel);
    cg->wave = shape.warp;
    const zf_form *form = zf_form_of(shape.form);
    lower.simt->one_warp = shape.threads == cg->wave;
    lower.unpacks = zf_plan_unpacks(input->plan, input->shaping, kernel->index);
    char name[24], slow_name[32];
    zf_lower_kernel_name(kernel->index, name);
    snprintf(slow_name, sizeof slow_name, "%s_hard", name);
    LLVMValueRef v_args[ARGS];
    lower.type = zf_simt_type_of(input->plan, kernel);
    lower.one_by_one = true;
    LLVMValueRef v_body = make_function(&lower, name, v_args);
    bool has_slow = form->emit_slow != NULL && shape.slow;
    if (has_slow) lower.simt->v_slow = declare_slow(&lower, slow_name);
    if (ops->kernel != NULL) ops->kernel(cg, v_body, shape.threads, shape.registers);
    LLVMBasicBlockRef bb_first = open_function(&lower, v_body, name, &shape, v_args);
    clear_padding(&lower, &shape);
    form->emit(&lower, &shape);
    close_function(&lower, bb_first);
    if (ops->finish != NULL) ops->finish(cg, lower.v_body);
    if (has_slow) make_slow(cg, input, kernel, lower.simt->v_slow, slow_name, &shape);
}

// ---- Tiles ----------------------------------------------------------------------------------------------------

// Whether vectors of 16 bytes can be stored where element 0 goes: booleans are stored by bytes, work buffers are aligned to 256.
static LLVMValueRef is_aligned(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    int32_t sink = lower->kernel->sink;
    if (lower->type.kind == ZF_K_BOOL || (sink >= 0 && lower->v_sink == lower->v_works[sink])) return zf_cg_i1(cg, true);
    // For strings, vectors store the offsets.
    LLVMValueRef v_place = zf_simt_delivers_text(lower->type, lower->kernel) ? lower->v_offsets : lower->v_sink;
    LLVMValueRef v_address = zf_cg_and(cg, LLVMBuildPtrToInt(cg->builder, v_place, cg->ty_i64, ""), zf_cg_i64(cg, 15));
    return zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntEQ, v_address, zf_cg_i64(cg, 0)), "output aligned for vectors");
}

zf_simt_tile zf_simt_tile_of(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    zf_simt_tile tile = {.v_count = zf_lower_count(lower, lower->kernel->edge)};
    bool uneven = zf_kernel_is_uneven(lower->plan, lower->kernel);
    if (uneven) {
        tile.v_begin = tile.v_lo = zf_lower_chunk_start(lower, lower->simt->v_tile);
        tile.v_hi = zf_lower_chunk_start(lower, zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, 1)));
    } else {
        LLVMValueRef v_size = zf_cg_i64(cg, lower->kernel->tile), v_lo = zf_cg_mul(cg, lower->simt->v_tile, v_size);
        tile.v_begin = v_lo;
        tile.v_lo = zf_cg_umin(cg, v_lo, tile.v_count);
        tile.v_hi = zf_cg_clamp(cg, zf_cg_add(cg, v_lo, v_size), tile.v_count, "end of the tile");
    }
    tile.v_whole = is_aligned(lower);
    if (uneven && lower->type.kind != ZF_K_BOOL) { // chunks begin anywhere
        uint32_t size = zf_kind_size(lower->unpacks > 0 ? lower->graph->edges[0].type.kind : lower->type.kind);
        LLVMValueRef v_from = zf_cg_mul(cg, tile.v_lo, zf_cg_i64(cg, (uint64_t)size * (lower->unpacks > 0 ? lower->unpacks : 1)));
        v_from = zf_cg_and(cg, v_from, zf_cg_i64(cg, 15));
        v_from = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntEQ, v_from, zf_cg_i64(cg, 0)), "chunk aligned for vectors");
        tile.v_whole = zf_cg_and(cg, tile.v_whole, v_from);
    }
    if (lower->v_row_begin != NULL) {
        LLVMValueRef v_each = zf_cg_i64(cg, lower->unpacks > 0 ? lower->unpacks : 1);
        LLVMValueRef v_first = zf_cg_mul(cg, tile.v_lo, v_each), v_behind = zf_cg_mul(cg, tile.v_hi, v_each);
        LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, v_first, lower->v_row_begin);
        tile.v_whole = zf_cg_and(cg, tile.v_whole, zf_cg_within(cg, v_begun, "tile behind the first wanted row"));
        LLVMValueRef v_wanted = zf_cg_icmp(cg, LLVMIntULE, v_behind, lower->v_row_end);
        tile.v_whole = zf_cg_and(cg, tile.v_whole, zf_cg_within(cg, v_wanted, "tile before the last wanted row"));
    }
    return tile;
}

// ---- Seek states ----------------------------------------------------------------------------------------------

// Entry `v_entry` of a field, without branches, so that loads of several fields overlap: from the eight bytes that hold it.
// Fields begin at multiples of 16, and 16 bytes can be read behind them, also where they are empty.
static LLVMValueRef load_entry(zf_kernel_build *lower, LLVMValueRef v_offset, LLVMValueRef v_width, LLVMValueRef v_entry) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_byte = zf_cg_mul(cg, v_entry, v_width), v_three = zf_cg_i64(cg, 3), v_seven = zf_cg_i64(cg, 7);
    LLVMValueRef v_field = zf_cg_at(cg, cg->ty_i8, lower->v_base, v_offset);
    LLVMValueRef v_word = zf_cg_at(cg, cg->ty_i64, v_field, LLVMBuildLShr(cg->builder, v_byte, v_three, ""));
    LLVMValueRef v_shift = LLVMBuildShl(cg->builder, zf_cg_and(cg, v_byte, v_seven), v_three, "");
    LLVMValueRef v = LLVMBuildLShr(cg->builder, zf_cg_load(cg, cg->ty_i64, v_word, 8), v_shift, "");
    // Ones above the bytes, shifted up in two steps: a shift by 64 is poison.
    LLVMValueRef v_half = LLVMBuildShl(cg->builder, v_width, zf_cg_i64(cg, 2), "");
    LLVMValueRef v_above = LLVMBuildShl(cg->builder, zf_cg_i64(cg, UINT64_MAX), v_half, "");
    v_above = LLVMBuildShl(cg->builder, v_above, v_half, "");
    return zf_cg_mask(cg, v, zf_cg_not(cg, v_above), "bytes of a seek state");
}

LLVMValueRef zf_simt_seek_entry(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_entry) {
    uint32_t tree = (uint32_t)lower->kernel->tree;
    LLVMValueRef v_offset = zf_lower_word(lower, ZF_SLOT_SEEK_OFFSET, tree, field);
    LLVMValueRef v_width = zf_lower_word(lower, ZF_SLOT_SEEK_WIDTH, tree, field);
    return load_entry(lower, v_offset, v_width, v_entry);
}

// The entry of the state where the tile begins; *v_first (i1): there is none, since it is the block's first.
static LLVMValueRef entry_before(zf_kernel_build *lower, LLVMValueRef *v_first) {
    zf_cg *cg = lower->cg;
    *v_first = zf_cg_icmp(cg, LLVMIntEQ, lower->simt->v_tile, zf_cg_i64(cg, 0));
    *v_first = zf_cg_edge(cg, *v_first, "state of the first tile");
    return zf_cg_select(cg, *v_first, lower->simt->v_tile, zf_cg_sub(cg, lower->simt->v_tile, zf_cg_i64(cg, 1)));
}

// Where it ends; *v_more (i1): there is one, since another tile follows.
static LLVMValueRef entry_behind(zf_kernel_build *lower, LLVMValueRef *v_more, const char *what) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_next = zf_cg_add(cg, lower->simt->v_tile, zf_cg_i64(cg, 1));
    *v_more = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, lower->v_tiles), what);
    return zf_cg_select(cg, *v_more, lower->simt->v_tile, zf_cg_i64(cg, 0));
}

LLVMValueRef zf_simt_seek(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_initial) {
    LLVMValueRef v_first, v_entry = entry_before(lower, &v_first);
    LLVMValueRef v = lower->simt->v_seeks != NULL ? lower->simt->v_seeks[2 * field] : zf_simt_seek_entry(lower, field, v_entry);
    return zf_cg_select(lower->cg, v_first, v_initial, v);
}

LLVMValueRef zf_simt_seek_next(zf_kernel_build *lower, uint32_t field, LLVMValueRef v_final, const char *what) {
    LLVMValueRef v_more, v_entry = entry_behind(lower, &v_more, what);
    LLVMValueRef v =
        lower->simt->v_seeks != NULL ? lower->simt->v_seeks[2 * field + 1] : zf_simt_seek_entry(lower, field, v_entry);
    return zf_cg_select(lower->cg, v_more, v, v_final);
}

void zf_simt_seek_together(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    uint32_t tree = (uint32_t)lower->kernel->tree, fields = lower->plan->trees[tree].field_count;
    if (fields < 2 || 2 * fields > cg->wave) return;
    int32_t slot = zf_plan_slot(lower->plan, ZF_SLOT_SEEK_OFFSET, tree, 0);
    for (uint32_t f = 0; f < fields; f++) { // two words a field, one field after the other
        if (zf_plan_slot(lower->plan, ZF_SLOT_SEEK_OFFSET, tree, f) != slot + 2 * (int32_t)f) return;
        if (zf_plan_slot(lower->plan, ZF_SLOT_SEEK_WIDTH, tree, f) != slot + 2 * (int32_t)f + 1) return;
    }
    LLVMValueRef v_lane = zf_simt_lane(lower), v_one = zf_cg_i32(cg, 1), v_first, v_more;
    LLVMValueRef v_field = zf_cg_umin(cg, LLVMBuildLShr(cg->builder, v_lane, v_one, ""), zf_cg_i32(cg, fields - 1));
    LLVMValueRef v_is_next = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_lane, v_one), zf_cg_i32(cg, 0));
    LLVMValueRef v_before = entry_before(lower, &v_first), v_behind = entry_behind(lower, &v_more, "states behind the last tile");
    LLVMValueRef v_words = zf_cg_byte_at(cg, lower->v_slots, 8 * (uint64_t)slot);
    v_words = zf_cg_at(cg, LLVMArrayType2(cg->ty_i64, 2), v_words, zf_cg_resize(cg, v_field, cg->ty_i64, false));
    LLVMValueRef v_offset = zf_cg_load(cg, cg->ty_i64, v_words, 8),
                 v_width = zf_cg_load(cg, cg->ty_i64, zf_cg_byte_at(cg, v_words, 8), 8);
    LLVMValueRef v = load_entry(lower, v_offset, v_width, zf_cg_select(cg, v_is_next, v_behind, v_before));
    lower->simt->v_seeks = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, 2 * (size_t)fields);
    for (uint32_t k = 0; k < 2 * fields; k++) lower->simt->v_seeks[k] = zf_simt_shuffle(lower, v, zf_cg_i32(cg, k));
}

// ---- Shared pieces --------------------------------------------------------------------------------------------

LLVMValueRef zf_simt_lane(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_thread = lower->simt->v_thread, v_mask = zf_cg_i32(cg, cg->wave - 1);
    // The only warp of a thread block has the lanes 0 to wave - 1 in any case: nothing can be left out.
    return lower->simt->one_warp ? zf_cg_and(cg, v_thread, v_mask) : zf_cg_mask(cg, v_thread, v_mask, "lane of the thread");
}

LLVMValueRef zf_simt_warp(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v = LLVMBuildLShr(cg->builder, lower->simt->v_thread, zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    return zf_cg_resize(cg, v, cg->ty_i64, false);
}

uint32_t zf_simt_lane_bits_of(const zf_cg *cg) {
    uint32_t bits = 0;
    while (1u << bits < cg->wave) bits++;
    return bits;
}

LLVMTypeRef zf_simt_set_type(zf_cg *cg) { return cg->wave > 32 ? cg->ty_i64 : cg->ty_i32; }

LLVMValueRef zf_simt_lanes_below(zf_cg *cg, LLVMValueRef v_lane) {
    LLVMTypeRef ty = zf_simt_set_type(cg);
    LLVMValueRef v_one = LLVMConstInt(ty, 1, 0);
    return zf_cg_sub(cg, LLVMBuildShl(cg->builder, v_one, zf_cg_resize(cg, v_lane, ty, false), ""), v_one);
}

LLVMValueRef zf_simt_count_lanes(zf_cg *cg, LLVMValueRef v_set) {
    LLVMTypeRef ty = LLVMTypeOf(v_set);
    return zf_cg_resize(cg, zf_cg_intrinsic(cg, "llvm.ctpop", &ty, 1, &v_set, 1), cg->ty_i32, false);
}

static bool is_half_a_wave(const zf_cg *cg) { return cg->wave < cg->target->is->wave; }

// The first lane (i32) of this warp in its wave, where a warp is half a wave.
static LLVMValueRef first_lane(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    return zf_cg_and(cg, lower->simt->v_thread, zf_cg_i32(cg, cg->target->is->wave - cg->wave));
}

LLVMValueRef zf_simt_ballot(zf_kernel_build *lower, LLVMValueRef v) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_set = cg->target->simt->ballot(cg, v); // of the wave
    if (!is_half_a_wave(cg)) return v_set;
    v_set = LLVMBuildLShr(cg->builder, v_set, zf_cg_resize(cg, first_lane(lower), LLVMTypeOf(v_set), false), "");
    return zf_cg_resize(cg, v_set, zf_simt_set_type(cg), false);
}

LLVMValueRef zf_simt_any(zf_kernel_build *lower, LLVMValueRef v) {
    return zf_cg_icmp(lower->cg, LLVMIntNE, zf_simt_ballot(lower, v), LLVMConstNull(zf_simt_set_type(lower->cg)));
}

LLVMValueRef zf_simt_join(zf_kernel_build *lower, LLVMValueRef v) {
    zf_cg *cg = lower->cg;
    if (cg->target->simt->join != NULL && LLVMTypeOf(v) == cg->ty_i32 && !is_half_a_wave(cg))
        return cg->target->simt->join(cg, v);
    for (uint32_t step = 1; step < cg->wave; step *= 2) {
        LLVMValueRef v_other = LLVMBuildXor(cg->builder, zf_simt_lane(lower), zf_cg_i32(cg, step), "");
        v = zf_cg_or(cg, v, zf_simt_shuffle(lower, v, v_other));
    }
    return v;
}

LLVMValueRef zf_simt_permute(zf_kernel_build *lower, LLVMValueRef v_low, LLVMValueRef v_high, LLVMValueRef v_selector) {
    zf_cg *cg = lower->cg;
    if (cg->target->simt->permute != NULL) return cg->target->simt->permute(cg, v_low, v_high, v_selector);
    LLVMValueRef v_all = zf_cg_both_halves(cg, v_low, v_high), v = NULL;
    for (uint32_t k = 0; k < 4; k++) {
        LLVMValueRef v_number = zf_cg_and(cg, LLVMBuildLShr(cg->builder, v_selector, zf_cg_i32(cg, 4 * k), ""), zf_cg_i32(cg, 7));
        LLVMValueRef v_shift = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_number, cg->ty_i64, false), zf_cg_i64(cg, 3), "");
        LLVMValueRef v_byte = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_all, v_shift, ""), cg->ty_i32, false);
        v_byte = LLVMBuildShl(cg->builder, zf_cg_and(cg, v_byte, zf_cg_i32(cg, 255)), zf_cg_i32(cg, 8 * k), "");
        v = v == NULL ? v_byte : zf_cg_or(cg, v, v_byte);
    }
    return v;
}

LLVMValueRef zf_simt_lane_before(zf_kernel_build *lower, LLVMValueRef v_lane, uint32_t step) {
    zf_cg *cg = lower->cg;
    return zf_cg_mask(cg, zf_cg_sub(cg, v_lane, zf_cg_i32(cg, step)), zf_cg_i32(cg, cg->wave - 1), "lane to shuffle from");
}

void zf_simt_barrier(zf_kernel_build *lower, const char *what) {
    const zf_simt_ops *ops = lower->cg->target->simt;
    if (zf_cg_site(lower->cg, ZF_SITE_BARRIER, what)) return;
    if (lower->simt->one_warp)
        ops->warp_barrier(lower->cg);
    else
        ops->barrier(lower->cg);
}

void zf_simt_barrier_warp(zf_kernel_build *lower, const char *what) {
    if (!zf_cg_site(lower->cg, ZF_SITE_BARRIER, what)) lower->cg->target->simt->warp_barrier(lower->cg);
}

void zf_simt_store_word_if(zf_cg *cg, LLVMValueRef v_if, LLVMValueRef v, LLVMValueRef v_at) {
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "word_whole"), bb_next = zf_cg_block(cg, "word_next");
    zf_cg_cond_br(cg, v_if, bb_store, bb_next);
    zf_cg_enter(cg, bb_store);
    zf_cg_store(cg, v, v_at, 4);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

void zf_simt_store_where(zf_kernel_build *lower, LLVMValueRef v_where, const LLVMValueRef *v_words, uint32_t count,
                         LLVMValueRef v_pointer, uint32_t aligned) {
    zf_cg *cg = lower->cg;
    const zf_simt_ops *ops = cg->target->simt;
    LLVMTypeRef ty = LLVMTypeOf(v_words[0]);
    uint32_t size = LLVMGetIntTypeWidth(ty) / 8, step;
    if (v_where != NULL && ops->store_where != NULL) {
        for (uint32_t k = 0; k < count; k += step) {
            step = k + 1 < count && aligned >= 2 * size ? 2 : 1;
            ops->store_where(cg, v_where, v_words + k, step, zf_cg_byte_at(cg, v_pointer, (uint64_t)k * size));
        }
        return;
    }
    // These branches settle nothing: checks that were put off still are, as where a predicate stores.
    LLVMBasicBlockRef bb_store = v_where == NULL ? NULL : zf_cg_block(cg, "store"), bb_stored = NULL;
    if (v_where != NULL) {
        bb_stored = zf_cg_block(cg, "stored");
        LLVMBuildCondBr(cg->builder, v_where, bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
    }
    for (uint32_t k = 0; k < count; k++)
        LLVMSetAlignment(LLVMBuildStore(cg->builder, v_words[k], zf_cg_byte_at(cg, v_pointer, (uint64_t)k * size)), size);
    if (v_where == NULL) return;
    LLVMBuildBr(cg->builder, bb_stored);
    LLVMMoveBasicBlockAfter(bb_stored, bb_store);
    zf_cg_enter(cg, bb_stored);
}

bool zf_simt_adds_up(zf_kernel_build *lower, LLVMTypeRef ty) {
    if (lower->cg->target->simt->add_up == NULL || is_half_a_wave(lower->cg) || LLVMGetTypeKind(ty) != LLVMIntegerTypeKind)
        return false;
    return LLVMGetIntTypeWidth(ty) == 32 || LLVMGetIntTypeWidth(ty) == 64;
}

// One step of a scan: combines `v`, which covers a lane and those less than `step` before it, with the lane `step` before.
static LLVMValueRef scan_step(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane, uint32_t step, bool most) {
    zf_cg *cg = lower->cg;
    if (!most && zf_simt_adds_up(lower, LLVMTypeOf(v))) return cg->target->simt->add_up(cg, v, step);
    LLVMValueRef v_from = zf_simt_lane_before(lower, v_lane, step);
    LLVMValueRef v_other = zf_simt_shuffle(lower, v, v_from);
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntUGE, v_lane, zf_cg_i32(cg, step));
    v_has = zf_cg_holds(cg, ZF_SITE_MASK, v_has, "lanes that have one before them");
    v_other = zf_cg_select(cg, v_has, v_other, LLVMConstNull(LLVMTypeOf(v)));
    return most ? zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntUGT, v_other, v), v_other, v) : zf_cg_add(cg, v, v_other);
}

static LLVMValueRef scan_warp(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane, bool most) {
    for (uint32_t step = 1; step < lower->cg->wave; step *= 2) v = scan_step(lower, v, v_lane, step, most);
    return v;
}

void zf_simt_scan_rows(zf_kernel_build *lower, LLVMValueRef v_lane, unsigned count, LLVMValueRef *v_rows) {
    for (uint32_t step = 1; step < lower->cg->wave; step *= 2) {
        for (unsigned r = 0; r < count; r++) v_rows[r] = scan_step(lower, v_rows[r], v_lane, step, false);
    }
}

LLVMValueRef zf_simt_scan_warp(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane) {
    return scan_warp(lower, v, v_lane, false);
}

LLVMValueRef zf_simt_most_warp(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane) {
    return scan_warp(lower, v, v_lane, true);
}

// A number of times that LLVM is to do something with a loop.
static LLVMMetadataRef wish(zf_cg *cg, const char *name, unsigned times) {
    LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(cg->context, name, strlen(name)),
                                LLVMValueAsMetadata(zf_cg_i32(cg, times))};
    return LLVMMDNodeInContext2(cg->context, parts, 2);
}

// Says at the end of the loop's last block what wishes[1] on wish.
static void tell_loop(zf_cg *cg, LLVMBasicBlockRef bb_last, LLVMMetadataRef *wishes, unsigned count) {
    LLVMMetadataRef self = wishes[0] = LLVMTemporaryMDNode(cg->context, NULL, 0);
    LLVMMetadataRef node = LLVMMDNodeInContext2(cg->context, wishes, count);
    LLVMMetadataReplaceAllUsesWith(self, node); // names itself: so it is this loop's alone
    unsigned kind = LLVMGetMDKindIDInContext(cg->context, "llvm.loop", 9);
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(bb_last), kind, LLVMMetadataAsValue(cg->context, node));
}

void zf_simt_unroll(zf_cg *cg, const zf_cg_loop *loop, unsigned times) {
    LLVMMetadataRef wishes[2] = {NULL, wish(cg, "llvm.loop.unroll.count", times)};
    tell_loop(cg, loop->bb_next, wishes, 2);
}

void zf_simt_keep_loop(zf_cg *cg, LLVMBasicBlockRef bb_last) {
    LLVMMetadataRef wishes[4] = {NULL, wish(cg, "llvm.loop.unroll.count", 1), wish(cg, "llvm.loop.vectorize.width", 1),
                                 wish(cg, "llvm.loop.interleave.count", 1)};
    tell_loop(cg, bb_last, wishes, 4);
}

void zf_turns_begin(zf_cg *cg, zf_turns *t, LLVMValueRef v_begin, uint32_t step, LLVMValueRef v_stop, const char *name) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg);
    t->bb_body = zf_cg_block(cg, name);
    t->bb_end = zf_cg_block(cg, "turns_end");
    t->v_step = zf_cg_i32(cg, step);
    t->v_stop = v_stop;
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_begin, v_stop), t->bb_body, t->bb_end);
    zf_cg_enter(cg, t->bb_body);
    t->v_i = LLVMBuildPhi(cg->builder, cg->ty_i32, "turn");
    LLVMAddIncoming(t->v_i, &v_begin, &bb_before, 1);
}

void zf_turns_end(zf_cg *cg, zf_turns *t) {
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    LLVMValueRef v_next = zf_cg_add(cg, t->v_i, t->v_step);
    LLVMAddIncoming(t->v_i, &v_next, &bb_last, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, t->v_stop), t->bb_body, t->bb_end);
    LLVMMoveBasicBlockAfter(t->bb_end, bb_last);
    zf_cg_enter(cg, t->bb_end);
}

LLVMValueRef zf_simt_shuffle(zf_kernel_build *lower, LLVMValueRef v, LLVMValueRef v_lane) {
    zf_cg *cg = lower->cg;
    const zf_simt_ops *ops = cg->target->simt;
    LLVMTypeRef ty = LLVMTypeOf(v);
    unsigned bits = LLVMGetIntTypeWidth(ty);
    if (is_half_a_wave(cg)) v_lane = zf_cg_or(cg, v_lane, first_lane(lower));
    if (bits <= 32) return zf_cg_resize(cg, ops->shuffle(cg, zf_cg_resize(cg, v, cg->ty_i32, false), v_lane), ty, false);
    LLVMValueRef v_low = ops->shuffle(cg, zf_cg_resize(cg, v, cg->ty_i32, false), v_lane);
    return zf_cg_both_halves(cg, v_low, ops->shuffle(cg, zf_cg_high_half(cg, v), v_lane));
}

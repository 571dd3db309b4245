// The kernels of a query: which rows a warp has, tile by tile, and what it does with them.
#include "codegen/query/query_kernel.h"

#include <stddef.h>
#include <string.h>

#include "codegen/query/query_square.h"

// ---- The function ---------------------------------------------------------------------------------------------

static void attribute(zf_cg *cg, LLVMValueRef v_function, unsigned argument, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(v_function, argument + 1, LLVMCreateEnumAttribute(cg->context, kind, value));
}

// Scans were fastest on an H200 with four thread blocks of the small form at once, queries that look into inputs with three: they
// spill else, and so do those that read strings. A block of the large form has all registers for itself.
static unsigned registers(const zf_query *query, uint32_t warps) {
    enum { SCANS = 64, OTHERS = 80, LARGE = 72 };
    _Static_assert(LARGE * ZF_QUERY_LARGE_WARPS * ZF_QUERY_LANES <= 65536, "registers of a multiprocessor");
    if (warps == ZF_QUERY_LARGE_WARPS) return LARGE;
    bool looks = query->input_count > 0;
    for (uint32_t c = 0; c < query->column_count; c++) looks = looks || query->columns[c]->type.kind == ZF_K_STRING;
    return looks ? OTHERS : SCANS;
}

LLVMValueRef zf_query_function(zf_cg *cg, const char *name, unsigned threads, unsigned limit,
                               LLVMValueRef v_args[ZF_QUERY_ARGS]) {
    const zf_simt_ops *ops = cg->target->simt;
    unsigned shift = ops->takes_thread ? 1 : 0;
    LLVMTypeRef types[ZF_QUERY_ARGS + 1], ty_global = LLVMPointerTypeInContext(cg->context, ops->global_space);
    types[0] = cg->ty_ptr;
    for (unsigned k = 0; k < ZF_QUERY_ARGS; k++) types[k + shift] = k < ZF_QUERY_ARG_POINTERS ? ty_global : cg->ty_i32;
    LLVMTypeRef ty_function = LLVMFunctionType(cg->ty_void, types, ZF_QUERY_ARGS + shift, 0);
    LLVMValueRef v_function = LLVMAddFunction(cg->module, name, ty_function);
    for (unsigned k = 0; k < ZF_QUERY_ARG_POINTERS; k++) {
        attribute(cg, v_function, k + shift, "noalias", 0);
        if (k == ZF_QUERY_ARG_BASE || k == ZF_QUERY_ARG_FRAME) attribute(cg, v_function, k + shift, "readonly", 0);
    }
    for (unsigned k = 0; k < ZF_QUERY_ARGS; k++) v_args[k] = LLVMGetParam(v_function, k + shift);
    if (ops->kernel != NULL) ops->kernel(cg, v_function, threads, limit);
    return v_function;
}

#define LAUNCH_WORD(member) zf_query_word(b, offsetof(zf_query_launch, member) / sizeof(uint64_t))

// Narrow integers are loaded as such: what is compared with them is then as narrow.
static LLVMValueRef load_param(zf_query_build *b, uint32_t slot) {
    zf_cg *cg = b->cg;
    zf_type type = b->query->inst->params[slot]->type;
    uint32_t at = zf_query_frame_places_of(b->query).params + slot;
    if (!zf_kind_is_integer(type.kind)) return zf_cg_from_word(cg, type, zf_query_word(b, at));
    LLVMValueRef v_at = zf_cg_byte_at(cg, b->v_frame, at * sizeof(uint64_t));
    return zf_cg_load(cg, zf_cg_type(cg, type), v_at, zf_kind_size(type.kind));
}

static void load_frame(zf_query_build *b) {
    zf_cg *cg = b->cg;
    const zf_inst *inst = b->query->inst;
    b->v_first_tile = LAUNCH_WORD(first_tile);
    b->v_tiles = LAUNCH_WORD(tiles);
    b->v_row_begin = LAUNCH_WORD(row_begin);
    b->v_row_end = LAUNCH_WORD(row_end);
    b->v_first_row = LAUNCH_WORD(first_row);
    b->v_counts = zf_cg_at_sink(cg, cg->ty_i8, b->v_out, LAUNCH_WORD(counts));
    b->v_prefix = zf_cg_at_sink(cg, cg->ty_i8, b->v_out, LAUNCH_WORD(prefix));
    b->v_firsts = zf_cg_at_sink(cg, cg->ty_i8, b->v_base, LAUNCH_WORD(firsts));
    b->v_first_count = LAUNCH_WORD(first_count);
    b->v_first_number = LAUNCH_WORD(first);
    b->v_groups = zf_cg_at_sink(cg, cg->ty_i8, b->v_base, LAUNCH_WORD(groups));
    b->v_group_count = LAUNCH_WORD(group_count);
    b->v_first_square = LAUNCH_WORD(first_square);
    b->v_squares = LAUNCH_WORD(squares);
    b->v_pair_sums = zf_cg_at_sink(cg, cg->ty_i8, b->v_out, LAUNCH_WORD(sums));
    b->v_params = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, inst->param_count + 1);
    for (uint32_t p = 0; p < inst->param_count; p++) b->v_params[p] = load_param(b, p);
    zf_query_columns_begin(b);
    zf_query_held_begin(b);
}

static void open_function(zf_query_build *b, const char *name, unsigned limit) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_args[ZF_QUERY_ARGS];
    LLVMValueRef v_function = zf_query_function(cg, name, b->warps * ZF_QUERY_LANES, limit, v_args);
    zf_cg_begin_function(cg, v_function);
    b->bb_entry = zf_cg_block(cg, "entry");
    b->bb_begin = zf_cg_block(cg, "begin");
    zf_cg_enter(cg, b->bb_begin);
    b->v_base = v_args[ZF_QUERY_ARG_BASE];
    b->v_frame = v_args[ZF_QUERY_ARG_FRAME];
    b->v_out = v_args[ZF_QUERY_ARG_OUT];
    b->v_failure = v_args[ZF_QUERY_ARG_FAILURE];
    b->v_thread = cg->target->simt->thread(cg);
    b->simt = (zf_simt_state){.v_thread = b->v_thread, .bb_leave = zf_cg_block(cg, "leave")};
    b->lower = (zf_kernel_build){.cg = cg, .simt = &b->simt, .ops = &zf_simt_kernel_ops, .v_body = v_function};
    b->v_lane = zf_cg_and(cg, b->v_thread, zf_cg_i32(cg, ZF_QUERY_LANES - 1));
    b->v_warp = LLVMBuildLShr(cg->builder, b->v_thread, zf_cg_i32(cg, zf_simt_lane_bits_of(cg)), "");
    b->v_any = zf_cg_alloca(cg, cg->ty_i1, "any");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), b->v_any);
    b->v_selected = zf_cg_alloca(cg, cg->ty_i64, "selected");
    load_frame(b);
}

// ---- Rows of a tile -------------------------------------------------------------------------------------------

// Tiles from the one at hand on, whose rows all count, that lie in the same blocks and are the warp's: at least one.
static LLVMValueRef stretch(zf_query_build *b) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_tile = zf_cg_i64(cg, zf_codegen_query_tile(b->query));
    LLVMValueRef v_count = LLVMBuildUDiv(cg->builder, zf_cg_sub(cg, b->v_row_end, b->v_row0), v_tile, "");
    v_count = zf_cg_umin(cg, v_count, zf_cg_sub(cg, b->v_tiles_end, b->v_tile));
    for (uint32_t c = 0; c < b->query->column_count; c++) {
        const zf_query_column_build *column = &b->columns[c];
        if (column->fused) v_count = zf_cg_umin(cg, v_count, zf_cg_sub(cg, column->v_block_tiles, column->of.v_tile));
    }
    LLVMBuildStore(cg->builder, zf_cg_add(cg, b->v_tile, v_count), b->v_next_tile);
    return v_count;
}

// All rows of a stretch exist and count: each lane has several that follow each other.
static void rows_together(zf_query_build *b) {
    enum { STEP = ZF_QUERY_LANES * ZF_QUERY_TOGETHER, AHEAD = 16 };
    zf_cg *cg = b->cg;
    LLVMValueRef v_rows[ZF_QUERY_TOGETHER], v_mine = zf_cg_mul(cg, b->v_lane, zf_cg_i32(cg, ZF_QUERY_TOGETHER));
    LLVMValueRef v_step = zf_cg_i32(cg, STEP), v_each = zf_cg_i32(cg, (uint32_t)zf_codegen_query_tile(b->query) / STEP);
    LLVMValueRef v_steps = zf_cg_mul(cg, zf_cg_low_half(cg, stretch(b)), v_each),
                 v_last = zf_cg_sub(cg, v_steps, zf_cg_i32(cg, 1));
    zf_simt_ahead ahead = {.bb_before = zf_cg_block(cg, "steps_ahead"), .v_begin = v_mine, .room = AHEAD};
    LLVMBasicBlockRef bb_steps = zf_cg_block(cg, "steps");
    zf_cg_br(cg, ahead.bb_before);
    zf_cg_enter(cg, bb_steps);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i32(cg, 0), v_steps, "step");
    LLVMValueRef v_near = zf_cg_wide(cg, zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, v_step), v_mine));
    LLVMValueRef v_next = zf_cg_umin(cg, zf_cg_add(cg, loop.v_i, zf_cg_i32(cg, 1)), v_last);
    ahead.v_next = zf_cg_add(cg, zf_cg_mul(cg, v_next, v_step), v_mine);
    LLVMValueRef v_first = zf_cg_add(cg, b->v_row0, v_near);
    for (unsigned k = 0; k < ZF_QUERY_TOGETHER; k++) v_rows[k] = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
    zf_query_rows(b, v_rows, ZF_QUERY_TOGETHER, v_near, zf_cg_icmp(cg, LLVMIntEQ, loop.v_i, v_last), &ahead);
    zf_cg_loop_end(cg, &loop);
    LLVMBasicBlockRef bb_done = zf_cg_here(cg);
    zf_cg_enter(cg, ahead.bb_before);
    zf_cg_br(cg, bb_steps);
    zf_cg_enter(cg, bb_done);
}

// Builds `pass` for a row, if it is among those that count.
static void row_alone(zf_query_build *b, LLVMValueRef v_row, LLVMValueRef v_counts, zf_query_pass pass) {
    zf_cg *cg = b->cg;
    LLVMBasicBlockRef bb_row = zf_cg_block(cg, "row"), bb_end = zf_cg_block(cg, "row_end");
    zf_cg_cond_br(cg, v_counts, bb_row, bb_end);
    zf_cg_enter(cg, bb_row);
    b->pass = pass;
    zf_query_rows(b, &v_row, 1, NULL, NULL, NULL);
    zf_cg_br(cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

// Rows that `select` appends lie behind those of the lanes before, and those behind v_behind, which moves on.
static void append_rows(zf_query_build *b, LLVMValueRef v_row, LLVMValueRef v_counts, LLVMValueRef v_behind, bool count_only) {
    zf_cg *cg = b->cg;
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), b->v_selected);
    row_alone(b, v_row, v_counts, ZF_QUERY_COUNT);
    LLVMValueRef v_mine = zf_cg_get(cg, b->v_selected), v_up = zf_simt_scan_warp(&b->lower, v_mine, b->v_lane);
    LLVMValueRef v_all = zf_simt_shuffle(&b->lower, v_up, zf_cg_i32(cg, ZF_QUERY_LANES - 1)), v_before = zf_cg_get(cg, v_behind);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_before, v_all), v_behind);
    if (count_only) return;
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_before, zf_cg_sub(cg, v_up, v_mine)), b->v_selected);
    row_alone(b, v_row, v_counts, ZF_QUERY_GIVE);
}

// A lane has each 32nd row, one after the other, as sums of floats have them.
static void rows_alone(zf_query_build *b, LLVMValueRef v_behind, bool count_only) {
    zf_cg *cg = b->cg;
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, zf_codegen_query_tile(b->query) / ZF_QUERY_LANES), "turn");
    LLVMValueRef v_row = zf_cg_add(cg, zf_cg_mul(cg, loop.v_i, zf_cg_i64(cg, ZF_QUERY_LANES)), zf_cg_wide(cg, b->v_lane));
    v_row = zf_cg_add(cg, b->v_row0, v_row);
    LLVMValueRef v_counts =
        zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntUGE, v_row, b->v_row_begin), zf_cg_icmp(cg, LLVMIntULT, v_row, b->v_row_end));
    if (v_behind != NULL)
        append_rows(b, v_row, v_counts, v_behind, count_only);
    else
        row_alone(b, v_row, v_counts, ZF_QUERY_GIVE);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
}

static LLVMValueRef is_whole(zf_query_build *b) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_end = zf_cg_add(cg, b->v_row0, zf_cg_i64(cg, zf_codegen_query_tile(b->query)));
    return zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntUGE, b->v_row0, b->v_row_begin), zf_cg_icmp(cg, LLVMIntULE, v_end, b->v_row_end));
}

// Rows of a tile that is cut are built first: they tell how large the code of several rows would be.
static void plain_rows(zf_query_build *b) {
    enum { MOST_EMITTED = 40000 };
    zf_cg *cg = b->cg;
    b->pass = ZF_QUERY_GIVE;
    if (!zf_query_rows_together(b->query)) {
        rows_alone(b, NULL, false);
        return;
    }
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "whole"), bb_cut = zf_cg_block(cg, "cut"), bb_end = zf_cg_block(cg, "rows_done");
    uint64_t before = cg->emitted;
    zf_cg_cond_br(cg, is_whole(b), bb_whole, bb_cut);
    zf_cg_enter(cg, bb_cut);
    rows_alone(b, NULL, false);
    zf_cg_br(cg, bb_end);
    bool large = (cg->emitted - before) * ZF_QUERY_TOGETHER > MOST_EMITTED;
    zf_cg_enter(cg, bb_whole);
    if (!large) rows_together(b);
    zf_cg_br(cg, large ? bb_cut : bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
}

static void selecting_rows(zf_query_build *b, bool count_only) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_behind = zf_cg_alloca(cg, cg->ty_i64, "behind"), v_begin = zf_cg_i64(cg, 0);
    if (!count_only) v_begin = zf_cg_load(cg, cg->ty_i64, zf_cg_at(cg, cg->ty_i64, b->v_prefix, b->v_tile), sizeof(uint64_t));
    LLVMBuildStore(cg->builder, v_begin, v_behind);
    rows_alone(b, v_behind, count_only);
    if (!count_only) return;
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "count"), bb_end = zf_cg_block(cg, "counted");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, b->v_lane, zf_cg_i32(cg, 0)), bb_store, bb_end);
    zf_cg_enter(cg, bb_store);
    LLVMValueRef v_count = zf_cg_get(cg, v_behind);
    zf_cg_store(cg, v_count, zf_cg_at(cg, cg->ty_i64, b->v_counts, b->v_tile), sizeof(uint64_t));
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_end);
}

// ---- Tiles ----------------------------------------------------------------------------------------------------

void zf_query_report(zf_query_build *b) {
    zf_cg *cg = b->cg;
    LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "failed"), bb_well = zf_cg_block(cg, "well");
    zf_cg_cond_br(cg, zf_cg_get(cg, b->v_any), bb_failed, bb_well);
    zf_cg_enter(cg, bb_failed);
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpUMin, b->v_failure, b->v_row0, LLVMAtomicOrderingMonotonic, 0);
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), b->v_any);
    zf_cg_br(cg, bb_well);
    zf_cg_enter(cg, bb_well);
}

static void build_tile(zf_query_build *b, bool count_only) {
    zf_cg *cg = b->cg;
    LLVMBasicBlockRef *bb_setups = ZF_NEW_ARRAY(cg->arena, LLVMBasicBlockRef, b->query->column_count + 1);
    LLVMBasicBlockRef bb_body = zf_cg_block(cg, "tile_body"), bb_tile = zf_cg_here(cg);
    b->v_row0 = zf_cg_mul(cg, zf_cg_add(cg, b->v_first_tile, b->v_tile), zf_cg_i64(cg, zf_codegen_query_tile(b->query)));
    zf_query_columns_tile(b, bb_setups);
    zf_cg_enter(cg, bb_tile);
    zf_cg_br(cg, b->query->column_count > 0 ? bb_setups[0] : bb_body);
    zf_cg_enter(cg, bb_body);
    if (!count_only) zf_query_held_tile(b);
    if (b->query->pairs != NULL) zf_query_pairs_tile(b);
    if (b->query->selected_count > 0)
        selecting_rows(b, count_only);
    else
        plain_rows(b);
    if (!count_only) zf_query_held_tile_end(b);
    zf_query_report(b);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_query_columns_tile_end(b, bb_setups, bb_body);
    zf_cg_enter(cg, bb_last);
}

// Fills shared memory.
static void make_ready(zf_query_build *b, uint32_t kernel) {
    uint32_t offset = 0;
    bool shared = kernel == ZF_QUERY_KERNEL_GIVE && zf_query_held_ready(b, &offset);
    b->queues_at = zf_query_inputs_ready(b, offset);
    b->queues_end = b->queues_at + zf_codegen_query_queues(b->query, b->warps);
    shared = shared || b->queues_at > offset;
    if (shared) zf_simt_barrier(&b->lower, "shared memory before the first row");
}

LLVMValueRef zf_query_steps_begin(zf_cg *cg, zf_cg_loop *loop, LLVMValueRef v_from, LLVMValueRef v_step, LLVMValueRef v_end,
                                  const char *name) {
    LLVMValueRef v_left = zf_cg_sub(cg, v_end, zf_cg_umin(cg, v_from, v_end));
    v_left = zf_cg_add(cg, v_left, zf_cg_sub(cg, v_step, zf_cg_i64(cg, 1)));
    zf_cg_loop_begin(cg, loop, zf_cg_i64(cg, 0), LLVMBuildUDiv(cg->builder, v_left, v_step, ""), name);
    return zf_cg_add(cg, v_from, zf_cg_mul(cg, loop->v_i, v_step));
}

// All warps make chunks of several tiles in turn, as many as 16 bits count the rows of: behind each chunk its queues are emptied,
// with few rows a turn. A last round is divided into chunks of one size: if some had a tile more, most of them would begin at
// places where blocks cut them in two.
static LLVMValueRef chunks_begin(zf_query_build *b, LLVMValueRef v_warp, LLVMValueRef v_warps, zf_cg_loop *loop) {
    enum { MOST = 32 };
    _Static_assert(MOST * 2 * ZF_QUERY_TILE <= UINT16_MAX + 1, "rows that wait are numbers of 16 bits");
    zf_cg *cg = b->cg;
    LLVMValueRef v_most = zf_cg_i64(cg, MOST), v_one = zf_cg_i64(cg, 1), v_round = zf_cg_mul(cg, v_warps, v_most);
    LLVMValueRef v_rounds = LLVMBuildUDiv(cg->builder, b->v_tiles, v_round, "");
    LLVMValueRef v_rest = zf_cg_sub(cg, b->v_tiles, zf_cg_mul(cg, v_rounds, v_round));
    LLVMValueRef v_each = zf_cg_add(cg, v_rest, zf_cg_sub(cg, v_warps, v_one));
    v_each = LLVMBuildUDiv(cg->builder, v_each, v_warps, "");
    zf_cg_loop_begin(cg, loop, zf_cg_i64(cg, 0), zf_cg_add(cg, v_rounds, v_one), "chunk");
    LLVMValueRef v_chunk = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, loop->v_i, v_rounds), v_most, v_each);
    LLVMValueRef v_from = zf_cg_add(cg, zf_cg_mul(cg, loop->v_i, v_round), zf_cg_mul(cg, v_warp, v_chunk));
    b->v_tiles_end = zf_cg_umin(cg, zf_cg_add(cg, v_from, v_chunk), b->v_tiles);
    return v_from;
}

static void run_stretches(zf_query_build *b, LLVMValueRef v_warp, LLVMValueRef v_warps) {
    zf_cg *cg = b->cg;
    LLVMBasicBlockRef bb_head = zf_cg_block(cg, "stretch_head"), bb_stretch = zf_cg_block(cg, "stretch"),
                      bb_end = zf_cg_block(cg, "stretches_end");
    zf_cg_loop loop;
    LLVMValueRef v_from = chunks_begin(b, v_warp, v_warps, &loop);
    b->v_next_tile = zf_cg_alloca(cg, cg->ty_i64, "next_tile");
    LLVMBuildStore(cg->builder, v_from, b->v_next_tile);
    zf_cg_br(cg, bb_head);
    zf_cg_enter(cg, bb_head);
    b->v_tile = zf_cg_get(cg, b->v_next_tile);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, b->v_tile, b->v_tiles_end), bb_stretch, bb_end);
    zf_cg_enter(cg, bb_stretch);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, b->v_tile, zf_cg_i64(cg, 1)), b->v_next_tile); // where rows_together does not
    build_tile(b, false);
    zf_cg_br(cg, bb_head);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    zf_cg_loop_end(cg, &loop);
}

static void run_tiles(zf_query_build *b, uint32_t kernel, LLVMValueRef v_groups) {
    zf_cg *cg = b->cg;
    LLVMValueRef v_each = zf_cg_i32(cg, b->warps);
    LLVMValueRef v_warps = zf_cg_wide(cg, zf_cg_mul(cg, v_groups, v_each));
    LLVMValueRef v_warp = zf_cg_wide(cg, zf_cg_add(cg, zf_cg_mul(cg, cg->target->simt->group(cg), v_each), b->v_warp));
    make_ready(b, kernel);
    if (zf_query_rows_together(b->query)) {
        run_stretches(b, v_warp, v_warps);
    } else {
        zf_cg_loop loop;
        b->v_tile = zf_query_steps_begin(cg, &loop, v_warp, v_warps, b->v_tiles, "tile");
        build_tile(b, kernel == ZF_QUERY_KERNEL_COUNT);
        zf_cg_loop_end(cg, &loop);
    }
    if (kernel == ZF_QUERY_KERNEL_GIVE) zf_query_held_end(b);
}

static void build_kernel(zf_query_build *b, uint32_t kernel) {
    enum { OF_SQUARES = 128 }; // 16 pairs a thread; two thread blocks at once
    zf_cg *cg = b->cg;
    char name[24];
    bool squares = kernel == ZF_QUERY_KERNEL_SQUARES;
    zf_lower_kernel_name(zf_query_kernel_number(b->query, kernel), name);
    open_function(b, name, squares ? OF_SQUARES : registers(b->query, b->warps));
    unsigned shift = cg->target->simt->takes_thread ? 1 : 0;
    LLVMValueRef v_groups = LLVMGetParam(cg->function, ZF_QUERY_ARG_GROUPS + shift);
    if (squares)
        zf_query_squares(b, v_groups);
    else
        run_tiles(b, kernel, v_groups);
    zf_cg_br(cg, b->simt.bb_leave);
    LLVMMoveBasicBlockAfter(b->simt.bb_leave, LLVMGetLastBasicBlock(cg->function));
    zf_cg_enter(cg, b->simt.bb_leave);
    LLVMBuildRetVoid(cg->builder);
    zf_cg_enter(cg, b->bb_entry);
    zf_cg_br(cg, b->bb_begin);
    if (cg->target->simt->finish != NULL) cg->target->simt->finish(cg, cg->function);
}

void zf_cg_query_kernels(zf_cg *cg, const zf_query_kernels_request *request) {
    cg->wave = ZF_QUERY_LANES;
    cg->shared_given = zf_query_shared_bytes(request) > ZF_QUERY_SHARED;
    for (uint32_t k = 0; k < ZF_QUERY_KERNELS; k++) {
        if (k == ZF_QUERY_KERNEL_COUNT && request->query->selected_count == 0) continue;
        if (k == ZF_QUERY_KERNEL_SQUARES && !request->squares) continue;
        zf_query_build b = {.cg = cg,
                            .query = request->query,
                            .sources = request->sources,
                            .shapes = request->shapes,
                            .shared_inputs = request->shared_inputs,
                            .warps = request->warps};
        if (request->squares) b.sum = zf_query_square_of(request->query).sum;
        build_kernel(&b, k);
    }
}

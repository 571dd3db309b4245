// Values that are more than their elements.
//
// Nullable ones are a value (0 where it is null) and a bit. In a work buffer that bit is a byte, so that any tile can store it; a
// column's tile collects bytes and packs them at its end.
//
// Strings are handles in a work buffer: where the bytes lie (in a stream, or in another work buffer, which stay where they are as
// long as the block is decoded) and how many; on accelerators short ones may have their bytes there (simt_handles.h). Those of a
// column are copied, one behind the other, unless they are what an earlier kernel made there. Where a tile's bytes begin is a
// field of the seek state like any other, so the next state says where they end, and no length, whatever the data say, leads
// beyond that.
//
// On accelerators this is what one thread does that makes a tile alone; simt_store.c has what a warp does.
#include "codegen/body/cg_frame.h"
#include "codegen/kernel/kernel.h"

static bool to_column(const zf_kernel_build *lower) { return lower->kernel->sink < 0; }

static bool is_text(const zf_kernel_build *lower) { return lower->type.kind == ZF_K_STRING; }

static bool is_simt(const zf_kernel_build *lower) { return lower->cg->target->simt != NULL; }

// ---- Where ----------------------------------------------------------------------------------------------------

// Bytes that elements take, as zf_work_buffer_bytes lays a nullable work buffer out.
static LLVMValueRef values_end(zf_kernel_build *lower, uint32_t edge) {
    zf_cg *cg = lower->cg;
    zf_type type = lower->graph->edges[edge].type;
    LLVMValueRef v_count = zf_lower_count(lower, edge), v_bytes;
    unsigned size = type.kind == ZF_K_STRING ? ZF_HANDLE_BYTES : zf_kind_size(type.kind);
    if (type.kind == ZF_K_BOOL)
        v_bytes = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_count, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
    else
        v_bytes = zf_cg_mul(cg, v_count, zf_cg_i64(cg, size));
    return zf_cg_and(cg, zf_cg_add(cg, v_bytes, zf_cg_i64(cg, 63)), zf_cg_i64(cg, ~(uint64_t)63));
}

LLVMValueRef zf_lower_validity_pointer(zf_kernel_build *lower, uint32_t edge) {
    zf_lower_count(lower, edge); // its word is loaded before the block below is entered
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v_work = lower->v_works[lower->plan->edge_work[edge]];
    LLVMValueRef v = zf_cg_at(lower->cg, lower->cg->ty_i8, v_work, values_end(lower, edge));
    zf_lower_setup_end(lower, bb_before);
    return v;
}

static LLVMValueRef tile_bytes(zf_kernel_build *lower, const char *name) {
    return zf_cg_alloca(lower->cg, LLVMArrayType2(lower->cg->ty_i8, lower->kernel->tile + ZF_STRIP), name);
}

// ---- Strings of a column --------------------------------------------------------------------------------------

static LLVMValueRef tile_follows(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_next = zf_cg_add(cg, tiles->v_tile, zf_cg_i64(cg, 1));
    return zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, lower->v_tiles), "tiles that another follows");
}

// Where the rows' slices of the column's characters begin is where the column's bytes do. A range of rows may begin with any
// tile.
static void check_start(zf_kernel_build *lower, const zf_lower_tiles *tiles, LLVMValueRef v_byte) {
    zf_cg *cg = lower->cg;
    const zf_work *characters = zf_plan_characters(lower->plan);
    if (characters == NULL) return;
    int32_t field = zf_lower_field(lower, ZF_SEEK_SCAN, lower->kernel->root, characters->start->index);
    LLVMValueRef v_start = zf_cg_alloca(cg, cg->ty_i64, "start");
    LLVMBuildStore(cg->builder, v_byte, v_start); // a recording leaves it
    zf_lower_seek(lower, (uint32_t)field, zf_type_of(ZF_K_U64), tiles->v_tile, zf_cg_i64(cg, 0), v_start);
    LLVMValueRef v_differs = zf_cg_icmp(cg, LLVMIntNE, LLVMBuildLoad2(cg->builder, cg->ty_i64, v_start, ""), v_byte);
    zf_lower_check(lower, v_differs, (uint32_t)lower->kernel->end_check, "where rows begin in the characters");
}

// The tile's bytes, from the states at both its ends. A recording knows the first alone.
static void begin_text(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    zf_cg *cg = lower->cg;
    zf_delivery *d = &lower->delivery;
    LLVMValueRef v_all = zf_lower_word(lower, ZF_SLOT_CHARACTERS, 0, 0), v_end = zf_cg_alloca(cg, cg->ty_i64, "text_end");
    d->bytes_field = zf_lower_root_field(lower, ZF_SEEK_BYTES);
    if (d->v_byte == NULL) d->v_byte = zf_cg_alloca(cg, cg->ty_i64, "byte");
    zf_lower_seek(lower, d->bytes_field, zf_type_of(ZF_K_U64), tiles->v_tile, zf_cg_i64(cg, 0), d->v_byte);
    LLVMBuildStore(cg->builder, v_all, v_end);
    LLVMBasicBlockRef bb_look = zf_cg_block(cg, "text_look"), bb_known = zf_cg_block(cg, "text_known");
    LLVMValueRef v_look = zf_cg_and(cg, tile_follows(lower, tiles), zf_cg_not(cg, zf_lower_is_recording(lower)));
    zf_cg_cond_br(cg, v_look, bb_look, bb_known);
    zf_cg_enter(cg, bb_look);
    LLVMBuildStore(cg->builder, zf_lower_seek_entry(lower, d->bytes_field, tiles->v_tile), v_end);
    zf_cg_br(cg, bb_known);
    zf_cg_enter(cg, bb_known);
    d->v_end = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_end, "");
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i64, d->v_byte, "");
    LLVMValueRef v_before = zf_cg_icmp(cg, LLVMIntULT, v_byte, lower->v_byte_begin);
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGT, d->v_end, lower->v_byte_end);
    LLVMValueRef v_lies = zf_cg_or(cg, zf_cg_icmp(cg, LLVMIntUGT, v_byte, d->v_end), zf_cg_or(cg, v_before, v_behind));
    // A tile whose states cannot be has no bytes, so none of its strings fits, and it does not end in the next state.
    LLVMValueRef v_sane = zf_cg_within(cg, zf_cg_not(cg, v_lies), "bytes that have a place");
    d->v_end = zf_cg_select(cg, v_sane, d->v_end, v_byte);
    check_start(lower, tiles, v_byte);
}

static void copy_bytes(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from, LLVMValueRef v_length) {
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_length, "text_byte");
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, v_from, loop.v_i), 1);
    zf_cg_store(cg, v, zf_cg_at_sink(cg, cg->ty_i8, v_to, loop.v_i), 1);
    zf_cg_loop_end(cg, &loop);
}

void zf_lower_copy_step(zf_cg *cg, LLVMValueRef v_to, LLVMValueRef v_from) {
    zf_cg_store(cg, zf_cg_load(cg, cg->ty_i128, v_from, 1), v_to, 1);
}

void zf_lower_copy_text(zf_kernel_build *lower, LLVMValueRef v_to, LLVMValueRef v_from, LLVMValueRef v_length,
                        LLVMValueRef v_room) {
    enum { STEP = ZF_TEXT_STEP, LONG = 128 };
    zf_cg *cg = lower->cg;
    if (is_simt(lower)) {
        copy_bytes(cg, v_to, v_from, v_length);
        return;
    }
    LLVMBasicBlockRef bb_step = zf_cg_block(cg, "text_short"), bb_other = zf_cg_block(cg, "text_other"),
                      bb_some = zf_cg_block(cg, "text_some"), bb_steps = zf_cg_block(cg, "text_steps"),
                      bb_exact = zf_cg_block(cg, "text_exact"), bb_done = zf_cg_block(cg, "text_done");
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_step = zf_cg_i64(cg, STEP);
    LLVMValueRef v_one = zf_cg_icmp(cg, LLVMIntULT, zf_cg_sub(cg, v_length, zf_cg_i64(cg, 1)), v_step);
    LLVMValueRef v_fit = zf_cg_icmp(cg, LLVMIntUGE, v_room, v_step);
    zf_cg_cond_br(cg, zf_cg_and(cg, v_one, zf_cg_within(cg, v_fit, "room for a short string")), bb_step, bb_other);
    zf_cg_enter(cg, bb_step);
    zf_lower_copy_step(cg, v_to, v_from);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_other);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntNE, v_length, v_zero), bb_some, bb_done);
    zf_cg_enter(cg, bb_some);
    LLVMValueRef v_steps = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_length, zf_cg_i64(cg, STEP - 1)), zf_cg_i64(cg, 4), "");
    LLVMValueRef v_short = zf_cg_icmp(cg, LLVMIntULE, v_length, zf_cg_i64(cg, LONG));
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, LLVMBuildShl(cg->builder, v_steps, zf_cg_i64(cg, 4), ""), v_room);
    v_fits = zf_cg_and(cg, v_short, zf_cg_within(cg, v_fits, "room for sixteen bytes in the tile's"));
    zf_cg_cond_br(cg, v_fits, bb_steps, bb_exact);
    zf_cg_enter(cg, bb_steps);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, v_zero, v_steps, "text_step");
    LLVMValueRef v_at = LLVMBuildShl(cg->builder, loop.v_i, zf_cg_i64(cg, 4), "");
    zf_lower_copy_step(cg, zf_cg_at_sink(cg, cg->ty_i8, v_to, v_at), zf_cg_at(cg, cg->ty_i8, v_from, v_at));
    zf_cg_loop_end(cg, &loop);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_exact);
    LLVMBuildMemCpy(cg->builder, v_to, 1, v_from, 1, v_length);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// The end of a string that begins at v_byte; ranges of rows on accelerators leave those out that are not wanted.
static void store_offset(zf_kernel_build *lower, LLVMValueRef v_index, LLVMValueRef v_byte, LLVMValueRef v_next) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_at = zf_cg_at_sink(cg, cg->ty_i64, lower->v_offsets, v_index);
    LLVMBasicBlockRef bb_stored = NULL;
    if (lower->v_row_begin != NULL) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "wanted"), bb_first = zf_cg_block(cg, "first_wanted"),
                          bb_end = zf_cg_block(cg, "offset");
        bb_stored = zf_cg_block(cg, "stored");
        zf_cg_cond_br(cg, zf_lower_row_wanted(lower, v_index, lower->v_row_end), bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
        zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_index, lower->v_row_begin), bb_first, bb_end);
        zf_cg_enter(cg, bb_first);
        zf_cg_store(cg, zf_cg_add(cg, v_byte, lower->v_offset_base), v_at, 8);
        zf_cg_br(cg, bb_end);
        zf_cg_enter(cg, bb_end);
    }
    zf_cg_store(cg, zf_cg_add(cg, v_next, lower->v_offset_base), zf_cg_at_sink(cg, cg->ty_i64, v_at, zf_cg_i64(cg, 1)), 8);
    if (bb_stored == NULL) return;
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

static void deliver_text(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i64, d->v_byte, ""), v_length = value.seq.v_length;
    if (lower->type.nullable) v_length = zf_cg_select(cg, value.v_valid, v_length, zf_cg_i64(cg, 0));
    LLVMValueRef v_room = zf_cg_sub(cg, d->v_end, v_byte);
    LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_length, v_room);
    zf_lower_check_end(lower, v_over, "bytes of a string beyond its tile's");
    v_length = zf_cg_select(cg, v_over, zf_cg_i64(cg, 0), v_length);
    LLVMValueRef v_next = zf_cg_add(cg, v_byte, v_length);
    LLVMBuildStore(cg->builder, v_next, d->v_byte);
    store_offset(lower, v_index, v_byte, v_next);
    const zf_work *characters = zf_plan_characters(lower->plan);
    if (characters != NULL && is_simt(lower)) return; // they are there
    LLVMBasicBlockRef bb_there = NULL;
    if (characters != NULL) { // on the host they are where there is no buffer
        LLVMBasicBlockRef bb_copy = zf_cg_block(cg, "text_elsewhere");
        bb_there = zf_cg_block(cg, "text_there");
        zf_cg_cond_br(cg, LLVMBuildIsNull(cg->builder, lower->v_works[characters - lower->plan->works], ""), bb_there, bb_copy);
        zf_cg_enter(cg, bb_copy);
    }
    zf_lower_copy_text(lower, zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_byte), zf_cg_text_pointer(cg, &value.seq), v_length,
                       v_room);
    if (bb_there == NULL) return;
    zf_cg_br(cg, bb_there);
    zf_cg_enter(cg, bb_there);
}

// The bytes end in the next state, those of the last tile with the block's. An earlier failure takes precedence, because it
// causes later ones.
static void end_text(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    LLVMBasicBlockRef bb_check = zf_cg_block(cg, "text_check"), bb_checked = zf_cg_block(cg, "text_checked");
    zf_cg_cond_br(cg, zf_lower_none_failed(lower), bb_check, bb_checked);
    zf_cg_enter(cg, bb_check);
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i64, d->v_byte, "");
    zf_lower_seek_end(lower, d->bytes_field, tiles->v_tile, v_byte);
    LLVMValueRef v_wrong = zf_cg_icmp(cg, LLVMIntNE, v_byte, zf_lower_word(lower, ZF_SLOT_CHARACTERS, 0, 0));
    v_wrong = zf_cg_and(cg, v_wrong, zf_cg_not(cg, tile_follows(lower, tiles)));
    zf_lower_check(lower, v_wrong, (uint32_t)lower->kernel->end_check, "bytes behind the last tile's");
    zf_lower_report(lower, tiles->v_lo);
    zf_cg_br(cg, bb_checked);
    zf_cg_enter(cg, bb_checked);
}

// ---- A tile ---------------------------------------------------------------------------------------------------

void zf_lower_deliver_begin(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    zf_delivery *d = &lower->delivery;
    d->v_lo = tiles->v_lo;
    if (lower->type.nullable && is_simt(lower)) {
        if (!to_column(lower)) d->v_valid = zf_lower_validity_pointer(lower, lower->kernel->edge);
        d->v_valid_byte = zf_cg_alloca(lower->cg, lower->cg->ty_i8, "valid");
        d->v_bools_byte = zf_cg_alloca(lower->cg, lower->cg->ty_i8, "bools");
    } else if (lower->type.nullable) {
        d->v_valid = to_column(lower) ? tile_bytes(lower, "valid") : zf_lower_validity_pointer(lower, lower->kernel->edge);
        d->v_bools = lower->type.kind == ZF_K_BOOL ? tile_bytes(lower, "bools") : NULL;
    }
    if (is_text(lower) && to_column(lower)) begin_text(lower, tiles);
}

void zf_lower_store_handle(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_at = zf_cg_at(cg, LLVMArrayType2(cg->ty_i64, ZF_HANDLE_BYTES / 8), lower->v_sink, v_index);
    lower->ops->string_store(lower, zf_lower_text_address(lower, &value), value.seq.v_length, v_at);
}

void zf_lower_store_valid_byte(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v = zf_cg_resize(cg, value.v_valid, cg->ty_i8, false);
    zf_cg_store(cg, v, zf_cg_at(cg, cg->ty_i8, lower->delivery.v_valid, v_index), 1);
}

static void store_validity(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index, LLVMValueRef v_here) {
    zf_cg *cg = lower->cg;
    if (!to_column(lower)) {
        zf_lower_store_valid_byte(lower, value, v_index);
    } else if (is_simt(lower)) {
        LLVMValueRef v = zf_cg_resize(cg, value.v_valid, cg->ty_i8, false);
        zf_lower_append_bit(lower, lower->v_validity, v, v_index, lower->delivery.v_valid_byte);
    } else {
        zf_lower_store_valid_byte(lower, value, v_here);
    }
}

static void store_bool(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index, LLVMValueRef v_here) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    LLVMValueRef v = zf_cg_resize(cg, value.v, cg->ty_i8, false);
    if (is_simt(lower))
        zf_lower_append_bit(lower, lower->v_sink, v, v_index, d->v_bools_byte);
    else
        zf_cg_store(cg, v, zf_cg_at(cg, cg->ty_i8, d->v_bools, v_here), 1);
}

bool zf_lower_can_deliver(zf_kernel_build *lower, const zf_cg_value *value) {
    bool whole = value->type.kind == lower->type.kind && !value->is_seq;
    whole = whole && (is_text(lower) ? value->seq.v_length != NULL : value->v != NULL);
    if (whole && (!lower->type.nullable || value->v_valid != NULL)) return true;
    zf_cg_unsupported(lower->cg, lower->graph->column->span, "only plain values can be stored");
    return false;
}

bool zf_lower_deliver(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index) {
    if (!lower->type.nullable && !is_text(lower)) return false;
    if (!zf_lower_can_deliver(lower, &value)) return true;
    LLVMValueRef v_here = zf_cg_sub(lower->cg, v_index, lower->delivery.v_lo);
    if (lower->type.nullable) store_validity(lower, value, v_index, v_here);
    if (is_text(lower) && to_column(lower)) {
        deliver_text(lower, value, v_index);
    } else if (is_text(lower)) {
        zf_lower_store_handle(lower, value, v_index);
    } else if (lower->type.kind == ZF_K_BOOL) {
        store_bool(lower, value, v_index, v_here);
    } else {
        value.type.nullable = false;
        zf_lower_store_element(lower, value, lower->v_sink, v_index);
    }
    return true;
}

void zf_lower_deliver_end(zf_kernel_build *lower, const zf_lower_tiles *tiles) {
    const zf_delivery *d = &lower->delivery;
    if (is_text(lower) && to_column(lower)) end_text(lower, tiles);
    if (!lower->type.nullable || is_simt(lower)) return;
    if (d->v_bools != NULL) zf_lower_store_tile_bits(lower, d->v_bools, tiles->v_lo, tiles->v_hi);
    if (to_column(lower)) zf_lower_pack_bits(lower, lower->v_validity, d->v_valid, tiles->v_lo, tiles->v_hi);
}

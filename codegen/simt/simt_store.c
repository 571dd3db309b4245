// Storing what a warp's lanes made, C contiguous elements each: rows of which all are wanted, and rows that are cut.
//
// Elements are stored as vectors. Booleans, and the validity of a column, are bits: lanes whose bits share a byte join them by
// shuffles. In a work buffer validity is a byte, and a string is a handle. Strings of a column are copied by all lanes together
// (simt_text.c), behind one another from the tile's place on, which its state gives. Where bits or strings are stored, all
// lanes of the warp therefore take part, including those without an element.
#include "codegen/simt/simt_handles.h"
#include "codegen/simt/simt_text_handles.h"

static bool to_column(const zf_kernel_build *lower) { return lower->kernel->sink < 0; }

bool zf_simt_delivers_text(zf_type type, const zf_kernel *kernel) { return type.kind == ZF_K_STRING && kernel->sink < 0; }

static bool is_text(const zf_kernel_build *lower) { return zf_simt_delivers_text(lower->type, lower->kernel); }

// All lanes take part.
static bool together(const zf_kernel_build *lower) { return is_text(lower) || (lower->type.nullable && to_column(lower)); }

// ---- Elements -------------------------------------------------------------------------------------------------

static zf_cg_value plain(zf_cg_value value) {
    value.type.nullable = false;
    return value;
}

static LLVMValueRef bit_of(zf_kernel_build *lower, LLVMValueRef v_bool, unsigned k) {
    zf_cg *cg = lower->cg;
    return LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_bool, cg->ty_i8, false), LLVMConstInt(cg->ty_i8, k, 0), "");
}

static void store_bits(zf_kernel_build *lower, LLVMValueRef v_byte, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_index, zf_cg_i64(cg, 3), "");
    zf_cg_store(cg, v_byte, zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_at), 1);
}

static void store_elements(zf_kernel_build *lower, const zf_cg_value *values, unsigned count, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, lower->type);
    if (lower->type.kind == ZF_K_BOOL) {
        LLVMValueRef v_byte = LLVMConstNull(cg->ty_i8);
        for (unsigned k = 0; k < count; k++) {
            v_byte = zf_cg_or(cg, v_byte, bit_of(lower, zf_lower_memory_form(lower, lower->type, plain(values[k])), k));
        }
        store_bits(lower, v_byte, v_index);
        return;
    }
    // By words: LLVM stores a vector of smaller elements in four pieces.
    unsigned size = zf_kind_size(lower->type.kind), each = size < 4 ? 4 / size : 1;
    LLVMTypeRef ty_word = each > 1 ? cg->ty_i32 : ty;
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(ty_word, count / each));
    for (unsigned k = 0; k < count; k += each) {
        LLVMValueRef v_word = zf_lower_memory_form(lower, lower->type, plain(values[k]));
        if (each > 1) v_word = zf_cg_resize(cg, v_word, cg->ty_i32, false);
        for (unsigned e = 1; e < each; e++) {
            LLVMValueRef v_next =
                zf_cg_resize(cg, zf_lower_memory_form(lower, lower->type, plain(values[k + e])), cg->ty_i32, false);
            v_word = zf_cg_or(cg, v_word, LLVMBuildShl(cg->builder, v_next, zf_cg_i32(cg, e * 8 * size), ""));
        }
        v = LLVMBuildInsertElement(cg->builder, v, v_word, zf_cg_i32(cg, k / each), "");
    }
    zf_cg_store(cg, v, zf_cg_at_sink(cg, ty, lower->v_sink, v_index), count * size); // 16, or fewer where C was chosen
}

// ---- Validity -------------------------------------------------------------------------------------------------

// The lane's bits of elements v_first on (i32: the lowest `count`), those before v_hi being elements, to the column's bitmap.
// `whole`: all of them are.
static void store_validity(zf_kernel_build *lower, LLVMValueRef v_bits, unsigned count, LLVMValueRef v_first, LLVMValueRef v_hi,
                           bool whole) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_three = zf_cg_i64(cg, 3), v_exists = zf_cg_icmp(cg, LLVMIntULT, v_first, v_hi);
    if (count < 8) { // v_first is a multiple of count
        LLVMValueRef v_away = zf_cg_resize(cg, zf_cg_and(cg, v_first, zf_cg_i64(cg, 7)), cg->ty_i32, false);
        LLVMValueRef v_lane = zf_simt_lane(lower);
        v_bits = LLVMBuildShl(cg->builder, v_bits, v_away, "");
        for (unsigned step = 1; step * count < 8; step *= 2) {
            LLVMValueRef v_other = LLVMBuildXor(cg->builder, v_lane, zf_cg_i32(cg, step), "");
            v_bits = zf_cg_or(cg, v_bits, zf_simt_shuffle(lower, v_bits, v_other));
        }
        LLVMValueRef v_begins = zf_cg_icmp(cg, LLVMIntEQ, v_away, zf_cg_i32(cg, 0));
        if (!whole) v_exists = zf_cg_within(cg, v_exists, "bytes of validity"); // else the guard holds, and is no site
        v_exists = zf_cg_and(cg, v_exists, zf_cg_holds(cg, ZF_SITE_MASK, v_begins, "the lane that stores a byte of validity"));
    } else if (!whole) {
        v_exists = zf_cg_within(cg, v_exists, "bytes of validity");
    }
    for (unsigned k = 0; k < (count + 7) / 8; k++) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "valid_store"), bb_stored = zf_cg_block(cg, "valid_stored");
        LLVMValueRef v_index = zf_cg_add(cg, v_first, zf_cg_i64(cg, 8 * (uint64_t)k));
        if (k > 0) v_exists = zf_cg_icmp(cg, LLVMIntULT, v_index, v_hi);
        if (k > 0 && !whole) v_exists = zf_cg_within(cg, v_exists, "bytes of validity");
        zf_cg_cond_br(cg, v_exists, bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
        LLVMValueRef v_byte = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_bits, zf_cg_i32(cg, 8 * k), ""), cg->ty_i8, false);
        LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_index, v_three, "");
        zf_cg_store(cg, v_byte, zf_cg_at_sink(cg, cg->ty_i8, lower->v_validity, v_at), 1);
        zf_cg_br(cg, bb_stored);
        zf_cg_enter(cg, bb_stored);
    }
}

static LLVMValueRef valid_bit(zf_kernel_build *lower, zf_cg_value value, unsigned k) {
    zf_cg *cg = lower->cg;
    return LLVMBuildShl(cg->builder, zf_cg_resize(cg, value.v_valid, cg->ty_i32, false), zf_cg_i32(cg, k), "");
}

// ---- Strings --------------------------------------------------------------------------------------------------

// The tile's bytes, from the states at both its ends; none where those cannot be.
void zf_simt_store_begin(zf_kernel_build *lower, const zf_simt_shape *shape, const zf_simt_tile *tile) {
    zf_cg *cg = lower->cg;
    zf_delivery *d = &lower->delivery;
    if (lower->type.nullable && !to_column(lower)) d->v_valid = zf_lower_validity_pointer(lower, lower->kernel->edge);
    if (!is_text(lower)) return;
    const zf_work *characters = zf_plan_characters(lower->plan);
    d->text = ZF_NEW(cg->arena, zf_simt_text);
    if (characters == NULL)
        zf_simt_text_tables(d->text, lower, shape->shared_bytes - zf_simt_text_bytes(cg->wave));
    else
        d->text->lower = lower; // nothing is copied
    d->bytes_field = zf_lower_root_field(lower, ZF_SEEK_BYTES);
    d->v_byte = zf_cg_alloca(cg, cg->ty_i64, "byte");
    d->v_failed = zf_cg_alloca(cg, cg->ty_i1, "failed");
    LLVMValueRef v_byte = zf_simt_seek(lower, d->bytes_field, zf_cg_i64(cg, 0));
    d->v_next =
        zf_simt_seek_next(lower, d->bytes_field, zf_lower_word(lower, ZF_SLOT_CHARACTERS, 0, 0), "state behind the last tile");
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, v_byte, lower->v_byte_begin),
                 v_ended = zf_cg_icmp(cg, LLVMIntULE, d->v_next, lower->v_byte_end),
                 v_ordered = zf_cg_icmp(cg, LLVMIntULE, v_byte, d->v_next);
    LLVMValueRef v_sane = zf_cg_and(cg, v_ordered, zf_cg_and(cg, v_begun, v_ended));
    d->v_end = zf_cg_select(cg, zf_cg_within(cg, v_sane, "bytes that have a place"), d->v_next, v_byte);
    LLVMBuildStore(cg->builder, v_byte, d->v_byte);
    if (characters != NULL) {
        int32_t field = zf_lower_field(lower, ZF_SEEK_SCAN, lower->kernel->root, characters->start->index);
        LLVMValueRef v_start = zf_simt_seek(lower, (uint32_t)field, zf_cg_i64(cg, 0));
        zf_lower_check(lower, zf_cg_icmp(cg, LLVMIntNE, v_start, v_byte), (uint32_t)lower->kernel->end_check,
                       "where rows begin in the characters");
    }
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), d->v_failed);
    d->v_last = zf_cg_umin(cg, lower->v_row_end, tile->v_hi);
    if (characters != NULL) return;
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_byte);
    zf_simt_text_begin(d->text, v_to, zf_cg_i32(cg, 0), NULL);
}

// Where scans run a failure is known to be in the tile; else to be in an element.
static bool knows_element(const zf_kernel_build *lower) {
    for (uint32_t s = 0; s < lower->kernel->step_count; s++) {
        if (lower->kernel->steps[s].kind != ZF_STEP_MAP) return false;
    }
    return lower->kernel->domain == ZF_DOMAIN_ELEMENTS;
}

void zf_simt_report_element(zf_kernel_build *lower, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    if (!knows_element(lower)) return;
    if (d->v_failed != NULL) {
        LLVMValueRef v_failed = zf_cg_not(cg, zf_lower_none_failed(lower));
        LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, cg->ty_i1, d->v_failed, "");
        LLVMBuildStore(cg->builder, zf_cg_or(cg, v_before, v_failed), d->v_failed);
    }
    zf_lower_report(lower, v_index);
    zf_lower_clear(lower);
}

static LLVMValueRef offset_at(zf_kernel_build *lower, LLVMValueRef v_index) {
    return zf_cg_at_sink(lower->cg, lower->cg->ty_i64, lower->v_offsets, v_index);
}

// Behind the tile's last row there is an offset, too, which is that of the next tile's first.
static void store_last(zf_kernel_build *lower, LLVMValueRef v_after, LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_last = zf_cg_block(cg, "offset_last"), bb_stored = zf_cg_block(cg, "offset_stored");
    LLVMValueRef v_is_last = zf_cg_icmp(cg, LLVMIntEQ, v_after, lower->delivery.v_last);
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_is_last, "the tile's last row"), bb_last, bb_stored);
    zf_cg_enter(cg, bb_last);
    zf_cg_store(cg, zf_cg_add(cg, v_end, lower->v_offset_base), offset_at(lower, v_after), 8);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

// Where a row begins, if it is wanted, and behind the last where it ends.
static void store_offset(zf_kernel_build *lower, LLVMValueRef v_index, LLVMValueRef v_begin, LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_wanted = zf_cg_block(cg, "offset"), bb_next = zf_cg_block(cg, "offset_next");
    zf_cg_cond_br(cg, zf_lower_row_wanted(lower, v_index, lower->delivery.v_last), bb_wanted, bb_next);
    zf_cg_enter(cg, bb_wanted);
    zf_cg_store(cg, zf_cg_add(cg, v_begin, lower->v_offset_base), offset_at(lower, v_index), 8);
    store_last(lower, zf_cg_add(cg, v_index, zf_cg_i64(cg, 1)), v_end);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

// The same for all of a lane's rows of a tile that is wanted whole.
static void store_offsets(zf_kernel_build *lower, LLVMValueRef v_first, const LLVMValueRef v_ends[ZF_TEXT_EACH + 1]) {
    zf_cg *cg = lower->cg;
    for (unsigned k = 0; k < ZF_TEXT_EACH; k += 2) {
        LLVMValueRef v = LLVMGetPoison(LLVMVectorType(cg->ty_i64, 2));
        for (unsigned e = 0; e < 2; e++) {
            v = LLVMBuildInsertElement(cg->builder, v, zf_cg_add(cg, v_ends[k + e], lower->v_offset_base), zf_cg_i32(cg, e), "");
        }
        zf_cg_store(cg, v, offset_at(lower, zf_cg_add(cg, v_first, zf_cg_i64(cg, k))), 16);
    }
    store_last(lower, zf_cg_add(cg, v_first, zf_cg_i64(cg, ZF_TEXT_EACH)), v_ends[ZF_TEXT_EACH]);
}

// The lanes' strings; lengths are 0 where there is no element. `whole`: all of them are there and wanted.
static void store_text(zf_kernel_build *lower, zf_simt_text_row *row, LLVMValueRef v_first, LLVMValueRef v_hi, bool whole) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    zf_simt_text_sum(d->text, row);
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i64, d->v_byte, ""), v_room = zf_cg_sub(cg, d->v_end, v_byte);
    LLVMValueRef v_ends[ZF_TEXT_EACH + 1];
    v_ends[0] = zf_cg_add(cg, v_byte, row->v_before);
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_index = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        v_ends[k + 1] = zf_cg_add(cg, v_ends[k], row->v_lengths[k]);
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_ends[k + 1], d->v_end);
        if (!whole) v_over = zf_cg_and(cg, v_over, zf_cg_icmp(cg, LLVMIntULT, v_index, v_hi));
        zf_lower_check_end(lower, v_over, "bytes of a string beyond its tile's");
        zf_simt_report_element(lower, v_index);
        if (!whole) store_offset(lower, v_index, v_ends[k], v_ends[k + 1]);
    }
    if (whole) store_offsets(lower, v_first, v_ends);
    // A row that does not fit is not copied: the tile is known to be wrong.
    LLVMValueRef v_fits = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, row->v_total, v_room), "rows that fit into the tile");
    LLVMValueRef v_total = zf_cg_select(cg, v_fits, row->v_total, zf_cg_i64(cg, 0));
    if (d->text->v_stage != NULL) zf_simt_text_copy(d->text, row, v_total);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_byte, v_total), d->v_byte);
}

static bool have_handles(const zf_cg_value *values) {
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        if (values[k].seq.v_handle == NULL) return false;
    }
    return true;
}

// A row that is null has no bytes.
static void take_handles(zf_kernel_build *lower, const zf_cg_value *values, zf_simt_text_handles *row) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_none = zf_cg_i64(cg, 0);
    for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
        LLVMValueRef v_handle = values[k].seq.v_handle;
        row->v_low[k] = LLVMBuildExtractElement(cg->builder, v_handle, zf_cg_i32(cg, 0), "");
        row->v_high[k] = LLVMBuildExtractElement(cg->builder, v_handle, zf_cg_i32(cg, 1), "");
        if (!lower->type.nullable) continue;
        row->v_low[k] = zf_cg_select(cg, values[k].v_valid, row->v_low[k], v_none);
        row->v_high[k] = zf_cg_select(cg, values[k].v_valid, row->v_high[k], v_none);
    }
}

// Stores a row of strings that are all in handles, all of which are there and wanted, with numbers of 32 bits, and without a
// check of each: all fit into the tile where the last does. Goes to bb_done. Goes on where a string is longer, or the row does
// not fit: nothing is stored then. (Longer ones of up to ZF_TEXT_ALONE bytes were 5% slower by handles than by their addresses.)
static void store_handles(zf_kernel_build *lower, const zf_cg_value *values, LLVMValueRef v_first, LLVMBasicBlockRef bb_done) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    zf_simt_text_handles row;
    LLVMBasicBlockRef bb_short = zf_cg_block(cg, "handles"), bb_fits = zf_cg_block(cg, "handles_fit"),
                      bb_far = zf_cg_block(cg, "handles_far");
    take_handles(lower, values, &row);
    zf_simt_text_look(lower, &row);
    zf_cg_cond_br(cg, row.v_long, bb_far, bb_short); // all lanes the same
    zf_cg_enter(cg, bb_short);
    row.v_long = zf_cg_i1(cg, false);
    zf_simt_text_short_lengths(lower, &row);
    zf_simt_text_add_up(lower, &row);
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i64, d->v_byte, ""), v_room = zf_cg_sub(cg, d->v_end, v_byte);
    LLVMValueRef v_total = zf_cg_resize(cg, row.v_total, cg->ty_i64, false);
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_total, v_room);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_fits, "rows of handles that fit into the tile"), bb_fits, bb_far);
    zf_cg_enter(cg, bb_fits);
    zf_simt_report_element(lower, v_first);
    LLVMValueRef v_ends[ZF_TEXT_EACH + 1], v_place = row.v_before;
    for (unsigned k = 0; k <= ZF_TEXT_EACH; k++) {
        v_ends[k] = zf_cg_add(cg, v_byte, zf_cg_resize(cg, v_place, cg->ty_i64, false));
        if (k < ZF_TEXT_EACH) v_place = zf_cg_add(cg, v_place, row.v_lengths[k]);
    }
    store_offsets(lower, v_first, v_ends);
    zf_simt_text_copy_handles(d->text, &row);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_byte, v_total), d->v_byte);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_far);
}

// The bytes end in the next state, those of the last tile with the block's. An earlier failure takes precedence, because it
// causes later ones.
void zf_simt_store_end(zf_kernel_build *lower) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    if (!is_text(lower)) return;
    if (d->text->v_stage != NULL) zf_simt_text_end(d->text);
    LLVMValueRef v_before = LLVMBuildLoad2(cg->builder, cg->ty_i1, d->v_failed, "");
    LLVMValueRef v_failed = zf_cg_or(cg, v_before, zf_cg_not(cg, zf_lower_none_failed(lower)));
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i64, d->v_byte, "");
    LLVMValueRef v_wrong =
        zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntNE, v_byte, d->v_next), zf_cg_not(cg, zf_simt_any(lower, v_failed)));
    zf_lower_check(lower, v_wrong, (uint32_t)lower->kernel->end_check, "bytes where the tile ends");
}

static LLVMValueRef length_of(zf_kernel_build *lower, const zf_cg_value *value) {
    if (!lower->type.nullable) return value->seq.v_length;
    return zf_cg_select(lower->cg, value->v_valid, value->seq.v_length, zf_cg_i64(lower->cg, 0));
}

// ---- Whole rows -----------------------------------------------------------------------------------------------

void zf_simt_store_vector(zf_kernel_build *lower, const zf_cg_value *values, unsigned count, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_hi = zf_cg_add(cg, v_index, zf_cg_i64(cg, count));
    for (unsigned k = 0; k < count; k++) {
        if (!zf_lower_can_deliver(lower, &values[k])) return;
    }
    if (lower->type.nullable && to_column(lower)) {
        LLVMValueRef v_bits = zf_cg_i32(cg, 0);
        for (unsigned k = 0; k < count; k++) v_bits = zf_cg_or(cg, v_bits, valid_bit(lower, values[k], k));
        store_validity(lower, v_bits, count, v_index, v_hi, true);
    }
    if (is_text(lower)) {
        zf_simt_text_row row;
        LLVMBasicBlockRef bb_done = NULL;
        if (lower->delivery.text->v_stage != NULL && have_handles(values)) {
            bb_done = zf_cg_block(cg, "row_stored");
            store_handles(lower, values, v_index, bb_done);
        }
        for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
            row.v_sources[k] = zf_lower_text_address(lower, &values[k]);
            row.v_lengths[k] = length_of(lower, &values[k]);
        }
        store_text(lower, &row, v_index, v_hi, true);
        if (bb_done == NULL) return;
        zf_cg_br(cg, bb_done);
        zf_cg_enter(cg, bb_done);
        return;
    }
    if (to_column(lower) || (!lower->type.nullable && lower->type.kind != ZF_K_STRING)) {
        store_elements(lower, values, count, v_index);
        return;
    }
    for (unsigned k = 0; k < count; k++) {
        LLVMValueRef v_at = zf_cg_add(cg, v_index, zf_cg_i64(cg, k));
        if (lower->type.nullable) zf_lower_store_valid_byte(lower, values[k], v_at);
        if (lower->type.kind == ZF_K_STRING) zf_lower_store_handle(lower, values[k], v_at);
    }
    if (lower->type.kind != ZF_K_STRING) store_elements(lower, values, count, v_index);
}

// ---- Cut rows -------------------------------------------------------------------------------------------------

zf_simt_cut zf_simt_cut_begin(zf_kernel_build *lower, LLVMValueRef v_first, LLVMValueRef v_place, LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    zf_simt_cut cut = {.v_first = v_first, .v_place = v_place, .v_end = v_end};
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_place, v_end);
    if (lower->type.kind == ZF_K_BOOL) {
        cut.v_byte = zf_cg_alloca(cg, cg->ty_i8, "byte");
        LLVMBuildStore(cg->builder, LLVMConstNull(cg->ty_i8), cut.v_byte);
    }
    if (lower->type.nullable && to_column(lower)) {
        cut.v_valid = zf_cg_alloca(cg, cg->ty_i32, "valid");
        LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), cut.v_valid);
    }
    if (is_text(lower)) {
        cut.strings = ZF_NEW_ARRAY(cg->arena, zf_simt_string, ZF_TEXT_EACH);
        for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
            cut.strings[k].v_source = zf_cg_alloca(cg, cg->ty_i64, "source");
            cut.strings[k].v_length = zf_cg_alloca(cg, cg->ty_i64, "length");
            LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), cut.strings[k].v_source);
            LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), cut.strings[k].v_length);
        }
    }
    if (together(lower)) return cut;
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "cut_some");
    cut.bb_none = zf_cg_block(cg, "cut_none");
    if (cut.v_byte != NULL) v_exists = zf_cg_within(cg, v_exists, "bytes of a cut row"); // else each element is asked for, too
    zf_cg_cond_br(cg, v_exists, bb_some, cut.bb_none);
    zf_cg_enter(cg, bb_some);
    return cut;
}

void zf_simt_cut_element(zf_kernel_build *lower, zf_simt_cut *cut, unsigned k) {
    zf_cg *cg = lower->cg;
    LLVMBasicBlockRef bb_element = zf_cg_block(cg, "element");
    cut->bb_next = zf_cg_block(cg, "element_next");
    cut->v_index = zf_cg_add(cg, cut->v_first, zf_cg_i64(cg, k));
    LLVMValueRef v_place = zf_cg_add(cg, cut->v_place, LLVMConstInt(LLVMTypeOf(cut->v_place), k, 0));
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, v_place, cut->v_end);
    if (lower->v_row_begin == NULL) // else rows are asked for, too
        v_exists = zf_cg_within(cg, v_exists, "elements of a cut row");
    zf_cg_cond_br(cg, v_exists, bb_element, cut->bb_next);
    zf_cg_enter(cg, bb_element);
}

void zf_simt_cut_store(zf_kernel_build *lower, const zf_simt_cut *cut, unsigned k, zf_cg_value value) {
    zf_cg *cg = lower->cg;
    zf_simt_report_element(lower, cut->v_index);
    bool can = zf_lower_can_deliver(lower, &value);
    if (can && cut->v_valid != NULL) {
        LLVMValueRef v_others = LLVMBuildLoad2(cg->builder, cg->ty_i32, cut->v_valid, "");
        LLVMBuildStore(cg->builder, zf_cg_or(cg, v_others, valid_bit(lower, value, k)), cut->v_valid);
    } else if (can && lower->type.nullable) {
        zf_lower_store_valid_byte(lower, value, cut->v_index);
    }
    if (!can) {
        // what was reported
    } else if (cut->v_byte != NULL) {
        LLVMValueRef v_others = LLVMBuildLoad2(cg->builder, cg->ty_i8, cut->v_byte, "");
        LLVMValueRef v_bit = bit_of(lower, zf_lower_memory_form(lower, lower->type, plain(value)), k);
        LLVMBuildStore(cg->builder, zf_cg_or(cg, v_others, v_bit), cut->v_byte);
    } else if (cut->strings != NULL) {
        LLVMBuildStore(cg->builder, zf_lower_text_address(lower, &value), cut->strings[k].v_source);
        LLVMBuildStore(cg->builder, length_of(lower, &value), cut->strings[k].v_length);
    } else if (lower->type.kind == ZF_K_STRING) {
        zf_lower_store_handle(lower, value, cut->v_index);
    } else {
        zf_lower_store_element(lower, plain(value), lower->v_sink, cut->v_index);
    }
    zf_cg_br(cg, cut->bb_next);
    zf_cg_enter(cg, cut->bb_next);
}

static void end_byte(zf_kernel_build *lower, const zf_simt_cut *cut) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_byte = LLVMBuildLoad2(cg->builder, cg->ty_i8, cut->v_byte, "");
    if (cut->bb_none != NULL) {
        store_bits(lower, v_byte, cut->v_first);
        return;
    }
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "byte_store"), bb_stored = zf_cg_block(cg, "byte_stored");
    LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, cut->v_place, cut->v_end);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_exists, "bytes of a cut row"), bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    store_bits(lower, v_byte, cut->v_first);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

// Behind the last element's index, which a lane without elements is behind, too.
static LLVMValueRef cut_hi(zf_cg *cg, const zf_simt_cut *cut) {
    LLVMValueRef v_end = zf_cg_resize(cg, cut->v_end, cg->ty_i64, false),
                 v_place = zf_cg_resize(cg, cut->v_place, cg->ty_i64, false);
    return zf_cg_sub(cg, zf_cg_add(cg, cut->v_first, v_end), v_place);
}

void zf_simt_cut_end(zf_kernel_build *lower, const zf_simt_cut *cut) {
    zf_cg *cg = lower->cg;
    if (cut->v_byte != NULL) end_byte(lower, cut);
    if (cut->v_valid != NULL) {
        LLVMValueRef v_bits = LLVMBuildLoad2(cg->builder, cg->ty_i32, cut->v_valid, "");
        store_validity(lower, v_bits, zf_simt_lane_count(lower->type), cut->v_first, cut_hi(cg, cut), false);
    }
    if (cut->strings != NULL) {
        zf_simt_text_row row;
        for (unsigned k = 0; k < ZF_TEXT_EACH; k++) {
            row.v_sources[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, cut->strings[k].v_source, "");
            row.v_lengths[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, cut->strings[k].v_length, "");
        }
        store_text(lower, &row, cut->v_first, cut_hi(cg, cut), false);
    }
    if (cut->bb_none == NULL) return;
    zf_cg_br(cg, cut->bb_none);
    zf_cg_enter(cg, cut->bb_none);
}

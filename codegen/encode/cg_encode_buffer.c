// Buffers of an encode body: pushing inline, everything else by a call.
#include <stddef.h>

#include "codegen/body/cg_emit.h"
#include "codegen/encode/cg_encode.h"

#define FIELD(buffer, member) zf_cg_byte_at(cg, (buffer)->v_struct, offsetof(zf_encode_buffer, member))

static LLVMValueRef get(zf_cg *cg, LLVMValueRef v_slot) { return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, ""); }
static void set(zf_cg *cg, LLVMValueRef v_slot, LLVMValueRef v) { LLVMBuildStore(cg->builder, v, v_slot); }

static bool is_text(const zf_cg_buffer *buffer) { return buffer->type.kind == ZF_K_STRING; }
/// Scalars that are not null are pushed inline; the rest by a call.
static bool is_plain(const zf_cg_buffer *buffer) { return !is_text(buffer) && !buffer->type.nullable; }
static unsigned element_size(const zf_cg_buffer *buffer) { return is_text(buffer) ? 8 : zf_kind_size(buffer->type.kind); }
static unsigned element_width(const zf_cg_buffer *buffer) {
    return is_text(buffer) || buffer->type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(buffer->type.kind);
}

void zf_encode_buffer_init(zf_encode_buffer *buffer, zf_type type) {
    *buffer = (zf_encode_buffer){.most = UINT64_MAX};
    buffer->is_text = type.kind == ZF_K_STRING;
    buffer->nullable = type.nullable;
    buffer->element = buffer->is_text ? 8 : zf_kind_size(type.kind);
    buffer->width = buffer->is_text || type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(type.kind);
    zf_encode_index_reset(buffer);
}

void zf_cg_buffer_bind(zf_cg *cg, zf_cg_buffer *buffer, LLVMValueRef v_struct, zf_type type, const char *name) {
    buffer->type = type;
    buffer->v_struct = v_struct;
    buffer->v_data = zf_cg_alloca(cg, cg->ty_ptr, name);
    buffer->v_length = zf_cg_alloca(cg, cg->ty_i64, "length");
    buffer->v_capacity = zf_cg_alloca(cg, cg->ty_i64, "capacity");
    if (buffer->bitwise) {
        buffer->v_pending = zf_cg_alloca(cg, cg->ty_i64, "pending");
        buffer->v_bits = zf_cg_alloca(cg, cg->ty_i64, "bits");
    }
    zf_cg_buffer_in(cg, buffer);
}

void zf_cg_buffer_out(zf_cg *cg, const zf_cg_buffer *buffer) {
    zf_cg_store(cg, get(cg, buffer->v_length), FIELD(buffer, length), 8);
    if (!buffer->bitwise) return;
    zf_cg_store(cg, get(cg, buffer->v_pending), FIELD(buffer, pending), 8);
    zf_cg_store(cg, get(cg, buffer->v_bits), FIELD(buffer, bits), 8);
}

void zf_cg_buffer_in(zf_cg *cg, const zf_cg_buffer *buffer) {
    set(cg, buffer->v_data, zf_cg_load(cg, cg->ty_ptr, FIELD(buffer, data), 8));
    set(cg, buffer->v_length, zf_cg_load(cg, cg->ty_i64, FIELD(buffer, length), 8));
    set(cg, buffer->v_capacity, zf_cg_load(cg, cg->ty_i64, FIELD(buffer, capacity), 8));
    if (!buffer->bitwise) return;
    set(cg, buffer->v_pending, zf_cg_load(cg, cg->ty_i64, FIELD(buffer, pending), 8));
    set(cg, buffer->v_bits, zf_cg_load(cg, cg->ty_i64, FIELD(buffer, bits), 8));
}

void zf_cg_buffer_reset(zf_cg *cg, const zf_cg_buffer *buffer) {
    LLVMValueRef v_zero = zf_cg_i64(cg, 0);
    set(cg, buffer->v_length, v_zero);
    zf_cg_store(cg, v_zero, FIELD(buffer, text_length), 8);
    zf_cg_store(cg, v_zero, FIELD(buffer, part_count), 8);
    if (!buffer->bitwise) return;
    set(cg, buffer->v_pending, v_zero);
    set(cg, buffer->v_bits, v_zero);
}

// ---- Existing elements ----------------------------------------------------------------------------------------

static LLVMValueRef chunk_start(zf_cg *cg, const zf_cg_buffer *buffer) {
    if (buffer->port == NULL || !buffer->port->per_chunk) return NULL;
    return zf_cg_load(cg, cg->ty_i64, FIELD(buffer, chunk_start), 8);
}

/// Elements that the pending bits make, the last one partly.
static LLVMValueRef pending_elements(zf_cg *cg, const zf_cg_buffer *buffer) {
    unsigned width = element_width(buffer);
    LLVMValueRef v = zf_cg_add(cg, get(cg, buffer->v_pending), zf_cg_i64(cg, width - 1));
    return LLVMBuildUDiv(cg->builder, v, zf_cg_i64(cg, width), "");
}

LLVMValueRef zf_cg_buffer_length(zf_cg *cg, const zf_cg_buffer *buffer) {
    LLVMValueRef v = get(cg, buffer->v_length), v_start = chunk_start(cg, buffer);
    if (buffer->bitwise) v = zf_cg_add(cg, v, pending_elements(cg, buffer));
    return v_start == NULL ? v : zf_cg_sub(cg, v, v_start);
}

LLVMValueRef zf_cg_buffer_bit_length(zf_cg *cg, const zf_cg_buffer *buffer) {
    LLVMValueRef v = get(cg, buffer->v_length), v_start = chunk_start(cg, buffer);
    if (v_start != NULL) v = zf_cg_sub(cg, v, v_start);
    v = zf_cg_mul(cg, v, zf_cg_i64(cg, element_width(buffer)));
    return buffer->bitwise ? zf_cg_add(cg, v, get(cg, buffer->v_pending)) : v;
}

static LLVMValueRef place(zf_cg *cg, const zf_cg_buffer *buffer) { // of the next element
    LLVMTypeRef ty = zf_cg_memory_type(cg, buffer->type);
    return zf_cg_at(cg, ty, LLVMBuildLoad2(cg->builder, cg->ty_ptr, buffer->v_data, ""), get(cg, buffer->v_length));
}

/// Runs what `then` stands for only where bits are pending; returns the block to go on in.
static LLVMBasicBlockRef where_pending(zf_cg *cg, const zf_cg_buffer *buffer) {
    LLVMBasicBlockRef bb_some = zf_cg_block(cg, "pending"), bb_on = zf_cg_block(cg, "whole");
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, get(cg, buffer->v_pending), zf_cg_i64(cg, 0));
    zf_cg_cond_br(cg, v_some, bb_some, bb_on);
    zf_cg_enter(cg, bb_some);
    return bb_on;
}

void zf_cg_buffer_show(zf_cg *cg, const zf_cg_buffer *buffer) {
    if (!buffer->bitwise) return;
    LLVMBasicBlockRef bb_on = where_pending(cg, buffer);
    zf_cg_store(cg, get(cg, buffer->v_bits), place(cg, buffer), 1);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
}

void zf_cg_buffer_reread(zf_cg *cg, const zf_cg_buffer *buffer) {
    if (!buffer->bitwise) return;
    LLVMBasicBlockRef bb_on = where_pending(cg, buffer);
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i64, place(cg, buffer), 1);
    set(cg, buffer->v_bits, zf_cg_and(cg, v, zf_cg_low_mask(cg, get(cg, buffer->v_pending), 63)));
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
}

zf_cg_value zf_cg_buffer_sequence(zf_cg *cg, const zf_cg_buffer *buffer) {
    zf_cg_buffer_show(cg, buffer);
    zf_cg_value value = {.type = buffer->type, .is_seq = true};
    value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = buffer->type, .port = buffer->port, .padded = true};
    value.seq.v_data = LLVMBuildLoad2(cg->builder, cg->ty_ptr, buffer->v_data, "");
    value.seq.v_start = chunk_start(cg, buffer);
    value.seq.v_length = zf_cg_buffer_length(cg, buffer);
    if (buffer->type.nullable) value.seq.v_validity = zf_cg_load(cg, cg->ty_ptr, FIELD(buffer, validity), 8);
    if (is_text(buffer)) {
        value.seq.kind = ZF_CG_SEQ_TEXTS;
        value.seq.v_offsets = value.seq.v_data;
        value.seq.v_data = zf_cg_load(cg, cg->ty_ptr, FIELD(buffer, text), 8);
    }
    return value;
}

// ---- Pushing --------------------------------------------------------------------------------------------------

LLVMValueRef zf_cg_buffer_call(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const char *name, LLVMValueRef *v_more,
                               unsigned count, zf_span span) {
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    LLVMValueRef *v_args = ZF_NEW_ARRAY(cg->arena, LLVMValueRef, count + 2);
    v_args[0] = e->v_frame;
    v_args[1] = buffer->v_struct;
    for (unsigned k = 0; k < count; k++) v_args[2 + k] = v_more[k];
    zf_cg_buffer_out(cg, buffer);
    LLVMValueRef v = zf_cg_call(cg, name, cg->ty_i64, v_args, 2 + count);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntNE, v, zf_cg_i64(cg, 0));
    zf_cg_encode_stop_unless(cg, e, v_ok, ZF_ENCODE_DONE, 0, span, frame->v_row);
    zf_cg_buffer_in(cg, buffer);
    return v;
}

static void align(zf_cg *cg, const zf_cg_buffer *buffer) {
    if (!buffer->bitwise) return;
    LLVMBasicBlockRef bb_on = where_pending(cg, buffer);
    zf_cg_store(cg, get(cg, buffer->v_bits), place(cg, buffer), 1);
    set(cg, buffer->v_length, zf_cg_add(cg, get(cg, buffer->v_length), pending_elements(cg, buffer)));
    set(cg, buffer->v_pending, zf_cg_i64(cg, 0));
    set(cg, buffer->v_bits, zf_cg_i64(cg, 0));
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
}

/// Makes sure that `more` elements fit.
static void reserve(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, uint64_t more, zf_span span) {
    LLVMBasicBlockRef bb_grow = zf_cg_block(cg, "grow"), bb_room = zf_cg_block(cg, "room");
    LLVMValueRef v_after = zf_cg_add(cg, get(cg, buffer->v_length), zf_cg_i64(cg, more));
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_after, get(cg, buffer->v_capacity));
    LLVMValueRef v_expect[2] = {v_fits, zf_cg_i1(cg, true)};
    v_fits = zf_cg_intrinsic(cg, "llvm.expect", &cg->ty_i1, 1, v_expect, 2);
    zf_cg_cond_br(cg, v_fits, bb_room, bb_grow);
    zf_cg_enter(cg, bb_grow);
    LLVMValueRef v_more = zf_cg_i64(cg, more);
    zf_cg_buffer_call(cg, frame, buffer, "zf_cg_grow", &v_more, 1, span);
    zf_cg_br(cg, bb_room);
    zf_cg_enter(cg, bb_room);
}

void zf_cg_buffer_reserve(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, LLVMValueRef v_more, zf_span span) {
    LLVMBasicBlockRef bb_grow = zf_cg_block(cg, "reserve"), bb_room = zf_cg_block(cg, "reserved");
    LLVMValueRef v_after = zf_cg_add(cg, get(cg, buffer->v_length), v_more);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULE, v_after, get(cg, buffer->v_capacity)), bb_room, bb_grow);
    zf_cg_enter(cg, bb_grow);
    zf_cg_buffer_call(cg, frame, buffer, "zf_cg_reserve", &v_more, 1, span);
    zf_cg_br(cg, bb_room);
    zf_cg_enter(cg, bb_room);
}

LLVMValueRef zf_cg_buffer_bits_room(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_pushes, LLVMValueRef v_bits) {
    unsigned width = element_width(buffer);
    LLVMValueRef v_all = zf_cg_mul(cg, v_pushes, v_bits);
    return zf_cg_add(cg, LLVMBuildUDiv(cg->builder, v_all, zf_cg_i64(cg, width), ""), zf_cg_i64(cg, 2 * 64 / width));
}

static LLVMValueRef as_word(zf_cg *cg, LLVMValueRef v_bool) { return zf_cg_resize(cg, v_bool, cg->ty_i64, false); }

void zf_cg_buffer_push(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_value *value, zf_span span) {
    LLVMValueRef v_valid = value->v_valid != NULL ? as_word(cg, value->v_valid) : zf_cg_i64(cg, 1);
    if (is_text(buffer)) {
        LLVMValueRef v_args[3] = {zf_cg_text_pointer(cg, &value->seq), value->seq.v_length, v_valid};
        zf_cg_buffer_call(cg, frame, buffer, "zf_cg_push_text", v_args, 3, span);
        return;
    }
    if (value->v == NULL) {
        zf_cg_unsupported(cg, span, "a push of %s is not lowered", zf_kind_name(value->type.kind));
        return;
    }
    if (!is_plain(buffer)) {
        LLVMValueRef v_args[2] = {zf_cg_to_word(cg, value->type, value->v), v_valid};
        zf_cg_buffer_call(cg, frame, buffer, "zf_cg_push_null", v_args, 2, span);
        return;
    }
    align(cg, buffer);
    if (!buffer->reserved) reserve(cg, frame, buffer, 1, span);
    LLVMTypeRef ty = zf_cg_memory_type(cg, buffer->type);
    LLVMValueRef v = buffer->type.kind == ZF_K_BOOL ? zf_cg_resize(cg, value->v, ty, false) : value->v;
    zf_cg_store(cg, v, place(cg, buffer), element_size(buffer));
    set(cg, buffer->v_length, zf_cg_add(cg, get(cg, buffer->v_length), zf_cg_i64(cg, 1)));
}

LLVMValueRef zf_cg_buffer_has_room(zf_cg *cg, const zf_cg_buffer *buffer) {
    return zf_cg_icmp(cg, LLVMIntULT, get(cg, buffer->v_length), get(cg, buffer->v_capacity));
}

void zf_cg_buffer_push_if(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_if, const zf_cg_value *value) {
    LLVMTypeRef ty = zf_cg_memory_type(cg, buffer->type);
    LLVMValueRef v = buffer->type.kind == ZF_K_BOOL ? zf_cg_resize(cg, value->v, ty, false) : value->v;
    zf_cg_store(cg, v, place(cg, buffer), element_size(buffer)); // elements behind the length do not count yet
    set(cg, buffer->v_length, zf_cg_add(cg, get(cg, buffer->v_length), as_word(cg, v_if)));
}

void zf_cg_buffer_push_bits(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, LLVMValueRef v_value, LLVMValueRef v_count,
                            zf_interval count_range, zf_span span) {
    LLVMValueRef v_64 = zf_cg_i64(cg, 64), v_0 = zf_cg_i64(cg, 0);
    zf_cg_encode_env *e = (zf_cg_encode_env *)frame->env;
    if (count_range.hi > 64 || count_range.lo < 0) {
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, v_count, v_64);
        zf_cg_encode_stop_unless(cg, e, v_ok, ZF_ENCODE_FAILED, 1, span, frame->v_row);
    }
    uint64_t limit = count_range.hi >= 0 && count_range.hi < 64 ? (uint64_t)count_range.hi : 64;
    v_value = zf_cg_and(cg, v_value, zf_cg_low_mask(cg, v_count, limit));
    if (!buffer->bitwise) { // bool streams: an element a bit
        LLVMValueRef v_args[2] = {v_value, v_count};
        zf_cg_buffer_call(cg, frame, buffer, "zf_cg_push_bools", v_args, 2, span);
        return;
    }
    LLVMBasicBlockRef bb_full = zf_cg_block(cg, "full"), bb_part = zf_cg_block(cg, "part"), bb_on = zf_cg_block(cg, "pushed");
    // Room first for this word and for the bits that then pend: they must be able to go to memory at any time.
    if (!buffer->reserved) reserve(cg, frame, buffer, 2 * 64 / element_width(buffer), span);
    LLVMValueRef v_pending = get(cg, buffer->v_pending); // below 64
    LLVMValueRef v_bits = zf_cg_or(cg, get(cg, buffer->v_bits), LLVMBuildShl(cg->builder, v_value, v_pending, ""));
    LLVMValueRef v_total = zf_cg_add(cg, v_pending, v_count);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntUGE, v_total, v_64), bb_full, bb_part);
    zf_cg_enter(cg, bb_full);
    zf_cg_store(cg, v_bits, place(cg, buffer), 1);
    set(cg, buffer->v_length, zf_cg_add(cg, get(cg, buffer->v_length), zf_cg_i64(cg, 64 / element_width(buffer))));
    // value >> (64 - pending), which is a shift by 64 when nothing was pending.
    LLVMValueRef v_down = zf_cg_and(cg, zf_cg_sub(cg, v_64, v_pending), zf_cg_i64(cg, 63));
    LLVMValueRef v_rest = LLVMBuildLShr(cg->builder, v_value, v_down, "");
    set(cg, buffer->v_bits, zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_pending, v_0), v_0, v_rest));
    set(cg, buffer->v_pending, zf_cg_sub(cg, v_total, v_64));
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_part);
    set(cg, buffer->v_bits, v_bits);
    set(cg, buffer->v_pending, v_total);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
}

void zf_cg_buffer_append(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_value *value, zf_span span) {
    const zf_cg_seq *seq = &value->seq;
    LLVMValueRef v_start = seq->v_start == NULL ? zf_cg_i64(cg, 0) : seq->v_start;
    LLVMValueRef v_length = zf_cg_seq_length(cg, frame->env, seq), v_null = LLVMConstNull(cg->ty_ptr);
    LLVMValueRef v_validity = seq->v_validity == NULL ? v_null : zf_cg_at(cg, cg->ty_i8, seq->v_validity, v_start);
    if (seq->kind == ZF_CG_SEQ_TEXTS && is_text(buffer)) {
        LLVMValueRef v_offsets = zf_cg_at(cg, cg->ty_i64, seq->v_offsets, v_start);
        LLVMValueRef v_args[4] = {seq->v_data, v_offsets, v_validity, v_length};
        zf_cg_buffer_call(cg, frame, buffer, "zf_cg_append_texts", v_args, 4, span);
        return;
    }
    if (seq->kind != ZF_CG_SEQ_MEMORY || seq->type.kind != buffer->type.kind) {
        zf_cg_unsupported(cg, span, "an append of this sequence is not lowered");
        return;
    }
    LLVMTypeRef ty = zf_cg_memory_type(cg, seq->type);
    LLVMValueRef v_from = zf_cg_at(cg, ty, seq->v_data, v_start), v_args[3] = {v_from, v_validity, v_length};
    LLVMBasicBlockRef bb_on = zf_cg_block(cg, "appended");
    if (buffer->only_written && is_plain(buffer) && !buffer->bitwise) { // zf_encode_buffer.lent
        LLVMBasicBlockRef bb_behind = zf_cg_block(cg, "behind"), bb_call = zf_cg_block(cg, "append");
        LLVMValueRef v_new = zf_cg_add(cg, get(cg, buffer->v_length), v_length);
        LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_new, zf_cg_load(cg, cg->ty_i64, FIELD(buffer, lent), 8));
        LLVMValueRef v_is_next = LLVMBuildICmp(cg->builder, LLVMIntEQ, v_from, place(cg, buffer), "");
        zf_cg_cond_br(cg, zf_cg_and(cg, v_fits, v_is_next), bb_behind, bb_call);
        zf_cg_enter(cg, bb_behind);
        set(cg, buffer->v_length, v_new);
        zf_cg_br(cg, bb_on);
        zf_cg_enter(cg, bb_call);
    }
    zf_cg_buffer_call(cg, frame, buffer, "zf_cg_append", v_args, 3, span);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
}

// ---- Interning ------------------------------------------------------------------------------------------------

/// The tag of a value, as the support computes it.
static LLVMValueRef tag_of(zf_cg *cg, const zf_cg_encode_env *e, const zf_cg_buffer *buffer, LLVMValueRef v_word) {
    bool small = element_size(buffer) <= 4;
    LLVMTypeRef ty = small ? cg->ty_i32 : cg->ty_i64;
    LLVMValueRef v_half = LLVMConstInt(ty, small ? 16 : 32, false);
    LLVMValueRef v = zf_cg_mul(cg, zf_cg_resize(cg, v_word, ty, false), zf_cg_resize(cg, e->v_hash_a, ty, false));
    v = LLVMBuildXor(cg->builder, v, LLVMBuildLShr(cg->builder, v, v_half, ""), "");
    v = zf_cg_mul(cg, v, zf_cg_resize(cg, e->v_hash_b, ty, false));
    return small ? zf_cg_resize(cg, v, cg->ty_i64, false) : LLVMBuildLShr(cg->builder, v, v_half, "");
}

static LLVMValueRef first_place(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_tag) {
    return LLVMBuildLShr(cg->builder, v_tag, zf_cg_load(cg, cg->ty_i64, FIELD(buffer, index.shift), 8), "");
}

static LLVMValueRef number_in_chunk(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_number) {
    LLVMValueRef v_start = chunk_start(cg, buffer);
    return v_start == NULL ? v_number : zf_cg_sub(cg, v_number, v_start);
}

/// Looks for a value; continues in bb_found with its number + 1 (the result), or in bb_miss, where *v_free is the slot that it
/// would take with the tag *v_tag. A number that is found is right whatever was pushed since it was entered. The support's
/// `find` in line.
static LLVMValueRef look_up(zf_cg *cg, const zf_cg_encode_env *e, const zf_cg_buffer *buffer, LLVMValueRef v_word,
                            LLVMBasicBlockRef bb_found, LLVMBasicBlockRef bb_miss, LLVMValueRef *v_free, LLVMValueRef *v_tag) {
    LLVMBuilderRef builder = cg->builder;
    LLVMValueRef v_slots = zf_cg_load(cg, cg->ty_ptr, FIELD(buffer, index.slots), 8);
    LLVMValueRef v_mask = zf_cg_load(cg, cg->ty_i64, FIELD(buffer, index.mask), 8);
    *v_tag = tag_of(cg, e, buffer, v_word);
    LLVMValueRef v_first = first_place(cg, buffer, *v_tag);
    LLVMBasicBlockRef bb_here = zf_cg_here(cg), bb_probe = zf_cg_block(cg, "probe"), bb_taken = zf_cg_block(cg, "taken");
    LLVMBasicBlockRef bb_other = zf_cg_block(cg, "other");
    zf_cg_br(cg, bb_probe);
    zf_cg_enter(cg, bb_probe);
    LLVMValueRef v_at = LLVMBuildPhi(builder, cg->ty_i64, "at");
    LLVMAddIncoming(v_at, &v_first, &bb_here, 1);
    *v_free = zf_cg_at(cg, cg->ty_i64, v_slots, v_at);
    LLVMValueRef v_slot = zf_cg_load(cg, cg->ty_i64, *v_free, 8);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v_slot, zf_cg_i64(cg, 0)), bb_miss, bb_taken);
    zf_cg_enter(cg, bb_taken);
    LLVMValueRef v_number = LLVMBuildLShr(builder, v_slot, zf_cg_i64(cg, 32), "");
    LLVMValueRef v_same = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_and(cg, v_slot, zf_cg_i64(cg, UINT32_MAX)), *v_tag);
    if (element_size(buffer) > 4) {
        LLVMBasicBlockRef bb_like = zf_cg_block(cg, "like");
        zf_cg_cond_br(cg, v_same, bb_like, bb_other);
        zf_cg_enter(cg, bb_like);
        LLVMValueRef v_data = LLVMBuildLoad2(builder, cg->ty_ptr, buffer->v_data, "");
        LLVMValueRef v_other = zf_cg_at(cg, cg->ty_i64, v_data, zf_cg_sub(cg, v_number, zf_cg_i64(cg, 1)));
        v_same = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_load(cg, cg->ty_i64, v_other, 8), v_word);
    }
    zf_cg_cond_br(cg, v_same, bb_found, bb_other);
    zf_cg_enter(cg, bb_other);
    LLVMValueRef v_next = zf_cg_and(cg, zf_cg_add(cg, v_at, zf_cg_i64(cg, 1)), v_mask);
    LLVMAddIncoming(v_at, &v_next, &bb_other, 1);
    zf_cg_br(cg, bb_probe);
    zf_cg_enter(cg, bb_found);
    return number_in_chunk(cg, buffer, v_number);
}

/// Whether a new value can be pushed and entered in line: there is room, and all that was pushed before was entered.
static LLVMValueRef may_enter(zf_cg *cg, const zf_cg_buffer *buffer) {
    LLVMValueRef v_length = get(cg, buffer->v_length);
    LLVMValueRef v_may = zf_cg_icmp(cg, LLVMIntULT, v_length, get(cg, buffer->v_capacity));
    LLVMValueRef v_left = zf_cg_load(cg, cg->ty_i64, FIELD(buffer, index.left), 8);
    LLVMValueRef v_entered = zf_cg_load(cg, cg->ty_i64, FIELD(buffer, index.entered), 8);
    v_may = zf_cg_and(cg, v_may, zf_cg_icmp(cg, LLVMIntNE, v_left, zf_cg_i64(cg, 0)));
    v_may = zf_cg_and(cg, v_may, zf_cg_icmp(cg, LLVMIntEQ, v_entered, v_length));
    return zf_cg_and(cg, v_may, zf_cg_icmp(cg, LLVMIntULT, v_length, zf_cg_i64(cg, UINT32_MAX)));
}

/// Pushes a new value and enters it in the slot; its number + 1. Wants may_enter.
static LLVMValueRef enter(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_word, LLVMValueRef v_free, LLVMValueRef v_tag) {
    unsigned size = element_size(buffer);
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, size * 8);
    LLVMValueRef v_number = zf_cg_add(cg, get(cg, buffer->v_length), zf_cg_i64(cg, 1));
    zf_cg_store(cg, zf_cg_resize(cg, v_word, ty, false), place(cg, buffer), size);
    set(cg, buffer->v_length, v_number);
    zf_cg_store(cg, zf_cg_or(cg, LLVMBuildShl(cg->builder, v_number, zf_cg_i64(cg, 32), ""), v_tag), v_free, 8);
    LLVMValueRef v_left = zf_cg_load(cg, cg->ty_i64, FIELD(buffer, index.left), 8);
    zf_cg_store(cg, zf_cg_sub(cg, v_left, zf_cg_i64(cg, 1)), FIELD(buffer, index.left), 8);
    zf_cg_store(cg, v_number, FIELD(buffer, index.entered), 8);
    return number_in_chunk(cg, buffer, v_number);
}

void zf_cg_buffer_intern_prefetch(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_each *each) {
    if (!is_plain(buffer) || each->seq.kind != ZF_CG_SEQ_MEMORY || each->seq.type.nullable) return;
    LLVMValueRef v_mask = zf_cg_load(cg, cg->ty_i64, FIELD(buffer, index.mask), 8);
    LLVMValueRef v_later = zf_cg_add(cg, each->v_i, zf_cg_i64(cg, ZF_ENCODE_PREFETCH_DISTANCE));
    LLVMValueRef v_go = zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntUGE, v_mask, zf_cg_i64(cg, ZF_ENCODE_INDEX_SMALL)),
                                  zf_cg_icmp(cg, LLVMIntULT, v_later, each->v_length));
    LLVMBasicBlockRef bb_prefetch = zf_cg_block(cg, "ahead"), bb_on = zf_cg_block(cg, "here");
    zf_cg_cond_br(cg, v_go, bb_prefetch, bb_on);
    zf_cg_enter(cg, bb_prefetch);
    zf_cg_value value = zf_cg_seq_element(cg, frame->env, &each->seq, v_later, NULL);
    const zf_cg_encode_env *e = (const zf_cg_encode_env *)frame->env;
    LLVMValueRef v_place = first_place(cg, buffer, tag_of(cg, e, buffer, zf_cg_to_word(cg, value.type, value.v)));
    LLVMValueRef v_slots = zf_cg_load(cg, cg->ty_ptr, FIELD(buffer, index.slots), 8);
    LLVMValueRef v_keep = LLVMConstInt(cg->ty_i32, 3, false), v_data = LLVMConstInt(cg->ty_i32, 1, false);
    LLVMValueRef v_args[4] = {zf_cg_at(cg, cg->ty_i64, v_slots, v_place), v_data /* to write */, v_keep, v_data};
    zf_cg_intrinsic(cg, "llvm.prefetch", &cg->ty_ptr, 1, v_args, 4);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
}

LLVMValueRef zf_cg_buffer_intern(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_value *value,
                                 zf_span span) {
    LLVMValueRef v_valid = value->v_valid != NULL ? as_word(cg, value->v_valid) : zf_cg_i64(cg, 1), v_one = zf_cg_i64(cg, 1);
    if (is_text(buffer)) {
        LLVMValueRef v_args[3] = {zf_cg_text_pointer(cg, &value->seq), value->seq.v_length, v_valid};
        return zf_cg_sub(cg, zf_cg_buffer_call(cg, frame, buffer, "zf_cg_intern_text", v_args, 3, span), v_one);
    }
    LLVMValueRef v_args[2] = {zf_cg_to_word(cg, value->type, value->v), v_valid};
    if (!is_plain(buffer)) {
        return zf_cg_sub(cg, zf_cg_buffer_call(cg, frame, buffer, "zf_cg_intern", v_args, 2, span), v_one);
    }
    LLVMBasicBlockRef bb_found = zf_cg_block(cg, "found"), bb_miss = zf_cg_block(cg, "miss"), bb_on = zf_cg_block(cg, "interned");
    LLVMBasicBlockRef bb_call = zf_cg_block(cg, "intern"), bb_from[3];
    LLVMValueRef v_free, v_tag, v_numbers[3];
    v_numbers[0] = look_up(cg, (const zf_cg_encode_env *)frame->env, buffer, v_args[0], bb_found, bb_miss, &v_free, &v_tag);
    bb_from[0] = zf_cg_here(cg);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_miss);
    unsigned ways = 1;
    if (!buffer->bitwise) { // no bits are pending
        LLVMBasicBlockRef bb_enter = zf_cg_block(cg, "enter");
        zf_cg_cond_br(cg, may_enter(cg, buffer), bb_enter, bb_call);
        zf_cg_enter(cg, bb_enter);
        v_numbers[ways] = enter(cg, buffer, v_args[0], v_free, v_tag);
        bb_from[ways++] = zf_cg_here(cg);
        zf_cg_br(cg, bb_on);
    } else {
        zf_cg_br(cg, bb_call);
    }
    zf_cg_enter(cg, bb_call);
    v_numbers[ways] = zf_cg_buffer_call(cg, frame, buffer, "zf_cg_intern", v_args, 2, span);
    bb_from[ways++] = zf_cg_here(cg);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
    LLVMValueRef v_number = LLVMBuildPhi(cg->builder, cg->ty_i64, "");
    LLVMAddIncoming(v_number, v_numbers, bb_from, ways);
    return zf_cg_sub(cg, v_number, v_one);
}

// Storing what a kernel makes: elements as they are, booleans as bits.
#include "codegen/kernel/kernel.h"

LLVMValueRef zf_lower_memory_form(zf_kernel_build *lower, zf_type type, zf_cg_value value) {
    zf_cg *cg = lower->cg;
    if (value.v == NULL || value.is_seq || value.type.nullable) {
        zf_cg_unsupported(cg, lower->graph->column->span, "only plain values can be stored");
        return LLVMConstNull(zf_cg_memory_type(cg, type));
    }
    return type.kind == ZF_K_BOOL ? zf_cg_resize(cg, value.v, cg->ty_i8, false) : value.v;
}

bool zf_lower_stores_bits(const zf_kernel_build *lower) { return lower->type.kind == ZF_K_BOOL && !lower->type.nullable; }

void zf_lower_store(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_at, LLVMValueRef v_index) {
    if (!zf_lower_deliver(lower, value, v_index)) zf_lower_store_element(lower, value, v_at, v_index);
}

LLVMValueRef zf_lower_row_wanted(zf_kernel_build *lower, LLVMValueRef v_index, LLVMValueRef v_end) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, v_index, lower->v_row_begin);
    LLVMValueRef v_goes_on = zf_cg_icmp(cg, LLVMIntULT, v_index, v_end);
    return zf_cg_and(cg, zf_cg_within(cg, v_begun, "rows before the first wanted"),
                     zf_cg_within(cg, v_goes_on, "rows behind the last wanted"));
}

void zf_lower_store_element(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_at, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = zf_cg_memory_type(cg, lower->type);
    LLVMValueRef v = zf_lower_memory_form(lower, lower->type, value);
    LLVMBasicBlockRef bb_stored = NULL;
    // Rows outside the wanted ones have no place, but where a program reads its output. A tile of one row is wanted, unless its
    // place is read from a directory, which may have changed since its check.
    bool follows = lower->kernel->tile == 1 && !zf_kernel_is_uneven(lower->plan, lower->kernel);
    bool apart = lower->v_row_begin != NULL && v_at == lower->v_sink && !follows;
    if (apart && !lower->kernel->store_first) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "wanted");
        bb_stored = zf_cg_block(cg, "stored");
        zf_cg_cond_br(cg, zf_lower_row_wanted(lower, v_index, lower->v_row_end), bb_store, bb_stored);
        zf_cg_enter(cg, bb_store);
    }
    zf_cg_store(cg, v, zf_cg_at_sink(cg, ty, v_at, v_index), zf_kind_size(lower->type.kind));
    if (bb_stored == NULL) return;
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
}

void zf_lower_store_bit(zf_kernel_build *lower, zf_cg_value value, LLVMValueRef v_index, LLVMValueRef v_byte) {
    zf_lower_append_bit(lower, lower->v_sink, zf_lower_memory_form(lower, lower->type, value), v_index, v_byte);
}

void zf_lower_append_bit(zf_kernel_build *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bit, LLVMValueRef v_index,
                         LLVMValueRef v_byte) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_shift = zf_cg_resize(cg, zf_cg_and(cg, v_index, zf_cg_i64(cg, 7)), cg->ty_i8, false);
    LLVMValueRef v_first = zf_cg_icmp(cg, LLVMIntEQ, v_shift, LLVMConstNull(cg->ty_i8));
    LLVMValueRef v_old = LLVMBuildLoad2(cg->builder, cg->ty_i8, v_byte, "");
    v_first = zf_cg_edge(cg, v_first, "bits of the byte before");
    LLVMValueRef v = zf_cg_select(cg, v_first, LLVMConstNull(cg->ty_i8), v_old);
    v = zf_cg_or(cg, v, LLVMBuildShl(cg->builder, v_bit, v_shift, ""));
    LLVMBuildStore(cg->builder, v, v_byte);
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_index, zf_cg_i64(cg, 3), "");
    zf_cg_store(cg, v, zf_cg_at_sink(cg, cg->ty_i8, v_bitmap, v_at), 1);
}

static LLVMValueRef pack_64(zf_cg *cg, LLVMValueRef v_bytes) {
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i8, 64);
    LLVMValueRef v = zf_cg_load(cg, ty, v_bytes, 1);
    return LLVMBuildBitCast(cg->builder, zf_cg_icmp(cg, LLVMIntNE, v, LLVMConstNull(ty)), cg->ty_i64, "");
}

static void store_64_bits(zf_kernel_build *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bytes, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, v_index, zf_cg_i64(cg, 3), "");
    zf_cg_store(cg, pack_64(cg, v_bytes), zf_cg_at_sink(cg, cg->ty_i8, v_bitmap, v_at), 1);
}

void zf_lower_store_strip_bits(zf_kernel_build *lower, LLVMValueRef v_bytes, LLVMValueRef v_index) {
    store_64_bits(lower, lower->v_sink, v_bytes, v_index);
}

void zf_lower_store_tile_bits(zf_kernel_build *lower, LLVMValueRef v_bytes, LLVMValueRef v_lo, LLVMValueRef v_hi) {
    zf_lower_pack_bits(lower, lower->v_sink, v_bytes, v_lo, v_hi);
}

void zf_lower_pack_bits(zf_kernel_build *lower, LLVMValueRef v_bitmap, LLVMValueRef v_bytes, LLVMValueRef v_lo,
                        LLVMValueRef v_hi) {
    zf_cg *cg = lower->cg;
    LLVMValueRef v_count = zf_cg_sub(cg, v_hi, v_lo), v_six = zf_cg_i64(cg, 6), v_three = zf_cg_i64(cg, 3);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), LLVMBuildLShr(cg->builder, v_count, v_six, ""), "pack");
    LLVMValueRef v_k = LLVMBuildShl(cg->builder, loop.v_i, v_six, "");
    store_64_bits(lower, v_bitmap, zf_cg_at(cg, cg->ty_i8, v_bytes, v_k), zf_cg_add(cg, v_lo, v_k));
    zf_cg_loop_end(cg, &loop);
    // The rest, a byte at a time. Bytes behind the last element may hold anything: their bits become 0.
    LLVMValueRef v_done = zf_cg_and(cg, v_count, zf_cg_i64(cg, ~(uint64_t)63));
    LLVMValueRef v_left = zf_cg_sub(cg, v_count, v_done);
    LLVMValueRef v_word = pack_64(cg, zf_cg_at(cg, cg->ty_i8, v_bytes, v_done));
    v_word = zf_cg_mask(cg, v_word, zf_cg_low_mask(cg, v_left, 63), "bits behind the tile's last");
    LLVMValueRef v_byte_count = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_left, zf_cg_i64(cg, 7)), v_three, "");
    LLVMValueRef v_at = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_lo, v_done), v_three, "");
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, v_bitmap, v_at);
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_byte_count, "pack_rest");
    LLVMValueRef v_shift = LLVMBuildShl(cg->builder, loop.v_i, v_three, "");
    LLVMValueRef v_part = zf_cg_resize(cg, LLVMBuildLShr(cg->builder, v_word, v_shift, ""), cg->ty_i8, false);
    zf_cg_store(cg, v_part, zf_cg_at(cg, cg->ty_i8, v_to, loop.v_i), 1);
    zf_cg_loop_end(cg, &loop);
}

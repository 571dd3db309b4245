// Values that are more than their elements: nullable ones, which are a value (0 where it is null) and a bit. In a work buffer
// that bit is a byte, so that any tile can store it; a column's tile collects bytes and packs them at its end.
#include "codegen/lower.h"

// Bytes that elements take, as zf_work_buffer_bytes lays a nullable work buffer out.
static LLVMValueRef values_end(zf_lower *lower, uint32_t edge) {
    zf_cg *cg = lower->cg;
    zf_type type = lower->graph->edges[edge].type;
    LLVMValueRef v_count = zf_lower_count(lower, edge), v_bytes;
    if (type.kind == ZF_K_BOOL)
        v_bytes = LLVMBuildLShr(cg->builder, zf_cg_add(cg, v_count, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
    else
        v_bytes = zf_cg_mul(cg, v_count, zf_cg_i64(cg, zf_kind_size(type.kind)));
    return zf_cg_and(cg, zf_cg_add(cg, v_bytes, zf_cg_i64(cg, 63)), zf_cg_i64(cg, ~(uint64_t)63));
}

LLVMValueRef zf_lower_validity_pointer(zf_lower *lower, uint32_t edge) {
    zf_lower_count(lower, edge); // its word is loaded before the block below is entered
    LLVMBasicBlockRef bb_before = zf_lower_setup_begin(lower);
    LLVMValueRef v_work = lower->v_works[lower->plan->edge_work[edge]];
    LLVMValueRef v = zf_cg_at(lower->cg, lower->cg->ty_i8, v_work, values_end(lower, edge));
    zf_lower_setup_end(lower, bb_before);
    return v;
}

static LLVMValueRef tile_bytes(zf_lower *lower, const char *name) {
    return zf_cg_alloca(lower->cg, LLVMArrayType2(lower->cg->ty_i8, lower->kernel->tile + ZF_STRIP), name);
}

void zf_lower_deliver_begin(zf_lower *lower, const zf_lower_tiles *tiles) {
    zf_delivery *d = &lower->delivery;
    if (!lower->type.nullable) return;
    bool to_column = lower->kernel->sink < 0;
    d->v_lo = tiles->v_lo;
    d->v_valid = to_column ? tile_bytes(lower, "valid") : zf_lower_validity_pointer(lower, lower->kernel->edge);
    d->v_bools = lower->type.kind == ZF_K_BOOL ? tile_bytes(lower, "bools") : NULL;
}

bool zf_lower_deliver(zf_lower *lower, zf_cg_value value, LLVMValueRef v_index) {
    zf_cg *cg = lower->cg;
    const zf_delivery *d = &lower->delivery;
    if (!lower->type.nullable) return false;
    if (value.v == NULL || value.v_valid == NULL || value.is_seq) {
        zf_cg_unsupported(cg, lower->graph->column->span, "only plain values can be stored");
        return true;
    }
    LLVMValueRef v_here = zf_cg_sub(cg, v_index, d->v_lo), v_valid = zf_cg_resize(cg, value.v_valid, cg->ty_i8, false);
    if (d->v_bools != NULL) {
        LLVMValueRef v = zf_cg_resize(cg, value.v, cg->ty_i8, false);
        zf_cg_store(cg, v, zf_cg_at(cg, cg->ty_i8, d->v_bools, v_here), 1);
    } else {
        LLVMTypeRef ty = zf_cg_type(cg, lower->type);
        zf_cg_store(cg, value.v, zf_cg_at_sink(cg, ty, lower->v_sink, v_index), zf_kind_size(lower->type.kind));
    }
    bool to_column = lower->kernel->sink < 0;
    zf_cg_store(cg, v_valid, zf_cg_at(cg, cg->ty_i8, d->v_valid, to_column ? v_here : v_index), 1);
    return true;
}

void zf_lower_deliver_end(zf_lower *lower, const zf_lower_tiles *tiles) {
    const zf_delivery *d = &lower->delivery;
    if (!lower->type.nullable) return;
    if (d->v_bools != NULL) zf_lower_store_tile_bits(lower, d->v_bools, tiles->v_lo, tiles->v_hi);
    if (lower->kernel->sink < 0) zf_lower_pack_bits(lower, lower->v_validity, d->v_valid, tiles->v_lo, tiles->v_hi);
}

// Elements of the column that follow from their bits alone, where a coder's elements hold them (zf_plan_unpacks): what each four
// bits become is made once for all chunks of a thread block, into shared memory, and rows look it up. A value that nothing may
// have (a dictionary's entry that is not there) is marked, and a lane that meets one notes it, as a check would.
#include "codegen/simt/chunks/simt_rows.h"

enum { NIBBLES = 16, MOST_WIDTH = 4 };

static zf_type column_type(const zf_plan *plan) { return plan->graph->edges[0].type; }

uint32_t zf_simt_nibbles_bytes(const zf_plan *plan, const zf_kernel *kernel) {
    if (kernel->sink < 0 || plan->works[kernel->sink].packed == NULL || !zf_plan_packs_alone(plan, kernel->sink)) return 0;
    bool is_sum;
    zf_simt_sum_of(plan, &is_sum);
    return is_sum ? 0 : NIBBLES * 4 * zf_kind_size(column_type(plan).kind);
}

/// Bytes that four bits become.
static uint32_t entry_bytes(const zf_kernel_build *lower) {
    return 4 / zf_lower_unpacked_width(lower) * zf_kind_size(column_type(lower->plan).kind);
}

void zf_simt_nibbles_make(zf_kernel_build *lower, uint32_t offset) {
    zf_cg *cg = lower->cg;
    uint32_t room = lower->unpacks > 0 ? zf_simt_nibbles_bytes(lower->plan, lower->kernel) : 0;
    if (room == 0 || zf_lower_unpacked_width(lower) > MOST_WIDTH) return;
    uint32_t width = zf_lower_unpacked_width(lower), size = zf_kind_size(column_type(lower->plan).kind), noted = lower->noted;
    LLVMValueRef v_nibble = zf_cg_mask(cg, zf_simt_lane(lower), zf_cg_i32(cg, NIBBLES - 1), "four bits");
    LLVMValueRef v_table = cg->target->simt->shared(cg, offset, room), v_any = lower->v_any, v_elements[4];
    lower->v_any = zf_cg_alloca(cg, cg->ty_i1, "bad");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), lower->v_any);
    for (uint32_t k = 0; k < 4 / width; k++) {
        LLVMValueRef v_bits = LLVMBuildLShr(cg->builder, v_nibble, zf_cg_i32(cg, k * width), "");
        v_bits = zf_cg_mask(cg, v_bits, zf_cg_i32(cg, (1u << width) - 1), "bits of an element");
        zf_cg_value value = zf_lower_unpacked(lower, zf_cg_resize(cg, v_bits, cg->ty_i64, false), zf_cg_i64(cg, 0));
        v_elements[k] = value.v;
    }
    if (lower->noted != noted) {
        LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, lower->v_any, "");
        lower->simt->v_bad_nibbles = zf_simt_ballot(lower, v_bad);
    }
    lower->v_any = v_any;
    LLVMBasicBlockRef bb_store = zf_cg_block(cg, "nibbles"), bb_stored = zf_cg_block(cg, "nibbles_made");
    LLVMValueRef v_mine = zf_cg_icmp(cg, LLVMIntULT, lower->simt->v_thread, zf_cg_i32(cg, NIBBLES));
    zf_cg_cond_br(cg, zf_cg_holds(cg, ZF_SITE_MASK, v_mine, "threads that make four bits' elements"), bb_store, bb_stored);
    zf_cg_enter(cg, bb_store);
    LLVMTypeRef ty = zf_cg_memory_type(cg, column_type(lower->plan));
    LLVMValueRef v_first = zf_cg_mul(cg, v_nibble, zf_cg_i32(cg, 4 / width));
    LLVMValueRef v_to = zf_cg_at(cg, ty, v_table, zf_cg_resize(cg, v_first, cg->ty_i64, false));
    for (uint32_t k = 0; k < 4 / width; k++) zf_cg_store(cg, v_elements[k], zf_cg_byte_at(cg, v_to, k * size), size);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    zf_simt_barrier(lower, "elements of four bits before what reads them");
    lower->simt->v_nibbles = v_table;
}

/// The elements for four bits, as words, or as the low bytes of one. v_nibble: i32.
static void look_up(zf_kernel_build *lower, LLVMValueRef v_nibble, LLVMValueRef *v_words) {
    zf_cg *cg = lower->cg;
    uint32_t bytes = entry_bytes(lower);
    LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, bytes < 4 ? 8 * bytes : 32);
    uint32_t count = bytes < 4 ? 1 : bytes / 4, together = count < 4 ? count : 4;
    LLVMValueRef v_at =
        zf_cg_at(cg, LLVMArrayType2(ty, count), lower->simt->v_nibbles, zf_cg_resize(cg, v_nibble, cg->ty_i64, false));
    if (count == 1) {
        v_words[0] = zf_cg_resize(cg, zf_cg_load(cg, ty, v_at, bytes), cg->ty_i32, false);
        return;
    }
    for (uint32_t k = 0; k < count; k += together) {
        LLVMValueRef v = zf_cg_load(cg, LLVMVectorType(ty, together), zf_cg_byte_at(cg, v_at, 4 * k), 4 * together);
        for (uint32_t e = 0; e < together; e++) v_words[k + e] = LLVMBuildExtractElement(cg->builder, v, zf_cg_i32(cg, e), "");
    }
}

unsigned zf_simt_nibbles_words(zf_kernel_build *lower, LLVMValueRef v, unsigned bits, LLVMValueRef *v_words) {
    zf_cg *cg = lower->cg;
    if (lower->simt->v_nibbles == NULL) return 0;
    uint32_t bytes = entry_bytes(lower), words = 0;
    LLVMTypeRef ty = LLVMTypeOf(v);
    LLVMValueRef v_bad = zf_cg_i32(cg, 0);
    for (unsigned k = 0; 4 * k < bits; k++) {
        LLVMValueRef v_nibble = k == 0 ? v : LLVMBuildLShr(cg->builder, v, LLVMConstInt(ty, 4 * k, 0), "");
        v_nibble = zf_cg_resize(cg, v_nibble, cg->ty_i32, false);
        v_nibble = zf_cg_mask(cg, v_nibble, zf_cg_i32(cg, NIBBLES - 1), "four bits");
        if (lower->simt->v_bad_nibbles != NULL)
            v_bad = zf_cg_or(cg, v_bad, LLVMBuildLShr(cg->builder, lower->simt->v_bad_nibbles, v_nibble, ""));
        look_up(lower, v_nibble, &v_words[words]);
        uint32_t at = bytes * k % 4;
        if (bytes >= 4) {
            words += bytes / 4;
        } else if (at > 0) {
            LLVMValueRef v_high = LLVMBuildShl(cg->builder, v_words[words], zf_cg_i32(cg, 8 * at), "");
            v_words[words - 1] = zf_cg_or(cg, v_words[words - 1], v_high);
        } else {
            words++;
        }
    }
    if (lower->simt->v_bad_nibbles != NULL) {
        LLVMValueRef v_one = zf_cg_i32(cg, 1), v_found = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_bad, v_one), zf_cg_i32(cg, 0));
        LLVMValueRef v_any = LLVMBuildLoad2(cg->builder, cg->ty_i1, lower->v_any, "");
        LLVMBuildStore(cg->builder, zf_cg_or(cg, v_any, v_found), lower->v_any);
    }
    return words;
}

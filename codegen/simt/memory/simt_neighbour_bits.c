// Loads for the first neighbour of a row, whose words the others share. Three pieces of code follow each other:
//
//   1. the first neighbours of all rows, which load their words;
//   2. the others, which load nothing, if codes are so narrow that those of all neighbours should lie in two words. Each is
//      checked to lie there, since the data give its place;
//   3. if codes are wider, or a check failed: all of them as if there were no neighbours, by the caller.
#include "codegen/simt/memory/simt_neighbour_bits.h"

#include "codegen/body/cg_fault_sites.h"

enum {
    WORD_BITS = 32,
    NARROW_BITS = WORD_BITS + 1, // of all neighbours together: wherever the first begins in its word, they end in the next
};

/// Two words of a stream, taken by an expression.
typedef struct words {
    const zf_expr *access;
    uint32_t node;
    LLVMBasicBlockRef bb; ///< where they were loaded
    LLVMValueRef v_word;  ///< i64: what places are counted from
    LLVMValueRef v_begin; ///< i32: bit of the first one, counted from there
    LLVMValueRef v_room;  ///< i32: bits of the stream, counted from there
    LLVMValueRef v_both;  ///< i64
    LLVMValueRef v_count; ///< i64: bits of the first neighbour, as it asked for them
    LLVMValueRef v_mask;  ///< i64: so many
    struct words *next;
} words;

struct zf_simt_neighbour_bits {
    bool takes; ///< else it loads
    words *found;
    LLVMValueRef v_inside; ///< i1: all bits that were taken lay in the words; NULL: none were
};

static words *find(const zf_kernel_env *env, const zf_expr *access) {
    words *w = env->simt.places->found;
    while (w != NULL && (w->access != access || w->node != env->node)) w = w->next;
    return w;
}

LLVMValueRef zf_simt_neighbour_bits_load(zf_kernel_env *env, uint32_t edge, const zf_cg_bit_place *unmoved,
                                         const zf_cg_bit_place *place, LLVMValueRef v_count, uint64_t limit,
                                         const zf_expr *access) {
    zf_kernel_build *lower = env->lower;
    zf_cg *cg = lower->cg;
    if (env->simt.places->takes || find(env, access) != NULL) return NULL;
    LLVMValueRef v_from = zf_cg_at(cg, cg->ty_i32, zf_lower_pointer(lower, edge), place->v_word);
    LLVMValueRef v_index = LLVMBuildLShr(cg->builder, place->v_near, zf_cg_i32(cg, 5), "");
    v_from = zf_cg_at(cg, cg->ty_i32, v_from, zf_cg_resize(cg, v_index, cg->ty_i64, false));
    zf_simt_prefetch_behind(lower, v_from);
    LLVMValueRef v_low = zf_cg_load(cg, cg->ty_i32, v_from, 4);
    LLVMValueRef v_high = zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, v_from, 4), 4);
    LLVMValueRef v_shifted = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_high, cg->ty_i64, false), zf_cg_i64(cg, 32), "");
    words *w = ZF_NEW(cg->arena, words);
    *w = (words){.access = access, .node = env->node, .bb = zf_cg_here(cg), .v_word = unmoved->v_word, .v_room = place->v_room};
    w->v_begin = zf_cg_and(cg, place->v_near, zf_cg_i32(cg, ~(uint32_t)(WORD_BITS - 1)));
    w->v_both = zf_cg_or(cg, zf_cg_resize(cg, v_low, cg->ty_i64, false), v_shifted);
    w->v_count = v_count;
    w->v_mask = zf_cg_low_mask(cg, v_count, limit);
    w->next = env->simt.places->found;
    env->simt.places->found = w;
    LLVMValueRef v = zf_cg_resize(cg, zf_cg_funnel(cg, false, v_high, v_low, place->v_near), cg->ty_i64, false);
    return zf_cg_mask(cg, v, w->v_mask, "bits of an element");
}

LLVMValueRef zf_simt_neighbour_bits_take(zf_kernel_env *env, const zf_cg_bit_place *place, LLVMValueRef v_count,
                                         const zf_expr *access) {
    zf_cg *cg = env->lower->cg;
    zf_simt_neighbour_bits *places = env->simt.places;
    const words *w = places->takes ? find(env, access) : NULL;
    if (w == NULL) return NULL;
    LLVMValueRef v_away = zf_cg_sub(cg, place->v_near, w->v_begin);
    LLVMValueRef v_most = zf_cg_sub(cg, zf_cg_i32(cg, 2 * WORD_BITS), zf_cg_resize(cg, v_count, cg->ty_i32, false));
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntULE, v_away, v_most);
    v_inside = zf_cg_and(cg, v_inside, zf_cg_icmp(cg, LLVMIntEQ, place->v_word, w->v_word));
    v_inside = zf_cg_and(cg, v_inside, zf_cg_icmp(cg, LLVMIntEQ, v_count, w->v_count));
    v_inside = zf_cg_within(cg, v_inside, "a neighbour's bits in the first one's words");
    places->v_inside = places->v_inside == NULL ? v_inside : zf_cg_and(cg, places->v_inside, v_inside);
    // Bits that lie elsewhere do not use this value; their shift must only be defined.
    LLVMValueRef v = LLVMBuildLShr(cg->builder, w->v_both, zf_cg_resize(cg, v_away, cg->ty_i64, false), "");
    v = zf_cg_resize(cg, zf_cg_resize(cg, LLVMBuildFreeze(cg->builder, v, ""), cg->ty_i32, false), cg->ty_i64, false);
    return zf_cg_mask(cg, v, w->v_mask, "bits of an element");
}

/// Leaves out words that were not loaded in the block at hand: what follows may not have come by there.
static void keep_loaded(zf_cg *cg, zf_simt_neighbour_bits *places) {
    words **link = &places->found;
    while (*link != NULL) {
        if ((*link)->bb == zf_cg_here(cg))
            link = &(*link)->next;
        else
            *link = (*link)->next;
    }
}

/// Whether the words hold what all neighbours should take, and are the stream's.
static LLVMValueRef all_narrow(zf_cg *cg, const zf_simt_neighbour_bits *places, unsigned count, LLVMValueRef v_all) {
    for (const words *w = places->found; w != NULL; w = w->next) {
        LLVMValueRef v_narrow = zf_cg_icmp(cg, LLVMIntULE, w->v_count, zf_cg_i64(cg, NARROW_BITS / count));
        LLVMValueRef v_end = zf_cg_add(cg, w->v_begin, zf_cg_i32(cg, 2 * WORD_BITS));
        LLVMValueRef v_whole = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULE, v_end, w->v_room), "words for neighbours");
        v_all = zf_cg_and(cg, v_all, zf_cg_and(cg, v_narrow, v_whole));
    }
    return v_all;
}

/// Goes on in `bb_then` where it holds, else in bb_else.
static void branch(zf_kernel_build *lower, LLVMValueRef v_if, bool whole_warp, LLVMBasicBlockRef bb_then,
                   LLVMBasicBlockRef bb_else) {
    zf_cg *cg = lower->cg;
    if (whole_warp)
        zf_cg_cond_br(cg, zf_simt_any(lower, zf_cg_not(cg, v_if)), bb_else, bb_then);
    else
        zf_cg_cond_br(cg, v_if, bb_then, bb_else);
}

LLVMBasicBlockRef zf_simt_make_beside(zf_kernel_build *lower, unsigned rows, unsigned count, bool whole_warp, zf_simt_make make,
                                      void *user) {
    zf_cg *cg = lower->cg;
    zf_simt_neighbour_bits places[ZF_SIMT_BATCH] = {{0}};
    for (unsigned r = 0; r < rows; r++) make(user, r, 0, &places[r]);
    LLVMValueRef v_narrow = zf_cg_i1(cg, true), v_inside = zf_cg_i1(cg, true);
    for (unsigned r = 0; r < rows; r++) {
        keep_loaded(cg, &places[r]);
        v_narrow = all_narrow(cg, &places[r], count, v_narrow);
        places[r].takes = true;
    }
    LLVMBasicBlockRef bb_beside = zf_cg_block(cg, "beside"), bb_apart = zf_cg_block(cg, "apart"),
                      bb_made = zf_cg_block(cg, "beside_made");
    branch(lower, v_narrow, whole_warp, bb_beside, bb_apart);
    zf_cg_enter(cg, bb_beside);
    cg->sites_in = "neighbours of the first";
    for (unsigned r = 0; r < rows; r++) {
        for (unsigned k = 1; k < count; k++) make(user, r, k, &places[r]);
        if (places[r].v_inside != NULL) v_inside = zf_cg_and(cg, v_inside, places[r].v_inside);
    }
    cg->sites_in = NULL;
    branch(lower, v_inside, whole_warp, bb_made, bb_apart);
    zf_cg_enter(cg, bb_made);
    return bb_apart;
}

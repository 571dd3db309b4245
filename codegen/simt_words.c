// Groups that are strings: element j of group g is byte j of a string that g alone says, as in a list of words, or of a number
// of eight bytes, as in a table of short symbols. A warp makes several tiles of the bytes together: row by row its lanes find the
// strings of 32 * C groups and put them into shared memory, from where they are stored 16 bytes a lane at a time.
//
// A string is taken in pieces of sixteen bytes, which are moved to where they go by one shift, and go into the stage by atomic
// or: neighbours share words. Short ones are put by their lane, of a long one all lanes put pieces.
//
// The file says where each tile begins and ends among the groups. All of these states must be met on the way. Where anything is
// not as it should be nothing is stored, and one thread makes the tiles one by one, as on the host (lower->v_hard): it tells what
// is wrong, and where.
#include "codegen/simt_words.h"

#include "codegen/cg_frame.h"
#include "codegen/simt_text.h"

enum {
    EACH = 8,              // strings that a lane brings, at most: of those in memory
    STRINGS = 4,           // four, since each takes five words until it is put
    CHUNK = 16,            // bytes that a lane stores at once
    PIECE = 16,            // bytes of a string that are moved at once
    SHORT = 64,            // of a string: a lane puts it alone
    MORE_BIT = 20,         // of sums of lengths, behind those: how many lanes have a string of several pieces,
    LONG_BIT = 26,         // and above, a long one
    MOST = 1 << 12,        // bytes that a warp makes
    MOST_GROUPS = 1 << 28, // that they touch
    MARKS = MOST / 256,    // states between their tiles, at most
};

typedef struct words {
    zf_lower *lower;
    const zf_expr *access; // the string; NULL: groups are numbers
    unsigned each;         // strings a lane brings
    LLVMValueRef v_stage, v_lane;
    LLVMValueRef v_number;                // i64: tiles
    LLVMValueRef v_lo, v_size;            // their first byte (i64), and bytes (i32)
    LLVMValueRef v_lead;                  // i32: bytes of the stage before them, so that chunks are aligned where they go
    LLVMValueRef v_g0, v_o0, v_end, v_o1; // groups g0..end, of the first from o0 on, of the last up to o1 (0: all)
    LLVMValueRef v_count, v_between; // i32: groups; first groups of lanes all of whose groups lie between the first and the last
    LLVMValueRef v_bad;              // slot (i1): something is wrong
    LLVMValueRef v_here;             // slot (i32): bytes so far
    LLVMValueRef v_sources[EACH], v_lengths[EACH]; // slots (i64): where strings lie, or the numbers
    // The states between the tiles: byte mark_o (i32) of what is taken of group g0 + mark_g (i32).
    unsigned marks;
    LLVMValueRef v_mark_g[MARKS], v_mark_o[MARKS];
} words;

uint32_t zf_simt_words_bytes(void) { return MOST + 2 * CHUNK; }

uint32_t zf_simt_words_span(uint32_t tile) { return tile > MOST ? 0 : MOST / tile; }

static void note_bad(words *w, LLVMValueRef v_bad, const char *what) {
    zf_cg *cg = w->lower->cg;
    if (zf_cg_site(cg, ZF_SITE_CHECK, what)) return;
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i1, w->v_bad, ""), v_bad), w->v_bad);
}

static LLVMValueRef low_half(zf_cg *cg, LLVMValueRef v) { return zf_cg_resize(cg, v, cg->ty_i32, false); }

// ---- Loops of 32 bits -----------------------------------------------------------------------------------------

typedef struct turns {
    LLVMBasicBlockRef bb_body, bb_end;
    LLVMValueRef v_i, v_step, v_stop;
} turns;

// For v_i from v_begin on in steps, below v_stop (i32, both below 2^31).
static void turns_begin(zf_cg *cg, turns *t, LLVMValueRef v_begin, uint32_t step, LLVMValueRef v_stop, const char *name) {
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

static void turns_end(zf_cg *cg, turns *t) {
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    LLVMValueRef v_next = zf_cg_add(cg, t->v_i, t->v_step);
    LLVMAddIncoming(t->v_i, &v_next, &bb_last, 1);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_next, t->v_stop), t->bb_body, t->bb_end);
    LLVMMoveBasicBlockAfter(t->bb_end, bb_last);
    zf_cg_enter(cg, t->bb_end);
}

// ---- The strings of a row -------------------------------------------------------------------------------------

// The bytes (i64, the first lowest) that an expression gives for j = 0, 1, ...
static LLVMValueRef number(words *w, zf_lower_env *env, const zf_expr *e) {
    zf_cg *cg = w->lower->cg;
    const zf_body *decode = &env->env.inst->decode;
    if (e->kind == ZF_X_COND) {
        LLVMValueRef v_if = zf_cg_eval_expr(cg, &env->env, decode, e->a, NULL, 0).v, v_guard = cg->v_guard, v[2];
        for (unsigned side = 0; side < 2; side++) {
            LLVMValueRef v_here = side == 0 ? v_if : zf_cg_not(cg, v_if);
            cg->v_guard = v_guard == NULL ? v_here : zf_cg_and(cg, v_guard, v_here);
            v[side] = number(w, env, side == 0 ? e->b : e->c);
        }
        cg->v_guard = v_guard;
        return zf_cg_select(cg, v_if, v[0], v[1]);
    }
    const zf_expr *of = zf_lower_byte_of_number(e);
    LLVMValueRef v = zf_cg_resize(cg, zf_cg_eval_expr(cg, &env->env, decode, of != NULL ? of : e, NULL, 0).v, cg->ty_i64, false);
    return of != NULL ? v : zf_cg_mul(cg, v, zf_cg_i64(cg, UINT64_C(0x0101010101010101)));
}

// The string of a group and its size; `env` says where.
static void take(words *w, zf_lower_env *env, unsigned k) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_size = zf_cg_resize(cg, zf_cg_eval_body(cg, &env->env, &env->env.inst->size).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    env->v_j = zf_cg_i64(cg, 0);
    if (w->access == NULL) {
        LLVMBuildStore(cg->builder, number(w, env, env->env.inst->decode.value), w->v_sources[k]);
        LLVMBuildStore(cg->builder, v_size, w->v_lengths[k]);
        cg->v_guard = NULL;
        return;
    }
    zf_cg_value text = zf_cg_eval_expr(cg, &env->env, &env->env.inst->decode, w->access->a, NULL, 0);
    cg->v_guard = NULL;
    if (!w->access->proved) {
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_size, text.seq.v_length);
        note_bad(w, v_over, "V01, of a group's string");
        v_size = zf_cg_select(cg, v_over, zf_cg_i64(cg, 0), v_size);
    }
    LLVMBuildStore(cg->builder, zf_lower_text_address(lower, &text), w->v_sources[k]);
    LLVMBuildStore(cg->builder, v_size, w->v_lengths[k]);
}

// A lane's groups, all of which the block has: what they read is loaded together.
static void take_whole(words *w, LLVMValueRef v_first) {
    zf_lower *lower = w->lower;
    zf_simt_lanes lanes = zf_simt_lanes_begin(lower, v_first, w->each);
    for (unsigned k = 0; k < w->each; k++) {
        zf_lower_env env = zf_simt_lane_env(lower, lower->kernel->root, &lanes, k);
        env.v_g = env.v_i;
        env.v_i = NULL;
        take(w, &env, k);
    }
    zf_simt_lanes_end(lower, &lanes);
}

// Those that the tiles have, one by one.
static void take_some(words *w, LLVMValueRef v_first) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    for (unsigned k = 0; k < w->each; k++) {
        LLVMBasicBlockRef bb_one = zf_cg_block(cg, "group"), bb_next = zf_cg_block(cg, "group_next");
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w->v_sources[k]);
        LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), w->v_lengths[k]);
        zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
        env.v_g = zf_cg_add(cg, v_first, zf_cg_i64(cg, k));
        LLVMValueRef v_exists = zf_cg_icmp(cg, LLVMIntULT, env.v_g, w->v_end);
        zf_cg_cond_br(cg, zf_cg_within(cg, v_exists, "groups that exist"), bb_one, bb_next);
        zf_cg_enter(cg, bb_one);
        take(w, &env, k);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

// Of groups of other tiles nothing is taken, of the first and the last one a part. `v_number`: the lane's first group, counted
// from the tiles' first (i32).
static void cut_edges(words *w, LLVMValueRef v_number) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_last = zf_cg_sub(cg, w->v_count, zf_cg_i32(cg, 1));
    LLVMValueRef v_stored = zf_cg_icmp(cg, LLVMIntNE, lower->v_tile, v_zero),
                 v_inside = zf_cg_icmp(cg, LLVMIntNE, w->v_o1, v_zero);
    for (unsigned k = 0; k < w->each; k++) {
        LLVMValueRef v_k = zf_cg_add(cg, v_number, zf_cg_i32(cg, k));
        LLVMValueRef v_size = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_lengths[k], "");
        LLVMValueRef v_is_first = zf_cg_icmp(cg, LLVMIntEQ, v_k, zf_cg_i32(cg, 0));
        LLVMValueRef v_cut = zf_cg_and(cg, v_inside, zf_cg_icmp(cg, LLVMIntEQ, v_k, v_last));
        note_bad(w, zf_cg_and(cg, v_cut, zf_cg_icmp(cg, LLVMIntUGE, w->v_o1, v_size)), "the tile's end inside its last group");
        LLVMValueRef v_stop = zf_cg_select(cg, v_cut, w->v_o1, v_size), v_from = zf_cg_select(cg, v_is_first, w->v_o0, v_zero);
        LLVMValueRef v_behind = zf_cg_and(cg, v_is_first, zf_cg_icmp(cg, LLVMIntUGE, v_from, v_stop));
        note_bad(w, zf_cg_and(cg, v_stored, v_behind), "the tile's begin inside its first group");
        v_from = zf_cg_umin(cg, v_from, v_stop);
        LLVMValueRef v_ours = zf_cg_icmp(cg, LLVMIntULT, v_k, w->v_count);
        v_ours = zf_cg_within(cg, v_ours, "groups of tiles before and behind");
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_ours, zf_cg_sub(cg, v_stop, v_from), v_zero), w->v_lengths[k]);
        LLVMValueRef v_source = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_sources[k], "");
        if (w->access != NULL) {
            v_source = zf_cg_add(cg, v_source, v_from);
        } else {
            LLVMValueRef v_bits = LLVMBuildShl(cg->builder, zf_cg_and(cg, v_from, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 3), "");
            v_source = LLVMBuildLShr(cg->builder, v_source, v_bits, "");
        }
        LLVMBuildStore(cg->builder, v_source, w->v_sources[k]);
    }
}

static void take_groups(words *w, LLVMValueRef v_first, LLVMValueRef v_number, LLVMValueRef v_groups) {
    zf_cg *cg = w->lower->cg;
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "groups_whole"), bb_some = zf_cg_block(cg, "groups_some"),
                      bb_taken = zf_cg_block(cg, "groups_taken"), bb_edges = zf_cg_block(cg, "groups_edges"),
                      bb_cut = zf_cg_block(cg, "groups_cut");
    LLVMValueRef v_next = zf_cg_add(cg, v_first, zf_cg_i64(cg, w->each));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, v_next, v_groups);
    zf_cg_cond_br(cg, zf_cg_within(cg, v_whole, "groups behind the block's last"), bb_whole, bb_some);
    zf_cg_enter(cg, bb_whole);
    take_whole(w, v_first);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_some);
    take_some(w, v_first);
    zf_cg_br(cg, bb_taken);
    zf_cg_enter(cg, bb_taken);
    // Behind the first group, and before the last.
    LLVMValueRef v_away = zf_cg_sub(cg, v_number, zf_cg_i32(cg, 1));
    LLVMValueRef v_between = zf_cg_within(cg, zf_cg_icmp(cg, LLVMIntULT, v_away, w->v_between), "groups between first and last");
    zf_cg_cond_br(cg, v_between, bb_cut, bb_edges);
    zf_cg_enter(cg, bb_edges);
    cut_edges(w, v_number);
    zf_cg_br(cg, bb_cut);
    zf_cg_enter(cg, bb_cut);
}

// ---- Putting them together ------------------------------------------------------------------------------------

typedef struct row {
    LLVMValueRef v_sources[EACH], v_lengths[EACH]; // i64, i32
    LLVMValueRef v_before, v_total;                // i32: bytes before the lane's, of all
    LLVMValueRef v_more, v_long;                   // i1: whether any lane has a string of several pieces, a long one
} row;

static LLVMValueRef high_half(zf_cg *cg, LLVMValueRef v) {
    return low_half(cg, LLVMBuildLShr(cg->builder, v, zf_cg_i64(cg, 32), ""));
}

static LLVMValueRef both_halves(zf_cg *cg, LLVMValueRef v_low, LLVMValueRef v_high) {
    LLVMValueRef v_up = LLVMBuildShl(cg->builder, zf_cg_resize(cg, v_high, cg->ty_i64, false), zf_cg_i64(cg, 32), "");
    return zf_cg_or(cg, zf_cg_resize(cg, v_low, cg->ty_i64, false), v_up);
}

// Into word `number` behind a place in the stage, where v_if (NULL: always; most pieces touch three, and a branch costs more).
static void or_word(words *w, LLVMValueRef v_place, unsigned number, LLVMValueRef v, LLVMValueRef v_if) {
    zf_cg *cg = w->lower->cg;
    LLVMBasicBlockRef bb_next = v_if != NULL ? zf_cg_block(cg, "piece_next") : NULL;
    if (bb_next != NULL) {
        LLVMBasicBlockRef bb_or = zf_cg_block(cg, "piece_or");
        zf_cg_cond_br(cg, v_if, bb_or, bb_next);
        zf_cg_enter(cg, bb_or);
    }
    LLVMValueRef v_at = zf_cg_byte_at(cg, v_place, 4 * (uint64_t)number);
    LLVMBuildAtomicRMW(cg->builder, LLVMAtomicRMWBinOpOr, v_at, v, LLVMAtomicOrderingMonotonic, 0);
    if (bb_next == NULL) return;
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

// Eight bytes, number `number` from an address on, or 0 where not v_if (NULL: always).
static LLVMValueRef load_eight(zf_cg *cg, LLVMValueRef v_address, unsigned number, LLVMValueRef v_if) {
    LLVMTypeRef ty_pointer = LLVMPointerTypeInContext(cg->context, cg->target->simt->global_space);
    LLVMValueRef v_pointer = LLVMBuildIntToPtr(cg->builder, v_address, ty_pointer, "");
    LLVMValueRef v_at = zf_cg_at_sink(cg, cg->ty_i64, v_pointer, zf_cg_i64(cg, number));
    if (v_if == NULL) return zf_cg_load(cg, cg->ty_i64, v_at, 8);
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_load = zf_cg_block(cg, "eight"), bb_next = zf_cg_block(cg, "eight_next");
    zf_cg_cond_br(cg, v_if, bb_load, bb_next);
    zf_cg_enter(cg, bb_load);
    LLVMValueRef v = zf_cg_load(cg, cg->ty_i64, v_at, 8);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    return zf_cg_phi2(cg, cg->ty_i64, zf_cg_i64(cg, 0), bb_before, v, bb_load);
}

static LLVMValueRef more_than(zf_cg *cg, LLVMValueRef v, uint32_t bytes) {
    return zf_cg_icmp(cg, LLVMIntUGT, v, zf_cg_i32(cg, bytes));
}

// A mask of the lowest v_count bytes (i32, 0 to 8) of eight.
static LLVMValueRef low_bytes(zf_cg *cg, LLVMValueRef v_count) {
    LLVMValueRef v_half = zf_cg_resize(cg, LLVMBuildShl(cg->builder, v_count, zf_cg_i32(cg, 2), ""), cg->ty_i64, false);
    LLVMValueRef v_above = LLVMBuildShl(cg->builder, zf_cg_i64(cg, UINT64_MAX), v_half, ""); // a shift by 64 is none
    return LLVMBuildNot(cg->builder, LLVMBuildShl(cg->builder, v_above, v_half, ""), "");
}

// v_count bytes (i32, 0 to 16) from an address on to byte v_place (i32) of the stage. Sixteen bytes are read from the aligned
// eight on that have the first, and more where there are: so many can be read behind any string. What lanes gather costs by the
// load.
static void put_piece(words *w, LLVMValueRef v_source, LLVMValueRef v_count, LLVMValueRef v_place) {
    zf_cg *cg = w->lower->cg;
    LLVMBuilderRef b = cg->builder;
    LLVMValueRef v_three = zf_cg_i32(cg, 3), v_eight = zf_cg_i32(cg, 8), v_from = low_half(cg, v_source);
    LLVMValueRef v_aligned = zf_cg_and(cg, v_source, zf_cg_i64(cg, ~UINT64_C(7)));
    LLVMValueRef v_read = zf_cg_add(cg, zf_cg_and(cg, v_from, zf_cg_i32(cg, 7)), v_count); // bytes from there on
    LLVMValueRef v_words[6], v_shift = LLVMBuildShl(b, v_from, v_three, "");               // modulo 32
    for (unsigned k = 0; k < 3; k++) {
        LLVMValueRef v = load_eight(cg, v_aligned, k, k < 2 ? NULL : more_than(cg, v_read, 16));
        v_words[2 * k] = low_half(cg, v);
        v_words[2 * k + 1] = high_half(cg, v);
    }
    LLVMValueRef v_odd = zf_cg_icmp(cg, LLVMIntNE, zf_cg_and(cg, v_from, zf_cg_i32(cg, 4)), zf_cg_i32(cg, 0));
    for (unsigned k = 0; k < 5; k++) v_words[k] = zf_cg_select(cg, v_odd, v_words[k + 1], v_words[k]);
    LLVMValueRef v_bytes[4];
    for (unsigned k = 0; k < 4; k++) v_bytes[k] = zf_cg_funnel(cg, false, v_words[k + 1], v_words[k], v_shift);
    LLVMValueRef v_first = zf_cg_umin(cg, v_count, v_eight), v_rest = zf_cg_sub(cg, v_count, v_first);
    LLVMValueRef v_low = both_halves(cg, v_bytes[0], v_bytes[1]), v_high = both_halves(cg, v_bytes[2], v_bytes[3]);
    v_low = zf_cg_mask(cg, v_low, low_bytes(cg, v_first), "bytes of a string's piece");
    v_high = zf_cg_mask(cg, v_high, low_bytes(cg, v_rest), "bytes of a string's long piece");
    // Its place is 0 to 3 bytes into a word: up to five words.
    LLVMValueRef v_in = zf_cg_and(cg, v_place, v_three), v_stop = zf_cg_add(cg, v_in, v_count);
    LLVMValueRef v_up = zf_cg_resize(cg, LLVMBuildShl(b, v_in, v_three, ""), cg->ty_i64, false);
    LLVMValueRef v_middle = both_halves(cg, high_half(cg, v_low), low_half(cg, v_high));
    LLVMValueRef v_last = both_halves(cg, high_half(cg, v_high), zf_cg_i32(cg, 0));
    LLVMValueRef v_byte = zf_cg_resize(cg, zf_cg_and(cg, v_place, zf_cg_i32(cg, ~UINT32_C(3))), cg->ty_i64, false);
    v_byte = zf_cg_at(cg, cg->ty_i8, w->v_stage, v_byte);
    v_low = LLVMBuildShl(b, v_low, v_up, "");
    or_word(w, v_byte, 0, low_half(cg, v_low), NULL);
    or_word(w, v_byte, 1, high_half(cg, v_low), NULL);
    or_word(w, v_byte, 2, high_half(cg, LLVMBuildShl(b, v_middle, v_up, "")), NULL);
    or_word(w, v_byte, 3, high_half(cg, LLVMBuildShl(b, v_high, v_up, "")), more_than(cg, v_stop, 12));
    or_word(w, v_byte, 4, high_half(cg, LLVMBuildShl(b, v_last, v_up, "")), more_than(cg, v_stop, 16));
}

// The v_count lowest bytes (i32, 0 to 8) of a number to byte v_place (i32) of the stage.
static void put_number(words *w, LLVMValueRef v_number, LLVMValueRef v_count, LLVMValueRef v_place) {
    zf_cg *cg = w->lower->cg;
    LLVMValueRef v_in = LLVMBuildShl(cg->builder, zf_cg_and(cg, v_place, zf_cg_i32(cg, 3)), zf_cg_i32(cg, 3), "");
    LLVMValueRef v = zf_cg_mask(cg, v_number, low_bytes(cg, v_count), "bytes of a number"), v_high = high_half(cg, v);
    LLVMValueRef v_byte = zf_cg_resize(cg, zf_cg_and(cg, v_place, zf_cg_i32(cg, ~UINT32_C(3))), cg->ty_i64, false);
    v_byte = zf_cg_at(cg, cg->ty_i8, w->v_stage, v_byte);
    or_word(w, v_byte, 0, LLVMBuildShl(cg->builder, low_half(cg, v), v_in, ""), NULL);
    or_word(w, v_byte, 1, zf_cg_funnel(cg, true, v_high, low_half(cg, v), v_in), NULL);
    or_word(w, v_byte, 2, zf_cg_funnel(cg, true, zf_cg_i32(cg, 0), v_high, v_in), NULL);
}

// Pieces v_from, v_from + step, ... (bytes, i32) of a string of v_length bytes.
static void put(words *w, LLVMValueRef v_source, LLVMValueRef v_length, LLVMValueRef v_place, LLVMValueRef v_from,
                uint32_t step) {
    zf_cg *cg = w->lower->cg;
    turns pieces;
    turns_begin(cg, &pieces, v_from, step, v_length, "piece");
    LLVMValueRef v_count = zf_cg_umin(cg, zf_cg_sub(cg, v_length, pieces.v_i), zf_cg_i32(cg, PIECE));
    LLVMValueRef v_at = zf_cg_add(cg, v_source, zf_cg_resize(cg, pieces.v_i, cg->ty_i64, false));
    put_piece(w, v_at, v_count, zf_cg_add(cg, v_place, pieces.v_i));
    turns_end(cg, &pieces);
}

// What is behind the first piece of each long string of the row, by all lanes.
static void put_long(words *w, const row *r, const LLVMValueRef v_places[EACH]) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_from = zf_cg_mul(cg, zf_cg_add(cg, w->v_lane, zf_cg_i32(cg, 1)), zf_cg_i32(cg, PIECE));
    turns lanes;
    turns_begin(cg, &lanes, zf_cg_i32(cg, 0), 1, zf_cg_i32(cg, ZF_WARP), "lane_long");
    for (unsigned k = 0; k < w->each; k++) {
        LLVMBasicBlockRef bb_put = zf_cg_block(cg, "long"), bb_next = zf_cg_block(cg, "long_next");
        LLVMValueRef v_length = zf_simt_shuffle(lower, r->v_lengths[k], lanes.v_i);
        zf_cg_cond_br(cg, more_than(cg, v_length, SHORT), bb_put, bb_next); // all lanes the same
        zf_cg_enter(cg, bb_put);
        LLVMValueRef v_source = zf_simt_shuffle(lower, r->v_sources[k], lanes.v_i);
        put(w, v_source, v_length, zf_simt_shuffle(lower, v_places[k], lanes.v_i), v_from, ZF_WARP * PIECE);
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
    turns_end(cg, &lanes);
}

// Puts the rest where v_if, which is the same in all lanes.
static void put_where(words *w, const row *r, const LLVMValueRef v_places[EACH], LLVMValueRef v_if,
                      void (*rest)(words *, const row *, const LLVMValueRef *)) {
    zf_cg *cg = w->lower->cg;
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "row_more"), bb_done = zf_cg_block(cg, "row_put");
    zf_cg_cond_br(cg, v_if, bb_put, bb_done);
    zf_cg_enter(cg, bb_put);
    rest(w, r, v_places);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// What is behind the first pieces of short strings.
static void put_rests(words *w, const row *r, const LLVMValueRef v_places[EACH]) {
    zf_cg *cg = w->lower->cg;
    for (unsigned k = 0; k < w->each; k++) {
        LLVMValueRef v_length = zf_cg_select(cg, more_than(cg, r->v_lengths[k], SHORT), zf_cg_i32(cg, 0), r->v_lengths[k]);
        put(w, r->v_sources[k], v_length, v_places[k], zf_cg_i32(cg, PIECE), PIECE);
    }
}

static void put_row(words *w, const row *r, LLVMValueRef v_here) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_places[EACH], v_zero = zf_cg_i32(cg, 0);
    v_places[0] = zf_cg_add(cg, zf_cg_add(cg, w->v_lead, v_here), r->v_before);
    for (unsigned k = 1; k < w->each; k++) v_places[k] = zf_cg_add(cg, v_places[k - 1], r->v_lengths[k - 1]);
    if (w->access == NULL) {
        for (unsigned k = 0; k < w->each; k++) put_number(w, r->v_sources[k], r->v_lengths[k], v_places[k]);
        return;
    }
    // Where there is no string the last words before the block's slots are read.
    LLVMValueRef v_some = LLVMBuildPtrToInt(cg->builder, lower->v_slots, cg->ty_i64, "");
    v_some = zf_cg_sub(cg, v_some, zf_cg_i64(cg, 16));
    for (unsigned k = 0; k < w->each; k++) {
        LLVMValueRef v_is = zf_cg_icmp(cg, LLVMIntNE, r->v_lengths[k], v_zero);
        LLVMValueRef v_source = zf_cg_select(cg, v_is, r->v_sources[k], v_some);
        put_piece(w, v_source, zf_cg_umin(cg, r->v_lengths[k], zf_cg_i32(cg, PIECE)), v_places[k]);
    }
    put_where(w, r, v_places, r->v_more, put_rests);
    put_where(w, r, v_places, r->v_long, put_long);
}

// ---- A row ----------------------------------------------------------------------------------------------------

// 1 at a bit where any of a lane's strings is longer.
static LLVMValueRef flag(words *w, const row *r, uint32_t bytes, uint32_t bit) {
    zf_cg *cg = w->lower->cg;
    LLVMValueRef v_any = zf_cg_i1(cg, false);
    for (unsigned k = 0; k < w->each; k++) v_any = zf_cg_or(cg, v_any, more_than(cg, r->v_lengths[k], bytes));
    return zf_cg_select(cg, v_any, zf_cg_i32(cg, UINT32_C(1) << bit), zf_cg_i32(cg, 0));
}

// One scan adds up lengths, and lanes that have strings of several pieces, and long ones.
static void add_up(words *w, row *r) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_own = zf_cg_i32(cg, 0), v_low = zf_cg_i32(cg, (UINT32_C(1) << MORE_BIT) - 1);
    for (unsigned k = 0; k < w->each; k++) {
        LLVMValueRef v_length = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_lengths[k], "");
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGT, v_length, zf_cg_i64(cg, w->access != NULL ? MOST : 8));
        note_bad(w, v_over, "strings that are longer than the tiles, or numbers");
        r->v_sources[k] = LLVMBuildLoad2(cg->builder, cg->ty_i64, w->v_sources[k], "");
        r->v_lengths[k] = zf_cg_select(cg, v_over, zf_cg_i32(cg, 0), low_half(cg, v_length));
        v_own = zf_cg_add(cg, v_own, r->v_lengths[k]);
    }
    if (w->access != NULL) v_own = zf_cg_or(cg, v_own, zf_cg_or(cg, flag(w, r, PIECE, MORE_BIT), flag(w, r, SHORT, LONG_BIT)));
    LLVMValueRef v_up = zf_simt_scan_warp(lower, v_own, w->v_lane),
                 v_all = zf_simt_shuffle(lower, v_up, zf_cg_i32(cg, ZF_WARP - 1));
    r->v_before = zf_cg_and(cg, zf_cg_sub(cg, v_up, v_own), v_low);
    r->v_total = zf_cg_and(cg, v_all, v_low);
    r->v_more = zf_cg_icmp(cg, LLVMIntUGT, v_all, v_low);
    r->v_long = more_than(cg, v_all, (UINT32_C(1) << LONG_BIT) - 1);
}

// A state between tiles must be of a group that has the byte where the next one begins. `v_first`: the lane's first group.
static void check_mark(words *w, const row *r, LLVMValueRef v_here, LLVMValueRef v_first, unsigned mark) {
    zf_cg *cg = w->lower->cg;
    LLVMValueRef v_k = zf_cg_sub(cg, w->v_mark_g[mark], v_first), v_length = r->v_lengths[0];
    LLVMBasicBlockRef bb_mine = zf_cg_block(cg, "mark"), bb_next = zf_cg_block(cg, "mark_next");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_k, zf_cg_i32(cg, w->each)), bb_mine, bb_next);
    zf_cg_enter(cg, bb_mine);
    LLVMValueRef v_begin = zf_cg_add(cg, v_here, r->v_before), v_next = v_begin;
    for (unsigned k = 1; k < w->each; k++) {
        LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGE, v_k, zf_cg_i32(cg, k));
        v_next = zf_cg_add(cg, v_next, r->v_lengths[k - 1]);
        v_begin = zf_cg_select(cg, v_behind, v_next, v_begin);
        v_length = zf_cg_select(cg, v_behind, r->v_lengths[k], v_length);
    }
    LLVMValueRef v_at = zf_cg_add(cg, v_begin, w->v_mark_o[mark]);
    LLVMValueRef v_there = zf_cg_icmp(cg, LLVMIntEQ, v_at, zf_cg_i32(cg, (mark + 1) * w->lower->kernel->tile));
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, w->v_mark_o[mark], v_length);
    note_bad(w, zf_cg_not(cg, zf_cg_and(cg, v_there, v_has)), "states between the tiles");
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
}

static void make_row(words *w, LLVMValueRef v_begin, LLVMValueRef v_groups) {
    zf_cg *cg = w->lower->cg;
    row r;
    LLVMValueRef v_mine = zf_cg_mul(cg, zf_cg_resize(cg, w->v_lane, cg->ty_i64, false), zf_cg_i64(cg, w->each));
    LLVMValueRef v_first = zf_cg_add(cg, v_begin, v_mine);
    LLVMValueRef v_number = low_half(cg, zf_cg_sub(cg, v_first, w->v_g0));
    take_groups(w, v_first, v_number, v_groups);
    add_up(w, &r);
    LLVMValueRef v_here = LLVMBuildLoad2(cg->builder, cg->ty_i32, w->v_here, "");
    LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, r.v_total, zf_cg_sub(cg, w->v_size, v_here));
    note_bad(w, zf_cg_not(cg, v_fits), "bytes behind the tile");
    for (unsigned m = 0; m < w->marks; m++) check_mark(w, &r, v_here, v_number, m);
    LLVMBasicBlockRef bb_put = zf_cg_block(cg, "row_fits"), bb_done = zf_cg_block(cg, "row_done");
    zf_cg_cond_br(cg, zf_cg_within(cg, v_fits, "rows that fit into the tile"), bb_put, bb_done); // all lanes the same
    zf_cg_enter(cg, bb_put);
    put_row(w, &r, v_here);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_here, r.v_total), w->v_here);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
}

// ---- The stage ------------------------------------------------------------------------------------------------

static LLVMValueRef stage_at(const words *w, LLVMValueRef v_at) {
    zf_cg *cg = w->lower->cg;
    return zf_cg_at(cg, cg->ty_i8, w->v_stage, zf_cg_resize(cg, v_at, cg->ty_i64, false));
}

// Lane l has every 32nd chunk of the stage, from number l on: the loop over them.
static void chunks_begin(const words *w, turns *chunks, const char *name) {
    zf_cg *cg = w->lower->cg;
    LLVMValueRef v_first = LLVMBuildShl(cg->builder, w->v_lane, zf_cg_i32(cg, 4), "");
    turns_begin(cg, chunks, v_first, ZF_WARP * CHUNK, zf_cg_add(cg, w->v_lead, w->v_size), name);
}

static void clear_stage(words *w) {
    zf_cg *cg = w->lower->cg;
    turns chunks;
    chunks_begin(w, &chunks, "stage_clear");
    zf_cg_store(cg, LLVMConstNull(LLVMVectorType(cg->ty_i32, CHUNK / 4)), stage_at(w, chunks.v_i), CHUNK);
    turns_end(cg, &chunks);
    zf_simt_barrier(w->lower, "the stage is clear");
}

// How many of the tiles' bytes lie before one of the block (i32).
static LLVMValueRef bytes_before(const words *w, LLVMValueRef v_byte, LLVMValueRef v_size) {
    zf_cg *cg = w->lower->cg;
    LLVMValueRef v_behind = zf_cg_icmp(cg, LLVMIntUGT, v_byte, w->v_lo);
    LLVMValueRef v_away = zf_cg_select(cg, v_behind, zf_cg_sub(cg, v_byte, w->v_lo), zf_cg_i64(cg, 0));
    return low_half(cg, zf_cg_umin(cg, v_away, v_size));
}

static void store_stage(words *w) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMTypeRef ty = LLVMVectorType(cg->ty_i32, CHUNK / 4);
    LLVMValueRef v_begin = w->v_lead, v_end = zf_cg_add(cg, w->v_lead, w->v_size);
    if (lower->v_row_begin != NULL) { // only these have a place
        LLVMValueRef v_size = zf_cg_resize(cg, w->v_size, cg->ty_i64, false);
        v_begin = zf_cg_add(cg, v_begin, bytes_before(w, lower->v_row_begin, v_size));
        v_end = zf_cg_add(cg, w->v_lead, bytes_before(w, lower->v_row_end, v_size));
    }
    LLVMValueRef v_base = zf_cg_sub(cg, w->v_lo, zf_cg_resize(cg, w->v_lead, cg->ty_i64, false));
    v_base = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, v_base);
    turns chunks;
    chunks_begin(w, &chunks, "stage_store");
    LLVMValueRef v_after = zf_cg_add(cg, chunks.v_i, zf_cg_i32(cg, CHUNK));
    LLVMBasicBlockRef bb_whole = zf_cg_block(cg, "chunk_whole"), bb_part = zf_cg_block(cg, "chunk_part"),
                      bb_stored = zf_cg_block(cg, "chunk_stored");
    LLVMValueRef v_begun = zf_cg_icmp(cg, LLVMIntUGE, chunks.v_i, v_begin), v_ended = zf_cg_icmp(cg, LLVMIntULE, v_after, v_end);
    zf_cg_cond_br(
        cg,
        zf_cg_and(cg, zf_cg_within(cg, v_begun, "bytes before the tiles"), zf_cg_within(cg, v_ended, "bytes behind the tiles")),
        bb_whole, bb_part);
    zf_cg_enter(cg, bb_whole);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, v_base, zf_cg_resize(cg, chunks.v_i, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, ty, stage_at(w, chunks.v_i), CHUNK), v_to, CHUNK);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_part);
    turns bytes;
    turns_begin(cg, &bytes, zf_cg_select(cg, v_begun, chunks.v_i, v_begin), 1, zf_cg_umin(cg, v_after, v_end), "chunk_byte");
    v_to = zf_cg_at_sink(cg, cg->ty_i8, v_base, zf_cg_resize(cg, bytes.v_i, cg->ty_i64, false));
    zf_cg_store(cg, zf_cg_load(cg, cg->ty_i8, stage_at(w, bytes.v_i), 1), v_to, 1);
    turns_end(cg, &bytes);
    zf_cg_br(cg, bb_stored);
    zf_cg_enter(cg, bb_stored);
    turns_end(cg, &chunks);
}

// ---- The tiles ------------------------------------------------------------------------------------------------

// Each lane looks at one of the states between the tiles, of which there are `v_states`, and tells the others.
static void find_marks(words *w, LLVMValueRef v_first, LLVMValueRef v_states, uint32_t field_g, uint32_t field_o) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    if (w->marks == 0) return;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_lane = zf_cg_resize(cg, w->v_lane, cg->ty_i64, false);
    LLVMValueRef v_has = zf_cg_icmp(cg, LLVMIntULT, v_lane, v_states);
    v_has = zf_cg_holds(cg, ZF_SITE_MASK, v_has, "lanes that have a state between tiles");
    lower->v_tile = zf_cg_add(cg, v_first, zf_cg_select(cg, v_has, v_lane, v_zero));
    LLVMValueRef v_g = zf_simt_seek_next(lower, field_g, v_zero), v_o = zf_simt_seek_next(lower, field_o, v_zero);
    LLVMValueRef v_number = zf_cg_sub(cg, v_g, w->v_g0);
    LLVMValueRef v_from = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_number, v_zero), w->v_o0, v_zero);
    v_o = zf_cg_sub(cg, v_o, v_from); // of the first group a part is taken
    LLVMValueRef v_outside = zf_cg_icmp(cg, LLVMIntUGE, v_number, zf_cg_sub(cg, w->v_end, w->v_g0));
    v_outside = zf_cg_or(cg, v_outside, zf_cg_icmp(cg, LLVMIntUGE, v_o, zf_cg_i64(cg, MOST)));
    note_bad(w, zf_cg_and(cg, v_has, v_outside), "states between the tiles outside their groups");
    LLVMValueRef v_none = zf_cg_i32(cg, 2 * MOST_GROUPS); // no lane has that group
    v_number = zf_cg_select(cg, v_has, low_half(cg, v_number), v_none);
    v_o = low_half(cg, v_o);
    for (unsigned m = 0; m < w->marks; m++) {
        w->v_mark_g[m] = zf_simt_shuffle(lower, v_number, zf_cg_i32(cg, m));
        w->v_mark_o[m] = zf_simt_shuffle(lower, v_o, zf_cg_i32(cg, m));
    }
}

// Where the tiles lie among the groups; none where the states cannot be.
static void find_ends(words *w, LLVMValueRef v_groups) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_first = lower->v_tile;
    uint32_t field_g = zf_lower_root_field(lower, ZF_SEEK_GROUP), field_o = zf_lower_root_field(lower, ZF_SEEK_OFFSET);
    w->v_g0 = zf_simt_seek(lower, field_g, v_zero);
    w->v_o0 = zf_simt_seek(lower, field_o, v_zero);
    LLVMValueRef v_states = zf_cg_sub(cg, w->v_number, zf_cg_i64(cg, 1)); // between two tiles
    lower->v_tile = zf_cg_add(cg, v_first, v_states);
    LLVMValueRef v_g1 = zf_simt_seek_next(lower, field_g, v_groups); // the last tile ends behind the last group
    w->v_o1 = zf_simt_seek_next(lower, field_o, v_zero);
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntNE, w->v_o1, v_zero);
    w->v_end = zf_cg_add(cg, v_g1, zf_cg_resize(cg, v_inside, cg->ty_i64, false));
    LLVMValueRef v_whole = zf_cg_icmp(cg, LLVMIntULE, v_g1, v_groups), v_few = zf_cg_icmp(cg, LLVMIntULE, w->v_end, v_groups),
                 v_ordered = zf_cg_icmp(cg, LLVMIntULE, w->v_g0, w->v_end);
    LLVMValueRef v_ok = zf_cg_and(cg, v_whole, zf_cg_holds(cg, ZF_SITE_CHECK, v_few, "groups that the tile touches"));
    v_ok = zf_cg_and(cg, v_ok, zf_cg_holds(cg, ZF_SITE_CHECK, v_ordered, "the tile's first group before its last"));
    // Rows are numbered by 32 bits. More groups without bytes may be there, but one thread can take those, too.
    v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntULT, zf_cg_sub(cg, w->v_end, w->v_g0), zf_cg_i64(cg, MOST_GROUPS)));
    LLVMBuildStore(cg->builder, zf_cg_not(cg, v_ok), w->v_bad);
    w->v_g0 = zf_cg_select(cg, v_ok, w->v_g0, v_zero);
    w->v_end = zf_cg_select(cg, v_ok, w->v_end, v_zero);
    w->v_count = low_half(cg, zf_cg_sub(cg, w->v_end, w->v_g0));
    LLVMValueRef v_most = zf_cg_i32(cg, w->each + 1), v_many = zf_cg_icmp(cg, LLVMIntUGT, w->v_count, v_most);
    w->v_between = zf_cg_select(cg, v_many, zf_cg_sub(cg, w->v_count, v_most), zf_cg_i32(cg, 0));
    find_marks(w, v_first, v_states, field_g, field_o);
    lower->v_tile = v_first;
}

// Which bytes: of tiles v_tile on, as many as there are of `span`.
static void find_bytes(words *w, uint32_t span) {
    zf_lower *lower = w->lower;
    zf_cg *cg = lower->cg;
    LLVMValueRef v_count = zf_lower_count(lower, lower->kernel->edge), v_tile = zf_cg_i64(cg, lower->kernel->tile);
    LLVMValueRef v_left = zf_cg_sub(cg, lower->v_tiles, lower->v_tile);
    w->v_number = zf_cg_clamp(cg, zf_cg_i64(cg, span), v_left, "tiles of the block");
    w->v_lo = zf_cg_umin(cg, zf_cg_mul(cg, lower->v_tile, v_tile), v_count);
    LLVMValueRef v_hi = zf_cg_mul(cg, zf_cg_add(cg, lower->v_tile, w->v_number), v_tile);
    v_hi = zf_cg_clamp(cg, v_hi, v_count, "end of the tiles");
    w->v_size = zf_cg_resize(cg, zf_cg_sub(cg, v_hi, w->v_lo), cg->ty_i32, false);
    LLVMValueRef v_to = zf_cg_at_sink(cg, cg->ty_i8, lower->v_sink, w->v_lo);
    LLVMValueRef v_address = LLVMBuildPtrToInt(cg->builder, v_to, cg->ty_i64, "");
    w->v_lead = zf_cg_and(cg, zf_cg_resize(cg, v_address, cg->ty_i32, false), zf_cg_i32(cg, CHUNK - 1));
}

void zf_simt_words(zf_lower *lower, const zf_simt_shape *shape) {
    zf_cg *cg = lower->cg;
    words w = {.lower = lower, .access = zf_lower_string_access(lower->plan, lower->kernel), .v_lane = zf_simt_lane(lower)};
    w.each = w.access != NULL ? STRINGS : EACH;
    w.v_stage = cg->target->simt->shared(cg, 0, shape->shared_bytes);
    w.v_bad = zf_cg_alloca(cg, cg->ty_i1, "bad");
    w.marks = shape->span - 1;
    w.v_here = zf_cg_alloca(cg, cg->ty_i32, "here");
    for (unsigned k = 0; k < w.each; k++) {
        w.v_sources[k] = zf_cg_alloca(cg, cg->ty_i64, "source");
        w.v_lengths[k] = zf_cg_alloca(cg, cg->ty_i64, "length");
    }
    find_bytes(&w, shape->span);
    zf_lower_env env = zf_lower_env_make(lower, lower->kernel->root);
    LLVMValueRef v_groups = zf_cg_resize(cg, zf_cg_eval_body(cg, &env.env, &env.env.inst->groups).v, cg->ty_i64, false);
    cg->v_guard = NULL;
    find_ends(&w, v_groups);
    clear_stage(&w);
    LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), w.v_here);
    // Lanes begin at multiples of what they take, so that their loads are aligned.
    LLVMValueRef v_begin = zf_cg_and(cg, w.v_g0, zf_cg_i64(cg, ~(uint64_t)(w.each - 1))), v_row = zf_cg_i64(cg, ZF_WARP * w.each);
    LLVMValueRef v_rows = zf_cg_add(cg, zf_cg_sub(cg, w.v_end, v_begin), zf_cg_i64(cg, ZF_WARP * w.each - 1));
    v_rows = LLVMBuildUDiv(cg->builder, v_rows, v_row, "");
    v_rows = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, w.v_g0, w.v_end), v_rows, zf_cg_i64(cg, 0));
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_rows, "row");
    make_row(&w, zf_cg_add(cg, v_begin, zf_cg_mul(cg, loop.v_i, v_row)), v_groups);
    zf_cg_loop_end(cg, &loop);
    zf_simt_unroll(cg, &loop, 1);
    LLVMValueRef v_sum = LLVMBuildLoad2(cg->builder, cg->ty_i32, w.v_here, "");
    note_bad(&w, zf_cg_icmp(cg, LLVMIntNE, v_sum, w.v_size), "sum of the sizes");
    LLVMValueRef v_bad = LLVMBuildLoad2(cg->builder, cg->ty_i1, w.v_bad, "");
    v_bad = zf_simt_any(lower, zf_cg_or(cg, v_bad, zf_cg_not(cg, zf_lower_none_failed(lower))));
    LLVMBasicBlockRef bb_bad = zf_cg_block(cg, "tiles_bad"), bb_well = zf_cg_block(cg, "tiles_well"),
                      bb_made = zf_cg_block(cg, "tiles_made");
    zf_cg_cond_br(cg, v_bad, bb_bad, bb_well);
    zf_cg_enter(cg, bb_bad);
    zf_simt_call_hard(lower);
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_well);
    zf_simt_barrier(lower, "strings are put together");
    store_stage(&w);
    zf_cg_br(cg, bb_made);
    zf_cg_enter(cg, bb_made);
}

LLVMValueRef zf_simt_words_stop(zf_lower *lower, uint32_t span) {
    zf_cg *cg = lower->cg;
    uint32_t field = zf_lower_root_field(lower, ZF_SEEK_GROUP);
    LLVMValueRef v_one = zf_cg_i64(cg, 1), v_end = zf_cg_alloca(cg, cg->ty_i64, "stop");
    LLVMValueRef v_most = zf_cg_add(cg, lower->v_tile, zf_cg_i64(cg, span));
    v_most = zf_cg_clamp(cg, v_most, lower->v_tiles, "tiles of the block");
    LLVMBasicBlockRef bb_next = zf_cg_block(cg, "tile_next"), bb_follows = zf_cg_block(cg, "tile_follows"),
                      bb_compare = zf_cg_block(cg, "tile_compare"), bb_more = zf_cg_block(cg, "tile_more"),
                      bb_end = zf_cg_block(cg, "tiles_end");
    LLVMBuildStore(cg->builder, zf_cg_add(cg, lower->v_tile, v_one), v_end);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_next);
    LLVMValueRef v_at = LLVMBuildLoad2(cg->builder, cg->ty_i64, v_end, ""), v_after = zf_cg_add(cg, v_at, v_one);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_at, v_most), bb_follows, bb_end);
    zf_cg_enter(cg, bb_follows);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_after, lower->v_tiles), bb_compare, bb_more);
    zf_cg_enter(cg, bb_compare);
    LLVMValueRef v_begins = zf_lower_seek_entry(lower, field, zf_cg_sub(cg, v_at, v_one)),
                 v_ends = zf_lower_seek_entry(lower, field, v_at);
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_ends, v_begins), bb_end, bb_more);
    zf_cg_enter(cg, bb_more);
    LLVMBuildStore(cg->builder, v_after, v_end);
    zf_cg_br(cg, bb_next);
    zf_cg_enter(cg, bb_end);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_end, "");
}

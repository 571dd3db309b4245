// The kernel of squares: bounds of all pairs, slices of both sides, sums in registers.
#include <stddef.h>

#include "codegen/query/query_square.h"
#include "frontend/match/match.h"

enum {
    SIDE = ZF_QUERY_SQUARE,
    EACH = ZF_QUERY_EACH,
    PAIRS = EACH * EACH,
    TERMS_ACROSS = 8,                                           // threads that load elements of one number's slice, side by side
    LOAD_ROWS = ZF_QUERY_WARPS * ZF_QUERY_LANES / TERMS_ACROSS, // numbers of a side that all threads load at once
    ROUNDS = SIDE / LOAD_ROWS,
    SLICES_MOST = 36 << 10, // bytes: two blocks of a multiprocessor and more have room
    BOUNDS = 0,             // u32 of shared memory: the ends of the numbers of A, then of B
    LEAST = 2 * SIDE,       // the least of all pairs, and the most
    MOST,
    FAILED, // not 0: a check failed
    HEAD_BYTES = (FAILED + 1 + 3) / 4 * 16,
    TOGETHER = 4, // terms of a pair whose code stands one behind the other
};
#define LONGEST UINT64_C(0x7fffff00) // terms of a sum

// A slice in a kernel.
typedef struct slice {
    const zf_query_slice *of;
    zf_type type;
    LLVMTypeRef ty_memory, ty_shared; // integers; ty_shared has 32 or 64 bits
    uint32_t stride;                  // elements between those of one term and the next
    LLVMValueRef v_shared;
    LLVMValueRef v_row; // of the thread: where it stores, from its number and its first term
    struct {
        LLVMValueRef v_from, v_end, v_wrap, v_step, v_place; // v_place: slot (i32): where k modulo v_wrap is
    } rounds[ROUNDS];
} slice;

typedef struct squares {
    zf_query_build *b;
    zf_query_square form;
    slice slices[ZF_QUERY_SLICES];
    uint32_t terms; // of a slice
    LLVMValueRef v_head;
    LLVMValueRef v_x, v_y, v_across, v_along; // i32, of the thread: its part of B and of A; which term and number it loads
    LLVMValueRef v_place, v_rows;             // of the square: of its first number of A, in the list; how many there are (i32)
    LLVMValueRef v_second;                    // its first number of B
    LLVMValueRef v_ends;                      // slot: i32 for each of the thread's pairs
    LLVMValueRef v_long;                      // slot (i1): a sum is too long
    LLVMValueRef v_sums[PAIRS];               // slots
} squares;

static uint32_t shared_size(zf_type type) { return zf_kind_size(type.kind) > 4 ? 8 : 4; }
// 16 bytes more than the numbers: stores of a warp, to four numbers of eight terms, then fall into different banks.
static uint32_t stride_of(zf_type type) { return SIDE + 16 / shared_size(type); }

static uint32_t terms_of(const zf_query_square *form) {
    uint32_t each = 0, terms = 32;
    for (uint32_t s = 0; s < form->count; s++) {
        zf_type type = form->slices[s].access->a->port->type;
        each += stride_of(type) * shared_size(type);
    }
    while (terms > TERMS_ACROSS && terms * each > SLICES_MOST) terms /= 2;
    return terms;
}

uint32_t zf_query_square_bytes(const zf_query *query) {
    zf_query_square form = zf_query_square_of(query);
    uint32_t bytes = HEAD_BYTES;
    for (uint32_t s = 0; s < form.count; s++) {
        zf_type type = form.slices[s].access->a->port->type;
        bytes += terms_of(&form) * stride_of(type) * shared_size(type);
    }
    return bytes;
}

// ---- Expressions ----------------------------------------------------------------------------------------------

static void bind(squares *q, const zf_local *local, LLVMValueRef v) {
    zf_cg_value value = zf_cg_scalar(zf_type_of(ZF_K_U64), v);
    zf_cg_bind(q->b->cg, &q->b->frames[0], local, &value);
}

// Begins the evaluation of an expression for these numbers; NULL: it names none.
static void begin(squares *q, LLVMValueRef v_a, LLVMValueRef v_b, LLVMValueRef v_k) {
    zf_query_row_begin(q->b);
    if (v_a != NULL) bind(q, q->b->query->pairs[0].local, v_a);
    if (v_b != NULL) bind(q, q->b->query->pairs[1].local, v_b);
    if (v_k != NULL) bind(q, q->form.sum->reduce->binders[0].local, v_k);
}

static LLVMValueRef evaluate(squares *q, const zf_expr *expr) { return zf_cg_expr(q->b->cg, &q->b->frames[0], expr).v; }

bool zf_query_staged_element(zf_query_build *b, const zf_expr *access, zf_cg_value *out) {
    const zf_query_square *square = b->staged->square;
    for (uint32_t s = 0; s < square->count; s++) {
        zf_expr *other = (zf_expr *)(uintptr_t)square->slices[s].access;
        if (other != access && !zf_match_same(other, (zf_expr *)(uintptr_t)access)) continue;
        *out = zf_cg_scalar(access->a->port->type, b->staged->v_elements[s]);
        return true;
    }
    return false;
}

// ---- The square -----------------------------------------------------------------------------------------------

static LLVMValueRef head(squares *q, LLVMValueRef v_at) {
    return zf_cg_at(q->b->cg, q->b->cg->ty_i32, q->v_head, zf_cg_wide(q->b->cg, v_at));
}

static LLVMValueRef head_at(squares *q, uint32_t at) { return zf_cg_byte_at(q->b->cg, q->v_head, 4 * (uint64_t)at); }

static LLVMValueRef first_word(squares *q, LLVMValueRef v_place, size_t offset) {
    return zf_query_list_word(q->b, q->b->v_firsts, v_place, offset);
}

static void find_square(squares *q, LLVMValueRef v_number) {
    zf_query_build *b = q->b;
    zf_cg *cg = b->cg;
    LLVMValueRef v_last = zf_cg_sub(cg, b->v_group_count, zf_cg_i64(cg, 1));
    LLVMValueRef v_group = zf_query_list_search(b, b->v_groups, v_number, zf_cg_i64(cg, 0), v_last);
    LLVMValueRef v_before = zf_query_list_word(b, b->v_groups, v_group, offsetof(zf_query_pair_row, before));
    LLVMValueRef v_along = zf_cg_mul(cg, zf_cg_sub(cg, v_number, v_before), zf_cg_i64(cg, SIDE));
    q->v_place = zf_cg_mul(cg, v_group, zf_cg_i64(cg, SIDE));
    q->v_rows = zf_cg_low_half(cg, zf_cg_umin(cg, zf_cg_sub(cg, b->v_first_count, q->v_place), zf_cg_i64(cg, SIDE)));
    q->v_second = zf_cg_add(cg, zf_query_list_word(b, b->v_groups, v_group, offsetof(zf_query_pair_row, lo)), v_along);
    b->v_row0 = first_word(q, q->v_place, offsetof(zf_query_pair_row, before));
}

// Whether a pair exists (i1). v_row, v_column: i32, in the square. *v_pair: its number.
static LLVMValueRef exists(squares *q, LLVMValueRef v_row, LLVMValueRef v_column, LLVMValueRef *v_pair) {
    zf_cg *cg = q->b->cg;
    LLVMValueRef v_inside = zf_cg_icmp(cg, LLVMIntULT, v_row, q->v_rows), v_one = zf_cg_i64(cg, 1);
    LLVMValueRef v_at = zf_cg_add(cg, q->v_place, zf_cg_wide(cg, zf_cg_select(cg, v_inside, v_row, zf_cg_i32(cg, 0))));
    LLVMValueRef v_before = first_word(q, v_at, offsetof(zf_query_pair_row, before));
    LLVMValueRef v_behind = first_word(q, zf_cg_add(cg, v_at, v_one), offsetof(zf_query_pair_row, before));
    LLVMValueRef v_second = zf_cg_add(cg, q->v_second, zf_cg_wide(cg, v_column));
    LLVMValueRef v_nth = zf_cg_sub(cg, v_second, first_word(q, v_at, offsetof(zf_query_pair_row, lo)));
    if (v_pair != NULL) *v_pair = zf_cg_add(cg, v_before, v_nth);
    return zf_cg_and(cg, v_inside, zf_cg_icmp(cg, LLVMIntULT, v_nth, zf_cg_sub(cg, v_behind, v_before)));
}

static LLVMValueRef first_number(squares *q, LLVMValueRef v_row) {
    zf_cg *cg = q->b->cg;
    return zf_cg_add(cg, zf_cg_add(cg, q->b->v_first_number, q->v_place), zf_cg_wide(cg, v_row));
}

static LLVMValueRef second_number(squares *q, LLVMValueRef v_column) {
    return zf_cg_add(q->b->cg, q->v_second, zf_cg_wide(q->b->cg, v_column));
}

static LLVMValueRef mine(squares *q, LLVMValueRef v_part, uint32_t k) {
    return zf_cg_add(q->b->cg, zf_cg_mul(q->b->cg, v_part, zf_cg_i32(q->b->cg, EACH)), zf_cg_i32(q->b->cg, k));
}

// ---- Bounds ---------------------------------------------------------------------------------------------------

static void change(squares *q, LLVMAtomicRMWBinOp op, LLVMValueRef v_at, LLVMValueRef v) {
    LLVMBuildAtomicRMW(q->b->cg->builder, op, v_at, v, LLVMAtomicOrderingMonotonic, 0);
}

static void clear_bounds(squares *q) {
    zf_cg *cg = q->b->cg;
    LLVMValueRef v_thread = q->b->v_thread;
    LLVMBasicBlockRef bb_clear = zf_cg_block(cg, "clear"), bb_end = zf_cg_block(cg, "cleared");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_thread, zf_cg_i32(cg, FAILED + 1)), bb_clear, bb_end);
    zf_cg_enter(cg, bb_clear);
    LLVMValueRef v_least = zf_cg_icmp(cg, LLVMIntEQ, v_thread, zf_cg_i32(cg, LEAST));
    zf_cg_store(cg, zf_cg_select(cg, v_least, zf_cg_i32(cg, UINT32_MAX), zf_cg_i32(cg, 0)), head(q, v_thread), 4);
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_end);
}

// Terms of the sum of a pair (i32).
static LLVMValueRef end_of(squares *q, LLVMValueRef v_row, LLVMValueRef v_column) {
    zf_cg *cg = q->b->cg;
    const zf_binder *binder = &q->form.sum->reduce->binders[0];
    begin(q, first_number(q, v_row), second_number(q, v_column), NULL);
    LLVMValueRef v_end = zf_cg_resize(cg, evaluate(q, binder->hi), cg->ty_i64, false);
    LLVMValueRef v_long = zf_cg_icmp(cg, LLVMIntUGE, v_end, zf_cg_i64(cg, LONGEST));
    LLVMBuildStore(cg->builder, zf_cg_or(cg, zf_cg_get(cg, q->v_long), v_long), q->v_long);
    v_end = zf_cg_low_half(cg, zf_cg_select(cg, v_long, zf_cg_i64(cg, 0), v_end));
    return binder->inclusive ? zf_cg_add(cg, v_end, zf_cg_i32(cg, 1)) : v_end;
}

// Evaluates the bounds of the thread's pairs, and joins those of all.
static void make_bounds(squares *q) {
    zf_cg *cg = q->b->cg;
    zf_turns turns;
    clear_bounds(q);
    zf_simt_barrier(&q->b->lower, "bounds of a square are clear");
    zf_turns_begin(cg, &turns, zf_cg_i32(cg, 0), 1, zf_cg_i32(cg, PAIRS), "bound");
    LLVMValueRef v_each = zf_cg_i32(cg, EACH), v_i = LLVMBuildUDiv(cg->builder, turns.v_i, v_each, "");
    LLVMValueRef v_row = zf_cg_add(cg, zf_cg_mul(cg, q->v_y, v_each), v_i);
    LLVMValueRef v_j = zf_cg_sub(cg, turns.v_i, zf_cg_mul(cg, v_i, v_each));
    LLVMValueRef v_column = zf_cg_add(cg, zf_cg_mul(cg, q->v_x, v_each), v_j);
    LLVMBasicBlockRef bb_pair = zf_cg_block(cg, "pair"), bb_next = zf_cg_block(cg, "next_pair");
    LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i32, q->v_ends, zf_cg_wide(cg, turns.v_i));
    zf_cg_store(cg, zf_cg_i32(cg, 0), v_at, 4);
    zf_cg_cond_br(cg, exists(q, v_row, v_column, NULL), bb_pair, bb_next);
    zf_cg_enter(cg, bb_pair);
    LLVMValueRef v_end = end_of(q, v_row, v_column);
    zf_cg_store(cg, v_end, v_at, 4);
    change(q, LLVMAtomicRMWBinOpUMax, head(q, v_row), v_end);
    change(q, LLVMAtomicRMWBinOpUMax, head(q, zf_cg_add(cg, v_column, zf_cg_i32(cg, SIDE))), v_end);
    change(q, LLVMAtomicRMWBinOpUMin, head_at(q, LEAST), v_end);
    change(q, LLVMAtomicRMWBinOpUMax, head_at(q, MOST), v_end);
    zf_cg_br(cg, bb_next);
    LLVMMoveBasicBlockAfter(bb_next, zf_cg_here(cg));
    zf_cg_enter(cg, bb_next);
    zf_turns_end(cg, &turns);
    zf_simt_barrier(&q->b->lower, "bounds of a square are there");
}

// ---- Slices ---------------------------------------------------------------------------------------------------

static LLVMValueRef number_loaded(squares *q, uint32_t round) {
    return zf_cg_add(q->b->cg, q->v_along, zf_cg_i32(q->b->cg, round * LOAD_ROWS));
}

// Finds where the thread's elements of a number's slices lie. Pairs of the square that have the number evaluate all terms up to
// the end of the longest sum among them, so all places are checked here.
static void open_round(squares *q, slice *s, uint32_t round) {
    zf_query_build *b = q->b;
    zf_cg *cg = b->cg;
    LLVMValueRef v_number = number_loaded(q, round), v_zero = zf_cg_i64(cg, 0);
    const zf_port *port = s->of->access->a->port;
    LLVMValueRef v_end =
        zf_cg_load(cg, cg->ty_i32, head(q, zf_cg_add(cg, v_number, zf_cg_i32(cg, s->of->of_second ? SIDE : 0))), 4);
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_end, zf_cg_i32(cg, 0)), v_length = b->inputs[port->slot].v_length;
    cg->v_guard = v_some;
    begin(q, s->of->of_second ? NULL : first_number(q, v_number), s->of->of_second ? second_number(q, v_number) : NULL, v_zero);
    LLVMValueRef v_first = zf_cg_resize(cg, evaluate(q, s->of->access->b), cg->ty_i64, false);
    LLVMValueRef v_ok = zf_cg_select(cg, v_some, zf_cg_icmp(cg, LLVMIntULT, v_first, v_length), zf_cg_i1(cg, false));
    v_first = zf_cg_select(cg, v_ok, v_first, v_zero);
    LLVMValueRef v_room = zf_cg_low_half(cg, zf_cg_umin(cg, zf_cg_sub(cg, v_length, v_first), zf_cg_i64(cg, LONGEST)));
    LLVMValueRef v_places = v_end;
    s->rounds[round].v_from = zf_cg_at(cg, s->ty_memory, b->inputs[port->slot].v_values, v_first);
    s->rounds[round].v_wrap = NULL;
    if (s->of->wrap != NULL) {
        LLVMValueRef v_wrap =
            zf_cg_umin(cg, zf_cg_resize(cg, evaluate(q, s->of->wrap), cg->ty_i64, false), zf_cg_i64(cg, LONGEST));
        v_wrap = zf_cg_low_half(cg, v_wrap);
        v_wrap = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_wrap, zf_cg_i32(cg, 0)), zf_cg_i32(cg, 1), v_wrap);
        s->rounds[round].v_wrap = v_wrap;
        s->rounds[round].v_step = LLVMBuildURem(cg->builder, zf_cg_i32(cg, TERMS_ACROSS), v_wrap, "");
        s->rounds[round].v_place = zf_cg_alloca(cg, cg->ty_i32, "place");
        LLVMBuildStore(cg->builder, LLVMBuildURem(cg->builder, q->v_across, v_wrap, ""), s->rounds[round].v_place);
        v_places = zf_cg_umin(cg, v_places, v_wrap);
    }
    v_ok = zf_cg_select(cg, v_ok, zf_cg_icmp(cg, LLVMIntULE, v_places, v_room), zf_cg_i1(cg, false));
    zf_query_note(b, zf_cg_or(cg, v_ok, zf_cg_not(cg, v_some)));
    s->rounds[round].v_end = zf_cg_select(cg, v_ok, v_end, zf_cg_i32(cg, 0));
    cg->v_guard = NULL;
}

static void open_slices(squares *q) {
    zf_cg *cg = q->b->cg;
    for (uint32_t k = 0; k < q->form.count; k++) {
        slice *s = &q->slices[k];
        for (uint32_t round = 0; round < ROUNDS; round++) open_round(q, s, round);
        LLVMValueRef v_at = zf_cg_mul(cg, q->v_across, zf_cg_i32(cg, s->stride));
        s->v_row = zf_cg_at(cg, s->ty_shared, s->v_shared, zf_cg_wide(cg, zf_cg_add(cg, v_at, q->v_along)));
    }
}

// The thread's next element of a number, TERMS_ACROSS terms behind the one before.
static LLVMValueRef load_one(squares *q, slice *s, uint32_t round, LLVMValueRef v_k) {
    zf_cg *cg = q->b->cg;
    LLVMValueRef v_place = v_k, v_wrap = s->rounds[round].v_wrap;
    if (v_wrap != NULL) {
        v_place = zf_cg_get(cg, s->rounds[round].v_place);
        LLVMValueRef v_next = zf_cg_add(cg, v_place, s->rounds[round].v_step);
        LLVMValueRef v_over = zf_cg_icmp(cg, LLVMIntUGE, v_next, v_wrap);
        LLVMBuildStore(cg->builder, zf_cg_select(cg, v_over, zf_cg_sub(cg, v_next, v_wrap), v_next), s->rounds[round].v_place);
    }
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULT, v_k, s->rounds[round].v_end);
    v_place = zf_cg_wide(cg, zf_cg_select(cg, v_ok, v_place, zf_cg_i32(cg, 0)));
    unsigned size = zf_kind_size(s->type.kind);
    LLVMValueRef v = zf_cg_load(cg, s->ty_memory, zf_cg_at(cg, s->ty_memory, s->rounds[round].v_from, v_place), size);
    return zf_cg_resize(cg, v, s->ty_shared, false);
}

// Loads terms v_from to v_from + terms - 1 of all numbers. Loads are under way together before the first store.
static void load_slices(squares *q, LLVMValueRef v_from) {
    enum { MOST_LOADS = ZF_QUERY_SLICES * ROUNDS * 4 };
    zf_cg *cg = q->b->cg;
    LLVMValueRef v_elements[MOST_LOADS];
    uint32_t count = 0, steps = q->terms / TERMS_ACROSS;
    for (uint32_t k = 0; k < q->form.count; k++)
        for (uint32_t round = 0; round < ROUNDS; round++)
            for (uint32_t step = 0; step < steps; step++) {
                LLVMValueRef v_k = zf_cg_add(cg, zf_cg_add(cg, v_from, q->v_across), zf_cg_i32(cg, step * TERMS_ACROSS));
                v_elements[count++] = load_one(q, &q->slices[k], round, v_k);
            }
    count = 0;
    for (uint32_t k = 0; k < q->form.count; k++)
        for (uint32_t round = 0; round < ROUNDS; round++)
            for (uint32_t step = 0; step < steps; step++) {
                slice *s = &q->slices[k];
                uint64_t at = (uint64_t)step * TERMS_ACROSS * s->stride + (uint64_t)round * LOAD_ROWS;
                unsigned size = shared_size(s->type);
                zf_cg_store(cg, v_elements[count++], zf_cg_byte_at(cg, s->v_row, at * size), size);
            }
}

// ---- Sums -----------------------------------------------------------------------------------------------------

// The elements of EACH numbers of a slice at term v_term (i32), of their own types.
static void take_elements(squares *q, const slice *s, LLVMValueRef v_term, uint32_t behind, LLVMValueRef *v_out) {
    zf_cg *cg = q->b->cg;
    uint32_t size = shared_size(s->type), lanes = 16 / size;
    LLVMTypeRef ty_vector = LLVMVectorType(s->ty_shared, lanes);
    LLVMValueRef v_at =
        zf_cg_add(cg, zf_cg_mul(cg, v_term, zf_cg_i32(cg, s->stride)), mine(q, s->of->of_second ? q->v_x : q->v_y, 0));
    LLVMValueRef v_from = zf_cg_at(cg, s->ty_shared, s->v_shared, zf_cg_wide(cg, v_at));
    for (uint32_t k = 0; k < EACH; k += lanes) {
        uint64_t offset = ((uint64_t)behind * s->stride + k) * size;
        LLVMValueRef v_vector = zf_cg_load(cg, ty_vector, zf_cg_byte_at(cg, v_from, offset), 16);
        for (uint32_t lane = 0; lane < lanes; lane++)
            v_out[k + lane] = LLVMBuildExtractElement(cg->builder, v_vector, zf_cg_i32(cg, lane), "");
    }
}

static LLVMValueRef of_own_type(zf_cg *cg, const slice *s, LLVMValueRef v) {
    return LLVMBuildBitCast(cg->builder, zf_cg_resize(cg, v, s->ty_memory, false), zf_cg_memory_type(cg, s->type), "");
}

// Whether the terms of a slice have a sum of 32 bits.
static bool is_narrow(const squares *q) {
    zf_interval range = q->form.sum->reduce->term->range;
    return range.lo >= 0 && range.hi <= (zf_int128)(UINT32_MAX / q->terms);
}

// Adds the term behind v_from + v_term of all pairs of the thread. `ends`: pairs whose sum ended before leave it out.
static void add_terms(squares *q, LLVMValueRef v_from, LLVMValueRef v_term, uint32_t behind, bool ends, LLVMValueRef *v_slots) {
    zf_query_build *b = q->b;
    zf_cg *cg = b->cg;
    LLVMValueRef v_elements[ZF_QUERY_SLICES][EACH], v_here = zf_cg_add(cg, v_term, zf_cg_i32(cg, behind));
    for (uint32_t s = 0; s < q->form.count; s++) take_elements(q, &q->slices[s], v_term, behind, v_elements[s]);
    LLVMValueRef v_k = zf_cg_add(cg, v_from, v_here);
    zf_query_staged staged = {.square = &q->form};
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        uint32_t row = pair / EACH, column = pair % EACH;
        for (uint32_t s = 0; s < q->form.count; s++) {
            const slice *of = &q->slices[s];
            staged.v_elements[s] = of_own_type(cg, of, v_elements[s][of->of->of_second ? column : row]);
        }
        begin(q, first_number(q, mine(q, q->v_y, row)), second_number(q, mine(q, q->v_x, column)), zf_cg_wide(cg, v_k));
        b->staged = &staged;
        LLVMValueRef v = evaluate(q, q->form.sum->reduce->term);
        b->staged = NULL;
        v = zf_cg_resize(cg, v, LLVMGetAllocatedType(v_slots[pair]), false);
        if (ends) {
            LLVMValueRef v_end = zf_cg_load(cg, cg->ty_i32, zf_cg_byte_at(cg, q->v_ends, 4 * (uint64_t)pair), 4);
            v = zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, v_k, v_end), v, LLVMConstNull(LLVMTypeOf(v)));
        }
        LLVMBuildStore(cg->builder, zf_cg_add(cg, zf_cg_get(cg, v_slots[pair]), v), v_slots[pair]);
    }
}

static void add_slice(squares *q, LLVMValueRef v_from, LLVMValueRef v_stop, bool ends, LLVMValueRef *v_slots) {
    zf_cg *cg = q->b->cg;
    zf_turns turns;
    uint32_t together = ends ? 1 : TOGETHER;
    zf_turns_begin(cg, &turns, zf_cg_i32(cg, 0), together, v_stop, "terms");
    for (uint32_t k = 0; k < together; k++) add_terms(q, v_from, turns.v_i, k, ends, v_slots);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_turns_end(cg, &turns);
    zf_simt_keep_loop(cg, bb_last);
}

// Sums of a slice are made apart where 32 bits hold them.
static void add_slices(squares *q, LLVMValueRef v_from, LLVMValueRef v_least, LLVMValueRef v_most) {
    zf_cg *cg = q->b->cg;
    LLVMValueRef v_near[PAIRS];
    bool narrow = is_narrow(q);
    for (uint32_t k = 0; k < PAIRS; k++) {
        v_near[k] = narrow ? zf_cg_alloca(cg, cg->ty_i32, "near") : q->v_sums[k];
        if (narrow) LLVMBuildStore(cg->builder, zf_cg_i32(cg, 0), v_near[k]);
    }
    LLVMBasicBlockRef bb_all = zf_cg_block(cg, "all_pairs"), bb_some = zf_cg_block(cg, "some_pairs"),
                      bb_end = zf_cg_block(cg, "slice_added");
    LLVMValueRef v_behind = zf_cg_add(cg, v_from, zf_cg_i32(cg, q->terms));
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULE, v_behind, v_least), bb_all, bb_some);
    zf_cg_enter(cg, bb_all);
    add_slice(q, v_from, zf_cg_i32(cg, q->terms), false, v_near);
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_some);
    add_slice(q, v_from, zf_cg_umin(cg, zf_cg_sub(cg, v_most, v_from), zf_cg_i32(cg, q->terms)), true, v_near);
    zf_cg_br(cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    for (uint32_t k = 0; narrow && k < PAIRS; k++) {
        LLVMValueRef v_sum = zf_cg_add(cg, zf_cg_get(cg, q->v_sums[k]), zf_cg_wide(cg, zf_cg_get(cg, v_near[k])));
        LLVMBuildStore(cg->builder, v_sum, q->v_sums[k]);
    }
}

// Terms of the longest sum (i32); 0 where a check failed: sums of damaged data may be long.
static LLVMValueRef most_terms(squares *q) {
    zf_cg *cg = q->b->cg;
    LLVMBasicBlockRef bb_failed = zf_cg_block(cg, "square_failed"), bb_on = zf_cg_block(cg, "square_opened");
    zf_cg_cond_br(cg, zf_cg_get(cg, q->b->v_any), bb_failed, bb_on);
    zf_cg_enter(cg, bb_failed);
    change(q, LLVMAtomicRMWBinOpUMax, head_at(q, FAILED), zf_cg_i32(cg, 1));
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
    zf_simt_barrier(&q->b->lower, "all places of a square are checked");
    LLVMValueRef v_most = zf_cg_load(cg, cg->ty_i32, head_at(q, MOST), 4);
    LLVMValueRef v_failed = zf_cg_load(cg, cg->ty_i32, head_at(q, FAILED), 4);
    return zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_failed, zf_cg_i32(cg, 0)), v_most, zf_cg_i32(cg, 0));
}

static void make_sums(squares *q) {
    zf_cg *cg = q->b->cg;
    zf_turns turns;
    for (uint32_t k = 0; k < PAIRS; k++) LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), q->v_sums[k]);
    open_slices(q);
    LLVMValueRef v_least = zf_cg_load(cg, cg->ty_i32, head_at(q, LEAST), 4), v_most = most_terms(q);
    zf_turns_begin(cg, &turns, zf_cg_i32(cg, 0), q->terms, v_most, "slice");
    zf_simt_barrier(&q->b->lower, "the slice before is read");
    load_slices(q, turns.v_i);
    zf_simt_barrier(&q->b->lower, "a slice is there");
    add_slices(q, turns.v_i, v_least, v_most);
    LLVMBasicBlockRef bb_last = zf_cg_here(cg);
    zf_turns_end(cg, &turns);
    zf_simt_keep_loop(cg, bb_last);
}

static void store_sums(squares *q) {
    zf_query_build *b = q->b;
    zf_cg *cg = b->cg;
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        LLVMBasicBlockRef bb_store = zf_cg_block(cg, "store_sum"), bb_next = zf_cg_block(cg, "sum_stored");
        LLVMValueRef v_pair, v_exists = exists(q, mine(q, q->v_y, pair / EACH), mine(q, q->v_x, pair % EACH), &v_pair);
        zf_cg_cond_br(cg, v_exists, bb_store, bb_next);
        zf_cg_enter(cg, bb_store);
        zf_cg_store(cg, zf_cg_get(cg, q->v_sums[pair]), zf_query_pair_sum(b, v_pair), sizeof(uint64_t));
        zf_cg_br(cg, bb_next);
        zf_cg_enter(cg, bb_next);
    }
}

static void note_long(squares *q) {
    zf_cg *cg = q->b->cg;
    LLVMBasicBlockRef bb_long = zf_cg_block(cg, "long"), bb_end = zf_cg_block(cg, "not_long");
    zf_cg_cond_br(cg, zf_cg_get(cg, q->v_long), bb_long, bb_end);
    zf_cg_enter(cg, bb_long);
    LLVMValueRef v_at = zf_cg_byte_at(cg, q->b->v_failure, sizeof(uint64_t) * (uint64_t)ZF_QUERY_FAILED_LONG);
    change(q, LLVMAtomicRMWBinOpUMin, v_at, zf_cg_i64(cg, 0));
    zf_cg_br(cg, bb_end);
    zf_cg_enter(cg, bb_end);
}

// ---- The kernel -----------------------------------------------------------------------------------------------

static void open_thread(squares *q) {
    zf_query_build *b = q->b;
    zf_cg *cg = b->cg;
    uint32_t offset = HEAD_BYTES;
    q->v_head = cg->target->simt->shared(cg, 0, HEAD_BYTES);
    q->v_x = zf_cg_and(cg, b->v_thread, zf_cg_i32(cg, ZF_QUERY_SIDE_THREADS - 1));
    q->v_y = LLVMBuildUDiv(cg->builder, b->v_thread, zf_cg_i32(cg, ZF_QUERY_SIDE_THREADS), "");
    q->v_across = zf_cg_and(cg, b->v_thread, zf_cg_i32(cg, TERMS_ACROSS - 1));
    q->v_along = LLVMBuildUDiv(cg->builder, b->v_thread, zf_cg_i32(cg, TERMS_ACROSS), "");
    q->v_ends = zf_cg_alloca(cg, LLVMArrayType2(cg->ty_i32, PAIRS), "ends");
    q->v_long = zf_cg_alloca(cg, cg->ty_i1, "long");
    LLVMBuildStore(cg->builder, zf_cg_i1(cg, false), q->v_long);
    for (uint32_t k = 0; k < PAIRS; k++) q->v_sums[k] = zf_cg_alloca(cg, cg->ty_i64, "sum");
    for (uint32_t k = 0; k < q->form.count; k++) {
        slice *s = &q->slices[k];
        s->of = &q->form.slices[k];
        s->type = s->of->access->a->port->type;
        s->ty_memory = LLVMIntTypeInContext(cg->context, 8 * zf_kind_size(s->type.kind));
        s->ty_shared = shared_size(s->type) == 8 ? cg->ty_i64 : cg->ty_i32;
        s->stride = stride_of(s->type);
        uint32_t bytes = q->terms * s->stride * shared_size(s->type);
        s->v_shared = cg->target->simt->shared(cg, offset, bytes);
        offset += bytes;
    }
}

void zf_query_squares(zf_query_build *b, LLVMValueRef v_groups) {
    zf_cg *cg = b->cg;
    squares all = {.b = b, .form = zf_query_square_of(b->query)}, *q = &all;
    q->terms = terms_of(&q->form);
    open_thread(q);
    zf_cg_loop loop;
    LLVMValueRef v_from = zf_cg_wide(cg, cg->target->simt->group(cg));
    LLVMValueRef v_nth = zf_query_steps_begin(cg, &loop, v_from, zf_cg_wide(cg, v_groups), b->v_squares, "square");
    zf_simt_barrier(&b->lower, "the square before is made");
    find_square(q, zf_cg_add(cg, b->v_first_square, v_nth));
    make_bounds(q);
    make_sums(q);
    store_sums(q);
    note_long(q);
    zf_query_report(b);
    zf_cg_loop_end(cg, &loop);
}

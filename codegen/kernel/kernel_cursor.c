// Cursors of chunks. A position is kept in elements where only elements and bytes are read, else in bits. Reads of elements and
// bytes begin at the next whole element or byte, as an ordinary push does in `encode`.
#include "codegen/kernel/kernel_chunks.h"

#include "frontend/check/walk.h"

// Bytes that as many loads take sooner than two words do.
enum { FEW = 2, FEW_OF_WINDOW = 4 };

// ---- Which unit -----------------------------------------------------------------------------------------------

typedef struct search {
    const zf_port *port;
    bool bits, aligns;
} search;

static bool note_bits(zf_visitor *visitor, zf_expr *expr) {
    search *found = visitor->user;
    if (expr->kind != ZF_X_CURSOR || expr->port != found->port) return true;
    switch (expr->cursor) {
    case ZF_C_READ:
    case ZF_C_READ_MSB:
    case ZF_C_PEEK: found->bits = true; break;
    case ZF_C_ALIGN:
    case ZF_C_BIT_POS: found->aligns = true; break;
    default: break;
    }
    return true;
}

static search search_of(const zf_inst *inst, const zf_port *port) {
    search found = {.port = port};
    zf_visitor visitor = {.user = &found, .expr = note_bits};
    for (uint32_t s = 0; s < inst->state_count; s++) zf_visit_expr(&visitor, inst->states[s].init);
    zf_visit_body(&visitor, (zf_body *)(uintptr_t)&inst->decode); // only looks
    return found;
}

bool zf_chunk_reads_bits(const zf_inst *inst, const zf_port *port) { return search_of(inst, port).bits; }

bool zf_chunk_counts_bits(const zf_inst *inst, const zf_port *port) {
    search found = search_of(inst, port);
    return found.bits || found.aligns;
}

// ---- Moving ---------------------------------------------------------------------------------------------------

typedef struct cursor {
    zf_cg *cg;
    zf_cg_frame *frame;
    const zf_expr *expr;
    const zf_chunk_stream *s;
    unsigned width; ///< bits of an element
} cursor;

static LLVMValueRef here(const cursor *c) {
    zf_cg *cg = c->cg;
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, c->s->narrow ? cg->ty_i32 : cg->ty_i64, c->s->v_at, "");
    return zf_cg_resize(cg, v, cg->ty_i64, false);
}

/// The position, or the next one that begins an element: every byte does, where bytes are read.
static LLVMValueRef aligned(const cursor *c) {
    if (!c->s->by_bits) return here(c);
    LLVMValueRef v = zf_cg_add(c->cg, here(c), zf_cg_i64(c->cg, c->width - 1));
    return zf_cg_and(c->cg, v, zf_cg_i64(c->cg, ~(uint64_t)(c->width - 1)));
}

/// As `take`, of positions of 32 bits. Returns the condition (i1) under which the amount is there, where a failure is only noted.
static LLVMValueRef take_narrow(const cursor *c, LLVMValueRef v_from, LLVMValueRef v_amount) {
    zf_cg *cg = c->cg;
    LLVMValueRef v_fits, v_none, v_total = zf_cg_resize(cg, c->s->v_total, cg->ty_i32, false);
    v_from = zf_cg_narrow(cg, v_from, &v_none);
    v_amount = zf_cg_narrow(cg, v_amount, &v_fits);
    LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntULE, v_amount, zf_cg_sub(cg, v_total, v_from));
    v_ok = zf_cg_check(cg, zf_cg_frame_env(c->frame), zf_cg_and(cg, v_fits, v_ok), 2, c->expr->span, c->expr);
    // A window has a place for any position. Elsewhere later reads rely on one within the stream.
    if (v_ok != NULL && c->s->v_window == NULL) v_amount = zf_cg_select(cg, v_ok, v_amount, zf_cg_i32(cg, 0));
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_from, v_amount), c->s->v_at);
    return v_ok;
}

static void move(const cursor *c, LLVMValueRef v_to) {
    LLVMBuildStore(c->cg->builder, zf_cg_resize(c->cg, v_to, LLVMGetAllocatedType(c->s->v_at), false), c->s->v_at);
}

/// V02 unless v_amount more is left behind v_from, which is not behind the end; moves over it.
static void take(const cursor *c, LLVMValueRef v_from, LLVMValueRef v_amount) {
    zf_cg *cg = c->cg;
    LLVMValueRef v_when = zf_chunk_of(zf_cg_frame_env(c->frame))->v_when;
    if (v_when != NULL) v_amount = zf_cg_select(cg, v_when, v_amount, zf_cg_i64(cg, 0));
    LLVMValueRef v_left = zf_cg_sub(cg, c->s->v_total, v_from);
    zf_cg_check(cg, zf_cg_frame_env(c->frame), zf_cg_icmp(cg, LLVMIntULE, v_amount, v_left), 2, c->expr->span, c->expr);
    LLVMBuildStore(cg->builder, zf_cg_add(cg, v_from, v_amount), c->s->v_at);
}

/// Moves over v_amount in the position's unit; returns where that begins: `align`, at the next whole element. *v_held: whether it
/// may be read there (i1), where a failure is only noted, else NULL.
static LLVMValueRef claim_where(const cursor *c, LLVMValueRef v_amount, bool align, LLVMValueRef *v_held) {
    const zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(c->frame));
    *v_held = NULL;
    if (chunk->together) return chunk->ops->claim(c->cg, c->frame, c->s, v_amount, c->expr);
    LLVMValueRef v_from = align ? aligned(c) : here(c);
    if (c->s->narrow)
        *v_held = take_narrow(c, v_from, v_amount);
    else
        take(c, v_from, v_amount);
    return *v_held == NULL || c->s->v_window != NULL ? v_from : zf_cg_select(c->cg, *v_held, v_from, zf_cg_i64(c->cg, 0));
}

static LLVMValueRef claim(const cursor *c, LLVMValueRef v_amount, bool align) {
    LLVMValueRef v_held;
    return claim_where(c, v_amount, align, &v_held);
}

/// Converts a number of elements to the position's unit.
static LLVMValueRef in_units(const cursor *c, LLVMValueRef v_elements) {
    return c->s->by_bits ? zf_cg_mul(c->cg, v_elements, zf_cg_i64(c->cg, c->width)) : v_elements;
}

static LLVMValueRef in_elements(const cursor *c, LLVMValueRef v_at) {
    return c->s->by_bits ? LLVMBuildUDiv(c->cg->builder, v_at, zf_cg_i64(c->cg, c->width), "") : v_at;
}

// ---- Reads that may be missing ----------------------------------------------------------------------------------------

/// A read in whose place 0 stands where it must not be done.
typedef struct missing {
    LLVMValueRef v_slot;
    LLVMBasicBlockRef bb_read;
} missing;

/// Whether a read must not be done where its check failed: nothing need be readable behind a stream, which may be empty. A window
/// has a place for any position. No stream of bits is guessed, and running sums ask for all their bits before.
static bool may_miss(const cursor *c, LLVMValueRef v_held) { return v_held != NULL && c->s->v_window == NULL && !c->s->by_bits; }

static void begin_where(const cursor *c, missing *there, LLVMValueRef v_if, LLVMTypeRef ty) {
    zf_cg *cg = c->cg;
    LLVMBasicBlockRef bb_there = zf_cg_block(cg, "there");
    *there = (missing){.v_slot = zf_cg_alloca(cg, ty, "read"), .bb_read = zf_cg_block(cg, "read")};
    LLVMBuildStore(cg->builder, LLVMConstNull(ty), there->v_slot);
    zf_cg_cond_br(cg, v_if, bb_there, there->bb_read);
    zf_cg_enter(cg, bb_there);
}

static LLVMValueRef end_where(const cursor *c, const missing *there, LLVMValueRef v) {
    zf_cg *cg = c->cg;
    LLVMBuildStore(cg->builder, v, there->v_slot);
    zf_cg_br(cg, there->bb_read);
    LLVMMoveBasicBlockAfter(there->bb_read, zf_cg_here(cg));
    zf_cg_enter(cg, there->bb_read);
    return LLVMBuildLoad2(cg->builder, LLVMGetAllocatedType(there->v_slot), there->v_slot, "");
}

// ---- Reading --------------------------------------------------------------------------------------------------

/// Bits in memory from bit `v_at` of the chunk on.
static LLVMValueRef load(const cursor *c, LLVMValueRef v_at, LLVMValueRef v_count, uint64_t limit, bool msb) {
    zf_cg *cg = c->cg;
    if (c->s->narrow && c->s->by_bits && c->s->v_bit != NULL &&
        c->s->v_bytes != NULL) { // from the word that has the chunk's begin
        LLVMValueRef v_word = LLVMBuildLShr(cg->builder, c->s->v_bit, zf_cg_i64(cg, 3), "");
        LLVMValueRef v_bytes = zf_cg_at(cg, cg->ty_i8, c->s->v_bytes, zf_cg_and(cg, v_word, zf_cg_i64(cg, ~UINT64_C(3))));
        LLVMValueRef v_skew = zf_cg_and(cg, zf_cg_resize(cg, c->s->v_bit, cg->ty_i32, false), zf_cg_i32(cg, 31));
        v_at = zf_cg_add(cg, zf_cg_resize(cg, v_at, cg->ty_i32, false), v_skew);
        return zf_cg_load_bits(cg, v_bytes, zf_cg_resize(cg, v_at, cg->ty_i64, false), v_count, limit, msb);
    }
    if (c->s->v_bit != NULL) v_at = zf_cg_add(cg, v_at, c->s->v_bit);
    if (c->s->v_bytes != NULL) return zf_cg_load_bits(cg, c->s->v_bytes, v_at, v_count, limit, msb);
    zf_cg_unsupported(cg, c->expr->span, "bits of a stream that is not in memory");
    return zf_cg_i64(cg, 0);
}

/// Whether so many bytes are one load, where the stream's bytes begin in memory and any address will do.
static bool is_load(const cursor *c, LLVMValueRef v_count) {
    if (c->s->by_bits || c->s->v_bytes == NULL || c->s->v_bit != NULL || c->cg->aligned_loads) return false;
    uint64_t count = LLVMIsAConstantInt(v_count) ? LLVMConstIntGetZExtValue(v_count) : 0;
    return count == 1 || count == 2 || count == 4 || count == 8;
}

// Byte v_from + k of the chunk, in the stream's window or where the stream lies.
static LLVMValueRef byte_at(const cursor *c, LLVMValueRef v_from, uint64_t k) {
    zf_cg *cg = c->cg;
    const zf_chunk_stream *s = c->s;
    if (s->v_window == NULL) {
        LLVMValueRef v_first = LLVMBuildLShr(cg->builder, s->v_bit, zf_cg_i64(cg, 3), "");
        return zf_cg_byte_at(cg, zf_cg_at(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, s->v_bytes, v_first), v_from), k);
    }
    LLVMValueRef v_at = zf_cg_add(cg, zf_cg_resize(cg, v_from, cg->ty_i32, false), s->v_skew);
    v_at = zf_cg_and(cg, zf_cg_add(cg, v_at, zf_cg_i32(cg, (uint32_t)k)), zf_cg_i32(cg, s->window_bytes - 1));
    return zf_cg_at(cg, cg->ty_i8, s->v_window, zf_cg_resize(cg, v_at, cg->ty_i64, false));
}

// The word of the window in which the byte at v_place (i32) lies, and the one behind it: the four bytes from there on.
static LLVMValueRef window_word(const cursor *c, LLVMValueRef v_place) {
    zf_cg *cg = c->cg;
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_words[3], v_at = zf_cg_and(cg, v_place, zf_cg_i32(cg, ~UINT32_C(3)));
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef v_word = zf_cg_and(cg, zf_cg_add(cg, v_at, zf_cg_i32(cg, 4 * k)), zf_cg_i32(cg, c->s->window_bytes - 1));
        v_words[1 - k] =
            zf_cg_load(cg, ty, zf_cg_at(cg, cg->ty_i8, c->s->v_window, zf_cg_resize(cg, v_word, cg->ty_i64, false)), 4);
    }
    v_words[2] = zf_cg_mul(cg, v_place, zf_cg_i32(cg, 8)); // modulo 32
    return zf_cg_intrinsic(cg, "llvm.fshr", &ty, 1, v_words, 3);
}

/// v_count bytes, at most 8, of the window from v_from on: of three words, whatever lies there.
static LLVMValueRef window_bytes(const cursor *c, LLVMValueRef v_from, LLVMValueRef v_count, bool big) {
    zf_cg *cg = c->cg;
    LLVMTypeRef ty = cg->ty_i32;
    LLVMValueRef v_place = zf_cg_add(cg, zf_cg_resize(cg, v_from, ty, false), c->s->v_skew);
    LLVMValueRef v_low = window_word(c, v_place), v_high = window_word(c, zf_cg_add(cg, v_place, zf_cg_i32(cg, 4)));
    LLVMValueRef v_all = zf_cg_resize(cg, v_high, cg->ty_i64, false), v_bits = zf_cg_mul(cg, v_count, zf_cg_i64(cg, 8));
    v_all = LLVMBuildShl(cg->builder, v_all, zf_cg_i64(cg, 32), "");
    v_all = zf_cg_or(cg, v_all, zf_cg_resize(cg, v_low, cg->ty_i64, false));
    if (!big) return zf_cg_and(cg, v_all, zf_cg_low_mask(cg, v_bits, 64));
    v_all = zf_cg_intrinsic(cg, "llvm.bswap", &cg->ty_i64, 1, &v_all, 1);
    // None by name, since a shift by 64 is poison.
    LLVMValueRef v_shift = zf_cg_and(cg, zf_cg_sub(cg, zf_cg_i64(cg, 0), v_bits), zf_cg_i64(cg, 63));
    LLVMValueRef v_none = zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i64(cg, 0));
    return zf_cg_select(cg, v_none, zf_cg_i64(cg, 0), LLVMBuildLShr(cg->builder, v_all, v_shift, ""));
}

/// `count` bytes from v_from on, by loads of one each: of a stream whose bytes lie at any place. In a window three and four are
/// two words.
static LLVMValueRef few_bytes(const cursor *c, LLVMValueRef v_from, uint64_t count, bool big) {
    zf_cg *cg = c->cg;
    if (c->s->v_window != NULL && count > FEW && count <= FEW_OF_WINDOW && !big) {
        LLVMValueRef v_place = zf_cg_add(cg, zf_cg_resize(cg, v_from, cg->ty_i32, false), c->s->v_skew);
        LLVMValueRef v_four = window_word(c, v_place);
        if (count < 4) v_four = zf_cg_and(cg, v_four, zf_cg_i32(cg, (UINT32_C(1) << 8 * count) - 1));
        return zf_cg_resize(cg, v_four, cg->ty_i64, false);
    }
    LLVMValueRef v_all = zf_cg_i32(cg, 0);
    for (uint64_t k = 0; k < count; k++) {
        LLVMValueRef v = zf_cg_resize(cg, zf_cg_load(cg, cg->ty_i8, byte_at(c, v_from, k), 1), cg->ty_i32, false);
        v = LLVMBuildShl(cg->builder, v, zf_cg_i32(cg, (uint32_t)(8 * (big ? count - 1 - k : k))), "");
        v_all = zf_cg_or(cg, v_all, v);
    }
    return zf_cg_resize(cg, v_all, cg->ty_i64, false);
}

static zf_cg_value element(const cursor *c, LLVMValueRef v_index) {
    const zf_port *port = c->s->port;
    zf_cg_seq seq = {.kind = ZF_CG_SEQ_PORT, .type = port->type, .port = port};
    return zf_cg_seq_element(c->cg, zf_cg_frame_env(c->frame), &seq, v_index, NULL);
}

static zf_cg_value next(const cursor *c) {
    zf_cg_value value;
    const zf_chunk *chunk = zf_chunk_of(zf_cg_frame_env(c->frame));
    if (chunk->together && chunk->ops->next(c->cg, c->frame, c->expr, &value)) return value;
    if (chunk->in_row) {
        LLVMTypeRef ty = zf_cg_type(c->cg, c->s->port->type);
        LLVMValueRef v_from = zf_cg_at(c->cg, ty, chunk->v_taken, chunk->v_lane);
        return zf_cg_scalar(c->s->port->type, zf_cg_load(c->cg, ty, v_from, zf_kind_size(c->s->port->type.kind)));
    }
    LLVMValueRef v_held, v_from = claim_where(c, in_units(c, zf_cg_i64(c->cg, 1)), true, &v_held);
    const zf_port *port = c->s->port;
    if (c->s->v_window != NULL) // the check may have failed: the window has no place outside
        return zf_cg_scalar(port->type,
                            zf_cg_resize(c->cg, few_bytes(c, v_from, 1, false), zf_cg_type(c->cg, port->type), false));
    if (!may_miss(c, v_held)) return element(c, in_elements(c, v_from));
    missing there;
    begin_where(c, &there, v_held, zf_cg_type(c->cg, port->type));
    return zf_cg_scalar(port->type, end_where(c, &there, element(c, in_elements(c, v_from)).v));
}

/// v_count bytes from v_from on, the first the lowest, or the highest.
static LLVMValueRef bytes_from(const cursor *c, LLVMValueRef v_from, LLVMValueRef v_count, bool big) {
    zf_cg *cg = c->cg;
    if (!big && is_load(c, v_count)) {
        LLVMTypeRef ty = LLVMIntTypeInContext(cg->context, 8 * (unsigned)LLVMConstIntGetZExtValue(v_count));
        LLVMValueRef v_at = zf_cg_at(cg, cg->ty_i8, c->s->v_bytes, v_from);
        return zf_cg_resize(cg, zf_cg_load(cg, ty, v_at, 1), cg->ty_i64, false);
    }
    LLVMValueRef v_eight = zf_cg_i64(cg, 8), v_bits = zf_cg_mul(cg, v_count, v_eight);
    uint64_t few = LLVMIsAConstantInt(v_count) ? LLVMConstIntGetZExtValue(v_count) : UINT64_MAX;
    uint64_t most = c->s->v_window != NULL ? FEW_OF_WINDOW : FEW;
    if (few <= most && c->s->narrow && !c->s->by_bits && c->s->v_bytes != NULL && c->s->v_bit != NULL)
        return few_bytes(c, v_from, few, big);
    if (c->s->v_window != NULL && !big && c->expr->a != NULL && c->expr->a->range.lo >= 0 &&
        c->expr->a->range.hi <= FEW_OF_WINDOW) {
        uint64_t all = (uint64_t)c->expr->a->range.hi;
        return zf_cg_and(cg, few_bytes(c, v_from, all, false), zf_cg_low_mask(cg, v_bits, 8 * all));
    }
    if (c->s->v_window != NULL) return window_bytes(c, v_from, v_count, big);
    return load(c, c->s->by_bits ? v_from : zf_cg_mul(cg, v_from, v_eight), v_bits, 64, big);
}

/// The next v_count bytes (at most 8).
static LLVMValueRef bytes(const cursor *c, LLVMValueRef v_count, bool big) {
    LLVMValueRef v_held, v_from = claim_where(c, in_units(c, v_count), true, &v_held);
    if (!may_miss(c, v_held)) return bytes_from(c, v_from, v_count, big);
    missing there;
    begin_where(c, &there, v_held, c->cg->ty_i64);
    return end_where(c, &there, bytes_from(c, v_from, v_count, big));
}

/// Seven bits a byte, the lowest first, up to one whose highest bit is 0.
static LLVMValueRef varint(const cursor *c) {
    zf_cg *cg = c->cg;
    LLVMValueRef v_seven = zf_cg_i64(cg, 7), v_slot = zf_cg_alloca(cg, cg->ty_i64, "varint");
    LLVMBasicBlockRef bb_end = zf_cg_block(cg, "varint_end");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_slot);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), zf_cg_i64(cg, 10), "varint");
    LLVMValueRef v_byte = bytes(c, zf_cg_i64(cg, 1), false);
    LLVMValueRef v_part = zf_cg_and(cg, v_byte, zf_cg_i64(cg, 127));
    v_part = LLVMBuildShl(cg->builder, v_part, zf_cg_mul(cg, loop.v_i, v_seven), "");
    LLVMBuildStore(cg->builder, zf_cg_or(cg, LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, ""), v_part), v_slot);
    LLVMBasicBlockRef bb_more = zf_cg_block(cg, "varint_more");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntULT, v_byte, zf_cg_i64(cg, 128)), bb_end, bb_more);
    zf_cg_enter(cg, bb_more);
    zf_cg_loop_end(cg, &loop);
    zf_cg_check(cg, zf_cg_frame_env(c->frame), zf_cg_i1(cg, false), 2, c->expr->span, c->expr); // an eleventh byte
    zf_cg_br(cg, bb_end);
    LLVMMoveBasicBlockAfter(bb_end, zf_cg_here(cg));
    zf_cg_enter(cg, bb_end);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_slot, "");
}

static uint64_t most_bits(const zf_expr *count) {
    return count->range.lo >= 0 && count->range.hi < 64 ? (uint64_t)count->range.hi : 64;
}

static LLVMValueRef read(const cursor *c, LLVMValueRef v_count, bool msb) {
    LLVMValueRef v_from = claim(c, v_count, false);
    return load(c, v_from, v_count, most_bits(c->expr->a), msb);
}

/// Bits behind the chunk's last are 0.
static LLVMValueRef peek(const cursor *c, LLVMValueRef v_count) {
    zf_cg *cg = c->cg;
    LLVMValueRef v_at = here(c), v_total = c->s->v_total, v_have;
    if (c->s->narrow && LLVMIsAConstantInt(v_count)) { // of 32 bits, as the position is
        v_total = zf_cg_resize(cg, v_total, cg->ty_i32, false);
        v_have = zf_cg_sub(cg, v_total, zf_cg_resize(cg, v_at, cg->ty_i32, false));
        v_have = zf_cg_umin(cg, zf_cg_resize(cg, v_count, cg->ty_i32, false), v_have);
        v_have = zf_cg_resize(cg, v_have, cg->ty_i64, false);
    } else {
        v_have = zf_cg_umin(cg, v_count, zf_cg_sub(cg, v_total, v_at));
    }
    return load(c, v_at, v_have, most_bits(c->expr->a), false);
}

static void skip(const cursor *c, LLVMValueRef v_count) {
    zf_cg *cg = c->cg;
    if (c->s->narrow && !c->s->by_bits) {
        take_narrow(c, here(c), v_count);
        return;
    }
    LLVMValueRef v_from = aligned(c), v_left = in_elements(c, zf_cg_sub(cg, c->s->v_total, v_from));
    zf_cg_check(cg, zf_cg_frame_env(c->frame), zf_cg_icmp(cg, LLVMIntULE, v_count, v_left), 2, c->expr->span, c->expr);
    move(c, zf_cg_add(cg, v_from, in_units(c, v_count)));
}

static cursor cursor_of(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    const zf_chunk_stream *s = &zf_chunk_of(zf_cg_frame_env(frame))->streams[expr->port->slot];
    unsigned width = expr->port->type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(expr->port->type.kind);
    return (cursor){.cg = cg, .frame = frame, .expr = expr, .s = s, .width = width};
}

// The operand, or NULL: there is none.
static LLVMValueRef count_of(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    return expr->a == NULL ? NULL : zf_cg_resize(cg, zf_cg_expr(cg, frame, expr->a).v, cg->ty_i64, false);
}

bool zf_chunk_read_nothing(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    bool reads = expr->kind == ZF_X_CURSOR && (expr->cursor == ZF_C_READ || expr->cursor == ZF_C_READ_MSB);
    if (!reads || zf_chunk_of(zf_cg_frame_env(frame))->together) return false;
    LLVMValueRef v_count = count_of(cg, frame, expr);
    cursor c = cursor_of(cg, frame, expr);
    claim(&c, v_count, false);
    return true;
}

zf_cg_value zf_chunk_cursor(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    LLVMValueRef v_count = count_of(cg, frame, expr), v = NULL;
    cursor c = cursor_of(cg, frame, expr);
    switch (expr->cursor) {
    case ZF_C_NEXT: return next(&c);
    case ZF_C_U8:
    case ZF_C_I8: v = bytes(&c, zf_cg_i64(cg, 1), false); break;
    case ZF_C_U16:
    case ZF_C_I16: v = bytes(&c, zf_cg_i64(cg, 2), false); break;
    case ZF_C_U32:
    case ZF_C_I32: v = bytes(&c, zf_cg_i64(cg, 4), false); break;
    case ZF_C_U64:
    case ZF_C_I64: v = bytes(&c, zf_cg_i64(cg, 8), false); break;
    case ZF_C_LE: v = bytes(&c, v_count, false); break;
    case ZF_C_BE: v = bytes(&c, v_count, true); break;
    case ZF_C_VARINT: v = varint(&c); break;
    case ZF_C_READ: v = read(&c, v_count, false); break;
    case ZF_C_READ_MSB: v = read(&c, v_count, true); break;
    case ZF_C_PEEK: v = peek(&c, v_count); break;
    case ZF_C_SKIP: skip(&c, v_count); break;
    case ZF_C_ALIGN: move(&c, aligned(&c)); break;
    case ZF_C_AT_END:
        if (c.s->narrow) { // both halves above are 0
            v = LLVMBuildLoad2(cg->builder, cg->ty_i32, c.s->v_at, "");
            return zf_cg_scalar(expr->type, zf_cg_icmp(cg, LLVMIntUGE, v, zf_cg_resize(cg, c.s->v_total, cg->ty_i32, false)));
        }
        return zf_cg_scalar(expr->type, zf_cg_icmp(cg, LLVMIntUGE, here(&c), c.s->v_total));
    case ZF_C_POS: v = in_elements(&c, here(&c)); break;
    case ZF_C_BIT_POS:
        v = here(&c);
        if (!c.s->by_bits) v = zf_cg_mul(cg, v, zf_cg_i64(cg, c.width));
        break;
    case ZF_C_COUNT: break;
    }
    if (v == NULL) return zf_cg_zero_value(cg, expr->type);
    return zf_cg_scalar(expr->type, zf_cg_resize(cg, v, zf_cg_type(cg, expr->type), false));
}

// Sequences: elements, slices, lengths, bits, and the checks of an access (V01, V05).
#include "codegen/body/cg_fault_sites.h"
#include "codegen/body/cg_frame.h"
#include "codegen/target/codegen_target.h"

// The stream that an access reads. NULL: none.
static const char *stream_name(const zf_expr *at) {
    while (at != NULL && (at->kind == ZF_X_INDEX || at->kind == ZF_X_SLICE || at->kind == ZF_X_BITS)) at = at->a;
    return at != NULL && at->kind == ZF_X_STREAM ? at->port->name : NULL;
}

LLVMValueRef zf_cg_check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at) {
    if (env->check == NULL) {
        zf_cg_unsupported(cg, span, "a check has no place here");
        return NULL;
    }
    static const char *const names[] = {"check", "V01", "V02", "V03", "V04", "V05", "V06", "V07", "V08", "V09", "V10"};
    const char *name = names[violation < sizeof(names) / sizeof(names[0]) ? violation : 0];
    if (violation == 1 && at != NULL && at->kind == ZF_X_BITS) name = "V01 of bits";
    v_ok = zf_cg_holds_of(cg, ZF_SITE_CHECK, v_ok, name, stream_name(at), env->precedes);
    if (cg->v_guard != NULL) {
        const char *mask = cg->v_guard == cg->v_required ? "checks behind one that failed" : "checks that do not count";
        LLVMValueRef v_counts = zf_cg_holds(cg, ZF_SITE_MASK, cg->v_guard, mask);
        v_ok = zf_cg_select(cg, v_counts, v_ok, zf_cg_i1(cg, true));
    }
    LLVMValueRef v_held = env->check(cg, env, v_ok, violation, span, at);
    // The substitute must be harmless where the guard does not hold, too.
    if (cg->v_guard == NULL) return v_held;
    return v_held == NULL ? cg->v_guard : zf_cg_select(cg, cg->v_guard, v_held, zf_cg_i1(cg, false));
}

static bool hoisted(zf_cg *cg, zf_cg_env *env, unsigned violation, zf_span span, const zf_expr *at) {
    return env->hoisted != NULL && env->hoisted(cg, env, violation, span, at);
}

LLVMValueRef zf_cg_seq_length(zf_cg *cg, zf_cg_env *env, const zf_cg_seq *seq) {
    if (seq->v_length != NULL) return seq->v_length;
    if (env->length == NULL || (seq->kind != ZF_CG_SEQ_PORT && seq->kind != ZF_CG_SEQ_OUT)) {
        zf_cg_unsupported(cg, (zf_span){0}, "the length of this sequence is not known here");
        return zf_cg_i64(cg, 0);
    }
    return env->length(cg, env, seq->kind == ZF_CG_SEQ_PORT ? seq->port : NULL);
}

static LLVMValueRef position(zf_cg *cg, const zf_cg_seq *seq, LLVMValueRef v_index) {
    return seq->v_start == NULL ? v_index : zf_cg_add(cg, seq->v_start, v_index);
}

LLVMValueRef zf_cg_text_pointer(zf_cg *cg, const zf_cg_seq *seq) {
    if (seq->kind != ZF_CG_SEQ_MEMORY) {
        zf_cg_unsupported(cg, (zf_span){0}, "a string that is not in memory is not lowered");
        return LLVMConstNull(cg->ty_ptr);
    }
    return seq->v_start == NULL ? seq->v_data : zf_cg_at(cg, cg->ty_i8, seq->v_data, seq->v_start);
}

static zf_cg_value memory_element(zf_cg *cg, const zf_cg_seq *seq, LLVMValueRef v_at) {
    LLVMTypeRef ty = zf_cg_memory_type(cg, seq->type);
    unsigned size = zf_kind_size(seq->type.kind);
    LLVMValueRef v = zf_cg_load(cg, ty, zf_cg_at(cg, ty, seq->v_data, v_at), size == 0 ? 1 : size);
    if (seq->type.kind == ZF_K_BOOL) v = zf_cg_icmp(cg, LLVMIntNE, v, LLVMConstNull(ty));
    zf_cg_value value = zf_cg_scalar(seq->type, v);
    if (seq->type.nullable) {
        LLVMValueRef v_valid = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, seq->v_validity, v_at), 1);
        value.v_valid = zf_cg_icmp(cg, LLVMIntNE, v_valid, LLVMConstNull(cg->ty_i8));
    }
    return value;
}

static zf_cg_value text_element(zf_cg *cg, const zf_cg_seq *seq, LLVMValueRef v_at) {
    LLVMValueRef v_from = zf_cg_load(cg, cg->ty_i64, zf_cg_at(cg, cg->ty_i64, seq->v_offsets, v_at), 8);
    LLVMValueRef v_after = zf_cg_add(cg, v_at, zf_cg_i64(cg, 1));
    LLVMValueRef v_to = zf_cg_load(cg, cg->ty_i64, zf_cg_at(cg, cg->ty_i64, seq->v_offsets, v_after), 8);
    zf_cg_value value = {.type = seq->type};
    value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
    value.seq.v_data = zf_cg_at(cg, cg->ty_i8, seq->v_data, v_from);
    value.seq.v_length = zf_cg_sub(cg, v_to, v_from);
    if (seq->type.nullable) {
        LLVMValueRef v_valid = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, seq->v_validity, v_at), 1);
        value.v_valid = zf_cg_icmp(cg, LLVMIntNE, v_valid, LLVMConstNull(cg->ty_i8));
    }
    return value;
}

LLVMValueRef zf_cg_in_range(zf_cg *cg, zf_cg_env *env, const zf_port *port, zf_cg_value value, LLVMValueRef *v_safe) {
    LLVMValueRef v_ok = NULL;
    *v_safe = NULL;
    for (unsigned side = 0; side < 2; side++) {
        const zf_expr *bound = side == 0 ? port->lo : port->hi;
        if (bound == NULL) continue;
        LLVMValueRef v_bound = zf_cg_eval_expr(cg, env, NULL, bound, NULL, 0).v;
        if (v_bound == NULL) return NULL;
        bool is_signed = zf_kind_is_signed(value.type.kind);
        LLVMIntPredicate predicate = side == 0 ? (is_signed ? LLVMIntSGE : LLVMIntUGE) : (is_signed ? LLVMIntSLE : LLVMIntULE);
        v_bound = zf_cg_resize(cg, v_bound, LLVMTypeOf(value.v), zf_kind_is_signed(bound->type.kind));
        LLVMValueRef v = zf_cg_icmp(cg, predicate, value.v, v_bound);
        v_ok = v_ok == NULL ? v : zf_cg_and(cg, v_ok, v);
        if (*v_safe == NULL) *v_safe = v_bound;
    }
    return v_ok;
}

/// V05: an element must lie in its port's range.
static zf_cg_value check_range(zf_cg *cg, zf_cg_env *env, const zf_port *port, zf_cg_value value, const zf_expr *access) {
    zf_span span = access == NULL ? port->span : access->span;
    if (!port->has_range || !zf_kind_is_integer(value.type.kind) || hoisted(cg, env, 5, span, access)) return value;
    LLVMValueRef v_safe, v_ok = zf_cg_in_range(cg, env, port, value, &v_safe);
    if (v_ok == NULL) return value;
    v_ok = zf_cg_check(cg, env, v_ok, 5, span, access);
    // Later proofs rely on the range, so what failed becomes a value within it.
    if (v_ok != NULL) value.v = zf_cg_select(cg, v_ok, value.v, v_safe);
    return value;
}

zf_cg_value zf_cg_seq_element(zf_cg *cg, zf_cg_env *env, const zf_cg_seq *seq, LLVMValueRef v_index, const zf_expr *access) {
    LLVMValueRef v_at = position(cg, seq, v_index);
    zf_cg_value value;
    switch (seq->kind) {
    case ZF_CG_SEQ_PORT:
        if (env->element == NULL) break;
        return check_range(cg, env, seq->port, env->element(cg, env, seq->port, v_at, access), access);
    case ZF_CG_SEQ_OUT:
        if (env->out == NULL) break;
        return env->out(cg, env, v_at, access);
    case ZF_CG_SEQ_MEMORY:
        value = memory_element(cg, seq, v_at);
        return seq->port != NULL ? check_range(cg, env, seq->port, value, access) : value;
    case ZF_CG_SEQ_TEXTS: return text_element(cg, seq, v_at);
    default: break;
    }
    zf_cg_unsupported(cg, access == NULL ? (zf_span){0} : access->span, "elements of this sequence are not lowered");
    return zf_cg_zero_value(cg, seq->type);
}

static LLVMValueRef index_value(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value value = zf_cg_expr(cg, frame, expr);
    if (value.v == NULL) return zf_cg_i64(cg, 0);
    return zf_cg_resize(cg, value.v, cg->ty_i64, zf_kind_is_signed(value.type.kind));
}

/// Whether an access may be made (i1): its check, or, where there is none, the guard that its proof rests on. NULL: it may.
static LLVMValueRef held(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, LLVMValueRef v_ok) {
    return v_ok == NULL ? cg->v_guard : zf_cg_check(cg, frame->env, v_ok, 1, expr->span, expr);
}

/// The operand of an access: `v`, or `v_safe` if its check was noted as failed or its proof rests on a guard that does not
/// hold.
static LLVMValueRef checked(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, LLVMValueRef v_ok, LLVMValueRef v,
                            LLVMValueRef v_safe) {
    LLVMValueRef v_held = held(cg, frame, expr, v_ok);
    return v_held == NULL ? v : zf_cg_select(cg, v_held, v, v_safe);
}

// On a GPU an operand whose check may have failed is clamped by 32 bits: comparisons and selects of 64 would take as many
// instructions as all the rest of an access. No stream of a block has more than 2^32 elements (docs/format.md).
static bool clamps(const zf_cg *cg) { return cg->target != NULL && cg->target->simt != NULL; }

// `v_at`, or the last of 0..v_most (i64 both) where it is beyond that. `of`: of which stream, for the name of the site; may be
// NULL.
static LLVMValueRef clamp(zf_cg *cg, LLVMValueRef v_at, LLVMValueRef v_most, const char *of) {
    v_most = zf_cg_resize(cg, zf_cg_umin(cg, v_most, zf_cg_i64(cg, UINT32_MAX)), cg->ty_i32, false);
    v_at = zf_cg_clamp_of(cg, zf_cg_resize(cg, v_at, cg->ty_i32, false), v_most, "operands of failed checks", of);
    return zf_cg_resize(cg, v_at, cg->ty_i64, false);
}

/// An i32 of which `v` (i64) is the value plus *more, a small constant; NULL where none is known.
static LLVMValueRef narrowed(zf_cg *cg, LLVMValueRef v, uint64_t *more) {
    enum { MOST_MORE = 1 << 16 };
    *more = 0;
    if (LLVMIsAZExtInst(v) != NULL) {
        LLVMValueRef v_small = LLVMGetOperand(v, 0);
        return LLVMGetIntTypeWidth(LLVMTypeOf(v_small)) <= 32 ? zf_cg_resize(cg, v_small, cg->ty_i32, false) : NULL;
    }
    if (LLVMIsABinaryOperator(v) == NULL) return NULL;
    uint64_t inner;
    LLVMValueRef v_a = LLVMGetOperand(v, 0), v_b = LLVMGetOperand(v, 1), v_small;
    if (LLVMGetInstructionOpcode(v) == LLVMUDiv && LLVMIsAConstantInt(v_b) && LLVMConstIntGetZExtValue(v_b) <= UINT32_MAX) {
        v_small = narrowed(cg, v_a, &inner);
        if (v_small == NULL || inner != 0 || LLVMConstIntGetZExtValue(v_b) == 0) return NULL;
        return LLVMBuildUDiv(cg->builder, v_small, zf_cg_i32(cg, (uint32_t)LLVMConstIntGetZExtValue(v_b)), "");
    }
    if (LLVMGetInstructionOpcode(v) != LLVMAdd) return NULL;
    if (LLVMIsAConstantInt(v_a)) {
        LLVMValueRef v_swap = v_a;
        v_a = v_b;
        v_b = v_swap;
    }
    if (!LLVMIsAConstantInt(v_b) || LLVMConstIntGetZExtValue(v_b) > MOST_MORE) return NULL;
    v_small = narrowed(cg, v_a, &inner);
    if (inner != 0) return NULL;
    *more = LLVMConstIntGetZExtValue(v_b);
    return v_small;
}

LLVMValueRef zf_cg_below(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_limit) {
    uint64_t more;
    LLVMValueRef v_small = cg->narrows ? narrowed(cg, v, &more) : NULL;
    if (v_small == NULL) return zf_cg_icmp(cg, LLVMIntULT, v, v_limit);
    // All but one comparison of 32 bits is about the limit alone, which is the block's.
    LLVMValueRef v_more = zf_cg_i64(cg, more), v_some = zf_cg_icmp(cg, LLVMIntUGT, v_limit, v_more);
    LLVMValueRef v_last = zf_cg_sub(cg, zf_cg_sub(cg, v_limit, v_more), zf_cg_i64(cg, 1));
    v_last = zf_cg_resize(cg, zf_cg_umin(cg, v_last, zf_cg_i64(cg, UINT32_MAX)), cg->ty_i32, false);
    return zf_cg_and(cg, v_some, zf_cg_icmp(cg, LLVMIntULE, v_small, v_last));
}

// Whether a stream has an element for every number of an index's type, so that no guard has to hold: below conversions that make
// no number larger, of whatever number.
static bool has_all(const zf_cg_seq *seq, const zf_expr *index) {
    const zf_expr *inner = index;
    while (inner->kind == ZF_X_CAST && zf_kind_is_unsigned(inner->type.kind) && zf_kind_is_unsigned(inner->a->type.kind))
        inner = inner->a;
    if (seq->kind != ZF_CG_SEQ_PORT || seq->v_start != NULL || !seq->port->fixed || zf_kind_is_signed(inner->type.kind))
        return false;
    return zf_kind_bits(inner->type.kind) <= 16 && seq->port->length->range.lo >= (zf_int128)1 << zf_kind_bits(inner->type.kind);
}

// Byte v_index of a string where v_held (i1), else 0: without it there may be no string, nor memory where it would be.
static zf_cg_value text_byte(zf_cg *cg, const zf_cg_seq *seq, LLVMValueRef v_index, LLVMValueRef v_held) {
    LLVMBasicBlockRef bb_before = zf_cg_here(cg), bb_byte = zf_cg_block(cg, "byte"), bb_done = zf_cg_block(cg, "byte_done");
    zf_cg_cond_br(cg, v_held, bb_byte, bb_done);
    zf_cg_enter(cg, bb_byte);
    zf_cg_value value = memory_element(cg, seq, position(cg, seq, v_index));
    LLVMBasicBlockRef bb_read = zf_cg_here(cg);
    zf_cg_br(cg, bb_done);
    zf_cg_enter(cg, bb_done);
    value.v = zf_cg_phi2(cg, cg->ty_i8, zf_cg_zero(cg, seq->type), bb_before, value.v, bb_read);
    return value;
}

zf_cg_value zf_cg_index(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value found;
    if (frame->env->look_up != NULL && frame->env->look_up(cg, frame, expr, &found))
        return check_range(cg, frame->env, expr->a->port, found, expr);
    zf_cg_value a = zf_cg_expr(cg, frame, expr->a);
    LLVMValueRef v_index = index_value(cg, frame, expr->b), v_ok = NULL;
    bool is_text = expr->a->type.kind == ZF_K_STRING && !expr->a->is_seq && a.seq.kind == ZF_CG_SEQ_MEMORY && a.seq.port == NULL;
    if (expr->a->kind == ZF_X_TABLE && LLVMIsAConstantInt(v_index)) { // so that what follows sees the number
        uint64_t at = LLVMConstIntGetZExtValue(v_index);
        const zf_table_const *table = expr->a->table;
        if (at < table->length && !expr->type.nullable) {
            return zf_cg_scalar(expr->type, zf_cg_const(cg, expr->type, table->bits[at]));
        }
    }
    if (!expr->proved && !hoisted(cg, frame->env, 1, expr->span, expr)) {
        LLVMValueRef v_length = zf_cg_seq_length(cg, frame->env, &a.seq);
        v_ok = zf_cg_below(cg, v_index, v_length);
        if (clamps(cg) && !is_text) {
            // NULL: a failure left the chunk, or there are no checks. Then only what was made up for an element that is not
            // there may lie outside.
            LLVMValueRef v_held = zf_cg_check(cg, frame->env, v_ok, 1, expr->span, expr);
            if (v_held != NULL) v_index = clamp(cg, v_index, zf_cg_last(cg, v_length), stream_name(expr));
            return zf_cg_seq_element(cg, frame->env, &a.seq, v_index, expr);
        }
    }
    if (is_text) {
        LLVMValueRef v_held = held(cg, frame, expr, v_ok);
        return v_held != NULL ? text_byte(cg, &a.seq, v_index, v_held) : zf_cg_seq_element(cg, frame->env, &a.seq, v_index, expr);
    }
    // A table with an element at every index of the type may be read at any index.
    if (!expr->proved || !has_all(&a.seq, expr->b)) v_index = checked(cg, frame, expr, v_ok, v_index, zf_cg_i64(cg, 0));
    return zf_cg_seq_element(cg, frame->env, &a.seq, v_index, expr);
}

zf_cg_value zf_cg_slice(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value a = zf_cg_expr(cg, frame, expr->a);
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_ok = NULL;
    LLVMValueRef v_from = expr->b != NULL ? index_value(cg, frame, expr->b) : v_zero;
    LLVMValueRef v_to = expr->c != NULL ? index_value(cg, frame, expr->c) : zf_cg_seq_length(cg, frame->env, &a.seq);
    if (!expr->proved && !hoisted(cg, frame->env, 1, expr->span, expr)) {
        LLVMValueRef v_within = zf_cg_icmp(cg, LLVMIntULE, v_to, zf_cg_seq_length(cg, frame->env, &a.seq));
        v_ok = zf_cg_and(cg, v_within, zf_cg_icmp(cg, LLVMIntULE, v_from, v_to));
    }
    LLVMValueRef v_held = held(cg, frame, expr, v_ok);
    if (v_held != NULL) {
        v_from = zf_cg_select(cg, v_held, v_from, v_zero);
        v_to = zf_cg_select(cg, v_held, v_to, v_zero);
    }
    zf_cg_value value = {.type = expr->type, .is_seq = expr->is_seq, .seq = a.seq};
    if (!expr->is_seq && a.seq.kind == ZF_CG_SEQ_PORT && frame->env->slice != NULL) {
        v_from = position(cg, &a.seq, v_from);
        v_to = position(cg, &a.seq, v_to);
        a.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
        a.seq.v_data = frame->env->slice(cg, frame->env, value.seq.port, &v_from, &v_to);
        value.seq = a.seq;
    }
    if (!expr->is_seq && a.seq.kind == ZF_CG_SEQ_MEMORY) value.seq.port = NULL; // a string: its bytes are no elements of a port
    value.seq.v_start = position(cg, &a.seq, v_from);
    value.seq.v_length = zf_cg_sub(cg, v_to, v_from);
    value.seq.v_handle = NULL;
    return value;
}

/// Bits an element of a stream takes: what `bits` counts in.
static uint64_t element_bits(zf_type type) { return type.kind == ZF_K_BOOL ? 1 : zf_kind_bits(type.kind); }

// Bit v_at of a stream of v_total, moved to its last word where that lies before it.
static LLVMValueRef clamp_bit(zf_cg *cg, LLVMValueRef v_at, LLVMValueRef v_total) {
    LLVMValueRef v_five = zf_cg_i64(cg, 5);
    LLVMValueRef v_word =
        clamp(cg, LLVMBuildLShr(cg->builder, v_at, v_five, ""), LLVMBuildLShr(cg->builder, v_total, v_five, ""), NULL);
    return zf_cg_or(cg, LLVMBuildShl(cg->builder, v_word, v_five, ""), zf_cg_and(cg, v_at, zf_cg_i64(cg, 31)));
}

// Bits of a stream whose place has parts; NULL, with nothing emitted: `expr` is to be lowered as it stands.
static LLVMValueRef bits_near(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr, const zf_cg_seq *seq, uint64_t limit) {
    zf_cg_env *env = frame->env;
    zf_cg_bit_place place;
    if (env->bits_near == NULL || seq->kind != ZF_CG_SEQ_PORT || seq->v_start != NULL || element_bits(seq->type) > 32)
        return NULL;
    if (expr->proved || expr->c->range.hi > 64 || hoisted(cg, env, 1, expr->span, expr)) return NULL;
    if (!zf_cg_bit_place_of(cg, frame, expr->b, &place)) return NULL;
    LLVMValueRef v_count = index_value(cg, frame, expr->c), v_size = zf_cg_i64(cg, element_bits(seq->type));
    LLVMValueRef v_beside = env->bits_beside != NULL ? env->bits_beside(cg, env, seq->port, &place, v_count, expr) : NULL;
    if (v_beside != NULL) return v_beside;
    LLVMValueRef v_total = zf_cg_mul(cg, zf_cg_seq_length(cg, env, seq), v_size);
    LLVMValueRef v_ok = zf_cg_bit_place_fits(cg, &place, v_total, v_count);
    bool moves = zf_cg_check(cg, env, v_ok, 1, expr->span, expr) != NULL;
    if (moves) v_count = zf_cg_clamp(cg, v_count, zf_cg_i64(cg, limit), "bits of failed checks");
    return env->bits_near(cg, env, seq->port, &place, moves, v_count, expr);
}

/// Bits of memory that has nothing readable behind it: eight whole bytes in line, other bits by a call.
static LLVMValueRef bits_of_memory(zf_cg *cg, LLVMValueRef v_data, LLVMValueRef v_at, LLVMValueRef v_count, bool msb) {
    LLVMValueRef v_args[4] = {v_data, v_at, v_count, zf_cg_i64(cg, msb)};
    if (msb) return zf_cg_call(cg, "zf_cg_read_bits", cg->ty_i64, v_args, 4);
    LLVMValueRef v_begins = zf_cg_icmp(cg, LLVMIntEQ, zf_cg_and(cg, v_at, zf_cg_i64(cg, 7)), zf_cg_i64(cg, 0));
    LLVMValueRef v_whole = zf_cg_and(cg, v_begins, zf_cg_icmp(cg, LLVMIntEQ, v_count, zf_cg_i64(cg, 64)));
    LLVMBasicBlockRef bb_bytes = zf_cg_block(cg, "bytes"), bb_bits = zf_cg_block(cg, "bits"), bb_on = zf_cg_block(cg, "read");
    LLVMBasicBlockRef bb_from[2];
    LLVMValueRef v_found[2];
    zf_cg_cond_br(cg, v_whole, bb_bytes, bb_bits);
    zf_cg_enter(cg, bb_bytes);
    LLVMValueRef v_byte = LLVMBuildLShr(cg->builder, v_at, zf_cg_i64(cg, 3), "");
    v_found[0] = zf_cg_load(cg, cg->ty_i64, zf_cg_at(cg, cg->ty_i8, v_data, v_byte), 1);
    bb_from[0] = zf_cg_here(cg);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_bits);
    v_found[1] = zf_cg_call(cg, "zf_cg_read_bits", cg->ty_i64, v_args, 4);
    bb_from[1] = zf_cg_here(cg);
    zf_cg_br(cg, bb_on);
    zf_cg_enter(cg, bb_on);
    LLVMValueRef v = LLVMBuildPhi(cg->builder, cg->ty_i64, "");
    LLVMAddIncoming(v, v_found, bb_from, 2);
    return v;
}

zf_cg_value zf_cg_bits(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value a = zf_cg_expr(cg, frame, expr->a);
    uint64_t limit = expr->c->range.hi < 64 && expr->c->range.lo >= 0 ? (uint64_t)expr->c->range.hi : 64;
    LLVMValueRef v_found = bits_near(cg, frame, expr, &a.seq, limit);
    if (v_found != NULL) return zf_cg_scalar(zf_type_of(ZF_K_U64), v_found);
    LLVMValueRef v_at = index_value(cg, frame, expr->b), v_count = index_value(cg, frame, expr->c), v_ok = NULL;
    LLVMValueRef v_zero = zf_cg_i64(cg, 0), v_size = zf_cg_i64(cg, element_bits(a.seq.type)), v_total = NULL;
    zf_type result = zf_type_of(ZF_K_U64);
    if (!expr->proved && !hoisted(cg, frame->env, 1, expr->span, expr)) {
        v_total = zf_cg_mul(cg, zf_cg_seq_length(cg, frame->env, &a.seq), v_size);
        LLVMValueRef v_fits = zf_cg_icmp(cg, LLVMIntULE, v_count, v_total);
        v_ok = zf_cg_and(cg, v_fits, zf_cg_icmp(cg, LLVMIntULE, v_at, zf_cg_sub(cg, v_total, v_count)));
        if (expr->c->range.hi > 64) { // the checker reports it; a stream of hostile text must not get through
            v_ok = zf_cg_and(cg, v_ok, zf_cg_icmp(cg, LLVMIntULE, v_count, zf_cg_i64(cg, 64)));
        }
    }
    LLVMValueRef v_held = held(cg, frame, expr, v_ok);
    if (v_held != NULL && v_total != NULL && clamps(cg) && element_bits(a.seq.type) <= 32) {
        v_at = clamp_bit(cg, v_at, v_total);
        v_count = zf_cg_clamp(cg, v_count, zf_cg_i64(cg, limit), "bits of failed checks");
    } else if (v_held != NULL) {
        v_at = zf_cg_select(cg, v_held, v_at, v_zero);
        v_count = zf_cg_select(cg, v_held, v_count, v_zero);
    }
    if (a.seq.v_start != NULL) v_at = zf_cg_add(cg, v_at, zf_cg_mul(cg, a.seq.v_start, v_size));
    if (a.seq.kind == ZF_CG_SEQ_PORT && frame->env->bits != NULL) {
        return zf_cg_scalar(result, frame->env->bits(cg, frame->env, a.seq.port, v_at, v_count, expr));
    }
    if (a.seq.kind == ZF_CG_SEQ_MEMORY && a.seq.type.kind != ZF_K_BOOL) {
        if (a.seq.padded) {
            return zf_cg_scalar(result, zf_cg_load_bits(cg, a.seq.v_data, v_at, v_count, limit, expr->msb));
        }
        return zf_cg_scalar(result, bits_of_memory(cg, a.seq.v_data, v_at, v_count, expr->msb));
    }
    zf_cg_unsupported(cg, expr->span, "bits of this sequence are not lowered");
    return zf_cg_zero_value(cg, result);
}

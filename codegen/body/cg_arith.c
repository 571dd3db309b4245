// Operators, conversions and primitives on values: language.md section 4, operation by operation.
#include <math.h>

#include "codegen/body/cg_emit.h"
#include "codegen/body/cg_frame.h"
#include "codegen/target/codegen_target.h"

zf_cg_value zf_cg_unary(zf_cg *cg, const zf_expr *expr, zf_cg_value a) {
    LLVMValueRef v = NULL;
    switch (expr->op) {
    case ZF_OP_NEG:
        v = zf_kind_is_float(a.type.kind) ? LLVMBuildFNeg(cg->builder, a.v, "") : LLVMBuildNeg(cg->builder, a.v, "");
        break;
    default: v = LLVMBuildNot(cg->builder, a.v, ""); break; // BITNOT, NOT
    }
    return zf_cg_scalar(expr->type, v);
}

// ---- Division -------------------------------------------------------------------------------------------------

struct zf_cg_neighbour {
    LLVMValueRef v, v_base, v_k;
    uint64_t count;
    struct zf_cg_neighbour *next;
};

void zf_cg_neighbour(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_base, LLVMValueRef v_k, uint64_t count) {
    struct zf_cg_neighbour *n = ZF_NEW(cg->arena, struct zf_cg_neighbour);
    *n = (struct zf_cg_neighbour){.v = v, .v_base = v_base, .v_k = v_k, .count = count, .next = cg->neighbours};
    cg->neighbours = n;
}

// The known neighbour v, if division by v_by makes no difference to its neighbours.
static const struct zf_cg_neighbour *neighbour_of(const zf_cg *cg, LLVMValueRef v, LLVMValueRef v_by) {
    if (!LLVMIsAConstantInt(v_by)) return NULL;
    const struct zf_cg_neighbour *n = cg->neighbours;
    while (n != NULL && (n->v != v || LLVMConstIntGetZExtValue(v_by) % n->count != 0)) n = n->next;
    return n;
}

LLVMValueRef zf_cg_quotient(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_by) {
    const struct zf_cg_neighbour *n = neighbour_of(cg, v, v_by);
    if (!LLVMIsAConstantInt(v_by)) zf_cg_settle(cg);
    return LLVMBuildUDiv(cg->builder, n != NULL ? n->v_base : v, v_by, "");
}

LLVMValueRef zf_cg_remainder(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_by) {
    const struct zf_cg_neighbour *n = neighbour_of(cg, v, v_by);
    if (!LLVMIsAConstantInt(v_by)) zf_cg_settle(cg);
    if (n == NULL) return LLVMBuildURem(cg->builder, v, v_by, "");
    LLVMValueRef v_base = LLVMBuildURem(cg->builder, n->v_base, v_by, "");
    LLVMValueRef v_rest = LLVMBuildNUWAdd(cg->builder, v_base, n->v_k, "");
    zf_cg_neighbour(cg, v_rest, v_base, n->v_k, n->count);
    return v_rest;
}

static LLVMValueRef divide(zf_cg *cg, zf_cg_frame *frame, const zf_cg_operation *operation, zf_cg_value a, zf_cg_value b) {
    bool is_signed = zf_kind_is_signed(a.type.kind), rem = operation->op == ZF_OP_REM;
    LLVMValueRef v_one = zf_cg_const(cg, a.type, 1), v_b = b.v;
    // x / 0: a violation; what is computed then is not used, but must not trap.
    if (!operation->proved) {
        LLVMValueRef v_ok = zf_cg_icmp(cg, LLVMIntNE, v_b, zf_cg_zero(cg, a.type));
        v_ok = zf_cg_check(cg, frame->env, v_ok, 7, operation->span, operation->at);
        if (v_ok != NULL) v_b = zf_cg_select(cg, v_ok, v_b, v_one);
    } else if (cg->v_guard != NULL && !LLVMIsAConstantInt(v_b)) {
        v_b = zf_cg_select(cg, cg->v_guard, v_b, v_one);
    }
    if (!is_signed) return rem ? zf_cg_remainder(cg, a.v, v_b) : zf_cg_quotient(cg, a.v, v_b);
    zf_cg_settle(cg);
    // MIN / -1 is MIN and MIN % -1 is 0; the hardware traps. A divisor of -1 is taken apart whatever the dividend is.
    bool constant = LLVMIsAConstantInt(v_b) != NULL && LLVMConstIntGetSExtValue(v_b) != -1;
    if ((operation->no_overflow && cg->v_guard == NULL) || constant) {
        return rem ? LLVMBuildSRem(cg->builder, a.v, v_b, "") : LLVMBuildSDiv(cg->builder, a.v, v_b, "");
    }
    LLVMValueRef v_minus = zf_cg_icmp(cg, LLVMIntEQ, v_b, LLVMConstAllOnes(LLVMTypeOf(v_b)));
    LLVMValueRef v_safe = zf_cg_select(cg, v_minus, v_one, v_b);
    if (rem) return LLVMBuildSRem(cg->builder, a.v, v_safe, ""); // x % -1 == x % 1 == 0
    LLVMValueRef v_quotient = LLVMBuildSDiv(cg->builder, a.v, v_safe, "");
    return zf_cg_select(cg, v_minus, LLVMBuildNeg(cg->builder, v_quotient, ""), v_quotient);
}

// ---- Shifts ---------------------------------------------------------------------------------------------------

static LLVMValueRef shift(zf_cg *cg, zf_interval count_range, zf_op op, zf_cg_value a, zf_cg_value b) {
    unsigned bits = zf_kind_bits(a.type.kind), count_bits = zf_kind_bits(b.type.kind);
    LLVMTypeRef ty = zf_cg_type(cg, a.type);
    bool arithmetic = op == ZF_OP_SHR && zf_kind_is_signed(a.type.kind);
    // A proof may rest on the guard's condition; where that does not hold a poison value could still reach a branch.
    bool in_range =
        (cg->v_guard == NULL && count_range.hi < (zf_int128)bits) || (count_bits < 64 && (1ull << count_bits) <= bits);
    LLVMValueRef v_count = b.v, v_in = NULL;
    if (!in_range) {
        LLVMValueRef v_bits = LLVMConstInt(LLVMTypeOf(b.v), bits, 0);
        v_in = zf_cg_icmp(cg, LLVMIntULT, b.v, v_bits);
        if (arithmetic) v_count = zf_cg_select(cg, v_in, b.v, LLVMConstInt(LLVMTypeOf(b.v), bits - 1, 0));
    }
    v_count = zf_cg_resize(cg, v_count, ty, false);
    if (arithmetic) return LLVMBuildAShr(cg->builder, a.v, v_count, "");
    LLVMValueRef v = op == ZF_OP_SHL ? LLVMBuildShl(cg->builder, a.v, v_count, "") : LLVMBuildLShr(cg->builder, a.v, v_count, "");
    return in_range ? v : zf_cg_select(cg, v_in, v, zf_cg_zero(cg, a.type));
}

// ---- Comparison -----------------------------------------------------------------------------------------------

// The first bytes that differ, as their difference (i64); 0 where the first v_count are the same.
static LLVMValueRef byte_order(zf_cg *cg, LLVMValueRef v_a, LLVMValueRef v_b, LLVMValueRef v_count) {
    LLVMValueRef v_order = zf_cg_alloca(cg, cg->ty_i64, "order");
    LLVMBuildStore(cg->builder, zf_cg_i64(cg, 0), v_order);
    zf_cg_loop loop;
    zf_cg_loop_begin(cg, &loop, zf_cg_i64(cg, 0), v_count, "compare");
    LLVMValueRef v_from_a = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, v_a, loop.v_i), 1);
    LLVMValueRef v_from_b = zf_cg_load(cg, cg->ty_i8, zf_cg_at(cg, cg->ty_i8, v_b, loop.v_i), 1);
    LLVMValueRef v = zf_cg_sub(cg, zf_cg_resize(cg, v_from_a, cg->ty_i64, false), zf_cg_resize(cg, v_from_b, cg->ty_i64, false));
    LLVMBuildStore(cg->builder, v, v_order);
    LLVMBasicBlockRef bb_same = zf_cg_block(cg, "same");
    zf_cg_cond_br(cg, zf_cg_icmp(cg, LLVMIntEQ, v, zf_cg_i64(cg, 0)), bb_same, loop.bb_end);
    zf_cg_enter(cg, bb_same);
    zf_cg_loop_end(cg, &loop);
    return LLVMBuildLoad2(cg->builder, cg->ty_i64, v_order, "");
}

// Strings in a kernel, which may stand in a module: of C's functions those may call memcmp, on GPUs none. Below 0, 0, above 0
// (i64).
static LLVMValueRef text_order(zf_cg *cg, const zf_cg_value *a, const zf_cg_value *b) {
    LLVMValueRef v_shorter = zf_cg_umin(cg, a->seq.v_length, b->seq.v_length), v_bytes;
    LLVMValueRef v_args[3] = {zf_cg_text_pointer(cg, &a->seq), zf_cg_text_pointer(cg, &b->seq), v_shorter};
    if (cg->target->simt != NULL)
        v_bytes = byte_order(cg, v_args[0], v_args[1], v_shorter);
    else
        v_bytes = zf_cg_resize(cg, zf_cg_call(cg, "memcmp", cg->ty_i32, v_args, 3), cg->ty_i64, true);
    LLVMValueRef v_lengths = zf_cg_sub(cg, a->seq.v_length, b->seq.v_length); // each below 2^32
    return zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntEQ, v_bytes, zf_cg_i64(cg, 0)), v_lengths, v_bytes);
}

LLVMValueRef zf_cg_equal(zf_cg *cg, const zf_cg_value *a, const zf_cg_value *b, bool by_bits) {
    LLVMValueRef v;
    if (a->type.kind == ZF_K_STRING && cg->target != NULL) {
        v = zf_cg_icmp(cg, LLVMIntEQ, text_order(cg, a, b), zf_cg_i64(cg, 0));
    } else if (a->type.kind == ZF_K_STRING) {
        LLVMValueRef v_args[4] = {zf_cg_text_pointer(cg, &a->seq), a->seq.v_length, zf_cg_text_pointer(cg, &b->seq),
                                  b->seq.v_length};
        v = zf_cg_icmp(cg, LLVMIntNE, zf_cg_call(cg, "zf_cg_text_equal", cg->ty_i64, v_args, 4), zf_cg_i64(cg, 0));
    } else if (zf_kind_is_float(a->type.kind)) {
        LLVMTypeRef ty = a->type.kind == ZF_K_F32 ? cg->ty_i32 : cg->ty_i64;
        v = by_bits ? zf_cg_icmp(cg, LLVMIntEQ, LLVMBuildBitCast(cg->builder, a->v, ty, ""),
                                 LLVMBuildBitCast(cg->builder, b->v, ty, ""))
                    : LLVMBuildFCmp(cg->builder, LLVMRealOEQ, a->v, b->v, "");
    } else {
        v = zf_cg_icmp(cg, LLVMIntEQ, a->v, b->v);
    }
    if (!a->type.nullable) return v;
    // Both null, or both valid and equal. The value beside a null is 0 by construction, so it may be compared anyway.
    return zf_cg_and(cg, zf_cg_icmp(cg, LLVMIntEQ, a->v_valid, b->v_valid), zf_cg_or(cg, v, zf_cg_not(cg, a->v_valid)));
}

static LLVMValueRef compare(zf_cg *cg, zf_op op, zf_cg_value a, zf_cg_value b, bool by_bits) {
    if (op == ZF_OP_EQ) return zf_cg_equal(cg, &a, &b, by_bits);
    if (op == ZF_OP_NE) return zf_cg_not(cg, zf_cg_equal(cg, &a, &b, by_bits));
    if (a.type.kind == ZF_K_STRING) {
        LLVMValueRef v_args[4] = {zf_cg_text_pointer(cg, &a.seq), a.seq.v_length, zf_cg_text_pointer(cg, &b.seq), b.seq.v_length};
        LLVMValueRef v_order =
            cg->target != NULL ? text_order(cg, &a, &b) : zf_cg_call(cg, "zf_cg_text_order", cg->ty_i64, v_args, 4);
        a = zf_cg_scalar(zf_type_of(ZF_K_I64), v_order);
        b = zf_cg_scalar(a.type, zf_cg_i64(cg, 0));
    }
    static const LLVMIntPredicate unsigned_of[] = {LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    static const LLVMIntPredicate signed_of[] = {LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMRealPredicate real_of[] = {LLVMRealOLT, LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    unsigned row = (unsigned)(op - ZF_OP_LT);
    if (zf_kind_is_float(a.type.kind)) return LLVMBuildFCmp(cg->builder, real_of[row], a.v, b.v, "");
    return zf_cg_icmp(cg, zf_kind_is_signed(a.type.kind) ? signed_of[row] : unsigned_of[row], a.v, b.v);
}

// ---- Division of floats ---------------------------------------------------------------------------------------

// Y of y = Y * 2^b, Y odd; y is a positive normal number.
static uint64_t odd_part(double y) {
    int exponent;
    uint64_t odd = (uint64_t)ldexp(frexp(y, &exponent), 53);
    while (odd % 2 == 0) odd /= 2;
    return odd;
}

// x / y for a known y and an x that was an integer, where multiplying and adding in one rounding is quick and dividing is not.
// Nothing overflows or becomes subnormal: 1 <= |x| < 2^64 (or x is 0) and y is of moderate size.
//
// x * h + x * l, where h + l is 1 / y, has an error of less than 2^-104 of it before it is rounded. It is therefore rounded as
// the quotient is, unless a number halfway between two others lies as near. But with x = X * 2^a, X of 53 bits, and y = Y *
// 2^b, Y odd, a number halfway is M * 2^c, M odd and of 54 bits; X * 2^s and M * Y differ by 1 at least (they are not the same,
// since M * Y is odd and longer than X). No such number is nearer than 2^-54 / Y of the quotient, and Y may have 48 bits
// (Brisebarre, Muller, "Correctly rounded multiplication by arbitrary precision constants", IEEE Transactions on Computers 57,
// 2008).
//
// For any other y: with r = 1 / y rounded to nearest and q within one unit in the last place of the quotient, q + (x - q * y) * r
// is the quotient rounded to nearest (Markstein 1990): the first step makes q so good, the second the result.
static bool divide_by_known(zf_cg *cg, zf_cg_value a, zf_cg_value b, LLVMValueRef *out) {
    enum { MOST_BITS = 48 };
    const zf_cg_target *target = cg->target;
    if (target == NULL || target->simt == NULL || a.type.kind != ZF_K_F64 || !LLVMIsAConstantFP(b.v)) return false;
    if (!LLVMIsASIToFPInst(a.v) && !LLVMIsAUIToFPInst(a.v)) return false;
    LLVMBool lossy;
    double y = LLVMConstRealGetDouble(b.v, &lossy);
    double size = y < 0 ? -y : y, r = 1.0 / y;
    if (lossy || !(size > 1e-100 && size < 1e100)) return false;
    LLVMTypeRef ty = cg->ty_f64;
    LLVMValueRef v_r = LLVMConstReal(ty, r);
    if (y > 0 && odd_part(y) >> MOST_BITS == 0) { // of a negative one 0 would lose its sign
        LLVMValueRef v_low = LLVMConstReal(ty, fma(-y, r, 1.0) / y);
        LLVMValueRef v_sum[3] = {a.v, v_r, LLVMBuildFMul(cg->builder, a.v, v_low, "")};
        *out = zf_cg_intrinsic(cg, "llvm.fma", &ty, 1, v_sum, 3);
        return true;
    }
    LLVMValueRef v_minus_y = LLVMConstReal(ty, -y), v_q = LLVMBuildFMul(cg->builder, a.v, v_r, "");
    for (int step = 0; step < 2; step++) {
        LLVMValueRef v_left[3] = {v_q, v_minus_y, a.v};
        LLVMValueRef v_rest = zf_cg_intrinsic(cg, "llvm.fma", &ty, 1, v_left, 3);
        LLVMValueRef v_better[3] = {v_rest, v_r, v_q};
        v_q = zf_cg_intrinsic(cg, "llvm.fma", &ty, 1, v_better, 3);
    }
    *out = v_q;
    return true;
}

// ---- Binary ---------------------------------------------------------------------------------------------------

zf_cg_value zf_cg_binary(zf_cg *cg, zf_cg_frame *frame, const zf_cg_operation *operation, zf_cg_value a, zf_cg_value b) {
    LLVMBuilderRef builder = cg->builder;
    zf_op op = operation->op;
    if (!a.type.nullable && a.type.kind != ZF_K_STRING && (a.v == NULL || b.v == NULL)) {
        zf_cg_unsupported(cg, operation->span, "this operation on %s is not lowered", zf_kind_name(a.type.kind));
        return zf_cg_zero_value(cg, a.type);
    }
    bool real = zf_kind_is_float(a.type.kind);
    LLVMValueRef v_quotient;
    switch (op) {
    case ZF_OP_EQ:
    case ZF_OP_NE:
    case ZF_OP_LT:
    case ZF_OP_LE:
    case ZF_OP_GT:
    case ZF_OP_GE:
        if (a.type.kind == ZF_K_STRING) {
            zf_cg_bytes_work(cg, frame, zf_cg_umin(cg, a.seq.v_length, b.seq.v_length), operation->span);
        }
        return zf_cg_scalar(zf_type_of(ZF_K_BOOL), compare(cg, op, a, b, a.type.nullable));
    case ZF_OP_OR: return zf_cg_scalar(a.type, LLVMBuildOr(builder, a.v, b.v, ""));
    case ZF_OP_XOR: return zf_cg_scalar(a.type, LLVMBuildXor(builder, a.v, b.v, ""));
    case ZF_OP_AND: return zf_cg_scalar(a.type, LLVMBuildAnd(builder, a.v, b.v, ""));
    case ZF_OP_SHL:
    case ZF_OP_SHR: return zf_cg_scalar(a.type, shift(cg, operation->right, op, a, b));
    case ZF_OP_ADD:
        return zf_cg_scalar(a.type, real ? LLVMBuildFAdd(builder, a.v, b.v, "") : LLVMBuildAdd(builder, a.v, b.v, ""));
    case ZF_OP_SUB:
        return zf_cg_scalar(a.type, real ? LLVMBuildFSub(builder, a.v, b.v, "") : LLVMBuildSub(builder, a.v, b.v, ""));
    case ZF_OP_MUL:
        return zf_cg_scalar(a.type, real ? LLVMBuildFMul(builder, a.v, b.v, "") : LLVMBuildMul(builder, a.v, b.v, ""));
    case ZF_OP_DIV:
        if (real && divide_by_known(cg, a, b, &v_quotient)) return zf_cg_scalar(a.type, v_quotient);
        return zf_cg_scalar(a.type, real ? LLVMBuildFDiv(builder, a.v, b.v, "") : divide(cg, frame, operation, a, b));
    case ZF_OP_REM:
        if (!real) return zf_cg_scalar(a.type, divide(cg, frame, operation, a, b));
        break;
    default: break;
    }
    zf_cg_unsupported(cg, operation->span, "this operation on %s is not lowered", zf_kind_name(a.type.kind));
    return zf_cg_zero_value(cg, a.type);
}

zf_cg_value zf_cg_select_value(zf_cg *cg, LLVMValueRef v_if, const zf_cg_value *a, const zf_cg_value *b) {
    zf_cg_value value = {.type = a->type};
    if (a->type.nullable) value.v_valid = zf_cg_select(cg, v_if, a->v_valid, b->v_valid);
    if (a->type.kind == ZF_K_STRING) {
        value.seq = (zf_cg_seq){.kind = ZF_CG_SEQ_MEMORY, .type = zf_type_of(ZF_K_U8)};
        value.seq.v_data = zf_cg_select(cg, v_if, zf_cg_text_pointer(cg, &a->seq), zf_cg_text_pointer(cg, &b->seq));
        value.seq.v_length = zf_cg_select(cg, v_if, a->seq.v_length, b->seq.v_length);
    } else if (a->type.kind != ZF_K_NONE) {
        value.v = zf_cg_select(cg, v_if, a->v, b->v);
    }
    return value;
}

// Without LLVM's conversion of unsigned integers: where what is converted was sign-extended, the SLP vectoriser of LLVM 19
// converts the narrow integer instead, as if it were unsigned, too. Half of a large number, its last bit kept by or, rounds as
// all of it.
static LLVMValueRef unsigned_to_float(zf_cg *cg, LLVMValueRef v, LLVMTypeRef ty) {
    LLVMBuilderRef builder = cg->builder;
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(v));
    if (bits < 64) return LLVMBuildSIToFP(builder, zf_cg_resize(cg, v, bits < 32 ? cg->ty_i32 : cg->ty_i64, false), ty, "");
    LLVMValueRef v_one = zf_cg_i64(cg, 1), v_large = zf_cg_icmp(cg, LLVMIntSLT, v, zf_cg_i64(cg, 0));
    LLVMValueRef v_half = zf_cg_or(cg, LLVMBuildLShr(builder, v, v_one, ""), zf_cg_and(cg, v, v_one));
    v_half = LLVMBuildSIToFP(builder, v_half, ty, "");
    return zf_cg_select(cg, v_large, LLVMBuildFAdd(builder, v_half, v_half, ""), LLVMBuildSIToFP(builder, v, ty, ""));
}

// ---- Conversion -----------------------------------------------------------------------------------------------

static LLVMValueRef convert(zf_cg *cg, LLVMValueRef v, zf_kind from, zf_type to) {
    LLVMTypeRef ty = zf_cg_type(cg, to);
    LLVMBuilderRef builder = cg->builder;
    if (from == to.kind) return v;
    if (to.kind == ZF_K_BOOL) {
        return zf_kind_is_float(from) ? LLVMBuildFCmp(builder, LLVMRealUNE, v, LLVMConstNull(LLVMTypeOf(v)), "")
                                      : zf_cg_icmp(cg, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)));
    }
    if (zf_kind_is_float(from)) {
        if (zf_kind_is_float(to.kind)) {
            return to.kind == ZF_K_F64 ? LLVMBuildFPExt(builder, v, ty, "") : LLVMBuildFPTrunc(builder, v, ty, "");
        }
        LLVMTypeRef types[2] = {ty, LLVMTypeOf(v)}; // saturates; NaN gives 0
        return zf_cg_intrinsic(cg, zf_kind_is_signed(to.kind) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &v, 1);
    }
    bool is_signed = zf_kind_is_signed(from);
    if (zf_kind_is_float(to.kind)) return is_signed ? LLVMBuildSIToFP(builder, v, ty, "") : unsigned_to_float(cg, v, ty);
    return zf_cg_resize(cg, v, ty, is_signed);
}

zf_cg_value zf_cg_cast(zf_cg *cg, zf_span span, zf_cg_value a, zf_type to) {
    zf_cg_value value = a;
    value.type = to;
    if (a.type.kind == to.kind) {
        if (to.nullable && !a.type.nullable) value.v_valid = zf_cg_i1(cg, true);
        return value;
    }
    if (a.type.kind == ZF_K_STRING || to.kind == ZF_K_STRING || a.is_seq) {
        zf_cg_unsupported(cg, span, "no conversion from %s to %s", zf_kind_name(a.type.kind), zf_kind_name(to.kind));
        return zf_cg_zero_value(cg, to);
    }
    value.v = convert(cg, a.v, a.type.kind, to);
    if (to.nullable && !a.type.nullable) value.v_valid = zf_cg_i1(cg, true);
    return value;
}

// ---- Primitives -----------------------------------------------------------------------------------------------

static LLVMValueRef count_bits(zf_cg *cg, const char *intrinsic, LLVMValueRef v, bool zero_flag) {
    LLVMTypeRef ty = LLVMTypeOf(v);
    LLVMValueRef v_args[2] = {v, zf_cg_i1(cg, false)};
    return zf_cg_intrinsic(cg, intrinsic, &ty, 1, v_args, zero_flag ? 2 : 1);
}

/// Position of the v_nth set bit (there is one) by halving: six steps of population counts, no branch.
static LLVMValueRef nth_bit(zf_cg *cg, LLVMValueRef v_word, LLVMValueRef v_nth) {
    LLVMValueRef v_at = zf_cg_i64(cg, 0);
    for (unsigned half = 32; half > 0; half /= 2) {
        LLVMValueRef v_low = zf_cg_and(cg, v_word, zf_cg_i64(cg, (1ull << half) - 1));
        LLVMValueRef v_ones = count_bits(cg, "llvm.ctpop", v_low, false);
        LLVMValueRef v_above = zf_cg_icmp(cg, LLVMIntUGE, v_nth, v_ones);
        v_nth = zf_cg_select(cg, v_above, zf_cg_sub(cg, v_nth, v_ones), v_nth);
        v_word = zf_cg_select(cg, v_above, LLVMBuildLShr(cg->builder, v_word, zf_cg_i64(cg, half), ""), v_low);
        v_at = zf_cg_select(cg, v_above, zf_cg_add(cg, v_at, zf_cg_i64(cg, half)), v_at);
    }
    return v_at;
}

static LLVMValueRef smaller_or_larger(zf_cg *cg, zf_prim prim, zf_cg_value a, zf_cg_value b) {
    return zf_cg_reduce_combine(cg, prim == ZF_P_MIN ? ZF_RED_MIN : ZF_RED_MAX, a.type, a.v, b.v);
}

zf_cg_value zf_cg_prim(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr) {
    zf_cg_value a = zf_cg_expr(cg, frame, expr->a);
    zf_cg_value b = expr->b != NULL ? zf_cg_expr(cg, frame, expr->b) : (zf_cg_value){.v = NULL};
    LLVMTypeRef ty_result = zf_cg_type(cg, expr->type);
    LLVMValueRef v = NULL;
    if (a.v == NULL) {
        zf_cg_unsupported(cg, expr->span, "this primitive is not lowered for %s", zf_kind_name(a.type.kind));
        return zf_cg_zero_value(cg, expr->type);
    }
    switch (expr->prim) {
    case ZF_P_MIN:
    case ZF_P_MAX: v = smaller_or_larger(cg, expr->prim, a, b); break;
    case ZF_P_BIT_WIDTH: {
        v = count_bits(cg, "llvm.ctlz", a.v, true);
        v = zf_cg_sub(cg, LLVMConstInt(LLVMTypeOf(v), zf_kind_bits(a.type.kind), 0), v);
        v = zf_cg_resize(cg, v, ty_result, false);
        break;
    }
    case ZF_P_POPCOUNT: v = zf_cg_resize(cg, count_bits(cg, "llvm.ctpop", a.v, false), ty_result, false); break;
    case ZF_P_CLZ: v = zf_cg_resize(cg, count_bits(cg, "llvm.ctlz", a.v, true), ty_result, false); break;
    case ZF_P_CTZ: v = zf_cg_resize(cg, count_bits(cg, "llvm.cttz", a.v, true), ty_result, false); break;
    case ZF_P_NTH_BIT: {
        LLVMValueRef v_word = zf_cg_resize(cg, a.v, cg->ty_i64, false);
        LLVMValueRef v_nth = zf_cg_resize(cg, b.v, cg->ty_i64, false);
        LLVMValueRef v_ok = NULL;
        if (!expr->proved) {
            v_ok = zf_cg_icmp(cg, LLVMIntULT, v_nth, count_bits(cg, "llvm.ctpop", v_word, false));
            v_ok = zf_cg_check(cg, frame->env, v_ok, 8, expr->span, expr);
        }
        v = nth_bit(cg, v_word, v_nth);
        if (v_ok != NULL) v = zf_cg_select(cg, v_ok, v, zf_cg_i64(cg, 0));
        v = zf_cg_resize(cg, v, ty_result, false);
        break;
    }
    case ZF_P_ROUND: {
        LLVMTypeRef ty = LLVMTypeOf(a.v);
        v = zf_kind_is_float(a.type.kind) ? zf_cg_intrinsic(cg, "llvm.round", &ty, 1, &a.v, 1) : a.v;
        break;
    }
    case ZF_P_BITS_OF:
        v = zf_kind_is_float(a.type.kind) ? LLVMBuildBitCast(cg->builder, a.v, ty_result, "")
                                          : zf_cg_resize(cg, a.v, ty_result, false);
        break;
    case ZF_P_VALUE_OF:
        if (zf_kind_is_float(expr->type.kind)) {
            LLVMTypeRef ty = expr->type.kind == ZF_K_F32 ? cg->ty_i32 : cg->ty_i64;
            v = LLVMBuildBitCast(cg->builder, zf_cg_resize(cg, a.v, ty, false), ty_result, "");
        } else if (expr->type.kind == ZF_K_BOOL && a.type.kind != ZF_K_BOOL) {
            v = zf_cg_icmp(cg, LLVMIntNE, a.v, zf_cg_zero(cg, a.type));
        } else {
            v = zf_cg_resize(cg, a.v, ty_result, false);
        }
        break;
    case ZF_P_COUNT: return zf_cg_zero_value(cg, expr->type); // the verifier refuses it
    }
    return zf_cg_scalar(expr->type, v);
}

// Short forms of what every lowering emits. Inline, so that a use reads as the instruction it makes.
#ifndef ZF_CODEGEN_CG_EMIT_H
#define ZF_CODEGEN_CG_EMIT_H

#include "codegen/body/cg.h"
#include "codegen/body/cg_put_off.h"

static inline LLVMValueRef zf_cg_i64(zf_cg *cg, uint64_t value) { return LLVMConstInt(cg->ty_i64, value, 0); }
static inline LLVMValueRef zf_cg_i32(zf_cg *cg, uint32_t value) { return LLVMConstInt(cg->ty_i32, value, 0); }
static inline LLVMValueRef zf_cg_i1(zf_cg *cg, bool value) { return LLVMConstInt(cg->ty_i1, value, 0); }

static inline LLVMValueRef zf_cg_add(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAdd(cg->builder, a, b, ""); }
static inline LLVMValueRef zf_cg_sub(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildSub(cg->builder, a, b, ""); }
static inline LLVMValueRef zf_cg_mul(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildMul(cg->builder, a, b, ""); }
static inline LLVMValueRef zf_cg_and(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildAnd(cg->builder, a, b, ""); }
static inline LLVMValueRef zf_cg_or(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) { return LLVMBuildOr(cg->builder, a, b, ""); }
static inline LLVMValueRef zf_cg_not(zf_cg *cg, LLVMValueRef a) { return LLVMBuildNot(cg->builder, a, ""); }
static inline LLVMValueRef zf_cg_icmp(zf_cg *cg, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildICmp(cg->builder, p, a, b, "");
}
static inline LLVMValueRef zf_cg_select(zf_cg *cg, LLVMValueRef v_if, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(cg->builder, v_if, a, b, "");
}
/// Smaller of two unsigned values.
static inline LLVMValueRef zf_cg_umin(zf_cg *cg, LLVMValueRef a, LLVMValueRef b) {
    return zf_cg_select(cg, zf_cg_icmp(cg, LLVMIntULT, a, b), a, b);
}
/// The last of v_count (i64) indices; 0 where there is none.
static inline LLVMValueRef zf_cg_last(zf_cg *cg, LLVMValueRef v_count) {
    LLVMValueRef v_some = zf_cg_icmp(cg, LLVMIntNE, v_count, LLVMConstNull(cg->ty_i64));
    return LLVMBuildSub(cg->builder, v_count, LLVMBuildZExt(cg->builder, v_some, cg->ty_i64, ""), "");
}
/// Integer to another width, zero or sign extended.
static inline LLVMValueRef zf_cg_resize(zf_cg *cg, LLVMValueRef v, LLVMTypeRef ty, bool is_signed) {
    return LLVMBuildIntCast2(cg->builder, v, ty, is_signed, "");
}

/// An unsigned integer to 64 bits.
static inline LLVMValueRef zf_cg_wide(zf_cg *cg, LLVMValueRef v) { return zf_cg_resize(cg, v, cg->ty_i64, false); }
/// The value of a slot, which is zf_cg_alloca's.
static inline LLVMValueRef zf_cg_get(zf_cg *cg, LLVMValueRef v_slot) {
    return LLVMBuildLoad2(cg->builder, LLVMGetAllocatedType(v_slot), v_slot, "");
}

/// Leaves where a check that was put off does not hold.
void zf_cg_settle_all(zf_cg *cg);
static inline void zf_cg_settle(zf_cg *cg) {
    if (cg->put_off != NULL && cg->put_off->v_ok != NULL) zf_cg_settle_all(cg);
}

static inline LLVMBasicBlockRef zf_cg_block(zf_cg *cg, const char *name) {
    return LLVMAppendBasicBlockInContext(cg->context, cg->function, name);
}
/// Settles, and returns the block that is being built: what is built next stands in it.
static inline LLVMBasicBlockRef zf_cg_here(zf_cg *cg) {
    zf_cg_settle(cg);
    return LLVMGetInsertBlock(cg->builder);
}
static inline void zf_cg_enter(zf_cg *cg, LLVMBasicBlockRef bb) { LLVMPositionBuilderAtEnd(cg->builder, bb); }
static inline void zf_cg_br(zf_cg *cg, LLVMBasicBlockRef bb) {
    zf_cg_settle(cg);
    LLVMBuildBr(cg->builder, bb);
}
static inline void zf_cg_cond_br(zf_cg *cg, LLVMValueRef v_if, LLVMBasicBlockRef bb_then, LLVMBasicBlockRef bb_else) {
    zf_cg_settle(cg);
    LLVMBuildCondBr(cg->builder, v_if, bb_then, bb_else);
}
static inline LLVMValueRef zf_cg_phi2(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef a, LLVMBasicBlockRef bb_a, LLVMValueRef b,
                                      LLVMBasicBlockRef bb_b) {
    LLVMValueRef v_phi = LLVMBuildPhi(cg->builder, ty, "");
    LLVMAddIncoming(v_phi, &a, &bb_a, 1);
    LLVMAddIncoming(v_phi, &b, &bb_b, 1);
    return v_phi;
}

/// Says that a load from global memory would always load the same (cg_context.c).
void zf_cg_mark_same(zf_cg *cg, LLVMValueRef v_load, LLVMValueRef v_pointer);

static inline LLVMValueRef zf_cg_load(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_pointer, unsigned align) {
    zf_cg_settle(cg);
    LLVMValueRef v = LLVMBuildLoad2(cg->builder, ty, v_pointer, "");
    LLVMSetAlignment(v, align);
    if (cg->same_again) zf_cg_mark_same(cg, v, v_pointer);
    return v;
}
static inline LLVMValueRef zf_cg_store(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_pointer, unsigned align) {
    zf_cg_settle(cg);
    LLVMValueRef v_store = LLVMBuildStore(cg->builder, v, v_pointer);
    LLVMSetAlignment(v_store, align);
    return v_store;
}
/// Pointer to element `v_index` (i64) of type `ty`.
static inline LLVMValueRef zf_cg_at(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_pointer, LLVMValueRef v_index) {
    return LLVMBuildInBoundsGEP2(cg->builder, ty, v_pointer, &v_index, 1, "");
}
/// The same where the pointer may lie outside its object, which `inbounds` would make poison.
static inline LLVMValueRef zf_cg_at_sink(zf_cg *cg, LLVMTypeRef ty, LLVMValueRef v_pointer, LLVMValueRef v_index) {
    return LLVMBuildGEP2(cg->builder, ty, v_pointer, &v_index, 1, "");
}
static inline LLVMValueRef zf_cg_byte_at(zf_cg *cg, LLVMValueRef v_pointer, uint64_t offset) {
    return zf_cg_at(cg, cg->ty_i8, v_pointer, zf_cg_i64(cg, offset));
}

/// A slot in the entry block of the function being built.
LLVMValueRef zf_cg_alloca(zf_cg *cg, LLVMTypeRef ty, const char *name);
/// Calls an intrinsic by name ("llvm.ctlz"), overloaded on `types`.
LLVMValueRef zf_cg_intrinsic(zf_cg *cg, const char *name, LLVMTypeRef *types, size_t type_count, LLVMValueRef *arguments,
                             unsigned argument_count);
/// Declares (once) and calls a C function of the runtime support; `returns` and the arguments' types make its type.
LLVMValueRef zf_cg_call(zf_cg *cg, const char *name, LLVMTypeRef returns, LLVMValueRef *arguments, unsigned argument_count);

/// Says of the conditional branch that was just built, which ends the block at hand, how it nearly always goes.
void zf_cg_expect(zf_cg *cg, bool holds);

/// A counted loop in canonical form: for v_i in v_begin..v_end (u64, half open; nothing when begin >= end).
typedef struct zf_cg_loop {
    LLVMBasicBlockRef bb_body, bb_next, bb_end;
    LLVMValueRef v_i;
} zf_cg_loop;
void zf_cg_loop_begin(zf_cg *cg, zf_cg_loop *loop, LLVMValueRef v_begin, LLVMValueRef v_end, const char *name);
/// Ends the body: goes on with the next index, and stands behind the loop afterwards. `continue` inside branches to bb_next.
void zf_cg_loop_end(zf_cg *cg, zf_cg_loop *loop);

#endif

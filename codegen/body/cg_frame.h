// One evaluation of a body: where its locals are, and where control goes. Only for the files that lower bodies.
#ifndef ZF_CODEGEN_CG_FRAME_H
#define ZF_CODEGEN_CG_FRAME_H

#include "codegen/body/cg.h"

typedef enum zf_cg_slot_kind {
    ZF_CG_UNBOUND, ///< not reached yet: an immutable local is looked through
    ZF_CG_VALUE,   ///< `value`, which dominates every use (or was computed in block `bb`, when `looked_through`)
    ZF_CG_SCALAR,  ///< a variable: v_slot, and what a nullable value or a string needs beside it
    ZF_CG_ARRAY,   ///< v_slot: the elements; `together`: those of a warp's lanes
    ZF_CG_GROWING, ///< `growing`: an encoder's buffer
} zf_cg_slot_kind;

/// Storage of a scalar variable.
typedef struct zf_cg_variable {
    zf_type type;
    LLVMValueRef v_slot, v_valid_slot, v_length_slot; ///< string: v_slot is the pointer
} zf_cg_variable;

typedef struct zf_cg_slot {
    zf_cg_slot_kind kind;
    bool looked_through, together;
    LLVMBasicBlockRef bb;
    LLVMValueRef v_guard;
    zf_cg_value value;
    zf_cg_variable variable;
    struct zf_cg_buffer *growing; ///< cg_encode.h
} zf_cg_slot;

/// Where RETURN goes: the innermost inlined call, or the body itself.
typedef struct zf_cg_return {
    LLVMBasicBlockRef bb;
    zf_cg_variable result; ///< type ZF_K_NONE: no value
    LLVMValueRef v_guard;  ///< slot (i1) of the guard to go on with, or NULL
} zf_cg_return;

/// A loop `for v in sequence` whose elements lie still: any of them may be read at any time.
typedef struct zf_cg_each {
    const zf_local *local; ///< v; NULL: no such loop
    zf_cg_seq seq;
    LLVMValueRef v_i, v_length;
} zf_cg_each;

struct zf_cg_frame {
    zf_cg_env *env;
    const zf_body *body;
    zf_cg_slot *slots; ///< by local id
    uint32_t slot_count;
    LLVMBasicBlockRef bb_break, bb_continue;
    zf_cg_return *to;
    LLVMValueRef v_row; ///< encode: row of the block that the innermost loop is at, or NULL
    zf_cg_each each;    ///< the innermost loop over a sequence
};

/// Between them a body is evaluated; what it keeps in local arrays ends with it.
void zf_cg_arrays_begin(zf_cg *cg);
void zf_cg_arrays_end(zf_cg *cg);
zf_cg_frame zf_cg_frame_make(zf_cg *cg, zf_cg_env *env, const zf_body *body);
zf_cg_slot *zf_cg_slot_of(zf_cg *cg, zf_cg_frame *frame, const zf_local *local);

zf_cg_variable zf_cg_variable_make(zf_cg *cg, zf_type type, const char *name);
zf_cg_value zf_cg_variable_load(zf_cg *cg, const zf_cg_variable *variable);
void zf_cg_variable_store(zf_cg *cg, const zf_cg_variable *variable, const zf_cg_value *value);

/// Statements, then a value, with RETURNs inside; `type` is the result's.
zf_cg_value zf_cg_run(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmts, const zf_expr *value, bool returns_inside,
                      zf_type type);
/// The body of a loop, whose break and continue go to these blocks.
void zf_cg_loop_body(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt, LLVMBasicBlockRef bb_break,
                     LLVMBasicBlockRef bb_continue);
/// An ASSIGN statement.
void zf_cg_assign(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
/// Branches to where RETURN goes, with the guard as it is.
void zf_cg_leave(zf_cg *cg, const zf_cg_return *to);
/// Starts an unreachable block to hold what follows a statement that leaves.
void zf_cg_unreachable_block(zf_cg *cg);

// ---- Parts of zf_cg_expr, by subject ----
zf_cg_value zf_cg_unary(zf_cg *cg, const zf_expr *expr, zf_cg_value a); // cg_arith.c
/// The operands of a binary operation: from a BINARY expression, or from `place op= value`.
typedef struct zf_cg_operation {
    zf_op op;
    zf_span span;
    const zf_expr *at;        ///< the expression; NULL for a statement
    zf_interval right;        ///< of the second operand
    bool proved, no_overflow; ///< division: the divisor is not 0; MIN / -1 cannot occur
} zf_cg_operation;
zf_cg_value zf_cg_binary(zf_cg *cg, zf_cg_frame *frame, const zf_cg_operation *operation, zf_cg_value a, zf_cg_value b);
zf_cg_value zf_cg_cast(zf_cg *cg, zf_span span, zf_cg_value a, zf_type to);
zf_cg_value zf_cg_prim(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);
zf_cg_value zf_cg_select_value(zf_cg *cg, LLVMValueRef v_if, const zf_cg_value *a, const zf_cg_value *b);
/// a == b, comparing bits of floats when `by_bits`; strings and nullable values as a whole.
LLVMValueRef zf_cg_equal(zf_cg *cg, const zf_cg_value *a, const zf_cg_value *b, bool by_bits);

zf_cg_value zf_cg_index(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr); // cg_access.c
/// v < v_limit (i64 both): where v is known to be a number of 32 bits, and the kernel wants it (zf_cg.narrows), by comparing so
/// many.
LLVMValueRef zf_cg_below(zf_cg *cg, LLVMValueRef v, LLVMValueRef v_limit);
zf_cg_value zf_cg_slice(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);
zf_cg_value zf_cg_bits(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);

// ---- Bits that lie near a word that data say (cg_places.c) ----

/// Bit v_near (i32) of those that begin with word v_word (i64), of 32 bits, of a stream.
struct zf_cg_bit_place {
    LLVMValueRef v_word, v_near;
    LLVMValueRef v_last; ///< word (i32) of the stream's end
    LLVMValueRef v_room; ///< i32: bits from there on, or from v_word, up to a limit far beyond v_near
};
/// Takes the place of bits (a natural) apart. False, with nothing emitted: it has no such parts.
bool zf_cg_bit_place_of(zf_cg *cg, zf_cg_frame *frame, const zf_expr *at, zf_cg_bit_place *out);
/// Whether the place of some bits that an expression reads has them.
bool zf_cg_bit_place_in(const zf_expr *expr);
/// Whether v_count (u64, at most 64) bits lie there in a stream of v_total (i1).
LLVMValueRef zf_cg_bit_place_fits(zf_cg *cg, zf_cg_bit_place *place, LLVMValueRef v_total, LLVMValueRef v_count);
/// Moves it into the stream, or to its end, where it is not; after zf_cg_bit_place_fits.
void zf_cg_bit_place_clamp(zf_cg *cg, zf_cg_bit_place *place);

/// Makes a check count only under the guard; returns what the caller must select a harmless operand by, or NULL.
LLVMValueRef zf_cg_check(zf_cg *cg, zf_cg_env *env, LLVMValueRef v_ok, unsigned violation, zf_span span, const zf_expr *at);
/// Whether an element lies in its port's range, whose bounds may name params (i1), and *v_safe, a value that does; NULL: any
/// does.
LLVMValueRef zf_cg_in_range(zf_cg *cg, zf_cg_env *env, const zf_port *port, zf_cg_value value, LLVMValueRef *v_safe);
/// A string as pointer (LLVM value) and length; only of strings in memory.
LLVMValueRef zf_cg_text_pointer(zf_cg *cg, const zf_cg_seq *seq);

/// The values of a binder: v_lo..v_hi, or v_lo..=v_hi. Under a guard that does not hold there are none.
typedef struct zf_cg_range {
    LLVMValueRef v_lo, v_hi;
    bool inclusive;
} zf_cg_range;
typedef struct zf_cg_range_loop {
    LLVMBasicBlockRef bb_next, bb_end;
    LLVMValueRef v_i, v_guard;
} zf_cg_range_loop;
/// Counts the iterations of a loop that is about to begin and has no other way out.
void zf_cg_range_work(zf_cg *cg, const zf_cg_frame *frame, const zf_cg_range *range, zf_span span);
/// Counts bytes that are set or compared at once: 64 of them as an iteration.
void zf_cg_bytes_work(zf_cg *cg, const zf_cg_frame *frame, LLVMValueRef v_bytes, zf_span span);
zf_cg_range zf_cg_range_make(zf_cg *cg, zf_cg_frame *frame, const zf_binder *binder); // cg_stmt.c
/// Lowers a loop, without asking the body's environment first.
void zf_cg_loop_as_written(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
/// Lowers a loop over a range or a sequence, without asking the body's environment first.
void zf_cg_loop_over(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
void zf_cg_range_begin(zf_cg *cg, zf_cg_range_loop *loop, const zf_cg_range *range, const char *name);
void zf_cg_range_end(zf_cg *cg, zf_cg_range_loop *loop);

zf_cg_value zf_cg_reduce(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr); // cg_reduce.c
zf_cg_value zf_cg_minmax(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);

/// The effects of evaluating an expression speculatively.
typedef enum zf_cg_arm {
    ZF_CG_ARM_PLAIN,   ///< nothing: arithmetic on values at hand
    ZF_CG_ARM_GUARDED, ///< it may read or divide, so operands need the guard
    ZF_CG_ARM_BRANCH,  ///< loops, effects, or more work than a branch costs
} zf_cg_arm;
zf_cg_arm zf_cg_arm_of(const zf_cg_frame *frame, const zf_expr *expr); // cg_expr.c

#endif

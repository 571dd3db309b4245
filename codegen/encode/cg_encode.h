// An encode body as one function `void encode(zf_encode_frame *)`.
#ifndef ZF_CODEGEN_CG_ENCODE_H
#define ZF_CODEGEN_CG_ENCODE_H

#include "codegen/body/cg_frame.h"
#include "codegen/codegen_encode.h"

/// Name of the function in its module.
#define ZF_CG_ENCODE_NAME "encode"

/// Adds the function for the encode body of `inst` to cg->module. cg->failed reports forms that are not lowered.
void zf_cg_encode(zf_cg *cg, const zf_inst *inst);

// ---- For cg_encode*.c ----

/// A buffer while its body runs: what pushes need most is kept in slots that become registers; calls write it back first.
typedef struct zf_cg_buffer {
    zf_type type;
    const zf_port *port;                                          ///< NULL: a local
    bool bitwise;                                                 ///< push_bits is used on it: bits may be pending
    bool only_written;                                            ///< a stream that the body never reads
    bool reserved;                                                ///< a loop made room for all that it pushes
    LLVMValueRef v_struct;                                        ///< the zf_encode_buffer
    LLVMValueRef v_data, v_length, v_capacity, v_pending, v_bits; ///< slots
} zf_cg_buffer;

typedef struct zf_cg_encode_env {
    zf_cg_env env; ///< first: callbacks get a pointer to it
    LLVMValueRef v_frame;
    zf_cg_buffer *streams;  ///< by slot
    zf_cg_variable *params; ///< by slot
    zf_cg_buffer *locals;   ///< by number
    const zf_local **local_of;
    uint32_t local_count;
    LLVMBasicBlockRef bb_stop;                            ///< leaves at once: something failed or was refused
    LLVMValueRef v_work;                                  ///< slot: iterations left
    LLVMValueRef v_hash_a, v_hash_b;                      ///< of the frame's hash
    LLVMValueRef v_values, v_rows, v_validity, v_offsets; ///< the frame's input
} zf_cg_encode_env;

LLVMValueRef zf_cg_frame_field(zf_cg *cg, zf_cg_encode_env *e, size_t offset);
/// Stops with an outcome at a place unless v_ok holds; `row` of the block the frame is at.
void zf_cg_encode_stop_unless(zf_cg *cg, zf_cg_encode_env *e, LLVMValueRef v_ok, zf_encode_outcome outcome, unsigned violation,
                              zf_span span, LLVMValueRef v_row);

void zf_cg_buffer_bind(zf_cg *cg, zf_cg_buffer *buffer, LLVMValueRef v_struct, zf_type type, const char *name);
void zf_cg_buffer_out(zf_cg *cg, const zf_cg_buffer *buffer);   ///< slots to the struct: before a call
void zf_cg_buffer_in(zf_cg *cg, const zf_cg_buffer *buffer);    ///< and back
void zf_cg_buffer_reset(zf_cg *cg, const zf_cg_buffer *buffer); ///< empty again
/// Elements, one that is partly written included; from the chunk's start for `per chunk` streams.
LLVMValueRef zf_cg_buffer_length(zf_cg *cg, const zf_cg_buffer *buffer);
LLVMValueRef zf_cg_buffer_bit_length(zf_cg *cg, const zf_cg_buffer *buffer);
zf_cg_value zf_cg_buffer_sequence(zf_cg *cg, const zf_cg_buffer *buffer);
/// Writes pending bits to memory, so that they can be read; they stay pending.
void zf_cg_buffer_show(zf_cg *cg, const zf_cg_buffer *buffer);
/// Reads the pending bits back: an element among them was assigned.
void zf_cg_buffer_reread(zf_cg *cg, const zf_cg_buffer *buffer);

/// Calls a function of the support with the frame, the buffer and `count` more arguments; stops when it gives 0.
LLVMValueRef zf_cg_buffer_call(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const char *name, LLVMValueRef *v_more,
                               unsigned count, zf_span span);
void zf_cg_buffer_push(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_value *value, zf_span span);
void zf_cg_buffer_push_bits(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, LLVMValueRef v_value, LLVMValueRef v_count,
                            zf_interval count_range, zf_span span);
/// Number of the element with that value, pushed when it is new. u64.
LLVMValueRef zf_cg_buffer_intern(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_value *value,
                                 zf_span span);
/// Prefetches the slot of a later element of the loop. Call it before an element is interned. Does nothing where the later
/// element is not in memory.
void zf_cg_buffer_intern_prefetch(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_each *each);
/// Whether a plain buffer has room for an element.
LLVMValueRef zf_cg_buffer_has_room(zf_cg *cg, const zf_cg_buffer *buffer);
/// Pushes a value to a plain buffer with room where the condition holds, without a branch.
void zf_cg_buffer_push_if(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_if, const zf_cg_value *value);
/// Makes sure that `v_more` elements fit, once and for all of them. u64.
void zf_cg_buffer_reserve(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, LLVMValueRef v_more, zf_span span);
/// Elements by which so many pushes of so many bits lengthen a bitwise buffer at most. u64. The product must be below 2^64, or
/// what would push so often must end before its first push, as a loop does.
LLVMValueRef zf_cg_buffer_bits_room(zf_cg *cg, const zf_cg_buffer *buffer, LLVMValueRef v_pushes, LLVMValueRef v_bits);
void zf_cg_buffer_append(zf_cg *cg, zf_cg_frame *frame, const zf_cg_buffer *buffer, const zf_cg_value *value, zf_span span);

/// The buffer that an expression names: a stream, or a growing local; NULL: none.
const zf_cg_buffer *zf_cg_encode_buffer_of(zf_cg *cg, zf_cg_frame *frame, const zf_expr *expr);

// cg_encode_loops.c
/// Lowers a loop over a range or a sequence; false, with nothing emitted: as other bodies have it.
bool zf_cg_encode_loop(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);
/// The same of an `if` that pushes.
bool zf_cg_encode_if(zf_cg *cg, zf_cg_frame *frame, const zf_stmt *stmt);

#endif

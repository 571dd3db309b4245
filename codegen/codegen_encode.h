// Code generation for encode bodies, as other rooms see it: a function for each body, and the frame that it runs on.
#ifndef ZF_CODEGEN_CODEGEN_ENCODE_H
#define ZF_CODEGEN_CODEGEN_ENCODE_H

#include "codegen/encode/encode_support.h"
#include "codegen/llvm/jit.h"
#include "frontend/spec/spec.h"

/// Appends the key of an encode body in the disk cache. Allocates in the spec's arena: one thread at a time.
void zf_codegen_encode_key(zf_spec *spec, const zf_inst *inst, zf_text *key);
/// Builds, or finds in the disk cache, the function of an encode body. `key`: from zf_codegen_encode_key. Unload `*code` with
/// zf_jit_unload. `budget`: of a column that needs it; NULL: no limit. ZF_ERR_UNSUPPORTED with the diagnostic where a form is not
/// lowered. Any thread.
zf_status zf_codegen_encode_build(zf_jit *jit, const zf_inst *inst, const zf_text *key, zf_compile_budget *budget,
                                  zf_encode_fn *out, zf_jit_code **code, zf_error *error);
/// Appends the text of an encode body's code at a stage. Any thread.
zf_status zf_codegen_encode_print(zf_jit *jit, const zf_inst *inst, zf_compile_budget *budget, zf_jit_stage stage, zf_text *out,
                                  zf_error *error);
/// Fills `out` (may be NULL) with the C functions that encode bodies call, for zf_jit_options.symbols, and returns their number.
size_t zf_codegen_encode_symbols(zf_jit_symbol *out);

// ---- The frame of a body ----------------------------------------------------------------------------------------

/// Lists the growing arrays of an encode body in the order of zf_encode_frame.locals, and returns their number. `out` may be
/// NULL.
uint32_t zf_encode_locals(const zf_inst *inst, const zf_local **out);
/// Prepares an empty buffer for elements of a type.
void zf_encode_buffer_init(zf_encode_buffer *buffer, zf_type type);
/// Returns a place in the text as zf_encode_frame.span has it.
uint64_t zf_encode_place(zf_span span);

#endif

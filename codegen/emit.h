// The text of generated code, for `zfc explain --emit=llvm|asm`.
#ifndef ZF_CODEGEN_EMIT_H
#define ZF_CODEGEN_EMIT_H

#include "frontend/spec.h"
#include "zipflow/compile.h"

/// The kernels of a column of a program under its first alternatives, in the general form, and the encode bodies, each a module:
/// optimised LLVM IR, or assembly.
zf_status zf_emit_code(zf_compiler *compiler, zf_program *program, const zf_column *column, bool assembly, zf_text *out,
                       zf_error *error);

#endif

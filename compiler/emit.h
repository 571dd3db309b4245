// The text of generated code, for `zfc explain --emit=llvm|asm|ptx`.
#ifndef ZF_COMPILER_EMIT_H
#define ZF_COMPILER_EMIT_H

#include "frontend/spec/spec.h"
#include "runtime/base/abi.h"
#include "zipflow/compile.h"

typedef struct zf_emit_options {
    bool assembly;           ///< else optimised LLVM IR
    zf_abi_target target;    ///< of the kernels
    const uint64_t *shaping; ///< values of the plan's shaping params, in its order; NULL: the general form
    bool no_lines;           ///< kernels of accelerators do not name lines of the `.zf` text
    uint32_t shaping_count;  ///< ZF_ERR_USAGE where the plan has another number of them
} zf_emit_options;

/// Appends the kernels of a program's column under its first alternatives, and for the host its encode bodies, each as a module.
/// Errors: ZF_ERR_USAGE where a shaping value is out of its param's range, ZF_ERR_UNSUPPORTED where a form is not lowered.
zf_status zf_emit_code(zf_program *program, const zf_column *column, const zf_emit_options *options, zf_text *out,
                       zf_error *error);

#endif

/// zipflow/emulator.h: the emulated GPU, for tests and for machines without a GPU. Link libzipflow-emulator.
#ifndef ZIPFLOW_EMULATOR_H
#define ZIPFLOW_EMULATOR_H

#include <zipflow/zipflow.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Adds the emulated GPUs to a context's devices: `emu` with waves of 32 lanes, `emu64` with waves of 64.
///
/// They run the kernels of GPUs on the CPU and check every access, which is slow. Devices named "auto" are never emulated.
/// Code for them comes from the compiler: call this before zf_compiler_create, which gives generated code access to the
/// emulator. The library must stay loaded as long as the context.
/// Adds both or, after an error, neither. Errors: ZF_ERR_USAGE where the context has one of them already; ZF_ERR_MEMORY. Any
/// thread.
ZF_API zf_status zf_emulator_register(zf_context *context, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif

// A module, inside: to look at what it holds, or to use it without a context.
#ifndef ZF_RUNTIME_MODULE_OPEN_H
#define ZF_RUNTIME_MODULE_OPEN_H

#include "runtime/module/module_format.h"

/// Reads and checks a module, and makes its code ready to run. Belongs to no context: zf_module_provider is how to use it, and
/// zf_module_close frees it.
ZF_PRIVATE_API zf_status zf_module_open(const char *path, zf_module **out, zf_error *error);
/// Reads and checks it only: also one for other CPUs.
ZF_PRIVATE_API zf_status zf_module_look(const char *path, zf_module **out, zf_error *error);
ZF_PRIVATE_API void zf_module_close(zf_module *module);
ZF_PRIVATE_API zf_abi_provider zf_module_provider(zf_module *module);
ZF_PRIVATE_API const zf_module_content *zf_module_content_of(const zf_module *module);

#endif

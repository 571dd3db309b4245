// Opening modules without a context: to use one, or only to look at it.
#ifndef ZF_RUNTIME_MODULE_OPEN_H
#define ZF_RUNTIME_MODULE_OPEN_H

#include "runtime/module/module_format.h"

/// Reads a module, checks it, and makes its code ready to run.
///
/// It belongs to no context: use it through zf_module_provider, free it with zf_module_close.
ZF_PRIVATE_API zf_status zf_module_open(const char *path, zf_module **out, zf_error *error);
/// Reads and checks a module without making its code ready, so also one for other machines.
ZF_PRIVATE_API zf_status zf_module_look(const char *path, zf_module **out, zf_error *error);
ZF_PRIVATE_API void zf_module_close(zf_module *module);
ZF_PRIVATE_API zf_abi_provider zf_module_provider(zf_module *module);
ZF_PRIVATE_API const zf_module_content *zf_module_content_of(const zf_module *module);

#endif

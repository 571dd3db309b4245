// What the context offers to the other parts of zipflow: its options as resolved, the log, and the source of code.
#ifndef ZF_RUNTIME_CONTEXT_H
#define ZF_RUNTIME_CONTEXT_H

#include "runtime/base/private.h"
#include "zipflow/abi.h"

typedef struct zf_device_list zf_device_list;

/// The directory of the code cache, or "" when there is none. It may not exist yet. Lives as long as the context.
ZF_PRIVATE_API const char *zf_context_cache_dir(const zf_context *context);

/// The context's devices (runtime/device.h).
zf_device_list *zf_context_devices(const zf_context *context);

/// Threads to use: `wanted`, or the context's number when 0. At least 1.
ZF_PRIVATE_API unsigned zf_context_threads(const zf_context *context, unsigned wanted);

/// Writes a line to the log callback, if there is one. Any thread.
ZF_PRIVATE_API void zf_context_log(zf_context *context, zf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Copies the context's source of code. False when it has none.
ZF_PRIVATE_API bool zf_context_provider(zf_context *context, zf_abi_provider *out);

#endif

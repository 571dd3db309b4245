// The context's services for the other parts of zipflow: its options as resolved, the log, and the source of code.
#ifndef ZF_RUNTIME_CONTEXT_H
#define ZF_RUNTIME_CONTEXT_H

#include "runtime/base/abi.h"
#include "runtime/base/passes.h"
#include "runtime/base/private.h"

typedef struct zf_device_list zf_device_list;

/// Where time goes is noted in `passes` (the caller's, which must outlive the context), from now on; NULL: nowhere. Before
/// anything else is done with the context.
ZF_PRIVATE_API void zf_context_set_passes(zf_context *context, zf_passes *passes);
ZF_PRIVATE_API zf_passes *zf_context_passes(const zf_context *context);

/// The directory of the code cache, or "" when there is none. It may not exist yet. Lives as long as the context.
ZF_PRIVATE_API const char *zf_context_cache_dir(const zf_context *context);
/// Returns the most bytes that compiled code in it may have.
ZF_PRIVATE_API uint64_t zf_context_cache_bytes(const zf_context *context);

/// The context's devices (runtime/device/device.h).
zf_device_list *zf_context_devices(const zf_context *context);

/// Returns the serial of a new container. No other container of the context ever has it. Any thread.
uint64_t zf_context_container_serial(zf_context *context);

/// Threads to use: `wanted`, or the context's number when 0. At least 1.
ZF_PRIVATE_API unsigned zf_context_threads(const zf_context *context, unsigned wanted);

/// Writes a line to the log callback, if there is one. Any thread.
ZF_PRIVATE_API void zf_context_log(zf_context *context, zf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Makes `provider` the context's, as zf_context_set_provider does, unless it has one already: returns false then.
ZF_PRIVATE_API bool zf_context_claim_provider(zf_context *context, const zf_abi_provider *provider);
/// Copies the provider that zf_context_set_provider set, as a rule the compiler's. False when there is none.
ZF_PRIVATE_API bool zf_context_provider(zf_context *context, zf_abi_provider *out);

/// Adds a provider behind those added before; all of them are asked before that of zf_context_set_provider.
zf_status zf_context_add_provider(zf_context *context, const zf_abi_provider *provider, zf_error *error);
/// Removes a provider by its `self`. Waits until no zf_context_forget calls one that was added.
void zf_context_remove_provider(zf_context *context, const void *self);

/// Asks the context's providers in turn for a plan (zf_abi_provider.plan): `*provider` is the one that gave it. The next is asked
/// where one answers ZF_ERR_UNSUPPORTED; when all do, the error is that of the provider that came closest.
ZF_PRIVATE_API zf_status zf_context_plan(zf_context *context, zf_container *container, size_t column, const uint8_t *branches,
                                         size_t branch_count, zf_abi_device device, zf_abi_provider *provider,
                                         const zf_abi_plan **plan, zf_error *error);
/// Calls `forget` of all providers for a container that is being closed. None is added or removed while it calls those that were
/// added; that of zf_context_set_provider is called last, without the lock.
void zf_context_forget(zf_context *context, zf_container *container);

#endif

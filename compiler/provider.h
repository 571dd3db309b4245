// A source of code for containers (zf_abi_provider) that compiles the canonical text of codecs that they carry.
#ifndef ZF_COMPILER_PROVIDER_H
#define ZF_COMPILER_PROVIDER_H

#include "compiler/decoder/plan_request.h"
#include "runtime/base/private.h"
#include "zipflow/compile.h"

typedef struct zf_provider zf_provider;

/// Creates a source of code that plans by `request`, which is copied; target and states come from each container.
/// Its plans use tuned results unless the request has choices. The tuner makes one for each combination that it measures.
/// Free it before the compiler. Errors: ZF_ERR_MEMORY.
ZF_PRIVATE_API zf_status zf_provider_create(zf_compiler *compiler, const zf_plan_request *request, zf_provider **out,
                                            zf_error *error);
/// Frees a provider and what it made. Nothing may use its plans any more. If it is the context's source of code, the context has
/// none afterwards.
ZF_PRIVATE_API void zf_provider_free(zf_provider *provider);
/// Returns its functions: any thread, valid until zf_provider_free. A plan lives until the container is closed or the provider
/// freed. A provider that is not the context's does not learn that a container is closed: free it before.
ZF_PRIVATE_API zf_abi_provider zf_provider_abi(zf_provider *provider);

#endif

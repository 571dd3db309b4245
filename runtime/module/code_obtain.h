// Getting code before it is needed, inside: what zipflow.h does not offer.
#ifndef ZF_RUNTIME_CODE_OBTAIN_H
#define ZF_RUNTIME_CODE_OBTAIN_H

#include "runtime/base/abi.h"
#include "runtime/base/private.h"

/// Gets code as zf_code_obtain does, for request k from providers[k]. NULL: the context's, for all requests.
/// Plans and code belong to the providers. Any thread.
ZF_PRIVATE_API zf_status zf_code_obtain_from(zf_context *context, const char *device, const zf_code_request *requests,
                                             const zf_abi_provider *providers, size_t request_count, unsigned threads,
                                             zf_code_stats *each, zf_code_stats *all, zf_error *error);

#endif

// Getting code before it is needed, inside: what zipflow.h does not offer.
#ifndef ZF_RUNTIME_CODE_OBTAIN_H
#define ZF_RUNTIME_CODE_OBTAIN_H

#include "runtime/base/abi.h"
#include "runtime/base/private.h"
#include "runtime/device/accelerator.h"

/// References to loaded code. Zeroes: none.
typedef struct zf_loaded_codes {
    zf_accelerator *accelerator;
    zf_accelerator_code **codes; ///< from malloc
    size_t count;
} zf_loaded_codes;
/// Gives the references back, where the device can unload code, and leaves none.
ZF_PRIVATE_API void zf_loaded_codes_unload(zf_loaded_codes *loaded);

/// Gets code as zf_code_obtain does, for request k from providers[k]. NULL: the context's, for all requests.
/// Plans and code belong to the providers. `loaded` receives the references to what was loaded, also after an error; it has none
/// before. NULL: the device keeps them until the code is freed. Any thread.
ZF_PRIVATE_API zf_status zf_code_obtain_from(zf_context *context, const char *device, const zf_code_request *requests,
                                             const zf_abi_provider *providers, size_t request_count, unsigned threads,
                                             zf_code_stats *each, zf_code_stats *all, zf_loaded_codes *loaded, zf_error *error);

#endif

// Code that a device holds although no decode uses it: a later decode of the same column need not load it again.
//
// A decode that has ended hands its references (zf_accelerator_ops.load) to the accelerator. They go back, and the device unloads
// the image, when the code itself is freed, as that of a decoder that leaves the compiler's cache.
#ifndef ZF_RUNTIME_KEPT_CODES_H
#define ZF_RUNTIME_KEPT_CODES_H

#include "runtime/device/accelerator.h"

typedef struct zf_kept_codes zf_kept_codes;

/// Returns an empty set, or NULL without memory. Free it after the accelerator, which ends all code that is left.
zf_kept_codes *zf_kept_codes_create(void);
void zf_kept_codes_free(zf_kept_codes *kept);

/// Hands over a reference that `load` gave for `code`. All launches of the caller that use it have ended. Any thread.
///
/// Without a set or memory it is given back at once: a later decode loads the image again. Without `unload` the device keeps the
/// image until it ends.
void zf_accelerator_keep(zf_accelerator *accelerator, const zf_abi_code *code, zf_accelerator_code *loaded);
/// Gives back what is kept for `code`, which nobody loads any more. References of decodes under way are others, and stay.
void zf_accelerator_drop(zf_accelerator *accelerator, const zf_abi_code *code);

#endif

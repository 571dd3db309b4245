// Targets as plans see them: the device and the limits that the shape of a kernel depends on. How code is made for one is in
// codegen/target/.
#ifndef ZF_PATTERNS_PLAN_TARGET_H
#define ZF_PATTERNS_PLAN_TARGET_H

#include <stddef.h>

#include "runtime/base/abi.h"

typedef struct zf_target {
    const char *name;            ///< what zf_plan_options.target and `--target` say
    const char *description;     ///< one line
    zf_abi_target_family family; ///< kind of device
    uint32_t arch;               ///< zf_abi_target.arch of the devices that it is for; 0: all of the family
    zf_abi_image_kind image;     ///< NONE: functions of this process
    uint32_t wave;         ///< lanes of a wave (a warp), a power of two, 32 or more; 0: no threads, kernels are loops over tiles
    uint32_t threads;      ///< of a thread block, at most
    uint32_t registers;    ///< of a thread, at most
    uint32_t shared_bytes; ///< shared memory that a thread block may have, as code declares it
} zf_target;

#define TARGET(identifier, ...) extern const zf_target zf_target_##identifier;
#include "patterns/plan/targets.def"
#undef TARGET

/// Returns all targets of this build, `*count` of them.
const zf_target *const *zf_targets(size_t *count);
/// Returns the target of that name, or NULL.
const zf_target *zf_target_find(const char *name);
/// Returns the first target whose code is stored as that kind of image: for PTX the GPU that explanations are of. Never NULL
/// for ZF_IMAGE_PTX.
const zf_target *zf_target_of_image(zf_abi_image_kind image);
/// Returns the target for code that a device wants: of its family the one for its `arch`, or else the first.
const zf_target *zf_target_for(zf_abi_target device);

#endif

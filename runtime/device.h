// Devices. A device is a table of functions: one row in device_table.c adds one. Nothing else in the runtime knows which
// devices there are, and only device_cuda* may know CUDA.
#ifndef ZF_RUNTIME_DEVICE_H
#define ZF_RUNTIME_DEVICE_H

#include "runtime/base/text.h"
#include "runtime/container.h"
#include "zipflow/zipflow.h"

/// What a device keeps while it is in use; its own business.
typedef struct zf_device_state zf_device_state;

typedef struct zf_device_ops {
    /// What `--device` takes. Unique.
    const char *name;

    /// Fills `info` but for its strings, and writes the description, or why the device is absent. Quick, and must not
    /// start the device: listing devices is not using them.
    void (*describe)(zf_device_info *info, zf_text *description, zf_text *reason);

    /// Makes the device ready for one decode, and undoes that. `threads`: host threads that it may use.
    zf_status (*open)(zf_context *context, unsigned threads, zf_device_state **out, zf_error *error);
    void (*close)(zf_device_state *state);

    /// Decodes (rows of) one block. Its base, outputs and work memory are memory that the kernels reach: on the CPU any.
    /// Reports violations that are known by now; others come from `finish`. May be called by several threads at once.
    zf_status (*run)(zf_device_state *state, zf_block_run *run, zf_error *error);

    /// Waits for everything that was started, and reports the first failure.
    zf_status (*finish)(zf_device_state *state, zf_error *error);
} zf_device_ops;

/// All devices that this build knows, "cpu" first; `auto` takes the last that is present.
const zf_device_ops *const *zf_device_table(size_t *count);

/// The device of that name ("auto" included), which must be present in the context.
zf_status zf_device_find(const zf_context *context, const char *name, const zf_device_ops **out, zf_error *error);

extern const zf_device_ops zf_device_cpu;

#endif

// Devices. A device is a table of functions: one row in device_table.c adds one. Nothing else in the runtime knows which
// devices there are, and only device_cuda* and cuda_* know CUDA.
#ifndef ZF_RUNTIME_DEVICE_H
#define ZF_RUNTIME_DEVICE_H

#include "runtime/base/private.h"
#include "runtime/base/text.h"
#include "runtime/container/container.h"
#include "runtime/context/context.h"
#include "runtime/device/accelerator.h"
#include "zipflow/zipflow.h"

/// What a device keeps while it is in use; its own business.
typedef struct zf_device_state zf_device_state;

typedef struct zf_device_ops {
    /// What `--device` takes. Unique.
    const char *name;

    /// What the devices of this kind share in a context (a driver's library, say), made when the context first looks for them.
    /// NULL: nothing. Both or neither; `attach` gives NULL when there is no memory.
    void *(*attach)(void);
    void (*detach)(void *shared);

    /// How many of them the machine has. NULL: one, which has no number. Else they are called NAME:0, NAME:1 and so on, and NAME
    /// is the first; where there are none, NAME is listed once, with the reason.
    unsigned (*count)(void *shared);

    /// Fills `info` but for its strings, and writes the description, or why the device is absent. Quick, and must not
    /// start the device: listing devices is not using them.
    void (*describe)(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason);

    // A device has either the next four or the two behind them.

    /// Makes the device ready for one decode, and undoes that. `threads`: host threads that it may use.
    zf_status (*open)(zf_context *context, unsigned threads, zf_device_state **out, zf_error *error);
    void (*close)(zf_device_state *state);

    /// Decodes (rows of) one block. Its base, outputs and work memory are memory that the kernels reach: on the CPU any.
    /// Reports violations that are known by now; others come from `finish`. May be called by several threads at once.
    zf_status (*run)(zf_device_state *state, zf_block_run *run, zf_error *error);

    /// Waits for everything that was started, and reports the first failure.
    zf_status (*finish)(zf_device_state *state, zf_error *error);

    /// Accelerators: starts device `index`. Called once a context, which keeps it until it is freed itself. A device that cannot
    /// be started may be tried again.
    zf_status (*start)(zf_context *context, void *shared, unsigned index, zf_accelerator **out, zf_error *error);
    void (*stop)(zf_accelerator *accelerator);
} zf_device_ops;

/// All devices that this build knows, "cpu" first; `auto` takes the last that is present and is no emulator.
const zf_device_ops *const *zf_device_table(size_t *count);

/// The list of a context's devices: empty at first.
zf_device_list *zf_device_list_create(void);
void zf_device_list_free(zf_device_list *list);

/// One device of a context.
typedef struct zf_device {
    const zf_device_ops *ops;
    unsigned index; ///< among those of its kind
    size_t entry;   ///< number in the context's list
    size_t kind;    ///< row of the table
} zf_device;

/// The device of that name ("auto" included), which must be present in the context.
ZF_PRIVATE_API zf_status zf_device_find(const zf_context *context, const char *name, zf_device *out, zf_error *error);

/// The accelerator behind a device that has `start`: started on first use, kept by the context. Any thread.
ZF_PRIVATE_API zf_status zf_device_accelerator(zf_context *context, const zf_device *device, zf_accelerator **out,
                                               zf_error *error);

/// How fast the device was seen to be (runtime/pipeline/rates.h); kept by the context. NULL: no memory.
struct zf_rates *zf_device_rates(zf_context *context, const zf_device *device);

extern const zf_device_ops zf_device_cpu;
extern const zf_device_ops zf_device_emu, zf_device_emu64;
extern const zf_device_ops zf_device_cuda;

#endif

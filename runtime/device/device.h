// Devices. A device is a table of functions: one row in device_table.c adds one, and an application may add others to a context.
// Nothing else in the runtime knows which devices there are, and only runtime/device/cuda/ knows CUDA.
#ifndef ZF_RUNTIME_DEVICE_H
#define ZF_RUNTIME_DEVICE_H

#include "runtime/base/private.h"
#include "runtime/base/text.h"
#include "runtime/container/container.h"
#include "runtime/context/context.h"
#include "runtime/device/accelerator.h"
#include "zipflow/zipflow.h"

/// The private state of a device in use.
typedef struct zf_device_state zf_device_state;

/// A C function that generated code calls by name.
typedef struct zf_device_symbol {
    const char *name;
    const void *address;
} zf_device_symbol;

typedef struct zf_device_ops {
    /// The name for `--device`. Unique.
    const char *name;

    /// Makes the state that the devices of this kind share in a context (for example a driver's library), when the context
    /// first looks for them. NULL: nothing is shared. Both functions or neither; `attach` returns NULL if there is no memory.
    void *(*attach)(void);
    void (*detach)(void *shared);

    /// How many of them the machine has. NULL: one, which has no number. Else they are called NAME:0, NAME:1 and so on, and NAME
    /// is the first; where there are none, NAME is listed once, with the reason.
    unsigned (*count)(void *shared);

    /// Fills `info` but for its strings, and writes the description, or why the device is absent. Quick, and must not
    /// start the device: listing devices is not using them.
    void (*describe)(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason);

    // A device has either the next five or the two behind them.

    /// The target of its code: functions of this process.
    zf_abi_target target;

    /// Makes the device ready for one decode, and undoes that. `threads`: host threads that it may use.
    zf_status (*open)(zf_context *context, unsigned threads, zf_device_state **out, zf_error *error);
    void (*close)(zf_device_state *state);

    /// Decodes (rows of) one block. Its base, outputs and workspace are memory that the kernels reach: on the CPU any.
    /// Reports violations that are known by now; others come from `finish`. May be called by several threads at once.
    zf_status (*run)(zf_device_state *state, zf_block_run *run, zf_error *error);

    /// Waits for everything that was started, and reports the first failure.
    zf_status (*finish)(zf_device_state *state, zf_error *error);

    /// Accelerators: starts device `index`. Called once a context, which keeps it until it is freed itself. A device that cannot
    /// be started may be tried again.
    zf_status (*start)(zf_context *context, void *shared, unsigned index, zf_accelerator **out, zf_error *error);
    void (*stop)(zf_accelerator *accelerator);

    /// Returns the C functions that code for this kind of device calls by name, `*count` of them. NULL: none.
    const zf_device_symbol *(*symbols)(size_t *count);
} zf_device_ops;

/// Returns the kinds of devices of the runtime itself, "cpu" first. `auto` takes the last kind that is present and not emulated.
const zf_device_ops *const *zf_device_table(size_t *count);

/// The list of a context's devices: empty at first.
zf_device_list *zf_device_list_create(void);
void zf_device_list_free(zf_device_list *list);

/// Adds kinds of devices to a context, all or, after an error, none: `auto` prefers the runtime's own accelerators. The tables
/// must live as long as the context. Errors: ZF1101 where the context has a kind of such a name; ZF1102. Any thread.
ZF_PRIVATE_API zf_status zf_context_add_devices(zf_context *context, const zf_device_ops *const *kinds, size_t count,
                                                zf_error *error);

/// Calls `visit` for each symbol of each kind of device in the context.
ZF_PRIVATE_API void zf_context_each_symbol(const zf_context *context, void (*visit)(void *user, const zf_device_symbol *symbol),
                                           void *user);

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

/// Has all devices of the context unload code that is about to be freed. No decode uses it, or will load it. Any thread.
ZF_PRIVATE_API void zf_context_drop_code(const zf_context *context, const zf_abi_code *code);

/// How fast the device was seen to be (runtime/pipeline/rates.h); kept by the context. NULL: no memory.
struct zf_rates *zf_device_rates(zf_context *context, const zf_device *device);

extern const zf_device_ops zf_device_cpu;
/// The same for other libraries, which find functions and no data.
ZF_PRIVATE_API const zf_device_ops *zf_device_cpu_ops(void);
extern const zf_device_ops zf_device_cuda;

#endif

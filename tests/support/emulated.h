// A context with the emulated GPUs among its devices. They are started, and refuse reads of memory that nothing wrote.
#ifndef ZF_TESTS_EMULATED_H
#define ZF_TESTS_EMULATED_H

#include "emulator/emu.h"
#include "runtime/device/device.h"
#include "zipflow/emulator.h"

static inline zf_status emulated_check_unwritten(zf_context *context, const char *name, zf_error *error) {
    zf_device device;
    zf_accelerator *emu;
    zf_status status = zf_device_find(context, name, &device, error);
    if (status == ZF_OK) status = zf_device_accelerator(context, &device, &emu, error);
    if (status == ZF_OK) zf_emu_check_unwritten(emu, true);
    return status;
}

static inline zf_status emulated_context_create(const zf_context_options *options, zf_context **context, zf_error *error) {
    zf_status status = zf_context_create(options, context, error);
    if (status != ZF_OK) return status;
    status = zf_emulator_register(*context, error);
    if (status == ZF_OK) status = emulated_check_unwritten(*context, "emu", error);
    if (status == ZF_OK) status = emulated_check_unwritten(*context, "emu64", error);
    if (status != ZF_OK) {
        zf_context_free(*context);
        *context = NULL;
    }
    return status;
}

#endif

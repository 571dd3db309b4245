// A context with the emulated GPUs among its devices.
#ifndef ZF_TESTS_EMULATED_H
#define ZF_TESTS_EMULATED_H

#include "zipflow/emulator.h"

static inline zf_status emulated_context_create(const zf_context_options *options, zf_context **context, zf_error *error) {
    zf_status status = zf_context_create(options, context, error);
    if (status != ZF_OK) return status;
    status = zf_emulator_register(*context, error);
    if (status != ZF_OK) {
        zf_context_free(*context);
        *context = NULL;
    }
    return status;
}

#endif

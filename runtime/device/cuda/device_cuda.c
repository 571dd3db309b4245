// NVIDIA GPUs as devices: which there are, and why there is none.
#include <stdio.h>
#include <stdlib.h>

#include "runtime/device/cuda/cuda_internal.h"
#include "runtime/device/device.h"

enum { ARCH_LEAST = 80 }; // of the PTX that we make

/// The state that all GPUs share in a context.
typedef struct cuda_kind {
    zf_cuda_driver driver;
    zf_text reason; ///< why there is no GPU, when driver.devices is 0
} cuda_kind;

static void *attach(void) {
    cuda_kind *kind = calloc(1, sizeof *kind);
    if (kind == NULL) return NULL;
    if (!zf_cuda_driver_load(&kind->driver, &kind->reason)) kind->driver.devices = 0;
    return kind;
}

static void detach(void *shared) {
    cuda_kind *kind = shared;
    zf_cuda_driver_unload(&kind->driver);
    zf_text_free(&kind->reason);
    free(kind);
}

static unsigned count(void *shared) { return ((cuda_kind *)shared)->driver.devices; }

static void describe(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    const cuda_kind *kind = shared;
    const zf_cuda_driver *d = &kind->driver;
    if (d->devices == 0) {
        zf_text_puts(description, "NVIDIA GPU");
        zf_text_puts(reason, kind->reason.data != NULL ? kind->reason.data : "no NVIDIA driver");
        if (kind->reason.failed) reason->failed = true;
        return;
    }
    zf_cu_device device = 0;
    char name[128] = "NVIDIA GPU", text[64];
    int major = 0, minor = 0, processors = 0, mode = 0;
    size_t bytes = 0;
    zf_cu_result result = d->device_get(&device, (int)index);
    if (result == ZF_CU_SUCCESS) result = d->device_name(name, sizeof name, device);
    if (result == ZF_CU_SUCCESS) result = d->device_attribute(&major, ZF_CU_DEVICE_CAPABILITY_MAJOR, device);
    if (result == ZF_CU_SUCCESS) result = d->device_attribute(&minor, ZF_CU_DEVICE_CAPABILITY_MINOR, device);
    if (result == ZF_CU_SUCCESS) result = d->device_attribute(&processors, ZF_CU_DEVICE_MULTIPROCESSORS, device);
    if (result == ZF_CU_SUCCESS) result = d->device_attribute(&mode, ZF_CU_DEVICE_COMPUTE_MODE, device);
    if (result == ZF_CU_SUCCESS) result = d->device_memory(&bytes, device);
    info->memory = bytes;
    info->cores = processors > 0 ? (unsigned)processors : 0;
    name[sizeof name - 1] = 0;
    zf_text_printf(description, "%s, compute capability %d.%d, driver for CUDA %d.%d", name, major, minor, d->version / 1000,
                   d->version % 1000 / 10);
    if (result != ZF_CU_SUCCESS)
        zf_text_printf(reason, "the driver does not describe it: %s", zf_cuda_result_text(d, result, text, sizeof text));
    else if (major * 10 + minor < ARCH_LEAST)
        zf_text_printf(reason, "its compute capability is %d.%d; 8.0 or later is needed", major, minor);
    else if (mode == ZF_CU_COMPUTE_MODE_PROHIBITED)
        zf_text_puts(reason, "its compute mode prohibits programs (`nvidia-smi -c 0` allows them)");
    else
        info->present = true;
}

static zf_status start(zf_context *context, void *shared, unsigned index, zf_accelerator **out, zf_error *error) {
    return zf_cuda_create(context, &((cuda_kind *)shared)->driver, index, out, error);
}

const zf_device_ops zf_device_cuda = {
    .name = "cuda",
    .attach = attach,
    .detach = detach,
    .count = count,
    .describe = describe,
    .start = start,
    .stop = zf_cuda_free,
};

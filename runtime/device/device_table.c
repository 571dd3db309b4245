// The devices of the runtime itself. Others are added to a context (zf_context_add_devices).
#include "runtime/device/device.h"

static const zf_device_ops *const table[] = {
    &zf_device_cpu,
    &zf_device_cuda,
};

const zf_device_ops *const *zf_device_table(size_t *count) {
    *count = sizeof table / sizeof table[0];
    return table;
}

// The devices of this build. One row to add one.
#include "runtime/device/device.h"

static const zf_device_ops *const table[] = {
    &zf_device_cpu,
    &zf_device_emu,
    &zf_device_emu64,
    &zf_device_cuda,
};

const zf_device_ops *const *zf_device_table(size_t *count) {
    *count = sizeof table / sizeof table[0];
    return table;
}

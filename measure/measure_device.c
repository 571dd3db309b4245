// The devices that can be measured, one row each, and what they share.
#include <stdlib.h>
#include <string.h>

#include "measure/measure.h"
#include "runtime/base/error_codes.h"

static const zf_measure_device *const table[] = {&zf_measure_device_cpu, &zf_measure_device_cuda, &zf_measure_device_emu};

const zf_measure_device *zf_measure_device_for(const zf_device *device, zf_error *error) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i]->name, device->ops->name) == 0) return table[i];
    }
    zf_fail(error, ZF_ERR_UNSUPPORTED, ZFM_NOT_MEASURED, "device `%s` cannot be measured", device->ops->name);
    return NULL;
}

zf_status zf_measure_code(const zf_abi_provider *provider, const zf_abi_plan *plan, const zf_block_view *view, bool general,
                          const zf_abi_code **out, zf_error *error) {
    if (general) return provider->code(provider->self, plan, NULL, out, error);
    uint64_t *shaping = malloc(((size_t)plan->shaping_count + 1) * sizeof *shaping);
    if (shaping == NULL) return zf_raise_no_memory(error);
    for (uint32_t i = 0; i < plan->shaping_count; i++) shaping[i] = view->params[plan->shaping[i]];
    zf_status status = provider->code(provider->self, plan, shaping, out, error);
    free(shaping);
    return status;
}

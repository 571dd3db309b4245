// The devices of this build. One row to add one.
#include "runtime/device.h"

#include <string.h>

#include "runtime/error_codes.h"

static const zf_device_ops *const table[] = {
    &zf_device_cpu,
};

const zf_device_ops *const *zf_device_table(size_t *count) {
    *count = sizeof table / sizeof table[0];
    return table;
}

zf_status zf_device_find(const zf_context *context, const char *name, const zf_device_ops **out, zf_error *error) {
    *out = NULL;
    bool any = strcmp(name, "auto") == 0;
    size_t count = zf_device_count(context);
    for (size_t i = count; i-- > 0;) {
        zf_device_info info;
        ZF_TRY(zf_device_get(context, i, &info, error));
        if (!any && strcmp(info.name, name) != 0) continue;
        if (info.present) {
            *out = table[i];
            return ZF_OK;
        }
        if (any) continue;
        return zf_raise(error, ZF_E_DEVICE_ABSENT, "device `%s` is not present: %s", info.name, info.reason);
    }
    zf_status status = zf_raise(error, ZF_E_UNKNOWN_DEVICE, "no device is called \"%.64s\"", name);
    return zf_fail_hint(error, status, "`auto` takes the best one; `zfc devices` lists them");
}

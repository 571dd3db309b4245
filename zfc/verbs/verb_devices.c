#include <jansson.h>

#include "zfc/report.h"
#include "zipflow/emulator.h"

int zf_run_devices(zf_arguments *arguments) {
    zf_error error;
    zf_context *context = NULL;
    if (zf_context_create(NULL, &context, &error) != ZF_OK || zf_emulator_register(context, &error) != ZF_OK) {
        zf_context_free(context);
        return zf_report("devices", &error);
    }
    bool as_json = zf_argument(arguments, "json") != NULL;
    json_t *list = json_array();
    int status = EXIT_GOOD;
    zf_status got = ZF_OK;
    for (size_t i = 0; got == ZF_OK && status == EXIT_GOOD; i++) {
        zf_device_info info = {0};
        got = zf_device_get(context, i, &info, &error);
        if (got != ZF_OK) { // the end, unless there was no memory to look for all devices
            if (got != ZF_ERR_USAGE) status = zf_report("devices", &error);
        } else if (as_json) {
            zf_status added =
                zf_json_append(list,
                               json_pack("{s:s, s:s, s:b, s:b, s:s, s:I, s:i}", "name", info.name, "description",
                                         info.description, "present", (int)info.present, "emulated", (int)info.emulated, "reason",
                                         info.reason, "memory", (json_int_t)info.memory, "cores", (int)info.cores),
                               &error);
            if (added != ZF_OK) status = zf_report("devices", &error);
        } else {
            char bytes[32];
            printf("%-8s %s", info.name, info.description);
            if (info.present)
                printf(", %u core%s, %s of memory\n", info.cores, info.cores == 1 ? "" : "s", zf_bytes_text(info.memory, bytes));
            else
                printf(" (absent: %s)\n", info.reason);
        }
    }
    if (as_json && status == EXIT_GOOD && zf_json_print(list, &error) != ZF_OK) status = zf_report("devices", &error);
    json_decref(list);
    zf_context_free(context);
    return status;
}

#include "runtime/device/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const char *symbol;
    size_t offset; ///< of the pointer in zf_cuda_driver
} entry;

static const entry entries[] = {
#define X(name, symbol, parameters) {symbol, offsetof(zf_cuda_driver, name)},
    ZF_CU_FUNCTIONS(X)
#undef X
};

const char *zf_cuda_result_text(const zf_cuda_driver *driver, zf_cu_result result, char *text, size_t room) {
    const char *name = NULL;
    if (driver->error_name == NULL || driver->error_name(result, &name) != ZF_CU_SUCCESS || name == NULL) name = "CUDA error";
    snprintf(text, room, "%s (%d)", name, result);
    return text;
}

static bool find_functions(zf_cuda_driver *driver, const char *path, zf_text *reason) {
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *function = dlsym(driver->library, entries[i].symbol);
        if (function == NULL) {
            zf_text_printf(reason, "%s lacks the function %s: a driver for " ZF_CU_VERSION_LEAST_TEXT " or later is needed", path,
                           entries[i].symbol);
            return false;
        }
        memcpy((char *)driver + entries[i].offset, &function, sizeof function);
    }
    return true;
}

/// Advice for a driver that does not start.
static const char *advice(zf_cu_result result) {
    switch (result) {
    case ZF_CU_NO_DEVICE: return "the driver finds no GPU";
    case ZF_CU_STUB_LIBRARY: return "the toolkit's stub was loaded in place of the driver; check LD_LIBRARY_PATH";
    case ZF_CU_SYSTEM_DRIVER_MISMATCH:
        return "the driver's library and its kernel module differ in version; after an update, restart the machine";
    case ZF_CU_SYSTEM_NOT_READY: return "the machine's GPU fabric is not ready (nvidia-fabricmanager)";
    case ZF_CU_UNKNOWN: return "the driver does not start; does `nvidia-smi` work?";
    default: return "the driver does not start";
    }
}

static bool start(zf_cuda_driver *driver, zf_text *reason) {
    char text[64];
    // The version needs no start, and says more than a start that fails.
    if (driver->driver_version(&driver->version) == ZF_CU_SUCCESS && driver->version < ZF_CU_VERSION_LEAST) {
        zf_text_printf(reason, "the driver is for CUDA %d.%d; " ZF_CU_VERSION_LEAST_TEXT " or later is needed",
                       driver->version / 1000, driver->version % 1000 / 10);
        return false;
    }
    zf_cu_result result = driver->init(0);
    if (result != ZF_CU_SUCCESS) {
        zf_text_printf(reason, "%s: %s", advice(result), zf_cuda_result_text(driver, result, text, sizeof text));
        return false;
    }
    int count = 0;
    result = driver->device_count(&count);
    if (result != ZF_CU_SUCCESS || count <= 0) {
        zf_text_puts(reason, advice(ZF_CU_NO_DEVICE));
        if (result != ZF_CU_SUCCESS) zf_text_printf(reason, ": %s", zf_cuda_result_text(driver, result, text, sizeof text));
        return false;
    }
    driver->devices = (unsigned)count;
    return true;
}

bool zf_cuda_driver_load(zf_cuda_driver *driver, zf_text *reason) {
    *driver = (zf_cuda_driver){0};
    const char *path = secure_getenv("ZIPFLOW_CUDA_LIBRARY");
    if (path == NULL || *path == 0) path = "libcuda.so.1";
    // It stays in the process: a driver that has started leaves threads and handlers behind.
    driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (driver->library == NULL) {
        const char *why = dlerror();
        zf_text_printf(reason, "no NVIDIA driver: %s", why != NULL ? why : path);
        return false;
    }
    return find_functions(driver, path, reason) && start(driver, reason);
}

void zf_cuda_driver_unload(zf_cuda_driver *driver) {
    if (driver->library != NULL) dlclose(driver->library);
    *driver = (zf_cuda_driver){0};
}

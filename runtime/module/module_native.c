// Native code of a module in memory. A page with the addresses of what it calls comes first, readable only, then the code, which
// finds that page relative to itself: there is nothing else to relocate.
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/error_codes.h"
#include "runtime/base/imports.h"
#include "runtime/module/module_format.h"

// ---- Functions that native code may call ----------------------------------------------------------------------

static const void *find_import(const char *name) {
    size_t count;
    const zf_import *imports = zf_imports(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(imports[i].name, name) == 0) return imports[i].address;
    }
    return NULL;
}

// ---- The CPU --------------------------------------------------------------------------------------------------

static const char *const levels[] = {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
enum { LEVELS = sizeof levels / sizeof levels[0] };

const char *zf_cpu_level_name(uint32_t level) { return level >= 1 && level <= LEVELS ? levels[level - 1] : NULL; }

uint32_t zf_cpu_level(const char *name) {
    for (uint32_t k = 0; k < LEVELS; k++) {
        if (strcmp(levels[k], name) == 0) return k + 1;
    }
    return 0;
}

uint32_t zf_cpu_here(uint32_t *level) {
    *level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    *level = 1;
    if (__builtin_cpu_supports("x86-64-v2")) *level = 2;
    if (__builtin_cpu_supports("x86-64-v3")) *level = 3;
    if (__builtin_cpu_supports("x86-64-v4")) *level = 4;
    return ZF_MACHINE_X86_64;
#else
    return ZF_MACHINE_NONE;
#endif
}

zf_status zf_cpu_fits(uint32_t machine, uint32_t level, uint32_t machine_here, uint32_t level_here, const char *path,
                      zf_error *error) {
    if (machine == ZF_MACHINE_NONE || (machine == machine_here && level <= level_here)) return ZF_OK;
    if (machine != machine_here) {
        zf_status status = zf_raise(error, ZF_E_CPU_LEVEL, "the module's native code is for x86-64, which this machine is not");
        return zf_fail_place(error, status, "%s", path);
    }
    zf_status status =
        zf_raise(error, ZF_E_CPU_LEVEL, "the module's native code is for CPUs of level %s; this one is of level %s",
                 zf_cpu_level_name(level), zf_cpu_level_name(level_here));
    zf_fail_place(error, status, "%s", path);
    if (level_here < ZF_MODULE_LEAST_CPU)
        return zf_fail_hint(error, status, "modules are for x86-64-v2 and later; here the compiler must do it");
    return zf_fail_hint(error, status, "compile it with --cpu %s", zf_cpu_level_name(level_here));
}

// ---- In memory ------------------------------------------------------------------------------------------------

zf_status zf_native_map(const zf_module_content *content, const char *path, zf_native *out, zf_error *error) {
    *out = (zf_native){0};
    if (content->native_bytes == 0) return ZF_OK;
    size_t bytes = ZF_MODULE_PAGE + content->native_bytes;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a module's code");
    *out = (zf_native){memory, bytes};
    for (uint32_t i = 0; i < content->import_count; i++) {
        const void *address = find_import(content->imports[i]);
        if (address == NULL) {
            zf_status status = zf_raise(error, ZF_E_MODULE_CONTENT,
                                        "the module's code calls `%.64s`, which this build does not offer", content->imports[i]);
            zf_native_unmap(out);
            return zf_fail_place(error, status, "%s", path);
        }
        memcpy(memory + (size_t)i * sizeof address, &address, sizeof address);
    }
    memcpy(memory + ZF_MODULE_PAGE, content->native, content->native_bytes);
    if (mprotect(memory, ZF_MODULE_PAGE, PROT_READ) == 0 &&
        mprotect(memory + ZF_MODULE_PAGE, content->native_bytes, PROT_READ | PROT_EXEC) == 0) {
        return ZF_OK;
    }
    zf_native_unmap(out);
    zf_status status = zf_raise(error, ZF_E_OPEN_FAILED, "the operating system does not let a module's code run");
    zf_fail_place(error, status, "%s", path);
    return zf_fail_hint(error, status, "a policy of this machine may forbid code that no file backs");
}

void zf_native_unmap(zf_native *native) {
    if (native->memory != NULL) munmap(native->memory, native->bytes);
    *native = (zf_native){0};
}

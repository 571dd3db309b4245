// The CPU as a device: always present. Its memory is the host's, and nothing is queued.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/device/device.h"

struct zf_device_state {
    unsigned threads;
};

/// The processor's name as the kernel tells it; the machine's architecture where it has no name.
static void add_model(zf_text *text) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        const char *name = colon + 1;
        name += strspn(name, " \t");
        zf_text_add(text, name, strcspn(name, "\n"));
        fclose(file);
        return;
    }
    if (file != NULL) fclose(file);
    struct utsname name;
    zf_text_puts(text, uname(&name) == 0 ? name.machine : "unknown processor");
}

/// The vector and bit extensions that generated code profits from.
static void add_features(zf_text *text) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // The builtin takes literals only, hence a macro and not a table.
#define FEATURE(name)                                                                                                            \
    if (__builtin_cpu_supports(name)) zf_text_puts(text, " " name)
    FEATURE("sse4.2");
    FEATURE("avx2");
    FEATURE("bmi2");
    FEATURE("fma");
    FEATURE("avx512f");
    FEATURE("avx512bw");
    FEATURE("avx512vl");
    FEATURE("avx512vbmi");
#undef FEATURE
#elif defined(__aarch64__)
    unsigned long capabilities = getauxval(AT_HWCAP);
    if (capabilities & HWCAP_ASIMD) zf_text_puts(text, " asimd");
    if (capabilities & HWCAP_SVE) zf_text_puts(text, " sve");
#else
    (void)text;
#endif
}

static void describe(void *shared, unsigned index, zf_device_info *info, zf_text *description, zf_text *reason) {
    (void)shared, (void)index;
    zf_text_puts(reason, "");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    info->present = true;
    info->memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    info->cores = zf_usable_cores();
    add_model(description);
    zf_text_puts(description, ",");
    add_features(description);
}

static zf_status open_cpu(zf_context *context, unsigned threads, zf_device_state **out, zf_error *error) {
    (void)context;
    zf_device_state *state = malloc(sizeof *state);
    *out = state;
    if (state == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the device");
    state->threads = threads;
    return ZF_OK;
}

static void close_cpu(zf_device_state *state) { free(state); }

static zf_status run_block(zf_device_state *state, zf_block_run *run, zf_error *error) {
    if (run->threads == 0) run->threads = state->threads;
    return zf_block_run_cpu(run, error);
}

static zf_status finish(zf_device_state *state, zf_error *error) {
    (void)state, (void)error;
    return ZF_OK;
}

const zf_device_ops zf_device_cpu = {
    .name = "cpu",
    .target = {.family = ZF_TARGET_HOST},
    .describe = describe,
    .open = open_cpu,
    .close = close_cpu,
    .run = run_block,
    .finish = finish,
};

const zf_device_ops *zf_device_cpu_ops(void) { return &zf_device_cpu; }

// Code of a GPU: the driver makes machine code of PTX as it loads it, and keeps that in a cache of its own; kernels are launched.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/error_codes.h"
#include "runtime/context/context.h"
#include "runtime/device/cuda/cuda_internal.h"

enum { LOG_BYTES = 8192 };

typedef struct loaded_kernel {
    zf_cu_function function;
    uint32_t threads, dynamic_bytes;
} loaded_kernel;

struct zf_accelerator_code {
    XXH128_hash_t identity; ///< of image and kernels: whoever made the code may free it, and make other code in its place
    size_t image_bytes;
    zf_cu_module module;
    loaded_kernel *kernels;
    uint32_t count;
    uint64_t references; ///< guarded by the device's lock
    zf_accelerator_code *next;
};

/// A link of the chain that identifies code: all 128 bits of those before go into it.
typedef struct identity_link {
    XXH128_hash_t before, bytes;
    uint64_t number;
} identity_link;

static XXH128_hash_t link_of(XXH128_hash_t before, const void *bytes, size_t length, uint64_t number) {
    identity_link link = {before, XXH3_128bits(bytes, length), number};
    _Static_assert(sizeof link == 40, "padding would be hashed");
    return XXH3_128bits(&link, sizeof link);
}

static XXH128_hash_t identity_of(const zf_abi_plan *plan, const zf_abi_code *code) {
    XXH128_hash_t identity = link_of((XXH128_hash_t){0}, code->image, code->image_bytes, code->image_kind);
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const zf_abi_simt_kernel *kernel = &code->simt[k];
        identity = link_of(identity, kernel->name, strlen(kernel->name), (uint64_t)kernel->dynamic_bytes << 32 | kernel->threads);
    }
    return identity;
}

// ---- From PTX to machine code ---------------------------------------------------------------------------------

/// The first two lines of what the driver's assembler said, as one.
static void first_lines(const char *log, char *out, size_t room) {
    size_t length = 0, lines = 0;
    log += strspn(log, " \r\n");
    for (; *log != 0 && lines < 2 && length + 4 < room; log++) {
        if (*log != '\n') {
            out[length++] = *log == '\t' || *log == '\r' ? ' ' : *log;
        } else if (++lines < 2 && log[1] != 0) {
            memcpy(out + length, " | ", 3);
            length += 3;
        }
    }
    out[length] = 0;
}

/// Whether a result speaks of the code, and not of the device.
static bool is_about_code(zf_cu_result result) {
    switch (result) {
    case ZF_CU_INVALID_IMAGE:
    case ZF_CU_NO_BINARY_FOR_GPU:
    case ZF_CU_INVALID_PTX:
    case ZF_CU_JIT_COMPILER_NOT_FOUND:
    case ZF_CU_UNSUPPORTED_PTX_VERSION:
    case ZF_CU_INVALID_SOURCE:
    case ZF_CU_NOT_FOUND: return true;
    default: return false;
    }
}

/// The error of loading code; `log` is what the driver's assembler said, or "".
static zf_status check_image(zf_cuda *cuda, zf_cu_result result, const char *log, zf_error *error) {
    if (result == ZF_CU_SUCCESS) return ZF_OK;
    if (!is_about_code(result) && log[0] == 0) return zf_cuda_check(cuda, result, "loading a kernel", error);
    char text[64], lines[240];
    first_lines(log, lines, sizeof lines);
    zf_cuda_result_text(cuda->driver, result, text, sizeof text);
    if (lines[0] != 0) zf_context_log(cuda->owner, ZF_LOG_ERROR, "cuda:%u: %s", cuda->index, log);
    zf_status status = zf_raise(error, ZF_E_CODE_REJECTED, "device `cuda:%u` rejects a kernel's code with %s%s%s", cuda->index,
                                text, lines[0] != 0 ? ": " : "", lines);
    switch (result) {
    case ZF_CU_NO_BINARY_FOR_GPU:
        return zf_fail_hint(error, status, "the code is for another architecture than compute capability %u.%u", cuda->arch / 10,
                            cuda->arch % 10);
    case ZF_CU_UNSUPPORTED_PTX_VERSION:
        return zf_fail_hint(error, status, "the driver is for CUDA %d.%d and does not know this PTX: a later one is needed",
                            cuda->driver->version / 1000, cuda->driver->version % 1000 / 10);
    case ZF_CU_JIT_COMPILER_NOT_FOUND:
        return zf_fail_hint(error, status, "the driver's libnvidia-ptxjitcompiler.so is missing: install the whole driver");
    default: return zf_fail_hint(error, status, "please report it with the output of `zfc explain --emit=ptx`");
    }
}

/// Loads an image. PTX goes straight into a module: the driver's linker, the other way from PTX to machine code, makes code
/// that can still be moved, which runs 10 to 15% slower. The driver caches the machine code of PTX ($CUDA_CACHE_PATH, else
/// ~/.nv/ComputeCache), so it is not cached here.
zf_status zf_cuda_load_image(zf_cuda *cuda, const void *image, zf_abi_image_kind kind, zf_cu_module *module, zf_error *error) {
    char *log = calloc(1, LOG_BYTES + 1);
    *module = NULL;
    if (log == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for code");
    int options[] = {ZF_CU_JIT_ERROR_LOG, ZF_CU_JIT_ERROR_LOG_BYTES, ZF_CU_JIT_LINE_INFO};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES, (void *)(uintptr_t)1};
    unsigned count = kind == ZF_IMAGE_PTX ? sizeof options / sizeof options[0] : 0; // machine code is not compiled
    zf_status status = check_image(cuda, cuda->driver->module_load(module, image, count, options, values), log, error);
    free(log);
    return status;
}

// ---- Loading --------------------------------------------------------------------------------------------------

/// `current`: the context is.
static void free_code(zf_cuda *cuda, zf_accelerator_code *code, bool current) {
    if (code == NULL) return;
    bool unload = current && code->module != NULL && atomic_load(&cuda->lost) == ZF_CU_SUCCESS;
    if (unload) cuda->driver->module_unload(code->module);
    free(code->kernels);
    free(code);
}

static void log_kernel(zf_cuda *cuda, const char *name, const loaded_kernel *kernel) {
    int registers = 0, local = 0, shared = 0;
    zf_cu_function function = kernel->function;
    const zf_cuda_driver *d = cuda->driver;
    d->function_attribute(&registers, ZF_CU_FUNCTION_REGISTERS, function);
    d->function_attribute(&local, ZF_CU_FUNCTION_LOCAL_BYTES, function);
    d->function_attribute(&shared, ZF_CU_FUNCTION_SHARED_BYTES, function);
    zf_context_log(cuda->owner, ZF_LOG_DEBUG, "cuda:%u: kernel %s: %d registers, %d bytes of local and %d of shared memory",
                   cuda->index, name, registers, local, shared + (int)kernel->dynamic_bytes);
}

/// Asks for the shared memory that the kernel's launches give. Within the context.
static zf_status ask_for_shared(zf_cuda *cuda, const loaded_kernel *kernel, zf_error *error) {
    if (kernel->dynamic_bytes == 0) return ZF_OK;
    char doing[80];
    snprintf(doing, sizeof doing, "asking for %u bytes of shared memory a thread block", kernel->dynamic_bytes);
    int bytes = (int)kernel->dynamic_bytes; // the driver refuses those below 0, too
    return zf_cuda_check(cuda, cuda->driver->function_set(kernel->function, ZF_CU_FUNCTION_DYNAMIC_BYTES, bytes), doing, error);
}

/// Within the context.
static zf_status make_code(zf_cuda *cuda, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code *out,
                           zf_error *error) {
    out->kernels = calloc((size_t)plan->kernel_count + 1, sizeof *out->kernels);
    if (out->kernels == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for code");
    ZF_TRY(zf_cuda_load_image(cuda, code->image, code->image_kind, &out->module, error));
    for (uint32_t k = 0; k < plan->kernel_count; k++) {
        const char *name = code->simt[k].name;
        if (code->simt[k].threads == 0) continue; // another one stores the column
        zf_cu_result result = cuda->driver->module_function(&out->kernels[k].function, out->module, name);
        if (result == ZF_CU_NOT_FOUND)
            return zf_raise(error, ZF_E_INTERNAL, "the code for device `cuda:%u` has no kernel %.128s", cuda->index, name);
        ZF_TRY(zf_cuda_check(cuda, result, "finding a kernel", error));
        out->kernels[k].threads = code->simt[k].threads;
        out->kernels[k].dynamic_bytes = code->simt[k].dynamic_bytes;
        ZF_TRY(ask_for_shared(cuda, &out->kernels[k], error));
        log_kernel(cuda, name, &out->kernels[k]);
    }
    out->count = plan->kernel_count;
    return ZF_OK;
}

/// Finds code and adds a reference to it. With the lock held.
static zf_accelerator_code *share_code(const zf_cuda *cuda, XXH128_hash_t identity, size_t image_bytes, uint32_t count) {
    for (zf_accelerator_code *code = cuda->codes; code != NULL; code = code->next) {
        if (!XXH128_isEqual(code->identity, identity) || code->image_bytes != image_bytes || code->count != count) continue;
        code->references++;
        return code;
    }
    return NULL;
}

static zf_status check_code(const zf_cuda *cuda, const zf_abi_plan *plan, const zf_abi_code *code, zf_error *error) {
    if (plan->target.family != ZF_TARGET_NVPTX || code->simt == NULL || code->image == NULL || code->image_bytes == 0 ||
        (code->image_kind != ZF_IMAGE_PTX && code->image_kind != ZF_IMAGE_CUBIN)) {
        return zf_raise(error, ZF_E_INTERNAL, "the code provider returned no code for device `cuda:%u`", cuda->index);
    }
    // The driver takes no length, and reads PTX up to its zero byte.
    if (code->image_kind == ZF_IMAGE_PTX && ((const char *)code->image)[code->image_bytes - 1] != 0)
        return zf_raise(error, ZF_E_INTERNAL, "the PTX for device `cuda:%u` does not end in a zero byte", cuda->index);
    // PTX runs on its architecture and all later ones; machine code on its own major version, from its minor one on.
    uint32_t made = plan->target.arch, here = cuda->arch;
    bool fits = made <= here && (code->image_kind == ZF_IMAGE_PTX || made / 10 == here / 10);
    if (fits) return ZF_OK;
    zf_status status =
        zf_raise(error, ZF_E_WRONG_DEVICE, "code for compute capability %u.%u does not run on device `cuda:%u`, %u.%u", made / 10,
                 made % 10, cuda->index, here / 10, here % 10);
    return zf_fail_hint(error, status, "compile it for this GPU");
}

zf_status zf_cuda_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code, zf_accelerator_code **out,
                       zf_error *error) {
    zf_cuda *cuda = (zf_cuda *)self;
    *out = NULL;
    ZF_TRY(check_code(cuda, plan, code, error));
    XXH128_hash_t identity = identity_of(plan, code);
    pthread_mutex_lock(&cuda->lock);
    *out = share_code(cuda, identity, code->image_bytes, plan->kernel_count);
    pthread_mutex_unlock(&cuda->lock);
    if (*out != NULL) return ZF_OK;
    // Loading takes long, so it runs without the lock; when two threads make the same code, one of the two stays.
    zf_accelerator_code *made = calloc(1, sizeof *made);
    if (made == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for code");
    made->identity = identity;
    made->image_bytes = code->image_bytes;
    zf_status status = zf_cuda_enter(cuda, error);
    if (status != ZF_OK) {
        free(made);
        return status;
    }
    status = make_code(cuda, plan, code, made, error);
    pthread_mutex_lock(&cuda->lock);
    if (status == ZF_OK) *out = share_code(cuda, identity, code->image_bytes, plan->kernel_count);
    if (status == ZF_OK && *out == NULL) {
        made->references = 1;
        made->next = cuda->codes;
        cuda->codes = made;
        *out = made;
        made = NULL;
    }
    pthread_mutex_unlock(&cuda->lock);
    free_code(cuda, made, true);
    zf_cuda_leave(cuda);
    return status;
}

void zf_cuda_unload(zf_accelerator *self, zf_accelerator_code *code) {
    zf_cuda *cuda = (zf_cuda *)self;
    pthread_mutex_lock(&cuda->lock);
    bool last = --code->references == 0;
    zf_accelerator_code **at = &cuda->codes;
    while (last && *at != code) at = &(*at)->next;
    if (last) *at = code->next;
    pthread_mutex_unlock(&cuda->lock);
    if (!last) return;
    bool entered = zf_cuda_enter(cuda, NULL) == ZF_OK;
    free_code(cuda, code, entered);
    if (entered) zf_cuda_leave(cuda);
}

void zf_cuda_unload_all(zf_cuda *cuda, bool current) {
    while (cuda->codes != NULL) {
        zf_accelerator_code *code = cuda->codes;
        cuda->codes = code->next;
        free_code(cuda, code, current);
    }
    zf_cuda_unload_own(cuda, current);
}

zf_status zf_cuda_kernel_facts(zf_accelerator *self, zf_accelerator_code *code, uint32_t kernel, zf_kernel_facts *out,
                               zf_error *error) {
    zf_cuda *cuda = (zf_cuda *)self;
    const zf_cuda_driver *d = cuda->driver;
    *out = (zf_kernel_facts){0};
    if (kernel >= code->count || code->kernels[kernel].threads == 0) return ZF_OK;
    zf_cu_function function = code->kernels[kernel].function;
    uint32_t threads = code->kernels[kernel].threads, dynamic = code->kernels[kernel].dynamic_bytes;
    int registers = 0, local = 0, shared = 0, blocks = 0;
    ZF_TRY(zf_cuda_enter(cuda, error));
    zf_cu_result result = d->function_attribute(&registers, ZF_CU_FUNCTION_REGISTERS, function);
    if (result == ZF_CU_SUCCESS) result = d->function_attribute(&local, ZF_CU_FUNCTION_LOCAL_BYTES, function);
    if (result == ZF_CU_SUCCESS) result = d->function_attribute(&shared, ZF_CU_FUNCTION_SHARED_BYTES, function);
    if (result == ZF_CU_SUCCESS) result = d->occupancy(&blocks, function, (int)threads, dynamic);
    zf_cuda_leave(cuda);
    *out = (zf_kernel_facts){threads, (uint32_t)registers, (uint32_t)local, (uint32_t)shared + dynamic, (uint32_t)blocks};
    return zf_cuda_check(cuda, result, "asking for a kernel's registers", error);
}

// ---- Launches -------------------------------------------------------------------------------------------------

zf_status zf_cuda_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel, uint32_t groups,
                         const zf_simt_args *args, zf_error *error) {
    zf_cuda *cuda = (zf_cuda *)self;
    if (kernel >= code->count || groups == 0 || groups > ZF_SIMT_MOST_TILES || args->block_count == 0 ||
        args->block_count > ZF_SIMT_MOST_BLOCKS) {
        return zf_raise(error, ZF_E_INTERNAL, "a launch of kernel %u with %u thread blocks for %u blocks", kernel, groups,
                        args->block_count);
    }
    zf_simt_args copy = *args;
    void *arguments[] = {&copy.base,     &copy.blocks,  &copy.first,   &copy.work,        &copy.out,
                         &copy.validity, &copy.offsets, &copy.failure, &copy.block_count, &copy.even};
    ZF_TRY(zf_cuda_enter(cuda, error));
    const loaded_kernel *loaded = &code->kernels[kernel];
    zf_cu_result result = cuda->driver->launch(loaded->function, groups, 1, 1, loaded->threads, 1, 1, loaded->dynamic_bytes,
                                               stream, arguments, NULL);
    zf_cuda_leave(cuda);
    return zf_cuda_check(cuda, result, "launching a kernel", error);
}

// Memory, copies, streams and events of a GPU, and what its driver's results mean.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error_codes.h"
#include "runtime/device/cuda/cuda_internal.h"

typedef unsigned long long ull;

// ---- Results --------------------------------------------------------------------------------------------------

/// Results after which the driver answers every call on the context with the same one.
static const char *what_destroyed(zf_cu_result result) {
    switch (result) {
    case ZF_CU_ILLEGAL_ADDRESS: return "a kernel touched memory outside its buffers";
    case ZF_CU_MISALIGNED_ADDRESS: return "a kernel touched memory at an address that is not aligned";
    case ZF_CU_INVALID_ADDRESS_SPACE:
    case ZF_CU_INVALID_PC:
    case ZF_CU_ILLEGAL_INSTRUCTION:
    case ZF_CU_HARDWARE_STACK_ERROR:
    case ZF_CU_LAUNCH_FAILED: return "a kernel failed";
    case ZF_CU_LAUNCH_TIMEOUT: return "a kernel ran longer than the driver allows";
    case ZF_CU_ASSERT: return "a kernel stopped at an assertion";
    case ZF_CU_ECC_UNCORRECTABLE: return "the GPU's memory has an error that cannot be corrected";
    case ZF_CU_CONTEXT_IS_DESTROYED:
    case ZF_CU_INVALID_CONTEXT: return "somebody destroyed or reset the GPU's context";
    case ZF_CU_DEINITIALIZED: return "the driver is shutting down";
    default: return NULL;
    }
}

static zf_status lost(zf_cuda *cuda, zf_cu_result result, const char *doing, zf_error *error) {
    char text[64];
    const char *why = what_destroyed(result);
    zf_status status =
        zf_raise(error, ZF_E_DEVICE_LOST, "device `cuda:%u` is lost: %s (%s, seen while %s)", cuda->index,
                 why != NULL ? why : "its context is gone", zf_cuda_result_text(cuda->driver, result, text, sizeof text), doing);
    return zf_fail_hint(error, status,
                        "all work of this process on that GPU is gone, also that of other libraries: start the process again; "
                        "compute-sanitizer finds the kernel");
}

/// Adds the remedies to an error of missing memory. `auto` takes the first GPU: free memory is known of started ones only, and a
/// choice that depended on it would change between calls.
static zf_status hint_full(const zf_cuda *cuda, const char *remedy, zf_status status, zf_error *error) {
    if (cuda->driver->devices < 2) return zf_fail_hint(error, status, "%s", remedy);
    return zf_fail_hint(error, status,
                        "%s; or name another GPU, such as `cuda:%u`: `auto` takes the first one, also if it is full", remedy,
                        cuda->index == 0 ? 1 : 0);
}

zf_status zf_cuda_check(zf_cuda *cuda, zf_cu_result result, const char *doing, zf_error *error) {
    if (result == ZF_CU_SUCCESS) return ZF_OK;
    if (what_destroyed(result) != NULL) {
        int none = 0;
        atomic_compare_exchange_strong(&cuda->lost, &none, result);
        return lost(cuda, result, doing, error);
    }
    char text[64];
    const char *said = NULL;
    if (cuda->driver->error_text(result, &said) != ZF_CU_SUCCESS || said == NULL) said = "no description";
    zf_status status = zf_raise(error, ZF_E_DEVICE_CALL, "device `cuda:%u`: %s failed with %s: %s", cuda->index, doing,
                                zf_cuda_result_text(cuda->driver, result, text, sizeof text), said);
    if (result == ZF_CU_OUT_OF_MEMORY)
        return hint_full(cuda, "the GPU has no memory left for it; other programs on it are shown by `nvidia-smi`", status,
                         error);
    if (result == ZF_CU_LAUNCH_OUT_OF_RESOURCES)
        return zf_fail_hint(error, status,
                            "the kernel needs more registers or shared memory than a thread block of this GPU has");
    return status;
}

zf_status zf_cuda_enter(zf_cuda *cuda, zf_error *error) {
    zf_cu_result before = atomic_load(&cuda->lost);
    if (before != ZF_CU_SUCCESS) return lost(cuda, before, "an earlier call", error);
    return zf_cuda_check(cuda, cuda->driver->context_push(cuda->context), "making the GPU's context current", error);
}

void zf_cuda_leave(zf_cuda *cuda) {
    zf_cu_context popped;
    cuda->driver->context_pop(&popped);
}

/// Leaves the context, and says what a call of the driver within it came to.
static zf_status leave(zf_cuda *cuda, zf_cu_result result, const char *doing, zf_error *error) {
    zf_status status = zf_cuda_check(cuda, result, doing, error);
    zf_cuda_leave(cuda);
    return status;
}

/// Makes the context current to free something. A lost context has freed everything.
static bool enter_to_release(zf_cuda *cuda) { return zf_cuda_enter(cuda, NULL) == ZF_OK; }

static zf_cuda *of(zf_accelerator *self) { return (zf_cuda *)self; }

// ---- Memory ---------------------------------------------------------------------------------------------------

static zf_abi_target target(const zf_accelerator *self) {
    return (zf_abi_target){.family = ZF_TARGET_NVPTX, .arch = ((const zf_cuda *)self)->arch};
}

/// Memory that is aligned to 256 at least. `ordered`: from the pool of the driver, in the order of `stream`.
static zf_status take(zf_cuda *cuda, bool ordered, void *stream, uint64_t bytes, uint64_t *address, zf_error *error) {
    *address = 0;
    ZF_TRY(zf_cuda_enter(cuda, error));
    zf_cu_result result = ordered ? cuda->driver->memory_allocate_ordered(address, bytes != 0 ? bytes : 1, stream)
                                  : cuda->driver->memory_allocate(address, bytes != 0 ? bytes : 1);
    size_t free_bytes = 0, total = 0;
    bool full = result == ZF_CU_OUT_OF_MEMORY && cuda->driver->memory_info(&free_bytes, &total) == ZF_CU_SUCCESS;
    zf_cuda_leave(cuda);
    if (!full) return zf_cuda_check(cuda, result, "allocating memory", error);
    *address = 0;
    zf_status status = zf_raise(error, ZF_E_DEVICE_MEMORY, "device `cuda:%u`: %llu bytes are needed, and %llu of %llu are free",
                                cuda->index, (ull)bytes, (ull)free_bytes, (ull)total);
    return hint_full(cuda, "decode fewer rows at once; other programs on the GPU are shown by `nvidia-smi`", status, error);
}

static zf_status allocate(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    return take(of(self), false, NULL, bytes, address, error);
}

static void release(zf_accelerator *self, uint64_t address) {
    zf_cuda *cuda = of(self);
    if (address != 0 && enter_to_release(cuda)) leave(cuda, cuda->driver->memory_free(address), "giving something back", NULL);
}

static zf_status allocate_ordered(zf_accelerator *self, void *stream, uint64_t bytes, uint64_t *address, zf_error *error) {
    return take(of(self), of(self)->pools, stream, bytes, address, error);
}

/// Without pools the host waits for the stream. Where the driver refuses the stream, memory goes back all the same, for which it
/// waits for the GPU.
static void release_ordered(zf_accelerator *self, void *stream, uint64_t address) {
    zf_cuda *cuda = of(self);
    if (address == 0 || !enter_to_release(cuda)) return;
    zf_cu_result result = cuda->pools ? cuda->driver->memory_free_ordered(address, stream) : cuda->driver->stream_wait(stream);
    if (!cuda->pools || (result != ZF_CU_SUCCESS && what_destroyed(result) == NULL)) result = cuda->driver->memory_free(address);
    leave(cuda, result, "giving something back", NULL);
}

static zf_status host_allocate(zf_accelerator *self, uint64_t bytes, void **at, zf_error *error) {
    zf_cuda *cuda = of(self);
    *at = NULL;
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->host_allocate(at, bytes != 0 ? bytes : 1, 0), "allocating pinned memory of the host", error);
}

static void host_release(zf_accelerator *self, void *at) {
    zf_cuda *cuda = of(self);
    if (at != NULL && enter_to_release(cuda)) leave(cuda, cuda->driver->host_free(at), "giving something back", NULL);
}

static zf_status copy_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes, zf_error *error) {
    zf_cuda *cuda = of(self);
    if (bytes == 0) return ZF_OK;
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->copy_in(to, from, bytes, stream), "copying to the GPU", error);
}

static zf_status copy_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    zf_cuda *cuda = of(self);
    if (bytes == 0) return ZF_OK;
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->copy_out(to, from, bytes, stream), "copying from the GPU", error);
}

static zf_status copy_within(zf_accelerator *self, void *stream, uint64_t to, uint64_t from, uint64_t bytes, zf_error *error) {
    zf_cuda *cuda = of(self);
    if (bytes == 0) return ZF_OK;
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->copy_within(to, from, bytes, stream), "copying within the GPU's memory", error);
}

static zf_status fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes, zf_error *error) {
    zf_cuda *cuda = of(self);
    if (bytes == 0) return ZF_OK;
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->fill(to, byte, bytes, stream), "filling the GPU's memory", error);
}

// ---- Streams and events ---------------------------------------------------------------------------------------

static zf_status wait_for(zf_accelerator *self, void *stream, zf_error *error) {
    zf_cuda *cuda = of(self);
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->stream_wait(stream), "waiting for a stream", error);
}

static zf_status wait_for_all(zf_accelerator *self, zf_error *error) {
    zf_cuda *cuda = of(self);
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->context_wait(), "waiting for the GPU", error);
}

static zf_status stream_open(zf_accelerator *self, void **stream, zf_error *error) {
    zf_cuda *cuda = of(self);
    *stream = NULL;
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->stream_create((zf_cu_stream *)stream, ZF_CU_STREAM_NON_BLOCKING), "making a stream", error);
}

static void stream_close(zf_accelerator *self, void *stream) {
    zf_cuda *cuda = of(self);
    if (stream != NULL && enter_to_release(cuda))
        leave(cuda, cuda->driver->stream_destroy(stream), "giving something back", NULL);
}

static zf_status event_open(zf_accelerator *self, bool timed, void **event, zf_error *error) {
    zf_cuda *cuda = of(self);
    *event = NULL;
    ZF_TRY(zf_cuda_enter(cuda, error));
    unsigned flags = timed ? ZF_CU_EVENT_DEFAULT : ZF_CU_EVENT_DISABLE_TIMING;
    return leave(cuda, cuda->driver->event_create((zf_cu_event *)event, flags), "making an event", error);
}

static void event_close(zf_accelerator *self, void *event) {
    zf_cuda *cuda = of(self);
    if (event != NULL && enter_to_release(cuda)) leave(cuda, cuda->driver->event_destroy(event), "giving something back", NULL);
}

static zf_status event_note(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    zf_cuda *cuda = of(self);
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->event_record(event, stream), "noting an event", error);
}

static zf_status stream_follow(zf_accelerator *self, void *stream, void *event, zf_error *error) {
    zf_cuda *cuda = of(self);
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->stream_follow(stream, event, 0), "ordering streams", error);
}

static zf_status event_wait(zf_accelerator *self, void *event, zf_error *error) {
    zf_cuda *cuda = of(self);
    ZF_TRY(zf_cuda_enter(cuda, error));
    return leave(cuda, cuda->driver->event_wait(event), "waiting for an event", error);
}

static zf_status event_seconds(zf_accelerator *self, void *from, void *to, double *seconds, zf_error *error) {
    zf_cuda *cuda = of(self);
    float milliseconds = 0;
    *seconds = 0;
    ZF_TRY(zf_cuda_enter(cuda, error));
    zf_cu_result result = cuda->driver->event_wait(to);
    if (result == ZF_CU_SUCCESS) result = cuda->driver->event_elapsed(&milliseconds, from, to);
    zf_cuda_leave(cuda);
    ZF_TRY(zf_cuda_check(cuda, result, "waiting for an event", error));
    *seconds = (double)milliseconds / 1e3;
    return ZF_OK;
}

// ---- The accelerator ------------------------------------------------------------------------------------------

static zf_status multiprocessor_facts(zf_accelerator *self, zf_multiprocessor_facts *out, zf_error *error) {
    zf_cuda *cuda = (zf_cuda *)self;
    const struct {
        int attribute;
        uint32_t *to;
    } facts[] = {{ZF_CU_DEVICE_MULTIPROCESSORS, &out->count},
                 {ZF_CU_DEVICE_MULTIPROCESSOR_REGISTERS, &out->registers},
                 {ZF_CU_DEVICE_MULTIPROCESSOR_THREADS, &out->threads},
                 {ZF_CU_DEVICE_MULTIPROCESSOR_BLOCKS, &out->blocks},
                 {ZF_CU_DEVICE_MULTIPROCESSOR_SHARED_BYTES, &out->shared},
                 {ZF_CU_DEVICE_BLOCK_SHARED_BYTES, &out->block_shared},
                 {ZF_CU_DEVICE_WARP, &out->warp}};
    *out = (zf_multiprocessor_facts){0};
    for (size_t f = 0; f < sizeof facts / sizeof *facts; f++) {
        int value = 0;
        zf_cu_result result = cuda->driver->device_attribute(&value, facts[f].attribute, cuda->device);
        ZF_TRY(zf_cuda_check(cuda, result, "asking for what a multiprocessor has", error));
        *facts[f].to = value > 0 ? (uint32_t)value : 0;
    }
    return ZF_OK;
}

static const zf_accelerator_ops operations = {
    .name = "cuda",
    .target = target,
    .allocate = allocate,
    .release = release,
    .allocate_ordered = allocate_ordered,
    .release_ordered = release_ordered,
    .wait_for_all = wait_for_all,
    .host_allocate = host_allocate,
    .host_release = host_release,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_within = copy_within,
    .fill = fill,
    .load = zf_cuda_load,
    .unload = zf_cuda_unload,
    .launch = zf_cuda_launch,
    .move_bits = zf_cuda_move_bits,
    .zones = zf_cuda_zones,
    .kernel_facts = zf_cuda_kernel_facts,
    .multiprocessor_facts = multiprocessor_facts,
    .wait = wait_for,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .event_open = event_open,
    .event_close = event_close,
    .event_note = event_note,
    .stream_follow = stream_follow,
    .event_wait = event_wait,
    .event_seconds = event_seconds,
};

static zf_status open_gpu(zf_cuda *cuda, zf_error *error) {
    const zf_cuda_driver *d = cuda->driver;
    int major = 0, minor = 0, pools = 0;
    ZF_TRY(zf_cuda_check(cuda, d->device_get(&cuda->device, (int)cuda->index), "finding the GPU", error));
    zf_cu_result result = d->device_attribute(&major, ZF_CU_DEVICE_CAPABILITY_MAJOR, cuda->device);
    if (result == ZF_CU_SUCCESS) result = d->device_attribute(&minor, ZF_CU_DEVICE_CAPABILITY_MINOR, cuda->device);
    ZF_TRY(zf_cuda_check(cuda, result, "asking for the GPU's compute capability", error));
    cuda->arch = (uint32_t)(major * 10 + minor);
    if (d->device_attribute(&pools, ZF_CU_DEVICE_MEMORY_POOLS, cuda->device) == ZF_CU_SUCCESS) cuda->pools = pools != 0;
    return zf_cuda_check(cuda, d->context_retain(&cuda->context, cuda->device), "starting the GPU's context", error);
}

zf_status zf_cuda_create(zf_context *owner, const zf_cuda_driver *driver, unsigned index, zf_accelerator **out, zf_error *error) {
    *out = NULL;
    zf_cuda *cuda = calloc(1, sizeof *cuda);
    if (cuda == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a device");
    *cuda = (zf_cuda){.base = {.ops = &operations}, .driver = driver, .owner = owner, .index = index};
    zf_status status = open_gpu(cuda, error);
    if (status != ZF_OK) {
        free(cuda);
        return status;
    }
    pthread_mutex_init(&cuda->lock, NULL);
    *out = &cuda->base;
    return ZF_OK;
}

void zf_cuda_free(zf_accelerator *accelerator) {
    zf_cuda *cuda = (zf_cuda *)accelerator;
    if (cuda == NULL) return;
    bool entered = zf_cuda_enter(cuda, NULL) == ZF_OK;
    zf_cuda_unload_all(cuda, entered);
    if (entered) zf_cuda_leave(cuda);
    cuda->driver->context_release(cuda->device);
    pthread_mutex_destroy(&cuda->lock);
    free(cuda);
}

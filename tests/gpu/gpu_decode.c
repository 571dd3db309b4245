#include "tests/gpu/gpu_decode.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/emu.h"

enum { POISON = 0xa5 };

static bool whole(const uint8_t *bytes, uint64_t count) {
    return count == 0 || (bytes[0] == GPU_CANARY && memcmp(bytes, bytes + 1, count - 1) == 0);
}

// ---- Memory ---------------------------------------------------------------------------------------------------

static zf_status take(gpu_decode *d, uint64_t bytes, gpu_memory *out, zf_error *error) {
    const zf_accelerator_ops *ops = d->machine->accelerator->ops;
    ZF_TRY(ops->allocate(d->machine->accelerator, bytes + 2 * d->canary, &out->map, error));
    out->at = out->map + d->canary;
    out->bytes = bytes;
    ZF_TRY(ops->fill(d->machine->accelerator, d->stream, out->map, GPU_CANARY, d->canary, error));
    return ops->fill(d->machine->accelerator, d->stream, out->at + bytes, GPU_CANARY, d->canary, error);
}

static bool untouched(gpu_decode *d, const gpu_memory *memory) {
    const zf_accelerator_ops *ops = d->machine->accelerator->ops;
    zf_error error;
    if (d->canary == 0 || memory->map == 0) return true;
    uint8_t *bytes = malloc(2 * d->canary);
    bool read = ops->copy_out(d->machine->accelerator, d->stream, bytes, memory->map, d->canary, &error) == ZF_OK &&
                ops->copy_out(d->machine->accelerator, d->stream, bytes + d->canary, memory->at + memory->bytes, d->canary,
                              &error) == ZF_OK &&
                ops->wait(d->machine->accelerator, d->stream, &error) == ZF_OK;
    bool good = read && whole(bytes, 2 * d->canary);
    free(bytes);
    return good;
}

const char *gpu_decode_touched(gpu_decode *d) {
    if (!untouched(d, &d->values)) return "values";
    if (!untouched(d, &d->offsets)) return "offsets";
    if (!untouched(d, &d->validity)) return "validity";
    if (!untouched(d, &d->workspace)) return "workspace";
    if (d->staging_map == NULL || d->canary == 0) return NULL;
    bool good = whole(d->staging_map, d->canary) && whole(d->staging_map + d->canary + d->sizes.staging, d->canary);
    return good ? NULL : "staging, in which the status is";
}

// ---- The decode -----------------------------------------------------------------------------------------------

zf_status gpu_decode_open(gpu_machine *machine, zf_container *container, size_t column, const zf_decode_options *options,
                          uint64_t canary, void *stream, gpu_decode *d, zf_error *error) {
    *d = (gpu_decode){.machine = machine, .canary = canary, .poisons = canary > 0, .stream = stream};
    const zf_accelerator_ops *ops = machine->accelerator->ops;
    void *staging = NULL;
    double begin = gpu_work_seconds(machine);
    zf_status prepared = zf_decode_prepare(container, column, machine->device, options, &d->prepared, error);
    d->prepare_seconds = gpu_work_seconds(machine) - begin;
    ZF_TRY(prepared);
    ZF_TRY(zf_decode_device_size(d->prepared, &d->sizes, error));
    ZF_TRY(take(d, d->sizes.values, &d->values, error));
    ZF_TRY(take(d, d->sizes.offsets, &d->offsets, error));
    ZF_TRY(take(d, d->sizes.validity, &d->validity, error));
    ZF_TRY(take(d, d->sizes.workspace, &d->workspace, error));
    ZF_TRY(ops->host_allocate(machine->accelerator, d->sizes.staging + 2 * canary, &staging, error));
    d->staging_map = staging;
    memset(d->staging_map, GPU_CANARY, canary);
    memset(d->staging_map + canary + d->sizes.staging, GPU_CANARY, canary);
    d->buffers = (zf_device_buffers){.values = d->values.at,
                                     .workspace = d->workspace.at,
                                     .offsets = d->offsets.at,
                                     .validity = d->validity.at,
                                     .staging = d->staging_map + canary,
                                     ZF_DEVICE_BYTES(d->sizes)};
    return ZF_OK;
}

void gpu_decode_close(gpu_decode *d) {
    const zf_accelerator_ops *ops = d->machine->accelerator->ops;
    ops->release(d->machine->accelerator, d->values.map);
    ops->release(d->machine->accelerator, d->offsets.map);
    ops->release(d->machine->accelerator, d->validity.map);
    ops->release(d->machine->accelerator, d->workspace.map);
    ops->host_release(d->machine->accelerator, d->staging_map);
    zf_prepared_free(d->prepared);
    free(d->copy);
    free(d->copy_offsets);
    free(d->copy_validity);
    *d = (gpu_decode){0};
}

static zf_status poison(gpu_decode *d, const gpu_memory *memory, zf_error *error) {
    zf_accelerator *accelerator = d->machine->accelerator;
    ZF_TRY(accelerator->ops->fill(accelerator, d->stream, memory->at, POISON, memory->bytes, error));
    if (d->machine->emulated) zf_emu_forget(accelerator, memory->at, memory->bytes); // kernels must not read it
    return ZF_OK;
}

zf_status gpu_decode_queue(gpu_decode *d, zf_error *error) {
    ZF_TRY(poison(d, &d->values, error));
    ZF_TRY(poison(d, &d->offsets, error));
    ZF_TRY(poison(d, &d->validity, error));
    if (d->poisons) ZF_TRY(poison(d, &d->workspace, error)); // exact buffers are for tools that see what nobody wrote
    return zf_decode_async(d->prepared, d->stream, &d->buffers, error);
}

zf_status gpu_decode_wait(gpu_decode *d, zf_decode_stats *stats, zf_error *error) {
    ZF_TRY(d->machine->accelerator->ops->wait(d->machine->accelerator, d->stream, error));
    return zf_decode_status(d->prepared, stats, error);
}

static zf_status fetch(gpu_decode *d, const gpu_memory *from, uint8_t **to, zf_error *error) {
    if (*to == NULL) *to = malloc(from->bytes + 1);
    if (*to == NULL) abort();
    return d->machine->accelerator->ops->copy_out(d->machine->accelerator, d->stream, *to, from->at, from->bytes, error);
}

zf_status gpu_decode_fetch(gpu_decode *d, zf_error *error) {
    ZF_TRY(fetch(d, &d->values, &d->copy, error));
    ZF_TRY(fetch(d, &d->offsets, &d->copy_offsets, error));
    ZF_TRY(fetch(d, &d->validity, &d->copy_validity, error));
    return d->machine->accelerator->ops->wait(d->machine->accelerator, d->stream, error);
}

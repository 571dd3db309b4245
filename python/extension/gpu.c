#include "python/extension/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- GPUs -----------------------------------------------------------------------------------------------------

static zf_status make(zf_py_home *home, const char *name, zf_py_gpu **out, zf_error *error) {
    zf_py_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a device");
    gpu->context = home->context;
    gpu->process = home->process;
    snprintf(gpu->name, sizeof gpu->name, "%s", name);
    gpu->number = (int)strtol(name + strcspn(name, "0123456789"), NULL, 10);
    zf_status status = zf_pipeline_create(home->context, name, NULL, &gpu->pipeline, error);
    if (status != ZF_OK) {
        free(gpu);
        return status;
    }
    gpu->next = home->gpus;
    home->gpus = gpu;
    *out = gpu;
    return ZF_OK;
}

zf_status zf_py_gpu_find(zf_py_home *home, const char *name, zf_py_gpu **out, zf_error *error) {
    pthread_mutex_lock(&home->lock);
    zf_py_gpu *gpu = home->gpus;
    while (gpu != NULL && strcmp(gpu->name, name) != 0) gpu = gpu->next;
    *out = gpu;
    zf_status status = gpu != NULL ? ZF_OK : make(home, name, out, error);
    pthread_mutex_unlock(&home->lock);
    return status;
}

bool zf_py_gpus_free(zf_py_home *home) {
    for (zf_py_gpu *gpu = home->gpus; gpu != NULL; gpu = gpu->next) {
        if (atomic_load(&gpu->columns) > 0) return false;
    }
    for (zf_py_gpu *gpu = home->gpus, *next; gpu != NULL; gpu = next) {
        next = gpu->next;
        zf_pipeline_free(gpu->pipeline);
        free(gpu);
    }
    home->gpus = NULL;
    return true;
}

// ---- Owners that nobody needs any more ------------------------------------------------------------------------

// A storage may be released by a thread that has no GIL, and must not take it: it may hold locks that a thread with the GIL waits
// for. Owners lie in a list until somebody with the GIL comes by.

typedef struct owner {
    struct owner *next;
    PyObject *object;
    long process; ///< a forked child leaves its parent's objects alone
} owner;

static _Atomic(owner *) owners;

void zf_py_drop_owners(void) {
    for (owner *one = atomic_exchange(&owners, NULL), *next; one != NULL; one = next) {
        next = one->next;
        if (one->process == (long)getpid()) Py_DECREF(one->object);
        free(one);
    }
}

static int drop_pending(void *none) {
    (void)none;
    zf_py_drop_owners();
    return 0;
}

/// Any thread. Where memory or the interpreter has ended, the object stays for ever.
void zf_py_drop_later(PyObject *object) {
    owner *one = object != NULL ? malloc(sizeof *one) : NULL;
    if (one == NULL) return;
    one->object = object;
    one->process = (long)getpid();
    one->next = atomic_load(&owners);
    while (!atomic_compare_exchange_weak(&owners, &one->next, one)) {
    }
    if (Py_IsInitialized()) Py_AddPendingCall(drop_pending, NULL); // refused: a later read drops it
}

// ---- Storages -------------------------------------------------------------------------------------------------

zf_py_device_storage *zf_py_device_storage_new(zf_py_gpu *gpu, void *stream) {
    zf_py_device_storage *storage = calloc(1, sizeof *storage);
    if (storage == NULL) return NULL;
    atomic_init(&storage->references, 1);
    atomic_init(&storage->null_count, -1);
    atomic_fetch_add(&gpu->columns, 1);
    storage->gpu = gpu;
    storage->stream = stream;
    return storage;
}

zf_py_device_storage *zf_py_device_storage_hold(zf_py_device_storage *storage) {
    atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
    return storage;
}

static zf_status refuse_child(const zf_py_gpu *gpu, zf_error *error) {
    if (gpu->process == (long)getpid()) return ZF_OK;
    return zf_py_fail(error, ZF_ERR_DEVICE, gpu->name, "the column was read before a fork: a child has no memory of GPUs");
}

zf_status zf_py_device_storage_use(zf_py_device_storage *storage, void *stream, zf_error *error) {
    const zf_py_gpu *gpu = storage->gpu;
    if (stream == storage->stream) return ZF_OK;
    if (!storage->checked) {
        ZF_TRY_PY(refuse_child(gpu, error));
        ZF_TRY_PY(zf_device_follow(gpu->context, gpu->name, stream, storage->stream, error));
    }
    for (size_t k = 0; k < storage->user_count; k++) {
        if (storage->users[k] == stream) return ZF_OK;
    }
    void **users = realloc(storage->users, (storage->user_count + 1) * sizeof *users);
    if (users == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory for a stream");
    users[storage->user_count++] = stream;
    storage->users = users;
    return ZF_OK;
}

/// Orders what the storage's stream does from now on behind the consumers' work. A consumer may have destroyed its stream, and
/// drivers crash on the handle or take it for another stream: all but the default stream are not touched, and the host waits for
/// the GPU. False: neither is possible, and work may go on.
static bool follow_users(const zf_py_device_storage *storage) {
    zf_error error;
    const zf_py_gpu *gpu = storage->gpu;
    void *const legacy = (void *)(uintptr_t)1; // CU_STREAM_LEGACY
    if (storage->user_count == 0) return true;
    bool follows = storage->user_count == 1 && storage->users[0] == legacy &&
                   zf_device_follow(gpu->context, gpu->name, storage->stream, legacy, &error) == ZF_OK;
    return follows || zf_device_wait(gpu->context, gpu->name, &error) == ZF_OK;
}

void zf_py_device_storage_release(zf_py_device_storage *storage) {
    if (storage == NULL || atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) != 1) return;
    zf_py_gpu *gpu = storage->gpu;
    if (gpu->process != (long)getpid()) return; // a forked child has no context of CUDA, and the parent's owners are its own
    bool ended = follow_users(storage);         // else the memory stays for ever
    for (int p = 0; p < ZF_PY_PARTS; p++) {
        const zf_py_device_part *part = &storage->parts[p];
        if (part->owner != NULL && ended)
            zf_py_drop_later(part->owner);
        else if (ended)
            zf_device_release(gpu->context, gpu->name, storage->stream, part->allocated);
    }
    if (ended) zf_py_device_storage_release(storage->child);
    zf_py_drop_later(storage->stream_owner);
    free(storage->users);
    free(storage);
    atomic_fetch_sub(&gpu->columns, 1);
}

void zf_py_device_storage_check(zf_py_device_storage *storage, int64_t end) {
    for (; storage != NULL; storage = storage->child) {
        storage->checked = true;
        if (storage->child == NULL && end >= 0) storage->parts[ZF_PY_VALUES].bytes = (uint64_t)end;
    }
}

zf_status zf_py_device_copy(const zf_py_device_storage *storage, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    const zf_py_gpu *gpu = storage->gpu;
    ZF_TRY_PY(refuse_child(gpu, error));
    return zf_device_copy_out(gpu->context, gpu->name, storage->stream, to, from, bytes, error);
}

zf_status zf_py_device_nulls(zf_py_device_storage *storage, int64_t *nulls, zf_error *error) {
    const zf_py_device_part *part = &storage->parts[ZF_PY_VALIDITY];
    *nulls = atomic_load(&storage->null_count);
    if (*nulls >= 0) return ZF_OK;
    uint64_t valid = 0, end = part->bit + (uint64_t)storage->rows;
    if (part->allocated != 0 && storage->rows > 0) {
        uint64_t bytes = end / 8 + (end % 8 != 0);
        uint8_t *bits = malloc(bytes);
        if (bits == NULL) return zf_py_fail(error, ZF_ERR_MEMORY, "", "no memory to count nulls");
        zf_status status = zf_py_device_copy(storage, bits, part->at, bytes, error);
        if (status == ZF_OK) {
            memset(bits, 0, part->bit / 8); // rows before the first, in its word
            bits[part->bit / 8] &= (uint8_t)(0xff << part->bit % 8);
            if (end % 8 != 0) bits[bytes - 1] &= (uint8_t)((1u << end % 8) - 1);
            for (uint64_t k = 0; k < bytes; k++) valid += (uint64_t)__builtin_popcount(bits[k]);
        }
        free(bits);
        ZF_TRY_PY(status);
    }
    *nulls = part->allocated != 0 ? storage->rows - (int64_t)valid : 0;
    atomic_store(&storage->null_count, *nulls);
    return ZF_OK;
}

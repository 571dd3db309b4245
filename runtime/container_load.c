// A container whose file was read into memory once.
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/container_open.h"
#include "runtime/device.h"
#include "runtime/error_codes.h"

enum { ALIGNMENT = 4096 }; ///< as a map has

static zf_status read_all(const zf_container *c, uint8_t *to, zf_error *error) {
    for (uint64_t at = 0; at < c->size;) {
        uint64_t left = c->size - at;
        ssize_t got = pread(c->fd, to + at, left < (1u << 30) ? left : 1u << 30, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return zf_raise_system(error, ZF_E_READ_FAILED, "read", c->path, errno);
        if (got == 0) break; // it became shorter, which is seen below
        at += (uint64_t)got;
    }
    return zf_container_unchanged(c, error);
}

zf_status zf_container_load(zf_container *c, const char *device, zf_error *error) {
    if (c == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_container_load needs a container");
    if (c->loaded) return zf_raise(error, ZF_E_ARGUMENT, "%.256s is loaded already", c->path);
    zf_device chosen;
    zf_accelerator *accelerator = NULL;
    void *memory = NULL;
    ZF_TRY(zf_device_find(c->context, device != NULL ? device : "auto", &chosen, error));
    if (chosen.ops->start != NULL) {
        ZF_TRY(zf_device_accelerator(c->context, &chosen, &accelerator, error));
        ZF_TRY(accelerator->ops->host_allocate(accelerator, c->size + ALIGNMENT, &memory, error));
    } else if ((memory = malloc(c->size + ALIGNMENT)) == NULL) {
        return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the %llu bytes of %.256s", (unsigned long long)c->size, c->path);
    }
    uint8_t *bytes = (uint8_t *)memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;
    zf_status status = read_all(c, bytes, error);
    if (status != ZF_OK) {
        if (accelerator != NULL)
            accelerator->ops->host_release(accelerator, memory);
        else
            free(memory);
        return status;
    }
    munmap((void *)(uintptr_t)c->map, c->size);
    c->map = bytes;
    c->memory = memory;
    c->pinned = accelerator;
    c->loaded = true;
    return ZF_OK;
}

void zf_container_unload(zf_container *c) {
    if (c->pinned != NULL)
        c->pinned->ops->host_release(c->pinned, c->memory);
    else
        free(c->memory);
}

// A container whose file was read into memory once.
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/base/pool.h"
#include "runtime/container_format.h"
#include "runtime/container_open.h"
#include "runtime/context.h"
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

typedef struct summing {
    const zf_container *container;
    zf_index_block **blocks;
} summing;

static void sum_block(void *user, uint64_t index, unsigned worker) {
    const summing *s = user;
    zf_index_block *block = s->blocks[index];
    const uint8_t *bytes = s->container->map + block->offset;
    (void)worker;
    block->sound = XXH3_64bits(bytes + 8, block->bytes - 8) == block->checksum && zf_load64(bytes) == block->checksum;
}

/// Compares all blocks with their checksums: what decodes them later need not. Those that are damaged are told of by who does.
static zf_status sum_blocks(zf_container *c, zf_error *error) {
    uint64_t count = 0;
    for (uint32_t k = 0; k < c->index.column_count; k++) count += c->index.columns[k].block_count;
    summing s = {c, calloc(count + 1, sizeof *s.blocks)};
    if (s.blocks == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for the blocks of %.256s", c->path);
    count = 0;
    for (uint32_t k = 0; k < c->index.column_count; k++) {
        for (uint64_t b = 0; b < c->index.columns[k].block_count; b++) s.blocks[count++] = &c->index.columns[k].blocks[b];
    }
    zf_parallel_for(zf_context_threads(c->context, 0), count, sum_block, &s);
    free(s.blocks);
    return ZF_OK;
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
    return sum_blocks(c, error);
}

void zf_container_unload(zf_container *c) {
    if (c->pinned != NULL)
        c->pinned->ops->host_release(c->pinned, c->memory);
    else
        free(c->memory);
}

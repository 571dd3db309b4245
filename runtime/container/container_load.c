// A container whose bytes were read into memory once.
#include <stdlib.h>

#include "runtime/base/checksum.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/container_format.h"
#include "runtime/container/container_open.h"
#include "runtime/context/context.h"
#include "runtime/device/device.h"

// ---- Reading --------------------------------------------------------------------------------------------------

/// Bytes that a thread reads at once: whole pages, so that none is read by two.
static const uint64_t CHUNK = 8 << 20;

typedef struct reading {
    zf_byte_source *source;
    uint8_t *to;
} reading;

static zf_status read_chunk(void *user, uint64_t index, unsigned worker, zf_error *error) {
    const reading *r = user;
    uint64_t at = index * CHUNK, left = r->source->size - at;
    (void)worker;
    return zf_byte_source_read_run(r->source, at, left < CHUNK ? left : CHUNK, r->to + at, NULL, error);
}

/// By several threads, since a disk is faster so, and so is what the page cache has.
static zf_status read_all(zf_container *c, uint8_t *to, zf_error *error) {
    reading r = {&c->source, to};
    uint64_t chunks = (c->source.size + CHUNK - 1) / CHUNK;
    return zf_container_explain(c, zf_parallel_try(zf_context_threads(c->context, 0), chunks, read_chunk, &r, error), error);
}

// ---- Checksums ------------------------------------------------------------------------------------------------

typedef struct summing {
    const zf_container *container;
    zf_index_block **blocks;
} summing;

static void sum_block(void *user, uint64_t index, unsigned worker) {
    const summing *s = user;
    zf_index_block *block = s->blocks[index];
    const uint8_t *bytes = s->container->source.map + block->offset;
    (void)worker;
    block->sound = zf_checksum(bytes + 8, block->bytes - 8) == block->checksum && zf_load64(bytes) == block->checksum;
}

/// Verifies the checksums of all blocks, so that later decodes need not. The decodes of damaged blocks report them.
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

// ---- All of it ------------------------------------------------------------------------------------------------

zf_status zf_container_load(zf_container *c, const char *device, zf_error *error) {
    if (c == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_container_load needs a container");
    if (c->loaded) return zf_raise(error, ZF_E_ARGUMENT, "%.256s is loaded already", c->path);
    zf_device chosen;
    zf_accelerator *accelerator = NULL;
    zf_host_pages memory;
    ZF_TRY(zf_device_find(c->context, device != NULL ? device : "auto", &chosen, error));
    if (chosen.ops->start != NULL) ZF_TRY(zf_device_accelerator(c->context, &chosen, &accelerator, error));
    zf_status status = zf_host_pages_allocate(accelerator, c->source.size, &memory, error);
    if (status != ZF_OK) return zf_fail_place(error, status, "%s", c->path);
    status = read_all(c, memory.at, error);
    if (status != ZF_OK) {
        zf_host_pages_free(&memory);
        return status;
    }
    uint64_t size = c->source.size;
    zf_byte_source_close(&c->source);
    zf_byte_source_open_memory(&c->source, c->path, memory.at, size);
    c->memory = memory;
    c->loaded = true;
    return sum_blocks(c, error);
}

void zf_container_unload(zf_container *c) { zf_host_pages_free(&c->memory); }

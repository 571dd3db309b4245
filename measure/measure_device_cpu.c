// Measuring on the CPU: its memory is the host's, its clock the host's, its copy memcpy on the calling thread. Blocks are shared
// out to threads as zf_decode does it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measure.h"
#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/base/pool.h"
#include "runtime/container/element.h"
#include "runtime/context/context.h"
#include "runtime/decode/block_run.h"

typedef unsigned long long ull;

typedef struct host {
    zf_context *context;
    zf_device_state *state;
    unsigned threads;
} host;

static zf_status open_cpu(zf_context *context, const zf_device *device, unsigned threads, void **self, zf_error *error) {
    (void)device;
    host *h = calloc(1, sizeof *h);
    *self = h;
    if (h == NULL) return zf_raise_no_memory(error);
    h->context = context;
    h->threads = threads;
    zf_status status = zf_device_cpu_ops()->open(context, threads, &h->state, error);
    if (status != ZF_OK) free(h);
    return status;
}

static void close_cpu(void *self) {
    host *h = self;
    zf_device_cpu_ops()->close(h->state);
    free(h);
}

// ---- Memory and clock -----------------------------------------------------------------------------------------

static zf_status allocate_cpu(void *self, size_t bytes, void **out, zf_error *error) {
    (void)self;
    size_t size = bytes < SIZE_MAX - 8192 ? (bytes + 4096) & ~(size_t)4095 : 0; // at least a page
    *out = size > 0 ? aligned_alloc(4096, size) : NULL;
    if (*out == NULL) return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a buffer of %zu bytes", bytes);
    memset(*out, 1, size);
    return ZF_OK;
}

static void release_cpu(void *self, void *memory) {
    (void)self;
    free(memory);
}

static zf_status move_cpu(void *self, void *to, const void *from, size_t bytes, zf_error *error) {
    (void)self, (void)error;
    memcpy(to, from, bytes);
    return ZF_OK;
}

static zf_status land_cpu(void *self, size_t bytes, zf_host_pages *out, zf_error *error) {
    (void)self;
    return zf_host_pages_allocate(NULL, bytes, out, error);
}

static zf_status fill_cpu(void *self, void *at, int byte, size_t bytes, zf_error *error) {
    (void)self, (void)error;
    memset(at, byte, bytes);
    return ZF_OK;
}

static zf_status start_cpu(void *self, zf_measure_clock *clock, zf_error *error) {
    (void)self, (void)error;
    clock->begin = zf_clock_seconds();
    return ZF_OK;
}

static zf_status stop_cpu(void *self, zf_measure_clock *clock, double *seconds, zf_error *error) {
    (void)self, (void)error;
    *seconds = zf_clock_seconds() - clock->begin;
    return ZF_OK;
}

// ---- Decoding ---------------------------------------------------------------------------------------------------

typedef struct coded {
    const zf_abi_plan *plan;
    const zf_abi_code *code;
} coded;

typedef struct prepared {
    const zf_measure_work *work;
    zf_device_state *state;
    coded *coded;    ///< per block of the column
    zf_split split;  ///< of the threads over the blocks of all copies
    uint8_t *memory; ///< workspaces of all workers
    uint64_t memory_bytes;
} prepared;

static void finish_cpu(void *self, void *user) {
    prepared *p = user;
    (void)self;
    if (p == NULL) return;
    free(p->coded);
    free(p->memory);
    free(p);
}

static zf_status get_code(prepared *p, zf_context *context, uint64_t *kernels, zf_error *error) {
    const zf_measure_work *w = p->work;
    zf_abi_provider provider;
    for (uint64_t i = 0; i < w->block_count; i++) {
        const zf_block_view *view = &w->blocks[i].view;
        coded *c = &p->coded[i];
        uint64_t bytes;
        ZF_TRY(zf_context_plan(context, w->container, w->column, view->shape->branches, view->shape->branch_count,
                               (zf_abi_device){.target = {.family = ZF_TARGET_HOST}}, &provider, &c->plan, error));
        ZF_TRY(zf_block_work_bytes(c->plan, view, &bytes, error));
        ZF_TRY(zf_measure_code(&provider, c->plan, view, w->options->general, &c->code, error));
        bytes = (bytes + 4095) / 4096 * 4096;
        if (bytes > p->memory_bytes) p->memory_bytes = bytes;
        if (c->plan->kernel_count > *kernels) *kernels = c->plan->kernel_count;
    }
    return ZF_OK;
}

static zf_status prepare_cpu(void *self, const zf_measure_work *work, void **out, uint64_t *kernels, zf_error *error) {
    host *h = self;
    prepared *p = calloc(1, sizeof *p);
    *out = p;
    *kernels = 0;
    if (p == NULL) return zf_raise_no_memory(error);
    p->work = work;
    p->state = h->state;
    p->coded = calloc(work->block_count + 1, sizeof *p->coded);
    if (p->coded == NULL) return zf_raise_no_memory(error);
    ZF_TRY(get_code(p, h->context, kernels, error));
    p->split = zf_split_threads(h->threads, work->copies * work->block_count);
    void *memory = NULL;
    ZF_TRY(allocate_cpu(self, p->memory_bytes * p->split.workers, &memory, error));
    p->memory = memory;
    return ZF_OK;
}

static zf_status decode_block(void *user, uint64_t index, unsigned worker, zf_error *error) {
    const prepared *p = user;
    const zf_measure_work *w = p->work;
    uint64_t copy = index / w->block_count, number = index % w->block_count;
    const zf_measure_block *b = &w->blocks[number];
    zf_block_view view = b->view, checked = {0};
    view.base = w->stored + copy * w->stored_stride + b->stored;
    char where[128];
    snprintf(where, sizeof where, "column %.64s, block %llu", w->info.name, (ull)number);
    if (w->options->checksums) ZF_TRY(zf_block_check(view.shape, view.base, view.bytes, true, where, &checked, error));
    uint8_t *out = w->out + copy * w->plain_stride;
    zf_block_run run = {
        .plan = p->coded[number].plan,
        .code = p->coded[number].code,
        .view = &view,
        .element = w->info.type.element,
        .nullable = w->info.type.nullable,
        .out = out + w->values_at + b->plain,
        .validity = w->info.type.nullable ? out + w->validity_at + view.first_row / 8 : NULL,
        .end = view.rows,
        .work = p->memory + worker * p->memory_bytes,
        .mode = ZF_ABI_DECODE,
        .where = where,
        .file = zf_container_path(w->container),
        .threads = zf_split_share(&p->split, index),
    };
    if (w->info.type.element == ZF_STRING) {
        int64_t *offsets = (int64_t *)(void *)out;
        if (number == 0) offsets[0] = 0;
        run.offsets = offsets + view.first_row;
        run.offset_base = b->plain;
        run.byte_end = zf_characters(w->info.type.nullable, view.rows, view.plain_bytes);
    }
    zf_status status = zf_device_cpu_ops()->run(p->state, &run, error);
    zf_block_view_free(&checked);
    return status;
}

static zf_status decode_cpu(void *self, void *user, zf_error *error) {
    prepared *p = user;
    (void)self;
    ZF_TRY(zf_split_try(&p->split, decode_block, p, error));
    return zf_device_cpu_ops()->finish(p->state, error);
}

const zf_measure_device zf_measure_device_cpu = {
    .name = "cpu",
    .comparers = 1,
    .copy = "memcpy on one thread",
    .checksums = true,
    .open = open_cpu,
    .close = close_cpu,
    .allocate = allocate_cpu,
    .release = release_cpu,
    .upload = move_cpu,
    .download = move_cpu,
    .land = land_cpu,
    .fill = fill_cpu,
    .start = start_cpu,
    .stop = stop_cpu,
    .copy_bytes = move_cpu,
    .prepare = prepare_cpu,
    .decode = decode_cpu,
    .finish = finish_cpu,
};

// An accelerator whose memory is the host's and whose kernels only read what they are given: for tests of who touches what when,
// under sanitizers that cannot follow the emulator's fibers. Tests put `late_accelerator.h` over it.
#ifndef ZF_TESTS_NULL_ACCELERATOR_H
#define ZF_TESTS_NULL_ACCELERATOR_H

#include <stdlib.h>
#include <string.h>

#include "tests/support/accelerator_ops.h"

typedef struct null_accelerator {
    zf_accelerator base;
    zf_accelerator_ops ops;
    zf_abi_target target;
} null_accelerator;

static inline void *null_memory(uint64_t bytes) { return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); }

static inline zf_abi_target null_target(const zf_accelerator *self) { return ((const null_accelerator *)self)->target; }
static inline zf_status null_allocate(zf_accelerator *self, uint64_t bytes, uint64_t *address, zf_error *error) {
    (void)self, (void)error;
    *address = (uint64_t)(uintptr_t)null_memory(bytes);
    return ZF_OK;
}
static inline void null_release(zf_accelerator *self, uint64_t address) {
    (void)self;
    free((void *)(uintptr_t)address);
}
static inline zf_status null_host_allocate(zf_accelerator *self, uint64_t bytes, void **at, zf_error *error) {
    (void)self, (void)error;
    *at = null_memory(bytes);
    return ZF_OK;
}
static inline void null_host_release(zf_accelerator *self, void *at) {
    (void)self;
    free(at);
}
static inline zf_status null_in(zf_accelerator *self, void *stream, uint64_t to, const void *from, uint64_t bytes,
                                zf_error *error) {
    (void)self, (void)stream, (void)error;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return ZF_OK;
}
static inline zf_status null_out(zf_accelerator *self, void *stream, void *to, uint64_t from, uint64_t bytes, zf_error *error) {
    (void)self, (void)stream, (void)error;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return ZF_OK;
}
static inline zf_status null_fill(zf_accelerator *self, void *stream, uint64_t to, uint8_t byte, uint64_t bytes,
                                  zf_error *error) {
    (void)self, (void)stream, (void)error;
    memset((void *)(uintptr_t)to, byte, bytes);
    return ZF_OK;
}
static inline zf_status null_load(zf_accelerator *self, const zf_abi_plan *plan, const zf_abi_code *code,
                                  zf_accelerator_code **out, zf_error *error) {
    (void)plan, (void)code, (void)error;
    *out = (zf_accelerator_code *)(void *)self; // never looked into
    return ZF_OK;
}
static inline zf_status null_launch(zf_accelerator *self, void *stream, zf_accelerator_code *code, uint32_t kernel,
                                    uint32_t groups, const zf_simt_args *args, zf_error *error) {
    volatile uint8_t sum = 0;
    const uint8_t *input = (const uint8_t *)(uintptr_t)args->base;
    (void)self, (void)stream, (void)code, (void)kernel, (void)groups, (void)error;
    for (uint64_t i = 0; i < args->base_bytes; i += 64) sum = (uint8_t)(sum + input[i]);
    return ZF_OK;
}

/// For code of the same kind as `other` wants.
static inline void null_begin(null_accelerator *null, zf_accelerator *other) {
    *null = (null_accelerator){.target = other->ops->target(other)};
    null->ops = (zf_accelerator_ops){ACCELERATOR_OPS(null)};
    null->base.ops = &null->ops;
}

#endif

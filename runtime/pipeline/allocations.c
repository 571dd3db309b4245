#include "runtime/pipeline/allocations.h"

#include "runtime/base/error_codes.h"
#include "runtime/pipeline/pipeline_internal.h"

typedef unsigned long long ull;

zf_status zf_allocator_check(const zf_pipeline_allocator *a, zf_error *error) {
    if ((a->device_allocate == NULL) == (a->device_free == NULL) && (a->host_allocate == NULL) == (a->host_free == NULL))
        return ZF_OK;
    return zf_raise(error, ZF_E_ARGUMENT, "an allocator needs both functions of a pair, or neither");
}

/// The caller's allocator gave nothing, or nothing that can be used.
static zf_status refused(const char *kind, uint64_t bytes, const char *what, uint64_t at, unsigned alignment, zf_error *error) {
    if (at == 0)
        return zf_raise(error, ZF_E_ALLOCATOR, "the caller's allocator could not allocate %llu bytes of %s for %s", (ull)bytes,
                        kind, what);
    return zf_raise(error, ZF_E_ALLOCATOR, "the caller's allocator returned %s for %s that is not aligned to %u bytes", kind,
                    what, alignment);
}

zf_status zf_device_part_take(zf_accelerator *accelerator, const zf_pipeline_allocator *allocator, uint64_t bytes,
                              const char *what, zf_device_part *out, zf_error *error) {
    *out = (zf_device_part){.bytes = bytes != 0 ? bytes : 1};
    if (allocator->device_allocate == NULL) {
        zf_status status = accelerator->ops->allocate(accelerator, out->bytes, &out->address, error);
        return status == ZF_OK ? ZF_OK : zf_fail_place(error, status, "%s", what);
    }
    out->address = allocator->device_allocate(allocator->user, out->bytes, ZF_PIPELINE_DEVICE_ALIGNMENT);
    if (out->address != 0 && out->address % ZF_PIPELINE_DEVICE_ALIGNMENT == 0) return ZF_OK;
    uint64_t given = out->address;
    zf_device_part_give(accelerator, allocator, out);
    return refused("device memory", bytes != 0 ? bytes : 1, what, given, ZF_PIPELINE_DEVICE_ALIGNMENT, error);
}

void zf_device_part_give(zf_accelerator *accelerator, const zf_pipeline_allocator *allocator, zf_device_part *part) {
    if (part->address != 0 && allocator->device_allocate != NULL)
        allocator->device_free(allocator->user, part->address, part->bytes);
    else if (part->address != 0)
        accelerator->ops->release(accelerator, part->address);
    *part = (zf_device_part){0};
}

zf_status zf_pinned_part_take(zf_accelerator *accelerator, const zf_pipeline_allocator *allocator, uint64_t bytes,
                              const char *what, zf_pinned_part *out, zf_error *error) {
    *out = (zf_pinned_part){.bytes = bytes};
    if (allocator->host_allocate == NULL) {
        zf_status status = zf_host_pages_allocate(accelerator, bytes, &out->pages, error);
        out->at = out->pages.at;
        return status == ZF_OK ? ZF_OK : zf_fail_place(error, status, "%s", what);
    }
    out->at = allocator->host_allocate(allocator->user, bytes, ZF_HOST_PAGE);
    if (out->at != NULL && (uintptr_t)out->at % ZF_HOST_PAGE == 0) return ZF_OK;
    uint64_t given = (uintptr_t)out->at;
    zf_pinned_part_give(allocator, out);
    return refused("pinned host memory", bytes, what, given, ZF_HOST_PAGE, error);
}

void zf_pinned_part_give(const zf_pipeline_allocator *allocator, zf_pinned_part *part) {
    if (part->at != NULL && allocator->host_allocate != NULL)
        allocator->host_free(allocator->user, part->at, part->bytes);
    else
        zf_host_pages_free(&part->pages);
    *part = (zf_pinned_part){0};
}

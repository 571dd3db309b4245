// The memory of a pipeline and of its batches, of the device and pinned: from the caller's allocator, or else from the device's
// driver. All of it is taken while they are made and given back when they are freed.
#ifndef ZF_RUNTIME_ALLOCATIONS_H
#define ZF_RUNTIME_ALLOCATIONS_H

#include "runtime/device/host_pages.h"
#include "zipflow/pipeline.h"

/// Memory of the device.
typedef struct zf_device_part {
    uint64_t address; ///< 0: none
    uint64_t bytes;
} zf_device_part;

/// Pinned memory of the host.
typedef struct zf_pinned_part {
    uint8_t *at; ///< NULL: none
    uint64_t bytes;
    zf_host_pages pages; ///< unless the caller's allocator gave it
} zf_pinned_part;

/// Whether the allocator's functions are there in pairs.
zf_status zf_allocator_check(const zf_pipeline_allocator *allocator, zf_error *error);

/// Memory of the device, aligned to 256; at least a byte. `what` is what it is for, in errors.
zf_status zf_device_part_take(zf_accelerator *accelerator, const zf_pipeline_allocator *allocator, uint64_t bytes,
                              const char *what, zf_device_part *out, zf_error *error);
void zf_device_part_give(zf_accelerator *accelerator, const zf_pipeline_allocator *allocator, zf_device_part *part);

/// Pinned memory, in whole pages.
zf_status zf_pinned_part_take(zf_accelerator *accelerator, const zf_pipeline_allocator *allocator, uint64_t bytes,
                              const char *what, zf_pinned_part *out, zf_error *error);
void zf_pinned_part_give(const zf_pipeline_allocator *allocator, zf_pinned_part *part);

#endif

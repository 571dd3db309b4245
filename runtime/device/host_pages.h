// Whole pages of the host's memory: what files are read into, and what a device copies from.
#ifndef ZF_RUNTIME_HOST_PAGES_H
#define ZF_RUNTIME_HOST_PAGES_H

#include "runtime/device/accelerator.h"

enum { ZF_HOST_PAGE = 4096 };

typedef struct zf_host_pages {
    uint8_t *at;           ///< a multiple of ZF_HOST_PAGE; NULL: none
    void *allocated;       ///< what was allocated: `at` lies in it
    zf_accelerator *owner; ///< NULL: of the heap
} zf_host_pages;

/// Pinned memory of an accelerator, or with NULL memory of the heap; its errors where there is none. All of the page in which the
/// last byte lies may be written to.
zf_status zf_host_pages_allocate(zf_accelerator *accelerator, uint64_t bytes, zf_host_pages *out, zf_error *error);
void zf_host_pages_free(zf_host_pages *pages);

#endif

#include "runtime/device/host_pages.h"

#include <stdlib.h>

#include "runtime/base/error_codes.h"
#include "runtime/container/container_format.h"

zf_status zf_host_pages_allocate(zf_accelerator *accelerator, uint64_t bytes, zf_host_pages *out, zf_error *error) {
    uint64_t room;
    *out = (zf_host_pages){.owner = accelerator};
    bool fits = zf_align_up(bytes, ZF_HOST_PAGE, &room) && !__builtin_add_overflow(room, (uint64_t)ZF_HOST_PAGE, &room);
    if (fits && accelerator != NULL)
        ZF_TRY(accelerator->ops->host_allocate(accelerator, room, &out->allocated, error));
    else if (fits)
        out->allocated = malloc(room);
    if (out->allocated == NULL)
        return zf_raise(error, ZF_E_NO_MEMORY, "no host memory for %llu bytes", (unsigned long long)bytes);
    uintptr_t beyond = (uintptr_t)out->allocated % ZF_HOST_PAGE;
    out->at = (uint8_t *)out->allocated + (beyond != 0 ? ZF_HOST_PAGE - beyond : 0);
    return ZF_OK;
}

void zf_host_pages_free(zf_host_pages *pages) {
    if (pages->allocated != NULL && pages->owner != NULL)
        pages->owner->ops->host_release(pages->owner, pages->allocated);
    else
        free(pages->allocated);
    *pages = (zf_host_pages){0};
}

// An open container, for the files that read it.
#ifndef ZF_RUNTIME_CONTAINER_OPEN_H
#define ZF_RUNTIME_CONTAINER_OPEN_H

#include <time.h>

#include "runtime/container/container_index.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/host_pages.h"

struct zf_container {
    zf_context *context;
    char *path;
    int fd;
    _Atomic int direct_fd; ///< runtime/container/read_file.c; 0: not opened, -1: cannot be
    const uint8_t *map;    ///< the whole file
    bool loaded;           ///< `map` lies in `memory`: the file is not read any more
    zf_host_pages memory;
    uint64_t size;
    struct timespec written; ///< time of the last change when it was opened
    zf_arena *arena;         ///< the index as read
    zf_index index;
    zf_unit_identity identity; ///< of the index's unit
    uint64_t index_offset, index_bytes;
};

/// Frees what zf_container_load brought.
void zf_container_unload(zf_container *container);

/// The path for places in errors: the end of a long one, since the file's name is what tells.
const char *zf_container_short_path(const zf_container *container);

/// Whether the file is still as it was when it was opened: ZF_OK, or ZF1208.
zf_status zf_container_unchanged(const zf_container *container, zf_error *error);
/// What work on the file came to, of which `status` (and, where it failed, `*error`) is known: where the file has changed
/// meanwhile, ZF1208, which explains every other failure and spoils a result without one; else `status`.
zf_status zf_container_explain(const zf_container *container, zf_status status, zf_error *error);
/// Reads a part of the file. ZF1208 where it ends before. Any thread.
zf_status zf_container_read_at(const zf_container *container, uint64_t offset, uint8_t *to, uint64_t size, zf_error *error);

#endif

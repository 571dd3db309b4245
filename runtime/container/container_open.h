// An open container, for the files that read it.
#ifndef ZF_RUNTIME_CONTAINER_OPEN_H
#define ZF_RUNTIME_CONTAINER_OPEN_H

#include "runtime/container/byte_source.h"
#include "runtime/container/container_index.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/host_pages.h"

struct zf_container {
    zf_context *context;
    uint64_t serial;
    char *path; ///< of the file, or the name that the caller gave
    zf_byte_source source;
    bool known_only; ///< zf_open_options.programs
    bool open;       ///< the caller has it
    bool loaded;     ///< the source is `memory`: what it was is closed
    zf_host_pages memory;
    zf_arena *arena; ///< the index as read
    zf_index index;
    zf_unit_identity identity; ///< of the index's unit
    uint64_t index_offset, index_bytes;
    _Atomic uint64_t fetched; ///< zf_container_fetched
};

/// Frees what zf_container_load brought.
void zf_container_unload(zf_container *container);

/// The path for places in errors: the end of a long one, since the file's name is what tells.
const char *zf_container_short_path(const zf_container *container);

/// Reads the first `bytes` of a block to `*memory`. If that is NULL, allocates `room` bytes first, at least `bytes`: memory that
/// a caller keeps serves several blocks. The caller frees it, also after a failure. `place`: of the block, for errors. Any
/// thread.
zf_status zf_container_read_block(zf_container *container, const zf_index_block *block, uint64_t bytes, uint64_t room,
                                  const char *place, uint8_t **memory, zf_error *error);

/// Whether the source is still as it was when it was opened: ZF_OK, or ZF1208.
zf_status zf_container_unchanged(const zf_container *container, zf_error *error);
/// Returns the status of work on the file, which ended with `status` and, if it failed, `*error`. If the file changed
/// meanwhile, the result is ZF1208: the change explains every other failure and invalidates a success.
zf_status zf_container_explain(const zf_container *container, zf_status status, zf_error *error);

#endif

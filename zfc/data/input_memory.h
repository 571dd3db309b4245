// The memory that inputs may take: a pipe or a device may have no end.
#ifndef ZF_ZFC_INPUT_MEMORY_H
#define ZF_ZFC_INPUT_MEMORY_H

#include "runtime/base/error.h"

typedef struct zf_input_memory {
    uint64_t most; ///< bytes; 0: no limit
    uint64_t held; ///< bytes of buffers that grew with zf_input_grow
} zf_input_memory;

/// Returns the default limit: three quarters of the memory of the machine or, if less, of its control group.
uint64_t zf_input_memory_most(void);
/// Grows a buffer of `*capacity` bytes to `wish` bytes, or to fewer where the limit is near, but at least to `least`. Returns it
/// and sets `*capacity`; NULL: ZF2015 without memory, ZF2021 above the limit, and the buffer stays as it is. `path` is what is
/// read, for the error.
void *zf_input_grow(zf_input_memory *memory, const char *path, void *buffer, size_t *capacity, size_t least, size_t wish,
                    zf_error *error);
/// Frees a buffer and counts its bytes no longer.
void zf_input_release(zf_input_memory *memory, void *buffer, size_t capacity);

#endif

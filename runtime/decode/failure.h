// What a failure word of a kernel (runtime/base/abi.h) means.
#ifndef ZF_RUNTIME_FAILURE_H
#define ZF_RUNTIME_FAILURE_H

#include "runtime/container/container.h"

typedef struct zf_failure {
    const zf_abi_plan *plan;
    const zf_abi_kernel *kernel; ///< that reported; NULL: a check of the whole block, before all kernels
    const zf_shape *shape;
    uint64_t first_row; ///< of the block
    const char *where;  ///< "lines.zfd: column a, block 3"
    const char *file;   ///< what the text is called that the container carries; NULL: the codec
} zf_failure;

/// Makes the error of a failure word, position << 16 | check, that is not ZF_ABI_NO_FAILURE.
zf_status zf_report_failure(const zf_failure *what, uint64_t failure, zf_error *error);

/// The failure word of a tile of a tree that cannot end in its state, which is seen without running its kernel.
zf_status zf_state_failure(const zf_abi_plan *plan, const zf_shape *shape, uint32_t tree, uint64_t tile, uint64_t *out,
                           zf_error *error);

/// Gives the error of a tile of a tree whose state cannot be, which is seen without running its kernel, the place that the
/// kernel's own would have. Returns its status.
zf_status zf_place_state(const zf_failure *what, uint32_t tree, uint64_t tile, zf_status status, zf_error *error);

/// Adds to an error about a block's header (zf_block_view.refused) who reads the stream, or has the param: path, algorithm, line.
/// `kernel` and `where` are not read.
void zf_place_refused(const zf_failure *what, const char *refused, zf_error *error);

#endif

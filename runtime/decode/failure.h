// Failure words of kernels (runtime/base/abi.h) as errors.
#ifndef ZF_RUNTIME_FAILURE_H
#define ZF_RUNTIME_FAILURE_H

#include "runtime/container/container.h"

typedef struct zf_failure {
    const zf_abi_plan *plan;
    const zf_abi_kernel *kernel; ///< that failed; NULL: a check of the whole block
    const zf_shape *shape;
    uint64_t first_row;    ///< of the block
    const char *where;     ///< "lines.zfd: column a, block 3"
    const char *file;      ///< name of the text that the container carries; NULL: "the codec"
    const uint64_t *slots; ///< descriptor words of the block; NULL: not known. A check of the whole block names its amounts
} zf_failure;

/// Fills the error of a failure word: position << 16 | check, not ZF_ABI_NO_FAILURE.
zf_status zf_report_failure(const zf_failure *what, uint64_t failure, zf_error *error);

/// Computes the failure word of a tile whose seek states contradict each other, so that its kernel need not run.
zf_status zf_state_failure(const zf_abi_plan *plan, const zf_shape *shape, uint32_t tree, uint64_t tile, uint64_t *out,
                           zf_error *error);

/// Adds to the error of such a tile the place that its kernel would report. Returns `status`.
zf_status zf_place_state(const zf_failure *what, uint32_t tree, uint64_t tile, zf_status status, zf_error *error);

/// Adds to an error about a block's header (zf_block_view.refused) who reads the stream or has the param: path, algorithm, line.
///
/// Ignores `kernel` and `where`.
void zf_place_refused(const zf_failure *what, const char *refused, zf_error *error);

#endif

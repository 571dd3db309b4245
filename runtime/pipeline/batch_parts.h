// The parts of which a batch is made, between the files that make it.
#ifndef ZF_RUNTIME_BATCH_PARTS_H
#define ZF_RUNTIME_BATCH_PARTS_H

#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"
#include "runtime/pipeline/pipeline_internal.h"

static inline const zf_index_column *zf_requested_column(const zf_requested *request) {
    return &request->given.container->index.columns[request->given.column];
}

static inline zf_status zf_batch_no_memory(zf_error *error) { return zf_raise(error, ZF_E_NO_MEMORY, "no memory for a batch"); }

/// Everything of a request but its units: checks it, gets its plans and, on an accelerator, memory for rows that go to the host.
zf_status zf_requested_open(zf_batch *batch, zf_requested *request, zf_error *error);
/// Gives back what that took; also after a failure.
void zf_requested_close(const zf_batch *batch, zf_requested *request);

/// Cuts request `number` into units behind those that are there: runs of blocks that follow each other in the file. A request
/// without rows has one without blocks. `room`: how many `transfers` has room for.
zf_status zf_batch_cut(zf_batch *batch, size_t *room, uint32_t number, zf_error *error);

/// Whether there is such a request, and the batch was started. Under the lock.
zf_status zf_batch_check_started(const zf_batch *batch, size_t request, zf_error *error);

/// Seconds that a copy, or the launches of a unit, take whatever its size (an H200: what queueing them takes the host).
#define ZF_COPY_COST 5e-6
#define ZF_DECODE_COST 12e-6

#endif

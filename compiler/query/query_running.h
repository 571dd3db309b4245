// A query while it runs: what its parts on a CPU (query_run.c) and on accelerators (query_device.c) share.
#ifndef ZF_COMPILER_QUERY_RUNNING_H
#define ZF_COMPILER_QUERY_RUNNING_H

#include "compiler/query/query_given.h"
#include "compiler/query/query_zones.h"
#include "runtime/device/device.h"

/// A column in the host's memory, of the rows of a batch.
typedef struct zf_query_batch_column {
    size_t index; ///< in the container
    void *values, *workspace;
    int64_t *offsets;
    uint8_t *validity;
    zf_decode_sizes sizes; ///< of the buffers
} zf_query_batch_column;

typedef struct zf_query_running {
    zf_program *program;
    const zf_query *query;
    zf_container *container;
    const zf_query_request *request;
    zf_query_batch_column *columns;
    zf_query_stream *streams;
    uint64_t *params;
    zf_query_fn function;
    zf_query_holding holding;
    zf_query_zones zones;
    uint64_t first, end; ///< rows of the table
    uint64_t batch;      ///< rows that a CPU decodes at a time, from a multiple of it on
} zf_query_running;

/// Where a query failed on an accelerator.
typedef struct zf_query_failure {
    bool failed;
    uint64_t row; ///< no row before it fails
} zf_query_failure;

/// Runs the rows on an accelerator, and leaves in the holding what a CPU would. A check that fails is not an error here:
/// `*failure` says so, and a CPU that runs the rows from there on says which.
zf_status zf_query_run_device(zf_query_running *running, zf_accelerator *accelerator, zf_query_failure *failure, zf_error *error);

#endif

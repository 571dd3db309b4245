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
    const zf_query_request *request; ///< as it was prepared
    zf_query_batch_column *columns;
    zf_query_stream *streams;
    uint64_t *addresses; ///< by input: in the device's memory; 0: the stream has it in the host's
    uint64_t *params;
    zf_query_fn function; ///< of the CPU; NULL: it is not made yet
    zf_jit_code *code;    ///< which has the function
    zf_query_holding holding;
    zf_query_zones zones;
    bool all_rows;        ///< no row is left out by zones, as where a CPU looks for what a device reported
    uint64_t first, end;  ///< rows of the table
    uint64_t first_pairs; ///< pairs: the least first number that a CPU runs
    uint64_t batch;       ///< rows that a CPU decodes at a time, from a multiple of it on
} zf_query_running;

// ---- On a CPU (query_run.c) ----

/// Finds the columns of the query, and the rows of the table.
zf_status zf_query_find_columns(zf_query_running *running, uint64_t *rows, zf_error *error);
/// Makes the function, once.
zf_status zf_query_make_function(zf_query_running *running, zf_error *error);
/// Chooses `batch`, of a query with columns.
void zf_query_choose_batch(zf_query_running *running);
/// Bytes of input `k`, once it is given.
uint64_t zf_query_input_bytes(const zf_query_running *running, uint32_t k);
/// Makes `zones`, for the params and inputs of a run; those in a device's memory are not known. Before rows are noted there.
zf_status zf_query_begin_zones(zf_query_running *running, zf_error *error);
/// Says in the answers which rows were not read.
void zf_query_count_skipped(const zf_query_running *running);
/// The error of a frame with a violation, by its row or pair and its place in the text.
zf_status zf_query_name_violation(const zf_query_running *running, const zf_query_frame *frame, zf_error *error);
/// Runs the function over the rows, on the request's threads, or pairs. Inputs are in host memory. Results are held, not final.
zf_status zf_query_run_cpu(zf_query_running *running, zf_error *error);
void zf_query_free_batches(zf_query_running *running);

// ---- On an accelerator (query_device.c) ----

/// A query's columns in an accelerator's memory, its code, and the results of the last run.
typedef struct zf_query_device zf_query_device;

/// Where a query failed on an accelerator.
typedef struct zf_query_failure {
    bool failed;
    uint64_t row; ///< no row before it fails; pairs: none of a first number before it
} zf_query_failure;

/// Brings the columns to the device, or makes ready for runs that do: rows `first` to `end` - 1 of them, which are all that its
/// runs read. `once`: it runs once, and `zones` are of that run; parts that cannot matter are not brought. `running` must stay. A
/// query of pairs has no columns: each run finds its pairs. Free `*out` with zf_query_device_close, also after an error.
zf_status zf_query_device_open(zf_query_running *running, zf_accelerator *accelerator, bool once, zf_query_device **out,
                               zf_error *error);
/// Runs the rows that may matter by `zones`, which notes them, behind the work on a stream, and waits for them. The count of each
/// result is known then. A check that fails is not an error here: `*failure` says so, and a CPU that runs the rows from there on
/// says which.
zf_status zf_query_device_run(zf_query_device *device, void *stream, zf_query_failure *failure, zf_error *error);
/// Runs the rows again, which did not fail, to take their time.
zf_status zf_query_device_time(zf_query_device *device, unsigned repeat, zf_error *error);
/// Brings a result to its answer, in its final form.
zf_status zf_query_device_fetch(zf_query_device *device, size_t result, zf_error *error);
/// Makes the elements of a result, `bytes` of them and one at least, or its validity, in the device's memory, and waits. Not of
/// sums of floats, for which zf_query_device_puts is false: their tiles are added in order, on the host.
zf_status zf_query_device_put(zf_query_device *device, size_t result, bool validity, uint64_t to, uint64_t bytes, void *stream,
                              zf_error *error);
bool zf_query_device_puts(const zf_query_device *device, size_t result);
/// NULL: nothing.
void zf_query_device_close(zf_query_device *device);

#endif

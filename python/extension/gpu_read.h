// Reading columns of a container into a GPU's memory.
#ifndef ZF_PYTHON_GPU_READ_H
#define ZF_PYTHON_GPU_READ_H

#include "python/extension/gpu.h"

/// One column to be read.
typedef struct zf_py_gpu_column {
    size_t column;                        ///< of the container
    int64_t width;                        ///< lists of this many values, where all are: they need no offsets; 0: other lists
    zf_py_device_part given[ZF_PY_PARTS]; ///< memory of the caller: `allocated`, `room`, `owner`; it has no owner: allocated here
    uint64_t bytes[ZF_PY_PARTS];          ///< out: that each part takes
    zf_py_device_storage *out;            ///< out: one reference
} zf_py_gpu_column;

/// Columns of a container that go through the GPU's pipeline together.
typedef struct zf_py_gpu_read {
    zf_py_home *home;
    zf_container *container;
    const char *device; ///< "cuda:0"
    void *stream;       ///< memory comes and goes in its order, and rows are written behind its work
    PyObject *stream_owner;
    zf_decode_options options;
    zf_py_gpu_column *columns;
    size_t count;
    zf_batch *batch; ///< from the start to the end; NULL before and after
} zf_py_gpu_read;

/// Fills `bytes` of all columns. Without the GIL. Errors: those of zf_pipeline_create and zf_pipeline_request_sizes.
zf_status zf_py_gpu_read_sizes(zf_py_gpu_read *read, zf_error *error);
/// Begins to decode the columns: fills `out` of all, or of none after an error. Their memory is written until the end. Without
/// the GIL; the container must stay open as long. Errors: those of zf_batch_create and zf_batch_start_behind.
zf_status zf_py_gpu_read_start(zf_py_gpu_read *read, zf_error *error);
/// Waits for column `k`, whose rows are there and checked then: `end` is for zf_py_device_storage_check. Without the GIL; one
/// thread at a time for each column. Errors: those of zf_batch_wait.
zf_status zf_py_gpu_read_wait(zf_py_gpu_read *read, size_t k, int64_t *end, zf_error *error);
/// Lets the read's stream wait for all columns, which are not checked. Without the GIL. Errors: those of zf_batch_follow.
zf_status zf_py_gpu_read_follow(const zf_py_gpu_read *read, zf_error *error);
/// Ends the read, and waits for what was enqueued of it: all, after zf_py_gpu_read_follow. Else the rest is cancelled. `out`
/// stays. Without the GIL.
void zf_py_gpu_read_end(zf_py_gpu_read *read);
/// Decodes the columns and waits for them. Fills `out` of all, or of none after an error. Without the GIL; owners that are given
/// are then the storages' alone.
///
/// Errors: those of zf_batch_create and zf_batch_wait; of several the first column's.
zf_status zf_py_gpu_read_run(zf_py_gpu_read *read, zf_error *error);

#endif

// zipflow: decode many columns at once, with reading, copying and decoding overlapped.
//
// A *pipeline* owns staging memory of a fixed size on the host and on the device, streams and threads. A *batch* is a set of
// columns, or rows of them, of one or several containers. It is cut into *transfer units*: runs of blocks that are read, copied
// and decoded together. Batches run through the pipeline one after another, and report when each column is ready:
//
//   zf_pipeline_create         makes memory, streams and threads
//   zf_pipeline_request_sizes  returns the memory that a column needs at its destination
//   zf_batch_create            cuts columns into units, gets their code, orders the units
//   zf_batch_start             starts, and returns; zf_batch_start_behind: behind the work on a stream
//   zf_batch_wait              waits for a column; zf_batch_follow lets a stream wait for it
//   zf_batch_free, zf_pipeline_free
//
// Order. Johnson's rule (S. M. Johnson, "Optimal two- and three-stage production schedules with setup times included", 1954)
// orders the units: the link and the decoder are two machines, units are jobs. Times are estimated from the index and from
// earlier units.
//
// Devices with memory of their own. A unit is read into pinned memory, checked there, copied on one stream and decoded on others;
// events order the streams. Between zf_batch_start and the end of the batch nothing is allocated on the device, and no memory is
// pinned. CPUs. Blocks are read ahead of the threads that decode them.
//
// Threads. A pipeline has `readers` threads that read and check, and on devices with memory of their own four more: the feeder
// enqueues copies and decodes, the releaser waits for copies, the finisher waits for decodes and reads the kernels' reports, the
// deliverer brings rows to the host. They wait as the driver does. CUDA spins or yields by default, which keeps up to four
// processors busy while a batch runs. The pipeline does not change that: blocking events signal later, by an interrupt, and small
// batches take less than a millisecond. The application decides how its primary context waits (cuDevicePrimaryCtxSetFlags,
// CU_CTX_SCHED_BLOCKING_SYNC). No call of the driver is made under a lock that callers wait for.
//
// Errors and threads of calls: as in zipflow.h, whose rules for `device` and NULL hold here, too. Calls for one pipeline or batch
// may come from several threads at once, except while it is freed.
//
// Rates. The times of a run update the estimates. The next call of zf_batch_create, zf_batch_start, zf_batch_describe,
// zf_batch_unit_get, zf_batch_write_trace or zf_batch_free does that, not the pipeline's threads: per unit two or three calls of
// the driver. A caller that needs a batch while another updates its estimates waits.
#ifndef ZIPFLOW_PIPELINE_H
#define ZIPFLOW_PIPELINE_H

#include "zipflow/zipflow.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zf_pipeline zf_pipeline;
typedef struct zf_batch zf_batch;

/// The order of transfer units.
typedef enum zf_pipeline_order {
    ZF_PIPELINE_JOHNSON, ///< Johnson's rule, improved where it is not optimal
    ZF_PIPELINE_GIVEN,   ///< columns in the order of the batch, their rows from first to last
    ZF_PIPELINE_APART,   ///< the same without overlap, for comparisons: a unit is read when the one before is decoded
} zf_pipeline_order;

/// Functions of the caller that allocate the memory of pipelines and batches on a device with memory of its own.
///
/// They replace the driver's functions for staging memory, failure words, tables, and device memory for requests into host
/// memory. Set both functions of a pair, or neither: then the driver allocates that kind. Streams, events and code are always the
/// driver's, and so is the memory of zf_container_load. CPUs ignore all of it.
///
/// Threads: only zf_pipeline_create, zf_pipeline_free, zf_batch_create and zf_batch_free call them, on the caller's thread, with
/// no lock held and no context made current (CUDA: the functions do that). They must not call the pipeline.
///
/// Stream order: memory must be usable on any stream when the function returns. A stream-ordered allocator waits for its stream
/// first. When memory is freed, no enqueued work on any stream uses it.
typedef struct zf_pipeline_allocator {
    void *user; ///< passed to each function
    /// Returns the address of `bytes` bytes (at least 1) of device memory, aligned to `alignment` (256); 0: no memory.
    ///
    /// After 0 the call that needs the memory fails with ZF_ERR_MEMORY (ZF1116) and frees what it has.
    uint64_t (*device_allocate)(void *user, uint64_t bytes, uint64_t alignment);
    void (*device_free)(void *user, uint64_t address, uint64_t bytes); ///< called once per address, with its size
    /// Returns host memory from which the device copies at full speed (CUDA: pinned); `alignment` is 4096. NULL: no memory.
    void *(*host_allocate)(void *user, uint64_t bytes, uint64_t alignment);
    void (*host_free)(void *user, void *at, uint64_t bytes); ///< called once per address, with its size
} zf_pipeline_allocator;

/// Options of zf_pipeline_create. Zeroes mean the defaults.
typedef struct zf_pipeline_options {
    size_t size; ///< ZF_INIT
    zf_pipeline_order order;
    /// Bytes of device memory for units from the start of their copy to the end of their decode, at least 256; 0: 512 MiB. CPUs
    /// ignore it.
    uint64_t device_staging;
    /// Bytes of pinned memory for units from the start of their reading to the end of their copy, at least 4096; 0: 256 MiB. On
    /// CPUs: how many bytes reading may be ahead of decoding.
    uint64_t host_staging;
    zf_pipeline_allocator allocator; ///< for that memory and for the pipeline's batches; copied
    uint64_t unit_bytes;             ///< stored bytes of a transfer unit; 0: 32 MiB
    unsigned readers;                ///< threads that read and check, at most 64; 0: the context's threads
    unsigned streams;                ///< streams that decode, 1 to 8; 0: 2
} zf_pipeline_options;

/// Makes a pipeline for a device. Free it with zf_pipeline_free, before the context.
///
/// `options` may be NULL and is copied. On a device with memory of its own the link is measured once; rates are kept in the
/// context's cache. On the emulator, requests with `on_device` are impossible: it gives callers no memory. Host-blocking, ordered
/// with no stream of the caller.
///
/// Errors: ZF_ERR_USAGE for invalid options; ZF_ERR_DEVICE, also where the device lacks the memory (ZF1108); ZF_ERR_MEMORY, also
/// of the caller's allocator (ZF1116) and for threads that cannot be started.
ZF_API zf_status zf_pipeline_create(zf_context *context, const char *device, const zf_pipeline_options *options,
                                    zf_pipeline **out, zf_error *error);
/// Frees a pipeline and ends its threads. Free its batches first. Writes measured rates to the context's cache, as zf_batch_free
/// does from time to time.
ZF_API void zf_pipeline_free(zf_pipeline *pipeline);

/// A column, or rows of it, and its destination: `host` on any device, or `device` with `on_device`.
typedef struct zf_pipeline_request {
    size_t size; ///< ZF_INIT
    zf_container *container;
    size_t column;
    zf_decode_options options; ///< rows and checksums; `threads`, `cancelled` and `stream` are ignored
    bool on_device;
    zf_decode_buffers host;
    zf_device_buffers device; ///< `workspace` and `staging` are ignored: the pipeline has its own
} zf_pipeline_request;

/// The bytes that a request needs at its destination.
///
/// `host` is for requests into host memory; its `workspace` is for CPUs only. `device` is for requests with `on_device`; its
/// `workspace` and `staging` are 0.
typedef struct zf_pipeline_sizes {
    size_t size; ///< ZF_INIT
    zf_decode_sizes host;
    zf_device_sizes device;
} zf_pipeline_sizes;
/// Returns the bytes that a request needs at its destination; its buffers are ignored.
///
/// Gets the column's plans. A range of rows of strings reads two blocks.
///
/// Errors: those of zf_decode_size; ZF_ERR_USAGE for a container of another context; ZF_ERR_UNSUPPORTED (ZF1406) for `on_device`
/// on a device without memory of its own.
ZF_API zf_status zf_pipeline_request_sizes(zf_pipeline *pipeline, const zf_pipeline_request *request, zf_pipeline_sizes *out,
                                           zf_error *error);

/// Makes a batch: reads the index, gets and compiles code, cuts and orders the units. Free it with zf_batch_free.
///
/// Reads no blocks, except that a range of rows of strings reads two. Allocates everything that its runs need, including device
/// memory for requests into host memory. Containers and buffers must stay until the batch is freed; the requests are copied.
/// Host-blocking, ordered with no stream of the caller.
///
/// Errors: those of zf_pipeline_request_sizes; ZF_ERR_USAGE for buffers that are missing, not aligned (ZF1107) or too small
/// (ZF1117); ZF_ERR_MEMORY, also for a block that is larger than the pipeline's memory (ZF1114) and of the caller's allocator
/// (ZF1116); ZF_ERR_DEVICE.
ZF_API zf_status zf_batch_create(zf_pipeline *pipeline, const zf_pipeline_request *requests, size_t count, zf_batch **out,
                                 zf_error *error);
/// Starts a batch after the batches that were started before, and returns.
///
/// It may be started again once all its columns were waited for: the same columns run again. An earlier zf_batch_cancel has no
/// effect on the new run.
///
/// Stream order: the pipeline's own streams write the device memory of requests from now on, and wait for no stream of the
/// caller. No work that the caller enqueued may still use that memory. Wait for kernels that read the results of the last run,
/// and for the stream of a stream-ordered memory pool.
///
/// The calling thread enqueues the units that are already in memory from an earlier run; each takes some microseconds.
///
/// Errors: ZF_ERR_USAGE while the batch still runs; ZF_ERR_DEVICE. Faults of columns are zf_batch_wait's.
ZF_API zf_status zf_batch_start(zf_batch *batch, zf_error *error);
/// Starts a batch as zf_batch_start does, behind the work that is on a stream of the caller.
///
/// `stream`: CUDA: a CUstream of the primary context; NULL: the default stream. Stream order: the pipeline writes the device
/// memory of requests after the work that was enqueued on `stream` before this call, so memory of a stream-ordered pool may be
/// used at once. Reading does not wait, nor do copies of stored bytes, unless blocks of uneven rows are moved or no rows are
/// wanted. The pipeline has one stream for copies and some for decodes, so later batches wait as well. The stream does not wait
/// for the batch: see zf_batch_follow. CPUs ignore `stream`.
///
/// Errors: those of zf_batch_start.
ZF_API zf_status zf_batch_start_behind(zf_batch *batch, void *stream, zf_error *error);
/// Waits until a column is at its destination or failed. Any thread.
///
/// `request`: its number in zf_batch_create's array. Returns the error of the column's first block that failed. Faults that
/// reading and checking find in a transfer unit come before those that decoding it finds. Other columns go on.
///
/// Errors: those of zf_decode; ZF_ERR_CANCELLED (ZF1115) if the batch was cancelled before the column was done; ZF_ERR_USAGE for
/// a request that the batch lacks, or before zf_batch_start.
ZF_API zf_status zf_batch_wait(zf_batch *batch, size_t request, zf_error *error);
/// Lets a stream of the caller wait for a column of a request with `on_device`.
///
/// `stream`: CUDA: a CUstream of the primary context. Stream order: work that is enqueued on it after this call runs when the
/// column is at its destination. The call returns when the column's last unit is enqueued, about a millisecond before that. Only
/// zf_batch_wait reports the faults that kernels find.
///
/// Errors: those of zf_batch_wait that are known by then, among them ZF_ERR_CANCELLED (ZF1115) if units were skipped because the
/// batch was cancelled; ZF_ERR_USAGE for a request without `on_device`; ZF_ERR_DEVICE. After an error the stream waits for what
/// was enqueued of the column. Any thread.
ZF_API zf_status zf_batch_follow(zf_batch *batch, size_t request, void *stream, zf_error *error);
/// Cancels a batch: units that are not enqueued yet are skipped. Any thread; does not wait.
ZF_API void zf_batch_cancel(zf_batch *batch);
/// Cancels a batch, waits for its enqueued work, and frees it. Call it before the pipeline is freed or a container is closed.
ZF_API void zf_batch_free(zf_batch *batch);

/// Times of a unit, measured or predicted, in seconds since zf_batch_start. Reading includes checking.
///
/// Begin and end are equal for a stage without work. NAN: the stage did not run, or its time is unknown.
typedef struct zf_unit_times {
    double read_begin, read_end, copy_begin, copy_end, decode_begin, decode_end;
} zf_unit_times;

/// A transfer unit of a batch.
typedef struct zf_batch_unit {
    size_t size; ///< ZF_INIT
    size_t request;
    uint64_t first_row, rows; ///< of the column: whole blocks
    uint64_t blocks, stored_bytes, plain_bytes;
    uint64_t device_bytes;   ///< of the pipeline's device memory, from the start of its copy to the end of its decode; CPUs: 0
    zf_unit_times predicted; ///< when the batch was made
    zf_unit_times measured;  ///< in the last run
} zf_batch_unit;

/// A batch.
typedef struct zf_batch_info {
    size_t size; ///< ZF_INIT
    size_t units;
    uint64_t stored_bytes, plain_bytes;
    double predicted_seconds; ///< to the end of the last decode
    double bound_seconds;     ///< lower bound for any order, with the same estimates
    double measured_seconds;  ///< from zf_batch_start until all columns were done; NAN before
    double link_rate;         ///< bytes per second, estimated
} zf_batch_info;

/// Describes a batch. Errors: ZF_ERR_USAGE. Any thread.
ZF_API zf_status zf_batch_describe(const zf_batch *batch, zf_batch_info *out, zf_error *error);
/// Describes unit `index` in the order of the run. While the batch runs, its measured times are NAN.
///
/// `index`: 0 to `units` - 1 of zf_batch_describe; others are ZF_ERR_USAGE. Any thread.
ZF_API zf_status zf_batch_unit_get(const zf_batch *batch, size_t index, zf_batch_unit *out, zf_error *error);
/// Returns when a column was done, in seconds since zf_batch_start; NAN before, for NULL, and for a request that the batch lacks.
/// Any thread.
ZF_API double zf_batch_ready_seconds(const zf_batch *batch, size_t request);
/// Returns the statistics of a column in the last run, which must be over.
///
/// Blocks that were skipped after a failure are not counted. Seconds are sums over the threads that prepared units; compile time
/// counts from zf_batch_create. Errors: ZF_ERR_USAGE before the request is done, or where there is none. Any thread.
ZF_API zf_status zf_batch_stats(const zf_batch *batch, size_t request, zf_decode_stats *out, zf_error *error);

/// Writes the times of the last run, which must be over, as a trace for Perfetto or chrome://tracing.
///
/// The file has Chrome's trace events as JSON: tracks for reading, copies and decodes with one slice per unit, and a mark where
/// each column was done. A file of that name is replaced once the new one is complete. After an error nothing new is there.
///
/// Errors: ZF_ERR_USAGE before the run is over; ZF_ERR_IO (ZF15nn). Any thread.
ZF_API zf_status zf_batch_write_trace(const zf_batch *batch, const char *path, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif

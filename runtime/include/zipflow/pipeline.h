// zipflow: many columns over the link and through the decoder, reading, copying and decoding overlapped.
//
// A *pipeline* owns what that takes: memory of the host and of the device of stated size, streams, threads. A *batch* is a set of
// columns (or rows of them) of one or several containers, cut into *transfer units*: runs of blocks that are read, copied and
// decoded together. Batches are started, go through the pipeline one behind the other, and tell when each column is there, so
// that whoever wants it need not wait for the rest:
//
//   zf_pipeline_create     memory, streams and threads
//   zf_pipeline_request_sizes  how much memory a column needs where it goes to
//   zf_batch_create        cuts columns into units, gets their code, puts the units in order
//   zf_batch_start         begins, and returns
//   zf_batch_wait          until a column is there; or zf_batch_follow: until a stream may go on with it
//   zf_batch_free, zf_pipeline_free
//
// The order is Johnson's (S. M. Johnson, "Optimal two- and three-stage production schedules with setup times included", 1954):
// the link and the decoder are two machines, units are jobs. Times are estimated from the index and from what earlier units took.
//
// Threads: a pipeline has its readers, and four more on devices with memory of their own, all of which may wait in the device's
// driver: the feeder queues copies and decodes, and waits for the copy of a large unit before it queues that one's decode; the
// releaser waits for copies, whose memory of the host may then be used again; the finisher for decodes, of which it reads what
// kernels report; the deliverer for rows that it brings to the host. They wait as the driver does. CUDA's spins or yields by
// default, which keeps up to four processors busy while a batch is under way. The pipeline leaves that so: events that block tell
// later that they happened, by an interrupt, while small batches take less than a millisecond, and how a context waits is for the
// application to say, which it shares its primary context with (cuDevicePrimaryCtxSetFlags, CU_CTX_SCHED_BLOCKING_SYNC). Nothing
// of the driver is called under a lock that other callers wait for.
//
// What a batch's run shows of rates is not worked out by these threads, for who waits for columns waits for them, but by the next
// caller of zf_batch_create, zf_batch_start, zf_batch_describe, zf_batch_unit_get, zf_batch_write_trace or zf_batch_free of any
// batch of the pipeline: once a run two calls of the driver a unit that went, and a third of one whose copy had to wait for
// memory of the device. A caller that needs the batch which another is at waits.
//
// On devices with memory of their own a unit is read into memory of the host that the device copies from, checked there, copied
// on one stream and decoded on others; only events order the streams. On the CPU blocks are read ahead of the threads that
// decode them. Between zf_batch_start and the end of the batch nothing is allocated on the device and nothing pinned.
#ifndef ZIPFLOW_PIPELINE_H
#define ZIPFLOW_PIPELINE_H

#include "zipflow/zipflow.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zf_pipeline zf_pipeline;
typedef struct zf_batch zf_batch;

/// In which order transfer units go.
typedef enum zf_pipeline_order {
    ZF_PIPELINE_JOHNSON, ///< by Johnson's rule, and better where it is not the best (scheduler/order)
    ZF_PIPELINE_GIVEN,   ///< first in, first out: columns as the batch has them, their rows from first to last
    ZF_PIPELINE_APART,   ///< the same without any overlap, for comparisons: a unit is read when the one before is decoded
} zf_pipeline_order;

/// Functions of the caller that give and take the memory that pipelines and batches use of a device with memory of its own, in
/// place of the device's driver: staging, failure words and tables of batches, and for requests into memory of the host memory of
/// the device for their rows. Both functions of a pair, or neither (then the driver gives that kind). Streams, events and code
/// are the driver's in any case, and so is what zf_container_load brings. Not used on the CPU.
///
/// They are called by threads that are within zf_pipeline_create, zf_pipeline_free, zf_batch_create and zf_batch_free, and in no
/// other call: a batch that is made allocates nothing any more. Where several threads make or free batches at once they are
/// called at once. No lock is held and no context made current (CUDA: the caller's allocator sees to that itself); they must not
/// call into the pipeline. What they give must be usable on any stream when they return: an allocator whose memory is ordered by
/// a stream waits for that stream first. When memory is given back nothing that was queued uses it any more, on any stream.
typedef struct zf_pipeline_allocator {
    void *user; ///< given to each function
    /// `bytes` (at least 1) of the device's memory: its address, a multiple of `alignment` (a power of two; 256). 0: there is
    /// none, and what was to be made fails with ZF_ERR_MEMORY (ZF1116) and gives back what it has.
    uint64_t (*device_allocate)(void *user, uint64_t bytes, uint64_t alignment);
    void (*device_free)(void *user, uint64_t address, uint64_t bytes); ///< each address once, with its size
    /// The same of memory of the host that the device copies from at full speed, pinned for CUDA; `alignment` is 4096.
    void *(*host_allocate)(void *user, uint64_t bytes, uint64_t alignment);
    void (*host_free)(void *user, void *at, uint64_t bytes);
} zf_pipeline_allocator;

/// How to make a pipeline. Zeroes mean the defaults.
typedef struct zf_pipeline_options {
    size_t size; ///< ZF_INIT
    zf_pipeline_order order;
    /// Bytes of the device for units between the begin of their copy and the end of their decode, at least 256; 0: 512 MiB. Not
    /// used on the CPU.
    uint64_t device_staging;
    /// Bytes of pinned memory of the host for units between the begin of their reading and the end of their copy, at least 4096;
    /// 0: 256 MiB. On the CPU: how far reading may be ahead of decoding.
    uint64_t host_staging;
    zf_pipeline_allocator allocator; ///< gives all of that, and what the pipeline's batches need; copied
    uint64_t unit_bytes;             ///< stored bytes of a unit; 0: 32 MiB, of which a link hardly notices where one ends
    unsigned readers;                ///< threads that read and check; 0: the context's threads; more than 64 count as 64
    unsigned streams;                ///< streams that decode, 1 to 8; 0: 2, of which copies hardly notice that they wait
} zf_pipeline_options;

/// Makes a pipeline for device `device` ("auto", or a name that zf_device_get gives); `options` may be NULL. On a device with
/// memory of its own the link is measured, unless that was done before: rates are kept in the context's cache. The context must
/// outlive it. (The emulator takes part in all of it but memory of the caller's: that it cannot use.)
ZF_API zf_status zf_pipeline_create(zf_context *context, const char *device, const zf_pipeline_options *options,
                                    zf_pipeline **out, zf_error *error);
/// Its batches must be freed before. Rates that were measured are written to the context's cache here, and now and then by
/// zf_batch_free.
ZF_API void zf_pipeline_free(zf_pipeline *pipeline);

/// A column, or rows of it, and where they go. Either `host` is filled, on any device, or, with `on_device`, the addresses of
/// the device's memory (`workspace` and `staging` are the pipeline's and not read).
typedef struct zf_pipeline_request {
    size_t size; ///< ZF_INIT
    zf_container *container;
    size_t column;
    zf_decode_options options; ///< rows and checksums; `threads`, `cancelled` and `stream` are not read
    bool on_device;
    zf_decode_buffers host;
    zf_device_buffers device;
} zf_pipeline_request;

/// Bytes of the destination. Makes plans, and of a range of rows of strings reads two blocks. `host` is filled for requests into
/// memory of the host, `device` for those with `on_device`, where `workspace` and `staging` are 0. Buffers of the request are not
/// read. `host.workspace` is wanted on the CPU alone.
typedef struct zf_pipeline_sizes {
    size_t size; ///< ZF_INIT
    zf_decode_sizes host;
    zf_device_sizes device;
} zf_pipeline_sizes;
ZF_API zf_status zf_pipeline_request_sizes(zf_pipeline *pipeline, const zf_pipeline_request *request, zf_pipeline_sizes *out,
                                           zf_error *error);

/// Makes a batch: reads the index, gets and compiles plans, orders the units. Blocks are not read (of a range of rows of strings
/// two are). Requests into memory of the host get memory of a GPU for their rows here, and nothing is allocated later. Containers
/// and buffers must stay until the batch is freed. A column of which one block is larger than the pipeline's memory is
/// ZF_ERR_MEMORY (ZF1114).
ZF_API zf_status zf_batch_create(zf_pipeline *pipeline, const zf_pipeline_request *requests, size_t count, zf_batch **out,
                                 zf_error *error);
/// Begins, behind the batches that were started before. May be called again once all columns were waited for: the same columns go
/// again. Memory of the device that requests name is written by the pipeline's own streams from now on: nothing that the caller
/// has queued may still use it, since those streams wait for none of the caller's. (Where kernels that follow the last run read
/// it, wait for them; memory of a pool that is ordered by a stream wants that stream waited for.) A cancel before this call is
/// forgotten. Units that are at hand already, of a batch that ran before, are queued by the calling thread, which takes some
/// microseconds each.
ZF_API zf_status zf_batch_start(zf_batch *batch, zf_error *error);
/// Waits until column `request` is where it should be, or failed: then the error is that of its first block that is at fault;
/// of a transfer unit what is found before decoding (its reads, checksums, structure) is told before what decoding finds.
/// Other columns go on. ZF_ERR_CANCELLED (ZF1115) where the batch was cancelled before this column was done. Any thread.
ZF_API zf_status zf_batch_wait(zf_batch *batch, size_t request, zf_error *error);
/// The same for a stream of the caller (CUDA: a CUstream of the primary context): what is queued on it behind this call runs when
/// the column is there. Waits until the column's last unit was queued, not until it is done; since little is queued at a time
/// that is about a millisecond before. Whether kernels found a fault is known from zf_batch_wait only; ZF_ERR_CANCELLED (ZF1115)
/// where units were left out because the batch was cancelled. Requests with `on_device` only.
ZF_API zf_status zf_batch_follow(zf_batch *batch, size_t request, void *stream, zf_error *error);
/// Units that were not queued yet will not be. Any thread; does not wait.
ZF_API void zf_batch_cancel(zf_batch *batch);
/// Cancels what is under way, waits for what was queued, and frees.
ZF_API void zf_batch_free(zf_batch *batch);

/// When a unit was, or is thought to be, read (checked included), copied and decoded: seconds since zf_batch_start. Begin and end
/// are equal where there was nothing to do; NAN where it did not happen or is not known.
typedef struct zf_unit_times {
    double read_begin, read_end, copy_begin, copy_end, decode_begin, decode_end;
} zf_unit_times;

/// A transfer unit of a batch.
typedef struct zf_batch_unit {
    size_t size; ///< ZF_INIT
    size_t request;
    uint64_t first_row, rows; ///< of the column: whole blocks
    uint64_t blocks, stored_bytes, plain_bytes;
    uint64_t device_bytes;   ///< of the pipeline's memory there, from the begin of its copy to the end of its decode; CPU: 0
    zf_unit_times predicted; ///< when the batch was made
    zf_unit_times measured;  ///< when it went through last
} zf_batch_unit;

/// What is known of a batch.
typedef struct zf_batch_info {
    size_t size; ///< ZF_INIT
    size_t units;
    uint64_t stored_bytes, plain_bytes;
    double predicted_seconds; ///< until the last unit is decoded
    double bound_seconds;     ///< no order could be done sooner with these estimates
    double measured_seconds;  ///< from zf_batch_start until all columns were done; NAN before
    double link_rate;         ///< bytes a second, as estimated
} zf_batch_info;

ZF_API zf_status zf_batch_describe(const zf_batch *batch, zf_batch_info *out, zf_error *error);
/// Unit `index`, in the order in which they go. While a batch is under way its times are not read.
ZF_API zf_status zf_batch_unit_get(const zf_batch *batch, size_t index, zf_batch_unit *out, zf_error *error);
/// When a column was done, seconds since zf_batch_start; NAN before.
ZF_API double zf_batch_ready_seconds(const zf_batch *batch, size_t request);
/// What the last run did for a column, which must be over. Blocks that were left out behind a failure are not counted. Seconds
/// are of all threads that prepared units, added up; those of compiling count from the making of the batch.
ZF_API zf_status zf_batch_stats(const zf_batch *batch, size_t request, zf_decode_stats *out, zf_error *error);

/// Writes the times of the last run, which must be over, as Chrome's trace events (JSON; Perfetto and chrome://tracing open it):
/// tracks for reading, for copies and for decodes, with a slice a unit, and marks where columns were done. Whole or not at all.
ZF_API zf_status zf_batch_write_trace(const zf_batch *batch, const char *path, zf_error *error);

#ifdef __cplusplus
}
#endif
#endif

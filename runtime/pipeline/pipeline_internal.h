// The pipeline inside. A transfer unit goes from queue to queue (zf_stage); each queue has its threads:
//
//   accelerators: READ, CHECK (readers) -> QUEUE (feeder) -> RELEASE (releaser) -> FINISH (finisher); requests into memory of the
//   host go on to `to_deliver` (deliverer)
//   the CPU: READ (readers) -> the column's decode, column by column (decoder)
//
// All queues and rings, and of units and columns what says how far they are, are guarded by the pipeline's lock; whoever changes
// one of them wakes who may wait for that. A unit's `units`, `head`, `measured` belong to the thread that has the unit in hand.
#ifndef ZF_RUNTIME_PIPELINE_INTERNAL_H
#define ZF_RUNTIME_PIPELINE_INTERNAL_H

#include <pthread.h>

#include "runtime/decode/decode_unit.h"
#include "runtime/device/device.h"
#include "runtime/pipeline/allocations.h"
#include "runtime/pipeline/rates.h"
#include "runtime/pipeline/ring.h"
#include "zipflow/pipeline.h"

enum {
    ZF_PIPELINE_MOST_READERS = 64,
    ZF_PIPELINE_MOST_STREAMS = 8,
    ZF_PIPELINE_ALIGNMENT = ZF_HOST_PAGE,
    ZF_PIPELINE_DEVICE_ALIGNMENT = 256
};

typedef struct zf_transfer zf_transfer;
typedef struct zf_requested zf_requested;

/// Places in queues: a unit can be in one of each kind.
typedef enum zf_stage {
    ZF_STAGE_READ,
    ZF_STAGE_CHECK,
    ZF_STAGE_QUEUE,
    ZF_STAGE_RELEASE,
    ZF_STAGE_FINISH,
    ZF_STAGE_HELD,
    ZF_STAGES
} zf_stage;

/// The events that threads wait for. The CPU's threads all wait for ZF_WORK_ANY, as do callers.
typedef enum zf_pipeline_work {
    ZF_WORK_ANY,
    ZF_WORK_READ,
    ZF_WORK_QUEUE,
    ZF_WORK_RELEASE,
    ZF_WORK_FINISH,
    ZF_WORK_DELIVER,
    ZF_WORKS
} zf_pipeline_work;

typedef struct zf_transfer_queue {
    zf_transfer *first, *last;
} zf_transfer_queue;

/// Events of a unit, on devices with streams. A copy begins when the one before it ends, or when it was queued, unless it waits
/// for memory; then the first event says when.
enum { ZF_COPY_BEGIN, ZF_COPY_END, ZF_DECODE_END, ZF_TRANSFER_EVENTS };

/// A transfer unit.
struct zf_transfer {
    zf_batch *batch;
    uint32_t request;
    uint64_t first, last;              ///< of the blocks that have rows wanted, the first is 0
    uint64_t file_offset, file_bytes;  ///< its run of bytes
    uint64_t host_bytes, device_bytes; ///< what it takes of the rings
    uint64_t head_bytes;               ///< of `host_bytes`: room for the head, before the bytes of the file
    uint32_t word_room;
    zf_batch_unit described; ///< but for `measured`; nothing of it changes once the batch was made
    zf_unit_times measured;  ///< in the last run; read when the batch is over
    zf_transfer *next[ZF_STAGES];
    // while it goes
    bool read;                   ///< or left out
    uint64_t claimed, unchecked; ///< blocks that were taken to be read and checked; that are not done
    bool cut_short;              ///< a block was left out: the batch was cancelled
    const uint8_t *stored;       ///< its bytes of the file in the host's ring; NULL: they lie in pinned memory
    bool queued;                 ///< its events will happen
    bool waited;                 ///< its copy for memory: it has an event where that began
    double queued_at;            ///< its copy, in seconds since the batch's start
    double launched_at;          ///< its decode: when the driver had taken that
    uint32_t stream;             ///< of `decodes`
    bool held;                   ///< memory of the device, as far as the host knows
    uint64_t host_at, host_end, device_at, device_end;
    zf_units *units;  ///< NULL: left out, or failed
    uint8_t *head;    ///< in the host's ring: failure words as they are at first, and tables
    uint64_t head_at; ///< of a loaded container: memory of the device where its head stays from one run to the next; else 0
    bool head_there;  ///< it does: the unit was checked and decoded before
    bool joined;      ///< the bytes of the file follow it: both go in one copy
    uint64_t *words;  ///< pinned: its failure words
    void *events[ZF_TRANSFER_EVENTS];
    uint64_t blocks_left; ///< the CPU: blocks not decoded yet
    bool over;            ///< the CPU
};

/// A column of a batch.
struct zf_requested {
    zf_pipeline_request given;
    zf_units_column *column; ///< accelerators
    zf_units_memory memory;  ///< where its rows go there
    zf_device_part rows[3];  ///< of that, what was taken for them: requests into memory of the host
    uint64_t codec;          ///< for rates
    char *codec_name;        ///< of which `codec` is made
    size_t units;            ///< how many it has
    uint64_t first_block;    ///< the CPU: of the container's column
    zf_transfer *transfers;  ///< its units, by their rows: of the batch's
    // while it goes
    size_t left, unqueued;
    bool done;
    bool left_out;   ///< a unit was, because the batch was cancelled
    bool cleared;    ///< accelerators: words where moved blocks meet
    uint64_t failed; ///< block of the first failure; UINT64_MAX
    zf_status status;
    zf_error error;
    double ready; ///< clock; 0: not yet
    zf_decode_stats stats;
    zf_transfer *last_on[ZF_PIPELINE_MOST_STREAMS];
    zf_requested *next; ///< to deliver, or to decode
    zf_batch *batch;
};

/// Copies may be enqueued before the decodes of this many units, and of these many bytes behind the oldest. The link thus has
/// work while small units are enqueued, whose calls take longer than their copies.
enum { ZF_PIPELINE_MOST_AHEAD = 16, ZF_PIPELINE_BYTES_AHEAD = 8 << 20 };

/// Units of which the copies were queued, and the decodes were not, the oldest at `first`.
typedef struct zf_copied_units {
    zf_transfer *units[ZF_PIPELINE_MOST_AHEAD];
    unsigned first, count;
    uint64_t bytes; ///< stored
} zf_copied_units;

typedef struct zf_requested_queue {
    zf_requested *first, *last;
} zf_requested_queue;

struct zf_pipeline {
    zf_context *context;
    zf_device device;
    zf_accelerator *accelerator; ///< NULL: the CPU
    zf_pipeline_options options; ///< without zeroes
    zf_rates *rates;
    zf_pinned_part host; ///< what the rings are of
    zf_device_part staging;
    void *copies, *clock, *delivery, *decodes[ZF_PIPELINE_MOST_STREAMS];
    pthread_mutex_t lock;
    pthread_cond_t work[ZF_WORKS];
    zf_pinned_part spare; ///< of a batch that was freed: pinning memory takes longer than a small batch. The driver gave it
    zf_batch *unlearned;  ///< batches that are over, of which zf_pipeline_learn has not been told
    bool stop;
    uint64_t under_way; ///< units between to_read and their end
    uint64_t ahead;     ///< the CPU: bytes read and not decoded
    zf_ring host_ring, device_ring;
    zf_transfer_queue queues[ZF_STAGES];
    zf_requested_queue to_deliver, to_decode;
    uint32_t turn;         ///< of the decode streams
    zf_transfer *followed; ///< its event is about to be followed, without the lock: it must not end meanwhile
    bool feeding;          ///< a thread is queueing: it alone touches `copied`, and queues on streams
    zf_copied_units copied;
    uint64_t large;     ///< stored bytes from which on the decode of a unit may wait for its copy (stages.c); tests make it less
    uint64_t in_flight; ///< stored bytes of units that were queued, and of which nobody has seen the end
    uint32_t releasing; ///< units that the releaser has, or will have: those behind them go to the finisher by way of it
    pthread_t threads[ZF_PIPELINE_MOST_READERS + 4];
    unsigned thread_count;
};

struct zf_batch {
    zf_pipeline *pipeline;
    zf_requested *requests;
    size_t request_count;
    zf_transfer *transfers; ///< as they were cut
    zf_transfer **order;
    size_t count;
    zf_pinned_part words; ///< failure words of all units
    zf_device_part heads; ///< for those that stay
    void *base;           ///< event at the start
    void *behind;         ///< event on the caller's stream that the run starts behind; NULL: none was ever noted
    bool is_behind;       ///< the run starts behind it
    uint32_t followed;    ///< bit s: `decodes[s]` waits for it; above them: `copies`. The thread that queues touches it
    size_t requests_left;
    bool started; ///< once
    uint64_t runs;
    bool cancelled;
    bool in_hand;   ///< a thread learns of it, starts it, or writes of its times, without the lock
    bool unlearned; ///< it is in the pipeline's list
    zf_batch *next_unlearned;
    double begun, ended; ///< clock
    zf_batch_info info;
};

/// A pipeline of another accelerator than the device's own, for which the device's plans and code are: for tests.
ZF_PRIVATE_API zf_status zf_pipeline_create_on(zf_context *context, const char *device, zf_accelerator *accelerator,
                                               const zf_pipeline_options *options, zf_pipeline **out, zf_error *error);

/// Wakes one thread, or all, that waits for this. Under the lock.
void zf_pipeline_wake(zf_pipeline *pipeline, zf_pipeline_work work);
void zf_pipeline_wake_all(zf_pipeline *pipeline, zf_pipeline_work work);
/// Leaves the lock until somebody wakes who waits for this.
void zf_pipeline_sleep(zf_pipeline *pipeline, zf_pipeline_work work);
// The device's driver is never called with the lock, since its calls may wait for room in its own queues.

// ---- Queues: under the lock -----------------------------------------------------------------------------------

void zf_transfer_push(zf_pipeline *pipeline, zf_stage stage, zf_transfer *transfer);
zf_transfer *zf_transfer_pop(zf_pipeline *pipeline, zf_stage stage);
void zf_requested_push(zf_requested_queue *queue, zf_requested *request);
/// The next of a queue, whose thread waits for `work`; NULL: there is none, and the pipeline stops. Leaves the lock meanwhile.
zf_transfer *zf_transfer_await(zf_pipeline *pipeline, zf_stage stage, zf_pipeline_work work);
zf_requested *zf_requested_await(zf_pipeline *pipeline, zf_requested_queue *queue, zf_pipeline_work work);

/// The column that a unit is of.
static inline zf_requested *zf_transfer_request(const zf_transfer *transfer) {
    return &transfer->batch->requests[transfer->request];
}

/// Whether a unit need not be decoded: its batch was cancelled, or a block before it failed. Under the lock.
bool zf_transfer_unwanted(const zf_transfer *transfer);
/// Notes a failure of the column, of which that of the first block counts. Under the lock.
void zf_requested_failed(zf_requested *request, uint64_t block, zf_status status, const zf_error *error);
/// A unit is over: so may be its column, and its batch. Under the lock. True: nobody else will touch the column, and its rows
/// have to be delivered, or zf_requested_done called.
bool zf_transfer_over(zf_transfer *transfer);
/// The error of a column of which units were left out because its batch was cancelled.
zf_status zf_requested_cancelled(const zf_requested *request, zf_error *error);
/// A column is over. Under the lock.
void zf_requested_done(zf_requested *request);
/// The file may have changed meanwhile, which explains every other failure. Without the lock,
/// which it takes to say so.
void zf_requested_check_file(zf_requested *request);

/// Units that are next to be read, and of which nothing has to be: they and their heads are where they were in an earlier run.
/// They may be queued at once. Under the lock.
void zf_pipeline_begin_kept(zf_pipeline *pipeline);
/// Queues copies that can be, unless another thread does, so that the link need not wait for the feeder to wake. Under the lock,
/// which it leaves meanwhile.
void zf_pipeline_feed_now(zf_pipeline *pipeline);

// ---- Threads --------------------------------------------------------------------------------------------------

/// Bodies, with the pipeline as their argument.
void *zf_pipeline_reader(void *pipeline);
void *zf_pipeline_feeder(void *pipeline);
void *zf_pipeline_releaser(void *pipeline);
void *zf_pipeline_finisher(void *pipeline);
void *zf_pipeline_deliverer(void *pipeline);
void *zf_pipeline_host_reader(void *pipeline);
void *zf_pipeline_host_decoder(void *pipeline);

// ---- Order ----------------------------------------------------------------------------------------------------

/// Estimates times of all units and puts them in order.
zf_status zf_batch_order(zf_batch *batch, zf_error *error);
/// Takes the times of events, and learns from them, for all batches of the pipeline that are over. The end of a batch does not
/// do it, because somebody waits for that. Without the lock.
void zf_pipeline_learn(zf_pipeline *pipeline);
/// Takes the lock when no thread has the batch in hand, and no run of it that is over is still to be learnt of.
void zf_batch_lock_learnt(const zf_batch *batch);
/// Takes the lock so. Whether the batch ran and does not now: then its times are taken, and stay until the lock is left, for it
/// may be started again at once.
bool zf_batch_lock_over(const zf_batch *batch);

#endif

// How units that were read go through an accelerator: a thread that queues, and some that wait for the device.

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"
#include "runtime/pipeline/pipeline_internal.h"

// ---- Queueing -------------------------------------------------------------------------------------------------

/// The memory of the oldest unit that has some may be used again. Under the lock.
static void give_back_oldest(zf_pipeline *p) {
    zf_transfer *oldest = zf_transfer_pop(p, ZF_STAGE_HELD);
    oldest->held = false;
    zf_ring_release(&p->device_ring, oldest->device_end);
}

static void decode_oldest(zf_pipeline *p);

/// Returns the unit `behind` the oldest one whose copy was enqueued.
static zf_transfer *copied_unit(const zf_copied_units *copied, unsigned behind) {
    return copied->units[(copied->first + behind) % ZF_PIPELINE_MOST_AHEAD];
}

/// Takes memory of the device. Where it is still in use the stream of copies waits, not this thread. With the lock, which it
/// leaves meanwhile.
static zf_status hold(zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    zf_status status = ZF_OK;
    uint64_t bytes = zf_units_sizes_of(transfer->units).workspace;
    transfer->waited = false;
    while (!zf_ring_reserve(&p->device_ring, bytes, &transfer->device_at, &transfer->device_end)) {
        zf_transfer *oldest = p->queues[ZF_STAGE_HELD].first;
        if (p->copied.count > 0 && copied_unit(&p->copied, 0) == oldest) { // its event is still to be noted
            decode_oldest(p);
            continue;
        }
        p->followed = oldest;
        pthread_mutex_unlock(&p->lock);
        status = p->accelerator->ops->stream_follow(p->accelerator, p->copies, oldest->events[ZF_DECODE_END], error);
        pthread_mutex_lock(&p->lock);
        p->followed = NULL;
        zf_pipeline_wake(p, ZF_WORK_FINISH);
        if (status != ZF_OK) return status;
        transfer->waited = true;
        give_back_oldest(p);
    }
    transfer->held = true;
    zf_transfer_push(p, ZF_STAGE_HELD, transfer);
    return ZF_OK;
}

static zf_units_memory memory_of(const zf_pipeline *p, const zf_transfer *transfer) {
    zf_units_memory memory = zf_transfer_request(transfer)->memory;
    memory.workspace = p->staging.address + transfer->device_at;
    memory.head = transfer->head_at != 0 ? transfer->head_at : memory.workspace;
    return memory;
}

/// Before rows are written on a stream: it waits for the work of the caller that the batch starts behind. `number`: of `decodes`,
/// or ZF_PIPELINE_MOST_STREAMS for `copies`.
static zf_status follow_caller(zf_pipeline *p, zf_batch *batch, unsigned number, zf_error *error) {
    if (!batch->is_behind || (batch->followed >> number & 1) != 0) return ZF_OK;
    void *stream = number < ZF_PIPELINE_MOST_STREAMS ? p->decodes[number] : p->copies;
    ZF_TRY(p->accelerator->ops->stream_follow(p->accelerator, stream, batch->behind, error));
    batch->followed |= UINT32_C(1) << number;
    return ZF_OK;
}

/// The head and the blocks, in one piece where they are. A head of its own goes on the same stream: on another one it would wait
/// until the link has nothing else to do, since a GPU's copies are not taken in turn from streams (measured on an H200).
static zf_status copy_parts(zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    zf_accelerator *a = p->accelerator;
    zf_requested *request = zf_transfer_request(transfer);
    zf_units_memory memory = memory_of(p, transfer);
    zf_units_sizes sizes = zf_units_sizes_of(transfer->units);
    transfer->queued_at = zf_clock_seconds() - transfer->batch->begun;
    if (transfer->waited) ZF_TRY(a->ops->event_note(a, p->copies, transfer->events[ZF_COPY_BEGIN], error));
    if (transfer->first == transfer->last || (!request->cleared && zf_units_column_moves(request->column)))
        ZF_TRY(follow_caller(p, transfer->batch, ZF_PIPELINE_MOST_STREAMS, error));
    if (!request->cleared) ZF_TRY(zf_units_column_clear(request->column, p->copies, &memory, error)); // before all its decodes
    request->cleared = true;
    if (transfer->first == transfer->last) {
        ZF_TRY(zf_units_start(transfer->units, p->copies, &memory, error));
    } else if (transfer->joined) {
        ZF_TRY(a->ops->copy_in(a, p->copies, memory.workspace, transfer->head, sizes.head + sizes.stored, error));
    } else {
        if (!transfer->head_there) ZF_TRY(a->ops->copy_in(a, p->copies, memory.head, transfer->head, sizes.head, error));
        ZF_TRY(zf_units_upload_blocks(transfer->units, p->copies, &memory, error));
    }
    return a->ops->event_note(a, p->copies, transfer->events[ZF_COPY_END], error);
}

static zf_status queue_copy(zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    zf_passes *passes = zf_units_first(transfer->units, &p->accelerator->copied);
    unsigned pass = zf_pass_begin(passes, ZF_PASS_FIRST_COPY);
    zf_status status = copy_parts(p, transfer, error);
    zf_pass_end(passes, pass);
    return status;
}

/// A head that is there has failure words that say nothing: an earlier run left them so.
static zf_status queue_decode(zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    const zf_accelerator_ops *ops = p->accelerator->ops;
    zf_units_memory memory = memory_of(p, transfer);
    void *stream = p->decodes[transfer->stream];
    ZF_TRY(ops->stream_follow(p->accelerator, stream, transfer->events[ZF_COPY_END], error));
    ZF_TRY(follow_caller(p, transfer->batch, transfer->stream, error));
    ZF_TRY(zf_units_launch(transfer->units, stream, &memory, error));
    transfer->launched_at = zf_clock_seconds() - transfer->batch->begun;
    ZF_TRY(zf_units_end(transfer->units, stream, &memory, transfer->words, error));
    return ops->event_note(p->accelerator, stream, transfer->events[ZF_DECODE_END], error);
}

/// Ends the queueing of a unit that is enqueued, or will not be. A unit that failed has no work in progress. Its memory is
/// released in its turn. Under the lock.
static void end_queueing(zf_pipeline *p, zf_transfer *transfer, bool wanted, zf_status status, const zf_error *error) {
    zf_requested *request = zf_transfer_request(transfer);
    transfer->queued = wanted && status == ZF_OK;
    if (transfer->queued) p->in_flight += transfer->described.stored_bytes;
    if (status != ZF_OK) zf_requested_failed(request, transfer->first, status, error);
    if (transfer->queued)
        request->last_on[transfer->stream] = transfer;
    else if (transfer->batch->cancelled)
        request->left_out = true;
    request->unqueued--;
    bool release = transfer->host_end != 0 || p->releasing > 0; // units stay in order
    if (release) p->releasing++;
    zf_transfer_push(p, release ? ZF_STAGE_RELEASE : ZF_STAGE_FINISH, transfer);
    zf_pipeline_wake(p, release ? ZF_WORK_RELEASE : ZF_WORK_FINISH);
    if (request->unqueued == 0) zf_pipeline_wake_all(p, ZF_WORK_ANY);
}

/// Queues the decode of the unit whose copy was queued first. With the lock, which it leaves meanwhile.
static void decode_oldest(zf_pipeline *p) {
    zf_copied_units *copied = &p->copied;
    zf_transfer *transfer = copied_unit(copied, 0);
    zf_error error;
    copied->first = (copied->first + 1) % ZF_PIPELINE_MOST_AHEAD;
    copied->count--;
    copied->bytes -= transfer->described.stored_bytes;
    transfer->stream = p->turn;
    p->turn = (p->turn + 1) % p->options.streams;
    pthread_mutex_unlock(&p->lock);
    zf_status status = queue_decode(p, transfer, &error);
    if (status != ZF_OK) {
        p->accelerator->ops->wait(p->accelerator, p->copies, NULL);
        if (p->accelerator->ops->wait(p->accelerator, p->decodes[transfer->stream], NULL) == ZF_OK)
            zf_units_ended(transfer->units);
    }
    pthread_mutex_lock(&p->lock);
    end_queueing(p, transfer, true, status, &error);
}

/// Queues the copy of a unit that was read. With the lock, which it leaves meanwhile.
static void copy_next(zf_pipeline *p, zf_transfer *transfer) {
    zf_copied_units *copied = &p->copied;
    zf_error error;
    zf_status status = ZF_OK;
    zf_transfer_pop(p, ZF_STAGE_QUEUE);
    bool wanted = transfer->units != NULL && !zf_transfer_unwanted(transfer);
    if (wanted) status = hold(p, transfer, &error);
    if (wanted && status == ZF_OK) {
        pthread_mutex_unlock(&p->lock);
        status = queue_copy(p, transfer, &error);
        if (status != ZF_OK) p->accelerator->ops->wait(p->accelerator, p->copies, NULL);
        pthread_mutex_lock(&p->lock);
    }
    if (wanted && status == ZF_OK) {
        copied->units[(copied->first + copied->count++) % ZF_PIPELINE_MOST_AHEAD] = transfer;
        copied->bytes += transfer->described.stored_bytes;
        return;
    }
    while (copied->count > 0) decode_oldest(p); // units stay in order
    end_queueing(p, transfer, wanted, status, &error);
}

/// Work that waits in a device's queues costs the link some of its rate (seen on an H200), so no more bytes than these are queued
/// at a time, and what one more unit has: a millisecond of a fast link, or two units where those are larger.
static uint64_t most_in_flight(const zf_pipeline *p) {
    const uint64_t enough = UINT64_C(64) << 20;
    uint64_t unit = p->options.unit_bytes;
    return unit <= enough / 2 ? enough : unit > UINT64_MAX / 2 ? UINT64_MAX : 2 * unit;
}

/// The unit whose copy may be queued next; NULL: none yet. Under the lock.
static zf_transfer *next_to_copy(const zf_pipeline *p) {
    const zf_copied_units *copied = &p->copied;
    zf_transfer *next = p->queues[ZF_STAGE_QUEUE].first;
    if (next == NULL || !next->read || copied->count == ZF_PIPELINE_MOST_AHEAD) return NULL;
    uint64_t behind = copied->count > 0 ? copied->bytes - copied_unit(copied, 0)->described.stored_bytes : 0;
    if (behind >= ZF_PIPELINE_BYTES_AHEAD) return NULL;
    return p->in_flight + copied->bytes < most_in_flight(p) ? next : NULL;
}

void zf_pipeline_feed_now(zf_pipeline *p) {
    if (p->feeding) return;
    p->feeding = true;
    for (zf_transfer *next; (next = next_to_copy(p)) != NULL;) copy_next(p, next);
    p->feeding = false;
    zf_pipeline_wake(p, ZF_WORK_QUEUE);
}

/// Waits for the copy of a large unit before its decode is enqueued. Kernels that wait for a copy in a device's queues may cost
/// the copies before it some of the link's rate (seen on an H200: up to 3% for each of two units). This is done only if another
/// large unit keeps the link busy meanwhile and staging has room for it. Small units do not wait: the host enqueues them ahead.
/// With the lock, which it leaves meanwhile. A failure is the device's: queueing meets it again.
static void await_copy(zf_pipeline *p) {
    const zf_copied_units *copied = &p->copied;
    for (unsigned k = 0; k < 2; k++) {
        if (copied->count <= k || copied_unit(copied, k)->described.stored_bytes < p->large) return;
    }
    void *end = copied_unit(copied, 0)->events[ZF_COPY_END];
    pthread_mutex_unlock(&p->lock);
    p->accelerator->ops->event_wait(p->accelerator, end, NULL);
    pthread_mutex_lock(&p->lock);
}

/// Queues a copy or a decode. Under the lock, which it leaves meanwhile. False: there is nothing that could be.
static bool feed(zf_pipeline *p) {
    if (p->feeding) return false;
    zf_transfer *next = next_to_copy(p);
    if (next == NULL && p->copied.count == 0) return false;
    p->feeding = true;
    if (next != NULL) {
        copy_next(p, next);
    } else {
        await_copy(p);
        decode_oldest(p);
    }
    p->feeding = false;
    return true;
}

void *zf_pipeline_feeder(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        if (feed(p)) continue;
        if (p->queues[ZF_STAGE_QUEUE].first == NULL && p->stop) break;
        zf_pipeline_sleep(p, ZF_WORK_QUEUE);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- Waiting --------------------------------------------------------------------------------------------------

/// Gives the host's memory back when all that lay there was copied.
void *zf_pipeline_releaser(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (zf_transfer *transfer; (transfer = zf_transfer_await(p, ZF_STAGE_RELEASE, ZF_WORK_RELEASE)) != NULL;) {
        pthread_mutex_unlock(&p->lock);
        zf_error error;
        zf_status status = ZF_OK;
        if (transfer->queued && transfer->host_end != 0)
            status = p->accelerator->ops->event_wait(p->accelerator, transfer->events[ZF_COPY_END], &error);
        pthread_mutex_lock(&p->lock);
        if (status != ZF_OK) zf_requested_failed(zf_transfer_request(transfer), transfer->first, status, &error);
        p->releasing--;
        if (transfer->host_end != 0) {
            zf_ring_release(&p->host_ring, transfer->host_end);
            zf_pipeline_wake_all(p, ZF_WORK_READ);
        }
        zf_transfer_push(p, ZF_STAGE_FINISH, transfer);
        zf_pipeline_wake(p, ZF_WORK_FINISH);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// A column's, with one more unit. Kernels, and what it took to compile them, are the column's: the last unit knows most of them.
static void add_stats(zf_decode_stats *all, const zf_decode_stats *unit) {
    all->blocks_read += unit->blocks_read;
    all->bytes_read += unit->bytes_read;
    all->launches += unit->launches;
    all->kernels = larger(all->kernels, unit->kernels);
    all->kernel_variants = larger(all->kernel_variants, unit->kernel_variants);
    all->codes = larger(all->codes, unit->codes);
    all->compiled = larger(all->compiled, unit->compiled);
    all->cached = larger(all->cached, unit->cached);
    all->load_seconds += unit->load_seconds;
    if (unit->compile_seconds > all->compile_seconds) all->compile_seconds = unit->compile_seconds;
}

/// The column's last unit is over, and so is the column, but for its rows' way to the host. Under the lock, which it leaves.
static void end_column(zf_pipeline *p, zf_requested *request) {
    bool whole = request->status == ZF_OK && !request->left_out;
    if (whole && !request->given.on_device) {
        zf_requested_push(&p->to_deliver, request);
        zf_pipeline_wake(p, ZF_WORK_DELIVER);
        return;
    }
    pthread_mutex_unlock(&p->lock);
    zf_requested_check_file(request);
    pthread_mutex_lock(&p->lock);
    zf_requested_done(request);
}

void *zf_pipeline_finisher(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (zf_transfer *transfer; (transfer = zf_transfer_await(p, ZF_STAGE_FINISH, ZF_WORK_FINISH)) != NULL;) {
        pthread_mutex_unlock(&p->lock);
        zf_error error;
        zf_status status = ZF_OK;
        zf_units *units = transfer->units;
        zf_decode_stats did = {0};
        if (transfer->queued) {
            status = p->accelerator->ops->event_wait(p->accelerator, transfer->events[ZF_DECODE_END], &error);
            if (status == ZF_OK) zf_units_ended(units);
            if (status == ZF_OK) status = zf_units_status(units, transfer->words, &error);
            did = zf_units_stats(units);
        }
        // A unit whose bytes stay on the device is checked once and kept. Others are freed here, before their column may be done.
        transfer->head_there = transfer->head_at != 0 && transfer->queued && status == ZF_OK;
        if (!transfer->head_there) {
            zf_units_free(units);
            transfer->units = NULL;
        }
        pthread_mutex_lock(&p->lock);
        while (p->followed == transfer) zf_pipeline_sleep(p, ZF_WORK_FINISH);
        zf_requested *request = zf_transfer_request(transfer);
        if (transfer->queued) {
            add_stats(&request->stats, &did);
            p->in_flight -= transfer->described.stored_bytes;
            zf_pipeline_wake(p, ZF_WORK_QUEUE);
        }
        if (status != ZF_OK) zf_requested_failed(request, transfer->first, status, &error);
        if (transfer->held) give_back_oldest(p); // it is that: units are finished as they were queued
        bool last = zf_transfer_over(transfer);
        if (p->options.order == ZF_PIPELINE_APART) zf_pipeline_wake_all(p, ZF_WORK_READ);
        if (last) end_column(p, request);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- Delivering -----------------------------------------------------------------------------------------------

/// Brings rows that are wanted in the host's memory there.
void *zf_pipeline_deliverer(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (zf_requested *request; (request = zf_requested_await(p, &p->to_deliver, ZF_WORK_DELIVER)) != NULL;) {
        pthread_mutex_unlock(&p->lock);
        request->status =
            zf_units_column_fetch(request->column, p->delivery, &request->memory, &request->given.host, &request->error);
        zf_requested_check_file(request);
        pthread_mutex_lock(&p->lock);
        zf_requested_done(request);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

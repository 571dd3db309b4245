// How units go through an accelerator: threads that read and check, one that queues, and some that wait for the device.
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/container_open.h"
#include "runtime/error_codes.h"
#include "runtime/pipeline/pipeline_internal.h"
#include "runtime/pipeline/read_file.h"

static zf_requested *request_of(const zf_transfer *transfer) { return &transfer->batch->requests[transfer->request]; }

// ---- Reading and checking -------------------------------------------------------------------------------------

/// Brings the unit's bytes into pinned memory, unless they are there, and checks its blocks.
static zf_status prepare(zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    zf_requested *request = request_of(transfer);
    uint8_t *slot = p->host + transfer->host_at;
    const uint8_t *stored = NULL;
    if (!request->given.container->loaded && transfer->file_bytes > 0) {
        uint8_t *to = slot + transfer->head_bytes + transfer->file_offset % ZF_PIPELINE_ALIGNMENT; // as direct reads want it
        ZF_TRY(zf_read_file(request->given.container, transfer->file_offset, transfer->file_bytes, to, error));
        stored = to;
    }
    ZF_TRY(zf_units_make_part(request->column, transfer->first, transfer->last, stored, &transfer->units, error));
    zf_units_sizes sizes = zf_units_sizes_of(transfer->units);
    if (sizes.workspace <= transfer->device_bytes && (sizes.head <= transfer->head_bytes || transfer->first == transfer->last) &&
        zf_units_words(transfer->units) <= transfer->word_room) {
        transfer->joined = stored != NULL && zf_units_is_run(transfer->units);
        transfer->head = transfer->joined ? (uint8_t *)(uintptr_t)stored - sizes.head : slot;
        if (transfer->first != transfer->last) zf_units_write_head(transfer->units, transfer->head);
        return ZF_OK;
    }
    return zf_raise(error, ZF_E_INTERNAL, "a transfer unit needs more memory than was thought: %llu of %llu bytes",
                    (unsigned long long)sizes.workspace, (unsigned long long)transfer->device_bytes);
}

/// Whether the next unit may begin: there is room for it in the host's memory, and, without overlap, no other is under way.
/// Takes the room. Under the lock.
static bool may_begin(zf_pipeline *p, zf_transfer *transfer) {
    transfer->host_end = 0;
    if (p->options.order == ZF_PIPELINE_APART && p->under_way > 0) return false;
    if (zf_transfer_unwanted(transfer)) return true;
    return zf_ring_reserve(&p->host_ring, transfer->host_bytes, &transfer->host_at, &transfer->host_end);
}

void *zf_pipeline_reader(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        zf_transfer *transfer = p->queues[ZF_STAGE_READ].first;
        if (transfer == NULL && p->stop) break;
        if (transfer == NULL || !may_begin(p, transfer)) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        zf_transfer_pop(p, ZF_STAGE_READ);
        zf_transfer_push(p, ZF_STAGE_QUEUE, transfer);
        p->under_way++;
        bool wanted = transfer->host_end != 0;
        pthread_cond_broadcast(&p->changed); // the next unit may be another reader's
        pthread_mutex_unlock(&p->lock);
        zf_error error;
        zf_status status = ZF_OK;
        double begin = zf_clock_seconds() - transfer->batch->begun;
        if (wanted) status = prepare(p, transfer, &error);
        if (status != ZF_OK) {
            zf_units_free(transfer->units);
            transfer->units = NULL;
        }
        if (wanted) {
            transfer->described.measured.read_begin = begin;
            transfer->described.measured.read_end = zf_clock_seconds() - transfer->batch->begun;
        }
        pthread_mutex_lock(&p->lock);
        if (status != ZF_OK) zf_requested_failed(request_of(transfer), transfer->first, status, &error);
        transfer->read = true;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- Queueing -------------------------------------------------------------------------------------------------

/// The memory of the oldest unit that has some may be used again. Under the lock.
static void give_back_oldest(zf_pipeline *p) {
    zf_transfer *oldest = zf_transfer_pop(p, ZF_STAGE_HELD);
    oldest->held = false;
    zf_ring_release(&p->device_ring, oldest->device_end);
}

/// Takes memory of the device. Where it is still in use the stream of copies waits, not this thread. With the lock: a unit whose
/// event is waited for must not end, and be freed, meanwhile.
static zf_status hold(zf_pipeline *p, zf_transfer *transfer, uint64_t *at, zf_error *error) {
    zf_status status = ZF_OK;
    pthread_mutex_lock(&p->lock);
    while (status == ZF_OK &&
           !zf_ring_reserve(&p->device_ring, zf_units_sizes_of(transfer->units).workspace, at, &transfer->device_end)) {
        zf_transfer *oldest = p->queues[ZF_STAGE_HELD].first;
        status = p->accelerator->ops->stream_follow(p->accelerator, p->copies, oldest->events[ZF_DECODE_END], error);
        if (status == ZF_OK) give_back_oldest(p);
    }
    if (status == ZF_OK) {
        transfer->held = true;
        zf_transfer_push(p, ZF_STAGE_HELD, transfer);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

/// Nobody uses the memory of the newest unit that has some: there was a failure. Under the lock.
static void unhold_newest(zf_pipeline *p, zf_transfer *transfer) {
    zf_transfer_queue *queue = &p->queues[ZF_STAGE_HELD];
    zf_transfer *before = NULL;
    for (zf_transfer *t = queue->first; t != transfer; t = t->next[ZF_STAGE_HELD]) before = t;
    if (before != NULL)
        before->next[ZF_STAGE_HELD] = NULL;
    else
        queue->first = NULL;
    queue->last = before;
    p->device_ring.head = before != NULL ? before->device_end : p->device_ring.tail;
    transfer->held = false;
}

/// The blocks, and with them the head where both are in one piece.
static zf_status queue_copy(zf_pipeline *p, zf_transfer *transfer, const zf_units_memory *memory, zf_error *error) {
    zf_accelerator *a = p->accelerator;
    zf_units_sizes sizes = zf_units_sizes_of(transfer->units);
    ZF_TRY(a->ops->event_note(a, p->copies, transfer->events[ZF_COPY_BEGIN], error));
    if (transfer->joined)
        ZF_TRY(a->ops->copy_in(a, p->copies, memory->workspace, transfer->head, sizes.head + sizes.stored, error));
    else
        ZF_TRY(zf_units_upload_blocks(transfer->units, p->copies, memory, error));
    return a->ops->event_note(a, p->copies, transfer->events[ZF_COPY_END], error);
}

/// A head of its own goes on the stream that decodes, so that the link's stream has nothing but large copies, and behind what
/// the memory was used for before.
static zf_status queue_head(zf_pipeline *p, zf_transfer *transfer, void *stream, const zf_units_memory *memory, zf_error *error) {
    zf_accelerator *a = p->accelerator;
    if (transfer->joined) return ZF_OK;
    ZF_TRY(a->ops->stream_follow(a, stream, transfer->events[ZF_COPY_BEGIN], error));
    if (transfer->first == transfer->last) return zf_units_start(transfer->units, stream, memory, error);
    return a->ops->copy_in(a, stream, memory->workspace, transfer->head, zf_units_sizes_of(transfer->units).head, error);
}

static zf_status queue_decode(zf_pipeline *p, zf_transfer *transfer, void *stream, const zf_units_memory *memory,
                              zf_error *error) {
    const zf_accelerator_ops *ops = p->accelerator->ops;
    ZF_TRY(queue_head(p, transfer, stream, memory, error));
    ZF_TRY(ops->stream_follow(p->accelerator, stream, transfer->events[ZF_COPY_END], error));
    ZF_TRY(ops->event_note(p->accelerator, stream, transfer->events[ZF_DECODE_BEGIN], error));
    ZF_TRY(zf_units_launch(transfer->units, stream, memory, error));
    ZF_TRY(zf_units_end(transfer->units, stream, memory, transfer->words, error));
    return ops->event_note(p->accelerator, stream, transfer->events[ZF_DECODE_END], error);
}

/// Queues all of a unit. After a failure nothing of it is under way.
static zf_status queue_unit(zf_pipeline *p, zf_transfer *transfer, unsigned turn, zf_error *error) {
    zf_units_memory memory = request_of(transfer)->memory;
    uint64_t at = 0;
    ZF_TRY(hold(p, transfer, &at, error));
    memory.workspace = p->device_at + at;
    zf_status status = queue_copy(p, transfer, &memory, error);
    if (status == ZF_OK) status = queue_decode(p, transfer, p->decodes[turn], &memory, error);
    if (status == ZF_OK) return ZF_OK;
    p->accelerator->ops->wait(p->accelerator, p->copies, NULL);
    p->accelerator->ops->wait(p->accelerator, p->decodes[turn], NULL);
    pthread_mutex_lock(&p->lock);
    unhold_newest(p, transfer);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void *zf_pipeline_feeder(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        zf_transfer *transfer = p->queues[ZF_STAGE_QUEUE].first;
        if (transfer == NULL && p->stop) break;
        if (transfer == NULL || !transfer->read) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        zf_transfer_pop(p, ZF_STAGE_QUEUE);
        bool wanted = transfer->units != NULL && !zf_transfer_unwanted(transfer);
        pthread_mutex_unlock(&p->lock);
        zf_error error;
        zf_status status = ZF_OK;
        unsigned turn = p->turn;
        if (wanted) status = queue_unit(p, transfer, turn, &error);
        pthread_mutex_lock(&p->lock);
        zf_requested *request = request_of(transfer);
        transfer->queued = wanted && status == ZF_OK;
        if (status != ZF_OK) zf_requested_failed(request, transfer->first, status, &error);
        if (transfer->queued) {
            request->last_on[turn] = transfer;
            p->turn = (turn + 1) % p->options.streams;
        } else if (transfer->batch->cancelled) {
            request->left_out = true;
        }
        request->unqueued--;
        zf_transfer_push(p, ZF_STAGE_RELEASE, transfer);
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- Waiting --------------------------------------------------------------------------------------------------

/// Gives the host's memory back when all that lay there was copied.
void *zf_pipeline_releaser(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        zf_transfer *transfer = p->queues[ZF_STAGE_RELEASE].first;
        if (transfer == NULL && p->stop) break;
        if (transfer == NULL) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        zf_transfer_pop(p, ZF_STAGE_RELEASE);
        pthread_mutex_unlock(&p->lock);
        zf_error error;
        zf_status status = ZF_OK;
        if (transfer->queued) {
            // A head of its own is copied before the decode begins.
            void *copied = transfer->events[transfer->joined ? ZF_COPY_END : ZF_DECODE_BEGIN];
            status = p->accelerator->ops->event_wait(p->accelerator, copied, &error);
        }
        pthread_mutex_lock(&p->lock);
        if (status != ZF_OK) zf_requested_failed(request_of(transfer), transfer->first, status, &error);
        if (transfer->host_end != 0) zf_ring_release(&p->host_ring, transfer->host_end);
        zf_transfer_push(p, ZF_STAGE_FINISH, transfer);
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/// When a unit's events happened, since the batch's start.
static zf_status take_times(zf_pipeline *p, zf_transfer *transfer, zf_error *error) {
    zf_unit_times *times = &transfer->described.measured;
    double *to[ZF_TRANSFER_EVENTS] = {&times->copy_begin, &times->copy_end, &times->decode_begin, &times->decode_end};
    for (unsigned e = 0; e < ZF_TRANSFER_EVENTS; e++) {
        ZF_TRY(p->accelerator->ops->event_seconds(p->accelerator, transfer->batch->base, transfer->events[e], to[e], error));
    }
    return ZF_OK;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// A column's, with one more unit. Kernels, and what it took to compile them, are the column's: the last unit knows most of them.
static void add_stats(zf_decode_stats *all, const zf_decode_stats *unit) {
    all->blocks_read += unit->blocks_read;
    all->bytes_read += unit->bytes_read;
    all->launches += unit->launches;
    all->kernels = larger(all->kernels, unit->kernels);
    all->kernel_variants = larger(all->kernel_variants, unit->kernel_variants);
    all->load_seconds += unit->load_seconds;
    if (unit->compile_seconds > all->compile_seconds) all->compile_seconds = unit->compile_seconds;
}

void *zf_pipeline_finisher(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        zf_transfer *transfer = p->queues[ZF_STAGE_FINISH].first;
        if (transfer == NULL && p->stop) break;
        if (transfer == NULL) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        zf_transfer_pop(p, ZF_STAGE_FINISH);
        pthread_mutex_unlock(&p->lock);
        zf_error error;
        zf_status status = ZF_OK;
        if (transfer->queued) {
            status = p->accelerator->ops->event_wait(p->accelerator, transfer->events[ZF_DECODE_END], &error);
            if (status == ZF_OK) status = take_times(p, transfer, &error);
            if (status == ZF_OK) status = zf_units_status(transfer->units, transfer->words, &error);
        }
        zf_decode_stats did = transfer->units != NULL ? zf_units_stats(transfer->units) : (zf_decode_stats){0};
        zf_units_free(transfer->units);
        transfer->units = NULL;
        pthread_mutex_lock(&p->lock);
        zf_requested *request = request_of(transfer);
        if (transfer->queued) add_stats(&request->stats, &did);
        if (status != ZF_OK) zf_requested_failed(request, transfer->first, status, &error);
        if (transfer->held) give_back_oldest(p); // it is that: units are finished as they were queued
        if (zf_transfer_over(transfer)) zf_requested_push(&p->to_deliver, request);
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- Delivering -----------------------------------------------------------------------------------------------

/// Ends columns, and brings rows that are wanted in the host's memory there.
void *zf_pipeline_deliverer(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        if (p->to_deliver.first == NULL && p->stop) break;
        if (p->to_deliver.first == NULL) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        zf_requested *request = zf_requested_pop(&p->to_deliver);
        bool whole = request->status == ZF_OK && !request->left_out;
        bool last = request->batch->requests_left == 1; // nobody else counts them
        pthread_mutex_unlock(&p->lock);
        if (whole && !request->given.on_device)
            request->status =
                zf_units_column_fetch(request->column, p->delivery, &request->memory, &request->given.host, &request->error);
        zf_requested_check_file(request);
        if (last) zf_batch_learn(request->batch);
        pthread_mutex_lock(&p->lock);
        zf_requested_done(request);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

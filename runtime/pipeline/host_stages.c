// The CPU's pipeline: columns are decoded one behind the other, over the context's threads, while others bring the bytes of what
// comes next into the page cache. How far they are ahead is bounded.
#include <math.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"
#include "runtime/decode/decode_host.h"
#include "runtime/pipeline/pipeline_internal.h"

// ---- Reading --------------------------------------------------------------------------------------------------

/// A unit is over when it was read and none of its blocks is wanted any more: after a failure that may come before the other.
/// Under the lock.
static void end_if_over(zf_pipeline *p, zf_transfer *transfer) {
    if (!transfer->read || transfer->blocks_left > 0 || transfer->over) return;
    transfer->over = true;
    p->ahead -= transfer->file_bytes;
    zf_transfer_over(transfer);
    zf_pipeline_wake_all(p, ZF_WORK_ANY);
}

static bool may_begin(const zf_pipeline *p, const zf_transfer *transfer) {
    if (p->options.order == ZF_PIPELINE_APART) return p->under_way == 0;
    if (p->ahead == 0 || zf_transfer_unwanted(transfer)) return true;
    return transfer->file_bytes <= p->options.host_staging && p->ahead <= p->options.host_staging - transfer->file_bytes;
}

void *zf_pipeline_host_reader(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        zf_transfer *transfer = p->queues[ZF_STAGE_READ].first;
        if (transfer == NULL && p->stop) break;
        if (transfer == NULL || !may_begin(p, transfer)) {
            zf_pipeline_sleep(p, ZF_WORK_ANY);
            continue;
        }
        zf_transfer_pop(p, ZF_STAGE_READ);
        p->under_way++;
        p->ahead += transfer->file_bytes;
        bool wanted = !zf_transfer_unwanted(transfer);
        pthread_mutex_unlock(&p->lock);
        double begun = transfer->batch->begun, begin = zf_clock_seconds() - begun;
        if (wanted) {
            zf_byte_source *source = &zf_transfer_request(transfer)->given.container->source;
            if (source->ops->prefetch != NULL) source->ops->prefetch(source, transfer->file_offset, transfer->file_bytes);
            transfer->measured.read_begin = begin;
            transfer->measured.read_end = zf_clock_seconds() - begun;
            transfer->measured.copy_begin = transfer->measured.copy_end = transfer->measured.read_end;
        }
        pthread_mutex_lock(&p->lock);
        transfer->read = true;
        end_if_over(p, transfer);
        zf_pipeline_wake_all(p, ZF_WORK_ANY);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// ---- Decoding -------------------------------------------------------------------------------------------------

/// The unit of a block of the container's column.
static zf_transfer *unit_of(const zf_requested *request, uint64_t block) {
    size_t low = 0, high = request->units; // the unit is in low..high
    block -= request->first_block;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (request->transfers[middle].first <= block)
            low = middle;
        else
            high = middle;
    }
    return &request->transfers[low];
}

/// Before a block is touched: its unit must have been read.
static zf_status before_block(void *user, uint64_t block, zf_error *error) {
    zf_requested *request = user;
    zf_pipeline *p = request->batch->pipeline;
    zf_transfer *transfer = unit_of(request, block);
    pthread_mutex_lock(&p->lock);
    while (!transfer->read) zf_pipeline_sleep(p, ZF_WORK_ANY);
    bool cancelled = request->batch->cancelled;
    if (cancelled) request->left_out = true;
    if (isnan(transfer->measured.decode_begin)) transfer->measured.decode_begin = zf_clock_seconds() - request->batch->begun;
    pthread_mutex_unlock(&p->lock);
    return cancelled ? zf_raise(error, ZF_E_CANCELLED, "the batch was cancelled") : ZF_OK;
}

static void after_block(void *user, uint64_t block) {
    zf_requested *request = user;
    zf_pipeline *p = request->batch->pipeline;
    zf_transfer *transfer = unit_of(request, block);
    pthread_mutex_lock(&p->lock);
    transfer->measured.decode_end = zf_clock_seconds() - request->batch->begun;
    transfer->blocks_left--;
    end_if_over(p, transfer);
    pthread_mutex_unlock(&p->lock);
}

void *zf_pipeline_host_decoder(void *pipeline) {
    zf_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    for (zf_requested *request; (request = zf_requested_await(p, &p->to_decode, ZF_WORK_ANY)) != NULL;) {
        const zf_pipeline_request *given = &request->given;
        pthread_mutex_unlock(&p->lock);
        zf_decode_watch watch = {request, before_block, after_block};
        zf_decode_options options = given->options;
        zf_error error;
        options.threads = 0;
        zf_status status = zf_decode_watched(given->container, given->column, &p->device, &options, &watch, &given->host,
                                             &request->stats, &error);
        pthread_mutex_lock(&p->lock);
        if (status != ZF_OK) zf_requested_failed(request, 0, status, &error);
        for (size_t u = 0; u < request->units; u++) { // what was not begun: the decode failed as a whole
            request->transfers[u].blocks_left = 0;
            end_if_over(p, &request->transfers[u]);
        }
        while (request->left > 0) zf_pipeline_sleep(p, ZF_WORK_ANY);
        if (request->left_out) request->status = ZF_OK; // that it was cancelled is told of the column
        zf_requested_done(request);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// A batch runs: it is started, waited for, followed, cancelled.
#include <math.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/pipeline/batch_parts.h"

/// As before the first start.
static void reset(zf_batch *batch) {
    for (size_t r = 0; r < batch->request_count; r++) {
        zf_requested *request = &batch->requests[r];
        request->left = request->unqueued = request->units;
        request->done = request->left_out = request->cleared = false;
        request->failed = UINT64_MAX;
        request->status = ZF_OK;
        request->error = (zf_error){0};
        request->ready = 0;
        request->stats = (zf_decode_stats){0};
        memset(request->last_on, 0, sizeof request->last_on);
    }
    for (size_t i = 0; i < batch->count; i++) {
        zf_transfer *transfer = &batch->transfers[i];
        transfer->read = transfer->queued = transfer->held = transfer->over = transfer->cut_short = false;
        transfer->host_end = 0;
        transfer->blocks_left = transfer->last - transfer->first;
        transfer->measured = (zf_unit_times){NAN, NAN, NAN, NAN, NAN, NAN};
    }
    batch->requests_left = batch->request_count;
    batch->cancelled = false;
}

/// Notes the start on the device's clock, and at once on the host's: `*at`.
static zf_status note_start(zf_batch *batch, double *at, zf_error *error) {
    zf_pipeline *p = batch->pipeline;
    if (batch->request_count > 0 && p->accelerator != NULL)
        ZF_TRY(p->accelerator->ops->event_note(p->accelerator, p->clock, batch->base, error));
    *at = zf_clock_seconds();
    return ZF_OK;
}

/// Notes the work on the caller's stream that the run starts behind.
static zf_status note_behind(zf_batch *batch, void *stream, zf_error *error) {
    zf_accelerator *a = batch->pipeline->accelerator;
    if (a == NULL) return ZF_OK;
    if (batch->behind == NULL) ZF_TRY(a->ops->event_open(a, false, &batch->behind, error));
    return a->ops->event_note(a, stream, batch->behind, error);
}

/// Under the lock, which it may leave meanwhile. `at`: when its start was noted.
static void begin(zf_batch *batch, double at) {
    zf_pipeline *p = batch->pipeline;
    const zf_requested *before = NULL;
    reset(batch);
    batch->started = true;
    batch->runs++;
    batch->begun = batch->ended = at;
    for (size_t i = 0; i < batch->count; i++) {
        zf_requested *request = &batch->requests[batch->order[i]->request];
        zf_transfer_push(p, ZF_STAGE_READ, batch->order[i]);
        // On the CPU the units of a column follow each other.
        if (p->accelerator == NULL && request != before) zf_requested_push(&p->to_decode, request);
        before = request;
    }
    if (p->accelerator != NULL) {
        zf_pipeline_begin_kept(p);
        zf_pipeline_feed_now(p);
    }
    if (p->queues[ZF_STAGE_READ].first != NULL) zf_pipeline_wake_all(p, p->accelerator != NULL ? ZF_WORK_READ : ZF_WORK_ANY);
}

static zf_status start(zf_batch *batch, bool behind, void *stream, zf_error *error) {
    zf_pipeline *p = batch->pipeline;
    zf_batch_lock_learnt(batch);
    bool over = batch->requests_left == 0;
    if (over) batch->in_hand = true;
    pthread_mutex_unlock(&p->lock);
    if (!over) return zf_raise(error, ZF_E_ARGUMENT, "the batch is still running: wait for all of its columns first");
    double at;
    zf_status status = behind ? note_behind(batch, stream, error) : ZF_OK;
    if (status == ZF_OK) status = note_start(batch, &at, error);
    batch->is_behind = behind && p->accelerator != NULL;
    batch->followed = 0;
    pthread_mutex_lock(&p->lock);
    batch->in_hand = false;
    zf_pipeline_wake_all(p, ZF_WORK_ANY);
    if (status == ZF_OK) begin(batch, at);
    pthread_mutex_unlock(&p->lock);
    return status;
}

zf_status zf_batch_start(zf_batch *batch, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_start needs a batch");
    return start(batch, false, NULL, error);
}

zf_status zf_batch_start_behind(zf_batch *batch, void *stream, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_start_behind needs a batch");
    return start(batch, true, stream, error);
}

zf_status zf_batch_check_started(const zf_batch *batch, size_t request, zf_error *error) {
    if (request >= batch->request_count)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no request %zu: the batch has %zu", request, batch->request_count);
    return batch->started ? ZF_OK : zf_raise(error, ZF_E_ARGUMENT, "the batch was not started");
}

zf_status zf_batch_wait(zf_batch *batch, size_t request, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_wait needs a batch");
    zf_pipeline *p = batch->pipeline;
    pthread_mutex_lock(&p->lock);
    zf_status status = zf_batch_check_started(batch, request, error);
    if (status == ZF_OK) {
        const zf_requested *r = &batch->requests[request];
        while (!r->done) zf_pipeline_sleep(p, ZF_WORK_ANY);
        status = r->status;
        if (status != ZF_OK && error != NULL) *error = r->error;
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

zf_status zf_batch_follow(zf_batch *batch, size_t request, void *stream, zf_error *error) {
    if (batch == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_follow needs a batch");
    zf_pipeline *p = batch->pipeline;
    void *events[ZF_PIPELINE_MOST_STREAMS]; // they live as long as the batch
    unsigned count = 0;
    pthread_mutex_lock(&p->lock);
    zf_status status = zf_batch_check_started(batch, request, error);
    const zf_requested *r = status == ZF_OK ? &batch->requests[request] : NULL;
    if (status == ZF_OK && !r->given.on_device)
        status = zf_raise(error, ZF_E_ARGUMENT, "a stream can follow requests with `on_device` only");
    while (status == ZF_OK && r->unqueued > 0) zf_pipeline_sleep(p, ZF_WORK_ANY);
    for (unsigned s = 0; status == ZF_OK && s < p->options.streams; s++) {
        if (r->last_on[s] != NULL) events[count++] = r->last_on[s]->events[ZF_DECODE_END];
    }
    if (status == ZF_OK && r->status != ZF_OK) {
        status = r->status;
        if (error != NULL) *error = r->error;
    } else if (status == ZF_OK && r->left_out) {
        status = zf_requested_cancelled(r, error);
    }
    pthread_mutex_unlock(&p->lock);
    for (unsigned e = 0; e < count; e++) { // what was queued of a column that failed, too
        zf_status followed =
            p->accelerator->ops->stream_follow(p->accelerator, stream, events[e], status == ZF_OK ? error : NULL);
        if (status == ZF_OK) status = followed;
    }
    return status;
}

void zf_batch_cancel(zf_batch *batch) {
    if (batch == NULL) return;
    pthread_mutex_lock(&batch->pipeline->lock);
    batch->cancelled = true;
    zf_pipeline_wake_all(batch->pipeline, ZF_WORK_READ);
    zf_pipeline_wake_all(batch->pipeline, ZF_WORK_ANY);
    pthread_mutex_unlock(&batch->pipeline->lock);
}

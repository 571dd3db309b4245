// Queues, and what becomes of a column: all under the pipeline's lock.
#include "runtime/base/clock.h"
#include "runtime/base/error_codes.h"
#include "runtime/container/container_open.h"
#include "runtime/pipeline/pipeline_internal.h"

void zf_pipeline_wake(zf_pipeline *p, zf_pipeline_work work) { pthread_cond_signal(&p->work[work]); }
void zf_pipeline_wake_all(zf_pipeline *p, zf_pipeline_work work) { pthread_cond_broadcast(&p->work[work]); }
void zf_pipeline_sleep(zf_pipeline *p, zf_pipeline_work work) { pthread_cond_wait(&p->work[work], &p->lock); }

void zf_transfer_push(zf_pipeline *pipeline, zf_stage stage, zf_transfer *transfer) {
    zf_transfer_queue *queue = &pipeline->queues[stage];
    transfer->next[stage] = NULL;
    if (queue->last != NULL)
        queue->last->next[stage] = transfer;
    else
        queue->first = transfer;
    queue->last = transfer;
}

zf_transfer *zf_transfer_pop(zf_pipeline *pipeline, zf_stage stage) {
    zf_transfer_queue *queue = &pipeline->queues[stage];
    zf_transfer *transfer = queue->first;
    queue->first = transfer->next[stage];
    if (queue->first == NULL) queue->last = NULL;
    return transfer;
}

void zf_requested_push(zf_requested_queue *queue, zf_requested *request) {
    request->next = NULL;
    if (queue->last != NULL)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
}

zf_transfer *zf_transfer_await(zf_pipeline *p, zf_stage stage, zf_pipeline_work work) {
    while (p->queues[stage].first == NULL && !p->stop) zf_pipeline_sleep(p, work);
    return p->queues[stage].first != NULL ? zf_transfer_pop(p, stage) : NULL;
}

zf_requested *zf_requested_await(zf_pipeline *p, zf_requested_queue *queue, zf_pipeline_work work) {
    while (queue->first == NULL && !p->stop) zf_pipeline_sleep(p, work);
    zf_requested *request = queue->first;
    if (request == NULL) return NULL;
    queue->first = request->next;
    if (queue->first == NULL) queue->last = NULL;
    return request;
}

bool zf_transfer_unwanted(const zf_transfer *transfer) {
    const zf_requested *request = zf_transfer_request(transfer);
    return transfer->batch->cancelled || transfer->first > request->failed;
}

void zf_requested_failed(zf_requested *request, uint64_t block, zf_status status, const zf_error *error) {
    if (block >= request->failed) return;
    request->failed = block;
    request->status = status;
    request->error = *error;
}

bool zf_transfer_over(zf_transfer *transfer) {
    zf_requested *request = zf_transfer_request(transfer);
    transfer->batch->pipeline->under_way--;
    return --request->left == 0;
}

zf_status zf_requested_cancelled(const zf_requested *request, zf_error *error) {
    zf_status status = zf_raise(error, ZF_E_CANCELLED, "column %s was cancelled before it was decoded",
                                request->given.container->index.columns[request->given.column].shown);
    return zf_fail_place(error, status, "%s", zf_container_short_path(request->given.container));
}

void zf_requested_done(zf_requested *request) {
    zf_batch *batch = request->batch;
    if (request->status == ZF_OK && request->left_out) request->status = zf_requested_cancelled(request, &request->error);
    request->ready = zf_clock_seconds();
    request->done = true;
    if (--batch->requests_left == 0) {
        batch->ended = request->ready;
        batch->unlearned = true;
        batch->next_unlearned = batch->pipeline->unlearned;
        batch->pipeline->unlearned = batch;
    }
    zf_pipeline_wake_all(batch->pipeline, ZF_WORK_ANY);
}

void zf_requested_check_file(zf_requested *request) {
    zf_error error = request->error;
    zf_status status = zf_container_explain(request->given.container, request->status, &error);
    if (status == ZF_OK) return;
    pthread_mutex_lock(&request->batch->pipeline->lock); // zf_batch_follow may look
    request->status = status;
    request->error = error;
    pthread_mutex_unlock(&request->batch->pipeline->lock);
}

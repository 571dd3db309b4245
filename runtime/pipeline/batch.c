// A batch: made of columns, and freed.
#include <math.h>
#include <stdlib.h>

#include "runtime/base/sized.h"
#include "runtime/pipeline/batch_parts.h"

enum { LEAST_WORDS = 1 << 16, MOST_SPARE = 1 << 20 }; // bytes

/// Takes pinned memory for failure words: the pipeline's spare where that suffices. The caller's allocator is asked for what
/// there must be, the driver for some more, so that the memory serves later batches.
static zf_status take_words(zf_batch *batch, uint64_t bytes, zf_error *error) {
    zf_pipeline *p = batch->pipeline;
    bool own = p->options.allocator.host_allocate == NULL;
    pthread_mutex_lock(&p->lock);
    if (own && p->spare.bytes >= bytes) {
        batch->words = p->spare;
        p->spare = (zf_pinned_part){0};
    }
    pthread_mutex_unlock(&p->lock);
    if (batch->words.at != NULL) return ZF_OK;
    if (own && bytes < LEAST_WORDS) bytes = LEAST_WORDS;
    return zf_pinned_part_take(p->accelerator, &p->options.allocator, bytes, "a batch's failure words", &batch->words, error);
}

static void give_words(zf_batch *batch) {
    zf_pipeline *p = batch->pipeline;
    zf_pinned_part part = batch->words;
    pthread_mutex_lock(&p->lock);
    if (p->options.allocator.host_allocate == NULL && part.bytes > p->spare.bytes && part.bytes <= MOST_SPARE) {
        batch->words = p->spare;
        p->spare = part;
    }
    pthread_mutex_unlock(&p->lock);
    zf_pinned_part_give(&p->options.allocator, &batch->words);
}

/// Opens the units' resources on an accelerator: events, and memory for their failure words.
static zf_status open_transfers(zf_batch *batch, zf_error *error) {
    zf_accelerator *a = batch->pipeline->accelerator;
    const zf_pipeline_allocator *allocator = &batch->pipeline->options.allocator;
    uint64_t words = 0;
    if (a == NULL) return ZF_OK;
    for (size_t i = 0; i < batch->count; i++) words += batch->transfers[i].word_room;
    ZF_TRY(take_words(batch, (words + 1) * sizeof(uint64_t), error));
    uint64_t heads = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const zf_transfer *transfer = &batch->transfers[i];
        if (batch->requests[transfer->request].given.container->loaded) heads += transfer->head_bytes;
    }
    if (heads > 0) ZF_TRY(zf_device_part_take(a, allocator, heads, "a batch's tables", &batch->heads, error));
    heads = 0;
    ZF_TRY(a->ops->event_open(a, true, &batch->base, error));
    words = 0;
    for (size_t i = 0; i < batch->count; i++) {
        zf_transfer *transfer = &batch->transfers[i];
        transfer->words = (uint64_t *)(void *)batch->words.at + words;
        words += transfer->word_room;
        if (batch->requests[transfer->request].given.container->loaded && transfer->first != transfer->last) {
            transfer->head_at = batch->heads.address + heads;
            heads += transfer->head_bytes;
        }
        for (unsigned e = 0; e < ZF_TRANSFER_EVENTS; e++) ZF_TRY(a->ops->event_open(a, true, &transfer->events[e], error));
    }
    return ZF_OK;
}

static zf_status make(zf_batch *batch, const zf_pipeline_request *requests, size_t count, zf_error *error) {
    size_t room = 0;
    batch->requests = calloc(count + 1, sizeof *batch->requests);
    if (batch->requests == NULL) return zf_batch_no_memory(error);
    for (size_t r = 0; r < count; r++) {
        ZF_TRY(ZF_EXACT(zf_pipeline_request, &requests[r], error));
        batch->requests[r].given = requests[r];
        batch->requests[r].given.options.cancelled = NULL; // zf_batch_cancel is for batches
        batch->request_count++;
        ZF_TRY(zf_requested_open(batch, &batch->requests[r], error));
        ZF_TRY(zf_batch_cut(batch, &room, (uint32_t)r, error));
    }
    batch->info.units = batch->count;
    batch->info.measured_seconds = NAN;
    batch->order = calloc(batch->count + 1, sizeof *batch->order);
    if (batch->order == NULL) return zf_batch_no_memory(error);
    for (size_t i = 0, r = 0; i < batch->count; i++) { // units of a request lie together
        for (; r <= batch->transfers[i].request; r++) batch->requests[r].transfers = &batch->transfers[i];
        batch->order[i] = &batch->transfers[i];
    }
    ZF_TRY(open_transfers(batch, error));
    return zf_batch_order(batch, error);
}

zf_status zf_batch_create(zf_pipeline *pipeline, const zf_pipeline_request *requests, size_t count, zf_batch **out,
                          zf_error *error) {
    if (out != NULL) *out = NULL;
    if (pipeline == NULL || out == NULL || (requests == NULL && count > 0))
        return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_create needs a pipeline, requests and a place for the batch");
    if (count > UINT32_MAX / 2) return zf_raise(error, ZF_E_ARGUMENT, "%zu requests are too many", count);
    zf_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return zf_batch_no_memory(error);
    batch->pipeline = pipeline;
    zf_pipeline_learn(pipeline);
    zf_status status = make(batch, requests, count, error);
    if (status == ZF_OK)
        *out = batch;
    else
        zf_batch_free(batch);
    return status;
}

void zf_batch_free(zf_batch *batch) {
    if (batch == NULL) return;
    zf_pipeline *p = batch->pipeline;
    zf_accelerator *a = p->accelerator;
    const zf_pipeline_allocator *allocator = &p->options.allocator;
    pthread_mutex_lock(&p->lock);
    batch->cancelled = true;
    zf_pipeline_wake_all(p, ZF_WORK_READ);
    zf_pipeline_wake_all(p, ZF_WORK_ANY);
    while (batch->requests_left > 0) zf_pipeline_sleep(p, ZF_WORK_ANY);
    pthread_mutex_unlock(&p->lock);
    zf_batch_lock_learnt(batch); // nobody has it in hand any more
    pthread_mutex_unlock(&p->lock);
    zf_rates_keep(p->rates, false);
    for (size_t i = 0; a != NULL && i < batch->count; i++) {
        for (unsigned e = 0; e < ZF_TRANSFER_EVENTS; e++) {
            if (batch->transfers[i].events[e] != NULL) a->ops->event_close(a, batch->transfers[i].events[e]);
        }
    }
    for (size_t i = 0; i < batch->count; i++) zf_units_free(batch->transfers[i].units); // those that stayed for another run
    zf_device_part_give(a, allocator, &batch->heads);
    if (batch->base != NULL) a->ops->event_close(a, batch->base);
    if (batch->behind != NULL) a->ops->event_close(a, batch->behind);
    give_words(batch);
    for (size_t r = 0; r < batch->request_count; r++) zf_requested_close(batch, &batch->requests[r]);
    free(batch->requests);
    free(batch->transfers);
    free(batch->order);
    free(batch);
}

// Describes a batch: its predictions and the results of its last run.
#include <math.h>

#include "runtime/base/sized.h"
#include "runtime/pipeline/batch_parts.h"

bool zf_batch_lock_over(const zf_batch *batch) {
    zf_batch_lock_learnt(batch);
    return batch->started && batch->requests_left == 0;
}

zf_status zf_batch_describe(const zf_batch *batch, zf_batch_info *out, zf_error *error) {
    if (batch == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_describe needs a batch and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_batch_info, out, error));
    zf_batch_info info = batch->info;
    info.measured_seconds = zf_batch_lock_over(batch) ? batch->ended - batch->begun : NAN;
    pthread_mutex_unlock(&batch->pipeline->lock);
    ZF_GIVE(zf_batch_info, out, &info);
    return ZF_OK;
}

zf_status zf_batch_unit_get(const zf_batch *batch, size_t index, zf_batch_unit *out, zf_error *error) {
    if (batch == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_unit_get needs a batch and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_batch_unit, out, error));
    if (index >= batch->count)
        return zf_raise(error, ZF_E_ARGUMENT, "there is no unit %zu: the batch has %zu", index, batch->count);
    const zf_transfer *transfer = batch->order[index];
    zf_batch_unit unit = transfer->described;
    unit.measured = zf_batch_lock_over(batch) ? transfer->measured : (zf_unit_times){NAN, NAN, NAN, NAN, NAN, NAN};
    pthread_mutex_unlock(&batch->pipeline->lock);
    ZF_GIVE(zf_batch_unit, out, &unit);
    return ZF_OK;
}

zf_status zf_batch_stats(const zf_batch *batch, size_t request, zf_decode_stats *out, zf_error *error) {
    if (batch == NULL || out == NULL) return zf_raise(error, ZF_E_ARGUMENT, "zf_batch_stats needs a batch and a place");
    ZF_TRY(ZF_CHECK_GIVEN(zf_decode_stats, out, error));
    pthread_mutex_lock(&batch->pipeline->lock);
    zf_status status = zf_batch_check_started(batch, request, error);
    if (status == ZF_OK && !batch->requests[request].done)
        status = zf_raise(error, ZF_E_ARGUMENT, "request %zu is still running: wait for it first", request);
    if (status == ZF_OK) ZF_GIVE(zf_decode_stats, out, &batch->requests[request].stats);
    pthread_mutex_unlock(&batch->pipeline->lock);
    return status;
}

double zf_batch_ready_seconds(const zf_batch *batch, size_t request) {
    if (batch == NULL || request >= batch->request_count) return NAN;
    pthread_mutex_lock(&batch->pipeline->lock);
    double seconds = batch->requests[request].done ? batch->requests[request].ready - batch->begun : NAN;
    pthread_mutex_unlock(&batch->pipeline->lock);
    return seconds;
}

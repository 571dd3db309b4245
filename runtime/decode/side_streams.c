// Forking and joining streams with events.
#include "runtime/decode/side_streams.h"

static bool open_one(zf_side_streams *side) {
    zf_accelerator *accelerator = side->accelerator;
    uint32_t next = side->count;
    if (accelerator->ops->event_open(accelerator, false, &side->ends[next], NULL) != ZF_OK) return false;
    if (accelerator->ops->stream_open(accelerator, &side->streams[next], NULL) == ZF_OK) return true;
    accelerator->ops->event_close(accelerator, side->ends[next]);
    return false;
}

void zf_side_streams_open(zf_side_streams *side, zf_accelerator *accelerator, uint32_t count) {
    *side = (zf_side_streams){.accelerator = accelerator};
    if (count > ZF_SIDE_STREAMS_MOST) count = ZF_SIDE_STREAMS_MOST;
    if (count == 0) return;
    if (accelerator->ops->event_open(accelerator, false, &side->begin, NULL) != ZF_OK) {
        side->begin = NULL;
        return;
    }
    while (side->count < count && open_one(side)) side->count++;
}

void zf_side_streams_close(zf_side_streams *side) {
    if (side->accelerator == NULL) return;
    const zf_accelerator_ops *ops = side->accelerator->ops;
    for (uint32_t i = 0; i < side->count; i++) {
        ops->stream_close(side->accelerator, side->streams[i]);
        ops->event_close(side->accelerator, side->ends[i]);
    }
    if (side->begin != NULL) ops->event_close(side->accelerator, side->begin);
    *side = (zf_side_streams){0};
}

zf_status zf_side_streams_fork(zf_side_streams *side, void *stream, zf_error *error) {
    if (side->count == 0) return ZF_OK;
    const zf_accelerator_ops *ops = side->accelerator->ops;
    ZF_TRY(ops->event_note(side->accelerator, stream, side->begin, error));
    for (uint32_t i = 0; i < side->count; i++)
        ZF_TRY(ops->stream_follow(side->accelerator, side->streams[i], side->begin, error));
    return ZF_OK;
}

static zf_status join_one(const zf_side_streams *side, uint32_t i, void *stream, zf_error *error) {
    const zf_accelerator_ops *ops = side->accelerator->ops;
    ZF_TRY(ops->event_note(side->accelerator, side->streams[i], side->ends[i], error));
    return ops->stream_follow(side->accelerator, stream, side->ends[i], error);
}

zf_status zf_side_streams_join(zf_side_streams *side, void *stream, zf_error *error) {
    zf_status status = ZF_OK;
    for (uint32_t i = 0; i < side->count; i++) {
        zf_status joined = join_one(side, i, stream, status == ZF_OK ? error : NULL);
        if (joined != ZF_OK) side->accelerator->ops->wait(side->accelerator, side->streams[i], NULL);
        if (status == ZF_OK) status = joined;
    }
    return status;
}

void *zf_side_stream(const zf_side_streams *side, uint32_t number, void *stream) {
    uint32_t turn = number % (side->count + 1);
    return turn == 0 ? stream : side->streams[turn - 1];
}

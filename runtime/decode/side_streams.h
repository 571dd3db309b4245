// Streams beside one of the caller's. What is queued on them between `fork` and `join` runs side by side, behind what was queued
// on the caller's stream before the one, and before what is queued there after the other.
#ifndef ZF_RUNTIME_SIDE_STREAMS_H
#define ZF_RUNTIME_SIDE_STREAMS_H

#include "runtime/device/accelerator.h"

/// With the caller's eight: as many connections to a GPU CUDA's drivers keep unless told otherwise.
enum { ZF_SIDE_STREAMS_MOST = 7 };

typedef struct zf_side_streams {
    zf_accelerator *accelerator;
    uint32_t count;
    void *streams[ZF_SIDE_STREAMS_MOST], *ends[ZF_SIDE_STREAMS_MOST];
    void *begin;
} zf_side_streams;

/// Opens `count` of them, or as many as there may be and can be had: with none everything is queued on the caller's stream.
void zf_side_streams_open(zf_side_streams *side, zf_accelerator *accelerator, uint32_t count);
/// What is queued must be done.
void zf_side_streams_close(zf_side_streams *side);

/// They begin behind what is on `stream`.
zf_status zf_side_streams_fork(zf_side_streams *side, void *stream, zf_error *error);
/// `stream` goes on when all are done; one that it cannot be made to wait for is waited for here. To be called also where
/// something failed since `fork`.
zf_status zf_side_streams_join(zf_side_streams *side, void *stream, zf_error *error);
/// Stream for piece of work `number`: `stream` and all of them in turn.
void *zf_side_stream(const zf_side_streams *side, uint32_t number, void *stream);

#endif

// Streams beside one of the caller's. Work that is enqueued on them between `fork` and `join` runs concurrently: after the work
// on the caller's stream before `fork`, and before the work there after `join`.
#ifndef ZF_RUNTIME_SIDE_STREAMS_H
#define ZF_RUNTIME_SIDE_STREAMS_H

#include "runtime/device/accelerator.h"

/// Eight with the caller's: the connections to a GPU that CUDA's driver keeps by default.
enum { ZF_SIDE_STREAMS_MOST = 7 };

typedef struct zf_side_streams {
    zf_accelerator *accelerator;
    uint32_t count;
    void *streams[ZF_SIDE_STREAMS_MOST], *ends[ZF_SIDE_STREAMS_MOST];
    void *begin;
} zf_side_streams;

/// Opens up to `count` streams. With none, all work goes to the caller's stream.
void zf_side_streams_open(zf_side_streams *side, zf_accelerator *accelerator, uint32_t count);
/// Closes the streams. Their work must be done.
void zf_side_streams_close(zf_side_streams *side);

/// Makes the side streams wait for the work on `stream`.
zf_status zf_side_streams_fork(zf_side_streams *side, void *stream, zf_error *error);
/// Makes `stream` wait for all side streams, or waits here for those that it cannot wait for.
///
/// Call it also after a failure since `fork`.
zf_status zf_side_streams_join(zf_side_streams *side, void *stream, zf_error *error);
/// Returns the stream for piece of work `number`: `stream` and the side streams in turn.
void *zf_side_stream(const zf_side_streams *side, uint32_t number, void *stream);

#endif

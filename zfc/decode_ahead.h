// Columns of a container through a pipeline, one behind the other: while one is written the next can be decoded.
#ifndef ZF_DRIVER_DECODE_AHEAD_H
#define ZF_DRIVER_DECODE_AHEAD_H

#include "measure/measure_decoded.h"
#include "zipflow/pipeline.h"

/// The first five are the caller's to fill in, the rest begins as zeroes.
typedef struct zf_ahead {
    zf_context *context;
    zf_container *container;
    const char *device;
    const zf_decode_options *options;
    uint64_t stored_most, plain_most; ///< of the columns that will come: what memory the pipeline has follows from them
    // the pipeline, from the first column on, and the column that is under way
    zf_pipeline *pipeline;
    zf_batch *batch; ///< NULL: the column is decoded alone, when it is waited for
    size_t column;
    zf_decoded decoded;
    double begun, made, started; ///< clock
} zf_ahead;

/// Begins with a column: allocates, and returns while it is decoded. Not while another is under way.
zf_status zf_ahead_begin(zf_ahead *ahead, size_t column, zf_error *error);
/// Waits for it. Free `out` with zf_decoded_free, also after a failure. What it needed of the device is free again.
zf_status zf_ahead_end(zf_ahead *ahead, zf_decoded *out, zf_error *error);
/// Gives up what is under way, and frees.
void zf_ahead_close(zf_ahead *ahead);

#endif

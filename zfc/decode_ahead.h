// Decodes columns of a container through a pipeline: while one column is written, the next is decoded.
#ifndef ZF_ZFC_DECODE_AHEAD_H
#define ZF_ZFC_DECODE_AHEAD_H

#include "measure/measure_decoded.h"
#include "zipflow/pipeline.h"

/// The caller sets the first five fields and zeroes the rest.
typedef struct zf_ahead {
    zf_context *context;
    zf_container *container;
    const char *device;
    const zf_decode_options *options; ///< of the column that begins next
    uint64_t stored_most, plain_most; ///< the largest of all columns: they set the size of the pipeline's memory
    // The pipeline, from the first column on, and the column that is being decoded.
    zf_pipeline *pipeline;
    zf_batch *batch; ///< NULL: zf_ahead_end decodes the column
    size_t column;
    zf_decoded decoded;
    double begun, made, started; ///< clock
} zf_ahead;

/// Allocates a column's buffers and starts decoding it. One column at a time.
zf_status zf_ahead_begin(zf_ahead *ahead, size_t column, zf_error *error);
/// Waits for the column. Free `out` with zf_decoded_free, also after an error. The device's memory is free again.
zf_status zf_ahead_end(zf_ahead *ahead, zf_decoded *out, zf_error *error);
/// Cancels a column that is being decoded, and frees everything.
void zf_ahead_close(zf_ahead *ahead);

#endif

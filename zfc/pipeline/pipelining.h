// What `zfc pipeline` is made of: columns and the memory that they go to, and the forms in which it is told what became of them.
#ifndef ZF_DRIVER_PIPELINING_H
#define ZF_DRIVER_PIPELINING_H

#include "runtime/device/accelerator.h"
#include "zfc/first_byte.h"
#include "zfc/report.h"
#include "zipflow/pipeline.h"

/// A column, or rows of it. Of one that failed before the batch was made there is no request.
typedef struct zf_piped {
    zf_container *container;
    size_t column;
    zf_column_info info;
    char label[160]; ///< its name; of several containers with the table's before it, or the file's where that is no other's
    uint64_t rows;   ///< that are wanted
    uint64_t stored_bytes, plain_bytes; ///< of the blocks that have such rows
    bool failed;
    zf_error error; ///< of one that failed
    bool asked;     ///< it has a request
    size_t request; ///< its number in the batch
    double ready;   ///< seconds, of the last run; NAN
    zf_pipeline_sizes sizes;
} zf_piped;

/// Where columns go: memory of the host, which is pinned where the device copies to it, or of the device.
typedef struct zf_pipe_memory {
    zf_accelerator *accelerator; ///< NULL: the CPU
    void *stream;
    const char *name; ///< of the device, as the context lists it
} zf_pipe_memory;

zf_status zf_pipe_memory_open(zf_context *context, const char *device, zf_pipe_memory *out, zf_error *error);
void zf_pipe_memory_close(zf_pipe_memory *memory);
/// Allocates what `sizes` say, into the request, whose `on_device` says where. Free it also after a failure.
zf_status zf_pipe_allocate(zf_pipe_memory *memory, const zf_pipeline_sizes *sizes, zf_pipeline_request *request, zf_error *error);
void zf_pipe_release(zf_pipe_memory *memory, zf_pipeline_request *request);
/// Fills it with bytes that no column is made of, so that what a run leaves out shows.
zf_status zf_pipe_spoil(zf_pipe_memory *memory, const zf_pipeline_sizes *sizes, const zf_pipeline_request *request,
                        zf_error *error);
/// Decodes the column alone, by zf_decode on the same device, and compares every byte: a difference is ZFC_PIPELINE_DIFFERS.
zf_status zf_pipe_compare(zf_context *context, const char *device, zf_pipe_memory *memory, const zf_pipeline_request *request,
                          zf_error *error);

/// A batch and its columns, as reports want them.
typedef struct zf_pipe_view {
    const zf_batch *batch;
    zf_batch_info info;
    const zf_piped *columns; ///< all, in the order in which they were asked for
    size_t count;
    const zf_piped **of_request; ///< those that have one, by its number
    size_t requests;
    const char *device, *order;
    bool on_device, loaded;
    bool has_link; ///< the device has memory of its own
    bool planned;  ///< nothing was run
    bool verified; ///< columns that did not fail were decoded alone, too, and compared
    const zf_before *before;
    const double *runs; ///< seconds of the runs that count
    size_t run_count;   ///< 0 where no column is good: what such runs took is no time of a decode
} zf_pipe_view;

/// Seconds of the runs that count.
typedef struct zf_pipe_seconds {
    double last, best, median;
} zf_pipe_seconds;
/// NANs where nothing was run.
zf_pipe_seconds zf_pipe_seconds_of(const zf_pipe_view *view);

/// Adds up the columns that did not fail, and counts them.
size_t zf_pipe_totals(const zf_pipe_view *view, uint64_t *stored, uint64_t *plain);

void zf_pipe_print_table(const zf_pipe_view *view); ///< a line a column, and what all of them took
zf_status zf_pipe_print_json(const zf_pipe_view *view, zf_error *error);
void zf_pipe_print_plan(const zf_pipe_view *view); ///< a line a unit, in the order in which they go
/// A chart of times: measured ones, or predicted ones where nothing was run. Check `out->failed`.
void zf_pipe_draw(const zf_pipe_view *view, zf_text *out);

#endif

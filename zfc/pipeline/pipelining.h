// `zfc pipeline`: columns, the memory that they go to, and reports.
#ifndef ZF_ZFC_PIPELINING_H
#define ZF_ZFC_PIPELINING_H

#include "runtime/device/accelerator.h"
#include "zfc/first_byte.h"
#include "zfc/report.h"
#include "zipflow/pipeline.h"

/// A column, or rows of it. A column that failed before the batch was made has no request.
typedef struct zf_piped {
    zf_container *container;
    size_t column;
    zf_column_info info;
    char label[160]; ///< its name; with several containers after the table's name, or the file's where tables share one
    uint64_t rows;   ///< requested
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
/// Allocates buffers of `sizes` for a request, on the device or the host as its `on_device` says. Free them also after an error.
zf_status zf_pipe_allocate(zf_pipe_memory *memory, const zf_pipeline_sizes *sizes, zf_pipeline_request *request, zf_error *error);
void zf_pipe_release(zf_pipe_memory *memory, zf_pipeline_request *request);
/// Poisons the buffers, so that bytes which a run does not write show.
zf_status zf_pipe_spoil(zf_pipe_memory *memory, const zf_pipeline_sizes *sizes, const zf_pipeline_request *request,
                        zf_error *error);
/// Decodes the column alone, with zf_decode on the same device, and compares every byte: a difference is ZF2020.
zf_status zf_pipe_compare(zf_context *context, const char *device, zf_pipe_memory *memory, const zf_pipeline_request *request,
                          zf_error *error);

/// A batch and its columns, for reports.
typedef struct zf_pipe_view {
    const zf_batch *batch;
    zf_batch_info info;
    const zf_piped *columns; ///< all, in the order of the command line
    size_t count;
    const zf_piped **of_request; ///< columns by the number of their request
    size_t requests;
    const char *device, *order;
    bool on_device, loaded;
    bool has_link; ///< the device has memory of its own
    bool planned;  ///< nothing was run
    bool verified; ///< good columns were also decoded alone and compared
    const zf_before *before;
    const double *runs; ///< seconds of the runs that count
    size_t run_count;   ///< 0 where no column is good
} zf_pipe_view;

/// Seconds of the runs that count.
typedef struct zf_pipe_seconds {
    double last, best, median;
} zf_pipe_seconds;
/// They are NAN where nothing was run.
zf_pipe_seconds zf_pipe_seconds_of(const zf_pipe_view *view);

/// Adds up the columns that did not fail, and counts them.
size_t zf_pipe_totals(const zf_pipe_view *view, uint64_t *stored, uint64_t *plain);

void zf_pipe_print_table(const zf_pipe_view *view); ///< a line a column, and the time of all
zf_status zf_pipe_print_json(const zf_pipe_view *view, zf_error *error);
void zf_pipe_print_plan(const zf_pipe_view *view); ///< a line a unit, in the order of transfers
/// Draws a chart of times: measured, or predicted where nothing was run. Check `out->failed`.
void zf_pipe_draw(const zf_pipe_view *view, zf_text *out);

#endif

// Decoding columns into memory, as decode and verify do.
#ifndef ZF_DRIVER_DECODED_H
#define ZF_DRIVER_DECODED_H

#include "zfc/report.h"

/// What the user waits for in the first run, in seconds.
typedef struct zf_waited {
    double device;  ///< starting it: once a process
    double compile; ///< the compiler, or its cache
    double load;    ///< the device's driver, which compiles, too, or its cache
    double decode;  ///< all else: memory, reading, checking, copies, kernels
} zf_waited;

/// A decoded column, or some of its rows.
typedef struct zf_decoded {
    zf_column_info info;
    zf_decode_sizes sizes;
    zf_decode_buffers buffers;
    zf_decode_stats stats;
    uint64_t rows;
    double seconds; ///< of the fastest run; the first also makes the memory's pages
    zf_waited waited;
} zf_decoded;

/// Starts the device, so that the time this takes is told apart.
zf_status zf_start_device(zf_context *context, const char *name, double *seconds, zf_error *error);

/// Facts, sizes and rows of a column that is to be decoded, and nothing else of `out`.
zf_status zf_decoded_describe(zf_container *container, size_t column, const zf_decode_options *options, zf_decoded *out,
                              zf_error *error);
/// Buffers of those sizes. Free them with zf_decoded_free, also after a failure.
zf_status zf_decoded_allocate(zf_decoded *out, zf_error *error);
/// Allocates, decodes `repeat` times (at least once). Free with zf_decoded_free.
zf_status zf_decode_column(zf_context *context, zf_container *container, size_t column, const char *device,
                           const zf_decode_options *options, uint64_t repeat, zf_decoded *out, zf_error *error);
void zf_decoded_free(zf_decoded *decoded);

/// The columns that an option `--columns` names (all without it), in its order. `*count` columns in memory that the caller
/// frees, or NULL, and no columns, after filling `error`.
size_t *zf_selected_columns(zf_container *container, const char *names, size_t *count, zf_error *error);

/// What an option `--rows` says: "A..B", either end open. NULL, or what is wrong with it.
const char *zf_rows_option(const char *text, zf_decode_options *out);

#endif

// A column decoded into memory of the host.
#ifndef ZF_MEASURE_MEASURE_DECODED_H
#define ZF_MEASURE_MEASURE_DECODED_H

#include "zipflow/zipflow.h"

/// Seconds until the first run of a decode was complete.
typedef struct zf_waited {
    double device;  ///< starting the device: once a process
    double compile; ///< the compiler, or its cache
    double load;    ///< the device's driver, which also compiles, or its cache
    double decode;  ///< everything else: memory, reading, checking, copies, kernels
} zf_waited;

/// A decoded column, or some of its rows.
typedef struct zf_decoded {
    zf_column_info info;
    zf_decode_sizes sizes;
    zf_decode_buffers buffers;
    zf_decode_stats stats;
    uint64_t rows;
    double seconds; ///< of the fastest run; the first run also touches the memory's pages
    zf_waited waited;
} zf_decoded;

/// Starts a device, so that its start is not part of a measurement. `*seconds`: how long it took.
zf_status zf_start_device(zf_context *context, const char *name, double *seconds, zf_error *error);

/// Fills the info, sizes and rows of a column that is to be decoded. The rest of `out` is zero.
zf_status zf_decoded_describe(zf_container *container, size_t column, const zf_decode_options *options, zf_decoded *out,
                              zf_error *error);
/// Allocates buffers of those sizes. Free them with zf_decoded_free, also after an error.
zf_status zf_decoded_allocate(zf_decoded *out, zf_error *error);
/// Allocates buffers and decodes `repeat` times (at least once). Free with zf_decoded_free, also after an error.
zf_status zf_decode_column(zf_context *context, zf_container *container, size_t column, const char *device,
                           const zf_decode_options *options, uint64_t repeat, zf_decoded *out, zf_error *error);
/// Decodes the offsets and the validity of a column of lists, whose ends are `column`; `out` has no values. `*values`: the
/// options that decode the values. Free `out` with zf_decoded_free, also after an error.
zf_status zf_decode_lists_of(zf_context *context, zf_container *container, size_t column, const char *device,
                             const zf_decode_options *options, zf_decoded *out, zf_decode_options *values, zf_error *error);
void zf_decoded_free(zf_decoded *decoded);

#endif

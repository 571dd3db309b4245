// The time before the first byte is decoded: starting the device, getting code, loading it. `zfc` does this once for all columns
// of a run, over several threads, and reports it apart from decoding.
#ifndef ZF_ZFC_FIRST_BYTE_H
#define ZF_ZFC_FIRST_BYTE_H

#include "zfc/report.h"

typedef struct zf_before {
    double device;       ///< seconds of starting it
    zf_code_stats all;   ///< of all columns
    zf_code_stats *each; ///< of each column, in their order
} zf_before;

/// Starts a device and gets code for columns, of one container or of several. Free `out` with zf_before_free, also after an
/// error. A column without code is not an error.
zf_status zf_before_get(zf_context *context, const char *device, const zf_code_request *requests, size_t count, unsigned threads,
                        zf_before *out, zf_error *error);
zf_status zf_before_columns(zf_context *context, zf_container *container, const size_t *columns, size_t count, const char *device,
                            const zf_decode_options *options, zf_before *out, zf_error *error);
void zf_before_free(zf_before *before);

/// Writes where code came from to `out`, and returns it: "cold", "cached", "3 of 5 cached", or "at hand".
const char *zf_code_temper(const zf_code_stats *stats, char out[64]);

/// Prints a line for people.
void zf_before_print(const zf_before *before);
/// Makes {"device": s, "compile": s, "load": s, "codes": n, "compiled": n, "cached": n}.
json_t *zf_before_json(double device, const zf_code_stats *stats);

#endif

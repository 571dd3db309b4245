// The reports of `zfc encode` and `zfc wrap` on a file that they wrote.
#ifndef ZF_ZFC_ENCODE_REPORT_H
#define ZF_ZFC_ENCODE_REPORT_H

#include "frontend/spec/spec.h"
#include "zipflow/compile.h"

/// Sets the stored bytes of columns to those of their file, as `inspect` and `verify` have them: with the column's part of the
/// index and padding.
zf_status zf_stored_sizes(zf_context *context, const char *path, size_t count, zf_encode_stats *stats, zf_error *error);
/// Prints a table's columns as JSON. `wrapped`: its chunks were only decoded.
zf_status zf_encoded_json(const zf_table *table, const zf_encode_stats *stats, bool wrapped, uint64_t rows, const char *path,
                          zf_error *error);
/// The same as lines.
void zf_encoded_table(const zf_table *table, const zf_encode_stats *stats, bool wrapped);

#endif

// Writes decoded columns to files: raw, .npy, delimited text.
#ifndef ZF_ZFC_WRITE_COLUMNS_H
#define ZF_ZFC_WRITE_COLUMNS_H

#include "measure/measure_decoded.h"
#include "runtime/base/text.h"
#include "zfc/output.h"

/// Writes DIRECTORY/NAME<ending> into `path`; refuses a name that leads elsewhere.
zf_status zf_output_path(const char *directory, const char *name, const char *ending, char *path, size_t size, zf_error *error);
/// Writes DIR/COLUMN.TYPE and the files of offsets and validity, as outputs that get their names later. A column
/// of lists (zf_decode_lists_of) has offsets and validity alone.
zf_status zf_write_raw(const char *directory, const zf_decoded *column, zf_outputs *outputs, zf_error *error);
/// Writes DIR/COLUMN.npy (strings: COLUMN.offsets.npy, COLUMN.bytes.npy; nullable: COLUMN.valid.npy, one byte a row).
zf_status zf_write_npy(const char *directory, const zf_decoded *column, zf_outputs *outputs, zf_error *error);
/// Appends rows of decoded columns (all with as many rows) as delimited text.
void zf_print_rows(const zf_decoded *columns, size_t count, zf_text *out);
/// Appends one field, quoted where it must be.
void zf_print_field(const char *text, size_t length, zf_text *out);

#endif

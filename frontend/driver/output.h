// Output files written front to back, on top of runtime/output_file.h: whole or not at all.
#ifndef ZF_DRIVER_OUTPUT_H
#define ZF_DRIVER_OUTPUT_H

#include "runtime/output_file.h"

/// A file being written. Free it either way with zf_output_free(sink.file).
typedef struct zf_sink {
    zf_output_file *file;
    uint64_t offset;
} zf_sink;

zf_status zf_sink_open(const char *path, bool overwrite, zf_sink *out, zf_error *error);
zf_status zf_sink_write(zf_sink *sink, const void *bytes, size_t length, zf_error *error);

/// All at once.
zf_status zf_write_file(const char *path, const void *bytes, size_t length, bool overwrite, zf_error *error);

#endif

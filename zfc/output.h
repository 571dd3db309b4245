// Output files written front to back, on top of runtime/base/output_file.h: whole or not at all.
#ifndef ZF_DRIVER_OUTPUT_H
#define ZF_DRIVER_OUTPUT_H

#include "runtime/base/output_file.h"
#include "zfc/data/files_read.h"

/// A file being written. Free it either way with zf_output_free(sink.file).
typedef struct zf_sink {
    zf_output_file *file;
    uint64_t offset;
} zf_sink;

zf_status zf_sink_open(const char *path, bool overwrite, zf_sink *out, zf_error *error);
zf_status zf_sink_write(zf_sink *sink, const void *bytes, size_t length, zf_error *error);

/// Files that get their names together: none before every one is written.
typedef struct zf_outputs {
    bool overwrite;
    const zf_files_read *read; ///< what none of them may be, or NULL
    zf_output_file **files;
    size_t count, capacity;
} zf_outputs;

/// A sink of the group, which owns its file.
zf_status zf_outputs_open(zf_outputs *outputs, const char *path, zf_sink *out, zf_error *error);
/// Gives all their names.
zf_status zf_outputs_commit(zf_outputs *outputs, zf_error *error);
/// Without a commit nothing is left of them.
void zf_outputs_free(zf_outputs *outputs);
/// Lets the process have as many files open as the system allows: a group holds two descriptors a file.
void zf_allow_many_files(void);

/// All at once.
zf_status zf_write_file(const char *path, const void *bytes, size_t length, bool overwrite, zf_error *error);

#endif

// Output files, written front to back on top of runtime/base/output_file.h: complete or not at all.
#ifndef ZF_ZFC_OUTPUT_H
#define ZF_ZFC_OUTPUT_H

#include "runtime/base/output_file.h"
#include "zfc/data/files_read.h"

/// A file that is being written. Free it with zf_output_free(sink.file), complete or not.
typedef struct zf_sink {
    zf_output_file *file;
    uint64_t offset;
} zf_sink;

zf_status zf_sink_open(const char *path, bool overwrite, zf_sink *out, zf_error *error);
zf_status zf_sink_write(zf_sink *sink, const void *bytes, size_t length, zf_error *error);

/// A group of files that get their names together, when all of them are complete.
typedef struct zf_outputs {
    bool overwrite;
    const zf_files_read *read; ///< inputs, none of which may be overwritten; may be NULL
    zf_output_file **files;
    size_t count, capacity;
    size_t parked; ///< of the first files, which hold no descriptors
} zf_outputs;

/// Opens a file of the group, which owns it.
zf_status zf_outputs_open(zf_outputs *outputs, const char *path, zf_sink *out, zf_error *error);
/// All files of the group so far are complete. If they hold many descriptors, these are closed.
zf_status zf_outputs_finished(zf_outputs *outputs, zf_error *error);
/// Gives all files their names.
zf_status zf_outputs_commit(zf_outputs *outputs, zf_error *error);
/// Frees the group. Files without a name are removed.
void zf_outputs_free(zf_outputs *outputs);
/// Raises the limit of open files as far as the system allows: a file of a group holds two descriptors until it is parked.
void zf_allow_many_files(void);

/// Makes the directory of outputs if there is none. *made: it was made, and until zf_signals_remove_directory(NULL) a signal
/// removes it if it is empty.
zf_status zf_output_directory(const char *directory, bool *made, zf_error *error);

/// Writes a whole file.
zf_status zf_write_file(const char *path, const void *bytes, size_t length, bool overwrite, zf_error *error);

#endif

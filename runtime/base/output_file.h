// A file that appears under its name only when it is complete. Until then it has no name at all, where the file system can do
// that, or a temporary one in the same directory; when it is not committed nothing is left.
#ifndef ZF_RUNTIME_OUTPUT_FILE_H
#define ZF_RUNTIME_OUTPUT_FILE_H

#include "runtime/base/error.h"
#include "runtime/base/private.h"

typedef struct zf_output_file zf_output_file;

typedef struct zf_output_options {
    bool overwrite; ///< replace a regular file of that name
    bool named;     ///< use a temporary name also where a file without one would do
} zf_output_options;

/// Starts a file that will be called `path`. An existing one is an error at once unless it may be overwritten.
ZF_PRIVATE_API zf_status zf_output_create(const char *path, zf_output_options options, zf_output_file **out, zf_error *error);
/// Writes all of `bytes` at an offset. Any thread.
ZF_PRIVATE_API zf_status zf_output_write(zf_output_file *file, uint64_t offset, const void *bytes, size_t size, zf_error *error);
/// Syncs the file and gives it its name. Afterwards the file can only be freed. After an error nothing is new under its name,
/// but for ZF_E_NAME_NOT_SYNCED: then the complete file is there (removing it could not bring back one that it replaced), and
/// only that the name survives a crash of the machine is not sure.
ZF_PRIVATE_API zf_status zf_output_commit(zf_output_file *file, zf_error *error);
/// Takes a temporary name away, and nothing else: for a signal's handler, after which the file is not used any more.
ZF_PRIVATE_API void zf_output_abandon(const zf_output_file *file);
/// Frees; without a commit nothing is left of the file. May be NULL.
ZF_PRIVATE_API void zf_output_free(zf_output_file *file);

#endif

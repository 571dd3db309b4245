// A file that appears under its name only when it is complete. Until then it has no name, where the file system allows it, or a
// temporary one in the same directory. Without a commit nothing is left.
#ifndef ZF_RUNTIME_OUTPUT_FILE_H
#define ZF_RUNTIME_OUTPUT_FILE_H

#include "runtime/base/error.h"
#include "runtime/base/private.h"

typedef struct zf_output_file zf_output_file;

typedef struct zf_output_options {
    bool overwrite; ///< replace a regular file of that name
    bool named;     ///< use a temporary name in any case
} zf_output_options;

/// Starts a file that a commit will name `path`. An existing file is an error at once, unless `overwrite`. The caller frees it.
ZF_PRIVATE_API zf_status zf_output_create(const char *path, zf_output_options options, zf_output_file **out, zf_error *error);
/// Writes all of `bytes` at an offset. Any thread.
ZF_PRIVATE_API zf_status zf_output_write(zf_output_file *file, uint64_t offset, const void *bytes, size_t size, zf_error *error);
/// Syncs the file, which a commit does otherwise: of several files, all can be on disk before the first gets its name.
ZF_PRIVATE_API zf_status zf_output_sync(zf_output_file *file, zf_error *error);
/// Syncs the finished file and closes its descriptors: until its commit it has a temporary name. In a group of many files, each
/// would hold two descriptors until the last one is complete.
ZF_PRIVATE_API zf_status zf_output_park(zf_output_file *file, zf_error *error);
/// Syncs the file and gives it its name; afterwards it can only be freed. After an error nothing is new under that name, but for
/// ZF_E_NAME_NOT_SYNCED: the complete file is there, and its name may not survive a crash of the machine.
ZF_PRIVATE_API zf_status zf_output_commit(zf_output_file *file, zf_error *error);
/// Removes a temporary name, and nothing else. For signal handlers, after which the file is not used.
ZF_PRIVATE_API void zf_output_abandon(const zf_output_file *file);
/// Frees the file; without a commit it disappears. May be NULL.
ZF_PRIVATE_API void zf_output_free(zf_output_file *file);

#endif

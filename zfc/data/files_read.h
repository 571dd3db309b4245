// The files that a verb reads: its output must be none of them, and they must stay as they are while they are read.
#ifndef ZF_DRIVER_FILES_READ_H
#define ZF_DRIVER_FILES_READ_H

#include <sys/stat.h>

#include "runtime/base/error.h"

typedef struct zf_file_read {
    const char *path;   ///< the caller's; it outlives the list
    struct stat status; ///< when it was noted
} zf_file_read;

typedef struct zf_files_read {
    zf_file_read *files;
    size_t count, capacity;
} zf_files_read;

/// Notes a file before it is opened. One that cannot be looked at is left to whoever opens it.
zf_status zf_files_note(zf_files_read *read, const char *path, zf_error *error);
/// ZF2014 when `path` is one of the files, by whatever name or link. May be asked with `read` NULL.
zf_status zf_files_guard(const zf_files_read *read, const char *path, zf_error *error);
/// After the files were read: ZF1208 when one is another, was written to, or has another size than when it was noted.
zf_status zf_files_unchanged(const zf_files_read *read, zf_error *error);
/// Whether two paths are of one file, by whatever name or link; of names that nothing has yet, whether they would be.
bool zf_files_same(const char *one, const char *other);
void zf_files_free(zf_files_read *read);

#endif

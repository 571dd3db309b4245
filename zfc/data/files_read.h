// The files that a verb reads. Its output must be none of them, and none may change while it is read.
#ifndef ZF_ZFC_FILES_READ_H
#define ZF_ZFC_FILES_READ_H

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

/// Notes a file before it is opened. A file that does not exist is not an error here: opening it is.
zf_status zf_files_note(zf_files_read *read, const char *path, zf_error *error);
/// Checks that `path` is none of the files, under any name or link: ZF2014. `read` may be NULL.
zf_status zf_files_guard(const zf_files_read *read, const char *path, zf_error *error);
/// Checks, after reading, that no file was replaced, written to or resized since it was noted: ZF1208.
zf_status zf_files_unchanged(const zf_files_read *read, zf_error *error);
/// Returns whether two paths name one file, under any name or link, or would once it exists.
bool zf_files_same(const char *one, const char *other);
void zf_files_free(zf_files_read *read);

#endif

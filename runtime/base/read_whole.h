// Reading a whole file.
#ifndef ZF_RUNTIME_READ_WHOLE_H
#define ZF_RUNTIME_READ_WHOLE_H

#include "runtime/base/text.h"

/// Opens a regular file for reading; other files are refused without waiting, as for a pipe. Returns -1 on failure and sets
/// `reason`, which is static or strerror's.
int zf_regular_open(const char *path, const char **reason);

/// Appends the rest of a file, or of a pipe, to `out`. Returns 0 or an errno: EFBIG above `most` bytes in all, ENOMEM without
/// memory.
int zf_read_whole(int file, size_t most, zf_text *out);

#endif

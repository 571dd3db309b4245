// A file that is read whole.
#ifndef ZF_BASE_READ_WHOLE_H
#define ZF_BASE_READ_WHOLE_H

#include "runtime/base/text.h"

/// Opens a regular file for reading. What is none is not opened, and not waited for, as a pipe would have it. -1: it cannot be;
/// why is in `reason`, which is static, or strerror's.
int zf_regular_open(const char *path, const char **reason);

/// Reads the rest of a file, or of a pipe, behind what `out` has, whose data are not NULL then. 0, or as errno has it: EFBIG
/// where `out` comes to more than `most` bytes, ENOMEM where there is no memory.
int zf_read_whole(int file, size_t most, zf_text *out);

#endif

// A file of which one seek state lies, with checksums that say it does not.
#ifndef ZF_TESTS_DAMAGED_STATE_H
#define ZF_TESTS_DAMAGED_STATE_H

#include "tests/gpu/gpu_machine.h"

/// Writes a copy of the container at `path` to `to`, in which a seek state of block 1 of a column is another. Exits where it
/// cannot.
void gpu_write_damaged(const char *path, zf_container *container, const char *column, const char *to);

#endif

// A directory for what a verb makes for itself, and which goes with it, however it ends.
#ifndef ZF_DRIVER_SCRATCH_H
#define ZF_DRIVER_SCRATCH_H

#include "runtime/base/error.h"

typedef struct zf_scratch {
    char directory[256];
    char program[300], container[300]; ///< in it, for whoever makes them
} zf_scratch;

/// Makes the directory, in $TMPDIR or /tmp, and watches it (watch.h): one at a time. `verb` is part of its name. ZF_ERR_IO where
/// it cannot be made; then nothing is to be removed.
zf_status zf_scratch_make(zf_scratch *scratch, const char *verb, zf_error *error);
/// Removes what is there of it.
void zf_scratch_remove(zf_scratch *scratch);

#endif

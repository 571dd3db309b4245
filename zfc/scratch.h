// A temporary directory of a verb, removed however the verb ends.
#ifndef ZF_ZFC_SCRATCH_H
#define ZF_ZFC_SCRATCH_H

#include "runtime/base/error.h"

typedef struct zf_scratch {
    char directory[256];
    char program[300], container[300]; ///< paths in it, for files that the verb makes
} zf_scratch;

/// Makes the directory in $TMPDIR or /tmp, and has it removed when a signal ends the process (signals.h): one at a time. `verb`
/// is part of its name. ZF_ERR_IO where it cannot be made; then there is nothing to remove.
zf_status zf_scratch_make(zf_scratch *scratch, const char *verb, zf_error *error);
/// Removes the directory and its files.
void zf_scratch_remove(zf_scratch *scratch);

#endif

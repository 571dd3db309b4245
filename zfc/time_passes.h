// The output of `--time-passes`.
#ifndef ZF_ZFC_TIME_PASSES_H
#define ZF_ZFC_TIME_PASSES_H

#include <stdio.h>

#include "runtime/base/passes.h"

/// Prints a table of the passes that ran, or all passes as a JSON object. Prints nothing where `passes` is NULL.
void zf_time_passes_print(zf_passes *passes, bool as_json, FILE *out);

#endif

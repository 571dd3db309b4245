// What `--time-passes` shows.
#ifndef ZF_DRIVER_TIME_PASSES_H
#define ZF_DRIVER_TIME_PASSES_H

#include <stdio.h>

#include "runtime/base/passes.h"

/// Prints a table of the passes that there were, or all of them as a JSON object. Nothing where `passes` is NULL.
void zf_time_passes_print(zf_passes *passes, bool as_json, FILE *out);

#endif

// The list of ordered stages that get kernels and seek states of their own (zf_encode_options.unfused).
#ifndef ZF_COMPILER_ENCODE_UNFUSED_H
#define ZF_COMPILER_ENCODE_UNFUSED_H

#include "frontend/spec/spec.h"
#include "runtime/base/text.h"
#include "zipflow/zipflow.h"

/// Appends the stages of one column of a table to `out`, in the form of zf_plan_options.unfused. NULL `list`: none.
void zf_unfused_of_column(const char *list, const zf_column *column, zf_text *out);
/// Checks a list against a table. ZF_ERR_USAGE where it names an unknown column, or a stream that no ordered stage makes; the
/// hint lists the streams that there are.
zf_status zf_unfused_check(const char *list, const zf_table *table, zf_error *error);

#endif

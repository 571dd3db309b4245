// Which columns the kernels of a query make, for `zfc explain`.
#ifndef ZF_ZFC_QUERY_EXPLAIN_H
#define ZF_ZFC_QUERY_EXPLAIN_H

#include "compiler/program.h"
#include "frontend/spec/spec.h"

/// Prints to standard output which columns of a query its kernels make on the GPUs of `target`, by the first alternatives of the
/// program's codecs, and which are decoded first and why. `json`: as JSON. Errors: ZF_ERR_MEMORY; diagnostics are the spec's.
zf_status zf_explain_query(zf_spec *spec, const zf_query *query, const char *target, bool json, zf_error *error);

#endif

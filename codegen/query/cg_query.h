// A query as one function `void query(zf_query_frame *)`, and the bounds of its pairs as another.
#ifndef ZF_CODEGEN_CG_QUERY_H
#define ZF_CODEGEN_CG_QUERY_H

#include "codegen/body/cg_frame.h"
#include "codegen/codegen_query.h"

/// Name of the function in its module.
#define ZF_CG_QUERY_NAME "query"

/// Adds the function to cg->module. cg->failed reports forms that are not lowered.
void zf_cg_query(zf_cg *cg, const zf_query *query);
/// Adds a function of the same name and type for the bounds of a query of pairs (zf_codegen_query_bounds).
void zf_cg_query_bounds(zf_cg *cg, const zf_query *query);

#endif

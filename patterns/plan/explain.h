// What `zfc explain` shows of a column: what fused and what did not, and why; kernels; bytes per element; checks.
#ifndef ZF_SCHEDULER_EXPLAIN_H
#define ZF_SCHEDULER_EXPLAIN_H

#include "patterns/plan/plan.h"

/// Text for people. `plan` may be NULL (a target does not lower the column): then only the graph is shown.
void zf_explain_text(const zf_graph *graph, const zf_plan *plan, zf_text *out);
/// One JSON object: column, type, codec, seconds_at_least, edges, kernels (an array, also when empty), target, shaping, checks.
void zf_explain_json(const zf_graph *graph, const zf_plan *plan, zf_text *out);

#endif

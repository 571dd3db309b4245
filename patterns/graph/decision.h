// Decides what happens to an edge, by the table of language.md: access x capability. Printers and readers of later stages use the
// names, too.
#ifndef ZF_PATTERNS_DECISION_H
#define ZF_PATTERNS_DECISION_H

#include "patterns/graph/graph.h"

/// Fills decision and reason of a node's input edges, whose `capability` is known, and the node's own capability.
void zf_decide_inputs(zf_graph *graph, zf_graph_node *node);

/// True when evaluating the instance at one index takes what came before it: a scan, or a difference of prefix sums.
bool zf_inst_has_scan(const zf_inst *inst);

enum { ZF_ACCESS_COUNT = 5, ZF_CAPABILITY_COUNT = 3, ZF_DECISION_COUNT = 4 };
extern const char *const zf_access_names[ZF_ACCESS_COUNT];
extern const char *const zf_capability_names[ZF_CAPABILITY_COUNT];
extern const char *const zf_decision_names[ZF_DECISION_COUNT];
const char *zf_access_name(zf_access access); ///< "aligned i"
const char *zf_capability_name(zf_capability capability);
const char *zf_decision_name(zf_decision decision);

#endif

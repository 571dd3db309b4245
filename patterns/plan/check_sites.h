// Every place in an instance's bodies that is checked or proved, in the order in which it is written: where checks come from.
// And, found on the same walk, what a target may be unable to lower.
#ifndef ZF_PATTERNS_CHECK_SITES_H
#define ZF_PATTERNS_CHECK_SITES_H

#include "patterns/plan/affine.h"

typedef struct zf_site {
    uint32_t violation;  ///< 1 for V01
    const zf_expr *expr; ///< NULL: `stmt` or `port`
    const zf_stmt *stmt; ///< V06
    const zf_port *port; ///< V05, and the stream of a V01
    zf_span span;
    const zf_body *body;       ///< NULL for V05
    const zf_reduce **reduces; ///< that enclose it, outermost first
    uint32_t reduce_count;
    bool proved;      ///< cannot fail, as the front end found: listed for `explain`, never a check
    bool always;      ///< reached for every element of the body's domain (and every value of the binders)
    const char *text; ///< "index of packed"
} zf_site;

/// A scan, segmented scan or prefix sum of the instance; equal ones share an index and are here once.
typedef struct zf_scan {
    const zf_reduce *reduce;
    const zf_expr *expr;
    const zf_body *body;
    bool nested; ///< stands in, or contains, another reduction of these forms
} zf_scan;

typedef struct zf_sites {
    zf_arena *arena;
    zf_site *sites;
    zf_scan *scans; ///< by zf_reduce.index; `reduce` NULL in gaps
    uint32_t site_count, site_capacity, scan_count, scan_capacity;
    uint64_t array_bytes;    ///< of local arrays, all bodies
    zf_span unsupported_at;  ///< the first thing that no target lowers yet
    const char *unsupported; ///< NULL: nothing
} zf_sites;

/// Collects the sites of an instance's groups, size and decode, and a V05 for every stream with a declared range.
void zf_sites_collect(zf_arena *arena, const zf_inst *inst, zf_sites *out);

/// The checks of one node: sites that its producers' ranges do not remove.
bool zf_site_needed(const zf_graph *graph, const zf_graph_node *node, const zf_site *site);

/// True when a site, one of `sites`, can be checked once per block: see zf_hoisted in plan.h.
bool zf_site_hoistable(const zf_inst *inst, const zf_sites *sites, const zf_site *site);

#endif

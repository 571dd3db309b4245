// Shows what becomes of a column, for `zfc explain`: what fuses and why, kernels and their forms, bytes per element, checks.
#ifndef ZF_PATTERNS_EXPLAIN_H
#define ZF_PATTERNS_EXPLAIN_H

#include "patterns/plan/plan.h"
#include "runtime/base/abi.h"

/// How a kernel runs on a GPU, as code generation reports it.
typedef struct zf_explain_form {
    const char *name;      ///< "scan"
    const char *tile;      ///< who makes a tile
    bool parallel;         ///< false: one thread makes a whole tile or chunk
    uint32_t node;         ///< the graph node that keeps the kernel from being parallel
    const char *why;       ///< not parallel: the reason, with the algorithm of `node` as its subject; else NULL
    const char *hint;      ///< a rewrite that makes the kernel parallel; NULL: none is known
    const char *walk;      ///< of chunks that a warp walks: how it does; else NULL
    const char *slow;      ///< why it does not in the fastest way; NULL: it does, or nothing is known
    uint32_t warps;        ///< of such a chunk, if its elements are made from records: 1, or one that walks and others; else 0
    const char *warps_why; ///< why so many
} zf_explain_form;

/// A column and the plans that are shown of it. Forms are arrays of one entry per kernel.
typedef struct zf_explained {
    const zf_graph *graph;
    const zf_plan *plan;              ///< NULL where the target does not lower the column: then only the graph is shown
    const zf_explain_form *forms;     ///< of `plan`; NULL for a plan of the host
    const zf_plan *gpu_plan;          ///< beside a plan of the host: that of a GPU, of which the forms are shown; or NULL
    const zf_explain_form *gpu_forms; ///< of `gpu_plan`
    const zf_tuple_count *tuples;     ///< NULL: of a program, which has no blocks
} zf_explained;

/// Prints the column as text for people.
void zf_explain_text(const zf_explained *what, zf_text *out);
/// Prints the column as one JSON object: column, type, codec, seconds_at_least, edges, kernels (an array, also when empty),
/// target, shaping, tuples (null of a program), gpu (null without a plan of a GPU beside the host's), checks.
void zf_explain_json(const zf_explained *what, zf_text *out);

/// Prints a sentence about the blocks that have general code for want of code for their tuple; nothing if all have their own.
void zf_explain_tuples_text(const zf_tuple_count *tuples, zf_text *out);

// ---- Forms (explain_form.c) -----------------------------------------------------------------------------------

/// Prints the lines `form`, and where the kernel is not parallel `why` and `rewrite`, each after `indent` spaces.
void zf_explain_form_text(const zf_plan *plan, const zf_explain_form *form, unsigned indent, zf_text *out);
/// Prints `"form": {...}`, or `"form": null`.
void zf_explain_form_json(const zf_plan *plan, const zf_explain_form *form, zf_text *out);
/// Prints the part of the report on `gpu_plan`; nothing without it.
void zf_explain_gpu_text(const zf_explained *what, zf_text *out);
/// Prints `"gpu": {...}`, or `"gpu": null`.
void zf_explain_gpu_json(const zf_explained *what, zf_text *out);

#endif
